"""`glassstack trace`: device calls of a program as lines, NDJSON, a table or a recording, like strace."""

import argparse
import contextlib
import os
import resource
import signal
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from glassstack.cli import trace_log
from glassstack.cli.errors import FAILED, LAUNCH_FAILED, OK, USAGE, CommandError
from glassstack.cli.launching import add_launch_arguments, command_of, launch_on
from glassstack.cli.repeat import pid_of
from glassstack.cli.trace_filter import Filter, parse
from glassstack.cli.trace_sinks import CountSink, JsonSink, Sink, TextSink, open_recording, open_text
from glassstack.cli.trace_source import add_source_argument, source_of
from glassstack.collectors.bpf.options import Options as ProbeOptions
from glassstack.collectors.bpf.spawn import Probe
from glassstack.collectors.tracer.options import Options
from glassstack.collectors.tracer.spawn import Tracer
from glassstack.gpu.artifacts import libraries
from glassstack.model.events import Event, Failed, Process, Syscall
from glassstack.store.recording import SUFFIX, RecordingError

_NICE = 5
"""Where processors are short, what we do with the events must not slow down the traced program."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds trace's options."""
    parser.usage = "glassstack trace [OPTIONS] [-p PID]… [--] [COMMAND…]"
    parser.add_argument("-f", "--follow", action="store_true", help="show child processes too")
    parser.add_argument("-p", "--pid", type=pid_of, action="append", default=[], help="attach to a process")
    parser.add_argument(
        "-e",
        "--expr",
        metavar="FILTER",
        action="append",
        default=[],
        help="names (ioctl,mmap or ALLOC,SUBMIT), !names, errno (failures only), "
        "trace=names (on any file, as strace does)",
    )
    parser.add_argument(
        "--from",
        dest="log",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="read a strace log instead (- is stdin; a folder or several files of -ff)",
    )
    parser.add_argument("-c", "--summary", action="store_true", help="a table of counts and durations")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        help="write to FILE instead: the lines, with --json the NDJSON, with -c the table; "
        f"*{SUFFIX} records, besides what else is asked for",
    )
    parser.add_argument("--json", action="store_true", help="NDJSON on stdout, or in the FILE of -o")
    parser.add_argument("--plain", action="store_true", help="no colours on a terminal")
    parser.add_argument("--explain", action="store_true", help="in plain words, at the first call of a kind")
    parser.add_argument("--all-ioctls", action="store_true", help="every ioctl, and calls on all of /dev")
    add_source_argument(parser)
    parser.add_argument("--cgroup", metavar="DIR", help="all processes of a cgroup v2, with eBPF")
    parser.add_argument("--system", action="store_true", help="all processes, with eBPF")
    parser.add_argument(
        "--launches",
        action="store_true",
        help="with eBPF: some launches followed from the API to their fence",
    )
    parser.add_argument(
        "--stack",
        action="store_true",
        help="with eBPF: the functions that led to each call, by frame pointers",
    )
    add_launch_arguments(parser)


def _sinks(args: argparse.Namespace, title: str) -> list[Sink]:
    recording = args.output is not None and args.output.suffix == SUFFIX
    sinks: list[Sink] = [open_recording(args.output, title)] if recording else []
    file = None if recording or args.output is None else open_text(args.output)
    if args.json:
        sinks.append(JsonSink((None if args.summary else file) or sys.stdout.buffer))
    # A log has no program whose stdout is its own.
    out = file or (sys.stdout.buffer if args.log else sys.stderr.buffer)
    if args.summary:
        sinks.append(CountSink(out))
    elif not (args.json or recording):
        explain = args.explain or bool(args.log)
        sinks.append(TextSink(out, args.follow or bool(args.log), args.plain, explain))
    return sinks


