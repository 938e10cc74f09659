//! Anchors have done their work once the compiler has ended.
//!
//! The device library calls `activemask` before each collective, so that the compiler leaves both where they are, and uses
//! the result nowhere. ptxas would make an instruction of it. One that stands in inline assembly was asked for.

use std::collections::BTreeMap;

use baton_ptx::{Body, Module, Operand, RegId};

use super::Edit;

/// Removes each `activemask` of the compiler's own whose result is not used.
pub(super) fn remove(module: &Module, edit: &mut Edit<'_>) {
    for body in module.functions.iter().filter_map(|function| function.body.as_ref()) {
        let mentions = mentions(body);
        for instruction in &body.instructions {
            if let ("activemask", [Operand::Register(result)]) =
                (instruction.opcode(), &*instruction.operands)
                && mentions.get(result) == Some(&1)
                && edit.line(instruction.line).trim_start().starts_with("activemask")
                && !edit.line(instruction.line - 1).contains("begin inline asm")
            {
                edit.remove(instruction.line);
            }
        }
    }
}

/// How often each register stands in an instruction.
fn mentions(body: &Body) -> BTreeMap<RegId, u32> {
    let mut mentions = BTreeMap::new();
    for instruction in &body.instructions {
        let mut mention = |register: RegId| *mentions.entry(register).or_default() += 1;
        if let Some(guard) = &instruction.guard {
            mention(guard.register);
        }
        instruction.operands.iter().for_each(|operand| operand.registers(&mut mention));
    }
    mentions
}

#[cfg(test)]
mod tests {
    use super::super::process;

    #[test]
    fn what_nobody_reads_goes_and_what_somebody_reads_stays() {
        let raw = ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n\
                   .reg .b32 %r<4>;\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, [p];\nactivemask.b32 %r1;\n\
                   bar.sync 0;\nactivemask.b32 %r2;\nst.global.b32 [%rd1], %r2;\n// begin inline asm\n\
                   activemask.b32 %r3;\n// end inline asm\nret;\n}\n";
        let text = process(raw, "k.ptx", &[]).unwrap().text;
        assert!(!text.contains("activemask.b32 %r1;"), "{text}");
        assert!(text.contains("activemask.b32 %r2;"), "{text}");
        assert!(text.contains("activemask.b32 %r3;"), "{text}");
    }
}
