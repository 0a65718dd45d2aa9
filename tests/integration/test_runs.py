"""Runs: jobs that go on with others, as they state, and as it only looks."""

from smserver import wait_until

CHECKPOINTS = {"CheckpointConfig": {"S3Uri": "s3://b/ckpt"}}


def make(server, name, continues=None, **fields):
    tags = {"Tags": [{"Key": "continues", "Value": continues}]} if continues else {}
    assert server.post("/api/v1/jobs", json={"TrainingJobName": name, **tags, **fields}).status == 201


def steps(server, job, first, end, value):
    server.send(job, [f"step {i} loss {value}" for i in range(first, end)])


def run_of(server, job):
    return server.get(f"/api/v1/jobs/{job}/run").body


def chain(server, job, more=""):
    return server.get(f"/api/v1/jobs/{job}/points?metric=loss&chain=true{more}")


def test_a_stated_chain_is_a_run(server):
    make(server, "a")
    make(server, "b", "a")
    make(server, "c", "b")
    make(server, "other")
    make(server, "fork", "a")
    for job in ("a", "c"):
        run = run_of(server, job)
        assert run["run"] == "a"
        assert {row["TrainingJobName"]: row.get("continues") for row in run["jobs"]} == {
            "a": None, "b": "a", "c": "b", **({"fork": "a"} if job == "a" else {})}
    assert run_of(server, "c")["jobs"][1]["reason"] == "its tag continues says so"
    assert run_of(server, "other")["jobs"][0]["TrainingJobName"] == "other"
    job = server.get("/api/v1/jobs/b").body
    assert (job["continues"], job["continued_by"]) == ("a", ["c"])
    assert server.get("/api/v1/jobs/a").body["continued_by"] == ["b", "fork"]
    assert server.get("/api/v1/jobs/nobody/run").status == 404


def test_circles_and_jobs_that_are_not_here(server):
    make(server, "x", "y")
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "y", "Tags": [{"Key": "continues", "Value": "x"}]}).status == 422
    make(server, "self", "self")
    make(server, "late", "gone")
    assert [row["TrainingJobName"] for row in run_of(server, "x")["jobs"]] == ["x"]
    assert [row["TrainingJobName"] for row in run_of(server, "self")["jobs"]] == ["self"]
    assert run_of(server, "late")["jobs"] == [
        {**run_of(server, "late")["jobs"][0], "TrainingJobName": "late", "continues": "gone"}]


def test_what_only_looks_like_a_run_is_proposed(server):
    make(server, "gpt", **CHECKPOINTS)
    make(server, "gpt-2")
    make(server, "gpt-3")
    make(server, "resumed", **CHECKPOINTS)
    make(server, "reads", InputDataConfig=[
        {"ChannelName": "ckpt", "DataSource": {"S3DataSource": {"S3Uri": "s3://b/ckpt"}}}])
    make(server, "stated-2", "gpt", **CHECKPOINTS)
    make(server, "stated")
    def proposed(job):
        return [(row["continues"], row["reason"]) for row in run_of(server, job)["proposed"]]
    assert proposed("gpt") == []
    assert proposed("gpt-2") == [("gpt", "its name has the next number")]
    assert proposed("gpt-3") == [("gpt-2", "its name has the next number")]
    assert proposed("resumed") == [("gpt", "it has the same CheckpointConfig.S3Uri")]
    assert proposed("reads") == [("resumed", "it reads what the other's CheckpointConfig.S3Uri says")]
    assert proposed("stated-2") == [] and run_of(server, "stated-2")["run"] == "gpt"
    assert [row["TrainingJobName"] for row in run_of(server, "gpt-3")["jobs"]] == ["gpt-3"]  # no fact


def test_the_next_number_is_that_of_the_name_s_end(server):
    def proposed(job):
        return [(row["continues"], row["reason"]) for row in run_of(server, job)["proposed"]]
    pairs = [("ra-1", "ra-2"), ("llama7b-run1", "llama7b-run2"), ("sa001", "sa002"), ("sb_1", "sb_2"), ("sc-09", "sc-10"), ("sd9", "sd10"), ("se-0", "se-1"),
        ("sf099", "sf100"), ("sg", "sg_2"), ("sh", "sh-2")]
    for older, newer in pairs:
        make(server, older)
        make(server, newer)
        assert proposed(older) == []
        assert proposed(newer) == [(older, "its name has the next number")], newer
    for alone in ("si1", "si-2", "sj", "sj2", "sk-7", "sk-9", "12", "13x", "14x", "sl-99999999999999999999", "sm_1", "sm-2"):
        make(server, alone)
        assert proposed(alone) == [], alone
    make(server, "13")
    assert proposed("13") == [("12", "its name has the next number")]


def test_a_log_that_loads_what_another_job_saved_is_proposed(server):
    saving = "  successfully saved checkpoint from iteration     100 to /fsx/ckpt/rc_one [ t 1/8, p 1/4 ]"
    loading = " loading checkpoint from {} at iteration 100"
    def told(job, *lines):
        make(server, job)
        server.send(job, [*lines, "step 101 loss 2.5"])
        return wait_until(lambda: "HyperParametersFromLog" in (one := server.get(f"/api/v1/jobs/{job}").body) and one["HyperParameters"], what="its settings")
    def proposed(job):
        return [(row["continues"], row["reason"]) for row in run_of(server, job)["proposed"]]
    assert told("rc_one", "step 100 loss 2.5", saving) == {"save": "/fsx/ckpt/rc_one"}
    assert told("rc_two", loading.format("/fsx/ckpt/rc_one")) == {"load": "/fsx/ckpt/rc_one"}
    told("elsewhere", loading.format("/fsx/ckpt/rc"))
    # a trainer that prints its arguments says so, too
    block = ["------------------------ arguments ------------------------", "  load ............................................ {}",
        "  save ............................................ {}", "-------------------- end of arguments ---------------------"]
    told("first", *[line.format("/fsx/own") for line in block])
    told("second", *[line.format("/fsx/own") for line in block])
    assert [proposed(job) for job in ("rc_one", "rc_two", "elsewhere", "first", "second")] == [
        [], [("rc_one", "it loads what the other saves")], [], [], [("first", "it loads what the other saves")]]


