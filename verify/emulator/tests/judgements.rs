//! How severe a report is, whom it names, and what two judges say of one program.
//!
//! Each program is here with the change that makes it right: of that nothing is said.

use baton_emulator::{Hazard, Launch, Machine, Options, Program, Severity};

const SEEDS: u64 = 40;

/// The lines of a kernel `k` with shared memory and the address of a buffer.
fn module(shared: &str, body: &str) -> String {
    format!(
        ".version 8.8\n.target sm_90\n.address_size 64\n{shared}\n\
         .visible .entry k(.param .u64 a0)\n{{\n.reg .pred %p<8>;\n.reg .b32 %r<16>;\n.reg .b16 %h<4>;\n.reg .b64 %a<8>;\n\
         ld.param.u64 %a0, [a0];\nmov.u32 %r0, %tid.x;\n{body}\nret;\n}}\n"
    )
}

/// What is said under any of some schedules, not strictly.
fn hazards(text: &str, grid: u32, block: u32) -> Vec<Hazard> {
    let program = Program::load(text, "judged", None).unwrap_or_else(|e| panic!("{e}"));
    let mut all = Vec::new();
    for seed in 0..SEEDS {
        let mut machine = Machine::new(Options { seed, ..Options::default() });
        let address = machine.alloc(4096, 256).expect("memory");
        machine.write(address, &[0; 4096]).expect("memory");
        let launch = Launch {
            kernel: "k".into(),
            grid: [grid, 1, 1],
            block: [block, 1, 1],
            params: vec![address.to_le_bytes().to_vec()],
            ..Launch::default()
        };
        let report = machine.launch(&program, &launch).unwrap_or_else(|e| panic!("{e}"));
        all.extend(report.hazards);
    }
    all
}

fn of_rule<'h>(hazards: &'h [Hazard], rule: &str) -> Vec<&'h Hazard> {
    hazards.iter().filter(|hazard| hazard.rule == rule).collect()
}

#[test]
fn equal_values_by_two_warps_are_a_warning_and_others_an_error() {
    let body = |value: &str, barrier: &str| {
        module(
            ".shared .align 4 .b8 word[4];",
            &format!(
                "mov.u32 %r2, word;\nshr.u32 %r3, %r0, 5;\nsetp.eq.u32 %p0, %r3, 1;\n\
                 @%p0 st.shared.u32 [%r2], 1;\n{barrier}\n@!%p0 st.shared.u32 [%r2], {value};"
            ),
        )
    };
    let same = hazards(&body("1", ""), 1, 64);
    assert!(!same.is_empty());
    // Whichever warp comes first finds something else there; the second one finds its own value.
    assert!(same.iter().all(|h| h.rule == "A13" && h.severity == Severity::Warning), "{same:?}");
    let different = hazards(&body("2", ""), 1, 64);
    assert!(of_rule(&different, "A13").iter().any(|h| h.severity == Severity::Error));
    assert!(hazards(&body("2", "bar.sync 0;"), 1, 64).is_empty());
}

#[test]
fn equal_values_by_two_ctas_are_a_warning() {
    let body = |store: &str| module("", &format!("{store} [%a0], 1;"));
    let same = hazards(&body("st.global.u32"), 4, 32);
    assert!(!same.is_empty());
    assert!(same.iter().all(|h| h.rule == "A9" && h.severity == Severity::Warning), "{same:?}");
    assert!(hazards(&body("st.relaxed.gpu.global.u32"), 4, 32).is_empty());
}

/// An error between a pair of instructions is kept where the first conflict was a disputed point.
#[test]
fn a_warning_hides_no_error_of_the_same_pair() {
    // Both warps run one store: it is of equal values for the first word, and of different ones for the second.
    let body = |value: &str| {
        module(
            ".shared .align 8 .b8 words[8];",
            &format!(
                "mov.u32 %r2, words;\nshr.u32 %r3, %r0, 5;\nand.b32 %r4, %r0, 1;\nshl.b32 %r5, %r4, 2;\nadd.u32 %r2, %r2, %r5;\n\
                 setp.lt.u32 %p0, %r0, 2;\nsetp.eq.u32 %p1, %r0, 32;\nor.pred %p0, %p0, %p1;\nsetp.eq.u32 %p1, %r0, 33;\n\
                 or.pred %p0, %p0, %p1;\nmul.lo.u32 %r6, %r4, {value};\n@%p0 st.shared.u32 [%r2], %r6;"
            ),
        )
    };
    let mixed = hazards(&body("%r3"), 1, 64);
    assert!(of_rule(&mixed, "A13").iter().any(|h| h.severity == Severity::Error), "{mixed:?}");
    let equal = hazards(&body("0"), 1, 64);
    assert!(equal.iter().all(|h| h.severity == Severity::Warning), "{equal:?}");
}

