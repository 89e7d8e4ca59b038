"""Starts on Lambda, under AWS's runtime emulator: tests/bench/lambda-init."""

import json
import os
import subprocess
import sys

from .machine import ROOT, RELEASE
from .server import Failed

TITLES = {
    "hello": "hello-world",
    "local": "archive on disk",
    "s3": "archive in S3 on this machine",
    "s3, no preload": "the same, nothing fetched ahead",
}


def run(options):
    figures = options.work / "lambda-init.json"
    # It ends with 1 when a bar is missed; the bars are looked at here.
    ended = subprocess.run(
        [str(ROOT / "tests/bench/lambda-init"), "--starts", "4" if options.quick else "40", "--json", str(figures)],
        env=os.environ | {"WAKASHU_PROGRAMS": str(RELEASE)}, stdout=sys.stderr)
    if not figures.exists():
        raise Failed(f"tests/bench/lambda-init ended with {ended.returncode}")
    measured = json.loads(figures.read_text())
    bars = [{"what": f"start on Lambda, {TITLES[row['program']]}, minimum", "value": row["over_hello_ms"],
             "bar": row["bar_ms"], "unit": "ms over hello-world"}
            for row in measured["rows"] if row["bar_ms"] is not None]
    return measured | {"bars": bars}
