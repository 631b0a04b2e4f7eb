//! Methods and fields of dates and durations.

use chrono::{DateTime, Datelike, FixedOffset, Timelike};

use crate::note::moment;

use super::super::context::Context;
use super::super::duration::Unit;
use super::super::value::{Date, Outcome, Value};
use super::{Type, one, text_of};

functions! { OF_DATES of Date:
    "year" -> Number, Plain(|context, value, _| part(context, value, Datelike::year)): "The year.";
    "month" -> Number,
        Plain(|context, value, _| part(context, value, Datelike::month)): "The month, 1 to 12.";
    "day" -> Number, Plain(|context, value, _| part(context, value, Datelike::day)): "The day of the month.";
    "hour" -> Number, Plain(|context, value, _| part(context, value, Timelike::hour)): "The hour, 0 to 23.";
    "minute" -> Number, Plain(|context, value, _| part(context, value, Timelike::minute)): "The minute.";
    "second" -> Number, Plain(|context, value, _| part(context, value, Timelike::second)): "The second.";
    "millisecond" -> Number,
        Plain(|context, value, _| part(context, value, DateTime::timestamp_subsec_millis)): "The millisecond.";
    "date"() -> Date, Plain(|context, value, _| Ok(Value::Date(context.times().day(date(value))))):
        "The day, without the time.";
    "format"(one("format", &[Type::Text])) -> Text, Plain(format):
        "As text, in a format of Moment.js: \"YYYY-MM-DD HH:mm\".";
    "isEmpty"() -> Bool, Plain(|_, _, _| Ok(Value::Bool(false))): "False: a date is there.";
    "relative"() -> Text,
        Plain(|context, value, _| Ok(Value::text(context.times().relative(date(value), context.now())))):
        "How far from now: \"3 days ago\", \"in 2 months\".";
    "time"() -> Text, Plain(time): "The time as text: \"23:59:59\".";
}

functions! { OF_DURATIONS of Duration:
    "years" -> Number, Plain(|_, value, _| total(value, Unit::Years)): "All of it, in years.";
    "months" -> Number, Plain(|_, value, _| total(value, Unit::Months)): "All of it, in months.";
    "weeks" -> Number, Plain(|_, value, _| total(value, Unit::Weeks)): "All of it, in weeks.";
    "days" -> Number, Plain(|_, value, _| total(value, Unit::Days)): "All of it, in days.";
    "hours" -> Number, Plain(|_, value, _| total(value, Unit::Hours)): "All of it, in hours.";
    "minutes" -> Number, Plain(|_, value, _| total(value, Unit::Minutes)): "All of it, in minutes.";
    "seconds" -> Number, Plain(|_, value, _| total(value, Unit::Seconds)): "All of it, in seconds.";
    "milliseconds" -> Number, Plain(|_, value, _| total(value, Unit::Milliseconds)):
        "All of it, in milliseconds.";
}

fn date(value: &Value) -> Date {
    match value {
        Value::Date(date) => *date,
        _ => Date { millis: 0, has_time: true },
    }
}

fn part<N: Into<i64>>(
    context: &Context<'_>,
    value: &Value,
    of: impl Fn(&DateTime<FixedOffset>) -> N,
) -> Outcome {
    let local = context.times().local(date(value).millis);
    Ok(Value::Number(of(&local).into() as f64))
}

fn format(context: &mut Context<'_>, value: &Value, args: &[Value]) -> Outcome {
    let local = context.times().local(date(value).millis);
    let text = moment::format(&local, text_of(args, 0)).text;
    context.made_text(text)
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
