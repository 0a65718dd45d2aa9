"""--team-reads=own: to a team's tokens the jobs of others are not there, by whatever way they ask; without it everybody reads all."""

import json
import re
import time

import pytest

import wandbclient
from smserver import Server, wait_until
from test_auth import make_token

CANARY = "zkanary"  # in all that team b wrote, and in nothing else
VALUE = "918273.625"  # of its metric
JOB, STREAM, HOST, METRIC, TRASH = (f"{CANARY}-{what}" for what in ("job", "stream", "host", "metric", "trash"))
MISSING = JOB.replace(CANARY, "nothere")  # as long, and of no job
LATER_MS = 4102444800000

NAMESPACE = "/aws/sagemaker/TrainingJobs"
AWS = {
    "SageMaker": {"DescribeTrainingJob": {"TrainingJobName": JOB}, "ListTrainingJobs": {}, "Search": {"Resource": "TrainingJob"},
        "GetSearchSuggestions": {"Resource": "TrainingJob", "SuggestionQuery": {"PropertyNameQuery": {"PropertyNameHint": ""}}},
        "ListTags": {"ResourceArn": f"arn:aws:sagemaker:us-east-1:000000000000:training-job/{JOB}"}},
    "Logs_20140328": {"DescribeLogGroups": {}, "DescribeLogStreams": {"logGroupName": NAMESPACE},
        "GetLogEvents": {"logGroupName": NAMESPACE, "logStreamName": f"{JOB}/{STREAM}"}, "FilterLogEvents": {"logGroupName": NAMESPACE},
        "ListTagsLogGroup": {"logGroupName": f"{CANARY}-group"}},
    "GraniteServiceVersion20100801": {"ListMetrics": {},
        "GetMetricStatistics": {"Namespace": NAMESPACE, "MetricName": METRIC, "Dimensions": [{"Name": "TrainingJobName", "Value": JOB}],
            "StartTime": time.time() - 86400, "EndTime": time.time() + 86400, "Period": 3600, "Statistics": ["Maximum"]},
        "GetMetricData": {"StartTime": time.time() - 86400, "EndTime": time.time() + 86400, "MetricDataQueries": [{"Id": "m", "MetricStat": {
            "Metric": {"Namespace": NAMESPACE, "MetricName": METRIC, "Dimensions": [{"Name": "TrainingJobName", "Value": JOB}]},
            "Period": 3600, "Stat": "Maximum"}}]}},
}
OF_THE_TEAM = ("/api/v1/rules/preview", "/api/2.0/mlflow/experiments/search", "/api/get_runs_for_project", "/api/get_run_summary")  # in any mode
TOOLS = {"search_jobs": {}, "get_job": {"job": JOB}, "search_logs": {"job": JOB, "text": "value="}, "list_incidents": {}}


def door(server, service, operation, body, token):
    return server.post("/", json=body, headers={"X-Amz-Target": f"{service}.{operation}"}, content_type="application/x-amz-json-1.1", token=token)


