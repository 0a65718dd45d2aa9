"""What evaluation suites found of checkpoints: read as the suites write it, judged by numbers by hand."""

import json
import math
import pathlib
import re
import sqlite3
import subprocess

import pytest

from engine import of_a_file
from smserver import PATIENCE_S, ROOT, wait_until
from test_auth import make_token
from test_hosts import incidents
from test_life import MINUTE_MS, T0, line

# What lm_eval 0.4.13 writes (result_schema.py, evaluator.py, loggers/evaluation_tracker.py): json.dumps leaves NaN as it is.
HARNESS = """{
  "results": {
    "hellaswag": {"name": "hellaswag", "alias": "hellaswag", "sample_len": 10042, "acc,none": 0.5, "acc_stderr,none": 0.005,
      "acc_norm,none": 0.625, "acc_norm_stderr,none": 0.005},
    "gsm8k": {"alias": "gsm8k", "exact_match,strict-match": 0.25, "exact_match_stderr,strict-match": 0.012,
      "exact_match,flexible-extract": 0.375, "exact_match_stderr,flexible-extract": 0.013},
    "wikitext": {"alias": "wikitext", "word_perplexity,none": 16.0, "word_perplexity_stderr,none": "N/A", "byte_perplexity,none": NaN,
      "byte_perplexity_stderr,none": "N/A"}
  },
  "group_subtasks": {"hellaswag": [], "gsm8k": [], "wikitext": []},
  "configs": {"gsm8k": {"task": "gsm8k", "doc_to_text": "Question: {{question}}\\nAnswer: NaN"}},
  "versions": {"gsm8k": 3.0, "hellaswag": 1.0, "wikitext": 2.0},
  "n-shot": {"gsm8k": 5, "hellaswag": 0, "wikitext": 0},
  "higher_is_better": {"gsm8k": {"exact_match": true}, "hellaswag": {"acc": true, "acc_norm": true},
    "wikitext": {"word_perplexity": false, "byte_perplexity": false}},
  "n-samples": {"gsm8k": {"original": 1319, "effective": 1319}, "hellaswag": {"original": 10042, "effective": 1000}, "wikitext": {"original": 62,
    "effective": 62}},
  "config": {"model": "hf", "model_args": {"pretrained": "/ckpt/run1/checkpoint-500", "dtype": "bfloat16"}, "batch_size": "8",
    "limit": null, "bootstrap_iters": 100000, "random_seed": 0},
  "git_hash": "abc", "date": 1767225600.25, "model_name": "/ckpt/run1/checkpoint-500", "total_evaluation_time_seconds": "12.5"
}"""


def send(server, document, job="j", query="", status=201, **more):
    body = document if isinstance(document, str) else json.dumps(document)
    reply = server.request("POST", f"/api/v1/jobs/{job}/evaluations{query}", body=body.encode(), headers={"Content-Type": "application/json"}, **more)
    assert reply.status == status, reply
    return reply.body


def read(server, query="", job="j"):
    reply = server.get(f"/api/v1/jobs/{job}/evaluations{query}")
    assert reply.status == 200, reply
    return reply.body


@pytest.fixture
def job(shared_server, request):
    """A job of its own on the server of this file."""
    name = request.node.name.replace("[", "-").replace("]", "").lower()[:60].strip("-_").replace("_", "-")
    shared_server.send(name, "x")
    return name


def test_results_of_the_harness(shared_server, job):
    server = shared_server
    job += "-told"
    server.send(job, [line(T0 + MINUTE_MS, "step: 499 | loss: 2.5"), line(T0 + 2 * MINUTE_MS, "Saving model checkpoint to /ckpt/run1/checkpoint-500")])
    wait_until(lambda: server.get(f"/api/v1/jobs/{job}/checkpoints").body["checkpoints"], what="the checkpoint")
    taken = send(server, HARNESS, job)
    assert taken == {"step": 500, "step_from": "path", "path": "/ckpt/run1/checkpoint-500", "scores": 5, "skipped_count": 1,
                     "skipped": [{"task": "wikitext", "metric": "byte_perplexity"}]}
    found, = read(server, job=job)["checkpoints"]
    assert (found["step"], found["step_from"], found["path"]) == (500, "path", "/ckpt/run1/checkpoint-500")
    assert found["checkpoint"]["ts_ms"] == T0 + 2 * MINUTE_MS and found["evaluated_ms"] == 1767225600250
    assert found["scores"] == {"gsm8k/exact_match,flexible-extract": 0.375, "gsm8k/exact_match,strict-match": 0.25, "hellaswag/acc": 0.5,
                               "hellaswag/acc_norm": 0.625, "wikitext/word_perplexity": 16.0}
    assert found["n"] == 1319 + 1000 + 62
    assert found["details"]["wikitext/word_perplexity"] == {"stderr": None, "n": 62, "shots": 0, "higher_is_better": False,
        "higher_is_better_from": "stated", "suite": "lm-evaluation-harness"}
    assert found["details"]["gsm8k/exact_match,strict-match"]["shots"] == 5 and found["details"]["hellaswag/acc"]["stderr"] == 0.005


def test_samples_of_groups_are_those_of_their_tasks(shared_server, job):
    """The harness says how many samples each task has, not how many a group: 4705 + 3153 of mmlu, and the other tasks."""
    samples = {"hellaswag": 10042, "arc_challenge": 1172, "gsm8k": 1319, "wikitext": 62, "mmlu_humanities": 4705, "mmlu_stem": 3153}
    document = {"results": {task: {"alias": task, "acc,none": 0.5, "acc_stderr,none": 0.01} for task in [*samples, "mmlu"]},
                "group_subtasks": {"mmlu": ["mmlu_humanities", "mmlu_stem"]} | {task: [] for task in samples},
                "n-samples": {task: {"original": count, "effective": count} for task, count in samples.items()}}
    send(shared_server, document, job, "?step=1")
    found, = read(shared_server, job=job)["checkpoints"]
    assert found["n"] == sum(samples.values()) == 20453
    assert found["details"]["mmlu/acc"]["n"] == 4705 + 3153 and found["details"]["mmlu_stem/acc"]["n"] == 3153


