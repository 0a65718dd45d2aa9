"""What a program only quotes of a kernel is no fault of the machine that prints it; the kernel's own words are, in whatever form they are shipped."""

import json
import time

from smserver import wait_until
from test_hosts import drained, ship
from test_known_fault import send

HEAD = "NVRM: Xid (PCI:0000:3b:00): 79"
XID = f"{HEAD}, pid=1234, name=python, GPU has fallen off the bus."
ECC = "CUDA error: uncorrectable ECC error encountered"
NIC = "mlx5_core 0000:41:00.0: poll_health:852:(pid 0): device's health compromised - reached miss count"

QUOTED = {
    # printed settings, lists of patterns, rules
    "a config dump": f'"patterns":["{HEAD}", "EDAC MC0"], "poll_s": 30',
    "a config in a record": json.dumps({"event": "config", "patterns": [HEAD, f"{HEAD}, pid=1"], "host": "qu-9"}),
    "a list of lines in a config": json.dumps({"health": {"drain_on": [XID, ECC]}}),
    "yaml": f"    - '{XID}'",
    "a rule": f"rule xid_79: expr: 'count_over_time({{job=\"kern\"}} |= \"{XID}\" [5m]) > 0'",
    "an alert rule": json.dumps({"alert": "GpuLost", "expr": f'|= "{XID}"', "annotations": {"summary": "drain it"}}),
    "a printed pattern": f'XID_PATTERN = "{XID}"',
    "an argument": f"Namespace(drain_pattern='{XID}', interval=30)",
    # prose
    "a help text": f"2026-11-30 01:10:00,123 INFO health: looks for lines such as {XID}",
    "a runbook's sentence": f"2026-11-30 01:10:00,123 - runbook - INFO - {HEAD} means that the GPU has fallen off the bus: drain the host",
    "a runbook's sentence by its number": f"Step 3: {XID} - drain the node, then reset the GPU",
    "an example": f"Example: Nov 30 01:10:00 gpu07 kernel: {XID}",
    "in backticks": f"If dmesg has `{XID}`, drain the machine.",
    "in quotes": f'If dmesg has "{XID}", drain the machine.',
    "of a mail": f"> {XID}",
    "a comment": f"# {XID}",
    "a question": f"Q: what does {XID} mean?",
    # commands and source
    "a command's echo": f'+ grep -c "{HEAD}" /var/log/kern.log',
    "a command with two signs": f"++ journalctl -k --grep '{HEAD}'",
    "a shell's prompt": f'root@gpu07:~# grep "{XID}" /var/log/kern.log',
    "a traceback's source": f'    if "{XID}" in line:',
    "a traceback's raise": f'    raise RuntimeError("{ECC}")',
    "an assertion": f"E       assert '{XID}' in ''",
    "an assignment": f"last_fault='{XID}'",
    # what was sent
    "a webhook's payload": f'2026-11-30 01:10:00,123 INFO webhook: POST {json.dumps({"message": XID, "host": "qu-9"})}',
    "a payload of Slack": json.dumps({"blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": f"*gpu07*: {XID}"}}]}),
    "a payload as Python prints it": f"payload={{'text': '{XID}', 'channel': '#gpu'}}",
    "a payload of ours": f"got {json.dumps({'type': 'incident.opened', 'data': {'evidence': {'host': 'gpu07', 'text': XID}}})}",
    "a payload of ours on a line of its own": json.dumps({"type": "incident.opened", "data": {"kind": "node_suspect", "evidence": {"host": "gpu07", "text": XID}}}),
    "a record's message": json.dumps({"level": "INFO", "message": f"watching for {XID}", "host": "qu-9"}),
    "a record's message with quotes": json.dumps({"level": "INFO", "message": f'watching for "{XID}"', "host": "qu-9"}),
    # of other signatures
    "a quoted card": f"the runbook's line is '{NIC}'",
    "Slurm in quotes": 'If you see "srun: error: Node failure on gpu07", open a ticket.',
    "Slurm's pattern in a list": json.dumps({"patterns": ["srun: error: Node failure on gpu07"]}),
    "an error in a list": json.dumps({"patterns": [ECC, "NCCL"]}),
}

