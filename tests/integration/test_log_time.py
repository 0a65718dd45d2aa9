"""Log times: the clocks of hosts, and times that are hardly any."""

import calendar
import time

from smserver import wait_until


def stamp(offset_s):
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(time.time() + offset_s))


def streams(server):
    return {s["stream"]: s for s in server.get("/api/v1/jobs/j/streams").body["streams"]}


def test_a_clock_that_is_off_is_shown_and_warned_of(make_server):
    server = make_server("--skew-warning", "30s")
    for _ in range(3):
        for stream, offset in (("right", 0), ("ahead", 50), ("zone", -7200)):
            server.send("j", f"{stamp(offset)} step 1", stream=stream)
        server.send("j", "no time", stream="untimed")
    wait_until(lambda: sum("skew_ms" in s for s in streams(server).values()) == 3, what="the skews")
    by_name = streams(server)
    assert abs(by_name["right"]["skew_ms"]) < 20_000 and "skew_warning" not in by_name["right"]
    assert 30_000 <= by_name["ahead"]["skew_ms"] <= 51_000
    assert "ahead of the server's" in by_name["ahead"]["skew_warning"] and "zone" not in by_name["ahead"]["skew_warning"]
    assert -7_220_000 <= by_name["zone"]["skew_ms"] <= -7_199_000
    assert "behind" in by_name["zone"]["skew_warning"] and "another zone" in by_name["zone"]["skew_warning"]
    assert "skew_ms" not in by_name["untimed"]


def test_times_of_1970_and_2262_and_clocks_that_jump_keep_every_line(server):
    texts = ["1970-01-01 00:00:01 a", "2262-04-11 23:47:16 b", "2024-03-31 02:30:00 c", "2024-03-31 01:59:59 d",
        "2024-10-27 02:30:00 e", "2024-10-27 02:10:00 f", "Feb 29 12:00:00 g", "E1231 23:59:59 h", "9999-12-31 23:59:60 i",
        "0000-00-00 00:00:00 j", "99999999999999999999.5 k", "1999999999999999 l", "May  0 00:00:00 m"]
    server.send("j", texts)
    wait_until(lambda: len(server.lines("j")) == len(texts), what="the lines")
    assert [line["text"] for line in server.lines("j")] == texts
    merged = server.get("/api/v1/jobs/j/logs?merge=true&limit=100").body["lines"]
    assert [line["text"] for line in merged] == texts  # of one stream: in its order, whatever the clock said


def test_the_zone_of_times_that_state_none_can_be_said(server):
    lines = "2024-05-01 12:00:00 a\n2024-05-01T12:00:00Z b\n2024-05-01 12:00:00+05:00 c\nno time\n"
    def times(stream):
        return [line["ts_ms"] // 1000 for line in server.lines("j", stream)]
    noon = 1714564800
    for stream, zone, off in (("a", "%2B02:00", 7200), ("b", "+0200", 7200), ("c", "-05:30", -19800), ("d", "UTC", 0)):
        reply = server.post(f"/api/v1/logs?job=j&stream={stream}&time_zone={zone}", lines)
        assert reply.status == 200, reply
        wait_until(lambda: len(server.lines("j", stream)) == 4, what="the lines")
        assert times(stream)[:3] == [noon - off, noon, noon - 18000]
    for zone in ("", "%2B15:00", "%2B02", "02:00", "%2B02:60", "%2Bx2:00", "Europe/Berlin", "%2B2:000", "%2B02:000"):
        reply = server.post(f"/api/v1/logs?job=j&stream=a&time_zone={zone}", lines)
        assert reply.status == 400 and reply.body["field"] == "time_zone", zone
    server.kill()
    server.start()
    assert times("a")[:3] == [noon - 7200, noon, noon - 18000]


TRACEBACK = ["Traceback (most recent call last):", '  File "train.py", line 12, in <module>', "    lr = 0.1 * scale", "ValueError: no such thing"]


def times(server, job, stream="algo-1"):
    return [line["ts_ms"] for line in server.lines(job, stream)]


def at_ms(text):
    return calendar.timegm(time.strptime(text, "%Y-%m-%d %H:%M:%S")) * 1000


def test_undated_lines_of_a_body_of_the_past_have_the_time_of_the_dated_line_before_them(server):
    first, second = "2025-03-01 10:00:00", "2025-03-01 11:30:00"
    server.send("past", ["a banner", f"{first} begins", *TRACEBACK, "step: 1 loss: 2.5", f"{second} goes on", "step: 2 loss: 2.4", "| acc | 0.9 |"])
    assert times(server, "past") == [at_ms(first)] * 7 + [at_ms(second)] * 3
    # the same in slices of a megabyte, as long as they were there at once
    middle = [f"step: {i} loss: 2.5 {'x' * 100}" for i in range(20_000)]
    server.send("large", [f"{first} begins", "between", f"{second} goes on", *middle])
    assert set(times(server, "large")[2:]) == {at_ms(second)}
    # and of a log that ends only now
    now_s = int(time.time())
    hours = [stamp(-7200), stamp(-3600), stamp(-5)]
    server.send("ends-now", [f"{hours[0]} a", "step: 1 loss: 2.5", f"{hours[1]} b", "step: 2 loss: 2.4", f"{hours[2]} c", "step: 3 loss: 2.3"])
    got = times(server, "ends-now")
    assert got[:5] == [at_ms(hours[0])] * 2 + [at_ms(hours[1])] * 2 + [at_ms(hours[2])] and got[5] >= now_s * 1000


def test_a_stack_trace_of_a_live_body_stands_where_it_was_printed(server):
    begun_ms = int(time.time() * 1000)
    dated = stamp(-60)
    server.send("live", ["before", f"{dated} ERROR it broke", *TRACEBACK, "step: 5 loss: 2.5", "step: 6 loss: 2.4", "behind it"])
    got = times(server, "live")
    assert got[1:6] == [at_ms(dated)] * 5
    assert all(ms >= begun_ms for ms in [got[0], *got[6:]])
    server.kill()
    server.start()
    assert times(server, "live") == got


def test_one_dated_banner_does_not_stop_the_clock(server):
    for banner in ("2024-03-01 00:00:00 image built", f"{stamp(-36000)} starting"):
        begun_ms = int(time.time() * 1000)
        stream = banner[:10]
        server.send("banner", [banner, "step: 1 loss: 2.5", "step: 2 loss: 2.4"], stream=stream)
        for step in range(3, 6):
            server.send("banner", f"step: {step} loss: 2.3", stream=stream)
        assert times(server, "banner", stream)[0] == at_ms(banner[:19])
        assert all(ms >= begun_ms for ms in times(server, "banner", stream)[1:])


def test_two_files_of_one_stream_keep_their_times_apart(server):
    def post(source, offset, text):
        url = f"/api/v1/logs?job=files&stream=algo-1&source={source}&offset={offset}&written_ms=1700000000000"
        reply = server.post(url, text)
        assert reply.status == 200, reply
    first, second = "2021-05-28 07:42:46 one\n", "2022-05-28 07:42:46 two\n"
    post("a", 0, first)
    post("b", 0, second)
    post("a", len(first), "of one\n")
    post("b", len(second), "of two\n")
    one_ms, two_ms = at_ms(first[:19]), at_ms(second[:19])
    assert times(server, "files") == [one_ms, two_ms, one_ms, two_ms]
