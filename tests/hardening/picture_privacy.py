#!/usr/bin/env python3
"""What exiftool still finds in originals and renditions, of the fixtures and of files named as arguments.

Allowed are the orientation, a colour profile and what says how the pixels are coded.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import collection
from table import row, skipped

# Groups that say how the pixels are coded, or that exiftool makes up.
CODING = {"File", "ExifTool", "Composite", "JFIF", "PNG", "RIFF", "GIF", "QuickTime", "ICC_Profile", "SourceFile", "APP14"}
# What those groups could tell about people.
TELLING = ("Comment", "Date", "Time", "GPS", "Author", "Copyright", "Software", "Make", "Model", "Description", "XMP", "Text", "Trailer")
HARMLESS = {"File:FileModifyDate", "File:FileAccessDate", "File:FileInodeChangeDate", "PNG:ProfileName", "EXIF:Orientation",
            # How an animation runs.
            "GIF:FrameCount", "GIF:Duration", "GIF:AnimationIterations", "RIFF:Duration", "RIFF:AnimationLoopCount"}


def told(path):
    shown = subprocess.run(["exiftool", "-j", "-a", "-G0", "-struct", path], capture_output=True, text=True)
    tags = json.loads(shown.stdout)[0]
    found = []
    for tag in tags:
        group, _, name = tag.partition(":")
        if tag in HARMLESS or group == "ICC_Profile" or not name:
            continue
        if group not in CODING or any(word in name for word in TELLING):
            found.append(f"{tag}={str(tags[tag])[:40]}")
    return found


def main():
    files = [path for path in sorted(collection.FIXTURES.iterdir()) if not path.name.endswith((".expected.png", ".json", ".md"))]
    files += map(pathlib.Path, sys.argv[1:])
    before, after, looked_at = 0, 0, 0
    with tempfile.TemporaryDirectory() as directory:
        for path in files:
            out = pathlib.Path(directory) / path.name
            subprocess.run([collection.PICTURE, path, out], capture_output=True)
            served = [file for file in out.glob("*.*") if file.suffix != ".pam"] if out.exists() else []
            if not served:
                continue
            looked_at += 1
            before += bool(told(path))
            for file in served:
                found = told(file)
                after += len(found)
                if found:
                    print(f"{path.name}, {file.name}: {', '.join(found)}")
    now = f"{after} tags in {looked_at} pictures, {before} of which had some"
    failed = row("13", "what exiftool finds in renditions and originals", "`sefd`, `udta`, trailers, segments", now, not after and before > 0)
    if not sys.argv[1:]:
        failed += skipped("13", "what exiftool finds in real pictures", "", "WAKASHU_PICTURES names no pictures")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
