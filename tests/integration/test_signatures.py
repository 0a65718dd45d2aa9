"""What lines say outright: log_signature, node_suspect, and the checkpoints of a job."""

import json
import time

from smserver import wait_until

OOM = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.70 GiB. GPU 0 has a total capacity of 6.00 GiB"
XID = "kernel: NVRM: Xid (PCI:0000:02:00): 79, pid=1, GPU has fallen off the bus."
TIMEOUT = "[rank{}]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, Timeout(ms)=600000) ran for 600061 milliseconds"
MINUTE = 60_000


def incidents(server, job, kind=None):
    kind = f"&kind={kind}" if kind else ""
    return server.get(f'/api/v1/incidents?q=name="{job}"{kind}').body["incidents"]


def said(server, job, kind, count):
    """Of the one incident of that kind, once it is of so many lines."""

    def look():
        found = incidents(server, job, kind)
        return len(found) == 1 and found[0]["evidence"].get("count") == count

    wait_until(look, what=f"{kind} of {count} lines of {job}")
    return incidents(server, job, kind)[0]


def send(server, job, stream, *lines, at_ms=None):
    at_ms = at_ms or int(time.time() * 1000)
    body = "".join(json.dumps({"line": line, "ts": at_ms + i}) + "\n" for i, line in enumerate(lines))
    assert server.post(f"/api/v1/logs?job={job}&stream={stream}", body.encode(),
        content_type="application/x-ndjson").status == 200


def host_stream(server, job, stream, host):
    reply = server.post("/api/v1/sessions", json.dumps({"job": job, "stream": stream, "host": host, "run_key": "r"}).encode(), content_type="application/json")
    assert reply.status in (200, 201), reply


def test_one_incident_for_all_streams_and_over_a_kill(make_server):
    server = make_server()
    for rank in range(3):
        send(server, "j", f"algo-{rank}", "step 1 loss 2.5", OOM, "Traceback (most recent call last):", OOM)
    incident = said(server, "j", "log_signature", 6)
    assert (incident["severity"], incident["state"], incident["is_historic"]) == ("critical", "open", False)
    evidence = incident["evidence"]
    assert evidence["signature"] == "cuda_oom" and evidence["signatures"] == ["cuda_oom"]
    assert sorted(evidence["streams"]) == ["algo-0", "algo-1", "algo-2"] and evidence["stream_count"] == 3
    assert evidence["text"] == evidence["last_text"] == OOM and evidence["line"] == 1 and evidence["last_line"] == 3
    assert "micro-batch" in evidence["action"] and evidence["cause"]
    server.kill()
    server.start()  # the journal is replayed, and says the same
    assert said(server, "j", "log_signature", 6)["id"] == incident["id"]
    server.stop()
    server.start()  # now it goes on from the sealed state
    send(server, "j", "algo-1", OOM)
    assert said(server, "j", "log_signature", 7)["id"] == incident["id"]


def test_a_flood_is_one_stretch_and_a_quiet_quarter_of_an_hour_ends_it(server):
    now = int(time.time() * 1000)
    send(server, "j", "algo-1", *["An error occurred (SlowDown): Please reduce your request rate."] * 5000, at_ms=now - 40 * MINUTE)
    send(server, "j", "algo-1", "Please reduce your request rate", at_ms=now - 24 * MINUTE)
    send(server, "j", "algo-1", "Please reduce your request rate", at_ms=now - 5 * MINUTE)

    def counts():
        return [(i["evidence"]["count"], i["is_historic"], i["state"]) for i in incidents(server, "j", "log_signature")]

    wait_until(lambda: counts() == [(1, False, "open"), (1, True, "recovered"), (5000, True, "recovered")],
        what="three stretches, the newest open", timeout=20)


