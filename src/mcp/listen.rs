//! Event subscriptions: `subscriptions/listen`, whose answer comes when it ends.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::fault::Fault;
use super::identity::sign;
use super::uri;
use crate::protocol::NotificationParams as _;
use crate::protocol::envelope::RequestId;
use crate::protocol::events::{ChangedKind, ChangedParams, EntryKind};
use crate::protocol::settings::ConfigReloadedParams;

/// The most resources that a client may subscribe to.
pub const MAX_SUBSCRIPTIONS: usize = 100;

/// The `_meta` key of the request to which a message belongs.
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

#[derive(Debug, Clone, PartialEq)]
pub struct Listen {
    id: RequestId,
    tools: bool,
    resources: bool,
    prompts: bool,
    /// Paths of resources, with their URIs in the client's spelling.
    updates: BTreeMap<String, String>,
}

/// A notification to the client.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ListenNotification {
    /// The list of tools changed.
    Tools,
    /// The list of resources changed.
    Resources,
    /// The list of prompts changed.
    Prompts,
    /// A resource changed.
    Updated {
        /// Its URI in the client's spelling.
        uri: String,
    },
}

impl Listen {
    pub(super) fn of(id: RequestId, params: &Map<String, Value>) -> Result<Self, Fault> {
        let Some(Value::Object(requested)) = params.get("notifications") else {
            return Err(Fault::params("`notifications` must be an object"));
        };
        let is_wanted = |name: &str| requested.get(name) == Some(&Value::Bool(true));
        let all = match requested.get("resourceSubscriptions") {
            None | Some(Value::Null) => &[][..],
            Some(Value::Array(all)) if all.len() <= MAX_SUBSCRIPTIONS => all,
            Some(_) => {
                let most = format!(
                    "`resourceSubscriptions` must be a list of at most {MAX_SUBSCRIPTIONS}"
                );
                return Err(Fault::params(most));
            }
        };
        let mut updates = BTreeMap::new();
        for one in all {
            let address = one.as_str().unwrap_or_default();
            let path = uri::path(address);
            #[cfg(feature = "conformance")]
            let path = path.or_else(|| super::fixtures::path(address));
            let path =
                path.ok_or_else(|| Fault::params(format!("{one} is no `vault:///` address")))?;
            updates.insert(path, address.to_owned());
        }
        let (tools, resources) = (is_wanted("toolsListChanged"), is_wanted("resourcesListChanged"));
        let prompts = is_wanted("promptsListChanged");
        Ok(Self { id, tools, resources, prompts, updates })
    }

    /// Whether it includes changes of prompts.
    pub fn wants_prompts(&self) -> bool {
        self.prompts
    }

    /// The first message: the accepted subscription.
    pub fn acknowledged(&self) -> String {
        let mut honoured = Map::new();
        if self.tools {
            honoured.insert("toolsListChanged".to_owned(), true.into());
        }
        if self.resources {
            honoured.insert("resourcesListChanged".to_owned(), true.into());
        }
        if self.prompts {
            honoured.insert("promptsListChanged".to_owned(), true.into());
        }
        if !self.updates.is_empty() {
            let all: Vec<&String> = self.updates.values().collect();
            honoured.insert("resourceSubscriptions".to_owned(), json!(all));
        }
        let params = json!({ "notifications": honoured });
        self.notification("notifications/subscriptions/acknowledged", params)
    }

    /// The notifications for an event of the daemon. Notes in these folders are prompts.
    pub fn notifications_for(
        &self,
        event: &str,
        folders: &[String],
    ) -> BTreeSet<ListenNotification> {
        let mut notifications = BTreeSet::new();
        let Ok(event) = serde_json::from_str::<Event>(event) else { return notifications };
        if event.method == ConfigReloadedParams::METHOD {
            let params = ConfigReloadedParams::deserialize(event.params);
            let of_tools = |params: ConfigReloadedParams| {
                params.changed.iter().any(|key| key.starts_with("mcp."))
            };
            notifications.extend(
                (self.tools && params.is_ok_and(of_tools)).then_some(ListenNotification::Tools),
            );
        } else if event.method == ChangedParams::METHOD
            && let Ok(changed) = ChangedParams::deserialize(event.params)
        {
            let paths = || [Some(&changed.path), changed.from.as_ref()].into_iter().flatten();
            let is_other = changed.kind != ChangedKind::Modified
                && (changed.entry == EntryKind::Folder || paths().any(|it| it.ends_with(".md")));
            notifications
                .extend((self.resources && is_other).then_some(ListenNotification::Resources));
            let is_in_one = |path: &String| {
                folders.iter().any(|folder| {
                    let rest = path.strip_prefix(&**folder);
                    // A moved folder moves its content.
                    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                        || folder.strip_prefix(&**path).is_some_and(|rest| rest.starts_with('/'))
                })
            };
            let is_prompt = self.prompts && is_other && paths().any(is_in_one);
            notifications.extend(is_prompt.then_some(ListenNotification::Prompts));
            let uris = paths().filter_map(|path| self.updates.get(path));
            notifications.extend(uris.map(|uri| ListenNotification::Updated { uri: uri.clone() }));
        }
        notifications
    }

    pub fn message(&self, notification: &ListenNotification) -> String {
        match notification {
            ListenNotification::Tools => {
                self.notification("notifications/tools/list_changed", json!({}))
            }
            ListenNotification::Resources => {
                self.notification("notifications/resources/list_changed", json!({}))
            }
            ListenNotification::Prompts => {
                self.notification("notifications/prompts/list_changed", json!({}))
            }
            ListenNotification::Updated { uri } => {
                self.notification("notifications/resources/updated", json!({ "uri": uri }))
            }
        }
    }

    /// The last message, which ends the subscription.
    pub fn ended(&self) -> String {
        let mut result = Map::new();
        sign(&mut result);
        let mut result = Value::Object(result);
        result["_meta"][SUBSCRIPTION] = json!(self.id);
        json!({ "jsonrpc": "2.0", "id": self.id, "result": result }).to_string()
    }

    fn notification(&self, method: &str, mut params: Value) -> String {
        params["_meta"] = json!({ SUBSCRIPTION: self.id });
        json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string()
    }
}

#[derive(Deserialize)]
struct Event {
    method: String,
    params: Value,
}
