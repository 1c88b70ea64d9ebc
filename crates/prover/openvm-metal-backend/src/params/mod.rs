//! `#[repr(C)]` structs that kernels take by `constant T&`, one file per owner of kernels.
//!
//! Each struct is declared a second time in the headers under `metal/`; the generated launchers
//! assert at compile time that size and alignment agree. Names carry the prefix of their phase.

mod bench;
mod bn254;
mod commit;
mod constraints;
mod gkr;
mod grind;
mod hash;
mod ntt;
mod openings;
mod transcript;

#[allow(unused_imports)]
pub use self::{
    bench::*, bn254::*, commit::*, constraints::*, gkr::*, grind::*, hash::*, ntt::*, openings::*,
    transcript::*,
};
