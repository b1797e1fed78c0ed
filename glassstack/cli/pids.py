"""Commands that look at some processes, or at all that use a GPU: the PID… argument and who is left.

Owns what happens when a watched process ends or can't be looked into.
"""

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

from glassstack.cli.errors import CommandError
from glassstack.cli.repeat import Gone, require_process
from glassstack.collectors.maps import Maps
from glassstack.collectors.memory import GoneError, UnreadableError


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 2**31:
        raise argparse.ArgumentTypeError(f"not a process id: {text!r}")
    return int(text)


def add_pids_argument(parser: argparse.ArgumentParser) -> None:
    """Adds PID…, none meaning every process that maps a GPU."""
    parser.add_argument(
        "pids", metavar="PID", type=_number, nargs="*", help="processes (default: all that map a GPU)"
    )


class Watched:
    """The processes of a command: the named ones that are left, or all that map a GPU now.

    Attributes:
        unreadable: how many could not be looked into in the search for users of a GPU.
    """

    def __init__(self, pids: list[int], proc: Path = Path("/proc")) -> None:
        self._named = list(dict.fromkeys(pids))
        self._all = not pids
        self._maps = Maps(proc)
        self._proc = proc
        self._looks = 0
        self.unreadable = 0

    def look(self, read: Callable[[int], object]) -> list[int]:
        """The pids that ``read`` (which may raise UnreadableError) can look into.

        Raises:
            Gone: a named process is not there at the first look, or the last one has ended.
            CommandError: a named process can't be looked into.
        """
        self._looks += 1
        if self._all:
            found, self.unreadable = self._maps.users()
            return [pid for pid in found if self._readable(pid, read)]
        for pid in list(self._named):
            try:
                require_process(pid, self._proc)
                read(pid)
            except Gone:
                if self._looks == 1:
                    raise
                self._ended(pid, f"process {pid} has ended")
            except GoneError as error:
                self._ended(pid, f"pid {pid}: {error}")
            except UnreadableError as error:
                raise CommandError(f"can't look into pid {pid}: {error}") from error
        return list(self._named)

    def _readable(self, pid: int, read: Callable[[int], object]) -> bool:
        try:
            read(pid)
        except UnreadableError:
            return False
        return True

    def _ended(self, pid: int, cause: str) -> None:
        self._named.remove(pid)
        if not self._named or self._looks == 1:
            raise Gone(cause)
        print(f"glassstack: {cause}", file=sys.stderr)

    def note(self) -> list[str]:
        """What the search could not see, as lines to show."""
        if not self.unreadable:
            return []
        who = "1 process" if self.unreadable == 1 else f"{self.unreadable} processes"
        remedy = "; root sees more" if os.geteuid() else ""
        return ["", f"{who} could not be looked into{remedy}"]
