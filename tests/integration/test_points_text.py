"""Points as text: Prometheus' exposition, CSV long and wide, as other tools export it."""

import pytest

POINTS, CSV, PROMETHEUS = "/api/v1/points?job=j", "text/csv", "text/plain; version=0.0.4"
T0 = 1_700_000_000_000


@pytest.fixture
def server(emptied_server):
    return emptied_server


def columns(server, metric, count, stream="algo-1"):
    server.wait_for_points("j", metric, count, stream=stream)
    got = server.points("j", metric, stream=stream)["columns"]
    return list(zip(got["x"], got["last"]))


def send(server, body, media):
    reply = server.post(POINTS, body, content_type=media)
    assert reply.status == 200, reply
    return reply.body


def test_wide(server):
    body = send(server, 'step,loss,"lr, base"\r\n1,2.5,1e-3\r\n2,,1e-4\r\n3,NaN,"0.5"', CSV)
    assert body["accepted"] == 5 and body["rejected"] == 0 and body["warnings"] == []
    assert columns(server, "loss", 2) == [(1, 2.5), (3, "NaN")]
    assert columns(server, "lr, base", 3) == [(1, 0.001), (2, 0.0001), (3, 0.5)]


def test_wandb_history(server):
    body = send(server, ",_step,_runtime,_timestamp,train/loss,note\n0,0,1.5,1700000000.25,3.5,\n1,10,2.5,1700000001.5,3.25,text\n", CSV)
    assert body["accepted"] == 2 and body["rejected"] == 1 and "line 3: note: 'text' is no number" in body["warnings"][0]
    assert columns(server, "train/loss", 2) == [(0, 3.5), (10, 3.25)]
    got = server.points("j", "train/loss", x="time")["columns"]
    assert got["x"] == [T0 + 250, T0 + 1500]


def test_wandb_chart_and_tensorboard(server):
    send(server, '"Step","run-1 - loss","run-1 - loss__MIN"\n"1","0.5","0.4"\n', CSV)
    assert columns(server, "run-1 - loss", 1) == [(1, 0.5)]
    send(server, "Wall time,Step,Value\n1700000000.5,7,0.25\n", CSV)
    assert columns(server, "Value", 1) == [(7, 0.25)]


def test_long_as_mlflow_writes_it(server):
    body = send(server, "run_uuid,key,value,step,timestamp,is_nan\nr,loss,2.5,1,1700000000000,False\nr,acc,0.5,1,1700000000000,False\n"
        "r,loss,2.25,2.0,1700000001000,False\n", CSV)
    assert body["accepted"] == 3
    assert columns(server, "loss", 2) == [(1, 2.5), (2, 2.25)]


def test_long_with_streams_and_labels(server):
    body = send(server, '\ufeffmetric,stream,step,value\n"util{gpu=""3"",a=""b""}",algo-2,1,90\nutil,algo-3,1,80\n'.encode(), CSV)
    assert body["accepted"] == 2
    assert columns(server, 'util{a="b",gpu="3"}', 1, stream="algo-2") == [(1, 90)]
    assert columns(server, "util", 1, stream="algo-3") == [(1, 80)]


def test_our_own_export_comes_back(server):
    send(server, "step,loss\n1,2.5\n2,NaN\n", CSV)
    server.wait_for_points("j", "loss", 2)
    exported = server.get("/api/v1/jobs/j/points?metric=loss&raw=true&format=csv").body
    assert send(server, exported, CSV)["accepted"] == 2
    assert columns(server, "value", 2) == [(1, 2.5), (2, "NaN")]


def test_bad_rows_harm_themselves(server):
    body = send(server, 'step,ts_ms,loss\nx,,1\n1,5,1\n2,,3,4\n3,,"1\n4,,5\n-1,,5\n1.5,,5\n', CSV)
    assert body["accepted"] == 1 and body["rejected"] == 6
    assert body["warnings"] == ["line 2: 'x' is no step; line 3: '5' is no time between 1990 and 2200; "
        "line 4: 4 columns, where the head has 3; 6 points or lines were not stored in all"]
    assert columns(server, "loss", 1) == [(4, 5)]


@pytest.mark.parametrize("body, status, text", [
    ("step,ts_ms\n", 400, "line 1: the head of CSV names no numbers"),
    ("metric,step\n", 400, "the head of CSV names no numbers"),
    ('step,"loss\n', 400, "line 1: column 2: a quote has no end"),
    ("step,a{b\n1,2\n", 200, ""),
    ("step,a{b}\n", 400, "expected label="),
    ("step," + "x" * 300 + "\n", 400, "metric"),
    (",".join(f"c{i}" for i in range(4097)) + "\n", 413, "more than 4096 columns"),
    (",".join(f"c{i}" for i in range(4096)) + "\n", 200, ""),
    ("step,loss\n" + "1" * (4 << 20) + ",1\n", 413, "--max-points-bytes"),
], ids=range(9))
def test_heads(shared_server, body, status, text):
    reply = shared_server.post(POINTS, body, content_type=CSV)
    assert reply.status == status, reply
    assert status == 200 or text in reply.body["detail"]


def test_prometheus(server):
    body = send(server, "# HELP loss of it\n# TYPE loss gauge\nloss 2.5 1700000000000\n\n"
        'util{gpu="3",host="a b} \\" 90\nloss{step="7"} 2.25 1700000001.5\nutil{step="8",gpu="3"} +Inf # {trace="1"} 5\n'
        'x:y{a="1",step="9"} NaN\n# EOF', PROMETHEUS)
    assert body["accepted"] == 4 and body["rejected"] == 1 and "line 5: the labels have no end" in body["warnings"][0]
    assert [value for _, value in columns(server, "loss", 2)] == [2.5, 2.25]
    assert columns(server, 'util{gpu="3"}', 1) == [(8, "Infinity")]
    assert columns(server, 'x:y{a="1"}', 1) == [(9, "NaN")]
    assert server.points("j", "loss", x="time")["columns"]["x"] == [T0, T0 + 1500]


def test_prometheus_mistakes(server):
    body = send(server, 'a\nb x\nc 1 5\nd{e} 1\n{} 1\nf{g="h" 1\nok 1\n', PROMETHEUS)
    assert body["accepted"] == 1 and body["rejected"] == 6
    assert body["warnings"][0].startswith("line 1: expected a number behind the metric, not ''; line 2: expected a number behind the "
        "metric, not 'x'; line 3: '5' is no time between 1990 and 2200; 6 points")


def test_an_escaped_label(server):
    send(server, 'm{a="} \\" ,step=\\"5\\"",step="6"} 1\n', PROMETHEUS)
    assert columns(server, 'm{a="} \\" ,step=\\"5\\""}', 1) == [(6, 1)]
