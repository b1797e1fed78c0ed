"""``glassstack drill``: list, start, work on, check and stop an incident drill; and prove drills.

Owns the text. What a drill is and does: glassstack/drills/.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from glassstack.cli import drill_report
from glassstack.cli.columns import table
from glassstack.cli.drill_shell import shell_of
from glassstack.cli.errors import FAILED, MISSING, OK, USAGE, CommandError
from glassstack.cli.screen import check_terminal
from glassstack.collectors.control import ControlError
from glassstack.drills import gates
from glassstack.drills.engine import Drill, DrillError, clean, current, home, new_folder, only, place_of
from glassstack.drills.faults import FaultError
from glassstack.drills.law import PROOFS, Result, prove
from glassstack.drills.scenario import FILE, PLACES, Scenario, ScenarioError, find, load
from glassstack.drills.world import WorldError
from glassstack.format import units
from glassstack.format.text import plain
from glassstack.gpu.artifacts import MissingArtifactError

_OURS = (
    Path(__file__).resolve().parents[2] / "scenarios",
    Path(__file__).resolve().parents[1] / "_src/scenarios",
)
_ELSEWHERE = "drills live below XDG_STATE_HOME: it needs room and a file system that runs programs"
_LEVELS = ("", "easy", "medium", "hard")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs."""
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    listing = verbs.add_parser("list", help="the drills there are, and where they can run")
    listing.add_argument("--json", action="store_true", help="NDJSON on stdout")
    start = verbs.add_parser("start", help="make a healthy world, break it, and tell the symptom")
    start.add_argument("name", metavar="NAME|FOLDER")
    start.add_argument("--seed", type=int, default=None, help="chooses the root cause (default: at random)")
    start.add_argument("--place", choices=("auto", *PLACES), default="auto")
    start.add_argument("--tui", action="store_true", help="go on in the TUI, with a shell on the node")
    tui = verbs.add_parser("tui", help="the drill that is on: live stack, report, hints, check and shell")
    tui.add_argument("-o", "--output", metavar="FILE", type=Path, help="record the session")
    verbs.add_parser("brief", help="what was reported, again")
    shell = verbs.add_parser("shell", help="a shell in the drill's world, or one command there")
    shell.add_argument("words", nargs=argparse.REMAINDER, metavar="-- COMMAND")
    verbs.add_parser("status", help="which drill is on, since when")
    verbs.add_parser("hint", help="the next of three hints; each costs")
    verbs.add_parser("check", help="is it mended? says what still fails, never why")
    verbs.add_parser("solve", help="mend it as its author would, then the debrief")
    report = verbs.add_parser("report", help="the after-action report of a solved drill: Markdown and HTML")
    report.add_argument(
        "--output", type=Path, default=Path(), metavar="FOLDER", help="where to (default: here)"
    )
    report.add_argument("--anyway", action="store_true", help="also before it is solved: it names the cause")
    new = verbs.add_parser("new", help="a drill of your own: all but two lines of it")
    new.add_argument("folder", type=Path, metavar="NAME|FOLDER")
    verbs.add_parser("stop", help="end it and take everything away")
    test = verbs.add_parser("test", help="the law: prove drills, every root cause of them")
    test.add_argument("names", nargs="*", metavar="NAME|FOLDER")
    test.add_argument("--place", choices=("auto", *PLACES), default="auto")
    test.add_argument("--json", action="store_true", help="NDJSON on stdout")


def run(args: argparse.Namespace) -> int:
    """Does what the verb says."""
    try:
        return _VERBS[args.verb](args)
    except DrillError as error:
        raise CommandError(error.cause, error.remedy, error.code) from error
    except ScenarioError as error:
        raise CommandError(str(error), "see the drills in scenarios/ for the form", USAGE) from error
    except MissingArtifactError as error:
        raise CommandError(error.cause, error.remedy, MISSING) from error
    except (WorldError, FaultError, ControlError) as error:
        raise CommandError(str(error), _ELSEWHERE) from error
    except BrokenPipeError:
        raise  # of the reader of our output: main ends quietly
    except OSError as error:
        where = f"{error.filename2 or error.filename}: " if error.filename else ""
        raise CommandError(f"{where}{error.strerror or error}", _ELSEWHERE) from error


def _scenario(name: str) -> Scenario:
    if Path(name).is_dir() and (Path(name) / FILE).exists():
        return load(Path(name).resolve())
    known = {folder.name: folder for folder in find(_OURS)}
    if name not in known:
        raise CommandError(f"no drill {name!r}", "`glassstack drill list` names them", USAGE)
    return load(known[name])


def _list(args: argparse.Namespace) -> int:
    scenarios = [load(folder) for folder in find(_OURS)]
    if args.json:
        for one in scenarios:
            print(
                msgspec.json.encode(
                    {"id": one.id, "title": one.title, "level": one.level, "places": one.places}
                ).decode()
            )
        return OK
    rows = [(one.id, _LEVELS[one.level], f"{one.minutes} min", _where(one), one.title) for one in scenarios]
    print("\n".join(table(("DRILL", "LEVEL", "TIME", "RUNS", "TITLE"), rows)))
    return OK


def _where(scenario: Scenario) -> str:
    able = [place for place in scenario.places if gates.missing(place, scenario.requires) is None]
    return able[0] if able else f"not here ({scenario.places[0]})"


