"""Small files of a job: as they were sent, within their limits, never executed by a browser, and gone with their job."""

import contextlib
import gzip
import hashlib
import http.client
import random
import sqlite3
import subprocess
import threading

import pytest

from engine import of_a_file
from smserver import sanitizer_environment, wait_until
from test_auth import make_token

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
BASE = "/api/v1/jobs/j/attachments"


def put(server, path, body, *, status=201, job="j", content_type="application/octet-stream", **more):
    reply = server.request("PUT", f"/api/v1/jobs/{job}/attachments/{path}", body=body, content_type=content_type, **more)
    assert reply.status == status, reply
    return reply.body


def listed(server, query=""):
    reply = server.get(BASE + query)
    assert reply.status == 200, reply
    return reply.body


def get(server, path, **more):
    return server.request("GET", f"{BASE}/{path}", **more)


@pytest.fixture(scope="module")
def job(shared_server):
    shared_server.send("j", "x")
    return shared_server


def test_a_file_is_there_as_it_was_sent(job):
    """Over several parts, of bytes that do not pack; the empty one has none."""
    large = random.Random(1).randbytes((2 << 20) + 12345)
    for path, body in (("plots/large.bin", large), ("plots/none", b""), ("one part", b"a" * (1 << 20)), ("é/ü.txt", "ü".encode())):
        quoted = path.replace(" ", "%20").encode("ascii", "ignore").decode() if path.isascii() else "%C3%A9/%C3%BC.txt"
        told = put(job, quoted, body)
        assert (told["path"], told["bytes"], told["sha256"]) == (path, len(body), hashlib.sha256(body).hexdigest())
        reply = get(job, quoted)
        assert reply.status == 200 and reply.raw == body
    assert [row["path"] for row in listed(job)["attachments"]] == ["one part", "plots/large.bin", "plots/none", "é/ü.txt"]
    page = listed(job, "?limit=2")
    assert page["next_after"] == "plots/large.bin"
    assert [row["path"] for row in listed(job, "?after=plots/large.bin")["attachments"]] == ["plots/none", "é/ü.txt"]


def test_packed_on_the_way_it_is_the_same(job):
    text = b"a line\n" * 5000
    put(job, "packed.txt", gzip.compress(text), headers={"Content-Encoding": "gzip"})
    assert get(job, "packed.txt").raw == text
    reply = get(job, "packed.txt", headers={"Accept-Encoding": "gzip"})
    assert reply.headers["Content-Encoding"] == "gzip" and gzip.decompress(reply.raw) == text


@pytest.mark.parametrize("path, sent_as, kept_as, handed_out_as", [
    ("a.png", "application/octet-stream", "image/png", "image/png"),
    ("b", "image/jpeg", "image/jpeg", "image/jpeg"),
    ("c.txt", "application/x-www-form-urlencoded", "text/plain", "text/plain; charset=utf-8"),
    ("d.json", "application/json; charset=utf-8", "application/json; charset=utf-8", "application/json"),
    ("e.svg", "application/octet-stream", "image/svg+xml", "application/octet-stream"),
    ("f.png", "image/svg+xml", "image/svg+xml", "application/octet-stream"),
    ("g.html", "text/html", "text/html", "application/octet-stream"),
    ("h.js", "text/javascript", "text/javascript", "application/octet-stream"),
    ("i.xml", "application/xhtml+xml", "application/xhtml+xml", "application/octet-stream"),
])
def test_no_browser_executes_it(job, path, sent_as, kept_as, handed_out_as):
    assert put(job, f"kinds/{path}", b"{}", content_type=sent_as)["content_type"] == kept_as
    headers = get(job, f"kinds/{path}").headers
    assert headers["Content-Type"] == handed_out_as
    assert headers["Content-Disposition"] == f'attachment; filename="{path}"'
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Content-Security-Policy"] == "sandbox; default-src 'none'"


def test_a_name_breaks_no_header(job):
    put(job, "x/%22%3B%20a%3D.b", b"x")
    assert get(job, "x/%22%3B%20a%3D.b").headers["Content-Disposition"] == "attachment; filename=\"___a_.b\"; filename*=UTF-8''%22%3B%20a%3D.b"


def test_what_is_known_is_not_sent_again(job):
    told = put(job, "known", b"x")
    etag = get(job, "known").headers["ETag"]
    assert etag == f'"{told["sha256"]}"'
    reply = get(job, "known", headers={"If-None-Match": etag})
    assert (reply.status, reply.raw) == (304, b"")
    put(job, "known", b"y")
    assert get(job, "known", headers={"If-None-Match": etag}).raw == b"y"


