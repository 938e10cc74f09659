//! Callbacks, futures and captures whose users do what they should not: on the stand-in for the driver and on emulators.

#![cfg(target_os = "linux")]

mod everywhere;
mod fixture;
mod stand_in;

use std::cell::RefCell;
use std::panic::panic_any;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::task::{Context, Wake};
use std::thread;
use std::time::{Duration, Instant};

use baton_host::reservation::Fence;
use baton_host::{Buffer, Device, Error, Managed, Pinned, read, write};
use everywhere::everywhere;
use fixture::{KERNELS, block_on, gpu, ones, scale, spoil};
use stand_in::{Driver, allocations, complete, fail, violations, with};

#[test]
fn what_a_callback_has_is_dropped_where_nothing_is_locked() {
    everywhere("what_a_callback_has_is_dropped_where_nothing_is_locked", |[device]| {
        let module = device.load(&KERNELS).unwrap();
        let stream = Arc::new(device.stream().unwrap());
        let (input, mut used) = (ones(&device), ones(&device));
        let mut spoilt = Buffer::<f32>::zeroed(&device, 4).unwrap();
        stream.launch(&module, 1, scale, (read(&input), write(&mut used), 2.0)).unwrap();
        if device.is_emulator() {
            // It comes behind work that fails, and is not called.
            stream.launch(&module, 1, spoil, (write(&mut spoilt),)).unwrap();
        } else {
            fail("cuLaunchHostFunc:1");
        }
        // The buffer is freed in the order of the stream that refuses the callback.
        let own = Arc::clone(&stream);
        let given = stream.call_back(move || panic!("called with {used:?} and {own:?}"));
        fail("");
        assert_eq!(given.is_ok(), device.is_emulator());
        let ended = stream.synchronize();
        assert_eq!(ended.is_err(), device.is_emulator());
    });
}

#[test]
fn a_callback_may_drop_the_last_of_everything() {
    everywhere("a_callback_may_drop_the_last_of_everything", |[device]| {
        let is_gpu = !device.is_emulator();
        let module = device.load(&KERNELS).unwrap();
        let (mut first, second) = (device.stream().unwrap(), device.stream().unwrap());
        let (input, mut output) = (ones(&device), ones(&device));
        let host = Pinned::<f32>::zeroed(&device, 4).unwrap();
        let arguments = (read(&input), write(&mut output), 2.0);
        let mut graph = first.capture(|capture| capture.launch(&module, 1, scale, arguments));
        graph.as_mut().unwrap().launch(&first).unwrap();
        second.fill(&mut output, 0).unwrap();
        let all = (first, input, output, host, graph, module, device);
        let called = second.call_back(move || drop(all)).unwrap();
        drop(second);
        called.synchronize().unwrap();
        drop(called);
        // What is left ends on a thread of its own.
        let start = Instant::now();
        while is_gpu && allocations() > 0 {
            assert!(start.elapsed() < Duration::from_secs(10), "{} are left", allocations());
            thread::sleep(Duration::from_micros(100));
        }
        assert_eq!(violations(), "");
    });
}

#[test]
fn a_callback_is_kept_from_the_driver() {
    everywhere("a_callback_is_kept_from_the_driver", |[device]| {
        let is_gpu = !device.is_emulator();
        let module = device.load(&KERNELS).unwrap();
        let stream = device.stream().unwrap();
        let (mut data, mut host) = (ones(&device), Pinned::<f32>::zeroed(&device, 4).unwrap());
        let mut output = ones(&device);
        let fence = stream.fill(&mut data, 0).unwrap();
        stream.download(&data, &mut host).unwrap();
        let (tell, told) = channel();
        let own = device.clone();
        let called = stream.call_back(move || {
            let call = scale(data.as_arg(), output.as_arg_mut(), 2.0);
            let refused = [
                own.stream().err(),
                own.load(&KERNELS).err(),
                own.launch(&module, 1, call).err(),
                Buffer::from_slice(&own, &[1.0f32]).err(),
                Pinned::<f32>::zeroed(&own, 1).err(),
                Managed::<f32>::zeroed(&own, 1).err(),
                data.to_vec().err(),
                host.as_slice().err(),
                fence.synchronize().err(),
                own.thread_stream().err(),
                data.tiled(&[4], &[4]).encode().and_then(|map| map.store()).err(),
                if is_gpu { Device::gpu(0).err() } else { own.stream().err() },
            ];
            let in_callback = |error: &Option<Error>| match error {
                Some(Error::InCallback { .. }) => true,
                // A description is refused in its own words.
                Some(error) => error.to_string().contains("callback"),
                None => false,
            };
            let all: Vec<_> = refused.iter().map(in_callback).collect();
            // What may be asked everywhere says what is known.
            let (listed, known) = (Device::list().len(), data.describe().to_string());
            let _ = tell.send((all, fence.poll().is_ok(), listed, known));
        });
        called.unwrap().synchronize().unwrap();
        let (refused, ..) = told.recv().unwrap();
        assert_eq!(refused, [true; 12]);
    });
}

