"""The world of a drill: a node with a driver, a GPU, an application, and whoever works there.

Owns a folder with the files of that node, an embedded GPU, and the way into
both: a mount namespace in which the folder's files lie where a node has them,
so that ldconfig, ldd, strace and the rest see one truth. Outside of that
namespace nothing of the machine is changed.
"""

import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from glassstack.collectors.control import ENV, Control, ControlError
from glassstack.collectors.witness import Witness
from glassstack.drills import containers, kernel
from glassstack.drills.files import copy_public
from glassstack.drills.journal import Journal
from glassstack.drills.outcome import Outcome, run
from glassstack.drills.scenario import Node
from glassstack.drills.tools import BIND, ENTER, ON, OVERLAY, TOOLS
from glassstack.gpu.artifacts import Artifacts
from glassstack.gpu.versions import library

DRIVER, APP = "/opt/fakegpu", "/opt/app"
"""Where driver package and application are on the node."""
PROGRAMS = ("vectoradd", "train", "burst", "client", "bench", "serve")
LAB = "lab"
"""The place where the node's GPU is the kernel module's, not an embedded one."""
_UP_S = 10.0
_WITNESS_BYTES = 16 << 20


class WorldError(Exception):
    """The world can't be made or entered here; one line."""


class World:
    """A node.

    Args:
        folder: the drill's own; what is in it is this world.
        node: what the healthy node has.
        journal: where everything outside of ``folder`` is noted before it is made.
        name: of its GPU among those of the machine (default: the folder's).

    ``place`` is one of the scenario's, set before it is built or used.
    """

    def __init__(
        self, folder: Path, node: Node, journal: Journal, artifacts: Artifacts | None = None, name: str = ""
    ) -> None:
        self.folder = folder
        self.node = node
        self.journal = journal
        self.artifacts = artifacts or Artifacts()
        self.root = folder / "node"
        self.device = f"drill-{name or folder.name}"
        self.place = ""

    # Files

    def at(self, path: str) -> Path:
        """Where a path of the node ("/opt/app/bin") is on this machine."""
        return self.root / path.lstrip("/")

    def build(self) -> None:
        """Makes the node's files and starts its GPU. Raises WorldError, MissingArtifactError, OSError."""
        for path in (f"{DRIVER}/lib", f"{DRIVER}/bin", f"{APP}/lib", f"{APP}/bin", "/etc/services.d"):
            self.at(path).mkdir(parents=True, exist_ok=True)
        for name in ("home", "work"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        self.install_driver(self.node.driver)
        self.install_runtime(self.node.cuda)
        for name in PROGRAMS:
            shutil.copy2(self.artifacts.bin(f"fakegpu-{name}"), self.at(f"{APP}/bin/{name}"))
        shutil.copy2(self.artifacts.bin("fakegpu-smi"), self.at(f"{DRIVER}/bin/fakegpu-smi"))
        for name, text in TOOLS.items():
            self.script(f"{DRIVER}/bin/{name}", text)
        self.at("/etc/ld.so.conf").write_text(f"{DRIVER}/lib\n" + _host_conf())
        self.write_env(self.node.env)
        for path, text in self.node.files.items():
            self.put_file(path, text)
        self._make_enter()
        if self.place == LAB:
            kernel.note(self)
        self.journal.note("processes", mark=f"DRILL={self.folder}")
        self.start_device()
        self.tell_loader()
        if self.node.pods:
            containers.build(self)

    def tell_loader(self) -> None:
        """Has the loader know the node's libraries. Raises WorldError."""
        if self.place == LAB:
            kernel.tell_loader(self)
        else:
            self.must("ldconfig")

    def _make_enter(self) -> None:
        """How to get in: /etc as an overlay where the folder's file system allows it, else as a copy."""
        enter = self.folder / "enter"
        overlay = OVERLAY.format(more="" if os.geteuid() == 0 else ",userxattr")
        for etc in (overlay, BIND):
            enter.write_text(ENTER.format(here=shlex.quote(str(self.folder)), etc=etc))
            enter.chmod(0o755)
            tried = run([*_space(), str(enter), "true"], dict(os.environ), _UP_S)
            if tried.status == 0:
                return
            copy_public(Path("/etc"), self.at("/etc"))
        raise WorldError(f"can't enter the node's folder {self.folder}: {tried.last or tried.status}")

    def install_driver(self, version: str) -> None:
        """The driver's libraries at a version, in place of those that are there."""
        for kind, stem in (("umd", "libfakecuda"), ("ml", "libfakeml")):
            self.put_library(f"{DRIVER}/lib", kind, stem, version, ".so.1")

    def install_runtime(self, version: str) -> None:
        """The application's runtime at a version."""
        self.put_library(f"{APP}/lib", "runtime", "libfakecudart", version, ".so")

    def put_library(self, folder: str, kind: str, stem: str, version: str, link: str) -> None:
        """One library with its link; other versions of it go away."""
        place = self.at(folder)
        for old in place.glob(f"{stem}.so*"):
            old.unlink()
        file = library(kind, version, self.artifacts)
        shutil.copy2(file, place / file.name)
        (place / f"{stem}{link}").symlink_to(file.name)

    def write_env(self, values: dict[str, str]) -> None:
        """What is set for everybody on the node."""
        lines = [f"{name}={shlex.quote(value)}\n" for name, value in values.items()]
        self.at("/etc/environment").write_text("".join(lines))

    def script(self, path: str, text: str) -> None:
        """A program of the node's."""
        self.at(path).write_text(text)
        self.at(path).chmod(0o755)

    def put_file(self, path: str, text: str) -> None:
        """A file of the node; a program where it begins with "#!". Raises OSError."""
        self.at(path).parent.mkdir(parents=True, exist_ok=True)
        self.at(path).write_text(text)
        self.at(path).chmod(0o755 if text.startswith("#!") else 0o644)

    # The GPU

    def _daemon(self) -> Path:
        return self.artifacts.bin("fakegpud")

    @property
    def control(self) -> Control:
        """Asks the GPU and breaks it."""
        return Control(self.device)

    def start_device(self, version: str = "") -> None:
        """Starts the embedded GPU with the driver's kernel half at a version. Raises WorldError."""
        if self.place == LAB:
            kernel.build(self)
            return
        words = [str(self._daemon()), "--name", self.device, "--devices", str(self.node.gpus)]
        words += ["--version", version or self.node.driver, "--vram", str(self.node.vram)]
        self.journal.note("device", name=self.device)
        witness = Witness(_WITNESS_BYTES)  # kept by the device: whoever looks at the drill reads it there
        words += ["--witness-fd", str(witness.fd)]
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
            pass_fds=(witness.fd,),
        )
        witness.close()
        deadline = time.monotonic() + _UP_S
        while not self.device_up():
            if process.poll() is not None or time.monotonic() > deadline:
                said = process.stderr.read().decode("utf-8", "replace") if process.stderr else ""
                raise WorldError(f"the embedded GPU does not start: {said.strip() or 'no answer'}")
            time.sleep(0.01)

    def device_up(self) -> bool:
        """Whether the GPU answers; a kernel's own may be unloaded and is there all the same."""
        if self.place == LAB:
            return True
        try:
            self.control.status()
        except ControlError:
            return False
        return True

    # Inside

    def words(self, command: Sequence[str]) -> list[str]:
        """The command line that runs a command in this world."""
        runner = [str(self.artifacts.bin("fakegpu-run")), "--join", self.control.name, "--"]
        if self.place == LAB:
            runner = []
        return [*_space(), str(self.folder / "enter"), *runner, *command]

    def environ(self) -> dict[str, str]:
        """The environment in it: the caller's without what would lead out of the world."""
        dropped = (ENV, "LD_LIBRARY_PATH", "LD_PRELOAD")
        environ = {
            name: value
            for name, value in os.environ.items()
            if name not in dropped and not name.startswith(("FAKECUDA", "FAKEGPU"))
        }
        environ.update(self.variables(environ.get("PATH", "/usr/bin:/bin")))
        environ |= kernel.environ(self, environ["PATH"]) if self.place == LAB else {}
        environ |= containers.environ(self) if self.node.pods else {}
        for line in self.at("/etc/environment").read_text().splitlines():
            name, _, value = line.partition("=")
            environ[name] = "".join(shlex.split(value))
        return environ

    def variables(self, path: str) -> dict[str, str]:
        """What tells a program in this world where it is; ``path`` is the machine's PATH."""
        return {
            "PATH": f"{APP}/bin:{DRIVER}/bin:{path}:/usr/sbin:/sbin",  # an ordinary user has no ldconfig
            "DRILL": str(self.folder),
            "RUNNER": str(self.artifacts.bin("fakegpu-run")),
            "DAEMON": str(self._daemon()),
            "DEVICE": self.control.name,
        }

    def write_on(self) -> None:
        """The file ``on``: a command from outside of this node, in it."""
        variables = self.variables(os.environ.get("PATH", "/usr/bin:/bin"))
        exports = " ".join(f"{name}={shlex.quote(value)}" for name, value in variables.items())
        words = shlex.join(self.words([]))
        file = self.folder / "on"
        file.write_text(
            ON.format(
                name=self.folder.name, exports=exports, etc=shlex.quote(str(self.at("/etc"))), words=words
            )
        )
        file.chmod(0o755)

    def run(self, script: str, seconds: float = 20.0) -> Outcome:
        """Runs a shell script in the world, stdout and stderr together."""
        return run(self.words(["sh", "-c", script]), self.environ(), seconds)

    def must(self, script: str) -> None:
        """Runs a script that has to succeed. Raises WorldError."""
        outcome = self.run(script)
        if outcome.status != 0:
            raise WorldError(f"can't make the node: {script}: {outcome.last or outcome.status}")

    def pid(self, service: str) -> int:
        """Of a service that runs. Raises OSError, ValueError: it does not."""
        return int((self.folder / f"home/{service}.pid").read_text())

    def start(self, name: str, command: str) -> None:
        """Starts a service of the node; its output goes to home/NAME.log. Raises WorldError."""
        self.at(f"/etc/services.d/{name}").write_text(f"{command}\n")
        self.must(f"svc restart {name}")


def _space() -> list[str]:
    """Namespaces of one's own; ``enter`` does the rest in them."""
    owner = [] if os.geteuid() == 0 else ["--map-root-user"]
    return ["unshare", *owner, "--mount", "--propagation", "private", "--"]


def _host_conf() -> str:
    try:
        return Path("/etc/ld.so.conf").read_text()
    except OSError:
        return ""
