"""W&B's own SDK against a server: each script runs in a process of its own, as a training does, with the client of one version."""

import json
import os
import subprocess

import pytest

from smserver import PATIENCE_S, ROOT

NEWEST = "0.31"
# Old ones are for tests/run --all.
VERSIONS = [NEWEST, *(["0.23", "0.19"] if os.environ.get("SM_LONG") else [])]
PROLOGUE = """
import json, math, os, sys, time
import wandb
def give(value):
    print("\\n" + json.dumps(value))
"""


def environment(server, version, token=None, **more):
    folder = ROOT / f".cache/wandb-{version}"
    if not (folder / ".lock-stamp").exists():
        pytest.skip("needs `tests/run packages`")
    mine = {name: value for name, value in os.environ.items() if not name.startswith("WANDB_")}
    return {**mine, "PYTHONPATH": str(folder), "WANDB_BASE_URL": server.url, "WANDB_API_KEY": token or "smf-" + 40 * "a",
        "WANDB_ERROR_REPORTING": "false", "WANDB_DIR": str(server.folder), "WANDB_CONFIG_DIR": str(server.folder / "config"),
        "WANDB_CACHE_DIR": str(server.folder / "cache"), "WANDB_DATA_DIR": str(server.folder / "data"), **more}


def start(server, version, script, *arguments, token=None, **more):
    return subprocess.Popen(["/usr/bin/python3", "-c", PROLOGUE + script, *map(str, arguments)], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=server.folder, env=environment(server, version, token, **more))


def finish(process, code=0):
    """All that it printed."""
    try:
        out = process.communicate(timeout=3 * PATIENCE_S)[0]
    finally:
        process.kill()
    assert process.returncode == code, out[-4000:]
    return out


def run(server, version, script, *arguments, code=0, **options):
    return finish(start(server, version, script, *arguments, **options), code)


def sync(server, version, folder, *options):
    """`wandb sync` of a run that was offline, or as the options say."""
    command = ["/usr/bin/python3", "-m", "wandb", "sync", *options, str(folder)]
    return finish(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        cwd=server.folder, env=environment(server, version)))


def ask(server, operation, variables=None, **options):
    """(status, body) of one call of GraphQL, without the client."""
    reply = server.post("/graphql", json={"operationName": operation, "variables": variables or {}}, **options)
    return reply.status, reply.body


def make_run(server, run_id, project="p", **members):
    options = {name: members.pop(name) for name in ("token", "headers") if name in members}
    status, body = ask(server, "UpsertBucket", {"project": project, "name": run_id, **members}, **options)
    assert status == 200 and not body.get("errors"), body
    return body["data"]["upsertBucket"]


def post(server, run_id, files=None, project="p", token=None, **members):
    """A post of a run's stream: files are {name: (offset, lines)}, a line of the history is an object."""
    content = {name: {"offset": offset, "content": [line if isinstance(line, str) else json.dumps(line) for line in lines]}
        for name, (offset, lines) in (files or {}).items()}
    return server.post(f"/files/any/{project}/{run_id}/file_stream", json={"files": content, **members}, token=token)
