//! Small programs: control flow, barriers, copies, and what is said when they go wrong.

mod common;
use baton_emulator::{Error, Launch, Machine, Options, Program, Severity};
use common::{Shape, module, run};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// `%r0` = thread in the grid, `%d0` = its word in the first buffer.
const WORD: &str = "mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; \
                    mad.lo.s32 %r0, %r1, %r2, %r0; mul.wide.u32 %d0, %r0, 4; add.u64 %d0, %a0, %d0;";

#[test]
fn every_thread_writes_its_word() {
    let text =
        module("", 1, &format!("{WORD} mul.lo.u32 %r3, %r0, %r0; st.global.u32 [%d0], %r3;"));
    let shape = Shape { grid: 100, block: 96, ..Shape::default() };
    let found = run(&text, &shape, &[&[0; 100 * 96 * 4]]);
    let want: Vec<u32> = (0..100 * 96u32).map(|i| i.wrapping_mul(i)).collect();
    assert_eq!(found.words(0, 100 * 96), want);
    assert_eq!(found.result.unwrap().instructions, 100 * 96 * 10);
}

#[test]
fn lanes_that_part_meet_again() {
    // Collatz steps: each lane loops as often as it must, then all shuffle together.
    let body = format!(
        "{WORD} add.u32 %r3, %r0, 1; mov.u32 %r4, 0;\n\
         LOOP: setp.le.u32 %p1, %r3, 1; @%p1 bra DONE;\n\
         and.b32 %r5, %r3, 1; setp.eq.u32 %p2, %r5, 0; @%p2 bra EVEN;\n\
         mad.lo.u32 %r3, %r3, 3, 1; bra NEXT;\n\
         EVEN: shr.u32 %r3, %r3, 1;\n\
         NEXT: add.u32 %r4, %r4, 1; bra LOOP;\n\
         DONE: shfl.sync.bfly.b32 %r6, %r4, 1, 31, -1; st.global.u32 [%d0], %r6; \
         bar.sync 0; ret;"
    );
    let text = module("", 1, &body);
    let steps = |mut n: u32| {
        let mut count = 0;
        while n > 1 {
            n = if n.is_multiple_of(2) { n / 2 } else { 3 * n + 1 };
            count += 1;
        }
        count
    };
    for seed in 0..20 {
        let found = run(&text, &Shape { block: 64, seed, ..Shape::default() }, &[&[0; 256]]);
        let want: Vec<u32> = (0..64u32).map(|i| steps((i ^ 1) + 1)).collect();
        assert_eq!(found.words(0, 64), want);
    }
}

#[test]
fn calls_return_values_of_each_lane() {
    let func = ".func (.param .b32 out) fib(.param .b32 n) { .reg .b32 %x<5>; .reg .pred %q; \
                ld.param.b32 %x0, [n]; setp.lt.u32 %q, %x0, 2; @%q bra BASE; \
                { .param .b32 p; .param .b32 o; sub.u32 %x1, %x0, 1; st.param.b32 [p], %x1; \
                call.uni (o), fib, (p); ld.param.b32 %x2, [o]; } \
                { .param .b32 p; .param .b32 o; sub.u32 %x1, %x0, 2; st.param.b32 [p], %x1; \
                call.uni (o), fib, (p); ld.param.b32 %x3, [o]; } \
                add.u32 %x4, %x2, %x3; st.param.b32 [out], %x4; ret; \
                BASE: st.param.b32 [out], %x0; ret; }";
    let body = format!(
        "{WORD} and.b32 %r3, %r0, 7; {{ .param .b32 p; .param .b32 o; st.param.b32 [p], %r3; \
         call.uni (o), fib, (p); ld.param.b32 %r4, [o]; }} st.global.u32 [%d0], %r4;"
    );
    let text = module(func, 1, &body);
    for seed in 0..10 {
        let found = run(&text, &Shape { seed, ..Shape::default() }, &[&[0; 128]]);
        let fib = [0, 1, 1, 2, 3, 5, 8, 13];
        let want: Vec<u32> = (0..32).map(|i| fib[i % 8]).collect();
        assert_eq!(found.words(0, 32), want);
    }
}

