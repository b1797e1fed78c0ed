"""The Markdown of drills as rows: headings, paragraphs, lists, tables, code. Pure."""

import re
from collections.abc import Iterator
from itertools import groupby

from rich.cells import cell_len

from glassstack.tui.draw import Row, Span, blank, fit, row, wrap

_MARK = re.compile(r"\*\*(.+?)\*\*|`([^`]+)`")
_ITEM = re.compile(r"(\d+\.|[-*]) ")


def rows(text: str, width: int) -> list[Row]:
    """``text`` in ``width`` cells."""
    out: list[Row] = []
    for kind, lines in _blocks(text):
        if out:
            out.append(blank())
        if kind == "heading":
            out += [row((line, "accent")) for line in wrap(lines[0].lstrip("# "), width)]
        elif kind == "code":
            for line in lines:
                out += _code(line[4:], width)
        elif kind == "table":
            out += _table(lines, width)
        else:
            for item in _items(lines):
                out += _paragraph(item, width)
    return out


def _blocks(text: str) -> Iterator[tuple[str, list[str]]]:
    for kind, lines in groupby(text.splitlines(), _kind):
        if kind != "blank":
            yield kind, list(lines)


def _kind(line: str) -> str:
    if not line.strip():
        return "blank"
    if line.startswith("#"):
        return "heading"
    if line.startswith("    "):
        return "code"
    return "table" if line.startswith("|") else "text"


def _items(lines: list[str]) -> list[str]:
    """Lines joined; a list's items apart."""
    items: list[str] = []
    for line in lines:
        if items and not _ITEM.match(line):
            items[-1] += " " + line.strip()
        else:
            items.append(line)
    return items


def _paragraph(text: str, width: int) -> list[Row]:
    """Wrapped text in which what was marked stands out."""
    styles: list[str] = []  # one for each character that is not blank
    shown = ""
    at = 0
    for found in _MARK.finditer(text):
        shown += text[at : found.start()]
        styles += [""] * len("".join(text[at : found.start()].split()))
        marked = found[1] or found[2]
        shown += marked
        styles += ["strong" if found[1] else "name"] * len("".join(marked.split()))
        at = found.end()
    shown += text[at:]
    styles += [""] * len("".join(text[at:].split()))
    left = iter(styles)
    return [_styled(line, left) for line in wrap(shown, width)]


def _styled(line: str, styles: Iterator[str]) -> Row:
    spans: list[Span] = []
    for char in line:
        style = spans[-1][1] if char == " " and spans else "" if char == " " else next(styles, "")
        if spans and spans[-1][1] == style:
            spans[-1] = (spans[-1][0] + char, style)
        else:
            spans.append((char, style))
    return row(*spans)


def _code(line: str, width: int) -> list[Row]:
    """What can be typed, whole; what is said of it beside it, or below where there is no room."""
    if cell_len(line) + 2 <= width:
        return [row((f"  {line}", "name"))]
    command, _, said = line.strip().partition("  ")
    typed = [row((f"  {part}", "name")) for part in wrap(command, width - 2)]
    return typed + [row((f"    {part}", "dim")) for part in wrap(said, width - 4)]


def _table(lines: list[str], width: int) -> list[Row]:
    """Columns where they fit, else one cell below the other."""
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    head, body = cells[0], [line for line in cells[1:] if not set("".join(line)) <= set("-: ")]
    widths = [
        max(cell_len(line[i]) if i < len(line) else 0 for line in (head, *body)) for i in range(len(head))
    ]
    if sum(widths) + 2 * len(widths) <= width:
        lined = [
            "  ".join(fit(cell, size) for cell, size in zip(line, widths, strict=False)).rstrip()
            for line in (head, *body)
        ]
        return [row((lined[0], "label")), *(row(line) for line in lined[1:])]
    out: list[Row] = []
    for line in body:
        out += [row((part, "strong")) for part in wrap(line[0], width)]
        for name, cell in zip(head[1:], line[1:], strict=False):
            out += [row(("  ", ""), (part, "")) for part in wrap(f"{name}: {cell}", width - 2)]
    return out
