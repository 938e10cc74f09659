//! A line on the terminal that says what is going on, from the second second on.
//!
//! What is over sooner prints nothing, and neither does a process whose stderr is no terminal.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::output;

const SILENCE: Duration = Duration::from_secs(1);

/// The lines: a task, one of so many parts, one run of the emulator, many runs.
const TASK: &str = "{spinner} {prefix} ({elapsed}) {wide_msg}";
const PARTS: &str = "{spinner} {prefix} [{bar:30}] {pos}/{len} ({elapsed}, {eta} left) {wide_msg}";
const RUN: &str = "{spinner} {prefix} ({elapsed}) {instructions} {wide_msg}";
const RUNS: &str =
    "{spinner} {prefix} [{bar:30}] {pos}/{len} ({elapsed}, {eta} left) {instructions} {wide_msg}";

/// A running task; the line disappears when this is dropped.
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Starts a line for a task, e.g. `building gemm-blackwell`.
    pub fn start(task: impl Into<String>) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        bar.set_style(style(TASK));
        bar.set_prefix(task.into());
        bar.enable_steady_tick(Duration::from_millis(120));
        let late = bar.clone();
        thread::spawn(move || {
            thread::sleep(SILENCE);
            if !late.is_finished() {
                late.set_draw_target(ProgressDrawTarget::stderr());
            }
        });
        Self { bar }
    }

    /// Starts a bar for a task of so many equal parts, e.g. `checking k`.
    pub fn counted(task: impl Into<String>, parts: u64) -> Self {
        let progress = Self::start(task);
        progress.bar.set_length(parts);
        progress.bar.set_style(style(PARTS));
        progress
    }

    /// Shows what `counter` counts while the emulator raises it: a part may take long.
    pub fn with_instructions(self, counter: Arc<AtomicU64>) -> Self {
        let template = if self.bar.length().is_some() { RUNS } else { RUN };
        let show = move |_: &ProgressState, line: &mut dyn fmt::Write| {
            // A line that cannot be written is not shown.
            let _ = write!(line, "{}", Instructions(counter.load(Ordering::Relaxed)));
        };
        self.bar.set_style(style(template).with_key("instructions", show));
        self
    }

    /// Says how many parts are done.
    pub fn done(&self, parts: u64) {
        self.bar.set_position(parts);
    }

    /// Says which step of the task runs.
    pub fn step(&self, step: impl Into<String>) {
        self.bar.set_message(step.into());
    }

    /// Prints a line above the running one.
    pub fn print(&self, line: &str) {
        self.bar.suspend(|| output::remark(line));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// How many thread-instructions were executed, roughly.
struct Instructions(u64);

impl fmt::Display for Instructions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MILLION: u64 = 1_000_000;
        const BILLION: u64 = 1000 * MILLION;
        match self.0 {
            0 => Ok(()),
            1..MILLION => write!(f, "{} thread-instructions", self.0),
            MILLION..BILLION => write!(f, "{} million thread-instructions", self.0 / MILLION),
            count => {
                let tenths = count / (BILLION / 10);
                write!(f, "{}.{} billion thread-instructions", tenths / 10, tenths % 10)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_told_in_words_that_do_not_jump() {
        let text = |count| Instructions(count).to_string();
        assert_eq!(text(0), "");
        assert_eq!(text(3774), "3774 thread-instructions");
        assert_eq!(text(999_999), "999999 thread-instructions");
        assert_eq!(text(64_700_000), "64 million thread-instructions");
        assert_eq!(text(999_999_999), "999 million thread-instructions");
        assert_eq!(text(1_000_000_000), "1.0 billion thread-instructions");
        assert_eq!(text(20_160_000_000), "20.1 billion thread-instructions");
    }

    #[test]
    fn every_line_can_be_drawn() {
        for template in [TASK, PARTS, RUN, RUNS] {
            assert!(ProgressStyle::with_template(template).is_ok(), "{template}");
        }
        for (progress, parts) in
            [(Progress::start("one"), None), (Progress::counted("many", 7), Some(7))]
        {
            let progress = progress.with_instructions(Arc::default());
            assert_eq!(progress.bar.length(), parts, "which decides the line");
        }
    }
}
