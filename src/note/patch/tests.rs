use proptest::prelude::*;

use super::*;
use crate::note::code::ErrorCode;
use crate::note::diff;

#[track_caller]
fn one(patch: &str) -> FilePatch {
    let mut files = parse(patch).unwrap();
    assert_eq!(files.len(), 1, "{files:?}");
    files.remove(0)
}

#[track_caller]
fn patched(file: &str, hunks: &str) -> String {
    let applied = apply(Some(file.as_bytes()), &one(&format!("--- a/n.md\n+++ b/n.md\n{hunks}")));
    String::from_utf8(applied.unwrap().bytes.unwrap()).unwrap()
}

#[track_caller]
fn misfits(file: &str, hunks: &str, message: &str) {
    let applied = apply(Some(file.as_bytes()), &one(&format!("--- a/n.md\n+++ b/n.md\n{hunks}")));
    assert_eq!(applied.unwrap_err().to_string(), message);
}

#[track_caller]
fn refused(patch: &str, message: &str) {
    assert_eq!(parse(patch).unwrap_err().to_string(), message);
}

const LETTERS: &str = "a\nb\nc\nd\ne\nf\ng\nh\n";

#[test]
fn plain_hunks() {
    assert_eq!(patched("a\nb\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"), "a\nB\nc\n");
    assert_eq!(patched("a\nb\n", "@@ -2 +2 @@ heading\n-b\n+B\n"), "a\nB\n");
    assert_eq!(
        patched(LETTERS, "@@ -1,2 +1,3 @@\n a\n+x\n b\n@@ -7,2 +8,1 @@\n g\n-h\n"),
        "a\nx\nb\nc\nd\ne\nf\ng\n"
    );
    assert_eq!(patched("a\nb\n", "@@ -1,0 +2 @@\n+x\n"), "a\nx\nb\n");
    assert_eq!(patched("", "@@ -0,0 +1,2 @@\n+x\n+y\n"), "x\ny\n");
    assert_eq!(patched("a\n", "@@ -1 +0,0 @@\n-a\n"), "");
    // Lines that look like headers, where the counts say what they are.
    assert_eq!(patched("-- x\ny\n", "@@ -1,2 +1,2 @@\n--- x\n+++ z\n y\n"), "++ z\ny\n");
    assert_eq!(patched("-- x\n", "@@ -1 +1 @@\n--- x\n+++ z\n"), "++ z\n");
}

#[test]
fn what_models_get_wrong_and_is_clear_anyway() {
    // Wrong counts, too many and too few.
    assert_eq!(patched("a\nb\nc\n", "@@ -1,9 +1,9 @@\n a\n-b\n+B\n c\n"), "a\nB\nc\n");
    assert_eq!(patched("a\nb\nc\n", "@@ -1,1 +1,1 @@\n a\n-b\n+B\n c\n"), "a\nB\nc\n");
    // No numbers.
    assert_eq!(patched("a\nb\nc\n", "@@ ... @@\n-b\n+B\n"), "a\nB\nc\n");
    assert_eq!(patched("a\nb\nc\n", "@@\n-b\n+B\n@@\n-c\n+C\n"), "a\nB\nC\n");
    // Empty context lines without their space; empty lines after the hunk.
    assert_eq!(patched("a\n\nb\n", "@@ -1,3 +1,3 @@\n a\n\n-b\n+B\n\n\n"), "a\n\nB\n");
    assert_eq!(patched("a\n\n", "@@ -1,2 +1,2 @@\n-a\n+A\n\n"), "A\n\n");
    // Cut after the last letter, fenced, with talk around it.
    assert_eq!(patched("a\nb\n", "@@ -2 +2 @@\n-b\n+B"), "a\nB\n");
    let fenced = "Here is it:\n```diff\n--- n.md\n+++ n.md\n@@ -1 +1 @@\n-a\n+b\n```\nDone!\n";
    assert_eq!(one(fenced).path, "n.md");
    // A wrong line number.
    assert_eq!(patched(LETTERS, "@@ -1,2 +1,2 @@\n e\n-f\n+F\n"), LETTERS.replace('f', "F"));
}

