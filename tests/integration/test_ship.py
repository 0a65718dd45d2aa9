"""sm-ship against a server: what is sent arrives once, and the training never notices the server."""

import contextlib
import json
import os
import pathlib
import pty
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from howlong import IS_LONG, long
from shipping import job, lines
from smserver import wait_until


def has_line(server, name, text):
    return text in lines(server, name)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_standard_input_is_passed_through_and_stored(server, ship):
    data = "step 1 loss 0.5\nstep 2 loss 0.25 ä\nno end".encode()
    result = ship.run("--job", "piped", "--tag", "team=nlp", "--hp", "lr=1", data=data)
    assert (result.returncode, result.stdout) == (0, data)
    assert lines(server, "piped") == ["step 1 loss 0.5", "step 2 loss 0.25 ä", "no end"]
    document = job(server, "piped")
    assert document["TrainingJobStatus"] == "Completed"
    assert document["HyperParameters"]["lr"] == "1"
    assert {"Key": "team", "Value": "nlp"} in document["Tags"]


def test_nothing_is_changed_on_the_way_through(server, ship):
    data = bytes(range(256)) * 50 + b"\r\n\n\n" + b"x" * 200_000
    assert ship.run("--job", "bytes", data=data).stdout == data


def test_many_lines_arrive_once(server, ship):
    """Three batches of 256 KiB; with --all, ten."""
    texts = [f"step {i} loss {1 / (i + 1):.6f}" for i in range(100_000 if IS_LONG else 30_000)]
    data = ("\n".join(texts) + "\n").encode()
    result = ship.run("--job", "many", data=data)
    assert (result.returncode, result.stdout == data) == (0, True)
    assert lines(server, "many") == texts


def test_a_name_with_a_slash(server, ship):
    assert ship.run("--job", "team/run 1 %", data=b"x\n").returncode == 0
    assert lines(server, "team/run 1 %") == ["x"]


def test_an_ended_job_is_not_written_to(server, ship):
    ship.run("--job", "again", data=b"one\n")
    second = ship.run("--job", "again", data=b"two\n")
    assert second.returncode == 0 and b"again-2" in second.stderr
    assert lines(server, "again") == ["one"]
    assert lines(server, "again-2") == ["two"]
    assert ship.run("--job", "again", "--resume", data=b"three\n").returncode == 0
    assert lines(server, "again") == ["one", "three"]


@pytest.mark.parametrize("script, code, status, reason", [
    ("exit 0", 0, "Completed", None),
    ("exit 3", 3, "Failed", "exit code 3"),
    ("kill -9 $$", 137, "Failed", "killed by signal 9 (SIGKILL)"),
])
def test_the_exit_of_a_command(server, ship, script, code, status, reason):
    name = f"exit-{code}"
    result = ship.run("--job", name, "--", "sh", "-c", f"echo out; echo err >&2; {script}")
    assert (result.returncode, result.stdout, result.stderr) == (code, b"out\n", b"err\n")
    assert sorted(lines(server, name)) == ["err", "out"]
    document = job(server, name)
    assert document["TrainingJobStatus"] == status
    assert document.get("FailureReason") == reason


