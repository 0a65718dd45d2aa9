"""
A training whose checkpoints are evaluated as they come: by lm-evaluation-harness, whose results are sent as it writes them and, once, only printed into the log;
by a suite of one's own; and by the trainer itself. One checkpoint is worse, which is told by its standard error; another is the best until somebody finds its file
cut off; the next job goes on with it, and is measured against a rival and against named models. Each figure is worked out here from counts of right answers.
"""

import datetime
import json
import math
import subprocess

import pytest

from smserver import PATIENCE_S, wait_until

BEGUN_S = int(datetime.datetime(2026, 3, 2, 9, tzinfo=datetime.timezone.utc).timestamp())
SIZE = {"hellaswag": 10042, "gsm8k": 1319, "mmlu_humanities": 4705, "mmlu_stem": 3153, "wikitext": 62}
RIGHT = {  # answers of each checkpoint, and its perplexity on wikitext
    100: {"hellaswag": 5021, "gsm8k": 132, "mmlu_humanities": 1882, "mmlu_stem": 1104, "wikitext": 20.0},
    200: {"hellaswag": 5222, "gsm8k": 264, "mmlu_humanities": 2118, "mmlu_stem": 1261, "wikitext": 18.0},
    400: {"hellaswag": 5272, "gsm8k": 290, "mmlu_humanities": 2200, "mmlu_stem": 1300, "wikitext": 17.0},
    500: {"hellaswag": 5322, "gsm8k": 300, "mmlu_humanities": 2230, "mmlu_stem": 1310, "wikitext": 16.5},
}
# Step 300 is only printed: make_table of lm_eval/utils.py, by pytablewriter, has four digits.
PRINTED = """\
hf ({'pretrained': '/fsx/gpt-1/checkpoint-300', 'dtype': 'bfloat16'}), gen_kwargs: ({}), limit: None, num_fewshot: None, batch_size: 8
|    Tasks    |Version|   Filter   |n-shot|    Metric     |   | Value |   |Stderr|
|-------------|------:|------------|-----:|---------------|---|------:|---|-----:|
|gsm8k        |      3|strict-match|     5|exact_match    |↑  | 0.1000|±  |0.0083|
|hellaswag    |      1|none        |     0|acc_norm       |↑  | 0.5100|±  |0.0050|
|mmlu         |      2|none        |      |acc            |↑  | 0.4000|±  |0.0055|
| - humanities|      2|none        |     5|acc            |↑  | 0.4100|±  |0.0072|
| - stem      |      2|none        |     5|acc            |↑  | 0.3851|±  |0.0087|
|wikitext     |      2|none        |     0|word_perplexity|↓  |19.0000|±  |   N/A|
"""
SCORES_300 = {"gsm8k/exact_match,strict-match": (0.1, 0.0083), "hellaswag/acc_norm": (0.51, 0.005), "mmlu/acc": (0.4, 0.0055), "humanities/acc": (0.41, 0.0072),
    "stem/acc": (0.3851, 0.0087), "wikitext/word_perplexity": (19, None)}
HELLASWAG, GSM8K, MMLU, PERPLEXITY, TOXIC = "hellaswag/acc_norm", "gsm8k/exact_match,strict-match", "mmlu/acc", "wikitext/word_perplexity", "toxicity/rate"
VALIDATED = {100: 3.25, 200: 2.75, 300: 2.875, 400: 2.5}
EXACT = 1e-12


def share(right, size):
    """The mean of `size` zeros and ones, and its standard error: the sample's deviation / √size (mean_stderr of lm_eval/api/metrics.py)."""
    mean = right / size
    return mean, math.sqrt(size * mean * (1 - mean) / (size - 1)) / math.sqrt(size)


def pooled(parts):
    """Of a group: the mean by size, and pooled_sample_stderr of lm_eval/api/metrics.py."""
    whole = sum(size for _, size in parts)
    squares = sum((size - 1) * size * share(right, size)[1] ** 2 for right, size in parts)
    return sum(right for right, _ in parts) / whole, math.sqrt(squares / (whole - len(parts)) / whole)


def scores(step):
    """Of what was sent: by name the value and its standard error."""
    if step == 300:
        return SCORES_300
    right = RIGHT[step]
    parts = [(right[task], SIZE[task]) for task in ("mmlu_humanities", "mmlu_stem")]
    return {HELLASWAG: share(right["hellaswag"], SIZE["hellaswag"]), GSM8K: share(right["gsm8k"], SIZE["gsm8k"]), MMLU: pooled(parts),
        "mmlu_humanities/acc": share(*parts[0]), "mmlu_stem/acc": share(*parts[1]), PERPLEXITY: (right["wikitext"], None)}


