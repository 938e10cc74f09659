//! A line on the terminal that says what is going on, from the second second on.
//!
//! What is over sooner prints nothing, and neither does a process whose stderr is no terminal.

use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output;

const SILENCE: Duration = Duration::from_secs(1);

/// A running task; the line disappears when this is dropped.
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Starts a line for a task, e.g. `building gemm-blackwell`.
    pub fn start(task: impl Into<String>) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{spinner} {prefix} ({elapsed}) {wide_msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
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
        let style = ProgressStyle::with_template(
            "{spinner} {prefix} [{bar:30}] {pos}/{len} ({elapsed}, {eta} left) {wide_msg}",
        );
        progress.bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        progress
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
