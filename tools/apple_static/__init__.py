"""The parts of tools/apple-static."""