def test_a_machines_fault_is_charged_to_it_and_what_others_saw_lies_beneath(make_server):
    server = make_server()
    host_stream(server, "j", "algo-7", "gpu007")
    host_stream(server, "k", "algo-1", "gpu007")
    now = int(time.time() * 1000)
    send(server, "j", "algo-1", TIMEOUT.format(1), at_ms=now)  # before the kernel's line has come
    said(server, "j", "log_signature", 1)
    send(server, "j", "system/gpu007", XID, at_ms=now)
    suspect = said(server, "j", "node_suspect", 2)
    for rank in range(2, 6):
        send(server, "j", f"algo-{rank}", TIMEOUT.format(rank), at_ms=now)
    suspect = said(server, "j", "node_suspect", 6)
    evidence = suspect["evidence"]
    assert (evidence["host"], evidence["fault"], evidence["drain"], evidence["stream"]) == ("gpu007", "xid_79", True, "system/gpu007")
    assert sorted(evidence["signatures"]) == ["nccl_timeout", "xid_79"] and evidence["stream_count"] == 6 and "stream_count" not in suspect

    def folded():
        every = server.get('/api/v1/incidents?q=name="j"&all=true').body["incidents"]
        return [(i["state"], i["evidence"]["part_of"]) for i in every if i["kind"] == "log_signature"]
    assert folded() == [("recovered", suspect["id"])]
    report = server.get(f'/api/v1/report?from_ms={now - 60 * MINUTE}&q=name:j').body["incidents"]
    for listed in (report["incidents"], incidents(server, "j")):  # what is part of another is counted with that
        assert [i["id"] for i in listed] == [suspect["id"]]
    assert report["critical"] == 1
    other = incidents(server, "k", "node_suspect")  # the other job on that host
    assert [(i["evidence"]["host"], i["evidence"]["told_by"]) for i in other] == [("gpu007", "j")]
    before = incidents(server, "j")
    server.kill()
    server.start()
    assert incidents(server, "j") == before
    send(server, "j", "system/gpu008", XID, at_ms=now)
    wait_until(lambda: len(incidents(server, "j", "node_suspect")) == 2, what="another machine's fault")
    assert folded() == [("recovered", suspect["id"])]  # it is of the first one


def test_a_job_that_nobody_ended_is_not_told_of_its_last_machine_for_ever(server):
    now = int(time.time() * 1000)
    for job, ago_h in (("forgotten", 35), ("hung", 0.8)):
        host_stream(server, job, "algo-1", "gpu035")
        send(server, job, "algo-1", "step 1 loss 2.5", "step 2 loss 2.4", at_ms=now - int(ago_h * 60 * MINUTE))
        wait_until(lambda: server.get(f'/api/v1/jobs?q=name="{job}"').body["jobs"][0]["lines"] == 2, what="its counts")
    send(server, "finder", "system/gpu035", XID)
    said(server, "finder", "node_suspect", 1)
    assert [incident["evidence"]["told_by"] for incident in incidents(server, "hung", "node_suspect")] == ["finder"]
    assert incidents(server, "forgotten", "node_suspect") == []


def test_what_is_healthy_says_nothing(server):
    send(server, "j", "algo-1", *[f"iteration {i} | lm loss: 2.1 | loss scale: 4096 | grad norm: nan" for i in range(50)],
        "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0", OOM)
    said(server, "j", "log_signature", 1)
    assert [i["evidence"]["signature"] for i in incidents(server, "j", "log_signature")] == ["cuda_oom"]


TRAINER = r'''
import os, signal, sys, time
path, first = sys.argv[1], int(sys.argv[2])
step = first
def checkpoint(*_):
    open(path, "w").write(str(step))
    print(f"saved checkpoint at step {step}", flush=True)
def stop(*_):
    print("bye", flush=True)
    sys.exit(3)
signal.signal(signal.SIGUSR1, checkpoint)
signal.signal(signal.SIGTERM, stop)
while step < first + 20:
    step += 1
    print(f"step {step} loss {2.5 - step / 100}", flush=True)
if first:
    sys.exit(0)
while True:
    step += 1
    print(f"step {step} loss nan", flush=True)
    time.sleep(0.05)
'''


def test_a_nan_has_a_checkpoint_written_and_the_job_stopped_and_the_next_one_goes_on(make_server, ship):
    server = make_server("--lease", "2s", "--on-non-finite", "checkpoint,stop")
    ship.env["SMFLEET_SERVER"] = server.url
    saved = ship.folder / "saved"
    options = ["--metric", r"loss=step (?<step>\d+) loss (?<value>\S+)", "--on", "checkpoint=USR1", "--on", "stop=TERM"]
    process = ship.start("--job", "run", *options, "--", "python3", "-c", TRAINER, str(saved), "0")
    out, errors = process.communicate(timeout=60)  # nobody but the server tells it to end
    assert process.returncode == 3 and out.decode().splitlines()[-1] == "bye", errors
    step = int(saved.read_text())
    wait_until(lambda: server.get("/api/v1/jobs/run").body["TrainingJobStatus"] == "Stopped", what="its end")
    checkpoints = server.get("/api/v1/jobs/run/checkpoints").body["checkpoints"]
    assert [(row["step"], row["attempt"], row["stream"]) for row in checkpoints] == [(step, 1, "algo-1")]
    commands = server.get("/api/v1/jobs/run/commands").body["commands"]
    assert [(c["command"], c["streams"][0]["state"]) for c in commands] == [
        ("checkpoint", "acknowledged"), ("stop", "acknowledged")]
    assert [i["evidence"]["worst_step"] for i in incidents(server, "run", "non_finite")] == [21]
    process = ship.start("--job", "run-2", "--continues", "run", *options, "--", "python3", "-c", TRAINER, str(saved), str(step))
    assert process.wait(timeout=60) == 0
    wait_until(lambda: server.get("/api/v1/jobs/run-2").body["TrainingJobStatus"] == "Completed", what="its end")
    run = server.get("/api/v1/jobs/run-2/run").body
    assert [row["TrainingJobName"] for row in run["jobs"]] == ["run", "run-2"]
    chart = server.get("/api/v1/jobs/run-2/points?metric=loss&chain=true").body
    assert chart["columns"]["x"][-1] == step + 20


