"""Documents, names, values and queries that mean harm or come from elsewhere: each is stored as it is, or refused by name."""

import json
import random
import re
import socket
import subprocess

import pytest

from smserver import PATIENCE_S, quote, wait_until

# Of each: it must come back as it went in, be found by itself, and harm nobody.
TEXTS = {
    "sql": "x'; DROP TABLE jobs; --", "sql union": '" UNION SELECT * FROM tokens --', "html": "<script>alert(1)</script>", "attribute": '"><img src=x onerror=alert(1)>',
    "shell": "$(touch /tmp/x)`id`|;&", "format": "%s%n%x%99999d", "path": "../../etc/hosts", "template": "{{7*7}}${7*7}#{7*7}", "query": 'a" or status:failed or "b',
    "wildcards": "100%_*?[a-z]\\", "csv": "=HYPERLINK(\"http://x\")", "json": '{"a":[1]}', "quotes": "it's \"so\" `so`", "backslashes": "\\\\n\\u0000", "percent": "%00%0a%2F",
    "composed": "\u00e9t\u00e9", "decomposed": "e\u0301te\u0301", "right to left": "نموذج-عربي", "override": "a\u202egpj.exe", "emoji": "👩\u200d👩\u200d👧 🇩🇪", "zero width": "a\u200bb",
    "case of Turkish": "İıĞ", "sharp s": "Straße ẞ", "wide": "日本語ＡＢＣ", "astral": "𝒜𠀀", "not a character": "\ufffe\uffff", "number": "1e400", "null": "null", "dots": "..", "a.b": "a.b.last",
}


@pytest.fixture(scope="module")
def server(shared_server):
    return shared_server


def text(value):
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def found(server, query):
    reply = server.get(f"/api/v1/jobs?q={quote(query)}&limit=1000")
    assert reply.status == 200, (query, reply)
    return [row["TrainingJobName"] for row in reply.body["jobs"]]


def metric_of(value):
    return value.replace("{", "(").replace("}", ")")  # braces hold a metric's labels


def document(value):
    return {"TrainingJobName": value, "HyperParameters": {value: value}, "Environment": {"A": value}, "Tags": [{"Key": value, "Value": value}], "Extra": {value: [value]}}


@pytest.fixture(scope="module")
def filled(server):
    for value in TEXTS.values():
        reply = server.post("/api/v1/jobs", json=document(value))
        assert reply.status == 201, reply
        path = f"/api/v1/jobs/{quote(value)}"
        assert server.patch(path, json={"notes": value, "labels": [value]}).status == 200, value
        server.send(value, [value], stream=value)
        points = {"points": [{"metric": metric_of(value), "step": 1, "ts_ms": 1_700_000_000_000, "value": 2.5}]}
        assert server.post(f"/api/v1/points?job={quote(value)}&stream={quote(value)}", json=points).status == 200, value
    return server


@pytest.mark.parametrize("what", TEXTS)
def test_any_text_is_kept_and_found_and_harms_nobody(filled, what):
    value, path = TEXTS[what], f"/api/v1/jobs/{quote(TEXTS[what])}"
    whole = filled.get(path).body
    assert (whole["TrainingJobName"], whole["HyperParameters"], whole["Environment"], whole["Extra"]) == (value, {value: value}, {"A": value}, {value: [value]})
    assert whole["Tags"] == [{"Key": value, "Value": value}] and whole["Labels"] == [value] and whole["Notes"] == value
    assert [line["text"] for line in filled.lines(value, stream=value)] == [value]
    assert filled.wait_for_points(value, metric_of(value), 1, stream=value)["last"] == 2.5
    for query in (f"name={text(value)}", f"hp.{text(value)}={text(value)}", f"tag.{text(value)}={text(value)}", f"label={text(value)}", f"env.A={text(value)}",
            f"metric.{text(metric_of(value))}.last=2.5"):
        assert wait_until(lambda query=query: found(filled, query), what=query) == [value]
    with_it = filled.get(f"/api/v1/export?q={quote('name=' + text(value))}").raw.splitlines()
    assert json.loads(with_it[0])["name"] == value and json.loads(with_it[-1])["record"] == "end"


def test_they_are_all_there_still(filled):
    names = set(TEXTS.values())
    assert names <= set(found(filled, ""))
    for options in (("--csv", "--fields", "name,hp.x"), ("--table",), ("--ndjson",)):
        done = subprocess.run([filled.bin("sm-search"), "", *options, "--limit", "1000", "--server", filled.url], capture_output=True, timeout=PATIENCE_S)
        assert done.returncode == 0 and not done.stderr, done
        if "--table" in options:
            assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]|\xe2\x80\xae", done.stdout), "a name commands no terminal"
    assert filled.get("/api/v1/jobs?format=csv&fields=TrainingJobName").status == 200
    suggestions = filled.get(f"/api/v1/search/suggestions?prefix={quote('tag.')}").body
    assert suggestions


