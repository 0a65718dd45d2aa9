"""A server is upgraded while jobs run: what their points and times mean changes for the whole of them, and no seam shows."""

import pathlib
import sqlite3
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent / "upgrade"
sys.path.insert(0, str(HERE))

import lives  # noqa: E402
from facts import expect_facts  # noqa: E402
from engine import of_a_file  # noqa: E402
from smserver import wait_until  # noqa: E402

pytestmark = of_a_file("an older one")


def unpack(server, *statements):
    """The old database, and what else its program would have written."""
    subprocess.run(["zstd", "-q", "-d", HERE / "before.db.zst", "-o", server.database], check=True)
    with sqlite3.connect(server.database) as database:
        for statement, values in statements:
            database.execute(statement, values)
    database.close()


@pytest.fixture
def upgraded(make_server):
    server = make_server(start=False)
    unpack(server)
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


NUMBERS = {"plain": 1, "sagemakers": 2, "announced": 3, "stray": 4, "hosted": 5}  # in before.db.zst
EXIT = "INSERT INTO exits (job_id, stream_id, code, signal, reason, at_ms) VALUES (?, 1, ?, 0, ?, ?)"
SEALED_S = lives.DAY0_S + 600


def sealed(number, name):
    """A job that logged, has nothing in the journal any more, and never left Starting."""
    times = {"number": number, "name": name, "begun": 1000 * lives.DAY0_S, "ms": 1000 * SEALED_S}
    return [
        ("INSERT INTO jobs (job_id, name, folded, team, status, secondary, failure_reason, created_ms, started_ms, ended_ms, modified_ms,"
            " generation, is_implicit, document) SELECT :number, :name, :name, '', 'InProgress', 'Starting', '', :begun, 0, 0, :begun, 1, 0,"
            " '{\"TrainingJobName\":\"' || :name || '\"}'", times),
        ("INSERT INTO transitions (job_id, position, status, message, start_ms, end_ms, source)"
            " SELECT :number, 0, 'Starting', 'created', :begun, 0, 1", times),
        ("INSERT INTO streams (job_id, stream_id, name, host, created_ms, sealed_seq, sealed_lines, sealed_bytes, first_ms, last_ms, state)"
            " SELECT :number, 1, 'algo-1', '', :ms, 0, 0, 0, :ms, :ms, x''", times),
        ("UPDATE counters SET last = :number WHERE name = 'job'", times)]


def left_by_the_upgrade(server, table):
    with sqlite3.connect(server.database) as database:
        (count,) = database.execute(f"SELECT count(*) FROM {table}").fetchone()
    database.close()
    return count


def backfill(server, job):
    found = server.get(f"/api/v1/jobs/{job}/definitions").body.get("backfill")
    return found and found["state"]


def test_jobs_whose_processes_had_ended_end_unless_their_sender_goes_on(make_server):
    """The old program took an exit for no end. Senders that only wait for the new one open their sessions again within a lease."""
    server = make_server("--lease", "20s", start=False)
    ended_s = lives.DAY0_S + 495
    unpack(server, (EXIT, (NUMBERS["plain"], 1, "CUDA out of memory", 1000 * ended_s)), (EXIT, (NUMBERS["stray"], 0, "", 1000 * ended_s)),
        (EXIT, (NUMBERS["hosted"], 143, "the machine was taken", 1000 * ended_s)), *sealed(6, "sealed"))
    server.start()
    # rounds of maintenance go by before the sender finds the new server
    wait_until(lambda: backfill(server, "sagemakers") == "done", what="the back-fill")
    opened = server.post("/api/v1/sessions", json={"job": "hosted", "stream": "algo-1", "resume": True})
    assert opened.status in (200, 201) and opened.body["job"] == "hosted", opened

    def job(name):
        found = server.get(f"/api/v1/jobs/{name}").body
        return found["TrainingJobStatus"], found.get("TrainingEndTime"), found.get("FailureReason")

    def phases(name):
        return [(row["Status"], row["StartTime"]) for row in server.get(f"/api/v1/jobs/{name}").body["SecondaryStatusTransitions"]]
    wait_until(lambda: job("plain") == ("Failed", ended_s, "CUDA out of memory"), what="the end of plain")
    wait_until(lambda: job("stray") == ("Completed", ended_s, None), what="the end of stray")
    wait_until(lambda: phases("sealed") == [("Starting", lives.DAY0_S), ("Training", SEALED_S)], what="the history of sealed")
    wait_until(lambda: left_by_the_upgrade(server, "told_anew") == 0, what="all of them")
    assert job("hosted") == ("InProgress", None, None) and phases("hosted") == [("Training", lives.DAY0_S)]
    # nobody was told otherwise meanwhile
    failed = [row["job"] for row in server.get("/api/v1/incidents?limit=100").body["incidents"] if row["kind"] == "job_failed"]
    assert failed == ["plain"]
    assert job("announced")[0] == job("sagemakers")[0] == "InProgress"
    server.restart()
    assert job("plain") == ("Failed", ended_s, "CUDA out of memory")
    assert job("hosted") == ("InProgress", None, None)


def test_damaged_definitions_keep_no_other_job_from_its_own(make_server):
    """What cannot be read is said in the log, and not asked again; who comes before and behind it is extracted anew."""
    server = make_server(start=False)
    define = "INSERT INTO definitions (job_id, generation, json) VALUES (?, 1, ?)"
    unpack(server, *sealed(6, "broken"), (define, (6, '[{"Name": "train:loss", "Regex"')), *sealed(7, "behind"),
        (define, (7, '[{"Name": "train:loss", "Regex": "loss: ([0-9.]+)"}]')))
    server.start()
    assert server.wait_for_log(r"event=definitions_damaged (.*)")[1].startswith('job="broken"')
    for name in ("sagemakers", "behind"):
        wait_until(lambda: backfill(server, name) == "done", what=f"the back-fill of {name}")
    assert steps(server, "sagemakers") == [(10, 500, 50)]
    assert left_by_the_upgrade(server, "due_definitions") == 0
    server.restart()
    assert "definitions_damaged" not in server.log_text()
