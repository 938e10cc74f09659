//! A sign of life for work that takes longer than a second.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// Does `work`; when it takes longer than a second, a bar on the terminal says what is being done and for how long.
pub fn while_waiting<T>(what: &'static str, work: impl FnOnce() -> T) -> T {
    let (done, is_done) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            if is_done.recv_timeout(Duration::from_secs(1)) != Err(mpsc::RecvTimeoutError::Timeout)
            {
                return;
            }
            let bar = ProgressBar::new_spinner().with_elapsed(Duration::from_secs(1));
            // The template is a constant without a mistake; the default style would do as well.
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
                bar.set_style(style);
            }
            bar.set_message(what);
            bar.enable_steady_tick(Duration::from_millis(100));
            // The sender goes away when the work has ended, or has panicked.
            let _ = is_done.recv();
            bar.finish_and_clear();
        });
        let result = work();
        drop(done);
        result
    })
}
