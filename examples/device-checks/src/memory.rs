//! Memory: what is copied comes back, and nothing is freed in use.

use baton_host::{Buffer, Device, POISON, Pinned, read, write};
use example_common::Numbers;
use reservation::{CTAS, KERNELS};

use crate::{Checked, same_elements};

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
