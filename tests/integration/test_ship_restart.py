"""--on-restart and GET /jobs/J/restart: a failed training's restart is asked for once, with what it needs, and not for ever."""

import datetime
import json
import os
import socket
import time

import pytest

from fixtures import emptied_server as server  # noqa: F401 (one process for the file)
from shipping import job
from smserver import ROOT, wait_until
from test_auth import make_token

XID = "kernel: NVRM: Xid (PCI:0000:02:00): 79, GPU has fallen off the bus."
SAVED = "saved checkpoint to /ckpt/step-{0} at step {0}"
NOW = ("--restart-delay", "0", "--quiet")


def training(*lines, ends="exit 3"):
    return ["sh", "-c", "".join(f"echo '{line}'; " for line in lines) + ends]


def steps(first, last):
    return [f"step: {step} | loss: {2 + 1 / step:.4f}" for step in range(first, last + 1)]


class Restarts:
    """What --on-restart was given, each time: a folder with a document and its variables."""

    def __init__(self, folder):
        self.folder = folder
        self.command = (f"n=$(ls {folder} | wc -l); cat > {folder}/.doc; env | grep ^SMFLEET_RESTART_ > {folder}/.env; "
            f"mkdir {folder}/$n && mv {folder}/.doc {folder}/$n/doc && mv {folder}/.env {folder}/$n/env")

    def __len__(self):
        return len(list(self.folder.glob("[0-9]*")))

    def __getitem__(self, number):
        place = self.folder / str(number)
        variables = dict(line.split("=", 1) for line in (place / "env").read_text().splitlines())
        return json.loads((place / "doc").read_text()), {key.removeprefix("SMFLEET_RESTART_"): value for key, value in variables.items()}


@pytest.fixture
def restarts(tmp_path):
    folder = tmp_path / "restarts"
    folder.mkdir()
    return Restarts(folder)


def run(ship, restarts, name, command, *options, **more):
    return ship.run("--job", name, "--on-restart", restarts.command, *NOW, *options, "--", *command, **more)


def ask(server, name, **more):
    return server.get(f"/api/v1/jobs/{name}/restart", **more)


def test_the_command_gets_the_document(server, ship, restarts):
    lines = [*steps(1, 5), SAVED.format(5), *steps(6, 9), XID]
    done = run(ship, restarts, "lost", training(*lines, ends="kill -9 $$"), "--host", "gpu-07", "--hp", "lr=3e-4")
    assert done.returncode == 137 and len(restarts) == 1, done.stderr  # the exit status stays the training's
    document, variables = restarts[0]
    assert variables == {"JOB": "lost", "STEP": "5", "CHECKPOINT": "/ckpt/step-5", "DRAINED": "gpu-07", "EXIT": "137", "FAILURES": "1"}
    assert (document["version"], document["job"], document["run"], document["due"], document["status"]) == (1, "lost", "lost", True, "Failed")
    assert document["failure_reason"] in document["why"] and "SIGKILL" in document["why"]
    assert (document["failures"], document["failures_in_row"]) == (1, 1)
    checkpoint = document["checkpoint"]
    assert (checkpoint["step"], checkpoint["path"], checkpoint["line"], checkpoint["text"]) == (5, "/ckpt/step-5", 5, SAVED.format(5))
    assert document["hosts"] == ["gpu-07"]
    assert [row["host"] for row in document["drained"]] == ["gpu-07"] and "xid_79" in document["drained"][0]["why"][0]
    assert document["document"]["HyperParameters"]["lr"] == "3e-4"


def test_a_place_is_no_name_for_a_scheduler(server, ship, restarts):
    for stream in ("a-pod", "z-pod"):  # which nobody named
        assert server.post(f"/api/v1/logs?job=pods&stream={stream}", XID + "\n", content_type="text/plain").status == 200
    wait_until(lambda: {"pods/a-pod", "pods/z-pod"} <= {row["host"] for row in server.get("/api/v1/nodes").body["drain"]}, what="both faults")
    run(ship, restarts, "pods", training(*steps(1, 3), XID), "--host", "gpu-07")
    document, variables = restarts[0]
    assert sorted((row["host"], row.get("place")) for row in document["drained"]) == [("gpu-07", None), ("pods/a-pod", True), ("pods/z-pod", True)]
    assert variables["DRAINED"] == "gpu-07"


