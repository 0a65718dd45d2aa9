"""What goes on behind an end: that stays where it was, what trained before it stays, and the order in which it is told is none of its times."""

import itertools

import pytest

from fixtures import emptied_server as server  # noqa: F401 (one process for the file)
from smserver import wait_until
from test_life import DOCUMENT, end, history, job_of, line, session, state
from test_past_exits import send

T0 = 1_760_000_000_000  # months ago
HOUR_PRICE = 36.0  # a cent a second on one node
PRICES = {"currency": "USD", "prices": [{"instance": "ml.p4d.24xlarge", "per_hour": HOUR_PRICE}]}


def at(second):
    return T0 + 1000 * second


def lines(first_s, last_s):
    return [line(at(second), f"step: {second} loss: 2.5") for second in range(first_s, last_s + 1, 10)]


def set_up(server):
    assert server.put("/api/v1/prices", json=PRICES).status == 200
    assert server.post("/api/v1/jobs", json=DOCUMENT).status == 201


def told(server):
    """What the history says but for when it was announced, in seconds."""
    return [(status, (ms - T0) // 1000) for status, ms in history(server) if status != "Starting" or ms < at(10_000)]


def check_bill(server, seconds):
    cost = round(seconds * HOUR_PRICE / 3600, 2)
    wait_until(lambda: (job_of(server)["BillableTimeInSeconds"], round(job_of(server).get("cost") or 0, 2)) == (seconds, cost), what="the bill")


@pytest.mark.parametrize("trains", ["assumed", "stated"])
@pytest.mark.parametrize("status", ["Failed", "Completed", "Stopped"])
@pytest.mark.parametrize("resume, resume_s", [("Training", 900), ("Restarting", 700), ("Starting", 700)])
def test_an_undated_end_stays_where_the_log_ended_before_the_job_went_on(server, trains, status, resume, resume_s):
    set_up(server)
    if trains == "stated":
        state(server, "Training", time_ms=at(0))
    server.send("j", lines(0, 600))
    state(server, status)
    assert told(server) == [("Training", 0), (status, 600)]
    check_bill(server, 600)
    state(server, resume, time_ms=at(resume_s))
    assert told(server)[:3] == [("Training", 0), (status, 600), (resume, resume_s)]
    assert job_of(server)["TrainingJobStatus"] == "InProgress"
    server.send("j", lines(910, 1090))
    state(server, "Stopped")
    wanted = [("Training", 0), (status, 600), (resume, resume_s)]
    wanted += [("Training", 910)] * (resume != "Training" and ("Training", 910) in told(server))  # nobody says that it trains again
    assert told(server) == [*wanted, ("Stopped", 1090)]
    if resume == "Training":
        check_bill(server, 600 + 190)
    server.restart()
    assert told(server) == [*wanted, ("Stopped", 1090)]


def test_a_restart_without_a_time_leaves_the_end_where_its_log_ended(server):
    set_up(server)
    server.send("j", lines(0, 600))
    state(server, "Failed")
    state(server, "Restarting")
    assert [status for status, _ in history(server)][-3:] == ["Training", "Failed", "Restarting"]
    assert told(server)[-3:-1] == [("Training", 0), ("Failed", 600)]
    goodput = server.get("/api/v1/jobs/j/goodput").body
    assert goodput["cost"]["billable_seconds"] < 600 + 60  # not the months between


def test_what_does_not_make_the_job_go_on_does_not_move_its_end(server):
    set_up(server)
    server.send("j", lines(0, 600))
    state(server, "Failed")
    assert state(server, "Uploading", expect=200, time_ms=at(700))["result"] == "ignored"
    assert told(server) == [("Training", 0), ("Failed", 600)]
    check_bill(server, 600)


def test_an_event_goes_on_with_an_undated_end(server):
    set_up(server)
    server.send("j", lines(0, 600))
    state(server, "Failed")
    event = {"detail-type": "SageMaker Training Job State Change", "detail": {
        "TrainingJobName": "j", "TrainingJobStatus": "InProgress", "SecondaryStatus": "Training", "LastModifiedTime": at(900),
        "SecondaryStatusTransitions": [{"Status": "Training", "StartTime": at(900)}]}}
    assert server.post("/api/v1/events", json=[event]).status == 200
    assert told(server)[-3:] == [("Training", 0), ("Failed", 600), ("Training", 900)]


@pytest.mark.parametrize("resume", ["Training", "Starting", "Restarting"])
def test_a_job_whose_process_failed_goes_on(server, resume):
    set_up(server)
    opened = session(server, past=True)
    send(server, opened, lines(0, 600))
    end(server, opened, code=1)
    assert told(server) == [("Training", 0), ("Failed", 600)]
    state(server, resume, time_ms=at(900))
    assert told(server) == [("Training", 0), ("Failed", 600), (resume, 900)]
    state(server, "Completed", time_ms=at(1000))
    assert told(server) == [("Training", 0), ("Failed", 600), (resume, 900), ("Completed", 1000)]
    if resume == "Training":
        check_bill(server, 600 + 100)
    state(server, "Stopped", time_ms=at(605))  # who states how the first run ended knows better than its exit
    assert told(server) == [("Training", 0), ("Stopped", 605), (resume, 900), ("Completed", 1000)]


@pytest.mark.parametrize("order", itertools.permutations([("Failed", 1000), ("Failed", 700), ("Completed", 800)]))
def test_an_end_told_again_at_a_later_time_ends_nothing_anew(server, order):
    set_up(server)
    server.send("j", lines(0, 600))
    for status, second in order:
        server.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": status, "time_ms": at(second)})
    assert told(server) == [("Training", 0), ("Failed", 700), ("Completed", 800)]


SPOT = [("Training", 0), ("Interrupted", 1000), ("Training", 2000), ("Interrupted", 3000), ("Training", 4000), ("Completed", 5000)]


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4, 5), (0, 2, 4, 5, 1, 3), (4, 2, 0, 3, 1, 5), (0, 4, 2, 5, 3, 1), (5, 4, 3, 2, 1, 0)])
def test_transitions_are_the_same_in_whatever_order_they_are_told(server, order):
    set_up(server)
    for n in order:
        state(server, SPOT[n][0], time_ms=at(SPOT[n][1]))
    assert told(server) == SPOT
    check_bill(server, 1000 + 1000 + 1000)


