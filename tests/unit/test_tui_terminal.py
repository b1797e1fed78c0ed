"""Where the TUI refuses to start, and what it makes of the terminal's environment."""

from __future__ import annotations

import io

import pytest

from glassstack.tui.terminal import TerminalRefusedError, colours, is_ascii, require_terminal


class Tty(io.StringIO):
    """Says that it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("term", ["dumb", "", "unknown"])
def test_a_terminal_that_cannot_move_its_cursor_is_refused(term: str) -> None:
    with pytest.raises(TerminalRefusedError, match="glassstack trace") as refused:
        require_terminal(Tty(), Tty(), {"TERM": term})
    assert refused.value.code == 4
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("stdin", "stdout"), [(io.StringIO(), Tty()), (Tty(), io.StringIO())])
def test_both_sides_must_be_a_terminal(stdin: io.StringIO, stdout: io.StringIO) -> None:
    with pytest.raises(TerminalRefusedError, match="not a TTY"):
        require_terminal(stdin, stdout, {"TERM": "xterm"})


def test_a_good_terminal_passes() -> None:
    require_terminal(Tty(), Tty(), {"TERM": "xterm-256color"})


@pytest.mark.parametrize(
    ("system", "no_color", "palette"),
    [("truecolor", False, "256"), ("256", False, "256"), ("standard", False, "16"), ("256", True, "none")],
)
def test_palette(system: str, no_color: bool, palette: str) -> None:
    assert colours(system, no_color) == palette


@pytest.mark.parametrize(
    ("environ", "ascii_only"),
    [
        ({}, False),
        ({"LANG": "en_US.UTF-8"}, False),
        ({"LANG": "C"}, True),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, True),  # Python put LC_CTYPE there
        ({"LANG": "C", "LC_ALL": "C.utf8"}, False),
        ({"LC_ALL": "POSIX", "LANG": "C.UTF-8"}, True),
        ({"LANG": "C.UTF-8", "TERM": "linux"}, True),
    ],
)
def test_ascii(environ: dict[str, str], ascii_only: bool) -> None:
    assert is_ascii(environ) is ascii_only
