"""PromQL: the same data in Debian's Prometheus and here, the same questions, the same answers."""

import http.server
import math
import random
import threading
import time
import urllib.parse

import pytest

import prometheus
from smserver import Server, wait_until
from test_auth import make_token
from wire import remote_write, snappy

STEP_S, COUNT = 15, 480  # two hours
T0 = (int(time.time()) - 4 * 3600) // 7200 * 7200 * 1000
API = "/prometheus/api/v1"


def samples(value, keep=lambda i: True, jitter=0):
    return [(T0 + i * STEP_S * 1000 + (i * 37 % (jitter + 1)), value(i)) for i in range(COUNT) if keep(i)]


def make_data():
    random.seed(7)
    noise = [random.random() for _ in range(4 * COUNT)]
    data = []
    for node in range(3):
        where = {"instance": f"n{node}:9100", "job": "node"}
        resets = 137 + 50 * node
        data += [({"__name__": "cpu_seconds_total", "cpu": str(cpu), "mode": mode, **where},
            samples(lambda i: round((i % resets) * (0.3 + 0.1 * cpu) + noise[i] * (mode == "user"), 6), lambda i: i % 53 != 7, jitter=40))
            for cpu in range(2) for mode in ("user", "idle")]
        data.append(({"__name__": "load1", **where}, samples(lambda i: round(4 * noise[i + node] + node - 1, 3), lambda i: not 200 <= i < 260 or node != 1)))
        data.append(({"__name__": "memory_bytes", "kind": "free", **where}, samples(lambda i: 1e9 + i * 1e6 * (node - 1))))
        data.append(({"__name__": "node_info", "instance": f"n{node}:9100", "job": "node", "rack": f"r{node % 2}"}, samples(lambda i: 1)))
        data += [({"__name__": "wait_seconds_bucket", "le": le, **where}, samples(lambda i: float(math.floor(i * share * (node + 1)))))
            for le, share in (("0.1", 0.2), ("0.5", 0.5), ("1", 0.9), ("+Inf", 1.0))]
    data.append(({"__name__": "odd", "what": "nan", "instance": "n0:9100"}, samples(lambda i: math.nan if i % 5 == 0 else i)))
    data.append(({"__name__": "odd", "what": "inf", "instance": "n0:9100"}, samples(lambda i: (math.inf if i % 14 else -math.inf) if i % 7 == 0 else i)))
    data.append(({"__name__": "odd", "what": "zero", "instance": "n0:9100"}, samples(lambda i: 0)))
    return data


@pytest.fixture(scope="module")
def trainings(tmp_path_factory):
    """For tests of jobs and machines of their own."""
    one = Server(tmp_path_factory.mktemp("trainings")).start()
    yield one
    one.close()


@pytest.fixture(scope="module")
def scraper(tmp_path_factory, trainings):
    """Debian's Prometheus scrapes a fake dcgm-exporter and writes to the server. It takes five seconds to begin: the first test starts it."""
    if not prometheus.is_here():
        pytest.fail("the package prometheus is missing: tests/run packages")
    values = iter(range(1_000_000))

    class Exporter(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = (f'# TYPE DCGM_FI_DEV_GPU_UTIL gauge\nDCGM_FI_DEV_GPU_UTIL{{gpu="0",UUID="GPU-{"ab" * 18}",pci_bus_id="00000000:07:00.0",device="nvidia0",'
                f'modelName="NVIDIA A100-SXM4-40GB",Hostname="n1",DCGM_FI_DRIVER_VERSION="535.129.03"}} {next(values)}\n').encode()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Exporter) as exporter:
        threading.Thread(target=exporter.serve_forever, daemon=True).start()
        running = prometheus.Prometheus(tmp_path_factory.mktemp("scraper"), config=f"""
global: {{scrape_interval: 100ms, scrape_timeout: 100ms}}
scrape_configs:
  - job_name: dcgm
    static_configs: [{{targets: ["127.0.0.1:{exporter.server_port}"]}}]
remote_write:
  - url: {trainings.url}{API}/write
    queue_config: {{batch_send_deadline: 100ms}}
""")
        yield running
        running.close()
        exporter.shutdown()


