# Requirements of `.ci/run` and the scripts on the machine. Sourced by them, not run itself.

say() { printf '== %s\n' "$*"; }
has() { command -v "$1" >/dev/null 2>&1; }
in_ci() { [ "${CI:-}" = true ]; }

# Records a duration in seconds, if `.ci/run` asks for it.
took() {
    [ -z "${STEWARD_TIMES:-}" ] || printf '%6d  %s\n' "$1" "$2" >>"$STEWARD_TIMES"
}

# Runs a command, and records its duration.
timed() {
    local name=$1 from=$SECONDS status=0
    shift
    "$@" || status=$?
    took "$((SECONDS - from))" "$name"
    return "$status"
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif [ "${STEWARD_TEST_SUDO:-}" = 1 ] && has sudo; then
        sudo -n "$@"
    else
        return 1
    fi
}

# Runs a command as root in a separate network namespace, where no other program listens.
own_network() {
    # shellcheck disable=SC2016 # expanded by the inner shell
    as_root unshare --net sh -c 'ip link set lo up && exec "$@"' - "$@"
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
