//! Whole files, from which damaged ones are made.
//!
//! Files in the folder `seeds` are of a program of four instructions with `--toy` parameters: `keygen`, `setup`, `commit`,
//! `prove app`; `stark.proof` is the proof of `prove stark` in OpenVM's own encoding. The others are made of them here.

use std::sync::LazyLock;

use openvm_circuit::arch::ContinuationVmProof;
use openvm_metal_sdk::{decode_elf, executable, files, parameters::toy_app};
use openvm_sdk::{keygen::AppVerifyingKey, types::VersionedVmStarkProof};
use openvm_sdk_config::SdkVmConfig;
use openvm_stark_backend::{
    codec::{Decode as _, Encode as _},
    keygen::types::MultiStarkVerifyingKey,
    proof::Proof,
    test_utils::{InteractionsFixture11, TestFixture as _},
    StarkEngine as _,
};
use openvm_stark_sdk::config::baby_bear_poseidon2::{
    BabyBearPoseidon2Config as SC, BabyBearPoseidon2RefEngine, DuplexSponge,
};
use openvm_verify_stark_host::{
    vk::{VerificationBaseline, VmStarkVerifyingKey},
    VmStarkProof,
};

pub const BASELINE: &[u8] = include_bytes!("seeds/baseline.json");
pub const COMMIT: &[u8] = include_bytes!("seeds/commit.json");
pub const APP_PK: &[u8] = include_bytes!("seeds/app.pk");
pub const AGG_PK: &[u8] = include_bytes!("seeds/agg.pk");
pub const APP_PROOF: &[u8] = include_bytes!("seeds/app.proof");

pub const FIBONACCI: &[u8] =
    include_bytes!("../../../../../examples/guests/fibonacci/fibonacci.elf");

pub const INPUT: &[u8] = br#"{"input": ["0x01e803000000000000", "0x0201000000ff000000", "01"]}"#;

pub const CONFIGS: [&[u8]; 4] = [
    include_bytes!("../../../../../examples/guests/fibonacci/openvm.toml"),
    include_bytes!("../../../../../examples/guests/ecdsa/openvm.toml"),
    include_bytes!("../../../../../examples/guests/kzg/openvm.toml"),
    include_bytes!("../../../../../examples/guests/evm/openvm.toml"),
];

pub const PLAN: &[u8] = br#"{"format":1,"job":"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff",
"segments":[{"instret_start":0,"num_insns":1000,"trace_heights":[1024,2,64,0]},
{"instret_start":1000,"num_insns":24,"trace_heights":[32,2,64,1]},
{"instret_start":1024,"num_insns":5,"trace_heights":[8,2,64,1]}],
"public_values":[1,2,255],"leaf_children":2,"internal_children":3,"segment_max_memory":16106127360}"#;

/// Keys and proofs that belong together.
pub struct Seeds {
    pub app_vk: AppVerifyingKey,
    pub app_proof: ContinuationVmProof<SC>,
    pub agg_vk: MultiStarkVerifyingKey<SC>,
    pub baseline: VerificationBaseline,
    pub stark_vk: VmStarkVerifyingKey,
    pub proof: VmStarkProof,
    pub circuit_vk: MultiStarkVerifyingKey<SC>,
    pub circuit_proof: Proof<SC>,
    pub exe: Vec<u8>,
}

pub fn seeds() -> &'static Seeds {
    static SEEDS: LazyLock<Seeds> = LazyLock::new(|| {
        let app_pk = files::app_pk_from_bytes(APP_PK).expect("a key");
        let agg_pk = files::agg_pk_from_bytes(AGG_PK).expect("a key");
        let agg_vk = agg_pk.internal_recursive.get_vk();
        let baseline = files::baseline_from_bytes(BASELINE).expect("a baseline");
        let engine = circuit_engine();
        let (circuit_vk, circuit_proof) = InteractionsFixture11.keygen_and_prove(&engine);
        let elf = decode_elf(FIBONACCI).expect("an ELF");
        let exe = executable(&SdkVmConfig::riscv32(), elf).expect("an executable");
        Seeds {
            app_vk: app_pk.get_app_vk(),
            app_proof: files::app_proof_from_bytes(APP_PROOF).expect("a proof"),
            stark_vk: VmStarkVerifyingKey {
                mvk: agg_vk.clone(),
                baseline: baseline.clone(),
            },
            proof: VmStarkProof::decode_from_bytes(include_bytes!("seeds/stark.proof"))
                .expect("a proof"),
            exe: files::to_bytes("an executable", &*exe).expect("encoded"),
            agg_vk,
            baseline,
            circuit_vk,
            circuit_proof,
        }
    });
    &SEEDS
}

/// The engine that verifies circuits on their own.
pub fn circuit_engine() -> BabyBearPoseidon2RefEngine<DuplexSponge> {
    BabyBearPoseidon2RefEngine::new(toy_app(8))
}

impl Seeds {
    /// The JSON of the aggregated proof.
    pub fn proof_json(&self) -> Vec<u8> {
        let file = VersionedVmStarkProof::new(self.proof.clone()).expect("encoded");
        serde_json::to_vec(&file).expect("JSON")
    }

    pub fn circuit_proof_bytes(&self) -> Vec<u8> {
        self.circuit_proof.encode_to_vec().expect("encoded")
    }

    pub fn circuit_vk_bytes(&self) -> Vec<u8> {
        postcard::to_allocvec(&self.circuit_vk).expect("encoded")
    }
}
