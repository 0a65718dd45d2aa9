"""Whose a fault is when the line itself says it: central syslogs, pdsh's prefixes, Slurm's lists of machines; and who only reports one."""

import collections
import json
import time

from smserver import wait_until
from test_by_hand_hosts import faults, set_hosts, wait_for_faults
from test_carry import export, take
from test_hosts import drained, incidents, ship, suspects
from test_known_fault import send

XID = "NVRM: Xid (PCI:0000:02:00): 79, GPU has fallen off the bus."
ECC = "RuntimeError: CUDA error: uncorrectable ECC error encountered"
ROW = "|                           | Fail - GPU: 0                                  |"
NIC = "mlx5_core 0000:41:00.0: poll_health:852:(pid 0): device's health compromised - reached miss count"
UE = "EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0 page:0x1 offset:0x0 grain:32 syndrome:0x0)"
FAILED_ROW = "| Page Retirement/Row Remap | Fail                                           |"

# Of a stream of one host each: a line, and who is charged with it; None: nobody.
SAID = [
    ("loghost", f"Nov 30 01:10:00 ob-2 kernel: {XID}", "ob-2"),
    ("loghost", f"2026-11-30T01:10:00.000001+00:00 loghost kernel: {XID}", "loghost"),
    ("al-1.cluster.local", f"Nov 30 01:10:00 al-1 kernel: {XID}", "al-1.cluster.local"),
    ("loghost", f"Nov 30 01:10:00 known-1 kernel: {XID}", "known-1.cluster.local"),
    ("i-0123456789abcdef0", f"Nov 30 01:10:00 ip-10-0-0-5 kernel: {XID}", "i-0123456789abcdef0"),
    ("lo-1", f"Nov 30 01:10:00 localhost kernel: {XID}", "lo-1"),
    ("admin-1", f"pd-02: {ROW}", "pd-02"),
    ("admin-1", f"pd-03: {FAILED_ROW}", "pd-03"),
    ("admin-1", f"known-2: {ECC}", "known-2"),
    ("admin-1", f"pd-04: {XID}", None),
    ("admin-1", f"[pod/train-0/pytorch] {ECC}", None),
    ("admin-1", f"[pod/known-2/pytorch] {ECC}", "known-2"),
    ("loghost", json.dumps({"host": "re-1", "message": XID}), None),
    ("loghost", json.dumps({"host": "known-2", "message": f"kernel: {XID}"}), "known-2"),
    ("loghost", f"Nov 30 01:10:00 KNOWN-2 kernel: {XID}", "known-2"),
    ("loghost", f"Nov 30 01:10:00 big-3 kernel: {XID}", "BIG-3.HPC"),
    ("re-2", json.dumps({"hostname": "re-2.cluster.local", "msg": XID}), "re-2"),
    ("tr-1", f"worker-0: {ECC}", "tr-1"),
    ("tr-2", f"llama-7b: {ECC}", "tr-2"),
    ("tr-3", f" 3: {ECC}", "tr-3"),
    ("tr-4", f"[rank3]: {ECC}", "tr-4"),
    ("tr-5", f"0: {ROW}", "tr-5"),
    # collectors' records: what stands nearest to the kernel's line says whose it is
    ("loghost", json.dumps({"log": f"<4>[  123.456789] {XID}", "host": "known-2"}), "known-2"),
    ("loghost", json.dumps({"log": f"<4>[  123.456789] {XID}\n", "host": "known-2"}).replace("<", "\\u003c").replace(">", "\\u003e"), "known-2"),
    ("loghost", json.dumps({"message": f"Nov 30 01:10:00 known-1 kernel: {XID}", "host": "known-2"}), "known-1.cluster.local"),
    ("loghost", json.dumps({"message": f"Nov 30 01:10:00 known-2 kernel: [  123.456789] {XID}"}), "known-2"),
    ("loghost", json.dumps({"message": f"Nov 30 01:10:00 re-1 kernel: {XID}", "host": "known-2"}), None),
    ("loghost", json.dumps({"log": json.dumps({"message": XID, "host": "known-2"}), "host": "known-1"}), "known-2"),
    ("loghost", json.dumps({"a": json.dumps({"log": json.dumps({"MESSAGE": XID, "_HOSTNAME": "known-2"})}), "host": "known-1"}), "known-2"),
    ("loghost", json.dumps({"log": XID, "kubernetes": {"pod_name": "train-0", "host": "known-2"}}), "known-2"),
    ("loghost", json.dumps({"message": XID, "kubernetes": {"pod_node_name": "known-2"}, "host": "known-1"}), None),
    ("loghost", json.dumps({"MESSAGE": NIC, "_HOSTNAME": "known-2"}), "known-2"),
    ("tr-6", json.dumps({"config": {"hostname": "known-2"}, "message": XID}), "tr-6"),
    # a kernel's line beside the fault's, and an object around it that names another machine than the record
    ("tr-8", json.dumps({"host": "tr-8", "last_kernel_line": "Nov 30 01:10:00 known-2 kernel: eth0 link down", "error": ECC}), "tr-8"),
    ("loghost", json.dumps({"old": "Nov 30 01:10:00 known-1 kernel: usb 1-1: new", "message": XID, "host": "known-2"}), "known-2"),
    ("tr-9", json.dumps({"host": "tr-9", "faults": [{"host": "known-2", "line": XID}]}), None),
    # what may stand in front of a kernel's line
    ("loghost", json.dumps({"message": f"  {XID}", "host": "known-2"}), "known-2"),
    ("loghost", json.dumps({"message": f"kern  :err   : [Mon Nov 30 01:10:00 2026] {XID}", "host": "known-2"}), "known-2"),
    ("loghost", json.dumps({"message": f"[  123.1] NVRM: loading\n\x1b[33m[  123.4] {XID}", "host": "known-2"}), "known-2"),
    # a header behind a prefix; of two nobody knows which
    ("loghost", f"2026-11-30T01:10:00.5Z stdout F Nov 30 01:10:00 ob-5 kernel: [   12.5] {XID}", "ob-5"),
    ("loghost", f"2026-11-30T01:10:00.5Z stdout F Nov 30 01:10:00 known-1 kernel: Nov 30 01:10:00 known-2 kernel: {XID}", None),
    # of the kernel for certain: what it says in words of its own counts, too
    ("loghost", f"Nov 30 01:10:00 ob-3 kernel: [  123.456] {UE}", "ob-3"),
    ("loghost", f"<2>1 2026-11-30T01:10:00.1+00:00 ob-4 kernel - - - {UE}", "ob-4"),
    ("loghost", json.dumps({"MESSAGE": UE, "PRIORITY": "2", "SYSLOG_IDENTIFIER": "kernel", "_HOSTNAME": "known-2", "_TRANSPORT": "kernel"}), "known-2"),
    ("loghost", f"123 <2>1 2026-11-30T01:10:00.1Z ob-6 kernel - - - {UE}", "ob-6"),
    ("loghost", f"Nov 30 2026 01:10:00 ob-7 kernel: {UE}", "ob-7"),
    ("loghost", f"Nov 30 01:10:00 ob-8/10.0.0.8 kernel: {UE}", "ob-8"),
    # another machine than the sender, in whatever form it is named; nobody, where it is not known
    ("tr-11", f"(RayTrainWorker pid=2244, ip=10.1.2.3) {ECC}", "10.1.2.3"),
    ("tr-12", f"(RayTrainWorker pid=2244, ip=10.1.2.4) {ECC}", None),
    ("tr-13", f"(RayTrainWorker pid=2244) {ECC}", "tr-13"),
    ("admin-1", f'changed: [known-2] => {{"cmd": "dmesg", "stdout": "{XID}"}}', "known-2"),
    ("admin-1", f'ok: [re-9] => {{"cmd": "dmesg", "stdout": "{XID}"}}', None),
    ("admin-1", f"2026-11-30 01:10:00,123 WARNING watch: known-2 kernel: {XID}", "known-2"),
    ("admin-1", f'msg="{XID}" host=known-2', "known-2"),
    ("admin-1", f"[known-2] out: {XID}", "known-2"),
    ("admin-1", f"2026-11-30 01:10:00,123 ERROR [known-2] {ECC}", "known-2"),
    ("admin-1", f"known-2 kernel: {XID}", "known-2"),
    ("tr-14", json.dumps({"hostname": "tr-14", "remote_host": "known-2", "message": XID}), None),
    ("tr-15", f"[llama-7b] {XID}", "tr-15"),
    ("admin-1", f"[known-1.cluster.local] {XID}", "known-1.cluster.local"),
    ("admin-1", f"[known-2.cluster.local] {XID}", "known-2"),
    ("admin-1", f"[fu-1.cluster.local] {XID}", None),
    ("admin-1", f"[fu-1.cluster.local]: {XID}", None),
    ("admin-1", f"2026-11-30 01:10:00,123 ERROR [fu-1.cluster.local] {XID}", None),
    ("fu-2", f"[fu-2.cluster.local] {XID}", "fu-2"),
    ("tr-16", f"[llama-3.1-8b] {XID}", "tr-16"),
    ("tr-17", f"[rank7] {XID}", "tr-17"),
    # of which process or device of its machine a line is
    ("tr-18", f"[local_rank=3] {XID}", "tr-18"),
    ("tr-19", f"[GPU 0] {XID}", "tr-19"),
    ("tr-20", f"2026-11-30 01:10:00,123 ERROR [local_rank=3] {ECC}", "tr-20"),
    # two machines are called so
    ("loghost", f"Nov 30 01:10:00 ly21 kernel: {XID}", None),
    ("loghost", f"Nov 30 01:10:00 ly21.a kernel: {XID}", "ly21.a"),
]

