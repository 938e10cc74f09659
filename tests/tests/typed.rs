//! What the typed layer becomes: the steps that the types ask for are instructions, in that order, which ptxas assembles.
//! What the emulator knows is run too.

use std::fs;
use std::sync::OnceLock;

use baton::float::bf16;
use baton::launch::DeviceSliceMut;
use baton_builder::{Arch, Builder, Ptxas};
use baton_host::{
    Binary, Buffer, Device, EmulatorOptions, Image, KernelInfo, Matrix, Module, SyncBuffer,
};
use baton_tests::root;

/// Schedules for each kernel that runs.
const SEEDS: u64 = 100;

fn ptx() -> &'static str {
    static PTX: OnceLock<String> = OnceLock::new();
    PTX.get_or_init(|| {
        let output = Builder::new(root().join("tests/kernels/typed"))
            .arch(Arch::Sm100a)
            .ptxas(Ptxas::Required)
            .out_dir(root().join("target/baton-tests/typed"))
            .build()
            .unwrap_or_else(|error| panic!("the typed kernels: {error}"));
        fs::read_to_string(&output.binaries[0].ptx).expect("the builder wrote it")
    })
}

/// The instructions of a kernel, one a line.
fn body(kernel: &str) -> Vec<&'static str> {
    let entry = format!(".entry {kernel}(");
    let text = ptx().split(".visible").find(|text| text.trim_start().starts_with(&entry));
    let text = text.unwrap_or_else(|| panic!("there is no kernel `{kernel}`"));
    text.lines().map(str::trim).collect()
}

/// Fails unless each of `steps` begins an instruction behind the one before it.
fn has_steps(kernel: &str, steps: &[&str]) {
    let body = body(kernel);
    let mut lines = body.iter();
    for step in steps {
        let found = lines.any(|line| {
            // A predicate may stand before it.
            let line = if line.starts_with('@') {
                line.split_once(char::is_whitespace).map_or("", |(_, rest)| rest)
            } else {
                line
            };
            line.starts_with(step)
        });
        assert!(found, "{kernel} lacks `{step}` behind what comes before it in {steps:?}");
    }
}

#[test]
fn reads_are_what_they_say() {
    has_steps("reads", &["ld.acquire.gpu.global.v4.b32", "ld.global.nc.b32"]);
}

#[test]
fn the_fence_of_aliases_stands_between_the_addresses() {
    has_steps(
        "aliases",
        &[
            "st.weak.global",
            "fence.proxy.alias",
            "bar.sync",
            "ld.weak.global",
            "fence.proxy.alias",
            "bar.sync",
            "st.weak.global",
        ],
    );
}

#[test]
fn memory_of_several_devices_is_reached_by_multimem_alone() {
    has_steps(
        "multimem",
        &["multimem.st.release.sys", "multimem.red.relaxed.sys", "multimem.ld_reduce.acquire.sys"],
    );
}

#[test]
fn an_edit_is_released_and_acquired_before_the_copy_and_the_copy_awaited_before_the_edit() {
    has_steps(
        "edits",
        &[
            "tensormap.replace.tile.global_address",
            "tensormap.replace.tile.global_stride",
            "fence.proxy.tensormap::generic.release.gpu",
            "fence.proxy.tensormap::generic.acquire.gpu",
            "mbarrier.arrive.expect_tx",
            "cp.async.bulk.tensor.2d",
            "mbarrier.try_wait",
            "mbarrier.try_wait",
        ],
    );
}

#[test]
fn a_pair_allocates_and_deallocates_between_barriers_of_the_cluster() {
    has_steps(
        "pairs",
        &[
            "tcgen05.alloc.cta_group::2",
            "tcgen05.relinquish_alloc_permit.cta_group::2",
            "barrier.cluster.wait",
            "barrier.cluster.wait",
            "tcgen05.dealloc.cta_group::2",
            "barrier.cluster.wait",
        ],
    );
    assert!(!body("pairs").iter().any(|line| line.contains("cta_group::1")));
}

