//! Asynchronous copies.

use baton::float::{bf16, bf16x2, f16, f16x2};
use baton::ptx::addr::{Addr, Generic, Global, Local, SharedCluster, SharedCta};
use baton::ptx::policy::{EvictFirst, EvictLast, EvictNormal, EvictUnchanged};
use baton::ptx::policy::{NoHint, Policy};
use baton::ptx::tcgen05::{Group1, Group2};
use baton::ptx::tensor::Im2col;
use baton::ptx::tensor_full::{
    self, Add, And, Dec, Gather4, Inc, Max, Min, Multicast, NoGroup, One, Or, Pixels, Scatter4,
    Tile, Wide, Wide128, Window, Xor,
};
use baton::ptx::{async_store, bulk, cp_async, policy, tensor};

kernel! {
    bulk_copies {
        forms!(bulk::cp_async_bulk_to_shared<Sp: shared>(dst: Addr<Sp>, src: Addr<Global>, bytes: u32, bar: Addr<Sp>));
        forms!(bulk::cp_async_bulk_multicast(
            dst: Addr<SharedCluster>, src: Addr<Global>, bytes: u32, bar: Addr<SharedCluster>, mask: u16
        ));
        forms!(bulk::cp_async_bulk_to_cluster(
            dst: Addr<SharedCluster>, src: Addr<SharedCta>, bytes: u32, bar: Addr<SharedCluster>
        ));
        forms!(bulk::cp_async_bulk_to_global(dst: Addr<Global>, src: Addr<SharedCta>, bytes: u32));
        forms!(bulk::commit_group());
        forms!(bulk::wait_group<; PENDING: (0 3)>());
        forms!(bulk::wait_group_read<; PENDING: (0 3)>());
    }
    tensor_copies {
        forms!(tensor::cp_async_bulk_tensor_to_shared<Sp: shared, C: ranks>(dst: Addr<Sp>, map: Addr<Generic>, at: C, bar: Addr<Sp>));
        forms!(tensor::cp_async_bulk_tensor_multicast<C: ranks>(
            dst: Addr<SharedCluster>, map: Addr<Generic>, at: C, bar: Addr<SharedCluster>, mask: u16
        ));
        forms!(tensor::cp_async_bulk_tensor_to_global<C: ranks>(map: Addr<Generic>, at: C, src: Addr<SharedCta>));
        forms!(tensor::prefetch_tensormap(map: Addr<Generic>));
    }
    tensor_copies_to_one {
        forms!(tensor::cp_async_bulk_tensor_to_pair<G: (Group1), C: ranks>(
            dst: Addr<SharedCluster>, map: Addr<Generic>, at: C, bar: Addr<SharedCluster>
        ));
    }
    tensor_copies_to_pair {
        forms!(tensor::cp_async_bulk_tensor_to_pair<G: (Group2), C: ranks>(
            dst: Addr<SharedCluster>, map: Addr<Generic>, at: C, bar: Addr<SharedCluster>
        ));
    }
}

