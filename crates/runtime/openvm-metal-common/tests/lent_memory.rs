//! Memory that is lent for reading is not written; what clauses do not allow never runs.

mod support;

use openvm_metal_common::{Device, Grid, MetalBuffer, MetalError};
use support::{add, context, reverse, AddParams, KERNELS};

#[test]
fn a_buffer_lent_for_reading_is_not_written() {
    let ctx = context(Device::Cpu);
    let s = ctx.stream();
    let data = MetalBuffer::<u32>::zeroed(&s, 8).unwrap();
    let call = s.encode(&KERNELS[0], Grid::threads(4));
    let (lent, p) = (&data, AddParams { k: 1, n: 4 });
    let call = call.buffer(0, &lent).buffer(1, &lent).value(2, &p);
    let error = call.dispatch().unwrap_err();
    assert!(
        matches!(&error, MetalError::ArgumentMismatch { argument: "out", expected, .. } if expected.contains("write")),
        "{error}"
    );
}

#[test]
fn what_the_clauses_refuse_never_runs() {
    let ctx = context(Device::Cpu);
    let s = ctx.stream();
    let a = MetalBuffer::from_host(&s, &[1u32; 100]).unwrap();
    let mut b = MetalBuffer::<u32>::zeroed(&s, 100).unwrap();
    let error = add(&s, Grid::threads(100), &a, b.slice_mut(1..), 1, 100).unwrap_err();
    assert!(
        matches!(
            error,
            MetalError::BufferTooShort {
                kernel: "add",
                argument: "out",
                required: 100,
                actual: 99
            }
        ),
        "{error}"
    );
    let error = reverse(&s, Grid::groups(2, 64), &mut b, &0, 64).unwrap_err();
    assert!(
        matches!(error, MetalError::BufferTooShort { required: 128, .. }),
        "{error}"
    );
    assert_eq!(s.counters().total().dispatches, 0);
    assert_eq!(b.to_host(&s).unwrap(), [0; 100]);
    // The cost clause goes into the counters.
    add(&s, Grid::threads(100), &a, &mut b, 1, 100).unwrap();
    assert_eq!(s.counters().total().kernel_bytes, 800);
}
