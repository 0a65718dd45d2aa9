"""The whole fleet: sums that follow each change, quotas, how jobs got their clusters; and databases from before all that."""


import pytest

from olddb import as_version
from engine import ON_POSTGRES
from smserver import wait_until
from test_pools import MINUTE_MS, document, move, now_ms, pools, run_job, status


def fleet(server):
    return server.get("/api/v1/fleet").body


def quota(server, name, kind=None):
    [found] = [row for row in server.get("/api/v1/quotas").body["quotas"] if (row["quota"], row.get("instance_type")) == (name, kind)]
    return found


def is_room_known(body):
    """PostgreSQL does not say how much there is."""
    return body["ingest"]["disk_free_bytes"] is None if ON_POSTGRES else body["ingest"]["disk_free_bytes"] > 0


def test_the_sums_follow_each_change(server):
    assert fleet(server)["jobs"] == {"total": 0, "silent": 0} and fleet(server)["node_hours"] == 0
    t = now_ms() - 120 * MINUTE_MS
    run_job(server, "a", t, 600, 60, keep_alive=3600)  # 50 minutes of 4
    body = fleet(server)
    assert body["jobs"] == {"Completed": 1, "total": 1, "silent": 0}
    assert abs(body["node_hours"] - 4 * 50 / 60) < 1e-6
    assert body["nodes"]["in_jobs"] == 0 and body["warm_pools"] == {"Available": 0, "InUse": 0, "Terminated": 1}
    run_job(server, "b", t + 65 * MINUTE_MS, 30, 50, keep_alive=3600)
    run_job(server, "c", now_ms() - 10 * MINUTE_MS, 30, None, count=8)
    body = fleet(server)
    assert body["jobs"]["InProgress"] == 1 and body["jobs"]["Completed"] == 2
    assert body["warm_pools"]["Available"] == 1 and body["nodes"]["in_waiting_pools"] == 4 and body["nodes"]["in_jobs"] == 8
    assert body["nodes"]["by_type"][0]["instance_type"] == "ml.p4d.24xlarge"
    hours = (4 * 50 * 60 + 4 * (50 * 60 - 30) + 8 * (10 * 60 - 30)) / 3600
    assert hours <= body["node_hours"] < hours + 8 * 120 / 3600
    assert server.delete("/api/v1/jobs/a").status < 300
    assert fleet(server)["jobs"] == {"Completed": 1, "InProgress": 1, "total": 2, "silent": 0}
    assert is_room_known(body) and body["open_incidents"] == {"info": 0, "warning": 0, "critical": 0}


def test_quotas(server):
    kind = "ml.p4d.24xlarge"
    assert server.put("/api/v1/quotas", json={"quotas": [
        {"quota": "instances_per_type", "instance_type": kind, "configured": 16}, {"quota": "instances", "configured": 100},
        {"quota": "instances_per_job", "configured": 8}, {"quota": "longest_run_seconds", "configured": 3600},
        {"quota": "warm_pool_instances", "instance_type": kind, "configured": 4}]}).status == 200
    run_job(server, "w", now_ms() - 20 * MINUTE_MS, 30, 15, keep_alive=3600)
    assert quota(server, "instances_per_type", kind)["used"] == 4 == quota(server, "warm_pool_instances", kind)["used"]
    reply = server.post("/api/v1/jobs?dry_run=true", json=document("x", 600, count=16))
    told = {row["quota"]: row for row in reply.body["quotas"]}
    assert told["instances_per_type"]["text"] == "this job needs 16, 12 are left" and not told["instances_per_type"]["fits"]
    assert told["instances"]["left"] == 96 and told["instances"]["fits"] and not told["instances_per_job"]["fits"]
    assert not told["longest_run_seconds"]["fits"] and told["longest_run_seconds"]["needed"] == 86400
    assert told["warm_pool_instances"]["needed"] == 16 and told["warm_pool_instances"]["left"] == 0
    # what waits for the job is counted already
    told = {row["quota"]: row for row in server.post("/api/v1/jobs?dry_run=true", json=document("x", count=4)).body["quotas"]}
    assert told["instances_per_type"]["needed"] == 0
    run_job(server, "x", now_ms() - 2 * MINUTE_MS, 1, None)
    assert quota(server, "instances_per_type", kind) == {"quota": "instances_per_type", "instance_type": kind, "configured": 16, "used": 4,
        "highest": 4, "highest_ms": quota(server, "instances_per_type", kind)["highest_ms"]}
    assert 60 <= quota(server, "longest_run_seconds")["used"] and quota(server, "longest_run_seconds")["highest"] >= 14 * 60
    assert quota(server, "instances_per_job")["used"] == 4
    server.put("/api/v1/quotas", json={"quotas": [{"quota": "instances", "configured": None}]})
    assert "configured" not in quota(server, "instances")