def start_srun(ship, nodes, per_node, script, **changes):
    """What `srun -N nodes --ntasks-per-node=per_node sm-ship -- sh train.sh --lr 3e-4` sets and starts."""
    file = ship.folder / "train.sh"
    file.write_text(script)
    for rank in range(nodes * per_node):
        yield ship.start("--", "sh", str(file), "--lr", "3e-4", "--depth=12", **{
            "SLURM_JOB_ID": "4711", "SLURM_JOBID": "4711", "SLURM_JOB_NAME": "llama", "SLURM_JOB_USER": "eve",
            "SLURM_JOB_NUM_NODES": str(nodes), "SLURM_NNODES": str(nodes), "SLURM_NTASKS": str(nodes * per_node),
            "SLURM_NPROCS": str(nodes * per_node), "SLURM_STEP_ID": "0", "SLURM_STEPID": "0",
            "SLURM_STEP_TASKS_PER_NODE": f"{per_node}(x{nodes})", "SLURM_TASKS_PER_NODE": f"{per_node}(x{nodes})",
            "SLURM_NTASKS_PER_NODE": str(per_node), "SLURM_PROCID": str(rank), "SLURM_NODEID": str(rank // per_node),
            "SLURM_LOCALID": str(rank % per_node), "SLURMD_NODENAME": f"gpu{rank // per_node:03}",
            "SLURM_JOB_NODELIST": f"gpu[000-{nodes - 1:03}]", "SLURM_CLUSTER_NAME": "c", "SLURM_SUBMIT_DIR": "/home/eve", **changes})


def finish_all(processes):
    processes = list(processes)
    return [(process.communicate(timeout=120), process.returncode)[1] for process in processes]


def test_a_job_of_many_processes(server, ship):
    nodes, per_node = 2, 8
    script = 'echo "step 1 loss 0.$SLURM_PROCID"; [ $SLURM_PROCID != 3 ] || exit 7'
    codes = finish_all(start_srun(ship, nodes, per_node, script))
    assert codes == [7 if rank == 3 else 0 for rank in range(nodes * per_node)]
    jobs = server.get("/api/v1/jobs").body["jobs"]
    assert [row["TrainingJobName"] for row in jobs] == ["llama-4711"]
    rows = server.get("/api/v1/jobs/llama-4711/streams").body["streams"]
    assert {row["stream"]: (row["host"], row["lines"]) for row in rows} == {
        f"algo-{rank // per_node + 1}-r{rank % per_node}": (f"gpu{rank // per_node:03}", 1) for rank in range(nodes * per_node)}
    document = job(server, "llama-4711")
    assert document["TrainingJobStatus"] == "Failed"
    assert document["FailureReason"] == "algo-1-r3 on gpu000 (rank 3): exit code 7"
    assert document["ResourceConfig"]["InstanceCount"] == nodes
    assert document["HyperParameters"] == {"lr": "3e-4", "depth": "12"}
    assert {"Key": "owner", "Value": "eve"} in document["Tags"]


def test_a_restart_of_many_processes_is_one_new_job(server, ship):
    assert finish_all(start_srun(ship, 1, 4, "echo first")) == [0] * 4
    assert finish_all(start_srun(ship, 1, 4, "echo again", SLURM_RESTART_COUNT="1")) == [0] * 4
    jobs = server.get("/api/v1/jobs").body["jobs"]
    assert sorted(row["TrainingJobName"] for row in jobs) == ["llama-4711", "llama-4711-2"]
    for name, text in (("llama-4711", "first"), ("llama-4711-2", "again")):
        assert [lines(server, name, f"algo-1-r{rank}") for rank in range(4)] == [[text]] * 4
        assert job(server, name)["TrainingJobStatus"] == "Completed"


def test_who_is_late_belongs_to_the_run_that_its_first_process_has_ended(server, ship):
    processes = start_srun(ship, 1, 2, "echo one")
    for _ in range(2):  # one after the other: the generator starts the second when the first is done
        process = next(processes)
        process.communicate(timeout=60)
        assert process.returncode == 0
    assert lines(server, "llama-4711", "algo-1-r1") == ["one"]
    assert job(server, "llama-4711")["TrainingJobStatus"] == "Completed"
    assert server.get("/api/v1/jobs/llama-4711-2").status == 404


def test_the_first_end_is_not_written_over(server):
    server.post("/api/v1/jobs", json={"TrainingJobName": "ends"})
    path = "/api/v1/jobs/ends/transitions"
    assert server.post(path, json={"SecondaryStatus": "Failed", "FailureReason": "first"}).status == 204
    reply = server.post(path, json={"SecondaryStatus": "Completed", "unless": ["Failed", "Stopped"]})
    assert reply.status == 409 and reply.body["field"] == "unless"
    assert job(server, "ends")["FailureReason"] == "first"
    assert server.post(path, json={"SecondaryStatus": "Completed", "unless": "Failed"}).status == 422


def test_a_command_that_cannot_run(server, ship):
    result = ship.run("--job", "no-command", "--", "/nowhere/train")
    assert result.returncode == 127 and b"/nowhere/train" in result.stderr
    assert job(server, "no-command")["TrainingJobStatus"] == "Failed"


def test_settings_come_from_the_command(server, ship, tmp_path):
    script = tmp_path / "train.py"
    script.write_text("import os\nprint(os.environ['PYTHONUNBUFFERED'])\n")
    result = ship.run("--job", "settings", "--", sys.executable, str(script), "--lr", "1e-3", "--depth=4", "--amp",
                      SLURM_JOB_NUM_NODES="4", SLURM_NODEID="1")
    assert result.stdout == b"1\n"
    document = job(server, "settings")
    assert document["HyperParameters"] == {"lr": "1e-3", "depth": "4", "amp": "true"}
    assert document["ResourceConfig"]["InstanceCount"] == 4
    assert lines(server, "settings", "algo-2") == ["1"]


def test_signals_reach_the_command(server, ship):
    script = "trap 'echo checkpoint' USR1; trap 'echo bye; exit 5' TERM; echo ready; while :; do sleep 0.05; done"
    process = ship.start("--job", "signals", "--", "sh", "-c", script)
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGUSR1)
    assert process.stdout.readline() == b"checkpoint\n"
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=20)[0] == b"bye\n"
    assert process.returncode == 5
    assert job(server, "signals")["TrainingJobStatus"] == "Stopped"
    assert "FailureReason" not in job(server, "signals"), "a stop that was asked for"