HYPER = {f"k{i}": "v" * 2500 for i in range(100)}
NESTED = '{"TrainingJobName":"nested","x":' + "[" * 900 + "]" * 900 + "}"

# body, status, field; the name of a job that is taken is "t"
DOCUMENTS = {
    "a hundred hyperparameters of 2500": ({"TrainingJobName": "hyper", "HyperParameters": HYPER}, 201, None),
    "one more": ({"TrainingJobName": "t", "HyperParameters": {**HYPER, "more": "v"}}, 422, "HyperParameters"),
    "one character more": ({"TrainingJobName": "t", "HyperParameters": {"k": "v" * 2501}}, 422, "HyperParameters.k"),
    "2500 characters of four bytes": ({"TrainingJobName": "wide", "HyperParameters": {"k": "🚀" * 2500}}, 201, None),
    "a key of 256": ({"TrainingJobName": "key", "HyperParameters": {"k" * 256: "v"}}, 201, None),
    "a name of 255 bytes": ({"TrainingJobName": "n" * 255}, 201, None),
    "a name of 256 bytes": ({"TrainingJobName": "n" * 256}, 422, "TrainingJobName"),
    "a control character": ({"TrainingJobName": "a\tb"}, 422, "TrainingJobName"),
    "half a surrogate pair": ('{"TrainingJobName":"t\\ud83d"}', 400, None),
    "bytes that are no UTF-8": (b'{"TrainingJobName":"t\xff"}', 422, "TrainingJobName"),
    "bytes that are no UTF-8 in a tag": (b'{"TrainingJobName":"t","Tags":[{"Key":"a","Value":"\xff"}]}', 422, "Tags.Value"),
    "a NUL": ('{"TrainingJobName":"t\\u0000"}', 400, None),
    "nested deep": (NESTED, 201, None),
    "nested too deep": ('{"TrainingJobName":"t","x":' + "[" * 5000 + "]" * 5000 + "}", 400, None),
    "objects too deep": ('{"x":' * 5000 + "1" + "}" * 5000, 400, None),
    "larger than 4 MiB": ({"TrainingJobName": "t", "x": "y" * (4 << 20)}, 413, None),
    "a key twice": ('{"TrainingJobName":"t","TrainingJobName":"u"}', 422, "TrainingJobName"),
    "a hyperparameter twice": ('{"TrainingJobName":"t","HyperParameters":{"lr":"1","lr":"2"}}', 422, "HyperParameters.lr"),
    "a tag twice": ({"TrainingJobName": "t", "Tags": [{"Key": "a", "Value": "1"}, {"Key": "a", "Value": "2"}]}, 422, "Tags[1].Key"),
    "1e400": ('{"TrainingJobName":"t","x":{"y":1e400}}', 422, "x.y"),
    "1e400 for a time": ('{"TrainingJobName":"t","StoppingCondition":{"MaxRuntimeInSeconds":1e400}}', 422, "StoppingCondition.MaxRuntimeInSeconds"),
    "0x10": ('{"TrainingJobName":"t","x":0x10}', 400, None),
    "1_000": ('{"TrainingJobName":"t","x":1_000}', 400, None),
    "010": ('{"TrainingJobName":"t","x":010}', 400, None),
    "NaN": ('{"TrainingJobName":"t","x":NaN}', 400, None),
    "a comma too many": ('{"TrainingJobName":"t",}', 400, None),
    "text behind it": ('{"TrainingJobName":"t"} x', 400, None),
    "nothing": ("", 400, None),
    "numbers as texts": ({"TrainingJobName": "texts", "HyperParameters": {"a": "1e400", "b": "0x10", "c": "1_000", "d": " 5", "e": "1e-5", "f": "٣"}}, 201, None),
}


@pytest.mark.parametrize("what", DOCUMENTS)
def test_a_document_is_kept_or_refused_by_name(server, what):
    body, status, field = DOCUMENTS[what]
    body = body if isinstance(body, (bytes, str)) else json.dumps(body, ensure_ascii=False)
    for path in ("/api/v1/jobs?dry_run=true", "/api/v1/jobs"):
        reply = server.post(path, body, content_type="application/json")
        wanted = 200 if status == 201 and "dry" in path else status
        assert reply.status == wanted and reply.body.get("field") == field, reply
        assert status < 400 or len(reply.body["detail"]) < 600
    if status == 201:
        name = json.loads(body)["TrainingJobName"]
        whole = server.get(f"/api/v1/jobs/{quote(name)}").body
        assert all(whole[key] == value for key, value in json.loads(body).items())
    else:
        assert server.get("/api/v1/jobs/t").status == 404


