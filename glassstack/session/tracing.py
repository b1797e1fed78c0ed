"""The tracer, or eBPF, as a part of a session: launched programs with their output, and attached ones."""

import contextlib
import os
import subprocess
import threading
import time
from collections.abc import Callable
from typing import IO

from glassstack.collectors.base import Sink
from glassstack.collectors.bpf.options import Options as ProbeOptions
from glassstack.collectors.bpf.spawn import Probe
from glassstack.collectors.tracer.options import Options
from glassstack.collectors.tracer.spawn import Tracer
from glassstack.model.events import Failed, Output
from glassstack.model.values import Source

STOP_S = 3.0
"""How long a tracer may take to end before it is killed (its launched program dies with it)."""
_READ_S = 0.5
_CHUNK = 65536


class Tracing:
    """Runs one tracer or BPF process and hands on its events.

    Args:
        sink: takes the events.
        options: what to trace; their kind says by which of the two.
        over: called when the tracer has ended.

    Attributes:
        code: the tracer's exit code once it has ended, else ``None``.
    """

    def __init__(self, sink: Sink, options: Options | ProbeOptions, over: Callable[[], None]) -> None:
        self.code: int | None = None
        self._sink = sink
        self._options = options
        self._over = over
        self._tracer: Tracer | Probe | None = None
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Starts the tracer; a launched program reads nothing and writes to us."""
        pipe = subprocess.PIPE if self._options.command else None
        if isinstance(self._options, Options):
            self._tracer = Tracer(self._options, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe)
        else:
            self._tracer = Probe(self._options, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe)
        process = self._tracer.process
        self._thread("events", self._follow, self._tracer)
        for name, stream in (("stdout", process.stdout), ("stderr", process.stderr)):
            if stream is not None:
                self._thread(name, self._listen, name, stream)

    def _thread(self, name: str, run: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=run, args=args, name=f"tracing-{name}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _follow(self, tracer: Tracer | Probe) -> None:
        while (batch := tracer.read(_READ_S)) is not None:
            self._sink(batch)
        self.code = tracer.close()
        if self.code < 0:
            cause = f"the tracer was killed by signal {-self.code}"
            self._sink([Failed(time.monotonic_ns(), Source.SELF, "tracer", cause, "start again")])
        self._over()

    def _listen(self, name: str, stream: IO[bytes]) -> None:
        with stream:
            while data := os.read(stream.fileno(), _CHUNK):
                text = data.decode("utf-8", "replace")
                self._sink([Output(time.monotonic_ns(), Source.SELF, 0, name, text)])

    def stop(self) -> None:
        """Lets attached programs go and ends a launched one."""
        tracer = self._tracer
        if tracer is None:
            return
        tracer.stop()
        try:
            tracer.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                tracer.process.kill()
        for thread in self._threads:
            thread.join(STOP_S)
