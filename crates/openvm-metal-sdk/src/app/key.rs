//! `AppKey`: the application's proving key on a device.

use openvm_sdk::keygen::AppProvingKey;
use openvm_sdk_config::SdkVmConfig;
use openvm_stark_backend::{
    keygen::types::MultiStarkProvingKey,
    prover::{DeviceDataTransporter, DeviceMultiStarkProvingKey, DeviceStarkProvingKey},
};

use crate::{
    engine::SdkEngine,
    error::{SdkError, Stage},
    prelude::SC,
};

/// The engine of the application's parameters with the proving key on its device, and the configuration that
/// segments are cut by.
pub struct AppKey<E: SdkEngine> {
    pub(crate) engine: E,
    pub(crate) device_key: DeviceMultiStarkProvingKey<E::PB>,
    pub(crate) config: SdkVmConfig,
}

impl<E: SdkEngine> AppKey<E> {
    /// Opens the device and brings the key to it. With `fit_segments`, segments are cut so that one is
    /// estimated to need at most half of the device's memory: the traces of the next one are there too.
    ///
    /// # Errors
    /// If the device cannot be used.
    pub fn new(
        device: &E::Device,
        key: &AppProvingKey<SdkVmConfig>,
        mut config: SdkVmConfig,
        fit_segments: bool,
    ) -> Result<Self, SdkError> {
        let vm_key = &key.app_vm_pk.vm_pk;
        let engine =
            E::open(vm_key.params.clone(), device).map_err(SdkError::engine(Stage::OpenDevice))?;
        let device_key = transport_key(&engine, vm_key);
        if let Some(budget) = engine.memory_budget().filter(|_| fit_segments) {
            let system = &mut config.system.config;
            let half = usize::try_from(budget / 2).unwrap_or(usize::MAX);
            system.set_segmentation_max_memory(system.segmentation_max_memory.min(half));
        }
        Ok(Self {
            engine,
            device_key,
            config,
        })
    }

    /// Another engine on the same device, and the key again: the device data are shared.
    pub(crate) fn device_key(&self) -> DeviceMultiStarkProvingKey<E::PB> {
        share_key::<E>(&self.device_key)
    }
}

pub(crate) fn transport_key<E: SdkEngine>(
    engine: &E,
    key: &MultiStarkProvingKey<SC>,
) -> DeviceMultiStarkProvingKey<E::PB> {
    engine.device().transport_pk_to_device(key)
}

/// The same key: preprocessed traces and their commitments are shared, not copied.
fn share_key<E: SdkEngine>(
    key: &DeviceMultiStarkProvingKey<E::PB>,
) -> DeviceMultiStarkProvingKey<E::PB> {
    let per_air = key.per_air.iter().map(|air| DeviceStarkProvingKey {
        air_name: air.air_name.clone(),
        vk: air.vk.clone(),
        preprocessed_data: air.preprocessed_data.clone(),
        other_data: air.other_data.clone(),
    });
    DeviceMultiStarkProvingKey::new(
        per_air.collect(),
        key.trace_height_constraints.clone(),
        key.max_constraint_degree,
        key.params.clone(),
        key.vk_pre_hash,
    )
}
