//! One node of the tree, proved from the proofs below it.

use std::time::{Duration, Instant};

use openvm_continuations::circuit::inner::ProofsType;
use openvm_stark_backend::{
    keygen::types::MultiStarkVerifyingKey, p3_field::PrimeCharacteristicRing, proof::Proof,
};
use openvm_verify_stark_host::pvs::{VerifierBasePvs, VERIFIER_PVS_AIR_ID};

use super::{
    circuit::{Below, Over},
    layer::Layer,
    shape::{layer_name, RECURSIVE},
    AggregationKeys,
};
use crate::{
    devices::{Fleet, Refused, Turns, Work},
    engine::SdkEngine,
    error::{SdkError, Stage},
    prelude::{F, SC},
};

/// A node that was proved.
pub(crate) struct ProvedNode {
    pub proof: Proof<SC>,
    /// Time for traces and proof, without the wait for a device.
    pub time: Duration,
    /// Device that proved it.
    pub device: usize,
}

/// Proves node `index` of `level`, from 1 on, over the proofs `below`. `keys` are those on each device of the fleet; `refused` if it was
/// proved before.
///
/// # Errors
/// If the proofs below are none of the level, or what the device refuses.
pub(crate) fn prove_node<E: SdkEngine>(
    keys: &[&AggregationKeys<E>],
    fleet: &Fleet<'_>,
    (level, index): (usize, usize),
    below: &[Proof<SC>],
    refused: Option<&Refused>,
) -> Result<ProvedNode, SdkError> {
    let over = Over::execution();
    let job = Job {
        fleet,
        below,
        over: &over,
        stage: stage_of(level, index),
        refused,
    };
    match level {
        1 => job.prove(&on_devices(keys, |keys| &keys.leaf), Below::App),
        2 => job.prove(
            &on_devices(keys, |keys| &keys.internal_for_leaf),
            Below::Layer,
        ),
        RECURSIVE => job.prove(
            &on_devices(keys, |keys| &keys.internal_recursive),
            Below::Layer,
        ),
        _ => job.prove(
            &on_devices(keys, |keys| &keys.internal_recursive),
            Below::Own,
        ),
    }
}

/// One layer on each device.
pub(super) fn on_devices<'a, E: SdkEngine, const N: usize>(
    keys: &[&'a AggregationKeys<E>],
    layer: impl Fn(&'a AggregationKeys<E>) -> &'a Layer<E, N>,
) -> Vec<&'a Layer<E, N>> {
    keys.iter().map(|&keys| layer(keys)).collect()
}

/// Proves an aggregated proof once more, the `index`-th time: the proof is then as small as such proofs get. `keys` are those on the first devices of
/// the fleet.
///
/// # Errors
/// Refusals of the device.
pub(crate) fn wrap<E: SdkEngine>(
    keys: &[&AggregationKeys<E>],
    fleet: &Fleet<'_>,
    index: usize,
    proof: Proof<SC>,
) -> Result<ProvedNode, SdkError> {
    let over = Over::tree(proofs_type(&proof));
    let stage = stage_of(RECURSIVE + 1, index);
    let layers = on_devices(keys, |keys| &keys.internal_recursive);
    prove_over(&layers, fleet, Below::Own, &[proof], &over, stage)
}

/// [`wrap`] outside of jobs, on the device of the keys.
///
/// # Errors
/// Refusals of the device.
pub(crate) fn wrap_alone<E: SdkEngine>(
    keys: &AggregationKeys<E>,
    index: usize,
    proof: Proof<SC>,
) -> Result<Proof<SC>, SdkError> {
    let turns = Turns::new(1);
    let device = (keys.station.name().to_owned(), keys.capacity());
    let fleet = Fleet::new([device].into_iter(), &turns);
    Ok(wrap(&[keys], &fleet, index, proof)?.proof)
}

/// Proves a node of a layer, which is given on the first devices of the fleet.
///
/// # Errors
/// Refusals of the device, and proofs that the node does not verify.
pub(super) fn prove_over<E: SdkEngine, const N: usize>(
    layers: &[&Layer<E, N>],
    fleet: &Fleet<'_>,
    kind: Below,
    below: &[Proof<SC>],
    over: &Over,
    stage: Stage,
) -> Result<ProvedNode, SdkError> {
    let job = Job {
        fleet,
        below,
        over,
        stage,
        refused: None,
    };
    job.prove(layers, kind)
}

/// Type of the proof of a node, as its public values name it: of an execution, of deferred computations, or of both.
fn proofs_type(proof: &Proof<SC>) -> ProofsType {
    let values = proof.public_values.get(VERIFIER_PVS_AIR_ID);
    // The flag is behind the values that every node has.
    let flag = values.and_then(|values| values.get(size_of::<VerifierBasePvs<u8>>()));
    match flag {
        Some(&flag) if flag == F::ONE => ProofsType::Deferral,
        Some(&flag) if flag == F::TWO => ProofsType::Combined,
        _ => ProofsType::Vm,
    }
}

/// The stage of proving a node.
pub(super) fn stage_of(level: usize, index: usize) -> Stage {
    Stage::Aggregate {
        layer: layer_name(level),
        node: index,
    }
}

struct Job<'a> {
    fleet: &'a Fleet<'a>,
    below: &'a [Proof<SC>],
    over: &'a Over,
    stage: Stage,
    refused: Option<&'a Refused>,
}

impl Job<'_> {
    /// Proves a node of a layer, which is given on the first devices of the fleet. The host makes the traces, then one of these devices is chosen, which
    /// receives them while it proves other work.
    fn prove<E: SdkEngine, const N: usize>(
        self,
        layers: &[&Layer<E, N>],
        below: Below,
    ) -> Result<ProvedNode, SdkError> {
        let clock = Instant::now();
        let vk_commit = layers[0].vk_commit(below);
        let traces =
            layers[0]
                .circuit
                .traces(self.below, below, vk_commit, self.over, &self.stage)?;
        let reservation = self
            .fleet
            .reserve_among(layers.len(), Work::Node, self.refused)?;
        let device = reservation.device();
        let layer = layers[device];
        let ctx = layer.upload(traces, below);
        let made = clock.elapsed();
        let (proof, time) = self.fleet.prove(
            reservation,
            self.stage,
            &layer.engine,
            &layer.device_key,
            ctx,
        )?;
        Ok(ProvedNode {
            proof,
            time: made + time,
            device,
        })
    }
}

impl<E: SdkEngine> AggregationKeys<E> {
    /// Verifying key of a node of `level`, from 1 on.
    pub(crate) fn node_vk(&self, level: usize) -> &MultiStarkVerifyingKey<SC> {
        match level {
            1 => &self.leaf.circuit.vk,
            2 => &self.internal_for_leaf.circuit.vk,
            _ => &self.internal_recursive.circuit.vk,
        }
    }
}
