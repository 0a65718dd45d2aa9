"""Of runs of W&B without its SDK: what a trainer prints beside what it logs, alerts that a sync brings again, and changes by wandb.Api()."""

import json
import random
import subprocess
import sys
import time

import pytest

from smserver import ROOT, Server, wait_until
from test_wandb_alerts import alert, metrics_of
from test_wandb_door import CONSOLE, HISTORY, T0, console, guarded, make_run, row_of, shared, taken
from wandbclient import ask, post

__all__ = ["guarded", "shared"]  # fixtures


def hf_rows(first, last, nan=None):
    """(what the Trainer logs, and what it prints of it) each ten steps: no step is printed."""
    logged, printed = [], []
    for n in range(first, last):
        loss = "nan" if n == nan else 2 - n / 50
        values = {"loss": loss, "grad_norm": 0.5 + n / 100, "learning_rate": 1e-4 - n * 1e-6, "mean_token_accuracy": 0.5 + n / 100, "epoch": n / 10}
        row = {f"train/{name}": "NaN" if value == "nan" else value for name, value in values.items()}
        logged.append(row | {"_step": n, "_timestamp": T0 + n, "train/global_step": 10 * n})
        printed.append(str(values).replace("'nan'", "nan"))
    return logged, printed


def hf_run(server, run_id):
    make_run(server, run_id, config=json.dumps({"_wandb": {"value": {"m": [{"1": "train/global_step"}, {"2": "*", "5": 1}]}}}))
    return f"/api/v1/jobs/p%2F{run_id}"


def wait_for_counts(server, job, wanted):
    """Which metric answers for a role is worked out with the summaries, each two seconds."""
    wait_until(lambda: wanted.items() <= counts_of(server, job).items(), what=f"{wanted}")


def counts_of(server, job):
    return {series["metric"]: (series["count"], series["role"]) for series in server.get(f"{job}/metrics").body["series"]}


TOLD = {"train/loss", "train/grad_norm", "train/learning_rate", "train/mean_token_accuracy", "train/epoch", "train/global_step"}


def test_what_the_tracker_tells_is_not_read_from_lines_without_a_step(shared):
    job = hf_run(shared, "once")
    for first in (1, 11, 21):
        logged, printed = hf_rows(first, first + 10, nan=25)
        taken(post(shared, "once", {HISTORY: (first - 1, logged), CONSOLE: (first - 1, printed)}))
    taken(post(shared, "once", {CONSOLE: (30, ["step 310 loss: 0.75", "{'loss': 0.9, 'hidden_norm': 3.5, 'epoch': 4.0}"])}))
    shared.wait_for_points("p/once", "train/loss", 30)
    shared.wait_for_points("p/once", "hidden_norm", 1, stream="console")  # nobody told it meanwhile
    wait_for_counts(shared, job, {"train/loss": (30, "loss")})
    got = counts_of(shared, job)
    beside = 'train:loss{preset="generic"}'  # the bare name is the Trainer's format's
    assert TOLD <= set(got) and set(got) - TOLD == {beside, "hidden_norm"}, "a step of its own, and what the tracker does not tell"
    assert got[beside][0] == 1
    found = lambda: [row for row in shared.get("/api/v1/incidents").body["incidents"] if row["job"] == "p/once" and row["kind"] == "non_finite"]
    wait_until(lambda: [(row["metric"], row["opened_step"]) for row in found()] == [("train/loss", 250)], what="the incident, in the commit behind its points")


@pytest.fixture(scope="module")
def impatient(tmp_path_factory):
    """A server that waits for no tracker."""
    server = Server(tmp_path_factory.mktemp("impatient"), "--tracker-wait", "0").start()
    yield server
    server.close()


