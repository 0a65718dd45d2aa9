"""What lies in deploy/: the systemd unit, what it lets the server do, and that its settings are ones that the server knows."""

import pathlib
import re
import shutil
import subprocess
import urllib.error
import urllib.request

import pytest

from postgres import Cluster
from engine import of_a_file
from smserver import ROOT, find_binary, sanitizer_environment, wait_until

UNIT = ROOT / "deploy/smfleet.service"


def run(*command, **options):
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120,
        check=False, **options)


def needs(program):
    if not shutil.which(program):
        pytest.skip(f"needs {program}")


def setting(name):
    return re.findall(rf"^{name}=(.*)$", UNIT.read_text(), re.M)


def test_the_unit_has_no_mistakes(tmp_path):
    needs("systemd-analyze")
    copy = tmp_path / UNIT.name
    copy.write_text(UNIT.read_text().replace("/usr/bin/sm-server", find_binary("sm-server")))
    done = run("systemd-analyze", "verify", copy)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_unit_is_hardened():
    needs("systemd-analyze")
    done = run("systemd-analyze", "security", "--offline=true", "--threshold=20", UNIT)
    if "unrecognized option" in done.stdout:
        pytest.skip("this systemd-analyze knows no --offline")
    assert done.returncode == 0, done.stdout  # an exposure of 2.0 of 10 at most


def filter_of_the_unit():
    """The names that SystemCallFilter= leaves."""
    lists, name = {}, None
    for line in run("systemd-analyze", "syscall-filter").stdout.splitlines():
        if re.match(r"[@#]", line):
            name = line.strip()
            lists[name] = set()
        elif name and line.startswith("    ") and not line.strip().startswith("#"):
            lists[name].add(line.strip())

    def members(word):
        return set().union(*map(members, lists[word])) if word.startswith("@") else {word}

    allowed = set()
    for words in setting("SystemCallFilter"):
        if words.startswith("~"):
            allowed -= set().union(*map(members, words[1:].split()))
        else:
            allowed |= set().union(members("@default"), *map(members, words.split()))
    return allowed


def test_the_server_makes_no_system_call_that_the_unit_forbids(make_server, tmp_path):
    needs("strace")
    needs("systemd-analyze")
    allowed = filter_of_the_unit()
    assert {"read", "mmap", "socket"} <= allowed and not {"mount", "ptrace", "chown", "setuid"} & allowed
    trace = tmp_path / "trace"
    server = make_server(start=False, environment={"ASAN_OPTIONS": "detect_leaks=0", "PATH": "/usr/bin:/bin"})
    server.wrapper = ["strace", "-D", "-f", "-q", "-o", str(trace)]
    server.start()
    server.post("/api/v1/jobs", json={"TrainingJobName": "gpt", "AlgorithmSpecification": {"MetricDefinitions": [
        {"Name": "loss", "Regex": r"step (?<step>\d+) loss=(?<value>\S+)"}]}})  # its JIT wants memory that is written, then executed
    server.send("gpt", [f"step {n} loss={1 / n}" for n in range(1, 200)])
    server.wait_for_points("gpt", "loss", 199)
    webhook = server.post("/api/v1/webhooks", json={"url": "http://127.0.0.1:9/"})
    assert webhook.status == 201, webhook
    server.get("/metrics")
    server.stop()
    wait_until(lambda: re.search(r"\+\+\+ exited with 0 \+\+\+$", trace.read_text().rstrip()), what="strace to write the end")
    made = set(re.findall(r"^\d+ +([a-z_0-9]+)\(", trace.read_text(), re.M))
    assert {"socket", "fsync"} & made
    # SQLite gives its files to the folder's owner when it runs as root, which the unit's user is not
    assert made - allowed - {"fchown"} == set()


def test_the_settings_of_the_service_are_known_also_those_that_are_commented_out(tmp_path):
    shipped = (ROOT / "deploy/sm-server.conf").read_text()
    examples = re.findall(r"^#([a-z-]+ = .*)$", shipped, re.M)
    assert len(examples) >= 5
    for text in (shipped, shipped + "\n".join(examples) + "\n"):
        conf = tmp_path / "sm-server.conf"
        conf.write_text(text.replace("/var/lib/smfleet", str(tmp_path)))
        done = run(find_binary("sm-server"), "check", "--config", conf, env=sanitizer_environment({"PATH": "/usr/bin:/bin"}))
        assert "smfleet.db" in done.stdout and "unknown" not in done.stdout, done.stdout


