//! Key generation of an application: openvm-sdk's `AppProvingKey::keygen`, with hashes by this processor's vectors.

use std::sync::Arc;

use openvm_circuit::arch::{AirInventory, AirInventoryError, VmCircuitConfig};
use openvm_metal_backend::keygen::{of_protocol, KeygenConfig};
use openvm_sdk::{config::AppConfig, keygen::AppProvingKey, prover::vm::types::VmProvingKey};
use openvm_sdk_config::SdkVmConfig;

/// Makes the proving key.
///
/// # Errors
/// [`AirInventoryError`] if an extension needs an AIR that the configuration does not have.
pub(crate) fn app_keygen(
    config: AppConfig<SdkVmConfig>,
) -> Result<AppProvingKey<SdkVmConfig>, AirInventoryError> {
    let AppConfig {
        app_vm_config: vm_config,
        system_params,
    } = config;
    let airs: AirInventory<KeygenConfig> = vm_config.create_airs()?;
    let vm_pk = Arc::new(of_protocol(airs.keygen(&KeygenConfig::new(system_params))));
    Ok(AppProvingKey {
        app_vm_pk: Arc::new(VmProvingKey { vm_config, vm_pk }),
    })
}

#[cfg(test)]
mod tests {
    use openvm_stark_sdk::config::app_params_with_100_bits_security;

    use super::*;

    /// Catches a key that is not openvm-sdk's, and so proofs that no other verifier takes.
    #[test]
    fn keys_are_those_of_openvm_sdk() {
        for vm_config in [SdkVmConfig::riscv32(), SdkVmConfig::standard()] {
            let params = app_params_with_100_bits_security(21);
            let config = AppConfig::new(vm_config, params);
            let own = app_keygen(config.clone()).expect("a key");
            let theirs = AppProvingKey::keygen(config).expect("a key");
            let [own, theirs] = [own, theirs].map(|key| bitcode::serialize(&key).expect("bytes"));
            assert!(own == theirs);
        }
    }
}
