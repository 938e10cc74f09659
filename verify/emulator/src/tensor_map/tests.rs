use super::*;

/// 2-D row-major bf16 tensor of 100 rows of 64, in boxes of 8 rows.
fn matrix(swizzle: Swizzle) -> TensorMapDesc {
    let desc = TensorMapDesc::new(DataType::Bf16, 0x1_0000, &[64, 100], &[128], &[64, 8]);
    TensorMapDesc { swizzle, ..desc.unwrap() }
}

fn piece(shared: u32, bytes: u32, global: Option<u64>) -> Piece {
    Piece { shared, bytes, global }
}

fn pieces(desc: TensorMapDesc, coords: &[i32], base: u32) -> Vec<Piece> {
    TensorMap::new(desc).unwrap().pieces(coords, base).unwrap()
}

#[test]
fn contiguous_rows_are_one_piece() {
    let found = pieces(matrix(Swizzle::None), &[0, 16], 0x400);
    assert_eq!(found, [piece(0x400, 1024, Some(0x1_0000 + 16 * 128))]);
}

#[test]
fn edges_are_out_of_bounds() {
    // Rows 98 and 99 exist, 100 to 105 do not.
    let found = pieces(matrix(Swizzle::None), &[0, 98], 0);
    assert_eq!(found, [piece(0, 256, Some(0x1_0000 + 98 * 128)), piece(256, 768, None)]);
    // Two columns to the left of the tensor and two rows above it.
    let found = pieces(matrix(Swizzle::None), &[-2, -2], 0);
    assert_eq!(found[0], piece(0, 256 + 4, None));
    assert_eq!(found[1], piece(260, 124, Some(0x1_0000)));
    assert_eq!(found[2], piece(384, 4, None));
    assert_eq!(found[3], piece(388, 124, Some(0x1_0000 + 128)));
    // Far outside on every side.
    for coords in [[i32::MIN, 0], [0, i32::MIN], [i32::MAX, 0], [64, 0], [0, 100], [i32::MAX; 2]] {
        assert_eq!(pieces(matrix(Swizzle::None), &coords, 0), [piece(0, 1024, None)]);
    }
}

/// The 16-byte chunk numbers in the order in which they lie in memory, for 8 lines of 128 bytes.
fn chunk_order(swizzle: Swizzle) -> Vec<u32> {
    let mut order = vec![u32::MAX; 64];
    for chunk in 0..64 {
        let place = swizzle.pattern().permute(16 * chunk);
        order[place as usize / 16] = chunk;
    }
    order
}

#[test]
fn swizzles_match_tables() {
    // Chunk numbers inside a line, one line of 128 bytes for each row of the table.
    let table = |lines: [[u32; 8]; 8]| -> Vec<u32> {
        (0..64).map(|i| i / 8 * 8 + lines[i as usize / 8][i as usize % 8]).collect()
    };
    let b128 = [
        [0, 1, 2, 3, 4, 5, 6, 7],
        [1, 0, 3, 2, 5, 4, 7, 6],
        [2, 3, 0, 1, 6, 7, 4, 5],
        [3, 2, 1, 0, 7, 6, 5, 4],
        [4, 5, 6, 7, 0, 1, 2, 3],
        [5, 4, 7, 6, 1, 0, 3, 2],
        [6, 7, 4, 5, 2, 3, 0, 1],
        [7, 6, 5, 4, 3, 2, 1, 0],
    ];
    assert_eq!(chunk_order(Swizzle::B128), table(b128));
    let four = [
        [0, 1, 2, 3, 4, 5, 6, 7],
        [1, 0, 3, 2, 5, 4, 7, 6],
        [2, 3, 0, 1, 6, 7, 4, 5],
        [3, 2, 1, 0, 7, 6, 5, 4],
    ];
    let b64 = std::array::from_fn(|i| four[i % 4]);
    assert_eq!(chunk_order(Swizzle::B64), table(b64));
    let b32 = std::array::from_fn(|i| four[i % 2]);
    assert_eq!(chunk_order(Swizzle::B32), table(b32));
    let pairs = [
        [0, 1, 2, 3, 4, 5, 6, 7],
        [2, 3, 0, 1, 6, 7, 4, 5],
        [4, 5, 6, 7, 0, 1, 2, 3],
        [6, 7, 4, 5, 2, 3, 0, 1],
    ];
    let atom32 = std::array::from_fn(|i| pairs[i % 4]);
    assert_eq!(chunk_order(Swizzle::B128Atom32), table(atom32));
    let fours = [[0, 1, 2, 3, 4, 5, 6, 7], [4, 5, 6, 7, 0, 1, 2, 3]];
    let atom64 = std::array::from_fn(|i| fours[i % 2]);
    assert_eq!(chunk_order(Swizzle::B128Atom64), table(atom64));
    assert_eq!(chunk_order(Swizzle::None), (0..64).collect::<Vec<_>>());
}

