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

ROOT = Path(__file__).resolve().parent.parent.parent
NOBODY = 65534
LIMIT_S = 60
"""A container of a test that is not done by then never will be."""

Done = subprocess.CompletedProcess[str]


def build_guest(out: Path) -> Path:
    """The guest under ``out``. Raises CalledProcessError with the compiler's words."""
    command = ["make", "-s", "-C", ROOT / "tests/minirt", f"OUT={out}", "guest"]
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

    def host(self, command: Sequence[str | Path], **more: object) -> Done:
        """A command outside of any container, as this user."""
        other = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        return subprocess.run(  # type: ignore[call-overload,no-any-return]
            list(command),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            cwd="/",
            env={"PATH": os.defpath, "MINIRT_STATE_DIR": str(self.folder / "state")},
            **(other if self.rootless and os.geteuid() == 0 else {}),
            **more,
        )

    def run(self, *verb: str, options: Sequence[str] = (), **more: object) -> Done:
        """A verb of the guest in a container that ends with it."""
        rootless = ["--rootless"] if self.rootless else []
        command = [self.program, "run", *rootless, *options, self.root, "/guest", *verb]
        return self.host(command, **more)


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
