"""A server is upgraded while jobs run: what their points and times mean changes for the whole of them, and no seam shows."""

import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent / "upgrade"
sys.path.insert(0, str(HERE))

import lives  # noqa: E402
from facts import expect_facts  # noqa: E402
from smserver import wait_until  # noqa: E402


@pytest.fixture
def upgraded(make_server):
    server = make_server(start=False)
    subprocess.run(["zstd", "-q", "-d", HERE / "before.db.zst", "-o", server.database], check=True)
    return server.start()


def steps(server, job):
    return [(row["first_step"], row["last_step"], row["count"])
        for row in server.get(f"/api/v1/jobs/{job}/metrics").body["series"] if row["metric"] == "train:loss"]


def test_no_seam_shows(upgraded):
    lives.go_on(upgraded)
    begun_s, last_s = lives.DAY0_S, lives.DAY0_S + 990
    whole = {"start": begun_s, "start_from": "assumed", "attempts": 1, "last_step": 1000, "lost_steps": 0, "wall_s": 990}
    for job in ("plain", "sagemakers", "stray"):
        expect_facts(upgraded, job, status=("InProgress", "Training"), lines=100 + (job == "stray"), **whole)
        assert steps(upgraded, job) == [(10, 1000, 100)], job
    wait_until(lambda: upgraded.get("/api/v1/jobs/stray").body.get("odd_times") == 1, what="the stray date to be counted")
    expect_facts(upgraded, "announced", status=("InProgress", "Training"), nodes=2, nodes_from="stated", billable_s=990,
        cost=990 * 2 * lives.PER_HOUR / 3600, **whole)


def test_a_start_that_is_not_gone_on_with_says_the_same_at_once(upgraded):
    whole = {"start": lives.DAY0_S, "attempts": 1, "last_step": 500, "lost_steps": 0, "wall_s": 490}
    for job in lives.HALVES:
        expect_facts(upgraded, job, status=("InProgress", "Training"), **whole)
    upgraded.restart()
    for job in lives.HALVES:
        expect_facts(upgraded, job, status=("InProgress", "Training"), **whole)


def test_a_stream_is_of_the_machine_that_sent_it_until_another_does(upgraded):
    assert [row["host"] for row in upgraded.get("/api/v1/nodes").body["nodes"]] == ["n1"]
    fault = "kernel: NVRM: Xid (PCI:0000:02:00): 79, GPU has fallen off the bus."
    assert upgraded.post("/api/v1/logs?job=hosted&stream=algo-1&host=n2", fault + "\n").status == 200
    drained = lambda: [row["host"] for row in upgraded.get("/api/v1/nodes").body["drain"]]
    wait_until(lambda: drained() == ["n2"], what="the fault")
    (stream,) = upgraded.get("/api/v1/jobs/hosted/streams").body["streams"]
    assert [(one["host"], one["from_line"]) for one in stream["hosts"]] == [("n1", 0), ("n2", len(lives.HOSTED))]
