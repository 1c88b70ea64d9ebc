//! The phases of a proof behind the traits of `openvm-stark-backend`: from the traits' inputs to what each phase
//! works on.

use std::sync::Arc;

use openvm_metal_common::CommandStream;
use openvm_stark_backend::{
    poly_common::Squarable,
    proof::{BatchConstraintProof, GkrProof, StackingProof, WhirProof},
    prover::{
        error::WhirProverError, AirProvingContext, DeviceMultiStarkProvingKey, MultiRapProver,
        OpeningProver, ProverDevice, ProvingContext, TraceCommitter,
    },
    FiatShamirTranscript,
};

use crate::{
    backend::{MetalBackend, Transported},
    beside::Later,
    commit::{stacked_commit_beside, CommitParams},
    constraints::{
        prove_constraints, ConstraintInput, ConstraintOutput, PartInput, PlannedConstraints,
        TraceInput,
    },
    device::MetalDevice,
    error::MetalProverError,
    hash::HashScheme,
    matrix::MetalMatrix,
    memory_plan::kept_codewords,
    openings::{
        stacked_reduction::{
            host_log_rows, prove_stacked_reduction, PlannedReduction, ReductionPlan, StackedCommit,
        },
        whir::{prove_whir, WhirCommit},
    },
    prelude::{EF, F},
    stacked::StackedPcsDataMetal,
    validate::check_input,
};

impl<SC: HashScheme, TS: FiatShamirTranscript<SC> + 'static> ProverDevice<MetalBackend<SC>, TS>
    for MetalDevice<SC>
{
    type Error = MetalProverError;
    /// The queue, or why there is none.
    type DeviceCtx = Result<CommandStream, Arc<MetalProverError>>;

    fn device_ctx(&self) -> &Self::DeviceCtx {
        self.queue()
    }
}

impl<SC: HashScheme> TraceCommitter<MetalBackend<SC>> for MetalDevice<SC> {
    type Error = MetalProverError;

    fn commit(
        &self,
        traces: &[&MetalMatrix<F>],
    ) -> Result<(SC::Digest, Transported<StackedPcsDataMetal<SC>>), MetalProverError> {
        let s = self.stream()?;
        let mut params = CommitParams::from(self.params());
        params.memory_budget = self.prover_config().memory_budget;
        params.kept = self.checked_input().unwrap_or_else(|| {
            kept_codewords(
                self.prover_config(),
                s.context().device_profile(),
                params,
                traces,
            )
        });
        let upload = || self.upload_planned();
        let (root, data) = stacked_commit_beside(s, params, traces, upload)?;
        Ok((root, Transported::ok(data)))
    }
}

/// Proof of LogUp-GKR, and of the batch sumcheck.
type ConstraintsProof<SC> = (GkrProof<SC>, BatchConstraintProof<SC>);

impl<SC: HashScheme, TS: FiatShamirTranscript<SC> + 'static> MultiRapProver<MetalBackend<SC>, TS>
    for MetalDevice<SC>
{
    type PartialProof = ConstraintsProof<SC>;
    type Artifacts = OpeningPoint;
    type Error = MetalProverError;

    fn prove_rap_constraints(
        &self,
        transcript: &mut TS,
        mpk: &DeviceMultiStarkProvingKey<MetalBackend<SC>>,
        ctx: &ProvingContext<MetalBackend<SC>>,
        common_main_pcs_data: &Transported<StackedPcsDataMetal<SC>>,
    ) -> Result<(Self::PartialProof, OpeningPoint), MetalProverError> {
        let committed = common_main_pcs_data.checked()?;
        if self.checked_input().is_none() {
            check_input(self, mpk, ctx, Some(committed.kept))?;
        }
        prove_zerocheck_and_logup(self, transcript, mpk, ctx, committed)
    }
}

impl<SC: HashScheme, TS: FiatShamirTranscript<SC> + 'static> OpeningProver<MetalBackend<SC>, TS>
    for MetalDevice<SC>
{
    type OpeningProof = (StackingProof<SC>, WhirProof<SC>);
    type OpeningPoints = OpeningPoint;
    type Error = MetalProverError;

    fn prove_openings(
        &self,
        transcript: &mut TS,
        mpk: &DeviceMultiStarkProvingKey<MetalBackend<SC>>,
        ctx: ProvingContext<MetalBackend<SC>>,
        common_main_pcs_data: Transported<StackedPcsDataMetal<SC>>,
        point: OpeningPoint,
    ) -> Result<(StackingProof<SC>, WhirProof<SC>), MetalProverError> {
        prove_openings(
            self,
            transcript,
            mpk,
            ctx,
            common_main_pcs_data.checked()?,
            point,
        )
    }
}

