"""A drill as its folder describes it: scenario.toml, checked before anything is touched.

Owns the format. A mistake names the file, the key and what is expected.
"""

import tomllib
from collections.abc import Iterable
from pathlib import Path

import msgspec

PLACES = ("here", "rootless", "lab")
FILE = "scenario.toml"


class ScenarioError(Exception):
    """The folder is no drill; one line with file, key and remedy."""


class Probe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A command in the drill's world and what must come of it.

    ``exit`` is its status, ``hangs`` that it must not end; ``says`` a regular
    expression that its output must hold, ``lacks`` one that it must not.
    ``seconds`` is how long it may take. ``else_`` ("else" in the file) says in
    words of the symptom what is wrong when it doesn't hold.
    """

    run: str
    exit: int = 0
    hangs: bool = False
    says: str = ""
    lacks: str = ""
    seconds: float = 20.0
    else_: str = msgspec.field(default="", name="else")


class Injection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of the fault table, with its words, and on which node where there are several."""

    fault: str
    on: str = ""
    with_: dict[str, str | int] = msgspec.field(default_factory=dict, name="with")


class Cause(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One of the root causes that a seed chooses among.

    ``solve`` is what a person would type; ``check`` must hold besides the scenario's.
    """

    id: str
    injections: tuple[Injection, ...]
    solve: str
    text: str
    check: tuple[Probe, ...] = ()


class Wrong(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fix that looks right and is not: ``check`` must refuse what it leaves."""

    text: str
    run: str


class Hint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``after_minutes`` is when it is offered; taking it costs ``cost`` points."""

    text: str
    after_minutes: int = 0
    cost: int = 10


class Node(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The healthy world: the driver's version, the runtime's, how many GPUs, services that run on it.

    ``pods`` are containers that run on it, each with its words for ``minirt run``.
    ``vram`` is a GPU's memory in MiB; ``files`` are files of the node with their text, programs where
    it begins with "#!".
    """

    driver: str = "550.54.14"
    cuda: str = "12.4"
    gpus: int = 1
    vram: int = 1024
    files: dict[str, str] = {}
    services: dict[str, str] = {}
    env: dict[str, str] = {}
    pods: dict[str, str] = {}


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A drill. ``requires`` are gates (engine.py's table), ``evidence`` what glassstack shows of it.

    ``nodes``, in place of ``node``, are several: probes and scripts then run outside of them and reach
    each by ``on NAME COMMAND``.
    """

    id: str
    title: str
    level: int
    minutes: int
    layers: tuple[str, ...]
    places: tuple[str, ...]
    healthy: Probe
    symptom: Probe
    cause: tuple[Cause, ...]
    hint: tuple[Hint, ...]
    wrong: tuple[Wrong, ...]
    roles: tuple[str, ...] = ("on call",)
    requires: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    node: Node = Node()
    nodes: dict[str, Node] = {}
    check: tuple[Probe, ...] = ()
    folder: Path = Path()

    @property
    def checks(self) -> tuple[Probe, ...]:
        """What must hold in the end; without any of its own, what held in the beginning."""
        return self.check or (self.healthy,)

    def brief(self) -> str:
        """What was reported. Raises ScenarioError."""
        return self._text("brief.md")

    def debrief(self) -> str:
        """What it was, layer by layer. Raises ScenarioError."""
        return self._text("debrief.md")

    def _text(self, name: str) -> str:
        try:
            return (self.folder / name).read_text()
        except OSError as error:
            raise ScenarioError(
                f"{self.folder / name}: {(error.strerror or 'cannot be read').lower()}"
            ) from error


def load(folder: Path) -> Scenario:
    """The drill of a folder. Raises ScenarioError."""
    file = folder / FILE
    try:
        raw = tomllib.loads(file.read_text())
        scenario = msgspec.convert({**raw, "folder": str(folder)}, Scenario, dec_hook=_path)
    except OSError as error:
        raise ScenarioError(f"{file}: {(error.strerror or 'cannot be read').lower()}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ScenarioError(f"{file}: not TOML: {error}") from error
    except msgspec.ValidationError as error:
        raise ScenarioError(f"{file}: {_plain(str(error))}") from error
    for wrong in _mistakes(scenario):
        raise ScenarioError(f"{file}: {wrong}")
    return scenario


def _path(kind: type, value: object) -> object:
    if kind is Path:
        return Path(str(value))
    raise NotImplementedError


def _plain(text: str) -> str:
    """msgspec's message in our words: ``hint[0]: object missing required field `text``` …"""
    said, _, where = text.partition(" - at `$")
    return f"{where.rstrip('`').lstrip('.') or 'top level'}: {said[:1].lower()}{said[1:]}"


def _mistakes(scenario: Scenario) -> Iterable[str]:
    if unknown := [place for place in scenario.places if place not in PLACES]:
        yield f"places: {unknown[0]!r} is none of {', '.join(PLACES)}"
    if not scenario.places:
        yield "places: name one at least"
    if not scenario.cause:
        yield "cause: there must be one at least"
    for one in (injection for cause in scenario.cause for injection in cause.injections):
        if one.on not in (scenario.nodes or ("",)):
            yield f"injections: on = {one.on!r} is none of {', '.join(scenario.nodes) or 'one node only'}"
    if len(scenario.hint) != 3:
        yield f"hint: there must be three, from vague to plain; there are {len(scenario.hint)}"
    if not scenario.wrong:
        yield "wrong: name a fix that looks right and must be refused"
    if scenario.id != scenario.folder.name:
        yield f"id: must be the folder's name, {scenario.folder.name!r}"
    for name in ("brief.md", "debrief.md"):
        if not (scenario.folder / name).is_file():
            yield f"{name} is missing beside it"


def find(roots: Iterable[Path]) -> list[Path]:
    """Folders of drills below some roots, by name; an earlier root wins."""
    found: dict[str, Path] = {}
    for root in roots:
        for file in sorted(root.glob(f"*/{FILE}")):
            found.setdefault(file.parent.name, file.parent)
    return [found[name] for name in sorted(found)]