#[test]
fn headers() {
    for (header, path) in [
        ("--- a/x y.md\t2026-11-21 10:00:00\n+++ b/x y.md\t2026-11-21 10:00:01\n", "x y.md"),
        ("--- a/x.md\n+++ a/x.md\n", "a/x.md"),
        ("--- x.md\n+++ x.md\n", "x.md"),
        ("diff --git a/x.md b/x.md\nindex 12..34 100644\n--- a/x.md\n+++ b/x.md\n", "x.md"),
        (
            "--- \"a/caf\\303\\251 \\\"x\\\".md\"\n+++ \"b/caf\\303\\251 \\\"x\\\".md\"\n",
            "café \"x\".md",
        ),
        ("--- a/x.md\r\n+++ b/x.md\r\n", "x.md"),
        ("--- /x.md\n+++ /x.md\n", "/x.md"),
        ("--- a/../x.md\n+++ b/../x.md\n", "../x.md"),
    ] {
        assert_eq!(one(&format!("{header}@@ -1 +1 @@\n-a\n+b\n")).path, path, "{header}");
    }
    let two = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n--- /dev/null\n+++ b/y\n@@ -0,0 +1 @@\n+n\n";
    let files = parse(two).unwrap();
    assert_eq!(
        files.iter().map(|file| file.action).collect::<Vec<_>>(),
        [Action::Modify, Action::Create]
    );
    // Wrong counts do not swallow the next file.
    let files = parse(&two.replace("-1 +1", "-1,5 +1,5")).unwrap();
    assert_eq!(files.len(), 2);
    let mail = "From 1\nSubject: [PATCH] x\n---\n x | 2 +-\n\ndiff --git a/x b/x\n--- a/x\n+++ b/x\n\
                @@ -1 +1 @@\n-a\n+b\n-- \n2.43.0\n\n";
    assert_eq!(one(mail).hunks[0].lines.len(), 2);
}

#[test]
fn files_come_and_go() {
    let create =
        one("--- /dev/null\n+++ b/n.md\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n");
    assert_eq!(apply(None, &create).unwrap().bytes.unwrap(), b"a\nb");
    assert_eq!(apply(Some(b""), &create).unwrap_err().code(), ErrorCode::AlreadyExists);
    let delete = one("--- a/n.md\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n");
    assert_eq!(apply(Some(b"a\nb\n"), &delete).unwrap().bytes, None);
    assert_eq!(apply(Some(b"\xef\xbb\xbfa\r\nb"), &delete).unwrap().bytes, None);
    assert_eq!(apply(None, &delete).unwrap_err().code(), ErrorCode::NotFound);
    assert_eq!(
        apply(Some(b"a\nb\nc\n"), &delete).unwrap_err().to_string(),
        "the patch deletes `n.md` but leaves 1 of its lines"
    );
    let empty = one("diff --git a/x y b/x y\nnew file mode 100644\nindex 0..0\n");
    assert_eq!((&*empty.path, empty.action), ("x y", Action::Create));
    assert_eq!(apply(None, &empty).unwrap().bytes.unwrap(), b"");
    assert_eq!(apply(Some(b""), &empty.reverse()).unwrap().bytes, None);
    let wrong = one("--- /dev/null\n+++ b/n.md\n@@ -1 +1,2 @@\n a\n+b\n");
    assert_eq!(
        apply(None, &wrong).unwrap_err().to_string(),
        "hunk 1 for `n.md` has old lines, but the file is new"
    );
}

