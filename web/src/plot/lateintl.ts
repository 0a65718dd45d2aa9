// uPlot makes two formatters as it is loaded, for axes and legends of its own; ours write their numbers and times themselves. The first
// use of Intl takes 20 ms, for which the first curve would wait: this one makes its formatters when they are used.

/** The browser's. */
export const intl = globalThis.Intl;

export function setIntl(next: object): void {
  (globalThis as { Intl: object }).Intl = next;
}

setIntl({
  NumberFormat: function (locale: string) {
    return { format: (value: number) => new intl.NumberFormat(locale).format(value) };
  },
  // No time zone is known to be the browser's own, so each is worked out like any other.
  DateTimeFormat: function () {
    return { resolvedOptions: () => ({}) };
  },
});
