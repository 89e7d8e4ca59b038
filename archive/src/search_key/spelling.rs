//! The ways a word may be spelled: what a reader of today types, and what stands in a poem.
//!
//! The loose key of a text has one byte for each character of its exact key: kana that some rule below lets stand for
//! each other share one. So both keys have the same places, and no rule looks across the end of a word. A word is looked
//! for in the loose keys, and where it is found the exact key at the same place decides: it must be one of the
//! [spellings](Spelling) the rules allow.
//!
//! What a word is read is known from the query alone, never from the text, which has no blanks between words.

use std::ops::Range;

use memchr::arch::all::packedpair::HeuristicFrequencyRank;
use memchr::memmem::{Finder, FinderBuilder};

use super::SearchKey;

/// Most spellings of one word; each is a scan.
const MAX_SPELLINGS: usize = 6;

/// How long a word must be, in kana, for its voicing marks to count for nothing: shorter ones are other words without
/// their marks (みづ and みつ), longer ones hardly ever (docs/adr/0012-spellings.md).
const LONG_WORD: usize = 4;

/// How long a word must be for a long vowel to be read from other kana: こう is not かふ.
const LONG_VOWEL_WORD: usize = 3;

/// How many places in one text are compared before it is given up.
pub(crate) const MAX_CANDIDATES: usize = 256;

/// Kana that some rule lets stand for each other, the most common groups first.
pub(super) const GROUPS: [&str; 37] = [
    "わゎはばぱ",
    "の",
    "かがゕ",
    "しじちぢ",
    "すずつづっ",
    "に",
    "とど",
    "な",
    "おぉをほぼぽ",
    "いぃゐひびぴ",
    "も",
    "きぎ",
    "る",
    "ら",
    "み",
    "ただ",
    "り",
    "うぅふぶぷゔ",
    "こご",
    "くぐ",
    "ま",
    "てで",
    "れ",
    "あぁ",
    "えぇゑへべぺ",
    "けげゖ",
    "むん",
    "さざ",
    "やゃ",
    "そぞ",
    "ぬ",
    "よょ",
    "ゆゅ",
    "め",
    "せぜ",
    "ろ",
    "ね",
];

/// The byte of the first group in a loose key; the others follow.
const FIRST_GROUP: u8 = 0x80;

/// The first byte for characters that are neither kana nor ASCII, and how many there are: a5 to ff.
const FIRST_OTHER: u8 = 0xa5;
const OTHERS: u32 = 91;

const FIRST_KANA: u32 = 0x3041;
const KANA: usize = 0x3096 - 0x3041 + 1;

/// The byte of each kana.
static GROUP_OF: [u8; KANA] = group_of();

#[expect(clippy::indexing_slicing, reason = "while compiling: an index beyond the end would not compile")]
const fn group_of() -> [u8; KANA] {
    let mut groups = [0; KANA];
    let mut code = FIRST_GROUP;
    let mut group = 0;
    while group < GROUPS.len() {
        let bytes = GROUPS[group].as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            groups[place_of_kana(bytes, at) as usize] = code;
            at += KANA_BYTES;
        }
        code += 1;
        group += 1;
    }
    groups
}

/// Every kana has three bytes.
const KANA_BYTES: usize = 3;

/// Returns the place among all kana of the one that begins at a byte.
#[expect(clippy::indexing_slicing, reason = "while compiling: an index beyond the end would not compile")]
const fn place_of_kana(bytes: &[u8], at: usize) -> u32 {
    let lead = (bytes[at] as u32 & 0xf) << 12;
    let kana = lead | (bytes[at + 1] as u32 & 0x3f) << 6 | (bytes[at + 2] as u32 & 0x3f);
    kana - FIRST_KANA
}

/// Returns the byte that stands for a character of an exact key in a loose key. Different characters may share one: what
/// is found is compared.
pub(crate) fn loose(character: char) -> u8 {
    let code = u32::from(character);
    match GROUP_OF.get(code.wrapping_sub(FIRST_KANA) as usize) {
        Some(group) => *group,
        // Between fields and after entries.
        None if code < 0x7f => u8::try_from(code).unwrap_or_default(),
        None => FIRST_OTHER + u8::try_from(code % OTHERS).unwrap_or_default(),
    }
}

