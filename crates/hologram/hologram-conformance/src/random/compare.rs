//! Running cases on two backends and comparing what they did.

use std::collections::BTreeMap;
use std::fmt;

use hologram_backends::cpu::CpuBackend;
use hologram_backends::metal::MetalBackend;
use hologram_backends::native::NativeBackend;
use hologram_backends::{Backend, BackendError, BufferHandle, PoolHandle, Result, Ty};

use super::layout::{
    boundary_bytes, input_bytes, loose, output, INPUT, INPUT_BYTES, LOOSE, OUTPUT, OUTPUT_BYTES,
    OVERLAID, OVERLAID_BYTES, POOL_IN, POOL_OUT, SLOTS,
};
use super::{generate, Case, Features};
use crate::Promise;

/// ULP that transcendental functions of `f32` may differ by, and where they are not close.
const LOOSE_F32: u64 = 4;
const FAR_F32: u64 = 32;
/// ULP that transcendental functions of `f64` may differ by.
const LOOSE_F64: u64 = 12;
/// Programs that are compiled together.
const BATCH: u64 = 64;

/// Two backends with the memory that random programs work on.
pub struct Comparison<'a> {
    reference: &'a mut dyn Backend,
    device: &'a mut dyn Backend,
    /// The interpreter with subnormals flushed, for devices that flush them.
    flushing: Option<CpuBackend>,
    /// ULP that functions of `f32` may differ by.
    loose: u64,
}

/// Outcome of a case that both backends ran alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Alike {
    /// The fault that both ended with.
    pub fault: Option<BackendError>,
    /// The treatment of subnormals with which they are alike.
    pub subnormals: Subnormals,
}

/// Treatment of subnormals with which a device does what the interpreter does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subnormals {
    /// They are kept, or there are none.
    Kept,
    /// They are flushed.
    Flushed,
    /// The program depends on how, which the device may choose: it was not compared further.
    Met,
}

/// Two backends did not do the same.
#[derive(Clone, Debug)]
pub struct Mismatch {
    /// The case.
    pub case: Case,
    /// The difference.
    pub what: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}: {}", self.case.seed, self.what)?;
        writeln!(f, "{:?}", self.case.params)?;
        for (pc, instruction) in self.case.program.instructions().iter().enumerate() {
            let labels = self.case.program.labels().iter();
            for (label, _) in labels.filter(|&(_, &at)| at == pc) {
                writeln!(f, "{label}:")?;
            }
            writeln!(f, "{pc:5}  {instruction}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Mismatch {}

/// Counts of a campaign.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Campaign {
    /// Programs that both backends ran alike.
    pub programs: u64,
    /// Instructions in them.
    pub instructions: u64,
    /// Lanes that ran.
    pub lanes: u64,
    /// Programs among `programs` that are alike only with subnormals flushed.
    pub flushed: u64,
    /// Programs among `programs` that depend on how subnormals are flushed.
    pub met: u64,
    /// Programs that ended with the same fault, by its kind.
    pub faults: BTreeMap<String, u64>,
}

impl fmt::Display for Campaign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let faults: u64 = self.faults.values().sum();
        write!(
            f,
            "{} programs, {} instructions, {} lanes: equal; {faults} ended with equal faults",
            self.programs, self.instructions, self.lanes
        )?;
        if self.flushed + self.met > 0 {
            write!(
                f,
                "\n  {:6}  with subnormals flushed\n  {:6}  depend on how and were not compared",
                self.flushed, self.met
            )?;
        }
        for (kind, count) in &self.faults {
            write!(f, "\n  {count:6}  {kind}")?;
        }
        Ok(())
    }
}

