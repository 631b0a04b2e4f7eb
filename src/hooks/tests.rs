#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::path::Path;
use std::time::Instant;

use serde_json::json;
use tempfile::TempDir;

use super::*;

/// A vault, a place for hooks, and a folder for their programs.
struct Ground {
    folder: TempDir,
}

impl Ground {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["vault", "programs"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(below)
    }

    /// Hooks, each given by name, settings and script.
    fn hooks(&self, hooks: &[(&str, Value, &str)]) -> Hooks {
        let mut commands = json!({});
        for (name, settings, script) in hooks {
            let file = self.path("programs").join(name);
            std::fs::write(&file, script).unwrap();
            let mut hook = settings.clone();
            hook["command"] = json!(["/bin/sh", file]);
            commands[*name] = hook;
        }
        let settings = serde_json::from_value(json!({"commands": commands})).unwrap();
        Hooks::new(settings, self.path("vault"), self.path("place"))
    }
}

fn before() -> Value {
    json!({"on": ["before_tool_call"]})
}

fn with(mut value: Value, more: &Value) -> Value {
    let more = more.as_object().unwrap().clone();
    value.as_object_mut().unwrap().extend(more);
    value
}

fn call() -> Event {
    Event::new(Kind::BeforeToolCall)
        .of_tool("write_file")
        .field("caller", "test")
        .place("named", json!(["Diary.md"]))
        .with_input(json!({"content": "dear diary"}))
}

fn ask(hooks: &Hooks) -> Result<Option<Value>, Refused> {
    hooks.ask(call(), &|| false)
}

#[test]
fn a_hook_admits_refuses_or_replaces() {
    let ground = Ground::new();
    assert_eq!(ask(&ground.hooks(&[("silent", before(), "cat > /dev/null")])), Ok(None));
    assert_eq!(ask(&ground.hooks(&[("deaf", before(), "exit 0")])), Ok(None));
    let yes = r#"echo '{"decision":"continue"}'"#;
    assert_eq!(ask(&ground.hooks(&[("yes", before(), yes)])), Ok(None));
    let no = r#"echo '{"decision":"refuse","reason":"not today"}'"#;
    let refused = ask(&ground.hooks(&[("a", before(), yes), ("b", before(), no)])).unwrap_err();
    let expected = Refused { hook: "b".into(), reason: "not today".into(), failed: false };
    assert_eq!(refused, expected);

    // The second hook sees the first one's replacement.
    let texts = with(before(), &json!({"sees": "texts"}));
    let first = r#"echo '{"decision":"replace","input":{"content":"first"}}'"#;
    let second = r#"read line; case "$line" in *'"content":"first"'*)
        echo '{"decision":"replace","input":{"content":"second"}}';; esac"#;
    let hooks = ground.hooks(&[("1", texts.clone(), first), ("2", texts.clone(), second)]);
    assert_eq!(ask(&hooks), Ok(Some(json!({"content": "second"}))));
    // A hook without access to texts cannot replace them; and a hook cannot change a past event.
    let blind = with(before(), &json!({"critical": true}));
    let refused = ask(&ground.hooks(&[("blind", blind, first)])).unwrap_err();
    assert!(refused.failed && refused.reason.contains("sees"), "{refused:?}");
}

#[test]
fn a_hook_is_shown_what_it_may_see_and_no_more() {
    let ground = Ground::new();
    let script = "cat > \"$TMPDIR/$STEWARD_HOOK\"";
    let sees = |sees: &str| with(before(), &json!({ "sees": sees }));
    let all = ["events", "paths", "texts"];
    let hooks: Vec<_> = all.iter().map(|word| (*word, sees(word), script)).collect();
    ask(&ground.hooks(&hooks)).unwrap();
    let shown = all.map(|word| {
        let text = std::fs::read_to_string(ground.path("place").join(word)).unwrap();
        assert!(text.ends_with("}\n") && text.matches('\n').count() == 1, "one object, one line");
        serde_json::from_str::<Value>(&text).unwrap()
    });
    assert_eq!(shown[0]["event"], "before_tool_call");
    assert_eq!((&shown[0]["hook"], &shown[0]["tool"]), (&json!("events"), &json!("write_file")));
    assert_eq!(shown[0]["vault"], ground.path("vault").to_str().unwrap());
    assert_eq!(shown.each_ref().map(|one| one["caller"] == "test"), [true; 3]);
    assert_eq!(shown.each_ref().map(|one| !one["named"].is_null()), [false, true, true]);
    assert_eq!(shown.each_ref().map(|one| !one["input"].is_null()), [false, false, true]);
}