def put_everything(server, job, team):
    """One thing of each kind, with the canary in it where a text can be."""
    write = f"job={job}&stream={STREAM}&host={HOST}"
    assert server.post("/api/v1/jobs", json={"TrainingJobName": job, "HyperParameters": {f"{CANARY}_hp": CANARY},
        "ResourceConfig": {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 3, "KeepAlivePeriodInSeconds": 3600},
        "AlgorithmSpecification": {"TrainingImage": f"{CANARY}/image:1", "MetricDefinitions": [{"Name": METRIC, "Regex": "value=([0-9.]+)"}]},
        "CheckpointConfig": {"S3Uri": f"s3://{CANARY}/c"}, "Tags": [{"Key": f"{CANARY}_tag", "Value": CANARY}]}, token=team["write"]).status == 201
    lines = "".join(f"step={step} value={VALUE} {CANARY} loss=1.5\n" for step in range(1, 40))
    lines += f"saved checkpoint to /{CANARY}/checkpoint-39\nstep=40 loss=nan {CANARY}\nRuntimeError: CUDA error: an illegal memory access {CANARY}\n"
    assert server.post(f"/api/v1/logs?{write}", lines, token=team["write"]).status == 200
    assert server.post(f"/api/v1/points?{write}", json={"series": [{"metric": f"{METRIC}-sent", "step": [1, 2], "value": [float(VALUE)] * 2}]},
        token=team["write"]).status == 200
    path = f"/api/v1/jobs/{job}"
    for verb, where, body in (("PATCH", path, {"notes": CANARY, "labels": [CANARY]}), ("POST", path + "/notes", {"text": CANARY, "step": 3}),
            ("POST", path + "/evaluations", {"scores": {f"{CANARY}/acc": 0.5}, "step": 39}), ("POST", path + "/commands", {"command": "checkpoint"})):
        reply = server.request(verb, where, json=body, token=team["write"])
        assert reply.status < 300, (verb, where, reply)
    assert server.put(f"{path}/attachments/{CANARY}.txt", CANARY, token=team["write"]).status < 300
    assert server.post("/api/v1/views", json={"name": CANARY, "query": CANARY, "scope": "team"}, token=team["admin"]).status < 300
    assert server.post(path + "/transitions", json={"SecondaryStatus": "Failed", "FailureReason": CANARY}, token=team["write"]).status < 300


def put_tracked(server, token):
    """What other products' clients send, by a token of team b that may read and write: what to ask for it by."""
    made = server.post("/api/2.0/mlflow/experiments/create", json={"name": f"{CANARY}-experiment"}, token=token)
    run = server.post("/api/2.0/mlflow/runs/create", json={"experiment_id": made.body["experiment_id"], "run_name": f"{CANARY}-run",
        "start_time": 1790000000000}, token=token)
    number = run.body["run"]["info"]["run_id"]
    entry = {"project": CANARY, "run": f"{CANARY}-tracked", "run_id": "r1", "metrics": {METRIC: float(VALUE)}, "step": 1, "log_id": "l1",
        "timestamp": "2026-01-01T00:00:00+00:00", "config": {CANARY: CANARY}}
    for path, body in (("2.0/mlflow/runs/log-parameter", {"run_id": number, "key": f"{CANARY}_p", "value": CANARY}),
            ("2.0/mlflow/runs/log-metric", {"run_id": number, "key": METRIC, "value": float(VALUE), "timestamp": 1790000000000, "step": 1}),
            ("bulk_log", {"kwargs": {"logs": [entry]}})):
        reply = server.post(f"/api/{path}", json=body, token=token)
        assert reply.status == 200, (path, reply)
    wandbclient.make_run(server, "r", project=CANARY, config=json.dumps({"lr": {"value": f"{CANARY}-value"}}), token=token)
    assert door(server, "Logs_20140328", "CreateLogGroup", {"logGroupName": f"{CANARY}-group", "tags": {CANARY: CANARY}}, token).status == 200
    kwargs = {"kwargs": {"project": CANARY, "run": f"{CANARY}-tracked", "run_id": "r1"}}
    mlflow = "/api/2.0/mlflow"
    return [("POST", f"{mlflow}/experiments/search", {"max_results": 100}),
        ("POST", f"{mlflow}/runs/search", {"experiment_ids": [made.body["experiment_id"]], "max_results": 100}),
        ("GET", f"{mlflow}/runs/get?run_id={number}", None), ("GET", f"{mlflow}/metrics/get-history?run_id={number}&metric_key={METRIC}", None),
        ("GET", f"{mlflow}/experiments/get?experiment_id={made.body['experiment_id']}", None),
        ("POST", "/api/get_runs_for_project", {"kwargs": {"project": CANARY}}), ("POST", "/api/get_run_summary", kwargs)]


