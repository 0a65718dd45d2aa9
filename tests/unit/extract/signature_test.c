#include "base/text/regex_literals.h"
#include "extract/line/signature.h"
#include "helper.h"
#include "model/incident.h"

#include <stdio.h>
#include <stdlib.h>

static const char *name_of(const struct signature_set *set, const char *line, bool is_system)
{
	AUTO(regex_scratch) scratch = regex_scratch_new();
	struct signature_found found;
	static char name[64];

	if (!signature_find(set, scratch, span_from(line), is_system, &found))
		return "";
	snprintf(name, sizeof name, "%.*s", SPAN_ARGS(found.signature->name));
	return name;
}

TEST(each_signature_requires_a_text_that_is_rare)
{
	AUTO(signature_set) set = read_shipped_signatures();
	AUTO(arena) arena = arena_new();

	for (size_t i = 0; i < signature_count(set); i++) {
		struct span pattern = signature_at(set, i)->pattern;
		struct regex_clause *clauses;
		size_t count, best = 0;
		CHECK_OK(regex_literals(pattern, arena, &clauses, &count, &err));
		for (size_t j = 0; j < count; j++) {
			size_t shortest = SIZE_MAX;
			for (size_t k = 0; k < clauses[j].count; k++)
				shortest =
					clauses[j].any[k].text.len < shortest ? clauses[j].any[k].text.len : shortest;
			best = shortest > best ? shortest : best;
		}
		if (best < (signature_at(set, i)->is_kernel ? 7 : 11))
			test_fail(__FILE__, __LINE__, "%.*s: shortest text %zu: %.*s",
				SPAN_ARGS(signature_at(set, i)->name), best, SPAN_ARGS(pattern));
		for (size_t j = 0; j < i; j++)
			CHECK(signature_at(set, j)->about == SIGNATURE_CHECKPOINT ||
				!span_equal(signature_at(set, j)->name, signature_at(set, i)->name));
	}
}