#[test]
fn a_store_to_tensor_memory_is_awaited_and_fenced() {
    has_steps(
        "rescale",
        &[
            "tcgen05.ld.sync",
            "tcgen05.wait::ld",
            "tcgen05.st.sync",
            "tcgen05.wait::st",
            "tcgen05.fence::before_thread_sync",
            "tcgen05.ld.sync",
            // Of the end, because it has stored.
            "tcgen05.wait::st",
        ],
    );
}

/// A kernel of which the host knows no more than its name.
const fn kernel(name: &'static str) -> KernelInfo {
    KernelInfo {
        name,
        registers: None,
        spill_bytes: 0,
        stack_bytes: 0,
        static_shared: 0,
        declared: None,
    }
}

fn emulator() -> (Device, Module) {
    emulator_with(ptx(), EmulatorOptions::default())
}

fn emulator_with(ptx: &'static str, options: EmulatorOptions) -> (Device, Module) {
    const KERNELS: &[KernelInfo] = &[
        kernel("reads"),
        kernel("pairs"),
        kernel("rescale"),
        kernel("edits"),
        kernel("forgets"),
        kernel("early"),
        kernel("pushes"),
        kernel("shared_operand"),
        kernel("aliases"),
        kernel("multimem"),
        kernel("unequal"),
        kernel("pair_product"),
        kernel("pair_skips"),
        kernel("two_pairs"),
        kernel("watched"),
        kernel("spread"),
        kernel("few_elements"),
        kernel("in_turns"),
        kernel("one_in_turns"),
        kernel("cached_copy"),
    ];
    let binary = Binary { arch: "sm_100a", ptx, lines: "", cubin: None, kernels: KERNELS };
    // An image is part of a program, and lives as long.
    let binaries: &'static [Binary] = Box::leak(Box::new([binary]));
    let device = Device::emulator(options);
    let module = device.load(&Image { name: "typed", binaries }).expect("the kernels load");
    (device, module)
}

#[test]
fn a_product_is_rescaled_in_tensor_memory_under_every_schedule() {
    let (device, module) = emulator();
    for seed in 0..SEEDS {
        device.set_seed(seed);
        let mut output = Buffer::<f32>::poisoned(&device, 128).expect("memory");
        let launch = device.launch(&module, 1, typed_kernel::rescale(output.as_arg_mut()));
        drop(launch.unwrap_or_else(|error| panic!("seed {seed}: {error}")));
        // Half of the first product, and the second, in sixteen columns.
        let expected: Vec<f32> = (0..128).map(|row| 16.0 * 96.0 * (row % 5) as f32).collect();
        assert_eq!(output.to_vec().expect("memory"), expected, "seed {seed}");
    }
}

#[test]
fn pairs_and_cached_reads_run_under_every_schedule() {
    let (device, module) = emulator();
    for seed in 0..SEEDS {
        device.set_seed(seed);
        let mut output = Buffer::<u32>::poisoned(&device, 256).expect("memory");
        let launch = device.launch(&module, 2, typed_kernel::pairs(output.as_arg_mut()));
        drop(launch.unwrap_or_else(|error| panic!("seed {seed}: {error}")));
        assert_eq!(output.to_vec().expect("memory"), [256; 256], "seed {seed}");

        let input: Vec<u32> = (0..32).collect();
        let input = Buffer::from_slice(&device, &input).expect("memory");
        let mut words = Buffer::from_slice(&device, &[1, 1, 1, 1, 1, 1, 1, 7]).expect("memory");
        let mut output = Buffer::<u32>::poisoned(&device, 32).expect("memory");
        let call = typed_kernel::reads(input.as_arg(), words.as_arg_mut(), output.as_arg_mut());
        drop(
            device.launch(&module, 1, call).unwrap_or_else(|error| panic!("seed {seed}: {error}")),
        );
        let expected: Vec<u32> = (0..32).map(|i| 7 * i).collect();
        assert_eq!(output.to_vec().expect("memory"), expected, "seed {seed}");
    }
}

