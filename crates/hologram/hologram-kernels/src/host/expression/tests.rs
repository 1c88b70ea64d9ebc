//! Expressions against plain loops.

use super::*;
use crate::{BinaryOp, MapOp};

fn step(op: StepOp, ty: Ty, args: &[usize]) -> Step {
    Step {
        op,
        ty,
        args: args.to_vec(),
    }
}

fn view<T>(data: &mut [T], strides: &[isize]) -> View {
    View {
        ptr: data.as_mut_ptr().cast(),
        strides: strides
            .iter()
            .map(|s| s * size_of::<T>() as isize)
            .collect(),
    }
}

/// Sizes around blocks and pieces.
const SIZES: [usize; 7] = [1, 31, 4095, 4096, 4097, 65_537, 200_003];

#[test]
fn chains() {
    // x * x + x
    let steps = vec![
        step(StepOp::Binary(BinaryOp::Mul), Ty::F32, &[0, 0]),
        step(StepOp::Binary(BinaryOp::Add), Ty::F32, &[1, 0]),
    ];
    let chain = Expression::new(&[Ty::F32], &[], steps, vec![2, 1], None).expect("an expression");
    for n in SIZES {
        let mut x: Vec<f32> = (0..n).map(|i| i as f32 / 7.0 - 3.0).collect();
        let (mut y, mut z) = (vec![0f32; n], vec![0f32; n]);
        let (read, write) = (view(&mut x, &[1]), [view(&mut y, &[1]), view(&mut z, &[1])]);
        // SAFETY: vectors of `n` elements of their own.
        unsafe { chain.run(&[n], &[read], &[], &write, &[false], None) };
        for i in 0..n {
            assert_eq!(y[i], x[i] * x[i] + x[i], "{n}: {i}");
            assert_eq!(z[i], x[i] * x[i], "{n}: {i}");
        }
    }
}

#[test]
fn both_zeros_have_the_sign_0() {
    let signs = vec![step(StepOp::Sign, Ty::F32, &[0])];
    let chain = Expression::new(&[Ty::F32], &[], signs, vec![1], None).expect("an expression");
    let mut x: Vec<f32> = [-0.0, 0.0, -3.0, 4.0, f32::NAN].repeat(13);
    let mut y = vec![9f32; x.len()];
    let (read, write) = (view(&mut x, &[1]), [view(&mut y, &[1])]);
    // SAFETY: vectors of their own, as long as the shape says.
    unsafe { chain.run(&[y.len()], &[read], &[], &write, &[false], None) };
    for five in y.chunks(5) {
        let bits: Vec<u32> = five[..4].iter().map(|v| v.to_bits()).collect();
        assert_eq!(bits, [0, 0, (-1f32).to_bits(), 1f32.to_bits()]);
        assert!(five[4].is_nan());
    }
}

#[test]
fn strides_and_scalars() {
    // Rows of a transposed matrix, each with a number of its own, and one number for all.
    let steps = vec![
        step(StepOp::Convert(Ty::F64), Ty::I32, &[0]),
        step(StepOp::Binary(BinaryOp::Sub), Ty::F64, &[3, 1]),
        step(StepOp::Less, Ty::F64, &[4, 2]),
        step(StepOp::Select, Ty::F64, &[5, 2, 4]),
    ];
    let chain = Expression::new(&[Ty::I32, Ty::F64], &[Ty::F64], steps, vec![6], None);
    let chain = chain.expect("an expression");
    for (rows, cols) in [(1, 1), (3, 5), (100, 1000), (1000, 33)] {
        let mut x: Vec<i32> = (0..(rows * cols) as i32).map(|i| i % 1001).collect();
        let mut each: Vec<f64> = (0..rows).map(|i| i as f64).collect();
        let mut out = vec![-1f64; 2 * rows * cols];
        let read = [view(&mut x, &[1, rows as isize]), view(&mut each, &[1, 0])];
        let write = view(&mut out, &[2 * cols as isize, 2]);
        // SAFETY: vectors that hold all elements of the views.
        unsafe {
            chain.run(
                &[rows, cols],
                &read,
                &[5f64.to_bits()],
                &[write],
                &[false; 2],
                None,
            )
        };
        for r in 0..rows {
            for c in 0..cols {
                let value = f64::from(x[c * rows + r]) - each[r];
                assert_eq!(
                    out[2 * (r * cols + c)],
                    value.max(5.0),
                    "{rows} x {cols}: {r}, {c}"
                );
                assert_eq!(out[2 * (r * cols + c) + 1], -1.0);
            }
        }
    }
}

