"""The cgroup walk over directories that look like v2, v1, hybrid and namespaced machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from glassstack.collectors import cgroup_v2
from glassstack.collectors.cgroup import MAX_CHILDREN, CgroupCollector
from glassstack.collectors.cgroup_limits import UNSEEN, smallest
from glassstack.model.entities import Cgroup, Limit
from glassstack.model.events import Cgroups
from glassstack.model.values import Missing
from glassstack.store.cgroups import ooms, pressure, share
from tests.fs.cgroup_tree import NO_LIMIT_V1, Machine

V2 = "/sys/fs/cgroup"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def look(machine: Machine, pid: int = 7) -> Cgroups:
    return CgroupCollector(lambda: [pid], machine.proc, machine.root).of(pid)


def find(event: Cgroups, path: str, controller: str = "") -> Cgroup:
    (group,) = [g for g in event.tree if g.path == path and (not controller or controller in g.controllers)]
    return group


def limit(group: Cgroup, name: str) -> Limit:
    (found,) = [one for one in group.limits if one.name == name]
    return found


def test_v2_chain_children_and_the_ancestor_that_caps(machine: Machine) -> None:
    machine.mount(V2, "cgroup2")
    machine.v2(V2, "/", is_root=True)
    machine.v2(V2, "/a", memory_max="1048576", cpu_max="50000 100000", pids_max="max")
    machine.v2(
        V2,
        "/a/b",
        memory_max="8388608",
        memory_high="max",
        pids_max="23",
        cpu_max="max 100000",
        memory_current="4096",
        pids_current="3",
        cpu_stat="usage_usec 1234\nnr_throttled 5",
        memory_events="oom 1\noom_kill 2",
        pids_events="max 4",
        cgroup_procs="7\n8\n0",
    )
    machine.v2(V2, "/a/b/c", memory_max="4096")
    machine.process(7, "0::/a/b\n")

    event = look(machine)

    assert [(g.path, g.relation) for g in event.tree] == [
        ("/", "ancestor"),
        ("/a", "ancestor"),
        ("/a/b", "own"),
        ("/a/b/c", "child"),
    ]
    own = find(event, "/a/b")
    assert limit(own, "memory.max") == Limit("memory.max", 8388608, 1048576, "/a")
    assert limit(own, "cpu.max") == Limit("cpu.max", None, 0.5, "/a")
    assert limit(own, "pids.max") == Limit("pids.max", 23, 23, "/a/b")
    assert limit(own, "memory.high") == Limit("memory.high", None, None, "")
    assert limit(find(event, "/a/b/c"), "memory.max") == Limit("memory.max", 4096, 4096, "/a/b/c")
    assert limit(find(event, "/a/b/c"), "pids.max") == Limit("pids.max", None, 23, "/a/b")
    assert own.usage == {"memory.current": 4096, "pids.current": 3, "cpu.usage_usec": 1234}
    assert own.events == {"memory.oom": 1, "memory.oom_kill": 2, "pids.max": 4, "cpu.nr_throttled": 5}
    assert own.pids == (7, 8)
    assert (event.own, event.missing, event.partial) == ("/a/b", "", "")


def test_what_is_not_counted_is_missing_and_never_zero(machine: Machine) -> None:
    machine.mount(V2, "cgroup2")
    machine.v2(V2, "/", is_root=True)
    machine.process(7, "0::/\n")
    usage = find(look(machine), "/").usage
    assert usage
    assert all(isinstance(value, Missing) and value.why for value in usage.values())


def test_one_unreadable_limit_makes_the_effective_one_unknown() -> None:
    value, setter = smallest([(5, "/"), (Missing("permission denied"), "/a"), (3, "/a/b")])
    assert value == Missing("limit of /a: permission denied")
    assert setter == ""


def test_of_equal_limits_the_outermost_sets_it() -> None:
    assert smallest([(None, "/"), (4, "/a"), (4, "/a/b"), (9, "/a/b/c")]) == (4, "/a")


def test_nonsense_in_a_limit_file_is_missing(machine: Machine) -> None:
    directory = machine.v2(V2, "/x", memory_max="lots", cpu_max="1 0")
    reading = cgroup_v2.read(directory)
    assert isinstance(reading.limits["memory.max"], Missing)
    assert isinstance(reading.limits["cpu.max"], Missing)


def v1_machine(machine: Machine, point: str = "/cg/memory", root: str = "/") -> None:
    machine.mount(point, "cgroup", "rw,memory", root)
    machine.mount("/cg/cpu,cpuacct", "cgroup", "rw,cpu,cpuacct")
    machine.mount("/cg/pids", "cgroup", "rw,pids")
    machine.mount("/cg/systemd", "cgroup", "rw,name=systemd")
    machine.v1("/cg/cpu,cpuacct", "/", is_root=True, cpu_cfs_quota_us="-1", cpu_cfs_period_us="100000")
    machine.v1("/cg/pids", "/", is_root=True)


def test_v1_hierarchies_each_have_their_chain(machine: Machine) -> None:
    v1_machine(machine)
    machine.v1("/cg/memory", "/", is_root=True, memory_limit_in_bytes=NO_LIMIT_V1)
    machine.v1(
        "/cg/memory",
        "/m",
        memory_limit_in_bytes="65536",
        memory_usage_in_bytes="4096",
        memory_oom_control="oom_kill_disable 0\nunder_oom 0\noom_kill 3",
        memory_failcnt="9",
    )
    machine.v1(
        "/cg/cpu,cpuacct",
        "/c",
        cpu_cfs_quota_us="150000",
        cpu_cfs_period_us="100000",
        cpuacct_usage="5000000",
    )
    machine.v1("/cg/pids", "/p", pids_max="23", pids_current="2")
    machine.process(7, "4:memory:/m\n3:pids:/p\n2:cpu,cpuacct:/c\n1:name=systemd:/s\n")

    event = look(machine)

    memory, pids, cpu = find(event, "/m"), find(event, "/p"), find(event, "/c")
    assert limit(memory, "memory.max") == Limit("memory.max", 65536, 65536, "/m")
    assert memory.events == {"memory.failcnt": 9, "memory.oom_kill": 3}
    assert limit(pids, "pids.max") == Limit("pids.max", 23, 23, "/p")
    assert limit(cpu, "cpu.max") == Limit("cpu.max", 1.5, 1.5, "/c")
    assert cpu.usage["cpu.usage_usec"] == 5000
    assert limit(find(event, "/", "memory"), "memory.max").own is None
    assert event.own == "/m"
    assert {g.version for g in event.tree} == {1}
    assert not [g for g in event.tree if "name=systemd" in g.controllers]


def test_v1_kernel_knows_limits_above_what_is_mounted(machine: Machine) -> None:
    """A container's bind mount shows its own cgroup only; memory.stat tells of the rest."""
    v1_machine(machine, root="/docker/abc")
    machine.v1(
        "/cg/memory",
        "/",
        memory_limit_in_bytes=NO_LIMIT_V1,
        memory_stat="cache 0\nhierarchical_memory_limit 4096\nhierarchical_memsw_limit " + NO_LIMIT_V1,
    )
    machine.process(7, "4:memory:/docker/abc\n3:pids:/\n2:cpu,cpuacct:/\n")
    event = look(machine)
    own = find(event, "/docker/abc")
    assert limit(own, "memory.max") == Limit("memory.max", None, 4096, UNSEEN)
    assert limit(own, "memory.memsw.max").effective is None
    assert "above /docker/abc" in event.partial


