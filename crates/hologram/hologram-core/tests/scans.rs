//! Scans on the host and as kernels of devices against a plain loop: the device in `OPENVM_METAL_DEVICE`, else the CPU's conformance
//! mode, and some in its fast one.

use half::{bf16, f16};
use hologram_backends::metal::MetalBackend;
use hologram_backends::Ty;
use hologram_core::expression::{FoldOp, Strided};
use hologram_core::{scans, BackendType, DynBuffer, Error, Executor};
use openvm_metal_common::Device;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() >> 11) as usize % n.max(1)
    }
}

/// Kernels of a device. Those of the conformance mode are compiled the quickest.
fn kernels(device: Device) -> Executor {
    let scratch = std::env::temp_dir().join("hologram-scan-test");
    let backend = MetalBackend::with_scratch(device, scratch).unwrap();
    Executor::from_backend(Box::new(backend), BackendType::Cuda, "kernels".into())
}

/// The host, and the device in `OPENVM_METAL_DEVICE` or the conformance mode.
fn both() -> [Executor; 2] {
    let device = match std::env::var("OPENVM_METAL_DEVICE") {
        Ok(name) => name.parse().unwrap(),
        Err(_) => Device::CpuConformance,
    };
    [Executor::new().unwrap(), kernels(device)]
}

/// A number as bytes of an element.
fn encoded(ty: Ty, value: f64) -> Vec<u8> {
    match ty {
        Ty::F16 => f16::from_f64(value).to_le_bytes().to_vec(),
        Ty::Bf16 => bf16::from_f64(value).to_le_bytes().to_vec(),
        Ty::F32 => (value as f32).to_le_bytes().to_vec(),
        Ty::F64 => value.to_le_bytes().to_vec(),
        _ => (value as i64).to_le_bytes()[..ty.size()].to_vec(),
    }
}

/// An element: floats as they are, integers as bits with their sign.
fn decoded(ty: Ty, bytes: &[u8]) -> (f64, i64) {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    let bits = u64::from_le_bytes(word);
    let shift = 64 - ty.bits();
    match ty {
        Ty::F16 => (f16::from_bits(bits as u16).to_f64(), 0),
        Ty::Bf16 => (bf16::from_bits(bits as u16).to_f64(), 0),
        Ty::F32 => (f64::from(f32::from_bits(bits as u32)), 0),
        Ty::F64 => (f64::from_bits(bits), 0),
        _ if ty.is_signed_int() => (0.0, (bits << shift) as i64 >> shift),
        _ => (0.0, bits as i64),
    }
}

/// One scan: views of a shape as offset, strides and elements of the buffer.
struct Case {
    op: FoldOp,
    shape: Vec<usize>,
    axis: usize,
    from: Ty,
    to: Ty,
    source: (usize, Vec<isize>, Vec<u8>),
    target: (usize, Vec<isize>, usize),
}

/// Elements that both sides of a comparison need: where each index of a shape is.
fn places(shape: &[usize], offset: usize, strides: &[isize]) -> Vec<usize> {
    let mut all = vec![offset as isize];
    for (&extent, &stride) in shape.iter().zip(strides) {
        let along = |at: isize| (0..extent as isize).map(move |i| at + i * stride);
        all = all.into_iter().flat_map(along).collect();
    }
    all.into_iter().map(|at| at as usize).collect()
}

impl Case {
    /// Bytes of the target; what is not written stays 0x5a.
    fn run(&self, exec: &Executor) -> Result<Vec<u8>, Error> {
        let buffer = |ty: Ty, bytes: &[u8]| -> DynBuffer {
            let made = exec.allocate_dyn(ty, bytes.len() / ty.size()).unwrap();
            made.write_bytes(0, bytes).unwrap();
            made
        };
        let source = buffer(self.from, &self.source.2);
        let target = buffer(self.to, &vec![0x5a; self.target.2 * self.to.size()]);
        let from = Strided {
            buffer: &source,
            offset: self.source.0,
            strides: &self.source.1,
        };
        let to = Strided {
            buffer: &target,
            offset: self.target.0,
            strides: &self.target.1,
        };
        scans::run(exec, self.op, &self.shape, self.axis, &from, &to)?;
        target.to_bytes()
    }