def test_a_sweep_of_numbered_jobs_is_no_run(server):
    def trained(name, begun_s, ended_s, status="Failed", **fields):
        make(server, name, **fields)
        for state, at_s in (("Training", begun_s), (status, ended_s)):
            body = {"SecondaryStatus": state, "time_ms": (1_790_000_000 + at_s) * 1000}
            assert server.post(f"/api/v1/jobs/{name}/transitions", json=body).status in (200, 204)
    def proposed(job):
        return [row["continues"] for row in run_of(server, job)["proposed"]]
    # side by side, though they share a place for checkpoints
    trained("sweep-2", 0, 3600, "Completed", **CHECKPOINTS)
    trained("sweep-3", 10, 3500, "Completed", **CHECKPOINTS)
    assert proposed("sweep-3") == []
    # behind each other, the last lines of the first a little late
    trained("chain-2", 0, 3600)
    trained("chain-3", 3590, 7200)
    assert proposed("chain-3") == ["chain-2"]
    # of unequal settings, also behind each other
    trained("lr-2", 0, 3600, HyperParameters={"lr": "0.1", "warmup": "10"})
    trained("lr-3", 4000, 7200, HyperParameters={"lr": "0.2", "warmup": "10"})
    assert proposed("lr-3") == []
    trained("same-2", 0, 3600, HyperParameters={"lr": "0.1", "resume_step": "0", "data": "s3://a/x", "run_name": "same-2"})
    trained("same-3", 4000, 7200, HyperParameters={"lr": "0.1", "resume_step": "9", "data": "s3://a/y", "run_name": "same-3", "more": "1"})
    assert proposed("same-3") == ["same-2"]


def test_a_chain_is_one_series_without_superseded_steps(server):
    make(server, "a")
    make(server, "b", "a")
    make(server, "mute", "b")
    make(server, "c", "mute")
    steps(server, "a", 0, 100, "3.0")
    steps(server, "b", 80, 150, "2.0")  # from the checkpoint at 80
    steps(server, "c", 120, 200, "1.0")
    def total(job): # None: there is no such metric yet
        return server.get(f"/api/v1/jobs/{job}/points?metric=loss&buckets=10").body.get("total_points")
    wait_until(lambda: [total(job) for job in "abc"] == [100, 70, 80], what="the points")
    chart = chain(server, "b", "&buckets=10000").body
    assert chart["columns"]["x"] == list(range(200))
    assert chart["columns"]["first"] == [3.0] * 80 + [2.0] * 40 + [1.0] * 80
    assert [(link["job"], link["first_step"], link["buckets"]) for link in chart["chain"]] == [
        ("a", 0, 80), ("b", 80, 40), ("c", 120, 80)]
    few = chain(server, "c", "&buckets=10&from=50&to=130").body
    assert sum(few["columns"]["count"]) == 81 and len(few["columns"]["x"]) <= 13
    assert few["columns"]["x"] == sorted(few["columns"]["x"]) and few["columns"]["x"][0] == 50
    assert chain(server, "a", "&from=500").body["columns"]["x"] == []


def test_forks_take_no_steps_from_the_job_that_they_left(server):
    """Each is behind the other's steps up to where it left it; what goes on with a fork is behind the fork."""
    def drawn(job):
        columns = chain(server, job, "&buckets=10000").body["columns"]
        return dict(zip(columns["x"], columns["first"]))
    make(server, "a")
    for job, continues, place in (("c1", "a", "a?_step=9"), ("c2", "a", "a?_step=19"), ("c1-on", "c1", ""), ("d", "c1", "c1?_step=11")):
        tags = {"continues": continues, **({"wandb.fork_from": place} if place else {})}
        make(server, job, Tags=[{"Key": key, "Value": value} for key, value in tags.items()])
    for job, first, last, loss in (("a", 0, 50, "1.0"), ("c1", 10, 15, "2.0"), ("c2", 20, 25, "3.0"), ("c1-on", 14, 18, "4.0"), ("d", 12, 14, "5.0")):
        steps(server, job, first, last, loss)
        wait_until(lambda: server.get(f"/api/v1/jobs/{job}/points?metric=loss").body.get("total_points") == last - first, what="the points")
    assert drawn("a") == {step: 1 for step in range(50)}
    assert drawn("c2") == {step: 1 if step < 20 else 3 for step in range(25)}
    assert drawn("c1") == {step: 1 if step < 10 else 2 if step < 14 else 4 for step in range(18)}
    assert drawn("d") == {step: 1 if step < 10 else 2 if step < 12 else 5 for step in range(14)}


def test_a_chain_that_cannot_be_drawn_says_why(server):
    make(server, "a")
    for more in ("&x=time", "&raw=true", "&format=csv"):
        reply = chain(server, "a", more)
        assert reply.status == 422 and reply.body["field"] == "chain", more
    assert chain(server, "a").status == 404  # no such metric
    assert chain(server, "nobody").status == 404
