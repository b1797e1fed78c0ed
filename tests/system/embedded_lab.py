"""Running programs on the embedded device for the test_embedded_* files, and asking the device about them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from glassstack.collectors.control import Control, ControlError, Status
from glassstack.decoders.fakegpu import BY_NAME
from tests.support import eventually
from tests.system.umd_lab import STUCK, environment

PRELUDE = f"""
import array, ctypes, fcntl, mmap, os, signal, socket, stat, struct, sys, threading, time
def call(fd, request, *words):
    data = bytearray(struct.pack(*words))
    fcntl.ioctl(fd, request, data)
    return bytes(data)
def alloc(fd, size=4096):
    return struct.unpack_from("<I", call(fd, {BY_NAME["ALLOC"].request:#x}, "<QII", size, 0, 0), 12)[0]
def buffers(fd):
    data = call(fd, {BY_NAME["CTX_INFO"].request:#x}, "<4I5Q2I", *[0] * 11)
    return struct.unpack_from("<I", data, 8)[0]
GPU = "/dev/fakegpu0"
"""


def python(native: Path, script: str, *options: str, arguments: tuple[str, ...] = ()) -> str:
    """Runs a Python script on a device of its own; what it printed. It must succeed."""
    words: list[str | Path] = [native / "fakegpu-run", *options, "--", sys.executable, "-c", PRELUDE + script]
    command = [*words, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=STUCK, env=environment())
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextmanager
def device(native: Path, name: str, *options: str) -> Iterator[Control]:
    """A device that runs alone."""
    process = subprocess.Popen([native / "fakegpud", "--name", name, *options], env=environment())
    control = Control(name)

    def is_up() -> Status | None:
        try:
            return control.status()
        except ControlError:
            assert process.poll() is None
            return None

    try:
        eventually(is_up)
        yield control
    finally:
        process.terminate()
        process.wait(STUCK)


def contexts(control: Control) -> list[int]:
    """Pids of the open contexts."""
    return [context.pid for one in control.status().devices for context in one.contexts]
