"""`--gpu` of the commands that launch: the decision as the words of a launcher, or as a command's error."""

import sys

from glassstack.cli.errors import MISSING, CommandError
from glassstack.gpu.choose import NoGpuError, choose


def runner(gpu: str) -> tuple[str, ...]:
    """The launcher for ``gpu``; empty when the program is started as it is.

    Raises:
        CommandError: that GPU is not to be had.
    """
    try:
        decision = choose(gpu)
    except NoGpuError as error:
        raise CommandError(error.cause, error.remedy, MISSING) from error
    if decision.kind == "none" and gpu == "auto":
        print(f"glassstack: no GPU: {decision.reason}", file=sys.stderr)
    # The trace ends with the last process, so the device must last as long.
    return (str(decision.launcher), "--wait-all") if decision.launcher else ()