/// A copy completes on an mbarrier; the report names the warp of the thread that issued it.
#[test]
fn the_issuer_of_a_copy_is_named() {
    let body = |wait: &str| {
        module(
            ".shared .align 128 .b8 tile[128];\n.shared .align 8 .b8 bar[8];",
            &format!(
                "mov.u32 %r2, tile;\nmov.u32 %r3, bar;\nsetp.eq.u32 %p0, %r0, 0;\n@!%p0 bra READY;\n\
                 mbarrier.init.shared::cta.b64 [%r3], 1;\nfence.mbarrier_init.release.cluster;\nREADY:\nbar.sync 0;\n\
                 setp.eq.u32 %p1, %r0, 70;\n@!%p1 bra ISSUED;\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 128;\n\
                 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%a0], 128, [%r3];\nISSUED:\n\
                 {wait}\n@%p0 ld.shared.u32 %r4, [%r2];\n\
                 LAST: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], 0;\n@!%p2 bra LAST;"
            ),
        )
    };
    let early = hazards(&body(""), 1, 96);
    let copies = of_rule(&early, "B6");
    assert!(!copies.is_empty(), "{early:?}");
    for hazard in copies {
        assert!(hazard.message.contains("block (0, 0, 0) warp 2"), "{hazard}");
    }
    let wait = "FULL: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], 0;\n@!%p2 bra FULL;";
    assert!(hazards(&body(wait), 1, 96).is_empty());
}

/// Loads a kernel of these lines and runs it once; the first four words of its buffer, or why it was refused.
fn run(body: &str) -> Result<Vec<u32>, String> {
    let text = module("", body);
    let program = Program::load(&text, "shapes", None).map_err(|e| e.to_string())?;
    let mut machine = Machine::new(Options::default());
    let address = machine.alloc(64, 64).expect("memory");
    let words: Vec<u8> = (1..=16u32).flat_map(u32::to_le_bytes).collect();
    machine.write(address, &words).expect("memory");
    let launch = Launch {
        kernel: "k".into(),
        grid: [1; 3],
        block: [1; 3],
        params: vec![address.to_le_bytes().to_vec()],
        ..Launch::default()
    };
    machine.launch(&program, &launch).map_err(|e| e.to_string())?;
    let mut bytes = [0; 16];
    machine.read(address, &mut bytes).expect("memory");
    Ok(bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())
}

/// A vector register named whole stands for its elements.
#[test]
fn whole_vector_registers_are_taken_apart() {
    let four = ".reg .v4 .u32 v;\nld.global.v4.u32 v, [%a0+16];\nst.global.v4.u32 [%a0], v;";
    assert_eq!(run(four), Ok(vec![5, 6, 7, 8]));
    let halves = ".reg .v2 .b16 h;\nld.global.u32 %r1, [%a0+4];\nadd.u32 %r1, %r1, 0x70000;\nmov.b32 h, %r1;\n\
                  cvt.u32.u16 %r2, h.y;\nst.global.u32 [%a0], %r2;\nmov.b32 %r3, h;\nst.global.u32 [%a0+4], %r3;";
    assert_eq!(run(halves), Ok(vec![7, 0x70002, 3, 4]));
}

/// An instruction whose registers do not have the width of its type is refused, as ptxas refuses it.
#[test]
fn registers_have_the_width_of_the_type() {
    let declared = ".reg .b64 %w<4>;\n.reg .f32 %f<4>;\n.reg .f64 %g<4>;\n";
    let refused = [
        ("add.u32 %r1, %w1, %r2;", "`%w1` has 64 bits where 32 bits belong"),
        ("add.u64 %w1, %w2, %r2;", "`%r2` has 32 bits where 64 bits belong"),
        ("mul.wide.u32 %r1, %r2, %r3;", "`%r1` has 32 bits where 64 bits belong"),
        ("shl.b64 %w1, %w2, %w3;", "`%w3` has 64 bits where 32 bits belong"),
        ("setp.eq.u32 %r1, %r2, %r3;", "`%r1` has 32 bits where a predicate belong"),
        ("selp.b32 %r1, %r2, %r3, %r4;", "`%r4` has 32 bits where a predicate belong"),
        ("mov.b32 %r1, %w1;", "`%w1` has 64 bits where 32 bits belong"),
        ("mov.b64 %w1, {%r1, %h1};", "`%h1` has 16 bits where 32 bits belong"),
        ("fma.rn.f64 %g1, %g2, %g3, %f1;", "`%f1` has 32 bits where 64 bits belong"),
        ("cvt.u64.u32 %r1, %r2;", "`%r1` has 32 bits where 64 bits or more belong"),
        ("ld.global.u64 %r1, [%a0];", "`%r1` has 32 bits where 64 bits or more belong"),
        ("st.global.u32 [%a0], %h1;", "`%h1` has 16 bits where 32 bits or more belong"),
        ("popc.b64 %w1, %w2;", "`%w1` has 64 bits where 32 bits belong"),
        ("and.pred %p1, %p2, %r1;", "`%r1` has 32 bits where a predicate belong"),
        (".reg .v2 .u32 u;\nadd.u32 %r1, u, %r2;", "`u` is a vector"),
    ];
    for (line, why) in refused {
        let error = run(&format!("{declared}{line}")).expect_err(line);
        assert!(error.contains(why), "{line}: {error}");
    }
    let accepted = [
        "ld.global.u8 %r1, [%a0];",
        "ld.global.u32 %w1, [%a0];",
        "st.global.u8 [%a0+32], %r1;",
        "cvt.u32.u64 %r1, %w1;",
        "cvt.u8.u32 %r1, %r2;",
        "mad.wide.u32 %w1, %r1, %r2, %w2;",
        "bfe.u64 %w1, %w2, %r1, %r2;",
        "slct.f32.s32 %f1, %f2, %f3, %r1;",
        "set.lt.u32.f32 %r1, %f1, %f2;",
        "setp.eq.and.u32 %p1|%p2, %r1, %r2, %p3;",
        "and.pred %p1, %p2, %p3;",
        "mov.b64 {%r1, %r2}, %w1;",
    ];
    for line in accepted {
        assert!(run(&format!("{declared}{line}")).is_ok(), "{line}: {:?}", run(line));
    }
}

