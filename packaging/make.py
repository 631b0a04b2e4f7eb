"""Makes every package of one target from a program that is already built.

`scripts/package` calls it. What it writes depends on the program, the sources and the version in Cargo.toml
alone: all times are SOURCE_DATE_EPOCH, or that of the last commit.
"""

import argparse
import base64
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAME = "vault-steward"
# Holds the kind of the package; `src/config/installed.rs` looks for it from the folder above the program's.
MARKER = "share/vault-steward/package"
LICENCE_FILE = re.compile(r"(licen[cs]e|copying|notice|unlicense)", re.IGNORECASE)


@dataclass
class Target:
    """One system that the program is built for, as each kind of package names it."""

    triple: str
    npm: tuple[str, str]
    wheel: str
    nfpm: str | None = None

    @property
    def exe(self):
        return "steward.exe" if "windows" in self.triple else "steward"

    @property
    def system(self):
        """Node's name of the system: linux, darwin or win32."""
        return self.npm[0]


TARGETS = {
    target.triple: target
    for target in [
        Target("x86_64-unknown-linux-gnu", ("linux", "x64"), "manylinux_{glibc}_x86_64", "amd64"),
        Target("aarch64-unknown-linux-gnu", ("linux", "arm64"), "manylinux_{glibc}_aarch64", "arm64"),
        Target("x86_64-unknown-linux-musl", ("linux", "x64"), "musllinux_1_2_x86_64"),
        Target("x86_64-apple-darwin", ("darwin", "x64"), "macosx_11_0_x86_64"),
        Target("aarch64-apple-darwin", ("darwin", "arm64"), "macosx_11_0_arm64"),
        Target("x86_64-pc-windows-msvc", ("win32", "x64"), "win_amd64"),
        Target("x86_64-pc-windows-gnu", ("win32", "x64"), "win_amd64"),
    ]
}


def package():
    """The table `package` of Cargo.toml."""
    return tomllib.loads((ROOT / "Cargo.toml").read_text())["package"]


