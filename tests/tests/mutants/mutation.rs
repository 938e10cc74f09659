//! What is done to an instruction: every way to leave out or weaken a fence, a wait, a commit, a hand-over, its scope,
//! its order, its bytes or its parity.

use std::fmt;

use baton_ptx::{Instruction, Module};

/// One way to break an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mutation {
    /// It is not there; what it would have answered is what lets the thread go on.
    LeftOut,
    /// It has no order: `.relaxed`.
    Relaxed,
    /// Of two directions it keeps acquiring.
    OnlyAcquires,
    /// Of two directions it keeps releasing.
    OnlyReleases,
    /// Its scope is the CTA.
    OfTheCta,
    /// A wait for the other parity, so that it is one phase off.
    OtherParity,
    /// An arrival does not say which bytes are on their way.
    NoBytes,
    /// An arrival expects 16 bytes fewer than come.
    FewerBytes,
    /// A wait for groups lets one more be open.
    OneGroupLess,
    /// A wait for groups waits only for what they read.
    OnlyReads,
    /// A proxy fence for another space.
    OtherSpace,
}

impl Mutation {
    pub const ALL: [Mutation; 11] = [
        Mutation::LeftOut,
        Mutation::Relaxed,
        Mutation::OnlyAcquires,
        Mutation::OnlyReleases,
        Mutation::OfTheCta,
        Mutation::OtherParity,
        Mutation::NoBytes,
        Mutation::FewerBytes,
        Mutation::OneGroupLess,
        Mutation::OnlyReads,
        Mutation::OtherSpace,
    ];
}

impl fmt::Display for Mutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mutation::LeftOut => "left out",
            Mutation::Relaxed => "relaxed",
            Mutation::OnlyAcquires => "only acquires",
            Mutation::OnlyReleases => "only releases",
            Mutation::OfTheCta => "scope of the CTA",
            Mutation::OtherParity => "other parity",
            Mutation::NoBytes => "no bytes",
            Mutation::FewerBytes => "fewer bytes",
            Mutation::OneGroupLess => "one group less",
            Mutation::OnlyReads => "only reads",
            Mutation::OtherSpace => "another space",
        })
    }
}

/// An instruction's text in parts.
struct Parts<'a> {
    instruction: &'a Instruction,
    mnemonic: &'a str,
    operands: &'a str,
}

