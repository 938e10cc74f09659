//! Kernels as PTX text: what is extracted from them, and what is an error and where.
//!
//! The PTX here is written by hand and small. That rules hold in what rustc emits is tested where the
//! builder is at hand: `tests/tests/memory_order`.

use baton_model::kernel::{Argument, KernelThread, Location, Setup, extract, finally};
use baton_model::litmus::Condition;
use baton_model::program::{Space, Type};
use baton_model::scope::{Cluster, Placement};
use baton_model::{Options, judge};
use baton_ptx::Module;

/// A kernel with this body, which begins on line 6.
fn module(params: &str, body: &str) -> Module {
    let text = format!(
        ".version 8.6\n.target sm_100a\n.address_size 64\n.extern .shared .align 16 .b8 memory[];\n\
         .visible .entry kernel({params}) {{\n{body}\nret;\n}}\n"
    );
    Module::parse(&text, "kernel.ptx").unwrap_or_else(|error| panic!("{error}"))
}

const REGISTERS: &str = ".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<9>;";

fn location(name: &str, space: Space, elements: u32) -> Location {
    let ty = Type { bytes: 4, signed: false };
    Location { name: name.into(), space, ty, elements, init: vec![] }
}

fn thread(cta: u32, tid: u64, arguments: Vec<Argument>) -> KernelThread {
    KernelThread {
        name: format!("T{cta}.{tid}"),
        place: Placement { gpu: 0, cluster: Cluster::Declared(0), cta },
        entry: "kernel".into(),
        arguments,
        special: vec![("%tid.x".into(), tid), ("%cluster_ctarank".into(), u64::from(cta))],
    }
}

fn at(name: &str) -> Argument {
    Argument::Location(name.into())
}

fn setup(threads: Vec<KernelThread>) -> Setup {
    let locations = vec![
        location("out", Space::Global, 1),
        location("memory", Space::Shared(Some(0)), 4),
        location("memory", Space::Shared(Some(1)), 4),
    ];
    Setup { locations, threads, ..Setup::default() }
}

/// Whether `out` can be `value` at the end.
fn ends_with(module: &Module, setup: &Setup, value: u64) -> bool {
    let program = extract(module, setup).unwrap_or_else(|error| panic!("{error}"));
    let condition: Condition = finally(&program, "out", value).expect("a location called out");
    let verdict = judge(&program, &condition, &Options::default());
    verdict.unwrap_or_else(|error| panic!("{error}")).allowed
}

