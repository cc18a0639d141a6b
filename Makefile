# SPDX-License-Identifier: Apache-2.0
# Every target does all of its own set-up. `make` alone lists them.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory

# Ansible stops at start under a locale that is not UTF-8, as batch jobs have it.
export LC_ALL := C.UTF-8
# This repository's settings, also where a person's environment names others.
export ANSIBLE_CONFIG := $(CURDIR)/ansible.cfg
export PATH := $(CURDIR)/.venv/bin:$(PATH)

N ?= 2
BASE_PACKAGES := git openssh-client python3 python3-venv
LAB_PACKAGES := apt-utils ca-certificates containernetworking-plugins debian-archive-keyring dpkg-dev gnupg \
	iproute2 iptables mmdebstrap podman runc uidmap
# What mypy proves: the controller's side, the readers that it shares with the nodes, and the lab.
# Through the link, since that is the path by which the collection imports itself.
COLLECTION := collections/ansible_collections/instinct/bringup
TYPED := $(sort $(dir $(wildcard $(patsubst %,$(COLLECTION)/plugins/%/*.py,module_utils plugin_utils action callback filter)))) \
	molecule/lab/instinct_lab
LAB := tools/as-root.sh .venv/bin/python -m instinct_lab

.PHONY: help setup setup-dev setup-lab bench demo test test-slow lint format unit offline journey lab lab-down collection lock

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' Makefile | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

setup: ## .venv with Ansible, from the lock
	@tools/os-packages.sh "the controller" $(BASE_PACKAGES)
	@tools/venv.sh requirements/run.txt
# As pip does with what it installs: an environment that keeps no bytecode would compile it in every run.
	@.venv/bin/python -m compileall -q python_modules/plugins

setup-dev: setup
	@tools/venv.sh requirements/dev.txt

# Before setup, and with its packages: what is missing is named once.
setup-lab:
	@tools/os-packages.sh "the controller and the simulated nodes" $(BASE_PACKAGES) $(LAB_PACKAGES)

demo: setup-lab setup ## two simulated nodes, from fresh to verified
	$(LAB) up -N 2
	$(LAB) reset
	@result=0; ansible-playbook -i inventory/lab site.yml || result=$$?; \
	echo; echo "Report: reports/latest/index.html, results.json, junit.xml"; \
	echo "The nodes are still there (make lab-down removes them). Ask again: .venv/bin/ansible-playbook -i inventory/lab playbooks/verify.yml"; \
	exit $$result

test: setup-lab lint unit offline journey ## all of these: lint, unit, offline, journey

lint: setup-dev ## ansible-lint, yamllint, ruff, mypy
	ruff check
	ruff format --check
	mypy $(TYPED)
	yamllint --strict .
	ansible-lint --offline --profile production

format: setup-dev ## what ruff can repair by itself
	ruff check --fix
	ruff format

unit: setup-dev ## unit tests: no root, no network, no lab
	pytest --numprocesses 2 tests/unit

offline: setup-dev ## whole playbooks over made trees, and the simulator itself: no root, no network, no lab
	pytest --numprocesses 2 --dist loadfile tests/playbooks tests/simulator

journey: setup-lab setup-dev ## the lab's own tests and the molecule journeys
	$(LAB) up -N 2
	tools/as-root.sh .venv/bin/python -m pytest tests/lab tests/journey

test-slow: setup-lab setup-dev ## tests marked slow, which make test leaves out
	$(LAB) up -N 2
	tools/as-root.sh .venv/bin/python -m pytest -m slow tests

bench: setup-lab setup-dev ## verify against ping on 8 nodes, bring-up against doing it by hand: ratios, as JSON
	@$(LAB) up -N 8 >&2
	@result=0; tools/as-root.sh .venv/bin/python benchmarks/bench.py || result=$$?; \
	.venv/bin/python benchmarks/verify_ping.py -i inventory/lab || result=$$?; exit $$result

lab: setup-lab setup ## N simulated nodes and the inventory inventory/lab (make lab N=2)
	$(LAB) up -N $(N)

lab-down: setup ## remove the simulated nodes
	$(LAB) down

collection: setup ## dist/: the collection instinct.bringup as an archive
	@tools/build-collection.sh

# make lock ROCM=5.4.2 [INDEX=https://…/whl] [NODE_PYTHON=3.10] writes the locks of a release instead: the wheels', DeepSpeed's.
lock: ## requirements/*.txt again, or with ROCM=5.4.2 those of a release in locks/
ifdef ROCM
	@tools/wheel_lock.sh "$(ROCM)" "$(INDEX)" "$(NODE_PYTHON)"
	@tools/deepspeed_lock.sh "$(ROCM)" "locks/pytorch-rocm$(ROCM).txt" "$(NODE_PYTHON)"
else
	@tools/lock.sh
endif
