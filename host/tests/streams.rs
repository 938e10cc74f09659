//! Streams on the emulator, which overlap as the seed says: what is right under every seed is ordered.

mod fixture;

use std::time::Duration;

use baton::launch::{Call, DeviceSlice, DeviceSliceMut, KernelParam, Params, Shape, SyncWords};
use baton::protocol::SpinLock;
use baton_host::reservation::{Fence, Waited};
use baton_host::{
    BadLaunch, Buffer, Device, EmulatorOptions, Error, Pinned, SyncBuffer, Writable, read, write,
    zeroed,
};
use fixture::{KERNELS, SHAPE, bare, ones, scale, seeded, spoil};

/// The parameter of a protocol of one word.
fn count<'a>(lock: (SyncWords<'a, 1>, DeviceSliceMut<'a, u32>)) -> Call<'a> {
    let mut params = Params::new();
    SpinLock::<u32>::push(lock, &mut params);
    // SAFETY: the entry takes the four words of such a parameter, of one thread.
    unsafe { Call::new("count", Shape { threads: [1; 3], ..SHAPE }, params) }
}

/// The first row of the second plane of a tensor.
fn plane<'a>(map: DeviceSlice<'a, u64>, output: DeviceSliceMut<'a, f32>) -> Call<'a> {
    let mut params = Params::new();
    params.push_slice(&map);
    params.push_slice_mut(&output);
    // SAFETY: the entry takes two address-length pairs, of 4 threads, and the first word of the first is a map.
    unsafe { Call::new("plane", SHAPE, params) }
}

fn print<'a>() -> Call<'a> {
    bare("print", Shape { threads: [1; 3], ..SHAPE })
}

fn device() -> Device {
    seeded(0)
}

#[test]
fn a_chain_over_three_streams_is_in_order_under_every_seed() {
    for seed in 0..64 {
        let device = seeded(seed);
        let module = device.load(&KERNELS).unwrap();
        let streams = [(); 3].map(|()| device.stream().unwrap());
        let (mut a, mut b) = (ones(&device), ones(&device));
        for turn in 0..6 {
            let stream = &streams[turn % 3];
            stream.launch(&module, 1, scale, (read(&a), write(&mut b), 2.0)).unwrap();
            std::mem::swap(&mut a, &mut b);
        }
        assert_eq!(a.to_vec().unwrap(), [64.0; 4], "seed {seed}");
        assert_eq!(b.to_vec().unwrap(), [32.0; 4], "seed {seed}");
    }
}

#[test]
fn n24_a_writer_waits_for_both_readers_under_every_seed() {
    for seed in 0..64 {
        let device = seeded(seed);
        let module = device.load(&KERNELS).unwrap();
        let [s1, s2, s3] = [(); 3].map(|()| device.stream().unwrap());
        let mut data = ones(&device);
        let (mut first, mut second) = (ones(&device), ones(&device));
        s1.launch(&module, 1, scale, (read(&data), write(&mut first), 3.0)).unwrap();
        s2.launch(&module, 1, scale, (read(&data), write(&mut second), 5.0)).unwrap();
        let written = s3.fill(&mut data, 0).unwrap();
        written.synchronize().unwrap();
        assert_eq!(first.to_vec().unwrap(), [3.0; 4], "seed {seed}");
        assert_eq!(second.to_vec().unwrap(), [5.0; 4], "seed {seed}");
        assert_eq!(data.to_vec().unwrap(), [0.0; 4], "seed {seed}");
    }
}

