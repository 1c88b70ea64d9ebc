//! Machines with deferral circuits, recognised by their keys. A guest's call writes the commitments that it claims into address space 4;
//! nothing in the proofs of segments says that a circuit computed them. Aggregation with the circuits' proofs does.

use openvm_circuit::arch::instructions::DEFERRAL_AS;
use openvm_sdk::keygen::AppVerifyingKey;
use openvm_sdk_config::SdkVmConfig;
use openvm_stark_backend::{
    air_builders::symbolic::SymbolicExpressionNode, keygen::types::MultiStarkVerifyingKey,
    p3_field::PrimeCharacteristicRing,
};
use openvm_verify_stark_host::vk::VerificationBaseline;

use crate::{
    error::SdkError,
    prelude::{F, SC},
};

/// The bus of accesses to memory: OpenVM's system takes the bus of the execution first, then this one.
const MEMORY_BUS: u16 = 1;

/// Refuses what application proofs say nothing about: the key of a machine with deferral circuits, and a baseline that names their hook.
///
/// # Errors
/// [`SdkError::DeferredUnproved`], which says which of both.
pub(crate) fn refuse(
    vk: &AppVerifyingKey,
    baseline: Option<&VerificationBaseline>,
) -> Result<(), SdkError> {
    let unproved = |what| Err(SdkError::DeferredUnproved { what });
    if baseline.is_some_and(|baseline| baseline.expected_def_hook_commit.is_some()) {
        return unproved("the baseline");
    }
    match has_deferral_circuits(&vk.vk) {
        true => unproved("the application's verifying key"),
        false => Ok(()),
    }
}

/// Refuses to make application proofs on a machine with deferral circuits.
///
/// # Errors
/// [`SdkError::DeferredUnproved`].
pub(crate) fn refuse_config(config: &SdkVmConfig) -> Result<(), SdkError> {
    match config.deferral {
        None => Ok(()),
        Some(_) => Err(SdkError::DeferredUnproved {
            what: "the configuration",
        }),
    }
}

/// True for the key of a machine with deferral circuits: one of its AIRs accesses their address space, always the same. Other AIRs access
/// registers or memory, or the address space that a row names.
fn has_deferral_circuits(vk: &MultiStarkVerifyingKey<SC>) -> bool {
    let space = F::from_u32(DEFERRAL_AS);
    vk.inner.per_air.iter().any(|air| {
        let dag = &air.symbolic_constraints;
        let of_memory = dag
            .interactions
            .iter()
            .filter(|i| i.bus_index == MEMORY_BUS);
        // The address space is the first word of a message.
        let spaces = of_memory.filter_map(|i| dag.constraints.nodes.get(*i.message.first()?));
        let mut constants = spaces.filter_map(|node| match node {
            SymbolicExpressionNode::Constant(space) => Some(*space),
            _ => None,
        });
        constants.any(|found| found == space)
    })
}

#[cfg(test)]
mod tests {
    use openvm_continuations::CommitBytes;
    use openvm_sdk::config::AppConfig;
    use openvm_sdk_config::deferral::{DeferralCircuitConfig, DeferralConfig, SupportedDeferral};

    use super::*;
    use crate::{app::app_keygen, parameters::toy_app};

    fn key(config: SdkVmConfig) -> AppVerifyingKey {
        let key = app_keygen(AppConfig::new(config, toy_app(18)));
        key.expect("a key").get_app_vk()
    }

    /// Catches a machine of another layout of buses or address spaces, whose calls nobody would notice.
    #[test]
    fn machines_with_deferral_circuits_are_known_by_their_keys() {
        for config in [SdkVmConfig::riscv32(), SdkVmConfig::standard()] {
            refuse(&key(config), None).expect("no deferral circuits");
        }
        let circuit = DeferralCircuitConfig {
            def_type: SupportedDeferral::VerifyStark,
            commit: CommitBytes::from([F::ONE; 8]),
        };
        // Machines of no circuit have the AIRs of calls too.
        for circuits in [
            vec![],
            vec![circuit.clone()],
            vec![circuit.clone(), circuit],
        ] {
            let mut config = SdkVmConfig::standard();
            config.deferral = Some(DeferralConfig::new(circuits));
            let error = refuse(&key(config.optimize()), None).expect_err("deferral circuits");
            let text = error.to_string();
            assert!(
                text.contains("verifying key is of a machine with deferral"),
                "{text}"
            );
        }
    }
}
