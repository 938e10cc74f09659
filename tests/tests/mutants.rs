//! Proof that the tests see: each hand-over of the examples' kernels is broken in the emitted PTX, one instruction at
//! a time, and within a hundred schedules the emulator reports a deadlock, an error or a hazard, or the result is
//! wrong.
//!
//! What ends a role is left alone: its waits have nothing left to wait for when the roles before them have ended, so
//! a schedule cannot tell their absence. They are the waits outside the role's loops.

use std::fmt;

use baton_host::{Binary, Device, EmulatorOptions, Error, Image, Module};
use baton_ptx::{Body, Instruction};
use baton_tests::code::Code;
use example_common::Outcome;
use gemm_blackwell::{Problem, Shape};

/// Schedules in which a mutant has to be noticed.
const SEEDS: u64 = 100;
/// Instructions after which a run that makes no headway is given up.
const STEPS: u64 = 20_000_000;

/// One way to break a hand-over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mutation {
    /// A wait for an mbarrier's phase, or for bulk stores to have read their source, does not wait.
    NoWait,
    /// A wait asks for the other parity, so that it starts one phase off.
    OtherParity,
    /// An arrival is left out: an `mbarrier.arrive`, or a `tcgen05.commit`.
    NoArrival,
    /// An arrival does not say which bytes are on their way.
    NoBytes,
}

/// A mutation of one instruction.
struct Mutant {
    mutation: Mutation,
    line: u32,
    ptx: String,
}

impl fmt::Debug for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at line {}", self.mutation, self.line)
    }
}

impl Mutation {
    /// What the instruction becomes; none if this is not its kind of instruction.
    fn of(self, instruction: &Instruction, text: &str) -> Option<String> {
        let (mnemonic, operands) = text.split_once(char::is_whitespace)?;
        let operands: Vec<&str> =
            operands.trim_end_matches(';').split(',').map(str::trim).collect();
        match (self, instruction.opcode(), operands.as_slice()) {
            (Self::NoWait, "mbarrier", [complete, ..]) if instruction.has("try_wait") => {
                Some(format!("setp.eq.u32 {complete}, 0, 0;"))
            }
            (Self::NoWait, "cp", _) if instruction.has("wait_group") && instruction.has("read") => {
                Some(String::new())
            }
            (Self::OtherParity, "mbarrier", [complete, barrier, parity])
                if instruction.has("try_wait") =>
            {
                Some(format!(
                    "{{ .reg .b32 other; xor.b32 other, {parity}, 1; {mnemonic} {complete}, {barrier}, other; }}"
                ))
            }
            (Self::NoArrival, "mbarrier", _)
                if instruction.has("arrive") && !instruction.has("expect_tx") =>
            {
                Some(String::new())
            }
            (Self::NoArrival, "tcgen05", _) if instruction.has("commit") => Some(String::new()),
            (Self::NoBytes, "mbarrier", [state, barrier, _]) if instruction.has("expect_tx") => {
                let mnemonic = mnemonic.replace(".expect_tx", "");
                Some(format!("{mnemonic} {state}, {barrier};"))
            }
            _ => None,
        }
    }

    /// Whether the instruction has to be in one of its role's loops.
    fn is_of_a_wait(self) -> bool {
        matches!(self, Self::NoWait | Self::OtherParity)
    }
}

/// All mutants of a kernel.
fn mutants(ptx: &str, kernel: &str) -> Vec<Mutant> {
    let module = baton_ptx::Module::parse(ptx, kernel).expect("the builder's PTX");
    let function = module.functions.iter().find(|function| &*function.name == kernel);
    let body: &Body = function.and_then(|f| f.body.as_ref()).expect("the kernel is there");
    let loops = Code::of_ptx(&module, kernel).loops();
    let mut mutants = Vec::new();
    for (at, instruction) in body.instructions.iter().enumerate() {
        let own_loop = usize::from(instruction.has("try_wait"));
        let in_a_loop = loops.iter().filter(|body| body.contains(&at)).count() > own_loop;
        let text = &ptx[instruction.span.clone()];
        for mutation in
            [Mutation::NoWait, Mutation::OtherParity, Mutation::NoArrival, Mutation::NoBytes]
        {
            if mutation.is_of_a_wait() && !in_a_loop {
                continue;
            }
            let Some(new) = mutation.of(instruction, text) else { continue };
            let mut mutated = ptx.to_owned();
            mutated.replace_range(instruction.span.clone(), &new);
            mutants.push(Mutant { mutation, line: instruction.line, ptx: mutated });
        }
    }
    mutants
}