def test_nothing_is_done_unless_it_is_asked_for(make_server):
    server = make_server("--on-non-finite", "checkpoint")
    for name, tags in (("off", [{"Key": "on-non-finite", "Value": "off"}]), ("on", []),
                       ("both", [{"Key": "on-non-finite", "Value": "stop"}])):
        document = {"TrainingJobName": name, "Tags": tags, "AlgorithmSpecification": {
            "MetricDefinitions": [{"Name": "loss", "Regex": r"step (?<step>\d+) loss (?<value>\S+)"}]}}
        assert server.post("/api/v1/jobs", json=document).status == 201
        send(server, name, "algo-1", *[f"step {i} loss 2.{i}" for i in range(9)], *[f"step {i} loss nan" for i in range(9, 12)])
        wait_until(lambda: incidents(server, name, "non_finite"), what="the incident")

    def given(name):
        return [c["command"] for c in server.get(f"/api/v1/jobs/{name}/commands").body["commands"]]

    wait_until(lambda: given("both") == ["stop"] and given("on") == ["checkpoint"], what="the commands")
    assert given("off") == []
    wait_until(lambda: server.get("/api/v1/jobs/both").body["SecondaryStatus"] == "Stopping", what="the status")
    server.kill()
    server.start()
    assert (given("both"), given("on"), given("off")) == (["stop"], ["checkpoint"], [])


def test_a_checkpoint_that_does_not_come_is_missed(server):
    lines = []
    for step in range(1, 61):
        lines.append(f"step {step} loss {3 - step / 100}")
        if step % 10 == 0 and step <= 40:
            lines.append(f"successfully saved checkpoint at iteration {step} to /ckpt")
    document = {"TrainingJobName": "j", "AlgorithmSpecification": {
        "MetricDefinitions": [{"Name": "loss", "Regex": r"step (?<step>\d+) loss (?<value>\S+)"}]}}
    assert server.post("/api/v1/jobs", json=document).status == 201
    send(server, "j", "algo-1", *lines)
    wait_until(lambda: len(server.get("/api/v1/jobs/j/checkpoints").body["checkpoints"]) == 4, what="four checkpoints")
    assert server.get("/api/v1/jobs/j/checkpoints?limit=1").body["checkpoints"][0]["step"] == 40
    assert not incidents(server, "j", "checkpoint_overdue")  # twice the gap, not more
    send(server, "j", "algo-1", "step 61 loss 2")
    incident = wait_until(lambda: incidents(server, "j", "checkpoint_overdue"), what="it is missed")[0]
    assert (incident["severity"], incident["evidence"]["value"], incident["evidence"]["expected"]) == ("warning", 21, 10)
    assert incident["evidence"]["last_checkpoint"]["step"] == 40 and incident["evidence"]["unit"] == "steps"
    send(server, "j", "algo-1", "successfully saved checkpoint at iteration 61 to /ckpt", "step 62 loss nan")
    wait_until(lambda: incidents(server, "j", "checkpoint_overdue")[0]["state"] == "recovered", what="it is there")
    found = wait_until(lambda: incidents(server, "j", "non_finite"), what="the NaN")
    assert found[0]["evidence"]["last_checkpoint"]["step"] == 61  # where to go on from


