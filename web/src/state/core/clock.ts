import { signal } from "@preact/signals";
import { serverNow } from "../../lib/flow/skew";
import { every } from "../../lib/flow/poll";

/** The time for ages on the page; ticks once a second while somebody looks. */
export const now = signal(serverNow());

every(1000, () => (now.value = serverNow()));
