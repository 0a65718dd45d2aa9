"""Machines over all jobs: their faults, jobs, figures, which to drain; and of one job, with the way onto each."""

import json
import time

import pytest

from smserver import wait_until

XID = "kernel: NVRM: Xid (PCI:0000:02:00): 79, GPU has fallen off the bus."
TIMEOUT = "[rank3]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, Timeout(ms)=600000) ran for 600061 milliseconds"
AGENT = "2026-01-01 10:00:00 INFO Successfully registered the instance with AWS SSM using Managed instance-id: mi-0123456789abcdef0"


def ship(server, job, host, lines, stream=None):
    assert server.post(f"/api/v1/logs?job={job}&stream={stream or 'system/' + host}&host={host}", "".join(line + "\n" for line in lines),
        content_type="text/plain").status == 200


def node(server, host):
    return server.get(f"/api/v1/nodes/{host}").body


def test_each_fault_names_its_stream(server):
    """Of two jobs by turns, each in a stream of its own."""
    for n in range(4):
        job = "ab"[n % 2]
        ship(server, job, "n1", ["step: 1 loss: 2.0", XID], stream=f"of-{job}-{n}")
    listed = wait_until(lambda: (found := node(server, "n1").get("fault_list", [])) and len(found) == 4 and found, what="four faults")
    assert sorted((row["job"], row["stream"]) for row in listed) == [("a", "of-a-0"), ("a", "of-a-2"), ("b", "of-b-1"), ("b", "of-b-3")]


def test_the_ledger(server):
    for job in ("a", "b"):
        for host in ("n1", "n2"):
            ship(server, job, host, ["step: 1 loss: 2.0"], stream="algo-" + host[1])
    ship(server, "a", "n2", [XID])
    body = wait_until(lambda: node(server, "n2").get("faults") and node(server, "n2"), what="the fault")
    [fault] = body["faults"]
    assert fault["signature"] == "xid_79" and fault["lines"] >= 1 and body["drain"] and "xid_79" in body["why"][0]
    assert body["job_count"] == 2 and {row["job"] for row in body["jobs"]} == {"a", "b"}
    assert body["fault_list"][0]["text"] == XID and body["fault_list"][0]["job"] == "a"
    assert body["fault_list"][0]["stream"]
    assert abs(body["last_seen_ms"] - time.time() * 1000) < 600_000
    listed = server.get("/api/v1/nodes").body
    assert [row["host"] for row in listed["nodes"]] == ["n1", "n2"] and [row["host"] for row in listed["drain"]] == ["n2"]
    assert not listed["nodes"][0]["drain"] and listed["nodes"][0]["faults"] == []
    assert [row["host"] for row in server.get("/api/v1/nodes?q=N2").body["nodes"]] == ["n2"]
    page = server.get("/api/v1/nodes?limit=1").body
    assert page["next_cursor"] == "n1" and [row["host"] for row in server.get("/api/v1/nodes?cursor=n1").body["nodes"]] == ["n2"]
    assert server.get("/api/v1/nodes/nobody").status == 404 and server.get("/api/v1/nodes?host=x").status == 400


def test_a_machine_that_only_a_line_names_is_listed(server):
    ship(server, "a", "n1", ["step: 1 loss: 2.0", "srun: error: Node failure on gpu008"], stream="algo-1")
    listed = wait_until(lambda: (body := server.get("/api/v1/nodes").body)["drain"] and body, what="the machine to drain")
    assert [row["host"] for row in listed["nodes"]] == ["gpu008", "n1"]
    [one, other] = listed["nodes"]
    assert (one["drain"], [row["signature"] for row in one["faults"]], one["jobs"], one["job_count"]) == (True, ["slurm_node_failed"], [], 0)
    assert (other["faults"], other["job_count"]) == ([], 1)
    assert [row["host"] for row in server.get("/api/v1/nodes?q=GPU").body["nodes"]] == ["gpu008"]
    page = server.get("/api/v1/nodes?limit=1").body
    assert page["next_cursor"] == "gpu008" and [row["host"] for row in server.get("/api/v1/nodes?cursor=gpu008").body["nodes"]] == ["n1"]
    troubled = lambda asked="": [row["host"] for row in server.get(f"/api/v1/nodes?in_trouble=true{asked}").body["nodes"]]
    assert troubled() == troubled("&limit=1&q=Gpu") == ["gpu008"] and troubled("&cursor=gpu008") == troubled("&q=n1") == []
    assert server.get("/api/v1/nodes?in_trouble=perhaps").status == 400
    assert server.patch("/api/v1/jobs/a", json={"by_hand": {"faults": {"algo-1:1": "a drill"}}}).status == 200
    wait_until(lambda: [row["host"] for row in server.get("/api/v1/nodes").body["nodes"]] == ["n1"], what="the fault to be nobody's")
    assert troubled() == []
    cleared = node(server, "gpu008")  # whoever follows its address sees why
    assert (cleared["drain"], cleared["faults"], cleared["fault_list"], [row["why"] for row in cleared["cleared_faults"]]) == (False, [], [], ["a drill"])
    assert server.get("/api/v1/nodes/gpu009").status == 404