#[test]
fn an_edited_map_loads_one_matrix_after_the_other_under_every_schedule() {
    const COUNT: usize = 5;
    let (device, module) = emulator();
    let matrices: Vec<f32> = (0..COUNT * 2048).map(|i| (i % 1021) as f32).collect();
    let matrices = Buffer::from_slice(&device, &matrices).expect("memory");
    let template = Buffer::<f32>::poisoned(&device, 2048).expect("memory");
    for seed in 0..SEEDS {
        device.set_seed(seed);
        let mut places = Buffer::<u64>::poisoned(&device, 16).expect("memory");
        let mut output = Buffer::<f32>::poisoned(&device, 32).expect("memory");
        let call = typed_kernel::edits(
            template.tensor_map(Matrix::new(64, 32)).expect("a matrix"),
            places.as_arg_mut(),
            matrices.as_arg(),
            output.as_arg_mut(),
            COUNT as u32,
        );
        drop(
            device.launch(&module, 1, call).unwrap_or_else(|error| panic!("seed {seed}: {error}")),
        );
        // The first row of each matrix.
        let column = |lane: usize| (0..COUNT).map(|i| ((i * 2048 + lane) % 1021) as f32).sum();
        let expected: Vec<f32> = (0..32).map(column).collect();
        assert_eq!(output.to_vec().expect("memory"), expected, "seed {seed}");
    }
}

/// A launch that ends well, and of which the emulator has nothing to say.
fn silent(launch: Result<baton_host::LaunchReport, baton_host::Error>, seed: u64) {
    let report = launch.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    if let Some(hazard) = report.hazards.first() {
        panic!("seed {seed}: {hazard}");
    }
}

#[test]
fn a9_who_forgets_what_it_holds_hands_it_on_when_it_withdraws() {
    let (device, module) = emulator();
    let mut flags = SyncBuffer::new(&device).expect("memory");
    for seed in 0..SEEDS {
        device.set_seed(seed);
        let mut totals = Buffer::<u32>::poisoned(&device, 300).expect("memory");
        let call = typed_kernel::forgets((flags.reset().expect("zeroes"), totals.as_arg_mut()), 12);
        silent(device.launch(&module, 2, call), seed);
        assert_eq!(totals.to_vec().expect("memory"), (0..300).collect::<Vec<u32>>(), "seed {seed}");
    }
}

#[test]
fn a_joined_cta_acts_when_its_roles_have_ended() {
    let (device, module) = emulator();
    let mut lock = SyncBuffer::new(&device).expect("memory");
    let mut state = SyncBuffer::new(&device).expect("memory");
    for seed in 0..SEEDS {
        device.set_seed(seed);
        let mut count = Buffer::<u32>::zeroed(&device, 1).expect("memory");
        let mut table = Buffer::<u32>::poisoned(&device, 128).expect("memory");
        let mut output = Buffer::<u32>::poisoned(&device, 128).expect("memory");
        let call = typed_kernel::early(
            (lock.reset().expect("zeroes"), count.as_arg_mut()),
            (state.reset().expect("zeroes"), table.as_arg_mut()),
            output.as_arg_mut(),
        );
        silent(device.launch(&module, 2, call), seed);
        assert_eq!(count.to_vec().expect("memory"), [6], "seed {seed}");
        let expected: Vec<u32> = (0..128).map(|i| 5 * i).collect();
        assert_eq!(output.to_vec().expect("memory"), expected, "seed {seed}");
    }
}

#[test]
fn a9_a_queue_has_room_for_two_or_more() {
    let (device, module) = emulator();
    let run = |len: usize| {
        let mut words = SyncBuffer::array(&device, len + 2).expect("memory");
        let mut numbers = Buffer::<u32>::poisoned(&device, len).expect("memory");
        let call = typed_kernel::pushes((words.reset().expect("zeroes"), numbers.as_arg_mut()));
        device.launch(&module, 1, call).map(drop)
    };
    run(2).expect("a queue of two");
    let error =
        run(1).expect_err("a queue of one has no place that is free and full at different times");
    assert!(error.to_string().contains("trap"), "{error}");
}

