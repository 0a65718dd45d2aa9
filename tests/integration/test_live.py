"""The event stream: coalesced news, replay after a sequence, resync."""

import re

from smserver import wait_until


def points_of(event, metric="train:loss"):
    return [point for series in event["json"]["series"] if series["metric"] == metric for point in series["points"]]


def collect_points(live, count):
    found = []
    while len(found) < count:
        found += points_of(live.next("points"))
    return found


def test_line_becomes_an_event(server):
    live = server.live("jobs=j&kinds=points,lines,job")
    assert live.status == 200 and live.headers["Content-Type"].startswith("text/event-stream")
    server.send("j", ["step: 5 loss: 2.5", "step: 6 loss: 2.25"])
    seen = {}
    while "points" not in seen or "lines" not in seen:
        event = live.next()
        seen.setdefault(event["event"], event)
    assert [(p[0], p[2], p[3]) for p in points_of(seen["points"])] == [(5, 2.5, 0), (6, 2.25, 1)]
    assert seen["lines"]["json"]["job"] == "j" and seen["lines"]["json"]["count"] == 2
    assert seen["points"]["id"].isdigit()


def test_only_what_was_asked_for(server):
    live = server.live("jobs=mine")
    for _ in range(3):
        server.send("other", "step: 1 loss: 9.0")
    server.send("mine", "step: 1 loss: 1.0")
    assert live.next("points")["json"]["job"] == "mine"
    assert not [event for event in live.events if event.get("json", {}).get("job") == "other"]


def test_nothing_is_lost_and_nothing_is_said_twice(server):
    live = server.live("jobs=j&kinds=points")
    for step in range(300):
        server.send("j", f"step: {step} loss: {step}.0")
    points = collect_points(live, 300)
    assert [point[0] for point in points] == list(range(300))


def test_a_burst_is_coalesced(server):
    live = server.live("jobs=j&kinds=points")
    server.send("j", [f"step: {step} loss: 1.0" for step in range(2000)])
    found, events = [], 0
    while len(found) < 2000:
        found += points_of(live.next("points"))
        events += 1
    assert events <= 200 and len(found) == 2000


def test_replay_after_a_sequence(server):
    first = server.live("jobs=j&kinds=points") # somebody listens: frames are made
    server.send("j", "step: 1 loss: 1.0")
    first.next("points")
    after = server.points("j", "train:loss")["seq"]
    server.send("j", "step: 2 loss: 2.0")
    first.next("points", where=lambda event: points_of(event)[-1][0] == 2)
    late = server.live(f"jobs=j&kinds=points&after={after}")
    # frames at `after` may come again; what came later must come
    late.next("points", where=lambda event: points_of(event)[-1][0] == 2)


def is_news_or_resync(event, step):
    return event["event"] == "resync" or (event["event"] == "points" and points_of(event)[-1][0] == step)


def test_gap_between_load_and_subscription(server):
    """What came after the page had loaded and before it listened, when nobody else listened either."""
    server.send("j", "step: 1 loss: 1.0")
    server.wait_for_points("j", "train:loss", 1)
    after = server.points("j", "train:loss")["seq"]
    server.send("j", "step: 2 loss: 2.0")
    server.wait_for_points("j", "train:loss", 2)
    wait_until(lambda: server.get("/api/v1/jobs").body["jobs"][0]["lines"] == 2, what="the flushed row: the event's time has passed")
    server.live(f"jobs=j&after={after}").next(where=lambda event: is_news_or_resync(event, 2))


def test_a_page_that_was_given_out_is_a_reader(server):
    """Between its HTML and its subscription nothing is skipped: a live job's page need not load twice."""
    for job, path in (("a", "/jobs/a"), ("b", "/jobs/b/logs")):
        server.send(job, "step: 1 loss: 1.0")
        wait_until(lambda job=job: server.get(f"/api/v1/jobs/{job}").body.get("lines") == 1, what="the flushed row: what was skipped before is noted")
        page = server.get(path, headers={"Accept": "text/html"})
        after = re.fullmatch(r'seq;desc="(\d+)"', page.headers["Server-Timing"])[1]
        server.send(job, "step: 2 loss: 2.0")
        server.wait_for_points(job, "train:loss", 2)
        events = server.live(f"jobs={job}&kinds=points,lines,incident&after={after}")
        assert events.next(where=lambda event: is_news_or_resync(event, 2))["event"] == "points"
    assert "Server-Timing" not in server.get("/favicon.ico").headers


def test_an_incident_that_opens_while_nobody_listens_is_replayed(server):
    """It need not come with a commit of its own, so that nobody could be told to resync."""
    server.send("j", [f"step: {n} loss: 2.{n % 10}" for n in range(60)] + ["step: 60 loss: nan"])
    wait_until(lambda: server.get("/api/v1/incidents").body["incidents"], what="the incident")
    assert server.live("kinds=incident&after=0").next()["event"] == "incident"


def test_gap_over_a_restart(server):
    """A page that was connected before comes back after the first new point."""
    live = server.live("jobs=j&kinds=points")
    server.send("j", "step: 1 loss: 1.0")
    after = live.next("points")["id"]
    server.restart()
    server.send("j", "step: 2 loss: 2.0")
    server.wait_for_points("j", "train:loss", 2)
    wait_until(lambda: server.get("/api/v1/jobs").body["jobs"][0]["lines"] == 2, what="the flushed row")
    server.live("jobs=j", {"Last-Event-ID": after}).next(where=lambda event: is_news_or_resync(event, 2))