def test_a_noisy_machine_hides_no_other(server):
    ship(server, "a", "quiet", [XID])
    wait_until(lambda: node(server, "quiet").get("faults"), what="the fault")
    server.stop()
    later_ms = int(time.time() * 1000) + 1
    server.sql("WITH RECURSIVE v (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM v WHERE n < 5999) INSERT INTO node_faults"
        " SELECT 'noisy', ? + v.n, 1, 1, v.n, signature, is_drain, 1, ? + v.n, text, '' FROM node_faults CROSS JOIN v WHERE host = 'quiet'", later_ms, later_ms)
    server.start()
    body = node(server, "quiet")
    assert body["drain"] and [row["text"] for row in body["fault_list"]] == [XID]


def test_the_machines_of_a_job(server):
    ship(server, "a", "n1", [AGENT], stream="algo-1")
    points = [{"metric": f'gpu_utilization_percent{{gpu="{gpu}"}}', "stream": "system/n1", "step": 1, "ts_ms": int(time.time() * 1000), "value": value}
        for gpu, value in ((0, 50), (1, 100))]
    assert server.post("/api/v1/points?job=a", json={"points": points}).status == 200

    def told():
        rows = {row["stream"]: row for row in server.get("/api/v1/jobs/a/nodes").body["nodes"]}
        return "ssm_command" in rows["algo-1"] and rows.get("system/n1", {}).get("instance", {}).get("GPUUtilization") and rows
    rows = wait_until(told, what="the line and the points")
    assert rows["algo-1"]["ssm_command"] == "aws ssm start-session --target mi-0123456789abcdef0"
    assert rows["algo-1"]["host"] == "n1" and rows["algo-1"]["last_age_seconds"] < 600
    assert rows["system/n1"]["instance"]["GPUUtilization"] == pytest.approx(75)
    assert server.get("/api/v1/jobs/nobody/nodes").status == 404


def ways_in(server, job):
    return {row["stream"]: (row.get("ssm_command"), row.get("ssh_command")) for row in server.get(f"/api/v1/jobs/{job}/nodes").body["nodes"]}


def test_the_way_into_a_container(make_server):
    """EnableRemoteDebug makes containers targets of Systems Manager, while they are there."""
    server = make_server("--ssh-template", "ssh -J bastion root@{host}")
    for job, is_enabled in (("open", True), ("shut", False)):
        document = {"TrainingJobName": job, "RemoteDebugConfig": {"EnableRemoteDebug": is_enabled},
            "ResourceConfig": {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 2, "VolumeSizeInGB": 5}}
        assert server.post("/api/v1/jobs", json=document).status == 201
        ship(server, job, "ip-10-0-0-1", ["step: 1 loss: 2.0"], stream="algo-1")
        ship(server, job, "x;reboot", ["step: 1 loss: 2.0"], stream="algo-2-1700000000000")
        ship(server, job, "ip-10-0-0-3", ["step: 1 loss: 2.0"], stream="rank-3")
    assert ways_in(server, "open") == {
        "algo-1": ("aws ssm start-session --target sagemaker-training-job:open_algo-1", "ssh -J bastion root@ip-10-0-0-1"),
        "algo-2-1700000000000": ("aws ssm start-session --target sagemaker-training-job:open_algo-2", None),  # a host's name is no command
        "rank-3": (None, "ssh -J bastion root@ip-10-0-0-3")}
    assert {ssm for ssm, _ in ways_in(server, "shut").values()} == {None}
    ship(server, "open", "ip-10-0-0-1", [AGENT], stream="algo-1")
    wait_until(lambda: "mi-0123456789abcdef0" in ways_in(server, "open")["algo-1"][0], what="what the agent says")
    assert server.post("/api/v1/jobs/open/transitions", json={"SecondaryStatus": "Completed"}).status == 204
    assert ways_in(server, "open")["algo-2-1700000000000"][0] is None


