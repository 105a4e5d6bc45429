//! A mixed load with its trace, as a picture and as JSON for Perfetto.
//!
//! ```text
//! cargo run --release --example trace_picture -- trace.svg trace.json
//! ```

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs::File;
use std::io::{self, BufWriter};
use std::time::{Duration, Instant};
use tress::io::{AsyncReadExt, AsyncWriteExt};
use tress::net::{TcpListener, TcpStream};
use tress::runtime::Builder;
use tress::task;
use tress::trace::{Event, EventKind};

fn main() -> io::Result<()> {
    let mut files = std::env::args().skip(1);
    let svg = files.next().unwrap_or_else(|| "trace.svg".into());
    let rt = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .trace_events(1 << 16)
        .trace_every(1)
        .build()?;
    rt.block_on(load())?;
    let handle = rt.handle().clone();
    drop(rt);
    std::fs::write(&svg, picture(&handle.trace().events()))?;
    if let Some(json) = files.next() {
        let mut out = BufWriter::new(File::create(json)?);
        handle.trace().write_chrome(&mut out)?;
    }
    Ok(())
}

fn named<F>(name: &str, future: F) -> task::JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let spawned = task::Builder::new().name(name).spawn(future);
    spawned.expect("names are always accepted")
}

/// Sockets, timers, and bursts of work that has to be shared.
async fn load() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    named("server", serve(listener));
    let client = named("client", async move {
        let mut stream = TcpStream::connect(address).await?;
        let mut byte = [0];
        for _ in 0..40 {
            stream.write_all(&byte).await?;
            stream.read_exact(&mut byte).await?;
        }
        io::Result::Ok(())
    });
    let ticker = named("ticker", async {
        let mut ticks = tress::time::interval(Duration::from_millis(1));
        for _ in 0..6 {
            ticks.tick().await;
            crunch(Duration::from_micros(30));
        }
    });
    let bursts = named("bursts", async {
        for _ in 0..3 {
            let parts: Vec<_> = (0..12)
                .map(|n| {
                    named("crunch", async move {
                        crunch(Duration::from_micros(40 + 10 * n))
                    })
                })
                .collect();
            for part in parts {
                part.await?;
            }
            tress::time::sleep(Duration::from_millis(1)).await;
        }
        Ok::<(), task::JoinError>(())
    });
    client.await??;
    ticker.await?;
    bursts.await??;
    Ok(())
}

async fn serve(listener: TcpListener) -> io::Result<()> {
    let (mut stream, _) = listener.accept().await?;
    let mut byte = [0];
    while stream.read(&mut byte).await? > 0 {
        stream.write_all(&byte).await?;
    }
    Ok(())
}