def test_the_command_outlives_us(server, ship, tmp_path):
    goal = tmp_path / "goal"
    script = f"echo ready; i=0; while [ $i -lt 20 ]; do echo line $i; i=$((i+1)); sleep 0.05; done; touch {goal}"
    process = ship.start("--job", "orphan", "--", "sh", "-c", script)
    assert process.stdout.readline() == b"ready\n"
    process.kill()
    process.wait()
    wait_until(goal.exists, what="the end of the command after sm-ship was killed")
    left = list(ship.spool.glob("*.out"))
    assert len(left) == 1 and left[0].read_bytes().endswith(b"line 19\n")


@pytest.mark.parametrize("mode", ["command", "pipe"])
def test_nothing_is_left_behind(server, ship, mode):
    result = ship.run("--job", "clean", *(["--", "echo", "x"] if mode == "command" else []), data=b"x\n")
    assert result.returncode == 0 and list(ship.spool.iterdir()) == []


def test_bytes_that_are_no_text_have_times_too(server, ship):
    process = ship.start("--job", "binary")
    before_ms = time.time() * 1000
    process.stdin.write(b"\xff\x00 one\n")
    process.communicate(timeout=30)
    assert before_ms - 1 <= server.lines("binary")[0]["ts_ms"] <= time.time() * 1000


def test_lines_are_live(server, ship):
    process = ship.start("--job", "live")
    process.stdin.write(b"first\n")
    process.stdin.flush()
    wait_until(lambda: has_line(server, "live", "first"), what="a line to be stored while the input is open")
    assert job(server, "live")["TrainingJobStatus"] == "InProgress"
    process.communicate(timeout=20)
    assert process.returncode == 0


def test_files_are_streams(server, ship, tmp_path):
    (tmp_path / "a.log").write_text("one\ntwo\n")
    (tmp_path / "b.log").write_text("three\n")
    assert ship.run("--job", "one-file", str(tmp_path / "a.log")).returncode == 0
    assert lines(server, "one-file") == ["one", "two"]
    assert ship.run("--job", "files", str(tmp_path / "a.log"), str(tmp_path / "b.log")).returncode == 0
    assert lines(server, "files", "a.log") == ["one", "two"]
    assert lines(server, "files", "b.log") == ["three"]


def test_a_file_is_followed(server, ship, tmp_path):
    path = tmp_path / "grows.log"
    path.write_text("one\n")
    process = ship.start("--job", "follow", "--follow", str(path))
    wait_until(lambda: has_line(server, "follow", "one"), what="the first line")
    with path.open("a") as file:
        file.write("two\n")
    wait_until(lambda: has_line(server, "follow", "two"), what="the second line")
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)
    assert process.returncode == 0
    assert job(server, "follow")["TrainingJobStatus"] == "Stopped"


@pytest.mark.parametrize("ahead_s", [3600, -3600])
def test_times_of_another_zone_are_not_believed_of_a_file_that_is_followed(server, ship, tmp_path, ahead_s):
    begun_s = int(time.time())
    (tmp_path / "syslog").write_text(time.strftime("%b %e %H:%M:%S gpu06 kernel: up\n", time.gmtime(begun_s + ahead_s)))
    ship.start("--job", "zone", "--follow", str(tmp_path / "syslog"))
    wait_until(lambda: len(lines(server, "zone")) == 1, what="the line")
    row, = server.get("/api/v1/jobs/zone/logs?stream=algo-1&from=0").body["lines"]
    assert begun_s * 1000 <= row["ts_ms"] <= time.time() * 1000


