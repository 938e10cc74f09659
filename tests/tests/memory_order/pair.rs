//! A twin, what it runs on, and what must not happen.

use std::fs;
use std::sync::OnceLock;

use baton_builder::{Arch, Builder, Ptxas};
use baton_model::kernel::{Argument, KernelThread, Location, Setup, extract, finally};
use baton_model::litmus::Condition;
use baton_model::program::{Program, Space, Type};
use baton_model::scope::{Cluster, Placement};
use baton_model::{Options, Verdict, judge};
use baton_ptx::Module;
use baton_tests::root;

/// The PTX of the twins, built once.
pub fn ptx() -> &'static str {
    static PTX: OnceLock<String> = OnceLock::new();
    PTX.get_or_init(|| {
        let output = Builder::new(root().join("tests/kernels/memory-order"))
            .arch(Arch::Sm100a)
            .target_dir(root().join("target/baton-device"))
            .out_dir(root().join("target/baton-tests/memory-order"))
            .ptxas(Ptxas::Off)
            .build()
            .unwrap_or_else(|error| panic!("{error}"));
        fs::read_to_string(&output.binaries[0].ptx).expect("the builder wrote it")
    })
}

/// `count` words of global memory.
pub fn words(name: &str, count: u32) -> Location {
    let ty = Type { bytes: 4, signed: false };
    Location { name: name.into(), space: Space::Global, ty, elements: count, init: vec![] }
}

/// The dynamic shared memory of a CTA.
pub fn shared(cta: u32, bytes: u32) -> Location {
    let space = Space::Shared(Some(cta));
    Location { space, ..words("baton_dynamic_shared", bytes / 4) }
}

/// A tensor map of a tile of so many bytes.
pub fn map(name: &str, bytes: u32) -> Location {
    Location { space: Space::TensorMap, ..words(name, bytes / 4) }
}

/// An array as the device library passes it: address and length.
pub fn array(name: &str, len: u64) -> Argument {
    Argument::Structure(vec![place(name), Argument::Number(len)])
}

/// The address of a location.
pub fn place(name: &str) -> Argument {
    Argument::Location(name.into())
}

/// A thread of an entry, by its index in CTA `cta`; each CTA is its own cluster.
pub fn thread(entry: &str, cta: u32, tid: u64, arguments: &[Argument]) -> KernelThread {
    let special = |name: &str, value| (name.to_owned(), value);
    KernelThread {
        name: format!("cta{cta}.t{tid}"),
        place: Placement { gpu: 0, cluster: Cluster::Own(cta), cta },
        entry: entry.into(),
        arguments: arguments.to_vec(),
        special: vec![
            special("%tid.x", tid),
            special("%ctaid.x", u64::from(cta)),
            special("%cluster_ctarank", u64::from(cta)),
            special("%nctaid.x", 2),
            special("%nctaid.y", 1),
            special("%nctaid.z", 1),
        ],
    }
}

/// Puts all threads into one cluster.
pub fn in_one_cluster(mut threads: Vec<KernelThread>) -> Vec<KernelThread> {
    for thread in &mut threads {
        thread.place.cluster = Cluster::Declared(0);
    }
    threads
}

/// What is run, and what must not happen.
pub struct Twin {
    /// The kernels whose text may be weakened.
    pub entries: &'static [&'static str],
    /// Threads and memory.
    pub setup: Setup,
    /// Final values that together are the bad outcome.
    pub bad: &'static [(&'static str, u64)],
}

/// A way to weaken PTX.
pub enum Weakened {
    /// Every occurrence of a text becomes another.
    Replaced(&'static str, &'static str),
    /// Only that occurrence, from 0, becomes another.
    One(usize, &'static str, &'static str),
    /// In some other way, that is described.
    By(fn(&str) -> String, &'static str),
}
use Weakened::{By, One, Replaced};

impl Weakened {
    fn apply(&self, text: &str) -> String {
        match self {
            By(change, _) => change(text),
            Replaced(from, to) => text.replace(from, to),
            One(index, from, to) => {
                let at = text.match_indices(from).nth(*index).map(|(at, _)| at);
                at.map_or(text.to_owned(), |at| {
                    format!("{}{to}{}", &text[..at], &text[at + from.len()..])
                })
            }
        }
    }

