"""Starts a BPF process and holds the other end of its wire. Does not import bcc."""

from typing import IO

from glassstack.collectors.bpf import records
from glassstack.collectors.bpf.options import Options
from glassstack.collectors.bpf.records import Item
from glassstack.collectors.helper import Helper
from glassstack.model.events import Event


def _words(options: Options) -> list[str]:
    words = [f"--pid={pid}" for pid in options.pids]
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


class Probe(Helper[Item]):
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
        super().__init__(
            "glassstack.collectors.bpf.__main__", _words(options), records.decode, stdin, stdout, stderr
        )
        self._nodes = dict(records.NODES)

    def read(self, timeout: float) -> list[Event] | None:
        """Next events, waiting at most ``timeout`` seconds; ``[]`` nothing yet, ``None`` it is over."""
        batch = self.read_raw(timeout)
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