/// How common a byte is in loose keys.
struct Loose;

impl HeuristicFrequencyRank for Loose {
    fn rank(&self, byte: u8) -> u8 {
        match byte.checked_sub(FIRST_GROUP) {
            Some(group) if byte < FIRST_OTHER => 250 - 5 * group,
            Some(_) => 60,
            None => 50,
        }
    }
}

/// Returns where the character numbered `nth` begins.
fn offset_of(key: &[u8], nth: usize) -> Option<usize> {
    let begins = |byte: u8| byte & 0xc0 != 0x80;
    // Nearly always all before it have three bytes.
    let guess = nth.checked_mul(3)?;
    if let Some((before, [byte, ..])) = key.split_at_checked(guess)
        && begins(*byte)
        && before.iter().filter(|byte| begins(**byte)).count() == nth
    {
        return Some(guess);
    }
    key.iter().enumerate().filter(|(_, byte)| begins(**byte)).nth(nth).map(|(at, _)| at)
}

/// An exact key whose places are looked at one after the other: no character is counted twice, however many places there
/// are.
#[derive(Debug, Clone, Copy, Default)]
pub struct Walk<'a> {
    key: &'a [u8],
    place: usize,
    rest: &'a [u8],
}

impl<'a> Walk<'a> {
    /// Begins at the first character of a key.
    #[must_use]
    pub fn new(key: &'a [u8]) -> Self {
        Self { key, place: 0, rest: key }
    }

    /// Returns the key from its character `place` on; nothing past its end.
    pub fn to(&mut self, place: usize) -> &'a [u8] {
        if place < self.place {
            *self = Self::new(self.key);
        }
        let skipped = offset_of(self.rest, place - self.place);
        self.rest = skipped.and_then(|at| self.rest.get(at..)).unwrap_or_default();
        self.place = place;
        self.rest
    }
}

/// A set of kana.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct KanaSet(u128);

impl KanaSet {
    fn of(kana: &str) -> Self {
        kana.chars().fold(Self::default(), |set, kana| Self(set.0 | Self::bit(kana)))
    }

    fn bit(kana: char) -> u128 {
        let place = u32::from(kana).wrapping_sub(FIRST_KANA);
        if (place as usize) < KANA { 1 << place } else { 0 }
    }

    fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn contains(self, kana: char) -> bool {
        self.0 & Self::bit(kana) != 0
    }
}

/// What may stand at one place of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    character: char,
    kana: KanaSet,
    /// What may stand there besides in a text written without voicing marks.
    unmarked: KanaSet,
}

impl Place {
    fn of(kana: &str) -> Self {
        let character = kana.chars().next().unwrap_or_default();
        Self { character, kana: KanaSet::of(kana), unmarked: KanaSet::default() }
    }

    fn alone(kana: char) -> Self {
        Self { character: kana, kana: KanaSet(KanaSet::bit(kana)), unmarked: KanaSet::default() }
    }

    fn or(self, more: &str) -> Self {
        Self { kana: self.kana.with(KanaSet::of(more)), ..self }
    }

    /// Tells whether nothing else may stand there.
    fn is_alone(self) -> bool {
        self.unmarked.0 == 0 && self.kana.0 & !KanaSet::bit(self.character) == 0
    }

    fn fits(self, character: char, without_marks: bool) -> bool {
        character == self.character
            || self.kana.contains(character)
            || (without_marks && self.unmarked.contains(character))
    }
}

/// Kana that differ in their voicing mark alone: plain, voiced, half voiced.
const VOICINGS: [(&str, &str); 20] = [
    ("か", "が"),
    ("き", "ぎ"),
    ("く", "ぐ"),
    ("け", "げ"),
    ("こ", "ご"),
    ("さ", "ざ"),
    ("し", "じ"),
    ("す", "ず"),
    ("せ", "ぜ"),
    ("そ", "ぞ"),
    ("た", "だ"),
    ("ち", "ぢ"),
    ("つ", "づ"),
    ("て", "で"),
    ("と", "ど"),
    ("は", "ばぱ"),
    ("ひ", "びぴ"),
    ("ふ", "ぶぷ"),
    ("へ", "べぺ"),
    ("ほ", "ぼぽ"),
];

