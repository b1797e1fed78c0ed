"""The look: a few named styles in 256, 16 or no colours, and characters for ASCII terminals.

The background stays the terminal's own, so it fits dark and light ones and
costs no bytes. Colour never carries a meaning alone: a word or sign does.
"""

from dataclasses import dataclass
from functools import lru_cache

from rich.style import Style
from rich.terminal_theme import TerminalTheme

from glassstack.format.text import plain
from glassstack.tui.terminal import Colours

_256 = {
    "": "",
    "dim": "color(245)",
    "label": "color(245)",
    "rule": "color(239)",
    "strong": "bold",
    "name": "color(152)",
    "accent": "color(110)",
    "quiet": "color(179)",
    "busy": "color(109)",
    "ok": "color(108)",
    "warn": "color(179)",
    "bad": "bold color(203)",
    "key": "color(110)",
    "tab": "bold color(232) on color(110)",
    "cursor": "color(255) on color(24)",
    "match": "color(232) on color(179)",
}
_16 = {
    **dict.fromkeys(("", "dim", "label", "rule"), ""),
    "strong": "bold",
    "name": "bold",
    "accent": "cyan",
    "quiet": "yellow",
    "busy": "cyan",
    "ok": "green",
    "warn": "yellow",
    "bad": "bold red",
    "key": "cyan",
    "tab": "reverse",
    "cursor": "reverse",
    "match": "black on yellow",
}
_NONE = {
    **dict.fromkeys(_256, ""),
    "dim": "dim",
    "strong": "bold",
    "name": "bold",
    "bad": "bold",
    "warn": "bold",
    "tab": "reverse",
    "cursor": "reverse",
    "match": "underline",
}
_PALETTES: dict[Colours, dict[str, str]] = {"256": _256, "16": _16, "none": _NONE}

# One character for one, so that columns stay aligned.
_ASCII = str.maketrans(
    "▁▂▃▄▅▆▇█" + "─│┌├└╌" + "●○◐✗▸◆…·µ±×→←↑↓░▓" + "≤≥–—’“”",
    "_.,:-=+#" + "-|,|`-" + "*o~x>@~.u+x><^v.#" + '<>--\'""',
)

# black, red, green, yellow, blue, magenta, cyan, white
_NORMAL = "262c32 d6605a 87af87 d7af5f 87afd7 af87af 87afaf cdd3d8"
_BRIGHT = "626c76 ff5f5f a0c8a0 ebcb8b a0c4e4 c8a0c8 a0c8c8 eef2f5"


def _colours(words: str) -> list[tuple[int, int, int]]:
    return [(value >> 16, value >> 8 & 255, value & 255) for value in (int(w, 16) for w in words.split())]


TERMINAL_THEME = TerminalTheme(
    (16, 20, 24),
    (205, 211, 216),
    _colours(_NORMAL),
    _colours(_BRIGHT),
)
"""What the sixteen colours and the default ones are in a screenshot."""


@dataclass(frozen=True)
class Look:
    """Turns style names and text into what this terminal gets."""

    colours: Colours = "256"
    ascii: bool = False

    def style(self, name: str) -> Style:
        """The style of that name."""
        return _style(self.colours, name)

    def text(self, text: str) -> str:
        """``text`` without control characters, in characters the terminal has."""
        if not text.isprintable():
            text = plain(text)
        if self.ascii and not text.isascii():
            text = text.translate(_ASCII).encode("ascii", "replace").decode()
        return text


@lru_cache(maxsize=128)
def _style(colours: Colours, name: str) -> Style:
    return Style.parse(_PALETTES[colours][name] or "none")