QUERIES = {
    "31 levels": ("(" * 31 + "name=a" + ")" * 31, 200), "32 levels": ("(" * 32 + "name=a" + ")" * 32, 422), "not not": ("not " * 32 + "name=a", 422),
    "64 terms": (" or ".join(f"name=a{i}" for i in range(64)), 200), "65 terms": (" or ".join(f"name=a{i}" for i in range(65)), 422),
    "256 values": ("name in (" + ",".join(f"a{i}" for i in range(256)) + ")", 200), "257 values": ("name in (" + ",".join(f"a{i}" for i in range(257)) + ")", 422),
    "a regular expression that never ends": ('name~"(a+)+$" or name~"(x+x+)+y"', 200), "a regular expression that is none": ('name~"("', 422), "stars": ('name:"' + "*a" * 1000 + '"', 200),
    "1e400": ("loss.last>1e400", 200), "0x10": ("loss.last>0x10", 422), "1_000": ("loss.last>1_000", 422), "digits of Arabic": ("loss.last>٣", 422), "a duration of none": ("duration>inf", 422),
    "no end of a text": ('name="a', 422), "an operator alone": ("=", 422), "sql": ("name=a'; DROP TABLE jobs; --", 422), "a property that is sql": ('hp."x\' OR 1=1 --"=1', 200),
    "a number that is text": ('hp.b="0x10" hp.c="1_000" hp.a="1e400"', 200),
}


@pytest.mark.parametrize("what", QUERIES)
def test_a_query_is_answered_or_refused_with_its_column(server, what):
    query, status = QUERIES[what]
    reply = server.get(f"/api/v1/jobs?q={quote(query)}")
    assert reply.status == status, reply
    assert status == 200 or reply.body["column"] >= 1 and len(reply.body["detail"]) < 600
    assert server.get(f"/api/v1/export?q={quote(query)}").status == status


def test_texts_that_look_like_numbers_are_texts(server):
    server.post("/api/v1/jobs", json=DOCUMENTS["numbers as texts"][0])
    for query in ('hp.a="1e400"', 'hp.b="0x10"', 'hp.c="1_000"', "hp.e<1e-4"):
        assert found(server, f"name=texts {query}") == ["texts"], query
    for query in ("hp.a>1", "hp.a<1", "hp.b=16", "hp.c=1000", "hp.d=5", "hp.f=3"):
        assert found(server, f"name=texts {query}") == [], query


