//! Host to device: proving keys, matrices, committed traces.
//!
//! A committed trace is uploaded as its stacked matrix, once; its trace is a view of the same memory
//! where the layout allows. Codewords and digests are computed again on the device, which costs less
//! than moving them, and the root is compared with the commitment.

use std::{path::Path, sync::Arc};

use openvm_metal_common::{DeviceKind, MetalBuffer};
use openvm_stark_backend::{
    keygen::types::{MultiStarkProvingKey, StarkProvingKey},
    p3_matrix::dense::{RowMajorMatrix, RowMajorMatrixViewMut},
    prover::{
        stacked_pcs::StackedPcsData, ColMajorMatrix, CommittedTraceData, CpuColMajorBackend,
        DeviceDataTransporter, DeviceMultiStarkProvingKey, DeviceStarkProvingKey, MatrixDimensions,
    },
    StarkProtocolConfig,
};
use rayon::prelude::*;

use crate::{
    backend::{MetalBackend, Transported},
    commit::{commit_stacked, CommitParams},
    constraints::{generated, AirDataMetal},
    device::MetalDevice,
    error::MetalProverError,
    hash::HashScheme,
    kept_codewords::KeptCodewords,
    matrix::{MetalMatrix, MetalSliceOwned},
    memory::PlannedBuffer,
    ntt::transpose,
    prelude::F,
    stacked::{StackedPcsDataMetal, StackedRange},
};

type HostPcsData<SC> = StackedPcsData<F, <SC as StarkProtocolConfig>::Digest>;
type HostCommittedTrace<SC> = CommittedTraceData<CpuColMajorBackend<SC>>;

impl<SC: HashScheme> MetalDevice<SC> {
    /// Uploads a column-major matrix of any height, 0 included.
    ///
    /// # Errors
    /// If the device cannot hold it.
    pub fn upload(&self, matrix: &ColMajorMatrix<F>) -> Result<MetalMatrix<F>, MetalProverError> {
        let s = self.stream()?;
        trace_buffer(matrix.height(), matrix.width()).check(s.context().device_profile())?;
        let buffer = MetalBuffer::from_host(s, &matrix.values)?;
        Ok(MetalMatrix::from_buffer(
            buffer,
            matrix.height(),
            matrix.width(),
        ))
    }

    /// Uploads a row-major matrix of any height, 0 included. Where the device uses the host's memory, the host writes the columns there;
    /// elsewhere the rows are copied, and transposed on the device.
    ///
    /// # Errors
    /// If the device cannot hold it, or its own memory not twice.
    pub fn upload_row_major(
        &self,
        matrix: &RowMajorMatrix<F>,
    ) -> Result<MetalMatrix<F>, MetalProverError> {
        let s = self.stream()?;
        let width = matrix.width;
        let height = matrix.values.len().checked_div(width).unwrap_or(0);
        trace_buffer(height, width).check(s.context().device_profile())?;
        let transposed = |columns: &mut [F]| {
            let mut columns = RowMajorMatrixViewMut::new(columns, height);
            matrix.transpose_into(&mut columns);
        };
        let columns = MetalBuffer::filled_by_host(s.context(), height * width, transposed)?;
        if let Some(columns) = columns {
            return Ok(MetalMatrix::from_buffer(columns, height, width));
        }
        let rows = MetalBuffer::from_host(s, &matrix.values)?;
        if height <= 1 || width <= 1 {
            return Ok(MetalMatrix::from_buffer(rows, height, width));
        }
        let mut columns = MetalBuffer::uninit(s.context(), rows.len())?;
        transpose(
            s,
            &rows.as_slice(),
            &mut columns.as_slice_mut(),
            height,
            width,
        )?;
        Ok(MetalMatrix::from_buffer(columns, height, width))
    }

    /// Downloads a matrix.
    ///
    /// # Errors
    /// If the matrix never reached the device, or the device fails.
    pub fn download(&self, matrix: &MetalMatrix<F>) -> Result<Vec<F>, MetalProverError> {
        match matrix.error() {
            Some(error) => Err(MetalProverError::Transport(error.clone())),
            None => Ok(matrix.slice().to_host(self.stream()?)?),
        }
    }

    fn upload_pcs_data(
        &self,
        host: &HostPcsData<SC>,
    ) -> Result<StackedPcsDataMetal<SC>, MetalProverError> {
        let s = self.stream()?;
        let layout = host.layout.clone();
        let code_height = host.tree.backing_matrix().height();
        let params = CommitParams {
            l_skip: layout.l_skip(),
            log_height: log2(layout.height()),
            log_blowup: log2(code_height / layout.height().max(1)),
            k_whir: log2(host.tree.rows_per_query()),
            kept: KeptCodewords::All,
            memory_budget: self.prover_config().memory_budget,
        };
        params.check_code(s, layout.width(), SC::RATE)?;
        let buffer = Arc::new(MetalBuffer::from_host(s, &host.matrix.values)?);
        let cells = MetalSliceOwned::new(buffer.clone(), 0, buffer.len());
        let ranges = vec![StackedRange { start: 0, cells }];
        let (root, data) = commit_stacked(s, params, layout, ranges, || Ok(()))?;
        if root != host.commit()? {
            let what = "a trace committed on the host".to_owned();
            return Err(MetalProverError::CommitmentMismatch { what });
        }
        Ok(data)
    }

