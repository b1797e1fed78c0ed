"""The tracer process: `python -m glassstack.collectors.tracer --wire-fd N [OPTIONS] [-- COMMAND…]`.

Prints nothing: its streams are the traced program's. What goes wrong is an
event on the wire and an exit code.
"""

import argparse
import importlib
import sys

from glassstack.collectors.tracer.launch import LaunchError, ignore_terminal_signals
from glassstack.collectors.tracer.options import Options
from glassstack.collectors.tracer.outbox import Witness
from glassstack.collectors.tracer.service import Service


def _parse(argv: list[str]) -> tuple[int, Options]:
    mark = argv.index("--") if "--" in argv else len(argv)
    parser = argparse.ArgumentParser(prog="glassstack.collectors.tracer")
    parser.add_argument("--wire-fd", type=int, required=True)
    parser.add_argument("--pid", type=int, action="append", default=[])
    parser.add_argument("--runner", action="append", default=[])
    parser.add_argument("--no-follow", action="store_true")
    parser.add_argument("--any-node", action="store_true")
    parser.add_argument("--each-call", action="store_true")
    args = parser.parse_args(argv[:mark])
    options = Options(
        command=tuple(argv[mark + 1 :]),
        pids=tuple(args.pid),
        runner=tuple(args.runner),
        follow=not args.no_follow,
        any_node=args.any_node,
        each_call=args.each_call,
    )
    return args.wire_fd, options


def _witness(options: Options) -> Witness | None:
    if not options.runner:
        return None
    module = importlib.import_module("glassstack.collectors.witness")
    made: Witness = module.Witness()
    return made


def main(argv: list[str] | None = None) -> int:
    """Runs the tracer; returns its exit code."""
    wire_fd, options = _parse(sys.argv[1:] if argv is None else argv)
    dispositions = ignore_terminal_signals()
    try:
        return Service(options, wire_fd, _witness(options), dispositions).run()
    except LaunchError as error:
        return error.code


if __name__ == "__main__":
    sys.exit(main())
