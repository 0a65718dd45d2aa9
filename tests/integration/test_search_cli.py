"""sm-search and sm_search.py against a server: formats, pages, exit codes."""

import csv
import io
import json
import os
import subprocess
import sys

import pytest
from smserver import ROOT


@pytest.fixture
def jobs(server):
    """Three jobs: two that run, one that failed."""
    for name in ("llama-1", "llama-2", "vit"):
        document = {"TrainingJobName": name, "HyperParameters": {"lr": "0.1"}, "Tags": [{"Key": "team", "Value": "a,b"}]}
        assert server.post("/api/v1/jobs", json=document).status < 300
        transition = {"SecondaryStatus": "Training", "time_ms": 1_700_000_000_000}
        assert server.post(f"/api/v1/jobs/{name}/transitions", json=transition).status < 300
    transition = {"SecondaryStatus": "Failed", "FailureReason": "exit code 1", "time_ms": 1_700_000_060_000}
    assert server.post("/api/v1/jobs/vit/transitions", json=transition).status < 300


@pytest.fixture(params=["sm-search", "sm_search.py"])
def search(server, request):
    program = [str(server.bin("sm-search"))]
    if request.param == "sm_search.py":
        program = [sys.executable, str(ROOT / "clients/sm_search.py")]

    def run(*args, **env):
        clean = {key: value for key, value in os.environ.items() if not key.startswith("SMFLEET_")}
        return subprocess.run([*program, *args], capture_output=True, timeout=30, text=True,
                              env={**clean, "SMFLEET_SERVER": server.url, **env})
    return run


def test_rows_as_ndjson(jobs, search):
    result = search("llama", "--ndjson")
    assert result.returncode == 0, result.stderr
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert sorted(row["TrainingJobName"] for row in rows) == ["llama-1", "llama-2"]
    assert rows[0]["TrainingJobStatus"] == "InProgress"


def test_one_document(jobs, search):
    document = json.loads(search("llama", "--json").stdout)
    assert len(document["jobs"]) == 2 and document["total"] == 2


def test_csv_is_what_a_pipe_gets(jobs, search):
    result = search("vit", "--fields", "name,status,hp.lr,tag.team")
    assert list(csv.reader(io.StringIO(result.stdout))) == [
        ["name", "status", "hp.lr", "tag.team"], ["vit", "Failed", "0.1", "a,b"]]


def test_table(jobs, search):
    head, row = search("vit", "--table").stdout.splitlines()
    assert head.split() == ["name", "status", "loss", "step", "lines", "started", "age"]
    assert row.split()[:2] == ["vit", "Failed"]
    assert "\x1b" not in row


def test_limit_and_pages(server, search):
    for i in range(1030):
        assert server.post("/api/v1/jobs", json={"TrainingJobName": f"page-{i:04}"}).status < 300
    assert len(search("page", "--limit", "3", "--ndjson").stdout.splitlines()) == 3
    names = {json.loads(line)["TrainingJobName"] for line in search("page", "--limit", "0", "--ndjson").stdout.splitlines()}
    assert len(names) == 1030


def test_count(jobs, search):
    result = search("llama", "--count")
    assert (result.returncode, result.stdout) == (0, "2\n")
    result = search("nothing-is-called-so", "--count")
    assert (result.returncode, result.stdout) == (1, "0\n")


def test_nothing_matched(jobs, search):
    assert search("nothing-is-called-so").returncode == 1


def test_a_server_that_is_not_there(search):
    result = search("x", SMFLEET_SERVER="http://127.0.0.1:1")
    assert result.returncode == 3 and "http://127.0.0.1:1" in result.stderr


def test_a_mistake_in_the_query_is_pointed_at(server, search):
    result = search("bad (status:failed")
    lines = result.stderr.splitlines()
    assert result.returncode == 2
    assert lines[1] == "  bad (status:failed" and lines[2].strip() == "^"


@pytest.mark.parametrize("args, words", [
    (["--limti", "3"], "--limti"),
    (["--csv", "--json"], "--csv"),
    (["--limit", "-1"], "less than 0"),
    (["--fields", ","], "names no field"),
])
def test_mistakes_in_the_command_line(search, args, words):
    result = search(*args)
    assert result.returncode == 2 and words in result.stderr
