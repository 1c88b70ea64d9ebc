//! Proofs of deferred computations, and of executions together with them.

use std::{borrow::Borrow, cell::Cell, iter::once, time::Duration};

use openvm_continuations::circuit::{
    deferral::{hook::DeferralIoCommit, DeferralCircuitPvs, DEF_CIRCUIT_PVS_AIR_ID},
    inner::ProofsType,
};
use openvm_recursion_circuit::utils::poseidon2_hash_slice;
use openvm_sdk::DeferralInput;
use openvm_stark_backend::proof::Proof;
use openvm_verify_stark_host::pvs::{DeferralPvs, DEF_PVS_AIR_ID};

use super::{
    super::{
        circuit::{Below, Over},
        layer::Layer,
        node::{on_devices, prove_over, wrap, ProvedNode},
        tree::Aggregated,
        AggregationKeys,
    },
    absent::{both, not_called, ZEROS},
    DeferralCircuit, DeferralKeys,
};
use crate::{
    devices::Fleet,
    engine::SdkEngine,
    error::{guard, SdkError, Stage},
    options::ProveOptions,
    parallel_verification::accepts,
    prelude::{F, SC},
    progress::Event,
};

/// A job whose deferred computations are proved one after another, those on a device on the first one.
pub(crate) struct DeferredJob<'a> {
    pub fleet: &'a Fleet<'a>,
    pub options: &'a ProveOptions<'a>,
    /// Time that nodes took so far, their traces included.
    pub busy: Cell<Duration>,
}

impl DeferredJob<'_> {
    /// Proves a node over `proofs`, with a layer that is given on the first devices.
    fn node<E: SdkEngine, const N: usize>(
        &self,
        layers: &[&Layer<E, N>],
        below: Below,
        proofs: &[Proof<SC>],
        over: &Over,
        (name, node): (&str, usize),
    ) -> Result<Proof<SC>, SdkError> {
        self.options.check_cancelled()?;
        let proved = prove_over(layers, self.fleet, below, proofs, over, stage(name, node))?;
        Ok(self.proved(name, node, proved))
    }

    /// [`wrap`] for node `index`.
    fn wrap<E: SdkEngine>(
        &self,
        keys: &[&AggregationKeys<E>],
        index: usize,
        proof: Proof<SC>,
    ) -> Result<Proof<SC>, SdkError> {
        self.options.check_cancelled()?;
        let proved = wrap(keys, self.fleet, index, proof)?;
        Ok(self.proved("wrap", index, proved))
    }

    fn proved(&self, name: &str, node: usize, proved: ProvedNode) -> Proof<SC> {
        self.busy.set(self.busy.get() + proved.time);
        self.options.progress.event(Event::NodeProved {
            layer: &format!("deferral {name}"),
            node,
            nodes: None,
            device: self.fleet.name(proved.device),
        });
        proved.proof
    }
}

/// A part of all deferred computations.
enum Part {
    Proved(Box<Proof<SC>>),
    /// None of its circuits was called.
    NotCalled(DeferralPvs<F>),
}

impl<E: SdkEngine> DeferralKeys<E> {
    /// Joins the proof of an execution, from a tree that is not wrapped, with proofs of what it deferred, and makes the result smaller once. `inputs` are
    /// those of the calls of each circuit, in the order of the calls; without any there is nothing to join. `check` compares the folds of the deferred
    /// computations with the memory.
    ///
    /// # Errors
    /// Inputs that a circuit refuses, errors of `check`, and refusals of the device.
    pub fn join(
        &self,
        job: &DeferredJob<'_>,
        keys: &[&AggregationKeys<E>],
        execution: Aggregated,
        inputs: &[DeferralInput],
        check: impl FnOnce(&DeferralPvs<F>) -> Result<(), SdkError>,
    ) -> Result<Aggregated, SdkError> {
        let Aggregated {
            mut proof,
            internal_recursive_layers: mut layers,
        } = execution;
        if !inputs.is_empty() {
            let (mut deferred, mut deferred_layers) = self.prove(job, inputs)?;
            check(folds_of(&deferred)?)?;
            // A node verifies two proofs only if they have as many layers below them.
            while layers < deferred_layers {
                proof = job.wrap(keys, layers, proof)?;
                layers += 1;
            }
            while deferred_layers < layers {
                deferred = job.wrap(&[&self.nodes], deferred_layers, deferred)?;
                deferred_layers += 1;
            }
            proof = job.node(
                &on_devices(keys, |keys| &keys.internal_recursive),
                Below::Own,
                &[proof, deferred],
                &Over::tree(ProofsType::Mix),
                ("join", 0),
            )?;
            layers += 1;
        }
        Ok(Aggregated {
            proof: job.wrap(keys, layers, proof)?,
            internal_recursive_layers: layers + 1,
        })
    }

