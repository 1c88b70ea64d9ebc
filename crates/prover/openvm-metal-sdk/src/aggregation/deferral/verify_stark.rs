//! `VerifyStark`: the deferral circuit that verifies aggregated proofs.

use std::{borrow::Borrow, sync::Arc, time::Instant};

use openvm_circuit::{
    arch::{deferral::DeferralState, hasher::poseidon2::vm_poseidon2_hasher},
    system::memory::dimensions::MemoryDimensions,
};
use openvm_continuations::prover::{DeferralCircuitProver, DeferralCircuitProverKey};
use openvm_deferral_circuit::{generate_deferral_results, poseidon2::deferral_poseidon2_chip};
use openvm_sdk::DeferralInput;
use openvm_stark_backend::{
    codec::Encode,
    keygen::types::{MultiStarkProvingKey, MultiStarkVerifyingKey},
    p3_field::{PrimeCharacteristicRing, PrimeField32},
    prover::{DeviceDataTransporter, DeviceMultiStarkProvingKey},
    SystemParams,
};
use openvm_verify_stark_circuit::{
    extension::get_raw_deferral_results,
    prover::{DeferredVerifyCpuCircuitProver, DeferredVerifyCpuProver},
};
use openvm_verify_stark_host::{
    pvs::{VerifierBasePvs, VerifierDefPvs, VmPvs, VERIFIER_PVS_AIR_ID, VM_PVS_AIR_ID},
    vk::{VerificationBaseline, VmStarkVerifyingKey},
    VmStarkProof,
};

use super::super::{
    child::{Child, DeviceChild},
    layer::upload,
    node::ProvedNode,
    rows,
    verifier::HostTraces,
};
use super::proof::folds_of;
use crate::{
    devices::{Fleet, Station, Work},
    encoding::decode_stark_proof,
    engine::{CpuEngine, SdkEngine},
    error::{guard, SdkError, Stage},
    parallel_verification::accepts,
    prelude::{Digest, F, SC},
    row_order::RowOrder,
    vm::Uploader,
};

/// Proofs that the circuit verifies, and its number.
#[derive(Clone)]
pub(crate) struct Verifies {
    /// The key of the internal-recursive nodes.
    pub vk: Arc<MultiStarkVerifyingKey<SC>>,
    /// The commitment to the trace of that key.
    pub cached_commit: Digest,
    pub memory: MemoryDimensions,
    pub public_values: usize,
    /// The hook of the deferral circuits that the proofs may have used.
    pub hook_commit: Option<Digest>,
    /// The number of the circuit among those of the machine whose guests call it.
    pub index: usize,
}

/// The deferral circuit that verifies aggregated proofs of any program of a virtual machine. Made by
/// [`MetalSdk::verify_stark`](crate::MetalSdk::verify_stark).
pub struct VerifyStark {
    verifies: Verifies,
    /// The circuit, its key, and OpenVM's maker of its traces.
    prover: DeferredVerifyCpuProver,
    child: Child,
    order: RowOrder,
}

/// One call of a deferral circuit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeferredCall {
    /// The commitment to the input, which the guest calls with: 32 bytes.
    pub input_commit: Vec<u8>,
    /// Bytes that the guest gets: the commitments to program and virtual machine, 32 bytes each as words of the field, and each public value as
    /// a word.
    pub output: Vec<u8>,
}

/// Calls of a deferral circuit.
#[derive(Clone)]
pub struct DeferredCalls {
    /// The circuit's state for the guest's input: it stands at the circuit's number in `StdIn::deferrals`.
    pub state: DeferralState,
    /// Inputs for the proof, in the order in which the guest has to call.
    pub input: DeferralInput,
    pub calls: Vec<DeferredCall>,
}

impl VerifyStark {
    /// Makes the circuit and its key.
    pub(crate) fn make(
        verifies: Verifies,
        params: SystemParams,
        order: RowOrder,
    ) -> Result<Self, SdkError> {
        let prover = guard(Stage::AggregationKeygen, || {
            let Verifies {
                vk,
                cached_commit,
                memory,
                public_values,
                hook_commit,
                index,
            } = verifies.clone();
            DeferredVerifyCpuProver::new::<CpuEngine>(
                vk,
                cached_commit.into(),
                params,
                memory,
                public_values,
                hook_commit.map(Into::into),
                index,
            )
        })?;
        Ok(Self {
            child: Child::new(verifies.vk.clone()),
            verifies,
            prover,
            order,
        })
    }

