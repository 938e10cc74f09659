//! The parser answers every text with a test or an error that says where and what was expected.

use std::fs;

use baton_model::litmus::Test;
use baton_model::{Options, judge};
use proptest::prelude::*;

use crate::corpus;

fn error(text: &str) -> String {
    Test::parse(text, "t.litmus").expect_err("a mistake").to_string()
}

#[test]
fn errors_name_the_place_and_what_was_expected() {
    let head = "location x global u32 = 0\nthread T0 cta=0:\n";
    for (line, expected) in [
        ("  st.weak.u32 [y], 1", "t.litmus:3:16: found `y`, expected a declared location"),
        ("  st.weak.u32 [x] 1", "t.litmus:3:19: found `1`, expected `,`"),
        (
            "  st.acquire.gpu.u32 [x], 1",
            "t.litmus:3:5: found `.acquire`, expected weak, relaxed, release",
        ),
        (
            "  ld.acquire.u32 r0, [x]",
            "t.litmus:3:5: found `.acquire`, expected semantics and a scope together, such as `.relaxed.gpu`",
        ),
        ("  ld.weak.u64 r0, [x]", "t.litmus:3:19: found `[`, expected at least 8 bytes: `x` has 4"),
        ("  bra L7", "t.litmus:3:7: found `L7`, expected a label of this thread"),
        (
            "  bar.arrive 0",
            "t.litmus:3:15: found the end of the line, expected `, n`: how many threads take part",
        ),
        (
            "  red.acquire.gpu.add.u32 [x], 1",
            "t.litmus:3:6: found `.acquire`, expected relaxed, release",
        ),
    ] {
        assert_eq!(error(&format!("{head}{line}\nexists: true\n")), expected);
    }
    assert_eq!(error("thread T0:\n"), "t.litmus:1:8: found `T0`, expected a thread with `cta=`");
    assert_eq!(error(""), "t.litmus:1:1: found the end of the file, expected a `thread`");
    assert_eq!(
        error(head),
        "t.litmus:3:1: found the end of the file, expected `exists:` or `forall:`"
    );
    assert_eq!(
        error(&format!("{head}exists: x = 0")),
        "t.litmus:3:11: found `=`, expected `==`, `!=` or `<`"
    );
    assert_eq!(error("unroll: 1001"), "t.litmus:1:9: found `1001`, expected at most 1000 rounds");
    assert_eq!(
        error("thread A cta=0 cta=1:"),
        "t.litmus:1:16: found `cta`, expected one `cta=` only"
    );
    assert_eq!(
        error("location x global u8 = 300"),
        "t.litmus:1:24: found `300`, expected a value of 8 bits"
    );
    assert!(error("location x global s8 = -129").ends_with("expected a value of 8 bits"));
    assert!(error("location x global f32 = 0").contains("found `f32`, expected a type: u8"));
    assert_eq!(
        error(&format!("{head}exists: T0:x == 1")),
        "t.litmus:3:12: found `x`, expected a register of that thread"
    );
}

#[test]
fn a_register_that_no_instruction_names_is_zero() {
    let judged = |condition: &str| {
        let text = format!("thread T0 cta=0:\nexists: {condition}\n");
        let test = Test::parse(&text, "t").unwrap_or_else(|error| panic!("{error}"));
        judge(&test.program, &test.condition, &Options::default()).expect("a verdict").allowed
    };
    assert!(judged("T0:r5 == 0"));
    assert!(!judged("T0:r5 == 1"));
}

#[test]
fn a_condition_may_be_long() {
    let condition = vec!["x == 1"; 50_000].join(" && ");
    let text = format!(
        "location x global u32 = 0\nthread T0 cta=0:\nst.weak.u32 [x], 1\nexists: {condition}\n"
    );
    let test = Test::parse(&text, "t").unwrap_or_else(|error| panic!("{error}"));
    assert!(judge(&test.program, &test.condition, &Options::default()).expect("a verdict").allowed);
}

