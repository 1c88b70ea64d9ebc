//! `Chain`: which proofs of segments that were found belong to the execution, as far as their neighbours tell.
//!
//! A proof that verifies may be one of the same program with another input. Its ends tell: each segment begins where the one before it
//! ends, the first where the program begins, the last where the execution ended. Found ones are given on when all of them in a row join
//! something certain on both sides: a segment that was proved here, the beginning or the end. Of two that do not join, those that were
//! found are refused: nobody knows which of two is wrong.

use std::collections::{BTreeMap, BTreeSet};

use crate::span::Span;

/// The segments of an execution that have proofs.
pub(super) struct Chain {
    links: BTreeMap<usize, Link>,
    end: Option<End>,
}

/// The end of the execution.
pub(super) struct End {
    /// Number of segments.
    pub segments: usize,
    /// True if a last segment ends where the execution did.
    pub fits: Box<dyn Fn(&Span) -> bool + Send>,
}

struct Link {
    span: Span,
    /// It was found, and not given on yet.
    waits: bool,
}

/// Results for found segments.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Settled {
    /// These belong to the execution.
    pub ready: Vec<usize>,
    /// These do not, or their neighbours do not. They are in the chain no more.
    pub refused: Vec<(usize, String)>,
}

impl Chain {
    pub fn new() -> Self {
        Self {
            links: BTreeMap::new(),
            end: None,
        }
    }

    /// A segment was proved here.
    pub fn made(&mut self, index: usize, span: Span) -> Settled {
        self.add(index, span, false)
    }

    /// A proof of a segment was found, which begins where the program does if it is the first.
    pub fn found(&mut self, index: usize, span: Span) -> Settled {
        self.add(index, span, true)
    }

    /// The execution ended.
    pub fn end(&mut self, end: End) -> Settled {
        self.end = Some(end);
        self.settle()
    }

    fn add(&mut self, index: usize, span: Span, waits: bool) -> Settled {
        self.links.insert(index, Link { span, waits });
        self.settle()
    }

    fn settle(&mut self) -> Settled {
        let refused = self.refused();
        for (index, _) in &refused {
            self.links.remove(index);
        }
        let ready = self.ready();
        for index in &ready {
            if let Some(link) = self.links.get_mut(index) {
                link.waits = false;
            }
        }
        Settled { ready, refused }
    }

    /// Waiting segments that do not join.
    fn refused(&self) -> Vec<(usize, String)> {
        let mut refused = BTreeMap::new();
        for (&index, link) in &self.links {
            let Some(next) = self.links.get(&(index + 1)) else {
                continue;
            };
            if link.span.joins(&next.span) {
                continue;
            }
            if link.waits {
                let reason = format!("does not join segment {}", index + 1);
                refused.entry(index).or_insert(reason);
            }
            if next.waits {
                let reason = format!("does not join segment {index}");
                refused.entry(index + 1).or_insert(reason);
            }
        }
        if let Some(end) = &self.end {
            let last = self.links.last_key_value().filter(|(_, link)| link.waits);
            if let Some((&index, link)) = last.filter(|(&i, _)| i + 1 == end.segments) {
                if !(end.fits)(&link.span) {
                    let reason = "does not end where the execution does".to_owned();
                    refused.entry(index).or_insert(reason);
                }
            }
        }
        refused.into_iter().collect()
    }

