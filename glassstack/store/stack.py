"""The stack as the home screen shows it: one row per layer, out of a snapshot. Pure."""

from dataclasses import dataclass

LAYERS = ("app", "runtime", "umd", "boundary", "kmd", "device")


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
