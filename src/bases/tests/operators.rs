//! Operators, also with null and errors as operands.

use serde_json::json;

use super::all;

#[test]
fn truth() {
    all(&[
        ("!null && !0 && !\"\" && ![] && !missing && !(0 / 0)", json!(true)),
        ("!!\"0\" && !![null] && !!(-1) && !!nested", json!(true)),
        (r#"!number("x")"#, json!(true)),
        (r#"number("x") || "a""#, json!(true)),
        (r#""a" && 1"#, json!(true)),
        (r#"true || number("x")"#, json!(true)),
    ]);
}

#[test]
fn equality() {
    all(&[
        (r#""a" == "A""#, json!(false)),
        (r#"1 == "1""#, json!(false)),
        ("missing == null && missing != 1", json!(true)),
        ("[1, [2]] == [1, [2]] && [1] != [2]", json!(true)),
        (r#"other == link("Other.md#Part") && other == file("Other")"#, json!(true)),
        (r#"link("Other.md") == link("Other") && link("No") != link("No.md")"#, json!(true)),
        (r#"other == "Other" && other == "[[Other]]" && other != "Else""#, json!(true)),
        (r#"people.contains(file("Other")) && people.contains(link("Other"))"#, json!(true)),
        (r#"Due == "2026-12-01" && Due == date("2026-12-01") && Due != "x""#, json!(true)),
        (r#"now() + "1d" - now() == 86400000"#, json!(true)),
        ("note == note && file == file && file != 1", json!(true)),
        (r#"(number("x") == 1).isTruthy()"#, json!("error")),
    ]);
}

#[test]
fn order() {
    all(&[
        (r#""b" > "a" && "B" < "a" && 2 > 1 && 2 >= 2"#, json!(true)),
        (r#"Due > now() && Due > "2026-11-01" && "2026-11-01" < Due"#, json!(true)),
        (r#"price > "3" && price < "20""#, json!(true)),
        (r#"price > "abc" || price < "abc" || price > null || missing < 1"#, json!(false)),
        (r#"now() - file.mtime > "1d" && now() - file.mtime > 86400000"#, json!(true)),
        (r#"duration("1d") < duration("25h") && duration("60m") == duration("1h")"#, json!(true)),
        ("true < false", json!("error")),
        ("[1] < 2", json!("error")),
        ("now() < 2", json!("error")),
    ]);
}

#[test]
fn arithmetic() {
    all(&[
        ("1 + 2 * 3 - -4", json!(11)),
        ("7 / 2", json!(3.5)),
        ("-7 % 4", json!(-3)),
        ("(1 / 0).toString()", json!("Infinity")),
        (r#"1 + "a" + null + true"#, json!("1atrue")),
        ("1 + missing", json!(null)),
        ("missing * 2 - 1", json!(null)),
        ("[1] + [2]", json!([1, 2])),
        ("1 + true", json!("error")),
        (r#""5" * 2"#, json!("error")),
        (r#"Due + "1M""#, json!("2027-01-01")),
        (r#"Due + "12h""#, json!("2026-12-01T12:00:00")),
        (r#"date("2024-12-01") + "1M" + "4h" + "3m""#, json!("2025-01-01T04:03:00")),
        (r#"Due - duration("1w")"#, json!("2026-11-24")),
        (r#""due " + Due"#, json!("due 2026-12-01")),
        (r#"Due + " is due""#, json!("2026-12-01 is due")),
        (r#"Due - today()"#, json!("7 days")),
        (r#"(Due - today()) / 86400000 < 8"#, json!(true)),
        (r#"2 * duration("1h")"#, json!("error")),
        (r#"duration("1h") * 2 + "30m""#, json!("3 hours")),
        (r#"-duration("1h") < 0"#, json!(true)),
        ("-missing", json!(null)),
        (r#"-"a""#, json!("error")),
    ]);
}

#[test]
fn names() {
    all(&[
        ("Status + note.status + note[\"status\"]", json!("openopenopen")),
        (r#"note["due-date"]"#, json!("x")),
        ("note[\"sta\" + \"tus\"]", json!("open")),
        ("this.file", json!(null)),
        ("formula.nothing", json!("error")),
    ]);
}