def test_last_event_id_replays_too(server):
    first = server.live("jobs=j&kinds=points")
    server.send("j", "step: 1 loss: 1.0")
    seen = first.next("points")
    first.close()
    server.send("j", "step: 2 loss: 2.0")
    again = server.live("jobs=j&kinds=points", {"Last-Event-ID": seen["id"]})
    event = again.next(where=lambda event: event["event"] == "resync" or points_of(event)[-1][0] == 2)
    assert event["event"] in ("points", "resync")


def test_resync_when_the_sequence_is_gone(server):
    server.send("j", "step: 1 loss: 1.0")
    server.wait_for_points("j", "train:loss", 1)
    assert server.live("jobs=j&after=999999999").next()["event"] == "resync" # ahead of the server: a restored backup
    server.restart()
    assert server.live("jobs=j&after=0").next()["event"] == "resync" # the ring begins anew


def test_slow_subscriber_is_resynced_and_costs_nothing(make_server):
    server = make_server("--live-bytes", "64KiB")
    live = server.live("jobs=j&kinds=lines")
    live.response.fp.raw._sock.setsockopt(1, 8, 4096) # a small receive buffer; the reader thread goes on
    text = "x" * 1000
    for _ in range(100):
        server.send("j", [text] * 20)
    assert server.get("/readyz").status == 200
    server.send("j", "the end")

    def tells_the_end(event): # a burst too large for one event says from where and how many, without the text
        return event["event"] == "resync" or event["json"]["from"] + event["json"]["count"] == 2001
    wait_until(lambda: any(tells_the_end(event) for event in list(live.events)), what="the newest line, or a resync")


def test_bad_parameters(server):
    for query in ("kinds=points,nonsense", "after=abc", "kinds=lines", "job=j"):
        assert server.get("/api/v1/live?" + query).status == 400, query


def test_too_many_subscribers(make_server):
    server = make_server("--max-subscribers", "2")
    server.live("jobs=a"), server.live("jobs=b")
    reply = server.get("/api/v1/live?jobs=c")
    assert reply.status in (429, 503) and reply.headers["Retry-After"]
    server.subscribers[0].close()

    def has_room(): # a closed connection is noticed when something is written to it
        server.send("a", "step: 1 loss: 1.0")
        return server.live("jobs=c").status == 200
    wait_until(has_room, what="room after one left")


def lines_of(event):
    return [line["text"] for line in event["json"]["lines"]]


def test_filter_sends_matching_lines_alone(server):
    everything = server.live("jobs=j&kinds=lines")
    literal = server.live("jobs=j&kinds=lines&filter=a.b")
    regex = server.live("jobs=j&kinds=lines&filter=^NCCL%20\\w%2B$&filter_regex=true&filter_ignore_case=true")
    node = server.live("jobs=j&kinds=lines,points&stream=algo-2")
    passing = server.live("jobs=j&kinds=lines,points&stream=algo-2")
    server.send("j", ["one a.b", "two axb", "nccl timeout", "NCCL x y", "step: 1 loss: 2.5"], stream="algo-1")
    server.send("j", ["from the other"], stream="algo-2")
    assert lines_of(literal.next("lines")) == ["one a.b"]
    event = regex.next("lines")
    assert event["json"]["lines"] == [{"n": 2, "ts_ms": event["json"]["lines"][0]["ts_ms"], "text": "nccl timeout"}]
    assert lines_of(node.next("lines")) == ["from the other"]
    passing.next("points") # what is not lines passes as it is
    assert len(lines_of(everything.next("lines", where=lambda event: event["json"]["stream"] == "algo-1"))) == 5


def test_filter_replays_and_resyncs(server):
    first = server.live("jobs=j&kinds=lines")
    server.send("j", ["one loss", "two"])
    seen = first.next("lines")
    server.send("j", ["three loss", "four"])
    again = server.live("jobs=j&kinds=lines&filter=loss", {"Last-Event-ID": seen["id"]})
    again.next("lines", where=lambda event: "three loss" in lines_of(event))
    assert server.live("jobs=j&kinds=lines&filter=loss&after=999999999").next()["event"] == "resync"


def test_filter_that_runs_away_is_told(make_server):
    server = make_server("--match-steps", "1000", "--live-filter-time", "200ms")
    live = server.live("jobs=j&kinds=lines&filter=(a%2B)%2B$&filter_regex=true")
    other = server.live("jobs=j&kinds=lines&filter=the%20end")
    for _ in range(5):
        server.send("j", ["a" * 60 + "b"] * 100)
    server.send("j", ["the end"])
    other.next("lines", where=lambda event: "the end" in lines_of(event))
    event = live.next("lines")["json"]
    assert event["lines"] == [] and event.get("limited", 0) + event.get("unread", 0) > 0


def test_bad_filters(server):
    reply = server.get("/api/v1/live?jobs=j&kinds=lines&filter=loss(&filter_regex=true")
    assert reply.status == 400 and reply.body["field"] == "filter" and reply.body["column"] == 6
    assert "loss" not in reply.body["title"]
    assert server.get("/api/v1/live?jobs=j&filter=x").body["field"] == "filter"
    assert server.get("/api/v1/live?jobs=j&stream=x").body["field"] == "stream"
    assert server.get("/api/v1/live?jobs=j&kinds=lines&filter=" + "x" * 4097).status == 413
    assert server.get("/api/v1/live?jobs=j&kinds=lines&filter=x&filter_regex=maybe").status == 400


def test_filtered_streams_count_as_subscribers_and_leave(make_server):
    server = make_server("--max-subscribers", "1")
    server.live("jobs=a&kinds=lines&filter=x")
    assert server.get("/api/v1/live?jobs=a&kinds=lines&filter=y").status in (429, 503)
    server.subscribers[0].close()

    def has_room():
        server.send("a", "x")
        return server.live("jobs=c&kinds=lines&filter=x").status == 200
    wait_until(has_room, what="room after one left")
