//! Programs: instructions with labels.

pub mod assembly;
pub mod builder;
pub mod serial;

use std::collections::BTreeMap;

use crate::isa::{Instruction, Label};
use crate::program_error::ProgramError;

/// Most instructions of a program.
pub const MAX_INSTRUCTIONS: usize = 1 << 20;

/// A list of instructions with labels.
///
/// A label bound to the length of the program is its end. Two programs are equal when their
/// instructions and labels are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Program {
    instructions: Vec<Instruction>,
    labels: BTreeMap<Label, usize>,
}

impl Program {
    /// No instructions.
    pub fn new() -> Self {
        Self::default()
    }

    /// No instructions yet, with room for `capacity`.
    pub fn with_capacity(capacity: usize) -> Self {
        Self {
            instructions: Vec::with_capacity(capacity.min(MAX_INSTRUCTIONS)),
            labels: BTreeMap::new(),
        }
    }

    /// Instructions without labels.
    pub fn from_instructions(instructions: Vec<Instruction>) -> Self {
        Self {
            instructions,
            labels: BTreeMap::new(),
        }
    }

    /// Appends an instruction.
    pub fn push(&mut self, instruction: Instruction) {
        self.instructions.push(instruction);
    }

    /// Binds `name` to the next instruction.
    ///
    /// # Errors
    /// [`ProgramError::DuplicateLabel`], [`ProgramError::InvalidLabelName`].
    pub fn add_label(&mut self, name: &str) -> Result<(), ProgramError> {
        self.bind_label(Label::new(name)?, self.instructions.len())
    }

    /// Binds a label to an index, which may still lie past the end.
    ///
    /// # Errors
    /// [`ProgramError::DuplicateLabel`].
    pub fn bind_label(&mut self, label: Label, index: usize) -> Result<(), ProgramError> {
        if self.labels.contains_key(&label) {
            return Err(ProgramError::DuplicateLabel(label.name().to_owned()));
        }
        self.labels.insert(label, index);
        Ok(())
    }

    /// The index that `name` is bound to.
    pub fn resolve_label(&self, name: &str) -> Option<usize> {
        self.labels.get(name).copied()
    }

    /// All labels with their indices, by name.
    pub fn labels(&self) -> &BTreeMap<Label, usize> {
        &self.labels
    }

    /// All instructions.
    pub fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }

    /// Number of instructions.
    pub fn len(&self) -> usize {
        self.instructions.len()
    }

    /// True if there are no instructions.
    pub fn is_empty(&self) -> bool {
        self.instructions.is_empty()
    }

    /// True if no instruction runs twice in a lane: jumps go forward, and there are no calls. Such a program ends.
    pub fn runs_forward(&self) -> bool {
        let mut instructions = self.instructions.iter().enumerate();
        instructions.all(|(pc, instruction)| match instruction {
            Instruction::Call { .. } | Instruction::Ret {} => false,
            _ => instruction.target().is_none_or(|label| {
                let at = self.resolve_label(label.name());
                at.is_some_and(|at| at > pc)
            }),
        })
    }

    /// Checks that every label lies within the program and every jump's label is bound.
    ///
    /// # Errors
    /// [`ProgramError::InvalidLabelTarget`], [`ProgramError::UndefinedLabel`], [`ProgramError::TooLong`].
    pub fn check_labels(&self) -> Result<(), ProgramError> {
        if self.len() > MAX_INSTRUCTIONS {
            return Err(ProgramError::TooLong {
                len: self.len(),
                max: MAX_INSTRUCTIONS,
            });
        }
        for (label, &index) in &self.labels {
            if index > self.len() {
                return Err(ProgramError::InvalidLabelTarget {
                    label: label.name().to_owned(),
                    index,
                    len: self.len(),
                });
            }
        }
        for (pc, instruction) in self.instructions.iter().enumerate() {
            if let Some(label) = instruction.target() {
                if !self.labels.contains_key(label) {
                    return Err(ProgramError::UndefinedLabel {
                        label: label.name().to_owned(),
                        pc,
                    });
                }
            }
        }
        Ok(())
    }
}

impl From<Vec<Instruction>> for Program {
    fn from(instructions: Vec<Instruction>) -> Self {
        Self::from_instructions(instructions)
    }
}

impl From<Program> for Vec<Instruction> {
    fn from(program: Program) -> Self {
        program.instructions
    }
}
