//! `docs/diagnostics.md`: of each golden message, whether it names a rule and says what to write.
//!
//! Both are judged on the library's own words, by their form: a rule is one of the table's ids, and a step is a clause in
//! the imperative. What cannot have both says why not, and must not say so longer than it is true.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use crate::corpus::programs_of;
use crate::diagnostic::{Words, has_word, words};
use crate::page::root;
use crate::rules::ALL;

/// One golden message.
pub struct Message {
    /// `compile-fail` or `attacks`.
    pub folder: &'static str,
    /// The program's name.
    pub name: String,
    /// What rustc calls the errors.
    codes: BTreeSet<String>,
    /// Rules that it names.
    rules: Vec<&'static str>,
    /// What it says to write: the clause.
    step: Option<String>,
}

impl Message {
    /// Whether the message names a rule and says what to write.
    pub fn is_whole(&self) -> bool {
        !self.rules.is_empty() && self.step.is_some()
    }

    /// Why the message cannot be whole.
    pub fn excuse(&self) -> Option<&'static str> {
        let of_this = |(_, names): &&(&str, &[&str])| names.contains(&self.name.as_str());
        EXCUSES.iter().find(of_this).map(|(why, _)| *why)
    }
}

/// All golden messages.
pub fn messages() -> Vec<Message> {
    let mut messages = Vec::new();
    for folder in ["compile-fail", "attacks"] {
        for program in programs_of(&root().join("tests").join(folder)) {
            let golden = program.with_extension("stderr");
            let stderr = fs::read_to_string(&golden).expect("a readable golden file");
            messages.push(message(
                folder,
                &program.file_stem().unwrap_or_default().to_string_lossy(),
                &stderr,
            ));
        }
    }
    messages
}

fn message(folder: &'static str, name: &str, stderr: &str) -> Message {
    let said: Vec<Words> = words(stderr);
    let text = said.iter().map(|words| words.text.as_str()).collect::<Vec<_>>().join("\n");
    let codes = said.iter().filter_map(|words| words.code.clone()).collect();
    let rules = ALL.iter().map(|rule| rule.id).filter(|id| has_word(&text, id)).collect();
    let step = said.iter().filter(|words| words.may_be_a_step).find_map(|words| step(&words.text));
    Message { folder, name: name.to_owned(), codes, rules, step }
}

/// The first clause in the imperative.
pub fn step(text: &str) -> Option<String> {
    let mut clauses = text.split_inclusive([':', ';', '.', ',']).map(str::trim);
    clauses
        .find(|clause| {
            let clause =
                clause.strip_prefix("and ").or(clause.strip_prefix("or ")).unwrap_or(clause);
            let (first, rest) = clause.split_once(' ').unwrap_or((clause, ""));
            STEPS.contains(&first) && !rest.starts_with("of ")
        })
        .map(|clause| clause.trim_end_matches([':', ';', '.', ',']).to_owned())
}

/// What a clause that says what to write begins with.
const STEPS: &[&str] = &[
    "add", "ask", "call", "choose", "claim", "copy", "count", "declare", "do", "drain", "elect",
    "end", "exit", "fill", "give", "go", "hand", "join", "keep", "launch", "leave", "let", "load",
    "make", "match", "move", "multiply", "name", "open", "pass", "publish", "put", "raise", "read",
    "release", "return", "round", "share", "split", "start", "store", "take", "use", "wait",
    "write",
];

