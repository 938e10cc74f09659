//! What a driver may do that a kind one does not: copies that land late, captures that forbid, errors that
//! stay, memory that is used again, contexts of others. The stand-in does all of it.

#![cfg(target_os = "linux")]

mod fixture;
mod stand_in;

use std::thread;

use baton_host::{
    BadLaunch, Buffer, Device, Error, Matrix, Pinned, Stream, WaitPolicy, read, write,
};
use fixture::{KERNELS, block_on, count, gpu, scale};
use stand_in::{
    Driver, allocations, asked, complete, context_calls, contexts, current_context, fail, log,
    places, violations, with,
};

/// The calls that no program should make: what waits for a whole context, and what is on the legacy stream.
fn of_the_whole_context() -> Vec<String> {
    let bad = |line: &&str| line.ends_with("at once") || *line == "synchronize";
    log().lines().filter(bad).map(str::to_owned).collect()
}

#[test]
fn f1_a_launch_on_a_stream_sees_what_the_host_wrote_before() {
    with(Driver::StandIn, &[], "f1_a_launch_on_a_stream_sees_what_the_host_wrote_before", || {
        let (device, module) = gpu();
        let stream = device.stream().unwrap();
        let values: Vec<f32> = (0..1000).map(|i| i as f32).collect();
        let mut output = Buffer::<f32>::zeroed(&device, values.len()).unwrap();
        let mut host = Pinned::<f32>::zeroed(&device, values.len()).unwrap();
        let input = Buffer::from_slice(&device, &values).unwrap();
        stream.launch(&module, 1, scale, (read(&input), write(&mut output), 2.0)).unwrap();
        stream.download(&output, &mut host).unwrap();
        let doubled: Vec<f32> = values.iter().map(|value| 2.0 * value).collect();
        assert_eq!(host.as_slice().unwrap(), doubled);
        // And what the stream wrote is what the host reads, by each way.
        assert_eq!(output.to_vec().unwrap(), doubled);
        output.fill(0).unwrap();
        stream.download(&output, &mut host).unwrap();
        assert!(host.as_slice().unwrap().iter().all(|value| *value == 0.0));
        assert_eq!(violations(), "");
    });
}

#[test]
fn f2_nothing_that_a_thread_does_spoils_the_capture_of_another() {
    let test = "f2_nothing_that_a_thread_does_spoils_the_capture_of_another";
    with(Driver::StandIn, &[], test, || {
        let (device, module) = gpu();
        let mut stream = device.stream().unwrap();
        let other = device.stream().unwrap();
        let a = Buffer::from_slice(&device, &[1.0f32; 64]).unwrap();
        let mut b = Buffer::<f32>::zeroed(&device, 64).unwrap();
        let captured = stream.capture(|capture| {
            capture.copy(&a, &mut b)?;
            thread::scope(|scope| {
                let work = || {
                    let input = Buffer::from_slice(&device, &[3.0f32; 64])?;
                    let mut output = Buffer::<f32>::poisoned(&device, 64)?;
                    drop(device.launch(
                        &module,
                        1,
                        scale(input.as_arg(), output.as_arg_mut(), 2.0),
                    )?);
                    assert_eq!(output.to_vec()?, [6.0; 64]);
                    other.launch(&module, 1, scale, (read(&input), write(&mut output), 3.0))?;
                    drop(other.synchronize()?);
                    output.to_vec()
                };
                assert_eq!(scope.spawn(work).join().unwrap().unwrap(), [9.0; 64]);
            });
            Ok(())
        });
        captured.unwrap().launch(&other).unwrap();
        assert_eq!(b.to_vec().unwrap(), [1.0; 64]);
        assert_eq!(of_the_whole_context(), [""; 0]);
        assert_eq!(violations(), "");
    });
}

