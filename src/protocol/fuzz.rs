//! The entry for fuzzing: any bytes must end in a value or a typed error.

use super::envelope::{self, Incoming};
use super::{ClientNotification, check};

/// Takes bytes as if they had come in one text frame, all the way to typed params and back to the
/// text of a refusal.
///
/// # Panics
/// When the protocol has a fault: a refusal that is no JSON, or a message that is read differently
/// after having been written again.
pub fn fuzz_message(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match Incoming::parse(text) {
        Ok(Incoming::Request { id, method, params }) => {
            let again = serde_json::json!({
                "jsonrpc": "2.0", "id": id, "method": method, "params": params,
            });
            assert_eq!(
                Incoming::parse(&again.to_string()),
                Ok(Incoming::Request {
                    id: id.clone(),
                    method: method.clone(),
                    params: params.clone()
                }),
                "a request written again reads the same"
            );
            if let Err(error) = check(&method, params) {
                readable(&envelope::failure(Some(&id), &error));
            }
        }
        Ok(Incoming::Notification { method, params }) => {
            let _ = ClientNotification::parse(&method, params);
        }
        Ok(Incoming::Answer { .. }) => {}
        Err(refusal) => readable(&envelope::failure(refusal.id.as_ref(), &refusal.error)),
    }
}

fn readable(text: &str) {
    let value: serde_json::Value = serde_json::from_str(text).expect("a refusal is JSON");
    assert!(value["error"]["data"]["kind"].is_string(), "a refusal has a kind");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// JSON of any shape, with the words of the protocol sprinkled in.
    fn json() -> impl Strategy<Value = serde_json::Value> {
        let word = prop_oneof![
            Just("2.0".to_owned()),
            Just("tools/call".to_owned()),
            Just("$/cancel_request".to_owned()),
            Just("initialize".to_owned()),
            ".{0,12}",
        ];
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            any::<f64>().prop_map(Into::into),
            word.prop_map(Into::into),
        ];
        let key = prop_oneof![
            Just("jsonrpc".to_owned()),
            Just("id".to_owned()),
            Just("method".to_owned()),
            Just("params".to_owned()),
            Just("name".to_owned()),
            Just("protocolVersion".to_owned()),
            Just("requestId".to_owned()),
            "[a-z]{0,4}",
        ];
        leaf.prop_recursive(4, 32, 6, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
                prop::collection::btree_map(key.clone(), inner, 0..6).prop_map(|entries| {
                    serde_json::Value::Object(entries.into_iter().collect())
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            fuzz_message(&bytes);
        }

        #[test]
        fn any_json(value in json()) {
            fuzz_message(value.to_string().as_bytes());
        }
    }
}
