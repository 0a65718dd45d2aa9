"""What a webhook is told of one cause over the life of a run: each kind of harm, what grows, what comes again, one end."""

import json
import math

import pytest
from receiver import Receiver
from smserver import wait_until

ROUTING_KEY = "R0UT1NGKEY0123456789ABCDEF012345"
NIGHT = {"from": "00:00", "to": "00:00"}


def add_webhook(server, receiver, **fields):
    reply = server.post("/api/v1/webhooks", json={"url": receiver.url, **fields})
    assert reply.status == 201, reply
    return reply.body["id"]


def add_rule(server, **fields):
    reply = server.post("/api/v1/rules", json={"name": "mine", **fields})
    assert reply.status == 201, reply
    return reply.body["id"]


def falling(first, count):
    """A training that begins at 10 and comes to rest at 3."""
    return [f"step: {n} loss: {3 + 7 * math.exp(-n / 60) + (n * 7919 % 100) / 1000:.3f}" for n in range(first, first + count)]


def at(value, first, count):
    return [f"step: {n} loss: {value}" for n in range(first, first + count)]


def incidents(server, job, **wanted):
    rows = server.get("/api/v1/incidents?limit=1000&all=true").body["incidents"]
    return [row for row in rows if row["job"] == job and all(row[key] == value for key, value in wanted.items())]


def wait_for_incident(server, job, count=1, **wanted):
    def there():
        rows = incidents(server, job, **wanted)
        return len(rows) >= count and rows
    return wait_until(there, what=f"{count} incidents {wanted} of {job}")


def told(receiver, job="j"):
    """(opened or recovered, kind, severity), in the order of their arrival."""
    return [(message["type"].removeprefix("incident."), message["data"]["kind"], message["data"]["severity"])
            for message in receiver.messages() if message["data"].get("job") == job]


def once(receiver):
    """Each message by its id: one whose result was not noted before a crash is sent again."""
    bodies = {}
    with receiver.arrived:
        for headers, body, _ in receiver.calls:
            bodies.setdefault({name.lower(): value for name, value in headers.items()}["webhook-id"], body)
    return [json.loads(body) for body in bodies.values()]


def settle(server, receiver, mark):
    """What another job says after all of this has been told once it arrives: messages are written in the order of what they tell."""
    server.send(mark, falling(0, 3) + at("nan", 3, 1))
    wait_until(lambda: told(receiver, mark), what=f"the message about {mark}")


def spiked(server, job="j"):
    """A warning, and its end: the loss is at rest until step 340."""
    server.send(job, falling(0, 300) + at(5.0, 300, 6))
    wait_for_incident(server, job, kind="loss_spike", severity="warning")
    server.send(job, falling(306, 34))
    wait_for_incident(server, job, kind="loss_spike", state="recovered")


SPIKE = [("opened", "loss_spike", "warning"), ("recovered", "loss_spike", "warning")]
NAN = [("opened", "non_finite", "critical"), ("recovered", "non_finite", "critical")]


def test_a_nan_after_a_spike_reaches_everybody(server, receiver):
    add_webhook(server, receiver)
    spiked(server)
    server.send("j", at("nan", 340, 3))
    receiver.wait_for(3)
    assert told(receiver) == SPIKE + NAN[:1]
    spike, = incidents(server, "j", kind="loss_spike")
    nan, = incidents(server, "j", kind="non_finite")
    assert nan["cause_id"] == spike["id"] and receiver.messages()[2]["data"]["id"] == nan["id"]
    server.send("j", falling(343, 8))
    receiver.wait_for(4)
    settle(server, receiver, "mark")
    assert told(receiver) == SPIKE + NAN


def test_recovered_waits_for_all_of_the_cause(server, receiver):
    """The NaN comes while the spike is open, and outlasts it."""
    add_webhook(server, receiver)
    server.send("j", falling(0, 300) + at(5.0, 300, 6))
    wait_for_incident(server, "j", kind="loss_spike", severity="warning")
    server.send("j", at("nan", 306, 2))
    receiver.wait_for(2)
    body = [line for n in range(308, 348, 4) for line in falling(n, 4)[:3] + at("nan", n + 3, 1)]  # never five finite points in a row
    server.send("j", body)
    wait_for_incident(server, "j", kind="loss_spike", state="recovered")
    assert [row["state"] for row in incidents(server, "j", kind="non_finite")] == ["open"]
    settle(server, receiver, "mark")
    assert told(receiver) == [SPIKE[0], NAN[0]]
    server.send("j", falling(348, 8))
    wait_until(lambda: len(told(receiver)) == 3, what="the end")
    settle(server, receiver, "mark-2")
    assert told(receiver) == [SPIKE[0]] + NAN


