use super::super::element::{bf16_to_f32, e4m3_to_f32, e5m2_to_f32, f16_to_f32, tf32_to_f32};
use super::*;

#[test]
fn descriptors_decode() {
    let bits = encode_descriptor(0x1_2340, 0x80, 0x400, 2) | 5 << 49;
    let expected = SharedDescriptor {
        start: 0x1_2340,
        leading: 0x80,
        stride: 0x400,
        base_offset: 5,
        swizzle: Swizzle::B128,
    };
    assert_eq!(SharedDescriptor::decode(bits), Ok(expected));
    // Written out by hand: start 0x400, LBO 16, SBO 1024, 128-byte swizzle.
    let expected = SharedDescriptor { start: 0x400, leading: 16, base_offset: 0, ..expected };
    assert_eq!(SharedDescriptor::decode(0x4000_4040_0001_0040), Ok(expected));

    let bits = encode_descriptor(0, 0, 0, 0);
    let error = |bits| SharedDescriptor::decode(bits).unwrap_err();
    assert_eq!(error(0), DescriptorError::Version { bits: 0, found: 0 });
    for bit in [14, 15, 30, 31, 53, 60] {
        let bits = bits | 1 << bit;
        assert_eq!(error(bits), DescriptorError::Reserved { bits, bit });
        assert_eq!(error(bits).rule(), Some("D14"));
    }
    let absolute = bits | 1 << 52;
    assert_eq!(error(absolute), DescriptorError::AbsoluteLeading { bits: absolute });
    for code in [3, 5, 7] {
        let bits = bits | code << 61;
        assert_eq!(error(bits), DescriptorError::Swizzle { bits, code });
    }
}

#[test]
fn layouts_that_do_not_exist() {
    let decode = |code| SharedDescriptor::decode(encode_descriptor(0, 16, 16, code)).unwrap();
    assert_eq!(decode(1).layout(Major::K, 32), Err(DescriptorError::AtomKMajor));
    let transposed = |bits, swizzle| Err(DescriptorError::Transposed { bits, swizzle });
    assert_eq!(decode(1).layout(Major::Mn, 16), transposed(16, Swizzle::B128Atom32));
    assert_eq!(decode(2).layout(Major::Mn, 32), transposed(32, Swizzle::B128));
    assert!(decode(1).layout(Major::Mn, 32).is_ok());
    assert!(decode(2).layout(Major::Mn, 8).is_ok());
}

