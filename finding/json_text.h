/* SPDX-License-Identifier: MIT */
/* Text as JSON. jansson takes only UTF-8: what is none is escaped (base/foreign_text.h), so that nothing gets lost for
 * it. null on lack of memory. */
#ifndef FINDING_JSON_TEXT_H
#define FINDING_JSON_TEXT_H

#include <jansson.h>

/* null: NULL. */
json_t *json_text(const char *text);
/* A name: null where it is "", too. */
json_t *json_name(const char *text);
/* So, too; all of it escaped as for a terminal. */
json_t *json_printable(const char *text);

#endif
