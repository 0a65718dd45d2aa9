# One front for the scripts: each target is one call of tests/run, deploy/ or tests/bench/run, which can be called themselves.
.DEFAULT_GOAL := build
.PHONY: help build test nightly page run demo dev format check bench

T =
K =
P = asan
export SM_PRESET = $(P)

help: ## lists the targets
	@sed -nE 's/^([a-z]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

build: ## builds the page and the programs into build/asan; P=dev, release, tsan, clang: into build/dev, …
	tests/run page build

test: ## runs all that CI runs; T=FILE: one file of tests, K=NAME: those whose name holds NAME
	tests/run $(T) $(if $(and $(T),$(K)),'$(K)')

nightly: ## runs everything: also clang, TSan, clang-tidy, cppcheck, the .deb, more kills, longer fuzzing
	tests/run --all

page: ## builds the page into web/dist
	deploy/page

run: ## builds a release and serves smfleet.db of this folder on http://127.0.0.1:8080/
	deploy/run

demo: ## the same with a database of its own and a small simulated fleet
	deploy/run --demo

dev: page ## serves the page with hot reload on http://localhost:5173/, over the server on port 8080
	PATH="$$(deploy/node)/bin:$$PATH" npm run dev --prefix web

format: ## formats the C sources
	tests/run format

check: ## looks at layers, sizes, documents, routes, texts, migrations and formatting; builds nothing
	tests/run checks

bench: ## measures the release build, 10 s a load; ROWS="bulk chart": only these
	SM_PRESET=release tests/run page build
	tests/bench/run --quick $(if $(ROWS),--only $(ROWS))
