"""Tokens: how many, of how many, until when and for how much; each figure is worked out here from what the log says."""

import json
import re

import pytest

from fixtures import emptied_server as server  # noqa: F401 (one process for the file)
from smserver import wait_until
from test_life import MINUTE_MS, T0, line

DAY_MS = 86400000


def tokens(server, job="j"):
    server.wait_for_extraction()
    reply = server.get(f"/api/v1/jobs/{job}/tokens")
    assert reply.status == 200, reply
    return reply.body


def announce(server, settings, job="j", **more):
    document = {"TrainingJobName": job, "HyperParameters": {key: str(value) for key, value in settings.items()}, **more}
    assert server.post("/api/v1/jobs", json=document).status == 201


def steps(first, last, text="step: {n} loss: 2.5", at_ms=T0):
    return [line(at_ms + (n - first) * MINUTE_MS, text.format(n=n)) for n in range(first, last + 1)]


def test_by_steps_and_settings(server):
    """8 sequences of 1024 tokens a step, 1000 steps: 8192 tokens a minute."""
    announce(server, {"global_batch_size": 8, "seq_length": 1024, "max_steps": 1000})
    server.send("j", steps(1, 100))
    found = tokens(server)
    assert (found["budget"], found["consumed"]) == (1000 * 8192, 100 * 8192)
    assert found["per_day"] == pytest.approx(8192 * 1440)
    assert found["eta_ms"] == T0 + 99 * MINUTE_MS + 900 * MINUTE_MS
    assert found["eta_cost"] is None
    last_ms = T0 + 99 * MINUTE_MS
    assert found["from"] == {"budget": "total_steps * tokens_per_step", "consumed": "step * tokens_per_step (global_batch_size * sequence_length)",
        "per_day": f"(consumed - 8192) / {99 * 60} s * 86400 s", "eta_ms": f"{last_ms} ms + (budget - consumed) / per_day"}


def test_by_what_the_log_counts(server):
    """It begins at a hundred thousand, as a job that goes on with another one does."""
    announce(server, {"train_tokens": "1e6", "global_batch_size": 8, "seq_length": 1024})
    server.send("j", [line(T0 + n * MINUTE_MS, f"step: {n} | loss: 2.5 | consumed_tokens: {100000 + 2000 * n}") for n in range(1, 51)])
    found = tokens(server)
    assert (found["budget"], found["consumed"]) == (1e6, 200000)
    assert found["per_day"] == pytest.approx(2000 * 1440)
    assert found["eta_ms"] == pytest.approx(T0 + 50 * MINUTE_MS + 800000 / 2000 * MINUTE_MS)
    assert "consumed_tokens" in found["from"]["consumed"] and found["from"]["budget"].startswith("train_tokens")


def test_by_samples(server):
    announce(server, {"train_samples": 10000, "seq_length": 2048})
    server.send("j", [line(T0 + n * MINUTE_MS, f"step: {n} | loss: 2.5 | consumed_samples: {16 * n}") for n in range(1, 11)])
    found = tokens(server)
    assert (found["budget"], found["consumed"]) == (10000 * 2048, 160 * 2048)
    assert found["per_day"] == pytest.approx(16 * 2048 * 1440)


def test_the_steps_that_the_log_alone_tells(server):
    """400 steps of 64 sequences of 2048 tokens; of the other job a budget is said, and cannot be read."""
    batch = {"global_batch_size": 64, "seq_length": 2048}
    announce(server, batch)
    announce(server, {**batch, "train_tokens": "many"}, "other")
    for job in ("j", "other"):
        server.send(job, steps(1, 300, "step {n}/400 loss: 2.5"))
        wait_until(lambda: server.get(f"/api/v1/jobs/{job}").body.get("total_steps") == 400, what="the number of steps: it is kept a moment after the lines")
    found = tokens(server)
    assert (found["budget"], found["consumed"]) == (400 * 64 * 2048, 300 * 64 * 2048)
    assert found["from"]["budget"] == "total_steps (the log's step/total) * tokens_per_step"
    assert found["eta_ms"] == T0 + 299 * MINUTE_MS + 100 * MINUTE_MS
    assert tokens(server, "other")["budget"] is None