kernel! {
    small_copies {
        forms!(cp_async::cp_async_ca<; BYTES: (4 8 16)>(dst: Addr<SharedCta>, src: Addr<Global>));
        forms!(cp_async::cp_async_ca_fill<; BYTES: (4 8 16)>(dst: Addr<SharedCta>, src: Addr<Global>, bytes: u32));
        forms!(cp_async::cp_async_ca_hint<; BYTES: (4 8 16)>(dst: Addr<SharedCta>, src: Addr<Global>, policy: Policy));
        forms!(cp_async::cp_async_cg(dst: Addr<SharedCta>, src: Addr<Global>));
        forms!(cp_async::cp_async_cg_fill(dst: Addr<SharedCta>, src: Addr<Global>, bytes: u32));
        forms!(cp_async::cp_async_cg_hint(dst: Addr<SharedCta>, src: Addr<Global>, policy: Policy));
        forms!(cp_async::commit_group());
        forms!(cp_async::wait_group<; PENDING: (0 3)>());
        forms!(cp_async::wait_all());
        forms!(cp_async::mbarrier_arrive(bar: Addr<SharedCta>));
        forms!(cp_async::mbarrier_arrive_noinc(bar: Addr<SharedCta>));
    }
    policies {
        forms!(policy::evict_first());
        forms!(policy::evict_last());
        forms!(policy::evict_normal());
        forms!(policy::evict_unchanged());
        forms!(policy::fractional<P: (EvictFirst EvictLast EvictNormal EvictUnchanged), S: (EvictFirst EvictUnchanged)>(
            fraction: f32
        ));
        forms!(policy::range<P: (EvictFirst EvictLast EvictNormal EvictUnchanged), S: (EvictFirst EvictUnchanged)>(
            addr: Addr<Global>, primary_bytes: u32, total_bytes: u32
        ));
        forms!(policy::from_access_property(property: u64));
        forms!(policy::prefetch_l1<Sp: (Global Local Generic)>(addr: Addr<Sp>));
        forms!(policy::prefetch_l2<Sp: (Global Local Generic)>(addr: Addr<Sp>));
        forms!(policy::prefetch_l2_evict_last<Sp: (Global Generic)>(addr: Addr<Sp>));
        forms!(policy::prefetch_l2_evict_normal<Sp: (Global Generic)>(addr: Addr<Sp>));
        forms!(policy::prefetchu_l1(addr: Addr<Generic>));
        forms!(policy::applypriority_evict_normal<Sp: (Global Generic)>(addr: Addr<Sp>));
        forms!(policy::discard<Sp: (Global Generic)>(addr: Addr<Sp>));
    }
    asynchronous_stores {
        forms!(async_store::st_async<T: (u32 i32 f32 bf16x2 f16x2 u64 i64 f64)>(
            dst: Addr<SharedCluster>, value: T, bar: Addr<SharedCluster>
        ));
        forms!(async_store::st_async_b128(dst: Addr<SharedCluster>, value: u128, bar: Addr<SharedCluster>));
        forms!(async_store::st_async_v2<T: (u32 i32 f32 bf16x2 f16x2 u64 i64 f64)>(dst: Addr<SharedCluster>, values: [T; 2], bar: Addr<SharedCluster>));
        forms!(async_store::st_async_v4<T: words_32>(dst: Addr<SharedCluster>, values: [T; 4], bar: Addr<SharedCluster>));
        forms!(async_store::st_async_mmio_release_sys<T: (u16 u32 u64)>(dst: Addr<Global>, value: T));
        forms!(async_store::red_async_add_mmio_release_sys<T: (u32 i32 u64 i64)>(dst: Addr<Global>, value: T));
        forms!(async_store::red_async_min_mmio_release_sys<T: (u32 i32)>(dst: Addr<Global>, value: T));
        forms!(async_store::red_async_max_mmio_release_sys<T: (u32 i32)>(dst: Addr<Global>, value: T));
        forms!(async_store::red_async_inc_mmio_release_sys(dst: Addr<Global>, bound: u32));
        forms!(async_store::red_async_dec_mmio_release_sys(dst: Addr<Global>, bound: u32));
        forms!(async_store::red_async_and_mmio_release_sys(dst: Addr<Global>, value: u32));
        forms!(async_store::red_async_or_mmio_release_sys(dst: Addr<Global>, value: u32));
        forms!(async_store::red_async_xor_mmio_release_sys(dst: Addr<Global>, value: u32));
        forms!(async_store::red_async_add<T: (u32 i32 u64 i64)>(dst: Addr<SharedCluster>, value: T, bar: Addr<SharedCluster>));
        forms!(async_store::red_async_min<T: (u32 i32)>(dst: Addr<SharedCluster>, value: T, bar: Addr<SharedCluster>));
        forms!(async_store::red_async_max<T: (u32 i32)>(dst: Addr<SharedCluster>, value: T, bar: Addr<SharedCluster>));
        forms!(async_store::red_async_inc(dst: Addr<SharedCluster>, bound: u32, bar: Addr<SharedCluster>));
        forms!(async_store::red_async_dec(dst: Addr<SharedCluster>, bound: u32, bar: Addr<SharedCluster>));
        forms!(async_store::red_async_and(dst: Addr<SharedCluster>, value: u32, bar: Addr<SharedCluster>));
        forms!(async_store::red_async_or(dst: Addr<SharedCluster>, value: u32, bar: Addr<SharedCluster>));
        forms!(async_store::red_async_xor(dst: Addr<SharedCluster>, value: u32, bar: Addr<SharedCluster>));
    }
    more_bulk_copies {
        forms!(bulk::cp_async_bulk_to_shared_hint<Sp: shared>(
            dst: Addr<Sp>, src: Addr<Global>, bytes: u32, bar: Addr<Sp>, policy: Policy
        ));
        forms!(bulk::cp_async_bulk_to_global_hint(dst: Addr<Global>, src: Addr<SharedCta>, bytes: u32, policy: Policy));
        forms!(bulk::cp_async_bulk_to_global_masked(dst: Addr<Global>, src: Addr<SharedCta>, bytes: u32, mask: u16));
        forms!(bulk::cp_async_bulk_prefetch(src: Addr<Global>, bytes: u32));
        forms!(bulk::cp_async_bulk_prefetch_hint(src: Addr<Global>, bytes: u32, policy: Policy));
        forms!(bulk::cp_async_bulk_multicast_hint(
            dst: Addr<SharedCluster>, src: Addr<Global>, bytes: u32, bar: Addr<SharedCluster>, mask: u16, policy: Policy
        ));
        forms!(bulk::cp_async_bulk_to_shared_ignore_oob<H: (NoHint Policy)>(
            dst: Addr<SharedCta>, src: Addr<Global>, bytes: u32, left: u32, right: u32, bar: Addr<SharedCta>, hint: H
        ));
        forms!(bulk::cp_async_bulk_to_global_masked_hint(
            dst: Addr<Global>, src: Addr<SharedCta>, bytes: u32, mask: u16, policy: Policy
        ));
    }
    bulk_reductions {
        forms!(bulk::cp_reduce_async_bulk_add<T: (u32 i32 u64 i64 f32 f64 f16 bf16)>(dst: Addr<Global>, src: Addr<SharedCta>, bytes: u32));
        forms!(bulk::cp_reduce_async_bulk_min<T: (u32 i32 u64 i64 f16 bf16)>(dst: Addr<Global>, src: Addr<SharedCta>, bytes: u32));
        forms!(bulk::cp_reduce_async_bulk_max<T: (u32 i32 u64 i64 f16 bf16)>(dst: Addr<Global>, src: Addr<SharedCta>, bytes: u32));
        forms!(bulk::cp_reduce_async_bulk_and<T: (u32 u64)>(dst: Addr<Global>, src: Addr<SharedCta>, bytes: u32));
        forms!(bulk::cp_reduce_async_bulk_or<T: (u32 u64)>(dst: Addr<Global>, src: Addr<SharedCta>, bytes: u32));
        forms!(bulk::cp_reduce_async_bulk_xor<T: (u32 u64)>(dst: Addr<Global>, src: Addr<SharedCta>, bytes: u32));
        forms!(bulk::cp_reduce_async_bulk_add_hint<T: (u32 i32 u64 i64 f32 f64 f16 bf16), H: (Policy)>(
            dst: Addr<Global>, src: Addr<SharedCta>, bytes: u32, hint: H
        ));
        forms!(bulk::cp_reduce_async_bulk_min_hint<T: (u32 i32 u64 i64 f16 bf16), H: (Policy)>(
            dst: Addr<Global>, src: Addr<SharedCta>, bytes: u32, hint: H
        ));
        forms!(bulk::cp_reduce_async_bulk_max_hint<T: (u32 i32 u64 i64 f16 bf16), H: (Policy)>(
            dst: Addr<Global>, src: Addr<SharedCta>, bytes: u32, hint: H
        ));
        forms!(bulk::cp_reduce_async_bulk_and_hint<T: (u32 u64), H: (Policy)>(
            dst: Addr<Global>, src: Addr<SharedCta>, bytes: u32, hint: H
        ));
        forms!(bulk::cp_reduce_async_bulk_or_hint<T: (u32 u64), H: (Policy)>(
            dst: Addr<Global>, src: Addr<SharedCta>, bytes: u32, hint: H
        ));
        forms!(bulk::cp_reduce_async_bulk_xor_hint<T: (u32 u64), H: (Policy)>(
            dst: Addr<Global>, src: Addr<SharedCta>, bytes: u32, hint: H
        ));
        forms!(bulk::cp_reduce_async_bulk_inc<H: (NoHint Policy)>(
            dst: Addr<Global>, src: Addr<SharedCta>, bytes: u32, hint: H
        ));
        forms!(bulk::cp_reduce_async_bulk_dec<H: (NoHint Policy)>(
            dst: Addr<Global>, src: Addr<SharedCta>, bytes: u32, hint: H
        ));
        forms!(bulk::cp_reduce_async_bulk_inc_to_cluster(
            dst: Addr<SharedCluster>, src: Addr<SharedCta>, bytes: u32, bar: Addr<SharedCluster>
        ));
        forms!(bulk::cp_reduce_async_bulk_dec_to_cluster(
            dst: Addr<SharedCluster>, src: Addr<SharedCta>, bytes: u32, bar: Addr<SharedCluster>
        ));
        forms!(bulk::cp_reduce_async_bulk_and_to_cluster(
            dst: Addr<SharedCluster>, src: Addr<SharedCta>, bytes: u32, bar: Addr<SharedCluster>
        ));
        forms!(bulk::cp_reduce_async_bulk_or_to_cluster(
            dst: Addr<SharedCluster>, src: Addr<SharedCta>, bytes: u32, bar: Addr<SharedCluster>
        ));
        forms!(bulk::cp_reduce_async_bulk_xor_to_cluster(
            dst: Addr<SharedCluster>, src: Addr<SharedCta>, bytes: u32, bar: Addr<SharedCluster>
        ));
        forms!(bulk::cp_reduce_async_bulk_add_to_cluster<T: (u32 i32 u64)>(
            dst: Addr<SharedCluster>, src: Addr<SharedCta>, bytes: u32, bar: Addr<SharedCluster>
        ));
        forms!(bulk::cp_reduce_async_bulk_min_to_cluster<T: (u32 i32)>(
            dst: Addr<SharedCluster>, src: Addr<SharedCta>, bytes: u32, bar: Addr<SharedCluster>
        ));
        forms!(bulk::cp_reduce_async_bulk_max_to_cluster<T: (u32 i32)>(
            dst: Addr<SharedCluster>, src: Addr<SharedCta>, bytes: u32, bar: Addr<SharedCluster>
        ));
    }
    more_tensor_copies {
        forms!(tensor::cp_async_bulk_tensor_to_shared_hint<Sp: shared, C: ranks>(
            dst: Addr<Sp>, map: Addr<Generic>, at: C, bar: Addr<Sp>, policy: Policy
        ));
        forms!(tensor::cp_async_bulk_tensor_multicast_hint<C: ranks>(
            dst: Addr<SharedCluster>, map: Addr<Generic>, at: C, bar: Addr<SharedCluster>, mask: u16, policy: Policy
        ));
        forms!(tensor::cp_async_bulk_tensor_to_global_hint<C: ranks>(
            map: Addr<Generic>, at: C, src: Addr<SharedCta>, policy: Policy
        ));
        forms!(tensor::cp_async_bulk_prefetch_tensor<C: ranks>(map: Addr<Generic>, at: C));
        forms!(tensor::cp_async_bulk_tensor_gather4_to_shared<Sp: shared>(
            dst: Addr<Sp>, map: Addr<Generic>, at: [i32; 5], bar: Addr<Sp>
        ));
        forms!(tensor::cp_async_bulk_tensor_scatter4_to_global(map: Addr<Generic>, at: [i32; 5], src: Addr<SharedCta>));
        forms!(tensor::cp_async_bulk_tensor_im2col_to_shared<Sp: shared, C: ([i32; 3] [i32; 4] [i32; 5])>(
            dst: Addr<Sp>, map: Addr<Generic>, at: C, offsets: <C as Im2col>::Offsets, bar: Addr<Sp>
        ));
    }
}

