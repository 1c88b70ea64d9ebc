//! Tests: the documentation names every instruction and operation, and its program is valid.

use crate::isa::{
    BinaryOp, Condition, Instruction, LossOp, MapOp, MemoryScope, ReduceOp, Register, Ty,
};
use crate::program::Program;
use crate::validate::validate;

const TEXT: &str = include_str!("../../../docs/hologram.md");

#[test]
fn the_program_of_the_documentation_is_valid() {
    let (_, rest) = TEXT.split_once("```atlas\n").expect("a program");
    let (text, _) = rest.split_once("```").expect("its end");
    let program: Program = text.parse().expect("a program");
    let presets: Vec<_> = (1..=4).map(|i| (Register::new(i), Ty::U64)).collect();
    assert!(program.len() > 5);
    assert_eq!(validate(&program, &presets).map(drop), Ok(()));
}

#[test]
fn every_mnemonic_and_type_is_documented() {
    let words: std::collections::BTreeSet<&str> = TEXT
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .collect();
    let names = (Instruction::ALL.iter().map(|&(_, name)| name))
        .chain(Ty::ALL.map(Ty::name))
        .chain(Condition::ALL.iter().map(|v| v.name()))
        .chain(MemoryScope::ALL.iter().map(|v| v.name()))
        .chain(MapOp::ALL.iter().map(|v| v.name()))
        .chain(BinaryOp::ALL.iter().map(|v| v.name()))
        .chain(ReduceOp::ALL.iter().map(|v| v.name()))
        .chain(LossOp::ALL.iter().map(|v| v.name()));
    let missing: Vec<&str> = names.filter(|name| !words.contains(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
