//! Streams on a GPU, against the stand-in for the driver: which calls are made, how many, and in which
//! order. The numbers are those of the acceptance tests of reservations.

#![cfg(target_os = "linux")]

mod fixture;
mod stand_in;

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use baton::global::{GlobalPtr, ReadOnly};
use baton::launch::{Call, DeviceSlice, DeviceSliceMut, KernelParam, Params};
use baton::previous::Dependent;
use baton_host::reservation::{Fence, Waited};
use baton_host::{Buffer, Device, Error, Pinned, Stream, read, write};
use fixture::{SHAPE, count, gpu, scale};
use stand_in::{Driver, allocations, asked, complete, fail, violations, with};

/// The same kernel, with all of its memory behind the grids before it.
fn dependent<'a>(
    input: DeviceSlice<'a, f32>,
    output: DeviceSliceMut<'a, f32>,
    factor: f32,
) -> Call<'a> {
    let mut params = Params::new();
    <Dependent<ReadOnly<f32>>>::push(input, &mut params);
    <Dependent<GlobalPtr<f32>>>::push(output, &mut params);
    f32::push(factor, &mut params);
    // SAFETY: as for `scale`.
    unsafe { Call::new("scale", SHAPE, params) }
}

/// A buffer whose contents have arrived, so that nobody waits for the device's own stream, which is the first.
fn buffer(device: &Device) -> Buffer<f32> {
    let buffer = Buffer::from_slice(device, &[1.0, 2.0, 3.0]).unwrap();
    assert_eq!(buffer.to_vec().unwrap(), [1.0, 2.0, 3.0]);
    buffer
}

/// Which streams waited for which, in the order of the calls: the stream of an event is that on which it
/// was recorded last when the wait was given.
fn waits(log: &[String]) -> Vec<(u32, u32)> {
    let mut recorded = HashMap::new();
    let mut waits = Vec::new();
    for line in log {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["record", event, "on", stream] => {
                recorded.insert(event.to_owned(), stream.parse().unwrap());
            }
            [stream, "waits", "for", event] => {
                let of = recorded.get(event).copied().unwrap_or(0);
                waits.push((stream.parse().unwrap(), of));
            }
            _ => {}
        }
    }
    waits
}

#[test]
fn n31_the_writer_waits_for_both_readers_where_cudarc_waits_for_one() {
    let test = "n31_the_writer_waits_for_both_readers_where_cudarc_waits_for_one";
    with(Driver::StandIn, &[], test, || {
        // cudarc: safe code, and the fill of the third stream does not wait for the first reader.
        let context = cudarc::driver::CudaContext::new(0).unwrap();
        let [s1, s2, s3] = [(); 3].map(|()| context.new_stream().unwrap());
        let mut data = s1.alloc_zeros::<f32>(4).unwrap();
        let mut out1 = s1.alloc_zeros::<f32>(4).unwrap();
        let mut out2 = s2.alloc_zeros::<f32>(4).unwrap();
        let theirs = asked(|| {
            s1.memcpy_dtod(&data, &mut out1).unwrap();
            s2.memcpy_dtod(&data, &mut out2).unwrap();
            s3.memset_zeros(&mut data).unwrap();
        });
        println!("cudarc:\n  {}", theirs.join("\n  "));
        let for_the_fill: Vec<_> = waits(&theirs).into_iter().filter(|w| w.0 == 3).collect();
        assert!(!for_the_fill.contains(&(3, 1)), "cudarc orders this now: {theirs:#?}");
        assert!(for_the_fill.contains(&(3, 2)), "{theirs:#?}");

        // Ours: the same program.
        let device = Device::gpu(0).unwrap();
        let [t1, t2, t3] = [(); 3].map(|()| device.stream().unwrap());
        let mut data = buffer(&device);
        let (mut out1, mut out2) = (buffer(&device), buffer(&device));
        let ours = asked(|| {
            t1.copy(&data, &mut out1).unwrap();
            t2.copy(&data, &mut out2).unwrap();
            t3.fill(&mut data, 0).unwrap();
        });
        println!("baton:\n  {}", ours.join("\n  "));
        assert_eq!(waits(&ours), [(7, 5), (7, 6)]);
        let last_wait = ours.iter().rposition(|line| line.contains("waits for")).unwrap();
        let fill = ours.iter().position(|line| line == "fill on 7").unwrap();
        assert!(last_wait < fill, "{ours:#?}");
    });
}

