//! Local memory: what a kernel keeps in a stack frame because the compiler could not keep it in registers.
//!
//! An array that is indexed by what only the run knows, a loop over registers that was not unrolled, a value whose address is taken: each
//! becomes `.local` memory, which is memory like all other and many times slower than a register. Nothing in the source shows it, so it
//! is found here. It is a warning, and an error in a kernel that says `#[baton::kernel(no_stack)]`. What ptxas spills comes on
//! top ([`spilled`]), and has no line of its own.
//!
//! Never reported wrongly: a kernel without local variables. It is the PTX that is judged: ptxas may still find registers for a small array, and
//! another version of it may not. Missed: nothing of what the PTX declares. A frame that serves nothing but the arguments of `println!` is
//! what printing costs, and refused under `no_stack` only.

use std::collections::BTreeSet;

use baton_ptx::lines::{Frame, LineTable};
use baton_ptx::{
    Base, Body, FunctionKind, Instruction, Module, Operand, RegId, Space, Symbol, Variable,
};

use super::{Finding, Note};
use crate::builder::calls;
use crate::post::annotations::{Annotations, Kernel};
use crate::ptxas::Usage;

/// Places that are named beside the first.
const OTHERS: usize = 4;

pub(super) fn check(module: &Module, lines: &LineTable, annotations: &Annotations) -> Vec<Finding> {
    let mut findings = Vec::new();
    for function in &module.functions {
        let Some(body) = &function.body else { continue };
        let local = |variable: &&Variable| variable.space == Space::Local;
        let bytes: u64 = body.variables.iter().filter(local).filter_map(|v| v.bytes).sum();
        if bytes == 0 {
            continue;
        }
        let forbidding = annotations.kernels.iter().find(|kernel| {
            kernel.no_stack
                && (*kernel.name == *function.name
                    || module
                        .function(&kernel.name)
                        .is_some_and(|entry| calls(module, entry).contains(&&*function.name)))
        });
        let uses = Uses::of(body);
        if forbidding.is_none() && uses.are_of_printing(module) {
            continue;
        }
        let what = match function.kind {
            FunctionKind::Entry => format!("kernel `{}`", function.name),
            FunctionKind::Func => format!("a function that kernels call, `{}`,", function.name),
        };
        let mut message = format!(
            "{what} keeps {bytes} bytes in local memory, which is no register: an array that is indexed by what is known at run time \
             only, a loop over it that was not unrolled, or a value whose address is taken; `baton::unroll!` makes its index a \
             constant"
        );
        if let Some(kernel) = forbidding {
            message += &format!("; `{}` says `no_stack`", kernel.name);
        }
        // The innermost place of the author's tells accesses of one line apart from others.
        let mut told: Vec<Option<&Frame>> = Vec::new();
        let mut places = uses.instructions().filter(|instruction| {
            let place = super::authors_place(lines.get(instruction.line));
            let new = !told.contains(&place);
            told.push(place);
            new
        });
        let mut finding = match places.next() {
            Some(first) => Finding::at(message, first.line, lines),
            None => Finding { ptx_line: Some(function.line), ..Finding::new(message) },
        };
        finding.notes =
            places.take(OTHERS).map(|place| Note::at("and here", place.line, lines)).collect();
        findings.push(if forbidding.is_some() { finding } else { finding.into_warning() });
    }
    findings
}

/// What ptxas has put on the stack although the PTX has no local memory: for want of registers.
pub(crate) fn spilled(kernel: &Kernel, usage: Usage) -> Option<Finding> {
    (usage.spill_bytes != 0).then(|| {
        let finding = Finding::new(format!(
            "kernel `{}` has more live values than its {} registers: ptxas moves {} bytes of them to local memory and back; \
             keep fewer at once (smaller fragments, stores nearer to where values are made), or let fewer threads share the \
             registers (`threads`, `min_ctas`){}",
            kernel.name,
            usage.registers,
            usage.spill_bytes,
            if kernel.no_stack { "; it says `no_stack`" } else { "" }
        ));
        if kernel.no_stack { finding } else { finding.into_warning() }
    })
}

/// The instructions that touch the local variables of a body, through whatever registers hold their addresses.
struct Uses<'a> {
    body: &'a Body,
    /// Loads, stores and what else reaches memory there.
    accesses: Vec<usize>,
    /// What passes an address on.
    passed: Vec<usize>,
}

impl<'a> Uses<'a> {
    fn of(body: &'a Body) -> Self {
        let mut holds: BTreeSet<RegId> = BTreeSet::new();
        let local = |operand: &Operand, holds: &BTreeSet<RegId>| {
            let mut found = matches!(
                operand,
                Operand::Symbol(Symbol::Local(id), _)
                    if body.variables[id.0 as usize].space == Space::Local
            );
            operand.registers(&mut |register| found |= holds.contains(&register));
            found
        };
        let reaches = |instruction: &Instruction, holds: &BTreeSet<RegId>| {
            instruction.operands.iter().any(|operand| match operand {
                Operand::Address(address) => match &address.base {
                    Base::Register(register) => holds.contains(register),
                    Base::Symbol(Symbol::Local(id)) => {
                        body.variables[id.0 as usize].space == Space::Local
                    }
                    _ => false,
                },
                _ => false,
            })
        };
        loop {
            let before = holds.len();
            for instruction in &body.instructions {
                if matches!(instruction.opcode(), "ld" | "st" | "call" | "setp" | "atom" | "red") {
                    continue;
                }
                let [Operand::Register(to), from @ ..] = &*instruction.operands else { continue };
                if from.iter().any(|operand| local(operand, &holds)) {
                    holds.insert(*to);
                }
            }
            if holds.len() == before {
                break;
            }
        }
        let mut uses = Self { body, accesses: Vec::new(), passed: Vec::new() };
        for (index, instruction) in body.instructions.iter().enumerate() {
            if reaches(instruction, &holds) {
                uses.accesses.push(index);
            } else if matches!(instruction.opcode(), "st" | "call")
                && instruction.operands.iter().any(|operand| local(operand, &holds))
            {
                uses.passed.push(index);
            }
        }
        uses
    }

