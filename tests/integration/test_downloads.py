"""GET /dl/: the clients that a server hands out."""

import hashlib
import os
import platform
import subprocess

import pytest

SHIP = f"sm-ship-{platform.machine()}"


def sums(server):
    reply = server.get("/dl/SHA256SUMS")
    assert reply.status == 200 and reply.headers["Content-Type"].startswith("text/plain")
    return {name: digest for digest, name in (line.split("  ") for line in reply.body.splitlines())}


@pytest.mark.parametrize("name", [SHIP, "sm_ship.py", "sm_search.py"])
def test_a_client_comes_whole(server, name):
    reply = server.get("/dl/" + name)
    assert reply.status == 200
    digest = hashlib.sha256(reply.raw).hexdigest()
    assert digest == sums(server)[name] == reply.headers["X-Checksum-Sha256"]
    again = server.get("/dl/" + name, headers={"If-None-Match": reply.headers["ETag"]})
    assert again.status == 304 and again.raw == b""


def test_what_was_downloaded_runs(server, tmp_path):
    (tmp_path / SHIP).write_bytes(server.get("/dl/" + SHIP).raw)
    os.chmod(tmp_path / SHIP, 0o755)
    done = subprocess.run([tmp_path / SHIP, "--server", server.url, "--job", "downloaded"], input=b"line\n", check=True)
    assert done.returncode == 0
    assert server.get("/api/v1/jobs/downloaded").body["TrainingJobStatus"] == "Completed"


def test_no_token_is_needed(make_server):
    server = make_server()
    token = server.post("/api/v1/tokens", json={"name": "a", "scope": "admin"})
    assert token.status in (200, 201), token
    assert server.get("/api/v1/jobs").status == 401
    assert server.get("/dl/SHA256SUMS").status == 200
    assert server.get("/dl/" + SHIP).status == 200


def test_another_machine_is_told_what_to_do(server):
    other = {"sm-ship-x86_64": "sm-ship-aarch64"}.get(SHIP, "sm-ship-x86_64")
    if other in sums(server):
        pytest.skip("this server has both")
    reply = server.get("/dl/" + other)
    assert reply.status == 404 and other in reply.body["detail"] and "sm_ship.py" in reply.body["detail"]


@pytest.mark.parametrize("name", ["nothing", "sm-ship-", "sm_ship.py.gz", "..", "%2e%2e%2fetc", "x" * 300])
def test_there_is_nothing_else(shared_server, name):
    reply = shared_server.get("/dl/" + name)
    assert reply.status == 404 and reply.headers["Content-Type"] == "application/problem+json"
