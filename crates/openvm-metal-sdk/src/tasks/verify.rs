//! `TaskVerifier`: whether what another process made is the proof of its task.

use std::{borrow::Borrow, sync::Arc};

use openvm_circuit::{
    arch::{hasher::poseidon2::vm_poseidon2_hasher, ExitCode},
    system::{
        connector::DEFAULT_SUSPEND_EXIT_CODE,
        memory::{merkle::public_values::UserPublicValuesProof, CHUNK},
    },
};
use openvm_sdk::types::ExecutableFormat;
use openvm_stark_backend::{
    keygen::types::MultiStarkVerifyingKey,
    p3_field::{PrimeCharacteristicRing, PrimeField32},
    proof::Proof,
    StarkEngine,
};
use openvm_verify_stark_host::{
    pvs::{VerifierBasePvs, VkCommit, VERIFIER_PVS_AIR_ID},
    vk::VerificationBaseline,
};

use super::{Plan, Span, Task};
use crate::{
    aggregation::AggregationKeys,
    app::AppProver,
    engine::{CpuEngine, SdkEngine},
    error::{guard, SdkError, Stage},
    prelude::{Digest, F, SC},
    sdk::Sdk,
    system::initial_memory_root,
};

/// Verifies proofs of single tasks with OpenVM's verifier, on the host.
///
/// A valid proof of something else is refused too: of another program, of another part of the execution, of other children.
pub struct TaskVerifier<E: SdkEngine> {
    app_vk: MultiStarkVerifyingKey<SC>,
    keys: Arc<AggregationKeys<E>>,
    baseline: VerificationBaseline,
    program_commit: Digest,
    pc_start: u32,
    initial_root: Digest,
}

impl<E: SdkEngine> Sdk<E> {
    /// A verifier for the tasks of one program.
    ///
    /// # Errors
    /// Those of keys and of committing the program.
    pub fn task_verifier(
        &self,
        source: impl Into<ExecutableFormat>,
    ) -> Result<TaskVerifier<E>, SdkError> {
        self.task_verifier_of(&self.app_prover(source)?)
    }

    pub(crate) fn task_verifier_of(
        &self,
        prover: &AppProver<E>,
    ) -> Result<TaskVerifier<E>, SdkError> {
        let exe = prover.exe();
        let memory = &self.app_config().app_vm_config.system.config.memory_config;
        let initial_root = initial_memory_root(memory, &exe.exe.init_memory)
            .map_err(|error| SdkError::Executable(error.to_string()))?;
        Ok(TaskVerifier {
            app_vk: self.app_pk()?.app_vm_pk.vm_pk.get_vk(),
            keys: self.aggregation_keys()?,
            baseline: self.baseline_of(prover)?,
            program_commit: exe.program_commit(),
            pc_start: exe.exe.pc_start,
            initial_root,
        })
    }
}

impl<E: SdkEngine> TaskVerifier<E> {
    /// What a verifier must know of the program and the circuits.
    pub fn baseline(&self) -> &VerificationBaseline {
        &self.baseline
    }

    /// What verifies the last proof.
    pub fn verifying_key(&self) -> &Arc<MultiStarkVerifyingKey<SC>> {
        self.keys.verifying_key()
    }

    /// What verifies a node of `level`, from 1 on.
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
        check(task, &self.app_vk, proof)?;
        let span = Span::of_segment(proof).ok_or_else(|| wrong(task, LACKS))?;
        if span.program_commit != self.program_commit {
            return Err(wrong(task, "it is of another program"));
        }
        if index == 0 && (span.initial_pc, span.initial_root) != (self.pc_start, self.initial_root)
        {
            return Err(wrong(task, "it does not begin where the program does"));
        }
        let last = index + 1 == plan.segments().len();
        let code = if last {
            ExitCode::Success as u32
        } else {
            DEFAULT_SUSPEND_EXIT_CODE
        };
        if (span.terminates, span.exit_code) != (last, code) {
            return Err(wrong(
                task,
                format!(
                    "the program {} at its end, with exit code {}",
                    if span.terminates {
                        "ends"
                    } else {
                        "does not end"
                    },
                    span.exit_code
                ),
            ));
        }
        Ok(span)
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
        check(task, self.node_vk(level), proof)?;
        if !self.has_keys_below(level, proof) {
            return Err(wrong(task, "what it verifies was made with other keys"));
        }
        match Span::of_node(proof) {
            Some(span) if span == whole => Ok(span),
            Some(_) => Err(wrong(task, "it is of another part of the execution")),
            None => Err(wrong(task, LACKS)),
        }
    }

    /// True if a node's public values name these keys for the proofs below it: its own verifying key does not fix them.
    fn has_keys_below(&self, level: usize, proof: &Proof<SC>) -> bool {
        let values = proof.public_values.get(VERIFIER_PVS_AIR_ID);
        let Some(values) = values.and_then(|v| v.get(..size_of::<VerifierBasePvs<u8>>())) else {
            return false;
        };
        let found: &VerifierBasePvs<F> = values.borrow();
        let expected = &self.baseline;
        let same = |from: usize, a: &VkCommit<F>, b: &VkCommit<F>| level < from || a == b;
        found.internal_flag == F::from_usize((level - 1).min(2))
            && same(1, &found.app_vk_commit, &expected.app_vk_commit)
            && same(2, &found.leaf_vk_commit, &expected.leaf_vk_commit)
            && same(
                3,
                &found.internal_for_leaf_vk_commit,
                &expected.internal_for_leaf_vk_commit,
            )
            && same(
                4,
                &found.internal_recursive_vk_commit,
                &expected.internal_recursive_vk_commit,
            )
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

const LACKS: &str = "it lacks public values of its circuit";

fn wrong(task: Task, reason: impl Into<String>) -> SdkError {
    SdkError::WrongProof {
        task: task.to_string(),
        reason: reason.into(),
    }
}

fn check(task: Task, vk: &MultiStarkVerifyingKey<SC>, proof: &Proof<SC>) -> Result<(), SdkError> {
    guard(Stage::Verify, || {
        CpuEngine::new(vk.inner.params.clone()).verify(vk, proof)
    })
    .map_err(|error| wrong(task, error.to_string()))?
    .map_err(|error| wrong(task, error.to_string()))
}
