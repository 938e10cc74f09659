//! What a condition says of a thread while it runs alone: a register that nothing sets any more has its final
//! value, and a run that the condition excludes by such values need not be looked at further. Of a thread that
//! reads sixteen flags, one way is left, not two to the sixteenth.

use crate::litmus::{Condition, Term};
use crate::program::{Op, Program, Thread};
use crate::relevance::sets;

/// A condition, thread by thread.
pub struct Finals<'a> {
    threads: Vec<Alone<'a>>,
}

/// What is asked of one thread.
struct Alone<'a> {
    /// Parts that all have to hold and name a register of this thread.
    parts: Vec<&'a Condition>,
    /// Registers that may be set from each instruction on.
    open: Vec<Vec<bool>>,
    /// Instructions that set a register that is asked for.
    deciding: Vec<bool>,
}

impl<'a> Finals<'a> {
    /// Looks through the program.
    pub fn new(program: &Program, condition: &'a Condition) -> Self {
        let mut parts = vec![];
        conjuncts(condition, &mut parts);
        let threads = program.threads.iter().enumerate();
        Self { threads: threads.map(|(at, code)| Alone::new(program, at, code, &parts)).collect() }
    }

    /// Whether an instruction sets a register that the condition names.
    pub fn decides(&self, thread: usize, instruction: usize) -> bool {
        self.threads[thread].deciding[instruction]
    }

    /// Whether the condition cannot hold any more once a thread has come to `counter` with these registers.
    pub fn contradict(&self, thread: usize, counter: usize, registers: &[u128]) -> bool {
        let alone = &self.threads[thread];
        let value = |term| match term {
            Term::Number(number) => Some(number),
            Term::Register(of, register) if of == thread && !alone.open[counter][register] => {
                Some(registers[register])
            }
            _ => None,
        };
        alone.parts.iter().any(|part| part.evaluate(&value) == Some(false))
    }
}

impl<'a> Alone<'a> {
    fn new(program: &Program, thread: usize, code: &Thread, parts: &[&'a Condition]) -> Self {
        let mut asked = vec![false; code.registers.len()];
        let names = |part: &&Condition, asked: &mut Vec<bool>| {
            let mut names = false;
            part.terms(&mut |term| {
                if let Term::Register(of, register) = term
                    && of == thread
                {
                    asked[register] = true;
                    names = true;
                }
            });
            names
        };
        let parts: Vec<_> = parts.iter().copied().filter(|part| names(part, &mut asked)).collect();
        let count = code.code.len();
        let sets: Vec<_> = code.code.iter().map(|i| sets(&i.op, program)).collect();
        let deciding = sets.iter().map(|sets| sets.iter().any(|to| asked[*to])).collect();
        let mut open = vec![vec![false; asked.len()]; count + 1];
        loop {
            let mut grown = false;
            for at in (0..count).rev() {
                let mut here = open[at + 1].clone();
                let targets: &[usize] = match &code.code[at].op {
                    Op::Branch(target) => std::slice::from_ref(target),
                    Op::BranchIndexed(_, targets) => targets,
                    _ => &[],
                };
                for target in targets {
                    here.iter_mut().zip(&open[*target]).for_each(|(here, there)| *here |= there);
                }
                sets[at].iter().for_each(|to| here[*to] = true);
                grown |= here != open[at];
                open[at] = here;
            }
            if !grown {
                return Self { parts, open, deciding };
            }
        }
    }
}

/// The parts of a condition that all have to hold.
fn conjuncts<'a>(condition: &'a Condition, parts: &mut Vec<&'a Condition>) {
    match condition {
        Condition::And(all) => all.iter().for_each(|part| conjuncts(part, parts)),
        part => parts.push(part),
    }
}