    fn upload_committed_trace(
        &self,
        commitment: SC::Digest,
        trace: &ColMajorMatrix<F>,
        host: &HostPcsData<SC>,
    ) -> CommittedTraceData<MetalBackend<SC>> {
        let data = self.upload_pcs_data(host);
        let view = data.as_ref().ok().and_then(|data| trace_view(data, trace));
        let trace = view.unwrap_or_else(|| self.transport_matrix_to_device(trace));
        CommittedTraceData {
            commitment,
            trace,
            data: Arc::new(Transported::from_result(data)),
        }
    }

    /// Brings a proving key with its [`compiled_airs`] to the device.
    pub fn transport_compiled(
        &self,
        mpk: &MultiStarkProvingKey<SC>,
        compiled: &[Transported<AirDataMetal>],
    ) -> DeviceMultiStarkProvingKey<MetalBackend<SC>> {
        let _span = tracing::info_span!("transport_pk_to_device").entered();
        let keys = mpk.per_air.iter().zip(compiled);
        let mut per_air: Vec<_> = keys
            .map(|(pk, programs)| self.upload_air(pk, programs.clone()))
            .collect();
        if let Err(error) = self.start_kernels(&mut per_air) {
            let error = Arc::new(error);
            for air in &mut per_air {
                air.other_data = Transported::failed(error.clone());
            }
        }
        DeviceMultiStarkProvingKey::new(
            per_air,
            mpk.trace_height_constraints.clone(),
            mpk.max_constraint_degree,
            mpk.params.clone(),
            mpk.vk_pre_hash,
        )
    }

    fn upload_air(
        &self,
        pk: &StarkProvingKey<SC>,
        programs: Transported<AirDataMetal>,
    ) -> DeviceStarkProvingKey<MetalBackend<SC>> {
        let preprocessed_data = pk.preprocessed_data.as_ref().map(|data| {
            let trace = data.mat_view(0).to_matrix();
            let commitment = pk.vk.preprocessed_data.as_ref().map(|vk| vk.commit);
            let commitment = commitment
                .or_else(|| data.commit().ok())
                .unwrap_or_default();
            self.upload_committed_trace(commitment, &trace, data)
        });
        DeviceStarkProvingKey {
            air_name: pk.air_name.clone(),
            vk: pk.vk.clone(),
            preprocessed_data,
            other_data: programs,
        }
    }

    /// Begins to compile kernels for the constraints of all AIRs.
    fn start_kernels(
        &self,
        per_air: &mut [DeviceStarkProvingKey<MetalBackend<SC>>],
    ) -> Result<(), MetalProverError> {
        let Ok(s) = self.queue() else {
            return Ok(());
        };
        let airs = per_air.iter().filter_map(|air| air.other_data.get());
        let programs = airs.map(AirDataMetal::programs);
        let kernels = generated::start(s.context(), self.prover_config(), programs)?;
        let airs = per_air.iter_mut();
        for (air, kernels) in airs.filter_map(|air| air.other_data.get_mut()).zip(kernels) {
            air.set_kernels(kernels);
        }
        Ok(())
    }
}

/// Compiles the kernels that proofs with a key find in `folder` on devices of a kind, for machines without a compiler:
/// the number of units.
///
/// # Errors
/// Constraints that cannot be read, no compiler, or its words.
pub fn compile_kernels<SC: HashScheme>(
    kind: DeviceKind,
    folder: &Path,
    mpk: &MultiStarkProvingKey<SC>,
) -> Result<usize, MetalProverError> {
    let airs = programs_of_airs(mpk)?;
    generated::compile_ahead(kind, folder, airs.iter().map(AirDataMetal::programs))
}

/// The texts of these kernels, a unit each.
///
/// # Errors
/// Constraints that cannot be read.
pub fn kernel_texts<SC: HashScheme>(
    kind: DeviceKind,
    mpk: &MultiStarkProvingKey<SC>,
) -> Result<Vec<String>, MetalProverError> {
    let airs = programs_of_airs(mpk)?;
    Ok(generated::texts(
        kind,
        airs.iter().map(AirDataMetal::programs),
    ))
}

/// Programs of the constraints of each AIR, which are the same on every device. A proof that needs an AIR whose programs cannot be compiled is refused.
pub fn compiled_airs<SC: HashScheme>(
    mpk: &MultiStarkProvingKey<SC>,
) -> Vec<Transported<AirDataMetal>> {
    // Some take a hundred times as long as others.
    let airs = mpk.per_air.par_iter().with_max_len(1);
    airs.map(|pk| Transported::from_result(programs(pk)))
        .collect()
}

