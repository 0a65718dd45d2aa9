"""Grafana: what its data sources ask when they are saved and tested (grafana/pkg/tsdb, public/app/plugins/datasource), and the shipped dashboard."""

import json
import time
import urllib.parse

from smserver import ROOT
from wire import loki_json, remote_write, snappy

DASHBOARD = json.loads((ROOT / "deploy/examples/grafana/fleet.json").read_text())


def get(server, path, **parameters):
    return server.get(f"{path}?" + urllib.parse.urlencode(parameters, doseq=True))


def fill(server):
    now = int(time.time() * 1000)
    gpu = {"__name__": "DCGM_FI_DEV_GPU_UTIL", "Hostname": "n1", "instance": "n1:9400", "job": "dcgm"}
    up = {"__name__": "up", "instance": "n1:9400", "job": "dcgm"}
    body = remote_write(*(({**gpu, "gpu": str(i)}, [(now - 60_000, 50 + i), (now - 1000, 60 + i)]) for i in range(2)), (up, [(now - 1000, 1)]))
    assert server.post("/api/v1/logs?job=bert&host=n1", "step 1 loss: 2.5\n", content_type="text/plain").status == 200
    assert server.post("/loki/api/v1/push", json=loki_json(({"job": "bert", "host": "n1"}, [(now * 1_000_000 - 5_000_000_000, "NCCL ERROR: unhandled")]))).status == 204
    assert server.post("/api/v1/points?job=bert", json={"points": [{"metric": "loss", "step": 1, "value": 2.5, "ts_ms": now - 2000}]}).status == 200
    assert server.post("/prometheus/api/v1/write", snappy(body), content_type="application/x-protobuf").status == 204
    server.wait_for_extraction()


def test_save_and_test(server):
    """Prometheus: 1+1 by a form, the buildinfo, the metadata, the labels; Loki: vector(1)+vector(1) and the labels."""
    form = urllib.parse.urlencode({"query": "1+1", "time": "1700000000"})
    reply = server.post("/prometheus/api/v1/query", form, content_type="application/x-www-form-urlencoded")
    assert reply.status == 200 and reply.body["data"]["result"] == [1700000000, "2"]
    assert get(server, "/prometheus/api/v1/rules", type="alert").body == {"status": "success", "data": {"groups": []}}
    assert get(server, "/prometheus/api/v1/query_exemplars", query="up", start=1, end=2).body == {"status": "success", "data": []}
    assert get(server, "/prometheus/api/v1/query_exemplars", query="up{").status == 400
    for path in ("status/buildinfo", "metadata", "labels", "label/__name__/values"):
        reply = get(server, f"/prometheus/api/v1/{path}")
        assert reply.status == 200 and reply.body["status"] == "success", (path, reply)
    reply = get(server, "/loki/api/v1/query", query="vector(1)+vector(1)", time="1700000000000000000", limit=1, direction="backward")
    assert reply.status == 200 and reply.body["data"]["result"][0]["value"][1] == "2"
    assert get(server, "/loki/api/v1/labels", start="1700000000000000000", end="1700000600000000000").body["data"]


def test_the_dashboard(server):
    """Each panel's question finds something on a fleet of one machine and one training."""
    fill(server)
    now = time.time()
    seen = 0
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            expression = target["expr"].replace("$training", ".+")
            is_log = panel["datasource"]["type"] == "loki"
            window = {"start": int((now - 600) * 1e9), "end": int((now + 60) * 1e9)} if is_log else {"start": now - 600, "end": now + 60, "step": 15}
            reply = get(server, ("/loki" if is_log else "/prometheus") + "/api/v1/query_range", query=expression, **window)
            assert reply.status == 200 and reply.body["data"]["result"], (panel["title"], reply)
            seen += 1
    assert seen == 9 and len({panel["id"] for panel in DASHBOARD["panels"]}) == 9
    assert get(server, "/prometheus/api/v1/label/training/values").body["data"] == ["bert"]
    # the training has been on n1 since its first line: its part of the machine's series is what came from then on
    mine = get(server, "/prometheus/api/v1/query", query='DCGM_FI_DEV_GPU_UTIL{training="bert"}', time=now + 30).body["data"]["result"]
    assert {one["metric"]["training"] for one in mine} <= {"bert"}


