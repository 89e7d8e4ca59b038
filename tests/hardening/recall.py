#!/usr/bin/env python3
"""What readers of today find in poems of old: a row for the whole of tests/search/recall, whose table is printed above it."""

import os
import re
import subprocess
import sys

from collection import ROOT
from table import row, skipped

BEFORE = "recall 0.919, false hits 9.6 %"


def main():
    name = "modern spellings, old forms, variants"
    if not os.environ.get("WAKASHU_POEMS"):
        return skipped("19", name, BEFORE, "WAKASHU_POEMS names no poems")
    done = subprocess.run([ROOT / "tests/search/recall", "--bars"], capture_output=True, text=True)
    # Not as rows of the table.
    print(done.stdout.replace("| ", "  ").replace(" |", " ") or done.stderr)
    found = re.search(r"^\| all +\| (\d+) \| \d+ \| ([\d.]+) \|.*\(([\d.]+)%\) \|$", done.stdout, re.M)
    lowest = min(re.findall(r"^\| \w+ +\| \d+ \| \d+ \| ([\d.]+) \|", done.stdout, re.M), default="?")
    now = f"{found[1]} queries: recall {found[2]}, {lowest} in the worst class, false hits {found[3]} %" if found else "failed"
    return row("19", name, BEFORE, now, done.returncode == 0)


if __name__ == "__main__":
    sys.exit(main())
