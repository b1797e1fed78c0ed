"""Which GPU a program gets: ``--gpu auto|embedded|kernel|none`` to a decision that says why."""

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from glassstack.collectors.control import ENV
from glassstack.gpu.artifacts import Artifacts, MissingArtifactError

CHOICES = ("auto", "embedded", "kernel", "none")
_NODES = ("fakegpu0", "nvidia0", "nvidiactl")


class NoGpuError(Exception):
    """The GPU that was asked for is not to be had; ``cause`` and ``remedy`` are a line each."""

    def __init__(self, cause: str, remedy: str) -> None:
        super().__init__(f"{cause}; {remedy}")
        self.cause = cause
        self.remedy = remedy


@dataclass(frozen=True)
class Decision:
    """What a program gets.

    Attributes:
        kind: "embedded", "inherited" (the embedded device this process itself runs on), "kernel" or "none".
        reason: one line that says why.
        node: the kernel's node, "" for the others.
        launcher: the embedded device's fakegpu-run, ``None`` for the others.
    """

    kind: str
    reason: str
    node: str = ""
    launcher: Path | None = None


def kernel_node(dev: Path = Path("/dev")) -> str:
    """A GPU node that a driver of the kernel has made, "" where there is none."""
    for name in _NODES:
        try:
            if stat.S_ISCHR((dev / name).stat().st_mode):
                return str(dev / name)
        except OSError:
            continue
    return ""


def demo_node(dev: Path = Path("/dev"), environ: Mapping[str, str] = os.environ) -> str:
    """The stand-in GPU's node of the kernel that this user may use, "" where there is none."""
    node = dev / "fakegpu0"
    try:
        is_kernels = not environ.get(ENV) and stat.S_ISCHR(node.stat().st_mode)
    except OSError:
        return ""
    return str(node) if is_kernels and os.access(node, os.R_OK | os.W_OK) else ""


def choose(
    gpu: str = "auto",
    dev: Path = Path("/dev"),
    artifacts: Artifacts | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Decision:
    """Decides.

    ``auto`` never fails: without a node and without the embedded device it is "none".

    Raises:
        NoGpuError: the GPU asked for is not there.
    """
    if gpu == "none":
        return Decision("none", "no GPU was asked for")
    if gpu in ("auto", "embedded") and environ.get(ENV):
        return Decision("inherited", f"the embedded GPU that is here already: {environ[ENV]}")
    node = kernel_node(dev) if gpu in ("auto", "kernel") else ""
    if node:
        return Decision("kernel", f"{node} is a node of the kernel's", node=node)
    if gpu == "kernel":
        raise NoGpuError("no GPU node of the kernel's in " + str(dev), "load a driver, or use --gpu embedded")
    try:
        launcher = (artifacts or Artifacts()).bin("fakegpu-run")
    except MissingArtifactError as error:
        if gpu == "embedded":
            raise NoGpuError(error.cause, error.remedy) from error
        return Decision("none", f"no GPU node of the kernel's, and {error.cause}: {error.remedy}")
    why = "asked for" if gpu == "embedded" else "no GPU node of the kernel's here"
    return Decision("embedded", f"the embedded GPU: {why}", launcher=launcher)
