//! A line on the terminal that says what is going on, from the second second on.
//!
//! What is over sooner prints nothing. Where stderr is no terminal, a line is added every ten seconds: whoever reads a log
//! sees that the process lives, and how far it is.

use std::fmt;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output;

const SILENCE: Duration = Duration::from_secs(1);

/// The lines of a task, and of one that has so many parts. What does not fit is cut at the end.
const TASK: &str = "{spinner} {prefix} ({elapsed}) {wide_msg}";
const PARTS: &str = "{spinner} {prefix} [{bar:16}] {pos}/{len} ({elapsed}, {eta} left) {wide_msg}";

/// Between two lines where there is no terminal.
const SIGN: Duration = Duration::from_secs(10);

/// Between two looks at a counter.
const LOOK: Duration = Duration::from_millis(120);

/// A running task; the line disappears when this is dropped.
pub struct Progress {
    bar: ProgressBar,
    message: Arc<Mutex<Message>>,
}

impl Progress {
    /// Starts a line for a task, e.g. `building gemm-blackwell`.
    pub fn start(task: impl Into<String>) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        bar.set_style(style(TASK));
        bar.set_prefix(task.into());
        bar.enable_steady_tick(Duration::from_millis(120));
        let late = bar.clone();
        if std::io::stderr().is_terminal() {
            thread::spawn(move || {
                thread::sleep(SILENCE);
                if !late.is_finished() {
                    late.set_draw_target(ProgressDrawTarget::stderr());
                }
            });
        } else {
            thread::spawn(move || signs_of_life(&late, SIGN, output::remark));
        }
        Self { bar, message: Arc::default() }
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
        let (bar, message) = (self.bar.clone(), Arc::clone(&self.message));
        thread::spawn(move || {
            while !bar.is_finished() {
                show(&bar, &message, |message| message.instructions = counter.load(Relaxed));
                thread::sleep(LOOK);
            }
        });
        self
    }

    /// Says how many parts are done.
    pub fn done(&self, parts: u64) {
        self.bar.set_position(parts);
    }

    /// Says which step of the task runs.
    pub fn step(&self, step: impl Into<String>) {
        show(&self.bar, &self.message, |message| message.step = step.into());
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

/// Says every so often how far a task is, until it is over.
fn signs_of_life(bar: &ProgressBar, every: Duration, mut say: impl FnMut(String)) {
    let mut next = every;
    while !bar.is_finished() {
        thread::sleep(LOOK.min(every));
        if bar.elapsed() < next || bar.is_finished() {
            continue;
        }
        next += every;
        let seconds = bar.elapsed().as_secs();
        let parts = match bar.length() {
            Some(length) => format!(" {}/{length}", bar.position()),
            None => String::new(),
        };
        let message = bar.message();
        let message = if message.is_empty() { message } else { format!(", {message}") };
        say(format!("{}{parts}, {seconds} s{message}", bar.prefix()));
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// What stands at the end of the line.
#[derive(Debug, Default)]
struct Message {
    /// Thread-instructions so far; zero where nobody counts them.
    instructions: u64,
    step: String,
}

fn show(bar: &ProgressBar, message: &Mutex<Message>, change: impl FnOnce(&mut Message)) {
    let mut message = message.lock().unwrap_or_else(PoisonError::into_inner);
    change(&mut message);
    bar.set_message(message.to_string());
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MILLION: u64 = 1_000_000;
        const BILLION: u64 = 1000 * MILLION;
        match self.instructions {
            0 => return f.write_str(&self.step),
            1..MILLION => write!(f, "{} instructions", self.instructions)?,
            MILLION..BILLION => write!(f, "{} million instructions", self.instructions / MILLION)?,
            count => {
                let tenths = count / (BILLION / 10);
                write!(f, "{}.{} billion instructions", tenths / 10, tenths % 10)?;
            }
        }
        if self.step.is_empty() { Ok(()) } else { write!(f, ", {}", self.step) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_told_in_words_that_do_not_jump() {
        let text =
            |instructions, step: &str| Message { instructions, step: step.into() }.to_string();
        assert_eq!(text(0, "looking"), "looking");
        assert_eq!(text(3774, ""), "3774 instructions");
        assert_eq!(text(999_999, "looking"), "999999 instructions, looking");
        assert_eq!(text(64_700_000, ""), "64 million instructions");
        assert_eq!(text(999_999_999, ""), "999 million instructions");
        assert_eq!(text(1_000_000_000, ""), "1.0 billion instructions");
        assert_eq!(text(20_160_000_000, "looking"), "20.1 billion instructions, looking");
    }

    #[test]
    fn what_is_counted_meanwhile_is_shown() {
        let counter = Arc::new(AtomicU64::new(5_000_000));
        let progress = Progress::counted("many", 7).with_instructions(Arc::clone(&counter));
        progress.step("looking");
        let shows = |text: &str| {
            let end = std::time::Instant::now() + Duration::from_secs(20);
            while progress.bar.message() != text {
                assert!(std::time::Instant::now() < end, "{} for {text}", progress.bar.message());
                thread::sleep(Duration::from_millis(5));
            }
        };
        shows("5 million instructions, looking");
        counter.store(2_000_000_000, Relaxed);
        shows("2.0 billion instructions, looking");
    }

    #[test]
    fn a_log_hears_that_the_task_lives_until_it_is_over() {
        let bar = ProgressBar::with_draw_target(Some(3), ProgressDrawTarget::hidden());
        bar.set_prefix("checking k");
        bar.set_message("64 million instructions");
        bar.set_position(1);
        let mut lines = Vec::new();
        signs_of_life(&bar, Duration::from_millis(1), |line| {
            lines.push(line);
            if lines.len() == 2 {
                bar.finish_and_clear();
            }
        });
        assert_eq!(lines, ["checking k 1/3, 0 s, 64 million instructions"; 2]);
    }

    #[test]
    fn every_line_can_be_drawn() {
        for template in [TASK, PARTS] {
            assert!(ProgressStyle::with_template(template).is_ok(), "{template}");
        }
    }
}
