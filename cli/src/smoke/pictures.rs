//! Whether pictures are what they say they are. They are decoded within the bounds that hold for collections.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use wakashu_indexer::picture::{Settings, decode_in_full, sniff};

/// Returns the pictures in a tool's result: media type and bytes of each.
pub(super) fn pictures(result: &Value) -> Result<Vec<(String, Vec<u8>)>, String> {
    let blocks = result.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let images = blocks.iter().filter(|block| block.get("type").is_some_and(|kind| kind == "image"));
    let text =
        |block: &Value, name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    images
        .map(|block| {
            let bytes =
                STANDARD.decode(text(block, "data")).map_err(|error| format!("not Base64: {error}"))?;
            Ok((text(block, "mimeType"), bytes))
        })
        .collect()
}

/// Decodes a picture in full, and compares its type with what is said of it.
pub(super) fn check(media: &str, bytes: &[u8]) -> Result<(), String> {
    let found = sniff(bytes).map_err(|problem| problem.to_string())?;
    if found.as_str() != media {
        return Err(format!("is called {media} and is {}", found.as_str()));
    }
    match decode_in_full(bytes, &Settings::default()) {
        Ok(None) => Ok(()),
        Ok(Some(damage)) => Err(damage.message().to_owned()),
        Err(problem) => Err(problem.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_picture_is_what_it_says_and_whole() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/wakashu_dir");
        let png = walk(std::path::Path::new(path)).unwrap();
        assert_eq!(check("image/png", &png), Ok(()));
        assert!(check("image/webp", &png).unwrap_err().contains("is called image/webp and is image/png"));
        assert!(check("image/png", &png[..png.len() / 2]).is_err());
        let result = json!({"content": [{"type": "text", "text": "a"}, {"type": "image", "mimeType": "image/png", "data": "AAA="}]});
        assert_eq!(pictures(&result), Ok(vec![("image/png".to_owned(), vec![0, 0])]));
        let broken = json!({"content": [{"type": "image", "data": "?"}]});
        assert!(pictures(&broken).is_err());
    }

    /// Returns the first PNG below a folder.
    fn walk(folder: &std::path::Path) -> Option<Vec<u8>> {
        let mut entries: Vec<_> =
            std::fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
        entries.sort();
        entries.iter().find_map(|path| match path.extension() {
            Some(extension) if extension == "png" => std::fs::read(path).ok(),
            _ if path.is_dir() => walk(path),
            _ => None,
        })
    }
}
