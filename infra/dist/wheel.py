"""Wheels: `pip install wakashu` and `uvx wakashu` put the finished program on the path. Nothing is compiled, and no
Python runs when the program does."""

import base64
import hashlib

from release import LICENSE, REPOSITORY, SHIP, SUMMARY, VERSION, Member, shipped, text, third_party, write, zipped

INFO = f"wakashu-{VERSION}.dist-info"


def metadata():
    # https://packaging.python.org/en/latest/specifications/core-metadata/
    lines = [
        "Metadata-Version: 2.4",
        "Name: wakashu",
        f"Version: {VERSION}",
        f"Summary: {SUMMARY}",
        f"License-Expression: {LICENSE}",
        "License-File: LICENSE",
        "License-File: THIRD-PARTY.txt",
        *([f"Project-URL: Repository, {REPOSITORY}"] if REPOSITORY else []),
        "Requires-Python: >=3.8",
        "Description-Content-Type: text/markdown",
    ]
    return "\n".join(lines).encode() + b"\n\n" + text("README.md")


def members(platform, program):
    yield Member(f"wakashu-{VERSION}.data/scripts/wakashu{platform.ending}", program, 0o755)
    yield Member(f"{INFO}/METADATA", metadata())
    tags = "".join(f"Tag: py3-none-{tag}\n" for tag in platform.wheel.split("."))
    yield Member(f"{INFO}/WHEEL", f"Wheel-Version: 1.0\nGenerator: wakashu\nRoot-Is-Purelib: false\n{tags}".encode())
    yield Member(f"{INFO}/licenses/LICENSE", text("LICENSE"))
    yield Member(f"{INFO}/licenses/THIRD-PARTY.txt", third_party())
    bill = SHIP / "sbom/wakashu.cdx.json"
    if bill.exists():
        yield Member(f"{INFO}/sboms/wakashu.cdx.json", bill.read_bytes())


def record(files):
    def digest(data):
        return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()

    lines = [f"{each.name},sha256={digest(each.data)},{len(each.data)}" for each in files]
    return "\n".join([*lines, f"{INFO}/RECORD,,", ""]).encode()


def main():
    for platform, programs in shipped():
        files = list(members(platform, programs["wakashu"]))
        files.append(Member(f"{INFO}/RECORD", record(files)))
        write(f"wakashu-{VERSION}-py3-none-{platform.wheel}.whl", zipped(files))


if __name__ == "__main__":
    main()