def test_what_was_made_again_is_consumed_once(server):
    """Steps 1 to 100 in 99 minutes, ten minutes of nothing, then 81 to 120: 120 steps in 99 + 10 + 39 minutes."""
    announce(server, {"global_batch_size": 8, "seq_length": 1024})
    server.send("j", steps(1, 100) + steps(81, 120, at_ms=T0 + 109 * MINUTE_MS))
    found = tokens(server)
    assert (found["budget"], found["consumed"], found["eta_ms"]) == (None, 120 * 8192, None)
    assert found["per_day"] == pytest.approx(119 * 8192 / 148 * 1440)


def again(pattern, formula):
    """The numbers of a formula, to work it out again."""
    found = re.fullmatch(pattern, formula)
    assert found, formula
    return [float(number) for number in found.groups()]


def test_the_rest_costs_what_an_hour_cost_so_far(server):
    """Two nodes at 3.6 an hour each: 0.12 a minute."""
    prices = {"currency": "EUR", "prices": [{"instance": "ml.odd.large", "per_hour": 3.6}]}
    assert server.put("/api/v1/prices", json=prices).status in (200, 204)
    announce(server, {"global_batch_size": 8, "seq_length": 1024, "max_steps": 1000}, ResourceConfig={"InstanceType": "ml.odd.large", "InstanceCount": 2})
    server.send("j", steps(1, 100))
    wait_until(lambda: tokens(server)["eta_cost"] is not None, what="its hours: that it trains is seen a moment after its lines")
    found = tokens(server)
    assert (found["currency"], found["eta_cost"]) == ("EUR", pytest.approx(900 * 0.12, rel=1e-3))
    last_ms, so_far, billed_s = again(r"\(eta_ms - (\d+) ms\) \* 1 billed \* ([\d.]+) EUR / ([\d.]+) billed s", found["from"]["eta_cost"])
    assert (found["eta_ms"] - last_ms) / 1000 * so_far / billed_s == pytest.approx(found["eta_cost"], rel=1e-6)
    assert so_far / billed_s * 60 == pytest.approx(0.12)


def test_hours_that_are_not_billed_cost_nothing(server):
    """Spot: 50 steps, 50 minutes from the interruption until it trains again, 50 more. 99 steps took 149 minutes, of which 99 are billed: so
    the 900 that are left cost 900 minutes at 0.06, though they will take 900 * 149 / 99."""
    prices = {"currency": "EUR", "prices": [{"instance": "ml.odd.large", "per_hour": 3.6}]}
    assert server.put("/api/v1/prices", json=prices).status in (200, 204)
    announce(server, {"global_batch_size": 8, "seq_length": 1024, "max_steps": 1000}, ResourceConfig={"InstanceType": "ml.odd.large", "InstanceCount": 1},
        EnableManagedSpotTraining=True)
    for status, minute in (("Training", 0), ("Interrupted", 50), ("Starting", 60), ("Training", 100)):
        reply = server.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": status, "time_ms": T0 + minute * MINUTE_MS})
        assert reply.status == 204, reply
    server.send("j", steps(1, 50) + steps(51, 100, at_ms=T0 + 100 * MINUTE_MS))
    wait_until(lambda: tokens(server)["eta_cost"] is not None, what="its hours")
    found = tokens(server)
    assert found["eta_ms"] == pytest.approx(T0 + 149 * MINUTE_MS + 900 * 149 / 99 * MINUTE_MS)
    assert found["eta_cost"] == pytest.approx(900 * 0.06, rel=1e-3)
    last_ms, billed, so_far, billed_s = again(r"\(eta_ms - (\d+) ms\) \* ([\d.]+) billed \* ([\d.]+) EUR / ([\d.]+) billed s", found["from"]["eta_cost"])
    assert billed == pytest.approx(99 / 149, rel=1e-5)
    assert (found["eta_ms"] - last_ms) / 1000 * billed * so_far / billed_s == pytest.approx(found["eta_cost"], rel=1e-5)


@pytest.mark.parametrize("text, length", [("4k", 4096), ("8K", 8192), ("128k", 131072), ("4096", 4096), ("1_024", 1024)])
def test_a_length_in_k(server, text, length):
    announce(server, {"global_batch_size": 8, "seq_length": text, "max_steps": 1000})
    server.send("j", steps(1, 3))
    found = tokens(server)
    assert (found["budget"], found["consumed"]) == (1000 * 8 * length, 3 * 8 * length)


