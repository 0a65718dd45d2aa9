"""What the door of MLflow's clients reads of many runs at once, without them: searches, pages, a metric of several runs."""

import pytest

from mlflowclient import call, make_run
from smserver import Server
from test_mlflow_door import T0, found, log, metric, shared  # noqa: F401 (one is a fixture)


# ---- searches ----

@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("mlflow_search")).start()
    for n in range(4):
        run_id = make_run(server, run_name=f"run {n}", start_time=T0 + n, user_id="ann" if n < 2 else "bob")
        metrics = [metric("loss", n / 2, n)] if n else []
        assert log(server, run_id, metrics=metrics, params=[{"key": "batch size", "value": str(8 * n)}],
            tags=[{"key": "kind", "value": "Even" if n % 2 == 0 else "odd"}])[0] == 200
    assert call(server, "runs/update", {"run_id": run_id, "status": "FAILED"})[0] == 200
    yield server
    server.close()


@pytest.mark.parametrize("text, runs", [
    ("", "3210"),
    ("metrics.loss < 1.5", "21"),
    ("metrics.loss <= 1.5 AND metric.loss > 0.5", "32"),
    ("metrics.loss != 1", "31"),
    ("metrics.`loss` = 1e0", "2"),
    ("params.\"batch size\" = '8'", "1"),
    ("params.`batch size` != '8'", "320"),
    ("params.`batch size` LIKE '%6'", "2"),
    ("tags.kind = 'even'", ""),
    ("tags.kind ILIKE 'e_en'", "20"),
    ("tags.kind LIKE 'o%d' and attributes.status = 'RUNNING'", "1"),
    ("attributes.status != 'RUNNING'", "3"),
    ("status = \"FAILED\"", "3"),
    ("run_name IN ('run 0', 'run 3')", "30"),
    ("attributes.run_name NOT IN ('run 0', 'run 3')", "21"),
    ("user_id = 'ann'", "10"),
    ("attributes.artifact_uri LIKE '%artifacts%'", "3210"),
    ("artifact_uri = 's3://nowhere'", ""),
    (f"attributes.start_time >= {T0 + 2}", "32"),
    ("end_time > 0", "3"),
    ("metrics.loss IS NULL", "0"),
    ("params.nothing IS NOT NULL", ""),
])
def test_filters(searched, text, runs):
    assert found(searched, text) == runs


@pytest.mark.parametrize("orders, runs", [
    (["metrics.loss"], "1230"),
    (["metrics.loss DESC"], "3210"),
    (["tags.kind ASC", "start_time ASC"], "0213"),
    (["attributes.user_id DESC", "metrics.loss"], "2310"),
    (["params.`batch size` desc"], "1320"),
])
def test_orders(searched, orders, runs):
    assert found(searched, "", order_by=orders) == runs


@pytest.mark.parametrize("text", ["metrics.loss <", "loss < 3", "metrics.loss < 'x'", "tags.kind > 'a'", "metrics.loss < 3 OR metrics.loss > 5",
    "params.x = 1", "nothing.x = '1'", "tags.kind = 'a", "metrics.loss LIKE '1'", "attributes.size = '1'", "run_id IN ()", "AND", "metrics.a < 1 AND"])
def test_filters_that_are_not_understood(searched, text):
    status, said = call(searched, "runs/search", {"experiment_ids": ["0"], "filter": text})
    assert (status, said["error_code"]) == (400, "INVALID_PARAMETER_VALUE"), text


def test_pages(searched):
    names, token = "", {}
    while True:
        body = call(searched, "runs/search", {"experiment_ids": ["0", "77", "0"], "max_results": 3, **token})[1]
        names += "".join(run["info"]["run_name"][-1] for run in body["runs"])
        if "next_page_token" not in body:
            break
        token = {"page_token": body["next_page_token"]}
    assert names == "3210"
    assert call(searched, "runs/search", {"experiment_ids": ["0"], "run_view_type": "DELETED_ONLY"})[1] == {"runs": []}
    for token in ("x", "-1"):
        assert call(searched, "runs/search", {"experiment_ids": ["0"], "page_token": token})[0] == 400


def test_pages_of_a_history_and_of_experiments(server):
    run_id = make_run(server)
    for first in range(0, 5000, 1000):
        assert log(server, run_id, metrics=[metric("m", n, n + 1, T0 + n) for n in range(first, first + 1000)])[0] == 200
    steps, token = [], ""
    while True:
        body = call(server, f"metrics/get-history?run_id={run_id}&metric_key=m&max_results=1999{token}")[1]
        steps += [row["step"] for row in body["metrics"]]
        if "next_page_token" not in body:
            break
        token = f"&page_token={body['next_page_token']}"
    assert steps == list(range(1, 5001))
    assert call(server, f"metrics/get-history?run_id={run_id}&metric_key=none")[1] == {"metrics": []}
    assert call(server, f"metrics/get-history?run_id={make_run(server)}&metric_key=m")[1] == {"metrics": []}
    for n in range(3):
        assert call(server, "experiments/create", {"name": f"e{n}"})[0] == 200
    names, token = [], {}
    while True:
        body = call(server, "experiments/search", {"max_results": 2, **token})[1]
        names += [row["name"] for row in body["experiments"]]
        if "next_page_token" not in body:
            break
        token = {"page_token": body["next_page_token"]}
    assert names == ["e2", "e1", "e0", "Default"]


# ---- a metric of several runs ----

def interval(server, run_ids, **query):
    path = "&".join([f"run_ids={run_id}" for run_id in run_ids] + [f"{name}={value}" for name, value in query.items()])
    return call(server, f"metrics/get-history-bulk-interval?{path}")


