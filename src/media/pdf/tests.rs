//! Generated PDFs, intact and damaged.

use lopdf::{Stream, dictionary};
use proptest::prelude::*;

use super::painter::MAX_CONTENT;
use super::{read as read_within, *};

fn read(bytes: &[u8], first: usize, most: usize) -> Result<PdfText, BadPdf> {
    read_within(bytes, first, &Bounds { bytes: most, pages: 200, is_over: &|| false })
}

/// A PDF whose pages have these programs, in a font without widths.
fn document(programs: &[&[u8]]) -> Document {
    let mut document = Document::with_version("1.5");
    let parent = document.new_object_id();
    let font = document.add_object(dictionary! {
        "Type" => "Font", "Subtype" => "Type1", "BaseFont" => "Helvetica",
        "Encoding" => "WinAnsiEncoding",
    });
    let form = Stream::new(
        dictionary! {
            "Type" => "XObject", "Subtype" => "Form", "BBox" => vec![0.into(), 0.into(), 9.into(), 9.into()],
            "Resources" => dictionary! { "Font" => dictionary! { "G" => font } },
        },
        b"BT /G 10 Tf 0 0 Td (of a form) Tj ET".to_vec(),
    );
    let form = document.add_object(form);
    let resources = dictionary! {
        "Font" => dictionary! { "F" => font }, "XObject" => dictionary! { "X" => form },
    };
    let pages: Vec<Object> = programs
        .iter()
        .map(|program| {
            let mut content = Stream::new(Dictionary::new(), program.to_vec());
            content.compress().unwrap();
            let content = document.add_object(content);
            let page = dictionary! {
                "Type" => "Page", "Parent" => parent, "Contents" => content,
                "Resources" => resources.clone(),
            };
            document.add_object(page).into()
        })
        .collect();
    let count = pages.len() as i64;
    let tree = dictionary! { "Type" => "Pages", "Kids" => pages, "Count" => count };
    document.objects.insert(parent, tree.into());
    let catalog = document.add_object(dictionary! { "Type" => "Catalog", "Pages" => parent });
    document.trailer.set("Root", catalog);
    document
}

/// The text of a program in this font, in which `FILE` is a stream with these bytes.
fn text_in(mut font: Dictionary, file: &[u8], program: &str) -> String {
    let mut document = document(&[format!("BT /F 10 Tf 72 700 Td {program} Tj ET").as_bytes()]);
    let mut file = Stream::new(Dictionary::new(), file.to_vec());
    file.compress().unwrap();
    let file = Object::from(document.add_object(file));
    let descriptor = dictionary! { "Type" => "FontDescriptor", "FontFile" => file.clone() };
    if font.has(b"FontDescriptor") {
        font.set("FontDescriptor", document.add_object(descriptor));
    }
    if font.has(b"ToUnicode") {
        font.set("ToUnicode", file);
    }
    font.set("Type", "Font");
    let is_font = |object: &Object| object.as_dict().is_ok_and(|it| it.has_type(b"Font"));
    let known = document.objects.iter().find(|(_, object)| is_font(object)).map(|(id, _)| *id);
    document.objects.insert(known.unwrap(), font.into());
    read(&written(document), 1, 10_000).unwrap().pages.remove(0)
}

fn written(mut document: Document) -> Vec<u8> {
    let mut bytes = Vec::new();
    document.save_to(&mut bytes).unwrap();
    bytes
}

fn pdf(programs: &[&str]) -> Vec<u8> {
    written(document(&programs.iter().map(|program| program.as_bytes()).collect::<Vec<_>>()))
}

fn text(program: &str) -> String {
    read(&pdf(&[program]), 1, 10_000).unwrap().pages.remove(0)
}

#[test]
fn words_and_lines_follow_from_where_they_are_painted() {
    for (program, wanted) in [
        ("72 700 Td (One) Tj ( line) Tj 0 -12 Td (Another) Tj", "One line\nAnother"),
        ("72 700 Td [(W) 80 (ord) -300 (next)] TJ", "Word next"),
        ("14 TL 72 700 Td (One) Tj T* (two) Tj (three) '", "One\ntwo\nthree"),
        ("1 0 0 1 72 700 Tm (One) Tj 1 0 0 1 100 700 Tm (two) Tj", "One two"),
        ("1 0 0 1 72 700 Tm (One) Tj 1 0 0 1 87 700 Tm (s) Tj", "Ones"),
        ("72 700 Td (x) Tj 6 4 Td (2) Tj 20 -4 Td (y) Tj", "x2 y"),
        ("72 700 Td (A title) Tj 0 -30 Td (The text) Tj", "A title\n\nThe text"),
        ("72 700 Td (caf\\351 \\223so\\224) Tj", "café “so”"),
        (
            "0 1 -1 0 72 100 Tm [(Turned) -300 (words)] TJ 0 1 -1 0 84 100 Tm (below) Tj",
            "Turned words\nbelow",
        ),
    ] {
        assert_eq!(text(&format!("BT /F 10 Tf {program} ET")), wanted, "{program}");
    }
}

