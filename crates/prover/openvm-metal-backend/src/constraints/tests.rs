//! The phase against the reference prover, with the same transcript.

mod keccak;
mod random;
#[cfg(unix)]
mod takeover;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use openvm_metal_common::{CommandStream, Device, MetalBuffer, MetalContext};
use openvm_stark_backend::{
    keygen::types::MultiStarkProvingKey,
    prover::{
        prove_zerocheck_and_logup, CpuColMajorBackend, DeviceDataTransporter, MatrixDimensions,
        ProvingContext,
    },
    test_utils::*,
    AirRef, StarkEngine, SystemParams,
};
use openvm_stark_sdk::config::baby_bear_poseidon2::{
    default_duplex_sponge, BabyBearPoseidon2Config, BabyBearPoseidon2RefEngine, DuplexSponge,
};

use super::*;
use crate::{
    config::{ConstraintKernels, MetalProverConfig},
    kernels,
    prelude::*,
};

type Engine = BabyBearPoseidon2RefEngine<DuplexSponge>;
type CpuContext = ProvingContext<CpuColMajorBackend<SC>>;

pub use self::{keccak::keccak_key, random::random_keys};

/// A folder for compiled kernels.
pub fn scratch(name: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/tmp");
    target.join(name)
}

/// True if the tests that take minutes run, docs/reference/testing.md.
fn campaign() -> bool {
    std::env::var_os("OPENVM_METAL_TEST_CAMPAIGN").is_some_and(|value| value == "1")
}

/// Kernels of rules are compiled and used wherever they can be.
fn generated() -> MetalProverConfig {
    MetalProverConfig {
        constraint_kernels: ConstraintKernels::Generated,
        kernel_folder: Some(scratch("rules")),
        ..Default::default()
    }
}

pub(crate) fn stream_on(device: Device) -> CommandStream {
    MetalContext::shared_on(device, &[&kernels::LIBRARY])
        .unwrap()
        .stream()
}

fn stream() -> CommandStream {
    stream_on(Device::from_env().unwrap())
}

fn upload(s: &CommandStream, values: &[F]) -> Arc<MetalBuffer<F>> {
    Arc::new(if values.is_empty() {
        MetalBuffer::uninit(s.context(), 1).unwrap()
    } else {
        MetalBuffer::from_host(s, values).unwrap()
    })
}

/// Proves the phase twice and compares everything, the transcript included.
fn compare(params: SystemParams, airs: Vec<AirRef<SC>>, ctx: CpuContext) {
    compare_on(&stream(), &MetalProverConfig::default(), params, airs, ctx);
}

fn compare_on(
    s: &CommandStream,
    config: &MetalProverConfig,
    mut params: SystemParams,
    airs: Vec<AirRef<SC>>,
    ctx: CpuContext,
) {
    // The reference sponge grinds on many threads and returns any witness.
    params.logup.pow_bits = 0;
    let engine = Engine::new(params);
    let (pk, _) = engine.keygen(&airs);
    let ctx = ctx.into_sorted();
    let d_pk = engine.device().transport_pk_to_device(&pk);
    let mut expected_transcript = default_duplex_sponge();
    let expected = prove_zerocheck_and_logup::<BabyBearPoseidon2Config, _>(
        &mut expected_transcript,
        &d_pk,
        &ctx,
    )
    .unwrap();
    use openvm_stark_backend::FiatShamirTranscript;
    let sample = |t: &mut DuplexSponge| FiatShamirTranscript::<SC>::sample(t);
    let next = sample(&mut expected_transcript);
    for on_device in [false, true] {
        let config = MetalProverConfig {
            transcript_on_device: Some(on_device),
            ..config.clone()
        };
        let (proof, mut transcript) = prove(s, &config, &pk, &ctx);
        let found = &proof.batch;
        let expected_sums = &expected.1.numerator_term_per_air;
        assert_eq!(&found.numerator_term_per_air, expected_sums);
        let expected_sums = &expected.1.denominator_term_per_air;
        assert_eq!(&found.denominator_term_per_air, expected_sums);
        let expected_coeffs = &expected.1.univariate_round_coeffs;
        assert_eq!(&found.univariate_round_coeffs, expected_coeffs);
        let expected_polys = &expected.1.sumcheck_round_polys;
        assert_eq!(&found.sumcheck_round_polys, expected_polys, "{on_device}");
        assert_eq!(found.column_openings, expected.1.column_openings);
        assert_eq!(proof.gkr, expected.0);
        assert_eq!(proof.r, expected.2);
        assert_eq!(sample(&mut transcript), next);
    }
}

