"""A GPU enters real containers, of minirt and of runc, on the embedded device."""

from __future__ import annotations

import copy
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from glassstack.collectors.control import Control, Status
from glassstack.containers.cdi_check import check
from glassstack.containers.scan import scan
from tests.injecting import NAME, NOBODY, STUCK, Place
from tests.support import ROOT, eventually
from tests.unit.test_cdi_check import HOLES

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: nodes, mounts, another user"),
]
OPEN = ("/bin/sh", "-c", ": <>/dev/fakegpu0")


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Not pytest's own, which other users may not enter."""
    path = Path(subprocess.check_output(["mktemp", "-d", "/tmp/inject-XXXXXX"], text=True).strip())
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def place(folder: Path, minirt: Path) -> Place:
    return Place(folder, minirt.parent).make()


@pytest.fixture(params=[0, NOBODY], ids=["rootful", "rootless"])
def anybodys(request: pytest.FixtureRequest, folder: Path, minirt: Path) -> Place:
    return Place(folder, minirt.parent, request.param).make()


@pytest.mark.parametrize("mode", ["cdi", "hook"])
def test_vectoradd_works_after_injection(anybodys: Place, mode: str) -> None:
    assert list(scan(anybodys.root)) == []  # the driver is not in the image
    done = anybodys.minirt(["--gpu-mode", mode, "--gpu", NAME], "/usr/bin/vectoradd")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Test PASSED" in done.stdout


def test_without_injection_there_is_neither_node_nor_driver(anybodys: Place) -> None:
    done = anybodys.minirt([], "/usr/bin/vectoradd")
    assert "cudaErrorInsufficientDriver" in done.stderr
    done = anybodys.minirt([], "/bin/ls", "/dev/fakegpu0")
    assert "No such file" in done.stderr


@pytest.mark.parametrize("mode", ["cdi", "hook"])
def test_only_the_gpu_that_was_asked_for_is_there(anybodys: Place, mode: str) -> None:
    listed = anybodys.minirt(["--gpu-mode", mode, "--gpu", NAME], "/bin/ls", "/dev").stdout.split()
    assert {name for name in listed if "fakegpu" in name} == {"fakegpu0", "fakegpuctl", "fakegpu-uvm"}


def test_the_steps_name_each_library_with_its_version(place: Place) -> None:
    steps = place.folder / "steps"
    assert place.minirt(["--gpu", NAME, "--steps", str(steps)], "/bin/ls").returncode == 0
    lines = [json.loads(line) for line in steps.read_text().splitlines()]
    libraries = {one["detail"]["name"]: one["detail"]["version"] for one in lines if one["step"] == "library"}
    assert libraries == {
        "libfakecuda.so.550.54.14": "550.54.14",
        "libfakeml.so.550.54.14": "550.54.14",
    }
    hooks = [one["detail"]["status"] for one in lines if one["step"] == "hook"]
    assert hooks == [0, 0]


def test_mode_and_owner_are_those_of_the_node_and_count(place: Place) -> None:
    place.edit_spec(fileMode=0o640, uid=12, gid=34)
    show = ("/bin/stat", "-c", "%A %u %g %t:%T", "/dev/fakegpu0")
    assert place.minirt(["--gpu", NAME], *show).stdout == "crw-r----- 12 34 78:0\n"
    for user, opens in (("12", True), ("34", False)):
        done = place.minirt(["--gpu", NAME, "--user", user], *OPEN)
        assert (done.returncode == 0) is opens, done
        assert opens or "Permission denied" in done.stderr


def test_the_mode_counts_too_where_a_file_stands_for_the_node(folder: Path, minirt: Path) -> None:
    place = Place(folder, minirt.parent, NOBODY).make()
    place.edit_spec(fileMode=0o400)
    script = "stat -c %A /dev/fakegpu0; : <>/dev/fakegpu0"
    done = place.minirt(["--gpu", NAME, "--cap-drop", "all"], "/bin/sh", "-c", script)
    assert done.stdout == "cr--------\n"
    assert "Permission denied" in done.stderr


def test_a_file_that_nobody_injected_is_a_file(place: Place) -> None:
    show = "touch /dev/fakegpu0; stat -c %F /dev/fakegpu0; : <>/dev/fakegpu0"
    assert place.minirt([], "/bin/sh", "-c", show).stdout == "regular empty file\n"


def status_of_container(place: Place, *command: str | Path) -> Status:
    """What the device says while a container holds its node open."""
    name = f"inject-{os.getpid()}"
    words = [place.native / "fakegpu-run", "--name", name, "--", *command]
    environ = {
        "PATH": os.defpath,
        "MINIRT_STATE_DIR": str(place.folder / "state"),
        "MINIRT_CDI_DIRS": str(place.specs),
    }
    process = subprocess.Popen(words, stdin=subprocess.PIPE, env=environ)
    try:
        found = eventually(lambda: held(Control(name)))
        assert found
        return found
    finally:
        process.communicate(timeout=STUCK)  # the end of its input is what it waits for


