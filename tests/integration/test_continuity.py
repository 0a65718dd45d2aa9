"""Whether a restart went on from where it was: each verdict by numbers that are worked out here, by another program's arithmetic."""

import random
import statistics

import pytest

from fixtures import emptied_server as server  # noqa: F401 (one process for the file)
from smserver import wait_until

from test_life import MINUTE_MS, T0, line
from test_signatures import incidents


def curve(step):
    return 2 + 6 / (1 + step / 40)


class Log:
    """What a trainer prints; each attempt has the noise of its own data."""

    def __init__(self, seed=1):
        self.lines, self.at_ms, self.random = [], T0, random.Random(seed)
        self.losses = []  # one {step: loss} an attempt
        self.parts = []  # and its lines
        self.saved = 0

    def train(self, first, last, every=1, add=0.0, lr=lambda step: 3e-4, data=None, checkpoints=(), noise=0.02, nan=()):
        losses, begin = {}, len(self.lines)
        for step in range(first, last + 1, every):
            losses[step] = float("nan" if step in nan else f"{curve(step) + add + self.random.gauss(0, noise):.4f}")
            more = f" | consumed_samples: {data(step)}" if data else ""
            self.lines.append(line(self.at_ms, f"step: {step} | loss: {losses[step]:.4f} | lr: {lr(step):.6e}{more}"))
            self.at_ms += MINUTE_MS
            if step in checkpoints:
                self.lines.append(line(self.at_ms - 1000, f"saved checkpoint to /ckpt/step-{step} at step {step}"))
                self.saved += 1
        self.losses.append(losses)
        self.parts.append(self.lines[begin:])
        self.at_ms += 10 * MINUTE_MS
        return self


def send(server, log, job="j"):
    """Checkpoints are stored a moment after they were read."""
    server.send(job, log.lines)
    server.wait_for_extraction()
    wait_until(lambda: len(server.get(f"/api/v1/jobs/{job}/checkpoints").body["checkpoints"]) == log.saved, what="the checkpoints")


def ask(server, log, job="j", restarts=1):
    send(server, log, job)
    body = server.get(f"/api/v1/jobs/{job}/continuity").body
    assert len(body["restarts"]) == restarts, body
    return body


def spreads(before, after, first):
    """The definition of docs/continuity.md, on its own."""
    shared = sorted(set(before) & set(after))[:50]
    earlier = [before[step] for step in sorted(before) if step < first][-50:]
    window = earlier + [before[step] for step in sorted(before) if step >= first][:50]
    changes = [b - a for a, b in zip(window, window[1:])]
    slope = statistics.median(changes)
    spread = 1.4826 * statistics.median(abs(change - slope) for change in changes) / 2 ** 0.5
    spread = max(spread, 1e-4 * abs(statistics.median(window)))
    difference = statistics.median(after[step] - before[step] for step in shared)
    return len(shared), abs(difference) / spread


def test_it_went_on_from_its_checkpoint(server):
    log = Log().train(1, 100, checkpoints=(40, 80)).train(81, 160)
    body = ask(server, log)
    row = body["restarts"][0]
    count, far = spreads(*log.losses, first=81)
    assert (body["metric"], body["stream"], body["left_out"]) == ("train:loss", "algo-1", 0)
    assert (row["attempt"], row["first_step"], row["from_step"], row["checkpoint_step"]) == (2, 81, 80, 80)
    assert count == row["overlap_steps"] == 20 and far < 3
    assert row["loss_spreads"] == pytest.approx(far, rel=1e-9)
    assert (row["lr_equal"], row["data_equal"], row["verdict"], row["cause"]) == (True, None, "continued", None)


def test_checkpoints_of_a_rank_that_prints_no_steps_are_placed_by_their_times(server):
    """Rank 1 prints only that it saved: all of its lines are of its one attempt, those behind the restart, too."""
    log = Log().train(1, 100, checkpoints=(40, 80)).train(81, 160, checkpoints=(120, 160))
    saved = [text for text in log.lines if "saved checkpoint" in text]
    log.lines = [text for text in log.lines if text not in saved]
    server.send("j", saved, stream="algo-2")
    row = ask(server, log)["restarts"][0]
    assert (row["attempt"], row["from_step"], row["checkpoint_step"], row["newest_checkpoint_step"]) == (2, 80, 80, 80)


def test_a_save_that_several_ranks_tell_of_is_one(server):
    """Rank 0 saves 8 times in 3 attempts, and 160 of these twice; rank 1, without steps, tells of those from 160 on."""
    log = Log().train(1, 200, every=10, checkpoints=(41, 81, 121, 161))
    log = log.train(151, 250, every=10, checkpoints=(161, 201, 241)).train(231, 300, every=10, checkpoints=(281,))
    told = [text for text in log.lines if "saved checkpoint" in text]
    server.send("j", [*told[3:], line(log.at_ms, "saved checkpoint to /ckpt/step-300 at step 300")], stream="algo-2")
    log.saved += 1  # 300, which rank 1 alone tells of
    send(server, log)
    wanted = [(41, 1), (81, 1), (121, 1), (161, 1), (161, 2), (201, 2), (241, 2), (281, 3), (300, None)]

    def are_one():  # so many there are before rank 0's are all known, too
        found = server.get("/api/v1/jobs/j/checkpoints").body["checkpoints"]
        assert [(row["step"], row["attempt"]) for row in reversed(found)] == wanted
        return True
    wait_until(are_one, what="one of each save")


