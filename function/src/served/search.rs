//! Looking for poems: a query's terms against the archive's search columns.

use std::cell::Cell;
use std::ops::Range;

use memchr::memmem::Finder;
use wakashu_archive::{
    ArchivedRound, Column, ColumnName, Fit, Keys, SearchKey, Spelling, Walk, Word, finder, is_without_marks,
};

use crate::served::index::ReadError;
use crate::served::reading::Reading;

/// Most terms in one query.
const MAX_TERMS: usize = 8;

/// How much is done before others get their turn, in bytes of keys that are scanned and characters that are compared: a
/// millisecond at most.
const PORTION: usize = 256 << 10;

/// Where a term looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// Poem, reading and account.
    Text,
    Account,
    Prompt,
    Honka,
}

/// What may stand before a colon.
#[derive(Debug, Clone, Copy)]
enum Prefix {
    Scope(Scope),
    Round,
}

impl Prefix {
    fn read(name: &str) -> Option<Self> {
        let known = [
            ("account", Self::Scope(Scope::Account)),
            ("prompt", Self::Scope(Scope::Prompt)),
            ("honka", Self::Scope(Scope::Honka)),
            ("round", Self::Round),
        ];
        known.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, prefix)| prefix)
    }
}

#[derive(Debug)]
struct Term {
    scope: Scope,
    word: Word,
}

/// What a reader looks for: all terms must match.
#[derive(Debug)]
pub(crate) struct Query {
    terms: Vec<Term>,
    round: Option<String>,
}

/// Why a query cannot be searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    Empty,
    /// A round is named, but nothing to look for in it.
    OnlyRound,
    TooManyTerms,
}

impl Query {
    /// Reads a query: terms separated by blanks, each with an optional `account:`, `prompt:`, `honka:` or `round:`. A blank
    /// may follow the colon; what follows it may stand in quotes, blanks included.
    pub(crate) fn parse(text: &str) -> Result<Self, Refused> {
        let mut query = Self { terms: Vec::new(), round: None };
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            let (word, after) = first_word(rest);
            let prefixed =
                word.split_once([':', '：']).and_then(|(name, value)| Some((Prefix::read(name)?, value)));
            let (prefix, value);
            (prefix, value, rest) = match prefixed {
                Some((prefix, value)) => {
                    let from = rest.get(word.len() - value.len()..).unwrap_or_default().trim_start();
                    let (value, after) = quoted(from).unwrap_or_else(|| first_word(from));
                    (prefix, value, after)
                }
                None => (Prefix::Scope(Scope::Text), word, after),
            };
            rest = rest.trim_start();
            let Prefix::Scope(scope) = prefix else {
                query.round = Some(value.to_owned()).filter(|title| !title.is_empty());
                continue;
            };
            let word = Word::new(value);
            if !word.is_empty() {
                query.terms.push(Term { scope, word });
            }
            if query.terms.len() > MAX_TERMS {
                return Err(Refused::TooManyTerms);
            }
        }
        // The longest term is the rarest, most likely: it is scanned for, the others are checked where it matches.
        query.terms.sort_by_key(|term| std::cmp::Reverse(term.word.exact().len()));
        match (query.terms.is_empty(), &query.round) {
            (false, _) => Ok(query),
            (true, None) => Err(Refused::Empty),
            (true, Some(_)) => Err(Refused::OnlyRound),
        }
    }

    /// Returns the title of the round the query keeps to, if it names one.
    pub(crate) fn round(&self) -> Option<&str> {
        self.round.as_deref()
    }

    /// Finds the first term where an entry shows it: in its poem, else in its reading, else in its account.
    pub(crate) fn mark(&self, poem: &str, yomi: Option<&str>, account: &str, loose: bool) -> Option<Mark> {
        let in_text = |text| self.find(text, loose, |scope| scope == Scope::Text);
        if let Some(range) = in_text(poem) {
            return Some(Mark::Poem(range));
        }
        if let Some(range) = yomi.and_then(in_text) {
            return Some(Mark::Yomi(range));
        }
        let in_account = self.find(account, loose, |scope| matches!(scope, Scope::Text | Scope::Account));
        in_account.map(Mark::Account)
    }

    fn find(&self, text: &str, loose: bool, looks_here: impl Fn(Scope) -> bool) -> Option<Range<usize>> {
        let mut terms = self.terms.iter().filter(|term| looks_here(term.scope)).peekable();
        terms.peek()?;
        let key = SearchKey::exact(text);
        terms.find_map(|term| {
            let exact = key.find(text, term.word.exact());
            let key_has_no_marks = || is_without_marks(key.as_str().as_bytes());
            let spelled = || term.word.find(&key, Fit::Loose);
            let unmarked = || key_has_no_marks().then(|| term.word.find(&key, Fit::Unmarked))?;
            exact.or_else(|| if loose { spelled().or_else(unmarked) } else { None })
        })
    }
}

