//! Copies of a collective on different arms of one branch.
//!
//! A collective is an instruction that the threads of a set must execute together. Compilers that
//! do not know this may copy one into both arms of a branch (to save a jump): half of the threads
//! then arrive at one copy and half at the other. The device library tags each of its collectives,
//! and the debug information says from which place of the source a tagged instruction comes; the
//! copies of one place must lie on one path. Unrolling, inlining and instances give such copies:
//! from one of two copies the other is reached. Between copies on two arms there is no way, except
//! by going round a loop again.
//!
//! A call of a function that holds collectives is a collective itself.
//!
//! Never reported wrongly: code in which every place of the source has one copy. Missed: copies
//! whose places the debug information tells apart although they are one, a collective that the
//! source itself puts under a branch on which threads disagree (the emulator sees it), and
//! predicated copies that follow each other without a branch.

use std::collections::{BTreeMap, BTreeSet};

use baton_ptx::flow::successors;
use baton_ptx::lines::{Frame, LineTable};
use baton_ptx::{Body, Instruction, Module, Operand, Symbol};

use super::Finding;

/// Where a collective comes from: what it is, and its place in the source. Without a place, what
/// it is has to serve alone.
type Origin<'a> = (&'a str, &'a [Frame]);

pub(super) fn check(module: &Module, lines: &LineTable) -> Vec<Finding> {
    let holders = holders(module);
    let mut findings = Vec::new();
    for body in module.functions.iter().filter_map(|function| function.body.as_ref()) {
        let mut origins: BTreeMap<String, (Origin<'_>, Vec<usize>)> = BTreeMap::new();
        for (what, index) in sites(module, body, &holders) {
            let frames = lines.get(body.instructions[index].line);
            let key = format!("{what} {frames:?}");
            origins.entry(key).or_insert(((what, frames), Vec::new())).1.push(index);
        }
        origins.retain(|_, (_, copies)| copies.len() > 1);
        if origins.is_empty() {
            continue;
        }
        let flow = Flow::of(body);
        for ((what, _), copies) in origins.values() {
            if let Some((a, b)) = flow.on_different_arms(copies) {
                let [a, b] = [a, b].map(|index| body.instructions[index].line);
                findings.push(Finding::at(
                    format!(
                        "the compiler has copied this `{what}` into different arms of a branch \
                         (PTX lines {a} and {b}), so that threads which must execute it together \
                         may not; move it away from the branch, for example into a function with \
                         `#[inline(never)]`"
                    ),
                    a,
                    lines,
                ));
            }
        }
    }
    findings
}

/// The collectives of a body: what each is, and its instruction.
fn sites<'a>(
    module: &'a Module,
    body: &'a Body,
    holders: &BTreeSet<&'a str>,
) -> Vec<(&'a str, usize)> {
    let tagged = module
        .tagged(body)
        .filter_map(|(tag, index)| Some((tag.strip_prefix("collective")?.trim(), index)))
        .filter(|(_, index)| *index < body.instructions.len());
    let calls = body.instructions.iter().enumerate().filter_map(|(index, instruction)| {
        let callee = callee(instruction)?;
        holders.contains(callee).then_some((callee, index))
    });
    tagged.chain(calls).collect()
}

/// The functions that hold collectives, through calls too.
fn holders(module: &Module) -> BTreeSet<&str> {
    let mut holders = BTreeSet::new();
    loop {
        let before = holders.len();
        for function in &module.functions {
            if let Some(body) = &function.body
                && !sites(module, body, &holders).is_empty()
            {
                holders.insert(&*function.name);
            }
        }
        if holders.len() == before {
            return holders;
        }
    }
}

/// Whom a call calls by name.
fn callee(instruction: &Instruction) -> Option<&str> {
    if instruction.opcode() != "call" {
        return None;
    }
    instruction.operands.iter().find_map(|operand| match operand {
        Operand::Symbol(Symbol::Global(name), _) => Some(&**name),
        _ => None,
    })
}

/// The forward edges between instructions: all but those that close a loop.
struct Flow {
    forward: Vec<Vec<usize>>,
}

impl Flow {
    fn of(body: &Body) -> Self {
        let count = body.instructions.len();
        let mut forward = vec![Vec::new(); count];
        // Depth first; an edge to an instruction whose successors are still being visited closes a
        // loop.
        #[derive(Clone, Copy, PartialEq)]
        enum State {
            New,
            Open,
            Closed,
        }
        let mut state = vec![State::New; count];
        let mut stack: Vec<(usize, Vec<usize>)> = Vec::new();
        if count != 0 {
            state[0] = State::Open;
            stack.push((0, successors(body, 0)));
        }
        while let Some((from, rest)) = stack.last_mut() {
            let from = *from;
            let Some(to) = rest.pop() else {
                state[from] = State::Closed;
                stack.pop();
                continue;
            };
            if state[to] != State::Open {
                forward[from].push(to);
            }
            if state[to] == State::New {
                state[to] = State::Open;
                stack.push((to, successors(body, to)));
            }
        }
        Self { forward }
    }

