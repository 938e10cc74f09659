//! What the emulator does not execute of the instruction layer.

use std::collections::BTreeSet;

use baton_builder::Arch;
use baton_emulator::Program;

use super::{Emitted, emitted};

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
    (
        "fences of the fabric proxy: nothing here accesses memory through it",
        &[
            "fence_proxy_fabric_fabric_alias_acquire_sys",
            "fence_proxy_fabric_fabric_alias_release_sys",
            "fence_proxy_fabric_generic_alias_acquire_sys",
            "fence_proxy_fabric_generic_alias_release_sys",
            "fence_proxy_generic_fabric_alias_acquire_sys",
            "fence_proxy_generic_fabric_alias_release_sys",
        ],
    ),
];

/// The functions of which some instruction is not decoded in a module for that target.
fn not_decoded(emitted: &Emitted, arch: Arch) -> BTreeSet<String> {
    let for_arch = |line: &String| match line.trim_start().starts_with(".target") {
        true => format!(".target {arch}"),
        false => line.clone(),
    };
    let text = emitted.lines.iter().map(for_arch).collect::<Vec<_>>().join("\n");
    let program = Program::load(&text, "forms", None).expect("the builder's PTX");
    let mut functions = BTreeSet::new();
    let mut elsewhere = Vec::new();
    for (line, text) in program.unknown() {
        match emitted.forms.iter().find(|form| form.lines.contains(&(line as usize - 1))) {
            Some(form) => {
                let name = form.path.rsplit("::").next().unwrap_or_default();
                functions.insert(name.to_owned());
            }
            None => elsewhere.push(format!("line {line}: {text}")),
        }
    }
    assert!(elsewhere.is_empty(), "{}", elsewhere.join("\n"));
    functions
}

/// No target has all forms: each is decoded for some, of those that have most.
#[test]
fn all_forms_but_the_listed_ones_are_decoded() {
    let emitted = emitted();
    let targets = Arch::ALL.iter().filter(|arch| arch.name().ends_with('a'));
    let mut targets = targets.map(|&arch| not_decoded(emitted, arch));
    let first = targets.next().expect("there are targets");
    let functions = targets.fold(first, |all, more| &all & &more);
    let listed = NOT_EXECUTED.iter().flat_map(|(_, names)| names.iter().map(|n| (*n).to_owned()));
    assert_eq!(functions, listed.collect::<BTreeSet<_>>());
    assert!(emitted.forms.len() > 1000, "{} calls", emitted.forms.len());
}