static const struct {
	const char *line, *name;
} real_messages[] = {
	{"[74889.644138] NVRM: Xid (PCI:0000:02:00): 79, GPU has fallen off the bus.", "xid_79"},
	{"kernel: NVRM: Xid (PCI:0000:3b:00): 48, pid=123, name=python, Uncorrectable DBE", "xid_48"},
	{"kernel: NVRM: Xid (PCI:0000:3b:00): 137, pid=123", "xid"},
	{"NVRM: Xid (PCI:0018:01:00): 145, RLW_RXPIPE Nonfatal XC0 i0 Link 13 (0x0409a0c2 0x00000008)", "xid_nonfatal"},
	{"NVRM: Xid (PCI:0018:01:00): 149, NETIR_BER_EVENT Nonfatal XC0 i0 Link 03 (0x00086226 0x00000001)",
		"xid_nonfatal"},
	{"NVRM: Xid (PCI:0000:01:00): 144, SAW_MVB Nonfatal XC0 i0 Link 0 (0x00000001 0x00000008)", "xid_nonfatal"},
	{"NVRM: Xid (PCI:0000:00:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 00 (0x026001c6 0x00000000)", "xid_149"},
	{"NVRM: Xid (PCI:0000:00:00): 144, SAW_MVB Fatal XC0 i0 Link 00 (0x026001c6 0x00000000)", "xid_hardware"},
	{"NVRM: Xid (PCI:0000:00:00): 156, Resource Retirement Event", "xid_repair"},
	{"{\"level\":\"info\",\"ts\":\"2024-08-21T18:35:35Z\",\"msg\":\"NPD caught event: %v\",\"details: \":{\"severity\":\"warn\","
	 "\"timestamp\":\"2024-08-22T20:59:29Z\",\"reason\":\"XidHardwareFailure\",\"message\":\"Node condition NvidiaErrorReboot is "
	 "now: True, reason: XidHardwareFailure, message: \\\"NVRM: Xid (PCI:0000:b9:00): 71, pid=<unknown>, name=<unknown>, NVLink: "
	 "fatal error detected on link 6(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)\\\"\"},\"HealthMonitoringAgentDetectionEvent\":"
	 "\"HealthEvent\"}",
		"hyperpod_unhealthy"},
	{"\"Node condition NvidiaErrorReboot is now: True, reason: XidHardwareFailure, message: \\\"NVRM: Xid (PCI:0000:b9:00): 31, "
	 "MMU Fault\\\"\"},\"HealthMonitoringAgentDetectionEvent\":\"HealthEvent\"}",
		"hyperpod_unhealthy"},
	{"\"Node condition NvidiaErrorReboot is now: True, reason: XidHardwareFailure, message: \\\"NVRM: Xid (PCI:0000:b9:00): 149, "
	 "NETIR_LINK_EVT Nonfatal XC0\\\"\"},\"HealthMonitoringAgentDetectionEvent\":\"HealthEvent\"}",
		"hyperpod_unhealthy"},
	{"\"Node condition NvidiaErrorReboot is now: True, reason: XidHardwareFailure, message: \\\"NVRM: Xid (PCI:0000:b9:00): 79, "
	 "GPU has fallen off the bus.\\\"\"},\"HealthMonitoringAgentDetectionEvent\":\"HealthEvent\"}",
		"xid_79"},
	{"|                           | Fail - GPU: 0                                  |", "dcgm_failed"},
	{"| PCIe                      | Fail - GPUs: 0, 3                              |", "dcgm_failed"},
	{"| Memory Bandwidth          | Fail - All                                     |", "dcgm_failed"},
	{"|                           | GPU4: Fail                                     |", "dcgm_failed"},
	{"2026-11-29T10:00:00Z |                           | CPU1: Fail                                     |",
		"dcgm_failed"},
	{"| NVML Library              | Fail                                           |", "dcgm_failed"},
	{"| CUDA Main Library         | Fail                                           |", "dcgm_failed"},
	{"| Page Retirement/Row Remap | Fail                                           |", "dcgm_failed"},
	{"| Page Retirement           | Fail                                           |", "dcgm_failed"},
	{"| Inforom                   | Fail                                           |", "dcgm_failed"},
	{"\t\t\t\t\t\t\t\t\"status\" : \"Fail\",", "dcgm_failed"},
	{"                        \"status\" : \"FAIL\"", "dcgm_failed"},
	{"{\"DCGM Diagnostic\":{\"test_categories\":[{\"category\":\"Hardware\",\"tests\":[{\"name\":\"memory\",\"results\":[{"
	 "\"entity_group\":\"GPU\",\"entity_id\":0,\"status\":\"Fail\"}]}]}]}}",
		"dcgm_failed"},
	{"        Reset Required                    : Yes", "smi_reset_required"},
	{"        Drain and Reset Recommended       : Yes", "smi_reset_required"},
	{"    GPU Recovery Action                   : Reset", "smi_reset_required"},
	{"    GPU Recovery Action                                : Drain and Reset", "smi_reset_required"},
	{"    GPU Recovery Action : Node Reboot", "smi_reset_required"},
	{"    GPU Recovery Action                   : Reboot", "smi_reset_required"},
	{"    GPU Recovery Action                   : GPU_RESET", "smi_reset_required"},
	{"            SRAM Threshold Exceeded       : Yes", "smi_sram_threshold"},
	{"        Remapping Failure Occurred        : Yes", "smi_remap_failed"},
	{"        Pending                           : Yes", "smi_remap_pending"},
	{"        Pending Page Blacklist            : Yes", "smi_remap_pending"},
	{"            DRAM Uncorrectable            : 12", "smi_uncorrectable"},
	{"            SRAM Uncorrectable            : 1", "smi_uncorrectable"},
	{"            SRAM Uncorrectable SEC-DED    : 3", "smi_uncorrectable"},
	{"ip-10-1-0-45:99:120 [3] ofi_process_cq:204 NCCL WARN NET/OFI Request 0x7f3a80001a40 completed with error. RC: 113. "
	 "Error: 4116 (Unknown error). Completed length: 0, Request: { dev: 0, size: 0, state: CREATED, direction: RECV }",
		"efa_request_failed"},
	{"n1:1:2 [0] NCCL WARN NET/OFI Request 0x7f3a80001a40 seq 17 completed with error. RC: 103. Error: 4126 (Unresponsive "
	 "receiver (reachable by EFA device but handshake failed)",
		"efa_request_failed"},
	{"ofi_process_cq:196 NCCL WARN NET/OFI Request completed with error. RC: 107. Error: Inappropriate ioctl for device.",
		"efa_request_failed"},
	{"[1,0]<stdout>:# Out of bounds values : 12 FAILED", "nccl_tests_failed"},
	{"# Avg bus bandwidth    : 66.4834 FAILED", "nccl_tests_failed"},
	{"NVRM: Xid (PCI:0000:00:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)",
		"xid_154_action"},
	{"NVRM: Xid (PCI:0000:00:00): 154, GPU recovery action changed from 0x2 (Node Reboot Required) to 0x0 (None)",
		"xid_154"},
	{"nvidia-nvswitch0: SXid (PCI:0000:86:00.0): 20034, Fatal, Link 30 LTSSM Fault Up", "nvswitch"},
	{"RuntimeError: CUDA error: uncorrectable NVLink error detected during the execution", "nvlink_uncorrectable"},
	{"failed: cudaErrorNvlinkUncorrectable", "nvlink_uncorrectable"},
	{"NEURON_HW_ERR=SRAM_UNCORRECTABLE_ERROR instance-id=i-0592464924bd45322 hostname=ip-172-31-61-252 nd-id=0 nc-id=0 "
	 "serial-num=19fcda00f5ff6eb9 action=TERMINATE_INSTANCE",
		"neuron_hardware"},
	{"ERROR  TDRV:exec_core_dump (FATAL-RT-UNDEFINED-STATE) encountered uncorrectable memory error on Neuron Device 0, "
	 "execution results may be invalid",
		"neuron_hardware"},
	{"nrt_execute failed with NRT_EXEC_HW_ERR_REPAIRABLE_HBM_UE (1205)", "neuron_hardware"},
	{"(FATAL-RT-UNDEFINED-STATE) missing collectives status on Neuron Device 0 NC 0, model model.neff - suspected hang in "
	 "collectives operation 0 out of 32",
		"neuron_collectives"},
	{"missing collectives status on model m. Suspected hang in waiting for barrier", "neuron_collectives"},
	{"RuntimeError: nrt_execute: NRT_EXEC_HW_ERR_COLLECTIVES (1200)", "neuron_collectives"},
	{"hostname-test:984:1357 [4] ib_plugin.c:1615 NCCL WARN NET/IB : Got completion from peer 172.36.143.59<44206> with "
	 "status=12 opcode=129 len=65536 vendor err 129 (Recv) localGid ::ffff:29.87.88.182",
		"nccl_ib_retry"},
	{"n1:1:2 [0] transport/net_ib.cc:74 NCCL WARN NET/IB : Got completion with error 12, opcode 0, len 0, vendor err 129",
		"nccl_ib_retry"},
	{"n1:1:2 [0] p2p.cc:9 NCCL WARN NET/IB: Got completion from peer 10.0.0.2<44206> with status=IBV_WC_RETRY_EXC_ERR(12) "
	 "opcode=IBV_WC_SEND(0) vendor_err=129  localGid fd00::1 hca mlx5_0",
		"nccl_ib_retry"},
	{"kernel: [   17.982092] mlx5_core 0000:41:00.0: poll_health:852:(pid 0): device's health compromised - reached miss count",
		"nic_failed"},
	{"mlx5_core 0000:41:00.0: print_health_info:458:(pid 0): synd 0x8: unrecoverable hardware error", "nic_failed"},
	{"mlx5_core 0000:41:00.0: print_health_info:430:(pid 0): Health issue observed, firmware internal error, severity(3) "
	 "ERROR:",
		"nic_failed"},
	{"mlx5_core 0000:41:00.0: poll_health:826:(pid 0): Fatal error 1 detected", "nic_failed"},
	{"[ 4443.974372] mlx5_core 0000:53:00.0 mlx5_3: Port: 1 Link DOWN", "nic_link_down"},
	{"[32495.562824] nfs: server thinkcentre not responding, timed out", "file_system"},
	{"Nov 30 03:12:11 gpu15 kernel: nfs: server 10.0.0.9 not responding, still trying", "file_system"},
	{"[rank1]:[E1218 20:27:21.484903450 ProcessGroupNCCL.cpp:2168] [PG ID 1 PG GUID 1 Rank 1]  failure detected by "
	 "watchdog at work sequence id: 1 PG status: last enqueued work: 547, last completed work: -1",
		"nccl_watchdog"},
	{"[rank3]: [PG ID 0 PG GUID 0 Rank 3] Process group watchdog thread terminated with exception: CUDA error: unknown",
		"nccl_watchdog"},
	{"OSError: [Errno 30] Read-only file system: '/ckpt/step_100'", "file_system"},
	{"GPU is lost.  Reboot the system to recover this GPU", "gpu_fallen_off"},
	{"NVRM: GPU 0000:5d:00.0: RmInitAdapter failed! (0x24:0x72:1568)", "gpu_init_failed"},
	{"NVRM: RmInitAdapter failed! (0x62:0xffff:2406)", "gpu_init_failed"},
	{"nvidia-nvswitch3: SXid (PCI:0000:c5:00.0): 12028, Non-fatal, Link 30 egress non-posted PRIV error",
		"nvswitch_nonfatal"},
	{"slurmctld[911]: Killing JobId=4711 on failed node fa19", "slurm_node_failed"},
	{"RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:598] Connection closed by peer [10.0.0.5]:3456",
		"gloo_peer_gone"},
	{"The node was low on resource: ephemeral-storage. Container pytorch was using 900Gi", "pod_evicted"},
	{"Fatal Python error: Aborted", "python_fatal"},
	{"Fatal Python error: init_import_site: Failed to import the site module", "python_fatal"},
	{"Fatal Python error: Segmentation fault", "segfault"},
	{"NVRM: Xid (0000:02:00): 13, Graphics Exception", "xid_13"},
	{"NVRM: The NVIDIA GPU 0000:b3:00.0 … fallen off the bus and is not responding to commands.", "gpu_fallen_off"},
	{"RuntimeError: CUDA error: uncorrectable ECC error encountered", "ecc_uncorrectable"},
	{"[E ProcessGroupNCCL.cpp:916] [Rank 1] NCCL watchdog thread terminated with exception: CUDA error: "
	 "uncorrectable ECC error encountered",
		"ecc_uncorrectable"},
	{"[rank0]:[E1206 18:44:12.715298746 ProcessGroupNCCL.cpp:607] [Rank 0] Watchdog caught collective operation "
	 "timeout: WorkNCCL(SeqNum=7753, OpType=_REDUCE_SCATTER_BASE, Timeout(ms)=600000) ran for 600061 "
	 "milliseconds before timing out.",
		"nccl_timeout"},
	{"[PG 1 Rank 0] Exception (either an error or timeout) detected by watchdog at work: 7753, last enqueued NCCL "
	 "work: 7755, last completed NCCL work: 7752.",
		"nccl_watchdog"},
	{"algo-1:85:90 [0] NCCL WARN socketProgress: Connection closed by remote peer 10.0.0.2<3>", "nccl_peer_gone"},
	{"torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.70 GiB. GPU 0 has a total capacty of "
	 "6.00 GiB",
		"cuda_oom"},
	{"RuntimeError: CUDA out of memory. Tried to allocate 2.87 GiB (GPU 0; 14.76 GiB total capacity)", "cuda_oom"},
	{"An error occurred (SlowDown) when calling the GetObject operation (reached max retries: 2): Please reduce "
	 "your request rate.",
		"s3_slow_down"},
	{"StatusCode: 503, RequestID: x, api error SlowDown: Please reduce your request rate.", "s3_slow_down"},
	{"botocore.exceptions.ClientError: An error occurred (SlowDown) when calling the PutObject operation (reached max "
	 "retries: 4): Reduce your request rate.",
		"s3_slow_down"},
	{"upload failed: ./x to s3://b/x An error occurred (503) when calling the PutObject operation (reached max retries: 2): "
	 "Slow Down",
		"s3_slow_down"},
	{"com.amazonaws.services.s3.model.AmazonS3Exception: Slow Down (Service: Amazon S3; Status Code: 503; Error Code: 503 "
	 "Slow Down; Request ID: 8W5H2QDTFGAJBW9M)",
		"s3_slow_down"},
	{"org.apache.hadoop.fs.s3a.AWSServiceThrottledException: getFileStatus on s3a://b/x: software.amazon.awssdk.services."
	 "s3.model.S3Exception: null (Service: S3, Status Code: 503, Request ID: A)",
		"s3_slow_down"},
	{"urllib.error.HTTPError: HTTP Error 503: Slow Down", "s3_slow_down"},
	{"botocore.errorfactory.ResourceLimitExceeded: An error occurred (ResourceLimitExceeded) when calling the "
	 "CreateTrainingJob operation: The account-level service limit 'ml.p4d.24xlarge for training job usage' is 0 "
	 "Instances, with current utilization of 0 Instances",
		"quota"},
	{"ResourceLimitExceeded: The account-level service limit 'ml.g6e.4xlarge for training job usage' is 2 Instances",
		"quota"},
	{"botocore.errorfactory.ThrottlingException: Rate exceeded", "throttled"},
	{"api error ThrottlingException: Rate of requests is too high", "throttled"},
	{"CapacityError: Unable to provision requested ML compute capacity. Please retry", "capacity"},
	{"Insufficient capacity error from EC2 while launching instances, retrying!", "capacity"},
	{"InternalServerError: We encountered an internal error. Please try again.", "internal_error"},
	{"ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).",
		"shared_memory"},
	{"RuntimeError: DataLoader worker (pid 7579) is killed by signal: Bus error. It is possible that "
	 "dataloader's workers are out of shared memory. Please try to raise your shared memory limit.",
		"shared_memory"},
	{"RuntimeError: DataLoader worker (pid 108439) is killed by signal: Killed.", "dataloader_killed"},
	{"DataLoader worker (pid(s) 3216) exited unexpectedly", "dataloader_killed"},
	{"2020-03-03 23:14:04,658 sagemaker-containers ERROR    ExecuteUserScriptError:", "script_error"},
	{"algo-1:249:249 [0] ofi_init:1288 NCCL WARN NET/OFI Only EFA provider is supported", "efa_failed"},
	{"libfabric:85:1747438790::core:core:fi_getinfo_():1392<warn> fi_getinfo: provider efa output empty list",
		"efa_failed"},
	{"algo-1:1:1 [0] NCCL INFO Using network Socket", "nccl_socket"},
	{"Rank 3, node gpu007, device 2, iteration #150: Possible persistent error!", "megatron_persistent_error"},
	{"Saving a checkpoint and exiting now. Please resume the job from the checkpoint to rerun the last iteration",
		"megatron_exit_16"},
	{"Exiting now. A checkpoint at the last iteration already exists if further examination is needed",
		"megatron_exit_17"},
	{"  exitcode  : 17 (pid: 1234)", "megatron_exit_17"},
	{"Unexpected result tensor(nan) on rank 0 at iteration #150 invocation #1 (message='loss is NaN')",
		"megatron_unexpected_result"},
	{"FloatingPointError: Loss became infinite or NaN at iteration=12!", "nan_said"},
	{"RuntimeError: Function 'MulBackward0' returned nan values in its 0th output.", "nan_said"},
	{"Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.",
		"loss_scale_floor"},
	{"OSError: [Errno 28] No space left on device", "disk_full"},
	{"botocore.exceptions.ClientError: An error occurred (ThrottlingException) when calling the X operation: Rate "
	 "exceeded",
		"throttled"},
	{"RuntimeError: CUDA error: an illegal memory access was encountered", "illegal_address"},
	{"RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED", "cudnn"},
	{"kernel: Out of memory: Killed process 4711 (python) total-vm:1kB", "oom_killer"},
	{"slurmstepd: error: Detected 1 oom_kill event in StepId=1.0", "oom_killer"},
	{"torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ", "worker_failed"},
	{"slurmstepd: error: *** JOB 12 ON n1 CANCELLED AT 2024-01-01T00:00:00 DUE TO TIME LIMIT ***",
		"slurm_time_limit"},
	{"slurmstepd: error: *** JOB 12 ON n1 CANCELLED AT 2024-01-01T00:00:00 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***",
		"slurm_lost_a_node"},
	{"srun: error: Node failure on lg-[2-3]", "slurm_node_failed"},
	{"srun: error: nd-2: task 1: Segmentation fault (core dumped)", "segfault"},
	{"srun: error: nd-[2-3]: tasks 1-2: Bus error (core dumped)", "bus_error"},
	{"srun: error: Node failure on lg-2", "slurm_node_failed"},
	{"slurmctld: requeue job JobId=12 due to failure of node gpu07", "slurm_node_failed"},
	{"slurmctld: error: Nodes gpu[01-02] not responding, setting DOWN", "slurm_node_failed"},
	{"mlx5_core 0000:4b:00.0: Port: 1 Link DOWN", "nic_link_down"},
	{"mlx5_core 0000:4b:00.0 mlx5_0: Port: 2 Link DOWN", "nic_link_down"},
	{"  successfully saved checkpoint at iteration   33241 to /ckpt", "megatron"},
	{"Successfully saved checkpoint from iteration      99 to /ckpt", "megatron"},
	{"Saving model checkpoint to out/checkpoint-500", "hf-trainer"},
	{"[INFO] [torch_checkpoint_engine.py:33:commit] [Torch] Checkpoint global_step40 is ready now!", "deepspeed"},
	{"Epoch 0, global step 500: 'val_loss' reached 0.1 (best 0.1), saving model to '/c/epoch=0-step=500.ckpt' as "
	 "top 1",
		"lightning"},
	{"saving checkpoint to out-kirin", "nanogpt"},
	{"Saving checkpoint at step 8", "any-step"},
	{"Saved checkpoint at step 8", "any-step"},
	{"saving checkpoint to out-ckpt-2", "nanogpt"},
	{"2026-11-30T06:12:00.123Z saving checkpoint to out-shakespeare", "nanogpt"},
	{"[2026-11-30 06:12:00] saving checkpoint to out-shakespeare", "nanogpt"},
	{"2026-11-30 06:12:00,123 INFO saving checkpoint to out-shakespeare", "nanogpt"},
	{"2026-11-30 06:12:00,123 - root - INFO - saving checkpoint to out", "nanogpt"},
	{"INFO:root:saving checkpoint to out", "nanogpt"},
	{"0: saving checkpoint to out", "nanogpt"},
	{" 3: saving checkpoint to /fsx/out", "nanogpt"},
	{"[pod/train-0/pytorch] saving checkpoint to out", "nanogpt"},
	{"[pod/train-0/pytorch] 2026-11-30T06:12:00.123456789Z saving checkpoint to out\r", "nanogpt"},
	{"2026-11-30 06:12:00.123 | INFO     | train:main:12 - saving checkpoint to out", "nanogpt"},
	{"saved checkpoint to /ckpt/last.pt at step 7", "any-step"},
	{"INFO wrote the checkpoint in out/last for iteration 7", "any-step"},
	{"2026-11-29 10:00:00 INFO Saved checkpoint to /fsx/b/checkpoint-400", "any-path"},
	{"Saving checkpoint to out/ckpt_000400.pt", "any-path"},
	{"Checkpoint saved to s3://bucket/run-12/checkpoints/400/", "any-path"},
	{"Checkpoint saved: /ckpt/iter_0000400", "any-path"},
	{"Finished saving the checkpoint (or staging if async is enabled)in 5.53 seconds.", "torchtitan"},
};

