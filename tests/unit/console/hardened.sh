#!/bin/sh
# SPDX-License-Identifier: MIT
# hardened.sh PROGRAM: is it built as docs/security.md says? Read from the file, not from the compiler's options.
set -u
program=$1
failed=0

command -v readelf >/dev/null || { echo "skipped: no readelf (package binutils)"; exit 77; }

# check WHAT PATTERN READELF-OPTION...
check() {
	what=$1 pattern=$2
	shift 2
	if readelf "$@" "$program" | grep -Eq "$pattern"; then
		echo "ok     $what"
	else
		echo "FAILED $what: readelf $* has nothing like $pattern"
		failed=1
	fi
}

check "position independent" 'Type: +DYN' -hW
check "relocations are read-only once it runs" 'GNU_RELRO' -lW
check "all symbols are bound at the start" 'FLAGS.*(BIND_NOW|NOW)' -dW
check "its stack is not executable" 'GNU_STACK.* RW +0x' -lW
check "stack frames have canaries" '__stack_chk_fail' --dyn-syms -W
check "calls of libc check the size of their buffers" '__(mem|str|v?s[np]*rintf|read|recv)[a-z]*_chk' --dyn-syms -W
exit $failed
