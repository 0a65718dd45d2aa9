"""A file that is followed goes on at another address: the same server by another name, or one to which the job was brought."""

import contextlib

import pytest

from shipping import lines
from smserver import wait_until

LEASE = ("--lease", "1s")


def texts(first, end, word="file"):
    return [f"{word} line {i} step {i} loss: {2.3 - i * 0.001:.4f}" for i in range(first, end)]


def append(path, some):
    with path.open("a") as file:
        file.write("".join(text + "\n" for text in some))


@contextlib.contextmanager
def killed(ship, url, path, *more, job="moved"):
    """A sm-ship that is there for the block, and is then killed."""
    process = ship.start("--server", url, "--job", job, "--stream", "algo-1", *more, "--follow", str(path))
    try:
        yield
        assert process.poll() is None, process.communicate()[1]
    finally:
        process.kill()
        process.communicate()


def ship_until(ship, server, url, path, expected, *more, job="moved"):
    """What is there once the newest line is, and a line that comes behind it: nothing of before is on its way then."""
    with killed(ship, url, path, *more, job=job):
        wait_until(lambda: expected[-1] in lines(server, job))
        last = f"behind {expected[-1]}"
        append(path, [last])
        wait_until(lambda: last in lines(server, job))
    expected.append(last)
    assert lines(server, job) == expected


def grow(path, sent, some):
    append(path, some)
    sent += some
    return sent


def test_the_same_server_by_other_names(make_server, ship, tmp_path):
    server = make_server(*LEASE)
    path, sent = tmp_path / "train.log", []
    port = server.port
    for i, url in enumerate([f"http://127.0.0.1:{port}", f"http://localhost:{port}", f"http://127.0.0.1:{port}/",
                             f"HTTP://LOCALHOST:{port}//", f"127.0.0.1:{port}", f"http://127.0.0.1:{port}"]):
        grow(path, sent, texts(20 * i, 20 * i + 20))
        ship_until(ship, server, url, path, sent)


def test_lines_of_others_stand_between(make_server, ship, tmp_path):
    server = make_server(*LEASE)
    path, sent = tmp_path / "train.log", []
    ship_until(ship, server, server.url, path, grow(path, sent, texts(0, 20)))
    assert server.post("/api/v1/logs?job=moved&stream=algo-1", b"a note\n", content_type="text/plain").status == 200
    sent.append("a note")
    append(path, texts(20, 40))
    ship_until(ship, server, f"http://localhost:{server.port}", path, sent + texts(20, 40))


def carry(server, other):
    export = server.get("/api/v1/export")
    assert export.status == 200
    assert other.post("/api/v1/import", export.raw, content_type="application/x-ndjson").body["imported"] == 1


@pytest.mark.parametrize("batches", [1, 3])
@pytest.mark.parametrize("ending", ["kept", "rotated"])
def test_a_second_server_to_which_the_job_was_brought(make_server, ship, tmp_path, batches, ending):
    server, other = make_server(*LEASE), make_server(*LEASE)
    path, sent = tmp_path / "train.log", []
    for i in range(batches):
        ship_until(ship, server, server.url, path, grow(path, sent, texts(20 * i, 20 * i + 20)))
    carry(server, other)
    if ending == "rotated":
        path.rename(tmp_path / "train.log.1")
    ship_until(ship, other, other.url, path, grow(path, sent, texts(500, 505)))
    ship_until(ship, other, other.url, path, grow(path, sent, texts(505, 510)))


def test_an_export_that_is_older_than_what_was_sent(make_server, ship, tmp_path):
    server, other = make_server(*LEASE), make_server(*LEASE)
    path, sent = tmp_path / "train.log", []
    ship_until(ship, server, server.url, path, grow(path, sent, texts(0, 20)))
    carry(server, other)
    ship_until(ship, server, server.url, path, grow(path, sent, texts(20, 40)))
    ship_until(ship, other, other.url, path, grow(path, sent, texts(40, 60)))


def test_a_log_larger_than_a_batch(make_server, ship, tmp_path):
    server, other = make_server(*LEASE), make_server(*LEASE)
    path, sent = tmp_path / "train.log", []
    ship_until(ship, server, server.url, path, grow(path, sent, texts(0, 20000)))  # 700 kB
    carry(server, other)
    ship_until(ship, other, other.url, path, grow(path, sent, texts(20000, 20020)))


def test_a_second_server_that_has_nothing_gets_all(make_server, ship, tmp_path):
    server, other = make_server(*LEASE), make_server(*LEASE)
    path, sent = tmp_path / "train.log", []
    ship_until(ship, server, server.url, path, grow(path, sent, texts(0, 20)))
    ship_until(ship, other, other.url, path, grow(path, sent, texts(20, 25)))
    there = list(sent)
    ship_until(ship, other, other.url, path, grow(path, sent, texts(25, 30)))
    back = list(sent)
    assert lines(server, "moved") == there[:21]
    ship_until(ship, server, server.url, path, grow(path, back, texts(30, 35)))  # the first one misses nothing either


@pytest.mark.parametrize("length", [5, 21, 60])
def test_a_job_of_the_same_name_that_is_another_gets_all(make_server, ship, tmp_path, length):
    """Its log begins with the same lines."""
    server, other = make_server(*LEASE), make_server(*LEASE)
    path, sent = tmp_path / "train.log", []
    ship_until(ship, server, server.url, path, grow(path, sent, texts(0, 20)))
    there = texts(0, 4) + texts(4, length, "other")
    body = "".join(text + "\n" for text in there).encode()
    assert other.post("/api/v1/logs?job=moved&stream=algo-1&offset=0", body, content_type="text/plain").status == 200
    append(path, texts(20, 25))
    ship_until(ship, other, other.url, path, there + sent + texts(20, 25))


def test_one_that_ended_orderly_goes_on_with_resume(make_server, ship, tmp_path):
    server, other = make_server(*LEASE), make_server(*LEASE)
    path, sent = tmp_path / "train.log", []
    append(path, grow(tmp_path / "same.log", sent, texts(0, 20)))
    assert ship.run("--server", server.url, "--job", "moved", "--stream", "algo-1", str(path)).returncode == 0
    carry(server, other)
    ship_until(ship, other, other.url, path, grow(path, sent, texts(20, 25)), "--resume")
