"""The parts of scripts/apple-static."""
