//! Making programs instruction by instruction.

use super::Program;
use crate::isa::{Instruction, Label, Predicate, Register};
use crate::program_error::ProgramError;

/// Appends instructions and labels; mistakes are kept and reported by [`ProgramBuilder::build`].
#[derive(Clone, Debug, Default)]
pub struct ProgramBuilder {
    program: Program,
    mistake: Option<ProgramError>,
}

impl ProgramBuilder {
    /// No instructions yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends an instruction.
    pub fn push(&mut self, instruction: Instruction) -> &mut Self {
        self.program.push(instruction);
        self
    }

    /// Binds a label to the next instruction.
    pub fn label(&mut self, name: &str) -> &mut Self {
        let result = self.program.add_label(name);
        self.note(result);
        self
    }

    /// Appends a branch.
    pub fn bra(&mut self, target: &str, pred: Option<Predicate>) -> &mut Self {
        self.jump(target, |target| Instruction::Bra { target, pred })
    }

    /// Appends a call.
    pub fn call(&mut self, target: &str) -> &mut Self {
        self.jump(target, |target| Instruction::Call { target })
    }

    /// Appends a loop: `count` > 0 decrements it and jumps to `body`.
    pub fn repeat(&mut self, count: Register, body: &str) -> &mut Self {
        self.jump(body, |body| Instruction::Loop { count, body })
    }

    /// Number of instructions so far.
    pub fn len(&self) -> usize {
        self.program.len()
    }

    /// True if there are no instructions yet.
    pub fn is_empty(&self) -> bool {
        self.program.is_empty()
    }

    /// The program, with its labels checked.
    ///
    /// # Errors
    /// The first mistake: a label's name, a label bound twice or not at all.
    pub fn build(self) -> Result<Program, ProgramError> {
        if let Some(mistake) = self.mistake {
            return Err(mistake);
        }
        self.program.check_labels()?;
        Ok(self.program)
    }

    fn jump(&mut self, target: &str, make: impl FnOnce(Label) -> Instruction) -> &mut Self {
        let result = Label::new(target).map(|label| self.program.push(make(label)));
        self.note(result);
        self
    }

    fn note(&mut self, result: Result<(), ProgramError>) {
        if let Err(error) = result {
            self.mistake.get_or_insert(error);
        }
    }
}
