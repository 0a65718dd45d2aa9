#include "extract/line/ansi.h"
#include "extract/line/kernel_record.h"
#include "extract/line/named_host.h"
#include "extract/line/signature.h"
#include "helper.h"

#include <stdio.h>
#include <stdlib.h>

/* Lines that are true, and those that are talk, in each form in which they are carried. A new carrier is a row. */

enum { LINE_BYTES = 1024 };

/* Whose words: a carrier that is of the kernel alone carries no program's. */
enum {
	DRIVER = 1,
	KERNEL = 2,
	CHECK = 4,
	WITNESS = 8,
	PROGRAM = 16,
	TRAINER = 32,
	ANY = DRIVER | CHECK | WITNESS | PROGRAM | TRAINER
};

static const struct message {
	const char *text;
	const char *name;
	unsigned by;
} messages[] = {
	{"NVRM: Xid (PCI:0000:53:00): 79, pid=41233, name=python3, GPU has fallen off the bus.", "xid_79", DRIVER},
	{"nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 32 LTSSM Fault Up", "nvswitch", DRIVER},
	{"mlx5_core 0000:3b:00.0: poll_health:800:(pid 0): device's health compromised - reached miss count",
		"nic_failed", DRIVER},
	{"Out of memory: Killed process 4412 (python3) total-vm:98765432kB", "oom_killer", DRIVER},
	{"EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0", "machine_check", KERNEL},
	{"Remapping Failure Occurred        : Yes", "smi_remap_failed", CHECK},
	{"GPU Recovery Action                   : Reset", "smi_reset_required", CHECK},
	{"RuntimeError: CUDA error: uncorrectable ECC error encountered", "ecc_uncorrectable", WITNESS},
	{"torch.AcceleratorError: CUDA error: uncorrectable NVLink error detected during the execution",
		"nvlink_uncorrectable", WITNESS},
	{"jaxlib.xla_extension.XlaRuntimeError: INTERNAL: Failed to launch CUDA kernel: fusion_1 with block dimensions: 1x1x1: "
	 "CUDA_ERROR_ECC_UNCORRECTABLE: uncorrectable ECC error encountered",
		"ecc_uncorrectable", WITNESS},
	{"RuntimeError: Triton Error [CUDA]: uncorrectable ECC error encountered", "ecc_uncorrectable", WITNESS},
	{"RuntimeError: nrt_execute status=1202 NRT_EXEC_HW_ERR_NC_UE", "neuron_hardware", WITNESS},
	{"CUDA error at /src/x.cu:12: uncorrectable ECC error encountered", "ecc_uncorrectable", WITNESS},
	{"cudaErrorECCUncorrectable: uncorrectable ECC error encountered", "ecc_uncorrectable", WITNESS},
	{"srun: error: Node failure on gpu09", "slurm_node_failed", WITNESS},
	{"slurmctld: error: Nodes gpu09 not responding, setting DOWN", "slurm_node_failed", WITNESS},
	{"Rank 3, node gpu007, device 2, iteration #150: Possible persistent error!", "megatron_persistent_error",
		WITNESS},
	{"torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", "cuda_oom", PROGRAM},
	{"saved checkpoint to /ckpt/old/iter_77 at step 77", "any-step", TRAINER},
	{"Saving model checkpoint to /ckpt/old/checkpoint-77", "hf-trainer", TRAINER},
	{"Successfully saved checkpoint from iteration      77 to /ckpt/old", "megatron", TRAINER},
};

