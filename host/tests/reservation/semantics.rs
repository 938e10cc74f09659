//! What a reservation must do, with fences made by hand. The numbers are those of the acceptance tests.
//!
//! `mutants.rs` compiles this file against reservations with a bug in them, and at least one test must
//! see each; so nothing here may depend on more than the module's public interface.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::fences::{Manual, Timeline};
use super::reservation::{
    Access, AddError, Asking, Failure, Fence, Guard, Merged, NoSlots, Reservation, ReserveError,
    Slots, Status, Usage, Usages, WaitPlan, Waited, acquire, lock_many, merge,
};

const KERNEL: Usage = Usage::Kernel;
const WRITE: Usage = Usage::Write;
const READ: Usage = Usage::Read;
const BOOKKEEP: Usage = Usage::Bookkeep;

fn reserved(reservation: &Reservation<Manual>, count: usize) -> Guard<'_, Manual, Slots> {
    reservation.lock().reserve(count).unwrap()
}

fn add(reservation: &Reservation<Manual>, fence: &Manual, usage: Usage) {
    reserved(reservation, 1).add(fence.clone(), usage).unwrap();
}

/// A reservation with one fence of each of these usages, each of a context of its own.
fn with(usages: &[Usage]) -> (Reservation<Manual>, Vec<Manual>) {
    let reservation = Reservation::new();
    let fences: Vec<_> = usages.iter().map(|_| Timeline::new().fence()).collect();
    for (fence, usage) in fences.iter().zip(usages) {
        add(&reservation, fence, *usage);
    }
    (reservation, fences)
}

fn all(reservation: &Reservation<Manual>) -> Vec<(Manual, Usage)> {
    reservation.lock().iter(Usages::all()).collect()
}

const NOW: Option<Duration> = Some(Duration::ZERO);

/// Longer than anything here takes, and short enough that a mutant's test ends.
const LONG: Option<Duration> = Some(Duration::from_secs(2));

#[test]
fn n01_nothing_is_leaked() {
    let fence = Timeline::new().fence();
    let reservation = Reservation::new();
    reservation.lock().unlock();
    add(&reservation, &fence, WRITE);
    assert_eq!(fence.holders(), 2);
    drop(reservation);
    assert_eq!(fence.holders(), 1);
}

#[test]
fn n02_each_usage_is_unsignaled_and_then_signaled() {
    for usage in Usage::ALL {
        let (reservation, fences) = with(&[usage]);
        assert_eq!(reservation.test_signaled(usage), Ok(false), "{usage}");
        fences[0].signal();
        assert_eq!(reservation.test_signaled(usage), Ok(true), "{usage}");
    }
}

#[test]
fn n03_locked_iteration_yields_exactly_that_fence_and_usage() {
    for usage in Usage::ALL {
        let (reservation, fences) = with(&[usage]);
        assert_eq!(all(&reservation), [(fences[0].clone(), usage)]);
    }
}

#[test]
fn n04_unlocked_iteration_begins_again_when_the_list_is_swapped() {
    for usage in Usage::ALL {
        let (reservation, fences) = with(&[usage]);
        let mut walk = reservation.unlocked(usage);
        let seen = walk.next().unwrap();
        assert_eq!((&seen.fence, seen.usage, seen.restarted), (&fences[0], usage, true));
        assert!(!walk.is_restarted());

        // Growing swaps the list.
        drop(reserved(&reservation, 100));
        assert!(walk.is_restarted());
        let seen = walk.next().unwrap();
        assert_eq!((&seen.fence, seen.usage, seen.restarted), (&fences[0], usage, true));
        assert!(walk.next().is_none());
    }
}

#[test]
fn n04_an_add_in_place_is_no_restart() {
    let timeline = Timeline::new();
    let (reservation, fences) = with(&[READ, READ]);
    add(&reservation, &timeline.fence(), READ);
    let mut walk = reservation.unlocked(READ);
    assert_eq!(walk.next().unwrap().fence, fences[0]);
    let later = timeline.fence();
    add(&reservation, &later, READ);
    let next = walk.next().unwrap();
    assert_eq!((next.fence, next.restarted), (fences[1].clone(), false));
    let last = walk.next().unwrap();
    assert_eq!((last.fence, last.restarted), (later, false));
    assert!(walk.next().is_none());
}

