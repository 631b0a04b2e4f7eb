# Requirements of `scripts/test` and `scripts/chaos` on the machine. Sourced by both, not run itself.

say() { printf '== %s\n' "$*"; }
has() { command -v "$1" >/dev/null 2>&1; }
in_ci() { [ "${CI:-}" = true ]; }

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif [ "${STEWARD_TEST_SUDO:-}" = 1 ] && has sudo; then
        sudo -n "$@"
    else
        return 1
    fi
}

need_cargo() {
    if ! has cargo; then
        echo "$0: cargo is missing; install Rust from https://rustup.rs and run this again" >&2
        exit 2
    fi
}

refreshed=
apt_install() {
    has apt-get || return 1
    if [ -z "$refreshed" ]; then
        refreshed=yes
        as_root apt-get update -qq || return 1
    fi
    say "installing $*"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" \
        >/dev/null
}
