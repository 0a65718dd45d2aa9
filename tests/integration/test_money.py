"""What is not known is said to be not known, and never 0: costs without a price, start-ups, lost steps, the space that is used."""

import csv
import io
import json
import re
import sqlite3
import subprocess
import time
from urllib.parse import urlencode

import pytest

from engine import of_a_file
from smserver import PATIENCE_S, sanitizer_environment, wait_until

HOUR_S, DAY_S = 3600, 86_400
NOON_S = 1_772_452_800  # 2026-03-02T12:00:00Z
KNOWN, ODD = "ml.known.2xlarge", "ml.odd.8xlarge"


def put_prices(server, *prices, currency="EUR"):
    reply = server.put("/api/v1/prices", json={"currency": currency, "prices": list(prices)})
    assert reply.status == 200, reply


def price(instance, per_hour, **more):
    return {"instance": instance, "per_hour": per_hour, **more}


def move(server, name, status, at_s, **more):
    reply = server.post(f"/api/v1/jobs/{name}/transitions", json={"SecondaryStatus": status, "time_ms": at_s * 1000, **more})
    assert reply.status < 300, reply


def run_job(server, name, instance, *, nodes=2, team=None, at_s=NOON_S, seconds=HOUR_S, end="Completed", launch_s=0, **more):
    resources = {"InstanceType": instance, "InstanceCount": nodes, "VolumeSizeInGB": 1} if instance else {"InstanceCount": nodes}
    tags = [{"Key": "team", "Value": team}] if team else []
    reply = server.post("/api/v1/jobs", json={"TrainingJobName": name, "ResourceConfig": resources, "Tags": tags, **more})
    assert reply.status == 201, reply
    if launch_s:
        move(server, name, "Starting", at_s - launch_s)
    move(server, name, "Training", at_s)
    if seconds is not None:
        move(server, name, end, at_s + seconds)


def get(server, path, status=200):
    reply = server.get(path)
    assert reply.status == status, reply
    return reply.body


def row(server, name):
    return get(server, f"/api/v1/jobs/{name}")


def search(server, *arguments):
    ran = subprocess.run([str(server.bin("sm-search")), *arguments], env={"SMFLEET_SERVER": server.url}, capture_output=True,
        timeout=PATIENCE_S, text=True)
    assert ran.returncode == 0, ran
    return ran.stdout


def worked_out(server, *names):
    """What is stored of the jobs is what is true of them now, so nothing is due."""
    def is_done(name):
        now = get(server, f"/api/v1/jobs/{name}/goodput")["cost"]["total"]
        return row(server, name).get("TrainingEndTime") and row(server, name).get("cost", -1) == now
    wait_until(lambda: all(is_done(name) for name in names), what=f"costs of {names}")


@pytest.fixture
def fleet(make_server):
    """Of team nlp one job has a price and one has none; team speech has none at all; half of `twins` has."""
    server = make_server("--goodput-every", "100ms")
    put_prices(server, price(KNOWN, 10))
    run_job(server, "known", KNOWN, team="nlp")
    run_job(server, "odd", ODD, team="nlp")
    run_job(server, "lone", ODD, team="speech", nodes=3)
    worked_out(server, "known", "odd", "lone")
    return server


KNOWN_COST = 2 * 1 * 10


def test_a_job_without_a_price_says_so(fleet):
    one = row(fleet, "odd")
    assert one["cost"] is None and one["unpriced_types"] == [ODD]
    assert row(fleet, "known")["cost"] == KNOWN_COST and "unpriced_types" not in row(fleet, "known")
    goodput = get(fleet, "/api/v1/jobs/odd/goodput")
    assert goodput["cost"]["total"] is None and goodput["cost"]["unpriced_types"] == [ODD]
    assert [(day["cost"], day["lost_cost"]) for day in goodput["days"]] == [(None, None)]
    shown = search(fleet, "tag.team=nlp", "--fields", "name,cost", "--sort", "name", "--table").splitlines()
    assert [line.split(maxsplit=1)[1] for line in shown[1:]] == [str(KNOWN_COST), "–"]
    shown = search(fleet, "tag.team=nlp", "--fields", "name,cost", "--sort", "name", "--csv").splitlines()
    assert shown[1:] == [f"known,{KNOWN_COST}", "odd,"]


