"""What is not known is null and not 0, a sum over some days speaks of these days, and a figure is the same number wherever it stands."""

import time

import pytest

from smserver import wait_until
from test_money import DAY_S, HOUR_S, KNOWN, NOON_S, ODD, by_day, chart, get, move, price, print_steps, put_prices, row, run_job, search, worked_out


def day_of(at_s):
    return time.strftime("%Y-%m-%d", time.gmtime(at_s))


def by_hand(server, name, **values):
    reply = server.patch(f"/api/v1/jobs/{name}", json={"by_hand": values})
    assert reply.status == 200, reply


# ---- goodput ----

def test_a_job_of_one_moment_whose_times_are_set_by_hand_has_a_wall_clock_and_no_goodput(make_server):
    server = make_server("--goodput-every", "100ms")
    put_prices(server, price(KNOWN, 10))
    chart(server, "moment", KNOWN)
    by_hand(server, "moment", start_ms=(NOON_S - HOUR_S) * 1000, end_ms=(NOON_S + HOUR_S) * 1000)
    cost = 2 * 2 * 10  # two nodes for two hours
    wait_until(lambda: row(server, "moment").get("cost") == cost, what="its cost")
    one = get(server, "/api/v1/jobs/moment/goodput")
    assert (one["wall_seconds"], one["cost"]["total"], one["cost"]["lost"]) == (2 * HOUR_S, cost, 0)
    assert one["steps"]["last"] == 2 and "step_seconds" not in one["steps"]
    # how long its steps took nobody knows: all of it is time of which nothing is known
    assert one["goodput"] is None and row(server, "moment").get("goodput") is None
    assert {name: bucket["seconds"] for name, bucket in one["buckets"].items() if bucket["seconds"]} == {"unmeasured": 2 * HOUR_S}
    assert {"first_step", "productive", "evaluation", "checkpoint", "redone", "stalled"} <= set(one["unknown_buckets"])
    assert [day["goodput"] for day in one["days"]] == [None]
    assert get(server, "/api/v1/jobs?q=goodput>=0")["jobs"] == []
    assert get(server, "/api/v1/aggregate?of=mean:goodput,count:goodput")["groups"] == [{"mean:goodput": None, "count:goodput": 0}]
    day = day_of(NOON_S)
    fleet = get(server, f"/api/v1/goodput?from={day}&to={day}")
    assert fleet["goodput"] is None and fleet["cost"] == cost and fleet["buckets"]["unmeasured"]["node_hours"] == 2 * 2


def test_a_job_without_a_step_has_no_goodput_unless_it_failed(make_server):
    """Neither printed a line: all of their time is that of starting."""
    server = make_server("--goodput-every", "100ms")
    for name in ("asked", "broken"):
        assert server.post("/api/v1/jobs", json={"TrainingJobName": name}).status == 201
    wait_until(lambda: get(server, "/api/v1/jobs/broken/goodput")["wall_seconds"] > 0.01, what="some time")
    assert server.post("/api/v1/jobs/broken/transitions", json={"SecondaryStatus": "Failed"}).status == 204
    wait_until(lambda: row(server, "broken").get("goodput") == 0, what="its goodput")
    asked = get(server, "/api/v1/jobs/asked/goodput")
    assert asked["goodput"] is None and asked["buckets"]["launch"]["percent"] == 100 and row(server, "asked").get("goodput") is None


def test_how_long_the_only_step_took_is_not_known(make_server):
    server = make_server("--goodput-every", "100ms")
    run_job(server, "one", KNOWN)
    print_steps(server, "one", [1], NOON_S + 60)
    wait_until(lambda: get(server, "/api/v1/jobs/one/goodput")["steps"].get("made") == 1, what="its step")
    one = get(server, "/api/v1/jobs/one/goodput")
    assert one["goodput"] is None and one["buckets"]["unmeasured"]["seconds"] == HOUR_S
    print_steps(server, "one", [1, 2], NOON_S + 60)  # a second one, ten seconds later: now it is
    wait_until(lambda: get(server, "/api/v1/jobs/one/goodput")["goodput"], what="a goodput")
    one = get(server, "/api/v1/jobs/one/goodput")
    assert one["goodput"] == pytest.approx(100 * 20 / HOUR_S) and one["buckets"]["unmeasured"]["seconds"] == 0


# ---- days ----

