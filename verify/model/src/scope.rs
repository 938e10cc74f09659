//! Scopes and where threads stand (section 8.5).
//!
//! A scope is the set of threads that an operation can interact with, seen from the thread that
//! executes it. The four scopes nest, and a warp is none of them.

use std::fmt;

/// The four scopes, from the smallest set of threads to the largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// The threads of the same thread block.
    Cta,
    /// The threads of the same cluster.
    Cluster,
    /// The threads on the same GPU.
    Gpu,
    /// All threads, the host's included.
    Sys,
}

impl Scope {
    /// The scope that PTX calls `name` (without its dot).
    pub fn named(name: &str) -> Option<Scope> {
        Some(match name {
            "cta" => Scope::Cta,
            "cluster" => Scope::Cluster,
            "gpu" => Scope::Gpu,
            "sys" => Scope::Sys,
            _ => return None,
        })
    }

    /// Whether this scope, named by a thread at `from`, contains the thread at `other`.
    pub fn contains(self, from: Placement, other: Placement) -> bool {
        match self {
            Scope::Cta => from.cta == other.cta,
            Scope::Cluster => from.cluster == other.cluster,
            Scope::Gpu => from.gpu == other.gpu,
            Scope::Sys => true,
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Scope::Cta => "cta",
            Scope::Cluster => "cluster",
            Scope::Gpu => "gpu",
            Scope::Sys => "sys",
        })
    }
}

/// Where a thread runs. Numbers of thread blocks and clusters are unique across GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Placement {
    /// The device.
    pub gpu: u32,
    /// The cluster; a thread block without a cluster is one of its own.
    pub cluster: Cluster,
    /// The thread block.
    pub cta: u32,
}

/// A cluster that was declared, or the one that a thread block is by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cluster {
    /// `cluster=` gave its number.
    Declared(u32),
    /// Of this thread block alone.
    Own(u32),
}

impl Placement {
    /// The smallest scope that holds both threads.
    pub fn nearest(self, other: Placement) -> Scope {
        [Scope::Cta, Scope::Cluster, Scope::Gpu]
            .into_iter()
            .find(|scope| scope.contains(self, other))
            .unwrap_or(Scope::Sys)
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "gpu={} cta={}", self.gpu, self.cta)?;
        match self.cluster {
            Cluster::Declared(number) => write!(f, " cluster={number}"),
            Cluster::Own(_) => Ok(()),
        }
    }
}
