"""
A run that is three jobs, each going on from the checkpoint of the one before under a name of its own, over a midnight on which the price changes.
EventBridge tells of the jobs, curl posts their logs.
"""

import datetime

import pytest

from facts import expect_facts
from smserver import quote, wait_until

MIDNIGHT_S = int(datetime.datetime(2026, 3, 3, tzinfo=datetime.timezone.utc).timestamp())
BEGUN_S = MIDNIGHT_S - 4 * 3600
TYPE, BEFORE, AFTER, LATER = "ml.chain.48xlarge", 36, 48, 60  # per node and hour: by the first list; LATER by one that is put afterwards
STEP_S, SETUP_S = 60, 60


def stamp(at_s):
    return datetime.datetime.fromtimestamp(at_s, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class Link:
    """One job of the run, and its books: (from, to, bucket) of each stretch of its wall clock."""

    def __init__(self, name, nodes, at_s, launch_s, continues=None):
        self.name, self.nodes, self.begun_s, self.continues = name, nodes, at_s, continues
        self.trained_s = self.t = at_s + launch_s
        self.pieces, self.log, self.end = [(at_s, self.t, "launch")], [], None

    def spend(self, bucket, seconds):
        self.pieces.append((self.t, self.t + seconds, bucket))
        self.t += seconds

    def start(self, saved, bucket):
        if saved:
            self.log.append(f"{stamp(self.t)} Loading checkpoint from step {saved}")
        self.spend(bucket, SETUP_S)
        self.first_from = saved

    def train(self, last, saved, dropped_from=None):
        """To step `last`, with a checkpoint at `saved`; of `dropped_from` on it is made again in this job."""
        first = self.first_from + 1
        for step in range(first, last + 1):
            self.spend("redone" if dropped_from and step >= dropped_from else "productive", STEP_S)
            self.log.append(f"{stamp(self.t)} step {step} loss: {4 - step / 1000:.4f}")
            if step == saved:
                self.log.append(f"{stamp(self.t)} saved checkpoint at step {step}")
        self.last = last

    def drop(self, steps):
        """What the next job makes again: the last steps, one piece each."""
        kept = [at for at, piece in enumerate(self.pieces) if piece[2] == "productive"]
        for at in kept[len(kept) - steps:]:
            self.pieces[at] = (*self.pieces[at][:2], "redone by the next")

    def finish(self, status, **members):
        self.end, self.members = (status, self.t), members

    def seconds(self):
        """By bucket: what the next job made again this one has lost."""
        book = {}
        for from_s, to_s, bucket in self.pieces:
            bucket = "redone" if bucket == "redone by the next" else bucket
            book[bucket] = book.get(bucket, 0) + to_s - from_s
        return book

    def cost(self, before, after, buckets=None):
        """All of it that is billed (from Training on), or of some buckets."""
        total = 0
        for from_s, to_s, bucket in self.pieces:
            if bucket != "launch" and (buckets is None or bucket in buckets):
                early_s = max(0, min(to_s, MIDNIGHT_S) - from_s)
                total += (early_s * before + (to_s - from_s - early_s) * after) * self.nodes / 3600
        return total

    def tell(self, server):
        status, ended_s = self.end
        history = [("Starting", self.begun_s), ("Training", self.trained_s), (status, ended_s)]
        event = {"detail-type": "SageMaker Training Job State Change", "detail": {
            "TrainingJobName": self.name, "TrainingJobStatus": status, "SecondaryStatus": status, "CreationTime": self.begun_s * 1000,
            "LastModifiedTime": ended_s * 1000, **self.members, "Tags": {"run": "llama", **({"continues": self.continues} if self.continues else {})},
            "ResourceConfig": {"InstanceType": TYPE, "InstanceCount": self.nodes, "VolumeSizeInGB": 50},
            "SecondaryStatusTransitions": [{"Status": name, "StartTime": at_s * 1000} for name, at_s in history]}}
        server.send(self.name, self.log)
        reply = server.post("/api/v1/events", json=event)
        assert reply.status == 200 and [row["result"] for row in reply.body["results"]] == ["accepted"], reply


def three():
    first = Link("llama-monday", 4, BEGUN_S, 300)
    first.start(0, "first_step")
    first.train(110, saved=80)
    first.spend("stalled", 90)
    first.finish("Failed", FailureReason="InternalServerError: hardware failure")
    second = Link("llama-goes-on", 4, first.t + 600, 120, continues=first.name)
    second.start(80, "first_step")
    second.train(150, saved=140, dropped_from=141)
    second.start(140, "restart")
    second.train(205, saved=190)
    second.finish("Failed", FailureReason="AlgorithmError: exit code 1")
    third = Link("llama-to-its-end", 2, second.t + 1200, 180, continues=second.name)
    third.start(190, "first_step")
    third.train(300, saved=300)
    third.spend("idle", 45)
    third.finish("Completed")
    first.drop(110 - 80)
    second.drop(205 - 190)
    return first, second, third


def put_prices(server, after):
    reply = server.put("/api/v1/prices", json={"currency": "EUR", "prices": [
        {"instance": TYPE, "per_hour": BEFORE}, {"instance": TYPE, "per_hour": after, "from": "2026-03-03"}]})
    assert reply.status == 200, reply


LOST = ("redone", "redone by the next", "restart", "stalled")


def run_of(links, after, lost_steps):
    """What the whole chain is to come to."""
    node_s = {}
    for link in links:
        for from_s, to_s, bucket in link.pieces:
            bucket = "redone" if bucket == "redone by the next" else bucket
            node_s[bucket] = node_s.get(bucket, 0) + (to_s - from_s) * link.nodes
    for link, following in zip(links, links[1:]):
        node_s["idle"] = node_s.get("idle", 0) + (following.begun_s - link.t) * link.nodes
    return {"node_hours": {bucket: seconds / 3600 for bucket, seconds in node_s.items()},
        "goodput": 100 * node_s["productive"] / sum(node_s.values()), "lost_steps": lost_steps,
        "cost": sum(link.cost(BEFORE, after) for link in links), "lost_cost": sum(link.cost(BEFORE, after, LOST) for link in links)}


def told_of_run(server, name):
    run = server.get(f"/api/v1/jobs/{name}/run").body
    goodput = run["goodput"]
    hours = {bucket: row["node_hours"] for bucket, row in goodput["buckets"].items() if row["node_hours"]}
    return [row["TrainingJobName"] for row in run["jobs"]], {"node_hours": hours, **{key: goodput[key] for key in
        ("goodput", "lost_steps", "cost", "lost_cost")}}


def expect_run(server, links, after, lost_steps):
    names, wanted = [link.name for link in links], run_of(links, after, lost_steps)
    for name in names:  # whichever of them is asked
        def is_so():
            told = told_of_run(server, name)
            assert told == (names, {key: pytest.approx(value, rel=1e-4) for key, value in wanted.items()})
            return True
        wait_until(is_so, what=f"the run of {name}")


def days_of(links, after):
    """Of /aggregate by day: what was billed, in node-hours and money."""
    early = sum((min(to_s, MIDNIGHT_S) - from_s) * link.nodes for link in links for from_s, to_s, bucket in link.pieces
        if bucket != "launch" and from_s < MIDNIGHT_S) / 3600
    whole = sum((link.t - link.trained_s) * link.nodes for link in links) / 3600
    return [("2026-03-02", early, early * BEFORE), ("2026-03-03", whole - early, (whole - early) * after)]


def expect_days(server, links, after):
    wanted = [pytest.approx(row[1:], rel=1e-4) for row in days_of(links, after)]

    def is_so():
        groups = server.get(f"/api/v1/aggregate?q={quote('tag.run=llama')}&by=day&of=sum:node_hours,sum:cost").body["groups"]
        by_day = {row["day"]: (row["sum:node_hours"], row["sum:cost"]) for row in groups}
        assert [by_day[row[0]] for row in days_of(links, after)] == wanted and len(by_day) == 2
        return True
    wait_until(is_so, what="the sums by day")


def test_a_run_of_three_jobs_over_a_change_of_prices(server):
    put_prices(server, AFTER)
    links, lost_steps = three(), (110 - 80) + (150 - 140) + (205 - 190)
    assert links[1].begun_s < MIDNIGHT_S < links[1].t - 16 * STEP_S  # the second trains over midnight, and loses steps of the day after
    for link in (links[1], links[0], links[2]):
        link.tell(server)
    for link, lost, attempts in zip(links, (110 - 80, (150 - 140) + (205 - 190), 0), (1, 2, 1)):
        seconds = link.seconds()
        status, ended_s = link.end
        phases = [("Starting", link.begun_s), ("Training", link.trained_s), (status, ended_s)]
        expect_facts(server, link.name, status=(status, status), phases=phases, start=link.trained_s, start_from="stated", end=ended_s,
            end_from="stated", failure=link.members.get("FailureReason"), nodes=link.nodes, nodes_from="stated", lines=len(link.log),
            attempts=attempts, last_step=link.last, lost_steps=lost, wall_s=ended_s - link.begun_s, seconds=seconds,
            goodput=100 * seconds["productive"] / (ended_s - link.begun_s), billable_s=ended_s - link.trained_s,
            cost=link.cost(BEFORE, AFTER))
    expect_run(server, links, AFTER, lost_steps)
    expect_days(server, links, AFTER)

    # The invoice says otherwise: the list is put right, and all is worked out again; also what a server knows that was started anew.
    put_prices(server, LATER)
    expect_run(server, links, LATER, lost_steps)
    expect_days(server, links, LATER)
    server.restart()
    expect_run(server, links, LATER, lost_steps)
    expect_facts(server, links[1].name, lost_steps=10 + 15, cost=links[1].cost(BEFORE, LATER))


def test_a_job_that_goes_further_back_than_the_one_before_it(server):
    """The second goes on from 80, and learns nothing; so the third begins at 60, and all of the second and more of the first is lost."""
    put_prices(server, AFTER)
    first = Link("back-1", 4, BEGUN_S, 300)
    first.start(0, "first_step")
    first.train(110, saved=80)
    first.finish("Failed", FailureReason="InternalServerError: hardware failure")
    second = Link("back-2", 4, first.t + 600, 120, continues=first.name)
    second.start(80, "first_step")
    second.train(205, saved=190)
    second.finish("Stopped")
    third = Link("back-3", 4, second.t + 1200, 180, continues=second.name)
    third.start(60, "first_step")
    third.train(300, saved=300)
    third.finish("Completed")
    links = (first, second, third)
    first.drop(110 - 60)
    second.drop(205 - 80)
    for link in links:
        link.tell(server)
    expect_run(server, links, AFTER, lost_steps=(110 - 60) + (205 - 80))
    kept = server.get("/api/v1/jobs/back-1/points?metric=loss&chain=true&buckets=10000").body["columns"]["x"]
    assert kept == list(range(1, 301))
