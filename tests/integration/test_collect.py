"""One server collects another's jobs and logs through its AWS doors, as it would an account's."""

import http.server
import json
import math
import re
import subprocess
import threading
import time

import pytest
from smserver import ROOT, Server, quote, wait_until


def losses(first, count, lift=0.0):
    return [f"step: {n} loss: {2 + 3 * math.exp(-n / 80) + lift:.4f} lr: 3e-4" for n in range(first, first + count)]


def send_at(server, job, stream, first_ms, texts):
    body = "".join(json.dumps({"line": text, "ts": first_ms + 500 * n, "stream": stream}) + "\n" for n, text in enumerate(texts))
    reply = server.post(f"/api/v1/logs?job={job}", body, content_type="application/x-ndjson")
    assert reply.status == 200, reply


def lines_of(server, job, stream):
    reply = server.get(f"/api/v1/jobs/{quote(job)}/logs?stream={stream}&from=0&limit=1000")
    return [(line["n"], line["ts_ms"], line["text"]) for line in reply.body["lines"]] if reply.status == 200 else []


def points_of(server, job):
    reply = server.get(f"/api/v1/jobs/{quote(job)}/points?metric=loss&raw=true")
    return sorted((one["stream"], one["step"], one["value"]) for one in reply.body["series"]) if reply.status == 200 else None


def document_of(server, job):
    return server.get(f"/api/v1/jobs/{quote(job)}").body


@pytest.fixture
def source(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("source")).start()
    yield server
    server.close()


def collector(folder, source, *more, **options):
    return Server(folder, "--collect-region", "eu-west-1", "--collect-endpoint", source.url, "--collect-every", "200ms", "--collect-rate",
        "1000", *more, **options)


DOCUMENT = {"TrainingJobName": "llama", "RoleArn": "arn:aws:iam::123456789012:role/train", "HyperParameters": {"lr": "3e-4"},
    "AlgorithmSpecification": {"TrainingImage": "train:1", "TrainingInputMode": "File",
        "MetricDefinitions": [{"Name": "loss", "Regex": r"loss: (\S+)"}]},
    "ResourceConfig": {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 2, "VolumeSizeInGB": 50},
    # whole, as DescribeTrainingJob completes it for SageMaker's SDK
    "OutputDataConfig": {"S3OutputPath": "s3://bucket/out", "KmsKeyId": "", "CompressionType": "GZIP"},
    "StoppingCondition": {"MaxRuntimeInSeconds": 86400},
    "Tags": [{"Key": "team", "Value": "nlp"}, {"Key": "stage", "Value": "base"}]}
TOLD = ["TrainingJobName", "RoleArn", "HyperParameters", "AlgorithmSpecification", "ResourceConfig", "OutputDataConfig", "StoppingCondition",
    "Tags", "TrainingJobStatus", "SecondaryStatus"]


def holds(there, here):
    """All that is said there is said here; DescribeTrainingJob adds defaults to what was asked for."""
    if isinstance(there, dict):
        return isinstance(here, dict) and all(holds(value, here.get(key)) for key, value in there.items())
    return there == here


def is_same(one, other, job, streams):
    a, b = document_of(one, job), document_of(other, job)
    return (all(holds(a.get(key), b.get(key)) for key in TOLD if key != "Tags") and
        {tag["Key"]: tag["Value"] for tag in a.get("Tags", [])} == {tag["Key"]: tag["Value"] for tag in b.get("Tags", [])} and
        all(lines_of(one, job, stream) == lines_of(other, job, stream) for stream in streams) and
        sum(len(steps) for _, steps, _ in points_of(one, job) or []) == 300 * len(streams) and points_of(one, job) == points_of(other, job))