#[test]
fn n05_get_fences_is_the_one_fence() {
    for usage in Usage::ALL {
        let (reservation, fences) = with(&[usage]);
        assert_eq!(reservation.fences(usage), [(fences[0].clone(), usage)]);
    }
}

#[test]
fn n06_a_query_sees_its_level_and_the_stricter() {
    // Rows: the fence's usage. Columns: the query's level.
    let seen = [
        [true, true, true, true],
        [false, true, true, true],
        [false, false, true, true],
        [false, false, false, true],
    ];
    for (usage, row) in Usage::ALL.into_iter().zip(seen) {
        let (reservation, _fences) = with(&[usage]);
        for (level, seen) in Usage::ALL.into_iter().zip(row) {
            assert_eq!(reservation.fences(level).len(), usize::from(seen), "{usage} by {level}");
            assert_eq!(reservation.unlocked(level).count(), usize::from(seen));
            assert_eq!(reservation.lock().iter(level).count(), usize::from(seen));
            assert_eq!(reservation.test_signaled(level), Ok(!seen));
            assert_eq!(reservation.singleton(level).is_some(), seen);
        }
    }
}

#[test]
fn n06_a_set_sees_its_members_alone() {
    let (reservation, fences) = with(&Usage::ALL);
    let of = |set| reservation.fences(set).into_iter().map(|(fence, _)| fence).collect::<Vec<_>>();
    assert_eq!(of(Usages::READ), [fences[2].clone()]);
    assert_eq!(of(Usages::KERNEL | Usages::BOOKKEEP), [fences[0].clone(), fences[3].clone()]);
    assert_eq!(of(Usages::all()), fences);
    assert!(of(Usages::empty()).is_empty() && Usages::empty().is_empty());
    assert_eq!(Usages::from(READ), Usages::KERNEL | Usages::WRITE | Usages::READ);
}

#[test]
fn n07_an_empty_one_is_signaled_at_all_levels() {
    let reservation = Reservation::<Manual>::new();
    for level in Usage::ALL {
        assert_eq!(reservation.test_signaled(level), Ok(true));
        assert_eq!(reservation.wait(level, NOW), Ok(Waited::Done));
        assert_eq!(reservation.singleton(level), None);
    }
}

#[test]
fn n08_an_upgrade_is_in_place() {
    let (reservation, fences) = with(&[BOOKKEEP]);
    add(&reservation, &fences[0], READ);
    assert_eq!(all(&reservation), [(fences[0].clone(), READ)]);
}

#[test]
fn n09_a_downgrade_keeps_the_writer_visible() {
    let (reservation, fences) = with(&[WRITE]);
    for weaker in [READ, BOOKKEEP] {
        add(&reservation, &fences[0], weaker);
        assert_eq!(reservation.fences(WRITE), [(fences[0].clone(), WRITE)], "{weaker}");
    }
    assert_eq!(all(&reservation).len(), 1, "the fence is there once");
}

#[test]
fn n10_the_same_fence_many_times_is_one_slot() {
    let (reservation, fences) = with(&[READ]);
    for _ in 0..100 {
        add(&reservation, &fences[0], READ);
    }
    assert_eq!(all(&reservation), [(fences[0].clone(), READ)]);
}

#[test]
fn n11_an_older_fence_never_evicts_a_newer() {
    let timeline = Timeline::new();
    let (older, newer) = (timeline.fence(), timeline.fence());
    for (first, second) in [(READ, READ), (WRITE, WRITE), (READ, WRITE), (WRITE, READ)] {
        let reservation = Reservation::new();
        add(&reservation, &newer, first);
        add(&reservation, &older, second);
        assert!(all(&reservation).contains(&(newer.clone(), first)), "{first} then {second}");
        // The older fence is there or implied.
        let visible = reservation.fences(second);
        assert!(visible.iter().any(|(fence, _)| fence.is_later_or_same(&older)));
    }
}