#[test]
fn canonical_layouts_match_tables() {
    // K-major, no swizzle, 16 bit: core matrices of 8 rows of 16 bytes.
    let plain = layout(0, Major::K, 16, 0x1000, 0x800, 0x80);
    let table = [
        (0, 0, 0x1000),
        (0, 7, 0x100e),
        (1, 0, 0x1010),
        (7, 0, 0x1070),
        (8, 0, 0x1080),
        (0, 8, 0x1800),
        (17, 9, 0x1000 + 2 * 0x80 + 0x10 + 0x800 + 2),
    ];
    for (row, k, address) in table {
        assert_eq!(plain.address(row, k), address, "row {row}, k {k}");
    }
    // K-major, 128-byte swizzle, 16 bit: rows of 128 bytes, chunk c of row r at c ^ r % 8.
    let b128 = layout(2, Major::K, 16, 0x2000, 16, 1024);
    let table = [
        (0, 0, 0x2000),
        (0, 8, 0x2010),
        (1, 0, 0x2080 + 0x10),
        (1, 8, 0x2080),
        (6, 8, 0x2300 + 0x70),
        (7, 15, 0x2380 + 0x60 + 14),
        (8, 0, 0x2400),
        (9, 3, 0x2480 + 0x10 + 6),
    ];
    for (row, k, address) in table {
        assert_eq!(b128.address(row, k), address, "row {row}, k {k}");
    }
    // The next 16 of K are 32 bytes further: chunks 2 and 3, permuted by the row as before.
    let advanced = layout(2, Major::K, 16, 0x2020, 16, 1024);
    assert_eq!(advanced.address(0, 0), 0x2020);
    assert_eq!(advanced.address(1, 0), 0x2080 + 0x30);
    assert_eq!(advanced.address(2, 8), 0x2100 + 0x10);
    // K-major, 64 bytes, 8 bit: two rows in a line of 128 bytes, permuted by the line.
    let b64 = layout(4, Major::K, 8, 0, 16, 512);
    assert_eq!([b64.address(1, 0), b64.address(2, 0), b64.address(3, 16)], [0x40, 0x90, 0xc0]);
    // K-major, 32 bytes, tf32: four rows in a line, chunks swapped in odd lines.
    let b32 = layout(6, Major::K, 32, 0, 16, 256);
    assert_eq!([b32.address(3, 4), b32.address(4, 0), b32.address(8, 1)], [0x70, 0x90, 0x104]);
    // MN-major, no swizzle, 16 bit: core matrices of 8 k of 16 bytes of rows.
    let plain = layout(0, Major::Mn, 16, 0, 0x4000, 0x80);
    assert_eq!(plain.address(1, 0), 2);
    assert_eq!(plain.address(0, 1), 0x10);
    assert_eq!(plain.address(8, 0), 0x80);
    assert_eq!(plain.address(0, 8), 0x4000);
    // MN-major, 128-byte swizzle, 16 bit: 64 rows in a line, 8 lines of k.
    let b128 = layout(2, Major::Mn, 16, 0, 0x4000, 0x400);
    assert_eq!(b128.address(8, 0), 0x10);
    assert_eq!(b128.address(8, 1), 0x80);
    assert_eq!(b128.address(0, 3), 0x180 + 0x30);
    assert_eq!(b128.address(64, 0), 0x4000);
    assert_eq!(b128.address(0, 8), 0x400);
    // MN-major tf32, 32-byte atoms: 32 rows in a line, 4 lines of k.
    let atoms = layout(1, Major::Mn, 32, 0, 0x4000, 0x200);
    assert_eq!(atoms.address(8, 0), 0x20);
    assert_eq!(atoms.address(0, 1), 0x80 + 0x20);
    assert_eq!(atoms.address(32, 4), 0x4000 + 0x200);
    // A pattern that starts with line 3: that line is not permuted, the next one by 1.
    let bits = encode_descriptor(0x180, 16, 1024, 2) | 3 << 49;
    let moved = SharedDescriptor::decode(bits).unwrap().layout(Major::K, 16).unwrap();
    assert_eq!([moved.address(0, 0), moved.address(1, 0)], [0x180, 0x210]);
}

#[test]
fn gather_agrees_with_addresses() {
    let mut bytes = vec![0; 64 << 10];
    let mut random = Random(2);
    bytes.fill_with(|| random.next() as u8);
    let shared = SharedWindow::new(0x400, &bytes);
    let cases = [
        (0, Major::K, ElementType::Bf16, 0x1000, 0x80),
        (2, Major::K, ElementType::F16, 16, 0x400),
        (4, Major::K, ElementType::E4m3, 16, 0x200),
        (6, Major::K, ElementType::Tf32, 16, 0x100),
        (0, Major::Mn, ElementType::E5m2, 0x2000, 0x80),
        (2, Major::Mn, ElementType::Bf16, 0x1000, 0x400),
        (4, Major::Mn, ElementType::Bf16, 0x800, 0x200),
        (6, Major::Mn, ElementType::E4m3, 0x400, 0x100),
        (1, Major::Mn, ElementType::Tf32, 0x1000, 0x200),
    ];
    for (code, major, element, lbo, sbo) in cases {
        let (rows, depth) = (56, 256 / element.bits());
        let layout = layout(code, major, element.bits(), 0x800, lbo, sbo);
        let dense = layout.gather::<f32, 1>(element, rows, depth, &shared).unwrap();
        let panels = layout.gather::<f32, 16>(element, rows, depth, &shared).unwrap();
        assert_eq!(panels.len(), (64 * depth) as usize, "padded to whole panels");
        let mut visited: Vec<u32> = layout
            .runs(rows, depth)
            .flat_map(|(address, length)| address..address + length)
            .collect();
        visited.sort();
        let mut expected_bytes = Vec::new();
        for (row, k) in (0..rows).flat_map(|row| (0..depth).map(move |k| (row, k))) {
            let address = layout.address(row, k);
            expected_bytes.extend(address..address + element.bits() / 8);
            let source = &bytes[address as usize - 0x400..];
            let word = u32::from_le_bytes([source[0], source[1], source[2], source[3]]);
            let expected = match element {
                ElementType::F16 => f16_to_f32(word as u16),
                ElementType::Bf16 => bf16_to_f32(word as u16),
                ElementType::Tf32 => tf32_to_f32(word),
                ElementType::E4m3 => e4m3_to_f32(word as u8),
                _ => e5m2_to_f32(word as u8),
            };
            let found = dense[(row * depth + k) as usize];
            assert_eq!(found.to_bits(), expected.to_bits(), "{code} {major:?} {row} {k}");
            let found = panels[((row / 16 * depth + k) * 16 + row % 16) as usize];
            assert_eq!(found.to_bits(), expected.to_bits());
        }
        expected_bytes.sort();
        assert_eq!(visited, expected_bytes);
    }
    // Shared memory ends at 0x10400; rows 0 to 63 fill it, the second half of K begins 16 bytes
    // after row 0.
    let outside = layout(0, Major::K, 16, 0x1_0000, 0x3f0, 0x80);
    let error = outside.gather::<f32, 1>(ElementType::F16, 64, 16, &shared).unwrap_err();
    let expected = DescriptorError::Outside { row: 1, k: 8, address: 0x1_0400, bytes: 64 << 10 };
    assert_eq!(error, expected);
}

