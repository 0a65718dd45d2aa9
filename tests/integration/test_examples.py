"""deploy/examples: each file is well-formed, and what its program would send by it arrives as the file's first lines say.

The shippers themselves are no Debian packages: their requests are made here in the form that they document, with the labels,
path and port that the file states. The Slurm scripts and the JobSet's command are run for real.
"""

import gzip
import json
import os
import pathlib
import re
import signal
import subprocess

import pytest

import otlp
from awslogs import ask, kind, now_ms
from fixtures import emptied_server as server  # noqa: F401 (one process for the file)
from shipping import lines
from test_auth import make_token
from smserver import ROOT, wait_until
from wire import loki_json, loki_push, snappy

EXAMPLES = ROOT / "deploy/examples"
T0 = 1_700_000_000_000_000_000
POD_LABELS = {"jobset.sigs.k8s.io/jobset-name": "llama", "jobset.sigs.k8s.io/replicatedjob-name": "workers",
    "jobset.sigs.k8s.io/job-index": "0", "batch.kubernetes.io/job-name": "llama-workers-0", "batch.kubernetes.io/job-completion-index": "3"}
POD = {"pod": "llama-workers-0-3-x7", "node": "gpu-7", "namespace": "nlp"}
EXPECTED = ("llama", {"workers-0-3": "gpu-7"}, "nlp")


def text(name):
    return (EXAMPLES / name).read_text()


def load(name):
    yaml = pytest.importorskip("yaml", reason="needs python3-yaml")
    return yaml.safe_load(text(name))


def underscored(name):
    return re.sub(r"[^A-Za-z0-9]", "_", name)


def check(server, job, streams, team):
    rows = server.get(f"/api/v1/jobs/{job}/streams")
    assert rows.status == 200 and {row["stream"]: row["host"] for row in rows.body["streams"]} == streams, rows
    assert server.get(f"/api/v1/jobs/{job}").body.get("team") == team


def same_port(url_or_port):
    """Every example sends to the port on which a server listens by default."""
    assert str(url_or_port).endswith("8080") or ":8080/" in str(url_or_port), url_or_port


def test_fluent_bit(server):
    (output,) = load("fluent-bit.yaml")["pipeline"]["outputs"]
    same_port(output["port"])
    record = {"kubernetes['pod_name']": POD["pod"], "kubernetes['host']": POD["node"], "kubernetes['namespace_name']": POD["namespace"]}
    labels = {name: record[value.removeprefix("$")] for name, value in (pair.split("=") for pair in output["labels"].split(", "))}
    if output["auto_kubernetes_labels"]:
        labels |= {underscored(name): value for name, value in POD_LABELS.items()}
    body = json.dumps(loki_json((labels, [(T0, "step 1 loss=2")])))
    for _ in range(2):  # it retries without a limit
        assert server.post(output["uri"], body, content_type="application/json", headers={"User-Agent": "Fluent-Bit"}).status == 204
    check(server, *EXPECTED)
    assert lines(server, "llama", "workers-0-3") == ["step 1 loss=2"]


def test_vector(server):
    tomllib = pytest.importorskip("tomllib", reason="needs Python 3.11")
    sink = tomllib.loads(text("vector.toml"))["sinks"]["smfleet"]
    same_port(sink["endpoint"])
    values = {"{{ kubernetes.pod_name }}": POD["pod"], "{{ kubernetes.pod_node_name }}": POD["node"],
        "{{ kubernetes.pod_namespace }}": POD["namespace"]}
    labels = {}
    for name, template in sink["labels"].items():
        if name.endswith("*"):  # a label of each key of the object
            assert template == "{{ kubernetes.pod_labels }}"
            labels |= {underscored(name[:-1] + key): value for key, value in POD_LABELS.items()}
        else:
            labels[name] = values[template]
    assert sink["compression"] == "snappy" and sink["encoding"]["codec"] == "text"
    reply = server.post(sink["path"], snappy(loki_push((labels, [(T0, "step 1 loss=2")]))), content_type="application/x-protobuf",
        headers={"Content-Encoding": "snappy"})
    assert reply.status == 204
    check(server, *EXPECTED)