/// It panics when it is dropped, unless it does so already.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !thread::panicking() {
            panic!("on purpose, too");
        }
    }
}

#[test]
fn a_panic_in_a_callback_ends_with_it() {
    everywhere("a_panic_in_a_callback_ends_with_it", |[device]| {
        let stream = device.stream().unwrap();
        stream.call_back(|| panic_any(Bomb)).unwrap();
        let mut data = ones(&device);
        stream.fill(&mut data, 0).unwrap();
        assert_eq!(data.to_vec().unwrap(), [0.0; 4]);
    });
}

struct Panics(AtomicBool);

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
        panic_any(Bomb);
    }
}

#[test]
fn a_task_that_panics_when_it_is_woken_is_alone_with_that() {
    with(Driver::StandIn, &[], "a_task_that_panics_when_it_is_woken_is_alone_with_that", || {
        for device in [Device::gpu(0).unwrap(), Device::emulator(Default::default())] {
            complete(false);
            let stream = device.stream().unwrap();
            let panics = Arc::new(Panics(AtomicBool::new(false)));
            let waker = Arc::clone(&panics).into();
            let mut data = ones(&device);
            let mut first = pin!(stream.fill(&mut data, 0).unwrap().into_future());
            assert!(first.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            complete(true);
            let start = Instant::now();
            while !panics.0.load(Ordering::SeqCst) {
                assert!(start.elapsed() < Duration::from_secs(10), "it is not woken");
                thread::sleep(Duration::from_micros(100));
            }
            block_on(stream.record().unwrap().into_future()).unwrap();
        }
    });
}

#[test]
fn a_thread_has_a_stream_to_its_end() {
    struct AtTheEnd(Device);
    impl Drop for AtTheEnd {
        fn drop(&mut self) {
            let mut data = ones(&self.0);
            self.0.thread_stream().unwrap().fill(&mut data, 0).unwrap();
            assert_eq!(data.to_vec().unwrap(), [0.0; 4]);
        }
    }
    thread_local! {
        static LAST: RefCell<Option<AtTheEnd>> = const { RefCell::new(None) };
    }
    everywhere("a_thread_has_a_stream_to_its_end", |[device]| {
        let thread = thread::spawn(move || {
            // Its destructor comes after that of the list of streams, which is made later.
            LAST.set(Some(AtTheEnd(device.clone())));
            let stream = device.thread_stream().unwrap();
            assert_eq!(stream.context(), device.thread_stream().unwrap().context());
        });
        thread.join().unwrap();
    });
}

#[test]
fn a_stream_that_is_captured_still_takes_no_work() {
    with(Driver::StandIn, &[], "a_stream_that_is_captured_still_takes_no_work", || {
        let (device, _module) = gpu();
        let (mut first, mut beside) = (device.stream().unwrap(), device.stream().unwrap());
        let (mut a, mut b) = (ones(&device), ones(&device));
        // The driver refuses to end the capture, or says neither that it has ended nor that it goes on; or it has ended.
        for refused in ["cuStreamEndCapture:1", "cuStreamIsCapturing:1", ""] {
            fail(refused);
            let captured = first.capture(|capture| {
                let mut branch = capture.branch(&mut beside)?;
                branch.fill(&mut a, 0)?;
                capture.fill(&mut b, 0)?;
                // After this error a branch has not been joined, which the driver says too.
                match refused.contains("End") {
                    true => Ok(()),
                    false => Err(Error::Unsupported { what: "this", device: String::new() }),
                }
            });
            assert!(captured.is_err());
            fail("");
            for (stream, data) in [(&first, &mut a), (&beside, &mut b)] {
                let given = stream.fill(data, 0);
                if refused.is_empty() {
                    given.unwrap();
                } else {
                    assert!(matches!(given, Err(Error::StillCaptured { .. })), "{given:?}");
                }
            }
            (first, beside) = (device.stream().unwrap(), device.stream().unwrap());
        }
        // A capture that was spoiled has ended.
        for _ in 0..2 {
            let captured = first.capture(|capture| {
                capture.fill(&mut a, 0x3f)?;
                // SAFETY: the stand-in is loaded, and the symbol has this type.
                unsafe {
                    let library = cudarc::driver::sys::culib();
                    let wait = library.get::<unsafe extern "C" fn() -> u32>(b"cuCtxSynchronize");
                    stand_in::current_context(Some(0x1000));
                    assert_eq!(wait.unwrap()(), 900);
                }
                Ok(())
            });
            assert!(matches!(captured, Err(Error::Driver { .. })), "{captured:?}");
            first.fill(&mut b, 0).unwrap();
            assert_eq!(b.to_vec().unwrap(), [0.0; 4]);
        }
        assert_eq!((a.to_vec().unwrap(), violations()), (vec![0.0; 4], String::new()));
    });
}