    /// Result of a loop over all elements, in `f64` or 64 bits: floats and integers of each place of the target.
    fn expected(&self) -> Vec<(usize, f64, i64)> {
        let read = places(&self.shape, self.source.0, &self.source.1);
        let written = places(&self.shape, self.target.0, &self.target.1);
        let inner: usize = self.shape[self.axis + 1..].iter().product();
        let (size, length) = (self.from.size(), self.shape[self.axis]);
        let mut all: Vec<(usize, f64, i64)> = Vec::with_capacity(read.len());
        for (n, (&at, &to)) in read.iter().zip(&written).enumerate() {
            let (real, whole) = decoded(self.from, &self.source.2[at * size..(at + 1) * size]);
            let (real, whole) = match (self.from.is_float(), self.to.is_float()) {
                (true, false) => (0.0, real as i64),
                (false, true) => (whole as f64, 0),
                _ => (real, whole),
            };
            // Bits of the target's type, with its sign.
            let fit = |x: i64| decoded(self.to, &x.to_le_bytes()[..self.to.size()]).1;
            let first = (n / inner).is_multiple_of(length);
            let made = match first {
                true => (to, real, fit(whole)),
                false => {
                    let (_, a, b) = all[n - inner];
                    let below = match self.to {
                        Ty::U64 => (whole as u64) < b as u64,
                        _ => whole < b,
                    };
                    let (a, b) = match self.op {
                        FoldOp::Sum => (a + real, b.wrapping_add(whole)),
                        FoldOp::Product => (a * real, b.wrapping_mul(whole)),
                        FoldOp::Minimum => (
                            if real < a || real.is_nan() { real } else { a },
                            if below { whole } else { b },
                        ),
                        FoldOp::Maximum => (
                            if real > a || real.is_nan() { real } else { a },
                            if below { b } else { whole },
                        ),
                    };
                    (to, a, fit(b))
                }
            };
            all.push(made);
        }
        all
    }

    fn check(&self, exec: &Executor) {
        let what = format!(
            "{:?} of {} as {}, shape {:?}, axis {}, strides {:?} to {:?}",
            self.op, self.from, self.to, self.shape, self.axis, self.source.1, self.target.1
        );
        let found = match self.run(exec) {
            Err(Error::Backend(error)) if error.to_string().contains("Apple GPUs") => return,
            found => found.unwrap(),
        };
        let size = self.to.size();
        let mut written = vec![false; self.target.2];
        for (at, real, whole) in self.expected() {
            written[at] = true;
            let (a, b) = decoded(self.to, &found[at * size..(at + 1) * size]);
            assert_eq!(b, whole, "{what}: element {at}");
            let near = (a - real).abs() <= 1e-5 * real.abs().max(1.0);
            assert!(
                near || a == real || (a.is_nan() && real.is_nan()),
                "{what}: element {at}: {a}, not {real}"
            );
        }
        for (bytes, _) in found.chunks(size).zip(&written).filter(|(_, &w)| !w) {
            assert!(
                bytes.iter().all(|&b| b == 0x5a),
                "{what}: written elsewhere"
            );
        }
    }
}

/// A view over a shape, of memory in this order of dimensions: offset, strides, elements of its buffer.
fn view(
    shape: &[usize],
    order: &[usize],
    step: usize,
    lead: usize,
    backwards: bool,
) -> (usize, Vec<isize>, usize) {
    let mut strides = vec![0; shape.len()];
    let mut next = step;
    for &d in order.iter().rev() {
        strides[d] = next as isize;
        next *= shape[d].max(1);
    }
    let mut offset = lead;
    if backwards {
        let d = order[order.len() - 1];
        offset += shape[d].saturating_sub(1) * strides[d] as usize;
        strides[d] = -strides[d];
    }
    (offset, strides, lead + next + 1)
}