def test_what_was_in_a_file_before_it_was_followed_has_its_own_times(server, ship, tmp_path):
    """A syslog of ten minutes ago; what is written from then on has the time at which it is read."""
    path = tmp_path / "syslog"
    begun_s = int(time.time())
    olds = [begun_s - 600, begun_s - 590]
    text = "{} gpu06 kernel: link {}\n"

    def stamp(second):
        return time.strftime("%b %e %H:%M:%S", time.gmtime(second))

    path.write_text("".join(text.format(stamp(second), second) for second in olds))
    ship.start("--job", "old", "--follow", str(path))
    wait_until(lambda: len(lines(server, "old")) == 2, what="the lines of before")
    with path.open("a") as file:
        file.write(text.format(stamp(olds[1] + 1), "now"))
    wait_until(lambda: len(lines(server, "old")) == 3, what="the line of now")
    times = [row["ts_ms"] for row in server.get("/api/v1/jobs/old/logs?stream=algo-1&from=0").body["lines"]]
    assert times[:2] == [second * 1000 for second in olds] and times[2] >= begun_s * 1000, times


def open_files(pid):
    for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            yield os.readlink(fd)


@pytest.mark.parametrize("way", ["empty", "later"])
def test_what_comes_into_a_file_that_was_empty_or_was_not_there_has_its_own_times(server, ship, tmp_path, way):
    """In one piece: it was written before it could be read."""
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "first.log").write_text("there\n")
    path, begun_s = folder / "sys.log", int(time.time())
    olds = [begun_s - 600, begun_s - 590]
    if way == "empty":
        path.touch()
    process = ship.start("--job", way, "--follow", str(folder / "*.log"))
    wait_until(lambda: server.get(f"/api/v1/jobs/{way}/logs/raw?stream=first.log").raw == b"there\n", what="the first file")
    if way == "empty":
        wait_until(lambda: str(path) in open_files(process.pid), what="the empty file")
    stamps = [time.strftime("%b %e %H:%M:%S", time.gmtime(second)) for second in (*olds, olds[1] + 1)]
    aside = tmp_path / "aside"
    aside.write_text("".join(f"{stamp} gpu06 kernel: link\n" for stamp in stamps[:2]))
    if way == "empty":
        path.write_bytes(aside.read_bytes())
    else:
        aside.rename(path)

    def rows():
        found = server.get(f"/api/v1/jobs/{way}/logs?stream=sys.log&from=0")
        return found.body["lines"] if found.status == 200 else []

    wait_until(lambda: len(rows()) == 2, what="the lines of before")
    with path.open("a") as file:
        file.write(f"{stamps[2]} gpu06 kernel: now\n")
    wait_until(lambda: len(rows()) == 3, what="the line of now")
    times = [row["ts_ms"] for row in rows()]
    assert times[:2] == [second * 1000 for second in olds] and times[2] >= begun_s * 1000, times


def append(path, *texts):
    with path.open("a") as file:
        file.write("".join(text + "\n" for text in texts))


def wait_for_lines(server, name, texts, stream="algo-1"):
    wait_until(lambda: lines(server, name, stream) == texts, what=f"{texts} in {name}/{stream}, not {lines(server, name, stream)}")


def test_a_rotated_file_is_read_to_its_end(server, follow, tmp_path):
    path = tmp_path / "train.log"
    append(path, "one")
    follow("rotated", path)
    wait_for_lines(server, "rotated", ["one"])
    old = path.open("a")
    path.rename(tmp_path / "train.log.1")
    append(path, "three")  # before the old one's last words
    old.write("two\n")
    old.close()
    wait_for_lines(server, "rotated", ["one", "two", "three"])
    for number in range(3):
        path.rename(tmp_path / f"train.log.{number + 2}")
        append(path, f"again {number}")
        wait_for_lines(server, "rotated", ["one", "two", "three", *(f"again {n}" for n in range(number + 1))])


def test_files_that_came_and_went_while_nobody_looked_are_read(server, ship, tmp_path):
    path = tmp_path / "train.log"
    command = ["--job", "unseen", "--follow", str(path)]
    append(path, "one")
    process = ship.start(*command)
    wait_for_lines(server, "unseen", ["one"])
    process.kill()
    process.communicate()
    append(path, "two")
    append(tmp_path / "train.log.0", "older than the job")
    os.utime(tmp_path / "train.log.0", (1, 1))
    append(tmp_path / "train.logbook", "another file")
    for number in range(1, 12):
        path.rename(tmp_path / f"train.log.{number}")
        append(path, f"generation {number}")
        os.utime(path, ns=(0, time.time_ns() + number))  # coarser clocks than the order of files do exist
    process = ship.start(*command)
    wait_for_lines(server, "unseen", ["one", "two", *(f"generation {number}" for number in range(1, 12))])
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)


