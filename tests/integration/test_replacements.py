"""Machines that were replaced in a job: when, why, how long it took, and whether the fault went with the machine or stayed in the stream."""

import json
import time

import pytest

from smserver import wait_until

MINUTE_MS = 60_000
XID = "kernel: NVRM: Xid (PCI:0000:02:00): 79, GPU has fallen off the bus."
ECC = "kernel: NVRM: Xid (PCI:0000:02:00): 48, pid=1, DBE (double bit error) detected"


@pytest.fixture(scope="module")
def begin_ms():
    return int(time.time() * 1000) - 3 * 24 * 60 * MINUTE_MS


@pytest.fixture
def send(server, begin_ms):
    """Lines at these minutes; step N at minute N, unless a text is given."""
    def run(job, host, *minutes, stream="algo-1"):
        rows = [minute if isinstance(minute, tuple) else (minute, f"step: {minute} loss: 2.0") for minute in minutes]
        body = "".join(json.dumps({"line": text, "ts": begin_ms + minute * MINUTE_MS}) + "\n" for minute, text in rows)
        assert server.post(f"/api/v1/logs?job={job}&stream={stream}&host={host}", body.encode(),
            content_type="application/x-ndjson").status == 200
        server.wait_for_extraction()
    return run


def replacements(server, job, query=""):
    reply = server.get(f"/api/v1/jobs/{job}/replacements{query}")
    assert reply.status == 200, reply
    return reply.body["replacements"]


def replaced(server, job, followed):
    """The job's only replacement, once faults are told."""
    def found():
        rows = replacements(server, job)
        return len(rows) == 1 and rows[0]["fault_followed"] == followed and rows
    return wait_until(found, what=f"a fault that is followed: {followed}")[0]


def test_a_replacement_and_its_fault(server, send, begin_ms):
    """n1 works from minute 0 and breaks at 100; n2 takes over at 112: twelve minutes, and a hundred minutes without say that it is gone."""
    send("j", "n1", 0, 50, (100, XID))
    assert replacements(server, "j") == []
    send("j", "n2", 112, 142)
    row = replaced(server, "j", "too early")
    assert row == {"stream": "algo-1", "to_stream": "algo-1", "moved": 0, "from": "n1", "to": "n2", "line": 3, "at_ms": begin_ms + 112 * MINUTE_MS,
        "last_ms": begin_ms + 100 * MINUTE_MS, "took_ms": 12 * MINUTE_MS, "took_from": "log", "why": "xid_79 on n1",
        "fault": {"host": "n1", "signature": "xid_79", "ts_ms": begin_ms + 100 * MINUTE_MS, "line": 2, "text": XID}, "incident": None,
        "fault_followed": "too early", "seen_again": None, "observed_ms": 30 * MINUTE_MS, "needed_ms": 100 * MINUTE_MS}
    send("j", "n2", 211)
    assert replaced(server, "j", "too early")["observed_ms"] == 99 * MINUTE_MS
    send("j", "n2", 212)
    assert replaced(server, "j", "not seen again")["observed_ms"] == 100 * MINUTE_MS
    server.restart()
    assert replaced(server, "j", "not seen again")["took_ms"] == 12 * MINUTE_MS


def test_what_is_too_early_when_the_job_ends_will_never_be_proved(server, send, begin_ms):
    """n1 breaks at 100, n2 works from 112 to 142 of the hundred minutes, and the job ends; a job that goes on is watched on."""
    send("j", "n1", 0, 50, (100, XID))
    send("j", "n2", 112, 142)
    assert "followed_why" not in replaced(server, "j", "too early")
    say = lambda status, minute: server.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": status, "time_ms": begin_ms + minute * MINUTE_MS})
    assert say("Completed", 150).status == 204
    row = replaced(server, "j", "not provable")
    assert row["followed_why"] == "the job ended when the new machine had worked for 30 of 100 minutes"
    assert say("Training", 160).status == 204
    assert "followed_why" not in replaced(server, "j", "too early")
    send("j", "n3", 170)
    rows = wait_until(lambda: len(found := replacements(server, "j")) == 2 and found, what="the third machine")
    assert [row["fault_followed"] for row in rows] == [None, "not provable"]
    assert rows[1]["followed_why"] == "another machine took its place when the new machine had worked for 30 of 100 minutes"