@pytest.mark.parametrize("path, words", [
    ("../a", "'..'"), ("a/../b", "'..'"), ("a/%2e%2e/b", "'..'"), ("a/..", "'..'"), ("./a", "'.'"), ("a/", "empty"), ("%2Fetc/passwd", "empty"),
    ("a//b", "empty"), ("a%5Cb", "backslash"), ("a%0Ab", "control"), ("a%7Fb", "control"), ("a" * 1001, "1001 bytes")])
def test_paths_that_are_none(job, path, words):
    for method, body in (("PUT", b"x"), ("GET", None), ("DELETE", None)):
        reply = job.request(method, f"{BASE}/{path}", body=body)
        assert reply.status == 422 and words in reply.body["detail"], (method, reply)
    put(job, "a" * 1000, b"x")


def test_what_is_not_there(job):
    assert job.request("PUT", f"{BASE}/a%00b", body=b"x").status == 400
    assert get(job, "nothing").status == 404 and "nothing" in get(job, "nothing").body["detail"]
    assert job.delete(f"{BASE}/nothing").status == 404
    put(job, "a", b"x", job="nobody", status=404)
    assert job.get("/api/v1/jobs/nobody/attachments").status == 404
    put(job, "gone", b"x")
    assert job.delete(f"{BASE}/gone").status == 204 and get(job, "gone").status == 404


def test_limits(make_server):
    server = make_server("--max-attachments", "3", "--max-attachment-bytes", "100", "--max-job-attachment-bytes", "250")
    server.send("j", "x")
    put(server, "a", b"a" * 100)
    assert "--max-attachment-bytes" in put(server, "a", b"b" * 101, status=413)["detail"]
    assert get(server, "a").raw == b"a" * 100
    put(server, "b", b"b" * 100)
    assert "--max-job-attachment-bytes" in put(server, "c", b"c" * 51, status=413)["detail"]
    put(server, "c", b"c" * 50)
    put(server, "a", b"A" * 100)  # in place of what was there
    assert "--max-job-attachment-bytes" in put(server, "c", b"c" * 51, status=413)["detail"]
    assert "--max-attachments" in put(server, "d", b"", status=413)["detail"]
    assert [(row["path"], row["bytes"]) for row in listed(server)["attachments"]] == [("a", 100), ("b", 100), ("c", 50)]
    assert server.delete(f"{BASE}/b").status == 204
    put(server, "d", b"d" * 100)


def test_survival_teams_and_audit(make_server):
    server = make_server()
    server.send("j", "x")
    put(server, "a", PNG)
    server.kill()
    server.start()
    assert get(server, "a").raw == PNG
    admin = make_token(server, "root", "admin")
    nlp, vision = make_token(server, "nlp", "write", "--team", "nlp"), make_token(server, "vision", "write", "--team", "vision")
    server.token = nlp
    server.send("theirs", "x")
    assert put(server, "a", PNG, job="theirs")["author"] == "nlp"
    assert "another team" in put(server, "a", b"", job="theirs", status=403, token=vision)["detail"]
    assert server.delete("/api/v1/jobs/theirs/attachments/a", token=vision).status == 403
    reader = make_token(server, "reader", "read", "--team", "vision")
    put(server, "a", b"", job="theirs", status=403, token=reader)
    assert server.get("/api/v1/jobs/theirs/attachments/a", token=reader).raw == PNG
    large = put(server, "plots/b", PNG * 10000, job="theirs")
    assert server.delete("/api/v1/jobs/theirs/attachments/a").status == 204
    told = [row for row in server.get("/api/v1/audit", token=admin).body["entries"] if row["token"] == "nlp" and "attachments" in row["verb"]]
    assert [(row["verb"], row["object"], row["after"]["path"]) for row in told] == [
        ("delete attachments", "jobs/theirs", "a"), ("change attachments", "jobs/theirs", "plots/b"), ("change attachments", "jobs/theirs", "a")]
    assert told[1]["after"] == {key: large[key] for key in ("path", "bytes", "sha256")}, "one entry, of several parts"


def test_a_slow_reader_has_the_file_of_its_beginning(job):
    """What is in the sockets ends long before the file does; then it is replaced, and deleted."""
    old = random.Random(2).randbytes(8 << 20)
    for change in (lambda: put(job, "slow", b"new"), lambda: job.delete(f"{BASE}/slow")):
        put(job, "slow", old)
        connection = http.client.HTTPConnection("127.0.0.1", job.port, timeout=60)
        connection.request("GET", f"{BASE}/slow")
        reply = connection.getresponse()
        begun = reply.read(1000)
        change()
        assert begun + reply.read() == old
        connection.close()


