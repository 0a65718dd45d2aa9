"""What the fleet was billed for is one number: in the fleet's sums, in a job's cost, in /aggregate, and in the currency it was in."""

import time

import pytest

from olddb import as_version
from engine import of_a_file
from smserver import wait_until
from test_fleet import fleet, quota
from test_money import DAY_S, HOUR_S, KNOWN, NOON_S, get, move, price, put_prices, run_job, worked_out

NODES, HOURS = 3, 4


def log(begin_s, minutes):
    return "".join(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(begin_s + 60 * i))} step {i} loss: 2.5\n" for i in range(minutes + 1))


def hours(server, name):
    """Of the fleet, of the job's cost, of sums."""
    cost = get(server, f"/api/v1/jobs/{name}/goodput")["cost"]["billable_seconds"]
    [group] = get(server, f"/api/v1/aggregate?q=name={name}&of=sum:node_hours")["groups"]
    return [round(one or 0, 4) for one in (fleet(server)["node_hours"], NODES * (cost or 0) / 3600, group["sum:node_hours"])]


def wait_for_hours(server, name, wanted):
    wait_until(lambda: hours(server, name) == [round(wanted, 4)] * 3, what=f"{wanted} node-hours everywhere, not {hours(server, name)}")


def announce(server, name, **more):
    resources = {"InstanceType": KNOWN, "InstanceCount": NODES, "VolumeSizeInGB": 1}
    assert server.post("/api/v1/jobs", json={"TrainingJobName": name, "ResourceConfig": resources, **more}).status == 201


def test_a_job_that_never_ended_is_counted_until_its_last_sign_of_life(make_server):
    server = make_server("--goodput-every", "100ms")
    begin_s = int(time.time()) - 5 * DAY_S
    announce(server, "open")
    assert server.post("/api/v1/logs?job=open&stream=algo-1", log(begin_s, 60 * HOURS).encode()).status == 200
    wait_for_hours(server, "open", NODES * HOURS)
    assert fleet(server)["nodes"]["in_jobs"] == NODES  # nobody said that it gave them back
    assert quota(server, "longest_run_seconds")["used"] == HOURS * HOUR_S
    server.restart()
    wait_for_hours(server, "open", NODES * HOURS)
    # more of its log comes, an hour later
    assert server.post("/api/v1/logs?job=open&stream=algo-1", log(begin_s + (HOURS + 1) * HOUR_S, 60).encode()).status == 200
    wait_for_hours(server, "open", NODES * (HOURS + 2))
    move(server, "open", "Completed", begin_s + 10 * HOUR_S)
    wait_for_hours(server, "open", NODES * 10)
    assert server.delete("/api/v1/jobs/open").status < 300
    assert fleet(server)["node_hours"] == 0


def test_a_live_job_that_falls_silent_stops_and_goes_on_when_it_is_heard_again(make_server):
    server = make_server("--goodput-every", "100ms", "--silent-after", "2s")
    announce(server, "live")
    first_s = int(time.time()) - HOUR_S
    assert server.post("/api/v1/logs?job=live&stream=algo-1", (log(first_s, 59) + "step 60 loss: 2.5\n").encode()).status == 200
    def is_still():
        before = hours(server, "live")
        return before[0] == before[1] == before[2] and NODES <= before[0] < NODES * 1.05 and before == hours(server, "live")
    wait_until(lambda: fleet(server)["jobs"]["silent"] == 1, what="the job to be silent")
    wait_until(is_still, what="hours that stand still")
    still = fleet(server)["node_hours"]
    assert fleet(server)["node_hours"] == still
    assert server.post("/api/v1/logs?job=live&stream=algo-1", b"step 61 loss: 2.5\n").status == 200
    wait_until(lambda: fleet(server)["node_hours"] > still, what="hours that go on")


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_start_and_an_import_forget_no_silence(make_server, is_killed):
    """Who was silent for long when the server ended costs nothing until it is heard again: neither asked for, nor in sums."""
    short = ("--goodput-every", "100ms", "--silent-after", "4s")
    server = make_server(*short)
    announce(server, "dead")
    first_s = int(time.time()) - HOUR_S
    assert server.post("/api/v1/logs?job=dead&stream=algo-1", log(first_s, 59).encode()).status == 200
    wanted = NODES * 59 / 60

    def is_known(one):
        return hours(one, "dead") == [round(wanted, 4)] * 3

    wait_until(lambda: is_known(server), what="the job to be silent")
    export = server.get("/api/v1/export").raw
    if is_killed:
        server.kill()
    else:
        server.stop()
    server.start("127.0.0.1:0", "--goodput-every", "100ms", "--silent-after", "1h")
    assert is_known(server), hours(server, "dead")
    put_prices(server, price(KNOWN, 10))  # all is worked out anew
    wait_until(lambda: get(server, "/api/v1/jobs/dead").get("cost"), what="what it cost")
    assert is_known(server) and round(get(server, "/api/v1/jobs/dead")["cost"], 2) == round(10 * wanted, 2), hours(server, "dead")
    assert server.post("/api/v1/logs?job=dead&stream=algo-1", b"step 61 loss: 2.5\n").status == 200
    wait_until(lambda: min(hours(server, "dead")) > wanted, what="hours that go on")
    other = make_server(*short)
    assert other.post("/api/v1/import", export, content_type="application/x-ndjson").status == 200
    assert hours(other, "dead")[1] == round(wanted, 4)
    wait_for_hours(other, "dead", wanted)