def test_a_job_of_all_the_nodes_there_are_stops_nobody(make_server):
    """What it claims is multiplied by times since 1990, and added up over all jobs."""
    server = make_server("--goodput-every", "100ms")
    t = now_ms() - 20 * MINUTE_MS
    for i in range(4):
        run_job(server, f"absurd-{i}", t, 30, None, count=2**31 - 1)
        run_job(server, f"huge-{i}", 631_152_000_000, 30, None, count=1_000_000)
    groups = [{"InstanceGroupName": f"g{i}", "InstanceType": "ml.p5.48xlarge", "InstanceCount": 1_000_000} for i in range(5)]
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "mixed", "ResourceConfig": {"InstanceGroups": groups, "VolumeSizeInGB": 1}}).status == 201
    move(server, "mixed", "Training", 631_152_000_000)
    run_job(server, "plain", t, 30, 10)
    for name in [f"{kind}-{i}" for kind in ("absurd", "huge") for i in range(4)] + ["mixed"]:
        move(server, name, "Completed", now_ms())
        assert server.get(f"/api/v1/jobs/{name}/goodput").status == 200
    assert fleet(server)["jobs"]["Completed"] == 10
    assert quota(server, "instances_per_job")["highest"] == 1_000_000
    wait_until(lambda: "pending_jobs" not in server.get("/api/v1/goodput").body, what="the days")
    assert "goodput_failed" not in server.log_text() and server.get("/api/v1/goodput").body["buckets"]


@pytest.mark.parametrize("body, words", [
    ({}, "quotas"), ({"quotas": []}, "quotas"), ({"quotas": [7]}, "quotas[0]"),
    ({"quotas": [{"quota": "gpus", "configured": 1}]}, "gpus"),
    ({"quotas": [{"quota": "instances", "configured": -1}]}, "configured"), ({"quotas": [{"quota": "instances"}]}, "configured"),
    ({"quotas": [{"quota": "instances", "instance_type": "t", "configured": 1}]}, "all instance types"),
    ({"quotas": [{"quota": "instances_per_type", "configured": 1}]}, "missing")])
def test_quotas_that_are_none(shared_server, body, words):
    reply = shared_server.put("/api/v1/quotas", json=body)
    assert reply.status == 422 and words in reply.body["detail"] + reply.body.get("field", "")


