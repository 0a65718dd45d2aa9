"""A step of a conversation that moves all its jobs to another server, and from there to a third: what is there is the same, byte for byte."""

import contextlib
import copy
import json
import pathlib
import shutil
import tempfile

from smserver import Server, quote, wait_until
from talking import READERS, verb
from talking_definitions import is_running

TYPE = "application/x-ndjson"


@contextlib.contextmanager
def another_server():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="copy"))
    server = Server(folder)
    try:
        yield server.start()
    finally:
        server.close()
        shutil.rmtree(folder)


def export(talk, who):
    query = f'name:"{talk.prefix}-*"'
    return talk.expect(200, who, "GET", f"/api/v1/export?q={quote(query)}").raw


def settled_export(talk, who):
    """What lines imply is written a moment after them."""
    seen = []
    wait_until(lambda: seen.append(export(talk, who)) or (len(seen) > 1 and seen[-1] == seen[-2]), timeout=talk.patience_s, what="an export that stays")
    return seen[-1]


def is_same(one, other, what):
    """Both as lists of records; the first that differ, with the members that do."""
    rows, others = ([json.loads(line) for line in data.splitlines()] for data in (one, other))
    for row, twin in zip(rows, others):
        differing = [key for key in {**row, **twin} if row.get(key) != twin.get(key)]
        assert not differing, f"{what}: {row['record']} {row.get('name', '')} differs in " + "; ".join(f"{key}: {row.get(key)} and {twin.get(key)}" for key in differing)
    assert one == other, f"{what}: {len(rows)} and {len(others)} records"


def take(server, data):
    reply = server.post("/api/v1/import", data, content_type=TYPE)
    assert reply.status == 200, reply
    return reply.body


def seen_on(talk, server):
    """The conversation as whoever looks at the copy sees it."""
    twin = copy.copy(talk)
    twin.server, twin.secrets, twin.is_copy = server, {}, True
    return twin


@verb(1, lambda chance: {"who": chance.choice(READERS), "is_killed": chance.random() < 0.5})
def move_all(talk, who, is_killed):
    refusal = talk.model.refuse(who, "read")
    if refusal:
        talk.expect(refusal, who, "GET", "/api/v1/export")
        return
    for job in talk.model.jobs.values():
        if job.definitions is not None:
            wait_until(lambda: not is_running(talk, talk.short(job)), timeout=talk.patience_s, what="the back-fill before the export")  # noqa: B023
    mine = [record["name"] for record in map(json.loads, export(talk, who).splitlines()) if record["record"] == "job"]
    wanted = sorted(job.name for job in talk.model.readable(who))
    assert sorted(mine) == wanted, f"{who} should export {wanted}: {mine}"
    talk.compare_jobs("root")  # all that is to be read has been
    first = settled_export(talk, "root")
    with another_server() as second, another_server() as third:
        told = take(second, first)
        assert told["imported"] == len(talk.model.jobs), told
        if is_killed and not any(job.began for job in talk.model.jobs.values()):  # figures of those may be on their way
            second.kill()
            second.start()
        twin = seen_on(talk, second)
        is_same(first, export(twin, "root"), "the copy's export")
        twin.compare_jobs("root")
        again = take(second, first)
        assert again["imported"] == 0 and sorted(again["exist_already"]) == sorted(talk.model.jobs), again
        is_same(first, settled_export(twin, "root"), "the copy's export, later")
        take(third, export(twin, "root"))
        is_same(first, export(seen_on(talk, third), "root"), "the copy's copy's export")