#[test]
fn ligatures_follow_from_the_names_of_glyphs() {
    let names = |names: &[&str]| {
        let names = names.iter().map(|name| Object::Name(name.as_bytes().to_vec()));
        [Object::Integer(11)].into_iter().chain(names).collect::<Vec<_>>()
    };
    let of = |subtype: &str, base: Option<&str>, differences: &[&str]| {
        let mut encoding = dictionary! { "Differences" => names(differences) };
        if let Some(base) = base {
            encoding.set("BaseEncoding", base);
        }
        dictionary! { "Subtype" => subtype, "Encoding" => encoding }
    };
    let read = |font, text: &str| text_in(font, b"", text);
    let all = "(o\\013er \\014nd \\015ow o\\016ce ba\\017e)";
    let plain = "offer find flow office baffle";
    assert_eq!(read(of("Type1", None, &["ff", "fi", "fl", "ffi", "ffl"]), all), plain);
    assert_eq!(
        read(of("TrueType", None, &["f_f", "f_i", "f_l.alt", "f_f_i", "f_f_l"]), all),
        plain
    );
    assert_eq!(
        read(of("Type1", None, &["uniFB00", "uFB01", "f_l", "uni0066_fi", "ff_l"]), all),
        plain
    );
    // The glyphs of TeX's bitmap fonts.
    assert_eq!(read(of("Type3", None, &["a11", "a12", "a13", "a14", "a15"]), all), plain);
    // Unknown names do not affect the others.
    let unknown = of("Type1", Some("WinAnsiEncoding"), &[".notdef", "fi", "g7", "ffi"]);
    assert_eq!(read(unknown, "(caf\\351 \\014ne\\013\\015 o\\016ce)"), "café fine office");
}

#[test]
fn a_font_without_a_stated_encoding_has_its_own_or_those_of_tex() {
    let own = b"%!PS-AdobeFont-1.0: CMR10\n/Encoding 256 array\n0 1 255 {1 index exch /.notdef put} for\n\
        dup 11 /ff put\ndup 12/fi put\ndup 34 /quotedblright put\ndup 92 /quotedblleft put\n\
        dup 300 /x put\nreadonly def\ncurrentfile eexec\ndup 105 /x put\n";
    let font = |has_file| {
        let mut font = dictionary! { "Subtype" => "Type1", "BaseFont" => "ABCDEF+CMR10" };
        if has_file {
            font.set("FontDescriptor", Object::Null);
        }
        font
    };
    let text = "(\\134o\\013 a \\014t\\042 \\035ve \\017)";
    assert_eq!(text_in(font(true), own, text), "“off a fit” ve");
    assert_eq!(text_in(font(false), b"", "(o\\013 a \\014t, \\035ve)"), "off a fit, flve");
    assert_eq!(text_in(font(true), b"no font", "(o\\013 it)"), "o it");
    // `Differences` take precedence over both.
    let mut differs = font(true);
    let list = vec![Object::Integer(11), Object::Name(b"x".to_vec())];
    differs.set("Encoding", dictionary! { "Differences" => list });
    assert_eq!(text_in(differs, own, "(o\\013 a \\014t)"), "ox a fit");
}

#[test]
fn long_lists_of_names_end() {
    let names = vec![Object::Name(b"a_b".repeat(20)); 200_000];
    let font = dictionary! {
        "Subtype" => "Type1", "Encoding" => dictionary! { "Differences" => names },
    };
    assert_eq!(text_in(font, b"", "(Text)"), "Text");
    let own = [b"/Encoding 256 array ".to_vec(), b"dup 11 /f_f put ".repeat(60_000)].concat();
    let font = dictionary! { "Subtype" => "Type1", "FontDescriptor" => Object::Null };
    assert_eq!(text_in(font, &own, "(o\\013)"), "off");
}

#[test]
fn the_table_for_copying_counts_before_the_encoding() {
    let table = b"/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n\
        /CIDSystemInfo\n<< /Registry (Adobe)\n/Ordering (UCS)\n/Supplement 0\n>> def\n\
        /CMapName /Adobe-Identity-UCS def\n/CMapType 2 def\n\
        1 begincodespacerange\n<00> <ff>\nendcodespacerange\n\
        2 beginbfchar\n<0c> <00660069>\n<41> <00e9>\nendbfchar\nendcmap\n\
        CMapName currentdict /CMap defineresource pop\nend\nend\n";
    let list =
        vec![Object::Integer(12), Object::Name(b"fl".to_vec()), Object::Name(b"ffl".to_vec())];
    let font = dictionary! {
        "Subtype" => "Type1", "ToUnicode" => Object::Null,
        "Encoding" => dictionary! { "Differences" => list },
    };
    // The encoding applies to codes that it lacks.
    assert_eq!(text_in(font, table, "(A \\014t ba\\015e)"), "é fit baffle");
}

