#include "cli/host/host_figures.h"
#include "cli/host/host_programs.h"
#include "cli/host/kernel_log.h"
#include "test.h"

TEST(host_cpu)
{
	uint64_t busy = 0, total = 0;

	CHECK(host_read_cpu(SPAN("cpu  10 1 5 80 4 0 0 0 3 0\ncpu0 1\n"), &busy, &total));
	CHECK_INT(busy, 16);
	CHECK_INT(total, 100);
	CHECK(!host_read_cpu(SPAN("cpu0 1 2 3 4 5 6 7 8\n"), &busy, &total));
	CHECK(!host_read_cpu(SPAN("cpu  1 2 3\n"), &busy, &total));
	CHECK(!host_read_cpu(SPAN(""), &busy, &total));
}

TEST(host_memory)
{
	uint64_t used = 0, total = 0;

	CHECK(host_read_memory(SPAN("MemTotal:  100 kB\nMemFree: 1 kB\nMemAvailable:   60 kB\n"), &used, &total));
	CHECK_INT(used, 40);
	CHECK_INT(total, 100);
	CHECK(!host_read_memory(SPAN("MemTotal:  100 kB\n"), &used, &total));
	CHECK(!host_read_memory(SPAN("MemTotal:  10 kB\nMemAvailable: 60 kB\n"), &used, &total));
	CHECK(!host_read_memory(SPAN("MemTotal:\nMemAvailable: x kB\n"), &used, &total));
}

TEST(host_disks_are_counted_once)
{
	uint64_t read = 0, written = 0;

	host_read_disks(
		SPAN("   8  0 sda 1 0 100 1 1 0 200 1 0 0 0\n   8  1 sda1 1 0 100 1 1 0 200 1 0 0 0\n"
		     " 259  0 nvme0n1 1 0 10 1 1 0 20 1 0 0 0\n 259  1 nvme0n1p1 1 0 10 1 1 0 20 1 0 0 0\n"
		     " 253  0 dm-0 1 0 100 1 1 0 200 1 0 0 0\n   7  0 loop0 1 0 9 1 1 0 9 1\n  65 0 sdaa 1 0 1 1 1 0 2 1\n"
		     "short 1\n"),
		&read, &written);
	CHECK_INT(read, 111 * 512);
	CHECK_INT(written, 222 * 512);
}

TEST(host_network_without_what_is_inside)
{
	uint64_t received = 0, sent = 0;

	host_read_network(
		SPAN("Inter-|   Receive\n face |bytes\n    lo: 9 0 0 0 0 0 0 0 9 0\n"
		     "  eth0: 100 1 0 0 0 0 0 0 7 1 0\n  ib0:5 0 0 0 0 0 0 0 6 0\n veth1: 1 0 0 0 0 0 0 0 1 0\n bad: x\n"),
		&received, &sent);
	CHECK_INT(received, 105);
	CHECK_INT(sent, 13);
}

TEST(host_points_have_safe_names)
{
	AUTO_DONE(buf) out = BUF_INIT(1000);
	struct host_points points = {&out, 1700000000000};

	host_points_put(&points, "m", "gpu", SPAN("a\"b\\\n"), 1.5);
	CHECK_SPAN(buf_span(&out),
		SPAN("@1700000000000\t{\"metric\":\"m{gpu=\\\"a_b__\\\"}\",\"ts_ms\":1700000000000,\"value\":1.5}\n"));
}

TEST(host_nvidia_smi)
{
	AUTO_DONE(buf) out = BUF_INIT(10000);
	struct host_points points = {&out, 1};

	CHECK(nvidia_smi_read(SPAN("3, 35, [N/A], 40960, nan, 61"), &points));
	CHECK(span_find(buf_span(&out), SPAN("gpu_utilization_percent{gpu=\\\"3\\\"}\",\"ts_ms\":1,\"value\":35}")) >=
		0);
	CHECK(span_find(buf_span(&out), SPAN("gpu_temperature_celsius")) >= 0);
	CHECK(span_find(buf_span(&out), SPAN("gpu_memory_used")) < 0);
	CHECK(span_find(buf_span(&out), SPAN("gpu_power")) < 0);
	CHECK(!nvidia_smi_read(SPAN("NVIDIA-SMI has failed because it couldn't communicate"), &points));
	CHECK(!nvidia_smi_read(SPAN("No devices were found"), &points));
	CHECK(!nvidia_smi_read(SPAN(""), &points));
}

TEST(host_neuron_monitor)
{
	AUTO_DONE(buf) out = BUF_INIT(10000);
	struct host_points points = {&out, 1};

	CHECK(neuron_monitor_read(SPAN("{\"neuron_runtime_data\":[]}"), &points));
	CHECK(neuron_monitor_read(
		SPAN("{\"neuron_runtime_data\":7,\"system_data\":{\"neuron_hw_counters\":[]}}"), &points));
	CHECK_INT(out.len, 0);
	CHECK(!neuron_monitor_read(SPAN("[]"), &points));
	CHECK(!neuron_monitor_read(SPAN("starting"), &points));
}

TEST(kernel_log_records)
{
	CHECK_SPAN(kernel_log_message(SPAN("6,12,345,-;link; is down")), SPAN("link; is down"));
	CHECK_SPAN(kernel_log_message(SPAN(" SUBSYSTEM=pci;x")), SPAN(""));
	CHECK_SPAN(kernel_log_message(SPAN("6,12")), SPAN(""));
	CHECK_SPAN(kernel_log_message(SPAN("")), SPAN(""));
}

TEST(kernel_log_tells_faults_from_chatter)
{
	static const char *const faults[] = {"NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.",
		"EDAC MC0: 1 CE memory read error", "pcieport 0000:00:01.0: AER: Corrected error received",
		"mlx5_core 0000:86:00.0 ens1: Link down", "Out of memory: Killed process 4242 (python3)",
		"mce: [Hardware Error]: Machine check events logged", "nfs: server fs-1 not responding, still trying",
		"blk_update_request: I/O error, dev nvme0n1, sector 1",
		"INFO: task python3:1 blocked for more than 120 seconds.",
		"Kernel panic - not syncing: Fatal exception in interrupt",
		"nvme nvme0: I/O 514 (I/O Cmd) QID 5 timeout, aborting",
		"nvme nvme1: Removing after probe failure status: -19",
		"nvme nvme1: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0xffff",
		"XFS (nvme1n1): Filesystem has been shut down due to log error (0x2).",
		"pcieport 0000:40:01.1: DPC: containment event, status:0x1f01 source:0x0000"};
	static const char *const chatter[] = {"usb 1-1: new high-speed USB device",
		"audit: type=1400 apparmor=\"STATUS\"", "systemd[1]: Started Session 1",
		"docker0: port 1(veth1) entered forwarding state", ""};

	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
		if (!kernel_log_matters(span_from(faults[i])))
			test_fail(__FILE__, __LINE__, "'%s' is a fault", faults[i]);
	for (size_t i = 0; i < sizeof chatter / sizeof *chatter; i++)
		if (kernel_log_matters(span_from(chatter[i])))
			test_fail(__FILE__, __LINE__, "'%s' is chatter", chatter[i]);
}