# As Vector, Fluent Bit and Logstash post what the kernel said: the machine of the request, the record, and who is charged.
JOURNAL = {"PRIORITY": "4", "SYSLOG_IDENTIFIER": "kernel", "_HOSTNAME": "known-2", "_TRANSPORT": "kernel", "host": "known-2", "source_type": "journald"}
POSTED = [
    ("loghost", JOURNAL | {"message": XID}, "known-2"),
    (None, JOURNAL | {"message": XID}, "known-2"),
    ("loghost", {"date": 1796000000.5, "log": f"<4>[  123.456789] {XID}\n", "hostname": "known-2"}, "known-2"),
    ("loghost", {"@timestamp": "2026-11-30T01:10:00.000Z", "host": {"name": "known-1"}, "message": f"kernel: {XID}"}, "known-1.cluster.local"),
    ("loghost", {"log": XID, "kubernetes": {"pod_name": "train-0", "host": "known-2"}}, "known-2"),
    ("loghost", {"log": XID, "kubernetes": {"host": "known-2"}, "host": "known-1"}, None),
    ("loghost", {"host": "re-1", "message": XID}, None),
    ("loghost", {"host": "known-2", "message": f"  {XID}"}, "known-2"),
    ("loghost", {"host": "known-2", "message": f"kern  :warn  : [  123.456789] {XID}"}, "known-2"),
    ("loghost", {"host": "known-2", "message": f"kern  :err   : [Mon Nov 30 01:10:00 2026] {XID}"}, "known-2"),
    ("loghost", {"host": "known-2", "message": f"\x1b[33m{XID}\x1b[0m"}, "known-2"),
    ("loghost", {"host": "known-2", "message": f"[  123.1] nvidia 0000:53:00.0: AER\n[  123.4] {XID}\n"}, "known-2"),
    ("loghost", {"host": "loghost", "message": f"Nov 30 01:10:00 known-2 kernel: {XID}"}, "known-2"),
    ("tr-7", {"host": "known-2", "message": ECC}, "known-2"),
    ("loghost", {"message": XID, "old": "Nov 30 01:10:00 known-1 kernel: usb 1-1: new", "host": "known-2"}, "known-2"),
    ("tr-10", {"host": "tr-10", "faults": [{"host": "known-2", "line": XID}]}, None),
    ("loghost", JOURNAL | {"message": UE}, "known-2"),
    ("loghost", {"MESSAGE": UE, "SYSLOG_IDENTIFIER": "kernel", "_HOSTNAME": "known-2"}, "known-2"),
    ("loghost", {name.lower(): value for name, value in JOURNAL.items() if name != "host"} | {"date": 1796000000.5, "message": UE}, "known-2"),
    ("loghost", {"role": "user", "message": f"Nov 30 01:10:00 known-2 kernel: {XID}"}, "none"),
    ("loghost", {"role": "user", "text": f"Nov 30 01:10:00 known-2 kernel: {XID}"}, "none"),
    ("loghost", {"channel": "#gpu", "user": "U1", "text": f"Nov 30 01:10:00 known-2 kernel: {XID}"}, "none"),
    ("loghost", {"text": f"Nov 30 01:10:00 known-2 kernel: {XID}"}, "none"),
    ("loghost", {"appname": "kernel", "facility": "kern", "hostname": "known-2", "message": UE, "source_type": "syslog"}, "known-2"),
]
OOM = "Out of memory: Killed process 4321 (python) total-vm:100kB, anon-rss:1kB, file-rss:0kB"
KILLED = [
    (f"Nov 30 01:10:00 known-2 kernel: {OOM}\n", "text/plain"),
    (json.dumps({"host": "known-2", "message": f"kern  :err   : [   99.1] {OOM}"}) + "\n", "text/plain"),
    (json.dumps({"host": "known-2", "message": OOM, "appname": "kernel"}) + "\n", "application/x-ndjson"),
    (f"known-2: {OOM}\n", "text/plain"),
    (f"[known-2] {OOM}\n", "text/plain"),
    (f'host=known-2 msg="{OOM}"\n', "text/plain"),
]
QUOTED = [
    UE,
    f"kernel: {UE}",
    f"2026-11-30 01:10:00,123 INFO kernel: {UE}",
    f"2026-11-30 01:10:00 known-2 python[12]: kernel: {UE}",
    f"our dmesg had: Nov 30 01:10:00 known-2 kernel: {UE}",
    f'found {{"SYSLOG_IDENTIFIER": "kernel", "_HOSTNAME": "known-2", "MESSAGE": "{UE}"}}',
    json.dumps({"host": "known-2", "message": f"kernel: {UE}"}),
    json.dumps({"host": "known-2", "program": "train.py", "message": f"kernel: {UE}"}),
    json.dumps({"host": "known-2", "message": "restarted", "last": f"Nov 30 01:10:00 known-2 kernel: {UE}"}),
    json.dumps({"message": "Nov 30 01:10:00 known-2 kernel: eth0: renamed", "note": UE}),
    f"step: 5 loss: 2.1 sample: {XID}",
    json.dumps({"step": 7, "loss": 2.0, "host": "known-2", "generated": f"dmesg: {XID}"}),
    json.dumps({"completion": XID, "host": "known-2"}),
    json.dumps({"prompt": OOM, "host": "known-2"}),
]


