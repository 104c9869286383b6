"""Calibrates the link before a study's first visit."""

from dragstrip.conduct.watcher import Watcher
from dragstrip.model.errors import InputError
from dragstrip.model.study import Study
from dragstrip.results.capsule import Capsule
from dragstrip.testbed.calibrate.measure import refuse_unless_good


def before_visits(study: Study, capsule: Capsule, wish: bool | None, watcher: Watcher) -> None:
    """Calibrate the study's networks unless the capsule has it already, and keep the result.

    `wish` True calibrates in any case, False never does. A guest's link has no real time, so
    nothing is measured in virtual time. Raises `TestbedError` out of tolerance, and `InputError` if
    a calibration is asked for that cannot be made.
    """
    if study.clock.virtual:
        if wish:
            raise InputError("--calibrate measures the link in real time: omit it with --virtual")
        return
    known = [s.calibration for s in capsule.manifest.starts if s.calibration]
    missing = {n.name for n in study.networks}.difference(*(c.networks for c in known if c.good))
    if wish is False or (wish is None and not missing):
        return
    found = watcher.calibrating([n for n in study.networks if wish or n.name in missing])
    capsule.calibrated(found)
    refuse_unless_good(found)
