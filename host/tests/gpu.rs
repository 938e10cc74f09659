//! The GPU side against a stand-in for the driver library (`stand_in/driver.rs`), and machines that
//! have no driver or a useless one.

#![cfg(target_os = "linux")]

use std::time::Duration;

use baton::launch::{Call, KernelParam, Params, Shape};
use baton::tile::Tile;
use baton_host::{
    BadLaunch, Binary, Buffer, Choice, Code, DataType, Device, EmulatorOptions, Error, Image,
    Interleave, KernelInfo, L2Promotion, Matrix, Occupancy, OobFill, Swizzle, Tiled,
};

mod fixture;
mod stand_in;

use fixture::{bare, kernel, scale_of};
use stand_in::{Driver, allocations, asked, fail, log, with};

static INFOS: [KernelInfo; 3] = [kernel("scale"), kernel("cluster"), kernel("missing")];

const fn binary(arch: &'static str, cubin: Option<&'static [u8]>) -> Binary {
    Binary {
        arch,
        ptx: ".version 8.0\n.target sm_90a\n.address_size 64\n",
        lines: "",
        cubin,
        kernels: &INFOS,
    }
}

static KERNELS: Image = Image { name: "k", binaries: &[binary("sm_90a", Some(b"good\0"))] };

const SHAPE: Shape = Shape { threads: [64, 1, 1], cluster: None, min_ctas: 1, dynamic_shared: 0 };

#[test]
fn without_a_driver_there_is_the_emulator() {
    with(Driver::None, &[], "without_a_driver_there_is_the_emulator", || {
        assert!(matches!(Device::gpu(0), Err(Error::NoDriver)));
        let text = Device::gpu(0).unwrap_err().to_string();
        assert!(text.contains("install") && text.contains("BATON_DEVICE=emulator"), "{text}");

        let list = Device::list();
        assert_eq!(list.len(), 1);
        assert_eq!(list[0].choice, Choice::Emulator);

        let device = Device::auto(&KERNELS).unwrap();
        assert!(device.is_emulator());
        assert!(matches!(device.fallback(), Some(Error::NoDriver)));
    });
}

#[test]
fn the_variable_decides() {
    let wishes = [("BATON_DEVICE", "gpu:3")];
    with(Driver::StandIn, &wishes, "the_variable_decides", || {
        assert!(matches!(Device::auto(&KERNELS), Err(Error::NoSuchGpu { index: 3, count: 1 })));
        let chosen = Device::open(Choice::Gpu(0), &KERNELS, EmulatorOptions::default());
        assert_eq!(chosen.unwrap().name(), "Stand-in 0");
    });
}

#[test]
fn a_driver_that_lacks_a_symbol_is_an_error_and_no_panic() {
    let test = "a_driver_that_lacks_a_symbol_is_an_error_and_no_panic";
    with(Driver::Incomplete, &[], test, || {
        let text = Device::gpu(0).unwrap_err().to_string();
        assert!(text.contains("cuEventDestroy_v2") && text.contains("incomplete"), "{text}");
        assert!(Device::auto(&KERNELS).unwrap().is_emulator());
    });
}

#[test]
fn a_driver_without_gpus_is_an_error() {
    let wishes = [("STAND_IN_FAIL", "cuInit:100")];
    with(Driver::StandIn, &wishes, "a_driver_without_gpus_is_an_error", || {
        let text = Device::gpu(0).unwrap_err().to_string();
        assert!(text.contains("CUDA_ERROR_NO_DEVICE"), "{text}");
        assert!(Device::auto(&KERNELS).unwrap().is_emulator());
    });
}

#[test]
fn auto_takes_a_gpu_that_the_image_fits() {
    let wishes = [("STAND_IN_GPUS", "2")];
    with(Driver::StandIn, &wishes, "auto_takes_a_gpu_that_the_image_fits", || {
        let device = Device::auto(&KERNELS).unwrap();
        assert_eq!((device.name(), device.compute_capability()), ("Stand-in 0", Some((9, 0))));
        assert!(device.fallback().is_none());
        assert_eq!(Device::list().len(), 3);
        assert_eq!(Device::list()[1].memory, Some(1 << 30));
    });
}