def test_a_sum_of_costs_says_what_it_leaves_out(fleet):
    groups = get(fleet, "/api/v1/aggregate?by=tag.team&of=sum:cost,sum:lost_cost,count")["groups"]
    assert groups == [
        {"tag.team": "nlp", "sum:cost": KNOWN_COST, "sum:lost_cost": 0, "count": 2, "currency": "EUR", "unpriced_jobs": 1,
            "unpriced_types": [ODD], "estimated_jobs": 0},
        {"tag.team": "speech", "sum:cost": None, "sum:lost_cost": None, "count": 1, "currency": "EUR", "unpriced_jobs": 1,
            "unpriced_types": [ODD], "estimated_jobs": 0}]
    assert get(fleet, "/api/v1/aggregate?by=tag.team&of=count")["groups"] == [{"tag.team": "nlp", "count": 2}, {"tag.team": "speech", "count": 1}]
    days = get(fleet, "/api/v1/aggregate?q=name=known&by=day&of=sum:cost")["groups"]
    assert days == [{"day": "2026-03-02", "sum:cost": KNOWN_COST, "currency": "EUR", "unpriced_jobs": 0, "unpriced_types": [], "estimated_jobs": 0}]
    reply = fleet.get("/api/v1/aggregate?by=tag.team&of=sum:cost&format=csv")
    assert list(csv.reader(io.StringIO(reply.raw.decode()))) == [["tag.team", "sum:cost", "currency", "unpriced_jobs", "unpriced_types", "estimated_jobs"],
        ["nlp", str(KNOWN_COST), "EUR", "1", ODD, "0"], ["speech", "", "EUR", "1", ODD, "0"]]
    table = search(fleet, "", "--by", "tag.team", "--of", "sum:cost", "--table").splitlines()
    assert [re.split(r"\s{2,}", line.strip()) for line in table[1:]] == [
        ["nlp", str(KNOWN_COST), "EUR", "1", ODD, "0"], ["speech", "no price", "EUR", "1", ODD, "0"]]
    assert search(fleet, "", "--by", "tag.team", "--of", "sum:cost", "--csv").splitlines()[2] == f"speech,,EUR,1,{ODD},0"
    table = search(fleet, "", "--by", "tag.team", "--of", "sum:lost_steps", "--table").splitlines()
    assert [line.split() for line in table[1:]] == [["nlp", "–", "0"], ["speech", "–", "0"]]  # nobody printed a step, and nothing broke


def costs_without_currency(value, path, currency=None):
    """Of a JSON answer: where a number is called a cost, and neither its object nor one around it names the currency."""
    if isinstance(value, list):
        return [one for at, part in enumerate(value) for one in costs_without_currency(part, f"{path}[{at}]", currency)]
    if not isinstance(value, dict):
        return []
    currency = value.get("currency") or currency
    numbers = [f"{path}.{key}" for key, part in value.items() if "cost" in key and isinstance(part, (int, float)) and currency != "EUR"]
    return numbers + [one for key, part in value.items() for one in costs_without_currency(part, f"{path}.{key}", currency)]


def test_each_cost_says_its_currency(fleet):
    for path, costs in (("jobs/known", 1), ("jobs?q=name=known", 1), ("jobs/known/goodput", 2), ("jobs/known/run", 2), ("aggregate?by=name&of=sum:cost", 1),
            ("goodput?from=2026-03-01&to=2026-03-03", 2), ("fleet", 0), ("startup", 0), ("warm-pools", 0)):
        body = get(fleet, f"/api/v1/{path}")
        assert costs_without_currency(body, path) == []
        assert len(re.findall(r'cost": [0-9]', json.dumps(body))) >= costs, body  # it has some
    assert get(fleet, "/api/v1/fleet")["currency"] == "EUR"
    shown = fleet.get("/api/v1/jobs?q=name=known&fields=name,cost,currency&format=csv").raw.decode().splitlines()
    assert shown == ["name,cost,currency", f"known,{KNOWN_COST},EUR"]


def test_days_on_which_a_job_turned_out_not_to_run_are_none(make_server):
    server = make_server("--goodput-every", "100ms")
    run_job(server, "long", KNOWN, seconds=None)

    def days():
        return [day["day"] for day in get(server, "/api/v1/goodput?from=2026-03-01&to=2026-03-04")["days"]]
    wait_until(lambda: days() == ["2026-03-02", "2026-03-03", "2026-03-04"], what="days of a job that runs since March")
    move(server, "long", "Completed", NOON_S + HOUR_S)
    wait_until(lambda: days() == ["2026-03-02"], what="the day on which it ran")


def test_the_fleets_sums_and_its_samples_say_what_they_leave_out(fleet):
    def sums():
        return get(fleet, "/api/v1/goodput?from=2026-03-01&to=2026-03-03")
    wait_until(lambda: sums()["unpriced_node_hours"] == 2 + 3, what="hours without a price")
    assert sums()["cost"] == KNOWN_COST and sums()["currency"] == "EUR" and sums()["unpriced_types"] == [ODD]
    [day] = sums()["days"]
    assert day["cost"] == KNOWN_COST and day["unpriced_node_hours"] == 2 + 3
    text = fleet.get("/metrics").raw.decode()
    assert "\nsmfleet_unpriced_jobs 2\n" in text and 'smfleet_cost_30_days{currency="EUR"} 0\n' in text  # all of it was in March
    put_prices(fleet, price("ml.other", 1))
    wait_until(lambda: sums()["cost"] is None, what="no price at all")
    assert sums()["lost_cost"] is None and sums()["days"][0]["cost"] is None
    wait_until(lambda: "\nsmfleet_unpriced_jobs 3\n" in fleet.get("/metrics").raw.decode(), what="three jobs without a price")