@of_a_file("whose machine the log tells of")
def test_a_start_raises_the_limit_of_descriptors(make_server):
    """2048 senders and their event streams are more than the 1024 that a shell gives."""
    server = make_server(start=False)
    server.wrapper = ["prlimit", "--nofile=512:4096"]
    server.start()
    limits = pathlib.Path(f"/proc/{server.process.pid}/limits").read_text()
    assert re.search(r"Max open files +4096 +4096", limits), limits
    wait_until(lambda: "open_files=4096" in server.log_text(), what="the log to say so")


# ---- the container ----

def start_container(tmp_path, *words, **environment):
    """What the image starts, with the image's variables."""
    path = pathlib.Path(find_binary("sm-server")).parent
    environment = sanitizer_environment({"PATH": f"{path}:/usr/bin:/bin", "SMFLEET_LISTEN": "0.0.0.0:0",
        "SMFLEET_DB": str(tmp_path / "smfleet.db"), **environment})
    return subprocess.Popen([ROOT / "deploy/container-start", *words], env=environment, cwd=tmp_path, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True)


def said_until_listening(process):
    said = ""
    for line in process.stdout:
        said += line
        if "event=listening" in line:
            return said, int(re.search(r"port=(\d+)", line).group(1))
    raise AssertionError(said)


def ask(port, path, token):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers={"Authorization": f"Bearer {token}"} if token else {})
    with urllib.request.urlopen(request, timeout=30) as reply:
        return reply.status


def end(process):
    process.terminate()
    rest = process.stdout.read()
    assert process.wait(30) == 0, rest


def test_the_first_start_of_a_container_says_a_token_and_later_ones_do_not(tmp_path):
    process = start_container(tmp_path)
    said, port = said_until_listening(process)
    token = re.search(r"the first token.*: (\S+)$", said, re.M).group(1)
    with pytest.raises(urllib.error.HTTPError, match="401"):
        ask(port, "/api/v1/tokens", None)
    assert ask(port, "/api/v1/tokens", token) == 200
    end(process)
    process = start_container(tmp_path, "--workers", "2")
    said, port = said_until_listening(process)
    assert "token" not in said
    assert ask(port, "/api/v1/tokens", token) == 200
    end(process)


def test_a_container_runs_the_other_commands_too(tmp_path):
    process = start_container(tmp_path, "check")
    assert process.wait(60) in (0, 1) and "smfleet.db" in process.stdout.read()
    process = start_container(tmp_path, "sm-ship", "--version")
    assert "sm-ship" in process.stdout.read() and process.wait(60) == 0
    process = start_container(tmp_path, SMFLEET_INSECURE="yes")
    assert "token" not in said_until_listening(process)[0]
    end(process)


def test_containers_of_one_postgresql_database_wait_for_each_other(tmp_path):
    """A first start makes no token there, as each of them has one."""
    with Cluster() as cluster:
        where = {"SMFLEET_DB": cluster.url, "SMFLEET_SECRET_KEY_FILE": str(tmp_path / "key")}
        process = start_container(tmp_path, **where)
        said = next(line for line in process.stdout if "no token exists yet" in line or "event=listening" in line)
        process.terminate()
        assert "no token exists yet" in said and process.wait(60) == 1
        process = start_container(tmp_path, "token", "create", "admin", "--scope", "admin", **where)
        token = process.stdout.read().strip()
        assert process.wait(60) == 0, token
        first = start_container(tmp_path, **where)
        port = said_until_listening(first)[1]
        assert ask(port, "/api/v1/tokens", token) == 200
        second = start_container(tmp_path, **where)
        assert any("event=standby" in line for line in second.stdout)
        end(first)
        port = said_until_listening(second)[1]
        assert ask(port, "/api/v1/tokens", token) == 200
        end(second)


