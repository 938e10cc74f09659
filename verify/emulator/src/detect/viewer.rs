//! Whether what a cell remembers is ordered before a new access.
//!
//! One viewer judges all cells that an instruction touches, and remembers what it has found out: mostly they were last
//! touched by the same few warps.

use super::clock::{SUBS, Stamp};
use super::shadow::{Class, Conflict, Earlier, Entry, Kinds};
use super::strand::{GLOBAL, SHARED, Strand};
use super::{Home, IN_ORDER, Touch, Unit};
use crate::ir::Scope;

/// The third space, beside those of [`strand`](super::strand).
pub(super) const TENSOR: usize = 2;

/// What an access is compared with.
pub(super) struct Viewer<'a> {
    strand: &'a Strand,
    units: &'a [Unit],
    kinds: &'a Kinds,
    unit: u32,
    pub lane: u32,
    home: Home,
    space: usize,
    /// Whose shared memory it is, by the number of the CTA.
    memory: Option<u32>,
    touch: Touch,
    /// What tells pipelined multiplications from others.
    pub pipeline: u16,
    /// Units of which everything up to an epoch is known to be ordered, at their number modulo [`KNOWN`].
    known: [(u32, u32); KNOWN],
    /// The last access of another unit that was found to be ordered.
    granted: Entry,
    /// The last access that was not known.
    unknown: (Stamp, Class),
    /// A set of accesses that are all known to be ordered.
    cleared: u32,
    /// Two lanes that read the same stand for the warp: all its lanes make the access, and know the same.
    pub merges: bool,
    /// What was found, each access that it conflicts with once, with the lane.
    found: Vec<(Conflict, usize)>,
}

/// Conflicts of one instruction that are told apart: each thread of a CTA may be in one.
const FOUND: usize = 2048;

/// Units that a [`Viewer`] remembers.
const KNOWN: usize = 16;

impl<'a> Viewer<'a> {
    pub fn new(
        (strand, units, kinds): (&'a Strand, &'a [Unit], &'a Kinds),
        (unit, lane, home): (u32, u32, Home),
        (space, memory, touch): (usize, Option<u32>, Touch),
    ) -> Viewer<'a> {
        let known = [(u32::MAX, 0); KNOWN];
        let unknown = (Stamp::default(), Class::Thread);
        let (pipeline, cleared, merges) = (0, 0, false);
        Viewer {
            strand,
            units,
            kinds,
            unit,
            lane,
            home,
            space,
            memory,
            touch,
            pipeline,
            known,
            granted: Entry::default(),
            unknown,
            cleared,
            merges,
            found: Vec::new(),
        }
    }

    /// Remembers a conflict of the present lane. Which cell it is in makes no difference to what is said of it.
    #[inline(never)]
    pub fn add(&mut self, conflict: Conflict) {
        let same = |(known, _): &(Conflict, usize)| {
            known.wrote == conflict.wrote
                && known.before.stamp == conflict.before.stamp
                && known.before.number() == conflict.before.number()
        };
        // The last one first: a run of cells mostly has one conflict.
        if self.found.len() < FOUND && !self.found.iter().rev().any(same) {
            self.found.push((conflict, self.lane as usize));
        }
    }

    /// All of them.
    pub fn into_found(self) -> Vec<(Conflict, usize)> {
        self.found
    }