#[test]
fn n12_a_read_keeps_the_write_and_the_next_write_takes_its_slot() {
    let timeline = Timeline::new();
    let (w1, r2, w3) = (timeline.fence(), timeline.fence(), timeline.fence());
    let reservation = Reservation::new();
    add(&reservation, &w1, WRITE);
    add(&reservation, &r2, READ);
    assert_eq!(all(&reservation), [(w1, WRITE), (r2.clone(), READ)]);
    add(&reservation, &w3, WRITE);
    assert_eq!(all(&reservation), [(w3, WRITE), (r2, READ)]);
}

#[test]
fn n13_a_signaled_slot_is_taken_by_anyone() {
    let (reservation, fences) = with(&[READ, KERNEL, READ]);
    fences[1].signal();
    let other = Timeline::new().fence();
    add(&reservation, &other, BOOKKEEP);
    let slots = all(&reservation);
    assert_eq!(slots[1], (other, BOOKKEEP));
    assert_eq!(slots.len(), 3);
}

#[test]
fn n13_the_first_slot_that_serves_is_taken() {
    let timeline = Timeline::new();
    let reservation = Reservation::new();
    let (done, own) = (Timeline::new().fence(), timeline.fence());
    add(&reservation, &own, READ);
    add(&reservation, &done, READ);
    done.signal();
    add(&reservation, &timeline.fence(), READ);
    assert_eq!(all(&reservation)[1].0, done, "its own slot stands before the signalled one");
}

#[test]
fn n14_reserving_one_twice_is_one_slot() {
    let reservation = Reservation::new();
    let guard: Guard<'_, Manual, NoSlots> = reservation.lock();
    let mut guard = guard.reserve(1).unwrap().reserve(1).unwrap();
    let fences = [Timeline::new().fence(), Timeline::new().fence()];
    guard.add(fences[0].clone(), WRITE).unwrap();
    let full = guard.add(fences[1].clone(), WRITE).unwrap_err();
    assert_eq!(full, AddError::NoSlot { context: fences[1].context() });
    assert!(full.to_string().contains("reserve one for each fence"), "{full}");
    // Taking a slot over is still possible, and no slot is used by it.
    guard.add(fences[0].clone(), KERNEL).unwrap();
    let mut guard = guard.reserve(1).unwrap();
    guard.add(fences[1].clone(), WRITE).unwrap();
    guard.unlock();
    assert_eq!(all(&reservation), [(fences[0].clone(), KERNEL), (fences[1].clone(), WRITE)]);
}

#[test]
fn n15_reserved_slots_are_lost_on_unlock() {
    let reservation = Reservation::new();
    reserved(&reservation, 4).unlock();
    let mut guard = reserved(&reservation, 1);
    guard.add(Timeline::new().fence(), READ).unwrap();
    assert!(matches!(guard.add(Timeline::new().fence(), READ), Err(AddError::NoSlot { .. })));
}

#[test]
fn n16_reserving_nothing_is_an_error() {
    let reservation = Reservation::<Manual>::new();
    let refused = reservation.lock().reserve(0).unwrap_err();
    assert_eq!(refused.reason, ReserveError::Nothing);
    // The lock is still held.
    refused.guard.reserve(1).unwrap().add(Timeline::new().fence(), READ).unwrap();
}

#[test]
fn n16_a_list_that_cannot_grow_is_an_error() {
    let (reservation, _fences) = with(&[WRITE]);
    for count in [usize::MAX, usize::MAX / 2] {
        let refused = reservation.lock().reserve(count).unwrap_err();
        assert_eq!(refused.reason, ReserveError::OutOfMemory { count });
        assert!(refused.reason.to_string().contains("wait on the host"));
        assert_eq!(refused.guard.iter(WRITE).count(), 1);
    }
}

#[test]
fn n17_growing_drops_what_has_signaled() {
    let reservation = Reservation::new();
    assert_eq!(reserved(&reservation, 1).capacity(), 4);
    let fences: Vec<_> = (0..4).map(|_| Timeline::new().fence()).collect();
    for fence in &fences {
        add(&reservation, fence, READ);
    }
    fences[1].signal();
    fences[3].signal();
    let guard = reserved(&reservation, 1);
    assert_eq!(guard.capacity(), 8);
    let kept: Vec<_> = guard.iter(Usages::all()).collect();
    assert_eq!(kept, [(fences[0].clone(), READ), (fences[2].clone(), READ)]);
}

