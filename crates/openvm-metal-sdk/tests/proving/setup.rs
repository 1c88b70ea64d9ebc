//! Toy parameters, and one SDK for all tests.

use std::sync::LazyLock;

use openvm_metal_common::Device;
use openvm_metal_sdk::{MetalSdk, SdkBuilder, SdkEngine};
use openvm_sdk::{
    config::{AggregationSystemParams, AggregationTreeConfig, AppConfig},
    StdIn,
};
use openvm_sdk_config::SdkVmConfig;
use openvm_stark_backend::{
    interaction::LogUpSecurityParameters, SystemParams, WhirConfig, WhirParams,
    WhirProximityStrategy,
};

/// Parameters with toy security for stacked matrices of `2^log_height` rows.
pub fn toy_params(log_height: usize, max_constraint_degree: usize) -> SystemParams {
    let (log_blowup, k, security_bits) = (1, 4, 5);
    let whir = WhirParams {
        k,
        log_final_poly_len: log_height % k,
        query_phase_pow_bits: 1,
        folding_pow_bits: 2,
        mu_pow_bits: 3,
        proximity: WhirProximityStrategy::SplitUniqueList {
            m: 3,
            list_start_round: 1,
        },
    };
    SystemParams {
        l_skip: 4,
        n_stack: log_height - 4,
        w_stack: 1 << 12,
        log_blowup,
        whir: WhirConfig::new(log_blowup, log_height, whir, security_bits),
        logup: LogUpSecurityParameters {
            max_interaction_count: 1 << 30,
            log_max_message_length: 7,
            pow_bits: 2,
        },
        max_constraint_degree,
    }
}

pub fn app_params() -> SystemParams {
    toy_params(18, 3)
}

pub fn agg_params() -> AggregationSystemParams {
    AggregationSystemParams {
        leaf: toy_params(17, 4),
        internal: toy_params(17, 4),
    }
}

/// RV32I with input and output; without M, whose lookup table is the tallest.
pub fn vm_config() -> SdkVmConfig {
    let mut config = SdkVmConfig::builder()
        .system(Default::default())
        .rv32i(Default::default())
        .io(Default::default())
        .build()
        .optimize();
    // Every check of the metering ends a segment: about 1000 instructions each.
    config.system.config.set_segmentation_max_memory(1);
    config
}

pub fn app_config() -> AppConfig<SdkVmConfig> {
    AppConfig::new(vm_config(), app_params())
}

pub fn tree() -> AggregationTreeConfig {
    AggregationTreeConfig {
        num_children_leaf: 2,
        num_children_internal: 2,
    }
}

pub fn builder<E: SdkEngine>(device: E::Device) -> SdkBuilder<E> {
    openvm_metal_sdk::Sdk::builder(device)
        .app_config(app_config())
        .agg_params(agg_params())
        .agg_tree_config(tree())
        .segment_max_memory(1)
}

/// The engine of this project on the processor.
pub fn sdk() -> &'static MetalSdk {
    static SDK: LazyLock<MetalSdk> = LazyLock::new(|| {
        builder(Device::Cpu)
            .build()
            .expect("the settings go together")
    });
    &SDK
}

/// The input of [`sums`](crate::guest::sums).
pub fn input() -> StdIn {
    StdIn::from_bytes(&[1, 2, 3, 4])
}
