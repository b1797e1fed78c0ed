"""The world of a drill: a node with a driver, a GPU, an application, and whoever works there.

Owns a folder with the files of that node, an embedded GPU, and the way into
both: a mount namespace in which the folder's files lie where a node has them,
so that ldconfig, ldd, strace and the rest see one truth. Outside of that
namespace nothing of the machine is changed.
"""

import os
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from glassstack.collectors.control import ENV, Control, ControlError
from glassstack.collectors.witness import Witness
from glassstack.drills.journal import Journal
from glassstack.drills.scenario import Node, Probe
from glassstack.gpu.artifacts import Artifacts
from glassstack.gpu.versions import library

DRIVER, APP = "/opt/fakegpu", "/opt/app"
"""Where driver package and application are on the node."""
PROGRAMS = ("vectoradd", "train", "burst", "client", "bench")
_UP_S = 10.0
_WITNESS_BYTES = 16 << 20
_ENTER = """#!/bin/sh
# Into the world of a drill: its files where a node has them, then the command.
set -e
here={here}
mount --bind "$here/node/opt" /opt
mount -t overlay -o lowerdir=/etc,upperdir="$here/node/etc",workdir="$here/work"{more} node-etc /etc
cd "$here/home"
exec "$@"
"""
_DMESG = """#!/bin/sh
# The kernel log of this node: what its driver wrote.
exec {daemon} ctl --name {name} log
"""
_RESET = """#!/bin/sh
# Resets the GPU: what was wrong with it is over, and so is what ran on it.
exec {daemon} ctl --name {name} fault clear
"""


_SERVICE = """#!/bin/sh
# svc start|stop|restart NAME: the services of this node. /etc/services.d has their commands.
set -e
what=$1 name=$2 here=$DRILL/home
command=$(cat /etc/services.d/$name)
stop() {
	[ -f "$here/$name.pid" ] || return 0
	kill -9 "-$(cat "$here/$name.pid")" 2>/dev/null || true
	rm -f "$here/$name.pid"
}
start() {
	setsid sh -c 'echo $$ >"$0"; exec "$@"' "$here/$name.pid" \\
		"$RUNNER" --join "$DEVICE" -- sh -c "exec $command" >>"$here/$name.log" 2>&1 </dev/null &
	while [ ! -s "$here/$name.pid" ]; do sleep 0.05; done
}
case $what in
start) start ;;
stop) stop ;;
restart) stop; start ;;
*) echo "svc start|stop|restart NAME" >&2; exit 2 ;;
esac
"""
_VERDICT = """#!/bin/sh
# verdict WORD: what you found, for drills in which nothing needs mending, or more than mending.
[ $# = 1 ] || { echo "verdict WORD" >&2; exit 2; }
echo "$1" >"$DRILL/home/verdict"
"""


@dataclass(frozen=True)
class Outcome:
    """What came of a command; ``status`` ``None``: it did not end in time."""

    status: int | None
    output: str

    @property
    def last(self) -> str:
        """Its last line that says anything."""
        lines = [line.strip() for line in self.output.splitlines() if line.strip()]
        return lines[-1] if lines else ""


class WorldError(Exception):
    """The world can't be made or entered here; one line."""