#[test]
fn n17_the_first_list_is_a_power_of_two_and_the_next_at_least_twice() {
    let reservation = Reservation::<Manual>::new();
    assert_eq!(reserved(&reservation, 5).capacity(), 8);
    assert_eq!(reserved(&reservation, 8).capacity(), 8);
    assert_eq!(reserved(&reservation, 9).capacity(), 16);
    assert_eq!(reserved(&reservation, 100).capacity(), 100);
}

#[test]
fn n18_locked_iteration_yields_the_signaled_and_a_copy_does_not() {
    let (reservation, fences) = with(&[WRITE, READ]);
    fences[0].signal();
    assert_eq!(all(&reservation).len(), 2);
    assert_eq!(reservation.fences(Usages::all()), [(fences[1].clone(), READ)]);
    assert_eq!(reservation.unlocked(Usages::all()).count(), 1);
}

#[test]
fn n19_replace_takes_all_slots_of_the_context() {
    let (ours, other) = (Timeline::new(), Timeline::new().fence());
    let reservation = Reservation::new();
    for (sequence, usage) in [(1, WRITE), (2, READ), (3, BOOKKEEP)] {
        add(&reservation, &ours.fence_at(sequence), usage);
    }
    add(&reservation, &other, READ);
    let new = Timeline::new().fence();
    assert_eq!(reservation.lock().replace(Timeline::new().context, &new, WRITE), 0);
    assert_eq!(all(&reservation).iter().filter(|(fence, _)| *fence == new).count(), 0);
    assert_eq!(reservation.lock().replace(ours.context, &new, READ), 3);
    let slots = all(&reservation);
    assert_eq!(slots.iter().filter(|slot| **slot == (new.clone(), READ)).count(), 3);
    assert!(slots.contains(&(other, READ)));
}

#[test]
fn n20_a_copy_replaces_and_keeps_usages() {
    let (source, fences) = with(&Usage::ALL);
    fences[2].signal();
    let (destination, old) = with(&[WRITE]);
    destination.lock().copy_from(&source).unwrap();
    let expected: Vec<_> = [(0, KERNEL), (1, WRITE), (3, BOOKKEEP)]
        .into_iter()
        .map(|(index, usage): (usize, _)| (fences[index].clone(), usage))
        .collect();
    assert_eq!(all(&destination), expected);
    assert_eq!(old[0].holders(), 1);

    destination.lock().copy_from(&Reservation::new()).unwrap();
    assert!(all(&destination).is_empty());
}

#[test]
fn n20_what_was_reserved_is_gone_after_a_copy() {
    let destination = Reservation::new();
    let mut guard = reserved(&destination, 1);
    guard.copy_from(&with(&[READ]).0).unwrap();
    assert!(matches!(guard.add(Timeline::new().fence(), READ), Err(AddError::NoSlot { .. })));
}

#[test]
fn n21_copies_under_concurrent_adds_end() {
    let reservation = Reservation::new();
    std::thread::scope(|scope| {
        let adder = scope.spawn(|| {
            // Every fence is of a context of its own, so that the list grows and is swapped.
            for _ in 0..500 {
                add(&reservation, &Timeline::new().fence(), READ);
            }
        });
        let mut seen = 0;
        while !adder.is_finished() {
            let copy = reservation.fences(Usages::all()).len();
            assert!(copy >= seen, "an unsignalled fence has been lost");
            seen = copy;
            let other = Reservation::new();
            other.lock().copy_from(&reservation).unwrap();
            assert!(all(&other).len() >= seen);
            // A walk may begin again whenever the list is swapped, and a swap doubles the list.
            let mut restarts = 0;
            for step in reservation.unlocked(Usages::all()) {
                restarts += usize::from(step.restarted);
            }
            assert!(restarts <= 10, "{restarts}");
        }
    });
    assert_eq!(all(&reservation).len(), 500);
}