# As the kernel's log is printed and shipped: the line, and who is charged; "": who sends it.
TRUE = {
    "dmesg": (f"[  123.456789] {XID}", ""),
    "dmesg with callers": (f"[  123.456789][ T4711] {XID}", ""),
    "dmesg -T": (f"[Mon Nov 30 01:10:00 2026] {XID}", ""),
    "dmesg -x": (f"kern  :err   : [  123.456789] {XID}", ""),
    "dmesg --time-format iso": (f"2026-11-30T01:10:00,123456+00:00 {XID}", ""),
    "dmesg with colours": (f"\x1b[32m[  123.456789] \x1b[0m{XID}", ""),
    "dmesg -r": (f"<3>[  123.456789] {XID}", ""),
    "/dev/kmsg": (f"3,1234,123456789,-;{XID}", ""),
    "journalctl -k": (f"Nov 30 01:10:00 tr-90 kernel: {XID}", "tr-90"),
    "journalctl -o short-iso": (f"2026-11-30T01:10:00+0000 tr-91 kernel: {XID}", "tr-91"),
    "journalctl -o short-precise": (f"Nov 30 01:10:00.123456 tr-92 kernel: {XID}", "tr-92"),
    "journalctl -o short-monotonic": (f"[  123.456789] known-1 kernel: {XID}", "known-1"),
    "journalctl -o short-full": (f"Mon 2026-11-30 01:10:00 UTC tr-93 kernel: {XID}", None),
    "journalctl -o cat": (XID, ""),
    "journalctl -o export": (f"MESSAGE={XID}", ""),
    "journalctl -o verbose": (f"    MESSAGE={XID}", ""),
    "journalctl -o json": (json.dumps({"_HOSTNAME": "known-1", "_TRANSPORT": "kernel", "SYSLOG_IDENTIFIER": "kernel", "PRIORITY": "3", "MESSAGE": XID}), "known-1"),
    "rsyslog's own form": (f"Nov 30 01:10:00 tr-94 kernel: [  123.456789] {XID}", "tr-94"),
    "rsyslog of today": (f"2026-11-30T01:10:00.123456+00:00 tr-95 kernel: [  123.456789] {XID}", "tr-95"),
    "RFC 3164": (f"<3>Nov 30 01:10:00 tr-96 kernel: {XID}", "tr-96"),
    "RFC 5424": (f"<3>1 2026-11-30T01:10:00.123Z tr-97 kernel - - - {XID}", "tr-97"),
    "rsyslog as JSON": (json.dumps({"@timestamp": "2026-11-30T01:10:00Z", "host": "known-1", "severity": "err", "facility": "kern", "programname": "kernel", "message": f" {XID}"}), "known-1"),
    "syslog-ng as JSON": (json.dumps({"PROGRAM": "kernel", "MESSAGE": XID, "HOST": "known-1", "FACILITY": "kern"}), "known-1"),
    "Fluent Bit's systemd": (json.dumps({"date": 1796000000.5, "PRIORITY": "3", "_TRANSPORT": "kernel", "_HOSTNAME": "known-1", "MESSAGE": XID}), "known-1"),
    "Fluent Bit's kmsg": (json.dumps({"date": 1796000000.5, "priority": 3, "sequence": 7, "sec": 123, "usec": 4, "msg": XID, "hostname": "known-1"}), "known-1"),
    "Fluent Bit's stdout": (f'[0] kmsg.0: [[1796000000.500000000, {{}}], {{"priority"=>3, "sequence"=>7, "sec"=>123, "usec"=>4, "msg"=>"{XID}"}}]', ""),
    "Vector's journald": (json.dumps({"host": "known-1", "source_type": "journald", "SYSLOG_IDENTIFIER": "kernel", "message": XID, "timestamp": "2026-11-30T01:10:00Z"}), "known-1"),
    "Vector's logfmt": (f'PRIORITY=3 SYSLOG_IDENTIFIER=kernel host=known-1 message="{XID}" source_type=journald', "known-1"),
    "Filebeat": (json.dumps({"@timestamp": "2026-11-30T01:10:00Z", "message": f"kernel: {XID}", "host": {"name": "known-1"}, "agent": {"type": "filebeat"}}), "known-1"),
    "Splunk's HEC": (json.dumps({"time": 1796000000, "host": "known-1", "sourcetype": "kern", "event": XID}), "known-1"),
    "GELF": (json.dumps({"version": "1.1", "host": "known-1", "short_message": XID, "level": 3}), "known-1"),
    "Google's agent": (json.dumps({"textPayload": f"kernel: {XID}", "hostname": "known-1"}), "known-1"),
    "docker": (json.dumps({"log": f"[  123.456789] {XID}\n", "stream": "stdout", "time": "2026-11-30T01:10:00Z"}), ""),
    "docker compose": (f"monitor-1  | [  123.456789] {XID}", ""),
    "containerd": (f"2026-11-30T01:10:00.123456789Z stdout F [  123.456789] {XID}", ""),
    # a syslog's header behind what a collector, a launcher or a logger puts in front
    "containerd of a syslog": (f"2026-11-30T01:10:00.5Z stdout F Nov 30 01:10:00 tr-80 kernel: [   12.5] {XID}", "tr-80"),
    "containerd of a syslog of today": (f"2026-11-30T01:10:00.5Z stdout F 2026-11-30T01:10:00.1+00:00 tr-81 kernel: {XID}", "tr-81"),
    "containerd of RFC 5424": (f"2026-11-30T01:10:00.5Z stdout F <4>1 2026-11-30T01:10:00.1Z tr-82 kernel - - - {XID}", "tr-82"),
    "torchrun of a syslog": (f"[rank3]: Nov 30 01:10:00 tr-83 kernel: {XID}", "tr-83"),
    "mpirun of a syslog": (f"[1,0]<stdout>:Nov 30 01:10:00 tr-84 kernel: {XID}", "tr-84"),
    "srun -l of a syslog": (f"3: Nov 30 01:10:00 tr-85 kernel: {XID}", "tr-85"),
    "docker compose of a syslog": (f"monitor-1  | Nov 30 01:10:00 tr-86 kernel: {XID}", "tr-86"),
    "a logger of a syslog": (f"2026-11-30 01:10:00,123 INFO relay: Nov 30 01:10:00 tr-87 kernel: {XID}", "tr-87"),
    "kubectl": (f"[pod/known-1/monitor] [  123.456789] {XID}", "known-1"),
    "pdsh": (f"known-1: [  123.456789] {XID}", "known-1"),
    "srun -l": (f"3: [  123.456789] {XID}", ""),
    "mpirun": (f"[1,3]<stdout>:{XID}", ""),
    "torchrun": (f"[default3]:{XID}", ""),
    "a logger that hands it on": (f"2026-11-30 01:10:00,123 ERROR kmsg_watch: {XID}", ""),
    "a logger that hands it on by its file": (f"[2026-11-30 01:10:00,123] [ERROR] [kmsg.py:42] {XID}", ""),
    "busybox": (f"Nov 30 01:10:00 tr-98 kern.err kernel: [  123.456789] {XID}", None),
    "a file's name by grep": (f"/var/log/kern.log:Nov 30 01:10:00 tr-99 kernel: {XID}", None),
    "wall": (f" kernel:[  123.456789] {XID}", ""),
    "in the middle of a bar": (f" 10%|#         | 5/50 [00:01<00:09]\r[  123.456789] {XID}", ""),
    "in the trainer's line": (f"step 5 loss 2.1[  123.456789] {XID}", ""),
    "HyperPod's agent": (json.dumps({"level": "info", "msg": "NPD caught event: %v", "details: ": {"reason": "XidHardwareFailure", "message": f'Node condition NvidiaErrorReboot is now: True, reason: XidHardwareFailure, message: "{XID}"'}, "HealthMonitoringAgentDetectionEvent": "HealthEvent"}, separators=(",", ":")), ""),
    "torch": (f"RuntimeError: {ECC}", ""),
    "NCCL's watchdog": (f"[rank3]:[E1130 01:10:00.123456789 ProcessGroupNCCL.cpp:1595] [PG ID 0 PG GUID 0(default_pg) Rank 3] Process group watchdog thread terminated with exception: {ECC}", ""),
    "c10": (f"  what():  {ECC}", ""),
    "an error of logfmt": (f'level=error msg="step failed" err="{ECC}"', ""),
    "an error of a record": (json.dumps({"level": "error", "error": f"RuntimeError: {ECC}"}), ""),
    "a traceback of a JSON logger": (json.dumps({"level": "error", "message": "step failed", "exc_info": f'Traceback (most recent call last):\n  File "x.py", line 1\nRuntimeError: {ECC}'}), ""),
    "a logger's words in front": (f"2026-11-30 01:10:00,123 ERROR trainer: step failed: RuntimeError: {ECC}", ""),
    "JAX": ("jaxlib.xla_extension.XlaRuntimeError: INTERNAL: CUDA error: : CUDA_ERROR_ECC_UNCORRECTABLE: uncorrectable ECC error encountered", ""),
    "RFC 5424 of no machine": (f"<3>1 2026-11-30T01:10:00.123Z - kernel - - - {XID}", ""),
    "a record of a rank": (json.dumps({"message": XID, "node": "3", "instance": "0"}), ""),
    "a record of itself": (json.dumps({"message": XID, "host": "127.0.0.1"}), ""),
    "npd through syslog": (f"Nov 30 01:10:00 known-1 npd[12]: [  123.456789] {XID}", "known-1"),
    "a quotation in front": (json.dumps({"log": f"# {HEAD}\n[  123.456789] {XID}"}), ""),
    "nvidia-smi": ("Unable to determine the device handle for GPU0000:3B:00.0: GPU is lost.  Reboot the system to recover this GPU", ""),
    "slurmctld": ("[2026-11-30T01:10:00.123] error: Nodes tr-89 not responding, setting DOWN", "tr-89"),
}

