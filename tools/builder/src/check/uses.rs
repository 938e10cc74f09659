//! Instructions and symbols that must not be there.

use std::collections::BTreeSet;

use baton_ptx::lines::LineTable;
use baton_ptx::{
    Base, Function, FunctionKind, Instruction, Linkage, Module, Operand, Space, Symbol,
};

use super::Finding;

/// Functions that the driver provides.
const PROVIDED: [&str; 4] = ["vprintf", "__assertfail", "malloc", "free"];

/// A call of a symbol that begins so stands for the `Drop` of a token that must not be dropped.
const DROPPED: &str = "__baton_dropped_";

pub(super) fn check(module: &Module, lines: &LineTable) -> Vec<Finding> {
    let mut findings = defined(module);
    let mut mentioned = BTreeSet::new();
    for body in module.functions.iter().filter_map(|function| function.body.as_ref()) {
        let asked: BTreeSet<usize> =
            module.tagged(body).filter(|(tag, _)| *tag == "nc").map(|(_, index)| index).collect();
        for (index, instruction) in body.instructions.iter().enumerate() {
            if instruction.opcode() == "ld" && instruction.has("nc") && !asked.contains(&index) {
                findings.push(Finding::at(
                    "the compiler reads this memory through `ld.global.nc`, which is outside the \
                     memory model, because it is behind a `&` or `&mut`; keep it behind a raw \
                     pointer, a `GlobalPtr` or an `UnsafeCell`",
                    instruction.line,
                    lines,
                ));
            }
            for name in names(instruction) {
                mentioned.insert(name);
                if let Some(message) = missing(module, name) {
                    findings.push(Finding::at(message, instruction.line, lines));
                }
            }
        }
    }
    // Only what no instruction mentions is left to report; a declaration alone harms nobody, but
    // an initialiser needs the address.
    let initial = module.variables.iter().flat_map(|variable| {
        variable.init.iter().filter_map(move |initial| match initial {
            baton_ptx::Initial::Address { symbol, .. } => Some((variable, &**symbol)),
            baton_ptx::Initial::Bits(_) => None,
        })
    });
    for (variable, name) in initial {
        if let Some(message) = missing(module, name).filter(|_| !mentioned.contains(name)) {
            findings.push(Finding::at(message, variable.line, lines));
        }
    }
    findings
}

/// Symbols that the module must not define, because the library relies on their being somebody else's.
fn defined(module: &Module) -> Vec<Finding> {
    let functions = module.functions.iter().filter(|function| function.body.is_some());
    let functions = functions.map(|function| (&*function.name, function.line));
    let variables = module.variables.iter().filter(|variable| variable.linkage != Linkage::Extern);
    let variables = variables.map(|variable| (&*variable.name, variable.line));
    let finding = |(name, line): (&str, u32)| {
        let why = if name.starts_with(DROPPED) {
            "the device library never defines it, so that its call shows where a token was dropped"
        } else if PROVIDED.contains(&name) {
            "the driver provides it, and the device library calls the driver's"
        } else {
            return None;
        };
        let message = format!(
            "the kernels define the symbol `{name}`: {why}; give the function another name"
        );
        Some(Finding { ptx_line: Some(line), ..Finding::new(message) })
    };
    functions.chain(variables).filter_map(finding).collect()
}

/// Why this symbol must not be used.
fn missing(module: &Module, name: &str) -> Option<String> {
    if let Some(what) = name.strip_prefix(DROPPED) {
        let what = what.replace('_', " ");
        return Some(format!(
            "a {what} can be dropped here: it must be consumed on every path (hand it on, or \
             finish what it stands for)"
        ));
    }
    if module.function(name).is_some_and(|function| function.kind == FunctionKind::Entry) {
        return Some(format!(
            "this uses the entry point `{name}` as a function: a kernel is launched, never called; if what is called is a \
             function of the compiler or of another crate, give the kernel another name"
        ));
    }
    let undefined = |function: &Function| function.body.is_none();
    let function = module.function(name).is_some_and(undefined) && !PROVIDED.contains(&name);
    let variable = module.variables.iter().any(|variable| {
        *variable.name == *name
            && variable.linkage == Linkage::Extern
            // Dynamic shared memory comes with the launch.
            && variable.space != Space::Shared
    });
    (function || variable).then(|| {
        if let Some(instead) = mathematics(name) {
            return format!(
                "`{name}` is a function of C's mathematics, and kernels are linked with no C: {instead}"
            );
        }
        format!(
            "`{name}` is not defined: there is nothing to link kernels with; bring the source \
             into a crate that the kernel crate depends on"
        )
    })
}

/// What to write for a function of C's mathematics, by its name in C for `float` or `double`.
fn mathematics(name: &str) -> Option<String> {
    let stem = name.strip_suffix('f').filter(|stem| *stem != "er").unwrap_or(name);
    let method = match stem {
        "exp" | "exp2" | "log2" | "sin" | "cos" | "tanh" | "erf" | "sqrt" | "floor" | "ceil"
        | "trunc" => stem,
        "log" => "ln",
        "pow" => "powf",
        "fma" => "mul_add",
        "rint" | "nearbyint" | "roundeven" => "round_ties_even",
        "fabs" => "abs",
        "fmin" => "min",
        "fmax" => "max",
        "acos" | "asin" | "atan" | "atan2" | "tan" | "sinh" | "cosh" | "asinh" | "acosh"
        | "atanh" | "cbrt" | "hypot" | "expm1" | "log1p" | "log10" | "fmod" | "remainder"
        | "round" | "ldexp" | "tgamma" | "lgamma" | "erfc" => {
            return Some(
                "`baton::math` has no such function yet; write it with those that it has (`exp`, `ln`, `sin`, `powf` …), or depend on a \
                 crate that has it in Rust"
                    .into(),
            );
        }
        _ => return None,
    };
    Some(format!(
        "write `x.{method}(…)` with `baton::math::Math` in scope, which `baton::prelude` has"
    ))
}

