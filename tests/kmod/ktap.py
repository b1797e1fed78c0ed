"""KTAP for guest scripts in Python: the functions named test_… of a module, each a test.

Owns the report; like ktap.sh it prints the names and tests nothing with --list.
"""

import sys
import traceback
from collections.abc import Callable, Mapping


def main(names: Mapping[str, object]) -> int:
    """Runs the tests in a module's ``globals()``; 1 when one failed."""
    tests = {name: found for name, found in names.items() if name.startswith("test_") and callable(found)}
    if sys.argv[1:] == ["--list"]:
        print("\n".join(map(_words, tests)))
        return 0
    print("KTAP version 1", flush=True)
    results = [_run(number, name, test) for number, (name, test) in enumerate(tests.items(), 1)]
    print(f"1..{len(tests)}", flush=True)
    return 0 if all(results) else 1


def _words(name: str) -> str:
    return name.removeprefix("test_").replace("_", "-")


def _run(number: int, name: str, test: Callable[[], None]) -> bool:
    try:
        test()
    except Exception:
        lines = traceback.format_exc().splitlines()
        print("\n".join(f"# {line}" for line in lines[-20:]))
        print(f"not ok {number} {_words(name)}", flush=True)
        return False
    print(f"ok {number} {_words(name)}", flush=True)
    return True
