"""
A training of 1.5 billion tokens that is two jobs. The first fails at step 2000 and leaves Megatron-LM's log, which is imported; the second goes on from the
checkpoint at step 1800, faster, and runs. How many tokens are through, until when the rest takes and what it costs is worked out here.
"""

import datetime
import time

import pytest

from smserver import wait_until

BATCH, LENGTH, BUDGET, PRINTED = 64, 4096, 1_500_000_000, 10
STEP_TOKENS = BATCH * LENGTH  # 262144: the budget is reached in step 5723
TYPE, PER_HOUR, NODES = "ml.tokens.24xlarge", 30, 4
FIRST_STEP_S, SECOND_STEP_S, FAILED, SAVED, HEARD = 10, 8, 2000, 1800, 2600
SETTINGS = {"train_tokens": "1.5B", "global_batch_size": BATCH, "seq_length": LENGTH}
BEGUN_S = int(time.time()) // 60 * 60 - 86400


def stamp(at_s):
    return datetime.datetime.fromtimestamp(at_s, datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S")


def iteration(step, at_s):
    return (f" [{stamp(at_s)}] iteration {step:8d}/   20000 | consumed samples: {step * BATCH:12d} | elapsed time per iteration (ms): 8000.0 | learning rate: "
            f"3.000000E-04 | global batch size: {BATCH:5d} | lm loss: {1.9 + 8 / (1 + step / 150):.6E} | loss scale: 1.0 | grad norm: 0.700 |")


def iterations(first, last, before_first_s, step_s):
    """The first of them ends step_s behind before_first_s."""
    return [iteration(step, before_first_s + (step - first + 1) * step_s) for step in range(first, last + 1) if step % PRINTED == 0]


def first_log():
    yield f" [{stamp(BEGUN_S)}] building the model"
    yield "------------------------ arguments ------------------------"
    for key, value in SETTINGS.items():
        yield f"  {key + ' ':.<48} {value}"
    yield "-------------------- end of arguments ---------------------"
    for line in iterations(1, FAILED, BEGUN_S, FIRST_STEP_S):
        yield line
        if f"iteration {SAVED:8d}/" in line:
            yield f"  successfully saved checkpoint from iteration {SAVED:7d} to /fsx/tokens"


def tokens(server, job):
    return server.get(f"/api/v1/jobs/{job}/tokens").body


def announce(server, job, **more):
    resources = {"InstanceType": TYPE, "InstanceCount": NODES, "VolumeSizeInGB": 50}
    assert server.post("/api/v1/jobs", json={"TrainingJobName": job, "ResourceConfig": resources, **more}).status == 201


def state(server, job, status, at_s, **more):
    reply = server.post(f"/api/v1/jobs/{job}/transitions", json={"SecondaryStatus": status, "time_ms": at_s * 1000, **more})
    assert reply.status == 204, reply


def test_a_budget_along_a_chain(server, ship, tmp_path):
    prices = {"currency": "EUR", "prices": [{"instance": TYPE, "per_hour": PER_HOUR}]}
    assert server.put("/api/v1/prices", json=prices).status == 200
    path = tmp_path / "tokens-1.log"
    path.write_text("\n".join(first_log()) + "\n")
    announce(server, "tokens-1")
    state(server, "tokens-1", "Training", BEGUN_S)
    failed_s = BEGUN_S + FAILED * FIRST_STEP_S
    state(server, "tokens-1", "Failed", failed_s, FailureReason="InternalServerError: hardware failure")
    done = ship.run("--job", "tokens-1", "--stream", "algo-1", "--import", str(path))
    assert done.returncode == 0, done
    server.wait_for_points("tokens-1", "train:loss", FAILED // PRINTED)
    found = wait_until(lambda: (one := tokens(server, "tokens-1"))["budget"] and one, what="the settings that the log prints")
    assert (found["budget"], found["consumed"], found["not_understood"]) == (BUDGET, FAILED * STEP_TOKENS, [])
    assert found["per_day"] == pytest.approx(STEP_TOKENS / FIRST_STEP_S * 86400)
    assert (found["eta_ms"], found["eta_cost"]) == (None, None)  # it has ended

    # Of the second nobody states a setting, and its log prints none.
    again_s = failed_s + 1200
    announce(server, "tokens-2", Tags=[{"Key": "continues", "Value": "tokens-1"}])
    state(server, "tokens-2", "Training", again_s)
    server.send("tokens-2", [f" [{stamp(again_s)}] loading checkpoint from /fsx/tokens at iteration {SAVED}"] +
        iterations(SAVED + 1, HEARD, again_s, SECOND_STEP_S))
    server.wait_for_points("tokens-2", "train:loss", (HEARD - SAVED) // PRINTED)
    found = wait_until(lambda: (one := tokens(server, "tokens-2"))["eta_cost"] is not None and one, what="what its hours cost")
    heard_s = again_s + (HEARD - SAVED) * SECOND_STEP_S
    left_s = (BUDGET - HEARD * STEP_TOKENS) / STEP_TOKENS * SECOND_STEP_S
    assert (found["budget"], found["consumed"]) == (BUDGET, HEARD * STEP_TOKENS)  # what was made again counts once
    assert found["per_day"] == pytest.approx(STEP_TOKENS / SECOND_STEP_S * 86400)
    assert found["eta_ms"] == pytest.approx((heard_s + left_s) * 1000, abs=1)
    assert (found["currency"], found["eta_cost"]) == ("EUR", pytest.approx(left_s / 3600 * NODES * PER_HOUR, rel=1e-3))
    assert found["from"]["budget"].startswith("train_tokens") and found["from"]["budget"].endswith("of tokens-1")
    assert "consumed_samples" in found["from"]["consumed"] and "of tokens-1" in found["from"]["consumed"]

    # It is through: in step 5723, of which the tenth behind it is printed.
    last = 5730
    ended_s = again_s + (last - SAVED) * SECOND_STEP_S
    server.send("tokens-2", iterations(HEARD + 1, last, heard_s, SECOND_STEP_S))
    state(server, "tokens-2", "Completed", ended_s)
    server.wait_for_points("tokens-2", "train:loss", (last - SAVED) // PRINTED)
    found = tokens(server, "tokens-2")
    assert (found["consumed"], found["eta_ms"], found["eta_cost"]) == (last * STEP_TOKENS, None, None)

    # Both were billed from their Training to their end; what the first lost by breaking off was 200 steps.
    def is_paid():
        run = server.get("/api/v1/jobs/tokens-1/run").body["goodput"]
        hours = ((failed_s - BEGUN_S) + (ended_s - again_s)) / 3600 * NODES
        assert (run["cost"], run["lost_steps"]) == (pytest.approx(hours * PER_HOUR, rel=1e-6), FAILED - SAVED)
        return True
    wait_until(is_paid, what="the cost of both")
    cost = server.get("/api/v1/jobs/tokens-2/goodput").body["cost"]
    made = (last - SAVED) * STEP_TOKENS / 1e6
    assert cost["per_million_tokens"] == pytest.approx(cost["total"] / made, rel=1e-6)
