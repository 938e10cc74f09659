//! How large launches are, and may be.

/// How many CTAs to launch: x, y, z.
///
/// Made from a number, a pair or three numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid(pub [u32; 3]);

impl From<u32> for Grid {
    fn from(x: u32) -> Self {
        Self([x, 1, 1])
    }
}

impl From<[u32; 2]> for Grid {
    fn from([x, y]: [u32; 2]) -> Self {
        Self([x, y, 1])
    }
}

impl From<[u32; 3]> for Grid {
    fn from(extents: [u32; 3]) -> Self {
        Self(extents)
    }
}

impl From<(u32, u32)> for Grid {
    fn from((x, y): (u32, u32)) -> Self {
        Self([x, y, 1])
    }
}

impl From<(u32, u32, u32)> for Grid {
    fn from((x, y, z): (u32, u32, u32)) -> Self {
        Self([x, y, z])
    }
}

/// How much of a kernel a device runs at the same time.
///
/// It decides how large a grid may be whose CTAs wait for each other (rule F5), and how many CTAs a persistent kernel
/// is worth launching.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occupancy {
    /// CTAs that one multiprocessor holds, by registers, shared memory and threads.
    pub ctas_per_multiprocessor: u32,
    /// Multiprocessors of the device. The emulator counts as one, which holds all that it runs at once.
    pub multiprocessors: u32,
    /// Clusters that the device holds at once; `None` for a kernel without.
    pub clusters: Option<u32>,
}

impl Occupancy {
    /// CTAs that the device holds at once.
    pub fn resident_ctas(&self) -> u64 {
        u64::from(self.ctas_per_multiprocessor) * u64::from(self.multiprocessors)
    }
}

/// What a device can launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub threads: u32,
    pub block: [u32; 3],
    pub grid: [u32; 3],
    /// Shared memory of a CTA, static and dynamic, with the opt-in.
    pub shared: u32,
    /// CTAs of a cluster; 1 where there are no clusters.
    pub cluster: u32,
}