def test_the_volume_of_logs(server):
    """What Explore asks beside each query of lines (public/app/plugins/datasource/loki: getSupplementaryQuery; the step as Go writes it)."""
    fill(server)
    now = time.time()
    for by in ("level", "level, detected_level"):
        query = f'sum by ({by}) (count_over_time({{job="bert"}} |= `NCCL` | drop __error__[1m0s]))'
        reply = get(server, "/loki/api/v1/query_range", query=query, start=int((now - 600) * 1e9), end=int((now + 60) * 1e9), step="1m0s", direction="backward", limit=1000)
        assert reply.status == 200 and reply.body["data"]["resultType"] == "matrix", reply
        assert [(one["metric"], [value for _, value in one["values"]]) for one in reply.body["data"]["result"]] == [({}, ["1"])]
    lines = get(server, "/loki/api/v1/query_range", query='{job="bert"} |= `NCCL` | drop __error__, __error_details__')
    assert lines.status == 200 and len(lines.body["data"]["result"]) == 1


def test_steps_for_the_trend_panel(server):
    """By step, as CSV, for a data source that reads tables (docs/grafana.md)."""
    for step in range(5):
        server.post("/api/v1/points?job=t", json={"points": [{"metric": "loss", "step": step, "value": 5.0 - step}]})
    server.wait_for_points("t", "loss", 5)
    reply = get(server, "/api/v1/jobs/t/points", metric="loss", raw="true", format="csv")
    head, *rows = reply.raw.decode().splitlines()
    assert reply.status == 200 and {"step", "value"} <= set(head.split(",")) and len(rows) == 5, reply.raw[:200]


def test_what_the_query_builders_list(server):
    """Newer Grafanas ask for at most 40,000 of them, and say so."""
    fill(server)
    for path, parameters, least in (("labels", {}, 4), ("label/__name__/values", {}, 2), ("series", {"match[]": "DCGM_FI_DEV_GPU_UTIL"}, 2)):
        whole = get(server, f"/prometheus/api/v1/{path}", **parameters, limit=40000)
        assert whole.status == 200 and len(whole.body["data"]) >= least and "warnings" not in whole.body, whole
        assert get(server, f"/prometheus/api/v1/{path}", **parameters, limit=0).body == whole.body == get(server, f"/prometheus/api/v1/{path}", **parameters, limit=len(whole.body["data"])).body
        one = get(server, f"/prometheus/api/v1/{path}", **parameters, limit=1)
        assert one.body == {"status": "success", "data": whole.body["data"][:1], "warnings": ["results truncated due to limit"]}
        bad = get(server, f"/prometheus/api/v1/{path}", **parameters, limit="many")
        assert bad.status == 400 and bad.body["errorType"] == "bad_data" and "'many'" in bad.body["error"]
    server.send("gpt", "x")
    for path in ("series", "label/job/values"):
        assert len(get(server, f"/loki/api/v1/{path}", limit=40000).body["data"]) >= 2
        assert len(get(server, f"/loki/api/v1/{path}", limit=1).body["data"]) == 1
        assert get(server, f"/loki/api/v1/{path}", limit=-1).status == 400


def test_what_is_not_here_is_named(server):
    for path in ("alerts", "status/tsdb", "parse_query", "targets/metadata"):
        reply = get(server, f"/prometheus/api/v1/{path}", query="1")
        assert reply.status == 404 and (reply.body["status"], reply.body["errorType"]) == ("error", "not_found") and f"'{path}'" in reply.body["error"] and "query_range" in reply.body["error"]
    for path in ("index/volume", "patterns", "detected_fields", "status/buildinfo"):
        reply = get(server, f"/loki/api/v1/{path}", query='{job="bert"}')
        assert reply.status == 404 and reply.headers["Content-Type"].startswith("text/plain") and f"'{path}'" in reply.raw.decode() and "query_range" in reply.raw.decode()
    assert server.post("/prometheus/api/v1/alerts", "x").status == 405


def test_the_context_of_a_line(server):
    """Explore shows what is around a line: of its labels, what is up to its time, and from it on."""
    job = {"job": "bert", "host": "n1"}
    now = time.time_ns() // 10 ** 9 * 10 ** 9
    assert server.post("/loki/api/v1/push", json=loki_json((job, [(now - second * 10 ** 9, f"line {second}") for second in range(9, 0, -1)]))).status == 204
    server.wait_for_extraction()
    at = now - 5 * 10 ** 9
    for direction, window, expected in (("backward", {"start": at - 7200 * 10 ** 9, "end": at}, ["line 6", "line 7"]), ("forward", {"start": at, "end": at + 7200 * 10 ** 9}, ["line 5", "line 4"])):
        reply = get(server, "/loki/api/v1/query_range", query='{host="n1",job="bert",stream="n1"}', limit=2, direction=direction, **window)
        assert [text for _, text in reply.body["data"]["result"][0]["values"]] == expected, (direction, reply)
