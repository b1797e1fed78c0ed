"""The reducer: the only code that changes the state. One function per event type, no I/O, no clock.

Live sessions, replays and drills feed the same functions, so they can't disagree.
"""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from glassstack.model import events as ev
from glassstack.model.events import Event
from glassstack.store.functions import series_key
from glassstack.store.series import Series
from glassstack.store.snapshot import CgroupView, Tracked
from glassstack.store.state import LAUNCHES, ChannelKey, State

ENDED_KEPT = 64
"""How many ended processes stay known, with what was last seen of them."""


def _syscall(state: State, call: ev.Syscall) -> None:
    state.calls.append(call)
    name = call.name
    state.counts[name] = state.counts.get(name, 0) + 1
    if call.syscall == "ioctl":
        state.ioctls.add(call.end)
    if call.failure is not None:
        state.failures[name] = state.failures.get(name, 0) + 1
        state.errors.add(call.end)


def _forget_oldest_ended(state: State) -> None:
    ended = [pid for pid, tracked in state.tracked.items() if tracked.ended]
    for pid in ended[: max(0, len(ended) - ENDED_KEPT)]:
        del state.tracked[pid]
        state.tallies.pop(pid, None)
        for table in (state.mappings, state.mappings_missing, state.channels_missing, state.cgroups):
            table.pop(pid, None)
        for key in [key for key, channel in state.channels.items() if channel.pid == pid]:
            del state.channels[key]
            state.rings.pop(key, None)


def _process(state: State, event: ev.Process) -> None:
    state.process_events.append(event)
    old = state.tracked.get(event.pid)
    if event.what in ("exit", "detach"):
        _ended(state, event, old)
        return
    threads = old.threads if old and event.what != "exec" else ()
    if event.tid not in threads:
        threads = (*threads, event.tid)
    command = event.command or (old.command if old else "")
    if not command and event.ppid in state.tracked:
        command = state.tracked[event.ppid].command
    ppid = event.ppid or (old.ppid if old else 0)
    state.tracked[event.pid] = Tracked(event.pid, ppid, command, threads)


def _ended(state: State, event: ev.Process, old: Tracked | None) -> None:
    if event.tid != event.pid:
        if old:
            threads = tuple(tid for tid in old.threads if tid != event.tid)
            state.tracked[event.pid] = Tracked(old.pid, old.ppid, old.command, threads, old.ended)
        return
    if event.what == "detach":
        text = "detached"
    else:
        text = f"killed by {event.signal}" if event.signal else f"exit {event.status}"
    command = event.command or (old.command if old else "")
    state.tracked.pop(event.pid, None)
    state.tracked[event.pid] = Tracked(event.pid, old.ppid if old else event.ppid, command, (), text)
    _forget_oldest_ended(state)


def _calls(state: State, event: ev.Calls) -> None:
    state.in_flight[event.source] = event.calls


def _tallies(state: State, event: ev.Tallies) -> None:
    before = state.tallies.get(event.pid)
    old = {(t.library, t.name): t.calls for t in before.tallies} if before else {}
    since = before.ts if before else event.since
    state.tallies[event.pid] = event
    for tally in event.tallies:
        if tally.library != "syscall":
            new = tally.calls - old.get((tally.library, tally.name), 0)
            series = state.functions.setdefault(series_key(tally), Series())
            series.spread(min(since, event.ts), event.ts, max(0, new))


def _launches(state: State, event: ev.Launches) -> None:
    state.launches_sample = event.sample
    for launch in event.launches:
        state.launches[event.pid, launch.tid, launch.called_ns] = (event.pid, launch)
    while len(state.launches) > LAUNCHES:
        del state.launches[next(iter(state.launches))]


def _mappings(state: State, event: ev.Mappings) -> None:
    if event.missing:
        state.mappings_missing[event.pid] = event.missing
        return
    state.mappings_missing.pop(event.pid, None)
    state.mappings[event.pid] = event.mappings