def test_what_says_that_it_is_no_number_is_skipped(shared_server, job):
    scores = {"a/acc": 0.5, "b/b": "N/A", "c/c": {"value": "NaN", "n": 3}, "d/d": "-inf", "e/e": {"value": None}, "f/f": "None"}
    taken = send(shared_server, {"step": 1, "scores": scores}, job)
    assert (taken["scores"], taken["skipped_count"]) == (1, 5)
    assert [row["task"] for row in taken["skipped"]] == ["b", "c", "d", "e", "f"]
    assert read(shared_server, job=job)["checkpoints"][0]["scores"] == {"a/acc": 0.5}
    send(shared_server, {"step": 1, "scores": {"a/acc": 0.5}, "evaluated_ms": 946684800000}, job)


def test_what_is_not_known_stays_unknown(shared_server, job):
    server = shared_server
    assert read(server, job=job) == {"checkpoints": [], "total": 0, "best": None, "regressions": [], "regressions_total": 0, "without_stderr": 0, "references": []}
    taken = send(server, {"path": "meta-llama/Llama-3.1-8B", "scores": {"mmlu/acc": 0.65}}, job)
    assert taken["step"] is None and taken["step_from"] is None
    send(server, {"step": 7, "scores": {"mmlu/acc": 0.5}}, job)
    known, unknown = read(server, job=job)["checkpoints"]
    assert (known["step"], known["path"], known["checkpoint"], known["n"]) == (7, None, None, None)
    assert (unknown["step"], unknown["path"], unknown["evaluated_ms"]) == (None, "meta-llama/Llama-3.1-8B", None)
    assert unknown["details"]["mmlu/acc"] == {"stderr": None, "n": None, "shots": None, "higher_is_better": True, "higher_is_better_from": "assumed"}


def test_the_checkpoint_of_a_rank_that_prints_no_steps_is_of_no_known_attempt(shared_server, make_server, job):
    shared_server.send(job, ["saved checkpoint to /ckpt/step-5 at step 5"], stream="algo-2")
    send(shared_server, {"step": 5, "scores": {"a/b": 1}}, job)
    other = make_server()

    def told(server):
        [row] = read(server, job=job)["checkpoints"]
        return row["checkpoint"] and (row["checkpoint"]["attempt"], row["checkpoint"]["stream"])

    wait_until(lambda: told(shared_server) == (None, "algo-2"), what="the checkpoint")
    moved = other.post("/api/v1/import", shared_server.get(f"/api/v1/export?q=name%3D{job}").raw, content_type="application/x-ndjson")
    assert moved.status == 200 and told(other) == (None, "algo-2"), moved


def test_weights_are_bounded(shared_server):
    ask = lambda weight: shared_server.get(f"/api/v1/evaluations?weights=mmlu/acc:{weight}").status
    assert [ask(weight) for weight in ("1e9", "1.1e9", "1e308", "0", "nan")] == [200, 400, 400, 400, 400]


def test_the_best_by_weights(shared_server, job):
    """By hand: (2 * 0.5 + 0.8) / 3 = 0.6 at step 1, (2 * 0.7 + 0.5) / 3 = 0.6333 at step 2; step 3 has no b/acc."""
    server = shared_server
    send(server, {"step": 1, "scores": {"a/acc": 0.5, "b/acc": 0.8, "w/ppl": 9}}, job)
    send(server, {"step": 2, "scores": {"a/acc": 0.7, "b/acc": 0.5, "w/ppl": 10}}, job)
    send(server, {"step": 3, "scores": {"a/acc": 0.6, "w/ppl": 8}}, job)
    best = read(server, "?weights=a/acc:2,b/acc:1", job)["best"]
    assert best["step"] == 2 and math.isclose(best["value"], 1.9 / 3) and best["compared"] == 2 and best["weights"] == {"a/acc": 2, "b/acc": 1}
    assert read(server, "?weights=a/acc:1,b/acc:1", job)["best"]["step"] == 1
    assert read(server, "?weights=w/ppl:1", job)["best"] == {"step": 3, "path": None, "value": -8, "weights": {"w/ppl": 1}, "compared": 3}
    assert read(server, job=job)["best"]["weights"] == {"a/acc": 1}  # the one share that all have
    none = read(server, "?weights=c/acc:1", job)
    assert none["best"] is None and "no checkpoint has all" in none["best_why"]
    for wrong in ("", "a/acc", "a/acc:0", "a/acc:-1", "a/acc:x", "a:1", "a/acc:1,a/acc:1", "a/acc:1,"):
        reply = server.get(f"/api/v1/jobs/{job}/evaluations?weights={wrong}")
        assert reply.status == 400 and reply.body["field"] == "weights", (wrong, reply)


def test_a_fall_beyond_its_standard_error(shared_server, job):
    """By hand: 0.60 - 0.54 = 0.06 against hypot(0.03, 0.04) = 0.05: 1.2 standard errors."""
    server = shared_server
    send(server, {"step": 10, "scores": {"a/acc": {"value": 0.60, "stderr": 0.03}, "b/acc": 0.9, "w/loss": {"value": 2, "stderr": 0.1}}}, job)
    send(server, {"step": 20, "scores": {"a/acc": {"value": 0.54, "stderr": 0.04}, "b/acc": 0.1, "w/loss": {"value": 1.5, "stderr": 0.1}}}, job)
    got = read(server, job=job)
    fall, = got["regressions"]
    assert (fall["task"], fall["metric"], fall["step"], fall["before_step"], fall["value"], fall["before"]) == ("a", "acc", 20, 10, 0.54, 0.6)
    assert math.isclose(fall["drop"], 0.06) and math.isclose(fall["stderr"], 0.05) and math.isclose(fall["errors"], 1.2)
    assert got["without_stderr"] == 1
    assert read(server, "?errors=2", job)["regressions"] == []
    assert server.get(f"/api/v1/jobs/{job}/evaluations?errors=-1").body["field"] == "errors"


