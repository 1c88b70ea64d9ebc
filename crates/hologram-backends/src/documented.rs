//! Tests: the documentation names every instruction, operation and fault.

use crate::isa::{BinaryOp, Condition, Instruction, LossOp, MapOp, MemoryScope, ReduceOp, Ty};

#[test]
fn every_mnemonic_and_type_is_documented() {
    let text = include_str!("../../../docs/hologram.md");
    let words: std::collections::BTreeSet<&str> = text
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