def push_as_discovered(server, url, rules):
    """Promtail and Alloy: the labels that Kubernetes' discovery gives, rewritten by the rules; each rule (action, sources, target, regex)."""
    same_port(url)
    meta = {"__meta_kubernetes_pod_name": POD["pod"], "__meta_kubernetes_pod_node_name": POD["node"], "__meta_kubernetes_namespace": POD["namespace"],
        **{"__meta_kubernetes_pod_label_" + underscored(name): value for name, value in POD_LABELS.items()}}
    labels = {}
    for action, sources, target, regex in rules:
        if action == "labelmap":
            labels |= {found.group(1): value for name, value in meta.items() if (found := re.fullmatch(regex, name))}
        elif not target.startswith("__"):
            labels[target] = meta[sources[0]]
    path = url[url.index("/", len("http://")):]
    reply = server.post(path, snappy(loki_push((labels, [(T0, "step 1 loss=2")]))), content_type="application/x-protobuf")
    assert reply.status == 204
    check(server, *EXPECTED)


def test_promtail(server):
    config = load("promtail.yaml")
    (scrape,) = config["scrape_configs"]
    rules = [(rule.get("action"), rule.get("source_labels"), rule.get("target_label"), rule.get("regex")) for rule in scrape["relabel_configs"]]
    push_as_discovered(server, config["clients"][0]["url"], rules)


def test_alloy(server):
    config = re.sub(r"//(?!smfleet).*", "", text("config.alloy"))
    assert config.count("{") == config.count("}") and config.count("[") == config.count("]")
    rules = []
    for rule in re.findall(r"rule \{(.*?)\n  \}", config, re.S):
        value = {name: found for name, found in re.findall(r'(\w+)\s*=\s*\[?"([^"]*)"', rule)}
        rules.append((value.get("action"), [value.get("source_labels")], value.get("target_label"), value.get("regex")))
    assert len(rules) == 4
    push_as_discovered(server, re.search(r'url = "([^"]+)"', config).group(1), rules)


def test_otel_collector(server):
    config = load("otel-collector.yaml")
    exporter, extract = config["exporters"]["otlphttp"], config["processors"]["k8sattributes"]["extract"]
    same_port(exporter["endpoint"])
    known = {"k8s.namespace.name": POD["namespace"], "k8s.pod.name": POD["pod"], "k8s.node.name": POD["node"]}
    resource = {name: known[name] for name in extract["metadata"]}
    resource |= {label["tag_name"]: POD_LABELS[label["key"]] for label in extract["labels"]}
    for pipeline in config["service"]["pipelines"].values():
        assert set(pipeline["receivers"]) <= set(config["receivers"]) and set(pipeline["processors"]) <= set(config["processors"])
        assert pipeline["exporters"] == ["otlphttp"]
    assert exporter["compression"] == "gzip"
    packed = {"content_type": "application/x-protobuf", "headers": {"Content-Encoding": "gzip"}}
    assert server.post("/v1/logs", gzip.compress(otlp.logs(resource, [(T0, "step 1 loss=2")])[0]), **packed).status == 200
    points = otlp.metrics(resource, otlp.metric("gauge", "reward", [(T0, 0.5, {})]))[0]
    assert server.post("/v1/metrics", gzip.compress(points), **packed).status == 200
    check(server, *EXPECTED)
    assert server.wait_for_points("llama", "reward", 1, "workers-0-3")["last"] == 0.5


def test_docker(server):
    logging = load("docker-compose.yaml")["services"]["train"]["logging"]
    options = logging["options"]
    same_port(options["loki-url"])
    labels = dict(pair.split("=") for pair in options["loki-external-labels"].split(","))
    # what the driver adds by itself
    labels |= {"host": "worker-1", "container_name": "train-1", "compose_service": "train", "source": "stdout", "filename": "/var/log/docker/x"}
    path = options["loki-url"][options["loki-url"].index("/loki"):]
    assert server.post(path, snappy(loki_push((labels, [(T0, "step 1 loss=2")]))), content_type="application/x-protobuf").status == 204
    check(server, "my-run", {"worker-1": "worker-1"}, None)


# ---- CloudWatch Logs: what each of them sends, test_aws_logs.py has; here, where it lands ----

def cloudwatch_fluent_bit():
    (output,) = load("fluent-bit-cloudwatch.yaml")["pipeline"]["outputs"]
    assert output["name"] == "cloudwatch_logs" and output["tls"] in (False, "off")
    return f"http://{output['endpoint']}:{output['port']}", output["log_group_name"], output["log_stream_name"]


