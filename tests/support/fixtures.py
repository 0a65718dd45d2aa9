"""The fixtures of integration tests and scenarios: `server` is a real sm-server with its own database on a free port."""

import os
import signal
import subprocess

import pytest

from receiver import Receiver
from smserver import Server, quote


@pytest.fixture
def server(tmp_path):
    running = Server(tmp_path).start()
    yield running
    running.close()


@pytest.fixture(scope="module")
def shared_server(tmp_path_factory):
    """One for those tests of a file that leave nothing behind: what they send is refused."""
    running = Server(tmp_path_factory.mktemp("shared")).start()
    yield running
    running.close()


@pytest.fixture
def emptied_server(shared_server):
    """The same, for tests that leave jobs behind and nothing else: they are deleted with each test, which costs a tenth of a server's start."""
    yield shared_server
    for row in shared_server.get("/api/v1/jobs?limit=1000").body["jobs"]:
        path = f"/api/v1/jobs/{quote(row['TrainingJobName'])}?purge=true"
        reply = shared_server.delete(path)
        if reply.status == 409:  # it has not ended
            shared_server.post(f"{path.partition('?')[0]}/transitions", json={"SecondaryStatus": "Completed"})
            reply = shared_server.delete(path)
        assert reply.status in (200, 204), reply
    assert shared_server.get("/api/v1/info").body["jobs"] == 0


@pytest.fixture
def make_server(tmp_path):
    """make_server("--option", …, environment={…}): for tests that need their own options, or start by themselves."""
    made = []

    def make(*arguments, environment=None, start=True):
        folder = tmp_path / f"server{len(made)}"
        folder.mkdir()
        one = Server(folder, *arguments, environment=environment)
        made.append(one)
        return one.start() if start else one

    yield make
    for one in made:
        one.close()


@pytest.fixture
def receiver():
    one = Receiver()
    yield one
    one.close()


@pytest.fixture
def ship(server, tmp_path):
    """Runs sm-ship with a clean environment; the caller adds options."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("SMFLEET_", "SLURM", "SM_"))}
    for key in ("JOB_NAME", "TRAINING_JOB_NAME", "RANK", "JOB_COMPLETION_INDEX", "LOCAL_RANK"):
        environment.pop(key, None)
    environment["SMFLEET_SERVER"] = server.url
    environment["SMFLEET_SPOOL"] = str(tmp_path / "spool")

    started = []

    class Ship:
        env = environment
        folder = tmp_path
        spool = tmp_path / "spool"
        program = str(server.bin("sm-ship"))

        def run(self, *args, data=b"", timeout=60, **env):
            return subprocess.run([self.program, *args], input=data, capture_output=True, timeout=timeout,
                                  env={**environment, **env})

        def start(self, *args, **env):
            started.append(subprocess.Popen([self.program, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=subprocess.PIPE, env={**environment, **env}, start_new_session=True))
            return started[-1]

    yield Ship()
    for process in started:
        if process.poll() is None:
            process.kill()
            process.communicate()


@pytest.fixture
def follow(ship):
    """follow(job, patterns…): a sm-ship that follows; ended with the test."""
    started = []

    def start(name, *patterns, **env):
        started.append(ship.start("--job", name, "--follow", *map(str, patterns), **env))
        return started[-1]

    yield start
    for process in started:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            errors = process.communicate(timeout=30)[1]
            assert process.returncode == 0, errors
