"""
Values that wait for a tracker to tell them (docs/metrics.md), where something happens meanwhile: a kill, an export, a restart of the training.
What comes of them is what would have come of them without waiting.
"""

import json
import sqlite3
import time

import pytest

from engine import of_a_file
from smserver import Server, wait_until
from test_carry import settled_export
from test_derived import ARGUMENTS
from test_wandb_beside import counts_of, hf_rows, hf_run, non_finite
from test_wandb_door import CONSOLE, HISTORY, begin_process, console, taken
from wandbclient import post


@pytest.fixture
def start(tmp_path):
    """start(options…): a server of its own; ended with the test."""
    servers = []

    def make(*options):
        folder = tmp_path / str(len(servers))
        folder.mkdir()
        servers.append(Server(folder, *options).start())
        return servers[-1]

    yield make
    for server in servers:
        server.close()


def end(server, run):
    sent = {"SecondaryStatus": "Completed", "time_ms": int(time.time() * 1000)}
    assert server.post(f"/api/v1/jobs/p%2F{run}/transitions", json=sent).status == 204


def rows_of(server, table, *columns):
    with sqlite3.connect(f"file:{server.database}?mode=ro", uri=True) as database:
        return database.execute(f"SELECT {', '.join(columns)} FROM {table} ORDER BY {columns[0]}").fetchall()


@of_a_file("what is in its tables")
@pytest.mark.parametrize("tells", [False, True])
def test_series_have_the_same_numbers_after_a_kill(start, tells):
    """Incidents know a series by its number, which follows from the order of the lines alone, whatever waited and was told by when."""
    server = start("--tracker-wait", "1s")
    hf_run(server, "numbers")
    logged, printed = hf_rows(1, 11, nan=10)
    taken(post(server, "numbers", {CONSOLE: (0, printed)}))
    if tells:
        taken(post(server, "numbers", {HISTORY: (0, [{key: row[key] for key in row if key != "train/loss"} for row in logged])}))
    server.wait_for_points("p/numbers", "train:loss", 10, stream="console")
    wait_until(lambda: non_finite(server, "p/numbers"), what="the incident")
    taken(post(server, "numbers", {CONSOLE: (10, ["step 3 loss: 0.25", "step 4 loss: 0.125"])}))
    server.wait_for_points("p/numbers", 'train:loss{preset="generic"}', 2, stream="console")
    numbers = rows_of(server, "incidents", "series_id", "kind")
    server.kill()
    server.start()
    server.wait_for_points("p/numbers", "train:loss", 10, stream="console")
    end(server, "numbers")
    wait_until(lambda: server.figure("extracted_seq") >= server.figure("committed_seq"), what="the extraction")
    server.stop()
    names = dict(rows_of(server, "series", "series_id", "metric"))
    assert rows_of(server, "incidents", "series_id", "kind") == numbers and {names[number] for number, _ in numbers} == {"train:loss"}
    assert len(set(names.values())) == len(names) and names[min(numbers)[0] + 1] == "train:grad_norm", names
    server.start()


def test_an_export_has_what_waits(start):
    origin, copy = start("--tracker-wait", "10m"), start("--tracker-wait", "10m")
    job = hf_run(origin, "out")
    taken(post(origin, "out", {CONSOLE: (0, hf_rows(1, 11)[1])}))
    origin.wait_for_extraction()
    assert copy.post("/api/v1/import", origin.get("/api/v1/export").raw, content_type="application/x-ndjson").body["imported"] == 1
    for server in (origin, copy):
        end(server, "out")
        server.wait_for_points("p/out", "train:loss", 10, stream="console")
        assert len(console(server, "p/out")) == 10
    wait_until(lambda: counts_of(origin, job) == counts_of(copy, job) and len(counts_of(copy, job)) == 5, what="the same metrics, with their roles")