def cloudwatch_vector():
    sink = pytest.importorskip("tomllib", reason="needs Python 3.11").loads(text("vector-cloudwatch.toml"))["sinks"]["smfleet"]
    assert sink["type"] == "aws_cloudwatch_logs" and sink["compression"] == "gzip"
    return sink["endpoint"], sink["group_name"], sink["stream_name"]


def cloudwatch_docker():
    logging = load("docker-awslogs.yaml")["services"]["train"]["logging"]
    assert logging["driver"] == "awslogs"
    return tuple(logging["options"][f"awslogs-{name}"] for name in ("endpoint", "group", "stream"))


def cloudwatch_agent():
    logs = json.loads(text("cloudwatch-agent.json"))["logs"]
    (file,) = logs["logs_collected"]["files"]["collect_list"]
    return logs["endpoint_override"], file["log_group_name"], file["log_stream_name"]


def cloudwatch_otel():
    exporter = load("otel-collector-cloudwatch.yaml")["exporters"]["awscloudwatchlogs"]
    return exporter["endpoint"], exporter["log_group_name"], exporter["log_stream_name"]


def test_cloudwatch(server):
    values = {"${JOB_NAME}": "llama", "${env:JOB_NAME}": "llama", "${JOB_NAME:-my-job}": "llama", "my-job": "llama",
        "${NODE}": "algo-1", "${env:NODE}": "algo-1", "{hostname}": "algo-1"}
    for number, example in enumerate((cloudwatch_fluent_bit, cloudwatch_vector, cloudwatch_docker, cloudwatch_agent, cloudwatch_otel)):
        url, group, stream = example()
        same_port(url)
        for variable, value in values.items():
            stream = stream.replace(variable, value)
        names = {"logGroupName": group, "logStreamName": stream}
        assert kind(ask(server, "CreateLogStream", names)) in (None, "ResourceAlreadyExistsException"), example
        event = {"timestamp": now_ms(), "message": f"step {number} loss=2"}
        assert ask(server, "PutLogEvents", {**names, "logEvents": [event]}, packed=True).status == 200
    check(server, "llama", {"algo-1": ""}, None)
    assert lines(server, "llama") == [f"step {number} loss=2" for number in range(5)]


# ---- Slurm: the scripts themselves ----

@pytest.fixture
def slurm(server, ship, tmp_path):
    """The scripts' environment, with srun and python that stand for the cluster's."""
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "sm-ship").symlink_to(ship.program)
    (tools / "srun").write_text('#!/bin/sh\nSLURM_PROCID=0 SLURM_NODEID=0 SLURM_LOCALID=0 SLURM_NTASKS=1 SLURM_STEP_ID=0 exec "$@"\n')
    (tools / "python").write_text('#!/bin/sh\necho "step 1 loss=2"; sleep "${HANG:-0}"\n')
    for tool in tools.iterdir():
        tool.chmod(0o755)
    environment = {key: value for key, value in ship.env.items() if key != "SMFLEET_SPOOL"}
    environment |= {"PATH": f"{tools}:{os.environ['PATH']}", "SMFLEET_SERVER": server.url, "SMFLEET_SPOOL": str(tmp_path / "slurm/4711"),
        "SLURM_JOB_ID": "4711", "SLURM_JOB_NAME": "llama", "SLURMD_NODENAME": "gpu-7", "SLURM_JOB_UID": str(os.geteuid())}

    class Slurm:
        spool = pathlib.Path(environment["SMFLEET_SPOOL"])

        def run(self, name, **more):
            return subprocess.run([EXAMPLES / name], env={**environment, **more}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False)

        def start(self, name, **more):
            return subprocess.Popen([EXAMPLES / name], env={**environment, **more}, start_new_session=True, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL)

    return Slurm()


def test_slurm(server, slurm):
    assert slurm.run("slurm-prolog").returncode == 0 and slurm.spool.stat().st_mode & 0o777 == 0o700
    done = slurm.run("slurm-train.sbatch")
    assert done.returncode == 0, done.stdout
    assert lines(server, "llama-4711", server.get("/api/v1/jobs/llama-4711/streams").body["streams"][0]["stream"]) == ["step 1 loss=2"]
    document = server.get("/api/v1/jobs/llama-4711").body
    assert document["TrainingJobStatus"] == "Completed" and document["HyperParameters"]["lr"] == "3e-4"
    assert server.get("/api/v1/jobs/llama-4711/streams").body["streams"][0]["host"] == "gpu-7"
    assert slurm.run("slurm-epilog").returncode == 0 and not slurm.spool.exists()
    assert len(server.get("/api/v1/jobs/llama-4711/streams").body["streams"]) == 1


