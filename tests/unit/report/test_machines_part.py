"""The testbed page shows the machines of a cluster, and their A/A controls."""

import pytest
import simulate
from msgspec import structs

from dragstrip.model.calibration import Calibration, Tolerance
from dragstrip.model.clock import NETWORK
from dragstrip.report.site.site import build
from dragstrip.results.aa_control import AAControl, Round
from dragstrip.results.capsule import Capsule
from dragstrip.results.fingerprint import Fingerprint
from made_cluster import MACHINE

ROUND = Round(
    a_ms=(300.0,) * 8,
    b_ms=(291.0, 306.0, 297.0, 309.0, 294.0, 303.0, 312.0, 288.0),
    visits=16,
    took_s=14.0,
)
CONTROL = AAControl(stack="h2", page="demo", network="bare", rounds=(ROUND,))
GOOD = Calibration(readings=(), tolerance=Tolerance(), took_s=2.0, realtime=True)
HONEST = Fingerprint(
    machine=structs.replace(MACHINE, id="m1"),
    dragstrip="1",
    rules=1,
    calibration=GOOD,
    aa_control=CONTROL,
)


@pytest.mark.parametrize(
    ("virtual", "found", "said"),
    [
        (False, HONEST, "h2 under two names: 1.000 (0.962 to 1.038), 8 blocks, 16 visits in 14 s"),
        (False, structs.replace(HONEST, aa_control=None), "not made"),
        (True, structs.replace(HONEST, aa_control=None), "In virtual time nothing is noisy"),
    ],
    ids=["made", "not wished", "virtual"],
)
def test_the_testbed_page_shows_each_machines_control(tmp_path, virtual, found, said):
    study = simulate.study(pages=(simulate.page("demo"),), networks=("LTE",), runs=1)
    if virtual:
        study = structs.replace(study, clock=NETWORK)
    with Capsule.create(tmp_path / "c", simulate.manifest(study)) as capsule:
        capsule.admitted(found)
    page = build(Capsule.open(tmp_path / "c")).with_name("testbed.html").read_text("utf-8")
    assert said in page
    assert '<th scope="row">m1</th>' in page