def harness(step, path):
    """As EvaluationTracker.save_results_aggregated of lm_eval/loggers writes it."""
    def result(name, alias):
        task, _, metric = name.partition("/")
        metric, _, used = metric.partition(",")
        value, error = scores(step)[name]
        return task, {"alias": alias, f"{metric},{used or 'none'}": value, f"{metric}_stderr,{used or 'none'}": "N/A" if error is None else error}
    results = dict(result(name, name.partition("/")[0].replace("mmlu_", " - ")) for name in scores(step))
    return {
        "results": results, "groups": {"mmlu": results["mmlu"]},
        "group_subtasks": {"mmlu": ["mmlu_humanities", "mmlu_stem"], "hellaswag": [], "gsm8k": [], "wikitext": []},
        "configs": {"hellaswag": {"task": "hellaswag", "dataset_path": "hellaswag", "doc_to_text": "{{query}}", "num_fewshot": 0}},
        "versions": {"gsm8k": 3.0, "hellaswag": 1.0, "mmlu": 2, "mmlu_humanities": 2, "mmlu_stem": 2, "wikitext": 2.0},
        "n-shot": {"gsm8k": 5, "hellaswag": 0, "mmlu_humanities": 5, "mmlu_stem": 5, "wikitext": 0},
        "higher_is_better": {"gsm8k": {"exact_match": True}, "hellaswag": {"acc_norm": True}, "mmlu": {"acc": True}, "mmlu_humanities": {"acc": True},
            "mmlu_stem": {"acc": True}, "wikitext": {"word_perplexity": False}},
        "n-samples": {task: {"original": size, "effective": size} for task, size in SIZE.items()},
        "config": {"model": "hf", "model_args": f"pretrained={path},dtype=bfloat16", "batch_size": "8", "batch_sizes": [], "device": None, "limit": None,
            "bootstrap_iters": 100000, "gen_kwargs": None, "random_seed": 0},
        "git_hash": None, "date": BEGUN_S + step * 60.5, "transformers_version": "4.46.0", "lm_eval_version": "0.4.5", "model_source": "hf", "model_name": path,
        "model_name_sanitized": path.replace("/", "__"), "start_time": 1.5, "end_time": 2.5, "total_evaluation_time_seconds": "1.0"}


