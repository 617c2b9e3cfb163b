/* SPDX-License-Identifier: MIT */
/* Is this program built with the address sanitizer? It is ten times slower then, and keeps memory that was freed. */
#ifndef TESTS_SANITIZED_H
#define TESTS_SANITIZED_H

#ifdef __has_feature /* clang */
#define SANITIZED __has_feature(address_sanitizer)
#elif defined(__SANITIZE_ADDRESS__) /* gcc */
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

#endif
