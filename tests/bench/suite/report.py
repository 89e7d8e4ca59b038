"""Turns the figures into docs/benchmarks.md and its charts."""

from . import bridge, chart, cold, instructions, pages, warm

PEER_TITLES = {
    "node-original": "Node, Express, official SDK, files read per call",
    "rmcp-memory": "rmcp (official Rust SDK), everything in memory",
}
SHORT_PEERS = {"node-original": "Node original", "rmcp-memory": "rmcp in memory"}


def table(heads, rows):
    """Returns a Markdown table; the first column is text, the others are numbers."""
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" + "--:|" * (len(heads) - 1)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def number(value, digits=1):
    return f"{value:,.{digits}f}"


def size(count):
    for unit, step in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if count >= step:
            return f"{count / step:,.1f} {unit}"
    return f"{count:,} B"


def spread(figures):
    return f"{figures['ratio']:.2f} ({figures['ratio_low']:.2f}–{figures['ratio_high']:.2f})"


def held(bar):
    return bar["value"] <= bar["bar"]


def all_bars(parts):
    return [bar for part in parts.values() for bar in part.get("figures", {}).get("bars", [])]


def bars_table(bars):
    return table(["bar", "measured", "at most", ""],
                 [[bar["what"], f"{bar['value']:g} {bar['unit']}".strip(), f"{bar['bar']:g}",
                   "held" if held(bar) else "**missed**"] for bar in bars])


def case_title(row):
    return warm.TITLES[row["case"]]


def warm_section(figures):
    text = ("One server on one core. The ratio is CPU time per request over that of the floor, measured right before and after each "
            "slice: median, and in parentheses the extremes. Memory is the server's anonymous memory after the slice.\n\n")
    for clients in warm.CLIENTS:
        rows = [row for row in figures["rows"] if row["clients"] == clients]
        if not rows:
            continue
        text += f"### {clients} client{'s' if clients > 1 else ''}\n\n" + table(
            ["case", "era", "answer", "req/s", "p50 ms", "p99 ms", "CPU µs", "floor CPU µs", "× floor", "MB"],
            [[case_title(row), row["era"] or "–", size(row["answer_bytes"]),
              number(row["ours"]["requests_per_second"], 0), number(row["ours"]["p50_us"] / 1e3, 3),
              number(row["ours"]["p99_us"] / 1e3, 3), number(row["ours"]["cpu_us"]), number(row["floor"]["cpu_us"]),
              spread(row["ours"]), number(row["ours"]["anonymous_kib"] * 1024 / 1e6)] for row in rows]) + "\n"
    parsing = [row for row in figures["rows"] if "floor_parsing" in row]
    text += "### The floor with parsing\n\nThe same prepared bytes, but each request is parsed as JSON first, 10 clients.\n\n"
    text += table(["case", "era", "floor + parsing, × floor"],
                  [[case_title(row), row["era"], spread(row["floor_parsing"])] for row in parsing]) + "\n"
    text += ("### Peers\n\n10 clients, legacy era, each beside a floor of its own answer's size. They know one tool, so their "
             "`tools/list` is shorter than ours.\n\n")
    rows = [[PEER_TITLES[row["peer"]], case_title(row), size(row["answer_bytes"]),
             number(row["ours"]["requests_per_second"], 0), number(row["ours"]["p50_us"] / 1e3, 3),
             number(row["ours"]["p99_us"] / 1e3, 3), number(row["ours"]["cpu_us"]), spread(row["ours"]),
             number(row["ours"]["anonymous_kib"] * 1024 / 1e6)] for row in figures["peers"]]
    text += table(["peer", "case", "answer", "req/s", "p50 ms", "p99 ms", "CPU µs", "× floor", "MB"], rows)
    return text + "".join(f"\n{note}.\n" for note in figures["notes"])


