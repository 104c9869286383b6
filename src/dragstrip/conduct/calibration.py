"""Calibrates the link before a study's first visit."""

from dragstrip.conduct.watcher import Watcher
from dragstrip.model.errors import InputError
from dragstrip.model.study import Study
from dragstrip.results.capsule import Capsule
from dragstrip.testbed.calibrate.measure import refuse_unless_good


def before_visits(study: Study, capsule: Capsule, wish: bool | None, watcher: Watcher) -> None:
    """Calibrate the study's networks unless the capsule has a calibration already, and store the
    result.

    `wish` True calibrates in any case, False never; None calibrates networks that have no good
    calibration in the capsule. Virtual time needs no calibration, because a guest's link has no
    real time. Raises `TestbedError` if the link is out of tolerance, and `InputError` for `wish`
    True in virtual time.
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