def test_slurm_that_kills_everything(server, slurm):
    slurm.run("slurm-prolog")
    process = slurm.start("slurm-train.sbatch", HANG="60")
    wait_until(lambda: server.get("/api/v1/jobs/llama-4711/streams").status == 200, what="the first line")
    wait_until(lambda: any(path.stat().st_size for path in slurm.spool.rglob("*.out")), what="the spool")
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for path in pathlib.Path("/proc").glob("[0-9]*/environ"):  # what the command had forked into a group of its own
        try:
            if f"SMFLEET_SPOOL={slurm.spool}".encode() in path.read_bytes():
                os.kill(int(path.parent.name), signal.SIGKILL)
        except OSError:
            pass
    assert slurm.run("slurm-epilog").returncode == 0
    (said,) = lines(server, "llama-4711", "epilog")
    assert said.startswith("epilog on gpu-7: ") and str(slurm.spool) in said
    assert slurm.spool.exists()


def test_slurm_where_the_server_wants_a_token(make_server, slurm):
    guarded = make_server()
    token = make_token(guarded, "slurm", "write")
    slurm.run("slurm-prolog")
    (slurm.spool / "algo-1.out").write_text("left")
    refused = slurm.run("slurm-epilog", SMFLEET_SERVER=guarded.url)
    assert refused.returncode == 0 and "401" in refused.stdout, refused.stdout  # an epilog that fails drains the node
    done = slurm.run("slurm-epilog", SMFLEET_SERVER=guarded.url, SMFLEET_TOKEN=token)
    assert done.returncode == 0 and "401" not in done.stdout, done.stdout
    guarded.token = make_token(guarded, "looks", "read")
    (said,) = lines(guarded, "llama-4711", "epilog")
    assert "sm-ship --send-rest" in said, said


def test_slurm_with_any_name(server, slurm):
    slurm.run("slurm-prolog")
    (slurm.spool / "algo-1.out").write_text("left")
    name = "llama 70b&stream=x[1-3]é"
    done = slurm.run("slurm-epilog", SLURM_JOB_NAME=name)
    assert done.returncode == 0, done.stdout
    (row,) = server.get("/api/v1/jobs").body["jobs"]
    assert row["TrainingJobName"] == f"{name}-4711", done.stdout


def test_jobset(server, ship):
    spec = load("kubernetes-jobset.yaml")
    job = spec["spec"]["replicatedJobs"][0]["template"]["spec"]
    pod = job["template"]["spec"]
    (container,) = pod["containers"]
    assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}
    labels = {**POD_LABELS, "jobset.sigs.k8s.io/jobset-uid": "1c-9", "jobset.sigs.k8s.io/restart-attempt": "0"}

    def environment(index, uid):
        given = {"JOB_COMPLETION_INDEX": str(index)}  # which Kubernetes sets by itself
        for variable in container["env"]:
            field = variable.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
            label = re.fullmatch(r"metadata\.labels\['(.+)'\]", field or "")
            known = {"spec.nodeName": f"gpu-{index}", None: variable.get("value")}
            given[variable["name"]] = labels[label.group(1)] if label else known[field]
        same_port(given["SMFLEET_SERVER"])
        return {**given, "JOBSET_UID": uid, "SMFLEET_SERVER": server.url, "SMFLEET_SPOOL": str(ship.spool)}

    assert container["command"][:2] == ["/tools/sm-ship", "--"]
    for uid in ("1c-9", "2d-0"):  # made anew under its old name
        for index in range(2):
            done = ship.run("--", "sh", "-c", "echo step 1 loss=2", "train.py", *container["command"][4:], **environment(index, uid))
            assert done.returncode == 0, done.stderr
    for name in ("llama", "llama-2"):
        assert {row["stream"]: row["host"] for row in server.get(f"/api/v1/jobs/{name}/streams").body["streams"]} == {"algo-1": "gpu-0", "algo-2": "gpu-1"}


def test_the_page_says_what_each_example_is():
    pages = "".join(page.read_text() for page in (ROOT / "docs").glob("*.md"))
    for path in EXAMPLES.iterdir():
        if path.is_dir():
            assert f"deploy/examples/{path.name}" in pages, path.name
        elif path.suffix != ".md":
            assert "smfleet" in path.read_text().split("\n\n")[0] or "What arrives where" in path.read_text(), path.name
