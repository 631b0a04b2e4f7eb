//! Generates the protocol's TypeScript, for the plugin: `plugin-shim/src/protocol.ts`.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use ts_rs::{Config, TS, TypeVisitor};

use super::envelope::RequestId;
use super::error::ErrorObject;
use super::http::ChallengeAnswer;
use super::page::{ExchangeAnswer, ExchangeBody};

/// A line of the `Methods` interface, and the types that it needs.
pub(crate) struct Method {
    name: &'static str,
    docs: &'static [&'static str],
    params: String,
    result: String,
    types: Types,
}

impl Method {
    /// A method from its params and its result (`()` for a notification).
    pub(crate) fn new<P: TS + 'static, R: TS + 'static>(
        name: &'static str,
        docs: &'static [&'static str],
    ) -> Self {
        let config = config();
        let mut types = Types::default();
        types.visit::<P>();
        types.visit::<R>();
        Self { name, docs, params: P::name(&config), result: R::name(&config), types }
    }
}

/// Declarations by name.
#[derive(Default)]
struct Types {
    seen: Vec<TypeId>,
    declarations: BTreeMap<String, String>,
}

impl TypeVisitor for Types {
    fn visit<T: TS + 'static + ?Sized>(&mut self) {
        let id = TypeId::of::<T>();
        if self.seen.contains(&id) {
            return;
        }
        self.seen.push(id);
        if T::output_path().is_some() {
            let config = config();
            let docs = T::docs().unwrap_or_default();
            let text = format!("{}\nexport {}", docs.trim_end(), T::decl(&config));
            self.declarations.insert(T::ident(&config), tidy(text.trim_start()));
        }
        T::visit_dependencies(self);
    }
}

fn config() -> Config {
    // All numbers are far below 2^53, and JSON.parse makes no bigint.
    Config::new().with_large_int("number")
}

/// Formats a declaration: members indented, short comments on one line, no trailing spaces.
fn tidy(declaration: &str) -> String {
    let text = declaration.replace(", };", ",\n};");
    let mut out = String::new();
    let mut inside = false;
    let mut lines = text.lines().map(str::trim).peekable();
    while let Some(line) = lines.next() {
        if line.starts_with('}') {
            inside = false;
        }
        let indent = if inside { "  " } else { "" };
        if line == "/**" {
            let about: Vec<&str> =
                std::iter::from_fn(|| lines.next_if(|line| *line != "*/")).collect();
            lines.next();
            if let [only] = about[..] {
                let _ = writeln!(out, "{indent}/** {} */", only.trim_start_matches("* "));
            } else {
                let _ = writeln!(out, "{indent}/**");
                for line in about {
                    let _ = writeln!(out, "{indent} {line}");
                }
                let _ = writeln!(out, "{indent} */");
            }
        } else {
            let _ = writeln!(out, "{indent}{line}");
        }
        if line.ends_with('{') {
            inside = true;
        }
    }
    out.trim_end().to_owned()
}

/// The complete file. It depends only on the protocol.
pub fn generate() -> String {
    let lists = [
        ("Methods", "Every request, by its name.", super::methods()),
        (
            "ClientNotifications",
            "What a client may send without an answer.",
            super::client_notifications(),
        ),
        ("ServerRequests", "What the daemon asks of a client.", super::server_requests()),
        (
            "ServerNotifications",
            "What the daemon sends without a request.",
            super::server_notifications(),
        ),
    ];
    let mut shared = Types::default();
    shared.visit::<RequestId>();
    shared.visit::<ErrorObject>();
    // Types of HTTP bodies.
    shared.visit::<ChallengeAnswer>();
    shared.visit::<ExchangeBody>();
    shared.visit::<ExchangeAnswer>();
    let mut declarations = shared.declarations;
    for method in lists.iter().flat_map(|(_, _, methods)| methods) {
        declarations.extend(
            method.types.declarations.iter().map(|(name, text)| (name.clone(), text.clone())),
        );
    }

    let mut out = String::from(HEAD);
    for declaration in declarations.values() {
        let _ = writeln!(out, "\n{declaration}");
    }
    for (interface, about, methods) in &lists {
        let _ = writeln!(out, "\n/** {about} */\nexport interface {interface} {{");
        for method in methods {
            let docs = method.docs.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
            let _ = write!(out, "  /** {docs} */\n  \"{}\": ", method.name);
            let _ = if matches!(*interface, "Methods" | "ServerRequests") {
                writeln!(out, "{{ params: {}; result: {} }};", method.params, method.result)
            } else {
                writeln!(out, "{};", method.params)
            };
        }
        out.push_str("}\n");
    }
    out
}

const HEAD: &str = r#"// Written by the daemon's own tests from src/protocol; do not edit.
// After a change of the protocol: UPDATE_GENERATED=1 cargo test --test protocol

/** The version of the protocol that these types describe. */
export const PROTOCOL_VERSION = 1;

/** A JSON Schema, as the tools carry them. */
export type JsonSchema = Record<string, unknown>;
"#;