#[test]
fn n22_a_singleton_is_nothing_the_fence_or_all_together() {
    let (reservation, fences) = with(&[WRITE]);
    assert_eq!(reservation.singleton(WRITE), Some(Merged::One(fences[0].clone())));

    let (reservation, fences) = with(&[WRITE, READ, READ]);
    let together = reservation.singleton(READ).unwrap();
    assert_eq!(together.parts(), fences);
    fences[2].signal();
    let first = fences[1].fail("the first");
    assert_eq!(together.status(), Status::Pending);
    assert_eq!(together.wait(Some(Instant::now())), Ok(Status::Pending));
    fences[0].signal();
    assert_eq!(together.status(), Status::Failed(first.clone()));
    assert_eq!(together.poll(), Ok(Status::Failed(first)));
}

#[test]
fn n22_the_first_failure_wins() {
    let (reservation, fences) = with(&[READ, READ, READ]);
    let together = reservation.singleton(READ).unwrap();
    let first = fences[0].fail("first");
    fences[1].fail("second");
    fences[2].signal();
    assert_eq!(together.wait(None), Ok(Status::Failed(first)));
}

#[test]
fn n22_a_singleton_of_several_is_not_added() {
    let (reservation, _fences) = with(&[READ, READ]);
    let together = reservation.singleton(READ).unwrap();
    let refused = reserved(&reservation, 2).add(together, WRITE);
    assert_eq!(refused, Err(AddError::Composite));
}

/// What a context waits for before it accesses the reservation.
fn waits(reservation: &Reservation<Manual>, context: &Timeline, access: Access) -> Vec<Manual> {
    let mut plan = WaitPlan::new(context.context);
    plan.require(&reservation.lock(), access);
    plan.waits().to_vec()
}

#[test]
fn n23_readers_ignore_readers_and_writers_wait_for_all() {
    let (reservation, f) = with(&Usage::ALL);
    let me = Timeline::new();
    assert_eq!(waits(&reservation, &me, Access::Read), f[..2]);
    assert_eq!(waits(&reservation, &me, Access::Write), f[..3]);
    assert_eq!(waits(&reservation, &me, Access::Overwrite), f[..3]);
    assert_eq!(waits(&reservation, &me, Access::Move), f[..4]);
}

#[test]
fn n24_a_writer_waits_for_both_of_two_readers() {
    let (reservation, readers) = with(&[READ, READ]);
    assert_eq!(waits(&reservation, &Timeline::new(), Access::Write), readers);
}

#[test]
fn n25_one_wait_for_each_context_and_that_for_the_latest() {
    let (a, b, me) = (Timeline::new(), Timeline::new(), Timeline::new());
    let (first, second) = (Reservation::new(), Reservation::new());
    let (a1, a2, b1) = (a.fence(), a.fence(), b.fence());
    add(&first, &a1, WRITE);
    add(&second, &a2, WRITE);
    add(&second, &b1, READ);
    add(&first, &me.fence(), WRITE);
    let mut plan = WaitPlan::new(me.context);
    let guards = lock_many(&[&second, &first]).unwrap();
    for guard in &guards {
        plan.require(guard, Access::Write);
    }
    assert_eq!(plan.waits(), [a2.clone(), b1]);
    assert_eq!(
        plan.to_string(),
        format!("{} waits for {} #2, {} #1", me.context, a.context, b.context)
    );
    // In the other order too.
    let mut plan = WaitPlan::new(me.context);
    plan.require(&guards[1], Access::Write);
    plan.require(&guards[0], Access::Write);
    assert_eq!(plan.waits()[0], a2);
}

#[test]
fn n25_nobody_waits_for_itself_or_for_what_is_over() {
    let me = Timeline::new();
    let reservation = Reservation::new();
    add(&reservation, &me.fence(), WRITE);
    let over = Timeline::new().fence();
    add(&reservation, &over, READ);
    over.signal();
    assert!(waits(&reservation, &me, Access::Move).is_empty());
    assert_eq!(over.polls(), 0, "an answer costs what a wait does");
}

