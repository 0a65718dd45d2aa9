"""Steps of a conversation by other products' protocols: SageMaker and its metrics service. What they change is what REST shows."""

import json

from talking import ADMINS, READERS, SENDERS, verb

ARN = "arn:aws:sagemaker:us-east-1:000000000000:training-job/"
AWS_JOBS = ["a", "a", "b", "a-2"]  # names that AWS allows
AWS_TAGS = ["colour", "owner"]


# ---- SageMaker ----

def call(talk, who, operation, body):
    return talk.ask(who, "POST", "/", json=body, headers={"X-Amz-Target": f"SageMaker.{operation}"}, content_type="application/x-amz-json-1.1")


def refusal_of(talk, who, scope, missing, change_of=None):
    """(status, a word of the error's kind) of who may not, or has no such job; change_of: the name of the job that would be changed."""
    refusal = talk.model.refuse(who, scope)
    if refusal:
        return 403, "UnrecognizedClient" if refusal == 401 else "AccessDenied"
    if change_of is None:
        return None
    job = talk.model.jobs.get(change_of)
    if not job or not talk.model.may_read(who, job):
        return 400, missing
    return None if talk.model.owns(who, job) else (403, "AccessDenied")


def refuses(talk, who, operation, body, refusal):
    reply = call(talk, who, operation, body)
    wanted = refusal or (200, "")
    assert reply.status == wanted[0] and wanted[1] in reply.raw.decode(), f"{operation} by {who} should be {wanted}: {reply}"
    return json.loads(reply.raw or b"{}")


def drawn_aws(who, **more):
    return lambda chance: {"who": chance.choice(who), "job": chance.choice(AWS_JOBS), **{name: chance.choice(values) for name, values in more.items()}}


@verb(2, drawn_aws(SENDERS, lr=["0.1", "8"]))
def aws_create(talk, who, job, lr):
    document = {"TrainingJobName": talk.name(job), "HyperParameters": {"lr": lr}, "AlgorithmSpecification": {"TrainingInputMode": "File", "TrainingImage": "image"},
        "RoleArn": "arn:aws:iam::000000000000:role/role", "OutputDataConfig": {"S3OutputPath": "s3://bucket/out"},
        "ResourceConfig": {"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 1}, "StoppingCondition": {"MaxRuntimeInSeconds": 3600}}
    status = talk.model.create(who, document)
    known = {401: (403, "UnrecognizedClient"), 403: (403, "AccessDenied"), 409: (400, "ResourceInUse"), 201: None}[status]
    refuses(talk, who, "CreateTrainingJob", document, known)


@verb(2, drawn_aws(READERS))
def aws_describe(talk, who, job):
    status = talk.model.read_status(who, talk.name(job))
    known = {401: (403, "UnrecognizedClient"), 403: (403, "AccessDenied"), 404: (400, "Requested resource not found."), 200: None}[status]
    body = refuses(talk, who, "DescribeTrainingJob", {"TrainingJobName": talk.name(job)}, known)
    if status == 200:
        known = talk.model.jobs[talk.name(job)]
        assert body["TrainingJobName"] == known.name and body.get("HyperParameters", {}) == known.hp, (body, known.hp)


@verb(2, drawn_aws(SENDERS))
def aws_stop(talk, who, job):
    name = talk.name(job)
    refusal = refusal_of(talk, who, "write", "Requested resource not found.", name)
    known = talk.model.jobs.get(name)
    if known and not refusal and known.has_ended():
        refusal = 400, "The request was rejected"
    refuses(talk, who, "StopTrainingJob", {"TrainingJobName": name}, refusal)
    if not refusal:
        known.state("Stopping")


@verb(2, drawn_aws(SENDERS, key=AWS_TAGS, value=["red", "blue"], is_removal=[False, False, True]))
def aws_tag(talk, who, job, key, value, is_removal):
    name = talk.name(job)
    refusal = refusal_of(talk, who, "write", "does not exist", name)
    operation, body = ("DeleteTags", {"TagKeys": [key]}) if is_removal else ("AddTags", {"Tags": [{"Key": key, "Value": value}]})
    refuses(talk, who, operation, {"ResourceArn": ARN + name, **body}, refusal)
    if not refusal:
        talk.model.jobs[name].change({"tags": {key: None if is_removal else value}})


@verb(1, drawn_aws(ADMINS))
def aws_delete(talk, who, job):
    name = talk.name(job)
    refusal = refusal_of(talk, who, "admin", "ResourceNotFound", name)
    known = talk.model.jobs.get(name)
    if known and talk.model.refuse(who, "admin") is None and talk.model.may_read(who, known) and not known.has_ended():
        refusal = 400, "ResourceInUse"
    refuses(talk, who, "DeleteTrainingJob", {"TrainingJobName": name}, refusal)
    if not refusal:
        talk.model.throw(known)


@verb(3, lambda chance: {"who": chance.choice(SENDERS), "job": chance.choice(AWS_JOBS), "rows": [(chance.choice(["m", "n"]), chance.randrange(50), chance.choice([0.5, 2, -1]))
    for _ in range(chance.randrange(1, 6))]})
def aws_metrics(talk, who, job, rows):
    """A point whose step goes back has the time of the others, as all that a conversation dates."""
    metrics = [{"MetricName": metric, "Timestamp": talk.began_ms / 1000, "Step": step, "Value": value} for metric, step, value in rows]
    status = talk.model.send_points(who, talk.name(job), "algo-1", rows, False)
    reply = talk.ask(who, "PUT", "/BatchPutMetrics", json={"TrialComponentName": talk.name(job), "MetricData": metrics})
    assert reply.status == {401: 403}.get(status, status), reply
    assert status != 200 or not reply.body.get("Errors"), reply
