//! Application proofs, byte for byte.

use openvm_metal_common::Device;
use openvm_metal_sdk::{
    engine::{MetalEngine, ReferenceEngine},
    ProveOptions, RowOrder, Sdk, SdkEngine,
};
use openvm_sdk::Sdk as StockSdk;
use openvm_stark_backend::{codec::Encode, proof::Proof};

use crate::{
    guest::{elf, sums},
    setup::{agg_params, app_config, builder, input, CAMPAIGN},
};

type Proofs = Vec<Vec<u8>>;

fn bytes<SC>(proofs: &[Proof<SC>]) -> Proofs
where
    SC: openvm_stark_backend::StarkProtocolConfig,
    Proof<SC>: Encode,
{
    proofs.iter().map(|p| p.encode_to_vec().unwrap()).collect()
}

fn ours<E: SdkEngine>(device: E::Device, n: u32) -> Proofs {
    let sdk: Sdk<E> = builder(device).row_order(RowOrder::AsMade).build().unwrap();
    let options = ProveOptions::default().with_in_flight(1);
    let (proof, _) = sdk.prove_app(elf(&sums(n)), input(), &options).unwrap();
    bytes(&proof.per_segment)
}

fn stock(n: u32) -> Proofs {
    let mut config = app_config();
    config
        .app_vm_config
        .system
        .config
        .set_segmentation_max_memory(1);
    let sdk = StockSdk::new(config, agg_params()).unwrap();
    let proof = sdk
        .app_prover(elf(&sums(n)))
        .unwrap()
        .prove(input())
        .unwrap();
    bytes(&proof.per_segment)
}

/// With one thread OpenVM's traces are deterministic; then so are the proofs with their rows as made, whichever engine
/// and whichever driver made them. The stock SDK's engine is OpenVM's CPU engine.
#[test]
fn proofs_equal_those_of_other_engines_and_of_the_stock_sdk() {
    let n = 220;
    let one = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap();
    let metal = one.install(|| ours::<MetalEngine>(Device::Cpu, n));
    assert!(metal.len() >= 2, "{} segments", metal.len());
    assert!(metal == one.install(|| stock(n)), "stock SDK");
    // The reference engine takes several times as long: of one segment, or in a campaign of all.
    let n = std::env::var_os(CAMPAIGN).map_or(3, |_| n);
    let metal = one.install(|| ours::<MetalEngine>(Device::Cpu, n));
    assert!(
        metal == one.install(|| ours::<ReferenceEngine>((), n)),
        "reference engine"
    );
}
