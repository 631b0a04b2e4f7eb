//! Reading images.

use std::io::Cursor;

use image::{DynamicImage, ImageFormat, Rgb, RgbImage};
use serde_json::json;
use vault_steward::note::code::ErrorCode::{BinaryFile, InvalidInput, TooLarge};
use vault_steward::tools::Image;
use vault_steward::vault::nonblocking::attempt;

use crate::vault::{TestVault, vault};

fn image(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
    let image = RgbImage::from_fn(width, height, |x, y| Rgb([x as u8, y as u8, 90]));
    let mut bytes = Cursor::new(Vec::new());
    DynamicImage::ImageRgb8(image).write_to(&mut bytes, format).expect("encoded");
    bytes.into_inner()
}

fn put(vault: &TestVault, path: &str, bytes: &[u8]) {
    std::fs::write(vault.place.join(path), bytes).expect("written");
}

#[test]
fn an_image_is_given_small_and_its_text_says_what_it_is() {
    let vault = vault(&[]);
    put(&vault, "plan.png", &image(2_000, 1_000, ImageFormat::Png));
    let answer = vault.call("read_file", &json!({"path": "PLAN.png"})).expect("an image");
    let (size, text) = (&answer.data["image"], &answer.text);
    assert_eq!(size, &json!({"width": 2000, "height": 1000}), "{text}");
    assert_eq!(
        (&answer.data["encoding"], &answer.data["total_lines"], &answer.data["content"]),
        (&json!("image/png"), &json!(0), &json!("")),
    );
    assert!(text.starts_with("plan.png\nPNG image, 2000 × 1000 pixels, "), "{text}");
    assert!(text.contains(", scaled to 1568 × 784\n"), "{text}");
    assert!(answer.read_updates.is_empty(), "a text may not replace it unread");
    let given = answer.image.expect("an image");
    assert_eq!((&*given.path, given.mime), ("plan.png", "image/png"));
    let revision = answer.data["revision"].as_str().expect("a revision");
    assert_eq!(given.revision, revision);
    // The same image again while the file is unchanged, and never another one.
    let context = &vault.context.vault;
    assert_eq!(Image::again(context, "plan.png", revision).as_ref(), Some(&*given));
    put(&vault, "plan.png", &image(20, 10, ImageFormat::Png));
    assert_eq!(Image::again(context, "plan.png", revision), None);
    assert_eq!(Image::again(context, "gone.png", revision), None);
}

#[test]
fn the_content_decides_what_an_image_is() {
    let vault = vault(&[
        ("drawing.svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"/>"),
        ("about.gif", "GIF89a is a format\n"),
    ]);
    put(&vault, "photo.png", &image(30, 20, ImageFormat::Jpeg));
    let answer = vault.call("read_file", &json!({"path": "photo.png"})).expect("an image");
    assert!(answer.text.starts_with("photo.png\nJPEG image, 30 × 20 pixels"), "{}", answer.text);
    for text in ["drawing.svg", "about.gif"] {
        let answer = vault.call("read_file", &json!({"path": text})).expect("text");
        assert_eq!((&answer.data["total_lines"], answer.image), (&json!(1), None), "{text}");
    }
    put(&vault, "scan.bmp", b"BM\0\0\0\0rest");
    let refused = vault.err("read_file", json!({"path": "scan.bmp"}), BinaryFile);
    let hint = refused.hint.expect("a hint");
    assert!(hint.contains("PNG, JPEG, GIF and WebP images can be read"), "{hint}");
}

#[test]
fn an_image_that_cannot_be_shown_is_an_error_that_says_why() {
    let vault = vault(&[]);
    let png = image(64, 64, ImageFormat::Png);
    put(&vault, "cut.png", &png[..png.len() / 2]);
    let cut = vault.err("read_file", json!({"path": "cut.png"}), BinaryFile);
    assert!(
        cut.message.starts_with("`cut.png` is a PNG image that is damaged or cut short"),
        "{cut}"
    );
    // A GIF of a few bytes that claims 65,535 × 65,535 pixels.
    let mut bomb = b"GIF89a\xff\xff\xff\xff\0\0\0,\0\0\0\0\xff\xff\xff\xff\0\x02".to_vec();
    bomb.extend([0x02, 0x44, 0x01, 0x00, 0x3b]);
    put(&vault, "bomb.gif", &bomb);
    let large = vault.err("read_file", json!({"path": "bomb.gif"}), TooLarge);
    assert!(large.message.contains("65535 × 65535 pixels, which is too large"), "{large}");
    put(&vault, "whole.png", &png);
    let lines = vault.err("read_file", json!({"path": "whole.png", "start_line": 1}), InvalidInput);
    assert!(lines.message.contains("is an image and has no lines"), "{lines}");
    let read = || vault.call("read_file", &json!({"path": "whole.png"}));
    assert!(read().is_ok());
    assert!(attempt(read).is_none(), "decoding is not for a thread that must not wait");
}
