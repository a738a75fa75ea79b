"""Prefect's own API: on loopback, for our worker and our gateway only.

    the socket        bound and listening before any process knows of it, and held until the command ends,
                      so nobody else can answer there
    the server        proves itself by a certificate that was made for this start, the only one its clients accept
    its clients       prove themselves by a token that was made for this start, and that no person sees

Both lie in files and environments that only the service account reads.
"""

from __future__ import annotations

import ipaddress
import secrets
import socket
import ssl
import urllib.request
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from penstock.records.files.durable import write

__all__ = ["LOOPBACK", "PrivateApi", "listening"]

LOOPBACK = "127.0.0.1"
_LASTS = timedelta(days=3650)  # it ends with the command


@dataclass(frozen=True, slots=True)
class PrivateApi:
    """The address on which the API listens, and what both sides prove themselves with."""

    socket: socket.socket
    certificate: Path
    key: Path
    token: str

    @classmethod
    def made(cls, folder: Path) -> PrivateApi:
        """Bind a port and make a certificate and a token, for one start."""
        certificate, key = folder / "api.pem", folder / "api.key"
        _write_identity(certificate, key)
        return cls(listening(LOOPBACK, 0), certificate, key, f"penstock:{secrets.token_urlsafe(32)}")

    @property
    def url(self) -> str:
        return f"https://{LOOPBACK}:{self.socket.getsockname()[1]}/api"

    def settings(self) -> dict[str, str]:
        """Return what Prefect's client and server read from the environment."""
        return {
            "PREFECT_API_URL": self.url,
            "PREFECT_API_SSL_CERT_FILE": str(self.certificate),
            "PREFECT_API_AUTH_STRING": self.token,
            "PREFECT_SERVER_API_AUTH_STRING": self.token,
        }

    def is_healthy(self) -> bool:
        """Return whether the server answers, and is ours."""
        context = ssl.create_default_context(cafile=str(self.certificate))
        try:
            with urllib.request.urlopen(f"{self.url}/health", timeout=5, context=context):
                return True
        except OSError:
            return False


def listening(host: str, port: int) -> socket.socket:
    """Return a socket on which connections wait from now on; nobody else can take its port while it is open."""
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if port:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections of an earlier start may linger
    try:
        bound.bind((host, port))
        bound.listen(128)
    except OSError:
        bound.close()
        raise
    return bound


def _write_identity(certificate: Path, key: Path) -> None:
    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Penstock's private API")])
    now = datetime.now(UTC)
    public = private.public_key()
    usage = x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + _LASTS)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(LOOPBACK))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(public), critical=False)
        .sign(private, hashes.SHA256())
    )
    pem = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    write(key, pem)
    write(certificate, signed.public_bytes(serialization.Encoding.PEM))