def make_world(server):
    tokens = {"admin": make_token(server, "root", "admin")}
    for team in ("a", "b"):
        tokens[team] = {scope: make_token(server, f"{team}-{scope}", scope, "--team", f"{CANARY}-team" if team == "b" else "a")
            for scope in ("read", "write", "admin")}
    server.token = tokens["admin"]
    put_everything(server, TRASH, tokens["b"])
    wait_until(lambda: server.delete(f"/api/v1/jobs/{TRASH}").status < 300, what="the job in the trash")
    put_everything(server, JOB, tokens["b"])
    tokens["tracked"] = put_tracked(server, tokens["b"]["admin"])
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "own"}, token=tokens["a"]["write"]).status == 201
    assert server.post("/api/v1/logs?job=own&stream=s&host=h", "step=1 loss=2.5\n", token=tokens["a"]["write"]).status == 200
    server.wait_for_extraction()
    wait_until(lambda: server.get("/api/v1/incidents?all=true").body["incidents"], what="an incident of the job")
    wait_until(lambda: server.get("/api/v1/nodes").body["nodes"], what="the machine")
    return tokens


@pytest.fixture(scope="module", params=["own", "open"])
def world(request, tmp_path_factory):
    server = Server(tmp_path_factory.mktemp(f"team_reads_{request.param}"), f"--team-reads={request.param}").start()
    try:
        yield server, make_world(server), request.param
    finally:
        server.close()


@pytest.fixture(scope="module")
def own(world):
    if world[2] != "own":
        pytest.skip("of closed reads")
    return world[:2]


def tells(reply):
    text = reply.raw.decode(errors="replace")
    return CANARY in text or VALUE in text


def questions(server):
    """(method, path, body) of all routes that read, by names of team b and by none."""
    queries = {"q": "", "metric": METRIC, "jobs": JOB, "stream": STREAM, "prefix": "hp.zk", "by": "team", "query": f'{{__name__=~".+"}}'}
    incident = server.get("/api/v1/incidents?all=true").body["incidents"][0]["id"]
    values = {"job": JOB, "host": HOST, "id": str(incident), "path": f"{CANARY}.txt", "name": "job", "n": "1", "service": "SageMaker", "operation": "Search",
        "file": "x", "rest": "x", "group": "x", "session": "x", "token": "x"}
    yield "GET", f"/jobs/{JOB}", None
    for path, operations in server.get("/api/v1/openapi.json").body["paths"].items():
        for method, operation in operations.items():
            if operation["x-scope"] not in ("read", "public") or path in ("/api/v1/live", "/api/v1/session", "/loki/api/v1/tail"):
                continue
            where = re.sub(r"\{([a-z_]+)(?:\.\.\.)?\}", lambda found: values.get(found.group(1), "x"), path)
            known = {parameter["name"] for parameter in operation["parameters"] if parameter.get("in") == "query"}
            query = "&".join(f"{name}={value}" for name, value in queries.items() if name in known and value)
            yield method.upper(), where, None
            yield method.upper(), f"{where}?{query}", None


BODIES = [("/api/v1/search", {"Resource": "TrainingJob"}),
    ("/api/v1/points/query", {"queries": [{"job": JOB, "metric": METRIC}]}),
    ("/api/v1/warm-pools/match", {"ResourceConfig": {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 3},
        "AlgorithmSpecification": {"TrainingImage": "x"}}),
    ("/api/v1/rules/preview", {"name": "r", "query": "", "from_ms": 0, "to_ms": LATER_MS}),
    ("/api/v1/definitions/test", {"MetricDefinitions": [{"Name": "m", "Regex": "value=([0-9.]+)"}], "job": JOB, "stream": STREAM})]
PROM = ["series?match[]={__name__=~\".%2B\"}", "label/training/values", "label/__name__/values", "query?query={__name__=~\".%2B\"}"]
LOKI = ["label/job/values", "label/stream/values", "label/host/values", "query_range?query={job=~\".%2B\"}&start=0&end=4102444800000000000",
    "series?match[]={job=~\".%2B\"}", "query?query=count_over_time({job=~\".%2B\"}[999d])"]
