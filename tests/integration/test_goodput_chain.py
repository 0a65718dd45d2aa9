"""What a job's end has lost once another job goes on: the steps made again and the time until the next step, in every sum, and once."""

import time

import pytest

from smserver import wait_until
from test_auth import make_token
from test_goodput import DAY0_S, HOUR_S, Script, goodput, put_prices, quick  # noqa: F401 quick is a fixture

FLEET, PRICE = "/api/v1/goodput?from=2026-03-02&to=2026-03-03", 36
LOST = ("redone", "restart", "stalled")
BREAK_KEYS = ("cause", "step", "from_step", "went_on_in", "lost_steps", "redone_seconds", "restart_seconds", "repair_seconds", "node_hours")


def four(nodes=4):
    """A job fails; the next one fails before it has made a step; the third goes on, and stops; the fourth goes on from further back."""
    first = Script("nlp-1", DAY0_S, nodes)
    first.begin(launch_s=240, data_s=60, first_step_s=120)  # its first step was printed at 520 s
    first.train(160)  # the last one at 420 + 1600 = 2020 s
    first.spend("stalled", 300)
    first.end(uploading_s=0, status="Failed", FailureReason="AlgorithmError: out of memory")  # 2320
    second = Script("nlp-2", first.t + 180, nodes, step=160, continues="nlp-1")  # 2500
    second.begin(launch_s=100, data_s=0, first_step_s=400)
    second.end(uploading_s=0, status="Failed", FailureReason="InternalServerError: hardware")  # 3000
    third = Script("nlp-3", second.t + 500, nodes, step=120, continues="nlp-2")  # 3500: from step 120, so 40 were lost
    third.begin(launch_s=100, data_s=0, first_step_s=200)  # 3800 + ten steps: its first one was printed at 3900
    third.train(80)  # 200; the last one at 4600
    third.end(uploading_s=0, status="Stopped")
    fourth = Script("nlp-4", third.t + 400, nodes // 2, step=100, continues="nlp-3")  # 5000: further back than the third began
    fourth.begin(launch_s=100, data_s=0, first_step_s=300)  # 5400
    fourth.train(200)
    fourth.end()
    return first, second, third, fourth


def settled(server, job):
    found = goodput(server, job)
    return [{key: one[key] for key in BREAK_KEYS if key in one} for one in found["breaks"]], found["steps"].get("lost")


def wait_for(found, wanted):
    def is_so():
        assert found() == wanted
        return True
    wait_until(is_so, what=str(wanted))


def spent(body):
    return {name: pytest.approx(bucket["node_hours"]) for name, bucket in body["buckets"].items() if bucket["node_hours"]}


def test_what_a_chain_of_jobs_lost_is_the_same_in_each_sum(quick):
    put_prices(quick, {"instance": "ml.p5.48xlarge", "per_hour": PRICE})
    jobs = first, second, third, fourth = four()
    for job in (first, third, fourth):
        job.tell(quick)
    tell_silent(quick, second)

    # By hand. Steps beyond 100 of the first, and all of the third: 60 and 80 of ten seconds. Time until work went on, without that step's
    # own 100 s: of the first from 2020 to 3800, of which the second's failure took from 3000 on; of the third from 4600 to 5400.
    def of(cause, step, from_step, into, lost_steps, redone_s, restart_s, repair_s, nodes=4):
        numbers = {"from_step": from_step, "went_on_in": into, "lost_steps": lost_steps, "redone_seconds": redone_s,
            "restart_seconds": restart_s, "repair_seconds": repair_s, "node_hours": pytest.approx((redone_s + restart_s) * nodes / HOUR_S)}
        return {"cause": cause, **({"step": step} if step else {}), **numbers}
    wanted = {"nlp-1": [of("AlgorithmError", 160, 100, "nlp-2", 60, 600, 980, 3900 - 2020)],
        "nlp-2": [of("InternalServerError", None, 100, "nlp-3", None, 0, 800, 3900 - 3000)],
        "nlp-3": [of("unknown", 200, 100, "nlp-4", 80, 800, 800, 5500 - 4600)], "nlp-4": []}
    for name, breaks in wanted.items():
        wait_until(lambda: settled(quick, name)[0] == breaks, what=f"{name}: {breaks}, not {settled(quick, name)}")
    assert [settled(quick, job.name)[1] for job in jobs] == [60, None, 80, 0]

    # The fleet: all that the jobs' own clocks say, with 1400 s of 4 nodes moved from productive to redone.
    books = {}
    for job in jobs:
        for bucket, s in job.book.items():
            books[bucket] = books.get(bucket, 0) + s * job.nodes / HOUR_S
    again = (600 + 800) * 4 / HOUR_S
    books["productive"] -= again
    books["redone"] = again
    books = {name: hours for name, hours in books.items() if hours}
    wait_until(lambda: spent(quick.get(FLEET).body) == books, what=f"the fleet's {books}")
    fleet = quick.get(FLEET).body
    assert fleet["goodput"] == pytest.approx(100 * books["productive"] / sum(books.values()))
    assert fleet["lost_cost"] == pytest.approx(sum(books.get(name, 0) for name in LOST) * PRICE)
    run = quick.get("/api/v1/jobs/nlp-2/run").body["goodput"]
    gaps = (180 + 500 + 400) * 4 / HOUR_S  # between the jobs nobody's clock runs
    assert spent(run) == {**books, "idle": books.get("idle", 0) + gaps}
    assert run["lost_cost"] == pytest.approx(fleet["lost_cost"]) and run["cost"] == pytest.approx(fleet["cost"])
    assert (run["lost_steps"], run["lost_steps_unknown"]) == (60 + 80, 1)

    # What broke off: by cause, in the fleet's sum and in the report, and both add up to (600 + 980 + 800 + 800 + 800) s of 4 nodes.
    hours = {"AlgorithmError": 1580 * 4 / HOUR_S, "InternalServerError": 800 * 4 / HOUR_S, "unknown": 1600 * 4 / HOUR_S}
    lost = quick.get(f"/api/v1/report?from_ms={DAY0_S * 1000}&to_ms={(DAY0_S + 86400) * 1000}").body["lost"]
    for causes in (fleet["causes"], lost["causes"]):
        assert {one["cause"]: one["lost_node_hours"] for one in causes} == {name: pytest.approx(value) for name, value in hours.items()}
        assert {one["cause"]: one["lost_steps"] for one in causes} == {"AlgorithmError": 60, "InternalServerError": None, "unknown": 80}
    assert lost["lost_node_hours"] == pytest.approx(sum(hours.values())) == pytest.approx(3980 * 4 / HOUR_S)
    row = quick.get("/api/v1/aggregate?of=sum:lost_steps,sum:lost_cost").body["groups"][0]
    assert row["sum:lost_steps"] == 140 and row["sum:lost_cost"] == pytest.approx(fleet["lost_cost"])


def test_who_died_before_its_first_step_says_of_what_and_lost_none(quick):
    """Its log names the fault, minutes before its end; it would have printed steps as the next one does. Of who printed nothing nobody knows."""
    first = Script("a", DAY0_S, 2)
    first.begin()
    first.train(100)
    first.end(uploading_s=0, status="Failed", FailureReason="AlgorithmError: exit code 1")
    jobs, at_s = {}, first.t + 600
    for name, before, fault in (("full", "a", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."),
                                ("wild", "full", "RuntimeError: CUDA error: an illegal memory access was encountered"), ("mute", "wild", None)):
        job = jobs[name] = Script(name, at_s, 2, step=100, continues=before)
        job.begin(launch_s=100, data_s=0, first_step_s=100)
        if fault:
            job.line("[rank0]: Traceback (most recent call last):")
            job.line("[rank0]: " + fault)
        job.spend("first_step", 400)
        job.end(uploading_s=0, status="Failed", FailureReason="exit code 1")
        at_s = job.t + 600
    last = Script("z", at_s, 2, step=100, continues="mute")
    last.begin()
    last.train(50)
    last.end()
    first.tell(quick)
    for job in jobs.values():
        tell_silent(quick, job)
        if job.lines:
            quick.send(job.name, job.lines)
    last.tell(quick)
    wanted = {"full": ("cuda_oom", 0), "wild": ("illegal_address", 0), "mute": ("AlgorithmError", None)}
    found = lambda: {name: [(one["cause"], one["lost_steps"]) for one in goodput(quick, name)["breaks"]] for name in wanted}
    wait_for(found, {name: [row] for name, row in wanted.items()})
    wait_for(lambda: quick.get("/api/v1/aggregate?of=sum:lost_steps&q=name:full").body["groups"], [{"sum:lost_steps": 0, "lost_steps_unknown": 0}])
    run = lambda: quick.get("/api/v1/jobs/a/run").body["goodput"]
    wait_for(lambda: (run()["lost_steps"], run()["lost_steps_unknown"]), (0, 1))


def tell_silent(server, job):
    document = {"TrainingJobName": job.name, "ResourceConfig": {"InstanceType": "ml.p5.48xlarge", "InstanceCount": job.nodes, "VolumeSizeInGB": 50},
        "Tags": [{"Key": "continues", "Value": job.continues}]}
    assert server.post("/api/v1/jobs", json=document).status == 201
    for change in job.moves:
        assert server.post(f"/api/v1/jobs/{job.name}/transitions", json=change).status == 204


def test_an_outage_is_the_same_under_the_jobs_own_name_and_another(quick):
    """It fails a minute behind step 100, and six hours later goes on from step 90, whose next print is 300 s and ten steps away."""
    def fail(name, day, stands):
        job = Script(name, DAY0_S + day * 86400, 2)
        job.begin()
        job.train(100)
        job.spend(stands, 60)
        job.move("Failed", FailureReason="AlgorithmError: exit code 1")
        return job
    one = fail("one", 0, "restart")
    one.spend("idle", 6 * HOUR_S)
    one.move("Training")
    one.lose(10, 300)
    first = fail("two-a", 1, "stalled")
    second = Script("two-b", first.t + 6 * HOUR_S, 2, step=90, continues="two-a")
    second.begin(launch_s=0, data_s=0, first_step_s=300)
    for job in (one, second):
        job.train(50)
        job.end(uploading_s=0)
    for job in (one, first, second):
        job.tell(quick)
    stood_s = 60 + 6 * HOUR_S + 300
    wanted = {"cause": "AlgorithmError", "step": 100, "from_step": 90, "lost_steps": 10, "redone_seconds": 100, "restart_seconds": stood_s,
        "repair_seconds": stood_s + 100, "node_hours": pytest.approx((100 + stood_s) * 2 / HOUR_S)}
    for name, more in (("one", {}), ("two-a", {"went_on_in": "two-b"})):
        wait_for(lambda: settled(quick, name)[0], [{**wanted, **more}])
    def report(day):
        lost = quick.get(f"/api/v1/report?from_ms={(DAY0_S + day * 86400) * 1000}&to_ms={(DAY0_S + (day + 1) * 86400) * 1000 - 1}").body["lost"]
        return lost["breaks"], lost["lost_node_hours"]
    for day in (0, 1):
        wait_for(lambda: report(day), (1, wanted["node_hours"]))
    for name in ("one", "two-a"):
        assert [one["mttr_seconds"] for one in goodput(quick, name)["causes"]] == [stood_s + 100]


def test_who_goes_on_with_a_job_is_not_for_ever(quick):
    first = Script("a", DAY0_S, 2)
    first.begin()
    first.train(100)
    first.end(uploading_s=0, status="Failed", FailureReason="AlgorithmError: x")
    second = Script("b", first.t + 600, 2, step=70, continues="a")
    second.begin()
    second.train(50)
    second.end()
    first.tell(quick)
    second.tell(quick)

    def lost_is(steps):
        def is_so():
            causes = quick.get(FLEET).body["causes"]
            return [one["lost_steps"] for one in causes] == [steps] and settled(quick, "a")[0][0].get("lost_steps") == steps
        wait_until(is_so, what=f"{steps} lost steps of a")
    lost_is(30)
    assert quick.patch("/api/v1/jobs/b", json={"tags": {"continues": None}}).status == 200
    lost_is(None)
    assert quick.patch("/api/v1/jobs/b", json={"tags": {"continues": "a"}}).status == 200
    lost_is(30)
    assert quick.delete("/api/v1/jobs/b").status == 204
    lost_is(None)
    assert quick.post("/api/v1/jobs/b/restore").status == 200
    lost_is(30)
    # one that leaves it where it is going on as well takes nothing from it
    fork = Script("fork", first.t + 900, 2, step=10, continues="a")
    fork.begin()
    fork.train(20)
    document = {"TrainingJobName": "fork", "Tags": [{"Key": "continues", "Value": "a"}, {"Key": "wandb.fork_from", "Value": "a?_step=10"}]}
    assert quick.post("/api/v1/jobs", json=document).status == 201
    quick.send("fork", fork.lines)
    wait_until(lambda: goodput(quick, "fork")["steps"].get("last") == 30, what="the fork's steps")
    lost_is(30)


def begun_again(name, after, step, steps, continues):
    job = Script(name, after.t + 600, 2, step=step, continues=continues)
    job.begin()
    job.train(steps)
    job.end()
    return job


def failed_at(steps, status="Failed", **more):
    job = Script("a", DAY0_S, 2)
    job.begin()
    job.train(steps)
    job.end(uploading_s=0, status=status, **more)
    return job


def stored(server, job):
    rows = server.sql("SELECT g.due_ms, g.steps, g.lost_steps FROM goodput AS g JOIN jobs AS j ON j.job_id = g.job_id WHERE j.name = ?", job)
    return rows[0] if rows and not rows[0][0] else None


def test_a_job_that_is_completed_lost_nothing_by_its_fine_tuning(quick):
    first = failed_at(100, status="Completed")
    first.tell(quick)
    before = wait_until(lambda: (row := stored(quick, "a")) and row[1] == 100 and row, what="a's time")
    begun_again("sft", first, 0, 50, "a").tell(quick)
    wait_until(lambda: (row := stored(quick, "sft")) and row[1] == 50, what="the time of its fine-tuning")
    assert wait_until(lambda: stored(quick, "a"), what="a's time again") == before
    assert settled(quick, "a") == ([], 0)


def test_what_is_deleted_for_good_goes_on_with_nothing(quick):
    first = failed_at(100, FailureReason="AlgorithmError: x")
    first.tell(quick)
    begun_again("b", first, 70, 50, "a").tell(quick)
    wait_until(lambda: (row := stored(quick, "a")) and row[2] == 30 and stored(quick, "b"), what="what a lost")
    assert quick.delete("/api/v1/jobs/b?purge=true").status == 204
    wait_until(lambda: (row := stored(quick, "a")) and row[2] == 0, what="a to have lost nothing that is known")


def test_a_deleted_job_keeps_its_breaks_where_it_keeps_its_hours(quick):
    """The days' MTBF is made of both: in the trash, out of it again, and when the job is gone for good."""
    put_prices(quick, {"instance": "ml.p5.48xlarge", "per_hour": PRICE})
    first = failed_at(100, FailureReason="AlgorithmError: x")
    first.tell(quick)
    begun_again("b", first, 70, 50, "a").tell(quick)
    wait_until(lambda: (row := stored(quick, "a")) and row[2] == 30 and stored(quick, "b"), what="what a lost")

    def of_days():
        body = quick.get(FLEET).body
        return body["causes"], spent(body), body["lost_cost"]
    before = of_days()
    [cause] = before[0]
    assert (cause["cause"], cause["count"], cause["lost_steps"]) == ("AlgorithmError", 1, 30) and cause["mtbf_node_hours"] > 0
    assert quick.delete("/api/v1/jobs/a").status == 204
    assert of_days() == before
    assert quick.post("/api/v1/jobs/a/restore").status == 200
    wait_until(lambda: stored(quick, "a") and of_days() == before, what="the same days")
    assert quick.delete("/api/v1/jobs/a?purge=true").status == 204
    assert of_days() == before
    assert quick.get("/api/v1/jobs/a").status == 404


DAY_S = 86400


def chain_of_three(server, at_s):
    """a makes 100 steps, b goes on from 70 and makes 50, c goes on from 100 and makes 50: 150 steps are of use, 30 of a and 20 of b are made again."""
    put_prices(server, {"instance": "ml.p5.48xlarge", "per_hour": PRICE})
    first = Script("a", at_s, 2)
    first.begin()
    first.train(100)
    first.end(uploading_s=0, status="Failed", FailureReason="AlgorithmError: x")
    second = Script("b", first.t + 600, 2, step=70, continues="a")
    second.begin()
    second.train(50)
    second.end(uploading_s=0, status="Failed", FailureReason="AlgorithmError: y")
    third = begun_again("c", second, 100, 50, "b")
    for job in (first, second, third):
        job.tell(server)
    wait_until(lambda: [(stored(server, job) or [0])[1:] for job in "abc"] == [(70, 30), (30, 20), (50, 0)], what="the time of all three")


def of_fleet(server, at_s):
    """Steps of use and made again by the days' node-hours, the cost and the lost cost; and what /fleet says of the last 30 days."""
    day = [time.strftime("%Y-%m-%d", time.gmtime(at_s + n * DAY_S)) for n in range(2)]
    days, last = server.get(f"/api/v1/goodput?from={day[0]}&to={day[1]}").body, server.get("/api/v1/fleet").body["last_30_days"]
    steps = [round(days["buckets"][bucket]["node_hours"] * HOUR_S / 20, 3) for bucket in ("productive", "redone")]
    assert (last["goodput"], last["cost"], last["lost_cost"]) == tuple(pytest.approx(days[key]) for key in ("goodput", "cost", "lost_cost"))
    return (*steps, round(days["cost"], 6), round(days["lost_cost"], 6), [(one["count"], one["lost_steps"]) for one in days["causes"]])


def of_run(server, job):
    run = server.get(f"/api/v1/jobs/{job}/run").body
    return [row["TrainingJobName"] for row in run["jobs"]], run.get("left_out"), run["goodput"]["lost_steps"]


def test_what_a_deletion_changes_of_a_run_and_of_the_fleet(quick):
    """As docs/goodput.md has it: the days keep all of what was deleted. Whoever was gone on with by a deleted job has lost nothing to it; so steps that both
    made are of use in both, until the job is restored."""
    at_s = int(time.time()) // DAY_S * DAY_S - 2 * DAY_S
    chain_of_three(quick, at_s)

    def lost(steps):
        return steps * 20 / HOUR_S * PRICE
    cost = (3 * 120 + (100 + 50 + 50) * 10 + 60) * 2 / HOUR_S * PRICE  # first_step, steps, and c's uploading
    whole = (150, 50, pytest.approx(cost), pytest.approx(lost(50)), [(2, 50)])
    runs = {job: (["a", "b", "c"], None, 50) for job in "abc"}
    deleted = {
        "a": (whole, {"b": (["b", "c"], "a", 20), "c": (["b", "c"], "a", 20)}),
        "b": ((180, 20, whole[2], pytest.approx(lost(20)), [(2, 20)]), {"a": (["a"], None, None), "c": (["c"], "b", 0)}),
        "c": ((170, 30, whole[2], pytest.approx(lost(30)), [(2, 30)]), {"a": (["a", "b"], None, 30), "b": (["a", "b"], None, 30)}),
    }

    def is_so(fleet, of_runs):
        wait_for(lambda: of_fleet(quick, at_s), fleet)
        wait_for(lambda: {job: of_run(quick, job) for job in of_runs}, of_runs)
    is_so(whole, runs)
    for job, (fleet, of_runs) in deleted.items():
        assert quick.delete(f"/api/v1/jobs/{job}").status == 204
        is_so(fleet, of_runs)
        quick.restart()
        is_so(fleet, of_runs)
        assert quick.post(f"/api/v1/jobs/{job}/restore").status == 200
        is_so(whole, runs)


def test_a_job_that_comes_back_under_another_name_is_gone_on_with_by_nobody(quick):
    """A late line has made a job of its name: the others go on with that one. Put right by their tag, all is as it was."""
    at_s = int(time.time()) // DAY_S * DAY_S - 2 * DAY_S
    chain_of_three(quick, at_s)
    whole = of_fleet(quick, at_s)
    assert quick.delete("/api/v1/jobs/a").status == 204
    quick.send("a", "a line that came late")
    assert quick.post("/api/v1/jobs/a/restore").body["TrainingJobName"] == "a-2"
    wait_for(lambda: (of_run(quick, "a-2"), of_run(quick, "b")[0]), ((["a-2"], None, None), ["a", "b", "c"]))
    assert quick.patch("/api/v1/jobs/b", json={"tags": {"continues": "a-2"}}).status == 200
    wait_for(lambda: of_run(quick, "c"), (["a-2", "b", "c"], None, 50))
    wait_for(lambda: of_fleet(quick, at_s)[:2], whole[:2])


@pytest.mark.parametrize("status, later_s, lost", [("Failed", 600, 50), ("Stopped", 600, 50), ("Failed", -900, 50), ("Completed", 600, 0), ("Failed", -1200, 0)],
    ids=["failed", "stopped", "failed when it had begun", "a branch that is done", "one that began before"])
def test_of_two_that_go_on_with_a_job_the_later_one_is_the_runs(quick, status, later_s, lost):
    """b went on with a, and broke off; c goes on with a, too: what b made is made again, and each step of the run is of use once."""
    first = failed_at(100, FailureReason="AlgorithmError: x")
    second = Script("b", first.t + 600, 2, step=90, continues="a")
    second.begin()
    second.train(50)  # up to step 140
    second.end(uploading_s=0, status=status)
    third = Script("c", second.t + later_s, 2, step=80, continues="a")
    third.begin()
    third.train(120)
    third.end()
    for job in (first, second, third):
        job.tell(quick)
    wanted = {"a": (80, 20), "b": (50 - lost, lost), "c": (120, 0)}
    wait_until(lambda: {job: (stored(quick, job) or [0])[1:] for job in wanted} == wanted, what=f"{lost} lost steps of b")
    useful = 80 + (0 if lost else 50) + 120

    def run_is_so():
        buckets = quick.get("/api/v1/jobs/a/run").body["goodput"]["buckets"]
        return buckets["productive"]["node_hours"] == pytest.approx(useful * 10 * 2 / HOUR_S)
    wait_until(run_is_so, what=f"{useful} steps of use")
    if lost:
        [broken] = [one for one in settled(quick, "b")[0]]
        assert (broken["went_on_in"], broken["lost_steps"], broken["redone_seconds"]) == ("c", 50, 500)
        assert quick.delete("/api/v1/jobs/c").status == 204
        wait_until(lambda: (row := stored(quick, "b")) and row[2] == 0, what="b's steps to be of use again")


@pytest.mark.parametrize("order", ["abc", "acb"])
def test_the_time_between_two_that_go_on_with_a_job_is_nobodys_once(quick, order):
    """a ends, b begins 170 s later, ends, and c begins 370 s after that; both go on with a. 540 s of two nodes, in either order of their announcements."""
    first = failed_at(100, FailureReason="AlgorithmError: x")
    second = Script("b", first.t + 170, 2, step=80, continues="a")
    second.begin()
    second.train(40)
    second.end(uploading_s=0, status="Failed")
    third = Script("c", second.t + 370, 2, step=60, continues="a")
    third.begin()
    third.train(90)
    third.end(uploading_s=0)
    jobs = {"a": first, "b": second, "c": third}
    for name in order:
        jobs[name].tell(quick)
    total_s = third.t - DAY0_S  # from a's beginning to c's end

    def run_is_so():
        found = quick.get("/api/v1/jobs/a/run").body["goodput"]
        seconds = {name: bucket["node_hours"] * HOUR_S / 2 for name, bucket in found["buckets"].items()}
        own = sum(job.book.get("idle", 0) for job in jobs.values())
        return "pending_jobs" not in found and seconds["productive"] == pytest.approx((60 + 90) * 10) and sum(seconds.values()) == pytest.approx(total_s) \
            and seconds["idle"] == pytest.approx(own + 170 + 370)
    wait_until(run_is_so, what=f"1500 productive seconds of {total_s}, 540 of them nobody's")


def test_another_team_takes_nothing_from_a_job(make_server):
    server = make_server("--goodput-every", "100ms")
    server.token = make_token(server, "root", "admin")
    tokens = {team: make_token(server, team, "admin", "--team", team) for team in ("alpha", "beta")}

    def tell(job, team):
        server.token = tokens[team]
        job.tell(server)
        wait_until(lambda: stored(server, job.name), what=f"the time of {job.name}")
    first = failed_at(100, FailureReason="AlgorithmError: x")
    tell(first, "alpha")
    tell(begun_again("theirs", first, 10, 50, "a"), "beta")
    assert goodput(server, "theirs")["steps"]["last"] == 60
    tell(begun_again("b", first, 70, 50, "a"), "alpha")
    wait_until(lambda: (row := stored(server, "a")) and row[2] == 30, what="what a lost, which goes on at 70")
    [one], lost = settled(server, "a")
    assert (one["went_on_in"], one["from_step"], one["lost_steps"], lost) == ("b", 70, 30, 30)
