"""What a sm-ship could not send, because it was killed or the server was away, `sm-ship --send-rest` sends once, with the end that was seen."""

import os
import signal
import time

import pytest
from prometheus import free_port
from smserver import ROOT, wait_until


def lines(server, job, stream="algo-1"):
    return [line["text"] for line in server.lines(job, stream)]


def status(server, job):
    return server.get(f"/api/v1/jobs/{job}").body["TrainingJobStatus"]


def billed_s(server, job):
    return server.get(f"/api/v1/jobs/{job}/goodput").body["cost"]["billable_seconds"]


def facts(server, job):
    document = server.get(f"/api/v1/jobs/{job}").body
    return {key: document.get(key) for key in ("TrainingJobStatus", "TrainingEndTime", "FailureReason", "SecondaryStatusTransitions")}, lines(server, job)


@pytest.fixture
def killed(server, ship, tmp_path):
    """killed(job, count, at): a sm-ship that is killed while its command prints, which goes on and waits for the file that comes back."""
    goals = []

    def run(job, count=3000, at=1500):
        goal, told = tmp_path / f"{job}.goal", tmp_path / f"{job}.told"
        goals.append(goal)
        script = (f"i=0; while [ $i -lt {count} ]; do echo out $i; echo err $i >&2; i=$((i+1)); "
                  f"while [ $i = {at} -a ! -e {told} ]; do sleep 0.05; done; done; while [ ! -e {goal} ]; do sleep 0.05; done")
        process = ship.start("--job", job, "--hp", "lr=0.5", "--", "sh", "-c", script)
        wait_until(lambda: server.get(f"/api/v1/jobs/{job}/streams").status == 200 and lines(server, job), what="the first lines")
        process.kill()
        process.communicate()
        told.touch()
        wait_until(lambda: next(ship.spool.glob("*.err")).read_bytes().endswith(f"err {count - 1}\n".encode()), what="its last line")
        return goal

    yield run
    for goal in goals:
        goal.touch()


def check_once(server, job, count=3000):
    stored = lines(server, job)
    for kind in ("out", "err"):
        assert [line for line in stored if line.startswith(kind)] == [f"{kind} {i}" for i in range(count)]
    assert len(stored) == 2 * count


def end(ship, goal):
    goal.touch()
    texts = [*ship.spool.glob("*.out"), *ship.spool.glob("*.err")]
    wait_until(lambda: not is_open(texts), what="the end of the command")


def is_open(paths):
    wanted = {str(path) for path in paths}
    for process in os.listdir("/proc"):
        try:
            folder = f"/proc/{int(process)}/fd"
            if any(os.readlink(f"{folder}/{fd}") in wanted for fd in os.listdir(folder)):
                return True
        except (ValueError, OSError):
            continue
    return False


@pytest.fixture
def server(make_server):
    return make_server("--silent-after", "2s", "--goodput-every", "100ms")


def test_what_a_killed_sm_ship_left_is_sent_once_and_its_job_keeps_its_status(server, ship, killed):
    goal = killed("orphan")
    early = ship.run("--send-rest")
    assert early.returncode == 0 and b"is still open in a process that writes it" in early.stderr
    assert len(lines(server, "orphan")) < 6000
    end(ship, goal)
    sent = ship.run("--send-rest")
    assert sent.returncode == 0 and b"of job 'orphan' that were left are with the server; how its command ended is not known here, its status stays as it is" in sent.stderr, sent.stderr
    check_once(server, "orphan")
    assert status(server, "orphan") == "InProgress"
    assert list(ship.spool.iterdir()) == []
    document = wait_until(lambda: "worked_until_ms" in (found := server.get("/api/v1/jobs/orphan").body) and found, what="its silence")
    last_ms = server.lines("orphan")[-1]["ts_ms"]
    assert document["worked_until_ms"] == last_ms
    spent_s = last_ms / 1000 - document["TrainingStartTime"]
    wait_until(lambda: abs(billed_s(server, "orphan") - spent_s) < 0.01, what=f"{spent_s} s, not {billed_s(server, 'orphan')}")
    before = facts(server, "orphan")
    assert ship.run("--send-rest").returncode == 0
    assert facts(server, "orphan") == before


