//! Archives made to mislead: one per attack, every hash right unless the attack is a wrong hash.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rkyv::rancor;
use wakashu_archive::{
    Chunk, ColumnName, ContentHash, Entry, Extra, HEAD_MAGIC, MediaType, Page, Picture, Reference, Rendition,
    Root, Round, Section, SectionKind, SectionTable, TRAILER_BYTES, TextRange, Trailer,
};

/// A crafted archive and what a reader says of it.
#[derive(Debug)]
pub struct Attack {
    /// What is wrong, as a phrase.
    pub name: &'static str,
    /// The file.
    pub file: Vec<u8>,
    /// How far a reader gets.
    pub reaches: Reach,
    /// A part of what the reader says.
    pub reader_says: &'static str,
    /// A part of what `wakashu-indexer check` says.
    pub check_says: &'static str,
}

/// How far a reader gets with an archive before something is refused. The second round is always good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// It does not open.
    Nothing,
    /// It opens; the page of the first round is refused.
    Root,
    /// It opens and its texts can be read; the pictures of the first round are refused.
    Page,
    /// Everything can be read, but the first round's pictures are larger than a server sends.
    Large,
    /// Everything can be read; only a deep check notices.
    Everything,
}

/// Returns every attack.
#[must_use]
pub fn attacks() -> Vec<Attack> {
    [spans(), overlaps(), hashes(), tables(), roots(), pages(), pictures()].into_iter().flatten().collect()
}

/// A PNG of one grey pixel.
const PIXEL: &[u8] = include_bytes!("../../../fixtures/pictures/png-1x1.png");

/// A PNG that says it has 60,000 x 60,000 pixels, in 65 bytes.
const BOMB: &[u8] = include_bytes!("../../../fixtures/pictures/png-bomb.png");

const ELSEWHERE: ContentHash = ContentHash([7; 32]);

/// An archive about to be written: two rounds of one entry each, the first to be tampered with.
///
/// Sections are laid out in order; each step is applied before the bytes above it are hashed.
struct Craft<'a> {
    picture: Vec<u8>,
    page: Step<'a, Page>,
    page_bytes: Step<'a, Vec<u8>>,
    root: Step<'a, Root>,
    root_bytes: Step<'a, Vec<u8>>,
    sections: Step<'a, Vec<Section>>,
    table_bytes: Step<'a, Vec<u8>>,
}

/// A change to a section before it is hashed.
type Step<'a, T> = Box<dyn FnOnce(&mut T) + 'a>;

impl Default for Craft<'_> {
    fn default() -> Self {
        Self {
            picture: STANDARD.encode(PIXEL).into_bytes(),
            page: Box::new(|_| {}),
            page_bytes: Box::new(|_| {}),
            root: Box::new(|_| {}),
            root_bytes: Box::new(|_| {}),
            sections: Box::new(|_| {}),
            table_bytes: Box::new(|_| {}),
        }
    }
}