def test_what_is_not_known_is_null(server, ship, restarts):
    run(ship, restarts, "bare", training("hello"))
    document, variables = restarts[0]
    assert document["checkpoint"] is None and document["drained"] == []
    assert (variables["STEP"], variables["CHECKPOINT"], variables["DRAINED"]) == ("", "", "")


@pytest.mark.parametrize("ends, status", [("exit 0", "Completed"), ("kill -TERM $PPID; sleep 60", "Stopped")])
def test_what_did_not_fail_is_not_started_again(server, ship, restarts, ends, status):
    done = run(ship, restarts, status, training(*steps(1, 3), ends=ends))
    assert job(server, status)["TrainingJobStatus"] == status and len(restarts) == 0, done.stderr
    assert (b"not Failed" in done.stderr) == (status == "Stopped")
    assert ask(server, status).body["due"] is False


def test_a_fault_that_repeats_ends_at_the_limit_and_a_checkpoint_begins_anew(server, ship, restarts):
    def fail(*lines):
        return run(ship, restarts, "again", training(*lines), "--resume", "--restart-limit", "2").stderr.decode()

    assert "not run" not in fail(*steps(1, 9)) and len(restarts) == 1
    assert "not run" not in fail(*steps(1, 9)) and len(restarts) == 2  # at the limit
    said = fail(*steps(1, 9))
    assert "failed 3 times without a new checkpoint" in said and "--restart-limit is 2" in said and len(restarts) == 2
    said = fail(*steps(1, 9), SAVED.format(9))
    assert "not run" not in said and len(restarts) == 3, said
    document, variables = restarts[2]
    assert (variables["FAILURES"], document["failures"]) == ("1", 4)


@pytest.mark.parametrize("seconds", [20, 3600, -3600])
def test_a_log_whose_clock_is_wrong_restarts_nothing_for_ever(server, ship, restarts, seconds):
    """Its checkpoint seems to be saved behind every failure, or before all."""
    def fail(*lines):
        when = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
        return run(ship, restarts, "ahead", training(*(f"{when} {line}" for line in lines)), "--resume", "--restart-limit", "2").stderr.decode()

    assert "not run" not in fail(*steps(1, 5), SAVED.format(5)) and restarts[0][1]["FAILURES"] == "1"
    assert "not run" not in fail(*steps(6, 7)) and restarts[1][1]["FAILURES"] == "2"  # at the limit
    assert "failed 3 times without a new checkpoint" in fail(*steps(6, 7)) and len(restarts) == 2


def test_a_checkpoint_that_is_saved_again_is_no_progress(server, ship, restarts):
    """Each run begins at the beginning, saves the same, and fails at one place; only what goes further counts anew."""
    def fail(name, last, *options):
        said = run(ship, restarts, name, training(*steps(1, last - 5), SAVED.format(last - 5), *steps(last - 4, last)), "--restart-limit", "2", *options)
        return "not run" not in said.stderr.decode(), ask(server, name).body["failures_in_row"]

    assert [fail("c0", 25), *(fail(f"c{n}", 25, "--continues", f"c{n - 1}") for n in (1, 2))] == [(True, 1), (True, 2), (False, 3)]
    assert fail("c3", 30, "--continues", "c2") == (True, 1)
    assert fail("c4", 25, "--continues", "c3") == (True, 2)
    assert [fail("again", 25), *(fail("again", 25, "--resume") for _ in range(2))] == [(True, 1), (True, 2), (False, 3)]


def test_failures_and_checkpoints_are_those_of_the_chain(server, ship, restarts):
    run(ship, restarts, "one", training(*steps(1, 5), SAVED.format(5)))
    run(ship, restarts, "two", training(*steps(6, 8)), "--continues", "one")
    document, variables = restarts[1]
    assert (document["run"], document["checkpoint"]["job"], document["checkpoint"]["path"]) == ("one", "one", "/ckpt/step-5")
    assert (variables["STEP"], document["failures"], document["failures_in_row"]) == ("5", 2, 2)
    body = ask(server, "one").body
    assert (body["due"], body["continued_by"]) == (False, "two") and "'two' goes on" in body["why"]