    fn judge(&self, before: &Entry, class: Class) -> bool {
        let stamp = before.stamp;
        let now = &self.strand.now;
        match (self.touch.class, class) {
            // Constant data is not written.
            (Class::Constant, _) | (_, Class::Constant) => false,
            // The proxy of tensor maps after generic: released to it, and acquired.
            (Class::Map, Class::Thread) => self.strand.maps.covers(stamp),
            (Class::Thread | Class::Small | Class::Alloc, _) => {
                self.follows_as_generic(before, class)
            }
            // The text leaves open which proxy stores it: it has to be right in both.
            (Class::Store, _) => {
                self.follows_as_generic(before, class) && self.follows_as_async(before, class)
            }
            // Tensor memory: complete, and behind the fence; pipelined pairs need neither.
            (Class::Mma | Class::Ld | Class::St, Class::Mma | Class::Ld | Class::St)
                if self.space == TENSOR =>
            {
                now.d.covers(stamp) && self.strand.a.covers(stamp) || self.pipelined(before, class)
            }
            (Class::Dealloc, _) => now.d.covers(stamp) || now.c.covers(stamp),
            (_, Class::Dealloc) => true,
            _ => self.follows_as_async(before, class),
        }
    }

    fn is_own(&self, stamp: Stamp) -> bool {
        stamp.id == self.unit * SUBS + 1 + self.lane
    }

    /// Whether an access through the generic proxy may come now: causality or program order; and completion of what was
    /// asynchronous implies the proxy fence.
    fn follows_as_generic(&self, before: &Entry, class: Class) -> bool {
        let is_in_order =
            matches!(class, Class::Thread | Class::Alloc) && self.is_own(before.stamp);
        is_in_order || self.strand.now.knows(before.stamp, self.memory)
    }

    /// Whether an access through the async proxy may come now.
    fn follows_as_async(&self, before: &Entry, class: Class) -> bool {
        let (stamp, own) = (before.stamp, self.is_own(before.stamp));
        let now = &self.strand.now;
        match class {
            // After generic: causality through a proxy fence.
            Class::Thread | Class::Small | Class::Store | Class::Alloc => match self.memory {
                Some(memory) => self.follows_ordinary(before, own, memory),
                None => self.strand.is_fenced(stamp, own, GLOBAL),
            },
            // After asynchronous: observed completion, and of another CTA's a proxy fence in this one. A copy over a copy needs
            // its completion only, however that became known.
            _ => {
                let is_copies = (self.touch.class, class) == (Class::In, Class::In);
                let is_known = now.knows(stamp, self.memory)
                    || is_copies && now.d.covers(stamp)
                    || self.is_known_to_async(stamp);
                is_known && self.is_fenced_here(stamp, is_copies)
            }
        }
    }

    /// Whether an asynchronous access may follow an ordinary one to the shared memory of a CTA: causality through a
    /// proxy fence.
    fn follows_ordinary(&self, before: &Entry, own: bool, memory: u32) -> bool {
        let stamp = before.stamp;
        let now = &self.strand.now;
        let read = || !self.kinds.of(before).write;
        let halves = now.halves.as_deref();
        let is_ordered = own
            || now.knows(stamp, self.memory)
            || halves.is_some_and(|halves| halves.order(memory, stamp, read()));
        if !is_ordered {
            return false;
        }
        if halves.is_some_and(|halves| halves.lead(self.home.cta, memory, stamp, read())) {
            return true;
        }
        let of = self.units[(stamp.id / SUBS) as usize].home.cta;
        self.strand.is_fenced(stamp, own, SHARED)
            && match of == self.home.cta {
                _ if before.class() != Class::Thread => true,
                // A fence of one CTA's memory does not reach another's.
                true => memory == of || now.sides.reach(memory, stamp),
                // Of an access by another CTA: whether both CTAs have fenced.
                false => {
                    (now.sides.covers(of, memory, stamp)
                        || halves.is_some_and(|halves| halves.is_released(memory, stamp, read())))
                        && now.sides.covers(self.home.cta, memory, stamp)
                }
            }
    }

    /// Whether causality orders an access before those of the async proxy at least.
    fn is_known_to_async(&self, stamp: Stamp) -> bool {
        let halves = self.strand.now.halves.as_deref().zip(self.memory);
        halves.is_some_and(|(halves, memory)| halves.before.covers(memory, stamp))
    }