#[test]
fn a_kernel_whose_memory_is_all_behind_the_grid_before_it_may_start_early() {
    let test = "a_kernel_whose_memory_is_all_behind_the_grid_before_it_may_start_early";
    with(Driver::StandIn, &[], test, || {
        let (device, module) = gpu();
        let stream = device.stream().unwrap();
        let (a, mut b, mut c) = (buffer(&device), buffer(&device), buffer(&device));
        let log = asked(|| {
            stream.launch(&module, 1, scale, (read(&a), write(&mut b), 2.0)).unwrap();
            stream.launch(&module, 1, dependent, (read(&b), write(&mut c), 3.0)).unwrap();
        });
        let launches: Vec<_> = log.iter().filter(|line| line.starts_with("launch")).collect();
        // CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION is 6.
        let early = |line: &str| line.contains("attribute 6 = [1,");
        assert!(!early(launches[0]) && early(launches[1]), "{log:#?}");
        drop(stream.synchronize().unwrap());
        assert_eq!(c.to_vec().unwrap(), [6.0, 12.0, 18.0]);
    });
}

#[test]
fn n32_a_stream_may_be_dropped_while_it_writes() {
    with(Driver::StandIn, &[], "n32_a_stream_may_be_dropped_while_it_writes", || {
        let (device, module) = gpu();
        let (input, mut output) = (buffer(&device), buffer(&device));
        let writer = device.stream().unwrap();
        writer.launch(&module, 1, scale, (read(&input), write(&mut output), 2.0)).unwrap();
        let dropped = asked(|| drop(writer));
        assert_eq!(dropped, ["destroy stream 2"]);

        let reader = device.stream().unwrap();
        let mut copy = buffer(&device);
        let log = asked(|| drop(reader.copy(&output, &mut copy).unwrap()));
        assert_eq!(count(&log, "3 waits for"), 1, "{log:#?}");

        // All is freed behind what uses it: the input behind a stream that is gone, the output behind that and the
        // reader, the copy in the reader's own order.
        let log = asked(|| drop(input));
        assert_eq!((count(&log, "4 waits for"), count(&log, "free on 4")), (1, 1), "{log:#?}");
        let log = asked(|| drop(output));
        assert_eq!((count(&log, "4 waits for"), count(&log, "free on 4")), (1, 1), "{log:#?}");
        let log = asked(|| drop(copy));
        assert_eq!((count(&log, "waits for"), count(&log, "free on 3")), (0, 1), "{log:#?}");
        drop(reader.synchronize().unwrap());
        assert_eq!(violations(), "");
    });
}

#[test]
fn n32_freeing_on_a_stream_waits_for_everyone() {
    with(Driver::StandIn, &[], "n32_freeing_on_a_stream_waits_for_everyone", || {
        let (device, module) = gpu();
        let [s1, s2, s3] = [(); 3].map(|()| device.stream().unwrap());
        let mut data = s1.alloc::<f32>(3).unwrap();
        s1.fill(&mut data, 0).unwrap();
        let mut out = buffer(&device);
        s2.launch(&module, 1, scale, (read(&data), write(&mut out), 2.0)).unwrap();
        let log = asked(|| s3.free(data).unwrap());
        // The second stream has waited for the first, but the third does not know that.
        assert_eq!(count(&log, "4 waits for"), 2, "{log:#?}");
        let freed = log.iter().position(|line| line == "free on 4").unwrap();
        assert!(log[..freed].iter().filter(|line| line.contains("waits for")).count() == 2);

        // So is a buffer that the host has made; the wait for its user is one that the stream has done.
        let log = asked(|| s3.free(out).unwrap());
        assert_eq!((count(&log, "free on 4"), count(&log, "waits for")), (1, 0), "{log:#?}");
        drop(s3.synchronize().unwrap());
        assert_eq!(violations(), "");
    });
}

