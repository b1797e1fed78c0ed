"""A drill's seat without a drill, for pictures and for the keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from glassstack.tui.drillview import Checked, Standing

BRIEF = """# The quiet job

"It hangs again. I attached strace and it shows **nothing**."

The job is the service `train`. Say what it was with one of

    verdict fine        it works; leave it alone
    verdict doorbell    work was handed over and the device never saw it
"""
DEBRIEF = """# Debrief

**Silence is the normal state.** A quiet strace says nothing about progress.

| what | fine | lost |
|---|---|---|
| wptr | moves | ahead of rptr |
"""
HINTS = ("Does anything move in memory?", "Look at the fences pane.", "wptr ahead of rptr: the doorbell.")
SHELL = (
    b"[quiet] home # fakegpu-smi -L\r\nGPU 0: \x1b[32mFakegpu F100\x1b[0m (\x1b[38;5;208mUUID\x1b[0m)\r\n"
    b"[quiet] home # ls \x1b[1;34mdir\x1b[0m \x1b[7mreverse\x1b[0m \x1b[48;2;40;60;90mtrue\x1b[0m\r\n"
    b"[quiet] home # "
)


class FakeSeat:
    """Scripted: the first check says "not yet", the second that it is solved."""

    name, title, brief = "quiet", "The quiet job", BRIEF

    def __init__(self, words: Sequence[str] = ("false",)) -> None:
        self.taken = 0
        self.checks = 0
        self.ended = False
        self._words = words

    def standing(self) -> Standing:
        if self.ended:
            return Standing("gone")
        solved = self.checks > 1
        return Standing(
            "solved" if solved else "broken",
            187.0,
            HINTS[: self.taken],
            len(HINTS),
            0 if self.taken == len(HINTS) else 10 * (self.taken + 1),
            self.checks,
            100 - 10 * self.taken,
            DEBRIEF if solved else "",
            ("fences pane: seqno against a flat ioctl rate", "ioctls pane: WAIT") if solved else (),
        )

    def hint(self) -> str:
        if self.taken == len(HINTS):
            return "there are no more hints"
        self.taken += 1
        return ""

    def check(self) -> Checked:
        self.checks += 1
        return Checked(() if self.checks > 1 else ("the training writes no step: exit status 1",))

    def shell(self) -> tuple[Sequence[str], Mapping[str, str]]:
        return self._words, {"PATH": "/usr/bin:/bin", "TERM": "xterm-256color", "PS1": "$ "}
