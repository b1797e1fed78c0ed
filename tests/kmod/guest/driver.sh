#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests of fakegpu.ko, as root in a machine that may be thrown away. Prints KTAP.
# Begins without the modules and leaves them loaded.
#
#   FAKEGPU_KO       folder with fakegpu.ko and fakegpu-uvm.ko
#   FAKEGPU_BIN      folder with fakegpu-client and the workloads
#   FAKEGPU_HELPERS  folder with what tests/kmod/Makefile builds
#   FAKEGPU_ABUSE    random ioctls to throw (default 1000000)
#
# Exits with 1 when a test failed, 4 when something is missing.
#   driver.sh --list   only prints the names of its tests
#
# Tests are called by name, which shellcheck does not see.
# shellcheck disable=SC2317
set -u
list=${1-}
[ "$list" = --list ] || : "${FAKEGPU_KO:?}" "${FAKEGPU_BIN:?}" "${FAKEGPU_HELPERS:?}"
abuse=${FAKEGPU_ABUSE:-1000000}
class=/sys/class/fakegpu/fakegpu0
faults=/sys/kernel/debug/fakegpu/fault
tracing=/sys/kernel/tracing
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PATH=${FAKEGPU_BIN-}:${FAKEGPU_HELPERS-}:$PATH
export LD_LIBRARY_PATH="${FAKEGPU_BIN-}/../lib"
number=0
failed=0
holder=

die() {
	echo "Bail out! $1"
	exit 4
}

# check NAME COMMAND…: passes when COMMAND does; else its last line is the reason.
check() {
	name=$1
	shift
	[ "$list" != --list ] || { echo "$name"; return 0; }
	number=$((number + 1))
	if "$@" >"$work/out" 2>&1; then
		echo "ok $number $name$(sed -n 's/^# / # /p' "$work/out" | tail -n 1)"
	else
		failed=1
		sed 's/^/# /' "$work/out" | tail -n 20
		echo "not ok $number $name # $(tail -n 1 "$work/out")"
	fi
}

same() {
	[ "$1" = "$2" ] || { echo "is '$1', not '$2'"; return 1; }
}

# Waits up to 20 s for COMMAND to succeed.
eventually() {
	tries=0
	until "$@" >/dev/null 2>&1; do
		tries=$((tries + 1))
		[ "$tries" -lt 200 ] || { echo "not within 20 s: $*"; return 1; }
		sleep 0.1
	done
}

load() {
	insmod "$FAKEGPU_KO/fakegpu.ko" "$@" && insmod "$FAKEGPU_KO/fakegpu-uvm.ko"
}

unload() {
	eventually rmmod fakegpu_uvm && eventually rmmod fakegpu
}

fault() {
	echo "$1" >"$faults"
}

# hold VERB: a process that holds something until release.
hold() {
	rm -f "$work/in" "$work/held"
	mkfifo "$work/in"
	life "$1" <"$work/in" >"$work/held" &
	holder=$!
	exec 9>"$work/in"
	eventually grep -q ready "$work/held"
}

release() {
	exec 9>&-
	wait "$holder"
}

nothing_left() {
	eventually no_context || { echo "contexts left: $(ls "$class"/contexts)"; return 1; }
	same "$(cat "$class"/vram_used)" 0 || return 1
	same "$(grep -c fgpu_port_backing_get /proc/vmallocinfo)" 0
}

no_context() {
	[ -z "$(ls "$class"/contexts)" ]
}

some_context() {
	! no_context
}

kernel_is_well() {
	if dmesg | grep -E 'BUG|WARNING:|Oops|Call Trace|hung_task|blocked for more|soft lockup|general protection|refcount_t'; then
		return 1
	fi
}

nodes() {
	same "$(stat -c '%a %t %T' /dev/fakegpu0)" "666 78 0" || return 1
	same "$(stat -c '%a %t %T' /dev/fakegpuctl)" "666 78 ff" || return 1
	same "$(stat -c '%a' /dev/fakegpu-uvm)" 666 || return 1
	grep -q ' fakegpu-uvm$' /proc/devices || { echo "fakegpu-uvm has no major"; return 1; }
	same "$(sed -n 's/.*Module  //p' /proc/driver/fakegpu/version)" 550.54.14 || return 1
	same "$(cat "$class"/vram_total)" $((1024 * 1024 * 1024))
}

parameters() {
	unload || return 1
	load devices=3 quota=7 vram=64 version=535.54.03 || return 1
	same "$(cd /dev && echo fakegpu[0-9]*)" "fakegpu0 fakegpu1 fakegpu2" || return 1
	same "$(cat /sys/class/fakegpu/fakegpu2/quota)" $((7 * 1024 * 1024)) || return 1
	same "$(cat /sys/class/fakegpu/fakegpu1/pci)" 0000:02:00.0 || return 1
	same "$(cat /sys/class/fakegpu/fakegpu1/version)" 535.54.03 || return 1
	fault xid=13,device=1 && same "$(cat "$faults")" xid=13,device=1 || return 1
	fault clear
	fault xid=31 && same "$(grep -c xid=31 "$faults")" 3 || return 1
	fault clear
	unload || return 1
	insmod "$FAKEGPU_KO/fakegpu.ko" devices=9 && { echo "takes 9 devices"; return 1; }
	load
}

