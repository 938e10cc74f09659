//! Two CTAs exchange messages through global memory.
//!
//! Each has an outbox, fills it and sets a flag; each waits for the other's flag and reads what the other wrote.
//! One direction publishes with a release store and waits with an acquire load, the other spells both out as a
//! relaxed access and a fence:
//!
//! ```text
//!             ping: fill, st.release ───▶ ld.acquire, get
//!   CTA 0                                                   CTA 1
//!             get, fence, ld.relaxed ◀─── fill, fence, st.relaxed: pong
//! ```
#![no_std]

use baton::path::Full;
use baton::prelude::*;
use baton::protocol::{End, Inbox, Mailbox};

/// Threads of a CTA.
pub const THREADS: u32 = 128;

type Threads<'k> = Cta<'k, NoShared, THREADS>;

/// Element `index` of the message that CTA `sender` writes: scrambled, so that no two elements are alike.
pub const fn message(seed: u32, sender: u32, index: u64) -> u32 {
    let mut word = (index as u32).wrapping_mul(2).wrapping_add(sender) ^ seed;
    word = (word ^ word >> 16).wrapping_mul(0x85eb_ca6b);
    word = (word ^ word >> 13).wrapping_mul(0xc2b2_ae35);
    word ^ word >> 16
}

/// Copies each thread's elements of a message that has arrived.
#[inline(always)]
fn copy(message: Inbox<u32, Gpu, Threads<'_>, Full>, output: GlobalPtr<u32>, cta: &Threads<'_>) {
    for mut place in output.partition(cta) {
        place.put(message.get(place.index()));
    }
}

/// Each CTA's elements of `output` become what the other CTA wrote for them.
///
/// Launched on two CTAs, with three arrays of one length.
#[baton::kernel(threads = 128, no_stack)]
pub fn exchange(
    cta: Cta<'_, NoShared, THREADS>,
    ping: Mailbox<u32, 0, 1>,
    pong: Mailbox<u32, 1, 0>,
    output: GlobalPtr<u32>,
    seed: u32,
) -> Exit<'_> {
    let mut cta = cta;
    match (ping.end(&mut cta), pong.end(&mut cta)) {
        (End::Sender(outbox), End::Receiver(inbox)) => {
            outbox.fill(&mut cta, |i| message(seed, 0, i)).send(&mut cta);
            let inbox = inbox.wait_relaxed(&mut cta).fence_acquire::<Gpu, _>(&mut cta);
            copy(inbox, output, &cta);
        }
        (End::Receiver(inbox), End::Sender(outbox)) => {
            outbox
                .fill(&mut cta, |i| message(seed, 1, i))
                .fence_release::<Gpu, _>(&mut cta)
                .store_relaxed(&mut cta);
            copy(inbox.wait(&mut cta), output, &cta);
        }
        _ => {}
    }
    let (cta, ()) = cta.claim();
    cta.join().exit(())
}
