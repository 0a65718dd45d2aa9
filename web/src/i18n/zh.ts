// Simplified Chinese, a file an area of the page in zh/; scripts/texts.ts makes one table of them.
import packed from "virtual:zh";
import { unpack } from "./packed";

export const zh = unpack(packed);
