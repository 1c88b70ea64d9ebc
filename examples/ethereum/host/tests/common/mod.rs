//! Data of the tests.

use std::{fs, io::Read, path::Path};

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
