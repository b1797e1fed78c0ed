"""The law of every drill, ours or a user's, as a sequence of proofs.

Healthy, then the symptom; the check refuses; each wrong fix is refused; the
solution works and the check accepts; and nothing is left.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from glassstack.collectors.control import discover
from glassstack.drills import containers
from glassstack.drills.engine import Drill, DrillError
from glassstack.drills.journal import marked
from glassstack.drills.scenario import Scenario

PROOFS = ("healthy, symptom", "check refuses", "wrong fix refused", "solved", "check accepts", "nothing left")


@dataclass
class Result:
    """What came of one cause: the proofs that held, and why the next one did not ("" = all held)."""

    scenario: str
    cause: str
    place: str
    held: list[str]
    why: str = ""


def prove(
    scenario: Scenario, place: str, root: Path, say: Callable[[str], None] = lambda _: None
) -> list[Result]:
    """One result for each cause; never raises what a drill does wrong."""
    return [prove_one(scenario, number, place, root, say) for number in range(len(scenario.cause))]


def prove_one(
    scenario: Scenario, number: int, place: str, root: Path, say: Callable[[str], None] = lambda _: None
) -> Result:
    """What came of one cause, by its number; never raises what a drill does wrong."""
    cause = scenario.cause[number]
    only = msgspec.structs.replace(scenario, cause=(cause,))
    result = Result(scenario.id, cause.id, place, [])
    drill = Drill(only, root / f"{scenario.id}-{cause.id}-{os.getpid()}", say)
    try:
        drill.start(number, place)
        result.held.append(PROOFS[0])
        _walk(drill, result.held)
    except DrillError as error:
        result.why = error.cause
    except Exception as error:  # a drill of somebody's: whatever it does is its result
        result.why = f"{type(error).__name__}: {error}"
    finally:
        failed = drill.stop() if drill.folder.exists() else []
    left = [*failed, *leftovers(drill)]
    if left and not result.why:
        result.why = f"left behind: {'; '.join(left)}"
    elif not result.why:
        result.held.append(PROOFS[5])
    return result


def _walk(drill: Drill, held: list[str]) -> None:
    if not drill.check(most=1):
        raise DrillError("check accepts a world that nobody has mended")
    held.append(PROOFS[1])
    for wrong in drill.scenario.wrong:
        drill.desk.run(wrong.run, 60)
        if not drill.check(most=1):
            raise DrillError(f"check accepts a wrong fix: {wrong.text}")
    held.append(PROOFS[2])
    drill.solve()
    held.append(PROOFS[3])
    if failing := drill.check():
        raise DrillError(f"check refuses the solution: {failing[0]}")
    held.append(PROOFS[4])


def leftovers(drill: Drill) -> list[str]:
    """What is still there of a drill that was stopped: processes, its device, its folder, mounts, memory."""
    found = [f"process {pid}" for pid in marked(f"DRILL={drill.folder}")]
    there = discover()
    for world in drill.worlds.values():
        found += [f"process {pid}" for pid in marked(f"DRILL={world.folder}") if world.folder != drill.folder]
        found += [f"device {world.device}"] if world.control.name in there else []
    if str(drill.folder) in Path("/proc/self/mountinfo").read_text():
        found.append("a mount of its folder")
    found += [f"/dev/shm/{name}" for name in os.listdir("/dev/shm") if drill.folder.name in name]
    group = containers.cgroup(drill.world)
    found += [f"cgroup {group}"] if group.exists() else []
    if drill.folder.exists():
        found.append(str(drill.folder))
    return found