def test_references_of_the_scores_that_a_job_has(make_server):
    """Llama 2's paper, table 3: MMLU 45.3, 54.8, 62.6, 68.9 with five examples."""
    server = make_server()
    server.send("j", "x")
    send(server, {"step": 1, "scores": {"mmlu/acc": 0.5, "piqa/acc": 0.7}})
    listed = {row["model"]: row for row in read(server)["references"]}
    assert [listed[f"Llama 2 {size}B"]["scores"] for size in (7, 13, 34, 70)] == [{"mmlu/acc": value} for value in (0.453, 0.548, 0.626, 0.689)]
    assert listed["Pythia 12B"]["scores"] == {"piqa/acc": 0.7601} and listed["Pythia 12B"]["shots"] == 5 and "five-shot" in listed["Pythia 12B"]["source"]
    path = "/api/v1/evaluation-references"
    shipped = server.get(path).body["references"]
    assert len(shipped) == 6 and all(row["source"] for row in shipped)
    ours = {"model": "ours", "scores": {"mmlu/acc": 0.9, "b/acc": 1}}
    replaced = server.put(path, json={"references": [ours]})
    assert replaced.status == 200 and replaced.body == {"references": [{"model": "ours", "shots": None, "source": "", "scores": ours["scores"]}]}
    server.kill()
    server.start()
    assert read(server)["references"] == [{"model": "ours", "shots": None, "source": "", "scores": {"mmlu/acc": 0.9}}]
    for wrong, words in (({"references": {}}, "array"), ({"references": [{}]}, "references[0]"), ({"references": [ours, {**ours, "scores": {}}]}, "references[1]"),
            ({"references": [{**ours, "scores": {"acc": 1}}]}, "TASK/METRIC"), ({"references": [{**ours, "shots": 0.5}]}, "whole number"),
            ({"references": [{**ours, "score": 1}]}, "none of"), ({"references": [], "reference": 1}, "'reference'"), ({"references": [{**ours, "source": 1}]}, "text")):
        reply = server.put(path, json=wrong)
        assert reply.status == 422 and words in reply.body["detail"], (wrong, reply)
    assert server.put(path, json={"references": [ours] * 1000}).status == 200
    assert server.put(path, json={"references": [ours] * 1001}).status == 413
    team = make_token(server, "a", "write", "--team", "a")
    make_token(server, "root", "admin")
    assert server.put(path, json={"references": []}, token=team).status == 403


def test_said_again_it_replaces_and_deleted_it_goes(shared_server, job):
    server = shared_server
    for value in (0.5, 0.6):
        send(server, {"step": 1, "path": "p", "scores": {"a/acc": value}}, job)
    send(server, {"step": 1, "scores": {"b/acc": 0.1}}, job)  # no path: of the only one
    found, = read(server, job=job)["checkpoints"]
    assert found["scores"] == {"a/acc": 0.6, "b/acc": 0.1} and found["path"] == "p"
    path = f"/api/v1/jobs/{job}/evaluations"
    assert server.delete(path).status == 422
    assert server.delete(path + "?step=1").body == {"deleted": 1}
    assert server.delete(path + "?step=1").status == 404
    assert server.delete(path + "?step=1&path=p").body == {"deleted": 1}
    assert read(server, job=job)["checkpoints"] == []


@pytest.mark.parametrize("body, query, field, words", [
    ({}, "", "results", "one of two"), ({"scores": {}}, "?step=1", "scores", "no score"), ({"results": {"a": {"acc,none": "N/A"}}}, "?step=1", "results", "no score"),
    ({"scores": {"a/acc": 1}}, "", "step", "which checkpoint"), ({"scores": {"acc": 1}, "step": 1}, "", "scores", "TASK/METRIC"),
    ({"scores": {"a/acc": "1"}, "step": 1}, "", "scores", "a/acc"), ({"scores": {"a/acc": 1}, "stap": 1}, "", "scores", "'stap'"),
    ({"scores": {"a/acc": 1}, "step": 1}, "?step=2", "step", "step 1, the request 2"), ({"scores": {"a/acc": {"value": 1, "stderr": -1}}, "step": 1}, "", "stderr", "from 0"),
    ({"scores": {"a" * 256 + "/acc": 1}, "step": 1}, "", "task", "256 bytes"), ({"scores": {"a/acc": 1}, "path": "p" * 1025}, "", "path", "1025 bytes"),
    ({"scores": {"a/acc": "x"}, "step": 1}, "", "scores", "a/acc"), ({"scores": {"a/acc": {"value": "0.5"}}, "step": 1}, "", "scores", "a/acc"),
    ({"scores": {"a/acc": 1}, "path": "/ckpt/checkpoint-500"}, "?step=88", "step", "'/ckpt/checkpoint-500' says step 500, the request 88"),
    ({"scores": {"a/acc": 1}, "step": 1, "evaluated_ms": 946684799999}, "", "evaluated_ms", "before the year 2000"),
])
def test_what_is_wrong_is_named(shared_server, body, query, field, words):
    shared_server.send("wrong", "x")
    reply = send(shared_server, body, "wrong", query, 422)
    assert reply["field"] == field and words in reply["detail"], reply


def test_what_is_no_json_or_no_job(shared_server):
    shared_server.send("wrong", "x")
    assert "line" in send(shared_server, '{"scores": ', "wrong", status=400)["detail"]
    send(shared_server, "", "wrong", status=400)
    send(shared_server, {"step": 1, "scores": {"a/acc": 1}}, "none", status=404)
    assert shared_server.get("/api/v1/jobs/none/evaluations").status == 404


@of_a_file("whose rows are counted")
def test_limits_survival_teams_and_audit(make_server):
    server = make_server("--max-evaluations", "2", "--max-evaluation-bytes", "60")
    server.send("j", "x")
    document = '{"step": 1, "scores": {"a/acc": 0.5, "b/acc": 0.5}}'
    send(server, document + " " * (60 - len(document)))
    assert "--max-evaluation-bytes" in send(server, document + " " * (61 - len(document)), status=413)["detail"]
    assert "--max-evaluations" in send(server, {"step": 2, "scores": {"a/acc": 0.5}}, status=413)["detail"]
    send(server, {"step": 1, "scores": {"a/acc": 0.75}})
    server.kill()
    server.start()
    assert [(row["step"], row["scores"]) for row in read(server)["checkpoints"]] == [(1, {"a/acc": 0.75, "b/acc": 0.5})]
    admin = make_token(server, "root", "admin")
    nlp, vision = make_token(server, "nlp", "write", "--team", "nlp"), make_token(server, "vision", "write", "--team", "vision")
    server.token = nlp
    server.send("theirs", "x")
    send(server, {"step": 1, "scores": {"a/acc": 0.5}}, "theirs")
    assert "another team" in send(server, {"step": 1, "scores": {"a/acc": 0.5}}, "theirs", status=403, token=vision)["detail"]
    assert server.delete("/api/v1/jobs/theirs/evaluations?step=1", token=vision).status == 403
    reader = make_token(server, "reader", "read", "--team", "vision")
    found, = server.get("/api/v1/jobs/theirs/evaluations", token=reader).body["checkpoints"]
    assert found["author"] == "nlp"
    send(server, {"step": 1, "scores": {"a/acc": 0.5}}, "theirs", status=403, token=reader)
    assert any("evaluations" in row["verb"] for row in server.get("/api/v1/audit", token=admin).body["entries"] if row["token"] == "nlp")
    server.token = admin
    server.post("/api/v1/jobs/theirs/transitions", json={"SecondaryStatus": "Completed"})
    assert server.delete("/api/v1/jobs/theirs?purge=true").status in (200, 202, 204)

    def left():
        with sqlite3.connect(f"file:{server.database}?mode=ro", uri=True) as database:
            return database.execute("SELECT count(*) FROM evaluations").fetchone()[0]
    wait_until(lambda: left() == 2, what="the deletion of the job's scores")


