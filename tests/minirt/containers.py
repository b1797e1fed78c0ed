"""Containers for tests: minirt, a root file system of one static program, and who starts it.

Owns the commands that make them. Needs nothing but the standard library, as it
runs in the lab VM too; must not judge what a container did.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
NOBODY = 65534
LIMIT_S = 60
"""A container of a test that is not done by then never will be."""

Done = subprocess.CompletedProcess[str]


def build_guest(out: Path) -> Path:
    """The guest under ``out``. Raises CalledProcessError with the compiler's words."""
    command: list[str | Path] = ["make", "-s", "-C", ROOT / "tests/minirt", f"OUT={out}", "guest"]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return out / "guest"


def make_root(folder: Path, guest: Path) -> Path:
    """A root file system at ``folder``: the guest as ``/guest``, and places to mount on."""
    for name in ("dev", "proc", "sys", "tmp"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    shutil.copy(guest, folder / "guest")
    return folder


@dataclass(frozen=True)
class Runtime:
    """minirt as one user of the host starts it.

    Attributes:
        program: minirt.
        folder: a folder that the user may write: root file system, state.
        rootless: not root: ``--rootless``, as a user who owns nothing else.
    """

    program: Path
    folder: Path
    rootless: bool

    @property
    def root(self) -> Path:
        return self.folder / "root"

    def host(self, command: Sequence[str | Path], *, silent: bool = False, fds: Sequence[int] = ()) -> Done:
        """A command outside of any container, as this user.

        ``silent`` keeps nothing of its output: what it leaves running may hold a pipe open for ever.
        """
        output = subprocess.DEVNULL if silent else subprocess.PIPE
        return subprocess.run(
            list(command), stdout=output, stderr=output, timeout=LIMIT_S, pass_fds=fds, **self.given()
        )

    def given(self) -> dict[str, Any]:
        """What subprocess is to be told: the user, the environment, that all is text."""
        other = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        return {
            "stdin": subprocess.DEVNULL,
            "text": True,
            "cwd": "/",
            "env": {"PATH": os.defpath, "MINIRT_STATE_DIR": str(self.folder / "state")},
            **(other if self.rootless and os.geteuid() == 0 else {}),
        }

    def command(self, options: Sequence[str], verb: Sequence[str]) -> list[str | Path]:
        """The command line that runs a verb of the guest."""
        rootless = ["--rootless"] if self.rootless else []
        return [self.program, "run", *rootless, *options, self.root, "/guest", *verb]

    def run(self, *verb: str, options: Sequence[str] = (), fds: Sequence[int] = ()) -> Done:
        """A verb of the guest in a container that ends with it."""
        return self.host(self.command(options, verb), fds=fds)

    @contextmanager
    def running(self, name: str, *options: str) -> Iterator[str]:
        """A container that sleeps until the end of the block, by its name."""
        command = self.command(["--id", name, "--detach", *options], ["sleep", "600"])
        started = self.host(command, silent=True)
        assert started.returncode == 0, f"{command}: status {started.returncode}"
        try:
            yield name
        finally:
            removed = self.host([self.program, "delete", "--force", name])
            assert removed.returncode == 0, removed

    def inside(self, name: str, *verb: str) -> Done:
        """A verb in a container that runs."""
        return self.host([self.program, "exec", name, "/guest", *verb])


@contextmanager
def runtime(program: Path, guest: Path, rootless: bool) -> Iterator[Runtime]:
    """A runtime in a folder of its own, which another user may enter too."""
    folder = Path(tempfile.mkdtemp(prefix="minirt-test-", dir="/tmp"))
    try:
        folder.chmod(0o755)
        copy = Path(shutil.copy(program, folder / "minirt"))
        make_root(folder / "root", guest)
        (folder / "state").mkdir()
        if rootless and os.geteuid() == 0:
            for path in (folder, *folder.rglob("*")):
                os.lchown(path, NOBODY, NOBODY)
        yield Runtime(copy, folder, rootless)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
