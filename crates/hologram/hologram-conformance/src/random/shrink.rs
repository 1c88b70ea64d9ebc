//! Making a failing case smaller.

use hologram_backends::validate::validate_launch;
use hologram_backends::{Label, Program};

use super::{Case, Comparison, Mismatch};

impl Comparison<'_> {
    /// The difference of the smallest case found that has one, by leaving out instructions.
    pub fn smallest(&mut self, mismatch: &Mismatch) -> Mismatch {
        let mut last = mismatch.clone();
        shrink(&mismatch.case, |case| match self.check(case) {
            Err(found) => {
                last = *found;
                true
            }
            Ok(_) => false,
        });
        last
    }
}

/// The smallest case found for which `fails` holds, by leaving out instructions.
///
/// `fails` is only asked about valid programs.
pub fn shrink(case: &Case, mut fails: impl FnMut(&Case) -> bool) -> Case {
    let mut best = case.clone();
    let mut chunk = best.program.len().div_ceil(2);
    while chunk > 0 {
        let mut at = 0;
        let mut smaller = false;
        while at < best.program.len() {
            let end = (at + chunk).min(best.program.len());
            let candidate = Case {
                program: without(&best.program, at, end),
                ..best.clone()
            };
            let valid = validate_launch(&candidate.program, &candidate.params).is_ok();
            if valid && fails(&candidate) {
                best = candidate;
                smaller = true;
            } else {
                at = end;
            }
        }
        if !smaller || chunk > 1 {
            chunk /= 2;
        }
    }
    best
}

/// The program without the instructions `start..end`; labels among them move to what follows.
fn without(program: &Program, start: usize, end: usize) -> Program {
    let instructions = program.instructions();
    let mut out =
        Program::from_instructions([&instructions[..start], &instructions[end..]].concat());
    for (label, &at) in program.labels() {
        let moved = if at >= end {
            at - (end - start)
        } else {
            at.min(start)
        };
        let label: Label = label.clone();
        // Labels of a program are distinct.
        let _ = out.bind_label(label, moved);
    }
    out
}

#[cfg(test)]
mod tests {
    use hologram_backends::Instruction;

    use super::*;
    use crate::random::{generate, Features};

    #[test]
    fn only_what_fails_is_left() -> Result<(), Box<dyn std::error::Error>> {
        let fails = |case: &Case| {
            let all = case.program.instructions();
            all.iter().any(|i| matches!(i, Instruction::Cvt { .. }))
        };
        let case = (0..)
            .map(|seed| generate(seed, &Features::default()))
            .find(|case| case.as_ref().is_ok_and(fails))
            .ok_or("none converts")??;
        let small = shrink(&case, fails);
        assert!(fails(&small));
        // The conversion and what initialises its operand.
        assert!(small.program.len() <= 2, "{}", small.program);
        Ok(())
    }
}
