"""A tracker's run that ends under sm-ship while the training goes on (docs/metrics.md): what is printed behind that nobody else tells."""

import json
import random
import time

import pytest

from engine import of_a_file
from faults import CHANGES, FOR_EVER, FaultyServer
from mlflowclient import call, make_run
from smserver import wait_until
from test_waiting_values import start
from test_wandb_beside import counts_of, non_finite

__all__ = ["start"]  # a fixture
JOB = "/api/v1/jobs/shipped"


def rows(first, last, nan=None):
    return [str({"loss": float("nan") if n == nan else 2 - n / 50, "epoch": n / 10}) for n in range(first, last)]


def printed(server, lines, first_s, job="shipped"):
    """One each second."""
    body = "".join(json.dumps({"log": line, "time": first_s + n}) + "\n" for n, line in enumerate(lines))
    sent = server.post(f"/api/v1/logs?job={job}&stream=algo-1", body=body.encode(), content_type="application/x-ndjson")
    assert sent.status == 200, sent
    wait_until(lambda: server.figure("extracted_seq") >= server.figure("committed_seq"), what="the extraction")


def tell(server, run, first, last, first_s):
    metrics = [{"key": "loss", "value": 2 - n / 50, "timestamp": 1000 * (first_s + n - first), "step": n} for n in range(first, last)]
    assert call(server, "runs/log-batch", {"run_id": run, "metrics": metrics})[0] == 200


def update(server, run_id, job="shipped", **members):
    """As sm-ship's relay says it."""
    assert call(server, "runs/update", {"run_id": run_id, "shipped_job": job, **members})[0] == 200


def end_job(server, at_s, job="shipped"):
    assert server.post(f"/api/v1/jobs/{job}/transitions", json={"SecondaryStatus": "Completed", "time_ms": 1000 * at_s}).status == 204


def begin(server, began_s, nan=None, rows=rows):
    """Of a training that began a minute ago: ten rows with its tracker, and the end of that."""
    printed(server, ["it begins"], began_s)
    run = make_run(server, run_name="r", job_name="shipped", start_time=1000 * began_s)
    printed(server, rows(1, 11, nan=nan), began_s + 1)
    tell(server, run, 1, 11, began_s + 1)
    update(server, run, status="FINISHED", end_time=1000 * began_s + 10_400)
    return run


def of_log(server):
    series = server.get(f"{JOB}/points?metric=train:loss&raw=true").body["series"]
    return [step for part in series for step in part["step"]]


@pytest.fixture
def server(start):
    return start("--tracker-wait", "10m")


def wait_for_counts(server, told, log):
    wanted = {"loss": (told, "loss"), "train:loss": (log, "loss")}
    wait_until(lambda: wanted.items() <= counts_of(server, JOB).items(), what=f"{wanted}, not {counts_of(server, JOB)}")


def test_what_is_printed_behind_the_end_of_the_run_is_the_log_s_own(server):
    began_s = int(time.time()) - 60
    begin(server, began_s)
    printed(server, rows(11, 31, nan=25), began_s + 11)
    wait_until(lambda: non_finite(server, "shipped") == ["train:loss"], what="the NaN")
    wait_for_counts(server, 10, 20)
    assert of_log(server) == list(range(10, 30)), "those before are the tracker's"


def test_its_first_nan_is_told_at_once(server):
    began_s = int(time.time()) - 60
    begin(server, began_s)
    printed(server, rows(11, 13, nan=12), began_s + 11)
    wait_until(lambda: non_finite(server, "shipped") == ["train:loss"], what="the NaN")
    printed(server, rows(13, 14), began_s + 13)
    wait_for_counts(server, 10, 3)


def plain(first, last, nan=None):
    return [f"loss: {'nan' if n == nan else 2 - n / 50}" for n in range(first, last)]


def with_steps(first, last, nan=None):
    return [f"step: {n} {line}" for n, line in enumerate(plain(first, last, nan), first)]


@pytest.mark.parametrize("nan", [25, 11])
def test_its_lines_that_say_their_steps_have_their_role(start, nan):
    server = start("--tracker-wait", "10m")
    began_s = int(time.time()) - 60
    begin(server, began_s, rows=plain)
    printed(server, with_steps(11, 31, nan=nan), began_s + 11)
    wait_until(lambda: non_finite(server, "shipped") == ["train:loss"], what=f"the NaN: {counts_of(server, JOB)}")
    wait_for_counts(server, 10, 20)
    server.kill()
    server.start("127.0.0.1:0")
    wait_for_counts(server, 10, 20)
    assert of_log(server) == list(range(11, 31)) and non_finite(server, "shipped") == ["train:loss"]