def epoch():
    """The time that every packed file gets, in seconds since 1970."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given:
        return int(given)
    log = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
    # A zip archive cannot name a time before 1980.
    return int(subprocess.run(log, capture_output=True, text=True).stdout.strip() or 315532800)


def glibc_of(program):
    """The newest version of glibc that the program asks for."""
    symbols = subprocess.run(["objdump", "-T", program], capture_output=True, text=True, check=True).stdout
    versions = {tuple(map(int, found)) for found in re.findall(r"GLIBC_(\d+)\.(\d+)", symbols)}
    return ".".join(map(str, max(versions, default=(2, 17))))


def third_parties(target):
    """The licences of all crates in the program, each text once, with the crates that have it."""
    metadata = json.loads(
        subprocess.run(
            ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", target.triple],
            cwd=ROOT, capture_output=True, text=True, check=True,
        ).stdout
    )
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    linked, waiting = set(), [metadata["resolve"]["root"]]
    while waiting:
        crate = waiting.pop()
        if crate in linked:
            continue
        linked.add(crate)
        for dependency in nodes[crate]["deps"]:
            # Build scripts and tests are no part of the program.
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                waiting.append(dependency["pkg"])
    texts = {}
    for crate in metadata["packages"]:
        if crate["id"] not in linked or crate["name"] == NAME:
            continue
        title = f"{crate['name']} {crate['version']} ({crate['license'] or 'see the file'})"
        folder = Path(crate["manifest_path"]).parent
        files = [path for path in sorted(folder.iterdir()) if path.is_file() and LICENCE_FILE.match(path.name)]
        for text in {path.read_text(errors="replace").strip() for path in files} or {""}:
            texts.setdefault(text, []).append(title)
    model = (ROOT / "data/potion-base-8m/README.md").read_text()
    parts = ["Other people's work in this program, with its licences.", f"data/potion-base-8m\n\n{model}"]
    for text, crates in sorted(texts.items(), key=lambda entry: entry[1]):
        parts.append("\n".join(sorted(crates)) + "\n\n" + (text or "(the crate has no file with its licence)"))
    return ("\n\n" + "-" * 78 + "\n\n").join(parts) + "\n"


def stage(target, program, runner, folder):
    """Lays out what every package holds: the program, completions, man pages and documents."""
    shutil.rmtree(folder, ignore_errors=True)
    for name in ["completions", "man", "doc"]:
        (folder / name).mkdir(parents=True)
    staged = folder / target.exe
    shutil.copyfile(program, staged)
    staged.chmod(0o755)
    if target.system != "win32":
        # Tables of lines are of no use without the sources; a release build has none.
        subprocess.run(["strip", "--strip-debug", str(staged)], check=True)
    # `runner` is a program of this machine's own target, which prints the same texts.
    for shell, file in [("bash", "steward.bash"), ("zsh", "_steward"), ("fish", "steward.fish"),
                        ("powershell", "steward.ps1"), ("elvish", "steward.elv")]:
        script = subprocess.run([runner, "completions", shell], capture_output=True, check=True).stdout
        # The script calls the program by the path that it was run by.
        script = script.replace(str(runner).encode(), b"steward")
        (folder / "completions" / file).write_bytes(script)
    subprocess.run([runner, "man", str(folder / "man")], check=True, stdout=subprocess.DEVNULL)
    for page in sorted((folder / "man").iterdir()):
        page.with_name(page.name + ".gz").write_bytes(gzip.compress(page.read_bytes(), mtime=0))
        page.unlink()
    for file in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"]:
        shutil.copyfile(ROOT / file, folder / "doc" / file)
    shutil.copyfile(ROOT / "LICENSE-MIT", folder / "doc" / "copyright")
    (folder / "doc" / "THIRD-PARTY").write_text(third_parties(target))
    return staged


def files_of(folder):
    """Each file below `folder` as (path from it, bytes, whether it is a program), in a fixed order."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            name = path.relative_to(folder).as_posix()
            yield name, path.read_bytes(), bool(path.stat().st_mode & stat.S_IXUSR)


def tar_gz(into, files, when):
    with open(into, "wb") as file, gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for name, content, executable in files:
                entry = tarfile.TarInfo(name)
                entry.size, entry.mtime, entry.mode = len(content), when, 0o755 if executable else 0o644
                tar.addfile(entry, io.BytesIO(content))


def zipped(into, files, when):
    import time

    date = time.gmtime(when)[:6]
    with zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as packed:
        for name, content, executable in files:
            entry = zipfile.ZipInfo(name, date)
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(entry, content)


def archive(target, staged, out, version, when):
    """The archive of a release: .zip for Windows, else .tar.gz, with one folder at its top."""
    top = f"{NAME}-{version}-{target.triple}"
    files = [(f"{top}/{name}", content, executable) for name, content, executable in files_of(staged)]
    if target.system == "win32":
        zipped(out / f"{top}.zip", files, when)
    else:
        tar_gz(out / f"{top}.tar.gz", files, when)


def linux_packages(target, staged, out, version, glibc, when):
    """The packages of the distributions, by nfpm."""
    environment = os.environ | {
        "STEWARD_ARCH": target.nfpm, "STEWARD_VERSION": version, "STEWARD_GLIBC": glibc,
        "STEWARD_REPOSITORY": repository(), "SOURCE_DATE_EPOCH": str(when),
    }
    for kind in ["deb", "rpm", "apk", "archlinux"]:
        marker = staged.with_name(f"{staged.name}-marker")
        marker.write_text(f"{kind}\n")
        os.utime(marker, (when, when))
        environment["STEWARD_MARKER"] = str(marker)
        command = ["nfpm", "package", "--config", str(ROOT / "packaging/nfpm.yaml"), "--packager", kind,
                   "--target", str(out)]
        subprocess.run(command, cwd=staged, env=environment, check=True, stdout=subprocess.DEVNULL)