macro_rules! tensor_reductions {
    ($($name:ident)*) => {
        kernel! {
            tensor_reductions {
                $(forms!(tensor::$name<C: ranks>(map: Addr<Generic>, at: C, src: Addr<SharedCta>));)*
            }
        }
    };
}
tensor_reductions! {
    cp_reduce_async_bulk_tensor_add cp_reduce_async_bulk_tensor_min cp_reduce_async_bulk_tensor_max
    cp_reduce_async_bulk_tensor_inc cp_reduce_async_bulk_tensor_dec cp_reduce_async_bulk_tensor_and
    cp_reduce_async_bulk_tensor_or cp_reduce_async_bulk_tensor_xor
}

/// The places of each mode and rank.
macro_rules! places {
    ($($name:ident $place:ident $rank:literal;)*) => { $(type $name = $place<[i32; $rank]>;)* };
}
places! {
    Tile1 Tile 1; Tile2 Tile 2; Tile3 Tile 3; Tile4 Tile 4; Tile5 Tile 5;
    Window3 Window 3; Window4 Window 4; Window5 Window 5;
    Wide3 Wide 3; Wide4 Wide 4; Wide5 Wide 5;
    WideOf128x3 Wide128 3; WideOf128x4 Wide128 4; WideOf128x5 Wide128 5;
    Pixels3 Pixels 3; Pixels4 Pixels 4; Pixels5 Pixels 5;
}

