"""sm-ship --system: figures of a machine as points, the kernel's faults as lines, of a stream that is no rank."""

import csv
import io
import os
import signal
import time

import pytest
from shipping import job, lines
from smserver import wait_until

NVIDIA_SMI = """#!/bin/sh
echo "$@" > "$FAKES/arguments"
while :; do
    echo "0, 35, 1024, 40960, 250.12, 61"
    echo "1, [N/A], 2048, 40960, [N/A], 62"
    sleep 0.2
done
"""
NEURON_MONITOR = """#!/bin/sh
while :; do
    echo '{"neuron_runtime_data":[{"pid":7,"report":{"neuroncore_counters":{"neuroncores_in_use":{"3":{"neuroncore_utilization":42.5}}},
"memory_used":{"neuron_runtime_used_bytes":{"host":1,"neuron_device":3145728}}}}],
"system_data":{"neuron_hw_counters":{"neuron_devices":[{"neuron_device_index":0,"mem_ecc_uncorrected":2}]}}}' | tr -d '\\n'
    echo
    sleep 0.2
done
"""


@pytest.fixture
def machine(tmp_path):
    """A machine that is not ours: its /proc, its kernel's lines, its monitors."""
    proc = tmp_path / "proc"
    (proc / "1/net").mkdir(parents=True)
    (proc / "stat").write_text("cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n")
    (proc / "meminfo").write_text("MemTotal:       16777216 kB\nMemFree: 1 kB\nMemAvailable:   12582912 kB\n")
    (proc / "diskstats").write_text("259 0 nvme0n1 10 0 2000 5 10 0 4000 5 0 0 0\n259 1 nvme0n1p1 10 0 2000 5 10 0 4000 5 0 0 0\n")
    (proc / "1/net/dev").write_text("Inter-| Receive\n  lo: 9 0 0 0 0 0 0 0 9 0 0 0 0 0 0 0\neth0: 5000 1 0 0 0 0 0 0 7000 1 0 0 0 0 0 0\n")
    kmsg = tmp_path / "kmsg"
    kmsg.write_text("6,1,1,-;NVRM: Xid (PCI:0000:3b:00): 13, of before\n")
    fakes = tmp_path / "fakes"
    fakes.mkdir()
    for name, text in (("nvidia-smi", NVIDIA_SMI), ("neuron-monitor", NEURON_MONITOR)):
        (fakes / name).write_text(text)
        (fakes / name).chmod(0o755)

    class Machine:
        options = ["--system", "--system-interval", "200ms", "--proc", str(proc), "--kmsg", str(kmsg), "--host", "node-7"]
        environment = {"PATH": f"{fakes}:{os.environ['PATH']}", "FAKES": str(fakes)}
        folder, log = fakes, kmsg

        def say(self, text):
            with open(kmsg, "a") as file:
                file.write(text)

    return Machine()


def series(server, name):
    reply = server.get(f"/api/v1/jobs/{name}/metrics")
    return {row["metric"]: row for row in reply.body["series"] if row["stream"] == "system/node-7"} if reply.status == 200 else {}


def times_of(server, name, metric):
    text = server.get(f"/api/v1/jobs/{name}/points?metric={metric}&raw=true&format=csv").body
    return [int(row["ts_ms"]) for row in csv.DictReader(io.StringIO(text))]


def is_running(pid):
    try:
        os.kill(pid, 0)
        return True
    except ProcessLookupError:
        return False


def test_a_machine_is_measured(server, ship, machine):
    process = ship.start("--job", "measured", *machine.options, "--", "sh", "-c", "echo loss: 2.5; exec sleep 60", **machine.environment)
    wait_until(lambda: "gpu_utilization_percent{gpu=\"0\"}" in series(server, "measured"))
    machine.say("4,2,2,-;NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n SUBSYSTEM=pci\n6,3,3,-;usb 1-1: new device\n")
    (machine.log.parent / "proc/stat").write_text("cpu  150 0 150 900 0 0 0 0 0 0\n")
    wait_until(lambda: lines(server, "measured", "system/node-7"))
    wait_until(lambda: series(server, "measured").get("cpu_percent", {}).get("max", 0) > 0)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert lines(server, "measured", "system/node-7") == ["kernel: NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus."]
    found = series(server, "measured")
    assert {name: found[name]["max"] for name in (
        'gpu_utilization_percent{gpu="0"}', 'gpu_memory_used_mib{gpu="1"}', 'gpu_power_watts{gpu="0"}',
        'gpu_temperature_celsius{gpu="1"}', "memory_used_percent", "memory_used_gib", "cpu_percent",
        'neuron_core_utilization_percent{core="3"}', "neuron_memory_used_mib", 'neuron_memory_ecc_uncorrected{device="0"}',
    )} == {
        'gpu_utilization_percent{gpu="0"}': 35, 'gpu_memory_used_mib{gpu="1"}': 2048, 'gpu_power_watts{gpu="0"}': 250.12,
        'gpu_temperature_celsius{gpu="1"}': 62, "memory_used_percent": 25, "memory_used_gib": 4, "cpu_percent": 50,
        'neuron_core_utilization_percent{core="3"}': 42.5, "neuron_memory_used_mib": 3,
        'neuron_memory_ecc_uncorrected{device="0"}': 2}
    assert 'gpu_utilization_percent{gpu="1"}' not in found  # the card said [N/A]
    assert {"disk_read_mb_s", "disk_written_mb_s", "network_received_mb_s", "network_sent_mb_s"} <= set(found)
    assert all(row["role"] == "other" for row in found.values())
    assert "--query-gpu=index,utilization.gpu" in (machine.folder / "arguments").read_text()


