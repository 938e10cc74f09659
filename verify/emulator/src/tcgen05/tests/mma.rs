use super::super::element::{bf16_to_f32, e5m2_to_f32, f16_to_f32, f32_to_f16, tf32_to_f32};
use super::super::tensor_memory::LANES;
use super::*;

/// Operands in shared memory, made from values that every element type holds or rounds the same
/// way.
struct Problem {
    mma: Mma,
    shared: Vec<u8>,
    a: Vec<f64>,
    b: Vec<f64>,
}

fn encode_element(element: ElementType, value: f32) -> (Vec<u8>, f64) {
    match element {
        ElementType::F16 => {
            let bits = f32_to_f16(value);
            (bits.to_le_bytes().to_vec(), f64::from(f16_to_f32(bits)))
        }
        ElementType::Bf16 => {
            let bits = (value.to_bits() >> 16) as u16;
            (bits.to_le_bytes().to_vec(), f64::from(bf16_to_f32(bits)))
        }
        ElementType::Tf32 => {
            let bits = value.to_bits();
            (bits.to_le_bytes().to_vec(), f64::from(tf32_to_f32(bits)))
        }
        ElementType::E5m2 => {
            let bits = (f32_to_f16(value) >> 8) as u8;
            (vec![bits], f64::from(e5m2_to_f32(bits)))
        }
        ElementType::S8 => (vec![(value * 63.0) as i8 as u8], f64::from((value * 63.0) as i8)),
        ElementType::U8 => {
            (vec![(value.abs() * 127.0) as u8], f64::from((value.abs() * 127.0) as u8))
        }
        other => unreachable!("{other:?} is not used here"),
    }
}

/// Puts operands into shared memory: A K-major with `code_a`, B of either major with `code_b`.
fn problem(kind: Kind, idesc: u32, code_a: u64, code_b: u64, seed: u64) -> Problem {
    let idesc = InstructionDescriptor::decode(kind, idesc).unwrap();
    let mut random = Random(seed);
    let mut shared = vec![0; 128 << 10];
    let mut place = |start, code, major, element: ElementType, rows: u32| {
        // Rows of a K-major operand lie in groups of 8; MN-major groups follow each other along the
        // rows, then along k.
        let span = match code {
            0 => 16,
            6 => 32,
            4 => 64,
            _ => 128,
        };
        let (lbo, sbo) = match (major, code) {
            (Major::K, 0) => (16 * rows, 128),
            (Major::K, _) => (16, 8 * span),
            (Major::Mn, 0) => (16 * rows, 128),
            (Major::Mn, 1) => (0x1000, 0x200),
            (Major::Mn, _) => (0x2000, 8 * span),
        };
        let bits = encode_descriptor(start, lbo, sbo, code);
        let descriptor = SharedDescriptor::decode(bits).unwrap();
        let layout = descriptor.layout(major, element.bits()).unwrap();
        let mut values = Vec::new();
        for (row, k) in (0..rows).flat_map(|row| (0..kind.depth()).map(move |k| (row, k))) {
            let (bytes, value) = encode_element(element, random.value());
            shared[layout.address(row, k) as usize..][..bytes.len()].copy_from_slice(&bytes);
            values.push(value);
        }
        (descriptor, values)
    };
    let (a, a_values) = place(0, code_a, idesc.a_major, idesc.a, idesc.m);
    let (b, b_values) = place(0x1_0000, code_b, idesc.b_major, idesc.b, idesc.n);
    let mma = Mma {
        idesc,
        a: OperandA::Shared(a),
        b,
        d: at(0, 64),
        enable_input_d: false,
        scale_input_d: 0,
        disabled_lanes: [0; 8],
        shift_a: false,
        scales: None,
        metadata: at(0, 0),
        zeros: ZeroColumns::default(),
    };
    Problem { mma, shared, a: a_values, b: b_values }
}

