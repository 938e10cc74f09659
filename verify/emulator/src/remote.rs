//! Stores that complete on an mbarrier, bulk zeros, edits of tensor maps, and the cancelling of
//! clusters that have not started.
//!
//! `st.async` and `red.async` are agents like bulk copies, but of the generic proxy. The other
//! instructions act at once.

use crate::access::What;
use crate::async_ops::{Action, SharedPlace, Source};
use crate::detect::FenceOp;
use crate::detect::Order;
use crate::error::Fault;
use crate::ir::*;
use crate::tensor_map::{MapField, TENSOR_MAP_BYTES, replace};
use crate::warp::{Path, Warp};
use crate::world::{Flow, Place, World, lanes_of};

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RemoteOp {
    /// `st.async`, or with a function `red.async`; `bytes` is the size of an element.
    Store {
        to: Addr,
        values: Box<[Src]>,
        bytes: u8,
        bar: Addr,
        reduce: Option<AtomFn>,
    },
    /// `st.bulk`: zeros.
    Zeros {
        to: (Addr, MemSpace),
        bytes: Src,
    },
    /// `tensormap.replace`
    Replace {
        map: (Addr, MemSpace),
        field: MapField,
        value: Src,
    },
    /// `tensormap.cp_fenceproxy`
    CopyMap {
        to: Addr,
        from: Addr,
        scope: Scope,
    },
    /// `clusterlaunchcontrol.try_cancel`, for one CTA or all of the cluster.
    TryCancel {
        to: Addr,
        bar: Addr,
        all: bool,
    },
    IsCanceled {
        d: Dst,
        response: u32,
    },
    /// The first CTA of the cancelled cluster, from this axis on.
    FirstCta {
        axis: usize,
        d: Box<[Dst]>,
        response: u32,
    },
}

/// Marks the response of a request that succeeded.
const CANCELED: u64 = 1 << 63;