def ask_raw(server, head):
    """The first bytes of the answer to what a client sends that gives no body."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S) as connection:
        connection.settimeout(PATIENCE_S / 4)
        connection.sendall(head.encode())
        return connection.recv(12).decode()


@pytest.mark.parametrize("count", [200, 257, 300, 1500])
def test_a_request_of_many_parameters_is_answered_at_once(server, count):
    """And the server ends with no memory of it: its sanitizer looks."""
    host = " HTTP/1.1\r\nHost: localhost\r\n\r\n"
    assert ask_raw(server, "GET /api/v1/jobs?" + "&".join(["a"] * count) + host) == "HTTP/1.1 400"
    assert ask_raw(server, "GET /api/v1/jobs?" + "&" * count + host) == "HTTP/1.1 200"
    status, _, body = server.get("/api/v1/jobs?" + "&".join(["limit=1"] * count))
    assert (status == 200) if count <= 256 else (status == 400 and "256" in body["detail"])


def test_a_head_that_cannot_be_taken_leaves_nothing_behind(server):
    for head, answer in (("X: y\r\n" * 600, "431"), ("Cookie: " + "a=b; " * 800 + "\r\n", "431"), ("no colon\r\n", "400")):
        assert ask_raw(server, f"GET /api/v1/jobs?limit=1 HTTP/1.1\r\nHost: localhost\r\n{head}\r\n") == "HTTP/1.1 " + answer
    assert ask_raw(server, "GET \r\n\r\n") == "HTTP/1.1 400"


UPLOAD = "POST /api/v1/logs?job=framed&stream=s HTTP/1.1\r\nHost: localhost\r\n"
MALFORMED = {
    "a signed length": UPLOAD + "Content-Length: +3\r\n\r\nab\n", "a length twice": UPLOAD + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc\n",
    "a length in hexadecimal": UPLOAD + "Content-Length: 0x3\r\n\r\nab\n", "a list of lengths": UPLOAD + "Content-Length: 3, 3\r\n\r\nab\n",
    "no length": UPLOAD + "Content-Length:\r\n\r\nab\n", "length and encoding": UPLOAD + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "another encoding": UPLOAD + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "a folded length": UPLOAD + "Content-Length:\r\n 3\r\n\r\nab\n",
    "a NUL before a length": UPLOAD + "\0Content-Length: 3\r\n\r\nab\n", "a NUL behind a length": UPLOAD + "Content-Length: 3\0 4\r\n\r\nab\n", "a form feed before a length": UPLOAD + "\fContent-Length: 3\r\n\r\nab\n",
    "a CR in a value": UPLOAD + "X: y\rContent-Length: 3\r\n\r\nab\n", "any folded header": UPLOAD + "X: y\r\n Content-Length: 3\r\n\r\nab\n", "a folded blank": UPLOAD + "X: y\r\n \r\nContent-Length: 3\r\n\r\nab\n",
    "a folded encoding": UPLOAD + "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n", "a signed chunk": UPLOAD + "Transfer-Encoding: chunked\r\n\r\n+3\r\nab\n\r\n0\r\n\r\n",
    "a blank before the colon": UPLOAD + "Content-Length : 3\r\n\r\nab\n", "a NUL in the path": "GET /healthz\0/api HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a NUL in the query": "GET /api/v1/jobs?limit=1\0&q=x HTTP/1.1\r\nHost: localhost\r\n\r\n", "an encoded NUL": "GET /api/v1/jobs/a%00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a port that is none": "GET /healthz HTTP/1.1\r\nHost: localhost:@evil\r\n\r\n",
    "a port with letters": "GET /healthz HTTP/1.1\r\nHost: localhost:80x\r\n\r\n", "a port past the last": "GET /healthz HTTP/1.1\r\nHost: localhost:65536\r\n\r\n",
    "text behind an address": "GET /healthz HTTP/1.1\r\nHost: [::1]x\r\n\r\n", "an absolute target elsewhere": "GET http://evil.example/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "an absolute target with a user": "GET http://a@localhost/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", "an absolute target of another kind": "GET ftp://localhost/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
}


@pytest.mark.parametrize("what", MALFORMED)
def test_what_a_proxy_may_read_otherwise_is_refused(server, what):
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S) as connection:
        connection.sendall((MALFORMED[what] + "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").encode())
        answer = b""
        while part := connection.recv(65536) if not answer.endswith(b"\nok\n") else b"":
            answer += part
    assert answer.startswith(b"HTTP/1.1 400 "), answer
    assert b"ok\n" not in answer or MALFORMED[what].startswith("GET"), answer  # what may be a second request is not taken for one
    assert server.get("/api/v1/jobs/framed").status == 404


@pytest.mark.parametrize("head, status", [("GET /healthz HTTP/1.1\r\nHost: localhost:65535", "200"), ("GET /healthz HTTP/1.1\r\nHost: [::1]:80", "200"),
    ("GET http://localhost/healthz HTTP/1.1\r\nHost: localhost", "200"), ("GET http://LOCALHOST:80 HTTP/1.1\r\nHost: localhost:80", "200")])
def test_hosts_and_absolute_targets_that_agree_are_answered(server, head, status):
    assert ask_raw(server, head + "\r\n\r\n") == "HTTP/1.1 " + status


def test_heads_of_any_size_are_read_however_they_come(server):
    """On a connection that is kept: in pieces, of lines that end as they may, and several at once."""
    chance = random.Random(5)
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for size in (0, 1, 10, 3000, 200, 6500, 20, 7000, 0):
            end = chance.choice(["\r\n", "\n"])
            headers = "".join(f"X-{i}:{chance.choice([' ', '', '   '])}{'v' * chance.randrange(90)}{end}" for i in range(size // 55))
            together = chance.choice([1, 3]) if size < 1000 else 1
            head = f"GET /healthz HTTP/1.1{end}Host: localhost{end}Empty:{end}{headers}{end}".encode() * together
            while head:
                pace = chance.choice([1, 7, 400, 5000])
                connection.sendall(head[:pace])
                head = head[pace:]
            answer = b""
            while answer.count(b"ok\n") < together:
                part = connection.recv(65536)
                assert part, (size, answer)
                answer += part
            assert answer.count(b"HTTP/1.1 200 ") == together, answer
