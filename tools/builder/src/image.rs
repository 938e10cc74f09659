//! The generated Rust expression that carries what was built into an executable.

use std::fmt::Write;
use std::path::Path;

use crate::{Binary, Declared, Kernel, Output};

/// One expression of type `baton_host::Image`.
pub(crate) fn expression(output: &Output) -> String {
    let mut text =
        format!("::baton_host::Image {{\n    name: {:?},\n    binaries: &[\n", output.name);
    for binary in &output.binaries {
        push_binary(&mut text, binary);
    }
    text.push_str("    ],\n}\n");
    text
}

fn push_binary(text: &mut String, binary: &Binary) {
    let Binary { arch, ptx, lines, cubin, kernels, warnings: _ } = binary;
    let cubin = match cubin {
        Some(cubin) => format!("Some(include_bytes!({}))", literal(cubin)),
        None => "None".to_owned(),
    };
    text.push_str("        ::baton_host::Binary {\n");
    let mut field = |name: &str, value: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "            {name}: {value},");
    };
    field("arch", &format!("{:?}", arch.name()));
    field("ptx", &format!("include_str!({})", literal(ptx)));
    field("lines", &format!("include_str!({})", literal(lines)));
    field("cubin", &cubin);
    let kernels: Vec<_> = kernels.iter().map(kernel_info).collect();
    field("kernels", &format!("&[{}]", kernels.join(", ")));
    text.push_str("        },\n");
}

fn kernel_info(kernel: &Kernel) -> String {
    let usage = kernel.usage.unwrap_or_default();
    format!(
        "::baton_host::KernelInfo {{ name: {:?}, registers: {:?}, spill_bytes: {}, stack_bytes: {}, \
         static_shared: {}, declared: {} }}",
        kernel.name,
        kernel.usage.map(|usage| usage.registers),
        usage.spill_bytes,
        usage.stack_bytes,
        usage.static_shared,
        kernel.declared.as_ref().map_or("None".to_owned(), declared),
    )
}

fn declared(declared: &Declared) -> String {
    format!(
        "Some(::baton_host::Declared {{ threads: {:?}, cluster: {:?}, dynamic_shared: {}, parameters: &{:?}, signatures: &{:?} }})",
        declared.threads,
        declared.cluster,
        declared.dynamic_shared,
        declared.parameters,
        declared.signatures
    )
}

/// A path as a string literal. The paths are absolute: what includes a file in a build folder
/// cannot be moved away from it anyway.
fn literal(path: &Path) -> String {
    format!("{:?}", path.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arch, Usage};

    #[test]
    fn the_expression_has_the_hosts_shape() {
        let declared = Declared {
            threads: [128, 1, 1],
            cluster: [0; 3],
            dynamic_shared: 64,
            parameters: vec![16, 4],
            signatures: vec![[1, 2, 3], [4, 5, 6]],
        };
        let binary = |arch, cubin: Option<&str>, usage, declared| Binary {
            arch,
            ptx: "/o/k.ptx".into(),
            lines: "/o/k.lines".into(),
            cubin: cubin.map(Into::into),
            kernels: vec![Kernel { name: "k".into(), declared, usage, findings: Vec::new() }],
            warnings: Vec::new(),
        };
        let usage = Usage { registers: 18, ..Usage::default() };
        let output = Output {
            name: "k_kernel".into(),
            package: "k-kernel".into(),
            image: "/o/k_kernel.rs".into(),
            binaries: vec![
                binary(Arch::Sm90a, Some("/o/k.cubin"), Some(usage), Some(declared)),
                binary(Arch::Sm100a, None, None, None),
            ],
        };
        let expected = r#"::baton_host::Image {
    name: "k_kernel",
    binaries: &[
        ::baton_host::Binary {
            arch: "sm_90a",
            ptx: include_str!("/o/k.ptx"),
            lines: include_str!("/o/k.lines"),
            cubin: Some(include_bytes!("/o/k.cubin")),
            kernels: &[::baton_host::KernelInfo { name: "k", registers: Some(18), spill_bytes: 0, stack_bytes: 0, static_shared: 0, declared: Some(::baton_host::Declared { threads: [128, 1, 1], cluster: [0, 0, 0], dynamic_shared: 64, parameters: &[16, 4], signatures: &[[1, 2, 3], [4, 5, 6]] }) }],
        },
        ::baton_host::Binary {
            arch: "sm_100a",
            ptx: include_str!("/o/k.ptx"),
            lines: include_str!("/o/k.lines"),
            cubin: None,
            kernels: &[::baton_host::KernelInfo { name: "k", registers: None, spill_bytes: 0, stack_bytes: 0, static_shared: 0, declared: None }],
        },
    ],
}
"#;
        assert_eq!(expression(&output), expected);
    }
}
