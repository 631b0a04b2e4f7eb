//! Requests other than tool calls: resources, prompts, completion. Each is a lookup with the name of its method.

use serde_json::{Map, Value, json};

use super::fault::{BUSY, FORBIDDEN, Fault, INTERNAL, MISSING};
use super::identity::{A_WHILE, with_cache_time};
use super::{Era, uri};
use crate::note::code::ErrorCode;
use crate::tools::ToolError;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Lookup {
    Resources,
    Resource {
        /// In the client's spelling.
        uri: String,
    },
    Prompts,
    Prompt,
    Completion,
}

pub(super) type LookupCall = (Lookup, Map<String, Value>);

/// The lookup of a request with its arguments; `None` for other requests.
pub(super) fn parse(
    method: &str,
    params: &Map<String, Value>,
    era: Era,
) -> Option<Result<LookupCall, Fault>> {
    Some(match method {
        "resources/list" => cursor(params).map(|arguments| (Lookup::Resources, arguments)),
        "resources/read" => resource(params, era),
        "prompts/list" => no_cursor(params).map(|()| (Lookup::Prompts, Map::new())),
        "prompts/get" => prompt(params).map(|arguments| (Lookup::Prompt, arguments)),
        "completion/complete" => completion(params).map(|it| (Lookup::Completion, it)),
        _ => return None,
    })
}

fn cursor(params: &Map<String, Value>) -> Result<Map<String, Value>, Fault> {
    match params.get("cursor") {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(cursor @ Value::String(_)) => {
            Ok(Map::from_iter([("cursor".to_owned(), cursor.clone())]))
        }
        Some(_) => Err(Fault::params("`cursor` must be a text")),
    }
}

/// Rejects a cursor for an unpaged list.
pub(super) fn no_cursor(params: &Map<String, Value>) -> Result<(), Fault> {
    if params.get("cursor").is_some_and(|cursor| !cursor.is_null()) {
        Err(Fault::params("there is no such cursor: the list has one page"))
    } else {
        Ok(())
    }
}

fn text<'a>(params: &'a Map<String, Value>, name: &str) -> Result<&'a str, Fault> {
    let text = params.get(name).and_then(Value::as_str);
    text.ok_or_else(|| Fault::params(format!("`{name}` must be a text")))
}

fn resource(params: &Map<String, Value>, era: Era) -> Result<LookupCall, Fault> {
    let uri = text(params, "uri")?;
    let path =
        uri::path(uri).ok_or_else(|| missing_resource(uri, "it is no `vault:///` address", era))?;
    let arguments = Map::from_iter([("path".to_owned(), path.into())]);
    Ok((Lookup::Resource { uri: uri.to_owned() }, arguments))
}

fn prompt(params: &Map<String, Value>) -> Result<Map<String, Value>, Fault> {
    let name = text(params, "name")?;
    let mut tool_arguments = match params.get("arguments") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(tool_arguments)) => tool_arguments.clone(),
        Some(_) => return Err(Fault::params("`arguments` must be an object")),
    };
    if tool_arguments.contains_key("name") {
        return Err(Fault::params("there is no argument `name`"));
    }
    tool_arguments.insert("name".to_owned(), name.into());
    Ok(tool_arguments)
}

fn completion(params: &Map<String, Value>) -> Result<Map<String, Value>, Fault> {
    let argument = params.get("argument").and_then(Value::as_object);
    let argument = argument.ok_or_else(|| Fault::params("`argument` must be an object"))?;
    let (name, typed) = (text(argument, "name")?, text(argument, "value")?);
    let what = match (params["ref"]["type"].as_str(), name) {
        (Some("ref/resource"), "path") => "path",
        (Some("ref/prompt"), "date") => "day",
        (Some("ref/resource" | "ref/prompt"), _) => "text",
        _ => return Err(Fault::params("`ref` must be a `ref/prompt` or a `ref/resource`")),
    };
    let arguments = json!({ "what": what, "text": typed });
    Ok(arguments.as_object().cloned().unwrap_or_default())
}

fn missing_resource(uri: &str, why: &str, era: Era) -> Fault {
    let code = if era == Era::Legacy { MISSING } else { super::fault::INVALID_PARAMS };
    let short: String = uri.chars().take(200).collect();
    Fault::new(code, format!("there is no such resource: {why}")).data(json!({ "uri": short }))
}

