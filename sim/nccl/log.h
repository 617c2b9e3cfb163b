/* SPDX-License-Identifier: MIT */
/* NCCL's log: NCCL_DEBUG chooses the level, lines go to stdout as NCCL's do. */
#ifndef SIM_NCCL_LOG_H
#define SIM_NCCL_LOG_H

enum log_level { LOG_NONE, LOG_VERSION, LOG_WARN, LOG_INFO, LOG_ABORT, LOG_TRACE };

void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The text of the last warning of this thread, "" when there was none. */
const char *log_last_warning(void);
/* For profiler plugins: ncclDebugLogger_t. */
void log_for_plugin(int level, unsigned long flags, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

#define log_warn(...) log_line(LOG_WARN, __VA_ARGS__)
#define log_info(...) log_line(LOG_INFO, __VA_ARGS__)

#endif
