//! ELFs of random programs.

use crate::reference::Image;

const FILE_HEADER: u32 = 52;
const PROGRAM_HEADER: u32 = 32;

/// The ELF of an image: a segment of code, and one of data, whose addresses follow one another.
pub fn elf(image: &Image) -> Vec<u8> {
    let data_at = image.data.first().map_or(0, |&(address, _)| address);
    let code = bytes(image.code.iter().copied());
    let data = bytes(image.data.iter().map(|&(_, word)| word));
    let mut file = vec![0x7f, b'E', b'L', b'F', 1, 1, 1];
    file.resize(16, 0);
    let half = |file: &mut Vec<u8>, x: u32| file.extend((x as u16).to_le_bytes());
    // An executable for RISC-V.
    half(&mut file, 2);
    half(&mut file, 243);
    // Version, entry, offsets of program and section headers, flags.
    file.extend(bytes([1, image.text, FILE_HEADER, 0, 0]));
    for x in [FILE_HEADER, PROGRAM_HEADER, 2, 0, 0, 0] {
        half(&mut file, x);
    }
    let mut offset = FILE_HEADER + 2 * PROGRAM_HEADER;
    for (address, contents, flags) in [(data_at, &data, 6), (image.text, &code, 5)] {
        let size = contents.len() as u32;
        file.extend(bytes([1, offset, address, address, size, size, flags, 4]));
        offset += size;
    }
    file.extend(data);
    file.extend(code);
    file
}

fn bytes(words: impl IntoIterator<Item = u32>) -> Vec<u8> {
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}
