"""The list of a job's attempts: what its statuses tell of and what its log shows, each once; and as many as are counted."""

from smserver import quote, wait_until
from test_life import MINUTE_MS, T0, announce, line, state


def steps(first_ms, first, count):
    """One a minute; the next time, too."""
    return [line(first_ms + n * MINUTE_MS, f"step: {first + n} loss: 2.5") for n in range(count)], first_ms + count * MINUTE_MS


def attempts(server, name="j"):
    job = server.get(f"/api/v1/jobs/{name}").body
    rows = job["attempt_list"]
    assert job["attempts"] == len(rows) and [row["attempt"] for row in rows] == list(range(1, len(rows) + 1))
    assert [row.get("end_ms") for row in rows[:-1]] == [row["start_ms"] for row in rows[1:]]
    return [(row["start_ms"], row.get("reason"), row.get("message")) for row in rows]


def wait_for(server, wanted):
    wait_until(lambda: attempts(server) == wanted, what=f"the attempts {wanted}")
    found = lambda: [row["TrainingJobName"] for row in server.get(f"/api/v1/jobs?q={quote(f'attempts={len(wanted)}')}").body["jobs"]]
    wait_until(lambda: found() == ["j"], what="the job by its number of attempts")


def test_a_restart_that_shows_in_the_log_alone_is_one_of_the_list(server):
    first, then_ms = steps(T0, 0, 10)
    again_ms = then_ms + 5 * MINUTE_MS
    again, _ = steps(again_ms, 3, 12)
    server.send("j", first + again)
    wait_for(server, [(T0, None, None), (again_ms, "log", "step 3 after step 9")])


def test_what_both_tell_of_is_one_and_what_one_does_is_one_more(server):
    announce(server)
    state(server, "Training", time_ms=T0)
    first, then_ms = steps(T0, 0, 10)
    state(server, "Interrupted", time_ms=then_ms, StatusMessage="spot")
    state(server, "Training", time_ms=then_ms + 5 * MINUTE_MS)
    second, third_ms = steps(then_ms + 6 * MINUTE_MS, 5, 10)
    third, end_ms = steps(third_ms + MINUTE_MS, 8, 10)
    server.send("j", first + second + third)
    created = server.get("/api/v1/jobs/j").body["attempt_list"][0]["start_ms"]
    assert created == T0
    wait_for(server, [(T0, None, None), (then_ms, "Interrupted", "spot"), (third_ms + MINUTE_MS, "log", "step 8 after step 14")])
    state(server, "Completed", time_ms=end_ms)
    assert server.get("/api/v1/jobs/j").body["attempt_list"][-1]["end_ms"] == end_ms


def test_an_end_set_by_hand_before_a_restart_leaves_one_attempt(server):
    """By the statuses, by the log, and by both of them."""
    announce(server)
    state(server, "Training", time_ms=T0)
    first, then_ms = steps(T0, 0, 10)
    second, third_ms = steps(then_ms + 6 * MINUTE_MS, 5, 10)
    third, end_ms = steps(third_ms + MINUTE_MS, 8, 10)
    server.send("j", first + second + third)
    state(server, "Interrupted", time_ms=then_ms, StatusMessage="spot")
    state(server, "Training", time_ms=then_ms + 5 * MINUTE_MS)
    state(server, "Completed", time_ms=end_ms)
    told, logged = (then_ms, "Interrupted", "spot"), (third_ms + MINUTE_MS, "log", "step 8 after step 14")
    wait_for(server, [(T0, None, None), told, logged])
    for ended_ms, left in ((then_ms - MINUTE_MS, []), (then_ms + 3 * MINUTE_MS, [told]), (third_ms, [told]), (None, [told, logged])):
        assert server.patch("/api/v1/jobs/j", json={"by_hand": {"end_ms": ended_ms}}).status == 200
        assert attempts(server) == [(T0, None, None), *left]
        assert server.get("/api/v1/jobs/j").body["attempt_list"][-1]["end_ms"] == (ended_ms or end_ms)


def test_searches_count_no_attempt_behind_an_end_set_by_hand(server):
    announce(server)
    for status, minute in (("Training", 0), ("Interrupted", 10), ("Training", 15), ("Completed", 30)):
        state(server, status, time_ms=T0 + minute * MINUTE_MS)
    wait_for(server, [(T0, None, None), (T0 + 10 * MINUTE_MS, "Interrupted", "")])
    assert server.patch("/api/v1/jobs/j", json={"by_hand": {"end_ms": T0 + 5 * MINUTE_MS}}).status == 200
    wait_for(server, [(T0, None, None)])
