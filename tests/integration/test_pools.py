"""Warm pools: chains of jobs, what they waited and saved, time that runs out, which pool a job would get, and which field stops it."""

import json
import pathlib
import random
import re
import statistics
import subprocess
import time

import pytest

from smserver import PATIENCE_S, ROOT, wait_until

MINUTE_MS = 60_000


def document(name, keep_alive=None, count=4, **more):
    resources = {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": count, "VolumeSizeInGB": 50}
    if keep_alive is not None:
        resources["KeepAlivePeriodInSeconds"] = keep_alive
    return {"TrainingJobName": name, "RoleArn": "arn:aws:iam::123456789012:role/r", "ResourceConfig": resources, **more}


def move(server, job, secondary, time_ms, **more):
    reply = server.post(f"/api/v1/jobs/{job}/transitions", json={"SecondaryStatus": secondary, "time_ms": time_ms, **more})
    assert reply.status < 300, reply


def run_job(server, name, begun_ms, startup_s, minutes, keep_alive=None, end="Completed", reason=None, **more):
    """A job told afterwards: begins, trains after its start-up, ends; minutes None: it still runs."""
    assert server.post("/api/v1/jobs", json=document(name, keep_alive, **more)).status == 201
    move(server, name, "Starting", begun_ms)
    move(server, name, "Training", begun_ms + startup_s * 1000)
    if minutes is not None:
        move(server, name, end, begun_ms + minutes * MINUTE_MS, **({"FailureReason": reason} if reason else {}))


def status(server, job):
    return server.get(f"/api/v1/jobs/{job}").body.get("WarmPoolStatus")


def pools(server, **query):
    return server.get("/api/v1/warm-pools?" + "&".join(f"{key}={value}" for key, value in query.items())).body["pools"]


def now_ms():
    return int(time.time() * 1000)


def test_a_chain(server):
    t = now_ms() - 60 * MINUTE_MS
    run_job(server, "first", t, 480, 20, keep_alive=1800)
    assert status(server, "first")["Status"] == "Terminated"  # half an hour is over
    run_job(server, "second", t + 25 * MINUTE_MS, 30, 15, keep_alive=3600)
    assert status(server, "first") == {"Status": "Reused", "ResourceRetainedBillableTimeInSeconds": 300, "ReusedByJob": "second", "PoolId": 1}
    assert status(server, "second") == {"Status": "Available", "PoolId": 1}
    [pool] = pools(server, state="available")
    assert pool["jobs"] == ["first", "second"] and pool["state"] == "Available" and pool["InstanceType"] == "ml.p4d.24xlarge"
    assert pool["expires_ms"] == t + 40 * MINUTE_MS + 3_600_000 and pool["saved_seconds"] == 450 and pool["cold_startup_seconds"] == 480
    assert 300 + 20 * 60 <= pool["idle_seconds"] < 300 + 21 * 60
    run_job(server, "third", t + 50 * MINUTE_MS, 20, None)
    assert status(server, "third") == {"Status": "InUse", "PoolId": 1}
    one = server.get(f"/api/v1/warm-pools/{pool['id']}").body
    assert [(turn["job"], turn["state"], turn["retained_seconds"]) for turn in one["jobs"]] == [
        ("first", "Reused", 300), ("second", "Reused", 600), ("third", "InUse", 0)]
    rows = {row["TrainingJobName"]: row["WarmPoolStatus"]["Status"] for row in server.get("/api/v1/jobs").body["jobs"]}
    assert rows == {"first": "Reused", "second": "Reused", "third": "InUse"}
    move(server, "third", "Completed", now_ms())
    assert status(server, "third")["Status"] == "Terminated" and pools(server, state="terminated")[0]["id"] == pool["id"]


def test_the_median_of_two_cold_starts_lies_between_them(server):
    t = now_ms() - 120 * MINUTE_MS
    run_job(server, "cold", t, 300, 20)
    run_job(server, "colder", t + 30 * MINUTE_MS, 420, 20, keep_alive=1800)
    run_job(server, "warm", t + 55 * MINUTE_MS, 60, 5)
    [pool] = [row for row in pools(server) if "warm" in row["jobs"]]
    assert pool["cold_startup_seconds"] == (300 + 420) // 2 and pool["saved_seconds"] == (300 + 420) // 2 - 60
    assert server.get("/api/v1/jobs/warm/warm-pool").body["saved_seconds"] == 300


@pytest.mark.parametrize("end, reason, kept", [
    ("Completed", None, True), ("Stopped", None, True), ("Failed", "AlgorithmError: exit 1", True), ("Failed", "ClientError: no data", True),
    ("Failed", "InternalServerError: hardware", False), ("Failed", "CapacityError: none", False)])
def test_which_ends_keep_the_cluster(server, end, reason, kept):
    run_job(server, "j", now_ms() - 10 * MINUTE_MS, 60, 9, keep_alive=3600, end=end, reason=reason)
    assert status(server, "j")["Status"] == ("Available" if kept else "Terminated")


def test_a_job_that_never_had_a_cluster_leaves_none(server):
    server.post("/api/v1/jobs", json=document("never", 3600))
    move(server, "never", "Stopped", now_ms())
    assert status(server, "never") is None and pools(server) == []


def test_keep_alive_of_a_hyperparameter(server):
    run_job(server, "hp", now_ms() - 10 * MINUTE_MS, 60, 9, HyperParameters={"keep_alive_period_in_seconds": "1200"})
    assert status(server, "hp") == {"Status": "Available", "PoolId": 1}


def test_expiry_comes_on_time_also_over_a_kill(server):
    run_job(server, "short", now_ms() - 10 * MINUTE_MS, 60, 10, keep_alive=3)
    assert status(server, "short")["Status"] == "Available"
    server.kill()
    server.start()
    wait_until(lambda: status(server, "short")["Status"] == "Terminated", what="the pool to go")
    assert status(server, "short")["ResourceRetainedBillableTimeInSeconds"] == 3
    wait_until(lambda: pools(server, state="terminated"), what="the list to say so")


def test_what_is_reported_counts(server):
    t = now_ms() - 60 * MINUTE_MS
    run_job(server, "a", t, 60, 10, keep_alive=3600)
    run_job(server, "b", t + MINUTE_MS, 60, 12, keep_alive=3600, WarmPoolStatus={"Status": "Reused", "ReusedByJob": "c"})
    run_job(server, "c", t + 20 * MINUTE_MS, 10, None)
    assert status(server, "a")["Status"] == "Available"  # the one that waited longest, had nobody said otherwise
    assert status(server, "b") == {"Status": "Reused", "ReusedByJob": "c"}
    assert sorted(pool["jobs"] for pool in pools(server)) == [["a"], ["b", "c"]]


def test_match(server):
    run_job(server, "waiting", now_ms() - 10 * MINUTE_MS, 60, 9, keep_alive=3600)
    [pool] = pools(server)

    def match(body):
        return server.post("/api/v1/warm-pools/match", json=body).body
    assert match(document("new"))["match"]["pool"] == pool["id"] and match(document("new"))["near"] == []
    got = match(document("new", count=8))
    assert got["match"] is None
    [near] = got["near"]
    assert (near["pool"], near["job"], near["field"], near["wanted"], near["has"]) == (
        pool["id"], "waiting", "ResourceConfig.InstanceCount", "8", "4")
    fields = {row["field"] for row in match(document("new", count=8, EnableNetworkIsolation=True))["near"]}
    assert fields == {"ResourceConfig.InstanceCount", "EnableNetworkIsolation"}
    run_job(server, "taker", now_ms(), 1, None)
    assert match(document("new"))["match"] is None and match(document("new"))["near"] == []


@pytest.mark.parametrize("path, body, status, words", [
    ("/api/v1/warm-pools/match", {}, 422, "InstanceType and InstanceCount"),
    ("/api/v1/warm-pools/match", document("x", EnableManagedSpotTraining=True), 422, "spot"),
    ("/api/v1/warm-pools?state=sleeping", None, 400, "sleeping"),
    ("/api/v1/warm-pools?cursor=x", None, 400, "cursor"),
    ("/api/v1/warm-pools/77", None, 404, "77"),
    ("/api/v1/warm-pools/x", None, 404, "numbers")])
def test_mistakes(shared_server, path, body, status, words):
    reply = shared_server.get(path) if body is None else shared_server.post(path, json=body)
    assert reply.status == status and words in reply.body["detail"]


def test_a_deleted_job_keeps_its_turn(server):
    t = now_ms() - 60 * MINUTE_MS
    run_job(server, "a", t, 60, 10, keep_alive=3600)
    run_job(server, "b", t + 20 * MINUTE_MS, 10, 10, keep_alive=3600)
    assert server.delete("/api/v1/jobs/b").status < 300
    assert [pool["jobs"] for pool in pools(server)] == [["a", ""]] and status(server, "a")["Status"] == "Reused"


def test_a_day_adds_up(server):
    """200 jobs in 6 shapes, told in any order and some of it twice; sums by a machine of the test's own."""
    chance = random.Random(7)
    start = now_ms() - 26 * 60 * MINUTE_MS
    jobs = []
    for number in range(200):
        jobs.append({"name": f"j{number}", "begun": start + chance.randrange(24 * 3600) * 1000, "startup": chance.choice([20, 40, 400, 500]),
            "minutes": chance.randrange(10, 90), "keep": chance.choice([0, 600, 3600]), "count": chance.randrange(1, 7)})
    told = jobs[:]
    chance.shuffle(told)
    for job in told:
        run_job(server, job["name"], job["begun"], job["startup"], job["minutes"], keep_alive=job["keep"], count=job["count"])
        if chance.random() < 0.2:
            move(server, job["name"], "Completed", job["begun"] + job["minutes"] * MINUTE_MS)
    idle = saved = 0
    for count in range(1, 7):
        waiting, warm, cold = [], [], []
        for job in sorted((job for job in jobs if job["count"] == count), key=lambda job: (job["begun"], told.index(job))):
            usable = [one for one in waiting if one["end"] <= job["begun"] < one["end"] + one["keep"] * 1000]
            if usable:
                taken = min(usable, key=lambda one: one["end"])
                waiting.remove(taken)
                idle += (job["begun"] - taken["end"])
                warm.append(job["startup"])
            else:
                cold.append(job["startup"])
            if job["keep"]:
                waiting.append({"end": job["begun"] + job["minutes"] * MINUTE_MS, "keep": job["keep"]})
        idle += sum(one["keep"] * 1000 for one in waiting)
        median = statistics.median(cold)
        saved += sum(max(0, median - one) for one in warm)
    listed = pools(server, limit=1000)
    assert sum(pool["idle_seconds"] for pool in listed) == idle // 1000
    assert sum(pool["saved_seconds"] for pool in listed) == saved
    names = [name for pool in listed for name in pool["jobs"]]
    assert len(names) == len(set(names))
    paged, cursor = [], ""
    while cursor is not None:
        page = server.get(f"/api/v1/warm-pools?limit=7{'&cursor=' + cursor if cursor else ''}").body
        paged, cursor = paged + page["pools"], page.get("next_cursor")
    assert [pool["id"] for pool in paged] == [pool["id"] for pool in listed]


def test_what_the_page_about_them_shows(server):
    [commands] = re.findall(r"^```sh\n(.*?)^```", pathlib.Path(ROOT, "docs/warm-pools.md").read_text(), re.M | re.S)
    result = subprocess.run(["bash", "-ec", commands.replace(":8080", f":{server.port}").replace("curl ", "curl -sf ").replace("\ncurl", "\necho; curl")],
        stdout=subprocess.PIPE, timeout=PATIENCE_S, check=True)
    listed, match = [json.loads(line) for line in result.stdout.decode().splitlines()[-2:]]
    assert listed["pools"][0]["jobs"] == ["first"]
    [near] = match["near"]
    assert (match["match"], near["field"], near["wanted"], near["has"]) == (None, "ResourceConfig.InstanceCount", "8", "4")


def test_a_keep_alive_taken_back_lets_the_cluster_go(server):
    run_job(server, "j", now_ms() - 10 * MINUTE_MS, 60, 9, keep_alive=3600)
    assert status(server, "j") == {"Status": "Available", "PoolId": 1}
    assert server.patch("/api/v1/jobs/j", json={"ResourceConfig": {"KeepAlivePeriodInSeconds": 1800}}).status < 300
    assert status(server, "j") == {"Status": "Available", "PoolId": 1} and pools(server)[0]["left_seconds"] <= 1800 - 60
    assert server.patch("/api/v1/jobs/j", json={"ResourceConfig": {"KeepAlivePeriodInSeconds": 0}}).status < 300
    gone = status(server, "j")
    assert gone["Status"] == "Terminated" and 55 <= gone["ResourceRetainedBillableTimeInSeconds"] < 180
    run_job(server, "next", now_ms(), 1, None)
    assert status(server, "next") is None
