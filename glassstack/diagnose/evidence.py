"""Facts with the place they were read at, and the questions that rules ask of them.

A fact is one recognised line: nothing is concluded here.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

FACTS_MAX = 2000
"""Facts kept of one kind; further ones are only counted, so that a flood stays in bounded memory."""

Want = str | int | Callable[[str], bool]


class Where(NamedTuple):
    """A line of a file. ``stamp``: the kernel's seconds since boot, where the line has them."""

    file: str
    line: int
    stamp: float | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


class Fact(NamedTuple):
    """One recognised line: its kind, the fields in it (all text), where, and the cleaned line."""

    kind: str
    values: Mapping[str, str]
    where: Where
    text: str

    def get(self, name: str) -> str:
        """A field, "" where the line has none."""
        return self.values.get(name, "")

    def fits(self, wanted: Mapping[str, Want]) -> bool:
        """Whether each named field equals what is wanted, or satisfies it."""
        return all(
            want(self.get(name)) if callable(want) else self.get(name) == str(want)
            for name, want in wanted.items()
        )


class Evidence:
    """All facts of one look, in the order they were read."""

    def __init__(self, facts: Iterable[Fact] = ()) -> None:
        self._facts: dict[str, list[Fact]] = {}
        self._order: dict[int, int] = {}
        self.counts: Counter[str] = Counter()
        for fact in facts:
            self.add(fact)

    def add(self, fact: Fact) -> None:
        """Keeps a fact; of a kind that has too many already it is counted only."""
        self.counts[fact.kind] += 1
        kept = self._facts.setdefault(fact.kind, [])
        if len(kept) < FACTS_MAX:
            self._order[id(fact)] = len(self._order)
            kept.append(fact)

    def __iter__(self) -> Iterator[Fact]:
        return iter(sorted((fact for kept in self._facts.values() for fact in kept), key=self.position))

    def position(self, fact: Fact) -> int:
        """When a fact was read, counted from the first."""
        return self._order.get(id(fact), len(self._order))

    def all(self, kind: str, /, **wanted: Want) -> list[Fact]:
        """Facts of a kind whose fields are as wanted."""
        return [fact for fact in self._facts.get(kind, ()) if fact.fits(wanted)]

    def first(self, kind: str, /, **wanted: Want) -> Fact | None:
        """The first such fact."""
        return next((fact for fact in self._facts.get(kind, ()) if fact.fits(wanted)), None)

    def last(self, kind: str, /, **wanted: Want) -> Fact | None:
        """The last such fact: of a state read several times, the present one."""
        return next((fact for fact in reversed(self._facts.get(kind, [])) if fact.fits(wanted)), None)