/// The sign of a product on the smaller or larger magnitude; powers of two of both halves.
#[test]
fn functions_that_were_refused() {
    let of = |line: &str| {
        run(&format!(
            ".reg .f32 %f<4>;\nmov.b32 %r1, 0xC0000000;\nmov.b32 %r2, 0x3F800000;\nmov.b32 %f1, %r1;\nmov.b32 %f2, %r2;\n\
             mov.b32 %r4, 0x40003C00;\n{line}\nst.global.b32 [%a0], %r3;"
        ))
        .map(|words| words[0])
    };
    assert_eq!(of("min.xorsign.abs.f32 %f3, %f1, %f2;\nmov.b32 %r3, %f3;"), Ok(0xBF80_0000));
    assert_eq!(of("max.xorsign.abs.f32 %f3, %f1, %f1;\nmov.b32 %r3, %f3;"), Ok(0x4000_0000));
    assert_eq!(of("max.xorsign.abs.f32 %f3, %f1, %f2;\nmov.b32 %r3, %f3;"), Ok(0xC000_0000));
    assert_eq!(of("ex2.approx.f16x2 %r3, %r4;"), Ok(0x4400_4000));
    assert_eq!(
        of("mov.b32 %r5, 0xBC003C00; min.xorsign.abs.f16x2 %r3, %r4, %r5;"),
        Ok(0xBC00_3C00)
    );
}

/// What is said of a kernel with one buffer in one warp, by rule and severity.
fn said(body: &str) -> Vec<(&'static str, Severity, String)> {
    let all = hazards(&module("", body), 1, 32);
    all.into_iter().map(|h| (h.rule, h.severity, h.message)).collect()
}

