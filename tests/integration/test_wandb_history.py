"""What wandb.Api() reads of runs, without it: rows of a history, samples of it, lists of runs."""

import json
import time

import pytest

from smserver import Server
from test_wandb_door import HISTORY, guarded, rows, shared, taken  # noqa: F401 (two are fixtures)
from wandbclient import ask, make_run, post


def history(server, run_id, first=0, behind=1 << 40, project="p"):
    status, body = ask(server, "HistoryPage", {"project": project, "run": run_id, "minStep": first, "maxStep": behind, "pageSize": 1000})
    assert status == 200, body
    return [json.loads(row) for row in body["data"]["project"]["run"]["history"]]


def test_rows_come_back_as_they_were(shared):
    make_run(shared, "rows", config=json.dumps({"lr": {"value": 1}, "_wandb": {"value": {"m": [{"2": "eval/*", "5": 2}, {"1": "epoch"}]}}}))
    now = 1_790_000_000
    rows = [{"_step": 2 * n, "_timestamp": now + n // 4, "loss": n / 2} for n in range(100)]  # four rows have the same time
    for n in range(0, 100, 10):
        rows[n] |= {"epoch": n // 10, "eval/acc": n / 100}
    rows[13] |= {"eval/acc": 0.5}  # without its axis: by the step
    rows[17] = {"_step": 34, "_timestamp": now + 4, "x/y.z": -1e300}
    assert post(shared, "rows", {"wandb-history.jsonl": (0, rows)}).status == 200
    got = history(shared, "rows")
    for row in got:
        assert row.pop("_runtime") is not None
    assert got == rows
    assert [row["_step"] for row in history(shared, "rows", 11, 20)] == [12, 14, 16, 18]
    assert history(shared, "rows", 500) == [] == history(shared, "rows", 20, 20)
    status, body = ask(shared, "Runs", {"project": "p", "filters": json.dumps({"name": "rows"})}, )
    assert "config" not in body["data"]["project"]["runs"]["edges"][0]["node"], "a list that does not ask for it"
    node = ask(shared, "Run", {"project": "p", "name": "rows"})[1]["data"]["project"]["run"]
    assert json.loads(node["config"]) == {"lr": {"value": 1}, "_wandb": {"value": {"m": [{"2": "eval/*", "4": "epoch"}]}}}
    assert node["historyKeys"] == {"lastStep": 198, "keys": {"loss": {}, "epoch": {}, "eval/acc": {}, "x/y.z": {}}}


STAR = [{"1": "gs"}, {"2": "*", "4": "gs"}, {"1": "epoch"}, {"2": "val/*", "4": "epoch"}, {"2": "val/deep/*", "4": "tokens"}]
CHAIN = [{"1": "gs"}, {"2": "train/*", "5": 1}, {"1": "epoch", "5": 1}, {"2": "val/*", "4": "epoch"}, {"2": "val/deep/*", "4": "tokens"}]


@pytest.mark.parametrize("axes, column", [(STAR, "gs"), (STAR[::-1], "gs"), (CHAIN, "_step")], ids=["all-by-one", "listed-the-other-way", "an-axis-by-another"])
def test_one_log_is_one_row_also_where_an_axis_is_by_another(shared, axes, column):
    run = f"axes-{column}-{'2' in axes[0]}"
    make_run(shared, run, config=json.dumps({"_wandb": {"value": {"m": axes}}}))
    now = 1_790_000_000
    rows = [{"_step": n, "_timestamp": now + n // 4, "train/loss": 3 - n / 100, "gs": 5 * n} for n in range(100)]
    for n in range(9, 100, 10):
        rows[n] |= {"val/acc": n / 100, "epoch": n // 10, "val/deep/f1": n / 200, "tokens": 1000 * n}
    rows[33] |= {"val/acc": 0.5}  # without its axis
    rows[47] = {"_step": 47, "_timestamp": now + 11, "lr": 0.5, "val/acc": 0.25}  # with none at all
    assert post(shared, run, {"wandb-history.jsonl": (0, rows)}).status == 200
    wanted = sorted(({**row, "_step": row.get(column, row["_step"])} for row in rows), key=lambda row: (row["_step"], row["_timestamp"]))
    got = history(shared, run)
    for row in got:
        assert row.pop("_runtime") is not None
    assert got == wanted
    assert shared.points(f"p/{run}", "val/acc", buckets=1000)["columns"]["x"][:4] == [0, 1, 2, 3], "by its epoch, whatever the order of the list"


def test_rows_that_were_gone_behind_are_left_out(shared):
    make_run(shared, "behind")
    now = int(time.time()) - 100
    rows = lambda first, last, at_s, loss: [{"_step": step, "_timestamp": at_s + step, "loss": loss} for step in range(first, last)]
    assert post(shared, "behind", {"wandb-history.jsonl": (0, rows(0, 10, now, 1))}).status == 200
    assert ask(shared, "RewindRun", {"project": "p", "runName": "behind", "metricName": "_step", "metricValue": 4})[1]["data"]
    assert post(shared, "behind", {"wandb-history.jsonl": (5, rows(5, 8, now + 20, 2))}).status == 200
    assert [(row["_step"], row["loss"]) for row in history(shared, "behind")] == [(step, 1 if step < 5 else 2) for step in range(8)]


def test_a_run_without_rows_and_none(shared):
    make_run(shared, "empty")
    assert history(shared, "empty") == []
    for operation, name in (("HistoryPage", "run"), ("RunFullHistory", "name"), ("RunHistoryKeys", "name"), ("RunParquetHistory", "runName")):
        status, body = ask(shared, operation, {"project": "p", name: "nobody"})
        assert (status, body) == (200, {"data": {"project": {"run": None}}}), operation
        status, body = ask(shared, operation, {"project": "p", name: "empty", "samples": 10})
        assert status == 200 and body["data"]["project"]["run"], body
    assert ask(shared, "Runs", {"project": "nothing"})[1] == {"data": {"project": None}}


@pytest.mark.parametrize("operation, variables, words", [
    ("HistoryPage", {"run": "odd", "minStep": "x"}, "'minStep' must be a whole number"),
    ("HistoryPage", {"run": "odd", "maxStep": 1.5}, "'maxStep' must be a whole number"),
    ("RunFullHistory", {"name": "odd", "samples": 0}, "'samples' must be a whole number from 1 to 10000"),
    ("RunFullHistory", {"name": "odd", "samples": 10001}, "'samples' must be a whole number from 1 to 10000"),
    ("RunSampledHistory", {"name": "odd", "specs": {}}, "'specs' must be a list"),
    ("RunSampledHistory", {"name": "odd", "specs": ["{}"] * 17}, "'specs' must be a list of at most 16"),
    ("RunSampledHistory", {"name": "odd", "specs": ["["]}, "'specs' must be JSON objects"),
    ("RunSampledHistory", {"name": "odd", "specs": [json.dumps({"keys": [1]})]}, "'keys' must be a list of texts"),
    ("RunSampledHistory", {"name": "odd", "specs": [json.dumps({"keys": [f"k{n}" for n in range(257)]})]}, "'keys' has more than 256 names"),
    ("Runs", {"order": "-summary_metrics.loss"}, "not of '-summary_metrics.loss'"),
    ("Runs", {"cursor": "x"}, "'cursor' is none"),
    ("Runs", {"perPage": -1}, "'perPage' must be"),
    ("Runs", {"filters": "{"}, "'filters' is no JSON"),
    ("Runs", {"filters": "[]"}, "'filters' must be a JSON object"),
    ("Runs", {"filters": '{"state": 1}'}, "a filter of 'state' must be a text"),
    ("Runs", {"filters": '{"state": {"$gt": "a"}}'}, "a filter of 'state' must be a text"),
    ("Runs", {"filters": '{"$and": [{"$and": [{"$and": [{"$and": [{"$and": [{"tags": "a"}]}]}]}]}]}'}, "4 deep at most"),
    ("Runs", {"filters": '{"tags": "a"}'}, "not by 'tags'"),
])
def test_what_is_asked_of_the_history_is_refused_with_words(shared, operation, variables, words):
    make_run(shared, "odd")
    status, body = ask(shared, operation, {"project": "p", **variables})
    assert status == 200 and words in body["errors"][0]["message"], body


def test_samples_at_their_limit(shared):
    make_run(shared, "samples")
    rows = [{"_step": step, "_timestamp": 1_790_000_000 + step, "loss": step} for step in range(100)]
    assert post(shared, "samples", {"wandb-history.jsonl": (0, rows)}).status == 200
    for samples, steps in ((1, [99]), (2, [0, 99]), (99, None), (100, list(range(100))), (10000, list(range(100)))):
        got = [json.loads(row)["_step"] for row in ask(shared, "RunFullHistory", {"project": "p", "name": "samples", "samples": samples})[1]["data"]["project"]["run"]["history"]]
        assert got == steps or (not steps and len(got) == samples and (got[0], got[-1]) == (0, 99)), (samples, got)


def test_answers_about_a_history_at_their_limits(tmp_path):
    server = Server(tmp_path, "--max-wandb-values", "10", "--max-wandb-samples", "4").start()
    try:
        make_run(server, "many")
        taken(post(server, "many", {HISTORY: (0, rows(0, 11))}))
        server.wait_for_points("p/many", "loss", 11)
        assert [row["_step"] for row in history(server, "many", 0, 10)] == list(range(10))
        body = ask(server, "HistoryPage", {"project": "p", "run": "many", "minStep": 0, "maxStep": 11, "pageSize": 1000})[1]
        assert "more than 10 values (--max-wandb-values)" in body["errors"][0]["message"]
        sample = lambda **variables: ask(server, "RunFullHistory", {"project": "p", "name": "many", **variables})[1]
        for variables in ({}, {"samples": 4}):
            assert len(sample(**variables)["data"]["project"]["run"]["history"]) == 4
        assert "from 1 to 4" in sample(samples=5)["errors"][0]["message"]
    finally:
        server.close()


def test_teams_read_their_own(guarded):
    server, tokens = guarded
    make_run(server, "own", project="reads", token=tokens["red"])
    for team, count in (("red", 1), ("blue", 0)):
        body = ask(server, "Runs", {"project": "reads"}, token=tokens[team])[1]
        assert (body["data"]["project"] or {"runCount": 0})["runCount"] == count
        found = ask(server, "HistoryPage", {"project": "reads", "run": "own", "minStep": 0, "maxStep": 1}, token=tokens[team])[1]["data"]["project"]["run"]
        assert bool(found) == bool(count)