#[test]
fn n33_the_streams_of_two_threads_are_two_contexts() {
    with(Driver::StandIn, &[], "n33_the_streams_of_two_threads_are_two_contexts", || {
        let device = Device::gpu(0).unwrap();
        let data = Mutex::new(buffer(&device));
        let use_it = || {
            let stream = device.thread_stream().unwrap();
            assert_eq!(device.thread_stream().unwrap().context(), stream.context());
            let fence = stream.fill(&mut *data.lock().unwrap(), 1).unwrap();
            assert_eq!(fence.context(), stream.context());
            stream.context()
        };
        let log = asked(|| {
            let here = use_it();
            let there = std::thread::scope(|scope| scope.spawn(use_it).join().unwrap());
            assert_ne!(here, there);
        });
        assert_eq!(waits(&log), [(3, 2)], "{log:#?}");
    });
}

#[test]
fn n34_an_error_instead_of_an_answer_ends_the_wait() {
    with(Driver::StandIn, &[], "n34_an_error_instead_of_an_answer_ends_the_wait", || {
        let (device, module) = gpu();
        let stream = device.stream().unwrap();
        let (input, mut output) = (buffer(&device), buffer(&device));
        let fence =
            stream.launch(&module, 1, scale, (read(&input), write(&mut output), 2.0)).unwrap();
        let soon = Some(Duration::from_millis(5));
        assert_eq!(fence.synchronize_within(soon).unwrap(), Waited::TimedOut);
        assert_eq!(fence.synchronize_within(Some(Duration::ZERO)).unwrap(), Waited::TimedOut);

        // Some other error: the work may still be running.
        fail("cuEventQuery:1");
        let error = fence.synchronize_within(Some(Duration::from_secs(60))).unwrap_err();
        assert!(error.to_string().contains("`scale` (stream"), "{error}");
        fail("");
        assert_eq!(fence.synchronize_within(soon).unwrap(), Waited::TimedOut);

        // The GPU is lost: this is how the work has ended, and it is not asked again.
        fail("cuEventQuery:700");
        let error = fence.synchronize_within(Some(Duration::from_secs(60))).unwrap_err();
        assert!(matches!(error, Error::WorkFailed { .. }), "{error:?}");
        assert!(error.to_string().contains("cannot be used further"), "{error}");
        fail("");
        let refused = [
            output.to_vec().map(drop).unwrap_err(),
            stream.fill(&mut output, 0).map(drop).unwrap_err(),
            input.to_vec().map(drop).unwrap_err(),
        ];
        for error in refused {
            assert!(matches!(error, Error::DeviceLost { .. }), "{error:?}");
        }
    });
}

#[test]
fn n35_nothing_is_asked_during_a_capture() {
    with(Driver::StandIn, &[], "n35_nothing_is_asked_during_a_capture", || {
        let (device, module) = gpu();
        let mut stream = device.stream().unwrap();
        let (input, mut output) = (buffer(&device), buffer(&device));
        // More streams than the first list has slots.
        let others: Vec<Stream> = (0..6).map(|_| device.stream().unwrap()).collect();
        let mut sinks: Vec<_> = others.iter().map(|_| buffer(&device)).collect();
        let fence = others[0].copy(&input, &mut sinks[0]).unwrap();
        let mut graph = None;
        let log = asked(|| {
            let captured = stream.capture(|capture| {
                for _ in 0..3 {
                    capture.launch(&module, 1, scale, (read(&input), write(&mut output), 2.0))?;
                }
                // Other streams go on, in lists that grow.
                for (other, sink) in others.iter().zip(&mut sinks).skip(1) {
                    other.copy(&input, sink)?;
                }
                // Hosts do not wait, and what is dropped is given back later.
                let refused = [
                    input.to_vec().map(drop),
                    others[0].synchronize().map(drop),
                    fence.synchronize(),
                ];
                for result in refused {
                    assert!(matches!(result, Err(Error::Capturing { .. })), "{result:?}");
                }
                drop(sinks.pop());
                Ok(())
            });
            graph = Some(captured.unwrap());
        });
        assert_eq!(count(&log, "query"), 0, "{log:#?}");
        assert_eq!((count(&log, "launch grid"), count(&log, "free")), (3, 0), "{log:#?}");
        assert_eq!(count(&log, "record"), 5, "for the copies and not for what is captured");

        // A launch of the graph is one piece of work that touches both buffers.
        let log = asked(|| {
            graph.as_mut().unwrap().launch(&others[0]).unwrap();
            stream.fill(&mut output, 0).unwrap();
            drop(graph.take());
        });
        assert_eq!(waits(&log), [(2, 3)], "{log:#?}");
        assert_eq!(count(&log, "launch graph on 3"), 1);
        assert_eq!(count(&log, "destroy graph"), 0, "it may be running: {log:#?}");
        complete(true);
        let log = asked(|| drop(buffer(&device)));
        assert_eq!(count(&log, "destroy graph"), 1, "{log:#?}");
    });
}

