//! Sorts of rows on devices against the host's, and what is refused.

use hologram_backends::Ty;
use hologram_core::sorting::{sort, RowsOf, Sorted};
use hologram_core::{DynBuffer, Error, Executor};

use super::support::{buffer, data, devices, Random};

const SHAPES: [(usize, usize); 6] = [(1, 1), (3, 7), (2, 1025), (1, 5000), (0, 4), (4, 0)];

/// Contents of a target with four elements more after a sort.
fn sorted(
    exec: &Executor,
    (what, descending): (Sorted, bool),
    (rows, cols): (usize, usize),
    ty: Ty,
    bytes: &[u8],
) -> Vec<u8> {
    let source = buffer(exec, ty, bytes);
    let wanted = match what {
        Sorted::Values => ty,
        Sorted::Order => Ty::I64,
    };
    let filled = vec![0x5a; (rows * cols + 4) * wanted.size()];
    let target = buffer(exec, wanted, &filled);
    let from = RowsOf {
        buffer: &source,
        offset: 3,
    };
    let to = RowsOf {
        buffer: &target,
        offset: 2,
    };
    sort(exec, what, descending, (rows, cols), from, to).unwrap();
    target.to_bytes().unwrap()
}

#[test]
fn rows() {
    let (host, devices) = (Executor::new().unwrap(), devices());
    let mut random = Random(77);
    for ty in [Ty::I32, Ty::U32, Ty::F32, Ty::I64, Ty::U64, Ty::F64] {
        for shape in SHAPES {
            let bytes = data(&mut random, ty, shape.0 * shape.1 + 3);
            for way in [
                (Sorted::Values, false),
                (Sorted::Values, true),
                (Sorted::Order, false),
                (Sorted::Order, true),
            ] {
                let expected = sorted(&host, way, shape, ty, &bytes);
                for device in &devices {
                    let found = sorted(device, way, shape, ty, &bytes);
                    assert!(found == expected, "{way:?} of {ty}, {shape:?}");
                }
            }
        }
    }
}

#[test]
fn what_does_not_fit() {
    let (host, other) = (Executor::new().unwrap(), Executor::new().unwrap());
    let made = |exec: &Executor, ty: Ty, len: usize| buffer(exec, ty, &vec![0; len * ty.size()]);
    let (x, y) = (made(&host, Ty::I32, 8), made(&host, Ty::I32, 8));
    let order = made(&host, Ty::I64, 8);
    let run = |what, shape, from: (&DynBuffer, usize), to: (&DynBuffer, usize)| {
        let rows = |(buffer, offset)| RowsOf { buffer, offset };
        sort(&host, what, false, shape, rows(from), rows(to))
    };
    assert!(run(Sorted::Values, (2, 4), (&x, 0), (&y, 0)).is_ok());
    assert!(run(Sorted::Values, (2, 4), (&x, 0), (&x, 0)).is_ok());
    assert!(run(Sorted::Order, (2, 4), (&x, 0), (&order, 0)).is_ok());
    let aliased = run(Sorted::Values, (1, 4), (&x, 0), (&x, 4));
    assert!(matches!(aliased, Err(Error::Aliased { .. })));
    let short = run(Sorted::Values, (2, 4), (&x, 1), (&y, 0));
    assert!(matches!(
        short,
        Err(Error::BufferTooSmall {
            needed: 9,
            len: 8,
            ..
        })
    ));
    let huge = run(Sorted::Values, (usize::MAX, 4), (&x, 0), (&y, 0));
    assert!(matches!(huge, Err(Error::BufferTooSmall { .. })));
    let typed = run(Sorted::Order, (2, 4), (&x, 0), (&y, 0));
    assert!(matches!(typed, Err(Error::TypeMismatch { .. })));
    let foreign = made(&other, Ty::I32, 8);
    let foreign = run(Sorted::Values, (2, 4), (&foreign, 0), (&y, 0));
    assert!(matches!(
        foreign,
        Err(Error::ForeignBuffer { argument: "source" })
    ));
    for device in &devices() {
        let small = made(device, Ty::I16, 8);
        let rows = RowsOf {
            buffer: &small,
            offset: 0,
        };
        let refused = sort(device, Sorted::Values, false, (2, 4), rows, rows);
        assert!(matches!(refused, Err(Error::Backend(_))), "{refused:?}");
    }
}