def pages_section(figures):
    text = ("What browsers are sent: 10 clients, one core, without a picture. Poems, rounds and the front are kept once they were made ([ADR 11](adr/0011-pages.md)); a search is made for each request. The 304 is for a reader who has the "
            "page already; its floor sends nothing either.\n\n")
    return text + table(
        ["page", "answer", "req/s", "p50 ms", "p99 ms", "CPU µs", "floor CPU µs", "× floor"],
        [[pages.TITLES[row["case"]], size(row["answer_bytes"]), number(row["ours"]["requests_per_second"], 0),
          number(row["ours"]["p50_us"] / 1e3, 3), number(row["ours"]["p99_us"] / 1e3, 3), number(row["ours"]["cpu_us"]),
          number(row["floor"]["cpu_us"]), spread(row["ours"])] for row in figures["rows"]])


def warm_chart(figures):
    groups = []
    for case in warm.BARS:
        row = next(row for row in figures["rows"]
                   if (row["case"], row["era"], row["clients"]) == (case, "legacy", 10))
        found = [bar("floor", 1, "1", "floor"), ratio_bar("wakashu", row["ours"], "ours")]
        found += [ratio_bar(SHORT_PEERS[peer["peer"]], peer["ours"], "peer")
                  for peer in reversed(figures["peers"]) if peer["case"] == case]
        groups.append((warm.TITLES[case], found))
    return chart.bars("CPU time per request, as a multiple of the floor",
                      "floor: hyper sending prepared bytes; 10 clients, one core; logarithmic; shorter is better", groups, True)


def bar(label, value, text, kind):
    return {"label": label, "value": value, "text": text, "kind": kind}


def ratio_bar(label, figures, kind):
    digits = 2 if figures["ratio"] < 10 else 0
    return bar(label, figures["ratio"], f"{figures['ratio']:.{digits}f} ×", kind) | {
        "low": figures["ratio_low"], "high": figures["ratio_high"]}


def scale_section(figures):
    text = ("Made-up collections with tiny pictures, written by the archive's writer alone. *Read on open* is what the disk had to send "
            f"when nothing of the archive was in memory, the system's read-ahead included ({figures['read_ahead_kib'] or '?'} KiB at a time "
            "here); *first answer* is from starting the program "
            "to a ranking, with everything in memory. *Warm* is a ranking of three entries, 10 clients, over that of 30 entries; "
            "*anywhere* asks for another round each time, so that most pages and pictures are read from the file and checked: "
            "a miss costs one read and one hash. Search is CPU time and, in parentheses, the p50 of one client: for a word that no poem has, and for one that many have.\n\n")
    text += table(
        ["entries", "archive", "written in s", "peak MiB", "read on open", "first answer ms", "warm CPU µs", "× 30 entries",
         "anywhere CPU µs", "search, no hit, ms", "search, many hits, ms"],
        [[row["entries"], size(row["archive_bytes"]), number(row["write"]["seconds"], 2), number(row["write"]["peak_mib"], 0) if row["write"]["peak_mib"] else "–",
          size(row["read_on_open_bytes"]), row["first_answer_ms"], number(row["warm"]["cpu_us"]), spread(row["warm"]),
          number(row["anywhere"]["cpu_us"]),
          *(f"{searched['cpu_us'] / 1e3:.3f} ({searched['p50_us'] / 1e3:.3f})" for searched in row["search"].values())]
         for row in figures["rows"]])
    return text


def scale_chart(figures):
    warm_bars = [ratio_bar(row["entries"], row["warm"], "ours") for row in figures["rows"]]
    return chart.bars("A warm answer, by size of the collection",
                      "CPU time of a ranking of three entries over that of 30 entries measured beside it, by number of entries; 10 clients",
                      [("", warm_bars)])