#[test]
fn a_stored_map_brings_the_tensor_into_the_launch() {
    for seed in 0..64 {
        let device = seeded(seed);
        let module = device.load(&KERNELS).unwrap();
        let [s1, s2, s3] = [(); 3].map(|()| device.stream().unwrap());
        let numbers: Vec<f32> = (0..16u8).map(f32::from).collect();
        let source = Pinned::from_slice(&device, &numbers).unwrap();
        let mut tensor = Buffer::<f32>::zeroed(&device, 16).unwrap();
        let mut row = ones(&device);
        // The map is loaded by one stream when another has written the tensor, and not after a third writes it again.
        s1.upload(&source, &mut tensor).unwrap();
        let map = tensor.tiled(&[4, 2, 2], &[4, 2, 2]).encode().unwrap().store().unwrap();
        s2.launch(&module, 1, plane, (&map, write(&mut row))).unwrap();
        drop(map);
        s3.fill(&mut tensor, 0).unwrap();
        assert_eq!(row.to_vec().unwrap(), [8.0, 9.0, 10.0, 11.0], "seed {seed}");
        assert_eq!(tensor.to_vec().unwrap(), [0.0; 16], "seed {seed}");

        // A map that a kernel stores through is waited for as a writer is.
        let map = tensor.tiled_mut(&[4, 2, 2], &[4, 2, 2]).encode().unwrap().store().unwrap();
        s2.launch(&module, 1, plane, (&map, write(&mut row))).unwrap();
        drop(map);
        let waits = tensor.describe().to_string();
        assert!(waits.contains("write"), "{waits}");
    }
}

#[test]
fn streams_overlap() {
    // Which of two streams is done when the other's end is waited for, is up to the seed.
    let mut seen = [false; 2];
    for seed in 0..64 {
        let device = seeded(seed);
        let (s1, s2) = (device.stream().unwrap(), device.stream().unwrap());
        let (mut a, mut b) = (ones(&device), ones(&device));
        let first = s1.fill(&mut a, 1).unwrap();
        let second = s2.fill(&mut b, 2).unwrap();
        first.synchronize().unwrap();
        seen[usize::from(second.status().is_signaled())] = true;
    }
    assert_eq!(seen, [true; 2]);
}

#[test]
fn page_locked_memory_is_seen_when_copies_have_ended() {
    for seed in 0..16 {
        let device = seeded(seed);
        let (s1, s2) = (device.stream().unwrap(), device.stream().unwrap());
        let mut host = Pinned::from_slice(&device, &[1u32, 2, 3]).unwrap();
        let mut data = Buffer::zeroed(&device, 3).unwrap();
        s1.upload(&host, &mut data).unwrap();
        // Writing waits for the upload, so it has copied the old values.
        host.as_mut_slice().unwrap()[0] = 9;
        let mut back = Pinned::zeroed(&device, 3).unwrap();
        s2.download(&data, &mut back).unwrap();
        assert_eq!(back.as_slice().unwrap(), [1, 2, 3]);
        assert_eq!(host.as_slice().unwrap(), [9, 2, 3]);
        // Dropped while a copy may still be going on.
        s1.upload(&host, &mut data).unwrap();
        drop(host);
        assert_eq!(data.to_vec().unwrap(), [9, 2, 3]);
    }
}

#[test]
fn waits_that_only_look_come_to_an_end() {
    let device = device();
    let stream = device.stream().unwrap();
    assert!(stream.is_idle().unwrap());
    let mut data = ones(&device);
    let fence = stream.fill(&mut data, 0).unwrap();
    assert!(data.describe().to_string().contains("(fill): pending"), "{}", data.describe());
    while fence.synchronize_within(Some(Duration::ZERO)).unwrap() == Waited::TimedOut {}
    assert!(stream.is_idle().unwrap());
    stream.fill(&mut data, 1).unwrap();
    while !stream.is_idle().unwrap() {}
    assert!(data.describe().to_string().contains("to write: wait for nothing"));
}

#[test]
fn what_a_stream_prints_is_reported_once() {
    let device = device();
    let module = device.load(&KERNELS).unwrap();
    let stream = device.stream().unwrap();
    stream.launch(&module, 2, print, ()).unwrap();
    stream.launch(&module, 1, print, ()).unwrap();
    let report = stream.synchronize().unwrap();
    let mut numbers: Vec<_> = report.output.lines().collect();
    numbers.sort_unstable();
    assert_eq!(numbers, ["0", "0", "1"]);
    assert!(report.instructions.is_some_and(|count| count > 0));
    assert!(stream.synchronize().unwrap().output.is_empty());
}

