//! Sorts of rows that are refused.

use hologram_backends::Ty;
use hologram_core::sorting::{sort, RowsOf, Sorted};
use hologram_core::{DynBuffer, Error, Executor};

use super::support::{buffer, devices};

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
