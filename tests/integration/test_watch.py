"""Jobs that go silent while they run, and jobs that fail, are incidents of the job."""

import time

from smserver import wait_until

RHYTHM_S = 1.5 # longer than --stall-after below


def incidents(server, kind, job=None):
    rows = server.get(f"/api/v1/incidents?kind={kind}").body["incidents"]
    return [row for row in rows if job in (None, row["job"])]


def open_ones(server, kind, job=None):
    return [row for row in incidents(server, kind, job) if row["state"] == "open"]


def talk(server, job):
    """A line after the other, until the job has a rhythm."""
    start, count = time.time(), 0
    while time.time() - start < RHYTHM_S or count < 25:
        server.send(job, [f"step: {count} loss: 3.0"])
        count += 1


def open_stall(server, job):
    wait_until(lambda: incidents(server, "stall", job), what=f"a stall of {job}")
    row, = incidents(server, "stall", job)
    return row


def test_silence_is_told_and_so_is_its_end(make_server):
    server = make_server("--stall-after", "1s")
    talk(server, "llama")
    last = time.time()
    row = open_stall(server, "llama")
    assert (row["severity"], row["state"], row["metric"], row["stream"]) == ("warning", "open", "", "")
    assert row["evidence"]["value"] >= 1 and row["evidence"]["expected"] < 1
    assert row["opened_step"] > 0 and row["opened_ms"] / 1000 >= last + 0.9
    server.send("llama", ["step: 1000 loss: 3.0"])
    wait_until(lambda: incidents(server, "stall")[0]["state"] == "recovered", what="the end of the stall")
    assert len(incidents(server, "stall")) == 1


def test_a_machine_that_measures_on_keeps_no_hung_training_alive(make_server):
    server = make_server("--stall-after", "1s")
    talk(server, "hangs")

    def measures():
        server.send("hangs", ["kernel: eth0: entered promiscuous mode"], stream="system/n1")
        assert server.post("/api/v1/points?job=hangs", json={"points": [{"metric": "gpu_utilization_percent", "stream": "system/n1",
            "ts_ms": int(time.time() * 1000), "value": 100}]}).status == 200
        return incidents(server, "stall", "hangs")
    row, = wait_until(measures, what="a stall beside a machine that is heard all the time")
    assert row["state"] == "open"
    for _ in range(20):
        assert measures()[0]["state"] == "open"
    server.send("hangs", ["step: 1000 loss: 3.0"])
    wait_until(lambda: incidents(server, "stall", "hangs")[0]["state"] == "recovered", what="the end of the stall")


def test_a_job_that_is_over_may_be_silent(make_server):
    server = make_server("--stall-after", "1s")
    talk(server, "done")
    assert server.post("/api/v1/jobs/done/transitions", json={"SecondaryStatus": "Completed"}).status in (200, 204)
    talk(server, "hangs")
    open_stall(server, "hangs")
    assert not incidents(server, "stall", "done")


def test_an_upload_of_a_whole_log_is_no_rhythm(make_server):
    server = make_server("--stall-after", "1s")
    server.send("upload", [f"step: {step} loss: 3.0" for step in range(1000)])
    talk(server, "hangs")
    open_stall(server, "hangs")
    assert not incidents(server, "stall", "upload")


def test_when_all_are_silent_one_says_so(make_server):
    server = make_server("--stall-after", "1s")
    for _ in range(2):
        talk(server, "a")
        talk(server, "b")
    first = wait_until(lambda: open_ones(server, "stall"), what="a stall") # one that has ended: the test itself was slow
    assert len(first) == 1
    other = {"a": "b", "b": "a"}[first[0]["job"]]

    def is_other_open():
        server.send("third", ["step: 1 loss: 3.0"])
        return open_ones(server, "stall", other)

    talk(server, "third")
    wait_until(is_other_open, what="the other one, now that a third is heard")


def test_the_servers_own_downtime_is_no_stall_and_an_old_one_ends(make_server):
    server = make_server("--stall-after", "1s")
    talk(server, "quiet")
    open_stall(server, "quiet")
    server.restart()
    talk(server, "hangs")
    assert incidents(server, "stall", "quiet")[0]["state"] == "open"
    open_stall(server, "hangs")
    assert len(incidents(server, "stall", "quiet")) == 1
    server.send("quiet", ["step: 5000 loss: 3.0"])
    wait_until(lambda: incidents(server, "stall", "quiet")[0]["state"] == "recovered", what="the end of the old stall")


def transition(server, secondary, **fields):
    assert server.post("/api/v1/jobs/llama/transitions", json={"SecondaryStatus": secondary, **fields}).status in (200, 204)


def test_a_failed_job_is_critical_until_it_goes_on(server):
    server.send("llama", ["step: 1 loss: 3.0"])
    transition(server, "Training")
    assert not incidents(server, "job_failed")
    transition(server, "Failed", FailureReason="CUDA out of memory")
    row, = incidents(server, "job_failed")
    assert (row["severity"], row["state"], row["is_historic"]) == ("critical", "open", False)
    transition(server, "Failed", FailureReason="CUDA out of memory")
    assert len(incidents(server, "job_failed")) == 1
    transition(server, "Restarting")
    row, = incidents(server, "job_failed")
    assert row["state"] == "recovered" and row["closed_ms"] >= row["opened_ms"]
    transition(server, "Failed")
    assert [row["state"] for row in incidents(server, "job_failed")] == ["open", "recovered"]


def test_a_failure_that_is_told_long_afterwards_is_historic(server):
    server.send("llama", ["step: 1 loss: 3.0"])
    transition(server, "Failed", time_ms=int(time.time() * 1000) - 3_600_000)
    assert incidents(server, "job_failed")[0]["is_historic"]
