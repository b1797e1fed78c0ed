"""What happens to tracees apart from their calls: births, execs, signals, group-stops, ends, letting go.

Owns the table of threads. A thread may die at any moment, so every ptrace
request here may fail, and that is normal: its end is reported by wait.
"""

import os
import signal
import time
from collections.abc import Callable

from glassstack.collectors.tracer import abi, kernel
from glassstack.collectors.tracer.tracees import Process, Thread, command_line, kin
from glassstack.model.events import Event
from glassstack.model.events import Process as ProcessEvent
from glassstack.model.values import Source

_BIRTHS = (kernel.EVENT_FORK, kernel.EVENT_VFORK, kernel.EVENT_CLONE)
_STOP_SIGNALS = (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)
_SYSCALL_SIGNAL = signal.SIGTRAP | 0x80


def signal_name(number: int) -> str:
    """ "SIGINT" for 2; "SIGRT_n" or the bare number where there is no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIGRT_{number - 32}" if 32 <= number <= 64 else str(number)


class Stops:
    """The traced threads, and how each stop that is no call is answered.

    Args:
        emit: takes events.
        any_node: every node of /dev counts as a device.
        follow: children of attached processes are traced too.
        each_call: launched programs have no filter of ours.
    """

    def __init__(
        self, emit: Callable[[Event], None], any_node: bool, follow: bool, each_call: bool = False
    ) -> None:
        self._emit = emit
        self._each_call = each_call
        self._any_node = any_node
        self._follow = follow
        self.threads: dict[int, Thread] = {}
        """By tid; only these have their calls looked at."""
        self.processes: dict[int, Process] = {}
        self._unborn: dict[int, Process] = {}
        self.never_ran: int | None = None
        """What the launcher ended with (negative: a signal) when it could not exec the program."""
        self._told_first: set[int] = set()
        """Children whose first stop came before their parent's report of them."""
        self._unwanted: set[int] = set()
        self._early_ends: dict[int, int] = {}
        self._leaving: dict[int, Process] = {}

    # --- joining ----------------------------------------------------------

    def expect(self, pid: int) -> None:
        """``pid`` is seized and about to exec the program that was asked for."""
        self._unborn[pid] = Process(pid, True, self._any_node, self._each_call)

    def adopt(self, pid: int, tids: list[int]) -> None:
        """``tids`` of ``pid`` are seized and run; from their next stop on their calls are seen."""
        process = self.processes[pid] = Process(pid, False, self._any_node)
        for tid in tids:
            self.threads[tid] = Thread(tid, process)
            kernel.ptrace(abi.PTRACE_INTERRUPT, tid, 0, 0)
        known = kin(pid)
        self._say(pid, pid, "start", time.monotonic_ns(), known[1] if known else 0, command_line(pid))
        for tid in tids:
            if tid != pid:
                self._say(pid, tid, "thread", time.monotonic_ns())

    def _say(self, pid: int, tid: int, what: str, now: int, ppid: int = 0, command: str = "") -> None:
        self._emit(ProcessEvent(now, Source.PTRACE, pid, tid, what, ppid, command))

    def _born(self, tid: int, parent: Process | None, is_clone: bool, now: int) -> None:
        """Enters a new thread or process, whichever of it and its parent reported first."""
        relations = kin(tid)
        if relations is None and parent is None:
            return
        if relations is None and parent is not None:
            group, ppid = (parent.pid if is_clone else tid), parent.pid
        elif relations is not None:
            group, ppid = relations.group, relations.parent
        process = self.processes.get(group) or self._new_process(group, parent or self.processes.get(ppid))
        if process is None:
            self._unwanted.add(tid)
            return
        self.threads[tid] = Thread(tid, process)
        self._say(group, tid, "fork" if tid == group else "thread", now, ppid if tid == group else 0)
        early = self._early_ends.pop(tid, None)
        if early is not None and (relations is None or not relations.alive):
            self._ended(tid, early, now)

    def _new_process(self, pid: int, parent: Process | None) -> Process | None:
        """A process that was forked; ``None`` when it is not to be traced."""
        launched = parent is not None and parent.launched
        if not launched and not self._follow:
            return None
        process = self.processes[pid] = Process(
            pid, launched, self._any_node, self._each_call or not launched
        )
        if parent is not None and parent.ranges is not None:
            process.ranges = list(parent.ranges)
        return process

    # --- stops ------------------------------------------------------------

    def handle(self, tid: int, status: int, now: int) -> None:
        """Answers whatever wait said about ``tid`` that is not the entry or return of a known thread."""
        if status & 0xFF != 0x7F:
            self._ended(tid, status, now)
        elif tid in self._leaving:
            self._detach(tid, (status >> 8) & 0xFF, status >> 16, now)
        else:
            self._stopped(tid, (status >> 8) & 0xFF, status >> 16, now)

    def _stopped(self, tid: int, number: int, event: int, now: int) -> None:
        if event in _BIRTHS:
            self._gave_birth(tid, event, now)
        elif event == kernel.EVENT_EXEC:
            self._executed(tid, now)
        elif event == abi.PTRACE_EVENT_STOP:
            self._paused(tid, number, now)
        elif event or number == _SYSCALL_SIGNAL:
            self.resume(tid)
        else:
            self.resume(tid, number)

    def resume(self, tid: int, number: int = 0) -> None:
        """Lets a stopped thread go on, with a signal if one was on its way."""
        thread = self.threads.get(tid)
        each_call = thread is not None and (thread.each_stop or thread.call is not None)
        kernel.ptrace(kernel.SYSCALL if each_call else kernel.CONT, tid, 0, number)

    def _gave_birth(self, tid: int, event: int, now: int) -> None:
        child = kernel.event_message(tid)
        parent = self.threads.get(tid)
        if child in self._told_first:
            self._told_first.discard(child)  # it may even be gone again
        elif child:
            self._born(child, parent.process if parent else None, event == kernel.EVENT_CLONE, now)
        self.resume(tid)

    def _executed(self, tid: int, now: int) -> None:
        """``tid`` is the leader's id now, whichever thread it was; the other threads are gone."""
        first = self._unborn.pop(tid, None)
        process = first or self.processes.get(tid)
        if process is not None:
            for other in process.threads:
                self.threads.pop(other, None)
            process.threads.clear()
            process.executed()
            self.processes[tid] = process
            self.threads[tid] = Thread(tid, process)
            known = kin(tid) if first else None
            what = "start" if first else "exec"
            self._say(tid, tid, what, now, known[1] if known else 0, command_line(tid))
        self.resume(tid)

    def _paused(self, tid: int, number: int, now: int) -> None:
        if number in _STOP_SIGNALS:
            # A group-stop: it stays stopped, as without a tracer, until SIGCONT.
            kernel.ptrace(abi.PTRACE_LISTEN, tid, 0, 0)
            return
        if tid not in self.threads and tid not in self._unborn and tid not in self._unwanted:
            self._told_first.add(tid)
            self._born(tid, None, False, now)
        if tid in self._unwanted:
            self._unwanted.discard(tid)
            kernel.ptrace(kernel.DETACH, tid, 0, 0)
            return
        self.resume(tid)

    def _ended(self, tid: int, status: int, now: int) -> None:
        thread = self.threads.pop(tid, None)
        process = thread.process if thread else None
        if self._unborn.pop(tid, None) is not None:
            self.never_ran = os.waitstatus_to_exitcode(status)
            return
        if process is None:
            if tid in self._unwanted or tid in self._leaving:
                self._unwanted.discard(tid)
                self._leaving.pop(tid, None)
            else:
                self._early_ends[tid] = status
            return
        process.threads.pop(tid, None)
        if tid == process.pid:
            self.processes.pop(tid, None)
        killer = status & 0x7F
        self._emit(
            ProcessEvent(
                now,
                Source.PTRACE,
                process.pid,
                tid,
                "exit",
                status=None if killer else status >> 8,
                signal=signal_name(killer) if killer else None,
            )
        )

    # --- letting go -------------------------------------------------------

    @property
    def launched(self) -> list[int]:
        """Pids of launched processes and their children that live."""
        return [*self._unborn, *(pid for pid, process in self.processes.items() if process.launched)]

    def let_go(self) -> None:
        """Begins to detach from every attached process; each leaves at its next stop, as it was."""
        self._follow = False
        for tid, thread in list(self.threads.items()):
            if not thread.process.launched:
                # Not in `threads` any more: even its calls now come to handle().
                self._leaving[tid] = self.threads.pop(tid).process
                self.processes.pop(thread.process.pid, None)
                kernel.ptrace(abi.PTRACE_INTERRUPT, tid, 0, 0)

    @property
    def leaving(self) -> bool:
        """Some threads have not been let go yet."""
        return bool(self._leaving)

    def _detach(self, tid: int, number: int, event: int, now: int) -> None:
        process = self._leaving.pop(tid)
        if event in _BIRTHS:
            self._unwanted.add(kernel.event_message(tid))
        carried = 0 if event or number == _SYSCALL_SIGNAL else number
        kernel.ptrace(kernel.DETACH, tid, 0, carried)
        if tid == process.pid:
            self._say(tid, tid, "detach", now)
