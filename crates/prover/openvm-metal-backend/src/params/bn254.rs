//! Parameter struct of the grinding kernel over the scalar field of BN254.

/// One slice of proof-of-work candidates.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Bn254GrindParams {
    /// Words of the sponge before the witness is absorbed, as in device memory.
    pub state: [u32; 24],
    /// The integer of the cells that share the witness's word.
    pub base: [u32; 8],
    /// Place of that word in the rate, 0 or 1.
    pub position: u32,
    /// Bits below the witness in it, 31 for each of those cells.
    pub shift: u32,
    pub mask: u32,
    pub start: u32,
    pub threads: u32,
}
