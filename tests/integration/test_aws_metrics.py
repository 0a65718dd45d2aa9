"""CloudWatch's metrics and sagemaker-metrics, as their clients see them: boto3 and awscli (forms), the JavaScript SDK (JSON, forms,
CBOR), and bytes made by hand."""

import datetime
import gzip
import json
import re
import time
import urllib.parse
import xml.etree.ElementTree

import cbor
import pytest
from awsclients import awscli, boto, code, javascript
from smserver import ROOT, Server, wait_until

NAMESPACE = "/aws/sagemaker/TrainingJobs"
NOW = int(time.time()) // 60 * 60 - 3600  # seconds: the start of a minute, an hour ago
INVALID, COMBINATION = "InvalidParameterValue", "InvalidParameterCombination"
XMLNS = "{http://monitoring.amazonaws.com/doc/2010-08-01/}"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    running = Server(tmp_path_factory.mktemp("aws_metrics"), "--max-metric-points", "2000").start()
    yield running
    running.close()


@pytest.fixture(scope="module")
def cloudwatch(server):
    return boto(server, "cloudwatch")


def at(seconds):
    return datetime.datetime.fromtimestamp(NOW + seconds, datetime.timezone.utc)


def dimensions(**values):
    return [{"Name": name, "Value": value} for name, value in values.items()]


def datum(name, seconds=0, value=1.0, **others):
    return {"MetricName": name, "Timestamp": at(seconds), "Value": value, **others}


def of_job(job, *data):
    return {"Namespace": NAMESPACE, "MetricData": [{"Dimensions": dimensions(TrainingJobName=job), **one} for one in data]}


def statistics(cloudwatch, name, seconds=3600, period=60, stats=("SampleCount", "Sum"), namespace=NAMESPACE, start=0, **asked):
    """[(second, each statistic)], by time."""
    asked = {"Dimensions": dimensions(**asked.pop("of", {})), **asked}
    reply = cloudwatch.get_metric_statistics(Namespace=namespace, MetricName=name, StartTime=at(start), EndTime=at(seconds), Period=period,
        Statistics=list(stats), **asked)
    rows = sorted(reply["Datapoints"], key=lambda row: row["Timestamp"])
    return [(int(row["Timestamp"].timestamp()) - NOW, *(row[stat] for stat in stats)) for row in rows]


def wait_for_sum(cloudwatch, name, of, count, **asked):
    """Points are derived after the acknowledgement."""
    wait_until(lambda: sum(row[1] for row in statistics(cloudwatch, name, of=of, **asked)) >= count, what=f"{count} points of {name}")


# ---- each client ----

def test_boto3_by_forms(server, cloudwatch):
    assert cloudwatch.meta.service_model.protocol_name == "query" if hasattr(cloudwatch.meta.service_model, "protocol_name") else True
    cloudwatch.put_metric_data(**of_job("boto", *(datum("loss", 10 * i, i + 0.5) for i in range(12))))
    wait_for_sum(cloudwatch, "loss", {"TrainingJobName": "boto"}, 12)
    got = statistics(cloudwatch, "loss", of={"TrainingJobName": "boto"}, stats=("SampleCount", "Sum", "Average", "Minimum", "Maximum"))
    assert got == [(0, 6, 18, 3, 0.5, 5.5), (60, 6, 54, 9, 6.5, 11.5)]
    # periods begin where the time that is asked does; its end is not in it
    assert statistics(cloudwatch, "loss", start=60, seconds=90, period=120, of={"TrainingJobName": "boto"}) == [(60, 3, 22.5)]
    assert statistics(cloudwatch, "loss", period=30, seconds=60, of={"TrainingJobName": "boto"}) == [(0, 3, 4.5), (30, 3, 13.5)]
    assert statistics(cloudwatch, "loss", of={"TrainingJobName": "nobody"}) == []
    assert statistics(cloudwatch, "none", of={"TrainingJobName": "boto"}) == []
    assert statistics(cloudwatch, "loss", of={"TrainingJobName": "boto"}, Unit="Percent") == []
    extended = cloudwatch.get_metric_statistics(Namespace=NAMESPACE, MetricName="loss", Dimensions=dimensions(TrainingJobName="boto"),
        StartTime=at(0), EndTime=at(60), Period=60, ExtendedStatistics=["p0", "p50", "p100"])
    assert extended["Label"] == "loss"
    assert [row["ExtendedStatistics"] for row in extended["Datapoints"]] == [{"p0": 0.5, "p50": 3.0, "p100": 5.5}]
    assert [row["Unit"] for row in extended["Datapoints"]] == ["None"]


@pytest.mark.parametrize("protocol, path, content_type", [
    ("json", "/", "application/x-amz-json-1.0"),
    ("query", "/", "application/x-www-form-urlencoded"),
    ("cbor", "/service/GraniteServiceVersion20100801/operation/", "application/cbor")])