impl Problem {
    fn run(&self, tensor: &mut TensorMemory) {
        self.mma.execute(&SharedWindow::new(0, &self.shared), tensor).unwrap();
    }

    /// The exact value of an element of A·B, and the sum of the magnitudes of its products.
    fn product(&self, row: u32, column: u32) -> (f64, f64) {
        let depth = self.mma.idesc.kind.depth() as usize;
        let a = &self.a[row as usize * depth..][..depth];
        let b = &self.b[column as usize * depth..][..depth];
        let terms = || a.iter().zip(b).map(|(a, b)| a * b);
        (terms().sum(), terms().map(f64::abs).sum())
    }

    fn lane(&self, row: u32) -> u32 {
        match self.mma.idesc.m {
            64 => [0, 32, 64, 96][row as usize / 16] + row % 16 + self.mma.d.lane,
            _ => row,
        }
    }
}

#[test]
fn products_match_double_precision() {
    let f16 = |a: u32, b: u32| F32_ACCUMULATOR | a << 7 | b << 10;
    let tf32 = F32_ACCUMULATOR | 2 << 7 | 2 << 10;
    let b_mn = 1 << 16;
    let cases = [
        (Kind::F16, f16(1, 1) | shape_bits(128, 256), 2, 2),
        (Kind::F16, f16(0, 0) | shape_bits(128, 8), 0, 0),
        (Kind::F16, f16(1, 1) | shape_bits(64, 72) | b_mn, 4, 2),
        (Kind::F16, f16(0, 0) | shape_bits(64, 128) | b_mn | 1 << 15, 2, 0),
        (Kind::Tf32, tf32 | shape_bits(128, 64), 6, 2),
        (Kind::Tf32, tf32 | shape_bits(128, 96) | b_mn, 2, 1),
        (Kind::F8f6f4, f16(1, 1) | shape_bits(128, 32), 2, 4),
    ];
    for (case, (kind, idesc, code_a, code_b)) in cases.into_iter().enumerate() {
        let mut problem = problem(kind, idesc, code_a, code_b, case as u64);
        let mut tensor = full();
        problem.run(&mut tensor);
        let InstructionDescriptor { m, n, .. } = problem.mma.idesc;
        let depth = f64::from(kind.depth());
        for (row, column) in (0..m).flat_map(|row| (0..n).map(move |n| (row, n))) {
            let found = tensor.read(problem.lane(row), 64 + column).unwrap();
            let (expected, magnitude) = problem.product(row, column);
            let error = (f64::from(f32::from_bits(found)) - expected).abs();
            assert!(error <= depth * 2f64.powi(-24) * magnitude, "case {case}: {row}, {column}");
        }
        // Nothing else was written.
        let written = (0..LANES * 512).filter(|&i| tensor.read(i / 512, i % 512).is_some()).count();
        assert_eq!(written as u32, m * n, "case {case}");

        // Subtracting the same product again leaves nothing but rounding errors.
        problem.mma.enable_input_d = true;
        problem.mma.idesc.negate_a = true;
        problem.run(&mut tensor);
        for (row, column) in (0..m).flat_map(|row| (0..n).map(move |n| (row, n))) {
            let found = f32::from_bits(tensor.read(problem.lane(row), 64 + column).unwrap());
            let (_, magnitude) = problem.product(row, column);
            let bound = 3.0 * depth * 2f64.powi(-24) * magnitude;
            assert!(f64::from(found).abs() <= bound, "case {case}: {row}, {column}");
        }
    }
}