static const struct carrier {
	const char *form;
	unsigned of;
	const char *host; /* that it names; "": none */
} carriers[] = {
	{"%s", ANY, ""},
	{"[rank3]: %s", ANY, ""},
	{"[default3]:%s", ANY, ""},
	{"[1,3]<stdout>:%s", ANY, ""},
	{"3: %s", ANY, ""},
	{"2026-11-30T01:10:00.5Z stdout F %s", ANY, ""},
	{"[pod/train-0/pytorch] %s", ANY, "train-0"},
	{"monitor-1  | %s", ANY, ""},
	{"2026-11-30 01:10:00,123 ERROR watch: %s", ANY, ""},
	{"[2026-11-30 01:10:00,123] [ERROR] [watch.py:42] %s", ANY, ""},
	{"gpu-node-07: %s", ANY, "gpu-node-07"},
	{"{\"log\":\"%s\\n\",\"stream\":\"stdout\"}", ANY, ""},
	{"2026-11-30T01:10:00.5Z stdout F {\"message\":\"%s\",\"level\":\"error\"}", ANY, ""},
	{"{\"log\":\"{\\\"message\\\":\\\"%s\\\"}\"}", ANY, ""},
	{"(TaskRunner pid=3101) %s", ANY, ""},
	{"[local_rank=3] %s", DRIVER | CHECK | WITNESS, ""},
	{"[Local rank 3]: %s", DRIVER | CHECK | WITNESS, ""},
	{"[GPU 0] %s", DRIVER | CHECK | WITNESS, ""},
	{"[gpu:0]: %s", DRIVER | CHECK | WITNESS, ""},
	{"[device 0] [  123.456789] %s", DRIVER, ""},
	{"2026-11-30 01:10:00,123 ERROR [local_rank=3] %s", DRIVER | CHECK | WITNESS, ""},
	{"[MainThread] %s", WITNESS, ""},
	{"[worker_0] %s", WITNESS, ""},
	{"[c10d] %s", WITNESS, ""},
	{"Nov 30 01:10:00 gpu07 kernel: [drm] %s", KERNEL, "gpu07"},
	{"[node5] %s", DRIVER | WITNESS, "node5"},
	{"[2026-11-30 01:10:00,123][trainer][ERROR] - %s", DRIVER | WITNESS, ""},
	{"[2026-11-30 01:10:00,123][ERROR][trainer] %s", DRIVER | WITNESS, ""},
	{"2026-11-30 01:10:00,123 WARNING kmsg_watch: %s", DRIVER | WITNESS, ""},
	{"algo-1-xyz | %s", DRIVER, "algo-1-xyz"},
	{"[dmesg] [  123.456789] %s", DRIVER, ""},
	/* the kernel's log, as dmesg and syslogs write it */
	{"[  123.456789] %s", DRIVER, ""},
	{"[  123.456789][ T4711] %s", DRIVER, ""},
	{"[ 8123.456789 <    7.000000>] %s", DRIVER, ""},
	{"[Nov30 15:10] %s", DRIVER, ""},
	{"[Nov 3 05:10] %s", DRIVER, ""},
	{"[  +7.000000] %s", DRIVER, ""},
	{"kern  :warn  : [Nov30 15:10] %s", DRIVER, ""},
	{"kern  :err   : [  +0.543212] %s", DRIVER, ""},
	{"[Mon Nov 30 01:10:00 2026] %s", DRIVER, ""},
	{"\x1b[32m[ 8123.456789] \x1b[0m\x1b[33m%s\x1b[0m", DRIVER, ""},
	{"\x1b[32m\x1b[1m[Nov30 15:10] \x1b[0m\x1b[33m%s\x1b[0m", DRIVER, ""},
	{"kern  :warn  : \x1b[32m[ 8123.456789] \x1b[0m%s", DRIVER, ""},
	{"         \"msg\": \"%s\"", DRIVER, ""},
	{"4,1234,5678901,-;%s", DRIVER, ""},
	{"PRIORITY=3 MESSAGE=%s", DRIVER, ""},
	{"MESSAGE=%s", DRIVER, ""}, /* of journalctl -o export, which names the machine on a line of its own */
	{"    MESSAGE=%s", DRIVER, ""},
	{"Nov 30 01:10:00 gpu07 kernel: %s", DRIVER | KERNEL, "gpu07"},
	{"<4>Nov 30 01:10:00 gpu07 kernel: [  123.456789] %s", DRIVER | KERNEL, "gpu07"},
	{"<4>1 2026-11-30T01:10:00Z gpu07 kernel - - - %s", DRIVER | KERNEL, "gpu07"},
	{"<4>1 - gpu07 kernel - - - %s", DRIVER | KERNEL, "gpu07"},
	{"[rank3]: Nov 30 01:10:00 gpu07 kernel: [  123.456789] %s", DRIVER | KERNEL, "gpu07"},
	{"2026-11-30T01:10:00.5Z stdout F <4>1 2026-11-30T01:10:00Z gpu07 kernel - - - %s", DRIVER | KERNEL, "gpu07"},
	{"Nov 30 01:10:00 gpu07 journal: %s", DRIVER, "gpu07"},
	{"Nov 30 01:10:00 gpu07 nvidia-persistenced[71]: %s", DRIVER, "gpu07"},
	{"123 <4>1 2026-11-30T01:10:00Z gpu07 kernel - - - %s", DRIVER | KERNEL, "gpu07"},
	{"1 2026-11-30T01:10:00Z gpu07 kernel - - - %s", DRIVER | KERNEL, "gpu07"},
	{"Nov 30 2026 01:10:00 gpu07 kernel: %s", DRIVER | KERNEL, "gpu07"},
	{"Nov 30 01:10:00 gpu07/10.0.0.7 kernel: %s", DRIVER | KERNEL, "gpu07"},
	{"Nov 30 01:10:00 gpu07/hub2/hub3 kernel: %s", DRIVER | KERNEL, "gpu07"},
	{"Nov 30 01:10:00 s_src@gpu07 kernel: %s", DRIVER | KERNEL, "gpu07"},
	/* records, by whatever name they call their machine */
	{"{\"message\":\"%s\",\"host\":\"gpu07\",\"program\":\"kernel\"}", DRIVER | KERNEL, "gpu07"},
	{"{\"MESSAGE\":\"%s\",\"_HOSTNAME\":\"gpu07\",\"_TRANSPORT\":\"kernel\"}", DRIVER | KERNEL, "gpu07"},
	{"{\"message\":\"%s\",\"_HostName\":\"gpu07\",\"AppName\":\"kernel\"}", DRIVER | KERNEL, "gpu07"},
	{"{\"message\":\"%s\",\"Host\":\"gpu07\"}", DRIVER, "gpu07"},
	{"{\"message\":\"%s\",\"Hostname\":\"gpu07\"}", DRIVER, "gpu07"},
	{"{\"message\":\"%s\",\"hostName\":\"gpu07\"}", DRIVER, "gpu07"},
	{"{\"message\":\"%s\",\"node\":\"gpu07\"}", DRIVER, "gpu07"},
	{"{\"message\":\"%s\",\"nodename\":\"gpu07\"}", DRIVER, "gpu07"},
	{"{\"message\":\"%s\",\"node_name\":\"gpu07\"}", DRIVER, "gpu07"},
	{"{\"message\":\"%s\",\"instance\":\"gpu07\"}", DRIVER, "gpu07"},
	{"{\"message\":\"%s\",\"source_host\":\"gpu07\"}", DRIVER, "gpu07"},
	{"{\"message\":\"%s\",\"fromhost\":\"gpu07\"}", DRIVER, "gpu07"},
	{"{\"message\":\"%s\",\"sysloghost\":\"gpu07\"}", DRIVER, "gpu07"},
	{"{\"message\":\"%s\",\"logsource\":\"gpu07\"}", DRIVER, "gpu07"},
	{"{\"message\":\"%s\",\"computer\":\"gpu07\"}", DRIVER, "gpu07"},
	{"{\"message\":\"%s\",\"host\":{\"name\":\"gpu07\"}}", DRIVER, "gpu07"},
	/* a library's or a tool's, in front of a program's */
	{"    %s", CHECK | PROGRAM, ""},
	{"  what():  %s", WITNESS | PROGRAM, ""},
	{"level=error msg=\"step failed\" err=\"%s\"", WITNESS | PROGRAM, ""},
	{"{\"level\":\"error\",\"error\":\"%s\"}", WITNESS | PROGRAM, ""},
	{"{\"message\":\"step failed\",\"exc_info\":\"Traceback (most recent call last):\\n  File \\\"x.py\\\", line 1\\n%s\"}",
		WITNESS | PROGRAM, ""},
	{"{\"message\":\"step failed\",\"exception\":\"Traceback:\\n%s\"}", WITNESS | PROGRAM, ""},
	{"{\"message\":\"step failed\",\"stack\":\"Traceback:\\n%s\"}", WITNESS | PROGRAM, ""},
	{"{\"message\":\"step failed\",\"stack_trace\":\"Traceback:\\n%s\"}", WITNESS | PROGRAM, ""},
	{"{\"message\":\"step failed\",\"stderr\":\"Traceback:\\n%s\"}", WITNESS | PROGRAM, ""},
	{"{\"message\":\"step failed\",\"output\":\"Traceback:\\n%s\"}", WITNESS | PROGRAM, ""},
	{"2026-11-30 01:10:00,123 ERROR trainer: step failed: %s", WITNESS | PROGRAM, ""},
	{"Error during training: %s", WITNESS | PROGRAM, ""},
	{"level=error msg=\"step failed: %s\"", WITNESS | PROGRAM, ""},
	{"ray.exceptions.RayTaskError(RuntimeError): %s", WITNESS | PROGRAM, ""},
	/* who only hands on what the kernel said: its stamp says so */
	{"Nov 30 01:10:00 gpu07 dmesg[12]: [  123.456789] %s", DRIVER, "gpu07"},
	{"Nov 30 01:10:00 gpu07 kmsg[12]: [  123.456789] %s", DRIVER, "gpu07"},
	{"Nov 30 01:10:00 gpu07 npd[12]: [  123.456789] %s", DRIVER, "gpu07"},
	{"Nov 30 01:10:00 gpu07 docker[12]: [  123.456789] %s", DRIVER, "gpu07"},
	{"<4>1 2026-11-30T01:10:00Z gpu07 containerd 12 - - [  123.456789] %s", DRIVER, "gpu07"},
	{"Nov 30 01:10:00 gpu07 systemd-journal[12]: [  123.456789] %s", DRIVER, "gpu07"},
	/* whose names are no machine's: it is the sender's */
	{"<3>1 2026-11-30T01:10:00Z - kernel - - - %s", DRIVER, ""},
	{"{\"message\":\"%s\",\"host\":\"-\"}", DRIVER, ""},
	{"{\"message\":\"%s\",\"host\":\"127.0.0.1\"}", DRIVER, ""},
	{"{\"message\":\"%s\",\"host\":\"::1\"}", DRIVER, ""},
	{"{\"message\":\"%s\",\"host\":\"unknown\"}", DRIVER, ""},
	{"{\"message\":\"%s\",\"host\":\"localhost\"}", DRIVER, ""},
	{"{\"message\":\"%s\",\"host\":\"10.0.0.7\"}", DRIVER, "10.0.0.7"},
	{"{\"message\":\"%s\",\"node\":\"3\"}", DRIVER, ""},
	{"{\"message\":\"%s\",\"node\":\"rank3\"}", DRIVER, ""},
	{"{\"message\":\"%s\",\"instance\":\"0\"}", DRIVER, ""},
	{"{\"message\":\"%s\",\"instance\":\"worker-0\"}", DRIVER, ""},
	{"{\"message\":\"%s\",\"computer\":\"trainer\"}", DRIVER, ""},
	/* a quotation before it in one text */
	{"{\"log\":\"# NVRM: Xid (PCI:0000:53:00): 79\\n[  123.456789] %s\"}", DRIVER, ""},
	{"watching for 'NVRM: Xid (PCI:0000:53:00): 79'\r[  123.456789] %s", DRIVER, ""},
};

