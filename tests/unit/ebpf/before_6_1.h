/* SPDX-License-Identifier: MIT */
/* What an older kernel, or one that refuses, answers to a request for a task iterator. Linked with
 * -Wl,--wrap=bpf_program__attach_iter. */
#ifndef TESTS_BEFORE_6_1_H
#define TESTS_BEFORE_6_1_H

/* 0: as a kernel before 6.1; else the error with which every request is refused. */
extern int refuses_iterators;
extern int iterators_refused, iterators_made;

#endif