/// Windows of wider matrices, whose rows are read where they are if they are long; the result goes to where one of them is.
#[test]
fn windows() {
    // x + y * 2
    let steps = vec![
        step(StepOp::Binary(BinaryOp::Mul), Ty::F64, &[1, 2]),
        step(StepOp::Binary(BinaryOp::Add), Ty::F64, &[0, 3]),
    ];
    let chain = Expression::new(&[Ty::F64; 2], &[Ty::F64], steps, vec![4], None);
    let chain = chain.expect("an expression");
    for (rows, cols) in [
        (3, 5),
        (7, 255),
        (50, 256),
        (9, 2500),
        (2, 4099),
        (300, 700),
    ] {
        let (wide, tall) = (cols + 3, rows + 2);
        let mut x: Vec<f64> = (0..tall * wide).map(|i| (i % 1009) as f64).collect();
        let mut y: Vec<f64> = (0..tall * wide).map(|i| (i % 757) as f64).collect();
        let before = x.clone();
        let strides = [wide as isize, 1];
        let (x_at, y_at) = (wide + 1, 2 * wide + 3);
        let read = [
            view(&mut x[x_at..], &strides),
            view(&mut y[y_at..], &strides),
        ];
        let write = [view(&mut x[x_at..], &strides)];
        let two = [2f64.to_bits()];
        // SAFETY: windows of matrices; an element is read before it is written.
        unsafe { chain.run(&[rows, cols], &read, &two, &write, &[false; 2], None) };
        for (i, (&old, &new)) in before.iter().zip(&x).enumerate() {
            let (r, c) = (i / wide, i % wide);
            let is_inside = (1..=rows).contains(&r) && (1..=cols).contains(&c);
            let added = y.get(i + y_at - x_at).filter(|_| is_inside);
            let expected = old + 2.0 * added.copied().unwrap_or(0.0);
            assert_eq!(new, expected, "{rows} x {cols}: {r}, {c}");
        }
    }
}

#[test]
fn transposed_copies() {
    let copy = Expression::new(&[Ty::U16], &[], vec![], vec![0], None).expect("an expression");
    for (n, rows, cols) in [
        (1, 32, 32),
        (3, 33, 100),
        (2, 500, 31),
        (1, 301, 1000),
        (2, 64, 65),
    ] {
        let mut x: Vec<u16> = (0..n * rows * cols).map(|i| i as u16).collect();
        let mut y = vec![0u16; x.len()];
        let (read, write) = (
            view(&mut x, &[(rows * cols) as isize, 1, rows as isize]),
            view(&mut y, &[(rows * cols) as isize, cols as isize, 1]),
        );
        // SAFETY: vectors that hold all elements of the views.
        unsafe { copy.run(&[n, rows, cols], &[read], &[], &[write], &[false; 3], None) };
        for (i, &copied) in y.iter().enumerate() {
            let (m, r, c) = (i / (rows * cols), i / cols % rows, i % cols);
            assert_eq!(
                copied,
                x[m * rows * cols + c * rows + r],
                "{n} {rows} {cols}: {i}"
            );
        }
    }
}

/// Quotients and remainders of two integers of a type.
fn division(ty: Ty) -> Expression {
    let steps = vec![
        step(StepOp::FloorDiv, ty, &[0, 1]),
        step(StepOp::Remainder, ty, &[0, 1]),
    ];
    Expression::new(&[ty; 2], &[], steps, vec![2, 3], None).expect("an expression")
}

/// The expected quotient and remainder: by 0, 0.
fn divided(x: i128, y: i128) -> (i128, i128) {
    if y == 0 {
        return (0, 0);
    }
    let floor = x.div_euclid(y) - i128::from(y < 0 && x.rem_euclid(y) != 0);
    (floor, x - floor * y)
}

/// Quotients and remainders of numbers by one divisor, and by several.
fn check_division<T: Copy + Into<i128>>(ty: Ty, a: &mut [T], b: &mut [T], cut: impl Fn(i128) -> T) {
    let count = a.len();
    let (mut q, mut r) = (a.to_vec(), a.to_vec());
    let step = isize::from(b.len() > 1);
    let read = [view(a, &[1]), view(b, &[step])];
    let write = [view(&mut q, &[1]), view(&mut r, &[1])];
    // SAFETY: vectors of `count` elements, or of one.
    unsafe { division(ty).run(&[count], &read, &[], &write, &[false], None) };
    for i in 0..count {
        let (x, y) = (a[i].into(), b[i.min(b.len() - 1)].into());
        let (quotient, rest) = divided(x, y);
        let found = (q[i].into(), r[i].into());
        assert_eq!(found, (cut(quotient).into(), rest), "{ty}: {x} by {y}");
    }
}

