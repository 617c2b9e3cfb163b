/* SPDX-License-Identifier: MIT */
/*
 * What one rank did otherwise, from its calls and those of the others behind the place where they first differ: it left
 * out calls, made calls that the others did not make, or called two in the other order. Only where one reading alone
 * explains all that both have called since then: layers are alike, and so are readings of few calls.
 */
#ifndef ANALYSIS_KNOWN_ALIGNMENT_H
#define ANALYSIS_KNOWN_ALIGNMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/known/call_order.h"

enum {
	ALIGNMENT_MATCHES = 6,  /* calls in a row, at least, that must be the same again */
	ALIGNMENT_DIFFERS = 16, /* calls, at most, that are looked for as left out, or made more */
};

enum alignment_kind {
	ALIGNMENT_NONE,    /* not known: no reading explains it, or several do */
	ALIGNMENT_OMITTED, /* left out `calls` calls: those with which the others go on at the place */
	ALIGNMENT_EXTRA,   /* made `calls` calls that the others did not: those with which it goes on there */
	ALIGNMENT_SWAPPED, /* its first two calls there are those of the others, in the other order */
	ALIGNMENT_CHANGED, /* its first call there is another one, and what follows is the same */
};

struct alignment {
	enum alignment_kind kind;
	uint32_t calls;
};

/* Both from the place on at which they differ. */
struct alignment alignment_find(const struct call *usual, uint32_t usual_count, const struct call *odd,
				uint32_t odd_count);

#endif
