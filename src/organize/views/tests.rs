use serde_json::json;

use super::*;
use crate::organize::plan::{Following, Problem, ProblemKind, Risk};

fn item(id: u32, value: Value) -> Item {
    let mut whole = json!({"id": id, "risk": "medium"});
    whole.as_object_mut().unwrap().extend(value.as_object().unwrap().clone());
    serde_json::from_value(whole).unwrap()
}

fn plan() -> Plan {
    let mut items: Vec<Item> = (1..=12)
        .map(|at| {
            let path = format!("Inbox/{at:02}.md");
            item(
                at,
                json!({"path": path, "to": format!("Meetings/2026/{at:02}.md"), "rules": ["File"]}),
            )
        })
        .collect();
    items.push(item(
        13,
        json!({"path": "a.md", "to": "b <b>.md", "set": {"status": "done"}, "tag": ["x"]}),
    ));
    items.push(item(14, json!({"path": "New.md", "create": true, "append": "text"})));
    items.push(Item { risk: Risk::High, ..item(15, json!({"path": "old.md", "trash": true})) });
    let taken = Problem::blocking(ProblemKind::Taken, "`x.md` is taken");
    items.push(Item { problems: vec![taken], ..item(16, json!({"path": "y.md", "to": "x.md"})) });
    Plan { items, links: Following { links: 3, files: 2 }, looked_at: 20, ..Plan::default() }
}

#[test]
fn a_tree_shows_both_sides_with_counts() {
    let plan = plan();
    assert_eq!(
        View { per_group: 2, ..View::of(&plan, 10_000) }.tree(),
        "16 files: 12 moved, 1 renamed, 1 new, 1 to the trash, 1 left out; 3 links in 2 files follow; \
         1 file with a problem

Before (14)
  Inbox/ (12)
    01.md
    02.md
    … 10 more
  a.md
  old.md

After (14)
  Meetings/2026/ (12)
    01.md  ← Inbox
    02.md  ← Inbox
    … 10 more
  b <b>.md  ← a.md  set status: done, tag x
  New.md  new

To the trash (1)
  old.md

Left out (1)
  y.md  `x.md` is taken"
    );
}

#[test]
fn a_table_has_a_line_an_item_by_group() {
    let plan = plan();
    let stays = ["z.md".to_owned()];
    let view = View { per_group: 1, unchanged: Some(&stays), ..View::of(&plan, 10_000) };
    assert_eq!(
        view.table(),
        "16 files: 12 moved, 1 renamed, 1 new, 1 to the trash, 1 left out; 3 links in 2 files follow; \
         1 file with a problem

Moved (12)
   1  Inbox/01.md → Meetings/2026/01.md  [File]
      … 11 more

Renamed (1)
  13  a.md → b <b>.md  set status: done, tag x

New (1)
  14  New.md  new

To the trash (1)
  15  old.md  to the trash

Left out (1)
  16  y.md → x.md
      left out: `x.md` is taken

Unchanged (1)
      z.md"
    );
    for (group_by, names) in [
        (GroupBy::Rule, &["File", "By hand"][..]),
        (GroupBy::Source, &["/", "Inbox", "New"]),
        (GroupBy::Destination, &["/", "Meetings/2026", "Trash"]),
    ] {
        let groups = View { group_by, ..view }.groups();
        assert_eq!(groups.iter().map(|group| &*group.name).collect::<Vec<_>>(), names);
    }
}

#[test]
fn a_view_keeps_to_its_room() {
    let plan = plan();
    let texts: Vec<ChangedText> = (0..100)
        .map(|at| ChangedText {
            path: format!("{at}.md"),
            before: Some(b"a\n".to_vec()),
            after: b"b\n".to_vec(),
        })
        .collect();
    for room in [0, 100, 300, 1_000, 5_000] {
        let view = View::of(&plan, room);
        for text in [view.tree(), view.table(), view.diff(&texts)] {
            assert!(text.chars().count() <= room.max(40), "{room}: {text}");
        }
    }
    let view = View::of(&plan, 120);
    assert!(view.table().ends_with("more lines]"), "{}", view.table());
}

#[test]
fn a_page_holds_no_script_and_escapes_what_it_shows() {
    let mut plan = plan();
    plan.items.push(item(17, json!({
        "path": "<script>alert(1)</script>.md", "to": "\" onload='x'.md", "rules": ["<img src=x>"],
        "set": {"<a>": "</table><script>"},
    })));
    let page = View { per_group: 100, ..View::of(&plan, 100_000) }.html();
    for bad in ["<script", "<img", "<a>", "</table><s", "onload='"] {
        assert!(!page.contains(bad), "{bad}: {page}");
    }
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;.md"));
    assert!(page.contains("b &lt;b&gt;.md") && page.contains("class=\"high\""));
    assert!(page.ends_with("</html>\n"));
}

#[test]
fn a_diff_shows_paths_and_texts() {
    let plan = plan();
    let texts = [
        ChangedText {
            path: "a.md".to_owned(),
            before: Some(b"old\n".to_vec()),
            after: b"new\n".to_vec(),
        },
        ChangedText {
            path: "links.md".to_owned(),
            before: Some(b"[[a]]\n".to_vec()),
            after: b"[[b]]\n".to_vec(),
        },
    ];
    let diff = View::of(&plan, 10_000).diff(&texts);
    for part in [
        "a.md → b <b>.md\n",
        "-old\n+new\n",
        "links.md  links follow\n",
        "  15  old.md  to the trash",
    ] {
        assert!(diff.contains(part), "{part}: {diff}");
    }
}

#[test]
fn a_plan_without_items_says_that_all_is_in_order() {
    let plan = Plan { looked_at: 3, ..Plan::default() };
    assert_eq!(View::of(&plan, 1_000).table(), "nothing to do: 3 files looked at, all in order");
}
