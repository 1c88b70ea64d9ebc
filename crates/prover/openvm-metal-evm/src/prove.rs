//! The two halo2 proofs over a root proof.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use openvm_metal_sdk::root::{verify_root, RootSC};
use openvm_sdk::types::{AppExecutionCommit, EvmProof};
use openvm_stark_backend::proof::Proof;
use openvm_static_verifier::{
    log_heights_per_air_from_proof, tracegen::graph_executor::GraphExecutorState,
};

use crate::{
    contract::Contract,
    error::{guard, EvmError},
    keys::{KeyFacts, KeyFile},
    params::ParamsFolder,
    resources::check_machine,
};

/// A proof for the EVM, which the contract has accepted.
pub struct ProvedEvm {
    /// The proof, in openvm-sdk's form.
    pub proof: EvmProof,
    /// Facts about the keys.
    pub facts: KeyFacts,
    /// Gas of a call of the contract.
    pub gas: u64,
    pub times: EvmTimes,
}

/// Times of the stages of a proof, which follow one another.
#[derive(Clone, Copy, Debug, Default)]
pub struct EvmTimes {
    /// Reading keys and parameters.
    pub read: Duration,
    /// Verifying the root proof, and the proof by the contract.
    pub verify: Duration,
    /// The proof of the circuit over the root proof.
    pub outer: Duration,
    /// The proof of the circuit over that proof.
    pub wrapper: Duration,
}

/// Finds out before work whether the machine, the keys in a folder, the parameters and the contract are there and belong together.
///
/// # Errors
/// [`EvmError::Memory`], errors of keys, parameters and contract.
pub fn check_prove(
    keys: &Path,
    params: &ParamsFolder,
    contract: &Path,
) -> Result<KeyFacts, EvmError> {
    let facts = KeyFile::open(keys)?.facts;
    facts.check_params(keys, params)?;
    Contract::read(contract)?;
    // After the files, whose errors do not depend on the machine.
    check_machine("a proof for the EVM")?;
    Ok(facts)
}

/// Proves a root proof with the keys in a folder, and has the contract in another verify the proof. The root proof is verified first, and
/// its commitments are compared with `expected`. One key is in memory at a time.
///
/// # Errors
/// Errors of [`check_prove`], [`EvmError::Sdk`] for a root proof that is not valid or of another circuit, [`EvmError::Heights`],
/// [`EvmError::Rejected`] by the contract, panics of the libraries.
pub fn prove(
    keys: &Path,
    params: &ParamsFolder,
    contract: &Path,
    root_proof: &Proof<RootSC>,
    expected: Option<&AppExecutionCommit>,
    min_security_bits: f64,
) -> Result<ProvedEvm, EvmError> {
    check_prove(keys, params, contract)?;
    let contract = Contract::read(contract)?;
    let mut times = EvmTimes::default();
    let mut start = Instant::now();
    let mut lap = || {
        let end = Instant::now();
        end - std::mem::replace(&mut start, end)
    };
    let mut file = KeyFile::open(keys)?;
    let verifier_params = params.read(file.facts.verifier_k)?;
    let verifier = file.verifier()?;
    times.read = lap();
    let circuit = &verifier.circuit;
    verify_root(&circuit.root_vk, root_proof, expected, min_security_bits)?;
    let heights = log_heights_per_air_from_proof(root_proof);
    let fixed = &circuit.log_heights_per_air;
    let differs = |&air: &usize| heights.get(air) != Some(&fixed[air]);
    if let Some(air) = (0..fixed.len()).find(differs) {
        return Err(EvmError::Heights(format!(
            "AIR {air} has not 2^{} rows",
            fixed[air]
        )));
    }
    times.verify = lap();
    let snark = guard("the proof of the circuit over the root proof", || {
        let mut state = GraphExecutorState::new(&verifier.graph_program);
        verifier.prove_wrapped(&verifier_params, root_proof, &mut state)
    })?;
    drop((verifier, verifier_params));
    times.outer = lap();
    let wrapper_params = params.read(file.facts.wrapper_k)?;
    let wrapper = file.wrapper()?;
    times.read += lap();
    let raw = guard(WRAPPER, || wrapper.prove_for_evm(&wrapper_params, snark))?;
    let proof = EvmProof::try_from(raw).map_err(|error| EvmError::Panicked {
        stage: WRAPPER,
        message: error.to_string(),
    })?;
    times.wrapper = lap();
    let gas = contract.verify(&proof)?;
    times.verify += lap();
    Ok(ProvedEvm {
        proof,
        gas,
        facts: file.facts,
        times,
    })
}

const WRAPPER: &str = "the proof of the wrapper circuit";
