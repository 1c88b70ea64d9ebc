//! Batched number-theoretic transforms, bit reversal, transposes, Reed-Solomon encoding.