/// A register that nothing has written may be computed with, and not be gone by.
#[test]
fn registers_that_nothing_has_written() {
    let wrong = [
        // In an address, as a predicate, stored; through arithmetic; on one of two ways.
        (
            "mul.wide.u32 %a1, %r1, 4;\nadd.u64 %a1, %a1, %a0;\nld.global.u32 %r2, [%a1];",
            "an address",
        ),
        ("setp.eq.u32 %p0, %r1, 0;\n@%p0 st.global.u32 [%a0], 1;", "decides"),
        ("add.u32 %r2, %r1, 5;\n@%p1 mov.u32 %r2, 1;\nst.global.u32 [%a0], %r2;", "decides"),
        (
            "setp.lt.u32 %p0, %r0, 3;\n@%p0 mov.u32 %r1, 7;\nadd.u32 %r2, %r1, 1;\nst.global.u32 [%a0], %r2;",
            "stored",
        ),
        (
            "setp.lt.u32 %p0, %r0, 3;\n@%p0 bra SKIP;\nmov.u32 %r1, 7;\nSKIP:\nst.global.u32 [%a0], %r1;",
            "stored",
        ),
        ("selp.u32 %r2, %r1, %r3, %p2;\nst.global.u32 [%a0], %r2;", "stored"),
        // Predicates made of others; halves of a wide register; what is added to memory.
        ("and.pred %p0, %p3, %p4;\n@%p0 st.global.u32 [%a0], 1;", "decides"),
        ("not.pred %p0, %p3;\n@%p0 bra SKIP;\nst.global.u32 [%a0], 1;\nSKIP:", "decides"),
        ("mov.b64 {%r1, %r2}, %a3;\nst.global.u32 [%a0], %r2;", "stored"),
        ("mov.b64 %a1, {%r1, %r2};\nst.global.u64 [%a0], %a1;", "stored"),
        ("cvt.u64.u32 %a1, %r1;\nst.global.u64 [%a0], %a1;", "stored"),
        ("red.relaxed.gpu.global.add.u32 [%a0], %r1;", "stored"),
        ("atom.relaxed.gpu.global.exch.b32 %r2, [%a0], %r1;", "stored"),
    ];
    for (body, what) in wrong {
        let said = said(body);
        let fits = |s: &(&str, Severity, String)| {
            s.0 == "uninitialised" && s.1 == Severity::Error && s.2.contains(what)
        };
        assert!(said.iter().any(fits), "{body}: {said:?}");
    }
    let right = [
        // Written on every way that is taken; never used; replaced; of no consequence.
        "setp.lt.u32 %p0, %r0, 3;\n@%p0 mov.u32 %r1, 7;\n@!%p0 mov.u32 %r1, 8;\nst.relaxed.gpu.global.u32 [%a0], %r1;",
        "setp.lt.u32 %p0, %r0, 3;\n@%p0 mov.u32 %r1, 7;\n@%p0 st.relaxed.gpu.global.u32 [%a0], %r1;",
        "add.u32 %r2, %r1, 5;\nmov.u32 %r2, 1;\nst.relaxed.gpu.global.u32 [%a0], %r2;",
        "xor.b32 %r2, %r1, %r1;\nst.relaxed.gpu.global.u32 [%a0], %r2;",
        "mov.b32 %r2, {%h1, %h2};\nmov.b32 {%h3, %h1}, %r2;",
        "mov.u32 %r3, 1;\nbfi.b32 %r2, %r3, %r1, 0, 8;\nst.relaxed.gpu.global.u32 [%a0], %r2;",
        "mov.u32 %r1, 0;\nLOOP:\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p0, %r1, 9;\n@%p0 bra LOOP;\nst.relaxed.gpu.global.u32 [%a0], %r1;",
    ];
    for body in right {
        let said = said(body);
        assert!(said.iter().all(|s| !s.2.contains("register")), "{body}: {said:?}");
    }
}