#[test]
fn work_is_ordered_from_acquire_to_commit() {
    let (a, b) = (Timeline::new(), Timeline::new());
    let (input, output) = (Reservation::new(), Reservation::new());
    let give = |who: &Timeline, touched: &[(&Reservation<Manual>, Access)]| {
        let acquired = acquire(who.context, touched, Asking::Allowed).unwrap();
        let waits = acquired.plan().waits().to_vec();
        let fence = who.fence();
        acquired.commit(&fence);
        (fence, waits)
    };
    let (read_a, waits) = give(&a, &[(&input, Access::Read), (&output, Access::Keep)]);
    assert!(waits.is_empty());
    let (_, waits) = give(&b, &[(&input, Access::Read)]);
    assert!(waits.is_empty());
    // Named twice, it is locked once, for the stronger access.
    let (write_b, waits) =
        give(&b, &[(&input, Access::Read), (&output, Access::Read), (&input, Access::Write)]);
    assert_eq!(waits, std::slice::from_ref(&read_a));
    // Its own earlier read is implied.
    assert_eq!(all(&input), [(read_a, READ), (write_b.clone(), WRITE)]);
    let (_, waits) = give(&a, &[(&input, Access::Read)]);
    assert_eq!(waits, [write_b]);
    // What only keeps the memory in place is seen by who moves it.
    assert_eq!(output.fences(BOOKKEEP).len(), 2);
    assert_eq!(output.fences(READ).len(), 1);
}

#[test]
fn n38_work_that_is_not_committed_leaves_nothing() {
    let (reservation, fences) = with(&[READ]);
    let failure = Failure::new("trap");
    reservation.lock().fail(failure.clone());
    let me = Timeline::new();
    let touched = [(&reservation, Access::Overwrite)];
    drop(acquire(me.context, &touched, Asking::Allowed).unwrap());
    assert_eq!(all(&reservation), [(fences[0].clone(), READ)]);
    assert_eq!(reservation.failure(), Some(failure));
}

#[test]
fn unknown_contents_are_for_overwriting_only() {
    let (reservation, fences) = with(&[WRITE]);
    let known = Reservation::new();
    let failure = fences[0].fail("trap");
    let me = Timeline::new();
    for access in [Access::Read, Access::Write] {
        let touched = [(&known, access), (&reservation, access)];
        let Err(refused) = acquire(me.context, &touched, Asking::Allowed) else {
            panic!("{access} of unknown contents")
        };
        assert_eq!((refused.resource, &refused.failure), (1, &failure));
    }
    let touched = [(&reservation, Access::Overwrite)];
    acquire(me.context, &touched, Asking::Allowed).unwrap().commit(&me.fence());
    assert_eq!(reservation.failure(), None);
}

#[test]
fn without_memory_for_a_slot_the_host_waits() {
    let reservation = Reservation::with_limit(0);
    let refused = reservation.lock().reserve(1).unwrap_err();
    assert_eq!(refused.reason, ReserveError::OutOfMemory { count: 1 });
    drop(refused);
    let me = Timeline::new();
    for (ends, access) in [(Status::Done, Access::Write), (Status::Pending, Access::Read)] {
        let fence = me.fence();
        let acquired = acquire(me.context, &[(&reservation, access)], Asking::Allowed).unwrap();
        let signaler = {
            let fence = fence.clone();
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(20));
                match ends {
                    Status::Done => fence.signal(),
                    _ => fence.end(Status::Failed(Failure::new("of a reader"))),
                }
            })
        };
        acquired.commit(&fence);
        assert!(fence.status().is_signaled(), "the commit has waited for it");
        signaler.join().unwrap();
        assert_eq!((all(&reservation).len(), reservation.failure()), (0, None));
    }
    // A writer that fails meanwhile is remembered.
    let fence = me.fence();
    let failure = fence.fail("trap");
    let touched = [(&reservation, Access::Write)];
    acquire(me.context, &touched, Asking::Allowed).unwrap().commit(&fence);
    assert_eq!(reservation.failure(), Some(failure));
}