def test_hours_that_are_stated_are_those_of_the_fleet(make_server):
    server = make_server("--goodput-every", "100ms")
    announce(server, "stated", BillableTimeInSeconds=600)
    move(server, "stated", "Training", NOON_S)
    wait_for_hours(server, "stated", NODES * 600 / 3600)
    move(server, "stated", "Completed", NOON_S + HOUR_S)
    wait_for_hours(server, "stated", NODES * 600 / 3600)
    [row] = fleet(server)["nodes"]["by_type"]
    assert row["ended_node_hours"] == pytest.approx(NODES * 600 / 3600)


def before_one_bill(server):
    """As a database of before 0042 has it: silent jobs run until now, and what deleted jobs cost is among the rest."""
    with as_version(server, 41) as database:
        for statement in ("UPDATE goodput_totals SET cost = goodput_totals.cost + x.cost, lost_cost = goodput_totals.lost_cost + x.lost_cost"
                " FROM (SELECT day, sum(cost) AS cost, sum(lost_cost) AS lost_cost FROM newer.goodput_deleted GROUP BY day) AS x WHERE x.day = goodput_totals.day",
                "DELETE FROM fleet_totals WHERE name IN ('node_ms', 'started_nodes', 'started_node_ms')",
                "INSERT INTO fleet_totals (name, instance_type, value, highest, highest_ms) SELECT 'node_ms', '',"
                " ifnull(sum(nodes * (ended_ms - started_ms - unbilled_ms)), 0), 0, 0 FROM fleet_jobs WHERE ended_ms > 0",
                "INSERT INTO fleet_totals (name, instance_type, value, highest, highest_ms) SELECT 'started_nodes', '',"
                " ifnull(sum(nodes), 0), 0, 0 FROM fleet_jobs WHERE ended_ms = 0 AND started_ms > 0",
                "INSERT INTO fleet_totals (name, instance_type, value, highest, highest_ms) SELECT 'started_node_ms', '',"
                " ifnull(sum(nodes * (started_ms + unbilled_ms)), 0), 0, 0 FROM fleet_jobs WHERE ended_ms = 0 AND started_ms > 0"):
            database.execute(statement)
    server.start()


@of_a_file("of an older version")
def test_an_older_database_is_counted_anew(make_server):
    server = make_server("--goodput-every", "100ms")
    put_prices(server, price(KNOWN, 10))
    begin_s = int(time.time()) - 5 * DAY_S
    announce(server, "open")
    assert server.post("/api/v1/logs?job=open&stream=algo-1", log(begin_s, 60 * HOURS).encode()).status == 200
    wait_for_hours(server, "open", NODES * HOURS)
    run_job(server, "gone", KNOWN, nodes=2, seconds=HOUR_S)
    worked_out(server, "gone")
    assert server.delete("/api/v1/jobs/gone?purge=true").status < 300
    run_job(server, "stays", KNOWN, nodes=1, seconds=HOUR_S)
    worked_out(server, "stays")
    before_one_bill(server)
    all_hours = NODES * HOURS + 1
    wait_until(lambda: round(fleet(server)["node_hours"], 4) == all_hours, what=f"{all_hours} node-hours, not {fleet(server)['node_hours']}")
    wait_until(lambda: month(server)[0] == (2 + 1) * 10, what="both costs")
    put_prices(server, price(KNOWN, 20), currency="USD")
    wait_until(lambda: month(server) == (1 * 20, "USD", [{"currency": "EUR", "cost": 2 * 10, "lost_cost": 0}]), what="each in its currency")