#[test]
fn qualifiers_are_those_of_ptx() {
    let head = "location x global u32 = 0\nlocation s shared u64 = 0\nlocation m tensormap\nthread T0 cta=0:\n";
    for (line, found, expected) in [
        ("ld.mmio.weak.u32 r0, [x]", ".weak", "relaxed, acquire"),
        ("st.mmio.weak.u32 [x], 1", ".weak", "relaxed, release"),
        ("ld.mmio.shared.u64 r0, [s]", "", "`.mmio` on global memory"),
        ("atom.volatile.add.u32 r0, [x], 1", ".volatile", "no `.volatile` on this instruction"),
        ("ld.local.shared.global.u32 r0, [x]", ".local", "no `.local` on this instruction"),
        ("ld.shared.global.u32 r0, [x]", "", "no state space here, or one for each address"),
        ("mov.global.u32 r0, 1", "", "no state space here, or one for each address"),
        ("ld.relaxed.gpu.global.nc.u32 r0, [x]", "", "a weak load through this proxy"),
        ("tcgen05.fence::before_thread_sync.foo.bar", ".foo", "no `.foo` on this instruction"),
        ("tcgen05.wait::ld.sync.sync", ".sync", "no `.sync` on this instruction"),
        ("barrier.cluster.arrive.relaxed.release", ".release", "no `.release` on this instruction"),
        ("bar.sync.aligned 0", ".aligned", "no `.aligned` on this instruction"),
        ("mbarrier.init [s], 1", "", "`.b64`, the type of mbarrier objects"),
        (
            "mbarrier.try_wait.parity.shared::cluster.b64 p0, [s], 0",
            "",
            "an mbarrier of the own thread block, `.shared::cta`",
        ),
        (
            "mbarrier.arrive.release.shared.b64 r0, [s]",
            "",
            "semantics and a scope together, such as `.relaxed.cluster`",
        ),
        ("red.async.exch.u64 [s], 1", "", "an operation: add, and, or, xor, min, max, inc or dec"),
        (
            "st.async.weak.shared::cluster.u64 [s], 1",
            "",
            "`.mbarrier::complete_tx::bytes`, or semantics and a scope",
        ),
        ("fence.mbarrier_init.release.gpu", "", "`fence.mbarrier_init.release.cluster`"),
        ("fence.proxy.alias.release.sys", ".release", "no `.release` on this instruction"),
        ("fence.proxy.async.local", ".local", "no `.local` on this instruction"),
        (
            "fence.proxy.async::generic.acquire.cluster",
            "",
            "`.sync_restrict::…` with `fence.proxy.async::generic`",
        ),
        (
            "fence.acquire.sync_restrict::shared::cta.cluster",
            "",
            "`.release.sync_restrict::shared::cta.cluster` or `.acquire.sync_restrict::shared::cluster.cluster`",
        ),
        (
            "tensormap.replace.tile.colour.global.b1024.b64 [m], 1",
            "",
            "`tensormap.replace.tile.FIELD.global.b1024.b64`, FIELD such as `global_address`",
        ),
        (
            "ld.weak.gpu.u32 r0, [x]",
            ".gpu",
            "semantics and a scope together, such as `.relaxed.gpu`",
        ),
        (
            "ld.relaxed.u32 r0, [x]",
            ".relaxed",
            "semantics and a scope together, such as `.relaxed.gpu`",
        ),
        ("ld.weak.u33 r0, [x]", ".u33", "a type, such as `.u32`"),
        (
            "atom.add.f32 r0, [x], 1",
            ".f32",
            "an integer type: the model does not compute with others",
        ),
        (
            "atom.add.noftz.f16 r0, [x], 1",
            ".f16",
            "an integer type: the model does not compute with others",
        ),
        (
            "red.add.noftz.bf16x2 [x], 1",
            ".bf16x2",
            "an integer type: the model does not compute with others",
        ),
        (
            "red.async.add.f64 [s], 1",
            ".f64",
            "an integer type: the model does not compute with others",
        ),
        (
            "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [x], [s], 4",
            ".f32",
            "an integer type: the model does not compute with others",
        ),
        ("add.f32 r0, r1, r2", ".f32", "an integer type: the model does not compute with others"),
        (
            "setp.lt.f32 p0, r1, r2",
            ".f32",
            "an integer type: the model does not compute with others",
        ),
        ("atom.add.u8 r0, [x], 1", "", "a type of 32, 64 bits for this operation"),
        ("atom.inc.u64 r0, [s], 1", "", "a type of 32 bits for this operation"),
        ("bar.warp.sync 0xffffffff", ".warp", "a barrier of the block: a litmus test has no warps"),
        (
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [s], [x], 4, [s], r0",
            ".multicast::cluster",
            "a copy to one place: the model has no other",
        ),
        (
            "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 [s], {r0, r1}, [s]",
            ".v2",
            "one element: the model has no vectors here",
        ),
    ] {
        let mnemonic = line.split(' ').next().unwrap_or("");
        let at = mnemonic.rfind(found).unwrap_or(0);
        let (at, found) = if found.is_empty() { (0, mnemonic) } else { (at, found) };
        let expected = format!("t.litmus:5:{}: found `{found}`, expected {expected}", at + 1);
        assert_eq!(error(&format!("{head}{line}\nexists: true\n")), expected);
    }
    assert_eq!(
        error(&format!("{head}fence.proxy.tensormap::generic.acquire.gpu [m], 64\nexists: true")),
        "t.litmus:5:49: found `64`, expected the size of a tensor map, 128"
    );
}

