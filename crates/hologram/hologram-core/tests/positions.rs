//! Positions of extreme elements of buffers: what is found, and what is refused.

use hologram_backends::Ty;
use hologram_core::expression::Strided;
use hologram_core::positions::{positions, Extreme};
use hologram_core::{DynBuffer, Error, Executor};

fn numbers(exec: &Executor, values: &[f32]) -> DynBuffer {
    let buffer = exec.allocate_dyn(Ty::F32, values.len()).unwrap();
    let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
    buffer.write_bytes(0, &bytes).unwrap();
    buffer
}

fn indices(buffer: &DynBuffer) -> Vec<i64> {
    let bytes = buffer.to_bytes().unwrap();
    let (words, _) = bytes.as_chunks::<8>();
    words.iter().map(|&word| i64::from_le_bytes(word)).collect()
}

#[test]
fn of_a_view_that_begins_later() {
    let exec = Executor::new().unwrap();
    let data = numbers(&exec, &[9.0, 1.0, 5.0, 7.0, 7.0, f32::NAN, 0.0]);
    let to = exec.allocate_dyn(Ty::I64, 2).unwrap();
    // Rows 1 5 7 and 7 NaN 0, then the same from the last element on.
    let source = Strided {
        buffer: &data,
        offset: 1,
        strides: &[3, 1],
    };
    positions(&exec, Extreme::Maximum, &[2, 3], Some(1), &source, &to).unwrap();
    assert_eq!(indices(&to), [2, 1]);
    let backwards = Strided {
        offset: 6,
        strides: &[-3, -1],
        ..source
    };
    positions(&exec, Extreme::Minimum, &[2, 3], Some(1), &backwards, &to).unwrap();
    assert_eq!(indices(&to), [1, 2]);
    positions(&exec, Extreme::Minimum, &[2, 3], None, &source, &to).unwrap();
    assert_eq!(indices(&to)[0], 4);
}

#[test]
fn refusals() {
    let exec = Executor::new().unwrap();
    let data = numbers(&exec, &[0.0; 6]);
    let to = exec.allocate_dyn(Ty::I64, 2).unwrap();
    let view = |buffer, strides| Strided {
        buffer,
        offset: 0,
        strides,
    };
    let find = |shape: &[usize], axis, source: &Strided<'_>, to: &DynBuffer| {
        positions(&exec, Extreme::Maximum, shape, axis, source, to).unwrap_err()
    };
    let source = view(&data, &[3, 1]);
    let axis = |error: Error| {
        matches!(
            error,
            Error::InvalidArgument {
                argument: "axis",
                ..
            }
        )
    };
    assert!(axis(find(&[2, 3], Some(2), &source, &to)));
    assert!(axis(find(&[2, 0], Some(1), &source, &to)));
    assert!(axis(find(&[2, 0], None, &source, &to)));
    assert!(matches!(
        find(&[2, 3], Some(0), &source, &to),
        Error::BufferTooSmall {
            needed: 3,
            len: 2,
            ..
        }
    ));
    assert!(matches!(
        find(&[3, 3], Some(1), &source, &to),
        Error::InvalidView(_)
    ));
    assert!(matches!(
        find(&[2, 3], Some(1), &source, &data),
        Error::TypeMismatch {
            expected: Ty::I64,
            ..
        }
    ));
    assert!(matches!(
        find(&[2], Some(0), &view(&to, &[1]), &to),
        Error::Aliased { .. }
    ));
    let other = Executor::new().unwrap();
    let foreign = numbers(&other, &[0.0; 6]);
    assert!(matches!(
        find(&[2, 3], Some(1), &view(&foreign, &[3, 1]), &to),
        Error::ForeignBuffer { argument: "source" }
    ));
}
