"""Versions of the browsers, servers, programs and guest kernel with which this machine makes
visits."""

import hashlib
from pathlib import Path

from dragstrip.browsers.registry import browser_version
from dragstrip.execution.guest.kernel.recipe import kernel, name_of
from dragstrip.model.study import Study
from dragstrip.results.fingerprint import Fingerprint
from dragstrip.results.machine import Machine
from dragstrip.results.manifest import own_git
from dragstrip.testbed.programs import program
from dragstrip.testbed.servers.packages import version_of
from dragstrip.verdict.rules import VERSION
from dragstrip.version import __version__

_PROGRAMS = ("link", "origin")


def browsers_of(study: Study) -> dict[str, str]:
    """Return the browser or load generator and its version for each stack, by name. Raises
    `TestbedError` if a browser is missing."""
    return {stack.name: browser_version(stack.browser) for stack in study.visited}


def servers_of(study: Study) -> dict[str, str]:
    """Versions of the study's servers other than our own."""
    versions = {s.server: version_of(s.serving) for s in study.visited}
    return {name: version for name, version in versions.items() if version}


def guest_of(study: Study) -> str:
    """Return the name of the guests' kernel; empty in real time. Raises `TestbedError` if there is
    none."""
    return name_of(kernel()) if study.clock.virtual else ""


def fingerprint(study: Study) -> Fingerprint:
    """Return this machine's fingerprint. Raises `TestbedError` if the machine lacks what the study
    needs."""
    return Fingerprint(
        machine=Machine.here(),
        dragstrip=own_git() or __version__,
        rules=VERSION,
        programs={name: _digest(program(f"dragstrip-{name}")) for name in _PROGRAMS},
        browsers=browsers_of(study),
        servers=servers_of(study),
        guest=guest_of(study),
    )


def _digest(file: str) -> str:
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()[:12]