impl Craft<'_> {
    fn file(self) -> Vec<u8> {
        let mut file = HEAD_MAGIC.to_vec();
        let mut rounds = Vec::new();
        let (mut page_step, mut bytes_step) = (Some(self.page), Some(self.page_bytes));
        for (number, stored) in [(1, self.picture), (2, STANDARD.encode(PIXEL).into_bytes())] {
            let picture = append(&mut file, &stored);
            let mut page = Page { entries: vec![entry(picture)] };
            if let Some(step) = page_step.take() {
                step(&mut page);
            }
            let mut bytes = rkyv::to_bytes::<rancor::Error>(&page).expect("a page").to_vec();
            if let Some(step) = bytes_step.take() {
                step(&mut bytes);
            }
            let chunk = Chunk { first_rank: 1, last_rank: 1, page: append(&mut file, &bytes) };
            let title = format!("第{number}回");
            rounds.push(Round {
                key: title.clone(),
                title,
                number: Some(number),
                period: None,
                extras: Vec::new(),
                entries: 1,
                pictures: 1,
                chunks: vec![chunk],
            });
        }
        let mut root = Root {
            title: "歌集".to_owned(),
            description: String::new(),
            built_from: ContentHash([0; 32]),
            entries: 2,
            rounds,
            by_key: vec![0, 1],
        };
        (self.root)(&mut root);
        let mut bytes = rkyv::to_bytes::<rancor::Error>(&root).expect("a root").to_vec();
        (self.root_bytes)(&mut bytes);
        let reference = append(&mut file, &bytes);
        let mut sections = vec![Section { kind: SectionKind::ROOT, must_be_understood: true, reference }];
        (self.sections)(&mut sections);
        let mut table = SectionTable::new(sections).encode();
        (self.table_bytes)(&mut table);
        file.extend_from_slice(&table);
        let total_length = (file.len() + TRAILER_BYTES) as u64;
        file.extend_from_slice(&Trailer::encode(total_length, &table));
        file
    }
}

fn append(file: &mut Vec<u8>, bytes: &[u8]) -> Reference {
    let offset = file.len() as u64;
    file.extend_from_slice(bytes);
    Reference { offset, length: bytes.len() as u64, hash: ContentHash::of(bytes) }
}

fn entry(picture: Reference) -> Entry {
    let text = "1位：@a\\n歌".to_owned();
    let (account, poem) = (TextRange { start: 7, end: 9 }, TextRange { start: 11, end: 14 });
    let end = TextRange { start: 14, end: 14 };
    let text_characters = 7;
    let rendition = || Rendition {
        stored: picture,
        file_bytes: u32::try_from(picture.length / 4 * 3).unwrap_or(u32::MAX),
        width_px: 1,
        height_px: 1,
        media_type: MediaType::Png,
    };
    let picture = Picture { small: rendition(), medium: rendition(), large: rendition(), original: None };
    Entry {
        rank: 1,
        text,
        text_characters,
        account,
        poem,
        honka: Vec::new(),
        prompt: end,
        extras: Vec::new(),
        yomi: None,
        picture: Some(picture),
    }
}

fn renditions(page: &mut Page) -> impl Iterator<Item = &mut Rendition> {
    let pictures = page.entries.iter_mut().filter_map(|entry| entry.picture.as_mut());
    pictures.flat_map(|picture| [&mut picture.small, &mut picture.medium, &mut picture.large])
}

fn first_page(root: &mut Root) -> &mut Reference {
    &mut root.rounds[0].chunks[0].page
}

