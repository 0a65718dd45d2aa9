"""deploy/examples/notebook.md: its calls are made, by pandas where it is, and the tables are what the page says; and jobs as CSV."""

import csv
import io
import re
import urllib.parse

import pytest

from smserver import ROOT, wait_until

PAGE = (ROOT / "deploy/examples/notebook.md").read_text()
DEFINITION = {"Name": "loss", "Regex": r"step (?<step>\d+) loss=(?<value>\S+)"}


def make_job(server, name, values, **document):
    reply = server.post("/api/v1/jobs", json={"TrainingJobName": name, "AlgorithmSpecification": {"MetricDefinitions": [DEFINITION]}, **document})
    assert reply.status == 201, reply
    server.send(name, [f"step {step} loss={value}" for step, value in enumerate(values)])
    server.wait_for_points(name, "loss", len(values))


@pytest.fixture
def filled(server):
    make_job(server, "a", [3.0, 2.0, 2.5], HyperParameters={"lr": "1e-3"})
    make_job(server, "b, the second", [4.0, 1.0], HyperParameters={"lr": "3e-4", 'a "b", c': "x"},
        ResourceConfig={"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 2})
    make_job(server, "still running", [9.0])
    for name in ("a", "b, the second"):
        path = f"/api/v1/jobs/{urllib.parse.quote(name)}/transitions"
        assert server.post(path, json={"SecondaryStatus": "Completed"}).status == 204
    # summaries reach the search index within moments
    wait_until(lambda: [row["loss.min"] for row in rows_of(server, "fields=loss.min&sort=name")] == ["2", "1", "9"], what="summaries")
    return server


def rows_of(server, query):
    reply = server.get(f"/api/v1/jobs?format=csv&{query}")
    assert reply.status == 200 and reply.headers["Content-Type"].startswith("text/csv"), reply
    return list(csv.DictReader(io.StringIO(reply.body)))


def test_the_calls_of_the_page(filled):
    calls = re.findall(r'read_csv\(f"\{server\}([^"]+)"\)', PAGE)
    assert len(calls) == 2
    jobs, points = ([*csv.DictReader(io.StringIO(filled.get(call).body))] for call in calls)
    assert sorted(tuple(job.values()) for job in jobs) == [("a", "1e-3", "2.5", "2"), ("b, the second", "3e-4", "1", "1")]
    assert [(row["job"], int(row["step"]), float(row["value"])) for row in points] == [
        ("a", 0, 3), ("a", 1, 2), ("a", 2, 2.5), ("b, the second", 0, 4), ("b, the second", 1, 1)]


def test_the_page_in_pandas(filled):
    pytest.importorskip("pandas", reason="needs pandas (the other test makes the same calls)")
    names = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.S):
        exec(block.replace("http://127.0.0.1:8080", filled.url), names)
    assert list(names["best"]["TrainingJobName"]) == ["b, the second", "a"]
    assert set(names["jobs"].dtypes.astype(str)[1:]) <= {"float64", "int64"}
    assert names["curves"].loc[1].to_dict() == {"a": 2.0, "b, the second": 1.0}


def test_columns_of_jobs(filled):
    default = rows_of(filled, "sort=name")
    assert [row["TrainingJobName"] for row in default] == ["a", "b, the second", "still running"]
    second = default[1]
    assert (second["TrainingJobStatus"], second["ResourceConfig.InstanceType"], second["ResourceConfig.InstanceCount"], second["lines"]) == (
        "Completed", "ml.p4d.24xlarge", "2", "2")
    assert default[0]["ResourceConfig.InstanceType"] == "" and float(second["TrainingEndTime"]) >= float(second["CreationTime"]) > 0
    (row,) = rows_of(filled, "q=status:inprogress&fields=TrainingJobName,hp.lr,loss.count,nothing.max")
    assert row == {"TrainingJobName": "still running", "hp.lr": "", "loss.count": "1", "nothing.max": ""}


def test_more_jobs_than_a_page(server):
    for number in range(230):
        assert server.post("/api/v1/jobs", json={"TrainingJobName": f"job-{number:03}"}).status == 201
    assert [row["TrainingJobName"] for row in rows_of(server, "sort=name&fields=TrainingJobName")] == [f"job-{n:03}" for n in range(230)]


@pytest.mark.parametrize("query, field, says", [
    ("format=xml", "format", "none of json, csv"), ("fields=foo", "fields", "'foo' is no column"), ("format=ndjson&offset=1", "offset", "has no pages"),
    ("format=csv&limit=5", "limit", "has no pages"), ("format=csv&cursor=x", "cursor", "has no pages"), ("format=csv&total=true", "total", "has no pages"),
    ("format=csv&fields=lines,foo", "fields", "'foo' is no column"), ("format=csv&fields=hp.", "fields", "'hp.' is no column"),
    ("format=csv&fields=.last", "fields", "'.last' is no column"), ("format=csv&fields=" + "lines," * 100 + "lines", "fields", "at most 100 fields"),
    ("format=csv&fields=hp." + "x" * 253, "fields", "at most 255 bytes"),
])
def test_refusals(shared_server, query, field, says):
    reply = shared_server.get(f"/api/v1/jobs?{query}")
    assert reply.status == 400 and reply.body["field"] == field and says in reply.body["detail"], reply


def test_as_many_fields_as_allowed(server):
    server.post("/api/v1/jobs", json={"TrainingJobName": "j"})
    reply = server.get("/api/v1/jobs?format=csv&fields=" + ",".join(["hp." + "x" * 252] + ["lines"] * 99))
    assert reply.status == 200 and len(reply.body.splitlines()[1].split(",")) == 100
    assert server.get("/api/v1/jobs?format=csv&q=(").status == 422 and server.get("/api/v1/jobs?format=csv&sort=nothing-known").status == 422
