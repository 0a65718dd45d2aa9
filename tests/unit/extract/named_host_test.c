#include "extract/line/kernel_line.h"
#include "extract/line/kernel_record.h"
#include "extract/line/machine_name.h"
#include "extract/line/named_host.h"
#include "extract/line/voice.h"

#include "test.h"

#define XID "NVRM: Xid (PCI:0000:02:00): 79, GPU has fallen off the bus."
#define OOM_SAID "ut of memory: Killed process 4321"
#define OOM "Out of memory: Killed process 4321 (python) total-vm:100kB, anon-rss:1kB, file-rss:0kB"
#define ECC "RuntimeError: CUDA error: uncorrectable ECC error encountered"
#define NIC "mlx5_core 0000:41:00.0: poll_health:852:(pid 0): device's health compromised - reached miss count"
#define UE "EDAC MC0: 1 UE"
#define ROW "|                           | Fail - GPU: 0                                  |"

static const struct signature program = {.about = SIGNATURE_NODE}, check = {.about = SIGNATURE_NODE, .is_check = true},
			      kernels = {.about = SIGNATURE_NODE, .is_kernel = true};

/* What some signature matches in a line of these tests. */
static struct signature_found find_said(struct span line, const struct signature *signature)
{
	static const char *const said[] = {"NVRM: Xid (PCI:0000:02:00): 79", "uncorrectable ECC error encountered",
		"device's health compromised", "EDAC MC0: 1 UE", "Fail - GPU: 0"};
	struct signature_found found = {.signature = signature, .said = SPAN("")};

	for (size_t i = 0; i < sizeof said / sizeof *said; i++)
		if (span_find(line, span_from(said[i])) >= 0)
			found.said = span_from(said[i]);
	if (span_equal(found.said, SPAN(UE)))
		found.signature = &kernels;
	return found;
}

