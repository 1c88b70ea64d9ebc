//! `DuplexSpongeMetal`: the Fiat-Shamir transcript, grinding on the device.
