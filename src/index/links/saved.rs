//! The saved form of the link graph.

use std::sync::Arc;

use hashbrown::HashMap;

use super::graph::{Graph, Linkpath, linkpath_of_key, parts, parts_of_key};
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
        concat!("steward links 5 ", env!("CARGO_PKG_VERSION"), "\n").as_bytes();

    /// The linkpaths come first, by key, and links refer to them by their places: looking up each of millions of links
    /// by its text took most of the time.
    fn load(&mut self, saved: &[u8], same: &SameAs<'_>) -> Option<()> {
        let mut rest = Fields(saved);
        let mut linkpaths = Vec::new();
        for _ in 0..rest.small()? {
            let key = rest.packed_text()?;
            linkpaths.push((key.into(), linkpath_of_key(key)?));
        }
        let mut places = Vec::new();
        while !rest.0.is_empty() {
            let path = VaultPath::from_disk(rest.packed_text()?)?;
            let stamp = (rest.packed()?, rest.packed()?.cast_signed());
            let identity = rest.packed()?;
            places.clear();
            let links = (0..rest.small()?).map(|_| link(&mut rest, &linkpaths, &mut places));
            let links = links.collect::<Option<_>>()?;
            let tags = (0..rest.small()?).map(|_| tag(&mut rest)).collect::<Option<_>>()?;
            if same.is_same(&path, stamp, Some(identity)) {
                let record = Record { stamp, identity, links, tags, ..Record::default() };
                self.put_linked(path, record, &mut linkpaths, places.drain(..));
            }
        }
        self.set_linkpaths(linkpaths);
        Some(())
    }

    fn save(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put(&mut bytes, self.keys().len() as u64);
        self.keys().for_each(|key| put_text(&mut bytes, key));
        let places: HashMap<_, _> = self.keys().map(parts_of_key).zip(1..).collect();
        // Incomplete records are read again in the next run.
        let known = self.iter().filter(|(_, record)| !record.unsure && record.gap.is_none());
        for (path, record) in known {
            let (size, modified) = record.stamp;
            put_text(&mut bytes, path.as_str());
            for number in [size, modified.cast_unsigned(), record.identity] {
                put(&mut bytes, number);
            }
            put(&mut bytes, record.links.len() as u64);
            for link in &record.links {
                let place = parts(link, path).and_then(|parts| places.get(&Some(parts)).copied());
                let own = place.is_none() || !link.is_shared();
                let form = number(link.form) * 2 + u64::from(own);
                for number in [place.unwrap_or(0), form, link.line.into(), link.start.into()] {
                    put(&mut bytes, number);
                }
                if own {
                    put_text(&mut bytes, &link.text);
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

/// Reads a link, and adds the place of its linkpath to `places`, if it has one.
fn link(
    rest: &mut Fields<'_>,
    linkpaths: &[(Box<str>, Linkpath)],
    places: &mut Vec<usize>,
) -> Option<StoredLink> {
    let place = usize::try_from(rest.packed()?).ok()?.checked_sub(1);
    let form = rest.packed()?;
    let (line, start) = (rest.small()?, rest.small()?);
    let path = match place {
        Some(place) => Some(linkpaths.get(place)?.1.text()),
        None => None,
    };
    let path_len = u32::try_from(path.map_or(0, |path| path.len())).ok()?;
    let text = match (form % 2 == 1, path) {
        (true, _) => rest.packed_text()?.into(),
        (false, path) => Arc::clone(path?),
    };
    places.extend(place);
    let form = *FORMS.get(usize::try_from(form / 2).ok()?)?;
    Some(StoredLink { text, path_len, form, line, start })
}

fn tag(rest: &mut Fields<'_>) -> Option<StoredTag> {
    Some(StoredTag { name: rest.packed_text()?.into(), uses: rest.small()? })
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

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
            ("Two.md", "[[#here]] [[]] [[Two#h|d]] [[two]]\n"),
            (
                "folder/One.md",
                "[up](../Two.md) [[../Two.md|up]] [same](./One.md) [[Two]] [[Two]]\n",
            ),
            (
                "Map.canvas",
                r#"{"nodes":[{"id":"a","type":"file","file":"One.md"},{"id":"b","type":"text","text":"[[Two]]"}],"edges":[]}"#,
            ),
        ];
        check::survives(&files, |graph: &Graph| {
            let records = graph.iter().map(|(path, it)| (path.to_string(), format!("{it:?}")));
            let records: BTreeMap<String, String> = records.collect();
            let sources = graph.linkpaths().map(|linkpath| {
                let paths = linkpath.sources.iter().filter_map(|number| graph.file(*number));
                paths.map(|(path, _)| path.to_string()).collect::<BTreeSet<_>>()
            });
            let keys = graph.keys().map(str::to_owned);
            (records, keys.zip(sources).collect::<Vec<_>>(), graph.links)
        });
    }
}
