//! The fifth-generation tensor core.

use baton::ptx::addr::{Addr, SharedCluster, SharedCta, Tmem};
use baton::ptx::tcgen05::kind::{F8f6f4, F16, I8, Tf32};
use baton::ptx::tcgen05::{self, Group1, Group2};

/// A kernel has one `cta_group`.
macro_rules! group {
    ($($name:ident $group:ident)*) => {
        kernel! {$(
            $name {
                forms!(tcgen05::alloc<G: ($group)>(dst: Addr<SharedCta>, columns: u32));
                forms!(tcgen05::dealloc<G: ($group)>(taddr: Addr<Tmem>, columns: u32));
                forms!(tcgen05::relinquish_alloc_permit<G: ($group)>());
                forms!(tcgen05::mma<G: ($group), K: (F16 Tf32 F8f6f4 I8)>(
                    d: Addr<Tmem>, a_desc: u64, b_desc: u64, i_desc: u32, accumulate: bool
                ));
                forms!(tcgen05::mma_tmem_a<G: ($group), K: (F16 Tf32 F8f6f4 I8)>(
                    d: Addr<Tmem>, a: Addr<Tmem>, b_desc: u64, i_desc: u32, accumulate: bool
                ));
                forms!(tcgen05::commit<G: ($group), Sp: shared>(bar: Addr<Sp>));
                forms!(tcgen05::commit_multicast<G: ($group)>(bar: Addr<SharedCluster>, mask: u16));
            }
        )*}
    };
}
group!(one_cta Group1 pair_of_ctas Group2);

kernel! {
    tensor_memory {
        forms!(tcgen05::fence_before_thread_sync());
        forms!(tcgen05::fence_after_thread_sync());
        forms!(tcgen05::wait_ld());
        forms!(tcgen05::wait_st());
        forms!(tcgen05::ld_32x32b<R: (
            [u32; 1] [u32; 2] [u32; 4] [u32; 8] [u32; 16] [u32; 32] [u32; 64] [u32; 128]
        )>(taddr: Addr<Tmem>));
        forms!(tcgen05::st_32x32b<R: (
            [u32; 1] [u32; 2] [u32; 4] [u32; 8] [u32; 16] [u32; 32] [u32; 64] [u32; 128]
        )>(taddr: Addr<Tmem>, registers: R));
    }
}
