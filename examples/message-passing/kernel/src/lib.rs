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

use baton::mailbox::{End, Inbox, Mailbox};
use baton::path::Full;
use baton::prelude::*;

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
fn copy(
    message: Inbox<'_, u32, Gpu, Threads<'_>, Full>,
    output: GlobalPtr<u32>,
    cta: &Threads<'_>,
) {
    for mut place in output.partition(cta) {
        place.put(message.get(place.index()));
    }
}

/// Each CTA's elements of `output` become what the other CTA wrote for them.
///
/// Launched on two CTAs, with five arrays of one length each but for the flags, which are one zero each.
#[baton::kernel(threads = 128)]
pub fn exchange(
    cta: Cta<'_, NoShared, THREADS>,
    ping: GlobalPtr<u32>,
    ping_flag: GlobalPtr<u32>,
    pong: GlobalPtr<u32>,
    pong_flag: GlobalPtr<u32>,
    output: GlobalPtr<u32>,
    seed: u32,
) -> Exit<'_> {
    let mut cta = cta;
    // SAFETY: (1) the host zeroes the flags before each launch; (2) both CTAs claim the same arrays, here alone; (3)
    // the ends below are constants.
    let (ping, pong) =
        unsafe { (Mailbox::claim(&cta, ping, ping_flag), Mailbox::claim(&cta, pong, pong_flag)) };
    match (ping.ends(&cta, 0, 1), pong.ends(&cta, 1, 0)) {
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
