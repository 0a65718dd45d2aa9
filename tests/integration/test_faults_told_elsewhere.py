"""A machine's fault that the log of another job tells of, a central syslog, is why a job broke that ran on the machine: its reason, its cause, its cost."""

import json
import time

from smserver import wait_until
from test_by_hand_hosts import wait_for_faults
from test_carry import export, take
from test_hosts import drained, ship
from test_known_fault import MINUTE, TIMEOUT, causes, fail, failed, send
from test_replacements import replacements

BARE = "NVRM: Xid (PCI:0000:02:00): 79, GPU has fallen off the bus."
EDAC = "EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0"


def tell(server, job, host, at_ms, central="central"):
    stamp = time.strftime("%b %d %H:%M:%S", time.gmtime(at_ms / 1000))
    send(server, job, "all", (at_ms, f"{stamp} {host} kernel: {BARE}"), host=central)
    wait_until(lambda: host in drained(server), what=f"the fault of {host}")


def train(server, job, first_ms, steps, hosts):
    for n, host in enumerate(hosts):
        rows = [(first_ms + k * 10_000, f"step {k + 1} loss: {3 - k / 100:.3f}" if n == 0 else "alive") for k in steps]
        send(server, job, f"algo-{n + 1}", *rows, host=host)


def test_a_failure_names_the_fault_that_the_central_log_told_of(server):
    now = int(time.time() * 1000)
    train(server, "j", now - 10 * MINUTE, range(30), ["el-1", "el-2", "el-3"])
    train(server, "other", now - 10 * MINUTE, range(30), ["el-9"])
    tell(server, "kern", "el-2", now - 6 * MINUTE)
    send(server, "j", "algo-3", (now - 4 * MINUTE, TIMEOUT), host="el-3")
    fail(server, "j")
    document, incident = failed(server, "j")
    fault = incident["evidence"]["fault"]
    assert (fault["signature"], fault["host"], fault["told_by"]) == ("xid_79", "el-2", "kern") and "stream" not in fault
    assert document["FailureReason"].startswith("Xid 79: GPU has fallen off the bus on el-2: ")
    # of a job that was not on the machine it is none
    send(server, "other", "algo-1", (now - 4 * MINUTE, TIMEOUT), host="el-9")
    fail(server, "other")
    assert failed(server, "other")[1]["evidence"]["fault"]["signature"] == "nccl_timeout"


def test_the_cause_comes_with_the_export_of_the_job_alone(make_server):
    server, other, now = make_server(), make_server(), int(time.time() * 1000)
    train(server, "j", now - 10 * MINUTE, range(30), ["ex-1", "ex-2"])
    tell(server, "kern", "ex-2", now - 6 * MINUTE)
    send(server, "j", "algo-1", (now - 4 * MINUTE, TIMEOUT), host="ex-1")
    fail(server, "j")
    reason = failed(server, "j")[0]["FailureReason"]
    wait_until(lambda: causes(server, "j") == ["xid_79"], what="the cause")
    take(other, export(server, "name=j"))
    wait_until(lambda: causes(other, "j"), what="a cause of the imported job")
    assert (causes(other, "j"), other.get("/api/v1/jobs/j").body["FailureReason"]) == (["xid_79"], reason)


