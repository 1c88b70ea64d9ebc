//! Tests: the documentation names every instruction and operation, and its program is valid.

use hologram_kernels::{InPlace, Operation};

use crate::isa::{
    BinaryOp, Condition, Instruction, LossOp, MapOp, MemoryScope, ReduceOp, Register, Ty,
};
use crate::program::Program;
use crate::validate::validate;

const TEXT: &str = include_str!("../../../../docs/hologram.md");

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

/// The table of whole-buffer operations as the documentation has it.
fn operations() -> String {
    let mut table =
        String::from("| instruction | meaning | may be written in place |\n|---|---|---|\n");
    for form in Operation::FORMS {
        let words: String = (form.words.iter())
            .map(|word| format!(".{}", word.to_uppercase()))
            .collect();
        let operands = [form.text, form.constants].concat().join(", ");
        let shared = match (form.in_place, form.operands) {
            (InPlace::None, _) | (InPlace::Each, [_]) => "",
            (InPlace::First, [_, first, ..]) => &format!("`{first}`"),
            (InPlace::First, _) => "",
            (InPlace::Each, _) => "each operand",
            (InPlace::Any, _) => "any part",
        };
        table += &format!(
            "| `{}{words} {operands}` | {} | {shared} |\n",
            form.mnemonic,
            form.meaning.trim()
        );
    }
    table
}

#[test]
fn the_table_of_operations_is_documented() {
    let table = operations();
    assert!(TEXT.contains(&table), "docs/hologram.md needs:\n{table}");
}

#[test]
fn forms_and_operations_agree() {
    let instructions: Vec<&str> = Instruction::ALL.iter().map(|&(_, name)| name).collect();
    for form in Operation::FORMS {
        assert!(instructions.contains(&form.mnemonic));
        let mut sorted = [form.operands, form.text].map(<[_]>::to_vec);
        sorted.iter_mut().for_each(|names| names.sort_unstable());
        assert_eq!(sorted[0], sorted[1], "{}", form.mnemonic);
        // Words and operands of the form, with numbers for what they stand for.
        let words: String = form
            .words
            .iter()
            .map(|word| match *word {
                "ty" => ".f32".to_owned(),
                _ => match form.mnemonic {
                    "map" => ".exp".into(),
                    "reduce" => ".sum".into(),
                    "loss" => ".mse".into(),
                    _ => ".add".into(),
                },
            })
            .collect();
        let registers = (1..=form.text.len()).map(|i| format!("r{i}"));
        let constants = form.constants.iter().map(|_| "3".to_owned());
        let operands: Vec<String> = registers.chain(constants).collect();
        let text = format!("{}{words} {}", form.mnemonic, operands.join(", "));
        let program: Program = text.parse().expect("an instruction");
        let instruction = &program.instructions()[0];
        let operation = instruction.operation().expect("a whole-buffer operation");
        assert_eq!(operation.form(), form);
        let (_, operands) = operation.lengths();
        assert_eq!(operands, form.operands.len());
        assert_eq!(operation.constants().len(), form.constants.len());
        let mut handles = Vec::new();
        instruction.for_each_use(|r, ty| handles.push((r, ty)));
        let wanted = (1..=form.text.len()).map(|i| (Register::new(i as u8), Ty::U64));
        assert_eq!(handles, wanted.collect::<Vec<_>>());
        assert!(operation.sizes_fit() && operation.check_types().is_ok());
    }
}