def test_what_somebody_starts_during_the_delay_is_not_started_twice(server, ship, restarts):
    process = ship.start("--job", "late", "--on-restart", restarts.command, "--restart-delay", "2s", "--", *training("x"))
    while b"is run in 2 s" not in (line := process.stderr.readline()):
        assert line
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "next", "Tags": [{"Key": "continues", "Value": "late"}]}).status == 201
    errors = process.communicate(timeout=30)[1]
    assert b"'next' goes on with it already" in errors and len(restarts) == 0 and process.returncode == 3


def test_a_signal_during_the_delay_ends_it(server, ship, restarts):
    process = ship.start("--job", "told", "--on-restart", restarts.command, "--restart-delay", "1h", "--", *training("x"))
    while b"is run in 3600 s" not in (line := process.stderr.readline()):
        assert line
    process.terminate()
    errors = process.communicate(timeout=30)[1]
    assert b"a signal asked to end" in errors and len(restarts) == 0 and process.returncode == 3


def test_a_server_that_is_away_starts_nothing(ship, restarts):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}"
        done = run(ship, restarts, "away", training("x"), "--server", url, "--drain-timeout", "200ms")
    assert done.returncode == 3 and len(restarts) == 0
    assert b"--on-restart is not run: whether a restart is due is not known" in done.stderr


@pytest.mark.parametrize("environment, runs", [
    ({"RANK": "1", "WORLD_SIZE": "2"}, 0),
    ({"RANK": "0", "WORLD_SIZE": "2"}, 1),
    ({"TORCHELASTIC_RESTART_COUNT": "0", "TORCHELASTIC_MAX_RESTARTS": "1"}, 0),
    ({"TORCHELASTIC_RESTART_COUNT": "1", "TORCHELASTIC_MAX_RESTARTS": "1"}, 1),
])
def test_one_process_asks_and_torchruns_own_restarts_come_first(server, ship, restarts, environment, runs):
    ship.env.update(environment)
    done = run(ship, restarts, "ranks", training("x"))
    assert len(restarts) == runs, done.stderr
    assert (b"torchrun starts it again itself (0 of 1" in done.stderr) == (environment.get("TORCHELASTIC_RESTART_COUNT") == "0")


def test_a_command_that_fails_is_told_and_changes_nothing(server, ship):
    done = ship.run("--job", "bad", "--on-restart", "exit 9", *NOW, "--", *training("x"))
    assert done.returncode == 3 and b"--on-restart ended with exit status 9" in done.stderr
    assert ship.run("--on-restart", "true", data=b"x\n").returncode == 2


def test_a_write_token_is_enough_and_of_its_team_alone(make_server, ship, restarts):
    server = make_server()
    make_token(server, "admin", "admin")
    write, other = (make_token(server, team, "write", "--team", team) for team in ("nlp", "vision"))
    read = make_token(server, "read", "read")
    ship.env.update(SMFLEET_SERVER=server.url, SMFLEET_TOKEN=write)
    done = run(ship, restarts, "mine", training(*steps(1, 3), SAVED.format(3)))
    assert len(restarts) == 1 and restarts[0][1]["STEP"] == "3", done.stderr
    assert [ask(server, "mine", token=token).status for token in (write, other, read)] == [200, 403, 403]
    assert ask(server, "missing", token=write).status == 404


def test_a_service_hears_of_the_failure_and_asks(make_server, ship, receiver):
    server = make_server()
    ship.env["SMFLEET_SERVER"] = server.url
    reply = server.post("/api/v1/webhooks", json={"url": receiver.url, "events": ["job_state"], "secret": "whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0"})
    assert reply.status == 201, reply
    done = ship.run("--job", "heard", "--quiet", "--", *training(*steps(1, 3), SAVED.format(3)))
    assert done.returncode == 3

    def failures():
        bodies = [json.loads(body) for _, body, _ in receiver.calls]
        return [body["detail"] for body in bodies if body["detail"]["TrainingJobStatus"] == "Failed"]
    wait_until(failures, what="the message")
    assert [row["TrainingJobName"] for row in failures()] == ["heard"]
    assert all("webhook-signature" in {key.lower() for key in headers} for headers, _, _ in receiver.calls)
    body = wait_until(lambda: ask(server, "heard").body["extracted"] and ask(server, "heard").body, what="the last lines")
    assert body["due"] and body["checkpoint"]["path"] == "/ckpt/step-3"