def test_a_truncated_file_is_read_from_its_start(server, follow, tmp_path):
    path = tmp_path / "train.log"
    append(path, "one", "two")
    follow("cut", path)
    wait_for_lines(server, "cut", ["one", "two"])
    path.write_text("a\n")
    wait_for_lines(server, "cut", ["one", "two", "a"])
    path.write_text("longer than it was before\n")  # no smaller size is ever seen
    wait_for_lines(server, "cut", ["one", "two", "a", "longer than it was before"])


def test_copytruncate_loses_nothing_that_the_copy_has(server, ship, follow, tmp_path):
    path = tmp_path / "train.log"
    append(path, "one", "two")
    process = follow("copied", path)
    wait_for_lines(server, "copied", ["one", "two"])
    process.send_signal(signal.SIGSTOP)  # so that both steps happen between two looks
    append(path, "three", "four")
    (tmp_path / "train.log.1").write_bytes(path.read_bytes())
    path.write_text("five\n")
    process.send_signal(signal.SIGCONT)
    wait_for_lines(server, "copied", ["one", "two", "three", "four", "five"])


def test_what_waits_for_the_server_survives_copytruncate(server, follow, tmp_path):
    path = tmp_path / "train.log"
    texts = [f"line {i}" for i in range(1000)]
    append(path, *texts)
    process = follow("waiting", path)
    wait_for_lines(server, "waiting", texts)
    server.kill()
    append(path, "more")
    for line in process.stderr:
        if b"lines are kept" in line:
            break
    (tmp_path / "train.log.1").write_bytes(path.read_bytes())
    path.write_text("new\n")
    server.start(f"127.0.0.1:{server.port}")
    wait_for_lines(server, "waiting", [*texts, "more", "new"])


def test_files_that_appear_are_followed(server, follow, tmp_path):
    (tmp_path / "logs" / "a").mkdir(parents=True)
    append(tmp_path / "logs" / "a" / "train.log", "a1")
    follow("many", tmp_path / "logs" / "*" / "train.log", tmp_path / "*.out")
    wait_for_lines(server, "many", ["a1"], "a/train.log")
    (tmp_path / "logs" / "b").mkdir()
    append(tmp_path / "logs" / "b" / "train.log", "b1")
    append(tmp_path / "c.out", "c1")
    wait_for_lines(server, "many", ["b1"], "b/train.log")
    wait_for_lines(server, "many", ["c1"], "c.out")
    append(tmp_path / "logs" / "a" / "train.log", "a2")
    wait_for_lines(server, "many", ["a1", "a2"], "a/train.log")


def test_a_hundred_files_at_once(server, ship, tmp_path):
    for i in range(100):
        append(tmp_path / f"rank{i}.log", *(f"{i} {j}" for j in range(20)))
    result = ship.run("--job", "hundred", str(tmp_path / "rank*.log"))
    assert result.returncode == 0, result.stderr
    for i in range(100):
        assert lines(server, "hundred", f"rank{i}.log") == [f"{i} {j}" for j in range(20)]
    nothing = ship.run("--job", "none", str(tmp_path / "no*.log"))
    assert nothing.returncode == 2 and b"no file is called" in nothing.stderr


class Writer(threading.Thread):
    """Appends numbered lines until it is stopped; renames its file every so often."""

    def __init__(self, path, seed, rotates):
        super().__init__(daemon=True)
        self.path, self.random, self.rotates = path, random.Random(seed), rotates
        self.texts, self.over, self.rotations, self.rotated_s = [], threading.Event(), 0, 0
        self.is_followed = threading.Event()  # from here on; a file that went before anybody had looked was never ours
        path.touch()

    def run(self):
        while not self.over.wait(self.random.random() * 0.02):
            with self.path.open("a") as file:
                for _ in range(self.random.choice([1, 3, 200])):
                    self.texts.append(f"line {len(self.texts)} " + "x" * self.random.randrange(80))
                    file.write(self.texts[-1] + "\n")
            if self.rotates and self.is_followed.is_set() and time.monotonic() > self.rotated_s + 2 and self.random.random() < 0.05:
                self.rotated_s = time.monotonic()  # a file that comes and goes while nobody looks was never there
                self.path.rename(self.path.with_suffix(f".log.{self.rotations}"))
                self.rotations += 1
                self.path.touch()

    def finish(self):
        self.over.set()
        self.join()
        return self.texts