def wheel(target, program, out, version, glibc, when):
    """A wheel that holds the program itself: no code of ours runs when it is installed or started."""
    # The program reads `MARKER` in its own folder, and so knows how it is updated.
    tag = "py3-none-" + target.wheel.format(glibc=glibc.replace(".", "_"))
    info = f"vault_steward-{version}.dist-info"
    files = {
        f"vault_steward-{version}.data/scripts/{target.exe}": program.read_bytes(),
        f"vault_steward-{version}.data/data/{MARKER}": b"pypi\n",
        f"{info}/METADATA": (
            f"Metadata-Version: 2.4\nName: {NAME}\nVersion: {version}\nSummary: {package()['description']}\n"
            f"License-Expression: {package()['license']}\nRequires-Python: >=3.8\n"
            f"Project-URL: Source, {repository()}\nDescription-Content-Type: text/markdown\n\n"
            + (ROOT / "README.md").read_text()
        ).encode(),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: {NAME}\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(),
        f"{info}/licenses/LICENSE-MIT": (ROOT / "LICENSE-MIT").read_bytes(),
        f"{info}/licenses/LICENSE-APACHE": (ROOT / "LICENSE-APACHE").read_bytes(),
    }

    def line(name, content):
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        return f"{name},sha256={digest},{len(content)}\n"

    record = "".join(line(*file) for file in files.items()) + f"{info}/RECORD,,\n"
    files[f"{info}/RECORD"] = record.encode()
    packed = [(name, content, "/scripts/" in name) for name, content in files.items()]
    zipped(out / f"vault_steward-{version}-{tag}.whl", packed, when)


def npm(target, program, out, version, when):
    """The npm package of one system. `npm_main` makes the package that people install."""
    system, cpu = target.npm
    about = {
        "name": f"{NAME}-{system}-{cpu}", "version": version, "description": f"{NAME} for {system} {cpu}",
        "license": package()["license"], "repository": npm_repository(), "os": [system], "cpu": [cpu],
        "files": [target.exe],
    }
    if system == "linux":
        about["libc"] = ["glibc"]
    files = [("package/package.json", json.dumps(about, indent=2).encode() + b"\n", False),
             (f"package/{target.exe}", program.read_bytes(), True)]
    tar_gz(out / f"{NAME}-{system}-{cpu}-{version}.tgz", files, when)


def npm_main(out, version, when):
    """The npm package that people install: it starts the program of the package for their system."""
    systems = sorted({target.npm for target in TARGETS.values()})
    about = {
        "name": NAME, "version": version, "description": package()["description"],
        "license": package()["license"], "repository": npm_repository(), "bin": {"steward": "steward.js"},
        "engines": {"node": ">=18"}, "files": ["steward.js"],
        # The MCP registry looks for its own name of the server here.
        "mcpName": f"io.github.{owner()}/{NAME}",
        "optionalDependencies": {f"{NAME}-{system}-{cpu}": version for system, cpu in systems},
    }
    files = [("package/package.json", json.dumps(about, indent=2).encode() + b"\n", False),
             ("package/steward.js", (ROOT / "packaging/steward.js").read_bytes(), True),
             ("package/README.md", (ROOT / "README.md").read_bytes(), False)]
    tar_gz(out / f"{NAME}-{version}.tgz", files, when)


