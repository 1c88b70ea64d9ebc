//! What is prepared once per AIR when the proving key is brought to the device.

use openvm_metal_common::CommandStream;
use openvm_stark_backend::keygen::types::StarkVerifyingKey;

use super::rules::{AirRules, Instruction, Program, RuleError};
use crate::{
    params::ConstraintInstruction,
    prelude::{Digest, F},
};

/// Rule programs of one AIR. The encoded instructions (16 bytes each) of all AIRs of a proof are
/// uploaded together at its start.
#[derive(Clone, Debug)]
pub struct AirDataMetal {
    rules: AirRules,
    code: Vec<ConstraintInstruction>,
}

impl AirDataMetal {
    /// Compiles the rules of an AIR's key.
    ///
    /// # Errors
    /// If the symbolic constraints read something that the AIR does not have.
    pub fn new(_: &CommandStream, vk: &StarkVerifyingKey<F, Digest>) -> Result<Self, RuleError> {
        Self::compile("", vk)
    }

    /// As [`new`](Self::new), with a name for errors.
    pub fn compile(air: &str, vk: &StarkVerifyingKey<F, Digest>) -> Result<Self, RuleError> {
        Ok(Self::from_rules(AirRules::new(air, vk)?))
    }

    /// Encodes compiled rules.
    pub fn from_rules(rules: AirRules) -> Self {
        let code = [&rules.zerocheck, &rules.logup, &rules.leaves]
            .into_iter()
            .flat_map(|program: &Program| &program.code)
            .map(|instruction: &Instruction| {
                let [head, a, b, c] = instruction.encode();
                ConstraintInstruction { head, a, b, c }
            })
            .collect();
        Self { rules, code }
    }

    /// The rules.
    pub fn rules(&self) -> &AirRules {
        &self.rules
    }

    /// The encoded programs: zerocheck, LogUp, leaves.
    pub(super) fn code(&self) -> &[ConstraintInstruction] {
        &self.code
    }

    /// Words of temporaries per row and coset that round 0 of the zerocheck needs: the extended
    /// variables, spilled values and the result.
    pub fn eval_buffer_size(&self) -> usize {
        let spills = self.rules.zerocheck.spills.max(self.rules.logup.spills) as usize;
        self.rules.variables.len() + spills + 4
    }
}