def test_a_tracker_that_tells_later(impatient):
    shared = impatient
    job = hf_run(shared, "late")
    logged, printed = hf_rows(1, 31, nan=25)
    taken(post(shared, "late", {CONSOLE: (0, printed[:5])}))
    shared.wait_for_points("p/late", "train:loss", 5, stream="console")
    wait_for_counts(shared, job, {"train:loss": (5, "loss")})  # as long as nobody tells more
    taken(post(shared, "late", {HISTORY: (0, logged[:10]), CONSOLE: (5, printed[5:10])}))
    taken(post(shared, "late", {HISTORY: (10, logged[10:]), CONSOLE: (10, printed[10:])}))
    shared.wait_for_points("p/late", "train/loss", 30)
    shared.wait_for_extraction()
    wait_for_counts(shared, job, {"train:loss": (5, "other"), "train/loss": (30, "loss")})
    wait_until(lambda: non_finite(shared, "p/late") == ["train/loss"], what="the incident, in the commit behind its points")


def test_a_last_word_to_the_tracker_is_no_curve(impatient):
    """log({"loss": last}) behind a training that printed its curve and told none: the curve is the job's loss."""
    job = hf_run(impatient, "word")
    taken(post(impatient, "word", {CONSOLE: (0, hf_rows(1, 31)[1])}))
    impatient.wait_for_points("p/word", "train:loss", 30, stream="console")
    taken(post(impatient, "word", {HISTORY: (0, [{"_step": 30, "_timestamp": T0 + 30, "loss": 1.4}])}))
    rows = lambda: {row["metric"]: row.get("is_main") for row in row_of(impatient, "p/word")["metrics"] if row["role"] == "loss"}
    wait_until(lambda: len(rows()) == 2, what="the summaries")
    assert rows() == {"train:loss": True, "loss": None} and counts_of(impatient, job)["train:loss"] == (30, "loss")


def printed_first(server, run_id, rows=10):
    """What it prints comes before the tracker's first word, and is on disk."""
    job = hf_run(server, run_id)
    logged, printed = hf_rows(1, rows + 1, nan=rows)
    taken(post(server, run_id, {CONSOLE: (0, printed)}))
    server.wait_for_extraction()
    assert console(server, f"p/{run_id}") == printed, "lines wait for nobody"
    assert counts_of(server, job) == {}, "their values do"
    return job, logged


def non_finite(server, job):
    return [row["metric"] for row in server.get("/api/v1/incidents").body["incidents"] if row["job"] == job and row["kind"] == "non_finite"]


def test_who_joins_a_shared_run_ends_no_wait(shared):
    """mode="shared", which the clients' telemetry says: what the first process printed waits for what that tells."""
    def join(run_id):
        features = [13, 14, 67] if run_id == "joined" else [13, 14]
        make_run(shared, run_id, host="h", config=json.dumps({"_wandb": {"value": {"t": {"3": features}, "m": [{"1": "train/global_step"}, {"2": "*", "5": 1}]}}}))

    logged, printed = hf_rows(1, 11)
    counts = {}
    for run_id in ("joined", "went-on"):
        join(run_id)
        assert shared.post(f"/api/v1/logs?job=p%2F{run_id}&stream=algo-1", "\n".join(printed), content_type="text/plain").status == 200
        shared.wait_for_extraction()
        join(run_id)
        taken(post(shared, run_id, {HISTORY: (0, logged)}))
        shared.wait_for_points(f"p/{run_id}", "train/loss", 10)
        counts[run_id] = counts_of(shared, f"/api/v1/jobs/p%2F{run_id}").get("train:loss", (0, ""))[0]
    assert counts == {"joined": 0, "went-on": 10}, "of a run of one process the other goes on, and does not tell what was printed before"


def test_what_is_printed_before_the_tracker_tells_makes_no_second_series(shared):
    job, logged = printed_first(shared, "behind")
    taken(post(shared, "behind", {HISTORY: (0, logged)}))
    shared.wait_for_points("p/behind", "train/loss", 10)
    make = {"SecondaryStatus": "Completed", "time_ms": int(time.time() * 1000)}
    assert shared.post(f"{job}/transitions", json=make).status == 204
    wait_until(lambda: shared.get(job).body["FinalMetricDataList"], what="its final metrics")
    assert set(counts_of(shared, job)) == TOLD
    assert non_finite(shared, "p/behind") == ["train/loss"], "told once"