def test_an_older_checkpoint_has_a_higher_loss(server):
    """It says that it is at step 81, and its weights are those of step 40."""
    log = Log().train(1, 100, checkpoints=(40, 80)).train(81, 160, add=curve(40) - curve(80))
    row = ask(server, log)["restarts"][0]
    count, far = spreads(*log.losses, first=81)
    assert far > 3 and row["loss_spreads"] == pytest.approx(far, rel=1e-9) and row["overlap_steps"] == count
    assert (row["verdict"], row["cause"], row["lr_equal"]) == ("differs", "older checkpoint", True)
    assert "at 20 steps that were printed twice" in row["why"]


@pytest.mark.parametrize("add, steps, one_sided, sentence", (
    # 2.5 spreads (of 0.02, printed by all steps alike): each of 40 is higher. Nineteen could be, once in 260,000 times
    (0.05, 40, True, "It is higher at 40 of 40 steps, which is no chance, though it is within the spreads that are allowed"),
    (-0.05, 40, True, "It is lower at 40 of 40 steps, which is no chance"), (0.05, 19, False, "It is higher at 19 of 19 steps"),
    (0.002, 40, False, "It is higher at 40 of 40 steps"), (0, 40, False, "It is higher at 0 and lower at 0 of 40 steps")))
def test_a_loss_that_is_a_little_higher_at_all_steps_is_said(server, add, steps, one_sided, sentence):
    """The same data, so both print the same noise; a part of the state was lost."""
    log = Log().train(1, 80 + steps)
    first = log.losses[0]
    for step in range(81, 161):
        log.lines.append(line(log.at_ms, f"step: {step} | loss: {first.get(step, curve(step)) + add:.4f} | lr: 3e-4"))
        log.at_ms += MINUTE_MS
    row, = ask(server, log)["restarts"]
    assert row["verdict"] == "continued" and row["overlap_steps"] == steps and row["loss_difference"] == pytest.approx(add)
    assert (row["one_sided"], row["higher_steps"], row["lower_steps"]) == (one_sided, steps * (add > 0), steps * (add < 0))
    assert sentence in row["why"] and ("no chance" in row["why"]) == one_sided


def test_a_schedule_that_begins_anew(server):
    log = Log().train(1, 100, lr=lambda step: 1e-3 * step / 100).train(81, 160, lr=lambda step: 1e-3 * (step - 80) / 100)
    row = ask(server, log)["restarts"][0]
    assert (row["verdict"], row["cause"], row["lr_equal"]) == ("differs", "rate restarted", False)
    assert "learning rate at step 81 is 1e-05 and was 0.00081" in row["why"]


@pytest.mark.parametrize("factor, equal", [(1 + 5e-7, True), (1 + 3e-6, False)])
def test_a_rate_is_equal_to_a_millionth(server, factor, equal):
    log = Log().train(1, 60, lr=lambda step: 3e-4).train(41, 100, lr=lambda step: 3e-4 * factor)
    log.lines = [text.replace("lr: 3.000000e-04", "lr: 0.000300000000").replace(
        f"lr: {3e-4 * factor:.6e}", f"lr: {3e-4 * factor:.12f}") for text in log.lines]
    assert ask(server, log)["restarts"][0]["lr_equal"] is equal


def test_other_data_at_the_same_step(server):
    log = Log().train(1, 100, data=lambda step: 512 * step).train(81, 160, data=lambda step: 512 * (step - 80))
    body = ask(server, log)
    row = body["restarts"][0]
    assert "consumed_samples" in body["data_metric"]
    assert (row["verdict"], row["cause"], row["data_equal"]) == ("differs", "data order", False)
    assert "at step 81 is 512 and was 41472" in row["why"]


def test_the_same_data_is_said_to_be(server):
    log = Log().train(1, 100, data=lambda step: 512 * step).train(81, 160, data=lambda step: 512 * step)
    row = ask(server, log)["restarts"][0]
    assert (row["verdict"], row["data_equal"]) == ("continued", True)


def test_a_restart_that_blew_up_did_not_go_on(server):
    """NaN at the first five of ten steps: its first step is the first that it printed, and it went on from the checkpoint in front of that."""
    log = Log().train(10, 1000, every=10, checkpoints=(900,)).train(910, 1500, every=10, nan=range(910, 951))
    row = ask(server, log)["restarts"][0]
    assert (row["first_step"], row["from_step"], row["overlap_steps"], row["no_number_steps"]) == (910, 900, 10, 5)
    assert (row["verdict"], row["cause"], row["causes"]) == ("differs", "not a number", ["not a number"])
    before, after = log.losses
    kept = [step for step in range(960, 1001, 10)]
    assert row["loss_before"] == statistics.median(before[step] for step in kept)
    assert row["loss_after"] == statistics.median(after[step] for step in kept)
    assert f"at 5 of 10 steps that were printed twice the loss is no number behind the restart, first at step 910, where it was {before[910]:.6g}" in row["why"]


