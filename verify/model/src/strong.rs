//! Morally strong operations (section 8.7).

use crate::event::{Access, Event, Object};
use crate::options::{Clause, Options};
use crate::program::{Order, Proxy};
use crate::scope::{Placement, Scope};

/// Whether two different operations are morally strong relative to each other.
///
/// Both are executed by one thread, or both are strong and each names a scope that contains the
/// other's thread; they use the same proxy; and if both are memory operations, they overlap
/// completely.
pub fn morally_strong(options: &Options, a: &Event, b: &Event) -> bool {
    let clauses = options.clauses;
    let by_order = clauses.has(Clause::StrongProgramOrder) && a.same_order(b);
    if !by_order && !strong_pair(options, a, b) {
        return false;
    }
    match (a.access(), b.access()) {
        (Some(x), Some(y)) => {
            let proxy = !clauses.has(Clause::StrongProxy) || effective(x) == effective(y);
            let complete =
                x.overlaps_completely(y) || !clauses.has(Clause::StrongOverlap) && x.overlaps(y);
            proxy && complete
        }
        _ => true,
    }
}

/// Whether both are strong and in each other's scope.
pub fn strong_pair(options: &Options, a: &Event, b: &Event) -> bool {
    match (a.order(), b.order()) {
        (Some(x), Some(y)) => {
            let strong = if options.clauses.has(Clause::StrongBoth) {
                x.is_strong() && y.is_strong()
            } else {
                x.is_strong() || y.is_strong()
            };
            strong
                && in_scope(options, x, a.place, b.place)
                && in_scope(options, y, b.place, a.place)
        }
        _ => false,
    }
}

/// Whether the scope of an operation at `from` contains the thread at `other`. A weak operation has
/// no scope; it counts as containing everything only when it is wrongly taken for strong.
fn in_scope(options: &Options, order: Order, from: Placement, other: Placement) -> bool {
    let scope = match order.scope {
        _ if !order.is_strong() => Scope::Sys,
        Scope::Cluster if !options.clauses.has(Clause::ScopeCluster) => Scope::Cta,
        scope => scope,
    };
    !options.clauses.has(Clause::StrongScope) || scope.contains(from, other)
}

/// The proxy that counts when operations are compared.
///
/// The text's patterns with asynchronous strong operations (section 8.8, release 4 and 5, acquire 4)
/// meet generic ones on the other side. So a strong asynchronous operation counts as generic here;
/// otherwise these patterns would never synchronise.
fn effective(access: &Access) -> Proxy {
    match access.proxy {
        Proxy::Async if access.order.is_strong() => Proxy::Generic,
        proxy => proxy,
    }
}

/// Whether two halves of atomic operations must not interleave: they are morally strong, or they
/// overlap in any way and are in each other's scope (section 8.7.2), or they work on one mbarrier
/// object, which no scope takes apart.
pub fn exclusive(options: &Options, a: &Event, b: &Event) -> bool {
    let (Some(x), Some(y)) = (a.access(), b.access()) else { return false };
    if !x.is_atomic() || !y.is_atomic() || !x.overlaps(y) || a.same_order(b) {
        return false;
    }
    if x.object != Object::None && y.object != Object::None {
        return true;
    }
    options.clauses.has(Clause::MixedSizeAtomics)
        && effective(x) == effective(y)
        && strong_pair(options, a, b)
}
