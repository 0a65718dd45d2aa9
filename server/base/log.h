/*
 * Job: one structured line (logfmt) to standard error: ts=… level=… event=… and the caller's key=value text.
 *      Libraries never log; only the edges do (app, and threads that nobody waits for).
 * Ownership: nothing is kept. Threads: any; one write a line.
 */
#pragma once

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR };

void log_set_level(enum log_level level);
/* format holds key=value pairs; text values are quoted by the caller (\"%s\") and escaped here. No secrets. */
void log_line(enum log_level level, const char *event, const char *format, ...) __attribute__((format(printf, 3, 4)));