/// Where an entry shows what was looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mark {
    Poem(Range<usize>),
    Yomi(Range<usize>),
    Account(Range<usize>),
}

/// Splits off what stands before the first blank.
fn first_word(text: &str) -> (&str, &str) {
    text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()))
}

/// Splits off what stands in quotes at the start, if it does.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let pairs = [('"', '"'), ('＂', '＂'), ('“', '”'), ('「', '」'), ('『', '』')];
    let (inside, close) = pairs.iter().find_map(|(open, close)| Some((text.strip_prefix(*open)?, *close)))?;
    inside.split_once(close)
}

/// An entry that matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hit {
    /// Its place in the archive.
    pub(crate) ordinal: usize,
    /// Whether it matches only when spelling is taken loosely.
    pub(crate) loose: bool,
}

/// The entries that match, best first.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) hits: Vec<Hit>,
    /// How many there are on all pages.
    pub(crate) total: usize,
    /// Whether there are more than were asked for.
    pub(crate) more: bool,
}

/// Finds hits `from..from + limit`: exact before loose, then by how early the match is, then by round and rank.
pub(crate) async fn search(
    index: &Reading,
    query: &Query,
    round: Option<&ArchivedRound>,
    from: usize,
    limit: usize,
) -> Result<Found, ReadError> {
    let within = match round {
        Some(round) => index.archive().ordinals_of(round),
        None => 0..index.archive().root().entries.to_native() as usize,
    };
    let mut columns = Columns::default();
    for term in &query.terms {
        let slot = columns.slot(term.scope);
        if slot.is_none() {
            *slot = Some(index.column(term.scope.column()).await?);
        }
    }
    let mut found = columns.matching(query, &within).await;
    let total = found.len();
    let wanted = from.saturating_add(limit);
    let hits = best(&mut found, wanted).skip(from).collect();
    Ok(Found { hits, total, more: total > wanted })
}

impl Scope {
    fn column(self) -> ColumnName {
        match self {
            Self::Text | Self::Account => ColumnName::Text,
            Self::Prompt => ColumnName::Prompt,
            Self::Honka => ColumnName::Honka,
        }
    }
}

/// The columns a query needs.
#[derive(Debug, Default)]
struct Columns {
    text: Option<Column>,
    prompt: Option<Column>,
    honka: Option<Column>,
}

impl Columns {
    fn slot(&mut self, scope: Scope) -> &mut Option<Column> {
        match scope.column() {
            ColumnName::Text => &mut self.text,
            ColumnName::Prompt => &mut self.prompt,
            ColumnName::Honka => &mut self.honka,
        }
    }

    fn of(&self, term: &Term) -> Option<&Column> {
        match term.scope.column() {
            ColumnName::Text => self.text.as_ref(),
            ColumnName::Prompt => self.prompt.as_ref(),
            ColumnName::Honka => self.honka.as_ref(),
        }
    }