/// All kana that have a mark.
const VOICED: KanaSet = voiced();

#[expect(clippy::indexing_slicing, reason = "while compiling: an index beyond the end would not compile")]
const fn voiced() -> KanaSet {
    let mut set = 1 << place_of_kana("ゔ".as_bytes(), 0);
    let mut row = 0;
    while row < VOICINGS.len() {
        let bytes = VOICINGS[row].1.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            set |= 1 << place_of_kana(bytes, at);
            at += KANA_BYTES;
        }
        row += 1;
    }
    KanaSet(set)
}

/// Returns what may stand for one kana. A plain kana also stands for its voiced forms: many type none, and old texts have
/// none. At the start of a word は is not read わ, nor ふ う.
fn place(kana: char, is_start: bool) -> Place {
    let inside = |start: &'static str, inside: &'static str| Place::of(if is_start { start } else { inside });
    let place = match kana {
        'あ' | 'ぁ' => Place::of("あぁ"),
        'い' | 'ぃ' | 'ゐ' => inside("いぃゐ", "いぃゐひ"),
        'う' | 'ぅ' => inside("うぅ", "うぅふ"),
        'え' | 'ぇ' | 'ゑ' => inside("えぇゑ", "えぇゑへ"),
        'お' | 'ぉ' | 'を' => inside("おぉを", "おぉをほ"),
        'わ' | 'ゎ' => inside("わゎ", "わゎは"),
        'は' => inside("はばぱ", "はばぱわゎ"),
        'ひ' => inside("ひびぴ", "ひびぴいゐ"),
        'ふ' => inside("ふぶぷ", "ふぶぷう"),
        'へ' => inside("へべぺ", "へべぺえゑ"),
        'ほ' => inside("ほぼぽ", "ほぼぽおを"),
        'つ' | 'っ' => Place::of("つっづ"),
        'か' | 'ゕ' => Place::of("かがゕ"),
        'け' | 'ゖ' => Place::of("けげゖ"),
        'や' | 'ゃ' => Place::of("やゃ"),
        'ゆ' | 'ゅ' => Place::of("ゆゅ"),
        'よ' | 'ょ' => Place::of("よょ"),
        'む' | 'ん' => Place::of("むん"),
        'じ' | 'ぢ' => Place { unmarked: KanaSet::of("しち"), ..Place::of("じぢ") },
        'ず' | 'づ' => Place { unmarked: KanaSet::of("すつっ"), ..Place::of("ずづ") },
        'ゔ' => Place { unmarked: KanaSet::of("うぶ"), ..Place::of("ゔ") },
        _ => {
            let alone = Place::alone(kana);
            match VOICINGS.iter().find(|(plain, voiced)| plain.contains(kana) || voiced.contains(kana)) {
                Some((plain, voiced)) if plain.contains(kana) => alone.or(voiced),
                Some((plain, _)) => Place { unmarked: KanaSet::of(plain), ..alone },
                None => alone,
            }
        }
    };
    Place { character: kana, ..place }
}

/// Rows of the table of kana: those of one line differ in their vowel, あ to お.
pub(super) const ROWS: [&str; 14] = [
    "あいうえお",
    "かきくけこ",
    "がぎぐげご",
    "さしすせそ",
    "ざじずぜぞ",
    "たちつてと",
    "だぢづでど",
    "なにぬねの",
    "はひふへほ",
    "ばびぶべぼ",
    "ぱぴぷぺぽ",
    "まみむめも",
    "やいゆえよ",
    "らりるれろ",
];

const A: usize = 0;
const I: usize = 1;
const U: usize = 2;
const E: usize = 3;
const O: usize = 4;