def test_ssh_through_systems_manager(make_server):
    server = make_server("--ssh-template", "sm-ssh {job} {stream} {target}")
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "j", "RemoteDebugConfig": {"EnableRemoteDebug": True}}).status == 201
    ship(server, "j", "h", ["step: 1 loss: 2.0"], stream="algo-1")
    ship(server, "j", "h", ["step: 1 loss: 2.0"], stream="rank-2")
    assert {stream: ssh for stream, (_, ssh) in ways_in(server, "j").items()} == {"algo-1": "sm-ssh j algo-1 sagemaker-training-job:j_algo-1", "rank-2": None}


NONFATAL = "kernel: NVRM: Xid (PCI:0018:01:00): 145, RLW_RXPIPE Nonfatal XC0 i0 Link 13 (0x0409a0c2 0x00000008)"


def test_an_error_that_is_not_fatal_drains_nobody(server):
    """Both machines have a line before each of two restarts; one of them only says that a link's error was dealt with."""
    begin_ms = int(time.time() * 1000) - 300_000
    document = {"TrainingJobName": "j", "ResourceConfig": {"InstanceType": "ml.p5.48xlarge", "InstanceCount": 2, "VolumeSizeInGB": 5},
        "AlgorithmSpecification": {"MetricDefinitions": [{"Name": "loss", "Regex": r"step (?<step>\d+) loss (?<value>\S+)"}]}}
    assert server.post("/api/v1/jobs", json=document).status == 201

    def send(stream, host, rows):
        body = "".join(json.dumps({"line": line, "ts": begin_ms + second * 1000}) + "\n" for second, line in rows)
        assert server.post(f"/api/v1/logs?job=j&stream={stream}&host={host}", body.encode(), content_type="application/x-ndjson").status == 200

    steps = [(second, f"step {step} loss 2.{step}") for first, start in ((0, 1), (30, 11), (60, 21))
             for second, step in ((first + i, start + i) for i in range(20))]  # ten steps are done again each time
    send("algo-1", "good", steps[:20])
    for second in (21, 51):
        send("system/good", "good", [(second, NONFATAL)])
        send("system/bad", "bad", [(second, XID)])
    send("algo-1", "good", steps[20:])
    body = wait_until(lambda: node(server, "bad").get("restarts") == 2 and node(server, "bad"), what="two restarts")
    assert body["drain"] and any("broke jobs off 2 times" in why for why in body["why"])
    good = wait_until(lambda: node(server, "good").get("faults") and node(server, "good"), what="the fault")
    assert [(fault["signature"], fault["lines"], fault["drain"]) for fault in good["faults"]] == [("xid_nonfatal", 2, False)]
    assert (good["restarts"], good["drain"], good["why"]) == (0, False, [])
    assert [row["host"] for row in server.get("/api/v1/nodes").body["drain"]] == ["bad"]
    causes = [row["cause"] for row in server.get("/api/v1/jobs/j/goodput").body["breaks"]]
    assert causes == ["xid_79", "xid_79"]


def test_a_fault_broke_off_what_stopped_behind_it_and_no_later_restart(server):
    """The machine's line stands before the first restart. The job went on and broke off again, for whatever reason: not by that line."""
    begin_ms = int(time.time() * 1000) - 300_000
    document = {"TrainingJobName": "j", "ResourceConfig": {"InstanceType": "ml.p5.48xlarge", "InstanceCount": 2, "VolumeSizeInGB": 5},
        "AlgorithmSpecification": {"MetricDefinitions": [{"Name": "loss", "Regex": r"step (?<step>\d+) loss (?<value>\S+)"}]}}
    assert server.post("/api/v1/jobs", json=document).status == 201
    steps = [(second, f"step {step} loss 2.{step}") for first, start in ((0, 1), (30, 11), (60, 21))
             for second, step in ((first + i, start + i) for i in range(20))]  # ten steps are done again each time

    def send(stream, host, rows):
        body = "".join(json.dumps({"line": line, "ts": begin_ms + second * 1000}) + "\n" for second, line in rows)
        assert server.post(f"/api/v1/logs?job=j&stream={stream}&host={host}", body.encode(), content_type="application/x-ndjson").status == 200

    send("system/bad", "bad", [(21, XID)])
    send("algo-1", "good", steps)
    wait_until(lambda: len(server.get("/api/v1/jobs/j/goodput").body["breaks"]) == 2, what="two breaks")
    body = wait_until(lambda: node(server, "bad").get("restarts") and node(server, "bad"), what="what the fault broke off")
    # ten steps of a second again, ten seconds from step 20 to the work on step 11, on two nodes
    assert (body["restarts"], body["lost_steps"], round(body["lost_node_hours"] * 3600)) == (1, 10, (10 + 10) * 2)
    assert not any("broke jobs off" in why for why in body["why"])


