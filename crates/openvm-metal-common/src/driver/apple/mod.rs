//! What the Metal driver decides without Metal: caches, names, settings, and what errors mean. Nothing here is
//! Apple's, so that it is tested everywhere.

pub(crate) mod archive;
pub(crate) mod capture;
pub(crate) mod encoders;
pub(crate) mod progress;
pub(crate) mod remedy;
pub(crate) mod validation;