fn programs_of_airs<SC: HashScheme>(
    mpk: &MultiStarkProvingKey<SC>,
) -> Result<Vec<AirDataMetal>, MetalProverError> {
    mpk.per_air.par_iter().map(programs).collect()
}

/// Programs of the constraints of an AIR.
fn programs<SC: HashScheme>(pk: &StarkProvingKey<SC>) -> Result<AirDataMetal, MetalProverError> {
    Ok(AirDataMetal::compile(&pk.air_name, &pk.vk)?)
}

fn trace_buffer(height: usize, width: usize) -> PlannedBuffer {
    PlannedBuffer::matrix("transport", "a trace", height as u64, width as u64)
}

fn log2(x: usize) -> usize {
    x.checked_ilog2().unwrap_or(0) as usize
}

/// The single trace of a commitment as a view of its stacked matrix, if its rows are not strided.
fn trace_view<SC: HashScheme>(
    data: &StackedPcsDataMetal<SC>,
    trace: &ColMajorMatrix<F>,
) -> Option<MetalMatrix<F>> {
    let (height, width) = (trace.height(), trace.width());
    let fits = data.layout.mat_starts.len() == 1
        && data.layout.sorted_cols.len() == width
        && data
            .layout
            .sorted_cols
            .first()
            .is_some_and(|(_, _, slice)| {
                1 << slice.log_height() == height && slice.log_height() >= data.layout.l_skip()
            });
    let range = data.ranges.first().filter(|_| fits)?;
    let (buffer, offset) = range.cells.parts();
    let cells = MetalSliceOwned::new(buffer.clone(), offset, height * width);
    Some(MetalMatrix::from_slice(cells, height, width))
}

impl<SC: HashScheme> DeviceDataTransporter<SC, MetalBackend<SC>> for MetalDevice<SC> {
    fn transport_pk_to_device(
        &self,
        mpk: &MultiStarkProvingKey<SC>,
    ) -> DeviceMultiStarkProvingKey<MetalBackend<SC>> {
        self.transport_compiled(mpk, &compiled_airs(mpk))
    }

    fn transport_matrix_to_device(&self, matrix: &ColMajorMatrix<F>) -> MetalMatrix<F> {
        self.upload(matrix).unwrap_or_else(|error| {
            MetalMatrix::failed(Arc::new(error), matrix.height(), matrix.width())
        })
    }

    fn transport_pcs_data_to_device(
        &self,
        pcs_data: &HostPcsData<SC>,
    ) -> Transported<StackedPcsDataMetal<SC>> {
        Transported::from_result(self.upload_pcs_data(pcs_data))
    }

    fn transport_committed_trace_data_to_device(
        &self,
        committed: &HostCommittedTrace<SC>,
    ) -> CommittedTraceData<MetalBackend<SC>> {
        self.upload_committed_trace(committed.commitment, &committed.trace, &committed.data)
    }

    /// For tests and debugging.
    ///
    /// # Panics
    /// If the matrix is empty, never reached the device, or the device fails.
    fn transport_matrix_from_device_to_host(&self, matrix: &MetalMatrix<F>) -> ColMajorMatrix<F> {
        match self.download(matrix) {
            Ok(cells) => ColMajorMatrix::new(cells, matrix.width()),
            Err(error) => panic!("{error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use openvm_metal_common::{Device, DeviceProfile, MetalContext};
    use openvm_stark_sdk::config::app_params_with_100_bits_security;
    use p3_field::PrimeCharacteristicRing;

    use super::*;
    use crate::{kernels::LIBRARY, prelude::SC};

    /// Columns are the same, whoever writes them: the host where memory is shared, a kernel where it is not.
    #[test]
    fn rows_become_columns() {
        for name in ["cpu", "m1-8gb", "h100-80gb"] {
            let profile = DeviceProfile::named(name).expect("a profile");
            let context = MetalContext::builder(Device::Cpu)
                .libraries(&[&LIBRARY])
                .profile(profile)
                .open()
                .expect("the CPU");
            let config = SC::default_from_params(app_params_with_100_bits_security(11));
            let device = MetalDevice::on_context(config, context);
            for (height, width) in [(0, 3), (1, 5), (8, 1), (4, 3), (1 << 10, 37), (1 << 17, 2)] {
                let cells = (0..height * width).map(F::from_usize).collect();
                let rows = RowMajorMatrix::new(cells, width);
                let columns = device.upload_row_major(&rows).expect(name);
                let found = device.download(&columns).expect(name);
                let expected = (0..width).flat_map(|c| (0..height).map(move |r| r * width + c));
                assert!(
                    found.into_iter().eq(expected.map(F::from_usize)),
                    "{name}: {height} x {width}"
                );
                assert_eq!((columns.height(), columns.width()), (height, width));
            }
        }
    }
}