/// Another library captures in the same context, in the strictest mode.
fn begin_foreign_capture() -> *mut std::ffi::c_void {
    use std::ffi::c_void;
    // SAFETY: the stand-in is loaded, and the symbols have these types.
    unsafe {
        let library = cudarc::driver::sys::culib();
        type Create = unsafe extern "C" fn(*mut *mut c_void, u32) -> u32;
        type Begin = unsafe extern "C" fn(*mut c_void, u32) -> u32;
        let mut stream = std::ptr::null_mut();
        current_context(Some(0x1000));
        assert_eq!(library.get::<Create>(b"cuStreamCreate").unwrap()(&mut stream, 1), 0);
        assert_eq!(library.get::<Begin>(b"cuStreamBeginCapture_v2").unwrap()(stream, 0), 0);
        stream
    }
}

fn end_foreign_capture(stream: *mut std::ffi::c_void) -> u32 {
    use std::ffi::c_void;
    // SAFETY: as above.
    unsafe {
        let library = cudarc::driver::sys::culib();
        type End = unsafe extern "C" fn(*mut c_void, *mut *mut c_void) -> u32;
        let mut graph = std::ptr::null_mut();
        library.get::<End>(b"cuStreamEndCapture").unwrap()(stream, &mut graph)
    }
}

#[test]
fn f2_the_capture_of_another_library_goes_on_too() {
    with(Driver::StandIn, &[], "f2_the_capture_of_another_library_goes_on_too", || {
        let (device, module) = gpu();
        let stream = begin_foreign_capture();
        thread::scope(|scope| {
            let work = || {
                let input = Buffer::from_slice(&device, &[3.0f32; 64])?;
                let mut output = Buffer::<f32>::poisoned(&device, 64)?;
                let _host = Pinned::<f32>::zeroed(&device, 64)?;
                let _module = device.load(&KERNELS)?;
                drop(device.launch(&module, 1, scale(input.as_arg(), output.as_arg_mut(), 2.0))?);
                output.to_vec()
            };
            assert_eq!(scope.spawn(work).join().unwrap().unwrap(), [6.0; 64]);
        });
        assert_eq!(end_foreign_capture(stream), 0, "the capture was spoiled");
    });
}

#[test]
fn f3_memory_under_a_kernel_stays_when_waiting_for_it_is_refused() {
    let test = "f3_memory_under_a_kernel_stays_when_waiting_for_it_is_refused";
    with(Driver::StandIn, &[], test, || {
        let (device, module) = gpu();
        for refusing in ["cuCtxSynchronize", "cuEventSynchronize", "cuStreamSynchronize"] {
            let input = Buffer::from_slice(&device, &[1.0f32; 64]).unwrap();
            let mut output = Buffer::<f32>::alloc(&device, 64).unwrap();
            fail(&format!("{refusing}:900"));
            let call = scale(input.as_arg(), output.as_arg_mut(), 2.0);
            let _may_fail = device.launch(&module, 1, call);
            // The kernel runs late, and its memory is there.
            drop((input, output));
            fail("");
        }
        let again = Buffer::from_slice(&device, &[1.0f32; 64]).unwrap();
        drop(device.stream().unwrap());
        complete(true);
        assert_eq!(again.to_vec().unwrap(), [1.0; 64]);
        drop((again, module, device));
        assert_eq!(violations(), "");
        assert_eq!(allocations(), 0);
    });
}

#[test]
fn f3_a_read_that_is_refused_does_not_write_into_the_hosts_memory_later() {
    let test = "f3_a_read_that_is_refused_does_not_write_into_the_hosts_memory_later";
    with(Driver::StandIn, &[], test, || {
        let (device, _module) = gpu();
        let input = Buffer::from_slice(&device, &[1.0f32; 64]).unwrap();
        let mut host = [7.0f32; 64];
        for refusing in ["cuCtxSynchronize:900", "cuEventSynchronize:900", "cuMemcpyDtoH_v2:900"] {
            fail(refusing);
            if input.read(&mut host).is_err() {
                host = [7.0; 64];
                fail("");
                assert_eq!(input.to_vec().unwrap(), [1.0; 64]);
                assert_eq!(host, [7.0; 64]);
            }
        }
    });
}

