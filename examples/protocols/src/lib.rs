//! What the host does for the kernels: buffers, words that are zero for each launch, and what every element has to
//! be.

use baton_host::{Buffer, Device, Error, Grid, Image, LaunchReport, Matrix, Module, SyncBuffer};
use clap::ValueEnum;
use example_common::{Numbers, Outcome, Verdict};
use protocols_kernel::{PEERS, RUNNERS, STAGE, THREADS, cell, entry, shadow, turn};

/// The kernels, compiled by the build script.
pub static KERNELS: Image = baton_host::image!("protocols_kernel");

/// A protocol, which is also the name of its kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Protocol {
    /// A lock
    Spin,
    /// A lock that keeps the order of arrival
    Tickets,
    /// Two sides that exclude each other by loads and stores
    Sides,
    /// A lock for many readers or one writer
    Readers,
    /// Turns in a fixed order
    Turns,
    /// The last of several arrivals
    Last,
    /// The first to come prepares something for all
    Once,
    /// A barrier of the grid
    Grid,
    /// Readers that try again
    Pairs,
    /// A bounded queue
    Queue,
    /// Shared memory of the other CTA of a cluster
    Peers,
    /// Shared memory of the next CTA of a cluster
    Relay,
    /// Tiles that the CTAs of a cluster load for each other
    Broadcast,
    /// Asynchronous copies by threads, through a ring
    Copies,
}

impl Protocol {
    /// All of them.
    pub const ALL: [Protocol; 14] = [
        Protocol::Spin,
        Protocol::Tickets,
        Protocol::Sides,
        Protocol::Readers,
        Protocol::Turns,
        Protocol::Last,
        Protocol::Once,
        Protocol::Grid,
        Protocol::Pairs,
        Protocol::Queue,
        Protocol::Peers,
        Protocol::Relay,
        Protocol::Broadcast,
        Protocol::Copies,
    ];

    /// The name of its kernel.
    pub fn kernel(self) -> &'static str {
        match self {
            Protocol::Spin => "spin",
            Protocol::Tickets => "tickets",
            Protocol::Sides => "sides",
            Protocol::Readers => "readers",
            Protocol::Turns => "turns",
            Protocol::Last => "last",
            Protocol::Once => "once",
            Protocol::Grid => "grid",
            Protocol::Pairs => "pairs",
            Protocol::Queue => "queue",
            Protocol::Peers => "peers",
            Protocol::Relay => "relay",
            Protocol::Broadcast => "broadcast",
            Protocol::Copies => "copies",
        }
    }
}

/// How much there is to do.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// CTAs that meet.
    pub ctas: u32,
    /// How often.
    pub rounds: u32,
    /// Elements of the array that they share.
    pub elements: usize,
}

