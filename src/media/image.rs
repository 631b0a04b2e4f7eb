//! Images for a model: decoded, turned upright, scaled down, and encoded again.
//!
//! Every image is decoded: one that is damaged would make a vendor refuse all later requests of its
//! conversation. Encoding it again leaves out its metadata, such as the place where a photo was taken.

use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use crate::locks::lock;

use image::codecs::jpeg::JpegEncoder;
use image::metadata::Orientation;
use image::{
    DynamicImage, ImageDecoder as _, ImageError, ImageFormat, ImageReader, Limits, RgbImage,
};

/// The longest side of an image for a model, in pixels. Vendors scale larger ones down to it
/// anyway.
pub const MAX_SIDE: u32 = 1_568;

/// The most bytes of an image for a model.
pub const MAX_BYTES: usize = 768 << 10;

/// The most bytes of a decoded image: about 64 million pixels of a photo.
const MAX_DECODED: u64 = 192 << 20;

/// The longest side of a file, in pixels.
const MAX_FILE_SIDE: u32 = 32_768;

/// Images are decoded one at a time, which bounds their memory.
static DECODING: Mutex<()> = Mutex::new(());

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Png,
    Jpeg,
    Gif,
    WebP,
}

/// An image for a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scaled {
    /// The media type: `image/png` or `image/jpeg`.
    pub mime: &'static str,
    /// The encoded image, at most [`MAX_BYTES`].
    pub bytes: Vec<u8>,
    /// Width and height in pixels, each at most [`MAX_SIDE`].
    pub size: (u32, u32),
    /// Width and height of the file, upright.
    pub original: (u32, u32),
}

/// Why a file cannot be read as an image.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadImage {
    /// It would take too much memory.
    #[error("has {width} × {height} pixels, which is too large to decode")]
    TooLarge { width: u32, height: u32 },
    #[error("is damaged or cut short: {0}")]
    Damaged(String),
}

words!(pub Format::name { Png => "PNG", Jpeg => "JPEG", Gif => "GIF", WebP => "WebP" });

words!(pub Format::mime {
    Png => "image/png", Jpeg => "image/jpeg", Gif => "image/gif", WebP => "image/webp",
});

impl Format {
    /// The format by the first bytes of a file, regardless of its name.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(Self::Png),
            [0xff, 0xd8, 0xff, ..] => Some(Self::Jpeg),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Self::Gif),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Self::WebP),
            _ => None,
        }
    }

    fn decoded_as(self) -> ImageFormat {
        match self {
            Self::Png => ImageFormat::Png,
            Self::Jpeg => ImageFormat::Jpeg,
            Self::Gif => ImageFormat::Gif,
            Self::WebP => ImageFormat::WebP,
        }
    }
}

/// The image for a model; for an animation, its first frame. The same bytes always give the same
/// image.
pub fn scaled(format: Format, bytes: &[u8]) -> Result<Scaled, BadImage> {
    scaled_to(format, bytes, MAX_SIDE)
}

/// As [`scaled`], with at most `side` pixels on its longer side.
pub fn scaled_to(format: Format, bytes: &[u8], side: u32) -> Result<Scaled, BadImage> {
    if format == Format::Jpeg && !has_end(bytes) {
        return Err(BadImage::Damaged("its end is missing".to_owned()));
    }
    let _alone = lock(&DECODING);
    let work = AssertUnwindSafe(|| {
        let image = decoded(format, bytes)?;
        let original = (image.width(), image.height());
        let image =
            if original.0.max(original.1) > side { image.thumbnail(side, side) } else { image };
        encoded(image, format, original)
    });
    catch_unwind(work).unwrap_or_else(|_| Err(BadImage::Damaged("decoding it failed".to_owned())))
}