@pytest.fixture(scope="module")
def pair(tmp_path_factory, scraper):
    data = make_data()
    theirs = prometheus.Prometheus(tmp_path_factory.mktemp("theirs"), series=data)
    ours = Server(tmp_path_factory.mktemp("ours")).start()
    for at in range(0, COUNT, 120):
        body = remote_write(*((labels, points[at:at + 120]) for labels, points in data))
        assert ours.post(f"{API}/write", snappy(body), content_type="application/x-protobuf").status == 204
    ours.wait_for_extraction()
    yield ours, theirs
    theirs.close()
    ours.close()


SELECTORS = ["load1", 'load1{instance="n1:9100"}', 'load1{instance!="n1:9100"}', 'load1{instance=~"n[01].*"}', 'load1{instance!~"n[01].*"}', 'load1{nothing=""}',
    'load1{instance=~"n1"}', '{__name__=~"load1|memory_bytes"}', '{__name__="odd",what!=""}', 'load1{instance=""}', "nothing_at_all", "load1 offset 5m", "load1 offset -1m",
    'cpu_seconds_total{mode="user",cpu=~"0|1"}', "odd", 'node_info{rack="r0"}']
RANGES = ["rate", "increase", "delta", "irate", "idelta", "avg_over_time", "sum_over_time", "min_over_time", "max_over_time", "count_over_time", "last_over_time", "present_over_time",
    "stddev_over_time", "stdvar_over_time", "changes", "resets", "deriv"]
