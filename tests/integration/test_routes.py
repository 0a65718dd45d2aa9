"""One table of routes: what docs/api.md promises, what openapi.json says and what the router answers are the same."""

import re

import pytest

from smserver import ROOT

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
# Lines, records a line, or the bytes of a file: no JSON document.
NOT_JSON = {("POST", "/api/v1/logs"), ("PUT", "/api/v1/logs"), ("POST", "/api/v1/import"), ("PUT", "/api/v1/jobs/{job}/attachments/{path...}")}
# AWS's own protocols, JSON, XML or CBOR by header and operation: docs/aws.md.
AWS = {"/", "/service/{service}/operation/{operation}", "/BatchGetMetrics", "/BatchPutMetrics"}
# MLflow's, which says in its own form what a body lacks, and what is not there by whatever method: docs/mlflow.md.
MLFLOW = "/api/2.0/mlflow"
# W&B's: GraphQL by the name of an operation, and files as they grow: docs/wandb.md.
WANDB = ("/graphql", "/files/")
TRACKIO = ("/api/get_run", "/api/bulk_", "/api/upload", "/api/artifact_log", "/api/check_artifact_blobs")

# Prometheus' and Loki's take protobuf, text and forms: docs/prometheus.md, docs/grafana.md.
PROMETHEUS = ("/prometheus/api/", "/metrics/job", "/loki/api/v1/query", "/loki/api/v1/series", "/loki/api/v1/format_query")


def promised():
    rows = re.findall(r"^\| `([A-Z]+)` \| `(/[^`]*)` \| (\w+) \|", (ROOT / "docs/api.md").read_text(), re.M)
    assert len(rows) > 90 and len({row[:2] for row in rows}) == len(rows)
    return {(method, path): scope for method, path, scope in rows}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    from smserver import Server

    running = Server(tmp_path_factory.mktemp("routes")).start()
    yield running
    running.close()


@pytest.fixture(scope="module")
def document(server):
    return server.get("/api/v1/openapi.json").body


def test_docs_and_openapi_have_the_same_routes(document):
    told = {(method.upper(), path): operation["x-scope"] for path, operations in document["paths"].items()
        for method, operation in operations.items()}
    assert told == promised()


def test_the_router_knows_the_same_methods(server):
    """OPTIONS names what an address takes: of each route that its path fits, and GET, because the page takes any."""
    shapes = [(method, re.compile(re.sub(r"\\\{[^}]*\\\}", "[^/]+", re.escape(path)) + "$")) for method, path in promised()]
    for path in {path for _, path in promised()}:
        address = re.sub(r"\{[^}]*\}", "1", path)
        reply = server.request("OPTIONS", address)
        assert reply.status == 204, (address, reply)
        if path.startswith(MLFLOW):
            continue
        allowed = {method.strip() for method in reply.headers["Allow"].split(",")} & set(METHODS)
        assert allowed | {"GET"} == {method for method, shape in shapes if shape.match(address)} | {"GET"}, address


def test_each_json_body_has_its_schema(document):
    for (method, path) in promised():
        operation = document["paths"][path][method.lower()]
        if path in AWS:
            continue
        if method not in ("POST", "PUT", "PATCH") or (method, path) in NOT_JSON or path.startswith((MLFLOW, *PROMETHEUS, *WANDB, *TRACKIO)):
            assert "requestBody" not in operation, (method, path)
            continue
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        assert schema["type"] == "object" and set(schema["required"]) <= set(schema["properties"]), (method, path)
        types = [one for part in schema["properties"].values() for one in (part["type"] if isinstance(part["type"], list) else [part["type"]])]
        assert set(types) <= {"string", "integer", "number", "boolean", "object", "array", "null"}, (method, path)
        assert operation["requestBody"]["required"] == bool(schema["required"])


def test_what_a_schema_requires_is_asked_for(server, document):
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            body = operation.get("requestBody")
            if not body or not body["required"] or "{" in path:
                continue
            reply = server.request(method.upper(), path, json={})
            assert reply.status in (400, 401, 422), (method, path, reply)


def members_of(document, path, method):
    return set(document["paths"][path][method]["requestBody"]["content"]["application/json"]["schema"]["properties"])


def test_the_schema_of_a_changed_job_lists_what_a_patch_takes(server, document):
    """Who asks for something else is told all that there is, from the table that takes them."""
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "j"}).status == 201
    reply = server.patch("/api/v1/jobs/j", json={"nothing_like_it": 1})
    taken = re.search(r"cannot be changed; (.*) can \(", reply.body["detail"]).group(1).split(", ")
    assert reply.status == 422 and {"tags", "Tags", "notes", "labels", "ResourceConfig", "by_hand", "retention"} <= set(taken)
    assert members_of(document, "/api/v1/jobs/{job}", "patch") == set(taken)
    good = {"tags": {"a": "b"}, "notes": "n", "labels": ["l"], "hp": {"lr": "1"}, "muted_advice": ["retries"], "Tags": [],
        "ResourceConfig": {"KeepAlivePeriodInSeconds": 60}}
    for name, value in good.items():
        assert server.patch("/api/v1/jobs/j", json={name: value}).status < 300, name


