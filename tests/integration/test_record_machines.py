"""Machines that the records of a body name: of streams whose sender names none, of Loki's labels and metadata, and the times beside them."""

import json
import time

import pytest

from smserver import wait_until
from test_hosts import drained, incidents, ship, stream_of
from test_loki import push, push_json

XID = "NVRM: Xid (PCI:0000:02:00): 79, GPU has fallen off the bus."
ECC = "RuntimeError: CUDA error: uncorrectable ECC error encountered"


def post(server, job, *records, query="", array=False):
    body, kind = (json.dumps(records), "application/json") if array else ("".join(json.dumps(one) + "\n" for one in records), "application/x-ndjson")
    reply = server.post(f"/api/v1/logs?job={job}{query}", body.encode(), content_type=kind)
    assert reply.status == 200, reply
    return reply.body


def suspects(server, job):
    return sorted(row["evidence"]["host"] for row in incidents(server, job, "node_suspect"))


@pytest.mark.parametrize("array", [False, True], ids=["ndjson", "json"])
def test_a_stream_is_of_the_machine_that_each_record_names(server, array):
    named = {"a": {"host": "rm-1"}, "b": {"_HOSTNAME": "rm-2", "host": "loghost"}, "c": {"host": {"name": "rm-3", "os": {"name": "x"}}},
             "d": {"kubernetes": {"pod_name": "p", "host": "rm-4"}}, "e": {"HOST": "rm-5"}, "f": {"hostname": "r\u006d-6.hpc"}}
    for job, more in named.items():
        post(server, job, {"message": "step: 1 loss: 2.0"} | more, {"message": "step: 2 loss: 1.9"} | more, array=array)
        post(server, job, {"message": ECC} | more, array=array)
    hosts = ["rm-1", "rm-2", "rm-3", "rm-4", "rm-5", "rm-6.hpc"]
    wait_until(lambda: sorted(drained(server)) == hosts, what="each machine")
    assert [stream_of(server, job)["host"] for job in named] == hosts
    assert [row["host"] for row in server.get("/api/v1/nodes").body["nodes"]] == hosts
    # another one took over
    post(server, "a", {"message": "step: 3 loss: 1.8", "host": "rm-7"}, array=array)
    assert stream_of(server, "a")["host"] == "rm-7"


def test_what_records_do_not_say_of_all_is_no_machine(server):
    post(server, "some", {"message": "step: 1 loss: 2.0"}, {"message": "connecting", "host": "db-1"})
    post(server, "late", {"message": "step: 1 loss: 2.0"})
    post(server, "late", {"message": "connecting", "host": "db-1"})
    post(server, "two", {"message": "step: 1 loss: 2.0", "host": "rm-1", "kubernetes": {"host": "rm-2"}})
    post(server, "local", {"message": "step: 1 loss: 2.0", "host": "localhost"})
    post(server, "no-name", {"message": "step: 1 loss: 2.0", "host": "http://db-1/"})
    post(server, "told", {"message": "step: 1 loss: 2.0", "host": "rm-3"}, query="&host=sender")
    post(server, "own", {"message": "x", "host": "rm-4", "stream": "system/rm-5"})
    for job in ("some", "late", "two", "local", "no-name"):
        assert stream_of(server, job)["host"] == "", job
    assert stream_of(server, "told")["host"] == "sender"
    assert {row["host"] for row in server.get("/api/v1/nodes").body["nodes"]} <= {"sender", "rm-5"}


def test_four_machines_in_one_stream_are_charged_by_their_records(server):
    rows = [{"log": f"step: {n} loss: 2.0", "host": f"rm-{n % 4}"} for n in range(12)]
    post(server, "a", *rows)
    post(server, "a", {"log": XID, "host": "RM-2"}, *rows)
    wait_until(lambda: drained(server) == ["rm-2"], what="the one that it is")
    assert suspects(server, "a") == ["rm-2"] and stream_of(server, "a")["shared"]
    post(server, "a", {"log": ECC, "host": "rm-3"})  # a program's words in a stream that several send
    wait_until(lambda: sorted(drained(server)) == ["rm-2", "rm-3"], what="the one that this is")
    post(server, "a", {"log": ECC})  # who says of itself nothing may be any of them
    server.wait_for_extraction()
    assert sorted(drained(server)) == ["rm-2", "rm-3"] and [row["lines"] for row in server.get("/api/v1/nodes/rm-3").body["faults"]] == [1]


