//! The shape of data, put together from typed pieces and written as a schema.

use crate::text::{Answer, field};

/// The shape of a value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Schema {
    /// Any text.
    Text,
    /// One of these words.
    Words(&'static [&'static str]),
    /// A whole number.
    Whole,
    /// `true` or `false`.
    Flag,
    /// An array of such values.
    List(&'static Schema),
    /// An object of such values, under names of their own.
    Map(&'static Schema),
    /// An object with these fields.
    Object(&'static [Field]),
    /// Such a value, or `null`.
    OrNull(&'static Schema),
}

/// A field of an object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    name: &'static str,
    schema: Schema,
    is_required: bool,
}

/// Returns a field that is always there.
pub(crate) const fn always(name: &'static str, schema: Schema) -> Field {
    Field { name, schema, is_required: true }
}

/// Returns a field that may be missing.
pub(crate) const fn sometimes(name: &'static str, schema: Schema) -> Field {
    Field { name, schema, is_required: false }
}

/// The language a schema is written in. They differ in how they say that a value may be `null`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// JSON Schema, as MCP has it.
    JsonSchema,
    /// OpenAPI 3.0.
    OpenApi,
}

impl Schema {
    /// Writes the schema.
    pub(crate) fn write(&self, out: &mut Answer, dialect: Dialect) {
        self.write_as(out, dialect, false);
    }

    fn write_as(&self, out: &mut Answer, dialect: Dialect, may_be_null: bool) {
        let name = match self {
            Self::OrNull(schema) => return schema.write_as(out, dialect, true),
            Self::Text | Self::Words(_) => "string",
            Self::Whole => "integer",
            Self::Flag => "boolean",
            Self::List(_) => "array",
            Self::Map(_) | Self::Object(_) => "object",
        };
        out.object(|out| {
            match (may_be_null, dialect) {
                (true, Dialect::JsonSchema) => field!(out, "type").strings([name, "null"]),
                (true, Dialect::OpenApi) => {
                    field!(out, "type").string(name);
                    field!(out, "nullable").boolean(true)
                }
                (false, _) => field!(out, "type").string(name),
            };
            self.write_inside(out, dialect);
        });
    }

    /// Writes what a schema says besides the type.
    fn write_inside(&self, out: &mut Answer, dialect: Dialect) {
        match self {
            Self::Words(words) => {
                field!(out, "enum").strings(*words);
            }
            Self::List(items) => items.write(field!(out, "items"), dialect),
            Self::Map(values) => values.write(field!(out, "additionalProperties"), dialect),
            Self::Object(fields) => {
                let required = fields.iter().filter(|field| field.is_required);
                field!(out, "required").strings(required.map(|field| field.name));
                field!(out, "properties").object(|out| {
                    for field in *fields {
                        field.schema.write(out.field_called(field.name), dialect);
                    }
                });
            }
            Self::Text | Self::Whole | Self::Flag | Self::OrNull(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_says_null_in_the_words_of_its_language() {
        const FIELDS: &[Field] =
            &[always("a", Schema::Words(&["x"])), sometimes("b", Schema::List(&Schema::Flag))];
        let written = |dialect| {
            let mut out = Answer::default();
            Schema::OrNull(&Schema::Object(FIELDS)).write(&mut out, dialect);
            out.into_text()
        };
        let inside = r#""required":["a"],"properties":{"a":{"type":"string","enum":["x"]},"b":{"type":"array","items":{"type":"boolean"}}}}"#;
        assert_eq!(written(Dialect::JsonSchema), format!(r#"{{"type":["object","null"],{inside}"#));
        assert_eq!(written(Dialect::OpenApi), format!(r#"{{"type":"object","nullable":true,{inside}"#));
    }
}
