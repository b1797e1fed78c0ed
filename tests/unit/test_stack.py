"""The layers: one fault is seen at the layer that has it, and silence is not called trouble."""

from glassstack.model import events as ev
from glassstack.model.entities import Device, Mapping
from glassstack.model.values import Source
from glassstack.store.stack import LAYERS, Layer, is_quiet_steady_state, layers
from glassstack.store.store import Store
from tests.unit.events import SECOND, call, channel, channels, process


def rows(*events: ev.Event) -> dict[str, Layer]:
    store = Store()
    store.apply(events)
    return {layer.key: layer for layer in layers(store.snapshot())}


def umd(version: str) -> ev.Mappings:
    mapping = Mapping(0, 4096, "r-xp", 0, f"/lib/libfakecuda.so.{version}", "umd", version=version)
    return ev.Mappings(1, Source.POLL, 7, (mapping,))


DRIVER = ev.Devices(1, Source.POLL, (Device("/dev/fakegpu0", 0, "embedded", "550.54.14", "Glass G1"),))


def test_nothing_seen_is_unknown_at_every_layer() -> None:
    seen = rows()
    assert tuple(seen) == LAYERS
    assert {layer.health for layer in seen.values()} == {"unknown"}


def test_version_skew_breaks_the_umd_row_only() -> None:
    seen = rows(DRIVER, umd("535.54.03"), process(1, "start"))
    assert seen["umd"].health == "broken"
    assert "550.54.14" in seen["umd"].last_error
    assert seen["kmd"].health == "ok"
    assert rows(DRIVER, umd("550.54.14"))["umd"].health == "ok"


def test_an_xid_shows_at_the_device_and_a_failed_call_at_the_boundary() -> None:
    seen = rows(
        DRIVER,
        ev.Log(1, Source.DEVICE, 3, "FGPU: Xid (PCI:0000:01:00): 31, pid=7", xid=31),
        channels(1, channel(1, 1, error=31)),
        call(SECOND, "WAIT", errno="EIO"),
        channels(2 * SECOND, channel(1, 1, error=31)),
    )
    assert seen["device"].health == "broken"
    assert "Xid" in seen["device"].last_error
    assert seen["boundary"].last_error == "WAIT EIO (pid 7)"
    assert seen["kmd"].health == "ok"


def test_quiet_steady_state_is_no_calls_while_doorbells_race() -> None:
    store = Store()
    store.apply([call(SECOND)])
    store.apply([channels((1 + n) * SECOND, channel(1000 * n, 1000 * n)) for n in range(4)])
    assert is_quiet_steady_state(store.snapshot())
    store.apply([call(4 * SECOND), call(5 * SECOND)])
    assert not is_quiet_steady_state(store.snapshot())


def test_the_embedded_device_is_called_emulated() -> None:
    assert rows(DRIVER)["kmd"].source == "emulated"
