"""Steps that go back by a few: what was made twice is lost once, and is productive once, whoever tells of it."""

import datetime
import time

import pytest

from smserver import wait_until

STEP_S = 60
LAST = 32  # the last step before the work breaks off
TO = 40  # the last one of all


@pytest.fixture
def quick(make_server):
    return make_server("--goodput-every", "100ms")


class Run:
    def __init__(self, server, job="j"):
        self.server, self.job, self.at_s = server, job, int(time.time()) // 60 * 60 - 300 * 60
        assert server.post("/api/v1/jobs", json={"TrainingJobName": job}).status == 201
        self.state("Training", 0)

    def state(self, status, after_s):
        change = {"SecondaryStatus": status, "time_ms": (self.at_s + after_s) * 1000}
        assert self.server.post(f"/api/v1/jobs/{self.job}/transitions", json=change).status == 204

    def print(self, *steps):
        """Of (step, seconds after the beginning)."""
        def stamp(after_s):
            return datetime.datetime.fromtimestamp(self.at_s + after_s, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        text = "".join(f"{stamp(after_s)} step {step} loss: 2.5\n" for step, after_s in steps)
        assert self.server.post(f"/api/v1/logs?job={self.job}&stream=algo-1", text.encode(), content_type="text/plain").status == 200

    def say(self, after_s, text):
        stamp = datetime.datetime.fromtimestamp(self.at_s + after_s, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        assert self.server.post(f"/api/v1/logs?job={self.job}&stream=algo-1", f"{stamp} {text}\n".encode(), content_type="text/plain").status == 200

    def train(self, first, last, at_s):
        """Steps first..last, the first of which is made STEP_S after at_s; when the last one is."""
        self.print(*((step, at_s + (step - first + 1) * STEP_S) for step in range(first, last + 1)))
        return at_s + (last - first + 1) * STEP_S

    def end(self, after_s):
        self.state("Completed", after_s)

    def goodput(self):
        return self.server.get(f"/api/v1/jobs/{self.job}/goodput").body

    def seconds(self):
        return {name: bucket["seconds"] for name, bucket in self.goodput()["buckets"].items() if bucket["seconds"]}

    def comes_to(self, **buckets):
        wanted = {name: seconds for name, seconds in buckets.items() if seconds}
        wait_until(lambda: self.seconds() == wanted, what=f"{wanted}; it is {self.seconds()}")


def breaks(run):
    return [(row.get("step"), row["from_step"], row["lost_steps"], row["redone_seconds"]) for row in run.goodput()["breaks"]]


def attempts(run):
    return run.server.get(f"/api/v1/jobs/{run.job}").body["attempts"]


@pytest.mark.parametrize("back", [31, 30, 28])
@pytest.mark.parametrize("is_stated", [False, True])
def test_a_short_step_back_behind_a_pause_is_a_restart(quick, back, is_stated):
    run, pause_s, stopped_s, idle_s = Run(quick), 8 * STEP_S, 6 * STEP_S, 9 * STEP_S
    broken_s = run.train(1, LAST, 0)
    if is_stated:
        run.state("Stopped", broken_s + STEP_S)
        run.state("Training", broken_s + STEP_S + stopped_s)
    end_s = run.train(back, TO, broken_s + pause_s) + idle_s
    run.end(end_s)
    lost = LAST - back + 1
    away_s = stopped_s if is_stated else 0  # what it was stopped for is idle, the rest of the pause a restart
    run.comes_to(productive=TO * STEP_S, redone=lost * STEP_S, restart=pause_s - away_s, idle=idle_s + away_s)
    assert breaks(run) == [(LAST, back - 1, lost, lost * STEP_S)]
    assert attempts(run) == 2 and run.goodput()["steps"]["made"] == TO


@pytest.mark.parametrize("back", [32, 31, 28])
def test_a_stated_restart_makes_any_step_back_one(quick, back):
    """So fast that the log shows no pause; what was printed last is made again, too."""
    run, restarting_s, idle_s = Run(quick), 20, 120
    broken_s = run.train(1, LAST, 0)
    run.state("Restarting", broken_s + 10)
    run.state("Training", broken_s + 10 + restarting_s)
    end_s = run.train(back, TO, broken_s) + idle_s
    run.end(end_s)
    lost = LAST - back + 1
    run.comes_to(productive=TO * STEP_S - restarting_s, redone=lost * STEP_S, restart=restarting_s, idle=idle_s)
    assert breaks(run) == [(LAST, back - 1, lost, lost * STEP_S)]
    assert attempts(run) == 2


def test_without_a_pause_or_a_word_no_step_is_productive_twice(quick):
    """It may be another rank that is late: no restart. 30, 31 and 32 were printed again, a step's time each."""
    run = Run(quick)
    again_s = run.train(1, LAST, 0)
    end_s = run.train(LAST - 2, TO, again_s)
    run.end(end_s + 10)
    run.comes_to(productive=TO * STEP_S, stalled=3 * STEP_S, idle=10)
    assert breaks(run) == [] and attempts(run) == 1


def test_ranks_that_print_out_of_step_are_one_attempt_of_one_pace(quick):
    """Into one stream: the second one prints a step 20 seconds after the first one has printed the next."""
    run = Run(quick)
    printed = [(1, STEP_S)]
    for step in range(2, TO + 1):
        printed += [(step, step * STEP_S), (step - 1, step * STEP_S + 20)]
    run.print(*printed[:-1])  # what falls back is undecided until one goes on
    run.end(TO * STEP_S + 30)
    run.comes_to(productive=TO * STEP_S, idle=30)
    assert breaks(run) == [] and attempts(run) == 1
    assert run.goodput()["steps"]["step_seconds"] == STEP_S


def test_an_evaluation_with_steps_of_its_own_is_no_restart(quick):
    """Three of them behind a pause, by the same words: what comes then goes on from where the training was."""
    run, evaluation_s = Run(quick), 5 * STEP_S
    at_s = run.train(1, LAST, 0)
    run.print(*((step, at_s + evaluation_s + step) for step in range(1, 4)))
    end_s = run.train(LAST + 1, TO, at_s + evaluation_s + 3)
    run.end(end_s + 30)
    wait_until(lambda: run.goodput()["steps"]["made"] == TO, what="all steps")
    wait_until(lambda: attempts(run) == 1, what="one attempt")
    run.comes_to(productive=TO * STEP_S, stalled=evaluation_s + 3, idle=30)
    assert breaks(run) == []