def month(server, first="2026-03-01", last="2026-03-31"):
    sums = get(server, f"/api/v1/goodput?from={first}&to={last}")
    assert sum(day["cost"] or 0 for day in sums["days"]) == (sums["cost"] or 0)
    return sums["cost"], sums["currency"], sums.get("other_currencies")


def test_what_deleted_jobs_cost_stays_in_its_currency(make_server):
    """One of 2 nodes for an hour at 10 EUR an hour is deleted; prices go to USD, and back."""
    server = make_server("--goodput-every", "100ms")
    put_prices(server, price(KNOWN, 10))
    now_s = int(time.time()) // DAY_S * DAY_S - HOUR_S  # of yesterday, so of the last 30 days
    for name, nodes, at_s in (("gone", 2, NOON_S), ("stays", 1, NOON_S), ("fresh", 5, now_s)):
        run_job(server, name, KNOWN, nodes=nodes, at_s=at_s, seconds=HOUR_S)
    worked_out(server, "gone", "stays", "fresh")
    def thirty():
        sums = fleet(server)["last_30_days"]
        return sums["cost"], sums.get("other_currencies"), fleet(server)["today"].get("other_currencies")
    wait_until(lambda: (month(server), thirty()) == ((2 * 10 + 10, "EUR", None), (5 * 10, None, None)), what="all costs")
    for name in ("gone", "fresh"):
        assert server.delete(f"/api/v1/jobs/{name}").status < 300
    assert month(server) == (2 * 10 + 10, "EUR", None) and thirty() == (5 * 10, None, None)  # the money was spent
    put_prices(server, price(KNOWN, 30), currency="USD")
    wait_until(lambda: month(server)[0] == 30, what="the job that stays, by the new price")
    assert month(server) == (30, "USD", [{"currency": "EUR", "cost": 20, "lost_cost": 0}])
    assert thirty() == (None, [{"currency": "EUR", "cost": 50, "lost_cost": 0}], None)  # nothing that ran then has a price in USD
    assert get(server, "/api/v1/goodput?from=2026-03-01&to=2026-03-31")["billed_node_hours"] == 3  # hours have no currency
    text = server.get("/metrics").raw.decode()
    assert 'smfleet_cost_30_days{currency="USD"}' not in text and 'smfleet_cost_30_days{currency="EUR"} 50\n' in text
    assert 'smfleet_lost_cost_30_days{currency="EUR"} 0\n' in text and text.count("TYPE smfleet_cost_30_days ") == 1
    run_job(server, "third", KNOWN, nodes=4, seconds=HOUR_S)
    worked_out(server, "third")
    assert server.delete("/api/v1/jobs/third").status < 300
    put_prices(server, price(KNOWN, 11))
    wait_until(lambda: month(server) == (20 + 11, "EUR", [{"currency": "USD", "cost": 4 * 30, "lost_cost": 0}]), what="costs of EUR again")
    server.restart()
    assert month(server) == (20 + 11, "EUR", [{"currency": "USD", "cost": 4 * 30, "lost_cost": 0}])


