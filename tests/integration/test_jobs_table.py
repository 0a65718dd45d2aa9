"""What a table of jobs with a scroll bar asks: a page at a place, the columns that are shown, small curves, all rows as lines of JSON."""

import json

import pytest

from smserver import wait_until


@pytest.fixture
def jobs(server):
    for number in range(25):
        document = {"TrainingJobName": f"job-{number:02}", "HyperParameters": {"lr": f"{number}e-4", "note": "x" * 1000},
            "Tags": [{"Key": "team", "Value": "nlp" if number % 2 else 'odd "%/é'}], "ResourceConfig": {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": number + 1}}
        assert server.post("/api/v1/jobs", json=document).status == 201
    return server


def names(reply):
    assert reply.status == 200, reply
    return [row["TrainingJobName"] for row in reply.body["jobs"]]


def test_a_page_at_a_place(jobs):
    for sort in ("name", "-hp.lr", "attempts", "-created"):  # by columns, and by SQL
        all_names = names(jobs.get(f"/api/v1/jobs?limit=100&sort={sort}"))
        for offset in (0, 1, 11, 24, 25, 1000000000):
            reply = jobs.get(f"/api/v1/jobs?limit=7&total=true&sort={sort}&offset={offset}")
            assert names(reply) == all_names[offset:offset + 7] and reply.body["total"] == 25
    page = jobs.get("/api/v1/jobs?limit=7&sort=name&offset=7").body
    assert names(jobs.get(f"/api/v1/jobs?limit=7&sort=name&cursor={page['next_cursor']}"))[0] == "job-14"
    assert names(jobs.get("/api/v1/jobs?q=tag.team=nlp&sort=name&offset=10")) == ["job-21", "job-23"]


@pytest.mark.parametrize("query, status, says", [("offset=-1", 400, "must be an integer"), ("offset=1000000001", 400, "must be an integer"),
    ("offset=1&cursor=00", 400, "a cursor is a place already"), ("offset=1&q=log:x", 422, "pages by cursor")])
def test_places_that_are_none(server, query, status, says):
    reply = server.get(f"/api/v1/jobs?{query}")
    assert reply.status == status and reply.body["field"] == "offset" and says in reply.body["detail"], reply


def test_rows_have_the_columns_that_are_asked(jobs):
    (row,) = jobs.get("/api/v1/jobs?q=name=job-03&fields=hp.lr,tag.team,ResourceConfig.InstanceCount,loss.last,nothing.max,hp.none").body["jobs"]
    assert row["fields"] == {"hp.lr": "3e-4", "tag.team": "nlp", "ResourceConfig.InstanceCount": "4"}
    assert "HyperParameters" not in row and "Tags" not in row and row["ResourceConfig"]["InstanceCount"] == 4 and row["metrics"] == []
    assert names(jobs.get("/api/v1/jobs?q=name=job-03&fields=")) == ["job-03"]
    assert jobs.get("/api/v1/jobs?runs=true&fields=hp.lr").body["field"] == "fields"


def test_a_job_of_very_many_metrics_does_not_make_a_page(server):
    for stream in range(2):
        metrics = "\n".join(json.dumps({"metric": f"aux_{stream}_{n}", "step": 1, "value": n}) for n in range(150))
        body = metrics + "\n" + json.dumps({"metric": "train:loss", "step": 1, "value": 2.5})
        reply = server.post(f"/api/v1/points?job=wide&stream=algo-{stream + 1}", body.encode(), headers={"Content-Type": "application/x-ndjson"})
        assert reply.status == 200, reply
    wait_until(lambda: len(server.get("/api/v1/jobs?q=name=wide").body["jobs"][0]["metrics"]) == 301, what="the summaries")
    reply = server.get("/api/v1/jobs?fields=aux_1_149.max,aux_0_0.step")
    assert len(reply.raw) < 4000 and len(reply.body["jobs"][0]["metrics"]) == 1
    assert reply.body["jobs"][0]["fields"] == {"aux_1_149.max": 149, "aux_0_0.step": 1}


def test_open_incidents_and_figures_of_a_row(server):
    server.send("bad", [f"step: {n} loss: {2.5 if n != 30 else float('nan')}" for n in range(31)])
    wait_until(lambda: server.get("/api/v1/jobs").body["jobs"][0]["open_incidents"] == 1, what="the incident")
    wait_until(lambda: server.get("/api/v1/jobs").body["jobs"][0]["metrics"], what="the summary")
    (row,) = server.get("/api/v1/jobs?fields=loss.last,loss.min,loss.count").body["jobs"]
    assert row["fields"] == {"loss.last": "NaN", "loss.min": 2.5, "loss.count": 31}
    (incident,) = row["incidents"]
    assert (incident["kind"], incident["opened_step"], incident["job"]) == ("non_finite", 30, "bad")
    queries = [{"job": "bad", "metric": "loss", "buckets": 8, "columns": ["x", "last", "non_finite"]}, {"job": "bad", "metric": "loss", "columns": ["y"]},
        {"job": "bad", "metric": "loss", "columns": "x"}]
    small, wrong, none = server.post("/api/v1/points/query", json={"queries": queries}).body["results"]
    assert set(small["columns"]) == {"x", "last", "non_finite"} and sum(small["columns"]["non_finite"]) == 1
    assert wrong["error"]["field"] == none["error"]["field"] == "columns" and "'y' is no column" in wrong["error"]["detail"]


def test_all_rows_as_lines_of_json(jobs):
    for number in range(25, 130):
        assert jobs.post("/api/v1/jobs", json={"TrainingJobName": f"job-{number:03}"}).status == 201
    reply = jobs.get("/api/v1/jobs?format=ndjson&sort=-name")
    rows = [json.loads(line) for line in reply.raw.decode().splitlines()]
    assert reply.status == 200 and len(rows) == 130 and rows[0]["TrainingJobName"] == "job-24"
    assert rows[-1]["HyperParameters"] == {"lr": "0e-4", "note": "x" * 1000}
    reply = jobs.get("/api/v1/jobs?format=csv&q=name=job-02&fields=hp.lr,tag.team,ResourceConfig.VolumeSizeInGB,lines")
    assert reply.raw.decode().splitlines()[1] == '2e-4,"odd ""%/é",,0'


def test_a_metric_that_was_never_a_number_has_no_smallest_value(server):
    rows = [{"metric": "eval_loss", "step": step, "value": "NaN"} for step in range(3)] + [{"metric": "loss", "step": 1, "value": 2.5}]
    assert server.post("/api/v1/points?job=bad", "".join(json.dumps(row) + "\n" for row in rows), content_type="application/x-ndjson").status == 200
    fields = "loss.min,eval_loss.min,eval_loss.max,eval_loss.mean,eval_loss.last,eval_loss.count"
    wanted = {"loss.min": 2.5, "eval_loss.last": "NaN", "eval_loss.count": 3}
    wait_until(lambda: server.get(f"/api/v1/jobs?q=name=bad&fields={fields}").body["jobs"][0]["fields"] == wanted, what="its figures")
    assert server.get(f"/api/v1/jobs?q=name=bad&fields={fields}&format=csv").raw.decode().splitlines()[1] == "2.5,,,,NaN,3"


def test_a_row_has_the_metric_by_whose_steps_the_job_goes(server):
    rows = [{"metric": "a", "step": 0, "value": 1}, {"metric": "grad_norm", "step": 7, "value": 1}, {"metric": "score", "step": 100, "value": 1}, {"metric": "z", "step": 3, "value": 1}]
    assert server.post("/api/v1/points?job=unled", "".join(json.dumps(row) + "\n" for row in rows), content_type="application/x-ndjson").status == 200
    wait_until(lambda: len(server.get("/api/v1/jobs?q=name=unled").body["jobs"][0]["metrics"]) == 4, what="the summaries")
    (row,) = server.get("/api/v1/jobs?q=name=unled&fields=step").body["jobs"]
    assert row["fields"] == {"step": 100}
    assert {one["metric"]: one["last_step"] for one in row["metrics"]} == {"grad_norm": 7, "score": 100}
