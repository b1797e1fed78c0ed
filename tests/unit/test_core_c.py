"""The device core's C tests: under the sanitizers, a bounded fuzz run, a kernel-like build.

Owns the wrapping only: what is checked is written in ``tests/c``. Needs a C
compiler and make; the fuzz run needs clang with its fuzzer runtime.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from tests.support import ROOT

SOURCES = ROOT / "tests" / "c"
FUZZ_RUNS = 100_000
FUZZ_SECONDS = 8


def _make(out: Path, *targets: str) -> None:
    """Build ``targets`` of tests/c/Makefile into ``out``; the test fails with the compiler's words."""
    for tool in ("make", os.environ.get("CC", "cc")):
        if not shutil.which(tool):
            pytest.skip(f"no {tool}: apt-get install gcc make libc6-dev")
    done = subprocess.run(
        ["make", "-j2", "-C", str(SOURCES), f"OUT={out}", *targets], capture_output=True, text=True
    )
    if done.returncode:
        pytest.fail(f"make {' '.join(targets)}:\n{done.stderr[-3000:]}", pytrace=False)


@cache
def _fuzzer_missing() -> str:
    """Why clang can't link a fuzz target here; empty when it can."""
    if not shutil.which("clang"):
        return "no clang: apt-get install clang"
    source = (
        "#include <stddef.h>\nint LLVMFuzzerTestOneInput(const char *d, size_t n) { return d == 0 && n; }\n"
    )
    flags = ["-fsanitize=fuzzer,address,undefined", "-x", "c", "-", "-o", os.devnull]
    done = subprocess.run(["clang", *flags], input=source, capture_output=True, text=True)
    return "" if done.returncode == 0 else "clang has no fuzzer runtime: apt-get install libclang-rt-dev"


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for what is built, outside the checkout."""
    return tmp_path_factory.mktemp("core")


def test_core_passes_its_own_tests_under_the_sanitizers(out: Path) -> None:
    _make(out, "unit")
    done = subprocess.run([out / "core-unit"], capture_output=True, text=True, timeout=120)
    lines = done.stdout.splitlines()
    bad = [line for line in lines if not line.startswith("ok ")]
    assert done.returncode == 0, "\n".join(bad) + done.stderr[-3000:]
    assert not bad
    assert len(lines) == _tests_in_sources(), "a test in a table did not run"


def _tests_in_sources() -> int:
    return sum(path.read_text().count("TEST(") for path in SOURCES.glob("test_*.c"))


def test_core_has_no_data_races(out: Path) -> None:
    """Engine, programs and faults in threads of their own, watched by ThreadSanitizer."""
    _make(out, "stress")
    done = subprocess.run([out / "core-stress"], capture_output=True, text=True, timeout=120)
    if "unexpected memory mapping" in done.stderr:
        pytest.skip("this ThreadSanitizer does not know the kernel's address layout: newer gcc")
    assert done.returncode == 0, done.stderr[:3000]


def test_core_builds_as_a_kernel_would_build_it(out: Path) -> None:
    """No FPU or vector registers, no hosted library, no VLA, small stack frames."""
    _make(out, "strict")
    objects = list((out / "strict").glob("*.o"))
    assert len(objects) == len(list((ROOT / "kmod" / "core").glob("*.c")))


def test_core_survives_a_bounded_fuzz_run(out: Path) -> None:
    if missing := _fuzzer_missing():
        pytest.skip(missing)
    _make(out, "fuzz")
    work = out / "fuzz-run"
    work.mkdir()
    limits = [f"-runs={FUZZ_RUNS}", f"-max_total_time={FUZZ_SECONDS}", "-max_len=2048", "-timeout=10"]
    done = subprocess.run(
        [out / "core-fuzz", *limits, "-verbosity=0", "-print_final_stats=1", "-seed=23"],
        cwd=work, capture_output=True, text=True, timeout=FUZZ_SECONDS + 60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    assert "stat::number_of_executed_units" in done.stderr
