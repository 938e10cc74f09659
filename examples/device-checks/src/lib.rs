//! Checks of a device, each of one thing that the host layer promises.
//!
//! They run on the emulator like everything else, and are written for the first minute with a new GPU: what fails says
//! which piece is at fault before a larger program does.

mod kernels;
mod memory;
mod streams;

use baton_host::Device;

/// One check.
pub struct Check {
    /// What is checked, in a few words.
    pub name: &'static str,
    run: fn(&Device) -> Checked,
}

impl Check {
    /// Runs it.
    pub fn run(&self, device: &Device) -> Checked {
        (self.run)(device)
    }
}

/// A check that this machine has not what is needed for: the error that is no failure.
#[derive(Debug)]
pub struct Skipped(pub &'static str);

impl std::fmt::Display for Skipped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Skipped {}

/// Nothing, or what is wrong.
pub type Checked = Result<(), Box<dyn std::error::Error>>;

/// All checks, simple ones first.
pub const ALL: &[Check] = &[
    Check { name: "copies there and back", run: memory::copies },
    Check { name: "page-locked copies", run: memory::pinned },
    Check { name: "memory that is dropped in use", run: memory::dropped },
    Check { name: "memory in a stream's order", run: memory::stream_ordered },
    Check { name: "parts and rows of buffers", run: memory::parts },
    Check { name: "managed memory", run: memory::managed },
    Check { name: "shared by threads", run: memory::shared },
    Check { name: "copies between devices", run: memory::peers },
    Check { name: "a chain over three streams", run: streams::chain },
    Check { name: "two readers and a writer", run: streams::readers },
    Check { name: "looking and waiting", run: streams::waits },
    Check { name: "priorities", run: streams::priorities },
    Check { name: "callbacks and tasks", run: streams::callbacks },
    Check { name: "a callback that drops what it has", run: streams::dropping_callback },
    Check { name: "a graph, ten times", run: streams::graph },
    Check { name: "a graph with branches", run: streams::branches },
    Check { name: "a graph that is uploaded and updated", run: streams::updates },
    Check { name: "refused launches", run: kernels::refusals },
    Check { name: "occupancy", run: kernels::occupancy },
    Check { name: "mailboxes", run: kernels::mailboxes },
    Check { name: "rings", run: kernels::rings },
    Check { name: "tensor maps", run: kernels::tensor_maps },
    Check { name: "shared memory above 48 KiB", run: kernels::large_shared_memory },
    Check { name: "co-resident CTAs", run: kernels::co_resident },
    Check { name: "clusters", run: kernels::clusters },
];

/// Two values that have to be the same.
fn same<T: PartialEq + std::fmt::Debug>(what: &str, expected: T, found: T) -> Checked {
    if expected == found {
        return Ok(());
    }
    Err(format!("{what}: {found:?} instead of {expected:?}").into())
}

/// Two lists that have to be the same; the first difference is named.
fn same_elements<T: PartialEq + std::fmt::Debug>(
    what: &str,
    expected: &[T],
    found: &[T],
) -> Checked {
    same(&format!("{what}, elements"), expected.len(), found.len())?;
    match expected.iter().zip(found).position(|(expected, found)| expected != found) {
        None => Ok(()),
        Some(at) => same(&format!("{what}, element {at}"), &expected[at], &found[at]),
    }
}
