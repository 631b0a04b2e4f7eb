//! Obsidian's fifteen summaries of a column. Range counts twice, for numbers and for dates.

use super::super::value::{Duration, Value};
use super::Compare;

/// Their names in bases.
pub const NAMES: [&str; 14] = [
    "Average",
    "Min",
    "Max",
    "Sum",
    "Range",
    "Median",
    "Stddev",
    "Earliest",
    "Latest",
    "Checked",
    "Unchecked",
    "Empty",
    "Filled",
    "Unique",
];

impl Compare<'_> {
    /// The value of a summary, by its name in any case, over all values of a column. Values of unsuitable types are
    /// left out; null if none is left. `None` if there is no such summary.
    pub fn summary(&self, name: &str, values: &[Value]) -> Option<Value> {
        let name = NAMES.into_iter().find(|known| known.eq_ignore_ascii_case(name))?;
        let numbers = || numbers(values);
        let count = |is: &dyn Fn(&Value) -> bool| {
            Some(Value::Number(values.iter().filter(|value| is(value)).count() as f64))
        };
        let number = |number: Option<f64>| Some(number.map_or(Value::Null, Value::Number));
        match name {
            "Average" => number(mean(&numbers())),
            "Min" => number(numbers().into_iter().reduce(f64::min)),
            "Max" => number(numbers().into_iter().reduce(f64::max)),
            "Sum" => number(Some(sum(&numbers()))),
            "Range" => Some(range(&numbers(), &dates(values))),
            "Median" => number(median(numbers())),
            "Stddev" => number(deviation(&numbers())),
            "Earliest" => Some(date(values, |a, b| a < b)),
            "Latest" => Some(date(values, |a, b| a > b)),
            "Checked" => count(&|value| matches!(value, Value::Bool(true))),
            "Unchecked" => count(&|value| matches!(value, Value::Bool(false))),
            "Empty" => count(&Value::is_empty),
            "Filled" => count(&|value| !value.is_empty()),
            _ => Some(Value::Number(self.distinct(values) as f64)),
        }
    }

    /// The number of distinct values, without empty ones.
    fn distinct(&self, values: &[Value]) -> usize {
        let filled = values.iter().filter(|value| !value.is_empty());
        let written = filled.map(|value| (value.type_name(), self.text(value).unwrap_or_default()));
        written.collect::<std::collections::HashSet<_>>().len()
    }
}

fn numbers(values: &[Value]) -> Vec<f64> {
    let number = |value: &Value| match value {
        Value::Number(number) => Some(*number),
        _ => None,
    };
    values.iter().filter_map(number).collect()
}

fn dates(values: &[Value]) -> Vec<i64> {
    let millis = |value: &Value| match value {
        Value::Date(date) => Some(date.millis),
        _ => None,
    };
    values.iter().filter_map(millis).collect()
}

fn sum(numbers: &[f64]) -> f64 {
    // The iterator's sum of no numbers is -0.
    numbers.iter().fold(0.0, |sum, number| sum + number)
}

fn mean(numbers: &[f64]) -> Option<f64> {
    (!numbers.is_empty()).then(|| sum(numbers) / numbers.len() as f64)
}

fn median(mut numbers: Vec<f64>) -> Option<f64> {
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    let upper = *numbers.get(middle)?;
    Some(if numbers.len() % 2 == 1 { upper } else { (numbers[middle - 1] + upper) / 2.0 })
}

/// The population standard deviation.
fn deviation(numbers: &[f64]) -> Option<f64> {
    let mean = mean(numbers)?;
    let squares: Vec<f64> = numbers.iter().map(|number| (number - mean).powi(2)).collect();
    Some((sum(&squares) / numbers.len() as f64).sqrt())
}

fn range(numbers: &[f64], dates: &[i64]) -> Value {
    let (least, most) = (f64::min as fn(f64, f64) -> f64, f64::max as fn(f64, f64) -> f64);
    let ends = |numbers: &[f64]| {
        Some((numbers.iter().copied().reduce(least)?, numbers.iter().copied().reduce(most)?))
    };
    if let Some((least, most)) = ends(numbers) {
        return Value::Number(most - least);
    }
    match (dates.iter().min(), dates.iter().max()) {
        (Some(first), Some(last)) => Value::Duration(Duration {
            millis: *last as f64 - *first as f64,
            ..Duration::default()
        }),
        _ => Value::Null,
    }
}

fn date(values: &[Value], is_before: fn(i64, i64) -> bool) -> Value {
    let dates = values.iter().filter_map(|value| match value {
        Value::Date(date) => Some(*date),
        _ => None,
    });
    dates
        .reduce(|a, b| if is_before(b.millis, a.millis) { b } else { a })
        .map_or(Value::Null, Value::Date)
}