/// Calls hand on what nothing has written, and it is wrong where somebody goes by it.
#[test]
fn registers_that_nothing_has_written_go_through_calls() {
    const FUNCTIONS: &str = "\
.func store(.param .b64 to, .param .b32 what)
{ .reg .b64 %d; .reg .b32 %r; ld.param.b64 %d, [to]; ld.param.b32 %r, [what]; st.relaxed.gpu.global.u32 [%d], %r; ret; }
.func (.param .b32 out) second(.param .b32 first, .param .b32 second)
{ .reg .b32 %r; ld.param.b32 %r, [second]; st.param.b32 [out], %r; ret; }
.func (.param .b32 out) if_three(.param .b32 lane)
{ .reg .b32 %r; .reg .pred %p; ld.param.b32 %r, [lane]; setp.ne.u32 %p, %r, 3; @%p ret; st.param.b32 [out], 7; ret; }
.func (.reg .b32 out) sum(.reg .b32 a, .reg .b32 b) { add.u32 out, a, b; ret; }
.func (.reg .b32 out) nothing(.reg .b32 a) { ret; }
.func (.reg .b32 out) deep(.reg .b32 n, .reg .b32 x)
{ .reg .pred %p; .reg .b32 %m; setp.eq.u32 %p, n, 0; mov.u32 out, x; @%p ret; sub.u32 %m, n, 1; call (out), deep, (%m, x); ret; }
.func own(.param .b64 to)
{ .reg .b64 %d; .reg .b32 %r; ld.param.b64 %d, [to]; st.relaxed.gpu.global.u32 [%d], %r; ret; }
.func (.param .align 8 .b8 out[16]) pair(.param .b32 x)
{ .reg .b32 %r; ld.param.b32 %r, [x]; st.param.b32 [out], %r; st.param.b64 [out+8], 5; ret; }
.func elements(.param .align 8 .b8 two[8], .param .b64 to)
{ .reg .b64 %d; .reg .b32 %r, %s; ld.param.b64 %d, [to]; ld.param.v2.b32 {%r, %s}, [two]; st.relaxed.gpu.global.u32 [%d], %s; ret; }
";
    const STORE: &str = "st.relaxed.gpu.global.u32 [%a0], %r2;";
    let by_memory = |name: &str, arguments: &[&str]| {
        let n = arguments.len();
        let declared: String = (0..n).map(|i| format!(".param .b32 q{i}; ")).collect();
        let stored = arguments.iter().enumerate().filter(|(_, a)| !a.is_empty());
        let stored: String = stored.map(|(i, a)| format!("st.param.b32 [q{i}], {a}; ")).collect();
        let list: Vec<String> = (0..n).map(|i| format!("q{i}")).collect();
        let list = list.join(", ");
        format!(
            "{{ .param .b32 q; {declared}{stored}call (q), {name}, ({list}); ld.param.b32 %r2, [q]; }}"
        )
    };
    let said = |body: &str| -> Vec<(&'static str, Severity, String, u32)> {
        let all = hazards(&module(FUNCTIONS, body), 1, 32);
        all.into_iter().map(|h| (h.rule, h.severity, h.message, h.site.line)).collect()
    };
    let line_of = |function: &str| {
        let text = module(FUNCTIONS, "");
        1 + text.lines().position(|line| line.contains(function)).expect("a function") as u32
    };
    let head = module(FUNCTIONS, "").lines().count() as u32;
    let pass = |what: &str| {
        format!(
            "{{ .param .b64 q0; .param .b32 q1; st.param.b64 [q0], %a0; {what} call store, (q0, q1); }}"
        )
    };
    // The line of a function, or the kernel's.
    let in_store = line_of(".func store") + 1;
    let wrong = [
        (pass("st.param.b32 [q1], %r1;"), in_store),
        // An argument that the caller does not write.
        (pass(""), in_store),
        (pass("setp.lt.u32 %p0, %r0, 3; @%p0 st.param.b32 [q1], 7;"), in_store),
        (format!("{} {STORE}", by_memory("second", &["1", "%r1"])), 0),
        (format!("{} {STORE}", by_memory("second", &["1", ""])), 0),
        // A result that is written in one lane only.
        (format!("{} {STORE}", by_memory("if_three", &["%r0"])), 0),
        (format!("call (%r2), sum, (%r0, %r1); {STORE}"), 0),
        (format!("call (%r2), nothing, (%r0); {STORE}"), 0),
        (format!("mov.u32 %r2, 1; call (%r2), nothing, (%r0); {STORE}"), 0),
        (format!("call (%r2), deep, (5, %r1); {STORE}"), 0),
        ("{ .param .b64 q0; st.param.b64 [q0], %a0; call own, (q0); }".into(), line_of(".func own") + 1),
        (
            "{ .param .align 8 .b8 q0[8]; .param .b64 q1; st.param.v2.b32 [q0], {%r0, %r1}; st.param.b64 [q1], %a0; \
             call elements, (q0, q1); }"
                .into(),
            line_of(".func elements") + 1,
        ),
    ];
    for (body, line) in &wrong {
        let said = said(body);
        let fits = |s: &(&str, Severity, String, u32)| {
            let there = if *line == 0 { s.3 > in_store && s.3 < head + 9 } else { s.3 == *line };
            s.0 == "uninitialised" && s.1 == Severity::Error && s.2.contains("register") && there
        };
        assert!(said.iter().any(fits), "{body}: {:?}", said.first());
        let others = said.iter().filter(|s| s.2.contains("register") && !fits(s));
        assert_eq!(others.count(), 0, "{body}: {said:?}");
    }
    let right = [
        pass("st.param.b32 [q1], %r0;"),
        // Handed over and not used; a result that only some lanes have and use; a result that nobody wants.
        format!("{} {STORE}", by_memory("second", &["%r1", "4"])),
        format!("{} {STORE}", by_memory("second", &["", "4"])),
        format!("{} setp.eq.u32 %p0, %r0, 3; @%p0 {STORE}", by_memory("if_three", &["%r0"])),
        by_memory("if_three", &["%r0"]),
        format!("call (%r2), nothing, (%r1); mov.u32 %r2, 5; {STORE}"),
        format!("call (%r2), sum, (%r0, 4); {STORE}"),
        format!("call (%r2), deep, (5, %r0); {STORE}"),
        // Bytes that pad a structure; the same function with and without.
        "{ .param .b32 q0; .param .align 8 .b8 q[16]; st.param.b32 [q0], %r0; call (q), pair, (q0); \
         ld.param.b64 %a1, [q]; st.relaxed.gpu.global.u64 [%a0], %a1; ld.param.b64 %a1, [q+8]; \
         st.relaxed.gpu.global.u64 [%a0], %a1; }"
            .into(),
        format!("call (%r2), sum, (%r0, %r1); call (%r2), sum, (%r0, %r0); {STORE}"),
        "{ .param .align 8 .b8 q0[8]; .param .b64 q1; st.param.v2.b32 [q0], {%r1, %r0}; st.param.b64 [q1], %a0; \
         call elements, (q0, q1); }"
            .into(),
    ];
    for body in &right {
        let said = said(body);
        assert!(said.iter().all(|s| !s.2.contains("register")), "{body}: {said:?}");
    }
}

