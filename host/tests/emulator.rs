//! A module written by hand, from buffer to launch to result, on the emulator; and everything that a
//! launch refuses.
//!
//! The functions that `#[baton::kernel]` would make are written out here, because this crate's tests
//! do without a device build.

mod fixture;

use baton::global::Store;
use baton::launch::{Call, KernelParam, Params, Shape, TensorMap};
use baton::tile::Tile;
use baton_host::baton_emulator::tensor_map;
use baton_host::{
    BadLaunch, Binary, Buffer, Code, Declared, Device, EmulatorOptions, Error, Image, KernelInfo,
    Matrix, write,
};
use fixture::{KERNELS, SHAPE, bare, kernel, race, scale};

fn device() -> Device {
    Device::emulator(EmulatorOptions::default())
}

fn refusal(result: Result<baton_host::LaunchReport, Error>) -> BadLaunch {
    match result {
        Err(Error::BadLaunch { problem, .. }) => problem,
        other => panic!("expected a launch to be refused, got {other:?}"),
    }
}

#[test]
fn a_kernel_reads_and_writes_buffers() {
    let device = device();
    let module = device.load(&KERNELS).unwrap();
    assert_eq!((module.arch(), module.code()), ("sm_90a", Code::EmulatedPtx));

    let values: Vec<f32> = (0..8u8).map(f32::from).collect();
    let input = Buffer::from_slice(&device, &values).unwrap();
    let mut output = Buffer::<f32>::poisoned(&device, 8).unwrap();
    assert!(output.to_vec().unwrap().iter().all(|value| value.is_nan()));

    let report =
        device.launch(&module, 2, scale(input.as_arg(), output.as_arg_mut(), 0.5)).unwrap();

    let expected: Vec<f32> = values.iter().map(|value| value * 0.5).collect();
    assert_eq!(output.to_vec().unwrap(), expected);
    assert_eq!(input.to_vec().unwrap(), values);
    assert!(report.instructions.is_some_and(|count| count >= 8), "{report:?}");
}

#[test]
fn an_access_out_of_bounds_is_an_error_of_the_emulator() {
    let device = device();
    let module = device.load(&KERNELS).unwrap();
    let input = Buffer::from_slice(&device, &[1.0f32; 4]).unwrap();
    let mut output = Buffer::<f32>::zeroed(&device, 4).unwrap();
    // 4096 CTAs of four threads, and buffers of four elements.
    let result = device.launch(&module, 4096, scale(input.as_arg(), output.as_arg_mut(), 1.0));
    let Err(Error::Emulator(error)) = result else { panic!("{result:?}") };
    assert!(error.to_string().contains("scale"), "{error}");
    // The device lives on.
    drop(device.launch(&module, 1, scale(input.as_arg(), output.as_arg_mut(), 3.0)).unwrap());
    assert_eq!(output.to_vec().unwrap(), [3.0; 4]);
}

static DECLARED: Image = Image {
    name: "declared",
    binaries: &[Binary {
        arch: "sm_90a",
        ptx: KERNELS.binaries[0].ptx,
        lines: "",
        cubin: None,
        kernels: &[KernelInfo {
            declared: Some(Declared {
                threads: SHAPE.threads,
                cluster: [0; 3],
                dynamic_shared: 0,
                parameters: &[],
                signatures: &[],
            }),
            ..kernel("print")
        }],
    }],
};

#[test]
fn a_call_for_another_build_of_the_kernel_is_refused() {
    let device = device();
    let module = device.load(&DECLARED).unwrap();
    drop(device.launch(&module, 1, bare("print", SHAPE)).unwrap());

    let refused = |call| match refusal(device.launch(&module, 1, call)) {
        BadLaunch::WrongShape { what, .. } => what,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(bare("print", Shape { threads: [8, 1, 1], ..SHAPE })), "threads");
    let cluster = Some([1; 3]);
    assert_eq!(refused(bare("print", Shape { cluster, ..SHAPE })), "CTAs of a cluster");
    let more = Shape { dynamic_shared: 64, ..SHAPE };
    assert_eq!(refused(bare("print", more)), "bytes of dynamic shared memory");
    let mut params = Params::new();
    u32::push(1, &mut params);
    // SAFETY: not what the entry takes, and so it is refused.
    let call = unsafe { Call::new("print", SHAPE, params) };
    assert_eq!(refused(call), "bytes of parameters");
}

