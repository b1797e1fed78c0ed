"""Known escapes from containers, tried from inside: all refused, and none for want of trying."""

from __future__ import annotations

import hashlib

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


def test_the_table_cites_each_and_names_none_twice() -> None:
    rows = [(row.id, row.cite) for row in ESCAPES] + [(row.id, row.cite) for row in IMAGES]
    assert len({name for name, _ in rows}) == len(rows) >= 14
    assert all(cite for _, cite in rows)
    assert all(bool(escape.works) != bool(escape.unproven) for escape in ESCAPES)