#[test]
fn folds_of_integers_end_early() {
    for (op, least) in [(FoldOp::Minimum, true), (FoldOp::Maximum, false)] {
        let [end, other] = if least { [i16::MIN, 3] } else { [i16::MAX, 3] };
        let alone = Expression::new(&[Ty::I16], &[], vec![], vec![], Some((op, 0)));
        let not = vec![step(StepOp::Not, Ty::I16, &[0])];
        let written = Expression::new(&[Ty::I16], &[], not, vec![1], Some((op, 0)));
        let (alone, written) = (alone.expect("a fold"), written.expect("a fold"));
        for (rows, n) in [(1, 3), (1, 300_001), (3, 20_000), (40, 5000)] {
            for at in [0, n / 2, rows * n - 1] {
                let mut x = vec![other; rows * n];
                x[at] = end;
                let (mut y, mut found) = (vec![0i16; rows * n], vec![0i16; rows]);
                let strides = [n as isize, 1];
                let write = [view(&mut y, &strides)];
                for (expression, write) in [(&alone, &[][..]), (&written, &write[..])] {
                    let (read, target) = ([view(&mut x, &strides)], view(&mut found, &[1, 0]));
                    let (shape, folded) = ([rows, n], [false, true]);
                    // SAFETY: vectors that hold all elements of the views.
                    unsafe { expression.run(&shape, &read, &[], write, &folded, Some(&target)) };
                    let expected = (0..rows).map(|row| if row == at / n { end } else { other });
                    assert!(found.drain(..).eq(expected), "{op:?} {rows} x {n}: {at}");
                    found = vec![0; rows];
                }
                assert!(x.iter().zip(&y).all(|(x, y)| !x == *y), "{rows} x {n}");
            }
        }
    }
}

#[test]
fn the_largest_truth_is_found_early() {
    let truths = vec![step(StepOp::Less, Ty::I32, &[0, 1])];
    let any = Expression::new(
        &[Ty::I32],
        &[Ty::I32],
        truths,
        vec![],
        Some((FoldOp::Maximum, 2)),
    );
    let any = any.expect("a fold");
    for (rows, n) in [(1, 300_001), (40, 5000), (400, 30)] {
        for at in [0, n / 2, rows * n - 1, rows * n] {
            let mut x = vec![5i32; rows * n];
            x.get_mut(at).into_iter().for_each(|x| *x = -1);
            let mut found = vec![7u8; rows];
            let (read, target) = ([view(&mut x, &[n as isize, 1])], view(&mut found, &[1, 0]));
            // SAFETY: vectors that hold all elements of the views.
            unsafe { any.run(&[rows, n], &read, &[0], &[], &[false, true], Some(&target)) };
            let expected = (0..rows).map(|row| u8::from(row == at / n));
            assert!(found.into_iter().eq(expected), "{rows} x {n}: {at}");
        }
    }
}

#[test]
fn integers_divided() {
    macro_rules! check {
        ($($t:ident $ty:ident)*) => {$({
            // All of few bits, and random ones of every length.
            let mut state = 1u64;
            let mut next = || {
                state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                (state ^ (state >> 33)) as $t >> ((state >> 40) % u64::from($t::BITS))
            };
            let half = $t::MAX / 2;
            let edges = [$t::MIN, $t::MIN + 1, half, half + 1, half + 2, $t::MAX - 1, $t::MAX];
            let near = (0..=$t::BITS.min(55)).flat_map(|bit| {
                let power = (1u64 << bit) as $t;
                [power.wrapping_sub(1), power, power.wrapping_add(1), power.wrapping_neg()]
            });
            let mut a: Vec<$t> = (0..=255u8).map(|i| i as $t).chain(edges).chain(near).collect();
            a.extend((0..100).map(|_| next()));
            let cut = |x: i128| x as $t;
            for by in a.clone() {
                check_division(Ty::$ty, &mut a, &mut [by], cut);
            }
            for turn in 0..12 {
                let mut b = a.clone();
                b.rotate_left(turn * 31 + 1);
                check_division(Ty::$ty, &mut a, &mut b, cut);
            }
            // Numbers and divisors below 2^53 alone.
            a.retain(|&x| i128::from(x).abs() < 1 << 53);
            let mut b = a.clone();
            b.reverse();
            check_division(Ty::$ty, &mut a, &mut b, cut);
        })*};
    }
    check!(i8 I8 i16 I16 i32 I32 i64 I64 u8 U8 u16 U16 u32 U32 u64 U64);
}