def hear_restarts(server, receiver, **more):
    return server.post("/api/v1/webhooks", json={"url": receiver.url, "events": ["restart"], **more})


def restarts_heard(receiver, count):
    receiver.wait_for(count)
    bodies = [json.loads(body) for _, body, _ in receiver.calls]
    assert len(bodies) == count and all(body["type"] == "job.restart" for body in bodies), bodies
    return [body["data"] for body in bodies]


def test_a_service_hears_all_that_a_restart_needs(make_server, ship, receiver):
    """Signed, once a failure, with the last checkpoint and the machine to drain; nothing of what was completed."""
    server = make_server()
    ship.env["SMFLEET_SERVER"] = server.url
    assert hear_restarts(server, receiver).status == 201
    document = {"TrainingJobName": "heard", "HyperParameters": {"lr": "3e-4", "hf_token": "hf_" + "Ab3" * 12}}
    assert server.post("/api/v1/jobs", json=document).status == 201
    assert ship.run("--job", "well", "--quiet", "--", *training(*steps(1, 3), ends="exit 0")).returncode == 0
    def fail(*lines):
        assert ship.run("--job", "heard", "--resume", "--host", "gpu-07", "--quiet", "--", *training(*lines)).returncode == 3
    fail(*steps(1, 3), SAVED.format(3), XID)
    first, = restarts_heard(receiver, 1)
    assert (first["due"], first["job"], first["extracted"], first["failures"]) == (True, "heard", True, 1)
    assert (first["checkpoint"]["step"], first["checkpoint"]["path"]) == (3, "/ckpt/step-3")
    assert [one["host"] for one in first["drained"]] == ["gpu-07"]
    assert first["document"]["HyperParameters"]["lr"] == "3e-4" and "Ab3Ab3" not in json.dumps(first)
    same = ask(server, "heard").body
    assert {key: first[key] for key in same} == same
    assert set(first) - set(same) == {"summary", "url"} and first["url"].endswith("/jobs/heard")
    headers, body, _ = receiver.calls[0]
    assert "webhook-signature" in {key.lower() for key in headers}
    fail(*steps(4, 6))
    assert [data["failures"] for data in restarts_heard(receiver, 2)] == [1, 2]


def test_only_receivers_that_may_hear_of_restarts(make_server, receiver):
    """No chat, and nobody of another team. A failure that is told again is no other one."""
    server = make_server()
    for more in ({"format": "slack"}, {"format": "pagerduty", "secret": "k"}):
        reply = hear_restarts(server, receiver, **more)
        assert (reply.status, reply.body["field"]) == (422, "events"), reply
    for path, more in (("/other", {"team": "vision"}), ("/all", {"format": "cloudevents"})):
        reply = server.post("/api/v1/webhooks", json={"url": receiver.url + path, "events": ["restart"], **more})
        assert reply.status == 201, reply
        number = reply.body["id"]
    assert server.put(f"/api/v1/webhooks/{number}", json={"format": "discord"}).status == 422
    assert server.get("/api/v1/webhooks").body["webhooks"][-1]["events"] == ["restart"]
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "told"}).status == 201
    def move(status, at_s):
        assert server.post("/api/v1/jobs/told/transitions", json={"SecondaryStatus": status, "time_ms": int((time.time() + at_s) * 1000)}).status < 300
    move("Training", -60)
    move("Failed", -2)
    data, = restarts_heard(receiver, 1)
    assert (data["checkpoint"], data["hosts"], data["failures"]) == (None, [], 1)
    move("Failed", -1)
    move("Training", -0.5)
    move("Failed", 0)
    again = restarts_heard(receiver, 2)[1]
    assert again["failures"] == 2 and receiver.paths == ["/hook/all"] * 2


