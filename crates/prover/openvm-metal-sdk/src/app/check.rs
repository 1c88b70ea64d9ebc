//! `SegmentCheck`: whether a proof is that of a segment of a program.

use std::sync::Arc;

use openvm_circuit::{arch::ExitCode, system::connector::DEFAULT_SUSPEND_EXIT_CODE};
use openvm_stark_backend::{keygen::types::MultiStarkVerifyingKey, proof::Proof};

use super::{AppKey, CommittedExe};
use crate::{
    engine::SdkEngine,
    error::SdkError,
    parallel_verification::accepts,
    prelude::{Digest, SC},
    span::{Span, LACKS},
    system::initial_memory_root,
};

/// Verifies proofs of segments of one program with OpenVM's verifier, on the host.
///
/// A valid proof of another program, or of another place in the execution where that can be seen, is refused too. Whether it joins its
/// neighbours is left to ask; see [`Span::joins`].
pub(crate) struct SegmentCheck {
    vk: Arc<MultiStarkVerifyingKey<SC>>,
    program_commit: Digest,
    pc_start: u32,
    initial_root: Digest,
}

impl SegmentCheck {
    /// For a program under a key.
    ///
    /// # Errors
    /// If the initial memory does not fit the configuration.
    pub fn new<E: SdkEngine>(key: &AppKey<E>, exe: &CommittedExe<E>) -> Result<Self, SdkError> {
        let memory = &key.config.system.config.memory_config;
        let initial_root = initial_memory_root(memory, &exe.exe.init_memory)
            .map_err(|error| SdkError::Executable(error.to_string()))?;
        Ok(Self {
            vk: key.circuit.vk.clone(),
            program_commit: exe.program_commit(),
            pc_start: exe.exe.pc_start,
            initial_root,
        })
    }

    /// Verifies the proof of segment `index`; `is_last` if that is known.
    ///
    /// # Errors
    /// The first difference, in words.
    pub fn check(
        &self,
        index: usize,
        is_last: Option<bool>,
        proof: &Proof<SC>,
    ) -> Result<Span, String> {
        accepts(&self.vk, proof)?;
        let span = Span::of_segment(proof).ok_or(LACKS)?;
        if span.program_commit != self.program_commit {
            return Err("it is of another program".into());
        }
        if index == 0 && (span.initial_pc, span.initial_root) != (self.pc_start, self.initial_root)
        {
            return Err("it does not begin where the program does".into());
        }
        let is_last = is_last.unwrap_or(span.terminates);
        let code = match is_last {
            true => ExitCode::Success as u32,
            false => DEFAULT_SUSPEND_EXIT_CODE,
        };
        if (span.terminates, span.exit_code) != (is_last, code) {
            return Err(format!(
                "the program {} at its end, with exit code {}",
                match span.terminates {
                    true => "ends",
                    false => "does not end",
                },
                span.exit_code
            ));
        }
        Ok(span)
    }
}
