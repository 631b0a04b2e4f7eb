//! Methods of numbers.

use super::super::context::Context;
use super::super::number_text;
use super::super::value::{Outcome, Value};
use super::{Type, number_of, one, optional};

const NUMBER: &[Type] = &[Type::Number];

functions! { FUNCTIONS of Number:
    "abs"() -> Number, Plain(|_, value, _| Ok(Value::Number(value_as_number(value).abs()))): "Without its sign.";
    "ceil"() -> Number, Plain(|_, value, _| Ok(Value::Number(value_as_number(value).ceil()))): "Rounded up.";
    "floor"() -> Number, Plain(|_, value, _| Ok(Value::Number(value_as_number(value).floor()))): "Rounded down.";
    "isEmpty"() -> Bool, Plain(|_, value, _| Ok(Value::Bool(value.is_empty()))): "Whether it is not there.";
    "round"(optional("digits", NUMBER)) -> Number, Plain(round):
        "Rounded to whole numbers, or to as many decimal places as digits says; halves go up.";
    "toFixed"(one("precision", NUMBER)) -> Text, Plain(to_fixed):
        "As text with exactly as many decimal places as precision says.";
}

fn value_as_number(value: &Value) -> f64 {
    match value {
        Value::Number(number) => *number,
        _ => f64::NAN,
    }
}

fn round(_: &mut Context<'_>, value: &Value, args: &[Value]) -> Outcome {
    let number = value_as_number(value);
    let digits = number_of(args, 0).map_or(0, |digits| digits as i32);
    // Only powers of ten from 1 on are exact, and the same on every system.
    let factor = 10f64.powi(digits.unsigned_abs().min(308) as i32);
    let rounded = if digits >= 0 {
        number_text::rounded(number * factor) / factor
    } else {
        number_text::rounded(number / factor) * factor
    };
    // If the factor overflows, the number has no digits to round.
    Ok(Value::Number(if rounded.is_finite() { rounded } else { number }))
}

fn to_fixed(_: &mut Context<'_>, value: &Value, args: &[Value]) -> Outcome {
    let places = number_of(args, 0).unwrap_or(0.0).trunc();
    if !(0.0..=100.0).contains(&places) {
        return Err("toFixed() takes 0 to 100 decimal places".to_owned());
    }
    Ok(Value::text(number_text::fixed(value_as_number(value), places as usize)))
}