@pytest.mark.parametrize("end", ["Completed", None])
def test_what_no_tracker_tells_is_the_log_s_own(tmp_path, end):
    """At the job's end, or when it has waited long enough: with the role, the steps and the times that it had."""
    server = Server(tmp_path, "--tracker-wait", "10m" if end else "2s").start()
    try:
        job, _ = printed_first(server, "own") if end else (hf_run(server, "own"), None)
        if end:
            assert server.post(f"{job}/transitions", json={"SecondaryStatus": end, "time_ms": int(time.time() * 1000)}).status == 204
        else:
            taken(post(server, "own", {CONSOLE: (0, hf_rows(1, 11, nan=10)[1])}))
        server.wait_for_points("p/own", "train:loss", 10, stream="console")
        wait_for_counts(server, job, {"train:loss": (10, "loss")})
        wait_until(lambda: non_finite(server, "p/own") == ["train:loss"], what="the incident")
        taken(post(server, "own", {CONSOLE: (10, hf_rows(11, 21)[1])}))
        server.wait_for_points("p/own", "train:loss", 20, stream="console")
        got = server.get(f"{job}/points?metric=train:loss&stream=console&raw=true").body["series"]
        lines = [line for part in got for line in part["line"]]
        assert lines == list(range(20)), "in the order of their lines"
    finally:
        server.close()


def test_what_waits_survives_a_kill(tmp_path):
    """It is not sealed, so its lines are read again; a tracker that tells after the start is heard."""
    server = Server(tmp_path, "--tracker-wait", "10m", "--seal-age", "100ms").start()
    try:
        _, logged = printed_first(server, "killed")
        job = printed_first(server, "untold")[0]
        server.kill()
        server.start()
        taken(post(server, "killed", {HISTORY: (0, logged)}))
        server.wait_for_points("p/killed", "train/loss", 10)
        for run in ("killed", "untold"):
            sent = {"SecondaryStatus": "Completed", "time_ms": int(time.time() * 1000)}
            assert server.post(f"/api/v1/jobs/p%2F{run}/transitions", json=sent).status == 204
        server.wait_for_points("p/untold", "train:loss", 10, stream="console")
        wait_for_counts(server, job, {"train:loss": (10, "loss")})
        wait_until(lambda: server.figure("sealed_lines_total") == 20, what="the sealer")
        assert set(counts_of(server, "/api/v1/jobs/p%2Fkilled")) == TOLD
    finally:
        server.close()


def test_the_run_s_history_is_what_it_logged(shared):
    """wandb.Api() gives back rows of the run: what its lines say beside is the job's, and read as such."""
    hf_run(shared, "rows")
    logged, _ = hf_rows(1, 6)
    shared.post("/api/v1/logs?job=p%2Frows&stream=algo-1", body=b"".join(b"step %d loss: 7.5 grad_norm: 3.5\n" % n for n in range(1, 100)))
    taken(post(shared, "rows", {HISTORY: (0, logged)}))
    shared.wait_for_points("p/rows", "train/loss", 5)
    shared.wait_for_points("p/rows", "train:loss", 99)
    of = lambda operation, name: ask(shared, operation, {"project": "p", name: "rows", "samples": 500, "minStep": 0, "maxStep": 1000})[1]["data"]["project"]["run"]
    for operation, name in (("HistoryPage", "run"), ("RunFullHistory", "name")):
        rows = [json.loads(row) for row in of(operation, name)["history"]]
        assert [{key: row[key] for key in row if key not in ("_runtime", "_timestamp")} for row in rows] == \
            [{key: row[key] for key in row if key != "_timestamp"} | {"_step": row["train/global_step"]} for row in logged], rows
    keys = of("RunHistoryKeys", "name")["historyKeys"]
    assert set(keys["keys"]) == TOLD and keys["lastStep"] == 50
    hf_run(shared, "silent")
    shared.post("/api/v1/logs?job=p%2Fsilent&stream=algo-1", body=b"step 1 loss: 7.5\n")
    shared.wait_for_points("p/silent", "train:loss", 1)
    assert ask(shared, "HistoryPage", {"project": "p", "run": "silent", "minStep": 0, "maxStep": 9})[1]["data"]["project"]["run"]["history"] == []


