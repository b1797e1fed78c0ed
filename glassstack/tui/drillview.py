"""What the screen needs of a drill: how it stands, and the few things that can be done. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Standing:
    """How a drill stands now. ``seconds``: since it broke, or what it took once solved."""

    phase: str  # "broken", "solved", or "gone"
    seconds: float = 0.0
    hints: tuple[str, ...] = ()  # those that were taken
    hints_in_all: int = 3
    next_cost: int = 0  # points that the next hint costs
    checks: int = 0
    score: int = 100
    debrief: str = ""  # there once it is solved
    evidence: tuple[str, ...] = ()  # likewise


@dataclass(frozen=True)
class Checked:
    """What a check found: what still fails in words of the symptom, or why there was no check."""

    failing: tuple[str, ...] = ()
    error: str = ""


class DrillSeat(Protocol):
    """A drill, for whoever sits before the screen. ``hint`` and ``check`` take their time."""

    name: str
    title: str
    brief: str

    def standing(self) -> Standing: ...

    def hint(self) -> str:
        """Takes the next hint; "" or why there is none."""
        ...

    def check(self) -> Checked:
        """Asks whether it is mended; never says why not."""
        ...

    def shell(self) -> tuple[Sequence[str], Mapping[str, str]]:
        """Command and environment of a shell in the drill's world."""
        ...
