//! `tress top`: a running program in the terminal, findings first.

mod view;

use super::args::Top;
use super::client::Client;
use super::model::Process;
use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;
use view::View;

/// Time between two looks at the program.
const PERIOD: Duration = Duration::from_secs(1);

/// What the screen is told.
enum News {
    Key(KeyEvent),
    Resized,
    Process(Box<Process>),
    Lost(String),
}

/// Shows the program until `q` is pressed.
pub(crate) fn run(options: &Top) -> ExitCode {
    if !io::stdout().is_terminal() {
        return crate::fail("tress top needs a terminal: tress doctor prints what is wrong once");
    }
    let client = match Client::new(&options.target) {
        Ok(client) => client,
        Err(error) => return crate::fail(&error.to_string()),
    };
    let (tell, news) = mpsc::channel();
    let shown = start(&client, &tell).and_then(|()| show(&client, &news));
    match shown {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => crate::fail(&error.to_string()),
    }
}

/// Starts what reads keys, and what looks at the program. Both end with the process.
fn start(client: &Client, tell: &Sender<News>) -> io::Result<()> {
    // The first look is made here, so that a wrong address is said before the screen is taken.
    let rt = crate::runtime()?;
    let first = rt.block_on(client.get_json::<Process>("/api/snapshot"));
    let first = first.map_err(|error| io::Error::other(error.to_string()))?;
    let _ = tell.send(News::Process(Box::new(first)));
    let (client, looker) = (client.clone(), tell.clone());
    thread::spawn(move || {
        loop {
            thread::sleep(PERIOD);
            let news = match rt.block_on(client.get_json("/api/snapshot")) {
                Ok(process) => News::Process(Box::new(process)),
                Err(error) => News::Lost(error.to_string()),
            };
            if looker.send(news).is_err() {
                return;
            }
        }
    });
    let keys = tell.clone();
    thread::spawn(move || {
        while let Ok(event) = event::read() {
            let news = match event {
                Event::Key(key) if key.kind != KeyEventKind::Release => News::Key(key),
                Event::Resize(..) => News::Resized,
                _ => continue,
            };
            if keys.send(news).is_err() {
                return;
            }
        }
    });
    Ok(())
}

fn show(client: &Client, news: &Receiver<News>) -> io::Result<()> {
    let mut terminal = ratatui::try_init()?;
    let mut view = View::new(&client.address);
    let result = loop {
        if let Err(error) = terminal.draw(|frame| view.draw(frame)) {
            break Err(error);
        }
        match news.recv_timeout(Duration::from_secs(60)) {
            Ok(News::Key(key)) if is_end(key) => break Ok(()),
            Ok(News::Key(key)) => view.press(key.code),
            Ok(News::Process(process)) => view.update(*process),
            Ok(News::Lost(why)) => view.lose(why),
            Ok(News::Resized) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break Ok(()),
        }
    };
    ratatui::restore();
    result
}

fn is_end(key: KeyEvent) -> bool {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('q') | KeyCode::Esc => true,
        KeyCode::Char('c') => control,
        _ => false,
    }
}