def test_a_restart_that_never_had_a_number_is_one(server):
    log = Log().train(1, 100, checkpoints=(80,)).train(81, 160, nan=range(81, 161))
    row = ask(server, log)["restarts"][0]
    assert (row["attempt"], row["first_step"], row["from_step"], row["overlap_steps"]) == (2, 81, 80, 20)
    assert (row["verdict"], row["cause"], row["loss_before"], row["loss_after"], row["loss_spreads"]) == ("differs", "not a number", None, None, None)
    incident, = wait_until(lambda: differing(server), what="the incident")
    assert (incident["opened_step"], incident["evidence"]["cause"], incident["evidence"]["value"]) == (81, "not a number", "NaN")
    assert incident["evidence"]["expected"] == log.losses[0][81]


def test_all_causes_are_named_and_the_figures_can_be_redone(server):
    log = Log().train(1, 100, checkpoints=(40, 80), lr=lambda step: 1e-3 * step / 100)
    log.train(81, 160, add=curve(40) - curve(80), lr=lambda step: 1e-3 * (step - 80) / 100)
    row = ask(server, log)["restarts"][0]
    assert (row["cause"], row["causes"]) == ("older checkpoint", ["older checkpoint", "rate restarted"])
    before, after = log.losses
    assert row["loss_difference"] == pytest.approx(statistics.median(after[step] - before[step] for step in range(81, 101)), rel=1e-9)
    assert row["loss_spreads"] == pytest.approx(abs(row["loss_difference"]) / row["loss_spread"], rel=1e-9)
    assert f"the median of the differences is {row['loss_difference']:.4g}, {row['loss_spreads']:.3g} spreads" in row["why"]


def test_a_restart_that_undoes_a_bad_one_goes_on_from_what_was_before_that(server):
    """Attempt 2 came back with older weights and another rate; attempt 3 begins at the same checkpoint as it should have."""
    log = Log().train(1, 100, checkpoints=(80,)).train(81, 160, add=curve(40) - curve(80), lr=lambda step: 1e-3).train(81, 160)
    rows = ask(server, log, restarts=2)["restarts"]
    first, _, third = log.losses
    count, far = spreads(first, third, first=81)
    assert (rows[0]["verdict"], "takes_back" in rows[0]) == ("differs", False)
    assert (rows[1]["verdict"], rows[1]["causes"], rows[1]["takes_back"]) == ("continued", [], 2)
    assert (rows[1]["overlap_steps"], rows[1]["lr_equal"]) == (count, True)
    assert rows[1]["loss_spreads"] == pytest.approx(far, rel=1e-9)
    assert "undoes the restart of attempt 2" in rows[1]["why"]


def offered(server, job="j"):
    """From where whoever starts it again would go on, and what is newer."""
    said = server.get(f"/api/v1/jobs/{job}/restart").body
    passed = said.get("passed_over")
    return (*(said["checkpoint"][key] for key in ("job", "step", "attempt")), passed and (passed["job"], passed["step"], passed["taken_back"]))


def test_no_restart_goes_on_from_what_was_taken_back(server):
    """Attempt 2 differs and saves step 120; attempt 3 takes it back, and saves nothing. In one job, and as jobs, the last of which printed nothing."""
    log = Log().train(1, 100, checkpoints=(40, 80)).train(81, 160, add=curve(40) - curve(80), lr=lambda step: 1e-3, checkpoints=(120,))
    ask(server, log.train(81, 110), restarts=2)
    assert offered(server) == ("j", 80, 1, ("j", 120, True))
    chain(server, log, "c", dead_behind=3)
    assert offered(server, "c-2") == ("c-2", 120, 1, None)
    for job in ("c-3", "c-dead"):
        assert offered(server, job) == ("c-1", 80, 1, ("c-2", 120, True)), job
    reply = server.patch("/api/v1/jobs/j", json={"by_hand": {"checkpoints": {"2:120": {"path": "/kept/120", "why": "it is meant"}}}})
    assert reply.status == 200 and offered(server) == ("j", 120, 2, None)
    assert server.patch("/api/v1/jobs/j", json={"by_hand": {"checkpoints": {"2:120": None}}}).status == 200
    server.send("j", [line(log.at_ms, "saved checkpoint to /ckpt/step-110 at step 110")])
    wait_until(lambda: offered(server) == ("j", 110, 3, None), what="what the newest attempt saved itself")


def test_without_a_step_that_both_printed_nothing_is_proved(server):
    """Losses each ten steps; the second attempt prints others."""
    log = Log().train(10, 200, every=10).train(155, 300, every=10)
    row = ask(server, log)["restarts"][0]
    assert (row["overlap_steps"], row["verdict"], row["cause"]) == (0, "not provable", None)
    assert (row["loss_spreads"], row["loss_before"], row["lr_equal"]) == (None, None, None)
    assert "print the loss at each step" in row["why"]


def restart(server, at_ms):
    for status, time_ms in (("Training", T0 - MINUTE_MS), ("Restarting", at_ms), ("Training", at_ms + MINUTE_MS)):
        assert server.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": status, "time_ms": time_ms}).status == 204