#[test]
fn line_endings_are_the_files() {
    // A patch with `\n` on a file with `\r\n`, and the reverse.
    assert_eq!(
        patched("a\r\nb\r\nc\r\n", "@@ -1,3 +1,4 @@\n a\n-b\n+B\n+x\n c\n"),
        "a\r\nB\r\nx\r\nc\r\n"
    );
    assert_eq!(patched("a\nb\n", "@@ -1,2 +1,2 @@\r\n a\r\n-b\r\n+B\r\n"), "a\nB\n");
    // A patch made for this mixed file.
    assert_eq!(patched("a\r\nb\n", "@@ -1,2 +1,3 @@\n a\r\n+x\r\n+y\n b\n"), "a\r\nx\r\ny\nb\n");
    // The end of the file, when the patch does not define it, and when it does.
    assert_eq!(patched("a\nb", "@@ -1,2 +1,3 @@\n a\n b\n+c\n"), "a\nb\nc");
    assert_eq!(patched("a\r\nb", "@@ -1,2 +1,2 @@\n a\n-b\n+B\n"), "a\r\nB");
    assert_eq!(patched("a\nb", "@@ -2 +2 @@\n-b\n\\ No newline at end of file\n+b\n"), "a\nb\n");
    assert_eq!(patched("a\nb\n", "@@ -2 +2 @@\n-b\n+b\n\\ No newline at end of file\n"), "a\nb");
    assert_eq!(patched("\u{feff}a\nb\n", "@@ -1,2 +1,2 @@\n-a\n+A\n b\n"), "\u{feff}A\nb\n");
    assert_eq!(patched("\u{feff}a\n", "@@ -1 +1,2 @@\n+x\n a\n"), "\u{feff}x\na\n");
    assert_eq!(patched("\u{feff}a\n", "@@ -1 +1 @@\n-\u{feff}a\n+\u{feff}A\n"), "\u{feff}A\n");
}

#[test]
fn drift() {
    let far = |lines: usize| "x\n".repeat(lines) + "a\nb\n";
    let hunk = "@@ -1,2 +1,2 @@\n a\n-b\n+B\n";
    assert_eq!(patched(&far(200), hunk), far(200).replace('b', "B"));
    misfits(
        &far(201),
        hunk,
        "hunk 1 for `n.md` does not fit: line 1 should be `a` and is `x` (its lines are at line 202, \
         too far away)",
    );
    misfits(
        "a\nb\nx\na\nb\n",
        "@@ -1,2 +1,2 @@\n a\n-b\n+B\n@@ -9 +9 @@\n-q\n+r\n",
        "hunk 2 for `n.md` reaches beyond the end of the file, which has 5 lines: `q` is not there",
    );
    misfits(
        "b\nx\nb\n",
        "@@ -2 +2 @@\n-b\n+B\n",
        "hunk 1 for `n.md` fits equally well at line 1 and line 3",
    );
    misfits(
        "b\nb\n",
        "@@ @@\n-b\n+B\n",
        "hunk 1 for `n.md` fits equally well at line 1 and line 2",
    );
    // However near one of them is, unless the number is exact.
    let week = "Mon\n[ ] Anna\n\nTue\n[ ] Anna\n\nWed\n[ ] Anna\n";
    misfits(
        week,
        "@@ -6 +6 @@\n-[ ] Anna\n+[x] Anna\n",
        "hunk 1 for `n.md` fits equally well at line 2, line 5 and line 8",
    );
    assert_eq!(
        patched(week, "@@ -5 +5 @@\n-[ ] Anna\n+[x] Anna\n"),
        week.replace("Tue\n[ ]", "Tue\n[x]")
    );
    misfits(
        &"b\n".repeat(9),
        "@@ @@\n-b\n+B\n",
        "hunk 1 for `n.md` fits equally well at line 1, line 2, line 3, line 4, line 5 and others",
    );
    // The second hunk goes as far as the first.
    let twice = format!("{}start\n{LETTERS}{LETTERS}", "x\n".repeat(4));
    let hunks = "@@ -1,3 +1,3 @@\n start\n a\n-b\n+B\n@@ -7,2 +7,2 @@\n f\n-g\n+G\n";
    assert_eq!(patched(&twice, hunks), twice.replacen('b', "B", 1).replacen('g', "G", 1));
}