@of_a_file("makes a sum wrong")
def test_the_count_of_jobs_without_a_price_is_checked(fleet):
    def counted():
        return re.search(r"\nsmfleet_unpriced_jobs (\d+)\n", fleet.get("/metrics").raw.decode()).group(1)

    def check():
        return subprocess.run([fleet.bin("sm-server"), "check", *fleet.database_options()], capture_output=True, text=True, timeout=60,
            env=sanitizer_environment())
    wait_until(lambda: counted() == "2", what="jobs without a price")
    assert fleet.delete("/api/v1/jobs/odd").status in (200, 202, 204)
    wait_until(lambda: counted() == "1", what="one in the trash")
    assert fleet.post("/api/v1/jobs/odd/restore").status == 200
    wait_until(lambda: counted() == "2", what="it is back")
    fleet.stop()
    assert check().returncode == 0
    with sqlite3.connect(fleet.database) as database:
        database.execute("UPDATE fleet_totals SET value = value + 1 WHERE name = 'unpriced_jobs'")
    done = check()
    assert done.returncode and "3 jobs without a price are counted; there are 2" in done.stdout + done.stderr


def test_what_the_last_days_cost_is_a_sample_where_it_is_known(make_server):
    server = make_server("--goodput-every", "100ms")
    now_s = int(time.time())
    run_job(server, "new", KNOWN, at_s=now_s - 2 * HOUR_S)
    worked_out(server, "new")
    assert "smfleet_cost_30_days" not in server.get("/metrics").raw.decode()
    put_prices(server, price(KNOWN, 10))
    wait_until(lambda: f'\nsmfleet_cost_30_days{{currency="EUR"}} {KNOWN_COST}\n' in server.get("/metrics").raw.decode(), what="the cost")
    fleet = get(server, "/api/v1/fleet")
    assert fleet["last_30_days"]["cost"] == KNOWN_COST and fleet["last_30_days"]["unpriced_node_hours"] == 0


def test_each_day_of_a_job_has_the_price_of_that_day(make_server):
    server = make_server("--goodput-every", "100ms")
    put_prices(server, price(KNOWN, 10), price(KNOWN, 20, **{"from": "2026-03-03"}), price(ODD, 20, **{"from": "2026-03-03"}))
    run_job(server, "over", KNOWN, nodes=1, seconds=DAY_S)  # from noon to noon
    run_job(server, "late", ODD, nodes=1, seconds=DAY_S)
    run_job(server, "over-2", KNOWN, nodes=1, seconds=HOUR_S, at_s=NOON_S + DAY_S, Tags=[{"Key": "continues", "Value": "over"}])
    worked_out(server, "over", "late", "over-2")
    assert row(server, "over")["cost"] == 12 * 10 + 12 * 20
    assert [day["cost"] for day in get(server, "/api/v1/jobs/over/goodput")["days"]] == [120, 240]
    late = get(server, "/api/v1/jobs/late/goodput")
    assert late["cost"]["total"] is None and [day["cost"] for day in late["days"]] == [None, None]
    assert row(server, "late")["unpriced_types"] == [ODD]
    def days():
        return [(day["cost"], day["unpriced_node_hours"]) for day in get(server, "/api/v1/goodput?from=2026-03-02&to=2026-03-03")["days"]]
    wait_until(lambda: days() == [(120, 12), (240 + 20, 12)], what="the fleet's days")
    # the chain has the sum, and what no price covers leaves it without one
    chain = get(server, "/api/v1/jobs/over-2/run")["goodput"]
    assert chain["cost"] == 120 + 240 + 20 and chain["currency"] == "EUR"
    put_prices(server, price(KNOWN, 20, **{"from": "2026-03-03"}))
    wait_until(lambda: get(server, "/api/v1/jobs/over-2/run")["goodput"]["cost"] is None, what="a chain without a price")
    chain = get(server, "/api/v1/jobs/over-2/run")["goodput"]
    assert chain["unpriced_types"] == [KNOWN] and chain["lost_cost"] is None and chain["currency"] == "EUR"


def by_day(server, name, of, **more):
    groups = get(server, "/api/v1/aggregate?" + urlencode({"q": f"name={name}", "by": "day", "of": of, **more}))["groups"]
    return {group["day"]: [group[one] for one in of.split(",")] for group in groups}


