//! Programs as text.
//!
//! One instruction a line, as `add.f32 r0, r1, r2`; `@name:` on its own line or before an
//! instruction binds a label; `;`, `#` and `//` begin comments.

use std::fmt;
use std::str::FromStr;

use super::{Program, MAX_INSTRUCTIONS};
use crate::isa::Instruction;
use crate::program_error::ProgramError;

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut labels: Vec<_> = self.labels().iter().map(|(l, &at)| (at, l)).collect();
        labels.sort_unstable();
        let mut labels = labels.into_iter().peekable();
        for pc in 0..=self.len() {
            while let Some((_, label)) = labels.next_if(|&(at, _)| at == pc) {
                writeln!(f, "{label}:")?;
            }
            if let Some(instruction) = self.instructions().get(pc) {
                writeln!(f, "    {instruction}")?;
            }
        }
        Ok(())
    }
}

impl FromStr for Program {
    type Err = ProgramError;

    fn from_str(text: &str) -> Result<Self, ProgramError> {
        let mut program = Self::new();
        for (number, line) in text.lines().enumerate() {
            parse_line(&mut program, line).map_err(|message| ProgramError::Syntax {
                line: number + 1,
                message,
            })?;
        }
        program.check_labels()?;
        Ok(program)
    }
}

fn parse_line(program: &mut Program, line: &str) -> Result<(), String> {
    let end = [line.find(';'), line.find('#'), line.find("//")]
        .into_iter()
        .flatten()
        .min()
        .unwrap_or(line.len());
    let mut rest = line[..end].trim();
    while let Some(after) = rest.strip_prefix('@') {
        let (name, tail) = after
            .split_once(':')
            .ok_or_else(|| format!("`{rest}`: a label ends with a colon"))?;
        program.add_label(name).map_err(|e| e.to_string())?;
        rest = tail.trim();
    }
    if rest.is_empty() {
        return Ok(());
    }
    if program.len() == MAX_INSTRUCTIONS {
        return Err(format!("more than {MAX_INSTRUCTIONS} instructions"));
    }
    program.push(Instruction::parse(rest)?);
    Ok(())
}
