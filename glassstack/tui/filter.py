"""What the filter line means: words that must all match, with a few that look at one field. Pure.

``ALLOC`` matches anywhere in the row, ``!WAIT`` must not match, ``pid=12``,
``name=map``, ``dev=0``, ``errno=EIO`` look at one field of a call, ``err``
alone means calls that failed.
"""

from collections.abc import Callable

from glassstack.model.events import Syscall

Test = Callable[[Syscall], bool]

FIELDS = ("pid", "tid", "name", "dev", "errno", "ret", "fd")


def _haystack(call: Syscall) -> str:
    fields = " ".join(f"{key}={value}" for key, value in call.fields.items())
    return f"{call.pid} {call.device} {call.name} {fields} {call.ret} {call.errno or ''}".lower()


def _field(name: str, wanted: str) -> Test:
    if name in ("pid", "tid", "ret", "fd"):
        return lambda call: str(getattr(call, name)) == wanted
    if name == "dev":
        return lambda call: wanted in call.device.lower()
    if name == "errno":
        return lambda call: (call.errno or "").lower() == wanted
    return lambda call: wanted in call.name.lower()


def _word(word: str) -> Test:
    name, equals, wanted = word.partition("=")
    if equals and name in FIELDS:
        return _field(name, wanted)
    if word == "err":
        return lambda call: call.errno is not None
    return lambda call: word in call.name.lower() or word in _haystack(call)


def _not(test: Test) -> Test:
    return lambda call: not test(call)


def call_test(text: str) -> Test:
    """The test that a filter line stands for; an empty one lets everything pass."""
    tests: list[Test] = []
    for word in text.lower().split():
        negated = word.startswith("!") and len(word) > 1
        tests.append(_not(_word(word[1:])) if negated else _word(word))
    if len(tests) == 1:
        return tests[0]
    return lambda call: all(test(call) for test in tests)


def text_test(text: str) -> Callable[[str], bool]:
    """The same for rows that are only text: every word in it, no ``!word`` in it."""
    words = text.lower().split()
    required = [word for word in words if not word.startswith("!")]
    refused = [word[1:] for word in words if word.startswith("!") and len(word) > 1]

    def test(line: str) -> bool:
        line = line.lower()
        return all(word in line for word in required) and not any(word in line for word in refused)

    return test
