//! Programs that the validator accepts or rejects, with pc and kind of each error.

mod flow;
mod rules;

use hologram_backends::{
    BackendError, Program, Register, ValidationError, ValidationErrorKind as Kind,
};

fn program(text: &str) -> Program {
    text.parse().unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn rejected(program: &Program) -> ValidationError {
    match program.validate() {
        Err(BackendError::Validation(error)) => error,
        other => panic!("{other:?} for\n{program}"),
    }
}

fn rejects(text: &str, pc: usize, kind: Kind) {
    let error = rejected(&program(text));
    assert_eq!((error.pc, &error.kind), (pc, &kind), "{text}");
    let shown = program(text).instructions()[pc].to_string();
    assert_eq!(error.instruction, shown);
    let message = error.to_string();
    assert!(message.starts_with(&format!("pc {pc} (`{shown}`): ")));
}

fn accepts(text: &str) {
    let program = program(text);
    program
        .validate()
        .unwrap_or_else(|e| panic!("{e}\n{program}"));
}

fn register(index: u8) -> Register {
    Register::new(index)
}
