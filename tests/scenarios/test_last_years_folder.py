"""
Last year's folder: logs of a job on three machines, and of one that was put aside for two days, TensorBoard's events, what MLflow and W&B
exported, with times and without. It is imported at once, imported again, and once more when it has grown, and asked about by who pays for
it; nobody is rung for what is long over.
"""

import csv
import datetime
import io
import os
import struct
import subprocess

import pytest

from facts import expect_facts
from smserver import PATIENCE_S, wait_until
from tfevents import event, hparams, record, simple

MIDNIGHT_S = int(datetime.datetime(2025, 3, 2, tzinfo=datetime.timezone.utc).timestamp())
TYPE, BEFORE, AFTER = "ml.archive.8xlarge", 18, 27  # per node and hour, until that midnight and from it on


def stamp(at_s):
    return datetime.datetime.fromtimestamp(at_s, datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S,000")


class Job:
    """What a job of the folder is to come to."""

    def __init__(self, name, begun_s, ended_s, nodes, last_step, setup_s=0, pause=None, **facts):
        self.stretches = [(begun_s, pause[0]), (pause[1], ended_s)] if pause else [(begun_s, ended_s)]
        self.name, self.begun_s, self.ended_s, self.nodes, self.last_step, self.setup_s = name, begun_s, ended_s, nodes, last_step, setup_s
        self.more = {"nodes_from": "streams", "hosts": {"algo-1": ""}, "lines": 0, "incidents": [], **facts}

    def days(self):
        """Seconds of one node on each day."""
        days = {}
        for from_s, to_s in self.stretches:
            while from_s < to_s:
                end_s = min(to_s, from_s - from_s % 86400 + 86400)
                day = stamp(from_s)[:10]
                days[day] = days.get(day, 0) + end_s - from_s
                from_s = end_s
        return days

    def costs(self):
        return {day: seconds * self.nodes * (BEFORE if day < "2025-03-02" else AFTER) / 3600 for day, seconds in self.days().items()}

    def expect(self, server):
        wall_s = sum(self.days().values())
        seconds = {"productive": wall_s - self.setup_s, **({"first_step": self.setup_s} if self.setup_s else {})}
        expect_facts(server, self.name, status=("Completed", "Completed"), phases=[("Training", self.begun_s), ("Completed", self.ended_s)],
            start=self.begun_s, start_from="assumed", end=self.ended_s, end_from="assumed", nodes=self.nodes, attempts=1,
            last_step=self.last_step, lost_steps=0, wall_s=wall_s, seconds=seconds, goodput=100 * (wall_s - self.setup_s) / wall_s,
            billable_s=wall_s, cost=sum(self.costs().values()), **self.more)


def write_logs(folder, steps=120):
    """Three machines print the same steps, from half an hour before midnight to half an hour behind it; step 90 is a NaN."""
    begun_s, setup_s, step_s = MIDNIGHT_S - 1800, 60, 30
    for number, host in enumerate(("gpu07", "gpu08", "gpu11"), 1):
        lines = [f"[{stamp(begun_s)}] loading the data", "a line that bears no time"]
        lines += [f"[{stamp(begun_s + setup_s + step * step_s)}] step {step} loss: {'nan' if step == 90 else f'{4 - step / 100:.3f}'}"
            for step in range(1, steps + 1)]
        path = folder / "bert" / host / f"algo-{number}.out"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(line + "\n" for line in lines))
    return Job("bert", begun_s, begun_s + setup_s + steps * step_s, 3, steps, setup_s, nodes_from="hosts", lines=3 * (steps + 2),
        hosts={"algo-1": "gpu07", "algo-2": "gpu08", "algo-3": "gpu11"}, incidents=[("non_finite", "critical", "recovered", 90)])


def write_paused_log(folder, steps=240, step_s=30):
    """An hour three days before that midnight, and an hour behind it: for more than two days nobody trained."""
    begun_s, again_s, half = MIDNIGHT_S - 3 * 86400, MIDNIGHT_S + 3600, 120
    lines = [f"[{stamp((begun_s + step * step_s) if step <= half else (again_s + (step - half - 1) * step_s))}] step {step} loss: {4 - step / 100:.3f}"
        for step in range(steps + 1)]
    (folder / "paused").mkdir(exist_ok=True)
    (folder / "paused" / "algo-1.out").write_text("".join(line + "\n" for line in lines))
    ended_s, paused_s = again_s + (steps - half - 1) * step_s, begun_s + half * step_s
    return Job("paused", begun_s, ended_s, 1, steps, pause=(paused_s, again_s), lines=steps + 1)


