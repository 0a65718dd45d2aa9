"""Who was not heard of for too long is silent, and never more than that."""

import json
import time

from smserver import wait_until


def job_of(server, job="j"):
    return server.get(f"/api/v1/jobs/{job}").body


def test_a_job_and_its_streams_fall_silent_and_are_heard_again(make_server):
    server = make_server("--silent-after", "5s")
    assert server.get("/api/v1/info").body["limits"]["silent_after_ms"] == 5000
    server.send("j", "2020-01-02 03:04:05 step 1", stream="a")
    server.send("j", "step 1", stream="b")
    server.send("ended", "step 1")
    assert server.post("/api/v1/jobs/ended/transitions", json={"SecondaryStatus": "Completed"}).status == 204
    wait_until(lambda: job_of(server).get("last_heard_ms"), what="the counts")
    assert "silent_since_ms" not in job_of(server)  # an old log time is no silence
    wait_until(lambda: "silent_since_ms" in job_of(server), what="the silence")
    job = job_of(server)
    assert job["silent_since_ms"] == job["last_heard_ms"] and job["TrainingJobStatus"] == "InProgress"
    row = next(row for row in server.get("/api/v1/jobs").body["jobs"] if row["TrainingJobName"] == "j")
    assert row["silent_since_ms"] == job["silent_since_ms"]
    server.send("j", "step 2", stream="b")
    wait_until(lambda: "silent_since_ms" not in job_of(server), what="the end of the silence")
    silent = {s["stream"]: "silent_since_ms" in s for s in server.get("/api/v1/jobs/j/streams").body["streams"]}
    assert silent["a"]
    assert "silent_since_ms" not in job_of(server, "ended")


def test_the_servers_own_downtime_is_nobodys_silence(make_server):
    server = make_server("--silent-after", "1h")
    server.send("j", "step 1")
    wait_until(lambda: job_of(server).get("last_heard_ms"), what="the counts")
    server.stop()
    server.start("127.0.0.1:0", "--silent-after", "3s")
    assert "silent_since_ms" not in job_of(server)
    wait_until(lambda: "silent_since_ms" in job_of(server), what="the silence since the start")


def test_a_machine_that_is_heard_of_breaks_no_silence_of_its_job(make_server):
    """Its lines and figures come all the time; who is silent is the training, since its own last line or point."""
    server = make_server("--silent-after", "4s")

    def train():
        server.send("lines", "step: 1 loss: 3.0")
        assert server.post("/api/v1/points?job=points&stream=algo-1", json={"points": [{"metric": "loss", "value": 3}]}).status == 200

    train()
    for job in ("lines", "points"):
        wait_until(lambda job=job: job_of(server, job).get("last_heard_ms"), what=f"the counts of {job}")
    heard = {job: job_of(server, job)["last_heard_ms"] for job in ("lines", "points")}

    def measures():
        for job in heard:
            server.send(job, "kernel: eth0: entered promiscuous mode", stream="system/n1")
            point = {"metric": "gpu_utilization_percent", "stream": "system/n1", "ts_ms": int(time.time() * 1000), "value": 100}
            assert server.post(f"/api/v1/points?job={job}", json={"points": [point]}).status == 200
        return {job: job_of(server, job).get("silent_since_ms") for job in heard}

    wait_until(lambda: measures() == heard, what="the silence of both, beside machines that are heard")
    assert server.get("/api/v1/fleet").body["jobs"]["silent"] == 2
    assert {job: job_of(server, job)["last_heard_ms"] for job in heard} == heard

    def go_on():  # their counts are written every other second
        train()
        return measures() == {"lines": None, "points": None}

    wait_until(go_on, what="the end of the silence")


def test_a_machine_that_is_heard_of_runs_no_training(make_server):
    """The clock of a job whose end nobody states ends with the training's own last line, whatever its machines say later."""
    server = make_server("--silent-after", "2s")
    last_ms = int(time.time() * 1000)
    first_ms = last_ms - 60_000
    body = "".join(json.dumps({"line": f"step: {i} loss: 2.0", "ts": first_ms + 1000 * i}) + "\n" for i in range(61))
    assert server.post("/api/v1/logs?job=j&stream=algo-1", body.encode(), content_type="application/x-ndjson").status == 200

    def wall():
        assert server.post("/api/v1/logs?job=j&stream=system/n1", b"kernel: eth0: entered promiscuous mode\n", content_type="text/plain").status == 200
        return server.get("/api/v1/jobs/j/goodput").body.get("wall_seconds")

    wait_until(lambda: wall() == 60, what="the end of the training", timeout=20)
    assert wall() == 60