def test_what_the_document_shows(shared_server, tmp_path):
    """docs/evaluations.md, as it stands there."""
    commands = re.findall(r"^```sh\n(.*?)^```", pathlib.Path(ROOT, "docs/evaluations.md").read_text(), re.M | re.S)
    (tmp_path / "results.json").write_text(HARNESS)
    shared_server.send("gpt-1", "x")
    printed = [subprocess.run(["bash", "-c", command.replace(":8080", f":{shared_server.port}").replace("curl ", "curl -f ")], cwd=tmp_path,
        stdout=subprocess.PIPE, timeout=PATIENCE_S, check=True, text=True).stdout for command in "".join(commands).replace("curl", "\0curl").split("\0")[1:]]
    replies = [json.loads(text) if text.startswith("{") else text for text in printed]
    assert [reply["scores"] for reply in replies[:2]] == [5, 2] and [row["step"] for row in replies[2]["checkpoints"]] == [500, 1000]
    assert [(row["job"], row["step"], row["value"]) for row in replies[3]["leaders"]] == [("gpt-1", 500, 0.625)]
    row = replies[4].splitlines()[1].split(",")
    assert row[:6] == ["1", "gpt-1", "gpt-1", "1", "500", "/ckpt/run1/checkpoint-500"] and math.isclose(float(row[6]), (2 * 0.625 - 0.01 * 16) / 2.01)
    best = replies[2]["best"]  # step 1000 has no gsm8k
    assert best["step"] == 500 and best["compared"] == 1 and math.isclose(best["value"], (2 * 0.625 + 0.25) / 3)


def falls_told(server, job):
    return incidents(server, job, "evaluation_fell")


def test_a_fall_is_an_incident_of_its_task_and_checkpoint(shared_server, job):
    """By hand: a/acc 0.60 -> 0.54 is 1.2 of hypot(0.03, 0.04) = 0.05: info. w/loss 2 -> 2.5 is 5 of hypot(0.06, 0.08) = 0.1: warning. What
    is below the group m, what has no error (b) and what rose (c) is none."""
    def results(step, a, loss, m, c):
        return {"results": {"a": {"acc,none": a, "acc_stderr,none": 0.03 if step == 10 else 0.04},
                            "w": {"loss,none": loss, "loss_stderr,none": 0.06 if step == 10 else 0.08},
                            "b": {"acc,none": 1 / step, "acc_stderr,none": "N/A"}, "c": {"acc,none": c, "acc_stderr,none": 0.01},
                            "m": {"acc,none": 0.5, "acc_stderr,none": 0.01}, "m_x": {"acc,none": m, "acc_stderr,none": 0.01}},
                "group_subtasks": {"m": ["m_x"]}}
    server = shared_server
    send(server, results(10, 0.60, 2, 0.9, 0.1), job, "?step=10")
    send(server, results(20, 0.54, 2.5, 0.1, 0.2), job, "?step=20")
    found = {row["evidence"]["task"]: row for row in wait_until(lambda: len(falls_told(server, job)) == 2 and falls_told(server, job), what="two falls")}
    a, w = found["a"], found["w"]
    assert (a["severity"], a["state"], a["opened_step"], a["evidence"]["task_metric"], a["evidence"]["before_step"]) == ("info", "open", 20, "acc", 10)
    assert (a["evidence"]["value"], a["evidence"]["expected"]) == (0.54, 0.6)
    assert math.isclose(a["evidence"]["spread"], 0.05) and math.isclose(a["evidence"]["score"], 1.2)
    assert (w["severity"], w["evidence"]["value"], w["evidence"]["expected"]) == ("warning", 2.5, 2) and math.isclose(w["evidence"]["score"], 5)
    send(server, results(20, 0.54, 2.5, 0.1, 0.2), job, "?step=20")  # said again
    send(server, {"step": 30, "scores": {"a/acc": {"value": 0.3, "stderr": 0.01}}}, job)
    rows = wait_until(lambda: len(falls_told(server, job)) == 3 and falls_told(server, job), what="another checkpoint's fall")
    states = {(row["evidence"]["task"], row["opened_step"]): row["state"] for row in rows}
    assert states == {("a", 20): "recovered", ("a", 30): "open", ("w", 20): "open"}
    assert server.request("DELETE", f"/api/v1/jobs/{job}/evaluations?step=20").status == 200
    wait_until(lambda: {row["state"] for row in falls_told(server, job) if row["evidence"]["task"] == "w"} == {"recovered"}, what="its end")


def test_a_fall_before_a_restart_is_told_behind_it(make_server):
    """Also of a job that is not in memory: of it nothing is in the journal."""
    server = make_server()
    server.post("/api/v1/jobs", json={"TrainingJobName": "old"})
    server.send("j", "x")
    for step, value in ((10, 0.9), (20, 0.1)):
        send(server, {"step": step, "scores": {"a/acc": {"value": value, "stderr": 0.01}}})
    server.kill()
    server.start()
    for step, value in ((10, 0.9), (20, 0.2)):
        send(server, {"step": step, "scores": {"a/acc": {"value": value, "stderr": 0.01}}}, "old")
    for name, value in (("j", 0.1), ("old", 0.2)):
        fall, = wait_until(lambda: falls_told(server, name), what=f"the fall of {name}")
        assert (fall["opened_step"], fall["evidence"]["value"], fall["evidence"]["expected"]) == (20, value, 0.9)


