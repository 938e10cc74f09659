//! Copies by `cp.async` that a kernel does not wait for.
//!
//! A stage that `copy` fills has copies under way until `wait_copies`. Types let nobody read it before, but not that somebody forgets
//! it (`mem::forget`): then its CTA may end while they still write to its shared memory (rules B8, B9). So every way from the
//! group of such copies, which the device library marks (`//@baton copies`), to an end of the kernel must come to a
//! `cp.async.wait_group 0` or `wait_all` of the thread that issued them. Functions are judged by what they leave under way when they
//! return, and by whether they always wait.
//!
//! Never reported wrongly: copies for which the library's own wait stands on every way. Missed: copies of the instruction layer, whose
//! author promises this himself, and those in functions that are called through a pointer.

use std::collections::{BTreeMap, BTreeSet};

use baton_ptx::flow::{End, Graph};
use baton_ptx::lines::LineTable;
use baton_ptx::{Body, Function, FunctionKind, Instruction, Module, Operand, Symbol};

use super::Finding;

/// What is wrong, and what to write.
const FORGOTTEN: &str = "rules B8 and B9: a stage that `copy` fills is forgotten, and the kernel may end while `cp.async` still writes to it: \
                         on every way to the end of the role, call `.wait_copies(&mut set)` and go on with what it returns";

/// What a function does to the copies of the thread that calls it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Effect {
    /// It may return with copies of its own under way.
    leaves: bool,
    /// It may return without a wait.
    passes: bool,
}

pub(super) fn check(module: &Module, lines: &LineTable) -> Vec<Finding> {
    let bodies: Vec<(&Function, &Body)> =
        module.functions.iter().filter_map(|f| Some((f, f.body.as_ref()?))).collect();
    let marked: Vec<BTreeSet<usize>> = bodies
        .iter()
        .map(|(_, body)| {
            module.tagged(body).filter(|(tag, _)| *tag == "copies").map(|(_, at)| at).collect()
        })
        .collect();
    if marked.iter().all(BTreeSet::is_empty) {
        return Vec::new();
    }
    let graphs: Vec<Graph> = bodies.iter().map(|(_, body)| Graph::of(body)).collect();
    // What is not known of a function is not said: a call of it leaves nothing, and may not wait.
    let mut effects: BTreeMap<&str, Effect> = BTreeMap::new();
    loop {
        let before = effects.clone();
        for (((function, body), graph), marked) in bodies.iter().zip(&graphs).zip(&marked) {
            let way = Ways { body, graph, marked, effects: &before };
            let effect = Effect { leaves: !way.forgotten().is_empty(), passes: way.passes() };
            effects.insert(&function.name, effect);
        }
        if effects == before {
            break;
        }
    }
    let mut findings = Vec::new();
    let mut told = BTreeSet::new();
    for (((function, body), graph), marked) in bodies.iter().zip(&graphs).zip(&marked) {
        let way = Ways { body, graph, marked, effects: &effects };
        for index in way.forgotten().into_iter().filter(|_| function.kind == FunctionKind::Entry) {
            let line = body.instructions[index].line;
            if told.insert(format!("{:?}", lines.get(line))) {
                findings.push(Finding::at(FORGOTTEN, line, lines));
            }
        }
    }
    findings
}

/// The ways through one body.
struct Ways<'a> {
    body: &'a Body,
    graph: &'a Graph,
    marked: &'a BTreeSet<usize>,
    effects: &'a BTreeMap<&'a str, Effect>,
}