static const struct {
	const char *line;
	enum naming naming, of_check; /* as a program's, and as a check's */
	const char *host;
} rows[] = {
	/* the kernel says on which machine it is */
	{"Nov 30 01:10:00 ob-2 kernel: " XID, NAMING_KERNEL, NAMING_KERNEL, "ob-2"},
	{"Nov  3 01:10:00 ob2.cluster.local kernel: [74889.644138] " XID, NAMING_KERNEL, NAMING_KERNEL,
		"ob2.cluster.local"},
	{"2026-11-30T01:10:00.123456+00:00 ob-2 kernel: " XID, NAMING_KERNEL, NAMING_KERNEL, "ob-2"},
	{"<4>Nov 30 01:10:00 ob-2 kernel: " XID, NAMING_KERNEL, NAMING_KERNEL, "ob-2"},
	{"<4>1 2026-11-30T01:10:00Z ob-2 kernel - - - " XID, NAMING_KERNEL, NAMING_KERNEL, "ob-2"},
	{"admin-1: Nov 30 01:10:00 ob-2 kernel: " XID, NAMING_KERNEL, NAMING_KERNEL, "ob-2"},
	/* behind what collectors, launchers and loggers put in front; two headers that differ say nothing certain */
	{"2026-11-30T01:10:00.5Z stdout F Nov 30 01:10:00 ob-2 kernel: [   12.5] " XID, NAMING_KERNEL, NAMING_KERNEL,
		"ob-2"},
	{"2026-11-30T01:10:00.5Z stdout F 2026-11-30T01:10:00.1+00:00 ob-2 kernel: " XID, NAMING_KERNEL, NAMING_KERNEL,
		"ob-2"},
	{"2026-11-30T01:10:00.5Z stdout F <4>1 2026-11-30T01:10:00Z ob-2 kernel - - - " XID, NAMING_KERNEL,
		NAMING_KERNEL, "ob-2"},
	{"[rank3]: Nov 30 01:10:00 ob-2 kernel: " XID, NAMING_KERNEL, NAMING_KERNEL, "ob-2"},
	{"[rank3]: 2026-11-30T01:10:00Z ob-2 kernel: " XID, NAMING_KERNEL, NAMING_KERNEL, "ob-2"},
	{"[1,0]<stdout>:Nov 30 01:10:00 ob-2 kernel: " XID, NAMING_KERNEL, NAMING_KERNEL, "ob-2"},
	{"3: Nov 30 01:10:00 ob-2 kernel: " XID, NAMING_KERNEL, NAMING_KERNEL, "ob-2"},
	{"monitor-1  | Nov 30 01:10:00 ob-2 kernel: " XID, NAMING_KERNEL, NAMING_KERNEL, "ob-2"},
	{"2026-11-30 01:10:00,123 INFO relay: Nov 30 01:10:00 ob-2 kernel: " XID, NAMING_KERNEL, NAMING_KERNEL, "ob-2"},
	{"2026-11-30 01:10:00,123 INFO     Nov 30 01:10:00 ob-2 kernel: " XID, NAMING_KERNEL, NAMING_KERNEL, "ob-2"},
	{"<30>Nov 30 01:10:00 loghost rsyslogd[812]: Nov 30 01:10:00 ob-2 kernel: " XID, NAMING_KERNEL, NAMING_KERNEL,
		"ob-2"},
	{"[rank3]: Nov 30 01:10:00 localhost kernel: " XID, NAMING_NONE, NAMING_NONE, ""},
	{"[rank3]: Nov 30 01:10:00 ob-2 nvidia-persistenced[71]: " XID, NAMING_ELSEWHERE, NAMING_ELSEWHERE, "ob-2"},
	{"Nov 30 01:10:00 ob-1 kernel: Nov 30 01:10:00 ob-2 kernel: " XID, NAMING_ELSEWHERE, NAMING_ELSEWHERE, "?"},
	{"pd-02: Nov 30 01:10:00 ob-1 kernel: Nov 30 01:10:00 ob-2 kernel: " XID, NAMING_ELSEWHERE, NAMING_ELSEWHERE,
		"?"},
	{"Nov 30 01:10:00 ob-2.hpc kernel: Nov 30 01:10:00 ob-2 kernel: " XID, NAMING_KERNEL, NAMING_KERNEL,
		"ob-2.hpc"},
	{"{\"log\":\"[rank3]: Nov 30 01:10:00 gpu15 kernel: " XID "\",\"host\":\"loghost\"}", NAMING_ELSEWHERE,
		NAMING_ELSEWHERE, "gpu15"},
	/* what has no name, or none that tells */
	{XID, NAMING_NONE, NAMING_NONE, ""},
	{"kernel: " XID, NAMING_NONE, NAMING_NONE, ""},
	{"[74889.644138] " XID, NAMING_NONE, NAMING_NONE, ""},
	{"Nov 30 01:10:00 kernel: " XID, NAMING_NONE, NAMING_NONE, ""},
	{"Nov 30 01:10:00 localhost kernel: " XID, NAMING_NONE, NAMING_NONE, ""},
	{"Nov 30 01:10:00 ob-2 python[12]: " ECC, NAMING_KERNEL, NAMING_KERNEL, "ob-2"},
	{"2026-11-30 01:10:00 trainer worker[3]: " ECC, NAMING_NONE, NAMING_NONE, ""},
	{"ob-2 kernel: " XID, NAMING_ELSEWHERE, NAMING_ELSEWHERE, "ob-2"},
	{ECC, NAMING_NONE, NAMING_NONE, ""},
	{"0: " ECC, NAMING_NONE, NAMING_NONE, ""},
	{" 3: " ECC, NAMING_NONE, NAMING_NONE, ""},
	{"3: " ROW, NAMING_NONE, NAMING_NONE, ""},
	{"[rank3]: " ECC, NAMING_NONE, NAMING_NONE, ""},
	{"[default0]: " ECC, NAMING_NONE, NAMING_NONE, ""},
	{"[1,0]<stdout>:" ECC, NAMING_NONE, NAMING_NONE, ""},
	{"12:30:01: " ECC, NAMING_NONE, NAMING_NONE, ""},
	{"2026-11-30 01:10:00: " ECC, NAMING_NONE, NAMING_NONE, ""},
	{"worker-0: " ECC, NAMING_NONE, NAMING_NONE, ""},
	{"rank12: " XID, NAMING_NONE, NAMING_NONE, ""},
	{"INFO: " ROW, NAMING_NONE, NAMING_NONE, ""},
	{"node-a: " ROW, NAMING_GUESS, NAMING_GUESS, "node-a"},
	{"algo-1:85:90 [0] NCCL WARN x", NAMING_NONE, NAMING_NONE, ""},
	{"GPU3:         Reset Required : Yes", NAMING_NONE, NAMING_NONE, ""},
	{"H100:         Reset Required : Yes", NAMING_NONE, NAMING_NONE, ""},
	{"gpu0: " ROW, NAMING_GUESS, NAMING_GUESS, "gpu0"},
	{"gpu15: " ROW, NAMING_GUESS, NAMING_GUESS, "gpu15"},
	{"gpu16: " ROW, NAMING_GUESS, NAMING_SURE, "gpu16"},
	{"h100-0: " ROW, NAMING_NONE, NAMING_NONE, ""},
	{"a100-rack3: " ROW, NAMING_GUESS, NAMING_SURE, "a100-rack3"},
	{"mlx5_0: " ROW, NAMING_NONE, NAMING_NONE, ""},
	{"nvme0: " ROW, NAMING_NONE, NAMING_NONE, ""},
	{"dmesg-watch: " XID, NAMING_GUESS, NAMING_GUESS, "dmesg-watch"},
	{"xid-exporter-1: " XID, NAMING_GUESS, NAMING_GUESS, "xid-exporter-1"},
	{"eth0: " ROW, NAMING_NONE, NAMING_NONE, ""},
	{"iter12: " ROW, NAMING_NONE, NAMING_NONE, ""},
	{"Worker_TP0: " ROW, NAMING_NONE, NAMING_NONE, ""},
	{"pytorchjob-worker-0: " ROW, NAMING_GUESS, NAMING_GUESS, "pytorchjob-worker-0"},
	{"Nov 30 01:10:00 ob-2 journal: " XID, NAMING_ELSEWHERE, NAMING_ELSEWHERE, "ob-2"},
	{"Nov 30 01:10:00 ob-2 nvidia-persistenced[71]: " XID, NAMING_ELSEWHERE, NAMING_ELSEWHERE, "ob-2"},
	{"<30>Nov 30 01:10:00 ob-2 nvidia-persistenced[71]: " XID, NAMING_ELSEWHERE, NAMING_ELSEWHERE, "ob-2"},
	{"Nov 30 01:10:00 localhost journal: " XID, NAMING_NONE, NAMING_NONE, ""},
	/* pdsh, clush */
	{"pd-02: Nov 30 01:10:00 localhost kernel: " XID, NAMING_ELSEWHERE, NAMING_SURE, "pd-02"},
	{"gpu07: " ROW, NAMING_GUESS, NAMING_SURE, "gpu07"},
	{"pd-02: " ROW, NAMING_GUESS, NAMING_SURE, "pd-02"},
	{"pd-02:         Remapping Failure Occurred        : Yes", NAMING_GUESS, NAMING_SURE, "pd-02"},
	{"10.0.0.2: " ROW, NAMING_GUESS, NAMING_SURE, "10.0.0.2"},
	{"pd-02: " XID, NAMING_ELSEWHERE, NAMING_SURE, "pd-02"},
	{"pd-02: [74889.644138] " XID, NAMING_ELSEWHERE, NAMING_SURE, "pd-02"},
	{"pd-02: [Mon Nov 30 01:10:00 2026] " XID, NAMING_ELSEWHERE, NAMING_SURE, "pd-02"},
	{"pd-02: <3>[   17.982092] " NIC, NAMING_ELSEWHERE, NAMING_SURE, "pd-02"},
	{"pd-02: " ECC, NAMING_GUESS, NAMING_SURE, "pd-02"},
	/* a full name in brackets is no word of a program; models, addresses, roles and loggers are none */
	{"[gpu07.cluster.example.com] " XID, NAMING_ELSEWHERE, NAMING_ELSEWHERE, "gpu07.cluster.example.com"},
	{"[gpu07.cluster.example.com]: " XID, NAMING_ELSEWHERE, NAMING_ELSEWHERE, "gpu07.cluster.example.com"},
	{"[gpu0.hpc] " XID, NAMING_ELSEWHERE, NAMING_ELSEWHERE, "gpu0.hpc"},
	{"2026-11-30 01:10:00,123 ERROR [gpu07.cluster.example.com] " XID, NAMING_ELSEWHERE, NAMING_ELSEWHERE,
		"gpu07.cluster.example.com"},
	{"[gpu07.cluster.example.com] [74889.644138] " XID, NAMING_ELSEWHERE, NAMING_ELSEWHERE,
		"gpu07.cluster.example.com"},
	{"[gpu07.cluster.example.com] " ECC, NAMING_GUESS, NAMING_GUESS, "gpu07.cluster.example.com"},
	{"[gpu07] " XID, NAMING_GUESS, NAMING_GUESS, "gpu07"},
	{"[10.0.0.7] " XID, NAMING_GUESS, NAMING_GUESS, "10.0.0.7"},
	{"[llama-3.1-8b] " XID, NAMING_GUESS, NAMING_GUESS, "llama-3.1-8b"},
	{"[llama-3.1.instruct] " XID, NAMING_GUESS, NAMING_GUESS, "llama-3.1.instruct"},
	{"[torch.distributed.c10d] " XID, NAMING_GUESS, NAMING_GUESS, "torch.distributed.c10d"},
	{"[worker-0.train.svc.cluster.local] " XID, NAMING_NONE, NAMING_NONE, ""},
	{"[gpu07.cluster.local] " XID, NAMING_ELSEWHERE, NAMING_ELSEWHERE, "gpu07.cluster.local"},
	{"[gpu07.cluster.local] " ECC, NAMING_GUESS, NAMING_GUESS, "gpu07.cluster.local"},
	{"gpu07.cluster.local: " XID, NAMING_ELSEWHERE, NAMING_SURE, "gpu07.cluster.local"},
	{"gpu07.cluster.local: " ROW, NAMING_GUESS, NAMING_SURE, "gpu07.cluster.local"},
	{"gpu0.cluster.local: " ROW, NAMING_GUESS, NAMING_SURE, "gpu0.cluster.local"},
	{"[v1.2.3] " XID, NAMING_NONE, NAMING_NONE, ""},
	{"[login.cluster.example.com] " XID, NAMING_NONE, NAMING_NONE, ""},
	{"[rank7] " XID, NAMING_NONE, NAMING_NONE, ""},
	{"[0]: " XID, NAMING_NONE, NAMING_NONE, ""},
	/* a collector's record of what a kernel said, and what is none */
	{"{\"host\":\"gpu14\",\"message\":\"" XID "\"}", NAMING_ELSEWHERE, NAMING_ELSEWHERE, "gpu14"},
	{"{\"hostname\": \"gpu14.hpc\", \"msg\": \"kernel: " XID "\"}", NAMING_ELSEWHERE, NAMING_ELSEWHERE,
		"gpu14.hpc"},
	{"{\"message\":\"[74889.644138] " XID "\",\"host\":\"gpu14\"}", NAMING_ELSEWHERE, NAMING_ELSEWHERE, "gpu14"},
	{"{\"host\":\"loghost\",\"_HOSTNAME\":\"gpu14\",\"MESSAGE\":\"" XID "\"}", NAMING_ELSEWHERE, NAMING_ELSEWHERE,
		"gpu14"},
	{"col-1: {\"host\":\"gpu14\",\"message\":\"" XID "\"}", NAMING_ELSEWHERE, NAMING_ELSEWHERE, "gpu14"},
	{"{\"host\":\"localhost\",\"message\":\"" XID "\"}", NAMING_NONE, NAMING_NONE, ""},
	{"{\"host\":\"a machine\",\"message\":\"" XID "\"}", NAMING_NONE, NAMING_NONE, ""},
	{"{\"host\":7,\"message\":\"" XID "\"}", NAMING_NONE, NAMING_NONE, ""},
	{"{\"host\":\"algo-1\",\"message\":\"" ECC "\"}", NAMING_GUESS, NAMING_GUESS, "algo-1"},
	{"{\"my_host\":\"gpu14\",\"message\":\"" XID "\"}", NAMING_NONE, NAMING_NONE, ""},
	/* what is deeper tells of others; Elastic's "host" is an object */
	{"{\"message\":\"" XID "\",\"agent\":{\"hostname\":\"collector-1\"},\"host\":{\"name\":\"gpu-c1\"}}",
		NAMING_ELSEWHERE, NAMING_ELSEWHERE, "gpu-c1"},
	{"{\"agent\" : {\"hostname\":\"collector-1\"}, \"host\" : \"gpu14\", \"message\":\"" XID "\"}",
		NAMING_ELSEWHERE, NAMING_ELSEWHERE, "gpu14"},
	{"{\"host\":{\"os\":{\"name\":\"ubuntu-22\"},\"name\":\"gpu-c1\"},\"hostname\":\"gpu14\",\"m\":\"" XID "\"}",
		NAMING_ELSEWHERE, NAMING_ELSEWHERE, "gpu14"},
	{"{\"host\":{\"os\":{\"name\":\"ubuntu-22\"}},\"name\":\"gpu-c1\",\"message\":\"" XID "\"}", NAMING_NONE,
		NAMING_NONE, ""},
	{"{\"host\":[\"gpu14\"],\"agent\":{\"name\":\"collector-1\"},\"message\":\"" XID "\"}", NAMING_NONE,
		NAMING_NONE, ""},
	{"{\"node\":\"gpu-a\",\"message\":\"" XID "\",\"forwarded_to\":{\"host\":\"gpu-b\"}}", NAMING_ELSEWHERE,
		NAMING_ELSEWHERE, "gpu-a"},
	{"{\"sender\":\"gpu-a\",\"message\":\"" XID "\",\"forwarded_to\":{\"host\":\"gpu-b\"}}", NAMING_NONE,
		NAMING_NONE, ""},
	{"{\"hops\":[{\"host\":\"gpu-b\"}],\"message\":\"" XID "\"}", NAMING_NONE, NAMING_NONE, ""},
	{"{\"note\":\"}, \\\"host\\\":\\\"gpu-b\\\", {\\\\\",\"message\":\"" XID "\",\"host\":\"gpu14\"}",
		NAMING_ELSEWHERE, NAMING_ELSEWHERE, "gpu14"},
	{"{\"note\":\"host\",\"message\":\"" XID "\"}", NAMING_NONE, NAMING_NONE, ""},
	{"{\"a\":1} {\"host\":\"gpu-b\",\"message\":\"" XID "\"}", NAMING_NONE, NAMING_NONE, ""},
	{"{\"message\":\"" XID "\",\"host\":\"gpu14", NAMING_NONE, NAMING_NONE, ""},
	/* what comes in front of a kernel's line in one; Go's encoder writes '<' by its number */
	{"{\"log\":\"<4>[  123.456789] " XID "\",\"host\":\"gpu14\"}", NAMING_ELSEWHERE, NAMING_ELSEWHERE, "gpu14"},
	{"{\"log\":\"\\u003c4\\u003e[  123.456789] " XID "\\n\",\"host\":\"gpu14\"}", NAMING_ELSEWHERE,
		NAMING_ELSEWHERE, "gpu14"},
	{"{\"log\":\"<4>[ 123.4] " XID "\",\"host\":\"gpu14\"}", NAMING_ELSEWHERE, NAMING_ELSEWHERE, "gpu14"},
	{"{\"log\":\"kernel: [  123.456789][ T4711] " XID "\",\"host\":\"gpu14\"}", NAMING_ELSEWHERE, NAMING_ELSEWHERE,
		"gpu14"},
	{"{\"log\":\"[12] " XID "\",\"host\":\"gpu14\"}", NAMING_NONE, NAMING_NONE, ""},
	{"{\"log\":\"4,1234,5678901,-;" XID "\",\"host\":\"gpu14\"}", NAMING_ELSEWHERE, NAMING_ELSEWHERE, "gpu14"},
	{"{\"log\":\"4,1234;" XID "\",\"host\":\"gpu14\"}", NAMING_NONE, NAMING_NONE, ""},
	{"{\"MESSAGE\":\"" NIC "\",\"_HOSTNAME\":\"gpu14\"}", NAMING_ELSEWHERE, NAMING_ELSEWHERE, "gpu14"},
	{"{\"log\":\"  " XID "\",\"host\":\"gpu14\"}", NAMING_ELSEWHERE, NAMING_ELSEWHERE, "gpu14"},
	{"{\"log\":\"\\t[  123.456789]  " XID "\",\"host\":\"gpu14\"}", NAMING_ELSEWHERE, NAMING_ELSEWHERE, "gpu14"},
	{"{\"log\":\"kern  :warn  : [  123.456789] " XID "\",\"host\":\"gpu14\"}", NAMING_ELSEWHERE, NAMING_ELSEWHERE,
		"gpu14"},
	{"{\"log\":\"kern  :err   : [Mon Nov 30 01:10:00 2026] " XID "\",\"host\":\"gpu14\"}", NAMING_ELSEWHERE,
		NAMING_ELSEWHERE, "gpu14"},
	{"{\"log\":\"kern  :loud  : " XID "\",\"host\":\"gpu14\"}", NAMING_NONE, NAMING_NONE, ""},
	{"{\"log\":\"\\u001b[32m[  123.456789] \\u001b[0m\\u001b[33m" XID "\\u001b[0m\",\"host\":\"gpu14\"}",
		NAMING_ELSEWHERE, NAMING_ELSEWHERE, "gpu14"},
	{"{\"log\":\"[  123.1] nvidia 0000:53:00.0: AER\\n[  123.4] " XID "\",\"host\":\"gpu14\"}", NAMING_ELSEWHERE,
		NAMING_ELSEWHERE, "gpu14"},
	{"{\"log\":\"Nov 30 01:10:00 gpu16 kernel: usb\\nNov 30 01:10:00 gpu15 kernel: " XID "\",\"host\":\"loghost\"}",
		NAMING_ELSEWHERE, NAMING_ELSEWHERE, "gpu15"},
	{"\x1b[33m Nov 30 01:10:00 ob-2 kernel: " XID, NAMING_KERNEL, NAMING_KERNEL, "ob-2"},
	{"pd-02: kern  :err   : [   17.982092] " NIC, NAMING_ELSEWHERE, NAMING_SURE, "pd-02"},
	/* a syslog's line in one names its own machine */
	{"{\"message\":\"Nov 30 03:12:11 gpu15 kernel: " XID "\",\"host\":\"loghost\"}", NAMING_ELSEWHERE,
		NAMING_ELSEWHERE, "gpu15"},
	{"{\"message\":\"<4>Nov 30 03:12:11 gpu15 kernel: [  123.456789] " XID "\"}", NAMING_ELSEWHERE,
		NAMING_ELSEWHERE, "gpu15"},
	{"{\"event\":{\"original\":\"<4>1 2026-11-30T01:10:00Z gpu15 kernel - - - " XID "\"},\"host\":\"loghost\"}",
		NAMING_ELSEWHERE, NAMING_ELSEWHERE, "gpu15"},
	{"{\"message\":\"Nov 30 03:12:11 gpu15 journal: " XID "\",\"host\":\"loghost\"}", NAMING_ELSEWHERE,
		NAMING_ELSEWHERE, "gpu15"},
	{"{\"message\":\"Nov 30 03:12:11 localhost kernel: " XID "\",\"host\":\"gpu14\"}", NAMING_ELSEWHERE,
		NAMING_ELSEWHERE, "gpu14"},
	{"{\"message\":\"alert: \\\"Nov 30 03:12:11 gpu15 kernel: " XID "\\\"\",\"host\":\"gpu14\"}", NAMING_ELSEWHERE,
		NAMING_ELSEWHERE, "gpu14"},
	{"{\"message\":\"alert: Nov 30 03:12:11 gpu15 kernel: " XID "\",\"host\":\"gpu14\"}", NAMING_KERNEL,
		NAMING_KERNEL, "gpu15"},
	/* a record in a record; so much of them as unwrap.h says */
	{"{\"log\":\"{\\\"message\\\":\\\"" XID "\\\",\\\"host\\\":\\\"gpu15\\\"}\",\"host\":\"col-1\"}",
		NAMING_ELSEWHERE, NAMING_ELSEWHERE, "gpu15"},
	{"{\"log\":\"{\\\"message\\\":\\\"" XID "\\\"}\",\"host\":\"gpu14\"}", NAMING_ELSEWHERE, NAMING_ELSEWHERE,
		"gpu14"},
	{"{\"log\":\"{\\\"host\\\":\\\"gpu15\\\"}\",\"message\":\"" XID "\"}", NAMING_NONE, NAMING_NONE, ""},
	{"{\"a\":\"{\\\"b\\\":\\\"{\\\\\\\"MESSAGE\\\\\\\":\\\\\\\"" XID
	 "\\\\\\\",\\\\\\\"_HOSTNAME\\\\\\\":\\\\\\\"gpu16\\\\\\\"}\\\"}\",\"host\":\"col-1\"}",
		NAMING_ELSEWHERE, NAMING_ELSEWHERE, "gpu16"},
	{"{\"log\":\"{\\\"host\\\":\\\"gpu15\\\",\\\"message\\\":\\\"" XID, NAMING_ELSEWHERE, NAMING_ELSEWHERE,
		"gpu15"},
	{"{\"log\":\"{\\\"config\\\":{\\\"hostname\\\":\\\"gpu15\\\"},\\\"message\\\":\\\"" XID "\\\"}\"}", NAMING_NONE,
		NAMING_NONE, ""},
	/* where the pod runs */
	{"{\"log\":\"" XID "\",\"kubernetes\":{\"pod_name\":\"train-0\",\"host\":\"gpu14\"}}", NAMING_ELSEWHERE,
		NAMING_ELSEWHERE, "gpu14"},
	{"{\"kubernetes\":{\"labels\":{\"host\":\"no-1\"},\"pod_node_name\":\"gpu14\"},\"message\":\"" XID "\"}",
		NAMING_ELSEWHERE, NAMING_ELSEWHERE, "gpu14"},
	{"{\"kubernetes\":{\"node\":{\"name\":\"gpu14\"}},\"host\":{\"name\":\"gpu14.hpc\"},\"message\":\"" XID "\"}",
		NAMING_ELSEWHERE, NAMING_ELSEWHERE, "gpu14.hpc"},
	{"{\"kubernetes\":{\"host\":\"gpu14\"},\"host\":\"col-1\",\"message\":\"" XID "\"}", NAMING_ELSEWHERE,
		NAMING_ELSEWHERE, "?"},
	{"{\"kubernetes\":{\"host\":\"gpu14\"},\"_HOSTNAME\":\"gpu15\",\"message\":\"" XID "\"}", NAMING_ELSEWHERE,
		NAMING_ELSEWHERE, "gpu15"},
	{"{\"kubernetes.host\":\"gpu14\",\"message\":\"" XID "\"}", NAMING_ELSEWHERE, NAMING_ELSEWHERE, "gpu14"},
	{"{\"message\":\"" XID "\",\"host\":{\"hostname\":\"gpu14\"},\"agent\":{\"name\":\"col-1\"}}", NAMING_ELSEWHERE,
		NAMING_ELSEWHERE, "gpu14"},
	{"{\"config\":{\"hostname\":\"gpu14\",\"kubernetes\":{\"host\":\"gpu15\"}},\"message\":\"" XID "\"}",
		NAMING_NONE, NAMING_NONE, ""},
	{"{\"kubernetes\":{\"host\":\"gpu14\"},\"_hostname\":\"gpu15\",\"message\":\"" XID "\"}", NAMING_ELSEWHERE,
		NAMING_ELSEWHERE, "gpu15"},
	{"{\"host\":\"col-1\",\"HOSTNAME\":\"gpu15\",\"message\":\"" XID "\"}", NAMING_ELSEWHERE, NAMING_ELSEWHERE,
		"gpu15"},
	/* the kernel by its program's name, whatever it says */
	{"{\"SYSLOG_IDENTIFIER\":\"kernel\",\"_HOSTNAME\":\"gpu14\",\"MESSAGE\":\"EDAC MC0: 1 UE\"}", NAMING_ELSEWHERE,
		NAMING_ELSEWHERE, "gpu14"},
	{"{\"process\":{\"name\":\"kernel\"},\"host\":{\"name\":\"gpu14\"},\"message\":\"EDAC MC0: 1 UE\"}",
		NAMING_ELSEWHERE, NAMING_ELSEWHERE, "gpu14"},
	{"{\"job\":{\"program\":\"kernel\"},\"host\":\"gpu14\",\"message\":\"EDAC MC0: 1 UE\"}", NAMING_GUESS,
		NAMING_GUESS, "gpu14"},
	{"2026-11-30 01:10:00 INFO kernel: " XID, NAMING_NONE, NAMING_NONE, ""},
	/* a header in front of another text than the fault's says nothing of it, and two that differ say nothing certain */
	{"{\"old\":\"Nov 30 01:10:00 gpu07 kernel: usb 1-1: new\",\"message\":\"" XID "\",\"host\":\"gpu08\"}",
		NAMING_ELSEWHERE, NAMING_ELSEWHERE, "gpu08"},
	{"{\"log\":\"{\\\"old\\\":\\\"Nov 30 01:10:00 gpu07 kernel: usb\\\",\\\"message\\\":\\\"" XID
	 "\\\"}\",\"host\":\"gpu08\"}",
		NAMING_ELSEWHERE, NAMING_ELSEWHERE, "gpu08"},
	{"{\"host\":\"gpu07\",\"last_kernel_line\":\"Nov 30 01:10:00 gpu09 kernel: eth0 link down\",\"error\":\"" ECC
	 "\"}",
		NAMING_GUESS, NAMING_GUESS, "gpu07"},
	{"{\"host\":\"gpu07\",\"last_kernel_line\":\"Nov 30 01:10:00 gpu09 kernel: NVRM: loading\",\"error\":\"" ECC
	 "\"}",
		NAMING_GUESS, NAMING_GUESS, "gpu07"},
	{"{\"dmesg\":\"NVRM: loading\",\"host\":\"gpu07\",\"error\":\"" ECC "\"}", NAMING_GUESS, NAMING_GUESS, "gpu07"},
	{"{\"message\":\"Nov 30 03:12:11 gpu15 kernel: " UE "\",\"host\":\"loghost\"}", NAMING_ELSEWHERE,
		NAMING_ELSEWHERE, "gpu15"},
	{"{\"a\":\"Nov 30 01:10:00 gpu07 kernel: " XID "\",\"b\":\"Nov 30 01:10:00 gpu08 kernel: " XID "\"}",
		NAMING_ELSEWHERE, NAMING_ELSEWHERE, "?"},
	{"{\"a\":\"Nov 30 01:10:00 gpu07 kernel: " XID "\",\"b\":\"Nov 30 01:10:00 gpu07.hpc kernel: " XID "\"}",
		NAMING_ELSEWHERE, NAMING_ELSEWHERE, "gpu07"},
	/* an object that holds the line and names another machine than the record */
	{"{\"host\":\"trainer-3\",\"faults\":[{\"host\":\"gpu09\",\"line\":\"" XID "\"}]}", NAMING_ELSEWHERE,
		NAMING_ELSEWHERE, "?"},
	{"{\"faults\":[{\"line\":\"" XID "\",\"host\":\"gpu09\"}],\"host\":\"trainer-3\"}", NAMING_ELSEWHERE,
		NAMING_ELSEWHERE, "?"},
	{"{\"host\":\"trainer-3\",\"peers\":{\"gpu09\":{\"host\":\"gpu09\",\"dmesg\":[\"" XID "\"]}}}",
		NAMING_ELSEWHERE, NAMING_ELSEWHERE, "?"},
	{"{\"host\":\"trainer-3\",\"faults\":[{\"host\":{\"name\":\"gpu09\"},\"line\":\"" XID "\"}]}", NAMING_ELSEWHERE,
		NAMING_ELSEWHERE, "?"},
	{"{\"kubernetes\":{\"host\":\"gpu14\"},\"faults\":[{\"host\":\"gpu09\",\"line\":\"" XID "\"}]}",
		NAMING_ELSEWHERE, NAMING_ELSEWHERE, "?"},
	{"{\"host\":\"trainer-3\",\"faults\":[{\"host\":\"gpu09\",\"line\":\"" XID, NAMING_ELSEWHERE, NAMING_ELSEWHERE,
		"?"},
	{"{\"host\":\"trainer-3\",\"a\":[[[[[[[{\"host\":\"gpu09\",\"line\":\"" XID "\"}]]]]]]]}", NAMING_ELSEWHERE,
		NAMING_ELSEWHERE, "?"},
	{"{\"host\":\"gpu09.hpc\",\"faults\":[{\"host\":\"gpu09\",\"line\":\"" XID "\"}]}", NAMING_ELSEWHERE,
		NAMING_ELSEWHERE, "gpu09.hpc"},
	{"{\"host\":\"trainer-3\",\"peers\":[{\"host\":\"gpu09\"}],\"faults\":[{\"line\":\"" XID "\"}]}",
		NAMING_ELSEWHERE, NAMING_ELSEWHERE, "trainer-3"},
	{"{\"faults\":[{\"host\":\"gpu09\",\"line\":\"" XID "\"}]}", NAMING_ELSEWHERE, NAMING_ELSEWHERE, "gpu09"},
	{"{\"faults\":[{\"host\":\"gpu09\",\"line\":\"" XID "\"},{\"host\":\"gpu10\",\"line\":\"" XID "\"}]}",
		NAMING_ELSEWHERE, NAMING_ELSEWHERE, "?"},
	/* a program's own failure, in a central log: of the machine where it runs. What may be a logger's names none */
	{"<27>1 2026-11-30T01:10:00Z vz03 train 4003 - - " ECC, NAMING_KERNEL, NAMING_KERNEL, "vz03"},
	{"<27>1 2026-11-30T01:10:00Z - train 4003 - - " ECC, NAMING_NONE, NAMING_NONE, ""},
	{"Nov 30 01:10:00 vz03 train[44]: " ECC, NAMING_KERNEL, NAMING_KERNEL, "vz03"},
	{"<27>Nov 30 01:10:00 vz03 train: " ECC, NAMING_KERNEL, NAMING_KERNEL, "vz03"},
	{"2026-11-30T01:10:00.1+00:00 vz03 train[44]: " ECC, NAMING_KERNEL, NAMING_KERNEL, "vz03"},
	{"2026-11-30T01:10:00.1+00:00 vz03 train: " ECC, NAMING_GUESS, NAMING_GUESS, "vz03"},
	{"2026-11-30T01:10:00Z ERROR train: " ECC, NAMING_NONE, NAMING_NONE, ""},
	{"2026-11-30 01:10:00,123 ERROR train: " ECC, NAMING_NONE, NAMING_NONE, ""},
	{"Nov 30 01:10:00 loghost rsyslogd[1]: Nov 30 01:10:00 vz03 train[44]: " ECC, NAMING_KERNEL, NAMING_KERNEL,
		"vz03"},
	{"2026-11-30T01:10:00.5Z stdout F Nov 30 01:10:00 vz03 train[44]: " ECC, NAMING_KERNEL, NAMING_KERNEL, "vz03"},
	/* another name that stands nearer to the words outdoes the header */
	{"Nov 30 01:10:00 vz03 train[44]: ERROR [vz04] " ECC, NAMING_GUESS, NAMING_GUESS, "vz04"},
	{"Nov 30 01:10:00 vz03 train[44]: ERROR [vz03] " ECC, NAMING_KERNEL, NAMING_KERNEL, "vz03"},
	{"Nov 30 01:10:00 vz03 vector[1]: host=vz04 err=\"" ECC "\"", NAMING_GUESS, NAMING_GUESS, "vz04"},
	{"Nov 30 01:10:00 vz03 ray[4]: (RayTrainWorker pid=2244, ip=10.1.2.3) " ECC, NAMING_ELSEWHERE, NAMING_ELSEWHERE,
		"10.1.2.3"},
	{"{\"host\":\"vz03\",\"message\":\"" ECC "\"}", NAMING_GUESS, NAMING_GUESS, "vz03"},
	{"{\"level\":\"error\",\"message\":\"" ECC "\"}", NAMING_NONE, NAMING_NONE, ""},
	{"{\"host\":\"loghost\",\"message\":\"Nov 30 01:10:00 vz03 train[44]: " ECC "\"}", NAMING_GUESS, NAMING_GUESS,
		"vz03"},
	{"{\"log\":\"{\\\"host\\\":\\\"vz03\\\",\\\"msg\\\":\\\"" ECC "\\\"}\",\"host\":\"loghost\"}", NAMING_GUESS,
		NAMING_GUESS, "vz03"},
	/* kubectl logs --prefix */
	{"[pod/train-0/pytorch] " ECC, NAMING_ELSEWHERE, NAMING_ELSEWHERE, "train-0"},
	{"[pod/train-0/] " ECC, NAMING_NONE, NAMING_NONE, ""},
	{"[pod/train-0] " ECC, NAMING_NONE, NAMING_NONE, ""},
};

