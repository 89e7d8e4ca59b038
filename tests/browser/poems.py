#!/usr/bin/env python3
"""Writes two collections below a folder: `hostile`, whose texts try everything, and `large`, of 2,000 entries."""

import json
import shutil
import sys
from pathlib import Path

PICTURES = Path(__file__).resolve().parents[2] / "fixtures/wakashu_dir"

SCRIPT = "<script>alert(1)</script>"
ATTRIBUTE = "\"'><img src=x onerror=alert(1)>"
TURNED = "\u202e\u2066逆さ\u2069\u202c\u200f"
HOSTILE = {
    "script": SCRIPT,
    "attribute": ATTRIBUTE,
    "closing": "</p></main></body></html><!-- --><svg onload=alert(1)>",
    "entities": "&lt;b&gt; &amp;amp; &#x3c;script&#x3e; %3Cscript%3E",
    "turned": TURNED,
    "quotes": "「\"'`´“”‘’」 ${alert(1)} {{alert(1)}}",
    "long": "長き夜の" * 5000,
    "long word": "w" * 20000,
    "lines": "\n".join(["行"] * 300),
    "numbers": "1あ22い333う!!え?" * 40,
    "western": "The quick brown fox jumps over the lazy dog, 12 times\nand 345 more",
    "joined": "👩‍👩‍👧‍👦か\u3099き\u3099 é é 𠮷野家 ﷽",
}
HONKA = [
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)//https://example.org",
    "data:text/html,<script>alert(1)</script>",
    "https://user:password@evil.example/",
    "https://example.org/\"onmouseover=\"alert(1)",
    "https://example.org/" + "a" * 5000,
    "//evil.example/",
    "古今和歌集 巻第一",
    SCRIPT,
    TURNED,
]


def entry(folder, rank, name, account, poem, **more):
    place = folder / f"{rank}-{name}"
    place.mkdir(parents=True)
    data = {"AccountName": account, "HonkadoriWaka": poem, "Honka": [], "Prompt": ""} | more
    (place / f"TextData{rank}.json").write_text(json.dumps(data, ensure_ascii=False))
    return place


def picture(place, rank, source):
    shutil.copy(source, place / f"Picture{rank}{source.suffix}")


def hostile(root):
    pictures = sorted(PICTURES.glob("*/*/Picture*"))
    description = f"{SCRIPT}{ATTRIBUTE}\n{TURNED}"
    titles = ["第1回 <b>&\"'", "javascript:alert(1)", "CON", "a#b?c%d"]
    root.mkdir()
    (root / "和歌集.json").write_text(json.dumps({"Title": f"歌集{SCRIPT}{TURNED}", "Description": description}, ensure_ascii=False))
    for number, title in enumerate(titles):
        folder = root / title
        for rank, (name, text) in enumerate(HOSTILE.items(), 1):
            if number > 0 and rank > 2:
                break
            place = entry(folder, rank, name.replace(" ", "-"), f"@{text[:300]}".replace("\n", " "), text, Honka=HONKA, Prompt=text, Yomi=text,
                          **{f"鍵{SCRIPT}": text, ATTRIBUTE: ATTRIBUTE})
            if rank % 2:
                picture(place, rank, pictures[rank % len(pictures)])


def entries_of(number):
    """Returns how many entries a round has: 2,000 in all. The first needs several pages."""
    return 245 if number == 1 else 45


def large(root):
    small = sorted(PICTURES.glob("*/*/Picture*"), key=lambda path: path.stat().st_size)[0]
    root.mkdir()
    (root / "和歌集.json").write_text(json.dumps({"Title": "二千首", "Description": "多くの歌。"}, ensure_ascii=False))
    for number in range(1, 41):
        for rank in range(1, entries_of(number) + 1):
            place = entry(root / f"第{number}回", rank, f"user{rank}", f"@user{rank}", f"春の夜の{number}の夢ばかり\nなる手枕に{rank}首目かな")
            if rank == 1:
                picture(place, rank, small)


def main():
    folder = Path(sys.argv[1])
    hostile(folder / "hostile")
    large(folder / "large")


if __name__ == "__main__":
    main()
