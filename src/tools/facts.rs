//! Structured results as JSON text, serialized once by the tool without an intermediate value.
//!
//! The keys of every object are written in alphabetical order, so that an answer's text does not depend on the order in
//! which a type declares its fields. The members of an object are written as they come, with the position of each;
//! those out of order are moved in the text afterwards, inner objects first. A type that declares its fields in
//! alphabetical order costs nothing.

use std::borrow::Cow;
use std::cell::Cell;
use std::io;

use serde::Serialize;
use serde_json::ser::Formatter;
use serde_json::{Serializer, Value};

/// The initial capacity; enough for most results.
const ROOM: usize = 4_096;

/// A structured result as JSON text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts(String);

impl Facts {
    /// Serializes `data` with the members of each object sorted by key.
    pub fn of<T: Serialize + ?Sized>(data: &T) -> Result<Self, serde_json::Error> {
        let at = Cell::new(0);
        let mut written = Written { bytes: Vec::with_capacity(ROOM), at: &at };
        let mut noted =
            Members { at: &at, open: vec![], begun: vec![], done: vec![], objects: vec![] };
        data.serialize(&mut Serializer::with_formatter(&mut written, &mut noted))?;
        let mut bytes = written.bytes;
        let mut members = &noted.done[..];
        for object in &noted.objects {
            let (own, others) = members.split_at(object.members);
            put_in_order(&mut bytes, own, object.end);
            members = others;
        }
        Ok(Self(String::from_utf8(bytes).expect("JSON is text")))
    }

    pub fn json(&self) -> &str {
        &self.0
    }

    pub fn into_json(self) -> String {
        self.0
    }

    pub fn value(&self) -> Value {
        serde_json::from_str(&self.0).unwrap_or_default()
    }
}

impl From<Value> for Facts {
    fn from(value: Value) -> Self {
        // The objects of a value are sorted.
        Self(value.to_string())
    }
}

struct Written<'a> {
    bytes: Vec<u8>,
    at: &'a Cell<usize>,
}

impl io::Write for Written<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes.extend_from_slice(bytes);
        self.at.set(self.bytes.len());
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The start of a member and the end of its quoted key.
#[derive(Clone, Copy)]
struct Member {
    start: usize,
    key_end: usize,
}

/// A finished object: the number of its members, and the end of the last one.
struct Object {
    members: usize,
    end: usize,
}

/// Serializes like serde_json and records the places of members.
struct Members<'a> {
    at: &'a Cell<usize>,
    /// For each open object, the number of earlier members.
    open: Vec<usize>,
    /// The members of all open objects.
    begun: Vec<Member>,
    done: Vec<Member>,
    /// The finished objects, inner ones first.
    objects: Vec<Object>,
}

impl Formatter for &mut Members<'_> {
    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open.push(self.begun.len());
        writer.write_all(b"{")
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        let first = self.open.pop().unwrap_or_default();
        self.objects.push(Object { members: self.begun.len() - first, end: self.at.get() });
        self.done.extend(self.begun.drain(first..));
        writer.write_all(b"}")
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if !first {
            writer.write_all(b",")?;
        }
        self.begun.push(Member { start: self.at.get(), key_end: 0 });
        Ok(())
    }

    fn end_object_key<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        if let Some(member) = self.begun.last_mut() {
            member.key_end = self.at.get();
        }
        Ok(())
    }
}

/// Sorts the members of an object by key. The last one ends at `end`, each other one before the comma of
/// the next.
fn put_in_order(bytes: &mut [u8], members: &[Member], end: usize) {
    let key = |member: &Member| key(&bytes[member.start..member.key_end]);
    if members.is_sorted_by(|a, b| key(a) <= key(b)) {
        return;
    }
    let ends = members.iter().skip(1).map(|next| next.start - 1).chain([end]);
    let mut ordered: Vec<(&Member, usize)> = members.iter().zip(ends).collect();
    ordered.sort_by(|(a, _), (b, _)| key(a).cmp(&key(b)));
    let pieces: Vec<&[u8]> =
        ordered.iter().map(|(member, end)| &bytes[member.start..*end]).collect();
    let ordered = pieces.join(&b',');
    bytes[members[0].start..end].copy_from_slice(&ordered);
}

