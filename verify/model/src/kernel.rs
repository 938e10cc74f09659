//! Compiled kernels: the memory operations of each thread, from the PTX that the compiler emitted.
//!
//! A thread is an entry with arguments and a place. Its parameters are numbers or locations; the
//! address arithmetic in between is executed like all arithmetic, because registers may hold the
//! addresses of locations ([`Program::address`]), and branches are followed. What comes out is a
//! [`Program`], to be judged like one from a litmus file.
//!
//! A modelled thread stands for all threads that do what it does: the counts of barriers are those of
//! the modelled threads ([`Setup::counts`]). Of several in one warp `elect.sync` elects the first, and
//! `bar.warp.sync` is a barrier among them. A tile that a bulk tensor copy moves is modelled by one element, a product of matrices by one number.
//!
//! An instruction that is not understood is an error with its PTX line, never ignored. Textures,
//! local memory and calls (but of what only ends the kernel) are not.

mod translate;

use baton_ptx::Module;

use crate::litmus::{Condition, Term};
use crate::program::{Memory, Program, Proxy, Space, Type, View};
use crate::scope::Placement;

/// What a kernel parameter holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// A number.
    Number(u64),
    /// The address of a location, by its name; of a tensor map, the map.
    Location(String),
    /// The fields of a structure, eight bytes each.
    Structure(Vec<Argument>),
}

/// A thread to be.
#[derive(Clone, Debug)]
pub struct KernelThread {
    /// Its name, for conditions and pictures.
    pub name: String,
    /// Where it runs.
    pub place: Placement,
    /// The entry that it runs.
    pub entry: String,
    /// The entry's arguments.
    pub arguments: Vec<Argument>,
    /// Special registers that are not 0, such as `%tid.x`.
    pub special: Vec<(String, u64)>,
}

/// A location in memory.
#[derive(Clone, Debug)]
pub struct Location {
    /// Its name. The name of a shared variable of the module binds that variable: a location of that name
    /// in each CTA, if there are several.
    pub name: String,
    /// Where it lives.
    pub space: Space,
    /// The type of one element.
    pub ty: Type,
    /// How many. Of a tensor map: words of the tile that it describes.
    pub elements: u32,
    /// The first values of the first of them; the others are 0.
    pub init: Vec<u64>,
}

/// Threads and the memory that they share.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// Locations.
    pub locations: Vec<Location>,
    /// Second virtual addresses: the new name, and the location.
    pub aliases: Vec<(String, String)>,
    /// What tensor maps describe: the map, and the location whose element `x + y` stands for the tile at `(x, y)`.
    pub tiles: Vec<(String, String)>,
    /// Counts of threads at barriers, named barriers and mbarriers: what the kernel says, and how many of the
    /// modelled threads these are.
    pub counts: Vec<(u32, u32)>,
    /// Threads.
    pub threads: Vec<KernelThread>,
    /// How often a backward branch may be taken. With 0 every wait succeeds at once: that reaches the same
    /// outcomes, because reads of waits that fail only add constraints, but not the races of such reads.
    pub unroll: u32,
}

/// Why no program came out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KernelError {
    /// The module has no such entry.
    #[error("{module} has no entry `{entry}`; it has {present}")]
    NoEntry {
        /// The module.
        module: String,
        /// What was asked for.
        entry: String,
        /// What there is.
        present: String,
    },
    /// The arguments do not fit the entry.
    #[error("entry `{entry}` takes {expected} arguments, not {found}")]
    Arguments {
        /// The entry.
        entry: String,
        /// Its parameters.
        expected: usize,
        /// What was given.
        found: usize,
    },
    /// An argument is a structure in a structure.
    #[error("entry `{entry}`: the fields of a structure are numbers and locations")]
    Nested {
        /// The entry.
        entry: String,
    },
    /// A location that addresses in registers could leave without being noticed.
    #[error("`{name}` has more than {most} bytes")]
    Large {
        /// The location.
        name: String,
        /// How many it may have.
        most: usize,
    },
    /// A name of a location that was not declared.
    #[error("`{name}` is no declared location")]
    NoLocation {
        /// The name.
        name: String,
    },
    /// An instruction that the model does not understand.
    #[error("{module}:{line}: `{text}`: {why}")]
    Instruction {
        /// The module.
        module: String,
        /// PTX line.
        line: u32,
        /// The instruction.
        text: String,
        /// What is wrong with it.
        why: String,
    },
}

/// Addresses of different locations lie this far apart, and offsets may be negative.
const MOST_BYTES: usize = 1 << 19;

/// The program that the threads of a setup execute.
pub fn extract(module: &Module, setup: &Setup) -> Result<Program, KernelError> {
    let mut program = Program { unroll: setup.unroll, ..Program::default() };
    for location in &setup.locations {
        let size = location.ty.bytes as usize;
        let bytes = location.elements as usize * size;
        let index = program.memories.len();
        if bytes > MOST_BYTES {
            let name = location.name.clone();
            return Err(KernelError::Large { name, most: MOST_BYTES });
        }
        let mut init = vec![0; bytes];
        for (element, value) in init.chunks_mut(size).zip(&location.init) {
            element.copy_from_slice(&u128::from(*value).to_le_bytes()[..size]);
        }
        program.memories.push(Memory {
            name: location.name.clone(),
            space: location.space,
            ty: location.ty,
            init,
        });
        program.views.push(View {
            name: location.name.clone(),
            memory: index,
            address: index,
            proxy: if location.space == Space::Tensor { Proxy::Tensor } else { Proxy::Generic },
        });
    }
    for (alias, of) in &setup.aliases {
        let memory = program.views[find(&program, of)?].memory;
        let address = program.views.len();
        let view = View { name: alias.clone(), memory, address, proxy: Proxy::Generic };
        program.views.push(view);
    }
    for (map, data) in &setup.tiles {
        let map = program.views[find(&program, map)?].memory;
        program.tiles.push((map, find(&program, data)?));
    }
    for thread in &setup.threads {
        translate::thread(module, setup, thread, &mut program)?;
    }
    Ok(program)
}

/// The view of that name.
fn find(program: &Program, name: &str) -> Result<usize, KernelError> {
    let view = program.views.iter().position(|view| view.name == name);
    view.ok_or_else(|| KernelError::NoLocation { name: name.into() })
}

/// A condition that a memory has a value at the end.
pub fn finally(program: &Program, location: &str, value: u64) -> Option<Condition> {
    let memory = program.memories.iter().position(|memory| memory.name == location)?;
    Some(Condition::Equal(Term::Memory(memory), Term::Number(u128::from(value)), false))
}