#[test]
fn peers_load_an_operand_for_each_other_and_wait_for_each_others_commits() {
    // At the exit the producer waits for each stage's fills, and then for each stage's drains, by both CTAs.
    has_steps(
        "shared_operand",
        &[
            "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast",
            "mbarrier.try_wait",
            "mbarrier.try_wait",
            "mbarrier.try_wait",
            "mbarrier.try_wait",
        ],
    );
    let (device, module) = emulator();
    for (seed, steps) in (0..SEEDS).zip([1, 2, 3, 5].into_iter().cycle()) {
        device.set_seed(seed);
        let k = 64 * steps as usize;
        let element = |i: usize, factor: usize| bf16::from_f32((i * factor % 5) as f32 - 2.0);
        let a: Vec<bf16> = (0..256 * k).map(|i| element(i, 3)).collect();
        let b: Vec<bf16> = (0..128 * k).map(|i| element(i, 7)).collect();
        let sum = |row: usize| -> f32 {
            (0..k).map(|i| a[row * k + i].to_f32() * b[100 * k + i].to_f32()).sum()
        };
        let expected: Vec<f32> = (0..256).map(sum).collect();
        let a = Buffer::from_slice(&device, &a).expect("memory");
        let b = Buffer::from_slice(&device, &b).expect("memory");
        let mut output = Buffer::<f32>::poisoned(&device, 256).expect("memory");
        let call = typed_kernel::shared_operand(
            a.tensor_map(Matrix::new(256, k as u64)).expect("a matrix"),
            b.tensor_map(Matrix::new(128, k as u64)).expect("a matrix"),
            output.as_arg_mut(),
            steps,
        );
        silent(device.launch(&module, 2, call), seed);
        assert_eq!(output.to_vec().expect("memory"), expected, "seed {seed}, {steps} steps");
    }
}

#[test]
fn a_stage_is_multiplied_and_looked_at_by_sets_of_their_own() {
    let emulator = strict(ptx(), 2);
    let (device, module) = &emulator;
    for (seed, steps) in (0..SEEDS).zip([1, 2, 3, 5].into_iter().cycle()) {
        device.set_seed(seed);
        let k = 64 * steps as usize;
        let element = |i: usize, factor: usize| bf16::from_f32((i * factor % 5) as f32 - 2.0);
        let a: Vec<bf16> = (0..256 * k).map(|i| element(i, 3)).collect();
        let b: Vec<bf16> = (0..128 * k).map(|i| element(i, 7)).collect();
        let sum = |row: usize| -> f32 {
            (0..k).map(|i| a[row * k + i].to_f32() * b[100 * k + i].to_f32()).sum()
        };
        let expected: Vec<f32> = (0..256).map(sum).collect();
        let look = |row: usize| (0..k).step_by(64).map(|i| b[row * k + i].to_f32()).sum::<f32>();
        let looks: Vec<f32> = (0..64).map(|lane| look(lane % 32)).collect();
        let a = Buffer::from_slice(device, &a).expect("memory");
        let b = Buffer::from_slice(device, &b).expect("memory");
        let mut output = Buffer::<f32>::poisoned(device, 256).expect("memory");
        let mut seen = Buffer::<f32>::poisoned(device, 64).expect("memory");
        let call = typed_kernel::several::watched(
            a.tensor_map(Matrix::new(256, k as u64)).expect("a matrix"),
            b.tensor_map(Matrix::new(128, k as u64)).expect("a matrix"),
            output.as_arg_mut(),
            seen.as_arg_mut(),
            steps,
        );
        silent(device.launch(module, 2, call), seed);
        assert_eq!(output.to_vec().expect("memory"), expected, "seed {seed}, {steps} steps");
        assert_eq!(seen.to_vec().expect("memory"), looks, "seed {seed}, {steps} steps");
    }
}

#[test]
fn three_sets_read_every_stage_each_at_its_own_pace() {
    let emulator = strict(ptx(), 1);
    let (device, module) = &emulator;
    for (seed, rounds) in (0..SEEDS).zip([0, 1, 3, 10].into_iter().cycle()) {
        device.set_seed(seed);
        let sum = |lane: u32, factor: u32| -> u32 {
            (0..rounds).map(|round| factor * ((lane + round) % 32 + 100 * round)).sum()
        };
        let expected = |factor| (0..32).map(|lane| sum(lane, factor)).collect::<Vec<u32>>();
        let mut outputs = [(); 3].map(|()| Buffer::<u32>::poisoned(device, 32).expect("memory"));
        let [left, middle, right] = &mut outputs;
        let call = typed_kernel::several::spread(
            left.as_arg_mut(),
            middle.as_arg_mut(),
            right.as_arg_mut(),
            rounds,
        );
        silent(device.launch(module, 1, call), seed);
        for (factor, output) in (1..).zip(outputs) {
            let found = output.to_vec().expect("memory");
            assert_eq!(found, expected(factor), "seed {seed}, {rounds} rounds, set {factor}");
        }
    }
}