def test_a_job_whose_end_was_told_meanwhile_keeps_it(server, ship, killed):
    for number, told in enumerate(("Failed", "Completed")):
        goal = killed(f"told-{number}", 300, 100)
        end_ms = round(time.time() * 1000)
        assert server.post(f"/api/v1/jobs/told-{number}/transitions", json={"SecondaryStatus": told, "time_ms": end_ms}).status == 204
        end(ship, goal)
        sent = ship.run("--send-rest")
        assert sent.returncode == 0 and b"not known here, its status stays as it is" in sent.stderr, sent.stderr
        check_once(server, f"told-{number}", 300)
        document = server.get(f"/api/v1/jobs/told-{number}").body
        assert (document["TrainingJobStatus"], round(1000 * document["TrainingEndTime"])) == (told, end_ms)


def test_the_lines_bear_the_time_of_the_last_one(server, ship, killed):
    goal = killed("late", 300, 100)
    last_ms = max(path.stat().st_mtime for path in [*ship.spool.glob("*.out"), *ship.spool.glob("*.err")]) * 1000
    end(ship, goal)
    hour_ago = time.time() - 3600
    for path in (*ship.spool.glob("*.out"), *ship.spool.glob("*.err")):
        os.utime(path, (hour_ago, hour_ago))  # as if it had been killed an hour ago
    sent_ms = time.time() * 1000
    assert ship.run("--send-rest").returncode == 0
    check_once(server, "late", 300)
    assert last_ms < sent_ms and all(line["ts_ms"] <= last_ms for line in server.lines("late"))


def test_one_that_is_killed_while_it_sends_the_rest_is_started_again(server, ship, killed):
    goal = killed("twice", 8000, 100)
    end(ship, goal)
    for delay_s in (0.03, 0.06, 0.1, 0.15):
        process = ship.start("--send-rest")
        try:
            process.wait(delay_s)
        except Exception:  # noqa: BLE001  it runs: that is what is wanted
            process.kill()
        process.communicate()
    assert ship.run("--send-rest").returncode == 0
    check_once(server, "twice", 8000)


def test_the_next_run_of_that_name_does_not_lose_what_the_killed_one_left(server, ship, killed):
    goal = killed("again", 300, 100)
    end(ship, goal)
    assert ship.run("--job", "again", "--stream", "algo-1", "--", "echo", "next").returncode == 0
    assert ship.run("--send-rest").returncode == 0
    assert [line for line in lines(server, "again") if line != "next"].count("out 299") == 1
    assert len(lines(server, "again")) == 601 and list(ship.spool.iterdir()) == []


def test_without_a_server_the_end_is_kept_too(server, ship):
    gone = f"http://127.0.0.1:{free_port()}"
    script = "echo one; sleep 1.2; echo two; exit 7"
    result = ship.run("--job", "away", "--server", gone, "--drain-timeout", "100ms", "--", "sh", "-c", script)
    ended = time.time()
    assert result.returncode == 7 and f"sm-ship --server '{gone}' --spool '{ship.spool}' --send-rest".encode() in result.stderr
    other = ship.run("--send-rest")
    assert other.returncode == 4 and f"it is for server {gone}".encode() in other.stderr
    note = next(ship.spool.glob("*.rest"))
    note.write_text(note.read_text().replace(gone, server.url))  # the port is another's by now
    assert ship.run("--send-rest").returncode == 0
    document = server.get("/api/v1/jobs/away").body
    assert document["TrainingJobStatus"] == "Failed" and document["FailureReason"] == "exit code 7"
    assert document["TrainingEndTime"] <= ended and document["TrainingEndTime"] - document["TrainingStartTime"] >= 1.2
    assert lines(server, "away") == ["one", "two"]
    one, two = (line["ts_ms"] for line in server.lines("away"))
    assert two - one >= 1000 and two <= 1000 * ended
    assert billed_s(server, "away") <= ended - document["TrainingStartTime"] + 1
    assert list(ship.spool.iterdir()) == []
    before = facts(server, "away")
    assert ship.run("--send-rest").returncode == 0
    assert facts(server, "away") == before


