//! Macros for the lists of methods and notifications.

/// Declares the requests, one per line: `"wire/name" { Params => Result }`.
///
/// Generates [`MethodParams`](super::MethodParams) for each params type, which types handlers and
/// client calls, [`METHODS`](super::METHODS), and the list for the TypeScript.
macro_rules! methods {
    ($($(#[doc = $doc:literal])+ $name:literal { $params:ty => $result:ty }),+ $(,)?) => {
        /// The params of a method, with its name and result type.
        pub trait MethodParams: serde::Serialize + serde::de::DeserializeOwned {
            /// The method's name on the wire.
            const METHOD: &'static str;
            /// The result of a successful call.
            type Result: serde::Serialize + serde::de::DeserializeOwned;
        }

        $(impl MethodParams for $params {
            const METHOD: &'static str = $name;
            type Result = $result;
        })+

        /// The names of all requests.
        pub const METHODS: &[&str] = &[$($name),+];

        /// Checks whether `params` are valid for `method`; for the fuzz targets.
        #[cfg(feature = "conformance")]
        pub fn check(
            method: &str,
            params: serde_json::Map<String, serde_json::Value>,
        ) -> Result<(), error::ErrorObject> {
            match method {
                $($name => envelope::params::<$params>(params).map(drop),)+
                _ => Err(error::ErrorObject::unknown_method(method)),
            }
        }

        /// Every request, for the TypeScript.
        #[cfg(feature = "conformance")]
        pub(crate) fn methods() -> Vec<typescript::Method> {
            vec![$(typescript::Method::new::<$params, $result>($name, &[$($doc),+])),+]
        }
    };
}

/// Declares the notifications, one per line, by sender: `Variant => "wire/name" { Params }`.
macro_rules! notifications {
    (client { $($(#[doc = $cdoc:literal])+ $cvariant:ident => $cname:literal { $cparams:ty }),+ $(,)? }
     server { $($(#[doc = $sdoc:literal])+ $svariant:ident => $sname:literal { $sparams:ty }),+ $(,)? }) => {
        /// A notification from the client, parsed.
        #[derive(Debug, Clone, PartialEq)]
        pub enum ClientNotification {
            $($(#[doc = $cdoc])+ $cvariant($cparams)),+
        }

        impl ClientNotification {
            /// Whether `method` is a notification of this protocol.
            pub fn knows(method: &str) -> bool {
                matches!(method, $($cname)|+)
            }

            /// Parses a notification; `None` for an unknown or malformed one, which JSON-RPC does
            /// not answer.
            pub fn parse(
                method: &str,
                params: serde_json::Map<String, serde_json::Value>,
            ) -> Option<Self> {
                match method {
                    $($cname => envelope::params(params).ok().map(Self::$cvariant),)+
                    _ => None,
                }
            }
        }

        /// The params of a notification from the server.
        pub trait NotificationParams: serde::Serialize {
            /// The notification's name on the wire.
            const METHOD: &'static str;
        }

        $(impl NotificationParams for $sparams {
            const METHOD: &'static str = $sname;
        })+

        /// Every notification from the client, for the TypeScript.
        #[cfg(feature = "conformance")]
        pub(crate) fn client_notifications() -> Vec<typescript::Method> {
            vec![$(typescript::Method::new::<$cparams, ()>($cname, &[$($cdoc),+])),+]
        }

        /// Every notification from the server, for the TypeScript.
        #[cfg(feature = "conformance")]
        pub(crate) fn server_notifications() -> Vec<typescript::Method> {
            vec![$(typescript::Method::new::<$sparams, ()>($sname, &[$($sdoc),+])),+]
        }
    };
}

/// Declares the server's requests, one per line: `Variant => "wire/name" { Params => Result }`.
macro_rules! server_requests {
    ($($(#[doc = $doc:literal])+ $variant:ident => $name:literal { $params:ty => $result:ty }),+ $(,)?) => {
        /// The params of a request from the server to a client.
        pub trait ServerRequestParams: serde::Serialize {
            /// The request's name on the wire.
            const METHOD: &'static str;
        }

        $(impl ServerRequestParams for $params {
            const METHOD: &'static str = $name;
        })+

        /// Every request from the server, for the TypeScript.
        #[cfg(feature = "conformance")]
        pub(crate) fn server_requests() -> Vec<typescript::Method> {
            vec![$(typescript::Method::new::<$params, $result>($name, &[$($doc),+])),+]
        }
    };
}

pub(super) use {methods, notifications, server_requests};