@pytest.mark.parametrize("path, has_length", [(f"{BASE}/sized", True), (f"{BASE}/empty", True), ("/api/v1/jobs/j/logs/raw", False)])
def test_head_tells_no_other_length(job, path, has_length):
    body = random.Random(3).randbytes(3 << 20)
    put(job, "sized", body)
    put(job, "empty", b"")
    told, got = job.request("HEAD", path), job.get(path)
    assert (told.status, told.raw, got.status) == (200, b"", 200)
    expected = str(len(got.raw)) if has_length else None
    assert told.headers["Content-Length"] == got.headers["Content-Length"] == expected
    assert told.headers["ETag"] == got.headers["ETag"]


def test_writers_of_one_path_leave_one_whole_file(job):
    bodies = [bytes([n]) * (1 << 20) + bytes([n]) for n in range(4)]
    threads = [threading.Thread(target=put, args=(job, "raced", body)) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert get(job, "raced").raw in bodies
    assert [row["path"] for row in listed(job)["attachments"]].count("raced") == 1


@of_a_file("looks at its tables, and damages one")
def test_a_deleted_job_takes_them_along_and_the_check_reads_them(make_server):
    server = make_server()
    server.send("j", "x")
    server.send("other", "x")
    put(server, "a", b"a" * (1 << 21))
    put(server, "a", b"b" * (1 << 21))
    put(server, "b", PNG, job="other")

    def rows(table):
        with sqlite3.connect(f"file:{server.database}?mode=ro", uri=True) as database:
            return database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]

    assert (rows("attachments"), rows("attachment_parts")) == (2, 3)
    server.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": "Completed"})
    assert server.delete("/api/v1/jobs/j?purge=true").status in (200, 202, 204)
    wait_until(lambda: (rows("attachments"), rows("attachment_parts")) == (1, 1), what="the deletion of the job's files")
    server.stop()

    def check():
        return subprocess.run([server.bin("sm-server"), "check", *server.database_options()], capture_output=True, text=True, timeout=60,
                              env=sanitizer_environment())
    assert check().returncode == 0
    with sqlite3.connect(server.database) as database:
        database.execute("UPDATE attachments SET sha256 = ?", ("0" * 64,))
    done = check()
    assert done.returncode and "checksum" in done.stdout + done.stderr


@of_a_file("looks at its tables, and makes a row older")
def test_a_kill_between_the_parts_shows_nothing_of_the_file(make_server):
    """The path keeps what it had; what is left of the parts counts for the quotas, and goes with the next file after ten minutes."""
    server = make_server("--max-attachment-bytes", "32MiB", "--max-job-attachment-bytes", "33MiB")
    server.send("j", "x")
    put(server, "a", b"before")
    large = random.Random(3).randbytes(32 << 20)

    def sql(text):
        with contextlib.closing(sqlite3.connect(server.database, timeout=30)) as database, database:
            return database.execute(text).fetchall()

    def send():
        with contextlib.suppress(OSError, http.client.HTTPException):  # the server goes away
            server.request("PUT", f"{BASE}/a", body=large, content_type="application/octet-stream")
    sender = threading.Thread(target=send)
    sender.start()
    begun = "SELECT count(*) FROM attachment_parts JOIN attachments USING (job_id, attachment_id) WHERE is_whole = 0"
    wait_until(lambda: sql(begun)[0][0] > 0, what="the first parts")
    server.kill()
    sender.join()
    left = sql(begun)[0][0]
    assert 0 < left <= 32
    server.start()
    assert get(server, "a").raw == b"before"
    assert [(row["path"], row["bytes"]) for row in listed(server)["attachments"]] == [("a", 6)]
    assert "--max-job-attachment-bytes" in put(server, "b", b"b" * (2 << 20), status=413)["detail"], "it counts for a while"
    assert sql(begun)[0][0] == left
    server.stop()
    done = subprocess.run([server.bin("sm-server"), "check", *server.database_options()], capture_output=True, text=True, timeout=60, env=sanitizer_environment())
    assert done.returncode == 0, done.stdout + done.stderr
    sql("UPDATE attachments SET created_ms = created_ms - 600001 WHERE is_whole = 0")
    server.start()
    put(server, "b", b"b")
    assert sql("SELECT count(*) FROM attachments")[0][0] == 2 and sql("SELECT count(*) FROM attachment_parts")[0][0] == 2
    assert get(server, "a").raw == b"before" and get(server, "b").raw == b"b"
