"""The table of escapes, each tried and judged.

Owns the meaning of ``escapes.toml``. Needs nothing but the standard library, as
it runs in the lab VM too.
"""

from __future__ import annotations

import os
import socket
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.minirt.containers import Done, Runtime

DONE, REFUSED, UNTRIED = 0, 10, 77
"""Exit codes of an attempt, as guest.h has them."""


class CannotTryError(Exception):
    """This machine has not what the guard guards."""


@dataclass(frozen=True)
class Escape:
    """A row of ``[[escape]]``; the file says what its fields mean."""

    id: str
    cite: str
    how: str
    verb: list[str]
    refused: list[str] = field(default_factory=lambda: ["EPERM"])
    options: list[str] = field(default_factory=list)
    works: dict[str, list[str]] = field(default_factory=dict)
    lacking: list[str] = field(default_factory=list)
    unproven: str = ""


@dataclass(frozen=True)
class Image:
    """A row of ``[[image]]``."""

    id: str
    cite: str
    link: str
    options: list[str] = field(default_factory=list)


_TABLE: dict[str, list[dict[str, Any]]] = tomllib.loads(
    Path(__file__).with_name("escapes.toml").read_text(encoding="utf-8")
)
ESCAPES = [Escape(**row) for row in _TABLE["escape"]]
IMAGES = [Image(**row) for row in _TABLE["image"]]


@contextmanager
def _places(runtime: Runtime) -> Iterator[dict[str, str]]:
    """What the placeholders of a verb stand for."""
    name = f"minirt-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as listener, tempfile.NamedTemporaryFile() as file:
        listener.bind(f"\0{name}")
        listener.listen()
        root = os.stat("/")
        yield {
            "root": f"{root.st_dev}:{root.st_ino}",
            "socket": name,
            "pid": str(os.getpid()),
            "file": file.name,
        }


def _said(done: Done) -> tuple[int, str]:
    """Exit code and errno name of an attempt."""
    words = done.stdout.split()
    refused = words[1] if done.returncode == REFUSED and words[:1] == ["refused"] else ""
    return done.returncode, refused


def check_refused(escape: Escape, runtime: Runtime) -> None:
    """Tries it from inside, with a descriptor of the host's "/" left open by the caller.

    Raises:
        AssertionError: it worked, or came back with something else.
        CannotTryError: there is nothing to try it on.
    """
    leak = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    try:
        with _places(runtime) as places:
            verb = [word.format(**places) for word in escape.verb]
            done = runtime.run(*verb, options=escape.options, fds=[leak])
    finally:
        os.close(leak)
    status, code = _said(done)
    if status == UNTRIED:
        raise CannotTryError(done.stdout.strip())
    assert status == REFUSED, f"{escape.id} ({escape.cite}): {done}"
    assert code in escape.refused, f"{escape.id}: {code}, where {escape.refused} was to be"


def check_works(escape: Escape, runtime: Runtime) -> None:
    """Tries it where its guard is off: else a refusal would prove nothing of the guard.

    Raises:
        AssertionError: it was refused all the same.
        CannotTryError: the kernel has not what it needs.
    """
    leak = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    try:
        with _places(runtime) as places:
            if "without" in escape.works:
                verb = [word.format(**places) for word in escape.verb]
                options = [*escape.options, *escape.works["without"]]
                done = runtime.run(*verb, options=options, fds=[leak])
            else:
                verb = [word.format(**places) for word in escape.works["host"]]
                done = runtime.host([runtime.root / "guest", *verb], fds=[leak])
    finally:
        os.close(leak)
    status, code = _said(done)
    if code in escape.lacking or status == UNTRIED:
        raise CannotTryError(f"this machine has it not: {done.stdout.strip()}")
    assert status == DONE, f"{escape.id} is refused without its guard too: {done}"


def _state(trap: Path) -> tuple[list[str], int, bool]:
    """What a mount, a file or a node in the trap would change."""
    return sorted(os.listdir(trap)), trap.stat().st_mtime_ns, str(trap) in Path("/proc/mounts").read_text()


def check_image(image: Image, runtime: Runtime) -> Done:
    """Starts a container from an image with a link out of it: nothing outside may change.

    Raises:
        AssertionError: something did.
    """
    trap, gift = runtime.folder / f"trap-{image.id}", runtime.folder / f"gift-{image.id}"
    link = runtime.root / image.link
    trap.mkdir()
    gift.mkdir()
    if link.is_dir() and not link.is_symlink():
        link.rmdir()
    link.symlink_to(f"{'../' * 12}{str(trap).lstrip('/')}")
    before = _state(trap)
    try:
        done = runtime.run("true", options=[word.format(gift=gift, trap=trap) for word in image.options])
        assert _state(trap) == before, f"{image.id} ({image.cite}): {_state(trap)}, {done}"
    finally:
        link.unlink()
        if image.link in ("dev", "proc", "sys"):
            link.mkdir()
    assert done.returncode in (0, 125), done
    return done