    /// Returns all entries that match every term, packed to be ordered.
    ///
    /// Lets others have their turn after each portion of work, so that a long search holds up nobody and can be ended by its
    /// time limit.
    async fn matching(&self, query: &Query, within: &Range<usize>) -> Vec<u64> {
        let mut found = Vec::new();
        let Some((first, others)) = query.terms.split_first() else { return Vec::new() };
        let Some(column) = self.of(first) else { return Vec::new() };
        let others: Vec<Sought<'_>> =
            others.iter().filter_map(|term| Some(Sought::new(term, self.of(term)?))).collect();
        let sought = Sought::new(first, column);
        let work = Cell::new(PORTION);
        for spelling in 0..sought.finders.len() {
            let mut at = within.start;
            while at < within.end {
                if work.get() == 0 {
                    tokio::task::yield_now().await;
                    work.set(PORTION);
                }
                let before = found.len();
                at = sought.scan(spelling, at..within.end, &work, |ordinal, position, is_exact| {
                    found.push(Packed::new(ordinal, is_exact, position));
                });
                if others.is_empty() {
                    continue;
                }
                'matches: for mut packed in found.split_off(before) {
                    for other in &others {
                        if work.get() == 0 {
                            tokio::task::yield_now().await;
                            work.set(PORTION);
                        }
                        match other.is_in(packed.ordinal(), &work) {
                            Some(is_exact) => packed.0 |= if is_exact { 0 } else { LOOSE },
                            None => continue 'matches,
                        }
                    }
                    found.push(packed);
                }
            }
        }
        // The best place of each entry.
        found.sort_unstable();
        found.dedup_by_key(|packed| packed.ordinal());
        found.into_iter().map(Packed::by_place).collect()
    }
}

/// A match, to be sorted by entry, and of one entry the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Packed(u64);

/// Set for matches that are not exact: they come after those that are.
const LOOSE: u64 = 1 << 31;

impl Packed {
    fn new(ordinal: usize, is_exact: bool, position: usize) -> Self {
        let position = (position as u64).min(LOOSE - 1);
        Self((ordinal as u64) << 32 | if is_exact { 0 } else { LOOSE } | position)
    }

    fn ordinal(self) -> usize {
        usize::try_from(self.0 >> 32).unwrap_or(usize::MAX)
    }

    /// Returns the same to be sorted by kind and place of the match, then by entry.
    fn by_place(self) -> u64 {
        self.0.rotate_left(32)
    }
}

/// A term, and the keys it is looked for in.
struct Sought<'a> {
    term: &'a Term,
    exact: &'a Keys,
    /// The loose keys of a word with more than one spelling; a third as long, and the exact ones decide. Else the exact ones.
    scanned: &'a Keys,
    is_loose: bool,
    /// One for each way to spell the term.
    finders: Vec<Finder<'a>>,
}

impl<'a> Sought<'a> {
    fn new(term: &'a Term, column: &'a Column) -> Self {
        let (exact, spellings) = (column.exact(), term.word.spellings());
        if let Some(scanned) = column.loose().filter(|_| !spellings.is_empty()) {
            let finders = spellings.iter().map(Spelling::finder).collect();
            return Self { term, exact, scanned, is_loose: true, finders };
        }
        let finders = vec![finder(term.word.exact())];
        Self { term, exact, scanned: exact, is_loose: false, finders }
    }

    /// Calls `found` with every entry that has one spelling of the term, with where it has, and with whether it is exactly what
    /// was typed: with each such place up to the first exact one. Goes on until the work that may be done is used up, and returns
    /// with which entry the next scan begins.
    fn scan(
        &self,
        spelling: usize,
        ordinals: Range<usize>,
        work: &Cell<usize>,
        mut found: impl FnMut(usize, usize, bool),
    ) -> usize {
        let Some(needle) = self.finders.get(spelling) else { return ordinals.end };
        let field = if self.term.scope == Scope::Account { ColumnName::ACCOUNT_FIELD } else { 0 };
        let (mut last, mut entry) = (None, Compared::default());
        self.scanned.scan_on(needle, ordinals, field, work, |ordinal, position| {
            let fit = self.fit(spelling, ordinal, position, &mut entry, work);
            if fit == Fit::Exact || (fit != Fit::No && last != Some(ordinal)) {
                last = Some(ordinal);
                found(ordinal, position, fit == Fit::Exact);
            }
            fit == Fit::Exact
        })
    }

    /// Tells whether an entry has the term, and then whether exactly as it was typed.
    fn is_in(&self, ordinal: usize, work: &Cell<usize>) -> Option<bool> {
        let mut is_in = None;
        for spelling in 0..self.finders.len() {
            self.scan(spelling, ordinal..ordinal + 1, work, |_, _, is_exact| {
                is_in = Some(is_exact || is_in == Some(true));
            });
        }
        is_in
    }

