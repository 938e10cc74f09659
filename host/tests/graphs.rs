//! Graphs: branches of captures, updates and uploads, on the stand-in for the driver and on the emulator.

#![cfg(target_os = "linux")]

mod everywhere;
mod fixture;
mod stand_in;

use baton_host::{Buffer, Device, Error, Stream, Updated, read, write};
use everywhere::everywhere;
use fixture::{KERNELS, SHAPE, bare, count, gpu, ones, scale, seeded, spoil};
use stand_in::{Driver, asked, fail, violations, with};

fn streams<const N: usize>(device: &Device) -> [Stream; N] {
    [(); N].map(|()| device.stream().unwrap())
}

#[test]
fn branches_are_in_the_order_that_their_buffers_say() {
    everywhere("branches_are_in_the_order_that_their_buffers_say", |[device]| {
        let module = device.load(&KERNELS).unwrap();
        let [mut s1, mut s2, mut s3] = streams(&device);
        let [mut a, mut b, mut c, mut d] = [(); 4].map(|()| ones(&device));
        let mut graph = s1
            .capture(|capture| {
                capture.launch(&module, 1, scale, (read(&d), write(&mut a), 2.0))?;
                let mut left = capture.branch(&mut s2)?;
                let mut right = left.branch(&mut s3)?;
                left.launch(&module, 1, scale, (read(&a), write(&mut b), 3.0))?;
                right.launch(&module, 1, scale, (read(&a), write(&mut c), 5.0))?;
                // Behind both readers.
                capture.fill(&mut a, 0)?;
                // Behind the writer of each.
                right.launch(&module, 1, scale, (read(&b), write(&mut d), 7.0))?;
                left.copy(&d, &mut b)
            })
            .unwrap();
        assert_eq!(d.to_vec().unwrap(), [1.0; 4], "nothing has happened yet");
        graph.launch(&s1).unwrap();
        graph.launch(&s2).unwrap();
        let values = [&a, &b, &c, &d].map(|buffer| buffer.to_vec().unwrap()[0]);
        assert_eq!(values, [0.0, 42.0 * 42.0, 42.0 * 10.0, 42.0 * 42.0]);
        // Its streams do other work again.
        for stream in [&s1, &s2, &s3] {
            stream.fill(&mut c, 0).unwrap();
        }
        drop(graph);
        assert_eq!(c.to_vec().unwrap(), [0.0; 4]);
    });
}

#[test]
fn branches_overlap_where_no_buffer_orders_them() {
    // Through a second handle, whose accesses nobody knows of, the order of two branches shows.
    let mut seen = [false; 2];
    for seed in 0..64 {
        let device = seeded(seed);
        let [mut s1, mut s2] = streams(&device);
        let (mut data, mut copied) = (ones(&device), ones(&device));
        // SAFETY: none; that the copy may come before or after the fill is what is looked at.
        let alias = unsafe { data.untracked_alias() };
        let mut graph = s1
            .capture(|capture| {
                let mut branch = capture.branch(&mut s2)?;
                capture.copy(&alias, &mut copied)?;
                branch.fill(&mut data, 0)
            })
            .unwrap();
        graph.launch(&s1).unwrap().synchronize().unwrap();
        seen[usize::from(copied.to_vec().unwrap() == [0.0; 4])] = true;
    }
    assert_eq!(seen, [true; 2]);
}

#[test]
fn branches_wait_for_each_other_when_told() {
    for seed in 0..64 {
        let device = seeded(seed);
        let [mut s1, mut s2] = streams(&device);
        let (mut data, mut copied) = (ones(&device), ones(&device));
        // SAFETY: the branch is told to wait for the copy.
        let alias = unsafe { data.untracked_alias() };
        let mut graph = s1
            .capture(|capture| {
                let mut branch = capture.branch(&mut s2)?;
                capture.copy(&alias, &mut copied)?;
                branch.wait_for(capture)?;
                branch.fill(&mut data, 0)
            })
            .unwrap();
        graph.launch(&s1).unwrap();
        assert_eq!(copied.to_vec().unwrap(), [1.0; 4], "seed {seed}");
    }
}

