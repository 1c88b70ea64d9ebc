//! Operands that do not fit.

use hologram_core::{Error, Executor, Tensor};

use super::support::Outcome;

#[test]
fn what_does_not_fit() -> Outcome {
    let (exec, other) = (Executor::new()?, Executor::new()?);
    let x = Tensor::<i32>::zeros(&exec, &[2, 3])?;
    let y = Tensor::<i32>::zeros(&exec, &[4])?;
    assert!(matches!(x.add(&y), Err(Error::InvalidShape(_))));
    assert!(matches!(
        x.sum(Some(&[2]), false),
        Err(Error::InvalidView(_))
    ));
    assert!(matches!(
        x.sum(Some(&[1, 1]), false),
        Err(Error::InvalidView(_))
    ));
    assert!(matches!(x.take(&[3], 1), Err(Error::InvalidView(_))));
    assert!(matches!(
        Tensor::concatenate(&[&x, &y], 0),
        Err(Error::InvalidShape(_))
    ));
    assert!(matches!(
        Tensor::<i32>::concatenate(&[], 0),
        Err(Error::InvalidShape(_))
    ));
    assert!(matches!(
        Tensor::concatenate(&[&x], 2),
        Err(Error::InvalidView(_))
    ));
    let foreign = Tensor::<i32>::zeros(&other, &[3])?;
    assert!(matches!(x.add(&foreign), Err(Error::ForeignBuffer { .. })));
    let z = Tensor::<f32>::zeros(&exec, &[3])?;
    assert!(matches!(z.bit_and(&z), Err(Error::InvalidArgument { .. })));
    assert!(matches!(z.matmul(&z), Err(Error::InvalidShape(_))));
    Ok(())
}
