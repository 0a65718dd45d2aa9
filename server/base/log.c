#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The level is the process's: set once by main before there are threads. */
static struct {
	atomic_int level;
} state = {LOG_INFO};

void log_set_level(enum log_level level)
{
	atomic_store(&state.level, (int)level);
}

void log_line(enum log_level level, const char *event, const char *format, ...)
{
	static const char *const names[] = {"debug", "info", "warning", "error"};
	char text[1024], line[1400], stamp[40];
	struct timespec now;
	struct tm calendar;
	va_list arguments;

	if ((int)level < atomic_load_explicit(&state.level, memory_order_relaxed))
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	for (char *c = text; *c; c++) /* one event is one line, whatever a client put into a name */
		if ((unsigned char)*c < ' ')
			*c = '?';
	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &calendar);
	strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &calendar);
	int length = snprintf(line, sizeof line, "ts=%s.%03ldZ level=%s event=%s%s%s\n", stamp, now.tv_nsec / 1000000,
		names[level], event, *text ? " " : "", text);
	if (length > 0 && write(STDERR_FILENO, line, strnlen(line, sizeof line)) < 0)
		return; /* nowhere left to say it */
}