#[test]
fn n27_a_fence_signals_once() {
    let fence = Timeline::new().fence();
    assert_eq!(fence.status(), Status::Pending);
    assert!(!fence.status().is_signaled());
    assert_eq!(fence.status().outcome(), None);
    assert!(fence.signal());
    assert!(!fence.signal() && !fence.end(Status::Failed(Failure::new("too late"))));
    assert_eq!(fence.status().outcome(), Some(Ok(())));

    let fence = Timeline::new().fence();
    let failure = fence.fail("broken");
    assert!(fence.status().is_signaled());
    assert_eq!(fence.status().outcome(), Some(Err(failure)));
}

#[test]
fn n28_waits_end_at_their_time() {
    let (reservation, fences) = with(&[WRITE]);
    assert_eq!(reservation.wait(READ, NOW), Ok(Waited::TimedOut));
    assert_eq!(fences[0].polls(), 1);

    let start = Instant::now();
    let short = Duration::from_millis(20);
    assert_eq!(reservation.wait(READ, Some(short)), Ok(Waited::TimedOut));
    assert!(start.elapsed() >= short);

    let fence = fences[0].clone();
    let signaler = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        fence.signal();
    });
    assert_eq!(reservation.wait(READ, LONG), Ok(Waited::Done));
    signaler.join().unwrap();
    assert_eq!(reservation.wait(READ, LONG), Ok(Waited::Done));
    // Not waited for: another level.
    let (reservation, _fences) = with(&[READ]);
    assert_eq!(reservation.wait(WRITE, NOW), Ok(Waited::Done));
}

#[test]
fn n29_one_budget_for_all() {
    let (reservation, _fences) = with(&[READ; 8]);
    let start = Instant::now();
    let budget = Duration::from_millis(100);
    assert_eq!(reservation.wait(READ, Some(budget)), Ok(Waited::TimedOut));
    assert!(start.elapsed() >= budget && start.elapsed() < 4 * budget, "{:?}", start.elapsed());
}

#[test]
fn n29_what_is_left_after_the_first_is_the_rest_of_the_budget() {
    let (reservation, fences) = with(&[READ; 3]);
    let first = fences[0].clone();
    let budget = Duration::from_millis(200);
    let start = Instant::now();
    let signaler = std::thread::spawn(move || {
        std::thread::sleep(budget / 2);
        first.signal();
    });
    assert_eq!(reservation.wait(READ, Some(budget)), Ok(Waited::TimedOut));
    let elapsed = start.elapsed();
    signaler.join().unwrap();
    assert!(elapsed >= budget && elapsed < budget + budget / 2 - budget / 10, "{elapsed:?}");
}

#[test]
fn n34_what_a_device_says_instead_ends_the_wait() {
    let (reservation, fences) = with(&[READ, WRITE]);
    let failure = fences[0].do_not_answer("the device is gone");
    assert_eq!(reservation.wait(READ, LONG), Err(failure.clone()));
    assert_eq!(reservation.test_signaled(READ), Err(failure));
    // It is not known to have ended, so it is still waited for, and its slot is not free.
    assert_eq!(waits(&reservation, &Timeline::new(), Access::Write), fences);
    add(&reservation, &Timeline::new().fence(), READ);
    assert_eq!(all(&reservation)[0].0, fences[0]);
}

#[test]
fn n35_nothing_is_asked_when_asking_is_forbidden() {
    let (reservation, fences) = with(&[READ; 4]);
    let asked = || fences.iter().map(Manual::polls).sum::<usize>();
    let before = asked();
    let mut guard = reservation.lock().without_asking().reserve(8).unwrap();
    guard.add(Timeline::new().fence(), WRITE).unwrap();
    guard.prune();
    assert_eq!(asked(), before);
    assert_eq!(guard.iter(Usages::all()).count(), 5);
}

#[test]
fn n37_locking_in_opposite_orders_does_not_block() {
    let reservations: Vec<_> = (0..3).map(|_| Arc::new(Reservation::<Manual>::new())).collect();
    std::thread::scope(|scope| {
        for turn in 0..2 {
            let mut order: Vec<_> = reservations.clone();
            if turn == 1 {
                order.reverse();
            }
            scope.spawn(move || {
                for _ in 0..500 {
                    let order: Vec<&Reservation<Manual>> = order.iter().map(|r| &**r).collect();
                    let guards = lock_many(&order).unwrap();
                    for (guard, wanted) in guards.iter().zip(&order) {
                        assert_eq!(guard.reservation().id(), wanted.id());
                    }
                }
            });
        }
    });
}