def documents(name):
    yaml = pytest.importorskip("yaml", reason="needs python3-yaml")
    return list(yaml.safe_load_all((ROOT / "deploy" / name).read_text()))


def test_the_kubernetes_manifest_hangs_together(server):
    service, stateful = documents("kubernetes.yaml")
    assert (service["apiVersion"], service["kind"]) == ("v1", "Service")
    assert (stateful["apiVersion"], stateful["kind"]) == ("apps/v1", "StatefulSet")
    spec = stateful["spec"]
    pod, (container,) = spec["template"]["spec"], spec["template"]["spec"]["containers"]
    labels = spec["template"]["metadata"]["labels"]
    assert service["spec"]["selector"].items() <= labels.items() and spec["selector"]["matchLabels"].items() <= labels.items()
    assert spec["serviceName"] == service["metadata"]["name"] and spec["replicas"] == 1
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert {port["targetPort"] for port in service["spec"]["ports"]} <= set(ports)
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        target = container[probe]["httpGet"]
        assert target["port"] in ports and server.get(target["path"], headers={"Host": "10.1.2.3:8080"}).status == 200
    volumes = {volume["name"] for volume in pod["volumes"]} | {claim["metadata"]["name"] for claim in spec["volumeClaimTemplates"]}
    assert {mount["name"] for mount in container["volumeMounts"]} == volumes
    # as strict as Kubernetes' "restricted" profile
    inner = container["securityContext"]
    assert pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["seccompProfile"]["type"] == "RuntimeDefault"
    assert not inner["allowPrivilegeEscalation"] and inner["capabilities"]["drop"] == ["ALL"] and inner["readOnlyRootFilesystem"]
    # and it fits the image
    image = (ROOT / "deploy/Dockerfile").read_text()
    assert f"USER {pod['securityContext']['runAsUser']}:{pod['securityContext']['runAsGroup']}\n" in image
    assert f"SMFLEET_LISTEN=0.0.0.0:{ports['http']}" in image
    mount = next(mount["mountPath"] for mount in container["volumeMounts"] if mount["name"] == "data")
    assert f"SMFLEET_DB={mount}/" in image and f"VOLUME {mount}\n" in image
    version = re.search(r"VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text().partition("project(")[2]).group(1)
    assert container["image"].endswith(f":{version}")
    known = run(find_binary("sm-server"), "--help").stdout
    for variable in container["env"]:
        assert "--" + variable["name"].removeprefix("SMFLEET_").lower().replace("_", "-") + " " in known, variable


@pytest.mark.parametrize("manifest", ["kubernetes.yaml", "kubernetes-postgres.yaml"])
def test_the_image_is_named_once(tmp_path, manifest):
    """Whoever has it in a registry of their own changes one line, and each container has it."""
    version = re.search(r"VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text().partition("project(")[2]).group(1)
    text = (ROOT / "deploy/kustomization.yaml").read_text()
    assert f"    newTag: {version}\n" in text and "  - kubernetes.yaml\n" in text
    text = text.replace("newName: smfleet", "newName: registry.example.org/ours").replace("- kubernetes.yaml", f"- {manifest}")
    (tmp_path / "kustomization.yaml").write_text(text)
    own = (ROOT / "deploy" / manifest).read_text()
    assert set(re.findall(r"image: (smfleet\S*)", own)) == {f"smfleet:{version}"}
    needs("kubectl")
    (tmp_path / manifest).write_text(own)
    done = run("kubectl", "kustomize", tmp_path)
    assert done.returncode == 0, done.stdout
    images = re.findall(r"image: (\S+)", done.stdout)
    assert images.count(f"registry.example.org/ours:{version}") == own.count("image: smfleet:") and not [name for name in images if name.startswith("smfleet")]


def check_strict(pod, container):
    """As strict as Kubernetes' "restricted" profile."""
    inner = container["securityContext"]
    assert pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["seccompProfile"]["type"] == "RuntimeDefault"
    assert not inner["allowPrivilegeEscalation"] and inner["capabilities"]["drop"] == ["ALL"] and inner["readOnlyRootFilesystem"]
    assert {mount["name"] for mount in container["volumeMounts"]} <= {volume["name"] for volume in pod["volumes"]}


def test_the_manifest_of_two_servers_on_postgresql_hangs_together(server, tmp_path):
    found = documents("kubernetes-postgres.yaml")
    by = {(one["kind"], one["metadata"]["name"]): one["spec"] for one in found if "spec" in one}
    servers, balancer = by["Deployment", "smfleet"], by["Deployment", "smfleet-balancer"]
    pods = {name: by["Job", name]["template"]["spec"] for name in ("smfleet-migrate", "smfleet-first-token")}
    for spec, service in ((servers, "smfleet-servers"), (balancer, "smfleet")):
        labels = spec["template"]["metadata"]["labels"]
        assert spec["selector"]["matchLabels"] == labels == by["Service", service]["selector"] and spec["replicas"] == 2
        (container,) = spec["template"]["spec"]["containers"]
        assert {port["targetPort"] for port in by["Service", service]["ports"]} == {port["name"] for port in container["ports"]}
    assert by["PodDisruptionBudget", "smfleet"] == {"minAvailable": 1, "selector": servers["selector"]}
    assert by["Service", "smfleet-servers"]["publishNotReadyAddresses"] and by["Service", "smfleet-servers"]["clusterIP"] == "None"
    # A standby is as ready as the owner, or an update and a drained node would wait for it for ever.
    (container,) = servers["template"]["spec"]["containers"]
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"] == {"path": "/healthz", "port": "http"}
    assert server.get("/healthz", headers={"Host": "10.1.2.3:8080"}).status == 200
    image = (ROOT / "deploy/Dockerfile").read_text()
    known = run(find_binary("sm-server"), "--help").stdout
    secret = {"key", "ca.crt", "password", "owner-password"}
    text = (ROOT / "deploy/kubernetes-postgres.yaml").read_text()
    assert all(f"={name}" in text or f"-literal={name}" in text for name in secret)
    for pod in (servers["template"]["spec"], balancer["template"]["spec"], *pods.values()):
        for one in (*pod.get("initContainers", []), *pod["containers"]):
            check_strict(pod, one)
            if not one["image"].startswith("smfleet:"):
                continue
            assert f"USER {pod['securityContext']['runAsUser']}:{pod['securityContext']['runAsGroup']}\n" in image and "libpq5" in image
            for variable in one.get("env", []):
                if "valueFrom" in variable:
                    assert variable["name"] == "PGPASSWORD" and variable["valueFrom"]["secretKeyRef"]["key"] in secret
                else:
                    assert "--" + variable["name"].removeprefix("SMFLEET_").lower().replace("_", "-") + " " in known, variable
    # The two databases' addresses differ by their role alone, and the key is where the first container puts it.
    owner, first = (next(v["value"] for v in pods[name]["containers"][0]["env"] if v["name"] == "SMFLEET_DB") for name in pods)
    runtime = {v["name"]: v.get("value") for v in container["env"]}
    assert owner.replace("smfleet_owner@", "smfleet@") == first == runtime["SMFLEET_DB"]
    assert pods["smfleet-migrate"]["containers"][0]["args"] == ["migrate", "--runtime-role", "smfleet"]
    assert servers["template"]["spec"]["initContainers"][0]["command"][-1] == runtime["SMFLEET_SECRET_KEY_FILE"]


def test_the_balancer_of_the_manifest_is_that_of_the_example(tmp_path):
    """But for how it finds the servers, and that it says that it lives."""
    (conf,) = (one["data"]["haproxy.cfg"] for one in documents("kubernetes-postgres.yaml") if one["kind"] == "ConfigMap")
    path = tmp_path / "haproxy.cfg"
    path.write_text(conf)
    haproxy = shutil.which("haproxy") or shutil.which("/usr/sbin/haproxy")
    if haproxy:
        done = run(haproxy, "-c", "-f", path)
        assert done.returncode == 0, done.stdout
    example = {line.strip() for line in (ROOT / "deploy/examples/postgres/haproxy.cfg").read_text().splitlines()}
    own = [line for line in conf.splitlines() if line.strip() and line.strip() not in example]
    assert [line.split()[0] for line in own] == ["resolvers", "parse-resolv-conf", "hold", "#", "http-request", "server-template"], own
