"""Starts a tracer and holds the other end of its wire. Does not import python-ptrace."""

from typing import IO

from glassstack.collectors.device_kernel import nvidia_version
from glassstack.collectors.helper import Helper
from glassstack.collectors.tracer.calls import Item, decode, event_of
from glassstack.collectors.tracer.options import Options
from glassstack.decoders.nvidia.objects import Objects
from glassstack.decoders.registry import use_driver
from glassstack.model.events import Event


def _words(options: Options) -> list[str]:
    words = [f"--pid={pid}" for pid in options.pids]
    words += [f"--runner={word}" for word in options.runner]
    if not options.follow:
        words.append("--no-follow")
    if options.any_node:
        words.append("--any-node")
    if options.each_call:
        words.append("--each-call")
    return [*words, "--", *options.command] if options.command else words


class Tracer(Helper[Item]):
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
        super().__init__(
            "glassstack.collectors.tracer.__main__", _words(options), decode, stdin, stdout, stderr
        )
        self._objects = Objects()
        use_driver(nvidia_version())

    def read(self, timeout: float) -> list[Event] | None:
        """Next events, waiting at most ``timeout`` seconds; ``[]`` nothing yet, ``None`` it is over."""
        batch = self.read_raw(timeout)
        if batch is None:
            return None
        see = self._objects.see
        return [see(event_of(item)) if isinstance(item, tuple) else item for item in batch]
