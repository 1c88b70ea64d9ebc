//! Reduction of column openings to one opening of the stacked matrices.