TEST(the_machine_that_a_line_names)
{
	AUTO_DONE(buf) plain = BUF_INIT(KERNEL_PLAIN_BYTES);

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (int as_check = 0; as_check < 2; as_check++) {
			struct span host;
			struct span line = span_from(rows[i].line);
			struct signature_found found = find_said(line, as_check ? &check : &program);
			enum naming naming = named_host_read(line, &found, &plain, &host);
			enum naming wanted = as_check ? rows[i].of_check : rows[i].naming;
			if (naming != wanted || !span_equal(host, span_from(rows[i].host)))
				test_fail(__FILE__, __LINE__, "'%s' (%d) is %d of '%.*s', not %d of '%s'", rows[i].line,
					as_check, naming, SPAN_ARGS(host), wanted, rows[i].host);
		}
}

TEST(what_is_no_machines_is_of_one_whose_kernel_says_it)
{
	static const struct signature killer = {.about = SIGNATURE_RUN};
	static const struct {
		const char *line;
		enum naming naming;
		const char *host;
	} killed[] = {{"Nov 30 01:10:00 ob-2 kernel: " OOM, NAMING_KERNEL, "ob-2"},
		{"{\"message\":\"" OOM "\",\"host\":\"gpu14\"}", NAMING_ELSEWHERE, "gpu14"},
		{"{\"message\":\"kern  :err   : [  99.1] " OOM "\",\"host\":\"gpu14\"}", NAMING_ELSEWHERE, "gpu14"},
		{"{\"message\":\"oom_kill event\",\"host\":\"gpu14\",\"ident\":\"kernel\"}", NAMING_ELSEWHERE, "gpu14"},
		{"{\"message\":\"slurmstepd: oom_kill event\",\"host\":\"gpu14\"}", NAMING_NONE, ""},
		{"{\"message\":\"said: " OOM "\",\"host\":\"gpu14\"}", NAMING_NONE, ""},
		{"[pod/train-0/pytorch] " OOM, NAMING_ELSEWHERE, "train-0"}, {"gpu07: " OOM, NAMING_ELSEWHERE, "gpu07"},
		{OOM, NAMING_NONE, ""}};
	AUTO_DONE(buf) plain = BUF_INIT(KERNEL_PLAIN_BYTES);

	for (size_t i = 0; i < sizeof killed / sizeof *killed; i++) {
		struct span line = span_from(killed[i].line), host, said = SPAN("ut of memory: Killed process 4321");
		struct signature_found found = {.signature = &killer, .said = said};
		if (span_find(line, said) < 0)
			found.said = SPAN("oom_kill event");
		enum naming naming = named_host_read(line, &found, &plain, &host);
		if (naming != killed[i].naming || !span_equal(host, span_from(killed[i].host)))
			test_fail(__FILE__, __LINE__, "'%s' is %d of '%.*s'", killed[i].line, naming, SPAN_ARGS(host));
	}
}

