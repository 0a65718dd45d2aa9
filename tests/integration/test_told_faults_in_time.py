"""A fault that another job's log tells of counts as one of this job's own log would, at its time: only while the machine sends a stream of this job."""

import time

from smserver import wait_until
from test_faults_told_elsewhere import BARE, tell
from test_hosts import drained
from test_known_fault import MINUTE, causes, fail, failed, send


def train(server, job, stream, host, first_ms, steps, every_ms=10_000, loss=3.0):
    send(server, job, stream, *[(first_ms + n * every_ms, f"step {step} loss: {loss - step / 1000:.4f}") for n, step in enumerate(steps)], host=host)


def outcome(server, job, host):
    """What each place says of the fault of that machine: they are one."""
    server.wait_for_extraction()
    document, incident = failed(server, job, fault=bool(server.get(f"/api/v1/jobs/{job}").body.get("FailureReason")))
    fault = incident["evidence"].get("fault", {}).get("host") == host
    assert fault == (host in document.get("FailureReason", "")), document
    return fault, causes(server, job)[-1] == "xid_79", server.get(f"/api/v1/nodes/{host}").body["restarts"] > 0


def suspects(server, job):
    rows = server.get(f'/api/v1/incidents?q=name="{job}"&kind=node_suspect&all=true').body["incidents"]
    return [row["evidence"]["host"] for row in rows]


def test_what_was_told_before_the_first_line_is_none_of_it(server):
    now = int(time.time() * 1000)
    for n, (before, lasts) in enumerate(((30_000, 10), (5 * MINUTE, 10), (20 * MINUTE, 10), (50 * MINUTE, 5))):
        job, host, first = f"bf-{n}", f"bf-{n}", now - 30 * MINUTE
        tell(server, f"kern-{n}", host, first - before, central=f"bf-central-{n}")
        train(server, job, "algo-1", host, first, range(1, lasts * 6))
        fail(server, job, time_ms=first + lasts * MINUTE)
        assert outcome(server, job, host) == (False, False, False), before
        assert suspects(server, job) == []
    # in its time it is
    train(server, "in", "algo-1", "bf-in", now - 30 * MINUTE, range(1, 60))
    tell(server, "kern-in", "bf-in", now - 25 * MINUTE, central="bf-central-in")
    fail(server, "in", time_ms=now - 20 * MINUTE)
    assert outcome(server, "in", "bf-in") == (True, True, True)
    assert suspects(server, "in") == ["bf-in"]


def test_what_was_told_before_the_first_line_came_is_of_the_job_that_ran_then(server):
    """A shipper that lags behind the fleet's syslog: the times in the log say who was there."""
    now = int(time.time() * 1000)
    first = now - 10 * MINUTE
    tell(server, "kern-tb", "tb-1", first + 2 * MINUTE, central="tb-central")
    train(server, "tb", "algo-1", "tb-1", first, range(1, 31))
    train(server, "tb", "algo-2", "tb-2", first, range(1, 31))
    wait_until(lambda: suspects(server, "tb") == ["tb-1"], what="the fault of its machine")
    (row,) = server.get("/api/v1/incidents?q=name%3Dtb&kind=node_suspect&all=true").body["incidents"]
    assert row["evidence"]["told_by"] == "kern-tb" and not row["is_historic"] and row["opened_ms"] == first + 2 * MINUTE
    # more lines, and a restart of the server, make no second one of it
    train(server, "tb", "algo-1", "tb-1", first + 5 * MINUTE, range(31, 40))
    server.restart()
    train(server, "tb", "algo-1", "tb-1", first + 7 * MINUTE, range(40, 45))
    # its lines reach the fault hours behind the first ones
    long_ago = now - 4 * 60 * MINUTE
    tell(server, "kern-tl", "tl-1", now - 2 * MINUTE, central="tb-central")
    train(server, "tl", "algo-1", "tl-1", long_ago, range(1, 3))
    server.wait_for_extraction()
    assert suspects(server, "tl") == []
    train(server, "tl", "algo-1", "tl-1", now - 10 * MINUTE, range(3, 60))
    wait_until(lambda: suspects(server, "tl") == ["tl-1"], what="the fault that came later")
    # what somebody cleared is none
    tell(server, "kern-tc", "tc-1", first + 2 * MINUTE, central="tb-central")
    assert server.patch("/api/v1/jobs/kern-tc", json={"by_hand": {"faults": {"all:0": "a drill"}}}).status == 200
    train(server, "tc", "algo-1", "tc-1", first, range(1, 31))
    server.wait_for_extraction()
    tell(server, "kern-td", "td-1", first + 2 * MINUTE, central="tb-central")
    train(server, "td", "algo-1", "td-1", first, range(1, 31))
    wait_until(lambda: suspects(server, "td") == ["td-1"], what="what was told behind all that")
    assert suspects(server, "tc") == [] and suspects(server, "tb") == ["tb-1"]


