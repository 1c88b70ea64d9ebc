//! A program over many lanes, its inputs and what it must store.

use std::collections::BTreeMap;
use std::fmt::Write;

use hologram_backends::{
    Backend, BufferHandle, Dim3, ExecutionParams, LaunchConfig, Program, Register, Result, Ty,
};

/// Lanes of a block.
const BLOCK: usize = 64;
/// Register of the output's handle; those of the inputs follow.
const OUTPUT: u8 = 220;

/// Values that a lane must have stored.
#[derive(Clone, Copy, Debug)]
pub enum Expected {
    /// These bits.
    Bits(u64),
    /// A float within so many units in the last place; any NaN for a NaN.
    Float(u64, u64),
}

struct Output {
    what: String,
    ty: Ty,
    expected: Vec<Expected>,
    /// Further right values, row by row, where subnormals are flushed.
    allowed: Vec<Vec<Expected>>,
}

/// Results of a case compared with the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// Results that differ: instruction, inputs, what it gave and what it should give.
    pub wrong: Vec<String>,
    /// Results that are right with subnormals flushed, and only then.
    pub flushed: usize,
    /// Greatest error of each inexact instruction in units of the last place.
    pub greatest: BTreeMap<String, u64>,
}

/// One program over many lanes, its inputs and what it must store.
pub struct Case {
    name: String,
    text: String,
    inputs: Vec<Vec<u64>>,
    outputs: Vec<Output>,
    rows: usize,
}

