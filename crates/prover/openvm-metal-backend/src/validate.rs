//! Requirements of a proof's input, checked before any work starts.

use std::collections::BTreeSet;

use openvm_metal_common::CommandStream;
use openvm_stark_backend::{
    prover::{
        stacked_pcs::StackedLayout, AirProvingContext, DeviceMultiStarkProvingKey,
        DeviceStarkProvingKey, ProvingContext,
    },
    SystemParams,
};
use p3_baby_bear::BabyBear;
use p3_field::TwoAdicField;

use crate::{
    backend::MetalBackend,
    commit::{checked_shape, TraceShape, MAX_L_SKIP, OVERLAP_BYTES, USUAL_L_SKIP},
    device::MetalDevice,
    error::MetalProverError,
    hash::HashScheme,
    kept_codewords::KeptCodewords,
    kernels::LIBRARY,
    matrix::MetalMatrix,
    memory_plan,
};

/// Bits of work that a transcript over BabyBear can ask for.
const MAX_POW_BITS: usize = 30;

/// One AIR of the proof: its index, its key and its traces.
type Present<'a, SC> = (
    usize,
    &'a DeviceStarkProvingKey<MetalBackend<SC>>,
    &'a AirProvingContext<MetalBackend<SC>>,
);

/// Checks traces, key and parameters against each other, the kernels of the device, and the estimated memory
/// against the budget. `committed` is what the commitment keeps of its codewords, if it was made before; else what it has to keep is
/// given.
///
/// # Errors
/// A variant of [`MetalProverError`] that names the AIR and the number at fault.
pub(crate) fn check_input<SC: HashScheme>(
    device: &MetalDevice<SC>,
    mpk: &DeviceMultiStarkProvingKey<MetalBackend<SC>>,
    ctx: &ProvingContext<MetalBackend<SC>>,
    committed: Option<KeptCodewords>,
) -> Result<KeptCodewords, MetalProverError> {
    let s = device.stream()?;
    check_shapes(device, mpk, ctx)?;
    let profile = s.context().device_profile();
    let estimate = memory_plan::estimate(device, mpk, ctx, committed)?;
    check_kernels(s, mpk, ctx, estimate.peak())?;
    if estimate.peak() > memory_plan::plannable(device.prover_config(), profile) {
        return Err(MetalProverError::MemoryBudget {
            estimate: Box::new(estimate),
            budget: device
                .prover_config()
                .memory_budget
                .unwrap_or(profile.budget),
        });
    }
    estimate
        .buffers
        .iter()
        .try_for_each(|buffer| buffer.check(profile))?;
    Ok(estimate.kept)
}

/// Every kernel that the proof may need can run: a device may have refused some, see
/// [`MetalContext::kernel_report`](openvm_metal_common::MetalContext::kernel_report). Units for a first use are compiled now if a
/// proof of `peak` bytes may use them.
fn check_kernels<SC: HashScheme>(
    s: &CommandStream,
    mpk: &DeviceMultiStarkProvingKey<MetalBackend<SC>>,
    ctx: &ProvingContext<MetalBackend<SC>>,
    peak: u64,
) -> Result<(), MetalProverError> {
    let mut airs = ctx
        .per_trace
        .iter()
        .map(|(air_id, _)| &mpk.per_air[*air_id]);
    let interactions = airs.any(|pk| pk.vk.num_interactions() > 0);
    let profile = s.context().device_profile();
    let here = LIBRARY
        .units
        .iter()
        .filter(|unit| unit.prepared.leaves_out(profile).is_none());
    let needed = here.filter(|unit| match unit.name {
        name if name.starts_with("bench/") => false,
        "commit/message_other" => mpk.params.l_skip != USUAL_L_SKIP,
        "hash/absorb" => peak >= OVERLAP_BYTES,
        name if name.starts_with("gkr/") => interactions,
        _ => true,
    });
    s.context().require(needed.flat_map(|unit| unit.kernels))?;
    Ok(())
}

/// Does the work of [`check_input`] without the kernels and the memory.
pub(crate) fn check_shapes<SC: HashScheme>(
    device: &MetalDevice<SC>,
    mpk: &DeviceMultiStarkProvingKey<MetalBackend<SC>>,
    ctx: &ProvingContext<MetalBackend<SC>>,
) -> Result<(), MetalProverError> {
    device.stream()?;
    check_params(device.params())?;
    if device.params() != &mpk.params {
        return Err(MetalProverError::Parameters(
            "the proving key was made for other system parameters than the engine's".into(),
        ));
    }
    let present = present_airs(mpk, ctx)?;
    let mut main = Vec::with_capacity(present.len());
    for &(air_id, pk, air) in &present {
        main.push((air_id, check_air(device.params(), air_id, pk, air)?));
    }
    check_heights(mpk, &main)?;
    check_stacked_width(mpk, &present, &main)
}