/// Rule C9: a stage comes back when all of the sets have handed it back, and no earlier.
#[test]
fn c9_a_set_that_does_not_hand_back_stops_the_ring() {
    let start = ptx().find(".entry spread(").expect("the kernel");
    let arrive = "mbarrier.arrive.release.cta";
    let arrivals: Vec<usize> =
        ptx()[start..].match_indices(arrive).map(|(at, _)| start + at).collect();
    // The first is the producer's; then one for each set.
    for &at in &arrivals[1..4] {
        let mut changed = ptx().to_owned();
        changed.insert_str(at, "//");
        let (device, module) = emulator_with(changed.leak(), EmulatorOptions::default());
        let mut outputs = [(); 3].map(|()| Buffer::<u32>::poisoned(&device, 32).expect("memory"));
        let [left, middle, right] = &mut outputs;
        let call = typed_kernel::several::spread(
            left.as_arg_mut(),
            middle.as_arg_mut(),
            right.as_arg_mut(),
            10,
        );
        let error = device.launch(&module, 1, call).expect_err("nobody fills the fourth stage");
        let said = error.to_string();
        assert!(said.contains("deadlock"), "{said}");
    }
}

#[test]
fn an_array_under_two_addresses_runs_under_every_schedule() {
    let (device, module) = emulator();
    for seed in 0..SEEDS {
        device.set_seed(seed);
        let mut array = Buffer::<u32>::poisoned(&device, 64).expect("memory");
        let mut output = Buffer::<u32>::poisoned(&device, 64).expect("memory");
        let first = array.as_arg_mut();
        // SAFETY: the kernel claims the array as one that it has twice, and touches it in no other way.
        let second =
            unsafe { DeviceSliceMut::from_raw(first.device(), first.address(), first.len()) };
        let call = typed_kernel::aliases(first, second, output.as_arg_mut());
        silent(device.launch(&module, 1, call), seed);
        let expected: Vec<u32> = (0..64).map(|i| 3 * (63 - i)).collect();
        assert_eq!(output.to_vec().expect("memory"), expected, "seed {seed}");
        assert_eq!(array.to_vec().expect("memory"), (0..64).collect::<Vec<u32>>(), "seed {seed}");
    }
}

#[test]
fn words_of_several_devices_run_on_one_under_every_schedule() {
    let (device, module) = emulator();
    for seed in 0..SEEDS {
        device.set_seed(seed);
        let mut words = Buffer::from_slice(&device, &[9u32, 5, 30, 4]).expect("memory");
        let mut output = Buffer::<u32>::poisoned(&device, 32).expect("memory");
        let address = words.as_arg_mut().address();
        let call = typed_kernel::multimem(address, output.as_arg_mut());
        silent(device.launch(&module, 1, call), seed);
        assert_eq!(output.to_vec().expect("memory"), [34; 32], "seed {seed}");
        assert_eq!(words.to_vec().expect("memory"), [1, 5 + 2 * 32, 30, 4], "seed {seed}");
    }
}

#[test]
fn c10_a_thread_that_pushes_nothing_is_not_passed_by_a_phase() {
    let (device, module) = emulator_with(ptx(), EmulatorOptions::default().with_strict(true));
    for (seed, rounds) in (0..100).zip([1, 2, 5].into_iter().cycle()) {
        device.set_seed(seed);
        let mut output = Buffer::<u32>::poisoned(&device, 128).expect("memory");
        let call = typed_kernel::few_elements(output.as_arg_mut(), rounds);
        silent(device.launch(&module, 2, call), seed);
        let sum = (0..rounds).map(|round| round + 2).sum::<u32>();
        assert_eq!(output.to_vec().expect("memory"), [sum; 128], "seed {seed}");
    }
}

