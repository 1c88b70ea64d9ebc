//! One node of the tree, proved from the proofs below it.

use std::time::{Duration, Instant};

use openvm_stark_backend::{keygen::types::MultiStarkVerifyingKey, proof::Proof};

use super::{
    circuit::Below,
    layer::Layer,
    shape::{layer_name, RECURSIVE},
    AggregationKeys,
};
use crate::{
    devices::{Fleet, Refused, Turns, Work},
    engine::SdkEngine,
    error::{SdkError, Stage},
    prelude::SC,
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
    let job = Job {
        keys,
        fleet,
        below,
        stage: stage_of(level, index),
        refused,
    };
    match level {
        1 => job.prove(|keys| &keys.leaf, Below::App),
        2 => job.prove(|keys| &keys.internal_for_leaf, Below::Layer),
        RECURSIVE => job.prove(|keys| &keys.internal_recursive, Below::Layer),
        _ => job.prove(|keys| &keys.internal_recursive, Below::Own),
    }
}

/// Proves an aggregated proof once more, the `index`-th time, with keys on one device: the proof is then as small as such proofs get.
///
/// # Errors
/// Refusals of the device.
pub(crate) fn wrap<E: SdkEngine>(
    keys: &AggregationKeys<E>,
    index: usize,
    proof: Proof<SC>,
) -> Result<Proof<SC>, SdkError> {
    let turns = Turns::new(1);
    let device = (keys.station.name().to_owned(), keys.capacity());
    let fleet = Fleet::new([device].into_iter(), &turns);
    let node = (RECURSIVE + 1, index);
    Ok(prove_node(&[keys], &fleet, node, &[proof], None)?.proof)
}

/// The stage of proving a node.
pub(super) fn stage_of(level: usize, index: usize) -> Stage {
    Stage::Aggregate {
        layer: layer_name(level),
        node: index,
    }
}

struct Job<'a, E: SdkEngine> {
    keys: &'a [&'a AggregationKeys<E>],
    fleet: &'a Fleet<'a>,
    below: &'a [Proof<SC>],
    stage: Stage,
    refused: Option<&'a Refused>,
}

impl<'a, E: SdkEngine> Job<'a, E> {
    /// The host makes the traces, then chooses a device. It receives them while it may still prove something else.
    fn prove<const N: usize>(
        self,
        layer: impl Fn(&'a AggregationKeys<E>) -> &'a Layer<E, N>,
        below: Below,
    ) -> Result<ProvedNode, SdkError> {
        let clock = Instant::now();
        let first = layer(self.keys[0]);
        let vk_commit = first.vk_commit(below);
        let traces = first
            .circuit
            .traces(self.below, below, vk_commit, &self.stage)?;
        let reservation = self.fleet.reserve(Work::Node, self.refused)?;
        let device = reservation.device();
        let layer = layer(self.keys[device]);
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
