//! Options of commands that execute or prove: device, keys, bounds.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use clap::Args;
use openvm_metal_common::Device;
use openvm_metal_sdk::{
    engine::MetalEngine,
    files,
    parameters::{
        toy_aggregation, toy_app, toy_root, TOY_AGGREGATION_LOG_HEIGHT, TOY_APP_LOG_HEIGHT,
        TOY_ROOT_LOG_HEIGHT,
    },
    resumed_segment_max_memory, Cache, DeviceList, Event, MetalSdk, Progress, ProveOptions,
    SdkBuilder, DEFAULT_MAX_INSTRUCTIONS,
};
use openvm_sdk_config::SdkVmConfig;

use super::{config::Config, Settings};
use crate::{
    error::{CliError, Result},
    file::{Named, Read},
    table::note,
    target_device::DeviceArgs,
};

/// Bounds of an execution.
#[derive(Args, Clone, Debug)]
pub struct ExecutionArgs {
    /// Stop a program after N instructions.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_MAX_INSTRUCTIONS, value_parser = clap::value_parser!(u64).range(1..))]
    max_instructions: u64,
}

impl ExecutionArgs {
    /// The bound.
    pub fn max_instructions(&self) -> u64 {
        self.max_instructions
    }

    /// Options for the SDK. Input that is not read is warned of.
    pub fn options(&self) -> ProveOptions<'static> {
        ProveOptions::default()
            .with_max_instructions(self.max_instructions)
            .with_progress(&Warnings)
    }
}

/// Says what the user of a program should know.
struct Warnings;

impl Progress for Warnings {
    fn event(&self, event: Event<'_>) {
        if let Event::InputUnread(unread) = event {
            note(format_args!("warning: {unread}"));
        }
    }
}

/// The SDK's device, keys and parameters.
#[derive(Args, Clone, Debug)]
pub struct SdkArgs {
    /// Cut segments so that the proof of one needs at most BYTES of memory, for example 4G [default: 15G, less on a small device, 3/16 of the memory of a large GPU].
    #[arg(long, value_name = "BYTES", value_parser = byte_count)]
    segment_max_memory: Option<u64>,
    /// Read the application's proving key, as `keygen` writes it, from FILE [default: make it].
    #[arg(long, value_name = "FILE")]
    app_pk: Option<PathBuf>,
    /// Read the internal-recursive proving key, as `setup` and `cargo openvm setup` write it, from FILE.
    ///
    /// The default with --agg-prefix-pk is ~/.openvm/internal_recursive.pk. Without both options the aggregation keys are made.
    #[arg(long, value_name = "FILE", requires = "app_pk")]
    agg_pk: Option<PathBuf>,
    /// Read the aggregation prefix proving key, as `keygen` and `cargo openvm keygen` write it, from FILE.
    ///
    /// The default with --agg-pk is agg_prefix.pk in the folder of --app-pk.
    #[arg(long, value_name = "FILE", requires = "app_pk")]
    agg_prefix_pk: Option<PathBuf>,
    /// Use small parameters WITHOUT SECURITY, to try a program out. Implies --allow-insecure.
    #[arg(long, conflicts_with_all = ["app_pk", "agg_pk", "agg_prefix_pk"])]
    toy: bool,
    /// Accept parameters of less than 80 bits of security from openvm.toml or a key. Such proofs can be forged.
    #[arg(long)]
    allow_insecure: bool,
    /// Make every commitment; neither read nor write the user's cache (`openvm-metal cache`).
    #[arg(long)]
    no_cache: bool,
}

impl SdkArgs {
    /// The same with small parameters.
    pub fn into_toy(self) -> Self {
        Self { toy: true, ..self }
    }

    /// True if the parameters are small.
    pub fn is_toy(&self) -> bool {
        self.toy
    }

    /// True if parameters of few bits of security are accepted.
    #[cfg(feature = "evm")]
    pub fn is_insecure(&self) -> bool {
        self.toy || self.allow_insecure
    }

    /// True if aggregation keys are given.
    pub fn has_agg_keys(&self) -> bool {
        self.agg_pk.is_some() || self.agg_prefix_pk.is_some()
    }

    /// The same options for `openvm-metal-cluster prove`.
    ///
    /// # Errors
    /// [`CliError::Usage`] if a device is named: those of a cluster are its nodes'.
    pub fn for_cluster(&self, device: DeviceArgs) -> Result<Vec<OsString>> {
        if device.is_given() {
            return Err(CliError::Usage(
                "--device names a device of this machine, --ray takes those of the cluster",
            ));
        }
        let mut options: Vec<OsString> = Vec::new();
        let mut add = |name: &str, value: OsString| {
            options.push(name.into());
            options.push(value);
        };
        for (name, file) in self.named_files() {
            add(name, file.into());
        }
        if let Some(bytes) = self.segment_max_memory {
            add("--segment-max-memory", bytes.to_string().into());
        }
        for (name, is_given) in [
            ("--toy", self.toy),
            ("--allow-insecure", self.allow_insecure),
        ] {
            if is_given {
                options.push(name.into());
            }
        }
        Ok(options)
    }

    /// The keys that are read: those that are named, and those that are found beside them.
    pub fn read_files(&self) -> Vec<Read> {
        let named = self.named_files();
        let mut files: Vec<Read> = named.map(|(name, file)| (name, file.to_owned())).collect();
        let found = self.app_pk.as_ref().and_then(|app_pk| {
            // The reason why there are none is said when they are read.
            files::find_agg_keys(app_pk, self.agg_pk.clone(), self.agg_prefix_pk.clone()).ok()?
        });
        if let Some(found) = found {
            for (name, file) in [
                ("the internal-recursive key", found.internal_recursive),
                ("the aggregation prefix key", found.prefix),
            ] {
                if !files.iter().any(|(_, known)| *known == file) {
                    files.push((name, file));
                }
            }
        }
        files
    }