def of_now(text):
    """Lines that are a day old are of an old log, of which a second telling opens no incident."""
    for old, form in (("Mon Nov 30 01:10:00 2026", "%a %b %d %H:%M:%S %Y"), ("Nov 30 2026 01:10:00", "%b %d %Y %H:%M:%S"), ("Nov 30 01:10:00", "%b %d %H:%M:%S"),
            ("2026-11-30T01:10:00", "%Y-%m-%dT%H:%M:%S")):
        text = text.replace(old, time.strftime(form, time.gmtime()))
    return text


def test_the_machine_that_a_line_names_is_charged(server):
    ship(server, "other", "known-1.cluster.local", ["step: 1 loss: 2.0"])
    ship(server, "other", "known-2", ["step: 1 loss: 2.0"], stream="algo-2")
    for at, host in enumerate(("BIG-3.HPC", "10.1.2.3", "ly21.a", "ly21.b"), 3):
        ship(server, "other", host, ["step: 1 loss: 2.0"], stream=f"algo-{at}")
    now = int(time.time() * 1000)  # not the times in the lines, which are of some year
    said = [of_now(line) for _, line, _ in SAID]
    for at, (host, _, _) in enumerate(SAID):
        send(server, f"j{at:02}", "algo-1", (now, "step: 1 loss: 2.0"), (now, said[at]), host=host)
    send(server, "own", "system/sy-1", (now, of_now(f"Nov 30 01:10:00 ob-9 kernel: {XID}")), host="sy-1")
    for at, (host, record, _) in enumerate(POSTED):
        body, kind = (json.dumps([record]), "application/json") if at % 2 else (json.dumps(record) + "\n", "application/x-ndjson")
        of_host = f"&host={host}" if host else ""
        assert server.post(f"/api/v1/logs?job=p{at:02}&stream=kernel{of_host}", of_now(body).encode(), content_type=kind).status == 200

    def told():
        rows = [row for row in server.get("/api/v1/incidents?limit=1000").body["incidents"] if "told_by" not in row["evidence"]]
        return {row["job"]: (row["kind"], row["evidence"].get("host"), row["evidence"].get("shared")) for row in rows}

    of = {f"{name}{at:02}": host for name, rows in (("j", SAID), ("p", POSTED)) for at, (_, _, host) in enumerate(rows) if host != "none"}
    wanted = {job: ("node_suspect", host, None) if host else ("log_signature", None, True) for job, host in of.items()}
    wanted["own"] = ("node_suspect", "sy-1", None)
    # whom a kernel killed is no fault of its machine, which is told all the same
    for at, (line, kind) in enumerate(KILLED):
        assert server.post(f"/api/v1/logs?job=k{at}&stream=kernel&host=loghost", of_now(line).encode(), content_type=kind).status == 200
        wanted[f"k{at}"] = ("log_signature", "known-2", None)
    # journald's records of a member a line: the machine stands above the line, of a record without one it is the sender
    for job, host, lines in (("e0", "known-2", ("__CURSOR=s=1", "_HOSTNAME=known-2", f"MESSAGE={XID}")), ("e1", "known-2", ("    _HOSTNAME=known-2", f"    MESSAGE={XID}")),
            ("e2", "ex-2", ("_HOSTNAME=known-2", "MESSAGE=usb 1-1: new", "", f"MESSAGE={XID}"))):
        send(server, job, "algo-1", *((now, line) for line in lines), host="ex-2")
        wanted[job] = ("node_suspect", host, None)
    # a label of the stream says that the kernel wrote it
    labels = {"job": "lo", "stream": "kernel", "host": "known-2", "syslog_identifier": "kernel"}
    assert server.post("/loki/api/v1/push", json={"streams": [{"stream": labels, "values": [[str(now * 1000000), UE]]}]}).status in (200, 204)
    wanted["lo"] = ("node_suspect", "known-2", None)
    # what a program of the job writes of a kernel is no fault
    send(server, "said", "algo-1", (now, "step: 1 loss: 2.0"), *((now, line) for line in QUOTED), host="qu-1")
    wait_until(lambda: told().keys() == wanted.keys(), what="an incident of each")
    server.wait_for_extraction()
    assert told() == wanted
    assert sorted(drained(server)) == sorted({host for kind, host, _ in wanted.values() if host and kind == "node_suspect"})
    assert suspects(server, "other")  # it hears of its machines' faults
    for job, reason in (("j00", f"Xid 79: GPU has fallen off the bus on ob-2: {said[0]}"), ("j09", f"Xid 79: GPU has fallen off the bus in stream algo-1: {said[9]}")):
        server.post(f"/api/v1/jobs/{job}/transitions", json={"SecondaryStatus": "Failed", "time_ms": now + 1})
        wait_until(lambda: server.get(f"/api/v1/jobs/{job}").body.get("FailureReason") == reason, what=f"the reason of {job}")


