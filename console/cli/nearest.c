/* SPDX-License-Identifier: MIT */
#include "console/cli/nearest.h"

#include <string.h>

enum { LETTERS = 32 };

static size_t min(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* One cell of the edit matrix: rows[i % 3] is row i. */
static size_t cell(size_t (*rows)[LETTERS + 1], const char *a, const char *b, size_t i, size_t j)
{
	size_t replaced = rows[(i - 1) % 3][j - 1] + (a[i - 1] != b[j - 1]);
	size_t best = min(replaced, min(rows[(i - 1) % 3][j], rows[i % 3][j - 1]) + 1);

	if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
		best = min(best, rows[(i - 2) % 3][j - 2] + 1);
	return best;
}

size_t nearest_distance(const char *typed, const char *known)
{
	size_t rows[3][LETTERS + 1];
	size_t typed_length = strnlen(typed, LETTERS), known_length = strnlen(known, LETTERS);

	for (size_t j = 0; j <= known_length; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= typed_length; i++) {
		rows[i % 3][0] = i;
		for (size_t j = 1; j <= known_length; j++)
			rows[i % 3][j] = cell(rows, typed, known, i, j);
	}
	return rows[typed_length % 3][known_length];
}

bool nearest_is_near(const char *typed, size_t distance)
{
	size_t allowed = strnlen(typed, LETTERS) / 3;

	return distance <= (allowed ? allowed : 1);
}
