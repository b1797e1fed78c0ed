"""Known escapes from containers, tried from inside: all refused, and none for want of trying."""

from __future__ import annotations

import hashlib
import subprocess
import time
from pathlib import Path

import pytest

from tests.minirt import escapes
from tests.minirt.containers import Runtime
from tests.minirt.escapes import ESCAPES, IMAGES, Escape, Image

IDS = [escape.id for escape in ESCAPES]
each_escape = pytest.mark.parametrize("escape", ESCAPES, ids=IDS)
each_image = pytest.mark.parametrize("image", IMAGES, ids=[image.id for image in IMAGES])


@pytest.fixture(params=["rootful", "rootless"])
def runtime(request: pytest.FixtureRequest) -> Runtime:
    found: Runtime = request.getfixturevalue(request.param)
    return found


@each_escape
def test_it_is_refused(escape: Escape, runtime: Runtime) -> None:
    before = hashlib.sha256(runtime.program.read_bytes()).digest()
    try:
        escapes.check_refused(escape, runtime)
    except escapes.CannotTryError as why:
        pytest.skip(str(why))
    assert hashlib.sha256(runtime.program.read_bytes()).digest() == before


@pytest.mark.root
@each_escape
def test_it_works_without_its_guard(escape: Escape, rootful: Runtime) -> None:
    try:
        escapes.check_works(escape, rootful)
    except escapes.CannotTryError as why:
        pytest.skip(str(why))


@each_image
def test_an_image_leads_nowhere(image: Image, runtime: Runtime) -> None:
    escapes.check_image(image, runtime)


def test_the_program_that_joins_by_exec_is_not_writable(runtime: Runtime) -> None:
    """CVE-2019-5736 as it was: a process inside waits for the runtime to come in."""
    before = hashlib.sha256(runtime.program.read_bytes()).digest()
    with runtime.running("watch") as name:
        watch: list[str | Path] = [runtime.program, "exec", name, "/guest", "try-exec-exe", "23"]
        with subprocess.Popen(watch, **runtime.given(), stdout=subprocess.PIPE) as watching:
            assert watching.stdout is not None
            assert watching.stdout.readline() == "ready\n"
            deadline = time.monotonic() + 30
            while watching.poll() is None and time.monotonic() < deadline:
                runtime.inside(name, "true")
            watching.kill()
            said = watching.stdout.read()
    assert said.startswith(("refused EACCES", "refused ETXTBSY", "refused EPERM")), said
    assert hashlib.sha256(runtime.program.read_bytes()).digest() == before


def test_the_table_cites_each_and_names_none_twice() -> None:
    rows = [(row.id, row.cite) for row in ESCAPES] + [(row.id, row.cite) for row in IMAGES]
    assert len({name for name, _ in rows}) == len(rows) >= 14
    assert all(cite for _, cite in rows)
    assert all(bool(escape.works) != bool(escape.unproven) for escape in ESCAPES)
