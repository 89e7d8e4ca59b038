//! Collections to render, and a parser that complains.

use std::cell::RefCell;
use std::collections::BTreeSet;

use bytes::Bytes;
use html5ever::tendril::TendrilSink;
use html5ever::tree_builder::TreeBuilderOpts;
use html5ever::{ParseOpts, parse_document};
use markup5ever_rcdom::{Handle, NodeData, RcDom};
use wakashu_archive::{
    Archive, ArchivedChunk, Column, ColumnName, ContentHash, EntryDraft, MediaType, PageView, Period,
    PictureDraft, ReadAt, RenditionDraft, RoundDraft, RoundExtra, Writer,
};
use wakashu_pages::{
    ASSETS, Address, Collection, Connect, Document, Finding, Hit, LinkStyle, Lookup, LookupFile, Notice,
    Outcome, Place, Preview, Renderer, Total, chunks_of_page, pages_of_round, picture_file,
};

/// An archive in memory with its collection.
pub(crate) struct Site {
    pub(crate) bytes: Vec<u8>,
    pub(crate) collection: Collection,
}

pub(crate) fn entry(rank: u32, account: &str, poem: &str) -> EntryDraft {
    EntryDraft { rank, account: account.to_owned(), poem: poem.to_owned(), ..EntryDraft::default() }
}

pub(crate) fn round(title: &str, period: Option<(&str, &str)>) -> RoundDraft {
    let day = |text: &str| Period::parse(text).unwrap().start;
    let period = period.map(|(start, end)| Period { start: day(start), end: day(end) });
    RoundDraft { title: title.to_owned(), period, ..RoundDraft::default() }
}

/// A picture whose bytes are no picture: pages do not look at them.
pub(crate) fn picture(seed: &str, width_px: u32, height_px: u32) -> PictureDraft {
    let rendition = |name: &str, shrunk: u32| RenditionDraft {
        bytes: Bytes::from(format!("{seed} {name}")),
        media_type: MediaType::Webp,
        width_px: width_px / shrunk,
        height_px: height_px / shrunk,
    };
    PictureDraft {
        small: rendition("small", 3),
        medium: rendition("medium", 2),
        large: rendition("large", 1),
        original: None,
    }
}

impl Site {
    pub(crate) fn new(title: &str, description: &str, rounds: Vec<(RoundDraft, Vec<EntryDraft>)>) -> Self {
        let mut writer = Writer::new(Vec::new()).unwrap();
        for (round, entries) in rounds {
            writer.begin_round(round).unwrap();
            for entry in entries {
                writer.entry(entry).unwrap();
            }
        }
        let (_, bytes) =
            writer.finish(title.to_owned(), description.to_owned(), ContentHash::of(b"test")).unwrap();
        let collection = Collection::new(Archive::open(bytes.as_slice()).unwrap());
        Self { bytes, collection }
    }

