"""Every door in every trouble: how many lines were sent, how many are stored, how many of those twice. The table is printed.

SM_OUTAGE_S: how long the server is away in the case "server down" (2; the README's promise is 600).
"""

import contextlib
import os
import random
import threading

import pytest

from senders import DOORS, Chunk, Doubling, Sender, Shipper, chunks, pause, stored_numbers
from smserver import wait_until

OUTAGE_S = float(os.environ.get("SM_OUTAGE_S", "2"))
COUNT = 24
table = {}


@pytest.fixture(scope="module", autouse=True)
def printed(request):
    yield
    cases = sorted({case for _, case in table}, key=list(CASES).index)
    rows = ["", "| door | " + " | ".join(cases) + " |", "|---|" + "---|" * len(cases)]
    for door in [door.name for door in DOORS] + ["sm-ship file", "sm-ship command"]:
        rows.append(f"| {door} | " + " | ".join(table.get((door, case), "") for case in cases) + " |")
    rows.append("each: lines or points sent, stored, doubled")
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print("\n".join(rows))


class Stage:
    """All doors at once on one server: a job each."""

    def __init__(self, server, ship, port=None):
        self.server, self.ship, self.port = server, ship, port or server.port

    def sender(self, door, some):
        return Sender(door, self.port, job_of(door), some)

    def shippers(self):
        return [Shipper(self.ship, self.port, f"ship-{kind}", kind == "command") for kind in ("file", "command")]

    @contextlib.contextmanager
    def sending(self, some, shippers):
        """Each door has a sender at work while the block runs; all are through when it is left."""
        senders = [self.sender(door, some) for door in DOORS]
        threads = [threading.Thread(target=sender.send_all, args=(some,)) for sender in senders]
        threads += [threading.Thread(target=shipper.write, args=(some,)) for shipper in shippers]
        for shipper in shippers:
            shipper.start()
        for thread in threads:
            thread.start()
        yield senders
        for thread in threads:
            thread.join(60 + OUTAGE_S)
        assert [sender.failure for sender in senders if sender.failure] == []

    def check(self, case, some, doors=None):
        """What is stored is what was sent."""
        sent = [n for chunk in some for n in chunk.numbers]
        rows = doors or [(door.name, job_of(door)) for door in DOORS] + [(f"sm-ship {kind}", f"ship-{kind}") for kind in ("file", "command")]
        for name, job in rows:
            stored = wait_until(lambda job=job: (numbers := stored_numbers(self.server, job)) and len(numbers) >= len(sent) and numbers,
                what=f"{len(sent)} lines in {job}")
            table[name, case] = f"{len(sent)}, {len(stored)}, {len(stored) - len(set(stored))}"
            assert sorted(stored) == sorted(sent), (name, table[name, case])
            if name not in ("points CSV", "points JSON array", "Prometheus text", "remote write", "Pushgateway", "MLflow", "W&B", "Trackio"):  # points are kept by step, lines in the order of their arrival
                assert stored == sent, name


def job_of(door):
    return getattr(door, "job", None) or door.name.lower().replace(" ", "-").replace("/", "")


def finish(shippers):
    for shipper in shippers:
        shipper.finish()


def first_line(stage):
    some = [Chunk(0, 1)]
    shippers = stage.shippers()
    with stage.sending(some, shippers):
        pass
    finish(shippers)
    return some


def resume(stage):
    """The sender ends in order; another one, that knows only what was given for sent, goes on. The last chunk it sends again."""
    some = chunks(8)
    shippers = stage.shippers()
    with stage.sending(some[:4], shippers):
        pass
    finish(shippers)
    for door in DOORS:
        stage.sender(door, some).send_all(some[3:])
    for shipper in shippers:
        if shipper.is_command:  # the next command prints what comes next
            shipper.file.write_bytes(b"")
        shipper.over.unlink()
        shipper.start("--resume")
        shipper.write(some[4:])
    finish(shippers)
    return some


def kill_of_the_client(stage):
    some = chunks(8)
    shippers = stage.shippers()
    for shipper in shippers:
        shipper.start()
        shipper.write(some[:4])
        wait_until(lambda job=shipper.job: stored_numbers(stage.server, job), what="the first lines of sm-ship")
        shipper.write(some[4:5])
        shipper.kill()
        shipper.write(some[5:])
        shipper.go_on()
    for door in DOORS:
        first = stage.sender(door, some)
        first.send_all(some[:4])
        first.cut_off(some[4])
        stage.sender(door, some).send_all(some[3:])  # it does not know whether the last one had arrived
    wait_until(lambda: len(stored_numbers(stage.server, shippers[0].job)) == 8 * 25, what="all lines of the file")
    finish(shippers[:1])
    return some


def kill_of_the_server(stage):
    some = chunks(COUNT)
    shippers = stage.shippers()
    chance = random.Random(7)
    with stage.sending(some, shippers) as senders:
        for kill in range(1, 4):
            wait_until(lambda kill=kill: sum(sender.acknowledged for sender in senders) >= kill * len(DOORS) * COUNT // 5, what="some chunks")
            pause.wait(chance.random() * 0.05)
            stage.server.kill()
            stage.server.start(f"127.0.0.1:{stage.server.port}")
    assert sum(sender.retries for sender in senders) > 0, "no request met a dead server"
    finish(shippers)
    return some


def server_down(stage):
    some = chunks(COUNT)
    shippers = stage.shippers()
    with stage.sending(some, shippers) as senders:
        wait_until(lambda: all(sender.acknowledged for sender in senders), what="a chunk of each door")
        stage.server.kill()
        pause.wait(OUTAGE_S)
        wait_until(lambda: all(sender.retries > 2 or sender.acknowledged == COUNT for sender in senders), what="retries of all")
        assert sum(sender.retries > 2 for sender in senders) > len(DOORS) // 2, "the outage came too late to be noticed"
        wait_until(lambda: all("lines are kept" in shipper.said for shipper in shippers), what="sm-ship to notice")
        stage.server.start(f"127.0.0.1:{stage.server.port}")
    finish(shippers)
    return some


def late_chunks(stage):
    """Each second chunk comes before the one whose times are before it."""
    some = chunks(8)
    some = [chunk for pair in zip(some[1::2], some[::2]) for chunk in pair]
    shippers = stage.shippers()
    with stage.sending(some, shippers):
        pass
    finish(shippers)
    return some


CASES = {"first line": first_line, "resume": resume, "kill of the client": kill_of_the_client, "kill -9 of the server": kill_of_the_server,
    "server down": server_down, "late chunks": late_chunks, "doubled chunks": None}


@pytest.mark.parametrize("case", [case for case in CASES if CASES[case]])
def test_what_is_sent_is_stored_once(server, ship, case):
    stage = Stage(server, ship)
    stage.check(case, CASES[case](stage))


def test_doubled_chunks_are_stored_once(server, ship):
    doubling = Doubling(server.port)
    try:
        stage = Stage(server, ship, doubling.port)
        some = chunks(8)
        shippers = stage.shippers()
        with stage.sending(some, shippers):
            pass
        finish(shippers)
        stage.check("doubled chunks", some)
    finally:
        doubling.close()
    # all doors but the four that count bytes or lines (and sm-ship, which sends there) knew the body again; Trackio's each entry of it
    known = (len(DOORS) - 5) * 8 + sum(len(chunk.numbers) for chunk in some)
    assert server.get("/api/v1/info").body["ingest"]["duplicate_chunks"] == known
