/* Job: nothing of it says where a webhook is: its URL may be a secret. Ownership and threads: as api.h. */
#pragma once

#include "base/json/json_write.h"
#include "store/alerts.h"

struct delivery_row;
void api_write_delivery(struct json_writer *w, const struct delivery_row *row);
