"""Clients of CloudWatch Logs against a server: Debian's boto3 and awscli, the JavaScript SDK, and requests as shippers make them."""

import gzip
import json
import os
import pathlib
import subprocess
import time

import pytest

from smserver import ROOT

GROUP = "/aws/sagemaker/TrainingJobs"
AWS = "/usr/bin/aws"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "anybody", "AWS_SECRET_ACCESS_KEY": "anything", "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true", "AWS_MAX_ATTEMPTS": "1", "AWS_PAGER": ""}


def now_ms():
    return int(time.time() * 1000)


def boto(server, service="logs"):
    boto3 = pytest.importorskip("boto3", reason="needs python3-boto3")
    config = __import__("botocore.config", fromlist=["Config"]).Config(retries={"max_attempts": 1})
    return boto3.client(service, endpoint_url=server.url, region_name="us-east-1", aws_access_key_id="anybody",
        aws_secret_access_key="anything", config=config)


def code(call, **arguments):
    """(error code, message) as the client sees them; ("", "") when it went well."""
    from botocore.exceptions import ClientError

    try:
        call(**arguments)
    except ClientError as error:
        return error.response["Error"]["Code"], error.response["Error"]["Message"]
    return "", ""


def ask(server, operation, document, packed=False, **headers):
    """One request in awsJson1.1, as a shipper's own code makes it."""
    body = document if isinstance(document, (bytes, str)) else json.dumps(document)
    if packed:
        body = gzip.compress(body.encode())
        headers["Content-Encoding"] = "gzip"
    return server.post("/", body, content_type="application/x-amz-json-1.1",
        headers={"X-Amz-Target": f"Logs_20140328.{operation}", **headers})


def kind(reply):
    """What Fluent Bit compares: the bare __type."""
    return json.loads(reply.raw).get("__type") if reply.raw else None


def environment():
    mine = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return {**mine, **CREDENTIALS}


def javascript(server, script, *arguments):
    """Runs tests/aws/SCRIPT, which prints one JSON document."""
    if not (ROOT / "tests/node_modules/@aws-sdk/client-cloudwatch-logs").exists():
        pytest.skip("needs `npm ci --prefix tests`")
    folder = subprocess.run([ROOT / "deploy/node"], capture_output=True, text=True, check=True).stdout.strip()
    done = subprocess.run([pathlib.Path(folder) / "bin/node", ROOT / "tests/aws" / script, server.url, *map(str, arguments)],
        capture_output=True, text=True, timeout=120, env=environment())
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
