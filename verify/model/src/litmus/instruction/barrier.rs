//! Barriers of a thread block and of a cluster.

use super::super::LitmusError;
use super::{Qualifiers, Reader};
use crate::litmus::lexer::Token;
use crate::program::{Op, Operand, Poll, Vote};

/// Barriers of a thread block.
const BARRIERS: u32 = 16;

/// `bar.sync`, `bar.arrive` and `bar.red`.
pub(super) fn barrier(
    opcode: &str,
    q: &mut Qualifiers<'_>,
    reader: &mut Reader<'_, '_, '_>,
) -> Result<Op, LitmusError> {
    q.take("cta");
    if opcode == "barrier" {
        q.take("aligned");
    }
    let arrives = q.take("arrive");
    let mut poll = None;
    if q.take("red") {
        let op = match (q.take("popc"), q.take("and"), q.take("or")) {
            (true, false, false) if q.take("u32") => Poll::Popc,
            (false, true, false) if q.take("pred") => Poll::And,
            (false, false, true) if q.take("pred") => Poll::Or,
            _ => return Err(q.error("`bar.red.popc.u32`, `bar.red.and.pred` or `bar.red.or.pred`")),
        };
        let to = match op {
            Poll::Popc => reader.register("the result")?,
            Poll::And | Poll::Or => reader.predicate("the result")?,
        };
        reader.comma()?;
        poll = Some((op, to));
    } else if !arrives && !q.take("sync") {
        return Err(q.error("`bar.sync`, `bar.arrive` or `bar.red`"));
    }
    let id = match reader.parser.compiled {
        true => reader.operand()?,
        false => {
            let place = reader.line.clone();
            let id = reader.line.small("the barrier's number")?;
            if id >= BARRIERS {
                return Err(place.expected("the barrier's number, 0 to 15"));
            }
            Operand::Immediate(id.into())
        }
    };
    let mut count = None;
    let mut vote = None;
    let number = |reader: &mut Reader<'_, '_, '_>| {
        let place = reader.line.clone();
        match reader.line.small("how many threads take part")? {
            0 => Err(place.expected("at least one thread")),
            count => Ok(count),
        }
    };
    if let Some((op, to)) = poll {
        reader.comma()?;
        if matches!(reader.line.peek(), Some(Token::Number(_))) {
            count = Some(number(reader)?);
            reader.comma()?;
        }
        let negated = reader.line.take("!");
        vote = Some(Vote { op, to, own: (reader.predicate("the own vote")?, negated) });
    } else if reader.line.take(",") {
        count = Some(number(reader)?);
    } else if arrives {
        return Err(reader.line.expected("`, n`: how many threads take part"));
    }
    Ok(Op::Barrier { id, count, waits: !arrives, vote })
}

/// `barrier.cluster.arrive` and `barrier.cluster.wait`.
pub(super) fn cluster_barrier(q: &mut Qualifiers<'_>) -> Result<Op, LitmusError> {
    q.take("aligned");
    if q.take("wait") {
        q.take("acquire");
        return Ok(Op::ClusterWait);
    }
    if !q.take("arrive") {
        return Err(q.error("`barrier.cluster.arrive` or `barrier.cluster.wait`"));
    }
    let relaxed = q.take("relaxed");
    if !relaxed {
        q.take("release");
    }
    Ok(Op::ClusterArrive(!relaxed))
}
