"""The demonstration: two programs, one on doorbells, one on ioctls; and an embedded GPU of our own."""

import shlex
import threading
import time

import psutil

from glassstack.collectors.base import Sink
from glassstack.collectors.witness import Witness
from glassstack.gpu.artifacts import Artifacts
from glassstack.gpu.embedded import EmbeddedGpu
from glassstack.model.events import Event, Failed, Process, Syscall
from glassstack.model.values import Source

WORKLOADS = (("fakegpu-train", "--rate", "200"), ("fakegpu-burst", "--rate", "4", "--size", "8"))
_LOOK_S = 0.05


def programs(artifacts: Artifacts) -> list[tuple[str, ...]]:
    """The two commands. Raises MissingArtifactError."""
    return [(str(artifacts.bin(name)), *words) for name, *words in WORKLOADS]


def together(artifacts: Artifacts) -> tuple[str, ...]:
    """One command that becomes the last program and ends the others with it. Raises MissingArtifactError."""
    *others, last = (shlex.join(words) for words in programs(artifacts))
    script = "".join(f"setpriv --pdeathsig TERM {words} & " for words in others)
    return "/bin/sh", "-c", f"{script}exec {last}"


class Demo:
    """Runs an embedded device and its programs, and hands on what the device tells.

    Args:
        sink: takes the events.
        artifacts: where the programs are.

    Attributes:
        device: name of the device's control socket, once started.
    """

    def __init__(self, sink: Sink, artifacts: Artifacts) -> None:
        self.device = ""
        self._sink = sink
        self._artifacts = artifacts
        self._gpu: EmbeddedGpu | None = None
        self._known: set[int] = set()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Raises MissingArtifactError or DeviceError when it can't be started."""
        commands = programs(self._artifacts)
        witness = Witness()
        self._gpu = EmbeddedGpu(witness_fd=witness.fd, artifacts=self._artifacts)
        self.device = self._gpu.control.name
        for command in commands:
            self._gpu.start(command)
        self._thread = threading.Thread(
            target=self._follow, args=(self._gpu, witness), name="demo", daemon=True
        )
        self._thread.start()

    def _follow(self, gpu: EmbeddedGpu, witness: Witness) -> None:
        while not self._stop.wait(_LOOK_S):
            batch = witness.read()
            self._sink([*self._newcomers(batch), *batch])
            if not gpu.alive:
                cause = "the embedded GPU has ended: its programs get errors"
                self._sink(
                    [Failed(time.monotonic_ns(), Source.SELF, "demo", cause, "start glassstack again")]
                )
                return

    def _newcomers(self, batch: list[Event]) -> list[Event]:
        """A start for each process that is seen for the first time, at its first call."""
        found: list[Event] = []
        for event in batch:
            if isinstance(event, Syscall) and event.pid not in self._known:
                self._known.add(event.pid)
                found.append(_start(event))
        return found

    def stop(self) -> None:
        """Ends the programs, then the device."""
        self._stop.set()
        if self._thread:
            self._thread.join(1)
        if self._gpu:
            self._gpu.close()


def _start(call: Syscall) -> Process:
    try:
        process = psutil.Process(call.pid)
        command, ppid = " ".join(process.cmdline()), process.ppid()
    except psutil.Error:
        command, ppid = "", 0
    return Process(call.ts, Source.DEVICE, call.pid, call.pid, "start", ppid, command)
