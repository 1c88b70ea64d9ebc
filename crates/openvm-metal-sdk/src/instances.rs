//! The methods of [`MetalSdk`], compiled with this crate.
//!
//! The virtual machine is generic code and takes minutes to compile. A crate that is compiled without the sharing of
//! generic code (optimisation levels 2 and 3) makes its own copy; at 0, 1 and `s` it takes these.

use crate::{
    app::AppProver,
    builder::SdkBuilder,
    engine::MetalEngine,
    sdk::MetalSdk,
    tasks::{SegmentWorker, TaskVerifier},
};

type Worker = SegmentWorker<MetalEngine>;
type Verifier = TaskVerifier<MetalEngine>;
type Prover = AppProver<MetalEngine>;

/// Addresses of what other crates call. Never inlined: then it would be compiled where it is called.
#[doc(hidden)]
#[inline(never)]
pub fn methods() -> [*const (); 22] {
    [
        SdkBuilder::<MetalEngine>::build as *const (),
        MetalSdk::builder as *const (),
        MetalSdk::app_prover_of as *const (),
        MetalSdk::prove_exe as *const (),
        MetalSdk::app_pk as *const (),
        MetalSdk::app_vk as *const (),
        MetalSdk::agg_pk as *const (),
        MetalSdk::agg_vk as *const (),
        MetalSdk::aggregation_keys as *const (),
        MetalSdk::baseline_of as *const (),
        MetalSdk::plan_of as *const (),
        MetalSdk::worker_of as *const (),
        MetalSdk::task_verifier_of as *const (),
        MetalSdk::prove_node as *const (),
        Prover::prove as *const (),
        Prover::execute_metered as *const (),
        Prover::exe_commit as *const (),
        Worker::prove as *const (),
        Worker::end as *const (),
        Verifier::segment as *const (),
        Verifier::node as *const (),
        Verifier::assemble as *const (),
    ]
}