/// Numbers whose folds are exact, or finite at least.
fn data(random: &mut Random, op: FoldOp, ty: Ty, count: usize) -> Vec<u8> {
    let each = (0..count).map(|_| {
        let number = match op {
            FoldOp::Product if ty.is_float() => [1.0, 1.0, -1.0][random.below(3)],
            FoldOp::Product => [1.0, 3.0, 5.0, 1.0][random.below(4)],
            FoldOp::Minimum | FoldOp::Maximum if ty.is_float() && random.below(200_000) == 0 => {
                f64::NAN
            }
            _ if ty.is_float() => (random.below(41) as f64 - 20.0) / 4.0,
            _ if ty.is_signed_int() => random.below(41) as f64 - 20.0,
            _ => random.below(41) as f64,
        };
        encoded(ty, number)
    });
    each.collect::<Vec<_>>().concat()
}

/// The shape of a scan, how its views lie in memory, and types.
#[allow(clippy::too_many_arguments)]
fn case(
    random: &mut Random,
    op: FoldOp,
    types: (Ty, Ty),
    shape: &[usize],
    axis: usize,
    source: (&[usize], usize, usize, bool),
    target: (&[usize], usize, usize, bool),
) -> Case {
    let (offset, strides, len) = view(shape, source.0, source.1, source.2, source.3);
    let bytes = data(random, op, types.0, len);
    Case {
        op,
        shape: shape.to_vec(),
        axis,
        from: types.0,
        to: types.1,
        source: (offset, strides, bytes),
        target: view(shape, target.0, target.1, target.2, target.3),
    }
}

const OPS: [FoldOp; 4] = [
    FoldOp::Sum,
    FoldOp::Product,
    FoldOp::Minimum,
    FoldOp::Maximum,
];

/// Shapes and axes that reach each way of sharing: a row of one thread, of 32, of a group, in parts and in parts of parts; columns
/// whole and in parts; few columns.
const SHAPES: [(&[usize], usize); 18] = [
    (&[1], 0),
    (&[7], 0),
    (&[1000], 0),
    (&[4096], 0),
    (&[65_537], 0),
    (&[70_003], 0),
    (&[3, 20_001], 1),
    (&[5, 9_000], 1),
    (&[1_100, 30], 1),
    (&[1_030, 301], 1),
    (&[1_030, 256], 1),
    (&[20_000, 5], 0),
    (&[20_001, 16], 0),
    (&[300, 130], 0),
    (&[7, 70, 33], 1),
    (&[40, 30, 20], 0),
    (&[5, 1, 6], 1),
    (&[0, 4], 0),
];

/// A scan of a dense view in row-major order.
fn dense(random: &mut Random, op: FoldOp, ty: Ty, (shape, axis): (&[usize], usize)) -> Case {
    let order: Vec<usize> = (0..shape.len()).collect();
    let view = (&order[..], 1, 0, false);
    case(random, op, (ty, ty), shape, axis, view, view)
}

/// Dense views of all shapes; all types and operations are among them.
#[test]
fn of_all_types() {
    let executors = both();
    let mut random = Random(11);
    let types: Vec<Ty> = Ty::ALL
        .into_iter()
        .filter(|ty| ty.is_computable())
        .collect();
    for (turn, shape) in SHAPES.into_iter().enumerate() {
        let (op, ty) = (OPS[turn % 4], types[(3 * turn + 5) % types.len()]);
        let made = dense(&mut random, op, ty, shape);
        executors.iter().for_each(|exec| made.check(exec));
    }
}

