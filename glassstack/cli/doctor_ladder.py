"""The ladder part of ``glassstack doctor``: rungs with their evidence, explained at the first broken one.

Owns its text and JSON. Reading and judging are the diagnosis's.
"""

import subprocess
from typing import Any

from glassstack.diagnose import report
from glassstack.diagnose.doctor import Visit
from glassstack.diagnose.ladder import Rung, first_broken
from glassstack.format.text import plain

_WIDTH = 150


def ldconfig() -> str:
    """What the loader's cache has. Raises OSError."""
    for program in ("/sbin/ldconfig", "/usr/sbin/ldconfig", "ldconfig"):
        try:
            done = subprocess.run(
                (program, "-p"), capture_output=True, text=True, errors="replace", timeout=20
            )
        except FileNotFoundError:
            continue
        except subprocess.TimeoutExpired as error:
            raise OSError(0, "it does not answer") from error
        return done.stdout
    raise FileNotFoundError(2, "there is no ldconfig")


def lines(visit: Visit, whose: str) -> list[str]:
    """Rung by rung, up to the first broken one; then what is the matter."""
    broken = first_broken(visit.rungs)
    out = [f"the ladder of {whose}, from the hardware up"]
    for rung in visit.rungs:
        out += _rung(rung, visit.missing.get(rung.layer, []))
        if rung is broken:
            break
    if broken is None:
        out += ["", _whole(visit)]
        return out + _findings(visit, visit.verdict.findings)
    out += ["", f"it breaks at: {broken.title}"]
    return out + _findings(visit, visit.verdict.findings)


def _whole(visit: Visit) -> str:
    if not visit.driver:
        return "no GPU and no GPU driver here: there is nothing to climb (the embedded GPU needs neither)"
    return "no rung is broken in what could be seen"


def _findings(visit: Visit, findings: tuple[Any, ...]) -> list[str]:
    out: list[str] = []
    for finding in findings:
        out += ["", *(f"  {line}" for line in report.finding(finding))]
    return out


def _rung(rung: Rung, missing: list[str]) -> list[str]:
    mark = {"broken": "BROKEN", "note": "note", "seen": "ok", "unseen": "-"}[rung.state]
    head = f"  {mark:<7} {rung.title:<24}"
    shown = [plain(fact.text)[:_WIDTH] for fact in rung.evidence]
    if rung.more:
        shown.append(f"and {rung.more} more like these")
    shown += [f"missing: {plain(why)}" for why in missing[:3]]
    if not shown:
        shown = ["nothing to see"]
    return [f"{head} {shown[0]}".rstrip(), *(f"{' ' * len(head)} {line}" for line in shown[1:])]


def as_json(visit: Visit) -> dict[str, Any]:
    """The verdict, and each rung with its evidence and what could not be read."""
    told = report.as_json(visit.look, visit.verdict)
    told["ladder"] = [
        {
            "layer": rung.layer,
            "state": rung.state,
            "findings": list(rung.ids),
            "evidence": [plain(fact.text) for fact in rung.evidence],
            "missing": [plain(why) for why in visit.missing.get(rung.layer, [])],
        }
        for rung in visit.rungs
    ]
    return told
