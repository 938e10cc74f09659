//! Products of a warpgroup, in its registers: `wgmma` (PTX ISA 9.7.15).
//!
//! A product belongs to the four warps of a warpgroup. It is *gathered* as they issue it, each with
//! its 16 rows of A and of the accumulator, and becomes an agent when the last has: it then reads A
//! and B from shared memory, and later updates the accumulators. Products of one accumulator
//! follow each other; others are in no order. A warp waits for groups of its warpgroup, so that
//! whichever of the four waits knows what all of them have read.
//!
//! Sums are those of [`crate::tcgen05::mma`]: f32 additions in the order of k, integers exact.
//! Sparse products and single-bit ones are left out.

mod loan;

use crate::async_ops::{Action, Agent};
use crate::error::Fault;
use crate::fragment::{self, Packing};
use crate::ir::*;
use crate::memory::SHARED_BASE;
use crate::tcgen05::element::{f16_to_f32, f32_to_f16};
use crate::tcgen05::mma::{COLUMNS, Number, ROWS, multiply};
use crate::tcgen05::{
    AccumulatorType, DescriptorError, ElementType, FromElement, Major, MmaError, SharedDescriptor,
    SharedWindow,
};
use crate::warp::{Path, Wait, Warp};
use crate::world::{Event, Flow, World};
use loan::Held;
pub(crate) use loan::{Loans, Misuse};

/// Rows of a product, and warps that share them.
const M: u32 = 64;
const WARPS: u32 = 4;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum WgmmaOp {
    Fence,
    Commit,
    Wait { groups: u32 },
    Mma(Box<Form>),
}

/// Where A is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Left {
    Shared(Src),
    Registers([u32; 4]),
}

/// What a `wgmma.mma_async` says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Form {
    pub n: u32,
    pub a_type: ElementType,
    pub b_type: ElementType,
    pub d_type: AccumulatorType,
    pub d: Box<[u32]>,
    pub a: Left,
    pub b: Src,
    pub accumulate: Src,
    pub negate: [bool; 2],
    pub major: [Major; 2],
    pub saturate: bool,
}

impl Form {
    /// Elements of a row of A.
    fn depth(&self) -> u32 {
        256 / self.a_type.bits()
    }

    pub fn packing(&self) -> Packing {
        if self.d_type == AccumulatorType::F16 { Packing::Halves } else { Packing::Word }
    }

    /// What products of one accumulator have in common.
    fn shape(&self) -> u32 {
        self.n << 8 | (self.d_type as u32) << 4 | self.depth().trailing_zeros()
    }
}

/// A product that is being issued, or in flight.
#[derive(Clone, Debug)]
pub(crate) struct Product {
    pub cta: u32,
    pub warpgroup: u32,
    pub group: u32,
    /// Its number among the products of the warpgroup.
    sequence: u64,
    site: (u32, u32),
    form: Box<Form>,
    a: Option<SharedDescriptor>,
    b: SharedDescriptor,
    accumulate: bool,
    /// The warps that have issued it.
    issued: u32,
    /// Rows of A from registers.
    rows: Vec<u8>,
    /// The accumulator of each warp.
    accumulators: [u64; WARPS as usize],
    operands: Option<Operands>,
}

#[derive(Clone, Debug)]
enum Operands {
    Float(Vec<f32>, Vec<f32>),
    Integer(Vec<i32>, Vec<i32>),
}

impl Product {
    /// What two warps have to agree on.
    fn same(&self, other: &Product) -> bool {
        (self.site, self.group, self.a, self.b, self.accumulate)
            == (other.site, other.group, other.a, other.b, other.accumulate)
    }
}

fn wrong(problem: impl Into<String>) -> Fault {
    Fault::Wgmma { problem: problem.into() }
}

fn matrix(name: &'static str) -> impl Fn(DescriptorError) -> Fault {
    move |source| Fault::Mma(MmaError::Shared { matrix: name, source })
}

