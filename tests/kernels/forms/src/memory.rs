//! Loads, stores, atomics and fences.

use baton::float::{bf16, bf16x2, f16, f16x2};
use baton::ptx::addr::{Addr, Generic, Global, SharedCluster, SharedCta};
use baton::ptx::{atom, fence, ld, red, shared, st};
use baton::scope::{Cluster, Cta, Gpu, Sys};
use baton::sem::{AcqRel, Acquire, Relaxed, Release, Sc};

kernel! {
    loads {
        forms!(ld::ld<M: (Relaxed Acquire), S: scopes, Sp: memory, T: words>(addr: Addr<Sp>));
        forms!(ld::ld_weak<Sp: memory, T: words>(addr: Addr<Sp>));
        forms!(ld::ld_volatile<Sp: memory, T: words>(addr: Addr<Sp>));
        forms!(ld::ld_weak_v2<Sp: memory, T: words_32>(addr: Addr<Sp>));
        forms!(ld::ld_weak_v4<Sp: memory, T: words_32>(addr: Addr<Sp>));
        forms!(ld::ld_nc<T: words>(addr: Addr<Global>));
        forms!(ld::ld_nc_v4<T: words_32>(addr: Addr<Global>));
    }
    stores {
        forms!(st::st<M: (Relaxed Release), S: scopes, Sp: memory, T: words>(addr: Addr<Sp>, value: T));
        forms!(st::st_weak<Sp: memory, T: words>(addr: Addr<Sp>, value: T));
        forms!(st::st_volatile<Sp: memory, T: words>(addr: Addr<Sp>, value: T));
        forms!(st::st_weak_v2<Sp: memory, T: words_32>(addr: Addr<Sp>, values: [T; 2]));
        forms!(st::st_weak_v4<Sp: memory, T: words_32>(addr: Addr<Sp>, values: [T; 4]));
    }
    fences {
        forms!(fence::fence<M: (Sc AcqRel Acquire Release), S: scopes>());
        forms!(fence::fence_mbarrier_init_release_cluster());
        forms!(fence::fence_acquire_sync_restrict_shared_cluster_cluster());
        forms!(fence::fence_release_sync_restrict_shared_cta_cluster());
        forms!(fence::fence_proxy_async());
        forms!(fence::fence_proxy_async_in<Sp: memory>());
        forms!(fence::fence_proxy_async_generic_acquire_sync_restrict_shared_cluster_cluster());
        forms!(fence::fence_proxy_async_generic_release_sync_restrict_shared_cta_cluster());
        forms!(fence::fence_proxy_alias());
        forms!(fence::fence_proxy_tensormap_generic_release<S: scopes>());
        forms!(fence::fence_proxy_tensormap_generic_acquire<S: scopes>(map: Addr<Generic>));
    }
    spaces {
        forms!(shared::dynamic_shared());
        forms!(shared::mapa(addr: Addr<SharedCta>, rank: u32));
        forms!(shared::getctarank(addr: Addr<SharedCluster>));
        forms!(shared::isspacep<Sp: memory>(addr: Addr<Generic>));
        forms!(shared::cvta<Sp: memory>(addr: Addr<Sp>));
        forms!(shared::cvta_to<Sp: memory>(addr: Addr<Generic>));
    }
}

/// An operation that both `atom` and `red` have, with the types that it has.
macro_rules! atomics {
    ($($atoms:ident $atom:ident, $reds:ident $red:ident: $types:tt;)*) => {$(
        kernel! {
            $atoms {
                forms!(atom::$atom<M: (Relaxed Acquire Release AcqRel), S: scopes, Sp: memory, T: $types>(
                    addr: Addr<Sp>, value: T
                ));
            }
            $reds {
                forms!(red::$red<M: (Relaxed Release), S: scopes, Sp: memory, T: $types>(
                    addr: Addr<Sp>, value: T
                ));
            }
        }
    )*};
}

atomics! {
    add atom_add, add_only red_add: (u32 i32 u64 i64 f32 f64 f16x2 bf16x2);
    min atom_min, min_only red_min: (u32 i32 u64 i64);
    max atom_max, max_only red_max: (u32 i32 u64 i64);
    and atom_and, and_only red_and: (u32 i32 u64 i64);
    or atom_or, or_only red_or: (u32 i32 u64 i64);
    xor atom_xor, xor_only red_xor: (u32 i32 u64 i64);
}

kernel! {
    exchange {
        forms!(atom::atom_exch<
            M: (Relaxed Acquire Release AcqRel), S: scopes, Sp: memory,
            T: (u32 i32 f32 f16x2 bf16x2 u64 i64 f64)
        >(addr: Addr<Sp>, value: T));
    }
    compare {
        forms!(atom::atom_cas<
            M: (Relaxed Acquire Release AcqRel), S: scopes, Sp: memory,
            T: (u16 i16 u32 i32 f32 f16x2 bf16x2 u64 i64 f64)
        >(addr: Addr<Sp>, expected: T, new: T));
    }
    wrapping {
        forms!(atom::atom_inc<M: (Relaxed Acquire Release AcqRel), S: scopes, Sp: memory>(addr: Addr<Sp>, bound: u32));
        forms!(atom::atom_dec<M: (Relaxed Acquire Release AcqRel), S: scopes, Sp: memory>(addr: Addr<Sp>, bound: u32));
        forms!(red::red_inc<M: (Relaxed Release), S: scopes, Sp: memory>(addr: Addr<Sp>, bound: u32));
        forms!(red::red_dec<M: (Relaxed Release), S: scopes, Sp: memory>(addr: Addr<Sp>, bound: u32));
    }
}
