"""A verdict as text, as Markdown for a ticket, as JSON. Pure: gives lines, prints nothing.

Whatever comes from the evidence is made plain: it can hold anything.
"""

from collections.abc import Sequence
from typing import Any

from glassstack.diagnose.evidence import Fact
from glassstack.diagnose.gather import Look
from glassstack.diagnose.ladder import Rung, climb
from glassstack.diagnose.verdict import Finding, Verdict
from glassstack.format.text import plain

PROOF_WIDTH = 200
_MARKS = {"broken": "BROKEN", "note": "note", "seen": "seen", "unseen": "-"}


def headline(look: Look, verdict: Verdict) -> str:
    """The verdict in one line."""
    if not look.readable:
        return "nothing could be read"
    if not verdict.findings:
        if not any(look.evidence.counts.values()):
            return "nothing recognised: no line of this looks like evidence about a GPU"
        return "nothing wrong found in what was recognised"
    broken = [one for one in verdict.findings if not one.rule.note]
    first = verdict.findings[0]
    if not broken:
        return f"nothing broken; worth knowing: {first.id}"
    if first.open:
        return f"{first.id}: the evidence does not decide the cause"
    others = f", and {len(broken) - 1} more" if len(broken) > 1 else ""
    return f"cause: {first.id}{others}"


def text(look: Look, verdict: Verdict) -> list[str]:
    """Verdict, proof, ladder."""
    lines = [headline(look, verdict)]
    for one in verdict.findings:
        lines += ["", *finding(one)]
    if verdict.findings:
        lines += ["", "ladder", *ladder(climb(look.evidence, verdict))]
    return [*lines, *_notes(look)]


def finding(one: Finding) -> list[str]:
    """A finding with its proof and what follows from it."""
    lines = [f"{one.id} ({one.rule.layer}{', a note' if one.rule.note else ''})", f"  {plain(one.cause)}"]
    lines += _open(one)
    for name, words in (("next", one.next), ("confirm", one.confirm), ("unlike", one.rule.unlike)):
        if words:
            lines.append(f"  {name + ':':<9}{plain(words)}")
    lines += ["  proof:", *(f"    {_proof(fact)}" for fact in one.proof)]
    if one.consequences:
        lines.append("  follows from it, or goes with it:")
    for effect in one.consequences:
        lines.append(f"    {effect.id}: {plain(effect.cause)}")
        lines += [f"      {_proof(fact)}" for fact in effect.proof[:2]]
    return lines


def _open(one: Finding) -> list[str]:
    lines = []
    if one.open:
        lines.append("  causes that fit:")
        lines += [f"    {candidate.id}: {candidate.cause}" for candidate in one.open]
    if one.rule.decide:
        lines.append(f"  decide:  {one.rule.decide}")
    return lines


def _proof(fact: Fact) -> str:
    words = plain(fact.text)
    return f"{plain(str(fact.where))}  {words if len(words) <= PROOF_WIDTH else words[:PROOF_WIDTH] + '…'}"


def ladder(rungs: Sequence[Rung]) -> list[str]:
    """One line a rung."""
    return [
        f"  {_MARKS[rung.state]:<7} {rung.title:<24} {', '.join(rung.ids) or _seen(rung)}".rstrip()
        for rung in rungs
    ]


def _seen(rung: Rung) -> str:
    kinds = dict.fromkeys(fact.kind.replace("_", " ") for fact in rung.evidence)
    return f"{', '.join(kinds)}" if kinds else "no evidence"


def _notes(look: Look) -> list[str]:
    notes = [f"note: {plain(note)}" for note in look.notes]
    counted = sum(look.evidence.counts.values())
    read = f"read: {len(look.texts)} text{'s' if len(look.texts) != 1 else ''}, {counted} lines of evidence"
    return ["", read, *notes]


def markdown(look: Look, verdict: Verdict) -> list[str]:
    """To paste into a ticket."""
    lines = [f"## {headline(look, verdict)}"]
    for one in verdict.findings:
        lines += ["", f"### {one.id}", "", _escaped(one.cause), ""]
        lines += [f"- it may be **{candidate.id}**: {_escaped(candidate.cause)}" for candidate in one.open]
        for name, words in (("Decide with", one.rule.decide), ("Next", one.next), ("Confirm", one.confirm)):
            if words:
                lines.append(f"- {name}: {_escaped(words)}")
        lines.append(f"- Source: {_escaped(one.rule.source)}")
        proof = [_proof(fact).replace("```", "'''") for fact in one.proof]
        lines += ["", "```", *proof, "```"]
        lines += [f"- follows: **{effect.id}**: {_escaped(effect.cause)}" for effect in one.consequences]
    return [*lines, "", *(f"> {_escaped(note)}" for note in look.notes)]


def _escaped(words: str) -> str:
    safe = plain(words)
    for mark in "\\`*_[]<>|#":
        safe = safe.replace(mark, f"\\{mark}")
    return safe


def as_json(look: Look, verdict: Verdict) -> dict[str, Any]:
    """One object: headline, findings with proofs and consequences, ladder, what was read."""
    rungs = climb(look.evidence, verdict)
    return {
        "verdict": headline(look, verdict),
        "findings": [_finding_json(one) for one in verdict.findings],
        "ladder": [{"layer": rung.layer, "state": rung.state, "findings": list(rung.ids)} for rung in rungs],
        "read": [plain(text) for text in look.texts],
        "recognised": dict(sorted(look.evidence.counts.items())),
        "notes": [plain(note) for note in look.notes],
    }


def _finding_json(one: Finding) -> dict[str, Any]:
    return {
        "id": one.id,
        "layer": one.rule.layer,
        "note": one.rule.note,
        "cause": plain(one.cause),
        "next": plain(one.next),
        "confirm": plain(one.confirm),
        "unlike": one.rule.unlike,
        "source": one.rule.source,
        "candidates": [{"id": candidate.id, "cause": candidate.cause} for candidate in one.open],
        "decide": one.rule.decide,
        "proof": [
            {
                "file": plain(fact.where.file),
                "line": fact.where.line,
                "kind": fact.kind,
                "text": plain(fact.text),
            }
            for fact in one.proof
        ],
        "consequences": [_finding_json(effect) for effect in one.consequences],
    }
