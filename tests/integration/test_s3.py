"""Requests to S3 by prefix: numbers by hand from lines as the programs print them."""

import time

import pytest

from smserver import wait_until


@pytest.fixture
def server(emptied_server):
    return emptied_server


def access(second, operation, key, status="200 -", bucket="corpus"):
    """https://docs.aws.amazon.com/AmazonS3/latest/userguide/LogFormat.html"""
    return (f"79a59df900b949e55d96a1e698fbacedfd6e09d98eacf8f8d5218e7cd47ef2be {bucket} [06/Feb/2019:00:00:{second:02} +0000] 192.0.2.3 "
            f"arn:aws:sts::123456789012:assumed-role/train/i-1 DD6CC733AEXAMPLE REST.{operation}.OBJECT {key} \"{operation} /{key} HTTP/1.1\" {status} 1000 1000 "
            f"12 10 \"-\" \"aws-sdk-cpp/1.11\" - qrs= SigV4 ECDHE-RSA-AES128-GCM-SHA256 AuthHeader {bucket}.s3.us-west-1.amazonaws.com TLSV1.2 - -\n")


def s3(server, query=""):
    reply = server.get(f"/api/v1/jobs/j/s3{query}")
    assert reply.status == 200, reply
    return reply.body


def test_access_logs_by_prefix_and_second(server):
    """7 reads in second 38 and 3 in second 39 under shards/train/, one of them refused; 2 writes under ckpt/step-10/."""
    text = "".join(access(38, "GET", f"shards/train/{i}.tar") for i in range(7))
    text += "".join(access(39, "GET", f"shards/train/{i}.tar", "503 SlowDown" if i == 2 else "200 -") for i in range(3))
    text += "".join(access(40, "PUT", f"ckpt/step-10/rank_{i}.pt") for i in range(2)) + "loss: 1.0\n"
    server.post("/api/v1/logs?job=j&stream=access", body=text)
    got = s3(server)
    assert (got["reads"], got["writes"], got["unknown"], got["slow_downs"], got["prefix_count"]) == (10, 2, 0, 1, 2)
    assert got["limits"]["writes_per_s"] == 3500 and got["limits"]["reads_per_s"] == 5500 and not got["partial"] and not got["peaks_partial"]
    train, ckpt = got["prefixes"]
    assert {key: train[key] for key in ("bucket", "prefix", "reads", "writes", "slow_downs", "peak_reads_per_s", "peak_writes_per_s", "first_ms", "last_ms", "last_slow_down_ms")} == {
        "bucket": "corpus", "prefix": "shards/train/", "reads": 10, "writes": 0, "slow_downs": 1, "peak_reads_per_s": 7, "peak_writes_per_s": 0,
        "first_ms": 1549411238000, "last_ms": 1549411239000, "last_slow_down_ms": 1549411239000}
    assert train["split"]["parts"] is None and "s3://corpus/shards/train/" in train["split"]["text"] and ckpt["split"] is None
    assert (ckpt["prefix"], ckpt["writes"], ckpt["peak_writes_per_s"], ckpt["last_slow_down_ms"]) == ("ckpt/step-10/", 2, 2, None)
    # 7 a second of 4 allowed, of which four fifths are used: 7 / 3.2 = 2.2, so three prefixes
    assert s3(server, "?reads_per_s=4")["prefixes"][0]["split"]["parts"] == 3
    assert [row["prefix"] for row in s3(server, "?depth=1")["prefixes"]] == ["shards/", "ckpt/"]
    assert [row["prefix"] for row in s3(server, "?depth=0")["prefixes"]] == [""]
    assert len(s3(server, "?limit=1")["prefixes"]) == 1
    for query in ("?depth=17", "?depth=x", "?reads_per_s=0", "?limit=0"):
        assert server.get(f"/api/v1/jobs/j/s3{query}").status == 400, query
    assert server.get("/api/v1/jobs/none/s3").status == 404


@pytest.mark.parametrize("came_ms", [1549411200000 + 2 * 86_400_000, None])
def test_a_window_is_of_requests(server, came_ms):
    """Those of an access log, whose lines came two days later, or today; what a client printed is as old as its line."""
    begun_ms = 1549411200000
    delivered = [{"line": access(second, "GET", f"data/{second}").strip(), **({"ts": came_ms} if came_ms else {})} for second in range(10, 20)]
    server.post("/api/v1/logs?job=j&stream=access", json=delivered)
    server.post("/api/v1/logs?job=j&stream=algo-1", body="download: s3://corpus/data/x to x\n")
    asked = {"": 11, f"?from_ms={begun_ms + 12_000}&to_ms={begun_ms + 14_000}": 3, f"?to_ms={begun_ms + 14_000}": 5, f"?from_ms={begun_ms + 20_000}": 1,
        f"?stream=access&from_ms={begun_ms + 15_000}": 5, f"?to_ms={2**63 - 1}": 11, f"?to_ms={-2**63}": 0}
    assert {query: s3(server, query)["reads"] for query in asked} == asked


