//! Views against index arithmetic done the slow way.

use hologram_core::{broadcast_shapes, Error, Layout};

/// Elements of the buffer in row-major order of the view.
fn elements(layout: &Layout) -> Vec<usize> {
    let mut all = Vec::new();
    for linear in 0..layout.numel() {
        let mut rest = linear;
        let mut at = layout.offset() as isize;
        for (&extent, &stride) in layout.shape().iter().zip(layout.strides()).rev() {
            at += (rest % extent) as isize * stride;
            rest /= extent;
        }
        all.push(usize::try_from(at).expect("inside the buffer"));
    }
    all
}

fn of(shape: &[usize]) -> Layout {
    Layout::contiguous(shape).expect("shape")
}

#[test]
fn views_show_the_right_elements() {
    let base = of(&[2, 3, 4]);
    assert_eq!(base.strides(), [12, 4, 1]);
    assert_eq!(elements(&base), (0..24).collect::<Vec<_>>());
    let turned = base.transpose(0, 2).unwrap();
    assert_eq!(turned.shape(), [4, 3, 2]);
    assert_eq!(&elements(&turned)[..4], [0, 12, 4, 16]);
    assert!(!turned.is_contiguous());
    assert_eq!(base.permute(&[2, 1, 0]).unwrap(), turned);
    assert_eq!(
        elements(&base.select(1, 2).unwrap()),
        [8, 9, 10, 11, 20, 21, 22, 23]
    );
    assert_eq!(elements(&base.narrow(2, 1, 2).unwrap())[..4], [1, 2, 5, 6]);
    assert_eq!(elements(&of(&[10]).slice(0, 1, 9, 3).unwrap()), [1, 4, 7]);
    assert_eq!(elements(&of(&[10]).slice(0, 1, 9, -3).unwrap()), [8, 5, 2]);
    assert_eq!(
        elements(&of(&[10]).slice(0, 0, 10, -1).unwrap()),
        [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]
    );
    assert_eq!(of(&[10]).slice(0, 4, 4, 1).unwrap().numel(), 0);
    assert_eq!(of(&[10]).slice(0, 10, 10, 1).unwrap().numel(), 0);
    assert_eq!(
        elements(&of(&[10]).slice(0, 3, 5, isize::MIN).unwrap()),
        [4]
    );
    assert_eq!(base.unsqueeze(3).unwrap().shape(), [2, 3, 4, 1]);
    assert_eq!(base.unsqueeze(0).unwrap().squeeze(), base);
    let wide = of(&[3, 1]).broadcast_to(&[2, 3, 2]).unwrap();
    assert_eq!(elements(&wide), [0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2]);
    assert_eq!(base.reshape(&[6, 4]).unwrap().unwrap().strides(), [4, 1]);
    assert_eq!(turned.reshape(&[24]).unwrap(), None);
    assert_eq!(
        base.narrow(0, 1, 1)
            .unwrap()
            .reshape(&[12])
            .unwrap()
            .unwrap()
            .offset(),
        12
    );
}

#[test]
fn merging_keeps_order_and_reach() {
    let base = of(&[4, 5, 6]);
    for view in [
        base.clone(),
        base.permute(&[2, 0, 1]).unwrap(),
        base.slice(1, 0, 5, -2).unwrap(),
        base.narrow(0, 1, 2).unwrap().transpose(0, 1).unwrap(),
        base.select(2, 3).unwrap().broadcast_to(&[3, 4, 5]).unwrap(),
        base.narrow(1, 2, 1).unwrap(),
        of(&[1, 1]),
    ] {
        let merged = view.coalesced();
        let all = elements(&view);
        assert_eq!(elements(&merged), all, "{view:?}");
        assert!(merged.ndim() <= view.ndim());
        let reach = (*all.iter().min().unwrap(), *all.iter().max().unwrap());
        assert_eq!(view.reach(), reach);
    }
    assert_eq!(base.coalesced().shape(), [120]);
    assert_eq!(
        base.permute(&[2, 0, 1]).unwrap().coalesced().shape(),
        [6, 20]
    );
}

#[test]
fn shapes_broadcast_from_the_end() {
    assert_eq!(broadcast_shapes(&[2, 1, 4], &[3, 1]), Ok(vec![2, 3, 4]));
    assert_eq!(broadcast_shapes(&[], &[5]), Ok(vec![5]));
    assert_eq!(broadcast_shapes(&[0], &[1]), Ok(vec![0]));
    assert!(matches!(
        broadcast_shapes(&[2], &[3]),
        Err(Error::InvalidShape(_))
    ));
    assert!(of(&[3, 2]).broadcast_to(&[3, 1]).is_err());
    assert!(of(&[3, 2]).broadcast_to(&[2]).is_err());
}

#[test]
fn bad_views_are_errors() {
    let base = of(&[2, 3]);
    let invalid = |result: Result<Layout, Error>| {
        assert!(matches!(result, Err(Error::InvalidView(_))), "{result:?}");
    };
    invalid(base.transpose(0, 2));
    invalid(base.permute(&[0]));
    invalid(base.permute(&[0, 0]));
    invalid(base.select(1, 3));
    invalid(base.select(1, usize::MAX));
    invalid(base.select(2, 0));
    invalid(base.narrow(1, 2, 2));
    invalid(base.narrow(1, 1, usize::MAX));
    invalid(base.slice(1, 2, 1, 1));
    invalid(base.slice(1, 0, 3, 0));
    invalid(base.unsqueeze(3));
    invalid(Layout::strided(&[2, 3], &[3, 1], 0, 5));
    invalid(Layout::strided(&[2, 3], &[3], 0, 6));
    invalid(Layout::strided(&[3], &[-1], 1, 6));
    invalid(Layout::strided(&[usize::MAX >> 1], &[isize::MAX], 1, 6));
    assert!(Layout::strided(&[3], &[-1], 2, 3).is_ok());
    assert!(Layout::strided(&[0, 9], &[9, 1], 7, 0).is_ok());
    assert!(matches!(
        Layout::contiguous(&[usize::MAX, 2]),
        Err(Error::TooLarge { .. })
    ));
    assert_eq!(of(&[usize::MAX, 0, 7]).numel(), 0);
    assert!(matches!(base.reshape(&[5]), Err(Error::InvalidShape(_))));
}