def test_jobs_lines_and_points_come_over_and_go_on_after_a_kill(source, tmp_path):
    now = int(time.time() * 1000)
    assert source.post("/api/v1/jobs", json=DOCUMENT).status == 201
    for node in (1, 2):
        send_at(source, "llama", f"algo-{node}", now - 600_000, losses(0, 300, node / 10))
    source.send("other", losses(0, 20))
    assert source.post("/api/v1/jobs/llama/transitions", json={"SecondaryStatus": "Training", "time_ms": now - 590_000}).status in (200, 204)
    here = collector(tmp_path, source).start()
    try:
        wait_until(lambda: len(lines_of(here, "llama", "algo-2")) == 300 and is_same(source, here, "llama", ["algo-1", "algo-2"]),
            what="all of the job")
        wait_until(lambda: len(lines_of(here, "other", "algo-1")) == 20, what="the other job")
        # what comes while it is down, at the very time of the last line too, comes over once it is back
        here.kill()
        last = lines_of(source, "llama", "algo-1")[-1][1]
        send_at(source, "llama", "algo-1", last, ["the same moment", *losses(300, 50)])
        here.start()
        wait_until(lambda: len(lines_of(here, "llama", "algo-1")) == 351, what="what came meanwhile")
        assert lines_of(source, "llama", "algo-1") == lines_of(here, "llama", "algo-1")
        # it follows, and an end is told
        send_at(source, "llama", "algo-2", now, ["later"])
        wait_until(lambda: lines_of(here, "llama", "algo-2")[-1:] == lines_of(source, "llama", "algo-2")[-1:], what="the later line")
        end = {"SecondaryStatus": "Failed", "FailureReason": "AlgorithmError", "time_ms": now}
        assert source.post("/api/v1/jobs/llama/transitions", json=end).status in (200, 204)
        wait_until(lambda: document_of(here, "llama")["TrainingJobStatus"] == "Failed", what="the end")
        assert document_of(here, "llama")["FailureReason"] == "AlgorithmError"
        figures = here.get("/metrics").body
        assert "smfleet_collect_lines_total 52\n" in figures and "smfleet_collect_throttled_total 0\n" in figures
    finally:
        here.close()


def key_pair(source):
    admin = source.post("/api/v1/tokens", json={"name": "admin", "scope": "admin"}).body["token"]
    made = source.post("/api/v1/tokens", json={"name": "collector", "scope": "read", "aws": True}, token=admin)
    assert made.status == 201, made
    source.token = admin
    return made.body["aws_access_key_id"], made.body["aws_secret_access_key"]


def test_only_named_jobs_by_signed_requests(source, tmp_path):
    source.send("llama-1", losses(0, 20))
    source.send("bert", losses(0, 20))
    key_id, secret = key_pair(source)
    keys = tmp_path / "credentials"
    keys.write_text(f"[default]\naws_access_key_id = {key_id}\naws_secret_access_key = {secret}\n\n[other]\naws_access_key_id = NONE\n")
    options = ["--collect-credentials-file", str(keys), "--collect-jobs", "llama"]
    keys.chmod(0o644)
    here = collector(tmp_path, source, *options)
    refused = subprocess.run([here.bin("sm-server"), "--db", str(tmp_path / "x.db"), *here.arguments], capture_output=True, text=True)
    assert refused.returncode != 0 and "chmod 600" in refused.stderr and secret not in refused.stderr
    keys.chmod(0o600)
    here.start()
    try:
        wait_until(lambda: len(lines_of(here, "llama-1", "algo-1")) == 20, what="the lines")
        assert [job["TrainingJobName"] for job in here.get("/api/v1/jobs").body["jobs"]] == ["llama-1"]
        assert secret not in here.log_text()
    finally:
        here.close()


def test_without_good_keys_it_says_why_and_tries_again(source, tmp_path):
    key_id, _ = key_pair(source)
    here = collector(tmp_path, source, environment={"AWS_ACCESS_KEY_ID": key_id, "AWS_SECRET_ACCESS_KEY": "notTheSecret"}).start()
    try:
        here.wait_for_log(r"event=collect_failed again_ms=1000 reason=\"ListTrainingJobs was answered with 403 ")
        here.wait_for_log(r"event=collect_failed again_ms=2000 ")
        assert "notTheSecret" not in here.log_text() and here.get("/api/v1/jobs").body["jobs"] == []
    finally:
        here.close()


def test_a_source_that_is_down_is_waited_for(source, tmp_path):
    source.send("llama", losses(0, 20))
    source.stop()
    here = collector(tmp_path, source).start()
    try:
        here.wait_for_log(r"event=collect_failed again_ms=1000 reason=\"ListTrainingJobs: no answer")
        source.restart()
        wait_until(lambda: len(lines_of(here, "llama", "algo-1")) == 20, what="the lines")
    finally:
        here.close()