    /// Tells how an entry has the term at a place where it was found; `entry` is the one that was compared last.
    fn fit(
        &self,
        spelling: usize,
        ordinal: usize,
        position: usize,
        entry: &mut Compared<'a>,
        work: &Cell<usize>,
    ) -> Fit {
        let Some(way) = self.term.word.spellings().get(spelling).filter(|_| self.is_loose) else {
            return Fit::Exact;
        };
        if entry.ordinal != Some(ordinal) {
            let key = Walk::new(self.exact.entry(ordinal));
            *entry = Compared { ordinal: Some(ordinal), key, lacks_marks: None };
        }
        match way.fit(entry.key.to(position)) {
            Fit::Unmarked if !*entry.lacks_marks.get_or_insert_with(|| self.lacks_marks(ordinal, work)) => {
                Fit::No
            }
            fit => fit,
        }
    }

    /// Tells whether an entry is written without voicing marks. A reading tells whether there should be some, and so does a
    /// mark anywhere.
    fn lacks_marks(&self, ordinal: usize, work: &Cell<usize>) -> bool {
        let key = self.exact.entry(ordinal);
        work.set(work.get().saturating_sub(key.len()));
        self.exact.field(ordinal, ColumnName::READING_FIELD).is_empty() && is_without_marks(key)
    }
}

/// An entry whose places are being compared, and what is found out of it once for all of them.
#[derive(Default)]
struct Compared<'a> {
    ordinal: Option<usize>,
    key: Walk<'a>,
    lacks_marks: Option<bool>,
}

