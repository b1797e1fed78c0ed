"""One run of the tracer: starts or attaches, serves, and ends so that no program is left stuck.

An attached program goes on as before, whatever happens to the tracer. A
launched one carries a filter that only works while it is traced, so it never
outlives the tracer: either it is traced to its end or it is killed with it.
"""

import errno
import os
import signal
import time

from glassstack.collectors.tracer import abi, kernel
from glassstack.collectors.tracer.attach import AttachError, attach
from glassstack.collectors.tracer.bpf import device_filter
from glassstack.collectors.tracer.calls import Item, encode
from glassstack.collectors.tracer.entry import handlers
from glassstack.collectors.tracer.inflight import LongCalls
from glassstack.collectors.tracer.launch import Dispositions, Held, LaunchError, launch, launch_embedded
from glassstack.collectors.tracer.loop import Loop
from glassstack.collectors.tracer.options import Options
from glassstack.collectors.tracer.outbox import Outbox, Witness
from glassstack.collectors.tracer.stops import Stops
from glassstack.collectors.wire import WireWriter
from glassstack.model.events import Failed
from glassstack.model.values import Source

FAILED, NO_PRIVILEGE, LAUNCH_FAILED, NOT_EXECUTABLE, NOT_FOUND = 1, 4, 125, 126, 127
_GRACE_S = 2.0
_NICE = 5
_MUTE = signal.SIGUSR1
_OBEYED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, _MUTE)


class Service:
    """The tracer of one session.

    Args:
        options: what to do.
        wire_fd: where events go.
        witness: the embedded device's account, with its descriptor, when the device is used.
        dispositions: what the terminal's signals were set to before the tracer ignored them.
    """

    def __init__(
        self, options: Options, wire_fd: int, witness: Witness | None, dispositions: Dispositions
    ) -> None:
        machine = abi.machine()
        if machine is None:
            raise LaunchError(
                "this processor's syscalls are not known", "x86-64 and aarch64 are", NO_PRIVILEGE
            )
        self._machine = machine
        self._options = options
        self._dispositions = dispositions
        self._witness = witness
        self._signals: list[int] = []
        self._deadline: float | None = None
        self._muted = False
        self._held: Held | None = None
        self.wire = WireWriter[Item](wire_fd, lambda: bool(self._signals), encode)
        self._outbox = Outbox(self.wire, witness)
        self._stops = Stops(self._outbox.add, options.any_node, options.follow, options.each_call)
        self._handlers = handlers(machine)
        number = machine.calls["ioctl"]
        self._long_calls = LongCalls(self._handlers[number] if witness else None, number)

    def run(self) -> int:
        """Serves to the end; returns the exit code, 0 unless the work could not begin."""
        for number in _OBEYED:
            if number == signal.SIGINT or signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, lambda received, _: self._signals.append(received))
        try:
            self._begin()
        except (LaunchError, AttachError) as error:
            self._fail(error.cause, error.remedy)
            return error.code
        Loop(self._stops, self._outbox, self._handlers, self._tick).run()
        self._tell_long_calls(at_once=True)
        code = self._never_ran()
        self._outbox.flush(everything=True)
        self.wire.close()
        return code

    def _never_ran(self) -> int:
        """Exit code for a program that could not be executed, 0 when it could."""
        failure = self._held.failure() if self._held else 0
        if failure:
            self._fail(f"can't run {self._options.command[0]}: {os.strerror(failure)}", "")
            return NOT_FOUND if failure == errno.ENOENT else NOT_EXECUTABLE
        ended = self._stops.never_ran
        if ended is None:
            return 0
        if ended < 0:
            self._fail(f"the launcher was killed by signal {-ended}", "")
        return ended if ended > 0 else LAUNCH_FAILED

    def _fail(self, cause: str, remedy: str) -> None:
        if cause:
            self._outbox.add(Failed(time.monotonic_ns(), Source.SELF, "tracer", cause, remedy))
        self._outbox.flush(everything=True)

    # --- beginning --------------------------------------------------------

    def _begin(self) -> None:
        for pid in self._options.pids:
            group, tids = attach(pid, self._options.follow)
            self._stops.adopt(group, tids)
        if self._options.command:
            self._held = self._launch()

    def _launch(self) -> Held:
        command, runner = self._options.command, self._options.runner
        program = b"" if self._options.each_call else device_filter(self._machine)
        if runner and self._witness is not None:
            held = launch_embedded(command, runner, program, self._dispositions, self._witness.fd)
        else:
            held = launch(command, program, self._dispositions, self._machine.seccomp)
        number = kernel.seize(held.pid, kernel.BASE_OPTIONS | kernel.FORK_OPTIONS | kernel.LAUNCH_OPTIONS)
        if number:
            # Never let it run with the filter and no tracer: its device calls would fail.
            held.kill()
            raise LaunchError(
                f"can't trace {command[0]}: {os.strerror(number)}",
                "ptrace is refused here (a container's seccomp profile, or another tracer); use `--gpu none`"
                if runner
                else "ptrace is refused here: allow it in the container (--cap-add=SYS_PTRACE)",
                LAUNCH_FAILED,
            )
        self._stops.expect(held.pid)
        held.release()
        if held.runner:
            # The device sees its calls without a stop: what is left to do here may wait for the program.
            os.nice(_NICE)
        return held

    # --- while it runs ----------------------------------------------------

    def _tick(self) -> bool:
        """Sends what is ripe, obeys signals and a lost reader; false = end now."""
        self._tell_long_calls()
        self._outbox.flush()
        while self._signals:
            self._obey(self._signals.pop(0))
        if not self._muted and not self.wire.check() and self._deadline is None:
            self._end(now=True)
        if self._deadline is None:
            return True
        if not self._stops.leaving and not self._stops.threads and self._held is None:
            return False
        return time.monotonic() < self._deadline

    def _tell_long_calls(self, at_once: bool = False) -> None:
        changed = self._long_calls.look(self._stops.threads.values(), at_once)
        if changed is not None:
            self._outbox.add(changed)

    def _obey(self, number: int) -> None:
        if number == _MUTE:
            self._mute()
        elif self._held is None:
            self._end(now=False)
        elif number != signal.SIGINT:
            # A launched program got the terminal's SIGINT itself; the others are for us, on its behalf.
            self._end(now=False)
            self._held.signal(number)

    def _mute(self) -> None:
        """Nobody listens any more; a launched program is served to its end, without being looked at."""
        self._muted = True
        self._handlers.clear()
        self.wire.close()
        self._stops.let_go()

    def _end(self, now: bool) -> None:
        """Lets attached programs go; launched ones end by themselves within the grace time, or with us."""
        self._stops.let_go()
        launched = self._held is not None
        self._deadline = time.monotonic() + (
            0.0 if now and launched and not self._stops.leaving else _GRACE_S
        )