# It may have happened, and whoever prints this is not to blame: the job hears of it, and nobody is charged.
TALK = {
    "an exception's repr": f"worker 3 failed: RuntimeError('{ECC}\\nCUDA kernel errors might be asynchronously reported')",
    "the attempt before": f"previous attempt of job 811 failed: {ECC} (host gpu09)",
    "a question": f"user: my log says {ECC} what now?",
    "an archive": f"[archive 2025-03] RuntimeError: {ECC}",
    "Slurm's line in an example": "Example: srun: error: Node failure on gpu09",
    "Slurm's line in a sentence": "found 0 lines with error: Nodes gpu09 not responding, setting DOWN",
}


def test_words_that_are_quoted_charge_nobody(server):
    now = int(time.time() * 1000)
    for at, line in enumerate(QUOTED.values()):
        send(server, f"q{at:02}", "algo-1", (now, "step: 1 loss: 2.0"), (now, line), host=f"qu-{at}")
        # and as records of a collector that names the machine
        body = json.dumps({"log": line, "host": f"qu-{at}", "ts": now}) + "\n"
        assert server.post(f"/api/v1/logs?job=r{at:02}&stream=algo-1&host=qu-{at}", body.encode(), content_type="application/x-ndjson").status == 200
    send(server, "last", "algo-1", (now, XID), host="qu-last")
    wait_until(lambda: drained(server) == ["qu-last"] or len(drained(server)) > 1, what="the one that is true")
    server.wait_for_extraction()
    names = list(QUOTED)
    rows = server.get("/api/v1/incidents?limit=1000").body["incidents"]
    told = sorted((row["job"][0], row["evidence"].get("fault"), names[int(row["job"][1:])], row["kind"], row["evidence"].get("host"), row["evidence"].get("text")) for row in rows if row["job"] != "last")
    assert told == [], "\n".join(map(str, told))
    assert drained(server) == ["qu-last"]