@pytest.mark.parametrize("order", itertools.permutations([("Interrupted", 120), ("Stopped", 660), ("Pending", 900)]))
def test_it_trained_between_a_break_and_an_end_in_whatever_order_they_are_told(server, order):
    """As long as the end is not known, what is told behind it says that the job still waited."""
    set_up(server)
    points = [{"metric": "loss", "value": 1, "step": second, "ts_ms": at(second)} for second in (90, 630, 1050)]
    assert server.post("/api/v1/points?job=j&stream=algo-1", json={"points": points}).status == 200
    server.wait_for_points("j", "loss", 3)
    for status, second in order:
        server.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": status, "time_ms": at(second)})
    assert told(server) == [("Training", 90), ("Interrupted", 120), ("Training", 630), ("Stopped", 660)]


def test_repeats_give_way_only_where_there_is_no_more_room(make_server):
    server = make_server("--max-statuses", "10")
    set_up(server)
    for n in range(30):
        state(server, "Training", time_ms=at(100 * n), **({"StatusMessage": "halfway"} if n == 4 else {}))
    assert told(server) == [("Training", 0)]
    assert job_of(server)["SecondaryStatusTransitions"][-1]["StatusMessage"] == "halfway"
    state(server, "Completed", time_ms=at(5000))
    check_bill(server, 5000)


@pytest.mark.parametrize("status", ["Failed", "Stopped"])
def test_an_end_with_a_time_is_not_taken_away_by_a_file_that_comes_behind(server, ship, status):
    """The first file's Completed has no time, and would move with the second file's lines behind the end that was stated since."""
    set_up(server)

    def send_file(first_s, last_s, *options):
        file = ship.folder / "part.log"
        file.write_text("".join(f"{one}\n" for one in lines(first_s, last_s)))
        sent = ship.run("--job", "j", "--stream", "algo-1", *options, str(file))
        assert sent.returncode == 0, sent.stderr

    send_file(0, 600)
    assert told(server) == [("Training", 0), ("Completed", 600)]
    state(server, status, time_ms=at(700), FailureReason="exit code 9")
    assert job_of(server)["TrainingJobStatus"] == status
    for _ in range(2):
        send_file(900, 1500, "--resume")
        assert told(server) == [("Training", 0), ("Completed", 600), (status, 700)]
        job = job_of(server)
        assert (job["TrainingJobStatus"], job.get("FailureReason")) == (status, "exit code 9")
    check_bill(server, 600)
    state(server, "Training", time_ms=at(900))  # who says that it trained again has it billed
    state(server, "Completed", time_ms=at(1500))
    assert told(server)[-2:] == [("Training", 900), ("Completed", 1500)]
    check_bill(server, 600 + 600)