#[test]
fn code_for_another_gpu_is_not_loaded() {
    let wishes = [("STAND_IN_CAPABILITY", "12.0")];
    with(Driver::StandIn, &wishes, "code_for_another_gpu_is_not_loaded", || {
        let device = Device::auto(&KERNELS).unwrap();
        assert!(device.is_emulator());
        assert!(matches!(device.fallback(), Some(Error::NoFittingCode { major: 12, .. })));

        let text = Device::gpu(0).unwrap().load(&KERNELS).unwrap_err().to_string();
        for part in ["`k`", "sm_90a", "Stand-in 0 is sm_120", "BATON_DEVICE=emulator"] {
            assert!(text.contains(part), "{text}");
        }
        assert!(!log().contains("load"), "{}", log());
    });
}

#[test]
fn machine_code_is_preferred_and_ptx_is_the_second_way() {
    let test = "machine_code_is_preferred_and_ptx_is_the_second_way";
    with(Driver::StandIn, &[], test, || {
        let device = Device::gpu(0).unwrap();
        assert_eq!(device.load(&KERNELS).unwrap().code(), Code::Cubin);

        static REFUSED: [Binary; 1] = [binary("sm_90a", Some(b"bad\0"))];
        let image = Image { name: "k", binaries: &REFUSED };
        assert_eq!(device.load(&image).unwrap().code(), Code::DriverCompiled);
        assert_eq!(log(), "create stream 1\nload good\nunload\nload bad\nload .version\nunload\n");
    });
}

#[test]
fn code_that_the_driver_refuses_is_an_error_with_its_words() {
    let test = "code_that_the_driver_refuses_is_an_error_with_its_words";
    with(Driver::StandIn, &[], test, || {
        static REFUSED: [Binary; 1] =
            [Binary { ptx: "no PTX", ..binary("sm_90a", Some(b"bad\0")) }];
        let image = Image { name: "k", binaries: &REFUSED };
        let text = Device::gpu(0).unwrap().load(&image).unwrap_err().to_string();
        for part in ["machine code for sm_90a", "PTX for sm_90a", "unfit for this GPU", "NO_BINARY"]
        {
            assert!(text.contains(part), "{text}");
        }
    });
}

#[test]
fn a_launch_passes_what_the_call_says() {
    with(Driver::StandIn, &[], "a_launch_passes_what_the_call_says", || {
        let device = Device::gpu(0).unwrap();
        let module = device.load(&KERNELS).unwrap();
        let input = Buffer::from_slice(&device, &[1.0f32, 2.0, 3.0]).unwrap();
        let mut output = Buffer::<f32>::poisoned(&device, 3).unwrap();
        assert!(output.to_vec().unwrap().iter().all(|value| value.is_nan()));

        let shape = Shape { cluster: Some([2, 1, 1]), dynamic_shared: 100_000, ..SHAPE };
        let call = scale_of(shape, input.as_arg(), output.as_arg_mut(), 4.0);
        let report = device.launch(&module, (4, 2), call).unwrap();
        assert_eq!(report.elapsed, Duration::from_micros(1500));
        assert_eq!(output.to_vec().unwrap(), [4.0, 8.0, 12.0]);
        let log = log();
        for part in [
            "set attribute 8 to 100000\n",
            "launch grid [4, 2, 1] block [64, 1, 1] shared 100000 attribute 4 = [2, 1, 1] on 1\n",
        ] {
            assert!(log.contains(part), "{log}");
        }

        let call = scale_of(SHAPE, input.as_arg(), output.as_arg_mut(), 4.0);
        drop(device.launch(&module, 1, call).unwrap());
        assert!(self::log().contains("shared 0 on 1\n"), "{}", self::log());

        drop((input, output, module, device));
        assert_eq!(allocations(), 0);
    });
}

#[test]
fn the_driver_says_how_much_runs_at_the_same_time() {
    with(Driver::StandIn, &[], "the_driver_says_how_much_runs_at_the_same_time", || {
        let device = Device::gpu(0).unwrap();
        let module = device.load(&KERNELS).unwrap();
        let shape = Shape { cluster: Some([2, 1, 1]), ..SHAPE };
        let occupancy = device.occupancy(&module, &bare("cluster", shape)).unwrap();
        let expected =
            Occupancy { ctas_per_multiprocessor: 2, multiprocessors: 132, clusters: Some(66) };
        assert_eq!(occupancy, expected);
        assert_eq!(occupancy.resident_ctas(), 264);
        assert!(log().contains("occupancy of 64 threads and 0 bytes"), "{}", log());
        assert!(log().contains("clusters of grid [2, 1, 1] block [64, 1, 1]"), "{}", log());
        // What a launch would refuse has no occupancy either.
        let wrong = device.occupancy(&module, &bare("cluster", SHAPE));
        assert!(matches!(wrong, Err(Error::BadLaunch { .. })), "{wrong:?}");
    });
}

