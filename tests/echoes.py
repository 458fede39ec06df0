"""Echoes of ICMP, as ping has them, and what comes back instead."""

import ipaddress
import socket
import struct
import time

IP_MTU_DISCOVER, IPV6_MTU_DISCOVER, IP_PMTUDISC_DO, IP_PMTUDISC_OMIT = 10, 23, 2, 5
"""Numbers of Linux: packets arrive in one piece or not at all; or they may be divided, whatever routers say."""

ANSWERS = {4: (0, 3, 11), 6: (129, 1, 2, 3)}
"""An echo, and the messages that tell of a packet that went no further; one of IPv6 may be too big."""


def checksum(data: bytes) -> int:
    """Give the checksum of some bytes, which the kernel adds by itself to messages of IPv6 alone."""
    data += bytes(len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return 0xFFFF - total


def echo(target: str, *, length: int = 64, hops: int = 64, wait_s: float = 5.0) -> tuple[int, int, str]:
    """Send an echo whose packet has this number of bytes; give type, code and sender of what comes back.

    Raises an error of the system if the packet is too big for the device, and TimeoutError if nothing comes.
    """
    version = ipaddress.ip_address(target).version
    is_v4 = version == 4
    head = 28 if is_v4 else 48
    family, protocol = (socket.AF_INET, socket.IPPROTO_ICMP) if is_v4 else (socket.AF_INET6, socket.IPPROTO_ICMPV6)
    message = struct.pack(">BBHHH", 8 if is_v4 else 128, 0, 0, 7, 1) + bytes(length - head)
    if is_v4:
        message = message[:2] + struct.pack(">H", checksum(message)) + message[4:]
    with socket.socket(family, socket.SOCK_RAW, protocol) as own:
        if is_v4:
            own.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, hops)
            own.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO)
        else:
            own.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS, hops)
            own.setsockopt(socket.IPPROTO_IPV6, IPV6_MTU_DISCOVER, IP_PMTUDISC_DO)
        own.sendto(message, (target, 0))
        deadline = time.monotonic() + wait_s
        while (left_s := deadline - time.monotonic()) > 0:
            own.settimeout(left_s)
            answer, sender = own.recvfrom(1 << 16)
            answer = answer[20:] if is_v4 else answer
            if answer[0] in ANSWERS[version]:
                return answer[0], answer[1], sender[0]
        raise TimeoutError