def test_many_faults_of_one_machine_hide_none_of_another_that_was_told_first(server):
    now = int(time.time() * 1000)
    first = now - 50 * MINUTE
    stamp = lambda at_ms: time.strftime("%b %d %H:%M:%S", time.gmtime(at_ms / 1000))
    for k in range(105):
        at = first + 10_000 + k * 20_000
        send(server, "kern-no", f"relay-{k}", (at, f"{stamp(at)} no-1 kernel: {BARE}"), host=f"no-central-{k}")
    tell(server, "kern-no", "no-2", first + 48 * MINUTE, central="no-central")
    wait_until(lambda: sum(row["lines"] for row in server.get("/api/v1/nodes/no-1").body["faults"]) == 105, what="the faults of the other one")
    for n in (1, 2):
        train(server, "no", f"algo-{n}", f"no-{n}", first, range(1, 300))
    wait_until(lambda: set(suspects(server, "no")) == {"no-1", "no-2"}, what="both machines")


def test_as_many_jobs_hear_of_a_fault_whether_it_or_their_lines_came_first(server):
    now = int(time.time() * 1000)
    first = now - 10 * MINUTE
    heard = {}
    for order in ("told-last", "told-first"):
        for count in (12, 20):
            host = f"{order}-{count}"
            trains = lambda: [train(server, f"{host}-{n:02d}", "algo-1", host, first, range(1, 31)) for n in range(count)]
            tells = lambda: tell(server, f"kern-{host}", host, first + 2 * MINUTE, central=f"central-{host}")
            for step in (trains, tells) if order == "told-last" else (tells, trains):
                step()
                server.wait_for_extraction()
            heard[host] = lambda host=host, count=count: [f"{host}-{n:02d}" for n in range(count) if suspects(server, f"{host}-{n:02d}")]
    for order in ("told-last", "told-first"):
        wait_until(lambda: len(heard[f"{order}-12"]()) == 12, what=f"all of few, {order}")
        wait_until(lambda: len(heard[f"{order}-20"]()) >= 16, what=f"of more, {order}")
    server.wait_for_extraction()
    assert {name: len(jobs()) for name, jobs in heard.items()} == {"told-last-12": 12, "told-last-20": 16, "told-first-12": 12, "told-first-20": 16}
    assert heard["told-last-20"]()[0] == "told-last-20-04"  # the newest ones


def test_what_the_training_survived_is_not_why_it_failed_later(server):
    """By its steps, which went back, and by its status."""
    now = int(time.time() * 1000)
    first = now - 14 * MINUTE
    for how in ("steps", "status"):
        job, host = f"sv-{how}", f"sv-{how}-2"
        for n in (1, 2):
            train(server, job, f"algo-{n}", f"sv-{how}-{n}", first, range(1, 31))
        tell(server, f"kern-{how}", host, first + 295_000, central=f"sv-central-{how}")
        if how == "status":
            for status, at_ms in (("Restarting", 310_000), ("Training", 400_000)):
                assert server.post(f"/api/v1/jobs/{job}/transitions", json={"SecondaryStatus": status, "time_ms": first + at_ms}).status == 204
        again = 20 if how == "steps" else 31
        for n, name in ((1, f"sv-{how}-1"), (3, f"sv-{how}-3")):
            train(server, job, f"algo-{n}", name, first + 440_000, range(again, again + 20))
        server.wait_for_extraction()
        fail(server, job, time_ms=first + 700_000)
        failed(server, job, fault=False)
        assert "FailureReason" not in server.get(f"/api/v1/jobs/{job}").body
        assert causes(server, job)[0] == "xid_79" and causes(server, job)[-1] != "xid_79"
        assert server.get(f"/api/v1/nodes/{host}").body["restarts"] == 1  # that of before


