//! Times a scan of the search column over synthetic poems: `cargo run --release -p wakashu-archive --example search_bench`.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a measuring program"
)]

use std::time::Instant;

use bytes::Bytes;
use wakashu_archive::{
    Archive, Column, ContentHash, EntryDraft, Opening, RoundDraft, SearchKey, Writer, finder,
};

const FIVE: [&str; 12] = [
    "ひさかたの",
    "天の原",
    "秋の田の",
    "春過ぎて",
    "あしびきの",
    "田子の浦に",
    "奥山に",
    "瀬をはやみ",
    "月見れば",
    "夜もすがら",
    "ラップトップ",
    "恋すてふ",
];
const SEVEN: [&str; 12] = [
    "光のどけき",
    "ふりさけ見れば",
    "かりほの庵の",
    "夏来にけらし",
    "山鳥の尾の",
    "うち出でて見れば",
    "紅葉踏み分け",
    "岩にせかるる",
    "千々に物こそ",
    "物思ふころは",
    "窓の明かりを",
    "わが名はまだき",
];

fn main() {
    let poems: usize = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(100_000);
    let mut writer = Writer::new(Vec::new()).unwrap();
    let mut state = 88_172_645_463_325_252_u64;
    let mut random = |most: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % most as u64).unwrap()
    };
    let started = Instant::now();
    for number in 0..poems {
        if number % 100 == 0 {
            let title = format!("第{}回", number / 100 + 1);
            writer.begin_round(RoundDraft { title, period: None }).unwrap();
        }
        let mut ku =
            || [FIVE[random(12)], SEVEN[random(12)], FIVE[random(12)], SEVEN[random(12)], SEVEN[random(12)]];
        let rank = u32::try_from(number % 100 + 1).unwrap();
        let account = format!("@poet{}", number % 977);
        let yomi = Some(ku().concat());
        writer
            .entry(EntryDraft { rank, account, poem: ku().join("\n"), yomi, ..EntryDraft::default() })
            .unwrap();
    }
    let (written, bytes) = writer.finish("t".into(), String::new(), ContentHash::of(b"")).unwrap();
    println!("written {} bytes in {:?}", written.bytes, started.elapsed());
    let bytes = Bytes::from(bytes);
    let Opening::Ready(archive) = Archive::from_tail(&bytes, written.bytes).unwrap() else {
        return println!("root too large");
    };
    let reference = archive.trailer().text_column.unwrap();
    let start = usize::try_from(reference.offset).unwrap();
    let section = bytes.slice(start..start + usize::try_from(reference.length).unwrap());
    let started = Instant::now();
    let column = Column::open(&reference, &section, archive.root().entries.to_native()).unwrap();
    println!("column of {} bytes verified in {:?}", section.len(), started.elapsed());
    for query in [
        "ひさかたの光のどけき天の原",
        "の",
        "あ",
        "恋すてふわが名",
        "夜もすがら物思ふころは",
        "ぬばたまの",
        "zzz",
        "poet976",
        "ゑゑ",
        "し",
    ] {
        for (kind, keys, needle) in [
            ("exact", Some(column.exact()), SearchKey::exact(query)),
            ("loose", column.loose(), SearchKey::loose(query)),
        ] {
            let keys = keys.unwrap();
            let finder = finder(needle.as_str());
            let mut best = f64::MAX;
            let mut hits = 0;
            for _ in 0..15 {
                let started = Instant::now();
                hits = 0;
                keys.scan(&finder, |_, _| hits += 1);
                best = best.min(started.elapsed().as_secs_f64() * 1e3);
            }
            println!("{query} {kind}: {hits} hits, {best:.3} ms");
        }
    }
}