#[test]
fn a_cluster_shape_that_was_compiled_in_is_compared_and_not_set() {
    let test = "a_cluster_shape_that_was_compiled_in_is_compared_and_not_set";
    with(Driver::StandIn, &[], test, || {
        let device = Device::gpu(0).unwrap();
        let module = device.load(&KERNELS).unwrap();
        let launch =
            |cluster| device.launch(&module, 4, bare("cluster", Shape { cluster, ..SHAPE }));
        drop(launch(Some([2, 1, 1])).unwrap());
        assert!(log().contains("shared 0 on 1\n") && !log().contains("attribute"), "{}", log());
        for wrong in [None, Some([4, 1, 1])] {
            assert!(matches!(
                launch(wrong),
                Err(Error::BadLaunch {
                    problem: BadLaunch::WrongCluster { compiled: [2, 1, 1], .. },
                    ..
                })
            ));
        }
    });
}

#[test]
fn parameters_and_threads_are_compared_with_the_compiled_kernel() {
    let test = "parameters_and_threads_are_compared_with_the_compiled_kernel";
    with(Driver::StandIn, &[], test, || {
        let device = Device::gpu(0).unwrap();
        let module = device.load(&KERNELS).unwrap();
        let problem = |call| match device.launch(&module, 2, call) {
            Err(Error::BadLaunch { problem, .. }) => problem,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            problem(bare("scale", SHAPE)),
            BadLaunch::WrongParameter { parameter: 0, compiled: 16, passed: 0 }
        );
        let mut params = Params::new();
        u8::push(1, &mut params);
        // SAFETY: refused, as the next lines check.
        let call = unsafe { Call::new("cluster", SHAPE, params) };
        assert_eq!(
            problem(call),
            BadLaunch::WrongParameter { parameter: 0, compiled: 0, passed: 1 }
        );
        let shape = Shape { threads: [1024, 1, 1], cluster: Some([2, 1, 1]), ..SHAPE };
        assert!(matches!(problem(bare("cluster", shape)), BadLaunch::BadBlock { limit: 512, .. }));
        assert!(!log().contains("launch"), "{}", log());

        // The image says that it has this kernel, and the module has not.
        let error = device.launch(&module, 1, bare("missing", SHAPE)).unwrap_err();
        assert!(error.to_string().contains("finding kernel `missing`"), "{error}");
    });
}

#[test]
fn a_kernel_that_fails_is_an_error_that_names_it() {
    let wishes = [("STAND_IN_FAIL", "kernel:719")];
    with(Driver::StandIn, &wishes, "a_kernel_that_fails_is_an_error_that_names_it", || {
        let device = Device::gpu(0).unwrap();
        let module = device.load(&KERNELS).unwrap();
        let call = bare("cluster", Shape { cluster: Some([2, 1, 1]), ..SHAPE });
        let error = device.launch(&module, 2, call).unwrap_err();
        assert!(matches!(error, Error::KernelFailed { kernel: "cluster", .. }), "{error:?}");
        assert!(error.to_string().contains("CUDA_ERROR_LAUNCH_FAILED"), "{error}");
    });
}

#[test]
fn memory_that_the_gpu_does_not_have_is_an_error() {
    with(Driver::StandIn, &[], "memory_that_the_gpu_does_not_have_is_an_error", || {
        let device = Device::gpu(0).unwrap();
        let error = Buffer::<f64>::alloc(&device, 1 << 40).unwrap_err();
        assert!(
            error.to_string().contains("allocating 8796093022208 bytes on Stand-in 0"),
            "{error}"
        );
        let empty = Buffer::<f64>::zeroed(&device, 0).unwrap();
        assert!(empty.to_vec().unwrap().is_empty());
    });
}

#[test]
fn a_device_may_be_used_from_any_thread() {
    with(Driver::StandIn, &[], "a_device_may_be_used_from_any_thread", || {
        let device = Device::gpu(0).unwrap();
        let buffer = Buffer::from_slice(&device, &[7u8; 100]).unwrap();
        let copy = std::thread::spawn(move || buffer.to_vec().unwrap()).join().unwrap();
        assert_eq!(copy, [7; 100]);
        drop(device);
        assert_eq!(allocations(), 0);
    });
}