fn decoded(format: Format, bytes: &[u8]) -> Result<DynamicImage, BadImage> {
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_FILE_SIDE);
    limits.max_image_height = Some(MAX_FILE_SIDE);
    limits.max_alloc = Some(MAX_DECODED);
    // Reads only the header: the decoder's limits refuse without the size that the message needs.
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format.decoded_as());
    reader.no_limits();
    let (width, height) = reader.into_dimensions().map_err(|error| damaged_image(&error))?;
    let too_large = || BadImage::TooLarge { width, height };
    if width.max(height) > MAX_FILE_SIDE {
        return Err(too_large());
    }
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format.decoded_as());
    reader.limits(limits);
    let fault = |error: &ImageError| match error {
        ImageError::Limits(_) => too_large(),
        error => damaged_image(error),
    };
    let mut decoder = reader.into_decoder().map_err(|error| fault(&error))?;
    if decoder.total_bytes() > MAX_DECODED {
        return Err(too_large());
    }
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let mut image = DynamicImage::from_decoder(decoder).map_err(|error| fault(&error))?;
    image.apply_orientation(orientation);
    Ok(image)
}

/// Photos as JPEG, all else as PNG if that is small enough.
fn encoded(image: DynamicImage, format: Format, original: (u32, u32)) -> Result<Scaled, BadImage> {
    let failed = |error: ImageError| BadImage::Damaged(error.to_string());
    let has_alpha = image.color().has_alpha();
    if format != Format::Jpeg {
        let image = if has_alpha {
            DynamicImage::ImageRgba8(image.to_rgba8())
        } else {
            DynamicImage::ImageRgb8(image.to_rgb8())
        };
        let mut png = Cursor::new(Vec::new());
        image.write_to(&mut png, ImageFormat::Png).map_err(failed)?;
        let (bytes, size) = (png.into_inner(), (image.width(), image.height()));
        if bytes.len() <= MAX_BYTES {
            return Ok(Scaled { mime: Format::Png.mime(), bytes, size, original });
        }
    }
    let mut image = opaque(&image);
    loop {
        let size = image.dimensions();
        for quality in [85, 60] {
            let mut bytes = Vec::new();
            JpegEncoder::new_with_quality(&mut bytes, quality)
                .encode_image(&image)
                .map_err(failed)?;
            if bytes.len() <= MAX_BYTES {
                return Ok(Scaled { mime: Format::Jpeg.mime(), bytes, size, original });
            }
        }
        // Only noise gets here, no photo.
        image = image::imageops::thumbnail(&image, (size.0 / 2).max(1), (size.1 / 2).max(1));
    }
}

/// The image on white: JPEG has no transparency, and dark text on a transparent background needs
/// white.
fn opaque(image: &DynamicImage) -> RgbImage {
    if !image.color().has_alpha() {
        return image.to_rgb8();
    }
    let image = image.to_rgba8();
    RgbImage::from_fn(image.width(), image.height(), |x, y| {
        let [red, green, blue, alpha] = image.get_pixel(x, y).0;
        let on_white = |part: u8| {
            let (part, alpha) = (u32::from(part), u32::from(alpha));
            ((part * alpha + 255 * (255 - alpha)) / 255) as u8
        };
        image::Rgb([on_white(red), on_white(green), on_white(blue)])
    })
}

fn damaged_image(error: &ImageError) -> BadImage {
    // Each cause below repeats the one above.
    BadImage::Damaged(error.to_string().chars().filter(|c| !c.is_control()).take(200).collect())
}

