//! The checker is itself mutated: without any one of its clauses, some file of the corpus gets another
//! verdict. What no file can see is implied by the others: it is listed with the proof, and the checker without it is
//! compared with the whole one on random programs.

use std::collections::BTreeMap;
use std::fs;

use baton_model::{Clause, Clauses, Options, judge};

use crate::corpus;

/// Clauses that no verdict depends on, because the others imply them; and the proof.
pub const IMPLIED: &[(Clause, &str)] = &[
    (
        Clause::StrongProgramOrder,
        "two overlapping operations of one thread are ordered by program order, so by causality, and by Coherence and \
         Causality their communication agrees with it. A cycle of SC per location may then go through program order \
         instead. Nor can RMW atomicity be broken within one thread. What is left is observation: a weak write that its own \
         thread's atomic read, observed by a strong read elsewhere. That read races with the write unless base causality \
         orders the two; then all that the observation would order is ordered by base causality as well",
    ),
    (
        Clause::ReleaseStrong,
        "observation begins with a morally strong read. Of a weak write that is one of the same thread, and if the chain is to \
         lead out of the thread, an atomic's. That atomic's own strong write is behind the same first instruction, and ends a \
         pattern with it, which the same reads observe",
    ),
    (
        Clause::FenceSc,
        "if causality orders F1 before F2 and Fence-SC F2 before F1, then F2 synchronises with F1, and base causality has \
         a cycle, which BaseAcyclic forbids",
    ),
    (
        Clause::SingleCopyAtomicity,
        "a read that takes one byte from a morally strong write and another from before it, reads from that write and is \
         from-read before it: a cycle of two, which SC per location forbids",
    ),
];

/// For each clause the first file that dies without it.
fn killers() -> BTreeMap<&'static str, Option<String>> {
    let tests = corpus::tests();
    let answer = |options: &Options, test: &baton_model::litmus::Test| {
        judge(&test.program, &test.condition, options).map(|v| (v.allowed, v.race))
    };
    let usual: Vec<_> = tests.iter().map(|(_, test)| answer(&Options::default(), test)).collect();
    let killer = |clause: Clause| {
        // What a mutant cannot judge soon is left to other files.
        let options =
            Options { clauses: Clauses::without(clause), budget: 2_000, ..Options::default() };
        let mut pairs = tests.iter().zip(&usual);
        // No verdict is none at all: such a file does not see the clause.
        let found = pairs.find(|((_, test), usual)| {
            let answer = answer(&options, test);
            answer.is_ok() && answer != **usual
        });
        (clause.name(), found.map(|((file, _), _)| file.clone()))
    };
    // Two halves at once: the longest of these tests.
    let (some, others) = Clause::ALL.split_at(Clause::ALL.len() / 2);
    std::thread::scope(|scope| {
        let half = scope.spawn(|| some.iter().map(|clause| killer(*clause)).collect::<Vec<_>>());
        let mut all: BTreeMap<_, _> = others.iter().map(|clause| killer(*clause)).collect();
        all.extend(half.join().expect("a half"));
        all
    })
}

#[test]
fn every_clause_has_a_file_that_dies_without_it() {
    let found = killers();
    let mut alive = vec![];
    for clause in Clause::ALL {
        let implied = IMPLIED.iter().any(|(known, _)| known == clause);
        let file = &found[clause.name()];
        if file.is_none() != implied {
            alive.push(format!("{} ({}): {file:?}", clause.name(), clause.text()));
        }
    }
    assert!(alive.is_empty(), "clauses that nothing sees:\n{}", alive.join("\n"));

    let table = table(&found);
    let path = corpus::root().join("../../docs/memory-model/clauses.md");
    if std::env::var_os("BATON_BLESS").is_some() {
        fs::write(&path, &table).expect("writable docs");
    }
    let present = fs::read_to_string(&path).unwrap_or_default();
    assert!(present == table, "{} is out of date: BATON_BLESS=1 writes it again", path.display());
}

/// The table for the documentation.
fn table(found: &BTreeMap<&'static str, Option<String>>) -> String {
    let mut text = String::from(
        "# Clauses of the memory model, and the test that dies without each\n\n\
         Made by `BATON_BLESS=1 cargo test -p baton-model mutants`. Files are below `tests/litmus`.\n\n\
         | clause | section | says | dies without it |\n|---|---|---|---|\n",
    );
    for clause in Clause::ALL {
        let killer = match &found[clause.name()] {
            Some(file) => format!("`{file}`"),
            None => {
                let reason =
                    IMPLIED.iter().find(|(known, _)| known == clause).map(|(_, reason)| *reason);
                format!("implied: {}", reason.unwrap_or_default())
            }
        };
        text += &format!(
            "| {} | {} | {} | {killer} |\n",
            clause.name(),
            clause.section(),
            clause.text()
        );
    }
    text
}

/// Where an implied axiom shows: when what implies it goes too.
#[test]
fn implied_axioms_show_elsewhere() {
    let test =
        |text: &str| baton_model::litmus::Test::parse(text, "inline").expect("a litmus test");
    let fences = test(
        "thread T0 cta=0:
           fence.sc.gpu
           bar.sync 0
         thread T1 cta=0:
           bar.sync 0
           fence.sc.gpu
         exists: true",
    );
    let executions = |clauses| {
        let options = Options { clauses, ..Options::default() };
        judge(&fences.program, &fences.condition, &options).expect("a verdict").executions
    };
    assert_eq!(executions(Clauses::default()), Some(1));
    assert_eq!(executions(Clauses::without(Clause::FenceSc)), Some(1));
    assert_eq!(executions(Clauses::without(Clause::BaseAcyclic)), Some(1));
    let neither = Clauses::without(Clause::FenceSc).and_without(Clause::BaseAcyclic);
    assert_eq!(executions(neither), Some(2));

    let torn = test(
        "location x global u64 = 0
         thread T0 cta=0:
           st.relaxed.gpu.u64 [x], 0x0000000200000001
         thread T1 cta=1:
           ld.relaxed.gpu.u64 r0, [x]
         exists: T1:r0 == 1",
    );
    let allowed = |clauses| {
        let options = Options { clauses, ..Options::default() };
        judge(&torn.program, &torn.condition, &options).expect("a verdict").allowed
    };
    assert!(!allowed(Clauses::without(Clause::SingleCopyAtomicity)));
    assert!(!allowed(Clauses::without(Clause::ScPerLocation)));
    let both = Clauses::without(Clause::SingleCopyAtomicity).and_without(Clause::ScPerLocation);
    assert!(allowed(both));
}
