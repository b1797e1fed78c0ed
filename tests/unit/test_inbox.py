"""The inbox loses only calls, and says how many."""

from glassstack.collectors.inbox import Inbox
from glassstack.model.events import Dropped, Syscall
from tests.unit.events import call, process


def test_batches_come_out_in_order_and_end_with_none() -> None:
    inbox = Inbox()
    inbox.put([call(1), call(2)])
    inbox.put([])
    inbox.put([call(3)])
    inbox.close()
    events = inbox.get(0)
    assert events is not None
    assert [event.ts for event in events] == [1, 2, 3]
    assert inbox.get(0) is None


def test_nothing_waiting_is_an_empty_batch() -> None:
    assert Inbox().get(0) == []


def test_a_flood_drops_calls_only_and_counts_them() -> None:
    inbox = Inbox(capacity=10)
    inbox.put([call(n) for n in range(8)])
    inbox.put([call(n) for n in range(23)] + [process(9, "exit", status=0)])
    events = inbox.get(0)
    assert events is not None
    assert sum(isinstance(event, Syscall) for event in events) == 8
    assert events[-2].ts == 9
    assert isinstance(events[-1], Dropped)
    assert events[-1].count == 23
    assert inbox.get(0) == []