def test_the_schema_of_a_rule_lists_what_it_takes(server, document):
    reply = server.post("/api/v1/rules", json={"name": "r", "nothing_like_it": 1})
    taken = set(re.search(r"; it has (.*)$", reply.body["detail"]).group(1).split(", ")) - {"id", "modified_ms", "rule_id", "since_seq"}  # the server's own, which it takes unread
    assert reply.status == 422 and {"exclusive", "webhooks", "expression", "quiet"} <= taken
    assert members_of(document, "/api/v1/rules", "post") == taken == members_of(document, "/api/v1/rules/{id}", "put")
    assert members_of(document, "/api/v1/rules/preview", "post") == taken | {"from_ms", "to_ms"}


def test_each_parameter_says_what_it_is(server, document):
    """And what is said to be a number is read as one."""
    asked = 0
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            for parameter in operation["parameters"]:
                place = (method, path, parameter["name"])
                assert len(parameter.get("description", "")) > 8 and parameter["schema"]["type"] in ("string", "integer", "number", "boolean"), place
                if parameter["in"] == "query" and parameter["schema"]["type"] == "integer" and method == "get" and "{" not in path:
                    reply = server.get(f"{path}?{parameter['name']}=many")
                    assert reply.status == 400 and parameter["name"] in reply.raw.decode(), (place, reply)
                    asked += 1
    assert asked > 10


KINDS = {"structure": "object", "map": "object", "list": "array", "string": "string", "integer": "integer", "long": "integer", "double": "number", "float": "number",
    "boolean": "boolean", "timestamp": ["number", "string"]}
NEWER = {"CreateLogGroup.logGroupClass", "DescribeLogGroups.logGroupIdentifiers", "ListTrainingJobs.StatusEquals=Deleting", "ListTrainingJobs.TrainingPlanArnEquals",
    "PutMetricData.EntityMetricData", "UpdateTrainingJob.RemoteDebugConfig"}  # than Debian's botocore
OURS = {f"GetMetricData.MetricDataQueries[].MetricStat.Metric.{name} is required" for name in ("MetricName", "Namespace")}


def differences(schema, shape, place):
    """Whatever we name is theirs, of their type; whatever we require is required there, too."""
    if schema.get("type", KINDS[shape.type_name]) != KINDS[shape.type_name]:
        yield f"{place} is {schema['type']}, not {shape.type_name}"
    yield from (f"{place}={word}" for word in schema.get("enum", []) if word not in shape.enum)
    for name, part in schema.get("properties", {}).items():
        if shape.type_name != "structure" or name not in shape.members:
            yield f"{place}.{name}"
        else:
            yield from differences(part, shape.members[name], f"{place}.{name}")
    yield from (f"{place}.{name} is required" for name in schema.get("required", []) if name in shape.members and name not in shape.required_members)
    if "items" in schema:
        yield from differences(schema["items"], shape.member, f"{place}[]")
    if "additionalProperties" in schema:
        yield from differences(schema["additionalProperties"], shape.value, f"{place}{{}}")


SERVICES = {"SageMaker": "sagemaker", "Logs_20140328": "logs", "GraniteServiceVersion20100801": "cloudwatch", "AWSEvents": "events", "2010-08-01": "cloudwatch", "2011-06-15": "sts"}


def test_what_aws_operations_take(document):
    """Their schemas, made of the tables that check requests, are parts of AWS's own models as botocore has them; and each has its scope."""
    loader = pytest.importorskip("botocore.session").get_session()
    paths, seen, wrong = document["paths"], {}, set()
    for type, split in (("application/x-amz-json-1.1", "."), ("application/x-www-form-urlencoded", None)):
        for one in paths["/"]["post"]["requestBody"]["content"][type]["schema"]["anyOf"]:
            service, name = one["title"].split(split) if split else (one["title"].split("Version=")[1], re.search("Action=([A-Za-z]+)", one["title"]).group(1))
            model = loader.get_service_model(SERVICES[service])
            seen[service, name] = one
            if name in model.operation_names:  # Debian's is older than some
                wrong |= set(differences(one, model.operation_model(name).input_shape, name))
    assert len(seen) > 30 and {one["x-scope"] for one in seen.values()} == {"public", "read", "write", "admin"}
    assert wrong <= NEWER | OURS, "; ".join(sorted(wrong - NEWER - OURS))
    create = seen["SageMaker", "CreateTrainingJob"]
    assert create["x-scope"] == "write" and {"TrainingJobName", "RoleArn", "OutputDataConfig"} <= set(create["required"])
    assert create["properties"]["TrainingJobName"] == {"type": "string", "minLength": 1, "maxLength": 63, "pattern": "^(?:[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62})$"}
    assert create["properties"]["Tags"]["items"]["required"] == ["Key", "Value"]
    assert seen["SageMaker", "ListTrainingJobs"]["properties"]["MaxResults"] == {"type": "integer", "minimum": 1, "maximum": 100}
    assert seen["2010-08-01", "PutMetricData"] == {**seen["GraniteServiceVersion20100801", "PutMetricData"], "title": "Action=PutMetricData&Version=2010-08-01"}
    batch = paths["/BatchPutMetrics"]["put"]["requestBody"]["content"]["application/json"]["schema"]["anyOf"]
    assert [one["title"] for one in batch] == ["BatchPutMetrics"] and batch[0]["x-scope"] == "write" and batch[0]["required"]
    cbor = paths["/service/{service}/operation/{operation}"]["post"]["requestBody"]["content"]["application/cbor"]["schema"]["anyOf"]
    assert "GraniteServiceVersion20100801/operation/ListMetrics" in {one["title"] for one in cbor}
