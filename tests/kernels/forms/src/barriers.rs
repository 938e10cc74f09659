//! Barriers of threads, and barriers in shared memory.

use baton::ptx::addr::{Addr, SharedCluster, SharedCta};
use baton::ptx::cluster_launch::Response;
use baton::ptx::mbarrier::{NoComplete, State, V0, V1};
use baton::ptx::{barrier, cluster_launch, mbarrier};
use baton::scope::{Cluster, Cta};
use baton::sem::{Acquire, Relaxed, Release};

kernel! {
    execution_barriers {
        forms!(barrier::bar_sync(id: u32));
        forms!(barrier::bar_sync_count(id: u32, threads: u32));
        forms!(barrier::bar_arrive(id: u32, threads: u32));
        forms!(barrier::bar_red_or(id: u32, vote: bool));
        forms!(barrier::bar_red_or_count(id: u32, threads: u32, vote: bool));
        forms!(barrier::barrier_sync(id: u32));
        forms!(barrier::barrier_sync_count(id: u32, threads: u32));
        forms!(barrier::barrier_arrive(id: u32, threads: u32));
        forms!(barrier::bar_warp_sync(mask: u32));
        forms!(barrier::barrier_cluster_arrive<M: (Release Relaxed)>());
        forms!(barrier::barrier_cluster_wait());
        forms!(barrier::barrier_cluster_arrive_aligned<M: (Release Relaxed)>());
        forms!(barrier::barrier_cluster_wait_aligned());
    }
    voting_barriers {
        forms!(barrier::bar_red_popc(id: u32, vote: bool));
        forms!(barrier::bar_red_and(id: u32, vote: bool));
        forms!(barrier::bar_red_or(id: u32, vote: bool));
        forms!(barrier::bar_red_popc_count(id: u32, threads: u32, vote: bool));
        forms!(barrier::bar_red_and_count(id: u32, threads: u32, vote: bool));
        forms!(barrier::bar_red_or_count(id: u32, threads: u32, vote: bool));
        forms!(barrier::barrier_red_popc(id: u32, vote: bool));
        forms!(barrier::barrier_red_and(id: u32, vote: bool));
        forms!(barrier::barrier_red_or(id: u32, vote: bool));
        forms!(barrier::barrier_red_popc_count(id: u32, threads: u32, vote: bool));
        forms!(barrier::barrier_red_and_count(id: u32, threads: u32, vote: bool));
        forms!(barrier::barrier_red_or_count(id: u32, threads: u32, vote: bool));
    }
    cluster_launch_control {
        forms!(cluster_launch::try_cancel(dst: Addr<SharedCta>, bar: Addr<SharedCta>));
        forms!(cluster_launch::try_cancel_multicast(dst: Addr<SharedCta>, bar: Addr<SharedCta>));
        forms!(cluster_launch::is_canceled(response: Response));
        forms!(cluster_launch::get_first_ctaid(response: Response));
    }
    mbarriers {
        forms!(mbarrier::init(bar: Addr<SharedCta>, count: u32));
        forms!(mbarrier::init_layout<L: (V0 V1)>(bar: Addr<SharedCta>, count: u32));
        forms!(mbarrier::check_layout<L: (V0 V1)>(bar: Addr<SharedCta>));
        forms!(mbarrier::inval(bar: Addr<SharedCta>));
        forms!(mbarrier::arrive<M: (Release Relaxed), S: within_cluster>(bar: Addr<SharedCta>));
        forms!(mbarrier::arrive_count<M: (Release Relaxed), S: within_cluster>(bar: Addr<SharedCta>, count: u32));
        forms!(mbarrier::arrive_expect_tx<M: (Release Relaxed), S: within_cluster>(bar: Addr<SharedCta>, bytes: u32));
        forms!(mbarrier::arrive_drop<M: (Release Relaxed), S: within_cluster>(bar: Addr<SharedCta>));
        forms!(mbarrier::arrive_drop_count<M: (Release Relaxed), S: within_cluster>(bar: Addr<SharedCta>, count: u32));
        forms!(mbarrier::arrive_drop_expect_tx<M: (Release Relaxed), S: within_cluster>(bar: Addr<SharedCta>, bytes: u32));
        forms!(mbarrier::arrive_remote<M: (Release Relaxed), S: within_cluster>(bar: Addr<SharedCluster>));
        forms!(mbarrier::arrive_count_remote<M: (Release Relaxed), S: within_cluster>(bar: Addr<SharedCluster>, count: u32));
        forms!(mbarrier::arrive_expect_tx_remote<M: (Release Relaxed), S: within_cluster>(bar: Addr<SharedCluster>, bytes: u32));
        forms!(mbarrier::arrive_drop_remote<M: (Release Relaxed), S: within_cluster>(bar: Addr<SharedCluster>));
        forms!(mbarrier::arrive_drop_expect_tx_remote<M: (Release Relaxed), S: within_cluster>(bar: Addr<SharedCluster>, bytes: u32));
        forms!(mbarrier::arrive_drop_count_remote<M: (Release Relaxed), S: within_cluster>(bar: Addr<SharedCluster>, count: u32));
        forms!(mbarrier::try_wait_for<M: (Acquire Relaxed), S: within_cluster>(bar: Addr<SharedCta>, state: State, nanoseconds: u32));
        forms!(mbarrier::try_wait_parity_for<M: (Acquire Relaxed), S: within_cluster>(bar: Addr<SharedCta>, parity: u32, nanoseconds: u32));
        forms!(mbarrier::arrive_drop_no_complete(bar: Addr<SharedCta>, count: u32));
        forms!(mbarrier::arrive_no_complete(bar: Addr<SharedCta>, count: u32));
        forms!(mbarrier::pending_count<A: (NoComplete)>(state: State<A>));
        forms!(mbarrier::expect_tx<S: within_cluster, Sp: shared>(bar: Addr<Sp>, bytes: u32));
        forms!(mbarrier::complete_tx<S: within_cluster, Sp: shared>(bar: Addr<Sp>, bytes: u32));
        forms!(mbarrier::test_wait<M: (Acquire Relaxed), S: within_cluster>(bar: Addr<SharedCta>, state: State));
        forms!(mbarrier::test_wait_parity<M: (Acquire Relaxed), S: within_cluster>(bar: Addr<SharedCta>, parity: u32));
        forms!(mbarrier::try_wait<M: (Acquire Relaxed), S: within_cluster>(bar: Addr<SharedCta>, state: State));
        forms!(mbarrier::try_wait_parity<M: (Acquire Relaxed), S: within_cluster>(bar: Addr<SharedCta>, parity: u32));
    }
}