    /// Calls with these proofs, in this order, of the program with this baseline. OpenVM's verifier has accepted them.
    ///
    /// # Errors
    /// [`SdkError::Rejected`] with the first difference.
    pub fn calls(
        &self,
        baseline: &VerificationBaseline,
        proofs: &[VmStarkProof],
    ) -> Result<DeferredCalls, SdkError> {
        let vk = VmStarkVerifyingKey {
            mvk: self.verifies.vk.as_ref().clone(),
            baseline: baseline.clone(),
        };
        let results = guard(Stage::Verify, || {
            get_raw_deferral_results(&vk, proofs, self.prover.get_cached_commit())
        })?
        .map_err(|error| SdkError::Rejected(error.to_string().into()))?;
        let calls = results.iter().map(|result| DeferredCall {
            input_commit: result.input.clone(),
            output: result.output_raw.clone(),
        });
        let calls = calls.collect();
        let index = self.index() as u32;
        let hasher = deferral_poseidon2_chip::<F>();
        let state = DeferralState::new(generate_deferral_results(results, index, &hasher));
        let inputs = proofs.iter().map(Encode::encode_to_vec);
        let byte_vec = inputs
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| SdkError::Bytes {
                what: "the input of a deferral circuit",
                reason: error.to_string(),
            })?;
        Ok(DeferredCalls {
            state,
            input: DeferralInput { byte_vec },
            calls,
        })
    }

    /// The number of the circuit.
    pub fn index(&self) -> usize {
        self.verifies.index
    }

    pub(super) fn vk(&self) -> Arc<MultiStarkVerifyingKey<SC>> {
        self.prover.get_vk()
    }

    fn proving_key(&self) -> Arc<MultiStarkProvingKey<SC>> {
        self.prover.get_pk()
    }

    /// The proving key in OpenVM's form, which has the circuit's numbers too.
    pub(super) fn key(&self) -> Result<Arc<DeferralCircuitProverKey<SC>>, SdkError> {
        guard(Stage::AggregationKeygen, || {
            let Verifies {
                vk,
                cached_commit,
                memory,
                public_values,
                hook_commit,
                index,
            } = self.verifies.clone();
            // The library encodes the numbers of a prover that it owns.
            let prover = DeferredVerifyCpuProver::from_pk::<CpuEngine>(
                vk,
                cached_commit.into(),
                self.proving_key(),
                memory,
                public_values,
                hook_commit.map(Into::into),
                index,
            );
            DeferredVerifyCpuCircuitProver::new(prover).get_pk()
        })
    }

    /// Checks that an input is a proof that the circuit verifies.
    ///
    /// # Errors
    /// The reason why it is not.
    pub(super) fn check(&self, input: &[u8]) -> Result<(), String> {
        let proof = decode_stark_proof(input).map_err(|error| error.to_string())?;
        accepts(&self.verifies.vk, &proof.inner)?;
        let values = proof.user_pvs_proof.public_values.len();
        if values != self.verifies.public_values {
            return Err(format!(
                "it has {values} public values, the circuit is for {}",
                self.verifies.public_values
            ));
        }
        let of_air = |air: usize| &proof.inner.public_values[air];
        let vm: &VmPvs<F> = of_air(VM_PVS_AIR_ID).as_slice().borrow();
        if vm.exit_code != F::ZERO || vm.is_terminate != F::ONE {
            return Err("the execution did not end with exit code 0".into());
        }
        let memory = self.verifies.memory;
        proof
            .user_pvs_proof
            .verify(&vm_poseidon2_hasher(), memory, vm.final_root)
            .map_err(|error| error.to_string())?;
        match (&proof.deferral_merkle_proofs, self.verifies.hook_commit) {
            (None, None) => Ok(()),
            (Some(paths), Some(commit)) => {
                let folds = folds_of(&proof.inner).map_err(|error| error.to_string())?;
                let (_, hook) =
                    of_air(VERIFIER_PVS_AIR_ID).split_at(size_of::<VerifierBasePvs<u8>>());
                let hook: &VerifierDefPvs<F> = hook.borrow();
                if hook.deferral_flag != F::ZERO && hook.def_hook_commit != commit {
                    return Err("the proof is of other deferral circuits".into());
                }
                let paths = paths.verify(
                    memory,
                    vm.initial_root,
                    vm.final_root,
                    folds.initial_acc_hash,
                    folds.final_acc_hash,
                    folds.depth.as_canonical_u32() as usize,
                );
                paths.map_err(|error| error.to_string())
            }
            (None, Some(_)) => Err(
                "the proof has no paths of deferred computations, which the circuit requires"
                    .into(),
            ),
            (Some(_), None) => Err(
                "the proof has paths of deferred computations, and the circuit takes none".into(),
            ),
        }
    }

    /// The traces over an encoded proof that was [checked](Self::check), without the cached one.
    ///
    /// # Errors
    /// [`SdkError::Bytes`], and panics of OpenVM's library.
    fn traces(&self, input: &[u8], stage: &Stage) -> Result<HostTraces, SdkError> {
        let proof = decode_stark_proof(input).map_err(|error| SdkError::Bytes {
            what: "the input of a deferral circuit",
            reason: error.to_string(),
        })?;
        let key = self.proving_key();
        guard(stage.clone(), || {
            let made = self.prover.generate_proving_ctx(
                proof.inner,
                &proof.user_pvs_proof,
                proof.deferral_merkle_proofs.as_ref(),
                &(),
            );
            let traces = made.per_trace.into_iter().zip(&key.per_air);
            traces
                .map(|((_, mut trace), air)| {
                    // A device has its own.
                    trace.cached_mains.clear();
                    if self.order == RowOrder::Sorted {
                        rows::sort(&air.air_name, &mut trace.common_main);
                    }
                    trace
                })
                .collect()
        })
    }
}

