//! Loads, stores, atomics and fences.
//!
//! Where an instruction moves bits, one type of each width stands for all of them.

use baton::float::{bf16, bf16x2, f16, f16x2};
use baton::ptx::addr::{Addr, Generic, Global, SharedCluster, SharedCta};
use baton::ptx::multimem::{self, Multimem};
use baton::ptx::{atom, fence, ld, red, shared, st, tensormap, wide};
use baton::scope::{Cluster, Cta, Gpu, Sys};
use baton::sem::{AcqRel, Acquire, Relaxed, Release, Sc};

kernel! {
    loads {
        forms!(ld::ld<M: (Relaxed Acquire), S: scopes, Sp: memory, T: (u8 u16 u32 u64)>(addr: Addr<Sp>));
        forms!(ld::ld_weak<Sp: memory, T: words>(addr: Addr<Sp>));
        forms!(ld::ld_volatile<Sp: memory, T: words>(addr: Addr<Sp>));
        forms!(ld::ld_weak_v2<Sp: memory, T: words_32>(addr: Addr<Sp>));
        forms!(ld::ld_weak_v4<Sp: memory, T: words_32>(addr: Addr<Sp>));
        forms!(ld::ld_nc<T: words>(addr: Addr<Global>));
        forms!(ld::ld_nc_v4<T: words_32>(addr: Addr<Global>));
    }
    stores {
        forms!(st::st<M: (Relaxed Release), S: scopes, Sp: memory, T: (u8 u16 u32 u64)>(addr: Addr<Sp>, value: T));
        forms!(st::st_weak<Sp: memory, T: words>(addr: Addr<Sp>, value: T));
        forms!(st::st_volatile<Sp: memory, T: words>(addr: Addr<Sp>, value: T));
        forms!(st::st_bulk_zero(addr: Addr<SharedCta>, bytes: u64));
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
        forms!(fence::fence_proxy_alias_acquire_sys());
        forms!(fence::fence_proxy_alias_release_sys());
        forms!(fence::fence_proxy_async_generic_release_sync_restrict_shared_cluster_read_cluster());
        forms!(fence::fence_proxy_generic_fabric_alias_acquire_sys());
        forms!(fence::fence_proxy_generic_fabric_alias_release_sys());
        forms!(fence::fence_proxy_fabric_generic_alias_acquire_sys());
        forms!(fence::fence_proxy_fabric_generic_alias_release_sys());
        forms!(fence::fence_proxy_fabric_fabric_alias_acquire_sys());
        forms!(fence::fence_proxy_fabric_fabric_alias_release_sys());
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
    add atom_add, add_only red_add: (u32 i32 u64 i64 f32 f64 f16 bf16 f16x2 bf16x2);
    min atom_min, min_only red_min: (u32 i32 u64 i64);
    max atom_max, max_only red_max: (u32 i32 u64 i64);
    and atom_and, and_only red_and: (u32 u64);
    or atom_or, or_only red_or: (u32 u64);
    xor atom_xor, xor_only red_xor: (u32 u64);
}

kernel! {
    exchange {
        forms!(atom::atom_exch<
            M: (Relaxed Acquire Release AcqRel), S: scopes, Sp: memory,
            T: (u32 u64)
        >(addr: Addr<Sp>, value: T));
    }
    compare {
        forms!(atom::atom_cas<
            M: (Relaxed Acquire Release AcqRel), S: scopes, Sp: memory,
            T: (u16 u32 u64)
        >(addr: Addr<Sp>, expected: T, new: T));
    }
    wrapping {
        forms!(atom::atom_inc<M: (Relaxed Acquire Release AcqRel), S: scopes, Sp: memory>(addr: Addr<Sp>, bound: u32));
        forms!(atom::atom_dec<M: (Relaxed Acquire Release AcqRel), S: scopes, Sp: memory>(addr: Addr<Sp>, bound: u32));
        forms!(red::red_inc<M: (Relaxed Release), S: scopes, Sp: memory>(addr: Addr<Sp>, bound: u32));
        forms!(red::red_dec<M: (Relaxed Release), S: scopes, Sp: memory>(addr: Addr<Sp>, bound: u32));
    }
}

/// Two operations, or one, with the types that each has.
macro_rules! wide_atomics {
    ($($atoms:ident $atom:ident, $reds:ident $red:ident: $n:literal $types:tt;)*) => {$(
        kernel! {
            $atoms {
                forms!(wide::$atom<M: (Relaxed Acquire Release AcqRel), S: scopes, T: $types>(
                    addr: Addr<Global>, values: [T; $n]
                ));
            }
            $reds {
                forms!(wide::$red<M: (Relaxed Release), S: scopes, T: $types>(addr: Addr<Global>, values: [T; $n]));
            }
        }
    )*};
}

wide_atomics! {
    add_v2 atom_add_v2, add_only_v2 red_add_v2: 2 (f32 f16x2 bf16x2);
    add_v4 atom_add_v4, add_only_v4 red_add_v4: 4 (f32 f16x2 bf16x2);
    min_v2 atom_min_v2, min_only_v2 red_min_v2: 2 (f16x2 bf16x2);
    min_v4 atom_min_v4, min_only_v4 red_min_v4: 4 (f16x2 bf16x2);
    max_v2 atom_max_v2, max_only_v2 red_max_v2: 2 (f16x2 bf16x2);
    max_v4 atom_max_v4, max_only_v4 red_max_v4: 4 (f16x2 bf16x2);
}

kernel! {
    wide_accesses {
        forms!(wide::ld_b128<M: (Relaxed Acquire), S: scopes, Sp: memory>(addr: Addr<Sp>));
        forms!(wide::st_b128<M: (Relaxed Release), S: scopes, Sp: memory>(addr: Addr<Sp>, value: u128));
        forms!(wide::atom_exch_b128<M: (Relaxed Acquire Release AcqRel), S: scopes, Sp: memory>(addr: Addr<Sp>, value: u128));
        forms!(wide::atom_cas_b128<M: (Relaxed Acquire Release AcqRel), S: scopes, Sp: memory>(
            addr: Addr<Sp>, expected: u128, new: u128
        ));
        forms!(wide::ld_v2<M: (Relaxed Acquire), S: scopes, Sp: memory, T: (u32)>(addr: Addr<Sp>));
        forms!(wide::ld_v4<M: (Relaxed Acquire), S: scopes, Sp: memory, T: (u32)>(addr: Addr<Sp>));
        forms!(wide::st_v2<M: (Relaxed Release), S: scopes, Sp: memory, T: (u32)>(addr: Addr<Sp>, values: [T; 2]));
        forms!(wide::st_v4<M: (Relaxed Release), S: scopes, Sp: memory, T: (u32)>(addr: Addr<Sp>, values: [T; 4]));
        forms!(wide::ld_mmio<T: words>(addr: Addr<Global>));
        forms!(wide::st_mmio<T: words>(addr: Addr<Global>, value: T));
    }
    several_devices {
        forms!(multimem::ld_reduce_add<M: (Relaxed Acquire), S: scopes, T: (u32 i32 u64 f32 f16x2 bf16x2)>(addr: Multimem));
        forms!(multimem::ld_reduce_min<M: (Relaxed Acquire), S: scopes, T: (u32 i32 u64 i64)>(addr: Multimem));
        forms!(multimem::ld_reduce_max<M: (Relaxed Acquire), S: scopes, T: (u32 i32 u64 i64)>(addr: Multimem));
        forms!(multimem::ld_reduce_and<M: (Relaxed Acquire), S: scopes, T: (u32 u64)>(addr: Multimem));
        forms!(multimem::ld_reduce_or<M: (Relaxed Acquire), S: scopes, T: (u32 u64)>(addr: Multimem));
        forms!(multimem::ld_reduce_xor<M: (Relaxed Acquire), S: scopes, T: (u32 u64)>(addr: Multimem));
        forms!(multimem::ld_reduce_add_v4<M: (Relaxed Acquire), S: scopes, T: (f32 f16x2 bf16x2)>(addr: Multimem));
        forms!(multimem::red_add<M: (Relaxed Release), S: scopes, T: (u32 i32 u64 f32 f16x2 bf16x2)>(addr: Multimem, value: T));
        forms!(multimem::red_min<M: (Relaxed Release), S: scopes, T: (u32 i32 u64 i64)>(addr: Multimem, value: T));
        forms!(multimem::red_max<M: (Relaxed Release), S: scopes, T: (u32 i32 u64 i64)>(addr: Multimem, value: T));
        forms!(multimem::red_and<M: (Relaxed Release), S: scopes, T: (u32 u64)>(addr: Multimem, value: T));
        forms!(multimem::red_or<M: (Relaxed Release), S: scopes, T: (u32 u64)>(addr: Multimem, value: T));
        forms!(multimem::red_xor<M: (Relaxed Release), S: scopes, T: (u32 u64)>(addr: Multimem, value: T));
        forms!(multimem::red_add_v4<M: (Relaxed Release), S: scopes, T: (f32 f16x2 bf16x2)>(addr: Multimem, values: [T; 4]));
        forms!(multimem::st<M: (Relaxed Release), S: scopes, T: (u32 u64)>(addr: Multimem, value: T));
        forms!(multimem::st_v4<M: (Relaxed Release), S: scopes, T: (f32 f16x2 bf16x2)>(addr: Multimem, values: [T; 4]));
    }
    tensor_maps {
        forms!(tensormap::replace_global_address<Sp: (Global SharedCta)>(map: Addr<Sp>, value: u64));
        forms!(tensormap::replace_rank<Sp: (Global SharedCta)>(map: Addr<Sp>, value: u32));
        forms!(tensormap::replace_box_dim<Sp: (Global SharedCta); ORD: (0 4)>(map: Addr<Sp>, value: u32));
        forms!(tensormap::replace_global_dim<Sp: (Global SharedCta); ORD: (0 4)>(map: Addr<Sp>, value: u32));
        forms!(tensormap::replace_global_stride<Sp: (Global SharedCta); ORD: (0 3)>(map: Addr<Sp>, value: u64));
        forms!(tensormap::replace_element_stride<Sp: (Global SharedCta); ORD: (0 4)>(map: Addr<Sp>, value: u32));
        forms!(tensormap::replace_elemtype<Sp: (Global SharedCta); VALUE: (7 10)>(map: Addr<Sp>));
        forms!(tensormap::replace_interleave_layout<Sp: (Global SharedCta); VALUE: (0 2)>(map: Addr<Sp>));
        forms!(tensormap::replace_swizzle_mode<Sp: (Global SharedCta); VALUE: (0 3)>(map: Addr<Sp>));
        forms!(tensormap::replace_fill_mode<Sp: (Global SharedCta); VALUE: (0 1)>(map: Addr<Sp>));
        forms!(tensormap::replace_swizzle_atomicity<Sp: (Global SharedCta); VALUE: (0 1)>(map: Addr<Sp>));
        forms!(tensormap::cp_fenceproxy<S: scopes>(dst: Addr<Global>, src: Addr<SharedCta>));
    }
}
