"""One series a role stands for the job, and it is the same one wherever a role is asked for."""

import json
import subprocess
from urllib.parse import quote

from smserver import wait_until

STEPS = range(1, 101)
START_MS = 1_700_000_000_000
# What a mixture of experts prints: each name sorts before the one that is meant, or is printed as often.
SERIES = {
    "moe_aux_loss": lambda step: 0.01 + step / 1e6,
    "router/z_loss": lambda step: 0.002,
    "train/loss": lambda step: 5 - step / 50,
    "eval/aux_loss": lambda step: 0.5,
    "eval/loss": lambda step: 6 - step / 50,
    "perf/samples_per_second": lambda step: 8 + step / 100,
    "perf/tokens_per_second": lambda step: 8000 + step,
    "perf/tokens_per_second_per_gpu": lambda step: 1000 + step,
}
MAINS = {"loss": "train/loss", "eval_loss": "eval/loss", "throughput": "perf/tokens_per_second"}
LAST = {role: SERIES[metric](100) for role, metric in MAINS.items()}


def send(server, job="moe", steps=STEPS):
    lines = [json.dumps({"metric": metric, "step": step, "ts_ms": START_MS + 1000 * step, "value": value(step)})
        for step in steps for metric, value in SERIES.items()]
    assert server.post(f"/api/v1/points?job={job}&stream=algo-1", "\n".join(lines).encode(), content_type="application/x-ndjson").status == 200


def mains_of(rows):
    return {row["role"]: row["metric"] for row in rows if row.get("is_main")}


def row_of(server, job="moe", query=""):
    (row,) = server.get(f"/api/v1/jobs?q=name={job}{query}").body["jobs"]
    return row


