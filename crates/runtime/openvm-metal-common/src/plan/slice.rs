//! Parts of a grid that run by themselves.

use std::ops::Range;

use crate::grid::Shape;

/// A box of threadgroups of a grid whose numbers, x first, then y, then z, follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slice {
    /// Position of the first threadgroup.
    pub first: [u32; 3],
    /// Threadgroups in each direction.
    pub groups: [u32; 3],
}

impl Slice {
    /// The whole grid.
    pub fn whole(shape: &Shape) -> Self {
        Self {
            first: [0; 3],
            groups: shape.groups,
        }
    }

    /// Threadgroups in it.
    pub fn count(&self) -> u64 {
        self.groups.iter().map(|&n| u64::from(n)).product()
    }

    /// The numbers of its threadgroups in the grid.
    pub fn numbers(&self, shape: &Shape) -> Range<u64> {
        let ([x, y, z], [width, height, _]) = (self.first, shape.groups);
        let first =
            u64::from(x) + u64::from(width) * (u64::from(y) + u64::from(height) * u64::from(z));
        first..first + self.count()
    }

    /// Position of its first thread. It is below 2^32, because the shape's threads are.
    #[cfg(any(test, target_vendor = "apple"))]
    pub fn first_thread(&self, shape: &Shape) -> [u32; 3] {
        std::array::from_fn(|axis| self.first[axis] * shape.threads_per_group[axis])
    }

    /// Threads in each direction; the last threadgroups of a grid given in threads may be cut short.
    #[cfg(any(test, target_vendor = "apple"))]
    pub fn threads(&self, shape: &Shape) -> [u32; 3] {
        let first = self.first_thread(shape);
        std::array::from_fn(|axis| {
            let whole = u64::from(self.groups[axis]) * u64::from(shape.threads_per_group[axis]);
            whole.min(u64::from(shape.threads[axis] - first[axis])) as u32
        })
    }

    /// The slice as kernels of the builder take it: the first threadgroup, the first thread, the
    /// threadgroups and the threads of the grid.
    #[cfg(any(test, target_vendor = "apple"))]
    pub fn words(&self, shape: &Shape) -> [u32; 12] {
        let rows = [
            self.first,
            self.first_thread(shape),
            shape.groups,
            shape.threads,
        ];
        std::array::from_fn(|i| rows[i / 3][i % 3])
    }
}

/// Cuts a grid into slices in the order of the threadgroups' numbers.
pub(crate) struct Cutter {
    groups: [u32; 3],
    /// Number of the next threadgroup.
    next: u64,
    total: u64,
}

impl Cutter {
    pub fn new(shape: &Shape) -> Self {
        Self {
            groups: shape.groups,
            next: 0,
            total: Slice::whole(shape).count(),
        }
    }

    /// Threadgroups that are in no slice yet.
    pub fn left(&self) -> u64 {
        self.total - self.next
    }

    /// Threadgroups in the slices so far.
    pub fn begun(&self) -> u64 {
        self.next
    }

    /// True before the first slice.
    pub fn is_whole(&self) -> bool {
        self.next == 0
    }

    /// The next slice, of at most `most` threadgroups but at least one: planes of the grid if one fits, else
    /// rows of a plane, else a part of a row.
    pub fn next(&mut self, most: u64) -> Option<Slice> {
        if self.left() == 0 {
            return None;
        }
        let [width, height, depth] = self.groups.map(u64::from);
        let plane = width * height;
        let (x, y, z) = (
            self.next % width,
            self.next / width % height,
            self.next / plane,
        );
        let groups = if (x, y) == (0, 0) && most >= plane {
            [width, height, (most / plane).min(depth - z)]
        } else if x == 0 && most >= width {
            [width, (most / width).min(height - y), 1]
        } else {
            [most.clamp(1, width - x), 1, 1]
        };
        self.next += groups.iter().product::<u64>();
        Some(Slice {
            first: [x, y, z].map(|n| n as u32),
            groups: groups.map(|n| n as u32),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(groups: [u32; 3]) -> Shape {
        Shape {
            threads: groups.map(|n| n * 4),
            threads_per_group: [4; 3],
            groups,
            by_threads: false,
            any_size: false,
        }
    }

    #[test]
    fn slices_cover_every_grid_in_order() {
        for groups in [[1, 1, 1], [1000, 1, 1], [7, 5, 3], [1, 9, 1], [3, 1, 8]] {
            let shape = shape(groups);
            let total = Slice::whole(&shape).count();
            for most in [0, 1, 2, 5, 7, 8, 35, 36, 70, total, u64::MAX] {
                let mut cutter = Cutter::new(&shape);
                let mut next = 0;
                while let Some(slice) = cutter.next(most) {
                    assert!(slice.count() <= most.max(1), "{slice:?} of {most}");
                    let numbers = slice.numbers(&shape);
                    assert_eq!(numbers.start, next, "{groups:?} by {most}");
                    next = numbers.end;
                    assert_eq!(slice.threads(&shape), slice.groups.map(|n| n * 4));
                }
                assert_eq!(next, total, "{groups:?} by {most}");
                assert_eq!(cutter.left(), 0);
            }
        }
    }

    #[test]
    fn the_outermost_direction_is_cut_first() {
        let mut cutter = Cutter::new(&shape([7, 5, 3]));
        let first = cutter.next(70).expect("a slice");
        assert_eq!((first.first, first.groups), ([0; 3], [7, 5, 2]));
        let mut cutter = Cutter::new(&shape([7, 5, 3]));
        let first = cutter.next(20).expect("a slice");
        assert_eq!((first.first, first.groups), ([0; 3], [7, 2, 1]));
    }

    #[test]
    fn the_last_threadgroup_stays_short_and_positions_stay_below_2_to_the_32() {
        let shape = Shape {
            threads: [u32::MAX, 1, 1],
            threads_per_group: [256, 1, 1],
            groups: [1 << 24, 1, 1],
            by_threads: true,
            any_size: false,
        };
        let mut cutter = Cutter::new(&shape);
        cutter.next((1 << 24) - 1).expect("a slice");
        let last = cutter.next(9).expect("a slice");
        assert_eq!(last.threads(&shape), [255, 1, 1]);
        assert_eq!(last.first_thread(&shape), [u32::MAX - 255, 0, 0]);
        let words = last.words(&shape);
        assert_eq!(words[..3], [(1 << 24) - 1, 0, 0]);
        assert_eq!(words[6..], [1 << 24, 1, 1, u32::MAX, 1, 1]);
    }
}
