//! Parameters and results held against a tool's schemas. A `$ref` to anywhere else is never fetched.

use serde_json::Value;

use crate::error::{Error, ErrorCode, Result};

/// The most faults named in one message.
const MOST_FAULTS: usize = 5;

/// A schema, compiled once.
#[derive(Debug)]
pub struct Schema {
    validator: jsonschema::Validator,
}

impl Schema {
    /// Compiles a schema; `None`, with a line in the log, if it cannot be: then the server is the only judge.
    #[must_use]
    pub fn compile(tool: &str, schema: &Value) -> Option<Self> {
        match jsonschema::options().build(schema) {
            Ok(validator) => Some(Self { validator }),
            Err(problem) => {
                tracing::warn!(tool, %problem, "a schema cannot be used; its values are not checked");
                None
            }
        }
    }

    /// Checks a value; `what` names it in the message.
    pub fn check(&self, what: &str, value: &Value, code: ErrorCode) -> Result<()> {
        let faults: Vec<String> = self
            .validator
            .iter_errors(value)
            .take(MOST_FAULTS)
            .map(|fault| {
                let place = fault.instance_path().to_string();
                if place.is_empty() { fault.to_string() } else { format!("{place}: {fault}") }
            })
            .collect();
        if faults.is_empty() {
            return Ok(());
        }
        Err(Error::unsent(code, format!("invalid {what}: {}", faults.join("; "))))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_fault_is_named_with_its_place() {
        let schema = json!({"type": "object", "required": ["round"], "additionalProperties": false,
            "properties": {"round": {"type": "string"}, "ranks": {"type": "array", "items": {"type": "integer"}}}});
        let schema = Schema::compile("t", &schema).unwrap();
        schema
            .check("parameters", &json!({"round": "第1回", "ranks": [1]}), ErrorCode::InvalidParams)
            .unwrap();
        let error = schema
            .check("parameters", &json!({"ranks": [1, "x"], "more": 1}), ErrorCode::InvalidParams)
            .unwrap_err();
        assert_eq!((error.code, error.never_sent), (ErrorCode::InvalidParams, true));
        for part in ["/ranks/1: ", "round", "more"] {
            assert!(error.message.contains(part), "{error}");
        }
    }

    #[test]
    fn a_reference_to_elsewhere_is_not_fetched() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        for reference in [format!("http://{address}/schema.json"), "file:///etc/hostname".to_owned()] {
            assert!(Schema::compile("t", &json!({"properties": {"a": {"$ref": reference}}})).is_none());
        }
        assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
        let local = json!({"$defs": {"a": {"type": "string"}}, "properties": {"a": {"$ref": "#/$defs/a"}}});
        let local = Schema::compile("t", &local).unwrap();
        assert!(local.check("parameters", &json!({"a": 1}), ErrorCode::InvalidParams).is_err());
    }
}
