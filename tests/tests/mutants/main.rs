//! Proof that the emulator sees: every fence, wait, commit and hand-over of the examples' kernels is left out or weakened
//! in the emitted PTX, one at a time. Within two hundred schedules the emulator reports a hazard, an error or a deadlock,
//! or the result is wrong; or else the mutant is proved to be no mistake. And it says nothing of the kernels as they are.
//!
//! A sample of the mutants runs each time, all of them in a long campaign; then
//!
//! ```sh
//! BATON_LONG=1 BATON_BLESS=1 cargo test --release -p baton-tests --test mutants
//! ```
//!
//! also writes the table `docs/emulator-mutants.md`, and the one of the kernels' twins in CUDA C++ into `docs/sass.md`. `BATON_KERNEL=name` runs those of one kernel.

mod mutation;
mod pattern;
mod proof;
mod subject;

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::ops::Range;

use baton_campaign::{Campaign, is_long};
use baton_tests::root;
use mutation::{Mutant, mutants};
use pattern::{PATTERNS, Pattern};
use proof::Kernel;
use subject::Subject;

/// Schedules in which a mutant has to be noticed.
const SEEDS: u64 = 200;
/// Schedules under which the kernels as they are run silently; and in the long run.
const SILENT: u64 = 60;
const SILENT_LONG: u64 = 10_000;
/// Schedules of which one was once reported falsely; they run each time.
const REPORTED: [u64; 10] = [2384, 3176, 3926, 4986, 5559, 5781, 8225, 8238, 8907, 9185];
/// In a sample, one mutant in so many runs.
const SAMPLE: usize = 12;

/// These, or the one that `BATON_KERNEL` names.
fn chosen(mut subjects: Vec<Subject>) -> Vec<Subject> {
    if let Ok(kernel) = env::var("BATON_KERNEL") {
        subjects.retain(|subject| subject.kernel == kernel);
    }
    subjects
}

/// Between these lines of `docs/sass.md` is the table of the twins' mutants.
const TABLE: &str = "<!-- mutants of the twins, written by the test `mutants` -->";
const TABLE_END: &str = "<!-- end of the mutants -->";

/// What became of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Noticed,
    /// To be no mistake, by the ways through its code.
    ByTheCode(&'static str),
    /// By the model, with a pattern, by its position in the list.
    ByTheModel(usize),
    Missed,
}

/// Kernels whose mutants have to be noticed, and what is known of those that are not.
struct Hunt {
    name: &'static str,
    subjects: Vec<Subject>,
    /// Whether nothing in them is superfluous, so that a proof that something is does not help.
    minimal: bool,
    patterns: &'static [Pattern],
    /// Makes of a page as it is, in `docs`, one with the table.
    page: &'static str,
    write: fn(&str, &Table) -> String,
}

impl Hunt {
    fn judge(&self, subject: &Subject, kernel: &Kernel, mutant: &Mutant) -> Verdict {
        let loaded = subject
            .load(mutant.ptx.clone())
            .unwrap_or_else(|error| panic!("{}, {mutant}: {error}", subject.kernel));
        let found = (0..SEEDS).find_map(|seed| Some((seed, subject.wrong(&loaded, seed)?)));
        if let Some((seed, how)) = found {
            let how = how.lines().next().unwrap_or_default().to_owned();
            println!("{}, {mutant}: seed {seed}: {how}", subject.kernel);
            assert!(!how.contains("unknown instruction"), "{}, {mutant}: {how}", subject.kernel);
            let proof = kernel.proof(mutant);
            assert_eq!(proof, None, "{}, {mutant}: proved to be no mistake", subject.kernel);
            return Verdict::Noticed;
        }
        if self.minimal {
            return Verdict::Missed;
        }
        if let Some(why) = kernel.proof(mutant) {
            return Verdict::ByTheCode(why);
        }
        let is_its = |pattern: &Pattern| {
            pattern.is_of(subject.kernel, mutant) && pattern.proves(kernel, mutant)
        };
        self.patterns.iter().position(is_its).map_or(Verdict::Missed, Verdict::ByTheModel)
    }