def test_a_job_that_will_not_be_done_in_time_says_so_once(server):
    document = {"TrainingJobName": "j", "StoppingCondition": {"MaxRuntimeInSeconds": 3600}, "AlgorithmSpecification": {
        "MetricDefinitions": [{"Name": "loss", "Regex": r"step (?<step>\d+)/(?<total>\d+) loss (?<value>\S+)"}]}}
    assert server.post("/api/v1/jobs", json=document).status == 201
    start = int(time.time() * 1000) - 100_000
    step = 0

    def train(total, second_ms):
        """A few steps at that pace: how far the job is, is looked at every other second."""
        nonlocal step, start
        lines = []
        for _ in range(20):
            step += 1
            start += second_ms
            lines.append(json.dumps({"line": f"step {step}/{total} loss 2.5", "ts": start}) + "\n")
        assert server.post("/api/v1/logs?job=j&stream=algo-1", "".join(lines).encode(),
            content_type="application/x-ndjson").status == 200

    def late():
        found = incidents(server, "j", "deadline")
        if not found:
            train(100_000, 100)  # 10000 s are needed
        return found

    incident = wait_until(late, what="the deadline", timeout=60)[0]
    assert (incident["severity"], incident["state"], incident["evidence"]["expected"]) == ("warning", "open", 3600)
    assert 5000 < incident["evidence"]["value"] < 20000

    def in_time():
        train(5_000, 100)
        return incidents(server, "j", "deadline")[0]["state"] == "recovered"

    wait_until(in_time, what="less to do", timeout=60)
    assert len(incidents(server, "j", "deadline")) == 1


def test_sockets_between_machines_with_efa_are_a_warning(server):
    def severity(job, instance, count, line="algo-1:1:1 [0] NCCL INFO Using network Socket"):
        document = {"TrainingJobName": job, "ResourceConfig": {"InstanceType": instance, "InstanceCount": count, "VolumeSizeInGB": 5}}
        assert server.post("/api/v1/jobs", json=document).status == 201
        send(server, job, "algo-1", line)
        return said(server, job, "log_signature", 1)["severity"]

    assert severity("efa", "ml.p4d.24xlarge", 2) == "warning"
    assert severity("tcp", "ml.p5.48xlarge", 16, "algo-1:1:1 [0] NCCL INFO NET/OFI Selected Provider is tcp") == "warning"
    assert severity("alone", "ml.p4d.24xlarge", 1) == "info"  # nobody to talk to
    assert severity("without", "ml.g5.2xlarge", 2) == "info"  # that type has no EFA


def test_what_is_only_mentioned_is_no_fault(server):
    send(server, "j", "algo-1", "retry: {'mode': 'adaptive', 'codes': ['ThrottlingException', 'ResourceLimitExceeded', 'SlowDown']}",
        "    retryable_exceptions ............ ThrottlingException,TooManyRequestsException", "NRT_EXEC_TIMEOUT ... 600",
        "An error occurred (ThrottlingException) when calling the DescribeTrainingJob operation (reached max retries: 4): Rate exceeded")
    incident = said(server, "j", "log_signature", 1)
    assert (incident["evidence"]["signature"], incident["evidence"]["line"]) == ("throttled", 3)


# What each component prints, and what is said of it: signature, severity, and whether a machine is suspected.
PRINTED = [
    ("ERROR  TDRV:exec_core_dump (FATAL-RT-UNDEFINED-STATE) encountered uncorrectable memory error on Neuron Device 0, execution results may be invalid",
        "neuron_hardware", "critical", True),
    ("RuntimeError: nrt_execute: NRT_EXEC_HW_ERR_COLLECTIVES (1200)", "neuron_collectives", "critical", False),
    ("missing collectives status on Neuron Device 0 NC 0, model model.neff - suspected hang in collectives operation 0 out of 32",
        "neuron_collectives", "critical", False),
    ("botocore.exceptions.ClientError: An error occurred (SlowDown) when calling the PutObject operation (reached max retries: 4): Reduce your request rate.",
        "s3_slow_down", "warning", False),
    ("org.apache.hadoop.fs.s3a.AWSServiceThrottledException: getFileStatus on s3a://b/x: software.amazon.awssdk.services.s3.model.S3Exception: null"
        " (Service: S3, Status Code: 503, Request ID: A)", "s3_slow_down", "warning", False),
    ("upload failed: ./x to s3://b/x An error occurred (503) when calling the PutObject operation (reached max retries: 2): Slow Down",
        "s3_slow_down", "warning", False),
    ("botocore.errorfactory.ResourceLimitExceeded: An error occurred (ResourceLimitExceeded) when calling the CreateTrainingJob operation: The account-level"
        " service limit 'ml.p4d.24xlarge for training job usage' is 0 Instances", "quota", "warning", False),
    ("n1:984:1357 [4] ib_plugin.c:1615 NCCL WARN NET/IB : Got completion from peer 172.36.143.59<44206> with status=12 opcode=129 len=65536 vendor err 129"
        " (Recv)", "nccl_ib_retry", "critical", False),
    ("[rank1]:[E1218 20:27:21.484903450 ProcessGroupNCCL.cpp:2168] [PG ID 1 PG GUID 1 Rank 1]  failure detected by watchdog at work sequence id: 1 PG status:"
        " last enqueued work: 547, last completed work: -1", "nccl_watchdog", "critical", False),
    ("RuntimeError: CUDA error: uncorrectable NVLink error detected during the execution", "nvlink_uncorrectable", "critical", True),
    ("Fatal Python error: Aborted", "python_fatal", "critical", False),
]