def test_a_machine_that_a_line_named_first_is_one_with_its_sender(server):
    now = int(time.time() * 1000)
    said = ["jn-1.hpc.lab", "jn-2", "jn-3", "jn-3.a", "jn-4.a", "jn-4.b"]
    send(server, "syslog", "central", *((now, f"Nov 30 01:10:00 {host} kernel: {XID}") for host in said),
         (now, "slurmctld: error: Nodes jn-[5-6] not responding, setting DOWN"), host="loghost")
    wait_until(lambda: sorted(drained(server)) == sorted([*said, "jn-5", "jn-6"]), what="all that lines name")
    server.wait_for_extraction()
    for at, host in enumerate(("jn-1", "jn-2.hpc.lab", "jn-3.b", "jn-4", "jn-6.hpc"), 1):
        ship(server, "a", host, ["step: 1 loss: 2.0"], stream=f"algo-{at}")
    # whose they are where the short name is of several domains nobody knows
    wanted = sorted(["jn-1", "jn-2.hpc.lab", "jn-3", "jn-3.a", "jn-4.a", "jn-4.b", "jn-5", "jn-6.hpc"])
    assert sorted(drained(server)) == wanted
    rows = {row["evidence"]["host"]: row for row in suspects(server, "syslog")}
    assert sorted(rows) == wanted
    assert rows["jn-1"]["evidence"]["summary"] == "Xid 79: GPU has fallen off the bus on jn-1"
    assert [server.get(f"/api/v1/nodes/{name}").body["host"] for name in ("jn-1.hpc.lab", "jn-2")] == ["jn-1", "jn-2.hpc.lab"]
    assert [row["host"] for row in server.get("/api/v1/jobs/a/restart").body["drained"]] == ["jn-1", "jn-2.hpc.lab", "jn-6.hpc"]
    # what comes behind it is of the same stretch and incident, in either form
    server.restart()
    send(server, "syslog", "central", (now + 1000, f"Nov 30 01:10:01 jn-1.hpc.lab kernel: {XID}"), (now + 1000, f"Nov 30 01:10:01 jn-2 kernel: {XID}"),
         (now + 1000, "slurmctld: error: Nodes jn-[5-6] not responding, setting DOWN"), host="loghost")
    ship(server, "a", "jn-1", [f"kernel: {XID}"], stream="algo-1")
    wait_until(lambda: [(row["signature"], row["lines"]) for row in server.get("/api/v1/nodes/jn-1").body["faults"]] == [("xid_79", 3)], what="all three lines")
    server.wait_for_extraction()
    assert sorted(drained(server)) == wanted and len(suspects(server, "syslog")) == len(wanted)
    # cleared is cleared, by its line
    assert server.patch("/api/v1/jobs/syslog", json={"by_hand": {"faults": {"central:1": "a drill"}}}).status == 200
    assert "jn-2.hpc.lab" not in drained(server) and "jn-2" not in drained(server)