def test_a_price_by_hand_keeps_the_currency_that_it_was_set_in(make_server):
    """An hour of 2 nodes at 7 EUR by hand beside one of 1 node at 10 EUR of the list, which goes to USD, and back."""
    server = make_server("--goodput-every", "100ms")
    put_prices(server, price(KNOWN, 10))
    for name, nodes in (("hand", 2), ("plain", 1)):
        run_job(server, name, KNOWN, nodes=nodes, seconds=HOUR_S)
    by_hand = lambda **what: server.patch("/api/v1/jobs/hand", json={"by_hand": what})
    assert by_hand(price_per_hour=7).status == 200
    wait_until(lambda: month(server) == (2 * 7 + 10, "EUR", None), what="both costs")
    assert get(server, "/api/v1/jobs/hand")["by_hand"] == {"price_per_hour": 7}

    reply = server.put("/api/v1/prices", json={"currency": "USD", "prices": [price(KNOWN, 20)]})
    assert reply.status == 200 and reply.body["jobs_in_other_currencies"] == 1
    other = [{"currency": "EUR", "cost": 2 * 7, "lost_cost": 0}]
    wait_until(lambda: month(server) == (20, "USD", other), what="each in its currency")
    job = get(server, "/api/v1/jobs/hand")
    assert (job["cost"], job["currency"], job["by_hand"]) == (2 * 7, "EUR", {"price_per_hour": 7, "price_currency": "EUR"})
    cost = get(server, "/api/v1/jobs/hand/goodput")["cost"]
    assert (cost["total"], cost["currency"]) == (2 * 7, "EUR")
    def summed(by=""):
        return [(group["sum:cost"], group["currency"], group["unpriced_jobs"], group["unpriced_types"])
            for group in get(server, f"/api/v1/aggregate?of=sum:cost{by}")["groups"]]
    assert summed() == summed("&by=month") == [(20, "USD", 1, ["currency:EUR"])]
    assert [row["TrainingJobName"] for row in get(server, "/api/v1/jobs?q=cost%3E0")["jobs"]] == ["plain"]
    server.restart()
    assert month(server) == (20, "USD", other)
    put_prices(server, price(KNOWN, 30), currency="USD")  # another price in the same currency
    wait_until(lambda: month(server) == (30, "USD", other), what="the list's new price")

    assert by_hand(nodes=3).status == 200  # what is set beside it leaves it in its currency
    wait_until(lambda: month(server) == (30, "USD", [{"currency": "EUR", "cost": 3 * 7, "lost_cost": 0}]), what="three nodes")
    assert by_hand(price_per_hour=8).status == 200  # a price alone stays in it, too
    wait_until(lambda: month(server) == (30, "USD", [{"currency": "EUR", "cost": 3 * 8, "lost_cost": 0}]), what="another price in EUR")
    assert by_hand(price_per_hour=9, price_currency=None).status == 200  # set now: in the currency of now
    wait_until(lambda: month(server) == (30 + 3 * 9, "USD", None), what="all of it in USD")
    assert "price_currency" not in get(server, "/api/v1/jobs/hand")["by_hand"]
    assert by_hand(price_per_hour=7, price_currency="EUR").status == 200
    wait_until(lambda: month(server) == (30, "USD", [{"currency": "EUR", "cost": 3 * 7, "lost_cost": 0}]), what="as it was stated")
    put_prices(server, price(KNOWN, 10))
    wait_until(lambda: month(server) == (10 + 3 * 7, "EUR", None), what="one currency again")
    assert "jobs_in_other_currencies" not in get(server, "/api/v1/prices")
    put_prices(server, price(KNOWN, 30), currency="USD")
    wait_until(lambda: month(server) == (30, "USD", [{"currency": "EUR", "cost": 3 * 7, "lost_cost": 0}]), what="two currencies again")
    assert server.delete("/api/v1/jobs/hand").status < 300
    assert month(server) == (30, "USD", [{"currency": "EUR", "cost": 3 * 7, "lost_cost": 0}])  # the money was spent


def unpriced(sums):
    """Of an answer, of its only day: cost, hours without a price of those that were billed."""
    figures = [(one["cost"], one["lost_cost"], one["unpriced_node_hours"], one["billed_node_hours"]) for one in (sums, *sums.get("days", []))]
    assert len(set(figures)) == 1, sums
    return (*figures[0], sums["unpriced_types"])