def test_the_same_series_everywhere(server):
    send(server)
    mains = lambda: mains_of(server.get("/api/v1/jobs/moe/metrics").body["series"])
    wait_until(lambda: mains() == MAINS, what="the main series")  # as they are read, whether or not a summary is written
    wait_until(lambda: all("final" in metric for metric in row_of(server)["metrics"]) and len(row_of(server)["metrics"]) == len(SERIES), what="the summaries")
    assert mains_of(server.get("/api/v1/jobs/moe/metrics").body["series"]) == MAINS
    assert mains_of(row_of(server)["metrics"]) == mains_of(row_of(server, query="&fields=")["metrics"]) == MAINS
    assert mains_of(server.get("/api/v1/jobs/moe").body["metrics"]) == MAINS

    fields = row_of(server, query="&fields=" + ",".join(f"{role}.last" for role in LAST))["fields"]
    assert fields == {f"{role}.last": value for role, value in LAST.items()}
    for role, metric in MAINS.items():
        for path in (f"points?metric={role}", f"points?metric={role}&stream=algo-1"):
            reply = server.get(f"/api/v1/jobs/moe/{path}").body
            assert reply["metric"] == metric and reply["columns"]["last"][-1] == LAST[role], path
        batch = server.post("/api/v1/points/query", json={"queries": [{"job": "moe", "metric": role}]}).body["results"][0]
        assert batch["columns"]["last"][-1] == LAST[role]
        assert metric.encode() in server.get(f"/api/v1/jobs/moe/chart.svg?metric={role}").raw
        at = LAST[role]
        assert row_of(server, query=quote(f" {role}.last>={at * 0.999} {role}.last<={at * 1.001}"))["TrainingJobName"] == "moe"
        (group,) = server.get(f"/api/v1/aggregate?of=mean:{role}.last").body["groups"]
        assert at in group.values() or at in group.get("values", []), group
    wait_until(lambda: server.get("/api/v1/jobs/moe/goodput").body["steps"].get("metric") == "train/loss", what="the step series")

    send(server, "dense")
    wait_until(lambda: row_of(server, "dense")["metrics"], what="the second job")
    roles = server.get("/api/v1/compare?jobs=moe,dense").body
    assert {role["role"]: role["values"][0]["metric"] for role in roles["roles"]} == MAINS
    assert roles["steps"]["at"][-1]["values"][0] == {"step": 100, "value": LAST["loss"]}

    found = subprocess.run([server.bin("sm-search"), "--server", server.url, "name=moe", "--fields", "loss,eval_loss.min,throughput.max", "--csv"],
        capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()
    assert [float(cell) for cell in found[1].split(",")] == list(LAST.values())

    assert server.post("/api/v1/jobs/moe/transitions", json={"SecondaryStatus": "Completed"}).status == 204
    final = server.get("/api/v1/jobs/moe").body["FinalMetricDataList"]
    assert {row["MetricName"]: row["Value"] for row in final[:3]} == {MAINS[role]: LAST[role] for role in MAINS}


def test_which_one_is_meant_does_not_hang_on_the_order(server):
    """A rule on a role looks at the main series alone; one that is printed once at the end takes nobody's place."""
    rule = {"name": "small", "expression": "loss < 0.5", "severity": "warning"}
    assert server.post("/api/v1/rules", json=rule).status == 201
    send(server)  # the smallest loss is 5 - 100 / 50 = 3, the auxiliary ones are below 0.5 all the time
    once = json.dumps({"metric": "train_loss", "step": 100, "ts_ms": START_MS + 100_000, "value": 0.1})
    assert server.post("/api/v1/points?job=moe&stream=algo-1", once.encode(), content_type="application/x-ndjson").status == 200
    wait_until(lambda: len(row_of(server)["metrics"]) == len(SERIES) + 1, what="the summaries")
    assert mains_of(row_of(server)["metrics"]) == MAINS
    assert [one["metric"] for one in server.get("/api/v1/incidents").body["incidents"] if one["kind"] == "rule"] == []


def test_a_last_word_takes_nobody_s_place(server):
    """A tracker that told train/loss at each step, and log({"loss": last}) at the end."""
    send(server, "told")
    once = json.dumps({"metric": "loss", "step": 100, "ts_ms": START_MS + 100_000, "value": LAST["loss"]})
    assert server.post("/api/v1/points?job=told&stream=algo-1", once.encode(), content_type="application/x-ndjson").status == 200
    wait_until(lambda: len(row_of(server, "told")["metrics"]) == len(SERIES) + 1, what="the summaries")
    assert mains_of(row_of(server, "told")["metrics"]) == mains_of(server.get("/api/v1/jobs/told/metrics").body["series"]) == MAINS
    wait_until(lambda: server.get("/api/v1/jobs/told/goodput").body["steps"].get("metric") == "train/loss", what="the step series")


def test_a_database_that_was_decided_by_another_rule(server):
    send(server)
    wait_until(lambda: len(row_of(server)["metrics"]) == len(SERIES), what="the summaries")
    server.stop()
    server.sql("UPDATE summaries SET main_role = CASE metric WHEN 'moe_aux_loss' THEN 1 ELSE 0 END")
    server.sql("DELETE FROM settings WHERE key = 'main_metric_rule'")
    server.start()
    assert mains_of(row_of(server)["metrics"]) == MAINS


def test_a_restart_that_has_made_as_many_steps_is_ranked_anew(server):
    """Best and final are of the twenty points that count: 2 - 19/100, and the median, between 2 - 9/100 and 2 - 10/100. As many came before, and were made again."""
    log = lambda top: "".join(f"step {step} loss: {top - step / 100:.2f}\n" for step in range(20))
    send = lambda text: server.post("/api/v1/logs?job=again&stream=algo-1", body=text.encode())
    ranks = lambda: [(row.get("best"), round(row.get("final", 0), 9)) for row in row_of(server, "again")["metrics"] if row["metric"] == "train:loss"]
    assert send(log(3)).status == 200
    wait_until(lambda: ranks() == [(2.81, 2.905)], what=f"the ranks of the first attempt, not {ranks()}")
    assert send("Resuming from checkpoint at step 0\n" + log(2)).status == 200
    assert server.post("/api/v1/jobs/again/transitions", json={"SecondaryStatus": "Completed"}).status in (200, 204)
    wait_until(lambda: ranks() == [(1.81, 1.905)], what=f"the ranks of the second attempt, not {ranks()}")