OVER = ["cpu_seconds_total[5m]", "load1[2m]", "odd[3m]", "load1[20s] offset 1m", "memory_bytes[1h]"]
EACH = ["abs", "ceil", "floor", "exp", "ln", "log2", "log10", "sqrt", "sgn", "timestamp", "absent", "scalar", "round", "sort", "sort_desc"]
AGGREGATIONS = ["sum", "avg", "min", "max", "count", "group", "stddev", "stdvar"]
OPERATORS = ["+", "-", "*", "/", "%", "^", "==", "!=", "<", "<=", ">", ">="]
OTHERS = [
    "1", "1+1", "vector(1)+vector(1)", "-1^2", "2^3^2", "(1+2)*3", "0x1f", "1e3", "NaN", "-Inf", "1 > bool 2", "1 == bool 1", "time()", "vector(time())", "time() - 5", "+load1", "-load1",
    'absent(nothing{a="b",c=~"d"})', "absent(nothing)", "absent(load1)", "scalar(load1)", 'scalar(load1{instance="n0:9100"})', "timestamp(load1 offset 1m)", "timestamp(load1 + 1)",
    "round(load1, 0.5)", "round(load1, 5)", "clamp(load1, 0, 2)", "clamp(load1, 2, 0)", "clamp_min(load1, 1)", "clamp_max(load1, 1)", "clamp_max(odd, 10)", "clamp_min(odd, NaN)",
    "topk(2, load1)", "bottomk(1, load1)", "topk(1, cpu_seconds_total) by (mode)", "bottomk(2, cpu_seconds_total) without (cpu, instance)", "topk(0, load1)", "topk(10, odd)", "topk(2.9, load1)",
    "quantile(0.5, load1)", "quantile(0.9, cpu_seconds_total) by (mode)", "quantile(2, load1)", "quantile(-1, load1)", "quantile(NaN, load1)", "quantile_over_time(0.25, load1[5m])",
    "quantile_over_time(0.5, odd[5m])", "quantile_over_time(1.5, load1[5m])",
    "histogram_quantile(0.5, wait_seconds_bucket)", "histogram_quantile(0.99, rate(wait_seconds_bucket[5m]))", "histogram_quantile(0.9, sum by (le) (rate(wait_seconds_bucket[10m])))",
    'histogram_quantile(0.5, wait_seconds_bucket{le!="+Inf"})', "histogram_quantile(1.1, wait_seconds_bucket)", "histogram_quantile(0, wait_seconds_bucket)", "histogram_quantile(0.5, load1)",
    "sum by (mode) (rate(cpu_seconds_total[5m]))", "sum without (cpu) (rate(cpu_seconds_total[5m]))", "sum(rate(cpu_seconds_total[5m])) by (instance, mode)", "avg by (nothing) (load1)",
    "sum by (__name__) ({__name__=~\"load1|memory_bytes\"})", "max without () (load1)", "count by (instance) ({instance=~\".+\"})",
    "sum(load1) / count(load1)", "load1 / on (instance) memory_bytes", "load1 / ignoring (kind) memory_bytes", "load1 * on (instance) group_left (rack) node_info",
    "node_info * on (instance) group_right (rack) load1", "cpu_seconds_total * on (instance, job) group_left node_info", "load1 * on (instance) group_left (nothing) node_info",
    "sum by (rack) (load1 * on (instance) group_left (rack) node_info)",
    "load1 > 1", "load1 > bool 1", "1 < load1", "1 < bool load1", "load1 > on (instance) (load1 offset 5m)", "load1 > bool ignoring (kind) load1", "load1 == load1", "load1 != load1",
    "load1 and load1 > 1", "load1 and on (instance) node_info{rack=\"r0\"}", "load1 unless load1 > 1", "load1 unless on (instance) node_info{rack=\"r0\"}", "load1 or memory_bytes",
    "load1 > 2 or load1 < 0", "load1{instance=\"n0:9100\"} or on (job) load1", "load1 or vector(7)", "load1 or on () vector(7)", "vector(1) or load1",
    "1 - avg by (instance) (rate(cpu_seconds_total{mode=\"idle\"}[5m]))", "sum(rate(cpu_seconds_total[1m])) > 0.5 or vector(0)", "100 * (1 - load1 / 10)",
    "max_over_time(load1[10m]) - min_over_time(load1[10m])", "abs(load1 - avg_over_time(load1[5m]))", "sort(load1 > 0)", "load1 % 0.7", "load1 ^ 2", "-load1 % 0.7", "0 / 0 * load1", "1 / (load1 * 0)",
    "rate(cpu_seconds_total[30s])", "irate(cpu_seconds_total[30s])", "rate(cpu_seconds_total[5m] offset 10m)", "sum(increase(cpu_seconds_total[1h])) by (cpu)", "count(load1) by (job) > 1",
    "load1 # a comment", "sum(\n  load1\n)", "(((load1)))", "- - load1", "load1 + load1 * 2 - load1 / 2", "load1 < 1 and load1 > 0 or load1 == 3", "group(odd)", "stddev(odd)", "avg(odd)", "min(odd)", "max(odd)",
    "sum(odd)", "count(odd)", "min by (what) (odd)", "deriv(odd[5m])", "{instance=\"n0:9100\",__name__!~\"odd|wait.*\"}"]
QUERIES = [*SELECTORS, *(f"{name}({over})" for name in RANGES for over in OVER), *(f"{name}(load1)" for name in EACH), *(f"{name}(odd)" for name in EACH if name != "exp"),
    *(f"{name}{by}(cpu_seconds_total)" for name in AGGREGATIONS for by in ("", " by (mode)", " without (cpu, mode)")),
    *(f"{left} {op} {right}" for op in OPERATORS for left, right in (("load1", "2"), ("2", "load1"), ("load1", "load1"), ("odd", "odd"))), *OTHERS]


def ask(server, path, **parameters):
    reply = server.get(f"{API}/{path}?" + urllib.parse.urlencode(parameters, doseq=True))
    return reply.status, reply.body


def same(pair, path, **parameters):
    """None where both answer alike: the same data, or both refuse with the same status."""
    ours, theirs = pair
    (status, body), (their_status, their_body) = ask(ours, path, **parameters), theirs.ask(path, **parameters)
    if status != 200 or their_status != 200:
        return None if status == their_status else (parameters["query"], status, body, their_status, their_body)
    found = prometheus.difference(body["data"], their_body["data"])
    return found and (parameters["query"], *found)


def test_at_one_time(pair):
    at = T0 / 1000 + COUNT * STEP_S * 0.6
    wrong = [fault for query in QUERIES for fault in [same(pair, "query", query=query, time=at)] if fault]
    assert not wrong, f"{len(wrong)} of {len(QUERIES)}: {wrong[:8]}"
    assert len(QUERIES) > 250


