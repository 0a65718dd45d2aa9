"""A fault that the log told of is named where it shows: in the reason of a failure, in its incident, and in a stall."""

import json
import random
import time

from smserver import quote, wait_until

MINUTE = 60_000
TIMEOUT = "[rank3]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, Timeout(ms)=600000) ran for 600061 milliseconds"
ENDED = "[rank3]: [PG ID 0 PG GUID 0 Rank 3] Process group watchdog thread terminated with exception: collective timed out"
WORKER = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: "
SLOW_DOWN = "An error occurred (SlowDown) when calling the GetObject operation: Please reduce your request rate."
OOM = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.70 GiB."
XID = "kernel: NVRM: Xid (PCI:0000:02:00): 79, pid=1, GPU has fallen off the bus."


def send(server, job, stream, *rows, host=None):
    """rows: (time in ms, line)."""
    body = "".join(json.dumps({"line": line, "ts": at_ms}) + "\n" for at_ms, line in rows)
    of_host = f"&host={host}" if host else ""
    assert server.post(f"/api/v1/logs?job={job}&stream={stream}{of_host}", body.encode(), content_type="application/x-ndjson").status == 200


def failed(server, job, fault=True):
    """The job and the one incident of its failure, once the fault is named in it."""

    def look():
        rows = server.get(f'/api/v1/incidents?q=name="{job}"&kind=job_failed').body["incidents"]
        document = server.get(f"/api/v1/jobs/{job}").body  # of one commit with the row, so not the older one of the two
        return rows and bool(rows[0]["evidence"].get("fault")) == fault and (document, rows[0])

    return wait_until(look, what=f"the failure of {job}")


def fail(server, job, **fields):
    assert server.post(f"/api/v1/jobs/{job}/transitions", json={"SecondaryStatus": "Failed", **fields}).status == 204


def test_a_process_that_ends_after_an_nccl_timeout(server):
    now = int(time.time() * 1000)
    opened = {}
    for stream, host in (("algo-1", "gpu006"), ("algo-2", "gpu007")):
        reply = server.post("/api/v1/sessions", json={"job": "j", "stream": stream, "host": host, "run_key": "r"})
        opened[stream] = reply.body["session"]
    send(server, "j", "algo-1", (now - 12 * MINUTE, "step 1 loss 2.5"), (now, "step 2 loss 2.4"), host="gpu006")
    send(server, "j", "algo-2", (now, TIMEOUT), (now + 1, ENDED), (now + 2, WORKER), host="gpu007")
    for stream, code in (("algo-2", 1), ("algo-1", 0)):  # as quickly as that: what was said may be read only after it
        assert server.post(f"/api/v1/sessions/{opened[stream]}", json={"exit": {"code": code}}).status == 200
    document, incident = failed(server, "j")
    assert document["TrainingJobStatus"] == "Failed"
    assert document["FailureReason"] == f"algo-2 on gpu007: exit code 1; NCCL timeout, first reported by gpu007: {TIMEOUT}"
    fault = incident["evidence"]["fault"]
    assert (fault["summary"], fault["signature"], fault["host"], fault["stream"], fault["line"], fault["text"]) == (
        "NCCL timeout, first reported by gpu007", "nccl_timeout", "gpu007", "algo-2", 0, TIMEOUT)
    assert [(line["signature"], line["host"], line["line"], line["text"]) for line in fault["lines"]] == [
        ("nccl_timeout", "gpu007", 0, TIMEOUT), ("nccl_watchdog", "gpu007", 1, ENDED), ("worker_failed", "gpu007", 2, WORKER)]
    assert "lowest" in incident["evidence"]["action"]
    server.kill()
    server.start()
    assert server.get("/api/v1/jobs/j").body["FailureReason"] == document["FailureReason"]


