"""`glassstack trace --from FILE`: a strace log, each device call named and explained."""

import argparse
import gc
import sys
from collections.abc import Callable

from glassstack.cli.errors import FAILED, OK, USAGE, CommandError
from glassstack.cli.inputs import required_log
from glassstack.cli.trace_filter import parse
from glassstack.cli.trace_sinks import Sink
from glassstack.collectors.strace_log import LogError
from glassstack.model.events import Syscall
from glassstack.store.recording import RecordingError


def run(args: argparse.Namespace, sinks: Callable[[str], list[Sink]]) -> int:
    """Reads the log through the outputs that were asked for; what it can't show is said on stderr."""
    if args.pid or args.command or args.cgroup or args.system:
        raise CommandError("--from reads a log: nothing is traced", "leave out COMMAND and -p", USAGE)
    shown = parse(args.expr)[0] if args.expr else None
    log = required_log(args.log)
    outputs = sinks(log.title)
    gc.disable()  # nothing on this path makes cycles
    try:
        for batch in log.read():
            wanted = batch
            if shown is not None:
                wanted = [event for event in batch if not isinstance(event, Syscall) or shown(event)]
            for sink in outputs:
                sink.write(wanted)
        for sink in outputs:
            sink.close()
    except (LogError, RecordingError) as error:
        raise CommandError(str(error), code=FAILED) from error
    finally:
        gc.enable()
    sys.stdout.flush()
    for line in log.said():
        print(f"glassstack: {line}", file=sys.stderr)
    return OK
