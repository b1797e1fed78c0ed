"""The store: a state, the reducer that changes it, and frozen snapshots of it."""

import copy
from collections.abc import Iterable, Sequence

from glassstack.model.events import Event
from glassstack.store.reducer import reduce
from glassstack.store.series import Series
from glassstack.store.snapshot import LatencySummary, Rates, Snapshot
from glassstack.store.state import State


def _summary(values: Sequence[int]) -> LatencySummary | None:
    if not values:
        return None
    ordered = sorted(values)
    last = len(ordered) - 1
    return LatencySummary(len(ordered), ordered[last // 2], ordered[round(last * 0.99)], ordered[last])


def _rates(s: State) -> Rates:
    def last(series: Series) -> tuple[int, ...]:
        return series.last(s.ts, s.started)

    functions = {key: last(series) for key, series in s.functions.items()}
    return Rates(last(s.ioctls), last(s.doorbells), last(s.jobs), last(s.errors), functions)


class Store:
    """One thread applies batches; any thread may ask for a snapshot afterwards."""

    def __init__(self) -> None:
        self._state = State()
        self._snapshot = Snapshot(calls=self._state.calls)
        self._latency_at = -1
        self._latency: tuple[LatencySummary | None, LatencySummary | None] = (None, None)

    def apply(self, batch: Iterable[Event]) -> None:
        """Feeds a batch to the reducer."""
        reduce(self._state, batch)

    def snapshot(self) -> Snapshot:
        """The newest picture; the same object as long as nothing changed."""
        if self._snapshot.revision != self._state.revision:
            self._snapshot = self._freeze()
        return self._snapshot

    def copy(self) -> "Store":
        """An independent store in the same state (a checkpoint of a replay)."""
        other = Store()
        shared = {"calls", "ioctls", "doorbells", "jobs", "errors"}
        fields = {
            name: value.copy() if name in shared else copy.copy(value)
            for name, value in vars(self._state).items()
        }
        fields["functions"] = {key: series.copy() for key, series in self._state.functions.items()}
        other._state = State(**fields)
        return other

    def _latencies(self) -> tuple[LatencySummary | None, LatencySummary | None]:
        state = self._state
        if self._latency_at != state.completions_seen:
            self._latency_at = state.completions_seen
            entries = [entry for _, _, entry in state.completions if entry.status == 0]
            self._latency = (
                _summary([entry.start_ns - entry.queued_ns for entry in entries]),
                _summary([entry.done_ns - entry.start_ns for entry in entries]),
            )
        return self._latency

    def _freeze(self) -> Snapshot:
        s = self._state
        now, started = s.ts, s.started
        queue_latency, run_latency = self._latencies()
        return Snapshot(
            revision=s.revision,
            ts=now,
            started=started,
            calls=s.calls,
            calls_end=s.calls.end,
            counts=s.counts.copy(),
            failures=s.failures.copy(),
            rates=_rates(s),
            in_flight=tuple(call for calls in s.in_flight.values() for call in calls),
            tallies=tuple(s.tallies.values()),
            launches=tuple(s.launches.values()),
            launches_sample=s.launches_sample,
            tracked=tuple(s.tracked.values()),
            process_events=tuple(s.process_events),
            mappings=s.mappings.copy(),
            mappings_missing=s.mappings_missing.copy(),
            channels=tuple(s.channels.values()),
            channels_missing=s.channels_missing.copy(),
            rings=tuple(s.rings.values()),
            completions=tuple(s.completions),
            completions_lost=s.completions_lost,
            queue_latency=queue_latency,
            run_latency=run_latency,
            log=tuple(s.log),
            cgroups=s.cgroups.copy(),
            holders=s.holders,
            holders_unreadable=s.holders_unreadable,
            processes=s.processes,
            devices=s.devices,
            devices_missing=s.devices_missing,
            nodes=s.nodes,
            uevents=tuple(s.uevents),
            steps=tuple(s.steps),
            host=s.host,
            containers=s.containers,
            output=tuple(s.output),
            capabilities=s.capabilities,
            dropped=tuple(s.dropped.values()),
            failed=tuple(s.failed.values()),
        )