def test_a_machines_fault_explains_what_others_saw_of_it(server):
    now = int(time.time() * 1000)
    send(server, "j", "system/gpu007", (now - 20 * MINUTE, XID))
    send(server, "j", "algo-1", (now, TIMEOUT), host="gpu006")
    fail(server, "j", time_ms=now + 1000)
    document, incident = failed(server, "j")
    assert document["FailureReason"] == f"Xid 79: GPU has fallen off the bus on gpu007: {XID}"
    assert document["FailureClass"] == "InternalServerError"
    assert [line["signature"] for line in incident["evidence"]["fault"]["lines"]] == ["xid_79", "nccl_timeout"]


def test_a_machines_fault_of_long_ago_explains_a_timeout_and_no_other_end(server):
    """48 minutes before: the job hung until the timeout, or trained on until it was out of memory. Where it was said once more since, that counts."""
    now = int(time.time() * 1000)
    wanted = {"hung": ((TIMEOUT,), 48, f"Xid 79: GPU has fallen off the bus on gpu007: {XID}", "xid_79"),
              "full": ((OOM,), 48, f"GPU out of memory on gpu006: {OOM}", "cuda_oom"),
              "again": ((OOM,), 29, f"Xid 79: GPU has fallen off the bus on gpu007: {XID}", "xid_79")}
    for job, (lines, minutes, _, _) in wanted.items():
        for ago in sorted({48, minutes}, reverse=True):
            send(server, job, "system/gpu007", (now - ago * MINUTE, XID))
        steps = [(now - ago * MINUTE, f"step {60 - ago} loss 2.5") for ago in range(60, 47 if job == "hung" else 0, -1)]
        send(server, job, "algo-1", *steps, *((now, line) for line in lines), host="gpu006")
        fail(server, job, time_ms=now + 1)
    for job, (_, _, reason, cause) in wanted.items():
        wait_until(lambda: failed(server, job)[0]["FailureReason"] == reason, what=f"the reason of {job}")
        wait_until(lambda: [row["cause"] for row in server.get(f"/api/v1/jobs/{job}/goodput").body["breaks"]] == [cause], what=f"the same cause of the time that {job} lost")


def test_an_end_that_is_told_behind_another_begins_nothing(server):
    """The shipper of a file says Completed at its end; that the job failed is told later, and the fault is of before both."""
    now = int(time.time() * 1000)
    send(server, "j", "algo-3", (now - 12 * MINUTE, XID), host="gpu007")
    send(server, "j", "algo-1", (now - 11 * MINUTE, "step 1 loss 2.5"), (now - 2 * MINUTE, TIMEOUT), host="gpu006")
    assert server.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": "Completed", "time_ms": now - 2 * MINUTE}).status == 204
    fail(server, "j", time_ms=now, FailureReason="exit code 1")
    assert failed(server, "j")[1]["evidence"]["fault"]["summary"] == "Xid 79: GPU has fallen off the bus on gpu007"


def test_what_was_stated_stays_as_it_was_stated(server, receiver):
    assert server.post("/api/v1/webhooks", json={"url": receiver.url}).status in (200, 201)
    now = int(time.time() * 1000)
    send(server, "j", "algo-1", (now, "step 1 loss 2.5"), (now, OOM), host="n1")
    wait_until(lambda: server.get('/api/v1/incidents?kind=log_signature').body["incidents"], what="the line")
    fail(server, "j", FailureReason="AlgorithmError: exit code 1", time_ms=now + 1)
    document, incident = failed(server, "j")
    assert document["FailureReason"] == "AlgorithmError: exit code 1"
    assert incident["evidence"]["fault"]["summary"] == "GPU out of memory on n1"
    message = wait_until(lambda: [m for m in receiver.messages() if m["data"]["kind"] == "job_failed"], what="the message")[0]
    assert f"j failed: AlgorithmError: exit code 1; GPU out of memory on n1: {OOM}" in json.dumps(message)


