//! Bytes as text.

/// `0x` and two digits for each byte.
pub fn encode(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("0x{digits}")
}
