//! Fences as futures.
//!
//! A driver wakes nobody but threads that wait, so one thread of the process looks after all fences that tasks wait
//! for, and wakes their tasks. It exists from the first such fence on, and sleeps when there are none. On the emulator
//! it does the work.

use std::future::{Future, IntoFuture};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use crate::capturing;
use crate::error::Error;
use crate::fence::StreamFence;
use crate::reservation::{Fence, Status};

/// The end of a piece of work, as a future: `stream.launch(…)?.await?`. Dropped, it leaves the work as it is.
#[derive(Debug)]
#[must_use = "a future does nothing until it is polled; the work goes on without it"]
pub struct Finished(StreamFence);

impl IntoFuture for StreamFence {
    type Output = Result<(), Error>;
    type IntoFuture = Finished;

    fn into_future(self) -> Finished {
        Finished(self)
    }
}

impl Future for Finished {
    type Output = Result<(), Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let fence = &self.0;
        if let Err(error) = capturing::forbid("waiting for a fence") {
            return Poll::Ready(Err(error));
        }
        match fence.poll() {
            Ok(Status::Done) => Poll::Ready(Ok(())),
            Ok(Status::Failed(failure)) | Err(failure) => Poll::Ready(Err(fence.failed(failure))),
            Ok(Status::Pending) => match watch(fence, context.waker()) {
                Ok(()) => Poll::Pending,
                Err(error) => Poll::Ready(Err(error)),
            },
        }
    }
}

/// What tasks wait for.
struct Watched {
    list: Mutex<Vec<(StreamFence, Waker)>>,
    some: Condvar,
}

static WATCHED: Watched = Watched { list: Mutex::new(Vec::new()), some: Condvar::new() };

impl Watched {
    fn list(&self) -> MutexGuard<'_, Vec<(StreamFence, Waker)>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Wakes the task when the fence has signalled.
fn watch(fence: &StreamFence, waker: &Waker) -> Result<(), Error> {
    static THREAD: OnceLock<Result<(), String>> = OnceLock::new();
    let started = THREAD.get_or_init(|| {
        let thread = thread::Builder::new().name("baton fences".into());
        thread.spawn(look_after).map(drop).map_err(|error| error.to_string())
    });
    if let Err(reason) = started {
        let doing = "starting the thread that looks after fences".into();
        return Err(Error::Driver { doing, reason: reason.clone() });
    }
    let own = waker.clone();
    let mut list = WATCHED.list();
    let known = list.iter().any(|(other, other_waker)| {
        other.is_later_or_same(fence)
            && fence.is_later_or_same(other)
            && other_waker.will_wake(waker)
    });
    if !known {
        list.push((fence.clone(), own));
        WATCHED.some.notify_one();
    }
    Ok(())
}

fn look_after() {
    const LEAST: Duration = Duration::from_micros(10);
    const MOST: Duration = Duration::from_micros(200);
    let mut pause = LEAST;
    loop {
        let mut list = WATCHED.list();
        while list.is_empty() {
            list = WATCHED.some.wait(list).unwrap_or_else(PoisonError::into_inner);
            pause = LEAST;
        }
        let watched = std::mem::take(&mut *list);
        drop(list);
        let before = watched.len();
        let pending: Vec<_> = watched
            .into_iter()
            .filter_map(|(fence, waker)| match fence.wait(Some(Instant::now())) {
                Ok(Status::Pending) => Some((fence, waker)),
                // The task asks itself, and is told what happened.
                _ => {
                    // It is the task's executor's: if it panics, others are woken all the same.
                    let woken = catch_unwind(AssertUnwindSafe(|| waker.wake()));
                    woken.unwrap_or_else(std::mem::forget);
                    None
                }
            })
            .collect();
        pause = if pending.len() < before { LEAST } else { (pause * 2).min(MOST) };
        let idle = !pending.is_empty();
        WATCHED.list().extend(pending);
        if idle {
            thread::sleep(pause);
        }
    }
}