/// Spans out of bounds, huge, or wrapping around.
fn spans() -> Vec<Attack> {
    const LEAVES: &str = "a section's span leaves the file";
    const PAGE_LEAVES: &str = "a page's span leaves the file";
    const PICTURE_LEAVES: &str = "a picture's span leaves the file";
    let root = |name, step: fn(&mut Reference)| Attack {
        name,
        file: Craft {
            sections: Box::new(move |sections| step(&mut sections[0].reference)),
            ..Craft::default()
        }
        .file(),
        reaches: Reach::Nothing,
        reader_says: LEAVES,
        check_says: LEAVES,
    };
    let page = |name, step: fn(&mut Root)| Attack {
        name,
        file: Craft { root: Box::new(step), ..Craft::default() }.file(),
        reaches: Reach::Nothing,
        reader_says: PAGE_LEAVES,
        check_says: PAGE_LEAVES,
    };
    let picture = |name, step: fn(&mut Rendition)| Attack {
        name,
        file: Craft { page: Box::new(move |page| renditions(page).for_each(step)), ..Craft::default() }
            .file(),
        reaches: Reach::Root,
        reader_says: PICTURE_LEAVES,
        check_says: PICTURE_LEAVES,
    };
    vec![
        root("the root lies beyond the end", |root| root.offset = 1 << 40),
        root("the root covers the table", |root| root.length += 56),
        root("the root covers the head", |root| root.offset = 0),
        root("the root's end wraps around", |root| root.length = u64::MAX),
        Attack {
            name: "a column is huge",
            file: Craft {
                sections: Box::new(|sections| {
                    let reference = Reference { offset: 8, length: u64::MAX - 8, hash: ELSEWHERE };
                    let kind = ColumnName::Text.kind();
                    sections.push(Section { kind, must_be_understood: false, reference });
                }),
                ..Craft::default()
            }
            .file(),
            reaches: Reach::Nothing,
            reader_says: LEAVES,
            check_says: LEAVES,
        },
        page("a page lies beyond the end", |root| first_page(root).offset = 1 << 40),
        page("a page's end wraps around", |root| first_page(root).length = u64::MAX),
        page("a page is huge", |root| first_page(root).length = 1 << 32),
        page("a page covers the head", |root| first_page(root).offset = 0),
        page("a page reaches into the root that names it", |root| {
            let last = root.rounds[1].chunks[0].page;
            *first_page(root) = Reference { length: last.length + 1, ..last };
        }),
        picture("a picture lies beyond the end", |rendition| rendition.stored.offset = 1 << 40),
        picture("a picture's offset wraps around", |rendition| rendition.stored.offset = u64::MAX),
        picture("a picture covers the head", |rendition| rendition.stored.offset = 0),
        picture("a picture is huge", |rendition| {
            rendition.file_bytes = u32::MAX;
            rendition.stored.length = u64::from(u32::MAX).div_ceil(3) * 4;
        }),
    ]
}

/// Spans over bytes that are something else already.
fn overlaps() -> Vec<Attack> {
    let with_root = |name, step: fn(&mut Root), reaches, reader_says, check_says| Attack {
        name,
        file: Craft { root: Box::new(step), ..Craft::default() }.file(),
        reaches,
        reader_says,
        check_says,
    };
    vec![
        Attack {
            // The page's bytes hold the hash of the page's bytes: no such value can be found.
            name: "a picture is the page that names it",
            file: Craft {
                page: Box::new(|page| {
                    renditions(page)
                        .for_each(|rendition| rendition.stored.offset = rendition.stored.length + 8);
                }),
                ..Craft::default()
            }
            .file(),
            reaches: Reach::Page,
            reader_says: "hash is",
            check_says: "hash is",
        },
        with_root(
            "a page lies in a picture",
            |root| {
                let stored = STANDARD.encode(PIXEL).into_bytes();
                *first_page(root) =
                    Reference { offset: 8, length: stored.len() as u64, hash: ContentHash::of(&stored) };
            },
            Reach::Root,
            "not a valid value",
            "not a valid value",
        ),
        with_root(
            "two rounds share a page",
            |root| *first_page(root) = root.rounds[1].chunks[0].page,
            Reach::Everything,
            "",
            "leaves a gap",
        ),
        with_root(
            "a page is named over and over",
            |root| {
                let page = *first_page(root);
                let chunk = |rank| Chunk { first_rank: rank, last_rank: rank, page };
                root.rounds[0].chunks = (1..=100).map(chunk).collect();
                root.rounds[0].entries = 32 * 100;
                root.entries = 32 * 100 + 1;
            },
            Reach::Nothing,
            "the pages are longer than the file",
            "the pages are longer than the file",
        ),
        Attack {
            name: "pictures overlap",
            file: Craft {
                page: Box::new(|page| {
                    let stored = STANDARD.encode(PIXEL).into_bytes();
                    let large = &mut page.entries[0].picture.as_mut().unwrap().large;
                    let part = &stored[4..8];
                    large.stored = Reference { offset: 8 + 4, length: 4, hash: ContentHash::of(part) };
                    large.file_bytes = 3;
                }),
                ..Craft::default()
            }
            .file(),
            reaches: Reach::Everything,
            reader_says: "",
            check_says: "overlaps the one before",
        },
    ]
}

