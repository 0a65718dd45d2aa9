"""A program to which its machine failed, in a log of many machines: the fault is of the machine that the line names, and not of the one that sends it."""

import json
import time

from smserver import wait_until
from test_faults_told_elsewhere import post_loki, post_otlp
from test_hosts import drained, ship
from test_known_fault import fail, failed, send

ECC = "RuntimeError: CUDA error: uncorrectable ECC error encountered"


def post(server, job, body, kind, host=None):
    of_host = f"&host={host}" if host else ""
    assert server.post(f"/api/v1/logs?job={job}&stream=all{of_host}", body.encode(), content_type=kind).status == 200


def test_a_programs_own_failure_is_of_the_machine_that_its_line_names(server):
    forms = {}  # job: machine
    for n in range(12):
        ship(server, "work", f"np-{n}", ["step: 1 loss: 2.0"], stream=f"algo-{n}")
    now = int(time.time())
    iso, bsd = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now)), time.strftime("%b %d %H:%M:%S", time.gmtime(now))
    lines = [f"<27>1 {iso} np-0 train 4003 - - {ECC}", f"{bsd} np-1 train[44]: {ECC}", json.dumps({"host": "np-2", "message": ECC}),
        f"{bsd} new-1 train[44]: {ECC}", f"{iso} np-11 train: {ECC}"]
    for n, line in enumerate(lines):
        send(server, f"line{n}", "all", (now * 1000, line), host=f"central-{n}")
        forms[f"line{n}"] = {3: "new-1", 4: None}.get(n, f"np-{n}")
    post(server, "nd", json.dumps({"host": "np-3", "message": ECC}) + "\n", "application/x-ndjson", host="central")
    post(server, "array", json.dumps([{"host": "np-4", "message": ECC}, {"host": "np-5", "message": "ok"}]), "application/json", host="central")
    traceback = f"Traceback (most recent call last):\n  File \"t.py\", line 3\n{ECC}"
    post(server, "trace", json.dumps({"host": "np-6", "message": traceback}) + "\n", "application/x-ndjson", host="central")
    post_loki(server, {"job": "loki", "host": "central"}, ECC, {"hostname": "np-7"})
    post_otlp(server, {"training.job": "otlp", "host.name": "central"}, ECC, {"host.name": "np-8"})
    post(server, "inner", json.dumps({"host": "central", "message": f"{bsd} np-9 train[44]: {ECC}"}) + "\n", "application/x-ndjson", host="central")
    post(server, "pod", json.dumps({"host": "train-0", "message": ECC}) + "\n", "application/x-ndjson", host="central")
    forms |= {"nd": "np-3", "array": "np-4", "trace": "np-6", "loki": "np-7", "otlp": "np-8", "inner": "np-9", "pod": "central"}

    def told():
        rows = [row for row in server.get("/api/v1/incidents?limit=1000").body["incidents"] if "told_by" not in row["evidence"]]
        return {row["job"]: row["evidence"].get("host") for row in rows}

    wait_until(lambda: told().keys() == forms.keys(), what=f"an incident of each: {forms.keys() - told().keys()}")
    assert told() == forms
    assert sorted(drained(server)) == sorted(host for host in set(forms.values()) if host)
    texts = [line["text"] for line in server.get("/api/v1/jobs/trace/logs?from=0&limit=9").body["lines"]]
    assert texts[:2] == traceback.split("\n")[:2] and texts[2].startswith("{"), texts  # the line that accuses alone says whose it is


def test_the_job_whose_machine_it_is_fails_for_it(server):
    now = int(time.time() * 1000)
    for n in (1, 2, 3):
        send(server, "work", f"algo-{n}", *[(now - 600_000 + k * 10_000, f"step {k + 1} loss: {3 - k / 100:.3f}") for k in range(40)], host=f"vz-{n}")
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime((now - 205_000) / 1000))
    text = "".join(f"<30>1 {stamp} vz-{k % 6 + 1} train {4000 + k} - - step {k} ok\n" for k in range(40))
    assert server.post("/api/v1/logs?job=central&stream=all&host=vz-central", text + f"<27>1 {stamp} vz-3 train 4003 - - {ECC}\n").status == 200
    wait_until(lambda: drained(server) == ["vz-3"], what="the machine")
    fail(server, "work", time_ms=now - 180_000)
    assert failed(server, "work")[0]["FailureReason"].startswith("uncorrectable ECC error on vz-3")
    assert [row["host"] for row in server.get("/api/v1/jobs/work/restart").body["drained"]] == ["vz-3"]