class Account(http.server.BaseHTTPRequestHandler):
    """As AWS where one job's log cannot be had, and another's token is older than a day at once."""

    protocol_version = "HTTP/1.1"
    lines = [f"line {n}" for n in range(5)]

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        operation = self.headers["X-Amz-Target"].partition(".")[2]
        code, said = getattr(self, operation)(asked)
        body = json.dumps(said).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def ListTrainingJobs(self, _asked):
        return 200, {"TrainingJobSummaries": [{"TrainingJobName": name, "LastModifiedTime": 1.7e9} for name in
            ("cursed-1", "bad-1", "bad-2", "bad-3", "good", "cursed-2")]}

    def DescribeTrainingJob(self, asked):
        name = asked["TrainingJobName"]
        if name.startswith("cursed"):
            return 400, {"__type": "ValidationException", "message": "not today"}
        return 200, {**DOCUMENT, "TrainingJobName": name, "TrainingJobStatus": "InProgress", "SecondaryStatus": "Training"}

    def DescribeLogStreams(self, asked):
        return 200, {"logStreams": [{"logStreamName": asked["logStreamNamePrefix"] + "algo-1-1700000000"}]}

    def GetLogEvents(self, asked):
        if asked["logStreamName"].startswith("bad"):
            return 400, {"__type": "InvalidParameterException", "message": "no such thing"}
        if asked.get("nextToken"):
            return 400, {"__type": "InvalidParameterException", "message": "The specified nextToken is invalid."}
        at = 1_790_000_000_000
        events = [{"timestamp": at + n // 2, "message": text} for n, text in enumerate(self.lines) if at + n // 2 >= asked.get("startTime", 0)]
        return 200, {"events": events, "nextForwardToken": "f/1"}

    def log_message(self, *_arguments):
        pass


def test_what_is_one_jobs_does_not_keep_the_others_and_a_token_may_expire(tmp_path):
    account = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Account)
    account.url = f"http://127.0.0.1:{account.server_port}"
    threading.Thread(target=account.serve_forever, daemon=True).start()
    here = collector(tmp_path, account).start()
    try:
        for count in (5, 6, 9):
            Account.lines = [f"line {n}" for n in range(count)]
            wait_until(lambda: [text for _, _, text in lines_of(here, "good", "algo-1")][count - 1:], what=f"{count} lines")
            assert [text for _, _, text in lines_of(here, "good", "algo-1")] == Account.lines
        here.wait_for_log(r'event=collect_refused job=\"bad-3\" reason=\"GetLogEvents was answered with 400 InvalidParameterException')
    finally:
        here.close()
        account.shutdown()
        account.server_close()


def test_only_who_runs_a_collected_job_says_that_it_has_stopped(source, tmp_path):
    """The source waits ten minutes; who collects from it would wait a fifth of a second, if the stop were its own to wait for."""
    assert source.post("/api/v1/jobs", json=DOCUMENT).status == 201
    for status in ("Training", "Stopping"):
        assert source.post("/api/v1/jobs/llama/transitions", json={"SecondaryStatus": status}).status == 204
    here = collector(tmp_path, source, "--stop-after", "200ms", "--lease", "100ms").start()
    try:
        status = lambda job: document_of(here, job).get("TrainingJobStatus")
        wait_until(lambda: status("llama") == "Stopping", what="the stop to be collected")
        assert here.post("/api/v1/jobs", json={"TrainingJobName": "own"}).status == 201
        assert here.post("/api/v1/jobs/own/transitions", json={"SecondaryStatus": "Stopping"}).status == 204
        wait_until(lambda: status("own") == "Stopped", what="the end of a job of its own, which was stopped later")
        assert status("llama") == "Stopping"
        assert source.post("/api/v1/jobs/llama/transitions", json={"SecondaryStatus": "Stopped"}).status == 204
        wait_until(lambda: status("llama") == "Stopped", what="the end that the source states")
    finally:
        here.close()


@pytest.mark.parametrize("arguments, word", [(["--collect-endpoint", "http://127.0.0.1:1"], "--collect-region"),
    (["--collect-region", "x", "--collect-credentials-file", "/nowhere"], "/nowhere"), (["--collect-region", "x", "--collect-rate", "0"], "collect-rate")])
def test_options_that_do_not_fit_are_refused(tmp_path, arguments, word):
    server = Server(tmp_path)
    ended = subprocess.run([server.bin("sm-server"), "--db", str(server.database), *arguments], capture_output=True, text=True)
    assert ended.returncode in (1, 2) and word in ended.stderr, ended


def test_the_policy_allows_what_is_asked_and_no_more():
    asked = {(service, name) for file in (ROOT / "server/collect").glob("*.c")
        for service, name in re.findall(r'CALLS_(SAGEMAKER|LOGS), "(\w+)"', file.read_text())}
    policy = json.loads((ROOT / "deploy/aws-collector-policy.json").read_text())
    allowed = [action.split(":") for statement in policy["Statement"] for action in statement["Action"]]
    assert len(asked) == 5 and {(service.upper(), name) for service, name in allowed} == asked
