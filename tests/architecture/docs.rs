//! Documentation that only repeats names, and files without a description.

use syn::visit::{self, Visit};
use syn::{Attribute, Field, Fields, ImplItemFn, Item, ItemFn, TraitItemFn, Variant};

use crate::source::Files;

/// Derives that pass documentation on to people and programs, as help or as a schema.
const READ_BY_OTHERS: &[&str] =
    &["Args", "Deserialize", "JsonSchema", "Parser", "Subcommand", "TS", "ValueEnum"];

/// Words that add nothing to a name.
const FILLERS: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "has", "have", "here", "how",
    "if", "in", "is", "it", "its", "many", "much", "not", "of", "on", "one", "or", "so", "some",
    "that", "the", "their", "them", "there", "these", "they", "this", "those", "to", "was", "were",
    "what", "where", "whether", "which", "who", "whose", "with",
];

/// Files without a description, and items whose documentation only repeats their name.
pub fn faults(files: &Files) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, file) in files.iter().filter(|(name, _)| name.starts_with("src/")) {
        let is_test = name.trim_end_matches(".rs").ends_with("tests");
        if !is_test && doc(&file.attrs).is_empty() {
            faults.push(format!("{name}:1: does not begin with what the file is for (`//!`)"));
        }
        let mut reader =
            Reader { file: name, of: String::new(), found: Vec::new(), read_by_others: false };
        reader.visit_file(file);
        faults.append(&mut reader.found);
    }
    faults
}

struct Reader<'a> {
    file: &'a str,
    /// The type that the visited functions belong to.
    of: String,
    found: Vec<String>,
    /// Whether the documentation of the surrounding item is shown to users.
    read_by_others: bool,
}

impl Reader<'_> {
    /// Reports documentation in which every word is a filler or occurs in the name or in `context`,
    /// which is the type or signature.
    fn adds(&mut self, attrs: &[Attribute], name: &syn::Ident, context: &str) {
        let lines = doc(attrs);
        let [line] = lines.as_slice() else { return };
        let known = format!("{name} {context}");
        let known: Vec<_> = split(&known).iter().map(|word| stem(word)).collect();
        let says =
            |word: &String| !FILLERS.contains(&word.as_str()) && !known.contains(&stem(word));
        // A second clause, a number or code adds more than its words show.
        let has_more = line.contains(|c: char| c.is_ascii_digit() || "`,;:".contains(c));
        if !self.read_by_others && !has_more && !split(line).iter().any(says) {
            let at = format!("{}:{}", self.file, name.span().start().line);
            let fault = format!("{at}: `{name}` has documentation that repeats its name: {line}");
            self.found.push(fault);
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        let (attrs, name) = match item {
            Item::Struct(it) => (&it.attrs, Some(&it.ident)),
            Item::Enum(it) => (&it.attrs, Some(&it.ident)),
            Item::Trait(it) => (&it.attrs, Some(&it.ident)),
            Item::Fn(it) => (&it.attrs, None),
            Item::Impl(it) => (&it.attrs, None),
            _ => return visit::visit_item(self, item),
        };
        self.read_by_others = is_read_by_others(attrs);
        self.of = match item {
            Item::Impl(it) => text(&it.self_ty),
            Item::Trait(it) => it.ident.to_string(),
            _ => String::new(),
        };
        if let Some(name) = name {
            self.adds(attrs, name, "");
        }
        visit::visit_item(self, item);
        self.read_by_others = false;
        self.of.clear();
    }

    fn visit_item_fn(&mut self, it: &'ast ItemFn) {
        self.adds(&it.attrs, &it.sig.ident, &text(&it.sig));
        visit::visit_item_fn(self, it);
    }

    fn visit_impl_item_fn(&mut self, it: &'ast ImplItemFn) {
        let context = format!("{} {}", self.of, text(&it.sig));
        self.adds(&it.attrs, &it.sig.ident, &context);
    }

    fn visit_trait_item_fn(&mut self, it: &'ast TraitItemFn) {
        let context = format!("{} {}", self.of, text(&it.sig));
        self.adds(&it.attrs, &it.sig.ident, &context);
    }

    fn visit_field(&mut self, it: &'ast Field) {
        if let Some(name) = &it.ident {
            self.adds(&it.attrs, name, &text(&it.ty));
        }
    }

    fn visit_variant(&mut self, it: &'ast Variant) {
        let fields = match &it.fields {
            Fields::Unnamed(fields) => text(fields),
            _ => String::new(),
        };
        self.adds(&it.attrs, &it.ident, &fields);
        visit::visit_variant(self, it);
    }
}

/// The source text of the tokens.
fn text(node: &impl syn::spanned::Spanned) -> String {
    node.span().source_text().unwrap_or_default()
}

fn is_read_by_others(attrs: &[Attribute]) -> bool {
    attrs.iter().filter_map(|attr| attr.meta.require_list().ok()).any(|list| {
        let derived = list.tokens.to_string();
        let mut names = derived.split(|c: char| !c.is_ascii_alphanumeric());
        list.path.is_ident("derive") && names.any(|name| READ_BY_OTHERS.contains(&name))
    })
}

/// The lines of an item's documentation.
fn doc(attrs: &[Attribute]) -> Vec<String> {
    let text = |attr: &Attribute| match &attr.meta.require_name_value().ok()?.value {
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Some(text.value()),
        _ => None,
    };
    attrs.iter().filter(|attr| attr.path().is_ident("doc")).filter_map(text).collect()
}

/// The words of a name, a type or a sentence, in lower case: `NewSet` and `new_set` both have two.
fn split(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before = ' ';
    for c in text.chars() {
        let goes_on = before.is_alphabetic() && (!c.is_uppercase() || before.is_uppercase());
        match words.last_mut() {
            Some(word) if c.is_alphabetic() && goes_on => word.extend(c.to_lowercase()),
            _ if c.is_alphabetic() => words.push(c.to_lowercase().collect()),
            _ => {}
        }
        before = c;
    }
    words
}

/// A word without English endings.
fn stem(word: &str) -> String {
    let ends = ["ing", "ies", "ed", "es", "s", "d", "e"];
    let cut = |end: &str| word.strip_suffix(end).filter(|rest| rest.len() >= 3);
    ends.into_iter().find_map(cut).unwrap_or(word).to_owned()
}
