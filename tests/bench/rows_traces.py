"""A trace of PyTorch's profiler of half a GB, summed up by sm-ship --trace: seconds and memory, as it is and packed by gzip."""

import gzip
import os
import select
import shutil
import subprocess
import time

from harness import MB, memory_mb
from smserver import Server, build_folder
from table import Line, Row

SIZE_MB, QUICK_MB, MOST_S, MOST_MB = 500, 100, 20, 64
KERNELS_A_STEP = 2000
SAMPLE_S = 0.02
NAMES = ("ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn",
         "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, at::detail::Array<char*, 3> >(int, ...)",
         "void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, cutlass::bfloat16_t> >(Flash_fwd_params)",
         "void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16, float>(c10::BFloat16*, c10::BFloat16 const*, int)")
NCCL = "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"

# What the profiler writes of one kernel: the operator and its Python frame, the launch, the kernel, and the arrow between them.
GROUP = """  {
    "ph": "X", "cat": "python_function", "name": "torch/nn/modules/linear.py(113): forward", "pid": 4242, "tid": 4242,
    "ts": %(at)d.201, "dur": %(host)d.118,
    "args": {
      "Python id": %(n)d, "Python parent id": %(parent)d, "Ev Idx": %(n)d
    }
  },
  {
    "ph": "X", "cat": "cpu_op", "name": "aten::addmm", "pid": 4242, "tid": 4242,
    "ts": %(at)d.305, "dur": %(host)d.004,
    "args": {
      "External id": %(n)d, "Sequence number": %(n)d, "Fwd thread id": 0, "Record function id": 0, "Ev Idx": %(n)d,
      "Input Dims": [[4096], [8192, 4096], [4096, 4096]], "Input type": ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16"], "Concrete Inputs": ["", "", ""]
    }
  },
  {
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 4242, "tid": 4242,
    "ts": %(at)d.412, "dur": 3.510,
    "args": {
      "External id": %(n)d, "cbid": 211, "correlation": %(n)d
    }
  },
  {
    "ph": "s", "id": %(n)d, "pid": 4242, "tid": 4242, "ts": %(at)d.412,
    "cat": "ac2g", "name": "ac2g"
  },
  {
    "ph": "X", "cat": "%(cat)s", "name": "%(name)s", "pid": 0, "tid": %(stream)d,
    "ts": %(begin)d.720, "dur": %(dur)d.128,
    "args": {
      "External id": %(n)d, "queued": 0, "device": 0, "context": 1, "stream": %(stream)d, "correlation": %(n)d,
      "registers per thread": 168, "shared memory": 98304, "blocks per SM": 2.424242, "warps per SM": 19.393939,
      "grid": [32, 10, 1], "block": [256, 1, 1], "est. achieved occupancy %%": 25
    }
  },
  {
    "ph": "f", "id": %(n)d, "pid": 0, "tid": %(stream)d, "ts": %(begin)d.720,
    "cat": "ac2g", "name": "ac2g", "bp": "e"
  },
"""
STEP = """  {
    "ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d", "pid": 4242, "tid": 4242, "ts": %d.000, "dur": %d.000,
    "args": { "External id": %d, "Ev Idx": %d }
  },
"""
HEAD = """{
  "schemaVersion": 1,
  "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85045018624, "computeMajor": 9, "numSms": 132}],
  "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 64, "nccl_version": "2.21.5"},
  "with_stack": 1, "traceEvents": [
"""
END = """  {
    "ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": %d.000
  }
  ],
  "traceName": "trace.json", "displayTimeUnit": "ms", "baseTimeNanoseconds": 1767225600000000000
}
"""


def group(n):
    """A kernel each 100 us, of 90; each twentieth communicates for 150 beside the next one, each thirty-first copies."""
    is_nccl, is_copy = n % 20 == 0, n % 31 == 0 and n % 20 != 0
    return GROUP % {"n": n, "parent": n // 7, "at": 100 * n, "host": 60, "begin": 100 * n + 5000, "dur": 150 if is_nccl else 90,
        "cat": "gpu_memcpy" if is_copy else "kernel", "stream": 20 if is_nccl else 7,
        "name": NCCL if is_nccl else "Memcpy DtoD (Device -> Device)" if is_copy else NAMES[n % len(NAMES)]}


def write_trace(path, size):
    """Returns how many kernels and copies it has."""
    n = 0
    with open(path, "w") as file:
        file.write(HEAD)
        while file.tell() < size:
            file.write(STEP % (n // KERNELS_A_STEP, 100 * n, 100 * KERNELS_A_STEP, n, n))
            file.write("".join(group(n + i) for i in range(KERNELS_A_STEP)))
            n += KERNELS_A_STEP
        file.write(END % (100 * n + 9000))
    return n


def pack(path, packed):
    with open(path, "rb") as plain, gzip.open(packed, "wb", compresslevel=6) as out:
        shutil.copyfileobj(plain, out, 1 << 20)


def sum_up(server, path):
    """Seconds, those of a processor, and the most memory that was resident, in MB: what wait4 says of it is at least the parent's."""
    began, peak_mb = time.monotonic(), 0.0
    shipping = subprocess.Popen([build_folder() / "sm-ship", "--server", server.url, "--job", "traces", "--trace", path], stderr=subprocess.PIPE)
    while not select.select([shipping.stderr], [], [], SAMPLE_S)[0]:  # it says one line, at its end
        peak_mb = max(peak_mb, memory_mb(shipping.pid, "VmHWM"))
    said = shipping.stderr.read().decode()
    _, status, usage = os.wait4(shipping.pid, 0)
    shipping.returncode = os.waitstatus_to_exitcode(status)
    assert shipping.returncode == 0 and "computing" in said, said
    return {"seconds": time.monotonic() - began, "cpu_seconds": usage.ru_utime + usage.ru_stime, "peak_mb": peak_mb}


def measure_traces(bench):
    size = (QUICK_MB if bench.is_quick else SIZE_MB) * MB
    path, packed = bench.folder / "big.pt.trace.json", bench.folder / "big.pt.trace.json.gz"
    bench.say(f"a trace of {size / MB:.0f} MB")
    kernels = write_trace(path, size)
    pack(path, packed)
    server = Server(bench.folder).start()
    try:
        server.send("traces", "step: 1 loss: 2.5")
        found = {"bytes": path.stat().st_size, "kernels": kernels, "plain": sum_up(server, path), "gzip": sum_up(server, packed)}
        anatomy = server.get("/api/v1/jobs/traces/anatomy").body
    finally:
        server.close()
    assert anatomy["traces_total"] == 1, "packed or not, it is one trace"
    return found


def report_traces(found, bench):
    most_s = MOST_S * found["bytes"] / (SIZE_MB * MB)
    lines = []
    for name in ("plain", "gzip"):
        one = found[name]
        work = f"a trace of {found['bytes'] / MB:.0f} MB, {found['kernels']:,} kernels" + (", by gzip" if name == "gzip" else "")
        lines.append(Line(work, f"{one['seconds']:.1f} s", f"{one['cpu_seconds']:.1f} s of a processor", "", f"<= {most_s:.0f} s", one["seconds"] <= most_s))
        lines.append(Line("  resident at most", f"{one['peak_mb']:.0f} MB", "", "", f"<= {MOST_MB} MB", one["peak_mb"] <= MOST_MB))
    return lines


ROWS = [Row("traces", measure_traces, report_traces)]
