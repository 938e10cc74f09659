//! The threads that a kernel is judged by, and what is known of a value in each of them.
//!
//! The threads are those of one cluster, or of one CTA where there are no clusters: whatever any set of
//! threads must do together lies inside. What is known of a value comes in three kinds ([`Value`]):
//! its number in each thread; a number that nobody knows, but that is the same multiple of a power of
//! two everywhere, plus a known one in each thread; or only a *partition* of the threads: those with one label
//! hold one value, and of two labels nothing is known.
//!
//! Partitions and numbers are stored once each, so that values compare by their ids.

use std::collections::HashMap;
use std::rc::Rc;

/// A partition of the threads, by its place in [`Space`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Part(u32);

/// A number for each thread, by its place in [`Space`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Numbers(u32);

/// What is known of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Value {
    /// Which threads hold the same.
    Label(Part),
    /// The number itself, as bits without a sign.
    Known(Numbers),
    /// A multiple of 2^`zeros` that is the same for all threads, plus a known number.
    Multiple {
        /// Less than 64.
        zeros: u32,
        plus: Numbers,
    },
}

/// How a kernel is launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Launch {
    /// Threads of a CTA.
    pub threads: [u32; 3],
    /// CTAs of a cluster; all 1 without clusters.
    pub cluster: [u32; 3],
}

/// Threads looked at, at most: those of the first CTAs of a cluster stand for the others.
const THREADS: u32 = 4096;

/// All that the analysis of one kernel knows of threads.
#[derive(Debug)]
pub(super) struct Space {
    pub launch: Launch,
    /// Threads of a CTA.
    pub cta: usize,
    /// How many threads there are.
    pub count: usize,
    partitions: Vec<Rc<[u32]>>,
    partition_ids: HashMap<Rc<[u32]>, Part>,
    combined: HashMap<(Part, Part), Part>,
    numbers: Vec<Rc<[u64]>>,
    number_ids: HashMap<Rc<[u64]>, Numbers>,
    labels: HashMap<Numbers, Part>,
    tuples: HashMap<Part, Part>,
    /// All threads hold one value.
    pub uniform: Part,
    /// Nothing is known.
    pub varying: Part,
    pub by_warp: Part,
    pub by_cta: Part,
    pub zero: Numbers,
}

/// Threads of a warp.
pub(super) const WARP: usize = 32;

impl Space {
    pub fn new(launch: Launch) -> Space {
        let product = |shape: [u32; 3]| shape.iter().map(|&n| n.max(1)).product::<u32>();
        let cta = product(launch.threads).clamp(1, 1024);
        let ranks = product(launch.cluster).clamp(1, (THREADS / cta).max(2));
        let mut space = Space {
            launch,
            cta: cta as usize,
            count: (cta * ranks) as usize,
            partitions: Vec::new(),
            partition_ids: HashMap::new(),
            combined: HashMap::new(),
            numbers: Vec::new(),
            number_ids: HashMap::new(),
            labels: HashMap::new(),
            tuples: HashMap::new(),
            uniform: Part(0),
            varying: Part(0),
            by_warp: Part(0),
            by_cta: Part(0),
            zero: Numbers(0),
        };
        space.uniform = space.partition(|_| 0);
        space.varying = space.partition(|thread| thread as u64);
        let warps = space.warps_of_a_cta();
        let cta = space.cta;
        space.by_warp = space.partition(|t| (t / cta * warps + t % cta / WARP) as u64);
        space.by_cta = space.partition(|t| (t / cta) as u64);
        space.zero = space.numbers(|_| 0);
        space
    }

    pub fn warps_of_a_cta(&self) -> usize {
        self.cta.div_ceil(WARP)
    }

    /// The number of a thread in its CTA.
    pub fn in_cta(&self, thread: usize) -> usize {
        thread % self.cta
    }

    /// The rank of a thread's CTA in the cluster.
    pub fn rank(&self, thread: usize) -> usize {
        thread / self.cta
    }