#[test]
fn a_lane_may_wait_for_its_neighbour() {
    // Lane 0 spins until lane 1, on the other side of the branch, has written.
    let body = format!(
        "{WORD} setp.ne.u32 %p1, %r0, 0; @%p1 bra OTHER;\n\
         SPIN: ld.acquire.gpu.global.u32 %r3, [%a0+4]; setp.ne.u32 %p2, %r3, 7; @%p2 bra SPIN;\n\
         st.global.u32 [%a0], 9; bra DONE;\n\
         OTHER: setp.ne.u32 %p3, %r0, 1; @%p3 bra DONE; st.release.gpu.global.u32 [%a0+4], 7;\n\
         DONE: ret;"
    );
    let text = module("", 1, &body);
    for seed in 0..20 {
        let found = run(&text, &Shape { seed, ..Shape::default() }, &[&[0; 128]]);
        assert_eq!(found.words(0, 2), [9, 7]);
    }
    // Lane 0 spins in a loop that the others have left, and that one of them must end.
    let body = format!(
        "{WORD} setp.ne.u32 %p1, %r0, 0; \n\
         SPIN: @%p1 bra OUT; ld.acquire.gpu.global.u32 %r3, [%a0+4]; setp.eq.u32 %p1, %r3, 7; \
         bra SPIN;\n\
         OUT: @!%p1 bra END; st.release.gpu.global.u32 [%a0+4], 7; END: ret;"
    );
    let text = module("", 1, &body);
    for seed in 0..20 {
        let found = run(&text, &Shape { seed, ..Shape::default() }, &[&[0; 128]]);
        assert_eq!(found.words(0, 2), [0, 7]);
    }
}

#[test]
fn blocks_pass_a_message() {
    let body = "mov.u32 %r1, %ctaid.x; setp.ne.u32 %p1, %r1, 0; @%p1 bra READ;\n\
                st.global.u32 [%a0], 42; st.release.gpu.global.u32 [%a0+128], 1; ret;\n\
                READ: ld.acquire.gpu.global.u32 %r2, [%a0+128]; setp.eq.u32 %p2, %r2, 0; \
                @%p2 bra READ; ld.global.u32 %r3, [%a0]; st.global.u32 [%a0+4], %r3; ret;";
    let text = module("", 1, body);
    for seed in 0..50 {
        let shape = Shape { grid: 2, block: 1, seed, ..Shape::default() };
        assert_eq!(run(&text, &shape, &[&[0; 256]]).words(0, 2), [42, 42]);
    }
}

#[test]
fn a_spin_that_cannot_end_is_a_deadlock() {
    let body =
        "SPIN: ld.relaxed.gpu.global.u32 %r2, [%a0]; setp.eq.u32 %p2, %r2, 0; @%p2 bra SPIN;";
    let error = run(&module("", 1, body), &Shape::default(), &[&[0; 4]]).error();
    assert!(error.contains("deadlock") && error.contains("does not change"), "{error}");
    assert!(error.contains("ld.relaxed.gpu.global.u32"), "{error}");
}

#[test]
fn block_barrier_and_its_reductions() {
    let body = format!(
        "{WORD} mov.u32 %r10, buf; mul.lo.u32 %r3, %r0, 4; add.u32 %r3, %r3, %r10; \
         st.shared.u32 [%r3], %r0; bar.sync 0; xor.b32 %r4, %r0, 127; mul.lo.u32 %r4, %r4, 4; \
         add.u32 %r4, %r4, %r10; ld.shared.u32 %r5, [%r4]; setp.lt.u32 %p1, %r0, 40; \
         barrier.cta.red.popc.aligned.u32 %r6, 1, %p1; mad.lo.u32 %r5, %r6, 1000, %r5; \
         st.global.u32 [%d0], %r5;"
    );
    let text = module(".shared .align 16 .b8 buf[512];", 1, &body);
    for seed in 0..20 {
        let found = run(&text, &Shape { block: 128, seed, ..Shape::default() }, &[&[0; 512]]);
        let want: Vec<u32> = (0..128).map(|i| 40_000 + (i ^ 127)).collect();
        assert_eq!(found.words(0, 128), want);
    }
}

#[test]
fn aligned_barrier_in_one_arm_is_an_error() {
    let body = format!("{WORD} setp.lt.u32 %p1, %r0, 5; @%p1 bra A; bar.sync 0; A: ret;");
    let error = run(&module("", 1, &body), &Shape::default(), &[&[0; 128]]).error();
    assert!(error.contains("F4") && error.contains("bar.sync 0"), "{error}");
}