QUERIES = [f"/prometheus/api/v1/{path}" for path in PROM] + [f"/loki/api/v1/{path}" for path in LOKI] + [f"/metrics?jobs={JOB}"]


def asked(path):
    """The answer may tell again what was asked for."""
    return re.compile("|".join(sorted({re.escape(part) for part in re.findall(rf"{CANARY}[-.a-z]*", path)}, key=len, reverse=True)) or r"\b\B")


def answer(server, token, method, path, body=None, **options):
    reply = server.request(method, path.replace(" ", "%20").replace('"', "%22").replace("{", "%7B").replace("}", "%7D"), json=body, token=token, **options)
    assert reply.status < 500, (method, path, reply)
    return reply


def test_no_route_tells_of_another_team(own):
    """Not a name, value or line; and a job of another team's is answered for as one that is not there."""
    server, tokens = own
    told, count = [], 0
    for method, path, body in questions(server):
        count += 1
        reply = answer(server, tokens["a"]["read"], method, path, body)
        text = asked(path).sub("", reply.raw.decode(errors="replace"))
        if CANARY in text or VALUE in text:
            told.append((method, path, text[:400]))
        if JOB in path:
            absent = answer(server, tokens["a"]["read"], method, path.replace(JOB, MISSING), body)
            same = reply.raw.decode(errors="replace").replace(JOB, MISSING), absent.raw.decode(errors="replace")
            assert reply.status == absent.status and (same[0] == same[1] or path.startswith("/metrics")), (method, path, same)
    assert not told and count > 200, told


def test_whoever_may_read_all_is_told(world):
    """So that the test above looks where there is something; and without closed reads another team's token reads it as well."""
    server, tokens, mode = world
    for token in [tokens["admin"], tokens["b"]["read"], tokens["b"]["admin"], tokens["a"]["admin"]] + [tokens["a"]["read"]] * (mode == "open"):
        found = {path.partition("?")[0] for method, path, body in questions(server) if tells(answer(server, token, method, path, body))}
        for path in ("/api/v1/jobs", "/api/v1/aggregate", "/api/v1/incidents", "/api/v1/nodes", "/api/v1/trash", "/api/v1/search/suggestions",
                f"/api/v1/jobs/{JOB}", f"/api/v1/jobs/{JOB}/points", f"/api/v1/jobs/{JOB}/notes", f"/api/v1/jobs/{JOB}/logs", f"/api/v1/nodes/{HOST}",
                f"/api/v1/jobs/{JOB}/attachments/{CANARY}.txt", "/api/v1/export"):
            assert path in found, (path, sorted(found))


def all_asks(tokens):
    for method, path, body in [("POST", *ask) for ask in BODIES] + [("GET", path, None) for path in QUERIES] + tokens["tracked"]:
        yield method, path, body, {}
    for service, operations in AWS.items():
        for name, body in operations.items():
            yield "POST", "/", body, {"headers": {"X-Amz-Target": f"{service}.{name}"}, "content_type": "application/x-amz-json-1.1"}
    for name, arguments in TOOLS.items():
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        yield "POST", "/mcp", body, {"headers": {"Accept": "application/json, text/event-stream"}}


def test_bodies_and_other_products_questions(world):
    server, tokens, mode = world
    for method, path, body, options in all_asks(tokens):
        ask = method, path, body, options
        own_reply = answer(server, tokens["b"]["read"], method, path, body, **options)
        assert tells(own_reply), (ask, own_reply)
        other = answer(server, tokens["a"]["read"], method, path, body, **options)
        text = asked(f"{path} {json.dumps(body)}").sub("", other.raw.decode(errors="replace"))
        assert mode == "open" or (CANARY not in text and VALUE not in text), (ask, text[:600])
        if mode == "open" and path not in OF_THE_TEAM:
            assert tells(other), (ask, other)