def stamp(at_s):
    return datetime.datetime.fromtimestamp(at_s, datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S")


def megatron_log():
    """pretrain.py's lines: a step a minute, a checkpoint and an evaluation each hundredth."""
    for step in range(20, 401, 20):
        at = stamp(BEGUN_S + step * 60)
        yield (f" [{at}] iteration {step:8d}/    1000 | consumed samples: {step * 256:12d} | elapsed time per iteration (ms): 60000.0 | learning rate: 3.000000E-04 | "
               f"global batch size:   256 | lm loss: {1.9 + 8 / (1 + step / 150):.6E} | loss scale: 1.0 | grad norm: 0.700 |")
        if step in VALIDATED:
            yield f" [{at}] validation loss at iteration {step} | lm loss value: {VALIDATED[step]:.6E} | lm loss PPL: {math.exp(VALIDATED[step]):.6E} |"
            yield f" [{at}]   successfully saved checkpoint from iteration {step:7d} to /fsx/gpt-1"


class Evaluated:
    """A job's evaluations, by sm-ship and over REST."""

    def __init__(self, server, ship, folder):
        self.server, self.ship, self.folder = server, ship, folder

    def send(self, job, name, document, *more):
        path = self.folder / name
        path.write_text(json.dumps(document))
        done = self.ship.run("--job", job, *more, str(path))
        assert done.returncode == 0, done
        return done.stderr.decode()

    def read(self, job, query=""):
        reply = self.server.get(f"/api/v1/jobs/{job}/evaluations{query}")
        assert reply.status == 200, reply
        return reply.body

    def board(self, query):
        reply = self.server.get(f"/api/v1/evaluations{query}")
        assert reply.status == 200, reply
        return reply.body

    def falls(self, job):
        rows = self.server.get(f"/api/v1/incidents?q=name%3D{job}&kind=evaluation_fell&limit=100").body["incidents"]
        return {(f"{row['evidence']['task']}/{row['evidence']['task_metric']}", row["opened_step"]): row for row in rows}


@pytest.fixture
def evaluated(server, ship, tmp_path):
    return Evaluated(server, ship, tmp_path)


def approx(value):
    return pytest.approx(value, rel=EXACT)


def train_and_evaluate(one):
    log = one.folder / "gpt-1.log"
    log.write_text("\n".join(megatron_log()) + "\n")
    done = one.ship.run("--job", "gpt-1", "--stream", "algo-1", "--import", str(log))
    assert done.returncode == 0, done
    wait_until(lambda: [row["step"] for row in one.server.get("/api/v1/jobs/gpt-1/checkpoints").body["checkpoints"]] == [400, 300, 200, 100], what="the checkpoints")
    for step in (100, 200):
        said = one.send("gpt-1", f"results_{step}.json", harness(step, f"/fsx/gpt-1/checkpoint-{step}"))
        assert f"6 scores of step {step} (/fsx/gpt-1/checkpoint-{step})" in said, said
    one.send("gpt-1", "ours_200.json", {"suite": "ours", "n": 500, "scores": {TOXIC: {"value": 0.031, "stderr": 0.004, "higher_is_better": False}}}, "--checkpoint", "200")


def print_a_table(one):
    """lm_eval run beside the training, as a stream of its log."""
    text = "".join(f"{stamp(BEGUN_S + 305 * 60)} {line}\n" for line in PRINTED.splitlines())
    assert one.server.post("/api/v1/logs?job=gpt-1&stream=lm-eval", text).status == 200
    wait_until(lambda: 300 in [row["step"] for row in one.read("gpt-1")["checkpoints"] if len(row["scores"]) > 2], what="the table")


def check_scores(one, steps):
    found = {row["step"]: row for row in one.read("gpt-1")["checkpoints"]}
    assert sorted(found) == steps
    for step, row in found.items():
        if step == 400:  # so far only what the trainer printed
            assert (row["scores"]["val/loss"], row["path"], row["n"]) == (VALIDATED[400], None, None)
            continue
        wanted = scores(step)
        assert row["path"] == f"/fsx/gpt-1/checkpoint-{step}" and row["checkpoint"]["ts_ms"] == (BEGUN_S + step * 60) * 1000
        for name, (value, error) in wanted.items():
            assert (row["scores"][name], row["details"][name]["stderr"]) == (approx(value), error and approx(error)), (step, name)
        assert row["scores"]["val/loss"] == VALIDATED[step] and row["details"]["val/loss"]["series"] == "val:loss"
        assert row["scores"]["val/perplexity"] == pytest.approx(math.exp(VALIDATED[step]), rel=1e-6)
    assert (found[100]["n"], found[200]["n"], found[300]["n"]) == (sum(SIZE.values()), sum(SIZE.values()) + 500, None)
    assert found[200]["details"][MMLU]["n"] == 4705 + 3153 and found[200]["details"][GSM8K]["shots"] == 5
    assert [found[step]["details"][HELLASWAG]["suite"] for step in (200, 300)] == ["lm-evaluation-harness", "log"]


def fall_of(name, step, before):
    """How much worse, the standard error of the difference, and how many of them it is."""
    (value, error), (was, its_error) = scores(step)[name], scores(before)[name]
    both = math.hypot(error, its_error)
    return was - value, both, (was - value) / both


def check_falls(one):
    """At step 300: hellaswag by 0.01002 of √(0.00498² + 0.005²) = 0.00706, 1.42 of them; gsm8k by 7.26; mmlu, and below it nothing that is told."""
    found = one.read("gpt-1")
    rows = {(f"{row['task']}/{row['metric']}", row["step"]): row for row in found["regressions"]}
    assert set(rows) == {(HELLASWAG, 300), (GSM8K, 300), (MMLU, 300)} and found["regressions_total"] == 3
    for (name, _), row in rows.items():
        drop, both, errors = fall_of(name, 300, 200)
        assert (row["before_step"], row["before"], row["value"]) == (200, approx(scores(200)[name][0]), scores(300)[name][0])
        assert (row["drop"], row["stderr"], row["errors"]) == (pytest.approx(drop, rel=1e-9), approx(both), pytest.approx(errors, rel=1e-9))
    assert [round(fall_of(name, 300, 200)[2], 2) for name in (HELLASWAG, GSM8K)] == [1.42, 7.26]
    assert {row["task"] for row in one.read("gpt-1", "?errors=2")["regressions"]} == {"gsm8k", "mmlu"}
    assert found["without_stderr"] == 2  # the perplexity of step 200, and of step 300
    told = wait_until(lambda: len(one.falls("gpt-1")) == 3 and one.falls("gpt-1"), what="the falls")
    assert {place: (row["severity"], row["state"]) for place, row in told.items()} == {
        (HELLASWAG, 300): ("info", "open"), (GSM8K, 300): ("warning", "open"), (MMLU, 300): ("warning", "open")}
    assert told[GSM8K, 300]["evidence"]["score"] == pytest.approx(fall_of(GSM8K, 300, 200)[2], rel=1e-9)


def the_next_is_better_and_more_toxic(one):
    one.send("gpt-1", "results_400.json", harness(400, "/fsx/gpt-1/checkpoint-400"))
    reply = one.server.post("/api/v1/jobs/gpt-1/evaluations", json={"step": 400, "suite": "ours", "n": 500, "scores": {
        TOXIC: {"value": 0.05, "stderr": 0.004, "higher_is_better": False}}})
    assert reply.status == 201, reply
    # 0.019 of √2 * 0.004 = 0.005657: 3.36, against step 200, as nobody measured it at 300
    told = wait_until(lambda: len(one.falls("gpt-1")) == 4 and one.falls("gpt-1"), what="the fourth")
    assert {place: row["state"] for place, row in told.items()} == {
        (HELLASWAG, 300): "recovered", (GSM8K, 300): "recovered", (MMLU, 300): "recovered", (TOXIC, 400): "open"}
    evidence = told[TOXIC, 400]["evidence"]
    assert (told[TOXIC, 400]["severity"], evidence["before_step"]) == ("warning", 200)
    assert (evidence["spread"], evidence["score"]) == (approx(0.004 * math.sqrt(2)), pytest.approx(0.019 / (0.004 * math.sqrt(2)), rel=1e-9))


def weighted(step, **weights):
    values = {"h": scores(step)[HELLASWAG][0], "g": scores(step)[GSM8K][0], "m": scores(step)[MMLU][0], "t": -{200: 0.031, 400: 0.05}.get(step, 0)}
    return sum(weight * values[name] for name, weight in weights.items()) / sum(weights.values())


def check_best(one):
    best = lambda query="": one.read("gpt-1", query)["best"]
    # what all four have, and of which more is better; of the group the group's alone
    usual = best()
    assert (usual["step"], usual["weights"], usual["compared"]) == (400, {GSM8K: 1, HELLASWAG: 1, MMLU: 1}, 4)
    assert usual["value"] == approx(weighted(400, h=1, g=1, m=1)) and all(weighted(400, h=1, g=1, m=1) > weighted(step, h=1, g=1, m=1) for step in (100, 200, 300))
    two = best(f"?weights={HELLASWAG}:2,{GSM8K}:1")
    assert (two["step"], two["value"], two["compared"]) == (400, approx(weighted(400, h=2, g=1)), 4)
    # (0.5200 - 10 * 0.031) / 11 = 0.0191 against (0.5250 - 10 * 0.05) / 11 = 0.0023
    toxic = best(f"?weights={HELLASWAG}:1,{TOXIC}:10")
    assert (toxic["step"], toxic["value"], toxic["compared"]) == (200, approx(weighted(200, h=1, t=10)), 2)
    assert [round(weighted(step, h=1, t=10), 4) for step in (200, 400)] == [0.0191, 0.0023]
    assert best(f"?weights={PERPLEXITY}:1")["value"] == -17 and best("?weights=val/loss:1")["step"] == 400


def nobody_can_read_the_best(one):
    """Its file is cut off: it is not what one goes on from, and takes no part."""
    unusable = {"by_hand": {"checkpoints": {"1:400": {"usable": False, "why": "the file is cut off"}}}}
    assert one.server.patch("/api/v1/jobs/gpt-1", json=unusable).status == 200
    best = wait_until(lambda: (got := one.read("gpt-1")["best"])["compared"] == 3 and got, what="the best of three")
    assert (best["step"], best["value"]) == (200, approx(weighted(200, h=1, g=1, m=1)))
    assert [row["checkpoint"]["usable"] for row in one.read("gpt-1")["checkpoints"] if row["step"] == 400] == [False]


def the_run_goes_on_beside_a_rival(one):
    server = one.server
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "gpt-2", "Tags": [{"Key": "continues", "Value": "gpt-1"}]}).status == 201
    one.send("gpt-2", "results_500.json", harness(500, "/fsx/gpt-2/checkpoint-500"))
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "rival", "Tags": [{"Key": "team", "Value": "vision"}]}).status == 201
    reply = server.post("/api/v1/jobs/rival/evaluations", json={"path": "s3://ckpt/rival/step_900", "scores": {HELLASWAG: {"value": 0.525, "stderr": 0.005}, MMLU: 0.5}})
    assert reply.status == 201 and reply.body["step"] == 900, reply
    by_job = one.board(f"?metric={HELLASWAG}")
    assert [(row["rank"], row["job"], row["step"], row["value"], row["compared"]) for row in by_job["leaders"]] == [
        (1, "gpt-2", 500, approx(5322 / 10042), 1), (2, "rival", 900, 0.525, 1), (3, "gpt-1", 200, approx(5222 / 10042), 3)]
    by_run = one.board(f"?metric={HELLASWAG}&by=run")["leaders"]
    assert [(row["run"], row["job"], row["jobs"], row["compared"]) for row in by_run] == [("gpt-1", "gpt-2", 2, 4), ("rival", "rival", 1, 1)]
    by_checkpoint = one.board(f"?metric={HELLASWAG}&by=checkpoint")["leaders"]
    assert [(row["job"], row["step"]) for row in by_checkpoint] == [("gpt-2", 500), ("rival", 900), ("gpt-1", 200), ("gpt-1", 300), ("gpt-1", 100)]
    assert by_checkpoint[0]["stderr"] == approx(share(5322, 10042)[1])
    # 0.5 of mmlu is the rival's; by both it is (2 * 0.525 + 0.5) / 3 = 0.5167 against (2 * 0.5300 + 0.4505) / 3 = 0.5035
    both = one.board(f"?weights={HELLASWAG}:2,{MMLU}:1")["leaders"]
    assert [(row["job"], row["value"]) for row in both][:2] == [("rival", approx(1.55 / 3)), ("gpt-2", approx(weighted(500, h=2, m=1)))]
    assert [row["job"] for row in one.board(f"?metric={HELLASWAG}&q=tag.team%3Avision")["leaders"]] == ["rival"]
    done = subprocess.run([server.bin("sm-search"), "evaluations", HELLASWAG, "--by", "run", "--csv"], env=one.ship.env, capture_output=True, text=True,
        timeout=PATIENCE_S, check=True)
    assert [row.split(",")[1:4] for row in done.stdout.splitlines()[1:]] == [["gpt-1", "gpt-2", "500"], ["rival", "rival", "900"]]


