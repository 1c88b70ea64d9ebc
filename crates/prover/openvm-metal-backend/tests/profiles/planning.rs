//! Large proofs on machines that are not here: planned within their memory, or refused with the numbers
//! before any work.

use openvm_metal_backend::{
    BabyBearPoseidon2MetalEngine, MetalBackend, MetalMatrix, MetalProverError as E,
};
use openvm_metal_common::{Device, MetalBuffer};
use openvm_stark_backend::{
    prover::{AirProvingContext, DeviceDataTransporter, ProvingContext},
    StarkEngine,
};
use openvm_stark_sdk::config::app_params_with_100_bits_security;

use super::common::{keccak::keccakf, on_profile, profile};

const MIB: u64 = 1 << 20;
const COLUMNS: usize = 2633;

/// The trace of `2^log` keccakf permutations. No cell of it is touched, so it takes no memory.
fn trace(engine: &BabyBearPoseidon2MetalEngine, log: usize) -> ProvingContext<MetalBackend> {
    let context = engine.device().stream().expect("CPU").context();
    let rows = 1usize << (log + 5);
    let cells = MetalBuffer::uninit(context, rows * COLUMNS).expect("address space");
    let trace = MetalMatrix::from_buffer(cells, rows, COLUMNS);
    ProvingContext::new(vec![(0, AirProvingContext::simple_no_pis(trace))])
}

/// The peaks in MiB that are planned for each `2^log` permutations, if they fit the device of that name.
fn planned<const N: usize>(name: &str, logs: [usize; N]) -> [Option<u64>; N] {
    let params = app_params_with_100_bits_security(21);
    let engine = on_profile(params, Device::Cpu, profile(name), None);
    let (pk, _) = engine.keygen(&keccakf(1).airs);
    let pk = engine.device().transport_pk_to_device(&pk);
    let context = engine.device().stream().expect("CPU").context().clone();
    let budget = context.device_profile().budget;
    logs.map(|log| {
        let ctx = trace(&engine, log);
        let before = context.memory().allocations;
        let estimate = engine.memory_estimate(&pk, &ctx).expect("a good input");
        let checked = engine.check_input(&pk, &ctx);
        assert_eq!(context.memory().allocations, before, "work was started");
        match checked {
            Ok(()) => {
                assert!(estimate.peak() <= budget);
                Some(estimate.peak() / MIB)
            }
            Err(error) => {
                let text = error.to_string();
                let E::MemoryBudget { .. } = error else {
                    panic!("{name}: {text}");
                };
                println!("{name}, 2^{log}: {text}");
                assert!(estimate.peak() > budget);
                let numbers = [estimate.peak(), budget].map(|n| n.to_string());
                let words = ["prover.", "prove shorter traces"];
                for part in numbers.iter().map(String::as_str).chain(words) {
                    assert!(text.contains(part), "'{part}' is not in '{text}'");
                }
                None
            }
        }
    })
}

/// The peak on an H100 was measured: 7,937 MiB at 2^13, 1,025 MiB at 2^10.
#[test]
fn keccakf_on_macs_and_on_an_h100() {
    let table = |name| planned(name, [10, 12, 13]);
    for name in ["m2-16gb", "m2-max-64gb", "m2-max-96gb", "h100-80gb"] {
        let [small, middle, large] = table(name).map(|peak| peak.expect("it fits"));
        println!("{name}: {small}, {middle}, {large} MiB");
        assert!((1_025..1_400).contains(&small), "{name}: {small} MiB");
        assert!((3_900..4_700).contains(&middle), "{name}: {middle} MiB");
        assert!((7_937..9_000).contains(&large), "{name}: {large} MiB");
    }
    // Where the codewords do not fit, they never exist together: twice the permutations.
    for (name, most) in [("m1-8gb", 13), ("mac-runner", 13), ("m2-16gb", 14)] {
        let budget = profile(name).budget / MIB;
        let [peak] = planned(name, [most]);
        println!("{name}, 2^{most}: {peak:?} of {budget} MiB");
        assert!(peak.is_some_and(|peak| peak <= budget), "{name}");
    }
}
