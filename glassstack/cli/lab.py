"""``glassstack lab``: a throw-away VM with the driver in its kernel, for a shell or one command.

Owns the options, the terminal's mode, and the words; booting is ``gpu/lab``.
"""

import argparse
import contextlib
import os
import shutil
import signal
import sys
import termios
import tty
from typing import Any

from glassstack.cli.errors import LAUNCH_FAILED, MISSING, USAGE, CommandError
from glassstack.format.text import plain

BOOT_S = 300.0
SHELL = ("env", "PS1=lab:\\w\\$ ", "bash", "--noprofile", "--norc", "-i")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """--kernel, --memory, --cpus, --no-kvm, -v, COMMAND."""
    cpus = min(os.cpu_count() or 1, 4)
    parser.add_argument("--kernel", metavar="RELEASE", default="", help="default: the newest one installed")
    parser.add_argument("--memory", metavar="MIB", type=int, default=1024, help="of the VM, default 1024")
    parser.add_argument("--cpus", metavar="N", type=int, default=cpus, help=f"of the VM, default {cpus}")
    parser.add_argument("--no-kvm", action="store_true", help="emulate the CPU even where KVM works")
    parser.add_argument("-v", "--verbose", action="store_true", help="show on stderr how it boots")
    parser.add_argument(
        "command",
        nargs=argparse.REMAINDER,
        metavar="COMMAND",
        help="run it instead of a shell and end with its status; "
        "it has a terminal if all of standard input, output and error are one",
    )


def run(args: argparse.Namespace) -> int:
    """Boots, runs, and ends the VM; the status of what ran in it."""
    if args.memory < 256 or args.cpus < 1:
        raise CommandError("the VM needs 256 MiB and one CPU or more", code=USAGE)
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    terminal = all(os.isatty(fd) for fd in range(3 if command else 2))
    if not command and not terminal:
        raise CommandError("a shell needs a terminal", "give a command: glassstack lab -- CMD", USAGE)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    return _boot(args, tuple(command) or SHELL, terminal)


def _end(number: int, _: object) -> None:
    raise SystemExit(128 + number)


def _boot(args: argparse.Namespace, command: tuple[str, ...], terminal: bool) -> int:
    from glassstack.gpu.lab import images, machine, needs, prepare, streams

    try:
        found = needs.find(args.kernel)
        kvm = not args.no_kvm and needs.kvm_works(found, prepare.cache())
        ready = prepare.prepare(found, command, _size() if terminal else None)
        talk = Talk(f"Linux {found.kernel.release} ({'KVM' if kvm else 'emulated'})", args.verbose, terminal)
        if ready.no_driver:
            talk.note(f"no fakegpu module in it: {ready.no_driver}")
        folder = prepare.cache() / "runs"
        vm = machine.Machine(found, ready.job, ready.images, folder, args.memory, args.cpus, kvm)
        with contextlib.closing(vm), contextlib.ExitStack() as while_up:

            def up(seconds: float) -> None:
                talk.ready(seconds)
                if terminal:  # not before: a Ctrl-C ends a boot
                    while_up.enter_context(Terminal(vm))

            carried = streams.Streams(vm, streams.Files(0, 1, 2), terminal, talk.note, up, talk.boot)
            return carried.run(BOOT_S)
    except needs.LabMissingError as error:
        raise CommandError(error.cause, error.remedy, MISSING) from error
    except streams.EscapedError as error:
        raise CommandError("the VM was ended by Ctrl-]", code=128 + signal.SIGKILL) from error
    except (images.ImageError, machine.MachineError, streams.VmEndedError) as error:
        raise CommandError(plain(str(error)), code=LAUNCH_FAILED) from error


def _size() -> tuple[int, int]:
    size = shutil.get_terminal_size()
    return size.lines, size.columns


class Talk:
    """Words about the VM, on stderr; none but notes where stderr is the command's alone.

    Args:
        what: kernel and way of running it.
        verbose: whether the boot is shown.
        terminal: whether a person looks on, in raw mode once it boots.
    """

    def __init__(self, what: str, verbose: bool, terminal: bool) -> None:
        self._verbose, self._terminal = verbose, terminal
        self._end = "\r\n" if terminal else "\n"
        if terminal or verbose:
            escape = "; Ctrl-] three times ends it" if terminal else ""
            print(f"glassstack: booting {what}{escape}", file=sys.stderr)

    def note(self, text: str) -> None:
        """Something that is not as it should be."""
        print(f"glassstack: lab: {plain(text)}", file=sys.stderr, end=self._end, flush=True)

    def ready(self, seconds: float) -> None:
        """It is up."""
        if self._terminal or self._verbose:
            self.note(f"up in {seconds:.1f} s")

    def boot(self, data: bytes) -> None:
        """What the console says before the job has it."""
        if self._verbose:
            sys.stderr.buffer.write(data.replace(b"\n", b"\r\n") if self._terminal else data)
            sys.stderr.flush()


class Terminal:
    """The caller's terminal, raw while the VM has it; the guest is told of a new size."""

    def __init__(self, vm: Any) -> None:
        self._vm = vm
        self._before = termios.tcgetattr(0)

    def __enter__(self) -> None:
        tty.setraw(0)
        signal.signal(signal.SIGWINCH, lambda *_: self._vm.tell("size {} {}".format(*_size())))

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGWINCH, signal.SIG_DFL)
        termios.tcsetattr(0, termios.TCSADRAIN, self._before)
