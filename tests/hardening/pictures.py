#!/usr/bin/env python3
"""Pictures as they come, beside what other programs make of them: HEIC beside libheif, and what is passed on beside Pillow.

Prints one row for each point and fails if anything differs. Files named as arguments are looked at as well. Needs `pillow`,
`pillow-heif`, `numpy` and `djpeg`.
"""

import io
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy
import pillow_heif
from PIL import Image, ImageCms, ImageOps

import collection
from table import row, skipped

pillow_heif.register_heif_opener()
Image.MAX_IMAGE_PIXELS = None

# Most levels a HEIC may be away from libheif's, on average.
MOST_LEVELS = 1.5
MUTATIONS = 4


def convert(path, directory):
    """What becomes of a picture: what was said, its pixels, and the files that would be served."""
    out = pathlib.Path(directory) / "out"
    subprocess.run(["rm", "-rf", out], check=True)
    said = subprocess.run([collection.PICTURE, path, out], capture_output=True, text=True).stdout.strip()
    if said.startswith("refused") or not (out / "pixels.pam").exists():
        return said, None, []
    head, samples = (out / "pixels.pam").read_bytes().split(b"ENDHDR\n", 1)
    fields = dict(line.split(" ", 1) for line in head.decode().splitlines() if " " in line)
    shape = (int(fields["HEIGHT"]), int(fields["WIDTH"]), int(fields["DEPTH"]))
    pixels = numpy.frombuffer(samples, "uint8").reshape(shape)
    return said, pixels, [file for file in out.iterdir() if file.suffix != ".pam"]


def shown_by_pillow(path):
    """The picture upright and in sRGB, as RGBA."""
    picture = Image.open(path)
    profile = picture.info.get("icc_profile")
    picture = ImageOps.exif_transpose(picture)
    if profile:
        try:
            source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
            alpha = picture.getchannel("A") if picture.mode == "RGBA" else None
            picture = ImageCms.profileToProfile(picture.convert("RGB"), source, ImageCms.createProfile("sRGB"), outputMode="RGB")
            if alpha:
                picture.putalpha(alpha)
        except ImageCms.PyCMSError:
            pass
    return numpy.asarray(picture.convert("RGBA")).astype(int)


def difference(pixels, theirs):
    """The mean difference in levels of colours as they are seen, that is multiplied by their alpha."""
    if pixels.shape[:2] != theirs.shape[:2]:
        return 255.0
    ours = pixels.astype(int)
    if ours.shape[2] == 3:
        ours = numpy.dstack([ours, numpy.full(ours.shape[:2], 255)])
    seen = lambda samples: numpy.dstack([samples[..., :3] * samples[..., 3:] / 255, samples[..., 3:]])
    return float(numpy.abs(seen(ours) - seen(theirs)).mean())


def heic(files, directory):
    """HEIC files beside libheif."""
    worst, compared, refused = (0.0, "none"), 0, []
    for path in files:
        said, pixels, _ = convert(path, directory)
        if pixels is None:
            refused.append(f"{path.name} ({said.removeprefix('refused: ')[:60]})")
            continue
        compared += 1
        worst = max(worst, (difference(pixels, shown_by_pillow(path)), path.name))
    for line in refused:
        print(f"  refused: {line}")
    # What libheif refuses, and overlays, which are refused in words.
    expected = ("overlay", "bomb", "truncated", "lies")
    wrongly = [name for name in refused if not any(word in name for word in expected)]
    now = f"{compared} beside libheif: {worst[0]:.2f} levels apart at most on average ({worst[1]}); {len(wrongly)} refused wrongly"
    before = "2 phones refused, reds 254,2,2 → 255,27,0"
    return row("15", "HEIC files", before, now, worst[0] <= MOST_LEVELS and not wrongly and compared > 0)


def complaint(path):
    """What a strict reader has against a file; nothing if it takes it."""
    try:
        with Image.open(path) as picture:
            picture.load()
            if picture.info.get("icc_profile") and path.stem == "original":
                ImageCms.ImageCmsProfile(io.BytesIO(picture.info["icc_profile"]))
    except Exception as error:  # noqa: BLE001: whatever it is
        return f"Pillow: {error}"
    if path.suffix in (".jpg", ".jpeg"):
        said = subprocess.run(["djpeg", path], capture_output=True).stderr
        return f"djpeg: {said.decode(errors='replace')[:80]}" if said else ""
    return ""


def strict(files, directory):
    """Sound, damaged and made-up files: what is served of them is opened by readers that forgive nothing."""
    looked_at = served = kept_with_warning = 0
    bad = []
    changed = pathlib.Path(directory) / "changed"
    chance = random.Random(7)
    for path in files:
        data = path.read_bytes()
        versions = [data]
        if len(data) < 40_000:
            for _ in range(MUTATIONS):
                version = bytearray(data)
                for _ in range(chance.randrange(1, 4)):
                    if version:
                        version[chance.randrange(len(version))] = chance.randrange(256)
                versions.append(bytes(version))
        for version in versions:
            looked_at += 1
            changed.write_bytes(version)
            said, _, files_of_it = convert(changed, directory)
            for file in files_of_it:
                # The original of a damaged JPEG is kept with a warning, and djpeg says the same of it; no other is excused.
                if file.stem == "original" and file.suffix == ".jpeg" and "is damaged" in said:
                    kept_with_warning += 1
                    continue
                served += 1
                found = complaint(file)
                if found:
                    bad.append(f"{path.name}, {file.name}: {found}")
    for line in bad[:20]:
        print(f"  {line}")
    now = f"{len(bad)} of {served} files made of {looked_at} sources; {kept_with_warning} originals kept with a warning"
    return row("16", "served, and refused by djpeg or Pillow", "3 JPEG, 5 PNG", now, not bad and served > 0)


def main():
    given = [pathlib.Path(name) for name in sys.argv[1:]]
    fixtures = [path for path in sorted(collection.FIXTURES.iterdir()) if not path.name.endswith((".expected.png", ".json", ".md"))]
    corpus = sorted((collection.ROOT / "tests/fuzz/corpus/picture").iterdir())
    with tempfile.TemporaryDirectory() as directory:
        failed = heic([path for path in fixtures + given if path.suffix == ".heic"], directory)
        failed += strict(fixtures + given + corpus, directory)
    if not given:
        failed += skipped("15", "HEIC files of phones", "", "WAKASHU_PICTURES names no pictures")
        failed += skipped("16", "real pictures, served and refused", "", "WAKASHU_PICTURES names no pictures")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