    /// Two of these instructions of which neither reaches the other.
    fn on_different_arms(&self, copies: &[usize]) -> Option<(usize, usize)> {
        let reached: Vec<Vec<bool>> = copies.iter().map(|&copy| self.reached_from(copy)).collect();
        for (i, &a) in copies.iter().enumerate() {
            for (j, &b) in copies.iter().enumerate().skip(i + 1) {
                if a != b && !reached[i][b] && !reached[j][a] {
                    return Some((a, b));
                }
            }
        }
        None
    }

    fn reached_from(&self, start: usize) -> Vec<bool> {
        let mut reached = vec![false; self.forward.len()];
        let mut work = vec![start];
        while let Some(from) = work.pop() {
            for &to in &self.forward[from] {
                if !reached[to] {
                    reached[to] = true;
                    work.push(to);
                }
            }
        }
        reached
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(body: &str, places: &[u32]) -> Vec<Finding> {
        let text = format!(
            ".version 8.6\n.target sm_100a\n.address_size 64\n.func joined()\n{{\n\
             //@baton collective bar.sync\nbar.sync 1;\nret;\n}}\n\
             .visible .entry k()\n{{\n.reg .pred %p<4>;\n.reg .b32 %r<4>;\n{body}\nret;\n}}\n"
        );
        let module = Module::parse(&text, "k").unwrap();
        // The n-th barrier or call comes from the n-th place.
        let mut lines = LineTable::new();
        let mut places = places.iter();
        for instruction in &module.function("k").unwrap().body.as_ref().unwrap().instructions {
            if matches!(instruction.opcode(), "bar" | "call") {
                let line = *places.next().unwrap();
                let file = "kernel/src/lib.rs".into();
                let frame = Frame { file, line, column: 5, function: None };
                lines.insert(instruction.line, vec![frame]);
            }
        }
        check(&module, &lines)
    }

    const BAR: &str = "//@baton collective bar.sync\nbar.sync 0;\n";

    fn arms(first: &str, second: &str) -> String {
        format!("@%p1 bra L1;\n{first}bra.uni L2;\nL1:\n{second}L2:\n")
    }

    #[test]
    fn copies_on_two_arms_are_refused() {
        let found = findings(&arms(BAR, BAR), &[7, 7]);
        let [finding] = &*found else { panic!("{found:?}") };
        assert!(finding.message.contains("copied this `bar.sync`"), "{finding}");
        assert_eq!(finding.place().unwrap().to_string(), "kernel/src/lib.rs:7:5");
    }

    #[test]
    fn two_places_of_the_source_are_two_collectives() {
        assert_eq!(findings(&arms(BAR, BAR), &[7, 9]), []);
    }

    #[test]
    fn unrolled_copies_are_fine() {
        let body = format!("L1:\n{BAR}{BAR}@%p1 bra L1;\n{BAR}");
        assert_eq!(findings(&body, &[7, 7, 7]), []);
        // An exit between them.
        let body = format!("L1:\n{BAR}@%p2 bra L3;\n{BAR}@%p1 bra L1;\nL3:\n");
        assert_eq!(findings(&body, &[7, 7]), []);
    }

    #[test]
    fn going_round_a_loop_does_not_join_two_arms() {
        let body = format!("L0:\n{}@%p2 bra L0;\n", arms(BAR, BAR));
        assert_eq!(findings(&body, &[7, 7]).len(), 1);
    }

    #[test]
    fn a_loop_that_was_doubled_is_refused() {
        let looped = |label: &str| format!("{label}:\n{BAR}@%p2 bra {label};\n");
        assert_eq!(findings(&arms(&looped("L8"), &looped("L9")), &[7, 7]).len(), 1);
    }

    #[test]
    fn a_copy_before_the_branch_and_one_on_an_arm_are_on_one_path() {
        assert_eq!(findings(&format!("{BAR}{}", arms(BAR, "")), &[7, 7]), []);
    }

    #[test]
    fn an_early_return_is_an_arm() {
        let body = format!("@%p1 bra L1;\n{BAR}ret;\nL1:\n{BAR}");
        assert_eq!(findings(&body, &[7, 7]).len(), 1);
    }

    #[test]
    fn arms_of_a_jump_table_are_arms() {
        let body = format!(
            "T: .branchtargets L1, L2;\nbrx.idx %r1, T;\nL1:\n{BAR}bra.uni L3;\nL2:\n{BAR}L3:\n"
        );
        assert_eq!(findings(&body, &[7, 7]).len(), 1);
    }

    #[test]
    fn a_call_of_a_function_with_a_collective_is_one() {
        let call = "call.uni joined, ();\n";
        let found = findings(&arms(call, call), &[7, 7]);
        let [finding] = &*found else { panic!("{found:?}") };
        assert!(finding.message.contains("copied this `joined`"), "{finding}");
        assert_eq!(findings(&arms(call, call), &[7, 8]), []);
    }

    #[test]
    fn without_places_the_tag_decides() {
        let text = ".version 8.6\n.target sm_100a\n.address_size 64\n.visible .entry k()\n{\n\
                    .reg .pred %p<4>;\n";
        let other = BAR.replace("collective bar.sync", "collective barrier.sync");
        for (second, count) in [(BAR, 1), (&*other, 0)] {
            let text = format!("{text}{}ret;\n}}\n", arms(BAR, second));
            let module = Module::parse(&text, "k").unwrap();
            assert_eq!(check(&module, &LineTable::new()).len(), count);
        }
    }
}
