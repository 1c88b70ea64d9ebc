//! Elementwise operations of two tensors, of views as they lie, and what is not a number.

use hologram_core::{Executor, Tensor};

use super::support::{check, floats, integers, len, shapes, Outcome};

#[test]
fn integers_of_two_tensors() -> Outcome {
    let exec = Executor::new()?;
    for (a_shape, b_shape, shape) in shapes() {
        let (a, b) = (integers(len(&a_shape), 1), integers(len(&b_shape), 2));
        let x = Tensor::from_slice(&exec, &a, &a_shape)?;
        let y = Tensor::from_slice(&exec, &b, &b_shape)?;
        assert_eq!(x.add(&y)?.shape(), shape);
        let both = |found: Tensor<i32>, want: fn(i32, i32) -> i32| {
            check((&a, &a_shape), (&b, &b_shape), &found, want)
        };
        both(x.add(&y)?, |a, b| a + b)?;
        both(x.sub(&y)?, |a, b| a - b)?;
        both(x.mul(&y)?, |a, b| a * b)?;
        both(x.floor_div(&y)?, |a, b| match b {
            0 => 0,
            _ => (f64::from(a) / f64::from(b)).floor() as i32,
        })?;
        both(x.remainder(&y)?, |a, b| match b {
            0 => 0,
            _ => a - b * (f64::from(a) / f64::from(b)).floor() as i32,
        })?;
        both(x.maximum(&y)?, i32::max)?;
        both(x.minimum(&y)?, i32::min)?;
        both(x.bit_and(&y)?, |a, b| a & b)?;
        both(x.bit_or(&y)?, |a, b| a | b)?;
        both(x.bit_xor(&y)?, |a, b| a ^ b)?;
        let truths = |found: Tensor<u8>, want: fn(&i32, &i32) -> bool| {
            check((&a, &a_shape), (&b, &b_shape), &found, |a, b| {
                u8::from(want(&a, &b))
            })
        };
        truths(x.equal(&y)?, i32::eq)?;
        truths(x.not_equal(&y)?, i32::ne)?;
        truths(x.less(&y)?, i32::lt)?;
        truths(x.less_equal(&y)?, i32::le)?;
        truths(x.greater(&y)?, i32::gt)?;
        truths(x.greater_equal(&y)?, i32::ge)?;
        let chosen = x.less(&y)?.choose(&x, &y)?;
        check((&a, &a_shape), (&b, &b_shape), &chosen, |a, b| {
            if a < b {
                a
            } else {
                b
            }
        })?;
    }
    Ok(())
}

#[test]
fn shifts_and_bits() -> Outcome {
    let exec = Executor::new()?;
    let x = Tensor::from_slice(&exec, &[-8i16, 7, 1, -1], &[4])?;
    let by = Tensor::from_slice(&exec, &[1i16, 2, 16, 20], &[4])?;
    assert_eq!(x.shift_left(&by)?.to_vec()?, [-16, 28, 0, 0]);
    assert_eq!(x.shift_right(&by)?.to_vec()?, [-4, 1, 0, -1]);
    assert_eq!(x.bit_not()?.to_vec()?, [7, -8, -2, 0]);
    assert_eq!(x.sign()?.to_vec()?, [-1, 1, 1, -1]);
    assert_eq!(x.abs()?.to_vec()?, [8, 7, 1, 1]);
    assert_eq!(x.neg()?.relu()?.to_vec()?, [8, 0, 0, 1]);
    Ok(())
}

#[test]
fn floats_of_views_as_they_lie() -> Outcome {
    let exec = Executor::new()?;
    for shape in [[3usize, 5, 7], [1, 1, 1], [33, 4, 501]] {
        let data = floats(len(&shape), 3);
        let whole = Tensor::from_slice(&exec, &data, &shape)?;
        let view = whole.permute(&[2, 0, 1])?.flip(0)?;
        let want: Vec<f32> = view.to_vec()?;
        let each = |found: Tensor<f32>, f: fn(f32) -> f32| -> Outcome {
            assert_eq!(found.shape(), view.shape());
            for (found, &x) in found.to_vec()?.into_iter().zip(&want) {
                let want = f(x);
                let close = found == want || (found - want).abs() <= 1e-5 * want.abs().max(1.0);
                assert!(
                    close || (found.is_nan() && want.is_nan()),
                    "{found} is not {want} of {x}"
                );
            }
            Ok(())
        };
        each(view.exp()?, f32::exp)?;
        each(view.log()?, f32::ln)?;
        each(view.sqrt()?, f32::sqrt)?;
        each(view.abs()?.rsqrt()?, |x| 1.0 / x.abs().sqrt())?;
        each(view.sin()?, f32::sin)?;
        each(view.cos()?, f32::cos)?;
        each(view.tanh()?, f32::tanh)?;
        each(view.sigmoid()?, |x| 1.0 / (1.0 + (-x).exp()))?;
        each(view.ceil()?, f32::ceil)?;
        each(view.floor()?, f32::floor)?;
        each(view.round()?, f32::round_ties_even)?;
        each(view.trunc()?, f32::trunc)?;
        each(view.neg()?, |x| -x)?;
        each(view.relu()?, |x| x.max(0.0))?;
        each(view.div(&Tensor::scalar(&exec, 3.0)?)?, |x| x / 3.0)?;
        each(view.abs()?.pow(&Tensor::scalar(&exec, 1.5)?)?, |x| {
            x.abs().powf(1.5)
        })?;
        each(view.atan2(&Tensor::scalar(&exec, -0.5)?)?, |x| {
            x.atan2(-0.5)
        })?;
        let doubles = view.cast::<f64>()?;
        assert_eq!(doubles.shape(), view.shape());
        assert!(doubles
            .to_vec()?
            .iter()
            .zip(&want)
            .all(|(&a, &b)| a == f64::from(b)));
        let cut = view.cast::<i8>()?.to_vec()?;
        assert!(cut.iter().zip(&want).all(|(&a, &b)| a == b as i8));
    }
    Ok(())
}

#[test]
fn not_a_number() -> Outcome {
    let exec = Executor::new()?;
    let x = Tensor::from_slice(&exec, &[1.0f64, f64::NAN, -2.0], &[3])?;
    let y = Tensor::from_slice(&exec, &[f64::NAN, 1.0, 5.0], &[3])?;
    let max = x.maximum(&y)?.to_vec()?;
    assert!(max[0].is_nan() && max[1].is_nan() && max[2] == 5.0);
    assert_eq!(x.equal(&x)?.to_vec()?, [1, 0, 1]);
    assert!(x.max(None, false)?.to_vec()?[0].is_nan());
    assert_eq!(x.argmax(0, false)?.to_vec()?, [1]);
    assert_eq!(x.argmin(0, true)?.to_vec()?, [1]);
    assert_eq!(x.any(None, false)?.to_vec()?, [1]);
    Ok(())
}
