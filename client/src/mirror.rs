//! Arguments of tools that are repeated in headers: `x-mcp-header` in a tool's input schema.
//!
//! A client must repeat what a schema marks, and must leave tools alone whose marks break the rules: on something that
//! is not a plain value, under a name no header can have, twice, or where arguments cannot be found by their names.

use std::collections::HashSet;

use bytes::Bytes;
use http::{HeaderName, HeaderValue};
use memchr::memmem;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use wakashu_wire::era;

use crate::link::Answer;
use crate::rules::Rules;

const MARK: &str = "x-mcp-header";
const PREFIX: &str = "mcp-param-";

/// Which arguments of a tool are repeated in which headers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mirror {
    fields: Vec<(HeaderName, Vec<String>)>,
}

impl Mirror {
    /// Reads the marks of an input schema; says what is wrong with them.
    pub fn of_schema(schema: &Value) -> Result<Self, String> {
        let mut mirror = Self::default();
        let mut names = HashSet::new();
        mirror.read(schema, &mut Vec::new(), true, &mut names)?;
        Ok(mirror)
    }

    /// Tells whether nothing is repeated.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Returns the headers for these arguments. What is absent or `null` has none.
    #[must_use]
    pub fn headers(&self, arguments: &Value) -> Vec<(HeaderName, HeaderValue)> {
        let headers = self.fields.iter().filter_map(|(name, path)| {
            let value = path.iter().try_fold(arguments, |value, step| value.get(step))?;
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Bool(truth) => truth.to_string(),
                Value::Number(number) => whole(number)?,
                _ => return None,
            };
            Some((name.clone(), HeaderValue::from_str(&era::encode_value(&text)).ok()?))
        });
        headers.collect()
    }

    fn read(
        &mut self,
        schema: &Value,
        path: &mut Vec<String>,
        is_reachable: bool,
        names: &mut HashSet<HeaderName>,
    ) -> Result<(), String> {
        let schema = match schema {
            Value::Object(schema) => schema,
            Value::Array(schemas) => {
                return schemas.iter().try_for_each(|schema| self.read(schema, path, false, names));
            }
            _ => return Ok(()),
        };
        if let Some(mark) = schema.get(MARK) {
            let place = path.join(".");
            if !is_reachable || path.is_empty() {
                return Err(format!("`{MARK}` where no argument can be found by its name, at `{place}`"));
            }
            let name = header_name(mark)
                .ok_or_else(|| format!("`{MARK}` at `{place}` is not the name of a header"))?;
            if !matches!(schema.get("type").and_then(Value::as_str), Some("string" | "integer" | "boolean")) {
                return Err(format!(
                    "`{MARK}` at `{place}`, which is neither string nor integer nor boolean"
                ));
            }
            if !names.insert(name.clone()) {
                return Err(format!("`{MARK}` names `{mark}` twice"));
            }
            self.fields.push((name, path.clone()));
        }
        for (keyword, value) in schema {
            match keyword.as_str() {
                "properties" => {
                    for (name, property) in value.as_object().into_iter().flatten() {
                        path.push(name.clone());
                        self.read(property, path, is_reachable, names)?;
                        path.pop();
                    }
                }
                // What these hold are no schemas.
                "enum" | "const" | "default" | "examples" | MARK => {}
                "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => {
                    for schema in value.as_object().into_iter().flat_map(Map::values) {
                        self.read(schema, path, false, names)?;
                    }
                }
                _ => self.read(value, path, false, names)?,
            }
        }
        Ok(())
    }
}

fn header_name(mark: &Value) -> Option<HeaderName> {
    let mark = mark.as_str().filter(|mark| !mark.is_empty())?;
    HeaderName::try_from(format!("{PREFIX}{mark}")).ok()
}

fn whole(number: &serde_json::Number) -> Option<String> {
    if number.is_i64() || number.is_u64() {
        return Some(number.to_string());
    }
    // `42.0` is an integer to JSON Schema.
    let number =
        number.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0)?;
    Some(format!("{number:.0}"))
}

