//! Traces that break their constraints: `check_traces`, `debug` and the prover.

use std::panic::{catch_unwind, AssertUnwindSafe};

use openvm_stark_backend::{prover::MatrixDimensions, test_utils::InteractionsFixture11};

use super::common::{keccak::keccakf, mixture};
use super::*;

#[test]
fn constraints_of_a_trace_that_satisfies_them() {
    let engine = Metal::new(SMALL[1].params());
    for input in [
        mixture(6, engine.config()),
        keccakf(1),
        committed(&engine, 8),
    ] {
        let (pk, ctx) = on_device(&engine, &input);
        engine.check_traces(&pk, &ctx).expect("a good trace");
        engine.debug(&input.airs, &ctx);
    }
}

#[test]
fn constraint_violated() {
    let engine = Metal::new(small());
    let mut fib = input(&FibFixture::new(0, 1, 32));
    let trace = &mut fib.ctx.per_trace[0].1.common_main;
    trace.values[32 + 20] += F::ONE;
    let (_, vk) = engine.keygen(&fib.airs);
    let (pk, ctx) = on_device(&engine, &fib);

    let error = engine.check_traces(&pk, &ctx).expect_err("a violation");
    let text = error.to_string();
    assert!(matches!(error, E::BrokenConstraint(_)), "{text}");
    contains(
        &text,
        &[
            "AIR 0 (FibonacciAir), row 19 of 32: constraint",
            "column 1 (no name) of row 20 = ",
            "column 0 (no name) = ",
        ],
    );

    let panic = catch_unwind(AssertUnwindSafe(|| engine.debug(&fib.airs, &ctx)));
    let message = panic
        .expect_err("a panic")
        .downcast::<String>()
        .expect("text");
    assert_eq!(*message, text);

    let proof = engine.prove(&pk, ctx).expect("the prover does not notice");
    engine.verify(&vk, &proof).expect_err("the verifier does");
}

#[test]
fn interactions_that_do_not_balance() {
    let engine = Metal::new(small());
    let mut pair = input(&InteractionsFixture11);
    let sender = &mut pair.ctx.per_trace[0].1.common_main;
    let rows = sender.height();
    // Columns: count, field. One message is sent once more.
    sender.values[2] += F::ONE;
    let field = sender.values[rows + 2];
    let (pk, ctx) = on_device(&engine, &pair);

    let error = engine.check_traces(&pk, &ctx).expect_err("a violation");
    let text = error.to_string();
    let message = format!("bus 0: the message [{field}] is not received as often as it is sent");
    assert!(matches!(error, E::BrokenConstraint(_)), "{text}");
    contains(&text, &[&message, "AIR 0 (", "in row 2", "AIR 1 ("]);

    let (error, text) = refusal(&engine, &pk, ctx);
    assert!(matches!(error, E::InteractionsUnbalanced));
    contains(&text, &["check_traces"]);
}