def test_a_spike_that_becomes_a_divergence_does_not_recover(server, receiver):
    add_webhook(server, receiver)
    server.send("j", falling(0, 300) + at(9.0, 300, 40))  # 16 of them tell that it is no next training, 8 more that it is a divergence
    wait_for_incident(server, "j", kind="divergence")
    settle(server, receiver, "mark")
    assert told(receiver) == [SPIKE[0], ("opened", "divergence", "critical")]
    server.send("j", falling(340, 60))
    wait_for_incident(server, "j", kind="divergence", state="recovered")
    settle(server, receiver, "mark-2")
    assert told(receiver) == [SPIKE[0], ("opened", "divergence", "critical"), ("recovered", "divergence", "critical")]


def test_ten_nan_over_ten_epochs_are_one_message(server, receiver):
    add_webhook(server, receiver)
    server.send("j", falling(0, 90))
    for epoch in range(1, 11):
        server.send("j", at("nan", epoch * 100 - 10, 2) + falling(epoch * 100 - 8, 98))
    wait_for_incident(server, "j", 10, kind="non_finite", state="recovered")
    settle(server, receiver, "mark")
    assert told(receiver) == NAN
    rows = incidents(server, "j")
    first = min(rows, key=lambda row: row["first_step"])
    assert {row["cause_id"] for row in rows if row is not first} == {first["id"]}
    listed = server.get("/api/v1/incidents?limit=1000").body["incidents"]  # each of them stays a row, which names its stream once
    assert len([row for row in listed if row["job"] == "j"]) == 10 and not any("stream_count" in row for row in listed)


def test_what_comes_again_and_stays_is_told_again(server, receiver):
    add_webhook(server, receiver)
    server.send("j", falling(0, 90) + at("nan", 90, 1) + falling(91, 20) + at("nan", 111, 3))
    wait_for_incident(server, "j", 2, kind="non_finite")
    settle(server, receiver, "mark")
    assert told(receiver) == NAN  # so far: it may be as short as the first
    server.stop()
    assert server.sql("SELECT count(*) FROM notices WHERE state = 0 AND due_ms > 0") == [(1,)]
    server.sql("UPDATE notices SET due_ms = 1 WHERE state = 0")  # minutes later it is still there
    server.start()
    wait_until(lambda: len(told(receiver)) == 3, what="the second message")
    server.send("j", falling(114, 8))
    wait_until(lambda: len(told(receiver)) == 4, what="its end")
    assert told(receiver) == NAN + NAN


def test_a_nan_of_the_next_attempt_is_news(server, receiver):
    """Training goes on from a checkpoint, and breaks where it broke before."""
    add_webhook(server, receiver)
    server.send("j", falling(0, 300) + at("nan", 300, 3))
    receiver.wait_for(1)
    server.send("j", ["loading checkpoint from /ckpt at iteration 250"] + falling(250, 48))
    wait_until(lambda: len(told(receiver)) == 2, what="the end")
    server.send("j", at("nan", 298, 3))
    wait_until(lambda: len(told(receiver)) == 3, what="the second NaN")
    settle(server, receiver, "mark")
    assert told(receiver) == NAN + NAN[:1]


def test_what_grows_to_critical_is_told_again(server, receiver):
    """A loss that was never finite is a warning, one that was and is not any more is critical: of another stream of the job."""
    add_webhook(server, receiver)
    server.send("j", at("nan", 0, 3), stream="algo-1")
    receiver.wait_for(1)
    server.send("j", falling(0, 4) + at("nan", 4, 1), stream="algo-2")
    receiver.wait_for(2)
    server.send("j", falling(0, 4) + at("nan", 4, 1), stream="algo-3")
    wait_for_incident(server, "j", 3)
    settle(server, receiver, "mark")
    assert told(receiver) == [("opened", "non_finite", "warning"), ("opened", "non_finite", "critical")]
    for stream in ("algo-1", "algo-2", "algo-3"):
        server.send("j", falling(5, 8), stream=stream)
    wait_until(lambda: len(told(receiver)) == 3, what="the end")
    settle(server, receiver, "mark-2")
    assert told(receiver)[2:] == [("recovered", "non_finite", "critical")]


