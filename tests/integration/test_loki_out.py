"""Loki's queries: selectors, filters, limits; what Grafana asks first; what is not answered is named."""

import time
import urllib.parse

import pytest

from smserver import Server
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


REFUSED = [("count_over_time({job=\"a\"}[5m])", "expected '{'"), ('{job="a"} | json', "only filters of lines"), ('{job="a"} | line_format "x"', "only filters"), ('{job="a"', "expected '}'"),
    ('{job="a"} |~ "("', "pattern"), ('{job=~"("}', "pattern"), ("", "expected '{'"), ('{job="a"} |= ', "expected a text"), ('{job="a"}' + ' |= "x"' * 33, "32 filters"),
    ("{" + ",".join(f'l{i}="x"' for i in range(33)) + "}", "32 matchers")]


def test_what_is_not_answered_is_named(server):
    for query, word in REFUSED:
        status, body = ask(server, "query_range", query=query)
        assert status == 400 and word in body, (query, status, body)
    for path, parameters, word in [("query", {"query": '{job="a"}'}, "instant"), ("query", {"query": "rate(x[5m])"}, "count_over_time"), ("query_range", {"query": '{job="a"}', "limit": 5001}, "5000"),
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