#[test]
fn f3_a_cta_that_exchanges_less_often_than_its_peer_makes_it_wait() {
    let (device, module) = emulator();
    for seed in 0..SEEDS {
        device.set_seed(seed);
        let mut output = Buffer::<u32>::poisoned(&device, 64).expect("memory");
        silent(device.launch(&module, 2, typed_kernel::unequal(output.as_arg_mut(), 2, 0)), seed);
        // (1, 2), (5, 4), (13, 14)
        let [first, second] = [13, 14].map(|number| [number; 32]);
        assert_eq!(output.to_vec().expect("memory"), [first, second].concat(), "seed {seed}");
        for rounds in [0, 1] {
            let call = typed_kernel::unequal(output.as_arg_mut(), rounds, 1);
            let error =
                device.launch(&module, 2, call).expect_err("nobody meets the last exchange");
            let error = error.to_string();
            assert!(error.contains("deadlock"), "seed {seed}, {rounds} rounds: {error}");
        }
    }
}

#[test]
fn d13_a_pair_multiplies_under_every_schedule() {
    // One tile and one step; more steps than stages; more tiles than accumulators; stages that are not multiplied.
    for (tiles, steps, skip) in [(1, 1, 0), (1, 5, 0), (5, 1, 0), (3, 2, 0), (1, 4, 3), (2, 4, 2)] {
        pair_product(tiles, steps, skip);
    }
}

#[test]
fn d13_two_pairs_load_for_each_other_under_every_schedule() {
    let emulator = strict(ptx(), 4);
    for (seed, [tiles, steps]) in
        (0..SEEDS).zip([[1, 1], [1, 5], [4, 1], [3, 2]].into_iter().cycle())
    {
        let wrong = products_go_wrong(&emulator, 4, [tiles, steps, 0], seed);
        assert_eq!(wrong, None, "seed {seed}: {tiles} tiles, {steps} steps");
    }
}

/// Products of a pair, against sums in double precision.
fn pair_product(tiles: usize, steps: usize, skip: usize) {
    let emulator = strict(ptx(), 2);
    for seed in 0..SEEDS {
        let wrong = pair_product_goes_wrong(&emulator, [tiles, steps, skip], seed);
        assert_eq!(wrong, None, "seed {seed}: {tiles} tiles, {steps} steps, {skip} skipped");
    }
}

#[test]
fn d13_what_the_ctas_of_a_pair_say_to_each_other_is_needed() {
    let (start, end) = {
        let start = ptx().find(".entry pair_product(").expect("the kernel");
        (start, ptx()[start..].find(".visible").map_or(ptx().len(), |end| start + end))
    };
    let body = &ptx()[start..end];
    const ARRIVE: &str = "mbarrier.arrive.relaxed.cluster.shared::cluster";
    const COMMIT: &str = "tcgen05.commit";
    const WAIT: &str = "mbarrier.try_wait.parity.relaxed.cluster";
    // Behind a relaxed wait this half acquires (docs/emulator.md), so what is needed of the two fences there is this one.
    const ACQUIRE: &str =
        "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster";
    for (from, number, to) in [
        // Of the epilogue, to the CTA that leads.
        (ARRIVE, 0, "//"),
        (ARRIVE, 0, "mbarrier.arrive.relaxed.cta.shared::cluster"),
        // For a stage that comes back, and for the copies of both.
        (ACQUIRE, 0, "//"),
        (ACQUIRE, 1, "//"),
        (WAIT, 3, "mbarrier.try_wait.parity.relaxed.cta"),
        // Behind the wait for the matrix instructions, and behind that for the epilogues.
        ("tcgen05.fence::after_thread_sync", 1, "//"),
        ("tcgen05.fence::after_thread_sync", 3, "//"),
        // Of each thread of the epilogue, and of the one that arrives for them.
        ("tcgen05.fence::before_thread_sync", 1, "//"),
        ("tcgen05.fence::before_thread_sync", 2, "//"),
        (COMMIT, 0, "//"),
        (COMMIT, 1, "//"),
        (COMMIT, 2, "//"),
    ] {
        let at = body.match_indices(from).nth(number).expect("the instruction").0;
        let (before, after) = (&body[..at], &body[at + from.len()..]);
        let text = format!("{}{before}{to}{after}{}", &ptx()[..start], &ptx()[end..]);
        let emulator = strict(text.leak(), 2);
        let goes_wrong = |seed: u64| {
            let (tiles, steps) = [(3, 2), (5, 1), (2, 5)][seed as usize % 3];
            pair_product_goes_wrong(&emulator, [tiles, steps, 0], seed)
        };
        assert!((0..SEEDS).find_map(goes_wrong).is_some(), "`{from}` {number} becomes `{to}`");
    }
}