    /// In the order of the text.
    fn instructions(&self) -> impl Iterator<Item = &'a Instruction> {
        let both: BTreeSet<usize> = self.accesses.iter().chain(&self.passed).copied().collect();
        let body = self.body;
        both.into_iter().map(|index| &body.instructions[index])
    }

    /// Whether it is only filled here, and read by the driver's `vprintf`.
    fn are_of_printing(&self, module: &Module) -> bool {
        let prints = self.body.instructions.iter().any(|instruction| {
            instruction.opcode() == "call"
                && instruction.operands.iter().any(|operand| {
                    matches!(operand, Operand::Symbol(Symbol::Global(name), _) if &**name == "vprintf")
                })
        });
        let fills = |&index: &usize| self.body.instructions[index].opcode() == "st";
        // An address that is passed is so by a store to a parameter, and `vprintf` alone is not defined here.
        let others =
            module.functions.iter().any(|f| f.kind == FunctionKind::Func && f.body.is_some());
        prints && !others && self.accesses.iter().all(fills)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Severity;

    fn findings(no_stack: bool, body: &str) -> Vec<Finding> {
        let text = format!(
            ".version 8.6\n.target sm_100a\n.address_size 64\n\
             .extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n\
             .visible .entry k()\n{{\n//@baton kernel k threads=32,1,1 cluster=0,0,0 min_ctas=0 smem=0 no_stack={}\n\
             .local .align 4 .b8 __local_depot0[64];\n.reg .b32 %r<4>;\n.reg .b64 %d<6>;\n{body}\nret;\n}}\n",
            u32::from(no_stack)
        );
        let module = Module::parse(&text, "k").unwrap();
        let annotations = Annotations::read(&module).unwrap();
        let mut lines = LineTable::new();
        for instruction in &module.function("k").unwrap().body.as_ref().unwrap().instructions {
            let file = "kernel/src/lib.rs".into();
            let line = instruction.line * 10;
            lines.insert(instruction.line, vec![Frame { file, line, column: 5, function: None }]);
        }
        check(&module, &lines, &annotations)
    }

    const INDEXED: &str = "mov.b64 %d1, __local_depot0;\ncvta.local.u64 %d2, %d1;\nadd.u64 %d3, %d2, %d5;\n\
                           st.local.b32 [%d1], %r1;\nld.b32 %r2, [%d3];";

    #[test]
    fn an_array_in_local_memory_is_found_where_it_is_used() {
        let found = findings(false, INDEXED);
        let [finding] = &*found else { panic!("{found:?}") };
        assert_eq!(finding.severity, Severity::Warning);
        assert!(finding.message.contains("kernel `k` keeps 64 bytes in local memory"), "{finding}");
        // The store, and the load through the register that holds the generic address.
        assert_eq!(finding.ptx_line, Some(14));
        assert_eq!(finding.frames[0].line, 140);
        assert_eq!(finding.notes.iter().map(|note| note.ptx_line).collect::<Vec<_>>(), [15]);
    }

    #[test]
    fn it_is_an_error_where_the_kernel_says_so() {
        let found = findings(true, INDEXED);
        let [finding] = &*found else { panic!("{found:?}") };
        assert_eq!(finding.severity, Severity::Error);
        assert!(finding.message.ends_with("`k` says `no_stack`"), "{finding}");
    }

    #[test]
    fn what_printing_needs_is_refused_under_no_stack_only() {
        let print = "mov.b64 %d1, __local_depot0;\ncvta.local.u64 %d2, %d1;\nst.local.b32 [%d1], %r1;\n\
                     {\n.param .b64 f;\n.param .b64 a;\n.param .b32 r;\nst.param.b64 [f], %d3;\n\
                     st.param.b64 [a], %d2;\ncall.uni (r), vprintf, (f, a);\n}";
        assert_eq!(findings(false, print), []);
        assert_eq!(findings(true, print).len(), 1);
        // Read by the kernel too, it is no longer the driver's alone.
        assert_eq!(findings(false, &format!("{print}\nld.local.b32 %r2, [%d1];")).len(), 1);
    }

    #[test]
    fn spills_have_the_kernel_s_name() {
        let text = ".version 8.6\n.target sm_100a\n.address_size 64\n.visible .entry k()\n{\n\
                    //@baton kernel k threads=32,1,1 cluster=0,0,0 min_ctas=0 smem=0 no_stack=1\nret;\n}\n";
        let annotations = Annotations::read(&Module::parse(text, "k").unwrap()).unwrap();
        let kernel = &annotations.kernels[0];
        assert_eq!(spilled(kernel, Usage { stack_bytes: 8, ..Usage::default() }), None);
        let finding = spilled(kernel, Usage { spill_bytes: 12, ..Usage::default() }).unwrap();
        assert_eq!(finding.severity, Severity::Error);
        assert!(finding.message.contains("moves 12 bytes"), "{finding}");
    }
}
