//! Several devices of one process, and memory that host and device share: on the stand-in for the driver with two GPUs, and
//! on emulators.

#![cfg(target_os = "linux")]

mod everywhere;
mod fixture;
mod stand_in;

use std::thread;

use baton_host::{Buffer, Device, Error, Managed, Pinned, Readable, Writable, read, write};
use everywhere::everywhere;
use fixture::{KERNELS, count, ones, scale, seeded, spoil};
use stand_in::{Driver, asked, complete, contexts, fail, seed, with};

#[test]
fn copies_between_devices_are_in_order_with_the_work_of_both() {
    everywhere("copies_between_devices_are_in_order_with_the_work_of_both", |[here, there]| {
        let (here, there) = (&here, &there);
        let modules = [here, there].map(|device| device.load(&KERNELS).unwrap());
        let [s1, s2] = [here, there].map(|device| device.stream().unwrap());
        let (input, mut a, mut b, mut c) = (ones(here), ones(here), ones(there), ones(there));
        s1.launch(&modules[0], 1, scale, (read(&input), write(&mut a), 2.0)).unwrap();
        // Given to the source's device, and to the destination's.
        s1.copy(&a, &mut b).unwrap();
        s2.launch(&modules[1], 1, scale, (read(&b), write(&mut c), 3.0)).unwrap();
        s1.copy(&c, &mut a).unwrap();
        // What is overwritten has been read by then.
        s2.fill(&mut c, 0).unwrap();
        s2.copy(&a, &mut b).unwrap();
        s1.fill(&mut a, 0).unwrap();
        let values = [&a, &b, &c].map(|buffer| buffer.to_vec().unwrap());
        assert_eq!(values, [[0.0; 4], [6.0; 4], [0.0; 4]]);
    });
}

#[test]
fn parts_are_copied_between_devices_and_both_ends_may_be_dropped() {
    everywhere("parts_are_copied_between_devices_and_both_ends_may_be_dropped", |[here, there]| {
        let (here, there) = (&here, &there);
        let [s1, s2] = [here, there].map(|device| device.stream().unwrap());
        let a = Buffer::from_slice(here, &[1.0f32, 2.0, 3.0, 4.0]).unwrap();
        let mut b = Buffer::<f32>::zeroed(there, 4).unwrap();
        s2.copy(&a.slice(1..3).unwrap(), &mut b.slice_mut(2..).unwrap()).unwrap();
        drop(a);
        // Memory that takes the place of the source is not what was copied.
        let _other = Buffer::from_slice(here, &[9.0f32; 4]).unwrap();
        assert_eq!(b.to_vec().unwrap(), [0.0, 0.0, 2.0, 3.0]);
        let a = ones(here);
        s1.copy(&a, &mut b).unwrap();
        drop((a, b, s1, s2));
    });
}

#[test]
fn streams_wait_for_another_devices_work() {
    everywhere("streams_wait_for_another_devices_work", |[here, there]| {
        let (here, there) = (&here, &there);
        let [s1, s2] = [here, there].map(|device| device.stream().unwrap());
        let mut a = ones(here);
        let filled = s1.fill(&mut a, 0).unwrap();
        s2.wait_for(&filled).unwrap();
        let behind = s2.record().unwrap();
        complete(false);
        behind.synchronize().unwrap();
        assert!(s1.is_idle().unwrap(), "it ended before");
    });
}

#[test]
fn two_devices_that_wait_for_each_other_in_turns() {
    everywhere("two_devices_that_wait_for_each_other_in_turns", |[here, there]| {
        let (here, there) = (&here, &there);
        let [s1, s2] = [here, there].map(|device| device.stream().unwrap());
        let (mut a, mut b) = (ones(here), ones(there));
        let modules = [here, there].map(|device| device.load(&KERNELS).unwrap());
        let (mut x, mut y) = (ones(here), ones(there));
        for _ in 0..5 {
            s1.launch(&modules[0], 1, scale, (read(&a), write(&mut x), 2.0)).unwrap();
            s1.copy(&x, &mut b).unwrap();
            s2.launch(&modules[1], 1, scale, (read(&b), write(&mut y), 3.0)).unwrap();
            s2.copy(&y, &mut a).unwrap();
        }
        assert_eq!(a.to_vec().unwrap(), [6.0f32.powi(5); 4]);
        // Dropped with work that goes to and fro.
        s1.copy(&a, &mut b).unwrap();
        s2.copy(&b, &mut a).unwrap();
    });
}