/// Accesses that do not race may return what was overwritten: that is said, where a fence would forbid it.
#[test]
fn overwritten_values_are_reported_where_a_fence_is_missing() {
    let body = |fence: &str, read: &str| {
        module(
            "",
            &format!(
                "mov.u32 %r1, %ctaid.x;\nsetp.ne.u32 %p0, %r1, 0;\n@%p0 bra READER;\n\
                 st.relaxed.gpu.global.u32 [%a0+128], 1;\n{fence}\nst.relaxed.gpu.global.u32 [%a0], 1;\nret;\nREADER:\n\
                 ld.relaxed.gpu.global.u32 %r2, [%a0];\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra READER;\n{fence}\n{read}\n\
                 st.relaxed.gpu.global.u32 [%a0+256], %r3;"
            ),
        )
    };
    let once = "ld.relaxed.gpu.global.u32 %r3, [%a0+128];";
    let stale = hazards(&body("", once), 2, 1);
    let stale = of_rule(&stale, "stale-read");
    assert!(!stale.is_empty() && stale.iter().all(|h| h.severity == Severity::Warning));
    assert!(stale.iter().all(|h| h.fix.contains(".acquire") && h.almost.is_some()));
    assert!(hazards(&body("fence.acq_rel.gpu;", once), 2, 1).is_empty());
    // Too narrow a fence is none.
    assert!(!of_rule(&hazards(&body("fence.acq_rel.cta;", once), 2, 1), "stale-read").is_empty());
    // Who looks until it is there is not misled.
    let again = "AGAIN: ld.relaxed.gpu.global.u32 %r3, [%a0+128];\nsetp.eq.u32 %p1, %r3, 0;\n@%p1 bra AGAIN;";
    assert!(hazards(&body("", again), 2, 1).is_empty());
    // Nor who tries what it has read against the newest value; looking elsewhere is another matter.
    let tried = |place: u32| {
        format!(
            "{once}\nadd.u32 %r4, %r3, 1;\natom.relaxed.gpu.global.cas.b32 %r3, [%a0+{place}], %r3, %r4;"
        )
    };
    assert!(hazards(&body("", &tried(128)), 2, 1).is_empty());
    assert!(!of_rule(&hazards(&body("", &tried(192)), 2, 1), "stale-read").is_empty());
}

/// A store that a strong read has seen is before what comes behind the read (8.9.5, by observation order); what its thread
/// did before it is not.
#[test]
fn a_store_that_was_observed_is_before_what_follows() {
    let body = |before: &str, last: &str| {
        module(
            "",
            &format!(
                "mov.u32 %r1, %ctaid.x;\nsetp.ne.u32 %p0, %r1, 0;\n@%p0 bra READER;\n{before}\n\
                 st.relaxed.gpu.global.u32 [%a0], 1;\nret;\nREADER:\nsetp.ne.u32 %p0, %r1, 1;\n@%p0 bra LAST;\n\
                 ONE: atom.relaxed.gpu.global.cas.b32 %r2, [%a0], 1, 2;\nsetp.ne.u32 %p1, %r2, 1;\n@%p1 bra ONE;\nret;\n\
                 LAST: ld.relaxed.gpu.global.u32 %r2, [%a0];\nsetp.ne.u32 %p1, %r2, 2;\n@%p1 bra LAST;\n{last}"
            ),
        )
    };
    // The atomic operation continues what the store began.
    for last in ["ld.global.u32 %r3, [%a0];", "st.global.u32 [%a0], 3;"] {
        assert!(hazards(&body("", last), 3, 1).is_empty(), "{last}");
    }
    let other = hazards(&body("st.global.u32 [%a0+64], 1;", "ld.global.u32 %r3, [%a0+64];"), 3, 1);
    assert!(!other.is_empty() && other.iter().all(|h| h.severity == Severity::Error), "{other:?}");
    // A read that is not strong observes nothing.
    let unseen = body("", "").replace("LAST: ld.relaxed.gpu", "LAST: ld.weak");
    assert!(!hazards(&unseen, 3, 1).is_empty());
}

/// A strong access does not hide a weak one that the same thread made before it.
#[test]
fn a_weak_access_stays_known_behind_a_strong_one() {
    let body = |first: &str| {
        module(
            "",
            &format!(
                "mov.u32 %r1, %ctaid.x;\nsetp.eq.u32 %p0, %r1, 0;\n@%p0 {first}\n\
                 @%p0 atom.relaxed.gpu.global.add.u32 %r2, [%a0], 1;\nbarrier.cluster.arrive.relaxed;\n\
                 barrier.cluster.wait;\n@!%p0 red.relaxed.gpu.global.add.u32 [%a0], 1;"
            ),
        )
        .replace(".visible .entry k(.param .u64 a0)", ".visible .entry k(.param .u64 a0) .reqnctapercluster 2, 1, 1")
    };
    for first in [
        "st.global.u32 [%a0], 1;",
        "ld.global.u32 %r3, [%a0];",
        "red.relaxed.cta.global.add.u32 [%a0], 1;",
    ] {
        assert!(!hazards(&body(first), 2, 1).is_empty(), "{first}");
    }
    assert!(hazards(&body("st.relaxed.gpu.global.u32 [%a0], 1;"), 2, 1).is_empty());
}

