//! Tests of what every kind of device does: on the stand-in for the driver, which is late, and does some of its work early as
//! each seed says; and on emulators of as many seeds.

use baton_host::Device;

use crate::fixture::seeded;
use crate::stand_in::{Driver, allocations, seed, violations, with};

/// The body with `N` devices of a kind, again and again. All that it was given is given back at the end.
pub fn everywhere<const N: usize>(test: &str, body: impl Fn([Device; N])) {
    with(Driver::StandIn, &[("STAND_IN_GPUS", &N.to_string())], test, || {
        for of in 0..16 {
            seed(of);
            body(std::array::from_fn(|index| Device::gpu(index).unwrap()));
            body(std::array::from_fn(|index| seeded(of + 100 * index as u64)));
        }
        assert_eq!((violations().as_str(), allocations()), ("", 0));
    });
}