def _channels(state: State, event: ev.Channels) -> None:
    if event.missing:
        state.channels_missing[event.pid] = event.missing
        return
    state.channels_missing.pop(event.pid, None)
    for channel in event.channels:
        key: ChannelKey = (channel.pid, channel.device, channel.context, channel.index)
        old = state.channels.get(key)
        if old is not None:
            if channel.jobs < old.jobs or channel.doorbells < old.doorbells:
                continue  # seen out of order: two witnesses look at the same counters
            state.doorbells.add(event.ts, channel.doorbells - old.doorbells)
            state.jobs.add(event.ts, channel.jobs - old.jobs)
            # A witness that can't tell these has not seen them end.
            channel = msgspec.structs.replace(
                channel,
                ring_size=channel.ring_size or old.ring_size,
                done_ns=max(channel.done_ns, old.done_ns),
            )
        elif event.source != "poll" or channel.jobs == 0:
            state.doorbells.add(event.ts, channel.doorbells)
            state.jobs.add(event.ts, channel.jobs)
        state.channels[key] = channel


def _ring(state: State, event: ev.Ring) -> None:
    state.rings[(event.pid, event.device, event.context, event.channel)] = event


def _completions(state: State, event: ev.Completions) -> None:
    state.completions_lost += event.lost
    state.completions_seen += len(event.entries)
    state.completions.extend((event.pid, event.device, entry) for entry in event.entries)


def _log(state: State, event: ev.Log) -> None:
    state.log.append(event)


def _cgroups(state: State, event: ev.Cgroups) -> None:
    state.cgroups[event.pid] = CgroupView(event.own, event.tree, event.missing, event.partial)


def _holders(state: State, event: ev.Holders) -> None:
    state.holders = event.holders
    state.holders_unreadable = event.unreadable


def _processes(state: State, event: ev.Processes) -> None:
    state.processes = event.processes


def _devices(state: State, event: ev.Devices) -> None:
    state.devices_missing = event.missing
    if not event.missing:
        state.devices = event.devices


def _nodes(state: State, event: ev.Nodes) -> None:
    state.nodes = event.nodes


def _uevent(state: State, event: ev.Uevent) -> None:
    state.uevents.append(event)


def _step(state: State, event: ev.Step) -> None:
    state.steps.append(event)


def _containers(state: State, event: ev.Containers) -> None:
    state.host = event.host
    state.containers = event.containers


def _output(state: State, event: ev.Output) -> None:
    state.output.append(event)


def _capabilities(state: State, event: ev.Capabilities) -> None:
    state.capabilities = event.capabilities


def _dropped(state: State, event: ev.Dropped) -> None:
    key = (event.source, event.where)
    before = state.dropped[key].count if key in state.dropped else 0
    state.dropped[key] = msgspec.structs.replace(event, count=before + event.count)


def _failed(state: State, event: ev.Failed) -> None:
    state.failed[event.collector] = event


_REDUCERS: dict[type, Callable[[State, Any], None]] = {
    ev.Syscall: _syscall,
    ev.Process: _process,
    ev.Calls: _calls,
    ev.Tallies: _tallies,
    ev.Launches: _launches,
    ev.Mappings: _mappings,
    ev.Channels: _channels,
    ev.Ring: _ring,
    ev.Completions: _completions,
    ev.Log: _log,
    ev.Cgroups: _cgroups,
    ev.Holders: _holders,
    ev.Processes: _processes,
    ev.Devices: _devices,
    ev.Nodes: _nodes,
    ev.Uevent: _uevent,
    ev.Step: _step,
    ev.Containers: _containers,
    ev.Output: _output,
    ev.Capabilities: _capabilities,
    ev.Dropped: _dropped,
    ev.Failed: _failed,
}


def reduce(state: State, batch: Iterable[Event]) -> None:
    """Applies a batch in order."""
    changed = False
    for event in batch:
        if not state.started:
            state.started = event.ts
        if event.ts > state.ts:
            state.ts = event.ts
        _REDUCERS[type(event)](state, event)
        changed = True
    if changed:
        state.revision += 1