    fn run(&self) {
        let cases: Vec<(&Subject, Kernel, Vec<Mutant>)> = self
            .subjects
            .iter()
            .map(|subject| {
                let Subject { kernel, ptx, .. } = subject;
                (subject, Kernel::new(ptx, kernel), mutants(ptx, kernel))
            })
            .collect();
        let all = cases.iter().flat_map(|(s, k, mutants)| mutants.iter().map(move |m| (*s, k, m)));
        let all: Vec<_> = all.collect();
        let sample = all.len().div_ceil(SAMPLE) as u64;
        let campaign = Campaign::new(self.name, sample, all.len() as u64);
        let chosen: Vec<_> = all.into_iter().step_by(if is_long() { 1 } else { SAMPLE }).collect();
        assert_eq!(chosen.len() as u64, campaign.cases());
        let verdicts =
            campaign.each(&chosen, |(subject, kernel, mutant)| self.judge(subject, kernel, mutant));

        let mut table = Table::default();
        let mut survivors = Vec::new();
        for ((subject, _, mutant), verdict) in chosen.iter().zip(&verdicts) {
            table.add(self.patterns, subject.kernel, mutant, *verdict);
            if *verdict == Verdict::Missed {
                survivors.push(format!("{}, {mutant}", subject.kernel));
            }
        }
        assert!(
            survivors.is_empty(),
            "{} are neither noticed nor proved to be no mistakes:\n{}",
            survivors.len(),
            survivors.join("\n")
        );
        if !is_long() {
            return;
        }
        if env::var_os("BATON_KERNEL").is_some() {
            println!("{}", table.page());
            return;
        }
        let path = root().join("docs").join(self.page);
        let old = fs::read_to_string(&path).unwrap_or_default();
        let new = (self.write)(&old, &table);
        if env::var_os("BATON_BLESS").is_some() {
            fs::write(path, new).expect("the table can be written");
        } else {
            assert!(old == new, "the table has changed:\n{new}");
        }
        let mut idle = Vec::new();
        for (at, pattern) in self.patterns.iter().enumerate() {
            for kernel in pattern.kernels {
                if !table.patterns.contains(&(at, (*kernel).to_owned())) {
                    idle.push(format!("{kernel}, `{}`: pattern {at}", pattern.instruction));
                }
            }
        }
        assert!(idle.is_empty(), "nothing needs these patterns:\n{}", idle.join("\n"));
    }
}

#[test]
fn every_broken_hand_over_is_noticed() {
    Hunt {
        name: "mutants of kernels that have to be noticed or proved",
        subjects: chosen(subject::all()),
        minimal: false,
        patterns: PATTERNS,
        page: "emulator-mutants.md",
        write: |_, table| table.page(),
    }
    .run();
}

#[test]
fn every_broken_hand_over_of_the_twins_is_noticed() {
    Hunt {
        name: "mutants of the twins in CUDA C++ that have to be noticed",
        subjects: chosen(subject::twins()),
        minimal: true,
        patterns: &[],
        page: "sass.md",
        write: |page, table| {
            let (before, rest) = page.split_once(TABLE).expect("the page marks the table's place");
            let (_, after) = rest.split_once(TABLE_END).expect("and its end");
            format!("{before}{TABLE}\n{}{TABLE_END}{after}", table.rows())
        },
    }
    .run();
}

#[test]
fn nothing_is_said_of_correct_kernels() {
    let name = "schedules under which a correct kernel is silent";
    nothing_is_said_of(Campaign::new(name, SILENT, SILENT_LONG), subject::all());
}

#[test]
fn nothing_is_said_of_correct_twins() {
    let name = "schedules under which a correct twin is silent";
    nothing_is_said_of(Campaign::new(name, SILENT, SILENT_LONG), subject::twins());
}

#[test]
fn the_second_road_leads_to_the_same_values() {
    let name = "schedules under which what libNVVM has compiled is right and silent";
    nothing_is_said_of(Campaign::new(name, 10, 100), subject::by_libnvvm());
}