#[test]
fn a_hook_that_fails_refuses_only_where_it_is_critical() {
    let ground = Ground::new();
    let much = "head -c 5000000 /dev/zero | tr '\\0' x";
    for (script, expected) in [
        ("echo no rule; exit 3", "exit status: 3"),
        ("echo 'cannot read the rules' >&2; exit 1", "cannot read the rules"),
        ("echo nonsense", "it is not an answer at line 1"),
        (r#"echo '{"decision":"refuse"}'"#, "it is not an answer"),
        (r#"echo '{"decision":"continue","why":"x"}'"#, "it is not an answer"),
        (r#"echo '{"decision":"continue"}{"decision":"continue"}'"#, "it is not an answer"),
        (much, "more than 4194304 bytes"),
        ("kill -9 $$", "signal: 9"),
    ] {
        assert_eq!(ask(&ground.hooks(&[("lax", before(), script)])), Ok(None), "{script}");
        let critical = with(before(), &json!({"critical": true}));
        let hooks = ground.hooks(&[("strict", critical, script)]);
        let refused = ask(&hooks).unwrap_err();
        assert!(refused.failed && refused.reason.contains(expected), "{script}: {refused:?}");
        assert!(hooks.failures()[0].contains("the hook `strict` failed"), "for the status");
        std::fs::write(ground.path("programs/strict"), "exit 0").unwrap();
        ask(&hooks).unwrap();
        assert!(hooks.failures().is_empty(), "it does well again");
    }
    let missing = json!({"commands": {"gone": {
        "on": ["before_tool_call"], "command": ["/no/such/program"], "critical": true,
    }}});
    let settings = serde_json::from_value(missing).unwrap();
    let hooks = Hooks::new(settings, ground.path("vault"), ground.path("place"));
    assert!(ask(&hooks).unwrap_err().reason.contains("could not be started"));
}

#[test]
fn its_environment_is_clean_and_its_folder_ours() {
    let ground = Ground::new();
    let environment = with(before(), &json!({"environment": ["CARGO_MANIFEST_DIR", "NOT_SET"]}));
    let script = "env > \"$TMPDIR/env\"; pwd > \"$TMPDIR/pwd\"";
    ask(&ground.hooks(&[("look", environment, script)])).unwrap();
    let text = std::fs::read_to_string(ground.path("place/env")).unwrap();
    let names: Vec<&str> = text.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    let fine = [
        "HOME",
        "USER",
        "LOGNAME",
        "LANG",
        "LC_ALL",
        "LC_CTYPE",
        "TZ",
        "PATH",
        "TMPDIR",
        "PWD",
        "OLDPWD",
        "SHLVL",
        "_",
        "STEWARD_VAULT",
        "STEWARD_HOOK",
        "STEWARD_HOOK_RUN",
        "CARGO_MANIFEST_DIR",
    ];
    assert!(names.iter().all(|name| fine.contains(name)), "{names:?}");
    assert!(names.contains(&"CARGO_MANIFEST_DIR") && names.contains(&"STEWARD_VAULT"));
    assert!(std::env::vars().any(|(name, _)| name == "CARGO_PKG_NAME"), "which it did not get");
    let folder = std::fs::read_to_string(ground.path("place/pwd")).unwrap();
    assert_eq!(Path::new(folder.trim_end()), ground.path("place"));
}

#[test]
fn what_lies_in_the_vault_is_never_run() {
    let ground = Ground::new();
    let script = ground.path("vault/hook.sh");
    std::fs::write(&script, "#!/bin/sh\ntouch \"$TMPDIR/ran\"\n").unwrap();
    let link = ground.path("programs/link");
    std::os::unix::fs::symlink(&script, &link).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, mode).unwrap();
    for command in [
        json!([script]),
        json!([link]),
        json!(["/bin/sh", script]),
        json!(["/bin/sh", link]),
        json!(["/bin/sh", format!("--rcfile={}", script.display())]),
        json!([ground.path("programs/../vault/hook.sh")]),
    ] {
        let hook = json!({"on": ["before_tool_call"], "command": command, "critical": true});
        let settings = serde_json::from_value(json!({"commands": {"bad": hook}})).unwrap();
        let hooks = Hooks::new(settings, ground.path("vault"), ground.path("place"));
        let refused = ask(&hooks).unwrap_err();
        assert!(refused.reason.contains("is in the vault"), "{command}: {refused:?}");
    }
    assert!(!ground.path("place/ran").exists());
    // A command may name the vault's folder itself, as for git.
    let hook = json!({"on": ["before_tool_call"], "command": ["/bin/ls", ground.path("vault")]});
    let settings = serde_json::from_value(json!({"commands": {"list": hook}})).unwrap();
    let hooks = Hooks::new(settings, ground.path("vault"), ground.path("place"));
    assert_eq!(ask(&hooks), Ok(None));
    assert!(hooks.failures()[0].contains("it is not an answer"), "it ran, and said names");
}

/// Whether the process with this id exists and is not a zombie.
fn lives(pid: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    !status.is_empty() && !status.contains("State:\tZ")
}

#[cfg(target_os = "linux")]
#[test]
fn at_its_limit_it_is_ended_with_all_that_it_started() {
    let ground = Ground::new();
    // One that stays in its group, one with a session of its own, and one whose parent has gone.
    let script = "sleep 600 & echo $! >> \"$TMPDIR/pids\"
        setsid sh -c 'echo $$ >> \"$TMPDIR/pids\"; exec sleep 600' &
        (setsid sh -c 'echo $$ >> \"$TMPDIR/pids\"; exec sleep 600' &)
        while [ $(wc -l < \"$TMPDIR/pids\") -lt 3 ]; do sleep 0.01; done
        echo $$ >> \"$TMPDIR/pids\"; sleep 600";
    let slow = with(before(), &json!({"seconds": 1, "critical": true}));
    let started = Instant::now();
    let hooks = ground.hooks(&[("slow", slow, script)]);
    let refused = ask(&hooks).unwrap_err();
    assert!(refused.reason.contains("longer than 1 s"), "{refused:?}");
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    let pids = std::fs::read_to_string(ground.path("place/pids")).unwrap();
    assert_eq!(pids.lines().count(), 4, "{pids}");
    let deadline = Instant::now() + Duration::from_secs(5);
    while pids.lines().any(lives) {
        assert!(Instant::now() < deadline, "some live on: {pids}");
        std::thread::yield_now();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_withdrawn_call_ends_its_hook_and_one_that_ended_leaves_nothing() {
    let ground = Ground::new();
    let script = "echo $$ > \"$TMPDIR/pid\"; sleep 600";
    let hooks = ground.hooks(&[("slow", with(before(), &json!({"seconds": 60})), script)]);
    let pid = ground.path("place/pid");
    let there = || std::fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n'));
    assert_eq!(hooks.ask(call(), &there), Ok(None));
    assert!(!lives(std::fs::read_to_string(&pid).unwrap().trim()));
    assert!(hooks.failures().is_empty(), "that is no fault of the hook's");

    let script = "sleep 600 & echo $! > \"$TMPDIR/left\"";
    let hooks = ground.hooks(&[("leaves", before(), script)]);
    let started = Instant::now();
    assert_eq!(ask(&hooks), Ok(None));
    assert!(
        started.elapsed() < Duration::from_secs(5),
        "it held the pipe: {:?}",
        started.elapsed()
    );
    let left = std::fs::read_to_string(ground.path("place/left")).unwrap();
    let deadline = Instant::now() + Duration::from_secs(5);
    while lives(left.trim()) {
        assert!(Instant::now() < deadline, "it lives on");
        std::thread::yield_now();
    }
}

#[test]
fn events_arrive_in_order_and_before_the_end() {
    let ground = Ground::new();
    let after = json!({"on": ["change_applied"]});
    let script = "cat >> \"$TMPDIR/events\"; echo no answer is wanted";
    let hooks = ground.hooks(&[("log", after.clone(), script)]);
    for number in 0..20 {
        hooks.notify(Event::new(Kind::ChangeApplied).field("changeSet", number));
        hooks.notify(Event::new(Kind::AfterToolCall).field("changeSet", "nobody listens"));
    }
    drop(hooks);
    let events = std::fs::read_to_string(ground.path("place/events")).unwrap();
    let numbers = events
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["changeSet"].as_u64().unwrap());
    assert_eq!(numbers.collect::<Vec<_>>(), (0..20).collect::<Vec<_>>());

    // Ending without waiting kills the running hook.
    let slow = with(after, &json!({"seconds": 60}));
    let hooks = ground.hooks(&[("slow", slow, "sleep 600")]);
    hooks.notify(Event::new(Kind::ChangeApplied));
    hooks.notify(Event::new(Kind::ChangeApplied));
    let started = Instant::now();
    hooks.end(Duration::from_millis(50));
    drop(hooks);
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

#[test]
fn a_hook_receives_calls_of_its_tools() {
    let ground = Ground::new();
    let no = r#"echo '{"decision":"refuse","reason":"no"}'"#;
    let some = with(before(), &json!({"tools": ["delete", "move"]}));
    let hooks = ground.hooks(&[("some", some, no)]);
    assert_eq!(ask(&hooks), Ok(None));
    assert!(hooks.ask(Event::new(Kind::BeforeToolCall).of_tool("move"), &|| false).is_err());
    hooks.replace(Settings::default());
    assert!(!hooks.receives(Kind::BeforeToolCall), "other settings hold from the next event on");
}

#[test]
fn settings_without_effect_are_refused() {
    let read = |hook: Value| {
        let settings = json!({"commands": {"one": hook}});
        serde_json::from_value::<Settings>(settings).map_err(|error| error.to_string())
    };
    let fine = json!({"on": ["before_change"], "command": ["/bin/true"]});
    let hook = read(fine.clone()).unwrap().commands["one"].clone();
    assert_eq!((hook.seconds, hook.critical, hook.sees), (5, false, Sees::Paths));
    for (more, expected) in [
        (json!({"command": []}), "the program comes first"),
        (json!({"command": ["git", "commit"]}), "must be an absolute path"),
        (json!({"command": ["./hook.sh"]}), "must be an absolute path"),
        (json!({"on": []}), "it would never run"),
        (json!({"on": ["before_lunch"]}), "unknown variant"),
        (json!({"on": ["change_applied"], "critical": true}), "only told what was done"),
        (json!({"seconds": 0}), "from 1 to 60"),
        (json!({"seconds": 61}), "from 1 to 60"),
        (json!({"sees": "all"}), "unknown variant"),
        (json!({"environment": ["A=B"]}), "not a variable"),
        (json!({"environment": ["STEWARD_VAULT"]}), "not a variable"),
        (json!({"shell": true}), "unknown field"),
    ] {
        let error = read(with(fine.clone(), &more)).unwrap_err();
        assert!(error.contains(expected), "{more}: {error}");
    }
    let named = json!({"commands": {"Two Words": fine}});
    assert!(serde_json::from_value::<Settings>(named).is_err());
}