TEST(a_record_of_several_lines_is_kept_line_by_line)
{
	static const char record[] = "{\"log\":\"[1.0] nvidia\\n\\n[2.0] " XID "\",\"host\":\"gpu14\"}";
	AUTO_DONE(buf) plain = BUF_INIT(KERNEL_PLAIN_BYTES);
	AUTO_DONE(buf) out = BUF_INIT(KERNEL_KEPT_BYTES);

	CHECK(kernel_record_keep(span_from(record), SPAN("[1.0] nvidia\n\n[2.0] " XID), &plain, &out));
	CHECK_SPAN(buf_span(&out), SPAN("{\"message\":\"[1.0] nvidia\",\"host\":\"gpu14\"}\n\n{\"message\":\"[2.0] " XID
					"\",\"host\":\"gpu14\"}"));
	buf_reset(&out);
	for (size_t i = 0; i < KERNEL_LINES_MAX; i++)
		buf_append_text(&out, "[1.0] x\n");
	buf_append_text(&out, XID);
	AUTO_DONE(buf) kept = BUF_INIT(KERNEL_KEPT_BYTES);
	CHECK(!kernel_record_keep(span_from(record), buf_span(&out), &plain, &kept));
}

TEST(a_record_that_is_long_is_read_up_to_a_bound)
{
	enum { LONG = KERNEL_RECORD_BYTES };
	AUTO_DONE(buf) line = BUF_INIT(4 * LONG), plain = BUF_INIT(KERNEL_PLAIN_BYTES);
	const struct signature_found found = find_said(SPAN(XID), &program);
	struct span host;

	buf_append_text(&line, "{\"host\":\"gpu14\",\"a\":\"{\\\"b\\\":\\\"{");
	while (line.len < 2 * LONG)
		buf_append_text(&line, "\\\\\\\"x");
	buf_append_text(&line, "\",\"hostname\":\"gpu15\",\"message\":\"" XID "\"}");
	CHECK(named_host_read(buf_span(&line), &found, &plain, &host) == NAMING_NONE && !plain.failure);
	buf_reset(&line);
	buf_append_text(&line, "{\"host\":\"gpu14\",\"message\":\"" XID);
	while (line.len < 2 * LONG)
		buf_append_text(&line, "\\u0041");
	buf_append_text(&line, "\",\"hostname\":\"gpu15\"}");
	CHECK(named_host_read(buf_span(&line), &found, &plain, &host) == NAMING_ELSEWHERE);
	CHECK(span_equal(host, SPAN("gpu14")) && !plain.failure);
}

