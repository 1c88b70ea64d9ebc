//! Makes the guest's input of a block and its witness, after the block is validated natively.

use std::{
    error::Error,
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

use clap::Parser;
use ethereum_core::{Forks, Valid};
use ethereum_host::{Prepared, Source};

/// Validates an Ethereum block natively, and writes the input with which openvm-metal proves it.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Block with its witness as RLP: the list of block, trie nodes, codes, ancestors' headers.
    #[arg(required_unless_present = "block", conflicts_with_all = ["block", "witness"])]
    rlp: Option<PathBuf>,
    /// Answer to eth_getBlockByHash, with whole transactions.
    #[arg(long, requires = "witness")]
    block: Option<PathBuf>,
    /// Answer to debug_executionWitness for the same block.
    #[arg(long, requires = "block")]
    witness: Option<PathBuf>,
    /// File to write.
    #[arg(long, short, default_value = "block.bin")]
    out: PathBuf,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let source = match (&arguments.rlp, &arguments.block, &arguments.witness) {
        (Some(rlp), ..) => Source::from_rlp(&read(rlp)?)?,
        (None, Some(block), Some(witness)) => Source::from_json(&text(block)?, &text(witness)?)?,
        _ => unreachable!("one of the two forms is required"),
    };
    let start = Instant::now();
    let Prepared {
        input,
        block: Valid { hash, number, gas },
        ..
    } = source.prepare(&Forks::MAINNET)?;
    let out = &arguments.out;
    fs::write(out, &input).map_err(|error| format!("{}: {error}", out.display()))?;
    // A closed pipe is no error: the input is written.
    let _ = write!(
        io::stdout(),
        "block {number}, {hash}: {} transactions, {gas} gas\n\
         valid; {} bytes of input; {:.1?} natively\n\
         prove: openvm-metal prove stark examples/ethereum/guest --input {}\n\
         The proof's public values are the block's hash.\n",
        source.transactions.len(),
        input.len(),
        start.elapsed(),
        out.display()
    );
    Ok(())
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn text(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}