def test_a_chain_whose_first_job_alone_has_the_settings(server):
    """a: 100 of 1000 steps of 8192 tokens. b goes on with it and c with b; c says another batch itself. Nobody states what d is made of."""
    announce(server, {"global_batch_size": 8, "seq_length": 1024, "max_steps": 1000}, "a")
    for job, before, settings in (("b", "a", {}), ("c", "b", {"tokens_per_step": 4096}), ("d", "gone", {})):
        announce(server, settings, job)
        assert server.patch(f"/api/v1/jobs/{job}", json={"tags": {"continues": before}}).status == 200
        server.send(job, steps(101, 150))
    assert [(found["budget"], found["consumed"]) for found in (tokens(server, job) for job in "bcd")] == [
        (1000 * 8192, 150 * 8192), (1000 * 8192, 150 * 4096), (None, None)]
    found = tokens(server, "b")["from"]
    assert found["budget"].endswith(" of a") and "of a" in found["consumed"], found


def test_of_one_that_ended_nothing_is_left(server):
    announce(server, {"global_batch_size": 8, "seq_length": 1024, "max_steps": 1000})
    server.send("j", steps(1, 100))
    assert server.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": "Stopped", "time_ms": T0 + 100 * MINUTE_MS}).status == 204
    found = tokens(server)
    assert (found["consumed"], found["eta_ms"], found["eta_cost"]) == (100 * 8192, None, None)


def test_what_nobody_knows_is_null(server):
    server.send("j", steps(1, 10))
    found = tokens(server)
    assert [found[name] for name in ("budget", "consumed", "per_day", "eta_ms", "eta_cost")] == [None] * 5 and found["from"] == {}
    assert server.get("/api/v1/jobs/none/tokens").status == 404


@pytest.mark.parametrize("name", ["train_tokens", "num_train_tokens", "max_train_tokens", "total_train_tokens", "training_tokens", "token_budget",
                                  "target_tokens", "TRAIN_TOKENS", "train-tokens", "TOKEN_BUDGET"])
def test_each_name_of_a_budget(server, name):
    """Stated by one job, printed by the other; token_budget looks like a secret's name and is none."""
    announce(server, {name: "20B", "global_batch_size": 8, "seq_length": 1024, "max_steps": 1000})
    server.send("j", steps(1, 10))
    server.send("logged", [line(T0, f"Namespace({name.replace('-', '_')}=20000000000, lr=0.1)")] + steps(1, 10))
    wait_until(lambda: tokens(server, "logged")["budget"], what="its settings: they are kept a moment after its lines")
    for job in ("j", "logged"):
        found = tokens(server, job)
        assert (found["budget"], found["not_understood"]) == (20e9, []), job
        assert found["from"]["budget"].startswith(name.replace("-", "_") if job == "logged" else name)
    assert server.get("/api/v1/jobs/j").body["HyperParameters"][name] == "20B"


def test_rates_of_tokens_are_no_secrets(server):
    settings = {"token_drop_rate": "0.1", "moe_token_dispatcher_type": "alltoall", "hf_token": "x"}
    announce(server, settings)
    found = server.get("/api/v1/jobs/j").body["HyperParameters"]
    assert found == {**settings, "hf_token": found["hf_token"]} and found["hf_token"].startswith("***")


@pytest.mark.parametrize("text", ["20_000_000_000", "20Bn", "20B tokens", "20e9"])
def test_a_budget_is_written_in_many_ways(server, text):
    announce(server, {"train_tokens": text, "global_batch_size": 8, "seq_length": 1024, "max_steps": 1000})
    server.send("j", steps(1, 10))
    assert tokens(server)["budget"] == 20e9


@pytest.mark.parametrize("text", ["1e10-2e10", "twenty billion", "nan"])
def test_a_budget_that_cannot_be_read_is_not_that_of_the_steps(server, text):
    announce(server, {"train_tokens": text, "global_batch_size": 8, "seq_length": 1024, "max_steps": 1000})
    server.send("j", steps(1, 10))
    found = tokens(server)
    assert (found["budget"], found["eta_ms"], found["not_understood"]) == (None, None, ["train_tokens"])
    assert found["consumed"] == 10 * 8192