@pytest.mark.parametrize("first", [910, 920])
def test_a_stated_restart_that_made_no_step_again_is_one(server, first):
    """The checkpoint is the last step that was printed, or the one behind it was lost with the log: a status alone tells of the restart."""
    log = Log().train(10, 900, every=10, checkpoints=(900,)).train(first, 1500, every=10)
    text = log.lines.copy()
    behind = next(i for i, row in enumerate(text) if f"step: {first} |" in row)
    server.send("j", text[:behind])
    restart(server, T0 + 92 * MINUTE_MS)
    log.lines = text[behind:]
    row, = ask(server, log)["restarts"]
    assert (row["attempt"], row["known_from"], row["first_step"], row["checkpoint_step"]) == (1, "status", first, 900)
    assert row["from_step"] == first - 10
    assert (row["verdict"], row["causes"], row["overlap_steps"], row["lr_equal"], row["loss_spreads"]) == ("not provable", [], 0, None, None)
    assert "no step was printed both before and behind the restart" in row["why"]


@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize("add, verdict", [(0.0, "continued"), (3.0, "differs")])
def test_a_stated_restart_at_the_very_last_step_is_compared_there(server, add, verdict, is_late):
    """Step 900 was printed on both sides: it begins an attempt, unless the break was told of only when the lines had been looked at."""
    log = Log().train(10, 900, every=10, checkpoints=(890,)).train(900, 1500, every=10, add=add)
    if not is_late:
        server.send("j", log.parts[0])
        restart(server, T0 + 92 * MINUTE_MS)
        log.lines = log.parts[1]
    else:
        send(server, log)
        restart(server, T0 + 92 * MINUTE_MS)
        log.lines = []
    row, = ask(server, log)["restarts"]
    began = (1, "status") if is_late else (2, "steps")
    assert (row["attempt"], row["known_from"], row["first_step"], row["overlap_steps"], row["lr_equal"]) == (*began, 900, 1, True)
    count, far = spreads(*log.losses, first=900)
    assert count == 1 and row["loss_spreads"] == pytest.approx(far, rel=1e-9) and (far < 3) == (verdict == "continued")
    assert (row["verdict"], row["from_step"], row["checkpoint_step"]) == (verdict, 890, 890)


@pytest.mark.parametrize("add, verdict", [(0.0, "continued"), (3.0, "differs")])
def test_a_restart_at_the_very_last_step_that_its_log_alone_tells_of_is_compared_there(server, add, verdict):
    """Nobody states anything: the log says that it resumes, twelve minutes went by, and step 900 is printed again."""
    log = Log().train(10, 900, every=10, checkpoints=(890,)).train(900, 1500, every=10, add=add)
    behind = [i for i, row in enumerate(log.lines) if "step: 900 |" in row][1]
    log.lines.insert(behind, line(T0 + 100 * MINUTE_MS, "Resuming from checkpoint /ckpt/step-890"))
    row, = ask(server, log)["restarts"]
    assert (row["attempt"], row["known_from"], row["first_step"], row["overlap_steps"], row["lr_equal"]) == (2, "steps", 900, 1, True)
    count, far = spreads(*log.losses, first=900)
    assert count == 1 and row["loss_spreads"] == pytest.approx(far, rel=1e-9) and (far < 3) == (verdict == "continued")
    assert (row["verdict"], row["from_step"], row["checkpoint_step"]) == (verdict, 890, 890)
    lost, = server.get("/api/v1/jobs/j/goodput").body["breaks"]
    assert (lost["step"], lost["from_step"], lost["lost_steps"]) == (900, 890, 10)


def test_a_restart_of_steps_and_of_a_status_is_one(server):
    log = Log().train(1, 100, checkpoints=(80,)).train(81, 160)
    behind = [i for i, row in enumerate(log.lines) if "step: 81 |" in row][1]
    text = log.lines
    server.send("j", text[:behind])
    restart(server, T0 + 102 * MINUTE_MS)
    log.lines = text[behind:]
    row, = ask(server, log)["restarts"]
    assert (row["attempt"], row["known_from"], row["overlap_steps"]) == (2, "steps", 20)


def test_each_restart_is_compared_with_what_it_took_the_place_of(server):
    """Three attempts: the third goes behind the beginning of the second, and is compared with the first there."""
    log = Log().train(1, 100).train(81, 120).train(61, 140)
    rows = ask(server, log, restarts=2)["restarts"]
    first, second, third = log.losses
    told = {step: loss for step, loss in first.items() if step < 81} | second
    count, far = spreads(told, third, first=61)
    assert [row["attempt"] for row in rows] == [2, 3]
    assert (rows[1]["overlap_steps"], count) == (50, 50)
    assert rows[1]["loss_spreads"] == pytest.approx(far, rel=1e-9)
    assert rows[1]["verdict"] == "continued"


def test_along_a_chain_the_end_of_the_job_before_counts(server):
    before, after = Log(1).train(1, 100, checkpoints=(80,)), Log(2).train(81, 160)
    send(server, before, "first")
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "second", "Tags": [{"Key": "continues", "Value": "first"}]}).status == 201
    row = ask(server, after, "second")["restarts"][0]
    count, far = spreads(before.losses[0], after.losses[0], first=81)
    assert (row["attempt"], row["continues"], row["from_step"], row["checkpoint_step"]) == (1, "first", 80, 80)
    assert (row["overlap_steps"], row["verdict"]) == (count, "continued")
    assert row["loss_spreads"] == pytest.approx(far, rel=1e-9)


