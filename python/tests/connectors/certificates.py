"""A certificate authority for tests, and certificates for names, made with openssl."""

from __future__ import annotations

import ssl
import subprocess
from pathlib import Path


def certificates(folder: Path, name: str) -> tuple[ssl.SSLContext, str]:
    """A server's context, and the certificate of its authority."""
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], check=True, capture_output=True, cwd=folder)

    # From 3.13 on, Python is strict about the extensions of certificates.
    authority = ["-subj", "/CN=Test CA", "-days", "2", "-addext", "keyUsage=critical,keyCertSign"]
    openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.crt", *authority)
    openssl("req", *key, "-keyout", "key", "-out", "csr", "-subj", f"/CN={name}")
    (folder / "ext").write_text(f"subjectAltName=DNS:{name}\nauthorityKeyIdentifier=keyid")
    signing = ["-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "ext"]
    openssl("x509", "-req", "-in", "csr", *signing, "-out", "crt")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / "crt", folder / "key")
    return context, (folder / "ca.crt").read_text()