#[test]
fn lanes_that_part_in_a_loop_without_an_end_meet_in_it() {
    // The way to the return is one that nobody takes, and the trap is not waited for.
    let body = format!(
        "{WORD} mov.u32 %r3, 0; setp.eq.u32 %p1, %r0, 0; setp.gt.u32 %p2, %r0, 4000; @%p2 bra DONE;\n\
         LOOP: bar.sync 0; @%p1 bra LEADER; bra.uni JOIN;\n\
         LEADER: add.u32 %r3, %r3, 1; st.global.u32 [%d0], %r3; bra.uni JOIN;\n\
         JOIN: bar.sync 0; setp.gt.u32 %p2, %r3, 3; @%p2 bra TRAP; bra.uni LOOP;\n\
         TRAP: trap; DONE: ret;"
    );
    for seed in 0..20 {
        let found = run(
            &module("", 1, &body),
            &Shape { block: 64, seed, ..Shape::default() },
            &[&[0; 256]],
        );
        let error = found.error();
        assert!(error.contains("trap") && !error.contains("F4"), "{error}");
    }
}

#[test]
fn a_branch_to_the_next_instruction_parts_nobody() {
    let body = format!("{WORD} setp.lt.u32 %p1, %r0, 5; @%p1 bra A; A: bar.sync 0; ret;");
    assert!(run(&module("", 1, &body), &Shape::default(), &[&[0; 128]]).result.is_ok());
}

#[test]
fn an_endless_loop_is_a_deadlock() {
    let error = run(&module("", 0, "L: bra.uni L;"), &Shape::default(), &[]).error();
    assert!(error.contains("deadlock") && error.contains("never ends"), "{error}");
}

#[test]
fn a_block_must_not_exit_under_copies_into_it() {
    let body = "mov.u32 %r20, bar; mov.u32 %r21, buf; mbarrier.init.shared::cta.b64 [%r20], 1; \
                fence.mbarrier_init.release.cluster; \
                mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r20], 256; \
                cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r21], [%a0], 256, [%r20];";
    let errors: Vec<String> = (0..50)
        .map(|seed| {
            let shape = Shape { block: 1, seed, ..Shape::default() };
            run(&module(BARRIER, 1, &format!("{body} ret;")), &shape, &[&[0; 256]])
        })
        .filter(|run| run.result.is_err())
        .map(|run| run.error())
        .collect();
    assert!(errors.iter().all(|e| e.contains("rule B9")) && !errors.is_empty(), "{errors:?}");
    let text = module(BARRIER, 1, &format!("{body} {WAIT} ret;"));
    for seed in 0..50 {
        let shape = Shape { block: 1, seed, ..Shape::default() };
        assert!(run(&text, &shape, &[&[0; 256]]).result.is_ok());
    }
}

#[test]
fn a_copy_out_of_a_block_that_exits_still_reads_what_it_was_to_read() {
    let body = "mov.u32 %r21, buf; st.shared.u32 [%r21], 7; fence.proxy.async; \
                cp.async.bulk.global.shared::cta.bulk_group [%a0], [%r21], 16; \
                cp.async.bulk.commit_group;";
    let said = |body: &str, seed| {
        let shape = Shape { block: 1, seed, ..Shape::default() };
        let found = run(&module(BARRIER, 1, body), &shape, &[&[0; 256]]);
        assert_eq!(found.words(0, 1), [7]);
        let hazards = found.result.expect("it runs").hazards;
        hazards.iter().map(|h| (h.rule.to_owned(), h.severity)).collect::<Vec<_>>()
    };
    for seed in 0..50 {
        let dispute = ("B9".to_owned(), Severity::Warning);
        assert_eq!(said(&format!("{body} ret;"), seed), [dispute]);
        assert_eq!(said(&format!("{body} cp.async.bulk.wait_group.read 0; ret;"), seed), []);
    }
}

