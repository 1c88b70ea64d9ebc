//! Programs as bytes.
//!
//! `HOLOATLS`, format version (`u16`), number of instructions and of labels (`u32` each), the
//! instructions (opcode, fields), the labels by name (name, index as `u32`); all little-endian.
//! A program has one form. Arbitrary bytes give an error, never a panic, and no allocation larger than the bytes allow.

use std::path::Path;

use super::{Program, MAX_INSTRUCTIONS};
use crate::isa::{Instruction, Label, Reader};
use crate::program_error::ProgramError;

const MAGIC: &[u8; 8] = b"HOLOATLS";
/// Version of the byte format that [`Program::to_bytes`] writes.
pub const FORMAT_VERSION: u16 = 1;

impl Program {
    /// The serialised form.
    ///
    /// # Errors
    /// [`ProgramError::TooLong`] for more instructions than a program may have, and
    /// [`ProgramError::InvalidLabelTarget`] for labels past the end.
    pub fn to_bytes(&self) -> Result<Vec<u8>, ProgramError> {
        if self.len() > MAX_INSTRUCTIONS {
            return Err(ProgramError::TooLong {
                len: self.len(),
                max: MAX_INSTRUCTIONS,
            });
        }
        let mut out = Vec::with_capacity(18 + self.len() * 6);
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        out.extend_from_slice(&(self.len() as u32).to_le_bytes());
        out.extend_from_slice(&(self.labels().len() as u32).to_le_bytes());
        for instruction in self.instructions() {
            instruction.encode(&mut out);
        }
        for (label, &index) in self.labels() {
            if index > self.len() {
                return Err(ProgramError::InvalidLabelTarget {
                    label: label.name().to_owned(),
                    index,
                    len: self.len(),
                });
            }
            out.push(label.name().len() as u8);
            out.extend_from_slice(label.name().as_bytes());
            out.extend_from_slice(&(index as u32).to_le_bytes());
        }
        Ok(out)
    }

    /// Reads the serialised form; nothing may follow it.
    ///
    /// # Errors
    /// [`ProgramError::Malformed`] with the offset, [`ProgramError::UnsupportedVersion`], and those
    /// of [`Program::check_labels`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ProgramError> {
        let mut input = Reader::new(bytes);
        let program = read(&mut input).map_err(|failure| match failure {
            Failure::Message(message) => ProgramError::Malformed {
                offset: input.position(),
                message,
            },
            Failure::Program(error) => error,
        })?;
        program.check_labels()?;
        Ok(program)
    }

    /// Writes the serialised form to a file.
    ///
    /// # Errors
    /// [`ProgramError::File`], and those of [`Program::to_bytes`].
    pub fn save_to_file(&self, path: impl AsRef<Path>) -> Result<(), ProgramError> {
        std::fs::write(path.as_ref(), self.to_bytes()?).map_err(|e| file_error(path.as_ref(), &e))
    }

    /// Reads a program from a file, serialised or assembly text.
    ///
    /// # Errors
    /// [`ProgramError::File`], and those of [`Program::from_bytes`] or of parsing.
    pub fn load_from_file(path: impl AsRef<Path>) -> Result<Self, ProgramError> {
        let bytes = std::fs::read(path.as_ref()).map_err(|e| file_error(path.as_ref(), &e))?;
        if bytes.starts_with(MAGIC) {
            return Self::from_bytes(&bytes);
        }
        match std::str::from_utf8(&bytes) {
            Ok(text) => text.parse(),
            Err(e) => Err(ProgramError::Malformed {
                offset: e.valid_up_to(),
                message: "neither a serialised program nor text".to_owned(),
            }),
        }
    }
}

impl Instruction {
    /// Reads the serialised instruction that `bytes` begin with, and says how many of them it has.
    ///
    /// # Errors
    /// [`ProgramError::Malformed`] with the offset.
    pub fn read_from_prefix(bytes: &[u8]) -> Result<(Self, usize), ProgramError> {
        let mut input = Reader::new(bytes);
        match Self::decode(&mut input) {
            Ok(instruction) => Ok((instruction, input.position())),
            Err(message) => Err(ProgramError::Malformed {
                offset: input.position(),
                message,
            }),
        }
    }
}

fn file_error(path: &Path, error: &std::io::Error) -> ProgramError {
    ProgramError::File {
        path: path.display().to_string(),
        message: error.to_string(),
    }
}

enum Failure {
    Message(String),
    Program(ProgramError),
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self::Message(message)
    }
}

fn read(input: &mut Reader<'_>) -> Result<Program, Failure> {
    if input.take(MAGIC.len())? != MAGIC {
        return Err("no serialised program: it begins otherwise"
            .to_owned()
            .into());
    }
    let version = u16::from_le_bytes(input.array()?);
    if version == 0 || version > FORMAT_VERSION {
        return Err(Failure::Program(ProgramError::UnsupportedVersion {
            found: version,
            supported: FORMAT_VERSION,
        }));
    }
    let len = u32::from_le_bytes(input.array()?) as usize;
    let labels = u32::from_le_bytes(input.array()?) as usize;
    if len > MAX_INSTRUCTIONS {
        return Err(Failure::Program(ProgramError::TooLong {
            len,
            max: MAX_INSTRUCTIONS,
        }));
    }
    // An instruction has at least one byte.
    let mut program = Program::with_capacity(len.min(input.remaining()));
    for _ in 0..len {
        program.push(Instruction::decode(input)?);
    }
    for _ in 0..labels {
        let [size] = input.array()?;
        let name = std::str::from_utf8(input.take(size as usize)?)
            .map_err(|_| "label is not UTF-8".to_owned())?;
        let label = Label::new(name).map_err(Failure::Program)?;
        let index = u32::from_le_bytes(input.array()?) as usize;
        if program.labels().keys().next_back() > Some(&label) {
            return Err(format!("label {label} is not in the order of names").into());
        }
        program.bind_label(label, index).map_err(Failure::Program)?;
    }
    match input.remaining() {
        0 => Ok(program),
        rest => Err(format!("{rest} bytes follow the program").into()),
    }
}