def test_javascript(server, protocol, path, content_type):
    told = javascript(server, "metrics.mjs", protocol, NOW)
    assert all(seen[0].startswith(path) and seen[1].startswith(content_type) for seen in told["seen"]), told["seen"]
    assert "gzip" in [seen[2] for seen in told["seen"]] or protocol == "cbor"
    assert told["stats"] == [[0, 3, 4.5, 1.5, 0.5, 2.5, "None"], [60, 1, 3.5, 3.5, 3.5, 3.5, "None"]]
    assert (told["label"], told["extended"]) == ('<odd> & "name"', [{"p50": 1, "p99": pytest.approx(1.97)}])
    assert told["long"] == [200]
    assert told["data"] == [["e1", "twice", "Complete", [60, 0], [7, 3]], ["m2", "loss", "Complete", [60, 0], [3.5, 1.5]]]
    assert told["names"] == ["loss", '<odd> & "name"', "long"] and told["none"] == 0
    assert told["error"][:2] == ["InvalidParameterValueException", 400] and "MetricData.member.1.Value" in told["error"][2] and told["error"][3]
    assert told["period"] == ["InvalidParameterValueException", 400]


def test_awscli(server):
    def run(*arguments):
        done = awscli(server, "cloudwatch", *arguments)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout or "null")

    where = ("--namespace", NAMESPACE, "--metric-name", "loss", "--dimensions")
    assert run("put-metric-data", *where, "TrainingJobName=cli", "--value", "2.5", "--timestamp", at(5).isoformat()) is None
    wait_until(lambda: server.series("cli", "loss"), what="the series")
    window = ("--start-time", at(0).isoformat(), "--end-time", at(60).isoformat())
    got = run("get-metric-statistics", *where, "Name=TrainingJobName,Value=cli", *window, "--period", "60", "--statistics", "Average")
    assert [row["Average"] for row in got["Datapoints"]] == [2.5]


def post_cbor(server, operation, value, **headers):
    body = value if isinstance(value, bytes) else cbor.dumps(value)
    return server.post(f"/service/GraniteServiceVersion20100801/operation/{operation}", body,
        headers={"smithy-protocol": "rpc-v2-cbor", "Content-Type": "application/cbor", "Accept": "application/cbor", **headers})


def test_cbor_as_java_go_and_ruby_send_it(server, cloudwatch):
    whole = cbor.Time(NOW + 60)
    whole.as_integer = True
    data = cbor.Endless([
        cbor.Endless([("MetricName", "loss"), ("Timestamp", cbor.Time(NOW + 0.5)), ("Value", cbor.Half(1.5)),
            ("Dimensions", cbor.Endless([{"Name": "TrainingJobName", "Value": "java"}]))]),
        {"MetricName": "loss", "Timestamp": whole, "Value": cbor.Single(2.5), "Dimensions": dimensions(TrainingJobName="java")},
        {"MetricName": "loss", "Timestamp": whole, "Value": 7, "Unit": None, "Dimensions": dimensions(TrainingJobName="java")}])
    data[0].is_map = True
    reply = post_cbor(server, "PutMetricData", gzip.compress(cbor.dumps({"Namespace": NAMESPACE, "MetricData": data})),
        **{"Content-Encoding": "gzip"})
    assert (reply.status, reply.raw, reply.headers["Smithy-Protocol"]) == (200, b"", "rpc-v2-cbor")
    assert reply.headers["x-amzn-RequestId"]
    wait_for_sum(cloudwatch, "loss", {"TrainingJobName": "java"}, 3)
    reply = post_cbor(server, "GetMetricStatistics", {"Namespace": NAMESPACE, "MetricName": "loss",
        "Dimensions": dimensions(TrainingJobName="java"), "StartTime": cbor.Time(NOW), "EndTime": cbor.Time(NOW + 120), "Period": 60,
        "Statistics": ["Average", "SampleCount"]})
    assert reply.headers["Content-Type"] == "application/cbor"
    points = cbor.loads(reply.raw)["Datapoints"]
    assert [(p["Timestamp"] - NOW, p["Average"], p["SampleCount"]) for p in points] == [(0, 1.5, 1.0), (60, 4.75, 2.0)]
    assert all(isinstance(p["Timestamp"], cbor.Time) and isinstance(p["Average"], float) for p in points)


