//! Streams: everything comes in the order that the buffers imply.

use std::future::IntoFuture;
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use baton_host::reservation::Waited;
use baton_host::{Buffer, Device, Pinned, Updated, read, write};
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

pub fn priorities(device: &Device) -> Checked {
    let module = device.load(&KERNELS)?;
    let [low, usual, high] =
        [device.stream_of_priority(-9)?, device.stream()?, device.stream_of_priority(9)?];
    let mut data = Buffer::<u32>::poisoned(device, LEN)?;
    let mut copy = Buffer::<u32>::poisoned(device, LEN)?;
    for round in 0..20 {
        low.launch(&module, CTAS, reservation_kernel::write, (write(&mut data), round))?;
        high.copy(&data, &mut copy)?;
        usual.fill(&mut data, 0)?;
        same_elements("what goes first waits all the same", &values(round), &copy.to_vec()?)?;
    }
    Ok(())
}

/// Wakes a thread that waits for a task.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

pub fn callbacks(device: &Device) -> Checked {
    let module = device.load(&KERNELS)?;
    let stream = device.stream()?;
    let mut data = Buffer::<u32>::poisoned(device, LEN)?;
    let (tell, told) = channel();
    for round in 0..20 {
        stream.launch(&module, CTAS, reservation_kernel::write, (write(&mut data), round))?;
        let tell = tell.clone();
        let fence = stream.call_back(move || {
            // Nobody is there to be told only if this check has failed already.
            let _ = tell.send(round);
        })?;
        // The task sleeps until the callback has ended.
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut task = pin!(fence.into_future());
        loop {
            match task.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(ended) => break ended?,
                Poll::Pending => thread::park_timeout(Duration::from_secs(10)),
            }
        }
        same("the callback's round", Ok(round), told.try_recv())?;
        same_elements("behind the callback", &values(round), &data.to_vec()?)?;
    }
    Ok(())
}

pub fn dropping_callback(device: &Device) -> Checked {
    let module = device.load(&KERNELS)?;
    let mut seen = Buffer::<u32>::poisoned(device, LEN)?;
    let host = Pinned::<u32>::zeroed(device, LEN)?;
    let stream = device.stream()?;
    for round in 0..20 {
        let beside = device.stream()?;
        let mut data = Buffer::<u32>::poisoned(device, LEN)?;
        stream.launch(&module, CTAS, reservation_kernel::write, (write(&mut data), round))?;
        beside.copy(&data, &mut seen)?;
        // A buffer that a stream still reads, and a stream with work: neither may be ended by the driver's own thread.
        let called = stream.call_back(move || drop((data, beside)))?;
        called.synchronize()?;
        same_elements("what was copied", &values(round), &seen.to_vec()?)?;
    }
    let module = Arc::new(module);
    let fence = stream.call_back(move || drop((host, module)))?;
    Ok(fence.synchronize()?)
}

pub fn branches(device: &Device) -> Checked {
    let module = device.load(&KERNELS)?;
    let (mut stream, mut beside) = (device.stream()?, device.stream()?);
    let mut data = Buffer::<u32>::poisoned(device, LEN)?;
    let mut copy = Buffer::<u32>::poisoned(device, LEN)?;
    let mut other = Buffer::<u32>::poisoned(device, LEN)?;
    let mut wrong = Buffer::<u32>::zeroed(device, (CTAS * reservation_kernel::THREADS) as usize)?;
    let mut graph = stream.capture(|capture| {
        capture.launch(&module, CTAS, reservation_kernel::write, (write(&mut data), 3))?;
        let mut branch = capture.branch(&mut beside)?;
        let arguments = (read(&data), write(&mut wrong), 3, 20);
        branch.launch(&module, CTAS, reservation_kernel::read, arguments)?;
        capture.copy(&data, &mut copy)?;
        // Behind the copy and behind the reader, each on one of the two.
        branch.fill(&mut data, 0)?;
        capture.launch(&module, CTAS, reservation_kernel::write, (write(&mut other), 4))
    })?;
    for _ in 0..10 {
        graph.launch(&stream)?;
        same_elements("what was copied", &values(3), &copy.to_vec()?)?;
        same_elements("what was filled", &vec![0; LEN], &data.to_vec()?)?;
        same_elements("beside", &values(4), &other.to_vec()?)?;
        same_elements("wrong words", &vec![0; wrong.len()], &wrong.to_vec()?)?;
    }
    Ok(())
}

pub fn updates(device: &Device) -> Checked {
    let module = device.load(&KERNELS)?;
    let mut stream = device.stream()?;
    let mut first = Buffer::<u32>::poisoned(device, LEN)?;
    let mut second = Buffer::<u32>::poisoned(device, LEN)?;
    let mut graph = stream.capture(|capture| {
        capture.launch(&module, CTAS, reservation_kernel::write, (write(&mut first), 0))
    })?;
    graph.upload(&stream)?;
    graph.launch(&stream)?;
    for round in 1..10 {
        let updated = graph.update(&mut stream, |capture| {
            capture.launch(&module, CTAS, reservation_kernel::write, (write(&mut second), round))
        })?;
        same("a launch with other arguments", Updated::InPlace, updated)?;
        graph.launch(&stream)?;
        same_elements("behind the update", &values(round), &second.to_vec()?)?;
    }
    same_elements("before the update", &values(0), &first.to_vec()?)?;
    let updated = graph.update(&mut stream, |capture| {
        capture.fill(&mut first, 0)?;
        capture.copy(&second, &mut first)
    })?;
    same("work of another shape", Updated::Anew, updated)?;
    graph.launch(&stream)?;
    same_elements("behind the new graph", &values(9), &first.to_vec()?)
}