impl World<'_> {
    pub(crate) fn wgmma(
        &mut self,
        warp: &mut Warp,
        path: &mut Path,
        mask: u32,
        op: &WgmmaOp,
    ) -> Result<Flow, Fault> {
        self.aligned(warp, path, mask)?;
        let whole = (warp.index / WARPS + 1) * WARPS * LANES as u32;
        if mask != u32::MAX || whole > self.ctas[warp.cta as usize].threads {
            return Err(wrong(
                "the CTA has no whole warpgroup here; four whole warps issue it together (rule E4)",
            ));
        }
        match op {
            WgmmaOp::Fence => warp.loans.fence(),
            WgmmaOp::Commit => warp.loans.groups += 1,
            WgmmaOp::Wait { groups } => {
                let (cta, warpgroup) = (warp.cta, warp.index / WARPS);
                // Groups from here on may stay in flight.
                let open = warp.loans.groups.saturating_sub(*groups);
                let waits =
                    |p: &Product| (p.cta, p.warpgroup) == (cta, warpgroup) && p.group < open;
                if self.gathering.iter().any(waits) {
                    path.wait = Some(Wait::Agents(
                        "its wgmma groups, a product of which not every warp of the warpgroup has \
                         issued (rule E4)",
                    ));
                    return Ok(Flow::Blocked);
                }
                let flying = |a: &Agent| matches!(&a.action, Action::Wgmma(p) if waits(p));
                if self.agents.iter().any(flying) {
                    path.wait = Some(Wait::Agents("its wgmma groups"));
                    return Ok(Flow::Blocked);
                }
                self.settle(warp, open);
                if let Some(detect) = &mut self.detect {
                    let first = (warpgroup * WARPS) as usize;
                    let all = &self.ctas[cta as usize].warps[first..first + WARPS as usize];
                    detect.wgmma_waited(self.current, all, open);
                }
            }
            WgmmaOp::Mma(form) => self.issue_product(warp, path, form)?,
        }
        path.pc += 1;
        Ok(Flow::Visible)
    }

    /// Brings accumulators back into their registers.
    fn settle(&mut self, warp: &mut Warp, open: u32) {
        let (back, done) = warp.loans.settle(open);
        for (register, (id, component)) in back {
            let value = self.accumulators.get(&id).and_then(|a| a.get(component as usize));
            if let (Some(value), Some(to)) = (value, warp.regs.r32.get_mut(register as usize)) {
                *to = *value;
            }
        }
        for id in done {
            self.accumulators.remove(&id);
        }
    }

    fn issue_product(&mut self, warp: &mut Warp, path: &Path, form: &Form) -> Result<(), Fault> {
        let frame = path.frame;
        let uniform = |w: &Self, src: Src, what: &str| {
            let value = w.fetch64(warp, &frame, src);
            match value.iter().all(|v| *v == value[0]) {
                true => Ok(value[0]),
                false => Err(wrong(format!("its lanes give different {what}"))),
            }
        };
        let a = match form.a {
            Left::Shared(src) => {
                Some(SharedDescriptor::decode_wgmma(uniform(self, src, "descriptors of A")?)?)
            }
            Left::Registers(_) => None,
        };
        let b = SharedDescriptor::decode_wgmma(uniform(self, form.b, "descriptors of B")?)?;
        let accumulate = match self.fetch_pred(warp, &frame, form.accumulate) {
            0 => false,
            u32::MAX => true,
            _ => return Err(wrong("its lanes give different values of scale-d")),
        };
        let quarter = (warp.index % WARPS) as usize;
        self.judge_registers(warp, path, form);
        self.track_product(warp, path, form, (a, b))?;
        let mut rows = vec![0; fragment::ROWS * fragment::ROW_BYTES * WARPS as usize];
        if let Left::Registers(registers) = form.a {
            let values = registers.map(|r| warp.regs.r32[(frame.r32 + r) as usize]);
            let part = fragment::rows_of_a(&values);
            let at = quarter * fragment::ROWS * fragment::ROW_BYTES;
            rows[at..][..part.as_flattened().len()].copy_from_slice(part.as_flattened());
            for register in registers {
                let loan = (warp.loans.groups, path.site());
                warp.loans.sources.insert(frame.r32 + register, loan);
            }
        }
        let mut accumulators = [0; WARPS as usize];
        accumulators[quarter] = self.lend(warp, path, form);
        let mut product = Product {
            cta: warp.cta,
            warpgroup: warp.index / WARPS,
            group: warp.loans.groups,
            sequence: warp.loans.issued,
            site: (frame.func, path.pc),
            form: Box::new(form.clone()),
            a,
            b,
            accumulate,
            issued: 1 << quarter,
            rows,
            accumulators,
            operands: None,
        };
        warp.loans.issued += 1;
        let gathered = self.gathering.iter().position(|p| {
            (p.cta, p.warpgroup, p.sequence) == (product.cta, product.warpgroup, product.sequence)
        });
        if let Some(i) = gathered {
            let before = self.gathering.swap_remove(i);
            if !before.same(&product) {
                return Err(wrong(
                    "the warps of the warpgroup issue different products, or commit them \
                     differently (rule E4)",
                ));
            }
            product.issued |= before.issued;
            for (mine, theirs) in product.rows.iter_mut().zip(&before.rows) {
                *mine |= theirs;
            }
            for (mine, theirs) in product.accumulators.iter_mut().zip(before.accumulators) {
                *mine |= theirs;
            }
        }
        if product.issued.count_ones() == WARPS {
            let action = Action::Wgmma(Box::new(product));
            self.issue(warp, path, 0, u32::MAX, action);
            self.wake_warpgroup(warp.cta, warp.index / WARPS);
        } else {
            self.gathering.push(product);
        }
        Ok(())
    }

    fn wake_warpgroup(&mut self, cta: u32, warpgroup: u32) {
        let warps = &self.ctas[cta as usize].warps;
        let first = (warpgroup * WARPS) as usize;
        let these = warps.iter().skip(first).take(WARPS as usize);
        self.events.extend(these.map(|&w| Event::Agent(w)));
    }

    /// The accumulator that the registers of D become, or already are.
    fn lend(&mut self, warp: &mut Warp, path: &Path, form: &Form) -> u64 {
        let frame = path.frame;
        let (group, shape, site) = (warp.loans.groups, form.shape(), path.site());
        let register = |i: usize| frame.r32 + form.d[i];
        let loans = &warp.loans.results;
        if let Some(&(id, _)) = loans.get(&register(0)) {
            let all = (0..form.d.len()).all(|i| loans.get(&register(i)) == Some(&(id, i as u32)));
            let held = warp.loans.held.iter_mut().find(|h| h.id == id && h.shape == shape);
            if let (true, Some(held)) = (all, held) {
                *held = Held { id, group, shape, site };
                return id;
            }
        }
        self.issued += 1;
        let id = self.issued;
        let values = form.d.iter().map(|&d| warp.regs.r32[(frame.r32 + d) as usize]).collect();
        self.accumulators.insert(id, values);
        warp.loans.held.push(Held { id, group, shape, site });
        for i in 0..form.d.len() {
            warp.loans.results.insert(register(i), (id, i as u32));
            loan::poison(warp, register(i));
        }
        id
    }

    /// Tells the detection of registers that no fence hands over.
    fn judge_registers(&mut self, warp: &Warp, path: &Path, form: &Form) {
        let Some(detect) = &mut self.detect else { return };
        let (w, site) = (self.current, path.site());
        if !warp.loans.fenced {
            detect.wgmma_unfenced(w, site, None);
            return;
        }
        let frame = path.frame;
        let sources = match form.a {
            Left::Registers(registers) => registers.to_vec(),
            Left::Shared(_) => Vec::new(),
        };
        let loans = &warp.loans;
        let unfenced = form.d.iter().chain(&sources).find_map(|&r| {
            let register = frame.r32 + r;
            let other_shape = || {
                let (id, _) = loans.results.get(&register)?;
                let held = loans.held.iter().find(|h| h.id == *id)?;
                (held.shape != form.shape()).then_some(held.site)
            };
            loans.unfenced(register).or_else(other_shape)
        });
        if unfenced.is_some() {
            detect.wgmma_unfenced(w, site, unfenced);
        }
    }

    /// Tells the detection what a warp's part of a product reads.
    fn track_product(
        &mut self,
        warp: &Warp,
        path: &Path,
        form: &Form,
        (a, b): (Option<SharedDescriptor>, SharedDescriptor),
    ) -> Result<(), Fault> {
        let rows = fragment::ROWS as u32;
        let first = warp.index % WARPS * rows;
        let mut runs = Vec::new();
        if let Some(a) = a {
            let layout = a.layout(form.major[0], form.a_type.bits()).map_err(matrix("A"))?;
            runs.extend(layout.runs_from(first, rows, form.depth()));
        }
        let layout = b.layout(form.major[1], form.b_type.bits()).map_err(matrix("B"))?;
        if self.detect.is_none() {
            return Ok(());
        }
        runs.extend(layout.runs(form.n, form.depth()));
        let cta = &self.ctas[warp.cta as usize];
        let size = cta.shared.len();
        let runs = runs.iter().filter_map(|&(address, bytes)| {
            let at = (address & 0x3_FFFF).wrapping_sub(SHARED_BASE) as usize;
            (at.saturating_add(bytes as usize) <= size).then_some((at, bytes as usize))
        });
        if let Some(detect) = &mut self.detect {
            let how = (path.site(), warp.loans.groups);
            detect.wgmma_source(self.current, warp.cta, how, runs);
        }
        Ok(())
    }

    /// An instruction that is no part of wgmma uses registers.
    pub(crate) fn touch_registers(&mut self, warp: &mut Warp, path: &Path) -> Result<(), Fault> {
        let func = &self.program.functions[path.frame.func as usize];
        let touched = &func.touched[path.pc as usize];
        if !warp.fills.is_empty() {
            let at = |&(slot, _): &(u32, bool)| warp.fills.get(&(path.frame.r32 + slot)).copied();
            if let Some(load) = touched.iter().find_map(at) {
                match &mut self.detect {
                    Some(detect) if detect.strict() => {
                        detect.used_while_loaded(self.current, path.site(), load);
                    }
                    // The assembler sees that a register depends on the load, and has the thread wait.
                    _ => self.finish_tensor_accesses(warp, true)?,
                }
            }
        }
        if let (Some((misuse, product)), Some(detect)) =
            (warp.loans.touch(&path.frame, touched, path.site()), &mut self.detect)
        {
            detect.wgmma_misuse(self.current, path.site(), product, misuse);
        }
        Ok(())
    }

    // ---- performing ----

    /// Whether no earlier product of the same accumulators is in flight.
    pub(crate) fn product_eligible(&self, agent: &Agent, product: &Product) -> bool {
        !self.agents.iter().any(|a| {
            a.number < agent.number
                && matches!(&a.action, Action::Wgmma(p)
                    if p.accumulators.iter().zip(product.accumulators).any(|(x, y)| *x == y))
        })
    }

    /// Takes a step of a product; true if it was the last.
    pub(crate) fn advance_product(&mut self, product: &mut Product) -> Result<bool, Fault> {
        let operands = match product.operands.take() {
            Some(operands) => operands,
            None => {
                let operands = self.read_operands(product)?;
                if self.rng.one_in(4) {
                    product.operands = Some(operands);
                    return Ok(false);
                }
                operands
            }
        };
        let form = &product.form;
        let (n, packing) = (form.n as usize, form.packing());
        for (quarter, id) in product.accumulators.iter().enumerate() {
            let Some(registers) = self.accumulators.get_mut(id) else { continue };
            let old = if product.accumulate {
                packing.matrix(registers, n)
            } else {
                vec![0; fragment::ROWS * n]
            };
            let new = form.update(&operands, quarter, &old);
            *registers = packing.registers_of(&new, n);
        }
        self.wake_warpgroup(product.cta, product.warpgroup);
        Ok(true)
    }

    fn read_operands(&self, product: &Product) -> Result<Operands, Fault> {
        let form = &product.form;
        let window = SharedWindow::new(SHARED_BASE, &self.ctas[product.cta as usize].shared);
        Ok(if form.d_type == AccumulatorType::S32 {
            let (a, b) = form.read::<i32>(product, &window)?;
            Operands::Integer(a, b)
        } else {
            let (mut a, mut b) = form.read::<f32>(product, &window)?;
            for (values, negate) in [(&mut a, form.negate[0]), (&mut b, form.negate[1])] {
                if negate {
                    values.iter_mut().for_each(|v| *v = -*v);
                }
            }
            Operands::Float(a, b)
        })
    }
}