def test_types_without_a_price_are_those_of_the_days_that_are_asked_for(make_server):
    server = make_server("--goodput-every", "100ms")
    put_prices(server, price(KNOWN, 10))
    now_s = int(time.time())
    run_job(server, "spring", ODD)
    run_job(server, "next", "ml.other.large", at_s=NOON_S + DAY_S)
    run_job(server, "new", "ml.new.large", at_s=now_s - 3 * DAY_S)
    run_job(server, "known", KNOWN, at_s=now_s - 2 * DAY_S)
    worked_out(server, "spring", "next", "new", "known")

    def types(first_s, last_s):
        sums = get(server, f"/api/v1/goodput?from={day_of(first_s)}&to={day_of(last_s)}")
        assert (sums["unpriced_node_hours"] > 0) == (sums["unpriced_types"] != [])
        return sorted(sums["unpriced_types"])
    assert types(NOON_S, NOON_S) == [ODD]
    assert types(NOON_S + DAY_S, NOON_S + 2 * DAY_S) == ["ml.other.large"]
    assert types(NOON_S - DAY_S, NOON_S + DAY_S) == sorted([ODD, "ml.other.large"])
    assert types(NOON_S + 2 * DAY_S, NOON_S + 5 * DAY_S) == []
    assert types(now_s - 5 * DAY_S, now_s) == ["ml.new.large"]
    fleet = get(server, "/api/v1/fleet")
    assert [fleet["unpriced_types"], fleet["last_30_days"]["unpriced_types"], fleet["today"]["unpriced_types"]] == [
        ["ml.new.large"], ["ml.new.large"], []]


def test_a_job_that_was_only_announced_costs_what_nobody_knows_on_its_days_too(make_server):
    server = make_server("--goodput-every", "100ms")
    put_prices(server, price(KNOWN, 10))
    for name, instance in (("odd", ODD), ("known", KNOWN)):
        document = {"TrainingJobName": name, "ResourceConfig": {"InstanceType": instance, "InstanceCount": 2}}
        assert server.post("/api/v1/jobs", json=document).status == 201
        move(server, name, "Starting", int(time.time()) - HOUR_S)
    for name, cost in (("odd", None), ("known", 0)):
        one = get(server, f"/api/v1/jobs/{name}/goodput")
        assert one["cost"]["total"] == cost and len(one["days"]) >= 1
        assert {(day["cost"], day["lost_cost"], day["unpriced_node_hours"]) for day in one["days"]} == {(cost, cost, 0)}, name


def post_steps(server, name, begin_s, first, count, every_s=60):
    text = "".join(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(begin_s + every_s * i))} step {first + i} loss: 2.5\n" for i in range(count))
    assert server.post(f"/api/v1/logs?job={name}&stream=algo-1", text.encode()).status == 200


def test_a_day_on_which_a_job_was_put_aside_does_not_count_it(make_server):
    server = make_server("--goodput-every", "100ms")
    put_prices(server, price(KNOWN, 1.5))
    document = {"TrainingJobName": "paused", "ResourceConfig": {"InstanceType": KNOWN, "InstanceCount": 1}}
    assert server.post("/api/v1/jobs", json=document).status == 201
    for begin_s, first in ((NOON_S, 0), (NOON_S + 4 * DAY_S, 121)):
        post_steps(server, "paused", begin_s, first, 121)
    move(server, "paused", "Completed", NOON_S + 4 * DAY_S + 2 * HOUR_S)
    wait_until(lambda: row(server, "paused").get("cost") == 4 * 1.5, what="its cost")
    ran = [1, 2, 3, 2 * HOUR_S]
    wanted = {day_of(NOON_S): ran, day_of(NOON_S + 4 * DAY_S): ran}
    assert by_day(server, "paused", "count,sum:node_hours,sum:cost,sum:duration") == wanted
    days = get(server, "/api/v1/jobs/paused/goodput")["days"]
    assert {day["day"]: [day["billed_node_hours"], day["cost"]] for day in days} == {day: ran[1:3] for day in wanted}
    run_job(server, "beside", KNOWN, nodes=1, at_s=NOON_S + 2 * DAY_S)  # a day that another job has
    worked_out(server, "beside")
    groups = get(server, "/api/v1/aggregate?by=day&of=count,sum:node_hours,max:nodes")["groups"]
    assert [(one["day"], one["count"], one["sum:node_hours"]) for one in groups] == [
        (day_of(NOON_S), 1, 2), (day_of(NOON_S + 2 * DAY_S), 1, 1), (day_of(NOON_S + 4 * DAY_S), 1, 2)]
    # of the whole it is the time from its start to its end, as SageMaker has it
    [whole] = get(server, "/api/v1/aggregate?q=name=paused&of=sum:duration,count")["groups"]
    assert whole == {"sum:duration": 4 * DAY_S + 2 * HOUR_S, "count": 1}


