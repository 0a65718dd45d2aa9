#include "model/incident.h"
#include "test.h"

TEST(kinds_severities_and_states_have_names)
{
	for (unsigned i = 0; i < INCIDENT_KIND_COUNT; i++) {
		enum incident_kind kind;
		CHECK(incident_kind_parse(span_from(incident_kind_name((enum incident_kind)i)), &kind) && kind == i);
	}
	for (unsigned i = 0; i < SEVERITY_COUNT; i++) {
		enum severity severity;
		CHECK(severity_parse(span_from(severity_name((enum severity)i)), &severity) && severity == i);
	}
	for (unsigned i = 0; i < INCIDENT_STATE_COUNT; i++) {
		enum incident_state state;
		CHECK(incident_state_parse(span_from(incident_state_name((enum incident_state)i)), &state) &&
			state == i);
	}
	enum severity severity;
	CHECK(!severity_parse(SPAN("fatal"), &severity));
}