def test_a_fork_is_no_restart_of_the_run_that_it_leaves(server):
    """It is another training by design; what goes on with it is compared with it alone."""
    send(server, Log(1).train(1, 100), "first")
    tags = [{"Key": "continues", "Value": "first"}, {"Key": "wandb.fork_from", "Value": "first?_step=60"}]
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "fork", "Tags": tags}).status == 201
    assert ask(server, Log(2).train(61, 120, add=0.8), "fork", restarts=0)["restarts"] == []
    continuing(server, "again", "fork")
    (row,) = ask(server, Log(3).train(81, 140, add=0.8), "again")["restarts"]
    assert (row["continues"], row["from_step"], row["verdict"]) == ("fork", 80, "continued")


def continuing(server, job, before):
    assert server.post("/api/v1/jobs", json={"TrainingJobName": job, "Tags": [{"Key": "continues", "Value": before}] if before else []}).status == 201


def chain(server, log, job, dead_behind=None):
    """Each attempt is a job of its own, which goes on with the one before; another one between two died before its first step. The rows of all."""
    rows, before = [], None
    for number, lines in enumerate(log.parts, 1):
        name = f"{job}-{number}"
        continuing(server, name, before)
        send(server, Part(lines), name)
        rows += server.get(f"/api/v1/jobs/{name}/continuity").body["restarts"]
        before = name
        if number == dead_behind:
            continuing(server, before := f"{job}-dead", name)
            server.send(before, [line(log.at_ms, "CUDA out of memory. Tried to allocate 2.00 GiB")])
    return rows


class Part:
    def __init__(self, lines):
        self.lines, self.saved = lines, sum("saved checkpoint" in text for text in lines)


def figures(rows):
    """What is the same along a chain and in one job."""
    return [{key: value for key, value in row.items() if key not in ("attempt", "continues", "takes_back", "takes_back_in", "why")} for row in rows]


def higher_rate(step):
    return 1e-3


def test_along_a_chain_what_was_before_is_what_it_is_in_one_job(server):
    """A job that died before its first step, or three steps behind it, is not all that was before."""
    dead = Log(21).train(1, 100, checkpoints=(40, 80)).train(81, 160, add=0.4, lr=higher_rate)
    row, = chain(server, dead, "dead", dead_behind=1)
    count, far = spreads(*dead.losses, first=81)
    assert (row["attempt"], row["continues"], row["verdict"]) == (1, "dead-1", "differs")
    assert (row["overlap_steps"], row["checkpoint_step"], row["causes"]) == (count, 80, ["older checkpoint", "rate restarted"])
    assert row["loss_spreads"] == pytest.approx(far, rel=1e-9)
    assert server.get("/api/v1/jobs/dead-dead/continuity").body["restarts"] == []
    few = Log(22).train(1, 100, checkpoints=(80,)).train(81, 83).train(81, 150, add=0.4, lr=higher_rate)
    rows = chain(server, few, "few")
    first, second, third = few.losses
    count, far = spreads({step: loss for step, loss in first.items() if step < 81} | second, third, first=81)
    assert (rows[1]["continues"], rows[1]["overlap_steps"], count) == ("few-2", 3, 3)
    assert rows[1]["loss_spreads"] == pytest.approx(far, rel=1e-9) and far > 3
    assert (rows[1]["causes"], rows[1]["checkpoint_step"]) == (["older checkpoint", "rate restarted"], 80)
    few.lines = [*few.parts[0], *few.parts[1], line(few.at_ms, "Resuming from checkpoint /ckpt/step-80"), *few.parts[2]]  # two steps back alone begin nothing
    for log, job in ((dead, "dead"), (few, "few")):
        told = ask(server, log, job, len(log.parts) - 1)["restarts"]
        assert figures(told) == figures([row] if log is dead else rows)


def test_along_a_chain_fine_tuning_counts_steps_of_its_own(server):
    """The base is Completed; the first job behind it died before its first step."""
    log = Log(27).train(1, 100, checkpoints=(100,)).train(1, 60, add=0.4).train(41, 80, add=0.4)
    send(server, Part(log.parts[0]), "base")
    assert server.post("/api/v1/jobs/base/transitions", json={"SecondaryStatus": "Completed", "time_ms": log.at_ms}).status == 204
    continuing(server, "tuning", "base")
    server.send("tuning", ["CUDA out of memory"])
    continuing(server, "again", "tuning")
    server.send("again", log.parts[1])
    server.wait_for_extraction()
    assert server.get("/api/v1/jobs/again/continuity").body["restarts"] == []
    continuing(server, "more", "again")
    server.send("more", log.parts[2])
    server.wait_for_extraction()
    row, = server.get("/api/v1/jobs/more/continuity").body["restarts"]
    assert (row["continues"], row["verdict"], row["overlap_steps"], row["newest_checkpoint_step"]) == ("again", "continued", 20, None)