#[test]
fn folds() {
    let square = vec![step(StepOp::Binary(BinaryOp::Mul), Ty::I64, &[0, 0])];
    let sum = Expression::new(&[Ty::I64], &[], square, vec![], Some((FoldOp::Sum, 1)));
    let sum = sum.expect("an expression");
    let most = Expression::new(&[Ty::F32], &[], vec![], vec![], Some((FoldOp::Maximum, 0)));
    let most = most.expect("an expression");
    let shapes = [
        [1, 1, 1],
        [3, 4, 5],
        [2, 9000, 3],
        [1, 70, 5000],
        [40, 3, 700],
        [200_003, 1, 1],
        [2, 2, 70_001],
    ];
    for shape in shapes {
        let [a, b, c] = shape;
        let strides = [(b * c) as isize, c as isize, 1];
        for bits in 0..8usize {
            let folded = [bits & 1 != 0, bits & 2 != 0, bits & 4 != 0];
            let kept: Vec<usize> = (0..3)
                .map(|d| if folded[d] { 1 } else { shape[d] })
                .collect();
            let to = [kept[1] * kept[2], kept[2], 1];
            let target: Vec<isize> = (0..3)
                .map(|d| if folded[d] { 0 } else { to[d] as isize })
                .collect();
            let mut x: Vec<i64> = (0..(a * b * c) as i64)
                .map(|i| i * 7 % 1013 - 500)
                .collect();
            let mut y: Vec<f32> = x.iter().map(|&x| x as f32).collect();
            if y.len() > 50 {
                y[50] = f32::NAN;
            }
            let count = kept.iter().product();
            let (mut sums, mut largest) = (vec![7i64; count], vec![7f32; count]);
            // SAFETY: vectors that hold all elements of the views.
            unsafe {
                let target_view = view(&mut sums, &target);
                sum.run(
                    &shape,
                    &[view(&mut x, &strides)],
                    &[],
                    &[],
                    &folded,
                    Some(&target_view),
                );
                let target_view = view(&mut largest, &target);
                most.run(
                    &shape,
                    &[view(&mut y, &strides)],
                    &[],
                    &[],
                    &folded,
                    Some(&target_view),
                );
            }
            let (mut expected, mut highest) = (vec![0i64; count], vec![f32::NEG_INFINITY; count]);
            for i in 0..a * b * c {
                let index = [i / (b * c), i / c % b, i % c];
                let at: usize = (0..3)
                    .map(|d| if folded[d] { 0 } else { index[d] * to[d] })
                    .sum();
                expected[at] += x[i] * x[i];
                if y[i] > highest[at] || y[i].is_nan() {
                    highest[at] = y[i];
                }
            }
            assert_eq!(sums, expected, "{shape:?} {folded:?}");
            let equal = |(a, b): (&f32, &f32)| a == b || (a.is_nan() && b.is_nan());
            assert!(
                largest.iter().zip(&highest).all(equal),
                "{shape:?} {folded:?}"
            );
        }
    }
}

#[test]
fn what_is_no_expression() {
    let missing = vec![step(StepOp::Binary(BinaryOp::Add), Ty::F32, &[0, 2])];
    let error = Expression::new(&[Ty::F32], &[], missing, vec![], None).expect_err("no value 2");
    assert_eq!(error, ExpressionError::Values { step: 0 });
    let typed = vec![step(StepOp::Map(MapOp::Exp), Ty::I32, &[0])];
    let error = Expression::new(&[Ty::I32], &[], typed, vec![], None).expect_err("of integers");
    assert!(error.to_string().contains("not defined for i32"), "{error}");
    let error = Expression::new(&[Ty::I32], &[], vec![], vec![1], None).expect_err("no value 1");
    assert_eq!(error, ExpressionError::Missing(1));
    let many = vec![Ty::I8; MOST_VALUES + 1];
    let error = Expression::new(&many, &[], vec![], vec![], None).expect_err("too many");
    assert_eq!(error, ExpressionError::TooLarge(MOST_VALUES + 1));
}

