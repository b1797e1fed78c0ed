"""One drill from start to stop: a healthy world, proved; a fault; the symptom, proved; and the check.

Owns the folder of a run and its phases. What it makes outside of that folder
is in the journal first; ``stop`` and the next ``start`` undo it, whoever was
killed in between.
"""

import contextlib
import fcntl
import itertools
import os
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import platformdirs

from glassstack.drills import containers, gates
from glassstack.drills.desk import Desk, worlds
from glassstack.drills.faults import inject
from glassstack.drills.files import remove_tree
from glassstack.drills.journal import Journal
from glassstack.drills.notes import Notes
from glassstack.drills.outcome import verdict
from glassstack.drills.scenario import Cause, Hint, Injection, Probe, Scenario

_RUN, _LOCK = "run.json", "lock"
_IN_LAB = Path("/run/glassstack/job")


class DrillError(Exception):
    """A drill can't go on: ``cause`` and ``remedy``; ``code`` is the exit code."""

    def __init__(self, cause: str, remedy: str = "", code: int = 1) -> None:
        super().__init__(cause)
        self.cause, self.remedy, self.code = cause, remedy, code


class Run(msgspec.Struct):
    """What is known of a run: ``phase`` is "setup", "healthy", "broken" or "solved".

    Times are seconds since 1970, 0 = not yet.
    """

    scenario: str
    folder: str
    seed: int
    cause: str
    place: str
    phase: str = "setup"
    started: float = 0.0
    broken: float = 0.0
    solved: float = 0.0
    hints: int = 0
    checks: int = 0


def _words(injection: Injection) -> str:
    return ", ".join(f"{name}={value}" for name, value in injection.with_.items() if "\n" not in str(value))


def home() -> Path:
    """Where runs are kept: in the lab in memory, where a node's /etc can lie over the machine's."""
    if _IN_LAB.exists():
        return Path("/run/lab/drills")
    return platformdirs.user_state_path("glassstack") / "drills"


class Drill:
    """A run of a scenario. ``desk`` is where one works and probes run: the node, or a place beside several.

    Args:
        folder: of this run; made by ``start``.
        say: told what happens, a line each.
    """

    def __init__(self, scenario: Scenario, folder: Path, say: Callable[[str], None] = lambda _: None) -> None:
        self.scenario = scenario
        self.folder = folder
        self.journal = Journal(folder)
        self.worlds = worlds(scenario, folder, self.journal)
        self.world = next(iter(self.worlds.values()))
        self.desk = Desk(folder, self.worlds, self.journal) if scenario.nodes else self.world
        self._say = say
        self.run = Run(scenario.id, str(scenario.folder), 0, "", "")
        self.notes = Notes(folder)

    def save(self) -> None:
        """Writes what is known of the run, whole or not at all."""
        partial = self.folder / f".{_RUN}"
        partial.write_bytes(msgspec.json.encode(self.run))
        partial.rename(self.folder / _RUN)

    @property
    def cause(self) -> Cause:
        """The one that this run has."""
        return next(cause for cause in self.scenario.cause if cause.id == self.run.cause)

    def start(self, seed: int, place: str) -> None:
        """From nothing to a broken world. Raises DrillError; then nothing is left."""
        self.folder.mkdir(parents=True)
        cause = random.Random(seed).choice(self.scenario.cause)
        self.run = Run(
            self.scenario.id, str(self.scenario.folder), seed, cause.id, place, started=time.time()
        )
        self.be_in(place)
        try:
            self.save()
            self._setup()
            self._break(cause)
        except BaseException:
            self.stop()
            raise

    def be_in(self, place: str) -> None:
        """Tells the nodes where they are."""
        for world in self.worlds.values():
            world.place = place

    def _setup(self) -> None:
        for world in self.worlds.values():
            world.build()
            for name, command in world.node.services.items():
                world.start(name, command)
            if world.node.pods:
                containers.start(world)
        if isinstance(self.desk, Desk):
            self.desk.build()
        if why := self.hold(self.scenario.healthy):
            raise DrillError(f"the drill is broken: its world is not healthy before the fault: {why}", code=2)
        self._phase("healthy")
        self._say("a healthy world, proved")

    def _break(self, cause: Cause) -> None:
        for number, injection in enumerate(cause.injections):
            self.notes.add("fault", f"{injection.on or ''} {injection.fault} {_words(injection)}".strip())
            inject(self.worlds[injection.on], injection.fault, f"fault-{number}", dict(injection.with_))
        outcome = self.desk.run(self.scenario.symptom.run, self.scenario.symptom.seconds)
        if why := verdict(self.scenario.symptom, outcome):
            raise DrillError(f"the drill is broken: the fault shows no symptom: {why}", code=2)
        self.run.broken = time.time()
        said = outcome.last or f"{self.scenario.symptom.run}: exit status {outcome.status}"
        self.notes.add("symptom", said)
        self._phase("broken")
        self._say("broken, and the symptom is there")

    def _phase(self, name: str) -> None:
        self.run.phase = name
        self.notes.add("phase", name)
        self.save()

    def hold(self, probe: Probe) -> str:
        """Why a probe does not hold now, "" when it does."""
        return verdict(probe, self.desk.run(probe.run, probe.seconds))

    def check(self, most: int | None = None) -> list[str]:
        """What still fails, in words of the symptom, ``most`` of it at most; empty = solved."""
        probes = (*self.scenario.checks, *self.cause.check)
        failing = list(itertools.islice(filter(None, map(self.hold, probes)), most))
        self.run.checks += 1
        self.notes.add("check", "; ".join(failing) or "accepted")
        if not failing and self.run.phase == "broken":
            self.run.solved = time.time()
            self.run.phase = "solved"
        self.save()
        return failing

    def hint(self) -> Hint | None:
        """The next hint, which costs; ``None`` when there are no more."""
        if self.run.hints >= len(self.scenario.hint):
            return None
        self.run.hints += 1
        self.notes.add("hint", self.scenario.hint[self.run.hints - 1].text)
        self.save()
        return self.scenario.hint[self.run.hints - 1]

    def solve(self) -> None:
        """Does what a person would. Raises DrillError when it does not work."""
        self.notes.add("phase", "its author's solution")
        outcome = self.desk.run(self.cause.solve, 60)
        if outcome.status != 0:
            raise DrillError(
                f"the drill is broken: its solution fails: {outcome.last or outcome.status}", code=2
            )

    @property
    def score(self) -> int:
        """Of 100: what the hints have left."""
        return max(0, 100 - sum(hint.cost for hint in self.scenario.hint[: self.run.hints]))

    def stop(self) -> list[str]:
        """Undoes everything and removes the folder. Returns what could not be: then it stays."""
        failed = self.journal.undo()
        if not failed:
            remove_tree(self.folder)
        return failed