impl<'a> Comparison<'a> {
    /// Makes the memory of random programs in two backends that hold none yet; `promise` is the device's.
    ///
    /// # Errors
    /// Those of the backends; handles that do not count from 1.
    pub fn new(
        reference: &'a mut dyn Backend,
        device: &'a mut dyn Backend,
        promise: Promise,
    ) -> Result<Self> {
        let mut flushing = (!promise.subnormals).then(CpuBackend::flushing);
        let (input, boundary) = (input_bytes(), boundary_bytes());
        let mut backends: Vec<&mut dyn Backend> = vec![&mut *reference, &mut *device];
        backends.extend(flushing.as_mut().map(|backend| backend as &mut dyn Backend));
        for backend in backends {
            let buffers = [
                backend.allocate_buffer(INPUT_BYTES)?,
                backend.allocate_buffer(OUTPUT_BYTES)?,
            ];
            let pools = [
                backend.allocate_pool(INPUT_BYTES)?,
                backend.allocate_pool(OUTPUT_BYTES)?,
            ];
            let expected = [INPUT, OUTPUT].map(BufferHandle::from_raw);
            if buffers != expected || pools != [POOL_IN, POOL_OUT].map(PoolHandle::from_raw) {
                return Err(BackendError::UnsupportedOperation(
                    "a comparison in a backend that was used before".into(),
                ));
            }
            backend.copy_to_buffer(buffers[0], &input)?;
            backend.copy_to_pool(pools[0], 0, &input)?;
            backend.copy_to_buffer(BufferHandle::BOUNDARY, &boundary)?;
        }
        Ok(Self {
            reference,
            device,
            flushing,
            loose: if promise.close_functions {
                LOOSE_F32
            } else {
                FAR_F32
            },
        })
    }

    /// Runs a case on both.
    ///
    /// # Errors
    /// What differs, errors that are no faults.
    pub fn check(&mut self, case: &Case) -> std::result::Result<Alike, Box<Mismatch>> {
        let mismatch = |what: String| {
            Box::new(Mismatch {
                case: case.clone(),
                what,
            })
        };
        let reference =
            run(self.reference, case).map_err(|e| mismatch(format!("reference: {e}")))?;
        let device = run(self.device, case).map_err(|e| mismatch(format!("device: {e}")))?;
        let fault = reference.fault();
        let alike = |subnormals| Alike { fault, subnormals };
        let Some(what) = reference.difference(&device, case.stride, self.loose) else {
            return Ok(alike(Subnormals::Kept));
        };
        let Some(flushing) = &mut self.flushing else {
            return Err(mismatch(what));
        };
        let flushed = run(flushing, case).map_err(|e| mismatch(format!("reference: {e}")))?;
        if flushed
            .difference(&device, case.stride, self.loose)
            .is_none()
        {
            return Ok(Alike {
                fault: flushed.fault(),
                subnormals: Subnormals::Flushed,
            });
        }
        match flushing.flushed() {
            true => Ok(alike(Subnormals::Met)),
            false => Err(mismatch(what)),
        }
    }

    /// Compares the programs of `count` seeds from `seed` on, and calls `progress` after each batch.
    ///
    /// # Errors
    /// The first [`Mismatch`]; errors of the generator and the compiler.
    pub fn campaign(
        &mut self,
        seed: u64,
        count: u64,
        features: &Features,
        mut progress: impl FnMut(&Campaign),
    ) -> std::result::Result<Campaign, Box<dyn std::error::Error>> {
        let mut done = Campaign::default();
        for start in (0..count).step_by(BATCH as usize) {
            let seeds = start..(start + BATCH).min(count);
            let cases = seeds
                .map(|i| generate(seed.wrapping_add(i), features))
                .collect::<Result<Vec<_>>>()?;
            let programs: Vec<_> = cases.iter().map(|c| (&c.program, &c.params)).collect();
            for backend in [&mut *self.reference, &mut *self.device] {
                if let Some(metal) = backend.as_any_mut().downcast_mut::<MetalBackend>() {
                    metal.prepare(&programs)?;
                } else if let Some(native) = backend.as_any_mut().downcast_mut::<NativeBackend>() {
                    native.prepare(&programs)?;
                }
            }
            for case in &cases {
                let alike = self.check(case).map_err(|mismatch| *mismatch)?;
                done.programs += 1;
                done.flushed += u64::from(alike.subnormals == Subnormals::Flushed);
                done.met += u64::from(alike.subnormals == Subnormals::Met);
                done.instructions += case.program.len() as u64;
                let (grid, block) = (case.params.launch.grid, case.params.launch.block);
                done.lanes += grid.count().unwrap_or(0) * block.count().unwrap_or(0);
                if let Some(BackendError::Fault(fault)) = alike.fault {
                    let kind = format!("{:?}", fault.kind);
                    let name = kind.split([' ', '{']).next().unwrap_or_default();
                    *done.faults.entry(name.to_owned()).or_default() += 1;
                }
            }
            progress(&done);
        }
        Ok(done)
    }
}

