//! The saved form of the link graph.

use super::graph::Graph;
use super::record::{Form, Record, StoredLink, StoredTag};
use crate::index::checksummed_file::{Fields, put, put_text};
use crate::index::persistent::{SameAs, SavedTable};
use crate::index::synced::RecordTable as _;
use crate::note::link::LinkKind;
use crate::note::path::VaultPath;

/// The forms by their numbers in the file.
const FORMS: [Form; 6] = [
    Form::CanvasFile,
    Form::CanvasCard,
    Form::Link(LinkKind::Wikilink),
    Form::Link(LinkKind::Embed),
    Form::Link(LinkKind::Markdown),
    Form::Link(LinkKind::Image),
];

fn number(form: Form) -> u64 {
    match form {
        Form::CanvasFile => 0,
        Form::CanvasCard => 1,
        Form::Link(LinkKind::Wikilink) => 2,
        Form::Link(LinkKind::Embed) => 3,
        Form::Link(LinkKind::Markdown) => 4,
        Form::Link(LinkKind::Image) => 5,
    }
}

impl SavedTable for Graph {
    const NAME: &'static str = "links";
    /// The number also changes when other links or tags are read from a note.
    const HEADER: &'static [u8] =
        concat!("steward links 2 ", env!("CARGO_PKG_VERSION"), "\n").as_bytes();

    fn load(&mut self, saved: &[u8], same: &SameAs<'_>) -> Option<()> {
        let mut rest = Fields(saved);
        while !rest.0.is_empty() {
            let path = VaultPath::from_disk(rest.packed_text()?)?;
            let stamp = (rest.packed()?, rest.packed()?.cast_signed());
            let identity = rest.packed()?;
            let links = (0..rest.small()?).map(|_| link(&mut rest)).collect::<Option<_>>()?;
            let tags = (0..rest.small()?).map(|_| tag(&mut rest)).collect::<Option<_>>()?;
            if same.is_same(&path, stamp, Some(identity)) {
                self.put(path, Record { stamp, identity, links, tags, ..Record::default() });
            }
        }
        Some(())
    }

    fn save(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        // Incomplete records are read again in the next run.
        let known = self.iter().filter(|(_, record)| !record.unsure && record.gap.is_none());
        for (path, record) in known {
            let (size, modified) = record.stamp;
            put_text(&mut bytes, path.as_str());
            for number in [size, modified.cast_unsigned(), record.identity] {
                put(&mut bytes, number);
            }
            put(&mut bytes, record.links.len() as u64);
            for StoredLink { text, path_len, form, line, start } in &record.links {
                put_text(&mut bytes, text);
                let places = [*path_len, *line, *start].map(u64::from);
                for number in places.into_iter().chain([number(*form)]) {
                    put(&mut bytes, number);
                }
            }
            put(&mut bytes, record.tags.len() as u64);
            for StoredTag { name, uses } in &record.tags {
                put_text(&mut bytes, name);
                put(&mut bytes, u64::from(*uses));
            }
        }
        bytes
    }
}

fn link(rest: &mut Fields<'_>) -> Option<StoredLink> {
    let text = rest.packed_text()?.into();
    let (path_len, line, start) = (rest.small()?, rest.small()?, rest.small()?);
    let form = *FORMS.get(usize::try_from(rest.packed()?).ok()?)?;
    Some(StoredLink { text, path_len, form, line, start })
}

fn tag(rest: &mut Fields<'_>) -> Option<StoredTag> {
    Some(StoredTag { name: rest.packed_text()?.into(), uses: rest.small()? })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::index::persistent::check;

    #[test]
    fn every_form_has_its_number() {
        assert!((0..).zip(FORMS).all(|(at, form)| number(form) == at));
    }

    #[test]
    fn a_saved_graph_is_loaded_and_damage_is_detected() {
        let files = [
            (
                "One.md",
                "---\ntags: [tea]\nup: \"[[Two]]\"\n---\n[[Two|2]] ![[Bild.png]] [m](Two.md) ![e](Two.md) #tea\n",
            ),
            ("Two.md", "nothing\n"),
            (
                "Map.canvas",
                r#"{"nodes":[{"id":"a","type":"file","file":"One.md"},{"id":"b","type":"text","text":"[[Two]]"}],"edges":[]}"#,
            ),
        ];
        check::survives(&files, |graph: &Graph| {
            let records = graph.iter().map(|(path, it)| (path.to_string(), format!("{it:?}")));
            let records: BTreeMap<String, String> = records.collect();
            (records, graph.sources(&["two".to_owned(), "two.md".to_owned()]))
        });
    }
}