#[test]
fn small_copies_and_their_groups() {
    let body = format!(
        "{WORD} mov.u32 %r20, buf; shl.b32 %r3, %r0, 3; add.u32 %r3, %r3, %r20; \
         mul.wide.u32 %d1, %r0, 8; add.u64 %d1, %d1, %a0; \
         cp.async.ca.shared.global [%r3], [%d1], 4; cp.async.commit_group; \
         cp.async.ca.shared.global [%r3+4], [%d1+4], 4, 0; cp.async.commit_group; \
         cp.async.wait_group 1; ld.shared.u32 %r4, [%r3]; cp.async.wait_all; \
         ld.shared.u32 %r5, [%r3+4]; add.u32 %r4, %r4, %r5; mul.wide.u32 %d2, %r0, 4; \
         add.u64 %d2, %d2, %a1; st.global.u32 [%d2], %r4;"
    );
    let input: Vec<u8> = (0..64u32).flat_map(|i| (i + 7).to_le_bytes()).collect();
    for seed in 0..30 {
        let shape = Shape { seed, ..Shape::default() };
        let found = run(&module(BARRIER, 2, &body), &shape, &[&input, &[0; 128]]);
        assert_eq!(found.words(1, 32), (0..32).map(|i| 2 * i + 7).collect::<Vec<u32>>());
    }
}

#[test]
fn bounds_and_alignment() {
    let body = format!("{WORD} st.global.u32 [%d0], 1;");
    let error = run(&module("", 1, &body), &Shape::default(), &[&[0; 64]]).error();
    assert!(error.contains("out of bounds") && error.contains("64 bytes"), "{error}");
    assert!(error.contains("PTX line 9 `st.global.u32 [%d0], 1;`"), "{error}");
    assert!(error.contains("warp 0 lane 16;"), "{error}");
    let error = run(&module("", 1, "ld.global.u32 %r1, [%a0+2];"), &Shape::default(), &[&[0; 64]]);
    assert!(error.error().contains("not a multiple of 4"));
    let error =
        run(&module("", 0, "mov.u32 %r2, 1024; ld.shared.u32 %r1, [%r2];"), &Shape::default(), &[])
            .error();
    assert!(error.contains("shared") && error.contains("0 bytes"), "{error}");
    let error = run(&module("", 0, "frobnicate.b32 %r1, 3;"), &Shape::default(), &[]).error();
    assert!(error.contains("unknown instruction: frobnicate.b32 %r1, 3;"), "{error}");
    let error = run(&module("", 0, "trap;"), &Shape::default(), &[]).error();
    assert!(error.contains("trap"), "{error}");
}

#[test]
fn a_fault_in_a_function_names_its_callers() {
    let functions = ".file 1 \"kernel.rs\"
        .func inner() { .loc 1 5 1 trap; ret; }
        .func outer() { .loc 1 7 2 call inner; ret; }";
    let body = ".loc 1 9 3 call outer;";
    let error = run(&module(functions, 0, body), &Shape::default(), &[]).error();
    let chain = "kernel.rs:5:1, called from kernel.rs:7:2, called from kernel.rs:9:3";
    assert!(error.contains(chain), "{error}");
}

const BARRIER: &str = ".shared .align 8 .b8 bar[8]; .shared .align 128 .b8 buf[256];";
const WAIT: &str = "{ .reg .pred q; W: mbarrier.try_wait.parity.shared::cta.b64 q, [%r20], 0; \
                    @q bra D; bra W; D: }";

#[test]
fn bulk_copies_in_and_out() {
    let body = format!(
        "{WORD} mov.u32 %r20, bar; mov.u32 %r21, buf; setp.ne.u32 %p1, %r0, 0; @%p1 bra JOIN;\n\
         mbarrier.init.shared::cta.b64 [%r20], 1; fence.mbarrier_init.release.cluster;\n\
         mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r20], 256;\n\
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r21], [%a0], 256, \
         [%r20];\n\
         JOIN: bar.sync 0; {WAIT}\n\
         mul.lo.u32 %r3, %r0, 4; add.u32 %r3, %r3, %r21; ld.shared.u32 %r4, [%r3]; \
         add.u32 %r4, %r4, 1; st.shared.u32 [%r3], %r4; fence.proxy.async; bar.sync 0;\n\
         @%p1 bra END; cp.async.bulk.global.shared::cta.bulk_group [%a1], [%r21], 256; \
         cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0; END: ret;"
    );
    let text = module(BARRIER, 2, &body);
    let input: Vec<u8> = (0..64u32).flat_map(|i| (i * 3).to_le_bytes()).collect();
    for seed in 0..50 {
        let found =
            run(&text, &Shape { block: 64, seed, ..Shape::default() }, &[&input, &[0; 256]]);
        let want: Vec<u32> = (0..64).map(|i| i * 3 + 1).collect();
        assert_eq!(found.words(1, 64), want, "seed {seed}");
    }
    // Without the wait, some seed sees bytes in flight.
    let racy = text.replace(WAIT, "");
    let seen = (0..50).any(|seed| {
        let shape = Shape { block: 64, seed, ..Shape::default() };
        let found = run(&racy, &shape, &[&input, &[0; 256]]);
        found.result.is_err() || found.words(1, 64)[0] != 1
    });
    assert!(seen);
}