    /// Waiting segments, in rows that join something certain on both sides.
    fn ready(&self) -> Vec<usize> {
        let waits = |index: usize| self.links.get(&index).is_some_and(|link| link.waits);
        let certain = |index: usize| self.links.get(&index).is_some_and(|link| !link.waits);
        let is_end = |index: usize| self.end.as_ref().is_some_and(|end| end.segments == index);
        let all: BTreeSet<usize> = self.links.keys().copied().filter(|&i| waits(i)).collect();
        let starts = all.iter().filter(|&&i| i == 0 || !waits(i - 1));
        let rows = starts.map(|&start| {
            let row = start..(start..).find(|&i| !waits(i)).unwrap_or(start);
            let from = start == 0 || certain(start - 1);
            (row.clone(), from && (certain(row.end) || is_end(row.end)))
        });
        rows.filter(|(_, anchored)| *anchored)
            .flat_map(|(row, _)| row)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use openvm_stark_backend::p3_field::PrimeCharacteristicRing;

    use super::*;
    use crate::prelude::F;

    const SEGMENTS: usize = 5;

    /// Segment `index` of the execution of an input.
    fn span(input: u32, index: usize) -> Span {
        let at = |index: usize| match index {
            0 => (0, [F::ZERO; 8]),
            _ => (
                4 * index as u32,
                [F::from_u32(100 * input + index as u32); 8],
            ),
        };
        let ((initial_pc, initial_root), (final_pc, final_root)) = (at(index), at(index + 1));
        Span {
            program_commit: [F::ONE; 8],
            initial_pc,
            final_pc,
            exit_code: 0,
            terminates: index + 1 == SEGMENTS,
            initial_root,
            final_root,
        }
    }

    fn end() -> End {
        End {
            segments: SEGMENTS,
            fits: Box::new(|last| *last == span(1, SEGMENTS - 1)),
        }
    }

    fn ready(indices: impl IntoIterator<Item = usize>) -> Settled {
        Settled {
            ready: indices.into_iter().collect(),
            refused: vec![],
        }
    }

    fn refused(settled: &Settled) -> Vec<usize> {
        settled.refused.iter().map(|(index, _)| *index).collect()
    }

    #[test]
    fn found_segments_wait_until_both_sides_are_certain() {
        let mut chain = Chain::new();
        assert_eq!(chain.found(0, span(1, 0)), ready([]));
        assert_eq!(chain.found(1, span(1, 1)), ready([]));
        assert_eq!(chain.found(4, span(1, 4)), ready([]));
        assert_eq!(chain.made(3, span(1, 3)), ready([]));
        assert_eq!(chain.made(2, span(1, 2)), ready([0, 1]));
        assert_eq!(chain.end(end()), ready([4]));
        assert_eq!(chain.end(end()), ready([]));
    }

    #[test]
    fn all_found_are_ready_at_the_end() {
        let mut chain = Chain::new();
        for index in [3, 0, 2, 4, 1] {
            assert_eq!(chain.found(index, span(1, index)), ready([]));
        }
        assert_eq!(chain.end(end()), ready(0..SEGMENTS));
    }

    #[test]
    fn both_of_two_found_that_do_not_join_are_refused() {
        let mut chain = Chain::new();
        for index in [0, 1, 3] {
            assert_eq!(chain.found(index, span(1, index)), ready([]));
        }
        let settled = chain.found(2, span(2, 2));
        assert_eq!(refused(&settled), [1, 2, 3]);
        assert_eq!(settled.refused[0].1, "does not join segment 2");
        assert!(settled.ready.is_empty());
        // The others wait for what is made in their place.
        assert_eq!(chain.made(1, span(1, 1)), ready([0]));
    }

    #[test]
    fn a_found_one_beside_one_that_was_made_is_refused() {
        let mut chain = Chain::new();
        assert_eq!(chain.made(1, span(1, 1)), ready([]));
        assert_eq!(refused(&chain.found(2, span(2, 2))), [2]);
        assert_eq!(refused(&chain.found(0, span(2, 0))), [0]);
        // What was given on stays.
        assert_eq!(chain.found(0, span(1, 0)), ready([0]));
        assert_eq!(chain.made(0, span(2, 0)), ready([]));
    }

    /// Proofs of the same program with another input join each other, and start where it does.
    #[test]
    fn the_segments_of_another_input_are_refused_from_the_end() {
        let mut chain = Chain::new();
        for index in 0..SEGMENTS {
            assert_eq!(chain.found(index, span(2, index)), ready([]));
        }
        let settled = chain.end(end());
        assert_eq!(refused(&settled), [SEGMENTS - 1]);
        assert!(settled.ready.is_empty());
        for index in (1..SEGMENTS).rev() {
            let settled = chain.made(index, span(1, index));
            assert_eq!(refused(&settled), [index - 1]);
            assert!(settled.ready.is_empty());
        }
        assert_eq!(chain.made(0, span(1, 0)), ready([]));
    }
}
