//! Instructions on mbarriers, asynchronous copies and tensor memory.

use super::super::LitmusError;
use super::{Qualifiers, Reader, ZERO};
use crate::litmus::lexer::Token;
use crate::program::{
    Address, Completion, Group, Mbarrier, Modify, Op, Operand, Order, Phase, Semantics, Space,
    Tcgen05, Type, Window,
};
use crate::scope::Scope;

pub(super) fn mbarrier(
    q: &mut Qualifiers<'_>,
    reader: &mut Reader<'_, '_, '_>,
) -> Result<Op, LitmusError> {
    if !q.take("b64") {
        return Err(q.error("`.b64`, the type of mbarrier objects"));
    }
    let kind = if q.words.is_empty() { String::new() } else { q.words.remove(0) };
    let release = Order { semantics: Semantics::Release, scope: Scope::Cta };
    let acquire = Order { semantics: Semantics::Acquire, scope: Scope::Cta };
    let relaxed = Order { semantics: Semantics::Relaxed, scope: Scope::Cta };
    // Without `.shared::cluster` an object is one of the thread's own block.
    let remote = q.windows == [Window::SharedCluster];
    if remote && !matches!(kind.as_str(), "arrive" | "arrive_drop" | "expect_tx" | "complete_tx") {
        return Err(q.error("an mbarrier of the own thread block, `.shared::cta`"));
    }
    if q.windows.is_empty() {
        q.windows.push(Window::SharedCta);
    }
    Ok(match kind.as_str() {
        "init" => {
            let at = reader.mbarrier()?;
            let count = reader.next_operand()?;
            Op::Mbarrier(Mbarrier::Init(count), Order::WEAK, at)
        }
        "inval" => Op::Mbarrier(Mbarrier::Invalidate, Order::WEAK, reader.mbarrier()?),
        "arrive" | "arrive_drop" => {
            let drops = kind == "arrive_drop";
            let completes = !q.take("noComplete");
            let expects = completes && q.take("expect_tx");
            let order = q.full_order(release, &["release", "relaxed"])?;
            let mut state = None;
            if reader.line.take_word("_") {
                reader.comma()?;
            } else if !completes || !matches!(reader.line.peek(), Some(Token::Sign("["))) {
                if remote {
                    return Err(reader.line.expected("`_`: a remote arrival returns no state"));
                }
                state = Some(reader.register("the state")?);
                reader.comma()?;
            }
            let at = reader.mbarrier()?;
            let (mut count, mut expect) = (Operand::Immediate(1), ZERO);
            if expects {
                expect = reader.next_operand()?;
            } else if !completes || matches!(reader.line.peek(), Some(Token::Sign(","))) {
                count = reader.next_operand()?;
            }
            Op::Mbarrier(Mbarrier::Arrive { state, count, expect, drops, completes }, order, at)
        }
        "expect_tx" => {
            let order = q.order(relaxed, &["relaxed"])?;
            let at = reader.mbarrier()?;
            Op::Mbarrier(Mbarrier::ExpectTx(reader.next_operand()?), order, at)
        }
        "complete_tx" => {
            let order = q.order(relaxed, &["relaxed"])?;
            let at = reader.mbarrier()?;
            Op::Mbarrier(Mbarrier::CompleteTx(reader.next_operand()?), order, at)
        }
        "test_wait" | "try_wait" => {
            let parity = q.take("parity");
            let order = q.full_order(acquire, &["acquire", "relaxed"])?;
            let done = reader.predicate("the answer")?;
            reader.comma()?;
            let at = reader.mbarrier()?;
            let which = reader.next_operand()?;
            // How long `try_wait` may suspend the thread at most: a read all the same.
            if kind == "try_wait" && reader.line.take(",") {
                reader.operand()?;
            }
            let phase = if parity { Phase::Parity(which) } else { Phase::State(which) };
            Op::Mbarrier(Mbarrier::Wait { done, phase }, order, at)
        }
        _ => {
            return Err(
                q.error("mbarrier.init, inval, arrive, arrive_drop, expect_tx, complete_tx, test_wait or try_wait")
            );
        }
    })
}