def test_a_day_between_a_failure_and_what_went_on_does_not_count_the_job(make_server):
    server = make_server("--goodput-every", "100ms")
    put_prices(server, price(KNOWN, 10))
    run_job(server, "again", KNOWN, nodes=1, end="Failed")
    move(server, "again", "Training", NOON_S + 3 * DAY_S)
    move(server, "again", "Completed", NOON_S + 3 * DAY_S + HOUR_S)
    wait_until(lambda: row(server, "again").get("cost") == 2 * 10, what="its cost")
    assert by_day(server, "again", "count,sum:node_hours") == {day_of(NOON_S): [1, 1], day_of(NOON_S + 3 * DAY_S): [1, 1]}
    [month] = get(server, "/api/v1/aggregate?q=name=again&by=month&of=count,sum:cost")["groups"]
    assert (month["month"], month["count"], month["sum:cost"]) == ("2026-03", 1, 20)


# ---- a job that nobody ended ----

def test_a_silent_job_that_nobody_ended_has_lasted_until_its_last_line(make_server):
    server = make_server("--goodput-every", "100ms")
    put_prices(server, price(KNOWN, 10))
    begin_s = int(time.time()) // DAY_S * DAY_S - 5 * DAY_S
    document = {"TrainingJobName": "open", "ResourceConfig": {"InstanceType": KNOWN, "InstanceCount": 3}}
    assert server.post("/api/v1/jobs", json=document).status == 201
    post_steps(server, "open", begin_s, 1, 241)
    lasted_s = 4 * HOUR_S
    wait_until(lambda: row(server, "open").get("cost") == 3 * 4 * 10, what="its cost")
    of = "count,sum:duration,sum:billable,sum:node_hours"
    [group] = get(server, f"/api/v1/aggregate?of={of}")["groups"]
    assert group == {"count": 1, "sum:duration": lasted_s, "sum:billable": lasted_s, "sum:node_hours": 3 * 4}
    assert by_day(server, "open", of) == {day_of(begin_s): [1, lasted_s, lasted_s, 3 * 4]}
    assert get(server, "/api/v1/jobs/open/goodput")["wall_seconds"] == lasted_s
    assert row(server, "open")["worked_until_ms"] == (begin_s + lasted_s) * 1000
    [shown] = get(server, "/api/v1/jobs?fields=duration")["jobs"]
    assert shown["fields"]["duration"] == lasted_s
    assert search(server, "", "--fields", "name,duration", "--csv").splitlines()[1:] == [f"open,{lasted_s}"]
    for query, is_there in ((f"duration={lasted_s}", True), (f"duration>{lasted_s}", False), (f"duration<={lasted_s}", True)):
        assert bool(get(server, f"/api/v1/jobs?q={query}")["jobs"]) == is_there, query
    run_job(server, "short", KNOWN, seconds=HOUR_S)
    run_job(server, "long", KNOWN, seconds=8 * HOUR_S)
    run_job(server, "runs", KNOWN, seconds=None)  # is stated to: what it will have taken nobody knows
    order = [one["TrainingJobName"] for one in get(server, "/api/v1/jobs?sort=-duration")["jobs"]]
    assert order == ["long", "open", "short", "runs"]
    [group] = get(server, "/api/v1/aggregate?q=name=runs&of=sum:duration")["groups"]
    assert 0 <= group["sum:duration"] - (time.time() - NOON_S) + 60 < 120  # until now
    more_s = 10 * HOUR_S
    move(server, "open", "Completed", begin_s + more_s)  # then that is what counts
    wait_until(lambda: by_day(server, "open", "sum:duration,sum:billable") == {day_of(begin_s): [more_s, more_s]}, what="its end")
    assert "worked_until_ms" not in row(server, "open")
    assert [one["TrainingJobName"] for one in get(server, f"/api/v1/jobs?q=duration={more_s}")["jobs"]] == ["open"]
