"""`-c`: calls counted by name, with the distribution of their durations in constant memory."""

from dataclasses import dataclass, field

from glassstack.cli.columns import table
from glassstack.format import units
from glassstack.model.events import Syscall

_SUB_BITS = 5
"""A duration is known to 1 part in 32: enough for a table, and a bounded number of buckets."""


def _bucket(ns: int) -> int:
    shift = max(0, ns.bit_length() - _SUB_BITS - 1)
    return (shift << _SUB_BITS) + (ns >> shift)


def _middle(bucket: int) -> int:
    shift = max(0, (bucket >> _SUB_BITS) - 1)
    low = (bucket - (shift << _SUB_BITS)) << shift
    return low + (1 << shift) // 2


@dataclass
class Counted:
    """One row: how often, how often in vain, and how long."""

    calls: int = 0
    errors: int = 0
    timed: int = 0
    total_ns: int = 0
    max_ns: int = 0
    _buckets: dict[int, int] = field(default_factory=dict)

    def add(self, call: Syscall) -> None:
        """Counts a call."""
        self.calls += 1
        self.errors += call.errno is not None
        if call.dur_ns is None:
            return
        self.timed += 1
        self.total_ns += call.dur_ns
        self.max_ns = max(self.max_ns, call.dur_ns)
        bucket = _bucket(call.dur_ns)
        self._buckets[bucket] = self._buckets.get(bucket, 0) + 1

    def percentile(self, share: float) -> int:
        """The duration in ns that ``share`` (0 to 1) of the calls do not exceed, to about 3 %."""
        wanted = share * self.timed
        seen = 0
        for bucket in sorted(self._buckets):
            seen += self._buckets[bucket]
            if seen >= wanted:
                return min(_middle(bucket), self.max_ns)
        return self.max_ns

    def spread(self) -> tuple[str, str, str]:
        """p50, p99 and the longest as text; "-" where no duration is known."""
        if not self.timed:
            return "-", "-", "-"
        p50, p99 = (units.duration(self.percentile(share)) for share in (0.5, 0.99))
        return p50, p99, units.duration(self.max_ns)


class Counts:
    """All rows by name."""

    def __init__(self) -> None:
        self.rows: dict[str, Counted] = {}
        """By name of the call."""

    def add(self, call: Syscall) -> None:
        """Counts a call under its decoded name."""
        self.rows.setdefault(call.name, Counted()).add(call)

    def lines(self) -> list[str]:
        """The table, slowest in sum first, with a line of totals."""
        rows = sorted(self.rows.items(), key=lambda item: -item[1].total_ns)
        whole = sum(row.total_ns for _, row in rows) or 1
        cells = [
            (
                f"{100 * row.total_ns / whole:.1f}",
                units.duration(row.total_ns),
                str(row.calls),
                str(row.errors or ""),
                *row.spread(),
                name,
            )
            for name, row in rows
        ]
        total = (
            "100.0",
            units.duration(sum(row.total_ns for _, row in rows)),
            str(sum(row.calls for _, row in rows)),
            str(sum(row.errors for _, row in rows) or ""),
            "",
            "",
            "",
            "total",
        )
        header = ("% time", "total", "calls", "errors", "p50", "p99", "max", "call")
        return table(header, [*cells, total], right=range(7))