#[test]
fn a_graph_waits_for_what_its_capture_touched() {
    with(Driver::StandIn, &[], "a_graph_waits_for_what_its_capture_touched", || {
        let device = Device::gpu(0).unwrap();
        let (mut stream, other) = (device.stream().unwrap(), device.stream().unwrap());
        let mut data = buffer(&device);
        let before = allocations();
        other.fill(&mut data, 0).unwrap();
        let mut graph = None;
        let log = asked(|| {
            graph = Some(stream.capture(|capture| capture.fill(&mut data, 1)).unwrap());
        });
        assert!(waits(&log).is_empty(), "{log:#?}");
        let log = asked(|| {
            let graph = graph.as_mut().unwrap();
            graph.launch(&stream).unwrap();
            graph.launch(&stream).unwrap();
        });
        assert_eq!(count(&log, "2 waits for"), 1, "{log:#?}");

        // A capture that is broken off leaves nothing, and the host may wait again.
        let error = stream.capture(|_| Err(Error::ForeignFence)).map(drop).unwrap_err();
        assert!(matches!(error, Error::ForeignFence));
        complete(true);
        data.to_vec().unwrap();
        // A graph keeps the memory that it works on.
        drop(data);
        graph.as_mut().unwrap().launch(&stream).unwrap();
        assert_eq!(allocations(), before);
        drop(graph);
        drop(buffer(&device));
        assert_eq!(allocations(), before - 1);
        drop(stream.synchronize().unwrap());
        assert_eq!(violations(), "");
    });
}

#[test]
fn n36_a_stream_does_not_wait_for_itself_and_events_are_used_again() {
    let test = "n36_a_stream_does_not_wait_for_itself_and_events_are_used_again";
    with(Driver::StandIn, &[], test, || {
        let (device, module) = gpu();
        let stream = device.stream().unwrap();
        let (a, mut b, mut c) = (buffer(&device), buffer(&device), buffer(&device));
        let mut turn = || {
            stream.launch(&module, 1, scale, (read(&a), write(&mut b), 2.0)).unwrap();
            stream.launch(&module, 1, scale, (read(&b), write(&mut c), 2.0)).unwrap();
            stream.copy(&c, &mut b).unwrap();
        };
        let log = asked(&mut turn);
        assert!(waits(&log).is_empty(), "{log:#?}");
        turn();
        let log = asked(turn);
        assert!(waits(&log).is_empty(), "{log:#?}");
        assert_eq!(count(&log, "create event"), 0, "{log:#?}");
        assert_eq!(count(&log, "record"), 3, "{log:#?}");
        assert_eq!(count(&log, "synchronize"), 0, "{log:#?}");
    });
}

#[test]
fn at_most_one_wait_for_each_other_stream() {
    with(Driver::StandIn, &[], "at_most_one_wait_for_each_other_stream", || {
        let (device, module) = gpu();
        let [s1, s2, s3] = [(); 3].map(|()| device.stream().unwrap());
        let (mut a, mut b, mut c) = (buffer(&device), buffer(&device), buffer(&device));
        for _ in 0..3 {
            s1.fill(&mut a, 0).unwrap();
            s1.fill(&mut b, 0).unwrap();
            s2.fill(&mut c, 0).unwrap();
        }
        let log = asked(|| {
            s3.launch(&module, 1, scale, (read(&a), write(&mut b), 1.0)).unwrap();
            s3.launch(&module, 1, scale, (read(&a), write(&mut c), 1.0)).unwrap();
        });
        // The second launch comes after what the first has waited for.
        assert_eq!(waits(&log).len(), 2, "{log:#?}");
        assert_eq!(count(&log, "launch"), 2);
        // What is new is waited for.
        s1.copy(&a, &mut b).unwrap();
        let log = asked(|| drop(s3.fill(&mut b, 0).unwrap()));
        assert_eq!(count(&log, "4 waits for"), 1, "{log:#?}");
    });
}

