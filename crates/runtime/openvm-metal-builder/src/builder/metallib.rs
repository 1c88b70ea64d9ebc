//! Metal libraries of all units.

use super::{
    context::{Context, Unit},
    units::all,
};
use crate::{cache, error::BuildError};

/// Makes libraries and tells which units have one; the flattened sources are there already.
pub(super) fn libraries(cx: &Context, units: &[Unit]) -> Result<Vec<bool>, BuildError> {
    let Some(tools) = &cx.apple else {
        return Ok(vec![false; units.len()]);
    };
    all(cache::parallel(units.len(), |i| {
        let u = &units[i];
        if u.scan.entries.is_empty() {
            return Ok(false);
        }
        let product = |tag: &str| cx.product(&u.name, tag);
        tools.library(
            &u.name,
            &product("flat.metal"),
            &product("kernels.metallib"),
        )
    }))
}