/// Runs a protocol's kernel.
pub fn run(
    protocol: Protocol,
    device: &Device,
    module: &Module,
    size: Size,
    seed: u64,
) -> Result<Outcome, Error> {
    let Size { ctas, rounds, elements } = size;
    let launch =
        |grid: Grid, call| -> Result<LaunchReport, Error> { device.launch(module, grid, call) };
    let outcome = |launch, expected: Vec<u32>, found: &Buffer<u32>| {
        let verdict = Verdict::exact(&expected, &found.to_vec()?);
        Ok(Outcome { launch, verdict })
    };
    match protocol {
        Protocol::Spin => {
            let mut lock = SyncBuffer::new(device)?;
            let mut totals = Buffer::zeroed(device, elements)?;
            let call = protocols_kernel::spin((lock.reset()?, totals.as_arg_mut()), rounds);
            let launch = launch(ctas.into(), call)?;
            outcome(launch, vec![ctas * rounds; elements], &totals)
        }
        Protocol::Tickets => {
            let mut lock = SyncBuffer::new(device)?;
            let mut totals = Buffer::zeroed(device, elements)?;
            let call = protocols_kernel::tickets((lock.reset()?, totals.as_arg_mut()), rounds);
            let launch = launch(ctas.into(), call)?;
            outcome(launch, vec![2 * ctas * rounds; elements], &totals)
        }
        Protocol::Sides => {
            let mut flags = SyncBuffer::new(device)?;
            let mut totals = Buffer::zeroed(device, elements)?;
            let call = protocols_kernel::sides((flags.reset()?, totals.as_arg_mut()), rounds);
            let launch = launch(ctas.into(), call)?;
            outcome(launch, vec![ctas.min(2) * rounds; elements], &totals)
        }
        Protocol::Readers => {
            let mut lock = SyncBuffer::new(device)?;
            let mut totals = Buffer::zeroed(device, elements)?;
            let call = protocols_kernel::readers((lock.reset()?, totals.as_arg_mut()), rounds);
            let launch = launch(ctas.into(), call)?;
            outcome(launch, vec![ctas * rounds; elements], &totals)
        }
        Protocol::Turns => {
            // Two tiles in x, one in y, the CTAs that share one in z.
            let elements = elements.next_multiple_of(2);
            let mut numbers = Numbers::new(seed);
            let before: Vec<u32> = (0..elements).map(|_| numbers.bits() as u32).collect();
            let mut turns = SyncBuffer::array(device, 2)?;
            let mut tiles = Buffer::from_slice(device, &before)?;
            let call = protocols_kernel::turns((turns.reset()?, tiles.as_arg_mut()));
            let launch = launch([2, 1, ctas].into(), call)?;
            let after = |number: &u32| (0..ctas).fold(*number, turn);
            outcome(launch, before.iter().map(after).collect(), &tiles)
        }
        Protocol::Last => {
            let elements = elements.next_multiple_of(ctas as usize);
            let [mut arrived, mut seen] = [SyncBuffer::new(device)?, SyncBuffer::new(device)?];
            let mut parts = Buffer::poisoned(device, elements)?;
            let mut output = Buffer::poisoned(device, elements)?;
            let mut counts = Buffer::<u32>::zeroed(device, (ctas * THREADS) as usize)?;
            let call = protocols_kernel::last(
                (arrived.reset()?, parts.as_arg_mut()),
                (seen.reset()?, output.as_arg_mut()),
                counts.as_arg_mut(),
            );
            let launch = launch(ctas.into(), call)?;
            let sum = (0..elements as u64).fold(0, |sum: u32, i| sum.wrapping_add(entry(i)));
            // One CTA, whichever it was, has the sum in its part; and each thread of one has the count.
            let part = elements / ctas as usize;
            let of_one = |value: u32, count: usize, all: usize| {
                (0..all).map(move |i| if i < all - count { 0 } else { value })
            };
            let expected: Vec<u32> = of_one(sum, part, elements)
                .chain(of_one(part as u32, THREADS as usize, (ctas * THREADS) as usize))
                .collect();
            let (mut found, mut counts) = (output.to_vec()?, counts.to_vec()?);
            found.sort_unstable();
            counts.sort_unstable();
            found.append(&mut counts);
            Ok(Outcome { launch, verdict: Verdict::exact(&expected, &found) })
        }
        Protocol::Once => {
            let mut state = SyncBuffer::new(device)?;
            let mut table = Buffer::poisoned(device, 100)?;
            let mut output = Buffer::poisoned(device, elements)?;
            let call =
                protocols_kernel::once((state.reset()?, table.as_arg_mut()), output.as_arg_mut());
            let launch = launch(ctas.into(), call)?;
            // Whoever was the first, everybody has its table.
            let first = table.to_vec()?[0].wrapping_sub(entry(0));
            let expected = |i| entry(i % 100).wrapping_add(first);
            outcome(launch, (0..elements as u64).map(expected).collect(), &output)
        }
        Protocol::Grid => {
            let mut numbers = Numbers::new(seed);
            let mut cells: Vec<u32> = (0..elements).map(|_| numbers.bits() as u32).collect();
            let mut barrier = SyncBuffer::new(device)?;
            let [mut front, mut back] =
                [Buffer::from_slice(device, &cells)?, Buffer::poisoned(device, elements)?];
            let call = protocols_kernel::grid(
                (barrier.reset()?, front.as_arg_mut(), back.as_arg_mut()),
                rounds,
            );
            let launch = launch(ctas.into(), call)?;
            for _ in 0..rounds {
                let at = |i: usize| cells[i % elements];
                cells =
                    (0..elements).map(|i| cell(at(i + elements - 1), at(i), at(i + 1))).collect();
            }
            outcome(launch, cells, if rounds % 2 == 0 { &front } else { &back })
        }
        Protocol::Pairs => {
            let mut count = SyncBuffer::new(device)?;
            let mut pair = Buffer::zeroed(device, 2)?;
            let call = protocols_kernel::pairs((count.reset()?, pair.as_arg_mut()), rounds);
            let launch = launch(ctas.into(), call)?;
            outcome(launch, vec![ctas * rounds, shadow(ctas * rounds)], &pair)
        }
        Protocol::Queue => {
            // Small, so that it is full at times.
            const PLACES: usize = 4;
            let (mut places, mut lock) =
                (SyncBuffer::array(device, PLACES + 2)?, SyncBuffer::new(device)?);
            let mut numbers = Buffer::<u32>::poisoned(device, PLACES)?;
            let all = (ctas * rounds) as usize;
            let mut seen = Buffer::zeroed(device, all + 1)?;
            let call = protocols_kernel::queue(
                (places.reset()?, numbers.as_arg_mut()),
                (lock.reset()?, seen.as_arg_mut()),
                rounds,
            );
            let launch = launch(ctas.into(), call)?;
            let mut expected = vec![1; all];
            expected.push(all as u32);
            outcome(launch, expected, &seen)
        }
        Protocol::Peers => {
            let ctas = ctas.next_multiple_of(PEERS);
            let mut numbers = Numbers::new(seed);
            let before: Vec<u32> = (0..ctas * THREADS).map(|_| numbers.bits() as u32).collect();
            let mut buffer = Buffer::from_slice(device, &before)?;
            let launch = launch(ctas.into(), protocols_kernel::peers(buffer.as_arg_mut(), rounds))?;
            let (threads, cluster) = (THREADS as usize, (PEERS * THREADS) as usize);
            let mut after = before;
            for _ in 0..rounds {
                let opposite = |i: usize| {
                    let (of_cluster, at) = (i / cluster * cluster, i % cluster);
                    let peer = (at / threads + 1) % PEERS as usize;
                    of_cluster + peer * threads + threads - 1 - at % threads
                };
                after = (0..after.len())
                    .map(|i| turn(after[opposite(i)], (i % threads) as u32))
                    .collect();
            }
            outcome(launch, after, &buffer)
        }
        Protocol::Relay => {
            let ctas = ctas.next_multiple_of(RUNNERS);
            let mut numbers = Numbers::new(seed);
            let before: Vec<u32> = (0..ctas * THREADS).map(|_| numbers.bits() as u32).collect();
            let mut buffer = Buffer::from_slice(device, &before)?;
            let launch = launch(ctas.into(), protocols_kernel::relay(buffer.as_arg_mut(), rounds))?;
            let (threads, cluster) = (THREADS as usize, (RUNNERS * THREADS) as usize);
            let mut after = before;
            for _ in 0..rounds {
                // The CTA before, and in it the thread that stands opposite.
                let giver = |i: usize| {
                    let (of_cluster, at) = (i / cluster * cluster, i % cluster);
                    let cta = (at / threads + RUNNERS as usize - 1) % RUNNERS as usize;
                    of_cluster + cta * threads + threads - 1 - at % threads
                };
                after =
                    (0..after.len()).map(|i| turn(after[giver(i)], (i % threads) as u32)).collect();
            }
            outcome(launch, after, &buffer)
        }
        Protocol::Broadcast => {
            let ctas = ctas.next_multiple_of(PEERS);
            let tiles = rounds + 2;
            let mut numbers = Numbers::new(seed);
            let input: Vec<u32> = (0..tiles * 16 * 32).map(|_| numbers.bits() as u32).collect();
            let from = Buffer::from_slice(device, &input)?;
            let mut to = Buffer::poisoned(device, (ctas * 32) as usize)?;
            let matrix = Matrix::new(16 * tiles as u64, 32);
            let call =
                protocols_kernel::broadcast(from.tensor_map(matrix)?, to.as_arg_mut(), tiles);
            let launch = launch(ctas.into(), call)?;
            let column = |lane: u32| (0..tiles * 16).map(move |row| (row * 32 + lane) as usize);
            let number = |lane: u32| column(lane).fold(0, |number, i| turn(number, input[i]));
            let all: Vec<u32> = (0..ctas * 32).map(|i| number(i % 32)).collect();
            outcome(launch, all, &to)
        }
        Protocol::Copies => {
            let mut numbers = Numbers::new(seed);
            let input: Vec<u32> = (0..(16 * elements).next_multiple_of(STAGE))
                .map(|_| numbers.bits() as u32)
                .collect();
            let from = Buffer::from_slice(device, &input)?;
            let mut to = Buffer::poisoned(device, input.len())?;
            let call = protocols_kernel::copies(from.as_arg(), to.as_arg_mut());
            let launch = launch(ctas.into(), call)?;
            // CTA `c` takes stages `c`, `c + ctas`, …, a warp's turn of 32 at a time; its warp owns every `ctas`-th turn
            // of the output, the first of which is `c`.
            let (ctas, turns) = (ctas as usize, STAGE / 32);
            let mut expected = vec![0; input.len()];
            for (i, slot) in expected.iter_mut().enumerate() {
                let (cta, k) = (i / 32 % ctas, i / 32 / ctas);
                let stage = cta + k / turns * ctas;
                let part = k % turns;
                let value = input.get(stage * STAGE + part * 32 + i % 32);
                *slot = value.map_or(u32::MAX, |&value| turn(value, part as u32));
            }
            outcome(launch, expected, &to)
        }
    }
}