def test_a_form_as_the_cloudwatch_agent_sends_it(server, cloudwatch):
    form = {"Action": "PutMetricData", "Version": "2010-08-01", "Namespace": "CWAgent",
        "MetricData.member.1.MetricName": "mem_used_percent", "MetricData.member.1.Dimensions.member.1.Name": "host",
        "MetricData.member.1.Dimensions.member.1.Value": "ip-10-0-0-1", "MetricData.member.1.Timestamp": at(0).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "MetricData.member.1.Unit": "Percent"}
    for i, (value, count) in enumerate(((40.5, 5), (41.5, 1)), 1):
        form[f"MetricData.member.1.Values.member.{i}"], form[f"MetricData.member.1.Counts.member.{i}"] = value, count
    body = gzip.compress(urllib.parse.urlencode(form).encode())
    reply = server.post("/", body, content_type="application/x-www-form-urlencoded; charset=utf-8", headers={"Content-Encoding": "gzip"})
    assert reply.status == 200, reply
    root = xml.etree.ElementTree.fromstring(reply.raw)
    assert root.tag == XMLNS + "PutMetricDataResponse" and root.find(f"{XMLNS}ResponseMetadata/{XMLNS}RequestId").text
    of = {"host": "ip-10-0-0-1"}
    wait_for_sum(cloudwatch, "mem_used_percent", of, 6, namespace="CWAgent")
    assert statistics(cloudwatch, "mem_used_percent", namespace="CWAgent", of=of, stats=("SampleCount", "Sum", "Maximum"), Unit="Percent") == \
        [(0, 6, 244, 41.5)]
    assert statistics(cloudwatch, "mem_used_percent", namespace="CWAgent") == [], "another metric: it has no dimensions"
    # the namespace is a job, whose stream says it again; dimensions are labels
    row = server.series("CWAgent", 'mem_used_percent{host="ip-10-0-0-1"}', "cloudwatch/CWAgent")
    assert row["count"] == 6 and row["unit"] == "Percent"


# ---- where metrics are ----

def test_a_log_s_series_are_metrics_of_the_job(server, cloudwatch):
    """What the sagemaker SDK's TrainingJobAnalytics asks: one average a minute, over all nodes."""
    stamp = [at(s).strftime("%Y-%m-%dT%H:%M:%SZ") for s in (0, 20, 40, 60)]
    server.post("/api/v1/jobs", json={"TrainingJobName": "log", "AlgorithmSpecification": {"TrainingInputMode": "File",
        "MetricDefinitions": [{"Name": "train:loss", "Regex": "loss=([0-9.]+)"}]}})
    server.send("log", [f"{when} loss={i}.5" for i, when in enumerate(stamp)])
    server.send("log", [f"{when} loss={i + 10}.5" for i, when in enumerate(stamp)], stream="algo-2")
    wait_for_sum(cloudwatch, "train:loss", {"TrainingJobName": "log"}, 8)
    assert statistics(cloudwatch, "train:loss", of={"TrainingJobName": "log"}, stats=("Average", "SampleCount")) == [(0, 6.5, 6), (60, 8.5, 2)]
    assert statistics(cloudwatch, "train:loss", of={"TrainingJobName": "log", "Host": "algo-2"}, stats=("Average",)) == [(0, 11.5), (60, 13.5)]
    listed = cloudwatch.list_metrics(Namespace=NAMESPACE, MetricName="train:loss", Dimensions=dimensions(TrainingJobName="log"))
    assert listed["Metrics"] == [{"Namespace": NAMESPACE, "MetricName": "train:loss", "Dimensions": dimensions(TrainingJobName="log")}]


def test_instance_metrics_land_on_the_node(server, cloudwatch):
    server.post("/api/v1/jobs", json={"TrainingJobName": "node", "ResourceConfig": {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 1,
        "VolumeSizeInGB": 1}})
    host = {"Dimensions": dimensions(Host="node/algo-1"), "Unit": "Percent"}
    cloudwatch.put_metric_data(Namespace=NAMESPACE, MetricData=[datum("CPUUtilization", 0, 50.0, **host), datum("CPUUtilization", 60, 70.0, **host),
        datum("GPUUtilization", 0, 640.0, **host), datum("DiskUtilization", 0, 12.5, **host)])
    wait_for_sum(cloudwatch, "CPUUtilization", {"Host": "node/algo-1"}, 2)
    assert statistics(cloudwatch, "GPUUtilization", of={"Host": "node/algo-1"}) == [(0, 1, 640)], "as it was put"
    rows = {row["stream"]: row for row in server.get("/api/v1/jobs/node/nodes").body["nodes"]}
    # SageMaker adds up the eight GPUs of the machine
    assert rows["system/algo-1"]["instance"] == {"CPUUtilization": 70, "GPUUtilization": 80, "DiskUtilization": 12.5}
    assert statistics(cloudwatch, "CPUUtilization", of={"TrainingJobName": "node"}) == [], "a machine's is no metric of the training"


