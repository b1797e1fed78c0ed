"""Values that are honest about themselves: whole, or missing with the reason."""

from enum import StrEnum

import msgspec


class Missing(msgspec.Struct, frozen=True, tag_field="value", tag="missing"):
    """Stands where a value could not be read. Never shown as 0 or as nothing."""

    why: str

    def __str__(self) -> str:
        return f"missing: {self.why}"


class Source(StrEnum):
    """Who saw an event."""

    PTRACE = "ptrace"
    EBPF = "ebpf"
    DEVICE = "device"  # the embedded device itself, of the calls it answered
    POLL = "poll"  # a reader that samples /proc, cgroups or memory
    FILE = "file"  # something parsed from a file
    SELF = "self"  # glassstack about itself: drops, errors


Scalar = int | float | str | bool | None
"""What a decoded field may hold."""