#[test]
fn threads_of_two_devices_go_on_at_the_same_time() {
    everywhere("threads_of_two_devices_go_on_at_the_same_time", |[here, there]| {
        let (here, there) = (&here, &there);
        let (mut a, mut b) = (ones(here), ones(there));
        for _ in 0..4 {
            let pairs = [(here, &mut a), (there, &mut b)];
            thread::scope(|scope| {
                for (device, buffer) in pairs {
                    scope.spawn(move || {
                        let module = device.load(&KERNELS).unwrap();
                        let stream = device.stream().unwrap();
                        let mut twice = ones(device);
                        let arguments = (read(&*buffer), write(&mut twice), 2.0);
                        stream.launch(&module, 1, scale, arguments).unwrap();
                        stream.copy(&twice, buffer).unwrap();
                    });
                }
            });
            // From each to the other, by the other's stream.
            let [s1, s2] = [here, there].map(|device| device.stream().unwrap());
            let (mut a_there, mut b_here) = (ones(there), ones(here));
            thread::scope(|scope| {
                let (to, from, a, b) = (&mut a_there, &mut b_here, &a, &b);
                let first = scope.spawn(move || s2.copy(a, to).unwrap().synchronize());
                let second = scope.spawn(move || s1.copy(b, from).unwrap().synchronize());
                first.join().unwrap().unwrap();
                second.join().unwrap().unwrap();
            });
            assert_eq!(a_there.to_vec().unwrap(), a.to_vec().unwrap());
            assert_eq!(b_here.to_vec().unwrap(), b.to_vec().unwrap());
        }
        assert_eq!((a.to_vec().unwrap(), b.to_vec().unwrap()), (vec![16.0; 4], vec![16.0; 4]));
    });
}

#[test]
fn copies_between_devices_are_captured_too() {
    everywhere("copies_between_devices_are_captured_too", |[here, there]| {
        let (here, there) = (&here, &there);
        let mut stream = here.stream().unwrap();
        let (mut a, mut b) = (ones(here), ones(there));
        let mut graph = stream
            .capture(|capture| {
                capture.copy(&b, &mut a)?;
                capture.fill(&mut a.slice_mut(..1)?, 0)?;
                capture.copy(&a, &mut b)
            })
            .unwrap();
        b.write(&[5.0; 4]).unwrap();
        graph.launch(&stream).unwrap();
        assert_eq!(b.to_vec().unwrap(), [0.0, 5.0, 5.0, 5.0]);
    });
}

#[test]
fn a_failure_reaches_who_has_copied_from_another_device() {
    for of in 0..8 {
        let (here, there) = (seeded(of), seeded(of));
        let module = here.load(&KERNELS).unwrap();
        let [s1, s2] = [&here, &there].map(|device| device.stream().unwrap());
        let (mut a, mut b) = (ones(&here), ones(&there));
        s1.launch(&module, 1, spoil, (write(&mut a),)).unwrap();
        let copied = s2.copy(&a, &mut b).unwrap();
        assert!(copied.synchronize().unwrap_err().to_string().contains("spoil"));
        assert!(matches!(b.to_vec(), Err(Error::ContentsUnknown { .. })));
        // The other device goes on.
        let mut c = ones(&there);
        there.stream().unwrap().fill(&mut c, 0).unwrap();
        assert_eq!(c.to_vec().unwrap(), [0.0; 4]);
    }
}

#[test]
fn what_is_no_copy_between_peers_is_refused() {
    let test = "what_is_no_copy_between_peers_is_refused";
    with(Driver::StandIn, &[("STAND_IN_GPUS", "2")], test, || {
        let [gpu, other] = [0, 1].map(|index| Device::gpu(index).unwrap());
        let emulator = seeded(0);
        let stream = gpu.stream().unwrap();
        let (mut a, mut b, mut c) = (ones(&gpu), ones(&emulator), ones(&other));
        let error = stream.copy(&b, &mut a).map(drop).unwrap_err();
        assert!(matches!(error, Error::NoPeers { .. }), "{error}");
        assert!(error.to_string().contains("from baton emulator to Stand-in 0"), "{error}");
        let error = emulator.stream().unwrap().copy(&a, &mut b).map(drop).unwrap_err();
        assert!(matches!(error, Error::NoPeers { .. }), "{error}");
        // A stream of a third device has no part in it.
        let (third, mut d) = (seeded(1), ones(&seeded(2)));
        let error = third.stream().unwrap().copy(&b, &mut d).map(drop).unwrap_err();
        assert!(matches!(error, Error::ForeignBuffer { .. }), "{error}");
        // What is not a copy stays on its own device.
        let error = stream.fill(&mut c, 0).map(drop).unwrap_err();
        assert!(matches!(error, Error::ForeignBuffer { .. }), "{error}");
        let fence = emulator.stream().unwrap().record().unwrap();
        assert!(matches!(stream.wait_for(&fence), Err(Error::ForeignFence)));
        // What the driver refuses leaves everything as it was.
        fail("cuMemcpyPeerAsync:1");
        let error = stream.copy(&a, &mut c).map(drop).unwrap_err();
        assert!(error.to_string().contains("copying between GPUs"), "{error}");
        fail("");
        assert_eq!(c.to_vec().unwrap(), [1.0; 4]);
    });
}