def write_events(folder):
    """Every tenth step of 500, by two files of one folder: the training was started again in between, and went on."""
    begun_s, step_s = MIDNIGHT_S + 12 * 3600, 2
    rows = [(step, begun_s + (step - 10) * step_s) for step in range(10, 501, 10)]
    (folder / "vit").mkdir()
    for number, part in enumerate((rows[:30], rows[30:])):
        records = [event(step, at_s, simple("train/loss", 3 - step / 500)) for step, at_s in part]
        first = [event(0, part[0][1], hparams({"lr": 0.5, "optimizer": "lion"}))] if not number else []
        (folder / "vit" / f"events.out.tfevents.{part[0][1]}.gpu07").write_bytes(b"".join(
            [event_head(part[0][1])] + first + records))
    return Job("vit", begun_s, rows[-1][1], 1, 500)


def event_head(at_s):
    return record(b"\x09" + struct.pack("<d", at_s) + b"\x1a\x0dbrain.Event:2")


def write_mlflow(folder):
    """The page's export of two runs: metric by metric, each with its times; one of them trained over midnight."""
    jobs, rows = [], [["run_id", "key", "value", "step", "timestamp"]]
    for name, begun_s, points in (("0a" * 16, MIDNIGHT_S - 300, 41), ("b1" * 16, MIDNIGHT_S + 7200, 61)):
        for key in ("lr", "loss"):
            rows += [[name, key, 1e-4 if key == "lr" else 3 - step / 100, step, (begun_s + step * 15) * 1000] for step in range(points)]
        jobs.append(Job(name, begun_s, begun_s + (points - 1) * 15, 1, points - 1))
    write_table(folder / "mlflow" / "metrics.csv", rows)
    return jobs


def write_wandb(folder, points=31):
    begun_s = MIDNIGHT_S + 20 * 3600
    rows = [["_step", "_timestamp", "train/loss"]] + [[5 * at, begun_s + 30 * at, 2 - at / 100] for at in range(points)]
    write_table(folder / "sweep-7" / "history.csv", rows)
    return Job("sweep-7", begun_s, begun_s + 30 * (points - 1), 1, 5 * (points - 1))


CHART_S = MIDNIGHT_S + 60 * 86400


def write_chart(folder, points, written_s):
    """A chart of W&B has steps and no times: how long the run took nobody knows."""
    rows = [["Step", "sweep-8 - train/loss"]] + [[at, 2 - at / 100] for at in range(points)]
    write_table(folder / "charts" / "chart.csv", rows)
    os.utime(folder / "charts" / "chart.csv", (written_s, written_s))


def expect_chart(server, points):
    expect_facts(server, "sweep-8", status=("Completed", "Completed"), phases=[("Training", CHART_S), ("Completed", CHART_S)], start=CHART_S,
        end=CHART_S, end_from="assumed", last_step=points - 1, seconds={}, billable_s=None, cost=None)
    assert server.get("/api/v1/jobs/sweep-8/goodput").body["cost"]["reason"] == "no times"


def write_table(path, rows):
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)


def bring(ship, *options):
    """As docs/shipping.md has it: a folder of old runs, a job each; the group host says whose a log is."""
    pattern = f"{ship.folder}/old/(?<job>[^/]+)/(?:(?<host>gpu[0-9]+)/(?<stream>[^/]+)[.]out|.+)"
    done = ship.run("--import", pattern, "--instance-type", TYPE, "--tag", "from=archive", *options)
    assert done.returncode == 0, done.stderr
    return done.stderr.decode()