impl Form {
    /// A and B in panels.
    fn read<T: FromElement>(
        &self,
        product: &Product,
        window: &SharedWindow<'_>,
    ) -> Result<(Vec<T>, Vec<T>), Fault> {
        let depth = self.depth();
        let a = match product.a {
            Some(a) => a
                .layout(self.major[0], self.a_type.bits())
                .and_then(|layout| layout.gather::<T, ROWS>(self.a_type, M, depth, window))
                .map_err(matrix("A"))?,
            None => {
                let decode = T::decoder(self.a_type)
                    .ok_or(DescriptorError::Unsupported { element: self.a_type })?;
                panels_of_rows(&product.rows, decode, depth as usize)
            }
        };
        let b = product
            .b
            .layout(self.major[1], self.b_type.bits())
            .and_then(|layout| layout.gather::<T, COLUMNS>(self.b_type, self.n, depth, window))
            .map_err(matrix("B"))?;
        Ok((a, b))
    }

    /// The new values of a warp's rows of D, as bits.
    fn update(&self, operands: &Operands, quarter: usize, old: &[u32]) -> Vec<u32> {
        match operands {
            Operands::Float(a, b) if self.d_type == AccumulatorType::F16 => {
                let start = old.iter().map(|&v| f16_to_f32(v as u16)).collect();
                let sums = self.sums(a, b, quarter, start);
                sums.into_iter().map(|v| f32_to_f16(v).into()).collect()
            }
            Operands::Float(a, b) => {
                let start = old.iter().map(|&v| f32::from_bits(v)).collect();
                self.sums(a, b, quarter, start).into_iter().map(f32::to_bits).collect()
            }
            Operands::Integer(a, b) => {
                let sums = self.sums(a, b, quarter, vec![0; old.len()]);
                let add = |(&old, sum): (&u32, i32)| {
                    let old = old as i32;
                    let new =
                        if self.saturate { old.saturating_add(sum) } else { old.wrapping_add(sum) };
                    new as u32
                };
                old.iter().zip(sums).map(add).collect()
            }
        }
    }

