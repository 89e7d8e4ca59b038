"""Writes the licences of everything that is inside the programs: of every crate, with the text that the crate carries.

    infra/dist/licences.py TARGET... >FILE
"""

import json
import re
import subprocess
import sys
from pathlib import Path

from release import ROOT

PROGRAMS = ("wakashu", "wakashu-function")
LICENCE_FILE = re.compile(r"(licen[cs]e|copying|copyright|notice|unlicense|patents)", re.IGNORECASE)
# Sources of others that a crate brings along and compiles in.
BUNDLED = {"libmimalloc-sys": "c_src", "libwebp-sys": "vendor", "ring": "third_party"}


def packages(target):
    """Yields every crate that gets into a program for a target."""
    command = ["cargo", "metadata", "--format-version=1", "--locked", "--filter-platform", target]
    found = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)
    by_id = {each["id"]: each for each in found["packages"]}
    nodes = {each["id"]: each for each in found["resolve"]["nodes"]}
    waiting = [each["id"] for each in found["packages"] if each["source"] is None and each["name"] in PROGRAMS]
    seen = set()
    while waiting:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        if by_id[current]["source"]:
            yield by_id[current]
        for dependency in nodes[current]["deps"]:
            # What only builds or tests is not in the program. Macros write code, but are not in it either.
            normal = any(kind["kind"] is None for kind in dependency["dep_kinds"])
            if normal and not is_macro(by_id[dependency["pkg"]]):
                waiting.append(dependency["pkg"])


def is_macro(package):
    return any("proc-macro" in target["kind"] for target in package["targets"])


def texts(package):
    folder = Path(package["manifest_path"]).parent
    places = [folder, *(folder / name for name in (BUNDLED.get(package["name"]),) if name)]
    named = package["license_file"]
    for path in sorted({*([folder / named] if named else []), *licence_files(places[:1]), *below(places[1:])}):
        yield path.read_text(errors="replace").strip()


def licence_files(folders):
    for folder in folders:
        for path in folder.iterdir():
            # Some crates have a folder of them.
            if LICENCE_FILE.match(path.name):
                yield from (each for each in (sorted(path.iterdir()) if path.is_dir() else [path]) if each.is_file())


def below(folders):
    for folder in folders:
        yield from (each for each in folder.rglob("*") if each.is_file() and re.match(r"(copying|licen[cs]e|patents)$", each.name, re.I))


def main(targets):
    found = {(each["name"], each["version"]): each for target in targets for each in packages(target)}
    by_text, without = {}, []
    for (name, version), package in sorted(found.items()):
        title = f"{name} {version} ({package['license'] or 'see its text'})"
        mine = list(texts(package))
        if not mine:
            without.append(f"{title}: {', '.join(package['authors']) or 'no author is named'}")
        for each in mine:
            note(by_text, each, title)
    for title, path in toolchain():
        note(by_text, path.read_text(errors="replace").strip(), title)
    rule = "=" * 100
    print(f"The programs of wakashu contain these works of others, under the licences below.\n{len(found)} crates.\n")
    for each, titles in by_text.values():
        print(rule, *titles, "-" * 100, each, sep="\n")
    if without:
        print(rule, "These crates name their licence and carry no text of it; it is the one of that name above.", *without, sep="\n")


def note(by_text, text, title):
    """Texts are one that differ by how their lines are broken."""
    titles = by_text.setdefault(" ".join(text.split()), (text, []))[1]
    if title not in titles:
        titles.append(title)


def toolchain():
    """Yields the licences of what every program is linked with: Rust's own library, and musl's."""
    sysroot = subprocess.run(["rustc", "--print", "sysroot"], check=True, capture_output=True, text=True).stdout.strip()
    for path in sorted(Path(sysroot, "share/doc").glob("rust*/*")):
        if path.name in ("COPYRIGHT", "LICENSE-MIT", "LICENSE-APACHE"):
            yield f"Rust's standard library ({path.name})", path
    for path in sorted(ROOT.glob(".tools/venv/lib/python3*/site-packages/ziglang/lib/libc/musl/COPYRIGHT")):
        yield "musl", path


if __name__ == "__main__":
    main(sys.argv[1:])
