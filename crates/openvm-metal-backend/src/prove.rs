//! The phases of a proof behind the traits of `openvm-stark-backend`: from the traits' inputs to what each phase
//! works on.

use std::sync::Arc;

use openvm_metal_common::CommandStream;
use openvm_stark_backend::{
    poly_common::Squarable,
    proof::{BatchConstraintProof, GkrProof, StackingProof, WhirProof},
    prover::{
        error::WhirProverError, CommittedTraceData, DeviceMultiStarkProvingKey, MultiRapProver,
        OpeningProver, ProverDevice, ProvingContext, TraceCommitter,
    },
    FiatShamirTranscript,
};

use crate::{
    backend::{MetalBackend, Transported},
    commit::{stacked_commit, CommitParams},
    constraints::{prove_constraints, ConstraintInput, ConstraintOutput, PartInput, TraceInput},
    device::MetalDevice,
    error::MetalProverError,
    matrix::MetalMatrix,
    memory_plan::kept_codewords,
    openings::{
        stacked_reduction::{prove_stacked_reduction, StackedCommit},
        whir::{prove_whir, WhirCommit},
    },
    prelude::{Digest, EF, F, SC},
    stacked::StackedPcsDataMetal,
    validate::check_input,
};

impl<TS: FiatShamirTranscript<SC> + 'static> ProverDevice<MetalBackend, TS> for MetalDevice {
    type Error = MetalProverError;
    /// The queue, or why there is none.
    type DeviceCtx = Result<CommandStream, Arc<MetalProverError>>;

    fn device_ctx(&self) -> &Self::DeviceCtx {
        self.queue()
    }
}

impl TraceCommitter<MetalBackend> for MetalDevice {
    type Error = MetalProverError;

    fn commit(
        &self,
        traces: &[&MetalMatrix<F>],
    ) -> Result<(Digest, Transported<StackedPcsDataMetal>), MetalProverError> {
        let s = self.stream()?;
        let mut params = CommitParams::from(self.params());
        params.kept = self.checked_input().unwrap_or_else(|| {
            kept_codewords(
                self.prover_config(),
                s.context().device_profile(),
                params,
                traces,
            )
        });
        let (root, data) = stacked_commit(s, params, traces)?;
        Ok((root, Transported::ok(data)))
    }
}

impl<TS: FiatShamirTranscript<SC> + 'static> MultiRapProver<MetalBackend, TS> for MetalDevice {
    type PartialProof = (GkrProof<SC>, BatchConstraintProof<SC>);
    /// The point `r` at which the columns and their rotations are to be opened.
    type Artifacts = Vec<EF>;
    type Error = MetalProverError;

    fn prove_rap_constraints(
        &self,
        transcript: &mut TS,
        mpk: &DeviceMultiStarkProvingKey<MetalBackend>,
        ctx: &ProvingContext<MetalBackend>,
        common_main_pcs_data: &Transported<StackedPcsDataMetal>,
    ) -> Result<(Self::PartialProof, Vec<EF>), MetalProverError> {
        let committed = common_main_pcs_data.checked()?;
        if self.checked_input().is_none() {
            check_input(self, mpk, ctx, Some(committed.kept))?;
        }
        let (gkr, batch, r) = prove_zerocheck_and_logup(self, transcript, mpk, ctx)?;
        Ok(((gkr, batch), r))
    }
}

impl<TS: FiatShamirTranscript<SC> + 'static> OpeningProver<MetalBackend, TS> for MetalDevice {
    type OpeningProof = (StackingProof<SC>, WhirProof<SC>);
    type OpeningPoints = Vec<EF>;
    type Error = MetalProverError;

    fn prove_openings(
        &self,
        transcript: &mut TS,
        mpk: &DeviceMultiStarkProvingKey<MetalBackend>,
        ctx: ProvingContext<MetalBackend>,
        common_main_pcs_data: Transported<StackedPcsDataMetal>,
        r: Vec<EF>,
    ) -> Result<(StackingProof<SC>, WhirProof<SC>), MetalProverError> {
        prove_openings(
            self,
            transcript,
            mpk,
            ctx,
            common_main_pcs_data.checked()?,
            &r,
        )
    }
}

/// Zerocheck and LogUp of all traces, which are sorted by falling height.
fn prove_zerocheck_and_logup<TS: FiatShamirTranscript<SC> + 'static>(
    device: &MetalDevice,
    transcript: &mut TS,
    mpk: &DeviceMultiStarkProvingKey<MetalBackend>,
    ctx: &ProvingContext<MetalBackend>,
) -> Result<ConstraintOutput, MetalProverError> {
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
            air_data: pk.other_data.checked()?,
            log_height: air.common_main.height().max(1).ilog2() as usize,
            parts,
            public_values: &air.public_values,
        });
    }
    let input = ConstraintInput {
        l_skip: mpk.params.l_skip,
        max_constraint_degree: mpk.max_constraint_degree,
        logup_pow_bits: mpk.params.logup.pow_bits,
        traces,
    };
    prove_constraints(device.stream()?, device.prover_config(), transcript, &input)
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

/// Opens all columns at `r`: stacked reduction, then WHIR on all stacked matrices.
///
/// The order of the commitments is that of the transcript: common main, then for each AIR in sorted
/// order its preprocessed and cached traces.
fn prove_openings<TS: FiatShamirTranscript<SC> + 'static>(
    device: &MetalDevice,
    transcript: &mut TS,
    mpk: &DeviceMultiStarkProvingKey<MetalBackend>,
    ctx: ProvingContext<MetalBackend>,
    common_main: &StackedPcsDataMetal,
    r: &[EF],
) -> Result<(StackingProof<SC>, WhirProof<SC>), MetalProverError> {
    let s = device.stream()?;
    let _stage = s.stage("prover.openings");
    let params = device.params();

    let rotations = |air_id: usize| mpk.per_air[air_id].vk.params.need_rot;
    let mut need_rot = vec![ctx.per_trace.iter().map(|(id, _)| rotations(*id)).collect()];
    let mut committed: Vec<Arc<Transported<StackedPcsDataMetal>>> = vec![];
    for (air_id, air) in &ctx.per_trace {
        let preprocessed = &mpk.per_air[*air_id].preprocessed_data;
        for CommittedTraceData { data, .. } in preprocessed.iter().chain(&air.cached_mains) {
            committed.push(data.clone());
            need_rot.push(vec![rotations(*air_id)]);
        }
    }
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
    let (stacking, u) = prove_stacked_reduction(
        s,
        device.prover_config(),
        transcript,
        params.l_skip,
        params.n_stack,
        &commits,
        r,
    )?;

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
