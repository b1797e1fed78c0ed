#!/bin/sh
# SPDX-License-Identifier: MIT
# What the lab promises of its VM before anything else is tried. Prints KTAP.
# Tests are called by name, which shellcheck does not see.
# shellcheck disable=SC2317
set -u
root=$(cd "$(dirname "$0")/../../.." && pwd)
cgroups=/sys/fs/cgroup
# shellcheck source=tests/kmod/ktap.sh
. "$root/tests/kmod/ktap.sh"

all_controllers_are_on() {
	same "$(cat "$cgroups/cgroup.subtree_control")" "$(cat "$cgroups/cgroup.controllers")" || return 1
	for controller in cpu cpuset io memory pids; do
		grep -qw "$controller" "$cgroups/cgroup.subtree_control" || {
			echo "no $controller"
			return 1
		}
	done
}

limits_hold() {
	mkdir "$cgroups/boot-test" || return 1
	echo 1 >"$cgroups/boot-test/pids.max" && echo 64M >"$cgroups/boot-test/memory.max" || return 1
	# The shell is the one process allowed; it can start none.
	sh -c "echo \$\$ >$cgroups/boot-test/cgroup.procs; /bin/true & wait" 2>/dev/null
	refused=$(sed -n 's/^max //p' "$cgroups/boot-test/pids.events")
	rmdir "$cgroups/boot-test" || return 1
	[ "$refused" -ge 1 ] || {
		echo "pids.max refused nothing"
		return 1
	}
}

mounted() {
	grep -q " $1 $2 " /proc/mounts || {
		echo "no $2 at $1"
		return 1
	}
}

programs_and_python_come_from_images() {
	mounted "/run/lab/python" squashfs && mounted /run/lab/project squashfs && mounted "$root" overlay
}

host_is_copy_on_write() {
	for folder in /etc /usr /var /root "$root"; do
		echo written >"$folder/.glassstack-lab-was-here" || return 1
	done
	mounted / 9p && grep -Eq '^/dev/root / 9p ro,(.*,)?loose,' /proc/mounts
}

nodes_are_there() {
	for node in fakegpu0 fakegpuctl fakegpu-uvm; do
		[ -c "/dev/$node" ] || {
			echo "no /dev/$node"
			return 1
		}
	done
	[ -r /proc/driver/fakegpu/version ]
}

events_can_be_traced() {
	[ -w /sys/kernel/tracing/kprobe_events ] && [ -r /sys/kernel/btf/vmlinux ] &&
		[ -d /sys/kernel/tracing/events/raw_syscalls ]
}

modules_unload_and_load() {
	rmmod fakegpu_uvm && rmmod fakegpu || return 1
	[ ! -e /dev/fakegpu0 ] || {
		echo "the node stays"
		return 1
	}
	insmod "$FAKEGPU_KO/fakegpu.ko" && insmod "$FAKEGPU_KO/fakegpu-uvm.ko" && nodes_are_there
}

check cgroup-controllers all_controllers_are_on
check cgroup-limits limits_hold
check bpf-filesystem mounted /sys/fs/bpf bpf
check tracefs mounted /sys/kernel/tracing tracefs
check debugfs mounted /sys/kernel/debug debugfs
check tracing events_can_be_traced
check images programs_and_python_come_from_images
check copy-on-write host_is_copy_on_write
check nodes nodes_are_there
check modules modules_unload_and_load
finish