#[test]
fn text_of_forms_is_text_of_the_page() {
    assert_eq!(
        text("BT /F 10 Tf 72 700 Td (Text) Tj ET q 1 0 0 1 72 600 cm /X Do Q"),
        "Text\n\nof a form"
    );
}

#[test]
fn pages_are_given_as_far_as_there_is_room() {
    let page = |word: &str| format!("BT /F 10 Tf 72 700 Td ({word}) Tj ET");
    let programs = ["first", "second", "third"].map(page);
    let bytes = pdf(&[&programs[0], &programs[1], "q Q", &programs[2]]);
    let all = read(&bytes, 1, 1_000).unwrap();
    assert_eq!(
        (all.pages, all.total),
        (vec!["first".into(), "second".into(), String::new(), "third".into()], 4)
    );
    let some = read(&bytes, 2, 60).unwrap();
    assert_eq!((some.pages, some.is_cut), (vec!["second".to_owned(), String::new()], false));
    let cut = read(&bytes, 1, 3).unwrap();
    assert_eq!((cut.pages, cut.is_cut), (vec!["fir".to_owned()], true));
    assert_eq!(read(&bytes, 5, 10), Err(BadPdf::NoPage { total: 4 }));
}

#[test]
fn a_caller_that_gives_up_is_not_kept_waiting() {
    let bytes = pdf(&["BT /F 10 Tf 72 700 Td (Text) Tj ET"]);
    let bounds = |is_over| Bounds { bytes: 1_000, pages: 1, is_over };
    assert_eq!(read_within(&bytes, 1, &bounds(&|| true)), Err(BadPdf::Cancelled));
    assert!(read_within(&bytes, 1, &bounds(&|| false)).is_ok());
}

#[test]
fn a_bomb_is_refused() {
    let blanks = vec![b' '; MAX_CONTENT + 1];
    let bytes = written(document(&[&blanks]));
    assert!(bytes.len() < 100_000);
    assert_eq!(read(&bytes, 1, 1_000), Err(BadPdf::TooLarge));
    // Arrays in arrays, deeper than any stack.
    let deep = [b"BT /F 10 Tf ".to_vec(), vec![b'['; 1_000_000]].concat();
    assert!(read(&written(document(&[&deep])), 1, 1_000).is_ok());
    let mut nested = b"%PDF-1.5\n1 0 obj\n".to_vec();
    nested.extend(vec![b'['; 1_000_000]);
    assert!(read(&nested, 1, 1_000).is_err());
}

#[test]
fn an_encrypted_file_is_said_to_be_one() {
    use lopdf::{EncryptionState, EncryptionVersion, Permissions, StringFormat};
    let encrypted = |user_password| {
        let mut document = document(&[b"BT /F 10 Tf 72 700 Td (Text) Tj ET"]);
        let id = Object::String(b"0123456789abcdef".to_vec(), StringFormat::Literal);
        document.trailer.set("ID", vec![id.clone(), id]);
        let (owner_password, permissions) = ("owner", Permissions::all());
        let version = EncryptionVersion::V1 {
            document: &document,
            owner_password,
            user_password,
            permissions,
        };
        let state = EncryptionState::try_from(version).unwrap();
        document.encrypt(&state).unwrap();
        read(&written(document), 1, 1_000)
    };
    assert_eq!(encrypted("secret"), Err(BadPdf::Encrypted));
    // Protected against changes only: every viewer opens it.
    assert_eq!(encrypted("").unwrap().pages, ["Text"]);
}

#[test]
fn a_form_that_shows_itself_ends() {
    let mut document = document(&[b"/X Do"]);
    let form = document.objects.iter().find_map(|(id, object)| {
        let kind = object.as_stream().ok()?.dict.get(b"Subtype").ok()?;
        (kind.as_name().ok()? == b"Form").then_some(*id)
    });
    let form = form.unwrap();
    let Some(Object::Stream(stream)) = document.objects.get_mut(&form) else { panic!() };
    stream.dict.set("Resources", dictionary! { "XObject" => dictionary! { "X" => form } });
    stream.set_plain_content(b"/X Do /X Do /X Do".repeat(100));
    assert!(read(&written(document), 1, 1_000).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn damage_never_ends_the_program(at in any::<prop::sample::Index>(), with in any::<u8>(), cut in any::<bool>()) {
        let mut bytes = pdf(&["BT /F 10 Tf 72 700 Td (Text) Tj ET /X Do", "q Q"]);
        let at = at.index(bytes.len());
        if cut { bytes.truncate(at) } else { bytes[at] = with }
        let _ = read(&bytes, 1, 1_000);
    }
}