/// Returns the `wanted` best of what was found, in order, without sorting the rest.
fn best(found: &mut Vec<u64>, wanted: usize) -> impl Iterator<Item = Hit> {
    if wanted > 0 && found.len() > wanted {
        found.select_nth_unstable(wanted - 1);
    }
    found.truncate(wanted);
    found.sort_unstable();
    found.iter().map(|packed| {
        let ordinal = usize::try_from(packed & u64::from(u32::MAX)).unwrap_or(usize::MAX);
        Hit { ordinal, loose: packed & (LOOSE << 32) != 0 }
    })
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use wakashu_archive::{Archive, EntryDraft};
    use wakashu_support::{Collection, poem};

    use super::*;

    /// Searches poems in their order; returns which are found, exact ones first, and how often others had their turn meanwhile.
    fn search_in(poems: &[(&str, &str)], query: &str) -> (Vec<usize>, usize) {
        let entries = (1..).zip(poems).map(|(rank, (text, account))| EntryDraft {
            poem: (*text).to_owned(),
            account: (*account).to_owned(),
            ..poem(rank, None)
        });
        let bytes = Collection::default().round("第1回").entries(entries).bytes();
        let archive = Archive::open(&*bytes).unwrap();
        let reference = archive.column(ColumnName::Text).unwrap();
        let span = [reference.offset, reference.span().end()].map(|at| usize::try_from(at).unwrap());
        let count = u32::try_from(poems.len()).unwrap();
        let column = Column::open(&reference, &bytes.slice(span[0]..span[1]), count).unwrap();
        let columns = Columns { text: Some(column), ..Columns::default() };
        let (query, within) = (Query::parse(query).unwrap(), 0..poems.len());
        let mut matching = pin!(columns.matching(&query, &within));
        let mut turns = 0;
        loop {
            match matching.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(mut found) => {
                    let hits = best(&mut found, usize::MAX).map(|hit| hit.ordinal).collect();
                    return (hits, turns);
                }
                Poll::Pending => turns += 1,
            }
        }
    }

    /// An entry has at most so many places that are compared; those of its poem are not its account's.
    #[test]
    fn an_account_is_found_however_often_the_poem_has_its_name() {
        let (latin, kana) = ("a".repeat(300), "か".repeat(300));
        let poems = [(latin.as_str(), "@a"), (latin.as_str(), "@b"), (kana.as_str(), "@かが"), ("か", "@か")];
        assert_eq!(search_in(&poems, "account:a").0, [0]);
        assert_eq!(search_in(&poems, "account:かが").0, [2]);
        assert_eq!(search_in(&poems, "account:か").0, [3, 2]);
        assert_eq!(search_in(&poems, "か account:が").0, [2]);
    }

    /// Whether an entry has marks is found out once, not at each of its places; and whatever is done counts.
    #[test]
    fn others_have_their_turn_by_the_work_that_is_done() {
        let marked = "か".repeat(20_000) + "ざ";
        let poems = vec![(marked.as_str(), "@a"); 40];
        let (found, turns) = search_in(&poems, "がが");
        assert!(found.is_empty());
        // A portion ends with an entry.
        let least = 40 * marked.len() / (PORTION + marked.len());
        assert!((least..2 * least).contains(&turns), "{turns} turns, {least} at least");
        // The longest term is in all of them. Each of the others has to be looked for in all of them, too.
        let (found, turns) = search_in(&poems, "かかか がが");
        assert!(found.is_empty());
        assert!((least..4 * least).contains(&turns), "{turns} turns, {least} at least");
        let unmarked = "か".repeat(20_000);
        let (found, _) = search_in(&[(&marked, "@a"), (&unmarked, "@a")], "かかか がが");
        assert_eq!(found, [1]);
    }

    /// Many places of a long word, in poems that are short enough to be many in a portion of bytes.
    #[test]
    fn places_that_are_compared_count_as_work() {
        let text = "わ".repeat(500);
        let poems = vec![(text.as_str(), "@a"); 100];
        // Wherever it could be, 99 kana are what they may be, and the last is not.
        let (found, turns) = search_in(&poems, &("わ".repeat(99) + "ば"));
        assert!(found.is_empty());
        let compared = 256 * 100;
        assert!(turns >= 100 * compared / (PORTION + compared), "{turns} turns");
    }

    #[test]
    fn terms_and_prefixes_are_read() {
        let query = Query::parse("花　account:@Lap ROUND：第1回 honka:wiki").unwrap();
        assert_eq!(query.round(), Some("第1回"));
        let scopes: Vec<Scope> = query.terms.iter().map(|term| term.scope).collect();
        assert_eq!(scopes, [Scope::Account, Scope::Honka, Scope::Text]);
        let apart = Query::parse("account: @Lap round: 第1回 http://例").unwrap();
        assert_eq!(apart.round(), Some("第1回"));
        let scopes: Vec<Scope> = apart.terms.iter().map(|term| term.scope).collect();
        assert_eq!(scopes, [Scope::Text, Scope::Account], "no prefix, no meaning of the colon");
    }

    #[test]
    fn what_follows_a_prefix_may_stand_in_quotes() {
        for text in [
            r#"月 round:"万葉集 巻01""#,
            r#"round: "万葉集 巻01" 月"#,
            "round:「万葉集 巻01」月",
            "月 round:“万葉集 巻01”",
        ] {
            let query = Query::parse(text).unwrap();
            assert_eq!(query.round(), Some("万葉集 巻01"), "{text}");
            let words: Vec<&str> = query.terms.iter().map(|term| term.word.exact()).collect();
            assert_eq!(words, ["月"], "{text}");
        }
        let query = Query::parse(r#"account:"a b" "月 の"#).unwrap();
        let words: Vec<&str> = query.terms.iter().map(|term| term.word.exact()).collect();
        assert_eq!(words, ["\"月", "の", "ab"], "quotes without a prefix are text");
        assert_eq!(Query::parse(r#"月 round:"第1回"#).unwrap().round(), Some("\"第1回"), "never closed");
    }

    #[test]
    fn nothing_to_look_for_is_refused() {
        for text in ["", " 　\n", "account:", "account: ", "round:", "\u{200b}"] {
            assert_eq!(Query::parse(text).map(|_| ()), Err(Refused::Empty), "{text:?}");
        }
        assert_eq!(Query::parse("round: 第1回").map(|_| ()), Err(Refused::OnlyRound));
        assert_eq!(Query::parse(&"あ ".repeat(9)).map(|_| ()), Err(Refused::TooManyTerms));
    }
}