@pytest.mark.parametrize("is_muted", [False, True])
def test_what_grows_while_it_waits_is_told_again(server, receiver, is_muted):
    """By a rule that wants it to last: first as a warning and then as critical, unless it was muted meanwhile; and as over once in any case."""
    add_webhook(server, receiver)
    add_rule(server, query="name=j", persistence_s=3600)
    server.send("j", at("nan", 0, 3), stream="algo-1")
    wait_for_incident(server, "j")
    night_is_over(server)
    receiver.wait_for(1)
    server.send("j", falling(0, 4) + at("nan", 4, 1), stream="algo-2")
    worse = wait_for_incident(server, "j", severity="critical")[0]
    assert server.sql("SELECT state, is_standing FROM notices") == [(0, 1)]
    if is_muted:
        assert server.post(f"/api/v1/incidents/{worse['id']}/mute", json={"for_s": 86400}).status == 204
    night_is_over(server)
    wait_until(lambda: server.sql("SELECT state, is_standing FROM notices") == [(2, 1)], what="a look at what waits")
    if is_muted:
        assert server.post(f"/api/v1/incidents/{worse['id']}/mute", json={"for_s": 1}).status == 204
    for stream in ("algo-1", "algo-2"):
        server.send("j", falling(5, 30), stream=stream)
    wait_until(lambda: told(receiver)[-1][0] == "recovered", what="the end")
    settle(server, receiver, "mark")
    grown = [] if is_muted else [("opened", "non_finite", "critical")]
    assert told(receiver) == [("opened", "non_finite", "warning"), *grown, ("recovered", "non_finite", "critical")]


@pytest.fixture
def pager():
    one = Receiver()
    yield one
    one.close()


def test_each_webhook_hears_what_it_wants(server, receiver, pager):
    """Over two crashes: of warnings and what is critical, and of the latter alone, by one key of its cause."""
    add_webhook(server, receiver)
    add_webhook(server, pager, format="pagerduty", secret=ROUTING_KEY, minimum_severity="critical")
    spiked(server)
    wait_until(lambda: len(once(receiver)) == 2, what="the spike and its end")
    server.kill()
    server.start()
    server.send("j", at("nan", 340, 3))
    wait_until(lambda: len(once(receiver)) == 3 and len(once(pager)) == 1, what="the NaN")
    server.kill()
    server.start()
    server.send("j", falling(343, 8))
    wait_until(lambda: len(once(receiver)) == 4 and len(once(pager)) == 2, what="its end")
    settle(server, receiver, "mark")
    heard = [(m["type"].removeprefix("incident."), m["data"]["kind"], m["data"]["severity"]) for m in once(receiver) if m["data"]["job"] == "j"]
    assert heard == SPIKE + NAN
    spike, = incidents(server, "j", kind="loss_spike")
    calls = [call for call in once(pager) if call["payload"]["source"] == "j"]
    # a test's server has another port after each start, and by that another address
    assert [(call["event_action"], call["dedup_key"].split("@")[0], call["payload"]["class"]) for call in calls] == [
        ("trigger", spike["id"], "non_finite"), ("resolve", spike["id"], "non_finite")]


def test_messages_of_a_cause_come_in_their_order(server, receiver):
    """The NaN's waits for the spike's, which the receiver did not take at once."""
    add_webhook(server, receiver)
    receiver.answers = [500]
    spiked(server)
    server.send("j", at("nan", 340, 3))
    receiver.wait_for(4)
    assert told(receiver) == SPIKE[:1] + SPIKE + NAN[:1]


def test_a_mute_is_of_the_whole_cause(server, receiver):
    add_webhook(server, receiver)
    server.send("j", falling(0, 300) + at(5.0, 300, 6))
    spike = wait_for_incident(server, "j", kind="loss_spike", severity="warning")[0]
    receiver.wait_for(1)
    assert server.post(f"/api/v1/incidents/{spike['id']}/mute", json={"for_s": 600}).status == 204
    server.send("j", at("nan", 306, 3))
    wait_for_incident(server, "j", kind="non_finite")
    settle(server, receiver, "mark")
    assert told(receiver) == SPIKE[:1]


