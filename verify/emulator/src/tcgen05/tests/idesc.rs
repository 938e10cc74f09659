use super::*;

#[test]
fn instruction_descriptors_decode() {
    // bf16, 128 x 256: a value found in public kernels.
    let found = InstructionDescriptor::decode(Kind::F16, 0x0840_0490).unwrap();
    let expected = InstructionDescriptor {
        kind: Kind::F16,
        a: ElementType::Bf16,
        b: ElementType::Bf16,
        d: AccumulatorType::F32,
        a_major: Major::K,
        b_major: Major::K,
        negate_a: false,
        negate_b: false,
        saturate: false,
        form: Form::One,
        scales: ScaleFormat::default(),
        m: 128,
        n: 256,
        sparse: false,
        selector: 0,
    };
    assert_eq!(found, expected);
    let bits = shape_bits(64, 24) | 1 << 14 | 1 << 15 | 2 << 4 | 2 << 7 | 2 << 10;
    let error = InstructionDescriptor::decode(Kind::Tf32, bits).unwrap_err();
    assert!(error.to_string().contains("use 1 for f32"), "{error}");
    let bits = bits ^ 3 << 4;
    let found = InstructionDescriptor::decode(Kind::Tf32, bits).unwrap();
    assert_eq!((found.m, found.n, found.a_major, found.b_major), (64, 24, Major::Mn, Major::K));
    assert_eq!((found.negate_a, found.negate_b), (false, true));
    assert_eq!([Kind::F16, Kind::Tf32, Kind::F8f6f4, Kind::I8].map(Kind::depth), [16, 8, 32, 32]);
}

#[test]
fn illegal_instruction_descriptors() {
    use InstructionDescriptorError as E;
    let good = F32_ACCUMULATOR | shape_bits(128, 64);
    let decode = InstructionDescriptor::decode;
    assert!(decode(Kind::F16, good).is_ok());
    for bit in [6, 23, 29] {
        let bits = good | 1 << bit;
        assert_eq!(decode(Kind::F16, bits), Err(E::Reserved { bits, bit }));
    }
    let bits = good | 4;
    assert_eq!(decode(Kind::F16, bits), Err(E::Sparse { bits }));
    let bits = good | 1 << 31;
    assert_eq!(decode(Kind::F16, bits), Err(E::Shift { bits, shift: 2 }));
    let bits = good | 2 << 7;
    let error = decode(Kind::F16, bits).unwrap_err();
    assert_eq!(error, E::Type { bits, matrix: "A", code: 2, kind: Kind::F16 });
    assert_eq!(error.rule(), Some("D14"));
    assert!(error.to_string().contains("D14"));
    let bits = shape_bits(128, 64) | 1 << 7;
    assert_eq!(decode(Kind::F16, bits), Err(E::Bf16Accumulator { bits }));
    let bits = good | 8;
    assert_eq!(decode(Kind::F16, bits), Err(E::Saturate { bits, kind: Kind::F16 }));
    for m in [0, 16, 32, 256] {
        let bits = F32_ACCUMULATOR | shape_bits(m, 64);
        assert_eq!(
            decode(Kind::F16, bits),
            Err(E::M { bits, m, form: Form::One, kind: Kind::F16 })
        );
    }
    for n in [0, 264] {
        let bits = F32_ACCUMULATOR | shape_bits(128, n);
        assert_eq!(
            decode(Kind::F16, bits),
            Err(E::N { bits, n, form: Form::One, kind: Kind::F16 })
        );
    }
    let integer = 2 << 4;
    for n in [8, 24, 32, 48, 256] {
        assert!(decode(Kind::I8, integer | shape_bits(64, n)).is_ok());
    }
    let bits = integer | shape_bits(64, 40);
    assert_eq!(decode(Kind::I8, bits), Err(E::N { bits, n: 40, form: Form::One, kind: Kind::I8 }));
    let bits = integer | shape_bits(64, 32) | 1 << 13;
    assert_eq!(decode(Kind::I8, bits), Err(E::NegateInteger { bits }));
}
