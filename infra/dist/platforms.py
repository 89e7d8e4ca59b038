"""The platforms that are shipped for, by target, and what a program's own header says of it.

Every package names platforms in its own words. They stand here in one table, and a program is packed under a name only
if its header agrees: a wheel of the wrong tag installs and does not start.
"""

import struct
from dataclasses import dataclass


@dataclass(frozen=True)
class Platform:
    target: str
    # ELF, Mach-O or PE; x86-64 or arm64.
    system: str
    machine: str
    # https://packaging.python.org/en/latest/specifications/platform-compatibility-tags/
    wheel: str
    # As Node's process.platform and process.arch say.
    npm: str
    # As images say; only Linux has images.
    image: str | None = None

    @property
    def ending(self):
        return ".exe" if self.system == "PE" else ""

    @property
    def archive(self):
        return ".zip" if self.system == "PE" else ".tar.gz"


# A static program runs on every Linux; 2.17 and 1.1 are the oldest that pip still asks for. The macOS versions are the
# oldest that Rust supports; infra/dist/build asks for them.
PLATFORMS = [
    Platform("x86_64-unknown-linux-musl", "ELF", "x86-64", "manylinux_2_17_x86_64.musllinux_1_1_x86_64", "linux-x64", "amd64"),
    Platform("aarch64-unknown-linux-musl", "ELF", "arm64", "manylinux_2_17_aarch64.musllinux_1_1_aarch64", "linux-arm64", "arm64"),
    Platform("aarch64-apple-darwin", "Mach-O", "arm64", "macosx_11_0_arm64", "darwin-arm64"),
    Platform("x86_64-apple-darwin", "Mach-O", "x86-64", "macosx_10_12_x86_64", "darwin-x64"),
    Platform("x86_64-pc-windows-gnu", "PE", "x86-64", "win_amd64", "win32-x64"),
]
BY_TARGET = {each.target: each for each in PLATFORMS}

ELF_MACHINES = {0x3E: "x86-64", 0xB7: "arm64"}
MACH_MACHINES = {0x0100_0007: "x86-64", 0x0100_000C: "arm64"}
PE_MACHINES = {0x8664: "x86-64", 0xAA64: "arm64"}


@dataclass(frozen=True)
class Header:
    system: str
    machine: str
    # ELF: needs no loader and no library.
    static: bool = False
    # Mach-O: the oldest macOS it starts on.
    oldest: tuple[int, int] | None = None


def read_header(program):
    """Reads what the first bytes of a program say. Raises `ValueError` where they say nothing known."""
    try:
        if program[:6] == b"\x7fELF\x02\x01":
            return elf(program)
        if program[:4] == b"\xcf\xfa\xed\xfe":
            return mach_o(program)
        if program[:2] == b"MZ":
            (start,) = struct.unpack_from("<I", program, 0x3C)
            signature, machine = struct.unpack_from("<4sH", program, start)
            if signature == b"PE\0\0":
                return Header("PE", PE_MACHINES[machine])
    except (struct.error, KeyError) as fault:
        raise ValueError(f"the header is cut short or names an unknown machine: {fault}") from None
    raise ValueError("neither ELF, Mach-O nor PE for 64 bits")


def elf(program):
    (machine,) = struct.unpack_from("<H", program, 18)
    (headers,) = struct.unpack_from("<Q", program, 32)
    size, count = struct.unpack_from("<HH", program, 54)
    interpreter, needed = False, False
    for index in range(count):
        kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", program, headers + index * size)
        interpreter |= kind == 3
        if kind == 2:
            tags = [struct.unpack_from("<q", program, offset + at)[0] for at in range(0, length, 16)]
            # What follows the end of the table is padding.
            needed |= 1 in tags[: tags.index(0)] if 0 in tags else 1 in tags
    return Header("ELF", ELF_MACHINES[machine], static=not interpreter and not needed)


def mach_o(program):
    (machine,) = struct.unpack_from("<I", program, 4)
    (commands,) = struct.unpack_from("<I", program, 16)
    at, oldest = 32, None
    for _ in range(commands):
        kind, size = struct.unpack_from("<II", program, at)
        # LC_BUILD_VERSION and LC_VERSION_MIN_MACOSX.
        if kind in (0x32, 0x24):
            (version,) = struct.unpack_from("<I", program, at + (12 if kind == 0x32 else 8))
            oldest = (version >> 16, version >> 8 & 0xFF)
        at += size
    return Header("Mach-O", MACH_MACHINES[machine], oldest=oldest)


def check(platform, program, name):
    """Raises unless a program is one for this platform, and starts on all that the packages promise."""
    header = read_header(program)
    if (header.system, header.machine) != (platform.system, platform.machine):
        raise SystemExit(f"{name} is {header.system} for {header.machine}, which is not {platform.target}")
    if platform.system == "ELF" and not header.static:
        raise SystemExit(f"{name} needs libraries of the system: it is not static")
    if platform.system == "Mach-O":
        _, major, minor, _ = platform.wheel.split("_", 3)
        if header.oldest is None or header.oldest > (int(major), int(minor)):
            raise SystemExit(f"{name} starts on macOS {header.oldest} or later, but the wheel promises {major}.{minor}")
