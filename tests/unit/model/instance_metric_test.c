#include "model/metrics/instance_metric.h"
#include "test.h"

TEST(names_of_instance_metrics)
{
	CHECK_TEXT(instance_metric_of(SPAN("cpu_percent"))->name, "CPUUtilization");
	CHECK_TEXT(instance_metric_named(SPAN("GPUUtilization"))->metric, "gpu_utilization_percent");
	CHECK_TEXT(instance_metric_named(SPAN("GPUMemoryUtilization"))->total, "gpu_memory_total_mib");
	CHECK(!instance_metric_of(SPAN("cpu")));
	CHECK(!instance_metric_named(SPAN("cpu_percent")));
}