def test_a_team_s_receiver_hears_nothing_of_the_jobs_of_others(make_server, receiver):
    """Whoever says that a job of his goes on with another's is not told of that; and another's that says so keeps nobody from being told."""
    server = make_server("--team-reads=own")
    token = {team: make_token(server, team, "admin", "--team", team) for team in ("nlp", "vision")}
    assert server.post("/api/v1/webhooks", json={"url": receiver.url, "events": ["restart"]}, token=token["nlp"]).status == 201
    lines = "".join(f"{line}\n" for line in (*steps(1, 3), SAVED.format(3)))
    assert server.post("/api/v1/logs?job=theirs&stream=algo-1", lines, token=token["vision"]).status == 200
    wait_until(lambda: server.get("/api/v1/jobs/theirs/checkpoints", token=token["vision"]).body["checkpoints"], what="the checkpoint")
    for name, before, team in (("mine", "theirs", "nlp"), ("next", "mine", "vision")):
        made = {"TrainingJobName": name, "Tags": [{"Key": "continues", "Value": before}]}
        assert server.post("/api/v1/jobs", json=made, token=token[team]).status == 201
    for status in ("Training", "Failed"):
        assert server.post("/api/v1/jobs/mine/transitions", json={"SecondaryStatus": status}, token=token["nlp"]).status == 204
    data, = restarts_heard(receiver, 1)
    assert data.pop("document")["TrainingJobName"] == "mine"
    assert (data["run"], data["checkpoint"], data["continued_by"], data["failures"]) == ("mine", None, None, 1)
    assert not any(name in json.dumps(data) for name in ("theirs", "next", "/ckpt"))


# ---- deploy/examples, as docs/restarts.md has them ----

@pytest.fixture
def fakes(ship, tmp_path):
    """Programs that note how they were called."""
    tools, calls = tmp_path / "tools", tmp_path / "calls"
    tools.mkdir()
    for name in ("sbatch", "scontrol", "kubectl"):
        (tools / name).write_text(f'#!/bin/sh\necho "{name} $*" >> {calls}\n[ {name} != kubectl ] || cat >> {calls}\n')
        (tools / name).chmod(0o755)
    ship.env["PATH"] = f"{tools}:{os.environ['PATH']}"
    return calls


def example(ship, name, command, *options):
    done = ship.run(*options, *NOW, "--on-restart", str(ROOT / "deploy/examples" / name), "--", *command)
    assert done.returncode == 3 and b"--on-restart" not in done.stderr, done.stderr


def test_slurm_requeues_and_leaves_drained_nodes_out(server, ship, fakes):
    ship.env.update(SLURM_JOB_ID="4711", SLURM_JOB_NAME="llama", SLURM_PROCID="0", SLURM_NTASKS="1")
    example(ship, "restart-slurm", training(*steps(1, 3)), "--resume")
    assert fakes.read_text() == "scontrol requeue 4711\n"
    fakes.unlink()
    ship.env["SLURM_RESTART_COUNT"] = "1"
    example(ship, "restart-slurm", training(*steps(1, 3), XID), "--resume", "--host", "gpu-07")
    assert fakes.read_text() == "sbatch --dependency=afterany:4711 --exclude=gpu-07 --export=ALL,SMFLEET_CONTINUES=llama-4711 train.sbatch\n"


def test_kubernetes_creates_the_job_anew(server, ship, fakes, tmp_path):
    manifest = tmp_path / "job.yaml"
    manifest.write_text('values: [none, @DRAINED@]\nvalue: "@CONTINUES@"\n')
    ship.env["SMFLEET_RESTART_MANIFEST"] = str(manifest)
    example(ship, "restart-kubernetes", training(XID), "--job", "pod", "--host", "gpu-07")
    assert fakes.read_text() == 'kubectl create -f -\nvalues: [none, gpu-07]\nvalue: "pod"\n'


