//! Two threads on one reservation, and two that give work, in every order that their locks allow.
//!
//! The modules are compiled here a second time, with the model checker's locks in place of the standard
//! library's; work is given to queues that write down what they were asked.

#![allow(dead_code, unused_imports)]

#[path = "../src/capturing.rs"]
mod capturing;
#[path = "loom/driver.rs"]
mod driver;
#[path = "../src/error.rs"]
mod error;
#[path = "../src/fence.rs"]
mod fence;
#[path = "../src/lane.rs"]
mod lane;
#[path = "../src/report.rs"]
mod report;
#[path = "loom/submission.rs"]
mod submission;
#[path = "../src/waits.rs"]
mod waits;

mod sync {
    pub use loom::sync::{Mutex, MutexGuard};
}

#[path = "../src/reservation/mod.rs"]
mod reservation;

use driver::Number;
use fence::{Point, StreamFence};
use loom::sync::Arc;
use loom::thread;
use reservation::{Access, ContextId, Fence, Reservation, Usage, Usages, WaitPlan, lock_many};

/// Work of an order of its own that never ends: what is looked at here is the list.
fn fence() -> StreamFence {
    let endless = Point::At(std::sync::Arc::new(Number(0)));
    StreamFence::new(ContextId::unique(), 1, "endless".into(), endless, Default::default())
}

fn add(reservation: &Reservation<StreamFence>, fence: StreamFence, usage: Usage) {
    reservation.lock().reserve(1).unwrap().add(fence, usage).unwrap();
}

#[test]
fn n30_one_thread_adds_while_another_walks() {
    loom::model(|| {
        let reservation = Arc::new(Reservation::new());
        let first = fence();
        add(&reservation, first.clone(), Usage::Write);
        let adder = {
            let reservation = Arc::clone(&reservation);
            thread::spawn(move || {
                add(&reservation, fence(), Usage::Read);
                // Swaps the list.
                drop(reservation.lock().reserve(8).unwrap());
            })
        };
        let mut seen = Vec::new();
        for step in reservation.unlocked(Usages::all()) {
            if step.restarted {
                seen.clear();
            }
            seen.push(step.fence);
        }
        // What was there all the time is met, once.
        let met = seen.iter().filter(|fence| fence.context() == first.context()).count();
        assert_eq!(met, 1);
        adder.join().unwrap();
        assert_eq!(reservation.fences(Usages::all()).len(), 2);
    });
}

#[test]
fn n30_of_two_writers_one_waits_for_the_other() {
    loom::model(|| {
        let reservation = Arc::new(Reservation::new());
        let write = |reservation: &Reservation<StreamFence>| {
            let fence = fence();
            let mut guard = reservation.lock().reserve(1).unwrap();
            let mut plan = WaitPlan::new(fence.context());
            plan.require(&guard, Access::Write);
            guard.add(fence, Usage::Write).unwrap();
            plan.waits().len()
        };
        let other = {
            let reservation = Arc::clone(&reservation);
            thread::spawn(move || write(&reservation))
        };
        let here = write(&reservation);
        let there = other.join().unwrap();
        assert_eq!(here + there, 1, "exactly one of them is the second");
    });
}

#[test]
fn n37_opposite_orders_end_in_every_interleaving() {
    loom::model(|| {
        let pair = Arc::new((Reservation::<StreamFence>::new(), Reservation::new()));
        let other = {
            let pair = Arc::clone(&pair);
            thread::spawn(move || drop(lock_many(&[&pair.1, &pair.0]).unwrap()))
        };
        drop(lock_many(&[&pair.0, &pair.1]).unwrap());
        other.join().unwrap();
    });
}