/// The kernels of this text on an emulator that errs on the side of an error, and gives up a run of so many CTAs that does not end.
fn strict(ptx: &'static str, ctas: u64) -> (Device, Module) {
    let mut options = EmulatorOptions::default().with_strict(true);
    options.machine.step_limit = Some(1_000_000 * ctas);
    emulator_with(ptx, options)
}

/// What is wrong with a pair's products under a seed.
fn pair_product_goes_wrong(
    emulator: &(Device, Module),
    shape: [usize; 3],
    seed: u64,
) -> Option<String> {
    products_go_wrong(emulator, 2, shape, seed)
}

/// What is wrong with the products of the pairs of a cluster under a seed.
fn products_go_wrong(
    (device, module): &(Device, Module),
    ctas: usize,
    [tiles, steps, skip]: [usize; 3],
    seed: u64,
) -> Option<String> {
    let together = 128 * ctas;
    let (rows, k, cols) = (together * tiles, 64 * steps, typed_kernel::PAIR_COLS);
    let element = |i: usize, factor: usize| bf16::from_f32((i * factor % 11) as f32 / 4.0 - 1.0);
    let a: Vec<bf16> = (0..rows * k).map(|i| element(i, 7)).collect();
    let b: Vec<bf16> = (0..cols * k).map(|i| element(i, 5)).collect();
    let sum = |row: usize, col: usize| -> f64 {
        let product =
            |i: usize| f64::from(a[row * k + i].to_f32()) * f64::from(b[col * k + i].to_f32());
        (64 * skip..k).map(product).sum()
    };
    let expected: Vec<f64> = (0..tiles * cols)
        .flat_map(|at| (0..together).map(move |row| (at / cols * together + row, at % cols)))
        .map(|(row, col)| sum(row, col))
        .collect();
    let a = Buffer::from_slice(device, &a).expect("memory");
    let b = Buffer::from_slice(device, &b).expect("memory");
    device.set_seed(seed);
    let mut output = Buffer::<f32>::poisoned(device, expected.len()).expect("memory");
    let a = a.tensor_map(Matrix::new(rows as u64, k as u64)).expect("a matrix");
    let columns = Matrix::new(cols as u64, k as u64);
    let output_of = output.as_arg_mut();
    let [tiles_of, steps_of, skip_of] = [tiles, steps, skip].map(|number| number as u32);
    let launched = if ctas == 4 {
        let b = b.tensor_map(columns).expect("a matrix");
        let call = typed_kernel::two_pairs(a, b, output_of, tiles_of, steps_of);
        device.launch(module, 4, call)
    } else if skip == 0 {
        let b = b.tensor_map(columns).expect("a matrix");
        let call = typed_kernel::pair_product(a, b, output_of, tiles_of, steps_of);
        device.launch(module, 2, call)
    } else {
        let b = b.tensor_map(columns).expect("a matrix");
        let call = typed_kernel::pair_skips(a, b, output_of, tiles_of, steps_of, skip_of);
        device.launch(module, 2, call)
    };
    match launched {
        Err(error) => return Some(error.to_string()),
        Ok(report) => {
            if let Some(hazard) = report.hazards.first() {
                return Some(hazard.to_string());
            }
        }
    }
    // Quarters below 2²⁴: f32 has them all.
    let found: Vec<f64> = output.to_vec().expect("memory").into_iter().map(f64::from).collect();
    let wrong: Vec<usize> = (0..expected.len()).filter(|&i| found[i] != expected[i]).collect();
    let first = wrong.first()?;
    Some(format!(
        "{} wrong, the first in row {} of column {}: {} for {}",
        wrong.len(),
        first % together,
        first / together,
        found[*first],
        expected[*first]
    ))
}

