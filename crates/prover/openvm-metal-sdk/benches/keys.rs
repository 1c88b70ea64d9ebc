//! Time until a process can prove: keys, the commitments of the aggregation and of a program, made and then taken from a cache; and the
//! sizes and decoding times of keys.
//!
//! `keys OPENVM.TOML ELF`, on the CPU with the configuration's or OpenVM's default parameters.

use std::{env, error::Error, fs, time::Instant};

use openvm_metal_common::Device;
use openvm_metal_sdk::{decode_elf, files, Cache, MetalSdk};

/// Prints the time of each step.
struct Laps(Instant);

impl Laps {
    fn end(&mut self, what: &str) {
        println!("{what:32} {:9.1} ms", self.0.elapsed().as_secs_f64() * 1e3);
        self.0 = Instant::now();
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().filter(|arg| arg != "--bench").collect();
    let [_, config, elf] = args.as_slice() else {
        return Err("keys OPENVM.TOML ELF".into());
    };
    let (config, elf) = (fs::read_to_string(config)?, decode_elf(&fs::read(elf)?)?);
    let folder = tempfile::tempdir()?;
    for process in ["first process", "second process"] {
        println!("{process}");
        let mut laps = Laps(Instant::now());
        let cache = Cache::in_folder(folder.path());
        let sdk = MetalSdk::builder(Device::Cpu).toml(&config)?.cache(cache);
        let sdk = sdk.build()?;
        sdk.devices()?;
        laps.end("device");
        let app = sdk.app_pk()?;
        laps.end("application key");
        let aggregation = sdk.agg_pk()?;
        laps.end("aggregation keys");
        sdk.app_prover(elf.clone())?;
        laps.end("program");
        let (app, aggregation) = (
            files::to_bytes("a key", &*app)?,
            files::to_bytes("a key", &aggregation)?,
        );
        println!("{} and {} bytes of keys", app.len(), aggregation.len());
        laps.end("keys encoded");
        files::app_pk_from_bytes(&app)?;
        laps.end("application key decoded");
        files::agg_pk_from_bytes(&aggregation)?;
        laps.end("aggregation keys decoded");
    }
    for entry in Cache::list(folder.path())? {
        println!("{} bytes", entry.bytes);
    }
    Ok(())
}