#[test]
fn f4_what_the_host_does_is_work_that_graphs_wait_for() {
    with(Driver::StandIn, &[], "f4_what_the_host_does_is_work_that_graphs_wait_for", || {
        let (device, module) = gpu();
        let mut stream = device.stream().unwrap();
        let source = Buffer::from_slice(&device, &[1.0f32; 64]).unwrap();
        let mut target = Buffer::from_slice(&device, &[2.0f32; 64]).unwrap();
        let mut output = Buffer::<f32>::alloc(&device, 64).unwrap();
        let mut graph = stream.capture(|capture| capture.copy(&source, &mut target)).unwrap();
        let uses: [&mut dyn FnMut() -> Result<(), Error>; 3] =
            [&mut || target.to_vec().map(drop), &mut || source.to_vec().map(drop), &mut || {
                let call = scale(target.as_arg(), output.as_arg_mut(), 2.0);
                device.launch(&module, 1, call).map(drop)
            }];
        for (index, use_it) in uses.into_iter().enumerate() {
            // Whatever the host has done to the buffers has left a fence, which is known to be done, or the
            // graph waits for it.
            fail("cuEventSynchronize:900");
            let _refused = use_it();
            fail("");
            let calls = asked(|| drop(graph.launch(&stream).unwrap()));
            let waited = count(&calls, "waits for");
            // The second only reads what the graph reads.
            assert_eq!(waited, usize::from(index != 1), "{index}: {calls:#?}");
            drop(stream.synchronize().unwrap());
            complete(true);
            let _done = use_it();
            complete(false);
        }
    });
}

#[test]
fn f4_a_graph_does_not_tear_what_another_thread_reads() {
    with(Driver::StandIn, &[], "f4_a_graph_does_not_tear_what_another_thread_reads", || {
        let (device, _module) = gpu();
        let mut stream = device.stream().unwrap();
        let len = 3 << 20;
        let source = Buffer::from_slice(&device, &vec![1.0f32; len]).unwrap();
        let mut target = Buffer::from_slice(&device, &vec![2.0f32; len]).unwrap();
        let mut graph = stream.capture(|capture| capture.copy(&source, &mut target)).unwrap();
        thread::scope(|scope| {
            let (stream, graph) = (&stream, &mut graph);
            scope.spawn(move || graph.launch(stream).unwrap().synchronize().unwrap());
            for _ in 0..3 {
                let seen = target.to_vec().unwrap();
                assert!(seen.iter().all(|value| *value == seen[0]), "half of each");
            }
        });
    });
}

#[test]
fn f5_an_error_that_ends_the_context_is_a_lost_device() {
    for code in [226, 700, 719, 721, 806, 810, 999] {
        let wish = format!("{code}");
        let test = "f5_an_error_that_ends_the_context_is_a_lost_device";
        with(Driver::StandIn, &[("CODE", &wish)], test, || {
            // The process is for one of the codes.
            let code = std::env::var("CODE").unwrap();
            if code != wish {
                return;
            }
            let (device, module) = gpu();
            let stream = device.stream().unwrap();
            let input = Buffer::from_slice(&device, &[1.0f32; 64]).unwrap();
            let mut output = Buffer::<f32>::zeroed(&device, 64).unwrap();
            fail(&format!("kernel:{code}"));
            let launch = |output: &mut Buffer<f32>| {
                stream.launch(&module, 1, scale, (read(&input), write(output), 2.0))
            };
            launch(&mut output).unwrap().synchronize().unwrap_err();
            fail("");
            let calls = asked(|| {
                for error in [
                    launch(&mut output).unwrap_err(),
                    output.fill(0).unwrap_err(),
                    input.to_vec().unwrap_err(),
                    device.stream().unwrap_err(),
                    Buffer::<f32>::alloc(&device, 1).unwrap_err(),
                ] {
                    let text = error.to_string();
                    assert!(text.contains("cannot be used further"), "{code}: {text}");
                }
            });
            assert!(calls.is_empty(), "it is known, and nobody is asked: {calls:#?}");
        });
    }
}

