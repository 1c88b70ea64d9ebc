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
    #[pyo3(signature = (app_pk, agg_pk = None))]
    fn load(py: Python<'_>, app_pk: PathBuf, agg_pk: Option<PathBuf>) -> PyResult<Self> {
        work::run(py, move |_| {
            Ok(Self {
                app: Arc::new(files::read_app_pk(&app_pk)?),
                aggregation: agg_pk
                    .map(|path| files::read_agg_pk(&path).map(Arc::new))
                    .transpose()?,
            })
        })
    }

    fn save(&self, py: Python<'_>, folder: PathBuf) -> PyResult<Vec<PathBuf>> {
        work::run(py, |_| {
            let file = |name: &str| folder.join(name);
            let mut written = vec![file("app.pk"), file("app.vk")];
            files::write_app_pk(&written[0], &self.app)?;
            files::write_app_vk(&written[1], &self.app.get_app_vk())?;
            if let Some(key) = &self.aggregation {
                files::write_agg_pk(&file("agg.pk"), key)?;
                files::write_agg_vk(&file("agg.vk"), &key.internal_recursive.get_vk())?;
                written.extend([file("agg.pk"), file("agg.vk")]);
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
