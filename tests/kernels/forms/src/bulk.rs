//! Asynchronous copies.

use baton::ptx::addr::{Addr, Generic, Global, SharedCluster, SharedCta};
use baton::ptx::tcgen05::{Group1, Group2};
use baton::ptx::{bulk, tensor};

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
