//! Decisions of the Metal driver that need no Metal: caches, names, settings, and what errors mean. Nothing here
//! needs Metal, so it is tested on every system.

pub(crate) mod archive;
pub(crate) mod capture;
pub(crate) mod encoders;
pub(crate) mod progress;
pub(crate) mod remedy;
pub(crate) mod validation;
