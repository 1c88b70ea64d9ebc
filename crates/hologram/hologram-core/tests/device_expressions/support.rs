//! Random data and views, devices, and one expression on the host and on devices.

use half::{bf16, f16};
use hologram_backends::metal::{Effort, MetalBackend, LIBRARY};
use hologram_backends::Ty;
use hologram_core::expression::{self, Expression, Strided, Views};
use hologram_core::{BackendType, DynBuffer, Error, Executor};
use openvm_metal_common::{Device, MetalContext};

pub const SHAPES: [&[usize]; 20] = [
    &[1],
    &[7],
    &[65537],
    &[70000],
    &[3, 20001],
    &[5000, 33],
    &[1200, 64],
    &[1100, 300],
    &[1030, 2052],
    &[70001, 3],
    &[20000, 16],
    &[300, 512],
    &[40, 30, 20],
    &[13, 1, 7, 5],
    &[2, 3, 4, 5, 6],
    &[64, 64, 16],
    &[1, 1],
    &[0, 5],
    &[5, 0],
    &[],
];

pub const TYPES: [Ty; 12] = Ty::ALL;

pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() >> 11) as usize % n.max(1)
    }

    pub fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

pub fn devices() -> Vec<Executor> {
    let devices = match std::env::var("OPENVM_METAL_DEVICE") {
        Ok(name) => vec![name.parse().unwrap()],
        Err(_) => vec![Device::Cpu, Device::CpuConformance],
    };
    let scratch = std::env::temp_dir().join("hologram-expression-test");
    let open = |device| {
        let context = MetalContext::new(device, &[&LIBRARY]).unwrap();
        // Most of the time goes into compiling.
        let backend = MetalBackend::on(&context, scratch.clone(), Effort::Least).unwrap();
        Executor::from_backend(Box::new(backend), BackendType::Cuda, "kernels".into())
    };
    devices.into_iter().map(open).collect()
}

/// Bytes of elements: small numbers, whole or not, some of them not finite.
pub fn data(random: &mut Random, ty: Ty, count: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(count * ty.size());
    for _ in 0..count {
        let whole = random.below(41) as i64 - 20;
        let real = match random.below(50) {
            0 => f64::NAN,
            1 => f64::INFINITY,
            2 => -0.0,
            _ => whole as f64 / 4.0,
        };
        match ty {
            Ty::F16 => out.extend(f16::from_f64(real).to_le_bytes()),
            Ty::Bf16 => out.extend(bf16::from_f64(real).to_le_bytes()),
            Ty::F32 => out.extend((real as f32).to_le_bytes()),
            Ty::F64 => out.extend(real.to_le_bytes()),
            _ => out.extend(&whole.to_le_bytes()[..ty.size()]),
        }
    }
    out
}

/// A buffer with these bytes.
pub fn buffer(exec: &Executor, ty: Ty, bytes: &[u8]) -> DynBuffer {
    let made = exec.allocate_dyn(ty, bytes.len() / ty.size()).unwrap();
    made.write_bytes(0, bytes).unwrap();
    made
}

/// Elements as numbers.
fn numbers(ty: Ty, bytes: &[u8]) -> Vec<f64> {
    let read = |b: &[u8]| {
        let mut word = [0; 8];
        word[..b.len()].copy_from_slice(b);
        let bits = u64::from_le_bytes(word);
        match ty {
            Ty::F16 => f16::from_bits(bits as u16).to_f64(),
            Ty::Bf16 => bf16::from_bits(bits as u16).to_f64(),
            Ty::F32 => f64::from(f32::from_bits(bits as u32)),
            Ty::F64 => f64::from_bits(bits),
            _ => bits as f64,
        }
    };
    bytes.chunks_exact(ty.size()).map(read).collect()
}

fn assert_near(ty: Ty, found: &[u8], expected: &[u8], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len());
    let (found, expected) = (numbers(ty, found), numbers(ty, expected));
    for (i, (a, b)) in found.iter().zip(&expected).enumerate() {
        let near = (a - b).abs() <= tolerance * b.abs().max(1.0);
        assert!(
            near || a == b || (a.is_nan() && b.is_nan()),
            "{what}: element {i}: {a}, not {b}"
        );
    }
}

