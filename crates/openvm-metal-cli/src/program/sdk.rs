//! Options of commands that execute or prove: device, keys, bounds.

use std::{ffi::OsString, path::PathBuf};

use clap::Args;
use openvm_metal_common::Device;
use openvm_metal_sdk::{
    engine::MetalEngine,
    files,
    parameters::{toy_aggregation, toy_app, TOY_AGGREGATION_LOG_HEIGHT, TOY_APP_LOG_HEIGHT},
    DeviceList, MetalSdk, ProveOptions, SdkBuilder, DEFAULT_MAX_INSTRUCTIONS,
};
use openvm_sdk_config::SdkVmConfig;

use super::Program;
use crate::{
    error::{CliError, Result},
    file::Named,
    table::note,
    target_device::DeviceArgs,
};

/// How long a program may run.
#[derive(Args, Debug)]
pub struct ExecutionArgs {
    /// A program that executes more instructions than this is stopped.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_MAX_INSTRUCTIONS, value_parser = clap::value_parser!(u64).range(1..))]
    max_instructions: u64,
}

impl ExecutionArgs {
    /// The bound.
    pub fn max_instructions(&self) -> u64 {
        self.max_instructions
    }

    /// For the SDK.
    pub fn options(&self) -> ProveOptions<'static> {
        ProveOptions::default().with_max_instructions(self.max_instructions)
    }
}

/// The SDK's device, keys and parameters.
#[derive(Args, Debug)]
pub struct SdkArgs {
    #[command(flatten)]
    device: DeviceArgs,
    /// The proof of one segment needs at most this much memory (bytes, or with K, M, G); if absent, 15 GiB or what
    /// fits the device.
    #[arg(long, value_name = "BYTES", value_parser = byte_count)]
    segment_max_memory: Option<u64>,
    /// The application's proving key, as `keygen` writes it; made if absent.
    #[arg(long, value_name = "FILE")]
    app_pk: Option<PathBuf>,
    /// The aggregation keys, as `setup` writes them; made if absent.
    #[arg(long, value_name = "FILE", requires = "app_pk")]
    agg_pk: Option<PathBuf>,
    /// Small parameters WITHOUT SECURITY: quick proofs to try things out with. Implies --allow-insecure.
    #[arg(long, conflicts_with_all = ["app_pk", "agg_pk"])]
    toy: bool,
    /// Take parameters of less than 80 bits of security, as openvm.toml or a key may have them: proofs
    /// with such parameters can be forged.
    #[arg(long)]
    allow_insecure: bool,
}

impl SdkArgs {
    /// The same options for `openvm-metal-cluster prove`.
    ///
    /// # Errors
    /// [`CliError::Usage`] if a device is named: those of a cluster are its nodes'.
    pub fn for_cluster(&self) -> Result<Vec<OsString>> {
        if self.device.is_given() {
            return Err(CliError::Usage(
                "--device names a device of this machine, --ray takes those of the cluster",
            ));
        }
        let mut options: Vec<OsString> = Vec::new();
        let mut add = |name: &str, value: OsString| {
            options.push(name.into());
            options.push(value);
        };
        let files = [("--app-pk", &self.app_pk), ("--agg-pk", &self.agg_pk)];
        for (name, file) in files {
            if let Some(file) = file {
                add(name, file.into());
            }
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

    /// The keys that are read.
    pub fn read_files(&self) -> impl Iterator<Item = Named<'_>> {
        let files = [("--app-pk", &self.app_pk), ("--agg-pk", &self.agg_pk)];
        let given = |(name, file)| Option::as_deref(file).map(|file| (name, file));
        files.into_iter().filter_map(given)
    }

    /// Where the command runs.
    pub fn device(&mut self) -> &mut DeviceArgs {
        &mut self.device
    }

    /// The bits of security that are known before aggregation keys are made.
    ///
    /// # Errors
    /// If the configuration has no circuit, or the bits are refused.
    pub fn security_bits(&self, sdk: &MetalSdk) -> Result<f64> {
        let bits = sdk.check_security()?;
        // The aggregation's parameters are toys as well.
        Ok(if self.toy { 0.0 } else { bits })
    }

    /// The SDK for a program.
    ///
    /// # Errors
    /// If the configuration or a key cannot be used.
    pub fn sdk(&self, program: &Program) -> Result<MetalSdk> {
        let device = self.device.device()?;
        Ok(self.builder(program, device)?.build()?)
    }

    /// The SDK for a program on these devices, or on the one device if no list is given.
    ///
    /// # Errors
    /// If the configuration or a key cannot be used.
    pub fn sdk_on(&self, program: &Program, devices: Option<&DeviceList>) -> Result<MetalSdk> {
        let Some(list) = devices else {
            return self.sdk(program);
        };
        let devices = list.resolve(|missing| note(missing));
        let builder = self.builder(program, devices[0])?;
        Ok(builder.devices(devices).build()?)
    }

    fn builder(&self, program: &Program, device: Device) -> Result<SdkBuilder<MetalEngine>> {
        let mut builder = MetalSdk::builder(device);
        if self.toy || self.allow_insecure {
            builder = builder.min_security_bits(0.0);
        }
        builder = match &program.toml {
            Some(text) => {
                warn_of_parameters(text);
                builder.toml(text)?
            }
            None => builder.vm_config(SdkVmConfig::riscv32()),
        };
        if self.toy {
            builder = builder
                .app_params(toy_app(TOY_APP_LOG_HEIGHT))
                .agg_params(toy_aggregation(TOY_AGGREGATION_LOG_HEIGHT));
        }
        if let Some(path) = &self.app_pk {
            builder = builder.app_pk(files::read_app_pk(path)?);
        }
        if let Some(path) = &self.agg_pk {
            builder = builder.agg_pk(files::read_agg_pk(path)?);
        }
        if let Some(bytes) = self.segment_max_memory {
            builder = builder.segment_max_memory(usize::try_from(bytes).unwrap_or(usize::MAX));
        }
        Ok(builder)
    }
}

/// Says that a configuration brings its own proof parameters: it may be a stranger's.
fn warn_of_parameters(config: &str) {
    let table: Result<toml::Table, _> = toml::from_str(config);
    if table.is_ok_and(|table| table.contains_key("system_params")) {
        note(
            "warning: openvm.toml has [system_params], which replace OpenVM's parameters of 100 bits; \
             the bits of security of these are in the report"
        );
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
