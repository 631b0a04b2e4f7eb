//! The functions and fields of Bases in the manual: generated from the table that the evaluator
//! uses.

use std::fmt::Write as _;

use vault_steward::bases::functions::{self, Function, Param, Type};

const BEGIN: &str = "<!-- functions: begin -->\n";
const END: &str = "<!-- functions: end -->";

#[test]
fn types_and_functions_of_the_manual_are_fresh() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/query.md");
    let page = std::fs::read_to_string(path).unwrap().replace("\r\n", "\n");
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let wanted = format!("{before}{BEGIN}{}{END}{after}", tables());
    if std::env::var_os("UPDATE_GENERATED").is_some_and(|value| value == "1") {
        std::fs::write(path, wanted).unwrap();
        return;
    }
    assert!(
        page == wanted,
        "docs/query.md is stale; run UPDATE_GENERATED=1 cargo test --test protocol"
    );
}

fn tables() -> String {
    let receivers = [
        (None, "Functions"),
        (Some(Type::Any), "Of every value"),
        (Some(Type::Text), "Of texts"),
        (Some(Type::Number), "Of numbers"),
        (Some(Type::Date), "Of dates"),
        (Some(Type::Duration), "Of durations"),
        (Some(Type::List), "Of lists"),
        (Some(Type::Link), "Of links, which also have the methods of texts"),
        (Some(Type::File), "Of files: `file`, `this.file`, `link.asFile()`"),
        (Some(Type::Object), "Of objects: `note`, `file.properties`"),
        (Some(Type::Pattern), "Of patterns"),
    ];
    let mut tables = String::new();
    for (receiver, title) in receivers {
        let _ = write!(tables, "\n### {title}\n\n| | gives | |\n|---|---|---|\n");
        for function in functions::all().filter(|function| function.of == receiver) {
            let own = if function.is_extension { " The steward's own." } else { "" };
            let (name, gives) = (written(function), word(function.gives));
            let _ = writeln!(tables, "| `{name}` | {gives} | {}{own} |", function.help);
        }
    }
    tables.push('\n');
    tables
}

/// `slice(start, end?)`, or a field's bare name.
fn written(function: &Function) -> String {
    let param = |param: &Param| match (param.is_repeated, param.is_optional) {
        (true, _) => format!("{}…", param.name),
        (_, true) => format!("{}?", param.name),
        _ => param.name.to_owned(),
    };
    match function.params {
        Some(params) => {
            let params: Vec<String> = params.iter().map(param).collect();
            format!("{}({})", function.name, params.join(", "))
        }
        None => function.name.to_owned(),
    }
}

fn word(of: Type) -> &'static str {
    match of {
        Type::Any | Type::PerElement => "any",
        Type::Null => "null",
        Type::Bool => "boolean",
        Type::Number => "number",
        Type::Text => "text",
        Type::Date => "date",
        Type::Duration => "duration",
        Type::List => "list",
        Type::Object => "object",
        Type::Link => "link",
        Type::File => "file",
        Type::Pattern => "pattern",
    }
}
