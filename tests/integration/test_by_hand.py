"""What is worked out of a job is set right by PATCH: it counts everywhere, says so, is audited, and is taken back by null."""

import json
import time
from urllib.parse import urlencode

import pytest

from awsclients import boto
from smserver import quote, wait_until
from test_life import DOCUMENT, history as history_of
from test_past_ends import GAP_MS, LAST_MS, NODES, PRICE, PRICES, T0, WANTED, WORK_S, bill, past_log, set_up

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


def test_one_change_is_one_entry_in_the_audit(ended):
    """What a change leads to (its cost is worked out) is no second one."""
    entries = lambda: len(ended.get("/api/v1/audit?limit=100").body["entries"])
    told = entries()
    patch(ended, nodes=8)
    assert entries() == told + 1
    assert ended.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": "Training", "time_ms": LAST_MS + GAP_MS}).status == 204
    assert ended.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": "Completed", "time_ms": LAST_MS + 2 * GAP_MS}).status == 204
    assert entries() == told + 3


def test_the_audit_says_that_nothing_stood_there(ended):
    def newest():
        entry = ended.get("/api/v1/audit?limit=1").body["entries"][0]
        return entry["before"], entry["after"]
    patch(ended, nodes=8)
    assert newest() == ({"by_hand": None}, {"by_hand": {"nodes": 8}})
    patch(ended, nodes=6)
    assert newest() == ({"by_hand": {"nodes": 8}}, {"by_hand": {"nodes": 6}})
    assert ended.patch("/api/v1/jobs/j", json={"by_hand": None, "notes": "as it was"}).status == 200
    assert newest() == ({"by_hand": {"nodes": 6}, "Notes": None}, {"by_hand": None, "Notes": "as it was"})


def test_what_cannot_be_is_refused_and_changes_nothing(ended):
    for bad in ({"nodes": 0}, {"nodes": 1.5}, {"end_ms": "soon"}, {"price_per_hour": -1}, {"instance_type": ""}, {"instance_type": " "}, {"price_currency": "  "}, {"host": 5},
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


def test_it_is_searched_shown_and_summed_as_it_was_set(ended):
    """The document states four nodes of a type; beside it a job of which nothing is stated."""
    other, stated = "ml.other.large", "ml.p4d.24xlarge"
    ended.send("plain", past_log())
    assert ended.post("/api/v1/jobs/plain/transitions", json={"SecondaryStatus": "Completed"}).status == 204
    patch(ended, nodes=6, instance_type=other, price_per_hour=20)
    assert ended.patch("/api/v1/jobs/plain", json={"by_hand": {"nodes": 2, "instance_type": other, "price_per_hour": 20}}).status == 200

    def names(query):
        return sorted(job["TrainingJobName"] for job in ended.get(f"/api/v1/jobs?q={quote(query)}").body["jobs"])

    def shown():
        lines = ended.get("/api/v1/jobs?sort=name&format=csv&fields=name,instance,instances,ResourceConfig.InstanceType").raw.decode().splitlines()
        return lines[1:]
    assert names(f"instance={other}") == ["j", "plain"] and names(f"instance={stated}") == [] and names(f"instance!={other}") == []
    assert names(f"ResourceConfig.InstanceType={stated}") == ["j"]  # what the document states stays to be found
    assert names("instances>=6") == ["j"] and names(f"instances={NODES}") == [] and names("instances=2") == ["plain"]
    assert shown() == [f"j,{other},6,{stated}", f"plain,{other},2,"]
    hours = (6 + 2) * WORK_S / 3600
    group = {"instance": other, "count": 2, "sum:nodes": 8, "sum:instances": 8, "sum:node_hours": pytest.approx(hours), "sum:cost": pytest.approx(20 * hours)}

    def summed():
        [found] = ended.get("/api/v1/aggregate?by=instance&of=count,sum:nodes,sum:instances,sum:node_hours,sum:cost").body["groups"]
        return {name: found[name] for name in group} == group
    wait_until(summed, what=f"the sums {group}")
    for name in ("j", "plain"):
        assert ended.patch(f"/api/v1/jobs/{name}", json={"by_hand": None}).status == 200
    assert names(f"instance={other}") == [] and names(f"instance={stated}") == ["j"] == names(f"instances={NODES}")
    assert shown() == [f"j,{stated},{NODES},{stated}", "plain,,,"]


HOUR_S, DAY_S = 3600, 86_400
TYPE, PER_HOUR = "ml.p5.48xlarge", 10


def work(server, name, nodes, *begins_s, status=None):
    """Two hours of work from each of these times on: a line a minute, and not a word between or after them."""
    assert server.put("/api/v1/prices", json={"currency": "EUR", "prices": [{"instance": TYPE, "per_hour": PER_HOUR}]}).status == 200
    document = {"TrainingJobName": name, "ResourceConfig": {"InstanceType": TYPE, "InstanceCount": nodes, "VolumeSizeInGB": 1}}
    assert server.post("/api/v1/jobs", json=document).status == 201
    stamps = [time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(begin_s + 60 * i)) for begin_s in begins_s for i in range(121)]
    server.send(name, [f"{stamp} step {i} loss: 2.5" for i, stamp in enumerate(stamps)])
    if status:
        assert server.post(f"/api/v1/jobs/{name}/transitions", json={"SecondaryStatus": status}).status == 204


