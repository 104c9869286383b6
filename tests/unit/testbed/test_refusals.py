"""/proc distinguishes the refusals of namespaces, and each has its cure."""

import pytest

from dragstrip.testbed.net.refusals import container, refusal, wsl

ROOT, USER = 0, 1000
ALL = "CapEff:\t000001ffffffffff\nSeccomp:\t0\n"
DOCKER = "CapEff:\t00000000a80425fb\nSeccomp:\t2\n"
MOUNTED = "21 1 0:20 / / rw - ext4 /dev/vda rw\n"


def machine(tmp_path, files):
    plain = {"proc/self/status": ALL, "proc/self/mountinfo": MOUNTED, "proc/version": "Linux"}
    for name, text in (plain | files).items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


@pytest.mark.parametrize("uid", [ROOT, USER])
def test_an_ordinary_machine_refuses_nothing(tmp_path, uid):
    root = machine(tmp_path, {"proc/sys/kernel/apparmor_restrict_unprivileged_userns": "0"})
    assert refusal(root, uid=uid) == ""
    assert wsl(root) == ""
    assert container(root) == ""


@pytest.mark.parametrize(
    ("uid", "files", "cause", "cure"),
    [
        (
            USER,
            {"proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1\n"},
            "AppArmor",
            "sysctl kernel.apparmor_restrict_unprivileged_userns=0",
        ),
        (
            USER,
            {"proc/sys/kernel/unprivileged_userns_clone": "0\n"},
            "ordinary users",
            "sysctl kernel.unprivileged_userns_clone=1",
        ),
        (
            USER,
            {"proc/sys/user/max_user_namespaces": "0\n"},
            "no user namespace",
            "sysctl user.max_user_namespaces=10000",
        ),
        (
            USER,
            {"proc/self/mountinfo": "22 1 0:21 / /proc rw - proc proc rw\n"},
            "chroot",
            "pivot_root",
        ),
        (
            USER,
            {"proc/self/mountinfo": MOUNTED + "22 1 0:21 / /proc/kcore rw - tmpfs tmpfs rw\n"},
            "masked",
            "systempaths=unconfined",
        ),
        (
            USER,
            {"proc/self/status": DOCKER, ".dockerenv": ""},
            "seccomp",
            "--security-opt seccomp=",
        ),
        (ROOT, {"proc/self/status": DOCKER, ".dockerenv": ""}, "docker", "--cap-add SYS_ADMIN"),
        (
            USER,
            {"proc/version": "Linux version 4.4.0-19041-Microsoft"},
            "WSL 1",
            "wsl --set-version",
        ),
    ],
)
def test_each_known_refusal_has_its_cure(tmp_path, uid, files, cause, cure):
    said = refusal(machine(tmp_path, files), uid=uid)
    assert cause in said
    assert cure in said


def test_root_is_not_bound_by_what_binds_ordinary_users(tmp_path):
    files = {"proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1\n"}
    assert refusal(machine(tmp_path, files), uid=ROOT) == ""


def test_wsl_2_has_namespaces_and_is_named(tmp_path):
    root = machine(tmp_path, {"proc/version": "Linux version 5.15.90.1-microsoft-standard-WSL2"})
    assert wsl(root) == "WSL 2"
    assert refusal(root, uid=USER) == ""


def test_a_container_is_known_by_its_environment(tmp_path):
    root = machine(tmp_path, {"proc/1/environ": "PATH=/bin\0container=oci\0HOME=/root"})
    assert container(root) == "oci"
