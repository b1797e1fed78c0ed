"""The stack as the home screen shows it: one row per layer, out of a snapshot. Pure."""

from dataclasses import dataclass

from glassstack.model.entities import Mapping
from glassstack.model.events import Log, Syscall
from glassstack.model.values import Source
from glassstack.store.functions import KINDS, MEASURED, why_none
from glassstack.store.snapshot import Snapshot

LAYERS = ("app", "runtime", "umd", "boundary", "kmd", "device")
WITNESSES = {Source.PTRACE: "ptrace", Source.EBPF: "eBPF", Source.DEVICE: "the device itself"}
ERROR_LEVEL = 3
"""printk levels up to this one are errors."""


@dataclass(frozen=True)
class Layer:
    """One row. ``health``: "ok", "idle", "warning", "broken" or "unknown" (not seen yet).

    ``rates`` are (label, per second) pairs, ``last_error`` is one line or "",
    ``source`` says who measured it ("measured", "emulated", "not available: why").
    """

    key: str
    title: str
    version: str
    health: str
    rates: tuple[tuple[str, float], ...]
    last_error: str
    detail: str
    source: str


def _newest(series: tuple[int, ...]) -> float:
    return float(series[-1]) if series else 0.0


def _plural(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _program(command: str) -> str:
    """Its name, without folders and arguments."""
    return command.split(" ", 1)[0].rpartition("/")[2]


def _app(s: Snapshot) -> Layer:
    alive = [t for t in s.tracked if not t.ended]
    bad = [t for t in s.tracked if t.ended and t.ended not in ("exit 0", "detached")]
    error = f"pid {bad[-1].pid} {_program(bad[-1].command)}: {bad[-1].ended}" if bad else ""
    if not s.tracked:
        health = "unknown"
    elif bad:
        health = "broken"
    else:
        health = "ok" if alive else "idle"
    threads = sum(max(1, len(t.threads)) for t in alive)
    commands = list(dict.fromkeys(_program(t.command) for t in alive if t.command))
    detail = (
        f"{_plural(len(alive), 'process').replace('processs', 'processes')}, {_plural(threads, 'thread')}"
    )
    return Layer("app", "app", ", ".join(commands), health, (), error, detail, _source(s, "measured"))


def _libraries(s: Snapshot, what: str) -> list[Mapping]:
    seen: dict[str, Mapping] = {}
    for mappings in s.mappings.values():
        for mapping in mappings:
            if mapping.what == what:
                seen.setdefault(mapping.path, mapping)
    return list(seen.values())


def _why_no_library(s: Snapshot) -> str:
    if s.mappings_missing and not s.mappings:
        return f"not available: {next(iter(s.mappings_missing.values()))}"
    return "measured" if s.mappings else "not available: no process looked at yet"


def _library(s: Snapshot, key: str, title: str) -> Layer:
    found = _libraries(s, key)
    versions = ", ".join(dict.fromkeys(m.version or "?" for m in found))
    health, error = ("ok", "") if found else ("unknown", "")
    kernel = _kernel_version(s)
    if key == "umd" and kernel and any(m.version and m.version != kernel for m in found):
        health, error = "broken", f"UMD {versions} against driver {kernel}: versions must be equal"
    detail = ", ".join(m.path.rpartition("/")[2] for m in found)
    if not found and s.mappings:
        detail = "not loaded: the program talks to the device itself, or has not started"
    rates, uncounted = _function_rates(s, key)
    if found and uncounted:
        detail = f"calls not available: {uncounted}; {detail}"
    source = MEASURED if rates and found else _why_no_library(s)
    return Layer(key, title, versions, health, rates, error, detail, source)


def _function_rates(s: Snapshot, library: str) -> tuple[tuple[tuple[str, float], ...], str]:
    """Calls a second by kind, or why there are none."""
    why = why_none(s.tallies)
    if why:
        return (), why
    found = ((kind, s.rates.functions.get((library, kind), ())) for kind in KINDS)
    return tuple((f"{kind}/s", _newest(series)) for kind, series in found), ""


def _last_failure(s: Snapshot) -> Syscall | None:
    for number in range(s.calls_end - 1, max(s.calls.first, s.calls_end - 2000) - 1, -1):
        call = s.calls.get(number)
        if call is not None and call.failure is not None:
            return call
    return None


def _witness(s: Snapshot) -> str:
    """Who saw the newest call."""
    call = s.calls.get(s.calls_end - 1) if s.calls_end else None
    return f" by {WITNESSES[call.source]}" if call and call.source in WITNESSES else ""


def _boundary(s: Snapshot) -> Layer:
    rate = _newest(s.rates.ioctls)
    failure = _last_failure(s)
    error = f"{failure.name} {failure.failure} (pid {failure.pid})" if failure else ""
    if not s.calls_end:
        health = "unknown"
    elif _newest(s.rates.errors):
        health = "warning"
    else:
        health = "ok" if rate else "idle"
    detail = f"{_plural(s.calls_end, 'call')} seen{_witness(s)}, {len(s.in_flight)} in flight"
    rates = (("ioctl/s", rate), ("failed/s", _newest(s.rates.errors)))
    return Layer("boundary", "boundary", "", health, rates, error, detail, _source(s, "measured"))


def _kernel_version(s: Snapshot) -> str:
    return s.devices[0].version if s.devices else ""


def _last_log(s: Snapshot, xid: bool) -> Log | None:
    for line in reversed(s.log):
        if (line.xid is not None) == xid and line.level <= ERROR_LEVEL:
            return line
    return None


def _kmd(s: Snapshot) -> Layer:
    line = _last_log(s, xid=False)
    faults = [fault for device in s.devices for fault in device.faults]
    detail = (
        f"{_plural(sum(d.contexts for d in s.devices), 'context')} on {_plural(len(s.devices), 'device')}"
    )
    poisoned = sum(1 for device in s.devices for context in device.opened if context.xid)
    if poisoned:
        detail += f", {poisoned} poisoned"
    if faults:
        detail += f", {_plural(len(faults), 'fault')} armed"
    if not s.devices:
        missing = s.devices_missing or "no driver looked at yet"
        return Layer("kmd", "KMD", "", "unknown", (), "", "", f"not available: {missing}")
    health = "warning" if line else "ok"
    return Layer("kmd", "KMD", _kernel_version(s), health, (), line.text if line else "", detail, _driver(s))


def _device(s: Snapshot) -> Layer:
    doorbells, jobs = _newest(s.rates.doorbells), _newest(s.rates.jobs)
    poisoned = [c for c in s.channels if c.error]
    line = _last_log(s, xid=True)
    if poisoned:
        health = "broken"
    elif line:
        health = "warning"
    elif not s.devices and not s.channels:
        health = "unknown"
    else:
        health = "ok" if doorbells or jobs else "idle"
    error = line.text if line else (f"Xid {poisoned[0].error}" if poisoned else "")
    lag = sum((c.wptr - c.rptr) % 2**32 for c in s.channels if c.ring_size)
    detail = f"{_plural(len(s.channels), 'channel')}, {lag} B queued in rings"
    name = s.devices[0].name if s.devices else ""
    rates = (("doorbell/s", doorbells), ("job/s", jobs))
    return Layer("device", "device", name, health, rates, error, detail, _driver(s))


def _driver(s: Snapshot) -> str:
    return "emulated" if any(d.driver == "embedded" for d in s.devices) else _source(s, "measured")


def _source(s: Snapshot, word: str) -> str:
    if s.failed and not s.revision:
        return f"not available: {s.failed[-1].cause}"
    return word


def layers(snapshot: Snapshot) -> tuple[Layer, ...]:
    """The rows from the program down to the device."""
    return (
        _app(snapshot),
        _library(snapshot, "runtime", "runtime"),
        _library(snapshot, "umd", "UMD"),
        _boundary(snapshot),
        _kmd(snapshot),
        _device(snapshot),
    )


def is_quiet_steady_state(snapshot: Snapshot) -> bool:
    """True when work goes on without calls: the state that strace shows as silence."""
    return _newest(snapshot.rates.doorbells) > 0 and _newest(snapshot.rates.ioctls) == 0