def test_an_export_has_what_is_wrong_in_what_waits(start):
    """The tracker will tell the copy nothing of it, and nobody would ever hear of the NaN there."""
    origin, copy = start("--tracker-wait", "10m"), start("--tracker-wait", "10m")
    hf_run(origin, "out")
    taken(post(origin, "out", {CONSOLE: (0, hf_rows(1, 11, nan=4)[1])}))
    origin.wait_for_extraction()
    exported = origin.get("/api/v1/export").raw
    assert non_finite(origin, "p/out") == []
    assert copy.post("/api/v1/import", exported, content_type="application/x-ndjson").body["imported"] == 1
    assert non_finite(copy, "p/out") == ["train:loss"]
    assert copy.get("/api/v1/export").raw == exported
    for server in (origin, copy):
        end(server, "out")
        server.wait_for_points("p/out", "train:loss", 10, stream="console")
        found = lambda server=server: server.get("/api/v1/incidents").body["incidents"]
        wait_until(lambda: [row["state"] for row in found() if row["kind"] == "non_finite"] == ["recovered"], what="its end with the job")
    keys = "kind", "metric", "severity", "state", "opened_step", "opened_ms", "line", "first_step", "last_step", "closed_why"
    of = lambda server: [{key: row.get(key) for key in keys} for row in server.get("/api/v1/incidents?all=true").body["incidents"]]
    assert of(origin) == of(copy)


def test_an_export_ends_what_was_wrong_before_the_values_that_wait(start):
    """Another process goes on with the run: what it prints waits again."""
    origin, copy = start("--tracker-wait", "4s"), start("--tracker-wait", "4s")
    hf_run(origin, "out")
    printed = lambda rows: origin.post("/api/v1/logs?job=p%2Fout&stream=algo-1", body="".join(f"{row}\n" for row in rows).encode())
    begin_process(origin, "out", int(time.time()) - 100, axis="train/global_step")
    printed(hf_rows(1, 11, nan=10)[1])
    wait_until(lambda: non_finite(origin, "p/out") == ["train:loss"], what="the NaN, which nobody told")
    begin_process(origin, "out", int(time.time()), axis="train/global_step")
    printed(hf_rows(11, 31)[1])
    origin.wait_for_extraction()
    assert copy.post("/api/v1/import", origin.get("/api/v1/export").raw, content_type="application/x-ndjson").body["imported"] == 1
    origin.wait_for_points("p/out", "train:loss", 30)
    of = lambda server: [(row["state"], row["opened_step"], row["last_step"]) for row in server.get("/api/v1/incidents?kind=non_finite&all=true").body["incidents"]]
    wait_until(lambda: [state for state, _, _ in of(origin)] == ["recovered"], what="its end")
    assert of(copy) == of(origin)


def test_a_nan_that_is_printed_as_the_tracker_has_just_told_what_waits_is_found(start):
    """W&B sends a short run at its end: what was printed waits still, and the NaN behind it came when its metric was known to be told."""
    server = start("--tracker-wait", "2s")
    hf_run(server, "late")
    logged, printed = hf_rows(1, 6)
    taken(post(server, "late", {CONSOLE: (0, printed)}))
    server.wait_for_extraction()
    taken(post(server, "late", {HISTORY: (0, logged)}))
    server.wait_for_points("p/late", "train/loss", 5)
    taken(post(server, "late", {CONSOLE: (len(printed), hf_rows(6, 7, nan=6)[1])}))
    wait_until(lambda: non_finite(server, "p/late") == ["train:loss"], what="the NaN that nobody told")


def test_two_forms_of_one_metric_keep_their_order(start):
    """Of nanoGPT: what waits goes before a line of another form that says its step."""
    server = start("--tracker-wait", "10m")
    job = hf_run(server, "forms")
    lines = ["step    10 | loss: 9.512345 | lr 1.2587e-05 | norm: 2.3412 | dt: 338.12ms | tok/sec: 1550612.11", "validation loss: 9.2",
        "step 250: train loss 1.9, val loss 2.1"]
    taken(post(server, "forms", {CONSOLE: (0, lines)}))
    server.wait_for_points("p/forms", "val:loss", 2, stream="console")
    (series,) = server.get(f"{job}/points?metric=val:loss&stream=console&raw=true").body["series"]
    assert [series[key] for key in ("step", "value", "line")] == [[10, 250], [9.2, 2.1], [1, 2]]
    assert {row["metric"]: row["last"] for row in server.get(f"{job}/metrics").body["series"]}["val:loss"] == 2.1


