//! Inputs for the tests of the whole prover.
#![allow(dead_code, reason = "each test binary uses a part")]

pub mod expr;
pub mod keccak;
pub mod params;
pub mod random_air;
pub mod random_input;

use openvm_metal_backend::{
    kernels::LIBRARY, BabyBearPoseidon2MetalEngine, MetalBackend, MetalDevice,
};
use openvm_metal_common::{Device, DeviceProfile, MetalContext, StreamCounters};
use openvm_stark_backend::{
    codec::Encode,
    keygen::types::{MultiStarkProvingKey, MultiStarkVerifyingKey},
    proof::Proof,
    prover::{
        CpuColMajorBackend, DeviceDataTransporter, DeviceMultiStarkProvingKey, ProvingContext,
    },
    test_utils::{MixtureFixture, TestFixture},
    AirRef, StarkEngine, SystemParams,
};
use openvm_stark_sdk::config::baby_bear_poseidon2::{
    BabyBearPoseidon2Config, BabyBearPoseidon2RefEngine, DuplexSponge,
};

pub type SC = BabyBearPoseidon2Config;
pub type HostContext = ProvingContext<CpuColMajorBackend<SC>>;

/// A profile that exists.
pub fn profile(name: &str) -> DeviceProfile {
    DeviceProfile::named(name).unwrap_or_else(|error| panic!("{error}"))
}

/// An engine on a context of its own on the CPU, which plans as a device with this profile.
pub fn on_profile(
    params: SystemParams,
    device: Device,
    profile: DeviceProfile,
    budget: Option<u64>,
) -> BabyBearPoseidon2MetalEngine {
    let context = MetalContext::builder(device)
        .libraries(&[&LIBRARY])
        .budget(budget)
        .profile(profile)
        .open()
        .expect("CPU");
    let config = SC::default_from_params(params);
    BabyBearPoseidon2MetalEngine::from_device(MetalDevice::on_context(config, context))
}

/// AIRs and traces of one proof, on the host.
pub struct Input {
    pub airs: Vec<AirRef<SC>>,
    pub ctx: HostContext,
}

/// Brings key and traces to the engine's device and proves.
pub fn prove<E: StarkEngine<SC = SC>>(
    engine: &E,
    pk: &MultiStarkProvingKey<SC>,
    ctx: &HostContext,
) -> Result<Proof<SC>, String> {
    let device = engine.device();
    let device_pk = device.transport_pk_to_device(pk);
    let device_ctx = device.transport_proving_ctx_to_device(ctx);
    engine
        .prove(&device_pk, device_ctx)
        .map_err(|error| error.to_string())
}

/// Checks a proof by OpenVM's verifier with OpenVM's transcript: nothing of ours takes part.
pub fn verify_by_openvm(params: SystemParams, vk: &MultiStarkVerifyingKey<SC>, proof: &Proof<SC>) {
    let judge = BabyBearPoseidon2RefEngine::<DuplexSponge>::new(params);
    judge.verify(vk, proof).expect("a valid proof");
}

/// Proves and checks the proof with the stock verifier; key, proof.
pub fn prove_and_verify<E: StarkEngine<SC = SC>>(
    engine: &E,
    input: &Input,
) -> (MultiStarkVerifyingKey<SC>, Proof<SC>) {
    let (pk, vk) = engine.keygen(&input.airs);
    let proof = prove(engine, &pk, &input.ctx).unwrap_or_else(|error| panic!("{error}"));
    engine
        .verify(&vk, &proof)
        .unwrap_or_else(|error| panic!("{error}"));
    (vk, proof)
}

/// Proves and reads the counters of the proof.
pub fn prove_counted(
    engine: &BabyBearPoseidon2MetalEngine,
    pk: &MultiStarkProvingKey<SC>,
    ctx: &HostContext,
) -> (Proof<SC>, StreamCounters) {
    let device = engine.device();
    let device_pk = device.transport_pk_to_device(pk);
    let device_ctx = device.transport_proving_ctx_to_device(ctx);
    prove_counted_on(engine, &device_pk, device_ctx)
}

/// [`prove_counted`] of an input on the engine's device.
pub fn prove_counted_on(
    engine: &BabyBearPoseidon2MetalEngine,
    pk: &DeviceMultiStarkProvingKey<MetalBackend>,
    ctx: ProvingContext<MetalBackend>,
) -> (Proof<SC>, StreamCounters) {
    engine
        .prove_counted(pk, ctx)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// OpenVM's mixture of AIRs: rotations, preprocessed and cached traces, interactions, heights from 4
/// rows to `2^log_height`.
pub fn mixture(log_height: usize, config: &SC) -> Input {
    let fixture = MixtureFixture::standard(log_height, config.clone());
    Input {
        airs: fixture.airs(),
        ctx: fixture.generate_proving_ctx(),
    }
}

pub fn bytes(proof: &Proof<SC>) -> Vec<u8> {
    proof.encode_to_vec().expect("encoding into memory")
}
