"""Rows of styled text: columns that fit, bars, sparklines, histograms. Pure.

A row is what a pane hands over: spans of (text, style name), and for rows
that can be selected a key and the moment they stand for.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size

Span = tuple[str, str]
"""Text and the name of its style."""
Cell = str | Span | Sequence[Span]
"""What a column takes: text, styled text, or several styled pieces."""

_LEVELS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True, slots=True)
class Row:
    """One line. Selectable when it has a ``key``; ``ts`` (ns) is its moment, 0 = none."""

    spans: tuple[Span, ...] = ()
    key: Hashable = None
    ts: int = 0
    data: object = None

    @property
    def text(self) -> str:
        """The characters without styles."""
        return "".join(text for text, _ in self.spans)


@dataclass(frozen=True)
class Column:
    """A column: ``width`` cells, 0 = shares what is left; hidden on screens narrower than ``needs``."""

    title: str
    width: int = 0
    right: bool = False
    needs: int = 0


def row(*spans: Span | str, key: Hashable = None, ts: int = 0, data: object = None) -> Row:
    """A row of spans; bare text gets the default style."""
    return Row(tuple((s, "") if isinstance(s, str) else s for s in spans), key, ts, data)


def fit(text: str, width: int, right: bool = False) -> str:
    """``text`` in exactly ``width`` cells; what is cut off ends in an ellipsis."""
    length = len(text) if text.isascii() else cell_len(text)
    if length > width:
        return set_cell_size(text, width - 1) + "…" if width > 0 else ""
    pad = " " * (width - length)
    return pad + text if right else text + pad


def _pieces(cell: Cell) -> list[Span]:
    if isinstance(cell, str):
        return [(cell, "")]
    if len(cell) == 2 and isinstance(cell[0], str) and isinstance(cell[1], str):
        return [(cell[0], cell[1])]
    return [piece for piece in cell if not isinstance(piece, str)]


def _fit_pieces(pieces: list[Span], width: int, right: bool) -> list[Span]:
    """Pieces cut or padded to ``width`` cells together."""
    if len(pieces) == 1:
        return [(fit(pieces[0][0], width, right), pieces[0][1])]
    out: list[Span] = []
    used = 0
    for text, style in pieces:
        length = cell_len(text)
        if used + length > width:
            out.append((fit(text, width - used), style))
            return out
        out.append((text, style))
        used += length
    pad = (" " * (width - used), "")
    return [pad, *out] if right else [*out, pad]


def merged(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Neighbours of the same style joined, blanks taken along: fewer escape sequences on the wire."""
    out: list[Span] = []
    for text, style in spans:
        if not text:
            continue
        if out and (out[-1][1] == style or text.isspace()):
            out[-1] = (out[-1][0] + text, out[-1][1])
        else:
            out.append((text, style))
    return tuple(out)


class Table:
    """Columns on a screen of some width; narrow screens drop whole columns."""

    def __init__(self, columns: Sequence[Column], width: int, gap: int = 1) -> None:
        self._columns = columns
        self._gap = gap
        self._shown = [(i, c) for i, c in enumerate(columns) if width >= c.needs]
        fixed = sum(c.width for _, c in self._shown) + gap * (len(self._shown) - 1)
        flexible = sum(1 for _, c in self._shown if not c.width)
        rest = max(width - fixed, 4 * flexible)
        self._widths = [c.width or rest // flexible for _, c in self._shown]

    def head(self) -> Row:
        """The titles."""
        return self.row([(column.title, "label") for column in self._columns])

    def row(self, cells: Sequence[Cell], key: Hashable = None, ts: int = 0, data: object = None) -> Row:
        """A row; ``cells`` has one entry per column, shown or not."""
        spans: list[Span] = []
        for (index, column), width in zip(self._shown, self._widths, strict=True):
            if spans:
                spans.append((" " * self._gap, ""))
            spans += _fit_pieces(_pieces(cells[index]), width, column.right)
        return Row(merged(spans), key, ts, data)


def spark_rows(values: Sequence[int], width: int, top: int, height: int = 1) -> list[str]:
    """The newest ``width`` values as columns: ``top`` fills ``height`` lines, zero lies flat."""
    shown = values[-width:]
    steps = len(_LEVELS) * height
    levels = [0 if v <= 0 else max(2, min(steps, round(v / max(top, 1) * steps))) for v in shown]
    rows = []
    for line in range(height - 1, -1, -1):
        ground = line * len(_LEVELS)
        rows.append("".join(_glyph(level - ground, line == 0) for level in levels).rjust(width))
    return rows


def _glyph(level: int, on_ground: bool) -> str:
    if level <= 0:
        return _LEVELS[0] if on_ground else " "
    return _LEVELS[min(level, len(_LEVELS)) - 1]


def bar(begin: float, end: float, width: int) -> str:
    """A range of 0…1 on a track of ``width`` cells; from ``end`` round to ``begin`` when reversed.

    A part that isn't empty always shows, however small it is.
    """
    first = min(int(begin * width), width - 1)
    if begin == end:
        return "─" * width
    last = min(int(end * width), width - 1)
    if begin < end:
        return "".join("█" if first <= x <= max(last, first) else "─" for x in range(width))
    return "".join("█" if x >= first or x <= last else "─" for x in range(width))


def rule(title: str, width: int) -> Row:
    """A heading with a line to the right edge."""
    line = "─" * max(0, width - cell_len(title) - 1)
    return Row(((title, "strong"), (" " + line, "rule")) if title else (("─" * width, "rule"),))


def blank() -> Row:
    """An empty line."""
    return Row()


def wrap(text: str, width: int) -> list[str]:
    """``text`` broken at spaces into lines of at most ``width`` cells; longer words are cut."""
    lines: list[str] = []
    line = ""
    for word in text.split():
        candidate = f"{line} {word}" if line else word
        if cell_len(candidate) <= width:
            line = candidate
            continue
        if line:
            lines.append(line)
        line = word
        while cell_len(line) > width > 0:
            lines.append(set_cell_size(line, width))
            line = line[len(lines[-1].rstrip()) :]
    return [*lines, line] if line else lines
