//! Running random loops on the interpreter and on a device.

use std::fmt;

use hologram_backends::cpu::CpuBackend;
use hologram_backends::metal::MetalBackend;
use hologram_backends::{Backend, BackendError, BufferHandle, Result, Ty};

use super::{generate_loop, input, Expected, LoopCase, BUFFERS, BYTES};
use crate::random::rng::Rng;

/// Programs that are compiled together.
const BATCH: u64 = 32;

/// The interpreter and a device with the memory that random loops work on.
pub struct LoopComparison<'a> {
    reference: CpuBackend,
    device: &'a mut MetalBackend,
    contents: Vec<Vec<u8>>,
}

/// The two did not do the same, or not as they must.
#[derive(Clone, Debug)]
pub struct LoopMismatch {
    /// The loop.
    pub case: LoopCase,
    /// The difference.
    pub what: String,
}

impl fmt::Display for LoopMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LoopCase { seed, params, .. } = &self.case;
        writeln!(f, "seed {seed}: {}\n{params:?}", self.what)?;
        write!(f, "{}", self.case.program)
    }
}

impl std::error::Error for LoopMismatch {}

/// Counts of a campaign.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoopCampaign {
    /// Loops that both ran alike.
    pub programs: u64,
    /// Loops among them with a lane for each iteration.
    pub lanes: u64,
    /// Loops among them that ran as a tree.
    pub trees: u64,
    /// With equal faults.
    pub faults: u64,
}

impl fmt::Display for LoopCampaign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} loops: equal; {} with a lane for each iteration, {} as trees, {} ended with equal faults",
            self.programs, self.lanes, self.trees, self.faults
        )
    }
}

impl<'a> LoopComparison<'a> {
    /// Makes the memory of random loops in a device that holds none yet.
    ///
    /// # Errors
    /// Those of the device; handles that do not count from 1.
    pub fn new(device: &'a mut MetalBackend) -> Result<Self> {
        let mut reference = CpuBackend::new();
        for handle in 1..=BUFFERS {
            reference.allocate_buffer(BYTES)?;
            if device.allocate_buffer(BYTES)?.raw() != handle {
                return Err(BackendError::UnsupportedOperation(
                    "a comparison in a backend that was used before".into(),
                ));
            }
        }
        Ok(Self {
            reference,
            device,
            contents: (1..=BUFFERS).map(contents).collect(),
        })
    }

    /// Runs a loop on both and counts it.
    ///
    /// # Errors
    /// What differs, errors that are no faults.
    pub fn check(
        &mut self,
        case: &LoopCase,
        done: &mut LoopCampaign,
    ) -> std::result::Result<(), Box<LoopMismatch>> {
        let mismatch = |what: String| {
            Box::new(LoopMismatch {
                case: case.clone(),
                what,
            })
        };
        let before = self.device.stats();
        let device = run(self.device, case, &self.contents);
        let device = device.map_err(|e| mismatch(format!("device: {e}")))?;
        let reference = run(&mut self.reference, case, &self.contents);
        let reference = reference.map_err(|e| mismatch(format!("reference: {e}")))?;
        let after = self.device.stats();
        let trees = after.reduced - before.reduced;
        let lanes = after.rerolled - before.rerolled - trees;
        let right = match case.expected {
            Expected::Lanes => (lanes, trees) == (1, 0),
            Expected::Tree => (lanes, trees) == (0, 1),
            Expected::OneLane => (lanes, trees) == (0, 0),
            Expected::Any => true,
        };
        if !right {
            let what = format!("{:?} expected: {lanes} lanes, {trees} trees", case.expected);
            return Err(mismatch(what));
        }
        match (&device, &reference) {
            (Err(a), Err(b)) if a == b => done.faults += 1,
            (Ok(a), Ok(b)) => {
                if let Some(at) = a.iter().zip(b).position(|(a, b)| a != b) {
                    let (buffer, byte) = (1 + at / BYTES, at % BYTES);
                    return Err(mismatch(format!("byte {byte} of buffer {buffer}")));
                }
            }
            (a, b) => {
                let text = |r: &std::result::Result<_, BackendError>| match r {
                    Ok(_) => "no fault".to_owned(),
                    Err(fault) => fault.to_string(),
                };
                let what = format!("reference: {}\n device: {}", text(b), text(a));
                return Err(mismatch(what));
            }
        }
        done.programs += 1;
        done.lanes += lanes;
        done.trees += trees;
        Ok(())
    }

    /// Compares the loops of `count` seeds from `seed` on, and calls `progress` after each batch.
    ///
    /// # Errors
    /// The first [`LoopMismatch`]; errors of the compiler.
    pub fn campaign(
        &mut self,
        seed: u64,
        count: u64,
        doubles: bool,
        mut progress: impl FnMut(&LoopCampaign),
    ) -> std::result::Result<LoopCampaign, Box<dyn std::error::Error>> {
        let mut done = LoopCampaign::default();
        for start in (0..count).step_by(BATCH as usize) {
            let cases = (start..(start + BATCH).min(count))
                .map(|i| generate_loop(seed.wrapping_add(i), doubles))
                .collect::<Result<Vec<_>>>()?;
            let programs: Vec<_> = cases.iter().map(|c| (&c.program, &c.params)).collect();
            self.device.prepare(&programs)?;
            for case in &cases {
                self.check(case, &mut done).map_err(|mismatch| *mismatch)?;
            }
            progress(&done);
        }
        Ok(done)
    }
}

/// Contents of all buffers in the end, or the fault.
fn run(
    backend: &mut dyn Backend,
    case: &LoopCase,
    contents: &[Vec<u8>],
) -> Result<std::result::Result<Vec<u8>, BackendError>> {
    for (handle, bytes) in (1..).zip(contents) {
        backend.copy_to_buffer(BufferHandle::from_raw(handle), bytes)?;
    }
    match backend.execute_program_with_params(&case.program, &case.params) {
        Ok(()) => {}
        Err(fault @ BackendError::Fault(_)) => return Ok(Err(fault)),
        Err(error) => return Err(error),
    }
    let mut memory = vec![0; BYTES * contents.len()];
    for (handle, bytes) in (1..).zip(memory.chunks_mut(BYTES)) {
        backend.copy_from_buffer(BufferHandle::from_raw(handle), bytes)?;
    }
    Ok(Ok(memory))
}

/// Initial contents of a buffer: small floats with zeros of both signs, any integers, or zeros.
fn contents(handle: u64) -> Vec<u8> {
    let mut rng = Rng::new(handle);
    let mut float = || match rng.below(6) {
        0 => 0.0,
        1 => -0.0,
        _ => rng.below(65) as f64 / 4.0 - 8.0,
    };
    if handle == input(Ty::F32) {
        let values = (0..BYTES / 4).map(|_| float() as f32);
        values.flat_map(f32::to_le_bytes).collect()
    } else if handle == input(Ty::F64) {
        (0..BYTES / 8).flat_map(|_| float().to_le_bytes()).collect()
    } else if handle == input(Ty::U8) {
        (0..BYTES / 8)
            .flat_map(|_| rng.bits().to_le_bytes())
            .collect()
    } else {
        vec![0; BYTES]
    }
}
