//! Columns that line up on a terminal, where a kanji is two cells wide.

use unicode_width::UnicodeWidthStr as _;

/// Which side of its column a cell keeps to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
}

/// Sets rows in columns two blanks apart; an empty header is left away.
pub(super) fn table(header: &[&str], aligns: &[Align], rows: Vec<Vec<String>>) -> String {
    let header = (!header.is_empty()).then(|| header.iter().map(|&cell| cell.to_owned()).collect());
    let rows: Vec<Vec<String>> = header.into_iter().chain(rows).collect();
    let width_of = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..aligns.len()).map(width_of).collect();
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for ((cell, align), width) in row.iter().zip(aligns).zip(&widths) {
            let padding = " ".repeat(width.saturating_sub(cell.width()));
            let separator = if line.is_empty() { "" } else { "  " };
            line.push_str(separator);
            match align {
                Align::Left => line.extend([cell.as_str(), &padding]),
                Align::Right => line.extend([&padding, cell.as_str()]),
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kanji_count_two_cells() {
        let rows = vec![vec!["第1回".to_owned(), "3".to_owned()], vec!["a".to_owned(), "12".to_owned()]];
        assert_eq!(
            table(&["r", "n"], &[Align::Left, Align::Right], rows),
            "r       n\n第1回   3\na      12\n"
        );
    }
}