def test_faults_behind_the_failure_of_a_job_of_many_streams(server):
    """They are named together, a moment later; a kill or a stop before that loses none."""
    now = int(time.time() * 1000)

    def is_named(reason):
        wait_until(lambda: server.get("/api/v1/jobs/j").body.get("FailureReason") == reason, what=f"the reason '{reason}'")

    for rank in range(66):
        send(server, "j", f"r{rank}", (now - MINUTE, "step 1 loss 2.5"), host=f"n{rank}")
    fail(server, "j", time_ms=now)
    for rank in range(66):
        send(server, "j", f"r{rank}", (now - 4000 + rank, TIMEOUT), host=f"n{rank}")
    is_named(f"NCCL timeout, first reported by n0: {TIMEOUT}")
    send(server, "j", "r7", (now - 5000, XID), host="n7")
    server.kill()
    server.start()
    is_named(f"Xid 79: GPU has fallen off the bus on n7: {XID}")
    send(server, "j", "r65", (now - 6000, XID), host="n65")
    server.restart()
    is_named(f"Xid 79: GPU has fallen off the bus on n65: {XID}")
    assert failed(server, "j")[1]["evidence"]["fault"]["host"] == "n65"


LONG = quote('"' * 255)  # twice as long in JSON; a control character is six times as long
LONG_FAULTS = [line + "\x01" * 380 for line in ("Segmentation fault (core dumped) ", "Bus error (core dumped) ", OOM, XID, "srun: error: Node failure on n1 ")]


def fail_with_many_streams(server, job, now):
    for rank in range(66):
        send(server, job, f"r{rank}", (now - MINUTE, "step 1 loss 2.5"))
    fail(server, job, time_ms=now)


def assert_holds_nobody_up(server, job):
    """Another job sends three times of what the journal may hold, and then the job can be deleted: for both all of it is sealed."""
    noise = random.Random(1)
    for _ in range(30):
        lines = "".join(f"{noise.randbytes(100).hex()}\n" for _ in range(1000)).encode()
        wait_until(lambda: server.post("/api/v1/logs?job=other&stream=a", lines).status == 200, what="that another job's lines are taken")
    assert server.delete(f"/api/v1/jobs/{job}").status in (200, 204)


def test_faults_too_long_to_be_held_keep_no_job_from_its_end(make_server):
    """Told behind the failure of a job of many streams, and before that of one."""
    server = make_server("--journal-bytes", "1MiB", "--seal-bytes", "100KiB")
    now = int(time.time() * 1000)
    faults = [(now - 3000 + n, line) for n, line in enumerate(LONG_FAULTS)]
    send(server, "before", LONG, *faults, host=LONG)
    server.wait_for_extraction()
    wait_until(lambda: len(server.get('/api/v1/incidents?q=name="before"').body["incidents"]) == 5, what="the faults")
    fail(server, "before", time_ms=now)
    fail_with_many_streams(server, "behind", now)
    send(server, "behind", LONG, *faults, host=LONG)
    for job in ("before", "behind"):
        wait_until(lambda: failed(server, job)[1]["evidence"]["fault"]["signature"] == "xid_79", what=f"the gravest one of {job}")
        document, incident = failed(server, job)
        assert document["FailureReason"].startswith("Xid 79: GPU has fallen off the bus on "), job
        assert incident["evidence"]["fault"]["text"].startswith(XID), job
        assert [line["signature"] for line in incident["evidence"]["fault"]["lines"]] == ["segfault", "bus_error", "cuda_oom"], job
    assert_holds_nobody_up(server, "behind")


def refuse_reasons(server):
    """The database takes no other reason of a failure any more."""
    change = "BEFORE UPDATE ON jobs FOR EACH ROW WHEN (NEW.failure_reason <> OLD.failure_reason)"
    if server.postgres:
        server.sql("CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no other reason'; END $$")
        server.sql(f"CREATE TRIGGER refusing {change} EXECUTE FUNCTION refuse()")
    else:
        server.sql(f"CREATE TRIGGER refusing {change} BEGIN SELECT RAISE(ABORT, 'no other reason'); END")