def test_what_a_restart_superseded_while_it_waited_does_not_count(start):
    printed = lambda norm: "{'loss': 0.5, 'hidden_norm': %s, 'epoch': 0.5}" % norm
    lines = [line for n in range(91, 101) for line in (f"step {n} loss: {2 - n / 100}", printed(n + 0.5))]
    lines += ["Loading checkpoint from /ckpt/step-10", *(f"step {n} loss: {2 - n / 100}" for n in range(11, 31)), *map(printed, (0.25, 1.25, 2.25))]
    found = []
    for wait in ("0", "1s"):
        server = start("--tracker-wait", wait)
        job = hf_run(server, "back")
        taken(post(server, "back", {CONSOLE: (0, lines)}))
        server.wait_for_points("p/back", "hidden_norm", 3, stream="console")
        wait_until(lambda: server.figure("extracted_seq") >= server.figure("committed_seq"), what="the extraction")
        rows = server.get(f"{job}/metrics").body["series"]
        found.append([{key: row[key] for key in ("count", "min", "max", "last", "mean")} for row in rows if row["metric"] == "hidden_norm"])
    assert found[0] == found[1] and found[0][0]["count"] == 3, json.dumps(found)


def test_a_metric_of_the_log_s_own_stays_so_over_a_restart_of_the_server(start):
    server = start("--tracker-wait", "1s")
    hf_run(server, "own")
    taken(post(server, "own", {CONSOLE: (0, hf_rows(1, 6)[1])}))
    server.wait_for_points("p/own", "train:loss", 5, stream="console")
    server.stop()
    server.start("127.0.0.1:0")
    server.wait_for_points("p/own", "train:loss", 5, stream="console")
    taken(post(server, "own", {CONSOLE: (5, hf_rows(6, 7)[1])}))
    server.wait_for_extraction()
    assert counts_of(server, "/api/v1/jobs/p%2Fown")["train:loss"][0] == 6, "at once"


@pytest.mark.parametrize("is_ended", [True, False])
def test_what_is_printed_of_a_run_that_goes_on_after_a_kill_waits_again(start, is_ended):
    """The first process was killed before its client sent anything: what it printed is all that there is of it, and says nothing of the next one."""
    server = start("--tracker-wait", "3s")
    job = hf_run(server, "killed")
    began = int(time.time()) - 100

    def printed(rows, after_s):
        body = "".join(json.dumps({"ts": 1000 * (began + after_s + n), "line": row}) + "\n" for n, row in enumerate(rows)).encode()
        assert server.post("/api/v1/logs?job=p%2Fkilled&stream=algo-1", body=body, content_type="application/x-ndjson").status == 200

    assert server.post(f"{job}/transitions", json={"SecondaryStatus": "Training", "time_ms": 1000 * began}).status == 204
    begin_process(server, "killed", began, axis="train/global_step")
    printed(hf_rows(1, 4)[1], 1)
    server.wait_for_points("p/killed", "train:loss", 3)  # nobody told it
    if is_ended:
        for status, after_s in (("Failed", 10), ("Training", 20)):
            said = {"SecondaryStatus": status, "time_ms": 1000 * (began + after_s)}
            assert server.post(f"{job}/transitions", json=said).status == 204
    begin_process(server, "killed", began + 20, axis="train/global_step")
    logged, rows = hf_rows(3, 9)
    printed(rows[:3], 21)
    server.wait_for_extraction()
    assert counts_of(server, job)["train:loss"] == (3, "loss"), "they wait"
    taken(post(server, "killed", {HISTORY: (0, [row | {"_timestamp": began + 21 + n} for n, row in enumerate(logged)])}))
    printed(rows[3:], 24)
    server.wait_for_points("p/killed", "train/loss", 6)
    wait_until(lambda: counts_of(server, job)["train:loss"] == (3, "other"), what="the log to give way")
    assert counts_of(server, job)["train/loss"] == (6, "loss") and counts_of(server, job)["train:epoch"][0] == 3
    if is_ended:
        (cut,) = server.get(f"{job}/goodput").body["breaks"]
        assert (cut["from_ms"], cut["to_ms"], cut["lost_steps"]) == (1000 * (began + 10), 1000 * (began + 20), None), cut  # row 3 was made again, which no line says


