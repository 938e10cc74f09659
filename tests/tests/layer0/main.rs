//! The instruction layer: what each function becomes, and whether what its documentation claims is
//! true.
//!
//! A kernel crate (`tests/kernels/forms`) calls every function of `baton::ptx` with every choice of
//! its qualifiers. From the PTX that the builder makes of it comes one table, folded over the
//! qualifiers, `kernel-lib/src/ptx/forms.md`; it is part of the documentation, and a change of it is
//! reviewed like a change of code:
//!
//! ```text
//! BATON_BLESS=1 cargo test -p baton-tests --test layer0
//! ```
//!
//! The ISA version and the targets in it are those that each function's documentation claims. ptxas
//! says whether they are right, for each call in both directions: it assembles what is claimed and
//! refuses what is not.

mod atomics;
mod claims;
mod convergence;
mod docs;
mod emitted;
mod emulated;
mod machine;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use baton_builder::{Arch, Builder, Ptxas};
use baton_tests::root;

use claims::TARGETS;
use docs::Documentation;
use emitted::{Emitted, Form};

/// The forms as they were emitted, built once for all tests.
fn emitted() -> &'static Emitted {
    static EMITTED: OnceLock<Emitted> = OnceLock::new();
    EMITTED.get_or_init(|| Emitted::parse(&ptx("forms", Arch::Sm100a)))
}

/// What rustdoc says of the functions.
fn documentation() -> &'static Documentation {
    static DOCUMENTATION: OnceLock<Documentation> = OnceLock::new();
    DOCUMENTATION.get_or_init(Documentation::read)
}

/// The PTX of a crate in `tests/kernels`.
fn ptx(name: &str, arch: Arch) -> String {
    let output = Builder::new(root().join("tests/kernels").join(name))
        .arch(arch)
        .target_dir(root().join("target/baton-device"))
        .out_dir(root().join("target/baton-tests").join(name))
        // The forms belong to different targets: no one of them takes them all.
        .ptxas(Ptxas::Off)
        .build()
        .unwrap_or_else(|error| panic!("{name} for {arch}: {error}"));
    fs::read_to_string(&output.binaries[0].ptx).expect("the builder wrote it")
}

#[test]
fn every_documented_form_is_called() {
    let called: BTreeSet<_> = emitted().forms.iter().map(|form| &*form.path).collect();
    let documented: BTreeSet<_> = documentation().forms().map(|function| &*function.path).collect();
    let uncalled: Vec<_> = documented.difference(&called).collect();
    assert!(uncalled.is_empty(), "no kernel in tests/kernels/forms calls {uncalled:?}");
    let undocumented: Vec<_> = called.difference(&documented).collect();
    assert!(undocumented.is_empty(), "these do not say which PTX they emit: {undocumented:?}");
}

#[test]
fn every_function_says_what_it_emits() {
    let mut problems = Vec::new();
    for function in documentation().forms() {
        problems.extend(function.problems());
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn table_is_up_to_date() {
    let path = root().join("kernel-lib/src/ptx/forms.md");
    golden(&path, &table::render(emitted(), documentation()));
}

/// Compares a text with the file that keeps it, or writes the file with `BATON_BLESS=1`.
fn golden(path: &Path, text: &str) {
    if std::env::var_os("BATON_BLESS").is_some() {
        fs::write(path, text).expect("the golden file can be written");
    }
    let kept = fs::read_to_string(path).unwrap_or_default();
    let differences: Vec<_> = difference(&kept, text).take(40).collect();
    assert!(
        differences.is_empty(),
        "{} differs from what is emitted now:\n{}\n\
         look at each line; if all are meant: BATON_BLESS=1 cargo test -p baton-tests --test layer0",
        path.display(),
        differences.join("\n")
    );
}

/// Lines that only one of the texts has.
fn difference<'a>(old: &'a str, new: &'a str) -> impl Iterator<Item = String> + 'a {
    let lines = |text: &'a str| text.lines().collect::<BTreeSet<_>>();
    let (before, after) = (lines(old), lines(new));
    let gone: Vec<_> = before.difference(&after).map(|line| format!("- {line}")).collect();
    let come: Vec<_> = after.difference(&before).map(|line| format!("+ {line}")).collect();
    gone.into_iter().chain(come)
}

#[test]
fn collectives_are_tagged_and_nothing_else() {
    for form in &emitted().forms {
        let names: Vec<_> = form.instructions().map(emitted::mnemonic).collect();
        let together = names.iter().copied().filter(|name| emitted::is_collective(name));
        let together: Vec<_> = together.collect();
        assert_eq!(form.tags.len(), together.len(), "{}: {} ", form.call(), form.text);
        for (tag, name) in form.tags.iter().zip(together) {
            assert!(
                claims::has(&format!(".{name}"), tag),
                "{}: `{name}` is tagged {tag}",
                form.call()
            );
        }
    }
}

#[test]
fn claims_are_those_of_the_assembler() {
    let assembler = machine::Assembler::find();
    let (emitted, documentation) = (emitted(), documentation());
    let since = assembler.since(emitted);
    let mut wrong = Wrong::default();
    for form in &emitted.forms {
        let claim = documentation.claim(form);
        let Some(&needed) = since.get(&form.number) else { continue };
        // ptxas is lenient in places about a qualifier that the ISA has since later.
        let own = documentation.own_claim(form).version.max(machine::OLDEST);
        if claim.version.max(machine::OLDEST) < needed || own > needed {
            let text = format!("PTX {}.{} claimed", claim.version.0, claim.version.1);
            wrong.note(form, format!("{text}, ptxas wants {}.{}", needed.0, needed.1));
        }
    }
    for target in TARGETS {
        let claimed = |form: &Form| documentation.claim(form).targets.contains(&target);
        let refused = assembler.refused(emitted, target, |_| true);
        for form in &emitted.forms {
            match refused.get(&form.number) {
                Some(reason) if claimed(form) => {
                    wrong.note(form, format!("claimed for {target}, refused: {reason}"));
                }
                None if !claimed(form) => {
                    wrong.note(form, format!("not claimed for {target}, which takes it"));
                }
                _ => {}
            }
        }
    }
    wrong.report();
}

/// What is claimed is not only parsed: code is generated for it.
#[test]
fn claimed_forms_assemble_to_machine_code() {
    let assembler = machine::Assembler::find();
    let mut wrong = Wrong::default();
    for target in TARGETS {
        let claimed = |form: &Form| documentation().claim(form).targets.contains(&target);
        let count = emitted().forms.iter().filter(|form| claimed(form)).count();
        assert!(count > 0, "nothing is claimed for {target}");
        for (number, reason) in assembler.refused(emitted(), target, claimed) {
            wrong.note(&emitted().forms[number], format!("{target}: {reason}"));
        }
    }
    wrong.report();
}

/// Complaints, with the forms that they are true of.
#[derive(Default)]
struct Wrong(BTreeMap<(String, String), Vec<String>>);

impl Wrong {
    fn note(&mut self, form: &Form, what: String) {
        self.0.entry((form.path.clone(), what)).or_default().push(form.call());
    }

    fn report(self) {
        let mut text = String::new();
        for ((path, what), calls) in &self.0 {
            text += &format!("{path}: {what}\n    {} calls, such as {}\n", calls.len(), calls[0]);
        }
        assert!(self.0.is_empty(), "{text}");
    }
}
