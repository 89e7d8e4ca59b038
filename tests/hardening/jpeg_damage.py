#!/usr/bin/env python3
"""Damaged JPEGs beside what djpeg makes of them, row by row.

Needs `djpeg` (libjpeg-turbo) and the program of `cargo build -p wakashu-indexer --example picture`. A row counts as
the same if its samples differ by at most four levels on average. Two things are not copied: what libjpeg guesses for details
that a cut progressive file never had, and the noise where its numbers overflow 16 bits; there ours are the pixels as coded,
and white. The bar is therefore on the mean.
"""

import io
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy
from PIL import Image

import collection
from table import row, skipped

SEEDS = 5
LEAST_MEAN = 97.0


def photograph(mode="RGB"):
    """Something with edges, gradients and noise."""
    y, x = numpy.mgrid[0:384, 0:512]
    noise = numpy.random.default_rng(1).integers(0, 24, (384, 512))
    red = 128 + 100 * numpy.sin(x / 23) + noise
    green = (x ^ y) % 200 + noise
    blue = 255 * ((x - 256) ** 2 + (y - 192) ** 2 < 15000) * 0.8 + noise
    picture = numpy.dstack([red, green, blue]).clip(0, 255).astype("uint8")
    return Image.fromarray(picture).convert(mode)


def jpeg(picture, **options):
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=85, **options)
    return out.getvalue()


def data_of(file):
    scan = file.index(b"\xff\xda")
    return scan + 2 + int.from_bytes(file[scan + 2 : scan + 4], "big"), len(file) - 2


def restarts(file):
    start, end = data_of(file)
    return [at for at in range(start, end) if file[at] == 0xFF and 0xD0 <= file[at + 1] <= 0xD7]


def place(file, chance):
    """A place in the data that is not right behind a mark."""
    start, end = data_of(file)
    while True:
        at = chance.randrange(start + 16, end - 200)
        if 0xFF not in file[at - 2 : at + 1]:
            return at


def flipped(file, chance):
    at = place(file, chance)
    return file[:at] + bytes([file[at] ^ 1 << chance.randrange(8)]) + file[at + 1 :]


def zeros(file, chance):
    at = place(file, chance)
    return file[:at] + bytes(64) + file[at + 64 :]


def inserted(file, chance):
    at = place(file, chance)
    return file[:at] + bytes(chance.randrange(255) for _ in range(24)) + file[at:]


def removed(file, chance):
    at = place(file, chance)
    return file[:at] + file[at + chance.randrange(8, 120) :]


def cut(file, chance):
    return file[: place(file, chance)] + b"\xff\xd9"


def lost_marker(file, chance):
    at = chance.choice(restarts(file))
    return file[:at] + file[at + 2 :]


def lost_parts(file, chance):
    marks = restarts(file)
    first = chance.randrange(len(marks) - 4)
    return file[: marks[first]] + file[marks[first + chance.randrange(1, 4)] :]


def doubled_part(file, chance):
    marks = restarts(file)
    first = chance.randrange(len(marks) - 2)
    return file[: marks[first + 1]] + file[marks[first] :]


KINDS = [flipped, zeros, inserted, removed, cut, lost_marker, lost_parts, doubled_part]


def read(path):
    file = pathlib.Path(path).read_bytes()
    head, samples = file.split(b"ENDHDR\n", 1)
    fields = dict(line.split(" ", 1) for line in head.decode().splitlines() if " " in line)
    shape = (int(fields["HEIGHT"]), int(fields["WIDTH"]), int(fields["DEPTH"]))
    return numpy.frombuffer(samples, "uint8").reshape(shape).astype(int)


def main():
    picture = photograph()
    bases = {
        "4:2:0, restarts": jpeg(picture, restart_marker_rows=1),
        "4:4:4, restarts": jpeg(picture, subsampling=0, restart_marker_blocks=16),
        "grey, restarts": jpeg(photograph("L"), restart_marker_rows=1),
        "4:2:0": jpeg(picture),
        "progressive": jpeg(picture, progressive=True),
    }
    files = [pathlib.Path(name) for name in sys.argv[1:]]
    failed = 0
    all_shares, worst, silent = [], 100.0, 0
    print(f"{'damage':<14} {'picture':<18} {'rows as djpeg':>14} {'least':>6}  told")
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        cases = [(kind, base, file) for kind in KINDS for base, file in bases.items()]
        for kind, base, file in cases:
            if "marker" in kind.__name__ or "part" in kind.__name__:
                if "restarts" not in base:
                    continue
            shares, told = [], 0
            for seed in range(SEEDS):
                damaged = kind(file, random.Random(seed))
                share, words, complaint = compare(directory, damaged)
                told += "damaged" in words
                silent += "damaged" not in words and bool(complaint)
                shares.append(share)
            all_shares += shares
            mean = sum(shares) / len(shares)
            worst = min(worst, mean)
            print(f"{kind.__name__:<14} {base:<18} {mean:>12.1f} % {min(shares):>4.0f} %  {told} of {SEEDS}", flush=True)
        for path in files:
            share, words, _ = compare(directory, path.read_bytes())
            print(f"{'as it is':<14} {path.name[:30]:<18} {share:>12.1f} %        {words}")
            failed += row("14", f"`{path.name}`", "88 % grey where restart markers are lost", f"{share:.1f} % of the rows as djpeg shows them", share > 99)
    if not files:
        failed += skipped("14", "damaged JPEGs of cameras", "", "WAKASHU_PICTURES names no pictures")
    mean = sum(all_shares) / len(all_shares)
    now = f"{mean:.1f} % of the rows as djpeg shows them, {worst:.1f} % in the worst kind; {silent} silent where djpeg warns"
    name = f"{len(all_shares)} damaged JPEGs of {len(KINDS)} kinds"
    return failed + row("14", name, "served without a word", now, mean >= LEAST_MEAN and not silent) > 0


def compare(directory, damaged):
    (directory / "damaged.jpg").write_bytes(damaged)
    shown = subprocess.run(["djpeg", "-ppm", directory / "damaged.jpg"], capture_output=True)
    theirs = numpy.asarray(Image.open(io.BytesIO(shown.stdout)).convert("RGB")).astype(int)
    ran = subprocess.run([collection.PICTURE, directory / "damaged.jpg", directory / "out"], capture_output=True, text=True)
    if ran.stdout.startswith("refused"):
        return 0.0, ran.stdout.strip(), shown.stderr
    ours = read(directory / "out" / "pixels.pam")[..., :3]
    rows = numpy.abs(ours - theirs).mean(axis=(1, 2))
    return 100 * float((rows <= 4).mean()), ran.stdout.strip(), shown.stderr


if __name__ == "__main__":
    sys.exit(main())
