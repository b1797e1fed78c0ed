"""``glassstack diagnose [FILE… | -]``: the cause in what was pasted, its proof, and the next step.

Owns the arguments and the exit code: 0 nothing wrong found, 1 a finding, 4 nothing readable.
"""

import argparse
import json
import sys

from glassstack.cli.errors import FAILED, MISSING, OK, USAGE, CommandError
from glassstack.diagnose import report
from glassstack.diagnose.gather import Look, gather
from glassstack.diagnose.verdict import Verdict, judge


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """FILE…, --json, --markdown."""
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="logs, output of commands, configuration, also .gz and .tar; - or nothing: standard input",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one object on stdout")
    form.add_argument("--markdown", action="store_true", help="to paste into a ticket")


def run(args: argparse.Namespace) -> int:
    """Reads, judges, prints."""
    if not args.files and sys.stdin.isatty():
        raise CommandError(
            "nothing to diagnose", "name files, or pipe a log in: dmesg | glassstack diagnose", USAGE
        )
    look = gather(args.files or ["-"])
    verdict = judge(look.evidence)
    if not look.readable:
        raise CommandError(f"nothing could be read: {'; '.join(look.notes)}", "", MISSING)
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    print(shown(args, look, verdict))
    return FAILED if verdict.findings else OK


def shown(args: argparse.Namespace, look: Look, verdict: Verdict) -> str:
    """The report in the form asked for."""
    if args.json:
        return json.dumps(report.as_json(look, verdict))
    lines = report.markdown(look, verdict) if args.markdown else report.text(look, verdict)
    return "\n".join(lines)