def test_what_came_after_a_window_is_looked_at_behind_it(make_server):
    """A search that runs out of time has had the window's lines first."""
    server, day_ms, now_ms = make_server("--seal-age", "100ms", "--search-ms", "20"), 86_400_000, int(time.time() * 1000)
    sizes = {9: 100, 0: 240_000}
    for age_days, count in sizes.items():
        server.post(f"/api/v1/logs?job=j&stream={age_days}", json=[{"line": f"download: s3://corpus/{n} to x", "ts": now_ms - age_days * day_ms + n} for n in range(count)])
    wait_until(lambda: server.sql("SELECT sum(line_count) FROM blocks") == [(sum(sizes.values()),)], what="the lines to be sealed")
    of_then = wait_until(lambda: (got := s3(server, f"?to_ms={now_ms - 8 * day_ms}"))["reads"] and got, what="a search that had any time at all")
    assert of_then["reads"] == 100 and of_then["partial"], of_then


def test_a_refusal_in_an_access_log_is_an_incident(server):
    server.post("/api/v1/logs?job=j&stream=access", body="".join(access(i, "GET", f"shards/train/{i}.tar", "503 SlowDown") for i in range(5))
        + access(6, "GET", "shards/503/x", "200 -") + access(7, "GET", "gone.tar", "404 NoSuchKey"))
    incident, = wait_until(lambda: server.get("/api/v1/incidents?kind=log_signature").body["incidents"], what="an incident")
    assert (incident["evidence"]["signature"], incident["evidence"]["count"], s3(server)["slow_downs"]) == ("s3_slow_down", 5, 5)


def test_parts_are_of_the_busiest_second(server):
    """Of 4 a second four fifths are 3.2. 4 reads in one second and 4 writes in the next: 4 / 3.2 = 1.25 each, so two prefixes, and not the
    three of a second that has both. With 3 reads more beside the writes it is 7 / 3.2 = 2.2: three."""
    text = "".join(access(10, "GET", f"data/x/{i}") for i in range(4)) + "".join(access(11, "PUT", f"data/x/{i}") for i in range(4))
    server.post("/api/v1/logs?job=j&stream=access", body=text)
    got = s3(server, "?reads_per_s=4&writes_per_s=4")
    row, = got["prefixes"]
    assert (row["peak_reads_per_s"], row["peak_writes_per_s"], row["split"]["parts"]) == (4, 4, 2)
    assert (got["lines"], got["lines_looked_at"], got["partial"]) == (8, 8, False)
    server.post("/api/v1/logs?job=j&stream=access-2", body="".join(access(11, "GET", f"data/x/{i}") for i in range(3)))
    got = s3(server, "?reads_per_s=4&writes_per_s=4")
    assert (got["prefixes"][0]["split"]["parts"], got["lines"]) == (3, 11)


CLIENTS = """upload: ckpt/a.pt to s3://b/run/ckpt/a.pt
upload failed: ckpt/b.pt to s3://b/run/ckpt/b.pt An error occurred (SlowDown) when calling the UploadPart operation (reached max retries: 4): Please reduce your request rate.
download: s3://b/data/x.tar to ../data/x.tar
ERROR "cp s3://b/data/y.tar ./y.tar": SlowDown: Please reduce your request rate. status code: 503, request id: 1, host id: 2
botocore.exceptions.ClientError: An error occurred (SlowDown) when calling the GetObject operation (reached max retries: 4): Please reduce your request rate.
OSError: [Errno 16] Please reduce your request rate.
step 1 loss 2.5
"""


def test_what_clients_print(server):
    server.post("/api/v1/logs?job=j&stream=algo-1", body=CLIENTS)
    got = s3(server)
    rows = {(row["bucket"], row["prefix"]): row for row in got["prefixes"]}
    assert set(rows) == {("b", "run/ckpt/"), ("b", "data/"), (None, "")}
    assert (rows["b", "run/ckpt/"]["writes"], rows["b", "run/ckpt/"]["slow_downs"]) == (2, 1)
    assert (rows["b", "data/"]["reads"], rows["b", "data/"]["slow_downs"]) == (2, 1)
    assert (rows[None, ""]["reads"], rows[None, ""]["unknown"], rows[None, ""]["slow_downs"]) == (1, 1, 2)
    assert all(row["peak_reads_per_s"] is None and row["split"] for row in got["prefixes"])
    assert (got["reads"], got["writes"], got["unknown"], got["slow_downs"]) == (3, 2, 1, 4)
    wait_until(lambda: server.get("/api/v1/incidents?q=name%3Dj").body["incidents"])
    incident, = server.get("/api/v1/incidents?q=name%3Dj").body["incidents"]
    assert incident["evidence"]["signature"] == "s3_slow_down"
    advice, = [one for one in server.get("/api/v1/jobs/j/advice").body["advice"] if one["rule"] == "s3_slow_down"]
    assert advice["text"] == "S3 answered SlowDown 4 times" and "/s3" in advice["reason"]


def test_a_log_without_requests(server):
    server.post("/api/v1/logs?job=j&stream=algo-1", body="step 1 loss 2.5\n")
    got = s3(server)
    assert got["prefixes"] == [] and got["slow_downs"] == 0
