//! Expressions as kernels of devices against the host's vector code: the device in `OPENVM_METAL_DEVICE`, else the CPU in both
//! modes. `HOLOGRAM_TEST_EXPRESSIONS` sets the number of random expressions.

use half::{bf16, f16};
use hologram_backends::metal::{Effort, MetalBackend, LIBRARY};
use hologram_backends::{BinaryOp, MapOp, Ty};
use hologram_core::expression::{self, Expression, FoldOp, Step, StepOp, Strided, Views};
use hologram_core::extremes::{self, Extreme};
use hologram_core::{BackendType, DynBuffer, Error, Executor};
use openvm_metal_common::{Device, MetalContext};

const SHAPES: [&[usize]; 20] = [
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

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

fn devices() -> Vec<Executor> {
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
fn data(random: &mut Random, ty: Ty, count: usize) -> Vec<u8> {
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
fn buffer(exec: &Executor, ty: Ty, bytes: &[u8]) -> DynBuffer {
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
fn view(random: &mut Random, shape: &[usize], whole: bool) -> (usize, Vec<isize>, usize) {
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

const TYPES: [Ty; 12] = Ty::ALL;

/// A step whose result has the same bits everywhere, on values that are there.
fn step(random: &mut Random, types: &[Ty]) -> Option<Step> {
    let arg = random.below(types.len());
    let ty = types[arg];
    let other = |random: &mut Random| {
        let same: Vec<usize> = (0..types.len()).filter(|&v| types[v] == ty).collect();
        random.of(&same)
    };
    use StepOp::*;
    let op = match random.below(6) {
        0 => Convert(random.of(&TYPES)),
        1 => random.of(&[Equal, NotEqual, Less, LessEqual]),
        2 => random.of(&[Map(MapOp::Abs), Map(MapOp::Neg), Map(MapOp::Relu), Sign]),
        3 if ty.is_float() => random.of(&[
            Map(MapOp::Floor),
            Map(MapOp::Ceil),
            Map(MapOp::Round),
            Map(MapOp::Sqrt),
            Trunc,
            Binary(BinaryOp::Div),
        ]),
        3 => random.of(&[
            Not, And, Or, Xor, ShiftLeft, ShiftRight, FloorDiv, Remainder,
        ]),
        4 => random.of(&[
            Maximum,
            Minimum,
            Binary(BinaryOp::Min),
            Binary(BinaryOp::Max),
            Select,
        ]),
        _ => random.of(&[
            Binary(BinaryOp::Add),
            Binary(BinaryOp::Sub),
            Binary(BinaryOp::Mul),
        ]),
    };
    let args = match op {
        Select => {
            let truths: Vec<usize> = (0..types.len()).filter(|&v| types[v] == Ty::U8).collect();
            if truths.is_empty() {
                return None;
            }
            vec![random.of(&truths), arg, other(random)]
        }
        Map(_) | Not | Sign | Trunc | Convert(_) => vec![arg],
        _ => vec![arg, other(random)],
    };
    let made = Step { op, ty, args };
    let alone = Expression::new(types, &[], vec![made.clone()], vec![], None);
    alone.is_ok().then_some(made)
}

fn result(step: &Step) -> Ty {
    match step.op {
        StepOp::Equal | StepOp::NotEqual | StepOp::Less | StepOp::LessEqual => Ty::U8,
        StepOp::Convert(to) => to,
        _ => step.ty,
    }
}

/// One expression on the host and on the device, from equal bytes.
struct Case {
    expression: Expression,
    shape: Vec<usize>,
    operands: Vec<(usize, Vec<isize>, Vec<u8>)>,
    scalars: Vec<u64>,
    outputs: Vec<(usize, Vec<isize>, usize)>,
    folded: Vec<bool>,
    target: Option<(usize, Vec<isize>, usize)>,
}

impl Case {
    /// Bytes of outputs and of the target.
    fn run(&self, exec: &Executor) -> Result<Vec<Vec<u8>>, Error> {
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

fn elements(
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

/// A random expression; `fold` is along random dimensions.
fn case(random: &mut Random, shape: &[usize], fold: Option<FoldOp>) -> Case {
    let operands: Vec<Ty> = (0..1 + random.below(3))
        .map(|_| random.of(&TYPES))
        .collect();
    let scalars: Vec<Ty> = (0..random.below(2)).map(|_| random.of(&operands)).collect();
    let mut types = [operands.clone(), scalars.clone()].concat();
    let mut steps = Vec::new();
    for _ in 0..random.below(7) {
        if let Some(step) = step(random, &types) {
            types.push(result(&step));
            steps.push(step);
        }
    }
    let last = types.len() - 1;
    let mut outputs = vec![last];
    if random.below(3) == 0 {
        outputs.push(random.below(types.len()));
    }
    let computable = (0..types.len()).rev().find(|&v| types[v].is_computable());
    let fold = fold.and_then(|op| computable.map(|value| (op, value)));
    if fold.is_some() && random.below(3) != 0 {
        outputs.clear();
    }
    let written = outputs.iter().map(|_| view(random, shape, true)).collect();
    let folded: Vec<bool> = shape
        .iter()
        .map(|_| fold.is_some() && random.below(2) == 0)
        .collect();
    let target = fold.map(|_| {
        let kept: Vec<usize> = shape
            .iter()
            .zip(&folded)
            .map(|(&e, &f)| if f { 1 } else { e })
            .collect();
        let (offset, mut strides, len) = view(random, &kept, true);
        for (stride, &gone) in strides.iter_mut().zip(&folded) {
            *stride = if gone { 0 } else { *stride };
        }
        (offset, strides, len)
    });
    let bits = scalars.iter().map(|&ty| {
        let mut word = [0; 8];
        let bytes = data(random, ty, 1);
        word[..bytes.len()].copy_from_slice(&bytes);
        u64::from_le_bytes(word)
    });
    let scalar_bits = bits.collect();
    Case {
        operands: elements(random, &operands, shape),
        expression: Expression::new(&operands, &scalars, steps, outputs, fold).unwrap(),
        shape: shape.to_vec(),
        scalars: scalar_bits,
        outputs: written,
        folded,
        target,
    }
}

fn compare(case: &Case, host: &Executor, devices: &[Executor], tolerance: f64, what: &str) {
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

fn campaign() -> usize {
    let set = std::env::var("HOLOGRAM_TEST_EXPRESSIONS");
    set.ok().and_then(|text| text.parse().ok()).unwrap_or(15)
}

#[test]
fn random_expressions() {
    let (host, devices) = (Executor::new().unwrap(), devices());
    for seed in 0..campaign() as u64 {
        let mut random =
            Random(0x9e37_79b9_7f4a_7c15 ^ (seed + 1).wrapping_mul(0x2545_f491_4f6c_dd1d));
        let shape = random.of(&SHAPES);
        let case = case(&mut random, shape, None);
        let what = format!("seed {seed}, shape {shape:?}, {:?}", case.expression);
        compare(&case, &host, &devices, 0.0, &what);
    }
}

#[test]
fn random_folds() {
    let (host, devices) = (Executor::new().unwrap(), devices());
    for seed in 0..campaign() as u64 {
        let mut random =
            Random(0x51_7cc1_b727_220a ^ (seed + 1).wrapping_mul(0x2545_f491_4f6c_dd1d));
        let shape = random.of(&SHAPES);
        let ops = [FoldOp::Sum, FoldOp::Minimum, FoldOp::Maximum];
        let op = random.of(&ops);
        let case = case(&mut random, shape, Some(op));
        let what = format!(
            "seed {seed}, shape {shape:?}, {:?}, {:?}",
            case.folded, case.expression
        );
        // Sums of quarters are exact in f32 up to 2^22, but products may not be.
        compare(&case, &host, &devices, 1e-4, &what);
    }
}

/// One of a type.
fn ones(ty: Ty, times: u8) -> Vec<u8> {
    match ty {
        Ty::F32 => f32::from(times).to_le_bytes().to_vec(),
        Ty::F64 => f64::from(times).to_le_bytes().to_vec(),
        _ => u64::from(times).to_le_bytes()[..ty.size()].to_vec(),
    }
}

/// A fold of a matrix along some of its dimensions.
fn fold_of(random: &mut Random, ty: Ty, op: FoldOp, shape: [usize; 2], folded: [bool; 2]) -> Case {
    let count = shape[0] * shape[1];
    let mut bytes = data(random, ty, count);
    if op == FoldOp::Product && ty.is_float() {
        // Products of most numbers are infinite; of ones and a few twos they are not.
        bytes = ones(ty, 1).repeat(count);
        for i in [0, count / 2, count - 1] {
            bytes[i * ty.size()..(i + 1) * ty.size()].copy_from_slice(&ones(ty, 2));
        }
    }
    let (strides, len) = match folded {
        [true, true] => (vec![0, 0], 1),
        [false, true] => (vec![1, 0], shape[0]),
        _ => (vec![0, 1], shape[1]),
    };
    Case {
        expression: Expression::new(&[ty], &[], vec![], vec![], Some((op, 0))).unwrap(),
        shape: shape.to_vec(),
        operands: vec![(0, vec![shape[1] as isize, 1], bytes)],
        scalars: vec![],
        outputs: vec![],
        folded: folded.to_vec(),
        target: Some((0, strides, len)),
    }
}

/// Folds of whole arrays, of rows and of columns, by one thread, by 32, by a group, and in parts: each type and operation meets
/// some of them, and all of them are met.
#[test]
fn folds_of_all_types() {
    let (host, devices) = (Executor::new().unwrap(), devices());
    let mut random = Random(77);
    let shapes = [
        ([70_001, 1], [true, true]),
        ([1_030, 2_052], [false, true]),
        ([1_100, 300], [false, true]),
        ([20_000, 5], [false, true]),
        ([301, 1_028], [true, false]),
        ([20_001, 3], [true, false]),
        ([4, 40_000], [false, true]),
    ];
    let mut turn = 0;
    for ty in TYPES.into_iter().filter(|ty| ty.is_computable()) {
        for op in [
            FoldOp::Sum,
            FoldOp::Product,
            FoldOp::Minimum,
            FoldOp::Maximum,
        ] {
            let (shape, folded) = shapes[turn % shapes.len()];
            turn += 1;
            let case = fold_of(&mut random, ty, op, shape, folded);
            let what = format!("{op:?} of {ty} {shape:?} {folded:?}");
            compare(&case, &host, &devices, 1e-5, &what);
        }
    }
    for (shape, folded) in shapes {
        let case = fold_of(&mut random, Ty::I32, FoldOp::Sum, shape, folded);
        compare(
            &case,
            &host,
            &devices,
            0.0,
            &format!("{shape:?} {folded:?}"),
        );
    }
}

/// Functions that devices compute by polynomials of their own.
#[test]
fn functions() {
    let (host, devices) = (Executor::new().unwrap(), devices());
    let mut random = Random(99);
    let all = [
        MapOp::Exp,
        MapOp::Log,
        MapOp::Sqrt,
        MapOp::Rsqrt,
        MapOp::Sin,
        MapOp::Cos,
        MapOp::Tan,
        MapOp::Tanh,
        MapOp::Sigmoid,
        MapOp::Gelu,
        MapOp::Reciprocal,
    ];
    for ty in [Ty::F32, Ty::F64] {
        let steps: Vec<Step> = all
            .iter()
            .map(|&op| Step {
                op: StepOp::Map(op),
                ty,
                args: vec![0],
            })
            .chain([Step {
                op: StepOp::Binary(BinaryOp::Pow),
                ty,
                args: vec![0, 1],
            }])
            .collect();
        let outputs: Vec<usize> = (2..2 + steps.len()).collect();
        let case = Case {
            outputs: outputs.iter().map(|_| (0, vec![1], 4099)).collect(),
            expression: Expression::new(&[ty, ty], &[], steps, outputs, None).unwrap(),
            shape: vec![4099],
            operands: vec![
                (0, vec![1], data(&mut random, ty, 4099)),
                (0, vec![1], data(&mut random, ty, 4099)),
            ],
            scalars: vec![],
            folded: vec![false],
            target: None,
        };
        compare(&case, &host, &devices, 4e-6, &format!("functions of {ty}"));
    }
}

/// Indices of first extremes along each axis and of all elements, of strided views too.
#[test]
fn places_of_extremes() {
    let (host, devices) = (Executor::new().unwrap(), devices());
    let mut random = Random(31);
    let shapes: [&[usize]; 6] = [
        &[70_001],
        &[3, 20_001],
        &[1_100, 300],
        &[20_001, 3],
        &[40, 30, 20],
        &[1],
    ];
    let small = TYPES.into_iter().filter(|ty| ty.size() <= 4);
    for (turn, ty) in small.enumerate() {
        for (n, shape) in shapes.into_iter().enumerate() {
            if (turn + n) % 3 != 0 {
                continue;
            }
            let (offset, strides, len) = view(&mut random, shape, false);
            let bytes = data(&mut random, ty, len);
            for axis in std::iter::once(None).chain((0..shape.len()).map(Some)) {
                let kept = shape
                    .iter()
                    .enumerate()
                    .filter(|(d, _)| axis.is_some_and(|axis| axis != *d));
                let count: usize = kept.map(|(_, &extent)| extent).product();
                let extreme = random.of(&[Extreme::Minimum, Extreme::Maximum]);
                let find = |exec: &Executor| {
                    let source = buffer(exec, ty, &bytes);
                    let target = buffer(exec, Ty::I64, &vec![0x5a; 8 * count]);
                    let from = Strided {
                        buffer: &source,
                        offset,
                        strides: &strides,
                    };
                    extremes::positions(exec, extreme, shape, axis, &from, &target).unwrap();
                    target.to_bytes().unwrap()
                };
                let expected = find(&host);
                for device in &devices {
                    assert_eq!(
                        find(device),
                        expected,
                        "{extreme:?} of {ty} {shape:?} {axis:?} {strides:?}"
                    );
                }
            }
        }
    }
}

/// Operands that lie along another dimension than what is written: tiles.
#[test]
fn transposes() {
    let (host, devices) = (Executor::new().unwrap(), devices());
    let mut random = Random(41);
    for (ty, shape, strides) in [
        (Ty::F32, vec![64, 132], vec![1, 64]),
        (Ty::U8, vec![33, 65], vec![1, 40]),
        (Ty::F64, vec![100, 34], vec![1, 100]),
        (Ty::I16, vec![5, 40, 96], vec![96 * 40, 1, 40]),
        (Ty::F32, vec![48, 7, 64], vec![1, 48 * 64, 48]),
    ] {
        let count: usize = shape.iter().product();
        let dense: Vec<isize> = (0..shape.len())
            .map(|d| shape[d + 1..].iter().product::<usize>() as isize)
            .collect();
        let last = shape
            .iter()
            .zip(&strides)
            .map(|(&e, &s)| (e as isize - 1) * s)
            .sum::<isize>();
        let add = Step {
            op: StepOp::Binary(BinaryOp::Add),
            ty,
            args: vec![0, 1],
        };
        let case = Case {
            expression: Expression::new(&[ty, ty], &[], vec![add], vec![2], None).unwrap(),
            operands: vec![
                (0, strides, data(&mut random, ty, last as usize + 1)),
                (0, dense.clone(), data(&mut random, ty, count)),
            ],
            scalars: vec![],
            outputs: vec![(0, dense, count)],
            folded: vec![false; shape.len()],
            target: None,
            shape,
        };
        compare(
            &case,
            &host,
            &devices,
            0.0,
            &format!("{ty} {:?}", case.shape),
        );
    }
}

#[test]
fn what_devices_lack_is_named() {
    let mut random = Random(5);
    let step = Step {
        op: StepOp::Map(MapOp::Erf),
        ty: Ty::F32,
        args: vec![0],
    };
    let case = Case {
        expression: Expression::new(&[Ty::F32], &[], vec![step], vec![1], None).unwrap(),
        shape: vec![5],
        operands: elements(&mut random, &[Ty::F32], &[5]),
        scalars: vec![],
        outputs: vec![(0, vec![1], 5)],
        folded: vec![false],
        target: None,
    };
    for device in devices() {
        let error = case.run(&device).unwrap_err().to_string();
        assert!(error.contains("erf of f32"), "{error}");
    }
}
