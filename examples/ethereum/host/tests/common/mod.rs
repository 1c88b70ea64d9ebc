//! Data of the tests, synthetic blocks, and the guest that campaigns run.

// Each test program compiles this module, and uses a part of it.
#![allow(dead_code)]

#[path = "../../../core/tests/support/random_program.rs"]
pub mod random_program;
pub mod synthetic;

use std::{env, fs, io::Read, path::Path, process::Command};

use ethereum_core::{input, Forks, Input, InputError, Nodes};
use ethereum_host::Source;
use serde_json::Value;

/// Prague from the first block on.
pub const PRAGUE: Forks = Forks {
    prague: Some(0),
    ..Forks::CANCUN
};

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

/// Test blocks of a text, one JSON object a line: each with its input, the block with its witness.
pub fn cases(text: &str) -> impl Iterator<Item = (Value, Vec<u8>)> + '_ {
    text.lines().map(|line| {
        let case: Value = serde_json::from_str(line).unwrap();
        let input = alloy_primitives::hex::decode(case["input"].as_str().unwrap()).unwrap();
        (case, input)
    })
}

/// Block 22615247 of Ethereum.
pub fn mainnet() -> Source {
    Source::from_rlp(&unpack("1-22615247.rlp.gz")).unwrap()
}

/// Guest and command from the environment:
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

    /// Runs the guest; returns whether it exits with code 0, and its output.
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

/// Trie nodes of which only those are there that were read, as in the guest.
pub struct Lazy<'a> {
    nodes: &'a [u8],
    read: usize,
}

impl<'a> Lazy<'a> {
    pub fn new(nodes: &'a [u8]) -> Self {
        Self { nodes, read: 0 }
    }
}

impl Nodes for Lazy<'_> {
    fn length(&self) -> usize {
        self.nodes.len()
    }

    fn read(&mut self, end: usize) {
        assert!(end <= self.nodes.len());
        self.read = self.read.max(end);
    }

    fn bytes(&self) -> &[u8] {
        &self.nodes[..input::padded(self.read).min(self.nodes.len())]
    }
}

/// Reads an input as the guest does.
pub fn read(bytes: &[u8]) -> Result<Input<Lazy<'_>>, InputError> {
    let length = bytes.len();
    let Some((start, _)) = bytes.split_first_chunk::<8>() else {
        return Err(InputError::Truncated { at: 0, length });
    };
    let word = |at| u32::from_le_bytes(std::array::from_fn(|byte| start[at + byte]));
    let head = input::head_length([word(0), word(4)], length)?;
    let (head, nodes) = bytes.split_at(head);
    Input::read_head(&head.to_vec().into(), Lazy::new(nodes))
}
