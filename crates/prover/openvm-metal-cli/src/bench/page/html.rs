//! A page of sections, tables and figures.

/// For a screen and for paper.
const STYLE: &str = "
body { font: 15px/1.45 system-ui, sans-serif; max-width: 1000px; margin: 2em auto; padding: 0 1em; color: #1b1b1f; }
h2 { margin-top: 2em; border-bottom: 1px solid #ccc; }
table { border-collapse: collapse; margin: 1em 0; font-variant-numeric: tabular-nums; }
th, td { padding: 2px 10px; border-bottom: 1px solid #ddd; text-align: left; }
figure { margin: 1.5em 0; break-inside: avoid; }
figure svg { width: 100%; height: auto; }
figcaption { color: #555; font-size: 13px; }
@media print { body { margin: 0; max-width: none; font-size: 11px; } h2 { break-after: avoid; } }
";

/// A page that is written from top to bottom.
pub struct Page(String);

/// A text as HTML.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

impl Page {
    pub fn new(title: &str) -> Self {
        let title = escape(title);
        Self(format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n\
             <style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
        ))
    }

    pub fn section(&mut self, title: &str) {
        self.0 += &format!("<h2>{}</h2>\n", escape(title));
    }

    pub fn table<const N: usize>(
        &mut self,
        header: &[&str; N],
        rows: impl Iterator<Item = [String; N]>,
    ) {
        let cells = |tag: &str, cells: Vec<String>| -> String {
            let cells = cells
                .iter()
                .map(|cell| format!("<{tag}>{}</{tag}>", escape(cell)));
            format!("<tr>{}</tr>\n", cells.collect::<String>())
        };
        self.0 += "<table>\n";
        self.0 += &cells("th", header.iter().map(|&cell| cell.to_owned()).collect());
        for row in rows {
            self.0 += &cells("td", row.to_vec());
        }
        self.0 += "</table>\n";
    }

    /// A picture, as the text of an SVG, with what it shows.
    pub fn figure(&mut self, svg: &str, caption: &str) {
        self.0 += &format!(
            "<figure>\n{svg}\n<figcaption>{}</figcaption>\n</figure>\n",
            escape(caption)
        );
    }

    pub fn end(self) -> String {
        self.0 + "</body>\n</html>\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped() {
        let mut page = Page::new("a < b");
        page.table(&["x & y"], [["<script>".to_owned()]].into_iter());
        let text = page.end();
        assert!(text.contains("<title>a &lt; b</title>"));
        assert!(text.contains("<th>x &amp; y</th>"));
        assert!(text.contains("<td>&lt;script&gt;</td>"));
        assert!(!text.contains("<script"));
    }
}