def costs(server, name):
    """What one says of it: seconds, cost, pauses; and what sums do: node-hours, cost."""
    job, goodput = server.get(f"/api/v1/jobs/{name}").body, server.get(f"/api/v1/jobs/{name}/goodput").body
    [group] = server.get(f"/api/v1/aggregate?q=name={name}&of=sum:node_hours,sum:cost").body["groups"]
    cost = goodput["cost"]
    return (cost["billable_seconds"], round(cost.get("total") or -1, 2), job.get("paused_seconds", 0), job.get("cost"),
            group["sum:node_hours"] and round(group["sum:node_hours"], 4), group["sum:cost"])


def wait_for_costs(server, name, nodes, hours, paused_s=0, per_hour=PER_HOUR):
    cost = hours * nodes * per_hour
    wanted = hours * HOUR_S, cost, paused_s, cost, hours * nodes, cost
    wait_until(lambda: costs(server, name) == wanted, what=f"the costs {wanted} of {name}")


@pytest.mark.parametrize("status", [None, "Completed"])
@pytest.mark.parametrize("pause_s", [0, 2 * DAY_S])
def test_a_start_by_hand_says_nothing_of_pauses_and_of_the_end(make_server, pause_s, status):
    """Four hours of work of a week ago, in two halves; and it began an hour earlier than its log."""
    server = make_server("--goodput-every", "100ms")
    begin_s = int(time.time()) // DAY_S * DAY_S - 7 * DAY_S
    work(server, "j", 3, begin_s, begin_s + 2 * HOUR_S + pause_s, status=status)
    wait_for_costs(server, "j", 3, 4, pause_s)
    patch(server, start_ms=(begin_s - HOUR_S) * 1000)
    wait_for_costs(server, "j", 3, 5, pause_s)
    job = server.get("/api/v1/jobs/j").body
    assert (job["start_from"], job["TrainingStartTime"]) == ("by_hand", begin_s - HOUR_S)
    patch(server, start_ms=(begin_s - HOUR_S) * 1000, nodes=4, price_per_hour=7.5)
    wait_for_costs(server, "j", 4, 5, pause_s, 7.5)
    server.restart()
    wait_for_costs(server, "j", 4, 5, pause_s, 7.5)
    carried = make_server("--goodput-every", "100ms")  # and it is so elsewhere
    assert carried.put("/api/v1/prices", json={"currency": "EUR", "prices": [{"instance": TYPE, "per_hour": PER_HOUR}]}).status == 200
    reply = carried.post("/api/v1/import", server.get("/api/v1/export?q=name%3Dj").raw, content_type="application/x-ndjson")
    assert reply.status < 300, reply
    wait_for_costs(carried, "j", 4, 5, pause_s, 7.5)
    assert carried.get("/api/v1/jobs/j").body["start_from"] == "by_hand"
    assert server.patch("/api/v1/jobs/j", json={"by_hand": None}).status == 200
    wait_for_costs(server, "j", 3, 4, pause_s)