#[test]
fn n38_a_launch_that_fails_commits_nothing() {
    with(Driver::StandIn, &[], "n38_a_launch_that_fails_commits_nothing", || {
        let (device, module) = gpu();
        let (stream, other) = (device.stream().unwrap(), device.stream().unwrap());
        let (input, mut output) = (buffer(&device), buffer(&device));
        fail("cuLaunchKernelEx:701");
        let log = asked(|| {
            let error = stream
                .launch(&module, 1, scale, (read(&input), write(&mut output), 2.0))
                .unwrap_err();
            assert!(error.to_string().contains("launching kernel `scale`"), "{error}");
        });
        assert_eq!(count(&log, "record"), 0, "{log:#?}");
        fail("");
        for buffer in [&input, &output] {
            let description = buffer.describe().to_string();
            assert!(!description.contains("stream 2"), "{description}");
        }
        let log = asked(|| drop(other.fill(&mut output, 0).unwrap()));
        assert!(waits(&log).is_empty(), "{log:#?}");
        // The stream lives on.
        stream.launch(&module, 1, scale, (read(&input), write(&mut output), 2.0)).unwrap();
        // A launch that the checks refuse does not even reach the driver.
        let log = asked(|| {
            let refused = stream.launch(&module, 0, scale, (read(&input), write(&mut output), 1.0));
            assert!(matches!(refused, Err(Error::BadLaunch { .. })));
        });
        assert!(log.is_empty(), "{log:#?}");
    });
}

#[test]
fn work_whose_end_cannot_be_recorded_is_waited_for() {
    with(Driver::StandIn, &[], "work_whose_end_cannot_be_recorded_is_waited_for", || {
        let device = Device::gpu(0).unwrap();
        let (stream, other) = (device.stream().unwrap(), device.stream().unwrap());
        let mut data = buffer(&device);
        fail("cuEventRecord:1");
        let log = asked(|| drop(stream.fill(&mut data, 0).unwrap()));
        assert_eq!(log, ["fill on 2", "create event 3", "synchronize stream 2"]);
        fail("");
        let log = asked(|| drop(other.fill(&mut data, 0).unwrap()));
        assert!(waits(&log).is_empty(), "{log:#?}");
    });
}

#[test]
fn copies_reach_the_host_when_they_have_ended() {
    with(Driver::StandIn, &[], "copies_reach_the_host_when_they_have_ended", || {
        let device = Device::gpu(0).unwrap();
        let stream = device.stream().unwrap();
        let mut host = Pinned::from_slice(&device, &[4.0f32, 5.0, 6.0]).unwrap();
        let mut data = buffer(&device);
        let log = asked(|| {
            stream.upload(&host, &mut data).unwrap();
            stream.download(&data, &mut host).unwrap();
        });
        assert_eq!((count(&log, "upload"), count(&log, "synchronize")), (1, 0), "{log:#?}");
        let log = asked(|| assert_eq!(host.as_slice().unwrap(), [4.0, 5.0, 6.0]));
        assert_eq!(count(&log, "synchronize event"), 1, "{log:#?}");
        let log = asked(|| assert!(host.as_slice().is_ok()));
        assert!(log.is_empty(), "it is known already: {log:#?}");
        drop((host, data, stream, device));
        assert_eq!(allocations(), 0);
    });
}

#[test]
fn a_module_is_unloaded_when_its_kernels_have_ended() {
    with(Driver::StandIn, &[], "a_module_is_unloaded_when_its_kernels_have_ended", || {
        let (device, module) = gpu();
        let stream = device.stream().unwrap();
        let (input, mut output) = (buffer(&device), buffer(&device));
        stream.launch(&module, 1, scale, (read(&input), write(&mut output), 2.0)).unwrap();
        let log = asked(|| drop(module));
        assert_eq!(count(&log, "unload"), 0, "{log:#?}");
        complete(true);
        let log = asked(|| drop(buffer(&device)));
        assert_eq!(count(&log, "unload"), 1, "{log:#?}");
    });
}