/// Takes the tools with broken marks, and those that may not be run, out of the answer to a `tools/list`. Returns the
/// answer, in which every tool that is left reads as it did, and the marks of those tools that have any, by their names.
/// Almost all answers have none and are not even parsed.
#[must_use]
pub fn sift_tools(answer: Answer, rules: &Rules) -> (Answer, Vec<(String, Mirror)>) {
    #[derive(Deserialize)]
    struct Page<'a> {
        #[serde(borrow)]
        tools: Vec<&'a RawValue>,
    }
    #[derive(Deserialize)]
    struct Definition {
        name: String,
        #[serde(rename = "inputSchema", default)]
        input_schema: Value,
    }
    let Some(span) = answer.envelope.result() else { return (answer, Vec::new()) };
    let result = answer.message.slice(span.clone()).into_bytes();
    if rules.is_empty() && memmem::find(&result, MARK.as_bytes()).is_none() {
        return (answer, Vec::new());
    }
    let Ok(page) = serde_json::from_slice::<Page<'_>>(&result) else { return (answer, Vec::new()) };
    let (mut kept, mut mirrors) = (Vec::new(), Vec::new());
    for tool in &page.tools {
        let Ok(definition) = serde_json::from_str::<Definition>(tool.get()) else {
            // What it is, the host may judge.
            kept.push(tool.get());
            continue;
        };
        if !rules.allow(&definition.name) {
            continue;
        }
        match Mirror::of_schema(&definition.input_schema) {
            Ok(mirror) => {
                kept.push(tool.get());
                if !mirror.is_empty() {
                    mirrors.push((definition.name, mirror));
                }
            }
            Err(problem) => tracing::warn!(tool = definition.name, "left out a tool: {problem}"),
        }
    }
    let edges = page.tools.first().zip(page.tools.last());
    let Some((first, last)) = edges.filter(|_| kept.len() < page.tools.len()) else {
        return (answer, mirrors);
    };
    let start = first.get().as_ptr().addr() - result.as_ptr().addr();
    let end = last.get().as_ptr().addr() + last.get().len() - result.as_ptr().addr();
    let message = answer.message.replace(span.start + start..span.start + end, Bytes::from(kept.join(",")));
    match message.scan() {
        Ok(envelope) => (Answer { message, envelope }, mirrors),
        Err(_) => (answer, mirrors),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::chain::Chain;

    #[test]
    fn marked_arguments_are_repeated_in_headers() {
        let schema = json!({"type": "object", "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "options": {"type": "object", "properties": {"limit": {"type": "integer", "x-mcp-header": "Limit"}}},
            "sure": {"type": "boolean", "x-mcp-header": "Sure"},
            "gone": {"type": "string", "x-mcp-header": "Gone"},
            "none": {"type": "string", "x-mcp-header": "None"},
            "x-mcp-header": {"type": "string"},
            "plain": {"enum": [{"x-mcp-header": "no schema"}]},
        }});
        let mirror = Mirror::of_schema(&schema).unwrap();
        let arguments =
            json!({"region": "第1回", "options": {"limit": 42.0}, "sure": false, "none": null, "plain": "a"});
        let mut headers: Vec<String> = mirror
            .headers(&arguments)
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect();
        headers.sort();
        assert_eq!(
            headers,
            ["mcp-param-limit: 42", "mcp-param-region: =?base64?56ysMeWbng==?=", "mcp-param-sure: false"]
        );
    }

    #[test]
    fn broken_marks_are_found() {
        for (property, problem) in [
            (json!({"type": "string", "x-mcp-header": ""}), "not the name"),
            (json!({"type": "string", "x-mcp-header": "a b"}), "not the name"),
            (json!({"type": "string", "x-mcp-header": 7}), "not the name"),
            (json!({"type": "number", "x-mcp-header": "A"}), "neither string"),
            (json!({"type": "object", "x-mcp-header": "A"}), "neither string"),
            (json!({"x-mcp-header": "A"}), "neither string"),
            (json!({"type": "array", "items": {"type": "string", "x-mcp-header": "A"}}), "where no argument"),
            (json!({"anyOf": [{"type": "string", "x-mcp-header": "A"}]}), "where no argument"),
            (json!({"$defs": {"a": {"type": "string", "x-mcp-header": "A"}}}), "where no argument"),
            (json!({"type": "string", "x-mcp-header": "TWICE"}), "twice"),
        ] {
            let other = json!({"type": "string", "x-mcp-header": "Twice"});
            let schema = json!({"properties": {"a": property, "z": other}});
            let found = Mirror::of_schema(&schema).unwrap_err();
            assert!(found.contains(problem), "{schema}: {found}");
        }
    }

    #[test]
    fn only_broken_tools_are_taken_out_and_the_others_stay_as_they_were() {
        let sift_by = |json: &str, rules: &Rules| {
            let message = Chain::from(json.to_owned());
            let envelope = message.scan().unwrap();
            let (answer, mirrors) = sift_tools(Answer { message, envelope }, rules);
            (String::from_utf8(answer.message.into_bytes().to_vec()).unwrap(), mirrors.len())
        };
        let sift = |json: &str| sift_by(json, &Rules::default());
        let good = r#"{"name":"a", "inputSchema":{"properties":{"x":{"type":"string","x-mcp-header":"X"}}},"n":1.0}"#;
        let bad = r#"{"name":"b","inputSchema":{"properties":{"x":{"type":"number","x-mcp-header":"X"}}}}"#;
        let list = |tools: &[&str]| {
            format!(r#"{{"id":1,"result":{{ "tools":[ {} ],"ttlMs":0}}}}"#, tools.join(" , "))
        };
        assert_eq!(sift(&list(&[good, good])), (list(&[good, good]), 2));
        assert_eq!(sift(&list(&[bad, good, bad])), (list(&[good]), 1));
        assert_eq!(sift(&list(&[bad])), (list(&[""]), 0));
        let rules = Rules { allow: Vec::new(), deny: vec!["s*".to_owned()] };
        let (plain, shell) = (r#"{"name":"plain" }"#, r#"{"name":"shell"}"#);
        assert_eq!(sift_by(&list(&[plain, shell]), &rules), (list(&[plain]), 0));
    }
}
