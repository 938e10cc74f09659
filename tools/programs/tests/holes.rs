//! The search finds what it is for. Two holes that the library once had are put into a copy of its sources, in the target folder, and
//! programs made as always have to fall into each.

use std::fs;
use std::path::{Path, PathBuf};

use baton_campaign::Campaign;
use baton_programs::batch::{Outcome, Workshop};
use baton_programs::campaign::{report, run};
use baton_programs::judge::End;
use baton_programs::program::{Number, Program};
use baton_programs::root;
use baton_programs::shrink::shrink;

/// A place of the library, and what stood there.
struct Hole {
    file: &'static str,
    now: &'static str,
    then: &'static str,
}

const HOLES: &[Hole] = &[
    // A safe constructor of followers, of any takeover that is nowhere.
    Hole {
        file: "src/takeover.rs",
        now: "    At<'k, Tag, DEPTH, FOLLOWERS, CTAS>\n{\n}\n",
        then: "    At<'k, Tag, DEPTH, FOLLOWERS, CTAS>\n{\n    /// A hole.\n    fn of(base: Addr<SharedCta>) -> Self where Self: Sized {\n\
               // SAFETY: none.\n        unsafe { <Self as At<'k, Tag, DEPTH, FOLLOWERS, CTAS>>::at(base) }\n    }\n}\n",
    },
    // The macro of kernels reads the layout of shared memory in a module of its own, where `super` is another.
    Hole {
        file: "src/entry.rs",
        now: "                        const $crate::macro_support::bytes::<$launched>(),\n                        const 0 ",
        then: "                        const nested::BYTES,\n                        const 0 ",
    },
    Hole {
        file: "src/entry.rs",
        now: "                const { $crate::macro_support::in_order([$($index),*]) };\n                // SAFETY: comments.\n",
        then: "                const { $crate::macro_support::in_order([$($index),*]) };\n\
               mod nested { use super::*; pub const BYTES: u32 = $crate::macro_support::bytes::<$launched>(); }\n\
               // SAFETY: comments.\n",
    },
];

/// Programs of the kernel with followers. Which of them find a hole changes with the kernels, the moves and the edits; some do.
const PROGRAMS: u64 = 60;

/// Programs with names in the way, of which a seventh mean another layout.
const NAMES: u64 = 40;

/// A copy of the library with the holes in it.
fn library() -> PathBuf {
    let copy = root().join("target/programs/holes/library");
    copy_folder(&root().join("kernel-lib"), &copy);
    for hole in HOLES {
        let path = copy.join(hole.file);
        let text = fs::read_to_string(&path).unwrap();
        let count = text.matches(hole.now).count();
        assert_eq!(count, 1, "{}: `{}` has to stand there once", hole.file, hole.now);
        write(&path, &text.replace(hole.now, hole.then));
    }
    for manifest in [copy.join("Cargo.toml"), copy.join("macros/Cargo.toml")] {
        let text = fs::read_to_string(&manifest).unwrap();
        let lines = text.lines().map(|line| match line {
            "version.workspace = true" => "version = \"0.1.0\"",
            "edition.workspace = true" => "edition = \"2024\"",
            "license.workspace = true" => "license = \"MIT OR Apache-2.0\"",
            "baton-macros.workspace = true" => "baton-macros = { path = \"macros\" }",
            "[lints]" | "workspace = true" => "",
            other => other,
        });
        let mut text = lines.collect::<Vec<_>>().join("\n");
        if manifest.parent() == Some(&*copy) {
            // rustdoc is asked about it by itself.
            text += "\n\n[workspace]\n";
        }
        write(&manifest, &text);
    }
    copy
}

/// Writes what has changed only, since cargo looks at the time.
fn write(path: &Path, text: &str) {
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return;
    }
    fs::write(path, text).unwrap();
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_folder(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

/// The rules that programs of a kernel are found to break.
fn rules(name: &str, kernel: &str, programs: u64, library: &Path) -> Vec<String> {
    let mut workshop = Workshop::with(name, library.to_owned()).unwrap().only(&[kernel]);
    workshop.target = root().join("target/programs/holes/check");
    let campaign = Campaign::new(&format!("{kernel} with holes"), programs, programs);
    let tally = run(&workshop, &campaign, 0..programs, |_, _| Ok(())).unwrap();
    let rule = |outcome: &Outcome| match &outcome.end {
        End::Wrong(wrong) => wrong.rule.clone(),
        other => panic!("{other}"),
    };
    let found: Vec<String> = tally.wrong.iter().map(rule).collect();
    println!("{kernel}: {}; {found:?}", tally.line());
    // Fewer edits show the same; one is enough for either hole. A name in the way is no edit.
    let edited = tally.wrong.iter().filter(|outcome| !outcome.program.edits.is_empty());
    if let Some(most) = edited.max_by_key(|outcome| outcome.program.edits.len()) {
        let least = shrink(&workshop, most, &campaign).unwrap();
        println!("{}", report(&workshop, &least));
        assert_eq!(rule(&least), rule(most));
        assert_eq!(least.program.edits.len(), 1);
        let statements = |outcome: &Outcome| outcome.program.made(&workshop.material).len();
        assert!(statements(&least) <= statements(most));
    }
    found
}

#[test]
fn what_was_a_hole_is_found() {
    let library = library();
    // What is no follower's is read and arrived on.
    let followers = rules("holes-followers", "copies", PROGRAMS, &library);
    assert!(!followers.is_empty(), "{followers:?}");
    // A kernel is launched with less shared memory than it uses.
    let nested = meant(&library);
    assert!(nested.iter().any(|rule| rule == "meaning" || rule == "out-of-bounds"), "{nested:?}");
}

/// The rules that programs with names in the way are found to break.
fn meant(library: &Path) -> Vec<String> {
    let mut workshop =
        Workshop::with("holes-names", library.to_owned()).unwrap().only(&["reverse", "exchanges"]);
    workshop.target = root().join("target/programs/holes/check");
    let campaign = Campaign::new("names in the way, with holes", NAMES, NAMES);
    let numbers = (0..NAMES).map(|case| Number { seed: campaign.seed(), case });
    let programs: Vec<Program> =
        numbers.map(|number| Program::in_the_way(number, &workshop.material)).collect();
    let outcomes = workshop.run(programs, &campaign).unwrap();
    let mut found = Vec::new();
    for outcome in &outcomes {
        if let End::Wrong(wrong) = &outcome.end {
            println!("{}: {}; {:?}", outcome.program.number, wrong.rule, outcome.notes);
            found.push(wrong.rule.clone());
            assert!(outcome.notes[0].contains("super::M"), "{}", report(&workshop, outcome));
        }
    }
    found
}