#[test]
fn swizzle_follows_the_address_not_the_tile() {
    // At 0x480 the tile begins in line 1 of the pattern, which swaps chunks 0 and 1.
    let found = pieces(matrix(Swizzle::B128), &[0, 0], 0x480);
    assert_eq!(found[0], piece(0x490, 16, Some(0x1_0000)));
    assert_eq!(found[1], piece(0x480, 16, Some(0x1_0010)));
    // At a multiple of 1024 it begins in line 0, one run.
    let found = pieces(matrix(Swizzle::B128), &[0, 0], 0x800);
    assert_eq!(found[0], piece(0x800, 128, Some(0x1_0000)));
}

#[test]
fn element_strides_thin_out_the_outer_dimensions() {
    let mut desc = matrix(Swizzle::None);
    desc.element_strides = [1, 3, 0, 0, 0];
    // ceil(8 / 3) rows: 97, 100 (outside), 103 (outside).
    assert_eq!(desc.tile_bytes(), 3 * 128);
    let found = pieces(desc, &[0, 97], 0);
    assert_eq!(found, [piece(0, 128, Some(0x1_0000 + 97 * 128)), piece(128, 256, None)]);
    // The stride of dimension 0 is ignored without interleave.
    desc.element_strides[0] = 4;
    assert_eq!(desc.tile_bytes(), 3 * 128);
}