def test_nothing_waits_while_the_journal_is_long(tmp_path):
    """A stream that holds values is not sealed: one that always says something new must not fill the journal."""
    server = Server(tmp_path, "--tracker-wait", "10m", "--journal-bytes", "1MiB", "--seal-bytes", "64KiB").start()
    try:
        printed_first(server, "long")
        noise = [random.Random(n).randbytes(4000).hex() for n in range(200)]  # 800 kB when it is compressed
        for at in range(0, 200, 50):
            taken(post(server, "long", {CONSOLE: (10 + at, noise[at:at + 50])}))
        server.wait_for_points("p/long", "train:loss", 10, stream="console")
        wait_until(lambda: server.figure("sealed_lines_total") == 210, what="the sealer")
    finally:
        server.close()


def test_a_line_with_a_step_does_not_overtake(tmp_path):
    server = Server(tmp_path, "--tracker-wait", "10m").start()
    try:
        job = hf_run(server, "mixed")
        taken(post(server, "mixed", {CONSOLE: (0, ["step 1 loss: 3.5", "step 2 loss: 3.25", "lr: 0.5", "step 3 lr: 0.25"])}))
        server.wait_for_points("p/mixed", "train:loss", 2, stream="console")
        server.wait_for_points("p/mixed", "train:lr", 2, stream="console")
        assert server.points("p/mixed", "train:lr", stream="console", buckets=1000)["columns"]["last"] == [0.5, 0.25], counts_of(server, job)
    finally:
        server.close()


def test_what_somebody_defines_is_read_beside_the_tracker(shared):
    job = hf_run(shared, "by-hand")
    definition = {"Name": "mine", "Regex": r"'loss': (\S+),", "Role": "loss"}
    assert shared.put(f"{job}/definitions", json={"definitions": [definition]}).status < 300
    logged, printed = hf_rows(1, 11)
    taken(post(shared, "by-hand", {HISTORY: (0, logged), CONSOLE: (0, printed)}))
    shared.wait_for_points("p/by-hand", "mine", 10, stream="console")
    assert TOLD | {"mine"} == metrics_of(shared, job)


@pytest.mark.parametrize("options", [(), ("--seal-age", "1s")])
def test_after_a_restart_the_tracker_s_metrics_are_known(tmp_path, options):
    server = Server(tmp_path, *options).start()
    try:
        job = hf_run(server, "kept")
        logged, printed = hf_rows(1, 21)
        taken(post(server, "kept", {CONSOLE: (0, printed[:10]), HISTORY: (0, logged)}))
        server.wait_for_points("p/kept", "train/loss", 20)
        if options:
            wait_until(lambda: server.figure("sealed_points_total") == 120 and server.figure("sealed_lines_total") == 10, what="the sealer")
        server.kill()
        server.start()
        taken(post(server, "kept", {CONSOLE: (10, printed[10:])}))
        server.wait_for_extraction()
        assert len(console(server, "p/kept")) == 20
        assert set(counts_of(server, job)) == TOLD
    finally:
        server.close()


