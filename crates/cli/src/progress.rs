//! Progress bars for long work: on a terminal they move, elsewhere only their last line is written.

use super::size::human_bytes;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use leafline_sql::Session;
use leafline_storage::worker::ThreadName;
use std::io::IsTerminal as _;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Rows between updates of a bar.
const STEP: u64 = 1000;

/// The time that a statement runs before it gets a bar.
const PATIENCE: Duration = Duration::from_millis(700);
/// The time between two readings of a statement's progress.
const LOOK: Duration = Duration::from_millis(100);

/// A bar for a running statement that reports progress. Dropping it removes the bar.
pub struct Watched(Option<(Sender<()>, JoinHandle<()>)>);

impl Watched {
    /// Shows a bar for the session's next statement, if standard error is a terminal.
    pub fn begin(session: &Session) -> Watched {
        Watched::over(session.progress())
    }

    /// Shows a bar for `progress`, if standard error is a terminal.
    pub fn over(progress: leafline_types::Progress) -> Watched {
        if !std::io::stderr().is_terminal() {
            return Watched(None);
        }
        let (sender, over) = channel();
        let watching = ThreadName::Progress.builder().spawn(move || {
            if over.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                show(&progress, &over);
            }
        });
        // Without a thread there is no bar.
        Watched(watching.ok().map(|thread| (sender, thread)))
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.0.take() {
            drop(sender);
            let _ = thread.join();
        }
    }
}

/// Shows the progress of a statement until it is over.
fn show(progress: &leafline_types::Progress, over: &Receiver<()>) {
    let style = ProgressStyle::with_template("{prefix} [{bar:30}] {msg}  {elapsed}");
    let bar = Progress::new("", ProgressBar::new(1000), style).bar;
    loop {
        let report = progress.report();
        if report.of > 0 {
            bar.set_prefix(format!("{} ({} of {})", report.stage.name(), report.number, report.of));
            bar.set_position((report.percent * 10.0) as u64);
            bar.set_message(if report.percent > 0.0 {
                format!("{:.1} %", report.percent)
            } else {
                String::new()
            });
        }
        if over.recv_timeout(LOOK) != Err(RecvTimeoutError::Timeout) {
            bar.finish_and_clear();
            return;
        }
    }
}

/// The progress of work that goes row by row, or in one piece.
pub struct Progress {
    bar: ProgressBar,
    label: String,
    begun: Instant,
    rows: u64,
    bytes: u64,
}

impl Progress {
    /// Makes a bar for about `expected` rows.
    pub fn rows(label: &str, expected: u64) -> Progress {
        let style =
            ProgressStyle::with_template("{prefix:<24} [{bar:30}] {human_pos} of {human_len} rows  {msg}");
        Progress::new(label, ProgressBar::new(expected), style)
    }

    /// Makes a bar for about `expected` pages.
    pub fn pages(label: &str, expected: u64) -> Progress {
        let style = ProgressStyle::with_template(
            "{prefix:<24} [{bar:30}] {human_pos} of {human_len} pages  {elapsed}",
        );
        Progress::new(label, ProgressBar::new(expected), style)
    }

    /// Makes a bar for a file of `length` bytes.
    pub fn bytes(label: &str, length: u64) -> Progress {
        let style =
            ProgressStyle::with_template("{prefix:<24} [{bar:30}] {bytes} of {total_bytes}  {elapsed}");
        Progress::new(label, ProgressBar::new(length), style)
    }

    /// Removes the bar.
    pub fn hide(&self) {
        self.bar.finish_and_clear();
    }

    /// Adds pages, rows or bytes.
    pub fn add(&self, pages: u64) {
        self.bar.inc(pages);
    }

    /// Sets the number of pages done.
    pub fn set(&self, pages: u64) {
        self.bar.set_position(pages);
    }

    /// Ends without a message.
    pub fn clear(self) {
        self.bar.finish_and_clear();
    }

    /// Makes a spinner for work that reports nothing before it is done.
    pub fn spinner(label: &str) -> Progress {
        let style = ProgressStyle::with_template("{prefix:<24} {spinner} {elapsed}");
        let progress = Progress::new(label, ProgressBar::new_spinner(), style);
        progress.bar.enable_steady_tick(Duration::from_millis(100));
        progress
    }

    fn new(
        label: &str,
        bar: ProgressBar,
        style: Result<ProgressStyle, indicatif::style::TemplateError>,
    ) -> Progress {
        if !std::io::stderr().is_terminal() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        // The templates are constants; a wrong one would only look different.
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_prefix(label.to_owned());
        Progress { bar, label: label.to_owned(), begun: Instant::now(), rows: 0, bytes: 0 }
    }

    /// Counts one more row.
    pub fn row(&mut self, bytes: u64) {
        self.rows += 1;
        self.bytes += bytes;
        if self.rows.is_multiple_of(STEP) {
            self.bar.set_position(self.rows);
            self.bar.set_message(self.rate());
        }
    }

    fn rate(&self) -> String {
        let seconds = self.begun.elapsed().as_secs_f64().max(0.001);
        format!("{:.1} MB/s", self.bytes as f64 / 1e6 / seconds)
    }

    /// Ends, with rows and bytes that were counted elsewhere.
    pub fn finish_as(mut self, rows: u64, bytes: u64) {
        (self.rows, self.bytes) = (rows, bytes);
        self.finish();
    }

    /// Ends, and writes the line that stays.
    pub fn finish(self) {
        self.bar.finish_and_clear();
        let seconds = self.begun.elapsed().as_secs_f64();
        if self.rows == 0 {
            eprintln!("{:<24} {seconds:.1} s", self.label);
        } else {
            let (rows, bytes) = (grouped(self.rows), human_bytes(self.bytes));
            eprintln!("{:<24} {rows} rows, {bytes} in {seconds:.1} s ({})", self.label, self.rate());
        }
    }
}

/// Returns a number with commas between thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), text);
        }
    }
}