@contextlib.contextmanager
def only(root: Path) -> Iterator[None]:
    """Nobody else works on the runs meanwhile. Raises DrillError when somebody does."""
    root.mkdir(parents=True, exist_ok=True)
    with open(root / _LOCK, "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise DrillError("another drill command is at work", "wait for it, or end it") from error
        yield


def current(root: Path, load: Callable[[Path], Scenario]) -> Drill | None:
    """The run that is on, ``None`` when there is none."""
    for file in sorted(root.glob(f"*/{_RUN}")):
        try:
            run = msgspec.json.decode(file.read_bytes(), type=Run)
        except (OSError, msgspec.DecodeError):
            continue
        drill = Drill(load(Path(run.folder)), file.parent)
        drill.run = run
        drill.be_in(run.place)
        if run.phase in ("broken", "solved") and all(world.device_up() for world in drill.worlds.values()):
            return drill
    return None


def clean(root: Path, keep: Path | None = None) -> list[str]:
    """Undoes what killed runs have left; returns what could not be undone."""
    failed = []
    for folder in sorted(path for path in root.iterdir() if path.is_dir() and path != keep):
        failed += Journal(folder).undo()
        if not failed:
            remove_tree(folder)
    return failed


def place_of(scenario: Scenario, wanted: str) -> str:
    """Where it runs: the first of its places that this machine offers. Raises DrillError."""
    if wanted != "auto" and wanted not in scenario.places:
        raise DrillError(f"{scenario.id} does not run {wanted}", f"it runs {', '.join(scenario.places)}", 2)
    missing = []
    for place in scenario.places if wanted == "auto" else (wanted,):
        why = gates.missing(place, scenario.requires)
        if why is None:
            return place
        missing.append(f"{place}: {why.why}; {why.remedy}")
    remedy = f"`glassstack lab`, and in its shell `glassstack drill start {scenario.id}`"
    raise DrillError(
        f"{scenario.id} can't run on this machine: {' · '.join(missing)}",
        remedy if "lab" in scenario.places and wanted in ("auto", "lab") else "",
        4,
    )


def new_folder(root: Path, scenario: Scenario) -> Path:
    """Of a run that begins now."""
    return root / f"{scenario.id}-{os.getpid()}"