/* Where one of these stands in the line: what a signature matches. */
static bool is_quote(const char *text)
{
	static const char *const said[] = {"NVRM: Xid (PCI:0000:02:00): 79", "uncorrectable ECC error", OOM_SAID};
	struct span line = span_from(text);

	for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
		ptrdiff_t at = span_find(line, span_from(said[i]));
		struct span here = at < 0 ? SPAN("") : span_of(line.ptr + at, strlen(said[i]));
		if (here.len)
			return voice_of(voice_is_drivers(here) ? SPEAKER_DRIVER : SPEAKER_WITNESS, line, here) ==
			       VOICE_QUOTE;
	}
	return false;
}

TEST(a_line_that_only_quotes_a_kernel)
{
	static const char *const quotes[] = {"step 5 loss 2.1 sample: " XID,
		"step=7 loss=2.0 sample=\"dmesg: " XID "\"",
		"{\"step\": 7, \"loss\": 2.0, \"host\": \"gpu14\", \"generated\": \"dmesg: " XID "\"}",
		"{\"completion\":\"" XID "\",\"hostname\":\"gpu14\"}",
		"{\"text\":\"" XID "\",\"prompt\":\"What is an Xid?\"}", "{\"prompt\": \"O" OOM_SAID "\"}",
		"{\"answer\":\"" XID "\",\"train\":{\"step\":1,\"loss\":2.5}}", "step 5 loss 2.1\rx " XID,
		"lost step 5, closs 3: " XID, "dmesg: " XID, "had:[  123.4] " XID, "\"[  123.4] " XID "\"",
		"[rank3]: had <4>1 2026-11-30T01:10:00Z gpu07 kernel - - - " XID,
		"[rank3]: <4>1 2026-11-30T01:10:00Z gpu07 kernel - - - said " XID,
		"Example: <4>1 2026-11-30T01:10:00Z gpu07 kernel - - - " XID, "x=\"a\" said message=\"" XID "\"",
		"set message = \"" XID "\"", "f(message=\"" XID "\")", "NVRM: Xid (PCI:0000:02:00): 79 is fatal",
		"{\"rows\":[{\"message\":\"" XID "\"}]}", "INFO sent {\"message\":\"" XID "\"}",
		"  + grep \"" XID "\" f", "{\"dmesg\":[\"" XID "\"]}", "{\"patterns\":[\"" ECC "\"]}",
		"    raise RuntimeError(\"uncorrectable ECC error\")", "if you see \"" ECC "\", drain", "`" ECC "`",
		"{\"pattern\":\"" ECC "\"}"};
	static const char *const others[] = {XID, "kernel: " XID, "{\"message\":\"" XID "\",\"host\":\"gpu14\"}",
		"step 5 loss 2.1[  123.4] " XID, "step 5 loss 2.1\r" XID,
		"{\"log\":\"step 5 loss 2.1\\n[  123.4] " XID "\"}", "{\"log\":\"step 5 loss 2.1\\n" XID "\"}",
		"step 5 loss 2.1Nov 30 01:10:00 gpu07 kernel: " XID, "{\"step\":5,\"message\":\"" XID "\"}",
		"step 5 loss 2.1 " ECC, XID " step 5 loss 2.1", "message=\"" XID "\" a=b", "a=b c=\"d e\" msg=" XID,
		"{\"faults\":[{\"line\":\"" XID "\"}]}", "{\"event\":{\"original\":\"" XID "\"}}",
		"gpu07: {\"MESSAGE\":\"" XID "\"}", "ERROR: " XID, "{\"error\":\"" ECC "\"}",
		"{\"errors\":[\"" ECC "\"]}", "err=\"" ECC "\"",
		"failed: RuntimeError('CUDA error: uncorrectable ECC error')", "it didn't: " ECC,
		"{\"message\":\"" XID "\"", "Memory cgroup o" OOM_SAID, "[1.5] O" OOM_SAID,
		"2026-11-30T01:10:00.5Z stdout F <4>1 2026-11-30T01:10:00Z gpu07 kernel - - - " XID,
		"[rank3]: <4>1 2026-11-30T01:10:00Z gpu07 kernel - - [meta sequenceId=\"29\"] " XID,
		"[rank3]: <4>1 2026-11-30T01:10:00Z gpu07 kernel: " XID};

	for (size_t i = 0; i < sizeof quotes / sizeof *quotes; i++)
		if (!is_quote(quotes[i]))
			test_fail(__FILE__, __LINE__, "'%s' is none", quotes[i]);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (is_quote(others[i]))
			test_fail(__FILE__, __LINE__, "'%s' is one", others[i]);
}

