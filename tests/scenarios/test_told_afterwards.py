"""Lives that are told afterwards: a log posted at once with a document behind it, a chain of three, an import of last year's folder."""

import datetime

import pytest

from facts import expect_facts
from smserver import quote, wait_until

DAY0_S = int(datetime.datetime(2026, 3, 2, 9, tzinfo=datetime.timezone.utc).timestamp())
TYPE, PER_HOUR = "ml.scenario.8xlarge", 36


def stamp(at_s):
    return datetime.datetime.fromtimestamp(at_s, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def trained(at_s, first, last, step_s=10):
    """Lines of the steps first…last; step `first` is printed at at_s."""
    return [f"{stamp(at_s + (step - first) * step_s)} step {step} loss: {4 - step / 1000:.4f}" for step in range(first, last + 1)]


def document(name, nodes, **members):
    return {"TrainingJobName": name, "ResourceConfig": {"InstanceType": TYPE, "InstanceCount": nodes, "VolumeSizeInGB": 50}, **members}


def say(server, job, status, at_s, **members):
    reply = server.post(f"/api/v1/jobs/{quote(job)}/transitions", json={"SecondaryStatus": status, "time_ms": at_s * 1000, **members})
    assert reply.status in (200, 204), reply


@pytest.fixture
def priced(server):
    reply = server.put("/api/v1/prices", json={"currency": "EUR", "prices": [{"instance": TYPE, "per_hour": PER_HOUR}]})
    assert reply.status == 200, reply
    return server


def test_a_log_at_once_and_a_document_behind_it(priced):
    """curl posts the whole log of a run that is over; who ran it files the document, and how it ended, later."""
    begun_s, steps, step_s = DAY0_S, 100, 10
    log = [f"{stamp(begun_s)} loading the data", *trained(begun_s + 60, 1, steps, step_s)]
    log.insert(40, "Traceback of a warning, printed without a time")
    priced.send("told-late", log)
    reply = priced.post("/api/v1/jobs", json=document("told-late", 4))
    assert reply.status in (200, 201), reply
    ended_s = begun_s + 60 + (steps - 1) * step_s
    say(priced, "told-late", "Completed", ended_s)

    wall_s = ended_s - begun_s
    seconds = {"first_step": 60 - step_s, "productive": steps * step_s}
    assert sum(seconds.values()) == wall_s
    cost = wall_s * 4 * PER_HOUR / 3600
    expect_facts(priced, "told-late", status=("Completed", "Completed"), phases=[("Training", begun_s), ("Completed", ended_s)],
        start=begun_s, start_from="assumed", end=ended_s, end_from="stated", nodes=4, nodes_from="stated", lines=steps + 2,
        attempts=1, last_step=steps, lost_steps=0, wall_s=wall_s, seconds=seconds, goodput=100 * steps * step_s / wall_s,
        billable_s=wall_s, cost=cost, incidents=[])


def test_a_chain_of_three(priced):
    """28 days are the most that a job may take: a run is three jobs, each going on from the checkpoint of the one before."""
    names, at_s, wanted = ["chain-1", "chain-2", "chain-3"], DAY0_S, []
    for number, (name, first, last, saved) in enumerate(zip(names, (1, 41, 81), (50, 90, 120), (40, 80, 120))):
        tags = [{"Key": "continues", "Value": names[number - 1]}] if number else []
        assert priced.post("/api/v1/jobs", json=document(name, 2, Tags=tags)).status in (200, 201)
        lines = trained(at_s + 30, first, last)
        checkpoint = saved - first + 1
        lines.insert(checkpoint, lines[checkpoint - 1].split(" ")[0] + f" saved checkpoint at step {saved}")
        priced.send(name, lines)
        ended_s = at_s + 30 + (last - first) * 10
        say(priced, name, "Training", at_s)
        is_last = number == len(names) - 1
        say(priced, name, "Completed" if is_last else "Failed", ended_s, **({} if is_last else {"FailureReason": "hardware failure"}))
        wanted.append((name, at_s, ended_s, last))
        at_s = ended_s + 600
    for name, begun_s, ended_s, last in wanted:
        expect_facts(priced, name, start=begun_s, start_from="stated", end=ended_s, end_from="stated", nodes=2, last_step=last,
            wall_s=ended_s - begun_s, billable_s=ended_s - begun_s, cost=(ended_s - begun_s) * 2 * PER_HOUR / 3600)
    redone_s = (50 - 40) * 10 + (90 - 80) * 10
    idle_s = 2 * 600

    def is_worked_out():
        """What a job makes again is taken from the one before it, which has been worked out once by then."""
        run = priced.get("/api/v1/jobs/chain-3/run").body
        assert not run["goodput"].get("pending_jobs") and [row["TrainingJobName"] for row in run["jobs"]] == names, run
        seconds = {name: bucket["node_hours"] * 3600 / 2 for name, bucket in run["goodput"]["buckets"].items()}
        assert abs(seconds["redone"] - redone_s) < 1 and abs(seconds["idle"] - idle_s) < 1, seconds
        assert abs(sum(seconds.values()) - (wanted[-1][2] - wanted[0][1])) < 1, seconds
        return True
    wait_until(is_worked_out, what="the goodput of the run")


def test_what_lies_between_a_failure_and_its_resumption_is_not_billed(priced):
    """Failed, looked at for two days, and taken up again under the same name."""
    begun_s, gap_s, restarting_s = DAY0_S, 2 * 86400, 60
    assert priced.post("/api/v1/jobs", json=document("resumed", 4)).status in (200, 201)
    say(priced, "resumed", "Training", begun_s)
    priced.send("resumed", trained(begun_s + 10, 1, 60))
    failed_s = begun_s + 610
    say(priced, "resumed", "Failed", failed_s, FailureReason="AlgorithmError: exit code 9")
    again_s = failed_s + gap_s
    say(priced, "resumed", "Restarting", again_s)
    say(priced, "resumed", "Training", again_s + restarting_s)
    priced.send("resumed", trained(again_s + restarting_s + 10, 61, 120))
    ended_s = again_s + restarting_s + 610
    say(priced, "resumed", "Completed", ended_s)
    billable_s = 610 + restarting_s + 610
    expect_facts(priced, "resumed", status=("Completed", "Completed"), start=begun_s, end=ended_s, last_step=120, lost_steps=0,
        billable_s=billable_s, cost=billable_s * 4 * PER_HOUR / 3600)
    assert priced.get("/api/v1/jobs/resumed").body["BillableTimeInSeconds"] == billable_s
    (group,) = priced.get("/api/v1/aggregate?q=" + quote('name="resumed"') + "&by=name&of=sum:billable").body["groups"]
    assert group["sum:billable"] == billable_s, group


def test_an_import_of_last_years_folder(server, ship):
    """sm-ship --import of a folder tree: the times are those of the lines; nothing is told, nothing runs, nothing is billed as today."""
    year = DAY0_S - 365 * 86400
    for run, steps in (("bert", 30), ("gpt", 60)):
        for node in (1, 2):
            file = ship.folder / "old" / run / f"algo-{node}.out"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("".join(line + "\n" for line in trained(year, 1, steps)))
    pattern = str(ship.folder / "old") + r"/(?<job>[^/]+)/(?<stream>.+)[.]out"
    for _ in range(2):  # again, and nothing is doubled
        done = ship.run("--import", pattern)
        assert done.returncode == 0, done.stderr
    for run, steps in (("bert", 30), ("gpt", 60)):
        expect_facts(server, run, start=year, start_from="assumed", end=year + (steps - 1) * 10, end_from="assumed", nodes=2, nodes_from="streams", lines=2 * steps, attempts=1,
            last_step=steps, wall_s=(steps - 1) * 10, billable_s=(steps - 1) * 10, cost=None)
