//! PDFs made here, whole and damaged.

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
    // Protected against changes alone: every viewer opens it.
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
