//! Memory: what is copied comes back, and nothing is freed in use.

use std::sync::Arc;
use std::thread;

use baton_host::{
    Buffer, Device, EmulatorOptions, Error, Managed, Matrix, POISON, Pinned, read, write,
};
use example_common::Numbers;
use reservation::{CTAS, KERNELS};

use crate::{Checked, Skipped, same_elements};

/// None, one, no multiple of anything, and more than a page.
const LENGTHS: [usize; 4] = [0, 1, 1001, 1 << 18];

fn numbers(len: usize) -> Vec<u32> {
    let mut numbers = Numbers::new(len as u64);
    (0..len).map(|_| numbers.bits() as u32).collect()
}

pub fn copies(device: &Device) -> Checked {
    for len in LENGTHS {
        let values = numbers(len);
        let mut buffer = Buffer::from_slice(device, &values)?;
        same_elements("u32", &values, &buffer.to_vec()?)?;
        buffer.fill(0x5a)?;
        same_elements("filled", &vec![0x5a5a_5a5a; len], &buffer.to_vec()?)?;
        let bytes: Vec<u8> = values.iter().map(|value| *value as u8).collect();
        same_elements("u8", &bytes, &Buffer::from_slice(device, &bytes)?.to_vec()?)?;
        let poisoned = Buffer::<u8>::poisoned(device, len)?.to_vec()?;
        same_elements("poisoned", &vec![POISON; len], &poisoned)?;
    }
    Ok(())
}

pub fn pinned(device: &Device) -> Checked {
    let (there, back) = (device.stream()?, device.stream()?);
    for len in LENGTHS {
        let values = numbers(len);
        let from = Pinned::from_slice(device, &values)?;
        let mut to = Pinned::<u32>::zeroed(device, len)?;
        let mut buffer = Buffer::poisoned(device, len)?;
        let mut second = Buffer::poisoned(device, len)?;
        there.upload(&from, &mut buffer)?;
        back.copy(&buffer, &mut second)?;
        there.download(&second, &mut to)?;
        same_elements("downloaded", &values, to.as_slice()?)?;
    }
    Ok(())
}

pub fn dropped(device: &Device) -> Checked {
    let module = device.load(&KERNELS)?;
    let len = 1 << 16;
    for round in 0..20 {
        let stream = device.stream()?;
        let mut data = Buffer::<u32>::poisoned(device, len)?;
        let mut wrong =
            Buffer::<u32>::zeroed(device, (CTAS * reservation_kernel::THREADS) as usize)?;
        stream.launch(&module, CTAS, reservation_kernel::write, (write(&mut data), round))?;
        let arguments = (read(&data), write(&mut wrong), round, 20);
        stream.launch(&module, CTAS, reservation_kernel::read, arguments)?;
        drop((stream, data));
        // Would take the place of what was dropped, were it freed too early.
        let _other = Buffer::<u32>::zeroed(device, len)?;
        same_elements("wrong words", &vec![0; wrong.len()], &wrong.to_vec()?)?;
    }
    Ok(())
}

pub fn stream_ordered(device: &Device) -> Checked {
    let stream = device.stream()?;
    let values = numbers(5000);
    let from = Pinned::from_slice(device, &values)?;
    for _ in 0..20 {
        let mut buffer = stream.alloc::<u32>(values.len())?;
        stream.upload(&from, &mut buffer)?;
        stream.resize(&mut buffer, 7000)?;
        stream.resize(&mut buffer, 3000)?;
        same_elements("moved", &values[..3000], &buffer.to_vec()?)?;
        stream.free(buffer)?;
    }
    drop(stream.synchronize()?);
    Ok(())
}

pub fn parts(device: &Device) -> Checked {
    let (first, second) = (device.stream()?, device.stream()?);
    let values = numbers(3000);
    let mut buffer = Buffer::from_slice(device, &values)?;
    // The last third over the first, by one stream, and the second filled by another.
    let (mut low, rest) = buffer.split_at_mut(1000)?;
    let (mut middle, high) = rest.split_at(1000)?;
    first.copy(&high, &mut low)?;
    second.fill(&mut middle, 0x11)?;
    let expected = [&values[2000..], &[0x1111_1111; 1000], &values[2000..]].concat();
    same_elements("parts", &expected, &buffer.to_vec()?)?;

    let mut square = Buffer::<u32>::zeroed(device, 50 * 64)?;
    let rows = Matrix::new(50, 20);
    first.copy_matrix((&buffer, rows), (&mut square, rows.with_pitch(64)))?;
    let square = square.to_vec()?;
    for (row, found) in square.chunks(64).enumerate() {
        let expected = [&expected[20 * row..20 * row + 20], &[0; 44]].concat();
        same_elements(&format!("row {row}"), &expected, found)?;
    }
    Ok(())
}

pub fn managed(device: &Device) -> Checked {
    let module = device.load(&KERNELS)?;
    let stream = device.stream()?;
    let values = match Managed::<u32>::zeroed(device, 5000) {
        Err(Error::NoManagedMemory { .. }) => {
            return Err(Skipped("the host must keep away from managed memory").into());
        }
        values => values,
    };
    let mut values = values?;
    for round in 0..5 {
        values.as_mut_slice()?.fill(round);
        let mut copy = Buffer::<u32>::poisoned(device, values.len())?;
        stream.copy(&values, &mut copy)?;
        stream.launch(&module, CTAS, reservation_kernel::write, (write(&mut values), round))?;
        let expected: Vec<u32> =
            (0..5000).map(|index| reservation_kernel::value(round, index)).collect();
        same_elements("what a kernel wrote", &expected, values.as_slice()?)?;
        same_elements("what the host wrote", &[round; 5000], &copy.to_vec()?)?;
    }
    Ok(())
}

pub fn shared(device: &Device) -> Checked {
    let values = numbers(5000);
    let shared = Arc::new(Buffer::from_slice(device, &values)?);
    let threads = [(); 3].map(|()| {
        let (device, shared) = (device.clone(), Arc::clone(&shared));
        thread::spawn(move || -> Result<Vec<u32>, Error> {
            let stream = device.thread_stream()?;
            let mut copy = Buffer::<u32>::poisoned(&device, shared.len())?;
            for _ in 0..20 {
                stream.copy(&shared, &mut copy)?;
            }
            // Whoever is the last drops it in use.
            drop(shared);
            copy.to_vec()
        })
    });
    drop(shared);
    for thread in threads {
        let copied = thread.join().map_err(|_| "a thread has panicked")?;
        same_elements("a thread's copy", &values, &copied?)?;
    }
    Ok(())
}

/// Another device of the same kind: a GPU with another number, or an emulator.
fn another(device: &Device) -> Option<Device> {
    match device.gpu_index() {
        None => Some(Device::emulator(EmulatorOptions::default())),
        Some(index) => [0, 1]
            .into_iter()
            .filter(|other| *other != index)
            .find_map(|other| Device::gpu(other).ok()),
    }
}

pub fn peers(device: &Device) -> Checked {
    let Some(other) = another(device) else { return Err(Skipped("there is one GPU").into()) };
    let streams = [device.stream()?, other.stream()?];
    for len in LENGTHS {
        let values = numbers(len);
        let here = Buffer::from_slice(device, &values)?;
        let mut there = Buffer::<u32>::poisoned(&other, len)?;
        let mut back = Buffer::<u32>::poisoned(device, len)?;
        for stream in &streams {
            stream.copy(&here, &mut there)?;
            stream.copy(&there, &mut back)?;
            streams[1].fill(&mut there, 0)?;
        }
        same_elements("there and back", &values, &back.to_vec()?)?;
    }
    Ok(())
}