fn nothing_is_said_of(campaign: Campaign, subjects: Vec<Subject>) {
    let subjects = chosen(subjects);
    let seeds = campaign.cases();
    let blocks: Vec<(&Subject, Range<u64>)> = subjects
        .iter()
        .flat_map(|subject| {
            (0..seeds)
                .step_by(SILENT as usize)
                .map(move |first| first..seeds.min(first + SILENT))
                .chain(REPORTED.map(|seed| seed..seed + 1))
                .map(move |seeds| (subject, seeds))
        })
        .collect();
    let said = campaign.each(&blocks, |(subject, seeds)| {
        let loaded = subject.load(subject.ptx.clone()).expect("valid PTX");
        let found = seeds.clone().find_map(|seed| Some((seed, subject.wrong(&loaded, seed)?)));
        found.map(|(seed, how)| format!("{}, seed {seed}: {how}", subject.kernel))
    });
    let said: Vec<String> = said.into_iter().flatten().collect();
    assert!(said.is_empty(), "{}", said.join("\n\n"));
}

/// What became of all mutants.
#[derive(Default)]
struct Table {
    /// By kernel: mutants, noticed, proved from the code, proved by the model, missed.
    counts: BTreeMap<String, [usize; 5]>,
    /// Proofs, each with the mutants that it is for: from the code, and by the model.
    proofs: [BTreeMap<String, BTreeSet<String>>; 2],
    patterns: BTreeSet<(usize, String)>,
}

impl Table {
    fn add(&mut self, patterns: &[Pattern], kernel: &str, mutant: &Mutant, verdict: Verdict) {
        let counts = self.counts.entry(kernel.to_owned()).or_default();
        counts[0] += 1;
        let name =
            format!("`{kernel}`: `{}` {} {}", mutant.mnemonic(), mutant.number, mutant.mutation);
        match verdict {
            Verdict::Noticed => counts[1] += 1,
            Verdict::ByTheCode(why) => {
                counts[2] += 1;
                self.proofs[0].entry(why.to_owned()).or_default().insert(name);
            }
            Verdict::ByTheModel(at) => {
                counts[3] += 1;
                self.patterns.insert((at, kernel.to_owned()));
                self.proofs[1].entry(patterns[at].text()).or_default().insert(name);
            }
            Verdict::Missed => counts[4] += 1,
        }
    }

    fn rows(&self) -> String {
        let mut text = String::from(
            "| kernel | mutants | noticed | proved from the code | proved by the model | missed |\n\
             |---|--:|--:|--:|--:|--:|\n",
        );
        let mut sum = [0; 5];
        for (kernel, counts) in &self.counts {
            let [all, noticed, code, model, missed] = counts;
            let _ =
                writeln!(text, "| `{kernel}` | {all} | {noticed} | {code} | {model} | {missed} |");
            (0..5).for_each(|i| sum[i] += counts[i]);
        }
        let [all, noticed, code, model, missed] = sum;
        let _ = writeln!(text, "| all | {all} | {noticed} | {code} | {model} | {missed} |");
        text
    }

    fn page(&self) -> String {
        let mut text = String::from(
            "<!-- Generated: BATON_LONG=1 BATON_BLESS=1 cargo test --release -p baton-tests --test mutants -->\n\
             # What the emulator notices\n\n\
             Every fence, wait, commit, hand-over, scope, byte count and parity in the PTX of the examples' kernels is left \
             out\nor weakened, one at a time, and run under `strict` with up to 200 schedules. A mutant is *noticed* if a \
             run reports a\nhazard, an error or a deadlock, or computes something wrong. Every other one is proved to be no \
             mistake, and the test makes\nthe proofs. *From the code*: what the instruction would order or wait for is on no \
             way through the emitted code. *By the\nmodel*: a litmus test in `tests/litmus/kernels` is what the kernel does \
             around the instruction; with the same change the memory\nmodel (`verify/model`) finds no new outcome and no \
             race in it, and weakened further it does.\n\n",
        );
        text += &self.rows();
        let heads = ["Proved from the code", "Proved by the model"];
        text += "\nThe number says which of the kernel's instructions of that name it is.\n";
        for (head, proofs) in heads.iter().zip(&self.proofs) {
            let _ = write!(text, "\n## {head}\n");
            for (why, mutants) in proofs {
                let _ = write!(text, "\n**{why}**\n\n");
                for mutant in mutants {
                    let _ = writeln!(text, "* {mutant}");
                }
            }
        }
        text
    }
}
