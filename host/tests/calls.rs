//! The table of `docs/host-calls.md`: which of the driver's functions each operation calls. It is made here, from what the
//! stand-in for the driver was asked, so a change of the calls is a change of the page. `BATON_BLESS=1` writes it anew.

#![cfg(target_os = "linux")]

mod fixture;
mod stand_in;

use std::fmt::Write;
use std::path::Path;

use baton::launch::Shape;
use baton_host::{Buffer, Device, Managed, Matrix, Pinned, Updated, read, write};
use fixture::{KERNELS, SHAPE, ones, scale, scale_of};
use stand_in::{Driver, allocations, called, complete, violations, with};

/// The rows that there are so far.
#[derive(Default)]
struct Table(String);

impl Table {
    /// The calls of an operation, and how often it has made the context current for them.
    fn row<T>(&mut self, operation: &str, act: impl FnOnce() -> T) -> T {
        let (done, calls) = called(act);
        let (mut runs, mut entered, mut relaxed): (Vec<(String, usize)>, _, _) = (vec![], 0, false);
        for call in calls {
            match &*call {
                "cuCtxGetCurrent" => entered += 1,
                "cuCtxSetCurrent" => {}
                "cuThreadExchangeStreamCaptureMode" => relaxed = !relaxed,
                _ => {
                    let call = format!("`{call}`{}", if relaxed { "°" } else { "" });
                    match runs.last_mut() {
                        Some((last, count)) if *last == call => *count += 1,
                        _ => runs.push((call, 1)),
                    }
                }
            }
        }
        assert!(!relaxed, "{operation} leaves the thread relaxed");
        let runs = runs.iter().map(|(call, count)| match count {
            1 => call.clone(),
            _ => format!("{call} {count} times"),
        });
        let runs: Vec<_> = runs.collect();
        let calls = if runs.is_empty() { "none".to_owned() } else { runs.join(", ") };
        writeln!(self.0, "| {operation} | {calls} | {entered} |").unwrap();
        done
    }
}

