"""Aligned plain-text tables for the headless commands.

Owns widths and cutting. Prints nothing, knows no colours; cells come stripped
of control characters.
"""

import unicodedata
from collections.abc import Iterable, Sequence

from glassstack.collectors.probe_terminal import utf8_locale

GAP = "  "


def cells(text: str) -> int:
    """Terminal columns that ``text`` takes."""
    return len(text) if text.isascii() else sum(map(_char, text))


def _char(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Cf", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def cut(text: str, width: int) -> str:
    """``text`` in at most ``width`` columns, its end replaced by "…" where it is longer."""
    if cells(text) <= width:
        return text
    mark = "…" if utf8_locale() else "~"
    while text and cells(text) + 1 > width:
        text = text[:-1]
    return text + mark if width > 0 else ""


def table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    width: int = 0,
    right: Iterable[int] = (),
    flex: int = -1,
) -> list[str]:
    """Lines of a table, header first.

    Args:
        width: columns to fit into, 0 = any.
        right: columns aligned to the right.
        flex: the column that gives way when the table is too wide (default: the last).
    """
    grid = [list(header), *map(list, rows)]
    widths = [max(cells(row[column]) for row in grid) for column in range(len(header))]
    if width:
        # One odd value must not push the other columns out of the window.
        widths = [
            min(size, max(8, width // 3)) if column != flex % len(widths) else size
            for column, size in enumerate(widths)
        ]
        over = sum(widths) + len(GAP) * (len(widths) - 1) - width
        widths[flex] -= min(max(0, over), max(0, widths[flex] - 8))
    aligned = set(right)
    lines = []
    for row in grid:
        fitted = [cut(text, size) for text, size in zip(row, widths, strict=True)]
        padded = [
            _pad(text, size, column in aligned)
            for column, (text, size) in enumerate(zip(fitted, widths, strict=True))
        ]
        line = GAP.join(padded).rstrip()
        lines.append(cut(line, width) if width else line)
    return lines


def _pad(text: str, width: int, right: bool) -> str:
    space = " " * (width - cells(text))
    return space + text if right else text + space