#[test]
fn a_missing_arrival_is_reported_as_deadlock() {
    let body = format!(
        "{WORD} mov.u32 %r20, bar; setp.ne.u32 %p1, %r0, 0; @%p1 bra JOIN;\n\
         mbarrier.init.shared::cta.b64 [%r20], 2;\n\
         mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r20], 96;\n\
         JOIN: bar.sync 0; {WAIT}"
    );
    let error = run(&module(BARRIER, 1, &body), &Shape::default(), &[&[0; 128]]).error();
    for part in [
        "deadlock",
        "block (0, 0, 0) warp 0 all lanes",
        "parity 0; it is in phase 0 with 1 of 2 arrivals missing and 96 bytes missing",
        "mbarrier 0x400",
        "PTX line 12 `mbarrier.try_wait.parity",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
}

#[test]
fn misuse_of_mbarriers() {
    let fails = |body: &str, part: &str| {
        let body = format!("mov.u32 %r20, bar; {body}");
        let error = run(&module(BARRIER, 0, &body), &Shape { block: 1, ..Shape::default() }, &[]);
        assert!(error.error().contains(part), "{}", error.error());
    };
    let init = "mbarrier.init.shared::cta.b64 [%r20], 1;";
    fails("mbarrier.arrive.shared::cta.b64 %d1, [%r20];", "not initialised");
    fails(&format!("{init} {init}"), "C2");
    fails(&format!("{init} st.shared.u32 [%r20+4], 0;"), "ordinary store");
    fails(
        &format!("{init} mbarrier.arrive.shared::cta.b64 _, [%r20], 2;"),
        "arrival of 2 where 1 of 1 are missing",
    );
}

#[test]
fn clusters_exchange_over_shared_memory() {
    let body = format!(
        "{WORD} mov.u32 %r20, buf; mov.u32 %r5, %cluster_ctarank; xor.b32 %r6, %r5, 1; \
         mapa.shared::cluster.u32 %r7, %r20, %r6; add.u32 %r8, %r5, 100; \
         barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; \
         st.shared::cluster.u32 [%r7], %r8; \
         barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned; \
         ld.shared.u32 %r9, [%r20]; st.global.u32 [%d0], %r9;"
    );
    let text = module(BARRIER, 1, &body);
    for seed in 0..20 {
        let shape = Shape { grid: 4, cluster: 2, seed, ..Shape::default() };
        let found = run(&text, &shape, &[&[0; 512]]);
        let want: Vec<u32> = (0..128).map(|i| if i / 32 % 2 == 0 { 101 } else { 100 }).collect();
        assert_eq!(found.words(0, 128), want);
    }
}

#[test]
fn printing_and_assertions() {
    let globals = ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n\
                   .extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param \
                   .b64 n, .param .b64 s);\n\
                   .global .align 1 .b8 fmt[20] = {37, 100, 32, 37, 53, 46, 50, 102, 32, 37, 115, \
                   10, 0};\n.global .align 1 .b8 word[4] = {104, 105, 0};";
    let body = "{ .local .align 8 .b8 args[24]; .reg .b64 l; mov.u32 %r0, %tid.x; \
                sub.u32 %r1, 0, %r0; st.local.u32 [args], %r1; \
                st.local.f64 [args+8], 0d3FF8000000000000; mov.u64 %d1, word; \
                st.local.u64 [args+16], %d1; cvta.local.u64 %d2, 0; mov.u64 l, args; \
                cvta.local.u64 l, l; mov.u64 %d3, fmt; cvta.global.u64 %d3, %d3; \
                { .param .b64 p0; .param .b64 p1; .param .b32 r; st.param.b64 [p0], %d3; \
                st.param.b64 [p1], l; call.uni (r), vprintf, (p0, p1); ld.param.b32 %r2, [r]; } }";
    let shape = Shape { block: 2, ..Shape::default() };
    let found = run(&module(globals, 0, body), &shape, &[]);
    assert_eq!(found.result.unwrap().output, "0  1.50 hi\n-1  1.50 hi\n");
    let body = "mov.u64 %d1, word; { .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; \
                .param .b64 e; st.param.b64 [a], %d1; st.param.b64 [b], %d1; st.param.b32 [c], 7; \
                st.param.b64 [d], %d1; st.param.b64 [e], 1; call.uni __assertfail, (a, b, c, d, e); }";
    let error = run(&module(globals, 0, body), &shape, &[]).error();
    assert!(error.contains("device assertion `hi` failed in hi, hi:7"), "{error}");
}

