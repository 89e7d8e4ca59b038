//! Texts of a collection as a document may hold them.
//!
//! The types here are the only way by which such a text gets into a document. Each escapes what means something to HTML and
//! XML, and replaces what no document may contain: an account named by a control character must not break the page.

use std::ops::Range;

use maud::Render;

/// A text inside an element or an attribute. Line ends stay line ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Text<'a>(pub(crate) &'a str);

/// The beginning of a text in one line: at most so many characters, and an ellipsis where it goes on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Beginning<'a>(pub(crate) &'a str, pub(crate) usize);

/// A poem set vertically: its own line breaks, short numbers upright.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Vertical<'a>(pub(crate) &'a str);

/// A text with its paragraphs and line breaks, set horizontally.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lines<'a>(pub(crate) &'a str);

/// A text in one line with a part of it marked; of a long one the surroundings of that part.
#[derive(Debug, Clone)]
pub(crate) struct Marked<'a> {
    pub(crate) text: &'a str,
    pub(crate) mark: Option<Range<usize>>,
    pub(crate) most: usize,
}

/// What a page may still hold of texts, in characters. Every poem that people write fits, and all they say about it; a
/// megabyte, which the format allows, does not: a page is an answer, and every answer has its size.
#[derive(Debug)]
pub(crate) struct Room(pub(crate) usize);

/// A text as far as there was room for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part<'a> {
    pub(crate) text: &'a str,
    pub(crate) is_cut: bool,
}

impl Room {
    /// What markup around a text counts for.
    const FRAME_CHARACTERS: usize = 12;

    /// Takes room for as much of a text as fits.
    pub(crate) fn part<'a>(&mut self, text: &'a str) -> Part<'a> {
        let part = beginning(text, self.0);
        self.0 = self.0.saturating_sub(part.chars().count() + Self::FRAME_CHARACTERS);
        Part { text: part, is_cut: part.len() < text.len() }
    }

    /// Tells whether there is room for anything.
    pub(crate) fn is_left(&self) -> bool {
        self.0 > 0
    }
}

impl Part<'_> {
    /// Returns what stands where something is left out.
    pub(crate) fn mark(self) -> &'static str {
        if self.is_cut { CUT_MARK } else { "" }
    }
}

/// Stands where something is left out.
pub(crate) const CUT_MARK: &str = "（以下省略）";

impl Render for Part<'_> {
    fn render_to(&self, out: &mut String) {
        write(out, self.text, BREAK);
        out.push_str(self.mark());
    }
}

impl Render for Text<'_> {
    fn render_to(&self, out: &mut String) {
        write(out, self.0, "\n");
    }
}

impl Render for Lines<'_> {
    fn render_to(&self, out: &mut String) {
        write(out, self.0, BREAK);
    }
}

impl Render for Beginning<'_> {
    fn render_to(&self, out: &mut String) {
        let Self(text, most) = *self;
        let part = beginning(text.trim(), most);
        write(out, part, BLANK);
        if part.len() < text.trim().len() {
            out.push('…');
        }
    }
}

impl Render for Vertical<'_> {
    fn render_to(&self, out: &mut String) {
        let mut rest = self.0;
        // Western text is what stands sideways in a vertical line. A run of it is looked at as a whole.
        while let Some(start) = rest.find(is_western) {
            let (before, from) = rest.split_at(start);
            write(out, before, BREAK);
            let (run, after) = from.split_at(from.find(|letter| !is_western(letter)).unwrap_or(from.len()));
            if stands_upright(run) {
                out.push_str("<span class=\"upright\">");
                write(out, run, BREAK);
                out.push_str("</span>");
            } else {
                write(out, run, BREAK);
            }
            rest = after;
        }
        write(out, rest, BREAK);
    }
}

impl Render for Marked<'_> {
    fn render_to(&self, out: &mut String) {
        let text = self.text;
        let mark = self.mark.clone().filter(|mark| text.get(mark.clone()).is_some()).unwrap_or_default();
        let part = around(text, mark.start, self.most);
        let inside = mark.start.clamp(part.start, part.end)..mark.end.clamp(part.start, part.end);
        let piece = |range: Range<usize>| text.get(range).unwrap_or_default();
        if part.start > 0 {
            out.push('…');
        }
        write(out, piece(part.start..inside.start), BLANK);
        if !inside.is_empty() {
            out.push_str("<mark>");
            write(out, piece(inside.clone()), BLANK);
            out.push_str("</mark>");
        }
        write(out, piece(inside.end..part.end), BLANK);
        if part.end < text.len() {
            out.push('…');
        }
    }
}

/// A line break that HTML and XML both understand.
const BREAK: &str = "<br/>";
/// Stands between the lines of a poem that is written in one.
const BLANK: &str = "\u{3000}";

/// Tells whether a letter is laid on its side in vertical text, so far as numbers and their neighbours are concerned.
fn is_western(letter: char) -> bool {
    letter.is_ascii_graphic()
}

/// Tells whether a run of Western text is set upright in the width of one character: numbers of one or two digits and
/// doubled marks.
fn stands_upright(run: &str) -> bool {
    let is_number = run.len() <= 2 && run.bytes().all(|byte| byte.is_ascii_digit());
    is_number || matches!(run, "!" | "?" | "!!" | "!?" | "?!" | "??")
}

/// Returns at most the first `most` characters.
pub(crate) fn beginning(text: &str, most: usize) -> &str {
    // No text has more characters than bytes.
    if text.len() <= most {
        return text;
    }
    let end = text.char_indices().nth(most).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text)
}