def test_what_components_print_is_known(server):
    for at, (line, *_) in enumerate(PRINTED):
        assert server.post(f"/api/v1/logs?job=j{at:02}&stream=algo-1&host=gpu{at:02}", f"step 1 loss 2.5\n{line}\n".encode()).status == 200

    def told():
        rows = server.get("/api/v1/incidents?limit=1000").body["incidents"]
        return {row["job"]: (row["evidence"].get("signature") or row["evidence"].get("fault"), row["severity"], row["kind"] == "node_suspect",
            row["evidence"]["text"], row["evidence"].get("host")) for row in rows}

    wanted = {f"j{at:02}": (name, severity, is_machine, line, f"gpu{at:02}")
        for at, (line, name, severity, is_machine) in enumerate(PRINTED)}
    wait_until(lambda: told().keys() == wanted.keys(), what="an incident of each")
    assert told() == wanted
    drained = sorted(row["host"] for row in server.get("/api/v1/nodes").body["drain"])
    assert drained == [f"gpu{at:02}" for at, row in enumerate(PRINTED) if row[3]]


HOUR = 60 * MINUTE


def test_a_job_that_never_saves_says_so_once(server):
    """CheckpointConfig, a format whose saves are read, three hours of training: all of it is needed."""
    config = {"S3Uri": "s3://bucket/ckpt", "LocalPath": "/opt/ml/checkpoints"}
    now = int(time.time() * 1000)

    def train(job, line, hours, document):
        assert server.post("/api/v1/jobs", json={"TrainingJobName": job, **document}).status == 201
        begin = now - int(hours * HOUR)
        steps = 60
        rows = [(begin + int(hours * HOUR) * i // steps, line(i)) for i in range(steps + 1)]
        body = "".join(json.dumps({"line": text, "ts": at_ms}) + "\n" for at_ms, text in rows)
        assert server.post(f"/api/v1/logs?job={job}&stream=algo-1", body.encode(), content_type="application/x-ndjson").status == 200

    def iteration(i):
        return f"iteration {i + 1:8d}/  100000 | consumed samples: {i * 256:12d} | elapsed time per iteration (ms): 900.0 | learning rate: 1.000E-04 | global batch size:   256 | lm loss: 2.{i:06d}E+00 | loss scale: 1.0 | grad norm: 1.000 |"

    def found(job):
        return incidents(server, job, "checkpoint_overdue")

    train("without", iteration, 4, {})
    train("young", iteration, 2.9, {"CheckpointConfig": config})
    train("unread", lambda i: f"step: {i} loss: 2.{i}", 4, {"CheckpointConfig": config})
    train("saved", lambda i: iteration(i) if i != 30 else "  successfully saved checkpoint at iteration      30 to /ckpt", 4, {"CheckpointConfig": config})
    train("own", iteration, 4, {"CheckpointConfig": config, "AlgorithmSpecification": {"MetricDefinitions": [{"Name": "loss", "Regex": r"lm loss: (\S+)"}]}})
    train("never", iteration, 4, {"CheckpointConfig": config})
    for job in ("never", "own"):
        row, = wait_until(lambda: found(job), what=f"no checkpoint of {job}")
        evidence = row["evidence"]
        assert (row["severity"], row["state"], evidence["never"], evidence["unit"], evidence["expected"]) == ("info", "open", True, "s", 3 * 3600)
        assert abs(evidence["value"] - 4 * 3600) < 60 and "/opt/ml/checkpoints" in evidence["action"]
    send(server, "never", "algo-1", iteration(61), "  successfully saved checkpoint at iteration      61 to /ckpt")
    wait_until(lambda: found("never")[0]["state"] == "recovered", what="the first one")
    for job in ("without", "young", "unread", "saved"):  # all of them were looked at meanwhile, before `never` a second time
        assert server.get(f"/api/v1/jobs/{job}").body["SecondaryStatus"] == "Training"
        assert found(job) == []
    assert len(found("never")) == 1
