//! The names of the classic dialect.

/// The fields with their aliases, in lower case and without `_`.
const FIELDS: [(Field, &[&str]); 8] = [
    (Field::Name, &["name", "filename", "basename"]),
    (Field::Ext, &["ext", "extension", "fileext"]),
    (Field::Size, &["size", "filesize"]),
    (Field::Path, &["path", "filepath"]),
    (Field::ModifiedAt, &["modifiedat", "modified", "mtime", "filemodifiedat"]),
    (Field::CreatedAt, &["createdat", "created", "ctime", "filecreatedat"]),
    (Field::MimeType, &["mimetype", "mime", "filemimetype"]),
    (Field::IsHidden, &["ishidden", "hidden", "fileishidden"]),
];

/// The spelling of each field, in the order of [`Field`].
pub(super) const NAMES: [&str; 8] =
    ["name", "ext", "size", "path", "modifiedAt", "createdAt", "mimeType", "isHidden"];

pub(super) const FUNCTIONS: [&str; 5] =
    ["contains", "startsWith", "endsWith", "matches", "vector_similarity"];

pub(super) const MEDIA_TYPES: [(&str, &str); 57] = [
    ("md", "text/markdown"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("svg", "image/svg+xml"),
    ("bmp", "image/bmp"),
    ("avif", "image/avif"),
    ("ico", "image/x-icon"),
    ("tif", "image/tiff"),
    ("tiff", "image/tiff"),
    ("heic", "image/heic"),
    ("heif", "image/heif"),
    ("mp3", "audio/mpeg"),
    ("m4a", "audio/mp4"),
    ("wav", "audio/wav"),
    ("ogg", "audio/ogg"),
    ("opus", "audio/ogg"),
    ("aac", "audio/aac"),
    ("flac", "audio/flac"),
    ("mp4", "video/mp4"),
    ("mov", "video/quicktime"),
    ("mkv", "video/x-matroska"),
    ("avi", "video/x-msvideo"),
    ("mpeg", "video/mpeg"),
    ("mpg", "video/mpeg"),
    ("ogv", "video/ogg"),
    ("webm", "video/webm"),
    ("txt", "text/plain"),
    ("csv", "text/csv"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("ics", "text/calendar"),
    ("rtf", "text/rtf"),
    ("css", "text/css"),
    ("xml", "text/xml"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("canvas", "application/json"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("zip", "application/zip"),
    ("gz", "application/gzip"),
    ("tar", "application/x-tar"),
    ("7z", "application/x-7z-compressed"),
    ("rar", "application/x-rar-compressed"),
    ("epub", "application/epub+zip"),
    ("odt", "application/vnd.oasis.opendocument.text"),
    ("ods", "application/vnd.oasis.opendocument.spreadsheet"),
    ("doc", "application/msword"),
    ("xls", "application/vnd.ms-excel"),
    ("ppt", "application/vnd.ms-powerpoint"),
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Name,
    Ext,
    Size,
    Path,
    ModifiedAt,
    CreatedAt,
    MimeType,
    IsHidden,
}

/// The field of this name or alias, in camel or snake case.
pub(super) fn field(name: &str) -> Option<Field> {
    let name = name.replace('_', "").to_ascii_lowercase();
    FIELDS.iter().find(|(_, names)| names.contains(&&*name)).map(|(field, _)| *field)
}