def test_the_agent_s_example_lands_on_the_node(server, cloudwatch):
    """What the agent makes of deploy/examples/cloudwatch-agent.json: renamed metrics, with each plug-in's own dimensions."""
    metrics = json.loads((ROOT / "deploy/examples/cloudwatch-agent.json").read_text())["metrics"]
    assert metrics["endpoint_override"] == "http://smfleet:8080"
    own = {"cpu": [{"cpu": "cpu-total"}], "mem": [{}], "disk": [{"path": "/", "fstype": "ext4"}],
        "nvidia_gpu": [{"index": str(i), "name": "NVIDIA A100", "arch": "Ampere"} for i in range(2)]}
    data = []
    for plugin, section in metrics["metrics_collected"].items():
        (measured,) = section["measurement"]
        data += [datum(measured["rename"], value=50.0 + i, Unit=measured["unit"], Dimensions=dimensions(**section["append_dimensions"], **labels))
            for i, labels in enumerate(own[plugin])]
    cloudwatch.put_metric_data(Namespace=metrics["namespace"], MetricData=data)
    wait_for_sum(cloudwatch, "GPUUtilization", {"Host": "my-job/node-1"}, 2)
    rows = {row["stream"]: row for row in server.get("/api/v1/jobs/my-job/nodes").body["nodes"]}
    assert rows["system/node-1"]["instance"] == {"CPUUtilization": 50, "MemoryUtilization": 50, "DiskUtilization": 50, "GPUUtilization": 50.5}


def test_the_example_in_the_docs(server, cloudwatch):
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/aws-metrics.md").read_text(), re.DOTALL)
    names = {"URL": server.url}
    exec(example, names)  # noqa: S102
    wait_until(lambda: cloudwatch.list_metrics(Namespace=NAMESPACE, Dimensions=dimensions(TrainingJobName="gpt-7"))["Metrics"], what="the metric")
    exec(example, names)  # noqa: S102
    assert [row["Average"] for row in names["read"]["Datapoints"]][0] == 2.5


def test_what_sm_ship_measured_has_sagemaker_s_names(server, cloudwatch):
    points = [{"metric": metric, "ts_ms": NOW * 1000, "step": 0, "value": value} for metric, value in (("cpu_percent", 40.0),
        ('gpu_utilization_percent{gpu="0"}', 90.0), ('gpu_utilization_percent{gpu="1"}', 70.0), ('gpu_memory_used_mib{gpu="0"}', 10.0),
        ('gpu_memory_total_mib{gpu="0"}', 40.0), ("network_sent_mb_s", 5.0))]
    assert server.post("/api/v1/points?job=shipped&stream=system/h1", json={"points": points}).status == 200
    of = {"Host": "shipped/h1"}
    wait_for_sum(cloudwatch, "GPUUtilization", of, 2)
    assert statistics(cloudwatch, "GPUUtilization", of=of, stats=("Average", "Maximum")) == [(0, 80, 90)]
    assert statistics(cloudwatch, "CPUUtilization", of=of, stats=("Average",), Unit="Percent") == [(0, 40)]
    assert statistics(cloudwatch, "GPUMemoryUtilization", of=of, stats=("Average",)) == [(0, 25)]
    listed = cloudwatch.list_metrics(Namespace=NAMESPACE, Dimensions=dimensions(Host="shipped/h1"))["Metrics"]
    assert {metric["MetricName"] for metric in listed} == {"CPUUtilization", "GPUUtilization", "GPUMemoryUtilization",
        "gpu_memory_total_mib", "network_sent_mb_s"}
    assert all(metric["Dimensions"][0] == {"Name": "Host", "Value": "shipped/h1"} for metric in listed)


def test_statistic_sets_are_kept_whole(server, cloudwatch):
    sets = [{"SampleCount": 5, "Sum": 30, "Minimum": 1, "Maximum": 10}, {"SampleCount": 1, "Sum": 4, "Minimum": 4, "Maximum": 4},
        {"SampleCount": 2, "Sum": 5, "Minimum": 2, "Maximum": 3}, {"SampleCount": 1000, "Sum": 500, "Minimum": 0.5, "Maximum": 0.5}]
    cloudwatch.put_metric_data(**of_job("sets", *({"MetricName": "set", "Timestamp": at(60 * i), "StatisticValues": one}
        for i, one in enumerate(sets))))
    wait_for_sum(cloudwatch, "set", {"TrainingJobName": "sets"}, 1008)
    got = statistics(cloudwatch, "set", of={"TrainingJobName": "sets"}, stats=("SampleCount", "Sum", "Minimum", "Maximum"))
    wanted = [tuple(one[key] for key in ("SampleCount", "Sum", "Minimum", "Maximum")) for one in sets]
    assert [row[1:] for row in got] == [pytest.approx(row, rel=1e-12) for row in wanted]


# ---- pages and expressions ----