@pytest.mark.parametrize("told", [None, "Completed"])
def test_a_server_that_stays_away_in_the_middle(make_server, ship, tmp_path, told):
    """An end that was told otherwise stays, whatever was seen."""
    server = make_server()
    address, killed = server.url, tmp_path / "killed"
    script = f"seq 1 1000; while [ ! -e {killed} ]; do sleep 0.05; done; seq 1001 2000; exit 3"
    process = ship.start("--job", "middle", "--server", address, "--drain-timeout", "200ms", "--", "sh", "-c", script)
    wait_until(lambda: server.get("/api/v1/jobs/middle/streams").status == 200 and len(lines(server, "middle")) == 1000, what="its lines")
    server.kill()
    killed.touch()
    process.communicate(timeout=60)
    assert process.returncode == 3
    server.start(f"127.0.0.1:{server.port}")
    end_ms = round(1000 * time.time())
    if told:
        assert server.post("/api/v1/jobs/middle/transitions", json={"SecondaryStatus": told, "time_ms": end_ms}).status == 204
    for _ in range(2):
        assert ship.run("--send-rest", "--server", address).returncode == 0
        assert lines(server, "middle") == [str(i) for i in range(1, 2001)]
        assert status(server, "middle") == (told or "Failed")
        assert not told or round(1000 * server.get("/api/v1/jobs/middle").body["TrainingEndTime"]) == end_ms


def test_what_was_left_is_not_sent_by_its_name(ship, killed):
    gone = f"http://127.0.0.1:{free_port()}"
    ship.run("--job", "kept", "--server", gone, "--drain-timeout", "100ms", data=b"one\n")
    left = str(next(ship.spool.glob("*.in")))
    result = ship.run("--job", "kept", left)
    assert result.returncode == 2 and b"--send-rest" in result.stderr
    killed("kept", 30, 10)
    for name in ("*.out", "*.err"):
        result = ship.run("--job", "kept", str(next(ship.spool.glob(name))))
        assert result.returncode == 2 and b"--send-rest" in result.stderr


@pytest.mark.parametrize("name", ["left [of] a job", "*?[a-z]{b}", "[", "it's \\ here"])
def test_a_folder_of_any_name(server, ship, tmp_path, name):
    spool, at = tmp_path / name, free_port()
    away = ship.run("--job", "named", "--server", f"http://127.0.0.1:{at}", "--spool", str(spool), "--drain-timeout", "100ms", "--", "sh", "-c", "echo one")
    assert away.returncode == 0 and b"--send-rest" in away.stderr, away.stderr
    note = next(path for path in spool.iterdir() if path.suffix == ".rest")
    note.write_text(note.read_text().replace(f"http://127.0.0.1:{at}", server.url))
    refused = ship.run("--job", "other", str(note.with_suffix(".out")))
    assert refused.returncode == 2 and b"is what a sm-ship left of a job" in refused.stderr, refused.stderr
    sent = ship.run("--send-rest", "--spool", str(spool))
    assert sent.returncode == 0 and b"1 lines of job 'named' that were left are with the server" in sent.stderr, sent.stderr
    assert lines(server, "named") == ["one"] and status(server, "named") == "Completed" and list(spool.iterdir()) == []


@pytest.mark.parametrize("kind, said", [("missing", "No such file or directory"), ("a file", "Not a directory")])
def test_a_folder_that_cannot_be_read_is_said(server, ship, tmp_path, kind, said):
    (tmp_path / "a file").touch()
    found = ship.run("--send-rest", "--spool", str(tmp_path / kind))
    assert (found.returncode, found.stderr.decode()) == (2, f"sm-ship: cannot read the folder '{tmp_path / kind}' of --spool: {said}\n")
    assert not (tmp_path / "missing").exists(), "nothing is made there"


