"""npm packages: `npx wakashu` takes the one package of its platform as an optional dependency; no script runs when they are
installed, and nothing is downloaded beside them."""

from pathlib import Path

from platforms import PLATFORMS
from release import LICENSE, REPOSITORY, SUMMARY, VERSION, Member, as_json, shipped, tar, text, third_party, write

WRAPPER = Path(__file__).with_name("wakashu.js")


def manifest(name, **more):
    repository = {"repository": {"type": "git", "url": f"git+{REPOSITORY}.git"}} if REPOSITORY else {}
    return as_json({"name": name, "version": VERSION, "description": SUMMARY, "license": LICENSE, **repository, **more})


def package(files):
    return tar(Member(f"package/{each.name}", each.data, each.mode) for each in files)


def platform_package(platform, program):
    system, machine = platform.npm.split("-")
    name = f"wakashu{platform.ending}"
    return package([
        Member("package.json", manifest(f"@wakashu/{platform.npm}", os=[system], cpu=[machine], preferUnplugged=True)),
        Member("LICENSE", text("LICENSE")),
        Member("README.md", f"The program of [wakashu](https://www.npmjs.com/package/wakashu) for {platform.npm}.\n".encode()),
        Member("THIRD-PARTY.txt", third_party()),
        Member(name, program, 0o755),
    ])


def wrapper():
    # All of them, whichever were built here: the release has them all.
    optional = {f"@wakashu/{each.npm}": VERSION for each in PLATFORMS}
    more = {"bin": {"wakashu": "wakashu.js"}, "engines": {"node": ">=18"}, "optionalDependencies": optional}
    return package([
        Member("package.json", manifest("wakashu", **more)),
        Member("LICENSE", text("LICENSE")),
        Member("README.md", text("README.md")),
        Member("wakashu.js", WRAPPER.read_bytes(), 0o755),
    ])


def main():
    for platform, programs in shipped():
        write(f"wakashu-npm-{platform.npm}-{VERSION}.tgz", platform_package(platform, programs["wakashu"]))
    write(f"wakashu-npm-{VERSION}.tgz", wrapper())


if __name__ == "__main__":
    main()