#[test]
fn what_a_kernel_prints_is_reported_and_a_seed_repeats_it() {
    let printed = |seed| {
        let device = Device::emulator(EmulatorOptions::default());
        let module = device.load(&KERNELS).unwrap();
        device.set_seed(seed);
        let shape = Shape { threads: [1; 3], ..SHAPE };
        device.launch(&module, 8, bare("print", shape)).unwrap().output
    };
    let runs: Vec<String> = (0..16).map(printed).collect();
    for (seed, output) in (0..).zip(&runs) {
        let mut numbers: Vec<u32> = output.lines().map(|line| line.parse().unwrap()).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(printed(seed), *output);
    }
    assert!(runs.iter().any(|run| *run != runs[0]), "every seed has the same order");
}

#[test]
fn a_trap_names_the_kernel() {
    let device = device();
    let module = device.load(&KERNELS).unwrap();
    let error = device.launch(&module, 1, bare("trap", SHAPE)).unwrap_err();
    assert!(matches!(error, Error::Emulator(_)), "{error:?}");
    assert!(error.to_string().contains("trap"), "{error}");
}

#[test]
fn memory_and_modules_of_another_device_are_refused() {
    let (here, there) = (device(), device());
    let module = here.load(&KERNELS).unwrap();
    let input = Buffer::from_slice(&here, &[0.0f32; 4]).unwrap();
    let mut output = Buffer::<f32>::zeroed(&there, 4).unwrap();

    let problem = refusal(here.launch(&module, 1, scale(input.as_arg(), output.as_arg_mut(), 1.0)));
    assert_eq!(problem, BadLaunch::ForeignMemory { parameter: 1 });

    let problem = refusal(there.launch(&module, 1, bare("trap", SHAPE)));
    assert_eq!(problem, BadLaunch::ForeignModule { module: "by_hand" });
}

#[test]
fn a_kernel_that_the_module_lacks_is_refused_with_those_that_it_has() {
    let device = device();
    let module = device.load(&KERNELS).unwrap();
    let problem = refusal(device.launch(&module, 1, bare("scail", SHAPE)));
    assert!(matches!(problem, BadLaunch::UnknownKernel { .. }));
    assert!(
        problem.to_string().contains("scale, print, clusters, trap, spoil, count, plane, race"),
        "{problem}"
    );
}

#[test]
fn parameters_that_the_entry_does_not_have_are_refused() {
    let device = device();
    let module = device.load(&KERNELS).unwrap();
    let error = device.launch(&module, 1, bare("scale", SHAPE)).unwrap_err();
    assert!(error.to_string().contains("scale"), "{error}");

    let mut params = Params::new();
    for _ in 0..3 {
        u64::push(0, &mut params);
    }
    // SAFETY: deliberately not the entry's parameters: being refused is what is tested, and the
    // emulator has no memory to harm.
    let call = unsafe { Call::new("scale", SHAPE, params) };
    let error = device.launch(&module, 1, call).unwrap_err();
    assert!(error.to_string().contains("16"), "{error}");
}

#[test]
fn grids_and_blocks_that_no_device_runs_are_refused() {
    let device = device();
    let module = device.load(&KERNELS).unwrap();
    let launch = |grid: [u32; 3], shape| refusal(device.launch(&module, grid, bare("trap", shape)));

    assert_eq!(launch([1, 0, 1], SHAPE), BadLaunch::EmptyGrid { grid: [1, 0, 1] });
    assert!(matches!(launch([1, 65536, 1], SHAPE), BadLaunch::GridTooLarge { .. }));
    let most = [i32::MAX as u32, 65535, 65535];
    assert!(matches!(launch(most, SHAPE), BadLaunch::TooManyCtas { .. }));
    for threads in [[0, 1, 1], [1025, 1, 1], [32, 32, 2], [1, 1, 65], [u32::MAX; 3]] {
        let shape = Shape { threads, ..SHAPE };
        assert!(matches!(launch([1; 3], shape), BadLaunch::BadBlock { .. }), "{threads:?}");
    }
}

