//! Tests: the tables of the reference page are those of the code, and the program of the guide is valid.

use std::{fs, path::Path};

use hologram_kernels::{InPlace, Operation};

use crate::isa::{
    legality::check_types, BinaryOp, Condition, Instruction, LossOp, MapOp, MemoryScope, ReduceOp,
    Register, Row, Ty,
};
use crate::program::Program;
use crate::validate::validate;

/// A page of the repository's documentation.
fn page(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../docs")
        .join(name)
}

#[test]
fn the_program_of_the_documentation_is_valid() {
    let text = fs::read_to_string(page("guide/hologram.md")).expect("a page");
    let (_, rest) = text.split_once("```atlas\n").expect("a program");
    let (text, _) = rest.split_once("```").expect("its end");
    let program: Program = text.parse().expect("a program");
    let presets: Vec<_> = (1..=4).map(|i| (Register::new(i), Ty::U64)).collect();
    assert!(program.len() > 5);
    assert_eq!(validate(&program, &presets).map(drop), Ok(()));
}

/// Types that the instruction of a row takes, in words.
fn types(row: &Row) -> String {
    let Some((name, _)) = row.words.iter().rfind(|(_, kind)| *kind == "Ty") else {
        return String::new();
    };
    let legal = |ty: &Ty| {
        let word = |&(word, kind): &(&str, &str)| match kind {
            "Ty" if word == *name => format!(".{ty}"),
            "Ty" => ".f32".to_owned(),
            "Condition" => ".eq".to_owned(),
            _ => ".block".to_owned(),
        };
        let operand = |&(_, kind): &(&str, &str)| match kind {
            "Register" => "r0",
            "Predicate" | "Option<Predicate>" => "p0",
            "Label" => "@end",
            "Address" => "[buf1 + 0]",
            _ => "1",
        };
        let words: String = row.words.iter().map(word).collect();
        let operands: Vec<_> = row.operands.iter().map(operand).collect();
        let text = format!("{}{words} {}", row.mnemonic, operands.join(", "));
        let program: Program = text.parse().expect("an instruction");
        check_types(&program.instructions()[0]).is_ok()
    };
    let all = Ty::ALL;
    let taken: Vec<Ty> = all.into_iter().filter(legal).collect();
    type Kind = (&'static str, fn(&Ty) -> bool);
    let kinds: [Kind; 4] = [
        ("all", |_| true),
        ("integers, f32, f64", |ty| {
            ty.is_int() || matches!(ty, Ty::F32 | Ty::F64)
        }),
        ("integers", |ty| ty.is_int()),
        ("signed integers, f32, f64", |ty| {
            matches!(ty, Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 | Ty::F32 | Ty::F64)
        }),
    ];
    let known = kinds
        .iter()
        .find(|(_, is)| taken.iter().eq(all.iter().filter(|ty| is(ty))));
    let listed = || {
        taken
            .iter()
            .map(|ty| ty.name())
            .collect::<Vec<_>>()
            .join(", ")
    };
    known.map_or_else(listed, |(words, _)| (*words).to_owned())
}

/// The instructions, a table for each category; types stand in its rows only where they differ.
fn instructions() -> String {
    let mut text = String::new();
    for rows in Instruction::ROWS.chunk_by(|a, b| a.category == b.category) {
        let kinds: Vec<String> = rows.iter().map(types).collect();
        let same = kinds.iter().all(|kind| *kind == kinds[0]);
        let (of_all, head) = match (same, kinds[0].as_str()) {
            (true, "") => (String::new(), "| instruction | meaning |\n|---|---|\n"),
            (true, kind) => (
                format!(" ({kind})"),
                "| instruction | meaning |\n|---|---|\n",
            ),
            (false, _) => (
                String::new(),
                "| instruction | types | meaning |\n|---|---|---|\n",
            ),
        };
        text += &format!("\n**{:?}**{of_all}\n\n{head}", rows[0].category);
        for (row, kind) in rows.iter().zip(&kinds) {
            let words: String = row
                .words
                .iter()
                .map(|(word, _)| format!(".{word}"))
                .collect();
            let operands: Vec<_> = row.operands.iter().map(|&(name, _)| name).collect();
            let form = format!("{}{words} {}", row.mnemonic, operands.join(", "));
            let meaning = row.meaning.trim().replace('|', "\\|");
            let kind = if same {
                String::new()
            } else {
                format!("{kind} | ")
            };
            text += &format!("| `{}` | {kind}{meaning} |\n", form.trim());
        }
    }
    text
}

/// The whole-buffer operations, and the names that words of instructions may have.
fn operations() -> String {
    let mut table =
        String::from("\n| instruction | meaning | may be written in place |\n|---|---|---|\n");
    for form in Operation::FORMS {
        let words: String = form.words.iter().map(|word| format!(".{word}")).collect();
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
    let types = Ty::ALL.map(Ty::name);
    let scopes: Vec<_> = MemoryScope::ALL.iter().map(|scope| scope.name()).collect();
    table += "\n| word | values |\n|---|---|\n";
    for (word, values) in [
        ("ty", &types[..]),
        ("cond", Condition::NAMES),
        ("scope", &scopes),
        ("op of map", MapOp::NAMES),
        ("op of map2, map_scalar", BinaryOp::NAMES),
        ("op of reduce", ReduceOp::NAMES),
        ("op of loss", LossOp::NAMES),
    ] {
        table += &format!("| {word} | `{}` |\n", values.join(" "));
    }
    table
}

/// `UPDATE=1` writes the tables into the page; without it the page must hold them.
#[test]
fn the_reference_page_holds_the_tables() {
    let path = page("reference/hologram-instructions.md");
    let before = fs::read_to_string(&path).expect("a page");
    let mut after = before.clone();
    for (name, table) in [
        ("instructions", instructions()),
        ("operations", operations()),
    ] {
        let (start, end) = (
            format!("<!-- generated: {name} -->\n"),
            "\n<!-- end -->".to_owned(),
        );
        let (head, rest) = after.split_once(&start).expect("the start of a table");
        let (_, tail) = rest.split_once(&end).expect("the end of a table");
        after = format!("{head}{start}{table}{end}{tail}");
    }
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &after).expect("a page that can be written");
    } else {
        assert!(
            before == after,
            "the tables of {} are not those of the code: UPDATE=1 cargo test -p hologram-backends --lib documented",
            path.display()
        );
    }
}

/// Rows and whole-buffer operations together are all instructions.
#[test]
fn every_instruction_has_a_row() {
    let rows = Instruction::ROWS.iter().map(|row| row.mnemonic);
    let operations = Operation::FORMS.iter().map(|form| form.mnemonic);
    let mut named: Vec<_> = rows.chain(operations).collect();
    let mut all: Vec<_> = Instruction::ALL.iter().map(|&(_, name)| name).collect();
    named.sort_unstable();
    all.sort_unstable();
    assert_eq!(named, all);
    assert!(Instruction::ROWS
        .iter()
        .all(|row| !row.meaning.trim().is_empty()));
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
