//! Executes the text operations of a page's program.

use std::collections::BTreeMap;
use std::rc::Rc;

use lopdf::content::{Content, Operation};
use lopdf::{DecompressError, Dictionary, Document, Error, Object, ObjectId};

use super::font::Font;

/// The most bytes of a program.
pub(super) const MAX_CONTENT: usize = 16 << 20;
/// The most work for a page: an operation is 1.
const MAX_WORK: usize = 2_000_000;
const FONT_WORK: usize = 20_000;
/// This many bytes of a form's program count as one operation.
const BYTES_OF_WORK: usize = 8;
/// The work after which the painter checks again whether the text is still wanted.
const CHECK: usize = 4_096;
/// The maximum number of cached fonts.
const MAX_FONTS: usize = 256;
/// How deeply forms and saved states may be nested.
const MAX_NESTING_OF_FORMS: (usize, usize) = (4, 64);

#[derive(Debug, Clone, Copy)]
struct Matrix([f32; 6]);

impl Matrix {
    const IDENTITY: Self = Self([1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);

    /// Applies `self`, then `other`.
    fn then(self, other: Self) -> Self {
        let ([a, b, c, d, e, f], [g, h, i, j, k, l]) = (self.0, other.0);
        Self([
            a * g + b * i,
            a * h + b * j,
            c * g + d * i,
            c * h + d * j,
            e * g + f * i + k,
            e * h + f * j + l,
        ])
    }

    fn moved(self, x: f32, y: f32) -> Self {
        Self([1.0, 0.0, 0.0, 1.0, x, y]).then(self)
    }
}

/// The fonts and forms that a program can name.
struct Resources<'a> {
    fonts: BTreeMap<Vec<u8>, &'a Dictionary>,
    all: Vec<&'a Dictionary>,
}

/// Where a run of text ended.
#[derive(Clone, Copy)]
struct End {
    x: f32,
    y: f32,
    size: f32,
}

#[derive(Clone)]
struct TextState<'a> {
    place: Matrix,
    font: Option<Rc<Font<'a>>>,
    size: f32,
    leading: f32,
    /// Added to the width of each character, and of each blank.
    spacing: (f32, f32),
}

/// Performs programs of pages.
pub(super) struct Painter<'a> {
    document: &'a Document,
    is_over: &'a dyn Fn() -> bool,
    text: String,
    last: Option<End>,
    work: usize,
    /// By the address of their dictionary.
    fonts: BTreeMap<usize, Rc<Font<'a>>>,
}

impl<'a> Painter<'a> {
    /// A painter that stops in the middle of a page once `is_over` returns true.
    pub fn new(document: &'a Document, is_over: &'a dyn Fn() -> bool) -> Self {
        let (text, fonts) = (String::new(), BTreeMap::new());
        Self { document, is_over, text, last: None, work: 0, fonts }
    }

    /// The work of the last page.
    pub fn work(&self) -> usize {
        self.work
    }

    /// The text of a page; a page that cannot be read has none.
    ///
    /// # Errors
    /// The page's program is too large.
    pub fn page(&mut self, id: ObjectId) -> Result<String, Error> {
        let document = self.document;
        self.text.clear();
        (self.last, self.work) = (None, 0);
        let content = match document.get_page_content_with_limit(id, MAX_CONTENT) {
            Ok(content) => content,
            Err(error @ Error::Decompress(DecompressError::MemoryLimitExceeded { .. })) => {
                return Err(error);
            }
            Err(_) => return Ok(String::new()),
        };
        let fonts = document.get_page_fonts(id).unwrap_or_default();
        self.work += fonts.len();
        let (own, inherited) = document.get_page_resources(id).unwrap_or_default();
        let inherited = inherited.iter().filter_map(|id| document.get_dictionary(*id).ok());
        let all = own.into_iter().chain(inherited).collect();
        self.paint(&content, &Resources { fonts, all }, Matrix::IDENTITY, 0);
        Ok(cleaned(&self.text))
    }

