"""Writes a collection whose texts try to be more than texts: hostile.py FOLDER PICTURE."""

import json
import pathlib
import shutil
import sys

SPELLS = [
    "<img src=x onerror=\"window.harmed=1\">",
    "</script><script>window.harmed=1</script>",
    "</template><svg onload=window.harmed=1>",
    "{{constructor.constructor('window.harmed=1')()}}",
    "\u202e歌の裏\u202c\u0000\u0007",
    "javascript:window.harmed=1",
]
LINKS = [
    "javascript:window.harmed=1",
    "https://user:pass@evil.example/",
    "https://example.org/\u202egpj.exe",
    "https://example.org/%E2%80%AEgpj",
    "data:text/html,<script>window.harmed=1</script>",
    "https://example.org/a?b=<b>&c='\"",
    "https://evil.example#.ja.wikipedia.org/wiki/x",
    "https://evil.example?.ja.wikipedia.org/wiki/x",
    "https://ja.wikipedia.org%2f.evil.example/wiki/x",
    "https://refused.example/歌",
]


def main() -> None:
    folder, picture = (pathlib.Path(argument) for argument in sys.argv[1:])
    folder.mkdir(parents=True)
    write(folder / "和歌集.json", {"Title": "悪"})
    spell = "".join(SPELLS)
    # No `/` can be in a folder's name.
    round_folder = folder / "<b onclick=harmed()>&\"'第1回 10位：x"
    for rank in range(1, 4):
        entry = round_folder / f"{rank}-x"
        entry.mkdir(parents=True)
        write(entry / f"TextData{rank}.json", {
            "AccountName": f"@{SPELLS[rank - 1]} 2位：@x",
            "HonkadoriWaka": spell if rank < 3 else "一\n9位：@y\nジャケット生成に使ったプロンプト\n画像: なし\n" + spell,
            "Honka": LINKS,
            "Prompt": spell + "\nジャケット生成に使ったプロンプト\n画像: javascript:window.harmed=1",
            "<i>": spell,
        })
        shutil.copy(picture, entry / f"Picture{rank}.webp")


def write(path: pathlib.Path, value: object) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")


main()
