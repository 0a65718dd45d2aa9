"""
A training that reads its shards from one prefix of S3 with 6100 requests in one second, of which S3 refuses each tenth; its clients say so as they do, and the
bucket's access logs are imported a day later, not in the order of time, as S3 delivers them. Which prefixes are to be split, and into how many, is worked
out here: S3 states 5500 reads and 3500 writes a second of a prefix, and four fifths of that, 4400 and 2800, is what one should be asked for. Split in two,
the same training is refused nothing.
"""

import json
import random
import subprocess
import sys

import pytest

from smserver import PATIENCE_S, wait_until

BUCKET, DAY_MS = "corpus", 1772442000000  # 2026-03-02 09:00:00 UTC
READS, WRITES = 5500, 3500  # https://docs.aws.amazon.com/AmazonS3/latest/userguide/optimizing-performance.html
PEAK, REFUSED = 6100, 610  # requests in second 10, each tenth of them refused

# As awscli/customizations/s3/results.py, s5cmd's log/error.go, boto3/s3/transfer.py, mountpoint-s3's doc/LOGGING.md and s3fs/errors.py print it.
PRINTED = """\
step 1 loss: 2.9
download: s3://corpus/shards/train/000000.tar to scratch/000000.tar
cp s3://corpus/shards/train/000001.tar scratch/000001.tar
ERROR "cp s3://corpus/shards/train/000002.tar scratch/000002.tar": SlowDown: Please reduce your request rate. status code: 503, request id: QWERTY, host id: abc=
2026-03-02T09:00:10.000001Z WARN get_object{id=21 bucket=corpus key=shards/train/000003.tar}: mountpoint_s3_client::s3_crt_client: meta request failed \
duration=11.087781ms request_result=MetaRequestResult { response_status: 503 } http_status=503
step 2 loss: 2.8
upload: out/rank_0.pt to s3://corpus/ckpt/step-200/rank_0.pt
upload failed: out/rank_1.pt to s3://corpus/ckpt/step-200/rank_1.pt An error occurred (SlowDown) when calling the UploadPart operation \
(reached max retries: 4): Please reduce your request rate.
boto3.exceptions.S3UploadFailedError: Failed to upload out/rank_2.pt to corpus/ckpt/step-200/rank_2.pt: An error occurred (SlowDown) when calling the PutObject \
operation (reached max retries: 4): Please reduce your request rate.
OSError: [Errno 16] Please reduce your request rate.
usage: cp s3://corpus/shards/train/000000.tar PATH
"""
CLIENTS = {  # by hand, of the lines above; "usage: …" was no request
    ("corpus", "shards/train/"): {"reads": 4, "writes": 0, "unknown": 0, "slow_downs": 2},
    ("corpus", "ckpt/step-200/"): {"reads": 0, "writes": 3, "unknown": 0, "slow_downs": 2},
    (None, ""): {"reads": 0, "writes": 0, "unknown": 1, "slow_downs": 1},
}


def access(second, operation, key, status="200 -", uri=None):
    """LogFormat.html of S3's user guide, all 26 fields."""
    verb = operation.partition(".")[0]
    return (f"79a59df900b949e55d96a1e698fbacedfd6e09d98eacf8f8d5218e7cd47ef2be {BUCKET} [02/Mar/2026:09:00:{second:02} +0000] 192.0.2.3 "
            f"arn:aws:sts::123456789012:assumed-role/train/i-0391f86fa0fe0d465 3E57427F3EXAMPLE REST.{operation} {key} \"{uri or f'{verb} /{BUCKET}/{key}'} HTTP/1.1\" "
            f"{status} - 1048576 70 10 \"-\" \"aws-sdk-cpp/1.11.0 ua/2.0 md/aws-crt\" - s9lzHYrFp76ZVxRcpX9+5cjAnEH2ROuNkd2BHfIa6UkFVdtjf5mKR3= SigV4 "
            f"TLS_AES_128_GCM_SHA256 AuthHeader {BUCKET}.s3.us-west-2.amazonaws.com TLSv1.3 - -")


def shards(second, count, folder="train", refuse_each=0):
    return [access(second, "GET.OBJECT", f"shards/{folder}/{n:06}.tar", "503 SlowDown" if refuse_each and n % refuse_each == 0 else "200 -") for n in range(count)]


