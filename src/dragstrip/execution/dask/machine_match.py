"""Decides which machines of a cluster may make a study's visits."""

from collections import Counter
from collections.abc import Sequence

import msgspec

from dragstrip.model.clock import Clock
from dragstrip.results.fingerprint import Fingerprint, differences, unlike


class MachineMatch:
    """Accepts only machines that are alike.

    The others must match the first machine in the capsule. In an empty capsule they must match the
    most common kind among the machines that joined first. On request, machines with other software
    or hardware are accepted too, and recorded as another machine. Another version of dragstrip is
    never accepted.
    """

    def __init__(
        self, clock: Clock, known: Sequence[Fingerprint] = (), *, admit_others: bool = False
    ) -> None:
        self._clock = clock
        self._model = known[0] if known else None
        self._admit_others = admit_others

    def refusal(self, fingerprint: Fingerprint, among: Sequence[Fingerprint]) -> str:
        """Return why this machine may not make visits; empty if it may. `among` holds the
        fingerprints of all machines that are judged now, including this one."""
        model = self._model = self._model or _commonest(among, self._clock)
        if reasons := unlike(model, fingerprint):
            return "; ".join(reasons)
        reasons = differences(model, fingerprint, self._clock)
        if reasons and not self._admit_others:
            return f"{'; '.join(reasons)} (--admit-other-machines lets it in, as another machine)"
        return ""


def _commonest(fingerprints: Sequence[Fingerprint], clock: Clock) -> Fingerprint:
    def alike(one: Fingerprint) -> int:
        return sum(not unlike(one, o) and not differences(one, o, clock) for o in fingerprints)

    counted = Counter({msgspec.json.encode(one): alike(one) for one in fingerprints})
    [(most, _)] = counted.most_common(1)
    return msgspec.json.decode(most, type=Fingerprint)