def test_groups_by_day_are_the_days_that_the_job_has(make_server):
    server = make_server("--goodput-every", "100ms")
    put_prices(server, price(KNOWN, 30), price(KNOWN, 36, **{"from": "2026-03-03"}))
    midnight_s = NOON_S + DAY_S // 2
    run_job(server, "over", KNOWN, at_s=midnight_s - 4 * HOUR_S, seconds=8 * HOUR_S, launch_s=HOUR_S)  # four hours at each price
    worked_out(server, "over")
    of = "sum:cost,sum:node_hours,sum:billable,sum:duration"
    def of_goodput(name):
        days = get(server, f"/api/v1/jobs/{name}/goodput")["days"]
        return {day["day"]: [day["cost"], day["billed_node_hours"]] for day in days}
    assert of_goodput("over") == {"2026-03-02": [2 * 4 * 30, 2 * 4], "2026-03-03": [2 * 4 * 36, 2 * 4]}
    assert by_day(server, "over", of) == {
        "2026-03-02": [240, 8, 4 * HOUR_S, 4 * HOUR_S], "2026-03-03": [288, 8, 4 * HOUR_S, 4 * HOUR_S]}
    [month] = get(server, "/api/v1/aggregate?q=name=over&by=month&of=sum:cost,sum:node_hours")["groups"]
    assert (month["sum:cost"], month["sum:node_hours"]) == (240 + 288, 16)
    # days of another place share what a day of UTC has by the clock: 20:00 to 23:00 are 21:00 to 24:00 in Berlin
    assert by_day(server, "over", "sum:cost,sum:node_hours", tz="Europe/Berlin") == {
        "2026-03-02": [pytest.approx(240 * 3 / 4), pytest.approx(6)], "2026-03-03": [pytest.approx(240 / 4 + 288), pytest.approx(10)]}
    # it fails for 22 hours, and is resumed: nothing of these is billed
    run_job(server, "again", KNOWN, nodes=1, at_s=midnight_s - 2 * HOUR_S, seconds=HOUR_S, end="Failed")
    move(server, "again", "Training", midnight_s + 21 * HOUR_S)
    move(server, "again", "Completed", midnight_s + 26 * HOUR_S)
    worked_out(server, "again")
    wait_until(lambda: row(server, "again")["cost"] == 30 + 5 * 36, what="its cost")
    hours = {"2026-03-02": [30, 1], "2026-03-03": [3 * 36, 3], "2026-03-04": [2 * 36, 2]}
    assert of_goodput("again") == hours == by_day(server, "again", "sum:cost,sum:node_hours")
    [whole] = get(server, "/api/v1/aggregate?q=name=again&of=sum:node_hours,sum:billable,sum:duration")["groups"]
    assert whole == {"sum:node_hours": 6, "sum:billable": 6 * HOUR_S, "sum:duration": 28 * HOUR_S}
    fleet = get(server, "/api/v1/goodput?from=2026-03-01&to=2026-03-05")
    assert fleet["billed_node_hours"] == 16 + 6 and [day["billed_node_hours"] for day in fleet["days"]] == [8 + 1, 8 + 3, 2]


def test_a_day_on_which_a_job_was_put_aside_has_nothing_of_it(make_server):
    server = make_server("--goodput-every", "100ms")
    put_prices(server, price(KNOWN, 1.5))
    reply = server.post("/api/v1/jobs", json={"TrainingJobName": "paused", "ResourceConfig": {"InstanceType": KNOWN, "InstanceCount": 1}})
    assert reply.status == 201
    first_s, last_s = NOON_S, NOON_S + 4 * DAY_S
    for begin_s, first in ((first_s, 0), (last_s, 120)):
        text = "".join(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(begin_s + 60 * i))} step {first + i} loss: 2.5\n" for i in range(121))
        assert server.post("/api/v1/logs?job=paused&stream=algo-1", text.encode()).status == 200
    move(server, "paused", "Completed", last_s + 2 * HOUR_S)
    wait_until(lambda: row(server, "paused").get("cost") == 4 * 1.5, what="its cost")
    days = {day["day"]: [day["cost"], day["billed_node_hours"]] for day in get(server, "/api/v1/jobs/paused/goodput")["days"]}
    assert days == by_day(server, "paused", "sum:cost,sum:node_hours")
    assert days == {"2026-03-02": [3, 2], "2026-03-06": [3, 2]}


def test_sums_of_a_job_that_never_ended_are_of_the_time_it_worked(make_server):
    """Three nodes for four hours around midnight of five days ago, and not a word since: nobody pays for these days."""
    server = make_server("--goodput-every", "100ms")
    put_prices(server, price(KNOWN, 10))
    midnight_s = int(time.time()) // DAY_S * DAY_S - 5 * DAY_S
    tags = [{"Key": "team", "Value": "nlp"}]
    reply = server.post("/api/v1/jobs", json={"TrainingJobName": "open", "ResourceConfig": {"InstanceType": KNOWN, "InstanceCount": 3}, "Tags": tags})
    assert reply.status == 201
    text = "".join(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(midnight_s + 60 * i))} step {121 + i} loss: 2.5\n" for i in range(-120, 121))
    assert server.post("/api/v1/logs?job=open&stream=algo-1", text.encode()).status == 200
    wait_until(lambda: row(server, "open").get("cost") == 3 * 4 * 10, what="its cost")
    of, half, none = "sum:cost,sum:node_hours,sum:billable", [3 * 2 * 10, 3 * 2, 2 * HOUR_S], [0, 0, 0]
    first, second = (time.strftime("%Y-%m-%d", time.gmtime(midnight_s + day * DAY_S)) for day in (-1, 0))
    days = by_day(server, "open", of)
    assert {day: days.pop(day) for day in (first, second)} == {first: half, second: half}
    assert all(sums == none for sums in days.values()), days
    for by in ("tag.team", "instance", "name"):
        [group] = get(server, "/api/v1/aggregate?" + urlencode({"q": "name=open", "by": by, "of": of}))["groups"]
        assert [group[one] for one in of.split(",")] == [2 * one for one in half], by
    assert search(server, "name=open", "--by", "tag.team", "--of", "sum:node_hours,sum:billable", "--csv").splitlines()[1] == f"nlp,12,{4 * HOUR_S}"