/// Returns the kana with another vowel, if this one has the vowel `from`.
fn revowelled(kana: char, from: usize, to: usize) -> Option<char> {
    let row = ROWS.iter().find(|row| row.chars().nth(from) == Some(kana))?;
    row.chars().nth(to)
}

/// Takes the first character off UTF-8 text.
fn next_character(text: &mut &[u8]) -> Option<char> {
    if let [first @ 0xe0..=0xef, second, third, rest @ ..] = *text {
        *text = rest;
        let bits = |byte: &u8, most: u8| u32::from(byte & most);
        return char::from_u32(bits(first, 0xf) << 12 | bits(second, 0x3f) << 6 | bits(third, 0x3f));
    }
    let part = text.get(..4).unwrap_or(text);
    let character = part.utf8_chunks().next()?.valid().chars().next()?;
    *text = text.get(character.len_utf8()..)?;
    Some(character)
}

/// One way to spell a word: a run of its loose key, and what may stand at each of its places.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Spelling {
    needle: Vec<u8>,
    places: Vec<Place>,
    /// Whether its characters are those that were typed.
    is_typed: bool,
}

/// How a place of a text is what was looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// It is not.
    No,
    /// If the text lacks voicing marks.
    Unmarked,
    /// In another spelling.
    Loose,
    /// As it was typed.
    Exact,
}

impl Spelling {
    fn push(&mut self, place: Place) {
        self.needle.push(loose(place.character));
        self.places.push(place);
    }

    /// Returns a finder of what to look for in loose keys.
    #[must_use]
    pub fn finder(&self) -> Finder<'_> {
        FinderBuilder::new().build_forward_with_ranker(Loose, &self.needle)
    }

    /// Tells how an exact key has this spelling where the loose key has what was looked for; `rest` is the exact key
    /// from that place on.
    #[must_use]
    pub fn fit(&self, mut rest: &[u8]) -> Fit {
        let mut fit = if self.is_typed { Fit::Exact } else { Fit::Loose };
        for place in &self.places {
            let Some(here) = next_character(&mut rest) else { return Fit::No };
            if here == place.character {
                continue;
            }
            fit = match fit {
                _ if !place.fits(here, true) => return Fit::No,
                Fit::Unmarked => fit,
                _ if place.fits(here, false) => Fit::Loose,
                _ => Fit::Unmarked,
            };
        }
        fit
    }

    /// Finds this spelling in a text's keys and returns its first character's number; gives up after `MAX_CANDIDATES`
    /// places that do not fit.
    fn find(&self, loose_key: &[u8], exact_key: &[u8], least: Fit) -> Option<usize> {
        let (finder, mut walk) = (self.finder(), Walk::new(exact_key));
        let mut from = 0;
        for _ in 0..MAX_CANDIDATES {
            let place = from + loose_key.get(from..).and_then(|rest| finder.find(rest))?;
            if self.fit(walk.to(place)) >= least {
                return Some(place);
            }
            // Matches may overlap.
            from = place + 1;
        }
        None
    }
}

/// A word to look for: its exact key, and all its spellings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    exact: SearchKey,
    /// None if it is spelled in one way only.
    spellings: Vec<Spelling>,
}

impl Word {
    /// Reads a word as a reader typed it.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let exact = SearchKey::exact(text);
        let characters: Vec<char> = exact.as_str().chars().collect();
        let mut spellings = spellings(&characters);
        // One kana alone is in nearly every poem, and what differs from it by its spelling is nothing anyone looks for.
        if characters.len() == 1 || spellings.iter().flat_map(|way| &way.places).all(|place| place.is_alone())
        {
            spellings.clear();
        }
        Self { exact, spellings }
    }

    /// Returns the exact key.
    #[must_use]
    pub fn exact(&self) -> &str {
        self.exact.as_str()
    }

    /// Tells whether nothing of the text is left to look for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.exact.is_empty()
    }

    /// Returns the ways to spell it; none if there is one only, and its exact key says all.
    #[must_use]
    pub fn spellings(&self) -> &[Spelling] {
        &self.spellings
    }

    /// Finds the word in a text's exact key, however it is spelled there, and returns the part of the text to mark.
    #[must_use]
    pub fn find(&self, key: &SearchKey, least: Fit) -> Option<Range<usize>> {
        let exact = key.as_str().as_bytes();
        let loose_key: Vec<u8> = key.as_str().chars().map(loose).collect();
        let found = self.spellings.iter().filter_map(|way| {
            let place = way.find(&loose_key, exact, least)?;
            Some((place, place + way.places.len()))
        });
        let (start, after) = found.min()?;
        let end = offset_of(exact, after).unwrap_or(exact.len());
        key.origins(offset_of(exact, start)?..end).map(|(part, _)| part)
    }
}

