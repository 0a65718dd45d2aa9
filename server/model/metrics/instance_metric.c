#include "model/metrics/instance_metric.h"

const struct instance_metric instance_metrics[INSTANCE_METRICS] = {
	{"CPUUtilization", "cpu_percent", NULL, false},
	{"MemoryUtilization", "memory_used_percent", NULL, false},
	{"DiskUtilization", "disk_used_percent", NULL, false},
	{"GPUUtilization", "gpu_utilization_percent", NULL, true},
	{"GPUMemoryUtilization", "gpu_memory_used_mib", "gpu_memory_total_mib", true},
};

const struct instance_metric *instance_metric_named(struct span name)
{
	for (size_t i = 0; i < INSTANCE_METRICS; i++)
		if (span_equal(name, span_from(instance_metrics[i].name)))
			return &instance_metrics[i];
	return NULL;
}

const struct instance_metric *instance_metric_of(struct span metric)
{
	for (size_t i = 0; i < INSTANCE_METRICS; i++)
		if (span_equal(metric, span_from(instance_metrics[i].metric)))
			return &instance_metrics[i];
	return NULL;
}
