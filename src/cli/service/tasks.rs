//! A task of Windows' Task Scheduler, which starts the daemon when its user logs on.

use std::path::Path;

use super::launchd::xml;
use super::plan::{Plan, Service, words};

/// `user` is the account by which the scheduler knows the user: `DOMAIN\name`.
pub(super) fn plan(service: &Service, folder: &Path, user: &str) -> Plan {
    let name = format!("vault-steward-{}", service.id);
    named(&name, folder, task(service, user))
}

pub(super) fn named(name: &str, folder: &Path, text: String) -> Plan {
    let file = folder.join(format!("{name}.xml"));
    let path = file.to_string_lossy().into_owned();
    let task =
        |verb: &str, more: &[&str]| words(&[&["schtasks", verb, "/TN", name], more].concat());
    let (create, start) = (task("/Create", &["/XML", &path, "/F"]), task("/Run", &[]));
    Plan {
        text,
        install: vec![create, start.clone()],
        restart: vec![task("/End", &[]), start],
        stop: vec![task("/End", &[]), task("/Delete", &["/F"])],
        forget: Vec::new(),
        running: task("/Query", &[]),
        file,
        name: name.to_owned(),
    }
}

/// The program runs in a console without a window: a window would invite its user to close it.
fn task(service: &Service, user: &str) -> String {
    let arguments: Vec<String> = service.command.iter().map(|part| quote_argument(part)).collect();
    let arguments = xml(&format!("--headless {}", arguments.join(" ")));
    let (user, vault) = (xml(user), xml(&service.vault));
    format!(
        "\
<?xml version=\"1.0\" encoding=\"UTF-16\"?>
<!-- Written by `steward service install`; `steward service uninstall` removes it. -->
<Task version=\"1.2\" xmlns=\"http://schemas.microsoft.com/windows/2004/02/mit/task\">
  <RegistrationInfo>
    <Description>Vault Steward for {vault}</Description>
  </RegistrationInfo>
  <Triggers>
    <LogonTrigger>
      <UserId>{user}</UserId>
    </LogonTrigger>
  </Triggers>
  <Principals>
    <Principal id=\"Author\">
      <UserId>{user}</UserId>
      <LogonType>InteractiveToken</LogonType>
      <RunLevel>LeastPrivilege</RunLevel>
    </Principal>
  </Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <RestartOnFailure>
      <Interval>PT1M</Interval>
      <Count>3</Count>
    </RestartOnFailure>
  </Settings>
  <Actions Context=\"Author\">
    <Exec>
      <Command>conhost.exe</Command>
      <Arguments>{arguments}</Arguments>
    </Exec>
  </Actions>
</Task>
"
    )
}

/// An argument quoted for Windows' command line parsing: backslashes count double before a
/// quotation mark.
fn quote_argument(argument: &str) -> String {
    let mut text = String::from("\"");
    let mut slashes = 0;
    for c in argument.chars() {
        match c {
            '\\' => slashes += 1,
            '"' => {
                text.push_str(&"\\".repeat(slashes + 1));
                slashes = 0;
            }
            _ => slashes = 0,
        }
        text.push(c);
    }
    text.push_str(&"\\".repeat(slashes));
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::daemon::confine::Bounds;

    /// Runs on every system.
    #[test]
    fn a_task_names_program_vault_and_user() {
        let service = Service {
            id: "notes-1".to_owned(),
            vault: "A & B".to_owned(),
            command: words(&[r"C:\Program Files\steward.exe", "serve", "--vault", r"D:\"]),
            environment: Vec::new(),
            bounds: Bounds { writable: Vec::new(), connect: Vec::new(), listen: 0 },
            runs_others: false,
            log: PathBuf::new(),
        };
        let plan = plan(&service, Path::new("services"), r"HOME\me");
        let arguments = r#"--headless "C:\Program Files\steward.exe" "serve" "--vault" "D:\\""#;
        assert!(
            plan.text.contains(&format!("<Arguments>{arguments}</Arguments>")),
            "{}",
            plan.text
        );
        assert_eq!(plan.text.matches(r"<UserId>HOME\me</UserId>").count(), 2);
        assert!(plan.text.contains("Vault Steward for A &amp; B"));
        assert_eq!(
            plan.install[0][..4],
            words(&["schtasks", "/Create", "/TN", "vault-steward-notes-1"])
        );
        assert_eq!(plan.file, Path::new("services/vault-steward-notes-1.xml"));
    }

    #[test]
    fn arguments_survive_their_quotes() {
        assert_eq!(quote_argument(r"a b\"), r#""a b\\""#);
        assert_eq!(quote_argument(r#"a\"b"#), r#""a\\\"b""#);
        assert_eq!(quote_argument(r"\\server\x"), r#""\\server\x""#);
    }
}
