//! Toy parameters, and one SDK for all tests.

use std::sync::LazyLock;

use openvm_metal_common::Device;
use openvm_metal_sdk::{
    parameters::{toy_aggregation, toy_app},
    MetalSdk, SdkBuilder, SdkEngine,
};
use openvm_sdk::{
    config::{AggregationSystemParams, AggregationTreeConfig, AppConfig},
    StdIn,
};
use openvm_sdk_config::SdkVmConfig;
use openvm_stark_backend::SystemParams;

/// Set to 1: tests whose whole takes long do all of it.
pub const CAMPAIGN: &str = "OPENVM_METAL_TEST_CAMPAIGN";

pub fn app_params() -> SystemParams {
    toy_app(18)
}

pub fn agg_params() -> AggregationSystemParams {
    toy_aggregation(17)
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
        .min_security_bits(0.0)
        .app_config(app_config())
        .agg_params(agg_params())
        .agg_tree_config(tree())
        .segment_max_memory(1)
}

/// With the keys of the SDK that all tests share, so that they are made once.
pub fn builder_with_keys<E: SdkEngine>(device: E::Device) -> SdkBuilder<E> {
    openvm_metal_sdk::Sdk::builder(device)
        .min_security_bits(0.0)
        .app_pk(sdk().app_pk().unwrap().as_ref().clone())
        .agg_pk(sdk().agg_pk().unwrap())
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
