//! The sources as a tree of modules, with every path that each file names.
//!
//! `syn` parses; names are resolved as the compiler would for what this project does: aliases,
//! globs, re-exports, `#[path]`, paths inside macro calls. Types are not known, so a method call
//! names nothing.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::ext::IdentExt as _;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

/// The most redirections of one name before it counts as unresolved: aliases may form a cycle.
const MAX_STEPS: usize = 40;

type ModuleId = usize;

/// Parsed files by their paths from the root.
pub type Files = BTreeMap<String, syn::File>;

/// All modules of the library; the first is its root.
pub struct Sources {
    modules: Vec<Module>,
    /// Every path that is named, in the order of the files.
    pub references: Vec<Reference>,
}

#[derive(Default)]
struct Module {
    path: Vec<String>,
    parent: Option<ModuleId>,
    children: BTreeMap<String, ModuleId>,
    /// Items by name, with the files that define each: one per platform.
    items: BTreeMap<String, Vec<String>>,
    imports: Vec<Import>,
}

struct Import {
    /// The name in scope; none for a glob.
    name: Option<String>,
    target: Vec<String>,
}

/// A path as written in a file.
pub struct Reference {
    pub file: String,
    pub line: usize,
    pub path: Vec<String>,
    /// Whether only tests are compiled with it.
    pub is_test: bool,
    /// Whether it is a `use`.
    pub is_import: bool,
    /// Whether an inherent `impl` names its type with it.
    pub is_impl: bool,
    module: ModuleId,
}

/// The target of a path.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// Every module that the path goes through, re-exports included, as their paths.
    pub through: BTreeSet<Vec<String>>,
    /// The item, with the module and the file that define it; none where the path ends at a module.
    pub item: Option<Item>,
    /// The crate, if it is not ours.
    pub external: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    pub module: Vec<String>,
    pub files: Vec<String>,
    pub name: String,
}

enum Target {
    Module(ModuleId),
    Item(ModuleId, String),
    External(String),
}

impl Sources {
    /// Reads the library below `src/lib.rs`, and `src/main.rs` as a sibling module. `files` has
    /// every file by its path from the root.
    pub fn read(files: &Files) -> Self {
        let mut sources = Self { modules: vec![Module::default()], references: Vec::new() };
        sources.file(files, 0, "src/lib.rs", "src", false);
        if files.contains_key("src/main.rs") {
            let main = sources.child(0, "main");
            sources.file(files, main, "src/main.rs", "src", false);
        }
        sources
    }

    fn child(&mut self, parent: ModuleId, name: &str) -> ModuleId {
        if let Some(known) = self.modules[parent].children.get(name) {
            return *known;
        }
        let mut path = self.modules[parent].path.clone();
        path.push(name.to_owned());
        let id = self.modules.len();
        self.modules.push(Module { path, parent: Some(parent), ..Module::default() });
        self.modules[parent].children.insert(name.to_owned(), id);
        id
    }

    /// Reads a file. `folder` is the folder of its child modules.
    fn file(&mut self, files: &Files, module: ModuleId, name: &str, folder: &str, is_test: bool) {
        let parsed = files.get(name).unwrap_or_else(|| panic!("`{name}` is declared and missing"));
        let mut reader = Reader {
            sources: self,
            files,
            file: name,
            folder: folder.to_owned(),
            module,
            is_test,
            is_import: false,
            is_impl: false,
        };
        reader.visit_file(parsed);
    }

    /// Where a path leads.
    pub fn resolve(&self, reference: &Reference) -> Resolved {
        let mut resolved = Resolved::default();
        match self.follow(reference.module, &reference.path, &mut resolved.through, MAX_STEPS) {
            Some(Target::Item(module, name)) => {
                let defined = &self.modules[module];
                // A macro call may define items that no file shows.
                let files = defined.items.get(&name).cloned().unwrap_or_default();
                resolved.item = Some(Item { module: defined.path.clone(), files, name });
            }
            Some(Target::External(name)) => resolved.external = Some(name),
            Some(Target::Module(_)) | None => {}
        }
        resolved
    }