    /// A small collection with everything that an ordinary one has.
    pub(crate) fn sample() -> Self {
        let mut first = entry(1, "@Laptop", "ひさかたの\n光のどけき\n窓の辺に\nラップトップも\n花に遠慮す");
        first.honka = vec![
            "https://ja.wikipedia.org/wiki/%E7%B4%80%E5%8F%8B%E5%89%87".to_owned(),
            "古今和歌集 巻二".to_owned(),
        ];
        first.prompt = "ukiyo-e woodblock print, a shy laptop".to_owned();
        first.yomi = Some("ひさかたの ひかりのどけき".to_owned());
        first.extras = vec![("解説".to_owned(), "紀友則の歌から。".to_owned())];
        first.picture = Some(picture("a", 1500, 1200));
        let mut second = entry(2, "@Wakashu", "天の原ふりさけ見れば雲の上に\nわが預けたる月ぞ照りける");
        // All its renditions are the same file.
        let tiny = RenditionDraft {
            bytes: Bytes::from_static(b"tiny"),
            media_type: MediaType::Png,
            width_px: 300,
            height_px: 400,
        };
        second.picture =
            Some(PictureDraft { small: tiny.clone(), medium: tiny.clone(), large: tiny, original: None });
        let third = entry(5, "@Honka", "12月に3つの窓をひらきけり");
        let mut theme = round("第1回", Some(("2025-04-01", "2025-05-31")));
        theme.extras = vec![RoundExtra { title: "お題".to_owned(), text: "窓".to_owned() }];
        let many =
            (1..=130).map(|rank| entry(rank, &format!("@P{rank}"), "春の夜の\n夢ばかりなる")).collect();
        Self::new(
            "遠慮したラップトップ和歌集",
            "控えめなラップトップたちの、\n本歌取りの小さな歌集です。",
            vec![
                (theme, vec![first, second, third]),
                (round("第2回", Some(("2025-07-01", "2025-08-31"))), many),
                (round("第3回", None), Vec::new()),
                (
                    round("番外編", Some(("2024-12-01", "2025-01-15"))),
                    vec![entry(1, "@Kotonoha", "やまとうた")],
                ),
            ],
        )
    }

