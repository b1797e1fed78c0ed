"""Contexts of the embedded device that several processes hold: one context each, told once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from glassstack.collectors.channels import ChannelPoller
from glassstack.collectors.completions import CompletionPoller
from glassstack.collectors.device import ContextIds, DevicePoller
from glassstack.collectors.spaces import Spaces
from glassstack.model.events import Channels, Completions
from tests.support import ROOT


def test_a_shared_context_is_told_once(native: Path, tmp_path: Path) -> None:
    name = f"share-{tmp_path.name}-{tmp_path.parent.name}"
    share = (sys.executable, str(ROOT / "tests/kmod/sharing.py"))
    command = [str(native / "fakegpu-run"), "--name", name, "--", *share]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        who = json.loads(program.stdout.readline())
        pids = [who["parent"], who["fork"], who["taker"]]
        first, second = who["contexts"]
        devices = DevicePoller(lambda: [name])
        (device,) = [one for one in devices.look().devices if one.driver == "embedded"]
        assert [(one.id, one.pid, one.completions) for one in device.opened] == [
            (first, who["parent"], 1),
            (second, who["parent"], 2),
        ]
        spaces = Spaces(id_of=ContextIds(lambda: [name]))
        told = [
            event for event in ChannelPoller(lambda: pids, spaces).sample() if isinstance(event, Channels)
        ]
        channels = [(c.context, c.jobs) for event in told for c in event.channels]
        assert sorted(channels) == [(first, 1), (second, 2)]
        ended = CompletionPoller(lambda: pids, spaces).sample()
        jobs = {e.context: len(e.entries) for e in ended if isinstance(e, Completions)}
        assert jobs == {first: 1, second: 2}