    /// One proof of all calls, and the number of its internal-recursive layers.
    fn prove(
        &self,
        job: &DeferredJob<'_>,
        inputs: &[DeferralInput],
    ) -> Result<(Proof<SC>, usize), SdkError> {
        let mut parts = Vec::with_capacity(inputs.len().next_power_of_two());
        for (index, input) in inputs.iter().enumerate() {
            parts.push(self.circuit(job, index, &input.byte_vec)?);
        }
        while !parts.len().is_power_of_two() {
            parts.push(Part::NotCalled(not_called(parts.len(), ZEROS)));
        }
        let nodes = &self.nodes;
        parts = self.pairs_of_circuits(job, &nodes.leaf, Below::App, "leaf", parts)?;
        let (layer, name) = (&nodes.internal_for_leaf, "internal_for_leaf");
        parts = self.pairs_of_circuits(job, layer, Below::Layer, name, parts)?;
        let (layer, name) = (&nodes.internal_recursive, "internal_recursive");
        parts = self.pairs_of_circuits(job, layer, Below::Layer, name, parts)?;
        let mut layers = 1;
        while parts.len() > 1 {
            parts = self.pairs_of_circuits(job, layer, Below::Own, name, parts)?;
            layers += 1;
        }
        match parts.pop() {
            Some(Part::Proved(proof)) => Ok((*proof, layers)),
            _ => Err(SdkError::Deferral("no circuit was called".into())),
        }
    }

    /// A level of nodes above hooks: each verifies the proofs of two neighbours, or of one whose neighbour was not called.
    fn pairs_of_circuits<const N: usize>(
        &self,
        job: &DeferredJob<'_>,
        layer: &Layer<E, N>,
        below: Below,
        name: &str,
        parts: Vec<Part>,
    ) -> Result<Vec<Part>, SdkError> {
        let mut above = Vec::with_capacity(parts.len().div_ceil(2));
        let mut parts = parts.into_iter();
        while let Some(left) = parts.next() {
            let (proofs, absent) = match (left, parts.next()) {
                (Part::Proved(left), Some(Part::Proved(right))) => (vec![*left, *right], None),
                (Part::Proved(left), Some(Part::NotCalled(right))) => {
                    (vec![*left], Some((right, false)))
                }
                (Part::NotCalled(left), Some(Part::Proved(right))) => {
                    (vec![*right], Some((left, true)))
                }
                (Part::Proved(only), None) => (vec![*only], None),
                (Part::NotCalled(left), Some(Part::NotCalled(right))) => {
                    above.push(Part::NotCalled(both(left, right)));
                    continue;
                }
                (only @ Part::NotCalled(_), None) => {
                    above.push(only);
                    continue;
                }
            };
            let over = Over::Tree {
                proofs: ProofsType::Deferral,
                absent,
            };
            let proof = job.node(&[layer], below, &proofs, &over, (name, above.len()))?;
            above.push(Part::Proved(Box::new(proof)));
        }
        Ok(above)
    }

    /// All calls of a circuit, up to its hook.
    fn circuit(
        &self,
        job: &DeferredJob<'_>,
        index: usize,
        inputs: &[Vec<u8>],
    ) -> Result<Part, SdkError> {
        if inputs.is_empty() {
            let commit = self.set.branches[index].commit;
            return Ok(Part::NotCalled(not_called(index, commit)));
        }
        let mut proofs = Vec::with_capacity(inputs.len());
        let mut commits = Vec::with_capacity(inputs.len());
        for (call, input) in inputs.iter().enumerate() {
            let (proof, commit) = self.call(job, index, call, input)?;
            proofs.push(proof);
            commits.push(commit);
        }
        let branch = &self.branches[index];
        let name = |layer: &str| format!("circuit {index} {layer}");
        let pairs = (&branch.leaf, Below::App, 0);
        proofs = self.pairs_of_calls(job, pairs, &name("leaf"), &proofs)?;
        let pairs = (&branch.internal_for_leaf, Below::Layer, 1);
        proofs = self.pairs_of_calls(job, pairs, &name("internal_for_leaf"), &proofs)?;
        let layer = &self.internal_recursive;
        let (mut below, mut depth) = (Below::Layer, 2);
        loop {
            let pairs = (layer, below, depth);
            proofs = self.pairs_of_calls(job, pairs, &name("internal_recursive"), &proofs)?;
            if proofs.len() == 1 {
                break;
            }
            (below, depth) = (Below::Own, depth + 1);
        }
        let over = Over::Hook(commits);
        let proof = job.node(
            &[&self.hook],
            Below::Layer,
            &proofs,
            &over,
            (&name("hook"), 0),
        )?;
        Ok(Part::Proved(Box::new(proof)))
    }