def test_a_fault_long_behind_the_last_printed_step_is_what_broke_it_off(server):
    """A step takes 100 s, and the kernel speaks ten minutes behind the last one that was printed: the break's cause, and the machine that it is charged to."""
    begin_ms = int(time.time() * 1000) - 86_400_000
    document = {"TrainingJobName": "j", "AlgorithmSpecification": {
        "MetricDefinitions": [{"Name": "loss", "Regex": r"step (?<step>\d+) loss (?<value>\S+)"}]}}
    assert server.post("/api/v1/jobs", json=document).status == 201
    steps = [(100 * (first + i), f"step {start + i} loss 2.5") for first, start in ((0, 1), (30, 11)) for i in range(20)]

    def send(stream, host, rows):
        body = "".join(json.dumps({"line": line, "ts": begin_ms + second * 1000}) + "\n" for second, line in rows)
        assert server.post(f"/api/v1/logs?job=j&stream={stream}&host={host}", body.encode(), content_type="application/x-ndjson").status == 200

    send("system/bad", "bad", [(1900 + 600, XID)])
    send("system/late", "late", [(3200, XID)])  # the job had gone on by then
    send("algo-1", "good", steps)
    wait_until(lambda: node(server, "bad").get("restarts"), what="what the fault broke off")
    broken, = server.get("/api/v1/jobs/j/goodput").body["breaks"]
    assert (broken["cause"], node(server, "bad")["restarts"], node(server, "bad")["lost_steps"], node(server, "late")["restarts"]) == ("xid_79", 1, 10, 0)


def test_a_restart_has_no_cause_in_what_a_machine_outlived(server):
    begin_ms = int(time.time() * 1000) - 300_000
    document = {"TrainingJobName": "j", "AlgorithmSpecification": {
        "MetricDefinitions": [{"Name": "loss", "Regex": r"step (?<step>\d+) loss (?<value>\S+)"}]}}
    assert server.post("/api/v1/jobs", json=document).status == 201
    rows = [(second, f"step {step} loss 2.{step}") for first, start in ((0, 1), (30, 11)) for second, step in ((first + i, start + i) for i in range(20))]
    for stream, lines in (("algo-1", rows[:20]), ("system/n1", [(21, NONFATAL)]), ("algo-1", rows[20:])):
        body = "".join(json.dumps({"line": line, "ts": begin_ms + second * 1000}) + "\n" for second, line in lines)
        assert server.post(f"/api/v1/logs?job=j&stream={stream}", body.encode(), content_type="application/x-ndjson").status == 200
    wait_until(lambda: node(server, "n1").get("faults"), what="the fault")
    breaks = wait_until(lambda: server.get("/api/v1/jobs/j/goodput").body.get("breaks"), what="the restart")
    assert [row["cause"] for row in breaks] == ["unknown"]


