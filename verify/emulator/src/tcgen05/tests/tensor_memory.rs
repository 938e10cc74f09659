use super::*;

#[test]
fn allocation_hands_out_and_takes_back_columns() {
    let mut memory = TensorMemory::new();
    assert_eq!(memory.alloc(0, 256), Ok(Some(at(0, 0))));
    assert_eq!(memory.alloc(1, 256), Ok(Some(at(0, 256))));
    assert_eq!(memory.alloc(2, 32), Ok(None), "full: the CTA waits");
    assert_eq!(memory.dealloc(0, at(0, 0), 256), Ok(()));
    assert_eq!(memory.alloc(2, 32), Ok(Some(at(0, 0))));
    assert_eq!(memory.alloc(0, 128), Ok(Some(at(0, 32))));
    let held: Vec<_> = memory.allocations(0).collect();
    assert_eq!(held, [Allocation { owner: 0, column: 32, columns: 128 }]);
    assert_eq!(memory.exit(0), held);
    assert_eq!(memory.allocations(0).count(), 0);
    // A later CTA with the same number starts afresh.
    assert_eq!(memory.alloc(0, 64), Ok(Some(at(0, 32))));
}

#[test]
fn allocation_errors_name_the_rule() {
    use TensorMemoryError as E;
    let mut memory = TensorMemory::new();
    for columns in [0, 16, 48, 1024] {
        assert_eq!(memory.alloc(0, columns), Err(E::Columns { columns }));
    }
    memory.alloc(0, 64).unwrap();
    let growing = E::Growing { before: 64, columns: 128 };
    assert_eq!(memory.alloc(0, 128), Err(growing.clone()));
    assert!(growing.to_string().contains(growing.rule()));
    let not_allocated = |address, columns| Err(E::NotAllocated { address, columns });
    assert_eq!(memory.dealloc(0, at(0, 32), 64), not_allocated(32, 64));
    assert_eq!(memory.dealloc(0, at(0, 0), 32), not_allocated(0, 32));
    assert_eq!(memory.dealloc(0, at(1, 0), 64), not_allocated(0x1_0000, 64));
    assert_eq!(memory.dealloc(1, at(0, 0), 64), not_allocated(0, 64));
    memory.relinquish(0);
    assert_eq!(memory.alloc(0, 32), Err(E::Relinquished));
    assert_eq!(memory.dealloc(0, at(0, 0), 64), Ok(()));
    assert_eq!(memory.dealloc(0, at(0, 0), 64), not_allocated(0, 64));
    memory.relinquish(7);
    assert_eq!(memory.alloc(7, 32), Err(E::Relinquished));
}

#[test]
fn only_allocated_columns_can_be_touched() {
    use TensorMemoryError as E;
    let mut memory = TensorMemory::new();
    memory.alloc(0, 64).unwrap();
    memory.alloc(1, 32).unwrap();
    assert_eq!(memory.check(at(0, 0), 128, 96), Ok(()));
    assert_eq!(memory.check(at(0, 60), 128, 64), Err(E::Unallocated { column: 96 }));
    let outside = E::Outside { lane: 96, lanes: 64, column: 0, columns: 1 };
    assert_eq!(memory.check(at(96, 0), 64, 1), Err(outside.clone()));
    assert!(outside.to_string().contains("96 to 159"), "{outside}");
    memory.dealloc(0, at(0, 0), 64).unwrap();
    assert_eq!(memory.check(at(0, 32), 1, 1), Err(E::Unallocated { column: 32 }));
}

#[test]
fn unwritten_cells_are_known() {
    let mut memory = full();
    assert_eq!(memory.read(3, 70), None);
    assert_eq!(memory.row(3, 70, 1), [0xffff_ffff]);
    memory.write(3, 70, 5);
    assert_eq!(memory.read(3, 70), Some(5));
    for (column, columns) in [(0, 64), (63, 2), (1, 510), (500, 12), (64, 128)] {
        let mut memory = full();
        assert_eq!(memory.first_unwritten(9, column, columns), Some(column));
        memory.row_mut(9, column, columns).fill(1);
        assert_eq!(memory.first_unwritten(9, column, columns), None);
        for other in 0..512 {
            let inside = (column..column + columns).contains(&other);
            assert_eq!(memory.read(9, other).is_some(), inside, "column {other}");
        }
        assert_eq!(memory.read(8, column), None);
        memory.forget(at(9, column + 1), 1, 1);
        assert_eq!(memory.first_unwritten(9, column, columns), Some(column + 1));
        assert_eq!(memory.row(9, column, 2), [1, 0xffff_ffff]);
    }
    assert_eq!(at(0x7f, 0x1ff).to_bits(), 0x007f_01ff);
    assert_eq!(TensorAddress::from_bits(0x0020_0040), at(32, 64));
}
