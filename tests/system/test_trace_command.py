"""`glassstack trace` as a command: exit codes, errors on one line, -c, -o, NDJSON, recordings."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from glassstack.model.codec import decode_line
from glassstack.model.events import Process, Syscall
from glassstack.store.recording import Player
from tests import tracing
from tests.support import ROOT

pytestmark = pytest.mark.ptrace

NONE = ("--gpu", "none")


@pytest.fixture(scope="module")
def mix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tracing.build("trace_mix.c", tmp_path_factory.mktemp("mix"))


@pytest.mark.parametrize("code", [0, 1, 7, 126, 255])
def test_exit_status_is_the_programs(code: int) -> None:
    assert tracing.trace(*NONE, "sh", "-c", f"exit {code}").returncode == code


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGSEGV, signal.SIGKILL])
def test_dies_of_the_programs_signal(number: signal.Signals) -> None:
    done = tracing.trace(*NONE, "--", "sh", "-c", f"kill -{int(number)} $$")
    assert done.returncode == -number
    assert f"+++ killed by {number.name} +++" in done.stderr


def one_line(text: str) -> str:
    assert text.startswith("glassstack: ")
    assert text.count("\n") == 1
    return text


def test_command_that_is_not_there() -> None:
    done = tracing.trace(*NONE, "./no-such-program")
    assert done.returncode == 127
    assert "no such file" in one_line(done.stderr)
    assert tracing.trace(*NONE, "no-such-program-in-path").returncode == 127


def test_command_that_is_not_executable(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("no program")
    done = tracing.trace(*NONE, text)
    assert done.returncode == 126
    assert "chmod" in one_line(done.stderr)
    text.write_bytes(b"\x7fELF and nothing more")
    text.chmod(0o755)
    done = tracing.trace(*NONE, text)
    assert done.returncode == 126
    assert "Exec format error" in one_line(done.stderr)


def test_unknown_pid() -> None:
    done = tracing.trace("-p", 2**22 + 1)
    assert done.returncode == 1
    assert "no process" in one_line(done.stderr)


def test_process_that_may_not_be_traced() -> None:
    if not Path("/proc/2/status").exists():
        pytest.skip("no kernel threads to be seen here")
    done = tracing.trace("-p", 2)
    assert done.returncode == 4
    assert "no permission to trace process 2" in one_line(done.stderr)


@pytest.mark.parametrize(
    "words",
    [(), ("-p", "x"), ("-p", "0"), ("-e", "ALOC", "true"), ("-e", "", "true"), ("--gpu", "some", "true")],
)
def test_wrong_use(words: tuple[str, ...]) -> None:
    assert tracing.trace(*words).returncode == 2


def test_file_that_cannot_be_written(tmp_path: Path) -> None:
    done = tracing.trace(*NONE, "-o", tmp_path / "no" / "file", "true")
    assert done.returncode == 2
    assert "can't write" in one_line(done.stderr)


@pytest.mark.parametrize("suffix", ["", ".gls"])
def test_full_disk_spoils_the_trace_not_the_program(mix: Path, tmp_path: Path, suffix: str) -> None:
    output = tmp_path / f"full{suffix}"
    output.symlink_to("/dev/full")
    proof = tmp_path / "proof"
    done = tracing.trace(
        *NONE, "--all-ioctls", "-o", output, "--", "sh", "-c", f"{mix} && echo done > {proof}"
    )
    assert "No space left on device" in one_line(done.stderr)
    if not suffix:
        assert proof.read_text() == "done\n"
    assert done.returncode in (1, 2)


def test_ndjson_schema(mix: Path) -> None:
    done = tracing.trace(*NONE, "-f", "--all-ioctls", "--json", "--", mix)
    lines = tracing.objects(done.stdout)
    keys = {"ts", "pid", "tid", "source", "syscall", "device", "name", "fields", "ret", "errno", "dur_ns"}
    assert lines
    for line in lines:
        assert keys <= line.keys()
        assert (line["schema"], line["source"]) == (1, "ptrace")
        assert (line["errno"] is None) == (line["ret"] >= 0)
        assert line["dur_ns"] > 0
    assert all(isinstance(decode_line(line), Syscall) for line in done.stdout.splitlines())


def test_ndjson_goes_to_the_file_of_o(mix: Path, tmp_path: Path) -> None:
    def run(*words: str | Path) -> str:
        done = tracing.trace(*NONE, "-f", "-e", "trace=ioctl", "--json", *words, "--", mix)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run("-o", tmp_path / "calls") == ""
    plain = [call["name"] for call in tracing.objects((tmp_path / "calls").read_text())]
    assert len(plain) == 23 * 6 + 6 + 5 + 3 * 7
    # A recording, or the table, is something else: the objects stay on stdout.
    assert len(tracing.objects(run("-o", tmp_path / "calls.gls"))) == len(plain)
    assert len(tracing.objects(run("-c", "-o", tmp_path / "table"))) == len(plain)
    assert (tmp_path / "table").read_text().splitlines()[-1].endswith("total")


def test_summary_counts_exactly(mix: Path) -> None:
    done = tracing.trace(*NONE, "-f", "-c", "-e", "trace=ioctl", "--", mix)
    rows = {line.split()[-1]: line for line in done.stderr.splitlines()}
    assert rows["0x00001001"].split()[3:5] == ["23", "23"]
    assert rows["total"].split()[3] == str(23 * 6 + 6 + 5 + 3 * 7)


def test_lines_like_strace(mix: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    done = tracing.trace(*NONE, "-f", "--all-ioctls", "-o", output, "--", mix)
    assert (done.returncode, done.stderr) == (0, "")
    text = output.read_text()
    assert "openat(path=/dev/null flags=O_RDWR) = 3</dev/null>" in text
    assert "ioctl(3</dev/null>, 0x00001001, 0x0) = -1 ENOTTY (Inappropriate ioctl for device)" in text
    assert text.splitlines()[-1].endswith("+++ exited with 0 +++")


def test_recording_can_be_played(mix: Path, tmp_path: Path) -> None:
    output = tmp_path / "run.gls"
    done = tracing.trace(*NONE, "-f", "-e", "trace=ioctl", "-o", output, "--", mix)
    assert (done.returncode, done.stderr) == (0, "")
    player = Player(output)
    player.seek(player.length)
    snapshot = player.snapshot()
    assert sum(snapshot.counts.values()) == 23 * 6 + 6 + 5 + 3 * 7
    assert sum(event.what == "exec" for event in snapshot.process_events) == 3
    assert all(tracked.ended == "exit 0" for tracked in snapshot.tracked)
    player.close()


def test_environment_and_descriptors_are_the_programs_own() -> None:
    show = "env | grep -c ^LC_CTYPE= ; ls /proc/self/fd | wc -l"
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*tracing.GLASSSTACK, "trace", *NONE, "--", "sh", "-c", show],
        env=environment, capture_output=True, text=True, timeout=tracing.TIMEOUT, check=False,
    )  # fmt: skip
    assert done.stdout.split() == ["0", "4"]


def test_process_events_tell_the_family(mix: Path, tmp_path: Path) -> None:
    output = tmp_path / "run.gls"
    tracing.trace(*NONE, "-f", "-o", output, "--", mix)
    events = [decode_line(line) for line in output.read_bytes().splitlines()[1:]]
    told = [event.what for event in events if isinstance(event, Process)]
    assert told[0] == "start"
    assert (told.count("fork"), told.count("thread"), told.count("exec")) == (3, 4, 3)
    ended = [event for event in events if isinstance(event, Process) and event.what == "exit"]
    assert {event.status for event in ended if event.tid == event.pid} == {0}