def test_a_restart_was_caused_by_the_machine_and_not_by_who_saw_it(server):
    """The kernel speaks in the middle of a step, and rank 0 prints three more before it hangs; another machine's timeout comes behind.
    It explains one restart: behind that the job ran, and was broken off by a timeout alone."""
    begin_ms = int(time.time() * 1000) - 300_000
    document = {"TrainingJobName": "j", "AlgorithmSpecification": {
        "MetricDefinitions": [{"Name": "loss", "Regex": r"step (?<step>\d+) loss (?<value>\S+)"}]}}
    assert server.post("/api/v1/jobs", json=document).status == 201
    steps = [(second, f"step {step} loss 2.{step}") for first, start in ((0, 1), (30, 11), (60, 21))
             for second, step in ((first + i, start + i) for i in range(20))]  # ten steps are done again each time

    def send(stream, host, rows):
        body = "".join(json.dumps({"line": line, "ts": begin_ms + second * 1000}) + "\n" for second, line in rows)
        assert server.post(f"/api/v1/logs?job=j&stream={stream}&host={host}", body.encode(), content_type="application/x-ndjson").status == 200

    send("system/bad", "bad", [(16, XID)])
    send("algo-2", "n2", [(25, TIMEOUT), (55, TIMEOUT)])
    send("algo-1", "n1", steps)

    def causes():
        wait_until(lambda: node(server, "bad").get("restarts"), what="what the fault broke off")
        return [row["cause"] for row in server.get("/api/v1/jobs/j/goodput").body["breaks"]]
    wait_until(lambda: len(causes()) == 2, what="two breaks")
    assert (causes(), node(server, "bad")["restarts"]) == (["xid_79", "nccl_timeout"], 1)


def seen(server, job):
    return {row["stream"]: row.get("last_seen_ms") for row in server.get(f"/api/v1/jobs/{job}/streams").body["streams"]}


def test_a_machine_was_seen_when_its_own_last_line_came(server):
    ship(server, "a", "dead", ["step: 1 loss: 2.0"], stream="algo-1")
    died_ms = wait_until(lambda: seen(server, "a").get("algo-1"), what="its line")

    def others_go_on():
        ship(server, "a", "alive", ["step: 1 loss: 2.0"], stream="algo-2")
        return server.get("/api/v1/jobs/a").body.get("last_heard_ms", 0) > died_ms + 100
    wait_until(others_go_on, what="the job is heard of later")
    body = node(server, "dead")
    assert body["last_seen_ms"] == died_ms and body["jobs"][0]["last_ms"] == died_ms
    for _ in range(2):  # of a job that is over, too
        ship(server, "a", "alive", ["step: 2 loss: 2.0"], stream="algo-2")
    assert server.post("/api/v1/jobs/a/transitions", json={"SecondaryStatus": "Completed"}).status == 204
    assert node(server, "alive")["last_seen_ms"] == seen(server, "a")["algo-2"] > died_ms


def test_a_machine_that_was_replaced_was_seen_when_its_own_last_line_came(server):
    def send(host, stream="algo-1"):
        ship(server, "a", host, ["step: 1 loss: 2.0"], stream=stream)
        return wait_until(lambda: seen(server, "a").get(stream), what="its line")
    send("dead")
    server.stop()
    server.start()
    died_ms = send("dead")
    wait_until(lambda: send("other", "algo-2") > died_ms + 100, what="time goes by")
    send("next")
    later_ms = wait_until(lambda: seen(server, "a")["algo-1"] > died_ms and seen(server, "a")["algo-1"], what="its successor's line")
    assert later_ms > died_ms + 100
    body = node(server, "dead")
    assert body["last_seen_ms"] == died_ms and [row["last_ms"] for row in body["jobs"]] == [died_ms]
    assert node(server, "next")["last_seen_ms"] == later_ms
    [old, new] = next(row["hosts"] for row in server.get("/api/v1/jobs/a/streams").body["streams"] if row["stream"] == "algo-1")
    assert (old["host"], new["host"]) == ("dead", "next") and old["until_ms"] == new["since_ms"] > died_ms


def test_a_machine_took_over_when_its_first_line_was_written(server):
    """An import of yesterday's log, whose machine was replaced at noon."""
    began_ms = int(time.time() * 1000) - 24 * 3600_000
    for host, from_ms in (("old", began_ms), ("new", began_ms + 3600_000)):
        body = "".join(json.dumps({"line": f"step: {i} loss: 2.0", "ts": from_ms + 1000 * i}) + "\n" for i in range(3))
        assert server.post(f"/api/v1/logs?job=a&stream=algo-1&host={host}", body.encode(), content_type="application/x-ndjson").status == 200
    row = wait_until(lambda: next((row for row in server.get("/api/v1/jobs/a/streams").body["streams"] if row["extracted_lines"] == 6), None),
        what="the lines")
    assert row["hosts"] == [{"host": "old", "from_line": 0, "since_ms": began_ms, "until_ms": began_ms + 3600_000},
        {"host": "new", "from_line": 3, "since_ms": began_ms + 3600_000}]