#[test]
fn a_copy_between_gpus_is_one_call() {
    with(Driver::StandIn, &[("STAND_IN_GPUS", "2")], "a_copy_between_gpus_is_one_call", || {
        let [here, there] = [0, 1].map(|index| Device::gpu(index).unwrap());
        assert_eq!(contexts(), 2);
        let stream = here.stream().unwrap();
        let (a, mut b) = (ones(&here), ones(&there));
        let calls = asked(|| drop(stream.copy(&a, &mut b).unwrap()));
        let kinds = ["copy from 0x1000 to 0x1001 on 3", "waits for", "record"];
        // It waits for what has written the one, and for what has written the other.
        assert_eq!(kinds.map(|kind| count(&calls, kind)), [1, 2, 1], "{calls:#?}");
    });
}

#[test]
fn managed_memory_is_seen_by_host_and_device_in_turns() {
    everywhere("managed_memory_is_seen_by_host_and_device_in_turns", |[device]| {
        let device = &device;
        let module = device.load(&KERNELS).unwrap();
        let [s1, s2] = [(); 2].map(|()| device.stream().unwrap());
        let mut values = Managed::from_slice(device, &[1.0f32, 2.0, 3.0, 4.0]).unwrap();
        let mut output = Managed::<f32>::zeroed(device, 4).unwrap();
        assert_eq!((output.len(), output.as_slice().unwrap()), (4, &[0.0; 4][..]));
        s1.launch(&module, 1, scale, (read(&values), write(&mut output), 2.0)).unwrap();
        // Looking waits for who writes, and may be done while others read.
        let seen = output.as_slice().unwrap();
        assert_eq!(
            (seen, values.as_slice().unwrap()),
            (&[2.0, 4.0, 6.0, 8.0][..], &[1.0, 2.0, 3.0, 4.0][..])
        );
        // Writing waits for who reads.
        let mut copy = ones(device);
        s2.copy(&output, &mut copy).unwrap();
        output.as_mut_slice().unwrap()[0] = 7.0;
        assert_eq!(copy.to_vec().unwrap(), [2.0, 4.0, 6.0, 8.0]);
        // The device finds what the host wrote, in a part as in the whole.
        s2.copy(&output.view().slice(..2).unwrap(), &mut copy.slice_mut(2..).unwrap()).unwrap();
        assert_eq!(copy.to_vec().unwrap(), [2.0, 4.0, 7.0, 4.0]);
        // A part that the device writes leaves the host's others.
        s1.fill(&mut output.view_mut().into_slice(3..).unwrap(), 0).unwrap();
        assert_eq!(output.as_slice().unwrap(), [7.0, 4.0, 6.0, 0.0]);
        values.as_mut_slice().unwrap().fill(5.0);
        s1.launch(&module, 1, scale, (read(&values), write(&mut output), 3.0)).unwrap();
        s2.launch(&module, 1, scale, (read(&output), write(&mut values), 2.0)).unwrap();
        let whole = values.view().to_vec().unwrap();
        assert_eq!((whole, output.as_slice().unwrap()), (vec![30.0; 4], &[15.0; 4][..]));
        // Dropped in use.
        s1.fill(&mut output, 0).unwrap();
        s2.copy(&values, &mut copy).unwrap();
        drop((values, output));
        assert_eq!(copy.to_vec().unwrap(), [30.0; 4]);
    });
}