enum Outcome {
    /// The output buffer and pool.
    Memory((Vec<u8>, Vec<u8>), Pools),
    Fault(BackendError, Pools),
}

/// Pools that the program made and left: handles and, without a fault, contents.
type Pools = Vec<(PoolHandle, Vec<u8>)>;

impl Outcome {
    fn pools(&self) -> &Pools {
        match self {
            Self::Memory(_, pools) | Self::Fault(_, pools) => pools,
        }
    }
}

impl Outcome {
    fn fault(&self) -> Option<BackendError> {
        match self {
            Self::Memory(..) => None,
            Self::Fault(fault, _) => Some(fault.clone()),
        }
    }

    /// The difference from what the device did.
    fn difference(&self, device: &Self, stride: usize, loose_f32: u64) -> Option<String> {
        match (self, device) {
            (a, b) if a.pools() != b.pools() => Some("other pools are left".into()),
            (Self::Fault(a, _), Self::Fault(b, _)) if a == b => None,
            (Self::Memory(a, _), Self::Memory(b, _)) => {
                let pairs = [("buffer", &a.0, &b.0), ("pool", &a.1, &b.1)];
                pairs.into_iter().find_map(|(name, a, b)| {
                    let what = difference(stride, loose_f32, &mut a.clone(), &mut b.clone())?;
                    Some(format!("{name}: {what}"))
                })
            }
            (a, b) => Some(format!("reference: {a}\n device: {b}")),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(..) => f.write_str("no fault"),
            Self::Fault(fault, _) => write!(f, "{fault}"),
        }
    }
}

fn run(backend: &mut dyn Backend, case: &Case) -> Result<Outcome> {
    let (buffer, pool) = (
        BufferHandle::from_raw(OUTPUT),
        PoolHandle::from_raw(POOL_OUT),
    );
    let mut memory = (vec![0; OUTPUT_BYTES], vec![0; OUTPUT_BYTES]);
    backend.copy_to_buffer(buffer, &memory.0)?;
    backend.copy_to_pool(pool, 0, &memory.1)?;
    let result = backend.execute_program_with_params(&case.program, &case.params);
    let mut pools = Vec::new();
    for handle in backend.pools() {
        if handle != pool && handle.raw() != POOL_IN {
            let mut bytes = vec![0; backend.pool_size(handle)?];
            if result.is_ok() {
                backend.copy_from_pool(handle, 0, &mut bytes)?;
            }
            backend.free_pool(handle)?;
            pools.push((handle, bytes));
        }
    }
    match result {
        Ok(()) => {
            backend.copy_from_buffer(buffer, &mut memory.0)?;
            backend.copy_from_pool(pool, 0, &mut memory.1)?;
            Ok(Outcome::Memory(memory, pools))
        }
        Err(fault @ BackendError::Fault(_)) => Ok(Outcome::Fault(fault, pools)),
        Err(error) => Err(error),
    }
}

/// The first difference of two outputs; clears the values that were compared.
fn difference(stride: usize, loose_f32: u64, a: &mut [u8], b: &mut [u8]) -> Option<String> {
    if a == b {
        return None;
    }
    for lane in 0..a.len() / stride {
        for ty in Ty::ALL {
            for slot in 0..SLOTS {
                let at = lane * stride + output(ty) + slot * ty.size();
                let (x, y) = (take(a, at, ty), take(b, at, ty));
                if x != y && !(is_nan(ty, x) && is_nan(ty, y)) {
                    return Some(format!("lane {lane}, {ty} {slot}: {x:#x} and {y:#x}"));
                }
            }
        }
        for (ty, limit) in [(Ty::F32, loose_f32), (Ty::F64, LOOSE_F64)] {
            for slot in 0..LOOSE {
                let at = lane * stride + loose(ty) + slot * ty.size();
                let (x, y) = (take(a, at, ty), take(b, at, ty));
                let apart = distance(ty, x, y);
                if apart > limit && !(is_nan(ty, x) && is_nan(ty, y)) {
                    return Some(format!(
                        "lane {lane}, inexact {ty} {slot}: {x:#x} and {y:#x}, {apart} ULP apart"
                    ));
                }
            }
        }
    }
    let at = a.iter().zip(&*b).position(|(x, y)| x != y)?;
    let (lane, byte) = (at / stride, at % stride);
    if let Some(byte) = byte
        .checked_sub(OVERLAID)
        .filter(|&byte| byte < OVERLAID_BYTES)
    {
        return Some(format!("lane {lane}, byte {byte} of those of all types"));
    }
    Some(format!("byte {at}, which nothing should write"))
}