pub(super) fn copy(
    q: &mut Qualifiers<'_>,
    reader: &mut Reader<'_, '_, '_>,
) -> Result<Op, LitmusError> {
    let reduce = q.take("reduce");
    if !q.take("async") {
        return Err(q.error("`cp.async…` or `cp.reduce.async.bulk…`"));
    }
    let group = if q.take("bulk") { Group::Bulk } else { Group::Threads };
    if q.take("commit_group") {
        return Ok(Op::CommitGroup(group));
    }
    if q.take("wait_group") {
        let read = group == Group::Bulk && q.take("read");
        let stay = Some(reader.line.small("how many groups may stay")?);
        return Ok(Op::WaitGroup { group, stay, read });
    }
    if group == Group::Threads {
        if reduce {
            return Err(q.error("`cp.reduce.async.bulk…`"));
        }
        return copy_async(q, reader);
    }
    if q.words.iter().any(|word| word == "multicast::cluster") {
        let word = "multicast::cluster";
        return Err(q.error_at(word, "a copy to one place: the model has no other"));
    }
    let policy = q.caches(&[]);
    let tensor = q.take("tensor");
    if tensor {
        if !q.take_one(&["1d", "2d", "3d", "4d", "5d"]) {
            return Err(q.error("the dimensions of the tensor: `.1d` to `.5d`"));
        }
        q.take("tile");
    }
    if !matches!(q.windows.len(), 0 | 2) {
        return Err(q.error("the state spaces of destination and source"));
    }
    let to_group = q.take("bulk_group");
    if !q.take("mbarrier::complete_tx::bytes") && !to_group {
        return Err(q.error("`.mbarrier::complete_tx::bytes` or `.bulk_group`"));
    }
    let order = q.order(Order::WEAK, &["weak", "relaxed"])?;
    let reduce = match reduce {
        true => Some(q.find(Modify::named).ok_or_else(|| q.error("an operation, such as `.add`"))?),
        false => None,
    };
    // A type stands on reductions and on copies that are strong.
    if reduce.is_some() {
        q.integers()?;
    }
    if reduce.is_some() || order.is_strong() {
        q.find(Type::named);
    }
    let to_place = reader.line.clone();
    let (mut map, to) = tile(reader, tensor)?;
    if map == Some(to) {
        return Err(to_place.expected("`[map, x]`: the map and the location that it describes"));
    }
    reader.comma()?;
    let from_place = reader.line.clone();
    let (other, from) = tile(reader, tensor)?;
    if tensor && map.is_some() == other.is_some() {
        return Err(
            from_place.expected("one side through a tensormap location: `[map]` or `[map, x]`")
        );
    }
    map = map.or(other);
    let mut bytes = None;
    if reader.line.take(",") {
        if !tensor || matches!(reader.line.peek(), Some(Token::Number(_))) {
            bytes = Some(reader.line.small("how many bytes")?);
            if !to_group {
                reader.comma()?;
            }
        }
    } else if !to_group || !tensor {
        return Err(reader.line.expected("`,`"));
    }
    let bytes = bytes.unwrap_or(4);
    if bytes == 0 || bytes > 64 {
        return Err(to_place.expected("1 to 64 bytes"));
    }
    reader.fits(to, bytes, &to_place)?;
    reader.fits(from, bytes, &from_place)?;
    let completion = if to_group {
        Completion::Group(Group::Bulk)
    } else {
        let mbarrier = reader.mbarrier()?;
        reader.within(q.windows.first().copied().unwrap_or(Window::SharedCluster));
        Completion::Mbarrier(mbarrier)
    };
    reader.policy(policy)?;
    Ok(Op::Bulk { to, from, bytes, zeros: 0, completion, map, reduce, order })
}

