"""What a fleet asks of the program that runs the study, and tells it."""

from typing import Protocol

from dragstrip.results.fingerprint import Fingerprint
from dragstrip.schedule.admission import Admits, Company


class Owner(Protocol):
    def admission(self, found: Fingerprint, slots: int) -> Admits:
        """The rule of a machine that has room for so many attempts."""

    def company(self, admission: Admits) -> Company:
        """What such a machine opens before its first visit."""

    def admitted(self, found: Fingerprint) -> None:
        """Notes a machine that makes visits from now on."""

    def said(self, sentence: str) -> None:
        """Hears of what happens to machines."""