#[test]
fn operands_are_those_of_ptx() {
    let head = "location x global u32 = 0\nlocation s shared u64 = 0\nthread T0 cta=0:\n";
    for (line, expected) in [
        (
            "ld.weak.u32 r0, [x+2]",
            "17: found `[`, expected at least 4 bytes: `x` has 2 behind offset 2",
        ),
        ("ld.weak.u64 r0, [x]", "17: found `[`, expected at least 8 bytes: `x` has 4"),
        ("st.weak.u32 [x], [x]", "18: found `[`, expected a number or a register, r0 … or p0 …"),
        ("bar.sync 16", "10: found `16`, expected the barrier's number, 0 to 15"),
        ("@r0 exit", "2: found `r0`, expected a predicate register, p0 …"),
        ("setp.eq r0, r1, 1", "9: found `r0`, expected the result: a predicate register, p0 …"),
        (
            "setp.eq.and p0, r1, 1, r2",
            "24: found `r2`, expected what it is combined with: a predicate register, p0 …",
        ),
        (
            "cp.async.ca.shared.global [s], [x], 4, 5",
            "40: found `5`, expected at most 4 bytes to read",
        ),
    ] {
        let expected = format!("t.litmus:4:{expected}");
        assert_eq!(error(&format!("{head}{line}\nexists: true\n")), expected, "{line}");
    }
}

#[test]
fn what_is_only_a_hint_is_accepted() {
    let head = "location x global u32 = 0\nlocation s shared u32 = 0\nlocation b shared u64 = 0\n\
                thread T0 cta=0:\n";
    for line in [
        "ld.global.ca.u32 r0, [x]",
        "ld.cg.u32 r0, [x]",
        "ld.relaxed.gpu.global.L1::evict_last.L2::128B.u32 r0, [x]",
        "ld.global.L2::cache_hint.u32 r0, [x], r1",
        "st.global.wb.u32 [x], 1",
        "st.weak.global.L1::no_allocate.L2::cache_hint.u32 [x], 1, r1",
        "atom.relaxed.gpu.global.add.L2::cache_hint.u32 r0, [x], 1, r1",
        "cp.async.cg.shared.global.L2::128B [s], [x], 4",
        "cp.async.ca.shared.global.L2::cache_hint [s], [x], 4, r1",
        "cp.async.ca.shared.global.L2::cache_hint [s], [x], 4, 4, r1",
        "mbarrier.try_wait.parity.shared.b64 p0, [b], 0, 100",
    ] {
        let test = Test::parse(&format!("{head}{line}\nexists: true\n"), "t.litmus");
        assert!(test.is_ok(), "{line}: {test:?}");
    }
    let error = error(&format!("{head}ld.global.ca.cg.u32 r0, [x]\nexists: true\n"));
    assert!(error.ends_with("found `.cg`, expected no `.cg` on this instruction"), "{error}");
}

