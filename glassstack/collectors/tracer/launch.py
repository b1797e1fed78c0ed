"""Starts a program held before its exec, so that the tracer can take hold of it first.

Two ways: through the embedded device's launcher, which takes the filter as a
file, or by a fork of our own. Either way the program keeps the terminal, the
process group and the signal dispositions that it would have had.
"""

import contextlib
import ctypes
import errno
import os
import signal
from collections.abc import Sequence

from glassstack.collectors.tracer import abi
from glassstack.collectors.tracer.environ import environment

# Not kernel's, which comes with python-ptrace: the BPF process must not have that (its licence).
_libc = ctypes.CDLL(None, use_errno=True)

_RESET = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGQUIT,
    signal.SIGHUP,
    signal.SIGTSTP,
    signal.SIGTTIN,
    signal.SIGTTOU,
    signal.SIGUSR1,
)


class LaunchError(Exception):
    """The program could not be started: one line, and the launcher's exit code."""

    def __init__(self, cause: str, remedy: str, code: int) -> None:
        super().__init__(cause)
        self.cause = cause
        self.remedy = remedy
        self.code = code


class _Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("program", ctypes.c_void_p))


class Held:
    """A program that waits to be let go. ``pid`` is its process, ``runner`` our child that hosts it, or 0."""

    def __init__(self, pid: int, runner: int, hold: int, failure: int) -> None:
        self.pid = pid
        self.runner = runner
        self._hold = hold
        self._failure = failure

    def release(self) -> None:
        """Lets it run."""
        with contextlib.suppress(BrokenPipeError):
            # It may have died while it was held; its end is reported like any other.
            os.write(self._hold, b"\n")
        os.close(self._hold)

    def signal(self, number: int) -> None:
        """Sends it a signal; it may be gone already."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Ends it before it has begun."""
        self.signal(signal.SIGKILL)
        os.close(self._hold)

    def failure(self) -> int:
        """Errno of its exec, 0 when it succeeded or the launcher reports itself. To be asked at its end."""
        if self._failure < 0:
            return 0
        data = os.read(self._failure, 4)
        os.close(self._failure)
        self._failure = -1
        return int.from_bytes(data, "little")


Dispositions = dict[signal.Signals, signal.Handlers]


def ignore_terminal_signals() -> Dispositions:
    """Makes terminal keys concern the program alone; returns what a program started now would inherit."""
    ignored = [number for number in _RESET if signal.getsignal(number) is signal.SIG_IGN]
    for number in (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    return {number: signal.SIG_IGN if number in ignored else signal.SIG_DFL for number in _RESET}


def launch(command: Sequence[str], program: bytes, dispositions: Dispositions, nr_seccomp: int) -> Held:
    """Forks the program; it waits, then installs the filter ``program`` (empty: none) and execs.

    Raises:
        LaunchError: no process can be made.
    """
    hold_read, hold_write = os.pipe()
    fail_read, fail_write = os.pipe()
    path = _search(command[0])
    try:
        pid = os.fork()
    except OSError as error:
        raise LaunchError(f"can't fork: {error.strerror}", "", 125) from error
    if pid == 0:
        _child(path, command, program, dispositions, nr_seccomp, hold_read, fail_write)
    os.close(hold_read)
    os.close(fail_write)
    return Held(pid, 0, hold_write, fail_read)


def _search(name: str) -> str:
    """The file that execvp would start, or ``name`` itself."""
    if "/" in name:
        return name
    for folder in os.get_exec_path():
        path = os.path.join(folder, name)
        if os.access(path, os.X_OK) and not os.path.isdir(path):
            return path
    return name


def _child(
    path: str,
    command: Sequence[str],
    program: bytes,
    dispositions: Dispositions,
    nr_seccomp: int,
    hold: int,
    failure: int,
) -> None:
    """The forked child; never returns."""
    try:
        environ = environment()
        for number, disposition in dispositions.items():
            signal.signal(number, disposition)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores these two
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        buffer = ctypes.create_string_buffer(program, len(program))
        fprog = _Filter(len(program) // 8, ctypes.addressof(buffer))
        if not os.read(hold, 1):
            os._exit(125)
        if program:
            _libc.prctl(abi.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
            if _libc.syscall(nr_seccomp, abi.SECCOMP_SET_MODE_FILTER, 0, ctypes.byref(fprog)) != 0:
                raise OSError(ctypes.get_errno(), "seccomp")
        os.execve(path, list(command), environ)
    except OSError as error:
        os.write(failure, (error.errno or errno.EIO).to_bytes(4, "little"))
    finally:
        os._exit(127)


def launch_embedded(
    command: Sequence[str],
    runner: Sequence[str],
    program: bytes,
    dispositions: Dispositions,
    witness_fd: int,
) -> Held:
    """The same through the embedded device's launcher, whose words ``runner`` are.

    Without a filter the launcher gets none; ``witness_fd`` -1 asks for no witness.

    Raises:
        LaunchError: the launcher can't be started or ended before the program began.
    """
    hold_read, hold_write = os.pipe()
    pid_read, pid_write = os.pipe()
    given = {"--hold-fd": hold_read, "--pid-fd": pid_write}
    if program:
        filter_fd = given["--filter-fd"] = os.memfd_create("glassstack-filter", os.MFD_CLOEXEC)
        os.write(filter_fd, program)
        os.lseek(filter_fd, 0, os.SEEK_SET)
    ours = list(given.values())
    if witness_fd >= 0:
        given["--witness-fd"] = witness_fd
    words = [*runner, *(word for option, fd in given.items() for word in (option, str(fd))), "--", *command]
    for fd in given.values():
        os.set_inheritable(fd, True)
    try:
        child = os.posix_spawn(
            runner[0],
            words,
            environment(),
            setsigdef=[number for number, old in dispositions.items() if old == signal.SIG_DFL]
            + [signal.SIGPIPE, signal.SIGXFSZ],
        )
    except OSError as error:
        raise LaunchError(
            f"can't start {runner[0]}: {error.strerror}", "build it: make -C kmod", 125
        ) from error
    finally:
        for fd in ours:
            os.close(fd)
    return Held(_read_pid(pid_read, child), child, hold_write, -1)


def _read_pid(fd: int, runner: int) -> int:
    with os.fdopen(fd, "rb") as file:
        text = file.readline().strip()
    if text.isdigit():
        return int(text)
    _, status = os.waitpid(runner, 0)
    code = os.waitstatus_to_exitcode(status)
    raise LaunchError("", "", code if code > 0 else 125)
