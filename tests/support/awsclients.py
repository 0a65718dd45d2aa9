"""AWS's clients against a server: Debian's boto3 and awscli, the JavaScript SDK; with or without keys of its own."""

import json
import os
import pathlib
import subprocess

import pytest

from smserver import ROOT, sanitizer_environment

AWS = "/usr/bin/aws"
ANYBODY = ("anybody", "anything")


def boto(server, service, keys=ANYBODY, **options):
    boto3 = pytest.importorskip("boto3", reason="needs python3-boto3")
    config = __import__("botocore.config", fromlist=["Config"]).Config(retries={"max_attempts": 0})
    return boto3.client(service, endpoint_url=server.url, region_name="us-east-1", aws_access_key_id=keys[0],
        aws_secret_access_key=keys[1], config=config, **options)


def code(call, **arguments):
    """(error code, message) as the client sees them; ("", "") when it went well."""
    from botocore.exceptions import ClientError

    try:
        call(**arguments)
    except ClientError as error:
        return error.response["Error"]["Code"], error.response["Error"]["Message"]
    return "", ""


def environment(keys=ANYBODY):
    mine = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return {**mine, "AWS_ACCESS_KEY_ID": keys[0], "AWS_SECRET_ACCESS_KEY": keys[1], "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true", "AWS_MAX_ATTEMPTS": "1", "AWS_PAGER": ""}


def awscli(server, *arguments, keys=ANYBODY):
    if not os.path.exists(AWS):
        pytest.skip("needs awscli")
    return subprocess.run([AWS, "--endpoint-url", server.url, "--output", "json", *arguments], capture_output=True, text=True,
        timeout=120, env=environment(keys))


def javascript(server, script, *arguments, keys=ANYBODY):
    """Runs tests/aws/SCRIPT, which prints one JSON document."""
    if not (ROOT / "tests/node_modules/@aws-sdk/client-sagemaker").exists():
        pytest.skip("needs `npm ci --prefix tests`")
    folder = subprocess.run([ROOT / "deploy/node"], capture_output=True, text=True, check=True).stdout.strip()
    done = subprocess.run([pathlib.Path(folder) / "bin/node", ROOT / "tests/aws" / script, server.url, *map(str, arguments)],
        capture_output=True, text=True, timeout=120, env=environment(keys))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def token_of(server, name, *arguments):
    """As `sm-server token create` prints it: the token, and its pair of keys when that was asked for."""
    done = subprocess.run([server.bin("sm-server"), "token", "create", name, *server.database_options(), *arguments],
        capture_output=True, text=True, timeout=60, env=sanitizer_environment())
    assert done.returncode == 0, done.stderr
    token, *rest = done.stdout.splitlines()
    pair = dict(line.split(" = ") for line in rest)
    return token, (pair.get("aws_access_key_id"), pair.get("aws_secret_access_key"))