def test_a_night_holds_each_harm(server, receiver):
    """In the morning one message says what there was and what is left; what breaks the night is told in it, for itself."""
    add_webhook(server, receiver)
    add_rule(server, query="name~calm", quiet=NIGHT)
    add_rule(server, name="loud", query="name~loud", quiet={**NIGHT, "unless": "critical"})
    for job in ("calm", "loud"):
        spiked(server, job)
        server.send(job, at("nan", 340, 3))
        wait_for_incident(server, job, kind="non_finite")
    settle(server, receiver, "mark")
    assert told(receiver, "calm") == [] and told(receiver, "loud") == NAN[:1]
    server.stop()
    server.sql("UPDATE notices SET due_ms = 1")
    server.start()
    digest = wait_until(lambda: [m for m in receiver.messages() if m["type"] == "incidents.digest"], what="the morning")[0]["data"]
    rows = [(row["job"], row["kind"], row["state"]) for row in digest["incidents"]]
    assert sorted(rows) == [("calm", "loss_spike", "recovered"), ("calm", "non_finite", "open"), ("loud", "loss_spike", "recovered")]
    assert (digest["count"], digest["open"], digest["kinds"]) == (3, 1, {"loss_spike": 2, "non_finite": 1})
    for job in ("calm", "loud"):
        server.send(job, falling(343, 8))
    wait_until(lambda: told(receiver, "calm") and len(told(receiver, "loud")) == 2, what="the ends")
    settle(server, receiver, "mark-2")
    assert told(receiver, "calm") == NAN[1:] and told(receiver, "loud") == NAN


def test_what_did_not_last_does_not_keep_the_next_one_back(server, receiver):
    """A rule wants an hour: the first was over before, and nobody knows of it."""
    add_webhook(server, receiver)
    add_rule(server, persistence_s=3600)
    server.send("j", falling(0, 90) + at("nan", 90, 1) + falling(91, 20))
    wait_for_incident(server, "j", kind="non_finite", state="recovered")
    server.send("j", at("nan", 111, 3))
    wait_for_incident(server, "j", 2, kind="non_finite")
    server.stop()
    server.sql("UPDATE notices SET due_ms = 1 WHERE state = 0")
    server.start()
    receiver.wait_for(1)
    assert told(receiver) == NAN[:1]


def night_is_over(server):
    """What waits or is held is due."""
    server.stop()
    server.sql("UPDATE notices SET due_ms = 1 WHERE state < 2")
    server.start()


HOUR = {"query": "name=j", "persistence_s": 3600}


@pytest.mark.parametrize("change", [
    None, {"enabled": False}, {"query": "name=other"}, {"persistence_s": 0}, {"minimum_severity": "critical", "persistence_s": 1}])
def test_what_a_rule_kept_waiting_is_told_by_those_that_are_left(server, receiver, change):
    """The NaN is open: without the rule that wanted an hour of it, the one that takes everything tells it."""
    add_webhook(server, receiver)
    rule = add_rule(server, **HOUR)
    server.send("j", falling(0, 90) + at("nan", 90, 3))
    wait_for_incident(server, "j", kind="non_finite", state="open")
    settle(server, receiver, "mark")
    assert told(receiver) == []
    path = f"/api/v1/rules/{rule}"
    reply = server.put(path, json={"name": "mine", **HOUR, **change}) if change else server.delete(path)
    assert reply.status in (200, 204), reply
    wait_until(lambda: told(receiver), what="the message that had waited")
    server.send("j", falling(93, 20))
    wait_until(lambda: len(told(receiver)) == 2, what="the end")
    settle(server, receiver, "mark-2")
    assert told(receiver) == NAN


def test_what_waits_when_its_rule_is_deleted_waits_as_long_as_the_next_one_wants(server, receiver):
    add_webhook(server, receiver)
    add_rule(server, **HOUR)
    narrow = add_rule(server, **{**HOUR, "name": "narrow", "persistence_s": 1800})
    mute = add_rule(server, name="mute", query="name=k", persistence_s=3600)
    server.send("j", falling(0, 90) + at("nan", 90, 3))
    server.send("k", falling(0, 90) + at("nan", 90, 3))
    for job in ("j", "k"):
        wait_for_incident(server, job, kind="non_finite", state="open")
    settle(server, receiver, "mark")
    assert server.delete(f"/api/v1/rules/{narrow}").status == 204
    assert server.put(f"/api/v1/rules/{mute}", json={"name": "mute", "query": "name=k", "tell": False}).status == 200
    add_rule(server, name="brief", query="name=l", persistence_s=1)  # what is due is looked at in the order of its webhook's notices
    server.send("l", falling(0, 90) + at("nan", 90, 3))
    wait_until(lambda: told(receiver, "l"), what="the message about another job, which was due later")
    assert told(receiver, "j") == [] and told(receiver, "k") == []
    night_is_over(server)
    wait_until(lambda: told(receiver, "j"), what="the message after an hour")
    settle(server, receiver, "mark-2")
    assert told(receiver, "j") == NAN[:1] and told(receiver, "k") == []


