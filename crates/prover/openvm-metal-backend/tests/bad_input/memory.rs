//! Too little device memory.

use openvm_metal_backend::{kernels::LIBRARY, MetalDevice, MetalProverConfig};
use openvm_metal_common::{Device, InjectedFault, MetalContext, MetalError};
use openvm_stark_backend::prover::ColMajorMatrix;

use super::common::mixture;
use super::*;

/// An engine with a context of its own, so that nothing else allocates from it.
fn own_context(budget: Option<u64>) -> Metal {
    let context = MetalContext::with_budget(Device::Cpu, &[&LIBRARY], budget).expect("CPU");
    let config = SC::default_from_params(small());
    Metal::from_device(MetalDevice::on_context(config, context))
}

#[test]
fn memory_budget_too_small() {
    let mut config = MetalProverConfig::default();
    config.memory_budget = Some(2 << 20);
    let engine = own_context(None).with_prover_config(config);
    let (pk, ctx) = on_device(&engine, &mixture(8, engine.config()));
    let context = engine.device().stream().expect("CPU").context().clone();
    let before = context.memory().allocations;
    let (error, text) = refusal(&engine, &pk, ctx);
    let E::MemoryBudget { estimate, budget } = error else {
        panic!("{text}");
    };
    assert!(budget == 2 << 20 && estimate.peak() > budget);
    contains(&text, &[&estimate.peak().to_string(), "2097152", "prover."]);
    assert_eq!(context.memory().allocations, before, "work was started");
}

#[test]
fn kernel_that_the_device_refused() {
    let engine = own_context(None);
    let (pk, ctx) = on_device(&engine, &mixture(8, engine.config()));
    let context = engine.device().stream().expect("CPU").context().clone();
    let before = context.memory().allocations;
    // No proof needs it.
    context.inject_fault(InjectedFault::Refused("bench/peak"));
    engine
        .check_input(&pk, &ctx)
        .expect("nothing else is missing");
    context.inject_fault(InjectedFault::Refused("gkr/gkr"));
    let (error, text) = refusal(&engine, &pk, ctx);
    assert!(
        matches!(error, E::Device(MetalError::KernelMissing { .. })),
        "{text}"
    );
    contains(&text, &["of unit 'gkr/gkr' cannot run on cpu", "injected"]);
    assert_eq!(context.memory().allocations, before, "work was started");

    // Without interactions nothing of it is needed.
    let (pk, ctx) = on_device(&engine, &input(&FibFixture::new(0, 1, 8)));
    engine
        .prove(&pk, ctx)
        .expect("a proof without interactions");
    context.inject_fault(InjectedFault::Refused("hash/merkle"));
    let (pk, ctx) = on_device(&engine, &input(&FibFixture::new(0, 1, 8)));
    let (_, text) = refusal(&engine, &pk, ctx);
    contains(&text, &["of unit 'hash/merkle'"]);
}

#[test]
fn trace_that_never_reached_the_device() {
    let engine = own_context(Some(4 << 20));
    let (pk, _) = on_device(&engine, &input(&FibFixture::new(0, 1, 8)));
    let rows = 1 << 20;
    let trace = ColMajorMatrix::new(F::zero_vec(2 * rows), 2);
    let trace = engine.device().transport_matrix_to_device(&trace);
    assert_eq!((trace.height(), trace.width()), (rows, 2));
    let air = AirProvingContext::simple(trace, vec![F::ZERO; 3]);
    let (error, text) = refusal(&engine, &pk, ProvingContext::new(vec![(0, air)]));
    let E::Transport(source) = &error else {
        panic!("{text}");
    };
    assert!(
        matches!(**source, E::Device(MetalError::OutOfMemory { .. })),
        "{text}"
    );
    contains(&text, &[&(8 * rows).to_string(), "4194304"]);
}
