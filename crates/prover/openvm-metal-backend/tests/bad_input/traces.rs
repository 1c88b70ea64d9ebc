//! Traces that the key does not have: shapes, commitments, AIRs.

use std::{
    panic::{catch_unwind, AssertUnwindSafe},
    sync::Arc,
};

use openvm_metal_backend::MetalSliceOwned;

use super::*;

#[test]
fn height_not_a_power_of_two() {
    for height in [0, 3, 12] {
        let (error, text) = fibonacci(height, 2, 3);
        assert!(matches!(error, E::HeightNotPowerOfTwo { height: h, .. } if h == height));
        contains(
            &text,
            &["AIR 0 (FibonacciAir)", &format!("height {height}")],
        );
    }
}

#[test]
fn height_over_the_maximum() {
    let (error, text) = fibonacci(1 << 11, 2, 3);
    assert!(matches!(error, E::HeightTooLarge { height: 2048, .. }));
    contains(&text, &["AIR 0 (FibonacciAir)", "2048", "2^10"]);
}

#[test]
fn width_that_the_key_does_not_have() {
    for width in [1, 3] {
        let (error, text) = fibonacci(8, width, 3);
        assert!(matches!(error, E::WidthMismatch { width: w, expected: 2, .. } if w == width));
        contains(
            &text,
            &[
                "AIR 0 (FibonacciAir)",
                &format!("{width} columns"),
                "expects 2",
            ],
        );
    }
}

#[test]
fn wrong_number_of_public_values() {
    for values in [0, 2, 4] {
        let (error, text) = fibonacci(8, 2, values);
        assert!(
            matches!(error, E::PublicValuesMismatch { values: v, expected: 3, .. } if v == values)
        );
        contains(
            &text,
            &["AIR 0 (FibonacciAir)", &format!("{values} public values")],
        );
    }
}

#[test]
fn wrong_number_of_cached_traces() {
    let engine = Metal::new(small());
    let (pk, mut ctx) = on_device(&engine, &committed(&engine, 8));
    ctx.per_trace[0].1.cached_mains.pop();
    let (error, text) = refusal(&engine, &pk, ctx);
    assert!(matches!(
        error,
        E::CachedMismatch {
            air_id: 0,
            cached: 1,
            expected: 2,
            ..
        }
    ));
    contains(&text, &["AIR 0 (", "1 cached traces", "expects 2"]);
}

#[test]
fn cached_trace_of_another_height() {
    let engine = Metal::new(small());
    let (pk, mut ctx) = on_device(&engine, &committed(&engine, 8));
    let (_, mut other) = on_device(&engine, &committed(&engine, 16));
    std::mem::swap(
        &mut ctx.per_trace[0].1.cached_mains[1],
        &mut other.per_trace[0].1.cached_mains[1],
    );
    let (error, text) = refusal(&engine, &pk, ctx);
    assert!(
        matches!(
            error,
            E::HeightMismatch {
                height: 16,
                expected: 8,
                ..
            }
        ),
        "{text}"
    );
    contains(&text, &["AIR 0 (", "cached trace 1 has 16 rows"]);
}

#[test]
fn common_trace_of_another_height_than_the_preprocessed_one() {
    let engine = Metal::new(small());
    let (pk, _) = on_device(&engine, &committed(&engine, 8));
    let (_, ctx) = on_device(&engine, &committed(&engine, 16));
    let (error, text) = refusal(&engine, &pk, ctx);
    assert!(
        matches!(
            error,
            E::HeightMismatch {
                height: 8,
                expected: 16,
                ..
            }
        ),
        "{text}"
    );
    contains(&text, &["preprocessed trace has 8 rows", "16"]);
}

#[test]
fn commitment_of_another_cached_trace() {
    let engine = Metal::new(small());
    let (pk, mut ctx) = on_device(&engine, &committed(&engine, 8));
    ctx.per_trace[0].1.cached_mains[0].commitment = Default::default();
    let (error, text) = refusal(&engine, &pk, ctx);
    assert!(matches!(error, E::CommitmentMismatch { .. }));
    contains(&text, &["AIR 0 (", "cached trace 0"]);
}

#[test]
fn wrong_set_of_airs() {
    let engine = Metal::new(small());
    let fib = input(&FibFixture::new(0, 1, 8));
    let (pk, _) = on_device(&engine, &fib);
    let with = |ids: &[usize]| {
        let air = |&id: &usize| (id, on_device(&engine, &fib).1.per_trace.remove(0).1);
        refusal(
            &engine,
            &pk,
            ProvingContext::new(ids.iter().map(air).collect()),
        )
    };
    assert!(matches!(with(&[]).0, E::NoTraces));
    assert!(matches!(with(&[0, 0]).0, E::DuplicateAir { air_id: 0, .. }));
    let (error, text) = with(&[0, 7]);
    assert!(matches!(
        error,
        E::UnknownAir {
            air_id: 7,
            num_airs: 1
        }
    ));
    contains(&text, &["AIR 7", "1 AIRs"]);

    let (mut pk, _) = on_device(&engine, &input(&FibFixture::new_with_num_airs(0, 1, 8, 2)));
    pk.per_air[1].vk.is_required = true;
    let (_, ctx) = on_device(&engine, &fib);
    let (error, text) = refusal(&engine, &pk, ctx);
    assert!(matches!(error, E::MissingAir { air_id: 1, .. }));
    contains(&text, &["AIR 1 (FibonacciAir) is required"]);
}

/// Kernels read the cells of a matrix: they lie in its buffer, as many as it has.
#[test]
fn matrices_outside_of_their_buffer_are_refused() {
    let engine = Metal::new(small());
    let s = engine.device().stream().expect("a device");
    let buffer = || Arc::new(MetalBuffer::<F>::zeroed(s, 8).expect("memory"));
    let slice = |offset: usize, len: usize| MetalSliceOwned::new(buffer(), offset, len);
    let panics = |work: &dyn Fn()| catch_unwind(AssertUnwindSafe(work)).is_err();
    for (offset, len) in [(1, 8), (9, 0), (8, 1), (usize::MAX, 2)] {
        assert!(panics(&|| drop(slice(offset, len))), "{offset} {len}");
    }
    for (height, width) in [(4, 3), (2, 2), (usize::MAX, 2)] {
        let matrix = || drop(MetalMatrix::from_slice(slice(0, 8), height, width));
        assert!(panics(&matrix), "{height} x {width}");
        let matrix = || drop(MetalMatrix::from_buffer(buffer(), height, width));
        assert!(panics(&matrix), "{height} x {width}");
    }
    assert_eq!(MetalMatrix::from_slice(slice(2, 6), 3, 2).width(), 2);
}