#[test]
fn rejects_what_the_driver_rejects() {
    use TensorMapError as E;
    let good = matrix(Swizzle::B128);
    let bad = |change: fn(&mut TensorMapDesc)| {
        let mut desc = good;
        change(&mut desc);
        let error = encode(&desc).unwrap_err();
        assert!(error.to_string().starts_with("tensor map: "), "{error}");
        assert!(error.to_string().contains("; "), "no way out: {error}");
        error
    };
    assert!(encode(&good).is_ok());
    assert_eq!(bad(|d| d.rank = 0), E::Rank { rank: 0 });
    assert_eq!(bad(|d| d.rank = 6), E::Rank { rank: 6 });
    assert_eq!(
        bad(|d| d.interleave = Interleave::B16),
        E::InterleaveRank { interleave: Interleave::B16, rank: 2 }
    );
    assert_eq!(bad(|d| d.global_address = 8), E::AddressAlignment { address: 8, unit: 16 });
    assert_eq!(bad(|d| d.global_dims[1] = 0), E::Dimension { dimension: 1, length: 0 });
    let long = (1 << 32) + 1;
    assert_eq!(
        bad(|d| d.global_dims[0] = (1 << 32) + 1),
        E::Dimension { dimension: 0, length: long }
    );
    assert_eq!(
        bad(|d| d.global_strides[0] = 136),
        E::StrideAlignment { dimension: 1, stride: 136, unit: 16 }
    );
    assert_eq!(
        bad(|d| d.global_strides[0] = 1 << 40),
        E::StrideRange { dimension: 1, stride: 1 << 40 }
    );
    assert_eq!(bad(|d| d.box_dims[1] = 257), E::Box { dimension: 1, length: 257 });
    assert_eq!(bad(|d| d.box_dims[1] = 0), E::Box { dimension: 1, length: 0 });
    assert_eq!(bad(|d| d.box_dims[0] = 12), E::InnerBytes { elements: 12, bytes: 24 });
    assert_eq!(
        bad(|d| d.box_dims[0] = 72),
        E::InnerSpan { swizzle: Swizzle::B128, bytes: 144, span: 128 }
    );
    assert_eq!(bad(|d| d.element_strides[1] = 9), E::ElementStride { dimension: 1, stride: 9 });
    assert_eq!(bad(|d| d.element_strides[1] = 0), E::ElementStride { dimension: 1, stride: 0 });
    assert_eq!(
        bad(|d| {
            d.data_type = DataType::U16;
            d.oob_fill = OobFill::Nan;
        }),
        E::FillType { data_type: DataType::U16 }
    );
    assert_eq!(bad(|d| d.global_address = u64::MAX - 15), E::Extent { address: u64::MAX - 15 });

    let deep = TensorMapDesc::new(DataType::F16, 64, &[16, 4, 4], &[32, 128], &[16, 2, 2]).unwrap();
    let interleaved = TensorMapDesc { interleave: Interleave::B32, swizzle: Swizzle::B32, ..deep };
    assert!(encode(&interleaved).is_ok());
    let error = encode(&TensorMapDesc { swizzle: Swizzle::B64, ..interleaved }).unwrap_err();
    assert_eq!(error, E::InterleaveSwizzle { swizzle: Swizzle::B64 });
    let error = encode(&TensorMapDesc { global_address: 16, ..interleaved }).unwrap_err();
    assert_eq!(error, E::AddressAlignment { address: 16, unit: 32 });
    let error = encode(&TensorMapDesc { global_strides: [48, 128, 0, 0], ..interleaved });
    assert_eq!(error, Err(E::StrideAlignment { dimension: 1, stride: 48, unit: 32 }));

    let error = TensorMapDesc::new(DataType::U8, 0, &[16, 16], &[16, 16], &[16, 16]).unwrap_err();
    assert_eq!(error, E::Length { what: "stride", rank: 2, expected: 1, found: 2 });
    let error = TensorMapDesc::new(DataType::U8, 0, &[16, 16], &[16], &[16]).unwrap_err();
    assert_eq!(error, E::Length { what: "box dimension", rank: 2, expected: 2, found: 1 });
}

#[test]
fn limits_are_inclusive() {
    let dims = [1 << 32, 1 << 20];
    let desc = TensorMapDesc::new(DataType::U8, 0, &dims, &[(1 << 40) - 16], &[256, 256]).unwrap();
    assert_eq!(decode(&encode(&desc).unwrap()), Ok(desc));
}

#[test]
fn decode_rejects_other_bytes() {
    use TensorMapError as E;
    let good = encode(&matrix(Swizzle::B64)).unwrap_err();
    assert_eq!(good, E::InnerSpan { swizzle: Swizzle::B64, bytes: 128, span: 64 });
    let good = encode(&matrix(Swizzle::B128)).unwrap();
    assert!(decode(&good).is_ok());
    assert_eq!(decode(&[0; 128]), Err(E::Magic { found: [0; 4] }));
    let with = |offset: usize, value: u8| {
        let mut bytes = good;
        bytes[offset] = value;
        decode(&bytes).unwrap_err()
    };
    assert_eq!(with(4, 2), E::Version { found: 2 });
    assert_eq!(with(5, 13), E::Field { field: "data type", offset: 5, value: 13 });
    assert_eq!(with(6, 7), E::Rank { rank: 7 });
    assert_eq!(with(8, 7), E::Field { field: "swizzle", offset: 8, value: 7 });
    assert_eq!(with(127, 1), E::Reserved { offset: 127 });
    assert_eq!(with(16, 1), E::AddressAlignment { address: 0x1_0001, unit: 16 });
}