/// The bits of a value, which is then 0.
fn take(bytes: &mut [u8], at: usize, ty: Ty) -> u64 {
    let mut bits = [0; 8];
    let value = &mut bytes[at..at + ty.size()];
    bits[..ty.size()].copy_from_slice(value);
    value.fill(0);
    u64::from_le_bytes(bits)
}

fn is_nan(ty: Ty, bits: u64) -> bool {
    let infinity = match ty {
        Ty::F16 => 0x7c00,
        Ty::Bf16 => 0x7f80,
        Ty::F32 => 0x7f80_0000,
        Ty::F64 => 0x7ff0_0000_0000_0000,
        _ => return false,
    };
    bits & (ty.mask() >> 1) > infinity
}

/// Number of values between two floats, in units of the last place.
fn distance(ty: Ty, x: u64, y: u64) -> u64 {
    if is_nan(ty, x) != is_nan(ty, y) {
        return u64::MAX;
    }
    let ordered = |bits: u64| {
        let magnitude = i128::from(bits & (ty.mask() >> 1));
        if bits >> (ty.bits() - 1) == 1 {
            -magnitude
        } else {
            magnitude
        }
    };
    u64::try_from((ordered(x) - ordered(y)).abs()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_values() {
        let bits = |x: f32| u64::from(x.to_bits());
        assert_eq!(distance(Ty::F32, bits(1.0), bits(1.0) + 3), 3);
        assert_eq!(distance(Ty::F32, bits(0.0), bits(-0.0)), 0);
        assert_eq!(distance(Ty::F32, 1, bits(-0.0) + 2), 3);
        assert_eq!(distance(Ty::F32, bits(f32::NAN), bits(1.0)), u64::MAX);
        assert_eq!(
            distance(Ty::F64, (-1f64).to_bits(), 1f64.to_bits() - 1),
            2 * 0x3ff0_0000_0000_0000 - 1
        );
    }

    #[test]
    fn differences_are_found() {
        let stride = super::super::layout::LANE_BYTES;
        let zero = vec![0u8; 3 * stride];
        let with = |at: usize, bytes: &[u8]| {
            let mut out = zero.clone();
            out[at..at + bytes.len()].copy_from_slice(bytes);
            out
        };
        let found = |mut a: Vec<u8>, mut b: Vec<u8>| difference(stride, LOOSE_F32, &mut a, &mut b);
        assert_eq!(found(zero.clone(), zero.clone()), None);
        let float = stride + output(Ty::F32) + 4;
        let text = found(with(float, &[1]), zero.clone());
        assert!(text.is_some_and(|t| t.contains("lane 1, f32 1")));
        let nans = [0x7fc0_0000u32, 0xffff_ffff].map(|b| with(float, &b.to_le_bytes()));
        let [a, b] = nans;
        assert_eq!(found(a, b), None, "a NaN is a NaN");
        let inexact = 2 * stride + loose(Ty::F64);
        assert_eq!(found(with(inexact, &[12]), zero.clone()), None);
        assert!(found(with(inexact, &[13]), zero.clone()).is_some());
        let shared = found(with(stride + OVERLAID + 5, &[1]), zero.clone());
        assert_eq!(
            shared.as_deref(),
            Some("lane 1, byte 5 of those of all types")
        );
        // Behind the 64 bytes of two i8 there is a gap that nothing writes.
        assert!(found(with(output(Ty::I8) + 20, &[1]), zero.clone()).is_some());
    }
}
