"""What is worked out of a job is set right by PATCH: it counts everywhere, says so, is audited, and is taken back by null."""

import json

import pytest

from smserver import wait_until
from test_life import history as history_of
from test_past_ends import GAP_MS, LAST_MS, NODES, PRICE, T0, WANTED, WORK_S, bill, past_log, set_up

BY_HAND = {"start_ms": T0 - 10 * GAP_MS, "end_ms": LAST_MS + 5 * GAP_MS, "nodes": 8, "instance_type": "ml.p5.48xlarge", "price_per_hour": 40.5}
SECONDS = WORK_S + 15 * GAP_MS // 1000  # 10 minutes sooner, 5 later
SET = BY_HAND["end_ms"], SECONDS, SECONDS, SECONDS, round(8 * 40.5 * SECONDS / 3600, 2), round(8 * SECONDS / 3600, 2)


@pytest.fixture
def ended(server):
    set_up(server)
    server.send("j", past_log())
    assert server.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": "Completed"}).status == 204
    wait_until(lambda: bill(server) == WANTED, what="one bill")
    return server


def patch(server, expect=200, **by_hand):
    reply = server.patch("/api/v1/jobs/j", json={"by_hand": by_hand})
    assert reply.status == expect, reply
    return reply.body


def test_all_of_it_counts_says_so_and_goes_back(ended):
    patch(ended, **BY_HAND)
    job = ended.get("/api/v1/jobs/j").body
    assert job["by_hand"] == BY_HAND and (job["TrainingStartTime"], job["TrainingEndTime"]) == (BY_HAND["start_ms"] / 1000, BY_HAND["end_ms"] / 1000)
    assert [job[name] for name in ("start_from", "end_from", "nodes_from", "instance_type_from", "price_from")] == ["by_hand"] * 5
    [row] = ended.get("/api/v1/jobs?q=name%3Dj").body["jobs"]
    assert row["by_hand"] == BY_HAND
    assert job["nodes"] == 8 and job["ResourceConfig"]["InstanceCount"] == NODES  # what the document states stays to be read
    wait_until(lambda: bill(ended) == SET, what=f"the bill {SET}")
    ended.send("j", past_log()[-2:], stream="algo-2")  # whatever is learned later leaves it so
    ended.restart()
    wait_until(lambda: bill(ended) == SET, what="the bill after a restart")
    assert ended.patch("/api/v1/jobs/j", json={"by_hand": None}).status == 200
    wait_until(lambda: bill(ended) == WANTED, what="what was worked out")
    assert ended.get("/api/v1/jobs/j").body["end_from"] == "assumed" and "by_hand" not in ended.get("/api/v1/jobs/j").body
    assert "by_hand" not in ended.get("/api/v1/jobs?q=name%3Dj").body["jobs"][0]


def test_one_is_changed_beside_others_and_audited(ended):
    patch(ended, nodes=8, price_per_hour=2)
    patch(ended, nodes=6, price_per_hour=None)
    assert ended.get("/api/v1/jobs/j").body["by_hand"] == {"nodes": 6}
    cost = round(6 * PRICE * WORK_S / 3600, 2)
    wait_until(lambda: bill(ended)[4] == cost, what=f"a cost of {cost}")
    entries = [json.dumps(row) for row in ended.get("/api/v1/audit").body["entries"]]
    assert any("by_hand" in row and "8" in row and "6" in row for row in entries), entries[:3]


def test_what_cannot_be_is_refused_and_changes_nothing(ended):
    for bad in ({"nodes": 0}, {"nodes": 1.5}, {"end_ms": "soon"}, {"price_per_hour": -1}, {"instance_type": ""}, {"host": 5},
                {"start_ms": LAST_MS + GAP_MS}, {"end_ms": T0 - GAP_MS}):
        assert "by_hand" in patch(ended, expect=422, **bad)["field"]
    ended.send("live", ["step: 1 loss: 2.5"])
    reply = ended.patch("/api/v1/jobs/live", json={"by_hand": {"end_ms": LAST_MS}})
    assert reply.status == 422 and reply.body["field"] == "by_hand.end_ms"
    assert bill(ended)[:4] == WANTED[:4] and "by_hand" not in ended.get("/api/v1/jobs/j").body


def test_a_start_that_was_stated_wrongly_is_set_right_everywhere(ended):
    """Of 2016: nearly ten years are billed until somebody says when it began."""
    wrong_ms = 1_460_000_000_000
    for ms in (wrong_ms, T0):  # the first of a run of one status is when it began: stated again, it stays
        assert ended.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": "Training", "time_ms": ms}).status in (200, 204)

    def longest():
        [row] = [row for row in ended.get("/api/v1/quotas").body["quotas"] if row["quota"] == "longest_run_seconds"]
        return row["used"], row["highest"]
    years_s = (LAST_MS - wrong_ms) // 1000
    wait_until(lambda: bill(ended)[1:3] == (years_s, years_s), what="the wrong bill")
    assert longest() == (0, years_s)
    patch(ended, start_ms=T0)
    wait_until(lambda: bill(ended) == WANTED, what=f"the bill {WANTED}")
    assert longest() == (0, WORK_S)
    assert history_of(ended)[-2:] == [("Training", T0), ("Completed", LAST_MS)]

    def summed():
        [group] = ended.get("/api/v1/aggregate?q=name%3Dj&of=count,sum:billable,sum:duration,sum:node_hours,sum:cost").body["groups"]
        return [round(group[name], 2) for name in ("count", "sum:billable", "sum:duration", "sum:node_hours", "sum:cost")]
    wait_until(lambda: summed() == [1, WORK_S, WORK_S, WANTED[5], WANTED[4]], what="the sums")  # of costs as they were worked out last