TEST(each_real_message_has_its_signature)
{
	AUTO(signature_set) set = read_shipped_signatures();

	for (size_t i = 0; i < sizeof real_messages / sizeof *real_messages; i++) {
		const char *name = name_of(set, real_messages[i].line, false);
		if (strcmp(name, real_messages[i].name))
			test_fail(__FILE__, __LINE__, "'%s' is '%s', not '%s'", real_messages[i].line, name,
				real_messages[i].name);
	}
}

static const char *const chatter[] = {"Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0",
	"OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768",
	"  check_for_nan_in_loss_and_grad ....... True", "grad_norm: nan | loss: 2.5", "nan_mask=0",
	"number of nan iterations:   0 |", "iteration 100 | lm loss: 2.1E+00 | loss scale: 4096.0 |",
	"| GPU Memory                | Pass - GPUs: 1, 2, 3, 4, 5, 6, 7               |",
	"| Memory Bandwidth          | Pass - All                                     |",
	"| Pulse Test                | Skip - All                                     |",
	"| memory                    | Pass                                           |",
	"|                           | GPU4: Pass                                     |",
	"|                           | GPU4: Skip                                     |", "worker on GPU4: Failed over",
	"        Remapping Failure Occurred        : No", "        Remapping Failure Occurred        : N/A",
	"        Pending                           : No", "        Pending                           : Enabled",
	"        Pending Page Blacklist            : No",
	"| Page Retirement/Row Remap | Pass                                           |",
	"| NVML Library              | Skip                                           |",
	"| Persistence Mode          | Fail                                           |",
	"| accuracy                  | Fail                                           |",
	"        \"status\" : \"Fail\"", "\t\t\t\t\t\t\t\t\"status\" : \"Pass\",",
	"        Reset Required                    : No",
	"        Reset Required                    : Requested functionality has been deprecated",
	"    GPU Recovery Action                   : None", "    GPU Recovery Action                   : Drain P2P",
	"            SRAM Threshold Exceeded       : No", "            SRAM Threshold Exceeded       : N/A",
	"        Pending Page Blacklist            : N/A", "            DRAM Uncorrectable            : 0",
	"            DRAM Correctable              : 177", "            SRAM Uncorrectable Parity     : 0",
	"            DRAM Uncorrectable            : N/A", "        Uncorrectable Error               : 0",
	"waits; Pending : Yes",
	"NCCL WARN NET/OFI Request 0x7f completed with error. RC: 125. Error: 0 (Success). Completed length: 0",
	"# Out of bounds values : 0 OK", "# Avg bus bandwidth    : 448.212 OK", "# Avg bus bandwidth    : 1.15327 ",
	("{\"message\":\"Node condition NvidiaErrorReboot is now: False, reason: NoXid\"},"
	 "\"HealthMonitoringAgentDetectionEvent\":\"HealthEvent\"}"),
	"NCCL INFO Using network AWS Libfabric", "NCCL INFO NET/OFI Selected Provider is efa", "NCCL version 2.18.1",
	"Loading checkpoint from /ckpt/step500", "not yet saved checkpoint to /ckpt/step-7 at step 7",
	"never saved checkpoint at step 8", "has not saved checkpoint to /ckpt/step-7",
	"has not saved checkpoint to /ckpt/checkpoint-7", "Saved checkpoint to /ckpt/checkpoint-2024-05-01",
	"Saved checkpoint to /models/checkpoint-8B/last.pt", "Saved checkpoint to /data/run-12/loss.pt",
	"failed: no checkpoint saved to /ckpt/checkpoint-7", "0: not saving checkpoint to out",
	"0: ERROR: saving checkpoint to out", "[rank0] RuntimeError: saving checkpoint to out",
	"0: failed: saving checkpoint to out", "[pod/a] skipped: saving checkpoint to out",
	"[rank0] started saving checkpoint to out", "0: saving checkpoint to disk takes 40 s",
	"/ckpt/checkpoint-400 was removed: newer checkpoints are there",
	"could not say that it wouldn't: hasn't saved checkpoint at step 9",
	"saving checkpoint at iteration  33241 to /ckpt", "PYTORCH_CUDA_ALLOC_CONF to avoid fragmentation",
	"NCCL WARN NET/IB: Got completion from peer 10.0.0.2<44206> with status=IBV_WC_WR_FLUSH_ERR(5) opcode=IBV_WC_SEND(0)",
	"mlx5_core 0000:53:00.0 enp83s0f0np0: Link up", "mlx5_core 0000:53:00.0 mlx5_3: Port: 1 Link ACTIVE",
	"mlx5_core 0000:41:00.0: print_health_info:430:(pid 0): Health issue observed, High temperature, severity(4) WARNING:",
	"[32958.266147] nfs: server thinkcentre OK", "slurmctld: error: Nodes gpu07 not responding, timed out",
	"link down the page", "memory budget: 80 GB",
	"retry: {'mode': 'adaptive', 'codes': ['ThrottlingException', 'RequestLimitExceeded', 'SlowDown']}",
	"  retryable_exceptions ............ ThrottlingException,TooManyRequestsException",
	"Config(retries={'max_attempts': 10}), retry_on=ThrottlingException",
	"on_error: [InsufficientInstanceCapacity]",
	"    except client.exceptions.ResourceLimitExceeded:", "quota_errors = ResourceLimitExceeded",
	"retry_codes ..................... [500, 503, 'InternalError']", "s3 slow_down_wait: 503",
	"NEURON_HW_ERR handling is on", "NRT_EXEC_TIMEOUT=600", "neuron-monitor: mem_ecc_uncorrected 0",
	"NCCL WARN NET/IB : Got completion from peer 10.0.0.1<1> with status=5 opcode=0 len=0 vendor err 249 (Recv)",
	"exit status=12", "NCCL_IB_RETRY_CNT=12", "watchdog: heartbeat every 60 s",
	"TORCH_NCCL_ENABLE_MONITORING watchdog on", "NVLink errors: 0 uncorrectable",
	"NCCL INFO NVLS multicast support is available", "Python fatal errors are logged",
	"[0:0]: NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0>",
	"kernel: NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.104.05"};