client() {
	fakegpu-client >"$work/client"
	result=$?
	grep FAIL "$work/client"
	echo "# $(tail -n 1 "$work/client")"
	return "$result"
}

prints() {
	"$@" >"$work/program" 2>&1 || { tail -n 1 "$work/program"; return 1; }
	echo "# $(tail -n 1 "$work/program")"
}

refuses_rmmod() {
	hold "$1" || return 1
	rmmod fakegpu_uvm || return 1
	rmmod fakegpu && { echo "unloaded under its user"; return 1; }
	release || return 1
	eventually rmmod fakegpu && load
}

uvm_holds() {
	rmmod fakegpu 2>/dev/null && { echo "unloaded under fakegpu-uvm"; return 1; }
	same "$(ls /sys/module/fakegpu/holders)" fakegpu_uvm
}

context_in_sysfs() {
	hold hold-map || return 1
	at=$(echo "$class"/contexts/*)
	same "$(cat "$at/pid") $(cat "$at/name") $(cat "$at/channels")" "$holder life 1" || return 1
	same "$(cat "$at/bytes") $(cat "$at/submits") $(cat "$at/poisoned")" "0 0 0" || return 1
	release
	hold hold-fd || return 1
	same "$(cat "/proc/$holder/fdinfo/"* | sed -n 's/^fakegpu-context:\t//p')" \
		"$(ls "$class"/contexts)" || return 1
	release
	nothing_left
}

poisoned() {
	fault "$1" || return 1
	fakegpu-vectoradd >"$work/program" 2>&1 && { echo "vectoradd passed"; return 1; }
	dmesg | tail -n 20 | grep "FGPU: Xid (PCI:0000:01:00): $2, pid=" || { dmesg | tail -n 3; return 1; }
	fakegpu-vectoradd >/dev/null
}

off_bus() {
	fault off-bus || return 1
	life poll-fence 2>/dev/null && { echo "it opens"; return 1; }
	dmesg | tail -n 5 | grep -q 'Xid (PCI:0000:01:00): 79, GPU has fallen' || return 1
	fault clear && fakegpu-vectoradd >/dev/null
}

firmware() {
	fault fw-timeout || return 1
	fakegpu-vectoradd >/dev/null 2>&1 && { echo "vectoradd passed"; return 1; }
	dmesg | tail -n 5 | grep 'Xid (PCI:0000:01:00): 119, pid=' || return 1
	fault clear && fakegpu-vectoradd >/dev/null
}

# What waits for a job that hangs can be killed at once.
killed_in_hang() {
	fault hang || return 1
	fakegpu-vectoradd --ioctl >/dev/null 2>&1 &
	waiter=$!
	eventually sleeps_in_wait "$waiter" || return 1
	kill -9 "$waiter"
	wait "$waiter"
	fault clear
	nothing_left
}

sleeps_in_wait() {
	grep -q fakegpu_file_ioctl "/proc/$1/stack"
}

refuses_faults() {
	for spec in nonsense xid=1000 xid=31,device=7 "hang,hang"; do
		fault "$spec" 2>/dev/null && { echo "takes '$spec'"; return 1; }
	done
	fault "xid=31,after=5,count=2" || return 1
	same "$(cat "$faults")" "xid=31,after=5,count=2" || return 1
	fault clear
	same "$(cat "$faults")" ""
}

uevents_come() {
	uevents 5 >"$work/uevents" &
	listener=$!
	eventually grep -q ready "$work/uevents" || return 1
	fault xid=13 || return 1
	fakegpu-vectoradd >/dev/null 2>&1
	rmmod fakegpu_uvm && insmod "$FAKEGPU_KO/fakegpu-uvm.ko" && rmmod fakegpu_uvm && unload_only
	wait "$listener" || { cat "$work/uevents"; return 1; }
	load || return 1
	same "$(sed '1d; s/ *$//; s/ 13 [0-9]*$/ 13/' "$work/uevents" | tr '\n' ';')" \
		"change fakegpu0 13;remove fakegpu-uvm;add fakegpu-uvm;remove fakegpu-uvm;remove fakegpuctl;"
}

unload_only() {
	eventually rmmod fakegpu
}

# 23 launches through a ring: each seen at every step, in order.
tracepoints() {
	echo 1 >"$tracing"/events/fakegpu/enable || return 1
	echo >"$tracing"/trace
	life close-first
	echo 0 >"$tracing"/events/fakegpu/enable
	grep -o 'fakegpu_[a-z_]*:' "$tracing"/trace | sort | uniq -c | tr -s ' \n' ' ' >"$work/steps"
	same "$(cat "$work/steps")" \
		" 23 fakegpu_doorbell: 23 fakegpu_fence_signalled: 23 fakegpu_job_start: "
}

engine_sleeps() {
	awk '/ctxt_switches/ {n += $2} END {print n}' "/proc/$(pgrep -x fakegpu0)/status"
}

# With a ring open and nothing to do the engine must not run: no switch in 2 s.
idle_is_free() {
	hold hold-map || return 1
	eventually engine_at_rest || return 1
	before=$(engine_sleeps)
	sleep 2
	after=$(engine_sleeps)
	release
	same "$after" "$before"
}

engine_at_rest() {
	one=$(engine_sleeps)
	sleep 0.3
	[ "$(engine_sleeps)" = "$one" ]
}

killing_spree() {
	prints killing 200 && nothing_left
}

thrown() {
	prints abuse --calls "$abuse" --seconds "${FAKEGPU_ABUSE_SECONDS:-60}" --seed "$1" && nothing_left
}

unload_during_work() {
	fakegpu-burst --seconds 3 >/dev/null 2>&1 &
	worker=$!
	eventually some_context || return 1
	tries=0
	while kill -0 "$worker" 2>/dev/null; do
		rmmod fakegpu 2>/dev/null && { echo "unloaded"; return 1; }
		tries=$((tries + 1))
	done
	echo "# $tries attempts"
	wait "$worker"
}

# What a program sees of the module and of the embedded device: the same calls, the same answers.
same_as_embedded() {
	strace -e trace=ioctl -o "$work/module" fakegpu-client >/dev/null || return 1
	fakegpu-run -- strace -e trace=ioctl -o "$work/embedded" fakegpu-client >/dev/null || return 1
	for driver in module embedded; do
		sed -n 's/.*ioctl(.*_IOC(\(.*, 0xfa, [^)]*\)).*= /\1 = /p' "$work/$driver" >"$work/$driver.calls"
	done
	diff "$work/module.calls" "$work/embedded.calls" | head -n 5
	echo "# $(wc -l <"$work/module.calls") calls"
	cmp -s "$work/module.calls" "$work/embedded.calls" && [ -s "$work/module.calls" ]
}

# Pages lost would show: the same work again and again must not eat memory.
memory_stays() {
	killing 20 >/dev/null || return 1
	before=$(awk '/MemAvailable/ {print $2}' /proc/meminfo)
	killing 100 >/dev/null || return 1
	after=$(awk '/MemAvailable/ {print $2}' /proc/meminfo)
	echo "# $((before - after)) KiB less after 100 clients"
	[ $((before - after)) -lt 8192 ]
}

prepare() {
	[ "$(id -u)" = 0 ] || die "must be root"
	for file in "$FAKEGPU_KO/fakegpu.ko" "$FAKEGPU_BIN/fakegpu-client" "$FAKEGPU_HELPERS/life"; do
		[ -e "$file" ] || die "no $file: build it"
	done
	[ -d "$tracing"/events ] || mount -t tracefs nodev "$tracing" 2>/dev/null
	[ -d /sys/kernel/debug/tracing ] || mount -t debugfs nodev /sys/kernel/debug 2>/dev/null
	echo "KTAP version 1"
	dmesg -C
}

[ "$list" = --list ] || prepare
check load load
check nodes nodes
check client client
check vectoradd-ring prints fakegpu-vectoradd
check vectoradd-ioctl prints fakegpu-vectoradd --ioctl
check same-as-embedded same_as_embedded
check train prints fakegpu-train --steps 23 --rate 0
check burst prints fakegpu-burst --seconds 1
check signal-storm prints storm
for verb in close-first fork-mapped pass-fd freed-while-mapped idle-doorbell read-from-outside \
	poll-fence interrupted-wait; do
	check $verb life $verb
done
[ "$(uname -m)" != x86_64 ] || check as-32-bit life as-32-bit
check context-in-sysfs context_in_sysfs
check uvm-holds-fakegpu uvm_holds
check rmmod-refused-by-fd refuses_rmmod hold-fd
check rmmod-refused-by-mapping refuses_rmmod hold-map
check rmmod-refused-during-work unload_during_work
check idle-costs-nothing idle_is_free
check tracepoints tracepoints
check fault-grammar refuses_faults
check fault-xid poisoned xid=31 31
check fault-ecc poisoned ecc 94
check fault-off-bus off_bus
check fault-firmware firmware
check killed-in-hang killed_in_hang
check uevents uevents_come
check killed-200-times killing_spree
check abuse thrown 23
check memory memory_stays
check client-after-all-that client
check nothing-left nothing_left
check parameters parameters
check unload unload
check load-again load
check kernel-is-well kernel_is_well
[ "$list" = --list ] || echo "1..$number"
exit "$failed"
