"""Ended jobs as launches, where no uprobe tells of the API: from SUBMIT or doorbell to the fence. Pure."""

from glassstack.model.entities import Completion, Launch
from glassstack.model.events import Syscall
from glassstack.store.snapshot import Snapshot

_CALLS = 4096
"""How many of the newest calls are looked at for the SUBMIT of a job."""


def followed(s: Snapshot, most: int) -> list[tuple[int, Launch]]:
    """The newest jobs with their process, the newest first; a ring's job begins with its doorbell."""
    submits = _submits(s)
    newest = sorted(s.completions, key=lambda item: -item[2].done_ns)[:most]
    return [(pid, _launch(device, entry, submits.get((pid, entry.seqno)))) for pid, device, entry in newest]


def _submits(s: Snapshot) -> dict[tuple[int, int], Syscall]:
    found: dict[tuple[int, int], Syscall] = {}
    for number in range(max(s.calls.first, s.calls_end - _CALLS), s.calls_end):
        call = s.calls.get(number)
        if call is not None and call.name == "SUBMIT" and call.ret == 0:
            seqno = call.fields.get("seqno")
            if isinstance(seqno, int):
                found[call.pid, seqno] = call
    return found


def _launch(device: str, entry: Completion, call: Syscall | None) -> Launch:
    # Channels count alike: the job is that call's only if it was queued while that lasted.
    ours = call is not None and call.dur_ns is not None and call.ts <= entry.queued_ns <= call.end
    called, returned = (call.ts, call.end) if call is not None and ours else (entry.queued_ns,) * 2
    return Launch(
        call.tid if call is not None and ours else 0,
        "SUBMIT" if ours else "",
        called,
        returned,
        via="submit" if ours else "",
        device=device,
        channel=entry.channel,
        seqno=entry.seqno,
        doorbell_ns=entry.queued_ns,
        start_ns=entry.start_ns,
        done_ns=entry.done_ns,
        status=entry.status,
        by="completion ring",
    )
