"""Goodput and cost of scripted runs, chains and a day of jobs, against sums that the script itself keeps."""

import collections
import concurrent.futures
import datetime
import json
import pathlib
import random
import re
import subprocess
import time

import pytest

from smserver import PATIENCE_S, ROOT, wait_until

DAY0_S = int(datetime.datetime(2026, 3, 2, tzinfo=datetime.timezone.utc).timestamp())
DEFINITIONS = [
    {"Name": "loss", "Regex": r"\bloss: ([0-9.]+)", "Step": r"step (\d+)", "Role": "loss"},
    {"Name": "eval_loss", "Regex": r"eval_loss: ([0-9.]+)", "Step": r"step (\d+)", "Role": "eval_loss"},
]
STEP_S, EVERY = 10, 10  # each step takes ten seconds, each tenth is printed
HOUR_S = 3600


class Script:
    """A run that keeps its own books: what a clock on the wall of the cluster would say."""

    def __init__(self, name, at_s, nodes, step=0, continues=None):
        self.name, self.begun_s, self.t, self.nodes, self.step = name, at_s, at_s, nodes, step
        self.continues, self.first_step = continues, step
        self.book, self.lines, self.moves, self.printed_since = collections.Counter(), [], [], 0

    def spend(self, bucket, seconds):
        self.book[bucket] += seconds
        self.t += seconds

    def move(self, status, **more):
        self.moves.append({"SecondaryStatus": status, "time_ms": self.t * 1000, **more})

    def line(self, text):
        stamp = datetime.datetime.fromtimestamp(self.t, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        self.lines.append(f"{stamp} {text}")

    def begin(self, launch_s=240, data_s=60, first_step_s=120):
        self.move("Starting", StatusMessage="Launching requested ML instances")
        self.spend("launch", launch_s)
        self.move("Downloading", StatusMessage="Downloading input data")
        self.spend("data", data_s)
        self.move("Training")
        self.spend("first_step", first_step_s)

    def train(self, steps):
        for _ in range(0, steps, EVERY):
            self.spend("productive", EVERY * STEP_S)
            self.step += EVERY
            self.line(f"step {self.step} loss: 2.5")

    def evaluate(self, seconds):
        self.spend("evaluation", seconds)
        self.line(f"step {self.step} eval_loss: 2.6")

    def checkpoint(self, seconds):
        self.spend("checkpoint", seconds)
        self.line(f"successfully saved checkpoint from iteration {self.step} to /ckpt")

    def lose(self, steps, restart_s):
        """It breaks behind the last printed step, and comes back from a checkpoint `steps` before it."""
        self.spend("restart", restart_s)
        self.book["productive"] -= steps * STEP_S
        self.book["redone"] += steps * STEP_S
        self.step -= steps
        self.line(f"Resuming from checkpoint at step {self.step}")

    def end(self, uploading_s=60, status="Completed", **more):
        if uploading_s:
            self.move("Uploading")
            self.spend("idle", uploading_s)
        self.move(status, **more)

    @property
    def wall_s(self):
        return self.t - self.begun_s

    def tell(self, server):
        assert sum(self.book.values()) == self.wall_s
        tags = {"Tags": [{"Key": "continues", "Value": self.continues}]} if self.continues else {}
        document = {"TrainingJobName": self.name, "AlgorithmSpecification": {"MetricDefinitions": DEFINITIONS},
            "ResourceConfig": {"InstanceType": "ml.p5.48xlarge", "InstanceCount": self.nodes, "VolumeSizeInGB": 50}, **tags}
        assert server.post("/api/v1/jobs", json=document).status == 201
        for change in self.moves[:3]:
            assert server.post(f"/api/v1/jobs/{self.name}/transitions", json=change).status == 204
        server.send(self.name, self.lines)
        for change in self.moves[3:]:
            assert server.post(f"/api/v1/jobs/{self.name}/transitions", json=change).status == 204
        server.wait_for_points(self.name, "loss", (self.step - self.first_step) // EVERY)


def goodput(server, job):
    return server.get(f"/api/v1/jobs/{job}/goodput").body


def seconds(reply):
    return {name: bucket["seconds"] for name, bucket in reply["buckets"].items() if bucket["seconds"]}


def row(server, job):
    return next(found for found in server.get("/api/v1/jobs?limit=1000").body["jobs"] if found["TrainingJobName"] == job)


@pytest.fixture
def quick(make_server):
    return make_server("--goodput-every", "100ms")


def check(server, run):
    book = {bucket: s for bucket, s in run.book.items() if s}
    wait_until(lambda: seconds(goodput(server, run.name)) == book, what=f"{run.name}: {book}")  # also checkpoints
    reply = goodput(server, run.name)
    assert reply["wall_seconds"] == run.wall_s and reply["nodes"] == run.nodes
    total = sum(bucket["node_hours"] for bucket in reply["buckets"].values())
    assert total * HOUR_S == pytest.approx(run.wall_s * run.nodes, abs=0.5)
    return reply


def recovered():
    """A million seconds of 128 nodes; what breaks is mended by the job itself within minutes."""
    run = Script("recovered", DAY0_S, 128)
    run.begin()
    for _ in range(20):
        run.train(4000)
        run.evaluate(40)
        run.checkpoint(20)
        run.train(500)
        run.lose(20, 311)
    run.train(9210)
    run.end()
    return run


def by_hand():
    """The same wall clock; what breaks waits for somebody, and checkpoints are rare."""
    run = Script("by-hand", DAY0_S, 128)
    run.begin()
    for _ in range(36):
        for _ in range(2):
            run.train(500)
            run.evaluate(60)
        run.train(1000)
        run.lose(100, 5000)
    for _ in range(14):
        run.train(600)
        run.evaluate(60)
    run.train(200)
    run.spend("stalled", 60)
    run.train(830)
    run.end()
    return run


def test_two_runs_of_128_nodes_come_out_at_98_81_and_77_83_percent(quick):
    for run, percent in ((recovered(), 98.81), (by_hand(), 77.83)):
        assert run.wall_s == 1_000_000 and run.book["productive"] == percent * 10_000
        run.tell(quick)
        reply = check(quick, run)
        assert round(reply["goodput"], 2) == percent and reply["steps"]["step_seconds"] == STEP_S


@pytest.mark.parametrize("behind_s, bucket", [(125, "idle"), (126, "stalled")], ids=["before its next step was late", "once it was late"])
def test_a_stop_counts_from_when_it_was_told(quick, behind_s, bucket):
    """A line comes every 100 s, and is late beyond a quarter of that. It takes ten minutes until the machines are given back."""
    run = Script("stopped", DAY0_S, 4)
    run.begin()
    run.train(300)
    run.spend(bucket, behind_s)
    run.move("Stopping")
    run.spend("idle", 600)
    run.end(uploading_s=0, status="Stopped")
    run.tell(quick)
    check(quick, run)


def put_prices(server, *prices, currency="USD"):
    reply = server.put("/api/v1/prices", json={"currency": currency, "prices": list(prices)})
    assert reply.status == 200, reply
    return reply.body


def test_a_job_has_its_goodput_and_cost_in_its_row_and_search_finds_them(quick):
    run = Script("small", DAY0_S, 4)
    run.begin()
    run.train(300)
    run.lose(20, 80)
    run.train(100)
    run.end()
    run.tell(quick)
    percent = 100 * run.book["productive"] / run.wall_s
    wait_until(lambda: row(quick, "small").get("goodput") == pytest.approx(percent), what="the row")
    wait_until(lambda: row(quick, "small").get("unpriced_types") == ["ml.p5.48xlarge"], what="no price")
    assert row(quick, "small")["cost"] is None
    reply = goodput(quick, "small")
    assert reply["cost"]["total"] is None and reply["cost"]["reason"] == "no price"
    assert reply["cost"]["instance"] == "ml.p5.48xlarge"
    price = {"instance": "ml.p5.48xlarge", "per_hour": 7.5, "from": "2026-01-01", "source": "a test"}
    later = {"instance": "ml.p5.48xlarge", "per_hour": 1000, "from": "2026-03-03"}
    assert put_prices(quick, price, later, currency="EUR") == {"currency": "EUR", "prices": [price, later]}
    billed_s = run.wall_s - 300  # from the first Training on
    cost = billed_s * 4 * 7.5 / HOUR_S
    wait_until(lambda: row(quick, "small").get("cost") == pytest.approx(cost, abs=1e-6), what="the cost")
    found = row(quick, "small")
    assert found["currency"] == "EUR" and found["BillableTimeInSeconds"] == billed_s
    reply = goodput(quick, "small")
    assert reply["cost"]["lost"] == pytest.approx((200 + 80) * 4 * 7.5 / HOUR_S, abs=1e-6)
    assert reply["cost"]["redone_steps"] == pytest.approx(200 * 4 * 7.5 / HOUR_S, abs=1e-6)
    assert reply["cost"]["per_step"] == pytest.approx(cost / 380)
    [broken] = reply["breaks"]
    assert (broken["step"], broken["from_step"], broken["lost_steps"]) == (300, 280, 20)
    assert broken["node_hours"] == pytest.approx((200 + 80) * 4 / HOUR_S) and broken["cause"] == "unknown"
    assert reply["causes"][0]["mttr_seconds"] == 180 and reply["causes"][0]["count"] == 1
    for query in ("goodput>80", f"cost>{cost - 0.01:.2f}", f"cost<{cost + 0.01:.2f}", "cost exists"):
        assert [job["TrainingJobName"] for job in quick.get(f"/api/v1/jobs?q={query.replace(' ', '%20')}").body["jobs"]] == [
            "small"], query
    assert quick.get("/api/v1/jobs?q=goodput>99").body["jobs"] == []
    table = quick.get("/api/v1/jobs?format=csv&fields=TrainingJobName,goodput,currency")
    assert table.raw.decode().splitlines()[1].split(",") == ["small", repr(found["goodput"]), "EUR"]
    shown = subprocess.run([quick.bin("sm-search"), "cost exists", "--fields", "name,goodput,cost", "--csv"],
        env={"SMFLEET_SERVER": quick.url}, capture_output=True, timeout=PATIENCE_S, text=True)
    assert shown.stdout.splitlines()[1] == f"small,{found['goodput']!r},{found['cost']!r}", shown
    assert quick.delete("/api/v1/jobs/small").status == 204
    kept = quick.get("/api/v1/goodput?from=2026-03-02&to=2026-03-02").body
    assert kept["buckets"]["redone"]["node_hours"] == pytest.approx(200 * 4 / HOUR_S)  # these hours were spent
    check_orders(quick)


def check_orders(quick):
    put_prices(quick, {"instance": "ml.p5.48xlarge", "per_hour": 1})
    for name, nodes, steps in (("a", 2, 100), ("b", 1, 500), ("c", 4, 20)):
        run = Script(name, DAY0_S, nodes)
        run.begin()
        run.train(steps)
        run.end()
        run.tell(quick)
    assert quick.post("/api/v1/jobs", json={"TrainingJobName": "without"}).status == 201
    wait_until(lambda: all("cost" in row(quick, name) and row(quick, name).get("goodput", 0) > 0 for name in "abc"), what="costs")
    def order(sort):
        return [job["TrainingJobName"] for job in quick.get(f"/api/v1/jobs?sort={sort}").body["jobs"]]
    # what was worked out before a job was told to have ended is worked out again
    wait_until(lambda: order("-cost") == ["b", "a", "c", "without"] and order("-goodput")[0] == "b", what="the ends of all jobs")
    assert order("goodput")[:3] != order("-goodput")[:3]
    assert [name for name in order("-goodput") if name != "without"] == ["b", "a", "c"]
    assert order("-cost") == ["b", "a", "c", "without"] and order("cost") == ["c", "a", "b", "without"]


def test_three_chained_jobs_are_one_curve_and_one_sum(quick):
    put_prices(quick, {"instance": "ml.p5.48xlarge", "per_hour": 3})
    book = collections.Counter()
    first = Script("gpt", DAY0_S, 8)
    first.begin()
    first.train(500)
    first.spend("stalled", 900)
    first.end(uploading_s=0, status="Failed", FailureReason="InternalServerError: hardware")
    second = Script("gpt-2", first.t + 700, 8, step=440, continues="gpt")  # 60 steps once more
    second.begin()
    second.train(400)
    second.evaluate(50)
    second.train(60)
    second.end(status="Stopped")
    third = Script("gpt-3", second.t + 40, 8, step=900, continues="gpt-2")
    third.begin(launch_s=10, data_s=5, first_step_s=30)
    third.train(100)
    third.end()
    runs = (first, second, third)
    for run in runs:
        run.tell(quick)
        check(quick, run)
        book.update(run.book)
    book["productive"] -= 60 * STEP_S
    book["redone"] += 60 * STEP_S
    book["idle"] += 700 + 40
    def summed():
        return quick.get("/api/v1/jobs/gpt-2/run").body["goodput"]
    def is_whole(): # a job that was accounted for before it was told to have ended is due again
        spent = {name: bucket["node_hours"] * HOUR_S / 8 for name, bucket in summed()["buckets"].items() if bucket["node_hours"]}
        return "pending_jobs" not in summed() and spent == pytest.approx({name: s for name, s in book.items() if s})
    wait_until(is_whole, what=f"the run's sum {book}")
    reply = summed()
    assert reply["goodput"] == pytest.approx(100 * book["productive"] / sum(book.values()))
    assert sum(book.values()) == third.t - first.begun_s and reply["lost_steps"] == 60
    billed_s = sum(run.wall_s - run.book["launch"] - run.book["data"] for run in runs)
    assert reply["cost"] == pytest.approx(billed_s * 8 * 3 / HOUR_S, abs=1e-5)
    chart = quick.get("/api/v1/jobs/gpt/points?metric=loss&chain=true&buckets=10000").body
    assert chart["columns"]["x"] == list(range(10, 1001, 10))
    [broken] = goodput(quick, "gpt")["breaks"]
    # until the second job's first printed step: its beginning, 420 seconds of start-up, ten steps, one of them printed
    assert broken["cause"] == "InternalServerError" and (broken["went_on_in"], broken["lost_steps"]) == ("gpt-2", 60)
    assert broken["to_ms"] == (second.begun_s + 420 + EVERY * STEP_S) * 1000 and broken["restart_seconds"] == 900 + 700 + 420


def refuse_mistakes(server):
    good = {"instance": "ml.a", "per_hour": 1}
    for prices, field in (([{**good, "per_hour": -1}], "prices[0].per_hour"), ([good, {**good, "per_hour": "1"}], "prices[1].per_hour"),
            ([{"per_hour": 1}], "prices[0].instance"), ([{**good, "from": "May"}], "prices[0].from"), ([{**good, "form": 1}], "prices[0].form"),
            ([1], "prices[0]"), ({}, "prices"), ([good] * 10001, "prices"), ([good, {**good, "instance": "ml.b"}, {**good, "per_hour": 2}], "prices[2]")):
        reply = server.put("/api/v1/prices", json={"currency": "USD", "prices": prices})
        assert reply.status in (413, 422) and reply.body["field"] == field, (prices if len(prices) < 9 else "", reply)
    assert server.put("/api/v1/prices", json={"currency": "USD", "prices": [{**good, "instance": f"ml.{n}"} for n in range(10000)]}).status == 200
    assert server.put("/api/v1/prices", json={"prices": []}).body["field"] == "currency"
    assert server.put("/api/v1/prices", json={"currency": "x" * 17, "prices": []}).body["field"] == "currency"
    for query, field in (("from=yesterday", "from"), ("to=2026-13-40", "to"), ("from=2026-03-02&to=2026-03-01", "from")):
        reply = server.get(f"/api/v1/goodput?{query}")
        assert reply.status == 400 and reply.body["field"] == field, reply
    assert server.get("/api/v1/jobs/nobody/goodput").status == 404


def day_of_jobs(rng):
    """200 jobs of one day in 40 warm pools: what each is to be, and the books of the whole day."""
    books = {"idle_s": 0, "saved_s": 0, "cost": 0.0, "lost_cost": 0.0, "pool_cost": 0.0, "node_s": collections.Counter()}
    events, points = [], []
    for chain in range(40):
        instance, price = rng.choice(sorted(PRICES.items()))
        nodes, at = rng.choice((1, 2, 4, 8)), DAY0_S + rng.randrange(3600)
        for turn in range(5):
            name = f"chain-{chain}-{turn}"
            startup_s = rng.randrange(400, 600) if turn == 0 else rng.randrange(10, 40)
            first_s, steps, step_s = rng.randrange(20, 90), rng.randrange(20, 60), rng.randrange(5, 20)
            hang_s = rng.randrange(600, 1200) if rng.random() < 0.2 else 0
            trained = at + startup_s
            ended = trained + first_s + steps * step_s + hang_s
            gap_s = rng.randrange(30, 500) if turn < 4 else 600
            book = {"launch": startup_s, "first_step": first_s, "productive": steps * step_s, "stalled": hang_s}
            books["node_s"].update({bucket: s * nodes for bucket, s in book.items()})
            books["cost"] += (ended - trained) * nodes * price / HOUR_S
            books["lost_cost"] += hang_s * nodes * price / HOUR_S
            books["idle_s"] += gap_s
            books["pool_cost"] += gap_s * nodes * price / HOUR_S
            books["saved_s"] += 0 if turn == 0 else cold_s - startup_s
            cold_s = startup_s if turn == 0 else cold_s
            events.append(event(name, instance, nodes, chain, at, trained, ended, bool(hang_s)))
            points.append((name, [trained + first_s + step * step_s for step in range(1, steps + 1)]))
            at = ended + gap_s
    return events, points, books


PRICES = {"ml.p4d.24xlarge": 31.5, "ml.g5.48xlarge": 19.25, "ml.trn1.32xlarge": 22.75}


def event(name, instance, nodes, chain, begun_s, trained_s, ended_s, has_failed):
    status = "Failed" if has_failed else "Completed"
    history = [("Starting", begun_s), ("Training", trained_s), (status, ended_s)]
    return {"detail-type": "SageMaker Training Job State Change", "detail": {
        "TrainingJobName": name, "TrainingJobStatus": status, "SecondaryStatus": status,
        "CreationTime": begun_s * 1000, "LastModifiedTime": ended_s * 1000,
        **({"FailureReason": "AlgorithmError: it hung"} if has_failed else {}),
        "ResourceConfig": {"InstanceType": instance, "InstanceCount": nodes, "VolumeSizeInGB": 100 + chain,
            "KeepAlivePeriodInSeconds": 600},
        "SecondaryStatusTransitions": [{"Status": name, "StartTime": at * 1000} for name, at in history]}}


def test_the_totals_of_a_day_of_200_jobs_are_the_sums_that_the_script_kept(quick):
    put_prices(quick, *({"instance": name, "per_hour": price} for name, price in PRICES.items()))
    events, points, books = day_of_jobs(random.Random(20260302))
    assert len(events) == 200
    def tell(detail):
        reply = quick.post("/api/v1/events", json=detail)
        assert reply.status == 200, reply
    def send(pair):
        name, times = pair
        body = {"series": [{"metric": "loss", "step": list(range(1, len(times) + 1)), "ts_ms": [t * 1000 for t in times],
            "value": [2.0] * len(times)}]}
        assert quick.post(f"/api/v1/points?job={name}&stream=algo-1", json=body).status == 200
    tell(events)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(send, points))
    def day():
        return quick.get("/api/v1/goodput?from=2026-03-02&to=2026-03-03").body
    node_s = {bucket: s for bucket, s in books["node_s"].items() if s}
    def is_whole():
        spent = {name: bucket["node_hours"] * HOUR_S for name, bucket in day()["buckets"].items() if bucket["node_hours"]}
        return spent == pytest.approx(node_s) and day()["cost"] == pytest.approx(books["cost"], abs=1e-4)
    wait_until(is_whole, what="the day's jobs")
    reply = day()
    assert {name: pytest.approx(bucket["node_hours"] * HOUR_S) for name, bucket in reply["buckets"].items()
        if bucket["node_hours"]} == node_s
    assert reply["goodput"] == pytest.approx(100 * node_s["productive"] / sum(node_s.values()))
    assert reply["cost"] == pytest.approx(books["cost"], abs=1e-4)
    assert reply["lost_cost"] == pytest.approx(books["lost_cost"], abs=1e-4)
    assert sum(one["cost"] for one in reply["days"]) == pytest.approx(reply["cost"])
    pools = quick.get("/api/v1/warm-pools?limit=1000").body["pools"]
    assert len(pools) == 40 and all(len(pool["jobs"]) == 5 for pool in pools)
    assert sum(pool["idle_seconds"] for pool in pools) == books["idle_s"]
    assert sum(pool["saved_seconds"] for pool in pools) == books["saved_s"]
    assert sum(pool["idle_cost"] for pool in pools) == pytest.approx(books["pool_cost"], abs=1e-4)
    rows = quick.get("/api/v1/jobs?limit=1000").body["jobs"]
    assert sum(job["cost"] for job in rows) == pytest.approx(books["cost"], abs=1e-4)
    failed = sum(job["TrainingJobStatus"] == "Failed" for job in rows)
    [groups] = quick.get("/api/v1/aggregate?of=sum:cost,sum:lost_cost,mean:goodput").body["groups"]
    assert groups["sum:cost"] == pytest.approx(books["cost"], abs=1e-4)
    assert groups["sum:lost_cost"] == pytest.approx(books["lost_cost"], abs=1e-4)
    assert groups["mean:goodput"] == pytest.approx(sum(job["goodput"] for job in rows) / 200)
    [cause] = reply["causes"]
    assert (cause["cause"], cause["count"]) == ("AlgorithmError", failed) and failed > 10


def test_throughput_a_node_against_the_number_of_nodes(quick):
    definitions = [{"Name": "tps", "Regex": r"tps=([0-9.]+)", "Role": "throughput", "Unit": "tokens/s"}]
    for name, nodes, rates in (("one", 1, (90, 110)), ("again", 1, (104, 104)), ("four", 4, (300, 320)), ("eight", 8, (400, 416))):
        assert quick.post("/api/v1/jobs", json={"TrainingJobName": name, "HyperParameters": {"model": "a"},
            "AlgorithmSpecification": {"MetricDefinitions": definitions},
            "ResourceConfig": {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": nodes, "VolumeSizeInGB": 1}}).status == 201
        quick.send(name, [f"step {step} tps={rate}" for step, rate in enumerate(rates)])
    def scaling():
        reply = quick.get("/api/v1/scaling?q=hp.model=a").body
        return [(row["nodes"], row["jobs"], row["throughput"], row["throughput_per_node"], row["throughput_per_device"],
            row["percent_of_linear"], row["unit"], row["instance"]) for row in reply["scaling"]]
    want = [(1, 2, 102, 102, 12.75, 100), (4, 1, 310, 77.5, 9.6875, 100 * 77.5 / 102), (8, 1, 408, 51, 6.375, 50)]
    wait_until(lambda: scaling() == [(*row, "tokens/s", "ml.p4d.24xlarge") for row in want], what=f"{want}")
    assert quick.get("/api/v1/scaling?q=hp.model=b").body == {"scaling": [], "jobs": 0, "partial": False}
    assert quick.get("/api/v1/scaling?q=hp.model%3E").status == 422 and quick.get("/api/v1/scaling?by=x").status == 400


def test_the_example_in_the_docs_comes_out_as_it_says_and_mistakes_are_named(quick):
    refuse_mistakes(quick)
    [commands] = re.findall(r"^```sh\n(.*?)^```", pathlib.Path(ROOT, "docs/goodput.md").read_text(), re.M | re.S)
    subprocess.run(["bash", "-ec", commands.replace(":8080", f":{quick.port}").replace("curl ", "curl -sS -f ")],
        stdout=subprocess.PIPE, timeout=PATIENCE_S, check=True)
    wait_until(lambda: goodput(quick, "demo")["steps"].get("made") == 7, what="the steps")
    reply = goodput(quick, "demo")
    assert seconds(reply) == {"launch": 10, "capacity": 50, "first_step": 20, "productive": 70, "redone": 20, "restart": 90, "idle": 10}
    assert round(reply["goodput"], 2) == 25.93 and reply["wall_seconds"] == 270
    [broken] = reply["breaks"]
    assert (broken["step"], broken["from_step"], broken["lost_steps"], round(broken["node_hours"], 3)) == (6, 4, 2, 0.061)
    assert reply["cost"]["total"] == 4.2 and reply["cost"]["lost"] == 2.2 and reply["cost"]["currency"] == "EUR"
    assert "checkpoint" not in reply, "no line says that one was written"


@pytest.mark.parametrize("name, regex, bucket", [
    ("validation:accuracy", r"ev=([0-9.]+)", "evaluation"), ("eval_f1", r"ev=([0-9.]+)", "evaluation"),
    ("val_acc", r"ev=([0-9.]+)", "evaluation"), ("validation:loss", r"ev=([0-9.]+)", "evaluation"),
    ("accuracy", r"\bvalidation ev=([0-9.]+)", "evaluation"),  # its definition says so
    ("train:value", r"ev=([0-9.]+)", "stalled"), ("evaluated_tokens", r"ev=([0-9.]+)", "stalled"),
    ("interval", r"ev=([0-9.]+)", "stalled"), ("std_dev", r"ev=([0-9.]+)", "stalled"), ("valid_tokens", r"ev=([0-9.]+)", "stalled"),
])
def test_an_evaluation_is_one_whatever_it_measures(server, name, regex, bucket):
    """300 steps of 10 s, and in front of 5 of them 40 s for a value of `name`."""
    run = "ev-" + re.sub(r"\W", "-", name)
    definitions = [{"Name": "train:loss", "Regex": r"loss=([0-9.]+)"}, {"Name": name, "Regex": regex}]
    document = {"TrainingJobName": run, "AlgorithmSpecification": {"MetricDefinitions": definitions}}
    assert server.post("/api/v1/jobs", json=document).status == 201
    script = Script(run, DAY0_S, 1)
    for step in range(1, 301):
        if step > 1 and step % 50 == 1:
            script.t += 40
            script.line("validation ev=0.7123 on 5000")
        script.t += 10
        script.line(f"step {step} loss={5 / step:.4f}")
    server.send(run, script.lines)
    assert server.post(f"/api/v1/jobs/{run}/transitions", json={"SecondaryStatus": "Completed", "time_ms": script.t * 1000}).status == 204
    server.wait_for_points(run, "train:loss", 300)
    server.wait_for_points(run, name, 5)
    book = wait_until(lambda: (found := seconds(goodput(server, run))).get("productive", 0) >= 2990 and found, what="all steps")
    assert {key: book.get(key, 0) for key in ("evaluation", "stalled")} == {"evaluation": 0, "stalled": 0, bucket: 200}


def test_a_long_series_is_read_by_its_pyramid_and_comes_out_the_same(quick):
    run = Script("long", DAY0_S, 16)
    run.begin()
    run.train(90_000)
    run.evaluate(700)
    run.train(30_000)
    run.spend("stalled", 40_000)
    run.train(40_000)
    run.lose(3_330, 900)
    run.train(60_000)
    run.end()
    run.tell(quick)
    whole = goodput(quick, "long")
    quick.restart()  # a stop seals everything; beyond 16,384 sealed points buckets are read
    check(quick, run)
    wait_until(lambda: quick.get("/api/v1/jobs/long/metrics").body["series"], what="the series")
    again = goodput(quick, "long")
    assert again["steps"] == whole["steps"] and again["breaks"] == whole["breaks"] and again["cost"] == whole["cost"]

@pytest.mark.parametrize("minutes, bucket", [(5, "checkpoint"), (40, "stalled")], ids=["it may still be saving", "nothing saves so long"])
def test_what_comes_behind_the_line_of_a_checkpoint_while_the_job_runs(quick, minutes, bucket):
    """It hangs in the first collective behind its checkpoint: that line does not explain hours."""
    saved_s = int(time.time()) - minutes * 60
    first_s = saved_s - 625
    quick.post("/api/v1/jobs", json={"TrainingJobName": "j", "AlgorithmSpecification": {"MetricDefinitions": DEFINITIONS}})
    assert quick.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": "Training", "time_ms": first_s * 1000}).status == 204
    steps = [json.dumps({"line": f"step {step} loss: 2.5", "ts": (first_s + step * STEP_S) * 1000}) for step in range(1, 61)]
    saved = json.dumps({"line": "saved checkpoint at step 60", "ts": saved_s * 1000})  # 25 s behind it
    body = "\n".join([*steps, saved, ""]).encode()
    assert quick.post("/api/v1/logs?job=j", body, content_type="application/x-ndjson").status == 200
    quick.wait_for_points("j", "loss", 60)
    wait_until(lambda: quick.get("/api/v1/jobs/j/checkpoints").body["checkpoints"], what="the checkpoint")
    reply = goodput(quick, "j")
    behind = reply["as_of_ms"] / 1000 - saved_s
    book = collections.Counter(productive=600, checkpoint=25) + collections.Counter({bucket: behind})
    assert seconds(reply) == pytest.approx(book, abs=0.01)


def test_no_checkpoint_is_told_of_that_nobody_told_of(quick):
    """That steps go back says that something was saved, and not where."""
    for first, end, at in ((0, 60, 1.79e9), (40, 80, 1.79e9 + 700)):
        rows = [{"metric": "loss", "step": step, "value": 2.5, "ts_ms": int(at + 10 * (step - first)) * 1000} for step in range(first, end)]
        assert quick.post("/api/v1/points?job=untold", "".join(json.dumps(row) + "\n" for row in rows), content_type="application/x-ndjson").status == 200
    (broken,) = wait_until(lambda: goodput(quick, "untold")["breaks"], what="the break")
    assert broken["lost_steps"] == 20
    assert quick.get("/api/v1/jobs/untold/checkpoints").body["checkpoints"] == [] and "checkpoint" not in goodput(quick, "untold")
