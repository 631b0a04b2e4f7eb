//! Validates the arguments against the tool's JSON Schema.

use super::Layer;
use crate::note::code::ErrorCode;
use crate::policy::call::{Call, Refusal, Verdict};
use crate::policy::schema;

pub(super) struct Input;

impl Layer for Input {
    fn name(&self) -> &'static str {
        "input"
    }

    fn admit(&self, call: &Call) -> Verdict {
        match schema::check(call.schema, call.arguments) {
            Ok(()) => Verdict::Pass,
            Err(fault) => Verdict::Refuse(Refusal {
                layer: self.name(),
                code: ErrorCode::InvalidInput,
                reason: format!("the arguments of `{}` do not fit: {fault}", call.tool),
                hint: Some(schema::takes(call.schema)),
            }),
        }
    }
}
