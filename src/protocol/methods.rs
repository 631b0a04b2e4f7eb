//! The two lists that the protocol is made of, and what is made from them.

/// One line a request: `"wire/name" { Params => Result }`.
///
/// Makes [`MethodParams`](super::MethodParams) for each params type (so a handler's reply has the
/// right type and a client's call is typed), [`METHODS`](super::METHODS), and the list that the
/// TypeScript is written from.
macro_rules! methods {
    ($($(#[doc = $doc:literal])+ $name:literal { $params:ty => $result:ty }),+ $(,)?) => {
        /// The params of one method, which know its name and the type of its result.
        pub trait MethodParams: serde::Serialize + serde::de::DeserializeOwned {
            /// The method's name on the wire.
            const METHOD: &'static str;
            /// What a successful call answers.
            type Result: serde::Serialize + serde::de::DeserializeOwned;
        }

        $(impl MethodParams for $params {
            const METHOD: &'static str = $name;
            type Result = $result;
        })+

        /// The names of all requests.
        pub const METHODS: &[&str] = &[$($name),+];

        /// Reads the params of `method`, and lets them go.
        ///
        /// # Errors
        /// Kind `unknown_method`, or `invalid_params` with what serde has to say.
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
        pub(crate) fn methods() -> Vec<typescript::Method> {
            vec![$(typescript::Method::new::<$params, $result>($name, &[$($doc),+])),+]
        }
    };
}

/// One line a notification, by who sends it: `Variant => "wire/name" { Params }`.
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
            #[must_use]
            pub fn knows(method: &str) -> bool {
                matches!(method, $($cname)|+)
            }

            /// Reads a notification; `None` for one that is unknown or malformed, which JSON-RPC
            /// leaves without an answer.
            #[must_use]
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

        /// The params of a notification that the server sends.
        pub trait NotificationParams: serde::Serialize {
            /// The notification's name on the wire.
            const METHOD: &'static str;
        }

        $(impl NotificationParams for $sparams {
            const METHOD: &'static str = $sname;
        })+

        /// Every notification from the client, for the TypeScript.
        pub(crate) fn client_notifications() -> Vec<typescript::Method> {
            vec![$(typescript::Method::new::<$cparams, ()>($cname, &[$($cdoc),+])),+]
        }

        /// Every notification from the server, for the TypeScript.
        pub(crate) fn server_notifications() -> Vec<typescript::Method> {
            vec![$(typescript::Method::new::<$sparams, ()>($sname, &[$($sdoc),+])),+]
        }
    };
}

/// One line a request of the server's: `Variant => "wire/name" { Params => Result }`.
macro_rules! server_requests {
    ($($(#[doc = $doc:literal])+ $variant:ident => $name:literal { $params:ty => $result:ty }),+ $(,)?) => {
        /// The params of a request that the server makes of a client.
        pub trait ServerRequestParams: serde::Serialize {
            /// The request's name on the wire.
            const METHOD: &'static str;
        }

        $(impl ServerRequestParams for $params {
            const METHOD: &'static str = $name;
        })+

        /// Every request of the server's, for the TypeScript.
        pub(crate) fn server_requests() -> Vec<typescript::Method> {
            vec![$(typescript::Method::new::<$params, $result>($name, &[$($doc),+])),+]
        }
    };
}

pub(super) use {methods, notifications, server_requests};
