"""The embedded GPU seen from Python: the launcher's words, and a device of one's own with programs on it.

Owns what it starts: nothing outlives ``close``, and when this process is
killed the device notices by its lifeline and ends with all its programs.
Nothing persists (memory files, an abstract socket), so there is nothing to
clean up after a crash.
"""

import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

import msgspec

from glassstack.collectors.control import ENV, Control
from glassstack.gpu.artifacts import Artifacts

_START_S = 5.0
_STOP_S = 2.0


class Options(msgspec.Struct, frozen=True):
    """What an embedded device is like; the defaults are the device's own.

    Attributes:
        name: of its control socket, for Control; "" = the process id of the launcher.
        devices: how many GPUs, 1 to 8; 0 = the default.
        vram, quota: MiB of a GPU, and of it for one open file; 0 = the default.
        version: of the driver, as real ones are named.
        faults: armed from the start, in the grammar of kmod/SPEC.md.
    """

    name: str = ""
    devices: int = 0
    vram: int = 0
    quota: int = 0
    version: str = ""
    faults: tuple[str, ...] = ()

    def words(self) -> list[str]:
        """As command-line options."""
        words: list[str] = []
        for option in ("name", "devices", "vram", "quota", "version"):
            value = getattr(self, option)
            if value:
                words += [f"--{option}", str(value)]
        for fault in self.faults:
            words += ["--fault", fault]
        return words


def runner(
    options: Options | None = None, artifacts: Artifacts | None = None, wait_all: bool = False
) -> tuple[str, ...]:
    """Words that start a program on a device of its own; append "--" and the command.

    Raises:
        MissingArtifactError: the device is not built.
    """
    launcher = (artifacts or Artifacts()).bin("fakegpu-run")
    words = (options or Options()).words() + (["--wait-all"] if wait_all else [])
    return (str(launcher), *words)


def joiner(name: str, artifacts: Artifacts | None = None) -> tuple[str, ...]:
    """Words that start a program on a running device; append "--" and the command.

    Raises:
        MissingArtifactError: the device is not built.
    """
    return (str((artifacts or Artifacts()).bin("fakegpu-run")), "--join", Control(name).name)


class DeviceError(Exception):
    """The device did not start; one line."""


class EmbeddedGpu:
    """A device process of one's own, and programs on it.

    Args:
        options: what it is like; without a name it gets one after this process.
        witness_fd: memory file for its account, see collectors/witness.py.

    Attributes:
        control: asks it and breaks it.

    Raises:
        MissingArtifactError: it is not built.
        DeviceError: it did not start.
    """

    def __init__(
        self, options: Options | None = None, witness_fd: int = -1, artifacts: Artifacts | None = None
    ) -> None:
        self._artifacts = artifacts or Artifacts()
        options = options or Options()
        if not options.name:
            options = msgspec.structs.replace(options, name=f"glassstack-{os.getpid()}-{id(self):x}")
        self.control = Control(options.name)
        self._programs: list[subprocess.Popen[bytes]] = []
        self._lifeline, self._lifeline_write = os.pipe()
        try:
            self._process = self._start(self._artifacts.bin("fakegpud"), options, witness_fd)
        except BaseException:
            self._cut_lifeline()
            raise

    @property
    def pid(self) -> int:
        """Of the device process."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the device still runs."""
        return self._process.poll() is None

    def _start(self, program: Path, options: Options, witness_fd: int) -> subprocess.Popen[bytes]:
        ready, ready_write = os.pipe()
        given = {"--lifeline-fd": self._lifeline, "--ready-fd": ready_write}
        if witness_fd >= 0:
            given["--witness-fd"] = witness_fd
        words = [str(program), *options.words(), *(w for key, fd in given.items() for w in (key, str(fd)))]
        try:
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                pass_fds=tuple(given.values()),
                start_new_session=True,  # a Ctrl-C is for the front end, which ends it in order
            )
            os.close(ready_write)
            ready_write = -1
            if not select.select([ready], [], [], _START_S)[0] or not os.read(ready, 1):
                raise DeviceError(_complaint(process))
        finally:
            os.close(ready)
            if ready_write >= 0:
                os.close(ready_write)
        return process

    def start(
        self,
        command: Sequence[str],
        stdout: int | IO[bytes] = subprocess.DEVNULL,
        environ: Mapping[str, str] | None = None,
    ) -> subprocess.Popen[bytes]:
        """Starts a program on this device; it gets SIGTERM when this process ends, however that happens.

        The process returned is the launcher: it has the program's output and
        status, and passes signals on.
        """
        environ = {key: value for key, value in (environ or os.environ).items() if key != ENV}
        words = [
            *joiner(self.control.name, self._artifacts),
            "--lifeline-fd",
            str(self._lifeline),
            "--",
            *command,
        ]
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stdout,
            pass_fds=(self._lifeline,),
            env=environ,
            start_new_session=True,
        )
        self._programs.append(process)
        return process

    def _cut_lifeline(self) -> None:
        for fd in (self._lifeline, self._lifeline_write):
            if fd >= 0:
                os.close(fd)
        self._lifeline = self._lifeline_write = -1

    def close(self) -> None:
        """Ends the programs, then the device. Idempotent, never waits long."""
        _end(self._programs)
        self._programs.clear()
        self._cut_lifeline()
        _end([self._process])
        if self._process.stderr:
            self._process.stderr.close()


def _end(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """Asks all of them to end, then makes those end that did not."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for process in processes:
            if process.poll() is None:
                process.send_signal(number)
        deadline = time.monotonic() + _STOP_S
        for process in processes:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                continue


def _complaint(process: subprocess.Popen[bytes]) -> str:
    _end([process])
    text = process.stderr.read().decode("utf-8", "replace") if process.stderr else ""
    return text.strip().partition("\n")[0] or f"the device ended with status {process.returncode}"