#[test]
fn tiles_that_cannot_be_walked() {
    let map = TensorMap::new(matrix(Swizzle::B128)).unwrap();
    assert_eq!(map.pieces(&[0], 0), Err(TileError::Coordinates { rank: 2, found: 1 }));
    assert_eq!(map.pieces(&[0, 0], 64), Err(TileError::SharedAlignment { address: 64 }));
    let end = u32::MAX - 127;
    assert_eq!(map.pieces(&[0, 0], end), Err(TileError::TooLarge { address: end, bytes: 1024 }));
    let big = TensorMapDesc::new(DataType::U8, 0, &[256; 5], &[256; 4], &[256; 5]).unwrap();
    let bytes = 1 << 40;
    assert_eq!(
        TensorMap::new(big).unwrap().pieces(&[0; 5], 0),
        Err(TileError::TooLarge { address: 0, bytes })
    );
}

#[test]
fn fills_and_conversions() {
    let mut map = TensorMap::new(matrix(Swizzle::B128)).unwrap();
    let mut bytes = [1; 8];
    map.fill(&mut bytes);
    assert_eq!(bytes, [0; 8]);
    map =
        TensorMap::new(TensorMapDesc { oob_fill: OobFill::Nan, ..matrix(Swizzle::None) }).unwrap();
    map.fill(&mut bytes);
    assert_eq!(bytes, [0xf7, 0x7f, 0xf7, 0x7f, 0xf7, 0x7f, 0xf7, 0x7f]);
    assert!(f32::from_le_bytes([0xf7, 0x7f, 0xf7, 0x7f]).is_nan());
    assert!(f64::from_le_bytes(bytes).is_nan());

    let convert = |data_type: DataType, value: f32| {
        let mut bytes = value.to_le_bytes();
        data_type.convert_loaded(&mut bytes);
        f32::from_le_bytes(bytes)
    };
    let ulp = f32::powi(2.0, -10);
    assert_eq!(convert(DataType::Tf32, 1.0 + ulp / 2.0), 1.0 + ulp);
    assert_eq!(convert(DataType::Tf32, -1.0 - ulp / 2.0), -1.0 - ulp);
    assert_eq!(convert(DataType::Tf32, 1.0 + ulp * 0.49), 1.0);
    assert_eq!(convert(DataType::Tf32, f32::INFINITY), f32::INFINITY);
    assert!(convert(DataType::Tf32, f32::NAN).is_nan());
    assert_eq!(convert(DataType::F32Ftz, -1e-40).to_bits(), (-0.0f32).to_bits());
    assert_eq!(convert(DataType::F32Ftz, 1e-37), 1e-37);
    assert_eq!(convert(DataType::F32, 1e-40), 1e-40);
}

/// SplitMix64: enough for choosing test cases, and the same on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn range(&mut self, low: i64, high: i64) -> i64 {
        low + (self.next() % (high - low + 1) as u64) as i64
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.next() as usize % of.len()]
    }

    /// A legal description with a tile of at most 16 KiB.
    fn desc(&mut self) -> TensorMapDesc {
        loop {
            let data_type = self.pick(&DataType::ALL);
            let swizzle = self.pick(&Swizzle::ALL);
            let rank = self.range(1, 5) as usize;
            let dims: Vec<u64> = (0..rank).map(|_| self.range(1, 40) as u64).collect();
            let strides: Vec<u64> = (1..rank).map(|_| self.range(0, 300) as u64 * 16).collect();
            let span = swizzle.span().unwrap_or(256);
            let inner = 16 * self.range(1, i64::from(span / 16)) as u32 / data_type.bytes();
            let mut tile: Vec<u32> = (0..rank).map(|_| self.range(1, 12) as u32).collect();
            tile[0] = inner;
            let address = self.range(0, 1 << 30) as u64 * 16;
            let desc = TensorMapDesc::new(data_type, address, &dims, &strides, &tile).unwrap();
            let mut desc = TensorMapDesc { swizzle, ..desc };
            for stride in &mut desc.element_strides[..rank] {
                *stride = self.pick(&[1, 1, 1, 2, 3, 8]);
            }
            desc.l2_promotion = self.pick(&[L2Promotion::None, L2Promotion::B256]);
            if data_type.is_float() {
                desc.oob_fill = self.pick(&[OobFill::Zeros, OobFill::Nan]);
            }
            if desc.tile_bytes() <= 16 << 10 {
                return desc;
            }
        }
    }
}