#[test]
fn what_a_failed_writer_leaves_is_refused_until_it_is_overwritten() {
    for seed in 0..16 {
        let device = seeded(seed);
        let module = device.load(&KERNELS).unwrap();
        let (s1, s2, s3) =
            (device.stream().unwrap(), device.stream().unwrap(), device.stream().unwrap());
        let (mut bad, mut next) = (ones(&device), ones(&device));
        let (input, mut good) = (ones(&device), ones(&device));
        let failed = s1.launch(&module, 1, spoil, (write(&mut bad),)).unwrap();
        let dependent = s2.launch(&module, 1, scale, (read(&bad), write(&mut next), 2.0)).unwrap();
        s3.launch(&module, 1, scale, (read(&input), write(&mut good), 2.0)).unwrap();

        let error = failed.synchronize().unwrap_err();
        assert!(matches!(error, Error::WorkFailed { .. }), "{error:?}");
        assert!(error.to_string().contains("spoil"), "{error}");
        // It reached who waited for it, and its own stream, and nobody else.
        assert!(dependent.synchronize().is_err());
        drop(s3.synchronize().unwrap());
        assert_eq!(good.to_vec().unwrap(), [2.0; 4]);
        for stream in [&s1, &s2] {
            assert!(matches!(stream.synchronize(), Err(Error::WorkFailed { .. })));
            let refused = stream.fill(&mut good, 0);
            assert!(matches!(refused, Err(Error::WorkFailed { .. })), "{refused:?}");
        }
        assert_eq!(good.to_vec().unwrap(), [2.0; 4], "what was refused has not been done");

        // The contents are unknown to all who would use them.
        for buffer in [&bad, &next] {
            let error = buffer.to_vec().unwrap_err();
            assert!(matches!(error, Error::ContentsUnknown { .. }), "{error:?}");
            assert!(error.to_string().contains("overwrite the whole buffer"), "{error}");
        }
        let refused = s3.launch(&module, 1, scale, (read(&bad), write(&mut good), 1.0));
        assert!(matches!(refused, Err(Error::ContentsUnknown { .. })), "{refused:?}");
        let refused = s3.launch(&module, 1, scale, (read(&input), write(&mut bad), 1.0));
        assert!(matches!(refused, Err(Error::ContentsUnknown { .. })), "a kernel may read it too");

        // On the host or on a stream, overwriting ends it.
        bad.write(&[7.0; 4]).unwrap();
        s3.copy(&bad, &mut next).unwrap();
        assert_eq!(next.to_vec().unwrap(), [7.0; 4]);
    }
}

#[test]
fn what_is_dropped_in_use_is_given_back_later() {
    let mut options = EmulatorOptions::default();
    options.machine.global_bytes = 1 << 20;
    for seed in 0..8 {
        let device = Device::emulator(options.clone().with_seed(seed));
        let half = 1 << 17;
        for _ in 0..8 {
            let module = device.load(&KERNELS).unwrap();
            let stream = device.stream().unwrap();
            let input = Buffer::from_slice(&device, &vec![1.0f32; half]).unwrap();
            let mut output = Buffer::<f32>::poisoned(&device, 4).unwrap();
            stream.launch(&module, 1, scale, (read(&input), write(&mut output), 2.0)).unwrap();
            drop((input, module, stream));
            assert_eq!(output.to_vec().unwrap(), [2.0; 4]);
        }
    }
}

#[test]
fn an_alias_keeps_its_memory_and_nothing_else() {
    let mut seen = [false; 2];
    for seed in 0..64 {
        let device = seeded(seed);
        let [s1, s2] = [(); 2].map(|()| device.stream().unwrap());
        let (mut data, mut copied) = (ones(&device), ones(&device));
        // SAFETY: none; that the copy may come before or after the fill is what is looked at.
        let alias = unsafe { data.untracked_alias() };
        let copy = s1.copy(&alias, &mut copied).unwrap();
        s2.fill(&mut data, 0).unwrap();
        // Freed behind the copy, and so is what the alias is one of: reading what is freed would fail.
        drop((alias, data));
        let _room = Buffer::<f32>::poisoned(&device, 4).unwrap();
        copy.synchronize().unwrap();
        seen[usize::from(copied.to_vec().unwrap() == [0.0; 4])] = true;
    }
    assert_eq!(seen, [true; 2]);
}

