"""Starts a tracer and holds the other end of its wire. Does not import python-ptrace."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO

from glassstack.collectors.tracer.calls import decode, event_of
from glassstack.collectors.tracer.environ import environment
from glassstack.collectors.tracer.options import Options
from glassstack.collectors.wire import WireReader
from glassstack.model.events import Event

_ROOT = str(Path(__file__).resolve().parents[3])
# Not -m: that finds the package only where it is installed or in the current directory.
_START = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from glassstack.collectors.tracer.__main__ import main; sys.exit(main())"
)


def _words(options: Options, wire_fd: int) -> list[str]:
    words = [sys.executable, "-P", "-c", _START, _ROOT, f"--wire-fd={wire_fd}"]
    words += [f"--pid={pid}" for pid in options.pids]
    words += [f"--runner={word}" for word in options.runner]
    if not options.follow:
        words.append("--no-follow")
    if options.any_node:
        words.append("--any-node")
    if options.each_call:
        words.append("--each-call")
    return [*words, "--", *options.command] if options.command else words


class Tracer:
    """A running tracer.

    Args:
        options: what it does.
        stdin, stdout, stderr: for the launched program, as subprocess.Popen takes them.

    Attributes:
        process: the tracer itself; its exit code is 0, or why it could not begin:
            1 no such process, 4 not permitted, 125/126/127 as launchers do.
    """

    def __init__(
        self,
        options: Options,
        stdin: int | IO[bytes] | None = None,
        stdout: int | IO[bytes] | None = None,
        stderr: int | IO[bytes] | None = None,
    ) -> None:
        reading, writing = os.pipe()
        try:
            self.process = subprocess.Popen(
                _words(options, writing),
                pass_fds=(writing,),
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                env=environment(),
            )
        except OSError:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        self._wire = WireReader(reading, decode)

    def read(self, timeout: float) -> list[Event] | None:
        """Next events, waiting at most ``timeout`` seconds; ``[]`` nothing yet, ``None`` it is over."""
        batch = self._wire.read(timeout)
        if batch is None:
            return None
        return [event_of(item) if isinstance(item, tuple) else item for item in batch]

    def stop(self) -> None:
        """Asks it to end: attached programs are let go, a launched one gets SIGTERM, then SIGKILL."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)

    def mute(self) -> None:
        """Leaves it alone with a launched program, which it serves to its end without saying anything."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGUSR1)

    def close(self) -> int:
        """Lets go of the wire and waits for its end, which then is near; returns its exit code."""
        self._wire.close()
        return self.process.wait()