def bundle(target, program, out, version, when):
    """The bundle that Claude Desktop installs with a click (MCPB, manifest 0.3)."""
    manifest = {
        "manifest_version": "0.3", "name": NAME, "display_name": "Vault Steward", "version": version,
        "description": package()["description"], "author": {"name": "Vault Steward contributors"},
        "license": package()["license"], "tools_generated": True, "prompts_generated": True,
        "server": {
            "type": "binary", "entry_point": f"server/{target.exe}",
            "mcp_config": {"command": f"${{__dirname}}/server/{target.exe}",
                           "args": ["mcp", "--vault", "${user_config.vault}"]},
        },
        "user_config": {
            "vault": {"type": "directory", "title": "Vault", "required": True,
                      "description": "The folder of your Obsidian vault"},
        },
        "compatibility": {"platforms": [target.system]},
    }
    files = [("manifest.json", json.dumps(manifest, indent=2).encode() + b"\n", False),
             (f"server/{target.exe}", program.read_bytes(), True),
             (MARKER, b"mcpb\n", False),
             ("LICENSE", (ROOT / "LICENSE-MIT").read_bytes(), False)]
    zipped(out / f"{NAME}-{version}-{target.system}-{target.npm[1]}.mcpb", files, when)


def repository():
    """The address of the sources, which the hosted release job knows; by hand a placeholder."""
    return "https://github.com/" + os.environ.get("GITHUB_REPOSITORY", f"OWNER/{NAME}")


def npm_repository():
    """The same as npm writes it, which compares it with where a package was built."""
    return {"type": "git", "url": f"git+{repository()}.git"}


def owner():
    """The owner of that repository."""
    return repository().split("/")[3]


def sums(folder):
    """The SHA-256 sums of all files in `folder`, by name."""
    names = sorted(path for path in folder.iterdir() if path.is_file() and path.name != "SHA256SUMS")
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in names}


def fill(out, version):
    """Fills the templates of other people's indexes: each wants the addresses and sums of a whole release.

    A template names a sum as {sha256:FILE}. One whose files are not all there is left out, and named.
    """
    found, left_out = sums(out), []
    for template in sorted((ROOT / "packaging/templates").rglob("*")):
        if not template.is_file():
            continue
        text = template.read_text().replace("{version}", version).replace("{repository}", repository())
        text = text.replace("{owner}", owner())
        wanted = re.findall(r"\{sha256:([^}]+)\}", text)
        if any(name not in found for name in wanted):
            left_out.append(template.name)
            continue
        text = re.sub(r"\{sha256:([^}]+)\}", lambda match: found[match[1]], text)
        into = out / "indexes" / template.relative_to(ROOT / "packaging/templates")
        into.parent.mkdir(parents=True, exist_ok=True)
        into.write_text(text)
    return left_out


def main():
    parser = argparse.ArgumentParser(prog="scripts/package")
    parser.add_argument("--program", type=Path, help="the built program")
    parser.add_argument("--target", choices=sorted(TARGETS), help="what it was built for")
    parser.add_argument("--runner", type=Path, help="the same version for this machine [default: the program]")
    parser.add_argument("--out", type=Path, required=True, help="the folder for the packages")
    parser.add_argument("--finish", action="store_true", help="the packages of all targets are in --out")
    given = parser.parse_args()
    version, when = package()["version"], epoch()
    given.out = given.out.resolve()
    given.out.mkdir(parents=True, exist_ok=True)
    if given.finish:
        npm_main(given.out, version, when)
        lines = "".join(f"{digest}  {name}\n" for name, digest in sums(given.out).items())
        (given.out / "SHA256SUMS").write_text(lines)
        for name in fill(given.out, version):
            print(f"left out {name}: packages that it names are missing", file=sys.stderr)
        return
    target = TARGETS[given.target]
    folder = given.out.with_name(given.out.name + "-staged")
    program = stage(target, given.program, (given.runner or given.program).resolve(), folder)
    glibc = glibc_of(program) if target.triple.endswith("-gnu") and target.system == "linux" else "2.17"
    archive(target, folder, given.out, version, when)
    wheel(target, program, given.out, version, glibc, when)
    if target.triple.endswith("-musl"):
        return
    npm(target, program, given.out, version, when)
    bundle(target, program, given.out, version, when)
    if target.nfpm:
        linux_packages(target, folder, given.out, version, glibc, when)


if __name__ == "__main__":
    main()