fn crunch(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

const WIDTH: f64 = 1180.0;
const LEFT: f64 = 80.0;
const LANE: f64 = 96.0;
const TOP: f64 = 56.0;
const COLOURS: [&str; 6] = [
    "#4e79a7", "#f28e2b", "#59a14f", "#b07aa1", "#e15759", "#76b7b2",
];

fn picture(events: &[Event]) -> String {
    let start = events.iter().map(|e| e.at).min().unwrap_or_default();
    let end = events
        .iter()
        .map(|e| e.at + length(e))
        .max()
        .unwrap_or_default();
    let scale = (WIDTH - LEFT - 20.0) / (end - start).as_secs_f64().max(1e-9);
    let x = |at: Duration| LEFT + (at - start).as_secs_f64() * scale;
    let tracks = events.iter().map(|e| e.track + 1).max().unwrap_or(1);
    let height = TOP + LANE * tracks as f64 + 40.0;
    let mut names = BTreeMap::new();
    for event in events
        .iter()
        .filter(|e| matches!(e.kind, EventKind::Poll { .. }))
    {
        let colour = COLOURS[names.len() % COLOURS.len()];
        names.entry(label(event)).or_insert(colour);
    }
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    legend(&mut svg, &names);
    for track in 0..tracks {
        let top = TOP + LANE * track as f64;
        put(
            &mut svg,
            format_args!(
                "<text x=\"8\" y=\"{:.0}\">worker {track}</text>\n\
             <line x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{:.0}\" y2=\"{:.0}\" stroke=\"#ccc\"/>\n",
                top + 46.0,
                top + LANE - 14.0,
                top + LANE - 14.0
            ),
        );
    }
    for event in events {
        draw(
            &mut svg,
            event,
            TOP + LANE * event.track as f64,
            x(event.at),
            length(event).as_secs_f64() * scale,
            &names,
        );
    }
    axis(&mut svg, end - start, scale, height - 12.0);
    svg.push_str("</svg>\n");
    svg
}

fn put(svg: &mut String, text: std::fmt::Arguments<'_>) {
    svg.write_fmt(text)
        .expect("writing to a string does not fail");
}

fn length(event: &Event) -> Duration {
    match event.kind {
        EventKind::Poll { took, .. } | EventKind::Park { took } => took,
        _ => Duration::ZERO,
    }
}

fn label(event: &Event) -> String {
    match (&event.name, event.spawned_at) {
        (Some(name), _) => name.clone(),
        (None, Some(at)) => format!("line {}", at.line()),
        (None, None) => "?".into(),
    }
}

fn draw(
    svg: &mut String,
    event: &Event,
    top: f64,
    x: f64,
    wide: f64,
    names: &BTreeMap<String, &str>,
) {
    let (bar, high) = (top + 26.0, 44.0);
    match event.kind {
        EventKind::Park { .. } => put(
            svg,
            format_args!(
                "<rect x=\"{x:.2}\" y=\"{:.0}\" width=\"{wide:.2}\" height=\"12\" fill=\"#e4e4e4\"/>\n",
                bar + 16.0
            ),
        ),
        EventKind::Poll { .. } => {
            let (name, shown) = (label(event), wide.max(0.4));
            let colour = names[&name];
            put(
                svg,
                format_args!(
                    "<rect x=\"{x:.2}\" y=\"{bar:.0}\" width=\"{shown:.2}\" height=\"{high}\" fill=\"{colour}\"/>\n"
                ),
            );
            if wide > 7.0 * name.len() as f64 {
                put(
                    svg,
                    format_args!(
                        "<text x=\"{:.2}\" y=\"{:.0}\" fill=\"white\">{name}</text>\n",
                        x + 3.0,
                        bar + 26.0
                    ),
                );
            }
        }
        EventKind::Steal { .. } => put(
            svg,
            format_args!(
                "<path d=\"M{x:.2} {:.0}l-5 -10h10z\" fill=\"#d62728\"/>\n",
                bar - 2.0
            ),
        ),
        EventKind::Io { .. } => put(
            svg,
            format_args!(
                "<circle cx=\"{x:.2}\" cy=\"{:.0}\" r=\"3\" fill=\"#1f77b4\"/>\n",
                bar - 8.0
            ),
        ),
        EventKind::Timers { .. } => put(
            svg,
            format_args!(
                "<rect x=\"{:.2}\" y=\"{:.0}\" width=\"6\" height=\"6\" fill=\"#2ca02c\"/>\n",
                x - 3.0,
                bar - 24.0
            ),
        ),
        EventKind::Ready => put(
            svg,
            format_args!(
                "<line x1=\"{x:.2}\" x2=\"{x:.2}\" y1=\"{:.0}\" y2=\"{:.0}\" stroke=\"#444\" stroke-width=\"0.6\"/>\n",
                bar + high,
                bar + high + 8.0
            ),
        ),
        _ => {}
    }
}

fn legend(svg: &mut String, names: &BTreeMap<String, &str>) {
    let mut x = LEFT;
    let mut entry = |shape: &str, text: &str| {
        put(
            svg,
            format_args!(
                "<g transform=\"translate({x:.0} 24)\">{shape}<text x=\"14\" y=\"5\">{text}</text></g>\n"
            ),
        );
        x += 34.0 + 7.0 * text.len() as f64;
    };
    for (name, colour) in names {
        entry(
            &format!("<rect y=\"-5\" width=\"10\" height=\"10\" fill=\"{colour}\"/>"),
            name,
        );
    }
    entry(
        "<rect y=\"-5\" width=\"10\" height=\"10\" fill=\"#e4e4e4\"/>",
        "park",
    );
    entry("<path d=\"M5 5l-5 -10h10z\" fill=\"#d62728\"/>", "steal");
    entry("<circle cx=\"5\" r=\"3\" fill=\"#1f77b4\"/>", "I/O");
    entry(
        "<rect y=\"-3\" width=\"6\" height=\"6\" fill=\"#2ca02c\"/>",
        "timers",
    );
    entry(
        "<line x1=\"5\" x2=\"5\" y1=\"-4\" y2=\"4\" stroke=\"#444\"/>",
        "ready",
    );
}

fn axis(svg: &mut String, time: Duration, scale: f64, y: f64) {
    for ms in 0..=time.as_millis() {
        let x = LEFT + ms as f64 / 1000.0 * scale;
        put(
            svg,
            format_args!(
                "<text x=\"{x:.1}\" y=\"{y:.0}\" fill=\"#666\">{ms} ms</text>\n\
             <line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.0}\" y2=\"{:.0}\" stroke=\"#ddd\" stroke-width=\"0.5\"/>\n",
                TOP,
                y - 14.0
            ),
        );
    }
}
