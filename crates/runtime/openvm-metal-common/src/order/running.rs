//! Operations that may run at the same time, between two barriers.

use super::Access;

/// Memory that the operations since the last barrier use.
#[derive(Debug, Default)]
pub(crate) struct Running {
    uses: Vec<Access>,
}

impl Running {
    /// Adds an operation. True if it has to come after a barrier, which then is where counting begins anew.
    pub fn add(&mut self, accesses: impl Iterator<Item = Access> + Clone) -> bool {
        let meets = |access: Access| self.uses.iter().any(|used| used.conflicts(&access));
        let barrier = accesses.clone().any(meets);
        if barrier {
            self.uses.clear();
        }
        for access in accesses {
            if !self.uses.contains(&access) {
                self.uses.push(access);
            }
        }
        barrier
    }

    /// Everything so far is ordered before what follows.
    pub fn clear(&mut self) {
        self.uses.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(start: u64, end: u64) -> Access {
        Access {
            range: start..end,
            writes: false,
        }
    }

    fn write(start: u64, end: u64) -> Access {
        Access {
            range: start..end,
            writes: true,
        }
    }

    #[test]
    fn barriers_stand_where_a_range_written_meets_a_range_used() {
        let mut running = Running::default();
        let mut add = |accesses: &[Access]| running.add(accesses.iter().cloned());
        assert!(!add(&[read(0, 10), write(10, 20)]));
        assert!(!add(&[read(0, 10), write(20, 30)]));
        // Read after write, write after read, write after write.
        assert!(add(&[read(15, 16), write(40, 50)]));
        assert!(!add(&[write(0, 15)]));
        assert!(add(&[write(15, 16)]));
        assert!(!add(&[write(0, 15)]));
        assert!(add(&[write(14, 20)]));
        // Ranges that touch do not meet.
        assert!(!add(&[write(20, 21), write(13, 14)]));
    }
}
