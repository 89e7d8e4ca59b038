//! The name of a round's folder, wherever a site is unpacked.

use unicode_normalization::{UnicodeNormalization, is_nfc};
use wakashu_archive::ContentHash;

/// Most bytes of a name. A title may have 255, but folders lie in folders, and Windows counts the whole path.
const MAX_BYTES: usize = 96;
/// Digits of the hash that tells apart what would look the same.
const HASH_DIGITS: usize = 10;

/// Returns the name of the folder in which a round's pages lie.
///
/// It depends on the title alone, so an address stays when other rounds come. A title that every disk can hold, and that no
/// disk takes for another, is its own name. All others are written with what is safe of them, and a part of their hash.
#[must_use]
pub fn folder_name(title: &str) -> String {
    if is_safe(title) {
        return title.to_owned();
    }
    let room = MAX_BYTES - HASH_DIGITS - 1;
    let mut name = String::with_capacity(MAX_BYTES);
    for letter in title.nfc().flat_map(char::to_lowercase) {
        let letter = if is_safe_letter(letter) { letter } else { '_' };
        if name.len() + letter.len_utf8() > room {
            break;
        }
        // A run of what is not safe is one mark, and none stands at the beginning.
        if letter != '_' || !(name.is_empty() || name.ends_with('_')) {
            name.push(letter);
        }
    }
    let name = name.trim_matches(['_', '-']);
    let name = if name.is_empty() { "round" } else { name };
    let hash = ContentHash::of(title.as_bytes()).to_short_hex();
    format!("{name}-{}", hash.as_str().get(..HASH_DIGITS).unwrap_or_default())
}

/// Tells whether a title is a name for every disk: short, of harmless letters, the same in every case and normal form, no
/// device of Windows, and not one that a hash could have been added to.
fn is_safe(title: &str) -> bool {
    title.len() <= MAX_BYTES
        && !title.is_empty()
        && !title.starts_with(['_', '-'])
        && title.chars().all(is_safe_letter)
        && is_nfc(title)
        && title.to_uppercase().to_lowercase() == title
        && !is_device(title)
        && !ends_in_hash(title)
}

fn is_safe_letter(letter: char) -> bool {
    letter.is_alphanumeric()
        || matches!(letter, '-' | '_' | '・' | '（' | '）' | '「' | '」' | '『' | '』' | '〜')
}

/// Tells whether Windows takes a name for a device. Superscript digits count there, too.
fn is_device(name: &str) -> bool {
    let name: String = name.nfkc().flat_map(char::to_lowercase).collect();
    let numbered = |device| {
        name.strip_prefix(device).is_some_and(|port: &str| port.len() == 1 && port.as_bytes().is_ascii())
    };
    matches!(name.as_str(), "con" | "prn" | "aux" | "nul") || numbered("com") || numbered("lpt")
}

fn ends_in_hash(title: &str) -> bool {
    let Some((_, last)) = title.rsplit_once('-') else { return false };
    last.len() == HASH_DIGITS && last.bytes().all(|digit| digit.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// A name as the least discerning disk sees it.
    fn as_seen(name: &str) -> String {
        name.nfkc().collect::<String>().to_uppercase().to_lowercase().nfkc().collect()
    }

    fn hashed(title: &str, visible: &str) {
        let name = folder_name(title);
        let (head, hash) = name.rsplit_once('-').unwrap();
        assert_eq!(head, visible, "{title}");
        assert!(hash.len() == 10 && hash.bytes().all(|digit| digit.is_ascii_hexdigit()), "{name}");
    }

    #[test]
    fn ordinary_titles_are_their_own_names() {
        for title in
            ["第1回", "第十二回", "番外編", "春の部・第2回（再）", "（再）春", "extra-1", "a", "ヴィ"]
        {
            assert_eq!(folder_name(title), title);
        }
    }

    #[test]
    fn what_addresses_and_windows_forbid_does_not_appear() {
        hashed("a?b#c%d:e", "a_b_c_d_e");
        hashed("100%", "100");
        hashed("a/b\\c|d\"e<f>g*h", "a_b_c_d_e_f_g_h");
        hashed("春 の　部", "春_の_部");
        hashed("終わり.", "終わり");
        hashed("???", "round");
        hashed(".hidden", "hidden");
        hashed("..", "round");
        hashed("-rf", "rf");
        hashed("a\u{202e}b\0c", "a_b_c");
        hashed("", "round");
    }

    #[test]
    fn devices_of_windows_are_not_names() {
        for device in ["con", "prn", "aux", "nul", "com1", "lpt9", "com¹", "com0"] {
            hashed(device, device);
        }
        hashed("CON", "con");
        hashed("CON.txt", "con_txt");
        for harmless in ["con1", "com10", "console", "com", "nul-1"] {
            assert_eq!(folder_name(harmless), harmless);
        }
    }

    #[test]
    fn names_differ_where_a_disk_ignores_case_or_form() {
        assert_eq!(folder_name("a"), "a");
        hashed("A", "a");
        assert_ne!(folder_name("Straße"), folder_name("STRASSE"));
        assert_ne!(folder_name("がく"), folder_name("か\u{3099}く"), "composed and decomposed");
        // The hashed name of one title cannot be the plain name of another.
        let name = folder_name("A");
        assert_ne!(folder_name(&name), name);
    }

    #[test]
    fn long_titles_are_cut_between_characters() {
        for title in ["歌".repeat(85), "a".repeat(255), "é".repeat(127)] {
            let name = folder_name(&title);
            assert!(name.len() <= 96, "{name}");
            assert_ne!(name, folder_name(&format!("{title}b")));
        }
        assert_eq!(folder_name(&"歌".repeat(32)), "歌".repeat(32));
        hashed(&"歌".repeat(33), &"歌".repeat(28));
    }

    proptest! {
        #[test]
        fn no_two_titles_share_a_name(titles in prop::collection::btree_set(r"[aAkKſsßéE\u{301}\u{212a}Ⅰi１1か\u{3099}が:. _-]{0,4}", 0..40)) {
            let mut seen = BTreeMap::new();
            for title in titles {
                let name = folder_name(&title);
                prop_assert!(name.chars().all(is_safe_letter) && !name.starts_with(['_', '-']), "{}", name);
                // A disk that takes １ for 1 does not exist; case and normal form are what disks ignore.
                let seen_as = name.nfc().collect::<String>().to_uppercase().to_lowercase();
                if let Some(other) = seen.insert(seen_as, title.clone()) {
                    prop_assert!(false, "{other:?} and {title:?} are both {name:?}");
                }
            }
        }

        #[test]
        fn every_title_has_a_name_for_every_disk(title in any::<String>()) {
            let name = folder_name(&title);
            prop_assert!(name.len() <= 96 && !is_device(&as_seen(&name)));
            prop_assert!(name.chars().all(is_safe_letter) && !name.starts_with(['_', '-']), "{}", name);
            prop_assert_eq!(folder_name(&title), name);
        }
    }
}