def test_sagemaker_creates_the_job_again_once(server, ship):
    pytest.importorskip("boto3", reason="needs python3-boto3")
    asked = {"TrainingJobName": "sm", "RoleArn": "arn:aws:iam::123456789012:role/train", "HyperParameters": {"lr": "3e-4"},
        "AlgorithmSpecification": {"TrainingImage": "image:1", "TrainingInputMode": "File"}, "OutputDataConfig": {"S3OutputPath": "s3://b/o"},
        "ResourceConfig": {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 2, "VolumeSizeInGB": 50},
        "StoppingCondition": {"MaxRuntimeInSeconds": 3600}, "CheckpointConfig": {"S3Uri": "s3://b/ckpt"}}
    assert server.post("/api/v1/jobs", json=asked).status == 201
    ship.env.update(AWS_ENDPOINT_URL=server.url, AWS_DEFAULT_REGION="us-east-1", AWS_ACCESS_KEY_ID="x", AWS_SECRET_ACCESS_KEY="x")
    example(ship, "restart-sagemaker", training(*steps(1, 3)), "--job", "sm")
    made = job(server, "sm-restart-1")
    assert {key: made[key] for key in asked if key != "TrainingJobName"} == {key: asked[key] for key in asked if key != "TrainingJobName"}
    assert {"Key": "continues", "Value": "sm"} in made["Tags"] and ask(server, "sm").body["continued_by"] == "sm-restart-1"


@pytest.mark.parametrize("line, step, path", [
    ("saved checkpoint to /ckpt/last.pt at step 7", 7, "/ckpt/last.pt"),
    ("Saving model checkpoint to out/checkpoint-5", 5, "out/checkpoint-5"),
    ("Saving model checkpoint to ./out/checkpoint-5 (10/100, 3 it/s)", 5, "./out/checkpoint-5"),
    ("[10/100] saved checkpoint at step 9", 9, None),
])
def test_a_checkpoint_has_the_place_that_its_line_says(server, line, step, path):
    server.send("placed", ["step: 1 | loss: 2.5", line])
    found = wait_until(lambda: ask(server, "placed").body["checkpoint"], what="the checkpoint")
    assert (found["step"], found["path"]) == (step, path)
    row, = server.get("/api/v1/jobs/placed/checkpoints").body["checkpoints"]
    assert (row["step"], row.get("path")) == (step, path)


def test_jobs_that_go_on_with_each_other(server):
    """A circle is refused where it would close; in one that is there already nobody starts anybody again."""
    for name, before in (("a", None), ("b", "a"), ("c", "b")):
        assert server.post("/api/v1/jobs", json={"TrainingJobName": name, "Tags": [{"Key": "continues", "Value": before}] if before else []}).status == 201
    refused = server.patch("/api/v1/jobs/a", json={"tags": {"continues": "c"}})
    assert refused.status == 422 and refused.body["field"] == "continues" and "'a' cannot go on with 'c'" in refused.body["detail"], refused
    assert "continues" not in server.get("/api/v1/jobs/a").body
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "y", "Tags": [{"Key": "continues", "Value": "x"}]}).status == 201
    refused = server.post("/api/v1/jobs", json={"TrainingJobName": "x", "Tags": [{"Key": "continues", "Value": "y"}]})
    assert refused.status == 422 and server.get("/api/v1/jobs/x").status == 404
    assert server.patch("/api/v1/jobs/a", json={"tags": {"team": "nlp"}}).status < 300


def test_a_circle_that_is_there(server):
    for name, before in (("a", "b"), ("b", None)):
        assert server.post("/api/v1/jobs", json={"TrainingJobName": name, "Tags": [{"Key": "continues", "Value": before}] if before else []}).status == 201
        assert server.post(f"/api/v1/jobs/{name}/transitions", json={"SecondaryStatus": "Failed"}).status == 204
    assert [ask(server, name).body["due"] for name in "ab"] == [True, False]
    documents = server.get("/api/v1/export").raw.decode().replace('"TrainingJobName":"b"', '"TrainingJobName":"b","Tags":[{"Key":"continues","Value":"a"}]')
    for name in "ab":
        assert server.delete(f"/api/v1/jobs/{name}?purge=true").status < 300
        wait_until(lambda: server.get(f"/api/v1/jobs/{name}").status == 404, what="its deletion")  # noqa: B023
    assert server.post("/api/v1/import", documents.encode(), content_type="application/x-ndjson").status == 200
    assert [server.get(f"/api/v1/jobs/{name}").body.get("continues") for name in "ab"] == ["b", "a"]
    assert [(row["due"], row["continued_by"]) for row in (ask(server, name).body for name in "ab")] == [(False, "b"), (False, "a")]
