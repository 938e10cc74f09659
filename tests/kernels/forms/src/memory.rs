//! Loads, stores, atomics and fences.
//!
//! Where an instruction moves bits, one type of each width stands for all of them.

use baton::float::{bf16, bf16x2, e4m3, e5m2, f16, f16x2};
use baton::ptx::addr::{Addr, Const, Generic, Global, Local, SharedCluster, SharedCta};
use baton::ptx::cached::{
    self, CacheAll, CacheGlobal, Fetch64, Fetch128, Fetch256, L1EvictFirst, L1EvictLast,
    L1EvictNormal, L1EvictUnchanged, L1NoAllocate, LastUse, Streaming, Uncached, WriteBack,
    WriteThrough,
};
use baton::ptx::multimem::{self, Multimem};
use baton::ptx::policy::{EvictFirst, EvictLast, EvictNormal, NoHint, Policy};
use baton::ptx::{atom, fence, ld, red, shared, st, tensormap, vector, wide};
use baton::scope::{Cluster, Cta, Gpu, Sys};
use baton::sem::{AcqRel, Acquire, Relaxed, Release, Sc};

kernel! {
    loads {
        forms!(ld::ld<M: (Relaxed Acquire), S: scopes, Sp: reached, T: (u8 u16 u32 u64)>(addr: Addr<Sp>));
        forms!(ld::ld_weak<Sp: loaded, T: words>(addr: Addr<Sp>));
        forms!(ld::ld_volatile<Sp: stored, T: words>(addr: Addr<Sp>));
        forms!(ld::ld_weak_v2<Sp: loaded, T: words_32>(addr: Addr<Sp>));
        forms!(ld::ld_weak_v4<Sp: loaded, T: words_32>(addr: Addr<Sp>));
        forms!(ld::ld_nc<T: words>(addr: Addr<Global>));
        forms!(ld::ld_nc_v4<T: words_32>(addr: Addr<Global>));
    }
    stores {
        forms!(st::st<M: (Relaxed Release), S: scopes, Sp: reached, T: (u8 u16 u32 u64)>(addr: Addr<Sp>, value: T));
        forms!(st::st_weak<Sp: stored, T: words>(addr: Addr<Sp>, value: T));
        forms!(st::st_volatile<Sp: stored, T: words>(addr: Addr<Sp>, value: T));
        forms!(st::st_bulk_zero(addr: Addr<SharedCta>, bytes: u64));
        forms!(st::st_weak_v2<Sp: stored, T: words_32>(addr: Addr<Sp>, values: [T; 2]));
        forms!(st::st_weak_v4<Sp: stored, T: words_32>(addr: Addr<Sp>, values: [T; 4]));
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
                forms!(atom::$atom<M: (Relaxed Acquire Release AcqRel), S: scopes, Sp: reached, T: $types>(
                    addr: Addr<Sp>, value: T
                ));
            }
            $reds {
                forms!(red::$red<M: (Relaxed Release), S: scopes, Sp: reached, T: $types>(
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
            M: (Relaxed Acquire Release AcqRel), S: scopes, Sp: reached,
            T: (u32 u64)
        >(addr: Addr<Sp>, value: T));
    }
    compare {
        forms!(atom::atom_cas<
            M: (Relaxed Acquire Release AcqRel), S: scopes, Sp: reached,
            T: (u16 u32 u64)
        >(addr: Addr<Sp>, expected: T, new: T));
    }
    wrapping {
        forms!(atom::atom_inc<M: (Relaxed Acquire Release AcqRel), S: scopes, Sp: reached>(addr: Addr<Sp>, bound: u32));
        forms!(atom::atom_dec<M: (Relaxed Acquire Release AcqRel), S: scopes, Sp: reached>(addr: Addr<Sp>, bound: u32));
        forms!(red::red_inc<M: (Relaxed Release), S: scopes, Sp: reached>(addr: Addr<Sp>, bound: u32));
        forms!(red::red_dec<M: (Relaxed Release), S: scopes, Sp: reached>(addr: Addr<Sp>, bound: u32));
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
    add_v2 atom_add_v2, add_only_v2 red_add_v2: 2 (f32 f16 bf16 f16x2 bf16x2);
    add_v4 atom_add_v4, add_only_v4 red_add_v4: 4 (f32 f16 bf16 f16x2 bf16x2);
    add_v8 atom_add_v8, add_only_v8 red_add_v8: 8 (f16 bf16);
    min_v2 atom_min_v2, min_only_v2 red_min_v2: 2 (f16 bf16 f16x2 bf16x2);
    min_v4 atom_min_v4, min_only_v4 red_min_v4: 4 (f16 bf16 f16x2 bf16x2);
    min_v8 atom_min_v8, min_only_v8 red_min_v8: 8 (f16 bf16);
    max_v2 atom_max_v2, max_only_v2 red_max_v2: 2 (f16 bf16 f16x2 bf16x2);
    max_v4 atom_max_v4, max_only_v4 red_max_v4: 4 (f16 bf16 f16x2 bf16x2);
    max_v8 atom_max_v8, max_only_v8 red_max_v8: 8 (f16 bf16);
}

kernel! {
    wide_accesses {
        forms!(wide::ld_b128<M: (Relaxed Acquire), S: scopes, Sp: reached>(addr: Addr<Sp>));
        forms!(wide::st_b128<M: (Relaxed Release), S: scopes, Sp: reached>(addr: Addr<Sp>, value: u128));
        forms!(wide::atom_exch_b128<M: (Relaxed Acquire Release AcqRel), S: scopes, Sp: reached>(addr: Addr<Sp>, value: u128));
        forms!(wide::atom_cas_b128<M: (Relaxed Acquire Release AcqRel), S: scopes, Sp: reached>(
            addr: Addr<Sp>, expected: u128, new: u128
        ));
        forms!(wide::ld_v2<M: (Relaxed Acquire), S: scopes, Sp: reached, T: (u32)>(addr: Addr<Sp>));
        forms!(wide::ld_v4<M: (Relaxed Acquire), S: scopes, Sp: reached, T: (u32)>(addr: Addr<Sp>));
        forms!(wide::st_v2<M: (Relaxed Release), S: scopes, Sp: reached, T: (u32)>(addr: Addr<Sp>, values: [T; 2]));
        forms!(wide::st_v4<M: (Relaxed Release), S: scopes, Sp: reached, T: (u32)>(addr: Addr<Sp>, values: [T; 4]));
        forms!(wide::ld_mmio<T: words>(addr: Addr<Global>));
        forms!(wide::st_mmio<T: words>(addr: Addr<Global>, value: T));
    }
    cached_accesses {
        forms!(cached::ld_weak_cached<
            T: (u8 u16 u32 u64),
            E: (() L1EvictNormal L1EvictUnchanged L1EvictFirst L1EvictLast L1NoAllocate CacheAll CacheGlobal Streaming LastUse Uncached),
            F: (() Fetch64 Fetch128 Fetch256), H: (NoHint Policy)
        >(addr: Addr<Global>, hint: H));
        forms!(cached::st_weak_cached<
            T: (u8 u16 u32 u64),
            E: (() L1EvictNormal L1EvictUnchanged L1EvictFirst L1EvictLast L1NoAllocate CacheGlobal Streaming WriteBack WriteThrough),
            H: (NoHint Policy)
        >(addr: Addr<Global>, value: T, hint: H));
        forms!(cached::ld_hint<M: (Relaxed Acquire), S: scopes, T: (u8 u16 u32 u64)>(addr: Addr<Global>, policy: Policy));
        forms!(cached::st_hint<M: (Relaxed Release), S: scopes, T: (u8 u16 u32 u64)>(addr: Addr<Global>, value: T, policy: Policy));
    }
    cached_atomics {
        forms!(cached::atom_add_hint<M: (Relaxed Acquire Release AcqRel), S: scopes, T: (u32 i32 u64 i64 f32 f64 f16 bf16 f16x2 bf16x2)>(
            addr: Addr<Global>, value: T, policy: Policy
        ));
        forms!(cached::red_add_hint<M: (Relaxed Release), S: scopes, T: (u32 i32 u64 i64 f32 f64 f16 bf16 f16x2 bf16x2)>(addr: Addr<Global>, value: T, policy: Policy));
        forms!(cached::atom_min_hint<M: (Relaxed Acquire Release AcqRel), S: scopes, T: (u32 i32 u64 i64)>(
            addr: Addr<Global>, value: T, policy: Policy
        ));
        forms!(cached::red_min_hint<M: (Relaxed Release), S: scopes, T: (u32 i32 u64 i64)>(addr: Addr<Global>, value: T, policy: Policy));
        forms!(cached::atom_max_hint<M: (Relaxed Acquire Release AcqRel), S: scopes, T: (u32 i32 u64 i64)>(
            addr: Addr<Global>, value: T, policy: Policy
        ));
        forms!(cached::red_max_hint<M: (Relaxed Release), S: scopes, T: (u32 i32 u64 i64)>(addr: Addr<Global>, value: T, policy: Policy));
        forms!(cached::atom_and_hint<M: (Relaxed Acquire Release AcqRel), S: scopes, T: (u32 u64)>(
            addr: Addr<Global>, value: T, policy: Policy
        ));
        forms!(cached::red_and_hint<M: (Relaxed Release), S: scopes, T: (u32 u64)>(addr: Addr<Global>, value: T, policy: Policy));
        forms!(cached::atom_or_hint<M: (Relaxed Acquire Release AcqRel), S: scopes, T: (u32 u64)>(
            addr: Addr<Global>, value: T, policy: Policy
        ));
        forms!(cached::red_or_hint<M: (Relaxed Release), S: scopes, T: (u32 u64)>(addr: Addr<Global>, value: T, policy: Policy));
        forms!(cached::atom_xor_hint<M: (Relaxed Acquire Release AcqRel), S: scopes, T: (u32 u64)>(
            addr: Addr<Global>, value: T, policy: Policy
        ));
        forms!(cached::red_xor_hint<M: (Relaxed Release), S: scopes, T: (u32 u64)>(addr: Addr<Global>, value: T, policy: Policy));
        forms!(cached::atom_exch_hint<M: (Relaxed Acquire Release AcqRel), S: scopes, T: (u32 u64)>(
            addr: Addr<Global>, value: T, policy: Policy
        ));
        forms!(cached::atom_inc_hint<M: (Relaxed Acquire Release AcqRel), S: scopes>(addr: Addr<Global>, bound: u32, policy: Policy));
        forms!(cached::red_inc_hint<M: (Relaxed Release), S: scopes>(addr: Addr<Global>, bound: u32, policy: Policy));
        forms!(cached::atom_dec_hint<M: (Relaxed Acquire Release AcqRel), S: scopes>(addr: Addr<Global>, bound: u32, policy: Policy));
        forms!(cached::red_dec_hint<M: (Relaxed Release), S: scopes>(addr: Addr<Global>, bound: u32, policy: Policy));
    }
    vectors {
        forms!(vector::ld_vector<M: (Relaxed Acquire), S: scopes, Sp: reached, V: (
            [u8; 2] [u16; 2] [u32; 2] [u64; 2] [u8; 4] [u16; 4] [u32; 4]
        )>(addr: Addr<Sp>));
        forms!(vector::st_vector<M: (Relaxed Release), S: scopes, Sp: reached, V: (
            [u8; 2] [u16; 2] [u32; 2] [u64; 2] [u8; 4] [u16; 4] [u32; 4]
        )>(addr: Addr<Sp>, values: V));
        forms!(vector::ld_weak_vector<Sp: loaded, V: (
            [u8; 2] [u16; 2] [u32; 2] [u64; 2] [u8; 4] [u16; 4] [u32; 4]
        )>(addr: Addr<Sp>));
        forms!(vector::st_weak_vector<Sp: stored, V: (
            [u8; 2] [u16; 2] [u32; 2] [u64; 2] [u8; 4] [u16; 4] [u32; 4]
        )>(addr: Addr<Sp>, values: V));
        forms!(vector::ld_weak_wide<Sp: (Global Generic), V: ([u32; 8] [u64; 4]), E: (() EvictFirst EvictLast EvictNormal)>(
            addr: Addr<Sp>
        ));
        forms!(vector::st_weak_wide<Sp: (Global Generic), V: ([u32; 8] [u64; 4]), E: (() EvictFirst EvictLast EvictNormal)>(
            addr: Addr<Sp>, values: V
        ));
        forms!(vector::ld_wide<M: (Relaxed Acquire), S: scopes, V: ([u32; 8] [u64; 4]), E: (() EvictFirst EvictLast EvictNormal)>(
            addr: Addr<Global>
        ));
        forms!(vector::st_wide<M: (Relaxed Release), S: scopes, V: ([u32; 8] [u64; 4]), E: (() EvictFirst EvictLast EvictNormal)>(
            addr: Addr<Global>, values: V
        ));
    }
    several_devices {
        forms!(multimem::ld_reduce_add<M: (Relaxed Acquire), S: scopes, T: (u32 i32 u64 f32 f64 f16x2 bf16x2)>(addr: Multimem));
        forms!(multimem::ld_reduce_min<M: (Relaxed Acquire), S: scopes, T: (u32 i32 u64 i64)>(addr: Multimem));
        forms!(multimem::ld_reduce_max<M: (Relaxed Acquire), S: scopes, T: (u32 i32 u64 i64)>(addr: Multimem));
        forms!(multimem::ld_reduce_and<M: (Relaxed Acquire), S: scopes, T: (u32 u64)>(addr: Multimem));
        forms!(multimem::ld_reduce_or<M: (Relaxed Acquire), S: scopes, T: (u32 u64)>(addr: Multimem));
        forms!(multimem::ld_reduce_xor<M: (Relaxed Acquire), S: scopes, T: (u32 u64)>(addr: Multimem));
        forms!(multimem::ld_reduce_add_v4<M: (Relaxed Acquire), S: scopes, T: (f32 f16x2 bf16x2)>(addr: Multimem));
        forms!(multimem::red_add<M: (Relaxed Release), S: scopes, T: (u32 i32 u64 f32 f64 f16x2 bf16x2)>(addr: Multimem, value: T));
        forms!(multimem::red_min<M: (Relaxed Release), S: scopes, T: (u32 i32 u64 i64)>(addr: Multimem, value: T));
        forms!(multimem::red_max<M: (Relaxed Release), S: scopes, T: (u32 i32 u64 i64)>(addr: Multimem, value: T));
        forms!(multimem::red_and<M: (Relaxed Release), S: scopes, T: (u32 u64)>(addr: Multimem, value: T));
        forms!(multimem::red_or<M: (Relaxed Release), S: scopes, T: (u32 u64)>(addr: Multimem, value: T));
        forms!(multimem::red_xor<M: (Relaxed Release), S: scopes, T: (u32 u64)>(addr: Multimem, value: T));
        forms!(multimem::red_add_v4<M: (Relaxed Release), S: scopes, T: (f32 f16x2 bf16x2)>(addr: Multimem, values: [T; 4]));
        forms!(multimem::st<M: (Relaxed Release), S: scopes, T: (u32 u64)>(addr: Multimem, value: T));
        forms!(multimem::ld_reduce_add_weak<T: (u32 i32 u64 f32 f64 f16x2 bf16x2)>(addr: Multimem));
        forms!(multimem::ld_reduce_min_weak<T: (u32 i32 u64 i64)>(addr: Multimem));
        forms!(multimem::ld_reduce_max_weak<T: (u32 i32 u64 i64)>(addr: Multimem));
        forms!(multimem::ld_reduce_and_weak<T: (u32 u64)>(addr: Multimem));
        forms!(multimem::ld_reduce_or_weak<T: (u32 u64)>(addr: Multimem));
        forms!(multimem::ld_reduce_xor_weak<T: (u32 u64)>(addr: Multimem));
        forms!(multimem::st_weak<T: (u32 u64)>(addr: Multimem, value: T));
        forms!(multimem::ld_reduce_add_float8<M: (Relaxed Acquire), S: scopes, T: (e4m3 e5m2)>(addr: Multimem));
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
