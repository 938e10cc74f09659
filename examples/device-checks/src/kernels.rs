//! Kernels: launches of every kind that the host has, and launches that it refuses.

use baton_host::{Buffer, Device, EmulatorOptions, Error};
use example_common::Outcome;
use protocols::{Protocol, Size};
use reservation::{CTAS, KERNELS};

use crate::{Checked, same};

fn verified(outcome: Result<Outcome, Error>) -> Checked {
    let outcome = outcome?;
    match outcome.is_verified() {
        true => Ok(()),
        false => {
            let first =
                outcome.verdict.first.unwrap_or_else(|| "the emulator found hazards".into());
            Err(format!("{} elements are wrong: {first}", outcome.verdict.wrong).into())
        }
    }
}

pub fn refusals(device: &Device) -> Checked {
    let module = device.load(&KERNELS)?;
    let mut data = Buffer::<u32>::poisoned(device, 100)?;
    let refused = |launch: Result<_, Error>, what: &str| match launch {
        Err(Error::BadLaunch { .. }) => Ok(()),
        Err(other) => Err(format!("{what}: another error: {other}")),
        Ok(_) => Err(format!("{what}: launched")),
    };
    let call = reservation_kernel::write(data.as_arg_mut(), 1);
    refused(device.launch(&module, 0, call), "an empty grid")?;
    let call = reservation_kernel::write(data.as_arg_mut(), 1);
    refused(device.launch(&module, [1, 1 << 20, 1], call), "a grid that is too large")?;
    let elsewhere = Device::emulator(EmulatorOptions::default());
    let mut foreign = Buffer::<u32>::poisoned(&elsewhere, 100)?;
    let call = reservation_kernel::write(foreign.as_arg_mut(), 1);
    refused(device.launch(&module, CTAS, call), "memory of another device")?;
    // Nothing of it has hurt the device.
    drop(device.launch(&module, CTAS, reservation_kernel::write(data.as_arg_mut(), 1))?);
    same("the last element", reservation_kernel::value(1, 99), data.to_vec()?[99])
}

pub fn occupancy(device: &Device) -> Checked {
    let module = device.load(&KERNELS)?;
    let mut data = Buffer::<u32>::poisoned(device, 100)?;
    let call = reservation_kernel::write(data.as_arg_mut(), 1);
    let occupancy = device.occupancy(&module, &call)?;
    same("some CTA fits", true, occupancy.resident_ctas() > 0)?;
    same("clusters of a kernel without", None, occupancy.clusters)
}

pub fn mailboxes(device: &Device) -> Checked {
    let module = device.load(&message_passing::KERNELS)?;
    (0..10).try_for_each(|seed| verified(message_passing::run(device, &module, 1000, seed)))
}

pub fn rings(device: &Device) -> Checked {
    let module = device.load(&ring::KERNELS)?;
    verified(ring::run(device, &module, 2000, 3, 1))
}

pub fn tensor_maps(device: &Device) -> Checked {
    let module = device.load(&bulk_copy::KERNELS)?;
    let shapes = [(1, 1), (128, 32), (300, 150)];
    shapes.iter().try_for_each(|shape| verified(bulk_copy::run(device, &module, *shape, 3, 1)))
}

pub fn large_shared_memory(device: &Device) -> Checked {
    let module = device.load(&gemm_hopper::KERNELS)?;
    let shape = gemm_hopper::Shape { m: 150, n: 257, k: 65 };
    let mut all = gemm_hopper::Tiles::ALL.into_iter();
    all.try_for_each(|tiles| verified(gemm_hopper::run(device, &module, tiles, shape, 2, 1)))
}

fn protocol(device: &Device, protocol: Protocol) -> Checked {
    let module = device.load(&protocols::KERNELS)?;
    let size = Size { ctas: 8, rounds: 5, elements: 1000 };
    verified(protocols::run(protocol, device, &module, size, 1))
}

pub fn co_resident(device: &Device) -> Checked {
    protocol(device, Protocol::Grid)
}

pub fn clusters(device: &Device) -> Checked {
    protocol(device, Protocol::Peers)
}
