"""A helper process of ours and the other end of its wire: started, asked to end, waited for."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Generic, TypeVar

from glassstack.collectors.tracer.environ import environment
from glassstack.collectors.wire import WireReader

T = TypeVar("T")

_ROOT = str(Path(__file__).resolve().parents[2])
# Not -m: that finds the package only where it is installed or in the current directory.
_START = "import sys; sys.path.insert(0, sys.argv.pop(1)); from {} import main; sys.exit(main())"


class Helper(Generic[T]):
    """A running helper; items of type T come over its wire.

    Args:
        module: has the ``main`` that it runs.
        words: of its command line, without the wire.
        decode: a frame of the wire to items.
        stdin, stdout, stderr: for the program it launches, as subprocess.Popen takes them.
        fds: descriptors that it gets, under the same numbers.

    Attributes:
        process: the helper itself.
    """

    def __init__(
        self,
        module: str,
        words: Sequence[str],
        decode: Callable[[bytes], list[T]],
        stdin: int | IO[bytes] | None = None,
        stdout: int | IO[bytes] | None = None,
        stderr: int | IO[bytes] | None = None,
        fds: Sequence[int] = (),
    ) -> None:
        reading, writing = os.pipe()
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-c", _START.format(module), _ROOT, f"--wire-fd={writing}", *words],
                pass_fds=(writing, *fds),
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
        self._wire = WireReader[T](reading, decode)

    def read_raw(self, timeout: float) -> list[T] | None:
        """Next items, waiting at most ``timeout`` seconds; ``[]`` nothing yet, ``None`` it is over."""
        return self._wire.read(timeout)

    def stop(self) -> None:
        """Asks it to end: what it attached to is let go, a launched program gets SIGTERM."""
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