class World:
    """A node.

    Args:
        folder: the drill's own; what is in it is this world.
        node: what the healthy node has.
        journal: where everything outside of ``folder`` is noted before it is made.
    """

    def __init__(
        self, folder: Path, node: Node, journal: Journal, artifacts: Artifacts | None = None
    ) -> None:
        self.folder = folder
        self.node = node
        self.journal = journal
        self.artifacts = artifacts or Artifacts()
        self.root = folder / "node"
        self.device = f"drill-{folder.name}"

    # Files

    def at(self, path: str) -> Path:
        """Where a path of the node ("/opt/app/bin") is on this machine."""
        return self.root / path.lstrip("/")

    def build(self) -> None:
        """Makes the node's files and starts its GPU. Raises WorldError, MissingArtifactError, OSError."""
        for path in (f"{DRIVER}/lib", f"{DRIVER}/bin", f"{APP}/lib", f"{APP}/bin", "/etc/services.d"):
            self.at(path).mkdir(parents=True, exist_ok=True)
        for name in ("home", "work"):
            (self.folder / name).mkdir(exist_ok=True)
        self.install_driver(self.node.driver)
        self.install_runtime(self.node.cuda)
        for name in PROGRAMS:
            shutil.copy2(self.artifacts.bin(f"fakegpu-{name}"), self.at(f"{APP}/bin/{name}"))
        shutil.copy2(self.artifacts.bin("fakegpu-smi"), self.at(f"{DRIVER}/bin/fakegpu-smi"))
        self._script(f"{DRIVER}/bin/dmesg", _DMESG.format(daemon=self._daemon(), name=self.device))
        self._script(f"{DRIVER}/bin/svc", _SERVICE)
        self._script(f"{DRIVER}/bin/verdict", _VERDICT)
        self._script(f"{DRIVER}/bin/gpu-reset", _RESET.format(daemon=self._daemon(), name=self.device))
        self.at("/etc/ld.so.conf").write_text(f"{DRIVER}/lib\n" + _host_conf())
        enter = self.folder / "enter"
        enter.write_text(
            _ENTER.format(here=shlex.quote(str(self.folder)), more="" if os.geteuid() == 0 else ",userxattr")
        )
        enter.chmod(0o755)
        self.write_env(self.node.env)
        self.journal.note("processes", mark=f"DRILL={self.folder}")
        self.start_device()
        self._must("ldconfig")

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

    def _script(self, path: str, text: str) -> None:
        self.at(path).write_text(text)
        self.at(path).chmod(0o755)

    # The GPU

    def _daemon(self) -> Path:
        return self.artifacts.bin("fakegpud")

    @property
    def control(self) -> Control:
        """Asks the GPU and breaks it."""
        return Control(self.device)

    def start_device(self, version: str = "") -> None:
        """Starts the embedded GPU with the driver's kernel half at a version. Raises WorldError."""
        words = [str(self._daemon()), "--name", self.device, "--devices", str(self.node.gpus)]
        words += ["--version", version or self.node.driver]
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
        """Whether the GPU answers."""
        try:
            self.control.status()
        except ControlError:
            return False
        return True

    # Inside

    def words(self, command: Sequence[str]) -> list[str]:
        """The command line that runs a command in this world."""
        space = ["unshare", "--mount", "--propagation", "private"]
        if os.geteuid() != 0:
            space.insert(1, "--map-root-user")
        runner = [str(self.artifacts.bin("fakegpu-run")), "--join", self.control.name, "--"]
        return [*space, "--", str(self.folder / "enter"), *runner, *command]

    def environ(self) -> dict[str, str]:
        """The environment in it: the caller's without what would lead out of the world."""
        dropped = (ENV, "LD_LIBRARY_PATH", "LD_PRELOAD")
        environ = {
            name: value
            for name, value in os.environ.items()
            if name not in dropped and not name.startswith(("FAKECUDA", "FAKEGPU"))
        }
        environ["PATH"] = f"{APP}/bin:{DRIVER}/bin:{environ.get('PATH', '/usr/bin:/bin')}"
        environ["DRILL"] = str(self.folder)
        environ["RUNNER"] = str(self.artifacts.bin("fakegpu-run"))
        environ["DEVICE"] = self.control.name
        for line in self.at("/etc/environment").read_text().splitlines():
            name, _, value = line.partition("=")
            environ[name] = "".join(shlex.split(value))
        return environ

    def run(self, script: str, seconds: float = 20.0) -> Outcome:
        """Runs a shell script in the world, stdout and stderr together."""
        process = subprocess.Popen(
            self.words(["sh", "-c", script]),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=self.environ(),
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            output, _ = process.communicate()
            return Outcome(None, output.decode("utf-8", "replace"))
        return Outcome(_status(process.returncode), output.decode("utf-8", "replace"))

    def _must(self, script: str) -> None:
        outcome = self.run(script)
        if outcome.status != 0:
            raise WorldError(f"can't make the node: {script}: {outcome.last or outcome.status}")

    def start(self, name: str, command: str) -> None:
        """Starts a service of the node; its output goes to home/NAME.log. Raises WorldError."""
        self.at(f"/etc/services.d/{name}").write_text(f"{command}\n")
        self._must(f"svc start {name}")


def _status(code: int) -> int:
    return 128 - code if code < 0 else code


def _host_conf() -> str:
    try:
        return Path("/etc/ld.so.conf").read_text()
    except OSError:
        return ""


def verdict(probe: Probe, outcome: Outcome) -> str:
    """Why a probe does not hold, "" when it does."""
    if outcome.status is None and not probe.hangs:
        problem = f"it does not end within {probe.seconds:g} s"
    elif outcome.status != (None if probe.hangs else probe.exit):
        problem = f"exit status {outcome.status}" + (f": {outcome.last}" if outcome.last else "")
    elif probe.says and not re.search(probe.says, outcome.output, re.MULTILINE):
        problem = f"its output lacks /{probe.says}/: {outcome.last}"
    elif probe.lacks and re.search(probe.lacks, outcome.output, re.MULTILINE):
        problem = f"its output has /{probe.lacks}/"
    else:
        return ""
    return f"{probe.else_ or probe.run}: {problem}"