#[test]
fn memory_comes_and_goes_in_a_streams_order() {
    for seed in 0..16 {
        let device = seeded(seed);
        let module = device.load(&KERNELS).unwrap();
        let (s1, s2) = (device.stream().unwrap(), device.stream().unwrap());
        let mut data = s1.alloc::<f32>(4).unwrap();
        s2.fill(&mut data, 0x3f).unwrap();
        s2.resize(&mut data, 8).unwrap();
        s1.resize(&mut data, 4).unwrap();
        let mut out = ones(&device);
        s2.launch(&module, 1, scale, (read(&data), write(&mut out), 1.0)).unwrap();
        s1.free(data).unwrap();
        drop(s1.synchronize().unwrap());
        assert_eq!(out.to_vec().unwrap(), [f32::from_bits(0x3f3f3f3f); 4]);
    }
}

#[test]
fn a_graph_is_done_as_often_as_it_is_launched() {
    for seed in 0..16 {
        let device = seeded(seed);
        let module = device.load(&KERNELS).unwrap();
        let (mut s1, s2) = (device.stream().unwrap(), device.stream().unwrap());
        let (mut a, mut b) = (ones(&device), ones(&device));
        let mut graph = s1
            .capture(|capture| {
                capture.launch(&module, 1, scale, (read(&a), write(&mut b), 2.0))?;
                capture.copy(&b, &mut a)
            })
            .unwrap();
        assert_eq!(a.to_vec().unwrap(), [1.0; 4], "captured work has not happened");
        for turn in 0..4 {
            graph.launch([&s1, &s2][turn % 2]).unwrap();
        }
        assert_eq!(a.to_vec().unwrap(), [16.0; 4], "seed {seed}");
        graph.launch(&s2).unwrap();
        drop((graph, module));
        assert_eq!(a.to_vec().unwrap(), [32.0; 4], "seed {seed}");
    }
}

#[test]
fn explicit_waits_and_records() {
    let device = device();
    let (s1, s2) = (device.stream().unwrap(), device.stream().unwrap());
    let mut data = ones(&device);
    s1.fill(&mut data, 0).unwrap();
    let recorded = s1.record().unwrap();
    s2.wait_for(&recorded).unwrap();
    s1.wait_for(&recorded).unwrap();
    let after = s2.record().unwrap();
    after.synchronize().unwrap();
    assert!(recorded.status().is_signaled());
    // A fence outlives its stream and its device.
    let mut data = ones(&device);
    let fence = s2.fill(&mut data, 0).unwrap();
    drop((s1, s2, data, device));
    fence.synchronize().unwrap();
}

#[test]
fn a_launch_that_waits_comes_after_all_streams() {
    for seed in 0..8 {
        let device = seeded(seed);
        let module = device.load(&KERNELS).unwrap();
        let stream = device.stream().unwrap();
        let (mut input, mut output) = (ones(&device), ones(&device));
        stream.launch(&module, 1, scale, (read(&output), write(&mut input), 4.0)).unwrap();
        drop(device.launch(&module, 1, scale(input.as_arg(), output.as_arg_mut(), 2.0)).unwrap());
        assert_eq!(output.to_vec().unwrap(), [8.0; 4]);
    }
}

#[test]
fn one_stream_is_used_from_many_threads() {
    let device = device();
    let stream = device.stream().unwrap();
    let mut buffers: Vec<_> = (0..4).map(|_| ones(&device)).collect();
    std::thread::scope(|scope| {
        for (byte, buffer) in (1..).zip(&mut buffers) {
            let stream = &stream;
            scope.spawn(move || {
                for _ in 0..50 {
                    stream.fill(buffer, byte).unwrap();
                }
            });
        }
    });
    let last = stream.record().unwrap();
    assert_eq!(last.sequence(), 201);
    for (byte, buffer) in (1u8..).zip(&buffers) {
        assert_eq!(buffer.to_vec().unwrap(), [f32::from_le_bytes([byte; 4]); 4]);
    }
}