#[test]
fn f5_an_error_that_does_not_is_none() {
    with(Driver::StandIn, &[], "f5_an_error_that_does_not_is_none", || {
        let (device, module) = gpu();
        let stream = device.stream().unwrap();
        let input = Buffer::from_slice(&device, &[1.0f32; 64]).unwrap();
        let mut output = Buffer::<f32>::zeroed(&device, 64).unwrap();
        // 701 is a launch with too many resources; 917 and 98765 are codes that no binding knows.
        for code in [701, 917, 98765] {
            fail(&format!("cuLaunchKernelEx:{code}"));
            let arguments = (read(&input), write(&mut output), 2.0);
            let error = stream.launch(&module, 1, scale, arguments).unwrap_err();
            assert!(matches!(error, Error::Driver { .. }), "{error}");
            fail("");
            stream.launch(&module, 1, scale, (read(&input), write(&mut output), 2.0)).unwrap();
        }
        assert_eq!(output.to_vec().unwrap(), [2.0; 64]);
    });
}

#[test]
fn f6_memory_that_is_dropped_in_a_loop_is_used_again() {
    with(Driver::StandIn, &[], "f6_memory_that_is_dropped_in_a_loop_is_used_again", || {
        let (device, module) = gpu();
        let stream = device.stream().unwrap();
        let input = Buffer::from_slice(&device, &[1.0f32; 64]).unwrap();
        let before = places();
        let calls = asked(|| {
            for _ in 0..50 {
                let mut temporary = stream.alloc::<f32>(64).unwrap();
                let arguments = (read(&input), write(&mut temporary), 2.0);
                stream.launch(&module, 1, scale, arguments).unwrap();
            }
        });
        // Nothing has been waited for, and the device has done nothing yet.
        assert_eq!((count(&calls, "synchronize"), allocations()), (0, 2), "{calls:#?}");
        assert!(places() <= before + 2, "{} places", places() - before);
        assert!(count(&calls, "query") <= 60, "{} queries", count(&calls, "query"));
        drop(stream.synchronize().unwrap());
        assert_eq!(violations(), "");
    });
}

#[test]
fn f6_memory_that_two_streams_use_is_freed_behind_both() {
    with(Driver::StandIn, &[], "f6_memory_that_two_streams_use_is_freed_behind_both", || {
        let (device, module) = gpu();
        let [s1, s2] = [(); 2].map(|()| device.stream().unwrap());
        let mut outputs = [(); 2].map(|()| Buffer::<f32>::zeroed(&device, 64).unwrap());
        for _ in 0..20 {
            let input = Buffer::from_slice(&device, &[4.0f32; 64]).unwrap();
            for (stream, output) in [&s1, &s2].into_iter().zip(&mut outputs) {
                stream.launch(&module, 1, scale, (read(&input), write(output), 2.0)).unwrap();
            }
            drop(input);
            // What takes its place must not be seen by the kernels.
            let _other = Buffer::from_slice(&device, &[5.0f32; 64]).unwrap();
        }
        for output in &outputs {
            assert_eq!(output.to_vec().unwrap(), [8.0; 64]);
        }
        assert_eq!(violations(), "");
    });
}

#[test]
fn f7_what_a_capture_forbids_is_refused_before_the_driver_is_asked() {
    let test = "f7_what_a_capture_forbids_is_refused_before_the_driver_is_asked";
    with(Driver::StandIn, &[], test, || {
        let (device, _module) = gpu();
        let mut stream = device.stream().unwrap();
        let a = Buffer::from_slice(&device, &[1.0f32; 64]).unwrap();
        let mut b = Buffer::<f32>::zeroed(&device, 64).unwrap();
        let captured = stream.capture(|capture| {
            let calls = asked(|| {
                let refused: [Result<(), Error>; 6] = [
                    Buffer::<f32>::alloc(&device, 64).map(drop),
                    Buffer::from_slice(&device, &[1.0f32; 64]).map(drop),
                    Pinned::<f32>::zeroed(&device, 64).map(drop),
                    device.load(&KERNELS).map(drop),
                    device.stream().map(drop),
                    a.to_vec().map(drop),
                ];
                for (index, result) in refused.into_iter().enumerate() {
                    assert!(matches!(result, Err(Error::Capturing { .. })), "{index}: {result:?}");
                }
            });
            assert!(calls.is_empty(), "{calls:#?}");
            capture.copy(&a, &mut b)
        });
        captured.unwrap().launch(&stream).unwrap();
        assert_eq!(b.to_vec().unwrap(), [1.0; 64]);
    });
}