TEST(chatter_has_no_signature)
{
	AUTO(signature_set) set = read_shipped_signatures();

	for (size_t i = 0; i < sizeof chatter / sizeof *chatter; i++)
		if (*name_of(set, chatter[i], false))
			test_fail(__FILE__, __LINE__, "'%s' is '%s'", chatter[i], name_of(set, chatter[i], false));
}

TEST(what_is_only_supposed_is_no_fault_of_the_program)
{
	static const char *const supposed[] = {
		"2026-11-30 01:10:00,123 INFO trainer: with a micro batch of 64 we may hit CUDA out of memory. Using 32.",
		"note that this might end in an OutOfMemoryError: CUDA would be full",
		"Lower the batch size if you see CUDA out of memory. It is 64 now.",
		"[rank0]: activation checkpointing is on to avoid CUDA out of memory.",
		"{\"level\": \"info\", \"msg\": \"a longer sequence could run into CUDA out of memory.\"}",
		"Tip: to prevent RESOURCE_EXHAUSTED: Out of memory, lower XLA_PYTHON_CLIENT_MEM_FRACTION",
		"It would fail: with 16 workers one may meet DataLoader worker (pid 12) is killed by signal"};
	static const struct {
		const char *text, *name;
	} real[] = {{"RuntimeError: CUDA out of memory. Tried to allocate 2.87 GiB; you may set max_split_size_mb",
			    "cuda_oom"},
		{"we may try again: CUDA out of memory.", "cuda_oom"},
		{"the step could not run because of CUDA out of memory.", "cuda_oom"},
		{"Rank 3 may have died of CUDA out of memory. Tried to allocate 2.00 GiB", "cuda_oom"},
		{"If this goes on, stop. CUDA out of memory. Skipping the batch", "cuda_oom"},
		{"step 5 failed with CUDA out of memory. Retrying", "cuda_oom"},
		{"{\"can\": 1, \"error\": \"CUDA out of memory.\"}", "cuda_oom"},
		{"Might be a full disk [rank3]: OSError: [Errno 28] No space left on device", "disk_full"}};
	AUTO(signature_set) set = read_shipped_signatures();

	for (size_t i = 0; i < sizeof supposed / sizeof *supposed; i++)
		if (*name_of(set, supposed[i], false))
			test_fail(__FILE__, __LINE__, "'%s' is '%s'", supposed[i], name_of(set, supposed[i], false));
	for (size_t i = 0; i < sizeof real / sizeof *real; i++)
		CHECK_TEXT(name_of(set, real[i].text, false), real[i].name);
}