@pytest.mark.parametrize("held", [{"quiet": NIGHT}, {"collect_s": 3600}])
def test_what_a_rule_held_back_is_told_without_it(server, receiver, held):
    add_webhook(server, receiver)
    rule = add_rule(server, query="name=j", **held)
    server.send("j", falling(0, 90) + at("nan", 90, 3))
    wait_for_incident(server, "j", kind="non_finite", state="open")
    settle(server, receiver, "mark")
    assert server.delete(f"/api/v1/rules/{rule}").status == 204
    night_is_over(server)
    wait_until(lambda: told(receiver), what="the message that was held")
    assert told(receiver) == NAN[:1]


def test_a_message_that_did_not_get_out_outlives_its_rule(server, receiver):
    receiver.answers = [503]
    add_webhook(server, receiver)
    rule = add_rule(server, query="name=j")
    server.send("j", falling(0, 90) + at("nan", 90, 3))
    receiver.wait_for(1)
    assert server.delete(f"/api/v1/rules/{rule}").status == 204
    first, second = receiver.wait_for(2)
    assert first[1] == second[1] and told(receiver) == NAN[:1] * 2


@pytest.mark.parametrize("kind", ["json", "pagerduty"])
def test_an_end_within_a_mute_is_told_after_it(server, receiver, kind):
    """What was told as open is told as over, once: a spike and a NaN are one group. What was never told is never told."""
    add_webhook(server, receiver, **({"format": kind, "secret": ROUTING_KEY} if kind == "pagerduty" else {}))
    ends = lambda: [body for _, body, _ in receiver.calls if b'"resolve"' in body or b'"incident.recovered"' in body]
    server.send("j", falling(0, 300) + at(5.0, 300, 6))
    spike = wait_for_incident(server, "j", kind="loss_spike", severity="warning")[0]
    server.send("j", at("nan", 306, 3))
    nan = wait_for_incident(server, "j", kind="non_finite")[0]
    receiver.wait_for(2)
    for muted in (spike, nan):
        assert server.post(f"/api/v1/incidents/{muted['id']}/mute", json={"for_s": 600}).status == 204
    server.send("j", falling(309, 31))
    wait_for_incident(server, "j", count=2, state="recovered")
    server.send("j", at("nan", 340, 3) + falling(343, 20))  # again within it, and over
    wait_for_incident(server, "j", count=3, state="recovered")
    night_is_over(server)  # but not the mute
    wait_until(lambda: server.sql("SELECT count(*) FROM notices WHERE state = 0 AND due_ms > 1")[0][0], what="a look at what waits")
    assert len(receiver.calls) == 2
    server.stop()
    server.sql("UPDATE incidents SET muted_until_ms = 1 WHERE muted_until_ms > 0")
    server.sql("UPDATE notices SET due_ms = 1 WHERE state < 2")
    server.start()
    wait_until(ends, what="the end")
    server.send("mark", falling(0, 3) + at("nan", 3, 1))
    receiver.wait_for(4)
    assert len(ends()) == 1 and len(receiver.calls) == 4
    assert server.sql("SELECT DISTINCT state, is_standing FROM notices WHERE job_id = (SELECT job_id FROM jobs WHERE name = 'j')") == [(3, 0)]


def test_what_is_open_again_after_a_mute_is_told_as_over_once(server, receiver):
    add_webhook(server, receiver)
    server.send("j", falling(0, 90) + at("nan", 90, 3))
    nan = wait_for_incident(server, "j", kind="non_finite")[0]
    receiver.wait_for(1)
    assert server.post(f"/api/v1/incidents/{nan['id']}/mute", json={"for_s": 600}).status == 204
    server.send("j", falling(93, 8) + at("nan", 101, 3))
    wait_for_incident(server, "j", count=2, kind="non_finite")
    server.stop()
    server.sql("UPDATE incidents SET muted_until_ms = 1 WHERE muted_until_ms > 0")
    server.sql("UPDATE notices SET due_ms = 1 WHERE state < 2")
    server.start()
    wait_until(lambda: not server.sql("SELECT 1 FROM notices WHERE state < 2"), what="a look at what waits")
    server.send("j", falling(104, 8))
    wait_until(lambda: len(told(receiver)) == 2, what="the end")
    settle(server, receiver, "mark")
    assert told(receiver) == NAN