@pytest.mark.parametrize("rotates", [pytest.param(False, marks=long), True])
def test_kills_of_either_side_lose_and_double_nothing(server, ship, tmp_path, rotates):
    kills = int(os.environ.get("SM_KILLS", "20"))
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    writers = [Writer(tmp_path / f"rank{i}.log", seed + i, rotates) for i in range(2)]
    pause = threading.Event()
    command = ["--job", "killed", "--follow", *(str(writer.path) for writer in writers)]
    process = ship.start(*command)
    for writer in writers:
        writer.start()
    for writer in writers:
        wait_until(lambda: lines(server, "killed", writer.path.name), what="the first lines")
        writer.is_followed.set()
    for _ in range(kills):
        pause.wait(chance.random() * 0.4)  # any moment will do
        if chance.random() < 0.6:
            process.kill()
            process.communicate()
            process = ship.start(*command)
        else:
            server.kill()
            server.start(f"127.0.0.1:{server.port}")
    for writer in writers:
        texts = writer.finish()
        wait_until(lambda: len(lines(server, "killed", writer.path.name)) >= len(texts), what="all lines", timeout=60)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 0
    for writer in writers:
        stored = lines(server, "killed", writer.path.name)
        wrong = next((i for i, pair in enumerate(zip(stored, writer.texts)) if pair[0] != pair[1]), None)
        assert wrong is None and len(stored) == len(writer.texts), (
            f"seed {seed}: {len(stored)} lines of {len(writer.texts)}; first difference at {wrong}: {stored[(wrong or 0):][:2]}")
    assert server.get("/api/v1/jobs/killed-2").status == 404


def test_a_file_goes_on_where_it_stood(server, ship, tmp_path):
    path = tmp_path / "train.log"
    append(path, "one", "two")
    assert ship.run("--job", "on", str(path)).returncode == 0
    append(path, "three")
    assert ship.run("--job", "on", "--resume", str(path)).returncode == 0
    assert lines(server, "on") == ["one", "two", "three"]
    assert ship.run("--job", "on", str(path)).returncode == 0  # not resumed: another run
    assert lines(server, "on-2") == ["one", "two", "three"]


def test_two_do_not_send_one_stream(server, ship, follow, tmp_path):
    path = tmp_path / "train.log"
    append(path, "one")
    follow("twice", path)
    wait_for_lines(server, "twice", ["one"])
    second = ship.run("--job", "twice", "--follow", str(path))
    assert second.returncode == 2 and b"another sm-ship is sending stream 'algo-1' of job 'twice'" in second.stderr


def test_without_a_server_the_lines_are_kept(ship):
    gone = f"http://127.0.0.1:{free_port()}"
    data = b"one\ntwo\n"
    result = ship.run("--job", "kept", "--server", gone, "--drain-timeout", "500ms", data=data)
    assert (result.returncode, result.stdout) == (3, data)
    left = list(ship.spool.glob("*.in"))
    assert [path.read_bytes() for path in left] == [data]
    assert b"2 lines of job 'kept'" in result.stderr and f"--spool '{ship.spool}' --send-rest".encode() in result.stderr


def test_without_a_server_the_training_runs(ship):
    gone = f"http://127.0.0.1:{free_port()}"
    result = ship.run("--job", "x", "--server", gone, "--drain-timeout", "100ms", "--", "sh", "-c", "echo hi; exit 7")
    assert (result.returncode, result.stdout) == (7, b"hi\n")


def test_a_full_spool_keeps_the_oldest_and_says_so(server, ship):
    gone = f"http://127.0.0.1:{free_port()}"
    data = b"".join(b"line %06d\n" % i for i in range(20_000))
    result = ship.run("--job", "full", "--server", gone, "--drain-timeout", "100ms", "--spool-bytes", "12000", data=data)
    assert (result.returncode, result.stdout == data) == (3, True)
    assert b"spool is full" in result.stderr and b"19000 lines (228000 bytes) were dropped" in result.stderr
    note = next(ship.spool.glob("*.rest"))
    note.write_text(note.read_text().replace(gone, server.url))
    assert ship.run("--send-rest").returncode == 0
    kept = lines(server, "full")
    assert kept[:1000] == data.decode().splitlines()[:1000]
    assert kept[1000] == "smfleet: 19000 lines (228000 bytes) were dropped because the spool was full"


