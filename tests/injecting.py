"""Images, specifications and bundles for the tests of injection; starts containers, judges nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support import ROOT

NAME = "glassstack.dev/gpu=0"
NOBODY = 65534
STUCK = 60
Done = subprocess.CompletedProcess[str]


@dataclass(frozen=True)
class Place:
    """Where the containers of a test live.

    Attributes:
        folder: of the test, which every user may enter.
        native: folder of the programs.
        user: who starts them.
    """

    folder: Path
    native: Path
    user: int = 0

    @property
    def root(self) -> Path:
        """The image."""
        return self.folder / "root"

    @property
    def specs(self) -> Path:
        """The directory of specifications."""
        return self.folder / "cdi"

    def make(self, devices: int = 2) -> Place:
        """Image and specification, made; itself."""
        subprocess.run([ROOT / "tests/make_image", self.root, self.native], check=True)
        words = ["cdi", "generate", "--devices", str(devices), "--output", str(self.specs / "gpu.json")]
        environ = os.environ | {"GLASSSTACK_NATIVE": str(self.native.parent), "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-m", "glassstack.cli.main", *words]
        subprocess.run(command, check=True, capture_output=True, env=environ)
        (self.folder / "state").mkdir()
        for path in (self.folder, *self.folder.rglob("*")):
            os.lchown(path, self.user, self.user)
        return self

    def host(self, *command: str | Path, devices: int = 2) -> Done:
        """A command on an embedded device of its own, as this user; 0 devices: on none."""
        words = [self.native / "fakegpu-run", "--devices", str(devices), "--", *command]
        other = {"user": self.user, "group": self.user, "extra_groups": []} if self.user else {}
        return subprocess.run(  # type: ignore[call-overload,no-any-return]
            words if devices else command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=STUCK,
            cwd="/",
            env={
                "PATH": os.defpath,
                "MINIRT_STATE_DIR": str(self.folder / "state"),
                "MINIRT_CDI_DIRS": f"{self.specs}:{self.folder}/later",
                "XDG_RUNTIME_DIR": str(self.folder),
            },
            **other,
        )

    def minirt(self, options: Sequence[str], *command: str, devices: int = 2) -> Done:
        """A container of minirt's with the image as its root."""
        kind = ["--rootless"] if self.user else []
        words: list[str | Path] = ["run", *kind, *options, self.root, *command]
        return self.host(self.native / "minirt", *words, devices=devices)

    def edit_spec(self, **node: Any) -> None:
        """Changes the nodes of all devices in the specification."""
        path = self.specs / "gpu.json"
        document = json.loads(path.read_text())
        for device in document["devices"]:
            for one in device["containerEdits"]["deviceNodes"]:
                one |= node
        path.write_text(json.dumps(document))

    def bundle(self, *command: str, env: Sequence[str] = (), hook: Sequence[str] | None = ()) -> Path:
        """A bundle of runc's, with the createRuntime hook and its options, or without one."""
        folder = self.folder / "bundle"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        subprocess.run(["runc", "spec"], cwd=folder, check=True)
        config = json.loads((folder / "config.json").read_text())
        config["root"] = {"path": "../root", "readonly": False}
        config["process"] |= {"terminal": False, "args": list(command)}
        config["process"]["env"] += env
        if hook is not None:
            program = self.native / "fakegpu-hook"
            args = [program.name, "create-runtime", "--spec-dirs", str(self.specs), *hook]
            config["hooks"] = {"createRuntime": [{"path": str(program), "args": args}]}
        (folder / "config.json").write_text(json.dumps(config))
        return folder

    def runc(self, bundle: Path, devices: int = 2) -> Done:
        """Runs a bundle."""
        root = self.folder / "runc"
        name = f"glassstack-test-{os.getpid()}"
        return self.host("runc", "--root", root, "run", "-b", bundle, name, devices=devices)