def test_seconds_are_searched_as_they_are_shown(make_server):
    """What runs has none yet; what was stated counts, and no wait for machines, nor what it was put aside for."""
    server = make_server("--goodput-every", "100ms")
    run_job(server, "runs", KNOWN, seconds=None)
    run_job(server, "short", KNOWN, seconds=HOUR_S // 2)
    run_job(server, "long", KNOWN, seconds=3 * HOUR_S)
    run_job(server, "stated", KNOWN, seconds=3 * HOUR_S, BillableTimeInSeconds=HOUR_S // 3, TrainingTimeInSeconds=HOUR_S // 2)
    run_job(server, "waited", KNOWN, seconds=None)
    for status, hours in (("Interrupted", 1), ("Training", 4), ("Completed", 5)):
        move(server, "waited", status, NOON_S + hours * HOUR_S)
    text = "".join(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(at_s + 60 * i))} step {i} loss: 2.5\n" for at_s in (NOON_S, NOON_S + 3 * DAY_S)
        for i in range(31))
    assert server.post("/api/v1/logs?job=aside&stream=algo-1", text.encode()).status == 200
    move(server, "aside", "Completed", NOON_S + 3 * DAY_S + HOUR_S // 2)
    wanted = {"runs": (None, None), "short": (HOUR_S // 2, HOUR_S // 2), "long": (3 * HOUR_S, 3 * HOUR_S), "stated": (HOUR_S // 2, HOUR_S // 3),
        "waited": (5 * HOUR_S, 2 * HOUR_S), "aside": (3 * DAY_S + HOUR_S // 2, HOUR_S)}
    def shown(name):
        return tuple(row(server, name).get(of) for of in ("TrainingTimeInSeconds", "BillableTimeInSeconds"))
    wait_until(lambda: {name: shown(name) for name in wanted} == wanted, what="the seconds of the rows")
    for at, names in ((1, ("billable", "BillableTimeInSeconds")), (0, ("TrainingTimeInSeconds",))):
        for compare, is_hit in ((">", lambda s, than: s > than), ("<=", lambda s, than: s <= than), ("=", lambda s, than: s == than)):
            for than in (HOUR_S // 3, HOUR_S // 2, HOUR_S, 2 * HOUR_S, 5 * HOUR_S):
                own = sorted(name for name, seconds in wanted.items() if seconds[at] is not None and is_hit(seconds[at], than))
                for name in names:
                    found = get(server, "/api/v1/jobs?" + urlencode({"q": f"{name}{compare}{than}"}))["jobs"]
                    assert sorted(one["TrainingJobName"] for one in found) == own, (name, compare, than)
    assert [one["TrainingJobName"] for one in get(server, "/api/v1/jobs?q=not+billable+exists")["jobs"]] == ["runs"]
    reply = server.post("/", json.dumps({"Resource": "TrainingJob", "SearchExpression": {"Filters": [
        {"Name": "BillableTimeInSeconds", "Operator": "GreaterThan", "Value": str(HOUR_S)}]}}), content_type="application/x-amz-json-1.1",
        headers={"X-Amz-Target": "SageMaker.Search"})
    found = [one["TrainingJob"] for one in json.loads(reply.raw)["Results"]]
    assert {one["TrainingJobName"]: one["BillableTimeInSeconds"] for one in found} == {"long": 3 * HOUR_S, "waited": 2 * HOUR_S}


def print_steps(server, name, steps, at_s):
    text = "".join(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(at_s + 10 * i))} step {step} loss: 2.5\n" for i, step in enumerate(steps))
    assert server.post(f"/api/v1/logs?job={name}&stream=algo-1", text.encode()).status == 200


def test_steps_that_a_chain_makes_again_have_a_price(make_server):
    server = make_server("--goodput-every", "100ms")
    put_prices(server, price(KNOWN, 36))  # 0.01 a second of a node
    run_job(server, "one", KNOWN, seconds=None)
    print_steps(server, "one", range(1, 31), NOON_S + 10)  # ten seconds a step, 30 of them
    move(server, "one", "Completed", NOON_S + 300)
    run_job(server, "two", KNOWN, seconds=None, at_s=NOON_S + 300, Tags=[{"Key": "continues", "Value": "one"}])
    print_steps(server, "two", range(21, 41), NOON_S + 310)  # 21 to 30 once more
    move(server, "two", "Completed", NOON_S + 500)
    def chain():
        return get(server, "/api/v1/jobs/two/run")["goodput"]
    def is_whole():
        return "pending_jobs" not in chain() and chain()["lost_steps"] == 10 and chain()["cost"] == pytest.approx(2 * 500 * 0.01)
    wait_until(is_whole, what="both jobs")
    assert chain()["lost_cost"] == pytest.approx(2 * 10 * 10 * 0.01, abs=1e-3)


def test_steps_that_nobody_saw_are_not_known_to_be_lost_or_not(make_server):
    server = make_server("--goodput-every", "100ms")
    run_job(server, "mute", KNOWN, end="Failed", FailureReason="InternalServerError: hardware")
    worked_out(server, "mute")
    reply = get(server, "/api/v1/jobs/mute/goodput")
    assert [one["lost_steps"] for one in reply["breaks"]] == [None] and [one["lost_steps"] for one in reply["causes"]] == [None]
    assert get(server, "/api/v1/jobs/mute/run")["goodput"]["lost_steps"] is None
    wait_until(lambda: get(server, "/api/v1/aggregate?of=sum:lost_steps")["groups"] == [{"sum:lost_steps": None, "lost_steps_unknown": 1}],
        what="the sum, of breaks as they were worked out last")
    # it broke off behind step 3, and nobody knows yet from where it goes on
    run_job(server, "seen", KNOWN, seconds=None)
    print_steps(server, "seen", [1, 2, 3], NOON_S + 10)
    move(server, "seen", "Failed", NOON_S + 60)
    wait_until(lambda: get(server, "/api/v1/jobs/seen/goodput")["steps"].get("made") == 3, what="its steps")
    [broken] = get(server, "/api/v1/jobs/seen/goodput")["breaks"]
    assert broken["step"] == 3 and broken["lost_steps"] is None


def test_a_bucket_that_nobody_can_know_is_named(make_server):
    server = make_server("--goodput-every", "100ms")
    run_job(server, "mute", KNOWN, launch_s=60)
    reply = get(server, "/api/v1/jobs/mute/goodput")
    assert reply["buckets"]["launch"]["seconds"] == 60 and reply["buckets"]["unmeasured"]["seconds"] == HOUR_S
    assert reply["unknown_buckets"] == ["first_step", "productive", "evaluation", "checkpoint", "redone", "stalled"]
    # nobody said how long a job took to start that only its lines tell of
    print_steps(server, "told", [1, 2, 3], NOON_S)
    wait_until(lambda: get(server, "/api/v1/jobs/told/goodput")["steps"].get("made"), what="its steps")
    assert get(server, "/api/v1/jobs/told/goodput")["unknown_buckets"] == ["capacity", "unhealthy_replaced", "launch", "image", "data"]


def test_a_start_up_that_nobody_saw_is_not_0_seconds(make_server):
    server = make_server("--goodput-every", "100ms")
    config = {"InstanceType": KNOWN, "InstanceCount": 1, "VolumeSizeInGB": 1, "KeepAlivePeriodInSeconds": 3600}
    now_s = int(time.time())
    for name, team in (("seen", "a"), ("unseen", "b")):
        reply = server.post("/api/v1/jobs", json={"TrainingJobName": name, "ResourceConfig": {**config, "InstanceType": f"ml.{team}.large"}})
        assert reply.status == 201
    move(server, "seen", "Starting", now_s - 2 * HOUR_S)
    move(server, "seen", "Training", now_s - 2 * HOUR_S + 120)
    move(server, "seen", "Completed", now_s - HOUR_S)
    move(server, "unseen", "Training", now_s - 2 * HOUR_S)
    move(server, "unseen", "Completed", now_s - HOUR_S)
    sides = {one["instance_type"]: one for one in get(server, "/api/v1/startup?by=type")["rows"]}
    seen, unseen = sides["ml.a.large"], sides["ml.b.large"]
    assert (seen["cold"]["startup_seconds"], seen["cold"]["measured_jobs"]) == (120, 1)
    assert (unseen["cold"]["startup_seconds"], unseen["cold"]["mean_startup_seconds"], unseen["cold"]["measured_jobs"]) == (None, None, 0)
    assert unseen["cold"]["jobs"] == 1 and unseen["warm"]["startup_seconds"] == 0 == unseen["warm"]["jobs"]
    one = get(server, "/api/v1/jobs/unseen/warm-pool")
    assert one["startup_seconds"] is None and one["cold_startup_seconds"] is None and "saved_seconds" not in one
    # a cluster that waits costs what nobody can say
    put_prices(server, price("ml.a.large", 10))
    pools = {one["InstanceType"]: one for one in get(server, "/api/v1/warm-pools")["pools"]}
    assert pools["ml.b.large"]["idle_cost"] is None and pools["ml.b.large"]["unpriced_types"] == ["ml.b.large"]
    waited_s = pools["ml.a.large"]["idle_seconds"]
    assert pools["ml.a.large"]["idle_cost"] == pytest.approx(waited_s / HOUR_S * 10, abs=0.01) and pools["ml.a.large"]["currency"] == "EUR"
    assert pools["ml.b.large"]["currency"] == "EUR" and pools["ml.b.large"]["cold_startup_seconds"] is None


def test_space_that_nobody_looked_at_is_not_0(make_server):
    server = make_server()
    first = get(server, "/api/v1/retention")
    assert (first["used_bytes"] is None) == (first["used_at_ms"] is None) and first["used_bytes"] != 0
    wait_until(lambda: get(server, "/api/v1/retention")["used_bytes"], what="the first look")


def chart(server, name, instance=None, **more):
    """As another tool's chart comes, which bears no times: all its points are of one moment, and so are its start and its end."""
    if instance:
        document = {"TrainingJobName": name, "ResourceConfig": {"InstanceType": instance, "InstanceCount": 2}, **more}
        assert server.post("/api/v1/jobs", json=document).status == 201
    body = "_step,_timestamp,loss\n" + "".join(f"{step},{NOON_S},2.5\n" for step in range(3))
    assert server.post(f"/api/v1/points?job={name}", body, content_type="text/csv").status == 200
    server.wait_for_points(name, "loss", 3)
    move(server, name, "Completed", NOON_S)


def test_a_job_without_any_times_did_not_take_0_seconds(make_server):
    server = make_server("--goodput-every", "100ms")
    put_prices(server, price(KNOWN, 10))
    chart(server, "nothing")
    chart(server, "typed", KNOWN)
    chart(server, "billed", KNOWN, BillableTimeInSeconds=HOUR_S)
    run_job(server, "timed", KNOWN)
    names = ["nothing", "typed", "billed", "timed"]
    wanted = {"nothing": None, "typed": None, "billed": 2 * 10, "timed": 2 * 10}
    wait_until(lambda: {name: row(server, name).get("cost", -1) for name in names} == wanted, what=f"costs {wanted}")
    seconds = {name: (one.get("TrainingTimeInSeconds"), one.get("BillableTimeInSeconds")) for name in names for one in [row(server, name)]}
    assert seconds == {"nothing": (None, None), "typed": (None, None), "billed": (None, HOUR_S), "timed": (HOUR_S, HOUR_S)}
    described = json.loads(server.post("/", '{"TrainingJobName": "typed"}', content_type="application/x-amz-json-1.1",
        headers={"X-Amz-Target": "SageMaker.DescribeTrainingJob"}).raw)
    assert described["TrainingJobStatus"] == "Completed" and not {"TrainingTimeInSeconds", "BillableTimeInSeconds"} & set(described)
    goodput = {name: get(server, f"/api/v1/jobs/{name}/goodput") for name in names}
    assert {name: goodput[name]["wall_seconds"] for name in names} == {"nothing": None, "typed": None, "billed": None, "timed": HOUR_S}
    assert set(goodput["typed"]["unknown_buckets"]) == set(goodput["typed"]["buckets"]) and len(goodput["typed"]["buckets"]) == 14
    assert goodput["nothing"]["steps"]["last"] == 2 and "step_seconds" not in goodput["nothing"]["steps"]
    costs = {name: goodput[name]["cost"] for name in names}
    assert [(costs[name]["billable_seconds"], costs[name].get("reason")) for name in names] == [
        (None, "no times"), (None, "no times"), (HOUR_S, None), (HOUR_S, None)]
    assert costs["nothing"]["unpriced_types"] == ["unknown"] == row(server, "nothing")["unpriced_types"]
    assert costs["typed"]["unpriced_types"] == [] and "unpriced_types" not in row(server, "typed")
    for query in ("duration<10", "BillableTimeInSeconds<10", "TrainingTimeInSeconds=0", "duration>=0"):
        found = get(server, "/api/v1/jobs?" + urlencode({"q": query}))["jobs"]
        assert [one["TrainingJobName"] for one in found] == (["timed"] if query == "duration>=0" else []), query
    of = "sum:duration,sum:billable,sum:node_hours"
    groups = {one["name"]: one for one in get(server, f"/api/v1/aggregate?by=name&of={of}")["groups"]}
    assert [[groups[name][one] for one in of.split(",")] for name in names] == [
        [None, None, None], [None, None, None], [None, HOUR_S, 2], [HOUR_S, HOUR_S, 2]]
    shown = search(server, "", "--fields", "name,duration,billable", "--sort", "name", "--csv").splitlines()
    assert shown[1:] == [f"billed,,{HOUR_S}", "nothing,,", f"timed,{HOUR_S},{HOUR_S}", "typed,,"]
    # a day has what was billed on it, whoever said how much that was
    assert [(day["day"], day["cost"]) for day in get(server, "/api/v1/jobs/billed/goodput")["days"]] == [("2026-03-02", 20)]


def test_the_fleet_names_the_types_whose_hours_have_no_price(make_server):
    server = make_server("--goodput-every", "100ms")
    def unpriced():
        both = [sorted(get(server, f"/api/v1/{of}")["unpriced_types"]) for of in ("fleet", "goodput")]
        assert both[0] == both[1], both
        return both[0]
    at_s = int(time.time()) - 2 * DAY_S
    tomorrow = time.strftime("%Y-%m-%d", time.gmtime(at_s + DAY_S))
    put_prices(server, price(KNOWN, 10), price("ml.late.large", 10, **{"from": tomorrow}))
    run_job(server, "known", KNOWN, at_s=at_s)
    run_job(server, "odd", ODD, at_s=at_s)
    wait_until(lambda: unpriced() == [ODD], what="the one type")
    reply = server.patch("/api/v1/jobs/odd", json={"by_hand": {"price_per_hour": 4}})
    assert reply.status == 200, reply
    wait_until(lambda: row(server, "odd").get("cost") == 2 * 4, what="the price by hand")
    assert unpriced() == []
    run_job(server, "late", "ml.late.large", at_s=at_s)  # the day before its price begins
    wait_until(lambda: unpriced() == ["ml.late.large"], what="the type whose price begins later than its hours")
    run_job(server, "none", None, at_s=at_s)
    wait_until(lambda: unpriced() == ["ml.late.large", "unknown"], what="what nobody says the type of")
    put_prices(server, price(KNOWN, 10), price("ml.late.large", 10))
    wait_until(lambda: unpriced() == ["unknown"], what="a price for the others")


def test_a_sum_of_lost_steps_says_of_how_many_breaks_it_knows_nothing(make_server):
    server = make_server("--goodput-every", "100ms")
    def train(name, team, *starts, end):
        run_job(server, name, KNOWN, team=team, seconds=None)
        at_s = NOON_S
        for steps in starts:  # ten seconds a step, a minute until it goes on
            print_steps(server, name, steps, at_s + 10)
            at_s += 10 * len(steps) + 60
        wait_until(lambda: get(server, f"/api/v1/jobs/{name}/goodput")["steps"].get("last") == starts[-1][-1], what=f"steps of {name}")
        move(server, name, end, at_s)
    train("gone", "a", range(1, 11), end="Failed")  # from which step would it have gone on?
    train("again", "b", range(1, 11), range(5, 13), end="Failed")  # 5 to 10 were lost, and then again who knows
    train("clean", "b", range(1, 11), end="Completed")
    train("whole", "c", range(1, 11), end="Completed")
    def sums(by="tag.team", of="sum:lost_steps"):
        groups = get(server, f"/api/v1/aggregate?by={by}&of={of}")["groups"]
        return [tuple(group.values()) for group in groups]
    wanted = [("a", None, 1), ("b", 6 + 0, 1), ("c", 0, 0)]
    wait_until(lambda: sums() == wanted, what=f"sums {wanted}")
    assert list(get(server, "/api/v1/aggregate?of=sum:lost_steps")["groups"][0].items()) == [("sum:lost_steps", 6), ("lost_steps_unknown", 2)]
    assert sums("name", "mean:lost_steps,count") == [("again", 6, 1, 1), ("clean", 0, 1, 0), ("gone", None, 1, 1), ("whole", 0, 1, 0)]
    assert "lost_steps_unknown" not in get(server, "/api/v1/aggregate?of=count")["groups"][0]
    assert search(server, "", "--by", "tag.team", "--of", "sum:lost_steps", "--csv").splitlines() == [
        "tag.team,sum:lost_steps,lost_steps_unknown", "a,,1", "b,6,1", "c,0,0"]
    reply = server.get("/api/v1/aggregate?by=tag.team&of=sum:lost_steps&format=csv")
    assert reply.raw.decode().splitlines() == ["tag.team,sum:lost_steps,lost_steps_unknown", "a,,1", "b,6,1", "c,0,0"]


def test_a_chains_lost_steps_say_of_how_many_breaks_nothing_is_known(make_server):
    server = make_server("--goodput-every", "100ms")
    at_s = NOON_S
    def link(name, steps, end, before=None):
        nonlocal at_s
        run_job(server, name, KNOWN, seconds=None, at_s=at_s, Tags=[{"Key": "continues", "Value": before}] if before else [])
        if steps:
            print_steps(server, name, steps, at_s + 10)
        at_s += 10 * len(steps) + 60
        move(server, name, end, at_s)
    def lost(name):
        chain = get(server, f"/api/v1/jobs/{name}/run")["goodput"]
        return None if "pending_jobs" in chain else (chain["lost_steps"], chain["lost_steps_unknown"])
    def wait_for(name, *wanted):
        wait_until(lambda: lost(name) == wanted, what=f"{wanted} of the chain of {name}")
    link("one", range(1, 11), "Failed")
    wait_for("one", None, 1)  # from which step would it go on?
    link("two", range(6, 13), "Failed", "one")  # so from 5: 6 to 10 were lost; and what of 7 to 12?
    wait_for("two", 10 - 5, 1)
    link("mute", [], "Failed", "two")
    wait_for("two", 10 - 5, 2)  # what a job did that prints nothing is not known either
    link("last", range(11, 21), "Completed", "mute")
    wait_for("last", (10 - 5) + (12 - 10), 1)  # from 10: 11 and 12 were made again, and of `mute` nobody knows still
    link("whole", range(1, 11), "Completed")
    wait_for("whole", 0, 0)