/// A tile that a bulk copy with some swizzle has written is what a descriptor with that swizzle
/// reads.
#[test]
fn descriptors_read_what_bulk_copies_write() {
    use crate::tensor_map::{DataType, TensorMap, TensorMapDesc};
    let value = |row: u32, column: u32| row * 300 + column;
    // A row-major bf16 matrix of 128 rows of 256, as bytes.
    let global: Vec<u8> =
        (0..128 * 256).flat_map(|i| (value(i / 256, i % 256) as u16).to_le_bytes()).collect();
    for (swizzle, code, span) in
        [(Swizzle::B128, 2, 128), (Swizzle::B64, 4, 64), (Swizzle::B32, 6, 32)]
    {
        let columns = span / 2;
        let desc =
            TensorMapDesc::new(DataType::Bf16, 0, &[256, 128], &[512], &[columns, 64]).unwrap();
        let map = TensorMap::new(TensorMapDesc { swizzle, ..desc }).unwrap();
        let mut shared = vec![0; 16 << 10];
        // Two tiles, one after the other, from neighbouring columns.
        let tile = 64 * span;
        for (i, x) in [(0, columns), (1, 2 * columns)] {
            map.for_each_piece(&[x as i32, 64], i * tile, |piece| {
                let from = &global[piece.global.unwrap() as usize..][..piece.bytes as usize];
                shared[piece.shared as usize..][..from.len()].copy_from_slice(from);
            })
            .unwrap();
        }
        let shared = SharedWindow::new(0, &shared);
        let raw = |value: u32| bf16_to_f32(value as u16).to_bits();
        // K-major: rows of the matrix are rows, each 32 bytes of columns a K of 16.
        for step in 0..span / 32 {
            let a = layout(code, Major::K, 16, tile + 32 * step, 16, 8 * span);
            let found = a.gather::<f32, 1>(ElementType::Bf16, 64, 16, &shared).unwrap();
            for (i, found) in (0..).zip(found) {
                let expected = value(64 + i / 16, 2 * columns + 16 * step + i % 16);
                assert_eq!(found.to_bits(), raw(expected), "{swizzle:?} step {step}, {i}");
            }
        }
        // MN-major: columns of the matrix are rows of the operand, over both tiles; rows are k.
        for step in 0..4 {
            let b = layout(code, Major::Mn, 16, 16 * span * step, tile, 8 * span);
            let found = b.gather::<f32, 1>(ElementType::Bf16, 2 * columns, 16, &shared).unwrap();
            for (i, found) in (0..).zip(found) {
                let expected = value(64 + 16 * step + i % 16, columns + i / 16);
                assert_eq!(found.to_bits(), raw(expected), "{swizzle:?} step {step}, {i}");
            }
        }
    }
}