/// Whether the marker of a JPEG's end follows its image data. The decoder fills a missing part with grey.
fn has_end(bytes: &[u8]) -> bool {
    let mut at = 2;
    while let Some([0xff, marker, rest @ ..]) = bytes.get(at..) {
        match (marker, rest) {
            // Padding before a marker.
            (0xff, _) => at += 1,
            // The image data: the marker of the end cannot occur in it.
            (0xda, data) => return data.windows(2).any(|pair| pair == [0xff, 0xd9]),
            (_, [high, low, ..]) => at += 2 + usize::from(u16::from_be_bytes([*high, *low])),
            _ => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use image::{GrayImage, Rgba, RgbaImage};
    use proptest::prelude::*;

    use super::*;

    fn written(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
        let mut bytes = Cursor::new(Vec::new());
        image.write_to(&mut bytes, format).unwrap();
        bytes.into_inner()
    }

    /// Like a photo to the encoders: smooth, with an edge.
    fn scene(width: u32, height: u32) -> DynamicImage {
        DynamicImage::ImageRgb8(RgbImage::from_fn(width, height, |x, y| {
            let light = if x > y { 40 } else { 0 };
            image::Rgb([(x * 200 / width) as u8, (y * 200 / height) as u8, light])
        }))
    }

    fn given(bytes: &[u8]) -> Result<Scaled, BadImage> {
        scaled(Format::of(bytes).expect("a format"), bytes)
    }

    #[test]
    fn each_format_is_given_as_one_that_every_vendor_takes() {
        let formats = [
            (ImageFormat::Png, "image/png"),
            (ImageFormat::Gif, "image/png"),
            (ImageFormat::WebP, "image/png"),
            (ImageFormat::Jpeg, "image/jpeg"),
        ];
        for (format, mime) in formats {
            let scaled = given(&written(&scene(40, 30), format)).unwrap();
            assert_eq!((scaled.mime, scaled.size, scaled.original), (mime, (40, 30), (40, 30)));
            let again = image::load_from_memory(&scaled.bytes).unwrap();
            assert_eq!((again.width(), again.height()), (40, 30));
        }
    }

    #[test]
    fn a_large_image_is_made_small() {
        let scaled = given(&written(&scene(3_000, 2_000), ImageFormat::Png)).unwrap();
        assert_eq!((scaled.size, scaled.original), ((1_568, 1_045), (3_000, 2_000)));
        assert!(scaled.bytes.len() <= MAX_BYTES);
        // Noise: no encoder makes it small, so it is scaled further.
        let mut state = 1_u32;
        let noise = RgbaImage::from_fn(1_500, 1_500, |_, _| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            Rgba([(state >> 24) as u8, (state >> 16) as u8, (state >> 8) as u8, 255])
        });
        let scaled = given(&written(&noise.into(), ImageFormat::Png)).unwrap();
        assert!(scaled.bytes.len() <= MAX_BYTES && scaled.size.0 < 1_500, "{:?}", scaled.size);
    }

    #[test]
    fn transparent_parts_of_a_large_image_are_white() {
        let clear = RgbaImage::from_pixel(4, 4, Rgba([0, 0, 0, 0]));
        assert_eq!(opaque(&clear.into()).get_pixel(1, 1).0, [255, 255, 255]);
        let half = RgbaImage::from_pixel(4, 4, Rgba([0, 0, 0, 127]));
        assert_eq!(opaque(&half.into()).get_pixel(1, 1).0, [128, 128, 128]);
    }

    #[test]
    fn a_bomb_is_refused_before_memory_is_used() {
        // A header alone, that claims 30,000 × 30,000 pixels.
        let mut png = written(&GrayImage::new(1, 1).into(), ImageFormat::Png);
        let side = 30_000_u32.to_be_bytes();
        png[16..20].copy_from_slice(&side);
        png[20..24].copy_from_slice(&side);
        let crc = crc(&png[12..29]).to_be_bytes();
        png[29..33].copy_from_slice(&crc);
        let refused = given(&png).unwrap_err();
        assert_eq!(refused, BadImage::TooLarge { width: 30_000, height: 30_000 });
    }

    fn crc(bytes: &[u8]) -> u32 {
        !bytes.iter().fold(!0_u32, |crc, byte| {
            (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
                if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 }
            })
        })
    }

    #[test]
    fn an_image_that_is_cut_short_is_an_error() {
        for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Gif, ImageFormat::WebP] {
            let whole = written(&scene(64, 64), format);
            for part in [20, whole.len() / 2, whole.len() - whole.len() / 4] {
                let cut = given(&whole[..part]);
                assert!(matches!(cut, Err(BadImage::Damaged(_))), "{format:?} {part}: {cut:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn damage_never_panics(
            at in 0_usize..4_000,
            with in any::<u8>(),
            format in prop_oneof![
                Just(ImageFormat::Png), Just(ImageFormat::Jpeg), Just(ImageFormat::Gif), Just(ImageFormat::WebP)
            ],
        ) {
            let mut bytes = written(&scene(24, 24), format);
            let at = at % bytes.len();
            bytes[at] = with;
            if let Some(format) = Format::of(&bytes) {
                let _ = scaled(format, &bytes);
            }
        }
    }
}