#[test]
fn f8_a_grid_that_does_not_fit_at_once_is_said_so_by_both_devices() {
    let test = "f8_a_grid_that_does_not_fit_at_once_is_said_so_by_both_devices";
    with(Driver::StandIn, &[], test, || {
        let (device, module) = gpu();
        let input = Buffer::from_slice(&device, &[1.0f32; 64]).unwrap();
        let mut output = Buffer::<f32>::zeroed(&device, 64).unwrap();
        // CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
        fail("cuLaunchKernelEx:720");
        let call = scale(input.as_arg(), output.as_arg_mut(), 2.0);
        let error = device.launch(&module, 5000, call).unwrap_err();
        let Error::BadLaunch { problem, .. } = &error else { panic!("{error:?}") };
        // 132 multiprocessors with 32 CTAs of 4 threads each.
        let expected =
            BadLaunch::NotCoResident { ctas: 5000, limit: 4224, device: "Stand-in 0".into() };
        assert_eq!(*problem, expected);
    });
}

#[test]
fn f9_what_a_launch_needs_is_looked_up_once() {
    with(Driver::StandIn, &[], "f9_what_a_launch_needs_is_looked_up_once", || {
        let (device, module) = gpu();
        let [stream, other] = [(); 2].map(|()| device.stream().unwrap());
        let input = Buffer::from_slice(&device, &[1.0f32; 64]).unwrap();
        let mut output = Buffer::<f32>::zeroed(&device, 64).unwrap();
        let mut launch = |stream: &Stream| {
            stream.launch(&module, 1, scale, (read(&input), write(&mut output), 2.0)).unwrap();
        };
        launch(&stream);
        launch(&other);
        launch(&stream);
        let before = context_calls();
        let calls = asked(|| launch(&stream));
        assert_eq!(calls.len(), 2, "the launch and its record: {calls:#?}");
        assert!(calls[0].starts_with("launch grid") && calls[1].starts_with("record "));
        assert_eq!(context_calls() - before, 3, "one is asked for, set, and put back");
        // Where the context is current already, it is asked for and no more.
        current_context(Some(0x1000));
        let before = context_calls();
        launch(&stream);
        assert_eq!(context_calls() - before, 1);
        // Behind other work, with its waits.
        let calls = asked(|| launch(&other));
        assert_eq!((calls.len(), count(&calls, "waits for")), (3, 1), "{calls:#?}");
    });
}

#[test]
fn f10_an_error_instead_of_a_parameter_is_an_error() {
    with(Driver::StandIn, &[], "f10_an_error_instead_of_a_parameter_is_an_error", || {
        let (device, module) = gpu();
        let stream = device.stream().unwrap();
        let input = Buffer::from_slice(&device, &[1.0f32; 64]).unwrap();
        let mut output = Buffer::<f32>::zeroed(&device, 64).unwrap();
        fail("cuFuncGetParamInfo:500");
        let mut launch =
            || stream.launch(&module, 1, scale, (read(&input), write(&mut output), 2.0));
        let text = launch().unwrap_err().to_string();
        assert!(text.contains("asking for the parameters of kernel `scale`"), "{text}");
        // It is not remembered as an answer.
        fail("");
        launch().unwrap();
    });
}

#[test]
fn f11_a_list_of_devices_opens_none() {
    with(Driver::StandIn, &[("STAND_IN_GPUS", "3")], "f11_a_list_of_devices_opens_none", || {
        let list = Device::list();
        assert_eq!((list.len(), contexts()), (4, 0));
        assert_eq!(list[2].compute_capability, Some((9, 0)));
        let _device = Device::gpu(2).unwrap();
        assert_eq!(contexts(), 1);
    });
}

