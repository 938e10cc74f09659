//! Special registers, control, and what the lanes of a warp do together.

use baton::float::{bf16x2, f16x2};
use baton::ptx::warp::{Bfly, Down, Idx, Up};
use baton::ptx::{control, sreg, warp};

macro_rules! registers {
    ($($name:ident)*) => {
        kernel! { special_registers { $(forms!(sreg::$name());)* } }
    };
}
registers! {
    tid_x tid_y tid_z ntid_x ntid_y ntid_z ctaid_x ctaid_y ctaid_z nctaid_x nctaid_y nctaid_z
    laneid lanemask_eq lanemask_lt lanemask_le lanemask_gt lanemask_ge
    clusterid_x clusterid_y clusterid_z nclusterid_x nclusterid_y nclusterid_z
    cluster_ctaid_x cluster_ctaid_y cluster_ctaid_z
    cluster_nctaid_x cluster_nctaid_y cluster_nctaid_z cluster_ctarank cluster_nctarank
    dynamic_smem_size total_smem_size warpid smid clock64 globaltimer
}

kernel! {
    control_of_grids {
        forms!(control::nanosleep(nanoseconds: u32));
        forms!(control::griddepcontrol_launch_dependents());
        forms!(control::griddepcontrol_wait());
    }
    registers_of_warpgroups {
        forms!(control::setmaxnreg_inc<; REGISTERS: (232)>());
        forms!(control::setmaxnreg_dec<; REGISTERS: (40)>());
    }
    end_of_a_thread {
        ending!(control::exit());
    }
    end_of_a_grid {
        ending!(control::trap());
    }
    warps {
        forms!(warp::elect_sync(mask: u32));
        forms!(warp::shfl_sync<M: (Idx Up Down Bfly), T: words_32>(value: T, lane: u32, bounds: u32, mask: u32));
        forms!(warp::vote_sync_all(vote: bool, mask: u32));
        forms!(warp::vote_sync_any(vote: bool, mask: u32));
        forms!(warp::vote_sync_uni(vote: bool, mask: u32));
        forms!(warp::vote_sync_ballot(vote: bool, mask: u32));
        forms!(warp::match_any_sync<T: words_32>(value: T, mask: u32));
        forms!(warp::match_any_sync_b64(value: u64, mask: u32));
        forms!(warp::match_all_sync<T: words_32>(value: T, mask: u32));
        forms!(warp::match_all_sync_b64(value: u64, mask: u32));
        forms!(warp::redux_sync_min_f32(value: f32, mask: u32));
        forms!(warp::redux_sync_max_f32(value: f32, mask: u32));
        forms!(warp::redux_sync_min_abs_f32(value: f32, mask: u32));
        forms!(warp::redux_sync_max_abs_f32(value: f32, mask: u32));
        forms!(warp::redux_sync_min_nan_f32(value: f32, mask: u32));
        forms!(warp::redux_sync_max_nan_f32(value: f32, mask: u32));
        forms!(warp::redux_sync_add<T: (u32 i32)>(value: T, mask: u32));
        forms!(warp::redux_sync_min<T: (u32 i32)>(value: T, mask: u32));
        forms!(warp::redux_sync_max<T: (u32 i32)>(value: T, mask: u32));
        forms!(warp::redux_sync_and<T: (u32 i32)>(value: T, mask: u32));
        forms!(warp::redux_sync_or<T: (u32 i32)>(value: T, mask: u32));
        forms!(warp::redux_sync_xor<T: (u32 i32)>(value: T, mask: u32));
        forms!(warp::activemask());
    }
}