/// The symbols of the module that an instruction mentions.
fn names(instruction: &Instruction) -> Vec<&str> {
    fn visit<'a>(operand: &'a Operand, names: &mut Vec<&'a str>) {
        match operand {
            Operand::Symbol(Symbol::Global(name), _) => names.push(name),
            Operand::Address(address) => {
                if let Base::Symbol(Symbol::Global(name)) = &address.base {
                    names.push(name);
                }
                address.items.iter().for_each(|item| visit(item, names));
            }
            Operand::Vector(items) | Operand::List(items) => {
                items.iter().for_each(|item| visit(item, names));
            }
            Operand::Pair(left, right) => {
                visit(left, names);
                visit(right, names);
            }
            _ => {}
        }
    }
    let mut names = Vec::new();
    instruction.operands.iter().for_each(|operand| visit(operand, &mut names));
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_ptx::lines::Frame;

    fn findings(body: &str) -> Vec<Finding> {
        let text = format!(
            ".version 8.6\n.target sm_100a\n.address_size 64\n\
             .extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n\
             .extern .func __baton_dropped_stage();\n.extern .func elsewhere();\n\
             .extern .shared .align 1024 .b8 dynamic[];\n\
             .visible .entry k()\n{{\n.reg .b32 %r<4>;\n.reg .b64 %d<4>;\n{body}\nret;\n}}\n"
        );
        let module = Module::parse(&text, "k").unwrap();
        let mut lines = LineTable::new();
        let line = text.lines().position(|line| line == body.lines().last().unwrap()).unwrap();
        let file = "kernel/src/lib.rs".into();
        let frame = Frame { file, line: 77, column: 1, function: None };
        lines.insert(line as u32 + 1, vec![frame]);
        check(&module, &lines)
    }

    fn is_one(findings: &[Finding], expected: &str) {
        let [finding] = findings else { panic!("{findings:?}") };
        assert!(finding.message.contains(expected), "{finding}");
        assert_eq!(finding.frames[0].line, 77);
    }

    #[test]
    fn loads_outside_the_memory_model_must_be_asked_for() {
        is_one(&findings("ld.global.nc.b32 %r1, [%d1];"), "ld.global.nc");
        assert_eq!(findings("//@baton nc\nld.global.nc.b32 %r1, [%d1];"), []);
        is_one(
            &findings("//@baton nc\nld.global.nc.b32 %r1, [%d1];\nld.global.nc.b32 %r2, [%d1];"),
            "ld.global.nc",
        );
        assert_eq!(findings("ld.global.b32 %r1, [%d1];"), []);
    }

    #[test]
    fn a_surviving_drop_is_an_error() {
        is_one(&findings("call.uni __baton_dropped_stage, ();"), "a stage can be dropped");
    }

    #[test]
    fn a_kernel_is_not_called() {
        is_one(&findings("call.uni k, ();"), "uses the entry point `k`");
        is_one(&findings("mov.b64 %d1, k;"), "uses the entry point `k`");
    }

    #[test]
    fn what_the_library_relies_on_is_not_defined_in_the_module() {
        let of = |definition: &str| {
            let text = format!(".version 8.6\n.target sm_100a\n.address_size 64\n{definition}\n");
            let module = Module::parse(&text, "k").unwrap();
            check(&module, &LineTable::new())
        };
        for definition in [
            ".visible .entry __baton_dropped_stage()\n{\nret;\n}",
            ".visible .func __baton_dropped_stage()\n{\nret;\n}",
            ".visible .global .align 4 .b8 __baton_dropped_stage[4];",
            ".visible .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a)\n{\nret;\n}",
        ] {
            let found = of(definition);
            let [finding] = &*found else { panic!("{definition}: {found:?}") };
            assert!(finding.message.contains("the kernels define the symbol `"), "{finding}");
            assert_eq!(finding.ptx_line, Some(4));
        }
        assert_eq!(of(".extern .func __baton_dropped_stage();"), []);
    }

    #[test]
    fn a_function_of_c_s_mathematics_has_a_method_in_its_place() {
        let of = |name: &str| {
            let text = format!(
                ".version 8.6\n.target sm_100a\n.address_size 64\n.extern .func {name}();\n\
                 .visible .entry k()\n{{\ncall.uni {name}, ();\nret;\n}}\n"
            );
            let found = check(&Module::parse(&text, "k").unwrap(), &LineTable::new());
            let [finding] = &*found else { panic!("{found:?}") };
            finding.message.clone()
        };
        for (name, instead) in [
            ("expf", "x.exp("),
            ("log", "x.ln("),
            ("erf", "x.erf("),
            ("erff", "x.erf("),
            ("fmaf", "x.mul_add("),
        ] {
            let message = of(name);
            assert!(message.contains("C's mathematics") && message.contains(instead), "{message}");
        }
        assert!(of("atan2f").contains("no such function yet"), "{}", of("atan2f"));
        assert!(of("elsef").contains("is not defined"), "{}", of("elsef"));
    }

    #[test]
    fn undefined_symbols_are_errors_unless_the_driver_has_them() {
        is_one(&findings("call.uni elsewhere, ();"), "`elsewhere` is not defined");
        assert_eq!(findings("mov.b32 %r1, dynamic;"), []);
        assert_eq!(
            findings(
                "{\n.param .b64 f;\n.param .b64 a;\n.param .b32 r;\ncall.uni (r), vprintf, (f, a);\n}"
            ),
            []
        );
    }
}