/// Reliability case 57.
#[test]
fn what_does_not_fit() {
    misfits(
        "a\nb\nc\n",
        "@@ -1,3 +1,3 @@\n a\n-x\n+y\n c\n",
        "hunk 1 for `n.md` does not fit: line 2 should be `x` and is `b`",
    );
    misfits(
        "a\nb\n",
        "@@ -1,3 +1,3 @@\n a\n b\n-c\n+d\n",
        "hunk 1 for `n.md` reaches beyond the end of the file, which has 2 lines: `c` is not there",
    );
    misfits(
        "a\n",
        "@@ -9,0 +9 @@\n+c\n",
        "hunk 1 for `n.md` reaches beyond the end of the file, which has 1 lines: `the line before \
         it` is not there",
    );
    let overlap = "hunk 2 for `n.md` overlaps the hunk before it or comes before it";
    misfits(LETTERS, "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n@@ -2,2 +2,2 @@\n b\n-c\n+C\n", overlap);
    misfits(LETTERS, "@@ -5 +5 @@\n-e\n+E\n@@ -1 +1 @@\n-a\n+A\n", overlap);
    misfits(
        "a\n",
        "@@\n+b\n",
        "hunk 1 for `n.md` says neither by number nor by context where it belongs",
    );
    misfits(
        "a\n",
        "@@ -1,4 +1,5 @@\n+b\n",
        "hunk 1 for `n.md` says neither by number nor by context where it belongs",
    );
    misfits(
        "a\nb\n",
        "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n",
        "hunk 1 for `n.md` does not fit: line 1 should be `a at the end of the file` and is `a`",
    );
    misfits(
        "a\0",
        "@@ -1 +1 @@\n-a\n+b\n",
        "`n.md` is not text but damaged or differently encoded text of 2 bytes (NUL at byte 1)",
    );
}

#[test]
fn what_is_no_patch() {
    refused("", "the patch names no file: it has no `--- ` line with a `+++ ` line after it");
    refused(
        "hello\n---\nworld\n",
        "the patch names no file: it has no `--- ` line with a `+++ ` line after it",
    );
    refused(
        "*** Begin Patch\n",
        "`*** Begin Patch` opens a patch of another format; a unified diff is needed",
    );
    refused(
        "@@ -1 +1 @@\n-a\n+b\n",
        "line 1 of the patch is malformed: a hunk needs a `--- ` and a `+++ ` line before it: `@@ -1 +1 @@`",
    );
    refused(
        "--- a/x\n@@ -1 +1 @@\n",
        "line 1 of the patch is malformed: a `--- ` line needs a `+++ ` line after it: `--- a/x`",
    );
    refused(
        "--- a/x\n+++ b/x\n",
        "line 3 of the patch is malformed: the header of a file needs a hunk after it: ``",
    );
    refused(
        "--- /dev/null\n+++ /dev/null\n",
        "line 1 of the patch is malformed: the header names no file: `--- /dev/null`",
    );
    refused(
        "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\n+b\nc\n",
        "line 6 of the patch is malformed: a line of a hunk begins with a space, `-` or `+`: `c`",
    );
    refused(
        "--- a/x\n+++ b/x\n@@ -1 +1 @@\n a\n",
        "hunk 1 for `x` changes nothing (line 3 of the patch)",
    );
    refused("--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", "the patch renames or copies `x` to `y`");
    refused(
        "diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n",
        "the patch renames or copies `x` to `y`",
    );
    refused(
        "diff --git a/x b/x\nBinary files a/x and b/x differ\n",
        "the patch changes the binary file `x`",
    );
    let go_and_come = "--- a/x.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n--- /dev/null\n+++ b/X.md\n@@ -0,0 +1 @@\n+b\n";
    refused(go_and_come, "the patch names `X.md` twice");
    refused(
        "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+\0\n",
        "line 5 of the patch is malformed: a NUL would make the file binary: ``",
    );
    let large = "x".repeat(MAX_PATCH_BYTES + 1);
    assert_eq!(parse(&large).unwrap_err().code(), ErrorCode::TooLarge);
}

#[test]
fn hostile_repetition_is_bounded() {
    let started = std::time::Instant::now();
    let file = "a\n".repeat(200_000);
    let hunk = format!("@@ @@\n-b\n{}", " a\n".repeat(20_000));
    let patch = one(&format!("--- a/n\n+++ b/n\n{hunk}"));
    apply(Some(file.as_bytes()), &patch).unwrap_err();
    let hunk = format!("@@ -1000,1 +1 @@\n-b\n{} b\n", " a\n".repeat(20_000));
    let patch = one(&format!("--- a/n\n+++ b/n\n{hunk}"));
    apply(Some(file.as_bytes()), &patch).unwrap_err();
    let hunks = "@@\n-b\n+c\n".repeat(5_000);
    let patch = one(&format!("--- a/n\n+++ b/n\n{hunks}"));
    apply(Some(format!("{file}b\n").as_bytes()), &patch).unwrap_err();
    let blanks = " ".repeat(1_000_000);
    parse(&format!("diff --git {blanks}\nnew file mode 100644\n")).unwrap();
    assert!(started.elapsed().as_secs() < 15, "{:?}", started.elapsed());
}

