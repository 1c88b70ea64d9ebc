//! `host_chips`: OpenVM's CPU chips of a configuration.

use std::sync::Arc;

use openvm_algebra_circuit::AlgebraCpuProverExt;
use openvm_bigint_circuit::Int256CpuProverExt;
use openvm_circuit::{
    arch::{AirInventory, ChipInventoryError, VmBuilder, VmProverExtension},
    system::SystemCpuBuilder,
};
use openvm_circuit_primitives::range_tuple::RangeTupleCheckerAir;
use openvm_deferral_circuit::DeferralCpuProverExt;
use openvm_ecc_circuit::EccCpuProverExt;
use openvm_keccak256_circuit::Keccak256CpuProverExt;
use openvm_metal_tracegen::uncounted_tuples;
use openvm_pairing_circuit::PairingProverExt;
use openvm_rv32im_circuit::Rv32ImCpuProverExt;
use openvm_sdk_config::SdkVmConfig;
use openvm_sha2_circuit::Sha2CpuProverExt;

use super::chip::CpuChips;
use crate::{engine::CpuEngine, prelude::SC};

/// The chips that OpenVM's `SdkVmCpuBuilder` makes, in its order. With `only_device_counts` the first table of range tuples is for chips of the device
/// alone: OpenVM's table has an allocation for each row.
pub(crate) fn host_chips(
    config: &SdkVmConfig,
    circuit: AirInventory<SC>,
    only_device_counts: bool,
) -> Result<CpuChips, ChipInventoryError> {
    let config = config.to_inner();
    let system = VmBuilder::<CpuEngine>::create_chip_complex(
        &SystemCpuBuilder,
        &config.system,
        circuit,
        &(),
    )?;
    let mut inventory = system.inventory;
    let mut has_tuples = false;
    // The extension takes a table that is there.
    let mut tuples = |inventory: &mut CpuChips| {
        let Ok(&RangeTupleCheckerAir { bus }) = inventory.next_air::<RangeTupleCheckerAir<2>>()
        else {
            return;
        };
        if only_device_counts && !has_tuples {
            inventory.add_periphery_chip(Arc::new(uncounted_tuples(bus)));
            has_tuples = true;
        }
    };
    macro_rules! extend {
        ($($prover:ident: $field:ident),*) => {$(
            if let Some(extension) = &config.$field {
                tuples(&mut inventory);
                VmProverExtension::<CpuEngine, _, _>::extend_prover(&$prover, extension, &mut inventory)?;
            }
        )*};
    }
    extend!(
        Rv32ImCpuProverExt: rv32i,
        Rv32ImCpuProverExt: io,
        Keccak256CpuProverExt: keccak,
        Sha2CpuProverExt: sha2,
        Rv32ImCpuProverExt: rv32m,
        Int256CpuProverExt: bigint,
        AlgebraCpuProverExt: modular,
        AlgebraCpuProverExt: fp2,
        PairingProverExt: pairing,
        EccCpuProverExt: ecc,
        DeferralCpuProverExt: deferral
    );
    Ok(inventory)
}