/// Rows and columns of several parts, by vector code.
#[test]
fn in_the_fast_mode() {
    let cpu = kernels(Device::Cpu);
    let mut random = Random(5);
    dense(&mut random, FoldOp::Sum, Ty::F32, (&[70_003], 0)).check(&cpu);
    dense(&mut random, FoldOp::Product, Ty::I64, (&[901, 16], 0)).check(&cpu);
}

/// Views that are transposed, apart, backwards, not aligned, and converted.
#[test]
fn of_views() {
    let executors = both();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let pairs = [
        (Ty::I32, Ty::I64),
        (Ty::U8, Ty::U64),
        (Ty::F16, Ty::F32),
        (Ty::Bf16, Ty::F64),
        (Ty::F32, Ty::F32),
        (Ty::I64, Ty::F32),
        (Ty::I64, Ty::I64),
    ];
    for turn in 0..7 {
        let (shape, axis) = SHAPES[random.below(SHAPES.len())];
        let mut order: Vec<usize> = (0..shape.len()).collect();
        let plain = order.clone();
        for i in (1..order.len()).rev() {
            order.swap(i, random.below(i + 1));
        }
        let mut form = |order| {
            let (step, lead) = (1 + random.below(4) / 3, random.below(3) * random.below(4));
            (order, step, lead, random.below(4) == 0)
        };
        let (source, target) = match turn % 3 {
            0 => (form(&order[..]), form(&plain[..])),
            1 => (form(&plain[..]), form(&order[..])),
            _ => (form(&order[..]), form(&order[..])),
        };
        let (op, types) = (OPS[random.below(2)], pairs[turn % pairs.len()]);
        let made = case(&mut random, op, types, shape, axis, source, target);
        executors.iter().for_each(|exec| made.check(exec));
    }
}

/// One element for all, and more parts than one group scans.
#[test]
fn broadcast_and_long() {
    let executors = both();
    for (ty, length) in [(Ty::I32, 70_001), (Ty::U64, 3_000_001)] {
        let made = Case {
            op: FoldOp::Sum,
            shape: vec![length],
            axis: 0,
            from: ty,
            to: ty,
            source: (0, vec![0], encoded(ty, 3.0)),
            target: (1, vec![1], length + 2),
        };
        executors.iter().for_each(|exec| made.check(exec));
    }
}

#[test]
fn what_is_refused() {
    let exec = Executor::new().unwrap();
    let x = exec.allocate_dyn(Ty::F32, 12).unwrap();
    let y = exec.allocate_dyn(Ty::F32, 12).unwrap();
    let half = exec.allocate_dyn(Ty::F16, 12).unwrap();
    let other = Executor::new().unwrap();
    let foreign = other.allocate_dyn(Ty::F32, 12).unwrap();
    let dense: &[isize] = &[4, 1];
    let run = |axis, source: &DynBuffer, target: &DynBuffer, strides: &[isize]| {
        let source = Strided {
            buffer: source,
            offset: 0,
            strides: dense,
        };
        let target = Strided {
            buffer: target,
            offset: 0,
            strides,
        };
        scans::run(&exec, FoldOp::Sum, &[3, 4], axis, &source, &target).unwrap_err()
    };
    let argument = "axis";
    assert!(
        matches!(run(2, &x, &y, dense), Error::InvalidArgument { argument: a, .. } if a == argument)
    );
    assert!(matches!(run(0, &x, &x, dense), Error::Aliased { .. }));
    assert!(matches!(
        run(0, &x, &half, dense),
        Error::UnsupportedType { .. }
    ));
    assert!(matches!(run(0, &x, &y, &[0, 1]), Error::InvalidView(_)));
    assert!(matches!(run(0, &x, &y, &[5, 1]), Error::InvalidView(_)));
    assert!(matches!(
        run(0, &x, &foreign, dense),
        Error::ForeignBuffer { argument: "target" }
    ));
    assert!(matches!(
        run(0, &foreign, &y, dense),
        Error::ForeignBuffer { argument: "source" }
    ));
}
