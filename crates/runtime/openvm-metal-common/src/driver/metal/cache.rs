//! Binary archives: the machine code of pipelines in files of the cache.

use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;
use objc2::rc::Retained;
use objc2::runtime::{NSObjectProtocol, ProtocolObject};
use objc2::sel;
use objc2_foundation::{NSArray, NSURL};
use objc2_metal::{
    MTLBinaryArchive, MTLBinaryArchiveDescriptor, MTLComputePipelineDescriptor,
    MTLComputePipelineState, MTLDevice, MTLPipelineOption,
};

use super::pipeline::LANGUAGE_NAME;
use super::{device, Device};
use crate::driver::apple::archive::{Archives, CacheProblem, Key, System};
use crate::driver::apple::validation::Validation;
use crate::kernel::KernelUnit;
use crate::report::CacheReport;
use crate::trusted_folder::{cache_folder, CACHE_VARIABLE};

type Archive = Retained<ProtocolObject<dyn MTLBinaryArchive>>;

/// The archives of earlier starts, or why there are none.
pub(super) struct Cache {
    archives: std::result::Result<Archives, CacheProblem>,
    /// Device and options of the compiler, for the keys.
    kind: String,
}

/// An archive that Metal has opened.
pub(super) struct Found {
    path: PathBuf,
    archive: Archive,
}

/// An archive that is being filled.
pub(super) struct Filled(Archive);

impl Cache {
    /// Looks for the folder; one that cannot be used is logged, and there is no cache.
    pub fn open(device: &Device, validation: Validation) -> Self {
        let kind = format!(
            "{} {} Metal {LANGUAGE_NAME} safe precise",
            device::families(device),
            architecture(device)
        );
        let archives = if validation.kernels {
            Err(CacheProblem::CheckedKernels)
        } else {
            let user_cache = etcetera::base_strategy::choose_native_strategy()
                .ok()
                .map(|strategy| strategy.cache_dir().join("openvm-metal"));
            let root = cache_folder(CACHE_VARIABLE, std::env::var_os(CACHE_VARIABLE), user_cache);
            root.map_err(CacheProblem::from).and_then(|root| {
                let system = System {
                    device: device.name().to_string(),
                    build: device::system_build(),
                };
                Archives::open(&root, &system)
                    .inspect_err(|reason| tracing::warn!(%reason, "kernels are not kept"))
            })
        };
        Self { archives, kind }
    }

    fn key(&self, unit: &KernelUnit, code: &[u8]) -> Key {
        let names = unit.kernels.iter().map(|kernel| kernel.name.as_bytes());
        Key::of([self.kind.as_bytes(), code].into_iter().chain(names))
    }

    /// The archive of a unit from an earlier start.
    pub fn find(&self, device: &Device, unit: &KernelUnit, code: &[u8]) -> Option<Found> {
        let archives = self.archives.as_ref().ok()?;
        let path = archives.find(self.key(unit, code))?;
        let descriptor = MTLBinaryArchiveDescriptor::new();
        descriptor.setUrl(Some(&*NSURL::from_file_path(&path)?));
        match device.newBinaryArchiveWithDescriptor_error(&descriptor) {
            Ok(archive) => Some(Found { path, archive }),
            Err(error) => {
                archives.reject(&path, &error.localizedDescription().to_string());
                None
            }
        }
    }

    /// All kernels of a unit came from its archive.
    pub fn use_found(&self, _: &Found) {
        if let Ok(archives) = &self.archives {
            archives.count_found();
        }
    }

    /// An archive is of no use.
    pub fn reject(&self, found: &Found, reason: &str) {
        if let Ok(archives) = &self.archives {
            archives.reject(&found.path, reason);
        }
    }

    /// An archive to be filled, if there is a cache.
    pub fn begin(&self, device: &Device) -> Option<Filled> {
        self.archives.as_ref().ok()?;
        let made = device.newBinaryArchiveWithDescriptor_error(&MTLBinaryArchiveDescriptor::new());
        made.map(Filled).ok()
    }

    /// Keeps a filled archive of a unit for the next start.
    pub fn save(&self, unit: &KernelUnit, code: &[u8], filled: &Filled) {
        if let Ok(archives) = &self.archives {
            archives.save(self.key(unit, code), unit.name, |path| filled.write(path));
        }
    }

    /// Files that were found and saved, and notes.
    pub fn report(&self) -> CacheReport {
        match &self.archives {
            Ok(archives) => archives.report(),
            Err(problem) => CacheReport {
                notes: vec![problem.to_string()],
                ..CacheReport::default()
            },
        }
    }
}

impl Found {
    /// A pipeline with the code of the archive, if that has it.
    pub fn pipeline(
        &self,
        device: &Device,
        descriptor: &MTLComputePipelineDescriptor,
    ) -> Option<Retained<ProtocolObject<dyn MTLComputePipelineState>>> {
        pipeline(&self.archive, device, descriptor)
    }
}

/// A pipeline with the code of an archive, if that has it.
fn pipeline(
    archive: &Archive,
    device: &Device,
    descriptor: &MTLComputePipelineDescriptor,
) -> Option<Retained<ProtocolObject<dyn MTLComputePipelineState>>> {
    descriptor.setBinaryArchives(Some(&*NSArray::from_slice(&[&**archive])));
    device
        .newComputePipelineStateWithDescriptor_options_reflection_error(
            descriptor,
            MTLPipelineOption::FailOnBinaryArchiveMiss,
            None,
        )
        .ok()
}

impl Filled {
    /// Adds the code of a pipeline.
    pub fn add(
        &self,
        descriptor: &MTLComputePipelineDescriptor,
    ) -> std::result::Result<(), String> {
        self.0
            .addComputePipelineFunctionsWithDescriptor_error(descriptor)
            .map_err(|error| error.localizedDescription().to_string())
    }

    /// A pipeline with the code that was added.
    pub fn pipeline(
        &self,
        device: &Device,
        descriptor: &MTLComputePipelineDescriptor,
    ) -> Option<Retained<ProtocolObject<dyn MTLComputePipelineState>>> {
        pipeline(&self.0, device, descriptor)
    }

    fn write(&self, path: &Path) -> std::result::Result<(), String> {
        let url = NSURL::from_file_path(path)
            .ok_or_else(|| format!("{} is no name of a file", path.display()))?;
        self.0
            .serializeToURL_error(&url)
            .map_err(|error| error.localizedDescription().to_string())
    }
}

/// The GPU's instruction set, which macOS 14 tells.
fn architecture(device: &Device) -> String {
    match device.respondsToSelector(sel!(architecture)) {
        true => device.architecture().name().to_string(),
        false => String::new(),
    }
}
