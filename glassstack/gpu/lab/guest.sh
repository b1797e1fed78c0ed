#!/bin/bash
# SPDX-License-Identifier: MIT
# The session inside the lab VM, as root, on the console: completes what the
# boot made (images, module, cgroups, BPF), then gives the caller a shell or
# runs one command. What to do is in ./job; the host listens on the control
# port for lines: "note TEXT", "ready", "exit STATUS".
set -u
lab=/run/glassstack
command=() cwd=/ tty=no rows=24 cols=80 modules='' roots_python=() roots_project=()
# shellcheck source=/dev/null
. "$lab/job" # sets these, and the environment

# port NAME: the device node of a virtio port.
port() {
	local entry name
	for entry in /sys/class/virtio-ports/*; do
		# A console's port has no name.
		{ read -r name <"$entry/name"; } 2>/dev/null || continue
		[ "$name" = "glassstack.$1" ] && echo "/dev/${entry##*/}" && return
	done
}

exec 3<>"$(port control)"
tell() { printf '%s\n' "$*" >&3; }
note() { tell "note $*"; }

place() {
	local over=/run/lab/over/$2
	mkdir -p "$over/upper" "$over/work" "$3"
	if [ "$1" = fixed ]; then
		mount --bind "/run/lab/$2" "$3"
	else
		mount -t overlay -o "lowerdir=/run/lab/$2,upperdir=$over/upper,workdir=$over/work" lab "$3"
	fi
}

# attach HOW NAME FOLDER...: folder N of the image NAME at FOLDER; HOW is writable (what
# is written is kept in memory) or fixed (which is faster).
attach() {
	local how=$1 name=$2 disk serial number=0
	shift 2
	for disk in /sys/block/vd*; do
		read -r serial <"$disk/serial" # ends without a newline
		[ "$serial" = "$name" ] || continue
		mkdir -p "/run/lab/$name"
		mount -t squashfs -o ro "/dev/${disk##*/}" "/run/lab/$name" || break
		while [ $# -gt 0 ]; do
			place "$how" "$name/$number" "$1" ||
				note "$1 comes from the host, slowly: its image could not be mounted"
			number=$((number + 1))
			shift
		done
		return
	done
	note "the image $name could not be mounted; its files come from the host, slowly"
}

mount_what_a_lab_has() {
	local controller controllers
	mount -t bpf bpf /sys/fs/bpf 2>/dev/null || note "no BPF file system"
	[ -d /sys/kernel/tracing/events ] || mount -t tracefs tracefs /sys/kernel/tracing || note "no tracefs"
	[ -e /sys/kernel/debug/tracing ] || mount -t debugfs debugfs /sys/kernel/debug || note "no debugfs"
	read -r -a controllers </sys/fs/cgroup/cgroup.controllers
	for controller in "${controllers[@]}"; do
		echo "+$controller" >/sys/fs/cgroup/cgroup.subtree_control || note "cgroup controller $controller stays off"
	done
	echo 1 >/proc/sys/kernel/printk # the console is the caller's terminal
}

load_modules() {
	local module
	[ -n "$modules" ] || return
	for module in "$modules"/fakegpu.ko "$modules"/fakegpu-*.ko; do
		[ -f "$module" ] && { insmod "$module" 2>&1 || true; } |
			while read -r line; do note "$line"; done
	done
}

# The command in the caller's terminal, whose size follows the caller's.
on_terminal() {
	local status
	stty rows "$rows" cols "$cols" iutf8
	(
		trap '' INT QUIT TSTP
		while read -r word first second; do
			[ "$word" = size ] && stty -F /dev/ttyS0 rows "$first" cols "$second"
		done <&3
	) &
	trap : INT QUIT
	tell ready
	"${command[@]}"
	status=$?
	stty sane # waits until all output is out
	return "$status"
}

# What the command left running would hold its output open for ever.
end_leftovers() {
	local keep=" 1 $* " pid=$$ path parent
	while [ "$pid" -gt 1 ]; do
		keep="$keep$pid "
		read -r _ _ _ parent _ <"/proc/$pid/stat"
		pid=$parent
	done
	for path in /proc/[0-9]*/exe; do
		pid=${path#/proc/}
		pid=${pid%/exe}
		# Kernel threads have no program.
		[[ $keep == *" $pid "* ]] || { [ -e "$path" ] && kill -KILL "$pid" 2>/dev/null; }
	done
}

# The command with its input and outputs carried by ports of their own.
on_ports() {
	local status out err
	exec 4<"$(port stdin)" 5>"$(port stdout)" 6>"$(port stderr)"
	mkfifo /run/lab/in /run/lab/out /run/lab/err
	cat <&4 >/run/lab/in 2>/dev/null &
	cat </run/lab/out >&5 &
	out=$!
	cat </run/lab/err >&6 &
	err=$!
	tell ready
	setsid -w "${command[@]}" </run/lab/in >/run/lab/out 2>/run/lab/err 3>&- 4<&- 5>&- 6>&-
	status=$?
	end_leftovers "$out" "$err"
	wait "$out" "$err"
	return "$status"
}

mkdir -p /run/lab
modprobe -qa virtio_blk squashfs overlay
[ ${#roots_project[@]} -eq 0 ] || attach writable project "${roots_project[@]}"
attach fixed python "${roots_python[@]}"
mount_what_a_lab_has
load_modules
cd "$cwd" 2>/dev/null || cd /
if [ "$tty" = yes ]; then
	on_terminal
else
	on_ports
fi
tell "exit $?"
sleep 60 # the host ends the machine; if it is gone, so does the end of this session
