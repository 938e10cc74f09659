//! Streams: everything comes in the order that the buffers imply.

use std::time::{Duration, Instant};

use baton_host::reservation::Waited;
use baton_host::{Buffer, Device, Pinned, write};
use reservation::{CTAS, KERNELS, Order, Size};
use reservation_kernel::value;

use crate::{Checked, same, same_elements};

const LEN: usize = 4000;

/// What `reservation_kernel::write` writes in a round.
fn values(round: u32) -> Vec<u32> {
    (0..LEN as u64).map(|index| value(round, index)).collect()
}

pub fn chain(device: &Device) -> Checked {
    let module = device.load(&KERNELS)?;
    let [first, second, third] = [device.stream()?, device.stream()?, device.stream()?];
    let mut data = Buffer::poisoned(device, LEN)?;
    let mut copy = Buffer::poisoned(device, LEN)?;
    let mut host = Pinned::<u32>::zeroed(device, LEN)?;
    for round in 0..50 {
        first.launch(&module, CTAS, reservation_kernel::write, (write(&mut data), round))?;
        second.copy(&data, &mut copy)?;
        third.download(&copy, &mut host)?;
    }
    same_elements("at the end of the chain", &values(49), host.as_slice()?)
}

pub fn readers(device: &Device) -> Checked {
    let module = device.load(&KERNELS)?;
    let rounds = if device.is_emulator() { 10 } else { 500 };
    let size = Size { rounds, elements: LEN, pauses: 20 };
    let tally = reservation::run(device, &module, size, Order::Reservations)?;
    same("words of another round", 0, tally.wrong)
}

pub fn waits(device: &Device) -> Checked {
    let module = device.load(&KERNELS)?;
    let (stream, other) = (device.stream()?, device.stream()?);
    let mut data = Buffer::poisoned(device, LEN)?;
    same("an empty stream is idle", true, stream.is_idle()?)?;
    let fence = stream.launch(&module, CTAS, reservation_kernel::write, (write(&mut data), 1))?;
    other.wait_for(&fence)?;
    let behind = other.record()?;
    // Looking does not wait, and comes to an end.
    let start = Instant::now();
    while behind.synchronize_within(Some(Duration::ZERO))? != Waited::Done {
        if start.elapsed() > Duration::from_secs(10) {
            return Err("a fence has not signalled for ten seconds".into());
        }
    }
    same(
        "what was waited for has ended",
        Waited::Done,
        fence.synchronize_within(Some(Duration::ZERO))?,
    )?;
    drop(stream.synchronize()?);
    same("a stream that was waited for is idle", true, stream.is_idle()?)
}

pub fn graph(device: &Device) -> Checked {
    let module = device.load(&KERNELS)?;
    let mut stream = device.stream()?;
    let mut data = Buffer::<u32>::poisoned(device, LEN)?;
    let mut copy = Buffer::<u32>::poisoned(device, LEN)?;
    let mut graph = stream.capture(|capture| {
        capture.launch(&module, CTAS, reservation_kernel::write, (write(&mut data), 7))?;
        capture.copy(&data, &mut copy)
    })?;
    same("a capture does nothing", true, copy.to_vec()?.iter().all(|word| *word == u32::MAX))?;
    for _ in 0..10 {
        stream.fill(&mut copy, 0)?;
        graph.launch(&stream)?;
        same_elements("behind the graph", &values(7), &copy.to_vec()?)?;
    }
    Ok(())
}
