//! Programs as bytes and text: every instruction survives both, and damaged programs are read whole or refused.

use hologram_backends::{Instruction, Label, Predicate, Program, ProgramError, Register};
use hologram_conformance::{hostile, Numbers};

/// Random instructions with a code; jumps by hand, since their labels are names.
fn samples(code: u8, mnemonic: &str, numbers: &mut Numbers) -> Vec<Instruction> {
    let label = |name: &str| Label::new(name).unwrap();
    let longest = "x".repeat(255);
    match mnemonic {
        "bra" => ["a", "A.b$_9", &longest]
            .into_iter()
            .flat_map(|name| {
                [None, Some(Predicate::new(15).unwrap())].map(|pred| Instruction::Bra {
                    target: label(name),
                    pred,
                })
            })
            .collect(),
        "call" => vec![Instruction::Call {
            target: label(&longest),
        }],
        "loop" => vec![Instruction::Loop {
            count: Register::new(255),
            body: label("0"),
        }],
        _ => {
            let mut found = Vec::new();
            for _ in 0..20_000 {
                found.extend(hostile::decoded(code, numbers));
                if found.len() == 300 {
                    break;
                }
            }
            found
        }
    }
}

/// The serialised form: what a program of one instruction has behind the bytes of an empty one.
fn encoded(instruction: &Instruction) -> Vec<u8> {
    let empty = Program::new().to_bytes().unwrap();
    let program = Program::from_instructions(vec![instruction.clone()]);
    program.to_bytes().unwrap().split_off(empty.len())
}

/// The instruction of a line; the label that it may jump to is bound.
fn parsed(line: &str, target: Option<&Label>) -> Result<Instruction, ProgramError> {
    let label = target.map(|label| format!("{label}:\n"));
    let program: Program = (label.unwrap_or_default() + line).parse()?;
    assert_eq!(program.len(), 1, "{line}");
    Ok(program.instructions()[0].clone())
}

#[test]
fn every_instruction_survives_bytes_and_text() {
    let mut numbers = Numbers::new(11);
    for &(code, mnemonic) in Instruction::ALL {
        let samples = samples(code, mnemonic, &mut numbers);
        assert!(!samples.is_empty(), "{mnemonic}");
        for instruction in samples {
            assert_eq!(
                (instruction.opcode(), instruction.mnemonic()),
                (code, mnemonic)
            );
            let bytes = encoded(&instruction);
            assert_eq!(bytes[0], code);
            let whole = (instruction.clone(), bytes.len());
            assert_eq!(Instruction::read_from_prefix(&bytes), Ok(whole));
            for len in 0..bytes.len() {
                assert!(
                    Instruction::read_from_prefix(&bytes[..len]).is_err(),
                    "{len} of {} bytes of {instruction}",
                    bytes.len()
                );
            }
            let text = instruction.to_string();
            let read = |line: &str| parsed(line, instruction.target());
            assert_eq!(read(&text).as_ref(), Ok(&instruction), "{text}");
            assert!(read(&format!("{text}, r0, r0")).is_err(), "{text}");
            let without = text.split_once('.').map(|(_, rest)| rest);
            assert!(without.is_none_or(|rest| read(rest).is_err()));
        }
    }
}

#[test]
fn random_programs_survive_bytes_and_text() {
    let mut numbers = Numbers::new(5);
    for _ in 0..500 {
        let program = hostile::program(&mut numbers);
        assert_eq!(program.to_string().parse(), Ok(program.clone()));
        let bytes = program.to_bytes().unwrap();
        assert_eq!(Program::from_bytes(&bytes), Ok(program.clone()));
        for len in [0, 7, 8, 17, bytes.len() - 1] {
            assert!(len >= bytes.len() || Program::from_bytes(&bytes[..len]).is_err());
        }
    }
}

#[test]
fn damaged_programs_are_read_whole_or_refused() {
    let mut numbers = Numbers::new(2);
    let (mut read, mut refused) = (0, 0);
    for _ in 0..20_000 {
        let program = hostile::program(&mut numbers);
        let outcome = if numbers.below(2) == 0 {
            let mut bytes = program.to_bytes().unwrap();
            hostile::damage_bytes(&mut bytes, &mut numbers);
            Program::from_bytes(&bytes).inspect(|found| {
                assert_eq!(found.to_bytes().as_ref(), Ok(&bytes), "one form only");
            })
        } else {
            hostile::damage_text(&program.to_string(), &mut numbers).parse::<Program>()
        };
        match outcome {
            Ok(found) => {
                assert_eq!(found.to_string().parse(), Ok(found));
                read += 1;
            }
            Err(_) => refused += 1,
        }
    }
    assert!(
        read > 1_000 && refused > 5_000,
        "{read} read, {refused} refused"
    );
}
