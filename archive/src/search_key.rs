//! Search keys: how texts are compared when poems are looked for. One function for the indexer and the query.
//!
//! The exact key folds what a reader does not see as a difference: width, kana script, letter case, old character
//! forms, iteration marks, blanks and line breaks. The loose key has one byte for all that some rule of spelling lets
//! stand for another; `spelling` has the rules, and compares what the loose key finds with the exact one.
//!
//! A key is made grapheme by grapheme, so that the key of a part of a text is the same part of the text's key. The
//! one context a grapheme sees is the key before it, for iteration marks. A key has at most [`MAX_KEY_BYTES`].

mod old_forms;
mod spelling;
mod tables;

use std::ops::Range;

use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

use crate::limits::MAX_KEY_BYTES;
pub(crate) use spelling::MAX_CANDIDATES;
pub use spelling::{Fit, Spelling, Walk, Word, is_without_marks};
pub use tables::folding_tables;

/// Version of the key algorithm. Bump it whenever any text would get a different key: columns state which keys they hold,
/// `FORMAT.md` describes each, and each leaves a golden file.
pub const KEYS_VERSION: u16 = 2;

/// How many times longer a key can be than its text: U+FDFA, 3 bytes, has a key of 30.
const LONGEST_FOLD: usize = 12;

/// A search key that knows which part of the text each of its parts came from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SearchKey {
    text: String,
    pieces: Vec<Piece>,
}

/// Where a run of the key came from.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Piece {
    /// The run ends before this byte of the key; it begins where the previous piece ends.
    key_end: u32,
    /// The part of the text. Texts are far shorter than 4 GiB, and a search makes many pieces.
    origin: Range<u32>,
    is_iteration: bool,
}

impl SearchKey {
    /// Returns the exact key of `text`.
    #[must_use]
    pub fn exact(text: &str) -> Self {
        let mut key = Self::default();
        let length = text.len().min(MAX_KEY_BYTES);
        key.text.reserve(length);
        key.pieces.reserve(length / 3);
        let mut start = 0;
        for grapheme in Graphemes(text) {
            let before = key.text.len();
            let end = start + grapheme.length();
            let is_iteration = push_grapheme(&mut key.text, grapheme);
            if key.text.len() > MAX_KEY_BYTES {
                key.text.truncate(before);
                break;
            }
            if key.text.len() > before {
                let origin = narrow(start)..narrow(end);
                key.pieces.push(Piece { key_end: narrow(key.text.len()), origin, is_iteration });
            }
            start = end;
        }
        key
    }

    /// Returns the loose key of `text`: one byte for each character of the exact one.
    #[must_use]
    pub fn loose(text: &str) -> Vec<u8> {
        let (mut exact, mut key) = (String::new(), Vec::new());
        push_exact(&mut exact, text);
        push_loose_of(&mut key, &exact);
        key
    }

    /// Tells whether the key of `text` would be longer than a key may be: the rest of it cannot be searched for.
    #[must_use]
    pub fn is_cut(text: &str) -> bool {
        text.len() > MAX_KEY_BYTES / LONGEST_FOLD && push_exact(&mut String::new(), text)
    }

    /// Returns the key itself.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Tells whether nothing of the text is left to search for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Finds `needle`, another text's exact key, and returns the part of `text` to mark; `text` is what this exact key
    /// was made from.
    ///
    /// A part whose own key is the needle is preferred: one that begins and ends between graphemes.
    #[must_use]
    pub fn find(&self, text: &str, needle: &str) -> Option<Range<usize>> {
        if needle.is_empty() {
            return None;
        }
        let is_needle =
            |part: &Range<usize>| text.get(part.clone()).is_some_and(|part| Self::exact(part).text == needle);
        let mut first = None;
        let finder = memchr::memmem::Finder::new(needle);
        let mut from = 0;
        for _ in 0..MAX_CANDIDATES {
            let Some(at) = self.text.as_bytes().get(from..).and_then(|rest| finder.find(rest)) else { break };
            let start = from + at;
            let (part, longer) = self.origins(start..start + needle.len())?;
            if let Some(part) = [part.clone(), longer].into_iter().find(is_needle) {
                return Some(part);
            }
            first.get_or_insert(part);
            // Matches may overlap; no match begins inside a character, so one byte on is far enough.
            from = start + 1;
        }
        first
    }