TEST(what_nvidia_smi_prints_begins_a_line)
{
	static const char *const own[] = {"        Remapping Failure Occurred        : Yes",
		"2026-11-30T01:10:00Z     GPU Recovery Action                   : Reset",
		"gpu07:         Remapping Failure Occurred        : Yes",
		"[pod/check-1/smi]         SRAM Threshold Exceeded           : Yes",
		"[1,0]<stdout>:    GPU Recovery Action : Reset",
		"{\"log\":\"        Remapping Failure Occurred        : Yes\\n\",\"stream\":\"stdout\"}",
		"{\"host\": \"gpu07\", \"message\" : \"\\tRemapping Failure Occurred : Yes\"}"};
	static const char *const quotes[] = {"# Remapping Failure Occurred : Yes", "- GPU Recovery Action : Reset",
		"doc says `GPU Recovery Action : Reset` means trouble",
		"{\"prompt\": \"Remapping Failure Occurred : Yes\"}",
		"{\"title\": \"GPU Recovery Action : Reset\", \"url\": \"https://wiki/x\"}",
		"grep -n 'Remapping Failure Occurred : Yes' smi.out",
		"    if \"Remapping Failure Occurred : Yes\" in line:",
		"+ [[ $line == *\"GPU Recovery Action : Reset\"* ]]", "retry_on = GPU Recovery Action : Reset",
		"Example: Remapping Failure Occurred : Yes", "If you see SRAM Threshold Exceeded : Yes, drain the node",
		"grep '| Fail - GPU: 0' diag.out"};
	AUTO(signature_set) set = read_shipped_signatures();
	const char *name;

	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		if (!*name_of(set, own[i], false))
			test_fail(__FILE__, __LINE__, "'%s' has none", own[i]);
	for (size_t i = 0; i < sizeof quotes / sizeof *quotes; i++)
		if (*(name = name_of(set, quotes[i], false)))
			test_fail(__FILE__, __LINE__, "'%s' has %s", quotes[i], name);
}

