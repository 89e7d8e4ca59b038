"""Release archives: one folder with the programs, completions, licences and READMEs."""

from release import SHIP, VERSION, Member, shipped, tar, text, third_party, write, zipped


def members(platform, programs):
    folder = f"wakashu-{VERSION}-{platform.target}"
    for name, data in programs.items():
        yield Member(f"{folder}/{name}{platform.ending}", data, 0o755)
    for completion in sorted((SHIP / "completions").iterdir()):
        yield Member(f"{folder}/completions/{completion.name}", completion.read_bytes())
    for name in ("README.md", "README.ja.md", "CHANGELOG.md", "LICENSE"):
        yield Member(f"{folder}/{name}", text(name))
    yield Member(f"{folder}/THIRD-PARTY.txt", third_party())


def main():
    for platform, programs in shipped():
        pack = zipped if platform.archive == ".zip" else tar
        name = f"wakashu-{VERSION}-{platform.target}{platform.archive}"
        write(name, pack(members(platform, programs)))


if __name__ == "__main__":
    main()
