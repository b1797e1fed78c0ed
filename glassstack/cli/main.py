"""Entry point: finds the command, runs it, turns its errors into one line and an exit code."""

import argparse
import importlib
import os
import signal
import sys
from collections.abc import Sequence

from glassstack import __version__
from glassstack.cli.errors import FAILED, CommandError
from glassstack.cli.table import COMMANDS
from glassstack.cli.trace_source import add_source_argument

EPILOG = "exit codes: 0 ok, 1 check failed, 2 usage, 4 prerequisite missing, 125/126/127 as launchers do"


def _overview() -> argparse.ArgumentParser:
    lines = "\n".join(f"  {name:<9} {text}" for name, (_, text) in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="glassstack",
        usage="glassstack [--source SOURCE] | COMMAND [ARGS…]",
        description="See the GPU software stack of any process, live.\n\n"
        f"commands (none: the TUI with a demo on a stand-in GPU):\n{lines}",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"glassstack {__version__}")
    add_source_argument(parser)
    return parser


def _command_parser(name: str) -> tuple[argparse.ArgumentParser, object]:
    module_name, text = COMMANDS[name]
    module = importlib.import_module(module_name)
    parser = argparse.ArgumentParser(prog=f"glassstack {name}", description=text, epilog=EPILOG)
    module.add_arguments(parser)
    return parser, module


def _dispatch(argv: Sequence[str]) -> int:
    if argv and argv[0] in COMMANDS:
        parser, module = _command_parser(argv[0])
        return int(module.run(parser.parse_args(argv[1:])))  # type: ignore[attr-defined]
    args = _overview().parse_args(argv)
    home = importlib.import_module("glassstack.cli.home")
    return int(home.run(args))


def main(argv: Sequence[str] | None = None) -> int:
    """Runs glassstack; returns its exit code."""
    try:
        return _dispatch(sys.argv[1:] if argv is None else argv)
    except CommandError as error:
        print(f"glassstack: {error}", file=sys.stderr)
        return error.code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


if __name__ == "__main__":
    sys.exit(main())