def test_the_fault_stays_in_the_stream(server, send, begin_ms):
    send("j", "n1", 0, (100, XID))
    send("j", "n2", 112, (130, ECC), (150, XID))
    row = replaced(server, "j", "stream")
    assert row["seen_again"] == {"host": "n2", "signature": "xid_79", "ts_ms": begin_ms + 150 * MINUTE_MS, "line": 4, "text": XID}
    assert row["seen_again_job"] == "j"
    send("k", "n1", (200, XID))  # that it came on the old machine, too, is later
    wait_until(lambda: server.get("/api/v1/nodes/n1").body["fault_list"][0]["job"] == "k", what="the later fault")
    assert replaced(server, "j", "stream")["why"] == "xid_79 on n1"


def test_the_fault_goes_with_the_machine(server, send, begin_ms):
    send("j", "n1", 0, (100, XID))
    send("j", "n2", 112, 300)
    send("k", "n1", 120, (140, XID), stream="algo-7")
    row = replaced(server, "j", "machine")
    assert (row["seen_again"]["host"], row["seen_again"]["ts_ms"], row["seen_again_job"]) == ("n1", begin_ms + 140 * MINUTE_MS, "k")
    assert replacements(server, "k") == []


def test_another_fault_of_the_new_machine_is_not_that_one(server, send):
    send("j", "n1", 0, (100, XID))
    send("j", "n2", 112, (150, ECC), 300)
    assert replaced(server, "j", "not seen again")["seen_again"] is None


def test_nobody_knows_why(server, send):
    send("j", "n1", 0, (10, XID), 100)  # ninety minutes before its last line: it was outlived
    send("j", "n2", 112)
    row = replaced(server, "j", None)
    assert (row["why"], row["fault"], row["incident"], row["took_ms"]) == ("not known", None, None, 12 * MINUTE_MS)
    assert "needed_ms" not in row


def test_an_incident_says_why(server, send):
    send("j", "n1", 0, (100, "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"))
    send("j", "n2", 112)
    wait_until(lambda: server.get("/api/v1/jobs/j/replacements").body["replacements"][0]["incident"], what="the incident")
    row, = replacements(server, "j")
    incident, = [one for one in server.get("/api/v1/incidents?kind=log_signature").body["incidents"]]
    assert (row["why"], row["incident"]["id"], row["fault"], row["fault_followed"]) == ("cuda_oom on n1", incident["id"], None, None)


def test_what_the_first_machine_says_of_another_one_is_not_why_it_was_replaced(server, send):
    """slurmstepd names the batch host, whichever machine failed; what others saw of that is part of its incident."""
    lost = "slurmstepd: error: *** STEP 4711.0 ON {} CANCELLED AT 2026-11-27T00:10:00 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***"
    for job, of_n2 in (("j", "srun: error: Node failure on j-n2"), ("k", None)):
        n1, n2, n3 = (f"{job}-n{n}" for n in (1, 2, 3))
        send(job, n1, 0, (100, lost.format(n1)), *([(100.1, of_n2)] if of_n2 else []))
        send(job, n2, 0, 99, stream="algo-2")
        send(job, n3, 112)
    wait_until(lambda: [row["kind"] for row in server.get('/api/v1/incidents?q=name="j"').body["incidents"]] == ["node_suspect"], what="the incident of n2")
    row, = [row for row in replacements(server, "j") if row["from"] == "j-n1"]
    assert (row["why"], row["incident"]) == ("not known", None)
    wait_until(lambda: replacements(server, "k")[0]["incident"], what="the symptom")
    assert replacements(server, "k")[0]["why"] == "slurm_lost_a_node"  # of a machine, and nobody knows which