def test_pages_of_metrics(server, cloudwatch):
    for first in range(0, 501, 250):
        cloudwatch.put_metric_data(Namespace="Many", MetricData=[datum(f"m{i:03}") for i in range(first, min(first + 250, 501))])
    of = lambda: list(cloudwatch.get_paginator("list_metrics").paginate(Namespace="Many"))
    wait_until(lambda: sum(len(page["Metrics"]) for page in of()) == 501, what="501 metrics")
    pages = [page["Metrics"] for page in of()]
    assert len(pages[0]) == 500
    assert sorted(metric["MetricName"] for page in pages for metric in page) == [f"m{i:03}" for i in range(501)]
    assert code(cloudwatch.list_metrics, NextToken="x")[0] == INVALID
    assert len(cloudwatch.list_metrics(Namespace="Many", MetricName="m007", RecentlyActive="PT3H")["Metrics"]) == 1


def test_pages_of_data(server, cloudwatch):
    cloudwatch.put_metric_data(**of_job("pages", *(datum("loss", 60 * i, i) for i in range(25)), *(datum("other", 120 * i, i) for i in range(12))))
    wait_for_sum(cloudwatch, "loss", {"TrainingJobName": "pages"}, 25)
    wait_for_sum(cloudwatch, "other", {"TrainingJobName": "pages"}, 12)

    def query(query_id, name, period):
        return {"Id": query_id, "MetricStat": {"Metric": {"Namespace": NAMESPACE, "MetricName": name,
            "Dimensions": dimensions(TrainingJobName="pages")}, "Period": period, "Stat": "Sum"}}

    queries = [query("a", "loss", 60), query("b", "other", 120), {"Id": "c", "Expression": "a + b", "Label": "sum"}]
    wanted = {"a": [(60 * i, i) for i in range(25)], "b": [(120 * i, i) for i in range(12)], "c": [(120 * i, 3 * i) for i in range(12)]}
    for order, most in (("TimestampAscending", 10), ("TimestampDescending", 10), ("TimestampDescending", 100800)):
        got, pages = {"a": [], "b": [], "c": []}, 0
        for page in cloudwatch.get_paginator("get_metric_data").paginate(MetricDataQueries=queries, StartTime=at(0), EndTime=at(3600),
                ScanBy=order, MaxDatapoints=most):
            pages += 1
            assert sum(len(result["Values"]) for result in page["MetricDataResults"]) <= most
            for result in page["MetricDataResults"]:
                assert result["StatusCode"] == ("PartialData" if "NextToken" in page else "Complete")
                times = [int(moment.timestamp()) - NOW for moment in result["Timestamps"]]
                got[result["Id"]] += zip(times, result["Values"])
        assert {key: sorted(rows) for key, rows in got.items()} == wanted
        assert all(rows == sorted(rows, reverse=order == "TimestampDescending") for rows in got.values())
        assert pages == 1 if most > 100 else pages > 5


def test_expressions_say_what_is_wrong(server, cloudwatch):
    def ask(*queries, **others):
        return code(cloudwatch.get_metric_data, MetricDataQueries=list(queries), StartTime=at(0), EndTime=at(60), **others)

    stat = {"Metric": {"Namespace": "N", "MetricName": "m"}, "Period": 60, "Stat": "Sum"}
    for said, queries in (
            ("there is no query with the Id 'm9'", [{"Id": "e", "Expression": "m9 * 2"}]),
            ("its expression needs itself", [{"Id": "e", "Expression": "f + 1"}, {"Id": "f", "Expression": "e * 2"}]),
            ("the function 'SEARCH' is not done here", [{"Id": "e", "Expression": "SEARCH('{N} m', 'Sum')"}]),
            ("its Id is another's, too", [{"Id": "m", "MetricStat": stat}, {"Id": "m", "MetricStat": stat}]),
            ("either MetricStat or Expression", [{"Id": "m"}]),
            ("either MetricStat or Expression", [{"Id": "m", "MetricStat": stat, "Expression": "m"}]),
            ("metricDataQueries.1.member.id", [{"Id": "M1", "MetricStat": stat}]),
            ("'tm90' is none of", [{"Id": "m", "MetricStat": {**stat, "Stat": "tm90"}}]),
            ("Period must be", [{"Id": "m", "MetricStat": {**stat, "Period": 61}}])):
        name, message = ask(*queries)
        assert (name, said in message) == (INVALID, True), message
    assert ask({"Id": "m", "MetricStat": stat}) == ("", "")
    assert ask({"Id": "m", "MetricStat": stat}, NextToken="x")[0] == "InvalidNextToken"


# ---- limits, and what is refused ----

