//! The rules that types enforce: programs that must not compile, and their corrected twins.
//!
//! The programs lie in `tests/compile-fail`, `tests/compile-pass` and `tests/attacks`; they are
//! compiled for the host, where the instructions' bodies are unreachable but all types, bounds and
//! constants are those of the device. Every set is *built*, not only checked, because constants
//! of generic code are evaluated no sooner; trybuild does so as soon as one program shall pass.
//!
//! What this cannot see: whether a diagnostic is kind. That is what reviewing a golden file is for.

mod corpus;
mod diagnostic;
mod index;
mod messages;
mod page;
mod rules;
mod transitions;

use std::collections::BTreeSet;

use corpus::{Corpus, RULES};
use rules::How;

#[test]
fn compiler_agrees() {
    let programs = trybuild::TestCases::new();
    programs.compile_fail("../compile-fail/*.rs");
    programs.compile_fail("../attacks/*.rs");
    programs.pass("../compile-pass/*.rs");
}

#[test]
fn each_diagnostic_names_its_rule() {
    let mut silent = Vec::new();
    for case in Corpus::read().mistakes {
        let golden = case.golden();
        let text = diagnostic::library_text(&golden);
        if !diagnostic::has_word(&text, &case.rule) {
            silent.push(format!("{}: what the library says is\n{text}", case.path.display()));
        }
        let code = diagnostic::without_comments(&case.source());
        assert!(
            !diagnostic::has_word(&code, &case.rule),
            "{}: the program itself uses the word {}; the library has to say it",
            case.path.display(),
            case.rule
        );
    }
    assert!(silent.is_empty(), "diagnostics without the id of their rule:\n{}", silent.join("\n"));
}

#[test]
fn each_move_of_a_receiver_names_its_rule_and_what_to_write() {
    let silent = index::silent_moves();
    assert!(silent.is_empty(), "methods whose `self` says no rule, or no step: {silent:#?}");
}

#[test]
fn each_mistake_has_its_corrected_twin() {
    let corpus = Corpus::read();
    let names = |cases: &[corpus::Case]| -> BTreeSet<String> {
        cases.iter().map(|case| case.name.clone()).collect()
    };
    let (mistakes, twins) = (names(&corpus.mistakes), names(&corpus.twins));
    let alone: Vec<_> = mistakes.symmetric_difference(&twins).collect();
    assert!(alone.is_empty(), "only in one of compile-fail and compile-pass: {alone:?}");
}

#[test]
fn golden_files_and_programs_come_in_pairs() {
    let orphans = Corpus::read().orphans;
    assert!(orphans.is_empty(), "a file without its partner, or of a foreign kind: {orphans:?}");
}

#[test]
fn each_rule_has_a_mistake() {
    let corpus = Corpus::read();
    let seen: BTreeSet<&str> = corpus.mistakes.iter().map(|case| case.rule.as_str()).collect();
    let missing: Vec<_> = RULES.iter().filter(|rule| !seen.contains(**rule)).collect();
    assert!(missing.is_empty(), "rules without a program in compile-fail: {missing:?}");
}

#[test]
fn each_rule_of_the_types_is_listed() {
    // Those of the host are in its own corpus.
    let of_kernels = |rule: &&rules::Rule| {
        !matches!(rule.how, How::Static | How::Dynamic)
            && rule.excuse.is_empty()
            && !rule.id.starts_with('G')
    };
    let typed: BTreeSet<&str> = rules::ALL.iter().filter(of_kernels).map(|rule| rule.id).collect();
    let listed: BTreeSet<&str> = RULES.iter().copied().collect();
    let differ: Vec<_> = typed.symmetric_difference(&listed).collect();
    assert!(differ.is_empty(), "only in one of the table of rules and `RULES`: {differ:?}");
}

#[test]
fn each_rule_is_shown() {
    let mut bare = Vec::new();
    for (rule, shown) in page::shown() {
        if let Some(lack) = page::lacks(rule, &shown) {
            bare.push(format!("{}: {lack}", rule.id));
        }
        for path in [&shown.emulator, &shown.model, &shown.tests].into_iter().flatten() {
            assert!(page::root().join(path).is_file(), "{}: there is no `{path}`", rule.id);
        }
        for (file, function) in rule.tests {
            let text = std::fs::read_to_string(page::root().join(file)).expect("a readable file");
            let found = text.contains(&format!("fn {function}("));
            assert!(found, "{}: `{file}` has no function `{function}`", rule.id);
        }
    }
    assert!(bare.is_empty(), "{}", bare.join("\n"));
}

#[test]
fn each_rule_has_a_program_of_the_emulator_or_says_why_not() {
    let mut wrong = Vec::new();
    let mut listed = 0;
    for (rule, shown) in page::shown() {
        listed += shown.emulator.len();
        let of_kernels = !rule.id.starts_with('G') && rule.excuse.is_empty();
        if of_kernels && shown.emulator.is_empty() != page::unseen(rule).is_some() {
            wrong.push(rule.id);
        }
    }
    assert!(wrong.is_empty(), "a program and a reason for none, or neither: {wrong:?}");
    // What nobody has written is reported under a name of its own.
    let of_rules = page::hazards().into_iter().filter(|name| !name.starts_with("uninitialised_"));
    assert_eq!(listed, of_rules.count(), "a program whose name begins with no rule");
}

/// Fails unless the file says `page`; writes it where that is asked for.
fn golden(file: &str, page: &str) {
    let path = page::root().join(file);
    if std::env::var_os("BATON_BLESS").is_some() {
        std::fs::write(&path, page).expect("a writable page");
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        there == page,
        "{file} is not what it follows from: run `BATON_BLESS=1 cargo test -p baton-type-tests`"
    );
}

#[test]
fn the_page_of_the_rules_is_up_to_date() {
    golden("docs/rules.md", &page::page());
}

#[test]
fn the_page_of_mnemonics_is_up_to_date() {
    let (page, unknown) = index::mnemonics();
    assert!(unknown.is_empty(), "instructions that no stem in index.rs fits: {unknown:#?}");
    golden("kernel-lib/src/mnemonics.md", &page);
}

#[test]
fn the_table_of_facts_is_up_to_date() {
    golden("kernel-lib/src/facts.md", &index::facts());
}

#[test]
fn each_message_names_a_rule_and_says_what_to_write() {
    let wrong = messages::wrong();
    assert!(wrong.is_empty(), "{} messages:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_page_of_messages_is_up_to_date() {
    golden("docs/diagnostics.md", &messages::page());
}