TEST(lines_of_the_kernel_for_certain)
{
	static const char *const sure[] = {"Nov 30 01:10:00 gpu07 kernel: " UE,
		"<2>1 2026-11-30T01:10:00Z gpu07 kernel - - - " UE,
		"{\"ident\":\"kernel\",\"host\":\"gpu07\",\"message\":\"" UE "\"}",
		"{\"message\":\"Nov 30 01:10:00 gpu07 kernel: " UE "\"}",
		"[rank3]: Nov 30 01:10:00 gpu07 kernel: [ 12.5] " UE,
		"2026-11-30T01:10:00.5Z stdout F 2026-11-30T01:10:00Z gpu07 kernel: " UE,
		"{\"log\":\"{\\\"SYSLOG_IDENTIFIER\\\":\\\"kernel\\\",\\\"MESSAGE\\\":\\\"" UE
		"\\\"}\",\"host\":\"gpu07\"}"};
	static const char *const others[] = {UE, "kernel: " UE, "Nov 30 01:10:00 localhost kernel: " UE,
		"Nov 30 01:10:00 gpu07 python: kernel: " UE, "2026-11-30 01:10:00,123 INFO kernel: " UE,
		"2026-11-30 01:10:00 WARNING kernel: " UE, "{\"ident\":\"kernel\",\"message\":\"" UE "\"}",
		"{\"ident\":\"kernels\",\"host\":\"gpu07\",\"message\":\"" UE "\"}",
		"{\"last\":\"Nov 30 01:10:00 gpu07 kernel: " UE "\",\"host\":\"gpu07\"}",
		"{\"a\":{\"message\":\"Nov 30 01:10:00 gpu07 kernel: " UE "\"}}",
		"{\"message\":\"Nov 30 01:10:00 gpu07 kernel: usb 1-1: new\",\"note\":\"" UE "\"}",
		"saw {\"ident\":\"kernel\",\"host\":\"gpu07\",\"message\":\"" UE "\"}"};

	for (size_t i = 0; i < sizeof sure / sizeof *sure; i++)
		if (!kernel_line_is_sure(span_from(sure[i]), SPAN(UE)))
			test_fail(__FILE__, __LINE__, "'%s' is none", sure[i]);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (kernel_line_is_sure(span_from(others[i]), SPAN(UE)))
			test_fail(__FILE__, __LINE__, "'%s' is one", others[i]);
}