def test_machines_by_turns_have_a_stretch_each(server):
    then = int(time.time() * 1000) - 400_000
    rows = [(then + n * 1000, f"Nov 30 01:{n // 60:02}:{n % 60:02} ob-{n % 3} kernel: {XID}") for n in range(300)]
    send(server, "a", "syslog", *rows[:200], host="loghost")
    send(server, "a", "syslog", *rows[200:], host="loghost")

    def counts():
        return {row["host"]: [(fault["signature"], fault["lines"]) for fault in row["faults"]] for row in server.get("/api/v1/nodes").body["nodes"]}

    wanted = {"loghost": [], **{f"ob-{n}": [("xid_79", 100)] for n in range(3)}}
    wait_until(lambda: counts() == wanted, what="the lines of each")
    assert sorted(row["evidence"]["host"] for row in suspects(server, "a")) == ["ob-0", "ob-1", "ob-2"]
    for again in (server.restart, lambda: (server.kill(), server.start())):
        again()
        assert counts() == wanted
    send(server, "a", "syslog", (then + 300_000, f"Nov 30 01:06:00 ob-1 kernel: {XID}"), host="loghost")
    wait_until(lambda: counts()["ob-1"] == [("xid_79", 101)], what="one more, of the same stretch")


def test_slurms_lists_are_single_machines(make_server):
    server, other = make_server(), make_server()
    for n in range(1, 4):
        ship(server, "a", f"lg-{n}", ["step: 1 loss: 2.0"], stream=f"algo-{n}")
    ship(server, "a", "lg-1", ["srun: error: Node failure on lg-[2-3]"])
    wait_until(lambda: sorted(drained(server)) == ["lg-2", "lg-3"], what="both machines")
    assert sorted(row["evidence"]["host"] for row in suspects(server, "a")) == ["lg-2", "lg-3"]
    assert [row["host"] for row in server.get("/api/v1/nodes").body["nodes"]] == ["lg-1", "lg-2", "lg-3"]
    server.post("/api/v1/jobs/a/transitions", json={"SecondaryStatus": "Failed"})
    reason = "Slurm: node failure on lg-[2-3]: srun: error: Node failure on lg-[2-3]"
    wait_until(lambda: server.get("/api/v1/jobs/a").body.get("FailureReason") == reason, what="the reason")
    assert [row["host"] for row in server.get("/api/v1/jobs/a/restart").body["drained"]] == ["lg-2", "lg-3"]
    # known by their full names, and by turns
    for n in range(1, 4):
        ship(server, "b", f"pa-{n}.hpc", ["step: 1 loss: 2.0"], stream=f"algo-{n}")
    ship(server, "b", "pa-1.hpc", ["srun: error: Node failure on pa-2", "srun: error: Node failure on pa-[3,4]", "srun: error: Node failure on pa-2"])
    wait_for_faults(server, "pa-1.hpc", "pa-2.hpc", "pa-3.hpc", "pa-4", lines=[[], [1], [2], [2]])
    ship(server, "d", "pd-1", ["srun: error: Node failure on pd-2, pd-[3-4]", "slurmctld: error: Nodes pd-[5-6] not responding, setting DOWN",
                               "slurmctld: requeue job JobId=12 due to failure of node pd-7", "slurmctld: error: Nodes pd-8 not responding"])
    wait_until(lambda: [host for host in sorted(drained(server)) if host.startswith("pd")] == [f"pd-{n}" for n in range(2, 8)], what="those that Slurm names")
    # too many, or no list: it is not the one that says so
    ship(server, "c", "pb-1", ["srun: error: Node failure on pb-[1-9999]"])
    wait_until(lambda: incidents(server, "c", "log_signature"), what="the line")
    before = sorted(drained(server))
    assert before == ["lg-2", "lg-3", "pa-2.hpc", "pa-3.hpc", "pa-4", *(f"pd-{n}" for n in range(2, 8))]
    assert server.patch("/api/v1/jobs/a", json={"by_hand": {"faults": {"algo-1:1": "a drill"}}}).status == 200
    wait_until(lambda: sorted(drained(server)) == before[2:], what="both to be nobody's")
    take(other, export(server))
    ship(other, "a", "lg-1", ["step: 2 loss: 1.9"])
    assert other.get("/api/v1/jobs/a").body["FailureReason"] == reason