/* Lines that name another machine than the one that sends them; "?": nobody is charged. */
static const struct carrier elsewhere[] = {
	{"(RayTrainWorker pid=2244, ip=10.1.2.3) %s", DRIVER | WITNESS, "10.1.2.3"},
	{"(raylet, ip=10.1.2.3) %s", WITNESS, "10.1.2.3"},
	{"(RayTrainWorker pid=2244, ip=fd00::7) %s", DRIVER | WITNESS, "?"},
	{"(RayTrainWorker pid=2244) %s", DRIVER | WITNESS, ""},
	{"ok: [gpu07] => {\"stdout\": \"%s\"}", DRIVER | WITNESS, "gpu07"},
	{"changed: [gpu07] => {\"cmd\": \"dmesg\", \"stdout\": \"%s\"}", DRIVER | WITNESS, "gpu07"},
	{"host=gpu07 msg=\"%s\"", DRIVER | WITNESS, "gpu07"},
	{"msg=\"%s\" host=gpu07", DRIVER | WITNESS, "gpu07"},
	{"level=error msg=\"%s\" node=\"gpu07\"", DRIVER | WITNESS, "gpu07"},
	{"host=gpu07 target=gpu09 msg=\"%s\"", DRIVER | WITNESS, "?"},
	{"[gpu07] %s", DRIVER | WITNESS, "gpu07"},
	{"[gpu07] out: %s", DRIVER | WITNESS, "gpu07"},
	{"2026-11-30T01:10:00Z gpu07: %s", DRIVER | WITNESS, "gpu07"},
	{"2026-11-30 01:10:00,123 ERROR [gpu07] %s", DRIVER | WITNESS, "gpu07"},
	{"2026-11-30 01:10:00,123 [gpu07] ERROR %s", DRIVER | WITNESS, "gpu07"},
	{"ERROR [gpu07] %s", DRIVER | WITNESS, "gpu07"},
	{"gpu07 kernel: %s", DRIVER, "gpu07"},
	{"{\"hostname\":\"gpu01\",\"remote_host\":\"gpu07\",\"message\":\"%s\"}", DRIVER | WITNESS, "?"},
	{"{\"hostname\":\"gpu01\",\"peer\":\"gpu07\",\"error\":\"%s\"}", DRIVER | WITNESS, "?"},
	{"{\"peer\":\"gpu07\",\"message\":\"%s\"}", DRIVER | WITNESS, "?"},
	{"{\"host\":\"gpu01\",\"target\":\"gpu07\",\"message\":\"%s\"}", DRIVER | WITNESS, "?"},
	{"{\"host\":\"gpu07\",\"target\":\"gpu07.hpc\",\"message\":\"%s\"}", DRIVER | WITNESS, "gpu07"},
	{"{\"host\":\"gpu07\",\"message\":\"%s\"}", DRIVER | WITNESS, "gpu07"},
	/* of the sender, whatever launchers and loggers number */
	{"[rank3]: %s", WITNESS, ""},
	{"[Thread-3] %s", WITNESS, ""},
	{"{\"role\":\"worker\",\"target\":\"train\",\"message\":\"%s\"}", DRIVER | WITNESS, ""},
};

