"""A session that is made behind the first picture: when, once, and what becomes of one that can't be made."""

from __future__ import annotations

import threading

import pytest

from glassstack.cli import screen
from glassstack.cli.errors import MISSING, CommandError
from glassstack.gpu.artifacts import MissingArtifactError
from glassstack.session import Feed, OpeningError, Session


def test_it_is_made_once_by_the_first_read() -> None:
    made: list[Session] = []

    def make() -> Session:
        made.append(Session("t"))
        return made[-1]

    opening = screen.Opening("t", make)
    assert not made
    assert opening.read(0) == opening.read(0) == []
    assert made == [opening.session]
    opening.close()
    assert opening.read(0) is None


def test_nothing_is_made_once_it_is_closed() -> None:
    opening = screen.Opening("t", lambda: pytest.fail("made"))
    opening.close()
    assert opening.read(0) is None


def test_closing_waits_for_one_that_is_being_made() -> None:
    began, may_end = threading.Event(), threading.Event()
    made = Session("t")

    def make() -> Session:
        began.set()
        assert may_end.wait(10)
        return made

    opening = screen.Opening("t", make)
    reader = threading.Thread(target=opening.read, args=(0,))
    reader.start()
    assert began.wait(10)
    closer = threading.Thread(target=opening.close)
    closer.start()
    may_end.set()
    for thread in (reader, closer):
        thread.join(10)
    assert made.read(0) is None  # closed, so nothing that it started stays


def test_what_keeps_it_from_being_made_is_said_without_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    def make() -> Session:
        raise MissingArtifactError("no fakegpud", "make build")

    def show(feed: Feed, **_: object) -> int:
        with pytest.raises(OpeningError):
            feed.read(0)
        return 1

    monkeypatch.setattr(screen, "show", show)
    with pytest.raises(CommandError, match="no fakegpud; make build") as caught:
        screen.watch("t", make)
    assert caught.value.code == MISSING