#[test]
fn clusters_divide_the_grid_and_fit_the_target() {
    let device = device();
    let module = device.load(&KERNELS).unwrap();
    let clusters = |cluster| bare("clusters", Shape { cluster: Some(cluster), ..SHAPE });

    let problem = refusal(device.launch(&module, 3, clusters([2, 1, 1])));
    assert_eq!(problem, BadLaunch::PartialCluster { grid: [3, 1, 1], cluster: [2, 1, 1] });
    let problem = refusal(device.launch(&module, 32, clusters([16, 1, 1])));
    assert!(matches!(problem, BadLaunch::ClusterTooLarge { ctas: 16, limit: 8, .. }));
    assert!(matches!(
        refusal(device.launch(&module, 1, clusters([0, 1, 1]))),
        BadLaunch::PartialCluster { .. }
    ));
    drop(device.launch(&module, 4, clusters([2, 1, 1])).unwrap());
}

#[test]
fn shared_memory_is_limited_as_on_the_target() {
    let device = device();
    let module = device.load(&KERNELS).unwrap();
    let needs = |dynamic_shared| bare("clusters", Shape { dynamic_shared, ..SHAPE });
    let problem = refusal(device.launch(&module, 1, needs(227 * 1024 + 1)));
    assert!(matches!(problem, BadLaunch::SharedMemory { limit: 232448, .. }), "{problem}");
    drop(device.launch(&module, 1, needs(227 * 1024)).unwrap());
}

#[test]
fn a_target_that_was_not_built_is_an_error() {
    let device = Device::emulator(EmulatorOptions::default().with_arch("sm_100a"));
    let text = device.load(&KERNELS).unwrap_err().to_string();
    assert!(
        text.contains("by_hand") && text.contains("sm_100a") && text.contains("sm_90a"),
        "{text}"
    );

    let empty = Image { name: "empty", binaries: &[] };
    assert!(matches!(self::device().load(&empty), Err(Error::NoSuchTarget { .. })));
}

#[test]
fn damaged_images_are_errors() {
    static DAMAGED: [Binary; 1] = [Binary {
        arch: "sm_90a",
        ptx: ".version 8.0\n.target",
        lines: "",
        cubin: None,
        kernels: &[],
    }];
    let image = Image { name: "damaged", binaries: &DAMAGED };
    assert!(matches!(device().load(&image), Err(Error::Emulator(_))));

    static NO_LINES: [Binary; 1] = [Binary {
        arch: "sm_90a",
        ptx: ".version 8.0\n.target sm_90a\n.address_size 64\n",
        lines: "no table",
        cubin: None,
        kernels: &[],
    }];
    let image = Image { name: "damaged", binaries: &NO_LINES };
    assert!(matches!(device().load(&image), Err(Error::DamagedLines { .. })));
}

#[test]
fn copies_are_of_the_whole_buffer() {
    let device = device();
    let mut buffer = Buffer::from_slice(&device, &[1u16, 2, 3]).unwrap();
    assert!(matches!(buffer.write(&[1]), Err(Error::LengthMismatch { buffer: 3, host: 1 })));
    assert!(matches!(buffer.read(&mut [0; 4]), Err(Error::LengthMismatch { buffer: 3, host: 4 })));
    assert_eq!(buffer.to_vec().unwrap(), [1, 2, 3]);
    buffer.fill(0x11).unwrap();
    assert_eq!(buffer.to_vec().unwrap(), [0x1111; 3]);
}

#[test]
fn empty_and_enormous_buffers() {
    let device = device();
    let empty = Buffer::<f64>::from_slice(&device, &[]).unwrap();
    assert!(empty.is_empty() && empty.to_vec().unwrap().is_empty());
    assert!(matches!(Buffer::<f64>::alloc(&device, usize::MAX), Err(Error::TooLarge { .. })));
    assert!(matches!(Buffer::<u8>::alloc(&device, usize::MAX / 2), Err(Error::OutOfMemory { .. })));
}

#[test]
fn freed_memory_can_be_allocated_again() {
    let mut options = EmulatorOptions::default();
    options.machine.global_bytes = 1 << 20;
    let device = Device::emulator(options);
    for _ in 0..16 {
        Buffer::<u8>::zeroed(&device, 1 << 19).unwrap();
    }
}