/* A kernel's header, whatever stands in front of it: the machine is the one that it names, and not who hands the line on. */
static const char *const headers[] = {"Nov 30 01:10:00 gpu07 kernel: %s", "2026-11-30T01:10:00.864Z gpu07 kernel: %s",
	"<3>2026-11-30T01:10:00.864Z gpu07 kernel: %s", "2026-11-30T01:10:00.864+00:00 gpu07 kernel: [   12.123456] %s",
	"<4>1 2026-11-30T01:10:00Z gpu07 kernel - - - %s", "2026-11-30T01:10:00.864Z gpu07 kernel[0]: %s"};
static const struct {
	const char *form;
	unsigned of;
} fronts[] = {
	{"3: %s", DRIVER | KERNEL},
	{"12: %s", DRIVER | KERNEL},
	{" 3: %s", DRIVER | KERNEL},
	{"Nov 30 01:10:00 hub2 journal: %s", DRIVER | KERNEL},
	{"Nov 30 01:10:00 hub2 rsyslogd: %s", DRIVER | KERNEL},
	{"Nov 30 01:10:00 hub2 docker/rsyslog[1]: %s", DRIVER | KERNEL},
	{"2026-11-30T01:10:00.5Z hub2 vector: %s", DRIVER | KERNEL},
	{"<30>Nov 30 01:10:00 hub2 syslog-ng[7]: %s", DRIVER | KERNEL},
	{"3: Nov 30 01:10:00 hub2 journal: %s", DRIVER | KERNEL},
	{"Nov 30 01:10:00 hub1 relay: Nov 30 01:10:00 hub2 journal: %s", DRIVER | KERNEL},
	{"<30>1 2026-11-30T01:10:00Z hub2 rsyslogd - - - %s", DRIVER | KERNEL},
	{"2026-11-30T01:10:00.5Z stdout F Nov 30 01:10:00 hub2 journal: %s", DRIVER | KERNEL},
	{"%s", DRIVER | KERNEL},
	{"admin-1: %s", DRIVER | KERNEL},
	{"[pod/train-0/pytorch] %s", DRIVER | KERNEL},
	{"{\"log\":\"%s\\n\",\"host\":\"hub2\"}", DRIVER | KERNEL},
	{"{\"log\":\"3: %s\",\"hostname\":\"hub2\"}", DRIVER | KERNEL},
	{"{\"message\":\"Nov 30 01:10:00 hub2 journal: %s\",\"host\":\"hub2\"}", DRIVER | KERNEL},
	{"{\"log\":\"{\\\"message\\\":\\\"12: %s\\\"}\",\"host\":\"hub2\"}", DRIVER | KERNEL},
	{"2026-11-30 01:10:00,123 INFO relay: Nov 30 01:10:00 hub2 journal: %s", DRIVER | KERNEL},
	{"Nov 30 01:10:00 hub2 rsyslogd[9]: 3: %s", DRIVER | KERNEL},
	{"\x1b[32m3: %s\x1b[0m", DRIVER | KERNEL},
	{"Mon Nov 30 01:10:00 2026 hub2 journal: %s", DRIVER | KERNEL},
	{"<30>Nov 30 01:10:00 hub1 relay: <30>Nov 30 01:10:00 hub2 journal: %s", DRIVER | KERNEL},
	{"step 5 loss 2.1%s", DRIVER},
	{"message=\"%s\"", DRIVER},
	{"level=warn host=hub2 msg=\"%s\"", DRIVER},
};

