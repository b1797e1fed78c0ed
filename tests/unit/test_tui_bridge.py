"""The crossing: pictures at a limited pace, every event applied, errors that reach the screen."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any

import pytest
from textual.message import Message

from glassstack.model.events import Event
from glassstack.session import OpeningError
from glassstack.store.store import Store
from glassstack.tui.bridge import Bridge, Ended, Fresh, interval
from tests.snapshots import fake
from tests.support import eventually


class QueueFeed:
    """A feed that a test fills."""

    title = "test"

    def __init__(self) -> None:
        self.batches: queue.SimpleQueue[list[Event] | Exception | None] = queue.SimpleQueue()
        self.waits = 0

    def read(self, timeout: float) -> list[Event] | None:
        self.waits += 1
        try:
            batch = self.batches.get(timeout=timeout) if timeout else self.batches.get_nowait()
        except queue.Empty:
            return []
        if isinstance(batch, Exception):
            raise batch
        return batch

    def close(self) -> None:
        self.batches.put(None)


@pytest.fixture
def posted() -> list[Message]:
    return []


@pytest.fixture
def start(posted: list[Message]) -> Any:
    bridges: list[Bridge] = []

    def begin(feed: QueueFeed, store: Store, every: float = 0.05) -> Bridge:
        bridge = Bridge(feed, store, posted.append, every)
        bridges.append(bridge)
        bridge.start()
        return bridge

    yield begin
    for bridge in bridges:
        bridge.stop()


def _newest(posted: list[Message]) -> int:
    pictures = [message.snapshot.calls_end for message in posted if isinstance(message, Fresh)]
    return pictures[-1] if pictures else 0


def test_every_event_is_shown_though_pictures_are_few(
    start: Callable[..., Bridge], posted: list[Message]
) -> None:
    feed = QueueFeed()
    for n in range(230):
        feed.batches.put(fake.submits(fake.START + n, 5, 1000))
    start(feed, Store(), every=0.5)
    eventually(lambda: _newest(posted) == 2300)
    assert len(posted) < 23


def test_the_last_picture_is_never_owed(start: Callable[..., Bridge], posted: list[Message]) -> None:
    feed = QueueFeed()
    start(feed, Store(), every=0.2)
    feed.batches.put(fake.submits(fake.START, 1, 1000))
    eventually(lambda: _newest(posted) == 2)
    feed.batches.put(fake.submits(fake.START, 1, 1000))
    eventually(lambda: _newest(posted) == 4)


def test_pictures_replace_each_other_in_the_queue() -> None:
    store = fake.store_of(fake.begin())
    assert Fresh(store.snapshot()).can_replace(Fresh(store.snapshot()))
    assert not Fresh(store.snapshot()).can_replace(Ended())


def test_the_end_of_the_feed_is_told_once(start: Callable[..., Bridge], posted: list[Message]) -> None:
    feed = QueueFeed()
    feed.batches.put(fake.submits(fake.START, 1, 1000))
    feed.batches.put(None)
    start(feed, Store())
    eventually(lambda: any(isinstance(message, Ended) for message in posted))
    assert _newest(posted) == 2
    assert [message.why for message in posted if isinstance(message, Ended)] == [""]


def test_an_error_reaches_the_screen(start: Callable[..., Bridge], posted: list[Message]) -> None:
    feed = QueueFeed()
    feed.batches.put(OSError("the tracer is gone"))
    start(feed, Store())
    ended = eventually(lambda: [message for message in posted if isinstance(message, Ended)])
    assert ended[0].why == "OSError: the tracer is gone"


def test_a_feed_that_could_not_begin_is_told_as_such(
    start: Callable[..., Bridge], posted: list[Message]
) -> None:
    feed = QueueFeed()
    feed.batches.put(OpeningError())
    start(feed, Store())
    ended = eventually(lambda: [message for message in posted if isinstance(message, Ended)])
    assert [(message.why, message.begun) for message in ended] == [("", False)]


def test_a_frozen_picture_keeps_its_calls(start: Callable[..., Bridge], posted: list[Message]) -> None:
    feed, store = QueueFeed(), Store()
    bridge = start(feed, store)
    feed.batches.put(fake.submits(fake.START, 10, 1000))
    eventually(lambda: _newest(posted) == 20)
    frozen = bridge.frozen()
    feed.batches.put(fake.submits(fake.START + 1, 60_000, 1000))
    eventually(lambda: _newest(posted) == 120_020, timeout=20)
    assert store.snapshot().calls.get(0) is None
    assert frozen.calls.get(0) is not None


def test_stop_ends_the_thread_in_the_middle_of_a_flood(start: Callable[..., Bridge]) -> None:
    feed = QueueFeed()
    feed.batches.put(fake.submits(fake.START, 100_000, 1000))
    bridge = start(feed, Store())
    bridge.stop()
    assert not [thread for thread in threading.enumerate() if thread.name == "bridge"]


def test_fewer_pictures_over_ssh() -> None:
    assert interval(over_ssh=False) == pytest.approx(0.1)
    assert interval(over_ssh=True) == pytest.approx(0.2)
