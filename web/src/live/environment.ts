import type { Environment } from "./channel";

/** The browser's own EventSource and timers, in a page and in a worker alike. */
export const browserEnvironment: Environment = {
  open(url) {
    const source = new EventSource(url);
    return {
      set onopen(run: (() => void) | null) {
        source.onopen = run;
      },
      set onerror(run: (() => void) | null) {
        source.onerror = run;
      },
      addEventListener: (type, listener) => source.addEventListener(type, listener),
      close: () => source.close(),
    };
  },
  setTimer: (run, ms) => Number(globalThis.setTimeout(run, ms)),
  clearTimer: (id) => globalThis.clearTimeout(id),
  now: () => Date.now(),
};
