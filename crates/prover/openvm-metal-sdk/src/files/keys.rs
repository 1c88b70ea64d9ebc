//! Keys: reading compares their contents with the hash that they name.
//!
//! `verify` and `verify_app` compare again. They take keys that were made elsewhere, and not every reader verifies
//! with them.

use std::sync::Arc;

use openvm_sdk::keygen::{AggPrefixProvingKey, AggProvingKey, AppProvingKey, AppVerifyingKey};
use openvm_sdk_config::SdkVmConfig;
use openvm_stark_backend::keygen::types::{MultiStarkProvingKey, MultiStarkVerifyingKey};
use openvm_verify_stark_host::vk::VmStarkVerifyingKey;

use super::bitcode;
use crate::{error::SdkError, memory_config, prelude::SC, verifying_key::check_key};

pub(super) fn check(vk: &MultiStarkVerifyingKey<SC>) -> Result<(), String> {
    match check_key("the key", vk, 0.0) {
        Ok(_) => Ok(()),
        Err(SdkError::Key { reason, .. }) => Err(reason),
        Err(error) => Err(error.to_string()),
    }
}

fn check_proving(pk: &MultiStarkProvingKey<SC>) -> Result<(), String> {
    check(&pk.get_vk())
}

pub(super) fn app_pk(bytes: &[u8]) -> Result<AppProvingKey<SdkVmConfig>, String> {
    let key: AppProvingKey<SdkVmConfig> = bitcode(bytes)?;
    check_proving(&key.app_vm_pk.vm_pk)?;
    // The hash of the key does not cover the configuration.
    let system = &key.app_config().app_vm_config.system.config;
    memory_config::check(system).map_err(|error| error.to_string())?;
    Ok(key)
}

pub(super) fn app_vk(bytes: &[u8]) -> Result<AppVerifyingKey, String> {
    let key: AppVerifyingKey = bitcode(bytes)?;
    check(&key.vk)?;
    Ok(key)
}

/// Both parts of the aggregation keys in one file, as openvm-sdk's `AggProvingKey` serializes them.
pub(super) fn agg_pk(bytes: &[u8]) -> Result<AggProvingKey, String> {
    let key: AggProvingKey = bitcode(bytes)?;
    check_prefix(&key.prefix)?;
    check_proving(&key.internal_recursive)?;
    Ok(key)
}

pub(super) fn agg_prefix_pk(bytes: &[u8]) -> Result<AggPrefixProvingKey, String> {
    let key: AggPrefixProvingKey = bitcode(bytes)?;
    check_prefix(&key)?;
    Ok(key)
}

fn check_prefix(key: &AggPrefixProvingKey) -> Result<(), String> {
    check_proving(&key.leaf)?;
    check_proving(&key.internal_for_leaf)
}

pub(super) fn internal_recursive_pk(bytes: &[u8]) -> Result<Arc<MultiStarkProvingKey<SC>>, String> {
    let key: Arc<MultiStarkProvingKey<SC>> = bitcode(bytes)?;
    check_proving(&key)?;
    Ok(key)
}

pub(super) fn agg_vk(bytes: &[u8]) -> Result<MultiStarkVerifyingKey<SC>, String> {
    let key = bitcode(bytes)?;
    check(&key)?;
    Ok(key)
}

pub(super) fn stark_vk(bytes: &[u8]) -> Result<VmStarkVerifyingKey, String> {
    let key: VmStarkVerifyingKey = bitcode(bytes)?;
    check(&key.mvk)?;
    Ok(key)
}