def test_the_reason_follows_what_the_central_log_tells_after_the_failure(server):
    """Told late, cleared, and told again by taking that back: of a job that named another fault itself, that named none, and whose reason was stated."""
    now = int(time.time() * 1000)
    reasons = {"own": "NCCL timeout, first reported by la-own-1: " + TIMEOUT, "none": "", "stated": "exit code 1"}
    for job in reasons:
        train(server, job, now - 10 * MINUTE, range(30), [f"la-{job}-1", f"la-{job}-2"])
        if job == "own":
            send(server, job, "algo-1", (now - 4 * MINUTE, TIMEOUT), host="la-own-1")
        fail(server, job, time_ms=now - 2 * MINUTE, **({"FailureReason": "exit code 1"} if job == "stated" else {}))
        server.wait_for_extraction()
        assert failed(server, job, fault=job == "own")[0].get("FailureReason", "") == reasons[job]
    for job in reasons:
        tell(server, f"kern-{job}", f"la-{job}-2", now - 6 * MINUTE, central=f"central-{job}")

    def state(job):
        document, incident = server.get(f"/api/v1/jobs/{job}").body, server.get(f'/api/v1/incidents?q=name="{job}"&kind=job_failed').body["incidents"][0]
        fault = incident["evidence"].get("fault", {})
        return document.get("FailureReason", ""), fault.get("signature"), fault.get("told_by")

    def is_named(job):
        reason, signature, told_by = state(job)
        return (signature, told_by) == ("xid_79", f"kern-{job}") and (
            reason == "exit code 1" if job == "stated" else reason.startswith(f"Xid 79: GPU has fallen off the bus on la-{job}-2: "))

    for job in reasons:
        wait_until(lambda job=job: is_named(job), what=f"the fault of {job}: {state(job)}")
        path = f"/api/v1/jobs/kern-{job}"
        assert server.patch(path, json={"by_hand": {"faults": {"all:0": "the riser was pulled"}}}).status == 200
        assert state(job) == (reasons[job], "nccl_timeout" if job == "own" else None, None)
        assert server.patch(path, json={"by_hand": {"faults": {"all:0": None}}}).status == 200
        assert is_named(job), state(job)
        assert server.patch(path, json={"by_hand": {"faults": {"all:0": "the riser was pulled"}}}).status == 200
        assert server.patch(path, json={"by_hand": None}).status == 200
        assert is_named(job), state(job)


def fail_many(server, count, first_ms, hosts):
    """That many jobs of a minute, one after the other."""
    for k in range(count):
        at_ms = first_ms + k * 2 * MINUTE
        train(server, f"many-{k}", at_ms, range(3), [hosts(k)])
        fail(server, f"many-{k}", time_ms=at_ms + MINUTE)


def reason(server, job):
    return server.get(f"/api/v1/jobs/{job}").body.get("FailureReason", "")


def test_a_fault_that_is_told_late_names_the_job_that_it_broke_off(server):
    """However many have failed on that machine since."""
    now = int(time.time() * 1000)
    train(server, "j", now - 300 * MINUTE, range(30), ["lf-1"])
    fail(server, "j", time_ms=now - 294 * MINUTE)
    fail_many(server, 70, now - 280 * MINUTE, lambda k: "lf-1")
    tell(server, "kern", "lf-1", now - 295 * MINUTE)
    wait_until(lambda: reason(server, "j").startswith("Xid 79: GPU has fallen off the bus on lf-1"), what=f"the reason: {reason(server, 'j')}")
    assert not [k for k in range(70) if reason(server, f"many-{k}")]


def test_what_counts_again_names_its_failure_among_many(server):
    """Of a central log of many machines' faults: those that were cleared, and no others, by each way to take that back."""
    now = int(time.time() * 1000)
    fail_many(server, 70, now - 300 * MINUTE, lambda k: f"lg-{k}")
    server.wait_for_extraction()
    stamps = [now - 300 * MINUTE + k * 2 * MINUTE + 50_000 for k in range(70)]
    send(server, "kern", "all", *[
        (at_ms, f"{time.strftime('%b %d %H:%M:%S', time.gmtime(at_ms / 1000))} lg-{k} kernel: {BARE}") for k, at_ms in enumerate(stamps)], host="central")
    wait_until(lambda: reason(server, "many-0") and reason(server, "many-69"), what="the reasons")
    for taken_back in ({"faults": {"all:0": None}}, {"faults": None}, None):
        assert server.patch("/api/v1/jobs/kern", json={"by_hand": {"faults": {"all:0": "the riser"}}}).status == 200
        assert reason(server, "many-0") == "" and reason(server, "many-1")
        assert server.patch("/api/v1/jobs/kern", json={"by_hand": taken_back}).status == 200
        assert reason(server, "many-0").startswith("Xid 79: GPU has fallen off the bus on lg-0"), taken_back