macro_rules! tensor_loads {
    ($($sp:tt $places:tt $receivers:tt $group:tt $hint:tt;)*) => {$(
        forms!(tensor_full::cp_async_bulk_tensor_load<Sp: $sp, P: $places, R: $receivers, G: $group, H: $hint>(
            dst: Addr<Sp>, map: Addr<Generic>, place: P, bar: Addr<Sp>, receivers: R, hint: H
        ));
    )*};
}

/// Copies with every qualifier, for one `cta_group`.
macro_rules! grouped_tensor_loads {
    ($($name:ident $group:ident)*) => {
        kernel! {$(
            $name {
                tensor_loads! {
                    (SharedCluster)
                        (Tile1 Tile2 Tile3 Tile4 Tile5 Window3 Window4 Window5 Wide3 Wide4 Wide5 WideOf128x3
                            WideOf128x4 WideOf128x5 Gather4)
                        (Multicast) ($group) (Policy);
                    shared (Tile2 Window3 Wide3 WideOf128x3 Gather4) (One) ($group) (NoHint Policy);
                    (SharedCluster) (Tile2 Window3 Wide3 WideOf128x3 Gather4) (Multicast) ($group) (NoHint);
                }
            }
        )*}
    };
}
grouped_tensor_loads!(tensor_loads_of_one Group1 tensor_loads_of_pair Group2);