TEST(one_machine_by_its_short_and_its_full_name)
{
	CHECK(machine_name_is_same(SPAN("gpu07"), SPAN("gpu07.cluster.local")));
	CHECK(machine_name_is_same(SPAN("GPU07.cluster.local"), SPAN("gpu07")));
	CHECK(machine_name_is_same(SPAN("gpu07"), SPAN("gpu07")));
	CHECK(!machine_name_is_same(SPAN("gpu07.a"), SPAN("gpu07.b")));
	CHECK(!machine_name_is_same(SPAN("gpu07.a"), SPAN("gpu07.a.b")));
	CHECK(!machine_name_is_same(SPAN("gpu0"), SPAN("gpu07")));
	CHECK(!machine_name_is_same(SPAN(""), SPAN("gpu07")) && !machine_name_is_same(SPAN(""), SPAN("")));
	CHECK(!machine_name_is_same(SPAN("10"), SPAN("10.0.0.1")) &&
		machine_name_is_same(SPAN("10.0.0.1"), SPAN("10.0.0.1")));
}

TEST(a_name_in_a_text_is_no_part_of_another)
{
	CHECK(machine_name_is_in(SPAN("Nov 30 01:10:00 gpu07 kernel: x"), SPAN("GPU07")));
	CHECK(machine_name_is_in(SPAN("gpu07"), SPAN("gpu07")) && machine_name_is_in(SPAN("[gpu07]"), SPAN("gpu07")));
	CHECK(!machine_name_is_in(SPAN("Nov 30 01:10:00 gpu07.hpc kernel: x"), SPAN("gpu07")));
	CHECK(!machine_name_is_in(SPAN("a-gpu07 gpu070 gpu0"), SPAN("gpu07")) &&
		!machine_name_is_in(SPAN("x"), SPAN("")));
}

