"""Rules over evidence: which hold, which of them are only consequences, what comes first. Pure.

Owns the order. A finding that another explains stands under it, and the
order of the rest is that of the stack, then that of the evidence.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from glassstack.diagnose.evidence import Evidence, Fact
from glassstack.diagnose.rules import LAYERS, RULES, Candidate, Rule


@dataclass
class Finding:
    """A rule that holds, with its sentences filled in, the lines that prove it, and what follows from it."""

    rule: Rule
    cause: str
    next: str
    confirm: str
    proof: tuple[Fact, ...]
    open: tuple[Candidate, ...] = ()
    consequences: list["Finding"] = field(default_factory=list)

    @property
    def id(self) -> str:
        """The rule's."""
        return self.rule.id


@dataclass(frozen=True)
class Verdict:
    """All findings, causes first; empty when nothing fits."""

    findings: tuple[Finding, ...]

    @property
    def first(self) -> Finding | None:
        """The earliest cause."""
        return self.findings[0] if self.findings else None


class _Fields(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return "?"


def judge(evidence: Evidence, rules: Sequence[Rule] = RULES) -> Verdict:
    """What the evidence proves."""
    found: dict[str, Finding] = {}
    for rule in rules:
        match = rule.when(evidence)
        if match is not None and rule.id not in found:
            values = _Fields(match.values)
            cause, then, check = (text.format_map(values) for text in (rule.cause, rule.next, rule.confirm))
            left = tuple(one for one in rule.either if one.unless is None or one.unless(evidence) is None)
            found[rule.id] = Finding(rule, cause, then, check, match.proof, left)
    return Verdict(tuple(_ordered(_nested(_ordered(found.values(), evidence)), evidence)))


def _nested(findings: list[Finding]) -> list[Finding]:
    """Each consequence under the cause that explains it; what nothing explains is left."""
    parents = {
        one.id: [two for two in findings if two is not one and _explains(two, one)] for one in findings
    }
    roots = []
    for one in findings:
        above = [
            two
            for two in parents[one.id]
            if not _explains(one, two) or findings.index(two) < findings.index(one)
        ]
        root = _root(one, above, parents)
        if root is None:
            roots.append(one)
        else:
            root.consequences.append(one)
    return roots


def _root(one: Finding, above: list[Finding], parents: dict[str, list[Finding]]) -> Finding | None:
    """The topmost explanation: followed upwards until nothing explains it."""
    seen = {one.id}
    best = None
    while above:
        best = above[0]
        seen.add(best.id)
        above = [two for two in parents[best.id] if two.id not in seen and not _explains(best, two)]
    return best


def _explains(cause: Finding, effect: Finding) -> bool:
    return any(
        effect.id.startswith(name[:-1]) if name.endswith("*") else effect.id == name
        for name in cause.rule.over
    )


def _ordered(findings: Iterable[Finding], evidence: Evidence) -> list[Finding]:
    def place(one: Finding) -> tuple[bool, int, int]:
        first = min((evidence.position(fact) for fact in one.proof), default=0)
        return one.rule.note, LAYERS.index(one.rule.layer), first

    ordered = sorted(findings, key=place)
    for one in ordered:
        one.consequences = _ordered(one.consequences, evidence)
    return ordered