def test_the_window_behind_the_last_step_is_that_of_the_jobs_own_log(server):
    now = int(time.time() * 1000)
    first = now - 150 * MINUTE
    last = first + 6_900_000  # 70 steps of 100 s
    for minutes, is_why in ((29, True), (31, False), (45, False), (58, False)):
        for kind in ("own", "told"):
            job = host = f"ag-{kind}-{minutes}"
            train(server, job, "algo-1", host, first, range(1, 71), every_ms=100_000)
            stream = {"own": (job, host), "told": (f"kern-{minutes}", f"ag-central-{minutes}")}[kind]
            tell(server, stream[0], host, last - minutes * MINUTE, central=stream[1])
            fail(server, job, time_ms=last + MINUTE)
            assert outcome(server, job, host) == (is_why,) * 3, job


def test_a_machine_that_works_for_another_job_since_has_left(server):
    """It told nobody that it left: its stream fell silent, and it sends to another job now. One that is only silent is still there."""
    now = int(time.time() * 1000)
    first = now - 60 * MINUTE
    train(server, "ml-1", "algo-1", "ml-1", first, range(1, 150))
    train(server, "ml-1", "algo-2", "ml-2", first, range(1, 62))
    train(server, "ml-2", "algo-1", "ml-2", first + 15 * MINUTE, range(1, 100))
    train(server, "ml-3", "algo-1", "ml-3", first, range(1, 150))
    train(server, "ml-3", "algo-2", "ml-4", first, range(1, 62))
    for host in ("ml-2", "ml-4"):
        tell(server, f"kern-{host}", host, first + 24 * MINUTE, central=f"ml-central-{host}")
    server.wait_for_extraction()
    for job in ("ml-1", "ml-2", "ml-3"):
        fail(server, job, time_ms=first + 32 * MINUTE)
    assert outcome(server, "ml-1", "ml-2")[:2] == (False, False)
    assert outcome(server, "ml-2", "ml-2") == (True, True, True)
    assert outcome(server, "ml-3", "ml-4") == (True, True, True)
    assert server.get("/api/v1/nodes/ml-2").body["restarts"] == 1  # of ml-2 alone
    assert [suspects(server, job) for job in ("ml-1", "ml-2", "ml-3")] == [[], ["ml-2"], ["ml-4"]]


def test_a_machine_whose_session_lasts_is_there_however_long_it_prints_nothing(server):
    """Most ranks print one line: the second of two by its session, or its exit; without one it is silent, and it has left where it sends to
    another job, or where another machine has the session. All of it is told ahead of its time: a session is opened when it is."""
    now = int(time.time() * 1000)
    end = now + 40 * MINUTE

    def open_session(job, n, host):
        return server.post("/api/v1/sessions", json={"job": job, "stream": f"algo-{n}", "host": host, "run_key": job}).body["session"]

    for job in ("se-held", "se-exit", "se-none", "se-left", "se-other"):
        opened = {n: open_session(job, n, f"{job}-{n}") for n in (1, 2) if job != "se-none"}
        first = now - 20 * MINUTE if job == "se-other" else now
        train(server, job, "algo-1", f"{job}-1", now, range(1, 230))
        send(server, job, "algo-2", (first, "rank 1 up"), host=f"{job}-2")
        if job == "se-left":
            train(server, "se-next", "algo-1", f"{job}-2", now + 10 * MINUTE, range(1, 60))
        tell(server, f"kern-{job}", f"{job}-2", end - 90_000, central=f"central-{job}")
        server.wait_for_extraction()
        if job == "se-exit":
            assert server.post(f"/api/v1/sessions/{opened[2]}", json={"exit": {"code": 134, "at_ms": end}}).status == 200
        if job == "se-none":
            fail(server, job, time_ms=end)
        else:
            assert server.post(f"/api/v1/sessions/{opened[1]}", json={"exit": {"code": 1, "at_ms": end}}).status == 200
        wait_until(lambda job=job: server.get(f"/api/v1/jobs/{job}").body["TrainingJobStatus"] == "Failed", what=f"the end of {job}")
    for job in ("se-held", "se-exit"):
        wait_until(lambda job=job: f"Xid 79: GPU has fallen off the bus on {job}-2: " in server.get(f"/api/v1/jobs/{job}").body.get("FailureReason", ""), what=f"the reason of {job}")
        wait_until(lambda job=job: causes(server, job) == ["xid_79"], what=f"the cause of {job}")
    for job in ("se-none", "se-left", "se-other"):
        server.wait_for_extraction()
        assert "xid_79" not in causes(server, job) and "Xid" not in server.get(f"/api/v1/jobs/{job}").body.get("FailureReason", ""), job