class Door(BaseHTTPRequestHandler):
    """Stands before the server: may refuse, cut the connection before or after the request was done, say it otherwise."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def relay(self):
        body = self.server.rewrite(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        plan = self.server.plan.pop(0) if self.server.plan and "/logs" in self.path else "pass"
        if plan == "refuse":
            self.send_response(503)
            self.send_header("Retry-After", "1")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if plan == "cut before":
            self.close_connection = True
            return
        with socket.create_connection(self.server.behind) as there:
            head = f"{self.command} {self.path} HTTP/1.1\r\nHost: 127.0.0.1:{self.server.behind[1]}\r\nConnection: close\r\n"
            head += "".join(f"{name}: {value}\r\n" for name, value in self.headers.items() if name == "Content-Encoding")
            head += f"Content-Type: {self.headers.get('Content-Type', '')}\r\nContent-Length: {len(body)}\r\n\r\n"
            there.sendall(head.encode() + body)
            reply = b"".join(iter(lambda: there.recv(65536), b""))
        if plan != "cut after":
            self.wfile.write(reply)
        self.close_connection = True

    do_GET = do_POST = relay


@pytest.fixture
def door(server):
    address = urllib.parse.urlsplit(server.url)
    http = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    http.daemon_threads = True
    http.behind = (address.hostname, address.port)
    http.plan, http.rewrite = [], bytes
    threading.Thread(target=http.serve_forever, daemon=True).start()
    yield http
    http.shutdown()
    http.server_close()


@pytest.mark.parametrize(("command", "code", "status"), [("exit 3", 3, "Failed"), ("exit 0", 0, "Completed")])
def test_a_machine_without_a_clock_ends_its_job(server, ship, door, command, code, status):
    """Its battery is empty: it counts from 1970, which no server takes for a time. How the process ended is known all the same."""
    door.rewrite = lambda body: re.sub(rb'"(at_ms|time_ms)":[0-9]+', rb'"\1":86400000', body)
    before_s = time.time()
    result = ship.run("--job", "j", "--server", f"http://127.0.0.1:{door.server_port}", "--", "sh", "-c", f"echo step: 1 loss: 2.5; {command}")
    assert result.returncode == code
    assert b"did not take how the process ended" in result.stderr and b"1990" in result.stderr, result.stderr
    job = server.get("/api/v1/jobs/j").body
    assert job["TrainingJobStatus"] == status and before_s - 1 <= job["TrainingEndTime"] <= time.time()
    assert code == 0 or job["FailureReason"] == f"exit code {code}"


def test_a_bad_connection_loses_and_doubles_nothing(server, ship, door):
    door.plan = ["cut before", "cut after", "refuse", "cut after", "pass", "cut after", "cut before"] * 2
    texts = [f"line {i} " + "x" * 100 for i in range(20_000)]
    result = ship.run("--job", "bad", "--server", f"http://127.0.0.1:{door.server_port}",
                      data=("\n".join(texts) + "\n").encode())
    assert result.returncode == 0, result.stderr
    assert not door.plan
    assert lines(server, "bad") == texts


def test_a_server_that_comes_late(server, ship):
    address = urllib.parse.urlsplit(server.url)
    port = free_port()
    process = ship.start("--job", "late", "--server", f"http://127.0.0.1:{port}", "--", "sh", "-c",
                         "echo one; sleep 1.5; echo two")
    assert process.stdout.readline() == b"one\n"
    assert any(b"cannot connect" in line for line in process.stderr), "not before it was tried in vain"
    http = ThreadingHTTPServer(("127.0.0.1", port), Door)
    http.daemon_threads = True
    http.behind, http.plan, http.rewrite = (address.hostname, address.port), [], bytes
    threading.Thread(target=http.serve_forever, daemon=True).start()
    try:
        _, errors = process.communicate(timeout=30)
    finally:
        http.shutdown()
        http.server_close()
    assert process.returncode == 0, errors
    assert lines(server, "late") == ["one", "two"]
    assert job(server, "late")["TrainingJobStatus"] == "Completed"


@pytest.mark.parametrize("mode", ["command", "follow", "pipe"])
def test_after_an_outage_lines_have_the_times_at_which_they_were_read(server, ship, tmp_path, mode):
    path, go = tmp_path / "train.log", tmp_path / "go"
    script = f"echo early; while [ ! -e {go} ]; do sleep 0.05; done; echo late; while [ ! -e {go}2 ]; do sleep 0.05; done"
    server.kill()
    arguments = {"command": ["--", "sh", "-c", script], "follow": ["--follow", str(path)], "pipe": []}[mode]
    path.write_text("early\n")
    process = ship.start("--job", "out", *arguments)
    if mode == "pipe":
        process.stdin.write(b"early\n")
        process.stdin.flush()
    for line in process.stderr:
        if b"lines are kept" in line:
            break
    threading.Event().wait(1.5)  # the outage has to last for something
    before_ms = time.time() * 1000
    go.touch()
    append(path, "late")
    if mode == "pipe":
        process.stdin.write(b"late\n")
        process.stdin.flush()
    threading.Event().wait(0.5)
    back_ms = time.time() * 1000
    server.start(f"127.0.0.1:{server.port}")
    wait_until(lambda: server.get("/api/v1/jobs/out/streams").status == 200 and len(lines(server, "out")) == 2, what="both lines")
    (tmp_path / "go2").touch()
    if mode == "follow":
        process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    early, late = server.lines("out")
    assert early["ts_ms"] <= before_ms - 1000 and before_ms - 1 <= late["ts_ms"] <= back_ms


def test_an_outage_costs_the_training_nothing(server, ship, tmp_path):
    server.kill()
    script = "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done; echo done > " + str(tmp_path / "goal")
    process = ship.start("--job", "away", "--", "sh", "-c", script)
    taken = threading.Thread(target=process.stdout.read, daemon=True)
    taken.start()
    wait_until((tmp_path / "goal").exists, what="the training to end without a server")
    server.start(f"127.0.0.1:{server.port}")
    taken.join()
    assert process.wait(60) == 0
    process.stderr.close()
    assert lines(server, "away") == [f"line {i}" for i in range(20_000)]
    assert job(server, "away")["TrainingJobStatus"] == "Completed"


def test_a_refusal_passes_the_input_through(ship):
    class Refusal(BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_POST(self):
            body = json.dumps({"status": 403, "title": "Forbidden", "detail": "job 'x' belongs to team b"}).encode()
            self.send_response(403)
            self.send_header("Content-Type", "application/problem+json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    http = ThreadingHTTPServer(("127.0.0.1", 0), Refusal)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    data = b"line\n" * 50_000
    try:
        result = ship.run("--job", "x", "--server", f"http://127.0.0.1:{http.server_port}", data=data)
    finally:
        http.shutdown()
        http.server_close()
    assert (result.returncode, result.stdout == data) == (4, True)
    assert b"job 'x' belongs to team b" in result.stderr


@pytest.mark.parametrize("args, words", [
    (["--jbo", "x"], b"did you mean '--job'?"),
    (["--spool-bytes", "much"], b"'much' is not a size"),
    (["--hp", "lr"], b"--hp 'lr' is not of the form NAME=VALUE"),
    (["--token-file", "/nowhere/token"], b"cannot open token file '/nowhere/token'"),
    (["--server", "ftp://x"], b"'ftp://x'"),
    (["/nowhere/file.log"], b"cannot open '/nowhere/file.log'"),
    (["--"], b"a command is wanted"),
])
def test_mistakes_in_the_command_line(ship, args, words):
    result = ship.run(*args)
    assert result.returncode == 2 and words in result.stderr


def test_help_and_version(ship):
    assert b"--spool-bytes SIZE" in ship.run("--help").stdout
    assert b"`SMFLEET_SPOOL_BYTES`" in ship.run("--help-markdown").stdout
    assert ship.run("--version").stdout.startswith(b"sm-ship ")


def on_a_terminal(ship, *args, stdout):
    """What sm-ship writes to a terminal as its standard error while it sends the 20,000 lines that it is given."""
    leader, terminal = pty.openpty()
    process = subprocess.Popen([ship.program, *args], stdin=subprocess.PIPE, stderr=terminal, env=ship.env,
                               stdout=terminal if stdout == "terminal" else stdout)
    os.close(terminal)
    seen = []

    def read():
        with contextlib.suppress(OSError):  # the other end is closed
            while chunk := os.read(leader, 65536):
                seen.append(chunk)

    reader = threading.Thread(target=read)
    reader.start()
    process.communicate(b"line\n" * 20_000, timeout=60)
    reader.join(30)
    os.close(leader)
    assert process.returncode == 0
    return b"".join(seen)


def test_progress_is_shown_on_a_terminal(server, ship):
    shown = on_a_terminal(ship, "--job", "shown", stdout=subprocess.DEVNULL)
    assert b"lines/s" in shown and shown.endswith(b"sm-ship: 20000 lines sent\r\n")


def test_progress_does_not_disturb_what_is_passed_through(server, ship):
    assert on_a_terminal(ship, "--job", "passed", stdout="terminal") == b"line\r\n" * 20_000
    assert b"lines sent" not in ship.run("--job", "piped", data=b"line\n").stderr