def test_ts_ms_is_a_time(server):
    then = int(time.time() * 1000) - 86_400_000
    body = post(server, "a", {"line": "step: 1 loss: 2.0", "ts_ms": then}, {"line": "step: 2 loss: 2.0", "ts_ms": str(then + 1)}, {"line": "x", "ts": then + 2, "ts_ms": 5})
    assert [line["ts_ms"] for line in server.lines("a", "algo-1")] == [then, then + 1, then + 2] and body["warnings"] == []
    assert "no time" in post(server, "b", {"line": "x", "ts_ms": 5})["warnings"][0]


@pytest.mark.parametrize("send", [push, push_json], ids=["protobuf", "json"])
@pytest.mark.parametrize("label", ["host", "hostname", "node_name", "node", "instance"])
def test_loki_names_the_machine_of_a_line(server, send, label):
    now = time.time_ns()
    for name in ("lk-1", "lk-2"):
        ship(server, "other", name, ["step: 1 loss: 2.0"], stream=name)
    # by a label, of streams that have one name; by what stands beside the line
    assert send(server, ({"job": "a", "stream": "kernel", label: "lk-1"}, [(now, "usb 1-1: new")]), ({"job": "a", "stream": "kernel", label: "LK-2"}, [(now + 1, XID)])).status == 204
    assert send(server, ({"job": "b", "stream": "kernel"}, [(now, XID, {"detected_level": "error", label: "lk-2"})])).status == 204
    assert send(server, ({"job": "c", label: "loghost"}, [(now, XID, {label: "lk-2"})])).status == 204
    wait_until(lambda: all(suspects(server, job) == ["lk-2"] for job in "abc"), what="the machine")
    assert drained(server) == ["lk-2"] and stream_of(server, "b", "kernel")["host"] == "lk-2"
    (line,) = server.lines("b", "kernel")
    assert json.loads(line["text"]) == {"message": f"{XID} detected_level=error {label}=lk-2", "host": "lk-2"}


def test_a_record_that_names_its_machine_stays_as_it_is_beside_another(server):
    record = json.dumps({"host": "lk-1", "message": XID})
    ship(server, "other", "lk-1", ["step: 1 loss: 2.0"])
    assert push(server, ({"job": "a", "stream": "kernel", "host": "loghost"}, [(time.time_ns(), record)])).status == 204
    wait_until(lambda: suspects(server, "a") == ["lk-1"], what="the machine")
    assert [line["text"] for line in server.lines("a", "kernel")] == [record]


@pytest.mark.parametrize("send", [push, push_json], ids=["protobuf", "json"])
def test_what_stands_beside_a_line_is_kept_within_the_limits_of_a_body(make_server, send):
    server = make_server("--max-push-bytes", "12000")
    labels = {"job": "a", "stream": "kernel", "host": "rm-" + "1" * 200}
    # a text of more lines than that is none that a kernel wrote
    for more in (127, 128):
        assert send(server, (labels | {"job": f"more-{more}"}, [(time.time_ns(), XID + "\nx" * more)])).status == 204
    kept = [[line["text"] for line in server.lines(job, "kernel")] for job in ("more-127", "more-128")]
    assert {json.loads(line)["host"] for line in kept[0]} == {labels["host"]} and kept[1] == [XID] + ["x"] * 128
    # and many texts make no body a multiple of what it was
    text = XID + "\nx" * 100
    assert send(server, (labels, [(time.time_ns() + n, text) for n in range(15)])).status == 204
    lines = [line["text"] for line in server.lines("a", "kernel")]
    assert len(lines) == 15 * 101 and json.loads(lines[0])["host"] == labels["host"] and lines[-1] == "x"
    assert sum(map(len, lines)) < 3 * 12000  # the limit, the text that passes it, and the others as they came; all of them were 30
