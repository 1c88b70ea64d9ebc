//! The logic of the guest, which the host program has, too: `cargo test` runs its tests without the virtual machine.

/// The sum of squares 1 + 4 + ... + n^2.
pub fn sum_of_squares(n: u32) -> u64 {
    (1..=u64::from(n)).map(|i| i * i).sum()
}

#[cfg(test)]
mod tests {
    use super::sum_of_squares;

    #[test]
    fn small_sums() {
        assert_eq!(sum_of_squares(0), 0);
        assert_eq!(sum_of_squares(3), 14);
    }
}
