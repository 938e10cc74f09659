//! Two threads that give work, in every order that the locks of orders and reservations allow.

use std::sync::Arc;

use loom::thread;

use crate::driver::{Call, Driver, Log, Want, What, Writing};
use crate::fence::StreamFence;
use crate::lane::Lane;
use crate::reservation::{Access, Fence, Reservation};

fn driver() -> (Arc<dyn Driver>, Log) {
    let driver = Writing::default();
    let log = Arc::clone(&driver.log);
    (Arc::new(driver), log)
}

fn lane(driver: &Arc<dyn Driver>) -> Arc<Lane> {
    Arc::new(Lane::new(driver, Want::default()).unwrap())
}

fn give(
    lane: &Lane,
    touched: &[(&Reservation<StreamFence>, Access)],
    what: &'static str,
) -> StreamFence {
    lane.submit(touched, what, |giver| giver.give(|queue| queue.work(what))).unwrap().1
}

/// The line of a piece of work.
fn line(log: &[Call], what: &'static str) -> usize {
    log.iter().position(|call| call.what == What::Work(what)).unwrap()
}

/// Whether `second` comes behind `first` whatever the device does: in the same queue, or by a wait for an event that was
/// recorded behind the first.
fn is_behind(log: &[Call], second: &'static str, first: &'static str) -> bool {
    let (first, second) = (line(log, first), line(log, second));
    let (of_first, of_second) = (log[first].queue, log[second].queue);
    let recorded = |event: usize| event > first && log[event].queue == of_first;
    let waits = log[..second].iter().filter(|call| call.queue == of_second);
    (of_first == of_second && first < second)
        || waits.into_iter().any(|call| matches!(call.what, What::Wait(event) if recorded(event)))
}

/// Two pieces of work that must not overlap are behind each other, one way.
fn in_some_order(log: &Log, a: &'static str, b: &'static str) {
    let log = log.lock().unwrap().clone();
    assert!(is_behind(&log, a, b) != is_behind(&log, b, a), "{log:#?}");
}

fn two_threads(first: Access, second: Access, check: impl Fn(&Log) + Send + Sync + 'static) {
    let check = Arc::new(check);
    loom::model(move || {
        let (driver, log) = driver();
        let resource = Arc::new(Reservation::new());
        let other = {
            let (lane, resource) = (lane(&driver), Arc::clone(&resource));
            thread::spawn(move || drop(give(&lane, &[(&resource, second)], "second")))
        };
        give(&lane(&driver), &[(&resource, first)], "first");
        other.join().unwrap();
        check(&log);
    });
}

#[test]
fn of_two_writers_one_is_behind_the_other() {
    two_threads(Access::Write, Access::Write, |log| in_some_order(log, "first", "second"));
}

#[test]
fn a_reader_and_a_writer_are_in_some_order() {
    two_threads(Access::Read, Access::Overwrite, |log| in_some_order(log, "first", "second"));
}

#[test]
fn what_gives_memory_back_is_behind_or_before_whoever_reads_it() {
    two_threads(Access::Read, Access::Move, |log| in_some_order(log, "first", "second"));
}

#[test]
fn readers_are_not_behind_each_other() {
    two_threads(Access::Read, Access::Read, |log| {
        let log = log.lock().unwrap();
        assert!(!log.iter().any(|call| matches!(call.what, What::Wait(_))), "{log:#?}");
    });
}

#[test]
fn two_resources_that_are_named_in_opposite_orders_are_no_deadlock() {
    loom::model(|| {
        let (driver, log) = driver();
        let pair = Arc::new((Reservation::new(), Reservation::new()));
        let other = {
            let (lane, pair) = (lane(&driver), Arc::clone(&pair));
            thread::spawn(move || {
                drop(give(&lane, &[(&pair.1, Access::Write), (&pair.0, Access::Read)], "second"));
            })
        };
        give(&lane(&driver), &[(&pair.0, Access::Write), (&pair.1, Access::Read)], "first");
        other.join().unwrap();
        in_some_order(&log, "first", "second");
    });
}

#[test]
fn one_order_that_two_threads_use_numbers_its_fences_as_it_records_them() {
    loom::model(|| {
        let (driver, log) = driver();
        let lane = lane(&driver);
        let [here, there] = [(); 2].map(|()| Arc::new(Reservation::new()));
        let other = {
            let lane = Arc::clone(&lane);
            thread::spawn(move || give(&lane, &[(&there, Access::Write)], "second"))
        };
        let first = give(&lane, &[(&here, Access::Write)], "first");
        let second = other.join().unwrap();
        let log = log.lock().unwrap();
        // Work, record, work, record, and the numbers in the order of the records.
        let before = line(&log, "first") < line(&log, "second");
        assert_eq!(before, first.sequence() < second.sequence(), "{log:#?}");
        for what in ["first", "second"] {
            let next = &log[line(&log, what) + 1];
            assert!(matches!(next.what, What::Record(_)), "{log:#?}");
        }
        let events = [&first, &second].map(|fence| fence.event().unwrap().number());
        assert_eq!(before, events[0] < events[1], "{log:#?}");
    });
}

#[test]
fn two_that_wait_for_a_third_wait_once_each() {
    loom::model(|| {
        let (driver, log) = driver();
        let resource = Arc::new(Reservation::new());
        give(&lane(&driver), &[(&resource, Access::Write)], "third");
        let reader = lane(&driver);
        let other = {
            let (lane, resource) = (Arc::clone(&reader), Arc::clone(&resource));
            thread::spawn(move || drop(give(&lane, &[(&resource, Access::Read)], "second")))
        };
        give(&reader, &[(&resource, Access::Read)], "first");
        other.join().unwrap();
        let log = log.lock().unwrap();
        let waits = log.iter().filter(|call| matches!(call.what, What::Wait(_))).count();
        assert_eq!(waits, 1, "the order has waited for it: {log:#?}");
        assert!(
            is_behind(&log, "first", "third") && is_behind(&log, "second", "third"),
            "{log:#?}"
        );
    });
}