    fn follow(
        &self,
        from: ModuleId,
        path: &[String],
        through: &mut BTreeSet<Vec<String>>,
        steps: usize,
    ) -> Option<Target> {
        let (first, mut rest) = path.split_first()?;
        let mut at = match first.as_str() {
            "crate" | "vault_steward" => 0,
            "self" => from,
            "super" => self.modules[from].parent?,
            name => match self.look_up(from, name, through, steps)? {
                Target::Module(module) => module,
                done => return Some(done),
            },
        };
        while let Some((next, after)) = rest.split_first() {
            through.insert(self.modules[at].path.clone());
            rest = after;
            at = match next.as_str() {
                "super" => self.modules[at].parent?,
                "self" => at,
                name => match self.look_up_in(at, name, through, steps) {
                    Some(Target::Module(module)) => module,
                    Some(done) => return Some(done),
                    None => return Some(Target::Item(at, name.to_owned())),
                },
            };
        }
        through.insert(self.modules[at].path.clone());
        Some(Target::Module(at))
    }

    /// An unqualified name: an item of the module, or a crate.
    fn look_up(
        &self,
        module: ModuleId,
        name: &str,
        through: &mut BTreeSet<Vec<String>>,
        steps: usize,
    ) -> Option<Target> {
        let found = self.look_up_in(module, name, through, steps);
        Some(found.unwrap_or_else(|| Target::External(name.to_owned())))
    }

    /// A name in a module: defined there, declared as a module, or imported.
    fn look_up_in(
        &self,
        module: ModuleId,
        name: &str,
        through: &mut BTreeSet<Vec<String>>,
        steps: usize,
    ) -> Option<Target> {
        let steps = steps.checked_sub(1)?;
        let here = &self.modules[module];
        if here.items.contains_key(name) {
            through.insert(here.path.clone());
            return Some(Target::Item(module, name.to_owned()));
        }
        if let Some(child) = here.children.get(name) {
            return Some(Target::Module(*child));
        }
        if let Some(import) = here.imports.iter().find(|one| one.name.as_deref() == Some(name)) {
            return match &import.target[..] {
                [only] if only == name => Some(Target::External(name.to_owned())),
                target => self.follow(module, target, through, steps),
            };
        }
        here.imports.iter().filter(|import| import.name.is_none()).find_map(|glob| {
            let mut tried = BTreeSet::new();
            let Some(Target::Module(opened)) = self.follow(module, &glob.target, &mut tried, steps)
            else {
                return None;
            };
            if opened == module {
                return None;
            }
            let found = self.look_up_in(opened, name, &mut tried, steps)?;
            through.append(&mut tried);
            Some(found)
        })
    }
}

struct Reader<'a> {
    sources: &'a mut Sources,
    files: &'a Files,
    file: &'a str,
    folder: String,
    module: ModuleId,
    is_test: bool,
    is_import: bool,
    is_impl: bool,
}

impl Reader<'_> {
    fn name(&mut self, path: Vec<String>, line: usize) {
        self.sources.references.push(Reference {
            file: self.file.to_owned(),
            line,
            path,
            is_test: self.is_test,
            is_import: self.is_import,
            is_impl: self.is_impl,
            module: self.module,
        });
    }

    fn name_path(&mut self, path: &syn::Path) {
        let names = path.segments.iter().map(|segment| segment.ident.unraw().to_string());
        self.name(names.collect(), path.span().start().line);
    }

    fn define(&mut self, name: &syn::Ident) {
        let items = &mut self.sources.modules[self.module].items;
        items.entry(name.unraw().to_string()).or_default().push(self.file.to_owned());
    }

    fn import(&mut self, tree: &syn::UseTree, before: &[String]) {
        let line = tree.span().start().line;
        let (name, target) = match tree {
            syn::UseTree::Path(path) => {
                let mut longer = before.to_vec();
                longer.push(path.ident.unraw().to_string());
                return self.import(&path.tree, &longer);
            }
            syn::UseTree::Group(group) => {
                return group.items.iter().for_each(|tree| self.import(tree, before));
            }
            syn::UseTree::Glob(_) => (None, before.to_vec()),
            syn::UseTree::Name(name) => {
                let name = name.ident.unraw().to_string();
                let mut target = before.to_vec();
                match name.as_str() {
                    "self" => (before.last().cloned(), target),
                    _ => {
                        target.push(name.clone());
                        (Some(name), target)
                    }
                }
            }
            syn::UseTree::Rename(rename) => {
                let mut target = before.to_vec();
                if rename.ident != "self" {
                    target.push(rename.ident.unraw().to_string());
                }
                (Some(rename.rename.unraw().to_string()), target)
            }
        };
        self.name(target.clone(), line);
        self.sources.modules[self.module].imports.push(Import { name, target });
    }

    /// The paths in the tokens of a macro call.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let (mut line, mut colons) = (0, 0);
        for tree in tokens {
            match tree {
                TokenTree::Ident(ident) => {
                    if colons != 2 && !path.is_empty() {
                        self.name(std::mem::take(&mut path), line);
                    }
                    if path.is_empty() {
                        line = ident.span().start().line;
                    }
                    path.push(ident.unraw().to_string());
                    colons = 0;
                }
                TokenTree::Punct(sign) if sign.as_char() == ':' => colons += 1,
                other => {
                    if !path.is_empty() {
                        self.name(std::mem::take(&mut path), line);
                    }
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.tokens(group.stream());
                    }
                }
            }
        }
        if !path.is_empty() {
            self.name(path, line);
        }
    }
}

fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg")
                && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
    })
}

/// The files that may contain a module, by its attributes: one per platform.
fn path_attributes(attributes: &[syn::Attribute]) -> Vec<String> {
    fn path(meta: &syn::Meta) -> Option<String> {
        let syn::Meta::NameValue(pair) = meta else { return None };
        let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) = &pair.value else {
            return None;
        };
        pair.path.is_ident("path").then(|| text.value())
    }
    let listed = |attribute: &syn::Attribute| {
        if attribute.path().is_ident("cfg_attr") {
            attribute
                .parse_args_with(Punctuated::<syn::Meta, syn::Token![,]>::parse_terminated)
                .map(|metas| metas.iter().filter_map(path).collect())
                .unwrap_or_default()
        } else {
            path(&attribute.meta).into_iter().collect::<Vec<_>>()
        }
    };
    attributes.iter().flat_map(listed).collect()
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let (attributes, name) = match item {
            syn::Item::Const(item) => (&item.attrs, Some(&item.ident)),
            syn::Item::Enum(item) => (&item.attrs, Some(&item.ident)),
            syn::Item::Fn(item) => (&item.attrs, Some(&item.sig.ident)),
            syn::Item::Impl(item) => (&item.attrs, None),
            syn::Item::Macro(item) => (&item.attrs, item.ident.as_ref()),
            syn::Item::Mod(item) => (&item.attrs, None),
            syn::Item::Static(item) => (&item.attrs, Some(&item.ident)),
            syn::Item::Struct(item) => (&item.attrs, Some(&item.ident)),
            syn::Item::Trait(item) => (&item.attrs, Some(&item.ident)),
            syn::Item::Type(item) => (&item.attrs, Some(&item.ident)),
            syn::Item::Use(item) => (&item.attrs, None),
            _ => return visit::visit_item(self, item),
        };
        let before = self.is_test;
        self.is_test |= is_for_tests(attributes);
        if let Some(name) = name {
            self.define(name);
        }
        visit::visit_item(self, item);
        self.is_test = before;
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.is_import = true;
        self.import(&item.tree, &[]);
        self.is_import = false;
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let name = item.ident.unraw().to_string();
        let child = self.sources.child(self.module, &name);
        if let Some((_, items)) = &item.content {
            let outer = (self.module, self.folder.clone());
            (self.module, self.folder) = (child, format!("{}/{name}", self.folder));
            items.iter().for_each(|item| self.visit_item(item));
            (self.module, self.folder) = outer;
            return;
        }
        let folder_of_file = self.file.rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut names: Vec<String> = path_attributes(&item.attrs)
            .into_iter()
            .map(|path| format!("{folder_of_file}/{path}"))
            .collect();
        if names.is_empty() {
            let own = format!("{}/{name}/mod.rs", self.folder);
            names.push(if self.files.contains_key(&own) {
                own
            } else {
                format!("{}/{name}.rs", self.folder)
            });
        }
        let (files, is_test) = (self.files, self.is_test);
        for file in names {
            let stem = file.trim_end_matches(".rs").trim_end_matches("/mod").to_owned();
            self.sources.file(files, child, &file, &stem, is_test);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if let (None, syn::Type::Path(of)) = (&item.trait_, &*item.self_ty) {
            self.is_impl = true;
            self.name_path(&of.path);
            self.is_impl = false;
        }
        visit::visit_item_impl(self, item);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.name_path(path);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        visit::visit_macro(self, call);
        self.tokens(call.tokens.clone());
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        let before = self.is_test;
        self.is_test |= is_for_tests(&item.attrs);
        visit::visit_impl_item_fn(self, item);
        self.is_test = before;
    }

    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}
}