def test_limits_of_points(cloudwatch):
    def put(*data, **others):
        return code(cloudwatch.put_metric_data, **{**of_job("limits", *data), **others})

    now = datetime.datetime.now(datetime.timezone.utc)
    minute, fortnight = datetime.timedelta(minutes=1), datetime.timedelta(days=14)
    name = "MetricData.member.1"
    sample = {"SampleCount": 2, "Sum": 3, "Minimum": 1, "Maximum": 2}
    most = dimensions(TrainingJobName="limits", **{f"d{i}": "v" for i in range(24)})
    for said, data in (
            ("", [datum("n")] * 1000),
            ("length less than or equal to 1000", [datum("n")] * 1001),
            ("", [datum("n", Timestamp=now - fortnight + minute)]),
            (f"{name}.Timestamp must specify a time no more than two weeks", [datum("n", Timestamp=now - fortnight - minute)]),
            ("", [datum("n", Timestamp=now + 119 * minute)]),
            (f"{name}.Timestamp must specify a time within two hours", [datum("n", Timestamp=now + 121 * minute)]),
            ("", [datum("n", Dimensions=most)]),
            ("beside TrainingJobName and Host at most 24 are kept", [datum("n", Dimensions=most + dimensions(d24="v"))]),
            ("length less than or equal to 30", [datum("n", Dimensions=dimensions(**{f"d{i}": "v" for i in range(31)}))]),
            ("is there twice", [datum("n", Dimensions=dimensions(TrainingJobName="limits") * 2)]),
            ("have the dimension TrainingJobName, or Host", [datum("n", Dimensions=dimensions(rank="1"))]),
            ("", [datum("n" * 255)]),
            ("metricData.1.member.metricName", [datum("n" * 256)]),
            ("", [{"MetricName": "n", "Values": [1.0] * 150}]),
            ("metricData.1.member.values", [{"MetricName": "n", "Values": [1.0] * 151}]),
            ("", [{"MetricName": "n", "Values": [1.0], "Counts": [2000]}]),
            ("more than 2000 points (--max-metric-points)", [{"MetricName": "n", "Values": [1.0], "Counts": [2001]}]),
            ("must be of the same length", [{"MetricName": "n", "Values": [1.0, 2.0], "Counts": [1]}]),
            ("Counts.member.1 is invalid: it must be a whole number", [{"MetricName": "n", "Values": [1.0], "Counts": [0.5]}]),
            (f"value nan for parameter {name}.Value is invalid", [datum("n", value=float("nan"))]),
            (f"value -inf for parameter {name}.Value is invalid", [datum("n", value=float("-inf"))]),
            ("", [datum("n", value=2.0**360)]),
            (f"for parameter {name}.Value is invalid", [datum("n", value=2.0**361)]),
            ("Minimum is larger than Maximum", [{"MetricName": "n", "StatisticValues": {**sample, "Minimum": 3}}]),
            ("two samples have another Sum", [{"MetricName": "n", "StatisticValues": {**sample, "Sum": 2.5}}]),
            ("no such samples can have this Sum", [{"MetricName": "n", "StatisticValues": {**sample, "SampleCount": 5, "Sum": 11}}]),
            ("metricData.1.member.unit", [datum("n", Unit="Furlongs")])):
        got, message = put(*data)
        assert (got, said in message) == (INVALID if said else "", True), (said, got, message)
    assert put(datum("n"), Namespace=":n")[0] == INVALID
    assert put({**datum("n"), "Values": [1.0]})[0] == COMBINATION
    assert put({"MetricName": "n"})[0] == COMBINATION


def test_limits_of_questions(cloudwatch):
    def ask(seconds, period=60, **others):
        asked = {"Namespace": "N", "MetricName": "m", "StartTime": at(7), "EndTime": at(7 + seconds), "Period": period, "Statistics": ["Sum"], **others}
        return code(cloudwatch.get_metric_statistics, **{name: value for name, value in asked.items() if value})

    assert ask(1440 * 60) == ("", "")
    assert ask(1440 * 60 + 1) == (COMBINATION, "You have requested up to 1,441 datapoints, which exceeds the limit of 1,440. You may "
        "reduce the datapoints requested by increasing Period, or decreasing the time range.")
    assert ask(0)[0] == INVALID and ask(-60)[0] == INVALID
    assert ask(60, 45)[0] == INVALID and ask(60, 61)[0] == INVALID
    assert ask(60, ExtendedStatistics=["p50"])[0] == COMBINATION and ask(60, Statistics=[])[0] == COMBINATION
    assert ask(60, Statistics=["Median"])[0] == INVALID
    assert ask(60, Statistics=[], ExtendedStatistics=["p101"])[0] == INVALID