/// Tells whether a text's exact key has no voicing mark at all, as texts written in the old way do.
#[must_use]
pub fn is_without_marks(exact_key: &[u8]) -> bool {
    str::from_utf8(exact_key).is_ok_and(|key| !key.chars().any(|character| VOICED.contains(character)))
}

fn is_kana(character: char) -> bool {
    matches!(character, 'ぁ'..='ゖ')
}

/// Returns all kana, in the order of their codes.
pub(super) fn kana() -> impl Iterator<Item = char> {
    'ぁ'..='ゖ'
}

/// Tells whether a kana has a voicing mark.
pub(super) fn is_voiced(kana: char) -> bool {
    !is_without_marks(kana.encode_utf8(&mut [0; 4]).as_bytes())
}

/// Returns what may stand for a kana at the start of a word, and what besides in a text without marks; then the same for
/// inside a word.
pub(super) fn places(character: char) -> [String; 4] {
    let members = |set: KanaSet| kana().filter(|kana| set.contains(*kana)).collect();
    let [start, inside] = [true, false].map(|is_start| place(character, is_start));
    [members(start.kana), members(start.unmarked), members(inside.kana), members(inside.unmarked)]
}

/// Returns all spellings of a word, the one closest to what was typed first.
fn spellings(word: &[char]) -> Vec<Spelling> {
    // An ideograph says as much as two kana.
    let length: usize = word.iter().map(|character| if is_kana(*character) { 1 } else { 2 }).sum();
    let mut ways = vec![Spelling::default()];
    let mut at = 0;
    while at < word.len() {
        let (used, runs) = runs(word, at, length);
        let free = MAX_SPELLINGS / ways.len();
        let runs: Vec<Vec<Place>> = runs.into_iter().take(free.max(1)).collect();
        ways = ways
            .iter()
            .flat_map(|way| {
                runs.iter().map(|run| {
                    let mut way = way.clone();
                    for place in run {
                        way.push(*place);
                    }
                    way
                })
            })
            .collect();
        at += used;
    }
    if let Some(typed) = ways.first_mut() {
        typed.is_typed = true;
        for (place, character) in typed.places.iter_mut().zip(word) {
            place.character = *character;
        }
    }
    for place in ways.iter_mut().flat_map(|way| &mut way.places) {
        if length >= LONG_WORD {
            place.kana = place.kana.with(place.unmarked);
            place.unmarked = KanaSet::default();
        }
    }
    ways
}