#[test]
fn f12_the_threads_context_is_what_it_was() {
    with(Driver::StandIn, &[], "f12_the_threads_context_is_what_it_was", || {
        let foreign = 0x9000;
        let device = Device::gpu(0).unwrap();
        current_context(Some(foreign));
        let module = device.load(&KERNELS).unwrap();
        let mut stream = device.stream().unwrap();
        let input = Buffer::from_slice(&device, &[1.0f32; 64]).unwrap();
        let mut output = Buffer::<f32>::zeroed(&device, 64).unwrap();
        drop(device.launch(&module, 1, scale(input.as_arg(), output.as_arg_mut(), 2.0)).unwrap());
        let arguments = (read(&input), write(&mut output), 2.0);
        stream.launch(&module, 1, scale, arguments).unwrap().synchronize().unwrap();
        let mut graph = stream.capture(|capture| capture.copy(&input, &mut output)).unwrap();
        graph.launch(&stream).unwrap();
        assert_eq!(output.to_vec().unwrap(), [1.0; 64]);
        fail("cuLaunchKernelEx:1");
        stream.launch(&module, 1, scale, (read(&input), write(&mut output), 2.0)).unwrap_err();
        drop((graph, stream, input, output, module, device));
        assert_eq!(current_context(None), foreign);
        assert_eq!(violations(), "");
    });
}

#[test]
fn f13_what_a_drop_of_another_library_met_is_no_error_of_ours() {
    let test = "f13_what_a_drop_of_another_library_met_is_no_error_of_ours";
    with(Driver::StandIn, &[], test, || {
        // cudarc keeps an error that a drop has met, and gives it to whoever comes next.
        let context = cudarc::driver::CudaContext::new(0).unwrap();
        let theirs = context.new_stream().unwrap();
        let before = allocations();
        let spoil = || {
            let memory = theirs.alloc_zeros::<f32>(3).unwrap();
            fail("cuMemFreeAsync:1");
            drop(memory);
            fail("");
        };
        spoil();
        assert!(context.bind_to_thread().is_err(), "cudarc keeps none any more");

        spoil();
        let (device, module) = gpu();
        let stream = device.stream().unwrap();
        let input = Buffer::from_slice(&device, &[1.0f32; 4]).unwrap();
        let mut output = Buffer::<f32>::zeroed(&device, 4).unwrap();
        stream.launch(&module, 1, scale, (read(&input), write(&mut output), 2.0)).unwrap();
        assert_eq!(output.to_vec().unwrap(), [2.0; 4]);
        // What is dropped here is given back all the same: what is left is theirs.
        let calls = asked(|| drop((input, output, stream, module, device)));
        assert_eq!(
            (count(&calls, "destroy stream"), count(&calls, "unload")),
            (2, 1),
            "{calls:#?}"
        );
        assert_eq!(allocations(), before + 2);
        assert!(context.bind_to_thread().is_err(), "it was not taken from them either");
    });
}

#[test]
fn f15_how_threads_wait_can_be_chosen() {
    with(Driver::StandIn, &[], "f15_how_threads_wait_can_be_chosen", || {
        let device = Device::gpu(0).unwrap();
        let stream = device.stream().unwrap();
        let mut data = Buffer::<f32>::zeroed(&device, 64).unwrap();
        let mut wait = |policy| {
            device.set_wait_policy(policy);
            complete(true);
            let fence = stream.fill(&mut data, 0).unwrap();
            asked(|| fence.synchronize().unwrap())
        };
        let calls = wait(WaitPolicy::Block);
        assert_eq!((count(&calls, "synchronize event"), calls.len()), (1, 1), "{calls:#?}");
        for policy in [WaitPolicy::Spin, WaitPolicy::Yield] {
            let calls = wait(policy);
            assert_eq!((count(&calls, "query"), calls.len()), (1, 1), "{calls:#?}");
        }
    });
}