def test_a_job_that_goes_on_without_its_tracker(tmp_path):
    """Its log is all that there is of it then, before and behind a restart of the server."""
    server = Server(tmp_path, "--seal-age", "1s", "--tracker-wait", "0").start()
    try:
        job = hf_run(server, "on")
        logged, printed = hf_rows(1, 31)
        began = int(time.time()) - 1000
        logged = [row | {"_timestamp": began + n} for n, row in enumerate(logged)]
        taken(post(server, "on", {CONSOLE: (0, printed[:5])}))
        server.wait_for_points("p/on", "train:loss", 5, stream="console")
        taken(post(server, "on", {HISTORY: (0, logged[:10]), CONSOLE: (5, printed[5:10])}))
        server.wait_for_points("p/on", "train/loss", 10)
        server.wait_for_extraction()
        wait_for_counts(server, job, {"train:loss": (5, "other")})
        for status in ("Failed", "Training"):
            assert server.post(f"{job}/transitions", json={"SecondaryStatus": status, "time_ms": int(time.time() * 1000)}).status == 204
        taken(post(server, "on", {CONSOLE: (10, printed[10:20])}))
        server.wait_for_extraction()
        wait_for_counts(server, job, {"train:loss": (15, "loss")})
        wait_until(lambda: server.figure("sealed_lines_total") == 20, what="the sealer")
        server.kill()
        server.start()
        taken(post(server, "on", {CONSOLE: (20, printed[20:])}))
        server.wait_for_extraction()
        wait_for_counts(server, job, {"train:loss": (25, "loss")})
        late = [row | {"_timestamp": int(time.time()) + n} for n, row in enumerate(hf_rows(31, 41)[0])]
        taken(post(server, "on", {HISTORY: (10, late), CONSOLE: (30, hf_rows(31, 41)[1])}))
        server.wait_for_points("p/on", "train/loss", 20)
        server.wait_for_extraction()
        wait_for_counts(server, job, {"train:loss": (25, "other")})  # the tracker tells again
    finally:
        server.close()


@pytest.mark.parametrize("program", ["sm-ship", "sm_ship.py"])
def test_a_file_that_is_read_behind_the_end_says_nothing_of_the_job_running(server, ship, program):
    """What it printed, kept in a file: read for its lines alone, as if they were posted."""
    job = hf_run(server, "ended")
    began = int(time.time()) - 100
    logged, printed = hf_rows(1, 31, nan=25)
    logged = [row | {"_timestamp": began + n} for n, row in enumerate(logged)]
    taken(post(server, "ended", {HISTORY: (0, logged)}, complete=True, exitcode=0))
    server.wait_for_points("p/ended", "train/loss", 30)
    wait_until(lambda: non_finite(server, "p/ended") == ["train/loss"], what="the incident")
    facts = lambda: {key: server.get(job).body.get(key) for key in ("TrainingJobStatus", "TrainingEndTime", "BillableTimeInSeconds", "SecondaryStatusTransitions")}
    before = facts()
    assert before["TrainingJobStatus"] == "Completed"
    file = ship.folder / "stdout.log"
    file.write_text("".join(f"{line}\n" for line in printed))
    command = [ship.program] if program == "sm-ship" else [sys.executable, str(ROOT / "clients/sm_ship.py")]
    subprocess.run([*command, "--job", "p/ended", "--resume", str(file)], env=ship.env, timeout=60, check=True)
    stream = next(row["stream"] for row in server.get(f"{job}/streams").body["streams"] if row["lines"] == 30)
    assert [line["text"] for line in server.lines("p/ended", stream)] == printed
    server.wait_for_extraction()
    assert set(counts_of(server, job)) == TOLD
    assert non_finite(server, "p/ended") == ["train/loss"]
    assert facts() == before