OTHER_FORM = 'train:loss{preset="hf-trainer"}'


def of_another_form(server, job, began_s, at_s, is_told_first):
    """Ten lines that say their steps, all of which the tracker is told; then one that says none. It ends after eleven seconds."""
    printed(server, ["it begins"], began_s, job)
    run = make_run(server, run_name=job, job_name=job, start_time=1000 * began_s)
    printed(server, with_steps(1, 11), began_s + 1, job)
    last = ["{'loss': nan, 'epoch': 1.0}"]
    if not is_told_first:
        printed(server, last, at_s, job)
    tell(server, run, 1, 11, began_s + 1)
    update(server, run, job, status="FINISHED", end_time=1000 * began_s + 10_400)
    if is_told_first:
        printed(server, last, at_s, job)
    end_job(server, began_s + 20, job)


def test_a_nan_is_told_in_whatever_form_it_is_printed(server):
    """Before the tracker's points, right behind its end, later than that, and where nobody is told: the loss had numbers, whose lines had another form."""
    began_s = int(time.time()) - 60
    of_another_form(server, "before", began_s, began_s + 11, False)
    of_another_form(server, "behind", began_s, began_s + 10.6, True)
    of_another_form(server, "later", began_s, began_s + 12, True)
    printed(server, [*with_steps(1, 11), "{'loss': nan, 'epoch': 1.0}"], began_s, "alone")
    printed(server, ["{'loss': nan, 'epoch': 0.0}", *with_steps(1, 11)], began_s, "placeholder")
    for job in ("before", "behind", "later", "alone"):
        wait_until(lambda: non_finite(server, job) == [OTHER_FORM], what=f"the NaN of {job}: {counts_of(server, f'/api/v1/jobs/{job}')}")
        (one,) = [row for row in server.get("/api/v1/incidents").body["incidents"] if row["job"] == job]
        assert (one["opened_step"], one["severity"]) == (10, "critical"), job
    printed(server, [*rows(1, 21), "step 21 loss: nan"], began_s, "unknown")
    printed(server, [*rows(1, 21), "step 21 loss: 1.5", "step 22 loss: 1.5", "step 23 loss: nan", "step 24 loss: nan"], began_s, "unknown-twice")
    printed(server, [*rows(1, 21), "loss: nan"], began_s, "unknown-bare")
    printed(server, ["loss: nan", *rows(1, 21)], began_s, "placeholder-bare")
    for job in ("unknown", "unknown-twice", "unknown-bare"):
        wait_until(lambda: non_finite(server, job) == ['train:loss{preset="generic"}'], what=f"the NaN of {job}: {counts_of(server, f'/api/v1/jobs/{job}')}")
    assert non_finite(server, "placeholder") == non_finite(server, "placeholder-bare") == [], "printed before there was any number"


def tell_none(server, run, step, at_s):
    assert call(server, "runs/log-batch", {"run_id": run, "metrics": [{"key": "loss", "value": "NaN", "timestamp": 1000 * at_s, "step": step}]})[0] == 200


GUESSED = 'train:loss{preset="generic"}'
LATE_NAN = {  # name: (what the log prints of each step beside a tracker, the NaN's lines, the rows of the list)
    "step": (rows, ["step 21 | loss nan"], [GUESSED]),
    "bare": (rows, ["loss: nan"], [GUESSED]),
    "thrice": (rows, ["step 21 | loss nan", "step 22 | loss nan", "step 23 | loss nan"], [GUESSED]),
    "in-two-forms": (rows, ["step 21 | loss nan", "{'loss': nan, 'epoch': 2.1}"], [GUESSED]),
    "the-other-way": (rows, ["{'loss': nan, 'epoch': 2.1}", "step 21 | loss nan"], ["train:loss"]),
    "of-one-form": (plain, ["step 21 loss: nan"], ["train:loss"]),
    "nothing-else": (lambda *steps: [], ["step 21 | loss nan"], ["train:loss"]),
    "another-metric": (rows, ["step 21 | grad_norm nan", "aux: nan", "step 22 | aux_loss nan"], []),
}


