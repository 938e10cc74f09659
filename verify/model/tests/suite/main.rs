//! Tests of the memory model as a whole: the corpus, a second implementation, mutants of the checker.

mod choices;
mod compiled;
mod corpus;
mod families;
mod mutants;
mod parser;
mod random;
mod scale;
mod simple;