    /// Returns the part of the text that a run of the key came from; and that part begun at the character that is
    /// repeated, should it begin with an iteration mark.
    fn origins(&self, run: Range<usize>) -> Option<(Range<usize>, Range<usize>)> {
        let first = self.pieces.partition_point(|piece| piece.key_end as usize <= run.start);
        let last = self.pieces.partition_point(|piece| (piece.key_end as usize) < run.end);
        let end = self.pieces.get(last)?.origin.end as usize;
        let repeated = self.pieces.get(..=first)?.iter().rev().find(|piece| !piece.is_iteration);
        let start = self.pieces.get(first)?.origin.start as usize;
        Some((start..end, repeated.map_or(start, |piece| piece.origin.start as usize)..end))
    }
}

fn narrow(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}

/// Appends the exact key of `text`, for when origins are not asked for; tells whether it was cut.
pub(crate) fn push_exact(key: &mut String, text: &str) -> bool {
    // Iteration marks look back, but never beyond the start of this text.
    let mut own = String::with_capacity(text.len().min(MAX_KEY_BYTES));
    let mut is_cut = false;
    for grapheme in Graphemes(text) {
        let before = own.len();
        push_grapheme(&mut own, grapheme);
        if own.len() > MAX_KEY_BYTES {
            own.truncate(before);
            is_cut = true;
            break;
        }
    }
    key.push_str(&own);
    is_cut
}

/// What is folded by itself.
#[derive(Debug, Clone, Copy)]
enum Grapheme<'a> {
    /// A [settled](is_settled) character alone: nearly all of a poem.
    Settled(char),
    Other(&'a str),
}

impl Grapheme<'_> {
    fn length(self) -> usize {
        match self {
            Self::Settled(character) => character.len_utf8(),
            Self::Other(text) => text.len(),
        }
    }
}

/// The graphemes of a text. Between two settled characters there is nothing to look up.
struct Graphemes<'a>(&'a str);

impl<'a> Iterator for Graphemes<'a> {
    type Item = Grapheme<'a>;

    fn next(&mut self) -> Option<Grapheme<'a>> {
        let mut characters = self.0.chars();
        let first = characters.next()?;
        let rest = characters.as_str();
        let ends_here = characters.next().is_none_or(|next| is_settled(next) || next == '\n');
        if ends_here && is_settled(first) {
            self.0 = rest;
            return Some(Grapheme::Settled(first));
        }
        let alone = ends_here && first == '\n';
        let length = if alone { first.len_utf8() } else { self.0.graphemes(true).next()?.len() };
        let (grapheme, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(Grapheme::Other(grapheme))
    }
}

/// Appends the loose key of what [`push_exact`] wrote.
pub(crate) fn push_loose_of(key: &mut Vec<u8>, exact: &str) {
    key.extend(exact.chars().map(spelling::loose));
}

/// Appends the key of one grapheme; tells whether it was an iteration mark.
fn push_grapheme(key: &mut String, grapheme: Grapheme<'_>) -> bool {
    let grapheme = match grapheme {
        Grapheme::Settled(character) => {
            key.push(old_forms::modern(character));
            return false;
        }
        Grapheme::Other("\n") => return false,
        Grapheme::Other(text) => text,
    };
    let mut is_iteration = false;
    for character in grapheme.nfkc().flat_map(char::to_lowercase) {
        let character = to_hiragana(character);
        match character {
            'ゝ' | '々' | '〻' => {
                is_iteration = true;
                if let Some(before) = key.chars().next_back() {
                    key.push(if character == 'ゝ' { unvoiced(before) } else { before });
                }
            }
            'ゞ' => {
                is_iteration = true;
                if let Some(before) = key.chars().next_back() {
                    key.push(voiced(before));
                }
            }
            '〱' | '〲' | '〵' => {
                is_iteration = true;
                repeat_two(key, character == '〲');
            }
            _ if is_ignored(character) => {}
            _ => key.push(old_forms::modern(character)),
        }
    }
    is_iteration
}