impl Parts<'_> {
    fn is(&self, opcode: &str, modifier: &str) -> bool {
        self.instruction.opcode() == opcode
            && (modifier.is_empty() || self.instruction.has(modifier))
    }

    /// The operands, as long as none of them is a vector.
    fn operand(&self, at: usize) -> Option<&str> {
        self.operands.split(',').nth(at).map(str::trim)
    }

    fn with(&self, mnemonic: &str) -> Option<String> {
        (mnemonic != self.mnemonic).then(|| format!("{mnemonic} {};", self.operands))
    }

    fn with_modifier(&self, from: &str, to: &str) -> Option<String> {
        let has = self.instruction.modifiers().any(|m| m == from);
        has.then(|| self.with(&self.mnemonic.replace(&format!(".{from}"), to)))?
    }

    /// Whether it synchronises: mutating it is a mistake with synchronisation.
    fn synchronises(&self) -> bool {
        let has = |modifier| self.instruction.has(modifier);
        let strong = ["acquire", "release", "acq_rel", "relaxed", "sc"].into_iter().any(has);
        match self.instruction.opcode() {
            "fence" | "membar" | "mbarrier" | "bar" | "barrier" => true,
            "ld" | "st" | "atom" | "red" => strong,
            _ => false,
        }
    }

    fn left_out(&self) -> Option<String> {
        let nothing = Some(String::new());
        let has = |modifier| self.instruction.has(modifier);
        match self.instruction.opcode() {
            "fence" | "membar" => nothing,
            "bar" | "barrier" if has("red") => {
                // The answer that this thread's own predicate gives.
                Some(format!("mov.pred {}, {};", self.operand(0)?, self.operand(2)?))
            }
            "bar" | "barrier" => nothing,
            "mbarrier" if has("try_wait") || has("test_wait") => {
                Some(format!("setp.eq.u32 {}, 0, 0;", self.operand(0)?))
            }
            "mbarrier" if has("arrive") => nothing,
            "cp" | "wgmma" if has("wait_group") || has("commit_group") => nothing,
            "wgmma" if has("fence") => nothing,
            "tcgen05" if has("commit") || has("wait::ld") || has("wait::st") => nothing,
            "tcgen05" if has("fence::before_thread_sync") || has("fence::after_thread_sync") => {
                nothing
            }
            "st" | "red" if self.synchronises() => nothing,
            // Who exchanges finds what a free lock holds; who takes a ticket is the first.
            "atom" if self.synchronises() => Some(format!("mov.b32 {}, 0;", self.operand(0)?)),
            _ => None,
        }
    }

    fn mutated(&self, mutation: Mutation) -> Option<String> {
        let fence = self.instruction.opcode() == "fence";
        let proxy = self.mnemonic.contains("proxy") || self.mnemonic.contains("mbarrier_init");
        match mutation {
            Mutation::LeftOut => self.left_out(),
            Mutation::Relaxed if fence || !self.synchronises() => None,
            // A cluster's wait has no relaxed form.
            Mutation::Relaxed if self.is("barrier", "wait") => None,
            Mutation::Relaxed => ["acquire", "release", "acq_rel"]
                .into_iter()
                .find_map(|order| self.with_modifier(order, ".relaxed")),
            Mutation::OnlyAcquires if self.synchronises() => {
                self.with_modifier("acq_rel", ".acquire")
            }
            Mutation::OnlyReleases if self.synchronises() => {
                self.with_modifier("acq_rel", ".release")
            }
            Mutation::OfTheCta if self.synchronises() && !proxy => ["gpu", "sys", "cluster"]
                .into_iter()
                // Neither has a form for the CTA.
                .filter(|_| {
                    !self.is("barrier", "cluster") && !self.mnemonic.contains("sync_restrict")
                })
                .find_map(|scope| self.with_modifier(scope, ".cta")),
            Mutation::OtherParity if self.is("mbarrier", "parity") => {
                let (done, barrier, parity) =
                    (self.operand(0)?, self.operand(1)?, self.operand(2)?);
                Some(format!(
                    "{{ .reg .b32 other; xor.b32 other, {parity}, 1; {} {done}, {barrier}, other; }}",
                    self.mnemonic
                ))
            }
            Mutation::NoBytes if self.is("mbarrier", "expect_tx") => {
                let mnemonic = self.mnemonic.replace(".expect_tx", "");
                Some(format!("{mnemonic} {}, {};", self.operand(0)?, self.operand(1)?))
            }
            Mutation::FewerBytes if self.is("mbarrier", "expect_tx") => {
                let (state, barrier, bytes) =
                    (self.operand(0)?, self.operand(1)?, self.operand(2)?);
                Some(format!(
                    "{{ .reg .b32 fewer; sub.s32 fewer, {bytes}, 16; {} {state}, {barrier}, fewer; }}",
                    self.mnemonic
                ))
            }
            Mutation::OneGroupLess
                if self.is("cp", "wait_group") || self.is("wgmma", "wait_group") =>
            {
                let groups: u32 = self.operand(0)?.parse().ok()?;
                Some(format!("{} {};", self.mnemonic, groups + 1))
            }
            Mutation::OnlyReads if self.mnemonic == "cp.async.bulk.wait_group" => {
                self.with("cp.async.bulk.wait_group.read")
            }
            Mutation::OtherSpace if self.is("fence", "proxy") => {
                self.with_modifier("shared::cta", ".global")
            }
            _ => None,
        }
    }
}

/// A kernel with one instruction broken.
pub struct Mutant {
    pub mutation: Mutation,
    pub line: u32,
    /// The instruction as it was.
    pub was: String,
    /// What stands in its place, or nothing.
    pub now: String,
    /// Which of the kernel's instructions of that mnemonic it is.
    pub number: usize,
    /// The module.
    pub ptx: String,
}

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mutant { mutation, line, was, number, .. } = self;
        write!(f, "line {line} (number {number} of its kind) `{was}` {mutation}")
    }
}

impl Mutant {
    /// The mnemonic of the broken instruction.
    pub fn mnemonic(&self) -> &str {
        first_word(&self.was)
    }

    /// The mnemonic that stands in its place, or nothing.
    pub fn new_mnemonic(&self) -> &str {
        first_word(&self.now)
    }
}

fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}

/// The module at a version of PTX that has every form of the mutants, so that none is refused as no instruction.
fn with_all_forms(ptx: String) -> String {
    [".version 7.0", ".version 8.0"]
        .iter()
        .fold(ptx, |ptx, old| ptx.replacen(old, ".version 8.6", 1))
}

/// All mutants of a kernel.
pub fn mutants(ptx: &str, kernel: &str) -> Vec<Mutant> {
    let module = Module::parse(ptx, kernel).expect("the builder's PTX");
    let function = module.functions.iter().find(|function| &*function.name == kernel);
    let body = function.and_then(|f| f.body.as_ref()).expect("the kernel is there");
    let mut mutants = Vec::new();
    let mut seen = std::collections::HashMap::new();
    for instruction in &body.instructions {
        let text = ptx[instruction.span.clone()].trim_end_matches(';');
        let (mnemonic, operands) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let parts = Parts { instruction, mnemonic, operands: operands.trim() };
        let number: usize = *seen.entry(mnemonic).and_modify(|n| *n += 1).or_insert(1);
        for mutation in Mutation::ALL {
            let Some(new) = parts.mutated(mutation) else { continue };
            let mut mutated = ptx.to_owned();
            mutated.replace_range(instruction.span.clone(), &new);
            let mutated = with_all_forms(mutated);
            let was = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let line = instruction.line;
            mutants.push(Mutant { mutation, line, was, now: new, number, ptx: mutated });
        }
    }
    mutants
}
