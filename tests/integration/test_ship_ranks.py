"""Who ends a job of several sm-ship: its rank 0, by whatever names the ranks; where nothing does, the last of them."""

import json
import time

import pytest

from shipping import lines
from smserver import wait_until


class Runs:
    """Processes of one job that each end when they are told to."""

    def __init__(self, server, ship, job, *options):
        self.server, self.ship, self.job, self.options, self.running = server, ship, job, options, {}

    def start(self, *streams):
        for number, stream in enumerate(streams):
            wait = f"echo ready; while [ ! -e {self.ship.folder}/{stream}.code ]; do sleep 0.05; done; exit $(cat {self.ship.folder}/{stream}.code)"
            self.running[stream] = self.ship.start("--job", self.job, "--stream", stream, "--host", f"n{number}", *self.options, "--", "sh", "-c", wait)
        for stream in streams:
            wait_until(lambda stream=stream: lines(self.server, self.job, stream) == ["ready"], what=f"the line of {stream}")

    def end(self, stream, code=0):
        """Also everything that it has to say of it."""
        code_file = self.ship.folder / f"{stream}.code"
        code_file.with_suffix(".new").write_text(str(code))
        code_file.with_suffix(".new").rename(code_file)
        process = self.running.pop(stream)
        errors = process.communicate(timeout=60)[1]
        assert process.returncode == code, errors

    def status(self):
        return self.document()["TrainingJobStatus"]

    def document(self):
        return self.server.get(f"/api/v1/jobs/{self.job}").body

    def close(self):
        for stream in list(self.running):
            self.end(stream)


@pytest.fixture
def runs(server, ship):
    started = []

    def make(job, *options):
        started.append(Runs(server, ship, job, *options))
        return started[-1]

    yield make
    for one in started:
        one.close()


@pytest.mark.parametrize("options", [(), ("--instance-count", "2")], ids=["alone", "counted"])
def test_the_second_container_completes_nothing(runs, options):
    two = runs("two", *options)
    two.start("algo-1", "algo-2")
    two.end("algo-2")
    assert two.status() == "InProgress"
    two.end("algo-1")
    assert two.status() == "Completed"


def test_the_second_rank_of_a_container_completes_nothing(runs):
    two = runs("two")
    two.start("algo-1-r0", "algo-1-r1")
    two.end("algo-1-r1")
    assert two.status() == "InProgress"
    two.end("algo-1-r0")
    assert two.status() == "Completed"


def test_of_streams_that_bear_no_rank_the_last_one_completes_the_job(runs):
    hosts = runs("hosts")
    hosts.start("gpu-a", "gpu-b", "gpu-c")
    for stream in ("gpu-b", "gpu-a"):
        hosts.end(stream)
        assert hosts.status() == "InProgress", stream
    hosts.end("gpu-c")
    assert hosts.status() == "Completed"


def test_one_that_bears_no_rank_completes_its_job_alone(runs):
    main = runs("main")
    main.start("main")
    main.end("main")
    assert main.status() == "Completed"


@pytest.mark.parametrize("streams, options, reason", [
    (("algo-1", "algo-2"), ("--instance-count", "2"), "algo-2 on n1 (rank 1): exit code 3"),
    (("algo-1", "algo-2"), (), "algo-2 on n1 (rank 1): exit code 3"),
    (("algo-1-r0", "algo-2-r3"), (), "algo-2-r3 on n1: exit code 3"),
    (("gpu-a", "gpu-b"), ("--instance-count", "2"), "gpu-b on n1: exit code 3"),
], ids=["counted", "of their names", "of the second machine", "without ranks"])
def test_a_failure_names_the_rank_that_is_known(runs, streams, options, reason):
    two = runs("two", *options)
    two.start(*streams)
    two.end(streams[1], code=3)
    assert (two.status(), two.document()["FailureReason"]) == ("Failed", reason)
    two.end(streams[0])
    assert (two.status(), two.document()["FailureReason"]) == ("Failed", reason)


@pytest.mark.parametrize("options", [(), ("--instance-count", "2")], ids=["alone", "counted"])
@pytest.mark.parametrize("other", [1, 0])
def test_the_fault_is_named_where_rank_0_fails_first(runs, server, receiver, options, other):
    """In all that is told of the end: it is sm-ship that states how the process ended, and it states no more than that."""
    assert server.post("/api/v1/webhooks", json={"url": receiver.url, "events": ["job_state"]}).status == 201
    two = runs("two", *options)
    two.start("algo-1", "algo-2")
    fault = {"line": "kernel: NVRM: Xid (PCI:0000:53:00): 79, pid=42, GPU has fallen off the bus.", "ts": int(time.time() * 1000)}
    reply = server.post("/api/v1/logs?job=two&stream=system/n1", json.dumps(fault).encode() + b"\n", content_type="application/x-ndjson")
    assert reply.status == 200
    wait_until(lambda: server.get("/api/v1/incidents?kind=node_suspect").body["incidents"], what="the fault")
    two.end("algo-1", code=1)
    place = "algo-1 on n0 (rank 0): " if options else ""
    reason = f"{place}exit code 1; Xid 79: GPU has fallen off the bus on n1: {fault['line']}"

    def told():
        document = two.document()
        return document["TrainingJobStatus"], document["FailureReason"], document["FailureClass"]

    assert told() == ("Failed", reason, "InternalServerError")
    receiver.wait_for(2)
    bodies = [json.loads(body)["detail"] for _, body, _ in receiver.calls]
    assert [body["FailureReason"] for body in bodies if body["TrainingJobStatus"] == "Failed"] == [reason]
    two.end("algo-2", code=other)
    assert told() == ("Failed", reason, "InternalServerError")
    server.kill()
    server.start()
    assert told() == ("Failed", reason, "InternalServerError")