/// Returns how many characters of a word, from `at` on, are read together, and the runs of places they may be written
/// as; each run has another loose key.
fn runs(word: &[char], at: usize, length: usize) -> (usize, Vec<Vec<Place>>) {
    let character = |at: usize| word.get(at).copied().unwrap_or_default();
    let before = at.checked_sub(1).map_or('\0', character);
    let (this, next, third) = (character(at), character(at + 1), character(at + 2));
    let here = place(this, at == 0);
    let u = place('う', false);
    let is_u = |kana: char| matches!(kana, 'う' | 'ふ');
    let e_of = |kana: char| revowelled(kana, I, E).filter(|_| kana != 'い');

    // きょう: けふ, きやう. じょう: ぢやう, でふ.
    if let Some(e) = e_of(this).filter(|_| next == 'ょ' && third == 'う') {
        let e = match e {
            'ぜ' | 'で' => "ぜで".to_owned(),
            e => e.to_string(),
        };
        let old = e.chars().map(|e| vec![Place { unmarked: place(e, false).unmarked, ..Place::alone(e) }, u]);
        let mut runs = vec![vec![here, place('ょ', false), u]];
        runs.extend(old);
        runs.push(vec![here, place('や', false), u]);
        return (3, runs);
    }
    // しゅう: しう, しふ.
    if e_of(this).is_some() && next == 'ゅ' && third == 'う' {
        return (3, vec![vec![here, place('ゅ', false), u], vec![here, u]]);
    }
    // けふ: きょう. Across two words (かぜふく) this finds no more than what is written.
    if let Some(i) = revowelled(this, E, I).filter(|_| is_u(next) && this != 'え') {
        return (2, vec![vec![here, place(next, false)], vec![place(i, at == 0), place('ょ', false), u]]);
    }
    // うめ: むめ. うばたま: むばたま.
    let is_labial = revowelled_row(next).is_some_and(|row| row.starts_with(['ま', 'ば']));
    let ends_long = revowelled(before, O, A).is_some() || revowelled(before, U, A).is_some();
    if is_labial && this == 'う' && !ends_long {
        return (1, vec![vec![here], vec![Place::of("む")]]);
    }
    if is_labial && this == 'む' && at == 0 {
        return (1, vec![vec![here], vec![Place::of("う")]]);
    }
    // かんのん: くわんおん.
    if at == 0 && next == 'ん' {
        let old = match this {
            'か' => Some("く"),
            'が' => Some("ぐ"),
            _ => None,
        };
        if let Some(old) = old {
            return (1, vec![vec![here], vec![Place::of(old), Place::of("わゎ")]]);
        }
    }
    let modern = match this {
        'く' => Some('か'),
        'ぐ' => Some('が'),
        _ => None,
    };
    if let Some(modern) = modern.filter(|_| next == 'ゎ' || (next == 'わ' && third == 'ん')) {
        return (2, vec![vec![here, Place::of("わゎ")], vec![place(modern, at == 0)]]);
    }
    if length >= LONG_VOWEL_WORD {
        // おうさか: あふさか, and おうきみ for おほきみ. The を of をう would be a particle, mostly.
        if at == 0 && this == 'お' && next == 'う' {
            let mut runs: Vec<Vec<Place>> = ["おぉ", "あぁ", "わゎ"].map(|o| vec![Place::of(o), u]).into();
            if length >= LONG_WORD {
                runs.push(vec![Place::of("おぉ"), Place::of("おほ")]);
            }
            return (2, runs);
        }
        // もうす: まうす. もよう: もやう. そうろう: さうらう. Inside a word such are hardly ever others than やう and らう.
        let may_be_a = next == 'う' && (at == 0 || matches!(this, 'よ' | 'ろ'));
        if let Some(a) = revowelled(this, O, A).filter(|_| may_be_a) {
            let a = Place { unmarked: place(a, false).unmarked, ..Place::alone(a) };
            return (2, vec![vec![here, u], vec![a, u]]);
        }
        // あふさか: おうさか.
        if at == 0 && this == 'あ' && next == 'ふ' && length >= LONG_WORD {
            return (2, vec![vec![here, place('ふ', false)], vec![Place::of("お"), Place::of("う")]]);
        }
        // あおい: あふひ. たおれ: たふれ.
        if next == 'お' && revowelled(this, A, O).is_some() {
            return (2, vec![vec![here, place('お', false)], vec![here, Place::of("ふ")]]);
        }
    }
    (1, vec![vec![here]])
}