def test_a_fall_of_the_past_is_told_by_no_webhook(shared_server, job, receiver):
    """The one that was evaluated on 2026-01-01 is older than a quarter of an hour. By hand: 0.8 / (0.01 * sqrt(2)) = 56.57."""
    server = shared_server
    assert server.post("/api/v1/webhooks", json={"url": receiver.url}).status == 201
    for step, value in ((10, 0.9), (20, 0.1)):
        send(server, {"step": step, "evaluated_ms": 1767225600000, "scores": {"old/acc": {"value": value, "stderr": 0.01}}}, job)
    wait_until(lambda: falls_told(server, job), what="the old fall")
    for step, value in ((10, 0.9), (20, 0.1)):
        send(server, {"step": step, "scores": {"new/acc": {"value": value, "stderr": 0.01}}}, job)
    receiver.wait_for(1)
    message, = [row for row in receiver.messages() if job in row["data"]["summary"]]
    assert message["data"]["summary"] == f"{job}'s new/acc fell to 0.1 at step 20 (before: 0.9, 56.6 standard errors)"


# What lm_eval 0.4.13 prints of its results (_cli/run.py; make_table of utils.py by pytablewriter 1.2.1), with a group of tasks that has no score.
PRINTED = """\
hf ({'pretrained': '/ckpt/run1/checkpoint-500', 'dtype': 'bfloat16'}), gen_kwargs: ({}), limit: None, num_fewshot: None, batch_size: 8
|   Tasks   |Version|     Filter     |n-shot|    Metric     |   | Value |   |Stderr|
|-----------|-------|----------------|-----:|---------------|---|------:|---|------|
|bundle     |    N/A|                |      |               |   |       |   |      |
| - piqa    |      1|none            |     0|acc            |↑  | 0.7700|±  |0.0098|
|gsm8k      |      3|flexible-extract|     5|exact_match    |↑  | 0.3750|±  |0.0130|
|           |       |strict-match    |     5|exact_match    |↑  | 0.2500|±  |0.0120|
|hellaswag  |      1|none            |     0|acc            |↑  | 0.5000|±  |0.0050|
|           |       |none            |     0|acc_norm       |↑  | 0.6250|±  |0.0048|
|mmlu       |      2|none            |      |acc            |↑  | 0.4100|±  |0.0040|
| - stem    |      2|none            |      |acc            |↑  | 0.3500|±  |0.0080|
|  - anatomy|      1|none            |     5|acc            |↑  | 0.3000|±  |0.0400|
|wikitext   |      2|none            |     0|bits_per_byte  |↓  | 0.7000|±  |   N/A|
|           |       |none            |     0|byte_perplexity|↓  | 1.6235|±  |   N/A|
|           |       |none            |     0|word_perplexity|↓  |16.0000|±  |   N/A|

|Groups |Version|Filter|n-shot|Metric|   |Value|   |Stderr|
|-------|------:|------|------|------|---|----:|---|-----:|
|mmlu   |      2|none  |      |acc   |↑  | 0.41|±  | 0.004|
| - stem|      2|none  |      |acc   |↑  | 0.35|±  | 0.008|
""".split("\n")


def test_a_printed_table_is_scores_of_its_checkpoint(shared_server, job):
    """By the path at step 500; said by the log alone at the step where it was; what is sent takes the place of what was printed."""
    server = shared_server
    server.send(job, [line(T0 + MINUTE_MS, "step: 499 | loss: 2.5")] + [line(T0 + 2 * MINUTE_MS, text) for text in PRINTED])
    found, = wait_until(lambda: read(server, job=job)["checkpoints"], what="its scores")
    assert (found["step"], found["step_from"], found["path"], found["evaluated_ms"]) == (500, "path", "/ckpt/run1/checkpoint-500", T0 + 2 * MINUTE_MS)
    assert found["scores"] == {"piqa/acc": 0.77, "gsm8k/exact_match,flexible-extract": 0.375, "gsm8k/exact_match,strict-match": 0.25,
        "hellaswag/acc": 0.5, "hellaswag/acc_norm": 0.625, "mmlu/acc": 0.41, "stem/acc": 0.35, "anatomy/acc": 0.3, "wikitext/bits_per_byte": 0.7,
        "wikitext/byte_perplexity": 1.6235, "wikitext/word_perplexity": 16}
    details = found["details"]
    assert details["gsm8k/exact_match,strict-match"] == {"stderr": 0.012, "n": None, "shots": 5, "higher_is_better": True,
        "higher_is_better_from": "stated", "suite": "log"}
    assert [name for name, of in details.items() if of.get("part_of_group")] == ["anatomy/acc", "stem/acc"]
    assert details["wikitext/byte_perplexity"]["stderr"] is None and not details["wikitext/byte_perplexity"]["higher_is_better"]
    metrics = {row["metric"] for row in server.get(f"/api/v1/jobs/{job}/metrics").body["series"]}
    assert metrics == {"train:loss"}, "no row is a point as well"
    send(server, HARNESS, job)
    server.send(job, [line(T0 + 3 * MINUTE_MS, text) for text in PRINTED])
    server.send(job, [line(T0 + 4 * MINUTE_MS, "step: 600 | loss: 2.4"), *(line(T0 + 5 * MINUTE_MS, text) for text in PRINTED[1:5])])
    first, second = wait_until(lambda: len(read(server, job=job)["checkpoints"]) == 2 and read(server, job=job)["checkpoints"], what="the second one")
    assert first["details"]["hellaswag/acc"] == {"stderr": 0.005, "n": 1000, "shots": 0, "higher_is_better": True, "higher_is_better_from": "stated",
        "suite": "lm-evaluation-harness"}
    assert (second["step"], second["step_from"], second["path"], second["scores"]) == (600, "log", None, {"piqa/acc": 0.77})


