//! Inputs for the tests of the whole prover.
#![allow(dead_code, reason = "each test binary uses a part")]

pub mod expr;
pub mod keccak;
pub mod params;
pub mod random_air;
pub mod random_input;

use random_input::Limits;

use openvm_metal_backend::{
    kernels::LIBRARY, BabyBearPoseidon2MetalEngine, MetalBackend, MetalDevice,
};
use openvm_metal_common::{Device, DeviceProfile, MetalContext, StreamCounters};
use openvm_stark_backend::{
    codec::{EncodableConfig, Encode},
    keygen::types::{MultiStarkProvingKey, MultiStarkVerifyingKey},
    proof::Proof,
    prover::{
        CpuColMajorBackend, DeviceDataTransporter, DeviceMultiStarkProvingKey, ProvingContext,
    },
    test_utils::{MixtureFixture, TestFixture},
    AirRef, StarkEngine, StarkProtocolConfig, SystemParams,
};
use openvm_stark_sdk::config::baby_bear_poseidon2::{
    BabyBearPoseidon2Config, BabyBearPoseidon2RefEngine, DuplexSponge, F,
};

pub type SC = BabyBearPoseidon2Config;
pub type HostContext<S = SC> = ProvingContext<CpuColMajorBackend<S>>;

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
pub struct Input<S: StarkProtocolConfig = SC> {
    pub airs: Vec<AirRef<S>>,
    pub ctx: HostContext<S>,
}

/// Brings key and traces to the engine's device and proves.
pub fn prove<E: StarkEngine>(
    engine: &E,
    pk: &MultiStarkProvingKey<E::SC>,
    ctx: &HostContext<E::SC>,
) -> Result<Proof<E::SC>, String> {
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
pub fn mixture<S: StarkProtocolConfig<F = F>>(log_height: usize, config: &S) -> Input<S> {
    let fixture = MixtureFixture::standard(log_height, config.clone());
    Input {
        airs: fixture.airs(),
        ctx: fixture.generate_proving_ctx(),
    }
}

pub fn bytes<S: EncodableConfig>(proof: &Proof<S>) -> Vec<u8> {
    proof.encode_to_vec().expect("encoding into memory")
}

/// A number from the environment: campaigns take more inputs and other seeds than CI.
pub fn setting(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(value) => value
            .parse()
            .unwrap_or_else(|_| panic!("{name}={value} is not a number")),
        Err(_) => default,
    }
}

/// Shapes of input `i`: mostly small, some of the largest height, some with many wide AIRs.
pub fn limits(i: u64, most_rows: usize, degree: usize) -> Limits {
    let [max_airs, max_log_height, max_width, buses] = match i % 10 {
        4 | 9 => [6, most_rows, 5, 4],
        7 => [16, 5, 40, 12],
        _ => [6, 6, 5, 4],
    };
    Limits {
        max_airs,
        max_log_height: max_log_height.min(most_rows),
        max_width,
        degree,
        buses,
    }
}