#[test]
fn a_branch_costs_an_event_for_each_piece_and_one_to_join() {
    let test = "a_branch_costs_an_event_for_each_piece_and_one_to_join";
    with(Driver::StandIn, &[], test, || {
        let (device, _module) = gpu();
        let [mut s1, mut s2] = streams(&device);
        let [a, mut b, mut c] = [(); 3].map(|()| ones(&device));
        let calls = asked(|| {
            let captured = s1.capture(|capture| {
                let before = asked(|| capture.copy(&a, &mut b).unwrap());
                assert_eq!(before, ["copy on 2"], "without branches nothing is recorded");
                let mut branch = capture.branch(&mut s2)?;
                branch.copy(&a, &mut c)?;
                capture.fill(&mut b, 0)?;
                capture.fill(&mut c, 0)
            });
            drop(captured.unwrap());
        });
        let kinds = ["record", "waits for", "copy", "fill", "query", "synchronize"];
        // One to begin, three pieces, one to join; waited for are the beginning, the copy and the end.
        assert_eq!(kinds.map(|kind| count(&calls, kind)), [5, 3, 2, 2, 0, 0], "{calls:#?}");
    });
}

#[test]
fn a_capture_that_is_broken_off_leaves_all_of_its_streams() {
    everywhere("a_capture_that_is_broken_off_leaves_all_of_its_streams", |[device]| {
        let [mut s1, mut s2] = streams(&device);
        let [a, mut b, mut c] = [(); 3].map(|()| ones(&device));
        let broken = s1.capture(|capture| {
            let mut branch = capture.branch(&mut s2)?;
            branch.fill(&mut b, 0)?;
            capture.copy(&b, &mut c)?;
            capture.copy(&a, &mut b.slice_mut(1..)?)
        });
        assert!(matches!(broken.map(drop), Err(Error::BufferLengths { .. })));
        s1.copy(&a, &mut c).unwrap();
        s2.copy(&a, &mut b).unwrap();
        assert_eq!((b.to_vec().unwrap(), c.to_vec().unwrap()), (vec![1.0; 4], vec![1.0; 4]));
        // And a second capture of them is one.
        let mut graph = s2.capture(|capture| capture.branch(&mut s1)?.fill(&mut c, 0)).unwrap();
        graph.launch(&s1).unwrap();
        assert_eq!(c.to_vec().unwrap(), [0.0; 4]);
    });
}

#[test]
fn what_the_driver_refuses_a_branch_is_an_error_of_the_capture() {
    let test = "what_the_driver_refuses_a_branch_is_an_error_of_the_capture";
    with(Driver::StandIn, &[], test, || {
        let (device, _module) = gpu();
        let [mut s1, mut s2] = streams(&device);
        let [a, mut b] = [(); 2].map(|()| ones(&device));
        for refusing in ["cuStreamWaitEvent:1", "cuEventRecord:1", "cuStreamEndCapture:1"] {
            let captured = s1.capture(|capture| {
                let mut branch = capture.branch(&mut s2)?;
                branch.copy(&a, &mut b)?;
                fail(refusing);
                capture.copy(&a, &mut b)
            });
            fail("");
            assert!(matches!(captured.map(drop), Err(Error::Driver { .. })), "{refusing}");
            if refusing == "cuStreamEndCapture:1" {
                // Nobody knows what such a driver has done with its streams.
                continue;
            }
            s2.fill(&mut b, 0).unwrap();
            assert_eq!(b.to_vec().unwrap(), [0.0; 4], "{refusing}");
        }
        assert_eq!(violations(), "");
    });
}

#[test]
fn a_capture_whose_order_is_lost_comes_to_nothing() {
    with(Driver::StandIn, &[], "a_capture_whose_order_is_lost_comes_to_nothing", || {
        let (device, _module) = gpu();
        let [mut s1, mut s2] = streams(&device);
        let [a, mut b] = [(); 2].map(|()| ones(&device));
        // The program does not care for the error, and the fill would overtake the copy.
        let captured = s1.capture(|capture| {
            let mut branch = capture.branch(&mut s2)?;
            fail("cuEventRecord:1");
            let _ignored = branch.copy(&a, &mut b);
            fail("");
            capture.fill(&mut b, 0)
        });
        let error = captured.map(drop).unwrap_err();
        assert!(error.to_string().contains("nothing can come behind it"), "{error}");
    });
}