    /// A level of nodes over the calls of one circuit, above nodes of `depth` levels of pairs.
    fn pairs_of_calls<const N: usize>(
        &self,
        job: &DeferredJob<'_>,
        (layer, below, depth): (&Layer<E, N>, Below, usize),
        name: &str,
        proofs: &[Proof<SC>],
    ) -> Result<Vec<Proof<SC>>, SdkError> {
        let over = Over::Deferred {
            depth: (proofs.len() > 1).then_some(depth),
        };
        let pairs = proofs.chunks(2).enumerate();
        pairs
            .map(|(node, pair)| job.node(&[layer], below, pair, &over, (name, node)))
            .collect()
    }

    /// The proof of one call, with the commitments to its input and its output. OpenVM's verifier has accepted it.
    fn call(
        &self,
        job: &DeferredJob<'_>,
        index: usize,
        call: usize,
        input: &[u8],
    ) -> Result<(Proof<SC>, DeferralIoCommit<F>), SdkError> {
        job.options.check_cancelled()?;
        let branch = &self.set.branches[index];
        let name = format!("circuit {index}");
        let stage = stage(&name, call);
        let proof = match (&branch.circuit, &self.branches[index].verifier) {
            (DeferralCircuit::VerifyStark(circuit), Some(verifier)) => {
                let proved = verifier.prove(job.fleet, circuit, input, stage)?;
                job.proved(&name, call, proved)
            }
            (DeferralCircuit::Other { prover, .. }, _) => guard(stage, || prover.prove(input))?,
            (DeferralCircuit::VerifyStark(_), None) => {
                return Err(SdkError::Panicked {
                    stage,
                    device: None,
                    message: "a circuit was not brought to the device".into(),
                })
            }
        };
        let wrong = |reason: String| SdkError::WrongProof {
            task: format!("call {call} of deferral circuit {index}"),
            reason,
        };
        accepts(&branch.prefix.leaf.child.vk, &proof).map_err(wrong)?;
        let commits = commits_of(&proof)
            .ok_or_else(|| wrong("it lacks the public values of a deferral circuit".into()))?;
        Ok((proof, commits))
    }
}

/// The commitments to the input and the output of a call. The commitment to the input has those to the circuit's cached traces in it.
fn commits_of(proof: &Proof<SC>) -> Option<DeferralIoCommit<F>> {
    let values = proof.public_values.get(DEF_CIRCUIT_PVS_AIR_ID)?;
    if values.len() != size_of::<DeferralCircuitPvs<u8>>() {
        return None;
    }
    let values: &DeferralCircuitPvs<F> = values.as_slice().borrow();
    let cached = proof.trace_vdata.iter().flatten();
    let cached = cached.flat_map(|trace| trace.cached_commitments.iter().copied());
    let words: Vec<F> = once(values.input_commit).chain(cached).flatten().collect();
    Some((poseidon2_hash_slice(&words).0, values.output_commit))
}

/// The folds of the deferred computations that a proof has, and the number of levels of memory below them: 0 if there are none.
///
/// # Errors
/// [`SdkError::Deferral`] for a proof without such values.
pub(crate) fn folds_of(proof: &Proof<SC>) -> Result<&DeferralPvs<F>, SdkError> {
    let values = proof.public_values.get(DEF_PVS_AIR_ID);
    let values = values.filter(|values| values.len() == size_of::<DeferralPvs<u8>>());
    let values = values.ok_or_else(|| {
        SdkError::Deferral("the proof has no public values of deferred computations".into())
    })?;
    Ok(values.as_slice().borrow())
}

/// The stage of proving a node of the deferred computations.
fn stage(layer: &str, node: usize) -> Stage {
    Stage::Aggregate {
        layer: format!("deferral {layer}"),
        node,
    }
}