TEST(kernel_messages_count_in_the_kernels_stream)
{
	static const char *const lines[] = {"kernel: mlx5_core 0000:86:00.0 eth2: Link down",
		"kernel: ena eth0: NIC Link is Down",
		"kernel: INFO: task python:123 blocked for more than 120 seconds.",
		"kernel: {1}[Hardware Error]: event severity: fatal", "kernel: EDAC MC0: 1 UE on DIMM1",
		"kernel: pcieport 0000:00:01.0: PCIe Bus Error: severity=Uncorrected (Fatal)",
		"kernel: watchdog: BUG: soft lockup - CPU#3 stuck for 22s!",
		"kernel: blk_update_request: I/O error, dev sda, sector 1"};
	AUTO(signature_set) set = read_shipped_signatures();

	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		CHECK(!*name_of(set, lines[i], false));
		if (!*name_of(set, lines[i], true))
			test_fail(__FILE__, __LINE__, "'%s' is nothing", lines[i]);
	}
}

TEST(a_machine_check_is_fatal_if_its_status_says_uncorrected)
{
	static const char *const fatal[] = {
		"mce: [Hardware Error]: CPU 3: Machine Check Exception: 5 Bank 5: be00000000800400",
		"mce: [Hardware Error]: CPU 12: Machine Check: 0 Bank 7: AC00000000800400",
		"mce: Uncorrected hardware memory error in user-access at 1fff"};
	static const char *const corrected[] = {
		"mce: [Hardware Error]: CPU 3: Machine Check: 0 Bank 9: 8c000040000800c0",
		"mce: [Hardware Error]: CPU 3: Machine Check: 0 Bank 9: cc000040000800c2"};
	AUTO(signature_set) set = read_shipped_signatures();

	for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
		CHECK_TEXT(name_of(set, fatal[i], true), "machine_check");
	for (size_t i = 0; i < sizeof corrected / sizeof *corrected; i++)
		CHECK_TEXT(name_of(set, corrected[i], true), "memory_corrected");
	CHECK(!*name_of(set, "mce: [Hardware Error]: Machine check events logged", true));
}

TEST(what_a_kernel_says_of_its_end_and_of_its_disks)
{
	static const char *const lines[][2] = {{"Kernel panic - not syncing: Fatal hardware error!", "machine_check"},
		{"Kernel panic - not syncing: Fatal exception in interrupt", "kernel_panic"},
		{"Buffer I/O error on dev nvme1n1, logical block 0, async page read", "disk_error"},
		{"nvme nvme0: I/O 514 (I/O Cmd) QID 5 timeout, aborting", "disk_error"},
		{"nvme nvme1: Removing after probe failure status: -19", "disk_error"},
		{"XFS (nvme1n1): Filesystem has been shut down due to log error (0x2).", "disk_error"},
		{"pcieport 0000:40:01.1: DPC: containment event, status:0x1f01 source:0x0000", "pcie_error"}};
	AUTO(signature_set) set = read_shipped_signatures();
	char line[256];

	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		CHECK_TEXT(name_of(set, lines[i][0], true), lines[i][1]);
		CHECK(!*name_of(set, lines[i][0], false));
		snprintf(line, sizeof line, "Nov 30 01:10:00 gpu07 kernel: [123.456] %s", lines[i][0]);
		CHECK_TEXT(name_of(set, line, false), lines[i][1]);
	}
}