def test_a_start_by_hand_of_what_was_stated_to_train_leaves_it_so(make_server):
    """Who states Training says that it held its machines all the while: the pause is billed, as before."""
    server = make_server("--goodput-every", "100ms")
    begin_s = int(time.time()) // DAY_S * DAY_S - 7 * DAY_S
    work(server, "j", 3, begin_s, begin_s + 2 * HOUR_S + 2 * DAY_S)
    for status, at_s in (("Training", begin_s), ("Completed", begin_s + 2 * DAY_S + 4 * HOUR_S)):
        reply = server.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": status, "time_ms": at_s * 1000})
        assert reply.status == 204, reply
    wait_for_costs(server, "j", 3, 52)
    patch(server, start_ms=(begin_s - HOUR_S) * 1000)
    wait_for_costs(server, "j", 3, 53)


def names_of(server, **parameters):
    return [job["TrainingJobName"] for job in server.get(f"/api/v1/jobs?{urlencode(parameters)}").body["jobs"]]


def test_times_set_by_hand_win_over_stated_seconds(make_server):
    """Four nodes for 600 s, of which the document states that 400 are billed and the training took 500; it ended 300 s later."""
    server = make_server("--goodput-every", "100ms")
    assert server.put("/api/v1/prices", json=PRICES).status == 200
    trained, billed = 500, 400
    document = {**DOCUMENT, "ResourceConfig": {**DOCUMENT["ResourceConfig"], "InstanceCount": NODES},
        "TrainingTimeInSeconds": trained, "BillableTimeInSeconds": billed}
    assert server.post("/api/v1/jobs", json=document).status == 201
    for status, ms in (("Training", T0), ("Completed", LAST_MS)):
        assert server.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": status, "time_ms": ms}).status == 204

    def facts():
        job, goodput = server.get("/api/v1/jobs/j").body, server.get("/api/v1/jobs/j/goodput").body
        described = boto(server, "sagemaker").describe_training_job(TrainingJobName="j")
        [group] = server.get("/api/v1/aggregate?of=sum:billable,sum:node_hours,sum:cost").body["groups"]
        shown = server.get("/api/v1/jobs?format=csv&fields=billable,duration,BillableTimeInSeconds,TrainingTimeInSeconds").raw.decode().splitlines()[1]
        days = server.get(f"/api/v1/goodput?from={day}&to={day}").body
        return (job["TrainingTimeInSeconds"], job["BillableTimeInSeconds"], described["TrainingTimeInSeconds"], described["BillableTimeInSeconds"],
                shown, goodput["cost"]["billable_seconds"], round(goodput["cost"].get("total") or 0, 2), round(job.get("cost") or 0, 2),
                group["sum:billable"], round(group["sum:node_hours"], 4), round(group["sum:cost"] or 0, 2),
                [sum(row["billed_node_hours"] for row in goodput["days"]), days["billed_node_hours"]],
                round(server.get("/api/v1/fleet").body["node_hours"], 4))

    def wanted(training_s, billable_s):
        hours = NODES * billable_s / 3600
        cost = round(hours * PRICE, 2)
        return (training_s, billable_s, training_s, billable_s, f"{billable_s},{training_s},{billable_s},{training_s}", billable_s, cost, cost,
                billable_s, round(hours, 4), cost, [pytest.approx(hours), pytest.approx(hours)], round(hours, 4))
    day = time.strftime("%Y-%m-%d", time.gmtime(T0 / 1000))
    moved = {"start_ms": T0 - 60_000, "end_ms": LAST_MS + 300_000}
    for by_hand, training_s, billable_s in (({}, trained, billed), (moved, WORK_S + 360, WORK_S + 360), (None, trained, billed),
            ({"end_ms": LAST_MS + 300_000}, WORK_S + 300, WORK_S + 300), ({"end_ms": None, "start_ms": T0 - 60_000}, WORK_S + 60, WORK_S + 60),
            ({"start_ms": None, "nodes": NODES}, trained, billed)):
        assert server.patch("/api/v1/jobs/j", json={"by_hand": by_hand}).status == 200
        wait_until(lambda: facts() == wanted(training_s, billable_s), what=f"{wanted(training_s, billable_s)} after {by_hand}: {facts()}")
        for field, seconds in (("billable", billable_s), ("BillableTimeInSeconds", billable_s), ("TrainingTimeInSeconds", training_s)):
            assert names_of(server, q=f"{field}={seconds}") == ["j"], (field, seconds)
            assert names_of(server, q=f"{field}!={seconds}") == [], (field, seconds)


