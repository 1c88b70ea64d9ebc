//! Data prepared once per AIR when the proving key is brought to the device.

use std::sync::Arc;

use openvm_stark_backend::keygen::types::StarkVerifyingKey;

use super::column_layout::ColumnLayout;
use super::generated::{PlannedSections, SumKernels, Unit};
use crate::{
    params::ConstraintInstruction,
    prelude::F,
    programs::{AirPrograms, Instruction, Program, ProgramError},
};

/// The programs of one AIR; a clone shares them. The encoded instructions (16 bytes each) of all AIRs of a proof are
/// uploaded together at its start.
#[derive(Clone, Debug)]
pub struct AirDataMetal {
    programs: Arc<AirPrograms>,
    code: Arc<[ConstraintInstruction]>,
    layout: Arc<ColumnLayout>,
    /// Kernels of each sum, where the device has any.
    kernels: Arc<[SumKernels]>,
}

impl AirDataMetal {
    /// Compiles the constraints and interactions of an AIR's key; `air` names it in errors.
    ///
    /// # Errors
    /// If the symbolic constraints read something that the AIR does not have.
    pub fn compile<D>(air: &str, vk: &StarkVerifyingKey<F, D>) -> Result<Self, ProgramError> {
        Ok(Self::from_programs(AirPrograms::new(air, vk)?))
    }

    /// Encodes compiled programs.
    pub fn from_programs(programs: AirPrograms) -> Self {
        let code = programs
            .all()
            .flat_map(|program: &Program| &program.code)
            .map(|instruction: &Instruction| {
                let [head, a, b, c] = instruction.encode();
                ConstraintInstruction { head, a, b, c }
            })
            .collect();
        Self {
            kernels: vec![SumKernels::default(); programs.sums.len()].into(),
            layout: ColumnLayout::new(&programs).into(),
            programs: programs.into(),
            code,
        }
    }

    /// The programs.
    pub fn programs(&self) -> &AirPrograms {
        &self.programs
    }

    /// Layout of its columns.
    pub(super) fn layout(&self) -> &ColumnLayout {
        &self.layout
    }

    /// Kernels that are compiled, or on their way.
    pub(super) fn kernels(&self) -> &[SumKernels] {
        &self.kernels
    }

    /// Memory of the sections of each sum's kernels, by field.
    pub(crate) fn planned_sections(&self) -> impl Iterator<Item = [PlannedSections; 2]> + '_ {
        let kernels = self.kernels.iter().zip(self.programs.rules());
        kernels.map(|(kernels, rules)| kernels.planned(rules))
    }

    /// The units of all kernels.
    pub(crate) fn kernel_units(&self) -> impl Iterator<Item = &Arc<Unit>> {
        self.kernels.iter().flat_map(SumKernels::units)
    }

    pub(crate) fn set_kernels(&mut self, kernels: Vec<SumKernels>) {
        self.kernels = kernels.into();
    }

    /// The encoded programs: the sums', then the leaves'.
    pub(super) fn code(&self) -> &[ConstraintInstruction] {
        &self.code
    }

    /// Words of temporaries per row and coset that round 0 of the zerocheck needs: the extended
    /// variables, spilled values and the result.
    pub fn eval_buffer_size(&self) -> usize {
        let sums = self.programs.sums.iter();
        let spills = sums.map(|sum| sum.program.spills).max().unwrap_or(0) as usize;
        self.programs.variables.len() + spills + 4
    }
}
