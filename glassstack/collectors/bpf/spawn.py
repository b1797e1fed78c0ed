"""Starts a BPF process and holds the other end of its wire. Does not import bcc."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO

from glassstack.collectors.bpf import records
from glassstack.collectors.bpf.options import Options
from glassstack.collectors.bpf.records import Item
from glassstack.collectors.tracer.environ import environment
from glassstack.collectors.wire import WireReader
from glassstack.model.events import Event

_ROOT = str(Path(__file__).resolve().parents[3])
# Not -m: that finds the package only where it is installed or in the current directory.
_START = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from glassstack.collectors.bpf.__main__ import main; sys.exit(main())"
)


def _words(options: Options, wire_fd: int) -> list[str]:
    words = [sys.executable, "-P", "-c", _START, _ROOT, f"--wire-fd={wire_fd}"]
    words += [f"--pid={pid}" for pid in options.pids]
    words += [f"--runner={word}" for word in options.runner]
    words += [f"--library={path}" for path in options.libraries]
    words += [f"--period={options.period}", f"--ring-mib={options.ring_mib}"]
    if options.cgroup:
        words.append(f"--cgroup={options.cgroup}")
    flags = {
        "--system": options.system,
        "--no-follow": not options.follow,
        "--any-node": options.any_node,
        "--count": options.count,
        "--functions": options.functions,
    }
    words += [flag for flag, given in flags.items() if given]
    return [*words, "--", *options.command] if options.command else words


class Probe:
    """A running BPF process.

    Args:
        options: what it does.
        stdin, stdout, stderr: for the launched program, as subprocess.Popen takes them.

    Attributes:
        process: the process itself; its exit code is 0, or why it could not begin: 1 no such process,
            4 BPF can't be used here, 125/126/127 as launchers do.
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
        self._wire = WireReader[Item](reading, records.decode)
        self._nodes = dict(records.NODES)

    def read(self, timeout: float) -> list[Event] | None:
        """Next events, waiting at most ``timeout`` seconds; ``[]`` nothing yet, ``None`` it is over."""
        batch = self._wire.read(timeout)
        if batch is None:
            return None
        events: list[Event] = []
        for item in batch:
            if isinstance(item, records.Block):
                self._nodes.update(item.nodes)
                events += records.calls_of(item.data, self._nodes)
            else:
                events.append(item)
        return events

    def read_raw(self, timeout: float) -> list[Item] | None:
        """The same without making events of the records: see ``records``."""
        return self._wire.read(timeout)

    def stop(self) -> None:
        """Asks it to end: it leaves what it watches alone, a launched program gets SIGTERM."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)

    def mute(self) -> None:
        """Leaves it alone with a launched program, without saying anything more."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGUSR1)

    def close(self) -> int:
        """Lets go of the wire and waits for its end, which then is near; returns its exit code."""
        self._wire.close()
        return self.process.wait()
