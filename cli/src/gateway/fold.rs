//! Servers whose tools are defined alike share one tool, which is told by an argument which of them is meant.

use serde_json::{Value, json};
use wakashu_wire::Raw;

use super::rewrite::{members, with_first, with_member};

/// The argument that says which server is meant.
pub(super) const SELECTOR: &str = "collection";

/// A server that shares a tool.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sharer<'a> {
    pub(super) server: &'a str,
    /// What people call it.
    pub(super) title: &'a str,
}

/// Returns what must be equal for two tools to be one: everything but what they say of themselves. `None` for one that
/// cannot be shared.
pub(super) fn likeness(definition: &str) -> Option<String> {
    let mut definition: Value = serde_json::from_str(definition).ok()?;
    let members = definition.as_object_mut()?;
    for words in ["title", "description"] {
        members.remove(words);
    }
    if definition
        .pointer("/inputSchema/properties")
        .is_some_and(|properties| properties.get(SELECTOR).is_some())
    {
        return None;
    }
    definition.pointer("/inputSchema/type").filter(|kind| *kind == "object")?;
    // Names in order: two servers may write them in another.
    let mut text = String::new();
    write_in_order(&definition, &mut text);
    Some(text)
}

fn write_in_order(value: &Value, out: &mut String) {
    match value {
        Value::Object(members) => {
            let mut names: Vec<&String> = members.keys().collect();
            names.sort_unstable();
            out.push('{');
            for name in names {
                out.push_str(&json!(name).to_string());
                out.push(':');
                write_in_order(members.get(name).unwrap_or(&Value::Null), out);
                out.push(',');
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for item in items {
                write_in_order(item, out);
                out.push(',');
            }
            out.push(']');
        }
        plain => out.push_str(&plain.to_string()),
    }
}

/// Returns the definition of a shared tool, made of that of the first who shares it.
pub(super) fn shared(definition: &str, name: &str, sharers: &[Sharer<'_>]) -> Option<String> {
    let tool = members(definition)?;
    let schema = tool.get("inputSchema")?;
    let parts = members(schema.get())?;
    let choices: Vec<&str> = sharers.iter().map(|sharer| sharer.server).collect();
    let meaning: Vec<String> =
        sharers.iter().map(|sharer| format!("{}: {}", sharer.server, sharer.title)).collect();
    let selector = json!({"type": "string", "enum": choices, "description": meaning.join("; ")});
    let selector = format!("{}:{selector}", json!(SELECTOR));
    let properties = with_first(parts.get("properties").map_or("{}", Raw::get), &selector);
    let required = with_first(parts.get("required").map_or("[]", Raw::get), &json!(SELECTOR).to_string());
    let schema = with_member(schema.get(), "properties", &properties)?;
    let schema = with_member(&schema, "required", &required)?;
    let changed = with_member(definition, "name", &json!(name).to_string())?;
    let changed = with_member(&changed, "inputSchema", &schema)?;
    let Some(description) = tool.string("description") else { return Some(changed) };
    let own = sharers.first().map(|sharer| sharer.title).filter(|title| !title.is_empty());
    // What is said of one is not said of the others.
    let description =
        own.map_or_else(|| description.to_string(), |title| description.replace(title, SELECTOR));
    with_member(&changed, "description", &json!(description).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const POEM: &str = r#"{"name":"get_poem","description":"「桜」の歌","inputSchema":{"type":"object","properties":{"rank":{"type":"integer","maximum":1.00}},"required":["rank"]}}"#;

    #[test]
    fn tools_are_alike_whatever_they_say_of_themselves() {
        let other = r#"{"inputSchema":{"required":["rank"],"type":"object","properties":{"rank":{"maximum":1.00,"type":"integer"}}},"description":"「月」の歌","name":"get_poem"}"#;
        assert_eq!(likeness(POEM), likeness(other));
        assert_ne!(likeness(POEM), likeness(&POEM.replace("rank", "place")));
        assert_eq!(likeness(&POEM.replace("rank", "collection")), None);
        assert_eq!(likeness("[]"), None);
    }

    #[test]
    fn a_shared_tool_asks_which() {
        let sharers = [Sharer { server: "a", title: "桜" }, Sharer { server: "b", title: "月" }];
        assert_eq!(
            shared(POEM, "get_poem", &sharers).unwrap(),
            r#"{"name":"get_poem","description":"「collection」の歌","inputSchema":{"type":"object","properties":{"collection":{"description":"a: 桜; b: 月","enum":["a","b"],"type":"string"},"rank":{"type":"integer","maximum":1.00}},"required":["collection","rank"]}}"#
        );
        let plain = r#"{"name":"t","inputSchema":{"type":"object"}}"#;
        assert!(shared(plain, "t", &sharers).unwrap().contains(r#""required":["collection"]"#));
    }
}
