"""What the terminal can do: whether there is one, its colours, its characters.

Owns the refusal of places where a full-screen program makes no sense. Reads
the environment and asks the descriptors; changes nothing.
"""

import os
import sys
from collections.abc import Mapping
from typing import Literal, TextIO

Colours = Literal["256", "16", "none"]

EXIT_MISSING = 4
_NO_BLOCK_GLYPHS = ("linux", "vt100", "vt102", "vt220", "ansi", "cons25")


class TerminalRefusedError(Exception):
    """There is no terminal to draw on. ``str()`` is one line, ``code`` the exit code."""

    def __init__(self, cause: str) -> None:
        super().__init__(f"{cause}: use `glassstack trace …` (headless)")
        self.code = EXIT_MISSING


def require_terminal(
    stdin: TextIO | None = None, stdout: TextIO | None = None, environ: Mapping[str, str] = os.environ
) -> None:
    """Returns when a full-screen program can run here.

    Raises:
        TerminalRefusedError: no TTY on either side, or one that can't move its cursor.
    """
    for name, stream in (("input", stdin or sys.stdin), ("output", stdout or sys.stdout)):
        if stream is None or not stream.isatty():
            raise TerminalRefusedError(f"no terminal ({name} is not a TTY)")
    term = environ.get("TERM", "")
    if term in ("", "dumb", "unknown"):
        raise TerminalRefusedError(f"no terminal (TERM is {term or 'not set'})")


def colours(color_system: str | None, no_color: bool) -> Colours:
    """The palette for what Rich found out (``Console.color_system``)."""
    if no_color or color_system is None:
        return "none"
    return "16" if color_system in ("standard", "windows") else "256"


def is_ascii(environ: Mapping[str, str] = os.environ) -> bool:
    """True where only ASCII is safe to draw.

    Python itself puts ``LC_CTYPE=C.UTF-8`` into the environment of a process
    started in the C locale, so an explicit ``LANG=C`` still counts then.
    """
    if environ.get("TERM", "") in _NO_BLOCK_GLYPHS:
        return True
    if environ.get("LC_ALL"):
        locale = environ["LC_ALL"]
    elif environ.get("LC_CTYPE", "") in ("", "C.UTF-8"):
        locale = environ.get("LANG", "") or "C.UTF-8"
    else:
        locale = environ["LC_CTYPE"]
    return "utf" not in locale.lower()