/// Returns a part of at most `most` characters, with about half of them before `place`.
fn around(text: &str, place: usize, most: usize) -> Range<usize> {
    if text.len() <= most {
        return 0..text.len();
    }
    let count = text.chars().count();
    let before = text.get(..place).map_or(0, |before| before.chars().count());
    let first = before.saturating_sub(most / 2).min(count.saturating_sub(most));
    let mut ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    let start = ends.nth(first).unwrap_or_default();
    let end = most.checked_sub(1).and_then(|more| ends.nth(more)).unwrap_or(text.len());
    start..end
}

/// Appends `text`, escaped. `line_end` is markup and stands for each line end.
fn write(out: &mut String, text: &str, line_end: &str) {
    let mut plain_from = 0;
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        let instead = match letter {
            '&' => "&amp;",
            '<' => "&lt;",
            '>' => "&gt;",
            '"' => "&quot;",
            '\'' => "&#39;",
            '\r' if letters.peek().is_some_and(|(_, next)| *next == '\n') => "",
            '\n' | '\r' => line_end,
            '\t' => continue,
            letter if is_forbidden(letter) => "\u{fffd}",
            _ => continue,
        };
        out.push_str(text.get(plain_from..at).unwrap_or_default());
        out.push_str(instead);
        plain_from = at + letter.len_utf8();
    }
    out.push_str(text.get(plain_from..).unwrap_or_default());
}

/// Tells whether a letter may not stand in a document: controls, which HTML and XML forbid, and noncharacters, which HTML does.
fn is_forbidden(letter: char) -> bool {
    letter.is_control()
        || matches!(u32::from(letter), 0xfdd0..=0xfdef)
        || u32::from(letter) & 0xfffe == 0xfffe
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(text: impl Render) -> String {
        text.render().into_string()
    }

    #[test]
    fn markup_of_a_text_is_shown_as_it_is_written() {
        let text = "<script>alert(\"歌\" & '花')</script>";
        let expected = "&lt;script&gt;alert(&quot;歌&quot; &amp; &#39;花&#39;)&lt;/script&gt;";
        assert_eq!(shown(Text(text)), expected);
        assert_eq!(shown(Lines(text)), expected);
        assert_eq!(shown(Vertical(text)), expected);
        assert_eq!(shown(Beginning(text, 100)), expected);
        assert_eq!(shown(Marked { text, mark: None, most: 100 }), expected);
    }

    #[test]
    fn what_no_document_may_hold_is_replaced() {
        assert_eq!(
            shown(Text("\0春\u{1}\u{7f}\u{85}\u{fdd0}\u{ffff}\u{1fffe}\t花")),
            "\u{fffd}春\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\t花"
        );
    }

    #[test]
    fn every_kind_of_line_end_is_one_line_break() {
        assert_eq!(shown(Vertical("一\n二\r\n三\r四")), "一<br/>二<br/>三<br/>四");
        assert_eq!(shown(Text("一\r\n二\r三")), "一\n二\n三");
        assert_eq!(shown(Beginning("一\n二", 9)), "一\u{3000}二");
    }

    #[test]
    fn short_numbers_stand_upright_and_words_do_not() {
        let upright = |run: &str| format!("<span class=\"upright\">{run}</span>");
        assert_eq!(shown(Vertical("12月3日")), format!("{}月{}日", upright("12"), upright("3")));
        assert_eq!(shown(Vertical("あ!?")), format!("あ{}", upright("!?")));
        for sideways in ["2025年", "USB3を", "3.5寸", "v2の", "@Laptop1"] {
            assert_eq!(shown(Vertical(sideways)), sideways);
        }
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(shown(Beginning("花の色は", 2)), "花の…");
        assert_eq!(shown(Beginning("花の色は", 4)), "花の色は");
        assert_eq!(shown(Beginning("", 0)), "");
    }

    #[test]
    fn a_mark_stays_in_view() {
        let marked = |text, mark, most| shown(Marked { text, mark: Some(mark), most });
        assert_eq!(marked("花の色は", 3..6, 10), "花<mark>の</mark>色は");
        let long = "一二三四五六七八九十";
        assert_eq!(marked(long, 15..18, 4), "…四五<mark>六</mark>七…");
        assert_eq!(marked(long, 27..30, 4), "…七八九<mark>十</mark>");
        assert_eq!(marked(long, 0..30, 4), "<mark>一二三四</mark>…");
        assert_eq!(marked(long, 1..3, 4), "一二三四…", "a range that cuts a character marks nothing");
        assert_eq!(marked("a<b", 1..2, 9), "a<mark>&lt;</mark>b");
    }

    proptest! {
        #[test]
        fn no_text_brings_markup_along(text in any::<String>(), from in 0_usize..40, length in 0_usize..40, most in 0_usize..40) {
            let marked = Marked { text: &text, mark: Some(from..from + length), most };
            for html in [shown(Text(&text)), shown(Lines(&text)), shown(Vertical(&text)), shown(Beginning(&text, most)), shown(marked)] {
                let ours = ["<br/>", "<span class=\"upright\">", "</span>", "<mark>", "</mark>"];
                let rest = ours.iter().fold(html, |html, tag| html.replace(tag, ""));
                prop_assert!(!rest.contains(['<', '>', '"', '\'', '\r', '\0']), "{rest}");
            }
        }
    }
}