/// A thread reads what it has stored, also where another one's store left the same value.
#[test]
fn no_old_value_is_read_behind_an_own_weak_store() {
    let text = module(
        "",
        "mov.u32 %r1, %ctaid.x;\nsetp.eq.u32 %p0, %r1, 0;\n@%p0 bra READER;\nst.relaxed.gpu.global.u32 [%a0], 1;\nret;\n\
         READER:\nst.global.u32 [%a0], 1;\nld.relaxed.gpu.global.u32 %r2, [%a0];\nst.global.u32 [%a0+64], %r2;",
    );
    let program = Program::load(&text, "old", None).unwrap_or_else(|e| panic!("{e}"));
    for seed in 0..200 {
        let mut machine = Machine::new(Options { seed, ..Options::default() });
        let address = machine.alloc(128, 128).expect("memory");
        machine.write(address, &[0; 128]).expect("memory");
        let launch = Launch {
            kernel: "k".into(),
            grid: [2, 1, 1],
            block: [1; 3],
            params: vec![address.to_le_bytes().to_vec()],
            ..Launch::default()
        };
        machine.launch(&program, &launch).unwrap_or_else(|e| panic!("{e}"));
        let mut seen = [0; 4];
        machine.read(address + 64, &mut seen).expect("memory");
        assert_eq!(u32::from_le_bytes(seen), 1, "seed {seed}");
    }
}

/// Where the thread that committed waits for too few of its groups, nobody waits for another's.
#[test]
fn a_wait_that_leaves_too_many_groups_is_no_wait_for_anothers() {
    let body = |left: u32, waits: &str, commits: &str| {
        module(
            ".shared .align 128 .b8 tile[128];",
            &format!(
                "mov.u32 %r2, tile;\nshl.b32 %r3, %r0, 2;\nadd.u32 %r3, %r2, %r3;\nsetp.eq.u32 %p0, %r0, 0;\n\
                 setp.eq.u32 %p2, %r0, 7;\nmov.u32 %r4, 0;\nLOOP:\n\
                 @{waits} cp.async.bulk.wait_group.read {left};\nbar.warp.sync 0xffffffff;\n\
                 @!%p0 st.shared.u32 [%r3], %r0;\nfence.proxy.async;\nbar.warp.sync 0xffffffff;\n\
                 @{commits} cp.async.bulk.global.shared::cta.bulk_group [%a0], [%r2], 128;\n\
                 @{commits} cp.async.bulk.commit_group;\nadd.u32 %r4, %r4, 1;\nsetp.lt.u32 %p1, %r4, 4;\n@%p1 bra LOOP;\n\
                 @{commits} cp.async.bulk.wait_group 0;"
            ),
        )
    };
    let rules = |text: &str| {
        let rules = hazards(text, 1, 32).into_iter().filter(|h| h.severity == Severity::Error);
        rules.map(|h| h.rule).collect::<std::collections::BTreeSet<_>>()
    };
    assert!(rules(&body(0, "%p0", "%p0")).iter().all(|rule| *rule == "B7"), "the destination");
    let late = rules(&body(1, "%p0", "%p0"));
    assert!(late.contains("B11") && !late.contains("B10"), "{late:?}");
    // Another lane's wait is one for the groups of somebody else.
    assert!(rules(&body(0, "%p2", "%p0")).contains("B10"));
}

/// What one launch has allocated another one may free.
#[test]
fn the_heap_of_the_device_outlives_a_launch() {
    let text = ".version 8.8\n.target sm_90\n.address_size 64\n.global .align 8 .u64 kept;\n\
                .extern .func (.param .b64 result) malloc(.param .b64 bytes);\n.extern .func free(.param .b64 address);\n\
                .visible .entry make()\n{\n.reg .b64 %a<4>;\nmov.u64 %a0, 16;\n{\n.param .b64 bytes;\nst.param.b64 [bytes], %a0;\n\
                .param .b64 result;\ncall.uni (result), malloc, (bytes);\nld.param.b64 %a1, [result];\n}\n\
                st.global.u64 [kept], %a1;\nst.u32 [%a1], 7;\nret;\n}\n\
                .visible .entry drop()\n{\n.reg .b64 %a<4>;\nld.global.u64 %a1, [kept];\n{\n.param .b64 address;\n\
                st.param.b64 [address], %a1;\ncall.uni free, (address);\n}\nret;\n}\n";
    let program = Program::load(text, "heap", None).unwrap_or_else(|e| panic!("{e}"));
    let mut machine = Machine::new(Options::default());
    let mut run = |kernel: &str| {
        let launch =
            Launch { kernel: kernel.into(), grid: [1; 3], block: [1; 3], ..Launch::default() };
        machine
            .launch(&program, &launch)
            .map(|report| report.hazards.len())
            .map_err(|e| e.to_string())
    };
    assert_eq!(run("make"), Ok(0));
    assert_eq!(run("drop"), Ok(0));
    assert!(run("drop").is_err_and(|error| error.contains("did not give")));
}

