"""The report as one HTML file that needs nothing else: its Markdown, and the timeline as SVG.

Owns the small part of Markdown that reports and debriefs use. Everything else
is text and is escaped.
"""

import html
import re
from collections.abc import Iterable

from glassstack.drills.engine import Drill
from glassstack.drills.notes import Note
from glassstack.drills.report import since
from glassstack.format import units

_LANES = {
    "phase": ("run", "#6b7280"),
    "fault": ("fault", "#c2410c"),
    "symptom": ("symptom", "#b91c1c"),
    "log": ("kernel log", "#9333ea"),
    "hint": ("hints", "#b45309"),
    "check": ("checks", "#15803d"),
    "command": ("commands", "#1d4ed8"),
}
_WIDTH, _LEFT, _ROW = 900, 90, 26
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
color: #1f2937 }
h1, h2 { line-height: 1.2 } h2 { margin-top: 2rem; border-bottom: 1px solid #d1d5db }
table { border-collapse: collapse; width: 100% } td, th { border: 1px solid #d1d5db; padding: .3rem .5rem;
text-align: left; vertical-align: top } code, pre { background: #f3f4f6; font-size: .9em }
pre { padding: .7rem; overflow-x: auto } svg { width: 100%; height: auto; margin: 1rem 0 }
"""


def page(drill: Drill, notes: list[Note], text: str) -> str:
    """The whole file; ``text`` is the report's Markdown."""
    head, rest = text.split("\n## ", 1)
    title = html.escape(drill.scenario.title)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}'
        f"</title><style>{_STYLE}</style></head><body>\n{markup(head)}\n{picture(drill, notes)}\n"
        f"{markup('## ' + rest)}\n</body></html>\n"
    )


def picture(drill: Drill, notes: list[Note]) -> str:
    """The timeline: a lane for each kind, a mark for each note with its text as a tooltip."""
    lanes = {kind: row for row, kind in enumerate(_LANES)}
    first = drill.run.started
    span = max([note.at for note in notes] + [first + 1.0]) - first
    height = (len(lanes) + 1) * _ROW + 10

    def x(at: float) -> float:
        return _LEFT + (at - first) / span * (_WIDTH - _LEFT - 20)

    out = [f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="timeline" font-size="12">']
    for kind, row in lanes.items():
        y = row * _ROW + 16
        out.append(f'<line x1="{_LEFT}" y1="{y}" x2="{_WIDTH - 20}" y2="{y}" stroke="#e5e7eb"/>')
        out.append(f'<text x="0" y="{y + 4}" fill="#374151">{_LANES[kind][0]}</text>')
    for note in (note for note in notes if note.kind in lanes):
        y, colour = lanes[note.kind] * _ROW + 16, _LANES[note.kind][1]
        if note.kind == "check" and note.text != "accepted":
            colour = "#b91c1c"
        tip = html.escape(f"{since(drill, note.at)} {note.text}")
        out.append(
            f'<circle cx="{x(note.at):.1f}" cy="{y}" r="5" fill="{colour}"><title>{tip}</title></circle>'
        )
    out += _axis(span, height, x(first), _WIDTH - 20)
    return "\n".join([*out, "</svg>"])


def _axis(span: float, height: int, left: float, right: float) -> list[str]:
    marks = []
    for part in range(5):
        at = left + (right - left) * part / 4
        label = units.duration(int(span * part / 4 * 1e9)) if part else "start"
        anchor = "start" if part == 0 else "end" if part == 4 else "middle"
        marks.append(
            f'<text x="{at:.1f}" y="{height - 8}" text-anchor="{anchor}" fill="#6b7280">{label}</text>'
        )
    return marks


def markup(text: str) -> str:
    """Headings, paragraphs, lists, tables and code blocks, separated by blank lines."""
    return "\n".join(_block(block) for block in _blocks(text.splitlines()))


def _blocks(lines: Iterable[str]) -> Iterable[list[str]]:
    block: list[str] = []
    code = False
    for line in lines:
        fence = line.startswith("```")
        if (fence and not code) or (not code and not line.strip()):
            if block:
                yield block
            block = []
        if line.strip() or code:
            block.append(line)
        if fence:
            if code:
                yield block
                block = []
            code = not code
    if block:
        yield block


def _block(lines: list[str]) -> str:
    first = lines[0]
    if first.startswith("```"):
        return f"<pre>{html.escape(chr(10).join(lines[1:-1]))}</pre>"
    if first.startswith("#"):
        level = len(first) - len(first.lstrip("#"))
        return f"<h{level}>{_inline(first.lstrip('# '))}</h{level}>" + (
            _block(lines[1:]) if lines[1:] else ""
        )
    if first.startswith("|"):
        return _table(lines)
    if first.startswith("    "):
        return f"<pre>{html.escape(chr(10).join(line[4:] for line in lines))}</pre>"
    listed = re.match(r"(- |\d+\. )", first)
    if listed:
        items = re.split(r"\n(?:- |\d+\. )", "\n" + "\n".join(lines))[1:]
        kind = "ul" if first[0] == "-" else "ol"
        return f"<{kind}>" + "".join(f"<li>{_inline(item)}</li>" for item in items) + f"</{kind}>"
    if len(lines) > 1 and re.match(r"\d+\. ", lines[1]):
        return f"<p>{_inline(first)}</p>" + _block(lines[1:])
    return f"<p>{_inline(chr(10).join(lines))}</p>"


def _table(lines: list[str]) -> str:
    rows = [
        re.split(r"(?<!\\)\|", line.strip()[1:-1])
        for line in lines
        if not re.fullmatch(r"[|\- ]+", line.strip())
    ]
    out = []
    for number, cells in enumerate(rows):
        tag = "td" if number else "th"
        out.append(
            "".join(f"<{tag}>{_inline(cell.strip().replace(chr(92) + '|', '|'))}</{tag}>" for cell in cells)
        )
    return "<table>" + "".join(f"<tr>{row}</tr>" for row in out) + "</table>"


def _inline(text: str) -> str:
    """Bold and code; what is between backticks is left as it is."""
    parts = re.split(r"`([^`]+)`", text)
    for number, part in enumerate(parts):
        escaped = html.escape(part)
        parts[number] = (
            f"<code>{escaped}</code>" if number % 2 else re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", escaped)
        )
    return "".join(parts)