def test_a_fault_that_is_told_behind_the_failure_and_is_none_of_it_changes_nothing(server):
    now = int(time.time() * 1000)
    train(server, "j", now - 50 * MINUTE, range(30), ["lb-1", "lb-2"])
    fail(server, "j", time_ms=now - 40 * MINUTE)
    before = server.get("/api/v1/jobs/j").body
    tell(server, "kern", "lb-2", now - 5 * MINUTE)
    server.wait_for_extraction()
    assert server.get("/api/v1/jobs/j").body["LastModifiedTime"] == before["LastModifiedTime"] and "FailureReason" not in before


def test_a_symptom_that_came_first_lies_beneath_the_fault_that_the_central_log_tells_of(server):
    """As one in the job's own log; what another machine's says of a job of its own is none of it."""
    now = int(time.time() * 1000)
    train(server, "j", now - 20 * MINUTE, range(60), ["sy-1", "sy-2", "sy-3"])
    train(server, "other", now - 20 * MINUTE, range(60), ["sy-9"])
    send(server, "j", "algo-1", (now - 4 * MINUTE, TIMEOUT), host="sy-1")
    send(server, "other", "algo-1", (now - 4 * MINUTE, TIMEOUT), host="sy-9")

    def rows(job, every=""):
        return server.get(f'/api/v1/incidents?q=name="{job}"{every}').body["incidents"]

    for job in ("j", "other"):
        wait_until(lambda job=job: [row["kind"] for row in rows(job)] == ["log_signature"], what=f"the symptom of {job}")
    tell(server, "kern", "sy-3", now - 10 * MINUTE)
    suspect, = wait_until(lambda: [row for row in rows("j") if row["kind"] == "node_suspect"], what="the machine's")
    assert [row["id"] for row in rows("j")] == [suspect["id"]] and suspect["evidence"]["told_by"] == "kern"
    assert [row["evidence"]["part_of"] for row in rows("j", "&all=true") if row["kind"] == "log_signature"] == [suspect["id"]]
    assert [row["kind"] for row in rows("other")] == ["log_signature"]


def test_the_message_of_a_stall_says_whose_log_told_of_the_fault(make_server, receiver):
    server = make_server("--stall-after", "1s")
    assert server.post("/api/v1/webhooks", json={"url": receiver.url}).status in (200, 201)
    send(server, "j", "algo-1", (int(time.time() * 1000), "step 0 loss: 3.1"), host="wl-1")
    tell(server, "kern", "wl-1", int(time.time() * 1000))
    start, count = time.time(), 0
    while time.time() - start < 1.5 or count < 25:
        count += 1
        send(server, "j", "algo-1", (int(time.time() * 1000), f"step {count} loss: {3 - count / 1000:.3f}"), host="wl-1")

    def messages():
        return [json.dumps(m) for m in receiver.messages() if m["data"].get("kind") == "stall"]

    told = wait_until(messages, what="the stall")[0]
    assert "; the log of kern had said: Xid 79: GPU has fallen off the bus on wl-1: " in told, told


def test_a_machine_that_had_left_is_no_reason(server):
    now = int(time.time() * 1000)
    train(server, "j", now - 20 * MINUTE, range(6), ["lv-1", "lv-2"])
    train(server, "j", now - 12 * MINUTE, range(30, 60), ["lv-1", "lv-3"])
    tell(server, "kern", "lv-2", now - 5 * MINUTE)
    send(server, "j", "algo-1", (now - MINUTE, TIMEOUT), host="lv-1")
    fail(server, "j")
    assert failed(server, "j")[1]["evidence"]["fault"]["signature"] == "nccl_timeout"
    assert server.get("/api/v1/nodes/lv-2").body["restarts"] == 0