impl World<'_> {
    pub(crate) fn remote(
        &mut self,
        warp: &mut Warp,
        path: &mut Path,
        mask: u32,
        op: &RemoteOp,
    ) -> Result<Flow, Fault> {
        let frame = path.frame;
        match op {
            RemoteOp::Store { to, values, bytes, bar, reduce } => {
                let at = self.addresses(warp, &frame, to, MemSpace::SharedCluster);
                let bars = self.addresses(warp, &frame, bar, MemSpace::SharedCluster);
                let values: Vec<Lanes64> =
                    values.iter().map(|v| self.fetch64(warp, &frame, *v)).collect();
                let size = usize::from(*bytes) * values.len();
                for lane in lanes_of(mask) {
                    let n = size as u64;
                    let space = MemSpace::SharedCluster;
                    let place = self.shared_place(warp, space, at[lane], n, n)?;
                    let (bar, address) = self.barrier_place(warp, space, bars[lane])?;
                    if bar.cta != place.cta {
                        return Err(Fault::Bulk {
                            what: "asynchronous store",
                            bytes: n,
                            problem: format!(
                                "its mbarrier at {address:#x} is in another CTA than its \
                                 destination"
                            ),
                        });
                    }
                    let data = values
                        .iter()
                        .flat_map(|v| v[lane].to_le_bytes()[..usize::from(*bytes)].to_vec())
                        .collect();
                    let phase = self.phase_of(bar);
                    if let Some(detect) = &mut self.detect {
                        let how = (path.site(), reduce.is_some());
                        detect.remote_store(
                            self.current,
                            lane,
                            how,
                            (place, n as u32),
                            (bar, phase),
                        );
                    }
                    let action = Action::In {
                        source: Source::Data(data),
                        to: vec![(place, bar)],
                        bytes: n as u32,
                        reduce: reduce.map(|f| (f, *bytes)),
                        data: Vec::new(),
                    };
                    self.issue(warp, path, lane, u32::MAX, action);
                }
            }
            RemoteOp::Zeros { to, bytes } => {
                let at = self.addresses(warp, &frame, &to.0, to.1);
                let sizes = self.fetch64(warp, &frame, *bytes);
                for lane in lanes_of(mask) {
                    let n = sizes[lane];
                    if n == 0 || !n.is_multiple_of(8) || n > 0x00FF_FFFF {
                        let problem = "the size must be a multiple of 8, and not 0".into();
                        return Err(Fault::Bulk { what: "st.bulk", bytes: n, problem });
                    }
                    let place = self.shared_place(warp, to.1, at[lane], n, 8)?;
                    self.shared_write(place, n as u32, "store")?.fill(0);
                    let words: Vec<u64> = (0..n).step_by(8).map(|i| at[lane] + i).collect();
                    for address in words {
                        self.touch(warp, path, lane, to.1, address, (8, What::UNKNOWN_STORE));
                    }
                }
                path.spin.rounds = 0;
            }
            RemoteOp::Replace { map, field, value } => {
                let at = self.addresses(warp, &frame, &map.0, map.1);
                let values = self.fetch64(warp, &frame, *value);
                for lane in lanes_of(mask) {
                    let n = TENSOR_MAP_BYTES;
                    let place = self.resolve(warp, lane, map.1, at[lane], n as u64, 64, true)?;
                    let mut bytes = [0; TENSOR_MAP_BYTES];
                    bytes.copy_from_slice(self.view(warp, place, n));
                    replace(&mut bytes, *field, values[lane]);
                    self.view_mut(warp, place, n)?.copy_from_slice(&bytes);
                    self.touch_map(warp, path, lane, map.1, at[lane], What::UNKNOWN_STORE);
                }
            }
            RemoteOp::CopyMap { to, from, scope } => {
                self.aligned(warp, path, mask)?;
                let lane = mask.trailing_zeros() as usize & 31;
                let to = self.addresses(warp, &frame, to, MemSpace::Global)[lane];
                let from = self.addresses(warp, &frame, from, MemSpace::Shared)[lane];
                let n = TENSOR_MAP_BYTES as u64;
                let source = self.resolve(warp, lane, MemSpace::Shared, from, n, 128, false)?;
                let target = self.resolve(warp, lane, MemSpace::Global, to, n, 128, true)?;
                let bytes = self.view(warp, source, n as usize).to_vec();
                self.view_mut(warp, target, n as usize)?.copy_from_slice(&bytes);
                self.touch_map(warp, path, lane, MemSpace::Shared, from, What::Load);
                self.touch_map(warp, path, lane, MemSpace::Global, to, What::UNKNOWN_STORE);
                if let Some(detect) = &mut self.detect {
                    let fence = FenceOp::Thread {
                        shared: false,
                        acquire: false,
                        release: true,
                        sequential: false,
                        scope: *scope,
                    };
                    detect.fence(self.current, mask, fence);
                    detect.fence(self.current, mask, FenceOp::MapRelease);
                }
            }
            RemoteOp::TryCancel { to, bar, all } => {
                let cluster = self.ctas[warp.cta as usize].cluster;
                if self.clusters[cluster as usize].refused {
                    let problem = "a request behind one that was seen to fail; ask only while the answers are clusters";
                    return Err(Fault::LaunchControl { problem });
                }
                let at = self.addresses(warp, &frame, to, MemSpace::Shared);
                let bars = self.addresses(warp, &frame, bar, MemSpace::Shared);
                for lane in lanes_of(mask) {
                    let space = MemSpace::Shared;
                    let place = self.shared_place(warp, space, at[lane], 16, 16)?;
                    let (bar, _) = self.barrier_place(warp, space, bars[lane])?;
                    let [low, high] = self.cancel();
                    let response = [low ^ self.opaque[0], high ^ self.opaque[1]];
                    let data = response.iter().flat_map(|word| word.to_le_bytes()).collect();
                    let ctas = match all {
                        true => self.clusters[cluster as usize].ctas.clone(),
                        false => vec![warp.cta],
                    };
                    let to: Vec<_> = ctas
                        .into_iter()
                        .map(|cta| (SharedPlace { cta, ..place }, SharedPlace { cta, ..bar }))
                        .collect();
                    let source = Source::Data(data);
                    self.track_in_copy(path, lane, &source, &to, 16);
                    let action =
                        Action::In { source, to, bytes: 16, reduce: None, data: Vec::new() };
                    self.issue(warp, path, lane, u32::MAX, action);
                }
            }
            RemoteOp::IsCanceled { d, response } => {
                let high = self.fetch64(warp, &frame, Src::R64(response + 1));
                let high = high.map(|word| word ^ self.opaque[1]);
                let bits = (0..LANES).fold(0, |m, i| m | u32::from(high[i] & CANCELED != 0) << i);
                if mask & !bits != 0 {
                    let cluster = self.ctas[warp.cta as usize].cluster;
                    self.clusters[cluster as usize].refused = true;
                }
                warp.regs.put_pred(&frame, *d, mask, bits);
            }
            RemoteOp::FirstCta { axis, d, response } => {
                let [low, high] = [0, 1].map(|i| {
                    let words = self.fetch64(warp, &frame, Src::R64(response + i));
                    words.map(|word| word ^ self.opaque[i as usize])
                });
                if lanes_of(mask).any(|lane| high[lane] & CANCELED == 0) {
                    let problem = "the first CTA of an answer that no cluster was cancelled; ask `is_canceled` first";
                    return Err(Fault::LaunchControl { problem });
                }
                for (i, d) in d.iter().enumerate() {
                    let value = std::array::from_fn(|lane| match axis + i {
                        0 => low[lane] as u32,
                        1 => (low[lane] >> 32) as u32,
                        2 => high[lane] as u32,
                        // The fourth element of the vector means nothing.
                        _ => self.opaque[0] as u32,
                    });
                    warp.regs.put32(&frame, *d, mask, &value);
                }
            }
        }
        path.pc += 1;
        Ok(Flow::Visible)
    }

    /// Takes the next cluster that has not started, if there is one: the index of its first CTA.
    fn cancel(&mut self) -> [u64; 2] {
        if self.next_cluster == self.cluster_count {
            return [0, 0];
        }
        let id = self.cluster_index(self.next_cluster);
        self.next_cluster += 1;
        let shape = self.launch.cluster_shape();
        let [x, y, z] = std::array::from_fn(|i| u64::from(id[i] * shape[i]));
        [x | y << 32, z | CANCELED]
    }

    fn touch_map(
        &mut self,
        warp: &Warp,
        path: &Path,
        lane: usize,
        space: MemSpace,
        address: u64,
        what: What,
    ) {
        for i in (0..TENSOR_MAP_BYTES as u64).step_by(8) {
            self.touch(warp, path, lane, space, address + i, (8, what));
        }
    }

    /// Tells the detection of an ordinary access of one lane.
    fn touch(
        &mut self,
        warp: &Warp,
        path: &Path,
        lane: usize,
        space: MemSpace,
        address: u64,
        (bytes, what): (u8, What),
    ) {
        if self.detect.is_none() {
            if let (What::Store(_), Ok(Place::Global(at))) =
                (what, self.place(warp, lane, (space, address), (1, 1), false))
            {
                self.memory.mark(at, bytes.into());
            }
            return;
        }
        let access = Access {
            space,
            bytes,
            signed: false,
            strong: false,
            order: Order::Weak,
            scope: Scope::Gpu,
            constant: false,
            addr: Addr { base: Src::Imm(address), offset: 0 },
        };
        let at = [address; LANES];
        self.track(warp, path, 1 << lane, &access, None, (&at, bytes.into()), what);
    }
}
