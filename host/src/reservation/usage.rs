//! What a fence's work does to the resource, and which of it an access waits for.

use std::fmt;

use bitflags::bitflags;

/// What a fence's work does to the resource, strictest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Usage {
    /// It moves or clears the memory: nobody may come before it is done.
    Kernel,
    /// It writes the contents.
    Write,
    /// It reads the contents.
    Read,
    /// It needs the memory to stay where it is, and takes no part in the order of reads and writes.
    Bookkeep,
}

impl Usage {
    /// All of them, strictest first.
    pub const ALL: [Self; 4] = [Self::Kernel, Self::Write, Self::Read, Self::Bookkeep];

    /// The usages that a query at this level sees: its own and the stricter ones.
    pub const fn query(self) -> Usages {
        // The bits up to and including this one.
        Usages::from_bits_truncate((2 << self as u8) - 1)
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Kernel => "KERNEL",
            Self::Write => "WRITE",
            Self::Read => "READ",
            Self::Bookkeep => "BOOKKEEP",
        }
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

bitflags! {
    /// A set of usages, as flags.
    ///
    /// A [`Usage`] where a set is wanted means its [`query`](Usage::query).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Usages: u8 {
        /// Only work that moves the memory.
        const KERNEL = 1 << Usage::Kernel as u8;
        /// Only work that writes.
        const WRITE = 1 << Usage::Write as u8;
        /// Only work that reads.
        const READ = 1 << Usage::Read as u8;
        /// Only work that keeps the memory in place.
        const BOOKKEEP = 1 << Usage::Bookkeep as u8;
    }
}

impl Usages {
    /// The set of this usage alone.
    pub const fn only(usage: Usage) -> Self {
        Self::from_bits_truncate(1 << usage as u8)
    }

    /// Whether `usage` is in the set.
    pub const fn has(self, usage: Usage) -> bool {
        self.contains(Self::only(usage))
    }

    /// The members, strictest first.
    pub fn usages(self) -> impl Iterator<Item = Usage> {
        Usage::ALL.into_iter().filter(move |usage| self.has(*usage))
    }
}

impl From<Usage> for Usages {
    fn from(level: Usage) -> Self {
        level.query()
    }
}

/// What somebody is about to do to the resource.
///
/// Ordered by strength: of two accesses of one operation to one resource, the greater covers both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// Neither look nor change, but rely on the memory staying where it is.
    Keep,
    /// Look at the contents.
    Read,
    /// Change the contents, or look and change.
    Write,
    /// Put new contents in the place of all the old ones, whatever those were.
    Overwrite,
    /// Move the memory, or free it.
    Move,
}

impl Access {
    /// The level at which this access waits.
    ///
    /// A reader waits for writers and a writer for readers, so each names the other's level.
    pub const fn waits_at(self) -> Usage {
        match self {
            Self::Keep => Usage::Kernel,
            Self::Read => Usage::Write,
            Self::Write | Self::Overwrite => Usage::Read,
            Self::Move => Usage::Bookkeep,
        }
    }

    /// The usage as which its own fence is added.
    pub const fn adds_as(self) -> Usage {
        match self {
            Self::Keep => Usage::Bookkeep,
            Self::Read => Usage::Read,
            Self::Write | Self::Overwrite => Usage::Write,
            Self::Move => Usage::Kernel,
        }
    }

    /// Whether the contents are new after it, so that they are unknown if it fails.
    pub const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::Overwrite | Self::Move)
    }

    /// Whether it needs the contents to be known: after a writer failed, they are not.
    pub const fn needs_contents(self) -> bool {
        matches!(self, Self::Read | Self::Write)
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Keep => "keep",
            Self::Read => "read",
            Self::Write => "write",
            Self::Overwrite => "overwrite",
            Self::Move => "move or free",
        })
    }
}