#[test]
fn a_branch_of_another_device_is_refused() {
    let (here, there) = (seeded(0), seeded(0));
    let (mut stream, mut other) = (here.stream().unwrap(), there.stream().unwrap());
    let captured = stream.capture(|capture| capture.branch(&mut other).map(drop));
    assert!(matches!(captured.map(drop), Err(Error::ForeignBuffer { .. })));
}

#[test]
fn a_failure_in_a_branch_is_one_of_the_graph() {
    for seed in 0..16 {
        let device = seeded(seed);
        let module = device.load(&KERNELS).unwrap();
        let [mut s1, mut s2, s3] = streams(&device);
        let [mut a, mut b] = [(); 2].map(|()| ones(&device));
        let mut graph = s1
            .capture(|capture| {
                let mut branch = capture.branch(&mut s2)?;
                branch.launch(&module, 1, spoil, (write(&mut a),))?;
                capture.fill(&mut b, 0)
            })
            .unwrap();
        let error = graph.launch(&s3).unwrap().synchronize().unwrap_err();
        assert!(error.to_string().contains("spoil"), "{error}");
        // What the graph was to write is unknown; the stream of the branch has done nothing.
        for buffer in [&a, &b] {
            assert!(matches!(buffer.to_vec(), Err(Error::ContentsUnknown { .. })));
        }
        s2.fill(&mut a, 0).unwrap();
        assert_eq!(a.to_vec().unwrap(), [0.0; 4]);
    }
}

#[test]
fn what_a_branch_prints_is_the_launching_streams() {
    let device = seeded(3);
    let module = device.load(&KERNELS).unwrap();
    let [mut s1, mut s2, s3] = streams(&device);
    let print = || bare("print", baton::launch::Shape { threads: [1; 3], ..SHAPE });
    let mut graph = s1
        .capture(|capture| {
            let mut branch = capture.branch(&mut s2)?;
            branch.launch(&module, 2, print, ())?;
            capture.launch(&module, 1, print, ())
        })
        .unwrap();
    graph.launch(&s3).unwrap();
    assert_eq!(s3.synchronize().unwrap().output.lines().count(), 3);
    assert_eq!(s2.synchronize().unwrap().output, "");
}

#[test]
fn an_update_takes_the_place_of_the_work() {
    everywhere("an_update_takes_the_place_of_the_work", |[device]| {
        let module = device.load(&KERNELS).unwrap();
        let [mut s1, mut s2] = streams(&device);
        let [a, mut b, mut c, mut d] = [(); 4].map(|()| ones(&device));
        let mut graph = s1
            .capture(|capture| {
                capture.launch(&module, 1, scale, (read(&a), write(&mut b), 2.0))?;
                capture.branch(&mut s2)?.fill(&mut c, 0)
            })
            .unwrap();
        graph.launch(&s1).unwrap();
        // Other numbers and other buffers, of the same shape.
        let updated = graph.update(&mut s1, |capture| {
            capture.launch(&module, 1, scale, (read(&b), write(&mut d), 3.0))?;
            capture.branch(&mut s2)?.fill(&mut b, 0)
        });
        // The branch begins when `b` has been read, by the order of the calls; its fill is behind that.
        assert_eq!(updated.unwrap(), Updated::InPlace);
        graph.launch(&s1).unwrap();
        assert_eq!(d.to_vec().unwrap(), [6.0; 4], "the launch before has done what it was given");
        assert_eq!((b.to_vec().unwrap(), c.to_vec().unwrap()), (vec![0.0; 4], vec![0.0; 4]));
        // It touches other memory now: what it does not is free.
        graph.launch(&s2).unwrap();
        assert!(!c.describe().to_string().contains("pending"), "{}", c.describe());
        // Of another shape, it is made anew.
        let updated = graph.update(&mut s2, |capture| capture.copy(&a, &mut c));
        assert_eq!(updated.unwrap(), Updated::Anew);
        graph.launch(&s1).unwrap();
        assert_eq!(c.to_vec().unwrap(), [1.0; 4]);
        // One that is broken off leaves it as it was.
        let broken = graph.update(&mut s2, |_| Err(Error::ForeignFence));
        assert!(broken.is_err());
        c.fill(0).unwrap();
        graph.launch(&s1).unwrap();
        assert_eq!(c.to_vec().unwrap(), [1.0; 4]);
    });
}