#[test]
fn f17_why_a_library_will_not_do() {
    let test = "f17_why_a_library_will_not_do";
    for (version, expected) in [("12040", "CUDA 12.4"), ("13010", "incomplete")] {
        with(Driver::Incomplete, &[("STAND_IN_VERSION", version)], test, || {
            if std::env::var("STAND_IN_VERSION").is_ok_and(|said| said == version) {
                let text = Device::gpu(0).unwrap_err().to_string();
                assert!(text.contains("cuEventDestroy_v2") && text.contains(expected), "{text}");
            }
        });
    }
    // CUDA_ERROR_STUB_LIBRARY
    with(Driver::StandIn, &[("STAND_IN_FAIL", "cuInit:34")], test, || {
        if std::env::var("STAND_IN_FAIL").is_ok() {
            let text = Device::gpu(0).unwrap_err().to_string();
            assert!(text.contains("stub") && text.contains("LD_LIBRARY_PATH"), "{text}");
        }
    });
}

#[test]
fn out_of_memory_waits_for_what_is_being_given_back_and_tries_again_once() {
    let test = "out_of_memory_waits_for_what_is_being_given_back_and_tries_again_once";
    with(Driver::StandIn, &[], test, || {
        let (device, module) = gpu();
        let stream = device.stream().unwrap();
        let input = Buffer::from_slice(&device, &[1.0f32; 64]).unwrap();
        let mut output = Buffer::<f32>::zeroed(&device, 64).unwrap();
        stream.launch(&module, 1, scale, (read(&input), write(&mut output), 2.0)).unwrap();
        drop(input);
        fail("cuMemAllocAsync:2");
        let calls = asked(|| {
            let error = Buffer::<f32>::alloc(&device, 64).unwrap_err();
            assert!(matches!(error, Error::OutOfMemory { bytes: 256, .. }), "{error:?}");
            assert!(error.to_string().contains("drop buffers"), "{error}");
        });
        assert_eq!(count(&calls, "allocate on"), 2, "{calls:#?}");
        assert!(count(&calls, "synchronize event") >= 1, "{calls:#?}");
    });
}

#[test]
fn parts_of_buffers_and_rows_of_matrices() {
    with(Driver::StandIn, &[], "parts_of_buffers_and_rows_of_matrices", || {
        let (device, module) = gpu();
        let stream = device.stream().unwrap();
        let mut data = Buffer::from_slice(&device, &[1.0f32, 2.0, 3.0, 4.0]).unwrap();
        let (first, mut second) = data.split_at_mut(2).unwrap();
        stream.launch(&module, 1, scale, (read(&first), write(&mut second), 10.0)).unwrap();
        assert_eq!(data.to_vec().unwrap(), [1.0, 2.0, 10.0, 20.0]);
        stream.fill(&mut data.slice_mut(..1).unwrap(), 0).unwrap();
        assert_eq!(data.slice(..=2).unwrap().to_vec().unwrap(), [0.0, 2.0, 10.0]);

        let mut square = Buffer::<f32>::zeroed(&device, 9).unwrap();
        let from = (&data, Matrix::new(2, 2));
        let to = (&mut square.slice_mut(4..).unwrap(), Matrix::new(2, 2).with_pitch(3));
        stream.copy_matrix(from, to).unwrap();
        let expected = [0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 10.0, 20.0];
        assert_eq!(square.to_vec().unwrap(), expected);
        assert_eq!(violations(), "");
    });
}

#[test]
fn callbacks_come_in_order_and_may_not_give_work() {
    with(Driver::StandIn, &[], "callbacks_come_in_order_and_may_not_give_work", || {
        let device = Device::gpu(0).unwrap();
        let stream = device.stream().unwrap();
        let mut data = Buffer::<f32>::zeroed(&device, 64).unwrap();
        let (tell, told) = std::sync::mpsc::channel();
        let dropped = Buffer::<f32>::zeroed(&device, 64).unwrap();
        let inside = device.clone();
        stream.fill(&mut data, 0).unwrap();
        stream
            .call_back(move || {
                let refused = Buffer::<f32>::alloc(&inside, 1).map(drop);
                tell.send(matches!(refused, Err(Error::InCallback { .. }))).unwrap();
                drop(dropped);
            })
            .unwrap();
        assert!(told.try_recv().is_err(), "nothing has been waited for");
        drop(stream.synchronize().unwrap());
        assert!(told.recv().unwrap());
        drop((data, stream, device));
        assert_eq!((allocations(), &*violations()), (0, ""));
    });
}