def test_a_machine_whose_streams_fell_silent_long_before_is_no_reason(server):
    """Each generation of pods sends streams of its own: those of the first one are of its machines for ever."""
    now = int(time.time() * 1000)

    def send_pods(first_ms, steps, **hosts):
        for n, (pod, host) in enumerate(hosts.items()):
            rows = [(first_ms + k * 10_000, f"step {k + 1} loss: {3 - k / 1000:.3f}" if n == 0 else "alive") for k in steps]
            send(server, "j", pod, *rows, host=host)

    send_pods(now - 140 * MINUTE, range(360), a="po-1", b="po-2")
    send_pods(now - 115 * MINUTE, range(360, 670), c="po-1", d="po-3")
    server.wait_for_extraction()  # who is still there when the fault is read is told of it
    tell(server, "kern", "po-2", now - 6 * MINUTE)
    tell(server, "kern-3", "po-3", now - 7 * MINUTE, central="central-3")
    send(server, "j", "d", (now - 2 * MINUTE, TIMEOUT), host="po-3")
    fail(server, "j")
    fault = failed(server, "j")[1]["evidence"]["fault"]
    assert (fault["signature"], fault["host"]) == ("xid_79", "po-3"), fault
    assert server.get("/api/v1/nodes/po-2").body["restarts"] == 0
    suspects = lambda: [row["evidence"]["host"] for row in server.get('/api/v1/incidents?q=name="j"&kind=node_suspect&all=true').body["incidents"]]
    wait_until(suspects, what="the machine that is told of")
    assert suspects() == ["po-3"]


def restart(server, job, now, hosts, fault_on):
    """A job that breaks off 100 s ago after a fault of that machine, ten steps back, and goes on."""
    first = now - 10 * MINUTE
    body = {"TrainingJobName": job, "ResourceConfig": {"InstanceType": "ml.p5.48xlarge", "InstanceCount": len(hosts), "VolumeSizeInGB": 50}}
    assert server.post("/api/v1/jobs", json=body).status in (200, 201)
    for status, at_ms in (("Training", first - 10_000), ("Restarting", first + 310_000), ("Training", first + 400_000)):
        if status == "Restarting":
            train(server, job, first, range(30), hosts)
            tell(server, f"kern-{job}", fault_on, first + 285_000, central=f"central-{job}")
            send(server, job, f"algo-{len(hosts)}", (first + 300_000, TIMEOUT), host=hosts[-1])
        assert server.post(f"/api/v1/jobs/{job}/transitions", json={"SecondaryStatus": status, "time_ms": at_ms}).status == 204
    send(server, job, "algo-1", *[(first + 410_000 + k * 10_000, f"step {k + 21} loss: {2.8 - k / 100:.3f}") for k in range(15)], host=hosts[0])
    assert server.post(f"/api/v1/jobs/{job}/transitions", json={"SecondaryStatus": "Completed", "time_ms": first + 570_000}).status == 204


def test_a_restart_is_charged_to_the_machine_whose_fault_the_central_log_told_of(server):
    now = int(time.time() * 1000)
    restart(server, "r", now, ["re-1", "re-2", "re-3"], "re-2")
    wait_until(lambda: causes(server, "r") == ["xid_79"], what=f"the cause: {server.get('/api/v1/jobs/r/goodput').body['breaks']}")
    wait_until(lambda: server.get("/api/v1/nodes/re-2").body["restarts"] == 1, what="the restart")
    # the first step behind the break says what was lost
    node = wait_until(lambda: (body := server.get("/api/v1/nodes/re-2").body)["lost_steps"] and body, what="the lost steps")
    assert node["lost_steps"] == 10 and node["lost_node_hours"] > 0, node
    for other in ("re-1", "re-3", "central-r"):
        assert server.get(f"/api/v1/nodes/{other}").body["restarts"] == 0
    # somebody says that it was not the machine's: nothing broke for it then
    reply = server.patch("/api/v1/jobs/kern-r", json={"by_hand": {"faults": {"all:0": "the riser was pulled"}}})
    assert reply.status == 200, reply
    wait_until(lambda: "re-2" not in drained(server), what="the cleared fault")
    assert server.get("/api/v1/nodes/re-2").body["restarts"] == 0 and causes(server, "r") == ["nccl_timeout"]


def test_a_cleared_fault_of_another_log_replaced_nobody(server):
    now = int(time.time() * 1000)
    first = now - 30 * MINUTE
    train(server, "p", first, range(30), ["rp-1", "rp-2"])
    tell(server, "kern", "rp-2", first + 4 * MINUTE)
    train(server, "p", first + 8 * MINUTE, range(30, 60), ["rp-1", "rp-3"])
    row, = wait_until(lambda: replacements(server, "p"), what="the replacement")
    assert row["why"] == "xid_79 on rp-2"
    assert server.patch("/api/v1/jobs/kern", json={"by_hand": {"faults": {"all:0": "the riser was pulled"}}}).status == 200
    row, = wait_until(lambda: [one for one in replacements(server, "p") if one["why"] != "xid_79 on rp-2"], what="another reason")
    assert row["fault"] is None and "xid_79" not in row["why"]


