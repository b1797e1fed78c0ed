"""A drill walked through its screen, on a terminal: shell, check and hint by their keys."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from glassstack.session.console import Console
from glassstack.tui.emulator import Emulator
from tests.support import ROOT
from tests.system.test_drills import CODE, DRILLS, end, glassstack, place_here

ENTER, LEAVE = b"\r", b"\x1d"


class Terminal:
    """glassstack on a terminal, as a person sees it."""

    def __init__(self, state: Path, size: tuple[int, int], *words: str) -> None:
        self.emulator = Emulator(*size, reply=lambda data: self.console.write(data))
        self.over: list[str] = []
        self._news = threading.Event()
        environ = {**os.environ, "XDG_STATE_HOME": str(state), "TERM": "xterm-256color", "LANG": "C.UTF-8"}
        self.console = Console(
            [sys.executable, "-c", CODE, *words],
            {**environ, "PYTHONPATH": str(ROOT)},
            size,
            self._feed,
            self._end,
        )

    def _feed(self, data: bytes) -> None:
        self.emulator.feed(data)
        self._news.set()

    def _end(self, how: str) -> None:
        self.over.append(how)
        self._news.set()

    @property
    def text(self) -> str:
        return "\n".join("".join(text for text, _ in line) for line in self.emulator.picture().lines)

    def until(self, condition: Callable[[str], object], seconds: float = 30) -> str:
        deadline = time.monotonic() + seconds
        while not condition(text := self.text):
            assert self._news.wait(deadline - time.monotonic()), f"not in time:\n{text}"
            assert not self.over, f"{self.over[0]}:\n{text}"
            self._news.clear()
        return text

    def until_over(self, seconds: float = 20) -> None:
        deadline = time.monotonic() + seconds
        while not self.over:
            assert self._news.wait(deadline - time.monotonic()), f"not over:\n{self.text}"
            self._news.clear()

    def type(self, data: bytes) -> None:
        self.console.write(data)


@pytest.fixture(params=[(80, 24), (160, 48)], ids=["narrow", "wide"])
def terminal(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Terminal]:
    place_here(next(one for one in DRILLS if one.id == "quiet-strace"))
    made = Terminal(tmp_path, request.param, "drill", "start", "quiet-strace", "--seed", "2", "--tui")
    yield made
    made.console.close()
    end(glassstack(tmp_path, "drill", "stop"))


def test_a_drill_from_report_to_debrief(terminal: Terminal, tmp_path: Path) -> None:
    text = terminal.until(lambda text: "on this node hangs again" in text)
    narrow = "│ The quiet strace" not in text
    terminal.type(b"b" if narrow else b"")
    terminal.until(lambda text: "train; 1 process" in text and "measured" in text)
    terminal.type(LEAVE + b"fakegpu-smi" + ENTER)
    terminal.until(lambda text: "FAKEGPU-SMI 550.54.14" in text or "GPU Memory" in text)
    terminal.type(LEAVE + b"c")
    terminal.until(lambda text: "not yet" in text)
    said = " ".join(terminal.text.split())
    assert "nobody has given a verdict" in said
    terminal.type(b"H")
    terminal.until(lambda text: "Take hint 1 of 3 for 10 points?" in text)
    terminal.type(b"y")
    terminal.until(lambda text: "1 of 3 hints" in text and "90 points" in text)
    terminal.type(LEAVE + b"verdict fine" + ENTER + LEAVE + b"c")
    terminal.until(lambda text: "● solved in" in text and "Silence is the normal state" in text)
    terminal.type(b"q")
    terminal.until_over()
    assert terminal.over == ["ended, exit status 0"]
    assert "quiet-strace is still on" in terminal.text
    assert end(glassstack(tmp_path, "drill", "status"))[1].startswith("quiet-strace (here): solved")
