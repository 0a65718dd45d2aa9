/*
 * Job: one call of an AWS operation (awsJson1.1), signed, within the rate that is allowed.
 * Ownership: new/free. Threads: one; calls_stop from any.
 */
#pragma once

#include "base/json/json_read.h"
#include "collect/collector_options.h"

struct calls;

enum calls_service { CALLS_SAGEMAKER, CALLS_LOGS };

enum status calls_new(struct calls **out, const struct collector_options *options, struct collector_figures *figures,
	struct error *err) MUST_CHECK;
void calls_free(struct calls *calls);
/* The call under way and all later ones fail with ERR_UNAVAILABLE. */
void calls_stop(struct calls *calls);

/*
 * ERR_BUSY: throttled, or the service fails; ERR_NOT_FOUND: the resource is gone; ERR_FORBIDDEN: the credentials are not good
 * for it; ERR_IO: no answer; ERR_INVALID: no answer of AWS's.
 */
enum status calls_ask(struct calls *calls, enum calls_service service, const char *operation, struct span body,
	struct json **out, struct error *err) MUST_CHECK;

AUTO_TYPE(calls)
