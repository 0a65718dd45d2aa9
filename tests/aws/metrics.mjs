// What the JavaScript SDK sees of CloudWatch in each protocol that it speaks: node metrics.mjs URL PROTOCOL NOW_S prints one JSON line.
import { CloudWatchClient, GetMetricDataCommand, GetMetricStatisticsCommand, ListMetricsCommand, PutMetricDataCommand,
	paginateListMetrics } from "@aws-sdk/client-cloudwatch";
import { AwsJson1_0Protocol, AwsQueryProtocol, AwsSmithyRpcV2CborProtocol } from "@aws-sdk/core/protocols";

const [url, name, now] = process.argv.slice(2);
const protocol = { json: AwsJson1_0Protocol, query: AwsQueryProtocol, cbor: AwsSmithyRpcV2CborProtocol }[name];
// with CBOR this SDK states the length of the body as it was before gzip, and everybody would wait for the rest
const client = new CloudWatchClient({ endpoint: url, region: "us-east-1", protocol, maxAttempts: 1,
	disableRequestCompression: name === "cbor" });
const at = (seconds) => new Date((Number(now) + seconds) * 1000);
const Namespace = "/aws/sagemaker/TrainingJobs", job = `js-${name}`;
const Dimensions = [{ Name: "TrainingJobName", Value: job }];
const out = { seen: [] };

// what went over the wire
client.middlewareStack.add((next) => async (call) => {
	out.seen.push([call.request.path, call.request.headers["content-type"], call.request.headers["content-encoding"] ?? ""]);
	return next(call);
}, { step: "finalizeRequest", priority: "low" });

const points = [0, 10, 20, 60].map((s, i) => ({ MetricName: "loss", Dimensions, Timestamp: at(s), Value: i + 0.5, Unit: "None" }));
await client.send(new PutMetricDataCommand({ Namespace, MetricData: [...points,
	{ MetricName: "<odd> & \"name\"", Dimensions, Timestamp: at(0), Values: [1, 2], Counts: [3, 1] }] }));
// more than 10 KiB: gzip
await client.send(new PutMetricDataCommand({ Namespace,
	MetricData: Array.from({ length: 200 }, (_, i) => ({ MetricName: "long", Dimensions, Timestamp: at(0), Value: i })) }));
const window = { StartTime: at(0), EndTime: at(120) };
const stats = await client.send(new GetMetricStatisticsCommand({ Namespace, MetricName: "loss", Dimensions, ...window, Period: 60,
	Statistics: ["SampleCount", "Sum", "Average", "Minimum", "Maximum"] }));
out.stats = stats.Datapoints.map((p) => [p.Timestamp.getTime() / 1000 - now, p.SampleCount, p.Sum, p.Average, p.Minimum, p.Maximum, p.Unit]);
const extended = await client.send(new GetMetricStatisticsCommand({ Namespace, MetricName: "<odd> & \"name\"", Dimensions, ...window,
	Period: 60, ExtendedStatistics: ["p50", "p99"] }));
out.label = extended.Label;
out.extended = extended.Datapoints.map((p) => p.ExtendedStatistics);
const long = await client.send(new GetMetricStatisticsCommand({ Namespace, MetricName: "long", Dimensions, ...window, Period: 60,
	Statistics: ["SampleCount"] }));
out.long = long.Datapoints.map((p) => p.SampleCount);
const MetricStat = { Metric: { Namespace, MetricName: "loss", Dimensions }, Period: 60, Stat: "Average" };
const data = await client.send(new GetMetricDataCommand({ ...window, MetricDataQueries: [{ Id: "m1", MetricStat, ReturnData: false },
	{ Id: "e1", Label: "twice", Expression: "m1 * 2" }, { Id: "m2", MetricStat }] }));
out.data = data.MetricDataResults.map((r) => [r.Id, r.Label, r.StatusCode, r.Timestamps.map((t) => t.getTime() / 1000 - now), r.Values]);
out.names = [];
for await (const page of paginateListMetrics({ client }, { Namespace, Dimensions }))
	out.names.push(...page.Metrics.map((m) => m.MetricName));
out.none = (await client.send(new ListMetricsCommand({ Namespace: "None" }))).Metrics?.length ?? 0;
try {
	await client.send(new PutMetricDataCommand({ Namespace, MetricData: [{ MetricName: "loss", Dimensions, Value: NaN }] }));
} catch (error) {
	out.error = [error.name, error.$metadata.httpStatusCode, error.message, Boolean(error.$metadata.requestId)];
}
try {
	await client.send(new GetMetricStatisticsCommand({ Namespace, MetricName: "loss", ...window, Period: 7, Statistics: ["Sum"] }));
} catch (error) {
	out.period = [error.name, error.$metadata.httpStatusCode];
}
console.log(JSON.stringify(out));
