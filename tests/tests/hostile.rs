//! The macros in surroundings that mean other things by the same names: host, metadata and kernel are of one kind.
//!
//! Each kernel of `kernels/hostile` is called once: the host's shape and parameters are those of the metadata that its device
//! build left, and the emulator computes what the source says, with nothing to remark.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::sync::OnceLock;

use baton::launch::{Call, DeviceSliceMut, EncodedTensorMap, TensorMap};
use baton_builder::{Arch, Builder, Kernel, Output, Ptxas};
use baton_host::{
    BadLaunch, Binary, Buffer, Declared, Device, EmulatorOptions, Error, Image, KernelInfo, Module,
    SyncBuffer,
};
use baton_tests::root;
use hostile_kernel::{
    asks_its_target as asks, functions, generic, made, names, nested, parameters,
};

/// Schedules for each kernel.
const SEEDS: u64 = 5;

/// Elements of each array: not those of whole CTAs.
const ELEMENTS: usize = 200;

fn built() -> &'static Output {
    static OUTPUT: OnceLock<Output> = OnceLock::new();
    OUTPUT.get_or_init(|| {
        Builder::new(root().join("tests/kernels/hostile"))
            .arch(Arch::Sm100a)
            .ptxas(Ptxas::Required)
            .out_dir(root().join("target/baton-tests/hostile"))
            .build()
            .unwrap_or_else(|error| panic!("the hostile kernels: {error}"))
    })
}

fn kernels() -> &'static [Kernel] {
    &built().binaries[0].kernels
}

/// A device with the kernels, and which of them have been called.
struct Run {
    device: Device,
    module: Module,
    called: RefCell<BTreeSet<&'static str>>,
}

impl Run {
    fn new() -> Self {
        let ptx = fs::read_to_string(&built().binaries[0].ptx).expect("the builder wrote it");
        let info = |kernel: &Kernel| KernelInfo {
            name: String::leak(kernel.name.clone()),
            registers: None,
            spill_bytes: 0,
            stack_bytes: 0,
            static_shared: 0,
            declared: kernel.declared.as_ref().map(|declared| Declared {
                threads: declared.threads,
                cluster: declared.cluster,
                dynamic_shared: declared.dynamic_shared,
                parameters: Vec::leak(declared.parameters.clone()),
                signatures: Vec::leak(declared.signatures.clone()),
            }),
        };
        let kernels = Vec::leak(kernels().iter().map(info).collect());
        let binary =
            Binary { arch: "sm_100a", ptx: String::leak(ptx), lines: "", cubin: None, kernels };
        let binaries: &'static [Binary] = Vec::leak(vec![binary]);
        let device = Device::emulator(EmulatorOptions::default());
        let module = device.load(&Image { name: "hostile", binaries }).expect("the kernels load");
        Run { device, module, called: RefCell::default() }
    }

    fn launch(&self, call: Call<'_>) {
        agrees(&call);
        self.called.borrow_mut().insert(call.kernel());
        let name = call.kernel();
        let report = self
            .device
            .launch(&self.module, 2, call)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        if let Some(hazard) = report.hazards.first() {
            panic!("{name}: {hazard}");
        }
    }

    /// Why the call is not launched.
    fn refuses(&self, call: Call<'_>) -> BadLaunch {
        self.called.borrow_mut().insert(call.kernel());
        let name = call.kernel();
        match self.device.launch(&self.module, 1, call) {
            Err(Error::BadLaunch { problem, .. }) => problem,
            other => panic!("{name}: {other:?}"),
        }
    }

