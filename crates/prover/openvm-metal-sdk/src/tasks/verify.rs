//! `TaskVerifier`: whether what another process made is the proof of its task.

use std::sync::Arc;

use openvm_circuit::{
    arch::{hasher::poseidon2::vm_poseidon2_hasher, instructions::exe::VmExe},
    system::memory::{merkle::public_values::UserPublicValuesProof, CHUNK},
};
use openvm_stark_backend::{
    keygen::types::MultiStarkVerifyingKey, p3_field::PrimeField32, proof::Proof,
};
use openvm_verify_stark_host::vk::VerificationBaseline;

use super::{Plan, Span, Task};
use crate::{
    aggregation::{AggregationKeys, NodeCheck},
    app::SegmentCheck,
    engine::{MetalEngine, SdkEngine},
    error::{guard, SdkError, Stage},
    executable::ProgramSource,
    prelude::{F, SC},
    sdk::MetalSdk,
};

/// Verifies proofs of single tasks with OpenVM's verifier, on the host.
///
/// A valid proof of something else is refused too: of another program, of another part of the execution, of other children.
pub struct TaskVerifier<E: SdkEngine> {
    segments: SegmentCheck,
    keys: Arc<AggregationKeys<E>>,
    baseline: VerificationBaseline,
}

impl MetalSdk {
    /// A verifier for the tasks of one program.
    ///
    /// # Errors
    /// Those of keys and of committing the program.
    pub fn task_verifier(
        &self,
        source: impl Into<ProgramSource>,
    ) -> Result<TaskVerifier<MetalEngine>, SdkError> {
        self.task_verifier_of(self.executable(source)?)
    }

    fn task_verifier_of(&self, exe: Arc<VmExe<F>>) -> Result<TaskVerifier<MetalEngine>, SdkError> {
        self.check_tasks()?;
        let prover = self.app_prover_of(exe)?;
        Ok(TaskVerifier {
            segments: SegmentCheck::new(&prover.keys()[0], prover.exe())?,
            keys: self.aggregation_keys()?,
            baseline: self.baseline_of(&prover)?,
        })
    }
}

impl<E: SdkEngine> TaskVerifier<E> {
    /// Commitments of the program and the circuits for verifiers.
    pub fn baseline(&self) -> &VerificationBaseline {
        &self.baseline
    }

    /// Verifying key of the last proof.
    pub fn verifying_key(&self) -> &Arc<MultiStarkVerifyingKey<SC>> {
        self.keys.verifying_key()
    }

    /// Verifying key of a node of `level`, from 1 on.
    pub(super) fn node_vk(&self, level: usize) -> &MultiStarkVerifyingKey<SC> {
        self.keys.node_vk(level)
    }

    /// Verifies the proof of segment `index`. Its neighbours decide whether its ends are right; see [`Span::joins`].
    ///
    /// # Errors
    /// [`SdkError::WrongProof`] with what does not fit, [`SdkError::Plan`] if the plan has no such segment.
    pub fn segment(&self, plan: &Plan, index: usize, proof: &Proof<SC>) -> Result<Span, SdkError> {
        let task = Task::Segment(index);
        plan.segment(index)?;
        let last = index + 1 == plan.segments().len();
        self.segments
            .check(index, Some(last), proof)
            .map_err(|reason| wrong(task, reason))
    }

    /// Verifies the proof of a node whose children have these spans.
    ///
    /// # Errors
    /// [`SdkError::WrongProof`] with what does not fit, [`SdkError::Plan`] if the plan has no such node or it has other children.
    pub fn node(
        &self,
        plan: &Plan,
        (level, index): (usize, usize),
        below: &[Span],
        proof: &Proof<SC>,
    ) -> Result<Span, SdkError> {
        let task = Task::Node { level, index };
        let children = plan.below(level, index)?.len();
        if below.len() != children {
            return Err(SdkError::Plan(format!(
                "{task} has {children} children, not {}",
                below.len()
            )));
        }
        let whole = Span::whole(below)
            .ok_or_else(|| SdkError::Plan(format!("{task} has children that do not join")))?;
        let check = NodeCheck {
            vk: self.node_vk(level),
            baseline: &self.baseline,
            level,
            whole,
        };
        check.check(proof).map_err(|reason| wrong(task, reason))
    }

    /// Verifies what the guest revealed against the last segment.
    ///
    /// # Errors
    /// [`SdkError::WrongProof`].
    pub fn end(
        &self,
        plan: &Plan,
        last: &Span,
        values: &UserPublicValuesProof<CHUNK, F>,
    ) -> Result<(), SdkError> {
        let failed = |reason: String| Err(wrong(Task::End, reason));
        if values.public_values.len() != self.baseline.num_user_pvs {
            return failed(format!(
                "{} values, expected are {}",
                values.public_values.len(),
                self.baseline.num_user_pvs
            ));
        }
        let dimensions = self.baseline.memory_dimensions;
        let verified = guard(Stage::Verify, || {
            values.verify(&vm_poseidon2_hasher(), dimensions, last.final_root)
        })?;
        if let Err(error) = verified {
            return failed(error.to_string());
        }
        let bytes = values.public_values.iter().map(|x| x.as_canonical_u32());
        if !bytes.eq(plan.public_values().iter().map(|&byte| u32::from(byte))) {
            return failed("they are not what the plan's execution revealed".into());
        }
        Ok(())
    }
}

fn wrong(task: Task, reason: impl Into<String>) -> SdkError {
    SdkError::WrongProof {
        task: task.to_string(),
        reason: reason.into(),
    }
}