kernel! {
    tensor_loads {
        tensor_loads! {
            shared
                (Tile1 Tile2 Tile3 Tile4 Tile5 Window3 Window4 Window5 Wide3 Wide4 Wide5 WideOf128x3 WideOf128x4
                    WideOf128x5 Gather4)
                (One) (NoGroup) (NoHint);
            shared (Tile2 Window3 Wide3 WideOf128x3 Gather4) (One) (NoGroup) (Policy);
            (SharedCluster) (Tile2 Window3 Wide3 WideOf128x3 Gather4) (Multicast) (NoGroup) (NoHint Policy);
        }
    }
    tensor_stores {
        forms!(tensor_full::cp_async_bulk_tensor_store<
            P: (Tile1 Tile2 Tile3 Tile4 Tile5 Pixels3 Pixels4 Pixels5 Scatter4), H: (NoHint Policy)
        >(map: Addr<Generic>, target: P, src: Addr<SharedCta>, hint: H));
        forms!(tensor_full::cp_reduce_async_bulk_tensor<
            O: (Add Min Max Inc Dec And Or Xor), P: (Tile1 Tile2 Tile3 Tile4 Tile5 Pixels3 Pixels4 Pixels5),
            H: (NoHint Policy)
        >(map: Addr<Generic>, target: P, src: Addr<SharedCta>, hint: H));
    }
    tensor_prefetches {
        forms!(tensor_full::cp_async_bulk_prefetch_tensor<
            P: (Tile1 Tile2 Tile3 Tile4 Tile5 Window3 Window4 Window5 Wide3 Wide4 Wide5 WideOf128x3 WideOf128x4
                WideOf128x5 Gather4),
            H: (NoHint Policy)
        >(map: Addr<Generic>, place: P, hint: H));
    }
}