#[test]
fn a_graph_that_was_made_anew_is_destroyed_when_it_has_ended() {
    let test = "a_graph_that_was_made_anew_is_destroyed_when_it_has_ended";
    with(Driver::StandIn, &[], test, || {
        let (device, _module) = gpu();
        let [mut stream] = streams(&device);
        let [a, mut b, mut c] = [(); 3].map(|()| ones(&device));
        let mut graph = stream.capture(|capture| capture.copy(&a, &mut b)).unwrap();
        graph.launch(&stream).unwrap();
        let calls = asked(|| {
            let updated = graph.update(&mut stream, |capture| capture.copy(&a, &mut c));
            assert_eq!(updated.unwrap(), Updated::InPlace);
        });
        assert_eq!((count(&calls, "update graph"), count(&calls, "destroy graph")), (1, 0));
        let calls = asked(|| {
            let updated = graph.update(&mut stream, |capture| capture.fill(&mut c, 0));
            // The kinds of this stand-in's work are all the same.
            assert_eq!(updated.unwrap(), Updated::InPlace);
            let updated = graph.update(&mut stream, |capture| {
                capture.fill(&mut c, 0)?;
                capture.fill(&mut b, 0)
            });
            assert_eq!(updated.unwrap(), Updated::Anew);
        });
        assert_eq!(count(&calls, "destroy graph"), 0, "it may be running: {calls:#?}");
        stream.synchronize().map(drop).unwrap();
        let calls = asked(|| drop(ones(&device)));
        assert_eq!(count(&calls, "destroy graph"), 1, "{calls:#?}");
        // What is no answer to the question is an error, and the graph is as it was.
        fail("cuGraphExecUpdate_v2:1");
        graph.update(&mut stream, |capture| capture.copy(&a, &mut c)).unwrap_err();
        fail("");
        graph.launch(&stream).unwrap();
        assert_eq!(c.to_vec().unwrap(), [0.0; 4]);
        assert_eq!(violations(), "");
    });
}

#[test]
fn an_upload_is_work_of_its_stream() {
    everywhere("an_upload_is_work_of_its_stream", |[device]| {
        let [mut stream, other] = streams(&device);
        let [a, mut b] = [(); 2].map(|()| ones(&device));
        other.fill(&mut b, 0).unwrap();
        let mut graph = stream.capture(|capture| capture.copy(&a, &mut b)).unwrap();
        let uploaded = graph.upload(&stream).unwrap();
        assert_eq!(b.to_vec().unwrap(), [0.0; 4], "it does none of the work");
        uploaded.synchronize().unwrap();
        graph.launch(&other).unwrap();
        assert_eq!(b.to_vec().unwrap(), [1.0; 4]);
        // It may be dropped right after.
        let _uploaded = graph.upload(&stream).unwrap();
        drop(graph);
    });
}

#[test]
fn an_upload_is_one_call_and_its_record() {
    with(Driver::StandIn, &[], "an_upload_is_one_call_and_its_record", || {
        let (device, _module) = gpu();
        let [mut stream] = streams(&device);
        let a = Buffer::from_slice(&device, &[1.0f32; 4]).unwrap();
        let mut b = ones(&device);
        let mut graph = stream.capture(|capture| capture.copy(&a, &mut b)).unwrap();
        stream.synchronize().map(drop).unwrap();
        b.to_vec().unwrap();
        let calls = asked(|| drop(graph.upload(&stream).unwrap()));
        let kinds = ["upload graph on 2", "record", "waits for"];
        assert_eq!(kinds.map(|kind| count(&calls, kind)), [1, 1, 0], "{calls:#?}");
        fail("cuGraphUpload:1");
        let error = graph.upload(&stream).map(drop).unwrap_err();
        assert!(error.to_string().contains("uploading a graph"), "{error}");
        fail("");
        graph.launch(&stream).unwrap();
        assert_eq!(b.to_vec().unwrap(), [1.0; 4]);
    });
}
