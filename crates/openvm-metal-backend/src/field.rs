//! Host-side field helpers shared by the phases.
