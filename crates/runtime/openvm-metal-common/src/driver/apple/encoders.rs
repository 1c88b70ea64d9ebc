//! Names for what a command buffer holds, and which part of it failed.

use std::fmt::Write;

use crate::plan::in_words;

/// State of an encoder after the command buffer has failed (`MTLCommandEncoderErrorState`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EncoderState {
    Unknown,
    Completed,
    /// Hit by an error that may be another's.
    Affected,
    Pending,
    /// It caused the error.
    Faulted,
}

impl EncoderState {
    /// From Metal's number.
    pub const fn of(code: isize) -> Self {
        match code {
            1 => Self::Completed,
            2 => Self::Affected,
            3 => Self::Pending,
            4 => Self::Faulted,
            _ => Self::Unknown,
        }
    }
}

/// The label of an encoder: its number in the command buffer, the stage and the first operation. Traces show it, and
/// errors give it back.
pub(crate) fn label(number: usize, stage: &str, operation: &str) -> String {
    match stage.is_empty() {
        true => format!("{number}: {operation}"),
        false => format!("{number}: {stage}: {operation}"),
    }
}

/// The number in a [`label`].
fn number(label: &str) -> Option<usize> {
    label.split(':').next()?.parse().ok()
}

/// The operations of one encoder, by the stage in which it was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Encoded {
    pub stage: String,
    /// First and one past the last of the command buffer's operations.
    pub operations: std::ops::Range<usize>,
}

/// The encoder that failed and its contents, in words; empty if Metal does not tell. `states` are Metal's labels and
/// states, in its order.
pub(crate) fn culprit(
    encoders: &[Encoded],
    operations: &[&'static str],
    states: &[(String, EncoderState)],
) -> String {
    let with = |wanted: EncoderState| states.iter().filter(move |(_, state)| *state == wanted);
    let (found, words) = match with(EncoderState::Faulted).next() {
        Some(found) => (Some(found), "the error is in"),
        None => (with(EncoderState::Affected).next(), "the error hit"),
    };
    let Some((label, _)) = found else {
        return String::new();
    };
    let mut text = format!("{words} ");
    let known = number(label).and_then(|number| encoders.get(number));
    match known {
        Some(encoder) => {
            let held = operations
                .get(encoder.operations.clone())
                .unwrap_or_default();
            if !encoder.stage.is_empty() {
                let _ = write!(text, "stage '{}', ", encoder.stage);
            }
            let _ = write!(text, "{}", in_words(held.iter().copied()));
            if held.len() > 1 {
                text += " (OPENVM_METAL_PROFILE=1 submits each by itself, so that one is named)";
            }
        }
        None => {
            let _ = write!(text, "encoder '{label}'");
        }
    }
    let completed = with(EncoderState::Completed).count();
    let pending = with(EncoderState::Pending).count();
    let _ = write!(
        text,
        "; {completed} encoders had completed, {pending} had not begun"
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoders() -> Vec<Encoded> {
        vec![
            Encoded {
                stage: "commit/ntt".into(),
                operations: 0..2,
            },
            Encoded {
                stage: "commit/merkle".into(),
                operations: 2..3,
            },
            Encoded {
                stage: String::new(),
                operations: 3..6,
            },
        ]
    }

    const OPERATIONS: [&str; 6] = ["ntt", "ntt", "hash_rows", "copy d2d", "add", "add"];

    fn states(states: [isize; 3]) -> Vec<(String, EncoderState)> {
        states
            .iter()
            .enumerate()
            .map(|(i, &code)| (label(i, "s", OPERATIONS[i]), EncoderState::of(code)))
            .collect()
    }

    #[test]
    fn labels() {
        assert_eq!(label(0, "commit/ntt", "ntt"), "0: commit/ntt: ntt");
        assert_eq!(label(12, "", "ntt"), "12: ntt");
        assert_eq!(number(&label(12, "a", "b")), Some(12));
        assert_eq!(number("someone else's"), None);
    }

    #[test]
    fn the_kernel_that_failed_is_named() {
        let text = culprit(&encoders(), &OPERATIONS, &states([1, 4, 3]));
        assert_eq!(
            text,
            "the error is in stage 'commit/merkle', hash_rows; 1 encoders had completed, 1 had not begun"
        );
    }

    #[test]
    fn several_operations_of_one_encoder() {
        let text = culprit(&encoders(), &OPERATIONS, &states([1, 1, 2]));
        assert!(
            text.starts_with("the error hit copy d2d, add 2 x (OPENVM_METAL_PROFILE=1"),
            "{text}"
        );
        let text = culprit(&encoders(), &OPERATIONS, &states([4, 3, 3]));
        assert!(
            text.starts_with("the error is in stage 'commit/ntt', ntt 2 x ("),
            "{text}"
        );
    }

    #[test]
    fn what_metal_does_not_tell() {
        assert_eq!(culprit(&encoders(), &OPERATIONS, &[]), "");
        assert_eq!(culprit(&encoders(), &OPERATIONS, &states([0, 0, 0])), "");
        let strange = [("render pass".to_owned(), EncoderState::Faulted)];
        let text = culprit(&encoders(), &OPERATIONS, &strange);
        assert!(
            text.starts_with("the error is in encoder 'render pass'"),
            "{text}"
        );
        let beyond = [(label(9, "", "x"), EncoderState::Faulted)];
        assert!(culprit(&encoders(), &OPERATIONS, &beyond).contains("encoder '9: x'"));
    }
}