def test_who_reports_a_symptom_is_not_said_to_have_it(server, receiver):
    assert server.post("/api/v1/webhooks", json={"url": receiver.url}).status in (200, 201)
    peer = "ne-1:1:2 [0] NCCL WARN socketProgress: Connection closed by remote peer ne-2<3>"
    crash = "srun: error: nd-2: task 1: Segmentation fault (core dumped)"
    for job, host, line, said in (("peer", "ne-1", peer, "NCCL: another rank is gone, first reported by ne-1"),
                                  ("crash", "nd-1", crash, "segmentation fault on nd-2")):
        ship(server, job, host, ["step: 1 loss: 2.0", line])
        row, = wait_until(lambda: incidents(server, job, "log_signature"), what="the line")
        assert row["evidence"]["summary"] == said
        sent = wait_until(lambda: [m for m in receiver.messages() if m["data"]["job"] == job and m["data"]["kind"] == "log_signature"], what="the message")
        assert f"{job}: {said}: {line}" in json.dumps(sent[0])
        server.post(f"/api/v1/jobs/{job}/transitions", json={"SecondaryStatus": "Failed"})
        wait_until(lambda: server.get(f"/api/v1/jobs/{job}").body.get("FailureReason") == f"{said}: {line}", what="the reason")


def test_a_machine_set_by_hand_is_in_what_is_said_of_its_failure(server):
    ship(server, "a", "n1", ["step: 1 loss: 2.0", f"kernel: {XID}"])
    ship(server, "a", "n2", ["step: 1 loss: 2.0"], stream="algo-2")
    wait_for_faults(server, "n1", lines=[[1]])
    server.post("/api/v1/jobs/a/transitions", json={"SecondaryStatus": "Failed"})

    def reason():
        return server.get("/api/v1/jobs/a").body.get("FailureReason", "")

    def shown():
        return [row["evidence"]["fault"]["host"] for row in incidents(server, "a", "job_failed")]

    wait_until(lambda: " on n1: " in reason(), what="the reason")
    set_hosts(server, algo_1="gpu7")
    assert " on gpu7: " in reason() and faults(server, "gpu7") == [[1]] and drained(server) == ["gpu7"]
    assert shown() == ["gpu7"]
    set_hosts(server, algo_1=None)
    assert " on n1: " in reason() and drained(server) == ["n1"]


