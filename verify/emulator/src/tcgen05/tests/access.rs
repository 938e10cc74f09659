use super::*;

/// Lane and column of every register of some threads, written down from the ISA's fragment figures.
#[test]
fn access_shapes_match_the_figures() {
    let cell = |shape, repeat, thread, register| {
        let cell = Access::new(shape, repeat, false).unwrap().cell(thread, register);
        (cell.lane, cell.column)
    };
    let s = Shape::Lanes32x32b;
    assert_eq!([cell(s, 4, 0, 0), cell(s, 4, 31, 3)], [(0, 0), (31, 3)]);
    let s = Shape::Lanes16x64b;
    let first: Vec<_> = (0..8).map(|t| cell(s, 2, t, 0)).collect();
    assert_eq!(first, [(0, 0), (8, 0), (0, 1), (8, 1), (1, 0), (9, 0), (1, 1), (9, 1)]);
    assert_eq!(cell(s, 2, 31, 1), (15, 3));
    let s = Shape::Lanes16x128b;
    let first: Vec<_> = (0..5).map(|t| cell(s, 2, t, 0)).collect();
    assert_eq!(first, [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0)]);
    assert_eq!([cell(s, 2, 0, 1), cell(s, 2, 0, 2), cell(s, 2, 31, 3)], [(8, 0), (0, 4), (15, 7)]);
    let s = Shape::Lanes16x256b;
    let first: Vec<_> = (0..8).map(|r| cell(s, 2, 1, r)).collect();
    let expected = [(0, 2), (0, 3), (8, 2), (8, 3), (0, 10), (0, 11), (8, 10), (8, 11)];
    assert_eq!(first, expected);
    assert_eq!(cell(s, 2, 4, 0), (1, 0));
    let s = Shape::Lanes16x32bx2 { split: 16 };
    assert_eq!([cell(s, 2, 3, 1), cell(s, 2, 19, 1)], [(3, 1), (3, 17)]);
}

fn shapes() -> [(Shape, u32, u32); 5] {
    [
        (Shape::Lanes32x32b, 1, 128),
        (Shape::Lanes16x64b, 1, 128),
        (Shape::Lanes16x128b, 2, 64),
        (Shape::Lanes16x256b, 4, 32),
        (Shape::Lanes16x32bx2 { split: 256 }, 1, 128),
    ]
}

#[test]
fn access_covers_each_cell_once() {
    for (shape, registers, largest) in shapes() {
        for packed in [false, true] {
            let mut repeat = 1;
            while repeat <= largest {
                let access = Access::new(shape, repeat, packed).unwrap();
                assert_eq!(access.registers(), repeat * registers);
                let mut cells = Vec::new();
                for (t, r) in (0..32).flat_map(|t| (0..access.registers()).map(move |r| (t, r))) {
                    let cell = access.cell(t, r);
                    for i in 0..access.cells_per_register() {
                        let upper_half = cell.column >= 256;
                        assert!(cell.lane < shape.lanes());
                        assert!(cell.column % 256 + i < access.columns());
                        cells.push((cell.lane, cell.column + i, upper_half));
                    }
                }
                cells.sort();
                cells.dedup();
                let total = 32 * access.registers() * access.cells_per_register();
                assert_eq!(cells.len() as u32, total, "{shape:?} x{repeat}");
                repeat *= 2;
            }
            assert!(Access::new(shape, 2 * largest, packed).is_err());
        }
    }
    assert!(Access::new(Shape::Lanes32x32b, 3, false).is_err());
    assert!(Access::new(Shape::Lanes32x32b, 0, false).is_err());
}

#[test]
fn store_then_load_gives_back_the_registers() {
    let mut random = Random(1);
    for (shape, _, _) in shapes() {
        for packed in [false, true] {
            let mut memory = full();
            let access = Access::new(shape, 8, packed).unwrap();
            let mut registers = vec![[0u32; 32]; access.registers() as usize];
            for value in registers.iter_mut().flatten() {
                *value = random.next() as u32;
            }
            let address = at(64, 32);
            access.store(&mut memory, 6, address, &registers).unwrap();
            let mut found = vec![[0u32; 32]; access.registers() as usize];
            assert_eq!(access.load(&memory, 2, address, &mut found), Ok(None));
            assert_eq!(found, registers);
            let cell = access.cell(5, 3);
            let (lane, column) = (64 + cell.lane, 32 + cell.column);
            let value = registers[3][5];
            if packed {
                assert_eq!(memory.read(lane, column), Some(value & 0xffff));
                assert_eq!(memory.read(lane, column + 1), Some(value >> 16));
            } else {
                assert_eq!(memory.read(lane, column), Some(value));
            }
        }
    }
}

#[test]
fn access_errors_name_the_rule() {
    let mut memory = TensorMemory::new();
    memory.alloc(0, 32).unwrap();
    let access = Access::new(Shape::Lanes32x32b, 4, false).unwrap();
    let mut registers = [[0; 32]; 4];
    let error = access.load(&memory, 5, at(0, 0), &mut registers).unwrap_err();
    assert_eq!(error, AccessError::Quarter { warp: 5, first: 0, last: 31 });
    assert_eq!(error.rule(), Some("D12"));
    assert!(error.to_string().contains("here lanes 32 to 63"), "{error}");
    let error = access.load(&memory, 1, at(48, 0), &mut registers).unwrap_err();
    assert_eq!(error, AccessError::Quarter { warp: 1, first: 48, last: 79 });
    let error = access.load(&memory, 0, at(0, 30), &mut registers).unwrap_err();
    assert_eq!(error.rule(), Some("D8"));
    assert_eq!(error, AccessError::Memory(TensorMemoryError::Unallocated { column: 32 }));
    let found = access.load(&memory, 0, at(0, 0), &mut registers[..3]);
    assert_eq!(found, Err(AccessError::Registers { expected: 4, found: 3 }));
    let half = Access::new(Shape::Lanes16x64b, 2, false).unwrap();
    let error = half.load(&memory, 0, at(8, 0), &mut registers[..2]).unwrap_err();
    assert_eq!(error, AccessError::LaneAlignment { shape: Shape::Lanes16x64b, lane: 8 });
    let split = Access::new(Shape::Lanes16x32bx2 { split: 30 }, 4, false).unwrap();
    let error = split.load(&memory, 0, at(0, 0), &mut registers).unwrap_err();
    assert_eq!(error, AccessError::Memory(TensorMemoryError::Unallocated { column: 32 }));
    let far = Access::new(Shape::Lanes16x32bx2 { split: u32::MAX }, 4, false).unwrap();
    let error = far.load(&memory, 0, at(0, 0), &mut registers).unwrap_err();
    assert!(matches!(error, AccessError::Memory(TensorMemoryError::Outside { .. })), "{error}");
    // Legal, but nothing was written.
    memory.write(0, 0, 1);
    let found = access.load(&memory, 0, at(0, 0), &mut registers);
    assert_eq!(found, Ok(Some(at(1, 0))));
    assert_eq!(registers[0][0], 1);
    assert_eq!(registers[0][1], 0xffff_ffff);
}