fn error(module: &Module, setup: &Setup) -> String {
    match extract(module, setup) {
        Ok(_) => panic!("an error was expected"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn structures_branches_and_arithmetic_are_followed() {
    let body = format!(
        "{REGISTERS}\nld.param.b64 %rd1, [p];\nld.param.b32 %r1, [p+8];\nsetp.gt.u32 %p1, %r1, 4;\n\
         @%p1 bra $big;\nmov.b32 %r1, 0;\n$big:\nbfe.u32 %r2, %r1, 1, 3;\n\
         st.weak.global.b32 [%rd1], %r2;"
    );
    let module = module(".param .align 8 .b8 p[16]", &body);
    let run = |number| {
        let argument = Argument::Structure(vec![at("out"), Argument::Number(number)]);
        setup(vec![thread(0, 0, vec![argument])])
    };
    assert!(ends_with(&module, &run(0b10110), 0b011));
    assert!(!ends_with(&module, &run(0b10110), 0b1011));
    assert!(ends_with(&module, &run(4), 0));
}

#[test]
fn a_peer_s_memory_is_another_memory() {
    // Each CTA writes its rank to its own word and reads the other's, behind the cluster's barrier.
    let body = format!(
        "{REGISTERS}\nld.param.b64 %rd1, [p];\nmov.u32 %r1, memory;\nmov.u32 %r2, %cluster_ctarank;\n\
         add.u32 %r3, %r2, 7;\nst.weak.shared::cta.b32 [%r1+4], %r3;\n\
         barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;\nxor.b32 %r4, %r2, 1;\n\
         mapa.shared::cluster.u32 %r5, %r1, %r4;\nld.weak.shared::cluster.b32 %r6, [%r5+4];\n\
         setp.eq.u32 %p1, %r2, 0;\n@%p1 st.weak.global.b32 [%rd1], %r6;"
    );
    let module = module(".param .u64 p", &body);
    let both = setup(vec![thread(0, 0, vec![at("out")]), thread(1, 0, vec![at("out")])]);
    assert!(ends_with(&module, &both, 8));
    assert!(!ends_with(&module, &both, 7) && !ends_with(&module, &both, 0));
}

#[test]
fn a_trap_completes_nothing() {
    let body = format!(
        "{REGISTERS}\nld.param.b64 %rd1, [p];\nld.relaxed.gpu.global.b32 %r1, [%rd1];\n\
         st.relaxed.gpu.global.b32 [%rd1], 1;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra $on;\ntrap;\n$on:"
    );
    let module = module(".param .u64 p", &body);
    assert!(ends_with(&module, &setup(vec![thread(0, 0, vec![at("out")])]), 1));
    // Of two threads, one has to see what the other wrote, unless both come first.
    let two = setup(vec![thread(0, 0, vec![at("out")]), thread(0, 32, vec![at("out")])]);
    assert!(ends_with(&module, &two, 1));
    assert!(!ends_with(&module, &two, 0));
}

#[test]
fn an_access_outside_is_an_error_if_the_thread_can_do_nothing_else() {
    let body = format!("{REGISTERS}\nld.param.b64 %rd1, [p];\nst.weak.global.b32 [%rd1+4], 1;");
    let program =
        extract(&module(".param .u64 p", &body), &setup(vec![thread(0, 0, vec![at("out")])]));
    let program = program.unwrap_or_else(|error| panic!("{error}"));
    let error = judge(&program, &Condition::True, &Options::default()).expect_err("an error");
    assert!(error.to_string().contains("thread `T0.0`, line 8"), "{error}");
}

#[test]
fn what_is_not_understood_is_an_error_with_its_line() {
    let one = || setup(vec![thread(0, 0, vec![at("out")])]);
    for (instruction, expected) in [
        ("st.frobnicate.global.b32 [%rd1], 1;", "no `.frobnicate`"),
        ("st.release.global.b32 [%rd1], 1;", "semantics and a scope together"),
        ("add.f32 %r1, %r2, %r3;", "integer arithmetic only"),
        ("wgmma.fence.sync.aligned;", "an instruction of the format"),
        ("mov.u32 %r1, nowhere;", "`nowhere` is no declared location"),
        ("ld.param.b32 %r1, [p+16];", "no argument for byte 16"),
        (
            "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd1, {1, 2, 3}], [%r1];",
            "one or two coordinates",
        ),
        (
            "tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r2, %p1;",
            "one location in the CTA's shared",
        ),
        ("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 32;", "in tensor memory"),
    ] {
        let module = module(".param .u64 p", &format!("{REGISTERS}\n{instruction}"));
        let mut setup = one();
        if instruction.starts_with("tcgen05.mma") {
            // Which of two shared memories would a descriptor mean?
            setup.locations.push(location("more", Space::Shared(Some(0)), 1));
        }
        let text = error(&module, &setup);
        assert!(text.starts_with("kernel.ptx:7: `"), "{text}");
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn what_was_set_up_wrongly_is_an_error() {
    let module = module(".param .u64 p", REGISTERS);
    let text = |change: &dyn Fn(&mut Setup)| {
        let mut setup = setup(vec![thread(0, 0, vec![at("out")])]);
        change(&mut setup);
        error(&module, &setup)
    };
    let no_entry = text(&|s| s.threads[0].entry = "sent".into());
    assert_eq!(no_entry, "kernel.ptx has no entry `sent`; it has kernel");
    let too_many = text(&|s| s.threads[0].arguments.push(Argument::Number(1)));
    assert_eq!(too_many, "entry `kernel` takes 1 arguments, not 2");
    let unknown = text(&|s| s.threads[0].arguments[0] = at("nothing"));
    assert_eq!(unknown, "`nothing` is no declared location");
    let nested = Argument::Structure(vec![Argument::Structure(vec![])]);
    let nested = text(&|s| s.threads[0].arguments[0] = nested.clone());
    assert!(nested.contains("fields of a structure are numbers and locations"), "{nested}");
    let large = text(&|s| s.locations[0].elements = u32::MAX);
    assert!(large.starts_with("`out` has more than "), "{large}");
    let alias = text(&|s| s.aliases.push(("other".into(), "nothing".into())));
    assert_eq!(alias, "`nothing` is no declared location");
}

#[test]
fn threads_of_one_warp_meet_at_their_barrier() {
    let body = |mask: &str| {
        format!(
            "{REGISTERS}
             mov.u32 %r3, memory;
             mov.u32 %r1, %tid.x;
             setp.eq.u32 %p1, %r1, 0;
             @%p1 st.weak.shared.u32 [%r3], 7;
             bar.warp.sync {mask};
             @%p1 bra END;
             ld.weak.shared.u32 %r2, [%r3];
             add.u32 %r2, %r2, 1;
             ld.param.u64 %rd1, [p];
             st.weak.global.u32 [%rd1], %r2;
             END:"
        )
    };
    let kernel = module(".param .u64 p", &body("-1"));
    let threads = |second: u64| {
        let arguments = || vec![at("out")];
        setup(vec![thread(0, 0, arguments()), thread(0, second, arguments())])
    };
    assert!(!ends_with(&kernel, &threads(31), 1), "one warp: the store is seen");
    assert!(ends_with(&kernel, &threads(31), 8), "one warp");
    assert!(ends_with(&kernel, &threads(32), 1), "two warps: it may not be");
    let half = module(".param .u64 p", &body("3"));
    assert!(error(&half, &threads(31)).contains("the mask of a whole warp, -1"));
}

#[test]
fn of_a_warp_one_thread_is_elected() {
    let text = format!(
        "{REGISTERS}
         elect.sync _|%p1, -1;
         ld.param.u64 %rd1, [p];
         @%p1 red.relaxed.gpu.global.add.u32 [%rd1], 1;"
    );
    let kernel = module(".param .u64 p", &text);
    let threads =
        |tids: &[u64]| setup(tids.iter().map(|tid| thread(0, *tid, vec![at("out")])).collect());
    for (tids, count) in [(&[0, 1, 31][..], 1), (&[0, 32], 2), (&[33, 40, 64], 2)] {
        assert!(ends_with(&kernel, &threads(tids), count), "{tids:?}");
        assert!(!ends_with(&kernel, &threads(tids), count + 1), "{tids:?}");
    }
}

#[test]
fn the_threads_of_a_block_vote() {
    let text = format!(
        "{REGISTERS}
         mov.u32 %r1, %tid.x;
         setp.eq.u32 %p1, %r1, 32;
         bar.red.or.pred %p2, 0, %p1;
         ld.param.u64 %rd1, [p];
         @%p2 red.relaxed.gpu.global.add.u32 [%rd1], 1;"
    );
    let kernel = module(".param .u64 p", &text);
    let threads =
        |tids: &[u64]| setup(tids.iter().map(|tid| thread(0, *tid, vec![at("out")])).collect());
    // One of them says yes, and all are told; none says yes.
    assert!(ends_with(&kernel, &threads(&[0, 32, 64]), 3));
    assert!(!ends_with(&kernel, &threads(&[0, 32, 64]), 1));
    assert!(ends_with(&kernel, &threads(&[0, 64]), 0));
    assert!(!ends_with(&kernel, &threads(&[0, 64]), 1));
}
