//! One HTML file: no script, no external resources, every text escaped.

use super::text::effects;
use super::{View, summary, tree};
use crate::bases::functions::escaped_html;
use crate::note::path::visible;
use crate::organize::plan::{Item, Risk};

const HEAD: &str = r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Plan</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; color-scheme: light dark; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .25rem .5rem; border-bottom: 1px solid #8884; }
.high { border-left: 4px solid #c33; } .medium { border-left: 4px solid #c93; } .low { border-left: 4px solid #393; }
.problem { color: #c33; } pre { overflow-x: auto; } summary { cursor: pointer; font-weight: 600; margin-top: 1rem; }
</style>
</head>
<body>
"#;

/// Escapes a text for HTML, and spells out invisible characters.
fn escape_html(text: &str) -> String {
    escaped_html(&visible(text))
}

pub fn html(view: &View<'_>) -> String {
    let mut page = HEAD.to_owned();
    page.push_str(&format!("<h1>Plan</h1>\n<p>{}</p>\n", escape_html(&summary(view.plan))));
    for fault in &view.plan.faults {
        page.push_str(&format!(
            "<p class=\"problem\">Rule {}: {} ({}, first {})</p>\n",
            escape_html(&fault.rule),
            escape_html(&fault.message),
            crate::note::counted::counted(fault.files, "file"),
            escape_html(&fault.path)
        ));
    }
    let mut cut = 0;
    for group in view.groups() {
        let mut rows = String::new();
        for item in group.items.iter().take(view.per_group) {
            rows.push_str(&row(item));
        }
        if group.items.len() > view.per_group {
            let more = group.items.len() - view.per_group;
            rows.push_str(&format!("<tr><td></td><td colspan=\"4\">… {more} more</td></tr>\n"));
        }
        let part = format!(
            "<details open><summary>{} ({})</summary>\n<table>\n<tr><th>#</th><th>Now</th><th>Afterwards</th>\
             <th>Changes</th><th>Rules</th></tr>\n{rows}</table></details>\n",
            escape_html(&group.name),
            group.items.len()
        );
        if page.len() + part.len() <= view.room { page.push_str(&part) } else { cut += 1 }
    }
    if cut > 0 {
        page.push_str(&format!("<p>{} more</p>\n", crate::note::counted::counted(cut, "group")));
    }
    let folders = view.plan.emptied();
    if !folders.is_empty() {
        let shown = folders
            .iter()
            .take(view.per_group)
            .map(|path| format!("<li>{}/</li>", escape_html(path)));
        let mut list: String = shown.collect();
        if folders.len() > view.per_group {
            list.push_str(&format!("<li>… {} more</li>", folders.len() - view.per_group));
        }
        let (title, count) = (super::EMPTIED, folders.len());
        let part = format!(
            "<details open><summary>{title} ({count})</summary>\n<ul>{list}</ul></details>\n"
        );
        if page.len() + part.len() <= view.room {
            page.push_str(&part);
        }
    }
    let left = view.room.saturating_sub(page.len());
    let tree = tree::tree(&View { room: left / 2, ..*view });
    page.push_str(&format!(
        "<details><summary>Folders before and after</summary>\n<pre>{}</pre></details>\n</body>\n</html>\n",
        escaped_html(&tree)
    ));
    page
}

fn row(item: &Item) -> String {
    let risk = match item.risk {
        Risk::Low => "low",
        Risk::Medium => "medium",
        Risk::High => "high",
    };
    let mut changes: Vec<String> =
        effects(item).iter().map(|effect| escaped_html(effect)).collect();
    changes.extend(item.problems.iter().map(|problem| {
        let mark = if problem.blocks { "left out: " } else { "" };
        format!("<span class=\"problem\">{mark}{}</span>", escape_html(&problem.message))
    }));
    format!(
        "<tr class=\"{risk}\"><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
        item.id,
        escape_html(&item.path),
        item.to.as_deref().map(escape_html).unwrap_or_default(),
        changes.join("<br>"),
        escape_html(&item.rules.join(", "))
    )
}
