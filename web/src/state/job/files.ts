// The files of a job as long as somebody looks at them, and the beginning of one as text.
import { signal } from "@preact/signals";
import { jobPath, send } from "../../api/client";
import { filePath, type FilesReply, type JobFile } from "../../lib/jobs/files";
import { Store } from "../core/store";

const PAGE = 1000;
/** As many as the server gives at a time. */
const MOST = 10_000;
const TEXT_BYTES = 256 * 1024;

export class FileList extends Store {
  /** null: not loaded yet. */
  readonly rows = signal<readonly JobFile[] | null>(null);
  readonly hasMore = signal(false);
  private limit = PAGE;

  constructor(private readonly job: string) {
    super();
  }

  async load(): Promise<void> {
    const asked = this.limit;
    const reply = await this.get<FilesReply>(jobPath(this.job, "/attachments"), { limit: asked });
    if (!reply || asked !== this.limit) return;
    this.rows.value = reply.attachments;
    this.hasMore.value = reply.next_after !== undefined && this.limit < MOST;
  }

  more(): Promise<void> {
    this.limit = Math.min(MOST, this.limit * 10);
    return this.load();
  }
}

export class FileText extends Store {
  readonly text = signal<string | null>(null);
  readonly isCut = signal(false);
  readonly isBinary = signal(false);

  constructor(
    private readonly job: string,
    private readonly path: string,
  ) {
    super();
  }

  async load(): Promise<void> {
    const read = await this.request(async () => {
      const reply = await send("GET", filePath(this.job, this.path), {}, undefined, this.signal);
      return readStart(reply, TEXT_BYTES);
    });
    if (!read) return;
    const text = new TextDecoder().decode(read.bytes, { stream: read.isCut }); // no half letter at the cut
    this.isCut.value = read.isCut;
    this.isBinary.value = text.includes("\0");
    this.text.value = text;
  }
}

/** The rest of a longer body is not fetched. */
async function readStart(reply: Response, most: number): Promise<{ bytes: Uint8Array; isCut: boolean }> {
  const bytes = new Uint8Array(most);
  const reader = reply.body?.getReader();
  for (let used = 0; ; ) {
    const part = await reader?.read();
    if (!part?.value) return { bytes: bytes.subarray(0, used), isCut: false };
    bytes.set(part.value.subarray(0, most - used), used);
    if (part.value.length > most - used) {
      await reader?.cancel();
      return { bytes, isCut: true };
    }
    used += part.value.length;
  }
}