/// Repeats the two characters before: いよ〱 reads いよいよ. With fewer than two there is nothing to repeat.
fn repeat_two(key: &mut String, with_voice: bool) {
    let mut before = key.chars().rev();
    if let (Some(second), Some(first)) = (before.next(), before.next()) {
        key.push(if with_voice { voiced(first) } else { first });
        key.push(second);
    }
}

/// Tells whether a character is its own normal form, so that the slow way can be skipped.
fn is_settled(character: char) -> bool {
    matches!(character, 'ぁ'..='ゖ' | '\u{4e00}'..='\u{9fff}' | '0'..='9' | 'a'..='z')
}

fn to_hiragana(character: char) -> char {
    match character {
        'ァ'..='ヶ' | 'ヽ' | 'ヾ' => char::from_u32(u32::from(character) - 0x60).unwrap_or(character),
        _ => character,
    }
}

/// Tells whether a character leaves no trace in a key: blanks, controls, marks without a shape.
fn is_ignored(character: char) -> bool {
    character.is_whitespace()
        || character.is_control()
        || matches!(character,
            '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{e0000}'..='\u{e0fff}' | '〳' | '〴')
}

const UNVOICED: &str = "かきくけこさしすせそたちつてとはひふへほはひふへほう";
const VOICED: &str = "がぎぐげござじずぜぞだぢづでどばびぶべぼぱぴぷぺぽゔ";

fn voiced(character: char) -> char {
    UNVOICED
        .chars()
        .zip(VOICED.chars())
        .find(|(plain, _)| *plain == character)
        .map_or(character, |(_, voiced)| voiced)
}