def test_metrics_are_derived_of_values_that_waited(start):
    """Tokens and rates follow from the loss at its steps, line by line: as if it had not waited, the first of them too."""
    server = start("--tracker-wait", "1s")
    job = hf_run(server, "derived")
    began = int(time.time() * 1000) - 3_600_000
    lines = [{"ts": began, "line": text} for text in ARGUMENTS]
    for step in range(1, 21):
        lines += [{"ts": began + 20_000 * step, "line": text} for text in (f"step {step} grad_norm: 0.5", f"loss: {3 - step / 50} aux: 0.5")]
    body = "".join(json.dumps(line) + "\n" for line in lines).encode()
    assert server.post("/api/v1/logs?job=p%2Fderived&stream=algo-1", body=body, content_type="application/x-ndjson").status == 200
    server.wait_for_extraction()
    assert "train:loss" not in counts_of(server, job), "it waits"
    server.wait_for_points("p/derived", "derived:tokens_per_second", 18)  # of 20, but for the first two
    of = lambda metric: server.points("p/derived", metric, buckets=1000)["columns"]
    assert of("train:loss")["x"] == of("derived:tokens")["x"] == list(range(1, 21))
    assert of("derived:tokens")["last"] == [512 * 2048 * step for step in range(1, 21)]
    assert set(of("derived:tokens_per_second")["last"]) == {512 * 2048 / 20}


def wait_for_all(server):
    wait_until(lambda: server.figure("extracted_seq") >= server.figure("committed_seq"), what="the extraction")


def state_of(server, run):
    """What is shown of its metrics and incidents, for comparing: points in one piece, whatever of them is sealed."""
    job = f"/api/v1/jobs/p%2F{run}"
    counts = counts_of(server, job)
    raw = {metric: server.get(f"{job}/points?metric={metric}&raw=true").body["series"] for metric in counts}
    return counts, {metric: [point for one in series for point in zip(one["step"], one["value"])] for metric, series in raw.items()}, sorted(non_finite(server, f"p/{run}"))


PRINTED = {"train:loss": "loss", "train:grad_norm": "grad_norm", "train:lr": "learning_rate", "train:epoch": "other", "mean_token_accuracy": "other"}
LOGGED = {"train/loss": "loss", "train/grad_norm": "grad_norm", "train/learning_rate": "learning_rate", "train/mean_token_accuracy": "other", "train/epoch": "other",
    "train/global_step": "other"}


def wait_for_roles(server, run, roles, count):
    """Each metric gets its own, when it is consumed."""
    wanted = {metric: (count, role) for metric, role in roles.items()}
    wait_until(lambda: wanted.items() <= counts_of(server, f"/api/v1/jobs/p%2F{run}").items(), what="the roles")


def wait_for_state(server, run, wanted):
    """wanted() is the state that the server comes to."""
    def is_the_same():
        assert state_of(server, run) == wanted()
        return True
    wait_until(is_the_same, what="the same metrics, points and incidents")


def killed(server):
    server.kill()
    server.start("127.0.0.1:0", "--tracker-wait", "1s")
    wait_for_all(server)


def test_a_kill_after_the_end_changes_nothing(start):
    """The lines stand in the journal before what the tracker told, and the job has ended when they are read again."""
    server = start("--tracker-wait", "1s")
    hf_run(server, "over")
    logged, printed = hf_rows(1, 11, nan=4)
    for first in (0, 5):
        taken(post(server, "over", {CONSOLE: (first, printed[first:first + 5])}))
        taken(post(server, "over", {HISTORY: (first, logged[first:first + 5])}))
    end(server, "over")
    server.wait_for_points("p/over", "train/loss", 10)
    wait_for_roles(server, "over", LOGGED, 10)
    wait_until(lambda: non_finite(server, "p/over"), what="the incident")
    before = state_of(server, "over")
    assert before[2] == ["train/loss"] and "train:loss" not in before[0]
    killed(server)
    taken(post(server, "over", {CONSOLE: (10, ["wandb: done"])}))  # whatever was to be let go goes with it
    wait_for_state(server, "over", lambda: before)