    /// The host's type of `taken`, behind another parameter, which is another in the kernel.
    fn takes_another(&self, call: Call<'_>) -> &'static str {
        match self.refuses(call) {
            BadLaunch::OtherParameter { parameter: 1, name: "taken", passed } => passed,
            other => panic!("{other:?}"),
        }
    }

    /// Fails unless the kernel leaves `value` in each word of an array.
    fn leaves(&self, value: u32, call: impl FnOnce(DeviceSliceMut<'_, u32>) -> Call<'_>) {
        let mut words = Buffer::<u32>::poisoned(&self.device, ELEMENTS).expect("memory");
        let call = call(words.as_arg_mut());
        let name = call.kernel();
        self.launch(call);
        assert_eq!(words.to_vec().expect("memory"), [value; ELEMENTS], "{name}");
    }
}

/// Fails unless the host's half of a kernel says what the device's says.
fn agrees(call: &Call<'_>) {
    let name = call.kernel();
    let kernel = kernels().iter().find(|kernel| kernel.name == name);
    let declared = kernel.and_then(|kernel| kernel.declared.as_ref());
    let declared = declared.unwrap_or_else(|| panic!("`{name}` has no metadata"));
    let shape = call.shape();
    assert_eq!(shape.threads, declared.threads, "{name}");
    assert_eq!(shape.cluster.unwrap_or_default(), declared.cluster, "{name}");
    assert_eq!(shape.dynamic_shared, declared.dynamic_shared, "{name}");
    let bytes: Vec<u64> = call.params().iter().map(|bytes| bytes.len() as u64).collect();
    assert_eq!(bytes, declared.parameters, "{name}");
    let signatures: Vec<_> = call.arguments().iter().map(|argument| argument.signature).collect();
    assert_eq!(signatures, declared.signatures, "{name}");
}

/// The sum of the parameters of `called_alike`.
fn folded(numbers: [u32; 11]) -> u32 {
    numbers.iter().fold(0, |sum, digit| 10 * sum % 1_000_000_007 + digit)
}

#[test]
fn each_type_is_that_of_the_place_where_it_is_written() {
    let run = Run::new();
    for seed in 0..SEEDS {
        run.device.set_seed(seed);
        use nested::{globs, inner};
        run.leaves(7, |out| inner::nested_writes(out));
        run.leaves(5, |out| inner::nested_width(out, 5 << 32));
        run.leaves(1023, |out| inner::nested_shared(out));
        run.leaves(62, |out| inner::nested_own_shared(out));
        run.leaves(93, |out| inner::nested_both(out));
        run.leaves(250, |out| globs::nested_glob(out, 250));

        let n = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];
        run.leaves(folded(n), |out| {
            let [a, b, c, d, e, f, g, h, i, j, k] = n;
            parameters::called_alike(out, a, b, c, d, e, f, g, h, i, j, k)
        });
        run.leaves(2345, |out| parameters::patterns(1, 99, 98, 3, 4, 5, out));
        run.launch(parameters::nothing());

        run.leaves(31 + 6300 + 300_000 + 4, |out| names::hidden_names(out, 4));
        run.leaves(100, |out| names::hidden_module(out));
        run.leaves(91, |out| names::run(out));
        run.leaves(92, |out| names::body(out));

        run.leaves(32, generic::call_unused);
        let (first, second) = functions::calls();
        run.leaves(441, first);
        run.leaves(8, second);
    }
    instances(&run);
    made_by_a_macro(&run);
    let called = run.called.borrow();
    let not_called: Vec<&str> = kernels()
        .iter()
        .map(|kernel| &*kernel.name)
        .filter(|name| !called.contains(name) && !asks_its_target(name))
        .collect();
    assert!(not_called.is_empty(), "kernels that no test calls: {not_called:?}");
}

fn asks_its_target(kernel: &str) -> bool {
    kernel.starts_with("asks_")
}

#[test]
fn what_is_one_type_here_and_another_there_is_refused() {
    let run = Run::new();
    let map = || EncodedTensorMap([0; 16]);
    let words = Buffer::<u32>::poisoned(&run.device, ELEMENTS).expect("memory");
    let mut written = Buffer::<u32>::poisoned(&run.device, ELEMENTS).expect("memory");
    let mut lock = SyncBuffer::<1>::new(&run.device).expect("memory");

    assert!(run.takes_another(asks::asks_to_write(0, words.as_arg())).contains("ReadOnly<u32"));
    assert!(
        run.takes_another(asks::asks_for_width(0, written.as_arg_mut())).contains("GlobalPtr<u32")
    );
    // SAFETY: never launched.
    let boxed = unsafe { TensorMap::from_encoded(run.device.id(), map()) };
    run.takes_another(asks::asks_for_box(0, boxed));
    // SAFETY: never launched.
    let lent = unsafe { TensorMap::from_encoded(run.device.id(), map()) };
    run.takes_another(asks::asks_for_way(0, lent));
    run.takes_another(asks::asks_for_words(
        0,
        (lock.reset().expect("memory"), written.as_arg_mut()),
    ));
    run.takes_another(asks::asks_for_order(0, words.as_arg()));
    run.takes_another(asks::asks_for_number(0, 7));
    assert!(run.refuses(asks::asks_for_names(3, 4)).to_string().contains("`rows: u32`"));
    assert!(run.refuses(asks::asks_for_threads()).to_string().contains("threads"));
    assert!(
        run.refuses(asks::asks_for_shared()).to_string().contains("bytes of dynamic shared memory")
    );

    let called = run.called.borrow();
    let names = kernels().iter().map(|kernel| &*kernel.name);
    let not_called: Vec<&str> =
        names.filter(|name| asks_its_target(name) && !called.contains(name)).collect();
    assert!(not_called.is_empty(), "kernels that no test calls: {not_called:?}");
}

fn instances(run: &Run) {
    let mut words = Buffer::<u32>::poisoned(&run.device, ELEMENTS).expect("memory");
    let mut wide = Buffer::<u64>::poisoned(&run.device, ELEMENTS).expect("memory");
    run.launch(generic::generic_tu(words.as_arg_mut(), wide.as_arg_mut(), 3));
    let both = |words: &Buffer<u32>, wide: &Buffer<u64>| {
        assert_eq!(words.to_vec().expect("memory"), [32; ELEMENTS]);
        assert_eq!(wide.to_vec().expect("memory"), [64; ELEMENTS]);
    };
    both(&words, &wide);
    run.launch(generic::generic_ut(wide.as_arg_mut(), words.as_arg_mut(), 3));
    both(&words, &wide);
    let mut floats =
        [(); 2].map(|()| Buffer::<f32>::poisoned(&run.device, ELEMENTS).expect("memory"));
    let [first, second] = &mut floats;
    run.launch(generic::generic_f(first.as_arg_mut(), second.as_arg_mut(), 3));
    for array in &floats {
        assert_eq!(array.to_vec().expect("memory"), [0.5; ELEMENTS]);
    }
}

fn made_by_a_macro(run: &Run) {
    let mut words = Buffer::<u32>::poisoned(&run.device, ELEMENTS).expect("memory");
    let mut wide = Buffer::<u64>::poisoned(&run.device, ELEMENTS).expect("memory");
    let mut hidden = Buffer::<u32>::poisoned(&run.device, ELEMENTS).expect("memory");
    run.launch(made::caller::made_plain(words.as_arg_mut(), hidden.as_arg_mut(), 17));
    assert_eq!(words.to_vec().expect("memory"), [4; ELEMENTS]);
    assert_eq!(hidden.to_vec().expect("memory"), [17; ELEMENTS]);
    run.launch(made::caller::made_shared(wide.as_arg_mut(), hidden.as_arg_mut(), 18));
    assert_eq!(wide.to_vec().expect("memory"), [279; ELEMENTS]);
    assert_eq!(hidden.to_vec().expect("memory"), [18; ELEMENTS]);
}
