"""What of the packing needs no finished program: python3 -m unittest discover -s infra/dist -p 'test.py'"""

import csv
import io
import os
import struct
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
from pathlib import Path

SHIP = tempfile.TemporaryDirectory()
os.environ["WAKASHU_SHIP"] = SHIP.name
# Read when they are imported.
import npm  # noqa: E402
import release  # noqa: E402
import wheel  # noqa: E402
from platforms import BY_TARGET, PLATFORMS, check, read_header  # noqa: E402


def elf(machine, segments=()):
    """Returns a program of headers alone."""
    head = struct.pack("<6s10xHHIQQQIHHHHHH", b"\x7fELF\x02\x01", 2, machine, 1, 0, 64, 0, 0, 64, 56, len(segments), 0, 0, 0)
    table, rest, at = b"", b"", 64 + 56 * len(segments)
    for kind, data in segments:
        table += struct.pack("<IIQQQQQQ", kind, 0, at + len(rest), 0, 0, len(data), len(data), 1)
        rest += data
    return head + table + rest


def dynamic(*tags):
    return (2, b"".join(struct.pack("<qQ", tag, 0) for tag in (*tags, 0)))


def mach_o(machine, major, minor):
    version = struct.pack("<IIIIII", 0x32, 24, 1, major << 16 | minor << 8, 0, 0)
    return struct.pack("<IIIIIIII", 0xFEEDFACF, machine, 0, 2, 1, len(version), 0, 0) + version


def pe(machine):
    return b"MZ" + bytes(58) + struct.pack("<I", 64) + struct.pack("<4sH", b"PE\0\0", machine)


RIGHT = {
    "x86_64-unknown-linux-musl": elf(0x3E),
    "aarch64-unknown-linux-musl": elf(0xB7),
    "aarch64-apple-darwin": mach_o(0x0100_000C, 11, 0),
    "x86_64-apple-darwin": mach_o(0x0100_0007, 10, 12),
    "x86_64-pc-windows-gnu": pe(0x8664),
}


class Headers(unittest.TestCase):
    def test_every_platform_takes_its_own_programs_and_no_others(self):
        self.assertEqual(set(RIGHT), set(BY_TARGET))
        for target, program in RIGHT.items():
            for platform in PLATFORMS:
                with self.subTest(program=target, platform=platform.target):
                    if platform.target == target:
                        check(platform, program, "it")
                    else:
                        self.assertRaises(SystemExit, check, platform, program, "it")

    def test_a_program_that_needs_a_loader_or_a_library_is_not_static(self):
        linux = BY_TARGET["x86_64-unknown-linux-musl"]
        # Position-independent and static: a table of dynamic entries that names no library.
        check(linux, elf(0x3E, [dynamic(5, 6)]), "it")
        for segments in ([(3, b"/lib/ld.so\0")], [dynamic(5, 1)]):
            self.assertRaises(SystemExit, check, linux, elf(0x3E, segments), "it")

    def test_a_mac_program_that_asks_for_a_newer_system_than_its_wheel_is_refused(self):
        mac = BY_TARGET["aarch64-apple-darwin"]
        self.assertRaises(SystemExit, check, mac, mach_o(0x0100_000C, 15, 0), "it")

    def test_what_is_no_program_is_refused(self):
        for program in (b"", b"#!/bin/sh\n", b"\x7fELF\x02\x01", b"MZ", elf(0x28), b"\x7fELF\x01\x01" + bytes(60)):
            self.assertRaises(ValueError, read_header, program)

    def test_the_program_that_runs_this_is_recognised(self):
        expected = {"linux": "ELF", "darwin": "Mach-O", "win32": "PE"}[sys.platform]
        self.assertEqual(read_header(Path(sys.executable).resolve().read_bytes()).system, expected)

    def test_each_name_stands_for_one_platform(self):
        for names in ([each.wheel for each in PLATFORMS], [each.npm for each in PLATFORMS]):
            self.assertEqual(len(set(names)), len(PLATFORMS))
        for each in PLATFORMS:
            for words, name in (("x86_64", "x86-64"), ("amd64", "x86-64"), ("arm64", "arm64"), ("aarch64", "arm64")):
                if words in each.wheel:
                    self.assertEqual(each.machine, name)