@pytest.mark.parametrize("tells_first", [True, False])
def test_a_nan_that_no_format_knows_is_told_once_beside_a_tracker(start, tells_first):
    """Whether the tracker has told the numbers by then, or they wait for it yet; it is never told the NaN."""
    server = start("--tracker-wait", "10m" if not tells_first else "1s")
    began_s = int(time.time()) - 60
    for job, (of_step, nan, _) in LATE_NAN.items():
        printed(server, ["it begins"], began_s, job)
        run = make_run(server, run_name=job, job_name=job, start_time=1000 * began_s)
        printed(server, of_step(1, 21), began_s + 1, job)
        if tells_first:
            tell(server, run, 1, 21, began_s + 1)
            printed(server, nan, began_s + 21, job)
        else:
            printed(server, nan, began_s + 21, job)
            tell(server, run, 1, 21, began_s + 1)
            end_job(server, began_s + 40, job)
    for job, (_, _, wanted) in LATE_NAN.items():
        if not tells_first and job in ("nothing-else", "of-one-form"):
            continue  # no number was known of: the first word of its lines, or what waited is the log's own
        wait_until(lambda: non_finite(server, job) == wanted, what=f"the NaN of {job}: {non_finite(server, job)}, {counts_of(server, f'/api/v1/jobs/{job}')}")
        assert wanted or "loss" in counts_of(server, f"/api/v1/jobs/{job}")
    for job in LATE_NAN:
        end_job(server, began_s + 40, job)
    for job, (_, _, wanted) in LATE_NAN.items():
        wait_until(lambda: server.get(f"/api/v1/jobs/{job}").body["TrainingJobStatus"] == "Completed", what="its end")
        if tells_first or job not in ("nothing-else", "of-one-form"):
            assert non_finite(server, job) == wanted, job


@pytest.mark.parametrize("is_last_word_first", [True, False])
def test_lines_that_say_their_step_keep_their_role_beside_a_tracker(start, is_last_word_first):
    """Though the log says the same metric without a step now and then, as an epoch's last word: a spike between two points that are told is found."""
    server = start("--tracker-wait", "1s")
    began_s = int(time.time()) - 600
    printed(server, ["it begins"], began_s)
    run = make_run(server, run_name="r", job_name="shipped", start_time=1000 * began_s)
    tell(server, run, 1, 3, began_s + 1)
    if is_last_word_first:
        printed(server, ["loss: 2.96"], began_s + 2)
    value = lambda n: 2.5 - n / 500 + (n * 7919 % 13 - 6) / 300 + (3 if 230 <= n < 250 else 0)
    lines = [text for n in range(1, 301) for text in ([f"[rank0] step={n} loss={value(n):.4f} lr=1e-4"] + ([f"loss: {value(n):.4f}"] if n % 40 == 20 else []))]
    printed(server, lines, began_s + 3)
    tell(server, run, 3, 4, began_s + 320)

    def found():
        kinds = {row["kind"] for row in server.get("/api/v1/incidents?all=true").body["incidents"]}
        roles = {row["metric"]: row["role"] for row in server.get(f"{JOB}/metrics").body["series"]}
        return roles.get("train:loss") == "loss" and kinds & {"loss_spike", "divergence"}
    wait_until(found, what="what the log's own steps say")


def test_a_nan_that_both_tell_is_one_row(start):
    """At the same step, at the tracker's next one, and within the wait; but with a number told in between it is another NaN."""
    server = start("--tracker-wait", "2s")
    began_s = int(time.time()) - 60
    told = lambda job: sorted(row["metric"] for row in server.get("/api/v1/incidents?all=true").body["incidents"] if row["job"] == job)
    for job, nan, until, at, rows_wanted, all_wanted in (
            ("same", "step 21 | loss nan", 21, 21, [GUESSED], ["loss", GUESSED]), ("next", "step 21 | loss nan", 21, 30, [GUESSED], ["loss", GUESSED]),
            ("waits", "loss: nan", 21, 30, ["loss"], ["loss"]), ("again", "step 21 | loss nan", 26, 30, ["loss", GUESSED], ["loss", GUESSED])):
        printed(server, ["it begins"], began_s, job)
        run = make_run(server, run_name=job, job_name=job, start_time=1000 * began_s)
        printed(server, rows(1, 21), began_s + 1, job)
        tell(server, run, 1, 21, began_s + 1)
        printed(server, [nan], began_s + 21, job)
        if job != "waits":
            wait_until(lambda: told(job) == [GUESSED], what=f"the log's of {job}")
        if until > 21:
            tell(server, run, 22, until, began_s + 22)
        tell_none(server, run, at, began_s + at)
        wait_until(lambda: told(job) == all_wanted, what=f"all of {job}: {told(job)}")
        end_job(server, began_s + 40, job)
        wait_until(lambda: server.get(f"/api/v1/jobs/{job}").body["TrainingJobStatus"] == "Completed", what="its end")
        assert (sorted(non_finite(server, job)), told(job)) == (rows_wanted, all_wanted), job