    fn paint(&mut self, program: &[u8], resources: &Resources<'a>, place: Matrix, depth: usize) {
        let mut state =
            TextState { place, font: None, size: 1.0, leading: 0.0, spacing: (0.0, 0.0) };
        let mut saved: Vec<TextState<'a>> = Vec::new();
        let (mut line, mut at) = (Matrix::IDENTITY, Matrix::IDENTITY);
        for operation in Content::decode_iter(program) {
            // The rest of a damaged program cannot be read.
            let Ok(Operation { operator, operands }) = operation else { return };
            self.work += 1;
            if self.work > MAX_WORK || (self.work.is_multiple_of(CHECK) && (self.is_over)()) {
                return;
            }
            let number =
                |at: usize| operands.get(at).and_then(|it| it.as_float().ok()).unwrap_or(0.0);
            let matrix = || Matrix(std::array::from_fn(number));
            let mut go = |line: &mut Matrix, x, y| {
                *line = line.moved(x, y);
                at = *line;
            };
            match operator.as_str() {
                "q" if saved.len() < MAX_NESTING_OF_FORMS.1 => saved.push(state.clone()),
                "Q" => state = saved.pop().unwrap_or(state),
                "cm" => state.place = matrix().then(state.place),
                "BT" => (line, at) = (Matrix::IDENTITY, Matrix::IDENTITY),
                "Tf" => {
                    let name = operands.first().and_then(|name| name.as_name().ok());
                    let font = name.and_then(|name| resources.fonts.get(name));
                    state.font = font.map(|font| self.font(font));
                    state.size = number(1);
                }
                "TL" => state.leading = number(0),
                "Tc" => state.spacing.0 = number(0),
                "Tw" => state.spacing.1 = number(0),
                "Tm" => (line, at) = (matrix(), matrix()),
                "Td" => go(&mut line, number(0), number(1)),
                "TD" => {
                    state.leading = -number(1);
                    go(&mut line, number(0), number(1));
                }
                "T*" => go(&mut line, 0.0, -state.leading),
                "Tj" => self.show(&operands, &state, &mut at),
                "TJ" => {
                    if let Some(Object::Array(pieces)) = operands.first() {
                        self.show(pieces, &state, &mut at);
                    }
                }
                "'" => {
                    go(&mut line, 0.0, -state.leading);
                    self.show(&operands, &state, &mut at);
                }
                "\"" => {
                    state.spacing = (number(1), number(0));
                    go(&mut line, 0.0, -state.leading);
                    self.show(operands.get(2..).unwrap_or_default(), &state, &mut at);
                }
                "Do" if depth < MAX_NESTING_OF_FORMS.0 => {
                    let name = operands.first().and_then(|name| name.as_name().ok());
                    if let Some(name) = name {
                        self.form(name, resources, state.place, depth);
                    }
                }
                _ => {}
            }
        }
    }