def test_several_newest_first_and_the_limit(server, send):
    for number, minute in enumerate((0, 100, 200)):
        send("j", f"n{number}", minute, minute + 90)
    send("j", "m0", 0, 120, stream="algo-2")
    send("j", "m1", 150, stream="algo-2")
    rows = replacements(server, "j")
    assert [(row["stream"], row["from"], row["to"], row["took_ms"] // MINUTE_MS) for row in rows] == [
        ("algo-1", "n1", "n2", 10), ("algo-2", "m0", "m1", 30), ("algo-1", "n0", "n1", 10)]
    body = server.get("/api/v1/jobs/j/replacements?limit=2").body
    assert len(body["replacements"]) == 2 and body["left_out"] == 1 and body["shared_streams"] == 0
    for bad in ("0", "1001", "x"):
        assert server.get(f"/api/v1/jobs/j/replacements?limit={bad}").status == 400
    assert server.get("/api/v1/jobs/nobody/replacements").status == 404


def test_machines_that_share_a_stream_replace_nobody(server, send):
    for minute in (0, 1, 2):
        send("j", "n1", minute)
        send("j", "n2", minute)
    body = server.get("/api/v1/jobs/j/replacements").body
    assert (body["replacements"], body["shared_streams"]) == ([], 1)


def test_ranks_that_moved_up_are_not_replaced(server, send):
    """Of n1 … n6 n3 dies; the job is started again on n1, n2, n4 … n7, in this order: n3 is out, n7 in, and n4 to n6 are at work."""
    before, after = [f"n{i}" for i in (1, 2, 3, 4, 5, 6)], [f"n{i}" for i in (1, 2, 4, 5, 6, 7)]
    for rank, host in enumerate(before, 1):
        send("j", host, 0, 100, *([(101, XID)] if host == "n3" else []), stream=f"algo-{rank}")
    for rank, host in enumerate(after, 1):
        send("j", host, 112 + rank, stream=f"algo-{rank}")
    row = replaced(server, "j", "too early")
    assert [row[key] for key in ("from", "to", "stream", "to_stream", "line", "moved", "why")] == ["n3", "n7", "algo-3", "algo-6", 2, 3, "xid_79 on n3"]
    assert (row["took_ms"], row["observed_ms"]) == (17 * MINUTE_MS, 0)  # from minute 101 to 118, the last so far


def go_on(server, job, before, **tags):
    """Announces a job that goes on with another one."""
    tags = [{"Key": key, "Value": value} for key, value in {"continues": before, **tags}.items()]
    assert server.post("/api/v1/jobs", json={"TrainingJobName": job, "Tags": tags}).status in (200, 201)


def test_a_machine_that_was_replaced_between_two_jobs(server, send, begin_ms):
    """j ends at 101, k goes on at 112 with n9 in the place of n2; the row says which job that was, and follows the fault as ever."""
    for rank, host in enumerate(("n1", "n2", "n3"), 1):
        send("j", host, 0, 100, *([(101, XID)] if host == "n2" else []), stream=f"algo-{rank}")
    go_on(server, "k", "j")
    for rank, host in enumerate(("n1", "n9", "n3"), 1):
        send("k", host, 112, 142, stream=f"algo-{rank}")
    row = replaced(server, "k", "too early")
    assert row == {"stream": "algo-2", "to_stream": "algo-2", "moved": 0, "from_job": "j", "from": "n2", "to": "n9", "line": 0,
        "at_ms": begin_ms + 112 * MINUTE_MS, "last_ms": begin_ms + 101 * MINUTE_MS, "took_ms": 11 * MINUTE_MS, "took_from": "log", "why": "xid_79 on n2",
        "fault": {"host": "n2", "signature": "xid_79", "ts_ms": begin_ms + 101 * MINUTE_MS, "line": 2, "text": XID}, "incident": None,
        "fault_followed": "too early", "seen_again": None, "observed_ms": 30 * MINUTE_MS, "needed_ms": 101 * MINUTE_MS}
    assert replacements(server, "j") == []
    send("k", "n9", (150, XID), stream="algo-2")
    row = replaced(server, "k", "stream")
    assert (row["seen_again"]["host"], row["seen_again_job"]) == ("n9", "k")
    send("k", "n8", 180, stream="algo-2")  # and one within the job behind it
    rows = wait_until(lambda: (found := replacements(server, "k"))[0]["fault"] and found, what="the later fault")
    assert [(row.get("from_job"), row["from"], row["to"], row["why"]) for row in rows] == [(None, "n9", "n8", "xid_79 on n9"), ("j", "n2", "n9", "xid_79 on n2")]


def test_an_incident_of_the_job_before_says_why(server, send):
    send("j", "n1", 0, (100, "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"))
    wait_until(lambda: server.get("/api/v1/incidents?kind=log_signature").body["incidents"], what="the incident")
    go_on(server, "k", "j")
    send("k", "n2", 112)
    row, = replacements(server, "k")
    [incident] = server.get('/api/v1/incidents?q=name="j"&kind=log_signature').body["incidents"]
    assert (row["why"], row["incident"]["id"], row["from_job"]) == ("cuda_oom on n1", incident["id"], "j")


@pytest.mark.parametrize("after, expected", [((1, 2, 4, 5, 6, 7), [("n3", "n7", 3)]), ((1, 2, 4, 5, 6), []), ((1, 3, 2, 4, 5, 6), [])])
def test_ranks_that_moved_up_between_two_jobs_are_not_replaced(server, send, after, expected):
    """With a spare machine, with one less, and where two only changed places."""
    for rank in range(1, 7):
        send("j", f"n{rank}", 0, 100, *([(101, XID)] if rank == 3 else []), stream=f"algo-{rank}")
    go_on(server, "k", "j")
    for rank, host in enumerate(after, 1):
        send("k", f"n{host}", 112 + rank, stream=f"algo-{rank}")
    assert [(row["from"], row["to"], row["moved"]) for row in replacements(server, "k")] == expected


def test_who_goes_on_elsewhere_or_has_no_name_was_not_replaced(server, send):
    """A fork leaves the job before where it is; one that still sends is beside it; SageMaker's own names are other ones in each job."""
    send("j", "n1", 0, 100)
    go_on(server, "fork", "j", **{"wandb.fork_from": "j"})
    send("fork", "n2", 112)
    go_on(server, "beside", "j")
    send("beside", "n3", 99)
    send("s", "s/algo-1-1600000000", 0, 100)
    go_on(server, "t", "s")
    send("t", "t/algo-1-1700000000", 112)
    for job in ("fork", "beside", "t"):
        assert replacements(server, job) == [], job


def test_machines_that_change_places_replace_nobody(server, send):
    for rank, (old, new) in enumerate((("n1", "n2"), ("n2", "n3"), ("n3", "n1")), 1):
        send("j", old, 0, (100, XID) if old == "n1" else 100, stream=f"algo-{rank}")
        send("j", new, 110 + rank, stream=f"algo-{rank}")
    assert replacements(server, "j") == []


def test_a_machine_that_comes_back_hours_later_by_the_log_shares_nothing(server, send):
    """A log of the past comes at once: by its own times n2 had worked for two hours when n1 came back."""
    send("j", "n1", 0, (100, XID))
    send("j", "n2", 112, 232)
    send("j", "n1", 240, 300)
    body = wait_until(lambda: (found := server.get("/api/v1/jobs/j/replacements").body)["replacements"][-1]["fault"] and found, what="the fault")
    assert [(row["from"], row["to"], row["took_ms"] // MINUTE_MS) for row in body["replacements"]] == [("n2", "n1", 8), ("n1", "n2", 12)]
    wait_until(lambda: server.get("/api/v1/incidents?kind=node_suspect").body["incidents"], what="the incident")
    assert [row["why"] for row in replacements(server, "j")] == ["not known", "xid_79 on n1"]  # n2 did not go for what n1 had
    assert body["shared_streams"] == 0


def test_a_machine_that_is_back_within_minutes_of_the_log_shares(server, send):
    send("j", "n1", 0, 100)
    send("j", "n2", 112)
    send("j", "n1", 120)
    assert server.get("/api/v1/jobs/j/replacements").body["shared_streams"] == 1


def test_times_that_stand_in_the_text(server):
    """They are read after the line is stored, under the machine that sent it."""
    day = time.strftime("%Y-%m-%d", time.gmtime(time.time() - 2 * 86400))
    for host, text in (("a", f"{day}T13:00:10Z step: 1 loss: 2.8\n{day}T13:00:20Z {XID}\n"), ("b", f"{day}T13:20:20Z step: 2 loss: 2.7\n")):
        assert server.post(f"/api/v1/logs?job=j&stream=algo-1&host={host}", text, content_type="text/plain").status == 200
        server.wait_for_extraction()
    wait_until(lambda: [(row["took_ms"], row["took_from"], row["at_ms"] - row["last_ms"]) for row in replacements(server, "j")]
        == [(1_200_000, "log", 1_200_000)], what="twenty minutes")


def test_machines_that_only_send_points(server, begin_ms):
    """Their rows have no line; how long it took is told by when they arrived."""
    for host, step in (("n1", 1), ("n2", 2)):
        assert server.post(f"/api/v1/points?job=p&host={host}", json={"series": [{"metric": "loss", "stream": "algo-1",
            "step": [step], "ts_ms": [begin_ms], "value": [1.0]}]}).status == 200
    row, = replacements(server, "p")
    assert (row["from"], row["to"], row["took_from"], row["last_ms"]) == ("n1", "n2", "arrival", None)
    assert 0 <= row["took_ms"] < 600_000


def test_the_old_machines_lines_were_deleted(make_server, begin_ms):
    """When its last line was written is not known any more; that and why it was replaced stay."""
    server = make_server("--seal-age", "100ms")
    for host, minutes in (("n1", (0, (100, XID))), ("n2", (112,))):
        rows = [minute if isinstance(minute, tuple) else (minute, "x" * 400) for minute in minutes]
        body = "".join(json.dumps({"line": text, "ts": begin_ms + minute * MINUTE_MS}) + "\n" for minute, text in rows)
        assert server.post(f"/api/v1/logs?job=j&stream=algo-1&host={host}", body.encode(), content_type="application/x-ndjson").status == 200
    assert replaced(server, "j", "too early")["took_from"] == "log"
    assert server.post("/api/v1/jobs/j/transitions",
        json={"SecondaryStatus": "Completed", "time_ms": begin_ms + 113 * MINUTE_MS}).status == 204
    assert server.patch("/api/v1/jobs/j", json={"retention": {"max_age_days": 1}}).status == 200
    wait_until(lambda: server.get("/api/v1/jobs/j/logs?stream=algo-1&from=0&limit=1").status == 410, what="the text to go")
    row, = replacements(server, "j")
    assert (row["took_from"], row["last_ms"], row["why"]) == ("arrival", None, "xid_79 on n1") and 0 <= row["took_ms"] < 600_000


@pytest.mark.parametrize("again", [None, "stream"])
def test_a_job_that_was_imported_tells_the_same(server, send, make_server, again):
    """The ledger of machines stays where it is; what the job's log said outright goes along."""
    send("j", "n1", 0, 50, (100, XID))
    send("j", "n2", 112, *([(150, XID)] if again else []), 212)
    before = replaced(server, "j", again or "not seen again")
    assert before["why"] == "xid_79 on n1"
    other = make_server()
    body = server.get("/api/v1/export").raw
    assert other.post("/api/v1/import", body, content_type="application/x-ndjson").body["imported"] == 1
    assert replaced(other, "j", again or "not seen again") == before
    assert other.get("/api/v1/nodes/n1").body.get("fault_list", []) == []


def test_of_two_machines_with_the_same_fault_an_import_tells_both(server, send, make_server):
    """Their kernels say it in streams of their own, minutes apart; each is replaced."""
    for number in (1, 2):
        send("j", f"n{number}", 0, 50, 100, stream=f"algo-{number}")
        send("j", f"n{number}", (100 + number, XID), stream=f"system/n{number}")
    for number in (1, 2):
        send("j", f"n{number + 2}", 112, 142, stream=f"algo-{number}")

    def found(at):
        rows = [(row["from"], row["why"], (row["fault"] or {}).get("signature"), row["fault_followed"]) for row in replacements(at, "j")]
        return len(rows) == 2 and all(row[2] for row in rows) and sorted(rows)
    before = wait_until(lambda: found(server), what="both faults")
    other = make_server()
    assert other.post("/api/v1/import", server.get("/api/v1/export").raw, content_type="application/x-ndjson").body["imported"] == 1
    assert wait_until(lambda: found(other), timeout=15, what=lambda: replacements(other, "j")) == before