def test_an_alert_of_a_sync_is_told_once(shared):
    told = lambda: [line["text"] for line in shared.lines("p/synced", "alerts")]
    raised = lambda: [row for row in shared.get("/api/v1/incidents").body["incidents"] if row["job"] == "p/synced"]
    make_run(shared, "synced", host="node-1", program="/home/u/train.py", config="{}")
    for _ in range(3):
        assert alert(shared, "synced", title="loss", text="is high")[0] == 200
    assert told() == 3 * ["WARN alert: loss: is high"], "a training is told of each time"
    before = len(raised())
    legacy = {"headers": {"User-Agent": "W&B Internal Client 0.23.1"}}  # says no program
    for more in ({"program": "/usr/bin/wandb"}, {"program": "-m wandb.__main__"}, legacy):
        make_run(shared, "synced", host="node-1", config="{}", **more)
        for _ in range(3):
            assert alert(shared, "synced", title="loss", text="is high")[1]["data"]["notifyScriptableRunAlert"]["success"]
    assert told() == 3 * ["WARN alert: loss: is high"] and len(raised()) == before
    assert alert(shared, "synced", title="loss", text="is higher")[0] == 200
    assert told() == [*3 * ["WARN alert: loss: is high"], "WARN alert: loss: is higher"], "the sync goes on behind what was told"
    make_run(shared, "synced", host="node-1", program="/home/u/train.py", config="{}")
    assert alert(shared, "synced", title="loss", text="is high")[0] == 200
    assert told()[-1] == "WARN alert: loss: is high" and len(told()) == 5, "a training that goes on is no sync"
    assert {tag["Key"]: tag["Value"] for tag in row_of(shared, "p/synced")["Tags"]}["wandb.program"] == "/home/u/train.py"


def test_a_change_by_the_key_makes_no_run(guarded):
    server, tokens = guarded
    key = make_run(server, "changed", project="keys", token=tokens["red"])["bucket"]["id"]
    change = lambda key, summary='{"best": 2}', team="red": ask(server, "UpsertBucket", {"id": key, "summaryMetrics": summary}, token=tokens[team])[1]
    assert change(key)["data"]["upsertBucket"]["bucket"]["name"] == "changed"
    node = ask(server, "Run", {"project": "keys", "name": "changed"}, token=tokens["red"])[1]["data"]["project"]["run"]
    assert json.loads(node["summaryMetrics"]) == {"best": 2}
    for wrong, team, summary, said in ((key, "blue", "{}", "has no run 'red/keys/changed'"), ("red/keys/none", "red", "{}", "no run"), (key, "red", "[1]", "no JSON object"), (key, "red", "{", "no JSON object")):
        assert said in change(wrong, summary, team)["errors"][0]["message"].replace("there is no tracked run", "no run"), (wrong, team)
    names = [row["TrainingJobName"] for row in server.get("/api/v1/jobs", token=tokens["admin"]).body["jobs"]]
    assert names.count("keys/changed") == 1 and not [name for name in names if name.startswith("uncategorized/")], names


def test_many_rows_of_one_time_are_told_apart_by_their_axis(shared):
    make_run(shared, "at-once", config=json.dumps({"_wandb": {"value": {"m": [{"2": "train/*", "5": 2}, {"1": "axis"}]}}}))
    rows = [{"_step": n, "_timestamp": T0, "axis": 4000 - n, "train/loss": n + 0.5} for n in range(4000)]
    for n in range(1000, 4000, 3):
        del rows[n]["axis"]  # the loss is by the step then, which is the axis of another row, or of one without
    for at in range(0, 4000, 1000):
        taken(post(shared, "at-once", {HISTORY: (at, rows[at:at + 1000])}))
    shared.wait_for_points("p/at-once", "train/loss", 4000)
    before_s = shared.processor_s()
    _, body = ask(shared, "HistoryPage", {"project": "p", "run": "at-once", "minStep": 0, "maxStep": 4000, "pageSize": 4000})
    assert shared.processor_s() - before_s < 10, "each row is found at once: by looking at all of them it took minutes"
    got = [json.loads(row) for row in body["data"]["project"]["run"]["history"]]
    wanted = {n: row["axis"] for n, row in enumerate(rows) if "axis" in row}
    assert {row["_step"]: row["axis"] for row in got if "axis" in row} == wanted
    sure = {n for n in wanted if 4000 - n not in range(1000, 4000, 3)}  # no other point has its step
    assert {row["_step"]: row["train/loss"] for row in got if row["_step"] in sure} == {n: n + 0.5 for n in sure}