def test_what_goes_on_from_before_one_that_differed_is_compared_with_what_was_before_that(server):
    """Attempt 3 is as bad as attempt 2, from the same checkpoint; attempt 4, from an older one, undoes both."""
    log = Log(23).train(1, 100, checkpoints=(50, 80)).train(81, 120, add=0.4).train(81, 130, add=0.4).train(51, 150)
    rows = ask(server, log, restarts=3)["restarts"]
    first = log.losses[0]
    assert [(row["verdict"], row.get("takes_back")) for row in rows] == [("differs", None), ("differs", None), ("continued", 3)]
    for row, losses, begin in zip(rows, log.losses[1:], (81, 81, 51)):
        count, far = spreads(first, losses, first=begin)
        assert (row["overlap_steps"], row["first_step"]) == (count, begin)
        assert row["loss_spreads"] == pytest.approx(far, rel=1e-9)
    assert "It goes on from before attempt 2, which differed, and is compared with what was before that" in rows[1]["why"]


def test_along_a_chain_a_restart_that_undoes_a_bad_one_is_no_difference(server):
    log = Log(24).train(1, 100, checkpoints=(50, 80)).train(81, 120, add=0.4, lr=higher_rate).train(81, 130, add=0.4).train(51, 150)
    rows = chain(server, log, "j")
    assert [row["verdict"] for row in rows] == ["differs", "differs", "continued"]
    assert (rows[2]["takes_back"], rows[2]["takes_back_in"], rows[2]["lr_equal"]) == (1, "j-3", True)
    assert "It undoes the restart of attempt 1 of j-3, which differed" in rows[2]["why"]
    assert figures(ask(server, log, "one", 3)["restarts"]) == figures(rows)


def test_a_job_that_says_it_goes_on_with_itself_has_the_restarts_of_its_log(server):
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "j", "Tags": [{"Key": "continues", "Value": "j"}]}).status == 201
    row = ask(server, Log().train(1, 100, checkpoints=(40, 80)).train(81, 160, add=curve(40) - curve(80)))["restarts"][0]
    assert (row["attempt"], row["verdict"], row["cause"]) == (2, "differs", "older checkpoint")
    assert "continues" not in row


def test_it_is_the_same_behind_a_stop_and_sealing(make_server):
    server = make_server()
    log = Log().train(1, 100).train(81, 160)
    told = ask(server, log)
    server.stop()
    server.start()
    assert server.get("/api/v1/jobs/j/continuity").body == told


def test_who_has_none_and_who_is_not_there(server):
    server.send("quiet", ["no number here"])
    assert server.get("/api/v1/jobs/quiet/continuity").body["restarts"] == []
    log = Log().train(1, 20)
    server.send("once", log.lines)
    server.wait_for_extraction()
    once = server.get("/api/v1/jobs/once/continuity").body
    assert (once["metric"], once["restarts"]) == ("train:loss", [])
    assert server.get("/api/v1/jobs/none/continuity").status == 404
    assert server.get("/api/v1/jobs/once/continuity?x=1").status == 400


# ---- the incident ----

def differing(server, job="j"):
    return incidents(server, job, "restart_differs")


def test_what_differs_is_told_once_a_restart(make_server):
    server = make_server()
    log = Log().train(1, 100, checkpoints=(40, 80)).train(81, 160, add=curve(40) - curve(80))
    answer = ask(server, log)["restarts"][0]
    row, = wait_until(lambda: differing(server), what="the incident")
    evidence = row["evidence"]
    assert (row["severity"], row["opened_step"], row["is_historic"], row["opened_ms"]) == ("warning", 81, True, T0 + 110 * MINUTE_MS)
    report = server.get(f"/api/v1/report?from_ms={T0 + 109 * MINUTE_MS}&to_ms={T0 + 111 * MINUTE_MS}&q=name:j").body
    assert [one["kind"] for one in report["incidents"]["incidents"]] == ["restart_differs"]  # of when it happened, not of the log's end
    assert (evidence["cause"], evidence["attempt"], evidence["from_step"], evidence["overlap_steps"]) == ("older checkpoint", 2, 80, 20)
    assert (evidence["metric"], evidence["score"]) == ("train:loss", answer["loss_spreads"])
    assert (evidence["value"], evidence["expected"]) == (answer["loss_after"], answer["loss_before"])
    server.restart()
    log.lines.clear()
    log.train(121, 200, add=0)  # restarted again, now from step 120 of the second attempt, with the loss of the first
    server.send("j", log.lines)
    rows = wait_until(lambda: len(differing(server)) == 2 and differing(server), what="that of the next restart")
    assert [(one["evidence"]["attempt"], one["evidence"]["cause"]) for one in rows] == [(3, "data order"), (2, "older checkpoint")]
    wait_until(lambda: differing(server)[1]["state"] == "recovered", what="the end of the first, a moment behind the beginning of the next")