def against_named_models(one):
    """Llama 2's paper, table 3: MMLU of 45.3 with five examples, for 7B. gpt-1 has 43.0 at step 200."""
    listed = {row["model"]: row for row in one.read("gpt-1")["references"]}
    assert (listed["Llama 2 7B"]["scores"], listed["Llama 2 7B"]["shots"]) == ({MMLU: 0.453}, 5) and "2307.09288" in listed["Llama 2 7B"]["source"]
    ours = {"model": "gpt-0", "shots": 0, "source": "our wiki", "scores": {HELLASWAG: 0.4}}
    shipped = one.server.get("/api/v1/evaluation-references").body["references"]
    assert one.server.put("/api/v1/evaluation-references", json={"references": [*shipped, ours]}).status == 200
    assert {row["model"] for row in one.read("gpt-1")["references"]} == {*listed, "gpt-0"}
    assert "gpt-0" in {row["model"] for row in one.board(f"?metric={HELLASWAG}")["references"]}


def test_which_checkpoint_is_best(evaluated, make_server):
    one = evaluated
    train_and_evaluate(one)
    print_a_table(one)
    check_scores(one, [100, 200, 300, 400])
    check_falls(one)
    the_next_is_better_and_more_toxic(one)
    check_best(one)
    nobody_can_read_the_best(one)
    the_run_goes_on_beside_a_rival(one)
    against_named_models(one)
    # All of it outlives a death of the server, and a move to another one.
    before = {job: one.read(job) for job in ("gpt-1", "gpt-2", "rival")}
    one.server.kill()
    one.server.start()
    assert {job: one.read(job) for job in before} == before
    other = make_server()
    moved = other.post("/api/v1/import", one.server.get("/api/v1/export").raw, content_type="application/x-ndjson")
    assert moved.body["imported"] == 3, moved
    for job, was in before.items():
        got = Evaluated(other, one.ship, one.folder).read(job)
        assert (got["checkpoints"], got["best"], got["regressions"]) == (was["checkpoints"], was["best"], was["regressions"]), job