/// Wrong hashes over right bytes, and right hashes over bytes that are nothing.
fn hashes() -> Vec<Attack> {
    let noise = |bytes: &mut Vec<u8>| bytes.iter_mut().for_each(|byte| *byte = 0xa5);
    vec![
        Attack {
            name: "the root's hash is wrong",
            file: Craft {
                sections: Box::new(|sections| sections[0].reference.hash = ELSEWHERE),
                ..Craft::default()
            }
            .file(),
            reaches: Reach::Nothing,
            reader_says: "hash is",
            check_says: "hash is",
        },
        Attack {
            name: "a page's hash is wrong",
            file: Craft { root: Box::new(|root| first_page(root).hash = ELSEWHERE), ..Craft::default() }
                .file(),
            reaches: Reach::Root,
            reader_says: "hash is",
            check_says: "hash is",
        },
        Attack {
            name: "a picture's hash is wrong",
            file: Craft {
                page: Box::new(|page| {
                    renditions(page).for_each(|rendition| rendition.stored.hash = ELSEWHERE);
                }),
                ..Craft::default()
            }
            .file(),
            reaches: Reach::Page,
            reader_says: "hash is",
            check_says: "hash is",
        },
        Attack {
            name: "the root is noise with the right hash",
            file: Craft { root_bytes: Box::new(noise), ..Craft::default() }.file(),
            reaches: Reach::Nothing,
            reader_says: "not a valid value",
            check_says: "not a valid value",
        },
        Attack {
            name: "a page is noise with the right hash",
            file: Craft { page_bytes: Box::new(noise), ..Craft::default() }.file(),
            reaches: Reach::Root,
            reader_says: "not a valid value",
            check_says: "not a valid value",
        },
        Attack {
            name: "the root is empty",
            file: Craft { root_bytes: Box::new(Vec::clear), ..Craft::default() }.file(),
            reaches: Reach::Nothing,
            reader_says: "not a valid value",
            check_says: "not a valid value",
        },
        Attack {
            name: "the page is empty",
            file: Craft { page_bytes: Box::new(Vec::clear), ..Craft::default() }.file(),
            reaches: Reach::Root,
            reader_says: "not a valid value",
            check_says: "not a valid value",
        },
    ]
}

/// Section tables that break the rules of tables.
fn tables() -> Vec<Attack> {
    let refused = |name, says, step: fn(&mut Vec<u8>)| Attack {
        name,
        file: Craft { table_bytes: Box::new(step), ..Craft::default() }.file(),
        reaches: Reach::Nothing,
        reader_says: says,
        check_says: says,
    };
    vec![
        refused("the table is empty", "no root is named", Vec::clear),
        refused("the table ends in half a row", "the section table has an impossible length", |table| {
            table.truncate(50);
        }),
        refused("the table names 65 sections", "the section table has an impossible length", |table| {
            *table = table.repeat(65);
        }),
        refused("the table names the root twice", "the sections do not ascend by kind", |table| {
            *table = table.repeat(2);
        }),
        refused("the sections descend", "the sections do not ascend by kind", |table| {
            let mut second = table.clone();
            second[..4].copy_from_slice(b"aaaa");
            second[4] = 0;
            table.extend_from_slice(&second);
        }),
        refused("a section has an unknown flag", "flags that this version does not know", |table| {
            table[4] |= 2;
        }),
        refused("the root is of another kind", "no root is named", |table| {
            table[..4].copy_from_slice(b"toor");
            table[4] = 0;
        }),
        refused("a section must be understood and is not", "does not understand", |table| {
            table[..4].copy_from_slice(b"toor");
        }),
        Attack {
            name: "a section nobody knows has a wrong hash",
            file: Craft {
                sections: Box::new(|sections| {
                    let root = sections[0].reference;
                    let reference =
                        Reference { hash: ELSEWHERE, length: 0, offset: root.offset + root.length };
                    let kind = SectionKind(*b"zzzz");
                    sections.push(Section { kind, must_be_understood: false, reference });
                }),
                ..Craft::default()
            }
            .file(),
            reaches: Reach::Everything,
            reader_says: "",
            check_says: "hash is",
        },
    ]
}