@pytest.mark.parametrize("stream", ["algo-1", "console"])
@pytest.mark.parametrize("is_told_first", [True, False])
def test_a_nan_between_two_points_of_the_tracker_is_one_row_whichever_comes_first(start, is_told_first, stream):
    """W&B's client posts its history before the console, where the same steps are lines."""
    server = start()
    began_ms = int(time.time()) * 1000 - 310_000
    of = lambda job, query="": sorted((row["metric"], row["first_step"]) for row in server.get(f"/api/v1/incidents?kind=non_finite{query}").body["incidents"] if row["job"] == job)
    at = lambda step: began_ms + 1000 * step

    def tell_points(job, first, last, told_nan):
        steps = range((first + 9) // 10 * 10, last + 1, 10)
        series = {"metric": "loss", "step": list(steps), "ts_ms": [at(n) for n in steps], "value": ["NaN" if n in told_nan else 2.6 for n in steps]}
        assert server.post(f"/api/v1/points?job={job}&stream=algo-1", json={"series": [series]}).status == 200
        server.wait_for_extraction()

    def print_lines(job, first, last, printed_nan):
        lines = [json.dumps({"log": f"step {n}/600 | loss {'nan' if n in printed_nan else 2.6} | lr 3.0e-04", "time": (at(n) + 3) / 1000}) for n in range(first, last + 1)]
        assert server.post(f"/api/v1/logs?job={job}&stream={stream}", "\n".join(lines), content_type="application/x-ndjson").status == 200
        server.wait_for_extraction()
    for job, told_nan, printed_nan in (("between", {210}, range(204, 217)), ("another", {210, 220}, range(196, 199)), ("later", {210}, [222])):
        parts = [lambda *span: tell_points(job, *span, told_nan), lambda *span: print_lines(job, *span, printed_nan)]
        for span in ((1, 190), (191, 230), (231, 300)):
            for part in parts if is_told_first else reversed(parts):
                part(*span)
        both = [("loss", 210), ("train:loss", printed_nan[0])]
        wait_until(lambda: of(job, "&all=true") == both, what=f"both of {job}: {of(job, '&all=true')}")
        wanted = both if job != "between" else both[:1] if is_told_first else both[1:]
        wait_until(lambda: of(job) == wanted, what=f"the rows of {job}: {of(job)}")


@pytest.mark.parametrize("is_told_first", [True, False])
def test_a_divergence_that_both_tell_is_one_row_though_one_is_sure_later(server, is_told_first):
    """A loss that is printed with fewer digits, and told: where it began is the same step."""
    began_ms, noise = int(time.time()) * 1000 - 65_000, random.Random(1)
    values = {n: (2.2 + 3 / (1 + n / 60) + noise.gauss(0, 0.02)) * (2.2 if 303 <= n <= 332 else 1) for n in range(1, 601)}

    def tell_points(first, last):
        steps = list(range(first, last + 1))
        series = {"metric": "loss", "step": steps, "ts_ms": [began_ms + 100 * n for n in steps], "value": [values[n] for n in steps]}
        assert server.post("/api/v1/points?job=j&stream=algo-1", json={"series": [series]}).status == 200
        server.wait_for_extraction()

    def print_lines(first, last):
        lines = [json.dumps({"log": f"step {n}/600 | loss {values[n]:.4f} | lr 3.0e-04", "time": (began_ms + 100 * n + 3) / 1000}) for n in range(first, last + 1)]
        assert server.post("/api/v1/logs?job=j&stream=console", "\n".join(lines), content_type="application/x-ndjson").status == 200
        server.wait_for_extraction()
    for span in ((1, 200), (201, 300), (301, 320), (321, 600)):
        for part in (tell_points, print_lines) if is_told_first else (print_lines, tell_points):
            part(*span)
    of = lambda query="": [(row["metric"], row["first_step"], row["opened_step"]) for row in server.get(f"/api/v1/incidents?kind=divergence{query}").body["incidents"]]
    wait_until(lambda: len(of("&all=true")) == 2, what=f"both: {of('&all=true')}")
    both = of("&all=true")
    assert both[0][1] == both[1][1] and both[0][2] != both[1][2], both
    assert len(of()) == 1, of()


def test_a_kill_while_the_first_ones_wait_changes_nothing(server):
    began_s = int(time.time()) - 60
    begin(server, began_s)
    printed(server, rows(11, 13), began_s + 11)
    server.kill()
    server.start("127.0.0.1:0")
    printed(server, rows(13, 14), began_s + 13)
    wait_for_counts(server, 10, 3)
    assert of_log(server) == [10, 11, 12]


def test_a_last_word_about_the_training_is_no_curve(server):
    began_s = int(time.time()) - 60
    begin(server, began_s)
    printed(server, rows(11, 12), began_s + 11)
    end_job(server, began_s + 12)
    wait_until(lambda: counts_of(server, JOB).get("loss") == (10, "loss"), what="the roles")
    server.stop()
    server.start()
    assert "train:loss" not in counts_of(server, JOB)


def test_what_is_read_behind_the_job_s_end_is_not_its_own(server):
    began_s = int(time.time()) - 60
    begin(server, began_s)
    end_job(server, began_s + 11)
    printed(server, rows(11, 31, nan=25), began_s + 12)
    end_job(server, began_s + 11)
    wait_until(lambda: counts_of(server, JOB).get("loss") == (10, "loss"), what="the roles")
    assert counts_of(server, JOB).get("train:loss", (0, ""))[0] <= 1, "but for the NaN, which is told once in any case"


def test_a_run_that_goes_on_has_its_metrics_again(server):
    began_s = int(time.time()) - 60
    run = begin(server, began_s)
    printed(server, rows(11, 16), began_s + 11)
    wait_for_counts(server, 10, 5)
    update(server, run, status="RUNNING", resumed_time=1000 * (began_s + 16))
    printed(server, rows(16, 21), began_s + 17)
    tell(server, run, 16, 21, began_s + 17)
    wait_until(lambda: counts_of(server, JOB)["loss"] == (15, "loss"), what="what it tells")
    wait_until(lambda: counts_of(server, JOB)["train:loss"] == (5, "other"), what="the log to give way")
    server.kill()
    server.start("127.0.0.1:0")
    wait_until(lambda: counts_of(server, JOB).get("train:loss") == (5, "other"), what="the same after a kill")
    assert of_log(server) == list(range(10, 15))
    update(server, run, status="FINISHED", end_time=1000 * began_s + 21_400)
    printed(server, rows(21, 26), began_s + 22)
    wait_for_counts(server, 15, 10)
    assert of_log(server) == [*range(10, 15), *range(20, 25)]


def test_what_is_told_before_the_log_of_a_run_that_goes_on_may_be_sent(server):
    """After a kill of sm-ship the next one waits until that one's lease is over; its relay does not."""
    began_s = int(time.time()) - 60
    rows = lambda first, last: [f"loss: {2 - n / 50} acc: {n / 100}" for n in range(first, last)]
    printed(server, ["it begins"], began_s)
    run = make_run(server, run_name="r", job_name="shipped", start_time=1000 * began_s)
    printed(server, rows(1, 11), began_s + 1)
    tell(server, run, 1, 11, began_s + 1)
    assert call(server, "runs/update", {"run_id": run, "status": "FINISHED", "end_time": 1000 * began_s + 11_000})[0] == 200, "a client alone ends the job"
    update(server, run, status="RUNNING", resumed_time=1000 * (began_s + 20))
    tell(server, run, 11, 21, began_s + 21)
    update(server, run, status="FINISHED", end_time=1000 * began_s + 31_000)
    wait_until(lambda: counts_of(server, JOB)["loss"] == (20, "loss"), what="what was told")
    waited_ms = int(1000 * (time.time() - began_s - 20))
    opened = server.post("/api/v1/sessions", json={"job": "shipped", "stream": "algo-1", "resume": True, "waited_ms": waited_ms})
    assert opened.status == 201, opened
    printed(server, rows(11, 21), began_s + 21)
    ended = {"exit": {"code": 0, "at_ms": 1000 * began_s + 32_000}}
    assert server.post(f"/api/v1/sessions/{opened.body['session']}", json=ended).status == 200
    wait_until(lambda: counts_of(server, JOB).get("acc", (0,))[0] == 20, what="what nobody told")
    assert counts_of(server, JOB)["loss"] == (20, "loss") and "train:loss" not in counts_of(server, JOB), counts_of(server, JOB)


def test_a_training_with_another_run_has_told_it_that(server):
    """Which is a job of its own. What is printed behind its end is of none of both."""
    began_s = int(time.time()) - 60
    begin(server, began_s)
    other = make_run(server, run_name="r2", job_name="shipped", start_time=1000 * (began_s + 11))
    printed(server, rows(11, 31), began_s + 12)
    update(server, other, status="FINISHED", end_time=1000 * (began_s + 32))
    printed(server, rows(31, 36, nan=35), began_s + 33)
    wait_until(lambda: non_finite(server, "shipped") == ["train:loss"], what="the NaN")
    wait_for_counts(server, 10, 5)
    end_job(server, began_s + 40)
    server.kill()
    server.start("127.0.0.1:0")
    wait_for_counts(server, 10, 5)


def test_a_run_that_began_beside_it_has_told_it_too(server):
    """Both were open: nobody knows then what of the log is of which."""
    began_s = int(time.time()) - 60
    printed(server, ["it begins"], began_s)
    run = make_run(server, run_name="r", job_name="shipped", start_time=1000 * began_s)
    other = make_run(server, run_name="r2", job_name="shipped", start_time=1000 * began_s + 10)
    printed(server, rows(1, 11), began_s + 1)
    tell(server, run, 1, 11, began_s + 1)
    for run in (run, other):
        update(server, run, status="FINISHED", end_time=1000 * began_s + 10_400)
    printed(server, rows(31, 36), began_s + 33)
    end_job(server, began_s + 40)
    wait_until(lambda: counts_of(server, JOB).get("loss") == (10, "loss"), what="the roles")
    assert "train:loss" not in counts_of(server, JOB)


@pytest.fixture
def faulty(tmp_path):
    server = FaultyServer(tmp_path / "faulty", "--tracker-wait", "10m").start()
    yield server
    server.disk.mend()
    server.close()


def fail(server, path, body):
    """Nothing of it is stored, which the client is told."""
    server.disk.arm(1, CHANGES, count=FOR_EVER)
    status, reply = call(server, path, body)
    server.disk.mend()
    assert status >= 500, (status, reply)


@of_a_file("whose disk fails")
def test_an_end_that_was_not_stored_leaves_the_log_to_the_tracker(faulty):
    began_s = int(time.time()) - 60
    printed(faulty, ["it begins"], began_s)
    run = make_run(faulty, run_name="r", job_name="shipped", start_time=1000 * began_s)
    printed(faulty, rows(1, 11), began_s + 1)
    tell(faulty, run, 1, 11, began_s + 1)
    ends = {"run_id": run, "shipped_job": "shipped", "status": "FINISHED", "end_time": 1000 * began_s + 10_400}
    fail(faulty, "runs/update", ends)
    printed(faulty, rows(11, 31), began_s + 11)
    update(faulty, **ends)
    printed(faulty, rows(31, 36), began_s + 31)
    wait_for_counts(faulty, 10, 5)
    assert of_log(faulty) == list(range(30, 35)), "those before were printed while the tracker was to tell them"


@of_a_file("whose disk fails")
def test_another_run_that_was_not_stored_leaves_the_log_alone(faulty):
    began_s = int(time.time()) - 60
    begin(faulty, began_s)
    other = {"experiment_id": "0", "run_name": "r2", "job_name": "shipped", "start_time": 1000 * (began_s + 11)}
    fail(faulty, "runs/create", other)
    printed(faulty, rows(11, 31), began_s + 12)
    wait_for_counts(faulty, 10, 20)
    assert of_log(faulty) == list(range(10, 30))


@pytest.mark.parametrize("is_ended", [False, True])
def test_a_kill_changes_nothing_of_it(start, is_ended):
    """All lines are read again: other metrics wait yet."""
    server = start("--tracker-wait", "10m")
    began_s = int(time.time()) - 60
    begin(server, began_s)
    printed(server, rows(11, 31, nan=25), began_s + 11)
    wait_until(lambda: non_finite(server, "shipped") == ["train:loss"], what="the NaN")
    if is_ended:
        end_job(server, began_s + 31)
    wait_for_counts(server, 10, 20)
    server.kill()
    server.start("127.0.0.1:0")
    wait_for_counts(server, 10, 20)
    assert of_log(server) == list(range(10, 30)) and non_finite(server, "shipped") == ["train:loss"]
    if not is_ended:
        printed(server, rows(31, 36), began_s + 31)
        wait_for_counts(server, 10, 25)
