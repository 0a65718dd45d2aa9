#include "model/jobs/failure.h"
#include "test.h"

TEST(reasons_have_classes)
{
	static const struct {
		const char *reason, *class;
	} cases[] = {
		{"AlgorithmError: ExecuteUserScriptError:\nExitCode 1", "AlgorithmError"},
		{"ClientError: Data download failed: internal error", "ClientError"},
		{"InternalServerError: We encountered an internal error. Please try again.", "InternalServerError"},
		{"CapacityError: Unable to provision requested ML compute capacity.", "CapacityError"},
		{"Insufficient capacity error from EC2 while launching instances", "CapacityError"},
		{"algo-1-r3 on gpu000 (rank 3): exit code 7", "AlgorithmError"},
		{"node017: NVRM: Xid (PCI:0000:02:00): 79, GPU has fallen off the bus.", "InternalServerError"},
		{"SLURM: node_fail", "InternalServerError"},
		{"CUDA OUT OF MEMORY. Tried to allocate 2 GiB", "AlgorithmError"},
		{"An error occurred (AccessDenied) when calling GetObject", "ClientError"},
		{"it did not feel like it", "Unknown"},
		{"room 7 flooded", "Unknown"},
		{"boom spot interruption", "Unknown"},
		{"ROOM 7", "Unknown"},
		{"oomph was missing", "Unknown"},
		{"signally bad", "Unknown"},
		{"the reactor's this temporarily unavailable", "Unknown"},
		{"worker 3: oom", "AlgorithmError"},
		{"OOMKilled", "AlgorithmError"},
		{"oom-kill event", "AlgorithmError"},
		{"cuda_oom_error", "AlgorithmError"},
		{"caught signals 9 and 15", "AlgorithmError"},
		{"OSError: [Errno 5]", "AlgorithmError"},
		{"runtimeerror: shapes", "AlgorithmError"},
		{"slurm_node_failed", "InternalServerError"},
		{"AccessDeniedException", "ClientError"},
		{"S3NoSuchKey", "ClientError"},
		{"EC2InsufficientCapacityError", "CapacityError"},
		{"we saw an AlgorithmErro", "Unknown"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		CHECK_TEXT(failure_class(span_from(cases[i].reason)), cases[i].class);
	CHECK(!failure_class(SPAN("")));
	CHECK(!failure_class(SPAN(" \n")));
}