#[test]
fn a_thread_reaches_what_its_state_spaces_hold() {
    let test = |location: &str, instruction: &str| {
        let text = format!(
            "location x global u32\nlocation s {location} u32\nthread T0 cta=0 cluster=0:\n{instruction}\n\
             thread T1 cta=1 cluster=0:\nthread T2 cta=2 cluster=1:\nexists: true\n"
        );
        Test::parse(&text, "t.litmus").map(|_| ()).map_err(|error| error.to_string())
    };
    let own =
        "memory of thread block 0: `s` belongs to block 1, which only `.shared::cluster` reaches";
    let far = "memory of thread block 0 or of its cluster: `s` belongs to block 2";
    for (location, instruction, expected) in [
        ("shared cta=0", "ld.weak.shared.u32 r0, [s]", None),
        ("shared cta=1", "ld.weak.shared::cluster.u32 r0, [s]", None),
        ("shared cta=1", "ld.weak.u32 r0, [s]", None),
        ("shared cta=1", "ld.weak.shared.u32 r0, [s]", Some(own)),
        ("shared cta=1", "ld.weak.shared::cta.u32 r0, [s]", Some(own)),
        ("shared cta=2", "ld.weak.shared::cluster.u32 r0, [s]", Some(far)),
        ("shared cta=2", "ld.weak.u32 r0, [s]", Some(far)),
        (
            "shared cta=0",
            "ld.weak.global.u32 r0, [s]",
            Some("a location in global memory: `s` is shared"),
        ),
        ("shared", "st.weak.shared.u32 [x], 1", Some("a location in shared memory: `x` is global")),
    ] {
        let result = test(location, instruction);
        match expected {
            None => assert_eq!(result, Ok(()), "{location}: {instruction}"),
            Some(expected) => {
                let error = result.expect_err(instruction);
                assert!(
                    error.ends_with(&format!("found `[`, expected {expected}"))
                        || error.ends_with(&format!("expected {expected}")),
                    "{error}"
                );
                assert!(error.starts_with("t.litmus:4:"), "{error}");
            }
        }
    }
    let shared = "location s shared u32\nthread T0 cta=0:\nst.weak.u32 [s], 1\nthread T1 cta=1:\nld.weak.u32 r0, [s]\nexists: true\n";
    assert_eq!(
        error(shared),
        "t.litmus:5:18: found `s`, expected `location s shared cta=…`: threads of blocks 0 and 1 use it"
    );
}

#[test]
fn a_header_line_stands_once() {
    let file = "name: a\nunroll: 2\nthread T0 cta=0:\nexists: true\nexpect: allowed\nrace: no\n";
    assert!(Test::parse(file, "t.litmus").is_ok());
    for (line, key) in [
        ("name: b", "name"),
        ("unroll: 3", "unroll"),
        ("expect: forbidden", "expect"),
        ("race: yes", "race"),
    ] {
        let error = error(&format!("{file}{line}\n"));
        assert!(error.ends_with(&format!("expected one `{key}:` only")), "{error}");
        assert!(error.starts_with("t.litmus:7:1: "), "{error}");
    }
}

#[test]
fn signed_values_compare_with_their_sign() {
    let text = "location x global s32 = -1\nthread T0 cta=0:\nld.weak.s32 r0, [x]\nst.weak.s32 [x], -2\nexists: ";
    let allowed = |condition: &str| {
        let test = Test::parse(&format!("{text}{condition}"), "t.litmus").expect("a test");
        let verdict = baton_model::judge(&test.program, &test.condition, &Default::default());
        verdict.expect("a verdict").allowed
    };
    assert!(allowed("T0:r0 < 0 && x < -1 && x >= -2"));
    assert!(!allowed("T0:r0 > 0 || x > 1"));
}

proptest! {
    #[test]
    fn arbitrary_text_is_no_panic(text in "\\PC*(\n\\PC*){0,6}") {
        let _ = Test::parse(&text, "random");
    }

    #[test]
    fn damaged_tests_are_no_panic(which in 0usize..1000, at in 0usize..2000, with in "\\PC{0,3}", cut in 0usize..5) {
        let mut files: Vec<_> = walk(&corpus::root());
        files.sort();
        let text = fs::read_to_string(&files[which % files.len()]).expect("readable");
        let chars: Vec<char> = text.chars().collect();
        let at = at % chars.len();
        let damaged: String = chars[..at]
            .iter()
            .copied()
            .chain(with.chars())
            .chain(chars[(at + cut).min(chars.len())..].iter().copied())
            .collect();
        if let Err(error) = Test::parse(&damaged, "damaged") {
            prop_assert!(error.line >= 1 && error.column >= 1 && !error.expected.is_empty());
        }
    }
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).expect("the corpus is there");
    entries
        .map(|entry| entry.expect("readable").path())
        .flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] })
        .collect()
}
