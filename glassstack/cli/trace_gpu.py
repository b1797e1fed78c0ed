"""`--gpu`: which GPU a launched program gets, as the words of the launcher that provides it."""

import stat
import sys
from pathlib import Path

from glassstack.cli.errors import MISSING, CommandError

GPUS = ("auto", "embedded", "kernel", "none")
_KERNEL_NODES = ("/dev/fakegpu0", "/dev/nvidia0")


def _kernel_node() -> str:
    """A GPU node of the kernel's own, "" where there is none."""
    for node in _KERNEL_NODES:
        try:
            if stat.S_ISCHR(Path(node).stat().st_mode):
                return node
        except OSError:
            continue
    return ""


def _embedded() -> tuple[str, ...]:
    path = Path(__file__).resolve().parents[2] / "build/bin/fakegpu-run"
    return (str(path),) if path.exists() else ()


def runner(gpu: str) -> tuple[str, ...]:
    """The launcher for ``gpu``; empty when the program is started as it is.

    Raises:
        CommandError: that GPU is not to be had.
    """
    if gpu == "none":
        return ()
    if gpu in ("auto", "kernel") and _kernel_node():
        return ()
    if gpu == "kernel":
        raise CommandError("no GPU node of the kernel", "load a driver, or use --gpu embedded", MISSING)
    words = _embedded()
    if not words and gpu == "embedded":
        raise CommandError("the embedded GPU is not built", "make -C kmod", MISSING)
    if not words:
        print("glassstack: no GPU here: the embedded one is not built (make -C kmod)", file=sys.stderr)
    return words