#[test]
fn managed_memory_after_a_failure_is_unknown_until_it_is_written() {
    let device = seeded(0);
    let module = device.load(&KERNELS).unwrap();
    let stream = device.stream().unwrap();
    let mut values = Managed::<f32>::zeroed(&device, 4).unwrap();
    stream.launch(&module, 1, spoil, (write(&mut values),)).unwrap();
    assert!(values.as_slice().is_err());
    assert!(matches!(values.as_slice(), Err(Error::ContentsUnknown { .. })));
    // A slice to write could be read as well.
    assert!(matches!(values.as_mut_slice(), Err(Error::ContentsUnknown { .. })));
    assert!(matches!(values.write(&[1.0; 3]), Err(Error::LengthMismatch { buffer: 4, host: 3 })));
    values.write(&[1.0; 4]).unwrap();
    assert_eq!(values.as_slice().unwrap(), [1.0; 4]);
    values.as_mut_slice().unwrap()[0] = 2.0;

    // So it is with page-locked memory.
    let mut host = Pinned::<f32>::zeroed(&device, 4).unwrap();
    let [failing, other] = [(); 2].map(|()| device.stream().unwrap());
    let mut spoilt = ones(&device);
    failing.launch(&module, 1, spoil, (write(&mut spoilt),)).unwrap();
    failing.download(&ones(&device), &mut host).unwrap();
    assert!(host.as_mut_slice().is_err());
    assert!(matches!(host.as_mut_slice(), Err(Error::ContentsUnknown { .. })));
    assert!(matches!(host.write(&[]), Err(Error::LengthMismatch { buffer: 4, host: 0 })));
    host.write(&[3.0; 4]).unwrap();
    assert_eq!(host.as_mut_slice().unwrap(), [3.0; 4]);
    let mut copy = ones(&device);
    other.upload(&host, &mut copy).unwrap();
    assert_eq!(copy.to_vec().unwrap(), [3.0; 4]);
}

#[test]
fn managed_memory_is_given_back_when_it_is_not_used_and_goes_into_no_graph() {
    let test = "managed_memory_is_given_back_when_it_is_not_used_and_goes_into_no_graph";
    everywhere(test, |[device]| {
        let device = &device;
        let mut stream = device.stream().unwrap();
        let mut values = Managed::<f32>::zeroed(device, 4).unwrap();
        let mut buffer = ones(device);
        // The host could be looking at it when the graph is launched.
        let captured = stream.capture(|capture| {
            let alloc = Managed::<f32>::zeroed(device, 1).map(drop);
            assert!(matches!(alloc, Err(Error::Capturing { .. })));
            capture.copy(&buffer, &mut values)
        });
        assert!(matches!(captured.map(drop), Err(Error::ManagedInGraph { .. })));
        stream.copy(&values, &mut buffer).unwrap();
        assert_eq!(buffer.to_vec().unwrap(), [0.0; 4]);
    });
    with(Driver::StandIn, &[], test, || {
        let device = Device::gpu(0).unwrap();
        let stream = device.stream().unwrap();
        let mut values = Managed::<f32>::zeroed(&device, 4).unwrap();
        complete(false);
        seed(0);
        stream.fill(&mut values, 0).unwrap();
        let calls = asked(|| drop(values));
        assert_eq!(count(&calls, "free"), 0, "it is in use: {calls:#?}");
        complete(true);
        let calls = asked(|| drop(Pinned::<u8>::zeroed(&device, 1).unwrap()));
        assert_eq!(count(&calls, "free"), 2, "it, and what was just made: {calls:#?}");
    });
}

#[test]
fn where_the_host_must_keep_away_there_is_no_managed_memory() {
    let test = "where_the_host_must_keep_away_there_is_no_managed_memory";
    with(Driver::StandIn, &[("STAND_IN_ALONE", "1")], test, || {
        let error = Managed::<f32>::zeroed(&Device::gpu(0).unwrap(), 4).map(drop).unwrap_err();
        assert!(matches!(error, Error::NoManagedMemory { .. }), "{error}");
        assert!(error.to_string().contains("Stand-in 0") && error.to_string().contains("Pinned"));
    });
}

#[test]
fn managed_memory_that_there_is_not_is_an_error() {
    let test = "managed_memory_that_there_is_not_is_an_error";
    with(Driver::StandIn, &[], test, || {
        let error = Managed::<u8>::zeroed(&Device::gpu(0).unwrap(), 2 << 30).map(drop);
        assert!(matches!(error, Err(Error::OutOfMemory { .. })), "{error:?}");
        let mut options = baton_host::EmulatorOptions::default();
        options.machine.global_bytes = 1 << 16;
        let error = Managed::<u8>::zeroed(&Device::emulator(options), 1 << 20).map(drop);
        assert!(matches!(error, Err(Error::OutOfMemory { .. })), "{error:?}");
        assert!(Managed::<u64>::zeroed(&seeded(0), usize::MAX).is_err());
    });
}