def test_an_end_that_cannot_be_named_is_let_go(make_server):
    server = make_server("--journal-bytes", "1MiB", "--seal-bytes", "100KiB")
    now = int(time.time() * 1000)
    fail_with_many_streams(server, "j", now)
    server.stop()
    refuse_reasons(server)
    server.start()
    send(server, "j", "r7", (now - 5000, XID), host="n7")
    server.wait_for_log('life_failed .*job="j" error=".*no other reason')
    assert_holds_nobody_up(server, "j")
    assert sum("life_failed" in line for line in server.log) == 1


def test_what_training_outlived_is_not_to_blame(server):
    """Long ago, of a run before, or only a warning some time ago."""
    now = int(time.time() * 1000)
    send(server, "old", "algo-1", (now - 40 * MINUTE, OOM), (now, "step 9 loss 2.5"))
    send(server, "warned", "algo-1", (now - 5 * MINUTE, SLOW_DOWN), (now, "step 9 loss 2.5"))
    send(server, "again", "algo-1", (now - 10 * MINUTE, OOM))
    fail(server, "again", time_ms=now - 9 * MINUTE)
    wait_until(lambda: "GPU out of memory" in failed(server, "again")[0]["FailureReason"], what="the reason")
    assert server.post("/api/v1/jobs/again/transitions", json={"SecondaryStatus": "Training", "time_ms": now - 8 * MINUTE}).status == 204
    send(server, "again", "algo-1", (now - MINUTE, "step 9 loss 2.5"))
    for job in ("old", "warned"):
        wait_until(lambda: server.get(f'/api/v1/incidents?q=name="{job}"&kind=log_signature').body["incidents"], what="the line")
    for job in ("old", "warned", "again"):
        fail(server, job, time_ms=now + 1)
    for job in ("old", "warned"):
        assert "FailureReason" not in failed(server, job, fault=False)[0]
    wait_until(lambda: len(server.get('/api/v1/incidents?q=name="again"&kind=job_failed').body["incidents"]) == 2, what="two failures")
    document, newest = failed(server, "again", fault=False)
    assert "FailureReason" not in document and newest["state"] == "open"


def steps(begin, first, last, every_ms=5000):
    return [(begin + every_ms * (step - first + 1), f"step: {step} loss: {3 - step * .01:.3f}") for step in range(first, last + 1)]


DOUBLE_BIT = "kernel: NVRM: Xid (PCI:0000:9b:00): 48, pid=1, DBE"
CONTAINED = "kernel: NVRM: Xid (PCI:0000:9b:00): 94, pid=1, Contained ECC error"


def causes(server, job):
    return [one["cause"] for one in server.get(f"/api/v1/jobs/{job}/goodput").body["breaks"]]


def break_off(server, job, begin, fault, statuses=(), ends=()):
    """40 steps of 5 s on one machine, its fault, and 120 further ones on another one from a minute later on; the time of the last step."""
    off = begin + 200_000
    send(server, job, "algo-1", *steps(begin, 1, 40), (off + 1000, fault), host=f"{job}-old")
    for n, status in enumerate(statuses):
        row = {"SecondaryStatus": status, "time_ms": off + 5000 + 10_000 * n}
        assert server.post(f"/api/v1/jobs/{job}/transitions", json=row).status == 204
    last = off + 60_000 + 600_000
    send(server, job, "algo-1", *steps(off + 60_000, 31, 150), *((last + after_ms, line) for after_ms, line in ends), host=f"{job}-new")
    return last