def test_jobs_are_sorted_by_what_their_rows_show(make_server):
    """Three jobs of an hour: one as it ended, one of which 10 s are stated to be billed, one that was set to end after two hours."""
    server = make_server("--goodput-every", "100ms")
    begin_ms, kinds = T0, {"b": ("ml.b.large", 2), "c": ("ml.c.large", 3), "a": ("ml.a.large", 10)}
    for name, (kind, count) in kinds.items():
        more = {"BillableTimeInSeconds": 10, "TrainingTimeInSeconds": 20} if name == "c" else {}
        document = {"TrainingJobName": name, "ResourceConfig": {"InstanceType": kind, "InstanceCount": count, "VolumeSizeInGB": 1}, **more}
        assert server.post("/api/v1/jobs", json=document).status == 201
        for status, ms in (("Training", begin_ms), ("Completed", begin_ms + HOUR_S * 1000)):
            assert server.post(f"/api/v1/jobs/{name}/transitions", json={"SecondaryStatus": status, "time_ms": ms}).status == 204
    server.send("runs", ["step: 1 loss: 2.5"])

    def check(field, *order, q=""):
        """In memory, by SQL where the query asks for what no column holds, and page by page."""
        for query in (q, f"{q} and attempts>=1" if q else "attempts>=1"):
            assert names_of(server, sort=field, q=query) == list(order), (field, query)
            backwards = [name for name in reversed(order) if name != "runs"] + [name for name in order if name == "runs"]
            assert names_of(server, sort=f"-{field}", q=query) == backwards, (field, query)
            paged, cursor = [], ""
            while cursor is not None:
                page = server.get(f"/api/v1/jobs?{urlencode({'sort': field, 'q': query, 'limit': 1, **({'cursor': cursor} if cursor else {})})}").body
                paged += [job["TrainingJobName"] for job in page["jobs"]]
                cursor = page.get("next_cursor")
            assert paged == list(order), (field, query)
    check("instance", "a", "b", "c", "runs")
    check("instances", "b", "c", "a", "runs")
    for field in ("billable", "BillableTimeInSeconds", "TrainingTimeInSeconds"):
        check(field, "c", "b", "a", "runs")
    # c is set to two hours on 20 of another type, a to half an hour
    for name, by_hand in (("c", {"end_ms": begin_ms + 2 * HOUR_S * 1000, "nodes": 20, "instance_type": "ml.aa.large"}),
            ("a", {"end_ms": begin_ms + HOUR_S * 500, "nodes": 1})):
        assert server.patch(f"/api/v1/jobs/{name}", json={"by_hand": by_hand}).status == 200
    check("instances", "a", "b", "c", "runs")
    assert server.patch("/api/v1/jobs/b", json={"by_hand": {"instance_type": "ml.z.large"}}).status == 200
    check("instance", "a", "c", "b", "runs")
    for field in ("billable", "BillableTimeInSeconds", "TrainingTimeInSeconds"):
        check(field, "a", "b", "c", "runs")
    check("ResourceConfig.InstanceCount", "b", "c", "a", "runs")  # what the documents state stays to be sorted by


def test_the_fleet_lists_the_type_that_was_set_of_an_ended_job(ended):
    patch(ended, instance_type="ml.p5.48xlarge")
    rows = {row["instance_type"]: row for row in ended.get("/api/v1/fleet").body["nodes"]["by_type"]}
    hours = NODES * WORK_S / 3600
    assert rows["ml.p5.48xlarge"] == {"instance_type": "ml.p5.48xlarge", "in_jobs": 0, "in_waiting_pools": 0, "ended_node_hours": pytest.approx(hours)}
    assert list(rows) == sorted(rows) and rows.get("ml.p4d.24xlarge", {"ended_node_hours": 0})["ended_node_hours"] == 0
    patch(ended, instance_type=None)
    rows = {row["instance_type"]: row["ended_node_hours"] for row in ended.get("/api/v1/fleet").body["nodes"]["by_type"]}
    assert rows["ml.p4d.24xlarge"] == pytest.approx(hours) and rows.get("ml.p5.48xlarge", 0) == 0
    fleet = ended.get("/api/v1/fleet").body
    assert fleet["node_hours"] == pytest.approx(hours) == sum(rows.values())


