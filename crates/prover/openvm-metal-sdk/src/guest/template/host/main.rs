//! The host program: builds the guest, proves an execution, and verifies the proof.
//!
//! `cargo run --release -- 100` proves; `cargo test` runs the guest in the virtual machine and compares it with its library.

use std::{error::Error, fs, path::Path};

use openvm_metal_sdk::{files, guest, Device, MetalSdk, ProveOptions, StdIn};

/// The folder of the guest.
const GUEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

fn main() -> Result<(), Box<dyn Error>> {
    let n: u32 = std::env::args().nth(1).map_or(Ok(100), |n| n.parse())?;
    let sdk = sdk()?;
    let exe = sdk.executable(files::read_elf(&elf()?)?)?;
    let proved = sdk.prove(exe, input(n), &ProveOptions::default())?;
    sdk.verify(&proved.baseline, &proved.proof)?;
    let sum = number(&proved.public_values)?;
    println!("proved: the sum of the first {n} squares is {sum}");
    Ok(())
}

/// Builds the guest, and returns its ELF.
fn elf() -> Result<std::path::PathBuf, Box<dyn Error>> {
    let built = guest::build(Path::new(GUEST), &guest::BuildOptions::default(), &|_| {})?;
    Ok(built.elf)
}

/// The virtual machine with the guest's extensions, on the first device that is there.
fn sdk() -> Result<MetalSdk, Box<dyn Error>> {
    let config = fs::read_to_string(Path::new(GUEST).join(guest::CONFIG_FILE))?;
    Ok(MetalSdk::builder(Device::Auto).toml(&config)?.build()?)
}

/// Each value is one that the guest reads.
fn input(n: u32) -> StdIn {
    let mut input = StdIn::default();
    input.write(&n);
    input
}

/// The first eight bytes that the guest revealed.
fn number(public_values: &[u8]) -> Result<u64, Box<dyn Error>> {
    let bytes = public_values.get(..8).ok_or("fewer than 8 public values")?;
    Ok(u64::from_le_bytes(bytes.try_into()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The guest in the virtual machine, which is not proved here, reveals what its library says.
    #[test]
    fn guest_and_library_agree() {
        let sdk = sdk().expect("the configuration");
        let exe =
            sdk.executable(files::read_elf(&elf().expect("the guest builds")).expect("an ELF"));
        let exe = exe.expect("an executable");
        for n in [0, 1, 100, 1_000] {
            let values = sdk
                .execute(exe.clone(), input(n), &ProveOptions::default())
                .expect("it runs");
            assert_eq!(number(&values).expect("a number"), {CRATE}::sum_of_squares(n));
        }
        sdk.execute(exe, input(2_000_000), &ProveOptions::default())
            .expect_err("it panics");
    }
}
