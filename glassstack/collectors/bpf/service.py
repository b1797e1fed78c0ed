"""One run of the BPF process: loads, starts or adopts what is watched, reads, and leaves nothing behind.

The kernel frees all of it with this process, whatever ends it; a launched
program then goes on unseen.
"""

import contextlib
import errno
import os
import signal
import time

from glassstack.collectors.bpf import records
from glassstack.collectors.bpf.calls import Calls
from glassstack.collectors.bpf.functions import Functions
from glassstack.collectors.bpf.loading import BpfError, prepare
from glassstack.collectors.bpf.options import Options
from glassstack.collectors.bpf.reader import Reader
from glassstack.collectors.bpf.records import Item
from glassstack.collectors.bpf.watch import Watch
from glassstack.collectors.tracer.launch import Dispositions, Held, LaunchError, launch, launch_embedded
from glassstack.collectors.wire import WireWriter
from glassstack.model.events import Failed, Process
from glassstack.model.values import Source

FAILED, NO_PRIVILEGE, NOT_EXECUTABLE, NOT_FOUND = 1, 4, 126, 127
NAME = "bpf"
_IDLE_S, _BUSY_BYTES = 0.01, 512 << 10
_GRACE_S = 2.0
_EAGER = -10
"""It works in short turns, and what it does not read in time is lost."""
_MUTE = signal.SIGUSR1
_OBEYED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, _MUTE)


class Service:
    """The BPF process of one session.

    Args:
        options: what to do.
        wire_fd: where events go.
        dispositions: what the terminal's signals were set to before they were ignored.
    """

    def __init__(self, options: Options, wire_fd: int, dispositions: Dispositions) -> None:
        self._options = options
        self._dispositions = dispositions
        self._signals: list[int] = []
        self.wire = WireWriter[Item](wire_fd, lambda: bool(self._signals), records.encode)
        self._held: Held | None = None
        self._child = 0
        """The process to wait for: the launched program, or the launcher that hosts it."""
        self._deadline: float | None = None
        self._muted = False

    def run(self) -> int:
        """Serves to the end; returns the exit code, 0 unless the work could not begin."""
        for number in _OBEYED:
            if number == signal.SIGINT or signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, lambda received, _: self._signals.append(received))
        try:
            reader = self._begin()
        except (BpfError, LaunchError) as error:
            if self._held is not None:
                self._held.kill()
            if error.cause:
                self._fail(error.cause, error.remedy)
            return error.code if isinstance(error, LaunchError) else NO_PRIVILEGE
        while self._tick(reader):
            pass
        reader.drain()
        code = self._code()
        self.wire.close()
        reader.close()
        return code

    def _fail(self, cause: str, remedy: str = "") -> None:
        self.wire.write([Failed(time.monotonic_ns(), Source.SELF, NAME, cause, remedy)])

    # --- beginning --------------------------------------------------------

    def _begin(self) -> Reader:
        options = self._options
        if options.command:  # first: what we mount for ourselves is none of its business
            self._held = self._launch()
            self._child = self._held.runner or self._held.pid
        launched = self._held.pid if self._held else 0
        with contextlib.suppress(OSError):
            os.nice(_EAGER)
        prepare()
        calls = Calls(options)
        watch = Watch(calls.tables, options.any_node, launched)
        reader = Reader(options, self.wire, calls, watch, launched)
        self._adopt(calls, watch)
        if options.functions:
            reader.count_functions(Functions(options.libraries, follow=not options.count))
        if self._held is not None:
            watch.expect(launched)
            calls.target(launched)
            self._held.release()
        reader.begun()
        return reader

    def _adopt(self, calls: Calls, watch: Watch) -> None:
        for pid in self._options.pids:
            if not os.path.exists(f"/proc/{pid}"):
                raise LaunchError(
                    f"no process with pid {pid}", "`glassstack ps` lists those there are", FAILED
                )
            watch.adopt(pid)
            calls.target(pid)
            self.wire.write([watch.join(pid)])
        if self._options.system or self._options.cgroup:
            for pid in [int(name) for name in os.listdir("/proc") if name.isdigit()]:
                start = watch.adopt(pid)
                if start is not None and self._options.system:
                    self.wire.write([start])

    def _launch(self) -> Held:
        options = self._options
        if options.runner:
            return launch_embedded(
                options.command, options.runner, b"", self._dispositions, options.witness_fd
            )
        return launch(options.command, b"", self._dispositions, 0)

    # --- while it runs ----------------------------------------------------

    def _tick(self, reader: Reader) -> bool:
        """One turn, and a short wait when there was not much to read; false = end now."""
        size = reader.turn()
        self._reap(reader)
        while self._signals:
            self._obey(self._signals.pop(0))
        if not self._muted and not self.wire.check() and self._deadline is None:
            self._deadline = time.monotonic()
        if self._deadline is not None and time.monotonic() >= self._deadline:
            return False
        everybody = self._options.system or self._options.cgroup
        if not everybody and not self._child and not reader.watch.processes:
            return False
        if size < _BUSY_BYTES:
            time.sleep(_IDLE_S)
        return True

    def _reap(self, reader: Reader) -> None:
        """Tells of the launched program's end, once all it did has been told."""
        if not self._child or self._held is None:
            return
        pid, status = os.waitpid(self._child, os.WNOHANG)
        if not pid:
            return
        while reader.pump():
            pass
        self._child = 0
        reader.watch.processes.pop(self._held.pid, None)
        self.wire.write([_exit(self._held.pid, os.waitstatus_to_exitcode(status))])

    def _obey(self, number: int) -> None:
        if number == _MUTE:
            self._muted = True
            self.wire.close()
        elif self._held is None:
            self._deadline = time.monotonic()
        elif number != signal.SIGINT:
            # A launched program got the terminal's SIGINT itself; the others are for us, on its behalf.
            self._deadline = time.monotonic() + _GRACE_S
            self._held.signal(number)

    def _code(self) -> int:
        """The exit code, with a word about an exec that failed."""
        failure = self._held.failure() if self._held is not None and not self._child else 0
        if not failure:
            return 0
        self._fail(f"can't run {self._options.command[0]}: {os.strerror(failure)}")
        return NOT_FOUND if failure == errno.ENOENT else NOT_EXECUTABLE


def _exit(pid: int, code: int) -> Process:
    now = time.monotonic_ns()
    if code >= 0:
        return Process(now, Source.SELF, pid, pid, "exit", status=code)
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = str(-code)
    return Process(now, Source.SELF, pid, pid, "exit", signal=name)