def test_some_points_stand_for_all_of_each_run(server):
    long, short, none = (make_run(server) for _ in range(3))
    for first in range(0, 4000, 1000):
        assert log(server, long, metrics=[metric("m", n, n + 1, T0 + n) for n in range(first, first + 1000)])[0] == 200
    # a process that came behind the others: in order of steps nevertheless
    assert log(server, short, metrics=[metric("m", 0.5, 30), metric("m", "NaN", 10), metric("m", 2.5, 20), metric("other", 1.0, 1)])[0] == 200
    status, body = interval(server, [long, none, short], metric_key="m", max_results=5)
    assert status == 200, body
    rows = [(row["run_id"], row["key"], row["step"], row["value"]) for row in body["metrics"]]
    # five of 4000 with both ends: places 0, 999.75, 1999.5, 2999.25, 3999
    assert rows == [(long, "m", step, step - 1) for step in (1, 1001, 2001, 3000, 4000)] + [
        (short, "m", 10, "NaN"), (short, "m", 20, 2.5), (short, "m", 30, 0.5)]
    assert body["metrics"][1]["timestamp"] == T0 + 1000
    for query, steps in [({"max_results": 1}, [4000]), ({"start_step": 7, "end_step": 9}, [7, 8, 9]),
            ({"start_step": 11, "end_step": 20, "max_results": 2}, [11, 20]), ({"start_step": 5000, "end_step": 6000}, []),
            ({"start_step": -5, "end_step": 1}, [1]), ({"start_step": 4000, "end_step": 4000}, [4000])]:
        assert [row["step"] for row in interval(server, [long], metric_key="m", **query)[1]["metrics"]] == steps, query
    # all of them, where nothing else is said: 2500 a run
    steps = [row["step"] for row in interval(server, [long], metric_key="m")[1]["metrics"]]
    assert (len(steps), steps[0], steps[-1], steps == sorted(set(steps))) == (2500, 1, 4000, True)


def test_all_points_of_several_runs(server):
    runs = sorted((make_run(server), make_run(server)))
    for number, run_id in enumerate(runs):
        assert log(server, run_id, metrics=[metric("m", n, n + 1, T0 + number) for n in range(3)])[0] == 200
    bulk = f"metrics/get-history-bulk?run_id={runs[1]}&run_id={runs[0]}&metric_key=m"
    expected = [{"key": "m", "value": n, "timestamp": T0 + number, "step": n + 1, "run_id": run_id}
        for number, run_id in enumerate(runs) for n in range(3)]
    assert call(server, bulk) == (200, {"metrics": expected})
    assert call(server, f"{bulk}&max_results=4") == (200, {"metrics": expected[:4]})


def test_how_much_several_runs_may_be(shared):
    run_id = make_run(shared)
    key = "k" * 250
    for first in range(0, 3000, 1000):
        assert log(shared, run_id, metrics=[metric(key, n, n + 1) for n in range(first, first + 1000)])[0] == 200
    assert interval(shared, [run_id] * 100, metric_key="none")[0] == 200
    assert call(shared, "metrics/get-history-bulk?metric_key=none" + f"&run_id={run_id}" * 100)[0] == 200
    assert len(interval(shared, [run_id], metric_key=key, max_results=2500)[1]["metrics"]) == 2500
    for said, part in [(interval(shared, [run_id] * 101, metric_key="m"), "at most 100 'run_ids'; this has 101"),
            (call(shared, "metrics/get-history-bulk?metric_key=m" + f"&run_id={run_id}" * 101), "at most 100 'run_id'; this has 101"),
            (interval(shared, [run_id], metric_key="m", max_results=2501), "from 1 to 2500"),
            (interval(shared, [run_id], metric_key="m", max_results=0), "from 1 to 2500"),
            (interval(shared, [], metric_key="m"), "'run_ids'"), (interval(shared, [run_id]), "'metric_key'"),
            (interval(shared, [run_id], metric_key="m", start_step=3), "'end_step' is missing"),
            (interval(shared, [run_id], metric_key="m", end_step=3), "'start_step' is missing"),
            (interval(shared, [run_id], metric_key="m", start_step=3, end_step=2), "'start_step' (3) is behind 'end_step' (2)"),
            (interval(shared, [run_id], metric_key="m", start_step="x", end_step=2), "'start_step'")]:
        assert (said[0], said[1]["error_code"]) == (400, "INVALID_PARAMETER_VALUE") and part in said[1]["message"], said
    # 2500 points of that name are 0.9 MB: what goes beyond 16 MiB is refused, and not cut off
    status, said = interval(shared, [run_id] * 40, metric_key=key)
    assert (status, said["error_code"]) == (400, "RESOURCE_LIMIT_EXCEEDED") and "'max_results'" in said["message"], said
    assert interval(shared, [run_id] * 40, metric_key=key, max_results=1000)[0] == 200
    assert interval(shared, [run_id, "0" * 32], metric_key="m")[0] == 404


def test_the_time_of_several_runs_is_bounded(make_server):
    server = make_server("--job-search-ms", "1")
    run_id = make_run(server)
    for first in range(0, 5000, 1000):
        assert log(server, run_id, metrics=[metric("m", n, n + 1) for n in range(first, first + 1000)])[0] == 200
    status, said = interval(server, [run_id] * 100, metric_key="m")
    assert (status, said["error_code"]) == (400, "RESOURCE_LIMIT_EXCEEDED") and "--job-search-ms" in said["message"], said