TEST(a_kernels_line_counts_in_any_stream_if_it_is_one_for_certain)
{
	AUTO(signature_set) set = read_shipped_signatures();

	CHECK_TEXT(name_of(set, "Nov 30 01:10:00 gpu07 kernel: [123.456] EDAC MC0: 1 UE on DIMM1", false),
		"machine_check");
	CHECK_TEXT(name_of(set, "<2>1 2026-11-30T01:10:00Z gpu07 kernel - - - EDAC MC0: 1 CE on DIMM1", false),
		"memory_corrected");
	CHECK_TEXT(name_of(set,
			   "{\"MESSAGE\":\"I/O error, dev sda, sector 1\",\"SYSLOG_IDENTIFIER\":\"kernel\","
			   "\"_HOSTNAME\":\"gpu07\"}",
			   false),
		"disk_error");
	CHECK(!*name_of(set, "our kernel: EDAC MC0: 1 UE on DIMM1", false));
	CHECK(!*name_of(set, "2026-11-30 01:10:00 INFO kernel: task blocked for more than 120 seconds", false));
	CHECK(!*name_of(set, "Nov 30 01:10:00 gpu07 kernel: eth0: renamed from veth1", false));
}

TEST(so_many_signatures_and_not_one_more)
{
	AUTO(regex_scratch) scratch = regex_scratch_new();
	AUTO_DONE(buf) json = BUF_INIT(1 << 20);
	struct signature_set *set;
	struct signature_found found;

	for (int more = 0; more < 2; more++) {
		buf_reset(&json);
		buf_append_text(&json, "{\"signatures\":[");
		for (int i = 0; i < SIGNATURES_MAX + more; i++)
			buf_printf(&json,
				"%s{\"name\":\"n%d\",\"pattern\":\"our fault number <%d>\",\"title\":\"t\",\"cause\":\"c\","
				"\"action\":\"a\",\"about\":\"node\",\"severity\":\"info\",\"kernel\":%s}",
				i ? "," : "", i, i, i % 2 ? "true" : "false");
		buf_append_text(&json, "]}");
		if (more)
			CHECK_FAILS(signature_set_new(&set, buf_span(&json), &err), ERR_SEMANTIC,
				"191 patterns, not 1 to 190");
		else
			CHECK_OK(signature_set_new(&set, buf_span(&json), &err));
	}
	CHECK(signature_find(set, scratch, SPAN("Nov 30 01:10:00 a kernel: our fault number <188>"), false, &found));
	CHECK_INT(found.index, 188);
	CHECK(signature_find(set, scratch, SPAN("Nov 30 01:10:00 a kernel: our fault number <189>"), false, &found));
	CHECK_INT(found.index, 189);
	CHECK(!signature_find(set, scratch, SPAN("our fault number <189>"), false, &found));
	CHECK(!signature_find(set, scratch, SPAN("Nov 30 01:10:00 a kernel: nothing"), true, &found));
	signature_set_free(set);
}

TEST(what_is_not_fatal_drains_nobody)
{
	AUTO(signature_set) set = read_shipped_signatures();
	AUTO(regex_scratch) scratch = regex_scratch_new();
	struct signature_found found;

	CHECK(signature_find(set, scratch,
		SPAN("NVRM: Xid (PCI:0000:04:00): 145, RLW_CTRL Nonfatal XC0 i0 Link 00 (0x00000003)"), true, &found));
	CHECK(found.signature->is_nonfatal && !found.signature->is_drain && found.signature->about == SIGNATURE_NODE);
	CHECK(signature_find(set, scratch,
		SPAN("NVRM: Xid (PCI:0000:04:00): 145, RLW_CTRL Fatal XC0 i0 Link 00 (0x00000003)"), true, &found));
	CHECK(!found.signature->is_nonfatal && found.signature->is_drain);
	for (size_t i = 0; i < signature_count(set); i++)
		CHECK(!signature_at(set, i)->is_nonfatal || signature_at(set, i)->about == SIGNATURE_NODE);
}

TEST(sockets_are_a_warning_where_there_is_more)
{
	AUTO(signature_set) set = read_shipped_signatures();
	const struct signature *sockets = signature_at(set, signature_index(set, SPAN("nccl_socket")));

	CHECK(sockets->severity == SEVERITY_INFO);
	CHECK(signature_severity(sockets, SPAN("ml.p4d.24xlarge")) == SEVERITY_WARNING);
	CHECK(signature_severity(sockets, SPAN("p5.48xlarge")) == SEVERITY_WARNING);
	CHECK(signature_severity(sockets, SPAN("ml.g5.xlarge")) == SEVERITY_INFO);
	CHECK(signature_severity(sockets, SPAN("")) == SEVERITY_INFO);
}

TEST(a_line_names_the_machine_and_the_step)
{
	AUTO(signature_set) set = read_shipped_signatures();
	AUTO(regex_scratch) scratch = regex_scratch_new();
	struct signature_found found;

	CHECK(signature_find(set, scratch,
		SPAN("Rank 3, node gpu007, device 2, iteration #150: Possible persistent error!"), false, &found));
	CHECK_SPAN(found.host, SPAN("gpu007"));
	CHECK(found.signature->is_drain && found.signature->about == SIGNATURE_NODE);
	CHECK(signature_find(set, scratch,
		SPAN("Saving model checkpoint: /c/global_step33241/mp_rank_00_model_states.pt"), false, &found));
	CHECK(found.step == 33241 && found.signature->about == SIGNATURE_CHECKPOINT && found.host.len == 0);
	CHECK(signature_find(
		set, scratch, SPAN("INFO Checkpoint saved to /c/OLMo-1B-tied/step0-unsharded"), false, &found));
	CHECK_INT(found.step, 0);
	CHECK(signature_find(set, scratch, SPAN("saving checkpoint to out"), false, &found));
	CHECK_INT(found.step, -1);
	CHECK(signature_find(set, scratch, SPAN("INFO Saving checkpoint at step 8 to /ckpt"), false, &found));
	CHECK_INT(found.step, 8);
	CHECK(signature_find(set, scratch, SPAN("saved checkpoint to /ckpt/last.pt at step 7"), false, &found));
	CHECK_INT(found.step, 7);
	CHECK(signature_find(
		set, scratch, SPAN("Saved checkpoint to /ckpt-8/run_2/checkpoint-000400.pt"), false, &found));
	CHECK_INT(found.step, 400);
	CHECK(signature_find(
		set, scratch, SPAN("Checkpoint saved to 's3://b/run-12/checkpoints/400/'"), false, &found));
	CHECK_INT(found.step, 400);
	CHECK(signature_find(set, scratch, SPAN("saving a checkpoint for global_step=12000"), false, &found));
	CHECK_INT(found.step, 12000);
	CHECK(signature_at(set, signature_index(set, SPAN("nccl_timeout")))->beneath ==
		UINT32_C(1) << INCIDENT_NODE_SUSPECT);
	CHECK(signature_index(set, SPAN("megatron")) == SIZE_MAX);
}

