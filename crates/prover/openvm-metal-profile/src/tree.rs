//! `Paths`: call stacks with inlined frames, as lists of frames from the outermost to the innermost.

use rustc_hash::FxHashMap;

use crate::{cost::Cost, recording::Recording, Frame, Symbols};

/// Interned frames of the instructions of a recording.
pub(crate) struct Frames {
    pub frames: Vec<Frame>,
    /// Frames of an instruction, innermost first.
    of: FxHashMap<u32, Vec<usize>>,
}

impl Frames {
    pub fn new(recording: &Recording, symbols: &Symbols) -> Self {
        let mut frames = Vec::new();
        let mut ids: FxHashMap<Frame, usize> = FxHashMap::default();
        let mut of = FxHashMap::default();
        let instructions = recording.stacks.iter().flat_map(|stack| {
            let own = stack.costs.iter().map(|&(pc, _)| pc);
            own.chain(stack.call)
        });
        for pc in instructions {
            of.entry(pc).or_insert_with(|| {
                let mut found = symbols.frames(pc);
                if found.is_empty() {
                    found.push(Frame::default());
                }
                let id = |frame: Frame| {
                    *ids.entry(frame.clone()).or_insert_with(|| {
                        frames.push(frame);
                        frames.len() - 1
                    })
                };
                found.into_iter().map(id).collect::<Vec<_>>()
            });
        }
        Self { frames, of }
    }

    /// Frames of an instruction, innermost first: at least one.
    pub fn of(&self, pc: u32) -> &[usize] {
        self.of.get(&pc).map_or(&[], Vec::as_slice)
    }

    /// Frames of a call that are inlined into the calling function, outermost first.
    pub fn inlined_at(&self, call: Option<u32>) -> impl Iterator<Item = usize> + '_ {
        let of = call.map_or(&[][..], |pc| self.of(pc));
        of[..of.len().saturating_sub(1)].iter().rev().copied()
    }

    /// The name of a frame in a function that begins at `start`.
    pub fn name(&self, frame: usize, start: u32) -> String {
        match &self.frames[frame].function {
            name if name.is_empty() => format!("{start:#010x}"),
            name => name.clone(),
        }
    }
}

/// Calls `take` with the names of each call stack, outermost first, inlined functions included, and what its innermost function costs.
/// Stacks that differ in lines alone are one.
pub(crate) fn each_path(
    recording: &Recording,
    symbols: &Symbols,
    mut take: impl FnMut(&[String], Cost),
) {
    let frames = Frames::new(recording, symbols);
    let function_name = |start: u32| {
        symbols
            .function(start)
            .map_or_else(|| format!("{start:#010x}"), |f| f.name.clone())
    };
    let mut paths: Vec<Vec<String>> = Vec::with_capacity(recording.stacks.len());
    for stack in &recording.stacks {
        let mut path = match stack.parent {
            Some(parent) => {
                let mut path = paths[parent].clone();
                let start = recording.stacks[parent].function;
                path.extend(
                    frames
                        .inlined_at(stack.call)
                        .map(|id| frames.name(id, start)),
                );
                path
            }
            None => Vec::new(),
        };
        path.push(function_name(stack.function));
        let mut by_inlined: Vec<(Vec<String>, Cost)> = Vec::new();
        let mut places: FxHashMap<Vec<String>, usize> = FxHashMap::default();
        for &(pc, cost) in &stack.costs {
            let of = frames.of(pc);
            // The last frame is the function itself.
            let inlined = of[..of.len().saturating_sub(1)].iter().rev();
            let names: Vec<String> = inlined.map(|&id| frames.name(id, stack.function)).collect();
            let place = *places.entry(names.clone()).or_insert_with(|| {
                by_inlined.push((names, Cost::default()));
                by_inlined.len() - 1
            });
            by_inlined[place].1 += cost;
        }
        for (names, cost) in by_inlined {
            let length = path.len();
            path.extend(names);
            take(&path, cost);
            path.truncate(length);
        }
        paths.push(path);
    }
}
