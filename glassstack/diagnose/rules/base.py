"""What a rule is, and the small predicates that rules are made of. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from glassstack.diagnose.evidence import Evidence, Fact, Want

PROOF_MAX = 8
LAYERS = (
    "hardware",
    "module",
    "versions",
    "nodes",
    "permissions",
    "cgroup",
    "libraries",
    "runtime",
    "env",
    "limits",
    "fabric",
    "xid",
    "app",
)
"""From what must work first to what needs all the others."""


class Match(NamedTuple):
    """A rule's evidence: the values for its sentences, and the lines that prove it."""

    values: dict[str, str]
    proof: tuple[Fact, ...]


Predicate = Callable[[Evidence], Match | None]


class Candidate(NamedTuple):
    """One of several causes that the evidence leaves open; ``unless`` rules it out."""

    id: str
    cause: str
    unless: Predicate | None = None


@dataclass(frozen=True)
class Rule:
    """One cause.

    Attributes:
        layer: where it sits, one of LAYERS.
        when: what must be seen.
        unlike: what tells it from its look-alikes.
        cause, next: sentences, with {fields} of the match.
        confirm: how to see that the cause was right, or that it is gone.
        over: ids of findings that are its consequences; a * at the end stands for anything.
        either, decide: of a symptom with several causes, and the one command that decides.
        note: nothing is broken, but one wants to know.
    """

    id: str
    layer: str
    when: Predicate
    cause: str
    next: str
    confirm: str
    source: str
    unlike: str = ""
    over: tuple[str, ...] = ()
    either: tuple[Candidate, ...] = ()
    decide: str = ""
    note: bool = False


def seen(kind: str, /, **wanted: Want) -> Predicate:
    """Some line of that kind, with fields as wanted."""

    def look(evidence: Evidence) -> Match | None:
        facts = evidence.all(kind, **wanted)
        return matched(facts) if facts else None

    return look


def matched(facts: Sequence[Fact], **values: str) -> Match:
    """A match of these facts; the fields of the first are its values, with more of the caller's."""
    first = dict(facts[0].values) if facts else {}
    return Match({**first, **values}, tuple(facts[:PROOF_MAX]))


def every(*predicates: Predicate) -> Predicate:
    """All of them; values and proof are put together, earlier ones win."""

    def look(evidence: Evidence) -> Match | None:
        values: dict[str, str] = {}
        proof: list[Fact] = []
        for predicate in predicates:
            match = predicate(evidence)
            if match is None:
                return None
            values = {**match.values, **values}
            proof += [fact for fact in match.proof if fact not in proof]
        return Match(values, tuple(proof))

    return look


def some(*predicates: Predicate) -> Predicate:
    """The first of them that holds."""

    def look(evidence: Evidence) -> Match | None:
        return next((match for one in predicates if (match := one(evidence)) is not None), None)

    return look


def no(predicate: Predicate) -> Predicate:
    """That the predicate does not hold."""
    return lambda evidence: Match({}, ()) if predicate(evidence) is None else None


def one_of(*values: str | int) -> Callable[[str], bool]:
    """A field that is one of these."""
    return frozenset(map(str, values)).__contains__


def has(*words: str) -> Callable[[str], bool]:
    """A field that contains one of these, in any case."""
    lows = [word.lower() for word in words]
    return lambda value: any(word in value.lower() for word in lows)