def start_section(figures):
    rows = figures["rows"]
    return (f"From starting the process to the last byte of the first ranking answer, {figures['starts']} starts in turn; the archive has "
            f"{figures['entries']:,} entries and {size(figures['archive_bytes'])}. Starting a process that does nothing takes "
            f"{figures['process_alone_ms']} ms of it.\n\n"
            + table(["", "minimum ms", "median ms"],
                    [[name, row["minimum_ms"], row["median_ms"]] for name, row in rows.items()]))


def memory_section(figures):
    columns = ["archive", "entries", "fresh", "after load", "answers"]
    row = [size(figures["archive_bytes"]), f"{figures['entries']:,}", size(figures["fresh_kib"]["anonymous"] * 1024),
           size(figures["after_kib"]["anonymous"] * 1024), f"{figures['load']['requests']:,}"]
    # Figures from when files were mapped know nothing of columns.
    if "searched_kib" in figures:
        columns += ["search column", "after a search"]
        row += [size(figures["column_bytes"]), size(figures["searched_kib"]["anonymous"] * 1024)]
    return table(columns, [row]) + (
        "\nAnonymous memory. The cache holds 64 MiB of pages and pictures; the bar is that and 16 MB, and after the first search the length "
        "of the column as well.\n")


def cold_section(figures):
    return (f"Under AWS's runtime emulator, {figures['starts']} starts in turn, milliseconds. The start is from starting the process to "
            "its first request for an event; the first answer is what a caller waits for, with what the emulator itself takes.\n\n"
            + table(["", "start, minimum", "median", "over hello-world", "first answer, minimum", "median"],
                    [[cold.TITLES[row["program"]], number(row["minimum_ms"], 2), number(row["median_ms"], 2),
                      number(row["over_hello_ms"], 2), number(row["first_answer_minimum_ms"], 2),
                      number(row["first_answer_median_ms"], 2)] for row in figures["rows"]]))


def cold_chart(figures):
    return chart.bars("Start on Lambda", f"milliseconds under the runtime emulator, minimum of {figures['starts']} starts",
                      [("", [bar(cold.TITLES[row["program"]], row["minimum_ms"], f"{row['minimum_ms']:.1f} ms",
                                 "floor" if row["program"] == "hello" else "ours") for row in figures["rows"]])])


def bucket_section(figures):
    text = (f"From starting the server to the last byte of its first ranking, nothing set but the store: a bucket of this machine "
            f"behind a proxy that takes {figures['latency_ms']} ms for every read and sends {size(figures['bytes_per_second'])} a second, "
            "without TLS. Reads in sequence are those that wait for one another; bytes are those of all answers, the pointer's "
            "included.\n\n")
    baseline = figures["baseline"]
    before = {row["archive"]: row for row in baseline["figures"]["rows"]} if baseline else {}
    rows = []
    for row in figures["rows"]:
        named = [("now", row)] if baseline is None else [("now", row), (baseline["title"], before.get(row["archive"]))]
        rows += [[f"{row['archive']}, {name}", one["reads"], one["in_sequence"], f"{one['bytes']:,}",
                  number(one["minimum_ms"]), number(one["median_ms"])] for name, one in named if one]
    text += table(["archive", "reads", "in sequence", "bytes", "minimum ms", "median ms"], rows)
    if baseline:
        described = baseline["machine"]
        text += f"\n{baseline['title'].capitalize()}: commit {described['commit']}, measured on {described['date']}.\n"
    return text


def bridge_section(figures):
    floor = figures["rows"]["copier"]
    text = ("A host that starts a program and speaks lines, one call at a time; the program asks a server of this machine, without TLS. "
            "CPU is of the program and all it started. The byte copier reads lines and HTTP with Rust's standard library and knows "
            "nothing else. The small call is `index_status`, the large answer a ranking with three pictures.\n\n")
    return text + table(
        ["", "small call, CPU µs", "× copier", "820 KB, CPU µs", "× copier", "start ms", "MiB"],
        [[bridge.TITLES[name], number(row["small_us"]), number(row["small_us"] / floor["small_us"], 2), number(row["large_us"], 0),
          number(row["large_us"] / floor["large_us"], 2), number(row["start_ms"]), number(row["memory_mib"])]
         for name, row in figures["rows"].items()])