fn unvoiced(character: char) -> char {
    match character {
        'が'..='ぽ' | 'ゔ' => {
            let pair = UNVOICED.chars().zip(VOICED.chars()).find(|(_, voiced)| *voiced == character);
            pair.map_or(character, |(plain, _)| plain)
        }
        _ => character,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Query, text, and how the one is found in the other: `exact`, `loose` or not at all (`-`).
    const PAIRS: &[(&str, &str, &str)] = &[
        // kana scripts and widths
        ("さくら", "サクラ咲く", "exact"),
        ("サクラ", "さくら咲く", "exact"),
        ("ｻｸﾗ", "さくら咲く", "exact"),
        ("さくら", "ｻｸﾗ咲く", "exact"),
        ("ガギグ", "ｶﾞｷﾞｸﾞ", "exact"),
        ("ぱぴぷ", "ﾊﾟﾋﾟﾌﾟ", "exact"),
        ("ヴ", "ゔ", "exact"),
        ("ヵ", "ゕ", "exact"),
        ("１２３", "123首", "exact"),
        ("123", "１２３首", "exact"),
        ("ＡＢＣ", "abc", "exact"),
        ("laptop", "@Laptop", "exact"),
        ("＠ＬＡＰＴＯＰ", "@laptop", "exact"),
        ("㈱", "(株)", "exact"),
        ("キロ", "㌔", "exact"),
        ("①", "1位", "exact"),
        ("ー", "ラップトップー", "exact"),
        // combining marks
        ("が", "か\u{3099}", "exact"),
        ("か\u{3099}", "が", "exact"),
        ("ぱ", "は\u{309a}", "exact"),
        ("é", "e\u{301}", "exact"),
        ("É", "e\u{301}", "exact"),
        ("か", "か\u{3099}", "-"),
        ("かみ", "か\u{3099}み", "loose"),
        // old character forms
        ("恋", "戀すてふ", "exact"),
        ("戀", "恋すちょう", "exact"),
        ("山崎", "山﨑", "exact"),
        ("髙﨑", "高崎", "exact"),
        ("桜", "櫻花", "exact"),
        ("沢", "澤", "exact"),
        ("滝川", "瀧川", "exact"),
        ("海", "海", "exact"),
        ("神", "神", "exact"),
        ("国", "國", "exact"),
        ("学", "學", "exact"),
        ("葛\u{e0100}城", "葛城", "exact"),
        ("葛城", "葛\u{e0101}城", "exact"),
        // iteration marks
        ("こころ", "こゝろ", "exact"),
        ("こゝろ", "こころ", "exact"),
        ("かがみ", "かゞみ", "exact"),
        ("いすず", "いすゞ", "exact"),
        ("ココロ", "コヽロ", "exact"),
        ("つづき", "ツヾキ", "exact"),
        ("ずつ", "づゝ", "loose"),
        ("づつ", "づゝ", "exact"),
        ("人人", "人々", "exact"),
        ("時々", "時時", "exact"),
        ("いよいよ", "いよ〱", "exact"),
        ("ますます", "ます〱", "exact"),
        ("ちりぢり", "ちり〲", "exact"),
        // blanks and line breaks
        ("光のどけき", "ひさかたの\n光のど\r\nけき", "exact"),
        ("ひさかたの光", "ひさかたの　光", "exact"),
        ("春 の 夜", "春の夜", "exact"),
        ("ゆめ", "ゆ\u{200b}め", "exact"),
        ("ゆめ", "ゆ\u{feff}め", "exact"),
        // voicing, small kana
        ("またふみもみず", "まだふみもみず", "loose"),
        ("まだふみもみず", "またふみもみす", "loose"),
        ("ながめせしまに", "なかめせしまに", "loose"),
        ("きって", "きつて", "loose"),
        ("しゃしん", "しやしん", "loose"),
        // historical kana
        ("こい", "こひ", "loose"),
        ("こひ", "こい", "loose"),
        ("おおえやま", "おほえやま", "loose"),
        ("とおく", "とほく", "loose"),
        ("くれない", "くれなゐ", "loose"),
        ("こえ", "こゑ", "loose"),
        ("おみなえし", "をみなへし", "loose"),
        ("かわ", "かは", "loose"),
        ("ちょうちょう", "てふてふ", "loose"),
        ("てふてふ", "ちょうちょう", "loose"),
        ("きょう", "けふ", "loose"),
        ("逢わん", "逢はむ", "loose"),
        ("たのむ", "たのん", "loose"),
        // ず and づ, じ and ぢ
        ("もみじ", "もみぢばの", "loose"),
        ("もみぢ", "もみじ散る", "loose"),
        ("みず", "いはばしるみづ", "loose"),
        ("いずみ", "いづみがは", "loose"),
        ("はじめ", "はぢめ", "loose"),
        // long vowels
        ("おうさか", "あふさかの関", "loose"),
        ("あふさか", "おうさかの関", "loose"),
        ("おうみ", "あふみの海", "loose"),
        ("とうとし", "たふとしと", "loose"),
        ("もうす", "まうすなり", "loose"),
        ("ようやく", "やうやく白く", "loose"),
        ("あおい", "あふひかざす", "loose"),
        ("たおれ", "たふれけり", "loose"),
        ("きのう", "きのふとも", "loose"),
        ("ゆうべ", "ゆふべの雲", "loose"),
        ("しゅう", "拾遺しふ", "loose"),
        ("かんのん", "くわんのん", "loose"),
        ("くゎんのん", "かんのん", "loose"),
        // the row of え before う and ふ, in a word and across two
        ("きょう", "法華きやう", "loose"),
        ("じょう", "でふの上", "loose"),
        ("かせ", "かぜふくと", "loose"),
        ("かぜふく", "かぜふくと", "exact"),
        ("そて", "そでふる", "loose"),
        // む and う
        ("うめ", "むめの花", "loose"),
        ("むめ", "うめの花", "loose"),
        ("うまれ", "むまれけむ", "loose"),
        ("うばたま", "むばたまの夜", "loose"),
        // texts without voicing marks
        ("みず", "みつのおも", "loose"),
        ("みず", "みつの風を", "loose"),
        ("みず", "みつの風が", "-"),
        ("なみだ", "おきつなみたつがごと", "-"),
        ("ゆうぐれ", "ゆふくれが", "loose"),
        // another word
        ("わな", "はなのいろ", "-"),
        ("いと", "ひとはいさ", "-"),
        ("かわ", "かばのき", "-"),
        ("うえ", "うべ山風を", "-"),
        ("こう", "むかふ", "-"),
        ("なお", "となふ", "-"),
        ("みつ", "みず", "-"),
        ("ち", "じ", "-"),
        ("ゆうべ", "いふべき", "-"),
        // emoji, characters beyond the first plane
        ("🌸", "花🌸花", "exact"),
        ("👩‍💻", "夜の👩‍💻", "exact"),
        ("𠮟る", "𠮟る", "exact"),
        ("𩸽", "朝の𩸽", "exact"),
        // must not match
        ("桜", "梅", "-"),
        ("さくら", "さら", "-"),
        ("くさ", "さくら", "-"),
        ("か", "は", "-"),
        ("な", "ま", "-"),
        ("恋", "変", "-"),
        ("🌸", "🌺", "-"),
        ("1", "2", "-"),
        ("ひさかたの", "ひさかた", "-"),
        ("い", "う", "-"),
        ("ー", "一", "-"),
        ("人々", "人", "-"),
    ];

    /// Fails when keys change, be it by a new release of the Unicode tables: then [`KEYS_VERSION`] must, too.
    #[test]
    fn another_way_of_making_keys_is_another_version() {
        let mut made = Vec::new();
        for character in ('\0'..='\u{ffff}').chain('\u{1f000}'..='\u{20fff}').chain('\u{2f800}'..='\u{2fa1f}')
        {
            // Behind others: iteration marks repeat these.
            for text in [format!("めか{character}"), format!("て{character}")] {
                for key in [SearchKey::exact(&text).as_str().as_bytes(), &SearchKey::loose(&text)] {
                    made.extend_from_slice(key);
                    made.push(b'\n');
                }
            }
        }
        let made = crate::ContentHash::of(&made).to_string();
        assert_eq!((KEYS_VERSION, &made[..16]), (2, "5ec55c81cf01a827"));
    }

    fn found(query: &str, text: &str) -> &'static str {
        let (word, key) = (Word::new(query), SearchKey::exact(text));
        let least = if is_without_marks(key.as_str().as_bytes()) { Fit::Unmarked } else { Fit::Loose };
        if key.find(text, word.exact()).is_some() {
            "exact"
        } else if word.find(&key, least).is_some() {
            "loose"
        } else {
            "-"
        }
    }

    #[test]
    fn queries_find_what_readers_expect() {
        let wrong: Vec<_> =
            PAIRS.iter().filter(|(query, text, expected)| found(query, text) != *expected).collect();
        assert!(wrong.is_empty(), "{wrong:?}");
        assert!(PAIRS.len() >= 60);
    }

    #[test]
    fn a_mark_goes_around_the_original_text() {
        let text = "ひさかたの\n光のどけき";
        let range = SearchKey::exact(text).find(text, SearchKey::exact("の光").as_str()).unwrap();
        assert_eq!(&text[range], "の\n光");
    }

    #[test]
    fn whole_graphemes_are_preferred_to_parts() {
        let text = "㌔ろ";
        let range = SearchKey::exact(text).find(text, "ろ").unwrap();
        assert_eq!(&text[range], "ろ");
    }

    /// U+FDFA has 15 letters once folded, 30 bytes for 3.
    #[test]
    fn a_key_has_an_end() {
        let long = "\u{fdfa}".repeat(1 << 18);
        let key = SearchKey::exact(&long);
        assert!(key.as_str().len() <= MAX_KEY_BYTES && key.as_str().len() > MAX_KEY_BYTES - 30);
        assert_eq!(key.as_str().len() % 30, 0, "no grapheme is cut");
        assert!(SearchKey::is_cut(&long) && !SearchKey::is_cut(key.as_str()));
        let mut quick = String::new();
        assert!(push_exact(&mut quick, &long));
        assert_eq!(quick, key.as_str());
        for (kana, is_cut) in [(MAX_KEY_BYTES / 3, false), (MAX_KEY_BYTES / 3 + 1, true)] {
            assert_eq!(SearchKey::is_cut(&"あ".repeat(kana)), is_cut);
        }
        // Nothing of what is found there lies outside the text.
        let range = key.find(&long, "محمد").or_else(|| key.find(&long, &key.as_str()[..4])).unwrap();
        assert!(long.get(range).is_some());
    }

    #[test]
    fn no_text_grows_more_than_the_longest_fold() {
        for character in ('\0'..='\u{ffff}').chain('\u{1d000}'..='\u{1ffff}') {
            let (text, mut key) = (format!("かき{character}"), String::new());
            push_exact(&mut key, &text);
            assert!(key.len() <= 6 + LONGEST_FOLD * character.len_utf8(), "{character:?}");
        }
    }

    #[test]
    fn the_quick_way_and_the_slow_way_agree() {
        for character in ('ぁ'..='ゖ').chain('\u{4e00}'..='\u{9fff}').chain('0'..='9').chain('a'..='z') {
            let slow: String = character.nfkc_lower();
            assert_eq!(slow, character.to_string(), "{character}");
        }
    }

    trait NfkcLower {
        fn nfkc_lower(self) -> String;
    }

    impl NfkcLower for char {
        fn nfkc_lower(self) -> String {
            std::iter::once(self).nfkc().flat_map(char::to_lowercase).collect()
        }
    }

    fn poem() -> impl Strategy<Value = String> {
        let character = prop_oneof![
            6 => prop::sample::select("あいうかがきぎさざたちつづてはばぱひふへほゃゅょっむんゐゑを".chars().collect::<Vec<_>>()),
            2 => prop::sample::select("ゝゞ々〱〲ヽヾー㌔㌢①ｶﾞﾊﾟ戀桜櫻瀧海神".chars().collect::<Vec<_>>()),
            2 => prop::sample::select(" \n　\r\u{3099}\u{309a}\u{301}\u{fe0f}\u{200d}🌸👩💻𠮟éE".chars().collect::<Vec<_>>()),
            1 => any::<char>(),
        ];
        prop::collection::vec(character, 1..24).prop_map(String::from_iter)
    }

    proptest! {
        #![proptest_config(ProptestConfig { max_global_rejects: 1_000_000, ..ProptestConfig::default() })]

        #[test]
        fn any_part_of_a_poem_finds_the_poem(poem in poem(), from in 0_usize..24, length in 1_usize..24) {
            let graphemes: Vec<&str> = poem.graphemes(true).collect();
            let from = from.min(graphemes.len() - 1);
            let part: String = graphemes.iter().skip(from).take(length).copied().collect();
            let starts_with_mark = part.trim_start().nfkc().next().is_some_and(|c| "ゝゞ々〻〱〲〵ヽヾ".contains(c));
            prop_assume!(!starts_with_mark);
            // The part must stay the same graphemes outside the poem.
            prop_assume!(part.graphemes(true).eq(graphemes.iter().skip(from).take(length).copied()));
            let query = SearchKey::exact(&part);
            prop_assume!(!query.is_empty());
            let range = SearchKey::exact(&poem).find(&poem, query.as_str());
            prop_assert!(range.is_some());
            let marked = SearchKey::exact(&poem[range.unwrap()]);
            prop_assert_eq!(marked.as_str(), query.as_str());
        }

        #[test]
        fn graphemes_are_those_of_the_standard(text in prop_oneof![poem(), any::<String>()]) {
            let lengths = Graphemes(&text).map(Grapheme::length);
            prop_assert!(lengths.eq(text.graphemes(true).map(str::len)));
        }

        #[test]
        fn keys_without_origins_are_the_same_keys(text in poem()) {
            let mut exact = String::new();
            push_exact(&mut exact, &text);
            prop_assert_eq!(&SearchKey::exact(&text).text, &exact);
            prop_assert_eq!(SearchKey::loose(&text).len(), exact.chars().count());
        }

        #[test]
        fn keys_hold_no_control_characters(text in any::<String>()) {
            prop_assert!(!SearchKey::exact(&text).as_str().contains(|c: char| c.is_control()));
            prop_assert!(SearchKey::loose(&text).iter().all(|byte| *byte >= b' '));
        }
    }
}