@pytest.mark.parametrize("text", ["-1", "0", "None", "auto"])
def test_a_budget_that_says_there_is_none_leaves_it_to_the_steps(server, text):
    announce(server, {"train_tokens": text, "global_batch_size": 8, "seq_length": 1024, "max_steps": 1000})
    server.send("j", steps(1, 10))
    found = tokens(server)
    assert (found["budget"], found["not_understood"]) == (1000 * 8192, [])
    assert found["from"]["budget"] == "total_steps * tokens_per_step"


def test_a_newest_count_that_is_no_number_leaves_the_one_before(server):
    announce(server, {"train_tokens": "1e6"})
    server.send("j", [line(T0 + n * MINUTE_MS, f"step: {n} | loss: 2.5 | tokens_seen: {2000 * n if n < 50 else 'nan'}") for n in range(1, 51)])
    assert tokens(server)["consumed"] == 98000


def counted(first, last, from_step, at_ms, unit="tokens_seen", each=1000):
    """A count that began at from_step, a step a minute."""
    return [line(at_ms + (n - first) * MINUTE_MS, f"step: {n} | loss: 2.5 | {unit}: {(n - from_step) * each}") for n in range(first, last + 1)]


def last_on_the_axis(server, job="j"):
    return server.points(job, "loss", x="tokens", chain="true")["columns"]["x"][-1]


@pytest.mark.parametrize("unit, each, settings", [("tokens_seen", 1000, {}), ("consumed_samples", 10, {"seq_length": 100})])
def test_a_count_that_begins_anew_in_a_later_attempt(server, unit, each, settings):
    """1000 tokens a step: steps 1 to 40, of which 30 hold, then 31 to 60, counted from 0: 60 steps in 39 + 11 + 29 minutes."""
    announce(server, {"train_tokens": 100000, **settings})
    server.send("j", counted(1, 40, 0, T0, unit, each) + counted(31, 60, 30, T0 + 50 * MINUTE_MS, unit, each))
    found = tokens(server)
    assert found["consumed"] == last_on_the_axis(server) == 60 * 1000
    assert found["per_day"] == pytest.approx(59 * 1000 / 79 * 1440)
    assert found["eta_ms"] == pytest.approx(T0 + 79 * MINUTE_MS + 40 * 79 / 59 * MINUTE_MS, abs=1)
    assert found["from"]["consumed"].endswith(" + 30000 before it began anew") and found["from"]["per_day"].startswith("(consumed - 1000) / 4740 s")


def test_a_count_that_begins_anew_in_each_job_of_a_chain(server):
    """1000 tokens and a minute a step: a makes 1 to 60, b 56 to 110, c 111 to 150, each counting from 0; 300 steps in all, of which 150 are left: 150
    minutes of two nodes at 3.6 an hour each."""
    prices = {"currency": "EUR", "prices": [{"instance": "ml.odd.large", "per_hour": 3.6}]}
    assert server.put("/api/v1/prices", json=prices).status in (200, 204)
    for job, first, last, before in (("a", 1, 60, None), ("b", 56, 110, "a"), ("c", 111, 150, "b")):
        more = {"Tags": [{"Key": "continues", "Value": before}]} if before else {}
        announce(server, {} if before else {"train_tokens": 300000}, job, ResourceConfig={"InstanceType": "ml.odd.large", "InstanceCount": 2}, **more)
        server.send(job, counted(first, last, first - 1, T0 + first * MINUTE_MS))
    wait_until(lambda: tokens(server, "c")["eta_cost"] is not None, what="its hours: that it trains is seen a moment after its lines")
    assert [tokens(server, job)["consumed"] for job in "abc"] == [60 * 1000, 110 * 1000, 150 * 1000]
    found = tokens(server, "c")
    assert found["consumed"] == last_on_the_axis(server, "c")
    assert found["per_day"] == pytest.approx(1000 * 1440)
    assert found["eta_ms"] == T0 + (150 + 150) * MINUTE_MS
    assert found["eta_cost"] == pytest.approx(150 * 0.12, rel=1e-3)
    assert found["from"]["consumed"] == "tokens_seen + 110000 before it began anew"