/* Of these no machine is charged; is_plain: and nobody is told, as they are plainly no messages. */
static const struct quotation {
	const char *form;
	bool is_plain;
} quotations[] = {
	{"# %s", true},
	{"## %s", true},
	{"// %s", true},
	{"- %s", true},
	{"> %s", true},
	{"1. %s", true},
	{"| %s | drain |", true},
	{"doc says `%s` means trouble", true},
	{"when the log says \"%s\" call the vendor", true},
	{"grep -n '%s' slurm.out", true},
	{"    if \"%s\" in line:", true},
	{"    raise RuntimeError(\"%s\")", true},
	{"    \"%s\",", true},
	{"  - match: %s", true},
	{"if grep -q '%s' \"$f\"; then", true},
	{"+ [[ $line == *\"%s\"* ]]", true},
	{"retry_on = \"%s\"", true},
	{"--retry-on \"%s\"", true},
	{"Namespace(lr=0.1, retry_on='%s')", true},
	{"{'lr': 0.1, 'retry_on': '%s'}", true},
	{"INFO slack: posted \"%s\" to #gpu", true},
	{"{\"prompt\": \"%s\"}", true},
	{"{\"title\": \"%s\", \"url\": \"https://wiki/x\"}", true},
	{"{\"query\": \"%s\", \"hits\": 0}", true},
	{"{\"description\": \"%s\", \"severity\": \"page\"}", true},
	{"{\"reason_examples\": [\"%s\"]}", true},
	{"{\"retry_on\": \"%s\"}", true},
	{"Example: %s", false},
	{"docs/runbook.md:%s", false},
	{"docs/runbook.md:12:%s", false},
	{"previous attempt failed: %s", false},
	{"expected error: %s", false},
	{"Known error: %s", false},
	{"error messages: %s", false},
	{"Failed jobs of today: %s", false},
	{"RuntimeError: the log says '%s'", false},
	{"{\"notes\": \"%s\"}", false},
	{"e.g. %s", false},
	{"Q: %s", false},
	{"<td>%s</td>", false},
	{"If you see %s, drain the node", false},
	{"user: my log says %s what now?", false},
	{"commit 81ab: detect {%s}", false},
	{"found 0 lines with %s", false},
	{"[archive 2025-03] %s", false},
	{"last run (job 811, gpu01) ended with %s", false},
	{"previous attempt of job 811 failed: %s (host gpu09)", false},
	{"Retrying task 5 of worker gpu01: %s", false},
	{"PASSED tests/test_sig.py::test_line[%s]", false},
	{"retry_on = %s", false},
	{"fault injection: will print: %s", false},
	{"INFO: watching for: %s", false},
	{"{\"message\":\"watching for %s\"}", false},
	{"Nov 30 01:10:00 gpu07 rag-bot[3]: said: %s", false},
	{"Nov 30 01:10:00 gpu07 rag-bot[3]: Nov 30 01:10:00 gpu09 kernel: %s", false},
	{"2026-11-30T01:10:00Z gpu07 python[33]: 2026-11-30T01:10:00Z gpu09 kernel: %s", false},
	{"<14>1 2026-11-30T01:10:00Z gpu07 rag-bot 3 - - Nov 30 01:10:00 gpu09 kernel: %s", false},
	{"INFO chat: alice asked why \"%s\" was printed", true},
	{"    print(f\"%s\")", true},
	{"config: on_done=\"%s\"", true},
	{"{\"content\": \"%s\"}", false},
	{"{\"text\": \"%s\"}", false},
	{"{\"role\": \"user\", \"message\": \"%s\"}", false},
	{"{\"channel\": \"#gpu\", \"user\": \"U1\", \"text\": \"%s\"}", false},
	{"{\"channel\": \"#gpu\", \"user\": \"U1\", \"message\": \"%s\"}", false},
	{"{\"role\": \"user\", \"text\": \"Nov 30 01:10:00 gpu07 kernel: %s\"}", false},
	{"{\"role\": \"user\", \"message\": \"Nov 30 01:10:00 gpu07 kernel: %s\"}", false},
	{"{\"channel\": \"#gpu\", \"user\": \"U1\", \"text\": \"Nov 30 01:10:00 gpu07 kernel: %s\"}", false},
	{"{\"text\": \"Nov 30 01:10:00 gpu07 kernel: %s\"}", false},
	{"[INST] Nov 30 01:10:00 gpu07 kernel: %s", false},
	{"[user] Nov 30 01:10:00 gpu07 kernel: %s", false},
	{"[bot] Nov 30 01:10:00 gpu07 kernel: %s", false},
	{"[doc7] Nov 30 01:10:00 gpu07 kernel: %s", false},
	{"doc7: Nov 30 01:10:00 gpu07 kernel: %s", false},
	{"ticket42: Nov 30 01:10:00 gpu07 kernel: %s", false},
	{"case3: Nov 30 01:10:00 gpu07 kernel: %s", false},
	{"[INST] %s", false},
	{"[user] %s", false},
	{"doc7: %s", false},
	{"sample_17: %s", false},
	/* behind a word that says what the text is */
	{"[response] %s", false},
	{"(TaskRunner pid=3101) [response] %s", false},
	{"(TaskRunner pid=3101) [ground_truth] %s", false},
	{"[score] %s", false},
	{"[filtered_resps] %s", false},
	{"[response_2] %s", false},
	{"[worker] %s", false},
	{"[response]: %s", false},
	{"2026-11-30T01:10:00Z [tool-call] %s", false},
	{"2026-11-30 01:10:00,123 [rollout] %s", false},
	{"[rank3]: [completion] %s", false},
	{"[GPU 0] [response] %s", false},
	{"[GPU 0] [user] %s", false},
	{"[GPU 0] Example: %s", false},
	{"[GPU 0] said %s", false},
	{"[response] [GPU 0] %s", false},
	{"Example: [GPU 0] %s", false},
	{"[user] [local_rank=3] %s", false},
	{"[GPU zero] %s", false},
	{"[sample 3] %s", false},
	{"[step=3] %s", false},
	{"INFO generation: %s", false},
	{"2026-11-30 01:10:00,123 INFO lm_eval: %s", false},
	{"2026-11-30 01:10:00,123 - generation - INFO - %s", false},
	{"{\"log\": \"[response] %s\"}", false},
	{"[response] Nov 30 01:10:00 gpu07 kernel: %s", false},
};

