"""The container runtime: start and end of a static program, against runc here and crun in the lab VM."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path

from harness import BIN, GLASSSTACK, ROOT, MissingError, Pairs, Result, program, run, tool, within_ratio

STARTS = BIN / "starts"  # in build/bin, as that is what the VM has of build/
GUEST = BIN / "starts-in-vm"


def _built() -> Path:
    """The program that starts both in turns; it is "true" too. Raises MissingError."""
    run((tool("cc"), "-O2", "-static", "-o", str(STARTS), str(ROOT / "bench" / "starts.c")))
    return STARTS


def _bundle(folder: Path, peer: str) -> Path:
    """A bundle whose config.json is the peer's own, with that program in its root."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "root").mkdir(parents=True)
    shutil.copy(_built(), folder / "root" / "starts")
    run((tool(peer), "spec"), cwd=folder)
    config = json.loads((folder / "config.json").read_text())
    config["process"] |= {"terminal": False, "args": ["/starts", "--true"]}
    config["root"] = {"path": "root", "readonly": True}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def _results(name: str, peer: str, most: float, said: str, where: str) -> list[Result]:
    lines = [line for line in said.splitlines() if line.startswith('{"bench"')]
    if not lines:
        raise MissingError(f"{where}: nothing was measured: {said[-200:].strip()}")
    seen: dict[str, list[float]] = json.loads(lines[-1])
    times = Pairs(tuple(seen["ours_ms"]), tuple(seen["theirs_ms"]))
    sizes = Pairs(tuple(seen["ours_kib"]), tuple(seen["theirs_kib"]))
    return [
        within_ratio(
            f"{name}-start", f"start and end of a static program, vs {peer} ({where})", "ms", times, most
        ),
        within_ratio(f"{name}-rss", f"the runtime's own peak RSS, vs {peer} ({where})", "KiB", sizes, 1),
    ]


def against_runc(runs: int) -> list[Result]:
    """On this machine, as root; both keep their state in memory, as /run does where systemd mounted it."""
    bundle = str(_bundle(ROOT / "build" / "bench-bundle", "runc"))
    with tempfile.TemporaryDirectory(dir="/dev/shm") as state:
        ours = (program("minirt"), "run", bundle)
        theirs = (tool("runc"), "--root", f"{state}/runc", "run", "--bundle", bundle, "minirt-bench")
        command = (str(STARTS), str(4 * runs), *ours, "--", *theirs)
        said = run(command, env={**os.environ, "MINIRT_STATE_DIR": f"{state}/minirt"}).stdout
    return _results("runc", "runc", 0.3, said, "here")


def against_crun(runs: int) -> list[Result]:
    """In the lab VM, whose kernel offers all that crun asks for; all that starts lies in the VM's memory."""
    bundle = _bundle(GUEST, "crun")
    place = Path("/run/starts")
    libraries = f"ldd {tool('crun')} | awk '$3 ~ /^\\// {{ print $3 }}' | xargs cp -Lt {place}/lib"
    script = (
        f"cp -r {bundle} {place} && mkdir {place}/lib && {libraries} && "
        f"export LD_LIBRARY_PATH={place}/lib && "
        f"cp -L {program('minirt')} {tool('crun')} {STARTS} {place}/ && cd {place} && "
        f"./starts {4 * runs} ./minirt run . -- ./crun run --bundle . minirt-bench"
    )
    try:
        done = run((*GLASSSTACK, "lab", "--", "sh", "-c", script))
    finally:
        shutil.rmtree(GUEST, ignore_errors=True)
    return _results("crun", "crun", 1, done.stdout, "lab VM")


MEASURES = {"container-runc": against_runc, "container-crun": against_crun}
