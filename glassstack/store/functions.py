"""Functions of the GPU libraries as kinds of work, and what is said where they are not counted. Pure."""

from glassstack.model.entities import Tally
from glassstack.model.events import Tallies

KINDS = ("launch", "sync", "copy")
"""What a rate is shown of."""
MEASURED = "measured (uprobe)"
NOT_ASKED = "no eBPF (--source ebpf, as root)"
_PREFIXES = ("fcuda", "cuda", "fcu", "cu")


def kind_of(name: str) -> str:
    """What a function does: one of KINDS, or "other"."""
    stem = next((name.removeprefix(prefix) for prefix in _PREFIXES if name.startswith(prefix)), name)
    if stem.startswith("Launch"):
        return "launch"
    if stem.startswith(("Memcpy", "Memset")):
        return "copy"
    return "sync" if stem.endswith("Synchronize") else "other"


def series_key(tally: Tally) -> tuple[str, str]:
    """(library, kind) that a tally adds to."""
    return tally.library, kind_of(tally.name)


def why_none(tallies: tuple[Tallies, ...]) -> str:
    """Why functions are not counted, "" where they are, of one process at least."""
    if not tallies:
        return NOT_ASKED
    reasons = [event.functions for event in tallies]
    return "" if "" in reasons else reasons[-1]
