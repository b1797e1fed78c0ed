# For developers. Users need only ./glass and ./glass test.
#
#   make setup   .venv with the development tools, C programs under build/
#   make build   C programs only
#   make check   format, lint, types, import contracts, C format and warnings, shell
#   make test    the suite; ARGS="tests/unit -k ring" picks from it
#   make bench   the figures, as a table and in build/bench.json
#   make lock    new requirements*.lock from pyproject.toml

.DELETE_ON_ERROR:
.PHONY: setup build check check-python check-c check-shell test bench lock clean

BIN := .venv/bin
C_FILES := $(sort $(wildcard kmod/*/*.[ch] minirt/*.[ch] tests/c/*.[ch] tests/kmod/*.[ch] tests/minirt/*/*.[ch] bench/*.c \
	glassstack/collectors/bpf/*.c))

# $(call with,TOOL,COMMAND): where TOOL is missing say so, and fail in CI, which promises it.
with = @if command -v $(1) >/dev/null; then set -x; $(2); else echo "skipped: no $(1)"; [ -z "$$CI" ]; fi

setup:
	@GLASS_SETUP=only ./glass test

# The container runtime needs libjansson and says so; the rest does without.
build:
	$(MAKE) -C kmod
	-$(MAKE) -C minirt

check: check-python check-c check-shell

check-python: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

check-c:
	$(call with,clang-format,clang-format --dry-run -Werror $(C_FILES))
	$(call with,gcc,$(MAKE) -s -C kmod CC=gcc OUT=../build/check/gcc)
	$(call with,clang,$(MAKE) -s -C kmod CC=clang OUT=../build/check/clang)
	$(call with,gcc,$(MAKE) -s -C minirt CC=gcc OUT=../build/check/gcc)
	$(call with,clang,$(MAKE) -s -C minirt CC=clang OUT=../build/check/clang)
	$(call with,gcc,$(MAKE) -s -C tests/minirt OUT=../../build/check/minirt-tests)
	$(call with,gcc,$(MAKE) -s -C tests/kmod OUT=../../build/check/kmod-tests)
	$(call with,sparse,$(MAKE) -s -C kmod/linux W=1 C=2 CF=-Wsparse-error KCFLAGS=-Werror OUT=../../build/check/kmod)

check-shell:
	$(call with,shellcheck,shellcheck -x glass .ci/run glassstack/gpu/lab/guest.sh tests/kmod/run_guest tests/make_image $(wildcard tests/kmod/guest/*.sh))

test:
	@./glass test $(ARGS)

bench: setup build
	$(BIN)/python bench/run.py $(ARGS)

# The build tools are locked too: installing from a checkout fetches nothing unnamed.
COMPILE = $(BIN)/pip-compile --quiet --generate-hashes --strip-extras --allow-unsafe --build-deps-for editable \
	--no-header --no-annotate --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-emit-options
HEADER = '1i \# Exact versions with hashes, valid on Python 3.11 to 3.13. Made by: make lock'

lock: setup
	$(BIN)/python -m pip install --quiet pip-tools
	$(COMPILE) $(ARGS) -o requirements.lock pyproject.toml
	$(COMPILE) $(ARGS) --extra dev -c requirements.lock -o requirements-dev.lock pyproject.toml
	sed -i $(HEADER) requirements.lock requirements-dev.lock

clean:
	rm -rf build dist