# As Megatron-LM (training.py), HF's Trainer, OLMo's trainer and modded-nanogpt print them.
MEGATRON = """\
 iteration      500/    2000 | consumed samples:       128000 | elapsed time per iteration (ms): 200.0 | learning rate: 1.0E-04 | lm loss: 3.500000E+00 | grad norm: 1.0 |
 validation loss at iteration 500 | lm loss value: 3.250000E+00 | lm loss PPL: 2.579034E+01 |
 iteration     1000/    2000 | consumed samples:       256000 | elapsed time per iteration (ms): 200.0 | learning rate: 1.0E-04 | lm loss: 3.000000E+00 | grad norm: 1.0 |
 validation loss at iteration 1000 | lm loss value: 2.750000E+00 | lm loss PPL: 1.564263E+01 |
  successfully saved checkpoint at iteration    1000 to /ckpt
 iteration     1500/    2000 | consumed samples:       384000 | elapsed time per iteration (ms): 200.0 | learning rate: 1.0E-04 | lm loss: 2.900000E+00 | grad norm: 1.0 |
 validation loss at iteration 1500 | lm loss value: 2.625000E+00 | lm loss PPL: 1.380460E+01 |
 iteration     2000/    2000 | consumed samples:       512000 | elapsed time per iteration (ms): 200.0 | learning rate: 1.0E-04 | lm loss: 2.800000E+00 | grad norm: 1.0 |
 validation loss at iteration 2000 | lm loss value: 2.875000E+00 | lm loss PPL: 1.772542E+01 |
  successfully saved checkpoint at iteration    2000 to /ckpt"""
TRAINER = """\
 50%|█████     | 100/200 [00:10<00:10,  9.90it/s]
{'loss': 1.5, 'learning_rate': 5e-05, 'epoch': 0.5}
{'eval_loss': 1.25, 'eval_accuracy': 0.5, 'eval_f1': 0.625, 'eval_runtime': 3.5, 'eval_samples_per_second': 285.7, 'eval_steps_per_second': 8.9, 'epoch': 0.5}
100%|██████████| 200/200 [00:20<00:00,  9.90it/s]
{'loss': 1.0, 'learning_rate': 4e-05, 'epoch': 1.0}
{'eval_loss': 1.5, 'eval_accuracy': 0.75, 'eval_f1': 0.5, 'eval_runtime': 3.5, 'eval_samples_per_second': 285.7, 'eval_steps_per_second': 8.9, 'epoch': 1.0}"""
OLMO = """\
2025-12-27 00:58:00.517\thost:0\tolmo.train:990\tINFO\t[step=1000/2000,epoch=0]
    train/CrossEntropyLoss=3.5
    optim/total_grad_norm=0.9
2025-12-27 00:59:00.517\thost:0\tolmo.eval.evaluator:40\tINFO\t[step=1000/2000,epoch=0]
    eval/c4_en-validation/CrossEntropyLoss=3.25
    eval/downstream/piqa_len_norm=0.625
    eval/downstream/hellaswag_len_norm=0.375"""
NANOGPT = """\
step:125/6200 train_loss:5.4000 train_time:24564ms step_avg:213.60ms
step:125/6200 val_loss:5.2500 train_time:24564ms step_avg:213.60ms
step:250/6200 train_loss:4.7000 train_time:51851ms step_avg:216.04ms
step:250/6200 val_loss:4.5000 train_time:51851ms step_avg:216.04ms"""


@pytest.mark.parametrize("log, rows, best", [
    (MEGATRON, [(1000, {"val/loss": 2.75, "val/perplexity": 15.64263}), (2000, {"val/loss": 2.875, "val/perplexity": 17.72542})], 1000),
    (TRAINER, [(100, {"val/loss": 1.25, "eval/accuracy": 0.5, "eval/f1": 0.625}), (200, {"val/loss": 1.5, "eval/accuracy": 0.75, "eval/f1": 0.5})], 200),
    (OLMO, [(1000, {"val/loss": 3.25, "eval/downstream/piqa_len_norm": 0.625, "eval/downstream/hellaswag_len_norm": 0.375})], 1000),
    (NANOGPT, [(125, {"val/loss": 5.25}), (250, {"val/loss": 4.5})], 250),
], ids=["megatron", "trainer", "olmo", "nanogpt"])
def test_what_a_trainer_prints_of_evaluations(shared_server, job, log, rows, best):
    """Of Megatron's the two that were saved. The best by hand: the least loss and perplexity; (0.5 + 0.625) / 2 = 0.5625 against 0.625; the only one."""
    server = shared_server
    server.send(job, [line(T0 + at * MINUTE_MS, text) for at, text in enumerate(log.split("\n"))])

    def shown():
        reply = read(server, job=job)
        assert [(one["step"], one["scores"]) for one in reply["checkpoints"]] == rows
        return reply
    got = wait_until(shown, what="its evaluations")
    assert {one["step_from"] for one in got["checkpoints"]} == {"log"} and got["best"]["step"] == best
    details = got["checkpoints"][0]["details"]["val/loss"]
    assert (details["series"], details["suite"], details["higher_is_better"], details["stderr"], details["n"]) == ("val:loss", "log", False, None, None)
    assert (got["regressions"], got["without_stderr"]) == ([], 0)
    assert (got["checkpoints"][0]["checkpoint"] is not None) == (log is MEGATRON)


def test_what_is_sent_counts_before_what_is_printed(shared_server, job):
    """The checkpoint that was evaluated by a suite is best, however small another's loss; weights= says what else. Where both say it, what was sent."""
    server = shared_server
    server.send(job, [line(T0 + at * MINUTE_MS, text) for at, text in enumerate(MEGATRON.split("\n"))])
    wait_until(lambda: len(read(server, job=job)["checkpoints"]) == 2, what="the printed ones")
    send(server, {"step": 2000, "scores": {"mmlu/acc": 0.5, "val/perplexity": 17.5}}, job)
    got = read(server, job=job)
    assert [one["step_from"] for one in got["checkpoints"]] == ["log", "stated"]
    assert got["checkpoints"][1]["scores"] == {"mmlu/acc": 0.5, "val/loss": 2.875, "val/perplexity": 17.5}
    assert got["best"]["step"] == 2000 and got["best"]["weights"] == {"mmlu/acc": 1}
    assert read(server, "?weights=val/loss:1", job)["best"]["step"] == 1000


def table(rows):
    """A checkpoint's, with tasks that are named by their number."""
    return [PRINTED[0], *PRINTED[1:3], *(f"|t{at}|1|none|0|acc|↑|{at % 100 / 100}|±|0.01|" for at in rows)]