def held(control: Control) -> Status | None:
    try:
        status = control.status()
    except Exception as error:
        raise AssertionError from error
    return status if status.devices[0].contexts else None


HOLD = ("/bin/sh", "-c", "exec 9<>/dev/fakegpu0; exec cat")


def test_who_let_an_open_pass_is_told(place: Place) -> None:
    kernel = place.bundle(*HOLD, env=["FAKEGPU_VISIBLE_DEVICES=0"])
    runc = ("runc", "--root", place.folder / "runc", "run", "-b", kernel, f"inject-{os.getpid()}")
    status = status_of_container(place, *runc)
    assert status.devices[0].contexts[0].rules == "kernel"
    alone = status_of_container(place, *HOLD)
    assert alone.devices[0].contexts[0].rules == "emulated"


needs_runc = pytest.mark.skipif(not shutil.which("runc"), reason="no runc: apt-get install runc")


@needs_runc
def test_a_device_that_the_list_denies_is_denied_by_the_kernel(place: Place) -> None:
    wish = ["FAKEGPU_VISIBLE_DEVICES=0"]
    allowed = place.runc(place.bundle(*OPEN, env=wish))
    assert (allowed.returncode, allowed.stderr) == (0, "")
    denied = place.runc(place.bundle(*OPEN, env=wish, hook=["--no-rules"]))
    assert "Operation not permitted" in denied.stderr
    # The same without any device of ours: the verdict is not made up.
    bare = place.runc(place.bundle(*OPEN, env=wish, hook=["--no-rules"]), devices=0)
    assert "Operation not permitted" in bare.stderr
    bare = place.runc(place.bundle(*OPEN, env=wish), devices=0)
    assert "No such device or address" in bare.stderr


@needs_runc
@pytest.mark.parametrize(
    ("value", "gpus", "driver"),
    [
        ("all", 2, True),
        ("1", 1, True),
        ("none", 0, True),
        ("void", 0, False),
        ("", 0, False),
        (None, 0, False),
    ],
)
def test_the_hook_brings_what_the_variable_asks_for(
    place: Place, value: str | None, gpus: int, driver: bool
) -> None:
    wish = [] if value is None else [f"FAKEGPU_VISIBLE_DEVICES={value}"]
    done = place.runc(place.bundle("/bin/ls", "/dev", env=wish))
    listed = done.stdout.split()
    assert sum(name in ("fakegpu0", "fakegpu1") for name in listed) == gpus
    assert ("fakegpuctl" in listed) is driver
    assert (place.root / "usr/lib/glassstack").is_dir() is driver


@needs_runc
def test_a_gpu_that_is_not_there_ends_the_start(place: Place) -> None:
    done = place.runc(place.bundle("/bin/ls", env=["FAKEGPU_VISIBLE_DEVICES=7"]))
    assert done.returncode != 0
    assert "unresolvable CDI device glassstack.dev/gpu=7" in done.stderr


@needs_runc
def test_the_variable_is_no_isolation(place: Place) -> None:
    """It names what a hook brings; it takes nothing away that is there by another way."""
    script = "unset FAKEGPU_VISIBLE_DEVICES; stat -c %F /dev/fakegpu1 && : <>/dev/fakegpu1 && echo opened"
    bundle = place.bundle("/bin/sh", "-c", script, env=["FAKEGPU_VISIBLE_DEVICES=0"])
    assert "No such file" in place.runc(bundle).stderr
    config = json.loads((bundle / "config.json").read_text())
    node = {"type": "c", "major": 120, "minor": 1}
    config["linux"]["devices"] = [node | {"path": "/dev/fakegpu1", "fileMode": 0o666}]
    config["linux"]["resources"]["devices"] += [node | {"allow": True, "access": "rw"}]
    (bundle / "config.json").write_text(json.dumps(config))
    assert place.runc(bundle).stdout == "character special file\nopened\n"


@needs_runc
def test_runc_starts_a_bundle_that_cdi_apply_edited(place: Place) -> None:
    # A hook that is there too brings nothing a second time: the edits say "void" to it.
    script = "vectoradd && ls /dev"
    bundle = place.bundle("/bin/sh", "-c", script, env=["FAKEGPU_VISIBLE_DEVICES=all"])
    words = ["cdi", "apply", NAME, "--config", str(bundle / "config.json"), "--spec-dir", str(place.specs)]
    environ = os.environ | {"PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-m", "glassstack.cli.main", *words], check=True, env=environ)
    done = place.runc(bundle)
    assert done.returncode == 0, done.stderr
    assert "Test PASSED" in done.stdout
    assert "fakegpu1" not in done.stdout


