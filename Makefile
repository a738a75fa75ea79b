# Two commands matter: `make demo` and `make test`. Each creates what is missing.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/installed

PREFIX ?= /opt/penstock

# Hundreds of processes start in a run of the tests; none of them compiles again what another has compiled.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test tests test-slow soak browser lint bench docs production lock pip-install clean

demo: $(INSTALLED)
	$(BIN)/penstock demo

# Types are checked beside the tests, so that neither processor waits.
test: $(INSTALLED)
	@$(MAKE) --no-print-directory --jobs 2 lint tests

# What they write lies in memory where there is room: a disk would be waited for thousands of times.
IN_MEMORY := $(shell test -w /dev/shm && test $$(df -Pk /dev/shm | awk 'NR == 2 {print $$4}') -gt 4000000 && echo TMPDIR=/dev/shm)
tests: $(INSTALLED)
	$(IN_MEMORY) $(BIN)/pytest -m "not slow" -n 3 --dist loadfile --no-loadscope-reorder

# What takes minutes, and every law once more with all its examples.
test-slow: $(INSTALLED)
	$(BIN)/pytest -m "slow or law" -n 2 --dist loadfile --no-loadscope-reorder --hypothesis-profile thorough

# Ten minutes of scheduled releases while server, worker and flow runs are killed at random.
soak: $(INSTALLED)
	$(BIN)/python -m tests.faults.soak

# A Chromium for the tests that click through the pages; they are skipped where there is none.
browser:
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
		&& apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null; } \
		|| echo "No Chromium, and it cannot be installed here: the tests in the browser will be skipped."

# mypy follows no editable install, so it gets the package as links to the folders.
TYPED := .venv/typed/penstock
lint: $(INSTALLED)
	rm -rf $(TYPED) && mkdir -p $(TYPED)
	ln -s $(CURDIR)/api/* $(foreach room,flows tasks mechanisms measures records reports reproduction deployments,$(CURDIR)/$(room)) $(TYPED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(INSTALLED)
	$(BIN)/python -m benchmarks.release_line
	$(BIN)/python -m benchmarks.records
	$(BIN)/python -m benchmarks.questions
	$(BIN)/python -m benchmarks.answers
	$(BIN)/python -m benchmarks.dp_microaggregation
	$(BIN)/python -m benchmarks.microaggregation
	$(BIN)/python -m benchmarks.tables
	$(BIN)/python -m benchmarks.survey
	$(BIN)/python -m benchmarks.closeness
	$(BIN)/python -m benchmarks.equal_counts
	$(BIN)/python -m benchmarks.scale
	$(BIN)/python -m benchmarks.gateway

docs: $(INSTALLED)
	$(BIN)/python -m penstock.flows.spec.reference > docs/spec.md
	$(BIN)/python -m penstock.cli._refusals_page > docs/refusals.md
	$(BIN)/python -m penstock.reproduction.reference

# Every package is pinned with its digest, so a build today and in a year are the same. requirements.lock is what runs in
# production; requirements-test.lock is what tests and builds need on top of it.
LOCKED := --quiet --no-deps --require-hashes
$(INSTALLED): requirements.lock requirements-test.lock pyproject.toml
	$(PYTHON) -m venv .venv
	sed -n '/^uv==/,/^    #/p' requirements-test.lock > .venv/uv.lock
	$(BIN)/python -m pip install $(LOCKED) -r .venv/uv.lock
	$(BIN)/uv pip install --python $(BIN)/python $(LOCKED) -r requirements.lock -r requirements-test.lock || $(MAKE) --no-print-directory pip-install
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	$(BIN)/python -m penstock.tasks.warm_up
	touch $@

# uv does not read the settings of pip. Where an index is named in those only, pip fetches the packages.
pip-install:
	$(BIN)/python -m pip install --no-compile $(LOCKED) -r requirements.lock -r requirements-test.lock

# An install without tests, builds and pip, as docs/operations.md describes it.
production:
	PYTHON=$(PYTHON) deployments/install.sh $(PREFIX)

# Resolve anew after changing pyproject.toml; versions that still fit stay.
LOCK = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header pyproject.toml
lock:
	$(LOCK) --extra dask -o requirements.lock
	$(LOCK) --extra test -c requirements.lock -o requirements-test.lock \
		$$(sed -n 's/^\([a-z0-9._-]*\)==.*/--no-emit-package \1/p' requirements.lock)
	sed -i '/^# /d' requirements-test.lock # the list of what was left out

clean:
	rm -rf .venv penstock-demo