@pytest.mark.parametrize("is_by_hand", [False, True])
@pytest.mark.parametrize("is_deleted_first", [False, True])
def test_hours_that_have_a_price_in_another_currency_alone_have_none(make_server, is_by_hand, is_deleted_first):
    """2 nodes for 2 hours, at 10 EUR by the list or by hand: once the list is in USD they are 4 hours without a price, deleted or not."""
    server = make_server("--goodput-every", "100ms")
    put_prices(server, price(KNOWN, 10))
    begin_s = int(time.time()) // DAY_S * DAY_S - 3 * HOUR_S  # of yesterday, so of the last 30 days
    day = time.strftime("%Y-%m-%d", time.gmtime(begin_s))
    run_job(server, "one", KNOWN, nodes=2, at_s=begin_s, seconds=2 * HOUR_S)
    if is_by_hand:
        assert server.patch("/api/v1/jobs/one", json={"by_hand": {"price_per_hour": 10, "price_currency": "EUR"}}).status == 200
    worked_out(server, "one")
    def all_sums():
        return [unpriced(get(server, f"/api/v1/goodput?from={day}&to={day}")), unpriced(fleet(server)["last_30_days"])]
    delete = lambda: server.delete("/api/v1/jobs/one").status
    in_eur, in_usd, new_price = [(40, 0, 0, 4, [])] * 2, [(None, None, 4, 4, ["currency:EUR"])] * 2, [(80, 0, 0, 4, [])] * 2
    wait_until(lambda: all_sums() == in_eur, what=f"all in EUR, not {all_sums()}")
    if is_deleted_first:
        assert delete() < 300
        assert all_sums() == in_eur
    put_prices(server, price(KNOWN, 20), currency="USD")
    then = in_usd if is_by_hand or is_deleted_first else new_price
    wait_until(lambda: all_sums() == then, what=f"{then}, not {all_sums()}")
    if not is_deleted_first:
        assert delete() < 300
        assert all_sums() == then
    put_prices(server, price(KNOWN, 10))  # back: the money was spent in its currency
    wait_until(lambda: all_sums() == (in_eur if then == in_usd else [(None, None, 4, 4, ["currency:USD"])] * 2), what=f"EUR again, not {all_sums()}")
    server.restart()
    assert all_sums() == (in_eur if then == in_usd else [(None, None, 4, 4, ["currency:USD"])] * 2)


@pytest.mark.parametrize("is_stated", [False, True])
def test_a_past_log_of_a_job_whose_beginning_was_stated_runs_on(make_server, is_stated):
    """As docs/jobs.md has worked_until_ms: who states its beginning will state its end."""
    server = make_server("--goodput-every", "100ms")
    begin_s = int(time.time()) - 5 * DAY_S
    announce(server, "open")
    if is_stated:
        move(server, "open", "Training", begin_s)
    assert server.post("/api/v1/logs?job=open&stream=algo-1", log(begin_s, 60 * HOURS).encode()).status == 200
    wanted = 5 * 24 if is_stated else HOURS
    def is_so():
        row, seconds = get(server, "/api/v1/jobs/open"), get(server, "/api/v1/jobs/open/goodput")["cost"]["billable_seconds"]
        until = None if is_stated else (begin_s + HOURS * HOUR_S) * 1000
        return abs(seconds / HOUR_S - wanted) < .1 and row.get("worked_until_ms") == until
    wait_until(is_so, what=f"{wanted} hours")


@pytest.mark.parametrize("set_before", [True, False])
def test_a_price_by_hand_is_of_its_currency_on_another_server_too(make_server, set_before):
    """Two node hours at 7 where the list is in EUR are 14 EUR where it is in USD. Without any list they are of the first one."""
    here, there = make_server("--goodput-every", "100ms"), make_server("--goodput-every", "100ms")
    if set_before:
        put_prices(here, price(KNOWN, 10))
    put_prices(there, price(KNOWN, 20), currency="USD")
    run_job(here, "hand", KNOWN, nodes=2, seconds=HOUR_S)
    assert here.patch("/api/v1/jobs/hand", json={"by_hand": {"price_per_hour": 7}}).status == 200
    carried = here.get("/api/v1/export").raw
    assert there.post("/api/v1/import", carried, content_type="application/x-ndjson").body["imported"] == 1
    currency = "EUR" if set_before else "USD"
    wait_until(lambda: get(there, "/api/v1/jobs/hand").get("cost") is not None, what="the cost")
    job = get(there, "/api/v1/jobs/hand")
    assert (job["cost"], job["currency"]) == (2 * 7, currency)
    assert job["by_hand"] == ({"price_per_hour": 7, "price_currency": "EUR"} if set_before else {"price_per_hour": 7})
    assert here.get("/api/v1/export").raw == carried
    assert get(here, "/api/v1/jobs/hand")["by_hand"] == {"price_per_hour": 7}  # nothing is written where it was asked