/// [`VerifyStark`] with its key on a device.
pub(super) struct DeviceVerifier<E: SdkEngine> {
    engine: E,
    device_key: DeviceMultiStarkProvingKey<E::PB>,
    child: DeviceChild<E>,
    uploader: Uploader<E>,
}

impl<E: SdkEngine> DeviceVerifier<E> {
    /// Brings a circuit to a device.
    ///
    /// # Errors
    /// Refusals of the device, or [`SdkError::Disagreement`].
    pub fn new(station: &Station<E>, circuit: &VerifyStark) -> Result<Self, SdkError> {
        let key = circuit.proving_key();
        let engine = station.engine(key.params.clone())?;
        let child = DeviceChild::new(station, &engine, &circuit.child)
            .map_err(|error| error.on(station.name()))?;
        if child.vk_commit.cached_commit != circuit.prover.get_cached_commit() {
            return Err(SdkError::Disagreement {
                stage: Stage::AggregationKeygen,
                device: station.name().to_owned(),
            });
        }
        Ok(Self {
            child,
            uploader: Uploader::new(&engine),
            device_key: engine.device().transport_pk_to_device(&key),
            engine,
        })
    }

    /// Proves one call, whose input was [checked](VerifyStark::check), on the first device.
    ///
    /// # Errors
    /// Bad input, and refusals of the device.
    pub fn prove(
        &self,
        fleet: &Fleet<'_>,
        circuit: &VerifyStark,
        input: &[u8],
        stage: Stage,
    ) -> Result<ProvedNode, SdkError> {
        let clock = Instant::now();
        let traces = circuit.traces(input, &stage)?;
        let reservation = fleet.reserve_among(1, Work::Node, None)?;
        let ctx = upload(&self.uploader, &self.device_key, traces, &self.child);
        let (made, device) = (clock.elapsed(), reservation.device());
        let (proof, time) = fleet.prove(reservation, stage, &self.engine, &self.device_key, ctx)?;
        Ok(ProvedNode {
            proof,
            time: made + time,
            device,
        })
    }
}