def _start(args: argparse.Namespace) -> int:
    scenario = _scenario(args.name)
    if args.tui:
        check_terminal()
    place = place_of(scenario, args.place)
    root = home()
    with only(root):
        active = current(root, load)
        if active:
            raise DrillError(f"{active.scenario.id} is on already", "`glassstack drill stop` ends it")
        for why in clean(root):
            print(f"glassstack: left from an earlier drill: {why}", file=sys.stderr)
        seed = int.from_bytes(os.urandom(4)) if args.seed is None else args.seed
        drill = Drill(scenario, new_folder(root, scenario), lambda line: print(f"  {line}", file=sys.stderr))
        drill.start(seed, place)
    if args.tui:
        return _show(drill)
    print(scenario.brief().rstrip())
    print(f"\n  glassstack drill shell   a shell on the node (seed {seed})")
    print("  glassstack drill check   is it mended?")
    return OK


def _active() -> Drill:
    drill = current(home(), load) if home().is_dir() else None
    if drill is None:
        raise DrillError("no drill is on", "`glassstack drill start NAME` begins one")
    return drill


def _show(drill: Drill, record: Path | None = None) -> int:
    from glassstack.cli.drill_screen import show  # the screen costs what no other verb should pay

    return show(drill, record)


def _tui(args: argparse.Namespace) -> int:
    drill = _active()
    check_terminal()
    return _show(drill, args.output)


def _brief(args: argparse.Namespace) -> int:
    print(_active().scenario.brief().rstrip())
    return OK


def _shell(args: argparse.Namespace) -> int:
    drill = _active()
    words = [word for word in args.words if word != "--"]
    if words:
        drill.notes.command(words)
    command, environ = shell_of(drill, words)
    sys.stdout.flush()
    os.execvpe(command[0], command, environ)


def _status(args: argparse.Namespace) -> int:
    drill = _active()
    since = units.duration(int((time.time() - drill.run.broken) * 1e9))
    run = drill.run
    print(f"{run.scenario} ({run.place}): {run.phase} for {since}")
    print(f"{run.hints} of 3 hints, {run.checks} checks, {drill.score} points left")
    return OK


def _hint(args: argparse.Namespace) -> int:
    drill = _active()
    hint = drill.hint()
    if hint is None:
        raise DrillError("there are no more hints", "`glassstack drill solve` shows the way")
    print(f"hint {drill.run.hints} of 3 (−{hint.cost} points): {hint.text}")
    return OK


def _check(args: argparse.Namespace) -> int:
    drill = _active()
    failing = drill.check()
    if failing:
        print("not yet")
        for why in failing:
            print(f"  {plain(why)}")
        return FAILED
    took = units.duration(int((drill.run.solved - drill.run.broken) * 1e9))
    print(f"solved in {took} with {drill.run.hints} hints: {drill.score} of 100 points\n")
    print(drill.scenario.debrief().rstrip())
    return OK


def _solve(args: argparse.Namespace) -> int:
    drill = _active()
    print(f"{drill.cause.text}\n\n{drill.cause.solve.rstrip()}\n")
    drill.solve()
    return _check(args)


def _report(args: argparse.Namespace) -> int:
    return drill_report.write(_active(), args.output, args.anyway)


def _new(args: argparse.Namespace) -> int:
    return drill_report.new(args.folder)


def _stop(args: argparse.Namespace) -> int:
    root = home()
    if not root.is_dir():
        raise DrillError("no drill is on", "`glassstack drill start NAME` begins one")
    with only(root):
        failed = clean(root)
    if failed:
        raise DrillError(
            f"could not be undone: {'; '.join(failed)}", "mend that and run `glassstack drill stop` again"
        )
    return OK


def _test(args: argparse.Namespace) -> int:
    scenarios = [_scenario(name) for name in args.names] or [load(folder) for folder in find(_OURS)]
    root = home() / "test"
    results: list[Result] = []
    skipped: list[tuple[str, str]] = []
    with only(root):
        clean(root)
        for scenario in scenarios:
            try:
                place = place_of(scenario, args.place)
            except DrillError as error:
                skipped.append((scenario.id, error.cause))
                continue
            results += prove(scenario, place, root)
    for line in _json_lines(results) if args.json else _table(results, skipped):
        print(line)
    if not results:
        return MISSING
    return FAILED if any(result.why for result in results) else OK


def _json_lines(results: list[Result]) -> list[str]:
    return [msgspec.json.encode(result).decode() for result in results]


def _table(results: list[Result], skipped: list[tuple[str, str]]) -> list[str]:
    rows = [
        (
            r.scenario,
            r.cause,
            r.place,
            f"{len(r.held)} of {len(PROOFS)}",
            "pass" if not r.why else f"FAIL {plain(r.why)}",
        )
        for r in results
    ]
    rows += [(name, "-", "-", "-", f"skipped: {plain(why)}") for name, why in skipped]
    return table(("DRILL", "CAUSE", "PLACE", "PROOFS", "RESULT"), rows)


_VERBS: dict[str, Callable[[argparse.Namespace], int]] = {
    "list": _list,
    "start": _start,
    "tui": _tui,
    "brief": _brief,
    "shell": _shell,
    "status": _status,
    "hint": _hint,
    "check": _check,
    "solve": _solve,
    "report": _report,
    "new": _new,
    "stop": _stop,
    "test": _test,
}