def test_v1_cpu_time_comes_from_a_separate_cpuacct_hierarchy(machine: Machine) -> None:
    machine.mount("/cg/cpu", "cgroup", "rw,cpu")
    machine.mount("/cg/cpuacct", "cgroup", "rw,cpuacct")
    machine.v1("/cg/cpu", "/", is_root=True)
    machine.v1("/cg/cpuacct", "/", is_root=True, cpuacct_usage="7000")
    machine.process(7, "2:cpu:/\n1:cpuacct:/\n")
    assert find(look(machine), "/").usage["cpu.usage_usec"] == 7


@pytest.mark.parametrize(("controllers", "shown"), [("hugetlb", {1}), ("memory pids", {1, 2})])
def test_hybrid_shows_v2_only_where_it_limits(machine: Machine, controllers: str, shown: set[int]) -> None:
    machine.mount("/cg/memory", "cgroup", "rw,memory")
    machine.mount("/cg/unified", "cgroup2")
    machine.v1("/cg/memory", "/", is_root=True)
    machine.v2("/cg/unified", "/", is_root=True, cgroup_controllers=controllers)
    machine.process(7, "4:memory:/\n0::/\n")
    assert {g.version for g in look(machine).tree} == shown


def test_inside_a_cgroup_namespace(machine: Machine) -> None:
    """Paths that climb out of the namespace are found where a mount shows them, else named."""
    machine.mount(V2, "cgroup2")
    machine.v2(V2, "/", memory_max="4096")  # has a cgroup.type: not the machine's root
    machine.process(7, "0::/\n")
    machine.process(8, "0::/../neighbour\n")

    event = look(machine)
    assert limit(find(event, "/"), "memory.max").effective == 4096
    assert "limits set above / are not visible" in event.partial

    outside = look(machine, 8)
    assert outside.tree == ()
    assert "/../neighbour: no mount here" in outside.missing

    machine.mount("/outer", "cgroup2", root="/..")
    machine.v2("/outer", "/")
    machine.v2("/outer", "/neighbour", pids_max="5")
    assert limit(find(look(machine, 8), "/../neighbour"), "pids.max").effective == 5


