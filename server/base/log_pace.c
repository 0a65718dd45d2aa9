#include "base/log_pace.h"

#include <stdio.h>
#include <string.h>

enum { FIRST_WAIT_MS = 1000, MAX_WAIT_MS = 60 * 1000 };

static bool is_same(const struct log_pace *pace, const char *text)
{
	return strncmp(pace->text, text, sizeof pace->text - 1) == 0;
}

bool log_pace_is_due(struct log_pace *pace, const char *text, int64_t now_ms)
{
	bool goes_on = pace->wait_ms && is_same(pace, text) && now_ms < pace->due_ms + MAX_WAIT_MS;

	if (goes_on && now_ms < pace->due_ms) {
		pace->left_out++;
		return false;
	}
	int64_t next_ms = goes_on ? pace->wait_ms * 2 : FIRST_WAIT_MS;
	pace->wait_ms = next_ms < MAX_WAIT_MS ? next_ms : MAX_WAIT_MS;
	pace->due_ms = now_ms + pace->wait_ms;
	snprintf(pace->text, sizeof pace->text, "%s", text);
	return true;
}

uint64_t log_pace_take_left_out(struct log_pace *pace)
{
	uint64_t left_out = pace->left_out;

	pace->left_out = 0;
	return left_out;
}
