//! Random expressions and folds of random views.

use hologram_backends::{BinaryOp, MapOp, Ty};
use hologram_core::expression::{Expression, FoldOp, Step, StepOp};
use hologram_core::Executor;

use crate::support::{
    campaign, compare, data, devices, elements, view, Case, Random, SHAPES, TYPES,
};

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
