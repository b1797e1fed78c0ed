"""``glassstack cdi generate|list|validate|apply``: specifications of how a GPU enters a container.

Owns the text; finding, checking and editing are containers/.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from glassstack.cli.columns import table
from glassstack.cli.errors import FAILED, MISSING, OK, CommandError
from glassstack.collectors.control import ControlError
from glassstack.containers import cdi_apply, cdi_cache, cdi_write
from glassstack.containers.cdi_check import Fault
from glassstack.containers.inventory import (
    Inventory,
    embedded_inventory,
    inventory,
    umd_libraries,
)
from glassstack.format.text import plain
from glassstack.gpu.artifacts import Artifacts, MissingArtifactError
from glassstack.gpu.embedded import DeviceError, EmbeddedGpu, Options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A verb and its options."""
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    one = verbs.add_parser("generate", help="write a specification for the GPUs here")
    one.add_argument("--output", default="-", metavar="FILE", help="where to; - (default) is standard output")
    one.add_argument(
        "--device-name-strategy",
        choices=cdi_write.STRATEGIES,
        default="both",
        help="name devices by index, UUID or (default) both; `all` is always there",
    )
    one.add_argument(
        "--devices", type=int, metavar="N", help="for an embedded GPU of N devices rather than what is here"
    )
    one = verbs.add_parser("list", help="devices by name and the file each is from")
    _directories(one)
    one.add_argument("--json", action="store_true", help="one line of JSON for each")
    one = verbs.add_parser("validate", help="check files")
    one.add_argument("files", nargs="+", type=Path, metavar="FILE")
    one = verbs.add_parser("apply", help="put devices into a configuration of a bundle")
    one.add_argument("names", nargs="+", metavar="NAME", help="such as glassstack.dev/gpu=0")
    one.add_argument("--config", required=True, type=Path, metavar="FILE", help="config.json of the bundle")
    _directories(one)


def _directories(parser: argparse.ArgumentParser) -> None:
    where = ", ".join(map(str, cdi_cache.DIRECTORIES))
    parser.add_argument(
        "--spec-dir",
        action="append",
        type=Path,
        metavar="DIR",
        help=f"where specifications are (default: {where}); a later one wins",
    )


def run(args: argparse.Namespace) -> int:
    """Runs the verb."""
    verbs = {"generate": _generate, "list": _list, "validate": _validate, "apply": _apply}
    return verbs[args.verb](args)


def _inventory(devices: int | None) -> Inventory:
    if devices is not None:
        if not 1 <= devices <= 8:
            raise CommandError(f"--devices {devices}: an embedded GPU has 1 to 8", "choose one of these", 2)
        gpu = EmbeddedGpu(Options(devices=devices))
        try:
            return embedded_inventory(gpu.control.name)
        finally:
            gpu.close()
    found = inventory()
    if found is None:
        remedy = "load the module, run this on `glassstack run`, or say --devices N for an embedded GPU"
        raise CommandError("no fakegpu device is here, of a kernel or embedded", remedy, MISSING)
    return found


def _generate(args: argparse.Namespace) -> int:
    artifacts = Artifacts()
    try:
        found = _inventory(args.devices)
        libraries = umd_libraries(artifacts, found.version)
        hook = artifacts.bin("fakegpu-hook")
    except MissingArtifactError as error:
        raise CommandError(error.cause, error.remedy, MISSING) from error
    except (ControlError, DeviceError) as error:
        raise CommandError(str(error), "start it again", MISSING) from error
    document = cdi_write.specification(found, libraries, hook, args.device_name_strategy)
    _write(args.output, cdi_write.text(document))
    if found.source != "kernel":
        print("note: for an embedded GPU: only programs that run on it find these nodes", file=sys.stderr)
    return OK


def _write(output: str, text: str) -> None:
    if output == "-":
        sys.stdout.write(text)
        return
    try:
        cdi_write.write(Path(output), text)
    except OSError as error:
        raise CommandError(
            f"can't write {output}: {error.strerror}", "name a place you may write to"
        ) from error


def _load(args: argparse.Namespace) -> cdi_cache.Cache:
    return cdi_cache.load(args.spec_dir or cdi_cache.DIRECTORIES)


def _list(args: argparse.Namespace) -> int:
    cache = _load(args)
    rows = [(plain(device.name), plain(str(device.path))) for device in cache.devices.values()]
    if args.json:
        for name, path in rows:
            print(json.dumps({"name": name, "file": path}))
    elif rows:
        print("\n".join(table(("NAME", "FILE"), rows, 0, ())))
    for name, paths in cache.conflicts.items():
        files = plain(", ".join(map(str, paths)))
        print(f"glassstack: {plain(name)} is claimed by {files}; remove all but one of them", file=sys.stderr)
    _complain(cache.faults)
    return FAILED if cache.conflicts or cache.faults else OK


def _complain(faults: list[tuple[Path, Fault]]) -> None:
    for path, fault in faults:
        print(f"glassstack: {plain(str(path))}: {plain(str(fault))}", file=sys.stderr)


def _validate(args: argparse.Namespace) -> int:
    bad = 0
    for path in args.files:
        document, faults = cdi_cache.read(path)
        _complain([(path, fault) for fault in faults])
        bad += bool(faults)
        if not faults:
            print(f"{plain(str(path))}: ok, {len(document['devices'])} devices of {document['kind']}")
    return FAILED if bad else OK


def _config(path: Path) -> dict[str, Any]:
    try:
        config = json.loads(path.read_bytes())
    except OSError as error:
        raise CommandError(
            f"can't read {path}: {error.strerror}", "name the config.json of a bundle"
        ) from error
    except ValueError as error:
        raise CommandError(f"{path} is no JSON: {error}", "correct it there") from error
    if not isinstance(config, dict) or "ociVersion" not in config:
        raise CommandError(f"{path} is no OCI configuration", "name the config.json of a bundle")
    return config


def _apply(args: argparse.Namespace) -> int:
    config = _config(args.config)
    try:
        cdi_apply.apply(config, _load(args).resolve(args.names))
    except cdi_cache.CdiError as error:
        raise CommandError(error.cause, error.remedy) from error
    _write(str(args.config), json.dumps(config, indent=2) + "\n")
    return OK
