//! What a reservation costs on the host, beside the two lists that one would write first: a
//! vector under a lock from which adding first drops what has signalled, and a vector that is cloned
//! to be looked at.
//!
//! The lists hold fences of as many contexts as their length, none of them signalled. That is the worst
//! case for all of them, and adding a later fence of the last context the longest search.

use std::hint::black_box;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use baton_host::reservation::{
    Access, ContextId, Failure, Fence, Reservation, Status, Usage, Usages, WaitPlan,
};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};

/// A fence as light as a real one: a counted reference.
#[derive(Clone)]
struct Pending(Arc<(ContextId, u64)>);

impl Pending {
    fn new(context: ContextId, sequence: u64) -> Self {
        Self(Arc::new((context, sequence)))
    }
}

impl Fence for Pending {
    fn context(&self) -> ContextId {
        self.0.0
    }

    fn sequence(&self) -> u64 {
        self.0.1
    }

    fn status(&self) -> Status {
        Status::Pending
    }

    fn poll(&self) -> Result<Status, Failure> {
        Ok(Status::Pending)
    }

    fn wait(&self, _deadline: Option<Instant>) -> Result<Status, Failure> {
        Ok(Status::Pending)
    }
}

/// The list that one would write first.
struct Plain(Mutex<Vec<(Pending, Usage)>>);

impl Plain {
    fn add(&self, fence: Pending, usage: Usage) {
        let mut list = self.0.lock().unwrap();
        list.retain(|(old, _)| !old.status().is_signaled() && old.context() != fence.context());
        list.push((fence, usage));
    }

    fn cloned(&self) -> Vec<(Pending, Usage)> {
        self.0.lock().unwrap().clone()
    }
}

fn lists(c: &mut Criterion) {
    for count in [1usize, 8, 32] {
        let contexts: Vec<_> = (0..count).map(|_| ContextId::unique()).collect();
        let reservation = Reservation::new();
        let plain = Plain(Mutex::new(Vec::new()));
        for context in &contexts {
            let fence = Pending::new(*context, 1);
            reservation.lock().reserve(1).unwrap().add(fence.clone(), Usage::Read).unwrap();
            plain.add(fence, Usage::Read);
        }
        // Alternating sequence numbers would be refused; the same one again takes its own slot.
        let last = Pending::new(contexts[count - 1], 1);

        let mut group = c.benchmark_group("add");
        group.bench_function(BenchmarkId::new("reservation", count), |b| {
            b.iter(|| {
                let mut guard = reservation.lock().reserve(1).unwrap();
                guard.add(black_box(last.clone()), Usage::Read).unwrap();
            });
        });
        group.bench_function(BenchmarkId::new("retain_and_push", count), |b| {
            b.iter(|| plain.add(black_box(last.clone()), Usage::Read));
        });
        group.finish();

        let mut group = c.benchmark_group("iterate");
        group.bench_function(BenchmarkId::new("locked", count), |b| {
            b.iter(|| {
                reservation.lock().iter(Usages::all()).map(|(f, _)| f.sequence()).sum::<u64>()
            });
        });
        group.bench_function(BenchmarkId::new("unlocked", count), |b| {
            b.iter(|| reservation.unlocked(Usages::all()).map(|s| s.fence.sequence()).sum::<u64>());
        });
        group.bench_function(BenchmarkId::new("cloned_vector", count), |b| {
            b.iter(|| plain.cloned().iter().map(|(f, _)| f.sequence()).sum::<u64>());
        });
        group.finish();

        let mut group = c.benchmark_group("acquire");
        let own = ContextId::unique();
        group.bench_function(BenchmarkId::new("plan", count), |b| {
            b.iter(|| {
                let mut plan = WaitPlan::new(own);
                plan.require(&reservation.lock(), Access::Write);
                plan.waits().len()
            });
        });
        group.finish();
    }
}

criterion_group!(benches, lists);
criterion_main!(benches);