/// Our proof of the phase for traces on the host.
pub(crate) fn prove(
    s: &CommandStream,
    config: &MetalProverConfig,
    pk: &MultiStarkProvingKey<SC>,
    ctx: &CpuContext,
) -> (ConstraintOutput<SC, ()>, DuplexSponge) {
    let mut data: Vec<AirDataMetal> = pk
        .per_air
        .iter()
        .map(|air| AirDataMetal::compile(&air.air_name, &air.vk).unwrap())
        .collect();
    let programs = data.iter().map(AirDataMetal::programs);
    let kernels = generated::start(s.context(), config, programs).unwrap();
    for (data, kernels) in data.iter_mut().zip(kernels) {
        if config.constraint_kernels == ConstraintKernels::Generated {
            for (rules, kernels) in data.programs().rules().zip(&kernels) {
                for field in EvalField::ALL {
                    let ready = kernels.over(field).and_then(|k| k.ready(true));
                    assert_eq!(ready.is_some(), !rules.is_empty());
                }
            }
        }
        data.set_kernels(kernels);
    }
    let part = |values: &[F], height: usize, log_row_stride: u32| PartInput {
        buffer: upload(s, values),
        offset: 0,
        column_stride: (height as u64) << log_row_stride,
        log_row_stride,
    };
    let traces = ctx
        .per_trace
        .iter()
        .map(|(air, trace)| {
            let height = trace.common_main.height();
            let mut parts = Vec::new();
            if let Some(data) = &pk.per_air[*air].preprocessed_data {
                parts.push(part(&data.mat_view(0).to_matrix().values, height, 0));
            }
            for cached in &trace.cached_mains {
                parts.push(part(&cached.trace.values, height, 0));
            }
            parts.push(part(&trace.common_main.values, height, 0));
            TraceInput {
                air_data: data[*air].clone(),
                log_height: height.ilog2() as usize,
                parts,
                public_values: trace.public_values.clone(),
            }
        })
        .collect();
    let input = ConstraintInput {
        l_skip: pk.params.l_skip,
        max_constraint_degree: pk.max_constraint_degree,
        logup_pow_bits: pk.params.logup.pow_bits,
        traces,
    };
    let planned = PlannedConstraints::begin(s.context().device_profile(), config, input);
    let mut transcript = default_duplex_sponge();
    let proof = prove_constraints(s, config, &mut transcript, planned, || Ok(())).unwrap();
    (proof, transcript)
}

fn compare_fixture(params: SystemParams, fixture: impl TestFixture<SC>) {
    compare(params, fixture.airs(), fixture.generate_proving_ctx());
}

#[test]
fn fibonacci() {
    for (l_skip, log_height) in [(2, 3), (2, 7), (4, 10), (3, 3), (4, 2), (5, 8), (1, 4)] {
        let params = test_system_params_small(l_skip, 12 - l_skip, 3);
        compare_fixture(params, FibFixture::new(0, 1, 1 << log_height));
    }
}

#[test]
fn interactions() {
    for l_skip in 1..=4 {
        compare_fixture(
            test_system_params_small(l_skip, 10 - l_skip, 3),
            InteractionsFixture11,
        );
    }
}

#[test]
fn self_interactions_of_mixed_heights() {
    let params = test_system_params_small(4, 10, 3);
    let fixture = SelfInteractionFixture {
        widths: vec![4, 7, 8, 8, 10],
        log_height: 8,
        bus_index: 4,
    };
    compare_fixture(params, fixture);
}

#[test]
fn preprocessed_and_cached() {
    for log_height in [2, 3, 5, 9] {
        let sels: Vec<bool> = (0..1 << log_height).map(|i| i % 3 == 0).collect();
        for l_skip in [2, 4] {
            let params = test_system_params_small(l_skip, 12 - l_skip, 3);
            compare_fixture(
                params.clone(),
                PreprocessedFibFixture::new(0, 1, sels.clone()),
            );
            let config = BabyBearPoseidon2Config::default_from_params(params.clone());
            compare_fixture(
                params,
                PreprocessedAndCachedFixture::new(sels.clone(), config, 3),
            );
        }
    }
}

#[test]
fn mixture_of_airs() {
    for log_height in [3, 5, 8] {
        let params = test_system_params_small(3, 9, 3);
        let config = BabyBearPoseidon2Config::default_from_params(params.clone());
        compare_fixture(params, MixtureFixture::standard(log_height, config));
    }
}

#[test]
fn small_scratch_means_more_passes() {
    let params = test_system_params_small(2, 10, 3);
    let config = BabyBearPoseidon2Config::default_from_params(params.clone());
    let fixture = MixtureFixture::standard(8, config);
    let prover = MetalProverConfig {
        constraint_scratch_bytes: 4096,
        ..Default::default()
    };
    compare_on(
        &stream(),
        &prover,
        params,
        fixture.airs(),
        fixture.generate_proving_ctx(),
    );
}

#[test]
fn conformance_mode() {
    let s = stream_on(Device::cpu_conformance());
    fn check(s: &CommandStream, params: SystemParams, fixture: &impl TestFixture<SC>) {
        let config = MetalProverConfig::default();
        let (airs, ctx) = (fixture.airs(), fixture.generate_proving_ctx());
        compare_on(s, &config, params, airs, ctx);
    }
    for (l_skip, log_height) in [(2, 5), (4, 7), (4, 2)] {
        let params = test_system_params_small(l_skip, 10 - l_skip, 3);
        let config = BabyBearPoseidon2Config::default_from_params(params.clone());
        check(&s, params.clone(), &FibFixture::new(0, 1, 1 << log_height));
        let sels = vec![true; 1 << log_height];
        let fixture = PreprocessedAndCachedFixture::new(sels, config.clone(), 2);
        check(&s, params.clone(), &fixture);
        check(&s, params, &MixtureFixture::standard(log_height, config));
    }
}
