//! Batched zerocheck and LogUp: rules, round 0, MLE rounds.

pub mod rules;