#[test]
fn launches_that_do_not_fit_are_refused() {
    let text = module("", 1, "ret;").replace("k(.param .u64 a0)", "k(.param .u64 a0)\n.reqntid 64");
    let error = run(&text, &Shape::default(), &[&[0; 4]]).error();
    assert!(error.contains("requires [64, 1, 1]"), "{error}");
    let error = run(&text, &Shape { block: 64, ..Shape::default() }, &[]).error();
    assert!(error.contains("takes 1"), "{error}");
    let error =
        run(&module("", 0, ""), &Shape { shared: 300_000, ..Shape::default() }, &[]).error();
    assert!(error.contains("shared memory"), "{error}");
    let error = run(&module("", 0, ""), &Shape { cluster: 2, grid: 3, ..Shape::default() }, &[]);
    assert!(error.error().contains("multiple of the cluster"));
}

#[test]
fn variables_that_no_device_has_room_for_are_refused_with_their_line() {
    for variable in [
        ".local .b8 x[4294967295];",
        ".local .b8 x[1000000000];",
        ".shared .b8 x[4294967295];",
        ".shared .b8 x[4294967296000];",
    ] {
        let text = format!(
            ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{{\n{variable}\nret;\n}}\n"
        );
        let error = baton_emulator::Program::load(&text, "k.ptx", None).expect_err(variable);
        let column = 1 + variable.find('x').expect("its name");
        let place = format!("k.ptx:6:{column}: found `x` of ");
        assert!(error.to_string().starts_with(&place), "{variable}: {error}");
    }
}

#[test]
fn local_memory_has_a_limit() {
    let functions = ".func f() {\n.local .b8 z[100000];\ncall.uni f;\nret;\n}\n";
    let text = module(functions, 0, "call.uni f; ret;");
    let error = run(&text, &Shape::default(), &[]).error();
    assert!(error.contains("6 nested calls need 600"), "{error}");
    assert!(error.contains("a thread has at most 524288: endless recursion?"), "{error}");
    // What a thread may have, all threads that run at once may not.
    let text = module("", 0, ".local .b8 z[500000];\nret;");
    let wide = Shape { grid: 64, block: 1024, ..Shape::default() };
    let error = run(&text, &wide, &[]).error();
    assert!(error.contains("500000 bytes of local memory in each thread"), "{error}");
    run(&text, &Shape::default(), &[]).result.unwrap();
}

#[test]
fn instructions_are_counted_while_a_launch_runs() {
    const LIMIT: u64 = 100_000_000;
    let counter = Arc::<AtomicU64>::default();
    let seen = Arc::clone(&counter);
    let runs = std::thread::spawn(move || {
        let counter = Some(counter);
        let options =
            Options { step_limit: Some(LIMIT), unchecked: true, counter, ..Options::default() };
        let mut machine = Machine::new(options);
        let launch =
            Launch { kernel: "k".into(), grid: [1; 3], block: [32, 1, 1], ..Launch::default() };
        let mut launch = |body: &str| {
            let program = Program::load(&module("", 0, body), "test.ptx", None).expect("it loads");
            let result = machine.launch(&program, &launch);
            (result, machine.after().instructions)
        };
        let (endless, many) = launch("LOOP: add.u32 %r1, %r1, 1; bra LOOP;");
        assert!(matches!(endless, Err(Error::StepLimit { .. })), "{endless:?}");
        let (ended, few) = launch("ret;");
        ended.expect("it ends");
        many + few
    });
    let mut before = 0;
    while before == 0 && !runs.is_finished() {
        before = seen.load(Relaxed);
    }
    assert!((1..LIMIT).contains(&before), "{before} before the end");
    assert_eq!(runs.join().expect("it runs"), seen.load(Relaxed));
}