class Machines:
    """Machine A prints 40 lines, of which the server has the first 10 when it is lost; B, with a spool of its own, goes on with the job."""

    def __init__(self, server, ship, folder):
        self.server, self.ship, self.goes_on = server, ship, folder / "goes-on"

    def begin(self, *options):
        script = f"seq -f '%03.0f on A' 1 10; while [ ! -e {self.goes_on} ]; do sleep 0.02; done; seq -f '%03.0f on A' 11 40"
        process = self.ship.start("--job", "moved", "--stream", "algo-1", "--host", "a", *options, "--", "sh", "-c", script)
        wait_until(lambda: self.server.get("/api/v1/jobs/moved/streams").status == 200 and len(lines(self.server, "moved")) == 10, what="its first lines")
        return process

    def end(self):
        self.goes_on.touch()
        wait_until(lambda: not is_open([*self.ship.spool.glob("*.out"), *self.ship.spool.glob("*.err")]), what="the end of the command")

    def take_over(self, count):
        spool = self.ship.folder / "spool-of-b"
        gone_on = self.ship.run("--job", "moved", "--resume", "--stream", "algo-1", "--host", "b", "--spool", str(spool), "--",
            "seq", "-f", "%03.0f on B", "1", str(count))
        assert gone_on.returncode == 0 and list(spool.iterdir()) == [], gone_on.stderr
        self.check(10, count)

    def check(self, of_a, of_b):
        stored = lines(self.server, "moved")
        for name, count in (("A", of_a), ("B", of_b)):
            assert [line for line in stored if line.endswith(name)] == [f"{i:03} on {name}" for i in range(1, count + 1)]
        assert len(stored) == of_a + of_b

    def send_rest(self):
        sent = self.ship.run("--send-rest", "--server", self.server.url)
        assert sent.returncode == 0 and b"sm-ship: 30 lines of job 'moved' that were left are with the server" in sent.stderr, sent.stderr
        assert list(self.ship.spool.iterdir()) == []


@pytest.mark.parametrize("count", [3, 60])
@pytest.mark.parametrize("lost", ["killed", "server away"])
def test_a_machine_that_is_lost_keeps_its_lines_while_another_goes_on_with_its_job(make_server, ship, tmp_path, lost, count):
    server = make_server("--lease", "1s")
    machines = Machines(server, ship, tmp_path)
    lost_one = machines.begin("--server", server.url, "--drain-timeout", "100ms")
    if lost == "killed":
        lost_one.kill()
        machines.end()
    else:
        server.kill()
        machines.goes_on.touch()
    lost_one.communicate(timeout=60)
    if lost == "server away":
        server.start(f"127.0.0.1:{server.port}")
    ship.env["SMFLEET_SERVER"] = server.url
    machines.take_over(count)
    machines.send_rest()
    machines.check(40, count)


@pytest.mark.parametrize("program", ["sm-ship", "sm_ship.py"])
@pytest.mark.parametrize("count", [3, 60])
def test_a_machine_that_is_back_sends_its_lines_behind_those_of_the_one_that_went_on(make_server, ship, tmp_path, count, program):
    server = make_server("--lease", "1s")
    machines = Machines(server, ship, tmp_path)
    ship.env["SMFLEET_SERVER"] = server.url
    if program == "sm_ship.py":
        ship.program = str(ROOT / "clients/sm_ship.py")
    away = machines.begin()
    away.send_signal(signal.SIGSTOP)
    machines.goes_on.touch()
    machines.take_over(count)
    away.send_signal(signal.SIGCONT)
    errors = away.communicate(timeout=60)[1]
    assert away.returncode == 0, errors
    machines.check(40, count)
    assert list(ship.spool.iterdir()) == []


# ---- how many sources it takes ----