def test_what_wandb_asks_for_with_a_token_that_writes(own):
    server, tokens = own
    asks = ("Run", "Runs", "RunState", "RunResumeStatus", "RunHistoryKeys", "HistoryPage", "RunFullHistory", "RunFiles")
    told = {team: {operation for operation in asks if f"{CANARY}-value" in json.dumps(wandbclient.ask(server, operation,
        {"project": CANARY, "name": "r", "order": "+created_at"}, token=tokens[team]["write"]))} for team in ("a", "b")}
    assert not told["a"] and {"Run", "RunResumeStatus"} <= told["b"], told


def test_sums_are_of_the_own_jobs(own):
    server, tokens = own
    sums = {}
    for name, token in (("a", tokens["a"]["read"]), ("b", tokens["b"]["read"]), ("all", tokens["admin"])):
        fleet = server.get("/api/v1/fleet", token=token).body
        sums[name] = [fleet["jobs"]["total"], fleet["nodes"]["in_jobs"], fleet["nodes"]["in_waiting_pools"], fleet["warm_pools"]["Available"]]
    # b: the job that ended, whose three machines wait, and a job each of MLflow, Trackio, W&B and CloudWatch; what is in the trash counts nowhere
    assert sums == {"a": [1, 1, 0, 0], "b": [5, 4, 3, 1], "all": [6, 5, 3, 1]}, sums
    groups = server.get("/api/v1/aggregate?by=team", token=tokens["a"]["read"]).body
    assert CANARY not in json.dumps(groups) and '"a"' in json.dumps(groups)


def test_events_are_of_the_own_jobs(own):
    server, tokens = own
    header = {"Authorization": f"Bearer {tokens['a']['read']}"}
    of_all, named = server.live("kinds=points,job,incident", header), server.live(f"jobs={JOB},own&kinds=points,lines", header)
    admin = server.live("kinds=points", {"Authorization": f"Bearer {tokens['admin']}"})
    server.post(f"/api/v1/logs?job={JOB}&stream={STREAM}", f"step=41 value={VALUE} {CANARY}\n", token=tokens["b"]["write"])
    assert admin.next("points")["json"]["job"] == JOB
    server.post("/api/v1/logs?job=own&stream=s", "step=2 loss=2.5\n", token=tokens["a"]["write"])
    for subscriber in (of_all, named):
        while True:
            event = subscriber.next()
            assert CANARY not in event.get("data", ""), event
            if event["event"] == "points":
                break


def test_a_signed_picture_is_as_wide_as_who_signed(own):
    server, tokens = own
    for name, status in (("a", 404), ("b", 200)):
        made = server.post("/api/v1/signatures", json={"url": f"/api/v1/jobs/{JOB}/chart.svg?metric={METRIC}"}, token=tokens[name]["read"])
        if made.status == 200 or made.status == 201:
            path = re.sub(r"^https?://[^/]*", "", made.body["url"])
            assert server.get(path, token="").status == status
        else:
            assert name == "a" and made.status == 404


def test_what_is_sent_to_another_teams_name_tells_nobody(own):
    """Names are one for all teams, so that a sender learns that one is taken: not by whom."""
    server, tokens = own
    for path, body in ((f"/api/v1/logs?job={JOB}", "x\n"), (f"/api/v1/points?job={JOB}", {"points": [{"metric": "m", "step": 1, "value": 1.5}]}),
            ("/api/v1/jobs", {"TrainingJobName": JOB}), ("/api/v1/sessions", {"job": JOB, "stream": "s", "host": "h"})):
        reply = server.request("POST", path, body if isinstance(body, str) else None, json=None if isinstance(body, str) else body, token=tokens["a"]["write"])
        assert reply.status == 403 and CANARY not in reply.raw.decode().replace(JOB, ""), (path, reply)