fn check_params(params: &SystemParams) -> Result<(), MetalProverError> {
    let refuse = |what: String| Err(MetalProverError::Parameters(what));
    let (log_height, k) = (params.log_stacked_height(), params.k_whir());
    if params.l_skip > MAX_L_SKIP {
        return refuse(format!("l_skip = {} exceeds {MAX_L_SKIP}", params.l_skip));
    }
    let log_code = log_height + params.log_blowup;
    if log_code > BabyBear::TWO_ADICITY {
        return refuse(format!(
            "codewords of 2^{log_code} cells exceed the two-adicity 2^{}",
            BabyBear::TWO_ADICITY
        ));
    }
    if params.num_whir_sumcheck_rounds() > log_height {
        return refuse(format!(
            "{} WHIR rounds of {k} folds exceed the stacked height 2^{log_height}",
            params.num_whir_rounds()
        ));
    }
    if params.num_whir_rounds() == 0 || k == 0 {
        return refuse("WHIR needs at least one round of at least one fold".into());
    }
    for (what, bits) in [
        ("LogUp", params.logup.pow_bits),
        ("batching", params.whir.mu_pow_bits),
        ("folding", params.whir.folding_pow_bits),
        ("query", params.whir.query_phase_pow_bits),
    ] {
        if bits > MAX_POW_BITS {
            return refuse(format!(
                "{bits} bits of {what} work, a field of 31 bits has room for {MAX_POW_BITS}"
            ));
        }
    }
    Ok(())
}

fn present_airs<'a, SC: HashScheme>(
    mpk: &'a DeviceMultiStarkProvingKey<MetalBackend<SC>>,
    ctx: &'a ProvingContext<MetalBackend<SC>>,
) -> Result<Vec<Present<'a, SC>>, MetalProverError> {
    let num_airs = mpk.per_air.len();
    let mut seen = BTreeSet::new();
    let mut present = Vec::with_capacity(ctx.per_trace.len());
    for (air_id, air) in &ctx.per_trace {
        let pk = mpk
            .per_air
            .get(*air_id)
            .ok_or(MetalProverError::UnknownAir {
                air_id: *air_id,
                num_airs,
            })?;
        if !seen.insert(*air_id) {
            let air = pk.air_name.clone();
            return Err(MetalProverError::DuplicateAir {
                air_id: *air_id,
                air,
            });
        }
        present.push((*air_id, pk, air));
    }
    if present.is_empty() {
        return Err(MetalProverError::NoTraces);
    }
    let missing = |air_id: &usize| mpk.per_air[*air_id].vk.is_required && !seen.contains(air_id);
    if let Some(air_id) = (0..num_airs).find(missing) {
        let air = mpk.per_air[air_id].air_name.clone();
        return Err(MetalProverError::MissingAir { air_id, air });
    }
    Ok(present)
}

/// Checks one AIR's traces and public values; the shape of its common main trace.
fn check_air<SC: HashScheme>(
    params: &SystemParams,
    air_id: usize,
    pk: &DeviceStarkProvingKey<MetalBackend<SC>>,
    air: &AirProvingContext<MetalBackend<SC>>,
) -> Result<TraceShape, MetalProverError> {
    let name = || pk.air_name.clone();
    let width = &pk.vk.params.width;
    let check = |part: &str, trace: &MetalMatrix, expected: usize| {
        if let Some(error) = trace.error() {
            return Err(MetalProverError::Transport(error.clone()));
        }
        if trace.width() != expected {
            let (air, part, width) = (name(), part.to_owned(), trace.width());
            return Err(MetalProverError::WidthMismatch {
                air_id,
                air,
                part,
                width,
                expected,
            });
        }
        let what = || format!("AIR {air_id} ({}), {part}", pk.air_name);
        checked_shape(trace, params.log_stacked_height(), what)
    };
    let main = check("common main trace", &air.common_main, width.common_main)?;
    let expected = air.common_main.height();
    let check_part = |part: &str, trace: &MetalMatrix, width: usize| {
        check(part, trace, width)?;
        if trace.height() != expected {
            let (air, part, height) = (name(), part.to_owned(), trace.height());
            return Err(MetalProverError::HeightMismatch {
                air_id,
                air,
                part,
                height,
                expected,
            });
        }
        Ok(())
    };

    pk.other_data.checked()?;
    if let Some(preprocessed) = &pk.preprocessed_data {
        preprocessed.data.checked()?;
        check_part(
            "preprocessed trace",
            &preprocessed.trace,
            width.preprocessed.unwrap_or(0),
        )?;
    }
    if air.cached_mains.len() != width.cached_mains.len() {
        let (cached, expected) = (air.cached_mains.len(), width.cached_mains.len());
        return Err(MetalProverError::CachedMismatch {
            air_id,
            air: name(),
            cached,
            expected,
        });
    }
    for (i, (cached, &width)) in air.cached_mains.iter().zip(&width.cached_mains).enumerate() {
        cached.data.checked()?;
        check_part(&format!("cached trace {i}"), &cached.trace, width)?;
        if cached.data.root != cached.commitment {
            let what = format!("AIR {air_id} ({}), cached trace {i}", pk.air_name);
            return Err(MetalProverError::CommitmentMismatch { what });
        }
    }
    let (values, expected) = (air.public_values.len(), pk.vk.params.num_public_values);
    if values != expected {
        let air = name();
        return Err(MetalProverError::PublicValuesMismatch {
            air_id,
            air,
            values,
            expected,
        });
    }
    Ok(main)
}

