// CloudWatch Logs by the JavaScript SDK v3: every operation once, and what its errors are called. Prints what came back.
import {
  CloudWatchLogsClient, CreateLogGroupCommand, CreateLogStreamCommand, DeleteLogGroupCommand, DescribeLogGroupsCommand,
  DescribeLogStreamsCommand, FilterLogEventsCommand, GetLogEventsCommand, PutLogEventsCommand, PutRetentionPolicyCommand,
  StartQueryCommand, paginateFilterLogEvents,
} from "@aws-sdk/client-cloudwatch-logs";

const client = new CloudWatchLogsClient({ endpoint: process.argv[2], region: "us-east-1", maxAttempts: 1 });
const stream = { logGroupName: "/js/app", logStreamName: "one" };
const now = Date.now();
const told = {};

async function nameOf(command) {
  try {
    await client.send(command);
    return "";
  } catch (error) {
    return error.name;
  }
}

told.missing = await nameOf(new CreateLogStreamCommand(stream));
await client.send(new CreateLogGroupCommand({ logGroupName: "/js/app", tags: { team: "js" } }));
told.again = await nameOf(new CreateLogGroupCommand({ logGroupName: "/js/app" }));
await client.send(new CreateLogStreamCommand(stream));
await client.send(new PutRetentionPolicyCommand({ logGroupName: "/js/app", retentionInDays: 30 }));
const logEvents = Array.from({ length: 10 }, (_, i) => ({ timestamp: now + i, message: `step ${i} loss=${10 - i} é` }));
const put = await client.send(new PutLogEventsCommand({ ...stream, logEvents }));
told.next = typeof put.nextSequenceToken;
told.unsorted = await nameOf(new PutLogEventsCommand({ ...stream, logEvents: [logEvents[1], logEvents[0]] }));
const groups = await client.send(new DescribeLogGroupsCommand({ logGroupNamePrefix: "/js" }));
told.groups = groups.logGroups.map((group) => [group.logGroupName, group.retentionInDays, group.logGroupArn]);
told.page = [];
let nextToken;
do {
  const page = await client.send(new GetLogEventsCommand({ ...stream, startFromHead: true, limit: 4, nextToken }));
  told.page.push(page.events.length);
  if (page.nextForwardToken === nextToken) break;
  nextToken = page.nextForwardToken;
} while (told.page.length < 10);
told.filtered = [];
for await (const page of paginateFilterLogEvents({ client, pageSize: 2 }, { logGroupName: "/js/app", filterPattern: '"loss=" -"loss=10" -"step 9"' }))
  told.filtered.push(...page.events.map((event) => event.message));
const streams = await client.send(new DescribeLogStreamsCommand({ logGroupName: "/js/app" }));
told.streams = streams.logStreams.map((one) => [one.logStreamName, one.firstEventTimestamp - now, one.lastEventTimestamp - now]);
told.filter = await nameOf(new FilterLogEventsCommand({ logGroupName: "/js/app", filterPattern: "{ $.a" }));
told.insights = await nameOf(new StartQueryCommand({ logGroupName: "/js/app", startTime: 1, endTime: 2, queryString: "fields @message" }));
await client.send(new DeleteLogGroupCommand({ logGroupName: "/js/app" }));
told.gone = await nameOf(new DescribeLogStreamsCommand({ logGroupName: "/js/app" }));
console.log(JSON.stringify(told));
