"""Certificates of clients that tests make: by an authority or by nobody, valid or not."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

if TYPE_CHECKING:
    from pathlib import Path

DAY = timedelta(days=1)


def named(common: str) -> x509.Name:
    return x509.Name(
        [x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Example"), x509.NameAttribute(NameOID.COMMON_NAME, common)]
    )


@dataclass
class Certificate:
    """A certificate with its key, and the files of both."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey
    file: Path
    key_file: Path

    @property
    def fingerprint(self) -> str:
        return self.certificate.fingerprint(hashes.SHA256()).hex()


def made(
    folder: Path,
    name: str,
    by: Certificate | None = None,
    *,
    is_authority: bool = False,
    usage: x509.ObjectIdentifier = ExtendedKeyUsageOID.CLIENT_AUTH,
    days: tuple[int, int] = (-1, 30),
) -> Certificate:
    """Make a certificate that is valid between these days from now, and keep it in two files."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    builder = (
        x509.CertificateBuilder(named(name) if by is None else by.certificate.subject, named(name))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + days[0] * DAY)
        .not_valid_after(now + days[1] * DAY)
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
    )
    if not is_authority:
        names = x509.SubjectAlternativeName([x509.DNSName(f"{name}.example")])
        usages = x509.ExtendedKeyUsage([usage])
        builder = builder.add_extension(usages, critical=False).add_extension(names, critical=False)
    certificate = builder.sign(key if by is None else by.key, hashes.SHA256())
    own = Certificate(certificate, key, folder / f"{name}.pem", folder / f"{name}.key")
    own.file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    own.key_file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return own
