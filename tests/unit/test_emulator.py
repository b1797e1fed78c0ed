"""The terminal's screen: what pyte lacks, colours, scrollback, sizes; and what keys send."""

from __future__ import annotations

import pytest

from glassstack.tui.emulator import SCROLLBACK, Emulator, Picture
from glassstack.tui.shellkeys import pasted, sequence
from glassstack.tui.widgets.shell import style_of


def text_of(picture: Picture) -> list[str]:
    return ["".join(text for text, _ in line) for line in picture.lines]


def fed(data: bytes, columns: int = 20, lines: int = 4) -> Emulator:
    emulator = Emulator(columns, lines)
    emulator.feed(data)
    return emulator


@pytest.mark.parametrize(
    ("code", "colour", "background"),
    [
        ("31", "color(1)", None),
        ("33", "color(3)", None),
        ("95", "color(13)", None),
        ("105", None, "color(13)"),
        ("38;5;208", "#ff8700", None),
        ("48;5;236", None, "#303030"),
        ("38;2;1;200;3", "#01c803", None),
    ],
)
def test_colours_are_those_that_were_sent(code: str, colour: str | None, background: str | None) -> None:
    ((text, char),) = fed(f"\x1b[{code}mx".encode()).picture().lines[0]
    style = style_of(char, "256")
    assert text == "x"
    assert (style.color.name if style.color else None) == colour
    assert (style.bgcolor.name if style.bgcolor else None) == background
    assert style_of(char, "none").color is None


def test_attributes() -> None:
    plain, marked = fed(b"a\x1b[1;3;4;7;9mb").picture().lines[0]
    style = style_of(marked[1], "none")
    assert (style.bold, style.italic, style.underline, style.reverse, style.strike) == (True,) * 5
    assert style_of(plain[1], "256").bold is None


def test_what_leaves_the_screen_can_be_scrolled_back_to() -> None:
    emulator = fed(b"\r\n".join(b"%d" % n for n in range(10)))
    assert text_of(emulator.picture()) == ["6", "7", "8", "9"]
    assert text_of(emulator.picture(2)) == ["4", "5", "6", "7"]
    assert emulator.picture(2).cursor is None
    oldest = emulator.picture(99)
    assert (text_of(oldest), oldest.back) == (["0", "1", "2", "3"], 6)


def test_the_scrollback_is_bounded() -> None:
    assert fed(b"x\r\n" * (SCROLLBACK + 50)).picture(10**6).back == SCROLLBACK


def test_a_full_screen_program_leaves_the_screen_as_it_was() -> None:
    emulator = fed(b"before\r\n$ \x1b[?1049h\x1b[2J\x1b[Hinside\n\n\n\n\n\n")
    assert "before" not in text_of(emulator.picture())
    emulator.feed(b"\x1b[?1049l")
    picture = emulator.picture(9)
    assert text_of(picture)[:2] == ["before", "$"]
    assert picture.back == 0
    assert picture.cursor == (2, 1)


def test_a_smaller_screen_keeps_the_line_of_the_cursor() -> None:
    emulator = fed(b"1\r\n2\r\n3\r\n$ ")
    emulator.resize(10, 2)
    picture = emulator.picture()
    assert text_of(picture) == ["3", "$"]
    assert picture.cursor == (2, 1)
    assert text_of(emulator.picture(2)) == ["1", "2"]
    emulator.resize(30, 6)
    emulator.feed(b"x" * 25)
    assert text_of(emulator.picture())[1] == "$ " + "x" * 25


def test_a_screen_that_gets_smaller_below_the_cursor_loses_nothing() -> None:
    emulator = fed(b"$ ", lines=20)
    emulator.resize(20, 5)
    assert text_of(emulator.picture())[0] == "$"
    assert emulator.picture(9).back == 0


@pytest.mark.parametrize(
    "noise",
    [
        b"\x1b[>4;2m",
        b"\x1b[>1u",
        b"\x1b[<u",
        b"\x1b[?4m",
        b"\x1b[?5W",
        b"\x1b[=1;1u",
        b"\x1bP+q544e\x1b\\",
        b"\x1b]0;title\x07",
        b"\x1b[?3h",
        b"\x1b[?25$p",
        b"\x1b[1;2;3;4d",
    ],
)
def test_what_the_terminal_does_not_know_leaves_no_trace(noise: bytes) -> None:
    whole = fed(b"a" + noise + b"b\x1b[0mc")
    apart = Emulator(20, 4)
    for byte in b"a" + noise + b"b\x1b[0mc":
        apart.feed(bytes([byte]))
    for emulator in (whole, apart):
        emulator.feed(b"\x1b[H\x1b[2K" if noise.endswith(b"d") else b"")
        shown = text_of(emulator.picture())[0]
        assert shown == ("" if noise.endswith(b"d") else "abc")
        assert not emulator.picture().lines[0] or not emulator.picture().lines[0][0][1].underscore


def test_modes_that_keys_depend_on() -> None:
    emulator = fed(b"\x1b[?1h\x1b[?2004h")
    assert (emulator.app_cursor, emulator.bracketed) == (True, True)
    emulator.feed(b"\x1b[?1l\x1b[?2004l")
    assert (emulator.app_cursor, emulator.bracketed) == (False, False)


def test_it_answers_where_the_cursor_is() -> None:
    said: list[bytes] = []
    Emulator(20, 4, said.append).feed(b"ab\x1b[6n")
    assert said == [b"\x1b[1;3R"]


@pytest.mark.parametrize(
    ("key", "character", "expected"),
    [
        ("a", "a", b"a"),
        ("ü", "ü", "ü".encode()),
        ("upper_a", "A", b"A"),
        ("space", " ", b" "),
        ("enter", "\r", b"\r"),
        ("backspace", "\x7f", b"\x7f"),
        ("tab", "\t", b"\t"),
        ("shift+tab", None, b"\x1b[Z"),
        ("escape", "\x1b", b"\x1b"),
        ("ctrl+c", "\x03", b"\x03"),
        ("ctrl+d", None, b"\x04"),
        ("ctrl+backslash", "\x1c", b"\x1c"),
        ("alt+b", None, b"\x1bb"),
        ("up", None, b"\x1b[A"),
        ("ctrl+left", None, b"\x1b[1;5D"),
        ("f1", None, b"\x1bOP"),
        ("f5", None, b"\x1b[15~"),
        ("f12", None, b"\x1b[24~"),
        ("delete", None, b"\x1b[3~"),
        ("pageup", None, b"\x1b[5~"),
        ("plus", "+", b"+"),
        ("unheard_of", None, b""),
    ],
)
def test_keys(key: str, character: str | None, expected: bytes) -> None:
    assert sequence(key, character) == expected


def test_application_arrows() -> None:
    assert sequence("up", None, app_cursor=True) == b"\x1bOA"


def test_pasting_says_so_where_it_is_wanted_and_cannot_get_out() -> None:
    assert pasted("a\nb", bracketed=False) == b"a\rb"
    assert pasted("a\x1b[201~b", bracketed=True) == b"\x1b[200~a[201~b\x1b[201~"