/// The point at which all columns and their rotations are to be opened, with the plan of the reduction that does: of one proof.
pub struct OpeningPoint {
    r: Vec<EF>,
    reduction: PlannedReduction,
}

impl OpeningPoint {
    /// The coordinates: of the skip variable, then those of the tallest trace's rows.
    pub fn r(&self) -> &[EF] {
        &self.r
    }
}

/// Zerocheck and LogUp of all traces, which are sorted by falling height.
fn prove_zerocheck_and_logup<SC: HashScheme, TS: FiatShamirTranscript<SC> + 'static>(
    device: &MetalDevice<SC>,
    transcript: &mut TS,
    mpk: &DeviceMultiStarkProvingKey<MetalBackend<SC>>,
    ctx: &ProvingContext<MetalBackend<SC>>,
    common_main: &StackedPcsDataMetal<SC>,
) -> Result<(ConstraintsProof<SC>, OpeningPoint), MetalProverError> {
    let (s, config) = (device.stream()?, device.prover_config());
    let planned = match device.take_planned() {
        Some(planned) => planned,
        None => plan_constraints(device, mpk, ctx)?,
    };
    let host_log_rows = host_log_rows(s, config, transcript);
    let reduction = plan_reduction(device, mpk, ctx, common_main, host_log_rows)?;
    let ConstraintOutput {
        gkr,
        batch,
        r,
        meanwhile: reduction,
    } = prove_constraints(s, config, transcript, planned, || {
        reduction.join()?.upload(s)
    })?;
    Ok(((gkr, batch), OpeningPoint { r, reduction }))
}

/// Lets a helper plan the reduction of all columns to the stacked matrices.
fn plan_reduction<SC: HashScheme>(
    device: &MetalDevice<SC>,
    mpk: &DeviceMultiStarkProvingKey<MetalBackend<SC>>,
    ctx: &ProvingContext<MetalBackend<SC>>,
    common_main: &StackedPcsDataMetal<SC>,
    host_log_rows: usize,
) -> Result<Later<Result<ReductionPlan, MetalProverError>>, MetalProverError> {
    let (l_skip, n_stack) = (device.params().l_skip, device.params().n_stack);
    let committed = committed_parts(mpk, ctx);
    let mut data = vec![common_main];
    for part in &committed {
        data.push(part.checked()?);
    }
    let shapes = data
        .iter()
        .map(|data| (data.layout.clone(), data.ranges.clone()));
    let (shapes, need_rot) = (shapes.collect::<Vec<_>>(), rotations(mpk, ctx));
    Ok(Later::new(move || {
        let commits = shapes.iter().zip(&need_rot);
        let commits: Vec<_> = commits
            .map(|((layout, ranges), need_rot)| StackedCommit {
                layout,
                ranges,
                need_rot,
            })
            .collect();
        ReductionPlan::new(l_skip, n_stack, &commits, host_log_rows)
    }))
}

/// The commitments after that of the common main traces: for each AIR in sorted order its preprocessed and cached traces.
fn committed_parts<SC: HashScheme>(
    mpk: &DeviceMultiStarkProvingKey<MetalBackend<SC>>,
    ctx: &ProvingContext<MetalBackend<SC>>,
) -> Vec<Arc<Transported<StackedPcsDataMetal<SC>>>> {
    let of_air = |(air_id, air): &(usize, AirProvingContext<MetalBackend<SC>>)| {
        let preprocessed = &mpk.per_air[*air_id].preprocessed_data;
        let parts = preprocessed.iter().chain(&air.cached_mains);
        parts.map(|part| part.data.clone()).collect::<Vec<_>>()
    };
    ctx.per_trace.iter().flat_map(of_air).collect()
}

/// Flags of the matrices of each commitment that are opened at their rotation too.
fn rotations<SC: HashScheme>(
    mpk: &DeviceMultiStarkProvingKey<MetalBackend<SC>>,
    ctx: &ProvingContext<MetalBackend<SC>>,
) -> Vec<Vec<bool>> {
    let rotation = |air_id: usize| mpk.per_air[air_id].vk.params.need_rot;
    let mut need_rot = vec![ctx.per_trace.iter().map(|(id, _)| rotation(*id)).collect()];
    for (air_id, air) in &ctx.per_trace {
        let preprocessed = usize::from(mpk.per_air[*air_id].preprocessed_data.is_some());
        let parts = preprocessed + air.cached_mains.len();
        need_rot.extend(std::iter::repeat_n(vec![rotation(*air_id)], parts));
    }
    need_rot
}