#[test]
fn a_launch_that_waits_comes_after_what_its_buffers_say() {
    with(Driver::StandIn, &[], "a_launch_that_waits_comes_after_what_its_buffers_say", || {
        let (device, module) = gpu();
        let (input, mut output, mut other) = (buffer(&device), buffer(&device), buffer(&device));
        let [stream, beside] = [(); 2].map(|()| device.stream().unwrap());
        stream.fill(&mut output, 0).unwrap();
        beside.fill(&mut other, 0).unwrap();
        let log = asked(|| {
            let call = scale(input.as_arg(), output.as_arg_mut(), 2.0);
            drop(device.launch(&module, 1, call).unwrap());
        });
        assert_eq!(count(&log, "1 waits for"), 1, "of two streams, one: {log:#?}");
        assert_eq!(count(&log, "synchronize"), 1, "its own event, and nothing else: {log:#?}");
        assert_eq!(output.to_vec().unwrap(), [2.0, 4.0, 6.0]);
        assert!(!beside.is_idle().unwrap());
    });
}

#[test]
fn memory_that_a_stream_does_not_get_is_an_error() {
    with(Driver::StandIn, &[], "memory_that_a_stream_does_not_get_is_an_error", || {
        let device = Device::gpu(0).unwrap();
        let stream = device.stream().unwrap();
        let mut data = buffer(&device);
        let error = stream.alloc::<f32>(1 << 40).map(drop).unwrap_err();
        assert!(error.to_string().contains("allocating 4398046511104 bytes"), "{error}");
        // A buffer that cannot be moved stays where it is.
        stream.resize(&mut data, 1 << 40).unwrap_err();
        assert_eq!((data.len(), data.to_vec().unwrap()), (3, vec![1.0, 2.0, 3.0]));

        let log = asked(|| drop(stream.resize(&mut data, 2).unwrap()));
        assert_eq!(data.len(), 2);
        assert_eq!(count(&log, "copy on 2"), 1, "{log:#?}");
        assert_eq!(data.to_vec().unwrap(), [1.0, 2.0]);
        // Others wait for the move.
        let other = device.stream().unwrap();
        let mut copy = Buffer::zeroed(&device, 2).unwrap();
        assert_eq!(copy.to_vec().unwrap(), [0.0; 2]);
        stream.resize(&mut data, 2).unwrap();
        let log = asked(|| drop(other.copy(&data, &mut copy).unwrap()));
        assert_eq!(count(&log, "3 waits for"), 1, "{log:#?}");
    });
}

#[test]
fn priorities_are_the_nearest_that_the_driver_has() {
    with(Driver::StandIn, &[], "priorities_are_the_nearest_that_the_driver_has", || {
        let device = Device::gpu(0).unwrap();
        // The stand-in has 0 to -5, and in the driver's words the smaller number goes first.
        let cases = [
            (0, ""),
            (1, " of priority -1"),
            (5, " of priority -5"),
            (99, " of priority -5"),
            (i32::MAX, " of priority -5"),
            (-3, ""),
            (i32::MIN, ""),
        ];
        let (mut data, mut streams) = (buffer(&device), Vec::new());
        for (index, (wanted, expected)) in cases.into_iter().enumerate() {
            let mut stream = None;
            let log = asked(|| stream = Some(device.stream_of_priority(wanted).unwrap()));
            assert_eq!(log, [format!("create stream {}{expected}", index + 2)]);
            // What is first by its buffers is first, whatever the priority.
            let stream = stream.unwrap();
            let log = asked(|| drop(stream.fill(&mut data, 0).unwrap()));
            assert_eq!(waits(&log).len(), streams.len(), "{log:#?}");
            streams.push(stream);
        }
        fail("cuCtxGetStreamPriorityRange:1");
        let error = device.stream_of_priority(1).map(drop).unwrap_err();
        assert!(error.to_string().contains("making a stream of Stand-in 0"), "{error}");
        // The usual one needs no range.
        device.stream().unwrap();
    });
}