def test_wrong_types_name_the_member(server):
    def put(**members):
        reply = server.post("/", json.dumps({"Namespace": "N", "MetricData": [{"MetricName": "m", "Value": 1, **members}]}),
            content_type="application/x-amz-json-1.0", headers={"X-Amz-Target": "GraniteServiceVersion20100801.PutMetricData"})
        return reply.status, json.loads(reply.raw).get("__type"), json.loads(reply.raw).get("message", ""), reply.headers["x-amzn-query-error"]

    assert put() == (200, None, "", None)
    for members, path in (({"Value": "1"}, "MetricData.member.1.Value"), ({"Value": []}, "MetricData.member.1.Value"),
            ({"MetricName": 5}, "metricData.1.member.metricName"), ({"Dimensions": {}}, "metricData.1.member.dimensions"),
            ({"Dimensions": [{"Name": 1, "Value": "x"}]}, "metricData.1.member.dimensions.1.member.name"),
            ({"Timestamp": "yesterday"}, "metricData.1.member.timestamp"), ({"Unit": 1}, "metricData.1.member.unit"),
            ({"StatisticValues": [], "Value": None}, "metricData.1.member.statisticValues"),
            ({"Values": [1, None], "Value": None}, "MetricData.member.1.Values.member.2")):
        status, kind, message, header = put(**members)
        assert (status, kind, header) == (400, "InvalidParameterValueException", "InvalidParameterValue;Sender"), members
        assert path in message, message
    reply = server.post("/", "{}", content_type="application/x-amz-json-1.0", headers={"X-Amz-Target": "GraniteServiceVersion20100801.PutMetricData"})
    assert (json.loads(reply.raw)["__type"], reply.headers["x-amzn-query-error"]) == ("MissingRequiredParameterException", "MissingParameter;Sender")


def test_malformed_bodies(server):
    good = cbor.dumps({"Namespace": "N"})
    for body in (good[:-1], good + b"\x00", b"\x80", b"\xa1\x01\x01", b"\xbb" + b"\xff" * 8, b"\xa1\x61N\x9b\x10" + bytes(7), b"\xa1\x61N" * 17 + b"\xa0"):
        reply = post_cbor(server, "ListMetrics", body)
        assert (reply.status, cbor.loads(reply.raw)["__type"]) == (400, "SerializationException"), body
    reply = post_cbor(server, "NoSuchOperation", good)
    assert (reply.status, cbor.loads(reply.raw)["__type"]) == (400, "UnknownOperationException")
    for form, name in (("Action=ListMetrics&Version=2010-08-01&A=%zz", "SerializationException"),
            ("Action=ListMetrics&Version=2010-08-01&Dimensions.member.x.Name=a", "SerializationException"),
            ("Action=PutMetricAlarm&Version=2010-08-01", "InvalidAction")):
        reply = server.post("/", form, content_type="application/x-www-form-urlencoded")
        error = xml.etree.ElementTree.fromstring(reply.raw)
        namespace = error.tag.partition("}")[0] + "}" if "}" in error.tag else ""
        assert reply.status == 400 and error.find(f"{namespace}Error/{namespace}Code").text == name, reply


def test_specials_come_back_escaped(server, cloudwatch):
    name, value = "<&>\"'", "]]> &amp; é"
    cloudwatch.put_metric_data(Namespace="X<&>", MetricData=[datum(name, Dimensions=dimensions(d=value))])
    wait_until(lambda: cloudwatch.list_metrics(Namespace="X<&>")["Metrics"], what="the metric")
    assert cloudwatch.list_metrics(Namespace="X<&>")["Metrics"] == [{"Namespace": "X<&>", "MetricName": name, "Dimensions": dimensions(d=value)}]
    assert "<Code>InvalidParameterValue</Code>" in server.post("/", "Action=PutMetricData&Version=2010-08-01&Namespace=%3A%3Cx%3E",
        content_type="application/x-www-form-urlencoded").raw.decode()


def test_a_request_that_comes_again_counts_once(server, cloudwatch):
    body = json.dumps({"Namespace": NAMESPACE, "MetricData": [{"MetricName": "n", "Value": 1, "Dimensions": dimensions(TrainingJobName="again"),
        "Timestamp": NOW}]})

    def put(body, invocation=None):
        reply = server.post("/", body, content_type="application/x-amz-json-1.0", headers={
            "X-Amz-Target": "GraniteServiceVersion20100801.PutMetricData", **({"amz-sdk-invocation-id": invocation} if invocation else {})})
        assert reply.status == 200, reply

    for invocation in ("a", "a", "b", None, None):
        put(body, invocation)
    timeless = body.replace(f', "Timestamp": {NOW}', "").replace('"n"', '"now"')
    for invocation in ("a", "a", None, None):
        put(timeless, invocation)
    put(body.replace('"n"', '"last"'))
    wait_for_sum(cloudwatch, "last", {"TrainingJobName": "again"}, 1)
    assert statistics(cloudwatch, "n", of={"TrainingJobName": "again"}) == [(0, 3, 3)], "a, b, and the one without"
    assert server.series("again", "now")["count"] == 3, "without a time two alike are two"


# ---- sagemaker-metrics ----

def batch(server, verb, operation, value):
    reply = server.request(verb, f"/{operation}", json.dumps(value), content_type="application/json")
    return reply.status, json.loads(reply.raw), reply.headers["x-amzn-errortype"]


