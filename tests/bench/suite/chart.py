"""Charts as SVG: horizontal bars in groups, readable on light and dark pages."""

import math
from html import escape

STYLE = """
  text { font-family: system-ui, -apple-system, "Segoe UI", "Hiragino Sans", "Noto Sans JP", sans-serif; fill: #2b2a33; font-size: 13px; }
  .title { font-size: 17px; font-weight: 600; } .group { font-weight: 600; } .soft { fill: #6b6875; font-size: 12px; }
  .end { text-anchor: end; } .mid { text-anchor: middle; }
  .card { fill: #fbf7ee; stroke: #cfc6b4; } .grid { stroke: #d9d2c3; } .whisker { stroke: #2b2a33; stroke-width: 1.5; }
  .floor { fill: #a9a5b0; } .ours { fill: #b7372c; } .peer { fill: #2f4b7c; } .other { fill: #2f6b4f; }
  @media (prefers-color-scheme: dark) {
    text { fill: #ece8df; } .soft { fill: #a9a5b0; } .card { fill: #23232b; stroke: #4a4854; } .grid { stroke: #3b3a44; }
    .whisker { stroke: #ece8df; }
    .floor { fill: #75727f; } .ours { fill: #e0796e; } .peer { fill: #7f9fd6; } .other { fill: #74b795; }
  }
"""
WIDTH, LEFT, RIGHT = 960, 236, 96
BAR, GAP, GROUP_GAP, TOP = 20, 6, 20, 92


def bars(title, subtitle, groups, logarithmic=False):
    """Returns a chart.

    `groups` is a list of (heading, bars); a bar is a dict of `label`, `value`, `text` (written at its end), `kind` (a class
    of the style: floor, ours, peer, other), and optionally `low` and `high`, the spread.
    """
    values = [bar["value"] for _, group in groups for bar in group]
    most = max(max(values), max((bar.get("high", 0) for _, group in groups for bar in group), default=0))
    scale = Scale(min(values), most, logarithmic)
    lines, y = [], TOP
    for heading, group in groups:
        if heading:
            lines.append(text(24, y + 14, heading, "group"))
            y += BAR + GAP
        for bar in group:
            end = scale.x(bar["value"])
            lines.append(text(LEFT - 10, y + 15, bar["label"], "end"))
            lines.append(f'<rect class="{bar["kind"]}" x="{LEFT}" y="{y}" width="{max(1.5, end - LEFT):.1f}" height="{BAR}" rx="2"/>')
            beyond = end
            if "low" in bar:
                low, high = scale.x(bar["low"]), scale.x(bar["high"])
                beyond = max(end, high)
                lines.append(f'<path class="whisker" d="M{low:.1f} {y + BAR / 2}H{high:.1f}"/>')
            lines.append(text(beyond + 7, y + 15, bar["text"]))
            y += BAR + GAP
        y += GROUP_GAP - GAP
    bottom = y - GROUP_GAP + 12
    grid = []
    for tick in scale.ticks():
        x = scale.x(tick)
        grid.append(f'<path class="grid" d="M{x:.1f} {TOP - 8}V{bottom}"/>')
        grid.append(text(x, bottom + 18, short(tick), "soft mid"))
    height = bottom + 36
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" height="{height:.0f}" '
        f'role="img" aria-labelledby="t d" lang="en">\n<title id="t">{escape(title)}</title><desc id="d">{escape(spoken(subtitle, groups))}</desc>\n'
        f'<style>{STYLE}</style>\n<rect class="card" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1:.0f}" rx="10"/>\n'
        + text(24, 36, title, "title") + "\n" + text(24, 60, subtitle, "soft") + "\n" + "\n".join(grid + lines) + "\n</svg>\n")


class Scale:
    """Places values between the labels and the right edge."""

    def __init__(self, least, most, logarithmic):
        self.logarithmic = logarithmic
        if logarithmic:
            self.first = 10 ** math.floor(math.log10(least) + 1e-9)
            # A bar as long as the first tick would be no bar.
            if least < self.first * 1.5:
                self.first /= 2
            self.last = most * 1.15
        else:
            self.first, self.last = 0, most * 1.02 or 1

    def x(self, value):
        place = max(value, self.first or 0)
        if self.logarithmic:
            share = math.log(place / self.first) / math.log(self.last / self.first)
        else:
            share = place / self.last
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def ticks(self):
        if self.logarithmic:
            powers = range(math.floor(math.log10(self.first)), math.ceil(math.log10(self.last)) + 1)
            steps = (1, 2, 5) if self.last / self.first < 50 else (1,)
            return [step * 10.0 ** power for power in powers for step in steps
                    if self.first <= step * 10.0 ** power <= self.last]
        step = 10 ** math.floor(math.log10(self.last))
        while self.last / step < 4:
            step /= 2
        return [step * count for count in range(int(self.last / step) + 1)]


def text(x, y, content, kind=""):
    name = f' class="{kind}"' if kind else ""
    return f'<text{name} x="{x:.1f}" y="{y:.1f}">{escape(content)}</text>'


def short(number):
    return f"{number:,.0f}" if number >= 10 or number == int(number) else f"{number:g}"


def spoken(subtitle, groups):
    """Returns the chart in words, for readers who do not see it."""
    told = "; ".join(f"{heading + ': ' if heading else ''}" + ", ".join(f"{bar['label']} {bar['text']}" for bar in group)
                     for heading, group in groups)
    return f"{subtitle}. {told}."