def test_what_became_points_is_so_after_a_kill_whatever_is_told_later(start):
    """Incidents were opened by then, and people told."""
    server = start("--tracker-wait", "1s")
    job = hf_run(server, "shown")
    taken(post(server, "shown", {CONSOLE: (0, hf_rows(1, 11, nan=4)[1])}))
    server.wait_for_points("p/shown", "train:loss", 10, stream="console")
    wait_for_roles(server, "shown", PRINTED, 10)
    wait_until(lambda: non_finite(server, "p/shown"), what="the incident")
    wait_until(lambda: server.figure("sealed_lines_total") >= 10, what="what was decided to be sealed at once")
    before = state_of(server, "shown")
    killed(server)
    wait_for_state(server, "shown", lambda: before)
    taken(post(server, "shown", {HISTORY: (0, hf_rows(100, 102)[0])}))
    server.wait_for_points("p/shown", "train/loss", 2)
    assert counts_of(server, job)["train:loss"][0] == 10


def test_what_was_said_before_there_was_a_run_is_so_after_a_kill(start):
    """Its job gets a run of MLflow's afterwards."""
    server = start("--tracker-wait", "1s")
    server.send("p/first", hf_rows(1, 11, nan=4)[1])
    server.wait_for_points("p/first", "train:loss", 10)
    wait_until(lambda: non_finite(server, "p/first"), what="the incident")
    made = server.post("/api/2.0/mlflow/runs/create", json={"experiment_id": "0", "job_name": "p/first", "start_time": int(time.time() * 1000)})
    assert made.status == 200, made
    run = made.body["run"]["info"]["run_id"]
    wait_until(lambda: server.figure("sealed_lines_total") >= 10, what="what was said to be sealed at once")
    said = {"run_id": run, "metrics": [{"key": "loss", "value": 0.5, "timestamp": int(time.time() * 1000), "step": 100}]}
    assert server.post("/api/2.0/mlflow/runs/log-batch", json=said).status == 200
    server.wait_for_points("p/first", "loss", 1)
    wait_for_roles(server, "first", {"loss": "loss"}, 1)
    before = state_of(server, "first")
    assert before[0]["train:loss"][0] == 10, before
    killed(server)
    wait_for_state(server, "first", lambda: before)


def killed_while_it_waits(server):
    server.kill()
    server.start("127.0.0.1:0", "--tracker-wait", "10m")
    wait_for_all(server)


def nobody_tells(server, between):
    taken(post(server, "role", {CONSOLE: (0, hf_rows(1, 11, nan=4)[1])}))
    wait_for_all(server)
    between(server)
    return {"train:loss": (10, "loss"), "train:grad_norm": (10, "grad_norm")}, ["train:loss"]


def the_tracker_tells(server, between):
    logged, printed = hf_rows(1, 11, nan=4)
    taken(post(server, "role", {CONSOLE: (0, printed)}))
    wait_for_all(server)
    between(server)
    taken(post(server, "role", {HISTORY: (0, logged)}))
    return {"train/loss": (10, "loss")}, ["train/loss"]


