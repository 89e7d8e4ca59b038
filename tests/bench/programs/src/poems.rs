//! Poems put together from phrases, so that a search has something to tell apart.

use crate::Random;

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

/// Returns five phrases on five lines.
pub(crate) fn poem(seed: u64) -> String {
    phrases(&mut Random::new(seed)).join("\n")
}

/// Returns a reading: as long as a poem, of other phrases.
pub(crate) fn reading(seed: u64) -> String {
    phrases(&mut Random::new(!seed)).concat()
}

fn phrases(random: &mut Random) -> [&'static str; 5] {
    let mut pick = |phrases: &[&'static str; 12]| {
        let at = random.next() >> 32;
        phrases.iter().cycle().nth(usize::try_from(at % 12).unwrap_or(0)).copied().unwrap_or_default()
    };
    [pick(&FIVE), pick(&SEVEN), pick(&FIVE), pick(&SEVEN), pick(&SEVEN)]
}
