//! What the search for hazards needs of memory, as an allocator counts it: less than eight times what the kernel has.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};

use baton_bench_emulator::Matmul;
use baton_emulator::RESIDENT;
use baton_host::{Device, EmulatorOptions};
use gemm_blackwell::{KERNELS, Output, Problem, Shape, ctas};

/// The system's allocator, and how much of it is in use.
struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator as it came, and what that returns is returned.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        PEAK.fetch_max(LIVE.fetch_add(layout.size(), Relaxed) + layout.size(), Relaxed);
        // SAFETY: the caller's promises are those that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: `place` came from the system's allocator, with this layout.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// One test counts at a time.
static TURN: Mutex<()> = Mutex::new(());

/// The most memory that is in use while what `prepare` returns runs, beyond what was before.
fn peak<Run: FnOnce()>(prepare: impl FnOnce() -> Run) -> usize {
    let before = LIVE.load(Relaxed);
    let run = prepare();
    PEAK.store(LIVE.load(Relaxed), Relaxed);
    run();
    PEAK.load(Relaxed) - before
}

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// How often the kernel's own memory, `footprint`, fits into what a checked run needs more than one unchecked.
fn cost<Run: FnOnce()>(footprint: usize, prepare: impl Fn(bool) -> Run) -> f64 {
    // What is allocated once does not count.
    prepare(true)();
    let [checked, unchecked] = [false, true].map(|unchecked| peak(|| prepare(unchecked)));
    let cost = (checked as f64 - unchecked as f64) / footprint as f64;
    println!("{footprint} bytes; {checked} checked, {unchecked} unchecked: {cost:.2} times");
    cost
}

#[test]
fn a_product_through_shared_memory() {
    let _turn = turn();
    let n = 256;
    // Three matrices; 64 CTAs at once with two tiles of 16 × 16.
    let footprint = 3 * 4 * n * n + RESIDENT * 2 * 4 * 16 * 16;
    let cost = cost(footprint, |unchecked| {
        let mut matmul = Matmul::new(n as u32, unchecked).expect("it loads");
        move || assert!(matmul.run().expect("it runs") > 0)
    });
    assert!((1.0..8.0).contains(&cost), "{cost:.2}");
}

#[test]
fn a_product_on_tensor_cores() {
    let _turn = turn();
    const ARCH: &str = "sm_100a";
    let n = 512;
    let shape = Shape { m: n, n, k: n };
    let problem = Problem::new(shape, 0);
    let kernel = KERNELS.binary(ARCH).and_then(|binary| binary.kernel(<f32 as Output>::KERNEL));
    let declared = kernel.and_then(|kernel| kernel.declared).expect("the build wrote it down");
    let options = EmulatorOptions::default().with_arch(ARCH);
    let count = ctas(&Device::emulator(options.clone()), shape);
    // Two matrices of bf16, one of f32; all CTAs at once.
    let footprint = (2 + 2 + 4) * n * n + count as usize * declared.dynamic_shared as usize;
    let cost = cost(footprint, |unchecked| {
        let device = Device::emulator(options.clone().with_unchecked(unchecked));
        let module = device.load(&KERNELS).expect("it loads");
        let problem = &problem;
        move || {
            let product = problem.run::<f32>(&device, &module, count).expect("it runs");
            assert!(product.outcome.verdict.is_right());
        }
    });
    assert!((1.0..8.0).contains(&cost), "{cost:.2}");
}
