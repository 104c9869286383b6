"""Frequencies and thermal throttling as the kernel tells them, in folders like /sys's."""

from pathlib import Path

from dragstrip.visit.cpu_speed import CPUS, CpuSpeed


def tell(cpus: Path, cpu: int, **files: object) -> None:
    for name, value in files.items():
        file = cpus / f"cpu{cpu}" / name.replace("__", "/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{value}\n")


def test_limits_and_frequencies_are_read_in_mhz(tmp_path):
    for cpu, now in enumerate((1_200_000, 3_400_000)):
        tell(tmp_path, cpu, cpufreq__scaling_cur_freq=now, cpufreq__scaling_max_freq=3_600_000)
    (tmp_path / "cpufreq").mkdir()
    speed = CpuSpeed(tmp_path)
    tell(tmp_path, 1, cpufreq__scaling_max_freq=2_800_000)  # a cooling device steps in
    seen = speed.report()
    assert seen == {"cpu_mhz": 3400.0, "cpu_limit_mhz": 2800.0, "throttled": None}
    tell(tmp_path, 1, cpufreq__scaling_max_freq=3_600_000)
    assert CpuSpeed(tmp_path).report()["cpu_limit_mhz"] == 3600.0


def test_a_limit_that_was_lowered_before_counts_too(tmp_path):
    tell(tmp_path, 0, cpufreq__scaling_max_freq=2_000_000)
    speed = CpuSpeed(tmp_path)
    tell(tmp_path, 0, cpufreq__scaling_max_freq=3_000_000)
    assert speed.report()["cpu_limit_mhz"] == 2000.0


def test_throttles_are_those_since_then_each_package_counted_once(tmp_path):
    for cpu in range(4):
        tell(
            tmp_path,
            cpu,
            thermal_throttle__core_throttle_count=10,
            thermal_throttle__package_throttle_count=7,
        )
    speed = CpuSpeed(tmp_path)
    assert speed.report()["throttled"] == 0
    tell(tmp_path, 2, thermal_throttle__core_throttle_count=12)
    for cpu in range(4):
        tell(tmp_path, cpu, thermal_throttle__package_throttle_count=8)
    assert speed.report()["throttled"] == 3


def test_a_machine_that_says_nothing_is_not_guessed_at(tmp_path):
    silent = {"cpu_mhz": None, "cpu_limit_mhz": None, "throttled": None}
    assert CpuSpeed(tmp_path).report() == silent
    tell(tmp_path, 0, cpufreq__scaling_cur_freq="<unknown>")
    assert CpuSpeed(tmp_path).report() == silent


def test_this_machine_can_be_read():
    seen = CpuSpeed(CPUS).report()
    assert seen["throttled"] is None or seen["throttled"] >= 0
