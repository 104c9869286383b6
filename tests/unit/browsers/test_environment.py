"""No proxy reaches a browser, and one that did would be named."""

import os
import subprocess
import sys

from dragstrip.browsers.environment import NO_PROXIES, named_proxies, session_proxies

SLEEP = (sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()")
PROXIED = {
    **os.environ,
    "https_proxy": "http://10.0.0.1:3128",
    "NO_PROXY": "a.test",
    "FTP_PROXY": "",
}


def proxies_of(*argv: str) -> tuple[str, ...]:
    with subprocess.Popen(
        argv,
        env=PROXIED,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as child:
        assert child.stdout
        child.stdout.readline()
        found = session_proxies(child.pid)
        child.communicate()
    return found


def test_variables_that_name_a_proxy():
    assert named_proxies({"HTTP_PROXY": "http://x", "all_proxy": "", "no_proxy": "y"}) == (
        "HTTP_PROXY",
    )


def test_a_proxy_in_the_environment_of_a_process_is_found():
    assert proxies_of(*SLEEP) == ("https_proxy",)


def test_none_is_passed_on():
    assert proxies_of("env", *NO_PROXIES, *SLEEP) == ()