fn key(quoted: &[u8]) -> Cow<'_, [u8]> {
    let plain = &quoted[1..quoted.len() - 1];
    match plain.contains(&b'\\') {
        false => Cow::Borrowed(plain),
        true => {
            let read = serde_json::from_slice::<String>(quoted).map(String::into_bytes);
            Cow::Owned(read.unwrap_or_else(|_| plain.to_vec()))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use serde::Serializer;
    use serde::ser::{SerializeMap as _, SerializeStruct as _};

    use super::*;

    /// Any JSON, its objects in any order.
    #[derive(Debug, Clone)]
    enum Any {
        Null,
        Bool(bool),
        Whole(i64),
        Great(u64),
        Real(f64),
        Text(String),
        List(Vec<Any>),
        Map(Vec<(String, Any)>),
        /// As a type with fields is written.
        Fields(Box<[Any; 3]>),
    }

    impl Serialize for Any {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            match self {
                Self::Null => serializer.serialize_unit(),
                Self::Bool(value) => value.serialize(serializer),
                Self::Whole(value) => value.serialize(serializer),
                Self::Great(value) => value.serialize(serializer),
                Self::Real(value) => value.serialize(serializer),
                Self::Text(value) => value.serialize(serializer),
                Self::List(items) => items.serialize(serializer),
                Self::Map(entries) => {
                    let mut map = serializer.serialize_map(None)?;
                    for (key, value) in entries {
                        map.serialize_entry(key, value)?;
                    }
                    map.end()
                }
                Self::Fields(values) => {
                    let mut fields = serializer.serialize_struct("Fields", 3)?;
                    fields.serialize_field("path", &values[0])?;
                    fields.serialize_field("content", &values[1])?;
                    fields.serialize_field("end_line", &values[2])?;
                    fields.end()
                }
            }
        }
    }

    fn any_json() -> impl Strategy<Value = Any> {
        let leaf = prop_oneof![
            Just(Any::Null),
            any::<bool>().prop_map(Any::Bool),
            any::<i64>().prop_map(Any::Whole),
            any::<u64>().prop_map(Any::Great),
            any::<f64>().prop_map(Any::Real),
            "\\PC{0,6}|[a-c\"\\\\\u{0}-\u{1f},:{}é]{0,6}".prop_map(Any::Text),
        ];
        leaf.prop_recursive(4, 48, 6, |inner| {
            let key = "[a-c]{0,2}|[\"\\\\\u{0}-\u{1f}!#é\u{1f600}]{0,3}";
            let entries = vec((key, inner.clone()), 0..6).prop_map(|mut entries| {
                let mut seen = std::collections::HashSet::new();
                entries.retain(|(key, _)| seen.insert(key.clone()));
                Any::Map(entries)
            });
            prop_oneof![
                vec(inner.clone(), 0..6).prop_map(Any::List),
                entries,
                [inner.clone(), inner.clone(), inner]
                    .prop_map(|three| Any::Fields(Box::new(three))),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_written_at_once_is_what_a_value_writes(any in any_json()) {
            let value = serde_json::to_value(&any).expect("a value");
            let facts = Facts::of(&any).expect("facts");
            prop_assert_eq!(facts.json(), value.to_string());
            prop_assert_eq!(facts, Facts::from(value));
        }
    }

    #[test]
    fn members_change_places_and_nothing_else() {
        let any = Any::Fields(Box::new([
            Any::Map(vec![("b".into(), Any::Null), ("a".into(), Any::Bool(true))]),
            Any::Text("{\"z\":1,\"y\":2}".into()),
            Any::Map(vec![]),
        ]));
        let facts = Facts::of(&any).expect("facts");
        let expected =
            r#"{"content":"{\"z\":1,\"y\":2}","end_line":{},"path":{"a":true,"b":null}}"#;
        assert_eq!(facts.json(), expected);
    }
}
