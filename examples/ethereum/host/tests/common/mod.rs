//! Data of the tests, and the guest that campaigns run.

// Each test takes its part.
#![allow(dead_code)]

use std::{env, fs, io::Read, path::Path, process::Command};

use ethereum_host::Source;

/// A file of `data`, decompressed.
pub fn unpack(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../data")
        .join(name);
    let file = fs::File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(file)
        .read_to_end(&mut bytes)
        .unwrap();
    bytes
}

/// Block 22615247 of Ethereum.
pub fn mainnet() -> Source {
    Source::from_rlp(&unpack("1-22615247.rlp.gz")).unwrap()
}

/// A guest of the environment:
///
/// ```sh
/// openvm-metal build guest --features test-forks
/// ETHEREUM_COMMAND=openvm-metal ETHEREUM_GUEST=$PWD/target/openvm/release/ethereum.vmexe \
///     cargo test -p ethereum-host -- --ignored in_the_guest
/// ```
pub struct Guest {
    command: String,
    guest: String,
}

impl Guest {
    pub fn from_environment() -> Self {
        let variable = |name| env::var(name).unwrap_or_else(|_| panic!("{name} is not set"));
        Self {
            command: variable("ETHEREUM_COMMAND"),
            guest: variable("ETHEREUM_GUEST"),
        }
    }

    /// Whether the guest ends well on an input, and all that it prints.
    pub fn run(&self, input: &[u8]) -> (bool, String) {
        let file = env::temp_dir().join(format!(
            "ethereum-guest-{}-{:?}.bin",
            std::process::id(),
            std::thread::current().id()
        ));
        fs::write(&file, input).unwrap();
        let output = Command::new(&self.command)
            .args(["run", &self.guest, "--input"])
            .arg(&file)
            .output()
            .unwrap();
        fs::remove_file(&file).unwrap();
        let said = [output.stdout, output.stderr].concat();
        (
            output.status.success(),
            String::from_utf8_lossy(&said).into_owned(),
        )
    }
}
