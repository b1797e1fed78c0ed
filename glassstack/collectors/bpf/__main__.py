"""The BPF process: `python -m glassstack.collectors.bpf --wire-fd N [OPTIONS] [-- COMMAND…]`.

Prints nothing of its own: its streams are the launched program's. What goes
wrong is an event on the wire and an exit code.
"""

import argparse
import sys

from glassstack.collectors.bpf.options import Options
from glassstack.collectors.bpf.service import Service
from glassstack.collectors.tracer.launch import LaunchError, ignore_terminal_signals


def _parse(argv: list[str]) -> tuple[int, Options]:
    mark = argv.index("--") if "--" in argv else len(argv)
    parser = argparse.ArgumentParser(prog="glassstack.collectors.bpf")
    parser.add_argument("--wire-fd", type=int, required=True)
    parser.add_argument("--pid", type=int, action="append", default=[])
    parser.add_argument("--cgroup", default="")
    parser.add_argument("--system", action="store_true")
    parser.add_argument("--runner", action="append", default=[])
    parser.add_argument("--no-follow", action="store_true")
    parser.add_argument("--any-node", action="store_true")
    parser.add_argument("--count", action="store_true")
    parser.add_argument("--functions", action="store_true")
    parser.add_argument("--stack", action="store_true")
    parser.add_argument("--library", action="append", default=[])
    parser.add_argument("--period", type=float, default=Options().period)
    parser.add_argument("--ring-mib", type=int, default=Options().ring_mib)
    parser.add_argument("--witness-fd", type=int, default=Options().witness_fd)
    args = parser.parse_args(argv[:mark])
    options = Options(
        command=tuple(argv[mark + 1 :]),
        pids=tuple(args.pid),
        cgroup=args.cgroup,
        system=args.system,
        runner=tuple(args.runner),
        follow=not args.no_follow,
        any_node=args.any_node,
        count=args.count,
        functions=args.functions,
        libraries=tuple(args.library),
        stack=args.stack,
        period=args.period,
        ring_mib=args.ring_mib,
        witness_fd=args.witness_fd,
    )
    return args.wire_fd, options


def main(argv: list[str] | None = None) -> int:
    """Runs the BPF process; returns its exit code."""
    wire_fd, options = _parse(sys.argv[1:] if argv is None else argv)
    dispositions = ignore_terminal_signals()
    try:
        return Service(options, wire_fd, dispositions).run()
    except LaunchError as error:
        return error.code


if __name__ == "__main__":
    sys.exit(main())
