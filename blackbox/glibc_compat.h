/* SPDX-License-Identifier: MIT */
/*
 * The plugin, and the writing side of the box that is linked into it, must load on any system with glibc 2.28 or later,
 * also when built on a newer glibc. So symbols that moved or changed after 2.28 are bound to their old versions, which
 * every glibc still has. meson.build includes this header before everything else. scripts/package includes it in the
 * command, too, which it links against glibc 2.31.
 */
#ifndef BLACKBOX_GLIBC_COMPAT_H
#define BLACKBOX_GLIBC_COMPAT_H

#include <features.h>

#if defined(__GLIBC__) && defined(__x86_64__)
#define GLIBC_BASELINE "GLIBC_2.2.5"
#elif defined(__GLIBC__) && defined(__aarch64__)
#define GLIBC_BASELINE "GLIBC_2.17"
#endif

#ifdef GLIBC_BASELINE
#define GLIBC_OLD(name, old) __asm__(".symver " #name "," #old "@" GLIBC_BASELINE)
/* libdl until 2.34 */
GLIBC_OLD(dladdr, dladdr);
GLIBC_OLD(dlclose, dlclose);
GLIBC_OLD(dlerror, dlerror);
GLIBC_OLD(dlopen, dlopen);
GLIBC_OLD(dlsym, dlsym);
/* libpthread until 2.34, pthread_sigmask until 2.32 */
GLIBC_OLD(pthread_attr_setstacksize, pthread_attr_setstacksize);
GLIBC_OLD(pthread_create, pthread_create);
GLIBC_OLD(pthread_detach, pthread_detach);
GLIBC_OLD(pthread_mutex_trylock, pthread_mutex_trylock);
GLIBC_OLD(pthread_once, pthread_once);
GLIBC_OLD(pthread_sigmask, pthread_sigmask);
/* new in 2.29, without matherr(): the results are the same */
GLIBC_OLD(exp, exp);
GLIBC_OLD(exp2, exp2);
GLIBC_OLD(log, log);
GLIBC_OLD(log2, log2);
GLIBC_OLD(pow, pow);
/* the names to which 2.38 maps these functions under _GNU_SOURCE: only binary literals (and sscanf's %a) differ */
GLIBC_OLD(__isoc23_sscanf, sscanf);
GLIBC_OLD(__isoc23_strtol, strtol);
GLIBC_OLD(__isoc23_strtoul, strtoul);
GLIBC_OLD(__isoc23_strtoull, strtoull);
#endif

#endif