class Packages(unittest.TestCase):
    def setUp(self):
        for target, program in RIGHT.items():
            folder = Path(SHIP.name, "programs", target)
            folder.mkdir(parents=True, exist_ok=True)
            for name in ("wakashu", "wakashu-function"):
                (folder / f"{name}{BY_TARGET[target].ending}").write_bytes(program)
        Path(SHIP.name, "THIRD-PARTY.txt").write_text("others")
        Path(SHIP.name, "completions").mkdir(exist_ok=True)
        Path(SHIP.name, "completions/wakashu.fish").write_text("complete")

    def packed(self):
        for kind in ("archive", "wheel", "npm", "function"):
            subprocess.run([sys.executable, Path(__file__).with_name(f"{kind}.py")], check=True, stdout=subprocess.DEVNULL)
        return {path.name: path.read_bytes() for path in Path(SHIP.name, "packed").iterdir()}

    def test_every_package_holds_the_same_program_and_two_runs_write_the_same(self):
        first = self.packed()
        self.assertEqual(first, self.packed())
        for platform in PLATFORMS:
            target, program = platform.target, RIGHT[platform.target]
            names = [name for name in first if target in name or platform.wheel in name or f"npm-{platform.npm}-" in name]
            self.assertEqual(len(names), 3, names)
            for name in names:
                with self.subTest(name):
                    self.assertIn((program, 0o755), list(executables(first[name])))

    def test_the_record_of_a_wheel_names_every_file_with_its_length(self):
        for platform, programs in release.shipped():
            files = list(wheel.members(platform, programs["wakashu"]))
            rows = list(csv.reader(io.StringIO(wheel.record(files).decode())))
            self.assertEqual([row[0] for row in rows[:-1]], [each.name for each in files])
            self.assertEqual([int(row[2]) for row in rows[:-1]], [len(each.data) for each in files])

    def test_the_wrapper_asks_for_every_platform_and_runs_nothing_when_installed(self):
        with tarfile.open(fileobj=io.BytesIO(npm.wrapper())) as package:
            manifest = package.extractfile("package/package.json").read().decode()
        for platform in PLATFORMS:
            self.assertIn(f'"@wakashu/{platform.npm}": "{release.VERSION}"', manifest)
        self.assertNotIn("scripts", manifest)

    def test_the_manifest_for_the_action_has_one_line_for_each_archive(self):
        packed = self.packed()
        sums = Path(SHIP.name, "SHA256SUMS")
        sums.write_text("".join(f"{release.sha256(data)}  {name}\n" for name, data in sorted(packed.items())))
        command = [Path(__file__).with_name("manifest"), release.VERSION, "owner/wakashu", sums]
        first, repository, *lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
        self.assertEqual((first, repository), (f"version {release.VERSION}", "repository owner/wakashu"))
        named = dict(reversed(line.split("  ")) for line in lines)
        self.assertEqual(set(named), set(BY_TARGET))
        for platform in PLATFORMS:
            name = f"wakashu-{release.VERSION}-{platform.target}{platform.archive}"
            self.assertEqual(named[platform.target], release.sha256(packed[name]))
        refused = subprocess.run([command[0], "9.9.9", *command[2:]], capture_output=True, text=True)
        self.assertEqual((refused.returncode, "no release archives" in refused.stderr), (1, True))

    def test_the_notes_are_the_chapter_of_the_version_once_it_has_its_name(self):
        changes = (release.ROOT / "CHANGELOG.md").read_text()
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder, "infra/dist/version")
            program.parent.mkdir(parents=True)
            program.write_bytes(Path(__file__).with_name("version").read_bytes())
            Path(folder, "Cargo.toml").write_bytes((release.ROOT / "Cargo.toml").read_bytes())
            notes = {}
            for name in ("Unreleased", release.VERSION):
                head = f"# Changelog\n\n## {name}\n"
                Path(folder, "CHANGELOG.md").write_text(head + changes.split("## Unreleased\n")[1] + "\n## 0.0.1\n\nold\n")
                notes[name] = subprocess.run(["bash", program, "--notes"], capture_output=True, text=True)
        self.assertEqual((notes["Unreleased"].returncode, 'rename "Unreleased"' in notes["Unreleased"].stderr), (1, True))
        said = notes[release.VERSION].stdout
        self.assertIn("- **added** `wakashu new DIR`", said)
        self.assertNotIn("old", said.splitlines())
        # What GitHub takes as the notes of a release.
        self.assertLess(len(said), 125_000)


def executables(package):
    """Yields the files of a package that may be run, with their rights."""
    if package[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(package)) as files:
            for each in files.infolist():
                yield files.read(each), each.external_attr >> 16 & 0o777
    else:
        with tarfile.open(fileobj=io.BytesIO(package)) as files:
            for each in files.getmembers():
                yield files.extractfile(each).read(), each.mode


if __name__ == "__main__":
    unittest.main()