/// The emulator with this code in the place of the original's.
fn load(original: &Binary, name: &'static str, ptx: String) -> Result<(Device, Module), Error> {
    // An image is part of a program, and lives as long.
    let ptx: &'static str = ptx.leak();
    let binaries = Box::leak(Box::new([Binary { ptx, cubin: None, ..*original }]));
    let mut options = EmulatorOptions::default();
    options.machine.step_limit = Some(STEPS);
    let device = Device::emulator(options);
    let module = device.load(&Image { name, binaries })?;
    Ok((device, module))
}

/// Runs every mutant of a kernel until it is noticed. `expected` counts the mutants by mutation, so that none is lost.
fn all_are_noticed(
    image: &Image,
    kernel: &str,
    expected: [(Mutation, usize); 4],
    run: impl Fn(&Device, &Module, u64) -> Result<Outcome, Error>,
) {
    let original = &image.binaries[0];
    let mutants = mutants(original.ptx, kernel);
    for (mutation, least) in expected {
        let count = mutants.iter().filter(|mutant| mutant.mutation == mutation).count();
        assert!(count >= least, "{kernel}: {count} of {mutation:?}, expected {least}");
    }
    let noticed = |ptx: &str| {
        let (device, module) = load(original, image.name, ptx.to_owned())?;
        Ok((0..SEEDS).find_map(|seed| {
            device.set_seed(seed);
            match run(&device, &module, seed) {
                Ok(outcome) if outcome.is_verified() => None,
                Ok(outcome) => Some((seed, format!("{:?}", outcome.verdict.first))),
                Err(error) => Some((seed, error.to_string())),
            }
        }))
    };
    let of_original: Result<_, Error> = noticed(original.ptx);
    assert_eq!(of_original.expect("the builder's PTX loads"), None, "{kernel} as it is");
    let mut unnoticed = Vec::new();
    for mutant in mutants {
        let found = noticed(&mutant.ptx).unwrap_or_else(|e| panic!("{kernel}, {mutant:?}: {e}"));
        match found {
            Some((seed, how)) => {
                println!("{kernel}, {mutant:?}, seed {seed}: {}", how.lines().next().unwrap_or(""));
            }
            None => unnoticed.push(mutant),
        }
    }
    assert!(unnoticed.is_empty(), "{kernel}: not noticed in {SEEDS} schedules: {unnoticed:?}");
}

#[test]
fn broken_rings_are_noticed() {
    // Producer and consumer have a wait and an arrival each.
    let expected = [
        (Mutation::NoWait, 2),
        (Mutation::OtherParity, 2),
        (Mutation::NoArrival, 2),
        (Mutation::NoBytes, 0),
    ];
    all_are_noticed(&ring::KERNELS, "reverse", expected, |device, module, _| {
        ring::run(device, module, 2000, 1, 1)
    });
}

#[test]
fn broken_bulk_copies_are_noticed() {
    // The ring's two waits and that for the staging buffer; the threads' arrival, and that with the bytes.
    let expected = [
        (Mutation::NoWait, 3),
        (Mutation::OtherParity, 2),
        (Mutation::NoArrival, 1),
        (Mutation::NoBytes, 1),
    ];
    all_are_noticed(&bulk_copy::KERNELS, "scale", expected, |device, module, _| {
        bulk_copy::run(device, module, (300, 150), 1, 1)
    });
}

#[test]
fn broken_products_are_noticed() {
    // Two rings with two waits each, and the staging buffer's; the epilogue's arrival and three commits; the bytes.
    let expected = [
        (Mutation::NoWait, 5),
        (Mutation::OtherParity, 4),
        (Mutation::NoArrival, 4),
        (Mutation::NoBytes, 1),
    ];
    // On one CTA, so that each accumulator and each stage is used again. An odd number of steps runs every copy of an
    // unrolled loop; a single one brings the ends of the accumulators' ring as near to each other as they come.
    let shapes = [Shape { m: 256, n: 256, k: 448 }, Shape { m: 512, n: 256, k: 64 }];
    let problems = shapes.map(|shape| Problem::new(shape, 1));
    all_are_noticed(&gemm_blackwell::KERNELS, "gemm_f32", expected, |device, module, seed| {
        let problem = &problems[seed as usize % problems.len()];
        problem.run::<f32>(device, module, 1).map(|product| product.outcome)
    });
}
