"""Settings that TCP sees: in a guest, in a testbed of this machine, and in a distribution's kernel.

    uv run python bench/virtual/settings.py [--image linux-image-*.deb] [--memory MB] [--all]

Guest and testbed are read at the origin, after the testbed set what it sets for h2. Of a Debian
package its kernel is booted in qemu, with as much memory as `--memory` says, and a new network
namespace is read. Prints the settings that differ, with `--all` all of them.
"""

import argparse
import ctypes
import gzip
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

Settings = dict[str, str]
READ = r"""
cd /proc/sys/net
for file in core/* ipv4/tcp_* ipv4/udp_*; do
  [ -f "$file" ] && value=$(cat "$file" 2>/dev/null) && echo "$file=$value"
done
for file in mtu tx_queue_len; do
  [ -f /sys/class/net/eth0/$file ] && echo "eth0/$file=$(cat /sys/class/net/eth0/$file)"
done
"""
"""A script for any shell that prints one setting per line. Some settings exist only outside of new
network namespaces."""
CONFIG = re.compile(
    "CONFIG_(HZ|NO_HZ.*|HIGH_RES_TIMERS|TCP_(?:MD5.*|CONG_(?:CUBIC|BBR))|DEFAULT_TCP.*|IPV6|MPTCP|"
    "NET_SCH_(?:FQ|FQ_CODEL|DEFAULT)|DEFAULT_NET_SCH|SYN_COOKIES|PREEMPT|PREEMPT_DYNAMIC|SMP|RPS|"
    "XPS|BQL|NET_RX_BUSY_POLL|MEMCG|TLS|NETFILTER)=(.*)"
)
NOT_READ = "not read"
NO_MATTER = re.compile(
    "core/(bpf_jit.*|flow_limit_cpu_bitmap|netdev_rss_key|xfrm.*)|ipv4/(tcp_fastopen_key|tcp_avail.*ulp)"
)
"""Keys, and what no packet of a race meets."""
BOOT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc; mount -t sysfs sys /sys
echo 1 > /proc/sys/kernel/printk
echo BEGIN; sh /read; unshare -n sh -c 'mount -t sysfs sys /sys; sh /read'; echo END
poweroff -f
"""


def main() -> None:
    asked = arguments()
    seen = {"guest": of_guest(), "this machine": of_testbed() | of_config(own_config())}
    if asked.image:
        seen["Debian's kernel"] = of_image(asked.image, asked.memory)
    names = sorted(n for n in set().union(*seen.values()) if not NO_MATTER.fullmatch(n))
    print(f"| setting | {' | '.join(seen)} |\n|{'---|' * (len(seen) + 1)}")
    for name in names:
        values = [value(one, name) for one in seen.values()]
        if asked.all or len(set(values) - {NOT_READ}) > 1:
            print(f"| `{name}` | {' | '.join(values)} |")


def value(settings: Settings, name: str) -> str:
    """The value that a kernel reports; empty for settings of wires if the kernel was not booted
    with a testbed."""
    group = name.partition("/")[0]
    read = group != "eth0" or any(known.startswith("eth0/") for known in settings)
    return settings.get(name, "none" if read else NOT_READ)


def of_testbed() -> Settings:
    """Settings at the origin of a testbed on this machine."""
    from dragstrip.study.presets import find_stack
    from dragstrip.testbed.testbed import testbed

    with testbed(["a.test"]) as bed:
        bed.tune(find_stack("h2"))
        outside = subprocess.run(["sh", "-c", READ], capture_output=True, text=True).stdout
        settings = {n: v for n, v in parsed(outside).items() if "eth0" not in n}
        settings |= parsed(bed.spaces.run("origin", "sh", "-c", READ))
        for line in bed.spaces.run("origin", "ethtool", "-k", "eth0").splitlines()[1:]:
            name, _, value = line.strip().partition(": ")
            settings[f"eth0/{name}"] = value
        (link,) = json.loads(bed.spaces.run("origin", "ip", "-j", "-d", "link", "show", "eth0"))
    kept = ("qdisc", "gso_max_size", "gso_max_segs", "tso_max_size", "gro_max_size")
    return settings | {f"eth0/{name}": str(link[name]) for name in kept if name in link}


def of_guest() -> Settings:
    from dragstrip.execution.guest import boot
    from dragstrip.execution.guest.kernel.recipe import kernel
    from dragstrip.model.clock import NETWORK
    from dragstrip.testbed.workspace import workspace

    script = Path(__file__).resolve()
    boot._INIT = boot._INIT.replace("-m dragstrip.execution.guest.inside", f"{script} --inside")
    with workspace() as folder, boot.guest(kernel(), folder, NETWORK, 1) as running:
        running._process.wait(300)
        found: Settings = json.loads((folder / "settings").read_text())
    return found | of_config((kernel().parent / "config").read_text())


def inside(folder: Path) -> None:
    """What the guest runs."""
    try:
        (folder / "settings").write_text(json.dumps(of_testbed()))
    finally:
        ctypes.CDLL(None).sync()
        ctypes.CDLL(None).reboot(0x4321FEDC)


def of_image(package: Path, memory_mb: int) -> Settings:
    """Settings of a booted kernel from a Debian package; needs qemu-system-x86, busybox-static and
    cpio."""
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        subprocess.run(["dpkg-deb", "-x", package, work / "package"], check=True)
        (kernel,) = (work / "package/boot").glob("vmlinuz-*")
        (config,) = (work / "package/boot").glob("config-*")
        root = work / "root"
        for folder in ("bin", "proc", "sys"):
            (root / folder).mkdir(parents=True)
        shutil.copy(shutil.which("busybox") or "busybox", root / "bin/busybox")
        (root / "read").write_text(READ)
        (root / "init").write_text(BOOT)
        (root / "init").chmod(0o755)
        packed = subprocess.run(
            "find . | cpio --quiet -o -H newc",
            shell=True,
            cwd=root,
            capture_output=True,
            check=True,
        ).stdout
        (work / "initrd").write_bytes(packed)
        machine = f"qemu-system-x86_64 -m {memory_mb} -nographic -no-reboot -nic none".split()
        machine += ["-kernel", str(kernel), "-initrd", str(work / "initrd")]
        machine += ["-append", "console=ttyS0 quiet panic=-1"]
        said = subprocess.run(machine, capture_output=True, text=True, timeout=600).stdout
        found = parsed(said.partition("BEGIN")[2].partition("END")[0])
        return found | of_config(config.read_text())


def own_config() -> str:
    kept = Path("/proc/config.gz")
    if kept.exists():
        return gzip.decompress(kept.read_bytes()).decode()
    booted = Path("/boot") / f"config-{Path('/proc/sys/kernel/osrelease').read_text().strip()}"
    return booted.read_text() if booted.exists() else ""


def of_config(text: str) -> Settings:
    """The options of a kernel that TCP depends on."""
    lines = (CONFIG.fullmatch(line.strip()) for line in text.splitlines())
    return {f"CONFIG_{line[1]}": line[2] for line in lines if line}


def parsed(said: str) -> Settings:
    pairs = (line.strip().partition("=") for line in said.splitlines() if "=" in line)
    return {name: " ".join(value.split()) for name, _, value in pairs}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--image", type=Path, help="a Debian package with a kernel")
    parser.add_argument("--memory", type=int, default=4096, help="of its machine, MB")
    parser.add_argument("--all", action="store_true", help="also those that are equal")
    return parser.parse_args()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        inside(Path(sys.argv[2]))
    else:
        main()
