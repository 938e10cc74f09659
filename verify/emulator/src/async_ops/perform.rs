//! Agents when they act: the source is read, later the destination is written.

use super::*;

impl World<'_> {
    /// Bytes of shared memory that are about to be written.
    pub(crate) fn shared_write(
        &mut self,
        place: SharedPlace,
        bytes: u32,
        what: &'static str,
    ) -> Result<&mut [u8], Fault> {
        let cta = &mut self.ctas[place.cta as usize];
        if let Some(offset) = cta.barriers.overlapping(place.offset, bytes) {
            return Err(Fault::MbarrierBytes { what, address: SHARED_BASE + offset });
        }
        if !self.watches.is_empty() {
            self.events.push(Event::Change);
        }
        let at = place.offset as usize;
        let end = at + bytes as usize;
        let (rank, len) = (cta.rank, cta.shared.len());
        cta.shared.get_mut(at..end).ok_or(Fault::OutOfBounds {
            space: "shared",
            address: u64::from(rank << RANK_SHIFT | (SHARED_BASE + place.offset)),
            bytes: u64::from(bytes),
            detail: format!("the CTA has {len} bytes"),
        })
    }

    pub(crate) fn shared_read(&self, place: SharedPlace, bytes: u32) -> &[u8] {
        let shared = &self.ctas[place.cta as usize].shared;
        shared.get(place.offset as usize..(place.offset + bytes) as usize).unwrap_or(&[])
    }

    /// Whether an agent may take its next step now.
    pub(crate) fn eligible(&self, i: usize) -> bool {
        let agent = &self.agents[i];
        match &agent.action {
            Action::SmallArrive { .. } => !self.agents.iter().any(|a| {
                a.warp == agent.warp
                    && a.lane == agent.lane
                    && a.number < agent.number
                    && matches!(a.action, Action::Small { .. })
            }),
            Action::Tensor(tensor) => self.tensor_eligible(agent, tensor),
            Action::Wgmma(product) => self.product_eligible(agent, product),
            _ => true,
        }
    }

    /// Takes the next step of an agent; true if it is done. `warp` is the one that issued it.
    pub(crate) fn advance(&mut self, agent: &mut Agent, warp: &mut Warp) -> Result<bool, Fault> {
        let read = agent.read;
        match &mut agent.action {
            Action::In { source, bytes, data, .. } if !read => {
                *data = self.read_source(source, *bytes)?;
                agent.read = true;
                Ok(false)
            }
            Action::In { source, to, bytes, reduce, data } => {
                for (place, bar) in to.iter() {
                    let out = self.shared_write(*place, *bytes, "copy")?;
                    match source {
                        Source::Tile { pieces, .. } => {
                            let mut at = 0;
                            for piece in pieces.iter() {
                                let n = piece.bytes as usize;
                                out[piece.shared as usize..][..n]
                                    .copy_from_slice(&data[at..at + n]);
                                at += n;
                            }
                        }
                        _ => put(out, data, *reduce),
                    }
                    let bytes = i64::from(*bytes);
                    let phase = self.phase_of(*bar);
                    if let Some(detect) = &mut self.detect {
                        detect.complete_tx(*bar, phase, agent.cta);
                    }
                    self.with_barrier(*bar, |b| b.transact(-bytes))?;
                }
                Ok(true)
            }
            Action::Out { from, bytes, data, .. } if !read => {
                *data = self.shared_read(*from, *bytes).to_vec();
                agent.read = true;
                Ok(false)
            }
            Action::Out { target, reduce, mask, data, .. } if *mask & 0xFFFF != 0xFFFF => {
                let Source::Global(address) = *target else { return Ok(true) };
                for (i, byte) in data.iter().enumerate() {
                    if *mask >> (i % 16) & 1 == 1 {
                        self.write_out(address + i as u64, &[*byte], *reduce)?;
                    }
                }
                Ok(true)
            }
            Action::Out { target, reduce, data, .. } => {
                match target {
                    Source::Global(address) => self.write_out(*address, data, *reduce)?,
                    Source::Tile { pieces, .. } => {
                        for piece in pieces.iter() {
                            if let Some(address) = piece.global {
                                let part = &data[piece.shared as usize..][..piece.bytes as usize];
                                self.write_out(address, part, *reduce)?;
                            }
                        }
                    }
                    Source::Shared(_) | Source::Data(_) => {}
                }
                Ok(true)
            }
            Action::Small { from, copied, bytes, data, .. } if !read => {
                if *copied > 0 {
                    let at = self.memory.locate(*from, u64::from(*copied), false)?;
                    *data = self.memory.slice(at, *copied as usize).to_vec();
                }
                data.resize(*bytes as usize, 0);
                agent.read = true;
                Ok(false)
            }
            Action::Small { to, bytes, data, .. } => {
                self.shared_write(*to, *bytes, "copy")?.copy_from_slice(data);
                Ok(true)
            }
            Action::SmallArrive { bar } => {
                if let (Some(detect), Some(stamp)) = (&mut self.detect, agent.stamp) {
                    detect.complete_small(*bar, stamp);
                }
                self.with_barrier(*bar, |b| b.arrive(1))?;
                Ok(true)
            }
            Action::Tensor(_) => self.advance_tensor(agent, warp),
            Action::Wgmma(product) => self.advance_product(product),
        }
    }

    fn read_source(&mut self, source: &Source, bytes: u32) -> Result<Vec<u8>, Fault> {
        match source {
            Source::Global(address) => {
                let at = self.memory.locate(*address, u64::from(bytes), false)?;
                Ok(self.memory.slice(at, bytes as usize).to_vec())
            }
            Source::Shared(place) => Ok(self.shared_read(*place, bytes).to_vec()),
            Source::Data(data) => Ok(data.clone()),
            Source::Tile { map, pieces } => {
                let mut data = Vec::with_capacity(bytes as usize);
                for piece in pieces {
                    let from = data.len();
                    match piece.global {
                        Some(address) => {
                            let at = self.memory.locate(address, u64::from(piece.bytes), false)?;
                            data.extend_from_slice(self.memory.slice(at, piece.bytes as usize));
                            map.desc().data_type.convert_loaded(&mut data[from..]);
                        }
                        None => {
                            data.resize(from + piece.bytes as usize, 0);
                            map.fill(&mut data[from..]);
                        }
                    }
                }
                Ok(data)
            }
        }
    }

    fn write_out(
        &mut self,
        address: u64,
        data: &[u8],
        reduce: Option<(AtomFn, u8)>,
    ) -> Result<(), Fault> {
        let at = self.memory.locate(address, data.len() as u64, true)?;
        if !self.watches.is_empty() {
            self.events.push(Event::Change);
        }
        self.memory.mark(at, data.len());
        put(self.memory.slice_mut(at, data.len()), data, reduce);
        Ok(())
    }
}

/// Writes, or reduces elements of so many bytes.
fn put(out: &mut [u8], data: &[u8], reduce: Option<(AtomFn, u8)>) {
    let Some((f, width)) = reduce else { return out.copy_from_slice(data) };
    let size = usize::from(width);
    for (old, new) in out.chunks_exact_mut(size).zip(data.chunks_exact(size)) {
        let value = crate::access::atom(f, word(old), word(new), 0, width);
        old.copy_from_slice(&value.to_le_bytes()[..size]);
    }
}

fn word(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}
