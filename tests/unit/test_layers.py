"""What importing a part of glassstack drags in, seen from a fresh interpreter.

The static contracts are import-linter's (``make check``). These tests catch what
it can't: what really gets loaded, by commands and by ``--help``.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from glassstack.cli.table import COMMANDS

#: Imported lazily, by the one place that needs each.
LAZY = {"textual", "bcc", "pyudev", "ptrace", "pyte"}

IMPORT_ALL = """
import importlib, pkgutil, {package}
for module in pkgutil.walk_packages({package}.__path__, "{package}."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
"""


def loaded_by(code: str) -> set[str]:
    """Names of all modules in ``sys.modules`` after ``code`` ran; SystemExit is fine."""
    program = (
        f"try:\n exec({code!r})\nexcept SystemExit: pass\nimport sys; print('\\n' + ' '.join(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split())


def test_the_package_alone_loads_no_floor() -> None:
    ours = {name for name in loaded_by("import glassstack") if name.startswith("glassstack")}
    assert ours == {"glassstack"}


def test_help_loads_neither_screen_nor_tracer() -> None:
    code = "from glassstack.cli.main import main; main(['--help'])"
    loaded = loaded_by(code)
    assert "glassstack.cli.main" in loaded
    assert not loaded & (LAZY | {"rich", "glassstack.tui"})


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_help_of_each_command_loads_neither_screen_nor_tracer(command: str) -> None:
    code = f"from glassstack.cli.main import main; main(['{command}', '--help'])"
    loaded = loaded_by(code)
    assert COMMANDS[command][0] in loaded
    assert not loaded & LAZY


@pytest.mark.parametrize("package", ["model", "format", "decoders", "store"])
def test_the_lower_floors_load_no_terminal_and_no_system_reader(package: str) -> None:
    loaded = loaded_by(IMPORT_ALL.format(package=f"glassstack.{package}"))
    assert not loaded & (LAZY | {"rich", "psutil", "glassstack.collectors", "glassstack.tui"})


def test_collectors_load_no_terminal_no_store_no_format() -> None:
    loaded = loaded_by(IMPORT_ALL.format(package="glassstack.collectors"))
    assert not loaded & {"textual", "rich", "glassstack.store", "glassstack.format", "bcc", "pyudev"}