/* A checkpoint that was not saved, or is taken back in the same breath; ones that were. */
static const char *const not_saved[] = {"could not have %s", "deleted %s", "removed the old %s", "%s is corrupt",
	"RuntimeError: %s is corrupt", "dry run: %s", "[dry-run] %s", "dry-run: would have %s",
	"found %s, but it is incomplete", "waiting until %s is flushed", "alice: hey, the %s is broken", "next: %s",
	"operator said: %s must not be used", "%s cannot be loaded", "failed before %s",
	"tests/test_ckpt.py::test_saved[%s] PASSED", "loading the last %s", "best %s", "+ grep -c '%s' train.log"};
static const char *const all_saved[] = {"2026-11-30 01:10:00,123 INFO trainer: %s", "Epoch 3: %s", "=> %s",
	"[Rank 0] %s", "step 77 loss 2.1: %s", "%s (previous one removed)", "%s, which is the best so far",
	"%s in 5.1 s", "msg=\"%s\" level=info", "[pod/train-0/pytorch] %s", "gpu-node-07: %s",
	"validation did not improve; %s", "{\"message\": \"%s\", \"level\": \"info\"}",
	"{\"event\": \"%s\", \"level\": \"info\"}"};

/* What a program's syslog line only talks of, and a program's own is. */
static const char *const programs[] = {
	"sshd[12]", "python3[99]", "rag-bot[3]", "systemd[1]", "logger", "CRON[5]", "kubelet[881]"};