def test_a_long_table_and_one_beyond_the_limit(make_server):
    """1200 rows are more than one transaction; of the three behind them there is room for two, and one that is known has its place."""
    server = make_server("--max-evaluations", "1202")
    server.send("j", [line(T0 + MINUTE_MS, text) for text in table(range(1200))])
    wait_until(lambda: [len(one["scores"]) for one in read(server)["checkpoints"]] == [1200], what="all of the table")
    server.send("j", [line(T0 + 2 * MINUTE_MS, text) for text in [*table(range(1200, 1203)), "|t7|1|none|0|acc|↑|0.99|±|0.01|"]])
    server.wait_for_log("event=scores_left_out")
    scores = read(server)["checkpoints"][0]["scores"]
    assert len(scores) == 1202 and scores["t7/acc"] == 0.99 and scores["t1201/acc"] == 0.01 and "t1202/acc" not in scores


def test_a_leaderboard_over_jobs_runs_and_checkpoints(make_server):
    """By hand: mmlu a 0.5, 0.7; b 0.6 (goes on with a); c 0.65. The least perplexity is c's. (2 * 0.7 + 0.2) / 3 = 0.5333 of a, (2 * 0.65 + 0.5) / 3 = 0.6 of c."""
    server = make_server()
    for name, tags in (("a", []), ("b", [{"Key": "continues", "Value": "a"}]), ("c", [{"Key": "team", "Value": "x"}]), ("none", [])):
        assert server.post("/api/v1/jobs", json={"TrainingJobName": name, "Tags": tags}).status == 201
    send(server, {"step": 1, "scores": {"mmlu/acc": {"value": 0.5, "stderr": 0.01}}}, "a")
    send(server, {"step": 2, "path": "/a/2", "scores": {"mmlu/acc": {"value": 0.7, "stderr": 0.01}, "gsm8k/em": 0.2}}, "a")
    send(server, {"step": 3, "scores": {"mmlu/acc": 0.6, "w/ppl": 9}}, "b")
    send(server, {"step": 4, "scores": {"mmlu/acc": 0.65, "gsm8k/em": 0.5, "w/ppl": 8}, "evaluated_ms": 1767225600000}, "c")

    def board(query=""):
        reply = server.get("/api/v1/evaluations" + query)
        assert reply.status == 200, reply
        return reply.body
    usual = board()
    assert usual["weights"] == {"mmlu/acc": 1} and usual["total"] == 3 and usual["partial"] is False
    assert usual["metrics"] == [{"metric": "gsm8k/em", "jobs": 2}, {"metric": "mmlu/acc", "jobs": 3}, {"metric": "w/ppl", "jobs": 2}]
    assert usual["leaders"][0] == {"rank": 1, "job": "a", "step": 2, "path": "/a/2", "value": 0.7, "scores": {"mmlu/acc": 0.7}, "stderr": 0.01, "compared": 2,
        "evaluated_ms": None}
    assert [row["job"] for row in usual["leaders"]] == ["a", "c", "b"] and usual["leaders"][1]["evaluated_ms"] == 1767225600000
    assert "Llama 2 7B" in {row["model"] for row in usual["references"]}
    runs = board("?by=run&metric=mmlu/acc")["leaders"]
    assert [(row["run"], row["job"], row["jobs"], row["compared"]) for row in runs] == [("a", "a", 2, 3), ("c", "c", 1, 1)]
    assert [(row["job"], row["step"]) for row in board("?by=checkpoint&metric=mmlu/acc")["leaders"]] == [("a", 2), ("c", 4), ("b", 3), ("a", 1)]
    assert [(row["job"], row["value"], row["scores"]) for row in board("?metric=w/ppl")["leaders"]] == [("c", -8, {"w/ppl": 8}), ("b", -9, {"w/ppl": 9})]
    weighted = board("?weights=mmlu/acc:2,gsm8k/em:1")
    assert [row["job"] for row in weighted["leaders"]] == ["c", "a"] and [round(row["value"], 9) for row in weighted["leaders"]] == [0.6, round(1.6 / 3, 9)]
    assert [row["job"] for row in board("?q=tag.team:x")["leaders"]] == ["c"] and board("?q=tag.team:y")["leaders"] == []
    assert len(board("?limit=1")["leaders"]) == 1 and board("?limit=1")["total"] == 3
    csv = server.get("/api/v1/evaluations?metric=mmlu/acc&format=csv&limit=1")
    assert csv.raw.decode() == "rank,job,run,jobs,step,path,value,mmlu/acc,stderr,compared,evaluated_ms\n1,a,,,2,/a/2,0.7,0.7,0.01,2,\n"
    for query, field in (("?metric=acc", "metric"), ("?metric=a/b&weights=a/b:1", "metric"), ("?by=x", "by"), ("?format=x", "format"), ("?weights=x", "weights"), ("?limit=0", "limit")):
        reply = server.get("/api/v1/evaluations" + query)
        assert reply.status == 400 and reply.body["field"] == field, (query, reply)


def test_sm_ship_sends_the_files_of_an_evaluation(shared_server, job, ship, tmp_path):
    """As POST: 5 scores of step 500. A log whose lines are such documents is a log."""
    server = shared_server

    def run(*words, status=0, **more):
        done = ship.run("--job", job, *map(str, words), SMFLEET_SERVER=more.get("url", server.url))
        assert done.returncode == status, done.stderr.decode()
        return done.stderr.decode()
    results, ours, log = (tmp_path / name for name in ("results_2026-01-01.json", "ours.json", "scores.ndjson"))
    results.write_text(HARNESS)
    ours.write_text('{"suite": "ours", "n": 3, "scores": {"a/acc": 0.5, "b/acc": "N/A"}}')
    log.write_text('{"step": 1, "scores": {"a/acc": 0.5}}\n{"step": 2, "scores": {"a/acc": 0.6}}\n')
    assert f"'{results}': 5 scores of step 500 (/ckpt/run1/checkpoint-500), 1 without a number left out" in run(results)
    assert f"'{ours}': 1 score of step 7, 1 without a number left out" in run(ours, "--checkpoint", "7")
    assert "(/ckpt/x)" in run(ours, "--checkpoint", "/ckpt/x") and run("--quiet", results) == ""
    rows = read(server, job=job)["checkpoints"]
    assert [(row["step"], row["path"], len(row["scores"])) for row in rows] == [(7, None, 1), (500, "/ckpt/run1/checkpoint-500", 5), (None, "/ckpt/x", 1)]
    assert f"'{ours}'" in run(ours, status=4) and "which checkpoint" in run(ours, results, status=4)
    assert "two commands" in run(results, log, status=2) and "--checkpoint" in run(log, "--checkpoint", "7", status=2)
    assert run(tmp_path / "*_2026*.json").count("5 scores") == 1
    assert "start it again" in run("--drain-timeout", "200ms", results, status=3, url="http://127.0.0.1:1")
    assert "--job NAME" in ship.run(str(results), SMFLEET_SERVER=server.url).stderr.decode()
    run(log, "--stream", "algo-9")
    assert [row["text"] for row in server.lines(job, stream="algo-9")] == log.read_text().splitlines()


