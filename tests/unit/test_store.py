"""The reducer and the snapshots: counts are exact, memory is bounded, unknown stays unknown."""

from glassstack.model import events as ev
from glassstack.model.entities import Completion
from glassstack.model.values import Source
from glassstack.store.calllog import CallLog
from glassstack.store.store import Store
from tests.unit.events import SECOND, call, channel, channels, process


def store(*events: ev.Event) -> Store:
    made = Store()
    made.apply(events)
    return made


def test_calls_are_counted_by_name_and_failure() -> None:
    seen = store(*[call(n) for n in range(23)], call(30, "FREE", errno="ENOENT")).snapshot()
    assert seen.counts == {"ALLOC": 23, "FREE": 1}
    assert seen.failures == {"FREE": 1}
    assert seen.calls_end == 24


def test_call_log_keeps_the_newest_and_knows_what_is_gone() -> None:
    log = CallLog(capacity=10)
    for n in range(23):
        log.append(call(n))
    assert (log.first, log.end) == (13, 23)
    assert log.get(12) is None
    assert log.get(23) is None
    assert [c.ts for _, c in log.since(0)] == list(range(13, 23))


def test_rates_are_per_whole_second_and_steady_state_reads_zero() -> None:
    events: list[ev.Event] = [call(SECOND + n) for n in range(5)]
    events += [channels((2 + n) * SECOND, channel(100 * n, 90 * n)) for n in range(4)]
    events.append(call(6 * SECOND))
    rates = store(*events).snapshot().rates
    assert rates.ioctls == (5, 0, 0, 0, 0)
    assert rates.doorbells == (0, 0, 100, 100, 100)
    assert rates.jobs == (0, 0, 90, 90, 90)


def test_one_channel_seen_by_two_witnesses_counts_once() -> None:
    seen = store(
        channels(1 * SECOND, channel(0, 0)),
        channels(1 * SECOND + 1, channel(10, 10), source=Source.DEVICE),
        channels(1 * SECOND + 2, channel(10, 10), source=Source.POLL),
        channels(1 * SECOND + 3, channel(8, 8), source=Source.POLL),
        channels(3 * SECOND, channel(10, 10)),
    ).snapshot()
    assert sum(seen.rates.doorbells) == 10
    assert seen.channels[0].jobs == 10


def test_processes_come_thread_and_go() -> None:
    made = store(
        process(1, "start", command="fakegpu-train"),
        process(2, "thread", tid=8),
        process(3, "fork", pid=9, ppid=7),
    )
    assert [(t.pid, t.threads, t.command) for t in made.snapshot().tracked] == [
        (7, (7, 8), "fakegpu-train"),
        (9, (9,), "fakegpu-train"),
    ]
    made.apply(
        [process(4, "exit", tid=8), process(5, "exit", status=3), process(6, "exit", pid=9, signal="SIGKILL")]
    )
    assert [t.ended for t in made.snapshot().tracked] == ["exit 3", "killed by SIGKILL"]


def test_thousands_of_ended_processes_are_forgotten() -> None:
    made = Store()
    for pid in range(1000, 6000):
        made.apply(
            [
                process(pid, "start", pid=pid),
                ev.Mappings(pid, Source.POLL, pid=pid, mappings=()),
                channels(pid, channel(1, 1, pid=pid, context=pid)),
                process(pid, "exit", pid=pid, status=0),
            ]
        )
    seen = made.snapshot()
    assert len(seen.tracked) == len(seen.mappings) == len(seen.channels) == 64


def test_missing_is_kept_with_its_reason_and_never_zero() -> None:
    seen = store(ev.Mappings(1, Source.POLL, pid=7, mappings=(), missing="permission denied")).snapshot()
    assert seen.mappings == {}
    assert seen.mappings_missing == {7: "permission denied"}
    assert seen.holders is None


def test_latency_is_percentiles_of_good_jobs() -> None:
    entries = tuple(Completion(n, 0, 0, n, 3 * n, 0, 0) for n in range(1, 101))
    bad = Completion(101, 0, 0, 10**9, 2 * 10**9, 31, 0)
    event = ev.Completions(1, Source.POLL, 7, "/dev/fakegpu0", 1, (*entries, bad), written=101)
    seen = store(event).snapshot()
    assert seen.queue_latency is not None
    assert (seen.queue_latency.count, seen.queue_latency.p50, seen.queue_latency.max) == (100, 50, 100)
    assert seen.run_latency is not None
    assert seen.run_latency.p99 == 198


def test_drops_add_up_by_place() -> None:
    seen = store(*[ev.Dropped(n, Source.DEVICE, "witness", 5) for n in range(3)]).snapshot()
    assert [(d.where, d.count) for d in seen.dropped] == [("witness", 15)]


def test_snapshot_is_the_same_object_until_something_changes() -> None:
    made = store(call(1))
    first = made.snapshot()
    assert made.snapshot() is first
    made.apply([])
    assert made.snapshot() is first
    made.apply([call(2)])
    assert made.snapshot() is not first


def test_a_copy_goes_its_own_way() -> None:
    made = store(call(1))
    other = made.copy()
    other.apply([call(2), process(3, "start")])
    assert made.snapshot().calls_end == 1
    assert made.snapshot().tracked == ()
    assert other.snapshot().calls_end == 2
