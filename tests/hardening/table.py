"""The rows of the table: which point, what was tried, what it came to before, what it comes to now."""


def row(point, attack, before, now, held):
    """Prints a row and tells whether it failed."""
    print(f"| {point} | {attack} | {before} | {now} | {'held' if held else '**FAILED**'} |", flush=True)
    return not held


def skipped(point, attack, before, why):
    """Prints a row that could not be tried. It counts as failed: what was not seen was not held."""
    return row(point, attack, before, f"not tried: {why}", False)
