"""Log times: the clocks of hosts, and times that are hardly any."""

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