/// What is wrong with `in_turns`, or with `one_in_turns` where `alone`, under a seed.
fn stores_go_wrong(
    (device, module): &(Device, Module),
    alone: bool,
    pieces: u32,
    seed: u64,
) -> Option<String> {
    use typed_kernel::stores::{COLUMNS, ROWS, in_turns, one_in_turns};
    device.set_seed(seed);
    let elements = ROWS * COLUMNS * pieces;
    let empty = || Buffer::<u32>::poisoned(device, elements as usize).expect("memory");
    let matrix = Matrix::new((ROWS * pieces).into(), COLUMNS.into());
    let (mut first, mut second) = (empty(), empty());
    let map = first.tensor_map_mut(matrix).expect("a matrix");
    let launched = if alone {
        device.launch(module, 1, one_in_turns(map, pieces))
    } else {
        let second = second.tensor_map_mut(matrix).expect("a matrix");
        device.launch(module, 1, in_turns(map, second, pieces))
    };
    match launched {
        Err(error) => return Some(error.to_string()),
        Ok(report) => {
            if let Some(hazard) = report.hazards.first() {
                return Some(hazard.to_string());
            }
        }
    }
    let right = |buffer: &Buffer<u32>| buffer.to_vec().expect("memory").into_iter().eq(0..elements);
    (!right(&first) || !alone && !right(&second)).then(|| "wrong elements".to_owned())
}

#[test]
fn b7_buffers_take_turns_under_every_schedule() {
    let emulator = strict(ptx(), 1);
    for seed in 0..SEEDS {
        for alone in [false, true] {
            let pieces = 1 + seed as u32 % 7;
            let wrong = stores_go_wrong(&emulator, alone, pieces, seed);
            assert_eq!(wrong, None, "seed {seed}, {pieces} pieces");
        }
    }
}

/// A wait that lets one group more be unread lets the buffer be written that a copy still reads.
#[test]
fn b7_a_wait_that_lets_one_group_more_be_unread_is_noticed() {
    let start = ptx().find(".entry one_in_turns(").expect("the kernel");
    let end = ptx()[start..].find(".visible").map_or(ptx().len(), |end| start + end);
    let body = &ptx()[start..end];
    for (from, to) in [
        ("cp.async.bulk.wait_group.read 1", "cp.async.bulk.wait_group.read 2"),
        ("cp.async.bulk.wait_group.read 1", "//"),
        ("cp.async.bulk.wait_group.read 0", "cp.async.bulk.wait_group.read 1"),
    ] {
        assert!(body.contains(from), "`{from}`");
        let body = body.replace(from, to);
        let text = format!("{}{body}{}", &ptx()[..start], &ptx()[end..]);
        let emulator = strict(text.leak(), 1);
        let wrong = (0..SEEDS).find_map(|seed| stores_go_wrong(&emulator, true, 5, seed));
        assert!(wrong.is_some(), "`{from}` becomes `{to}`");
    }
}

#[test]
fn copies_say_what_the_cache_should_do() {
    use typed_kernel::stores::{COLUMNS, ROWS, cached_copy};
    let load = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint";
    let store = "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group.L2::cache_hint";
    for step in [load, store] {
        has_steps("cached_copy", &[step]);
    }
    has_steps("cached_copy", &["createpolicy.fractional.L2::evict_first"]);
    has_steps("cached_copy", &["createpolicy.fractional.L2::evict_last.L2::evict_first"]);
    let (device, module) = strict(ptx(), 1);
    for seed in 0..SEEDS {
        device.set_seed(seed);
        let pieces = 1 + seed as u32 % 5;
        let elements: Vec<u32> = (0..ROWS * COLUMNS * pieces).collect();
        let from = Buffer::from_slice(&device, &elements).expect("memory");
        let mut to = Buffer::<u32>::poisoned(&device, elements.len()).expect("memory");
        let matrix = Matrix::new((ROWS * pieces).into(), COLUMNS.into());
        let from = from.tensor_map(matrix).expect("a matrix");
        let call = cached_copy(from, to.tensor_map_mut(matrix).expect("a matrix"), pieces);
        silent(device.launch(&module, 1, call), seed);
        assert_eq!(to.to_vec().expect("memory"), elements, "seed {seed}");
    }
}