/// The linear constraints on trace heights, which bound the interactions of every bus.
fn check_heights<SC: HashScheme>(
    mpk: &DeviceMultiStarkProvingKey<MetalBackend<SC>>,
    main: &[(usize, TraceShape)],
) -> Result<(), MetalProverError> {
    let l_skip = mpk.params.l_skip;
    for (index, constraint) in mpk.trace_height_constraints.iter().enumerate() {
        let term = |&(air_id, shape): &(usize, TraceShape)| {
            let coefficient = constraint.coefficients.get(air_id).copied().unwrap_or(0);
            (
                u64::from(coefficient) << shape.log_height.max(l_skip),
                air_id,
            )
        };
        let sum: u64 = main.iter().map(|air| term(air).0).sum();
        let threshold = u64::from(constraint.threshold);
        if sum >= threshold {
            let (contribution, air_id) = main.iter().map(term).max().unwrap_or_default();
            let air = mpk.per_air[air_id].air_name.clone();
            return Err(MetalProverError::TooManyInteractions {
                index,
                sum,
                threshold,
                air_id,
                air,
                contribution,
            });
        }
    }
    Ok(())
}

/// The number of stacked columns over all commitments is bounded by `w_stack`.
fn check_stacked_width<SC: HashScheme>(
    mpk: &DeviceMultiStarkProvingKey<MetalBackend<SC>>,
    present: &[Present<'_, SC>],
    main: &[(usize, TraceShape)],
) -> Result<(), MetalProverError> {
    let params = &mpk.params;
    let mut sorted: Vec<_> = main
        .iter()
        .map(|(_, shape)| (shape.width, shape.log_height))
        .collect();
    sorted.sort_by_key(|&(_, log_height)| std::cmp::Reverse(log_height));
    let common = StackedLayout::new(params.l_skip, params.log_stacked_height(), sorted)?.width();

    let mut widths = vec![(common, "the common main traces".to_owned())];
    for &(air_id, pk, air) in present {
        let committed = pk.preprocessed_data.iter().chain(&air.cached_mains);
        widths.extend(committed.enumerate().map(|(i, part)| {
            let what = format!("AIR {air_id} ({}), committed trace {i}", pk.air_name);
            (part.data.layout.width(), what)
        }));
    }
    for &(air_id, pk, air) in present {
        for part in pk.preprocessed_data.iter().chain(&air.cached_mains) {
            let layout = &part.data.layout;
            let height = 1usize << params.log_stacked_height();
            if layout.height() != height || layout.l_skip() != params.l_skip {
                return Err(MetalProverError::Parameters(format!(
                    "AIR {air_id} ({}): a trace was committed with stacked height {} and l_skip {}, \
                     the engine has {height} and {}",
                    pk.air_name,
                    layout.height(),
                    layout.l_skip(),
                    params.l_skip
                )));
            }
        }
    }
    let width: usize = widths.iter().map(|(width, _)| width).sum();
    if width > params.w_stack {
        let (contribution, what) = widths.into_iter().max().unwrap_or_default();
        let w_stack = params.w_stack;
        return Err(MetalProverError::StackedWidthExceeded {
            width,
            w_stack,
            what,
            contribution,
        });
    }
    Ok(())
}
