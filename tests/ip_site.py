"""A machine with two uplinks, an exit, and a target that only the exit reaches, for IP packets through a proxy."""

from __future__ import annotations

import functools
import shutil
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from echoes import echo
from namespaces import Machine
from running_programs import Lines, end, start

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TARGETS = {4: "11.9.0.1", 6: "2a09::1"}
"""The target, at public addresses, so that no rule is needed. They are of nobody in a namespace."""

EXITS = {4: "11.9.0.254", 6: "2a09::fe"}
"""The exit, as the target sees it."""

PRIVATE = "10.9.0.1"
"""Another address of the target, which no rule allows."""

MASQUERADE = """
table inet exit {
  chain post {
    type nat hook postrouting priority srcnat;
    iifname "anab0" oifname "out" masquerade
  }
}
"""

ADDRESSES = "anab0 has 10.77.0.2 and fd77::2"


@dataclass
class Site:
    """A machine with two uplinks, the machine of the exit, and a target behind it."""

    user: Machine
    far: Machine
    target: Machine
    token: Path
    running: list[Lines] = field(default_factory=list)

    @classmethod
    def new(cls, folder: Path) -> Site:
        user, far, target = (Machine.new() for _ in range(3))
        site = cls(user, far, target, folder / "exit.token")
        try:
            for number in (1, 2):
                join(user, far, (f"up{number}", f"down{number}"), (f"10.{number}.0.1/24", f"10.{number}.0.2/24"))
            join(far, target, ("out", "in"), (f"{EXITS[4]}/24", f"{TARGETS[4]}/24"))
            far.shell(f"ip addr add {EXITS[6]}/64 dev out; ip addr add 10.9.0.254/24 dev out")
            target.shell(f"ip addr add {TARGETS[6]}/64 dev in; ip addr add {PRIVATE}/24 dev in")
            (folder / "rules").write_text(MASQUERADE, encoding="utf-8")
            done = subprocess.run(far.command("nft", "-f", folder / "rules"), check=False, capture_output=True)
            if done.returncode != 0:
                pytest.skip(f"the kernel refuses rules: {done.stderr.decode()}")
        except BaseException:
            site.end()
            raise
        return site

    def exit(self, *options: str) -> Lines:
        place = ("--token-file", str(self.token), "--listen", "0.0.0.0:4434", "--name", "10.1.0.2")
        self.running.append(start("exit", *place, *options, before=self.far.command()))
        self.url = self.running[-1].until("anabranch proxy ").split("'")[1]
        return self.running[-1]

    def proxy(self, *options: str, url: str | None = None, via: str = "up1,up2=10.2.0.2") -> Lines:
        place = (url or self.url, "--token-file", str(self.token), "--via", via, "--tun", "anab0")
        self.running.append(start("proxy", *place, *options, before=self.user.command()))
        return self.running[-1]

    def route(self) -> None:
        """Lead packets for the target over the device."""
        self.user.shell("ip route replace 11.9.0.0/16 dev anab0; ip route replace 10.9.0.0/16 dev anab0")
        self.user.shell("ip -6 route replace 2a09::/32 dev anab0")

    def ask(self, *arguments: Any, **options: Any) -> tuple[int, int, str]:
        """Send an echo from the machine of the user."""
        return self.user.inside(caught(lambda: echo(*arguments, **options)))()

    def end(self) -> None:
        end(*self.running)
        for machine in (self.user, self.far, self.target):
            machine.end()


def caught(work: Callable[[], Any]) -> Callable[[], Callable[[], Any]]:
    """Bring what a function gives or raises out of a thread."""

    def run() -> Callable[[], Any]:
        try:
            outcome = work()
        except OSError as error:
            return functools.partial(_throw, error)
        return lambda: outcome

    return run


def _throw(error: OSError) -> None:
    raise error


def join(one: Machine, other: Machine, names: tuple[str, str], addresses: tuple[str, str]) -> None:
    """Connect two machines."""
    one.shell(f"ip link add {names[0]} type veth peer name {names[1]} netns {other.pid}")
    for machine, name, address in zip((one, other), names, addresses, strict=True):
        machine.shell(f"ip addr add {address} dev {name}; ip link set {name} up")


def skip_without_devices() -> None:
    for program in ("unshare", "nsenter", "ip", "nft", "curl"):
        if shutil.which(program) is None:
            pytest.skip(f"the program {program} is missing")
    line = "ip link set lo up && ip tuntap add dev anab0 mode tun"
    if subprocess.run(["unshare", "--net", "sh", "-c", line], check=False, capture_output=True).returncode != 0:
        pytest.skip("the kernel refuses network namespaces, or TUN devices in them")