#[test]
fn tensor_maps_are_encoded_by_the_driver() {
    with(Driver::StandIn, &[], "tensor_maps_are_encoded_by_the_driver", || {
        let device = Device::gpu(0).unwrap();
        let buffer = Buffer::<f32>::zeroed(&device, 100 * 72).unwrap();
        let matrix = Matrix::new(100, 70).with_pitch(72);
        let log = asked(|| {
            let map = buffer.tensor_map::<Tile<f32, 64, 64>>(matrix).unwrap();
            assert_eq!(map.encoded().0[..2], [7, buffer.as_arg().address()]);
        });
        // A box is a panel; 128-byte swizzle, 256 bytes of L2, zeros.
        let expected = "tiled map: type 7 dims [70, 100] strides [288] box [32, 64] steps [1, 1] \
                        interleave 0 swizzle 3 L2 3 fill 0";
        assert_eq!(log, [expected]);
        // The rules are checked before the driver is asked, which would only say "invalid".
        let error = buffer.tensor_map::<Tile<f32, 64, 64>>(Matrix::new(100, 70)).unwrap_err();
        assert!(error.to_string().contains("multiple of 16"), "{error}");
    });
}

/// A buffer of this element type, described in one dimension.
fn one_dimension<T: baton::tile::Element + baton::launch::DeviceValue>(device: &Device) -> String {
    let buffer = Buffer::<T>::zeroed(device, 64).unwrap();
    let log = asked(|| {
        let _map = buffer.tiled(&[64], &[32]).encode().unwrap();
    });
    log.last().unwrap().split(' ').nth(3).unwrap().to_owned()
}

#[test]
fn every_field_of_a_tiled_map_reaches_the_driver() {
    with(Driver::StandIn, &[], "every_field_of_a_tiled_map_reaches_the_driver", || {
        let device = Device::gpu(0).unwrap();
        // The driver's numbers.
        assert_eq!(one_dimension::<u8>(&device), "0");
        assert_eq!(one_dimension::<u16>(&device), "1");
        assert_eq!(one_dimension::<u32>(&device), "2");
        assert_eq!(one_dimension::<i32>(&device), "3");
        assert_eq!(one_dimension::<u64>(&device), "4");
        assert_eq!(one_dimension::<i64>(&device), "5");
        assert_eq!(one_dimension::<baton::float::f16>(&device), "6");
        assert_eq!(one_dimension::<f32>(&device), "7");
        assert_eq!(one_dimension::<f64>(&device), "8");
        assert_eq!(one_dimension::<baton::float::bf16>(&device), "9");

        let mut buffer = Buffer::<f32>::zeroed(&device, 16 * 10 * 9 * 8 * 7).unwrap();
        let full = "tiled map: type 11 dims [16, 10, 9, 8, 7] strides [64, 640, 5760, 46080] box [8, 4, 3, 2, 1] \
                    steps [1, 2, 1, 1, 8] interleave 0 swizzle 1 L2 2 fill 1";
        let log = asked(|| {
            let map = buffer
                .tiled_mut(&[16, 10, 9, 8, 7], &[8, 4, 3, 2, 1])
                .data_type(DataType::Tf32)
                .element_strides(&[1, 2, 1, 1, 8])
                .swizzle(Swizzle::B32)
                .l2_promotion(L2Promotion::B128)
                .fill(OobFill::Nan)
                .encode()
                .unwrap();
            // Every second of four in one dimension.
            assert_eq!(map.bytes(), 8 * 2 * 3 * 2 * 4);
            assert_eq!(map.words()[0], 11);
        });
        assert_eq!(log, [full]);

        let swizzles = [
            (Swizzle::None, 0),
            (Swizzle::B32, 1),
            (Swizzle::B64, 2),
            (Swizzle::B128, 3),
            (Swizzle::B128Atom32, 4),
            (Swizzle::B128Atom32Flip8, 5),
            (Swizzle::B128Atom64, 6),
        ];
        for (swizzle, number) in swizzles {
            let log = asked(|| {
                let _map = buffer.tiled(&[16, 70], &[8, 64]).swizzle(swizzle).encode().unwrap();
            });
            assert!(log[0].contains(&format!("swizzle {number} ")), "{log:?}");
        }
        for (interleave, swizzle, number) in
            [(Interleave::B16, Swizzle::None, 1), (Interleave::B32, Swizzle::B32, 2)]
        {
            let log = asked(|| {
                let map = buffer.tiled(&[16, 10, 9], &[8, 4, 3]).swizzle(swizzle);
                // SAFETY: the stand-in puts nothing anywhere.
                let _map = unsafe { map.interleave(interleave) }.encode().unwrap();
            });
            assert!(log[0].contains(&format!("interleave {number} ")), "{log:?}");
        }
    });
}

