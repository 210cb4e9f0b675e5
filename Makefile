# make demo | test | check | fix | docs | evidence. Needs python3 (3.10 or newer), gcc and make.

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check --constraint constraints.txt
# What the demo needs; what all the rest needs.
DEMO := $(VENV)/.demo
READY := $(VENV)/.ready

.PHONY: demo test check fix docs evidence clean

demo: $(DEMO)
	@echo "Compiling the baselines, 20 s of search, judging: 141 s in all on two idle cores."
	$(BIN)/kernelwright optimize examples/problems/rmsnorm_gelu.py --budget 20

test: check
	KERNELWRIGHT_TEST_MPI=required $(BIN)/python -m pytest -n 2 --dist loadfile

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m docs.generate --check

fix: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(READY)
	$(BIN)/python -m docs.generate

evidence: $(READY)
	$(BIN)/python -m benchmarks.aa --target cpu --series 1000
	$(BIN)/python -m benchmarks.corpus --rounds 3
	$(BIN)/python -m benchmarks.hostile --candidates 500
	$(BIN)/python -m benchmarks.best_of
	$(BIN)/python -m benchmarks.examples --budget 60
	$(BIN)/python -m benchmarks.memory
	$(BIN)/python -m benchmarks.startup
	$(BIN)/python -m benchmarks.service --verdicts 1000
	$(BIN)/python -m benchmarks.option_pricing
	$(BIN)/python -m benchmarks.datatypes

$(DEMO): constraints.txt pyproject.toml
	@echo "Installing torch and little else into $(VENV); torch is most of the download."
	python3 -m venv $(VENV)
	$(PIP) --editable .
	touch $@

$(READY): $(DEMO)
	@echo "Installing what tests and checks need into $(VENV): Ray, a CUDA compiler, MPI, ruff, mypy, pytest."
	$(PIP) --editable '.[dev,cuda,service]'
	touch $@

clean:
	rm -rf $(VENV)
