//! Fewer edits, and fewer statements of them, that still show the same finding.

use baton_campaign::Campaign;

use crate::Result;
use crate::batch::{Outcome, Workshop};
use crate::judge::End;
use crate::program::Program;

/// Drops edits one at a time, then statements of edits, while a program still ends with the same rule.
pub fn shrink(workshop: &Workshop, outcome: &Outcome, campaign: &Campaign) -> Result<Outcome> {
    let End::Wrong(wrong) = &outcome.end else { return Ok(outcome.clone()) };
    let same = |end: &End| matches!(end, End::Wrong(other) if other.rule == wrong.rule);
    let mut best = outcome.clone();
    loop {
        let mut smaller: Vec<Program> = Vec::new();
        for at in 0..best.program.edits.len() {
            let mut program = best.program.clone();
            program.edits.remove(at);
            smaller.push(program);
        }
        for name in best.program.made(&workshop.material) {
            let mut program = best.program.clone();
            program.without.insert(name);
            smaller.push(program);
        }
        // All of them are one crate, so each has a name of its own.
        for (at, program) in smaller.iter_mut().enumerate() {
            program.number.case = at as u64;
        }
        if smaller.is_empty() {
            return Ok(best);
        }
        let tried = workshop.run(smaller, campaign)?;
        let Some(mut next) = tried.into_iter().find(|tried| same(&tried.end)) else {
            return Ok(best);
        };
        next.program.number = outcome.program.number;
        next.text = next.program.source(&workshop.material).text;
        best = next;
    }
}