#[test]
fn what_another_library_owns_is_used_and_left_to_it() {
    with(Driver::StandIn, &[], "what_another_library_owns_is_used_and_left_to_it", || {
        // cudarc's stream, memory and event, all of the same primary context.
        let context = cudarc::driver::CudaContext::new(0).unwrap();
        let (theirs, beside) = (context.new_stream().unwrap(), context.new_stream().unwrap());
        let memory = theirs.clone_htod(&[1.0f32, 2.0, 3.0]).unwrap();
        theirs.synchronize().unwrap();
        let event = beside.record_event(None).unwrap();

        let (device, module) = gpu();
        let before = allocations();
        let calls = asked(|| {
            use cudarc::driver::DevicePtr;
            // SAFETY: the stream is kept until the end, and so is its context, which is the primary one.
            let stream = unsafe { device.foreign_stream(theirs.cu_stream().cast()) }.unwrap();
            let (address, _read) = memory.device_ptr(&theirs);
            // SAFETY: three values, which are kept until the end; nothing else accesses them.
            let input = unsafe { device.foreign_buffer::<f32>(address, 3) }.unwrap();
            // SAFETY: the event is kept until the end.
            unsafe { stream.wait_for_foreign(event.cu_event().cast()) }.unwrap();
            let mut output = Buffer::<f32>::zeroed(&device, 3).unwrap();
            stream.launch(&module, 1, scale, (read(&input), write(&mut output), 2.0)).unwrap();
            assert_eq!(stream.as_raw().unwrap(), theirs.cu_stream().cast());
            assert_eq!(output.to_vec().unwrap(), [2.0, 4.0, 6.0]);
        });
        // For the library's own, for the event, and for the device's own stream, which has filled the output.
        assert_eq!((count(&calls, "destroy"), count(&calls, "1 waits for")), (0, 3), "{calls:#?}");
        assert_eq!(count(&calls, "free"), 1, "ours: {calls:#?}");
        assert!(allocations() >= before);

        let emulator = Device::emulator(Default::default());
        // SAFETY: neither is used.
        let refused = unsafe {
            [
                emulator.foreign_stream(std::ptr::null_mut()).map(drop),
                emulator.foreign_buffer::<f32>(0, 3).map(drop),
            ]
        };
        for result in refused {
            assert!(matches!(result, Err(Error::Unsupported { .. })), "{result:?}");
        }
    });
}

#[test]
fn fences_are_futures_on_both_devices() {
    with(Driver::StandIn, &[], "fences_are_futures_on_both_devices", || {
        for device in [Device::gpu(0).unwrap(), Device::emulator(Default::default())] {
            let streams = [(); 2].map(|()| device.stream().unwrap());
            let mut data = Buffer::<f32>::zeroed(&device, 4).unwrap();
            complete(false);
            let done = block_on(async {
                let mut last = None;
                for stream in &streams {
                    last = Some(stream.fill(&mut data, 0x3f)?);
                }
                // The driver becomes quick while the task sleeps.
                thread::spawn(|| {
                    thread::sleep(std::time::Duration::from_millis(20));
                    complete(true);
                });
                last.unwrap().await
            });
            done.unwrap();
        }
        // What fails is told to the task.
        let device = Device::gpu(0).unwrap();
        let stream = device.stream().unwrap();
        let fence = stream.record().unwrap();
        complete(false);
        fail("cuEventQuery:700");
        let error = block_on(fence.into_future()).unwrap_err();
        assert!(error.to_string().contains("cannot be used further"), "{error}");
    });
}
