//! Parameters that do not fit together or not the traces.

use openvm_stark_backend::test_utils::InteractionsFixture11;

use super::common::mixture;
use super::*;

#[test]
fn too_many_interactions() {
    let mut params = small();
    params.logup.max_interaction_count = 12;
    let engine = Metal::new(params);
    let (pk, ctx) = on_device(&engine, &input(&InteractionsFixture11));
    let (error, text) = refusal(&engine, &pk, ctx);
    assert!(
        matches!(
            error,
            E::TooManyInteractions {
                sum: 12,
                threshold: 12,
                contribution: 8,
                air_id: 1,
                ..
            }
        ),
        "{text}"
    );
    contains(&text, &["12 is not below 12", "contribution 8 from AIR 1"]);
}

#[test]
fn stacked_width_over_w_stack() {
    let mut params = small();
    params.w_stack = 1;
    let engine = Metal::new(params);
    let (pk, ctx) = on_device(&engine, &mixture(8, engine.config()));
    let (error, text) = refusal(&engine, &pk, ctx);
    assert!(
        matches!(error, E::StackedWidthExceeded { w_stack: 1, .. }),
        "{text}"
    );
    contains(&text, &["w_stack = 1", "the common main traces"]);
}

#[test]
fn committed_traces_over_w_stack() {
    let mut params = small();
    params.w_stack = 3;
    let engine = Metal::new(params);
    let (pk, ctx) = on_device(&engine, &committed(&engine, 8));
    let (error, text) = refusal(&engine, &pk, ctx);
    assert!(
        matches!(
            error,
            E::StackedWidthExceeded {
                width: 4,
                w_stack: 3,
                ..
            }
        ),
        "{text}"
    );
}

#[test]
fn key_of_other_parameters() {
    let engine = Metal::new(small());
    let other = Metal::new(SMALL[2].params());
    let (pk, ctx) = on_device(&other, &input(&FibFixture::new(0, 1, 8)));
    let (error, text) = refusal(&engine, &pk, ctx);
    assert!(matches!(error, E::Parameters(_)), "{text}");
    contains(&text, &["other system parameters"]);
}

#[test]
fn parameters_that_do_not_fit_together() {
    type Change = fn(&mut SystemParams);
    let base = small();
    let cases: [(&str, Change); 8] = [
        ("l_skip = 7 exceeds", |p| p.l_skip = 7),
        ("two-adicity", |p| (p.n_stack, p.log_blowup) = (22, 4)),
        ("exceed the stacked height", |p| p.whir.k = 9),
        ("at least one round", |p| p.whir.rounds.clear()),
        ("31 bits of LogUp work", |p| p.logup.pow_bits = 31),
        ("64 bits of batching work", |p| p.whir.mu_pow_bits = 64),
        ("40 bits of folding work", |p| p.whir.folding_pow_bits = 40),
        ("31 bits of query work", |p| {
            p.whir.query_phase_pow_bits = 31
        }),
    ];
    for (expected, change) in cases {
        let mut params = base.clone();
        change(&mut params);
        let engine = Metal::new(params);
        let (pk, ctx) = on_device(&engine, &input(&FibFixture::new(0, 1, 8)));
        let (error, text) = refusal(&engine, &pk, ctx);
        assert!(matches!(error, E::Parameters(_)), "{text}");
        contains(&text, &[expected]);
    }
}
