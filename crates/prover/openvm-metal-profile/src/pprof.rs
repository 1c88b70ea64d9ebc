//! The format of pprof: `profile.proto`, written field by field. The few fields that a profile needs are less than a
//! generator of such code with its run time.

use rustc_hash::FxHashMap;

use crate::{cost::Cost, model::TimeModel, recording::Recording, tree::Frames, Symbols};

/// Field numbers of the messages in `profile.proto`.
mod field {
    pub const SAMPLE_TYPE: u32 = 1;
    pub const SAMPLE: u32 = 2;
    pub const MAPPING: u32 = 3;
    pub const LOCATION: u32 = 4;
    pub const FUNCTION: u32 = 5;
    pub const STRING_TABLE: u32 = 6;
    pub const DEFAULT_SAMPLE_TYPE: u32 = 14;
}

/// A message in Protocol Buffers' encoding.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// A number, which is left out if it is 0.
    fn number(&mut self, field: u32, value: u64) {
        if value > 0 {
            self.varint(u64::from(field) << 3);
            self.varint(value);
        }
    }

    fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn message(&mut self, field: u32, message: &Self) {
        self.bytes(field, &message.0);
    }

    fn numbers(&mut self, field: u32, values: impl IntoIterator<Item = u64>) {
        let mut packed = Self::default();
        values.into_iter().for_each(|value| packed.varint(value));
        self.message(field, &packed);
    }
}

#[derive(Default)]
struct Strings {
    ids: FxHashMap<String, u64>,
    all: Vec<String>,
}

impl Strings {
    fn id(&mut self, text: &str) -> u64 {
        if let Some(&id) = self.ids.get(text) {
            return id;
        }
        let id = self.all.len() as u64;
        self.all.push(text.to_owned());
        self.ids.insert(text.to_owned(), id);
        id
    }
}

/// The recording for pprof (`go tool pprof -http : FILE`): instructions, cells and modelled nanoseconds of every instruction of
/// every call stack, with inlined functions and lines. The bytes are not compressed, which pprof takes, too.
pub fn pprof(recording: &Recording, symbols: &Symbols, model: &TimeModel) -> Vec<u8> {
    let frames = Frames::new(recording, symbols);
    let mut strings = Strings::default();
    strings.id("");
    let mut profile = Message::default();
    for (kind, unit) in [
        ("instructions", "count"),
        ("cells", "count"),
        ("time", "nanoseconds"),
    ] {
        let mut value_type = Message::default();
        value_type.number(1, strings.id(kind));
        value_type.number(2, strings.id(unit));
        profile.message(field::SAMPLE_TYPE, &value_type);
    }
    let mut functions: FxHashMap<(u64, u64), u64> = FxHashMap::default();
    let mut tables = Message::default();
    let mut locations: FxHashMap<u32, u64> = FxHashMap::default();
    let mut location = |pc: u32, start: u32| {
        let next = locations.len() as u64 + 1;
        *locations.entry(pc).or_insert_with(|| {
            let mut message = Message::default();
            message.number(1, next);
            message.number(2, 1);
            message.number(3, u64::from(pc));
            let known = frames.of(pc);
            let place = |strings: &mut Strings, frame: Option<usize>| {
                let frame_of = frame.map(|id| &frames.frames[id]);
                let name = match frame {
                    Some(id) => frames.name(id, start),
                    None => symbols
                        .function(pc)
                        .map_or_else(|| format!("{start:#010x}"), |f| f.name.clone()),
                };
                let file = frame_of.and_then(|f| f.file.clone()).unwrap_or_default();
                let line = frame_of.and_then(|f| f.line).unwrap_or(0);
                (strings.id(&name), strings.id(&file), u64::from(line))
            };
            let places: Vec<_> = match known {
                [] => vec![place(&mut strings, None)],
                known => known
                    .iter()
                    .map(|&id| place(&mut strings, Some(id)))
                    .collect(),
            };
            for (name, file, line) in places {
                let number = functions.len() as u64 + 1;
                let function = *functions.entry((name, file)).or_insert_with(|| {
                    let mut message = Message::default();
                    message.number(1, number);
                    message.number(2, name);
                    message.number(3, name);
                    message.number(4, file);
                    tables.message(field::FUNCTION, &message);
                    number
                });
                let mut message_line = Message::default();
                message_line.number(1, function);
                message_line.number(2, line);
                message.message(4, &message_line);
            }
            tables.message(field::LOCATION, &message);
            next
        })
    };
    for stack in &recording.stacks {
        let mut callers = Vec::new();
        let (mut parent, mut call) = (stack.parent, stack.call);
        while let Some(index) = parent {
            let caller = &recording.stacks[index];
            callers.push(location(call.unwrap_or(caller.function), caller.function));
            (parent, call) = (caller.parent, caller.call);
        }
        for &(pc, cost) in &stack.costs {
            let mut sample = Message::default();
            let own = location(pc, stack.function);
            sample.numbers(1, std::iter::once(own).chain(callers.iter().copied()));
            sample.numbers(2, values(cost, model));
            profile.message(field::SAMPLE, &sample);
        }
    }
    let mut mapping = Message::default();
    mapping.number(1, 1);
    mapping.number(3, u64::from(u32::MAX));
    // Functions, lines and inlined frames are in the profile: pprof looks for no file.
    for known in [7, 8, 9, 10] {
        mapping.number(known, 1);
    }
    profile.message(field::MAPPING, &mapping);
    profile.0.extend_from_slice(&tables.0);
    let default = strings.id("cells");
    for text in &strings.all {
        profile.bytes(field::STRING_TABLE, text.as_bytes());
    }
    profile.number(field::DEFAULT_SAMPLE_TYPE, default);
    profile.0
}

fn values(cost: Cost, model: &TimeModel) -> [u64; 3] {
    let nanoseconds = (model.of(cost) * 1e9).round() as u64;
    [cost.instructions, cost.cells, nanoseconds]
}
