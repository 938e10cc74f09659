//! What the emulator does not execute of the instruction layer.

use std::collections::BTreeSet;

use baton_emulator::Program;

use super::emitted;

/// Functions whose instructions are refused when they are executed, and why. `docs/emulator.md`
/// says the same.
const NOT_EXECUTED: &[(&str, &[&str])] = &[
    (
        "exclusive allocations of tensor memory: no text says what they exclude",
        &["alloc_exclusive", "dealloc_exclusive"],
    ),
    (
        "tensor copies in the modes `im2col::w`: what the halo adds is given by figures only",
        &["cp_async_bulk_tensor_load"],
    ),
    (
        "bulk copies of which parts lie out of bounds: no text says what stands in their place",
        &["cp_async_bulk_to_shared_ignore_oob"],
    ),
    (
        "the second layout of mbarriers: no text says what a barrier in it does differently",
        &["init_layout", "check_layout"],
    ),
];

#[test]
fn all_forms_but_the_listed_ones_are_decoded() {
    let emitted = emitted();
    let text = emitted.lines.join("\n");
    let program = Program::load(&text, "forms", None).expect("the builder's PTX");
    let unknown: Vec<(usize, &str)> =
        program.unknown().map(|(line, text)| (line as usize - 1, text)).collect();
    let mut functions = BTreeSet::new();
    let mut elsewhere = Vec::new();
    for (line, text) in &unknown {
        match emitted.forms.iter().find(|form| form.lines.contains(line)) {
            Some(form) => {
                let name = form.path.rsplit("::").next().unwrap_or_default();
                functions.insert(name.to_owned());
            }
            None => elsewhere.push(format!("line {}: {text}", line + 1)),
        }
    }
    assert!(elsewhere.is_empty(), "{}", elsewhere.join("\n"));
    let listed = NOT_EXECUTED.iter().flat_map(|(_, names)| names.iter().map(|n| (*n).to_owned()));
    assert_eq!(functions, listed.collect::<BTreeSet<_>>());
    assert!(emitted.forms.len() > 1000, "{} calls", emitted.forms.len());
}
