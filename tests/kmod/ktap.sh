# SPDX-License-Identifier: MIT
# KTAP for guest scripts: sourced, then a line `check NAME COMMAND…` per test and
# `finish` at the end. Started with --list, a script prints its names and tests nothing.

number=0
failed=0
list=${1-}
out=$(mktemp)
[ "$list" = --list ] || echo "KTAP version 1"

# check NAME COMMAND…: passes when COMMAND does; what it printed says why it did not.
check() {
	name=$1
	shift
	[ "$list" != --list ] || {
		echo "$name"
		return 0
	}
	number=$((number + 1))
	if "$@" >"$out" 2>&1; then
		echo "ok $number $name"
	else
		failed=1
		sed 's/^/# /' "$out" | tail -n 20
		echo "not ok $number $name"
	fi
}

finish() {
	rm -f "$out"
	[ "$list" = --list ] || echo "1..$number"
	exit "$failed"
}

# same IS SHOULD
same() {
	[ "$1" = "$2" ] || {
		echo "is '$1', not '$2'"
		return 1
	}
}
