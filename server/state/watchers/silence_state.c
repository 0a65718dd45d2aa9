#include "state/watchers/silence_state.h"

#include "model/incident.h"

enum { ITEM_MIN_BYTES = 8 };

void silences_free(struct silences *silences)
{
	if (!silences)
		return;
	mem_free(silences->items);
	mem_free(silences);
}

static void pack_incident(const struct incident *incident, struct buf *out)
{
	pack_u64(out, incident->severity);
	pack_u64(out, incident->opened_ordinal);
	pack_i64(out, incident->opened_step);
	pack_i64(out, incident->opened_ms);
	pack_u64(out, incident->line);
	pack_double(out, incident->value);
	pack_double(out, incident->expected);
}

static struct incident unpack_incident(struct unpacker *in)
{
	struct incident incident = {.kind = INCIDENT_DEFINITION_SILENT, .state = INCIDENT_OPEN};
	uint64_t severity = unpack_u64(in);

	in->has_failed |= severity >= SEVERITY_COUNT;
	incident.severity = severity < SEVERITY_COUNT ? (enum severity)severity : SEVERITY_INFO;
	incident.opened_ordinal = unpack_u64(in);
	incident.opened_step = incident.first_step = incident.last_step = incident.worst_step = unpack_i64(in);
	incident.opened_ms = unpack_i64(in);
	incident.line = unpack_u64(in);
	incident.value = incident.worst = unpack_double(in);
	incident.expected = unpack_double(in);
	return incident;
}

void silences_pack(const struct silences *silences, struct buf *out)
{
	pack_u64(out, silences->generation);
	pack_u64(out, silences->lines);
	pack_u64(out, silences->head_count);
	for (size_t i = 0; i < silences->head_count; i++) {
		pack_u64(out, silences->heads[i].hash);
		pack_u64(out, silences->heads[i].lines);
	}
	known_forms_pack(&silences->known, out);
	pack_u64(out, silences->count);
	for (size_t i = 0; i < silences->count; i++) {
		const struct silence *silence = &silences->items[i];
		pack_u64(out, silence->values);
		pack_u64(out, silence->series_id);
		pack_u64(out, silence->head);
		pack_u64(out, silence->at_head);
		pack_u64(out, silence->at_line);
		pack_u64(out, silence->longest);
		pack_u64(out, silence->longest_lines);
		pack_u64(out, silence->named);
		step_trails_pack(&silence->trails, out);
		pack_u64(out, silence->is_open);
		if (silence->is_open)
			pack_incident(&silence->incident, out);
	}
}

static struct silence unpack_one(const struct silences *silences, enum silences_format format, struct unpacker *in)
{
	struct silence silence = {.values = unpack_u64(in), .series_id = (uint32_t)unpack_u64(in)};

	silence.head = (uint32_t)unpack_u64(in);
	silence.at_head = unpack_u64(in);
	silence.at_line = unpack_u64(in);
	silence.longest = unpack_u64(in);
	silence.longest_lines = unpack_u64(in);
	if (format >= SILENCES_WITH_NAMES)
		silence.named = unpack_u64(in);
	if (format >= SILENCES_WITH_TRAILS)
		step_trails_unpack(&silence.trails, in);
	silence.is_open = unpack_u64(in) != 0;
	if (silence.is_open)
		silence.incident = unpack_incident(in);
	in->has_failed |= silence.at_line > silences->lines || silence.head > SILENCE_NO_HEAD ||
			  silence.named > silences->lines - silence.at_line;
	if (silence.head < silences->head_count)
		in->has_failed |= silence.at_head > silences->heads[silence.head].lines;
	return silence;
}

enum status silences_unpack(struct silences **out, enum silences_format format, struct unpacker *in, struct error *err)
{
	struct silences *silences = mem_zeroed(sizeof *silences);

	silences_free(*out);
	if (!(*out = silences))
		return error_no_memory(err);
	silences->generation = (uint32_t)unpack_u64(in);
	silences->lines = unpack_u64(in);
	silences->head_count = unpack_count(in, 2);
	in->has_failed |= silences->head_count > SILENCE_HEADS;
	for (size_t i = 0; i < silences->head_count && !in->has_failed; i++)
		silences->heads[i] = (struct head){(uint32_t)unpack_u64(in), unpack_u64(in)};
	if (format >= SILENCES_WITH_TRAILS)
		known_forms_unpack(&silences->known, in);
	size_t count = unpack_count(in, ITEM_MIN_BYTES);
	for (size_t i = 0; i < count && !in->has_failed; i++) {
		if (!mem_grow((void **)&silences->items, i, &silences->cap, sizeof *silences->items))
			return error_no_memory(err);
		silences->items[silences->count++] = unpack_one(silences, format, in);
	}
	if (in->has_failed)
		return error_set(err, ERR_INVALID, "the state of silent definitions is damaged");
	return OK;
}