/// Roots whose tables do not fit together.
fn roots() -> Vec<Attack> {
    let refused = |name, says, step: fn(&mut Root)| Attack {
        name,
        file: Craft { root: Box::new(step), ..Craft::default() }.file(),
        reaches: Reach::Nothing,
        reader_says: says,
        check_says: says,
    };
    vec![
        refused("entries do not add up", "the rounds' entries do not add up", |root| root.entries = u32::MAX),
        refused("chunks are missing", "a round's chunks do not fit its entries", |root| {
            root.rounds[0].entries = 1000;
            root.entries = 1001;
        }),
        refused("ranks descend", "ranks of a round's chunks do not ascend", |root| {
            root.rounds[0].chunks[0].last_rank = 0;
        }),
        refused("a rank is beyond all", "ranks of a round's chunks do not ascend", |root| {
            root.rounds[0].chunks[0].last_rank = u32::MAX;
        }),
        refused("the index of keys is short", "the index of keys does not cover the rounds", |root| {
            root.by_key.pop();
        }),
        refused("the index of keys points outside", "the index of keys names no round", |root| {
            root.by_key = vec![0, u32::MAX];
        }),
        refused("the index of keys repeats", "the index of keys does not ascend", |root| {
            root.by_key = vec![0, 0];
        }),
    ]
}

/// Pages whose texts would break an answer.
fn pages() -> Vec<Attack> {
    const RANGE: &str = "a field's range does not fit its text, or the text is not JSON-escaped";
    let refused = |name, says, step: fn(&mut Entry)| Attack {
        name,
        file: Craft { page: Box::new(move |page| step(&mut page.entries[0])), ..Craft::default() }.file(),
        reaches: Reach::Root,
        reader_says: says,
        check_says: says,
    };
    let mut attacks = vec![
        refused("a quote is not escaped", RANGE, |entry| entry.text = entry.text.replace('@', "\"")),
        refused("a line break is not escaped", RANGE, |entry| entry.text = entry.text.replace('@', "\n")),
        refused("an escape has a sign for a digit", RANGE, |entry| {
            entry.text = entry.text.replace("\\n", "\\u00+1");
        }),
        refused("an escape is not in the form of the writer", RANGE, |entry| {
            entry.text = entry.text.replace("\\n", "\\u000A");
        }),
        refused("the text ends in half an escape", "an entry's text is not JSON-escaped", |entry| {
            entry.text.push('\\');
        }),
        refused("a range cuts an escape", RANGE, |entry| entry.account.end += 1),
        refused("a range cuts a character", RANGE, |entry| entry.poem.start += 1),
        refused("a range is beyond the text", RANGE, |entry| entry.poem.end = u32::MAX),
        refused("ranges run backwards", RANGE, |entry| entry.poem = TextRange { start: 0, end: 0 }),
        refused("an extra key lies before the prompt", RANGE, |entry| {
            let range = TextRange { start: 0, end: 1 };
            entry.extras = vec![Extra { key: range, value: range }];
        }),
        refused("a reading is not escaped", "a reading is not JSON-escaped", |entry| {
            entry.yomi = Some("\"}".to_owned());
        }),
        refused("a text is too long", "an entry's text is larger than the format allows", |entry| {
            entry.text.push_str(&"a".repeat(1 << 20));
        }),
        refused("a page has another rank", "a page holds other ranks than its chunk says", |entry| {
            entry.rank = 2;
        }),
        refused("a rendition is shorter than it says", "a rendition's lengths do not agree", |entry| {
            entry.picture.as_mut().unwrap().large.file_bytes += 3;
        }),
        refused("a rendition is HEIC", "a rendition is of a type no model accepts", |entry| {
            entry.picture.as_mut().unwrap().large.media_type = MediaType::Heic;
        }),
        refused("an original is shorter than it says", "an original's lengths do not agree", |entry| {
            let picture = entry.picture.as_mut().unwrap();
            let large = &picture.large;
            picture.original = Some(Rendition { stored: large.stored, media_type: MediaType::Png, ..*large });
        }),
    ];
    for (name, count, says) in [
        ("a page has no entries", 0, "a page has no entries"),
        ("a page has too many", 33, "a page has too many entries"),
    ] {
        let step = move |page: &mut Page| {
            let stored = page.entries[0].picture.as_ref().unwrap().small.stored;
            page.entries = (0..count).map(|_| entry(stored)).collect();
        };
        attacks.push(Attack {
            name,
            file: Craft { page: Box::new(step), ..Craft::default() }.file(),
            reaches: Reach::Root,
            reader_says: says,
            check_says: says,
        });
    }
    attacks
}