def test_over_a_range(pair):
    start, end = T0 / 1000 - 100, T0 / 1000 + COUNT * STEP_S + 400
    wrong = [fault for query in QUERIES if not query.startswith("sort") for fault in [same(pair, "query_range", query=query, start=start, end=end, step=97)] if fault]
    assert not wrong, f"{len(wrong)} of {len(QUERIES)}: {wrong[:8]}"


def test_as_text(pair):
    """format_query: each query as Prometheus writes it, and what is written is written so again."""
    joined = [f"{left} + {right} * on (instance, job) group_left (rack) {left}" for left, right in zip(QUERIES, QUERIES[7:] + QUERIES[:7])]
    long = [f"sum by (instance, mode) (rate({{__name__=~\"cpu_seconds_total|load1\",instance=~\".*\",mode!=\"{'x' * 30}\"}}[5m])) / ({query})" for query in OTHERS]
    tops = [f"topk(3, clamp(-({query}), -1, 1e30) > bool 0.00001)" for query in joined[-60:]]
    wrong = []
    for query in [*QUERIES, *REFUSED, *joined, *long, *tops, '{a="b"}', 'load1{a="x\\n\\"\\\\ü"}', "'a\\'b'", "load1[1w1d]", "load1[90m]", "load1[1500ms]", "1e21", "1e20", "1234567", "999999", "-1e6", "0.00012", "1.5e-7", "- - 1", "-(1)", "+1", "+(load1)"]:
        (status, body), (their_status, their_body) = ask(pair[0], "format_query", query=query), pair[1].ask("format_query", query=query)
        if status != their_status or (status == 200 and body != their_body):
            wrong.append((query, status, body, their_status, their_body))
        elif status == 200:
            assert ask(pair[0], "format_query", query=body["data"]) == (200, body), query
    assert not wrong, f"{len(wrong)}: {wrong[:6]}"


REFUSED = ["", "load1[", "load1[5m", "sum(", "load1 load1", "rate(load1)", "sum(load1[5m])", "load1 +", "{}", '{a=~".*"}', "foo(load1)", "1 == 1", "load1 and 1", "load1{a=b}", 'load1{a="b"', "load1[5m] + 1",
    "rate(load1[5m], 1)", "load1[0s]", "load1 on (a) load1", "1 + on (a) 1", "load1 and on (a) group_left load1", "clamp(load1, 1)", '"a" + 1', 'load1{a=~"("}', 'load1{a=~"x",b=~"("}', "topk(load1, 1)", "load1{1a=\"b\"}", "load1 offset",
    "sum by load1", "1..2", "load1[5m] offset 5m offset 5m", "bool 1", "load1 bool 1", 'load1{__name__="x"}']


def test_what_is_refused_there_is_refused_here(pair):
    wrong = [fault for query in REFUSED for fault in [same(pair, "query", query=query, time=T0 / 1000)] if fault]
    assert not wrong, wrong
    for query in REFUSED:
        status, body = ask(pair[0], "query", query=query)
        assert (status, body["status"], body["errorType"]) == (400, "error", "bad_data") and body["error"], query


@pytest.mark.parametrize("query, word", [("label_replace(load1, \"a\", \"b\", \"c\", \"d\")", "label_replace"), ("max_over_time(load1[5m:1m])", "subqueries"), ("load1 @ 5", "@"),
    ("count_values(\"a\", load1)", "count_values"), ("(" * 200 + "1" + ")" * 200, "64 deep"), ("-" * 200 + "1", "64 deep"), ("1^" * 200 + "1", "64 deep"), ("1+" * 1000 + "1", "2000 parts"), ("load1{a=\"b\"} x", "byte 14: 'x'")])
def test_what_is_not_answered_is_named(pair, query, word):
    status, body = ask(pair[0], "query", query=query)
    assert status == 400 and body["errorType"] == "bad_data" and word in body["error"], body