def test_a_run_does_without_the_sick_machines_that_it_had_before(server):
    """The job before had one, and its log names another; the one that goes on has neither, fails, and would get both again."""
    now = int(time.time() * 1000)
    ends = lambda job: server.post(f"/api/v1/jobs/{job}/transitions", json={"SecondaryStatus": "Failed", "time_ms": now + 2}).status
    send(server, "rm-1", "algo-1", (now, "step: 1 loss: 2.0"), (now, XID), (now, "srun: error: Node failure on rm-9"), host="rm-2")
    wait_until(lambda: {"rm-2", "rm-9"} <= set(drained(server)), what="both machines")
    assert ends("rm-1") == 204
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "rm-n", "Tags": [{"Key": "continues", "Value": "rm-1"}]}).status == 201
    send(server, "rm-n", "algo-1", (now + 1, "step: 2 loss: 2.0"), host="rm-3")
    assert ends("rm-n") == 204
    for job, hosts in (("rm-1", ["rm-2"]), ("rm-n", ["rm-3"])):
        said = server.get(f"/api/v1/jobs/{job}/restart").body
        assert said["hosts"] == hosts and sorted(one["host"] for one in said["drained"]) == ["rm-2", "rm-9"], said


def test_a_rank_of_another_machine_is_not_charged_to_who_sends_for_all(server):
    """srun's output of four machines comes from the first one: eight ranks are its own at most, and the others' faults are not."""
    now = int(time.time() * 1000)
    for job in ("rk-all", "rk-own", "rk-each", "rk-local"):
        assert server.post("/api/v1/jobs", json={"TrainingJobName": job, "ResourceConfig": {"InstanceType": "ml.p5.48xlarge", "InstanceCount": 4, "VolumeSizeInGB": 1}}).status == 201
    send(server, "rk-all", "algo-1", (now, "step: 1 loss: 2.0"), (now, f"16: {ECC}"), host="rk-1")
    send(server, "rk-local", "algo-1", (now, "step: 1 loss: 2.0"), (now, f"[local_rank=3] {ECC}"), host="rk-5")
    send(server, "rk-own", "algo-1", (now, "step: 1 loss: 2.0"), (now, f"[rank3]: {ECC}"), host="rk-2")
    ship(server, "rk-each", "rk-3", ["step: 1 loss: 2.0"])
    send(server, "rk-each", "algo-2", (now, f"[rank12]: {ECC}"), host="rk-4")
    wait_until(lambda: len(server.get("/api/v1/incidents?limit=1000").body["incidents"]) >= 4, what="an incident of each")
    wait_until(lambda: {"rk-2", "rk-4"} <= set(drained(server)), what="those whose own it is")
    assert sorted(drained(server)) == ["rk-2", "rk-4"]
    for job in ("rk-all", "rk-local"):
        (row,) = server.get(f"/api/v1/incidents?q=name%3D{job}").body["incidents"]
        assert row["kind"] == "log_signature" and "host" not in row["evidence"], row


def test_a_flood_of_names_is_no_flood_of_incidents(server):
    """Each machine is an incident: of a list that is too long, and of names that come without an end, nobody is charged."""
    now = int(time.time() * 1000)
    send(server, "fl-list", "algo-1", (now, "srun: error: Node failure on fl[001-033]"), host="fl-1")
    send(server, "fl-many", "algo-1", *((now, f"srun: error: Node failure on flood{n:04}") for n in range(600)), host="fl-2")
    told = lambda job: server.get(f"/api/v1/incidents?q=name%3D{job}&limit=1000").body["incidents"]
    server.wait_for_extraction()
    send(server, "fl-next", "algo-1", (now, XID), host="fl-3")
    wait_until(lambda: told("fl-next"), what="what comes behind them")
    kinds = collections.Counter(row["kind"] for row in told("fl-many"))
    assert kinds == {"node_suspect": 128, "log_signature": 1}, kinds
    assert [row["kind"] for row in told("fl-list")] == ["log_signature"]
    assert not [host for host in drained(server) if host.startswith("fl0") or host in ("fl-1", "fl-2")]