def test_generate_on_an_embedded_device_describes_that_one(place: Place) -> None:
    words = ["-m", "glassstack.cli.main", "cdi", "generate"]
    environ = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [str(place.native / "fakegpu-run"), "--devices", "3", "--", sys.executable, *words]
    done = subprocess.run(command, capture_output=True, text=True, env=environ, check=True)
    names = [device["name"] for device in json.loads(done.stdout)["devices"]]
    uuids = [name for name in names if name.startswith("GPU-fa6e617c-510d-4f10-8a3b-67707500000")]
    assert sorted(set(names) - set(uuids)) == ["0", "1", "2", "all"]
    assert len(uuids) == 3
    assert "for an embedded GPU" in done.stderr


@pytest.mark.parametrize("hole", HOLES)
def test_minirt_refuses_what_cdi_validate_refuses(place: Place, hole: str) -> None:
    (place.specs / "bad.json").write_text(json.dumps(HOLES[hole][0]))
    done = place.minirt(["--gpu", "glassstack.dev/gpu=bad"], "/bin/ls")
    assert done.returncode == 125
    assert f"left out: {place.specs}/bad.json: " in done.stderr


def test_two_files_that_claim_a_name_and_a_later_directory_that_settles_it(place: Place) -> None:
    shutil.copy(place.specs / "gpu.json", place.specs / "twin.json")
    done = place.minirt(["--gpu", NAME], "/bin/ls")
    assert done.returncode == 125
    assert f"{NAME} is claimed by " in done.stderr
    later = place.folder / "later"
    later.mkdir()
    device = {"name": "0", "containerEdits": {"env": ["FROM=later"]}}
    document = {"cdiVersion": "0.5.0", "kind": "glassstack.dev/gpu", "devices": [device]}
    (later / "gpu.json").write_text(json.dumps(document))
    assert "FROM=later" in place.minirt(["--gpu", NAME], "/bin/env").stdout.splitlines()


def test_links_of_the_image_lead_nowhere_outside(place: Place) -> None:
    """The hooks write inside the root whatever the image's own links say."""
    outside = place.folder / "outside"
    outside.mkdir()
    shutil.rmtree(place.root / "etc")
    (place.root / "etc").symlink_to(outside)
    (place.root / "usr/lib/glassstack").symlink_to(f"../../../../../..{outside}")
    place.minirt(["--gpu", NAME], "/bin/ls")
    assert list(outside.iterdir()) == []


VALUES = [
    None,
    True,
    0,
    -1,
    2**31,
    2**63,
    "",
    "x",
    "/x",
    [],
    {},
    [1],
    ["A=b"],
    {"a": "b"},
    "none",
    "1.1.0",
    "A.b/c",
]
MEMBERS = [
    "hostPath",
    "env",
    "annotations",
    "netDevices",
    "type",
    "cdiVersion",
    "name",
    "kind",
    "permissions",
]


def branches(value: Any) -> list[Any]:
    """All objects and lists in a document."""
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return [value for _ in range(isinstance(value, dict | list))] + [
        two for one in inner for two in branches(one)
    ]


def test_both_checkers_say_the_same_of_damaged_specifications(place: Place) -> None:
    random = Random(23)
    good = json.loads((place.specs / "gpu.json").read_text())
    refused = 0
    for _ in range(100):
        document = copy.deepcopy(good)
        branch = random.choice(branches(document))
        keys = [*branch, *MEMBERS] if isinstance(branch, dict) else range(len(branch))
        branch[random.choice(keys)] = copy.deepcopy(random.choice(VALUES))
        (place.specs / "gpu.json").write_text(json.dumps(document))
        said = place.minirt(["--gpu", "a/b=none"], "/bin/ls", devices=0).stderr
        assert ("left out" in said) is bool(check(document)), (document, check(document), said)
        refused += "left out" in said
    assert 20 < refused < 100


@pytest.mark.parametrize(
    ("words", "state", "status", "said"),
    [
        ([], "", 2, "usage: fakegpu-hook create-symlinks"),
        (["destroy"], "{}", 2, "usage: fakegpu-hook"),
        (["create-symlinks"], "no JSON", 2, "the state on standard input is no JSON"),
        (["create-symlinks"], "{}", 2, "the state names neither a bundle nor a root"),
        (["create-symlinks", "--link"], "{}", 2, "unknown or without a value: --link"),
        (["create-symlinks", "--link", "a:b"], '{"root": "ROOT"}', 2, "a link is TARGET::LINK, not: a:b"),
        (
            ["create-symlinks", "--link", "a::/bin/busybox"],
            '{"root": "ROOT"}',
            125,
            "link /bin/busybox in the root",
        ),
        (
            ["create-symlinks"],
            '{"root": "/there-is/none"}',
            125,
            "open the root /there-is/none: No such file",
        ),
        (
            ["update-ldcache"],
            '{"bundle": "/there-is/none"}',
            125,
            "/there-is/none/config.json: unable to open",
        ),
    ],
)
def test_the_hook_says_what_is_wrong(
    place: Place, words: list[str], state: str, status: int, said: str
) -> None:
    state = state.replace("ROOT", str(place.root))
    hook = place.native / "fakegpu-hook"
    done = subprocess.run([hook, *words], input=state, capture_output=True, text=True)
    assert done.returncode == status
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1 or "usage" in said