#[test]
fn foreign_and_unfitting_buffers_are_refused() {
    let (here, there) = (device(), device());
    let module = here.load(&KERNELS).unwrap();
    let stream = here.stream().unwrap();
    let (mut ours, mut theirs) = (ones(&here), ones(&there));
    assert!(matches!(stream.fill(&mut theirs, 0), Err(Error::ForeignBuffer { .. })));
    let (from, mut to) = (ones(&there), ones(&device()));
    assert!(matches!(stream.copy(&from, &mut to), Err(Error::ForeignBuffer { .. })));
    assert!(matches!(stream.resize(&mut theirs, 1), Err(Error::ForeignBuffer { .. })));
    assert!(matches!(stream.free(theirs), Err(Error::ForeignBuffer { .. })));
    let theirs = ones(&there);
    let refused = stream.launch(&module, 1, scale, (read(&theirs), write(&mut ours), 1.0));
    let Err(Error::BadLaunch { problem, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!(problem, BadLaunch::ForeignMemory { parameter: 0 });
    let mut short = Buffer::<f32>::zeroed(&here, 3).unwrap();
    assert!(matches!(stream.copy(&ours, &mut short), Err(Error::BufferLengths { from: 4, to: 3 })));
    let empty = Buffer::<f32>::zeroed(&here, 0).unwrap();
    let mut other = Buffer::<f32>::zeroed(&here, 0).unwrap();
    stream.copy(&empty, &mut other).unwrap().synchronize().unwrap();
}

#[test]
fn the_words_of_a_protocol_are_zeroed_for_each_launch() {
    for seed in 0..16 {
        let device = seeded(seed);
        let module = device.load(&KERNELS).unwrap();
        let (mut s1, s2) = (device.stream().unwrap(), device.stream().unwrap());
        let mut words = SyncBuffer::<1>::new(&device).unwrap();
        let mut seen: Vec<_> = (0..4).map(|_| Buffer::poisoned(&device, 2).unwrap()).collect();
        for (turn, seen) in seen.iter_mut().enumerate() {
            let lock = (zeroed(&mut words), write(seen));
            [&s1, &s2][turn % 2].launch(&module, 2, count, (lock,)).unwrap();
        }
        for seen in &seen {
            let mut seen = seen.to_vec().unwrap();
            seen.sort_unstable();
            assert_eq!(seen, [0u32, 1], "seed {seed}");
        }
        // In a graph too.
        let lock = (zeroed(&mut words), write(&mut seen[0]));
        let mut graph = s1.capture(|capture| capture.launch(&module, 2, count, (lock,))).unwrap();
        for stream in [&s1, &s2, &s1] {
            graph.launch(stream).unwrap();
        }
        let mut seen = seen[0].to_vec().unwrap();
        seen.sort_unstable();
        assert_eq!(seen, [0u32, 1], "seed {seed}");
    }
}

/// A kernel may be any function that makes a call, and so may bring memory that is not among the launch's arguments.
#[test]
fn what_a_closure_brings_is_waited_for_too() {
    for seed in 0..64 {
        let device = seeded(seed);
        let module = device.load(&KERNELS).unwrap();
        let [first, second] = [(); 2].map(|()| device.stream().unwrap());
        let (input, mut middle, mut output) = (ones(&device), ones(&device), ones(&device));
        first.launch(&module, 1, scale, (read(&input), write(&mut middle), 3.0)).unwrap();
        let middle: &'static Buffer<f32> = Box::leak(Box::new(middle));
        let brought = middle.as_arg();
        let scale_it = move |output| scale(brought, output, 1.0);
        second.launch(&module, 1, scale_it, (write(&mut output),)).unwrap();
        assert_eq!(output.to_vec().unwrap(), [3.0; 4], "seed {seed}");
    }
}

#[test]
fn priorities_are_hints_and_change_no_order() {
    for seed in 0..16 {
        let device = seeded(seed);
        let module = device.load(&KERNELS).unwrap();
        let [low, high] = [-1, 7].map(|priority| device.stream_of_priority(priority).unwrap());
        let (input, mut middle, mut output) = (ones(&device), ones(&device), ones(&device));
        low.launch(&module, 1, scale, (read(&input), write(&mut middle), 3.0)).unwrap();
        high.launch(&module, 1, scale, (read(&middle), write(&mut output), 5.0)).unwrap();
        low.fill(&mut middle, 0).unwrap();
        assert_eq!(output.to_vec().unwrap(), [15.0; 4], "seed {seed}");
    }
}

#[test]
fn parts_of_buffers_go_where_buffers_go() {
    for seed in 0..32 {
        let device = seeded(seed);
        let module = device.load(&KERNELS).unwrap();
        let [s1, s2] = [(); 2].map(|()| device.stream().unwrap());
        let numbers: Vec<f32> = (0..12u8).map(f32::from).collect();
        let mut data = Buffer::from_slice(&device, &numbers).unwrap();
        // Two parts of one buffer in one launch; another stream's work on a third part is in order with it.
        let (first, mut rest) = data.split_at_mut(4).unwrap();
        let (mut second, mut third) = rest.view_mut().split_at(4).unwrap();
        s1.launch(&module, 1, scale, (read(&first), write(&mut second), 10.0)).unwrap();
        s2.launch(&module, 1, scale, (read(&second), write(&mut third), 10.0)).unwrap();
        s1.fill(&mut second.slice_mut(1..=2).unwrap(), 0).unwrap();
        let expected = [0.0, 1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 30.0, 0.0, 100.0, 200.0, 300.0];
        assert_eq!(data.to_vec().unwrap(), expected, "seed {seed}");

        // The host's copies, and those to page-locked memory, are of the part alone.
        data.slice_mut(10..).unwrap().write(&[7.0, 8.0]).unwrap();
        data.slice_mut(..1).unwrap().fill(0x3f).unwrap();
        let mut host = Pinned::<f32>::zeroed(&device, 3).unwrap();
        s2.download(&data.slice(9..).unwrap(), &mut host).unwrap();
        assert_eq!(host.as_slice().unwrap(), [100.0, 7.0, 8.0]);
        s2.upload(&host, &mut data.slice_mut(1..4).unwrap()).unwrap();
        let mut read = [0.0; 4];
        data.slice(..4).unwrap().slice(..).unwrap().read(&mut read).unwrap();
        assert_eq!(read, [f32::from_le_bytes([0x3f; 4]), 100.0, 7.0, 8.0], "seed {seed}");
    }
}

#[test]
fn parts_that_a_buffer_does_not_have_are_refused() {
    use std::ops::Bound;
    let device = device();
    let mut data = ones(&device);
    for (first, end) in [(0, 5), (5, 5), (3, 2), (0, usize::MAX)] {
        let refused = data.slice(first..end).map(drop).unwrap_err();
        assert!(matches!(refused, Error::OutOfRange { len: 4, .. }), "{first}..{end}: {refused}");
    }
    assert!(data.slice((Bound::Excluded(usize::MAX), Bound::Unbounded)).is_err());
    assert!(data.slice(..=usize::MAX).is_err());
    assert!(data.split_at_mut(5).is_err());
    // A range of a part is counted from the part's first value, and ends with it.
    let part = data.slice(1..3).unwrap();
    assert!(matches!(part.slice(..3), Err(Error::OutOfRange { len: 2, .. })));
    assert!(data.slice(4..).unwrap().is_empty());
    let (left, right) = data.split_at_mut(4).unwrap();
    assert_eq!((left.len(), right.len()), (4, 0));
    // Work on none of it is none.
    device.stream().unwrap().fill(&mut data.slice_mut(4..).unwrap(), 0).unwrap();
    assert_eq!(data.to_vec().unwrap(), [1.0; 4]);
}

#[test]
fn a_part_of_what_a_failed_writer_left_stays_unknown() {
    let device = device();
    let module = device.load(&KERNELS).unwrap();
    let (s1, s2) = (device.stream().unwrap(), device.stream().unwrap());
    let mut data = ones(&device);
    let failed = s1.launch(&module, 1, spoil, (write(&mut data),)).unwrap();
    failed.synchronize().unwrap_err();
    for mut part in [data.slice_mut(..2).unwrap()] {
        let refused = [part.write(&[1.0; 2]), part.fill(0), s2.fill(&mut part, 0).map(drop)];
        for result in refused {
            assert!(matches!(result, Err(Error::ContentsUnknown { .. })), "{result:?}");
        }
    }
    // A part that is all of it does.
    data.slice_mut(..).unwrap().fill(0).unwrap();
    assert_eq!(data.to_vec().unwrap(), [0.0; 4]);
}

#[test]
fn callbacks_come_between_the_work_before_and_behind_them() {
    for seed in 0..16 {
        let device = seeded(seed);
        let [s1, s2] = [(); 2].map(|()| device.stream().unwrap());
        let mut data = ones(&device);
        let (tell, told) = std::sync::mpsc::channel();
        let dropped = ones(&device);
        let inside = device.clone();
        let called = tell.clone();
        s1.fill(&mut data, 0).unwrap();
        let fence = s1
            .call_back(move || {
                // Neither work nor waiting.
                let refused: [Result<(), Error>; 3] = [
                    Buffer::<f32>::alloc(&inside, 1).map(drop),
                    dropped.to_vec().map(drop),
                    inside.stream().map(drop),
                ];
                let all = refused.iter().all(|r| matches!(r, Err(Error::InCallback { .. })));
                drop(dropped);
                called.send((1, all)).unwrap();
            })
            .unwrap();
        s1.call_back(move || tell.send((2, true)).unwrap()).unwrap();
        assert!(told.try_recv().is_err(), "nothing has been waited for");
        // Who waits for the callback's fence comes behind it, on another stream too.
        s2.wait_for(&fence).unwrap();
        s2.record().unwrap().synchronize().unwrap();
        assert_eq!(told.try_recv(), Ok((1, true)), "seed {seed}");
        drop(s1.synchronize().unwrap());
        assert_eq!(told.try_recv(), Ok((2, true)), "seed {seed}");
    }
}

#[test]
fn a_callback_behind_a_failure_is_dropped_and_one_that_panics_ends_itself() {
    let device = device();
    let module = device.load(&KERNELS).unwrap();
    let [s1, s2] = [(); 2].map(|()| device.stream().unwrap());
    let mut data = ones(&device);
    s1.launch(&module, 1, spoil, (write(&mut data),)).unwrap();
    let held = std::sync::Arc::new(());
    let of_callback = std::sync::Arc::clone(&held);
    s1.call_back(move || panic!("called with {of_callback:?}")).unwrap();
    assert!(s1.synchronize().is_err());
    assert_eq!(std::sync::Arc::strong_count(&held), 1, "what it held has been dropped");

    s2.call_back(|| panic!("on purpose")).unwrap();
    let mut other = ones(&device);
    s2.fill(&mut other, 0).unwrap();
    assert_eq!(other.to_vec().unwrap(), [0.0; 4]);
    drop(s2.synchronize().unwrap());
}

#[test]
fn who_waits_while_another_thread_runs_the_callback_waits_on() {
    let device = device();
    let stream = device.stream().unwrap();
    let (began, begun) = std::sync::mpsc::channel();
    let (go, gone) = std::sync::mpsc::channel();
    let fence = stream
        .call_back(move || {
            began.send(()).unwrap();
            gone.recv().unwrap();
        })
        .unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| fence.synchronize().unwrap());
        begun.recv().unwrap();
        // This thread has nothing to do for it, and is not told that it will never end.
        let here = scope.spawn(|| fence.synchronize());
        assert_eq!(fence.synchronize_within(Some(Duration::ZERO)).unwrap(), Waited::TimedOut);
        go.send(()).unwrap();
        here.join().unwrap().unwrap();
    });
}