impl Ways<'_> {
    /// Where copies begin that some way to an end does not wait for.
    fn forgotten(&self) -> Vec<usize> {
        let begins = |&index: &usize| {
            let called = self.called(&self.body.instructions[index]);
            self.marked.contains(&index) || called.is_some_and(|effect| effect.leaves)
        };
        let all = 0..self.body.instructions.len();
        all.filter(begins).filter(|&index| self.ends_behind(index + 1)).collect()
    }

    /// Whether some way through the body has no wait.
    fn passes(&self) -> bool {
        self.ends_behind(0)
    }

    fn called(&self, instruction: &Instruction) -> Option<Effect> {
        let name = instruction.operands.iter().find_map(|operand| match operand {
            Operand::Symbol(Symbol::Global(name), _) => Some(&**name),
            _ => None,
        });
        let called = name.filter(|_| instruction.opcode() == "call")?;
        Some(self.effects.get(called).copied().unwrap_or(Effect { leaves: false, passes: true }))
    }

    fn waits(&self, instruction: &Instruction) -> bool {
        let all = instruction.has("wait_all")
            || instruction.has("wait_group")
                && instruction.operands.first() == Some(&Operand::Int(0));
        let plain = instruction.opcode() == "cp" && !instruction.has("bulk");
        let waits = plain && all || self.called(instruction).is_some_and(|effect| !effect.passes);
        waits && instruction.guard.is_none()
    }

    /// Whether control may come from before an instruction to an end without a wait.
    fn ends_behind(&self, index: usize) -> bool {
        let mut seen = vec![false; self.graph.blocks.len()];
        let mut work = vec![index];
        while let Some(from) = work.pop() {
            let at = self.graph.block_of[from];
            let block = &self.graph.blocks[at];
            if self.body.instructions[from..block.past].iter().any(|i| self.waits(i)) {
                continue;
            }
            if matches!(block.end, Some(End::Return | End::Exit)) {
                return true;
            }
            for &next in &block.next {
                if !std::mem::replace(&mut seen[next], true) {
                    work.push(self.graph.blocks[next].first);
                }
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of a kernel where copies are forgotten.
    fn forgotten(functions: &str, body: &str) -> usize {
        let text = format!(
            ".version 8.0\n.target sm_90a\n.address_size 64\n{functions}\n.visible .entry k()\n{{\n.reg .pred %p<4>;\n\
             {body}}}\n"
        );
        check(&Module::parse(&text, "k").unwrap(), &LineTable::new()).len()
    }

    const COPY: &str = "//@baton copies\ncp.async.commit_group;\n";
    const WAIT: &str = "cp.async.wait_group 0;\n";

    #[test]
    fn every_way_waits() {
        assert_eq!(forgotten("", &format!("{COPY}{WAIT}ret;\n")), 0);
        assert_eq!(forgotten("", &format!("{COPY}cp.async.wait_all;\nret;\n")), 0);
        assert_eq!(forgotten("", &format!("{COPY}ret;\n")), 1);
        assert_eq!(forgotten("", &format!("{COPY}cp.async.wait_group 1;\nret;\n")), 1);
        assert_eq!(forgotten("", &format!("{COPY}cp.async.bulk.wait_group 0;\nret;\n")), 1);
        assert_eq!(forgotten("", &format!("{COPY}@%p1 bra L;\n{WAIT}L:\nret;\n")), 1);
        assert_eq!(forgotten("", &format!("{WAIT}{COPY}@%p1 {WAIT}ret;\n")), 1);
        // A trap ends the grid, and a loop without an end never comes to one.
        assert_eq!(forgotten("", &format!("{COPY}@%p1 bra L;\n{WAIT}ret;\nL:\ntrap;\n")), 0);
        assert_eq!(forgotten("", &format!("L:\n{COPY}@%p1 bra L;\n{WAIT}ret;\n")), 0);
        // What the instruction layer's author begins is his own.
        assert_eq!(forgotten("", "cp.async.commit_group;\nret;\n"), 0);
    }

    #[test]
    fn functions_count_where_they_are_called() {
        let copies = format!(".func copies()\n{{\n{COPY}ret;\n}}\n");
        let waits = format!(".func waits()\n{{\n{WAIT}ret;\n}}\n");
        let both = format!("{copies}{waits}");
        assert_eq!(forgotten(&both, "call.uni copies, ();\ncall.uni waits, ();\nret;\n"), 0);
        assert_eq!(forgotten(&both, "call.uni copies, ();\nret;\n"), 1);
        assert_eq!(forgotten(&both, "call.uni waits, ();\ncall.uni copies, ();\nret;\n"), 1);
    }
}
