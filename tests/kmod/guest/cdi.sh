#!/bin/sh
# SPDX-License-Identifier: MIT
# A GPU of the kernel's enters containers: podman's by our CDI specification,
# minirt's, and runc's by the hook. Prints KTAP; needs the module loaded.
# Tests are called by name, which shellcheck does not see.
# shellcheck disable=SC2317
set -u
root=$(cd "$(dirname "$0")/../../.." && pwd)
bin=${FAKEGPU_BIN:-$root/build/bin}
gpu=glassstack.dev/gpu=0
work=/mnt
image=localhost/glassstack-test
# shellcheck source=tests/kmod/ktap.sh
. "$root/tests/kmod/ktap.sh"

# Everything that is written is in memory: the host's files come over a slow share.
prepare() {
	mount -t tmpfs -o size=256M tmpfs "$work" && mkdir -p /etc/cdi "$work/tmp" || exit 4
	mount -t tmpfs tmpfs /etc/cdi && cp -L "$bin/minirt" "$bin/fakegpu-hook" "$work/" || exit 4
	"$root/tests/make_image" "$work/root" "$bin" || exit 4
	export TMPDIR=$work/tmp MINIRT_STATE_DIR=$work/minirt-state
}

said() {
	"$@" >"$work/said" 2>&1
	status=$?
	cat "$work/said"
	return "$status"
}

says() {
	wanted=$1
	shift
	said "$@" && grep -q "$wanted" "$work/said"
}

# The command may fail; it must say this.
complains() {
	wanted=$1
	shift
	said "$@"
	grep -q "$wanted" "$work/said"
}

writes_a_specification() {
	cd "$root" && python3 -m glassstack.cli.main cdi generate --output /etc/cdi/glassstack.json || return 1
	major=$(sed -n 's/ fakegpu-uvm$//p' /proc/devices)
	grep -q "\"major\": $((major))," /etc/cdi/glassstack.json
}

pods() {
	podman --root "$work/storage" --runroot "$work/run" --tmpdir "$work/tmp" --storage-driver vfs \
		--cgroup-manager cgroupfs --events-backend file --runtime crun "$@"
}

in_a_pod() {
	pods run --rm --network none --pull never "$@"
}

podman_imports() {
	tar -C "$work/root" -cf - . | pods import --quiet - "$image"
}

podman_shows_one_gpu() {
	said in_a_pod --device "$gpu" "$image" /bin/ls /dev || return 1
	same "$(grep fakegpu "$work/said" | sort | tr '\n' ' ')" "fakegpu-uvm fakegpu0 fakegpuctl "
}

podman_shows_none() {
	complains 'cudaErrorInsufficientDriver' in_a_pod "$image" /usr/bin/vectoradd
}

in_minirt() {
	"$work/minirt" run "$@"
}

denied_by_minirt() {
	complains 'Operation not permitted' in_minirt --device /dev/fakegpu0 --device-rule 'deny c 120:0 rw' \
		"$work/root" /bin/sh -c ': <>/dev/fakegpu0'
}

# bundle HOOK-OPTIONS COMMAND…
bundle() {
	rm -rf "$work/bundle" && mkdir "$work/bundle" && (cd "$work/bundle" && runc spec) || return 1
	python3 - "$work" "$@" <<-'END'
		import json, sys
		work, options, *command = sys.argv[1:]
		path = f"{work}/bundle/config.json"
		config = json.load(open(path))
		config["root"] = {"path": f"{work}/root", "readonly": False}
		config["process"].update(terminal=False, args=command)
		config["process"]["env"].append("FAKEGPU_VISIBLE_DEVICES=0")
		args = ["fakegpu-hook", "create-runtime", *options.split()]
		config["hooks"] = {"createRuntime": [{"path": f"{work}/fakegpu-hook", "args": args}]}
		json.dump(config, open(path, "w"))
	END
}

in_runc() {
	bundle "$@" && runc --root "$work/runc" run -b "$work/bundle" "test-$$"
}

# Without the module: the embedded device lets in whom the kernel's device list lets pass.
on_embedded() {
	"$bin/fakegpu-run" --devices 1 -- "$@"
}

embedded_instead_of_the_module() {
	rmmod fakegpu_uvm fakegpu || return 1
	# Its memory manager has a number of its own.
	sed -i "s/\"major\": $((major)),/\"major\": 509,/" /etc/cdi/glassstack.json &&
		says 'Test PASSED' on_embedded "$work/minirt" run --gpu "$gpu" "$work/root" /usr/bin/vectoradd
}

embedded_is_denied() {
	bundle --no-rules /bin/sh -c ': <>/dev/fakegpu0' &&
		complains 'Operation not permitted' on_embedded runc --root "$work/runc" run -b "$work/bundle" "test-$$"
}

module_comes_back() {
	insmod "$FAKEGPU_KO/fakegpu.ko" && insmod "$FAKEGPU_KO/fakegpu-uvm.ko"
}

[ "$list" = --list ] || prepare
check specification writes_a_specification
check podman-import podman_imports
check podman-vectoradd says 'Test PASSED' in_a_pod --device "$gpu" "$image" /usr/bin/vectoradd
check podman-one-gpu podman_shows_one_gpu
check podman-without podman_shows_none
check minirt-cdi says 'Test PASSED' in_minirt --gpu "$gpu" "$work/root" /usr/bin/vectoradd
check minirt-hook says 'Test PASSED' in_minirt --gpu-mode hook --gpu "$gpu" "$work/root" /usr/bin/vectoradd
check minirt-denied denied_by_minirt
check runc-hook says 'Test PASSED' in_runc '' /usr/bin/vectoradd
check runc-hook-denied complains 'Operation not permitted' in_runc --no-rules /bin/sh -c ': <>/dev/fakegpu0'
check embedded-injected embedded_instead_of_the_module
check embedded-denied embedded_is_denied
check module-again module_comes_back
finish