/// Messages that lack one or the other, and why.
const EXCUSES: &[(&str, &[&str])] = &[
    (
        "an `unsafe` function is called: rustc names it, and quotes nothing of the library",
        &[
            "behind_without_the_wait",
            "claim_atomics_safely",
            "forge_by_conjure",
            "forge_by_dangling",
            "forge_by_maybe_uninit",
            "forge_by_root",
            "forge_by_transmute",
            "forge_by_union",
            "forge_call",
            "forge_flight",
            "forge_parts",
            "instruction_without_unsafe",
            "opt_out_of_reads_order",
        ],
    ),
    (
        "an `unsafe` trait is implemented without the word: rustc names it, and quotes nothing of the library",
        &[
            "format_without_end",
            "implement_field",
            "implement_owner",
            "implement_proofs",
            "implement_role_return",
            "implement_same_set",
            "implement_source",
            "layout_tags_of_ones_own",
        ],
    ),
    (
        "a foreign trait is implemented for a foreign type, which the language forbids whatever they are",
        &[
            "forge_scope_inclusion",
            "implement_fact",
            "implement_may_be_captured",
            "implement_single_thread",
        ],
    ),
    (
        "something private is named: rustc quotes its declaration at most, where no comment has a place",
        &[
            "act_for_a_set",
            "forge_follower",
            "forge_proof_by_assume",
            "global_ptr_by_literal",
            "lead_a_pair_by_literal",
            "view_by_literal",
        ],
    ),
    (
        "a trait of `core` is missing, which the library cannot explain",
        &[
            "clone_endpoint",
            "clone_token",
            "forge_by_default",
            "product_copied",
            "semaphore_twice",
            "take_endpoint",
        ],
    ),
    (
        "a value is used twice and was moved by the program's own code, not by a method whose `self` rustc would quote",
        &[
            "copy_token",
            "endpoint_by_leak",
            "endpoint_in_two_roles",
            "keep_after_commit",
            "side_twice",
            "stage_multiplied_twice",
            "two_maps_in_one_place",
            "view_of_a_group",
            "view_used_twice",
            "words_for_two_launches",
        ],
    ),
    (
        "a value is borrowed twice: the borrow checker speaks of the program's lines alone",
        &[
            "finish_while_held",
            "finish_with_an_open_operand",
            "hold_both_sides",
            "hold_two_attempts",
            "load_while_finished",
            "pair_finish_while_accumulating",
            "view_outlives_its_stage",
        ],
    ),
    (
        "a lifetime is too short or another one: the borrow checker has no words of the library's",
        &[
            "lead_with_another_run_s_proof",
            "other_kernel",
            "other_kernel_s_exit",
            "shorten_brand",
            "stash_endpoint_in_static",
            "stash_in_any",
            "stash_in_thread_local",
            "static_brand",
        ],
    ),
    (
        "the place wants one type and gets another, with no bound between: only the names of the types speak",
        &[
            "all_without_last",
            "ask_from_two_roles",
            "call_the_body",
            "fragment_thrown_away",
            "map_fills_two_rings",
            "map_waits_for_another_ring",
            "relay_end_of_another_role",
            "replace_region",
            "resident_tile_behind_an_older_wait",
            "stage_of_another_ring",
            "swap_rings",
            "view_of_another_set",
        ],
    ),
    (
        "`return;` is refused by the language: a kernel returns what only `exit` makes",
        &["return_early"],
    ),
    ("what can be printed is under no rule", &["format_with_flags", "print_any_address"]),
    (
        "what a macro accepts is under no rule",
        &[
            "kernel_called_like_others",
            "kernel_in_an_impl",
            "kernel_is_no_plain_function",
            "kernels_of_one_name",
            "layout_by_hand",
            "layout_of_two_minds",
        ],
    ),
];

/// The page as it should be.
pub fn page() -> String {
    let messages = messages();
    let mut page = String::from(HEAD);
    for (folder, title) in [("compile-fail", "Mistakes"), ("attacks", "Attacks")] {
        let of_folder: Vec<_> =
            messages.iter().filter(|message| message.folder == folder).collect();
        let whole = of_folder.iter().filter(|message| message.is_whole()).count();
        let _ = write!(page, "\n## {title}: {whole} of {} say both\n\n{TABLE}", of_folder.len());
        for message in of_folder {
            let codes: Vec<_> = message.codes.iter().map(String::as_str).collect();
            let _ = writeln!(
                page,
                "| [{name}](../tests/{folder}/{name}.stderr) | {} | {} | {} | {} |",
                codes.join(", "),
                message.rules.join(", "),
                if message.step.is_some() { "yes" } else { "no" },
                if message.is_whole() { "" } else { message.excuse().unwrap_or("?") },
                name = message.name,
            );
        }
    }
    page
}

/// Rows that the page must not have: without a reason, or with one that is no longer true.
pub fn wrong() -> Vec<String> {
    let messages = messages();
    let lacks = |message: &&Message| !message.is_whole() && message.excuse().is_none();
    let mended = |message: &&Message| message.is_whole() && message.excuse().is_some();
    let mistake =
        |message: &&Message| message.folder == "compile-fail" && message.excuse().is_some();
    let say = |what: &str, message: &Message| {
        let (rules, step) = (message.rules.join(", "), message.step.as_deref().unwrap_or("none"));
        format!("{}/{}: {what} (rules: {rules}; step: {step})", message.folder, message.name)
    };
    let mut wrong: Vec<String> =
        messages.iter().filter(lacks).map(|m| say("lacks a rule or a step", m)).collect();
    wrong.extend(messages.iter().filter(mended).map(|m| say("has both, and a reason why not", m)));
    wrong.extend(messages.iter().filter(mistake).map(|m| say("a mistake has no excuse", m)));
    let there: BTreeSet<&str> = messages.iter().map(|message| message.name.as_str()).collect();
    let names = EXCUSES.iter().flat_map(|(_, names)| names.iter().copied());
    wrong.extend(
        names
            .filter(|name| !there.contains(name))
            .map(|name| format!("{name}: there is no such program")),
    );
    wrong
}

const HEAD: &str = "\
# What the compiler says

Each program in `tests/compile-fail` makes a mistake that a kernel author makes, and each in `tests/attacks` tries in safe
code to get around the types. The page says of each golden message which rules of [rules.md](rules.md) it names, and
whether it says what to write. Only the library's own words count: places and quoted lines of the program are left out,
and so is what rustc says by itself. A mistake must have both. An attack has them where the library has a word in the
message at all; where it has not, the last column says why.

This page is written by a test from the golden files: `BATON_BLESS=1 cargo test -p baton-type-tests`.
";

const TABLE: &str = "\
| program | error | rules | says what to write | why not |
|---|---|---|---|---|
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_a_clause_in_the_imperative() {
        assert!(step("rule D12: a warpgroup starts at four: put it first").is_some());
        assert!(step("call `.wait_ld(&mut wg)`").is_some());
        assert!(step("rule B9: a CTA exits after every copy, and the use of its memory").is_none());
        assert!(step("rule E2: use of registers that were moved").is_none());
    }
}