/// Everything that a program does, each once for the first time and once more where that is less.
fn table() -> String {
    let mut table = Table::default();
    let t = &mut table;
    // So that nothing is in use longer than it takes to give it.
    complete(true);
    let device = t.row("opening a device", || Device::gpu(0).unwrap());
    let other = Device::gpu(1).unwrap();
    let stream = t.row("a stream", || device.stream().unwrap());
    let mut urgent = t.row("a stream with a priority", || device.stream_of_priority(1).unwrap());
    let module = t.row("loading kernels", || device.load(&KERNELS).unwrap());
    let a = t.row("`Buffer::from_slice`, the first", || ones(&device));
    let mut b = t.row("`Buffer::from_slice`", || ones(&device));
    let mut c = t.row("`Buffer::alloc`", || Buffer::<f32>::alloc(&device, 4).unwrap());
    t.row("`Buffer::write`", || c.write(&[1.0; 4]).unwrap());
    t.row("`Buffer::fill`", || c.fill(0).unwrap());
    t.row("`Buffer::to_vec`", || c.to_vec().unwrap());
    t.row("reading a part", || c.slice(1..3).unwrap().to_vec().unwrap());

    let mut launch = |t: &mut Table, what: &str| {
        let arguments = (read(&a), write(&mut b), 2.0);
        t.row(what, || stream.launch(&module, 1, scale, arguments).unwrap());
    };
    launch(t, "a kernel's first launch");
    launch(t, "a launch in steady state");
    complete(false);
    urgent.fill(&mut b, 0).unwrap();
    let arguments = (read(&a), write(&mut b), 2.0);
    t.row("a launch behind another stream's work", || {
        stream.launch(&module, 1, scale, arguments).unwrap();
    });
    complete(true);
    drop(stream.synchronize().unwrap());
    t.row("`Device::launch`, the first", || {
        drop(device.launch(&module, 1, scale(a.as_arg(), b.as_arg_mut(), 2.0)).unwrap());
    });
    t.row("`Device::launch`", || {
        drop(device.launch(&module, 1, scale(a.as_arg(), b.as_arg_mut(), 2.0)).unwrap());
    });
    let large = Shape { dynamic_shared: 64 << 10, ..SHAPE };
    for what in ["the first with much dynamic shared memory", "another such"] {
        t.row(&format!("`Device::launch`, {what}"), || {
            drop(
                device
                    .launch(&module, 1, scale_of(large, a.as_arg(), b.as_arg_mut(), 2.0))
                    .unwrap(),
            );
        });
    }
    t.row("`Device::occupancy`", || {
        device.occupancy(&module, &scale(a.as_arg(), b.as_arg_mut(), 2.0)).unwrap()
    });

    t.row("`Stream::copy`", || stream.copy(&a, &mut c).unwrap());
    let rows = Matrix::new(2, 1);
    t.row("`Stream::copy_matrix`", || {
        let (from, to) = ((&a, rows.with_pitch(2)), (&mut c, rows.with_pitch(3)));
        stream.copy_matrix(from, to).unwrap();
    });
    t.row("`Stream::fill`", || stream.fill(&mut c, 0).unwrap());
    let mut there = ones(&other);
    t.row("`Stream::copy` to another GPU", || stream.copy(&a, &mut there).unwrap());
    let mut host = t.row("`Pinned::zeroed`", || Pinned::<f32>::zeroed(&device, 4).unwrap());
    t.row("`Stream::upload`", || stream.upload(&host, &mut c).unwrap());
    t.row("`Stream::download`", || stream.download(&c, &mut host).unwrap());
    t.row("looking at what was downloaded", || host.as_slice().map(drop).unwrap());
    let mut managed = t.row("`Managed::zeroed`", || Managed::<f32>::zeroed(&device, 4).unwrap());
    stream.copy(&a, &mut managed).unwrap();
    t.row("looking at what a stream has written to managed memory", || {
        managed.as_slice().map(drop).unwrap();
    });
    t.row("`Stream::record`", || stream.record().unwrap());
    let fence = urgent.record().unwrap();
    complete(false);
    urgent.fill(&mut c, 0).unwrap();
    let later = urgent.record().unwrap();
    t.row("`Stream::wait_for` a fence of another stream", || stream.wait_for(&later).unwrap());
    t.row("the same again", || stream.wait_for(&later).unwrap());
    t.row("the same for an earlier fence", || stream.wait_for(&fence).unwrap());
    t.row("`Stream::is_idle`", || stream.is_idle().unwrap());
    t.row("`Stream::call_back`", || stream.call_back(|| ()).unwrap());
    t.row("`Stream::synchronize`", || drop(stream.synchronize().unwrap()));
    t.row("the same again", || drop(stream.synchronize().unwrap()));
    complete(true);

    let mut beside = device.stream().unwrap();
    let mut graph = t.row("capturing a launch", || {
        urgent
            .capture(|capture| capture.launch(&module, 1, scale, (read(&a), write(&mut b), 2.0)))
            .unwrap()
    });
    let mut forked = t.row("capturing a launch and a fill on a branch beside it", || {
        let captured = urgent.capture(|capture| {
            let mut branch = capture.branch(&mut beside)?;
            branch.fill(&mut c, 0)?;
            capture.launch(&module, 1, scale, (read(&a), write(&mut b), 2.0))
        });
        captured.unwrap()
    });
    t.row("`Graph::upload`", || graph.upload(&stream).unwrap());
    t.row("`Graph::launch`", || graph.launch(&stream).unwrap());
    t.row("the same again", || graph.launch(&stream).unwrap());
    forked.launch(&stream).unwrap();
    t.row("`Graph::update` in place", || {
        let new = |capture: &mut baton_host::Capture<'_, '_>| {
            capture.launch(&module, 1, scale, (read(&a), write(&mut b), 3.0))
        };
        assert_eq!(graph.update(&mut urgent, new).unwrap(), Updated::InPlace);
    });
    t.row("`Graph::update` by work of another shape", || {
        let new = |capture: &mut baton_host::Capture<'_, '_>| {
            capture.fill(&mut b, 0)?;
            capture.fill(&mut c, 0)
        };
        assert_eq!(graph.update(&mut urgent, new).unwrap(), Updated::Anew);
    });
    t.row("dropping a graph", || drop(graph));
    drop(forked);

    let map = t.row("a tensor map", || a.tiled(&[4], &[4]).encode().unwrap());
    let stored = t.row("`EncodedMap::store`", || map.store().unwrap());
    t.row("dropping a stored map", || drop(stored));

    t.row("`Stream::resize`", || stream.resize(&mut b, 8).unwrap());
    t.row("`Stream::alloc`, and dropping that", || drop(stream.alloc::<f32>(4).unwrap()));
    let freed = ones(&device);
    t.row("`Stream::free`", || stream.free(freed).unwrap());
    let [idle, mut one, mut two, three] = [(); 4].map(|()| ones(&device));
    assert_eq!(idle.to_vec().unwrap(), [1.0; 4]);
    t.row("dropping a buffer that nothing uses", || drop(idle));
    complete(false);
    stream.copy(&three, &mut one).unwrap();
    stream.copy(&three, &mut two).unwrap();
    urgent.copy(&three, &mut two).unwrap();
    t.row("dropping a buffer that one stream uses", || drop(one));
    t.row("dropping a buffer that two streams use, the first", || drop(two));
    t.row("dropping a buffer that two streams use", || drop(three));
    complete(true);
    drop(stream.synchronize().unwrap());
    drop(urgent.synchronize().unwrap());
    t.row("dropping page-locked memory", || drop(host));
    t.row("dropping managed memory", || drop(managed));
    t.row("dropping a stream", || drop(stream));
    t.row("dropping kernels", || drop(module));
    drop((a, b, c, urgent, beside, there, other, fence, later));
    t.row("dropping the last of a device", || drop(device));
    table.0
}

#[test]
fn the_table_of_calls_is_what_is_called() {
    with(
        Driver::StandIn,
        &[("STAND_IN_GPUS", "2")],
        "the_table_of_calls_is_what_is_called",
        || {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/host-calls.md");
            let page = std::fs::read_to_string(&path).unwrap();
            let head = "| operation | calls | context |\n|---|---|---|\n";
            let (before, found) = page.split_once(head).expect("the page has a table");
            let made = table();
            assert_eq!((violations().as_str(), allocations()), ("", 0));
            if std::env::var_os("BATON_BLESS").is_some() {
                std::fs::write(&path, [before, head, &made].concat()).unwrap();
                return;
            }
            let (mut found, mut made) = (found.lines(), made.lines());
            loop {
                let (found, made) = (found.next(), made.next());
                assert_eq!(
                    found, made,
                    "docs/host-calls.md says otherwise; BATON_BLESS=1 writes it"
                );
                if made.is_none() {
                    return;
                }
            }
        },
    );
}
