"""Who is whose child and runs what, as a log tells it: births, execs, ends. Pure."""

from glassstack.decoders.strace import grammar
from glassstack.decoders.strace.call import STRING
from glassstack.decoders.strace.tasks import Task, clone_flags
from glassstack.model.events import Event, Process
from glassstack.model.values import Source

BIRTHS = frozenset({"clone", "clone3", "fork", "vfork"})
EXECS = frozenset({"execve", "execveat"})
_FILE = Source.FILE
_MOST = 65_536


class Processes:
    """The threads of a log; what becomes of them is put into ``out``."""

    def __init__(self, out: list[Event]) -> None:
        self.out = out
        self.tasks: dict[int, Task] = {}
        """By tid."""
        self._births: dict[int, int] = {}
        """Threads with an unfinished clone, and its flags."""

    def task(self, tid: int, now: int) -> Task:
        """The thread of that id, entered where it is new."""
        known = self.tasks.get(tid)
        if known is not None:
            return known
        if len(self.tasks) >= _MOST:
            for old in list(self.tasks)[: _MOST // 2]:
                del self.tasks[old]
        # A child may speak before its parent's clone returns: with one such parent it is that one's.
        parents = [parent for parent in self._births if parent != tid]
        if len(parents) == 1 and parents[0] in self.tasks:
            return self._born(self.tasks[parents[0]], tid, self._births.pop(parents[0]), now)
        task = self.tasks[tid] = Task(tid, tid)
        self.out.append(Process(now, _FILE, tid, tid, "start"))
        return task

    def begins(self, tid: int, args: str) -> None:
        """A clone began and has not returned."""
        if len(self._births) < _MOST:
            self._births[tid] = clone_flags(args)

    def returned(self, tid: int) -> None:
        """A call of that thread has gone on."""
        self._births.pop(tid, None)

    def _born(self, parent: Task, tid: int, flags: int, now: int) -> Task:
        task = self.tasks[tid] = parent.child(tid, flags)
        what = "fork" if task.pid == tid else "thread"
        self.out.append(Process(now, _FILE, task.pid, tid, what, parent.pid if what == "fork" else 0))
        return task

    def forked(self, task: Task, args: str, child: int, now: int) -> None:
        """A clone, fork or vfork returned in the parent."""
        known, flags = self.tasks.get(child), clone_flags(args)
        if known is None:
            self._born(task, child, flags, now)
        elif known.pid == child and known.files is not task.files and not known.files.nodes:
            # It ran before anybody could tell whose child it is.
            late = task.child(child, flags)
            known.pid, known.files, known.memory = late.pid, late.files, late.memory

    def executed(self, task: Task, args: str, now: int) -> None:
        """An exec has worked."""
        task.executed()
        self.out.append(Process(now, _FILE, task.pid, task.tid, "exec", command=_command(args)))

    def ended(self, tid: int, text: str, now: int) -> None:
        """strace's line of the end of a thread."""
        found = grammar.ENDED.match(text)
        task = self.tasks.get(tid)
        self._births.pop(tid, None)
        if found is None or task is None:
            return
        status = int(found[1]) if found[1] else None
        self.out.append(Process(now, _FILE, task.pid, tid, "exit", status=status, signal=found[2] or None))
        del self.tasks[tid]


def _command(args: str) -> str:
    """The command line of an execve, as far as strace printed it."""
    opening, closing = args.find("["), args.rfind("]")
    if opening < 0 or closing < opening:
        found = STRING.search(args)
        return grammar.unescape(found[1]) if found else ""
    return " ".join(grammar.unescape(word) for word in STRING.findall(args[opening:closing]))