impl Lookup {
    /// The result in the protocol's form.
    pub fn result(&self, found: &Value, era: Era) -> Value {
        let modern = |result, milliseconds| match era {
            Era::Modern => with_cache_time(result, milliseconds, "private"),
            Era::Legacy => result,
        };
        match self {
            Self::Resources => {
                let notes = found["notes"].as_array().map(Vec::as_slice).unwrap_or_default();
                let resources: Vec<Value> = notes.iter().map(note).collect();
                let mut result = json!({ "resources": resources });
                if found["next"].is_string() {
                    result["nextCursor"] = found["next"].clone();
                }
                modern(result, 0)
            }
            Self::Resource { uri } => {
                let path = found["path"].as_str().unwrap_or_default();
                let mut content = json!({ "uri": uri });
                match found["text"].as_str() {
                    Some(text) => {
                        content["mimeType"] = mime(path).unwrap_or("text/plain").into();
                        content["text"] = text.into();
                    }
                    None => {
                        let mime = mime(path).unwrap_or("application/octet-stream");
                        content["mimeType"] = mime.into();
                        content["blob"] = found["base64"].clone();
                    }
                }
                modern(json!({ "contents": [content] }), 0)
            }
            Self::Prompts => modern(json!({ "prompts": found["prompts"] }), A_WHILE),
            Self::Prompt => {
                let message = |content| json!({ "role": "user", "content": content });
                let text = json!({ "type": "text", "text": found["text"] });
                let mut messages = vec![message(text)];
                if let Some(path) = found["selection"]["path"].as_str() {
                    let text = &found["selection"]["text"];
                    let resource = json!({ "uri": uri::from_path(path), "mimeType": mime(path), "text": text });
                    messages.push(message(json!({ "type": "resource", "resource": resource })));
                }
                json!({ "description": found["description"], "messages": messages })
            }
            Self::Completion => {
                let values = found["values"].as_array().map_or(0, Vec::len) as u64;
                let more = found["total"].as_u64().unwrap_or(0) > values;
                json!({ "completion": {
                    "values": found["values"], "total": found["total"], "hasMore": more,
                } })
            }
        }
    }

    pub fn fault(&self, error: &ToolError, era: Era) -> Fault {
        let why = match &error.hint {
            Some(hint) => format!("{}; {hint}", error.message),
            None => error.message.clone(),
        };
        match (self, error.code) {
            (Self::Resource { uri }, ErrorCode::NotFound | ErrorCode::InvalidPath) => {
                missing_resource(uri, &why, era)
            }
            (_, ErrorCode::RateLimited) => Fault::new(BUSY, why),
            (_, ErrorCode::Denied | ErrorCode::PermissionDenied) => Fault::new(FORBIDDEN, why),
            (
                _,
                ErrorCode::IoError
                | ErrorCode::StorageFull
                | ErrorCode::Timeout
                | ErrorCode::Cancelled,
            ) => Fault::new(INTERNAL, why),
            _ => Fault::params(why),
        }
    }

    /// The error for an answer that exceeds the size limit of messages.
    pub fn too_long(&self, bytes: usize) -> Fault {
        let hint = match self {
            Self::Resource { .. } | Self::Prompt => "; the tool `read_file` reads it in parts",
            _ => "",
        };
        Fault::params(format!("the answer would have {bytes} bytes, which is too much{hint}"))
    }
}

/// A note as a resource of a list.
fn note(found: &Value) -> Value {
    let path = found["path"].as_str().unwrap_or_default();
    let name = path.rsplit('/').next().unwrap_or(path);
    json!({
        "uri": uri::from_path(path),
        "name": path,
        "title": name.strip_suffix(".md").unwrap_or(name),
        "mimeType": mime(path),
        "size": found["size"],
        "annotations": { "lastModified": found["modified"] },
    })
}

/// The templates of resource URIs.
pub(super) fn templates() -> Value {
    json!({ "resourceTemplates": [{
        "uriTemplate": uri::TEMPLATE,
        "name": "file",
        "title": "A file of the vault",
        "description": "A note or another file, by its path from the vault's root",
    }] })
}

/// The media type by file name.
fn mime(path: &str) -> Option<&'static str> {
    let ending = path.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase())?;
    Some(match &*ending {
        "md" => "text/markdown",
        "txt" => "text/plain",
        "canvas" | "json" => "application/json",
        "csv" => "text/csv",
        "html" | "htm" => "text/html",
        "pdf" => "application/pdf",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "svg" => "image/svg+xml",
        "mp3" => "audio/mpeg",
        "m4a" => "audio/mp4",
        "wav" => "audio/wav",
        "mp4" => "video/mp4",
        _ => return None,
    })
}
