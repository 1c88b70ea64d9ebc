//! Key generation of an application: openvm-sdk's `AppProvingKey::keygen`, an AIR on each thread and with hashes by this processor's vectors.

use std::{collections::BTreeMap, sync::Arc};

use openvm_circuit::arch::{AirInventory, AirInventoryError, VmCircuitConfig};
use openvm_metal_backend::keygen::{of_protocol, KeygenConfig};
use openvm_metal_verify::key_contents;
use openvm_sdk::{config::AppConfig, keygen::AppProvingKey, prover::vm::types::VmProvingKey};
use openvm_sdk_config::SdkVmConfig;
use openvm_stark_backend::{
    hasher::MerkleHasher,
    keygen::{
        types::{LinearConstraint, MultiStarkProvingKey, StarkProvingKey},
        MultiStarkKeygenBuilder,
    },
    p3_field::PrimeField32,
    AirRef, StarkProtocolConfig, SystemParams,
};
use rayon::prelude::*;

use crate::prelude::F;

/// Makes the proving key.
///
/// # Errors
/// [`AirInventoryError`] if an extension needs an AIR that the configuration does not have.
///
/// # Panics
/// Panics as OpenVM's key generation if an AIR has no circuit with these parameters.
pub(crate) fn app_keygen(
    config: AppConfig<SdkVmConfig>,
) -> Result<AppProvingKey<SdkVmConfig>, AirInventoryError> {
    let AppConfig {
        app_vm_config: vm_config,
        system_params,
    } = config;
    let airs: AirInventory<KeygenConfig> = vm_config.create_airs()?;
    let system = airs.config().clone();
    let airs: Vec<_> = airs.into_airs().collect();
    let config = KeygenConfig::new(system_params.clone());
    let per_air = airs.into_par_iter().enumerate().with_max_len(1);
    let per_air: Vec<_> = per_air
        .map(|(id, air)| air_key(&config, air, system.is_required_air_id(id)))
        .collect();
    let key = MultiStarkProvingKey {
        trace_height_constraints: height_constraints(&per_air, &system_params),
        per_air,
        max_constraint_degree: system_params.max_constraint_degree,
        params: system_params,
        vk_pre_hash: Default::default(),
    };
    let contents = key_contents(&key.get_vk()).expect("a key can be encoded");
    let vk_pre_hash = config.hasher().hash_slice(&contents);
    let vm_pk = Arc::new(of_protocol(MultiStarkProvingKey { vk_pre_hash, ..key }));
    Ok(AppProvingKey {
        app_vm_pk: Arc::new(VmProvingKey { vm_config, vm_pk }),
    })
}

/// The key of one AIR.
fn air_key(
    config: &KeygenConfig,
    air: AirRef<KeygenConfig>,
    is_required: bool,
) -> StarkProvingKey<KeygenConfig> {
    let mut builder = MultiStarkKeygenBuilder::new(config.clone());
    match is_required {
        true => builder.add_required_air(air),
        false => builder.add_air(air),
    };
    // The hash of the AIR alone is in no key.
    builder.config = config.clone().without_hashes();
    let key = builder.generate_pk();
    let per_air = key.unwrap_or_else(|error| panic!("{error}")).per_air;
    per_air.into_iter().next().expect("the AIR that was added")
}

/// Bounds on the heights of traces, which keep the interactions of each bus below the field's order and all of them within the bound of LogUp's
/// security. Those that follow from others are left out.
fn height_constraints(
    per_air: &[StarkProvingKey<KeygenConfig>],
    params: &SystemParams,
) -> Vec<LinearConstraint> {
    let bound = |threshold| LinearConstraint {
        coefficients: vec![0; per_air.len()],
        threshold,
    };
    let mut buses = BTreeMap::new();
    let mut all = bound(params.logup.max_interaction_count);
    for (air, key) in per_air.iter().enumerate() {
        let interactions = &key.vk.symbolic_constraints.interactions;
        all.coefficients[air] = interactions.len() as u32;
        for interaction in interactions {
            let bus = buses.entry(interaction.bus_index);
            let bus = bus.or_insert_with(|| bound(F::ORDER_U32));
            bus.coefficients[air] += interaction.count_weight;
        }
    }
    let mut least: Vec<LinearConstraint> = Vec::new();
    for constraint in buses.into_values().chain([all]) {
        if least.iter().any(|other| constraint.is_implied_by(other)) {
            continue;
        }
        least.retain(|other| !other.is_implied_by(&constraint));
        least.push(constraint);
    }
    least
}

#[cfg(test)]
mod tests {
    use openvm_stark_sdk::config::app_params_with_100_bits_security;

    use super::*;

    /// Catches a key that is not openvm-sdk's, and so proofs that no other verifier takes.
    #[test]
    fn keys_are_those_of_openvm_sdk() {
        // With the bound of each bus, and with one on all interactions that they follow from.
        for (vm_config, bound) in [
            (SdkVmConfig::riscv32(), None),
            (SdkVmConfig::standard(), None),
            (SdkVmConfig::riscv32(), Some(1 << 10)),
        ] {
            let mut params = app_params_with_100_bits_security(21);
            if let Some(bound) = bound {
                params.logup.max_interaction_count = bound;
            }
            let config = AppConfig::new(vm_config, params);
            let own = app_keygen(config.clone()).expect("a key");
            let theirs = AppProvingKey::keygen(config).expect("a key");
            let [own, theirs] = [own, theirs].map(|key| bitcode::serialize(&key).expect("bytes"));
            assert!(own == theirs);
        }
    }
}
