//! Reservations with a bug in them: the tests of `reservation/semantics.rs` must see each.
//!
//! A mutant is one edit of the source. All of them, and the original, are compiled beside each other
//! into one test executable, each with its own copy of the tests.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

struct Mutant {
    name: &'static str,
    file: &'static str,
    from: &'static str,
    to: &'static str,
}

const MUTANTS: [Mutant; 16] = [
    Mutant {
        name: "older_evicts_newer",
        file: "slots.rs",
        from: "fence.is_later_or_same(&slot.fence)",
        to: "fence.context() == slot.fence.context()",
    },
    Mutant {
        name: "later_but_not_the_same",
        file: "fence.rs",
        from: "self.sequence() >= other.sequence()",
        to: "self.sequence() > other.sequence()",
    },
    Mutant {
        name: "one_slot_for_all_readers",
        file: "slots.rs",
        from: "(slot.usage >= usage && ",
        to: "(slot.usage == Usage::Read && usage == Usage::Read) || (slot.usage >= usage && ",
    },
    Mutant {
        name: "a_reader_evicts_the_writer",
        file: "slots.rs",
        from: "(slot.usage >= usage && fence",
        to: "(fence",
    },
    Mutant {
        name: "upgrades_are_lost",
        file: "slots.rs",
        from: "slot.usage <= usage && slot.fence.is_later_or_same(fence)",
        to: "slot.fence.is_later_or_same(fence)",
    },
    Mutant {
        name: "a_query_does_not_see_its_own_level",
        file: "usage.rs",
        from: "(2 << self as u8) - 1",
        to: "(1 << self as u8) - 1",
    },
    Mutant {
        name: "writers_ignore_readers",
        file: "usage.rs",
        from: "Self::Write | Self::Overwrite => Usage::Read,\n            Self::Move",
        to: "Self::Write | Self::Overwrite => Usage::Write,\n            Self::Move",
    },
    Mutant {
        name: "a_stream_waits_for_itself",
        file: "plan.rs",
        from: "slot.fence.context() != self.context && ",
        to: "",
    },
    Mutant {
        name: "the_first_of_each_context_instead_of_the_latest",
        file: "merge.rs",
        from: "Some(known) if fence.is_later_or_same(known) => *known = fence.clone(),",
        to: "",
    },
    Mutant {
        name: "reservations_add_up",
        file: "lock.rs",
        from: "self.left.max(count)",
        to: "self.left + count",
    },
    Mutant {
        name: "growing_loses_the_pending",
        file: "slots.rs",
        from: "Status::Pending => larger.push(slot),",
        to: "Status::Pending => {}",
    },
    Mutant {
        name: "every_fence_has_the_whole_budget",
        file: "wait.rs",
        from: "match fence.wait(deadline)?",
        to: "match fence.wait(timeout.and_then(|timeout| Instant::now().checked_add(timeout)))?",
    },
    Mutant {
        name: "no_answer_counts_as_done",
        file: "fence.rs",
        from: "unwrap_or(Status::Pending)",
        to: "unwrap_or(Status::Done)",
    },
    Mutant {
        name: "a_failed_writer_is_forgotten",
        file: "slots.rs",
        from: "self.fail(failure);",
        to: "drop(failure);",
    },
    Mutant {
        name: "a_walk_goes_on_in_a_swapped_list",
        file: "iterate.rs",
        from: "self.next = 0;\n            self.fresh = true;",
        to: "",
    },
    Mutant {
        name: "replace_stops_at_the_first",
        file: "slots.rs",
        from: "replaced += 1;",
        to: "replaced += 1; break;",
    },
];

#[test]
fn every_mutant_is_seen_and_the_original_passes() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mutants");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();

    let mut root = String::from("#![allow(dead_code, unused)]\n");
    let mut include = |name: &str, reservation: PathBuf| {
        let at = |path: &str| package.join(path);
        writeln!(
            root,
            "mod {name} {{
                #[path = {:?}] mod sync;
                #[path = {:?}] mod reservation;
                #[path = {:?}] mod fences;
                #[path = {:?}] mod semantics;
            }}",
            at("src/sync.rs"),
            reservation.join("mod.rs"),
            at("tests/reservation/fences.rs"),
            at("tests/reservation/semantics.rs"),
        )
        .unwrap();
    };
    include("original", package.join("src/reservation"));
    for mutant in &MUTANTS {
        let to = folder.join(mutant.name);
        mutant.write(&package.join("src/reservation"), &to);
        include(mutant.name, to);
    }
    fs::write(folder.join("mutants.rs"), root).unwrap();

    let executable = folder.join("mutants");
    // The module's one dependency is where this test's own are.
    let libraries = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    let bitflags = newest(&libraries, "libbitflags-");
    let built = Command::new(std::env::var_os("RUSTC").unwrap_or("rustc".into()))
        .args(["--edition", "2024", "--test", "--cap-lints", "allow", "-C", "debuginfo=0", "-o"])
        .arg(&executable)
        .arg("--extern")
        .arg(format!("bitflags={}", bitflags.display()))
        .arg(folder.join("mutants.rs"))
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));

    let run = Command::new(&executable).env("RUST_BACKTRACE", "0").output().unwrap();
    let text = String::from_utf8_lossy(&run.stdout);
    let seen_by = |name: &str| {
        let prefix = format!("test {name}::");
        text.lines().filter(|l| l.starts_with(&prefix) && l.ends_with("FAILED")).count()
    };
    let passed = |name: &str| {
        let prefix = format!("test {name}::");
        text.lines().filter(|l| l.starts_with(&prefix) && l.ends_with("ok")).count()
    };
    assert!(passed("original") > 40 && seen_by("original") == 0, "{text}");
    let alive: Vec<_> = MUTANTS.iter().map(|m| m.name).filter(|name| seen_by(name) == 0).collect();
    assert!(alive.is_empty(), "no test sees the bugs {alive:?}");
    for mutant in &MUTANTS {
        println!("{}: seen by {} tests", mutant.name, seen_by(mutant.name));
    }
}

/// The library of this name that was built last.
fn newest(folder: &Path, name: &str) -> PathBuf {
    let libraries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()).filter(|entry| {
        let file = entry.file_name().to_string_lossy().into_owned();
        file.starts_with(name) && file.ends_with(".rlib")
    });
    let last = libraries.max_by_key(|entry| entry.metadata().unwrap().modified().unwrap());
    last.expect("it was built for this test").path()
}

impl Mutant {
    /// Copies the module, with the bug in it.
    fn write(&self, source: &Path, to: &Path) {
        fs::create_dir_all(to).unwrap();
        let mut seeded = 0;
        for entry in fs::read_dir(source).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap();
            let mut text = fs::read_to_string(&path).unwrap();
            if name == self.file {
                seeded = text.matches(self.from).count();
                text = text.replace(self.from, self.to);
            }
            fs::write(to.join(name), text).unwrap();
        }
        assert_eq!(seeded, 1, "{}: the source has changed, and the edit with it", self.name);
    }
}
