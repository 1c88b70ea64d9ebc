//! The trace of the Poseidon2 chip that a device makes, against that of OpenVM's CPU chip.

use openvm_circuit::{
    arch::vm_poseidon2_config,
    system::poseidon2::{Poseidon2PeripheryChip, PERIPHERY_POSEIDON2_WIDTH},
};
use openvm_metal_backend::{kernels as backend_kernels, MetalDevice};
use openvm_metal_common::{Device, MetalContext};
use openvm_metal_tracegen::{kernels, DeviceChips, Permutations, SegmentTraces};
use openvm_stark_backend::p3_matrix::Matrix;
use openvm_stark_sdk::config::{
    app_params_with_100_bits_security, baby_bear_poseidon2::BabyBearPoseidon2Config as SC,
};
use p3_baby_bear::BabyBear as F;
use p3_field::{PrimeCharacteristicRing, PrimeField32};
use rand::{rngs::StdRng, Rng, SeedableRng};

type State = [F; PERIPHERY_POSEIDON2_WIDTH];

/// A random input, of zeros, ones and greatest elements every fourth time.
fn input(rng: &mut StdRng) -> State {
    let edges = rng.random_range(0..4) == 0;
    std::array::from_fn(|_| match edges {
        true => [F::ZERO, F::ONE, F::NEG_ONE][rng.random_range(0..3)],
        false => F::from_u32(rng.random_range(0..F::ORDER_U32)),
    })
}

fn check(device: Device, sizes: &[usize], seed: u64) {
    let context = MetalContext::new(device, &[&backend_kernels::LIBRARY, &kernels::LIBRARY])
        .expect("the device");
    let config = SC::default_from_params(app_params_with_100_bits_security(21));
    let device = MetalDevice::on_context(config, context);
    let mut segment = SegmentTraces::new(&device, &DeviceChips::none()).expect("no counts");
    let mut rng = StdRng::seed_from_u64(seed);
    for &rows in sizes {
        for degree in [3, 7] {
            let chip = Poseidon2PeripheryChip::new(vm_poseidon2_config(), degree);
            let mut permutations = Permutations::none_of(&chip);
            permutations.inputs = (0..rows).map(|_| input(&mut rng)).collect();
            permutations.lookups = (0..rows).map(|_| rng.random()).collect();
            let got = segment.permutations(&permutations).expect("a trace");
            let cells = device.download(&got).expect("the trace");
            let height = if rows == 0 {
                0
            } else {
                rows.next_power_of_two()
            };
            assert_eq!(
                (got.height(), got.width()),
                (height, permutations.columns())
            );
            if rows == 0 {
                continue;
            }
            let mut inputs = permutations.inputs.clone();
            inputs.resize(height, State::default());
            let expected = match &chip {
                Poseidon2PeripheryChip::Register0(chip) => chip.subchip.generate_trace(inputs),
                Poseidon2PeripheryChip::Register1(chip) => chip.subchip.generate_trace(inputs),
            };
            for row in 0..height {
                for column in 0..expected.width() {
                    assert_eq!(
                        cells[column * height + row],
                        expected.values[row * expected.width() + column],
                        "{rows} permutations, degree {degree}: column {column} of row {row}"
                    );
                }
                let lookups = permutations.lookups.get(row).copied().unwrap_or(0);
                assert_eq!(cells[expected.width() * height + row], F::from_u32(lookups));
            }
        }
    }
}

#[test]
fn rows_equal_those_of_the_cpu_chip() {
    check(
        Device::from_env().expect("a device"),
        &[0, 1, 2, 3, 257, 5000],
        1,
    );
}

#[test]
fn rows_on_fibers_equal_those_of_the_cpu_chip() {
    check(Device::CpuConformance, &[1, 37], 2);
}