    fn sums<T: Number>(&self, a: &[T], b: &[T], quarter: usize, mut d: Vec<T>) -> Vec<T> {
        let (depth, n) = (self.depth() as usize, self.n as usize);
        let panel = ROWS * depth;
        let panels = fragment::ROWS / ROWS;
        for (i, a) in a.chunks_exact(panel).skip(quarter * panels).take(panels).enumerate() {
            for (j, b) in b.chunks_exact(COLUMNS * depth).enumerate() {
                let at = |row: usize| (i * ROWS + row) * n + j * COLUMNS;
                let mut sums: [[T; COLUMNS]; ROWS] =
                    std::array::from_fn(|row| std::array::from_fn(|c| d[at(row) + c]));
                multiply(a, b, &mut sums);
                for (row, sums) in sums.iter().enumerate() {
                    d[at(row)..][..COLUMNS].copy_from_slice(sums);
                }
            }
        }
        d
    }
}

/// Rows of 32 bytes in panels of `ROWS` rows.
fn panels_of_rows<T: FromElement>(
    rows: &[u8],
    decode: fn([u8; 16]) -> [T; 16],
    depth: usize,
) -> Vec<T> {
    let mut out = vec![T::default(); rows.len() / fragment::ROW_BYTES * depth];
    for (row, bytes) in rows.chunks_exact(fragment::ROW_BYTES).enumerate() {
        for (half, bytes) in bytes.chunks_exact(16).enumerate() {
            let values = decode(std::array::from_fn(|i| bytes[i]));
            for (i, &value) in values[..depth / 2].iter().enumerate() {
                let k = half * depth / 2 + i;
                out[(row / ROWS * depth + k) * ROWS + row % ROWS] = value;
            }
        }
    }
    out
}
