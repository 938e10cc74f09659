//! Tests of the memory model as a whole: the corpus, a second implementation, mutants of the checker.

mod barriers;
mod choices;
mod corpus;
mod demand;
mod families;
#[allow(dead_code, reason = "the rules are what the emulator says")]
mod handover_forms;
mod handovers;
mod interleave;
mod kernels;
mod mutants;
mod narrow;
mod parser;
mod pictures;
mod random;
mod remarks;
mod scale;
mod simple;
mod spent;
