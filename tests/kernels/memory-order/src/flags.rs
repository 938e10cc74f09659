//! Between CTAs, through a flag in global memory: rules A1, A3, A4, A5, A6, A9, A14.

use baton::prelude::*;
use baton::protocol::{End, Mailbox};

use crate::NEW;

/// CTA 1 sends with a release store, CTA 0 waits with acquire loads.
#[baton::kernel(threads = 32)]
pub fn mailbox(
    cta: Cta<'_, NoShared, 32>,
    mailbox: Mailbox<u32, 1, 0>,
    out: GlobalPtr<u32>,
) -> Exit<'_> {
    let mut cta = cta;
    let mut mine = out.partition(&cta);
    match mailbox.end(&mut cta) {
        End::Sender(outbox) => outbox.fill(&mut cta, |_| NEW).send(&mut cta),
        End::Receiver(inbox) => mine.put(0, inbox.wait(&mut cta).get(0) + 1),
        End::Neither => {}
    }
    let (cta, ()) = cta.claim();
    cta.join().exit(())
}

/// The same with fences and relaxed accesses.
#[baton::kernel(threads = 32)]
pub fn mailbox_fences(
    cta: Cta<'_, NoShared, 32>,
    mailbox: Mailbox<u32, 1, 0>,
    out: GlobalPtr<u32>,
) -> Exit<'_> {
    let mut cta = cta;
    let mut mine = out.partition(&cta);
    match mailbox.end(&mut cta) {
        End::Sender(outbox) => {
            let outbox = outbox.fill(&mut cta, |_| NEW);
            outbox.fence_release::<Gpu, _>(&mut cta).store_relaxed(&mut cta);
        }
        End::Receiver(inbox) => {
            let inbox = inbox.wait_relaxed(&mut cta).fence_acquire::<Gpu, _>(&mut cta);
            mine.put(0, inbox.get(0) + 1);
        }
        End::Neither => {}
    }
    let (cta, ()) = cta.claim();
    cta.join().exit(())
}
