// Small files of a job: where they are, and what may be shown of them here.
import { apiUrl, jobPath } from "../../api/client";

export interface JobFile {
  path: string;
  content_type: string;
  bytes: number;
  sha256: string;
  created_ms: number;
  author: string;
}

export interface FilesReply {
  attachments: JobFile[];
  next_after?: string;
}

export const filePath = (job: string, path: string): string => jobPath(job, `/attachments/${path.split("/").map(encodeURIComponent).join("/")}`);

export const fileHref = (job: string, path: string): string => apiUrl(filePath(job, path));

/** image: by an element that runs nothing; text: as text, whatever it holds; none: only downloaded. */
export type Preview = "image" | "text" | "none";

// SVG is a document that may hold scripts and ask other hosts.
const IMAGES: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const TEXTS = /^(?:text\/(?:plain|csv|markdown|tab-separated-values)|application\/(?:json|(?:x-)?yaml|toml))$/;

export function previewOf(contentType: string): Preview {
  const type = (contentType.split(";")[0] ?? "").trim();
  return IMAGES.has(type) ? "image" : TEXTS.test(type) ? "text" : "none";
}
