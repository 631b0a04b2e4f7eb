//! Missing documentation, and documentation that repeats names.

use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{Attribute, Field, Fields, ImplItemFn, Item, TraitItemFn, Variant, Visibility};

use crate::source::Files;

/// Derives that hand documentation on to people and programs, as help or as a schema.
const READ_BY_OTHERS: &[&str] =
    &["Args", "Deserialize", "JsonSchema", "Parser", "Subcommand", "TS", "ValueEnum"];

/// Words that add nothing to a name.
const FILLERS: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "has", "have", "here", "how",
    "if", "in", "is", "it", "its", "many", "much", "not", "of", "on", "one", "or", "so", "some",
    "that", "the", "their", "them", "there", "these", "they", "this", "those", "to", "was", "were",
    "what", "where", "whether", "which", "who", "whose", "with",
];

/// Public items of public types without documentation, and fields and variants of which it only repeats the name.
pub fn faults(files: &Files) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, file) in files.iter().filter(|(name, _)| name.starts_with("src/")) {
        let public = file.items.iter().filter_map(public_type).collect();
        let mut reader = Reader { file: name, public, found: Vec::new(), read_by_others: false };
        reader.visit_file(file);
        faults.append(&mut reader.found);
    }
    faults
}

struct Reader<'a> {
    file: &'a str,
    /// Types of the file that the whole house may name.
    public: Vec<&'a syn::Ident>,
    found: Vec<String>,
    /// Whether what surrounds has its documentation read by others.
    read_by_others: bool,
}

impl Reader<'_> {
    fn wants(&mut self, vis: Option<&Visibility>, attrs: &[Attribute], name: &syn::Ident) {
        let is_public = vis.is_none_or(|vis| matches!(vis, Visibility::Public(_)));
        if is_public && doc(attrs).is_empty() {
            self.fault(name, "is public and has no documentation");
        }
    }

    fn adds(&mut self, attrs: &[Attribute], name: &syn::Ident, of: &str) {
        let lines = doc(attrs);
        let [line] = lines.as_slice() else { return };
        let known: Vec<_> = split(&format!("{name} {of}")).iter().map(|word| stem(word)).collect();
        let says =
            |word: &String| !FILLERS.contains(&word.as_str()) && !known.contains(&stem(word));
        let has_more = line.contains(|c: char| c.is_ascii_digit() || c == '`');
        if !self.read_by_others && !has_more && !split(line).iter().any(says) {
            self.fault(name, &format!("has documentation that repeats its name: {line}"));
        }
    }

    fn is_public(&self, of: &syn::Type) -> bool {
        let syn::Type::Path(path) = of else { return false };
        path.path.segments.last().is_some_and(|last| self.public.contains(&&last.ident))
    }

    fn fault(&mut self, name: &syn::Ident, what: &str) {
        self.found.push(format!("{}:{}: `{name}` {what}", self.file, name.span().start().line));
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        match item {
            Item::Mod(it) if !matches!(it.vis, Visibility::Public(_)) => return,
            Item::Fn(it) => self.wants(Some(&it.vis), &it.attrs, &it.sig.ident),
            Item::Struct(it) => self.wants(Some(&it.vis), &it.attrs, &it.ident),
            Item::Enum(it) => self.wants(Some(&it.vis), &it.attrs, &it.ident),
            Item::Trait(it) => self.wants(Some(&it.vis), &it.attrs, &it.ident),
            Item::Type(it) => self.wants(Some(&it.vis), &it.attrs, &it.ident),
            Item::Const(it) => self.wants(Some(&it.vis), &it.attrs, &it.ident),
            // The trait documents its methods.
            Item::Impl(it) if it.trait_.is_some() || !self.is_public(&it.self_ty) => return,
            _ => {}
        }
        self.read_by_others = match item {
            Item::Struct(it) => is_read_by_others(&it.attrs),
            Item::Enum(it) => is_read_by_others(&it.attrs),
            _ => false,
        };
        visit::visit_item(self, item);
        self.read_by_others = false;
    }

    fn visit_impl_item_fn(&mut self, it: &'ast ImplItemFn) {
        self.wants(Some(&it.vis), &it.attrs, &it.sig.ident);
    }

    fn visit_trait_item_fn(&mut self, it: &'ast TraitItemFn) {
        self.wants(None, &it.attrs, &it.sig.ident);
    }

    fn visit_field(&mut self, it: &'ast Field) {
        if let Some(name) = &it.ident {
            self.adds(&it.attrs, name, &it.ty.span().source_text().unwrap_or_default());
        }
    }

    fn visit_variant(&mut self, it: &'ast Variant) {
        let fields = match &it.fields {
            Fields::Unnamed(fields) => fields.span().source_text().unwrap_or_default(),
            _ => String::new(),
        };
        self.adds(&it.attrs, &it.ident, &fields);
        visit::visit_variant(self, it);
    }
}

fn public_type(item: &Item) -> Option<&syn::Ident> {
    let (vis, name) = match item {
        Item::Struct(it) => (&it.vis, &it.ident),
        Item::Enum(it) => (&it.vis, &it.ident),
        _ => return None,
    };
    matches!(vis, Visibility::Public(_)).then_some(name)
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

/// The words of a name, a type or a sentence, in lower case: `NewSet` and `new_set` are two.
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

/// A word without the endings of English.
fn stem(word: &str) -> String {
    let ends = ["ing", "ies", "ed", "es", "s", "d", "e"];
    let cut = |end: &str| word.strip_suffix(end).filter(|rest| rest.len() >= 3);
    ends.into_iter().find_map(cut).unwrap_or(word).to_owned()
}