def test_it_is_no_rank(server, ship, machine):
    done = ship.run("--job", "ranked", "--stream", "zz-the-longer-name", *machine.options, data=b"loss: 2.5\nloss: 2.4\n",
                    **machine.environment)
    assert done.returncode == 0, done.stderr
    streams = {row["stream"]: row for row in server.get("/api/v1/jobs/ranked/streams").body["streams"]}
    assert streams["system/node-7"]["role"] == "system" and streams["system/node-7"]["host"] == "node-7"
    assert streams["zz-the-longer-name"]["role"] == "rank 0"
    assert streams["zz-the-longer-name"]["role_reason"] == "the only stream"
    metrics = wait_until(lambda: job(server, "ranked").get("metrics"), what="the job's figures")
    assert all("percent" not in row["metric"] for row in metrics)
    assert job(server, "ranked")["streams"] == 1


def test_two_ranks_of_a_host_measure_once(server, ship, machine):
    environment = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", **machine.environment}
    ranks = [ship.start("--job", "pair", *machine.options, "--", "sleep", "60", LOCAL_RANK=str(i), RANK=str(i), **environment)
             for i in range(2)]
    count = wait_until(lambda: series(server, "pair").get("memory_used_gib", {}).get("count", 0) >= 5)
    assert count
    times = times_of(server, "pair", "memory_used_gib")
    gaps = sorted(b - a for a, b in zip(times, times[1:]))
    assert gaps[len(gaps) // 2] >= 150, gaps  # twice as many had there been two
    ranks[0].send_signal(signal.SIGKILL)
    ranks[0].communicate()
    before = series(server, "pair")["memory_used_gib"]["count"]
    wait_until(lambda: series(server, "pair")["memory_used_gib"]["count"] > before + 3, what="the other rank to take over")
    ranks[1].send_signal(signal.SIGTERM)
    ranks[1].communicate(timeout=60)


def test_figures_survive_an_outage_once(server, ship, machine):
    process = ship.start("--job", "away", *machine.options, "--", "sleep", "60", **machine.environment)
    wait_until(lambda: series(server, "away").get("memory_used_gib", {}).get("count", 0) >= 2)
    server.kill()
    for line in process.stderr:
        if b"lines are kept" in line:
            break
    server.start(f"127.0.0.1:{server.port}")
    wait_until(lambda: series(server, "away").get("memory_used_gib", {}).get("count", 0) >= 8)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    times = times_of(server, "away", "memory_used_gib")
    assert len(times) == len(set(times))


def test_what_is_missing_is_said_and_harms_nothing(server, ship, machine, tmp_path):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/nvidia-smi").write_text("#!/bin/sh\necho NVIDIA-SMI has failed; exit 9\n")
    (tmp_path / "broken/nvidia-smi").chmod(0o755)
    done = ship.run("--job", "bare", "--system", "--system-interval", "100ms", "--proc", "/nowhere", "--kmsg", "/nowhere",
                    "--", "sh", "-c", "sleep 0.5; exit 5", PATH=f"{tmp_path}/broken:/usr/bin:/bin")
    assert done.returncode == 5
    assert b"cannot be read from '/nowhere'" in done.stderr and b"NVIDIA-SMI has failed" in done.stderr, done.stderr
    assert job(server, "bare")["TrainingJobStatus"] == "Failed"


def test_what_the_kernel_says_keeps_no_other_streams_lease(make_server, ship, machine):
    """A command that prints nothing: its stream stays its own while lines of the host are sent beside it."""
    server = make_server("--lease", "3s") # what a busy machine keeps a heartbeat waiting is less
    ship.env["SMFLEET_SERVER"] = server.url
    process = ship.start("--job", "quiet", "--stream", "main", *machine.options, "--", "sleep", "60", **machine.environment)
    other = {"job": "quiet", "stream": "main", "host": "gpu002"}
    count, started = 0, wait_until(lambda: series(server, "quiet") and time.monotonic(), what="the first figures")
    while time.monotonic() < started + 7 or count < 20:
        count += 1
        machine.say(f"3,{100 + count},1,-;NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus. {count}\n")
        reply = server.post("/api/v1/sessions", json=other)
        assert reply.status == 409 and "node-7" in reply.body["detail"], reply
    assert len(lines(server, "quiet", "system/node-7")) > 1
    process.send_signal(signal.SIGTERM)
    process.communicate()


def test_the_monitors_end_with_us(server, ship, machine):
    (machine.folder / "nvidia-smi").write_text('#!/bin/sh\necho $$ > "$FAKES/pid"\nwhile :; do echo "0, 1, 1, 1, 1, 1"; sleep 0.1; done\n')
    process = ship.start("--job", "ending", *machine.options, "--", "sleep", "60", **machine.environment)
    wait_until(lambda: (machine.folder / "pid").exists() and (machine.folder / "pid").read_text().strip())
    process.kill()
    process.communicate()
    pid = int((machine.folder / "pid").read_text())
    wait_until(lambda: not is_running(pid), what="the end of nvidia-smi")