def test_a_fault_that_training_went_on_behind_is_no_reason_of_a_later_failure(server, receiver):
    assert server.post("/api/v1/webhooks", json={"url": receiver.url}).status in (200, 201)
    begin = int(time.time() * 1000) - 20 * MINUTE
    ways = {"restarting": ["Restarting"], "interrupted": ["Interrupted", "Starting", "Training"], "steps": [],
            "loading": ["Starting", "Downloading", "Training"], "resumed": ["Failed", "Starting", "Training"]}
    for job, statuses in ways.items():
        last = break_off(server, job, begin, DOUBLE_BIT, statuses, [(1000, OOM)])
    break_off(server, "unnamed", begin, DOUBLE_BIT, ["Restarting"], [(1000, "KeyError: 'labels'")])
    break_off(server, "again", begin, XID, ["Restarting"], [(4000, XID)])
    break_off(server, "over", begin, DOUBLE_BIT, ["Failed", "Starting", "Training"])
    hour = begin - 40 * MINUTE  # a step of a minute; ten minutes before the end the one that it outlives in the hour before
    send(server, "outlived", "algo-2", (last - 50 * MINUTE, CONTAINED), host="n2")
    send(server, "outlived", "algo-1", *((at, line) for at, line in steps(last - 59 * MINUTE, 1, 59, MINUTE)), (last + 1000, OOM), host="n1")
    send(server, "caught", "algo-2", (last - 10 * MINUTE, OOM), host="n2")
    send(server, "caught", "algo-1", *steps(hour, 1, (last - hour) // 5000), (last + 1000, OOM), host="n1")
    server.wait_for_extraction()
    wait_until(lambda: len(server.get("/api/v1/incidents?kind=node_suspect&limit=100").body["incidents"]) == 10, what="all faults of machines")
    for job in (*ways, "unnamed", "again", "outlived", "caught"):
        fail(server, job, time_ms=last + 10_000)
    assert server.post("/api/v1/jobs/over/transitions", json={"SecondaryStatus": "Completed", "time_ms": last + 10_000}).status == 204
    for job, host in (*((job, f"{job}-new") for job in ways), ("outlived", "n1"), ("caught", "n1")):
        document, incident = failed(server, job)
        assert document["FailureReason"] == f"GPU out of memory on {host}: {OOM}", job
        assert (incident["evidence"]["fault"]["signature"], incident["evidence"]["fault"]["host"]) == ("cuda_oom", host)
        first = {"outlived": [], "caught": []}.get(job, ["xid_48"])
        wait_until(lambda: causes(server, job) == [*first, "cuda_oom"], what=f"the causes of {job}")
    assert failed(server, "again")[0]["FailureReason"] == f"Xid 79: GPU has fallen off the bus on again-new: {XID}"
    assert "FailureReason" not in failed(server, "unnamed", fault=False)[0]
    wait_until(lambda: causes(server, "unnamed") == ["xid_48", "unknown"] and causes(server, "again") == ["xid_79", "xid_79"], what="their causes")
    wait_until(lambda: causes(server, "over") == ["xid_48"], what="the cause of an end that nobody explained")
    told = wait_until(lambda: [json.dumps(m) for m in receiver.messages() if m["data"].get("kind") == "job_failed" and m["data"]["job"] == "again"], what="the message")
    assert f"again failed: Xid 79: GPU has fallen off the bus on again-new: {XID}" in told[-1]


def test_what_is_known_of_the_machine_or_of_the_status_goes_before_a_spot_interruption(server):
    """A status Interrupted is one where nothing else is said; a sender that was told to end is a user's stop where nothing else is."""
    begin = int(time.time() * 1000) - 20 * MINUTE
    ways = {  # the status, its message, what the log says, the cause
        "bare": ("Interrupted", None, "all is well", "spot interruption"),
        "other": ("Interrupted", "we will be back", TIMEOUT, "spot interruption"),
        "hardware": ("Interrupted", "hardware failure on node x", "all is well", "hardware failure"),
        "node-fail": ("Interrupted", "NODE_FAIL: requeued by Slurm", "all is well", "node failure"),
        "maintenance": ("Interrupted", "maintenance", "all is well", "maintenance"),
        "preempted": ("Restarting", "preempted by job 9", "all is well", "preempted"),
        "bare-xid": ("Interrupted", None, XID, "xid_79"),
        "node-fail-xid": ("Interrupted", "NODE_FAIL: requeued by Slurm", XID, "xid_79"),
        "restarting-xid": ("Restarting", "NODE_FAIL: requeued by Slurm", XID, "xid_79"),
        "maintenance-xid": ("Interrupted", "maintenance", XID, "maintenance"),
        "stopped": ("Stopped", None, "all is well", "stopped by a user"),
        "stopped-for": ("Stopped", "requeued by Slurm after node failure", "all is well", "node failure"),
        "stopped-xid": ("Stopped", None, XID, "xid_79"),
        "stopped-timeout": ("Stopped", None, TIMEOUT, "stopped by a user"),
    }
    for job, (status, message, line, _) in ways.items():
        off = begin + 200_000
        send(server, job, "algo-1", *steps(begin, 1, 40), (off + 1000, line), host=f"{job}-1")
        for row in ({"SecondaryStatus": status, "time_ms": off + 5000, **({"StatusMessage": message} if message else {})}, {"SecondaryStatus": "Training", "time_ms": off + 50_000}):
            assert server.post(f"/api/v1/jobs/{job}/transitions", json=row).status == 204
        send(server, job, "algo-1", *steps(off + 60_000, 31, 60), host=f"{job}-1")
    server.wait_for_extraction()
    for job, (*_, cause) in ways.items():
        wait_until(lambda job=job, cause=cause: causes(server, job) == [cause], what=f"the cause of {job}, {cause}: {causes(server, job)}")


def test_a_stall_names_what_the_log_said_before_it(make_server):
    server = make_server("--stall-after", "1s")
    start, count = time.time(), 0
    server.send("j", [OOM])
    while time.time() - start < 1.5 or count < 25 or not server.get("/api/v1/incidents?kind=log_signature").body["incidents"]:
        server.send("j", [f"step: {count} loss: 3.0"])
        count += 1
    rows = wait_until(lambda: server.get("/api/v1/incidents?kind=stall").body["incidents"], what="the stall")
    assert rows[0]["evidence"]["fault"]["text"] == OOM and rows[0]["evidence"]["fault"]["title"] == "GPU out of memory"
    assert "micro-batch" in rows[0]["evidence"]["action"]


def watchdog(rank, completed, group="ID 0 PG GUID 0(default_pg)", op="ALLREDUCE", in_group=None):
    """What ProcessGroupNCCL.cpp prints of a rank."""
    of = f"PG {group} Rank {rank if in_group is None else in_group}"
    return [f"[rank{rank}]:[E1129 10:00:00.123 ProcessGroupNCCL.cpp:616] [Rank {rank}] Watchdog caught collective operation timeout: "
        f"WorkNCCL(SeqNum=123, OpType={op}, NumelIn=1, NumelOut=1, Timeout(ms)=200000) ran for 200012 milliseconds before timing out.",
        f"[rank{rank}]:[E1129 10:00:00.125 ProcessGroupNCCL.cpp:1785] [{of}] Exception (either an error or timeout) "
        f"detected by watchdog at work: 123, last enqueued NCCL work: 125, last completed NCCL work: {completed}.",
        f"[rank{rank}]:[E1129 10:00:00.127 ProcessGroupNCCL.cpp:1499] [{of}] Process group watchdog thread terminated "
        "with exception: it is over"]


def hang(server, job, machines, at_ms, **how):
    """machines: of each its stream's ranks, {rank: work}."""
    for number, (host, works) in enumerate(machines.items(), 1):
        lines = [line for rank, completed in works.items() for line in watchdog(rank, completed, **how)]
        if lines:
            send(server, job, f"algo-{number}", *((at_ms + n, line) for n, line in enumerate(lines)), host=host)


def likely(server, job):
    """Of the job's incidents, each asked for by itself, too, once all was read; None: of none."""
    server.wait_for_extraction()
    query = f'/api/v1/incidents?q=name="{job}"&kind=log_signature'

    def look():
        rows = server.get(query).body["incidents"]
        return {row["evidence"]["signature"] for row in rows} >= {"nccl_timeout", "nccl_watchdog"} and rows

    rows = wait_until(look, what=f"the lines of {job}")
    found = [row["evidence"].get("likely") for row in rows]
    assert found == [server.get(f"/api/v1/incidents/{row['id']}").body["incident"]["evidence"].get("likely") for row in rows]
    assert all(one == found[0] for one in found), found
    return found[0]


TRUE = {"gpu001": {0: 122, 1: 122}, "gpu002": {2: 122, 3: 122}, "gpu003": {4: 121, 5: 121}, "gpu004": {6: 122, 7: 122}}


def test_the_machine_whose_ranks_stopped_first_is_named(server, receiver):
    """In the incident, once all had time to speak; what is sent and kept of the failure names who complains first, as ever."""
    assert server.post("/api/v1/webhooks", json={"url": receiver.url}).status in (200, 201)
    now = int(time.time() * 1000)
    hang(server, "j", TRUE, now - MINUTE)
    found = {"host": "gpu003", "stream": "algo-3", "text": "2 ranks stopped at work 121, the 6 others at 122"}
    wait_until(lambda: likely(server, "j") == found, what="the ranks that are behind")
    assert not any("likely" in row["evidence"] for row in server.get("/api/v1/incidents").body["incidents"])  # of all jobs
    fail(server, "j", time_ms=now)
    document, incident = failed(server, "j")
    assert document["FailureReason"].startswith("NCCL timeout, first reported by gpu001: [rank")
    assert incident["evidence"]["fault"]["summary"] == "NCCL timeout, first reported by gpu001"
    message = wait_until(lambda: [m for m in receiver.messages() if m["data"]["kind"] == "job_failed"], what="the message")[0]
    assert "gpu003" not in json.dumps(message)


def test_a_rank_is_named_without_a_machine_where_one_stream_has_them_all(server):
    now = int(time.time() * 1000)
    hang(server, "one", {"node001": {rank: 121 if rank == 22 else 122 for rank in range(32)}}, now - MINUTE)
    wait_until(lambda: likely(server, "one") == {"text": "rank 22 stopped at work 121, the 31 others at 122"}, what="the rank that is behind")


def test_nobody_is_named_where_the_lines_do_not_prove_it(server):
    now = int(time.time() * 1000)
    then = now - MINUTE
    three = {"gpu001": {0: 122}, "gpu002": {1: 122}, "gpu003": {2: 122}}
    behind = {"gpu001": {0: 122}, "gpu002": {1: 121}, "gpu003": {2: 122}}
    hang(server, "replaced", three, then)
    send(server, "replaced", "algo-3", (then + 2000, "step 2 loss 2.4"), host="gpu009")
    send(server, "launched", "launcher", (then - 12 * MINUTE, "Launching 3 nodes"), host="login01")
    hang(server, "launched", three, then)
    hang(server, "early", behind, now)
    hang(server, "silent", {"gpu001": {0: 122}, "gpu002": {1: 121}, "gpu003": {3: 122}}, then)
    hang(server, "pipeline", {"gpu001": {0: 1200}, "gpu002": {1: 2400}, "gpu003": {2: 2399}, "gpu004": {3: 1199}}, then)
    hang(server, "sends", behind, then, op="SEND")
    hang(server, "counter", behind, then, group="1")
    hang(server, "shared", behind, then, group="ID 1 PG GUID 1(mesh_tp)")
    hang(server, "part", behind, then, group="0", in_group=0)
    hang(server, "again", {"gpu001": {0: 122}, "gpu003": {2: 122}}, then - 5 * MINUTE)
    hang(server, "again", {"-": {}, "gpu002": {1: 121}}, then)
    hang(server, "resumed", behind, then - 2000)
    for status, at_ms in (("Failed", then - 1000), ("Training", then)):
        assert server.post("/api/v1/jobs/resumed/transitions", json={"SecondaryStatus": status, "time_ms": at_ms}).status == 204
    hang(server, "provable", behind, then)  # what all of these were but for that
    wait_until(lambda: likely(server, "provable"), what="the one that is provable")
    for job in ("replaced", "launched", "early", "silent", "pipeline", "sends", "counter", "shared", "part", "again", "resumed"):
        assert likely(server, job) is None, job