    pub fn lane(&self, thread: usize) -> usize {
        thread % self.cta % WARP
    }

    /// The thread in a lane of this thread's warp; the last there is, if the warp has no such lane.
    pub fn in_lane(&self, thread: usize, lane: usize) -> usize {
        let first = self.in_cta(thread) - self.lane(thread);
        self.rank(thread) * self.cta + (first + lane).min(self.cta - 1)
    }

    /// The partition of threads by a key.
    pub fn partition(&mut self, key: impl Fn(usize) -> u64) -> Part {
        let mut found: HashMap<u64, u32> = HashMap::new();
        let labels: Rc<[u32]> = (0..self.count)
            .map(|thread| {
                let next = found.len() as u32;
                *found.entry(key(thread)).or_insert(next)
            })
            .collect();
        if let Some(&part) = self.partition_ids.get(&labels) {
            return part;
        }
        let part = Part(self.partitions.len() as u32);
        self.partitions.push(Rc::clone(&labels));
        self.partition_ids.insert(labels, part);
        part
    }

    /// The labels of a partition, numbered in the order of their first threads.
    pub fn labels(&self, part: Part) -> Rc<[u32]> {
        Rc::clone(&self.partitions[part.0 as usize])
    }

    /// Threads that agree in both.
    pub fn both(&mut self, a: Part, b: Part) -> Part {
        if a == b || b == self.uniform {
            return a;
        }
        if a == self.uniform {
            return b;
        }
        if a == self.varying || b == self.varying {
            return self.varying;
        }
        let pair = (a.min(b), a.max(b));
        if let Some(&part) = self.combined.get(&pair) {
            return part;
        }
        let (left, right) = (self.labels(a), self.labels(b));
        let part = self.partition(|t| u64::from(left[t]) << 32 | u64::from(right[t]));
        self.combined.insert(pair, part);
        part
    }

    /// Groups of four warps, from a multiple of four on.
    pub fn by_group(&mut self) -> Part {
        let (cta, groups) = (self.cta, self.cta.div_ceil(4 * WARP));
        self.partition(|t| (t / cta * groups + t % cta / (4 * WARP)) as u64)
    }

    /// The numbers that a function gives.
    pub fn numbers(&mut self, number: impl Fn(usize) -> u64) -> Numbers {
        let numbers: Rc<[u64]> = (0..self.count).map(number).collect();
        if let Some(&id) = self.number_ids.get(&numbers) {
            return id;
        }
        let id = Numbers(self.numbers.len() as u32);
        self.numbers.push(Rc::clone(&numbers));
        self.number_ids.insert(numbers, id);
        id
    }

    /// A known value.
    pub fn value(&mut self, number: impl Fn(usize) -> u64) -> Value {
        Value::Known(self.numbers(number))
    }

    /// The number of each thread.
    pub fn of(&self, numbers: Numbers) -> Rc<[u64]> {
        Rc::clone(&self.numbers[numbers.0 as usize])
    }

    /// The number, if all threads have the same.
    pub fn one(&self, value: Value) -> Option<u64> {
        let Value::Known(numbers) = value else { return None };
        let numbers = &self.numbers[numbers.0 as usize];
        let first = *numbers.first()?;
        numbers.iter().all(|&n| n == first).then_some(first)
    }

    /// Which threads hold the same value for sure.
    pub fn label(&mut self, value: Value) -> Part {
        let numbers = match value {
            Value::Label(part) => return part,
            Value::Known(numbers) | Value::Multiple { plus: numbers, .. } => numbers,
        };
        if let Some(&part) = self.labels.get(&numbers) {
            return part;
        }
        let list = self.of(numbers);
        let part = self.partition(|thread| list[thread]);
        self.labels.insert(numbers, part);
        part
    }