    /// Whether an asynchronous access to shared memory was issued by this CTA, or comes before a proxy fence in it.
    fn is_fenced_here(&self, stamp: Stamp, is_copies: bool) -> bool {
        let Some(memory) = self.memory else { return true };
        let now = &self.strand.now;
        let here = self.home.cta;
        self.units[(stamp.id / SUBS) as usize].home.cta == here
            || now.halves.as_deref().is_some_and(|halves| {
                halves.end(here, memory, stamp) || is_copies && halves.is_done(here, stamp)
            })
            || now.sides.covers(here, memory, stamp)
    }

    /// Multiplications of one thread into one accumulator of one shape.
    fn pipelined(&self, before: &Entry, class: Class) -> bool {
        let of = &self.units[(before.stamp.id / SUBS) as usize];
        let tag = self.kinds.of(before).tag;
        class == Class::Mma
            && self.touch.class == Class::Mma
            && of.home == self.home
            && (of.warp, of.lane) == (self.units[self.unit as usize].warp, Some(self.lane))
            && (tag == self.pipeline || tag == IN_ORDER || self.pipeline == IN_ORDER)
    }

    /// Whether an access of which nothing is remembered is before the new one.
    #[inline(never)]
    fn find_out(&mut self, before: &Entry) -> bool {
        let Stamp { id, epoch } = before.stamp;
        let class = before.class();
        // Whatever lane asks, if it is another warp's.
        let is_foreign = self.touch.class == Class::Thread && id / SUBS != self.unit;
        let is_unknown = is_foreign && self.unknown == (before.stamp, class);
        if !is_unknown && self.judge(before, class) {
            // What is known of a unit as a whole is known whichever lane asks, of whatever class it is.
            let generic = matches!(
                self.touch.class,
                Class::Thread | Class::Small | Class::Store | Class::Alloc
            );
            let whole = if generic { self.strand.now.c.get(id & !(SUBS - 1)) } else { 0 };
            if whole >= epoch {
                self.known[(id / SUBS) as usize % KNOWN] = (id / SUBS, whole);
            } else if id / SUBS != self.unit {
                self.granted = *before;
            }
            return true;
        }
        self.unknown = (before.stamp, class);
        // Strong accesses that include each other order themselves; the next one may not.
        let Some((mine, size)) = self.touch.strong.filter(|_| before.is_strong()) else {
            return false;
        };
        let other = self.units[(id / SUBS) as usize].home;
        self.kinds.of(before).strong.is_some_and(|(scope, bytes)| {
            self.home.includes(mine, other) && other.includes(scope, self.home) && bytes == size
        })
    }
}

impl Viewer<'_> {
    /// Whether a strong access races with all with which one before it does.
    #[inline(never)]
    fn is_as_exposed(&self, (scope, bytes): (Scope, u32), before: &Entry) -> bool {
        let of = |(old, size): (Scope, u32)| old >= scope && size == bytes;
        before.class() != Class::Thread || self.kinds.of(before).strong.is_some_and(of)
    }
}

impl Earlier for Viewer<'_> {
    #[inline(always)]
    fn ordered(&mut self, before: &Entry) -> bool {
        self.known(before) || before.is_part_of(self.granted) || self.find_out(before)
    }

    #[inline(always)]
    fn known(&self, before: &Entry) -> bool {
        let (unit, epoch) = self.known[(before.stamp.id / SUBS) as usize % KNOWN];
        unit == before.stamp.id / SUBS && before.stamp.epoch <= epoch && !before.is_constant()
    }

    #[inline(always)]
    fn merges(&self) -> bool {
        self.merges
    }

    #[inline(always)]
    fn cleared(&mut self) -> &mut u32 {
        &mut self.cleared
    }

    fn further(&mut self, conflict: Conflict) {
        self.add(conflict);
    }

    #[inline(always)]
    fn supersedes(&self, before: &Entry) -> bool {
        self.touch.strong.is_none_or(|strong| self.is_as_exposed(strong, before))
    }
}
