/* What a job's document states of its nodes and its billed time. */
#include "state/jobs/stated.h"

#include "fleet/goodput.h"
#include "model/jobs/by_hand.h"
#include "store/jobs.h"

int64_t job_stated_count(const struct json *node)
{
	double count;

	return node && json_number_of(node, &count) && count >= 1 && count <= JOB_NODES_MAX ? (int64_t)count : 0;
}

int64_t job_stated_nodes(const struct json *document)
{
	const struct json *resources = json_get(document, "ResourceConfig");
	const struct json *groups = resources ? json_get(resources, "InstanceGroups") : NULL;
	int64_t sum = 0;
	struct by_hand by;

	by_hand_read(&by, document);
	if (by.nodes)
		return by.nodes;
	for (const struct json *group = groups ? json_first(groups) : NULL; group; group = json_next(group)) {
		int64_t count = job_stated_count(json_get(group, "InstanceCount"));
		sum += sum + count <= JOB_NODES_MAX ? count : 0;
	}
	return sum ? sum : job_stated_count(resources ? json_get(resources, "InstanceCount") : NULL);
}

int64_t job_stated_billable_ms(const struct job_row *row, const struct json *document)
{
	struct by_hand by;
	double seconds;

	by_hand_read(&by, document);
	if (by_hand_sets_times(&by, row->started_ms, row->ended_ms) ||
		!json_number_of(json_get(document, "BillableTimeInSeconds"), &seconds))
		return -1;
	return seconds >= 0 && seconds < 1e12 ? (int64_t)(seconds * 1000) : -1;
}
