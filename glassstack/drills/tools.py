"""The node's own tools: small shell scripts that stand where an administrator looks for them.

Owns their text. They act on the node's GPU through its control socket and on
its services; they know nothing of a drill's causes. Every script finds the
node in its environment: DRILL (the folder), DEVICE, DAEMON and RUNNER.
"""

_DMESG = """#!/bin/sh
# The kernel log of this node: what its driver wrote.
exec "$DAEMON" ctl --join "$DEVICE" log
"""
_SVC = """#!/bin/sh
# svc start|stop|kill|restart|status NAME: the services of this node. /etc/services.d has their commands.
# stop asks (SIGTERM) and waits three seconds, kill does not.
set -e
[ $# = 2 ] || { echo "svc start|stop|kill|restart|status NAME" >&2; exit 2; }
what=$1 name=$2 at=$DRILL/home/$2
[ -f "/etc/services.d/$name" ] || { echo "svc: no service $name" >&2; exit 1; }
alive() {
	[ -s "$at.pid" ] && kill -0 "$(cat "$at.pid")" 2>/dev/null
}
end() {
	[ -f "$at.group" ] && kill -9 "-$(cat "$at.group")" 2>/dev/null || true
	rm -f "$at.pid" "$at.group"
}
stop() {
	tries=0
	if alive; then kill -TERM "$(cat "$at.pid")" || true; fi
	while alive && [ $tries -lt 60 ]; do sleep 0.05; tries=$((tries + 1)); done
	end
}
start() {
	set -a
	. /etc/environment
	set +a
	setsid sh -c 'echo $$ >"$0.group"; exec "$@" 9>"$0.pid"' "$at" \\
		"$RUNNER" --join "$DEVICE" --pid-fd 9 -- sh -c "exec $(cat "/etc/services.d/$name")" \\
		>>"$at.log" 2>&1 </dev/null &
	while [ ! -s "$at.pid" ]; do sleep 0.05; done
}
case $what in
start) start ;;
stop) stop ;;
kill) end ;;
restart) stop; start ;;
status) alive && echo "$name runs, pid $(cat "$at.pid")" || { echo "$name does not run"; exit 3; } ;;
*) echo "svc: $what?" >&2; exit 2 ;;
esac
"""
_VERDICT = """#!/bin/sh
# verdict WORD: what you found, for drills in which nothing needs mending, or more than mending.
[ $# = 1 ] || { echo "verdict WORD" >&2; exit 2; }
echo "$1" >"$DRILL/home/verdict"
"""
_RESET = """#!/bin/sh
# Resets the GPUs: what was wrong with one is over. Nobody may have one open, and each must still answer.
status=$("$DAEMON" ctl --join "$DEVICE" status) || exit 1
case $status in *'"name":"","uuid"'*)
	echo "gpu-reset: a GPU does not answer any more: only a power cycle brings it back" >&2
	exit 1
	;;
esac
holders=$(echo "$status" | grep -o '"id":[0-9]*,"pid":[0-9]*' | sed 's/.*://' | sort -un | tr '\\n' ' ')
[ -z "$holders" ] || { echo "gpu-reset: in use by pid ${holders% }" >&2; exit 1; }
exec "$DAEMON" ctl --join "$DEVICE" fault clear
"""
_POWER = """#!/bin/sh
# Power off and on: what runs on the node is killed, the GPUs come back, and the services start.
# home/power.log says what was killed.
services=$(cd /etc/services.d && ls)
for name in $services; do
	svc status "$name" >>"$DRILL/home/power.log" || continue
	svc kill "$name"
done
"$DAEMON" ctl --join "$DEVICE" status | grep -o '"id":[0-9]*,"pid":[0-9]*' | sed 's/.*://' | sort -un |
	xargs -r kill -9 2>/dev/null
"$DAEMON" ctl --join "$DEVICE" fault clear
for name in $services; do svc start "$name"; done
"""
_MODPROBE = """#!/bin/sh
# modprobe [-r] fakegpu-uvm: the memory manager's module of this node, and only that one.
# As the real one it runs what an "install" line of /etc/modprobe.d says in place of loading.
word=on
[ "$1" != -r ] || { word=off; shift; }
case $1 in fakegpu-uvm | fakegpu_uvm) ;; *) echo "modprobe: FATAL: Module $1 not found." >&2; exit 1 ;; esac
line=$(cat /etc/modprobe.d/*.conf 2>/dev/null | sed -n 's/^install  *fakegpu[-_]uvm  *//p' | tail -n 1)
if [ $word = on ] && [ -n "$line" ]; then
	sh -c "$line" && exit
	echo "modprobe: ERROR: Error running install command '$line' for module fakegpu_uvm: retcode $?" >&2
	exit 1
fi
exec "$DAEMON" ctl --join "$DEVICE" uvm $word
"""
_LSMOD = """#!/bin/sh
# The GPU driver's modules that this node has loaded.
echo "Module"
echo "fakegpu"
[ ! -e /dev/fakegpu-uvm ] || echo "fakegpu_uvm"
"""
TOOLS = {
    "dmesg": _DMESG,
    "svc": _SVC,
    "verdict": _VERDICT,
    "gpu-reset": _RESET,
    "power-cycle": _POWER,
    "modprobe": _MODPROBE,
    "lsmod": _LSMOD,
}
"""By name, as they lie beside the driver's programs."""

ENTER = """#!/bin/sh
# Into the world of a drill: its files where a node has them, then the command.
set -e
here={here}
mount --bind "$here/node/opt" /opt
{etc}
cd "$here/home"
exec "$@"
"""
OVERLAY = (
    'mount -t overlay -o lowerdir=/etc,upperdir="$here/node/etc",workdir="$here/work"{more} node-etc /etc'
)
BIND = 'mount --bind "$here/node/etc" /etc'
"""The node's /etc: over the machine's, or, where the file system allows no overlay, in place of it."""

ON = """#!/bin/sh
# A command on this node, as over ssh; without one, a shell.
export {exports}
set -a
. {etc}/environment
set +a
[ $# -gt 0 ] || {{ export PS1='[{name}] \\W \\$ '; set -- bash --norc -i; }}
exec {words} "$@"
"""
ON_NODE = """#!/bin/sh
# on NODE [COMMAND]: a command on a node, or a shell there.
[ $# -gt 0 ] && [ -x "$DRILL/$1/on" ] || {{ echo "on {nodes} [COMMAND]" >&2; exit 2; }}
node=$1
shift
exec "$DRILL/$node/on" "$@"
"""
