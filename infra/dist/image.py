"""The container image, as an OCI layout for all Linux platforms in one file: `skopeo copy oci-archive:FILE docker://…`.

https://github.com/opencontainers/image-spec/blob/v1.1.1/image-layout.md
"""

import gzip
import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import certifi

from release import LICENSE, REPOSITORY, SHIP, SUMMARY, TIME, VERSION, Member, commit, sha256, shipped, tar, text, third_party, write

CONTAINERFILE = Path(__file__).with_name("Containerfile")
INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"


def root(programs):
    """Returns the files of the image."""
    folders = [
        "etc", "etc/ssl", "etc/ssl/certs", "usr", "usr/local", "usr/local/bin", "usr/share", "usr/share/doc",
        "usr/share/doc/wakashu",
    ]
    yield from (Member(f"{folder}/", b"", 0o755, is_folder=True) for folder in folders)
    yield Member("tmp/", b"", 0o1777, is_folder=True)
    # For buckets and web hosts. Mozilla's list as PyPI has it: that of the building machine may have more in it.
    yield Member("etc/ssl/certs/ca-certificates.crt", Path(certifi.where()).read_bytes())
    yield Member("etc/passwd", b"wakashu:x:65532:65532::/tmp:/nologin\n")
    yield Member("etc/group", b"wakashu:x:65532:\n")
    for name, data in programs.items():
        yield Member(f"usr/local/bin/{name}", data, 0o755)
    yield Member("usr/share/doc/wakashu/LICENSE", text("LICENSE"))
    yield Member("usr/share/doc/wakashu/THIRD-PARTY.txt", third_party())


def settings():
    """Reads what the Containerfile says about the image beside its files."""
    found = {}
    for line in CONTAINERFILE.read_text().splitlines():
        word, _, rest = line.partition(" ")
        match word:
            case "ENV":
                found["Env"] = rest.split()
            case "USER":
                found["User"] = rest
            case "EXPOSE":
                found["ExposedPorts"] = {rest: {}}
            case "ENTRYPOINT":
                found["Entrypoint"] = json.loads(rest)
            case "CMD":
                found["Cmd"] = json.loads(rest)
            case "" | "#" | "FROM" | "COPY":
                pass
            case _:
                raise SystemExit(f"Containerfile: what does {word} mean for the image?")
    return found


def labels():
    found = {
        "org.opencontainers.image.title": "wakashu",
        "org.opencontainers.image.description": SUMMARY,
        "org.opencontainers.image.version": VERSION,
        "org.opencontainers.image.licenses": LICENSE,
        "org.opencontainers.image.revision": commit("%H"),
        "org.opencontainers.image.source": REPOSITORY,
    }
    return {name: value for name, value in found.items() if value}


class Layout:
    """Blobs by digest, and the file that holds them all."""

    def __init__(self):
        self.blobs = {}

    def add(self, data, media):
        digest = sha256(data)
        self.blobs[digest] = data
        return {"mediaType": media, "digest": f"sha256:{digest}", "size": len(data)}

    def add_json(self, value, media):
        return self.add(json.dumps(value, sort_keys=True, separators=(",", ":")).encode(), media)

    def image(self, platform, files):
        layer = tar(files, compress=False)
        created = datetime.fromtimestamp(TIME, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        described = {"architecture": platform.image, "os": "linux"}
        config = self.add_json(
            {
                **described,
                "created": created,
                "config": {**settings(), "Labels": labels()},
                "rootfs": {"type": "layers", "diff_ids": [f"sha256:{sha256(layer)}"]},
                "history": [{"created": created, "created_by": "infra/dist/image.py"}],
            },
            CONFIG,
        )
        packed = self.add(gzip.compress(layer, 9, mtime=0), LAYER)
        manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [packed]}
        return {**self.add_json(manifest, MANIFEST), "platform": described}

    def file(self, images):
        index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": images, "annotations": labels()}
        top = {**self.add_json(index, INDEX), "annotations": {"org.opencontainers.image.ref.name": VERSION}}
        members = [
            Member("oci-layout", b'{"imageLayoutVersion":"1.0.0"}'),
            Member("index.json", json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": [top]}).encode()),
            *(Member(f"blobs/sha256/{digest}", self.blobs[digest]) for digest in sorted(self.blobs)),
        ]
        return tar(members, compress=False)


def lay_out(folder, files):
    """Writes the files of the image for people with an engine."""
    shutil.rmtree(folder, ignore_errors=True)
    for each in files:
        path = folder / each.name
        if each.is_folder:
            path.mkdir(parents=True)
        else:
            path.write_bytes(each.data)
        path.chmod(each.mode)


def main():
    layout, images = Layout(), []
    for platform, programs in shipped():
        if platform.image:
            files = list(root(programs))
            lay_out(SHIP / "image" / platform.image, files)
            images.append(layout.image(platform, files))
    if images:
        write(f"wakashu-{VERSION}-image.tar", layout.file(images))


if __name__ == "__main__":
    main()