def first_day():
    rows = shards(10, PEAK, refuse_each=PEAK // REFUSED) + shards(11, 100)
    rows += shards(10, 4400, "val")  # four fifths of 5500, and no more
    rows += [access(12, "PUT.PART" if n % 2 else "PUT.OBJECT", f"ckpt/step-200/rank_{n}.pt") for n in range(1400)]
    rows += [access(12, "HEAD.OBJECT", f"ckpt/step-200/rank_{n}.pt", "404 NoSuchKey") for n in range(2750)]
    rows += [access(13, "PUT.OBJECT", f"ckpt/step-100/rank_{n}.pt") for n in range(2800)]  # four fifths of 3500
    rows += [access(14, "GET.BUCKET", "-", uri=f"GET /{BUCKET}?list-type=2&prefix=shards/train/&max-keys=1000")] * 3
    rows += [access(15, "COPY.OBJECT", "published/step-200/model.pt"), access(15, "COPY.OBJECT_GET", "ckpt/step-200/rank_0.pt")]
    rows += [access(16, "POST.MULTI_OBJECT_DELETE", "-", uri=f"POST /{BUCKET}?delete"), "what is no line of such a log"]
    random.Random(5).shuffle(rows)
    return rows


# Reads, writes, refused, the most reads and writes in one second, parts: None is no split. Each by hand, of what stands above.
SERVED = {
    "shards/train/": (PEAK + 100 + 3, 0, REFUSED, PEAK, 0, 2),  # 6100 / 4400 = 1.386
    "shards/val/": (4400, 0, 0, 4400, 0, None),  # 4400 / 4400 = 1
    "ckpt/step-200/": (2750 + 1, 1400, 0, 2750, 1400, 2),  # 2750 / 4400 + 1400 / 2800 = 0.625 + 0.5, though neither alone is much
    "ckpt/step-100/": (0, 2800, 0, 0, 2800, None),  # 2800 / 2800 = 1
    "published/step-200/": (0, 1, 0, 0, 1, None),
    "": (0, 1, 0, 0, 1, None),  # a request that deletes many names no key
}


def import_logs(ship, path, job, rows):
    path.write_text("\n".join(rows) + "\n")
    done = ship.run("--job", job, "--stream", "s3-access", "--import", str(path))
    assert done.returncode == 0, done


def s3(server, job, query=""):
    """All of the log was looked at: on a busy machine a search may run out of time."""
    def found():
        reply = server.get(f"/api/v1/jobs/{job}/s3{query}")
        assert reply.status == 200, reply
        return not reply.body["partial"] and reply.body
    return wait_until(found, what=f"all requests of {job}")


def row_of(row):
    return row["reads"], row["writes"], row["slow_downs"], row["peak_reads_per_s"], row["peak_writes_per_s"], row["split"] and row["split"]["parts"]


def train(ship, tmp_path, job, printed):
    (tmp_path / "printed").write_text(printed)
    done = ship.run("--job", job, "--stream", "algo-1", "--", sys.executable, "-c", f"print(open({str(tmp_path / 'printed')!r}).read(), end='')")
    assert done.returncode == 0, done


def refused_by_its_clients(server):
    """What clients print is not each request: there is no peak, and no number of parts."""
    found = s3(server, "loader")
    rows = {(row["bucket"], row["prefix"]): row for row in found["prefixes"]}
    assert {place: {key: row[key] for key in CLIENTS[place]} for place, row in rows.items()} == CLIENTS
    assert all((row["peak_reads_per_s"], row["peak_writes_per_s"], row["split"]["parts"]) == (None, None, None) for row in rows.values())
    assert rows[None, ""]["split"]["text"].startswith("S3 refused requests of a bucket that the lines do not name: spread its keys")
    assert (found["reads"], found["writes"], found["unknown"], found["slow_downs"]) == (4, 3, 1, 5)
    assert found["limits"] | {"source": ""} == {"writes_per_s": WRITES, "reads_per_s": READS, "source": ""} and "optimizing-performance" in found["limits"]["source"]
    incident, = wait_until(lambda: server.get("/api/v1/incidents?q=name%3Dloader&kind=log_signature").body["incidents"], what="the incident")
    assert (incident["evidence"]["signature"], incident["severity"]) == ("s3_slow_down", "warning")
    advice, = wait_until(lambda: [one for one in server.get("/api/v1/jobs/loader/advice").body["advice"] if one["rule"] == "s3_slow_down"], what="the advice")
    assert "/s3" in advice["reason"]


def refused_by_the_service(server):
    found = s3(server, "loader", "?stream=s3-access")
    assert {row["prefix"]: row_of(row) for row in found["prefixes"]} == SERVED
    assert found["prefixes"][0]["prefix"] == "shards/train/" and found["prefix_count"] == len(SERVED)
    assert (found["reads"], found["writes"], found["slow_downs"]) == tuple(sum(row[n] for row in SERVED.values()) for n in range(3))
    train, = [row for row in found["prefixes"] if row["prefix"] == "shards/train/"]
    assert (train["first_ms"], train["last_ms"], train["last_slow_down_ms"]) == (DAY_MS + 10_000, DAY_MS + 14_000, DAY_MS + 10_000)
    assert "over 2 prefixes" in train["split"]["text"] and f"s3://{BUCKET}/shards/train/" in train["split"]["text"]
    # both streams as one: 4 and 3 more, of which 2 and 2 were refused
    both = {(row["bucket"], row["prefix"]): row_of(row) for row in s3(server, "loader")["prefixes"]}
    assert both[BUCKET, "shards/train/"] == (PEAK + 103 + 4, 0, REFUSED + 2, PEAK, 0, 2)
    assert both[BUCKET, "ckpt/step-200/"] == (2751, 1403, 2, 2750, 1400, 2)
    # a window of seconds, a depth, other limits: 6100 of 12200 is half; of 6100 it is 1.25
    window = {row["prefix"]: row_of(row) for row in s3(server, "loader", f"?stream=s3-access&from_ms={DAY_MS + 13_000}&to_ms={DAY_MS + 13_999}")["prefixes"]}
    assert window == {"ckpt/step-100/": SERVED["ckpt/step-100/"]}
    assert {row["prefix"]: row["reads"] for row in s3(server, "loader", "?stream=s3-access&depth=1")["prefixes"]} == {
        "shards/": PEAK + 103 + 4400, "ckpt/": 2751, "published/": 0, "": 0}
    parts = lambda reads: [row["split"]["parts"] for row in s3(server, "loader", f"?stream=s3-access&reads_per_s={reads}")["prefixes"] if row["prefix"] == "shards/train/"]
    assert (parts(12200), parts(6100)) == ([None], [2])  # it was refused, whatever the limit: how many parts nobody knows


def printed_by_search(server, ship):
    done = subprocess.run([server.bin("sm-search"), "s3", "loader", "--json"], env=ship.env, capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    assert {row["prefix"]: row["slow_downs"] for row in json.loads(done.stdout)["prefixes"]}["shards/train/"] == REFUSED + 2
    done = subprocess.run([server.bin("sm-search"), "s3", "loader", "--table"], env=ship.env, capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    assert "prefixes[0].split.parts" in done.stdout


def test_the_prefixes_to_split(server, ship, tmp_path):
    train(ship, tmp_path, "loader", PRINTED)
    refused_by_its_clients(server)
    import_logs(ship, tmp_path / "access.log", "loader", first_day())
    refused_by_the_service(server)
    printed_by_search(server, ship)
    # The next run reads the same shards from two prefixes, each with half: 3050 of 4400.
    train(ship, tmp_path, "loader-split", "step 1 loss: 2.9\n")
    halves = [row.replace("shards/train/", f"shards/train/{n % 2}/") for n, row in enumerate(shards(10, PEAK))]
    import_logs(ship, tmp_path / "halves.log", "loader-split", halves)
    found = {row["prefix"]: row_of(row) for row in s3(server, "loader-split", "?depth=3")["prefixes"]}
    assert found == {f"shards/train/{half}/": (PEAK // 2, 0, 0, PEAK // 2, 0, None) for half in (0, 1)}
    assert [one for one in server.get("/api/v1/jobs/loader-split/advice").body["advice"] if one["rule"] == "s3_slow_down"] == []
    server.restart()
    assert {row["prefix"]: row_of(row) for row in s3(server, "loader", "?stream=s3-access")["prefixes"]} == SERVED
