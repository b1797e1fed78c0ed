"""The loop of the reading commands: once, again, to a pipe, to a terminal, to the end."""

from __future__ import annotations

import argparse
import io
import json
import sys

import pytest

from glassstack.cli.errors import CommandError
from glassstack.cli.repeat import Gone, add_repeat_arguments, repeat, require_process
from glassstack.model.events import Event, Holders
from glassstack.model.values import Source


def parsed(*words: str, pid: str = "") -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_repeat_arguments(parser, pid)
    return parser.parse_args(words)


class Looks:
    """Gives ``count`` looks, then says that it is gone."""

    def __init__(self, count: int) -> None:
        self.left = count

    def __call__(self) -> list[Event]:
        if not self.left:
            raise Gone("pid 7 has ended")
        self.left -= 1
        return [Holders(self.left, Source.POLL, ())]


def draw(events: list[Event], width: int) -> list[str]:
    return [f"look {events[0].ts} at {width}", *(f"line {n}" for n in range(40))]


def test_once_is_once(capsys: pytest.CaptureFixture[str]) -> None:
    looks = Looks(3)
    assert repeat(parsed("--once"), looks, draw) == 0
    assert looks.left == 2
    assert capsys.readouterr().out.splitlines()[0] == "look 2 at 0"


def test_json_is_one_event_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert repeat(parsed("--json", "--interval=0.05"), Looks(2), draw) == 0
    output = capsys.readouterr()
    assert [json.loads(line)["ts"] for line in output.out.splitlines()] == [1, 0]
    assert output.err == "glassstack: pid 7 has ended\n"


def test_gone_at_the_first_look_is_an_error() -> None:
    with pytest.raises(CommandError, match="pid 7 has ended"):
        repeat(parsed("--once"), Looks(0), draw)


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_is_repainted_and_never_scrolled(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")
    repeat(parsed("--interval=0.05"), Looks(2), draw)
    _, first, second = screen.getvalue().split("\x1b[H")
    assert first.startswith("look 1 at 80\x1b[K\n")
    assert second.count("\n") == 23
    assert "more lines: --once shows all" in second


def test_a_dumb_terminal_gets_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setenv("TERM", "dumb")
    repeat(parsed("--interval=0.05"), Looks(2), draw)
    assert "\x1b" not in screen.getvalue()
    assert screen.getvalue().count("look ") == 2


@pytest.mark.parametrize("words", [("x",), ("0",), ("-1",), ("99999999999",), ("²",), ("7", "--interval=0")])
def test_bad_arguments_are_usage_errors(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parsed(*words, pid="required")
    assert caught.value.code == 2
    assert "usage:" in capsys.readouterr().err


def test_unknown_pid_has_a_remedy() -> None:
    with pytest.raises(Gone, match=r"no process with pid 2147483646; .*ps"):
        require_process(2**31 - 2)