def test_the_mount_that_shows_most_is_used(machine: Machine) -> None:
    machine.mount("/bind", "cgroup2", root="/a")
    machine.mount(V2, "cgroup2")
    machine.v2("/bind", "/b")
    machine.v2(V2, "/", is_root=True)
    machine.v2(V2, "/a", pids_max="4")
    machine.v2(V2, "/a/b")
    machine.process(7, "0::/a/b\n")
    assert limit(find(look(machine), "/a/b"), "pids.max").set_by == "/a"


def test_a_mount_under_another_is_not_used(machine: Machine) -> None:
    below = machine.mount("/cg", "cgroup2")
    machine.mount("/cg", "tmpfs", parent=below)
    machine.v2("/cg", "/", is_root=True)
    machine.process(7, "0::/\n")
    assert look(machine).tree == ()
    machine.mount("/cg/new", "cgroup2", parent="22")
    machine.v2("/cg/new", "/", is_root=True)
    assert find(look(machine), "/").controllers == ("cpu", "memory", "pids")


def test_escaped_and_odd_names(machine: Machine) -> None:
    machine.mount(r"/my\040cg", "cgroup2", root=r"/sp\040ace")
    machine.v2("/my cg", r"/dev-\x2d:a b", pids_max="9")
    machine.v2("/my cg", "/")
    machine.process(7, "0::/sp ace/dev-\\x2d:a b\n")
    assert limit(find(look(machine), r"/sp ace/dev-\x2d:a b"), "pids.max").own == 9


def test_many_children_are_cut_and_counted(machine: Machine) -> None:
    machine.mount(V2, "cgroup2")
    machine.v2(V2, "/", is_root=True)
    for number in range(MAX_CHILDREN + 23):
        machine.v2(V2, f"/c{number}")
    machine.process(7, "0::/\n")
    event = look(machine)
    assert len([g for g in event.tree if g.relation == "child"]) == MAX_CHILDREN
    assert "23 more children of /" in event.partial


def test_a_cgroup_that_vanishes_is_said(machine: Machine) -> None:
    machine.mount(V2, "cgroup2")
    machine.v2(V2, "/", is_root=True)
    machine.process(7, "0::/gone (deleted)\n")
    assert look(machine).missing == "its cgroup was removed while it was read"


def test_reasons_for_nothing(machine: Machine) -> None:
    assert look(machine, 99).missing == "no process with pid 99"
    (machine.proc / "9").mkdir()
    assert look(machine, 9).missing == "this kernel has no cgroups"
    machine.process(7, "0::/\n")
    assert "no mount here shows it" in look(machine).missing


def test_probe_tells_which_versions(machine: Machine) -> None:
    collector = CgroupCollector(list, machine.proc, machine.root)
    assert not collector.probe().ready
    v1_machine(machine)
    assert collector.probe().why == "cgroup v1"
    machine.mount(V2, "cgroup2")
    machine.v2(V2, "/", is_root=True)
    assert collector.probe().why == "cgroup v1 and v2"


def test_kills_are_told_where_they_happened_and_by_whose_limit(machine: Machine) -> None:
    machine.mount(V2, "cgroup2")
    machine.v2(V2, "/", is_root=True)
    machine.v2(
        V2,
        "/a",
        memory_max="104857600",
        memory_events="oom 3\noom_kill 3",
        memory_events_local="oom 3\noom_kill 0",
    )
    machine.v2(
        V2,
        "/a/b",
        memory_max="max",
        memory_events="oom 0\noom_kill 3",
        memory_events_local="oom 0\noom_kill 3",
    )
    machine.process(7, "0::/a/b\n")

    assert ooms(look(machine).tree) == [
        "out of memory: the limit of 100 MiB of /a was hit 3 times",
        "out of memory: 3 processes were killed in /a/b",
    ]


def test_pressure_is_the_last_ten_seconds(machine: Machine) -> None:
    machine.mount(V2, "cgroup2")
    stall = "some avg10=12.50 avg60=1.00 avg300=0.00 total=5\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0"
    machine.v2(
        V2, "/a", memory_pressure=stall, cpu_pressure="some avg10=x", memory_current="50", memory_max="100"
    )
    machine.process(7, "0::/a\n")

    group = find(look(machine), "/a")
    assert group.pressure == {"memory.some": 12.5}
    assert pressure(group) == "memory 12 %"
    assert share(group, limit(group, "memory.max")) == 0.5
    assert share(group, limit(group, "cpu.max")) is None
