//! Methods and fields of dates and durations.

use chrono::{DateTime, Datelike, FixedOffset, Timelike};

use crate::note::moment;

use super::super::context::Context;
use super::super::duration::Unit;
use super::super::value::{Date, Outcome, Value};
use super::{Code, Function, Type, one, text_of};

pub(super) const OF_DATES: &[Function] = &[
    Function::field(Type::Date, "year", Type::Number, "The year.", year),
    Function::field(Type::Date, "month", Type::Number, "The month, 1 to 12.", month),
    Function::field(Type::Date, "day", Type::Number, "The day of the month.", day),
    Function::field(Type::Date, "hour", Type::Number, "The hour, 0 to 23.", hour),
    Function::field(Type::Date, "minute", Type::Number, "The minute.", minute),
    Function::field(Type::Date, "second", Type::Number, "The second.", second),
    Function::field(Type::Date, "millisecond", Type::Number, "The millisecond.", millisecond),
    Function::method(
        Type::Date,
        "date",
        &[],
        Type::Date,
        "The day, without the time.",
        Code::Plain(without_time),
    ),
    Function::method(
        Type::Date,
        "format",
        &[one("format", &[Type::Text])],
        Type::Text,
        "As text, in a format of Moment.js: \"YYYY-MM-DD HH:mm\".",
        Code::Plain(format),
    ),
    Function::method(
        Type::Date,
        "isEmpty",
        &[],
        Type::Bool,
        "False: a date is there.",
        Code::Plain(is_empty),
    ),
    Function::method(
        Type::Date,
        "relative",
        &[],
        Type::Text,
        "How far from now: \"3 days ago\", \"in 2 months\".",
        Code::Plain(relative),
    ),
    Function::method(
        Type::Date,
        "time",
        &[],
        Type::Text,
        "The time as text: \"23:59:59\".",
        Code::Plain(time),
    ),
];

pub(super) const OF_DURATIONS: &[Function] = &[
    Function::field(Type::Duration, "years", Type::Number, "All of it, in years.", years),
    Function::field(Type::Duration, "months", Type::Number, "All of it, in months.", months),
    Function::field(Type::Duration, "weeks", Type::Number, "All of it, in weeks.", weeks),
    Function::field(Type::Duration, "days", Type::Number, "All of it, in days.", days),
    Function::field(Type::Duration, "hours", Type::Number, "All of it, in hours.", hours),
    Function::field(Type::Duration, "minutes", Type::Number, "All of it, in minutes.", minutes),
    Function::field(Type::Duration, "seconds", Type::Number, "All of it, in seconds.", seconds),
    Function::field(
        Type::Duration,
        "milliseconds",
        Type::Number,
        "All of it, in milliseconds.",
        milliseconds,
    ),
];

fn date(value: &Value) -> Date {
    match value {
        Value::Date(date) => *date,
        _ => Date { millis: 0, has_time: true },
    }
}

/// A field that reads a number from the local time.
fn number(
    context: &Context<'_>,
    value: &Value,
    of: impl Fn(&DateTime<FixedOffset>) -> i64,
) -> Outcome {
    let local = context.times().local(date(value).millis);
    Ok(Value::Number(of(&local) as f64))
}

fn year(context: &mut Context<'_>, value: &Value, _: &[Value]) -> Outcome {
    number(context, value, |local| local.year().into())
}

fn month(context: &mut Context<'_>, value: &Value, _: &[Value]) -> Outcome {
    number(context, value, |local| local.month().into())
}

fn day(context: &mut Context<'_>, value: &Value, _: &[Value]) -> Outcome {
    number(context, value, |local| local.day().into())
}

fn hour(context: &mut Context<'_>, value: &Value, _: &[Value]) -> Outcome {
    number(context, value, |local| local.hour().into())
}

fn minute(context: &mut Context<'_>, value: &Value, _: &[Value]) -> Outcome {
    number(context, value, |local| local.minute().into())
}

fn second(context: &mut Context<'_>, value: &Value, _: &[Value]) -> Outcome {
    number(context, value, |local| local.second().into())
}

fn millisecond(context: &mut Context<'_>, value: &Value, _: &[Value]) -> Outcome {
    number(context, value, |local| local.timestamp_subsec_millis().into())
}

fn without_time(context: &mut Context<'_>, value: &Value, _: &[Value]) -> Outcome {
    Ok(Value::Date(context.times().day(date(value))))
}

fn format(context: &mut Context<'_>, value: &Value, args: &[Value]) -> Outcome {
    let local = context.times().local(date(value).millis);
    let text = moment::format(&local, text_of(args, 0)).text;
    context.made_text(text)
}

fn is_empty(_: &mut Context<'_>, _: &Value, _: &[Value]) -> Outcome {
    Ok(Value::Bool(false))
}

fn relative(context: &mut Context<'_>, value: &Value, _: &[Value]) -> Outcome {
    Ok(Value::text(context.times().relative(date(value), context.now())))
}

fn time(context: &mut Context<'_>, value: &Value, _: &[Value]) -> Outcome {
    let local = context.times().local(date(value).millis);
    Ok(Value::text(local.format("%H:%M:%S").to_string()))
}

fn total(value: &Value, unit: Unit) -> Outcome {
    match value {
        Value::Duration(duration) => Ok(Value::Number(duration.total(unit))),
        _ => Ok(Value::Null),
    }
}

fn years(_: &mut Context<'_>, value: &Value, _: &[Value]) -> Outcome {
    total(value, Unit::Years)
}

fn months(_: &mut Context<'_>, value: &Value, _: &[Value]) -> Outcome {
    total(value, Unit::Months)
}

fn weeks(_: &mut Context<'_>, value: &Value, _: &[Value]) -> Outcome {
    total(value, Unit::Weeks)
}

fn days(_: &mut Context<'_>, value: &Value, _: &[Value]) -> Outcome {
    total(value, Unit::Days)
}

fn hours(_: &mut Context<'_>, value: &Value, _: &[Value]) -> Outcome {
    total(value, Unit::Hours)
}

fn minutes(_: &mut Context<'_>, value: &Value, _: &[Value]) -> Outcome {
    total(value, Unit::Minutes)
}

fn seconds(_: &mut Context<'_>, value: &Value, _: &[Value]) -> Outcome {
    total(value, Unit::Seconds)
}

fn milliseconds(_: &mut Context<'_>, value: &Value, _: &[Value]) -> Outcome {
    total(value, Unit::Milliseconds)
}
