//! Tensors: views read right, dense copies equal views, products of views equal sums.

use hologram_core::{BackendType, Element, Error, Executor, Layout, Tensor};

fn cpu() -> Executor {
    Executor::new().expect("the CPU's backend")
}

fn counting(exec: &Executor, shape: &[usize]) -> Tensor<f32> {
    let n = shape.iter().product::<usize>();
    let data: Vec<f32> = (0..n).map(|i| i as f32).collect();
    Tensor::from_slice(exec, &data, shape).unwrap()
}

/// Elements of a view by index arithmetic.
fn elements<T: Element>(data: &[T], layout: &Layout) -> Vec<T> {
    (0..layout.numel())
        .map(|mut linear| {
            let mut at = layout.offset() as isize;
            for (&extent, &stride) in layout.shape().iter().zip(layout.strides()).rev() {
                at += (linear % extent) as isize * stride;
                linear /= extent;
            }
            data[at as usize]
        })
        .collect()
}

fn views<T: Element>(base: &Tensor<T>) -> Vec<Tensor<T>> {
    vec![
        base.clone(),
        base.transpose(0, 1).unwrap(),
        base.permute(&[2, 0, 1]).unwrap(),
        base.slice(1, 0, 5, -2).unwrap().transpose(0, 2).unwrap(),
        base.narrow(0, 1, 2).unwrap(),
        base.select(1, 3).unwrap(),
        base.select(2, 1).unwrap().select(0, 2).unwrap(),
        base.narrow(2, 3, 0).unwrap(),
        base.select(0, 1).unwrap().broadcast_to(&[3, 5, 7]).unwrap(),
        base.narrow(1, 1, 1)
            .unwrap()
            .broadcast_to(&[4, 6, 7])
            .unwrap(),
    ]
}

fn check_views<T: Element>(make: impl Fn(usize) -> T) {
    let exec = cpu();
    let data: Vec<T> = (0..140).map(make).collect();
    let base = Tensor::from_slice(&exec, &data, &[4, 5, 7]).unwrap();
    for view in views(&base) {
        let expected = elements(&data, view.layout());
        assert_eq!(view.to_vec().unwrap(), expected, "{view:?}");
        let dense = view.contiguous().unwrap();
        assert!(dense.is_contiguous());
        assert_eq!(dense.shape(), view.shape());
        assert_eq!(view.view_1d().unwrap().to_vec().unwrap(), expected);
    }
}

#[test]
fn views_equal_index_arithmetic_for_every_width() {
    check_views(|i| i as u8);
    check_views(|i| i as i16);
    check_views(|i| i as f32);
    check_views(|i| i as f64);
}

/// The program that other devices run, on the interpreter under another name.
#[test]
fn the_program_of_dense_copies_equals_the_host() {
    let backend = Box::new(hologram_backends::cpu::CpuBackend::new());
    let exec = Executor::from_backend(backend, BackendType::Cuda, "interpreter".into());
    let data: Vec<u16> = (0..140).collect();
    let base = Tensor::from_slice(&exec, &data, &[4, 5, 7]).unwrap();
    for view in views(&base) {
        let expected = elements(&data, view.layout());
        assert_eq!(view.to_vec().unwrap(), expected, "{view:?}");
    }
    assert!(exec.stats().programs > 4);
}

#[test]
fn shapes_are_checked() {
    let exec = cpu();
    let base = counting(&exec, &[2, 3]);
    assert!(Tensor::from_slice(&exec, &[1.0f32], &[2]).is_err());
    assert!(Tensor::<f32>::zeros(&exec, &[usize::MAX, 2]).is_err());
    let buffer = base.buffer().clone();
    assert!(Tensor::from_buffer(&exec, buffer.clone(), &[7]).is_err());
    assert!(Tensor::from_buffer(&cpu(), buffer.clone(), &[6]).is_err());
    assert!(Tensor::from_buffer_with_strides(&exec, buffer.clone(), &[4], &[2], 0).is_err());
    let odd = Tensor::from_buffer_with_strides(&exec, buffer, &[3], &[2], 1).unwrap();
    assert_eq!(odd.to_vec().unwrap(), [1.0, 3.0, 5.0]);
    assert!(base.reshape(&[4]).is_err());
    assert!(base.matmul(&base).is_err());
    assert!(base.matmul(&base.select(0, 0).unwrap()).is_err());
    let foreign = counting(&cpu(), &[3, 2]);
    assert!(matches!(
        base.matmul(&foreign),
        Err(Error::ForeignBuffer { .. })
    ));
}

#[test]
fn products_of_views() {
    let exec = cpu();
    let base = counting(&exec, &[3, 4]);
    let turned = base.transpose(0, 1).unwrap();
    let product = base.matmul(&turned).unwrap();
    assert_eq!(product.shape(), [3, 3]);
    let expected = [14.0, 38.0, 62.0, 38.0, 126.0, 214.0, 62.0, 214.0, 366.0];
    assert_eq!(product.to_vec().unwrap(), expected);
}
