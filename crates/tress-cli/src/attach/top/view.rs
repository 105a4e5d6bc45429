//! What stands on the screen.

use crate::attach::model::{Process, Runtime};
use crossterm::event::KeyCode;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Block, Cell, Paragraph, Row, Table, TableState, Wrap};

/// The tables, one at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pane {
    Sites,
    Resources,
    Workers,
}

const PANES: [Pane; 3] = [Pane::Sites, Pane::Resources, Pane::Workers];

/// A column of a table: its heading and its width.
type Column = (&'static str, Constraint);

pub(super) struct View {
    address: String,
    process: Process,
    /// What the counters of polls were at the look before, by runtime and worker, for rates.
    before: Vec<(u64, u64, u64)>,
    lost: Option<String>,
    pane: Pane,
    chosen: TableState,
}

impl View {
    pub(super) fn new(address: &str) -> View {
        View {
            address: address.to_owned(),
            process: Process::default(),
            before: Vec::new(),
            lost: None,
            pane: Pane::Sites,
            chosen: TableState::default().with_selected(0),
        }
    }

    pub(super) fn update(&mut self, process: Process) {
        let counts = self.process.runtimes.iter().flat_map(|runtime| {
            let of =
                |worker: &crate::attach::model::Worker| (runtime.id, worker.index, worker.polls);
            runtime.workers.iter().map(of)
        });
        self.before = counts.collect();
        self.process = process;
        self.lost = None;
    }

    pub(super) fn lose(&mut self, why: String) {
        self.lost = Some(why);
    }

    pub(super) fn press(&mut self, key: KeyCode) {
        let at = PANES.iter().position(|pane| *pane == self.pane);
        let at = at.unwrap_or_default();
        match key {
            KeyCode::Tab | KeyCode::Right | KeyCode::Char('l') => self.go_to(at + 1),
            KeyCode::BackTab | KeyCode::Left | KeyCode::Char('h') => {
                self.go_to(at + PANES.len() - 1);
            }
            KeyCode::Down | KeyCode::Char('j') => self.chosen.select_next(),
            KeyCode::Up | KeyCode::Char('k') => self.chosen.select_previous(),
            KeyCode::PageDown => self.chosen.scroll_down_by(20),
            KeyCode::PageUp => self.chosen.scroll_up_by(20),
            KeyCode::Home | KeyCode::Char('g') => self.chosen.select_first(),
            KeyCode::End | KeyCode::Char('G') => self.chosen.select_last(),
            _ => {}
        }
    }

    fn go_to(&mut self, pane: usize) {
        self.pane = PANES[pane % PANES.len()];
        self.chosen = TableState::default().with_selected(0);
    }

    pub(super) fn draw(&mut self, frame: &mut Frame<'_>) {
        let findings = self.findings();
        let width = usize::from(frame.area().width.max(4)) - 2;
        // Each finding takes as many lines as its sentence needs, and all together at most a third of the screen.
        let lines: usize = findings
            .iter()
            .map(|line| line.width().div_ceil(width).max(1))
            .sum();
        let height = (lines as u16 + 2).clamp(3, (frame.area().height / 3).max(3));
        let [top, found, panes, bottom] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(height),
            Constraint::Min(3),
            Constraint::Length(1),
        ])
        .areas(frame.area());
        frame.render_widget(self.heading(), top);
        let title = match self.process.findings.len() {
            0 => " Findings ".to_owned(),
            n => format!(" Findings: {n} "),
        };
        let findings = Paragraph::new(Text::from(findings))
            .wrap(Wrap { trim: false })
            .block(Block::bordered().title(title));
        frame.render_widget(findings, found);
        self.draw_pane(frame, panes);
        let keys = "q quit   tab next table   j/k or arrows move   g/G first, last";
        frame.render_widget(Line::from(keys).style(Modifier::DIM), bottom);
    }

    fn heading(&self) -> Line<'_> {
        if let Some(why) = &self.lost {
            let text = format!("connection lost: {why}");
            return Line::styled(text, Style::new().fg(Color::Red));
        }
        let process = &self.process;
        let runtimes = &process.runtimes;
        let tasks: u64 = runtimes.iter().map(|runtime| runtime.alive).sum();
        let waiting: u64 = runtimes
            .iter()
            .flat_map(|runtime| runtime.waiting.values())
            .sum();
        let closures: u64 = runtimes.iter().map(|runtime| runtime.blocking.queued).sum();
        let threads = |runtime: &Runtime| runtime.blocking.threads - runtime.blocking.idle;
        let busy: u64 = runtimes.iter().map(threads).sum();
        Line::from(vec![
            Span::styled(process.program.clone(), Modifier::BOLD),
            Span::raw(format!(
                "  process {} at {}, up {} s   {tasks} tasks, {waiting} of them wait   blocking pool: {busy} busy, {closures} wait",
                process.pid,
                self.address,
                process.uptime_ms / 1000
            )),
        ])
    }

    fn findings(&self) -> Vec<Line<'static>> {
        if self.process.findings.is_empty() {
            return vec![Line::from("Nothing is wrong that tress can see.").style(Color::Green)];
        }
        let line = |finding: &crate::attach::model::Finding| {
            let colour = match finding.severity.as_str() {
                "critical" => Color::Red,
                "warning" => Color::Yellow,
                _ => Color::Cyan,
            };
            Line::from(vec![
                Span::styled(
                    format!("{} ", finding.severity),
                    Style::new().fg(colour).add_modifier(Modifier::BOLD),
                ),
                Span::raw(finding.text.clone()),
            ])
        };
        self.process.findings.iter().map(line).collect()
    }

    fn draw_pane(&mut self, frame: &mut Frame<'_>, area: Rect) {
        let (columns, rows) = match self.pane {
            Pane::Sites => self.sites(),
            Pane::Resources => self.resources(),
            Pane::Workers => self.workers(),
        };
        let titles = PANES.map(|pane| {
            let text = match pane {
                Pane::Sites => " Spawn sites ",
                Pane::Resources => " Locks and channels ",
                Pane::Workers => " Workers ",
            };
            match pane == self.pane {
                true => Span::styled(text, Modifier::REVERSED),
                false => Span::raw(text),
            }
        });
        let heading = columns.iter().map(|(name, _)| Cell::from(*name));
        let widths = columns.iter().map(|(_, width)| *width);
        let table = Table::new(rows, widths)
            .header(Row::new(heading).style(Modifier::BOLD))
            .row_highlight_style(Modifier::REVERSED)
            .block(Block::bordered().title(Line::from(titles.to_vec())));
        frame.render_stateful_widget(table, area, &mut self.chosen);
    }

    fn sites(&self) -> (Vec<Column>, Vec<Row<'static>>) {
        let columns = vec![
            ("live", Constraint::Length(9)),
            ("spawned", Constraint::Length(10)),
            ("ended", Constraint::Length(10)),
            ("poll p50", Constraint::Length(10)),
            ("p99", Constraint::Length(10)),
            ("delay p99", Constraint::Length(10)),
            ("oldest", Constraint::Length(10)),
            ("spawned at", Constraint::Min(20)),
        ];
        let sites = self
            .process
            .runtimes
            .iter()
            .flat_map(|runtime| &runtime.sites);
        let row = |site: &crate::attach::model::Site| {
            let place = match &site.name {
                Some(name) => format!("{name}  {}", site.site),
                None => site.site.clone(),
            };
            Row::new(vec![
                site.live.to_string(),
                number(site.spawned),
                number(site.completed),
                nanoseconds(site.poll_p50),
                nanoseconds(site.poll_p99),
                nanoseconds(site.delay_p99),
                site.oldest_ms.map_or_else(|| "-".to_owned(), milliseconds),
                place,
            ])
        };
        (columns, sites.map(row).collect())
    }

    fn resources(&self) -> (Vec<Column>, Vec<Row<'static>>) {
        let columns = vec![
            ("waiting", Constraint::Length(9)),
            ("longest", Constraint::Length(10)),
            ("what", Constraint::Length(18)),
            ("held by", Constraint::Length(24)),
            ("created at", Constraint::Min(20)),
        ];
        let all = self.process.runtimes.iter();
        let all = all.flat_map(|runtime| &runtime.resources);
        let row = |resource: &crate::attach::model::Resource| {
            let holder = resource.holders.first().map(|holder| match holder.task {
                Some(task) => format!("task {task} for {}", milliseconds(holder.for_ms)),
                None => format!("no task, for {}", milliseconds(holder.for_ms)),
            });
            Row::new(vec![
                resource.waiters.to_string(),
                milliseconds(resource.longest_ms),
                resource.kind.clone(),
                holder.unwrap_or_default(),
                resource.site.clone().unwrap_or_default(),
            ])
        };
        (columns, all.map(row).collect())
    }

    fn workers(&self) -> (Vec<Column>, Vec<Row<'static>>) {
        let columns = vec![
            ("runtime", Constraint::Length(16)),
            ("worker", Constraint::Length(7)),
            ("state", Constraint::Length(9)),
            ("queue", Constraint::Length(8)),
            ("polls/s", Constraint::Length(11)),
            ("mean poll", Constraint::Length(10)),
            ("stolen", Constraint::Length(10)),
            ("parks", Constraint::Length(10)),
            ("stuck", Constraint::Length(7)),
            ("timers", Constraint::Length(8)),
            ("I/O", Constraint::Min(8)),
        ];
        let mut rows = Vec::new();
        for runtime in &self.process.runtimes {
            let name = match &runtime.name {
                Some(name) => name.clone(),
                None => format!("{} {}", runtime.flavor, runtime.id),
            };
            for worker in &runtime.workers {
                let same =
                    |(id, index, _): &&(u64, u64, u64)| (*id, *index) == (runtime.id, worker.index);
                let before = self.before.iter().find(same).map(|(.., polls)| *polls);
                let rate = before.map(|before| worker.polls.saturating_sub(before));
                rows.push(Row::new(vec![
                    name.clone(),
                    worker.index.to_string(),
                    worker.state.clone(),
                    (worker.queue
                        + if worker.index == 0 {
                            runtime.global_queue
                        } else {
                            0
                        })
                    .to_string(),
                    number(rate),
                    nanoseconds(Some(worker.mean_poll_ns)),
                    worker.steals.to_string(),
                    worker.parks.to_string(),
                    worker.slow_polls.to_string(),
                    worker.timers.to_string(),
                    worker.io_backend.clone().unwrap_or_default(),
                ]));
            }
        }
        (columns, rows)
    }
}