# A body that each of them takes of a job that is there; DELETE has none.
TRACE = {"stream": STREAM, "trace": "t", "kernels": 1, "kernel_us": 1, "idle_us": 0, "compute_us": 1, "communication_us": 0, "overlap_us": 0}
WRITTEN = {"": {"notes": "x"}, "/transitions": {"SecondaryStatus": "Stopped"}, "/commands": {"command": "checkpoint"}, "/anatomy": TRACE,
    "/evaluations": {"scores": {"t/acc": 0.5}, "step": 39}, "/attachments/{path...}": "x", "/notes": {"text": "x", "step": 1}, "/notes/{note}": {"text": "x"},
    "/pin": {"pinned": True}, "/definitions": {"definitions": [{"Name": "m", "Regex": "value=([0-9.]+)"}]}}
OF_DELETE = {"/anatomy": f"?stream={STREAM}&trace=t", "/evaluations": "?step=39"}


def writes(server):
    """(method, path, body) of every route that writes to a job that its path names, or to an incident; from the document of all routes."""
    incident = server.get("/api/v1/incidents?all=true").body["incidents"][0]["id"]
    note = server.get(f"/api/v1/jobs/{JOB}/notes").body["notes"][0]["id"]
    for path, operations in server.get("/api/v1/openapi.json").body["paths"].items():
        tail = path.partition("/api/v1/jobs/{job}")[2]
        for method, operation in operations.items():
            if operation["x-scope"] != "write":
                continue
            if path.startswith("/api/v1/incidents/{id}"):
                yield method.upper(), path.replace("{id}", incident), {}
            elif path.startswith("/api/v1/jobs/{job}"):
                where = path.replace("{job}", JOB).replace("{note}", str(note)).replace("{path...}", f"{CANARY}.txt")
                body = WRITTEN[tail] if method in ("post", "put", "patch") else None
                yield method.upper(), where + (OF_DELETE.get(tail, "") if method == "delete" else ""), body


def test_a_job_of_another_team_is_not_there_for_who_writes(own):
    """The same 404 as of a name that no job has: of every route that names a job or an incident in its path."""
    server, tokens = own
    wrong, count = [], 0
    for method, path, body in writes(server):
        count += 1
        absent_path = path.replace(JOB, MISSING) if JOB in path else re.sub(r"/incidents/[0-9]+", "/incidents/999999", path)
        text = {"body": body} if isinstance(body, str) else {"json": body}
        replies = [server.request(method, where, token=tokens["a"]["write"], **text) for where in (path, absent_path)]
        told = [re.sub("[0-9]+", "N", reply.raw.decode().replace(JOB, "J").replace(MISSING, "J")) for reply in replies]
        if [reply.status for reply in replies] != [404, 404] or told[0] != told[1]:
            wrong.append((method, path, *told))
    assert not wrong and count == 19, (count, wrong)
    # an admin's token reads all, also a team's: it learns that it may not
    assert server.patch(f"/api/v1/jobs/{JOB}", json={"notes": "x"}, token=tokens["a"]["admin"]).status == 403


def test_with_open_reads_who_writes_learns_whose_it_is_not(world):
    server, tokens, mode = world
    if mode == "open":
        reply = server.patch(f"/api/v1/jobs/{JOB}", json={"notes": "x"}, token=tokens["a"]["write"])
        assert reply.status == 403 and "another team" in reply.raw.decode(), reply


def test_a_wrong_choice_is_refused(tmp_path):
    server = Server(tmp_path, "--team-reads=mine")
    server.launch()
    assert server.wait() != 0 and "--team-reads 'mine' is neither open nor own" in server.log_text()
    server.process = None