def test_batch_put_and_get_metrics(server, cloudwatch):
    metrics = [{"MetricName": "loss", "Timestamp": NOW + 30 * i, "Step": 5 * i, "Value": 8.0 / (i + 1)} for i in range(8)]
    wrong = [{"MetricName": "loss", "Timestamp": NOW - 15 * 86400, "Value": 1.0}, {"MetricName": "loss", "Timestamp": NOW, "Value": "NaN"}]
    status, body, _ = batch(server, "PUT", "BatchPutMetrics", {"TrialComponentName": "batch-aws-training-job", "MetricData": metrics + wrong})
    assert (status, body) == (200, {"Errors": [{"Code": "VALIDATION_ERROR", "MetricIndex": 8}, {"Code": "VALIDATION_ERROR", "MetricIndex": 9}]})
    wait_for_sum(cloudwatch, "loss", {"TrainingJobName": "batch"}, 8)
    assert server.series("batch", "loss")["last_step"] == 35
    arn = "arn:aws:sagemaker:us-east-1:123456789012:"
    common = {"MetricName": "loss", "ResourceArn": arn + "experiment-trial-component/batch-aws-training-job"}
    asked = [{**common, "MetricStat": "Avg", "Period": "IterationNumber", "XAxisType": "IterationNumber"},
        {**common, "MetricStat": "Last", "Period": "IterationNumber", "XAxisType": "IterationNumber", "Start": 5, "End": 10},
        {**common, "ResourceArn": arn + "training-job/batch", "MetricStat": "Count", "Period": "OneMinute", "XAxisType": "Timestamp"},
        {**common, "MetricStat": "Max", "Period": "FiveMinute", "XAxisType": "Timestamp", "Start": NOW + 30, "End": NOW + 30},
        {**common, "ResourceArn": arn + "training-job/nobody", "MetricStat": "Min", "Period": "OneHour", "XAxisType": "Timestamp"}]
    status, body, _ = batch(server, "POST", "BatchGetMetrics", {"MetricQueries": asked})
    assert status == 200, body
    steps, values = [5 * i for i in range(8)], [8.0 / (i + 1) for i in range(8)]
    got = [(row["Status"], row["XAxisValues"], row["MetricValues"]) for row in body["MetricQueryResults"]]
    assert got == [("Complete", steps, values), ("Complete", [5, 10], [4.0, 8.0 / 3]), ("Complete", [NOW + 60 * i for i in range(4)], [2.0] * 4),
        ("Complete", [NOW // 300 * 300], [4.0]), ("Complete", [], [])]


def test_batch_limits(server):
    def put(count, **members):
        status, body, kind = batch(server, "PUT", "BatchPutMetrics", {"TrialComponentName": "batches", "MetricData": [{"MetricName": "m",
            "Timestamp": NOW, "Step": i, "Value": 1, **members} for i in range(count)]})
        return status, body.get("Errors"), body.get("message", ""), kind

    assert put(10)[:2] == (200, [])
    assert put(11)[0] == 400 and put(0)[0] == 400
    for members, path in (({"Step": -1}, "step"), ({"Step": 1.5}, "step"), ({"Timestamp": None}, "timestamp"), ({"MetricName": ""}, "metricName"),
            ({"Value": None}, "value")):
        status, _, message, kind = put(1, **members)
        assert (status, kind) == (400, "ValidationException") and f"metricData.1.member.{path}" in message, message
    assert put(1, Value="many")[1] == [{"Code": "VALIDATION_ERROR", "MetricIndex": 0}]
    query = {"MetricName": "m", "ResourceArn": "arn:aws:sagemaker:us-east-1:123456789012:training-job/batches", "MetricStat": "Avg",
        "Period": "OneHour", "XAxisType": "Timestamp"}
    assert batch(server, "POST", "BatchGetMetrics", {"MetricQueries": [query] * 100})[0] == 200
    assert batch(server, "POST", "BatchGetMetrics", {"MetricQueries": [query] * 101})[2] == "ValidationException"
    assert batch(server, "POST", "BatchGetMetrics", {"MetricQueries": [{**query, "MetricStat": "Median"}]})[2] == "ValidationException"
    assert batch(server, "POST", "BatchGetMetrics", {"MetricQueries": [{**query, "ResourceArn": "batches"}]})[2] == "ValidationException"


def test_series_beyond_the_limit_are_named(make_server):
    server = make_server("--max-series", "16")
    metrics = [{"MetricName": f"m{i}", "Timestamp": NOW, "Step": 1, "Value": 1} for i in range(20)]
    first = batch(server, "PUT", "BatchPutMetrics", {"TrialComponentName": "full", "MetricData": metrics[:10]})
    assert first[1] == {"Errors": []}
    wait_until(lambda: server.series("full", "m9"), what="ten series")
    status, body, _ = batch(server, "PUT", "BatchPutMetrics", {"TrialComponentName": "full", "MetricData": metrics[9:19]})
    assert status == 200 and body["Errors"] == [{"Code": "METRIC_LIMIT_EXCEEDED", "MetricIndex": i} for i in range(7, 10)]
