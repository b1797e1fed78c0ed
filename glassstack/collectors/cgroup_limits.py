"""From readings of a chain of cgroups to the limits that count. Pure: reads nothing."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from glassstack.collectors.cgroup_files import Reading, Value
from glassstack.model.entities import Cgroup, Limit
from glassstack.model.values import Missing

UNSEEN = "(an ancestor not visible here)"
"""Stands for the path of a cgroup that sets a limit and is out of sight."""


@dataclass(frozen=True)
class Node:
    """A cgroup as it was read."""

    path: str
    directory: Path
    reading: Reading


def with_effective(chain: Sequence[Node], children: Sequence[Node], version: int) -> list[Cgroup]:
    """The cgroups of ``chain`` (root first, own last) and the children of its last, limits resolved."""
    found = []
    for depth, node in enumerate(chain):
        relation = "own" if depth == len(chain) - 1 else "ancestor"
        found.append(_cgroup(node, chain[: depth + 1], version, relation))
    found += [_cgroup(child, [*chain, child], version, "child") for child in children]
    return found


def _cgroup(node: Node, line: Sequence[Node], version: int, relation: str) -> Cgroup:
    reading = node.reading
    limits = tuple(_limit(name, line) for name in reading.limits)
    usage, events = dict(reading.usage), dict(reading.events)
    return Cgroup(
        node.path,
        version,
        reading.controllers,
        limits,
        usage,
        events,
        reading.pids,
        relation,
        dict(reading.local),
        dict(reading.pressure),
    )


def _limit(name: str, line: Sequence[Node]) -> Limit:
    """The limit of the last node of ``line``, which runs from the root down to it."""
    node = line[-1]
    own = node.reading.limits[name]
    values = [(above.reading.limits.get(name), above.path) for above in line]
    if name in node.reading.effective:
        told = node.reading.effective[name]
        setter = next((path for value, path in values if value == told), UNSEEN)
        return Limit(name, own, told, setter if told is not None else "")
    effective, setter = smallest(values)
    return Limit(name, own, effective, setter)


def smallest(values: Iterable[tuple[Value, str]]) -> tuple[Value, str]:
    """The limit that counts and who sets it, of (value, path) from the root down.

    Of equal ones the outermost sets it: raising those below changes nothing.
    One unreadable limit makes the result unknown, as it may be the smallest.
    """
    best: tuple[int | float, str] | None = None
    for value, path in values:
        if isinstance(value, Missing):
            return Missing(f"limit of {path}: {value.why}"), ""
        if value is not None and (best is None or value < best[0]):
            best = (value, path)
    return best or (None, "")
