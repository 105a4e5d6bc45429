//! A state machine with commands and timers, on the raw `Process` trait.
//!
//! A traffic light for pedestrians: it is red until somebody pushes the button, lets a moment pass,
//! turns green, blinks by a ticker, and turns red again.

use std::time::Duration;
use tress_actor::command::builtin::{Sleep, TakeBack, Tick};
use tress_actor::{
    Completion, Event, Events, Host, Payload, Process, ProcessContext, ProcessError, StepOutput,
};

/// Somebody wants to cross.
struct Button;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Light {
    Red,
    Waiting,
    Green,
    Blinking,
}

/// The tags of its commands.
const WAIT: u64 = 1;
const BLINK: u64 = 2;
const ENOUGH: u64 = 3;

struct TrafficLight {
    light: Light,
    rounds: u32,
}

impl TrafficLight {
    fn turn(&mut self, light: Light) {
        println!("{:?} -> {light:?}", self.light);
        self.light = light;
    }

    fn completed(&mut self, completion: Completion, out: &mut StepOutput) {
        match (self.light, completion.tag) {
            (Light::Waiting, WAIT) => {
                self.turn(Light::Green);
                out.command(Sleep(Duration::from_millis(20)), WAIT);
            }
            (Light::Green, WAIT) => {
                self.turn(Light::Blinking);
                out.command(Tick(Duration::from_millis(5)), BLINK);
            }
            (Light::Blinking, BLINK) if completion.more => {
                let tick = completion
                    .result
                    .ok()
                    .and_then(|tick| tick.downcast::<u64>().ok());
                println!("blink {}", tick.unwrap_or_default());
                if tick == Some(3) {
                    out.command(TakeBack(BLINK), ENOUGH);
                }
            }
            // The end of the ticker that was taken back.
            (Light::Blinking, BLINK) => {
                self.turn(Light::Red);
                self.rounds -= 1;
                if self.rounds == 0 {
                    out.done("good night");
                }
            }
            _ => {}
        }
    }
}

impl Process for TrafficLight {
    fn init(
        &mut self,
        cx: &ProcessContext<'_>,
        method: &str,
        input: Payload,
    ) -> Result<(), ProcessError> {
        if method != "run" {
            return Err(format!("a traffic light cannot {method}").into());
        }
        self.rounds = input.downcast().map_err(|_| "how many rounds?")?;
        println!("{} is {:?}", cx.pid(), self.light);
        Ok(())
    }

    fn step(&mut self, events: &mut Events<'_>, out: &mut StepOutput) -> Result<(), ProcessError> {
        out.idle();
        for event in events {
            match event {
                Event::Message(message)
                    if message.payload.is::<Button>() && self.light == Light::Red =>
                {
                    self.turn(Light::Waiting);
                    out.command(Sleep(Duration::from_millis(10)), WAIT);
                }
                Event::Completion(completion) => self.completed(completion, out),
                _ => {}
            }
        }
        Ok(())
    }

    fn close(&mut self) {
        println!("the light goes out");
    }
}

/// Somebody presses the button once; what the light says at the end.
async fn one_round() -> &'static str {
    let host = Host::builder("street").start().expect("the name is fine");
    let light = TrafficLight {
        light: Light::Red,
        rounds: 0,
    };
    let spawn = host.process(light).method("run").input(1_u32);
    let (pid, exit) = spawn.exec().expect("nothing is in the way");
    host.send(pid, Button).expect("there is room");
    let result = exit.await.into_result().expect("it runs to its end");
    result.downcast().expect("it says good night")
}

#[tress::main]
async fn main() {
    println!("{}", one_round().await);
}

#[test]
fn the_light_runs_to_its_end() {
    let said = tress::runtime::Runtime::new()
        .unwrap()
        .block_on(one_round());
    assert_eq!(said, "good night");
}
