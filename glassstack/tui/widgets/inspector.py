"""The side panel: everything about the selected row, and what else happened at its moment."""

import msgspec

from glassstack.decoders.explain import explain
from glassstack.decoders.steps import meaning
from glassstack.format import fields, units
from glassstack.model.entities import Launch
from glassstack.model.events import Step, Syscall
from glassstack.model.values import Missing
from glassstack.store.snapshot import Snapshot
from glassstack.store.stack import Layer
from glassstack.tui import moment as moments
from glassstack.tui.callrow import result, took
from glassstack.tui.draw import Row, Span, blank, fit, row, rule, wrap
from glassstack.tui.launchrow import facts
from glassstack.tui.look import Look
from glassstack.tui.widgets.lines import Line, Lines, Rows

_LABEL = 12


def pairs(items: list[tuple[str, str]], width: int) -> list[Row]:
    """Label and value, values wrapped."""
    rows: list[Row] = []
    for label, value in items:
        for index, line in enumerate(wrap(value, max(10, width - _LABEL)) or [""]):
            rows.append(row((fit("" if index else label, _LABEL), "label"), line))
    return rows


def call_rows(call: Syscall, started: int, width: int) -> list[Row]:
    """A call with every field, in plain words, next to NVIDIA's counterpart."""
    said = explain(call)
    outcome, style = result(call)
    head: tuple[Span, ...] = ((call.name, "name"), (" = ", "dim"), (outcome, style or "strong"))
    rows = [row(*head, (f"  in {took(call)}" if call.dur_ns is not None else "", "dim"))]
    rows += [row((line, "accent")) for line in wrap(said.text, width)]
    if said.counterpart:
        rows += pairs([("on NVIDIA", said.counterpart)], width)
    facts = [
        ("process", f"{call.pid}" + (f", thread {call.tid}" if call.tid != call.pid else "")),
        ("syscall", call.syscall + (f" {call.raw:#x}" if call.raw is not None else "")),
        ("on", (call.device or "no device") + (f", fd {call.fd}" if call.fd is not None else "")),
        ("began", f"{units.clock(call.ts - started, 9)} s"),
        ("seen by", call.source.value),
    ]
    if call.dur_ns is None:
        facts.append(("took", "not available: answered by seccomp notification, only its return is seen"))
    rows += pairs(facts, width)
    rows += pairs([(name, fields.value(name, value)) for name, value in call.fields.items()], width)
    if call.stack:
        rows += pairs([("stack", call.stack[0]), *(("", function) for function in call.stack[1:])], width)
    return rows


def step_rows(step: Step, width: int) -> list[Row]:
    """A step of a container's start, in plain words."""
    outcome = (step.errno, "bad") if step.errno else ("ok", "strong")
    rows = [row((step.name, "name"), (" = ", "dim"), outcome, (f"  in {units.duration(step.dur_ns)}", "dim"))]
    said = meaning(step.name)
    rows += [row((line, "accent")) for line in wrap(said.text, width)]
    facts = [("container", step.container), ("process", str(step.pid)), ("makes", said.layer or "-")]
    return rows + pairs([*facts, *((name, fields.value(name, v)) for name, v in step.detail.items())], width)


def layer_rows(layer: Layer, width: int) -> list[Row]:
    """A layer of the stack."""
    items = [("layer", layer.title), ("health", layer.health), ("version", layer.version or "-")]
    items += [(label, units.rate(value)) for label, value in layer.rates]
    items += [("last error", layer.last_error or "none"), ("state", layer.detail), ("source", layer.source)]
    return pairs(items, width)


def _text(name: str, value: object) -> str:
    if isinstance(value, Missing):
        return str(value)
    if isinstance(value, (int, float, str)) or value is None:
        if name.endswith("_ns") and isinstance(value, int):
            return units.grouped(value)
        return fields.value(name, value)
    if isinstance(value, dict):
        return ", ".join(f"{key} {item}" for key, item in value.items()) or "-"
    if isinstance(value, (tuple, list)):
        return ", ".join(str(item) for item in value) or "-"
    return str(value)


def fact_rows(data: object, width: int) -> list[Row]:
    """Any other thing of the model: its fields by name."""
    if isinstance(data, msgspec.Struct):
        names = data.__struct_fields__
    elif data is None:
        return []
    else:
        names = tuple(getattr(data, "__dataclass_fields__", ()))
    return pairs([(name.replace("_", " "), _text(name, getattr(data, name))) for name in names], width)


def rows_about(data: object, snapshot: Snapshot, width: int) -> list[Row]:
    """What is known about the thing behind a row."""
    if isinstance(data, Syscall):
        return call_rows(data, snapshot.started, width)
    if isinstance(data, Step):
        return step_rows(data, width)
    if isinstance(data, Layer):
        return layer_rows(data, width)
    if isinstance(data, Launch):
        return pairs(facts(data, snapshot.started), width)
    return fact_rows(data, width)


class Inspector(Lines):
    """Shows a row's thing and its moment; scrolls with the app's help."""

    def __init__(self, look: Look, *, id: str) -> None:
        super().__init__(look, indent=2, id=id)
        self.beside = True
        """Beside the pane, not below it."""
        self.snapshot = Snapshot()
        self.moment: int | None = None
        self.data: object = None

    def show(self, snapshot: Snapshot, data: object, moment: int | None) -> None:
        """Draws another thing, from its top."""
        if data is not self.data or moment != self.moment:
            self.top = 0
        self.snapshot, self.data, self.moment = snapshot, data, moment
        self.redraw()

    def redraw(self) -> None:
        width = max(10, self.size.width - self.indent - 1)
        about = rows_about(self.data, self.snapshot, width)
        body = list(about)
        head = [] if self.beside else [rule("", width)]
        if self.moment is not None:
            around = moments.rows(self.snapshot, self.moment)
            when = units.clock(self.moment - self.snapshot.started)
            head.append(row((f"at {when} s", "strong"), ("  and ", "dim"), *around[0].spans))
            body += [*([blank()] if about else []), rule("around", width), *around[1:]]
        self.set_rows(head, Rows(body))

    def _line(self, y: int) -> Line:
        spans, sign, over = super()._line(y)
        return (spans, "│" if self.beside else sign, over)

    def scroll_by(self, rows: int) -> None:
        """Scrolls the text."""
        self.top += rows
        self.repaint()
