//! Constraint programs: an AIR's constraints and interactions compiled from the symbolic DAG into
//! straight-line programs.
//!
//! Pipeline: `graph` normalises the DAG (sharing, folding, negations removed), `roots` says which of its nodes each
//! program delivers, `degrees` distributes them to programs by degree, `select` chooses instructions for a group of roots (fused multiply-add forms, evaluation order by
//! register need), `allocate` maps values to registers (linear scan, spills the value used furthest ahead), and
//! `program` holds the encoded result. `rules` has the same as expressions that repeat, `clusters` says which
//! roots are one expression, `repeats` which of its statements are a loop; kernels are written from them. `compile` puts the programs of one AIR together;
//! `interpret` runs them on the host, which is the reference for the kernels.

mod allocate;
mod clusters;
mod compile;
mod degrees;
mod error;
mod graph;
mod interpret;
mod program;
mod repeats;
mod roots;
mod rules;
mod select;
#[cfg(test)]
mod tests;

pub use self::{
    compile::{AirPrograms, SumKind, SumProgram, FREE_REGISTERS},
    error::ProgramError,
    graph::Variable,
    program::{Instruction, Operation, Program},
    repeats::{Piece, Repeat},
    rules::{Place, Rule, Rules, Statement, Target, UseRange},
};
