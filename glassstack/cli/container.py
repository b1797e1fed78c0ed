"""``glassstack container``: the containers of this machine, one beside the host, and how its GPU came in.

Owns the text; looking is the collectors', the story is containers/explain.py's.
"""

import argparse
import textwrap
from pathlib import Path

from glassstack.cli.columns import cut, table
from glassstack.cli.errors import OK, CommandError
from glassstack.cli.repeat import add_repeat_arguments, repeat
from glassstack.collectors.container_list import ContainerCollector
from glassstack.collectors.steps import kept, read_steps, states
from glassstack.containers.explain import Passage, passages, title
from glassstack.decoders.device_list import EVERYTHING
from glassstack.format.text import plain
from glassstack.model.codec import encode_line
from glassstack.model.entities import Container, World
from glassstack.model.events import Containers, Event, Step
from glassstack.store.containers import contrasts, of_id
from glassstack.store.recording import SUFFIX, Player, RecordingError

HEADER = ("CONTAINER", "RUNTIME", "PID", "PROCESSES", "DEVICE LIST", "CGROUP")
_WIDTH = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """ls, view ID, explain ID|FILE."""
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    ls = verbs.add_parser("ls", help="the containers there are, whoever started them")
    add_repeat_arguments(ls)
    view = verbs.add_parser("view", help="host view and container view side by side")
    view.add_argument("id", metavar="ID")
    add_repeat_arguments(view)
    explain = verbs.add_parser("explain", help="how a GPU enters it, from the recorded start")
    explain.add_argument("id", metavar="ID|FILE", help="a container, its steps (JSON lines) or a recording")
    explain.add_argument("--json", action="store_true", help="NDJSON on stdout, one event a line")


def run(args: argparse.Namespace) -> int:
    """Does what the verb says."""
    if args.verb == "explain":
        return _explain(args)
    collector = ContainerCollector(states)
    if args.verb == "ls":
        return repeat(args, collector.sample, draw_list)
    return repeat(args, lambda: [_only(collector.look(), args.id)], draw_view)


def _only(event: Containers, name: str) -> Event:
    found = of_id(event.containers, name)
    if found is None:
        raise CommandError(
            f"no running container {name!r}", "`glassstack container ls --once` lists those there are"
        )
    return Containers(event.ts, event.source, event.host, (found,), event.missing)


def draw_list(events: list[Event], width: int) -> list[str]:
    """One row per container."""
    found = [one for event in events if isinstance(event, Containers) for one in event.containers]
    if not found:
        return ["no containers: no process is in another PID namespace"]
    return table(HEADER, [_row(one) for one in found], width, right=(2, 3))


def _row(one: Container) -> tuple[str, ...]:
    rules = f"{len(one.devices.rules or ())} rules"
    devices = "allows all" if one.devices.rules == EVERYTHING else rules
    return (
        plain(one.id),
        plain(one.runtime) or "-",
        str(one.pid),
        str(len(one.world.processes)),
        f"missing: {one.devices.missing}" if one.devices.missing else devices,
        plain(one.cgroup) or "/",
    )


def draw_view(events: list[Event], width: int) -> list[str]:
    """What host and container see; what differs has a mark."""
    lines: list[str] = []
    for event in events:
        if isinstance(event, Containers):
            for one in event.containers:
                lines += _view(event.host, one, width)
    return [cut(line, width) for line in lines] if width else lines


def _view(host: World, one: Container, width: int) -> list[str]:
    rows = [
        ("*" if line.differs else "", line.group, plain(line.what), plain(line.host), plain(line.inside))
        for line in contrasts(host, one)
    ]
    notes = [f"note: {plain(why)}" for why in one.world.missing]
    return [*table(("", "GROUP", "WHAT", "HOST", "CONTAINER"), rows, width), *notes]


def _explain(args: argparse.Namespace) -> int:
    steps, container, host = _evidence(args.id)
    if args.json:
        for step in steps:
            print(encode_line(step).decode())
        return OK
    print("\n".join(story(title(args.id, steps, container), passages(steps, container, host))))
    return OK


def _evidence(name: str) -> tuple[list[Step], Container | None, World | None]:
    """The steps, and the container with its host when it lives."""
    if Path(name).is_file():
        return _from_file(Path(name))
    look = ContainerCollector(states).look()
    container = of_id(look.containers, name)
    steps: list[Step] = []
    wanted = container.id if container else name
    for file in kept():
        if file.stem == wanted:
            steps = _read(file, wanted)
    if not steps and container is None:
        raise CommandError(
            f"nothing is known of a container {name!r}",
            "`glassstack container ls --once` lists those there are",
        )
    return steps, container, look.host


def _from_file(path: Path) -> tuple[list[Step], Container | None, World | None]:
    if path.suffix != SUFFIX:
        steps = _read(path, path.stem)
        if not steps:
            raise CommandError(
                f"{path}: no steps of a start in it", "write one with `minirt run --steps FILE …`"
            )
        return steps, None, None
    try:
        player = Player(path)
        player.seek(player.length)
        snapshot = player.snapshot()
    except RecordingError as error:
        raise CommandError(str(error)) from error
    if not snapshot.steps:
        raise CommandError(f"{path}: no container was started while it was recorded")
    last = snapshot.steps[-1].container
    steps = [step for step in snapshot.steps if step.container == last]
    return steps, of_id(snapshot.containers or (), last), snapshot.host


def _read(path: Path, container: str) -> list[Step]:
    try:
        return sorted(read_steps(path, container), key=lambda step: step.ts)
    except OSError as error:
        raise CommandError(f"{path}: {(error.strerror or 'cannot be read').lower()}") from error


def story(head: str, told: list[Passage]) -> list[str]:
    """The passages as text in chapters."""
    lines = [plain(head)]
    chapter = ""
    for passage in told:
        if passage.chapter != chapter:
            chapter = passage.chapter
            lines += ["", chapter]
        mark = " " if passage.ok else "!"
        lines += textwrap.wrap(
            passage.text,
            _WIDTH - 16,
            initial_indent=f"{mark} {passage.name:<13} ",
            subsequent_indent=" " * 16,
        )
        lines += [f"{'':16}· {plain(one)}" for one in passage.evidence]
    return lines
