//! Halves, which are calculated as `f32` and rounded once.

use half::f16;
use hologram_core::{Executor, Tensor};

use super::support::{floats, Outcome};

#[test]
fn halves_are_rounded_once() -> Outcome {
    let exec = Executor::new()?;
    let data: Vec<f16> = floats(2 * 331, 8).into_iter().map(f16::from_f32).collect();
    let x = Tensor::from_slice(&exec, &data, &[2, 331])?;
    let y = x.add(&x)?.mul(&x)?;
    for (found, a) in y.to_vec()?.into_iter().zip(&data) {
        let sum = f16::from_f32(a.to_f32() + a.to_f32());
        assert_eq!(found, f16::from_f32(sum.to_f32() * a.to_f32()));
    }
    assert_eq!(
        x.less(&x.neg()?)?.to_vec()?,
        data.iter()
            .map(|a| u8::from(a.to_f32() < 0.0))
            .collect::<Vec<_>>()
    );
    for (row, found) in x.mean(Some(&[1]), false)?.to_vec()?.into_iter().enumerate() {
        let want: f64 = data[row * 331..][..331]
            .iter()
            .map(|a| a.to_f64())
            .sum::<f64>()
            / 331.0;
        assert!((found.to_f64() - want).abs() < 2e-3, "{found} {want}");
    }
    let best = x.max(Some(&[1]), false)?.to_vec()?;
    for (row, &index) in x.argmax(1, false)?.to_vec()?.iter().enumerate() {
        assert_eq!(data[row * 331 + index as usize], best[row]);
    }
    Ok(())
}
