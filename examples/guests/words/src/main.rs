//! The words of a text counted and sorted, with the standard library's maps.
//!
//! Input: the text, UTF-8. Public values: words (u32), different words (u32), uses of the most frequent word (u32),
//! then that word's first 20 bytes, filled with zeros. Of equally frequent words the first in the alphabet counts.

use std::collections::{BTreeMap, HashMap};

fn main() {
    let text = String::from_utf8(openvm::io::read_vec()).expect("the text is not UTF-8");
    let mut uses: HashMap<String, u32> = HashMap::new();
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()) {
        *uses.entry(word.to_lowercase()).or_default() += 1;
    }
    let total: u32 = uses.values().sum();

    let mut by_uses: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
    for (word, count) in &uses {
        by_uses.entry(*count).or_default().push(word);
    }
    let (count, first) = match by_uses.last_entry() {
        Some(mut most) => {
            most.get_mut().sort_unstable();
            (*most.key(), most.get()[0])
        }
        None => (0, ""),
    };

    let mut public = [0u8; 32];
    public[..4].copy_from_slice(&total.to_le_bytes());
    public[4..8].copy_from_slice(&(uses.len() as u32).to_le_bytes());
    public[8..12].copy_from_slice(&count.to_le_bytes());
    let length = first.len().min(20);
    public[12..12 + length].copy_from_slice(&first.as_bytes()[..length]);
    openvm::io::reveal_bytes32(public);
}
