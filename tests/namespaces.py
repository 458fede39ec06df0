"""Machines of a lab: network namespaces that end with the test, and what the kernel counts in them."""

import ctypes
import os
import shutil
import socket
import struct
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pytest

CLONE_NEWNET = 0x40000000

SYSCTLS = {
    "net/ipv4/ip_forward": "1",
    "net/ipv6/conf/all/forwarding": "1",
    "net/ipv6/conf/all/seg6_enabled": "1",
    "net/ipv6/conf/default/seg6_enabled": "1",
    "net/ipv4/conf/all/rp_filter": "0",
    "net/ipv4/conf/default/rp_filter": "0",
    "net/ipv6/conf/default/accept_dad": "0",
    # Segments leave one by one, as they do where round trips take longer; otherwise 64 KiB are the grain of all rates.
    "net/ipv4/tcp_tso_rtt_log": "0",
    # BBR would send less now and then to measure the round trip.
    "net/ipv4/tcp_congestion_control": "reno",
}


class Counted(NamedTuple):
    """What the kernel has counted at a class or a queue discipline."""

    bytes: int
    drops: int
    backlog: int


@dataclass
class Machine:
    """A network namespace, which lives as long as a program that sleeps in it."""

    holder: subprocess.Popen[bytes]
    started: list[subprocess.Popen[Any]] = field(default_factory=list)
    questions: socket.socket | None = None

    @classmethod
    def new(cls) -> "Machine":
        # The folder /sys shows the devices of the namespace in which it was mounted.
        line = "mount -t sysfs sysfs /sys && echo && exec sleep infinity"
        command = ["unshare", "--net", "--mount", "sh", "-c", line]
        holder = subprocess.Popen(command, start_new_session=True, stdout=subprocess.PIPE)
        assert holder.stdout is not None
        with holder.stdout as said:
            assert said.readline() == b"\n", "there can be no network namespace"
        machine = cls(holder)
        lines = ["ip link set lo up", *(f"echo {value} > /proc/sys/{key}" for key, value in SYSCTLS.items())]
        machine.shell("; ".join(lines))
        machine.questions = machine.inside(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0))
        return machine

    @property
    def pid(self) -> int:
        return self.holder.pid

    def command(self, *words: object) -> list[str]:
        return ["nsenter", f"--target={self.pid}", "--net", "--mount", *map(str, words)]

    def shell(self, text: str) -> str:
        """Run lines of a shell, which must succeed."""
        done = subprocess.run(self.command("sh", "-ec", text), capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, f"{text}\n{done.stderr}"
        return done.stdout

    def start(self, *words: object, **options: Any) -> subprocess.Popen[Any]:
        """Start a program, which is killed at the end."""
        process = subprocess.Popen(self.command(*words), **options)
        self.started.append(process)
        return process

    def inside(self, work: Callable[[], Any]) -> Any:
        """Run a function on a thread in the namespace."""
        answers: list[Any] = []

        def enter() -> None:
            with open(f"/proc/{self.pid}/ns/net", "rb") as file:
                assert ctypes.CDLL(None, use_errno=True).setns(file.fileno(), CLONE_NEWNET) == 0, os.strerror(
                    ctypes.get_errno()
                )
            answers.append(work())

        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
        return answers[0]

    def end(self) -> None:
        for process in self.started:
            process.kill()
        for process in self.started:
            process.wait()
        if self.questions is not None:
            self.questions.close()
        self.holder.kill()
        self.holder.wait()

    def classes(self, device: int) -> dict[int, Counted]:
        """Give what is counted at each class of a device, by the lower half of its handle."""
        return {handle & 0xFFFF: counted for handle, counted in self._ask(RTM_GETTCLASS, device)}

    def queue(self, device: int) -> Counted:
        """Give what is counted at the queue discipline at the root of a device."""
        return self._ask(RTM_GETQDISC, device, root=True)[0][1]

    def index(self, device: str) -> int:
        return int(
            self.shell(f"cat /sys/class/net/{device}/ifindex 2>/dev/null || ip -o link show {device} | cut -d: -f1")
        )

    def _ask(self, kind: int, device: int, root: bool = False) -> list[tuple[int, Counted]]:
        """Dump classes or queue disciplines by netlink, since programs take time to start."""
        assert self.questions is not None
        body = struct.pack("=BxxxiIII", 0, device, 0, 0, 0)
        self.questions.send(struct.pack("=IHHII", 16 + len(body), kind, NLM_F_REQUEST | NLM_F_DUMP, 1, 0) + body)
        found_all = []
        while True:
            answer = self.questions.recv(1 << 18)
            while answer:
                length, found, _, _, _ = struct.unpack_from("=IHHII", answer)
                if found == NLMSG_DONE:
                    return found_all
                _, index, handle, parent, _ = struct.unpack_from("=BxxxiIII", answer, 16)
                if index == device and (not root or parent == TC_H_ROOT):
                    found_all.append((handle, _counted(answer[36:length])))
                answer = answer[(length + 3) & ~3 :]


RTM_GETTCLASS, RTM_GETQDISC, NLMSG_DONE, NLM_F_REQUEST, NLM_F_DUMP = 42, 38, 3, 1, 0x300
TC_H_ROOT, TCA_STATS = 0xFFFFFFFF, 3


def _counted(attributes: bytes) -> Counted:
    while attributes:
        length, kind = struct.unpack_from("=HH", attributes)
        if kind == TCA_STATS:
            total, _, drops, _, _, _, _, backlog = struct.unpack_from("=QIIIIIII", attributes, 4)
            return Counted(total, drops, backlog)
        attributes = attributes[(length + 3) & ~3 :]
    return Counted(0, 0, 0)


def skip_unless_enforced(*programs: str) -> None:
    """Skip a test unless these programs are there, and the kernel has all that enforcement in a lab needs."""
    for program in ("unshare", "nsenter", "ip", "tc", "nft", *programs):
        if shutil.which(program) is None:
            pytest.skip(f"the program {program} is missing")
    try:
        machine = Machine.new()
    except (AssertionError, OSError) as error:
        pytest.skip(f"there can be no network namespace: {error}")
    try:
        machine.shell(
            "ip link add one type veth peer name two\nip link add three link one type macvlan\nip link set one up\n"
            "tc qdisc add dev one root tbf rate 1mbit burst 4500 limit 9000\n"
            "ip -6 route add fc00::1 encap seg6local action End.DX4 nh4 0.0.0.0 dev one\n"
            "ip -6 route add fc01::/16 encap seg6 mode encap segs fc00::1 dev one\nnft list ruleset"
        )
    except AssertionError as error:
        pytest.skip(f"the kernel lacks something: {error}")
    finally:
        machine.end()