    /// Text of a form, which is a separate program.
    fn form(&mut self, name: &[u8], resources: &Resources<'a>, place: Matrix, depth: usize) {
        let document = self.document;
        let named = |all: &&'a Dictionary| {
            let forms = all.get_deref(b"XObject", document).ok()?.as_dict().ok()?;
            forms.get_deref(name, document).ok()?.as_stream().ok()
        };
        let Some(form) = resources.all.iter().find_map(named) else { return };
        let program = form.decompressed_content_with_limit(MAX_CONTENT);
        self.work += program.as_ref().map_or(MAX_CONTENT, Vec::len) / BYTES_OF_WORK;
        let Ok(program) = program else { return };
        let own = form.dict.get_deref(b"Resources", document).and_then(Object::as_dict);
        let matrix = form.dict.get_deref(b"Matrix", document).and_then(Object::as_array);
        let matrix = matrix
            .ok()
            .filter(|numbers| numbers.len() == 6)
            .map(|numbers| Matrix(std::array::from_fn(|at| numbers[at].as_float().unwrap_or(0.0))));
        let place = matrix.unwrap_or(Matrix::IDENTITY).then(place);
        let of_form;
        let resources = match own {
            Ok(own) => {
                of_form = Resources { fonts: self.fonts_of(own), all: vec![own] };
                self.work += of_form.fonts.len();
                &of_form
            }
            Err(_) => resources,
        };
        self.paint(&program, resources, place, depth + 1);
    }

    fn fonts_of(&self, resources: &'a Dictionary) -> BTreeMap<Vec<u8>, &'a Dictionary> {
        let document = self.document;
        let fonts = resources.get_deref(b"Font", document).and_then(Object::as_dict);
        let named = fonts.ok().into_iter().flat_map(|fonts| fonts.iter());
        named
            .filter_map(|(name, font)| {
                let (_, font) = document.dereference(font).ok()?;
                Some((name.clone(), font.as_dict().ok()?))
            })
            .collect()
    }

    fn font(&mut self, font: &'a Dictionary) -> Rc<Font<'a>> {
        let key = std::ptr::from_ref(font).addr();
        if let Some(known) = self.fonts.get(&key) {
            return Rc::clone(known);
        }
        if self.fonts.len() >= MAX_FONTS {
            self.fonts.clear();
        }
        self.work += FONT_WORK;
        let made = Rc::new(Font::new(self.document, font));
        self.fonts.insert(key, Rc::clone(&made));
        made
    }

    /// Shows strings, with the gaps between them.
    fn show(&mut self, pieces: &[Object], state: &TextState<'a>, at: &mut Matrix) {
        let Some(font) = &state.font else { return };
        for piece in pieces {
            match piece {
                Object::String(bytes, _) => {
                    let text = font.text(bytes);
                    let before = at.then(state.place);
                    *at = at.moved(font.width(bytes, state.size, state.spacing), 0.0);
                    self.add(&text, before, at.then(state.place), state.size);
                }
                gap => {
                    let thousandths = gap.as_float().unwrap_or(0.0);
                    *at = at.moved(-thousandths / 1_000.0 * state.size, 0.0);
                }
            }
        }
    }

    /// Adds a run of text, after a blank or on a new line where it does not continue the one before it.
    fn add(&mut self, text: &str, from: Matrix, to: Matrix, size: f32) {
        // Unreadable text leaves a gap.
        if text.is_empty() {
            return;
        }
        let [a, b, c, d, x, y] = from.0;
        let size = (size * c.hypot(d)).abs();
        if let Some(last) = self.last {
            // Distances along the line, which may be rotated, and across it.
            let length = a.hypot(b);
            let (u, v) = if length > 0.0 { (a / length, b / length) } else { (1.0, 0.0) };
            let along = (x - last.x) * u + (y - last.y) * v;
            let down = ((y - last.y) * u - (x - last.x) * v).abs();
            let large = size.max(last.size);
            if down > large * 0.55 {
                self.text.push_str(if down > large * 1.9 { "\n\n" } else { "\n" });
            } else if !(-large..=size * 0.15).contains(&along)
                && !self.text.ends_with(char::is_whitespace)
                && !text.starts_with(char::is_whitespace)
            {
                self.text.push(' ');
            }
        }
        self.text.push_str(text);
        self.last = Some(End { x: to.0[4], y: to.0[5], size });
    }
}

/// Removes control characters and ends of lines, and splits ligatures, which hide words from a search.
fn cleaned(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for line in text.trim().lines() {
        for c in line.trim_end().chars() {
            match c {
                '\u{fb00}' => clean.push_str("ff"),
                '\u{fb01}' => clean.push_str("fi"),
                '\u{fb02}' => clean.push_str("fl"),
                '\u{fb03}' => clean.push_str("ffi"),
                '\u{fb04}' => clean.push_str("ffl"),
                '\u{fb05}' | '\u{fb06}' => clean.push_str("st"),
                '\u{a0}' => clean.push(' '),
                c if c.is_control() || c == '\u{ad}' => {}
                c => clean.push(c),
            }
        }
        clean.push('\n');
    }
    clean.trim_end().to_owned()
}
