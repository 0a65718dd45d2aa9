import { expect, test } from "vitest";
import { FoldIndex, foldLines, type Fold } from "../src/lib/log/folds";
import { RowMap } from "../src/lib/log/rowmap";

const rows = (text: string): { text: string }[] => text.split("\n").map((line) => ({ text: line }));

/** What stays to be seen: the first line of each fold with what is behind it. */
function shown(text: string): string[] {
  const lines = rows(text);
  const { folds } = foldLines(0, lines, null);
  const map = new RowMap(lines.length, folds, new Set(), new Map());
  return Array.from({ length: map.rows }, (_, row) => {
    const { line } = map.placeAt(row);
    const fold = map.folds.get(line);
    return `${lines[line]?.text ?? ""}${fold ? ` <${fold.kind} ${fold.count}>` : ""}`;
  });
}

test("a Python traceback keeps its first line and the exception", () => {
  expect(
    shown(`step 10
Traceback (most recent call last):
  File "/opt/train.py", line 214, in <module>
    main()
    ~~~~^^
  File "/opt/train.py", line 180, in main
    loss.backward()
RuntimeError: CUDA error: an illegal memory access was encountered
CUDA kernel errors might be asynchronously reported at some other API call

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/opt/train.py", line 220, in <module>
    dist.barrier()
torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:2251`),
  ).toEqual([
    "step 10",
    "Traceback (most recent call last): <trace 5>",
    "RuntimeError: CUDA error: an illegal memory access was encountered",
    "CUDA kernel errors might be asynchronously reported at some other API call",
    "",
    "During handling of the above exception, another exception occurred:",
    "",
    "Traceback (most recent call last): <trace 2>",
    "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:2251",
  ]);
});

test("a traceback behind a rank, and one of a logger that stamps the first line alone", () => {
  expect(
    shown(`[rank3]: Traceback (most recent call last):
[rank3]:   File "/opt/train.py", line 3, in <module>
[rank3]:     go()
[rank3]: ValueError: no
[rank3]: bye`),
  ).toEqual(["[rank3]: Traceback (most recent call last): <trace 2>", "[rank3]: ValueError: no", "[rank3]: bye"]);
  expect(
    shown(`2026-11-21 12:00:00,123 ERROR Traceback (most recent call last):
  File "/opt/train.py", line 3, in <module>
    go()
KeyError: 'x'`),
  ).toEqual(["2026-11-21 12:00:00,123 ERROR Traceback (most recent call last): <trace 2>", "KeyError: 'x'"]);
});

test("frames of C++, of a debugger, of Open MPI, of glog", () => {
  expect(
    shown(`[rank0]:[E1121 12:00:00] Exception raised from c10_cuda_check_implementation at /pytorch/c10/cuda/CUDAException.cpp:43
frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x98 (0x7f2 in /usr/lib/libc10.so)
frame #1: c10::detail::torchCheckFail(char const*, char const*, unsigned int, std::string const&) + 0xe0 (0x7f2 in libc10.so)
frame #2: <unknown function> + 0xdbbf4 (0x7f2c4 in /opt/conda/bin/../lib/libstdc++.so.6)
frame #3: clone + 0x40 (0x7f2a in /lib/x86_64-linux-gnu/libc.so.6)
done
#0  0x00007f1234567890 in raise () from /lib/libc.so.6
#1  0x00007f1234567891 in abort () from /lib/libc.so.6
#2 main (argc=1) at train.cc:3
done
[node-7:04711] *** Process received signal ***
[node-7:04711] [ 0] /lib/x86_64-linux-gnu/libpthread.so.0(+0x14420)[0x7f1234567890]
[node-7:04711] [ 1] /opt/lib/libnccl.so.2(+0x5b1a0)[0x7f12345678a0]
[node-7:04711] *** End of error message ***
    @     0x7f1234567890 google::LogMessage::Fail()
    @     0x7f1234567990 google::LogMessage::SendToLog()
end`),
  ).toEqual([
    "[rank0]:[E1121 12:00:00] Exception raised from c10_cuda_check_implementation at /pytorch/c10/cuda/CUDAException.cpp:43",
    "frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x98 (0x7f2 in /usr/lib/libc10.so) <frames 3>",
    "done",
    "#0  0x00007f1234567890 in raise () from /lib/libc.so.6 <frames 2>",
    "done",
    "[node-7:04711] *** Process received signal ***",
    "[node-7:04711] [ 0] /lib/x86_64-linux-gnu/libpthread.so.0(+0x14420)[0x7f1234567890] <frames 1>",
    "[node-7:04711] *** End of error message ***",
    "    @     0x7f1234567890 google::LogMessage::Fail() <frames 1>",
    "end",
  ]);
});