def test_a_machine_that_lines_alone_name_has_no_case(server):
    now = int(time.time() * 1000)
    send(server, "cs", "ctl", (now, "slurmctld: error: Nodes SU-30 not responding, setting DOWN"), host="ctl-1")
    wait_until(lambda: drained(server) == ["SU-30"], what="Slurm's line")
    send(server, "cs2", "ctl", (now, f"Nov 30 01:10:00 su-30 kernel: {BARE}"), host="ctl-2")
    wait_for_faults(server, "SU-30", lines=[[0, 0]])
    for name in ("SU-30", "su-30", "Su-30"):
        body = server.get(f"/api/v1/nodes/{name}").body
        assert body["host"] == "SU-30" and body["drain"] and len(body["fault_list"]) == 2, body
    send(server, "cs3", "algo-1", (now, "step 1 loss: 2.0"), host="Su-30")
    wait_until(lambda: [row["job"] for row in server.get("/api/v1/nodes/SU-30").body["jobs"]] == ["cs3"], what="what it sends")
    rows = [row["host"] for row in server.get("/api/v1/nodes").body["nodes"]]
    assert [host for host in rows if host.lower() == "su-30"] == ["SU-30"]


def post_loki(server, labels, line, metadata):
    body = {"streams": [{"stream": labels, "values": [[str(time.time_ns()), line, metadata]]}]}
    assert server.post("/loki/api/v1/push", json=body).status == 204


def post_otlp(server, resource, line, attributes):
    def pairs(values):
        return [{"key": key, "value": {"stringValue": value}} for key, value in values.items()]

    record = {"timeUnixNano": str(time.time_ns()), "body": {"stringValue": line}, "attributes": pairs(attributes)}
    body = {"resourceLogs": [{"resource": {"attributes": pairs(resource)}, "scopeLogs": [{"logRecords": [record]}]}]}
    assert server.post("/v1/logs", json=body).status == 200


def test_a_kernels_line_whose_program_stands_beside_it(server):
    ship(server, "other", "ed-3", ["step: 1 loss: 2.0"])
    post_loki(server, {"job": "l1", "app": "j"}, EDAC, {"hostname": "ed-1", "SYSLOG_IDENTIFIER": "kernel"})
    post_loki(server, {"job": "l2", "host": "ed-2"}, EDAC, {"syslog_identifier": "kernel"})
    post_loki(server, {"job": "l3", "host": "loghost"}, EDAC, {"_HOSTNAME": "ed-3", "_TRANSPORT": "kernel"})
    post_otlp(server, {"training.job": "o1", "host.name": "ed-4"}, EDAC, {"SYSLOG_IDENTIFIER": "kernel"})
    post_otlp(server, {"training.job": "o2"}, EDAC, {"host.name": "ed-5", "appname": "kernel"})
    post_otlp(server, {"training.job": "o3"}, EDAC, {"host.name": "ed-6", "appname": "python"})
    wait_until(lambda: sorted(drained(server)) == ["ed-1", "ed-2", "ed-3", "ed-4", "ed-5"], what="the five")


def test_a_record_that_asks_a_model_is_none_of_a_kernel(server):
    now = int(time.time() * 1000)
    for n, record in enumerate(({"prompt": "explain this", "message": BARE}, {"completion": "it is", "log": BARE}, {"message": "chat", "prompt": BARE})):
        for kind, body in (("application/x-ndjson", json.dumps(record) + "\n"), ("application/json", json.dumps([record]))):
            job = f"m{n}-{kind[12:14]}"
            assert server.post(f"/api/v1/logs?job={job}&stream=s&host=mo-{n}", body.encode(), content_type=kind).status == 200
    send(server, "last", "s", (now, BARE), host="mo-last")
    wait_until(lambda: "mo-last" in drained(server), what="the one that is true")
    server.wait_for_extraction()
    assert drained(server) == ["mo-last"]