#[test]
fn sums_are_in_order_of_k() {
    // 2^24 + 1 + 1: each 1 is lost when it is added to the large term first, and not when it comes
    // last.
    let mut problem = problem(Kind::F16, F32_ACCUMULATOR | shape_bits(64, 8), 0, 0, 0);
    problem.shared.fill(0);
    let put = |shared: &mut Vec<u8>, at: usize, value: f32| {
        shared[at..at + 2].copy_from_slice(&f32_to_f16(value).to_le_bytes());
    };
    // Row 0 of A is 4096, 1, 1; column 0 of B is 4096, 1, 1.
    for start in [0, 0x1_0000] {
        for (k, value) in [4096.0, 1.0, 1.0].into_iter().enumerate() {
            put(&mut problem.shared, start + 2 * k, value);
        }
    }
    let mut tensor = full();
    problem.run(&mut tensor);
    assert_eq!(f32::from_bits(tensor.read(0, 64).unwrap()), 2f32.powi(24));
    // D comes first of all.
    tensor.row_mut(0, 64, 8).fill((-(2f32.powi(24))).to_bits());
    for row in 1..64 {
        tensor.row_mut(problem.lane(row), 64, 8).fill(0);
    }
    problem.mma.enable_input_d = true;
    problem.run(&mut tensor);
    assert_eq!(f32::from_bits(tensor.read(0, 64).unwrap()), 2.0);
    // D counts a quarter: -2^22 + 2^24 + 1 + 1.
    tensor.row_mut(0, 64, 8).fill((-(2f32.powi(24))).to_bits());
    problem.mma.scale_input_d = 2;
    problem.run(&mut tensor);
    let expected = 2f32.powi(24) - 2f32.powi(22) + 2.0;
    assert_eq!(f32::from_bits(tensor.read(0, 64).unwrap()), expected);
}

#[test]
fn half_precision_accumulators_round_once() {
    let problem = problem(Kind::F16, shape_bits(128, 16), 2, 2, 3);
    let mut tensor = full();
    problem.run(&mut tensor);
    for (row, column) in (0..128).flat_map(|row| (0..16).map(move |n| (row, n))) {
        let (expected, _) = problem.product(row, column);
        // The sum is exact in f32: multiples of 2^-12 below 2^7.
        let found = tensor.read(row, 64 + column).unwrap();
        assert_eq!(found, u32::from(f32_to_f16(expected as f32)), "{row}, {column}");
    }
}

#[test]
fn integers_wrap_around_or_saturate() {
    for (a, b) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let idesc = 2 << 4 | a << 7 | b << 10 | shape_bits(64, 48);
        let mut problem = problem(Kind::I8, idesc, 2, 2, 4);
        problem.mma.d = at(16, 64);
        let mut tensor = full();
        problem.run(&mut tensor);
        for (row, column) in (0..64).flat_map(|row| (0..48).map(move |n| (row, n))) {
            let found = tensor.read(problem.lane(row), 64 + column).unwrap() as i32;
            assert_eq!(f64::from(found), problem.product(row, column).0);
        }
        let (row, column) = (0..64 * 48)
            .map(|i| (i / 48, i % 48))
            .find(|&(row, column)| problem.product(row, column).0 > 0.0)
            .unwrap();
        let sum = problem.product(row, column).0 as i32;
        let lane = problem.lane(row);
        tensor.write(lane, 64 + column, i32::MAX as u32);
        let mut wrapped = tensor.clone();
        problem.mma.enable_input_d = true;
        problem.run(&mut wrapped);
        let expected = i32::MAX.wrapping_add(sum);
        assert_eq!(wrapped.read(lane, 64 + column).unwrap() as i32, expected);
        problem.mma.idesc.saturate = true;
        problem.run(&mut tensor);
        assert_eq!(tensor.read(lane, 64 + column).unwrap() as i32, i32::MAX);
    }
}