def test_what_is_only_talked_of_drains_nobody_and_is_not_critical(server):
    now = int(time.time() * 1000)
    ship(server, "other", "gpu09", ["step: 1 loss: 2.0"])
    for at, line in enumerate(TALK.values()):
        send(server, f"a{at:02}", "algo-1", (now, "step: 1 loss: 2.0"), (now, line), host=f"ta-{at}")
    send(server, "last", "algo-1", (now, XID), host="ta-last")
    wait_until(lambda: drained(server) == ["ta-last"], what="the one that is true")
    rows = wait_until(lambda: (lambda all_rows: len(all_rows) == len(TALK) and all_rows)(
        [row for row in server.get("/api/v1/incidents?limit=1000").body["incidents"] if row["job"] != "last"]), what="what is told of the others")
    assert {(row["kind"], row["severity"], row["evidence"].get("host"), row["evidence"]["shared"]) for row in rows} == {("log_signature", "warning", None, True)}
    # what really happens behind it is told as loudly as ever
    send(server, "a01", "algo-1", (now + 1000, f"RuntimeError: {ECC}"), host="ta-1")
    wait_until(lambda: sorted(drained(server)) == ["ta-1", "ta-last"], what="the true one")


def test_memory_that_is_only_quoted_as_used_up_is_no_incident(server):
    now = int(time.time() * 1000)
    oom = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
    quotes = [f"# {oom}", f"doc says `{oom}` means trouble", f"grep -n '{oom}' slurm.out", f'    if "{oom}" in line:', json.dumps({"prompt": oom}), f'retry_on = "{oom}"']
    for at, line in enumerate(quotes):
        send(server, f"o{at:02}", "algo-1", (now, line), host="om-1")
    for at, line in enumerate((oom, f"[rank3]: {oom}", f"step failed: {oom}", json.dumps({"level": "error", "exception": oom}), f"{{'error': '{oom}'}}")):
        send(server, f"t{at:02}", "algo-1", (now, line), host="om-1")
    told = lambda: sorted((row["job"], row["severity"]) for row in server.get("/api/v1/incidents?limit=1000").body["incidents"])
    wait_until(lambda: len(told()) >= 5, what="the true ones")
    server.wait_for_extraction()
    assert told() == [(f"t{at:02}", "critical") for at in range(5)]