/// One side of a copy: `[x]`, and of a tensor copy also `[map]` and `[map, x]`.
fn tile(
    reader: &mut Reader<'_, '_, '_>,
    tensor: bool,
) -> Result<(Option<Address>, Address), LitmusError> {
    reader.line.sign("[")?;
    let mut place = reader.place()?;
    let mut map = None;
    if tensor && reader.space_of(place) == Some(Space::TensorMap) {
        map = Some(place);
        if reader.line.take(",") {
            // The state space is that of the tile.
            reader.parser.reached.pop();
            place = reader.place()?;
        }
    }
    reader.line.sign("]")?;
    Ok((map, place))
}

/// `cp.async`: a few bytes from global to shared memory, in the generic proxy.
fn copy_async(q: &mut Qualifiers<'_>, reader: &mut Reader<'_, '_, '_>) -> Result<Op, LitmusError> {
    if q.take("wait_all") {
        return Ok(Op::WaitGroup { group: Group::Threads, stay: None, read: false });
    }
    if q.take("mbarrier") {
        if !q.take("arrive") || !q.take("b64") {
            return Err(q.error("`cp.async.mbarrier.arrive.b64` or `.noinc.b64`"));
        }
        let raises = !q.take("noinc");
        let mbarrier = reader.mbarrier()?;
        reader.within(Window::SharedCta);
        return Ok(Op::CopyArrive(mbarrier, raises));
    }
    if !q.take("ca") && !q.take("cg") {
        return Err(q.error(
            "`cp.async.ca`, `.cg`, `.commit_group`, `.wait_group`, `.wait_all`, `.mbarrier.arrive` or `.bulk…`",
        ));
    }
    let policy = q.caches(&[]);
    let (to_place, to) = (reader.line.clone(), reader.address()?);
    reader.comma()?;
    let (from_place, from) = (reader.line.clone(), reader.address()?);
    reader.comma()?;
    let place = reader.line.clone();
    let bytes = reader.line.small("how many bytes")?;
    if !matches!(bytes, 4 | 8 | 16) {
        return Err(place.expected("4, 8 or 16 bytes"));
    }
    reader.fits(to, bytes, &to_place)?;
    reader.fits(from, bytes, &from_place)?;
    // How many bytes are read; zeros take the place of the others.
    let mut zeros = 0;
    if matches!(reader.line.peek(), Some(Token::Sign(","))) {
        let mut ahead = reader.line.clone();
        ahead.sign(",")?;
        if matches!(ahead.peek(), Some(Token::Number(_))) || !policy {
            let place = ahead.clone();
            let read = ahead.small("how many bytes are read")?;
            let missing = bytes.checked_sub(read);
            zeros =
                missing.ok_or_else(|| place.expected(format!("at most {bytes} bytes to read")))?;
            *reader.line = ahead;
        }
    }
    reader.policy(policy)?;
    let completion = Completion::Group(Group::Threads);
    Ok(Op::Bulk { to, from, bytes, zeros, completion, map: None, reduce: None, order: Order::WEAK })
}

pub(super) fn store_async(
    is_reduction: bool,
    q: &mut Qualifiers<'_>,
    reader: &mut Reader<'_, '_, '_>,
) -> Result<Op, LitmusError> {
    q.take("async");
    if let Some(word) = q.words.iter().find(|word| matches!(word.as_str(), "v2" | "v4")) {
        return Err(q.error_at(word, "one element: the model has no vectors here"));
    }
    let mmio = q.take("mmio");
    let completes = q.take("mbarrier::complete_tx::bytes");
    let reduce = q
        .find(Modify::named)
        .filter(|modify| !matches!(modify, Modify::Exchange | Modify::CompareExchange));
    if reduce.is_none() && is_reduction {
        return Err(q.error("an operation: add, and, or, xor, min, max, inc or dec"));
    }
    let default = if reduce.is_some() {
        Order { semantics: Semantics::Relaxed, scope: Scope::Cluster }
    } else {
        Order::WEAK
    };
    let order = q.order(default, &["weak", "relaxed", "release"])?;
    if mmio && !order.is_strong() {
        return Err(q.error("`.mmio` on a strong operation: `.release.sys`"));
    }
    if !completes && !order.is_strong() {
        return Err(q.error("`.mbarrier::complete_tx::bytes`, or semantics and a scope"));
    }
    if reduce.is_some() {
        q.integers()?;
    }
    let ty = q.ty()?;
    let to = reader.fitting(ty.bytes)?;
    let value = reader.next_operand()?;
    let mut mbarrier = None;
    if completes {
        reader.comma()?;
        mbarrier = Some(reader.mbarrier()?);
        reader.within(Window::SharedCluster);
    }
    Ok(Op::StoreAsync { to, value, ty, reduce, mbarrier, order })
}

