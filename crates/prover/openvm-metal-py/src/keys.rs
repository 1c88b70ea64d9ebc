//! `openvm_metal.Keys`.

use std::{path::PathBuf, sync::Arc};

use openvm_metal_sdk::{files, MetalSdk, SdkError};
use openvm_sdk::keygen::{AggProvingKey, AppProvingKey};
use openvm_sdk_config::SdkVmConfig;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::errors::exception;
use crate::work;

/// Keys of a configuration: of the application, and of the aggregation above it.
#[pyclass(name = "Keys", module = "openvm_metal", frozen)]
pub struct PyKeys {
    pub app: Arc<AppProvingKey<SdkVmConfig>>,
    pub aggregation: Option<Arc<AggProvingKey>>,
}

impl PyKeys {
    /// The keys of an SDK, made where they are missing.
    pub fn of(sdk: &MetalSdk) -> Result<Self, SdkError> {
        Ok(Self {
            app: sdk.app_pk()?,
            aggregation: Some(Arc::new(sdk.agg_pk()?)),
        })
    }
}

#[pymethods]
impl PyKeys {
    #[staticmethod]
    #[pyo3(signature = (app_pk, agg_pk = None, agg_prefix_pk = None))]
    fn load(
        py: Python<'_>,
        app_pk: PathBuf,
        agg_pk: Option<PathBuf>,
        agg_prefix_pk: Option<PathBuf>,
    ) -> PyResult<Self> {
        work::run(py, move |_| {
            let found = files::find_agg_keys(&app_pk, agg_pk, agg_prefix_pk)?;
            let read = |found: files::AggKeyFiles| found.read().map(Arc::new);
            Ok(Self {
                app: Arc::new(files::read_app_pk(&app_pk)?),
                aggregation: found.map(read).transpose()?,
            })
        })
    }

    fn save(&self, py: Python<'_>, folder: PathBuf) -> PyResult<Vec<PathBuf>> {
        work::run(py, |_| {
            let file = |name: &str| folder.join(name);
            let mut written = vec![file(files::APP_PK), file(files::APP_VK)];
            files::write_app_pk(&written[0], &self.app)?;
            files::write_app_vk(&written[1], &self.app.get_app_vk())?;
            if let Some(key) = &self.aggregation {
                let prefix = file(files::AGG_PREFIX_PK);
                let (pk, vk) = (
                    file(files::INTERNAL_RECURSIVE_PK),
                    file(files::INTERNAL_RECURSIVE_VK),
                );
                files::write_agg_prefix_pk(&prefix, &key.prefix)?;
                files::write_internal_recursive_pk(&pk, &key.internal_recursive)?;
                files::write_agg_vk(&vk, &key.internal_recursive.get_vk())?;
                written.extend([prefix, pk, vk]);
            }
            Ok(written)
        })
    }

    #[staticmethod]
    #[pyo3(signature = (app_pk, agg_pk = None))]
    fn from_bytes(
        py: Python<'_>,
        app_pk: PyBackedBytes,
        agg_pk: Option<PyBackedBytes>,
    ) -> PyResult<Self> {
        work::run(py, move |_| {
            Ok(Self {
                app: Arc::new(files::app_pk_from_bytes(&app_pk)?),
                aggregation: agg_pk
                    .map(|bytes| files::agg_pk_from_bytes(&bytes).map(Arc::new))
                    .transpose()?,
            })
        })
    }

    fn to_bytes<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyBytes>, Option<Bound<'py, PyBytes>>)> {
        let (app, aggregation) = work::run(py, |_| {
            let app = files::to_bytes("an application proving key", &*self.app)?;
            let aggregation = self
                .aggregation
                .as_ref()
                .map(|key| files::to_bytes("an aggregation proving key", &**key));
            Ok((app, aggregation.transpose()?))
        })?;
        Ok((
            PyBytes::new(py, &app),
            aggregation.map(|bytes| PyBytes::new(py, &bytes)),
        ))
    }

    #[getter]
    fn has_aggregation(&self) -> bool {
        self.aggregation.is_some()
    }

    fn __reduce__(&self) -> PyResult<()> {
        let message = "keys are large: use to_bytes and from_bytes, or files";
        Err(exception("UnsupportedError", message.into()))
    }
}