fn number(value: Option<u64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

fn milliseconds(ms: u64) -> String {
    match ms {
        0..1000 => format!("{ms} ms"),
        1000..100_000 => format!("{:.1} s", ms as f64 / 1000.0),
        _ => format!("{} s", ms / 1000),
    }
}

fn nanoseconds(ns: Option<u64>) -> String {
    match ns {
        None => "-".to_owned(),
        Some(ns @ 0..1000) => format!("{ns} ns"),
        Some(ns @ 1000..1_000_000) => format!("{:.1} µs", ns as f64 / 1e3),
        Some(ns) => format!("{:.1} ms", ns as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    /// Draws a view of that answer of a console, and returns the screen.
    fn screen(view: &mut View) -> String {
        let mut terminal = Terminal::new(TestBackend::new(120, 30)).unwrap();
        terminal.draw(|frame| view.draw(frame)).unwrap();
        terminal.backend().to_string()
    }

    fn process(findings: &str) -> Process {
        let text = format!(
            r#"{{"pid":7,"program":"shop","uptime_ms":42000,"findings":[{findings}],"runtimes":[{{"id":1,"name":"main",
            "flavor":"multi_thread","alive":3,"global_queue":0,"waiting":{{"Mutex":2}},
            "workers":[{{"index":0,"state":"parked","polls":100,"unknown":true}}],
            "sites":[{{"site":"src/main.rs:3:5","live":3,"poll_p99":12000}}],
            "resources":[{{"kind":"Mutex","site":"src/db.rs:8:1","waiters":2,"longest_ms":5000,"holders":[{{"task":9,"for_ms":6000}}]}}]}}]}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn findings_come_first_and_tables_follow() {
        let mut view = View::new("127.0.0.1:6670");
        view.update(process(""));
        let shown = screen(&mut view);
        assert!(shown.contains("Nothing is wrong"), "{shown}");
        assert!(shown.contains("3 tasks, 2 of them wait"), "{shown}");
        assert!(shown.contains("src/main.rs:3:5"), "{shown}");
        assert!(shown.contains("12.0 µs"), "{shown}");
        view.update(process(
            r#"{"severity":"critical","kind":"deadlock","text":"Deadlock: a waits for b"}"#,
        ));
        let shown = screen(&mut view);
        assert!(
            shown.contains("critical Deadlock: a waits for b"),
            "{shown}"
        );
        view.press(KeyCode::Tab);
        let shown = screen(&mut view);
        assert!(shown.contains("task 9 for 6.0 s"), "{shown}");
        view.press(KeyCode::Tab);
        let shown = screen(&mut view);
        assert!(shown.contains("parked"), "{shown}");
        view.press(KeyCode::Tab);
        assert!(screen(&mut view).contains("src/main.rs:3:5"));
    }

    #[test]
    fn a_lost_connection_is_said_and_a_new_answer_ends_that() {
        let mut view = View::new("127.0.0.1:6670");
        view.update(process(""));
        view.lose("refused".into());
        assert!(screen(&mut view).contains("connection lost: refused"));
        view.update(process(""));
        assert!(!screen(&mut view).contains("connection lost"));
    }

    #[test]
    fn a_tiny_screen_and_an_empty_answer_do_no_harm() {
        for (width, height) in [(1, 1), (3, 2), (10, 4), (400, 3)] {
            let mut view = View::new("x");
            let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
            terminal.draw(|frame| view.draw(frame)).unwrap();
            view.update(process(
                r#"{"text":"a very long sentence that does not fit"}"#,
            ));
            for _ in 0..5 {
                view.press(KeyCode::Down);
            }
            terminal.draw(|frame| view.draw(frame)).unwrap();
        }
    }
}
