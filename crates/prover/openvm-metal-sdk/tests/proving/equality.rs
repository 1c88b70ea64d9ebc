//! Application proofs, byte for byte.

use std::{env, process::Command};

use openvm_metal_common::Device;
use openvm_metal_sdk::{
    engine::{MetalEngine, ReferenceEngine},
    ProveOptions, RowOrder, Sdk, SdkEngine,
};
use openvm_sdk::Sdk as StockSdk;
use openvm_stark_backend::{codec::Encode, proof::Proof};

use crate::{
    example::{self, Example},
    guest::{elf, elf_bytes, sums},
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

fn ours<E: SdkEngine>(device: E::Device, n: u32, traces_on_device: bool) -> Proofs {
    let sdk: Sdk<E> = builder(device)
        .row_order(RowOrder::AsMade)
        .traces_on_device(traces_on_device)
        .generic_build()
        .unwrap();
    let options = ProveOptions::default().with_in_flight(1);
    let (proof, _) = sdk
        .generic_prove_app(sdk.executable(elf(&sums(n))).unwrap(), input(), &options)
        .unwrap();
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
        .app_prover(elf_bytes(&sums(n)))
        .unwrap()
        .prove(input())
        .unwrap();
    bytes(&proof.per_segment)
}

/// Runs an ignored test once more, in a process in which rayon has one thread. True in that process.
fn is_alone(test: &str) -> bool {
    if rayon::current_num_threads() == 1 {
        return true;
    }
    let mut child = Command::new(env::current_exe().unwrap());
    let child = child.args(["--exact", test, "--include-ignored", "--nocapture"]);
    let output = child.env("RAYON_NUM_THREADS", "1").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}{errors}"
    );
    false
}

/// Proofs of one thread, on which OpenVM's traces and its search for witnesses of work are deterministic; then so are the proofs with their rows as made, whichever engine
/// and whichever driver made them. The stock SDK's engine is OpenVM's CPU engine.
#[test]
#[ignore = "two minutes on two cores: a campaign by command"]
fn proofs_equal_those_of_other_engines_and_of_the_stock_sdk() {
    if !is_alone("equality::proofs_equal_those_of_other_engines_and_of_the_stock_sdk") {
        return;
    }
    let n = 220;
    let metal = ours::<MetalEngine>(Device::Cpu, n, false);
    assert!(metal.len() >= 2, "{} segments", metal.len());
    // OpenVM cuts other segments.
    let short = ours::<MetalEngine>(Device::Cpu, 3, false);
    assert_eq!(short.len(), 1);
    assert!(short == stock(3), "stock SDK");
    let traced = ours::<MetalEngine>(Device::Cpu, n, true);
    assert!(metal == traced, "traces of the device");
    // The reference engine takes several times as long: of one segment, or in a campaign of all.
    let n = env::var_os(CAMPAIGN).map_or(3, |_| n);
    let metal = ours::<MetalEngine>(Device::Cpu, n, true);
    assert!(
        metal == ours::<ReferenceEngine>((), n, false),
        "reference engine"
    );
}

/// Segments of the examples: kzg is cut into several, and the reference engine keeps several copies of one.
const SEGMENT_BYTES: usize = 1 << 30;

fn of_example<E: SdkEngine>(
    device: E::Device,
    example: &Example,
    traces_on_device: bool,
) -> Proofs {
    let sdk: Sdk<E> = example::builder(device, &example.configuration())
        .segment_max_memory(SEGMENT_BYTES)
        .row_order(RowOrder::AsMade)
        .traces_on_device(traces_on_device)
        .generic_build()
        .unwrap();
    let options = ProveOptions::default().with_in_flight(1);
    let (proof, _) = sdk
        .generic_prove_app(
            sdk.executable(example.elf()).unwrap(),
            example.input(),
            &options,
        )
        .unwrap();
    bytes(&proof.per_segment)
}

/// A test for each guest.
macro_rules! examples {
    ($($name:ident)*) => {
        $(#[test]
        #[ignore = "the reference engine takes minutes: a campaign by command"]
        fn $name() {
            if !is_alone(concat!("equality::", stringify!($name))) {
                return;
            }
            let example = Example::new(stringify!($name));
            let metal = of_example::<MetalEngine>(Device::Cpu, &example, true);
            let reference = of_example::<ReferenceEngine>((), &example, false);
            assert!(metal == reference, "{} segments", metal.len());
        })*
    };
}

examples!(fibonacci sha256 keccak256 bigint ecdsa json words evm kzg);