def expect_sums(server, jobs):
    """Who pays asks by sm-search, and the page by /aggregate: they say the same, day by day."""
    wanted = {}
    for job in jobs:
        for day, seconds in job.days().items():  # it is one of each day on which it ran
            hours, cost, count = wanted.get(day, (0, 0, 0))
            wanted[day] = (hours + seconds * job.nodes / 3600, cost + job.costs().get(day, 0), count + 1)

    def is_so():
        ran = subprocess.run([server.bin("sm-search"), "tag.from=archive", "--by", "day", "--of", "sum:node_hours,sum:cost,count", "--csv"],
            env={"SMFLEET_SERVER": server.url}, capture_output=True, timeout=PATIENCE_S, text=True)
        assert ran.returncode == 0, ran
        rows = {row["day"]: (row["sum:node_hours"], row["sum:cost"], int(row["count"])) for row in csv.DictReader(io.StringIO(ran.stdout))}
        assert rows.pop(stamp(CHART_S)[:10]) == ("", "", 1), "of how long it took nothing is known, which is not 0"
        rows = {day: (float(hours), float(cost), count) for day, (hours, cost, count) in rows.items()}
        assert rows.keys() == wanted.keys() and all(rows[day] == pytest.approx(wanted[day], rel=1e-5) for day in wanted)
        fleet = server.get("/api/v1/goodput?from=2025-02-01&to=2025-05-31").body
        assert [day["cost"] for day in fleet["days"] if day["cost"]] == pytest.approx([wanted[day][1] for day in sorted(wanted) if wanted[day][1]], rel=1e-5)
        assert fleet["cost"] == pytest.approx(sum(cost for _, cost, _ in wanted.values()), rel=1e-5)
        hosts = server.get("/api/v1/aggregate?q=name=bert&by=host&of=sum:node_hours").body["groups"]
        assert {row["host"]: row["sum:node_hours"] for row in hosts} == {
            host: pytest.approx((jobs[0].ended_s - jobs[0].begun_s) / 3600, rel=1e-5) for host in ("gpu07", "gpu08", "gpu11")}
        return True
    wait_until(is_so, what="the sums by day")


def expect_found(server, jobs):
    def names(query):
        ran = subprocess.run([server.bin("sm-search"), query, "--fields", "name", "--sort", "started", "--csv"],
            env={"SMFLEET_SERVER": server.url}, capture_output=True, timeout=PATIENCE_S, text=True)
        found = ran.stdout.split()[1:]
        assert ran.returncode == (0 if found else 1), ran
        return found
    by_start = [job.name for job in sorted(jobs, key=lambda job: job.begun_s)] + ["sweep-8"]
    for query, wanted in (("tag.from=archive", by_start), ("started<2025-03-02", [name for name in by_start[:-1] if name in {job.name for job in jobs if job.begun_s < MIDNIGHT_S}]),
            ("status:completed incident:non_finite", ["bert"]), ("hp.optimizer=lion", ["vit"]), ("log:\"bears no time\"", ["bert"]),
            ("status:inprogress", [])):
        wait_until(lambda: names(query) == wanted, what=f"{wanted} by {query}")


def expect_all(server, jobs):
    for job in jobs:
        job.expect(server)
    expect_sums(server, jobs)
    expect_found(server, jobs)


def test_last_years_folder(server, ship, receiver):
    for events in (["incident"], ["job_state"]):
        assert server.post("/api/v1/webhooks", json={"url": receiver.url, "events": events}).status == 201
    assert server.put("/api/v1/prices", json={"currency": "EUR", "prices": [
        {"instance": TYPE, "per_hour": BEFORE}, {"instance": TYPE, "per_hour": AFTER, "from": "2025-03-02"}]}).status == 200
    folder = ship.folder / "old"
    folder.mkdir()
    jobs = [write_logs(folder), write_paused_log(folder), write_events(folder), *write_mlflow(folder), write_wandb(folder)]
    write_chart(folder, 31, CHART_S)
    bring(ship)
    expect_all(server, jobs)
    expect_chart(server, 31)
    bring(ship)  # again: nothing is doubled, nothing moves
    expect_all(server, jobs)
    server.restart()
    expect_all(server, jobs)

    # The rest of a log and of a history is found, and copied over what was there.
    jobs[0], jobs[-1] = write_logs(folder, steps=140), write_wandb(folder, points=46)
    jobs[1] = write_paused_log(folder, steps=280)
    write_chart(folder, 46, CHART_S + 10 * 86400)
    assert "are new" in bring(ship)
    expect_all(server, jobs)
    expect_chart(server, 46)
    server.restart()
    expect_all(server, jobs)
    assert server.get("/api/v1/jobs/vit").body["HyperParameters"] == {"lr": "0.5", "optimizer": "lion"}

    # Nobody was rung: what a job of today says is the first that is heard.
    server.send("today", ["step 1 loss: 2.5", "step 2 loss: nan"])
    receiver.wait_for(2)
    assert all("today" in str(one) for one in receiver.messages()), receiver.messages()
