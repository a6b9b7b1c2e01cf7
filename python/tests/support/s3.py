"""A server that speaks the protocol of S3 and checks signatures: moto."""

from __future__ import annotations

import re
import subprocess
import threading
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

from jobforge.artifacts.s3_client import S3Client, S3Connection

from .backend import Tool

SETUP_CALLS = 3
"""The calls below that set up a user. After them, the server checks the signature of every request."""
POLICY = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:*","Resource":"*"}]}'
SCOPE = "Credential=x/20260101/us-east-1/iam/aws4_request, SignedHeaders=host, Signature=x"


@dataclass(frozen=True)
class Bucket:
    """A bucket, and the keys of a user."""

    endpoint: str
    access_key: str
    secret_key: str
    bucket: str = "artifacts"

    def arguments(self) -> dict[str, Any]:
        """The arguments of an `S3Store`, except the bucket."""
        return {"endpoint": self.endpoint, "access_key": self.access_key, "secret_key": self.secret_key}


@contextmanager
def s3_bucket(tool: Tool) -> Iterator[Bucket]:
    """Starts the server, and creates a bucket."""
    env = {**tool.env, "INITIAL_NO_AUTH_ACTION_COUNT": str(SETUP_CALLS), "PYTHONUNBUFFERED": "1"}
    command = [tool.path, "-H", "127.0.0.1", "-p", "0"]
    process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    reader = threading.Thread(target=process.stderr.read, daemon=True)
    try:
        endpoint = _address(process.stderr)
        reader.start()
        _iam(endpoint, "CreateUser")
        _iam(endpoint, "PutUserPolicy", PolicyName="all", PolicyDocument=POLICY)
        keys = _iam(endpoint, "CreateAccessKey")
        bucket = Bucket(endpoint, _text(keys, "AccessKeyId"), _text(keys, "SecretAccessKey"))
        S3Client(S3Connection(bucket=bucket.bucket, **bucket.arguments())).text("PUT", "")
        yield bucket
    finally:
        process.kill()
        process.wait()
        if reader.is_alive():
            reader.join()
        process.stderr.close()


def _address(output: IO[str]) -> str:
    for line in output:
        found = re.search(r"http://127\.0\.0\.1:\d+", line)
        if found is not None:
            return found[0]
    raise RuntimeError("moto did not start")


def _iam(endpoint: str, action: str, **more: str) -> str:
    form = {"Action": action, "UserName": "test", "Version": "2010-05-08", **more}
    request = urllib.request.Request(  # noqa: S310 - a server of the test
        endpoint,
        urllib.parse.urlencode(form).encode(),
        {"authorization": f"AWS4-HMAC-SHA256 {SCOPE}", "content-type": "application/x-www-form-urlencoded"},
    )
    with urllib.request.urlopen(request) as response:  # noqa: S310
        text: str = response.read().decode()
    return text


def _text(xml: str, name: str) -> str:
    found = re.search(f"<{name}>([^<]+)<", xml)
    assert found is not None, xml
    return found[1]
