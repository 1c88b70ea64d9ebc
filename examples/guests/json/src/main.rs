//! A JSON document holds a value at a place, without showing the document.
//!
//! Input: the document; a JSON pointer (RFC 6901); the value, as JSON.
//! Public values: SHA-256 of SHA-256(document), the pointer, a zero byte and the value without white space.
//! A document that is not JSON or does not hold the value there ends the program with a panic.

use openvm_sha2::Sha256;
use serde_json::Value;

fn main() {
    let document = openvm::io::read_vec();
    let pointer = String::from_utf8(openvm::io::read_vec()).expect("the pointer is not UTF-8");
    let claimed: Value =
        serde_json::from_slice(&openvm::io::read_vec()).expect("the value is not JSON");

    let parsed: Value = serde_json::from_slice(&document).expect("the document is not JSON");
    let found = parsed.pointer(&pointer).expect("the pointer leads nowhere");
    assert_eq!(found, &claimed, "the document holds another value");

    let mut statement = Sha256::new();
    statement.update(&Sha256::digest(&document));
    statement.update(pointer.as_bytes());
    statement.update(&[0]);
    statement.update(claimed.to_string().as_bytes());
    openvm::io::reveal_bytes32(statement.finalize());
}
