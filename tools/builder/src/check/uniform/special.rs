//! Registers that every thread has from the start: which thread it is, and how the kernel was launched.

use super::space::{Space, Value, WARP};

/// What is known of a special register; `None` for one that differs without a rule or from read to read.
pub(super) fn value(space: &mut Space, name: &str) -> Option<Value> {
    let (name, axis) = match name.trim_start_matches('%').split_once('.') {
        Some((name, axis)) => (name, axis),
        None => (name.trim_start_matches('%'), "x"),
    };
    let axis = match axis {
        "x" => 0,
        "y" => 1,
        "z" => 2,
        _ => return Some(space.value(|_| 0)),
    };
    let launch = space.launch;
    let shape = |shape: [u32; 3]| shape[axis].max(1) as usize;
    let along = |shape: [u32; 3], index: usize| {
        let [x, y, z] = shape.map(|n| n.max(1) as usize);
        (match axis {
            0 => index % x,
            1 => index / x % y,
            _ => index / (x * y) % z,
        }) as u64
    };
    let (cta, warps) = (space.cta, space.warps_of_a_cta());
    Some(match name {
        "tid" => space.value(|t| along(launch.threads, t % cta)),
        "ntid" => space.value(|_| shape(launch.threads) as u64),
        "laneid" => space.value(|t| (t % cta % WARP) as u64),
        "warpid" => Value::Label(space.by_warp),
        "nwarpid" => space.value(|_| warps as u64),
        "cluster_ctaid" => space.value(|t| along(launch.cluster, t / cta)),
        "cluster_nctaid" => space.value(|_| shape(launch.cluster) as u64),
        "cluster_ctarank" => space.value(|t| (t / cta) as u64),
        "cluster_nctarank" => {
            space.value(|_| launch.cluster.iter().map(|&n| u64::from(n.max(1))).product())
        }
        // Which cluster it is, nobody knows; inside, it goes up by one.
        "ctaid" => Value::Label(space.partition(|t| along(launch.cluster, t / cta))),
        "smid" => Value::Label(space.by_cta),
        "nctaid"
        | "clusterid"
        | "nclusterid"
        | "gridid"
        | "nsmid"
        | "is_explicit_cluster"
        | "dynamic_smem_size"
        | "total_smem_size"
        | "aggr_smem_size" => Value::Label(space.uniform),
        _ if name.starts_with("envreg") || name.starts_with("reserved_smem") => {
            Value::Label(space.uniform)
        }
        _ => return mask(space, name),
    })
}

/// `%lanemask_…`
fn mask(space: &mut Space, name: &str) -> Option<Value> {
    let which = name.strip_prefix("lanemask_")?;
    let (bit, below): (u64, fn(u64) -> u64) = match which {
        "eq" => return Some(lanes(space, |bit| bit)),
        "lt" => (0, |bit| bit - 1),
        "le" => (0, |bit| bit | (bit - 1)),
        "gt" => (0xFFFF_FFFF, |bit| bit | (bit - 1)),
        "ge" => (0xFFFF_FFFF, |bit| bit - 1),
        _ => return None,
    };
    Some(lanes(space, |own| bit ^ below(own)))
}

fn lanes(space: &mut Space, of: impl Fn(u64) -> u64) -> Value {
    let cta = space.cta;
    space.value(|t| of(1 << (t % cta % WARP)))
}

#[cfg(test)]
mod tests {
    use super::super::space::Launch;
    use super::*;

    fn of(name: &str, thread: usize) -> Option<u64> {
        let mut space = Space::new(Launch { threads: [8, 12, 1], cluster: [2, 1, 1] });
        match value(&mut space, name)? {
            Value::Known(numbers) => Some(space.of(numbers)[thread]),
            _ => None,
        }
    }

    #[test]
    fn each_thread_knows_which_it_is() {
        assert_eq!(of("%tid.x", 96 + 13), Some(5));
        assert_eq!(of("%tid.y", 96 + 13), Some(1));
        assert_eq!(of("%ntid.y", 0), Some(12));
        assert_eq!(of("%laneid", 33), Some(1));
        assert_eq!(of("%cluster_ctarank", 100), Some(1));
        assert_eq!(of("%lanemask_lt", 3), Some(7));
        assert_eq!(of("%lanemask_ge", 31), Some(1 << 31));
        assert_eq!(of("%lanemask_gt", 31), Some(0));
        assert_eq!(of("%lanemask_le", 1), Some(3));
    }

    #[test]
    fn the_number_of_a_cta_differs_in_its_cluster_only() {
        let mut space = Space::new(Launch { threads: [32, 1, 1], cluster: [2, 1, 1] });
        assert_eq!(value(&mut space, "%ctaid.x"), Some(Value::Label(space.by_cta)));
        assert_eq!(value(&mut space, "%ctaid.y"), Some(Value::Label(space.uniform)));
        assert_eq!(value(&mut space, "%clock64"), None);
    }
}