    /// The keys of the command line.
    fn named_files(&self) -> impl Iterator<Item = Named<'_>> {
        let files = [
            ("--app-pk", &self.app_pk),
            ("--agg-pk", &self.agg_pk),
            ("--agg-prefix-pk", &self.agg_prefix_pk),
        ];
        let given = |(name, file)| Option::as_deref(file).map(|file| (name, file));
        files.into_iter().filter_map(given)
    }

    /// The bits of security that are known before aggregation keys are made.
    ///
    /// # Errors
    /// A configuration that has no circuit, or deferral circuits, which no command gives, and bits that are refused.
    pub fn security_bits(&self, sdk: &MetalSdk) -> Result<f64> {
        // Proofs of segments alone would say nothing about what the circuits computed.
        sdk.check_deferral()?;
        let bits = sdk.check_security()?;
        // The aggregation's parameters are toys as well.
        Ok(if self.toy { 0.0 } else { bits })
    }

    /// The SDK for programs with these settings.
    ///
    /// # Errors
    /// If the configuration or a key cannot be used.
    pub fn sdk(&self, settings: &Settings, device: DeviceArgs) -> Result<MetalSdk> {
        // Commitments that others are to compare with are made, not read.
        let builder = self.builder(settings, device.device()?, None)?;
        Ok(builder.cache(Cache::none()).build()?)
    }

    /// The SDK for programs with these settings on these devices, or on the one device if no list is given. Segments are cut as those of the
    /// resume folder, if it has some. `root_pk` is the file of the root key.
    ///
    /// # Errors
    /// If the configuration or a key cannot be used.
    pub fn sdk_on(
        &self,
        settings: &Settings,
        device: DeviceArgs,
        devices: Option<&DeviceList>,
        resume: Option<&Path>,
        root_pk: Option<&Path>,
    ) -> Result<MetalSdk> {
        let devices = match devices {
            Some(list) => list.resolve(|missing| note(missing)),
            None => vec![device.device()?],
        };
        let builder = self.builder(settings, devices[0], root_pk)?;
        let mut builder = builder.devices(devices);
        let resumed = resume.and_then(resumed_segment_max_memory);
        if let Some(bytes) = resumed.filter(|_| self.segment_max_memory.is_none()) {
            builder = builder.segment_max_memory(bytes);
        }
        if self.no_cache {
            builder = builder.cache(Cache::none());
        }
        Ok(builder.build()?)
    }

    fn builder(
        &self,
        settings: &Settings,
        device: Device,
        root_pk: Option<&Path>,
    ) -> Result<SdkBuilder<MetalEngine>> {
        let mut builder = MetalSdk::builder(device).traps(settings.traps);
        if self.toy || self.allow_insecure {
            builder = builder.min_security_bits(0.0);
        }
        builder = match &settings.config {
            Some(config) => {
                warn_of_parameters(config);
                builder.config_text(config.parsed.clone())
            }
            None => builder.vm_config(SdkVmConfig::riscv32()),
        };
        if self.toy {
            builder = builder
                .app_params(toy_app(TOY_APP_LOG_HEIGHT))
                .agg_params(toy_aggregation(TOY_AGGREGATION_LOG_HEIGHT));
            if root_pk.is_none() {
                builder = builder.root_params(toy_root(TOY_ROOT_LOG_HEIGHT));
            }
        }
        if let Some(path) = &self.app_pk {
            builder = builder.app_pk(files::read_app_pk(path)?);
            let (agg_pk, prefix) = (self.agg_pk.clone(), self.agg_prefix_pk.clone());
            if let Some(found) = files::find_agg_keys(path, agg_pk, prefix)? {
                builder = builder.agg_pk(found.read()?);
            }
        }
        if let Some(path) = root_pk {
            builder = builder.root_pk(files::read_root_pk(path)?);
        }
        if let Some(bytes) = self.segment_max_memory {
            builder = builder.segment_max_memory(usize::try_from(bytes).unwrap_or(usize::MAX));
        }
        Ok(builder)
    }
}

/// Says that a configuration brings its own proof parameters: it may be a stranger's.
fn warn_of_parameters(config: &Config) {
    if config.parsed.has_params {
        note(format_args!(
            "warning: {} has [system_params], which replace OpenVM's parameters of 100 bits; \
             the bits of security of these are in the report",
            config.path.display()
        ));
    }
}

/// A number of bytes: digits, and K, M or G for 2^10, 2^20 or 2^30.
pub fn byte_count(text: &str) -> Result<u64, String> {
    let unit = match text.bytes().last() {
        Some(b'K' | b'k') => 10,
        Some(b'M' | b'm') => 20,
        Some(b'G' | b'g') => 30,
        _ => 0,
    };
    let digits = if unit == 0 {
        text
    } else {
        &text[..text.len() - 1]
    };
    let number: u64 = digits
        .parse()
        .map_err(|_| "not a number of bytes, as 8G or 500M are".to_owned())?;
    number
        .checked_mul(1 << unit)
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| "out of range".to_owned())
}

#[cfg(test)]
mod tests {
    use super::byte_count;

    #[test]
    fn byte_counts() {
        assert_eq!(byte_count("8G"), Ok(8 << 30));
        assert_eq!(byte_count("17"), Ok(17));
        for bad in [
            "",
            "G",
            "-1",
            "0",
            "1é",
            "99999999999999999999",
            "99999999999G",
        ] {
            assert!(byte_count(bad).is_err(), "{bad}");
        }
    }
}