#[test]
fn every_field_of_an_im2col_map_reaches_the_driver() {
    with(Driver::StandIn, &[], "every_field_of_an_im2col_map_reaches_the_driver", || {
        let device = Device::gpu(0).unwrap();
        let buffer = Buffer::<f32>::zeroed(&device, 64 * 14 * 12 * 3).unwrap();
        let map = || {
            let map = buffer.im2col(&[64, 14, 12, 3], 32, 128).swizzle(Swizzle::B128);
            map.lower_corner(&[-1, -2]).upper_corner(&[-3, -4]).element_strides(&[1, 2, 2, 1])
        };
        let log = asked(|| {
            let map = map().l2_promotion(L2Promotion::B64).fill(OobFill::Nan).encode().unwrap();
            assert_eq!(map.bytes(), 32 * 128 * 4);
        });
        let expected = "im2col map: type 7 dims [64, 14, 12, 3] strides [256, 3584, 43008] corners [-1, -2] [-3, -4] \
                        channels 32 pixels 128 steps [1, 2, 2, 1] interleave 0 swizzle 3 L2 1 fill 1";
        assert_eq!(log, [expected]);
        // What the rules refuse does not reach the driver.
        let log = asked(|| {
            let error = map().upper_corner(&[0, 200]).encode().unwrap_err();
            assert!(error.to_string().contains("200 in dimension 2"), "{error}");
        });
        assert!(log.is_empty(), "{log:?}");
        fail("cuTensorMapEncodeIm2col:1");
        assert!(matches!(map().encode(), Err(Error::BadTensorMap { .. })));
    });
}

/// The rule that a description breaks, on both devices: the texts are the same but for the address.
#[test]
fn both_devices_refuse_the_same_tensors() {
    with(Driver::StandIn, &[], "both_devices_refuse_the_same_tensors", || {
        let gpu = Device::gpu(0).unwrap();
        let emulator = Device::emulator(EmulatorOptions::default());
        type Describe = fn(Tiled<'_, f32>) -> Tiled<'_, f32>;
        let cases: [(&[u64], &[u32], Describe, &str); 10] = [
            (&[], &[], |map| map, "0 dimensions; use 1 to 5"),
            (&[4; 6], &[4; 6], |map| map, "6 dimensions; use 1 to 5"),
            (&[16, 4], &[16], |map| map, "give 2"),
            (&[16, 4], &[16, 300], |map| map, "300 elements in dimension 1; use 1 to 256"),
            (&[16, 4], &[16, 0], |map| map, "0 elements in dimension 1"),
            (&[15, 4], &[4, 4], |map| map, "not a multiple of 16"),
            (&[16, 4], &[3, 4], |map| map, "12 bytes; make it a multiple of 16"),
            (&[64, 4], &[64, 4], |map| map.swizzle(Swizzle::B128), "more than the 128"),
            (&[16, 4], &[16, 4], |map| map.element_strides(&[1, 9]), "is 9; use 1 to 8"),
            (&[16, 4], &[16, 4], |map| map.data_type(DataType::U8), "name a type of that size"),
        ];
        for (dims, boxes, describe, rule) in cases {
            let refusal = |device: &Device| {
                let buffer = Buffer::<f32>::zeroed(device, 5000).unwrap();
                describe(buffer.tiled(dims, boxes)).encode().unwrap_err().to_string()
            };
            let (here, there) = (refusal(&gpu), refusal(&emulator));
            assert_eq!(here, there);
            assert!(here.contains(rule), "{here}");
        }
        let small = Buffer::<f32>::zeroed(&emulator, 63).unwrap();
        let error = small.tiled(&[16, 4], &[16, 4]).encode().unwrap_err();
        assert!(matches!(error, Error::TensorDoesNotFit { last: 63, len: 63, .. }), "{error}");
    });
}
