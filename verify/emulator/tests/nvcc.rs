//! More of what nvcc makes of CUDA C++: each `nvcc/*.ptx` was made of the file of the same name by
//! `nvcc -arch=sm_90a -ptx -std=c++17` (sm_100a where its `.target` says so), empty lines and declarations that nothing
//! uses left out. Every kernel compares what it computed with a plainer way to compute it, and writes the line of a
//! comparison that fails.

use baton_emulator::{Hazard, Launch, Machine, Options, Program, Severity};
use std::fs;
use std::path::Path;

const CTAS: u32 = 2;
const SEEDS: u64 = 3;

/// Runs all kernels of a file, with so many threads in each CTA.
fn check(file: &str, threads: u32) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/nvcc").join(file);
    let text = fs::read_to_string(path).expect("the corpus is there");
    let program = Program::load(&text, file, None).expect("it loads");
    let unknown: Vec<_> = program.unknown().collect();
    assert!(unknown.is_empty(), "{file}: {unknown:#?}");
    let entries = text.lines().filter_map(|line| line.trim().strip_prefix(".visible .entry "));
    let entries: Vec<_> = entries.map(|name| name.trim_end_matches('(')).collect();
    assert!(!entries.is_empty(), "{file} has kernels");
    for kernel in entries {
        for seed in 0..SEEDS {
            let mut machine = Machine::new(Options { seed, ..Options::default() });
            let count = (CTAS * threads) as usize;
            let lines = machine.alloc(4 * count as u64, 256).expect("memory");
            machine.write(lines, &vec![0; 4 * count]).expect("memory");
            let launch = Launch {
                kernel: kernel.into(),
                grid: [CTAS, 1, 1],
                block: [threads, 1, 1],
                dynamic_shared: 1024,
                params: vec![lines.to_le_bytes().to_vec()],
                ..Launch::default()
            };
            match machine.launch(&program, &launch) {
                Ok(report) => {
                    // The libraries of CUDA leave out the fences of the disputed points; and where they copy in bulk, that
                    // of the mbarrier (C1) and that between ordinary reads and the next copy (B2), which are no longer such.
                    let known =
                        |h: &&Hazard| file == "copies.ptx" && ["B2", "C1"].contains(&h.rule);
                    let errors = report.hazards.iter().filter(|h| h.severity == Severity::Error);
                    let errors = errors.filter(|h| !known(h));
                    let hazards: Vec<_> = errors.map(ToString::to_string).collect();
                    assert!(hazards.is_empty(), "{file}, {kernel}: {}", hazards.join("\n"));
                }
                Err(error) => panic!("{file}, {kernel}: {error}"),
            }
            let mut bytes = vec![0; 4 * count];
            machine.read(lines, &mut bytes).expect("memory");
            let words = bytes.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]));
            let failed: Vec<_> = words.enumerate().filter(|(_, line)| *line != 0).collect();
            assert!(failed.is_empty(), "{file}, {kernel}, seed {seed}: thread, line: {failed:?}");
        }
    }
}

#[test]
fn fragments_of_every_type() {
    check("wmma.ptx", 32);
}

#[test]
fn halves_and_brain_floats() {
    check("half.ptx", 128);
}

#[test]
fn floats_of_8_6_and_4_bits() {
    check("narrow.ptx", 128);
}

#[test]
fn cooperative_groups() {
    check("groups.ptx", 128);
}

#[test]
fn sorts_scans_and_histograms_of_cub() {
    check("cubs.ptx", 128);
}

#[test]
fn atomics_of_every_type_and_scope() {
    check("atomics.ptx", 128);
}

#[test]
fn wide_accesses_and_variables() {
    check("memory.ptx", 128);
}

#[test]
fn recursion_virtual_functions_and_allocation() {
    check("calls.ptx", 128);
}

#[test]
fn pipelines_and_bulk_copies() {
    check("copies.ptx", 128);
}

#[test]
fn bits_bytes_and_dot_products() {
    check("bits.ptx", 128);
}

#[test]
fn functions_of_mathematics() {
    check("maths.ptx", 128);
}