/// Lanes of one atomic instruction take turns: one that comes later has seen what the others did.
#[test]
fn a_lane_acquires_what_another_lane_of_its_instruction_released() {
    let body = |order: &str| {
        module(
            "",
            &format!(
                "setp.eq.u32 %p0, %r0, 0;\nsetp.eq.u32 %p1, %r0, 5;\nsetp.eq.u32 %p3, %r0, 9;\nor.pred %p2, %p0, %p1;\n\
                 @!%p2 bra DONE;\n@%p1 ld.relaxed.gpu.global.u32 %r2, [%a0];\n\
                 atom.{order}.gpu.global.add.u32 %r3, [%a0+64], 1;\n@%p1 bra DONE;\nsetp.ne.u32 %p4, %r3, 1;\n@%p4 bra DONE;\n\
                 st.global.u32 [%a0], 1;\nDONE:"
            ),
        )
    };
    assert!(hazards(&body("acq_rel"), 1, 32).is_empty());
    assert!(!hazards(&body("relaxed"), 1, 32).is_empty());
}

/// CTA 1 uses a word of its own and CTA 0 stores there by `st.async`, which completes on CTA 1's mbarrier: what stands behind
/// its initialisation, the use, what is between the use and the cluster barrier, and between that and the store.
fn remote_store(initialised: &str, used: &str, released: &str, acquired: &str) -> String {
    module(
        ".shared .align 8 .b64 bar;\n.shared .align 8 .b8 slot[8];",
        &format!(
            ".reg .b64 %b<4>;\nmov.u32 %r1, %cluster_ctarank;\nsetp.eq.u32 %p0, %r1, 0;\nmov.u32 %r2, slot;\nmov.u32 %r3, bar;\n\
             @%p0 bra READY;\nmbarrier.init.shared.b64 [%r3], 1;\n{initialised}\n{used}\n{released}\nREADY:\n\
             barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\n@!%p0 bra WAIT;\n{acquired}\n\
             mapa.shared::cluster.u32 %r4, %r2, 1;\nmapa.shared::cluster.u32 %r5, %r3, 1;\n\
             st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r4], 7, [%r5];\nbra DONE;\nWAIT:\n\
             mbarrier.arrive.expect_tx.relaxed.cluster.shared.b64 %b1, [%r3], 4;\nTRY:\n\
             mbarrier.try_wait.acquire.cluster.shared::cta.b64 %p1, [%r3], %b1;\n@!%p1 bra TRY;\nld.shared.u32 %r6, [%r2];\n\
             st.global.u32 [%a0], %r6;\nDONE:\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;"
        ),
    )
    .replace("(.param .u64 a0)", "(.param .u64 a0) .reqnctapercluster 2, 1, 1")
}

/// The text leaves open by which proxy `st.async` stores and completes: what only the async proxy would need is a warning.
#[test]
fn an_asynchronous_store_has_to_be_right_by_both_proxies() {
    let init = "fence.mbarrier_init.release.cluster;";
    let release = "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;";
    let acquire = "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;";
    let whole = "fence.proxy.async;";
    let (read, write) = ("ld.shared.u32 %r6, [%r2];", "st.shared.u32 [%r2], 5;");
    let said = |initialised, used, released, acquired| {
        let found = hazards(&remote_store(initialised, used, released, acquired), 2, 1);
        assert!(found.iter().all(|h| h.severity == Severity::Warning), "{found:?}");
        found.iter().map(|h| h.rule).collect::<std::collections::BTreeSet<_>>()
    };
    // To read it somebody has to write it, and that is fenced here as well.
    let read = format!("st.shared.u32 [%r2], 5;\nfence.proxy.async;\n{read}");
    assert_eq!(said(init, "", "", ""), [].into());
    assert_eq!(said("", "", "", ""), ["C1"].into());
    for (used, rules) in [(&*read, &["B1", "B2"][..]), (write, &["B1"])] {
        let rules: std::collections::BTreeSet<_> = rules.iter().copied().collect();
        assert_eq!(said(init, used, release, acquire), [].into());
        assert_eq!(said(init, used, whole, whole), [].into());
        assert_eq!(said(init, used, "", ""), rules);
        assert_eq!(said(init, used, "", acquire), rules);
    }
}

/// What both proxies forbid is an error: nothing orders the use before the store.
#[test]
fn an_asynchronous_store_that_nothing_orders_is_an_error() {
    let text = remote_store("fence.mbarrier_init.release.cluster;", "", "", "")
        .replace("WAIT:\n", "WAIT:\nst.shared.u32 [%r2], 5;\n");
    let found = hazards(&text, 2, 1);
    assert!(found.iter().any(|h| h.severity == Severity::Error), "{found:?}");
}