/// Views of matrices without a part of each row: into a dense matrix, another such view, every second element, and in place.
#[test]
fn rows_a_little_apart() {
    let steps = vec![
        step(StepOp::Binary(BinaryOp::Mul), Ty::F64, &[0, 2]),
        step(StepOp::Binary(BinaryOp::Add), Ty::F64, &[3, 1]),
    ];
    let scaled = Expression::new(&[Ty::F64, Ty::F64], &[Ty::F64], steps, vec![4], None);
    let scaled = scaled.expect("an expression");
    for (rows, row, between) in [
        (1, 8, 1),
        (2, 9, 1),
        (98, 98, 2),
        (700, 31, 3),
        (33, 2000, 200),
    ] {
        let pitch = row + between;
        let cells = rows * pitch;
        let x: Vec<f64> = (0..cells).map(|i| i as f64 / 3.0).collect();
        let expected =
            |i: usize, y: &[f64]| x[i / row * pitch + i % row] * 0.5 + y[i / row * pitch + i % row];
        let y: Vec<f64> = (0..cells).map(|i| -(i as f64)).collect();
        let wide = pitch as isize;
        let scalars = [0.5f64.to_bits()];
        // Length of what is written, and its strides; none for in place.
        for (len, strides) in [
            (rows * row, Some([row as isize, 1])),
            (cells, Some([wide, 1])),
            (2 * cells, Some([2 * wide, 2])),
            (cells, None),
        ] {
            let (mut from, mut other) = (x.clone(), y.clone());
            let mut out = vec![9f64; len];
            let read = [view(&mut from, &[wide, 1]), view(&mut other, &[wide, 1])];
            let write = match strides {
                Some(strides) => view(&mut out, &strides),
                None => read[1].clone(),
            };
            // SAFETY: vectors of their own, with what the strides reach; in place it is the view of an operand.
            unsafe { scaled.run(&[rows, row], &read, &scalars, &[write], &[false; 2], None) };
            let (seen, strides) = match strides {
                Some(strides) => (&out, strides),
                None => (&other, [wide, 1]),
            };
            let at = |i: usize| (i / row) * strides[0] as usize + (i % row) * strides[1] as usize;
            let mut written = vec![false; len];
            for i in 0..rows * row {
                assert_eq!(
                    seen[at(i)],
                    expected(i, &y),
                    "{rows} x {row}, {strides:?}: {i}"
                );
                written[at(i)] = true;
            }
            for (i, &was_written) in written.iter().enumerate().take(seen.len()) {
                let before = if seen.len() == len && !std::ptr::eq(seen, &out) {
                    y[i]
                } else {
                    9.0
                };
                assert!(
                    was_written || seen[i] == before,
                    "{rows} x {row}, {strides:?}: {i}"
                );
            }
        }
    }
}

/// Integers between rows may be zeros that are divided by.
#[test]
fn any_numbers_lie_between_rows() {
    for (op, expected) in [(StepOp::FloorDiv, 142_857), (StepOp::Remainder, 1)] {
        let steps = vec![step(op, Ty::I32, &[0, 1])];
        let chain = Expression::new(&[Ty::I32; 2], &[], steps, vec![2], None);
        let chain = chain.expect("an expression");
        let mut x = vec![1_000_000i32; 990];
        let mut y: Vec<i32> = (0..990).map(|i| if i % 33 < 30 { 7 } else { 0 }).collect();
        let mut out = vec![0i32; 900];
        let read = [view(&mut x, &[33, 1]), view(&mut y, &[33, 1])];
        let write = [view(&mut out, &[30, 1])];
        // SAFETY: vectors of their own, with what the strides reach.
        unsafe { chain.run(&[30, 30], &read, &[], &write, &[false; 2], None) };
        assert_eq!(out, [expected; 900], "{op:?}");
    }
}

/// Copies between views whose rows lie side by side, of which one or both are not dense.
#[test]
fn rows_are_copied() {
    let chain = Expression::new(&[Ty::U16], &[], Vec::new(), vec![0], None).expect("an expression");
    for (rows, row, from, to) in [
        (3, 5, 7, 5),
        (3, 5, 5, 9),
        (1000, 311, 312, 400),
        (5, 1, 3, 1),
    ] {
        let mut x: Vec<u16> = (0..rows * from).map(|i| i as u16).collect();
        let mut y = vec![u16::MAX; rows * to];
        let (read, write) = (
            view(&mut x, &[from as isize, 1]),
            view(&mut y, &[to as isize, 1]),
        );
        // SAFETY: vectors of their own, with what the strides reach.
        unsafe { chain.run(&[rows, row], &[read], &[], &[write], &[false; 2], None) };
        for (i, &found) in y.iter().enumerate() {
            let (r, c) = (i / to, i % to);
            let expected = if c < row { x[r * from + c] } else { u16::MAX };
            assert_eq!(found, expected, "{rows} x {row}: {i}");
        }
    }
}
