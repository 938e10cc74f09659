//! Time that a test has spent, on a machine that may be busy with something else.

use std::sync::LazyLock;
use std::time::Instant;

/// Processor time of this thread so far, in steps of some milliseconds: other programs on the machine do
/// not lengthen it. Where the system does not tell, the time of day.
pub fn processor_ms() -> f64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let spent = told.and_then(|told| told.split(' ').next()?.parse::<f64>().ok());
    spent.map_or_else(|| START.elapsed().as_secs_f64() * 1e3, |nanoseconds| nanoseconds / 1e6)
}

/// A stopwatch, by the clock and by the processor.
pub struct Stopwatch(Instant, f64);

impl Stopwatch {
    pub fn start() -> Self {
        Self(Instant::now(), processor_ms())
    }

    /// Milliseconds since then: what other programs took away does not count.
    pub fn ms(&self) -> f64 {
        (self.0.elapsed().as_secs_f64() * 1e3).min(processor_ms() - self.1)
    }
}