def test_why_a_job_started_cold(server):
    t = now_ms() - 120 * MINUTE_MS
    run_job(server, "short", t, 480, 20, keep_alive=600)
    run_job(server, "other", t, 480, 25, keep_alive=3600, count=8)
    run_job(server, "late", t + 35 * MINUTE_MS, 500, 10, keep_alive=3600)
    why = server.get("/api/v1/jobs/late/warm-pool").body
    assert why["start"] == "cold" and why["startup_seconds"] == 500 and why["status_seconds"]["Training"] == 100
    [missed, near] = why["why"]
    assert (missed["job"], missed["reason"], missed["too_late_seconds"]) == ("short", "gone", 300)
    assert (near["job"], near["field"], near["wanted"], near["has"]) == ("other", "ResourceConfig.InstanceCount", "4", "8")
    run_job(server, "warm", t + 50 * MINUTE_MS, 20, 5)
    assert status(server, "warm")["PoolId"] == status(server, "late")["PoolId"]
    warm = server.get("/api/v1/jobs/warm/warm-pool").body
    cold_s = (480 + 500) // 2
    assert (warm["start"], warm["saved_seconds"], warm["cold_startup_seconds"], warm["position"]) == ("warm", cold_s - 20, cold_s, 1)
    assert "why" not in warm
    run_job(server, "spot", t, 1, 1, EnableManagedSpotTraining=True)
    assert server.get("/api/v1/jobs/spot/warm-pool").body["start"] == "none"
    assert server.get("/api/v1/jobs/nobody/warm-pool").status == 404
    [row] = server.get("/api/v1/startup?by=type").body["rows"]
    assert row["instance_type"] == "ml.p4d.24xlarge" and row["cold"]["jobs"] == 3 and row["warm"]["jobs"] == 1
    assert row["saved_seconds"] == cold_s - 20 and row["idle_seconds"] == 600 + 3600 + 300
    assert [pool["warm"]["jobs"] for pool in server.get("/api/v1/startup?by=pool").body["rows"]].count(1) == 1
    assert sum(day["cold"]["startup_seconds"] for day in server.get("/api/v1/startup").body["rows"]) == 480 + 480 + 500
    assert server.get("/api/v1/startup?by=colour").status == 400 and server.get("/api/v1/startup?from_ms=x").status == 400
    # an image may differ: it is said, and stops nothing
    run_job(server, "keeps", now_ms() - 20 * MINUTE_MS, 10, 19, keep_alive=3600, AlgorithmSpecification={"TrainingImage": "one", "TrainingInputMode": "File"})
    match = server.post("/api/v1/warm-pools/match", json=document("x", AlgorithmSpecification={"TrainingImage": "two"})).body["match"]
    assert match["job"] == "keeps" and match["differs"] == [{"field": "AlgorithmSpecification.TrainingImage", "wanted": "two", "has": "one",
        "blocking": False, "text": "differs, not blocking"}]


def test_pools_are_told_live(server):
    live = server.live("kinds=pool")
    run_job(server, "j", now_ms() - 10 * MINUTE_MS, 60, 9, keep_alive=3600)
    seen = live.next("pool", where=lambda event: event["json"]["state"] == "Available")["json"]
    assert seen["job"] == "j" and seen["InstanceCount"] == "4" and seen["expires_ms"] > now_ms()


def test_a_database_from_before_pools_gets_them(server):
    run_job(server, "a", now_ms() - 30 * MINUTE_MS, 60, 10, keep_alive=3600)
    run_job(server, "b", now_ms() - 15 * MINUTE_MS, 60, 10, keep_alive=3600)
    before, sums = pools(server), fleet(server)["nodes"]
    server.stop()
    for table in ("pool_jobs", "pool_shapes", "fleet_jobs", "fleet_totals"):
        server.sql(f"DELETE FROM {table}")
    server.start()
    wait_until(lambda: fleet(server)["jobs"]["total"] == 2, what="the jobs to be counted")
    assert [pool["jobs"] for pool in pools(server)] == [pool["jobs"] for pool in before] == [["a", "b"]]
    assert fleet(server)["nodes"] == sums


def test_hours_in_which_a_job_had_failed_or_waited_are_not_of_its_nodes(server):
    """Two nodes train for an hour, stand as Failed for 22, train for three, wait for machines for one, and train on."""
    t = now_ms() - 30 * 60 * MINUTE_MS
    assert server.post("/api/v1/jobs", json=document("again", 600, count=2)).status == 201
    for at_h, state in ((0, "Training"), (1, "Failed"), (23, "Training"), (26, "Interrupted"), (27, "Training")):
        move(server, "again", state, t + at_h * 60 * MINUTE_MS)
    now = fleet(server)
    assert 2 * (1 + 3 + 3) <= now["node_hours"] < 2 * (1 + 3 + 3) + 0.1
    move(server, "again", "Completed", t + 29 * 60 * MINUTE_MS)

    def hours():
        now = fleet(server)
        return now["node_hours"], now["nodes"]["by_type"][0]["ended_node_hours"]
    billed = 2 * (1 + 3 + 2)
    assert hours() == (billed, billed)
    [group] = server.get("/api/v1/aggregate?of=sum:node_hours").body["groups"]
    assert group == {"sum:node_hours": billed}
    assert quota(server, "longest_run_seconds")["highest"] == 29 * 3600
    # a database that had them counted: from 0 to 29
    with as_version(server, 37) as database:
        database.execute("UPDATE fleet_totals SET value = value + ? WHERE name = 'node_ms'", (2 * (22 + 1) * 60 * MINUTE_MS,))
    server.start()
    wait_until(lambda: hours() == (billed, billed), what="what the upgrade counts anew")