/// The qualifiers of a tcgen05 instruction: of each list there may be one.
fn ignored(kind: &str) -> &'static [&'static [&'static str]] {
    const GROUPS: &[&str] = &["cta_group::1", "cta_group::2"];
    const SHAPES: &[&str] = &["16x64b", "16x128b", "16x256b", "32x32b", "16x32bx2"];
    match kind {
        "ld" => &[&["sync"], &["aligned"], SHAPES, &["x1"], &["pack::16b"], &["b32"]],
        "st" => &[&["sync"], &["aligned"], SHAPES, &["x1"], &["unpack::16b"], &["b32"]],
        "mma" => &[GROUPS, &["kind::f16", "kind::tf32", "kind::f8f6f4", "kind::i8"]],
        "cp" => &[GROUPS, &["128x256b", "4x256b", "128x128b"]],
        "commit" => &[GROUPS, &["mbarrier::arrive::one"], &["b64"]],
        "wait::ld" | "wait::st" => &[&["sync"], &["aligned"]],
        _ => &[],
    }
}

pub(super) fn tcgen05(
    q: &mut Qualifiers<'_>,
    reader: &mut Reader<'_, '_, '_>,
) -> Result<Op, LitmusError> {
    let kind = if q.words.is_empty() { String::new() } else { q.words.remove(0) };
    // Shapes, kinds and groups do not matter to the model.
    for words in ignored(&kind) {
        q.take_one(words);
    }
    let tensor = |space| space == Space::Tensor;
    let shared = |space| matches!(space, Space::Shared(_));
    let in_tensor = "a location declared `tensor`";
    Ok(Op::Tcgen05(match kind.as_str() {
        "ld" => {
            let to = reader.register("the destination")?;
            reader.comma()?;
            Tcgen05::Load(vec![to], reader.in_space(in_tensor, tensor)?)
        }
        "st" => {
            let to = reader.in_space(in_tensor, tensor)?;
            Tcgen05::Store(to, vec![reader.next_operand()?])
        }
        "mma" => {
            let d = reader.in_space(in_tensor, tensor)?;
            let a = reader.next_address()?;
            let b = reader.next_address()?;
            let accumulate =
                if reader.line.take(",") { reader.operand()? } else { Operand::Immediate(1) };
            Tcgen05::Mma { d, a, b, accumulate }
        }
        "cp" => {
            let to = reader.in_space(in_tensor, tensor)?;
            reader.comma()?;
            Tcgen05::Copy(to, reader.in_space("a location in shared memory", shared)?)
        }
        "commit" => Tcgen05::Commit(reader.mbarrier()?),
        "wait::ld" => Tcgen05::WaitLoad,
        "wait::st" => Tcgen05::WaitStore,
        "fence::before_thread_sync" => Tcgen05::Before,
        "fence::after_thread_sync" => Tcgen05::After,
        _ => {
            return Err(q.error(
                "tcgen05.ld, st, mma, cp, commit, wait::ld, wait::st, fence::before_thread_sync or \
                 fence::after_thread_sync",
            ));
        }
    }))
}