def test_of_two_that_come_at_once_the_first_is_told_of_too(server):
    """A log that is caught up with, or a training that was restarted again within seconds: the second went on rightly from the first's beginning."""
    log = Log().train(1, 100, checkpoints=(80,)).train(81, 160, add=0.4).train(81, 200)
    answer = ask(server, log, restarts=2)["restarts"]
    assert [one["verdict"] for one in answer] == ["differs", "continued"]
    row, = wait_until(lambda: differing(server), what="the incident of the first restart")
    assert (row["evidence"]["attempt"], row["opened_step"]) == (2, 81)
    wait_until(lambda: differing(server)[0]["state"] == "recovered", what="its end")
    ask(server, Log(7).train(1, 100).train(81, 160, add=0.4).train(81, 200, add=0.8), "both", 2)
    rows = wait_until(lambda: len(differing(server, "both")) == 2 and differing(server, "both"), what="both")
    assert [one["evidence"]["attempt"] for one in rows] == [3, 2]
    wait_until(lambda: [one["state"] for one in differing(server, "both")] == ["open", "recovered"], what="the end of the first")


def test_of_bad_restarts_along_a_chain_each_is_told_of_and_of_what_undoes_them_nothing(server):
    log = Log(25).train(1, 100, checkpoints=(50, 80)).train(81, 140, add=0.4, lr=higher_rate).train(81, 150, add=0.4).train(51, 150)
    chain(server, log, "j", dead_behind=1)
    again = Log(26).train(1, 100).train(81, 140, add=0.4).train(81, 150, add=0.4)
    ask(server, again, "again", 2)
    for job in ("j-2", "j-3"):
        row, = wait_until(lambda job=job: differing(server, job), what="the incident of " + job)
        assert (row["evidence"]["cause"], row["evidence"]["attempt"], row["state"]) == ("older checkpoint", 1, "open")
    wait_until(lambda: [(row["evidence"]["attempt"], row["state"]) for row in differing(server, "again")] == [(3, "open"), (2, "recovered")],
               what="the second bad restart, from the same checkpoint as the first")
    assert not differing(server, "j-4")


def of_epoch(first, last, add, log):
    """Of a counter that each epoch starts over, without a pause."""
    log.train(first, last, add=add).at_ms -= 10 * MINUTE_MS
    return log


def test_an_attempt_that_may_be_taken_back_is_not_told_of(server):
    """Of a counter of each epoch the second one looks like a restart until the third begins. One that ends so has begun again from nothing."""
    epochs, anew = of_epoch(1, 30, -0.6, of_epoch(1, 60, 0, Log(41))), of_epoch(1, 30, -0.6, of_epoch(1, 60, 0, Log(42)))
    odd = lambda: Log(43).train(1, 100).train(81, 160, add=1)
    for job, log in (("before", odd()), ("epochs", epochs), ("anew", anew), ("behind", odd())):
        row, = ask(server, log, job)["restarts"]
        assert row["verdict"] == "differs"
    for job in ("before", "behind"):
        wait_until(lambda: differing(server, job), what="the incidents of those that stand: all were looked at")
    assert not differing(server, "epochs") and not differing(server, "anew")
    assert server.post("/api/v1/jobs/anew/transitions", json={"SecondaryStatus": "Completed", "time_ms": anew.at_ms}).status == 204
    row, = wait_until(lambda: differing(server, "anew"), what="that of the one that was not taken back")
    assert (row["evidence"]["attempt"], row["opened_step"]) == (2, 1)
    count = len(epochs.lines)
    server.send("epochs", of_epoch(1, 60, -0.9, of_epoch(31, 60, -0.6, epochs)).lines[count:])
    wait_until(lambda: server.get("/api/v1/jobs/epochs/continuity").body["restarts"] == [], what="it to be taken back")
    assert not differing(server, "epochs")


def test_beside_another_job_it_is_judged_anew(server):
    """What was said beside "far", whose loss is 0.8 higher, is nothing beside "near"; and one that went on with nobody, and was looked at, does since."""
    send(server, Log(31).train(1, 100), "near")
    send(server, Log(32).train(1, 100, add=0.8), "far")
    continuing(server, "alone", None)
    send(server, Log(33).train(81, 160), "alone")
    continuing(server, "next", "far")
    send(server, Log(34).train(81, 160), "next")
    assert wait_until(lambda: differing(server, "next"), what="the incident beside far")[0]["state"] == "open"
    for job, before in (("next", "near"), ("alone", "far")):
        assert server.patch(f"/api/v1/jobs/{job}", json={"tags": {"continues": before}}).status == 200
    row, = wait_until(lambda: differing(server, "alone"), what="the incident of who goes on with far since")
    assert (row["evidence"]["attempt"], row["state"]) == (1, "open")
    wait_until(lambda: differing(server, "next")[0]["state"] == "recovered", what="the end of what was said beside far")
    send(server, Log(35).train(1, 100, add=1.5), "farther")
    assert server.patch("/api/v1/jobs/next", json={"tags": {"continues": "farther"}}).status == 200
    rows = wait_until(lambda: len(differing(server, "next")) == 2 and differing(server, "next"), what="what is said beside farther")
    assert sorted(row["state"] for row in rows) == ["open", "recovered"]
    assert next(row for row in rows if row["state"] == "open")["evidence"]["expected"] > next(row for row in rows if row["state"] != "open")["evidence"]["expected"] + 0.5
    assert server.patch("/api/v1/jobs/next", json={"tags": {"continues": "near"}}).status == 200
    wait_until(lambda: [row["state"] for row in differing(server, "next")] == ["recovered"] * 2, what="the end of that, too")