def test_the_longest_silent_jobs_and_what_today_cost(make_server):
    server = make_server("--silent-after", "1s")
    for number in range(12):
        server.send(f"quiet-{number:02}", ["step: 1 loss: 2.5"])
    wait_until(lambda: fleet(server)["jobs"]["silent"] == 12, what="all to be silent")
    rows = fleet(server)["silent_jobs"]
    assert [row["job"] for row in rows] == [f"quiet-{number:02}" for number in range(10)]
    assert all(row["last_heard_ms"] <= now_ms() - 1000 for row in rows)
    body = fleet(server)
    assert set(body["today"]) == {"goodput", "measured_node_hours", "cost", "lost_cost", "billed_node_hours", "unpriced_node_hours",
        "estimated_node_hours", "unpriced_types"} == set(body["last_30_days"])
    assert body["today"]["cost"] is None and body["today"]["measured_node_hours"] <= body["last_30_days"]["measured_node_hours"]


def test_paces_against_what_is_usual(server):
    def lines(begin, count, rate):
        return [f"step: {n} loss: 2.5 tokens/s: {rate * (1 + n % 5 / 1000):.3f}" for n in range(begin, begin + count)]

    assert server.get("/api/v1/fleet/paces").body == {"known": 0, "jobs": []}
    server.send("steady", lines(0, 96, 1000.0))
    server.send("slow", lines(0, 96, 1000.0) + lines(96, 40, 800.0))
    server.send("new", lines(0, 8, 1000.0))
    wait_until(lambda: server.get("/api/v1/fleet/paces").body["known"] == 2 and server.get("/api/v1/fleet/paces").body["jobs"][0]["percent_of_usual"] < 90,
        what="the paces")
    slow, steady = server.get("/api/v1/fleet/paces").body["jobs"]
    assert (slow["job"], steady["job"], slow["is_step_time"]) == ("slow", "steady", False)
    assert 75 < slow["percent_of_usual"] < 85 and 99 < steady["percent_of_usual"] < 101 and 990 < slow["usual"] < 1010
    assert [row["job"] for row in server.get("/api/v1/fleet/paces?limit=1").body["jobs"]] == ["slow"]
    assert server.post("/api/v1/jobs/slow/transitions", json={"SecondaryStatus": "Completed"}).status == 204
    assert [row["job"] for row in server.get("/api/v1/fleet/paces").body["jobs"]] == ["steady"]
    assert server.get("/api/v1/fleet/paces?limit=0").body["field"] == "limit"


def test_what_has_no_price_is_not_free(server):
    before = server.get("/api/v1/fleet").body  # the very first answer: what is left on the disk is known already
    assert is_room_known(before) and before["unpriced_types"] == []
    assert before["today"]["cost"] is None and before["last_30_days"]["lost_cost"] is None  # no list of prices
    run_job(server, "a", now_ms() - 30 * MINUTE_MS, 60, 10)
    wait_until(lambda: fleet(server)["unpriced_types"] == ["ml.p4d.24xlarge"], what="the type without a price")
    assert fleet(server)["last_30_days"]["cost"] is None
    price = {"instance": "ml.p4d.24xlarge", "per_hour": 30, "from": "2020-01-01"}
    assert server.put("/api/v1/prices", json={"currency": "EUR", "prices": [price]}).status == 200
    wait_until(lambda: (fleet(server)["last_30_days"]["cost"] or 0) > 0, what="the job is priced")
    wait_until(lambda: fleet(server)["unpriced_types"] == [], what="no type is left")
    row = fleet(server)
    assert row["currency"] == "EUR"
    assert row["last_30_days"]["cost"] == pytest.approx(4 * 30 * 9 / 60, rel=0.02)  # four nodes, from the start of training a minute in to the tenth