/// Where each byte of the tile comes from, one element at a time, with the swizzle as chunk and
/// line numbers.
fn reference(desc: &TensorMapDesc, coords: &[i32], base: u32) -> Vec<(u32, Option<u64>)> {
    let size = desc.data_type.bytes();
    let rank = desc.rank as usize;
    let step = |i: usize| if i == 0 { 1 } else { desc.element_strides[i] };
    let counts: Vec<u32> = (0..rank).map(|i| desc.box_dims[i].div_ceil(step(i))).collect();
    let total: u32 = counts.iter().product();
    let mut bytes = Vec::new();
    for number in 0..total {
        let mut rest = number;
        let mut global = Some(i128::from(desc.global_address));
        for i in 0..rank {
            let at = i128::from(coords[i]) + i128::from(rest % counts[i] * step(i));
            rest /= counts[i];
            let stride = if i == 0 { u64::from(size) } else { desc.global_strides[i - 1] };
            let inside = at >= 0 && at < i128::from(desc.global_dims[i]);
            global = global.filter(|_| inside).map(|g| g + at * i128::from(stride));
        }
        for byte in 0..size {
            let address = base + number * size + byte;
            let (line, chunk, rest) = (address / 128, address % 128 / 16, address % 16);
            let chunk = match desc.swizzle {
                Swizzle::None => chunk,
                Swizzle::B32 => chunk ^ (line % 2),
                Swizzle::B64 => chunk ^ (line % 4),
                Swizzle::B128 => chunk ^ (line % 8),
                Swizzle::B128Atom32 | Swizzle::B128Atom32Flip8 => {
                    ((chunk / 2) ^ (line % 4)) * 2 + chunk % 2
                }
                Swizzle::B128Atom64 => (chunk + line % 2 * 4) % 8,
            };
            let flips = desc.swizzle == Swizzle::B128Atom32Flip8 && line % 2 == 1;
            let rest = if flips { (rest + 8) % 16 } else { rest };
            let place = line * 128 + chunk * 16 + rest;
            bytes.push((place, global.map(|g| g as u64 + u64::from(byte))));
        }
    }
    bytes.sort();
    bytes
}

#[test]
fn tiles_match_the_reference_for_random_maps() {
    for seed in 0..400 {
        let mut random = Random(seed);
        let desc = random.desc();
        let bytes = encode(&desc).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        assert_eq!(decode(&bytes), Ok(desc), "seed {seed}");
        let coords: Vec<i32> = (0..desc.rank).map(|_| random.range(-20, 45) as i32).collect();
        let base = 128 * random.range(0, 20) as u32;

        let expected = reference(&desc, &coords, base);
        assert_eq!(expected.len() as u64, desc.tile_bytes(), "seed {seed}");
        let mut found = Vec::new();
        for piece in TensorMap::decode(&bytes).unwrap().pieces(&coords, base).unwrap() {
            assert!(piece.bytes > 0);
            for i in 0..piece.bytes {
                found.push((piece.shared + i, piece.global.map(|g| g + u64::from(i))));
            }
        }
        found.sort();
        assert!(found == expected, "seed {seed}: {desc:?} at {coords:?}");
    }
}