/* All that are wrong, at once. */
static void tell(const struct buf *wrong)
{
	if (wrong->len)
		test_fail(__FILE__, __LINE__, "%.*s", SPAN_ARGS(buf_span(wrong)));
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static struct span write_line(char line[LINE_BYTES], const char *form, const char *text)
{
	int len = snprintf(line, LINE_BYTES, form, text);

	return span_of(line, (size_t)len);
}
#pragma GCC diagnostic pop

/* Without colours, as lines are looked at. */
static bool find(const struct signature_set *set, struct span line, struct buf *plain, struct signature_found *found)
{
	AUTO(regex_scratch) scratch = regex_scratch_new();

	buf_reset(plain);
	ansi_strip(line, plain);
	return signature_find(set, scratch, buf_span(plain), false, found);
}

static void check_true(const struct signature_set *set, const struct carrier *carrier, const struct message *message,
	struct buf *wrong)
{
	AUTO_DONE(buf) plain = BUF_INIT(LINE_BYTES), record = BUF_INIT(KERNEL_PLAIN_BYTES);
	char text[LINE_BYTES];
	struct span line = write_line(text, carrier->form, message->text), host = SPAN("");
	struct signature_found found;
	bool is_found = find(set, line, &plain, &found);

	if (!is_found || found.voice != VOICE_OWN || !span_equal(found.signature->name, span_from(message->name))) {
		buf_printf(wrong, "'%s' is %s\n", text, is_found ? "talk, or another" : "nothing");
		return;
	}
	if (!found.host.len && message->by & (DRIVER | KERNEL))
		(void)named_host_read(buf_span(&plain), &found, &record, &host);
	if (message->by & (DRIVER | KERNEL) && !span_equal(host, span_from(carrier->host)))
		buf_printf(wrong, "'%s' is of '%.*s'\n", text, SPAN_ARGS(host));
}

TEST(a_true_line_is_one_however_it_is_carried)
{
	AUTO(signature_set) set = read_shipped_signatures();
	AUTO_DONE(buf) wrong = BUF_INIT(1 << 20);

	for (size_t i = 0; i < sizeof carriers / sizeof *carriers; i++)
		for (size_t j = 0; j < sizeof messages / sizeof *messages; j++)
			if (carriers[i].of & messages[j].by)
				check_true(set, &carriers[i], &messages[j], &wrong);
	tell(&wrong);
}

TEST(the_innermost_kernel_says_whose_it_is)
{
	AUTO(signature_set) set = read_shipped_signatures();
	AUTO_DONE(buf) wrong = BUF_INIT(1 << 20);
	char form[LINE_BYTES];

	for (size_t i = 0; i < sizeof fronts / sizeof *fronts; i++)
		for (size_t j = 0; j < sizeof headers / sizeof *headers; j++) {
			(void)write_line(form, fronts[i].form, headers[j]);
			const struct carrier carried = {form, fronts[i].of, "gpu07"};
			for (size_t k = 0; k < sizeof messages / sizeof *messages; k++)
				if (carried.of & messages[k].by)
					check_true(set, &carried, &messages[k], &wrong);
		}
	tell(&wrong);
}

static void check_quotation(const struct signature_set *set, const struct quotation *quotation,
	const struct message *message, struct buf *wrong)
{
	AUTO_DONE(buf) plain = BUF_INIT(LINE_BYTES);
	char text[LINE_BYTES];
	struct span line = write_line(text, quotation->form, message->text);
	struct signature_found found;
	bool is_found = find(set, line, &plain, &found);
	bool is_nothing = quotation->is_plain || message->by & (DRIVER | CHECK | KERNEL);

	if (message->by == TRAINER && !quotation->is_plain)
		return; /* what is plainly none suffices: no machine is charged with a checkpoint */

	if (is_found && (is_nothing || (found.voice == VOICE_OWN && message->by != PROGRAM)))
		buf_printf(wrong, "'%s' is %.*s\n", text, SPAN_ARGS(found.signature->name));
}

TEST(a_line_that_names_another_machine_is_not_the_senders)
{
	AUTO(signature_set) set = read_shipped_signatures();
	AUTO_DONE(buf) wrong = BUF_INIT(1 << 20), plain = BUF_INIT(LINE_BYTES), record = BUF_INIT(KERNEL_PLAIN_BYTES);
	char text[LINE_BYTES];
	struct signature_found found;
	struct span host;

	for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
		for (size_t j = 0; j < sizeof messages / sizeof *messages; j++) {
			if (!(elsewhere[i].of & messages[j].by))
				continue;
			struct span line = write_line(text, elsewhere[i].form, messages[j].text);
			if (!find(set, line, &plain, &found) || found.host.len)
				continue; /* what names its own machine, whoever sends it */
			(void)named_host_read(buf_span(&plain), &found, &record, &host);
			if (found.voice == VOICE_OWN && !span_equal(host, span_from(elsewhere[i].host)))
				buf_printf(&wrong, "'%s' is of '%.*s'\n", text, SPAN_ARGS(host));
		}
	tell(&wrong);
}

TEST(a_checkpoint_is_one_that_was_saved)
{
	AUTO(signature_set) set = read_shipped_signatures();
	AUTO_DONE(buf) wrong = BUF_INIT(1 << 20), plain = BUF_INIT(LINE_BYTES);
	char text[LINE_BYTES];
	struct signature_found found;

	for (size_t j = 0; j < sizeof messages / sizeof *messages; j++) {
		if (messages[j].by != TRAINER)
			continue;
		for (size_t i = 0; i < sizeof not_saved / sizeof *not_saved; i++)
			if (find(set, write_line(text, not_saved[i], messages[j].text), &plain, &found))
				buf_printf(&wrong, "'%s' is one\n", text);
		for (size_t i = 0; i < sizeof all_saved / sizeof *all_saved; i++)
			if (!find(set, write_line(text, all_saved[i], messages[j].text), &plain, &found))
				buf_printf(&wrong, "'%s' is none\n", text);
	}
	tell(&wrong);
}

TEST(who_quotes_a_line_is_charged_with_nothing)
{
	AUTO(signature_set) set = read_shipped_signatures();
	AUTO_DONE(buf) wrong = BUF_INIT(1 << 20);

	for (size_t i = 0; i < sizeof quotations / sizeof *quotations; i++)
		for (size_t j = 0; j < sizeof messages / sizeof *messages; j++)
			check_quotation(set, &quotations[i], &messages[j], &wrong);
	tell(&wrong);
}

/* As pdsh, kubectl and a container's runtime print a quotation, it is one. */
TEST(a_quotation_stays_one_however_it_is_carried)
{
	static const char *const carriers_of_any[] = {"[rank3]: %s", "3: %s", "2026-11-30T01:10:00.5Z stdout F %s",
		"[pod/train-0/pytorch] %s", "monitor-1  | %s", "2026-11-30 01:10:00,123 INFO chat: %s"};
	AUTO(signature_set) set = read_shipped_signatures();
	AUTO_DONE(buf) wrong = BUF_INIT(1 << 20);

	for (size_t i = 0; i < sizeof quotations / sizeof *quotations; i++)
		for (size_t j = 0; j < sizeof carriers_of_any / sizeof *carriers_of_any; j++)
			for (size_t k = 0; k < sizeof messages / sizeof *messages; k++) {
				char form[LINE_BYTES];
				if (messages[k].by == PROGRAM)
					continue;
				(void)write_line(form, carriers_of_any[j], quotations[i].form);
				const struct quotation carried = {form, false};
				check_quotation(set, &carried, &messages[k], &wrong);
			}
	tell(&wrong);
}

TEST(a_syslog_line_of_a_program_is_that_programs)
{
	AUTO(signature_set) set = read_shipped_signatures();
	AUTO_DONE(buf) wrong = BUF_INIT(1 << 20);
	AUTO_DONE(buf) plain = BUF_INIT(LINE_BYTES);
	char form[LINE_BYTES], text[LINE_BYTES];
	struct signature_found found;

	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
		for (int is_new = 0; is_new < 2; is_new++) {
			snprintf(form, sizeof form,
				is_new ? "<4>1 2026-11-30T01:10:00Z gpu07 %s 22 - - %%s"
				       : "Nov 30 01:10:00 gpu07 %s: %%s",
				programs[i]);
			struct span line = write_line(text, form, messages[0].text);
			if (find(set, line, &plain, &found))
				buf_printf(&wrong, "'%s' is %.*s\n", text, SPAN_ARGS(found.signature->name));
		}
	tell(&wrong);
}

TEST(a_row_of_a_table_is_dcgms_by_its_columns)
{
	static const char *const rows[] = {
		"|                           | Fail - GPU: 0                                  |",
		"| PCIe                      | Fail - GPUs: 0, 3                              |",
		"gpu07: | NVML Library              | Fail                                           |"};
	static const char *const others[] = {"| Fail - GPU: 0 | drain |",
		"| row                       | Fail - GPU: 0 | drain |",
		"see | PCIe                      | Fail - All                                     |"};
	AUTO(signature_set) set = read_shipped_signatures();
	AUTO_DONE(buf) wrong = BUF_INIT(1 << 20);
	AUTO_DONE(buf) plain = BUF_INIT(LINE_BYTES);
	struct signature_found found;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (!find(set, span_from(rows[i]), &plain, &found))
			buf_printf(&wrong, "'%s' is none\n", rows[i]);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (find(set, span_from(others[i]), &plain, &found))
			buf_printf(&wrong, "'%s' is one\n", others[i]);
	tell(&wrong);
}

TEST(a_line_of_a_library_accuses)
{
	static const char *const heads[] = {
		"%s", "[rank3]: %s", "2026-11-30T01:10:00.5Z stdout F %s", "2026-11-30 01:10:00,123 ERROR trainer: %s"};
	static const char *const lines[] = {
		"jax.errors.JaxRuntimeError: INTERNAL: CUDA error: : CUDA_ERROR_ECC_UNCORRECTABLE: uncorrectable ECC error",
		"2026-11-30 01:10:00.123456: E external/local_xla/xla/stream_executor/cuda/cuda_driver.cc:1234] failed to "
		"synchronize: CUDA_ERROR_ECC_UNCORRECTABLE: uncorrectable ECC error encountered",
		"ray.exceptions.RayTaskError(RuntimeError): ray::train() RuntimeError: CUDA error: uncorrectable ECC error encountered",
		"RuntimeError: Caught RuntimeError in replica 0 on device 0. CUDA error: uncorrectable ECC error encountered",
		"Caught RuntimeError in replica 0 on device 0: CUDA error: uncorrectable ECC error encountered",
		"Triton Error [CUDA]: uncorrectable ECC error encountered",
		"Warning: CUDA warning: uncorrectable ECC error encountered (function destroyEvent)",
		"Failed: Cuda error /workspace/csrc/custom_all_reduce.cuh:364 'uncorrectable ECC error encountered'",
		"Cuda failure 214 'uncorrectable ECC error encountered'",
		"RuntimeError: cuda runtime error (214) : uncorrectable ECC error encountered at /pytorch/x.cu:12",
		"numba.cuda.cudadrv.driver.CudaAPIError: [214] Call to cuCtxSynchronize results in "
		"CUDA_ERROR_ECC_UNCORRECTABLE",
		"cupy_backends.cuda.api.runtime.CUDARuntimeError: cudaErrorECCUncorrectable: uncorrectable ECC error encountered",
		"nrt_execute status=1202 NRT_EXEC_HW_ERR_NC_UE",
		"Failed to initialize NVML: Unable to determine the device handle for GPU 0000:3B:00.0: GPU is lost",
		"RuntimeError('CUDA error: uncorrectable ECC error encountered\\nCUDA kernel errors')"};
	AUTO(signature_set) set = read_shipped_signatures();
	AUTO_DONE(buf) wrong = BUF_INIT(1 << 20);
	AUTO_DONE(buf) plain = BUF_INIT(LINE_BYTES);
	char text[LINE_BYTES];
	struct signature_found found;

	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		for (size_t j = 0; j < sizeof heads / sizeof *heads; j++) {
			struct span line = write_line(text, heads[j], lines[i]);
			if (!find(set, line, &plain, &found) || found.voice != VOICE_OWN || !found.signature->is_drain)
				buf_printf(&wrong, "'%s' accuses nobody\n", text);
		}
	tell(&wrong);
}

TEST(an_answer_of_a_check_ends_its_line)
{
	static const char *const others[] = {"Remapping Failure Occurred : Yes/No",
		"GPU Recovery Action                   : Reset means the GPU must be reset",
		"Reset Required                        : Yes -> drain",
		"Reset Required                        : Yes, so drain it"};
	AUTO(signature_set) set = read_shipped_signatures();
	AUTO_DONE(buf) wrong = BUF_INIT(1 << 20);
	AUTO_DONE(buf) plain = BUF_INIT(LINE_BYTES);
	struct signature_found found;

	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (find(set, span_from(others[i]), &plain, &found))
			buf_printf(&wrong, "'%s' is one\n", others[i]);
	CHECK(find(set, SPAN("Reset Required                        : Yes \r"), &plain, &found));
	CHECK(find(set, SPAN("DRAM Uncorrectable                    : 12"), &plain, &found));
	tell(&wrong);
}

TEST(what_asks_a_model_is_no_record_of_a_kernel)
{
	CHECK(kernel_record_is_sample(SPAN("{\"prompt\": \"why?\", \"message\": \"x\"}")));
	CHECK(kernel_record_is_sample(SPAN("{\"log\":\"{\\\"completion\\\" : 1}\"}")));
	CHECK(!kernel_record_is_sample(SPAN("{\"message\": \"prompt\", \"reprompt\": 1}")));
}
