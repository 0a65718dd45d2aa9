"""Loki's queries: selectors, filters, limits, counts; what Grafana asks first; what is not answered is named."""

import time
import urllib.parse

import pytest

from smserver import Server, wait_until
from wire import loki_json

API = "/loki/api/v1"
T0 = (int(time.time()) - 1800) * 1000  # ms


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    one = Server(tmp_path_factory.mktemp("loki")).start()
    for job, host, offset in (("bert", "n1", 0), ("bert", "n2", 1), ("gpt", "n1", 2)):
        entries = [((T0 + 10 * i + offset) * 1_000_000, f"step {i} loss {i / 7:.3f}" + (" ERROR nccl" if i % 10 == 0 else "")) for i in range(100)]
        assert one.post(f"{API}/push", json=loki_json(({"job": job, "host": host}, entries))).status == 204
    one.wait_for_extraction()
    yield one
    one.close()


def ask(server, path, **parameters):
    reply = server.get(f"{API}/{path}?" + urllib.parse.urlencode(parameters, doseq=True))
    return reply.status, reply.body


def lines(server, query, **parameters):
    status, body = ask(server, "query_range", query=query, **{"start": T0 * 1_000_000, "end": (T0 + 60_000) * 1_000_000, "limit": 5000, **parameters})
    assert status == 200 and body["data"]["resultType"] == "streams", body
    return {(one["stream"]["job"], one["stream"]["stream"]): [(int(ns) // 1_000_000 - T0, text) for ns, text in one["values"]] for one in body["data"]["result"]}


def test_selectors_and_filters(server):
    assert {key: len(values) for key, values in lines(server, '{job=~".+"}').items()} == {("bert", "n1"): 100, ("bert", "n2"): 100, ("gpt", "n1"): 100}
    assert set(lines(server, '{job="bert"}')) == {("bert", "n1"), ("bert", "n2")}
    assert set(lines(server, '{job="bert",host!="n1"}')) == {("bert", "n2")}
    assert set(lines(server, '{stream=~"n1|x",job!~"g.*"}')) == {("bert", "n1")}
    assert lines(server, '{job="nobody"}') == {}
    for query, count in [('|= "ERROR"', 10), ('!= "ERROR"', 90), ('|~ "loss 0\\\\.[0-4]"', 4), ('!~ `step [0-9]$|loss`', 0), ('|= "ERROR" != "step 50 "', 9), ('|= ""', 100)]:
        assert len(lines(server, '{job="gpt"} ' + query).get(("gpt", "n1"), [])) == count, query


def test_the_newest_over_all_jobs(server):
    """Not more than asked for, in order, whichever jobs they are of."""
    everything = sorted((at, text) for values in lines(server, '{job=~".+"}').values() for at, text in values)
    for direction, expected in (("backward", everything[::-1][:25]), ("forward", everything[:25])):
        found = lines(server, '{job=~".+"}', limit=25, direction=direction)
        assert sorted((line for values in found.values() for line in values), reverse=direction == "backward") == expected
        assert all(values == sorted(values, key=lambda one: one[0], reverse=direction == "backward") for values in found.values())
    window = lines(server, '{job="gpt"}', start=(T0 + 12) * 1_000_000, end=(T0 + 32) * 1_000_000)
    assert [at for at, _ in window[("gpt", "n1")]] == [22, 12]  # the end is not in it


def test_a_window_is_of_nanoseconds(server):
    """A client that goes on behind the last line it has asks for one nanosecond later, and does not get it again."""
    at = (T0 + 12) * 1_000_000
    for start, end, expected in ((at, at + 10_000_001, [22, 12]), (at + 1, at + 10_000_001, [22]), (at, at + 10_000_000, [12]), (at + 1, at + 10_000_000, [])):
        assert [ms for ms, _ in lines(server, '{job="gpt"}', start=start, end=end).get(("gpt", "n1"), [])] == expected


def test_save_and_test(server):
    """What Grafana's data source asks: an expression, labels, values, series."""
    status, body = ask(server, "query", query="vector(1)+vector(1)", time=T0 * 1_000_000)
    assert status == 200 and body["status"] == "success"
    assert body["data"] == {"resultType": "vector", "result": [{"metric": {}, "value": [T0 / 1000, "2"]}]}
    window = {"start": T0 * 1_000_000, "end": (T0 + 60_000) * 1_000_000}
    assert ask(server, "labels", **window)[1]["data"] == ["host", "job", "stream"]
    assert ask(server, "label/job/values", **window)[1]["data"] == ["bert", "gpt"]
    assert sorted(ask(server, "label/host/values", **window, query='{job="bert"}')[1]["data"]) == ["n1", "n2"]
    assert ask(server, "label/other/values", **window)[1]["data"] == []
    series = ask(server, "series", **window, **{"match[]": '{job="bert"}'})[1]["data"]
    assert sorted(one["host"] for one in series) == ["n1", "n2"] and {one["job"] for one in series} == {"bert"}


def counted(server, query, step=1, start=T0, end=T0 + 5000):
    """{labels: {ms since T0: value}}"""
    status, body = ask(server, "query_range", query=query, start=start * 1_000_000, end=end * 1_000_000, step=step)
    assert status == 200 and body["data"]["resultType"] == "matrix", (query, body)
    return {tuple(sorted(one["metric"].items())): {round(at * 1000) - T0: float(value) for at, value in one["values"]} for one in body["data"]["result"]}


def expected(times, range_ms, step_ms=1000, end=5000, weight=lambda at: 1):
    """Windows are open at their begin; a time without a line has no value."""
    sums = {at: sum(weight(one) for one in times if at - range_ms < one <= at) for at in range(0, end + 1, step_ms)}
    return {at: value for at, value in sums.items() if value}


def test_counts_over_time(server):
    every, errors = [10 * i + 2 for i in range(100)], [100 * i + 2 for i in range(10)]
    gpt = (("host", "n1"), ("job", "gpt"), ("stream", "n1"))
    for range_text, range_ms in (("1s", 1000), ("500ms", 500), ("3s", 3000), ("1m", 60_000)):
        assert counted(server, f'count_over_time({{job="gpt"}}[{range_text}])') == {gpt: expected(every, range_ms)}
        assert counted(server, f'count_over_time({{job="gpt"}} |= "ERROR" [{range_text}])') == {gpt: expected(errors, range_ms)}
    assert counted(server, 'count_over_time({job="gpt"}[10ms])', step=0.002, end=T0 + 30)[gpt] == expected(every, 10, 2, 30)
    assert counted(server, 'count_over_time({job="gpt"}[1s] offset 2s)') == {gpt: {at + 2000: value for at, value in expected(every, 1000, end=3000).items()}}
    assert counted(server, 'rate({job="gpt"}[2s])') == {gpt: {at: value / 2 for at, value in expected(every, 2000).items()}}
    size = {at: len(text) for at, text in lines(server, '{job="gpt"}')[("gpt", "n1")]}
    assert counted(server, 'bytes_over_time({job="gpt"}[1s])') == {gpt: expected(every, 1000, weight=size.get)}
    assert counted(server, 'bytes_rate({job="gpt"} !~ "ERROR" [4s])')[gpt] == {at: value / 4 for at, value in expected(set(every) - set(errors), 4000, weight=size.get).items()}
    assert counted(server, 'count_over_time({job="gpt"} |= "nothing has this" [1s])') == {} == counted(server, 'rate({job="nobody"}[1s])')


def test_counts_are_added_up(server):
    """What stands around a count is PromQL's: sums by labels, topk, quotients."""
    total = expected([10 * i for i in range(100)], 1000)
    by_job = counted(server, 'sum by (job) (count_over_time({job=~".+"}[1s]))')
    assert by_job == {(("job", "bert"),): expected([10 * i + j for i in range(100) for j in (0, 1)], 1000), (("job", "gpt"),): expected([10 * i + 2 for i in range(100)], 1000)}
    assert counted(server, 'sum(count_over_time({job=~".+"}[1m]))')[()][5000] == 300 and total
    assert set(counted(server, 'topk(1, sum by (job) (rate({job=~".+"}[1m])))')) == {(("job", "bert"),)}
    share = counted(server, 'sum(count_over_time({job="bert"} |= "ERROR" [1m])) / sum(count_over_time({job="bert"}[1m])) > 0.05')
    assert share[()][5000] == 0.1
    status, body = ask(server, "query", query='sum by (job) (count_over_time({job=~".+"} |~ "step [0-9] " [1m]))', time=(T0 + 5000) * 1_000_000)
    assert status == 200 and body["data"]["resultType"] == "vector"
    assert {one["metric"]["job"]: one["value"] for one in body["data"]["result"]} == {"bert": [(T0 + 5000) / 1000, "20"], "gpt": [(T0 + 5000) / 1000, "10"]}


@pytest.mark.parametrize("sealing", [[], ["--seal-age", "100ms"]], ids=["live", "sealed"])
def test_counts_of_what_is_sealed(make_server, sealing):
    """Blocks are counted by their times where that is exact (the second), and read where it is not."""
    server = make_server(*sealing)
    times = {(("job", "a"), ("stream", f"s{part}")): [5000 * part + 7 * i + 100 for i in range(300)] for part in range(4)}
    for labels, some in times.items():
        entries = [((T0 + at) * 1_000_000, f"step {at} loss 1") for at in some]
        assert server.post(f"{API}/push", json=loki_json((dict(labels), entries))).status == 204
    server.wait_for_extraction()
    if sealing:
        wait_until(lambda: server.figure("sealed_lines_total") >= 1200, what="all lines to be sealed")
    for text, range_ms, step in (("1s", 1000, 0.25), ("5s", 5000, 5), ("1m", 60_000, 1)):
        right = {key: expected(some, range_ms, int(step * 1000), 30_000) for key, some in times.items()}
        assert counted(server, f'count_over_time({{job="a"}}[{text}])', step=step, end=T0 + 30_000) == right, text


def test_a_pattern_has_at_most_4096_bytes(server):
    for length, status in ((4096, 200), (4097, 400)):
        pattern = "|".join(["x" * 99] * 40) + "|" + "y" * (length - 4000)
        assert len(pattern) == length
        said = ask(server, "query_range", query=f'{{job="gpt"}} |~ `{pattern}`')
        assert said[0] == status and (status == 200 or "4096 bytes" in said[1]), said


def test_counting_has_its_limit(server, make_server):
    """A query that looks at too much is a 422 with the option's name: too many cells, or too many jobs."""
    # a row is a cell a step, and its labels, of 16 bytes each: two labels, job=a and stream=algo-1, are 80
    small = make_server("--max-prometheus-points", "105", "--max-prometheus-jobs", "2")
    for job in "abc":
        small.send(job, ["loss 1"])
    now = int(time.time()) * 1000
    for end, status in ((99_000, 200), (100_000, 422)):
        said = ask(small, "query_range", query='count_over_time({job="a"}[1m])', start=now * 1_000_000, end=(now + end) * 1_000_000, step=1)
        assert said[0] == status and (status == 200 or "--max-prometheus-points" in said[1]), said
    said = ask(small, "query", query='sum(count_over_time({job=~".+"}[1m]))')
    assert said[0] == 422 and "--max-prometheus-jobs" in said[1], said
    long = make_server("--search-cpu-ms", "1")
    long.send("a", [f"step {i} loss {i / 7} " + "x" * 200 for i in range(20_000)])
    said = ask(long, "query", query='count_over_time({job="a"} |~ "(x|xx)+y" [1h])')
    assert said[0] == 422 and "--search-cpu-ms" in said[1] and "'a'" in said[1], said
    status, body = ask(server, "query_range", query='count_over_time({job="gpt"}[1m])', start=T0 * 1_000_000, end=(T0 + 11_000_000) * 1_000_000, step=1)
    assert status == 400 and "11,000" in body


REFUSED = [('count_over_time({job="a"})', "expected '['"), ('{job="a"}[5m]', "only filters"), ('({job="a"}[5m])', "count it"), ('max_over_time({job="a"}[5m])', "not max_over_time"), ("loss", "no names of metrics"),
    ("rate(loss[5m])", "no names of metrics"), ('sum_over_time({job="a"} | unwrap x [5m])', "'unwrap'"), ('count_over_time({job="a"} | json [5m])', "'json'"), ('{job="a"} | drop job', "'job'"),
    ('count_over_time({job="a"} |~ "(" [5m])', "pattern"), ('count_over_time({job=~"("}[5m])', "pattern"), ('count_over_time({job="a"}[5m]) by (job)', "unexpected"), ('absent_over_time({job="a"}[5m])', "not answered here"),
    ('{job="a"} | json', "only filters of lines"), ('{job="a"} | line_format "x"', "only filters"), ('{job="a"', "expected '}'"),
    ('{job="a"} |~ "("', "pattern"), ('{job=~"("}', "pattern"), ("", "expected an expression"), ('{job="a"} |= ', "expected a text"), ('{job="a"}' + ' |= "x"' * 33, "32 filters"),
    ("{" + ",".join(f'l{i}="x"' for i in range(33)) + "}", "32 matchers")]


def test_what_is_not_answered_is_named(server):
    for query, word in REFUSED:
        status, body = ask(server, "query_range", query=query)
        assert status == 400 and word in body, (query, status, body)
    for path, parameters, word in [("query", {"query": '{job="a"}'}, "instant"), ("query", {"query": "rate(x[5m])"}, "no names of metrics"), ("query_range", {"query": '{job="a"}', "limit": 5001}, "5000"),
            ("query_range", {"query": '{job="a"}', "limit": 0}, "limit"), ("query_range", {"query": '{job="a"}', "direction": "up"}, "direction"), ("query_range", {"query": '{job="a"}', "odd": 1}, "odd"),
            ("query_range", {"query": '{job="a"}', "start": 9, "end": 5}, "start")]:
        status, body = ask(server, path, **parameters)
        assert status == 400 and word in body, (path, parameters, status, body)


def test_a_pattern_that_is_given_up_is_told(server):
    """A line of which nobody knows whether it matches is neither left out nor given in silence."""
    server.send("hard", ["b" + "a" * 2000])
    for sign in ("|~", "!~"):
        status, body = ask(server, "query_range", query=f'{{job="hard"}} {sign} "b(a|aa)+[cd]"')
        assert status == 422 and "given up" in body and "'hard'" in body, (sign, status, body)
        status, body = ask(server, "query", query=f'count_over_time({{job="hard"}} {sign} "b(a|aa)+[cd]" [1h])')
        assert status == 422 and "given up" in body and "'hard'" in body, (sign, status, body)
        assert len(ask(server, "query_range", query=f'{{job="hard"}} {sign} "^b"')[1]["data"]["result"]) == (sign == "|~")


def test_a_pattern_of_a_label_that_is_given_up_is_told(server):
    """Nor is a job of which nobody knows whether it is meant."""
    job, pattern = "b" + "a" * 200, "b(a|aa)+[cd]"
    server.send(job, ["loss 1"])
    assert server.post(f"/api/v1/points?job={job}", "step,loss\n1,0.5\n", content_type="text/csv").status == 200
    for sign in ("=~", "!~"):
        for path, label in (("/loki/api/v1/query_range", "job"), ("/loki/api/v1/series", "job"), ("/prometheus/api/v1/query", "training")):
            query = f'{"loss" if label == "training" else ""}{{{label}{sign}"{pattern}"}}'
            parameter = "match[]" if path.endswith("series") else "query"
            reply = server.get(f"{path}?" + urllib.parse.urlencode({parameter: query}))
            said = reply.body if isinstance(reply.body, str) else reply.body["error"]
            assert reply.status == 422 and "given up" in said and f"'{label}'" in said and pattern in said, (path, sign, reply)
    assert ask(server, "query_range", query=f'{{job="{job}"}}')[0] == 200


def test_how_much_a_selector_chooses(server):
    window = {"start": T0 * 1_000_000, "end": (T0 + 60_000) * 1_000_000}
    sizes = {query: sum(len(text) + 1 for values in lines(server, query).values() for _, text in values) for query in ('{job="gpt"}', '{job="bert"}')}
    for query, streams, entries in (('{job="gpt"}', 1, 100), ('{job="bert"}', 2, 200), ('{job="nobody"}', 0, 0)):
        assert ask(server, "index/stats", query=query, **window) == (200, {"streams": streams, "chunks": streams, "entries": entries, "bytes": sizes.get(query, 0)})
    assert ask(server, "index/stats", query='{job="gpt"}', start=1_000_000_000, end=1_000_000_060)[1]["entries"] == 0
    assert ask(server, "index/stats", query="x", **window)[0] == 400
    status, body = ask(server, "tail", query='{job="gpt"}')
    assert status == 400 and "WebSocket" in body and "/api/v1/live" in body


@pytest.mark.parametrize("query, text", [
    ('{job="a",stream=~"algo-.*"}|="x"!~`\\d+ "y"`', '{job="a", stream=~"algo-.*"} |= "x" !~ "\\\\d+ \\"y\\""'),
    ('{job="a"} | drop __error__, level |= "x"', '{job="a"} | drop __error__, level |= "x"'),
    ('sum by(job)(count_over_time({job="a"}|="x"[5m]offset 1h))>1', 'sum by (job) (count_over_time({job="a"} |= "x" [5m] offset 1h)) > 1'),
    ('vector(1)+vector(1)', 'vector(1) + vector(1)'),
    ('{job="' + "a" * 60 + '"} |= "' + "b" * 30 + '" | drop x | drop y |= "c"', '{job="' + "a" * 60 + '"}\n  |= "' + "b" * 30 + '"\n  | drop x\n  | drop y\n  |= "c"'),
])
def test_as_text(server, query, text):
    for asked in (query, text):
        assert ask(server, "format_query", query=asked) == (200, {"status": "success", "data": text})


@pytest.mark.parametrize("query, word", [('{job="a"', "end of the query"), ('{job="a"} | json', "json"), ('count_over_time({job="a"} |~ "(" [5m])', "pattern"), ('{job=~"("}', "("), ("", "end of the query"), ('{job="a"} | drop x != "c"', "drop x")])
def test_what_cannot_be_written_is_named(server, query, word):
    reply = server.get(f"{API}/format_query?" + urllib.parse.urlencode({"query": query}))
    assert reply.status == 400 and word in reply.raw.decode(), reply
