"""Runs pollers, each at its own period, on one thread."""

import threading
import time
from collections.abc import Sequence

from glassstack.collectors.base import Poller, Sink
from glassstack.model.events import Event, Failed
from glassstack.model.values import Source


def _sample(poller: Poller) -> list[Event]:
    try:
        return poller.sample()
    except Exception as error:
        # A poller promises not to raise; one that does must not take the others with it.
        cause = f"{type(error).__name__}: {error}"
        return [Failed(time.monotonic_ns(), Source.SELF, poller.name, cause, "please report it")]


class Polling:
    """Samples ``pollers`` into ``sink`` until stopped. A slow one delays the others, never piles up."""

    def __init__(self, pollers: Sequence[Poller], sink: Sink) -> None:
        self._pollers = pollers
        self._sink = sink
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="polling", daemon=True)

    def start(self) -> None:
        """Begins; every poller is sampled at once, then at its period."""
        self._thread.start()

    def stop(self) -> None:
        """Ends; waits for the sample in progress."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        due = {id(poller): 0.0 for poller in self._pollers}
        while not self._stop.is_set():
            for poller in self._pollers:
                if due[id(poller)] <= time.monotonic():
                    self._sink(_sample(poller))
                    due[id(poller)] = time.monotonic() + poller.period
            self._stop.wait(max(0.0, min(due.values()) - time.monotonic()))