TEST(a_file_that_is_wrong_says_where)
{
	static const struct {
		const char *json, *text;
	} cases[] = {
		{"{}", "0 patterns"},
		{"{\"signatures\":[{}]}", "signatures[0].name"},
		{"{\"signatures\":[{\"name\":\"a\",\"pattern\":\"x(\",\"title\":\"t\",\"cause\":\"c\",\"action\":\"a\",\"about\":\"run\","
		 "\"severity\":\"info\"}]}",
			"signatures[0].pattern is no regular expression"},
		{"{\"signatures\":[{\"name\":\"a\",\"pattern\":\"x\",\"title\":\"t\",\"cause\":\"c\",\"action\":\"a\",\"about\":\"x\"}]}",
			"signatures[0].about"},
		{"{\"signatures\":[{\"name\":\"a\",\"pattern\":\"x\",\"title\":\"t\",\"cause\":\"c\",\"action\":\"a\",\"about\":\"run\"}]}",
			"signatures[0].severity"},
		{"{\"signatures\":[{\"name\":\"a\",\"pattern\":\"x\",\"title\":\"t\",\"cause\":\"c\",\"action\":\"a\",\"about\":\"run\","
		 "\"beneath\":[\"x\"]}]}",
			"signatures[0].beneath"},
		{"{\"checkpoints\":[{\"name\":\"a\"}]}", "checkpoints[0].pattern"},
	};
	struct signature_set *set;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		CHECK_FAILS(signature_set_new(&set, span_from(cases[i].json), &err), ERR_SEMANTIC, cases[i].text);
	CHECK_FAILS(signature_set_new(&set, SPAN("{"), &err), ERR_INVALID, "");
}

/* Which file of the real logs gives which; what is not named here gives none. Each was judged by reading its lines. */
static const struct {
	const char *file, *said;
} real_logs[] = {
	{"crash/olmo_tied_crash.log", "cuda_oom 17, sigterm 8, olmo 1"},
	{"megatron-chronicle/tr1_13b_chronicles.log", "ecc_uncorrectable 2, megatron 1, deepspeed 1"},
	{"megatron-lm/perf_n16_nccl.log", "slurm_time_limit 2"},
	{"mmdet/mask_rcnn_sockets.log", "mmengine 12"},
	{"nanogpt/termux_char_nan.log", "nanogpt 4"},
	{"olmo/provenance_out0.1.log", "olmo 4"},
	{"olmo/tied_1b.log", "olmo 6"},
	{"olmo/tied_low_seq.log", "olmo 7"},
	{"olmo/training.log", "sigterm 9, olmo 2"},
};

static const char *said_of(const char *file)
{
	for (size_t i = 0; i < sizeof real_logs / sizeof *real_logs; i++)
		if (strcmp(real_logs[i].file, file) == 0)
			return real_logs[i].said;
	return "";
}

static void count_signatures(const struct signature_set *set, struct span text, struct buf *out)
{
	AUTO(regex_scratch) scratch = regex_scratch_new();
	uint64_t counts[SIGNATURES_MAX] = {0};
	struct signature_found found;
	struct span line;

	while (span_next(&text, '\n', &line))
		if (signature_find(set, scratch, line, false, &found))
			counts[found.index]++;
	for (size_t i = 0; i < signature_count(set); i++)
		if (counts[i])
			buf_printf(out, "%s%.*s %llu", out->len ? ", " : "", SPAN_ARGS(signature_at(set, i)->name),
				(unsigned long long)counts[i]);
}

TEST(real_logs_say_what_they_say_and_healthy_ones_nothing)
{
	const char *folder = getenv("SM_CORPUS") ? getenv("SM_CORPUS") : "../../../../shared/logs";
	AUTO(signature_set) set = read_shipped_signatures();
	char path[4096];
	size_t len;

	snprintf(path, sizeof path, "%s/SOURCES.tsv", folder);
	AUTO_MEM char *list = read_whole(path, &len);
	if (!list) {
		printf("skipped: %s is not there\n", path);
		return;
	}
	struct span rest = span_of(list, len), row, file;
	while (span_next(&rest, '\n', &row)) {
		AUTO_DONE(buf) said = BUF_INIT(10000);
		(void)!span_next(&row, '\t', &file);
		char name[512];
		snprintf(name, sizeof name, "%.*s", SPAN_ARGS(file));
		snprintf(path, sizeof path, "%s/%s", folder, name);
		AUTO_MEM char *text = read_whole(path, &len);
		if (!text)
			continue;
		count_signatures(set, span_of(text, len), &said);
		if (!span_equal(buf_span(&said), span_from(said_of(name))))
			test_fail(__FILE__, __LINE__, "%s: '%.*s', not '%s'", name, SPAN_ARGS(buf_span(&said)),
				said_of(name));
	}
}

TEST(what_a_line_names_beside_the_fault_is_its_host)
{
	static const struct {
		const char *line, *host;
	} rows[] = {
		{"srun: error: Node failure on lg-[2-3],lh-1", "lg-[2-3],lh-1"},
		{"srun: error: Node failure on lg-2, lg-[3-4],  lh-1 ", "lg-2, lg-[3-4],  lh-1"},
		{"srun: error: Node failure on lg-2, see its log", "lg-2,"}, /* no list */
		{"srun: error: Node failure on lg-2, 3 tasks", "lg-2,"},
		{"srun: error: Node failure on lg-2, 3", "lg-2,"},
		{"[2026-11-30T01:10:00.123] requeue job JobId=12 due to failure of node gpu07", "gpu07"},
		{"slurmctld: error: Nodes gpu[01-02] not responding, setting DOWN", "gpu[01-02]"},
		{"srun: error: nd-2: task 1: Segmentation fault (core dumped)", "nd-2"},
		{"srun: error: nd-[2-3]: tasks 1-2: Segmentation fault", "nd-[2-3]"},
		{"nd-2: Segmentation fault (core dumped)", ""},
	};
	AUTO(signature_set) set = read_shipped_signatures();
	AUTO(regex_scratch) scratch = regex_scratch_new();
	struct signature_found found;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		CHECK(signature_find(set, scratch, span_from(rows[i].line), false, &found));
		CHECK_SPAN(found.host, span_from(rows[i].host));
	}
}
