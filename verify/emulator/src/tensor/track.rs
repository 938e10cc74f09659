//! What the detection is told of tcgen05 instructions.

use crate::detect::{self, Class, Detector};
use crate::error::Fault;
use crate::memory::SHARED_BASE;
use crate::tcgen05::{
    Access, InstructionDescriptor, METADATA_COLUMNS, Mma, OperandA, Scales, Shape, TensorAddress,
};
use crate::warp::{Path, Warp};
use crate::world::World;

impl World<'_> {
    /// Tells the detection of an access to tensor memory.
    pub(super) fn track_tensor(
        &mut self,
        path: &Path,
        lane: usize,
        cta: u32,
        rows: u8,
        columns: (u32, u32),
        how: (Class, bool, u16),
    ) {
        if let Some(detect) = &mut self.detect {
            detect.tensor(self.current, lane, cta, path.site(), rows, columns, how);
        }
    }

    /// Tells it of what a matrix instruction reads in shared memory.
    pub(super) fn track_shared(&mut self, path: &Path, lane: usize, cta: u32, runs: &[(u32, u32)]) {
        // Descriptors hold the lower bits of an address; a CTA's shared memory is smaller.
        let size = self.ctas[cta as usize].shared.len();
        let runs = runs.iter().filter_map(|&(address, bytes)| {
            let at = (address & 0x3_FFFF).wrapping_sub(SHARED_BASE) as usize;
            (at.saturating_add(bytes as usize) <= size).then_some((at, bytes as usize))
        });
        if let Some(detect) = &mut self.detect {
            detect.mma_source(self.current, lane, path.site(), cta, runs);
        }
    }

    pub(super) fn track_rectangle(
        &mut self,
        warp: &Warp,
        path: &Path,
        lane: usize,
        access: &Access,
        at: TensorAddress,
        (class, write): (Class, bool),
    ) {
        let rows = Detector::granules(at.lane, access.shape().lanes());
        let columns = access.columns();
        self.track_tensor(path, lane, warp.cta, rows, (at.column, columns), (class, write, 0));
        if let Shape::Lanes16x32bx2 { split } = access.shape() {
            let upper = (at.column + split, columns);
            self.track_tensor(path, lane, warp.cta, rows, upper, (class, write, 0));
        }
    }

    /// Tells the detection what a multiplication touches in one of its CTAs.
    pub(super) fn track_mma(
        &mut self,
        path: &Path,
        lane: usize,
        mma: &Mma,
        cta: u32,
    ) -> Result<(), Fault> {
        if self.detect.is_none() {
            return Ok(());
        }
        let idesc = &mma.idesc;
        let InstructionDescriptor { kind, a, b, a_major, b_major, m, n, .. } = *idesc;
        let local = idesc.local_rows();
        // In the units of a layout: two packed elements are one byte.
        let bytes = |depth: u32, bits: u32| if bits == 4 { depth / 2 } else { depth };
        let shared = |source| crate::tcgen05::MmaError::Shared { matrix: "A or B", source };
        let rows = |at: TensorAddress| {
            (0..local / 16).fold(0u8, |rows, i| {
                (0..idesc.splits()).fold(rows, |rows, split| {
                    let (first, _) = idesc.cell(16 * i, split * (n / idesc.splits()));
                    rows | Detector::granules(at.lane + first, 16)
                })
            })
        };
        let mut runs = Vec::new();
        if let OperandA::Shared(descriptor) = mma.a {
            let layout = descriptor.layout(a_major, a.bits()).map_err(shared)?;
            runs.extend(layout.runs(local, bytes(kind.depth(), a.bits())));
        }
        let layout = mma.b.layout(b_major, b.bits()).map_err(shared)?;
        let columns_of_b = n / idesc.form.ctas() + mma.zeros.shift();
        runs.extend(layout.runs(columns_of_b, bytes(idesc.depth(), b.bits())));
        self.track_shared(path, lane, cta, &runs);
        // The same accumulator in the same shape is a pipelined pair.
        let shape = mma.d.to_bits() ^ (m << 4 | n << 12);
        let pipeline = ((shape.wrapping_mul(0x9E37_79B9) >> 16) as u16).max(1);
        if let OperandA::Tensor(at) = mma.a {
            let columns = (at.column, 8);
            self.track_tensor(path, lane, cta, rows(at), columns, (Class::Mma, false, pipeline));
        }
        if idesc.sparse {
            let columns = (mma.metadata.column, METADATA_COLUMNS);
            let how = (Class::Mma, false, detect::IN_ORDER);
            self.track_tensor(path, lane, cta, u8::MAX, columns, how);
        }
        if let Some(Scales { a, b, .. }) = mma.scales {
            let how = (Class::Mma, false, detect::IN_ORDER);
            self.track_tensor(path, lane, cta, u8::MAX, (a.column, local.div_ceil(32)), how);
            self.track_tensor(path, lane, cta, u8::MAX, (b.column, n.div_ceil(32)), how);
        }
        let columns = (mma.d.column, n / idesc.splits());
        self.track_tensor(path, lane, cta, rows(mma.d), columns, (Class::Mma, true, pipeline));
        Ok(())
    }
}
