"""What a reader of an exported folder sees: whether every page leads somewhere, and whose pages they are."""

import json
import pathlib
import re
import urllib.parse


def look(folder):
    """Returns the titles of all pages that can be reached from the first, and what they lead to that is not there."""
    folder = pathlib.Path(folder)
    titles, dead, seen, waiting = set(), [], set(), ["index.html"]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        file = folder / name
        if not file.is_file():
            dead.append(name)
            continue
        if not name.endswith(".html"):
            continue
        page = file.read_text()
        if not page.endswith("</html>"):
            dead.append(f"half a page: {name}")
        titles.add(re.search("<title>(.*?)</title>", page, re.S).group(1).rsplit("｜", 1)[-1])
        for links in re.findall(r' (?:href|src|srcset|data-index)="([^"]*)"', page):
            for link in links.split(", "):
                target = urllib.parse.unquote(re.split("[ ?#]", link)[0])
                if not target or "://" in target:
                    continue
                base = "x/" if target.startswith("search/") and name == "search/index.html" else name
                path = []
                for part in [*base.split("/")[:-1], *target.split("/")]:
                    if base == "x/" and part == "x":
                        continue
                    path = path[:-1] if part == ".." else [*path, part]
                waiting.append("/".join(path))
    return titles, dead


def served(folder):
    """Returns the digest that the pointer names, having found its archive; nothing without a pointer."""
    pointer = pathlib.Path(folder) / "current.json"
    if not pointer.exists():
        return None
    named = json.loads(pointer.read_text())
    for version in [named, *named["history"]]:
        archive = pathlib.Path(folder) / "archives" / (version["digest"] + ".wakashu")
        if archive.stat().st_size != version["bytes"]:
            raise ValueError(f"not whole: {archive}")
    return named["digest"]
