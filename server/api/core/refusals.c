#include "api/core/refusals.h"

#include "base/clock.h"
#include "base/json/json_write.h"
#include "base/log.h"
#include "people/people.h"
#include "state/audit.h"
#include "state/execute.h"

enum { HOUR_MS = 60 * 60 * 1000, NAME_BYTES = 512, BODY_BYTES = 8192 };

static bool has_room(struct refusals *refusals)
{
	int64_t now_ms = clock_mono_ms();

	if (!refusals->hour_mono_ms || now_ms - refusals->hour_mono_ms >= HOUR_MS)
		*refusals = (struct refusals){.hour_mono_ms = now_ms};
	if (refusals->told >= REFUSALS_AN_HOUR)
		return false;
	refusals->told++;
	return true;
}

static enum status tell(struct pipeline *pipeline, const struct refusal *refusal, struct error *err)
{
	AUTO_DONE(buf) name = BUF_INIT(NAME_BYTES), body = BUF_INIT(BODY_BYTES);
	struct json_writer w = json_writer_on(&body);

	buf_printf(&name, PEOPLE_OIDC "%s%s%.*s", refusal->provider, refusal->person.len ? "/" : "",
		SPAN_ARGS(span_cut(refusal->person, NAME_BYTES / 2)));
	json_object(&w);
	json_put_span(&w, "reason", refusal->reason);
	json_object_end(&w);
	TRY(buf_status(&name, err));
	TRY(buf_status(&body, err));
	const struct actor actor = {.token = buf_span(&name),
		.team = SPAN(""),
		.address = refusal->address,
		.verb = SPAN("refuse"),
		.kind = SPAN("sign-ins"),
		.id = buf_span(&name),
		.body = buf_span(&body)};
	audit_act_as(pipeline, &actor);
	enum status status = writer_execute(pipeline, writer_write_nothing, NULL, err);
	audit_act_as(pipeline, NULL);
	return status;
}

void refusals_tell(struct refusals *refusals, struct pipeline *pipeline, const struct refusal *refusal)
{
	struct error err;

	if (has_room(refusals) && tell(pipeline, refusal, &err) != OK)
		log_line(LOG_WARNING, "refusal_not_audited", "provider=%s error=\"%s\"", refusal->provider, err.text);
}