/// Renditions that would break out of JSON, and pictures that would fill the memory.
fn pictures() -> Vec<Attack> {
    const PLAIN: &str = "a rendition is not plain base64";
    let stored = |name, change: fn(&mut Vec<u8>)| {
        let mut picture = STANDARD.encode(PIXEL).into_bytes();
        change(&mut picture);
        Attack {
            name,
            file: Craft { picture, ..Craft::default() }.file(),
            reaches: Reach::Page,
            reader_says: PLAIN,
            check_says: PLAIN,
        }
    };
    let shown_as = |name, file: &[u8], width: u32, height: u32, check_says| {
        let padded = file.len() % 3;
        let file = [file, &vec![0; (3 - padded) % 3]].concat();
        let size = move |page: &mut Page| {
            renditions(page)
                .for_each(|rendition| (rendition.width_px, rendition.height_px) = (width, height));
        };
        Attack {
            name,
            file: Craft {
                picture: STANDARD.encode(file).into_bytes(),
                page: Box::new(size),
                ..Craft::default()
            }
            .file(),
            reaches: Reach::Everything,
            reader_says: "",
            check_says,
        }
    };
    let large = [PIXEL, &vec![0; 750_000]].concat();
    let mut dangling = STANDARD.encode(PIXEL).into_bytes();
    let end = dangling.len() - 2;
    dangling[end..].copy_from_slice(b"B=");
    vec![
        Attack {
            name: "a rendition ends in bits of no byte",
            file: Craft {
                picture: dangling,
                page: Box::new(|page| renditions(page).for_each(|rendition| rendition.file_bytes -= 1)),
                ..Craft::default()
            }
            .file(),
            reaches: Reach::Page,
            reader_says: PLAIN,
            check_says: PLAIN,
        },
        stored("a rendition closes the JSON string", |bytes| bytes[..2].copy_from_slice(b"\"}")),
        stored("a rendition has a line break", |bytes| bytes[5] = b'\n'),
        stored("a rendition is not ASCII", |bytes| bytes[5..7].copy_from_slice("é".as_bytes())),
        stored("a rendition is base64 for URLs", |bytes| bytes[5] = b'_'),
        stored("a rendition has padding inside", |bytes| bytes[5] = b'='),
        shown_as("a bomb says its size", BOMB, 60_000, 60_000, "at most 1568 on an edge"),
        shown_as("a bomb says it is small", BOMB, 1, 1, "pixels"),
        Attack {
            reaches: Reach::Large,
            ..shown_as("a picture is larger than any answer", &large, 1, 1, "at most 40000 are allowed")
        },
        shown_as("a picture is none", b"{\"jsonrpc\":\"2.0\"}", 1, 1, "not a picture"),
    ]
}