/// Notes with mixed endings, with and without byte-order mark and final newline.
fn note() -> impl Strategy<Value = String> {
    (
        "\u{feff}?",
        prop::collection::vec("[ab+@\\- ]{0,3}(\n|\n|\r\n)|\r\n|a\rb\n", 0..30),
        "[ab]{0,2}",
    )
        .prop_map(|(bom, lines, last)| format!("{bom}{}{last}", lines.concat()))
}

/// A note and a changed version: some lines removed, some added.
fn change() -> impl Strategy<Value = (String, String)> {
    (
        note(),
        prop::collection::vec((0_usize..40, 0_usize..3, "([abx]{0,2}(\n|\r\n)){0,2}"), 0..5),
        0..9,
    )
        .prop_map(|(old, edits, other)| {
            let mut lines: Vec<String> = old.split_inclusive('\n').map(str::to_owned).collect();
            for (at, gone, new) in edits {
                let at = at.min(lines.len());
                let end = (at + gone).min(lines.len());
                lines.splice(at..end, new.split_inclusive('\n').map(str::to_owned));
            }
            let mut new = lines.concat();
            match other {
                0 => new = new.trim_end_matches('\n').to_owned(),
                1 => new = new.trim_start_matches('\u{feff}').to_owned(),
                2 => new.insert(0, '\u{feff}'),
                _ => {}
            }
            (old, new)
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn applied_then_reversed_gives_the_original((old, new) in change()) {
        let hunks = diff::hunks(&old, &new);
        prop_assert_eq!(hunks.is_empty(), old == new);
        let patch = FilePatch { path: "a b.md".to_owned(), action: Action::Modify, hunks };
        if old != new {
            prop_assert_eq!(&one(&patch.to_string()), &patch, "{}", patch);
        }
        let applied = apply(Some(old.as_bytes()), &patch).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(String::from_utf8_lossy(applied.bytes.as_deref().unwrap()), new.clone());
        let back = apply(Some(new.as_bytes()), &patch.reverse()).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(String::from_utf8_lossy(back.bytes.as_deref().unwrap()), old);
    }

    #[test]
    fn created_then_reversed_is_gone(new in note()) {
        let patch = FilePatch { path: "n".to_owned(), action: Action::Create, hunks: diff::hunks("", &new) };
        let result = apply(None, &patch).unwrap().bytes.unwrap();
        prop_assert_eq!(String::from_utf8_lossy(&result), new.clone());
        prop_assert_eq!(apply(Some(&result), &patch.reverse()).unwrap().bytes, None);
    }

    /// The patch's endings never affect untouched lines.
    #[test]
    fn a_patch_with_other_endings_touches_the_same_lines((old, new) in change(), wide in any::<bool>()) {
        let hunks = diff::hunks(&old, &new);
        prop_assume!(!hunks.is_empty() && !old.ends_with('\r') && !new.ends_with('\r'));
        let text = FilePatch { path: "n".to_owned(), action: Action::Modify, hunks }.to_string();
        let text = text.replace("\r\n", "\n");
        let text = if wide { text.replace('\n', "\r\n") } else { text };
        let Ok(files) = parse(&text) else { return Ok(()) };
        if let Ok(applied) = apply(Some(old.as_bytes()), &files[0]) {
            let result = String::from_utf8(applied.bytes.unwrap()).unwrap();
            prop_assert_eq!(result.replace("\r\n", "\n"), new.replace("\r\n", "\n"));
        }
    }

    #[test]
    fn any_text_is_a_patch_or_an_error(text in "((--- |\\+\\+\\+ |@@|@@ -1 |-|\\+| |\\\\ |\"|a/|/dev/null|[ab]){0,3}\n){0,12}", file in note()) {
        if let Ok(files) = parse(&text) {
            for patch in files {
                let _ = apply(Some(file.as_bytes()), &patch);
                let _ = apply(None, &patch.reverse());
            }
        }
    }
}