def the_tracker_is_told_seldom(server, between):
    logged, printed = hf_rows(1, 31, nan=15)
    for first in (0, 10, 20):
        taken(post(server, "role", {HISTORY: (first // 10, [logged[first]]), CONSOLE: (first, printed[first:first + 10])}))
    wait_for_all(server)
    between(server)
    return {"train/loss": (3, "loss"), "train:loss": (1, "other")}, ["train:loss"]


def goes_on(server, between):
    """Three rows are the log's own: their process was killed before its client sent anything."""
    now = int(time.time())
    assert server.post("/api/v1/jobs/p%2Frole/transitions", json={"SecondaryStatus": "Training", "time_ms": 1000 * (now - 100)}).status == 204
    begin_process(server, "role", now - 100, axis="train/global_step")
    printed = lambda rows: server.post("/api/v1/logs?job=p%2Frole&stream=algo-1", body="".join(f"{row}\n" for row in rows).encode())
    printed(hf_rows(1, 4)[1])
    for status in ("Failed", "Training"):
        said = {"SecondaryStatus": status, "time_ms": int(time.time() * 1000)}
        assert server.post("/api/v1/jobs/p%2Frole/transitions", json=said).status == 204
        if status == "Failed":
            server.wait_for_points("p/role", "train:loss", 3)
    begin_process(server, "role", int(time.time()), axis="train/global_step")
    printed(hf_rows(3, 6)[1])
    server.wait_for_extraction()
    wait_until(lambda: counts_of(server, "/api/v1/jobs/p%2Frole")["train:loss"] == (3, "loss"), what="the role of those that do not wait")
    between(server)


def goes_on_and_the_tracker_tells(server, between):
    goes_on(server, between)
    taken(post(server, "role", {HISTORY: (0, [row | {"_timestamp": int(time.time()) + n} for n, row in enumerate(hf_rows(3, 6)[0])])}))
    return {"train:loss": (3, "other"), "train/loss": (3, "loss")}, []


def goes_on_and_nobody_tells(server, between):
    goes_on(server, between)
    return {"train:loss": (6, "loss")}, []


@pytest.mark.parametrize("scene", [nobody_tells, the_tracker_tells, the_tracker_is_told_seldom, goes_on_and_the_tracker_tells, goes_on_and_nobody_tells])
def test_a_kill_while_values_wait_changes_no_role(start, scene):
    servers = []
    for between in (lambda _: None, killed_while_it_waits):
        server = start("--tracker-wait", "10m")
        job = hf_run(server, "role")
        wanted, faults = scene(server, between)
        end(server, "role")
        wait_until(lambda: wanted.items() <= counts_of(server, job).items(), what=f"{wanted}, not {counts_of(server, job)}")
        wait_until(lambda: sorted(non_finite(server, "p/role")) == faults, what=f"{faults}")
        servers.append(server)
    wait_for_state(servers[1], "role", lambda: state_of(servers[0], "role"))  # each comes to the last roles in its own time


def test_an_export_changes_nothing(start):
    server = start("--tracker-wait", "10m")
    job = hf_run(server, "read")
    logged, printed = hf_rows(1, 11, nan=4)
    taken(post(server, "read", {CONSOLE: (0, printed)}))
    wait_for_all(server)
    first = settled_export(server)
    assert counts_of(server, job) == {} and not non_finite(server, "p/read")
    assert settled_export(server) == first
    taken(post(server, "read", {HISTORY: (0, logged)}))
    end(server, "read")
    server.wait_for_points("p/read", "train/loss", 10)
    wait_until(lambda: counts_of(server, job).get("train/loss") == (10, "loss"), what="the roles")
    assert "train:loss" not in counts_of(server, job) and non_finite(server, "p/read") == ["train/loss"]


def test_what_was_printed_before_the_tracker_s_first_point_is_the_log_s_own(start):
    """By the times of both: a loss that the tracker is told from a later step on, and a NaN among what was printed before."""
    server = start("--tracker-wait", "2s")
    job = hf_run(server, "before")
    now = int(time.time())
    logged, printed = hf_rows(1, 31, nan=4)
    times = [now - 60 + 2 * n for n in range(30)]
    lines = "".join(json.dumps({"log": row, "time": at}) + "\n" for row, at in zip(printed, times))
    assert server.post("/api/v1/logs?job=p%2Fbefore&stream=algo-1", body=lines.encode(), content_type="application/x-ndjson").status == 200
    wait_for_all(server)
    taken(post(server, "before", {HISTORY: (0, [row | {"_timestamp": at} for row, at in list(zip(logged, times))[15:]])}))
    server.wait_for_points("p/before", "train/loss", 15)
    server.wait_for_points("p/before", "train:loss", 10)  # the tracker's first time is 30 s after the first line's: ten of them are more than ten seconds before
    wait_until(lambda: counts_of(server, job).get("train/loss") == (15, "loss"), what="the roles")
    assert counts_of(server, job)["train:loss"][0] == 10
    wait_until(lambda: non_finite(server, "p/before") == ["train:loss"], what="the incident")


def test_a_nan_that_the_tracker_is_not_told_is_an_incident(start):
    """It is told each tenth step, and the log says each one; or another process prints it."""
    server = start("--tracker-wait", "1s")
    job = hf_run(server, "between")
    logged, printed = hf_rows(1, 31, nan=15)
    for first in (0, 10, 20):
        taken(post(server, "between", {HISTORY: (first // 10, [logged[first]]), CONSOLE: (first, printed[first:first + 10])}))
    wait_until(lambda: non_finite(server, "p/between"), what="the incident")
    assert non_finite(server, "p/between") == ["train:loss"]
    taken(post(server, "between", {CONSOLE: (30, [row.replace("'loss': 1.", "'loss': nan, 'was': 1.") for row in hf_rows(31, 34)[1]])}))
    server.send("p/between", [*hf_rows(1, 4)[1], *hf_rows(4, 5, nan=4)[1]], stream="algo-2")
    wait_until(lambda: len(non_finite(server, "p/between")) == 2, what="that of the other process")
    end(server, "between")
    server.wait_for_points("p/between", "train/loss", 3)
    wait_until(lambda: counts_of(server, job).get("train/loss") == (3, "loss"), what="the roles")
    assert {metric: count for metric, (count, _) in counts_of(server, job).items() if metric.startswith("train:loss")} in ({"train:loss": 1}, {"train:loss": 2})
    assert non_finite(server, "p/between") == ["train:loss"] * 2


def test_a_nan_that_the_tracker_is_told_later_is_one_incident(start):
    server = start("--tracker-wait", "2s")
    hf_run(server, "both")
    logged, printed = hf_rows(1, 31, nan=25)
    taken(post(server, "both", {HISTORY: (0, logged[:10]), CONSOLE: (0, printed[:10])}))
    taken(post(server, "both", {CONSOLE: (10, printed[10:])}))
    wait_for_all(server)
    taken(post(server, "both", {HISTORY: (10, logged[10:])}))
    wait_until(lambda: non_finite(server, "p/both"), what="the incident")
    end(server, "both")
    server.wait_for_points("p/both", "train/loss", 30)
    wait_for_all(server)
    assert non_finite(server, "p/both") == ["train/loss"]


def at_times(rows, times):
    return [row | {"_timestamp": at} for row, at in zip(rows, times)]


def all_non_finite(server, job):
    return sorted(row["metric"] for row in server.get("/api/v1/incidents?all=true").body["incidents"] if row["job"] == job and row["kind"] == "non_finite")


def test_a_fault_that_the_log_said_and_the_tracker_tells_later_is_one_incident(start):
    """W&B's client is begun late and is told everything then: the log has spoken by that time."""
    server = start("--tracker-wait", "1s")
    hf_run(server, "late")
    logged, printed = hf_rows(1, 31, nan=4)
    taken(post(server, "late", {CONSOLE: (0, printed)}))
    wait_until(lambda: non_finite(server, "p/late"), what="the log's")
    taken(post(server, "late", {HISTORY: (0, at_times(logged, [int(time.time())] * 30))}))
    wait_until(lambda: all_non_finite(server, "p/late") == ["train/loss", "train:loss"], what="the tracker's")
    assert non_finite(server, "p/late") == ["train:loss"]
    (row,) = server.get("/api/v1/incidents?kind=non_finite").body["incidents"]
    assert "streams" not in row and "stream_count" not in row, "it is of one"


def printed_long_before(server, run, logged, printed, times):
    lines = "".join(json.dumps({"log": row, "time": at}) + "\n" for row, at in zip(printed, times))
    assert server.post(f"/api/v1/logs?job=p%2F{run}&stream=algo-1", body=lines.encode(), content_type="application/x-ndjson").status == 200
    wait_for_all(server)  # of two streams either could be read first
    taken(post(server, run, {HISTORY: (0, logged)}))
    wait_until(lambda: all_non_finite(server, f"p/{run}") == ["train/loss", "train:loss"], what="both")


def test_a_fault_that_the_tracker_tells_and_the_log_has_said_before_is_one_incident(start):
    """As MLflow's client does it, of what was kept for it: the tracker's points are of when it was called."""
    server = start("--tracker-wait", "2s")
    hf_run(server, "kept")
    now = int(time.time())
    logged, printed = hf_rows(1, 31, nan=4)
    printed_long_before(server, "kept", at_times(logged, [now] * 30), printed, [now - 60 + n for n in range(30)])
    assert non_finite(server, "p/kept") == ["train/loss"]


def test_a_fault_that_the_tracker_was_never_told_is_another_one(start):
    server = start("--tracker-wait", "2s")
    hf_run(server, "other")
    now = int(time.time())
    logged, _ = hf_rows(1, 31, nan=18)
    times = [now - 60 + 2 * n for n in range(30)]
    printed_long_before(server, "other", at_times(logged, times)[15:], hf_rows(1, 31, nan=4)[1], times)
    assert sorted(non_finite(server, "p/other")) == ["train/loss", "train:loss"]
