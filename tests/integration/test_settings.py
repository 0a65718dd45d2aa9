"""Hyperparameters out of the log: found in what trainers print, kept with their line, never over stated ones."""

from smserver import wait_until

DUMP = [
    "starting",
    "------------------------ arguments ------------------------",
    "  learning_rate ................................... 6e-05",
    "  global_batch_size ............................... 512",
    "  train_iters ..................................... 1000",
    "  save ............................................ /ckpt",
    "-------------------- end of arguments ---------------------",
    "args: TrainConfig(",
    "  width=3,",
    "  hub_token='abcdefghijklmnop')",
    "step 1 loss 3.5",
]


def job_of(server, name):
    return server.get(f"/api/v1/jobs/{name}").body


def found(server, name, count):
    def has_all():
        said = job_of(server, name).get("HyperParametersFromLog", {})
        return said if len(said) >= count else None
    return wait_until(has_all, what=f"{count} settings of {name}")


def names(server, query):
    reply = server.get("/api/v1/jobs?q=" + query)
    assert reply.status == 200, reply
    return [job["TrainingJobName"] for job in reply.body["jobs"]]


def test_a_dump_fills_hyperparameters_with_its_lines(server):
    server.send("gpt", DUMP)
    said = found(server, "gpt", 6)
    assert said["learning_rate"] == {"Value": "6e-05", "Stream": "algo-1", "Line": 2}
    assert said["width"] == {"Value": "3", "Stream": "algo-1", "Line": 9}
    assert said["hub_token"]["Value"].startswith("***") and len(said["hub_token"]["Value"]) == 7
    assert job_of(server, "gpt")["HyperParameters"] == {key: one["Value"] for key, one in said.items()}
    assert names(server, "hp.learning_rate%3C1e-4") == ["gpt"]
    assert names(server, "hp.learning_rate%3E1e-4") == []
    server.restart()
    assert job_of(server, "gpt")["HyperParametersFromLog"] == said


def test_stated_ones_win(server):
    stated = {"learning_rate": "0.5", "optimizer": '"adamw"', "nested.d": "1"}
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "gpt", "HyperParameters": stated}).status == 201
    server.send("gpt", [*DUMP, "Namespace(optimizer='sgd', seed=7)", "c: NConfig(nested=NConfig(d=2, e=3))"])
    said = found(server, "gpt", 10)
    assert said["optimizer"]["Value"] == "sgd" and said["nested.d"]["Value"] == "2"
    shown = job_of(server, "gpt")["HyperParameters"]
    assert {key: shown[key] for key in stated} == stated
    assert shown["seed"] == "7" and shown["nested.e"] == "3"
    assert names(server, "hp.learning_rate%3D0.5") == ["gpt"] and names(server, "hp.learning_rate%3C1e-4") == []
    assert names(server, "hp.optimizer%3Dadamw") == ["gpt"] and names(server, "hp.optimizer%3Dsgd") == []
    assert names(server, "hp.seed%3D7") == ["gpt"]


def test_a_document_that_comes_later_wins_and_keeps_the_others(server):
    server.send("gpt", DUMP)
    found(server, "gpt", 6)
    stated = {"learning_rate": "0.5"}
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "gpt", "HyperParameters": stated}).status == 201
    shown = job_of(server, "gpt")["HyperParameters"]
    assert shown["learning_rate"] == "0.5" and shown["train_iters"] == "1000"
    assert names(server, "hp.learning_rate%3D0.5") == ["gpt"] and names(server, "hp.train_iters%3D1000") == ["gpt"]
    assert names(server, "hp.learning_rate%3C1e-4") == []


def test_the_first_stream_wins(server):
    server.send("gpt", DUMP)
    found(server, "gpt", 6)
    for number in range(2, 6):
        server.send("gpt", ["x", *DUMP, f"Namespace(rank={number})"], stream=f"algo-{number}")
    said = found(server, "gpt", 7)
    assert said["learning_rate"] == {"Value": "6e-05", "Stream": "algo-1", "Line": 2}
    assert said["rank"]["Stream"].startswith("algo-") and said["rank"]["Line"] == 12


def test_killed_in_the_middle_of_a_dump(make_server):
    """Cut at every line, sealed or not, once killed there: neither lost nor found at another line."""
    for options in (("--seal-age", "100ms"), ()):
        server = make_server(*options)
        server.send("whole", DUMP)
        whole = found(server, "whole", 6)
        for cut in range(1, len(DUMP)):
            server.send(f"cut-{cut}", DUMP[:cut])
        server.kill()
        server.start()
        for cut in range(1, len(DUMP)):
            server.send(f"cut-{cut}", DUMP[cut:])
        for cut in range(1, len(DUMP)):
            assert found(server, f"cut-{cut}", 6) == whole
        server.kill()
        server.start()
        assert found(server, "whole", 6) == whole and found(server, "cut-3", 6) == whole
        assert names(server, "hp.learning_rate%3C1e-4%20name%3Awhole") == ["whole"]


def test_the_limit_of_a_jobs_settings(server):
    server.send("gpt", [f"Namespace({', '.join(f'k{i}=1' for i in range(part, part + 100))})" for part in range(0, 1100, 100)])
    said = found(server, "gpt", 1000)
    assert len(said) == 1000 and "k999" in said and "k1000" not in said


def test_settings_of_a_deleted_job_are_gone(server):
    server.send("gpt", DUMP)
    found(server, "gpt", 6)
    assert server.post("/api/v1/jobs/gpt/transitions", json={"SecondaryStatus": "Completed"}).status == 204
    assert server.delete("/api/v1/jobs/gpt").status == 204
    server.send("gpt", ["step 1 loss 3"])
    assert "HyperParametersFromLog" not in job_of(server, "gpt")
    assert names(server, "hp.train_iters%3D1000") == []
