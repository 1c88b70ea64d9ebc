//! Each kind of bad input is refused by an error that names the AIR and the number at fault.

#[path = "../common/mod.rs"]
mod common;
mod constraints;
mod disagreement;
mod memory;
mod parameters;
mod traces;

use common::{params::SMALL, Input, SC};
use openvm_metal_backend::{
    prelude::F, BabyBearPoseidon2MetalEngine, MetalBackend, MetalMatrix, MetalProverError as E,
};
use openvm_metal_common::MetalBuffer;
use openvm_stark_backend::{
    prover::{
        AirProvingContext, DeviceDataTransporter, DeviceMultiStarkProvingKey, ProvingContext,
    },
    test_utils::{FibFixture, PreprocessedAndCachedFixture, TestFixture},
    StarkEngine, SystemParams,
};
use p3_field::PrimeCharacteristicRing;

type Metal = BabyBearPoseidon2MetalEngine;
type Key = DeviceMultiStarkProvingKey<MetalBackend>;
type Context = ProvingContext<MetalBackend>;

fn small() -> SystemParams {
    SMALL[0].params()
}

fn input(fixture: &impl TestFixture<SC>) -> Input {
    Input {
        airs: fixture.airs(),
        ctx: fixture.generate_proving_ctx(),
    }
}

/// Key and traces on the engine's device.
fn on_device(engine: &Metal, input: &Input) -> (Key, Context) {
    let (pk, _) = engine.keygen(&input.airs);
    let device = engine.device();
    (
        device.transport_pk_to_device(&pk),
        device.transport_proving_ctx_to_device(&input.ctx),
    )
}

/// The error of a proof and its message.
fn refusal(engine: &Metal, pk: &Key, ctx: Context) -> (E, String) {
    let error = engine.prove(pk, ctx).map(|_| ()).expect_err("a refusal");
    let text = error.to_string();
    (error, text)
}

/// A Fibonacci proof whose common main trace has another shape or number of public values.
fn fibonacci(height: usize, width: usize, public: usize) -> (E, String) {
    let engine = Metal::new(small());
    let (pk, _) = on_device(&engine, &input(&FibFixture::new(0, 1, 8)));
    let s = engine.device().stream().expect("a device");
    let buffer = MetalBuffer::zeroed(s, height * width).expect("memory");
    let trace = MetalMatrix::from_buffer(buffer, height, width);
    let air = AirProvingContext::simple(trace, vec![F::ZERO; public]);
    refusal(&engine, &pk, ProvingContext::new(vec![(0, air)]))
}

/// Preprocessed and two cached columns beside the common main one.
fn committed(engine: &Metal, rows: usize) -> Input {
    let sels = vec![true; rows];
    input(&PreprocessedAndCachedFixture::new(
        sels,
        engine.config().clone(),
        2,
    ))
}

#[track_caller]
fn contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "'{part}' is not in '{text}'");
    }
}