def test_what_there_is(pair):
    ours, theirs = pair
    window = {"start": T0 / 1000, "end": T0 / 1000 + COUNT * STEP_S}
    for path, parameters in [("labels", {}), ("labels", {"match[]": ["load1", "odd"]}), ("label/instance/values", {}), ("label/__name__/values", {}), ("label/rack/values", {"match[]": "node_info"}),
            ("label/nothing/values", {})]:
        assert ask(ours, path, **window, **parameters) == theirs.ask(path, **window, **parameters)
    mine, other = ask(ours, "series", **window, **{"match[]": ["load1", 'odd{what="nan"}']})[1]["data"], theirs.ask("series", **window, **{"match[]": ["load1", 'odd{what="nan"}']})[1]["data"]
    assert sorted(map(sorted, (one.items() for one in mine))) == sorted(map(sorted, (one.items() for one in other)))
    assert ask(ours, "series")[0] == 400
    raw = {"query": "load1[1m]", "time": T0 / 1000 + 600}
    assert prometheus.difference(ask(ours, "query", **raw)[1]["data"], theirs.ask("query", **raw)[1]["data"]) is None


def test_forms_and_parameters(pair):
    ours, _ = pair
    form = urllib.parse.urlencode({"query": "1+1", "time": "2026-01-01T00:00:00Z"})
    reply = ours.post(f"{API}/query", form, content_type="application/x-www-form-urlencoded")
    assert reply.body == {"status": "success", "data": {"resultType": "scalar", "result": [1767225600, "2"]}}
    assert ours.post(f"{API}/query", "query=1", content_type="text/plain").status == 400
    for path, parameters, word in [("query", {"query": "1", "odd": 1}, "odd"), ("query", {"query": "1", "time": "x"}, "time"), ("query_range", {"query": "1", "start": 0, "end": 1}, "step"),
            ("query_range", {"query": "1", "start": 0, "end": 11000, "step": 1}, "11,000"), ("query_range", {"query": "1", "start": 5, "end": 1, "step": 1}, "end"),
            ("query_range", {"query": "1", "start": 0, "end": 1, "step": 0}, "step"), ("query_range", {"query": "load1[5m]", "start": 0, "end": 1, "step": 1}, "range query")]:
        status, body = ask(ours, path, **parameters)
        assert (status, body["errorType"]) == (400, "bad_data") and word in body["error"], body
    assert ask(ours, "query_range", query="1", start=0, end=10999, step=1)[0] == 200
    assert ask(ours, "metadata") == (200, {"status": "success", "data": {}})
    assert ask(ours, "status/buildinfo")[1]["data"]["version"] == "2.42.0"


def test_budgets(make_server):
    server = make_server("--max-prometheus-points", "30", "--max-prometheus-jobs", "1")
    series = [({"__name__": "m", "instance": "n:1"}, [(T0 + i, i) for i in range(20)])]
    assert server.post(f"{API}/write", snappy(remote_write(*series)), content_type="application/x-protobuf").status == 204
    server.wait_for_extraction()
    assert ask(server, "query", query="sum_over_time(m[1m])", time=T0 / 1000 + 1)[0] == 200
    status, body = ask(server, "query_range", query="m", start=T0 / 1000, end=T0 / 1000 + 30, step=1)
    assert (status, body["errorType"]) == (422, "execution") and "--max-prometheus-points" in body["error"]
    server.send("a-job", ["loss: 1"])
    status, body = ask(server, "query", query="m")
    assert status == 422 and "--max-prometheus-jobs" in body["error"]
    assert ask(server, "query", query='m{training="a-job"}')[0] == 200
    loki = {"query": '{job=~".+"}'}
    questions = [(f"{API}/query", {"query": "m"}), (f"{API}/query_range", {"query": "m", "start": time.time() - 60, "end": time.time(), "step": 10}), (f"{API}/series", {"match[]": "m"}), (f"{API}/labels", {}),
        (f"{API}/label/x/values", {}), ("/loki/api/v1/query_range", loki), ("/loki/api/v1/series", {}), ("/loki/api/v1/label/job/values", loki)]
    writer, reader = (make_token(server, scope, scope, "--team", "blue") for scope in ("write", "read"))
    for path, parameters in questions:
        address = f"{path}?{urllib.parse.urlencode(parameters)}"
        refused = server.get(address, token=reader)
        assert refused.status == 422 and "--max-prometheus-jobs" in refused.raw.decode(), (address, refused)
        assert (server.get(address).status, server.get(address, token=writer).status) == (401, 403), address


