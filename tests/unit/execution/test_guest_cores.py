"""Guests that run at once are pinned to cores of their own."""

import os
import tempfile

from dragstrip.execution.guest import boot

CORES = {100_000, 100_001}
"""No machine has these, so no guest that runs now holds them."""


def test_two_guests_have_two_cores_whatever_their_temporary_folders(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: CORES)
    with boot._core() as first:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        with boot._core() as second:
            assert {first, second} == CORES
            with boot._core() as third:
                assert third in CORES
        with boot._core() as again:
            assert again == second
