"""The memory limit that counts, by path: the smallest of a cgroup's own and its ancestors'. Pure."""

from collections.abc import Mapping
from pathlib import PurePosixPath

from glassstack.collectors.cgroup_limits import smallest

UNLIMITED = "max"
_NONE_V1 = 1 << 62


def effective(path: str, limits: Mapping[str, str]) -> tuple[int | None, str]:
    """The limit in bytes that binds ``path`` and the cgroup that sets it; (None, "") where none does.

    Args:
        limits: cgroup path → what its memory.max (or limit_in_bytes) says.
    """
    chain = [*reversed(PurePosixPath(path).parents), PurePosixPath(path)]
    values = [(_bytes(limits[str(one)]), str(one)) for one in chain if str(one) in limits]
    value, setter = smallest(values)
    return (int(value), setter) if isinstance(value, int | float) else (None, "")


def _bytes(text: str) -> int | None:
    number = int(text) if text.isdigit() else None
    return None if number is None or number >= _NONE_V1 else number