def test_trainings(trainings):
    """Names become legal ones; a training's own points have its name, those of its machine are cut to its time."""
    server = trainings
    now = int(time.time() * 1000)
    server.post("/api/v1/points?job=bert&stream=algo-1", json={"points": [{"metric": "train:loss", "step": 1, "value": 2.5}, {"metric": "gpu/0/util", "step": 1, "value": 70},
        {"metric": '9lives{rank.id="3"}', "step": 1, "value": 1}]})
    server.wait_for_points("bert", "gpu/0/util", 1)
    names = set(ask(server, "label/__name__/values", **{"match[]": '{training="bert"}'})[1]["data"])
    assert names == {"train:loss", "gpu_0_util", "_9lives"}
    result = ask(server, "query", query='{training="bert",stream="algo-1"}', time=now / 1000 + 60)[1]["data"]["result"]
    assert {"__name__": "_9lives", "rank_id": "3", "training": "bert", "stream": "algo-1"} in [one["metric"] for one in result] and len(result) == 3
    assert ask(server, "query", query="train:loss")[1]["data"]["result"][0]["value"][1] == "2.5"


def test_a_query_ends_in_time_that_finds_nothing(trainings):
    """What reads jobs and finds no point takes no points, but time."""
    trainings.send("idle", ["loss: 1"])
    trainings.wait_for_extraction()
    query = " or ".join(['x{training="idle"}'] * 150)
    assert ask(trainings, "query", query=query) == (200, {"status": "success", "data": {"resultType": "vector", "result": []}})
    status, body = ask(trainings, "query", query=query, timeout="1ms")
    assert (status, body["errorType"]) == (503, "timeout") and "--job-search-ms" in body["error"], body


def test_a_costly_pattern_ends_in_time(trainings):
    """One that costs much of each of many values ends by the query's time; one that is given up on a value at once, and is named."""
    for length, name in ((22, "costly"), (300, "hopeless")):
        series = [({"__name__": "c", "hpc_job": name, "n": str(i), "x": "b" + "a" * length}, [(int(time.time() * 1000), i)]) for i in range(400)]
        assert trainings.post(f"{API}/write", snappy(remote_write(*series)), content_type="application/x-protobuf").status == 204
    trainings.wait_for_extraction()
    status, body = ask(trainings, "query", query='{x=~"b(a|aa)+[cd]",training="costly"}', timeout="20ms")
    assert (status, body.get("errorType")) == (503, "timeout"), body
    status, body = ask(trainings, "query", query='{x=~"b(a|aa)+[cd]",training="hopeless"}')
    assert (status, body.get("errorType")) == (422, "execution") and "given up" in body["error"] and "label 'x'" in body["error"], body


def test_a_training_that_comes_back_to_a_machine(trainings):
    """Its times there are one series, also where they are closer to each other than a value counts."""
    def line(stream, host):
        """The time behind it, and before what comes next."""
        assert trainings.post(f"/api/v1/logs?job=back&stream={stream}&host={host}", "loss: 1\n", content_type="text/plain").status == 200
        trainings.wait_for_extraction()
        now = int(time.time() * 1000) + 1
        wait_until(lambda: time.time() * 1000 > now + 1, what="the next millisecond")
        return now

    times = [line(*place) for place in (("algo-1", "h1"), ("algo-1", "h1"), ("algo-2", "h2"), ("algo-1", "h2"), ("algo-2", "h1"))]
    body = remote_write(({"__name__": "watts", "gpu": "0", "Hostname": "h1"}, list(zip(times, range(5)))))
    assert trainings.post(f"{API}/write", snappy(body), content_type="application/x-protobuf").status == 204
    trainings.wait_for_extraction()
    at = {"time": times[-1] / 1000 + 1}
    assert [value for _, value in points_of(trainings, 'watts{training="back"}[5m]', **at)] == ["0", "4"]  # in between it was not there
    status, body = ask(trainings, "query", query='watts{training="back"}', **at)
    assert status == 200 and [one["value"][1] for one in body["data"]["result"]] == ["4"], body