class _Run:
    """One trace as it goes: what the program became, and which outputs still take something."""

    def __init__(self, sinks: list[Sink], shown: Filter, follow: bool) -> None:
        self._sinks = sinks
        self._shown = shown
        self._follow = follow
        self._first: set[int] = set()
        self._launched = 0
        self.end: Process | None = None
        self.failure: Failed | None = None
        self.spoilt = False

    def take(self, batch: Sequence[Event]) -> None:
        """Hands on what is to be shown; BrokenPipeError when nobody reads it."""
        for event in batch:
            if isinstance(event, Process):
                self._learn(event)
            elif isinstance(event, Failed) and event.collector in ("tracer", "bpf"):
                self.failure = event
        first, follow, shown = self._first, self._follow, self._shown
        wanted = [
            event
            for event in batch
            if (
                (follow or event.pid in first) and shown(event)
                if isinstance(event, Syscall)
                else follow or not isinstance(event, Process) or event.pid in first
            )
        ]
        for sink in list(self._sinks):
            self._guard(sink, partial(sink.write, wanted))

    def close(self) -> None:
        """Everything has been taken."""
        for sink in list(self._sinks):
            self._guard(sink, sink.close)

    def _guard(self, sink: Sink, act: Callable[[], None]) -> None:
        """An output that fails is given up with one line; the program must not suffer from it."""
        try:
            act()
        except BrokenPipeError:
            raise
        except (OSError, RecordingError) as error:
            self._sinks.remove(sink)
            self.spoilt = True
            cause = f"can't write: {error.strerror}" if isinstance(error, OSError) else str(error)
            print(f"glassstack: {cause}; the program goes on, its trace ends here", file=sys.stderr)

    def _learn(self, event: Process) -> None:
        if event.what == "start":
            # The launched program starts last, after all that were attached to.
            self._first.add(event.pid)
            self._launched = event.pid
        elif event.what == "exit" and event.tid == event.pid == self._launched:
            self.end = event


def _pass_signals_on(tracer: Tracer | Probe, launched: bool) -> None:
    """A terminal's keys are the launched program's; an end asked of us is passed on to the tracer."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda *_: tracer.stop())
    if launched:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGQUIT, signal.SIG_IGN)
    else:
        signal.signal(signal.SIGINT, lambda *_: tracer.stop())


def _starter(
    args: argparse.Namespace, command: tuple[str, ...], any_node: bool
) -> Callable[[], Tracer | Probe]:
    """What will start the tracer or the BPF process; refuses what can't be before any output is opened."""
    wide = bool(args.cgroup or args.system)
    if wide and (command or args.pid or (args.cgroup and args.system)):
        raise CommandError("--cgroup or --system stands alone", "leave out COMMAND and -p", USAGE)
    source = source_of("ebpf" if wide or args.launches or args.stack else args.source)
    launch = launch_on(args.gpu if command else "none")
    pids = tuple(dict.fromkeys(args.pid))
    if source == "ebpf":
        probe = ProbeOptions(
            command,
            pids,
            args.cgroup or "",
            args.system,
            launch.runner,
            args.follow,
            any_node,
            functions=args.launches,
            stack=args.stack,
            libraries=libraries() if args.launches else (),
        )
        return partial(Probe, probe)
    options = Options(
        command=command,
        pids=pids,
        runner=launch.runner,
        each_call=launch.each_call,
        follow=args.follow,
        any_node=any_node,
    )
    return partial(Tracer, options)


def _die_of(name: str) -> int:
    """Ends as the program did, so that a shell says the same."""
    number = signal.Signals[name] if name in signal.Signals.__members__ else signal.SIGKILL
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the core worth keeping is the program's
    sys.stdout.flush()
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    return 128 + number


def _outcome(run: _Run, code: int, launched: bool) -> int:
    if run.failure is not None and code:
        raise CommandError(run.failure.cause, run.failure.remedy, code if code > 0 else LAUNCH_FAILED)
    if code < 0:
        raise CommandError(f"the tracer was killed by signal {-code}", code=LAUNCH_FAILED)
    if code or run.spoilt:
        return code or FAILED
    if not launched or run.end is None:
        return OK
    return _die_of(run.end.signal) if run.end.signal else run.end.status or OK


def run(args: argparse.Namespace) -> int:
    """Traces; returns the program's exit status, or dies of its signal."""
    if args.log:
        return trace_log.run(args, lambda title: _sinks(args, title))
    command = command_of(args.command)
    wide = bool(args.cgroup or args.system)
    if not command and not args.pid and not wide:
        raise CommandError("nothing to trace", "name a COMMAND, or a process with -p PID", USAGE)
    shown, any_node = parse(args.expr)
    start = _starter(args, command, any_node or args.all_ioctls)
    title = " ".join(command) or args.cgroup or ", ".join(f"pid {pid}" for pid in args.pid) or "all processes"
    args.follow = args.follow or wide
    run = _Run(_sinks(args, title), shown, args.follow)
    tracer = start()
    _pass_signals_on(tracer, bool(command))
    os.nice(_NICE)
    try:
        while (batch := tracer.read(60.0)) is not None:
            if batch:
                run.take(batch)
        run.close()
    except BrokenPipeError:
        # As with strace, the program outlives whoever read about it.
        if command:
            tracer.mute()
        raise
    return _outcome(run, tracer.close(), bool(command))