    pub(crate) fn renderer<'a>(&'a self, style: LinkStyle<'a>, base: Option<&'a str>) -> Renderer<'a> {
        let connect =
            Connect { mcp: Some("https://waka.example/mcp"), store: base, bundle: Some("歌集.mcpb") };
        Renderer {
            collection: &self.collection,
            place: Place { style, base, can_search: true, preview: None },
            connect,
        }
    }

    pub(crate) fn view(&self, chunk: &ArchivedChunk) -> PageView {
        let bytes = self.bytes.as_slice().read_at(chunk.page.span()).unwrap();
        self.collection.archive().page(chunk, bytes).unwrap()
    }

    /// Renders everything there is, named by its file.
    pub(crate) fn documents(&self, style: LinkStyle<'_>, base: Option<&str>) -> Vec<(String, Document)> {
        let renderer = self.renderer(style, base);
        let mut documents = Vec::new();
        for page in 1..=self.collection.pages() {
            let firsts: Vec<_> = self
                .collection
                .rounds_on(page)
                .iter()
                .map(|round| round.chunks.first().map(|chunk| self.view(chunk)))
                .collect();
            documents.push((Address::Collection { page }.file(), renderer.collection(page, &firsts)));
        }
        let rounds = &self.collection.archive().root().rounds;
        for round in rounds.iter() {
            for page in 1..=pages_of_round(round) {
                let views: Vec<_> =
                    chunks_of_page(round, page).iter().map(|chunk| Some(self.view(chunk))).collect();
                documents.push((
                    Address::Round { round: &round.title, page }.file(),
                    renderer.round(round, page, &views),
                ));
            }
            for chunk in round.chunks.iter() {
                let view = self.view(chunk);
                for entry in view.entries.iter() {
                    let rank = entry.rank.to_native();
                    documents.push((
                        Address::Poem { round: &round.title, rank }.file(),
                        renderer.poem(round, rank, &view).unwrap(),
                    ));
                }
            }
        }
        let views: Vec<_> =
            rounds.iter().filter_map(|round| Some((round, self.view(round.chunks.first()?)))).collect();
        let entries =
            views.iter().flat_map(|(round, view)| view.entries.iter().map(move |entry| (*round, entry)));
        let hits: Vec<_> = entries
            .take(20)
            .map(|(round, entry)| Hit {
                round,
                entry,
                in_poem: Some(3..6),
                in_yomi: entry.yomi.as_ref().map(|_| 0..3),
                in_account: Some(0..1),
                is_loose: entry.rank == 2,
            })
            .collect();
        let found = Outcome::Found { hits: &hits, total: Total::AtLeast(1234), page: 2, more: true };
        documents.push((Address::Search.file(), renderer.search("<花>\"&", &found)));
        if style == LinkStyle::Folder {
            documents.push((Address::Search.file(), renderer.lookup(&self.lookup())));
        } else {
            documents.extend(self.previewed(renderer));
        }
        documents
            .push((Address::NotFound.file(), Notice::NotFound.page(renderer.place, Some(&self.collection))));
        documents.push((Address::Feed.file(), renderer.feed("2026-01-01T00:00:00Z")));
        documents.push((Address::Robots.file(), renderer.place.robots()));
        documents
    }

    /// What the search of a folder loads.
    pub(crate) fn lookup(&self) -> Vec<LookupFile> {
        let (archive, mut lookup) = (self.collection.archive(), Lookup::default());
        for name in ColumnName::ALL {
            let column = archive.column(name).map(|reference| {
                let bytes = self.bytes.as_slice().read_at(reference.span()).unwrap();
                Column::open(&reference, &bytes, archive.root().entries.to_native()).unwrap()
            });
            lookup.column(name, column.as_ref());
        }
        for round in archive.root().rounds.iter() {
            lookup.round(round);
            for chunk in round.chunks.iter() {
                lookup.page(&self.view(chunk));
            }
        }
        lookup.finish()
    }

    /// Two pages as a preview shows them, with something to put right that has the collection's own texts in it.
    fn previewed(&self, of: Renderer<'_>) -> Vec<(String, Document)> {
        let root = self.collection.archive().root();
        let (title, description) = (root.title.as_str(), root.description.as_str());
        let finding = |hint| Finding {
            severity: "エラー".to_owned(),
            place: format!("{title}/1-x"),
            message: description.to_owned(),
            hint,
        };
        let preview = Preview {
            mark: "1".to_owned(),
            lang: "ja",
            summary: format!("エラー 2 件 {title}"),
            findings: vec![finding(Some(title.to_owned())), finding(None)],
            more: "ほかに 3 件".to_owned(),
        };
        let place = Place { preview: Some(&preview), ..of.place };
        let renderer = Renderer { collection: &self.collection, place, connect: of.connect };
        let round = root.rounds.iter().find(|round| !round.chunks.is_empty()).unwrap();
        let view = self.view(&round.chunks[0]);
        let rank = view.entries[0].rank.to_native();
        let firsts: Vec<_> = self.collection.rounds_on(1).iter().map(|_| None).collect();
        vec![
            ("preview/index.html".to_owned(), renderer.collection(1, &firsts)),
            ("preview/poem/index.html".to_owned(), renderer.poem(round, rank, &view).unwrap()),
        ]
    }

    /// The files of a folder: all documents, assets, what the search loads, pictures, the bundle.
    pub(crate) fn files(&self) -> BTreeSet<String> {
        let documents = self.documents(LinkStyle::Folder, None).into_iter().map(|(file, _)| file);
        let assets = ASSETS.iter().map(|asset| Address::Asset(&asset.name).file());
        let lookup = self.lookup().into_iter().map(|file| file.path);
        let mut files: BTreeSet<String> =
            documents.chain(assets).chain(lookup).chain(["歌集.mcpb".to_owned()]).collect();
        for chunk in self.collection.archive().root().rounds.iter().flat_map(|round| round.chunks.iter()) {
            for entry in self.view(chunk).entries.iter() {
                files.extend(
                    entry
                        .picture
                        .iter()
                        .flat_map(wakashu_archive::ArchivedPicture::renditions)
                        .map(|(_, rendition)| picture_file(rendition)),
                );
            }
        }
        files
    }
}

