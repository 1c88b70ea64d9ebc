//! `CheckedExecutor`: OpenVM's executors behind checks of what its circuits require of addresses and jumps.
//!
//! OpenVM's interpreters round addresses down, go on at the next instruction below a jump's target, or panic without the place. So
//! an execution could have results that no proof has. Here an instruction with operands that its circuit does not
//! take ends the guest with a [`Fault`]: in pure execution, while segments are cut, and so before any is recorded.

mod handlers;
mod rules;

use std::{any::Any, ops::Range, sync::Arc};

use openvm_circuit::{
    arch::{
        instructions::{instruction::Instruction, program::Program},
        AnyEnum, ExecuteFunc, ExecutionCtxTrait, ExecutionError, ExecutorInventory,
        InterpreterExecutor, InterpreterMeteredExecutor, MeteredExecutionCtxTrait,
        PreflightExecutor, StaticProgramError, VmStateMut,
    },
    system::memory::online::TracingMemory,
};
use openvm_sdk_config::{SdkVmConfig, SdkVmConfigExecutor};

pub(crate) use self::rules::memory_bytes;
use self::{
    handlers::HEADER,
    rules::{Check, Rules},
};
use crate::prelude::F;

/// One of OpenVM's executors, with the rules of a configuration.
#[derive(Clone)]
pub struct CheckedExecutor {
    inner: SdkVmConfigExecutor<F>,
    /// Absent until the executor is in an inventory.
    rules: Option<Arc<Rules>>,
}

impl From<SdkVmConfigExecutor<F>> for CheckedExecutor {
    fn from(inner: SdkVmConfigExecutor<F>) -> Self {
        Self { inner, rules: None }
    }
}

/// Gives executors the rules of a configuration for a program whose instructions are at the addresses `code`.
pub(super) fn set_rules(
    inventory: &mut ExecutorInventory<CheckedExecutor>,
    config: &SdkVmConfig,
    code: Range<u32>,
) {
    let rules = Arc::new(Rules::new(config, code));
    for executor in &mut inventory.executors {
        executor.rules = Some(rules.clone());
    }
}

/// Addresses of the instructions of a program.
pub(super) fn code(program: &Program<F>) -> Range<u32> {
    let start = program.pc_base;
    start..start.saturating_add(4 * program.len() as u32)
}

impl CheckedExecutor {
    /// Check of an instruction at `pc`.
    fn check(&self, pc: u32, instruction: &Instruction<F>) -> Option<(&Rules, Check)> {
        let rules = self.rules.as_deref()?;
        match rules.check(pc, instruction) {
            Check::Nothing => None,
            check => Some((rules, check)),
        }
    }
}

impl AnyEnum for CheckedExecutor {
    fn as_any_kind(&self) -> &dyn Any {
        self.inner.as_any_kind()
    }

    fn as_any_kind_mut(&mut self) -> &mut dyn Any {
        self.inner.as_any_kind_mut()
    }
}

impl InterpreterExecutor<F> for CheckedExecutor {
    fn pre_compute_size(&self) -> usize {
        HEADER + self.inner.pre_compute_size()
    }

    fn pre_compute<Ctx: ExecutionCtxTrait>(
        &self,
        pc: u32,
        instruction: &Instruction<F>,
        data: &mut [u8],
    ) -> Result<ExecuteFunc<F, Ctx>, StaticProgramError> {
        let Some((rules, check)) = self.check(pc, instruction) else {
            return self.inner.pre_compute(pc, instruction, data);
        };
        let (header, rest) = data.split_at_mut(HEADER);
        let inner = self.inner.pre_compute(pc, instruction, rest)?;
        Ok(handlers::handler(rules, check, instruction, inner, header))
    }
}

impl InterpreterMeteredExecutor<F> for CheckedExecutor {
    fn metered_pre_compute_size(&self) -> usize {
        HEADER + self.inner.metered_pre_compute_size()
    }

    fn metered_pre_compute<Ctx: MeteredExecutionCtxTrait>(
        &self,
        air: usize,
        pc: u32,
        instruction: &Instruction<F>,
        data: &mut [u8],
    ) -> Result<ExecuteFunc<F, Ctx>, StaticProgramError> {
        let Some((rules, check)) = self.check(pc, instruction) else {
            return self.inner.metered_pre_compute(air, pc, instruction, data);
        };
        let (header, rest) = data.split_at_mut(HEADER);
        let inner = self.inner.metered_pre_compute(air, pc, instruction, rest)?;
        Ok(handlers::handler(rules, check, instruction, inner, header))
    }
}

/// Records of what was checked when segments were cut.
impl<RA> PreflightExecutor<F, RA> for CheckedExecutor
where
    SdkVmConfigExecutor<F>: PreflightExecutor<F, RA>,
{
    fn execute(
        &self,
        state: VmStateMut<F, TracingMemory, RA>,
        instruction: &Instruction<F>,
    ) -> Result<(), ExecutionError> {
        self.inner.execute(state, instruction)
    }

    fn get_opcode_name(&self, opcode: usize) -> String {
        self.inner.get_opcode_name(opcode)
    }
}
