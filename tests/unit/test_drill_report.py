"""The report's Markdown as HTML, and what bash writes of a shell."""

from __future__ import annotations

from pathlib import Path

import pytest

from glassstack.drills.notes import Notes
from glassstack.drills.report_html import markup


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("## A & B", "<h2>A &amp; B</h2>"),
        ("**x** of `a*b*<c>`", "<p><b>x</b> of <code>a*b*&lt;c&gt;</code></p>"),
        ("- one\n  more\n- two", "<ul><li>one\n  more</li><li>two</li></ul>"),
        ("1. one\n2. two", "<ol><li>one</li><li>two</li></ol>"),
        ("They ask\n1. one", "<p>They ask</p><ol><li>one</li></ol>"),
        ("```sh\n# a < b\n\nrm x\n```", "<pre># a &lt; b\n\nrm x</pre>"),
        ("    verdict fine", "<pre>verdict fine</pre>"),
        (
            "| a | b |\n|---|---|\n| `x \\| y` | <i> |",
            "<table><tr><th>a</th><th>b</th></tr>"
            "<tr><td><code>x | y</code></td><td>&lt;i&gt;</td></tr></table>",
        ),
        ("# T\n\ntext\nmore", "<h1>T</h1>\n<p>text\nmore</p>"),
        ("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>"),
    ],
)
def test_markup(text: str, shown: str) -> None:
    assert markup(text) == shown


def test_commands_are_read_from_bash(tmp_path: Path) -> None:
    notes = Notes(tmp_path)
    (tmp_path / "history").write_text(
        "no time\n#1700000005\nls\n#1700000001\nfor x in 1\ndo echo\ndone\n#1700000009\n"
    )
    assert [(note.at, note.text) for note in notes.read()] == [
        (1700000001.0, "for x in 1\ndo echo\ndone"),
        (1700000005.0, "ls"),
    ]


def test_notes_outlive_half_a_line(tmp_path: Path) -> None:
    notes = Notes(tmp_path)
    notes.add("hint", "look")
    with (tmp_path / "notes.jsonl").open("a") as out:
        out.write('{"at": 1, "ki')
    assert [(note.kind, note.text) for note in notes.read()] == [("hint", "look")]
