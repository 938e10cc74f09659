//! What a program may do and PTX gives no meaning to: more than "allowed", since anything may follow.
//!
//! The execution goes on all the same, in the way that is nearest; the verdict carries the remark.

use std::fmt;

/// Why what an execution leads to is undefined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Undefined {
    /// A data race with an asynchronous operation.
    Race,
    /// `bar.red` meets `bar.sync`, `bar.arrive` or another reduction in one phase of a barrier.
    Votes,
    /// An operation on an mbarrier object that is not there.
    NoObject,
    /// `mbarrier.init` for no arrivals at all.
    NoArrivals,
    /// More arrivals at an mbarrier than its phase still expects, or none.
    Arrivals,
    /// `mbarrier.arrive.noComplete` completes the phase.
    Completes,
}

impl fmt::Display for Undefined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Undefined::Race => "races with an asynchronous operation",
            Undefined::Votes => "bar.red meets another kind of arrival in one phase",
            Undefined::NoObject => "uses an mbarrier that is not initialised",
            Undefined::NoArrivals => "initialises an mbarrier for 0 arrivals",
            Undefined::Arrivals => {
                "arrives at an mbarrier more often than its phase expects, or 0 times"
            }
            Undefined::Completes => "completes a phase by mbarrier.arrive.noComplete",
        })
    }
}
