import { signal } from "@preact/signals";
import { grouped, type Num, toNumber } from "./number";

export const NONE = "–";

export function formatCount(value: number | undefined): string {
  return value === undefined || !Number.isFinite(value) ? NONE : grouped(Math.round(value));
}

/** Four significant digits, with k/M/G from 10,000 on and an exponent below 0.001. */
export function formatValue(value: Num | null | undefined): string {
  if (value === null || value === undefined) return NONE;
  const number = toNumber(value);
  if (Number.isNaN(number)) return "NaN";
  if (!Number.isFinite(number)) return number > 0 ? "+Inf" : "−Inf";
  return minus(formatFinite(number));
}

/** What is counted or paid, where a small part is read as such: no exponent, 0.00055, and "< 0.000001". */
export function formatAmount(value: Num | null | undefined): string {
  const size = Math.abs(toNumber(value));
  if (!(size > 0 && size < 1e-3)) return formatValue(value);
  return size < 1e-6 ? "< 0.000001" : minus(toNumber(value).toFixed(6).replace(/0+$/, ""));
}

function formatFinite(number: number): string {
  const size = Math.abs(number);
  if (size === 0) return "0";
  if (size >= 1e15 || size < 1e-3) return shortExponent(number);
  if (size >= 1e4) return formatCompact(number);
  if (size >= 1000) return grouped(Math.round(number));
  if (Number.isInteger(number)) return String(number);
  return number.toFixed(Math.max(0, 3 - Math.floor(Math.log10(size))));
}

/** Three significant digits and a unit: 1.94 M, 41.2 k. */
export function formatCompact(number: number): string {
  const size = Math.abs(number);
  for (const [factor, unit] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]] as const) {
    if (size >= factor * 0.9995) return `${trimZeros(number / factor)} ${unit}`;
  }
  return trimZeros(number);
}

function trimZeros(number: number): string {
  const digits = Math.abs(number) >= 100 ? 0 : Math.abs(number) >= 10 ? 1 : 2;
  return minus(number.toFixed(digits));
}

function shortExponent(number: number): string {
  // Of three digits in the exponent, so that it is no longer than others.
  const digits = Math.abs(number) >= 1e100 ? 2 : Math.abs(number) < 1e-99 ? 1 : 3;
  const [mantissa = "", exponent = ""] = number.toExponential(digits).split("e");
  return `${mantissa.replace(/\.?0+$/, "")}e${exponent.replace("+", "")}`;
}

const minus = (text: string): string => text.replace(/^-/, "−");

/** The exact value, for titles and tables. */
export function formatExact(value: Num | null | undefined): string {
  if (value === null || value === undefined) return NONE;
  return typeof value === "number" ? minus(String(value)) : formatValue(value);
}

/** The two largest units: "3 d 4 h", "5 min", "12 s". */
export function formatDuration(seconds: number): string {
  if (!Number.isFinite(seconds)) return NONE;
  const total = Math.max(0, Math.floor(seconds));
  const days = Math.floor(total / 86_400);
  const hours = Math.floor(total / 3600) % 24;
  const minutes = Math.floor(total / 60) % 60;
  if (days > 0) return hours > 0 ? `${days} d ${hours} h` : `${days} d`;
  if (hours > 0) return minutes > 0 ? `${hours} h ${minutes} min` : `${hours} h`;
  if (minutes > 0) return minutes < 10 && total % 60 > 0 ? `${minutes} min ${total % 60} s` : `${minutes} min`;
  return `${total} s`;
}

export const pad = (number: number, width = 2): string => String(number).padStart(width, "0");

/** Whether times are shown in UTC instead of this browser's zone. */
export const isUtc = signal(false);

/** With the day and the zone: 2026-11-20 14:03:09 UTC+1. */
export const formatTime = (ms: number | undefined): string =>
  ms === undefined || !Number.isFinite(ms) ? NONE : `${formatDay(ms)} ${formatClock(ms)} ${zoneOf(ms)}`;

/** 2026-11-20 */
export function formatDay(ms: number): string {
  const time = new Date(ms);
  return isUtc.value ? time.toISOString().slice(0, 10) : `${time.getFullYear()}-${pad(time.getMonth() + 1)}-${pad(time.getDate())}`;
}

/** Of the times that are shown, on that day: UTC, UTC+1, UTC−3:30. */
export function zoneOf(ms: number): string {
  const minutes = isUtc.value ? 0 : -new Date(ms).getTimezoneOffset();
  if (minutes === 0) return "UTC";
  const size = Math.abs(minutes);
  return `UTC${minutes < 0 ? "−" : "+"}${Math.floor(size / 60)}${size % 60 ? `:${pad(size % 60)}` : ""}`;
}

export const formatClock = (ms: number): string => (isUtc.value ? new Date(ms).toISOString().slice(11, 19) : localClock(ms));

export function localClock(ms: number): string {
  const time = new Date(ms);
  return `${pad(time.getHours())}:${pad(time.getMinutes())}:${pad(time.getSeconds())}`;
}

export type TimeMode = "local" | "UTC" | "relative" | "hidden";

/** Cuts in the middle: what tells long names apart stands at both ends. */
export function cutMiddle(text: string, length: number): string {
  const glyphs = Array.from(text);
  if (glyphs.length <= length) return text;
  const head = Math.ceil((length - 1) / 2);
  const tail = length - 1 - head;
  return `${glyphs.slice(0, head).join("")}…${glyphs.slice(glyphs.length - tail).join("")}`;
}