@pytest.mark.parametrize(("changes", "by_hand", "currency"), [
    ([{"price_currency": "JPY"}], {"price_currency": "JPY"}, None),
    ([{"price_currency": "JPY"}, {"price_per_hour": 3}], {"price_currency": "JPY", "price_per_hour": 3}, "JPY"),
    ([{"price_currency": "JPY", "price_per_hour": 3}, {"price_per_hour": 4}], {"price_currency": "JPY", "price_per_hour": 4}, "JPY"),
    ([{"price_currency": "JPY", "price_per_hour": 3}, {"nodes": 2}], {"price_currency": "JPY", "price_per_hour": 3, "nodes": 2}, "JPY"),
    ([{"price_per_hour": 3}, {"price_currency": "JPY"}], {"price_currency": "JPY", "price_per_hour": 3}, "JPY"),
    ([{"price_currency": "JPY", "price_per_hour": 3}, {"price_currency": None}], {"price_per_hour": 3}, "USD"),
    ([{"price_currency": "JPY", "price_per_hour": 3}, {"price_currency": None, "price_per_hour": 4}], {"price_per_hour": 4}, "USD"),
    ([{"price_currency": "JPY", "price_per_hour": 3}, {"price_per_hour": None}], None, None),
    ([{"price_currency": "JPY", "price_per_hour": 3}, {"price_per_hour": None, "price_currency": "CHF"}], {"price_currency": "CHF"}, None),
])
def test_a_price_alone_stays_in_the_currency_that_was_set(ended, changes, by_hand, currency):
    """The list is in USD; whoever asks after the reply finds the same cost everywhere."""
    server, job = ended, "j"
    for change in changes:
        assert server.patch(f"/api/v1/jobs/{job}", json={"by_hand": change}).status == 200
    is_other = currency == "JPY"
    row = server.get(f"/api/v1/jobs/{job}").body
    assert row.get("by_hand") == by_hand
    if currency:
        cost = server.get(f"/api/v1/jobs/{job}/goodput").body["cost"]
        assert cost["currency"] == currency
        assert (row["cost"], row["currency"]) == (cost["total"], currency)
    assert server.get("/api/v1/prices").body.get("jobs_in_other_currencies", 0) == is_other


def test_whoever_asks_behind_the_reply_finds_one_bill(make_server):
    """Nothing is worked out by itself here: neither lists nor sums may be behind what the job's own goodput says."""
    server = make_server("--goodput-every", "1h")
    set_up(server)
    server.send("j", past_log())
    assert server.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": "Completed"}).status == 204
    wait_until(lambda: bill(server) == WANTED, what="one bill")
    def costs(name="j"):
        [row] = server.get(f"/api/v1/jobs?q=name%3D{name}").body["jobs"]
        [group] = server.get(f"/api/v1/aggregate?q=name%3D{name}&of=sum:cost").body["groups"]
        own = server.get(f"/api/v1/jobs/{name}/goodput").body["cost"]["total"]
        return [one and round(one, 2) for one in (row["cost"], group["sum:cost"], own)]
    wanted = lambda nodes: [round(nodes * PRICE * WORK_S / 3600, 2)] * 3
    for nodes in range(2, 12):
        patch(server, nodes=nodes)
        assert costs() == wanted(nodes), nodes
    assert server.patch("/api/v1/jobs/j", json={"by_hand": None}).status == 200
    assert costs() == wanted(NODES)
    for nodes in range(2, 12):  # documents that come behind their logs
        name = f"k{nodes}"
        server.send(name, past_log())
        assert server.post(f"/api/v1/jobs/{name}/transitions", json={"SecondaryStatus": "Completed"}).status == 204
        assert server.post("/api/v1/jobs", json={**DOCUMENT, "TrainingJobName": name, "by_hand": {"nodes": nodes}}).status == 201
        assert costs(name) == wanted(nodes), nodes