def bridge_chart(figures):
    kinds = {"copier": "floor", "wakashu": "ours", "gateway": "ours"}
    groups = [(title, [bar(name, row[key], f"{row[key]:,.0f} µs", kinds.get(name, "peer"))
                       for name, row in figures["rows"].items()])
              for key, title in (("small_us", "small call"), ("large_us", "answer of 820 KB"))]
    return chart.bars("CPU time of a call through a bridge", "one call at a time; logarithmic; shorter is better", groups, True)


def indexer_section(figures):
    text = table(["build", "s", "CPU s", "pictures/s", "MB/s", "peak MiB"],
                 [[row["what"], number(row["seconds"], 2), number(row["cpu_seconds"], 1),
                   number(row["entries"] / row["seconds"]), number(row["mb_per_second"]), number(row["peak_mib"], 0)]
                  for row in figures["rows"]])
    one = figures["scaling"][0]["seconds"]
    text += "\n" + table(["threads", "speed over one thread"],
                         [[row["threads"], number(one / row["seconds"], 2)] for row in figures["scaling"]])
    stages = figures["stages"]
    text += f"\nOne 1024 px picture, one thread, median of {stages['pictures']}:\n\n" + table(
        ["stage", "ms"],
        [["read and check the header", stages["header_ms"]],
         ["decode, convert to sRGB, turn upright", stages["decode_ms"]],
         ["scale and encode the renditions", stages["scale_and_encode_ms"]],
         ["instead of all that, from the cache", stages["from_cache_ms"]]])
    return text


def export_section(figures):
    titles = {"export": "writing the folder", "copy": "`cp -r` of it, and `sync`", "again": "again with nothing changed"}
    return (f"{figures['entries']:,} entries with three renditions each: {figures['files']:,} files, {size(figures['bytes'])}.\n\n"
            + table(["", "s", "CPU s", "peak MiB"],
                    [[titles[what], number(row["seconds"], 2), number(row["cpu_seconds"], 2), number(row["peak_mib"], 0)]
                     for what, row in figures["rows"].items()]))


def instructions_section(figures):
    return ("Counted by callgrind inside one process, from making the request to the last frame of the body; no sockets.\n\n"
            + table(["answer", "instructions"],
                    [[instructions.TITLES[name], f"{count:,}"] for name, count in figures["counts"].items()]))


def load_section(figures):
    text = ("Four requests in turn: a ranking with one picture of 20 KiB, `tools/list`, a search, a ranking with three pictures of "
            "200 KiB. The floor sends the same sizes in turn. One core for the server. **Service level for 10 clients**: p50 at most "
            "1.5 times and p99 at most 2 times the floor's under the same load.\n\n")
    rows = []
    for row in figures["rows"]:
        for name in ("ours", "floor"):
            one = row[name]
            rows.append([f"{row['clients']} clients, {'wakashu' if name == 'ours' else 'floor'}", f"{one['requests']:,.0f}",
                         f"{one['errors']:,.0f}", number(one["requests_per_second"], 0),
                         *(number(one[key] / 1e3, 2) for key in ("p50_us", "p90_us", "p99_us", "p999_us", "max_us")),
                         number(one["anonymous_kib"] * 1024 / 1e6)])
    return text + table(["", "answers", "errors", "req/s", "p50 ms", "p90 ms", "p99 ms", "p99.9 ms", "max ms", "MB"], rows)


