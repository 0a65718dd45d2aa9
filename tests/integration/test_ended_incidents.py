"""What was open when its job ended is over with it, and counts are as long as the lists that they lead to."""

import pytest
from smserver import quote, wait_until

XID = "NVRM: Xid (PCI:0000:a7:00): 79, pid=1234, GPU has fallen off the bus."


def incidents(server, whole=False, **wanted):
    rows = server.get(f"/api/v1/incidents?limit=1000&all={'true' if whole else 'false'}").body["incidents"]
    return [row for row in rows if all(row.get(key) == value for key, value in wanted.items())]


def wait_for(server, **wanted):
    return wait_until(lambda: incidents(server, **wanted), what=f"an incident {wanted}")


def end(server, job, status="Completed", **fields):
    assert server.post(f"/api/v1/jobs/{job}/transitions", json={"SecondaryStatus": status, **fields}).status == 204


def open_both(server, job):
    """A machine at fault, and a loss that stays NaN."""
    assert server.post("/api/v1/sessions", json={"job": job, "stream": "algo-1", "host": "gpu017"}).status == 201
    server.send(job, [f"step: {n} loss: 2.{n}" for n in range(3)] + ["step: 3 loss: nan", XID], stream="algo-1")
    wait_for(server, job=job, kind="node_suspect", state="open")
    wait_for(server, job=job, kind="non_finite", state="open")


@pytest.mark.parametrize("status", ["Completed", "Stopped", "Failed"])
def test_what_is_open_is_closed_with_the_job(server, receiver, status):
    assert server.post("/api/v1/webhooks", json={"url": receiver.url}).status == 201
    open_both(server, "j")
    end(server, "j", status)
    wait_until(lambda: not [row for row in incidents(server, state="open") if row["kind"] != "job_failed"], what="the end of all")
    ended_ms = round(server.get("/api/v1/jobs/j").body["TrainingEndTime"] * 1000)
    closed = [row for row in incidents(server, job="j") if row["kind"] != "job_failed"]
    assert {"node_suspect", "non_finite"} <= {row["kind"] for row in closed}
    assert {(row["state"], row.get("closed_why")) for row in closed} == {("recovered", "job_ended")}, closed
    assert all(row["closed_ms"] == max(ended_ms, row["opened_ms"]) for row in closed)
    assert len(incidents(server, kind="job_failed", state="open")) == (status == "Failed")
    if status != "Failed":  # else the group goes on with the failure
        over = wait_until(lambda: [m for m in receiver.messages() if m["type"] == "incident.recovered"], what="the message")
        assert over[0]["data"]["closed_why"] == "job_ended" and over[0]["data"]["summary"].count("until the job ended") == 1
    assert server.get("/api/v1/jobs/j").body["open_incidents"] == (status == "Failed")


def test_what_opens_after_the_end_is_closed_and_what_was_over_says_so(server):
    server.send("j", [f"step: {n} loss: {v}" for n, v in enumerate(["2.5", "nan", *["2.5"] * 40])])
    wait_for(server, kind="non_finite", state="recovered")
    end(server, "j")
    server.send("j", ["step: 50 loss: 2.5", "step: 51 loss: 2.4", "step: 52 loss: nan"], stream="late")
    rows = wait_until(lambda: len(found := incidents(server, True, kind="non_finite", state="recovered")) == 2 and found, what="both")
    assert sorted(row.get("closed_why", "") for row in rows) == ["", "job_ended"]


def test_counts_are_as_long_as_their_lists(make_server):
    server = make_server("--silent-after", "2s")
    for rank in range(3):  # one cause on three streams is one row
        server.send("folded", ["step: 0 loss: 2.5", "step: 1 loss: 2.4", "step: 2 loss: nan"], stream=f"rank-{rank}")
    server.send("plain", ["step: 0 loss: 2.5", "step: 1 loss: nan"])
    wait_until(lambda: len(server.get("/api/v1/incidents?all=true").body["incidents"]) >= 4, what="all incidents")
    server.send("over", ["step: 0 loss: 2.5"])
    end(server, "over")

    def lists():
        fleet = server.get("/api/v1/fleet").body
        rows = incidents(server, state="open")
        shown = {name: sum(row["severity"] == name for row in rows) for name in ("info", "warning", "critical")}
        statuses = {name: len(server.get(f"/api/v1/jobs?q={quote('status:' + name.lower())}").body["jobs"]) for name in ("InProgress", "Completed")}
        silent = {row["TrainingJobName"] for row in server.get(f"/api/v1/jobs?q={quote('silent>2s')}").body["jobs"]}
        return fleet, shown, statuses, silent

    def all_are_silent():
        fleet, shown, statuses, silent = lists()
        return fleet["jobs"]["silent"] == 2 and silent == {"folded", "plain"} and (fleet, shown, statuses)
    fleet, shown, statuses = wait_until(all_are_silent, what="the silence")
    assert fleet["open_incidents"] == shown and sum(shown.values()) == sum(
        server.get(f"/api/v1/jobs/{job}").body["open_incidents"] for job in ("folded", "plain"))
    assert statuses == {"InProgress": 2, "Completed": 1} == {name: fleet["jobs"][name] for name in statuses}

    server.stop()  # while it was down nobody was silent, in the sum and in the list
    server.start("127.0.0.1:0", "--silent-after", "1h")
    fleet, _, _, silent = lists()
    assert fleet["jobs"]["silent"] == 0 and server.get(f"/api/v1/jobs?q={quote('silent>1h')}").body["jobs"] == []


def test_who_was_told_of_what_a_deleted_job_had_open_is_told_its_end(server, receiver):
    assert server.post("/api/v1/webhooks", json={"url": receiver.url}).status == 201
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "j"}).status == 201
    end(server, "j", "Failed")
    receiver.wait_for(1)
    assert server.delete("/api/v1/jobs/j").status == 204
    receiver.wait_for(2)
    opened, over = receiver.messages()
    assert [(m["type"], m["data"]["kind"], m["data"]["id"]) for m in (opened, over)] == [
        ("incident.opened", "job_failed", opened["data"]["id"]), ("incident.recovered", "job_failed", opened["data"]["id"])]