    fn describe(&self) -> String {
        match self {
            By(_, what) => (*what).to_owned(),
            Replaced(from, to) => format!("`{from}` -> `{to}`"),
            One(index, from, to) => format!("`{from}` number {index} -> `{to}`"),
        }
    }
}

impl Twin {
    fn verdict(&self, ptx: &str) -> Verdict {
        let module = Module::parse(ptx, "memory_order.ptx").unwrap_or_else(|e| panic!("{e}"));
        let program = extract(&module, &self.setup).unwrap_or_else(|error| panic!("{error}"));
        let condition = self.condition(&program);
        judge(&program, &condition, &Options::default()).unwrap_or_else(|error| panic!("{error}"))
    }

    fn can_complete(&self) -> bool {
        let module = Module::parse(ptx(), "memory_order.ptx").unwrap_or_else(|e| panic!("{e}"));
        let program = extract(&module, &self.setup).unwrap_or_else(|error| panic!("{error}"));
        let verdict = judge(&program, &Condition::True, &Options::default());
        verdict.unwrap_or_else(|error| panic!("{error}")).allowed
    }

    fn condition(&self, program: &Program) -> Condition {
        let all = self.bad.iter().map(|(name, value)| finally(program, name, *value));
        Condition::And(all.map(|equal| equal.expect("a location")).collect())
    }

    /// The twin runs, and forbids the bad outcome; and it has no race.
    pub fn forbids(&self) {
        let verdict = self.verdict(ptx());
        assert!(!verdict.allowed, "{:?}: the corrected twin forbids the bad outcome", self.entries);
        assert_eq!(verdict.race, Some(false), "{:?}: and has no race", self.entries);
        // A kernel that cannot run to its end forbids everything.
        let completes = match verdict.executions {
            Some(count) => count > 0,
            None => self.can_complete(),
        };
        assert!(completes, "{:?}: some execution completes", self.entries);
    }

    /// The twin forbids the bad outcome. Other outcomes may well come from races.
    pub fn forbids_in_spite_of_races(&self) {
        assert!(!self.verdict(ptx()).allowed, "{:?}: forbidden", self.entries);
    }

    /// Weakened like this, it still forbids the bad outcome.
    pub fn forbids_though(&self, how: &Weakened) {
        let verdict = self.verdict(&self.weakened(how));
        assert!(!verdict.allowed, "{:?}, {}: forbidden", self.entries, how.describe());
    }

    /// The bad outcome is allowed without a change of the kernel.
    pub fn is_allowed_as_it_is(&self) {
        assert!(self.verdict(ptx()).allowed, "{:?}: allowed", self.entries);
    }

    /// The PTX with one of its kernels weakened.
    fn weakened(&self, how: &Weakened) -> String {
        let mut text = ptx().to_owned();
        for entry in self.entries {
            let head = format!(".entry {entry}(");
            let at = text.find(&head).unwrap_or_else(|| panic!("no kernel {entry}"));
            let end = text[at + 1..].find(".entry ").map_or(text.len(), |next| at + 1 + next);
            text = format!("{}{}{}", &text[..at], how.apply(&text[at..end]), &text[end..]);
        }
        assert!(text != ptx(), "{:?}: nothing to weaken for {}", self.entries, how.describe());
        text
    }

    /// Each of these allows the bad outcome, and is a race.
    pub fn allows(&self, ways: &[Weakened]) {
        for how in ways {
            let verdict = self.verdict(&self.weakened(how));
            let place = format!("{:?}, {}", self.entries, how.describe());
            assert!(verdict.allowed, "{place}: the bad outcome is allowed");
            assert_eq!(verdict.race, Some(true), "{place}: and there is a race");
        }
    }

    /// Each of these allows the bad outcome; the accesses that are to blame are morally strong, and no race.
    pub fn allows_without_race(&self, ways: &[Weakened]) {
        for how in ways {
            let verdict = self.verdict(&self.weakened(how));
            assert!(verdict.allowed, "{:?}, {}: allowed", self.entries, how.describe());
        }
    }

    /// Each of these is a race.
    pub fn races(&self, ways: &[Weakened]) {
        for how in ways {
            let verdict = self.verdict(&self.weakened(how));
            assert_eq!(verdict.race, Some(true), "{:?}, {}: a race", self.entries, how.describe());
        }
    }
}