/// A view over a shape: offset and strides, and the elements that its buffer needs. `whole`: no element twice.
pub fn view(random: &mut Random, shape: &[usize], whole: bool) -> (usize, Vec<isize>, usize) {
    let mut order: Vec<usize> = (0..shape.len()).collect();
    if random.below(3) == 0 {
        for i in (1..order.len()).rev() {
            order.swap(i, random.below(i + 1));
        }
    }
    let mut strides = vec![0; shape.len()];
    let mut step = if random.below(5) == 0 { 2 } else { 1 };
    let (mut offset, mut reach) = (0, 0);
    for &d in order.iter().rev() {
        if !whole && random.below(6) == 0 {
            continue;
        }
        let extent = shape[d].max(1);
        strides[d] = step as isize;
        if random.below(8) == 0 {
            strides[d] = -strides[d];
            offset += (extent - 1) * step;
        }
        reach += (extent - 1) * step;
        step *= extent + usize::from(random.below(6) == 0);
    }
    let lead = random.below(3) * random.below(4);
    (offset + lead, strides, lead + reach + 1)
}

/// One expression on the host and on the device, from equal bytes.
pub struct Case {
    pub expression: Expression,
    pub shape: Vec<usize>,
    pub operands: Vec<(usize, Vec<isize>, Vec<u8>)>,
    pub scalars: Vec<u64>,
    pub outputs: Vec<(usize, Vec<isize>, usize)>,
    pub folded: Vec<bool>,
    pub target: Option<(usize, Vec<isize>, usize)>,
}

impl Case {
    /// Bytes of outputs and of the target.
    pub fn run(&self, exec: &Executor) -> Result<Vec<Vec<u8>>, Error> {
        let types = self.expression.operand_types();
        let read: Vec<DynBuffer> = self
            .operands
            .iter()
            .zip(types)
            .map(|((_, _, bytes), &ty)| buffer(exec, ty, bytes))
            .collect();
        // What is not written stays.
        let written: Vec<DynBuffer> = self
            .outputs
            .iter()
            .zip(self.expression.output_types())
            .map(|((_, _, len), ty)| buffer(exec, ty, &vec![0x5a; len * ty.size()]))
            .collect();
        let target = self.target.as_ref().zip(self.expression.fold_type());
        let target = target.map(|((at, strides, len), ty)| {
            let made = buffer(exec, ty, &vec![0x5a; len * ty.size()]);
            (*at, strides.clone(), made)
        });
        let views = Views {
            shape: &self.shape,
            operands: &self
                .operands
                .iter()
                .zip(&read)
                .map(|((offset, strides, _), buffer)| Strided {
                    buffer,
                    offset: *offset,
                    strides,
                })
                .collect::<Vec<_>>(),
            scalars: &self.scalars,
            outputs: &self
                .outputs
                .iter()
                .zip(&written)
                .map(|((offset, strides, _), buffer)| Strided {
                    buffer,
                    offset: *offset,
                    strides,
                })
                .collect::<Vec<_>>(),
            folded: &self.folded,
            target: target.as_ref().map(|(offset, strides, buffer)| Strided {
                buffer,
                offset: *offset,
                strides,
            }),
        };
        expression::run(exec, &self.expression, &views)?;
        let all = written
            .iter()
            .chain(target.iter().map(|(_, _, buffer)| buffer));
        all.map(|buffer| buffer.to_bytes()).collect()
    }
}

pub fn elements(
    random: &mut Random,
    types: &[Ty],
    shape: &[usize],
) -> Vec<(usize, Vec<isize>, Vec<u8>)> {
    let each = types.iter().map(|&ty| {
        let (offset, strides, len) = view(random, shape, false);
        let bytes = data(random, ty, len);
        (offset, strides, bytes)
    });
    each.collect()
}

pub fn compare(case: &Case, host: &Executor, devices: &[Executor], tolerance: f64, what: &str) {
    let expected = case.run(host).unwrap();
    let mut types = case.expression.output_types();
    types.extend(case.expression.fold_type());
    for device in devices {
        let found = match case.run(device) {
            Err(Error::Backend(error)) if error.to_string().contains("Apple GPUs") => continue,
            found => found.unwrap(),
        };
        for ((a, b), &ty) in found.iter().zip(&expected).zip(&types) {
            if tolerance == 0.0 && !ty.is_float() {
                assert_eq!(a, b, "{what}");
            }
            assert_near(ty, a, b, tolerance, what);
        }
    }
}

pub fn campaign() -> usize {
    let set = std::env::var("HOLOGRAM_TEST_EXPRESSIONS");
    set.ok().and_then(|text| text.parse().ok()).unwrap_or(15)
}