def test_beside_another_job_that_differs_too_it_has_that_ones_figures(server):
    """Also where the server was killed before it looked again: what it had compared is in the incident."""
    for job, add in (("far", 0.8), ("farther", 1.5)):
        send(server, Log(36).train(1, 100, add=add), job)
    continuing(server, "next", "far")
    send(server, Log(37).train(81, 160), "next")

    def beside(job, count):
        """The usual value of the one that is open, when all of these were told of."""

        def look():
            rows = differing(server, "next")
            opened = [row for row in rows if row["state"] == "open"]
            return len(rows) == count and len(opened) == 1 and opened[0]["evidence"].get("continues") == job and opened[0]

        return wait_until(look, what=f"what is said beside {job}")["evidence"]["expected"]

    far = beside("far", 1)
    assert server.patch("/api/v1/jobs/next", json={"tags": {"continues": "farther"}}).status == 200
    server.kill()
    server.start()
    assert beside("farther", 2) == pytest.approx(far + 0.7, abs=0.1)
    assert server.patch("/api/v1/jobs/next", json={"tags": {"continues": "far"}}).status == 200
    assert beside("far", 3) == pytest.approx(far)


def test_a_rate_that_restarted_is_told_with_its_figures(server):
    log = Log().train(1, 100, lr=lambda step: 1e-3 * step / 100).train(81, 160, lr=lambda step: 1e-3 * (step - 80) / 100)
    ask(server, log)
    row, = wait_until(lambda: differing(server), what="the incident")
    evidence = row["evidence"]
    assert (row["opened_step"], evidence["cause"]) == (81, "rate restarted")
    assert "learning_rate" in evidence["metric"] or "lr" in evidence["metric"]
    assert (evidence["value"], evidence["expected"]) == (pytest.approx(1e-5), pytest.approx(8.1e-4))


def test_who_went_on_or_has_little_in_common_is_not_told_of(server):
    """Seven steps in common are too few for an incident while the job runs, unless each is far; another job's comes in the meantime."""
    few = Log(3).train(1, 87).train(81, 95, add=0.12)
    row, = ask(server, few, "few")["restarts"]
    assert row["verdict"] == "differs" and row["loss_spreads"] < 8
    # Four that are far, but more may come: step 100 was printed before, and is not made again yet. Three that are far. Four, of which one is near
    for name, log in (("wait", Log(8).train(1, 100).train(94, 97, add=1)), ("three", Log(9).train(1, 83).train(81, 95, add=1)),
                      ("near", Log(10).train(1, 84).train(81, 83, add=1).train(84, 95))):
        row, = ask(server, log, name)["restarts"]
        assert row["verdict"] == "differs" and row["overlap_steps"] <= 4
    fine = Log(4).train(1, 100).train(81, 160)
    ask(server, fine, "fine")
    odd = Log(5).train(1, 100).train(81, 160, add=1)
    ask(server, odd, "odd")
    wait_until(lambda: differing(server, "odd"), what="the incident of the job that differs")
    assert not [name for name in ("few", "fine", "wait", "three", "near") if differing(server, name)]
    more = Log(6)
    more.at_ms = few.at_ms - 10 * MINUTE_MS
    server.send("few", more.train(96, 400).lines)
    assert wait_until(lambda: differing(server, "few"), what="256 prints: no more in common will come")[0]["evidence"]["overlap_steps"] == 7


@pytest.mark.parametrize("add, cause", ((0.8, "older checkpoint"), (-0.8, "data order")))
def test_few_steps_that_are_far_are_told_at_once(server, add, cause):
    """Each tenth step is printed, and four of them were made again: 256 prints are 2560 steps away."""
    log = Log(11).train(10, 340, every=10).train(310, 350, every=10, add=add)
    row, = ask(server, log)["restarts"]
    assert row["overlap_steps"] == 4 and row["loss_spreads"] > 8
    evidence = wait_until(lambda: differing(server), what="the incident")[0]["evidence"]
    assert (evidence["cause"], evidence["overlap_steps"]) == (cause, 4)


def test_of_many_restarts_the_newest_hundred_are_looked_at(server):
    """Each attempt makes ten steps and goes back five; the tenth of the loss is the noise of the step itself, so all of them went on."""
    lines, at_ms, first = [], T0, 1
    for attempt in range(1, 104):
        for step in range(first, first + 10):
            lines.append(line(at_ms, f"step: {step} | loss: {2 + (step * 7 % 10) / 100:.4f}"))
            at_ms += MINUTE_MS
        lines.append(line(at_ms, f"Resuming from checkpoint at step {first + 4}"))
        first += 5
        at_ms += 10 * MINUTE_MS
    server.send("j", lines)
    server.wait_for_extraction()
    body = server.get("/api/v1/jobs/j/continuity").body
    assert (len(body["restarts"]), body["left_out"]) == (100, 2)
    assert [row["attempt"] for row in body["restarts"]] == list(range(4, 104))
    assert {(row["overlap_steps"], row["loss_spreads"], row["verdict"]) for row in body["restarts"]} == {(5, 0, "continued")}
    assert [row["first_step"] for row in body["restarts"]] == [5 * attempt - 4 for attempt in range(4, 104)]