/// Returns the row of the table a kana is in.
fn revowelled_row(kana: char) -> Option<&'static str> {
    ROWS.iter().find(|row| row.contains(kana)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kana_is_in_one_group() {
        for kana in kana() {
            let groups: Vec<usize> = (0..GROUPS.len()).filter(|at| GROUPS[*at].contains(kana)).collect();
            assert_eq!(groups.len(), 1, "{kana}");
            assert_eq!(usize::from(loose(kana) - FIRST_GROUP), groups[0], "{kana}");
        }
        assert_eq!(usize::from(FIRST_GROUP) + GROUPS.len(), usize::from(FIRST_OTHER));
        assert_eq!(u32::from(FIRST_OTHER) + OTHERS, 0x100);
    }

    #[test]
    fn only_separators_look_like_separators() {
        assert_eq!([loose('\0'), loose('\n'), loose('a')], *b"\0\na");
        for character in (' '..='\u{30000}').chain(['\u{10ffff}']) {
            assert!(loose(character) >= b' ', "{character:?}");
        }
    }

    #[test]
    fn characters_are_counted_whatever_their_length() {
        for text in ["あいう", "aあéい🌸う", "🌸🌸", "\0あ\0", ""] {
            let offsets: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
            for nth in 0..10 {
                assert_eq!(offset_of(text.as_bytes(), nth), offsets.get(nth).copied(), "{text} {nth}");
                // From wherever the walk stands, forwards and back.
                let rest = |nth: usize| offsets.get(nth).map_or(&b""[..], |at| &text.as_bytes()[*at..]);
                let mut walk = Walk::new(text.as_bytes());
                for place in [nth / 2, nth, nth, nth + 1, nth / 3] {
                    assert_eq!(walk.to(place), rest(place), "{text} {place} after {nth}");
                }
            }
        }
        assert_eq!(offset_of("あ".as_bytes(), usize::MAX), None);
    }

    /// Else a spelling would be allowed that the scan of loose keys never comes to.
    #[test]
    fn no_rule_leaves_a_group() {
        let mut words: Vec<Vec<char>> = Vec::new();
        for one in kana() {
            for two in kana() {
                words.push(vec![one, two]);
                words.push(vec!['か', one, two]);
            }
            for two in "うゅょゎわおふ".chars() {
                words.push(vec![one, two, 'う', 'ま', 'し']);
                words.push(vec!['か', one, two, 'う', 'ん']);
            }
        }
        for word in words {
            let spellings = spellings(&word);
            assert!(!spellings.is_empty() && spellings.len() <= MAX_SPELLINGS, "{word:?}");
            let mut needles: Vec<&[u8]> = spellings.iter().map(|way| way.needle.as_slice()).collect();
            needles.sort_unstable();
            needles.dedup();
            assert_eq!(needles.len(), spellings.len(), "{word:?} is scanned for twice");
            for spelling in &spellings {
                for (group, place) in spelling.needle.iter().zip(&spelling.places) {
                    let allowed = kana().filter(|kana| place.fits(*kana, true));
                    let strays: String = allowed.filter(|kana| loose(*kana) != *group).collect();
                    assert_eq!(strays, "", "{word:?} {group}");
                }
            }
            let typed: String = word.iter().collect();
            assert_eq!(spellings[0].fit(typed.as_bytes()), Fit::Exact, "{typed}");
            assert!(spellings[1..].iter().all(|way| way.fit(typed.as_bytes()) == Fit::No), "{typed}");
        }
    }

    #[test]
    fn words_have_few_spellings() {
        let many = Word::new("きょうじょうちょうしょうりょうぎょうにょう");
        assert_eq!(many.spellings().len(), MAX_SPELLINGS);
        assert_eq!(Word::new("さくら").spellings().len(), 1);
        assert_eq!(Word::new("きょう").spellings().len(), 3);
        for one in ["", "か", "花", "秋風", "なみ", "@poet"] {
            assert_eq!(Word::new(one).spellings(), [], "{one}");
        }
    }

    /// A key that is not of our making must not be read beyond its end.
    #[test]
    fn places_outside_a_key_do_not_fit() {
        let word = Word::new("きょう");
        for spelling in word.spellings() {
            for key in [&b""[..], "き".as_bytes(), &[0xff; 9], &[0x80; 9]] {
                for at in [0, 1, 5, usize::MAX] {
                    assert_eq!(spelling.fit(Walk::new(key).to(at)), Fit::No);
                }
            }
        }
    }
}
