//! The rounds: a stream writes an array, two others read it, and so on, without the host waiting in between.
//!
//! The slow reader is given its work first and ends last, so the writer of the next round may come only behind
//! *both*. Who keeps one event for all readers of an array remembers the later of the two, the quick one, and the
//! next round's writer runs into the slow one's array. Both ways of doing it are here:
//!
//! - [`run`] with [`Order::Reservations`]: nothing is said about order, the buffers know.
//! - [`run`] with [`Order::LastReader`]: the same program, in which the slow reader reads through a handle that the
//!   writer does not know of. It shows on any device what a forgotten reader does.
//! - [`plain`]: the same program in safe cudarc, which forgets in this way. It needs a GPU.

pub mod plain;

use std::time::{Duration, Instant};

use baton_host::baton_emulator::{Hazard, Severity};
use baton_host::{Buffer, Device, Error, Image, Module, read, write};
use reservation_kernel::THREADS;

/// The kernels, compiled by the build script.
pub static KERNELS: Image = baton_host::image!("reservation_kernel");

/// CTAs of each launch.
pub const CTAS: u32 = 4;

/// How much there is to do.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// How often the array is written.
    pub rounds: u32,
    /// Its words.
    pub elements: usize,
    /// About how many microseconds the slow reader sleeps before it reads.
    pub pauses: u32,
}

impl Size {
    /// Words that readers look at.
    pub fn reads(&self) -> u64 {
        2 * u64::from(self.rounds) * self.elements as u64
    }
}

/// What orders the launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The reservations of the buffers.
    Reservations,
    /// The reservation, as if it remembered only the last reader.
    LastReader,
}

/// What came of the rounds.
#[derive(Debug, Default)]
pub struct Tally {
    /// Words that held something else than their round's value when they were read.
    pub wrong: u64,
    /// From the first launch to the end of the last.
    pub elapsed: Duration,
    /// What the emulator found within a kernel.
    pub hazards: Vec<Hazard>,
}

impl Tally {
    /// Whether all reads were right, and nothing else was found.
    pub fn is_right(&self) -> bool {
        self.wrong == 0 && !self.hazards.iter().any(|hazard| hazard.severity == Severity::Error)
    }
}

/// Goes through the rounds.
pub fn run(device: &Device, module: &Module, size: Size, order: Order) -> Result<Tally, Error> {
    let [writer, slow, quick] = [device.stream()?, device.stream()?, device.stream()?];
    let mut data = Buffer::<u32>::poisoned(device, size.elements)?;
    let counters = || Buffer::<u32>::zeroed(device, (CTAS * THREADS) as usize);
    let [mut slow_wrong, mut quick_wrong] = [counters()?, counters()?];
    // SAFETY: none. That the two are not ordered is what this is to show: the kernels count what they find, and any
    // words are values.
    let hidden = unsafe { data.untracked_alias() };

    let start = Instant::now();
    for round in 0..size.rounds {
        let written =
            writer.launch(module, CTAS, reservation_kernel::write, (write(&mut data), round))?;
        let seen_by_slow = match order {
            Order::Reservations => &data,
            Order::LastReader => {
                slow.wait_for(&written)?;
                &hidden
            }
        };
        let arguments = (read(seen_by_slow), write(&mut slow_wrong), round, size.pauses);
        slow.launch(module, CTAS, reservation_kernel::read, arguments)?;
        let arguments = (read(&data), write(&mut quick_wrong), round, 0);
        quick.launch(module, CTAS, reservation_kernel::read, arguments)?;
    }
    let mut hazards = Vec::new();
    for stream in [&writer, &slow, &quick] {
        hazards.extend(stream.synchronize()?.hazards);
    }
    let elapsed = start.elapsed();

    let mut wrong = 0;
    for counter in [slow_wrong, quick_wrong] {
        wrong += counter.to_vec()?.into_iter().map(u64::from).sum::<u64>();
    }
    Ok(Tally { wrong, elapsed, hazards })
}