test("NCCL's account of its channels", () => {
  expect(
    shown(`algo-1:88:1204 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>
algo-1:88:1204 [0] NCCL INFO Channel 00/16 : 0 1 2 3
algo-1:88:1204 [0] NCCL INFO Channel 01/16 : 0 1 2 3
algo-1:88:1204 [0] NCCL INFO Trees [0] 1/-1/-1->0->-1
algo-1:88:1204 [0] NCCL INFO Connected all rings
algo-1:88:1204 [0] NCCL WARN Call to ibv_modify_qp failed`).length,
  ).toBe(3);
});

test("lines said again fold, whatever their stamps", () => {
  expect(
    shown(`2026-11-21T12:00:00.1Z waiting for data
2026-11-21T12:00:01.1Z waiting for data
[2026-11-21 12:00:02] waiting for data
step 1
step 2`),
  ).toEqual(["2026-11-21T12:00:00.1Z waiting for data <repeat 2>", "step 1", "step 2"]);
});

test("what only looks like it stays", () => {
  const text = `loss: 2.31 | lr: 3e-4
  indented but alone
{"a": 1}
config::optimizer = adam
mail@host 0x12
epoch #3: loss 2.0
epoch #4: loss 1.9`;
  expect(shown(text)).toEqual(text.split("\n"));
});

test("rows and lines, folded and opened", () => {
  const folds: Fold[] = [
    { head: 2, from: 3, to: 6, kind: "repeat" },
    { head: 8, from: 9, to: 10, kind: "frames" },
    { head: 8, from: 10, to: 12, kind: "frames" },
  ];
  const map = new RowMap(14, folds, new Set(), new Map([[7, 2]]));
  expect(map.rows).toBe(14 - 3 - 3 + 2);
  expect(Array.from({ length: map.rows }, (_, row) => map.placeAt(row)).map(({ line, part }) => `${line}.${part}`)).toEqual(
    ["0.0", "1.0", "2.0", "6.0", "7.0", "7.1", "7.2", "8.0", "12.0", "13.0"],
  );
  for (let line = 0; line < 14; line++) expect(map.placeAt(map.rowOf(line)).line).toBe(map.headOf(line) ?? line);
  expect(map.headOf(11)).toBe(8);
  expect(map.folds.get(8)).toEqual({ count: 3, kind: "frames" });
  const open = new RowMap(14, folds, new Set([8]), new Map([[2, 1], [4, 9]]));
  expect(open.rows).toBe(14 - 3 + 1); // what is opened within a fold is not shown
  expect(open.headOf(11)).toBe(null);
});

test("folds go on from page to page, in whatever order these come", () => {
  const size = 4;
  const text = ["a", "b", "b", "b", "b", "b", "b", "b", "b", "c"];
  const pages = new Map<number, { text: string }[]>();
  const index = new FoldIndex({ rows: (page) => pages.get(page), pages: () => pages.keys() }, size);
  const put = (page: number): void => {
    pages.set(page, text.slice(page * size, (page + 1) * size).map((one) => ({ text: one })));
    index.refresh([page]);
  };
  const hidden = (): string[] => index.all().map((fold) => `${fold.head}: ${fold.from}-${fold.to}`);
  put(1);
  expect(hidden()).toEqual(["4: 5-8"]);
  put(2);
  expect(hidden()).toEqual(["4: 5-8", "4: 8-9"]);
  put(0);
  expect(hidden()).toEqual(["1: 2-4", "1: 4-8", "1: 8-9"]);
  pages.delete(1);
  index.refresh([]);
  expect(hidden()).toEqual(["1: 2-4", "1: 8-9"]);
});
