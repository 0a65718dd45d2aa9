// SageMaker by the JavaScript SDK v3: every operation once, and what its errors are called. Prints what came back.
import {
  AddTagsCommand, CreateTrainingJobCommand, DeleteTagsCommand, DeleteTrainingJobCommand, DescribeTrainingJobCommand,
  GetSearchSuggestionsCommand, ListEndpointsCommand, ListTagsCommand, SageMakerClient, SearchCommand, StopTrainingJobCommand,
  UpdateTrainingJobCommand, paginateListTrainingJobs, waitUntilTrainingJobCompletedOrStopped,
} from "@aws-sdk/client-sagemaker";

const [, , endpoint] = process.argv;
const client = new SageMakerClient({ endpoint, region: "us-east-1", maxAttempts: 1 });
const job = {
  RoleArn: "arn:aws:iam::123456789012:role/trainer",
  AlgorithmSpecification: { TrainingImage: "img", TrainingInputMode: "File" },
  OutputDataConfig: { S3OutputPath: "s3://b/js" },
  ResourceConfig: { InstanceType: "ml.p4d.24xlarge", InstanceCount: 2, VolumeSizeInGB: 50 },
  StoppingCondition: { MaxRuntimeInSeconds: 3600 },
  HyperParameters: { lr: "0.1" },
  Tags: [{ Key: "by", Value: "js" }],
};
const told = {};

async function nameOf(command) {
  try {
    await client.send(command);
    return "";
  } catch (error) {
    return error.name;
  }
}

const name = { TrainingJobName: "js-1" };
const made = await client.send(new CreateTrainingJobCommand({ ...job, ...name }));
told.arn = made.TrainingJobArn;
told.again = await nameOf(new CreateTrainingJobCommand({ ...job, ...name }));
told.bad = await nameOf(new CreateTrainingJobCommand({ ...job, TrainingJobName: "no_good" }));
await client.send(new CreateTrainingJobCommand({ ...job, TrainingJobName: "js-2" }));
const described = await client.send(new DescribeTrainingJobCommand(name));
told.status = described.TrainingJobStatus;
told.created = described.CreationTime instanceof Date;
told.missing = await nameOf(new DescribeTrainingJobCommand({ TrainingJobName: "js-0" }));
told.list = [];
for await (const page of paginateListTrainingJobs({ client, pageSize: 1 }, { NameContains: "js-", SortBy: "Name" }))
  told.list.push(...page.TrainingJobSummaries.map((one) => one.TrainingJobName));
const found = await client.send(new SearchCommand({ Resource: "TrainingJob",
  SearchExpression: { Filters: [{ Name: "Tags.by", Operator: "Equals", Value: "js" }] }, SortBy: "TrainingJobName", SortOrder: "Ascending" }));
told.found = found.Results.map((one) => one.TrainingJob.TrainingJobName);
told.hits = found.TotalHits;
const suggested = await client.send(new GetSearchSuggestionsCommand({ Resource: "TrainingJob",
  SuggestionQuery: { PropertyNameQuery: { PropertyNameHint: "l" } } }));
told.suggested = suggested.PropertyNameSuggestions.map((one) => one.PropertyName);
await client.send(new AddTagsCommand({ ResourceArn: told.arn, Tags: [{ Key: "more", Value: "1" }] }));
await client.send(new DeleteTagsCommand({ ResourceArn: told.arn, TagKeys: ["by"] }));
told.tags = (await client.send(new ListTagsCommand({ ResourceArn: told.arn }))).Tags;
told.updated = (await client.send(new UpdateTrainingJobCommand({ ...name, ResourceConfig: { KeepAlivePeriodInSeconds: 60 } }))).TrainingJobArn;
await client.send(new StopTrainingJobCommand(name));
told.running = await nameOf(new DeleteTrainingJobCommand(name));
await fetch(`${endpoint}/api/v1/jobs/js-1/transitions`, { method: "POST", body: JSON.stringify({ SecondaryStatus: "Stopped" }) });
told.waited = (await waitUntilTrainingJobCompletedOrStopped({ client, maxWaitTime: 30, minDelay: 1, maxDelay: 1 }, name)).state;
told.stopped = await nameOf(new StopTrainingJobCommand(name));
await client.send(new UpdateTrainingJobCommand({ ...name, ResourceConfig: { KeepAlivePeriodInSeconds: 0 } }));
told.deleted = await nameOf(new DeleteTrainingJobCommand(name));
told.gone = await nameOf(new DeleteTrainingJobCommand(name));
told.unknown = await nameOf(new ListEndpointsCommand({}));
console.log(JSON.stringify(told));