#[test]
fn n37_naming_one_twice_is_an_error() {
    let (a, b) = (Reservation::<Manual>::new(), Reservation::new());
    let duplicate = lock_many(&[&b, &a, &b]).unwrap_err();
    assert_eq!((duplicate.first, duplicate.second), (0, 2));
    assert!(duplicate.to_string().contains("0 and 2"), "{duplicate}");
}

#[test]
fn n39_a_merge_is_flat_and_keeps_the_latest_of_each_context() {
    let (a, b) = (Timeline::new(), Timeline::new());
    let (a1, a2, a3, b1) = (a.fence(), a.fence(), a.fence(), b.fence());
    assert_eq!(merge::<Manual>([]), None);
    let both = merge([a1.clone().into(), b1.clone().into()]).unwrap();
    assert_eq!(both, Merged::All(vec![a1.clone(), b1.clone()]));
    let flat = merge([both, a3.clone().into(), a2.clone().into()]).unwrap();
    assert_eq!(flat, Merged::All(vec![a3.clone(), b1.clone()]));
    assert_eq!(merge([a1.into(), a2.into()]).unwrap().parts().len(), 1);
    b1.signal();
    assert_eq!(merge([flat]), Some(Merged::One(a3.clone())));
    a3.signal();
    assert_eq!(merge([a3.into(), b1.into()]), None);
}

#[test]
fn a_writer_that_failed_is_remembered_when_its_slot_is_taken() {
    let takes_slot = |reservation: &Reservation<Manual>| {
        add(reservation, &Timeline::new().fence(), READ);
    };
    let grows = |reservation: &Reservation<Manual>| drop(reserved(reservation, 100));
    let prunes = |reservation: &Reservation<Manual>| reservation.lock().prune();
    type Way<'a> = &'a dyn Fn(&Reservation<Manual>);
    let ways: [Way<'_>; 3] = [&takes_slot, &grows, &prunes];
    for way in ways {
        for usage in [KERNEL, WRITE] {
            let (reservation, fences) = with(&[usage]);
            assert_eq!(reservation.failure(), None);
            let failure = fences[0].fail("trap");
            assert_eq!(reservation.failure(), Some(failure.clone()));
            way(&reservation);
            assert!(all(&reservation).iter().all(|(fence, _)| *fence != fences[0]));
            assert_eq!(reservation.failure(), Some(failure.clone()));
            assert_eq!(reservation.wait(READ, NOW), Err(failure.clone()));

            let copy = Reservation::new();
            copy.lock().copy_from(&reservation).unwrap();
            assert_eq!(copy.failure(), Some(failure));

            reservation.lock().forgive();
            assert_eq!(reservation.failure(), None);
        }
    }
}

#[test]
fn a_reader_that_failed_leaves_the_contents_as_they_were() {
    let (reservation, fences) = with(&[READ]);
    fences[0].fail("trap");
    reservation.lock().prune();
    assert_eq!(reservation.failure(), None);
}

#[test]
fn a_description_says_who_waits_for_whom() {
    let reservation = Reservation::new();
    assert!(reservation.describe().to_string().contains("no work"));
    let (writer, reader) = (Timeline::new(), Timeline::new());
    add(&reservation, &writer.fence(), WRITE);
    add(&reservation, &reader.fence(), READ);
    let text = reservation.describe().to_string();
    let (w, r) = (writer.context, reader.context);
    for line in [
        format!("WRITE    {w} #1: pending"),
        format!("READ     {r} #1: pending"),
        format!("to read: wait for {w} #1\n"),
        format!("to write: wait for {w} #1, {r} #1\n"),
        format!("to move or free: wait for {w} #1, {r} #1"),
    ] {
        assert!(text.contains(&line), "{text}\nlacks: {line}");
    }
}
