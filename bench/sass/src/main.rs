//! What the types cost in machine code: each kernel's instructions beside those of a twin in CUDA C++, class by class.
//!
//! The twins in `cuda/` follow the same rules with the weakest orderings and the narrowest scopes, as an expert writes
//! them on `<cuda/ptx>` and `<cuda/atomic>`. Both are assembled by the same ptxas. It needs nvcc and a C++ compiler
//! for the host: from a toolkit on `PATH` or in `CUDA_HOME`, or from the Python packages that `--help` names.

mod fixture;
mod table;
mod twin;

use std::path::PathBuf;
use std::process::ExitCode;

use baton_builder::Arch;
use baton_tests::code::Code;
use clap::Parser;

use table::Row;
use twin::Nvcc;

/// An example's kernels, the file of their twins, and what they are called.
struct Source {
    example: &'static str,
    twins: &'static str,
    arch: Arch,
    kernels: &'static [&'static str],
}

const SOURCES: [Source; 7] = [
    Source {
        example: "message-passing",
        twins: "message_passing.cu",
        arch: Arch::Sm90a,
        kernels: &["exchange"],
    },
    Source { example: "ring", twins: "ring.cu", arch: Arch::Sm90a, kernels: &["reverse"] },
    Source { example: "bulk-copy", twins: "bulk_copy.cu", arch: Arch::Sm90a, kernels: &["scale"] },
    Source {
        example: "protocols",
        twins: "protocols.cu",
        arch: Arch::Sm90a,
        kernels: &[
            "spin", "tickets", "readers", "turns", "last", "once", "grid", "pairs", "queue",
            "peers", "copies",
        ],
    },
    Source {
        example: "gemm-hopper",
        twins: "gemm_hopper.cu",
        arch: Arch::Sm90a,
        kernels: &["gemm"],
    },
    Source {
        example: "gemm-blackwell",
        twins: "gemm_blackwell.cu",
        arch: Arch::Sm100a,
        kernels: &["gemm_f32"],
    },
    Source { example: "takeover", twins: "takeover.cu", arch: Arch::Sm100a, kernels: &["tiles"] },
];

/// Prints a table of the machine code of kernels and their twins in CUDA C++.
///
/// nvcc 13 comes from CUDA_HOME or PATH; without a toolkit: the Python packages nvidia-cuda-nvcc, nvidia-nvvm,
/// nvidia-cuda-crt, nvidia-cuda-runtime and nvidia-cuda-cccl, unpacked into one folder, CUDA_HOME its nvidia/cu13.
#[derive(Parser)]
struct Arguments {
    /// Only kernels whose name contains this
    #[arg(long, default_value = "")]
    only: String,

    /// Print the opcodes that differ, too
    #[arg(long)]
    opcodes: bool,

    /// Write the PTX of the twins, from which the tests make mutants, anew
    #[arg(long)]
    bless: bool,

    /// Also write the table to this file
    #[arg(short, value_name = "FILE")]
    output: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let nvcc = Nvcc::find()?;
    if arguments.bless {
        fixture::write(&nvcc)?;
    }
    fixture::check(&nvcc)?;
    let mut rows = Vec::new();
    for source in &SOURCES {
        let kernels: Vec<_> =
            source.kernels.iter().filter(|name| name.contains(&arguments.only)).collect();
        if kernels.is_empty() {
            continue;
        }
        let ours = baton_tests::kernels(source.example, source.arch);
        let cubin = ours.binary.cubin.as_deref().ok_or("ptxas did not run")?;
        let ours = twin::listing(cubin)?;
        let theirs = nvcc.listing(source.twins, source.arch)?;
        for kernel in kernels {
            let [ours, theirs] =
                [&ours, &theirs].map(|listing| Code::of_listing(listing, kernel).opcodes());
            if arguments.opcodes {
                table::print_differences(kernel, &ours, &theirs);
            }
            rows.push(Row::new(kernel, &ours, &theirs));
        }
    }
    let table = table::text(&rows);
    print!("{table}");
    match &arguments.output {
        Some(file) => std::fs::write(file, table)
            .map_err(|error| format!("cannot write {}: {error}", file.display())),
        None => Ok(()),
    }
}
