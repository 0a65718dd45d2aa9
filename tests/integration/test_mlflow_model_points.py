"""Points of a run that come again with the id of a model, without MLflow's client."""

from fixtures import shared_server as server  # noqa: F401
from mlflowclient import call, history, make_run

T0 = 1_790_000_000_000


def metric(key, value, step=0, timestamp=T0):
    return {"key": key, "value": value, "step": step, "timestamp": timestamp}


def log(server, run_id, **members):
    return call(server, "runs/log-batch", {"run_id": run_id, **members})


def test_what_a_model_names_again_is_there_once(server):
    """MLflow 3 logs those points of a run once more that are of its model's step, with the model's id. Others of the request are new."""
    run_id = make_run(server, run_name="of-a-model")
    first, second = metric("loss", 3.5), metric("loss", 2.5, 1, T0 + 1000)
    assert log(server, run_id, metrics=[first, metric("bad", "NaN")]) == (200, {})
    assert log(server, run_id, metrics=[second]) == (200, {})
    assert len(history(server, run_id, "loss")) == 2
    named = [{**row, "model_id": "m-1"} for row in (
        first, second, metric("bad", "NaN"), metric("loss", 3.25), metric("loss", 3.5, 0, T0 + 1), metric("loss", 2.5, 2, T0 + 1000), metric("new", 1.0))]
    for _ in range(2):
        assert log(server, run_id, metrics=named) == (200, {})
    assert [point[:2] for point in history(server, run_id, "loss")] == [(0, 3.5), (1, 2.5), (0, 3.25), (0, 3.5), (2, 2.5)]  # a 0 behind other steps is step 0
    assert [point[:2] for point in history(server, run_id, "bad")] == [(0, "NaN")]
    assert [point[:2] for point in history(server, run_id, "new")] == [(0, 1)]
    assert log(server, run_id, metrics=[{**first, "model_id": "m-2"}]) == (200, {}), "nothing is left of it"
    assert len(history(server, run_id, "loss")) == 5
    many = [metric("many", 1.0, step, T0 + step) for step in range(3000)]
    for part in range(0, 3000, 1000):
        assert log(server, run_id, metrics=many[part:part + 1000]) == (200, {})
    assert len(history(server, run_id, "many")) == 3000
    assert log(server, run_id, metrics=[{**row, "model_id": "m-1"} for row in many[:1000]]) == (200, {})
    assert len(history(server, run_id, "many")) == 3000