    /// What is known of a value that all lanes of a warp compute from their own: threads whose warps hold the same labels in
    /// the same lanes.
    pub fn of_the_warp(&mut self, part: Part) -> Part {
        if let Some(&tuple) = self.tuples.get(&part) {
            return tuple;
        }
        let (labels, warps) = (self.labels(part), self.labels(self.by_warp));
        let mut lanes: Vec<Vec<u32>> = Vec::new();
        for thread in 0..self.count {
            let warp = warps[thread] as usize;
            lanes.resize_with(lanes.len().max(warp + 1), Vec::new);
            lanes[warp].push(labels[thread]);
        }
        let mut found: HashMap<&[u32], u64> = HashMap::new();
        let keys: Vec<u64> = lanes
            .iter()
            .map(|lanes| {
                let next = found.len() as u64;
                *found.entry(lanes).or_insert(next)
            })
            .collect();
        let tuple = self.partition(|thread| keys[warps[thread] as usize]);
        self.tuples.insert(part, tuple);
        tuple
    }

    /// The value of another thread.
    pub fn from(&mut self, value: Value, source: impl Fn(usize) -> usize) -> Value {
        match value {
            Value::Label(part) => {
                let labels = self.labels(part);
                Value::Label(self.partition(|t| u64::from(labels[source(t)])))
            }
            Value::Known(numbers) => {
                let list = self.of(numbers);
                self.value(|t| list[source(t)])
            }
            Value::Multiple { zeros, plus } => {
                let list = self.of(plus);
                Value::Multiple { zeros, plus: self.numbers(|t| list[source(t)]) }
            }
        }
    }

    /// Whether threads of one group, among those of `among`, may hold different values.
    pub fn splits(&self, part: Part, groups: &[u32], among: &[bool]) -> bool {
        let labels = &self.partitions[part.0 as usize];
        let mut first: HashMap<u32, u32> = HashMap::new();
        (0..self.count)
            .filter(|&thread| among[thread])
            .any(|thread| *first.entry(groups[thread]).or_insert(labels[thread]) != labels[thread])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(threads: u32, ctas: u32) -> Space {
        Space::new(Launch { threads: [threads, 1, 1], cluster: [ctas, 1, 1] })
    }

    #[test]
    fn equal_partitions_are_one() {
        let mut space = space(64, 1);
        let warp = space.partition(|t| (t / 32) as u64 + 7);
        assert_eq!(warp, space.by_warp);
        let halves = space.partition(|t| (t / 16 % 2) as u64);
        let quarters = space.partition(|t| (t / 16) as u64);
        assert_eq!(space.both(halves, warp), quarters);
        assert_eq!(space.both(halves, space.uniform), halves);
        assert_eq!(space.both(space.varying, halves), space.varying);
    }

    #[test]
    fn what_a_warp_computes_from_all_lanes_is_one_value_in_it() {
        let mut space = space(96, 1);
        // The first two warps hold the same in each lane.
        let part = space.partition(|t| if t < 64 { t as u64 % 32 } else { t as u64 });
        let tuple = space.of_the_warp(part);
        assert_eq!(tuple, space.partition(|t| (t / 64) as u64));
        assert_eq!(space.of_the_warp(space.uniform), space.uniform);
        assert_eq!(space.of_the_warp(space.varying), space.by_warp);
    }

    #[test]
    fn a_partition_splits_a_set_only_where_the_set_is() {
        let mut space = space(64, 2);
        let (warps, ctas) = (space.labels(space.by_warp), space.labels(space.by_cta));
        let all = vec![true; space.count];
        assert!(!space.splits(space.by_warp, &warps, &all));
        assert!(space.splits(space.by_warp, &ctas, &all));
        let first_lanes = space.partition(|t| u64::from(t < 16));
        let above: Vec<bool> = (0..space.count).map(|t| t >= 32).collect();
        assert!(space.splits(first_lanes, &warps, &all));
        assert!(!space.splits(first_lanes, &warps, &above));
    }

    #[test]
    fn lanes_that_a_warp_does_not_have_give_its_last_one() {
        let space = space(40, 2);
        assert_eq!(space.in_lane(3, 9), 9);
        assert_eq!(space.in_lane(73, 20), 79);
    }
}
