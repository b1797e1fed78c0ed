"""The after-action report of a run, as Markdown.

Owns what it says and in which order. It tells what was recorded: what was not
recorded is said to be missing.
"""

import re
import time

from glassstack.collectors.control import ControlError
from glassstack.drills.engine import Drill
from glassstack.drills.faults import FAULTS
from glassstack.drills.notes import Note
from glassstack.format import units
from glassstack.format.text import plain


def timeline(drill: Drill) -> list[Note]:
    """All that is known of the run, with the kernel log's lines since the fault, by time."""
    found = drill.notes.read()
    offset = time.time() - time.monotonic()
    for name, world in drill.worlds.items():
        try:
            lines = world.control.log()
        except ControlError as error:
            found.append(Note(time.time(), "log", f"the kernel log is missing: {error}"))
            continue
        place = f"{name}: " if name else ""
        found += [Note(offset + ns / 1e9, "log", place + text) for ns, text in lines]
    since = drill.run.started
    return sorted((note for note in found if note.at >= since), key=lambda note: note.at)


def since(drill: Drill, at: float) -> str:
    """A time of the run, counted from its fault."""
    seconds = at - drill.run.broken
    return f"{'-' if seconds < 0 else '+'}{units.duration(int(abs(seconds) * 1e9))}"


def markdown(drill: Drill, notes: list[Note]) -> str:
    """The whole report."""
    parts = [_head(drill), _layers(drill), _visible(drill, notes), _tried(drill, notes), _fixed(drill, notes)]
    return "\n\n".join([*parts, _follow_ups(drill)]) + "\n"


def _head(drill: Drill) -> str:
    run = drill.run
    day = time.strftime("%Y-%m-%d %H:%M", time.localtime(run.started))
    end = (
        f"solved after {units.duration(int((run.solved - run.broken) * 1e9))}" if run.solved else "not solved"
    )
    score = f", {drill.score} of 100 points" if run.solved else ""
    return (
        f"# After-action report: {drill.scenario.title}\n\n"
        f"{day}, drill `{run.scenario}` (seed {run.seed}, {run.place}): {end}, "
        f"{run.hints} of 3 hints, {run.checks} checks{score}.\n\n"
        f"## What was reported\n\n{_body(drill.scenario.brief())}"
    )


def _body(text: str) -> str:
    return re.sub(r"\A#.*\n+", "", text).strip()


def _layers(drill: Drill) -> str:
    lines = [
        f"- **{FAULTS[one.fault].layer}**{f' of {one.on}' if one.on else ''}: {FAULTS[one.fault].about}"
        for one in drill.cause.injections
    ]
    return "\n".join(["## What was broken", "", drill.cause.text, "", *(lines or ["- nothing was broken"])])


def _visible(drill: Drill, notes: list[Note]) -> str:
    """The first sign at each place that was recorded."""
    rows = ["| when | where | what |", "|---|---|---|"]
    for note in notes:
        if note.kind == "symptom":
            rows.append(f"| {since(drill, note.at)} | program | {_cell(note.text)} |")
    first = next((note for note in notes if note.kind == "log" and note.at >= _fault_at(notes)), None)
    if first:
        rows.append(f"| {since(drill, first.at)} | kernel log | {_cell(first.text)} |")
    else:
        rows.append("| - | kernel log | nothing |")
    rows += [f"| from then on | glassstack | {_cell(text)} |" for text in drill.scenario.evidence]
    return "\n".join(["## When it was first visible, and where", "", *rows])


def _fault_at(notes: list[Note]) -> float:
    return next((note.at for note in notes if note.kind == "fault"), 0.0)


def _cell(text: str) -> str:
    return plain(text.replace("\n", "; ")).replace("|", "\\|")


def _code(note: Note) -> str:
    return f"`{_cell(note.text)}`" if note.kind == "command" else _cell(note.text)


def _tried(drill: Drill, notes: list[Note]) -> str:
    rows = [
        f"| {since(drill, note.at)} | {note.kind} | {_code(note)} |"
        for note in notes
        if note.kind in ("hint", "check", "command")
    ]
    if not any(note.kind == "command" for note in notes):
        rows.append("| - | command | none recorded: `drill shell` records what is typed there |")
    return "\n".join(["## What was tried", "", "| when | what | |", "|---|---|---|", *rows])


def _fixed(drill: Drill, notes: list[Note]) -> str:
    """What was typed between the last check that refused and the one that accepted."""
    lines = ["## What fixed it", ""]
    refused = max(
        (note.at for note in notes if note.kind == "check" and note.text != "accepted"), default=0.0
    )
    typed = [n.text for n in notes if n.kind == "command" and int(refused) <= n.at <= drill.run.solved]
    if not drill.run.solved:
        lines.append("It is not solved.")
    elif typed:
        lines += [
            "Between the last check that refused and the one that accepted:",
            "",
            "```sh",
            *typed,
            "```",
        ]
    else:
        lines.append("No command was recorded before the check that accepted.")
    return "\n".join([*lines, "", "Its author would have:", "", "```sh", drill.cause.solve.strip(), "```"])


def _follow_ups(drill: Drill) -> str:
    """The debrief's own words on prevention, and its questions."""
    text = drill.scenario.debrief()
    lines = ["## Follow-ups", ""]
    for name in ("Prevent it.", "On NVIDIA."):
        found = re.search(rf"\*\*{re.escape(name)}\*\*\s*(.+?)(?:\n\n|\Z)", text, re.DOTALL)
        if found:
            lines.append(f"- **{name}** {' '.join(found[1].split())}")
    return "\n".join([*lines, "", "## Debrief", "", _body(text)])