TEST(a_full_name_is_a_machines_with_its_domain)
{
	static const char *const full[] = {"gpu07.cluster.example.com", "gpu07.hpc", "gpu0.hpc", "gpu07.cluster.local",
		"ip-10-0-0-5.ec2.internal", "Node-3.rack2.Example.COM"};
	static const char *const others[] = {"", "gpu07", "gpu07.", ".gpu07", "gpu07..com", "gpu07.cluster.1",
		"gpu07.c", "10.0.0.7", "login.cluster.example.com", "llama-3.1-8b", "llama-3.1.instruct",
		"gpt-4.o.mini", "v1.final", "torch.c10d.logger", "rank7.cluster.local", "worker-0.svc.local",
		"train-worker-0.svc.local", "exp2.train.step", "xid2.watch", "H100.example.com", "a1.b_c.com"};

	for (size_t i = 0; i < sizeof full / sizeof *full; i++)
		if (!machine_name_is_full(span_from(full[i])))
			test_fail(__FILE__, __LINE__, "'%s' is none", full[i]);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (machine_name_is_full(span_from(others[i])))
			test_fail(__FILE__, __LINE__, "'%s' is one", others[i]);
}

TEST(ids_and_addresses_are_no_names)
{
	CHECK(machine_name_is_number(SPAN("i-0123456789abcdef0")) &&
		machine_name_is_number(SPAN("mi-0123456789abcdef0")));
	CHECK(machine_name_is_number(SPAN("10.0.0.1")));
	CHECK(!machine_name_is_number(SPAN("ip-10-0-0-1")) && !machine_name_is_number(SPAN("i-am-no-id")));
	CHECK(!machine_name_is_number(SPAN("")) && !machine_name_is_number(SPAN("gpu07")));
}
