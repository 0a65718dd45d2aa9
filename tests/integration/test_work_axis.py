"""Charts by the work that was done: x=tokens and x=flops, everywhere by one function. The numbers are worked out here."""

from urllib.parse import quote

import pytest
from smserver import Server

PARAMETERS = 7_500_000_000


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Of all tests; each has jobs of its own."""
    one = Server(tmp_path_factory.mktemp("work")).start()
    yield one
    one.close()


def job(server, name, settings=None, **more):
    body = {"TrainingJobName": name, "HyperParameters": settings or {}, **more}
    assert server.post("/api/v1/jobs", json=body).status in (200, 201)


def send(server, name, **metrics):
    """metric={step: value}"""
    series = [{"metric": metric, "stream": "algo-1", "step": list(points), "value": list(points.values())} for metric, points in metrics.items()]
    assert server.post(f"/api/v1/points?job={quote(name, safe='')}", json={"series": series}).status == 200
    for metric, points in metrics.items():
        server.wait_for_points(name, metric, len(points))


def counted(server, name, each, settings=None):
    """A loss at each of 101 steps, a count of tokens at each tenth, `each` a step."""
    job(server, name, settings)
    send(server, name, loss={step: 5 - step / 100 for step in range(101)}, consumed_tokens={step: step * each for step in range(0, 101, 10)})


def test_the_x_of_a_bucket_is_what_had_been_done_at_its_step(shared):
    counted(shared, "buckets", 200, {"num_parameters": str(PARAMETERS)})
    tokens = shared.points("buckets", "loss", x="tokens")
    assert tokens["columns"]["x"] == [step * 200 for step in range(101)]
    assert tokens["columns"]["last"] == [5 - step / 100 for step in range(101)]
    assert tokens["axis"] == {"x": "tokens", "formula": "tokens", "inputs": {"tokens": "consumed_tokens"},
                              "steps": list(range(0, 101, 10)), "values": [step * 200 for step in range(0, 101, 10)]}
    parameters = {"value": PARAMETERS, "from": "num_parameters, HyperParameters"}
    axes = shared.get("/api/v1/jobs/buckets/metrics").body["axes"]
    assert axes == {"tokens": {"tokens": "consumed_tokens"}, "flops": {"tokens": "consumed_tokens", "parameters": parameters}}
    flops = shared.points("buckets", "loss", x="flops")
    each = 6 * PARAMETERS * 200  # a step: 9e12
    assert flops["columns"]["x"] == [step * each for step in range(101)]
    assert flops["axis"]["formula"] == "6 * parameters * tokens"
    assert flops["axis"]["inputs"] == {"tokens": "consumed_tokens", "parameters": parameters}
    assert flops["axis"]["values"] == [step * each for step in range(0, 101, 10)]
    some = shared.points("buckets", "loss", x="flops", **{"from": 20 * each - 1, "to": "2.7e14"})["columns"]  # 2.7e14: step 30
    assert some["x"] == [step * each for step in range(20, 31)]
    some = shared.points("buckets", "loss", x="tokens", **{"from": 3999, "to": 6001})["columns"]
    assert some["x"] == [step * 200 for step in range(20, 31)]


def test_the_same_for_many_charts_as_csv_and_for_every_point(shared):
    counted(shared, "csv", 50, {"num_parameters": "1e9"})
    query = {"job": "csv", "metric": "loss", "x": "flops", "from": 3e12, "to": 6e12, "columns": ["x"]}  # 3e11 a step
    result, = shared.post("/api/v1/points/query", json={"queries": [query]}).body["results"]
    assert result["columns"] == {"x": [step * 3e11 for step in range(10, 21)]}
    rows = shared.get("/api/v1/jobs/csv/points?metric=loss&x=flops&format=csv&buckets=1000&to=6e11").raw.decode().splitlines()
    assert [row.split(",")[:5] for row in rows[1:]] == [["csv", "", x, "1", loss] for x, loss in (("0", "5"), ("300000000000", "4.99"), ("600000000000", "4.98"))]
    rows = shared.get("/api/v1/jobs/csv/points?metric=loss&x=tokens&format=csv&from=100&to=200").raw.decode().splitlines()
    assert rows[0] == "job,stream,step,ts_ms,value,tokens"
    assert [(row.split(",")[2], row.split(",")[4:]) for row in rows[1:]] == [("2", ["4.98", "100"]), ("3", ["4.97", "150"]), ("4", ["4.96", "200"])]
    every = shared.points("csv", "loss", x="flops", raw="true", to=6e11)["series"][0]
    assert every["step"] == [0, 1, 2] and every["flops"] == [0, 3e11, 6e11]
    lines = shared.get("/api/v1/jobs/csv/points?metric=loss&x=flops&raw=true&to=1", headers={"Accept": "application/x-ndjson"}).raw.decode().splitlines()
    assert len(lines) == 1 and '"flops":0' in lines[0]


def test_the_same_of_all_jobs_of_a_search(shared):
    """Two jobs of 40 and of 80 tokens a step, by 2e9 and 1e9 parameters; one counts tokens alone, and one not even these."""
    counted(shared, "many-1", 40, {"num_parameters": "2e9"})
    counted(shared, "many-2", 80, {"num_parameters": "1e9"})
    counted(shared, "many-3", 10)
    job(shared, "many-4")
    send(shared, "many-4", loss={step: 1.0 for step in range(101)})

    def rows(rest):
        reply = shared.get(f"/api/v1/points?q=name:many-&metric=loss{rest}")
        assert reply.status == 200, reply
        return [tuple(row.split(",")) for row in reply.raw.decode().splitlines()]

    head, *all_of = rows("&x=tokens")
    assert head == ("job", "stream", "step", "ts_ms", "value", "tokens")
    assert [(row[0], int(row[2]), float(row[5])) for row in all_of] == [
        (name, step, step * each) for name, each in (("many-1", 40), ("many-2", 80), ("many-3", 10)) for step in range(101)]
    head, *some = rows("&x=flops&from=4.8e12&to=9.6e12")  # 4.8e11 a step of either
    assert head[5] == "flops"
    assert [(row[0], int(row[2]), float(row[5])) for row in some] == [
        (name, step, step * 4.8e11) for name in ("many-1", "many-2") for step in range(10, 21)]
    assert [(row[0], row[2]) for row in rows("&from=99")[1:]] == [(f"many-{i}", str(step)) for i in range(1, 5) for step in (99, 100)]
    assert len(rows("&x=time&from=4102444800000")) == 1  # none is of after 2100
    for rest, status, field in (("&x=token", 400, "x"), ("&x=relative", 422, "x"), ("&x=tokens&from=a", 400, "from"), ("&from=1.5", 400, "from")):
        reply = shared.get(f"/api/v1/points?q=name:many-&metric=loss{rest}")
        assert (reply.status, reply.body["field"]) == (status, field), reply


def test_along_a_run_a_count_that_begins_anew_goes_on(shared):
    """40 steps of 100 tokens; the next job goes on at step 30, counts from 0 again, 300 a step, and states no parameters."""
    counted_first = {step: step * 100 for step in range(0, 41)}
    job(shared, "run-1", {"num_parameters": "2e9"})
    send(shared, "run-1", loss={step: 1.0 for step in range(41)}, tokens_seen=counted_first)
    job(shared, "run-2", Tags=[{"Key": "continues", "Value": "run-1"}])
    send(shared, "run-2", loss={step: 0.5 for step in range(30, 61)}, tokens_seen={step: (step - 29) * 300 for step in range(30, 61)})
    by_hand = [step * 100 for step in range(30)] + [2900 + (step - 29) * 300 for step in range(30, 61)]
    chain = shared.points("run-2", "loss", x="tokens", chain="true")
    assert chain["columns"]["x"] == by_hand
    assert [link["job"] for link in chain["chain"]] == ["run-1", "run-2"]
    chain = shared.points("run-2", "loss", x="flops", chain="true")
    assert chain["columns"]["x"] == [tokens * 12e9 for tokens in by_hand]
    assert chain["axis"]["inputs"]["parameters"]["from"] == "num_parameters, HyperParameters of run-1"
    assert shared.get("/api/v1/jobs/run-2/points?metric=loss&x=time&chain=true").status == 422


def test_what_the_run_states_counts_as_it_does_for_the_tokens_consumed(shared):
    """The next jobs state nothing: samples by the sequence length, or steps by their tokens, of the job before."""
    for name, settings, metrics in (
            ("by-samples", {"seq_length": 1000, "num_parameters": "1e9"}, {"consumed_samples": 4}),
            ("by-steps", {"seq_length": 1000, "global_batch_size": 4, "num_parameters": "1e9"}, {})):
        job(shared, f"{name}-a", {key: str(value) for key, value in settings.items()})
        shared.send(f"{name}-a", [f"step: {n} loss: 2.5" + "".join(f" {metric}: {n * each}" for metric, each in metrics.items()) for n in range(1, 21)])
        job(shared, f"{name}-b", Tags=[{"Key": "continues", "Value": f"{name}-a"}])
        shared.send(f"{name}-b", [f"step: {n} loss: 2.0" + "".join(f" {metric}: {n * each}" for metric, each in metrics.items()) for n in range(15, 41)])
        shared.wait_for_points(f"{name}-b", "train:loss", 26)
        consumed = shared.get(f"/api/v1/jobs/{name}-b/tokens").body
        assert consumed["consumed"] == 40 * 4000
        for chain, first in (("true", 1), ("false", 15)):
            points = shared.points(f"{name}-b", "loss", x="tokens", chain=chain)
            assert points["columns"]["x"] == [n * 4000 for n in range(first, 41)]
            assert points["axis"]["inputs"]["tokens"] == consumed["from"]["consumed"] and f"of {name}-a" in consumed["from"]["consumed"]
            flops = shared.points(f"{name}-b", "loss", x="flops", chain=chain)
            assert flops["columns"]["x"] == [n * 4000 * 6e9 for n in range(first, 41)]
        axes = shared.get(f"/api/v1/jobs/{name}-b/metrics").body["axes"]
        assert axes["tokens"] == {"tokens": consumed["from"]["consumed"]} and axes["flops"]["tokens"] == axes["tokens"]["tokens"]


def test_a_later_attempt_that_counts_anew_goes_on(shared):
    """Steps 0 to 20 of 10 tokens, then from 15 again, of 5, by a count that began anew."""
    first = [f"step: {step} loss: 2.5 tokens_seen: {step * 10}" for step in range(21)]
    again = [f"step: {step} loss: 2.0 tokens_seen: {(step - 14) * 5}" for step in range(15, 26)]
    shared.send("attempts", first + again)
    shared.wait_for_points("attempts", "train:loss", 26)
    x = shared.points("attempts", "loss", x="tokens")["columns"]["x"]
    assert x == [step * 10 for step in range(15)] + [140 + (step - 14) * 5 for step in range(15, 26)]


def test_what_is_not_known_is_said_and_not_zero(shared):
    counted(shared, "no-parameters", 10)
    counted(shared, "experts", 10, {"num_layers": "2", "hidden_size": "8", "ffn_hidden_size": "32", "num_attention_heads": "2", "num_experts": "8"})
    job(shared, "no-tokens", {"num_parameters": "1e9"})
    send(shared, "no-tokens", loss={step: 1.0 for step in range(5)})
    no_tokens = "none of its metrics is a count of them that rises"
    no_parameters = "its settings state neither parameters nor the sizes that they follow from, or are those of a mixture of experts or LoRA"
    for name, axis, why in (("no-parameters", "flops", f"the FLOPs of job 'no-parameters' are not known: {no_parameters}"),
                            ("experts", "flops", f"the FLOPs of job 'experts' are not known: {no_parameters}"),
                            ("no-tokens", "tokens", f"job 'no-tokens' counts no tokens: {no_tokens}"),
                            ("no-tokens", "flops", f"job 'no-tokens' counts no tokens: {no_tokens}")):
        for rest in ("", "&raw=true", "&format=csv"):
            reply = shared.get(f"/api/v1/jobs/{name}/points?metric=loss&x={axis}{rest}")
            assert (reply.status, reply.body["field"], reply.body["detail"]) == (404, "x", why), reply
    assert shared.get("/api/v1/jobs/experts/metrics").body["axes"] == {"tokens": {"tokens": "consumed_tokens"}, "flops": {"missing": no_parameters}}
    assert shared.get("/api/v1/jobs/no-tokens/metrics").body["axes"] == {"tokens": {"missing": no_tokens}, "flops": {"missing": no_tokens}}


def test_a_plain_count_of_tokens_is_one_only_where_it_rises_to_its_end(shared):
    job(shared, "plain")
    send(shared, "plain", loss={step: 1.0 for step in range(4)}, tokens={step: step * 7 for step in range(4)})
    assert shared.points("plain", "loss", x="tokens")["columns"]["x"] == [0, 7, 14, 21]
    job(shared, "each")
    send(shared, "each", loss={step: 1.0 for step in range(4)}, tokens=dict(enumerate([512, 600, 512, 512])))
    assert shared.get("/api/v1/jobs/each/points?metric=loss&x=tokens").status == 404
    assert shared.get("/api/v1/jobs/each/tokens").body["consumed"] is None


@pytest.mark.parametrize("query,status,field", [
    ("x=tokens&from=a", 400, "from"), ("x=flops&to=inf", 400, "to"), ("x=token", 400, "x"), ("x=step&from=1.5", 400, "from"),
])
def test_what_is_wrong_is_said(shared, query, status, field):
    if not shared.series("wrong", "loss"):
        counted(shared, "wrong", 1)
    reply = shared.get(f"/api/v1/jobs/wrong/points?metric=loss&{query}")
    assert (reply.status, reply.body["field"]) == (status, field), reply
    assert shared.get("/api/v1/jobs/wrong/heat?metric=loss&x=tokens").status == 400
