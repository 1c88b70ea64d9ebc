//! CONTRIBUTING.md shows the files of `examples/first-kernel` as they are.

use std::fs;
use std::path::Path;

#[test]
fn the_page_shows_these_files() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page =
        fs::read_to_string(root.join("CONTRIBUTING.md")).expect("CONTRIBUTING.md at the root");
    let mut shown = 0;
    // A block follows a line that names its file: "`examples/first-kernel/build.rs`:".
    for (before, block) in page
        .split("\n```")
        .zip(page.split("\n```").skip(1))
        .step_by(2)
    {
        let Some(name) = before
            .lines()
            .last()
            .and_then(|line| line.strip_prefix('`'))
            .and_then(|line| line.strip_suffix("`:"))
            .filter(|name| name.starts_with("examples/first-kernel/"))
        else {
            continue;
        };
        let (_, text) = block.split_once('\n').expect("a language, then the text");
        let file = fs::read_to_string(root.join(name)).expect(name);
        assert!(
            file.contains(text.trim_end()),
            "{name} is not what CONTRIBUTING.md shows:\n{text}"
        );
        shown += 1;
    }
    assert_eq!(shown, 4, "blocks that name a file of the example");
}