def test_a_count_that_goes_on_in_the_next_job_is_counted_once(server):
    announce(server, {"train_tokens": 300000}, "a")
    server.send("a", counted(1, 60, 0, T0))
    announce(server, {}, "b", Tags=[{"Key": "continues", "Value": "a"}])
    server.send("b", counted(51, 100, 0, T0 + 70 * MINUTE_MS))
    found = tokens(server, "b")
    assert found["consumed"] == last_on_the_axis(server, "b") == 100 * 1000
    assert found["per_day"] == pytest.approx(1000 * 1440) and "anew" not in found["from"]["consumed"]


def test_what_a_million_tokens_cost_is_known_along_a_chain(server):
    """Only a says that a step is 8 * 1024 tokens; each job makes 100 steps in 99 minutes of one node at 3.6 an hour."""
    prices = {"currency": "EUR", "prices": [{"instance": "ml.odd.large", "per_hour": 3.6}]}
    assert server.put("/api/v1/prices", json=prices).status in (200, 204)
    for at, (job, before) in enumerate((("a", None), ("b", "a"), ("c", "b"))):
        more = {"Tags": [{"Key": "continues", "Value": before}]} if before else {}
        announce(server, {} if before else {"global_batch_size": 8, "seq_length": 1024}, job, ResourceConfig={"InstanceType": "ml.odd.large", "InstanceCount": 1}, **more)
        begun_ms = T0 + 200 * at * MINUTE_MS
        assert server.post(f"/api/v1/jobs/{job}/transitions", json={"SecondaryStatus": "Training", "time_ms": begun_ms}).status == 204
        server.send(job, steps(1 + 100 * at, 100 + 100 * at, at_ms=begun_ms))
        assert server.post(f"/api/v1/jobs/{job}/transitions", json={"SecondaryStatus": "Stopped", "time_ms": begun_ms + 99 * MINUTE_MS}).status == 204
    server.wait_for_extraction()
    costs = [server.get(f"/api/v1/jobs/{job}/goodput").body["cost"] for job in "abc"]
    assert [cost["per_million_tokens"] for cost in costs] == pytest.approx([99 * 0.06 / (100 * 8192 / 1e6)] * 3)


@pytest.mark.parametrize("name", ["num_input_tokens_seen", "num_tokens", "total_tokens", "tokens_seen", "consumed_tokens"])
def test_each_counter_is_read_in_lines_of_no_known_trainer(server, name):
    """As words and as JSON; in a line without a step it is a setting."""
    server.send("words", [line(T0 + n * MINUTE_MS, f"step {n} loss: {3 - n * .01:.3f} {name}: {n * 1000}") for n in range(1, 51)])
    server.send("json", [json.dumps({"step": n, "loss": 3 - n * .01, name: n * 1000}) for n in range(1, 51)])
    server.send("setting", [f"{name}: 1000000", *(f"step {n} loss: {3 - n * .01:.3f}" for n in range(1, 51))])
    assert [tokens(server, job)["consumed"] for job in ("words", "json", "setting")] == [50000, 50000, None]


@pytest.mark.parametrize("first, then, begins_anew, whole", [
    ("consumed_tokens", "tokens_seen", True, 200_000), ("consumed_tokens", "num_tokens", False, 200_000),
    ("consumed_samples", "consumed_tokens", True, 200_000), ("consumed_tokens", "consumed_samples", True, 200_000)])
def test_a_job_that_goes_on_by_another_counter_adds_to_what_was_counted(server, first, then, begins_anew, whole):
    """A thousand tokens a step, a sample each ten. The first made 110 steps, the next goes on from 100: as a count of its own, or of all."""
    def value(name, n):
        return n * 100 if name == "consumed_samples" else n * 1000
    announce(server, {"seq_length": 10}, "one")
    announce(server, {"seq_length": 10}, "two", Tags=[{"Key": "continues", "Value": "one"}])
    server.send("one", [line(T0 + n * MINUTE_MS, f"step {n} loss: {3 - n * .001:.3f} {first}: {value(first, n)}") for n in range(1, 111)])
    server.send("two", [line(T0 + (n + 200) * MINUTE_MS, f"step {n} loss: {3 - n * .001:.3f} {then}: {value(then, n - 100 if begins_anew else n)}")
        for n in range(101, 201)])
    assert tokens(server, "two")["consumed"] == whole
    assert tokens(server, "one")["consumed"] == 110_000
    axis = server.points("two", "train:loss", x="tokens", chain="true")["axis"]
    assert axis["values"][-1] == whole and (100, 100_000) in zip(axis["steps"], axis["values"])