def test_a_chain_over_teams_is_the_own_part_of_it(own):
    """
    Steps 1 to 100 of team a, 61 to 160 of team b, 101 to 200 of team a; a second each, on 2, 3 and 2 machines. Each job says that it goes on with the one before.
    Team a reads its two jobs as if the other were not there; and so its sums: no step of b's, no idle time up to it, no machine.
    """
    server, tokens = own
    at_ms = 1_760_000_000_000
    hidden = f"{CANARY}-middle"
    for number, (job, team, nodes, before, first) in enumerate((("first", "a", 2, None, 1), (hidden, "b", 3, "first", 61), ("third", "a", 2, hidden, 101))):
        write, from_ms = tokens[team]["write"], at_ms + number * 600_000
        body = {"TrainingJobName": job, "ResourceConfig": {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": nodes, "VolumeSizeInGB": 1},
            "Tags": [{"Key": "continues", "Value": before}] if before else []}
        assert server.post("/api/v1/jobs", json=body, token=write).status == 201
        assert server.post(f"/api/v1/jobs/{job}/transitions", json={"SecondaryStatus": "Training", "time_ms": from_ms}, token=write).status == 204
        lines = [json.dumps({"line": f"step: {step} | loss: 2.5", "ts": from_ms + (step - first + 1) * 1000}) for step in range(first, first + 100)]
        assert server.post(f"/api/v1/logs?job={job}&stream=algo-1", "\n".join([*lines, ""]).encode(), content_type="application/x-ndjson", token=write).status == 200
        end = {"SecondaryStatus": "Failed", "time_ms": from_ms + 100_000, "FailureReason": f"exit of {job}"}
        assert server.post(f"/api/v1/jobs/{job}/transitions", json=end, token=write).status == 204
    server.wait_for_extraction()

    def run(job, token):
        reply = server.get(f"/api/v1/jobs/{job}/run", token=token)
        assert reply.status == 200, reply
        return reply

    def part(job, token):
        body = run(job, token).body
        hours = {name: one["node_hours"] for name, one in body["goodput"]["buckets"].items() if one["node_hours"]}
        return [one["TrainingJobName"] for one in body["jobs"]], body["run"], body.get("left_out"), hours, body["goodput"]["lost_steps"]

    alone = {"productive": pytest.approx(100 * 2 / 3600, abs=1e-3)}
    mine = tokens["a"]["read"]
    wait_until(lambda: part("first", mine) == (["first"], "first", None, alone, None), what="the first job alone")
    wait_until(lambda: part("third", mine) == (["third"], "third", hidden, alone, None), what="the third one, and that one before it is left out")
    assert CANARY not in run("first", mine).raw.decode() and CANARY not in json.dumps(server.get("/api/v1/jobs/first", token=mine).body)
    for what in ("goodput", "continuity"):
        text = server.get(f"/api/v1/jobs/first/{what}", token=mine).raw.decode()
        assert CANARY not in text and "third" not in text, (what, text)
    # a name that no job has is answered for alike: whether there is one is not told
    absent = MISSING + "-middle"
    assert server.patch("/api/v1/jobs/third", json={"tags": {"continues": absent}}, token=tokens["a"]["write"]).status == 200
    wait_until(lambda: part("third", mine) == (["third"], "third", absent, alone, None), what="the same of a job that is not there")
    assert server.patch("/api/v1/jobs/third", json={"tags": {"continues": hidden}}, token=tokens["a"]["write"]).status == 200
    # who may read all has all three, the 500 seconds between two of them, and no loss that one team's job makes another's
    whole = {"productive": pytest.approx(100 * (2 + 3 + 2) / 3600, abs=1e-3), "idle": pytest.approx(500 * (2 + 3) / 3600, abs=1e-3)}
    wait_until(lambda: part("first", tokens["admin"]) == (["first", hidden, "third"], "first", None, whole, None), what="all three")


def send_lines(server, token, job, stream, host, *rows):
    body = "".join(json.dumps({"line": line, "ts": at_ms}) + "\n" for at_ms, line in rows)
    reply = server.post(f"/api/v1/logs?job={job}&stream={stream}&host={host}", body.encode(), content_type="application/x-ndjson", token=token)
    assert reply.status == 200, reply


def fail_beside_fault(server, tokens, job, teller):
    """
    A job of team a on two machines; `teller` says twice what happened to the second one: as its kernel's line in a central log, and as one who claims to be
    that machine. The fault that the failure names, the job and its incidents, as team a reads them.
    """
    now, minute = int(time.time() * 1000), 60_000
    hosts = [f"{job}-h1", f"{job}-h2"]
    for n, host in enumerate(hosts):
        send_lines(server, tokens["a"]["write"], job, f"algo-{n + 1}", host,
            *[(now - 10 * minute + k * 10_000, f"step {k + 1} loss: {3 - k / 100:.3f}" if n == 0 else "alive") for k in range(30)])
    stamp = time.strftime("%b %d %H:%M:%S", time.gmtime((now - 6 * minute) / 1000))
    xid = f"NVRM: Xid (PCI:0000:02:00): 79, pid=1, name=/home/{CANARY}/model.py, GPU has fallen off the bus."
    send_lines(server, teller, f"{CANARY}-{job}-kern", "all", f"{job}-central", (now - 6 * minute, f"{stamp} {hosts[1]} kernel: {xid}"))
    send_lines(server, teller, f"{CANARY}-{job}-forged", "all", hosts[1], (now - 6 * minute, xid))
    wait_until(lambda: len(server.get(f"/api/v1/nodes/{hosts[1]}").body["fault_list"]) == 2, what="both faults")
    send_lines(server, tokens["a"]["write"], job, "algo-1", hosts[0],
        (now - 4 * minute, "[rank3]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, Timeout(ms)=600000) ran for 600061 milliseconds"))
    assert server.post(f"/api/v1/jobs/{job}/transitions", json={"SecondaryStatus": "Failed"}, token=tokens["a"]["write"]).status == 204
    read = tokens["a"]["read"]
    path = f'/api/v1/incidents?q=name="{job}"&all=true'

    def reason():
        rows = [row for row in server.get(path, token=read).body["incidents"] if row["kind"] == "job_failed"]
        return rows and rows[0]["evidence"].get("fault")

    return wait_until(reason, what="the failure"), server.get(f"/api/v1/jobs/{job}", token=read), server.get(path, token=read)


def test_what_another_teams_log_says_of_a_machine_is_no_reason_of_a_job(world):
    """In any mode: who writes for another team would write into the reason of this one's failure."""
    server, tokens, _ = world
    fault, document, incidents = fail_beside_fault(server, tokens, "beside", tokens["b"]["write"])
    assert fault["signature"] == "nccl_timeout", fault
    assert not tells(document) and not tells(incidents), (document, incidents)
    assert [row["kind"] for row in incidents.body["incidents"] if row["kind"] == "node_suspect"] == []
    # its own team's log is heard
    fault, document, _ = fail_beside_fault(server, tokens, "same", tokens["a"]["write"])
    assert fault["signature"] == "xid_79" and fault["told_by"].startswith(f"{CANARY}-same") and CANARY in document.body["FailureReason"], fault


def test_of_the_fleets_own_log_a_team_learns_the_fault_and_no_line_that_it_may_not_read(world):
    server, tokens, mode = world
    fault, document, incidents = fail_beside_fault(server, tokens, "central", tokens["admin"])
    suspects = [row["evidence"] for row in incidents.body["incidents"] if row["kind"] == "node_suspect"]
    assert (fault["signature"], fault["host"]) == ("xid_79", "central-h2"), fault
    assert [row["host"] for row in suspects] == ["central-h2"]
    assert document.body["FailureReason"].startswith("Xid 79: GPU has fallen off the bus on central-h2")
    if mode == "own":
        assert not tells(document) and not tells(incidents), (document.raw, incidents.raw)
        assert document.body["FailureReason"] == "Xid 79: GPU has fallen off the bus on central-h2"
        assert not any("text" in one or "told_by" in one for one in (fault, *suspects))
    else:
        assert fault["told_by"].startswith(f"{CANARY}-central") and CANARY in fault["text"] and CANARY in suspects[0]["text"]
