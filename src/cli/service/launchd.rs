//! A launchd agent. launchd has no sandbox options that would apply here.

use std::path::Path;

use super::plan::{Plan, Service, words};

pub(super) fn plan(service: &Service, folder: &Path) -> Plan {
    let name = format!("vault-steward.{}", service.id);
    named(&name, folder, agent(&name, service))
}

pub(super) fn named(name: &str, folder: &Path, text: String) -> Plan {
    let file = folder.join(format!("{name}.plist"));
    let path = file.to_string_lossy().into_owned();
    let load = words(&["launchctl", "load", "-w", &path]);
    Plan {
        text,
        install: vec![load.clone()],
        restart: vec![words(&["launchctl", "unload", &path]), load],
        stop: vec![words(&["launchctl", "unload", "-w", &path])],
        forget: Vec::new(),
        running: words(&["launchctl", "list", name]),
        file,
        name: name.to_owned(),
    }
}

fn agent(name: &str, service: &Service) -> String {
    let command: String = service
        .command
        .iter()
        .map(|part| format!("    <string>{}</string>\n", xml(part)))
        .collect();
    let variables: String = service
        .environment
        .iter()
        .map(|(name, value)| {
            format!("    <key>{}</key>\n    <string>{}</string>\n", xml(name), xml(value))
        })
        .collect();
    let (name, log) = (xml(name), xml(&service.log.to_string_lossy()));
    format!(
        "\
<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">
<!-- Written by `steward service install`; `steward service uninstall` removes it. -->
<plist version=\"1.0\">
<dict>
  <key>Label</key>
  <string>{name}</string>
  <key>ProgramArguments</key>
  <array>
{command}  </array>
  <key>EnvironmentVariables</key>
  <dict>
{variables}  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ThrottleInterval</key>
  <integer>30</integer>
  <key>ProcessType</key>
  <string>Background</string>
  <key>StandardErrorPath</key>
  <string>{log}</string>
</dict>
</plist>
"
    )
}

/// `text` as the content of an element.
pub(super) fn xml(text: &str) -> String {
    let escape = |c: char| match c {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        c => c.to_string(),
    };
    text.chars().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::daemon::confine::Bounds;

    /// Runs on every system.
    #[test]
    fn an_agent_names_program_vault_and_log() {
        let bounds = Bounds { writable: Vec::new(), connect: Vec::new(), listen: 0 };
        let service = Service {
            id: "notes-1".to_owned(),
            vault: "Notes".to_owned(),
            command: words(&["/opt/steward", "serve", "--vault", "/Users/me/A & <B>"]),
            environment: vec![("STEWARD_CONFIG".to_owned(), "/c.toml".to_owned())],
            bounds,
            log: PathBuf::from("/state/service.log"),
        };
        let plan = plan(&service, Path::new("/Users/me/Library/LaunchAgents"));
        assert_eq!(
            plan.file,
            Path::new("/Users/me/Library/LaunchAgents/vault-steward.notes-1.plist")
        );
        assert!(
            plan.text.contains("<string>/Users/me/A &amp; &lt;B&gt;</string>"),
            "{}",
            plan.text
        );
        assert!(plan.text.contains("<key>STEWARD_CONFIG</key>\n    <string>/c.toml</string>"));
        assert!(plan.text.contains("<string>/state/service.log</string>"));
        let (opened, closed) =
            (plan.text.matches("<dict>").count(), plan.text.matches("</dict>").count());
        assert_eq!((opened, closed), (3, 3));
    }
}