def test_a_machine_whose_stream_another_one_sends_has_left(server):
    now = int(time.time() * 1000)
    first = now - 60 * MINUTE
    train(server, "mv-1", "algo-1", "mv-1", first, range(1, 150))
    train(server, "mv-1", "algo-2", "mv-2", first, range(1, 61))
    train(server, "mv-1", "algo-2", "mv-3", first + 11 * MINUTE, range(66, 150))
    tell(server, "kern", "mv-2", first + 20 * MINUTE)
    fail(server, "mv-1", time_ms=first + 26 * MINUTE)
    assert outcome(server, "mv-1", "mv-2") == (False, False, False)
    assert suspects(server, "mv-1") == []


def test_a_silence_is_none_of_what_was_told_before_the_first_line(make_server):
    server = make_server("--stall-after", "1s")
    now = int(time.time() * 1000)
    tell(server, "kern", "sl-2", now - 40 * MINUTE)
    assert drained(server) == ["sl-2"]
    for k in range(12):
        at_ms = int(time.time() * 1000)
        for n in (1, 2):
            send(server, "sl", f"algo-{n}", (at_ms, f"step {k + 1} loss: {3 - k / 100:.3f}"), host=f"sl-{n}")
        wait_until(lambda at_ms=at_ms: time.time() * 1000 > at_ms + 150, what="the next step")
    row, = wait_until(lambda: server.get('/api/v1/incidents?q=name="sl"&kind=stall').body["incidents"], what="the stall")
    assert "fault" not in row["evidence"], row


def test_a_machine_that_breaks_two_jobs_off_repeats_itself_also_in_a_central_log(server):
    now = int(time.time() * 1000)
    for n, job in enumerate(("rp-a", "rp-b")):
        first = now - (100 - 45 * n) * MINUTE
        train(server, job, "algo-1", "rp-1", first, range(1, 61))
        tell(server, "kern", "rp-1", first + 10 * MINUTE)
        fail(server, job, time_ms=first + 11 * MINUTE)
        assert outcome(server, job, "rp-1") == (True, True, True)

    def kind():
        body = server.get("/api/v1/nodes/rp-1").body
        return [(one["times"], one["job_count"], one["repeated"]) for one in body["fault_kinds"]], body["repeat_offender"]

    wait_until(lambda: kind() == ([(2, 2, True)], True), what=f"both jobs: {kind()}")


def test_a_stretch_over_midnight_is_of_two_days_and_no_repetition(server):
    midnight = (int(time.time()) // 86400 - 1) * 86400
    for host, offsets, wanted in (("md-1", (-500, -120, 180, 700), (1, 4, 2, False)), ("md-2", (-1000, 180), (2, 2, 2, True)), ("md-3", (-1000, -100), (1, 2, 1, False))):
        for offset in offsets:
            send(server, f"kern-{host}", "all", ((midnight + offset) * 1000, f"Nov 30 01:10:00 {host} kernel: NVRM: Xid (PCI:0000:02:00): 79, GPU has fallen off the bus."), host="md-central")

        def kind():
            one, = server.get(f"/api/v1/nodes/{host}").body["fault_kinds"]
            return one["times"], one["lines"], one["days"], one["repeated"]

        wait_until(lambda: kind() == wanted, what=f"{host}: {wanted}")


def test_what_is_told_long_behind_the_failure_is_none_of_it(server):
    """By either log: a line that is shipped late is of the quarter of an hour behind the end, in the reason as in the machine's restarts."""
    now = int(time.time() * 1000)
    first = now - 90 * MINUTE
    for minutes, is_why in ((14, True), (20, False)):
        for kind in ("own", "told"):
            job = host = f"be-{kind}-{minutes}"
            train(server, job, "algo-1", host, first, range(1, 61))
            fail(server, job, time_ms=first + 10 * MINUTE)
            server.wait_for_extraction()
            log = (job, host) if kind == "own" else (f"kern-{minutes}", f"be-central-{minutes}")
            tell(server, log[0], host, first + (10 + minutes) * MINUTE, central=log[1])
            if is_why:
                wait_until(lambda: server.get(f"/api/v1/jobs/{job}").body.get("FailureReason"), what="the reason")
            assert outcome(server, job, host) == (is_why,) * 3, job
