//! Looking for poems: a query's terms against the archive's search columns.

use std::ops::Range;

use memchr::memmem::Finder;
use wakashu_archive::{ArchivedRound, Column, ColumnName, Keys, SearchKey, finder};

use crate::served::index::{Index, ReadError};

/// Most terms in one query.
const MAX_TERMS: usize = 8;

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
    exact: SearchKey,
    loose: SearchKey,
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
    /// may follow the colon.
    pub(crate) fn parse(text: &str) -> Result<Self, Refused> {
        let mut query = Self { terms: Vec::new(), round: None };
        let mut words = text.split_whitespace();
        while let Some(word) = words.next() {
            let prefixed =
                word.split_once([':', '：']).and_then(|(name, rest)| Some((Prefix::read(name)?, rest)));
            let (prefix, rest) = match prefixed {
                Some((prefix, "")) => (prefix, words.next().unwrap_or_default()),
                Some(prefixed) => prefixed,
                None => (Prefix::Scope(Scope::Text), word),
            };
            let Prefix::Scope(scope) = prefix else {
                query.round = Some(rest.to_owned()).filter(|title| !title.is_empty());
                continue;
            };
            let (exact, loose) = (SearchKey::exact(rest), SearchKey::loose(rest));
            if !exact.is_empty() {
                query.terms.push(Term { scope, exact, loose });
            }
            if query.terms.len() > MAX_TERMS {
                return Err(Refused::TooManyTerms);
            }
        }
        // The longest term is the rarest, most likely: it is scanned for, the others are checked where it matches.
        query.terms.sort_by_key(|term| std::cmp::Reverse(term.exact.as_str().len()));
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

    /// Finds the first term that occurs in a poem or its reading.
    pub(crate) fn find_in_poem(&self, text: &str, loose: bool) -> Option<Range<usize>> {
        self.find(text, loose, |scope| scope == Scope::Text)
    }

    /// Finds the first term that occurs in an account.
    pub(crate) fn find_in_account(&self, text: &str, loose: bool) -> Option<Range<usize>> {
        self.find(text, loose, |scope| matches!(scope, Scope::Text | Scope::Account))
    }

    fn find(&self, text: &str, loose: bool, looks_here: impl Fn(Scope) -> bool) -> Option<Range<usize>> {
        let mut terms = self.terms.iter().filter(|term| looks_here(term.scope)).peekable();
        terms.peek()?;
        let key = if loose { SearchKey::loose(text) } else { SearchKey::exact(text) };
        terms.find_map(|term| key.find(text, term.needle(loose)))
    }
}

impl Term {
    fn needle(&self, loose: bool) -> &str {
        if loose { self.loose.as_str() } else { self.exact.as_str() }
    }
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
    pub(crate) total: Total,
    /// Whether there are more than were asked for.
    pub(crate) more: bool,
}

/// How many entries match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Total {
    /// So many.
    Exactly(usize),
    /// So many match exactly; how many more do loosely was not looked at.
    AtLeast(usize),
}

/// Finds hits `from..from + limit`: exact before loose, then by how early the match is, then by round and rank.
///
/// The loose keys are looked at only if the exact ones do not fill the page.
pub(crate) async fn search(
    index: &Index,
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
    // One more than the page holds tells whether there is another page.
    let wanted = from.saturating_add(limit).saturating_add(1);
    let mut found = columns.matching(query, &within, false);
    let mut total = Total::AtLeast(found.len());
    let mut hits: Vec<Hit> = best(&mut found, wanted).map(|ordinal| Hit { ordinal, loose: false }).collect();
    if hits.len() < wanted {
        let mut exact: Vec<usize> = hits.iter().map(|hit| hit.ordinal).collect();
        exact.sort_unstable();
        let mut found = columns.matching(query, &within, true);
        found.retain(|packed| exact.binary_search(&ordinal_of(*packed)).is_err());
        total = Total::Exactly(exact.len() + found.len());
        hits.extend(best(&mut found, wanted - exact.len()).map(|ordinal| Hit { ordinal, loose: true }));
    }
    let more = hits.len() == wanted;
    Ok(Found { hits: hits.into_iter().skip(from).take(limit).collect(), total, more })
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

    /// Returns the keys a term is compared with; a column without loose keys is compared exactly.
    fn keys(&self, term: &Term, loose: bool) -> Option<(&Keys, bool)> {
        let column = match term.scope.column() {
            ColumnName::Text => self.text.as_ref(),
            ColumnName::Prompt => self.prompt.as_ref(),
            ColumnName::Honka => self.honka.as_ref(),
        }?;
        match column.loose().filter(|_| loose) {
            Some(keys) => Some((keys, true)),
            None => Some((column.exact(), false)),
        }
    }

    /// Returns all entries that match every term, each packed with how early it does.
    fn matching(&self, query: &Query, within: &Range<usize>, loose: bool) -> Vec<u64> {
        let mut found = Vec::new();
        let Some((first, others)) = query.terms.split_first() else { return found };
        let Some((keys, loosely)) = self.keys(first, loose) else { return found };
        let needle = finder(first.needle(loosely));
        let others: Vec<(&Term, &Keys, Finder<'_>)> = others
            .iter()
            .filter_map(|term| {
                let (keys, loosely) = self.keys(term, loose)?;
                Some((term, keys, finder(term.needle(loosely))))
            })
            .collect();
        keys.scan(&needle, |ordinal, position| {
            let fits = within.contains(&ordinal)
                && (first.scope != Scope::Account || contains(first.scope, keys, &needle, ordinal))
                && others.iter().all(|(term, keys, needle)| contains(term.scope, keys, needle, ordinal));
            if fits {
                found.push(packed(position, ordinal));
            }
        });
        found
    }
}

fn contains(scope: Scope, keys: &Keys, needle: &Finder<'_>, ordinal: usize) -> bool {
    let place = if scope == Scope::Account {
        keys.field(ordinal, ColumnName::ACCOUNT_FIELD)
    } else {
        keys.entry(ordinal)
    };
    needle.find(place).is_some()
}

fn packed(position: usize, ordinal: usize) -> u64 {
    ((position as u64) << 32) | (ordinal as u64 & u64::from(u32::MAX))
}

fn ordinal_of(packed: u64) -> usize {
    usize::try_from(packed & u64::from(u32::MAX)).unwrap_or(usize::MAX)
}

/// Returns the `wanted` best of what was found, in order, without sorting the rest.
fn best(found: &mut Vec<u64>, wanted: usize) -> impl Iterator<Item = usize> {
    if wanted > 0 && found.len() > wanted {
        found.select_nth_unstable(wanted - 1);
    }
    found.truncate(wanted);
    found.sort_unstable();
    found.iter().map(|packed| ordinal_of(*packed))
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn nothing_to_look_for_is_refused() {
        for text in ["", " 　\n", "account:", "account: ", "round:", "\u{200b}"] {
            assert_eq!(Query::parse(text).map(|_| ()), Err(Refused::Empty), "{text:?}");
        }
        assert_eq!(Query::parse("round: 第1回").map(|_| ()), Err(Refused::OnlyRound));
        assert_eq!(Query::parse(&"あ ".repeat(9)).map(|_| ()), Err(Refused::TooManyTerms));
    }
}