/// Lets a helper plan the constraints of all traces, which are sorted by falling height.
pub(crate) fn plan_constraints<SC: HashScheme>(
    device: &MetalDevice<SC>,
    mpk: &DeviceMultiStarkProvingKey<MetalBackend<SC>>,
    ctx: &ProvingContext<MetalBackend<SC>>,
) -> Result<PlannedConstraints, MetalProverError> {
    let mut traces = Vec::with_capacity(ctx.per_trace.len());
    for (air_id, air) in &ctx.per_trace {
        let pk = &mpk.per_air[*air_id];
        let committed = pk.preprocessed_data.iter().chain(&air.cached_mains);
        let parts = committed
            .map(|part| &part.trace)
            .chain([&air.common_main])
            .map(part_input)
            .collect();
        traces.push(TraceInput {
            air_data: pk.other_data.checked()?.clone(),
            log_height: air.common_main.height().max(1).ilog2() as usize,
            parts,
            public_values: air.public_values.clone(),
        });
    }
    let input = ConstraintInput {
        l_skip: mpk.params.l_skip,
        max_constraint_degree: mpk.max_constraint_degree,
        logup_pow_bits: mpk.params.logup.pow_bits,
        traces,
    };
    let profile = device.stream()?.context().device_profile();
    Ok(PlannedConstraints::begin(
        profile,
        device.prover_config(),
        input,
    ))
}

fn part_input(trace: &MetalMatrix<F>) -> PartInput {
    let (buffer, offset) = trace.cells().parts();
    PartInput {
        buffer: buffer.clone(),
        offset: offset as u64,
        column_stride: trace.height() as u64,
        log_row_stride: 0,
    }
}

/// Opens all columns at the point: stacked reduction, then WHIR on all stacked matrices.
///
/// The order of the commitments is that of the transcript: common main, then for each AIR in sorted
/// order its preprocessed and cached traces.
fn prove_openings<SC: HashScheme, TS: FiatShamirTranscript<SC> + 'static>(
    device: &MetalDevice<SC>,
    transcript: &mut TS,
    mpk: &DeviceMultiStarkProvingKey<MetalBackend<SC>>,
    ctx: ProvingContext<MetalBackend<SC>>,
    common_main: &StackedPcsDataMetal<SC>,
    point: OpeningPoint,
) -> Result<(StackingProof<SC>, WhirProof<SC>), MetalProverError> {
    let s = device.stream()?;
    let _stage = s.stage("prover.openings");
    let params = device.params();

    let (need_rot, committed) = (rotations(mpk, &ctx), committed_parts(mpk, &ctx));
    // The traces live on in the ranges of the commitments, as far as those refer to them.
    drop(ctx);
    let mut data = vec![common_main];
    for part in &committed {
        data.push(part.checked()?);
    }

    let commits: Vec<_> = data
        .iter()
        .zip(&need_rot)
        .map(|(data, need_rot): (_, &Vec<bool>)| StackedCommit {
            layout: &data.layout,
            ranges: &data.ranges,
            need_rot,
        })
        .collect();
    let OpeningPoint { r, reduction } = point;
    let (stacking, u) = prove_stacked_reduction(
        s,
        device.prover_config(),
        transcript,
        &reduction,
        &commits,
        &r,
    )?;
    drop(reduction);

    let (&u0, u_rest) = u.split_first().ok_or(WhirProverError::UPrismaEmpty)?;
    let u_cube: Vec<EF> = u0
        .exp_powers_of_2()
        .take(params.l_skip)
        .chain(u_rest.iter().copied())
        .collect();
    let commits: Vec<_> = data
        .iter()
        .map(|data| WhirCommit {
            ranges: &data.ranges,
            width: data.layout.width(),
            tree: &data.tree,
            kept: data.kept,
        })
        .collect();
    let whir = prove_whir(
        s,
        device.prover_config(),
        transcript,
        params.l_skip,
        params.log_blowup,
        &params.whir,
        &commits,
        &u_cube,
    )?;
    Ok((stacking, whir))
}
