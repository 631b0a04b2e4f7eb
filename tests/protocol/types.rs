//! The plugin's `protocol.ts` equals the generated one.

use std::path::Path;

#[test]
fn typescript_is_fresh() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("plugin-shim/src/protocol.ts");
    let fresh = vault_steward::protocol::typescript::generate();
    if std::env::var_os("UPDATE_GENERATED").is_some_and(|value| value == "1") {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &fresh).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    assert!(found == fresh, "plugin-shim/src/protocol.ts is stale; run scripts/generate");
}
