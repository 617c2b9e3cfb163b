/* SPDX-License-Identifier: MIT */
/* What places_test.py changes: every kind of place, and what must be left alone ("no place"). Prints what it comes
 * to. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define LARGER(a, b) ((a) > (b) ? (a) : (b)) /* 1 + 1 < 2, "no place" */
#define EACH(i, n) for (int i = 0; i < (n); i++)

enum { ROOM = 4 + 4 }; /* no place */

static const int squares[] = { 1, 4, 9 + 7, 25 }; /* no place */
struct bits {
	unsigned int low : 3; /* no place */
	int high : 5;	      /* no place */
};
_Static_assert(sizeof(struct bits) >= 4, "no place");

static int calls;
static _Atomic unsigned int marks;

static int count(int by)
{
	calls += by;
	return calls;
}

static bool is_even(long number)
{
	if (number & 1)
		return false;
	return true;
}

static int logical(int a, int b)
{
	int hits = 0;

	if (a > 0 && count(1) > 3 || b < 0)
		hits |= 1;
	if ((a == 3 || count(2) != 9) && b >= 2)
		hits |= 2;
	else if (!(a <= b))
		hits |= 4;
	return hits;
}

static int bit_fields(struct bits *bits)
{
	bits->low += 3;
	if (bits->low == 7 || bits->high < -2)
		bits->high++;
	return bits->low * 100 + bits->high - (bits->high & 6);
}

static double mixed(unsigned char small, long large, double real)
{
	unsigned long wide = small << 4 | large >> 2;

	wide &= ~3ul; /* a suffix: no number of ours */
	real = real * 2 - wide + (small > large ? -1 : 0x10);
	return real / 4 + (small - 300 < 0);
}

static int pointers(const char *text)
{
	const char *end = text + 2;
	int length = 0;

	while (end != NULL && *end) {
		end++;
		length++;
		if (length > 50)
			exit(3); /* never */
	}
	return end - text == 7 ? length : -length;
}

/* What it counts with is long: an int that is counted the wrong way overflows within a second or two and ends the loop
 * after all. */
static int loops(int rounds)
{
	static int kept = 5 + 6; /* no place */
	int table[2 + 2] = { [1] = 7, 8 };
	long sum = kept, left = 3;

	for (long i = 0; i < rounds; ++i) {
		if (is_even(i))
			continue;
		if (i == 7)
			break;
		sum += table[i % 3 & 1] * i;
	}
	do
		sum -= 2;
	while (--left > 0 && sum < 1000);
	EACH(i, LARGER(rounds, 3 + 2)) /* no place */
		sum += i;
	switch (sum & 3) {
	case 1 + 1: /* no place */
		sum |= 64;
		break;
	case 3:
		sum <<= 1; /* never, and not a kind of ours */
		break;	   /* never */
	default:
		sum--; /* never */
	}
	if (rounds > 100)
		count(50); /* never */
	else
		count(1);
	for (long i = 0; i < 2; i++)
		count((int)i);
	return (int)sum + squares[2] * (int)sizeof(int[3 + 1]); /* the size: left alone */
}

/* Only a sanitizer sees what is read or written behind the end, as it changes nothing that is printed, and memory that
 * is lost. */
static int heap(int count)
{
	int *items = calloc((size_t)count, sizeof(*items)), found = 0; /* no place */

	for (int i = 0; i < count; i++) /* sanitizer */
		items[i] = i * i;
	for (int i = 0; i < count; i++) /* sanitizer */
		found += items[i] == 49;
	free(items); /* sanitizer */
	marks |= 6;
	marks &= 12;
	return found + (int)marks;
}

int main(void)
{
	struct bits bits = { .low = 2, .high = -4 };

	for (int a = -1; a <= 4; a++)
		for (int b = -1; b <= 4; b += 1)
			printf("%d ", logical(a, b));
	printf("\n%d %d %d\n", bit_fields(&bits), bit_fields(&bits), ROOM);
	printf("%.3f %.3f\n", mixed(200, 77, 1.5), mixed(3, 99999999999, -2));
	printf("%d %d %d\n", pointers("abcdefg"), pointers("abc"), loops(12));
	printf("%d %d\n", calls, loops(3) << 2 >> 1);
	printf("%d\n", heap(8));
	return 0;
}