def sources(server, job):
    """How many bytes of each; of '' there are none."""
    counts = server.get(f"/api/v1/jobs/{job}/streams?sources=true").body["streams"][0]["sources"]
    return {name: count for name, count in counts.items() if name or count}


@pytest.fixture
def small_server(make_server):
    return make_server("--max-sources", "2", "--lease", "1s")


def loop(ship, server, job, count, *words):
    """A job that fails again and again, and is started again."""
    for i in range(count):
        result = ship.run("--server", server.url, "--job", job, "--stream", "algo-1", "--host", "a", "--resume", *words, "--", "sh", "-c",
                          f"echo start {i}; exit 3")
        assert result.returncode == 3 and b"refuses" not in result.stderr, result.stderr


def test_a_job_that_is_started_again_and_again_takes_one_source(small_server, ship):
    loop(ship, small_server, "loop", 4)
    assert lines(small_server, "loop") == [f"start {i}" for i in range(4)] and status(small_server, "loop") == "Failed"
    assert list(sources(small_server, "loop").values()) == [4 * len("start 0\n")]
    assert list(ship.spool.iterdir()) == []


def test_what_a_start_left_is_no_other_starts_count(small_server, ship):
    """The first is killed and leaves lines: the next ones, on that machine, take another source each, until it is sent."""
    machines = Machines(small_server, ship, ship.folder)
    machines.begin("--server", small_server.url).kill()
    machines.end()
    loop(ship, small_server, "moved", 1)
    machines.send_rest()
    loop(ship, small_server, "moved", 3)
    stored = lines(small_server, "moved")
    assert [line for line in stored if "on A" in line] == [f"{i:03} on A" for i in range(1, 41)]
    assert [line for line in stored if "start" in line] == ["start 0", "start 0", "start 1", "start 2"] and len(stored) == 44
    assert sorted(sources(small_server, "moved").values()) == [len("start 0\n"), 40 * len("001 on A\n") + 3 * len("start 0\n")]


@pytest.mark.parametrize("program", ["sm-ship", "sm_ship.py"])
def test_where_no_source_is_left_nothing_is_lost(small_server, ship, program):
    """sm-ship keeps what the server does not take; sm_ship.py, which cannot, sends it without a source."""
    for name in "ab":
        path = f"/api/v1/logs?job=full&stream=algo-1&source={name}&offset=0"
        assert small_server.post(path, f"of {name}\n", content_type="text/plain").status == 200
    if program == "sm_ship.py":
        ship.program = str(ROOT / "clients/sm_ship.py")
    words = ["--server", small_server.url, "--job", "full", "--stream", "algo-1", "--", "sh", "-c", "seq 1 100; exit 3"]
    result = ship.run(*words)
    assert result.returncode == 3 and b"(--max-sources)" in result.stderr, result.stderr
    if program == "sm-ship":
        assert b"--send-rest" in result.stderr and len(lines(small_server, "full")) == 2
        small_server.arguments[1] = "3"
        small_server.restart()
        sent = ship.run("--send-rest", "--server", small_server.url)
        assert sent.returncode == 0 and list(ship.spool.iterdir()) == [], sent.stderr
    assert lines(small_server, "full") == ["of a", "of b", *(str(i) for i in range(1, 101))] and status(small_server, "full") == "Failed"


def test_files_that_follow_each_other_take_one_source(small_server, ship):
    """Another process completes the job; what a killed one left of a file is no other file's count."""
    env = {"RANK": "1", "WORLD_SIZE": "2"}
    for i in range(4):
        path = ship.folder / f"part-{i}.log"
        path.write_text(f"part {i}\n")
        result = ship.run("--server", small_server.url, "--job", "parts", "--stream", "algo-1", str(path), **env)
        assert result.returncode == 0, result.stderr
    assert lines(small_server, "parts") == [f"part {i}" for i in range(4)]
    assert list(sources(small_server, "parts").values()) == [4 * len("part 0\n")]