impl Case {
    /// Subject of the case: a type or a group of instructions.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A case of `rows` lanes (and some that repeat the first).
    pub(super) fn new(name: impl Into<String>, rows: usize) -> Self {
        Self {
            name: name.into(),
            text: "mov_imm.u32 r210, 3\nshl.u64 r211, r255, r210\n".into(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            rows,
        }
    }

    pub(super) fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Loads a value for each row into a register.
    pub(super) fn load(&mut self, register: u8, ty: Ty, values: &[u64]) {
        assert_eq!(values.len(), self.rows);
        self.inputs.push(values.to_vec());
        let handle = usize::from(OUTPUT) + self.inputs.len();
        self.line(&format!("ldg.{ty} r{register}, [r{handle} + r211]"));
    }

    /// Stores a register, which must hold `expected` row by row.
    pub(super) fn store(
        &mut self,
        what: &str,
        register: u8,
        ty: Ty,
        expected: impl Iterator<Item = Expected>,
    ) {
        let expected: Vec<_> = expected.collect();
        assert_eq!(expected.len(), self.rows);
        let region = 8 * self.lanes() * self.outputs.len();
        let _ = writeln!(
            self.text,
            "mov_imm.u64 r212, {region}\nadd.u64 r213, r211, r212\nstg.{ty} r{register}, [r{OUTPUT} + r213]"
        );
        self.outputs.push(Output {
            what: what.into(),
            ty,
            expected,
            allowed: Vec::new(),
        });
    }

    /// Allows the results of the same case with subnormals treated otherwise.
    pub(super) fn allow(&mut self, other: Self) {
        for (output, other) in self.outputs.iter_mut().zip(other.outputs) {
            output.allowed.push(other.expected);
        }
    }

    /// An instruction that writes `ty` to r20, and what it must give.
    pub(super) fn check(&mut self, line: &str, ty: Ty, expected: impl Iterator<Item = Expected>) {
        self.line(line);
        self.store(line, 20, ty, expected);
    }

    fn lanes(&self) -> usize {
        self.rows.next_multiple_of(BLOCK)
    }

    /// Number of results.
    pub fn results(&self) -> usize {
        self.outputs.len() * self.rows
    }

    /// The program.
    ///
    /// # Errors
    /// None, unless the table itself is wrong: it holds assembly text.
    pub fn program(&self) -> Result<Program> {
        Ok(self.text.parse()?)
    }

    /// The registers that a launch presets, the handles of the buffers, with their types.
    pub fn initial(&self) -> Vec<(Register, Ty)> {
        (0..=self.inputs.len() as u8)
            .map(|n| (Register::new(OUTPUT + n), Ty::U64))
            .collect()
    }

    /// Allocates the buffers; the output is the last.
    pub(super) fn prepare(
        &self,
        backend: &mut dyn Backend,
    ) -> Result<(Vec<BufferHandle>, ExecutionParams)> {
        let blocks = self.lanes() / BLOCK;
        let launch = LaunchConfig::new(Dim3::linear(blocks as u32), Dim3::linear(BLOCK as u32));
        let mut params = ExecutionParams::from(launch.with_shared_memory(8 * BLOCK));
        let mut handles = Vec::new();
        for (index, values) in self.inputs.iter().enumerate() {
            let padded = values.iter().cycle().take(self.lanes());
            let bytes: Vec<u8> = padded.flat_map(|v| v.to_le_bytes()).collect();
            let handle = backend.allocate_buffer(bytes.len())?;
            backend.copy_to_buffer(handle, &bytes)?;
            handles.push(handle);
            let register = Register::new(OUTPUT + 1 + index as u8);
            params = params.with_u64(register, handle.raw());
        }
        let size = 8 * self.lanes() * self.outputs.len();
        let output = backend.allocate_buffer(size)?;
        handles.push(output);
        let params = params.with_u64(Register::new(OUTPUT), output.raw());
        Ok((handles, params))
    }

    /// Runs the program and compares its results.
    ///
    /// # Errors
    /// Those of the backend, for example that it cannot compile or run the program.
    pub fn run(&self, backend: &mut dyn Backend) -> Result<Compared> {
        let (handles, params) = self.prepare(backend)?;
        let output = handles[handles.len() - 1];
        backend.execute_program_with_params(&self.program()?, &params)?;
        let mut data = vec![0; backend.buffer_size(output)?];
        backend.copy_from_buffer(output, &mut data)?;
        let mut compared = Compared::default();
        for (index, out) in self.outputs.iter().enumerate() {
            for (row, &expected) in out.expected.iter().enumerate() {
                let at = 8 * (index * self.lanes() + row);
                let mut word = [0; 8];
                word.copy_from_slice(&data[at..at + 8]);
                let found = u64::from_le_bytes(word);
                if let Expected::Float(bits, 1..) = expected {
                    let name = out.what.split(' ').next().unwrap_or_default();
                    let greatest = compared.greatest.entry(name.into()).or_default();
                    *greatest = (*greatest).max(places(out.ty, found, bits));
                }
                if matches(out.ty, found, expected) {
                    continue;
                }
                let mut allowed = out.allowed.iter().map(|expected| expected[row]);
                if allowed.any(|allowed| matches_flushed(out.ty, found, allowed)) {
                    compared.flushed += 1;
                } else {
                    let inputs: Vec<_> = self.inputs.iter().map(|v| v[row]).collect();
                    compared.wrong.push(format!(
                        "{}: `{}` of {inputs:x?} gave {found:#x}, expected {expected:x?}",
                        self.name, out.what
                    ));
                }
            }
        }
        for handle in handles {
            backend.free_buffer(handle)?;
        }
        Ok(compared)
    }
}

/// Units in the last place between two finite floats of one sign; 0 of others.
fn places(ty: Ty, found: u64, expected: u64) -> u64 {
    let f = super::floats::format(ty);
    let [a, b] = [found, expected].map(|bits| bits & (f.sign() - 1));
    match (found ^ expected) & f.sign() == 0 && a < f.infinity() && b < f.infinity() {
        true => a.abs_diff(b),
        false => 0,
    }
}

/// The same where zeros of both signs are alike.
fn matches_flushed(ty: Ty, found: u64, expected: Expected) -> bool {
    let zero = |bits: u64| bits & (super::floats::format(ty).sign() - 1) == 0;
    match expected {
        Expected::Float(bits, _) if zero(bits) => zero(found) && found <= ty.mask(),
        _ => matches(ty, found, expected),
    }
}

fn matches(ty: Ty, found: u64, expected: Expected) -> bool {
    match expected {
        Expected::Bits(bits) => found == bits,
        Expected::Float(bits, ulps) => {
            let infinity = super::floats::format(ty).infinity();
            let sign = super::floats::format(ty).sign();
            let (a, b) = (found & (sign - 1), bits & (sign - 1));
            if b > infinity {
                return a > infinity && found <= ty.mask();
            }
            if b == infinity || b == 0 {
                return found == bits;
            }
            (found ^ bits) & sign == 0 && found <= ty.mask() && a.abs_diff(b) <= ulps
        }
    }
}
