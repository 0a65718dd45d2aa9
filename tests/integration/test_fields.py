"""Each field of a job through each output: the rows of a page, CSV, lines of JSON, sm-search and its one-file client, over jobs that have it."""

import csv
import io
import json
import pathlib
import subprocess
import sys
from urllib.parse import quote

import pytest

from smserver import wait_until

HERE = pathlib.Path(__file__).resolve().parents[2]
START_S = 1_700_000_000
STEPS = range(1, 31)
DOCUMENT = {"TrainingJobName": "job", "RoleArn": "arn:aws:iam::123456789012:role/train", "HyperParameters": {"lr": "0.001", "a,b": "both"},
    "Environment": {"NCCL_DEBUG": "INFO"}, "Labels": ["blue", "owner=mail"],
    "Tags": [{"Key": "team", "Value": "nlp"}, {"Key": "owner", "Value": "ann"}, {"Key": "project", "Value": "x1"}, {"Key": "continues", "Value": "first"}],
    "AlgorithmSpecification": {"TrainingImage": "repo/image:1", "TrainingInputMode": "File"},
    "ResourceConfig": {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 4, "KeepAlivePeriodInSeconds": 600}, "WarmPoolStatus": {"Status": "Available"}}
# as the settings of a log are printed, then a loss a second; the last five steps again, as a second attempt
LOG = ["Namespace(batch_size=32, warmup_steps=77)"]

WANTED = {
    "name": "job", "TrainingJobName": "job", "status": "Failed", "secondary": "Failed", "reason": "CapacityError: Unable to provision requested ML compute capacity",
    "failure": "CapacityError", "instance": "ml.p4d.24xlarge", "ResourceConfig.InstanceType": "ml.p4d.24xlarge", "instances": 4,
    "ResourceConfig.KeepAlivePeriodInSeconds": "600", "image": "repo/image:1", "role": "arn:aws:iam::123456789012:role/train", "pool": "Available", "owner": "ann",
    "project": "x1", "continues": "first", "label": "blue, owner=mail", "hp.lr": "0.001", 'hp."a,b"': "both", "hp.batch_size": "32", "hp.warmup_steps": "77",
    "tag.team": "nlp", "env.NCCL_DEBUG": "INFO", "attempts": 2, "run": "first", "streams": 1, "step": 30, "duration": 90, "incident": "job_failed",
    "incidents": 1, "loss": 2 - 30 / 100, "loss.min": 2 - 30 / 100, "loss.count": 30, "loss.step": 30, "loss.best_step": 30, 'metric."train:loss".max': 2 - 1 / 100,
    "metric.train:loss.last": 2 - 30 / 100, "train:loss.mean": 2 - sum(STEPS) / 100 / 30, "eval_loss.last": 5,
    "throughput.max": 30, "created": START_S - 100, "started": START_S, "ended": START_S + 90,
}
TIMES = ("created", "started", "ended")


@pytest.fixture
def filled(server):
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "first"}).status == 201
    assert server.post("/api/v1/jobs", json=DOCUMENT | {"CreationTime": START_S - 100}).status == 201
    for at, status, more in ((-100, "Starting", {}), (0, "Training", {}), (30, "Restarting", {}), (40, "Training", {}), (90, "Failed", {"FailureReason": WANTED["reason"]})):
        assert server.post("/api/v1/jobs/job/transitions", json={"SecondaryStatus": status, "time_ms": 1000 * (START_S + at)} | more).status == 204
    server.send("job", LOG)
    points = [{"metric": metric, "step": step, "ts_ms": 1000 * (START_S + step), "value": value} for step in STEPS
        for metric, value in (("train:loss", 2 - step / 100), ("moe_aux_loss", 0), ("val_loss", 5), ("tokens_per_second", step))]
    points += [{"metric": "acc_by_tokens", "step": 1_000_000 * step, "ts_ms": 1000 * (START_S + step), "value": 1} for step in STEPS]  # an axis of its own
    assert server.post("/api/v1/points?job=job", json={"points": points}).status == 200
    derived = ("loss", "loss.best_step", "hp.warmup_steps", "incident")

    def is_derived():
        row = server.get(f"/api/v1/jobs?q=name=job&fields={quote(','.join(derived))}").body["jobs"][0]["fields"]
        return {field: row.get(field) for field in derived if not is_same(row.get(field), WANTED[field])} == {}

    wait_until(is_derived, what="all that is derived, of all points")
    return server


def is_same(value, wanted):
    return value == wanted or (not isinstance(wanted, str) and value not in ("", None) and float(value) == pytest.approx(wanted, rel=1e-9))


def assert_all(row, name, iso_times=False):
    wrong = {field: (row.get(field), wanted) for field, wanted in WANTED.items()
        if not (iso_times and field in TIMES) and not is_same(row.get(field), wanted)}
    assert not wrong, f"{name}: {wrong}"


def test_all_fields_through_all_outputs(filled):
    fields = ",".join(WANTED)
    asked = f"q=name=job&fields={quote(fields)}"
    (row,) = filled.get(f"/api/v1/jobs?{asked}").body["jobs"]
    assert_all(row["fields"], "JSON")
    assert_all(json.loads(filled.get(f"/api/v1/jobs?format=ndjson&{asked}").raw), "NDJSON")
    assert_all(next(csv.DictReader(io.StringIO(filled.get(f"/api/v1/jobs?format=csv&{asked}").raw.decode()))), "CSV")
    for program in ([filled.bin("sm-search")], [sys.executable, HERE / "clients" / "sm_search.py"]):
        def search(*arguments):
            return subprocess.run([*map(str, program), "name=job", "--server", filled.url, "--fields", fields, *arguments], capture_output=True, text=True, check=True, timeout=60).stdout
        assert_all(next(csv.DictReader(io.StringIO(search("--csv")))), f"{program} --csv", iso_times=True)
        assert_all(json.loads(search("--ndjson")), f"{program} --ndjson", iso_times=True)


def test_what_is_no_field_is_said(filled):
    for field, says in (("losss", "'losss' is no column"), ('metric."a', "metric"), ("hp.", "'hp.' is no column")):
        reply = filled.get(f"/api/v1/jobs?fields={quote(field)}")
        assert reply.status == 400 and reply.body["field"] == "fields" and says in reply.body["detail"], reply
    said = subprocess.run([filled.bin("sm-search"), "--server", filled.url, "name=job", "--fields", "losss"], capture_output=True, text=True, timeout=60)
    assert said.returncode != 0 and "'losss' is no column" in said.stderr


def test_the_fields_that_the_page_offers_can_be_sorted_by(filled):
    """web/src/lib/jobs/columns.ts names them beside families, properties and figures."""
    source = (HERE / "web" / "src" / "lib" / "jobs" / "columns.ts").read_text()
    words = source.partition("|label)\\\\..+|")[2].partition("|[A-Z]")[0].split("|")
    assert "attempts" in words
    for word in words:
        reply = filled.get(f"/api/v1/jobs?sort={word}&fields={word}")
        assert reply.status == 200 and len(reply.body["jobs"]) == 2, reply