/// A collection that tries everything.
pub(crate) fn hostile() -> Site {
    let nasty = "</title></a><script>alert(1)</script>\"'><img src=x onerror=alert(2)>&lt;&#x3c;\u{202e}逆\u{0}\u{1}\u{7f}\u{fffe}\r\n<!-- ]]> --><style>*{display:none}</style>";
    let mut first = entry(1, nasty, nasty);
    first.honka = [
        "javascript:alert(1)",
        "JaVaScRiPt://%0aalert(1)",
        "data:text/html,<script>",
        "https://example.org/\"><script>",
        "https://good.example@evil.example/",
        "https://example.org/%22%3E%3Cscript%3E",
        "http://example.org/\u{202e}",
        "//evil.example",
        nasty,
    ]
    .map(str::to_owned)
    .to_vec();
    first.prompt = nasty.to_owned();
    first.yomi = Some(nasty.to_owned());
    first.extras = vec![(nasty.to_owned(), nasty.to_owned()), (String::new(), String::new())];
    first.picture = Some(picture(nasty, 1568, 3));
    let long = entry(2, &"長".repeat(2_000), &format!("{}\n", "歌".repeat(199)).repeat(100));
    let blank = entry(3, " ", "\n \n");
    let mut theme = round(nasty, Some(("0001-01-01", "9999-12-31")));
    theme.title = theme.title.replace(['/', '\0'], "");
    theme.extras = vec![RoundExtra { title: nasty.to_owned(), text: nasty.to_owned() }];
    let mut rounds = vec![(theme, vec![first, long, blank])];
    for title in ["CON", "A", "a?b#c%d:e", "..", &"歌".repeat(85), "javascript:alert(1)"] {
        rounds.push((round(title, None), vec![entry(1, "@x", "歌"), entry(999_999, "@y", "歌")]));
    }
    rounds.sort_by(|(one, _), (other, _)| one.title.cmp(&other.title));
    Site::new(&format!("{nasty}{}", "題".repeat(300)), nasty, rounds)
}

/// An element as it was parsed.
#[derive(Debug)]
pub(crate) struct Element {
    pub(crate) name: String,
    pub(crate) attributes: Vec<(String, String)>,
    /// The text right inside it.
    pub(crate) text: String,
}

impl Element {
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(attribute, _)| attribute == name).map(|(_, value)| value.as_str())
    }
}

/// A parsed document: all its elements in order, and what the parser said.
#[derive(Debug)]
pub(crate) struct Dom {
    pub(crate) elements: Vec<Element>,
    pub(crate) errors: Vec<String>,
}

pub(crate) fn parse(html: &str) -> Dom {
    // As a browser that runs scripts sees it.
    let tree_builder =
        TreeBuilderOpts { exact_errors: true, scripting_enabled: true, ..TreeBuilderOpts::default() };
    let mut options = ParseOpts { tree_builder, ..ParseOpts::default() };
    options.tokenizer.exact_errors = true;
    let dom = parse_document(RcDom::default(), options).one(html);
    let mut elements = Vec::new();
    collect(&dom.document, &mut elements);
    let errors = RefCell::borrow(&dom.errors).iter().map(ToString::to_string).collect();
    Dom { elements, errors }
}

fn collect(node: &Handle, elements: &mut Vec<Element>) {
    if let NodeData::Element { name, attrs, .. } = &node.data {
        let attributes =
            attrs.borrow().iter().map(|one| (one.name.local.to_string(), one.value.to_string())).collect();
        let children = node.children.borrow();
        let texts = children.iter().filter_map(|child| match &child.data {
            NodeData::Text { contents } => Some(contents.borrow().to_string()),
            _ => None,
        });
        elements.push(Element { name: name.local.to_string(), attributes, text: texts.collect() });
    }
    for child in node.children.borrow().iter() {
        collect(child, elements);
    }
}

/// Returns the file that a link of a document leads to, as a browser finds it.
pub(crate) fn resolve(document: &str, link: &str) -> String {
    let mut parts: Vec<String> = document.split('/').map(str::to_owned).collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            ".." => drop(parts.pop()),
            part => {
                parts.push(percent_encoding::percent_decode_str(part).decode_utf8().unwrap().into_owned());
            }
        }
    }
    parts.join("/")
}
