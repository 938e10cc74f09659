//! Special registers.
//!
//! What a thread knows about itself and its launch. All but the clocks, `%warpid` and `%smid` are
//! constants of the thread, so the compiler may merge and move the reads.
//!
//! ISA: chapter *Special registers*. Left out: performance counters, `%envreg`.

macro_rules! constants {
    ($($(#[$doc:meta])* $name:ident = $reg:literal $since:literal;)*) => {$(
        $(#[$doc])*
        #[doc = concat!("\n\n`mov.u32 d, ", $reg, ";` ", $since)]
        #[inline(always)]
        pub fn $name() -> u32 {
            device! {
                let value: u32;
                asm!(concat!("mov.u32 {}, ", $reg, ";"), out(reg32) value, options(pure, nomem, nostack));
                value
            }
        }
    )*};
}

constants! {
    /// Thread index in the CTA, x.
    tid_x = "%tid.x" "PTX 2.0.";
    /// Thread index in the CTA, y.
    tid_y = "%tid.y" "PTX 2.0.";
    /// Thread index in the CTA, z.
    tid_z = "%tid.z" "PTX 2.0.";
    /// Threads in the CTA, x.
    ntid_x = "%ntid.x" "PTX 2.0.";
    /// Threads in the CTA, y.
    ntid_y = "%ntid.y" "PTX 2.0.";
    /// Threads in the CTA, z.
    ntid_z = "%ntid.z" "PTX 2.0.";
    /// CTA index in the grid, x.
    ctaid_x = "%ctaid.x" "PTX 2.0.";
    /// CTA index in the grid, y.
    ctaid_y = "%ctaid.y" "PTX 2.0.";
    /// CTA index in the grid, z.
    ctaid_z = "%ctaid.z" "PTX 2.0.";
    /// CTAs in the grid, x.
    nctaid_x = "%nctaid.x" "PTX 2.0.";
    /// CTAs in the grid, y.
    nctaid_y = "%nctaid.y" "PTX 2.0.";
    /// CTAs in the grid, z.
    nctaid_z = "%nctaid.z" "PTX 2.0.";
    /// Lane in the warp.
    laneid = "%laneid" "PTX 1.3.";
    /// A mask with the bit of this lane.
    lanemask_eq = "%lanemask_eq" "PTX 2.0, sm_20.";
    /// A mask with the bits of the lanes below this one.
    lanemask_lt = "%lanemask_lt" "PTX 2.0, sm_20.";
    /// A mask with the bits of this lane and those below.
    lanemask_le = "%lanemask_le" "PTX 2.0, sm_20.";
    /// A mask with the bits of the lanes above this one.
    lanemask_gt = "%lanemask_gt" "PTX 2.0, sm_20.";
    /// A mask with the bits of this lane and those above.
    lanemask_ge = "%lanemask_ge" "PTX 2.0, sm_20.";
    /// Cluster index in the grid, x.
    clusterid_x = "%clusterid.x" "PTX 7.8, sm_90.";
    /// Cluster index in the grid, y.
    clusterid_y = "%clusterid.y" "PTX 7.8, sm_90.";
    /// Cluster index in the grid, z.
    clusterid_z = "%clusterid.z" "PTX 7.8, sm_90.";
    /// Clusters in the grid, x.
    nclusterid_x = "%nclusterid.x" "PTX 7.8, sm_90.";
    /// Clusters in the grid, y.
    nclusterid_y = "%nclusterid.y" "PTX 7.8, sm_90.";
    /// Clusters in the grid, z.
    nclusterid_z = "%nclusterid.z" "PTX 7.8, sm_90.";
    /// CTA index in the cluster, x.
    cluster_ctaid_x = "%cluster_ctaid.x" "PTX 7.8, sm_90.";
    /// CTA index in the cluster, y.
    cluster_ctaid_y = "%cluster_ctaid.y" "PTX 7.8, sm_90.";
    /// CTA index in the cluster, z.
    cluster_ctaid_z = "%cluster_ctaid.z" "PTX 7.8, sm_90.";
    /// CTAs in the cluster, x.
    cluster_nctaid_x = "%cluster_nctaid.x" "PTX 7.8, sm_90.";
    /// CTAs in the cluster, y.
    cluster_nctaid_y = "%cluster_nctaid.y" "PTX 7.8, sm_90.";
    /// CTAs in the cluster, z.
    cluster_nctaid_z = "%cluster_nctaid.z" "PTX 7.8, sm_90.";
    /// Rank of the CTA in the cluster.
    cluster_ctarank = "%cluster_ctarank" "PTX 7.8, sm_90.";
    /// CTAs in the cluster.
    cluster_nctarank = "%cluster_nctarank" "PTX 7.8, sm_90.";
    /// Bytes of dynamic shared memory that the launch gave.
    dynamic_smem_size = "%dynamic_smem_size" "PTX 4.1, sm_20.";
    /// Bytes of shared memory of the CTA, without what the system reserves.
    total_smem_size = "%total_smem_size" "PTX 4.1, sm_20.";
}

macro_rules! variables {
    ($($(#[$doc:meta])* $name:ident: $ty:ident = $mov:literal $class:ident $reg:literal $since:literal;)*) => {$(
        $(#[$doc])*
        #[doc = concat!("\n\n`", $mov, " d, ", $reg, ";` ", $since)]
        #[inline(always)]
        pub fn $name() -> $ty {
            device! {
                let value: $ty;
                asm!(concat!($mov, " {}, ", $reg, ";"), out($class) value, options(nostack));
                value
            }
        }
    )*};
}

variables! {
    /// Where the warp runs now. The ISA lets it change while the thread runs, so it is no index: use
    /// the thread index divided by 32.
    warpid: u32 = "mov.u32" reg32 "%warpid" "PTX 1.3.";
    /// The multiprocessor that the thread runs on now. May change while the thread runs.
    smid: u32 = "mov.u32" reg32 "%smid" "PTX 1.3.";
    /// A counter of the multiprocessor's clock.
    clock64: u64 = "mov.u64" reg64 "%clock64" "PTX 2.0, sm_20.";
    /// Nanoseconds, the same on all multiprocessors; its resolution depends on the device.
    globaltimer: u64 = "mov.u64" reg64 "%globaltimer" "PTX 3.1, sm_30.";
}