#[test]
fn a_can_come_from_tensor_memory() {
    for (kind, idesc) in [
        (Kind::F16, F32_ACCUMULATOR | 1 << 7 | 1 << 10 | shape_bits(128, 32)),
        (Kind::F16, F32_ACCUMULATOR | shape_bits(64, 32)),
        (Kind::Tf32, F32_ACCUMULATOR | 2 << 7 | 2 << 10 | shape_bits(128, 32)),
        (Kind::I8, 2 << 4 | 1 << 7 | 1 << 10 | shape_bits(64, 32)),
    ] {
        let mut problem = problem(kind, idesc, 2, 2, 5);
        let mut expected = full();
        problem.run(&mut expected);

        let mut tensor = full();
        let OperandA::Shared(descriptor) = problem.mma.a else { panic!("A is in shared memory") };
        let element = problem.mma.idesc.a;
        let layout = descriptor.layout(Major::K, element.bits()).unwrap();
        let per_cell = 32 / element.bits();
        for (row, cell) in (0..problem.mma.idesc.m).flat_map(|row| (0..8).map(move |c| (row, c))) {
            let address = layout.address(row, cell * per_cell) as usize;
            let bytes = &problem.shared[address..address + 4];
            let value = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            tensor.write(problem.lane(row), 400 + cell, value);
        }
        problem.mma.a = OperandA::Tensor(at(0, 400));
        problem.shared[..0x1_0000].fill(0);
        problem.run(&mut tensor);
        for row in 0..problem.mma.idesc.m {
            let lane = problem.lane(row);
            assert_eq!(tensor.row(lane, 64, 32), expected.row(lane, 64, 32), "row {row}");
        }
    }
}

#[test]
fn disabled_lanes_keep_their_content() {
    let mut problem = problem(Kind::F16, F32_ACCUMULATOR | shape_bits(128, 8), 2, 2, 6);
    let mut tensor = full();
    tensor.row_mut(37, 64, 8).fill(7);
    problem.mma.disabled_lanes = [1, 1 << 5, 0, 0, 0, 0, 0, 0];
    problem.run(&mut tensor);
    assert_eq!(tensor.row(37, 64, 8), [7; 8]);
    assert_eq!(tensor.read(0, 64), None);
    assert_eq!(tensor.first_unwritten(38, 64, 8), None);
}

#[test]
fn multiplication_errors() {
    let good = problem(Kind::F16, F32_ACCUMULATOR | shape_bits(128, 64), 2, 2, 7);
    let error = |change: fn(&mut Mma)| {
        let mut mma = good.mma;
        change(&mut mma);
        let mut tensor = TensorMemory::new();
        tensor.alloc(0, 128).unwrap();
        let error = mma.execute(&SharedWindow::new(0, &good.shared), &mut tensor).unwrap_err();
        (error.rule(), error)
    };
    let lane = MmaError::Lane { matrix: "D", m: 128, lane: 32 };
    assert_eq!(error(|mma| mma.d = at(32, 0)), (Some("D14"), lane));
    let (rule, found) = error(|mma| mma.d = at(0, 96));
    assert_eq!(rule, Some("D8"));
    assert!(found.to_string().contains("column 128 is not allocated"), "{found}");
    let unwritten = MmaError::Unwritten { matrix: "D", lane: 0, column: 64 };
    assert_eq!(error(|mma| mma.enable_input_d = true), (None, unwritten));
    let unwritten = MmaError::Unwritten { matrix: "A", lane: 0, column: 8 };
    assert_eq!(error(|mma| mma.a = OperandA::Tensor(at(0, 8))), (None, unwritten));
    assert_eq!(
        error(|mma| {
            mma.a = OperandA::Tensor(at(0, 8));
            mma.idesc.a_major = Major::Mn;
        }),
        (Some("D14"), MmaError::TransposedTensorA)
    );
    let scale = MmaError::Scale { scale: 16 };
    assert_eq!(error(|mma| mma.scale_input_d = 16), (Some("D14"), scale));
    let (rule, found) = error(|mma| mma.b.start = 0x3_0000);
    assert_eq!(rule, Some("D14"));
    assert!(found.to_string().starts_with("matrix B of tcgen05.mma: element (row 0, k 0)"));
    let (rule, found) = error(|mma| mma.idesc.a = ElementType::U8);
    assert_eq!(rule, None);
    assert!(found.to_string().contains("U8"), "{found}");
}
