//! Arguments as they are typed: `key=value` and `key:=json`.

use serde_json::{Map, Value};
use wakashu_client::server::Tool;

use super::Arguments;

/// Reads the arguments of a tool; what its schema says of each decides how it is read.
pub(super) fn for_tool(tool: &Tool, words: &[String]) -> anyhow::Result<Arguments> {
    read(words, |name, text| {
        let schema = tool.input_schema.get("properties").and_then(|properties| properties.get(name));
        typed(schema.and_then(|schema| schema.get("type")), text)
    })
}

/// Reads the arguments of a prompt, which are texts.
pub(super) fn for_prompt(prompt: &Value, words: &[String]) -> anyhow::Result<Arguments> {
    let arguments = read(words, |_, text| Value::String(text.to_owned()))?;
    let known = prompt.get("arguments").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    for argument in known {
        let name = argument.get("name").and_then(Value::as_str).unwrap_or_default();
        let is_required = argument.get("required") == Some(&Value::Bool(true));
        if is_required && !arguments.contains_key(name) {
            let what = argument.get("description").and_then(Value::as_str).unwrap_or_default();
            anyhow::bail!("the prompt needs `{name}=…`: {what}");
        }
    }
    Ok(arguments)
}

fn read(words: &[String], typed: impl Fn(&str, &str) -> Value) -> anyhow::Result<Arguments> {
    let mut arguments = Map::new();
    for word in words {
        let Some((name, text)) = word.split_once('=') else {
            anyhow::bail!("`{word}` is not an argument: write key=value, or key:=json");
        };
        let (name, value) = match name.strip_suffix(':') {
            Some(name) => {
                let value = serde_json::from_str(text)
                    .map_err(|error| anyhow::anyhow!("`{word}`: what follows `:=` is not JSON: {error}"))?;
                (name, value)
            }
            None => (name, typed(name, text)),
        };
        anyhow::ensure!(!name.is_empty(), "`{word}` has no name before `=`");
        anyhow::ensure!(arguments.insert(name.to_owned(), value).is_none(), "`{name}` is given twice");
    }
    Ok(arguments)
}

/// Reads a value as one of the types a schema names; what cannot be read as such stays text, and the tool's schema says
/// what is wrong with it.
fn typed(kinds: Option<&Value>, text: &str) -> Value {
    let kinds: Vec<&str> = match kinds {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if kinds.contains(&"string") {
        return Value::String(text.to_owned());
    }
    let is_wanted = |value: &Value| match value {
        Value::Null => kinds.contains(&"null"),
        Value::Bool(_) => kinds.contains(&"boolean"),
        Value::Number(_) => kinds.contains(&"integer") || kinds.contains(&"number"),
        Value::Array(_) => kinds.contains(&"array"),
        Value::Object(_) => kinds.contains(&"object"),
        Value::String(_) => false,
    };
    let read = serde_json::from_str(text).ok().filter(is_wanted);
    read.unwrap_or_else(|| Value::String(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_read_as_the_schema_says() {
        let schema = json!({"type": "object", "properties": {"title": {"type": "string"}, "rank": {"type": "integer"},
            "sure": {"type": "boolean"}, "ranks": {"type": "array"}, "any": {}}});
        let tool = Tool {
            name: "t".to_owned(),
            description: String::new(),
            version: String::new(),
            input_schema: schema,
            output_schema: None,
            definition: Value::Null,
        };
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let given = words(&[
            "title=1",
            "rank=1",
            "sure=true",
            "ranks=[1,2]",
            "any=1",
            "more:={\"a\":[null]}",
            "q=a=b",
        ]);
        assert_eq!(
            Value::Object(for_tool(&tool, &given).unwrap()),
            json!({"title": "1", "rank": 1, "sure": true, "ranks": [1, 2], "any": "1", "more": {"a": [null]}, "q": "a=b"})
        );
        assert_eq!(for_tool(&tool, &words(&["rank=first"])).unwrap()["rank"], "first");
        for (wrong, what) in [
            (&["title"] as &[&str], "key=value"),
            (&["a:=x"], "not JSON"),
            (&["=1"], "no name"),
            (&["a=1", "a:=1"], "twice"),
        ] {
            let error = for_tool(&tool, &words(wrong)).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
        let prompt = json!({"arguments": [{"name": "round", "required": true, "description": "which"}]});
        assert!(for_prompt(&prompt, &[]).unwrap_err().to_string().contains("`round=…`: which"));
        assert_eq!(for_prompt(&prompt, &words(&["round=1"])).unwrap()["round"], "1");
    }
}
