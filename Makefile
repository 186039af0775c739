# make demo   install into .venv, prove and verify a polynomial of 2^20 elements
# make test   install what the tests need, run all of them (with the Rust crates where cargo is found)
# make lint   check the style

PYTHON ?= python3
# A file's tests stay on one worker: they share compiled kernels, vectors and the crate's process.
PYTEST_ARGS ?= -n auto --dist loadfile
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
SOURCES := $(shell find whir_mlx -type f -not -name '*.pyc')
DEMO := $(VENV)/demo.whir

.PHONY: demo test lint clean

demo: $(VENV)/.installed
	@echo 'The first proof on a machine builds the kernels with its compiler; the second is the run that counts.'
	@$(BIN)/whir-mlx prove 'random:2^20' --output $(DEMO) > $(DEMO).txt
	@grep -A9 ^times $(DEMO).txt
	@echo
	$(BIN)/whir-mlx prove 'random:2^20' --output $(DEMO) > $(DEMO).txt
	@cat $(DEMO).txt
	@echo
	$(BIN)/whir-mlx verify $(DEMO) --min-security 95 --commitment $$(sed -n 's/^commitment *//p' $(DEMO).txt)

test: $(VENV)/.installed-test
	$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: $(VENV)/.installed-lint
	$(BIN)/ruff check .

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' \
		|| { echo 'Python 3.10 or later is needed; set PYTHON=/path/to/it' >&2; exit 1; }
	@$(PYTHON) -m venv --clear $(VENV) \
		|| { echo 'cannot make a virtual environment; on Debian: apt install python3-venv' >&2; exit 1; }
	@touch $@

$(VENV)/.installed: $(VENV)/.made pyproject.toml README.md $(SOURCES)
	$(PIP) install .
	@touch $@

# The tests run the sources of this folder (pythonpath in pyproject.toml); installed are what they need.
$(VENV)/.installed-test: $(VENV)/.installed
	$(PIP) install '.[test]'
	@touch $@

$(VENV)/.installed-lint: $(VENV)/.made pyproject.toml
	$(PIP) install 'ruff>=0.9'
	@touch $@

clean:
	rm -rf $(VENV) build dist
