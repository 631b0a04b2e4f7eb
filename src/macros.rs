//! Macros of all rooms, so that what they write is written once.

/// The fixed words of an enum without data, with an optional way back and a list of all variants:
/// `words!(State::word, ALL, parse { Open => "open", Done => "done" });`
macro_rules! words {
    ($(#[$doc:meta])* $vis:vis $type:ident::$name:ident { $($variant:ident => $word:literal),+ $(,)? }) => {
        impl $type {
            $(#[$doc])*
            $vis const fn $name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }
        }
    };
    ($(#[$doc:meta])* $vis:vis $type:ident::$name:ident, parse { $($variant:ident => $word:literal),+ $(,)? }) => {
        words!($(#[$doc])* $vis $type::$name { $($variant => $word),+ });
        impl $type {
            $vis fn parse(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    };
    ($(#[$doc:meta])* $vis:vis $type:ident::$name:ident, ALL $(, $parse:ident)?
     { $($variant:ident => $word:literal),+ $(,)? }) => {
        words!($(#[$doc])* $vis $type::$name $(, $parse)? { $($variant => $word),+ });
        impl $type {
            $vis const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];
        }
    };
}

/// `Debug` with the named fields alone, for types whose other fields cannot be shown or should not be: services, and
/// what may hold the text of notes.
macro_rules! debug_only {
    ($type:ident $(<$life:lifetime>)? $(, $field:ident)*) => {
        impl std::fmt::Debug for $type $(<$life>)? {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($type))
                    $(.field(stringify!($field), &self.$field))*
                    .finish_non_exhaustive()
            }
        }
    };
}
