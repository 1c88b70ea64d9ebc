//! Operations of tensors against loops over index arithmetic, on odd, tiny and long shapes, of views as they lie.

mod elementwise;
mod folds;
mod halves;
mod joins;
mod products;
mod refused;
mod support;