def load_chart(figures):
    groups = []
    for row in figures["rows"]:
        found = []
        for key, label in (("p50_us", "p50"), ("p99_us", "p99"), ("p999_us", "p99.9")):
            for name, title in (("floor", "floor"), ("ours", "wakashu")):
                milliseconds = max(row[name][key] / 1e3, 0.001)
                found.append(bar(f"{label}, {title}", milliseconds, f"{milliseconds:.1f} ms", name))
        groups.append((f"{row['clients']} clients", found))
    return chart.bars("Latency under full load",
                      f"{figures['rows'][0]['seconds']} s each, pictures, lists and searches in turn; logarithmic; shorter is better",
                      groups, True)


# Part, heading, section, chart.
SECTIONS = [
    ("warm", "Warm answers", warm_section, warm_chart),
    ("pages", "Pages", pages_section, None),
    ("load", "Load", load_section, load_chart),
    ("scale", "Scale", scale_section, scale_chart),
    ("start", "Start of the server", start_section, None),
    ("memory", "Memory", memory_section, None),
    ("cold", "Start on Lambda", cold_section, cold_chart),
    ("bucket", "First answer from a bucket", bucket_section, None),
    ("bridge", "Bridge from stdio to HTTP", bridge_section, bridge_chart),
    ("indexer", "Indexer", indexer_section, None),
    ("export", "The exported folder", export_section, None),
    ("instructions", "Instructions", instructions_section, None),
]

INTRODUCTION = """# Benchmarks

Written by `tests/bench/run`, which measures everything below on one machine; the raw figures are in
[benchmarks.json](benchmarks.json).

How to read it: seconds depend on the machine, ratios much less. The **floor** is a hyper server that sends prepared bytes of
exactly the answer's size and does nothing else: no server on the same HTTP library can be faster. The server runs on one core, the load
generator (wrk) on another, logging as by default into a file. The peers answer the same requests over the same entries and pictures;
blocks, types and the bytes of the pictures are checked before anything is timed. *Legacy* is protocol revision 2025-11-25, *modern*
2026-07-28.
"""


def write(parts, baselines, folder):
    """Writes the report and its charts; returns the names of what was written."""
    pictures = folder / "pictures"
    pictures.mkdir(parents=True, exist_ok=True)
    measured, baselines = ({name: part for name, part in those.items() if "figures" in part} for those in (parts, baselines))
    text = INTRODUCTION
    if any(part.get("quick") for part in measured.values()):
        text += "\n**A quick run: few and short slices, small collections. Not figures to quote.**\n"
    text += machine_section(measured)
    bars = all_bars(measured)
    if bars:
        text += "\n## Bars\n\n" + bars_table(bars)
        text += "\nWhich results come close to their limit, and why, is explained in [Where the time of an answer goes](profile.md).\n"
    for name, heading, section, draw in SECTIONS:
        if name not in measured:
            continue
        figures = measured[name]["figures"] | {"baseline": baselines.get(name)}
        text += f"\n## {heading}\n\n"
        if draw:
            (pictures / f"benchmarks-{name}.svg").write_text(draw(figures))
            text += f"![{heading}](pictures/benchmarks-{name}.svg)\n\n"
        text += section(figures)
    for name, part in parts.items():
        if "figures" not in part:
            text += f"\nNot measured: {name} ({part['failed']}).\n"
    (folder / "benchmarks.md").write_text(text)


def machine_section(measured):
    if not measured:
        return ""
    rows = {}
    for name, part in measured.items():
        one = part["machine"]
        key = tuple(one[field] for field in ("date", "commit", "processor", "cores", "memory_gib", "system", "rustc", "node", "wrk"))
        rows.setdefault(key, []).append((name, one["load_at_start"]))
    text = "\n## Machine and versions\n\n"
    for (date, commit, processor, cores, memory, system, rustc, node, wrk), names in rows.items():
        loads = [load for _, load in names]
        text += (f"- {', '.join(name for name, _ in names)}: {date}, commit {commit}; {processor}, {cores} cores, {memory} GiB; "
                 f"{system}; {rustc}; Node {node or 'missing'}; wrk {wrk}; load of the machine before each part "
                 f"{min(loads)}–{max(loads)}\n")
    return text
