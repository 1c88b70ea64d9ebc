//! LogUp through GKR: the fractional sumcheck.