def test_the_kernels_own_words_charge_its_machine_in_every_form(server):
    now = int(time.time() * 1000)
    ship(server, "other", "known-1", ["step: 1 loss: 2.0"])
    wanted = {}
    for at, (name, (line, host)) in enumerate(TRUE.items()):
        send(server, f"t{at:02}", "algo-1", (now, "step: 1 loss: 2.0"), (now, line), host=f"se-{at}")
        wanted[name] = host
    names = list(TRUE)

    def told():
        rows = [row for row in server.get("/api/v1/incidents?limit=1000").body["incidents"] if "told_by" not in row["evidence"]]
        return {names[int(row["job"][1:])]: (row["kind"], row["evidence"].get("host")) for row in rows}

    send(server, f"t{len(names)}", "algo-1", (now, XID), host="se-last")
    names.append("last")
    wait_until(lambda: "last" in told(), what="the last one")
    of = {name: ("node_suspect", host or f"se-{at}") for at, (name, host) in enumerate(wanted.items()) if host is not None}
    found = told()
    wrong = {name: (found.get(name), want) for name, want in of.items() if found.get(name) != want}
    assert not wrong, "\n".join(f"{name}: {one}" for name, one in wrong.items())
    assert found.keys() == {*wanted, "last"}


def test_a_checkpoint_that_is_only_talked_of_is_no_advice(server):
    """Nor is it time that a checkpoint took."""
    begin_ms = int(time.time() * 1000) - 3_600_000
    steps = [(begin_ms + 10_000 * n, f"step {n} loss: 2.{n:02}") for n in range(1, 41)]
    saved = (begin_ms + 205_000, "saved checkpoint to /ckpt/real/iter_20 at step 20")
    old = "saved checkpoint to /home/alice/old/iter_77 at step 77"
    quotes = [f'INFO chat: alice asked why "{old}" was printed', json.dumps({"prompt": old}), json.dumps({"content": old}), f"> {old}", f"doc says `{old}`", f"+ grep '{old}' log",
        f'    print("{old}")', f"could not have {old}", f"deleted {old}", f"{old} is corrupt", f"dry run: {old}", f"[pod/other-job-0/pytorch] {old}"]
    talk = [(begin_ms + 305_000 + 10_000 * at, line) for at, line in enumerate(quotes)]
    send(server, "plain", "algo-1", *sorted([*steps, saved]), host="ck-1")
    send(server, "talks", "algo-1", *sorted([*steps, saved, *talk]), host="ck-1")
    # of a log in which all lines are pods', theirs count
    send(server, "pods", "algo-1", *((at_ms, f"[pod/train-0/pytorch] {line}") for at_ms, line in sorted([*steps, saved])), host="ck-1")
    server.wait_for_extraction()
    buckets = {}
    for job in ("plain", "talks", "pods"):
        server.post(f"/api/v1/jobs/{job}/transitions", json={"SecondaryStatus": "Failed", "time_ms": begin_ms + 420_000})
        advice = wait_until(lambda: (lambda reply: reply.status == 200 and reply.body["extracted"] and reply.body)(server.get(f"/api/v1/jobs/{job}/restart")), what="advice")
        assert (advice["checkpoint"]["step"], advice["checkpoint"]["path"]) == (20, "/ckpt/real/iter_20"), advice["checkpoint"]
        assert [row["step"] for row in server.get(f"/api/v1/jobs/{job}/checkpoints").body["checkpoints"]] == [20]
        buckets[job] = server.get(f"/api/v1/jobs/{job}/goodput").body["buckets"]["checkpoint"]
    assert buckets["talks"] == buckets["plain"]
