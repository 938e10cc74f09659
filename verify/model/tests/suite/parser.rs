//! The parser answers every text with a test or an error that says where and what was expected.

use std::fs;

use baton_model::litmus::Test;
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
            "t.litmus:3:3: found `st.acquire.gpu.u32`, expected weak, relaxed, release here, not `.acquire`",
        ),
        (
            "  ld.acquire.u32 r0, [x]",
            "t.litmus:3:3: found `ld.acquire.u32`, expected semantics and a scope together, such as `.relaxed.gpu`",
        ),
        ("  ld.weak.u64 r0, [x]", "t.litmus:3:19: found `[`, expected at least 8 bytes: `x` has 4"),
        ("  bra L7", "t.litmus:3:7: found `L7`, expected a label of this thread"),
        (
            "  bar.arrive 0",
            "t.litmus:3:15: found the end of the line, expected `, n`: how many threads take part",
        ),
        (
            "  red.acquire.gpu.add.u32 [x], 1",
            "t.litmus:3:3: found `red.acquire.gpu.add.u32`, expected relaxed, release here, not `.acquire`",
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
        error(&format!("{head}exists: T0:r0 == 1")),
        "t.litmus:3:12: found `r0`, expected a register that T0 uses"
    );
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