def test_a_machine_that_joins_later(trainings):
    """Until the first line from there it was another training's."""
    now = int(time.time() * 1000)
    for stream, host, ago_s in (("algo-1", "j1", 3600), ("algo-2", "j2", 600), ("algo-1", "j1", 0)):
        body = f'{{"ts": {now - ago_s * 1000}, "line": "loss: 1"}}\n'
        assert trainings.post(f"/api/v1/logs?job=grows&stream={stream}&host={host}", body, content_type="application/x-ndjson").status == 200
    series = [({"__name__": "fan", "Hostname": host}, [(now - ago_s * 1000, ago_s) for ago_s in (1800, 300)]) for host in ("j1", "j2")]
    assert trainings.post(f"{API}/write", snappy(remote_write(*series)), content_type="application/x-protobuf").status == 204
    trainings.wait_for_extraction()
    for host, expected in (("j1", ["1800", "300"]), ("j2", ["300"])):
        assert [value for _, value in points_of(trainings, f'fan{{training="grows",Hostname="{host}"}}[1h]', time=now / 1000)] == expected


def test_two_jobs_in_turn_on_one_node(trainings, scraper):
    """Debian's Prometheus scrapes a fake dcgm-exporter and writes here: one series of a GPU, each of the two jobs has its part of it."""
    server = trainings
    for job in ("first", "second"):
        train(server, job)
    server.wait_for_extraction()
    now = {"time": time.time() + 1}
    # All of it last: it is scraped on, and what was scraped before an end may come behind it.
    first, second, whole = (points_of(server, f"DCGM_FI_DEV_GPU_UTIL{label}[5m]", **now) for label in ('{training="first"}', '{training="second"}', ""))
    assert len(first) >= 3 and len(second) >= 3 and len(whole) >= len(first) + len(second)
    assert set(first) | set(second) <= set(whole) and max(first) < min(second)
    assert ask(server, "query", query='count(DCGM_FI_DEV_GPU_UTIL) by (modelName, Hostname)', **now)[1]["data"]["result"][0]["metric"] == {"Hostname": "n1", "modelName": "NVIDIA A100-SXM4-40GB"}
    assert len({at for at, _ in whole}) == len(whole)


def train(server, job):
    """Some lines of a job on n1, for as long as it takes to be scraped some times; then its end."""
    server.post(f"/api/v1/logs?job={job}&stream=algo-1&host=n1", f"loss: 1 {job}\n", content_type="text/plain")
    began = time.time()  # what comes from now on may have been scraped before
    since = lambda: [at for at, _ in points_of(server, "DCGM_FI_DEV_GPU_UTIL[5m]", time=time.time() + 1) if at > began]
    wait_until(lambda: len(since()) >= 5, what="five scrapes")
    server.post(f"/api/v1/logs?job={job}&stream=algo-1&host=n1", "the end\n", content_type="text/plain")
    reply = server.post(f"/api/v1/jobs/{job}/transitions", json={"SecondaryStatus": "Completed", "time_ms": int(time.time() * 1000)})
    assert reply.status < 300, reply


def points_of(server, query, **parameters):
    result = ask(server, "query", query=query, **parameters)[1]["data"]["result"]
    return [tuple(point) for one in result for point in one["values"]]


def test_a_loop_faster_than_its_clock(make_server):
    """Whole seconds and two steps in each: the newest is what the series says at that time."""
    server = make_server()
    lines = [f"2026-11-28 10:55:{second:02} step {step} loss: {6 - step}.0" for step, second in ((1, 0), (2, 1), (3, 1), (4, 2), (5, 2))]
    server.send("fast", lines)
    server.wait_for_points("fast", "train:loss", 5)
    at = 1795863310
    (one,) = ask(server, "query", query='{__name__="train:loss",training="fast"}', time=at)[1]["data"]["result"]
    assert one["value"] == [at, "1"]
    assert points_of(server, '{__name__="train:loss",training="fast"}[1m]', time=at) == [(1795863300, "5"), (1795863301, "3"), (1795863302, "1")]
