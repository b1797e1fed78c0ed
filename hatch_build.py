"""Hatchling hook: puts the C programs and libraries of kmod/ and minirt/ into the wheel.

Owns the step from C sources to ``glassstack/_native/{bin,lib}`` in the wheel and
the wheel's platform tag. Where make or a compiler is missing the wheel is pure
Python and says so, and where libjansson is, it comes without the container
runtime and says so; a compiler that fails is an error, never a silent gap.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class NativeBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Runs ``make`` in kmod/ and minirt/ into a temporary folder and maps the result in."""

    PLUGIN_NAME = "custom"
    _out: str | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build unless this is an editable install, which uses the checkout's build/."""
        if version == "editable":
            return
        kmod = Path(self.root) / "kmod"
        missing = [tool for tool in ("make", os.environ.get("CC", "cc")) if not shutil.which(tool)]
        if missing:
            self.app.display_warning(
                f"no {' and no '.join(missing)}: this glassstack comes without the embedded GPU; "
                "install gcc, make and libc6-dev, then install it again"
            )
            return
        self._out = tempfile.mkdtemp(prefix="glassstack-native-")
        self._make(kmod, self._out)
        if self._has_jansson():
            self._make(kmod.parent / "minirt", self._out)
        else:
            self.app.display_warning(
                "no libjansson: this glassstack comes without minirt, the container runtime; "
                "install libjansson-dev, then install it again"
            )
        for folder in ("bin", "lib"):
            for built in sorted((Path(self._out) / folder).iterdir()):
                build_data["force_include"][str(built)] = f"glassstack/_native/{folder}/{built.name}"
        build_data["pure_python"] = False
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was built: the wheel has it."""
        if self._out:
            shutil.rmtree(self._out, ignore_errors=True)

    def _has_jansson(self) -> bool:
        compiler = [os.environ.get("CC", "cc"), "-E", "-x", "c", "-"]
        return not subprocess.run(compiler, input=b"#include <jansson.h>\n", capture_output=True).returncode

    def _make(self, folder: Path, out: str) -> None:
        done = subprocess.run(
            ["make", f"-j{os.cpu_count() or 1}", "-C", str(folder), f"OUT={out}", "WERROR="],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode:
            shutil.rmtree(out, ignore_errors=True)
            self.app.abort(f"make -C {folder.name} failed:\n{done.stdout[-4000:]}")