/// What the tensor unit is told about a matrix.
fn decoded<T, A>(map: &TensorMap<'_, T, A>) -> tensor_map::TensorMapDesc {
    let words = map.encoded().0;
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    tensor_map::decode(bytes.as_slice().try_into().unwrap()).unwrap()
}

#[test]
fn a_tensor_map_follows_from_matrix_and_tile() {
    let device = device();
    let mut buffer = Buffer::<f32>::zeroed(&device, 100 * 72).unwrap();
    let matrix = Matrix::new(100, 70).with_pitch(72);

    let map: TensorMap<'_, Tile<f32, 64, 64>> = buffer.tensor_map(matrix).unwrap();
    let desc = decoded(&map);
    assert_eq!(desc.data_type, tensor_map::DataType::F32);
    assert_eq!(desc.rank, 2);
    assert_eq!(desc.global_dims[..2], [70, 100]);
    assert_eq!(desc.global_strides[..1], [72 * 4]);
    // A panel: 128 bytes of each of the tile's rows.
    assert_eq!(desc.box_dims[..2], [32, 64]);
    assert_eq!(desc.swizzle, tensor_map::Swizzle::B128);
    assert_eq!(buffer.as_arg().address(), desc.global_address);

    let map: TensorMap<'_, Tile<f32, 8, 32>, Store> = buffer.tensor_map_mut(matrix).unwrap();
    assert_eq!(decoded(&map).box_dims[..2], [32, 8]);
}

#[test]
fn matrices_that_the_tensor_unit_cannot_address_are_errors() {
    let device = device();
    let buffer = Buffer::<f32>::zeroed(&device, 100).unwrap();
    let text = |matrix| {
        let map = buffer.tensor_map::<Tile<f32, 8, 32>>(matrix);
        map.map(|_| ()).unwrap_err().to_string()
    };
    assert!(text(Matrix::new(10, 11)).contains("does not fit a buffer of 100 elements"));
    assert!(text(Matrix::new(10, 10).with_pitch(9)).contains("pitch is less than a row"));
    assert!(text(Matrix::new(u64::MAX, 8)).contains("does not fit"));
    // Rows of 40 bytes do not begin at multiples of 16.
    let odd = text(Matrix::new(10, 10));
    assert!(odd.contains("10 x 10") && odd.contains("multiple of 16"), "{odd}");
    assert!(text(Matrix::new(0, 8)).contains("0 elements"));
}

/// What a process prints to standard error that races, and does `with` the report.
fn printed_of(with: &str) -> String {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "hazards_that_nobody_looks_at_are_printed", "--nocapture"])
        .env("BATON_TEST_REPORT", with)
        .output()
        .unwrap();
    assert!(output.status.success(), "{with}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn hazards_that_nobody_looks_at_are_printed() {
    let Some(with) = std::env::var_os("BATON_TEST_REPORT") else {
        let race = |with| printed_of(with).matches("nothing orders the two").count();
        for lost in ["dropped", "dropped of a stream", "lost with its stream"] {
            assert!(race(lost) > 0, "{lost}: {}", printed_of(lost));
        }
        for taken in ["looked at", "taken", "looked at of a stream"] {
            assert_eq!(race(taken), 0, "{taken}: {}", printed_of(taken));
        }
        return;
    };
    let device = device();
    let module = device.load(&KERNELS).unwrap();
    let stream = device.stream().unwrap();
    let mut output = Buffer::<u32>::zeroed(&device, 1).unwrap();
    let with = with.to_str().unwrap();
    if with.ends_with("stream") {
        stream.launch(&module, 2, race, (write(&mut output),)).unwrap().synchronize().unwrap();
        match with {
            "dropped of a stream" => drop(stream.synchronize().unwrap()),
            "looked at of a stream" => assert!(!stream.synchronize().unwrap().hazards.is_empty()),
            _ => drop(stream),
        }
        return;
    }
    let report = device.launch(&module, 2, race(output.as_arg_mut())).unwrap();
    match with {
        "dropped" => drop(report),
        "looked at" => assert!(!report.hazards.is_empty()),
        _ => assert!(!report.hazards.into_vec().is_empty()),
    }
}
