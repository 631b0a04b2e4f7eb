//! The values of a workflow's expressions: expressions of Bases, with `inputs`, `steps` and `item` in place of a note's
//! properties.

use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::Slot;
use crate::bases::ast::Expression;
use crate::bases::date::Zone;
use crate::bases::eval::Prepared;
use crate::bases::source::{Column, Source};
use crate::bases::template::Template;
use crate::bases::value::{FileId, Object, Text, Value};
use crate::bases::{Evaluator, Scope};

/// The names in expressions of a workflow, by column.
pub const NAMES: [&str; 3] = ["inputs", "steps", "item"];

/// The one row that expressions are evaluated for.
const ROW: FileId = FileId(0);

/// The names that expressions can read.
pub struct Values<'a> {
    pub inputs: Value,
    /// By step: `data`, `text`, `state`, `error`.
    pub steps: Value,
    pub item: Value,
    /// The value of `now()`: milliseconds since 1970.
    pub now: i64,
    pub zone: &'a dyn Zone,
}

debug_only!(Values<'_>, now);

impl Values<'_> {
    pub fn holds(&self, condition: &Arc<Expression>) -> Result<bool, String> {
        match self.evaluator().value(&Prepared::new(condition, self)) {
            Value::Error(error) => Err(format!("`{}`: {}", condition.source, error.message)),
            value => Ok(value.is_true()),
        }
    }

    /// Fills in the templates of a value. A text that consists of one expression keeps the type of its value; where
    /// that is null the key is omitted, so that an argument gets its default.
    pub fn fill(&self, slot: &Slot) -> Result<Json, String> {
        match slot {
            Slot::Value(value) => Ok(value.clone()),
            Slot::Template(template) => {
                let mut evaluator = self.evaluator();
                match template.expressions().next().filter(|_| template.is_value()) {
                    None => template
                        .prepare(self)
                        .text(&mut evaluator)
                        .map(Json::String)
                        .map_err(|error| error.to_string()),
                    Some((expression, _)) => {
                        match evaluator.value(&Prepared::new(expression, self)) {
                            Value::Error(error) => {
                                Err(format!("`{}`: {}", expression.source, error.message))
                            }
                            value => Ok(evaluator.compare().json(&value)),
                        }
                    }
                }
            }
            Slot::List(items) => {
                items.iter().map(|item| self.fill(item)).collect::<Result<_, _>>().map(Json::Array)
            }
            Slot::Object(entries) => {
                let mut object = Map::new();
                for (key, slot) in entries {
                    let value = self.fill(slot)?;
                    if !value.is_null() || matches!(slot, Slot::Value(_)) {
                        object.insert(key.clone(), value);
                    }
                }
                Ok(Json::Object(object))
            }
        }
    }

    pub fn text(&self, template: &Template) -> Result<String, String> {
        template.prepare(self).text(&mut self.evaluator()).map_err(|error| error.to_string())
    }

    fn evaluator(&self) -> Evaluator<'_> {
        let mut evaluator = Evaluator::new(Scope {
            source: self,
            now: self.now,
            zone: self.zone,
            this: None,
            seed: self.now.cast_unsigned(),
            formulas: &[],
        });
        evaluator.begin(Some(ROW));
        evaluator
    }
}

/// JSON as a value. Texts stay texts; `date(…)` and `link(…)` convert them.
pub fn of_json(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => Value::Number(number.as_f64().unwrap_or(f64::NAN)),
        Json::String(text) => Value::text(text.as_str()),
        Json::Array(items) => Value::List(items.iter().map(of_json).collect()),
        Json::Object(map) => {
            let entries = map.iter().map(|(key, value)| (Text::from(key.as_str()), of_json(value)));
            Value::Object(Arc::new(Object(entries.collect())))
        }
    }
}

/// A source of one row without a file, whose properties are the names that a workflow binds.
impl Source for Values<'_> {
    fn files(&self) -> Box<dyn Iterator<Item = FileId> + '_> {
        Box::new(std::iter::empty())
    }

    fn path(&self, _: FileId) -> Text {
        "".into()
    }

    fn column(&self, name: &str) -> Option<Column> {
        NAMES.iter().position(|known| *known == name).map(|at| Column(at as u32))
    }

    fn property(&self, _: FileId, column: Column) -> Value {
        match column.0 {
            0 => self.inputs.clone(),
            1 => self.steps.clone(),
            _ => self.item.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::bases::template::Purpose;

    fn value(source: &str) -> Json {
        let values = Values {
            inputs: of_json(&json!({ "folder": "In box", "limit": null })),
            steps: of_json(
                &json!({ "find": { "data": { "rows": [{ "path": "a.md" }], "total": 2.5 } } }),
            ),
            item: of_json(&json!("[[x]]")),
            now: 0,
            zone: &chrono::Utc,
        };
        let template =
            Template::parse(&format!("{{{{{source}}}}}"), Purpose::Text).expect("a template");
        values.fill(&Slot::Template(template)).unwrap_or_else(|error| json!({ "error": error }))
    }

    #[test]
    fn an_expression_reads_inputs_and_steps() {
        assert_eq!(value("inputs.folder + '/x'"), "In box/x");
        assert_eq!(value("steps.find.data.rows.map(value.path)"), json!(["a.md"]));
        assert_eq!(value("steps.find.data.total"), json!(2.5));
        assert_eq!(value("steps.gone.data"), Json::Null);
        assert_eq!(value("item"), "[[x]]");
        assert_eq!(value("now().format('YYYY')"), "1970");
    }
}