def test_files_of_ones_own_over_what_the_program_knows(make_server, tmp_path):
    """By hand: 2 instances of 4 devices of 100 TFLOP/s; the model's entry of the same shots is replaced, that of others stays; S3's limits are replaced."""
    def write(name, document):
        path = tmp_path / f"{name}.json"
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        return [f"--{name}-file", str(path)]
    devices = write("devices", {"devices": [{"name": "Ours", "peak_tflops": 100, "memory_gib": 10}], "instances": [{"type": "ours.large", "device": "Ours", "count": 4}]})
    references = write("references", {"references": [{"model": "Llama 2 7B", "shots": 5, "scores": {"mmlu/acc": 0.46}}, {"model": "Llama 2 7B", "scores": {"mmlu/acc": 0.4}},
        {"model": "ours", "source": "here", "scores": {"mmlu/acc": 0.9}}]})
    limits = write("limits", {"s3": {"writes_per_s": 7, "reads_per_s": 11, "writes": "PUT", "reads": "GET", "source": "ours"}})
    prices = write("prices", {"currency": "EUR", "prices": [{"instance": "ml.ours.large", "per_hour": 2, "from": "2020-01-01"}]})
    server = make_server(*devices, *references, *limits, *prices)
    server.post("/api/v1/jobs", json={"TrainingJobName": "j", "ResourceConfig": {"InstanceType": "ml.ours.large", "InstanceCount": 2}})
    fit = server.get("/api/v1/jobs/j/fit").body
    assert fit["limit_bytes"] == 10 * 2**30, fit
    shown = server.get("/api/v1/evaluation-references").body["references"]
    assert [(row["shots"], row["scores"]["mmlu/acc"]) for row in shown if row["model"] == "Llama 2 7B"] == [(5, 0.46), (None, 0.4)]
    assert len(shown) == 6 + 2 and shown[-1]["model"] == "ours"
    assert server.get("/api/v1/jobs/j/s3").body["limits"]["writes_per_s"] == 7
    assert server.get("/api/v1/prices").body["prices"][0]["instance"] == "ml.ours.large"
    server.kill()
    server.arguments = write("references", {"replace": True, "references": [{"model": "ours", "scores": {"mmlu/acc": 0.9}}]})
    server.start()
    assert [row["model"] for row in server.get("/api/v1/evaluation-references").body["references"]] == ["ours"]
    for option, document, words in (("devices", {"devices": [{"name": "x"}]}, "no peak_tflops"), ("limits", {"s3": {"writes_per_s": 0, "reads_per_s": 1}}, "above 0"),
            ("references", {"references": [{"model": "x"}]}, "scores"), ("prices", {"prices": []}, "currency"), ("devices", {"device": []}, "'device'"), ("limits", "{", "line"),
            ("limits", {"links": [{"type": "a.b", "peer_gbs": 900}]}, "links[0] ('a.b'): no entry of the program has a member 'peer_gbs'"),
            ("devices", {"devices": [{"name": "x", "peak_tflops": 0}]}, "no number above 0 is 'peak_tflops'"),
            ("devices", {"instances": [{"type": "a.b", "device": "NVIDIA H100", "count": 8.5}]}, "no whole number above 0 is 'count'"),
            ("references", {"references": [{"model": "a", "scores": {"a/b": 1}}, {"model": "x"}]}, "references[1]"),
            ("devices", {"devices": [{"name": "a", "peak_tflops": 1}, {"name": "b"}]}, "devices[1] ('b') has no name or no peak_tflops"),
            ("devices", {"instances": [{"type": "a", "device": "H100", "count": 1}, {"type": "b", "device": "none", "count": 1}]}, "instances[1] ('b')"),
            ("limits", {"links": [{"type": "a.b", "peer_gb_s": 1}, {"peer_gb_s": 5}]}, "links[1]"),
            ("references", {"references": [{"model": "m", "shots": 0, "scores": {"a/b": 1}}, {"model": "m", "shots": 0, "scores": {"a/b": 2}}]}, "references[1] ('m')")):
        option, path = write(option, document)
        done = subprocess.run([server.bin("sm-server"), "--insecure", "--db", str(tmp_path / "x.db"), option, path], capture_output=True, text=True, timeout=PATIENCE_S)
        assert done.returncode and words in done.stderr and path in done.stderr and option in done.stderr, (option, document, done.stderr)


def test_results_that_are_cut_off_are_no_log(server, ship, tmp_path):
    """As a disk that was full left them: refused with the place, and no line of them is stored."""
    server.send("gpt-1", "x")
    path = tmp_path / "results_2026.json"
    path.write_text(HARNESS[:len(HARNESS) // 2])
    cut = ship.run("--job", "gpt-1", str(path))
    assert cut.returncode == 4 and b"results_2026.json" in cut.stderr and b"line" in cut.stderr, cut.stderr
    assert len(server.lines("gpt-1")) == 1 and read(server, job="gpt-1")["checkpoints"] == []
    path.write_text(HARNESS)
    other = ship.run("--job", "gpt-1", "--checkpoint", "88", str(path))
    assert other.returncode == 4 and b"says step 500, the request 88" in other.stderr, other.stderr
    assert ship.run("--job", "gpt-1", "--checkpoint", "500", str(path)).returncode == 0
    assert [row["step"] for row in read(server, job="gpt-1")["checkpoints"]] == [500]
